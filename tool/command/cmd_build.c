/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: a filter of the lines of the inputs.
 *
 * In order: everything that can be refused without reading (options, what stands at the output),
 * then the size, the filter, the keys, and the file at once at the end. Where the number of keys is
 * not given, the keys come first: what is kept of them is their hashes (hash_store.c), and the
 * filter is made for as many as there are, the same that -n makes. So input is read once, and may
 * be a pipe. Before the end nothing has been written, so an interrupted build leaves what was
 * there.
 */
#include "base/numbers.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/team.h"
#include "command/build_report.h"
#include "command/dialect_build.h"
#include "command/static_build.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/hasher.h"
#include "filter/output.h"
#include "filter/report.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct build {
    const char *output;
    uint64_t keys;   /* 0: as many as there are */
    double rate;     /* 0: not given */
    uint64_t memory; /* 0: not given */
    bloomery_kind kind;
    bloomery_plan_options wish;
    bloomery_create_options options;
    const char *secret_file;
    const char *temporary; /* directory of a static filter's build, or NULL */
    uint8_t *key; /* NULL: none, or left to the library. On the heap: it may wait there for long */
    bool force, quiet, json, ours;
    bool saves;                     /* the filter may be in its file already */
    struct tool_rule_choice choice; /* how lines become keys */
    struct tool_dialect_choice dialect;
    struct tool_source source;
};

static bool take_keyed(const char *option, const char *text, void *at)
{
    struct build *build = at;
    (void)option;
    (void)text;
    build->wish.hash = BLOOMERY_HASH_SIPHASH;
    return true;
}

static bool take_secret_file(const char *option, const char *text, void *at)
{
    struct build *build = at;
    build->secret_file = text;
    build->options.secret_outside = true;
    return take_keyed(option, text, at);
}

static const struct tool_option options[] = {
    {'o', "output", "FILE", TOOL_TEXT(struct build, output),
     .help = "the filter; '-' is standard output",
     .more =
         "An existing filter is replaced, any other file only with --force. Standard output must "
         "not be a terminal."},
    {'n', "keys", "N", TOOL_COUNT(struct build, keys, 1, TOOL_KEYS_MAX),
     .help = "the keys to plan for. Default: as many different ones as there are, by an "
             "estimate. Until the input has been read, 8 bytes of each key are kept (16 if "
             "keyed, 24 for rates below 1e-7 and for --memory without -p), past 256 MiB in a "
             "file in TMPDIR or /tmp (sooner if a container or ulimit allows less than 1 GiB). A "
             "static filter takes as many as come, whatever N is",
     .more =
         "Without it each key is counted once, and the filter is the one that -n with this number "
         "makes. Up to 16,384 different keys are counted exactly. The number of more is estimated "
         "with a standard deviation of 1.1 % at most. Four times that is added, or all keys are "
         "planned for if they are fewer, so the rate holds. The input is read once, be it a pipe. "
         "What is kept of each key until then is its hash; past 256 MiB of them more go to a file "
         "without a name, where a container or ulimit allows less than 1 GiB past a quarter of "
         "that."},
    {'p', "rate", "RATE", TOOL_RATE(struct build, rate),
     .help = "the false-positive rate (0.01, 1e-6, 0.01%, 1/1000). Default 1e-4, or what "
             "--memory allows"},
    {0, "memory", "SIZE", TOOL_SIZE(struct build, memory),
     .help = "the maximum memory of the filter (512MiB, 2GB). With -p it is a limit: a filter "
             "that needs more is refused",
     .more = "Without -n that is known only once the keys have been read. A scalable filter that "
             "would grow past it ends the command with an error that says how many keys it holds; "
             "nothing is written."},
    {0, "kind", "KIND", TOOL_CALL(struct build, kind, tool_take_kind), .words = TOOL_KIND_WORDS,
     .help = "blocked (default; one cache miss per block), classic (least memory), counting (4 "
             "times the memory; lines can be removed and counted), scalable (grows; -n is the "
             "number of keys before it first does, by default 1 Mi. The rate holds at any size; "
             "past --memory it stops with an error) or static (the smallest; nothing can be "
             "added later. --memory is what the build may use, 1GiB or half of what the machine, "
             "container and ulimit allow by default, at least 16MiB, for keys of 16 bytes each)"},
    {0, "temp", "DIR", TOOL_TEXT(struct build, temporary),
     .help = "of a static filter: where keys wait that do not fit in --memory, and the filter "
             "until it is complete, in files without names. Default: TMPDIR or /tmp"},
    {0, "counter-bits", "B", TOOL_CALL(struct build, wish.cell_bits, tool_take_counter_bits),
     .words = "4|8",
     .help = "counters of a counting filter: 4 bits, which count to 15 (default), or 8 for twice "
             "the memory, to 255. A counter saturates there"},
    {0, "blocks", "L", TOOL_SMALL(struct build, wish.blocks_per_key, 1, 4),
     .help = "blocks per key, 1 to 4; not for a classic filter. Default: chosen"},
    {0, "folds", "D", TOOL_SMALL(struct build, wish.folds, 0, 30),
     .help = "make a filter that can be halved D times. Default 0"},
    {0, "seed", "S", TOOL_COUNT(struct build, options.seed, 0, UINT64_MAX),
     .help = "another seed for the hash. Default 0. No protection; see --keyed"},
    {0, "keyed", NULL, TOOL_CALL_WHOLE(take_keyed),
     .help = "hash with a random secret, kept in the filter's file. Anyone who can read the file "
             "can forge false positives, so only its owner can read a new one. A file that is "
             "replaced keeps its mode"},
    {0, "secret-file", "FILE", TOOL_CALL_WHOLE(take_secret_file),
     .help = "keep the secret in this file instead; if the file does not exist, it is made with "
             "a random secret. Implies --keyed",
     .more =
         "It has 32 hexadecimal digits; one that is made is readable by its owner alone. It can't "
         "be the filter's own file."},
    {0, "note", "TEXT", TOOL_TEXT(struct build, options.note),
     .help = "a remark to keep in the file"},
    {0, "dialect", "D", TOOL_DIALECT(struct build, dialect),
     .help = "write another system's file, by that system's sizing: NAME[,parameter=value...] as "
             "'bloomery dialects' lists them. -n and -p are its keys and rate. It keeps no rule "
             "for keys",
     .more =
         "Keys are counted where nothing says how large it is to be. An existing file is replaced "
         "only where it is recognised as the same system's, or with --force. See OTHER SYSTEMS' "
         "FILTERS in bloomery(1)."},
    {0, "ours", NULL, TOOL_FLAG(struct build, ours),
     .help = "with --dialect: a file of ours that has that system's filter, and keeps rule and "
             "note"},
    {'j', "threads", "N", TOOL_SMALL(struct build, source.threads, 0, TOOL_THREADS_MAX),
     .help = "work with N threads, 1 to 256. Default, or 0: as many as there are cores. The "
             "filter is the same whatever N is"},
    {'0', "null", NULL, TOOL_BYTE(struct build, source.delimiter, '\0'),
     .help = "lines end with NUL instead of newline"},
    TOOL_MAX_LINE_ROW(struct build, source.line_max),
    {0, "force", NULL, TOOL_FLAG(struct build, force),
     .help = "overwrite FILE even if it is no filter"},
    TOOL_PROGRESS_ROW,
    {'q', "quiet", NULL, TOOL_FLAG(struct build, quiet), .help = "do not report what was written"},
    {0, "json", NULL, TOOL_FLAG(struct build, json),
     .help = "report on standard output as one JSON object, numbers unrounded",
     .more =
         "Among them: how many records were added (records), how many had no key (passed_over), "
         "how many bits they set that were not set before (new_bits, exact), about how many "
         "different keys that makes (estimated_new_keys), the filter's memory and file size in "
         "bytes, the keys and rate it was planned for, how many keys it holds by its bits, the "
         "rate to expect with them, and the rate of these very bits. Not with '-o -'."},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_RULE_GROUPS(
        "How a line becomes a key, in this order; the filter keeps it, and query and add follow "
        "it:",
        struct build, choice),
    TOOL_GROUPS_END,
};

/* ---- The command line ------------------------------------------------------------------------ */

/* The key would be written there first, and then be lost under the filter that needs it. */
static bool key_has_its_own_file(const struct build *build)
{
    if (build->secret_file == NULL || strcmp(build->output, "-") == 0 ||
        !tool_same_file(build->output, build->secret_file))
        return true;
    tool_usage("-o and --secret-file name the same file, %s; the secret needs one of its own",
               build->secret_file);
    return false;
}

static bool fits_together(const struct build *build)
{
    if (build->output == NULL) {
        tool_usage("where to? -o FILE names the filter to write");
        return false;
    }
    if (build->wish.blocks_per_key > 0 && build->kind == BLOOMERY_CLASSIC) {
        tool_usage("--blocks is for blocked filters; a classic one has none");
        return false;
    }
    if (build->wish.folds > 0 && build->kind == BLOOMERY_SCALABLE) {
        tool_usage("--folds is for filters of one layer; scalable filters are not folded");
        return false;
    }
    if (build->temporary != NULL && build->kind != BLOOMERY_STATIC) {
        tool_usage("--temp is for --kind static");
        return false;
    }
    if (build->options.seed != 0 && build->wish.hash == BLOOMERY_HASH_SIPHASH) {
        tool_usage("--seed and --keyed exclude each other: the secret is the seed");
        return false;
    }
    if (build->options.note != NULL && strlen(build->options.note) > BLOOMERY_NOTE_BYTES) {
        tool_usage("--note is at most %d bytes", BLOOMERY_NOTE_BYTES);
        return false;
    }
    if (build->json && strcmp(build->output, "-") == 0) {
        tool_usage("--json and '-o -' both want standard output; name a file for the filter");
        return false;
    }
    return key_has_its_own_file(build);
}

/* ---- The size -------------------------------------------------------------------------------- */

/* n, p and the memory are given: the plan for n and p must fit. False after saying what would. */
static bool fits_memory(const struct build *build, const bloomery_plan *plan)
{
    if (build->memory == 0 || plan->planned_bytes <= build->memory)
        return true;
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES], needed[TOOL_NUMBER_BYTES],
        given[TOOL_NUMBER_BYTES], fits[TOOL_NUMBER_BYTES];
    tool_format_count(keys, plan->planned_keys);
    tool_format_odds(odds, build->rate);
    tool_format_size(needed, plan->planned_bytes);
    tool_format_size(given, build->memory);

    bloomery_plan best = {.kind = build->kind, .keys = plan->planned_keys, .bytes = build->memory};
    bloomery_error error;
    if (bloomery_plan_solve(&best, &build->wish, &error) == BLOOMERY_OK)
        tool_error("%s keys at a rate of %s need %s and --memory is %s; a rate of %s would fit",
                   keys, odds, needed, given, tool_format_odds(fits, best.planned_rate));
    else
        tool_error("%s keys at a rate of %s need %s and --memory is %s, where no useful rate fits",
                   keys, odds, needed, given);
    return false;
}

static bool solve(struct build *build, bloomery_plan *plan)
{
    bloomery_error error;
    *plan = (bloomery_plan){.kind = build->kind, .keys = build->keys, .rate = build->rate};
    bool limit_only = build->keys > 0 && build->rate > 0;
    if (build->rate == 0 && (build->memory == 0 || build->keys == 0))
        plan->rate = build->rate = TOOL_RATE_DEFAULT;
    if (build->memory > 0 && !limit_only)
        plan->bytes = build->memory;
    if (bloomery_plan_solve(plan, &build->wish, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    return fits_memory(build, plan);
}

/* A filter that grows needs no number of keys: -n are those after which it does so first. */
static void let_it_grow(struct build *build)
{
    build->options.memory_limit = build->memory;
    build->memory = 0;
    if (build->keys == 0)
        build->keys = TOOL_CHAIN_KEYS;
}

/* ---- The secret -------------------------------------------------------------------------- */

/* Takes the key out of its file. Of a filter without such the library draws one. */
static bool take_key(struct build *build)
{
    if (build->secret_file == NULL)
        return true;
    build->options.secret = build->key = tool_allocate(BLOOMERY_SECRET_BYTES);
    /* A symbolic link that led nowhere may lead to the secret file now. */
    return tool_secret_read_or_make(build->secret_file, build->key) && key_has_its_own_file(build);
}

/* The same where keys are hashed before there is a filter. */
static bool take_or_draw_key(struct build *build)
{
    if (build->wish.hash != BLOOMERY_HASH_SIPHASH || build->secret_file != NULL)
        return take_key(build);
    build->options.secret = build->key = tool_allocate(BLOOMERY_SECRET_BYTES);
    if (getrandom(build->key, BLOOMERY_SECRET_BYTES, 0) == BLOOMERY_SECRET_BYTES)
        return true;
    tool_error("the system gives no random secret");
    return false;
}

static void wipe_key(struct build *build)
{
    if (build->key != NULL)
        explicit_bzero(build->key, BLOOMERY_SECRET_BYTES);
    free(build->key);
    build->options.secret = build->key = NULL;
}

/* ---- The result ------------------------------------------------------------------------------ */

static bool save(const struct build *build, const bloomery_filter *filter)
{
    if (strcmp(build->output, "-") == 0)
        return tool_filter_to_stdout(filter);
    /* An adder that is at work on the old file finishes first; its file is then replaced, where
     * otherwise it would replace ours. */
    int lock = -1;
    if (access(build->output, R_OK) == 0 && (lock = tool_filter_lock(build->output)) < 0)
        return false;
    /* Reading may have taken hours: what stands there now is looked at, not what stood there. */
    bloomery_error error;
    bool good = lock >= 0 ? tool_may_replace_held(build->output, lock, build->force)
                          : tool_may_replace(build->output, build->force);
    if (good && bloomery_save(filter, build->output, &error) != BLOOMERY_OK) {
        tool_library_error(build->output, &error);
        good = false;
    }
    tool_filter_unlock(lock);
    return good;
}

/* ---- Building -------------------------------------------------------------------------------- */

/* The filter of the plan; NULL after a message. */
static bloomery_filter *create(struct build *build, const bloomery_plan *plan)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_create(plan, &build->options, &filter, &error) != BLOOMERY_OK)
        tool_library_error(NULL, &error);
    wipe_key(build);
    return filter;
}

/* The keys go into the filter as they are read. */
static bloomery_filter *add_keys(struct build *build, bloomery_plan *plan,
                                 struct tool_change *change)
{
    if (!solve(build, plan) || !take_key(build))
        return NULL;
    bloomery_filter *filter = create(build, plan);
    if (filter == NULL || tool_lines_add(&build->source, &build->options.rule, filter,
                                         build->output, "building", build->quiet, change))
        return filter;
    bloomery_free(filter);
    return NULL;
}

/* The requested rate; 0 where the memory decides. */
static double wanted_rate(const struct build *build)
{
    return build->rate == 0 && build->memory == 0 ? TOOL_RATE_DEFAULT : build->rate;
}

/* They are read first, and the filter is made for as many different ones as they are. */
static bloomery_filter *count_keys(struct build *build, struct tool_hasher *hasher,
                                   bloomery_plan *plan, struct tool_change *change)
{
    if (!take_or_draw_key(build) ||
        !tool_hasher_open(hasher, build->wish.hash, &build->options, wanted_rate(build),
                          build->memory) ||
        !tool_lines_hash(&build->source, &build->options.rule, hasher, build->quiet, change))
        return NULL;
    /* A plan of no keys has no rate, which is the limit that later adds keep. */
    build->keys = change->records > 0 ? tool_hasher_different_keys(hasher) : 1;
    bloomery_filter *filter = solve(build, plan) ? create(build, plan) : NULL;
    if (filter == NULL ||
        tool_hasher_build(hasher, filter, plan->hash, build->output, build->quiet))
        return filter;
    bloomery_free(filter);
    return NULL;
}

/* A static filter, for as many keys as come. */
static int build_static(struct build *build)
{
    if (!take_key(build))
        return TOOL_ERROR;
    const int code = tool_static_build(
        &(struct tool_static_build){.source = &build->source,
                                    .options = &build->options,
                                    .wish = &build->wish,
                                    .rate = build->rate,
                                    .keys = build->keys,
                                    .memory = build->memory,
                                    .directory = build->temporary,
                                    .force = build->force,
                                    .saves = &build->saves,
                                    .report = {build->output, build->quiet, build->json}});
    wipe_key(build);
    return code;
}

static int build_filter(struct build *build)
{
    bloomery_plan plan;
    struct tool_change change;
    bloomery_filter *filter;
    if (build->kind == BLOOMERY_SCALABLE)
        let_it_grow(build);
    if (build->keys > 0) {
        filter = add_keys(build, &plan, &change);
    } else {
        struct tool_hasher hasher = {.count = 0};
        filter = count_keys(build, &hasher, &plan, &change);
        tool_hasher_close(&hasher);
    }
    wipe_key(build);
    int code = TOOL_ERROR;
    build->saves = filter != NULL;
    if (filter != NULL && save(build, filter))
        code =
            tool_build_report(&(struct tool_build_report){build->output, build->quiet, build->json},
                              &plan, filter, &change);
    bloomery_free(filter);
    return code;
}

/* Another system's file: what only ours can do is refused. */
static int build_dialect(struct build *build)
{
    const char *wrong = build->kind != BLOOMERY_KIND_DEFAULT          ? "--kind"
                        : build->memory > 0                           ? "--memory"
                        : build->wish.cell_bits > 0                   ? "--counter-bits"
                        : build->wish.blocks_per_key > 0              ? "--blocks"
                        : build->wish.folds > 0                       ? "--folds"
                        : build->options.seed != 0                    ? "--seed"
                        : build->wish.hash == BLOOMERY_HASH_SIPHASH   ? "--keyed"
                        : build->options.note != NULL && !build->ours ? "--note"
                                                                      : NULL;
    if (wrong != NULL)
        return tool_usage("%s is for filters of ours; what a file of %s can have are the "
                          "parameters of --dialect",
                          wrong, build->dialect.dialect->name);
    struct tool_dialect_build foreign = {.choice = &build->dialect,
                                         .keys = build->keys,
                                         .rate = build->rate,
                                         .rule = &build->options.rule,
                                         .note = build->options.note,
                                         .ours = build->ours,
                                         .source = &build->source,
                                         .output = {.path = build->output,
                                                    .force = build->force,
                                                    .quiet = build->quiet,
                                                    .json = build->json,
                                                    .lock = -1}};
    return tool_dialect_build(&foreign);
}

static int build_main(int argc, char **argv)
{
    struct build build = {.wish = BLOOMERY_PLAN_OPTIONS,
                          .options = BLOOMERY_CREATE_OPTIONS,
                          .source = {.delimiter = '\n'}};
    int code;
    if (!tool_options_read(argc, argv, &build, &code))
        return code;
    if (!tool_rule_complete(&build.choice))
        return TOOL_ERROR;
    build.options.rule = tool_rule_to_keep(&build.choice);
    tool_source_lay_out(&build.source, &build.choice, &build.choice.rule);
    build.source.makes_filter = true;
    build.source.paths = argv + optind;
    build.source.count = (size_t)(argc - optind);
    if (build.dialect.dialect != NULL)
        return build_dialect(&build);
    if (build.ours)
        return tool_usage("--ours goes with --dialect; all other filters are ours anyway");
    if (!tool_counters_wanted(build.wish.cell_bits, &build.kind) || !fits_together(&build))
        return TOOL_ERROR;
    assert(build.output != NULL);
    if (strcmp(build.output, "-") == 0 ? !tool_stdout_takes_bytes()
                                       : !tool_may_replace(build.output, build.force))
        return TOOL_ERROR;
    tool_output_warn_of_name(build.output);
    code = build.kind == BLOOMERY_STATIC ? build_static(&build) : build_filter(&build);
    if (code == TOOL_ERROR && !build.saves)
        tool_secret_unmake();
    return code;
}

const struct tool_command cmd_build = {
    .name = "build",
    .run = build_main,
    .summary = "make a filter of lines",
    .synopsis = "bloomery build [-n N] [-p RATE] [--memory SIZE] -o FILE [INPUT...]\n"
                "bloomery build --dialect DIALECT [-n N] [-p RATE] -o FILE [INPUT...]",
    .introduction =
        "Makes a Bloom filter of the lines of the inputs. No INPUT, or '-', is standard input; "
        "gzip, zlib, zstd, xz, bzip2, lz4, lzip, lzma and .Z are unpacked; tar, zip, cpio, 7z "
        "and rar give their members, one after the other. Other formats are refused. UTF-16 that "
        "begins with a byte order mark is read as UTF-8. FILE is written whole at the end; an "
        "existing filter is replaced.",
    .groups = groups,
    .epilogue =
        "Without --crlf a carriage return at the end of a line belongs to the key; a warning "
        "says so if the first line of an input ends in one. If every line lacks field N, that is "
        "an error and nothing is written. A line of column names is a line like others; --header "
        "leaves it out.\n"
        "\n"
        "  bloomery build -p 0.01 -o ids.bloom ids.txt\n"
        "  zcat urls.gz | bloomery build -n 20M -p 1/10000 -o urls.bloom\n"
        "  bloomery build --csv --header -F name --lower -o names.bloom people.csv\n"
        "  bloomery build --dialect guava -p 0.01 -o words.bf words.txt\n"
        "  bloomery build --memory 512MiB --kind classic -o words.bloom words-*.txt",
};

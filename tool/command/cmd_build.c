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
#include "base/progress.h"
#include "base/team.h"
#include "command/build_report.h"
#include "command/dialect_build.h"
#include "command/static_build.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/filter_report.h"
#include "filter/hasher.h"
#include "filter/output.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const char help[] =
    "bloomery build [-n N] [-p RATE] [--memory SIZE] -o FILE [INPUT...]\n"
    "bloomery build --dialect DIALECT [-n N] [-p RATE] -o FILE [INPUT...]\n"
    "\n"
    "Makes a Bloom filter of the lines of the inputs. No INPUT, or '-', is standard\n"
    "input; gzip, zlib, zstd, xz, bzip2, lz4, lzip, lzma and .Z are unpacked; tar,\n"
    "zip, cpio, 7z and rar give their members, one after the other. Other formats\n"
    "are refused. UTF-16 that begins with a byte order mark is read as UTF-8.\n"
    "FILE is written whole at the end; an existing filter is replaced.\n"
    "\n"
    "  -o, --output FILE    the filter; '-' is standard output\n"
    "  -n, --keys N         the keys to plan for. Default: as many different ones as\n"
    "                       there are, by an estimate. Until the input has been read,\n"
    "                       8 bytes of each key are kept (16 if keyed, 24 for rates\n"
    "                       below 1e-7 and for --memory without -p), past 256 MiB\n"
    "                       in a file in TMPDIR or /tmp (sooner if a container or\n"
    "                       ulimit allows less than 1 GiB). A static filter takes\n"
    "                       as many as come, whatever N is\n"
    "  -p, --rate RATE      the false-positive rate (0.01, 1e-6, 0.01%, 1/1000).\n"
    "                       Default 1e-4, or what --memory allows\n"
    "      --memory SIZE    the maximum memory of the filter (512MiB, 2GB). With -p\n"
    "                       it is a limit: a filter that needs more is refused\n"
    "      --kind KIND      blocked (default; one cache miss per block), classic\n"
    "                       (least memory), counting (4 times the memory; lines can\n"
    "                       be removed and counted), scalable (grows; -n is the\n"
    "                       number of keys before it first does, by default 1 Mi.\n"
    "                       The rate holds at any size; past --memory it stops with\n"
    "                       an error) or static (the smallest; nothing can be added\n"
    "                       later. --memory is what the build may use, 1GiB or\n"
    "                       half of what the machine, container and ulimit allow\n"
    "                       by default, at least 16MiB, for keys of 16 bytes each)\n"
    "      --temp DIR       of a static filter: where keys wait that do not fit in\n"
    "                       --memory, and the filter until it is complete, in files\n"
    "                       without names. Default: TMPDIR or /tmp\n"
    "      --counter-bits B counters of a counting filter: 4 bits, which count to 15\n"
    "                       (default), or 8 for twice the memory, to 255. A counter\n"
    "                       saturates there\n"
    "      --blocks L       blocks per key, 1 to 4; not for a classic filter.\n"
    "                       Default: chosen\n"
    "      --folds D        make a filter that can be halved D times. Default 0\n"
    "      --seed S         another seed for the hash. Default 0. No protection; see\n"
    "                       --keyed\n"
    "      --keyed          hash with a random secret, kept in the filter's file.\n"
    "                       Anyone who can read the file can forge false positives,\n"
    "                       so only its owner can read a new one. A file that is\n"
    "                       replaced keeps its mode\n"
    "      --secret-file FILE\n"
    "                       keep the secret in this file instead; if the file does\n"
    "                       not exist, it is made with a random secret. Implies\n"
    "                       --keyed\n"
    "      --note TEXT      a remark to keep in the file\n"
    "      --dialect D      write another system's file, by that system's sizing:\n"
    "                       NAME[,parameter=value...] as 'bloomery dialects' lists\n"
    "                       them. -n and -p are its keys and rate. It keeps no rule\n"
    "                       for keys\n"
    "      --ours           with --dialect: a file of ours that has that system's\n"
    "                       filter, and keeps rule and note\n"
    "  -j, --threads N      work with N threads, 1 to 256. Default, or 0: as many as\n"
    "                       there are cores. The filter is the same whatever N is\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "      --max-line SIZE  the longest line accepted; a longer one is an error and\n"
    "                       ends its input. Default 64MiB. Each thread may need a\n"
    "                       few times that much memory\n"
    "      --force          overwrite FILE even if it is no filter\n" TOOL_PROGRESS_HELP
    "  -q, --quiet          do not report what was written\n"
    "      --json           report on standard output as one JSON object, numbers\n"
    "                       unrounded\n"
    "\n"
    "How a line becomes a key, in this order; the filter keeps it, and query and add\n"
    "follow it:\n"
    "\n" TOOL_RULE_HELP "\n"
    "Without --crlf a carriage return at the end of a line belongs to the key; a\n"
    "warning says so if the first line of an input ends in one. If every line lacks\n"
    "field N, that is an error and nothing is written. A line of column names is a\n"
    "line like others; --header leaves it out.\n"
    "\n"
    "  bloomery build -p 0.01 -o ids.bloom ids.txt\n"
    "  zcat urls.gz | bloomery build -n 20M -p 1/10000 -o urls.bloom\n"
    "  bloomery build --csv --header -F name --lower -o names.bloom people.csv\n"
    "  bloomery build --dialect guava -p 0.01 -o words.bf words.txt\n"
    "  bloomery build --memory 512MiB --kind classic -o words.bloom words-*.txt\n";

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

enum {
    OPTION_MEMORY = TOOL_OPTION_OWN,
    OPTION_KIND,
    OPTION_COUNTER_BITS,
    OPTION_BLOCKS,
    OPTION_FOLDS,
    OPTION_SEED,
    OPTION_KEYED,
    OPTION_SECRET_FILE,
    OPTION_NOTE,
    OPTION_DIALECT,
    OPTION_OURS,
    OPTION_FORCE,
    OPTION_JSON,
    OPTION_TEMP,
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"keys", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"counter-bits", required_argument, NULL, OPTION_COUNTER_BITS},
    {"blocks", required_argument, NULL, OPTION_BLOCKS},
    {"folds", required_argument, NULL, OPTION_FOLDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"keyed", no_argument, NULL, OPTION_KEYED},
    {"secret-file", required_argument, NULL, OPTION_SECRET_FILE},
    {"note", required_argument, NULL, OPTION_NOTE},
    {"dialect", required_argument, NULL, OPTION_DIALECT},
    {"ours", no_argument, NULL, OPTION_OURS},
    {"threads", required_argument, NULL, 'j'},
    {"null", no_argument, NULL, '0'},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"temp", required_argument, NULL, OPTION_TEMP},
    TOOL_LINE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- The command line ------------------------------------------------------------------------ */

/* One option with a value or without. False after a message. */
static bool take_option(struct build *build, int option)
{
    switch (option) {
    case 'o':
        build->output = optarg;
        return true;
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MAX, &build->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &build->rate);
    case OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &build->memory);
    case OPTION_KIND:
        return tool_parse_kind(optarg, &build->kind);
    case OPTION_COUNTER_BITS:
        return tool_option_counter_bits(optarg, &build->wish.cell_bits);
    case OPTION_BLOCKS:
        return tool_option_small("--blocks", optarg, 1, 4, &build->wish.blocks_per_key);
    case OPTION_FOLDS:
        return tool_option_small("--folds", optarg, 0, 30, &build->wish.folds);
    case OPTION_SEED:
        return tool_option_count("--seed", optarg, 0, UINT64_MAX, &build->options.seed);
    case OPTION_SECRET_FILE:
        build->secret_file = optarg;
        build->options.secret_outside = true;
        build->wish.hash = BLOOMERY_HASH_SIPHASH;
        return true;
    case OPTION_KEYED:
        build->wish.hash = BLOOMERY_HASH_SIPHASH;
        return true;
    case OPTION_NOTE:
        build->options.note = optarg;
        return true;
    case OPTION_OURS:
        build->ours = true;
        return true;
    case OPTION_DIALECT:
        return tool_dialect_option("--dialect", optarg, &build->dialect);
    case 'j':
        return tool_option_small("-j", optarg, 0, TOOL_THREADS_MAX, &build->source.threads);
    case '0':
        build->source.delimiter = 0;
        return true;
    case TOOL_OPTION_MAX_LINE:
        return tool_option_max_line(optarg, &build->source.line_max);
    case OPTION_FORCE:
        build->force = true;
        return true;
    case 'q':
        build->quiet = true;
        return true;
    case OPTION_JSON:
        return build->json = true;
    case OPTION_TEMP:
        build->temporary = optarg;
        return true;
    default:
        return tool_rule_option(&build->choice, option);
    }
}

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
    int option;
    while ((option = tool_getopt(argc, argv, "o:n:p:j:0q" TOOL_RULE_LETTERS, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&build, option))
            return TOOL_ERROR;
    }
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
    const int code = build.kind == BLOOMERY_STATIC ? build_static(&build) : build_filter(&build);
    if (code == TOOL_ERROR && !build.saves)
        tool_secret_unmake();
    return code;
}

const struct tool_command cmd_build = {
    .name = "build",
    .run = build_main,
    .summary = "make a filter of lines",
    .help = help,
};

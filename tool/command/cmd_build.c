/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: a filter of the lines of the inputs.
 *
 * In order: everything that can be refused without reading (options, what stands at the output),
 * then the size, the filter, the keys, and the file at once at the end. Where the number of keys is
 * not given, the keys are counted first, and the filter is made for as many as there are, the same
 * that -n makes. Input that is read once, as from a pipe, leaves the hashes of its keys (hasher.c).
 * Files are read a second time, which needs no memory and took 0.7 of the time: the system clears
 * new memory, 160 MB for 20 million keys, before a process gets it. Before the end nothing has been
 * written, so an interrupted build leaves what was there.
 */
#include "base/numbers.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/system.h"
#include "command/dedupe/sample.h"
#include "filter/dialect_option.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/filter_file.h"
#include "filter/filter_report.h"
#include "filter/hasher.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
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
     .help = "write the filter to FILE; '-' is standard output",
     .more =
         "An existing filter is replaced, any other file only with --force. Standard output must "
         "not be a terminal."},
    {'n', "keys", "N", TOOL_COUNT(struct build, keys, 1, TOOL_KEYS_MAX),
     .help = "plan for N keys (default: an estimate of the distinct keys). To estimate, plain "
             "files are read twice. If an input is compressed, a pipe, smaller than 8 MiB or "
             "larger than half of the memory, a hash of each key is kept. Each hash takes 8 "
             "bytes; 16 if keyed; 24 if the rate is below 1e-7 or if --memory is given without "
             "-p. Hashes beyond 256 MiB go to a temporary file in TMPDIR or /tmp. If a "
             "container or ulimit allows less than 1 GiB, hashes go to disk sooner. With more "
             "than N keys, the rate rises, and a warning says how far. Scalable and static "
             "filters keep their rate",
     .more = "Without -n, distinct keys are counted, and the filter is the one that -n with "
             "this number makes. Up to 16,384 distinct keys are counted exactly. Larger "
             "numbers are estimated with a standard deviation of at most 1.1 %. The plan adds "
             "four times that, but never exceeds the number of all keys, so the rate holds. "
             "If a file changes between the two readings, the build is refused. The temporary "
             "file has no name. If a container or ulimit allows less than 1 GiB, the file is "
             "begun at a quarter of that."},
    {'p', "rate", "RATE", TOOL_RATE(struct build, rate),
     .help = "set the false-positive rate (default 1e-4). Write it as 0.01, 1e-6, 0.01% or "
             "1/1000. With --memory the default is the rate that this size allows"},
    {0, "memory", "SIZE", TOOL_SIZE(struct build, memory),
     .help = "limit the memory of the filter (512MiB, 2GB). If -p is given and the filter "
             "would need more, that is an error",
     .more = "Without -n that is known only once the keys have been read. A scalable filter that "
             "would grow past it ends the command with an error that says how many keys it "
             "holds. Nothing is written then."},
    {0, "kind", "KIND", TOOL_CALL(struct build, kind, tool_take_kind), .words = TOOL_KIND_WORDS,
     .help = "choose the kind of filter (default blocked):\n"
             "blocked\tone cache miss per block\n"
             "classic\tthe least memory of the kinds to which keys can be added\n"
             "counting\t4 times the memory of blocked; keys can be removed and counted\n"
             "scalable\tgrows as keys are added, at the same rate. It adds a layer after N "
             "keys (default 1 Mi). If it would need more than --memory, that is an error\n"
             "static\tthe smallest; nothing can be added later. --memory then limits the "
             "build, not the filter. Keys take 16 bytes each; those beyond it go to disk. SIZE "
             "is at least 16MiB (default 1GiB, or half of what machine, container and ulimit "
             "allow)\n"
             "cuckoo\tRedisBloom's: a byte for each key, which can be removed. It needs -n; the "
             "rate is 1 in 200 or more (default 2%)"},
    {0, "temp", "DIR", TOOL_TEXT(struct build, temporary),
     .help = "put the temporary files of a static build in DIR (default TMPDIR or /tmp). They "
             "hold the keys that do not fit in --memory, and the filter until it is complete. "
             "They have no names, so none remains after a crash"},
    {0, "counter-bits", "B", TOOL_CALL(struct build, wish.cell_bits, tool_take_counter_bits),
     .words = "4|8",
     .help = "use counters of 4 or 8 bits in a counting filter (default 4). They saturate at "
             "15 or, for twice the memory, at 255"},
    {0, "blocks", "L", TOOL_SMALL(struct build, wish.blocks_per_key, 1, 4),
     .help = "use L blocks per key, 1 to 4 (default: chosen by the plan). Not for classic filters"},
    {0, "folds", "D", TOOL_SMALL(struct build, wish.folds, 0, 30),
     .help = "make a filter whose file can later be halved up to D times, at a higher rate "
             "(default 0): see 'bloomery help fold'"},
    {0, "seed", "S", TOOL_COUNT(struct build, options.seed, 0, UINT64_MAX),
     .help = "seed the hash with S (default 0). A seed does not protect the filter; see --keyed"},
    {0, "keyed", NULL, TOOL_CALL_WHOLE(take_keyed),
     .help = "hash with a random secret, which is stored in the filter's file. Anyone who can "
             "read the file can forge false positives, so a new file is readable by its owner "
             "only. A file that is replaced keeps its mode"},
    {0, "secret-file", "FILE", TOOL_CALL_WHOLE(take_secret_file),
     .help = "store the secret in FILE instead; implies --keyed. If FILE does not exist, it "
             "is created with a random secret",
     .more = "It has 32 hexadecimal digits. A new one is readable by its owner only. It can't "
             "be the filter's own file."},
    {0, "note", "TEXT", TOOL_TEXT(struct build, options.note),
     .help = "store TEXT as a remark in the file"},
    {0, "dialect", "D", TOOL_DIALECT(struct build, dialect),
     .help = "write another system's file, sized by that system's formula. D is "
             "NAME[,parameter=value...], as listed by 'bloomery dialects'. -n and -p are its "
             "keys and rate. The file does not store the rule for keys",
     .more = "Keys are counted if nothing says how large the file is to be. An existing file is "
             "replaced only if it is recognised as the same system's, or with --force."},
    {0, "ours", NULL, TOOL_FLAG(struct build, ours),
     .help = "with --dialect, write that system's filter in our file format, which stores the "
             "rule and the note"},
    {'j', "threads", "N", TOOL_SMALL(struct build, source.threads, 0, TOOL_THREADS_MAX),
     .help = "use N threads, 1 to 256 (default 0: one per core). The filter does not depend on N"},
    {'0', "null", NULL, TOOL_BYTE(struct build, source.delimiter, '\0'),
     .help = "read lines that end with NUL instead of newline"},
    TOOL_MAX_LINE_ROW(struct build, source.line_max),
    {0, "force", NULL, TOOL_FLAG(struct build, force),
     .help = "overwrite FILE even if it is not a filter"},
    TOOL_PROGRESS_ROW,
    {'q', "quiet", NULL, TOOL_FLAG(struct build, quiet), .help = "do not report what was written"},
    {0, "json", NULL, TOOL_FLAG(struct build, json),
     .help = "print the report as one JSON object on standard output, with unrounded numbers",
     .more = "It has the number of records that were added (records), of those without a key "
             "(passed_over), and of the bits that they set anew (new_bits, exact). It says about "
             "how many distinct keys that makes (estimated_new_keys). It has the filter's memory "
             "and file size in bytes, and the keys and rate that it was planned for. It has the "
             "number of keys by its bits, the rate to expect with them, and the rate of these "
             "very bits. Not with '-o -'."},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_RULE_GROUPS(
        "How a line becomes a key, in this order. The filter stores the rule except where "
        "noted, and query and add follow it:",
        struct build, choice),
    TOOL_GROUPS_END,
};

/* ---- The command line ------------------------------------------------------------------------ */

/* Refuses one file for both: the filter would overwrite the key that it needs. */
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
        tool_usage("no output: give -o FILE");
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
    if (build->kind == BLOOMERY_CUCKOO && build->keys == 0) {
        tool_usage("a cuckoo filter has a hash of its own, so its keys can't be counted before it "
                   "is made: give their number with -n");
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

/* Checks that the plan for n and p fits in --memory. False after a message that says what would. */
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
        plan->rate = build->rate = TOOL_RATE_OF(build->kind);
    if (build->memory > 0 && !limit_only)
        plan->bytes = build->memory;
    if (bloomery_plan_solve(plan, &build->wish, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    return fits_memory(build, plan);
}

/* Prepares a scalable filter, which needs no number of keys: it first grows after -n keys. */
static void let_it_grow(struct build *build)
{
    build->options.memory_limit = build->memory;
    build->memory = 0;
    if (build->keys == 0)
        build->keys = TOOL_CHAIN_KEYS;
}

/* ---- The secret ------------------------------------------------------------------------------ */

/* Reads the key from its file. Without a file the library draws a key. */
static bool take_key(struct build *build)
{
    if (build->secret_file == NULL)
        return true;
    build->options.secret = build->key = tool_allocate(BLOOMERY_SECRET_BYTES);
    /* A symbolic link that led nowhere may lead to the secret file now. */
    return tool_secret_read_or_make(build->secret_file, build->key) && key_has_its_own_file(build);
}

/* The same if keys are hashed before the filter exists. */
static bool take_or_draw_key(struct build *build)
{
    if (build->wish.hash != BLOOMERY_HASH_SIPHASH || build->secret_file != NULL)
        return take_key(build);
    build->options.secret = build->key = tool_allocate(BLOOMERY_SECRET_BYTES);
    if (getrandom(build->key, BLOOMERY_SECRET_BYTES, 0) == BLOOMERY_SECRET_BYTES)
        return true;
    tool_error("the system did not provide a random secret");
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

/* A filter, or what makes it straight in its file. */
static bool save(const struct build *build, const bloomery_filter *filter,
                 bloomery_builder *builder)
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
    if (good && (builder != NULL ? bloomery_builder_save(builder, build->output, &error)
                                 : bloomery_save(filter, build->output, &error)) != BLOOMERY_OK) {
        tool_library_error(build->output, &error);
        good = false;
    }
    tool_filter_unlock(lock);
    return good;
}

/* ---- What is reported of it ------------------------------------------------------------------ */

/*
 * The number of different keys is an estimate. Of m bits, n keys with k bits each set a number
 * whose variance is about m e^-c (1 - (1 + c) e^-c), where c = n k / m, and a bit more or less
 * stands for e^c / k keys; so the estimate's standard deviation is sqrt(m (e^c - 1 - c)) / k: 2,500
 * of 100 million keys at a rate of 1 in 100. Lines that are fuller than others add a twentieth.
 * We say that keys were repeated only if the records are more by six times that, and some.
 */
static bool surely_repeated(const struct tool_change *change)
{
    const bloomery_info *info = &change->facts.info;
    const bloomery_scan_result *scan = &change->facts.scan;
    if (!info->has_bits) /* its keys are counted, not estimated */
        return (double)change->records > scan->estimated_keys;
    double bits_per_key = info->probes * (info->blocks_per_key > 0 ? info->blocks_per_key : 1.0);
    double load = -log1p(-scan->fill);
    double deviation = sqrt((double)info->bits * (expm1(load) - load)) / bits_per_key;
    if (info->layers > 1) /* layers differ in fill and probes: a bound, not the deviation */
        deviation += 0.001 * (double)change->records;
    return (double)change->records - scan->estimated_keys > 10 + 6 * deviation;
}

/* More keys than it was planned for. A scalable filter grows instead. */
static bool is_overfull(const bloomery_plan *plan, const struct tool_change *change)
{
    return plan->kind != BLOOMERY_SCALABLE && change->records > plan->planned_keys;
}

/* What "wrote" says of keys and rate. While the filter is within its plan, the rate is the one
 * planned; past it, only the bits know what has become of it. */
static void describe(char *text, size_t room, const bloomery_plan *plan,
                     const struct tool_change *change)
{
    char records[TOOL_NUMBER_BYTES], keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    char size[TOOL_NUMBER_BYTES], layers[TOOL_NUMBER_BYTES] = "";
    bool overfull = is_overfull(plan, change);
    double estimated = change->facts.scan.estimated_keys;
    tool_format_count(records, change->records);
    tool_format_size(size, change->facts.info.file_bytes);
    tool_format_odds(odds, overfull ? change->facts.scan.live_rate : plan->planned_rate);
    if (plan->kind == BLOOMERY_SCALABLE)
        snprintf(layers, sizeof(layers), " in %u layer%s", change->facts.info.layers,
                 change->facts.info.layers == 1 ? "" : "s");
    if (overfull && !(estimated < 1e15))
        snprintf(text, room,
                 "%s records, %s, every bit is set: any key is now reported as possibly in it",
                 records, size);
    else if (overfull || surely_repeated(change))
        snprintf(text, room, "%s records, about %s distinct keys, %s%s, %s", records,
                 tool_format_count(keys, (uint64_t)(estimated + 0.5)), size, layers, odds);
    else
        snprintf(text, room, "%s key%s, %s%s, %s", records, change->records == 1 ? "" : "s", size,
                 layers, odds);
}

enum { PASSED_BYTES = TOOL_NUMBER_BYTES + 40 };

static const char *describe_passed_over(char text[PASSED_BYTES], const struct tool_change *change)
{
    char number[TOOL_NUMBER_BYTES];
    const uint64_t keyless = change->passed_over - change->headers; /* a header should have none */
    text[0] = '\0';
    if (keyless > 0)
        snprintf(text, PASSED_BYTES, "; %s record%s no key", tool_format_count(number, keyless),
                 keyless == 1 ? " has" : "s have");
    return text;
}

static void say_written(const struct build *build, const bloomery_plan *plan,
                        const struct tool_change *change)
{
    char text[6 * TOOL_NUMBER_BYTES + 80], passed[PASSED_BYTES], space[TOOL_ROOM_BYTES];
    const char *name = strcmp(build->output, "-") == 0 ? "stdout" : build->output;
    if (!build->quiet && !build->json) {
        describe(text, sizeof(text), plan, change);
        tool_say("wrote %s: %s%s%s", name, text, describe_passed_over(passed, change),
                 tool_describe_room(space, &change->facts.info));
    }
    if (is_overfull(plan, change))
        tool_warn_overfull(name, &change->facts);
}

static int print_json(const struct build *build, const struct tool_change *change)
{
    struct tool_report *object = tool_report_start("build", (struct tool_report_form){0});
    tool_report_change(object, build->output, change);
    return tool_report_print(object, true, TOOL_FOUND);
}

/* Reads the filter's bits only if something is to be said of them. `change` is what building found;
 * this fills the rest of it. Returns the exit code. */
static int report(const struct build *build, const bloomery_plan *plan,
                  const bloomery_filter *filter, struct tool_change *change)
{
    static const bloomery_scan_result nothing;
    if (build->quiet && !build->json && !is_overfull(plan, change))
        return TOOL_FOUND;
    tool_change_find(&nothing, filter, change);
    say_written(build, plan, change);
    return build->json ? print_json(build, change) : TOOL_FOUND;
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

/* Whether the filter has nearly as many keys as lines were added. Its bits tell more exactly than
 * any sample. */
static bool are_different(const bloomery_filter *filter, uint64_t lines)
{
    bloomery_comparison bits = BLOOMERY_COMPARISON;
    return bloomery_compare(filter, filter, &bits, NULL) == BLOOMERY_OK && isfinite(bits.keys[0]) &&
           bits.keys[0] >= (1 - TOOL_HARDLY_REPEATED) * (double)lines;
}

/* If of a sample hardly any line comes again, to count lines is enough, and takes a fifth of the
 * time of hashing them. The filter is made for all of them. NULL, with `*done` false, if its bits
 * say that more come again than seemed so. */
static bloomery_filter *add_all_lines(struct build *build, const struct tool_second_reading *second,
                                      bloomery_plan *plan, struct tool_change *change, bool *done)
{
    const bloomery_key_rule *rule = &build->options.rule;
    *done = false;
    if (build->memory > 0 || /* which all lines may not fit, and the different ones do */
        !tool_lines_seem_different(&build->source, rule, TOOL_DISTINCT_KEPT) ||
        !tool_lines_count_whole(second, rule, build->quiet, &build->keys))
        return NULL;
    *done = true;
    if (!take_key(build) || !solve(build, plan))
        return NULL;
    bloomery_filter *filter = create(build, plan);
    if (filter == NULL)
        return NULL;
    if (tool_lines_add_counted(second, rule, filter, build->output, build->keys, build->quiet,
                               change)) {
        *done = are_different(filter, build->keys);
        build->source.unwarned = true; /* what there is to say of the inputs was said */
        if (*done)
            return filter;
    }
    bloomery_free(filter);
    return NULL;
}

/* They are read first, and the filter is made for as many different ones as they are. Files are
 * then read again if the system still has them in memory; of other inputs (`second` is NULL),
 * hashes were kept. */
static bloomery_filter *count_keys(struct build *build, struct tool_hasher *hasher,
                                   const struct tool_second_reading *second, bloomery_plan *plan,
                                   struct tool_change *change)
{
    if (!take_or_draw_key(build) || !tool_hasher_open(hasher, build->wish.hash, &build->options,
                                                      wanted_rate(build), build->memory))
        return NULL;
    hasher->counts_only = second != NULL;
    bloomery_filter *filter = NULL;
    if (tool_lines_hash(&build->source, &build->options.rule, hasher, build->quiet, change)) {
        /* A plan of no keys has no rate, which is the limit that later adds keep. */
        build->keys = change->records > 0 ? tool_hasher_different_keys(hasher) : 1;
        filter = solve(build, plan) ? create(build, plan) : NULL;
    }
    const bool good = filter != NULL &&
                      (second != NULL ? tool_lines_add_again(second, &build->options.rule, filter,
                                                             build->output, build->quiet, change)
                                      : tool_hasher_build(hasher, filter, plan->hash, build->output,
                                                          build->quiet));
    if (good)
        return filter;
    bloomery_free(filter);
    return NULL;
}

/* The filter of keys whose number is not given. */
static bloomery_filter *build_uncounted(struct build *build, bloomery_plan *plan,
                                        struct tool_change *change)
{
    struct tool_hasher hasher = {.count = 0};
    struct tool_second_reading second;
    bloomery_filter *filter = NULL;
    bool done = false;
    const bool twice = tool_lines_are_read_twice(&build->source, &second);
    if (twice)
        filter = add_all_lines(build, &second, plan, change, &done);
    if (!done && (!twice || tool_second_reading_rewind(&second))) {
        build->keys = 0;
        filter = count_keys(build, &hasher, twice ? &second : NULL, plan, change);
    }
    tool_second_reading_end(&second);
    tool_hasher_close(&hasher);
    return filter;
}

static int build_filter(struct build *build)
{
    bloomery_plan plan;
    struct tool_change change;
    bloomery_filter *filter;
    if (build->kind == BLOOMERY_SCALABLE)
        let_it_grow(build);
    filter =
        build->keys > 0 ? add_keys(build, &plan, &change) : build_uncounted(build, &plan, &change);
    wipe_key(build);
    int code = TOOL_ERROR;
    build->saves = filter != NULL;
    if (filter != NULL && save(build, filter, NULL))
        code = report(build, &plan, filter, &change);
    bloomery_free(filter);
    return code;
}

/* ---- Static filters -------------------------------------------------------------------------- */

enum { STATIC_MEMORY_MIN = 16 << 20 };

static bool open_builder(const struct build *build, bloomery_plan *plan, bloomery_builder **builder)
{
    bloomery_builder_options limits = BLOOMERY_BUILDER_OPTIONS;
    bloomery_error error;
    const char *temporary = getenv("TMPDIR");
    if (build->memory > 0 && build->memory < STATIC_MEMORY_MIN)
        return !tool_usage(
            "with --kind static, --memory limits the build and must be at least 16MiB; the "
            "filter is as small as its keys and rate allow");
    limits.memory = build->memory;
    limits.threads = build->source.threads;
    limits.directory = build->temporary != NULL                    ? build->temporary
                       : temporary != NULL && temporary[0] != '\0' ? temporary
                                                                   : "/tmp";
    *plan = (bloomery_plan){.kind = BLOOMERY_STATIC,
                            .keys = build->keys > 0 ? build->keys : 1,
                            .rate = build->rate > 0 ? build->rate : TOOL_RATE_DEFAULT};
    if (bloomery_plan_solve(plan, &build->wish, &error) == BLOOMERY_OK &&
        bloomery_builder_open(plan, &build->options, &limits, builder, &error) == BLOOMERY_OK)
        return true;
    tool_library_error(NULL, &error);
    return false;
}

/* The filter of all keys: in memory for standard output, else a map of its file. */
static const bloomery_filter *finish_static(const struct build *build, bloomery_builder *builder)
{
    const bool to_stdout = strcmp(build->output, "-") == 0;
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    if (!to_stdout && !save(build, NULL, builder))
        return NULL;
    bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
    inspect.inspect = true;
    const bloomery_status status = to_stdout
                                       ? bloomery_builder_finish(builder, &filter, &error)
                                       : bloomery_map(build->output, &inspect, &filter, &error);
    if (status != BLOOMERY_OK) {
        tool_library_error(to_stdout ? NULL : build->output, &error);
        return NULL;
    }
    if (!to_stdout || tool_filter_to_stdout(filter))
        return filter;
    bloomery_free(filter);
    return NULL;
}

/* For as many keys as come: they go to a builder, which makes the file when all have come. */
static int build_static(struct build *build)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_builder *builder = NULL;
    const bloomery_filter *filter = NULL;
    struct tool_change change;
    int code = TOOL_ERROR;
    if (!take_key(build))
        return TOOL_ERROR;
    if (open_builder(build, &plan, &builder) &&
        tool_lines_build(&build->source, &build->options.rule, builder, build->quiet, &change)) {
        build->saves = true;
        filter = finish_static(build, builder);
    }
    if (filter != NULL) {
        plan.planned_keys = change.records; /* it is built for those that came */
        code = report(build, &plan, filter, &change);
    }
    bloomery_free(filter);
    bloomery_builder_free(builder);
    wipe_key(build);
    return code;
}

/* ---- Filters of other systems ---------------------------------------------------------------- */

/*
 * The other system's own sizing decides. It gets the user's parameters, and the others that it
 * needs: the counted number of keys if nothing else sets the filter's size, and our default rate if
 * nothing else sets its quality.
 */
static bool takes(const struct build *build, const char *name)
{
    return tool_dialect_list_has(build->dialect.dialect->create_takes, name);
}

/* -n and -p are other words for two of the parameters. */
static bool take_keys_and_rate(struct build *build)
{
    bloomery_dialect_parameters *parameters = &build->dialect.parameters;
    if ((build->keys > 0 && parameters->keys > 0) || (build->rate > 0 && parameters->rate > 0)) {
        tool_usage("%s is given twice, as an option and as a parameter of the dialect",
                   build->keys > 0 && parameters->keys > 0 ? "the number of keys" : "the rate");
        return false;
    }
    if (build->keys > 0)
        parameters->keys = build->keys;
    if (build->rate > 0)
        parameters->rate = build->rate;
    return true;
}

static bool complete_parameters(struct build *build)
{
    bloomery_dialect_parameters *parameters = &build->dialect.parameters;
    const bool sized = parameters->bits > 0 || parameters->bytes > 0;
    if (!take_keys_and_rate(build))
        return false;
    if (parameters->rate == 0 && !sized && parameters->probes == 0 &&
        parameters->bits_per_key == 0 && takes(build, "rate"))
        parameters->rate = TOOL_RATE_DEFAULT;
    if (parameters->keys > 0 || sized || !takes(build, "keys"))
        return true;
    return tool_lines_count(&build->source, &build->options.rule,
                            "can't be read twice to count its keys; say how many with -n",
                            build->quiet, &parameters->keys);
}

static int stop(void *context, const void *data, size_t bytes)
{
    (void)context, (void)data, (void)bytes;
    return -1;
}

/* Whether it can be written, asked before the keys are read: what stops is only the receiver
 * then. */
static bool can_be_written(const struct build *build, const bloomery_filter *filter)
{
    bloomery_error error;
    const bloomery_status status =
        build->ours ? BLOOMERY_OK
                    : bloomery_dialect_write(filter, build->dialect.dialect, stop, NULL, &error);
    if (status == BLOOMERY_OK || status == BLOOMERY_IO_FAILED)
        return true;
    tool_library_error(NULL, &error);
    tool_say("a Bloomery file can have such a filter: --ours");
    return false;
}

static int report_dialect(const struct build *build, const struct tool_output *output,
                          const bloomery_filter *filter, struct tool_change *change, uint64_t bytes)
{
    static const bloomery_scan_result nothing;
    char keys[TOOL_NUMBER_BYTES], size[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    tool_change_find(&nothing, filter, change);
    if (!output->quiet && !output->json)
        tool_say("wrote %s: a file of %s, %s key%s, %s, %s", tool_output_said(output),
                 build->ours ? "ours" : build->dialect.dialect->name,
                 tool_format_count(keys, change->records), change->records == 1 ? "" : "s",
                 tool_format_size(size, bytes),
                 tool_format_odds(odds, change->facts.scan.live_rate));
    char reading[TOOL_READING_BYTES];
    if (!output->quiet && !output->json && !build->ours)
        tool_foreign_say_reading(filter, output->dialect);
    tool_warn_overfull(tool_output_said(output), &change->facts);
    if (!output->quiet)
        tool_remarks_say(tool_output_said(output), filter);
    if (!output->json)
        return TOOL_FOUND;
    struct tool_report *object = tool_report_start("build", (struct tool_report_form){0});
    tool_report_change(object, output->path, change);
    tool_fact(object, "dialect", NULL, tool_text(build->dialect.dialect->name));
    if (!build->ours) {
        tool_foreign_reading(filter, output->dialect, reading);
        tool_fact(object, "read_as", NULL, tool_text(reading));
    }
    tool_fact(object, "file_bytes", NULL, tool_size(bytes)); /* of the other system's file */
    tool_fact(object, "written_bytes", NULL, tool_size(bytes));
    tool_remarks_add(object, "remarks", NULL, filter);
    return tool_report_print(object, true, TOOL_FOUND);
}

static int build_dialect_filter(struct build *build, const struct tool_output *output)
{
    bloomery_create_options kept = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    struct tool_change change;
    uint64_t bytes = 0;
    kept.rule = build->options.rule;
    kept.note = build->options.note;
    if (!complete_parameters(build))
        return TOOL_ERROR;
    if (bloomery_dialect_create(build->dialect.dialect, &build->dialect.parameters, &kept, &filter,
                                &error) != BLOOMERY_OK)
        return tool_library_error(NULL, &error);
    int code = TOOL_ERROR;
    if (can_be_written(build, filter) &&
        tool_lines_add(&build->source, &build->options.rule, filter, output->path, "building",
                       build->quiet, &change) &&
        tool_output_write(output, filter, &bytes))
        code = report_dialect(build, output, filter, &change, bytes);
    bloomery_free(filter);
    return code;
}

/* Builds another system's file. Refuses options that only our files have. */
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
        return tool_usage(
            "%s is for Bloomery filters; a file of %s has the parameters of --dialect", wrong,
            build->dialect.dialect->name);
    struct tool_output output = {.path = build->output,
                                 .dialect = build->ours ? NULL : build->dialect.dialect,
                                 .force = build->force,
                                 .quiet = build->quiet,
                                 .json = build->json,
                                 .lock = -1};
    const int code = tool_output_begin(&output) ? build_dialect_filter(build, &output) : TOOL_ERROR;
    tool_output_end(&output);
    return code;
}

/* ---- The command ----------------------------------------------------------------------------- */

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
        return tool_usage(
            "--ours goes with --dialect; all other filters are Bloomery files anyway");
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
    .summary = "build a filter from lines",
    .synopsis = "bloomery build [-n N] [-p RATE] [--memory SIZE] -o FILE [INPUT...]\n"
                "bloomery build --dialect DIALECT [-n N] [-p RATE] -o FILE [INPUT...]",
    .introduction =
        "Builds a Bloom filter from the lines of the inputs. By default, one in 10,000 lookups "
        "of keys that were never added is a false positive (-p). Without INPUT, or with '-', "
        "it reads standard input. Compressed input is unpacked: gzip, zlib, zstd, xz, bzip2, "
        "lz4, lzip, lzma and .Z. The members of tar, zip, cpio, 7z and rar archives are read "
        "one after the other. Other binary formats are refused. UTF-16 input that begins with "
        "a byte order mark is converted to UTF-8. FILE is written at the end, completely or "
        "not at all. An existing filter is replaced.",
    .groups = groups,
    .epilogue = "Without --crlf, a carriage return at the end of a line is part of the key. A "
                "warning says so if the first line of an input ends with one. Without "
                "--header, a line of column names is a line like any other.\n"
                "\n"
                "Exit code: 0 the filter was written, 2 an error; then nothing was written. If "
                "no line has field N, that is an error.\n"
                "\n"
                "  bloomery build -p 0.01 -o ids.bloom ids.txt\n"
                "  zcat urls.gz | bloomery build -n 20M -p 1/10000 -o urls.bloom\n"
                "  bloomery build --csv --header -F name --lower -o names.bloom people.csv\n"
                "  bloomery build --dialect guava -p 0.01 -o words.bf words.txt\n"
                "  bloomery build --memory 512MiB --kind classic -o words.bloom words-*.txt",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect: a filter's own figures, and whether they are true.
 *
 * Four rates are distinguished. The planned one was promised for the planned number of keys. The
 * predicted one is what filters of this shape have on average with the keys that are in it now. The
 * live one is that of these very bits, exact for a random absent key. The measured one is found by
 * queries. Measured and live must agree within chance whatever happened to the filter before, or
 * queries are broken. Live and planned must agree within what small filters vary by. Otherwise the
 * plan was wrong, unless the filter holds more keys than planned.
 */
#include "base/bits.h"
#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/statistics.h"
#include "command/inspect/canary.h"
#include "command/inspect/inspect.h"
#include "filter/files.h"
#include "filter/filter_report.h"
#include "filter/foreign_file.h"
#include "filter/growth.h"
#include "input/chunks.h"
#include "key/batch.h"
#include "key/hint.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <bloomery/bloomery.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Inspect --------------------------------------------------------------------------------- */

/* The options of `inspect` and its findings, for text (cmd_inspect.c) and JSON (inspect_json.c). */

struct tool_inspection {
    const char *path;
    const char *secret_file;
    struct tool_dialect_choice dialect;
    struct tool_rule_choice choice; /* of another system's file, which keeps no rule */
    const char *canary;             /* a file of keys, or NULL */
    uint64_t measure;               /* how many keys, 0: do not */
    uint64_t seed;
    bool verify;
    bool json;
};

/* The findings, for text and JSON alike. */
struct tool_findings {
    const bloomery_filter *filter;
    struct tool_origin origin;
    const bloomery_dialect *dialect; /* of the filter; NULL: our own */
    bloomery_info info;
    bloomery_scan_result scan;
    bool verified, intact;
    bloomery_error damage;
    bool measured;
    uint64_t hits;
    struct tool_interval interval;
    bool hits_plausible; /* measured agrees with live */
    bool enough_queries; /* for a measured rate that says something */
    bool over_full;      /* more keys than planned */
    bool too_high;       /* live above planned without that excuse */
    bool part_full;      /* clearly fewer keys than planned, and so a better rate */
    bool above_planned;  /* live above planned, for whatever reason and by however little */
    struct tool_canaries canaries;
};

/* Whether there is anything that makes it exit with 1. */
bool tool_findings_any(const struct tool_findings *report);

/* Whether it is damaged, or measured and found wrong. */
bool tool_findings_fault(const struct tool_findings *report);

/* Prints all as text; the exit code. */
int tool_inspect_text(const struct tool_inspection *request, const struct tool_findings *report);

/* Prints all as one object; the exit code. */
int tool_inspect_json(const struct tool_inspection *request, const struct tool_findings *report);

/* ---- Canary ---------------------------------------------------------------------------------- */

/* Canaries: keys that a filter must not have. A canary that the filter takes for a member shows
 * that the filter is over full, or wrong, or holds other keys than was thought. */

enum { TOOL_CANARIES_SHOWN = 10, TOOL_CANARY_BYTES = 80 };

struct tool_canaries {
    uint64_t queried;
    uint64_t hits; /* those that the filter may have */
    size_t shown;  /* of them, the first */
    char text[TOOL_CANARIES_SHOWN][TOOL_CANARY_BYTES];
};

/* Queries a filter for all lines of a file, by its rule. `path`: "-" is stdin; it may be packed. If
 * none may be in the filter, `name`, but digests would be in the other case, a hint reports that.
 * False after a message. */
bool tool_canaries_query(const char *path, const char *name, const bloomery_filter *filter,
                         struct tool_canaries *canaries);

static const char help[] =
    "bloomery inspect FILTER [--verify] [--measure N] [--canary FILE] [--json]\n"
    "\n"
    "Reports what a filter is and its state: shape, plan, fill, the number of its\n"
    "keys, and its false-positive rate as planned, as predicted for these keys, and\n"
    "live, from its actual bits.\n"
    "\n"
    "      --verify         read everything and compare every checksum\n"
    "      --measure N      look up N random absent keys and test the measured rate.\n"
    "                       There is no verdict if fewer than 10 false positives\n"
    "                       are expected\n"
    "      --seed S         other random keys. Default 0\n"
    "      --canary FILE    look up the lines of this file, keys that must not be in\n"
    "                       the filter, by the filter's rule, and show those that\n"
    "                       possibly are. If hexadecimal digests would be in it in\n"
    "                       the other case, a hint on standard error says so; that\n"
    "                       is no finding\n"
    "      --secret-file FILE\n"
    "                       the secret of a filter that does not carry it; only\n"
    "                       --measure and --canary need it\n"
    "      --dialect D      FILTER is another system's file:\n"
    "                       NAME[,parameter=value...] as 'bloomery dialects' lists\n"
    "                       them; files with a magic need no name\n" TOOL_PROGRESS_HELP
    "      --json           one JSON object, numbers unrounded\n"
    "\n"
    "A filter of ours keeps the rule by which lines of --canary become keys. For\n"
    "another system's file, the options of 'bloomery help build' give it (-F, -d,\n"
    "--csv, --crlf, --comment, --trim, --lower, --upper, --hex, --int64, --int32,\n"
    "--utf16, --skip-empty).\n"
    "\n"
    "Exit codes: 0 all well; 1 a finding: damage (--verify), a rate that is not as\n"
    "expected (--measure), or a key that must not be in it (--canary); 2 an error.\n"
    "\n"
    "  bloomery inspect ids.bloom\n"
    "  bloomery inspect ids.bloom --verify --measure 10M\n";

/* ---- Measuring ------------------------------------------------------------------------------- */

enum {
    KEY_BYTES = 16,
    BATCH = 4096,
};

/* How many of `count` random keys the filter takes for members. That one of them is one has a
 * chance of the number of keys over 2^128. */
static uint64_t query_random_keys(const bloomery_filter *filter, uint64_t count, uint64_t seed)
{
    uint64_t words[BATCH][KEY_BYTES / sizeof(uint64_t)];
    bloomery_key keys[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        keys[i] = bloomery_key_of(words[i], KEY_BYTES);

    struct tool_random random = tool_random_make(seed, 20);
    struct tool_progress progress;
    tool_progress_start(&progress, "querying", false);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? (size_t)(count - done) : (size_t)BATCH;
        for (size_t i = 0; i < batch; i++)
            for (size_t w = 0; w < KEY_BYTES / sizeof(uint64_t); w++)
                words[i][w] = tool_random_next(&random);
        hits += tool_batch_query(filter, keys, batch, NULL);
        done += batch;
        tool_progress_update(&progress, done, done, count);
    }
    tool_progress_stop(&progress);
    return hits;
}

static double allowed_factor(const bloomery_info *info)
{
    bloomery_plan shape = {.kind = info->kind,
                           .bits = info->bits,
                           .blocks_per_key = info->blocks_per_key,
                           .probes = info->probes};
    return tool_allowed_factor(&shape, info->planned_keys);
}

/* The estimate of the keys is off by less than the root of their number. */
static bool holds_too_many(const bloomery_info *info, const bloomery_scan_result *scan)
{
    double planned = (double)info->planned_keys;
    return info->planned_keys > 0 && scan->estimated_keys > planned * 1.01 + 4 * sqrt(planned) &&
           scan->live_rate > info->wanted_rate;
}

/* A tenth fewer, and by more than the estimate is off in a small filter. */
static bool holds_too_few(const bloomery_info *info, const bloomery_scan_result *scan)
{
    double planned = (double)info->planned_keys;
    return info->planned_keys > 0 && scan->live_rate < info->planned_rate &&
           scan->estimated_keys < planned * 0.9 - 0.5 * sqrt(planned);
}

/* So many expected hits make a rate that says something: within 60 % of the true one. */
static const double hits_least = 10;

static void measure(const bloomery_filter *filter, const struct tool_inspection *request,
                    struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    report->measured = true;
    report->hits = query_random_keys(filter, request->measure, request->seed);
    assert(report->hits <= request->measure);
    report->interval = tool_wilson(report->hits, request->measure);
    report->hits_plausible = tool_plausible(report->hits, request->measure, scan->live_rate);
    report->enough_queries =
        scan->live_rate == 0 || (double)request->measure * scan->live_rate >= hits_least;
    report->part_full = holds_too_few(info, scan);
    report->above_planned = info->planned_rate > 0 && scan->live_rate > info->planned_rate;
    /* A chain has no one plan. Other systems often don't keep the plan that was requested, which is
     * remarked on. */
    report->too_high =
        !report->over_full && info->planned_keys > 0 && info->planned_rate > 0 && !info->can_grow &&
        report->dialect == NULL &&
        scan->live_rate > fmax(info->wanted_rate, info->planned_rate * allowed_factor(info));
}

/* ---- Files that can't be opened -------------------------------------------------------------- */

/* A file whose header is damaged can't be opened; if damage was to be looked for, it is reported as
 * a finding. */
static int report_unreadable(const struct tool_inspection *request,
                             const struct tool_filter_file *file, const bloomery_error *error)
{
    bool damage = error->status == BLOOMERY_CORRUPT || error->status == BLOOMERY_TRUNCATED;
    if (!request->verify || !damage) {
        tool_library_error(request->path, error);
        if (file->origin.dialect == NULL)
            tool_foreign_hint(file, "--dialect", error->status);
        else
            tool_foreign_hint_other(file, &request->dialect);
        return TOOL_ERROR;
    }
    if (request->json) {
        json_t *object = tool_json_report("inspect");
        tool_json_add(object, "file", tool_json_text(request->path));
        tool_json_add(object, "intact", tool_json_bool(false));
        tool_json_add(object, "damage", tool_json_text(error->text));
        tool_json_add(object, "finding", tool_json_bool(true));
        return tool_json_print(object, TOOL_NONE);
    }
    struct tool_out out;
    tool_out_start(&out);
    tool_out_name(&out, request->path);
    tool_out_format(&out, ": %s\n", error->text);
    return tool_out_finish(&out, TOOL_NONE);
}

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_VERIFY = TOOL_OPTION_OWN,
    OPTION_MEASURE,
    OPTION_CANARY,
    OPTION_SEED,
    OPTION_SECRET_FILE,
    OPTION_DIALECT,
    OPTION_JSON,
};

static const struct option options[] = {
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"measure", required_argument, NULL, OPTION_MEASURE},
    {"canary", required_argument, NULL, OPTION_CANARY},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"secret-file", required_argument, NULL, OPTION_SECRET_FILE},
    {"dialect", required_argument, NULL, OPTION_DIALECT},
    {"json", no_argument, NULL, OPTION_JSON},
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

static bool take_option(struct tool_inspection *request, int option)
{
    switch (option) {
    case OPTION_VERIFY:
        request->verify = true;
        return true;
    case OPTION_MEASURE:
        return tool_option_count("--measure", optarg, 1, TOOL_KEYS_MAX, &request->measure);
    case OPTION_CANARY:
        request->canary = optarg;
        return true;
    case OPTION_SEED:
        return tool_option_count("--seed", optarg, 0, UINT64_MAX, &request->seed);
    case OPTION_SECRET_FILE:
        request->secret_file = optarg;
        return true;
    case OPTION_DIALECT:
        return tool_dialect_option("--dialect", optarg, &request->dialect);
    case OPTION_JSON:
        request->json = true;
        return true;
    default:
        return tool_rule_option(&request->choice, option);
    }
}

static bool can_be_asked(const struct tool_inspection *request, const struct tool_findings *report)
{
    if ((request->measure == 0 && request->canary == NULL) || report->info.secret_known)
        return true;
    if (report->dialect != NULL)
        tool_error("%s: its keys are hashed by %s, which is not there: it needs libcrypto",
                   request->path, bloomery_hash_name(report->info.hash));
    else
        tool_error("%s: its secret is not in the file, and without it no key can be looked up; "
                   "give it with --secret-file",
                   request->path);
    return false;
}

static int inspect_filter(const struct tool_inspection *request, const struct tool_origin *origin,
                          const bloomery_filter *filter)
{
    struct tool_findings report = {
        .info = BLOOMERY_INFO, .scan = BLOOMERY_SCAN_RESULT, .filter = filter, .origin = *origin};
    bloomery_info_get(filter, &report.info);
    bloomery_scan(filter, &report.scan);
    report.dialect = bloomery_dialect_get(report.info.dialect);
    report.over_full = holds_too_many(&report.info, &report.scan);
    if (!can_be_asked(request, &report))
        return TOOL_ERROR;
    if (request->verify) {
        report.verified = true;
        report.intact = bloomery_verify(filter, &report.damage) == BLOOMERY_OK;
    }
    if (request->measure > 0)
        measure(filter, request, &report);
    if (request->canary != NULL &&
        !tool_canaries_query(request->canary, request->path, filter, &report.canaries))
        return TOOL_ERROR;
    return request->json ? tool_inspect_json(request, &report)
                         : tool_inspect_text(request, &report);
}

static int inspect_main(int argc, char **argv)
{
    struct tool_inspection request = {0};
    int option;
    while ((option = tool_getopt(argc, argv, TOOL_RULE_LETTERS, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&request, option))
            return TOOL_ERROR;
    }
    if (!tool_rule_complete(&request.choice) || !tool_rule_is_kept(&request.choice))
        return TOOL_ERROR;
    if (argc - optind != 1)
        return tool_usage("one filter must be named");
    request.path = argv[optind];

    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    if (request.secret_file != NULL) {
        if (!tool_secret_read(request.secret_file, key))
            return TOOL_ERROR;
        opening.secret = key;
    }
    struct tool_filter_file file;
    bloomery_error error;
    if (!tool_filter_file_open(&file, request.path, &request.dialect))
        return TOOL_ERROR;
    if (file.origin.dialect == NULL && !tool_rule_is_none(&request.choice.rule))
        return tool_usage("%s: options for keys are for other systems' files; ours keep their rule",
                          request.path);
    opening.rule = request.choice.rule;
    const bloomery_filter *filter =
        tool_filter_load(&file, &opening, &request.dialect, NULL, &error);
    int code = TOOL_ERROR;
    if (filter == NULL && error.status != BLOOMERY_OK)
        code = report_unreadable(&request, &file, &error);
    tool_filter_file_close(&file);
    if (filter != NULL && tool_origin_agrees(request.path, &request.dialect, filter))
        code = inspect_filter(&request, &file.origin, filter);
    bloomery_free(filter);
    return code;
}

const struct tool_command cmd_inspect = {
    .name = "inspect",
    .run = inspect_main,
    .summary = "what a filter is and what state it is in",
    .help = help,
};

/* ---- Canary ---------------------------------------------------------------------------------- */

static void note_hit(struct tool_canaries *canaries, bloomery_key record)
{
    canaries->hits++;
    if (canaries->shown < TOOL_CANARIES_SHOWN)
        tool_show_bytes(canaries->text[canaries->shown++], TOOL_CANARY_BYTES, record.data,
                        record.bytes);
}

static void query_batch(const bloomery_filter *filter, const bloomery_key *records, size_t count,
                        const struct tool_made *made, struct tool_canaries *canaries)
{
    uint64_t of_keys[TOOL_BATCH_WORDS], of_records[TOOL_BATCH_WORDS];
    canaries->queried += made->count;
    if (tool_batch_query(filter, made->keys, made->count, of_keys) == 0)
        return;
    tool_made_spread(made, count, of_keys, of_records);
    for (size_t i = 0; i < count; i++)
        if (tool_bit(of_records, i))
            note_hit(canaries, records[i]);
}

/* None found is no comfort if the keys were written in another case than the filter's. */
static void say_hint(const struct tool_hint *hint, const char *name, const bloomery_filter *filter,
                     const bloomery_key_rule *rule)
{
    const struct tool_hint_answer answer = {.name = name};
    if ((rule->flags & TOOL_RULE_CHANGES) == 0)
        tool_hint_say(hint, filter, &answer);
}

bool tool_canaries_query(const char *path, const char *name, const bloomery_filter *filter,
                         struct tool_canaries *canaries)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    union {
        const char *given;
        char *path; /* paths are not written to */
    } input = {.given = path};
    /* Without the place of keys in records, which no file keeps, lines are keys. */
    const struct tool_rule_choice none = {
        .layout.header = (info.rule.flags & BLOOMERY_RULE_HEADER) != 0 && info.rule.field != 0};
    const bloomery_key_rule rule = tool_rule_laid_out(&none, &info.rule);
    struct tool_source source = {.paths = &input.path, .count = 1, .delimiter = '\n', .threads = 1};
    tool_source_lay_out(&source, &none, &rule);
    struct tool_chunks *chunks = tool_chunks_open(&source, "querying");
    struct tool_chunk chunk = {0};
    struct tool_made *made = tool_made_new();
    struct tool_hint *hint = tool_hint_new();
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    *canaries = (struct tool_canaries){0};
    while (tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while ((count = tool_chunk_keys(&chunk, records)) > 0) {
            tool_rule_apply(&rule, &chunk, records, count, made);
            tool_hint_keep(hint, made->keys, made->count);
            query_batch(filter, records, count, made, canaries);
        }
    }
    tool_tally_place(&made->tally, chunks);
    bool all_read = tool_chunks_close(chunks);
    bool all_keys = tool_tally_say(&made->tally, &rule, "such records were not looked up") &&
                    tool_tally_has_keys(&made->tally, &rule, canaries->queried);
    if (canaries->hits == 0 && all_read && all_keys)
        say_hint(hint, name, filter, &rule);
    tool_hint_free(hint);
    free(records);
    tool_made_free(made);
    tool_chunk_free(&chunk);
    return all_read && all_keys;
}

/* ---- Inspect --------------------------------------------------------------------------------- */

bool tool_findings_fault(const struct tool_findings *report)
{
    bool measured_wrong =
        report->measured && (!report->hits_plausible || report->over_full || report->too_high);
    return (report->verified && !report->intact) || measured_wrong;
}

bool tool_findings_any(const struct tool_findings *report)
{
    return tool_findings_fault(report) || report->canaries.hits > 0;
}

/* ---- Inspect json ---------------------------------------------------------------------------- */

static json_t *hex_text(uint64_t value)
{
    char text[20];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
    return tool_json_text(text);
}

static json_t *decimal_text(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return tool_json_text(text);
}

static json_t *name_or_null(const char *name)
{
    return name != NULL ? tool_json_text(name) : tool_json_null();
}

static void add_dialect(json_t *object, const struct tool_findings *report)
{
    const bloomery_dialect *dialect = report->dialect, *origin = report->origin.dialect;
    tool_json_add(object, "dialect", name_or_null(dialect != NULL ? dialect->name : NULL));
    tool_json_add(object, "file_dialect", name_or_null(origin != NULL ? origin->name : NULL));
    if (dialect == NULL)
        return;
    tool_json_add(object, "variant", name_or_null(bloomery_dialect_variant(report->filter)));
    tool_json_add(object, "remarks", tool_remarks_json(report->filter));
}

static void add_header(json_t *object, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    tool_json_add(object, "format_version", tool_json_count(info->format_version));
    tool_json_add(object, "kind", tool_json_text(bloomery_kind_name((int)info->kind)));
    tool_json_add(object, "layers", tool_json_count(info->layers));
    tool_json_add(object, "blocks_per_key", tool_json_count(info->blocks_per_key));
    tool_json_add(object, "probes", tool_json_count(info->probes));
    tool_json_add(object, "bits", tool_json_count(info->bits));
    tool_json_add(object, "cell_bits", tool_json_count(info->cell_bits));
    if (info->counter_max > 0)
        tool_json_add(object, "counter_max", tool_json_count(info->counter_max));
    tool_json_add(object, "bytes", tool_json_count(info->bytes));
    const bool foreign = report->origin.dialect != NULL;
    tool_json_add(object, "file_bytes",
                  tool_json_count(foreign ? report->origin.bytes : info->file_bytes));
    bool keyed = info->secret_fingerprint != 0;
    tool_json_add(object, "hash", name_or_null(bloomery_hash_name(info->hash)));
    tool_json_add(object, "seed", decimal_text(info->seed));
    tool_json_add(object, "secret_fingerprint",
                  keyed ? hex_text(info->secret_fingerprint) : tool_json_null());
    tool_json_add(object, "secret_in_file", tool_json_bool(info->secret_in_file));
    tool_json_add(object, "note",
                  info->note != NULL ? tool_json_text(info->note) : tool_json_null());
    json_t *flags = tool_json_array();
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if (info->rule.flags >> i & 1)
            tool_json_append(flags, tool_json_text(tool_rule_names[i]));
    tool_json_add(object, "rule", flags);
    if (info->rule.field != 0) {
        tool_json_add(object, "rule_field", tool_json_integer(info->rule.field));
        tool_json_add(object, "rule_delimiter", tool_json_count(info->rule.delimiter));
    }
    if (info->rule.comment != 0)
        tool_json_add(object, "rule_comment", tool_json_count(info->rule.comment));
    tool_json_add(object, "adds", tool_json_count(info->adds));
    tool_json_add(object, "planned_keys",
                  info->planned_keys > 0 ? tool_json_count(info->planned_keys) : tool_json_null());
    tool_json_add(object, "planned_rate",
                  info->planned_rate > 0 ? tool_json_number(info->planned_rate) : tool_json_null());
    tool_json_add(object, "wanted_rate",
                  info->wanted_rate > 0 ? tool_json_number(info->wanted_rate) : tool_json_null());
}

static void add_state(json_t *object, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    tool_json_add(object, "bits_set", tool_json_count(scan->bits_set));
    if (info->counter_max > 0)
        tool_json_add(object, "saturated_cells", tool_json_count(scan->saturated_cells));
    tool_json_add(object, "fill", tool_json_number(scan->fill));
    tool_json_add(object, "estimated_keys", tool_json_number(scan->estimated_keys));
    tool_json_add(object, "over_full", tool_json_bool(report->over_full));
    tool_json_add(object, "predicted_rate", tool_json_number(scan->expected_rate));
    tool_json_add(object, "live_rate", tool_json_number(scan->live_rate));
}

static json_t *measurement_object(const struct tool_inspection *request,
                                  const struct tool_findings *report)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "queries", tool_json_count(request->measure));
    tool_json_add(object, "false_positives", tool_json_count(report->hits));
    tool_json_add(object, "rate",
                  tool_json_number((double)report->hits / (double)request->measure));
    tool_json_add(object, "low_95", tool_json_number(report->interval.low));
    tool_json_add(object, "high_95", tool_json_number(report->interval.high));
    tool_json_add(object, "agrees_with_live", tool_json_bool(report->hits_plausible));
    tool_json_add(object, "enough_queries", tool_json_bool(report->enough_queries));
    tool_json_add(object, "live_above_planned", tool_json_bool(report->above_planned));
    return object;
}

static json_t *canaries_object(const struct tool_canaries *canaries)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "queries", tool_json_count(canaries->queried));
    tool_json_add(object, "hits", tool_json_count(canaries->hits));
    json_t *first = tool_json_array();
    for (size_t i = 0; i < canaries->shown; i++)
        tool_json_append(first, tool_json_text(canaries->text[i]));
    tool_json_add(object, "first", first);
    return object;
}

int tool_inspect_json(const struct tool_inspection *request, const struct tool_findings *report)
{
    json_t *object = tool_json_report("inspect");
    tool_json_add(object, "file", tool_json_text(request->path));
    add_dialect(object, report);
    add_header(object, report);
    add_state(object, report);
    if (report->info.kind == BLOOMERY_SCALABLE) /* of RedisBloom some never grow */
        tool_json_add(object, "chain", tool_layers_json(report->filter));
    if (report->measured)
        tool_json_add(object, "measured", measurement_object(request, report));
    if (request->canary != NULL)
        tool_json_add(object, "canaries", canaries_object(&report->canaries));
    if (report->verified) {
        tool_json_add(object, "intact", tool_json_bool(report->intact));
        tool_json_add(object, "damage",
                      report->intact ? tool_json_null() : tool_json_text(report->damage.text));
    }
    tool_json_add(object, "finding", tool_json_bool(tool_findings_any(report)));
    return tool_json_print(object, tool_findings_any(report) ? TOOL_NONE : TOOL_FOUND);
}

/* ---- Inspect text ---------------------------------------------------------------------------- */

/* "0.009983 (1 in 100)" */
enum { RATE_BYTES = 2 * TOOL_NUMBER_BYTES + 4 };

static const char *rate_text(char *text, double rate)
{
    char odds[TOOL_NUMBER_BYTES];
    /* Plus zero: an empty filter has rate 0, not -0. */
    snprintf(text, RATE_BYTES, "%.4g (%s)", rate + 0.0, tool_format_odds(odds, rate));
    return text;
}

static void print_fact(struct tool_out *out, const char *name, const char *text)
{
    tool_out_format(out, "  %-16s %s\n", name, text);
}

/* Of more than one. */
static const char *cells_name(const bloomery_info *info)
{
    return info->counter_max > 0 ? "counters" : "bits";
}

static void print_shape(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    char text[320], memory[TOOL_NUMBER_BYTES], file[TOOL_NUMBER_BYTES];
    const char *kind = bloomery_kind_name((int)info->kind);
    if (!info->has_bits)
        snprintf(text, sizeof(text), "%s: %u or %u columns, in %u layer%s", kind, info->probes - 1,
                 info->probes, info->layers, info->layers == 1 ? "" : "s");
    else if (report->dialect != NULL && info->blocks_per_key > 0)
        snprintf(text, sizeof(text), "%s: %u bit%s of one block for a key", kind, info->probes,
                 info->probes == 1 ? "" : "s");
    else if (info->blocks_per_key > 0)
        snprintf(text, sizeof(text), "%s: %u block%s of 512 %s for a key, %u %s%s in %s", kind,
                 info->blocks_per_key, info->blocks_per_key == 1 ? "" : "s", cells_name(info),
                 info->probes, info->counter_max > 0 ? "counter" : "bit",
                 info->probes == 1 ? "" : "s", info->blocks_per_key == 1 ? "it" : "each");
    else
        snprintf(text, sizeof(text), "%s: %u bit%s for a key, anywhere", kind, info->probes,
                 info->probes == 1 ? "" : "s");
    print_fact(out, "kind", text);
    if (info->kind == BLOOMERY_SCALABLE) { /* of RedisBloom some never grow */
        snprintf(text, sizeof(text), "%u%s", info->layers,
                 info->layers > 1     ? ", this being the newest"
                 : info->dialect == 0 ? "; it grows"
                                      : "");
        print_fact(out, "layers", text);
    }
    snprintf(text, sizeof(text), "%s, in a file of %s", tool_format_size(memory, info->bytes),
             tool_format_size(file, report->origin.dialect != NULL ? report->origin.bytes
                                                                   : info->file_bytes));
    print_fact(out, "memory", text);
}

static const char *key_place(const bloomery_info *info)
{
    if (info->secret_in_file)
        return "in this file";
    return info->secret_known ? "kept outside, and given" : "kept outside, and not given";
}

/* The other system, and the known remarks on its filters. */
static void print_dialect(struct tool_out *out, const struct tool_findings *report)
{
    char text[600];
    const char *variant = bloomery_dialect_variant(report->filter);
    if (report->dialect == NULL)
        return;
    snprintf(text, sizeof(text), "%s%s%s: %s", report->dialect->name,
             variant != NULL ? ", variant " : "", variant != NULL ? variant : "",
             report->dialect->description);
    print_fact(out, "dialect", text);
    for (uint32_t i = 0; bloomery_dialect_remark(report->filter, i, text, sizeof(text)); i++)
        print_fact(out, "remark", text);
}

static void print_hash(struct tool_out *out, const bloomery_info *info)
{
    char text[120];
    const char *name = bloomery_hash_name(info->hash);
    if (info->dialect != 0) {
        snprintf(text, sizeof(text), "%s, seed %llu", name != NULL ? name : "unknown",
                 (unsigned long long)info->seed);
        print_fact(out, "hash", text);
        return;
    }
    if (info->secret_fingerprint != 0)
        snprintf(text, sizeof(text), "SipHash-2-4 with a secret (%016llx), %s",
                 (unsigned long long)info->secret_fingerprint, key_place(info));
    else
        snprintf(text, sizeof(text), "XXH3-%s, seed %llu",
                 info->hash == BLOOMERY_HASH_XXH3_128 ? "128" : "64",
                 (unsigned long long)info->seed);
    print_fact(out, "hash", text);
}

static void print_rule(struct tool_out *out, const bloomery_info *info)
{
    char text[TOOL_RULE_TEXT_BYTES];
    if (!tool_rule_is_none(&info->rule))
        print_fact(out, "keys made by", tool_rule_describe(&info->rule, text));
}

/* A note comes from the file's maker: control characters are not sent to a terminal. */
static void print_note(struct tool_out *out, const char *note)
{
    char text[BLOOMERY_NOTE_BYTES + 1];
    size_t length = 0;
    for (; note[length] != '\0' && length < BLOOMERY_NOTE_BYTES; length++) {
        unsigned char byte = (unsigned char)note[length];
        text[length] = byte < 0x20 || byte == 0x7f ? ' ' : note[length];
    }
    text[length] = '\0';
    print_fact(out, "note", tool_printable(text));
}

static void print_plan(struct tool_out *out, const bloomery_info *info)
{
    char text[RATE_BYTES + TOOL_NUMBER_BYTES + TOOL_ROOM_BYTES + 64], keys[TOOL_NUMBER_BYTES],
        rate[RATE_BYTES], space[TOOL_ROOM_BYTES];
    if (info->planned_keys > 0 && info->planned_rate > 0)
        snprintf(text, sizeof(text), "%s key%s at a rate of %s%s%s",
                 tool_format_count(keys, info->planned_keys), info->planned_keys == 1 ? "" : "s",
                 rate_text(rate, info->planned_rate),
                 info->can_grow && info->dialect == 0 ? ", however far it grows" : "",
                 tool_describe_room(space, info));
    else
        snprintf(text, sizeof(text), "unknown");
    print_fact(out, "planned for", text);
}

static void print_state(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    char text[200], first[TOOL_NUMBER_BYTES], second[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    snprintf(text, sizeof(text), "%s of %s (%.2f %%)", tool_format_count(first, scan->bits_set),
             tool_format_count(second, info->bits), 100 * scan->fill);
    if (info->has_bits)
        print_fact(out, info->counter_max > 0 ? "counters used" : "bits set", text);
    if (info->counter_max > 0) {
        snprintf(text, sizeof(text), "%s, at %u", tool_format_count(first, scan->saturated_cells),
                 info->counter_max);
        print_fact(out, "saturated", text);
    }
    if (isinf(scan->estimated_keys))
        snprintf(text, sizeof(text), "any number: all %s %s", cells_name(info),
                 info->counter_max > 0 ? "used" : "set");
    else
        snprintf(text, sizeof(text), "about %s, after %s add%s%s",
                 tool_format_count(first, (uint64_t)(scan->estimated_keys + 0.5)),
                 tool_format_count(second, info->adds), info->adds == 1 ? "" : "s",
                 report->over_full ? ": more than planned" : "");
    if (!info->has_bits) /* they were counted as it was built */
        snprintf(text, sizeof(text), "%s",
                 tool_format_count(first, (uint64_t)(scan->estimated_keys + 0.5)));
    if (report->dialect != NULL && info->adds == 0 && scan->bits_set > 0 &&
        !isinf(scan->estimated_keys))
        snprintf(text, sizeof(text), "about %s; the file does not count them", first);
    print_fact(out, "keys in it", text);
    print_fact(out, "rate, predicted", rate_text(rate, scan->expected_rate));
    print_fact(out, "rate, live", rate_text(rate, scan->live_rate));
}

static void print_better(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    char text[200], keys[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES];
    snprintf(text, sizeof(text),
             "right: measured agrees with live, which is better than planned: about %s different "
             "key%s of %s planned",
             tool_format_count(keys, (uint64_t)(scan->estimated_keys + 0.5)),
             scan->estimated_keys >= 0.5 && scan->estimated_keys < 1.5 ? "" : "s",
             tool_format_count(planned, info->planned_keys));
    print_fact(out, "verdict", text);
}

static void print_measurement(struct tool_out *out, const struct tool_inspection *request,
                              const struct tool_findings *report)
{
    char text[400], first[TOOL_NUMBER_BYTES], second[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    snprintf(text, sizeof(text), "%s: %s of %s absent keys; 95 %% interval %.4g to %.4g",
             rate_text(rate, (double)report->hits / (double)request->measure),
             tool_format_count(first, report->hits), tool_format_count(second, request->measure),
             report->interval.low, report->interval.high);
    print_fact(out, "rate, measured", text);
    const double expected = (double)request->measure * report->scan.live_rate;
    if (!report->hits_plausible)
        print_fact(out, "verdict",
                   "WRONG: the measured rate is not that of these bits, by more than chance");
    else if (!report->enough_queries) {
        snprintf(text, sizeof(text),
                 "none: too few queries to tell, since only about %.3g false positives are "
                 "expected",
                 expected);
        print_fact(out, "verdict", text);
    } else if (!tool_findings_fault(report) && report->part_full)
        print_better(out, report);
    else if (!tool_findings_fault(report))
        print_fact(out, "verdict",
                   report->info.planned_rate > 0
                       ? "right: measured agrees with live, and live with what was planned"
                       : "right: measured agrees with live");
    if (report->over_full)
        print_fact(out, "verdict", "OVER FULL: it holds more keys than it was planned for");
    if (report->too_high)
        print_fact(out, "verdict",
                   "TOO HIGH: the live rate is above the planned one, though the keys are not "
                   "too many");
}

/* Lines of the file, of which a terminal is to see no control characters: they are escaped. */
static void print_canaries(struct tool_out *out, const struct tool_canaries *canaries)
{
    char text[2 * TOOL_NUMBER_BYTES + 40], hits[TOOL_NUMBER_BYTES], queried[TOOL_NUMBER_BYTES];
    if (canaries->hits == 0)
        snprintf(text, sizeof(text), "none of %s may be in it",
                 tool_format_count(queried, canaries->queried));
    else
        snprintf(text, sizeof(text), "FOUND: %s of %s may be in it",
                 tool_format_count(hits, canaries->hits),
                 tool_format_count(queried, canaries->queried));
    print_fact(out, "canaries", text);
    for (size_t i = 0; i < canaries->shown; i++)
        print_fact(out, i == 0 ? "found" : "", canaries->text[i]);
    if (canaries->hits > canaries->shown)
        print_fact(out, "", "...");
}

int tool_inspect_text(const struct tool_inspection *request, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    struct tool_out out;
    tool_out_start(&out);
    tool_out_name(&out, request->path);
    if (report->origin.dialect != NULL)
        tool_out_format(&out, ": a filter of another system, %s\n", report->origin.dialect->name);
    else
        tool_out_format(&out, ": a Bloomery filter, format version %u\n", info->format_version);
    print_dialect(&out, report);
    print_shape(&out, report);
    print_hash(&out, info);
    print_rule(&out, info);
    if (info->note != NULL)
        print_note(&out, info->note);
    print_plan(&out, info);
    print_state(&out, report);
    if (report->measured)
        print_measurement(&out, request, report);
    if (request->canary != NULL)
        print_canaries(&out, &report->canaries);
    if (report->origin.dialect != NULL && (!report->verified || report->intact))
        print_fact(&out, "checksums", "none: this format has none");
    else if (report->verified)
        print_fact(&out, "checksums", report->intact ? "all right" : report->damage.text);
    else
        print_fact(&out, "checksums", "of the header only; --verify compares all");
    if (info->layers > 1)
        tool_layers_print(&out, report->filter);
    return tool_out_finish(&out, tool_findings_any(report) ? TOOL_NONE : TOOL_FOUND);
}

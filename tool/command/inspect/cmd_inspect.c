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
#include "filter/filter_file.h"
#include "filter/report.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

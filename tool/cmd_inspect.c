/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect: what a filter says about itself, and whether it is true.
 *
 * Four rates are told apart. The planned one was promised for the planned number of keys. The
 * predicted one is what filters of this shape have on average with the keys that are in it now. The
 * live one is that of these very bits, exact for a random absent key. The measured one is found by
 * asking. Measured and live must agree within chance whatever happened to the filter before, or
 * asking is broken; live and planned must agree within what small filters vary by, or the plan was
 * wrong, unless the filter holds more keys than planned.
 */
#include "canary.h"
#include "files.h"
#include "growth.h"
#include "inspect.h"
#include "json.h"
#include "numbers.h"
#include "out.h"
#include "progress.h"
#include "random.h"
#include "rule.h"
#include "statistics.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "bloomery inspect FILTER [--verify] [--measure N] [--canary FILE] [--json]\n"
    "\n"
    "Says what a filter is and what state it is in: shape, plan, fill, how many keys are in it, "
    "its\n"
    "rate as planned, as predicted for these keys, and live, of these very bits.\n"
    "\n"
    "      --verify         read everything and compare every checksum\n"
    "      --measure N      ask N random keys that nobody added, and judge the rate\n"
    "      --seed S         other random keys. Default 0\n"
    "      --canary FILE    ask for the lines of this file, keys that must not be in it, by the\n"
    "                       filter's rule, and show those that may be. Digests in\n"
    "                       hexadecimal digits that would be in it in the other case are hinted\n"
    "                       at on standard error, and are no finding\n"
    "      --key-file FILE  the key of a filter that does not carry it; only --measure and "
    "--canary\n"
    "                       need it\n"
    "      --json           one JSON object, numbers unrounded\n"
    "\n"
    "Exit codes: 0 all well; 1 a finding: damage (--verify), a rate that is not what it should be\n"
    "(--measure), or a key that must not be in it (--canary); 2 an error.\n"
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
static uint64_t ask_random_keys(const bloomery_filter *filter, uint64_t count, uint64_t seed)
{
    uint64_t words[BATCH][KEY_BYTES / sizeof(uint64_t)];
    bloomery_key keys[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        keys[i] = bloomery_key_of(words[i], KEY_BYTES);

    struct tool_random random = tool_random_make(seed, 20);
    struct tool_progress progress;
    tool_progress_start(&progress, "asking", false);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? (size_t)(count - done) : (size_t)BATCH;
        for (size_t i = 0; i < batch; i++)
            for (size_t w = 0; w < KEY_BYTES / sizeof(uint64_t); w++)
                words[i][w] = tool_random_next(&random);
        hits += bloomery_may_contain_batch(filter, keys, batch, NULL);
        done += batch;
        tool_progress_update(&progress, done, done, count);
    }
    tool_progress_stop(&progress);
    return hits;
}

static double allowed_factor(const bloomery_info *info)
{
    bloomery_plan shape = {
        .kind = info->kind, .bits = info->bits, .lines = info->lines, .probes = info->probes};
    return tool_allowed_factor(&shape, info->planned_keys);
}

/* The estimate of the keys is off by less than the root of their number. */
static bool holds_too_many(const bloomery_info *info)
{
    double planned = (double)info->planned_keys;
    return info->planned_keys > 0 && info->estimated_keys > planned * 1.01 + 4 * sqrt(planned);
}

/* A tenth fewer, and by more than the estimate is off in a small filter. */
static bool holds_too_few(const bloomery_info *info)
{
    double planned = (double)info->planned_keys;
    return info->planned_keys > 0 && info->live_rate < info->planned_rate &&
           info->estimated_keys < planned * 0.9 - 0.5 * sqrt(planned);
}

static void measure(const bloomery_filter *filter, const struct tool_inspection *request,
                    struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    report->measured = true;
    report->hits = ask_random_keys(filter, request->measure, request->seed);
    assert(report->hits <= request->measure);
    report->interval = tool_wilson(report->hits, request->measure);
    report->hits_plausible = tool_plausible(report->hits, request->measure, info->live_rate);
    report->part_full = holds_too_few(info);
    report->above_planned = info->planned_rate > 0 && info->live_rate > info->planned_rate;
    /* A chain has no one plan. */
    report->too_high = !report->over_full && info->planned_keys > 0 && info->planned_rate > 0 &&
                       info->kind != BLOOMERY_SCALABLE &&
                       info->live_rate > info->planned_rate * allowed_factor(info);
}

static bool has_fault(const struct tool_findings *report)
{
    bool measured_wrong =
        report->measured && (!report->hits_plausible || report->over_full || report->too_high);
    return (report->verified && !report->intact) || measured_wrong;
}

bool tool_findings_any(const struct tool_findings *report)
{
    return has_fault(report) || report->canaries.hits > 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

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
    return info->counter_most > 0 ? "counters" : "bits";
}

static void print_shape(struct tool_out *out, const bloomery_info *info)
{
    char text[320], memory[TOOL_NUMBER_BYTES], file[TOOL_NUMBER_BYTES];
    const char *kind = bloomery_kind_name((int)info->kind);
    if (info->lines > 0)
        snprintf(text, sizeof(text), "%s: %u line%s of 512 %s for a key, %u %s%s in %s", kind,
                 info->lines, info->lines == 1 ? "" : "s", cells_name(info), info->probes,
                 info->counter_most > 0 ? "counter" : "bit", info->probes == 1 ? "" : "s",
                 info->lines == 1 ? "it" : "each");
    else
        snprintf(text, sizeof(text), "%s: %u bit%s for a key, anywhere", kind, info->probes,
                 info->probes == 1 ? "" : "s");
    print_fact(out, "kind", text);
    if (info->kind == BLOOMERY_SCALABLE) {
        snprintf(text, sizeof(text), "%u%s", info->links,
                 info->links > 1 ? ", this being the newest" : "; it grows");
        print_fact(out, "links", text);
    }
    snprintf(text, sizeof(text), "%s, in a file of %s", tool_format_size(memory, info->bytes),
             tool_format_size(file, info->file_bytes));
    print_fact(out, "memory", text);
}

static const char *key_place(const bloomery_info *info)
{
    if (info->key_in_file)
        return "in this file";
    return info->key_known ? "kept outside, and given" : "kept outside, and not given";
}

static void print_hash(struct tool_out *out, const bloomery_info *info)
{
    char text[120];
    if (info->key_fingerprint != 0)
        snprintf(text, sizeof(text), "SipHash-2-4 with a secret key (%016llx), %s",
                 (unsigned long long)info->key_fingerprint, key_place(info));
    else
        snprintf(text, sizeof(text), "XXH3, seed %llu", (unsigned long long)info->seed);
    print_fact(out, "hash", text);
}

static void print_rule(struct tool_out *out, const bloomery_info *info)
{
    char text[TOOL_RULE_TEXT_BYTES];
    if (!tool_rule_is_none(&info->rule))
        print_fact(out, "keys made by", tool_rule_describe(&info->rule, text));
}

/* A note comes from whoever made the file: control characters are not sent to a terminal. */
static void print_note(struct tool_out *out, const char *note)
{
    char text[BLOOMERY_NOTE_BYTES + 1];
    size_t length = 0;
    for (; note[length] != '\0' && length < BLOOMERY_NOTE_BYTES; length++) {
        unsigned char byte = (unsigned char)note[length];
        text[length] = byte < 0x20 || byte == 0x7f ? ' ' : note[length];
    }
    text[length] = '\0';
    print_fact(out, "note", text);
}

static void print_plan(struct tool_out *out, const bloomery_info *info)
{
    char text[RATE_BYTES + TOOL_NUMBER_BYTES + 64], keys[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    if (info->planned_keys > 0 && info->planned_rate > 0)
        snprintf(text, sizeof(text), "%s key%s at a rate of %s%s",
                 tool_format_count(keys, info->planned_keys), info->planned_keys == 1 ? "" : "s",
                 rate_text(rate, info->planned_rate),
                 info->kind == BLOOMERY_SCALABLE ? ", however far it grows" : "");
    else
        snprintf(text, sizeof(text), "unknown");
    print_fact(out, "planned for", text);
}

static void print_state(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    char text[200], first[TOOL_NUMBER_BYTES], second[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    snprintf(text, sizeof(text), "%s of %s (%.2f %%)", tool_format_count(first, info->bits_set),
             tool_format_count(second, info->bits), 100 * info->fill);
    print_fact(out, info->counter_most > 0 ? "counters used" : "bits set", text);
    if (info->counter_most > 0) {
        snprintf(text, sizeof(text), "%s, at %u", tool_format_count(first, info->stuck_cells),
                 info->counter_most);
        print_fact(out, "stuck", text);
    }
    if (isinf(info->estimated_keys))
        snprintf(text, sizeof(text), "any number: all %s %s", cells_name(info),
                 info->counter_most > 0 ? "used" : "set");
    else
        snprintf(text, sizeof(text), "about %s, after %s add%s%s",
                 tool_format_count(first, (uint64_t)(info->estimated_keys + 0.5)),
                 tool_format_count(second, info->adds), info->adds == 1 ? "" : "s",
                 report->over_full ? ": more than planned" : "");
    print_fact(out, "keys in it", text);
    print_fact(out, "rate, predicted", rate_text(rate, info->expected_rate));
    print_fact(out, "rate, live", rate_text(rate, info->live_rate));
}

static void print_better(struct tool_out *out, const bloomery_info *info)
{
    char text[200], keys[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES];
    snprintf(text, sizeof(text),
             "right: measured agrees with live, which is better than planned: about %s different "
             "key%s of %s planned",
             tool_format_count(keys, (uint64_t)(info->estimated_keys + 0.5)),
             info->estimated_keys >= 0.5 && info->estimated_keys < 1.5 ? "" : "s",
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
    if (!report->hits_plausible)
        print_fact(out, "verdict",
                   "WRONG: the measured rate is not that of these bits, by more than chance");
    else if (!has_fault(report) && report->part_full)
        print_better(out, &report->info);
    else if (!has_fault(report))
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
    char text[2 * TOOL_NUMBER_BYTES + 40], hits[TOOL_NUMBER_BYTES], asked[TOOL_NUMBER_BYTES];
    if (canaries->hits == 0)
        snprintf(text, sizeof(text), "none of %s may be in it",
                 tool_format_count(asked, canaries->asked));
    else
        snprintf(text, sizeof(text), "FOUND: %s of %s may be in it",
                 tool_format_count(hits, canaries->hits),
                 tool_format_count(asked, canaries->asked));
    print_fact(out, "canaries", text);
    for (size_t i = 0; i < canaries->shown; i++)
        print_fact(out, i == 0 ? "found" : "", canaries->text[i]);
    if (canaries->hits > canaries->shown)
        print_fact(out, "", "...");
}

static int print_text(const struct tool_inspection *request, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    struct tool_out out;
    tool_out_start(&out);
    tool_out_format(&out, "%s: a Bloomery filter, format version %u\n", request->path,
                    info->format_version);
    print_shape(&out, info);
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
    if (report->verified)
        print_fact(&out, "checksums", report->intact ? "all right" : report->damage.text);
    else
        print_fact(&out, "checksums", "of the header only; --verify compares all");
    if (info->links > 1)
        tool_links_print(&out, report->filter);
    return tool_out_finish(&out, tool_findings_any(report) ? TOOL_NONE : TOOL_FOUND);
}

/* A file whose header is damaged can't be opened; whoever asked for that to be looked at gets it as
 * a finding. */
static int report_unreadable(const struct tool_inspection *request, const bloomery_error *error)
{
    bool damage = error->status == BLOOMERY_CORRUPT || error->status == BLOOMERY_TRUNCATED;
    if (!request->verify || !damage)
        return tool_library_error(request->path, error);
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
    tool_out_format(&out, "%s: %s\n", request->path, error->text);
    return tool_out_finish(&out, TOOL_NONE);
}

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_VERIFY = TOOL_OPTION_OWN,
    OPTION_MEASURE,
    OPTION_CANARY,
    OPTION_SEED,
    OPTION_KEY_FILE,
    OPTION_JSON,
};

static const struct option options[] = {
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"measure", required_argument, NULL, OPTION_MEASURE},
    {"canary", required_argument, NULL, OPTION_CANARY},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

static bool take_option(struct tool_inspection *request, int option)
{
    switch (option) {
    case OPTION_VERIFY:
        request->verify = true;
        return true;
    case OPTION_MEASURE:
        return tool_option_count("--measure", optarg, 1, TOOL_KEYS_MOST, &request->measure);
    case OPTION_CANARY:
        request->canary = optarg;
        return true;
    case OPTION_SEED:
        return tool_option_count("--seed", optarg, 0, UINT64_MAX, &request->seed);
    case OPTION_KEY_FILE:
        request->key_file = optarg;
        return true;
    case OPTION_JSON:
        request->json = true;
        return true;
    default:
        return false;
    }
}

static int inspect_filter(const struct tool_inspection *request, const bloomery_filter *filter)
{
    struct tool_findings report = {.info = BLOOMERY_INFO, .filter = filter};
    bloomery_info_get(filter, true, &report.info);
    report.over_full = holds_too_many(&report.info);
    if ((request->measure > 0 || request->canary != NULL) && !report.info.key_known) {
        tool_error("%s: its key is not in the file, and without it no key can be asked; give it "
                   "with --key-file",
                   request->path);
        return TOOL_ERROR;
    }
    if (request->verify) {
        report.verified = true;
        report.intact = bloomery_verify(filter, &report.damage) == BLOOMERY_OK;
    }
    if (request->measure > 0)
        measure(filter, request, &report);
    if (request->canary != NULL &&
        !tool_canaries_ask(request->canary, request->path, filter, &report.canaries))
        return TOOL_ERROR;
    return request->json ? tool_inspect_json(request, &report) : print_text(request, &report);
}

static int inspect_main(int argc, char **argv)
{
    struct tool_inspection request = {0};
    int option;
    while ((option = tool_getopt(argc, argv, "", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&request, option))
            return TOOL_ERROR;
    }
    if (argc - optind != 1)
        return tool_usage("one filter must be named");
    request.path = argv[optind];

    uint8_t key[BLOOMERY_KEY_BYTES];
    bloomery_options opening = BLOOMERY_OPTIONS;
    opening.open_flags = BLOOMERY_OPEN_INSPECT;
    if (request.key_file != NULL) {
        if (!tool_key_read(request.key_file, key))
            return TOOL_ERROR;
        opening.key = key;
    }
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (!tool_filter_is_file(request.path))
        return TOOL_ERROR;
    if (bloomery_open(request.path, &opening, &filter, &error) != BLOOMERY_OK)
        return report_unreadable(&request, &error);
    int code = inspect_filter(&request, filter);
    bloomery_free(filter);
    return code;
}

const struct tool_command cmd_inspect = {
    .name = "inspect",
    .run = inspect_main,
    .summary = "what a filter is and what state it is in",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove: keys out of a counting filter. As with `add`, the file is loaded, changed in memory,
 * written beside and renamed, under its lock.
 *
 * One thread does it all: of equal lines the second may be absent although the first was not. The
 * report must not depend on which came first.
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "base/report.h"
#include "filter/files.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct removal {
    const char *path;
    const char *secret_file;
    struct tool_rule_choice choice;
    struct tool_source source;
    bool strict, quiet, json;
};

/* What was done. */
struct outcome {
    uint64_t removed;
    uint64_t absent;
    uint64_t cleared; /* counters that became 0 */
    uint64_t passed_over;
    double expected_wrong;   /* of those removed: never added, but taken for such */
    struct tool_facts facts; /* afterwards */
};

static const struct tool_option options[] = {
    {0, "strict", NULL, TOOL_FLAG(struct removal, strict),
     .help = "exit with code 1 if a line was absent. The other lines are still removed"},
    {'0', "null", NULL, TOOL_BYTE(struct removal, source.delimiter, '\0'),
     .help = "read lines that end with NUL instead of newline"},
    TOOL_MAX_LINE_ROW(struct removal, source.line_max),
    {0, "secret-file", "FILE", TOOL_TEXT(struct removal, secret_file),
     .help = "read the secret from FILE, for a filter that does not contain it"},
    TOOL_PROGRESS_ROW,
    {'q', "quiet", NULL, TOOL_FLAG(struct removal, quiet),
     .help = "do not report what was removed"},
    {0, "json", NULL, TOOL_FLAG(struct removal, json),
     .help = "print the report as one JSON object on standard output, with unrounded numbers",
     .more = "It has removed, absent, expected_wrong_removals (removed lines that were "
             "probably never added), cleared (counters that became 0) and saturated_cells "
             "(counters at their maximum)."},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_KEPT_RULE_GROUPS(struct removal, choice),
    TOOL_GROUPS_END,
};

/* ---- Removing -------------------------------------------------------------------------------- */

/* What is worked with; too large for a stack. */
struct worker {
    bloomery_filter *filter;
    struct outcome *outcome;
    struct tool_chunk chunk;
    struct tool_made *made; /* NULL: records are the keys */
    bloomery_key records[TOOL_BATCH_ROOM];
};

/* A batch; its keys can be queried, or the filter would not have been opened. */
static void remove_keys(struct worker *worker, const bloomery_key *list, size_t count)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts;
    const bloomery_status status = bloomery_remove_keys(worker->filter, &keys, NULL, &counts, NULL);
    assert(status == BLOOMERY_OK && counts.done == count);
    (void)status;
    worker->outcome->removed += counts.positive;
    worker->outcome->absent += count - counts.positive;
    worker->outcome->cleared += counts.cells;
}

static bool all_well_formed(const struct worker *worker)
{
    return worker->made == NULL || worker->made->tally.malformed == 0;
}

static void remove_chunk(struct worker *worker, const bloomery_key_rule *rule)
{
    size_t count;
    while (all_well_formed(worker) &&
           (count = tool_chunk_keys(&worker->chunk, worker->records)) > 0) {
        if (worker->made == NULL) {
            remove_keys(worker, worker->records, count);
            continue;
        }
        count = tool_rule_apply(rule, &worker->chunk, worker->records, count, worker->made);
        if (all_well_formed(worker))
            remove_keys(worker, worker->made->keys, count);
    }
}

/* False after a message; the filter may then lack some of the keys. */
static bool remove_lines(const struct removal *removal, const bloomery_key_rule *rule,
                         bloomery_filter *filter, struct outcome *outcome)
{
    struct tool_source source = removal->source;
    source.threads = 1;
    tool_source_lay_out(&source, &removal->choice, rule);
    struct tool_chunks *chunks = tool_chunks_open(&source, removal->quiet ? NULL : "removing");
    struct worker *worker = tool_allocate(sizeof(*worker));
    worker->filter = filter;
    worker->outcome = outcome;
    worker->chunk = (struct tool_chunk){0};
    worker->made = tool_records_are_keys(rule, &source) ? NULL : tool_made_new();
    while (all_well_formed(worker) && tool_chunks_take(chunks, &worker->chunk))
        remove_chunk(worker, rule);
    struct tool_tally tally = {0};
    if (worker->made != NULL) {
        tool_tally_add(&tally, &worker->made->tally);
        tool_made_free(worker->made);
    }
    tool_chunk_free(&worker->chunk);
    free(worker);
    tool_tally_place(&tally, chunks);
    bool good = tool_chunks_close(chunks);
    outcome->passed_over = tally.passed_over;
    tally.malformed = tally.malformed > 0;
    return tool_tally_say(&tally, rule, "no key can be made of it") && good &&
           tool_tally_has_keys(&tally, rule, outcome->removed + outcome->absent);
}

/*
 * A share of the lines that were never added, as large as the rate, is taken for added ones; the
 * others are those that were definitely absent. So for `absent` of these absent * rate / (1 - rate)
 * were removed wrongly. The rate falls while lines are removed; its mean before and after is taken.
 */
static double wrong_removals(const struct outcome *outcome, double rate_before)
{
    const double rate = (rate_before + outcome->facts.scan.live_rate) / 2;
    const double most = (double)outcome->removed;
    if (!(rate < 1))
        return most;
    double wrong = (double)outcome->absent * rate / (1 - rate);
    return wrong < most ? wrong : most;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void say_removed(const struct removal *removal, const struct outcome *outcome)
{
    char removed[TOOL_NUMBER_BYTES], absent[TOOL_NUMBER_BYTES];
    tool_format_count(removed, outcome->removed);
    tool_format_count(absent, outcome->absent);
    if (outcome->absent > 0)
        tool_say("%s: removed %s key%s; %s definitely %s not in it", removal->path, removed,
                 outcome->removed == 1 ? "" : "s", absent, outcome->absent == 1 ? "was" : "were");
    else
        tool_say("%s: removed %s key%s", removal->path, removed, outcome->removed == 1 ? "" : "s");
}

static int print_json(const struct removal *removal, const struct outcome *outcome, int code)
{
    const bloomery_info *info = &outcome->facts.info;
    const bloomery_scan_result *scan = &outcome->facts.scan;
    struct tool_report *object = tool_report_start("remove", (struct tool_report_form){0});
    tool_fact(object, "file", NULL, tool_text(removal->path));
    tool_fact(object, "records", NULL, tool_count(outcome->removed + outcome->absent));
    tool_fact(object, "passed_over", NULL, tool_count(outcome->passed_over));
    tool_fact(object, "removed", NULL, tool_count(outcome->removed));
    tool_fact(object, "absent", NULL, tool_count(outcome->absent));
    tool_fact(object, "expected_wrong_removals", NULL, tool_number(outcome->expected_wrong));
    tool_fact(object, "cleared", NULL, tool_count(outcome->cleared));
    tool_fact(object, "saturated_cells", NULL, tool_count(scan->saturated_cells));
    tool_fact(object, "bytes", NULL, tool_size(info->bytes));
    tool_fact(object, "file_bytes", NULL, tool_size(info->file_bytes));
    tool_fact(object, "estimated_keys", NULL, tool_number(scan->estimated_keys));
    tool_fact(object, "predicted_rate", NULL, tool_number(scan->expected_rate));
    tool_fact(object, "live_rate", NULL, tool_number(scan->live_rate));
    return tool_report_print(object, true, code);
}

static void warn_of_wrong_ones(const struct removal *removal, const struct outcome *outcome)
{
    char absent[TOOL_NUMBER_BYTES], removed[TOOL_NUMBER_BYTES], wrong[TOOL_NUMBER_BYTES];
    const uint64_t rounded = (uint64_t)(outcome->expected_wrong + 0.5);
    if (outcome->expected_wrong < 1)
        return;
    tool_warning("%s: %s line%s definitely absent; of the %s removed about %s %s probably never "
                 "added either, and keys that share their counters may now be reported as absent",
                 removal->path, tool_format_count(absent, outcome->absent),
                 outcome->absent == 1 ? " was" : "s were",
                 tool_format_count(removed, outcome->removed), tool_format_count(wrong, rounded),
                 rounded == 1 ? "was" : "were");
}

static int report(const struct removal *removal, const struct outcome *outcome)
{
    char saturated[TOOL_NUMBER_BYTES];
    const int code = removal->strict && outcome->absent > 0 ? TOOL_NONE : TOOL_FOUND;
    if (!removal->quiet && !removal->json)
        say_removed(removal, outcome);
    warn_of_wrong_ones(removal, outcome);
    if (outcome->facts.scan.saturated_cells > 0)
        tool_warning(
            "%s: %s counter%s saturated at %u and will not be decremented: keys that have "
            "only such counters stay",
            removal->path, tool_format_count(saturated, outcome->facts.scan.saturated_cells),
            outcome->facts.scan.saturated_cells == 1 ? "" : "s", outcome->facts.info.counter_max);
    return removal->json ? print_json(removal, outcome, code) : code;
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool can_remove(const char *path, const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (info.can_remove)
        return true;
    tool_error("%s: a %s filter does not record how many keys share a bit; keys can be removed "
               "from one that was built with --kind counting or cuckoo",
               path, bloomery_kind_name((int)info.kind));
    return false;
}

static int remove_locked(const struct removal *removal, int lock)
{
    if (!tool_may_change(removal->path))
        return TOOL_ERROR;
    bloomery_filter *filter = tool_filter_open_held(removal->path, lock, removal->secret_file);
    if (filter == NULL)
        return TOOL_ERROR;
    bloomery_error error;
    bloomery_key_rule rule;
    struct outcome outcome = {.removed = 0};
    bloomery_scan_result before = BLOOMERY_SCAN_RESULT;
    bloomery_scan(filter, &before);
    int code = TOOL_ERROR;
    if (!can_remove(removal->path, filter) ||
        !tool_rule_settle(&removal->choice, removal->path, filter, false, &rule) ||
        !remove_lines(removal, &rule, filter, &outcome)) {
        tool_say("nothing was removed from %s", removal->path);
    } else if (outcome.removed > 0 && bloomery_save(filter, removal->path, &error) != BLOOMERY_OK) {
        tool_library_error(removal->path, &error);
    } else {
        tool_facts_read(filter, &outcome.facts);
        outcome.expected_wrong = wrong_removals(&outcome, before.live_rate);
        code = report(removal, &outcome);
    }
    bloomery_free(filter);
    return code;
}

static int remove_main(int argc, char **argv)
{
    struct removal removal = {.source = {.delimiter = '\n'}};
    int code;
    if (!tool_options_read(argc, argv, &removal, &code))
        return code;
    if (!tool_rule_complete(&removal.choice))
        return TOOL_ERROR;
    if (optind == argc)
        return tool_usage(
            "no filter: name its file, as in 'bloomery remove members.bloom left.txt'");
    removal.path = argv[optind++];
    removal.source.paths = argv + optind;
    removal.source.count = (size_t)(argc - optind);

    int lock = tool_filter_lock(removal.path);
    if (lock < 0)
        return TOOL_ERROR;
    code = remove_locked(&removal, lock);
    if (code == TOOL_ERROR)
        tool_hint_at_order(removal.path, removal.source.paths, removal.source.count);
    tool_filter_unlock(lock);
    return code;
}

const struct tool_command cmd_remove = {
    .name = "remove",
    .run = remove_main,
    .summary = "remove lines from a counting filter",
    .synopsis = "bloomery remove FILTER [INPUT...]",
    .introduction =
        "Removes the lines of the inputs from a counting filter (build --kind counting), "
        "once for each occurrence. The file is replaced when all lines have been "
        "removed, or not at all. A line that is definitely not in the filter changes "
        "nothing and is counted as absent. Without INPUT, or with '-', it reads standard "
        "input. Compressed inputs and archives are unpacked ('bloomery help build').\n"
        "\n"
        "Remove only lines that were added, and no more often than they were added; then "
        "no other line is lost. Removing a line that was never added can cause false "
        "negatives. Such a line passes for an added one at the filter's rate, and shares "
        "its counters with other lines. If such removals are expected (because lines are "
        "removed twice, for example), a warning says how many. Counters saturate at 15, "
        "or at 255 with --counter-bits 8, and are not decremented after that. A line "
        "whose counters are all saturated can't be removed.",
    .groups = groups,
    .epilogue = "Lines become keys by the rule that the filter was built with. The options of that "
                "rule ('bloomery help build') may be omitted. If given, they must agree with it: "
                "-F, -d, --csv, --crlf, --comment, --trim, --lower, --upper, --hex, --int64, "
                "--int32, --utf16, --skip-empty.\n"
                "\n"
                "  bloomery remove members.bloom left.txt",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of dedupe at the end: what was read, what was kept, and how much of what went should
 * have stayed; and the table of --dry-run.
 *
 * The expected number of wrong drops has three parts: new keys that the filter took for old ones
 * while it was filled (drop_estimate.c), those that the filters of --against have by chance, and,
 * of documents, how many such keys it takes to cut a paragraph.
 */
#include "command/dedupe/dedupe.h"

#include "base/numbers.h"
#include "base/report.h"
#include "command/dedupe/sample.h"
#include "filter/files.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ESTIMATE_BYTES = TOOL_NUMBER_BYTES + 16 };

static const char *say_estimate(char text[ESTIMATE_BYTES], double value)
{
    if (value > 0 && value < 0.01)
        snprintf(text, ESTIMATE_BYTES, "fewer than 0.01");
    else if (!(value < 1e15))
        snprintf(text, ESTIMATE_BYTES, "countless");
    else if (value >= 1000)
        snprintf(text, ESTIMATE_BYTES, "about %s", TOOL_SAY_ABOUT(value));
    else
        snprintf(text, ESTIMATE_BYTES, value > 0 ? "about %s" : "%s", TOOL_SAY_RATE(value));
    return text;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Lines dropped by a filter that does not have them, by how many new ones came through. At most
 * those that were dropped: a full filter lets none through. */
static double against_drops(const struct tool_dedupe *dedupe, double arrived)
{
    double pass = 0;
    for (size_t i = 0; i < dedupe->against_count; i++) {
        struct tool_facts facts;
        tool_facts_read(dedupe->against[i].filter, &facts);
        tool_warn_overfull(dedupe->against[i].path, &facts);
        pass += log1p(-facts.scan.live_rate);
    }
    const double dropped = (double)dedupe->counts.dropped, drops = arrived * expm1(-pass);
    return drops < dropped ? drops : dropped;
}

static void say_lines(const struct tool_dedupe_command *command,
                      const struct tool_seen_facts *facts)
{
    const struct tool_dedupe_counts *counts = &command->dedupe.counts;
    char drops[ESTIMATE_BYTES], kept[3 * TOOL_NUMBER_BYTES] = "";
    char plan[2 * TOOL_NUMBER_BYTES + 60] = "";
    size_t used = 0;
    if (counts->without_key > 0)
        used = (size_t)snprintf(kept, sizeof(kept), " (%s without a key)",
                                TOOL_SAY_COUNT(counts->without_key));
    if (command->seen.unremembered > 0)
        snprintf(kept + used, sizeof(kept) - used, " (%s not remembered)",
                 TOOL_SAY_COUNT(command->seen.unremembered));
    /* What the memory was planned for, where nobody chose it, and whether it grew. */
    used = 0;
    if (facts->layers > 1)
        used = (size_t)snprintf(plan, sizeof(plan), " in %u layers", facts->layers);
    if (command->planned_from != NULL && strcmp(command->planned_from, "sample") == 0)
        snprintf(plan + used, sizeof(plan) - used, ", planned for %s %s by a sample",
                 TOOL_SAY_COUNT(command->planned_keys),
                 command->seen.grows ? "distinct lines" : "lines");
    tool_say("dedupe: read %s %s, kept %s%s, dropped %s; memory %s%s; expected wrong drops: %s "
             "lines",
             TOOL_SAY_COUNT(counts->records), counts->records == 1 ? "line" : "lines",
             TOOL_SAY_COUNT(counts->records - counts->dropped), kept,
             TOOL_SAY_COUNT(counts->dropped), TOOL_SAY_SIZE(facts->bytes), plan,
             say_estimate(drops, facts->wrong_drops));
}

static struct tool_report *list_lines(const struct tool_dedupe_command *command,
                                      const struct tool_seen_facts *facts)
{
    const struct tool_dedupe_counts *counts = &command->dedupe.counts;
    const bool filter = command->seen.table == NULL;
    struct tool_report *report = tool_report_start("dedupe", (struct tool_report_form){0});
    tool_fact(report, "lines", NULL, tool_count(counts->records));
    tool_fact(report, "kept", NULL, tool_count(counts->records - counts->dropped));
    tool_fact(report, "dropped", NULL, tool_count(counts->dropped));
    tool_fact(report, "without_key", NULL, tool_count(counts->without_key));
    tool_fact(report, "not_remembered", NULL, tool_count(command->seen.unremembered));
    tool_fact(report, "expected_wrong_drops", NULL, tool_number(facts->wrong_drops));
    tool_fact(report, "bytes", NULL, tool_size(facts->bytes));
    tool_fact(report, "fingerprint_bits", NULL,
              tool_known(!filter, tool_count(command->seen.table_bits)));
    tool_fact(report, "planned_keys", NULL, tool_known(filter, tool_count(command->planned_keys)));
    tool_fact(report, "planned_from", NULL, tool_known(filter, tool_text(command->planned_from)));
    tool_fact(report, "estimated_keys", NULL, tool_number(facts->keys));
    tool_fact(report, "layers", NULL, tool_known(filter, tool_count(facts->layers)));
    tool_fact(report, "planned_rate", NULL, tool_known(filter, tool_number(command->seen.target)));
    tool_fact(report, "expected_rate", NULL, tool_known(filter, tool_number(facts->rate)));
    tool_fact(report, "stopped", NULL, tool_yes(command->dedupe.stopped));
    return report;
}

static int report_lines(const struct tool_dedupe_command *command, int code)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    const uint64_t kept = dedupe->counts.records - dedupe->counts.dropped;
    struct tool_seen_facts facts;
    tool_seen_facts_get(&command->seen, &facts);
    if (dedupe->against_count > 0)
        facts.wrong_drops +=
            against_drops(dedupe, (double)(kept - dedupe->counts.without_key) + facts.wrong_drops);
    if (command->json && dedupe->count_only)
        return tool_report_print(list_lines(command, &facts), true, code);
    if (command->json)
        tool_report_say_json(list_lines(command, &facts)); /* standard output has lines */
    else
        say_lines(command, &facts);
    return code;
}

/* ---- Documents ------------------------------------------------------------------------------- */

double tool_corpus_wrong(const struct tool_dedupe_command *command)
{
    return tool_judge_wrong(&command->corpus.judge, &command->dedupe.counts, &command->seen);
}

static struct tool_report *start_documents(const struct tool_judge *judge,
                                           struct tool_report_form form)
{
    static const char *const units[] = {"document", "paragraph", "ngram"};
    struct tool_report *report = tool_report_start("dedupe", form);
    assert(judge->unit >= 0 && (size_t)judge->unit < sizeof(units) / sizeof(units[0]));
    tool_fact(report, "unit", NULL, tool_text(units[judge->unit]));
    if (judge->near == NULL)
        return report;
    tool_fact(report, "near", NULL, tool_number(judge->near->threshold));
    tool_fact(report, "bands", NULL, tool_count(judge->near->bands));
    tool_fact(report, "rows", NULL, tool_count(judge->near->rows));
    tool_fact(report, "permutations", NULL, tool_count(judge->near->values));
    tool_fact(report, "shingle_words", NULL, tool_count(judge->near->words));
    return report;
}

static void list_input(struct tool_report *inputs, const char *path,
                       const struct tool_dedupe_counts *counts)
{
    struct tool_report *input = tool_fact_object(inputs, NULL);
    tool_fact(input, "path", NULL, tool_text(path));
    tool_fact(input, "documents", NULL, tool_count(counts->records));
    tool_fact(input, "documents_dropped", NULL, tool_count(counts->dropped));
    tool_fact(input, "documents_changed", NULL, tool_count(counts->changed));
    tool_fact(input, "without_text", NULL, tool_count(counts->without_key));
    tool_fact(input, "paragraphs", NULL, tool_count(counts->paragraphs));
    tool_fact(input, "paragraphs_removed", NULL, tool_count(counts->cut));
    tool_fact(input, "input_bytes", NULL, tool_size(counts->bytes));
    tool_fact(input, "removed_bytes", NULL, tool_size(counts->removed_bytes));
}

/* The counts of each input; of a directory those that are done. */
static void list_inputs(const struct tool_dedupe_command *command, struct tool_report *report)
{
    const struct tool_journal *journal = &command->corpus.journal;
    struct tool_report *inputs = tool_fact_list(report, "inputs");
    if (command->corpus.output_dir != NULL)
        for (size_t i = 0; i < journal->done_count; i++)
            list_input(inputs, journal->done[i].path, &journal->done[i].counts);
    else if (command->dedupe.of_inputs != NULL)
        for (size_t i = 0; i < tool_source_count(&command->source); i++)
            list_input(inputs, tool_source_path(&command->source, i),
                       &command->dedupe.of_inputs[i]);
}

static struct tool_report *list_documents(const struct tool_dedupe_command *command,
                                          const struct tool_dedupe_counts *counts, uint64_t memory,
                                          double wrong)
{
    struct tool_report *report =
        start_documents(&command->corpus.judge, (struct tool_report_form){0});
    tool_fact(report, "documents", NULL, tool_count(counts->records));
    tool_fact(report, "documents_dropped", NULL, tool_count(counts->dropped));
    tool_fact(report, "documents_changed", NULL, tool_count(counts->changed));
    tool_fact(report, "without_text", NULL, tool_count(counts->without_key));
    tool_fact(report, "paragraphs", NULL, tool_count(counts->paragraphs));
    tool_fact(report, "paragraphs_removed", NULL, tool_count(counts->cut));
    tool_fact(report, "keys", NULL, tool_count(counts->keys));
    tool_fact(report, "keys_seen", NULL, tool_count(counts->seen));
    tool_fact(report, "input_bytes", NULL, tool_size(counts->bytes));
    tool_fact(report, "removed_bytes", NULL, tool_size(counts->removed_bytes));
    tool_fact(report, "expected_wrong_removals", NULL, tool_number(wrong));
    tool_fact(report, "bytes", NULL, tool_size(memory));
    tool_fact(report, "stopped", NULL, tool_yes(command->dedupe.stopped));
    list_inputs(command, report);
    return report;
}

static void say_documents(const struct tool_judge *judge, const struct tool_dedupe_counts *counts,
                          uint64_t memory, double wrong)
{
    const bool annotates = judge->lines->annotate != NULL;
    char estimate[ESTIMATE_BYTES], inner[400] = "", without[80] = "", taken[80] = "";
    size_t used = 0;
    if (memory > 0) /* none, if there was nothing left to do */
        snprintf(taken, sizeof(taken), " memory %s;", TOOL_SAY_SIZE(memory));
    if (counts->without_key > 0)
        snprintf(without, sizeof(without), ", %s without a text",
                 TOOL_SAY_COUNT(counts->without_key));
    if (judge->unit != TOOL_COMPARED_DOCUMENTS)
        used = (size_t)snprintf(inner, sizeof(inner), ", %s %s; %s of %s paragraphs%s",
                                TOOL_SAY_COUNT(counts->changed),
                                annotates ? "with spans" : "changed", TOOL_SAY_COUNT(counts->cut),
                                TOOL_SAY_COUNT(counts->paragraphs), annotates ? "" : " removed");
    if (judge->unit == TOOL_COMPARED_NGRAMS)
        snprintf(inner + used, sizeof(inner) - used, ", %s of %s n-grams seen",
                 TOOL_SAY_COUNT(counts->seen), TOOL_SAY_COUNT(counts->keys));
    tool_say("dedupe: read %s %s (%s)%s, %s %s%s; %s removed;%s expected wrong removals: %s",
             TOOL_SAY_COUNT(counts->records), counts->records == 1 ? "document" : "documents",
             TOOL_SAY_SIZE(counts->bytes), without, TOOL_SAY_COUNT(counts->dropped),
             annotates ? "to be dropped" : "dropped", inner, TOOL_SAY_SIZE(counts->removed_bytes),
             taken, say_estimate(estimate, wrong));
}

/* A directory has the counts of all runs into it. */
static int report_documents(const struct tool_dedupe_command *command, int code)
{
    const struct tool_corpus *corpus = &command->corpus;
    const bool to_directory = corpus->output_dir != NULL;
    const struct tool_dedupe_counts *counts =
        to_directory ? &corpus->journal.counts : &command->dedupe.counts;
    const double wrong = to_directory ? corpus->journal.wrong : tool_corpus_wrong(command);
    struct tool_seen_facts facts = {0};
    if (command->seen.filter != NULL)
        tool_seen_facts_get(&command->seen, &facts);
    if (command->json)
        tool_report_say_json(list_documents(command, counts, facts.bytes, wrong));
    else
        say_documents(&corpus->judge, counts, facts.bytes, wrong);
    return code;
}

int tool_dedupe_report(const struct tool_dedupe_command *command, int code)
{
    if (command->quiet && !command->json)
        return code;
    return tool_dedupe_takes_documents(command) ? report_documents(command, code)
                                                : report_lines(command, code);
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

static const double rates[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

/* Adds a row: a filter that is made for the distinct keys, and the removals that are expected to be
 * wrong. The rate rises while the filter fills, to its own at the end: the mean is known of its
 * plan. Of near-duplicates the rate is that of a document, and the filter is the one that the run
 * begins with. */
static bool add_plan(struct tool_report *plans, const struct tool_dedupe_command *command,
                     const struct tool_corpus_size *size, double rate)
{
    const struct tool_judge *judge = &command->corpus.judge;
    bloomery_error error;
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .rate = rate};
    plan.keys = size->different < 1024 ? 1024 : (uint64_t)size->different;
    if (judge->near != NULL) {
        const bool grows =
            command->on_full >= 0 ? command->on_full == TOOL_FULL_GROW : command->memory == 0;
        plan.kind = grows ? BLOOMERY_SCALABLE : BLOOMERY_BLOCKED;
        plan.rate = -expm1(log1p(-rate) / judge->near->bands);
        plan.keys = command->keys > 0 ? command->keys : tool_corpus_size_keys(size);
    }
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    char estimate[ESTIMATE_BYTES];
    const double keys = (double)plan.planned_keys;
    const double wrong =
        tool_corpus_size_wrong(judge, size, (keys - tool_expected_new(&plan, 0, keys)) / keys);
    struct tool_report *row = tool_fact_row(plans, true);
    tool_fact(row, "rate", NULL, tool_number(rate));
    tool_fact(row, "bytes", NULL, tool_size(plan.planned_bytes));
    tool_fact(row, "expected_wrong_removals", NULL, tool_number(wrong));
    tool_fact_say(row, "wrong", "%s", say_estimate(estimate, wrong));
    return true;
}

/* Adds how many documents are dropped that are like an earlier one. */
static void add_curve(struct tool_report *report, const bloomery_near *near)
{
    static const struct tool_column columns[] = {{"similarity", "similarity", -10},
                                                 {"share", "dropped", 8}};
    static const struct tool_table table = {"", "  ", columns, 2};
    struct tool_report *curve = tool_fact_table(report, "curve", &table);
    for (unsigned hundredths = 50; hundredths <= 100; hundredths += 5) {
        struct tool_report *row = tool_fact_row(curve, true);
        const double similarity = hundredths / 100.0,
                     dropped = bloomery_near_rate(near, similarity);
        tool_fact(row, "similarity", NULL, tool_number(similarity));
        tool_fact(row, "dropped", NULL, tool_number(dropped));
        tool_fact_say(row, "share", "%.2f %%", 100 * dropped);
    }
}

/* The estimates are of things that are counted. */
static struct tool_value whole(double value)
{
    return tool_count((uint64_t)(value + 0.5));
}

int tool_corpus_print_plans(const struct tool_dedupe_command *command,
                            const struct tool_corpus_size *size)
{
    static const struct tool_column columns[] = {
        {"rate", "rate", -8}, {"bytes", "memory", 12}, {"wrong", "wrong removals expected", 0}};
    static const struct tool_table table = {"", "  ", columns, 3};
    const struct tool_judge *judge = &command->corpus.judge;
    const uint32_t threads =
        command->source.threads > 0 ? command->source.threads : bloomery_threads();
    /* Adding takes a thread of its own, and about as long again with n-grams. */
    const double seconds = size->seconds * 1.5 / threads;
    char duration[TOOL_NUMBER_BYTES];
    tool_format_duration(duration, seconds);
    struct tool_report *report = start_documents(judge, (struct tool_report_form){.label = 14});
    tool_fact_say(report, "input", "about %s in %s documents", TOOL_SAY_SIZE((uint64_t)size->bytes),
                  TOOL_SAY_ABOUT(size->documents));
    tool_fact(report, "sampled_bytes", "sampled", tool_size(size->sampled_bytes));
    tool_fact(report, "input_bytes", NULL, whole(size->bytes));
    tool_fact(report, "documents", NULL, whole(size->documents));
    tool_fact(report, "paragraphs", NULL, whole(size->paragraphs));
    if (judge->unit != TOOL_COMPARED_DOCUMENTS)
        tool_fact_say(report, "paragraphs", "about %s", TOOL_SAY_ABOUT(size->paragraphs));
    tool_fact(report, "keys", NULL, whole(size->keys));
    if (judge->near != NULL)
        tool_fact_say(report, "signatures", "%u values, %u bands of %u; runs of %u words",
                      judge->near->values, judge->near->bands, judge->near->rows,
                      judge->near->words);
    if (judge->unit == TOOL_COMPARED_NGRAMS)
        tool_fact_say(report, "n-grams", "about %s of %u words", TOOL_SAY_ABOUT(size->keys),
                      judge->ngram);
    tool_fact(report, "distinct_keys", NULL, whole(size->different));
    tool_fact_say(report, "distinct", "at most about %s%s", TOOL_SAY_ABOUT(size->different),
                  judge->near != NULL ? " bands" : "");
    tool_fact(report, "seconds", NULL, tool_number(seconds));
    tool_fact_say(report, "time", "%s, without packing and unpacking",
                  seconds < 1 ? "less than a second" : duration);
    tool_report_blank(report);
    struct tool_report *plans = tool_fact_table(report, "plans", &table);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (!add_plan(plans, command, size, rates[i])) {
            tool_report_free(report);
            return TOOL_ERROR;
        }
    if (judge->near != NULL) {
        tool_report_blank(report);
        add_curve(report, judge->near);
    }
    return tool_report_print(report, command->json, TOOL_FOUND);
}

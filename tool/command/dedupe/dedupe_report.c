/* SPDX-License-Identifier: Apache-2.0 */
/* The report of dedupe at the end: the number of lines, the memory, and how many of the dropped
 * lines it should not have dropped. */
#include "base/json.h"
#include "base/numbers.h"
#include "command/dedupe/dedupe.h"
#include "command/dedupe/sample.h"
#include "filter/files.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lines dropped by a filter that does not have them, by how many new ones came through. At most
 * those that were dropped: a full filter lets none through. */
static double against_drops(const struct tool_dedupe_command *command, double arrived)
{
    double pass = 0;
    for (size_t i = 0; i < command->dedupe.against_count; i++) {
        struct tool_facts facts;
        tool_facts_read(command->dedupe.against[i].filter, &facts);
        tool_warn_overfull(command->dedupe.against[i].path, &facts);
        pass += log1p(-facts.scan.live_rate);
    }
    const double dropped = (double)command->dedupe.dropped, drops = arrived * expm1(-pass);
    return drops < dropped ? drops : dropped;
}

static void get_facts(const struct tool_dedupe_command *command, struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    tool_seen_facts_get(&command->seen, facts);
    if (dedupe->against_count > 0)
        facts->wrong_drops += against_drops(command, (double)(dedupe->kept - dedupe->without_key) +
                                                         facts->wrong_drops);
}

static const char *say_drops(char text[TOOL_NUMBER_BYTES + 24], double drops)
{
    char number[TOOL_NUMBER_BYTES];
    if (drops > 0 && drops < 0.01)
        snprintf(text, TOOL_NUMBER_BYTES + 24, "fewer than 0.01 lines");
    else if (!(drops < 1e15))
        snprintf(text, TOOL_NUMBER_BYTES + 24, "countless lines");
    else if (drops >= 1000)
        snprintf(text, TOOL_NUMBER_BYTES + 24, "about %s lines",
                 tool_format_count(number, (uint64_t)(drops + 0.5)));
    else
        snprintf(text, TOOL_NUMBER_BYTES + 24, drops > 0 ? "about %s lines" : "%s lines",
                 tool_format_rate(number, drops));
    return text;
}

/* What the memory was planned for, where nobody chose it, and whether it grew. */
static const char *say_plan(const struct tool_dedupe_command *command,
                            const struct tool_seen_facts *facts, char *text, size_t room)
{
    char keys[TOOL_NUMBER_BYTES];
    text[0] = '\0';
    if (facts->layers > 1)
        snprintf(text, room, " in %u layers", facts->layers);
    if (command->planned_from != NULL && strcmp(command->planned_from, "sample") == 0)
        snprintf(text + strlen(text), room - strlen(text), ", planned for %s %s by a sample",
                 tool_format_count(keys, command->planned_keys),
                 command->seen.grows ? "distinct lines" : "lines");
    return text;
}

static void say_lines(const struct tool_dedupe_command *command,
                      const struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    char lines[TOOL_NUMBER_BYTES], kept[TOOL_NUMBER_BYTES], dropped[TOOL_NUMBER_BYTES];
    char size[TOOL_NUMBER_BYTES], drops[TOOL_NUMBER_BYTES + 24], more[3 * TOOL_NUMBER_BYTES];
    char plan[2 * TOOL_NUMBER_BYTES + 60];
    more[0] = '\0';
    tool_format_count(kept, dedupe->without_key);
    if (dedupe->without_key > 0)
        snprintf(more, sizeof(more), " (%s without a key)", kept);
    tool_format_count(kept, command->seen.unremembered);
    if (command->seen.unremembered > 0)
        snprintf(more + strlen(more), sizeof(more) - strlen(more), " (%s not remembered)", kept);
    tool_say("dedupe: read %s %s, kept %s%s, dropped %s; memory %s%s; expected wrong drops: %s",
             tool_format_count(lines, dedupe->lines), dedupe->lines == 1 ? "line" : "lines",
             tool_format_count(kept, dedupe->kept), more,
             tool_format_count(dropped, dedupe->dropped), tool_format_size(size, facts->bytes),
             say_plan(command, facts, plan, sizeof(plan)), say_drops(drops, facts->wrong_drops));
}

static json_t *lines_in_json(const struct tool_dedupe_command *command,
                             const struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    const bool table = command->seen.table != NULL;
    json_t *object = tool_json_report("dedupe");
    tool_json_add(object, "lines", tool_json_count(dedupe->lines));
    tool_json_add(object, "kept", tool_json_count(dedupe->kept));
    tool_json_add(object, "dropped", tool_json_count(dedupe->dropped));
    tool_json_add(object, "without_key", tool_json_count(dedupe->without_key));
    tool_json_add(object, "not_remembered", tool_json_count(command->seen.unremembered));
    tool_json_add(object, "expected_wrong_drops", tool_json_number(facts->wrong_drops));
    tool_json_add(object, "bytes", tool_json_count(facts->bytes));
    tool_json_add(object, "fingerprint_bits",
                  table ? tool_json_count(command->seen.table_bits) : tool_json_null());
    tool_json_add(object, "planned_keys",
                  table ? tool_json_null() : tool_json_count(command->planned_keys));
    tool_json_add(object, "planned_from",
                  table ? tool_json_null() : tool_json_text(command->planned_from));
    tool_json_add(object, "estimated_keys", tool_json_number(facts->keys));
    tool_json_add(object, "layers", table ? tool_json_null() : tool_json_count(facts->layers));
    tool_json_add(object, "planned_rate",
                  table ? tool_json_null() : tool_json_number(command->seen.target));
    tool_json_add(object, "expected_rate",
                  table ? tool_json_null() : tool_json_number(facts->rate));
    tool_json_add(object, "stopped", tool_json_bool(dedupe->stopped));
    return object;
}

/* Returns `code`, or TOOL_ERROR if it can't be written. */
int tool_dedupe_report(const struct tool_dedupe_command *command, int code)
{
    struct tool_seen_facts facts;
    const bool to_stdout = command->json && command->dedupe.count_only;
    if (command->quiet && !command->json)
        return code;
    get_facts(command, &facts);
    if (to_stdout)
        return tool_json_print(lines_in_json(command, &facts), code);
    if (command->json)
        tool_json_say(lines_in_json(command, &facts)); /* standard output has lines */
    else
        say_lines(command, &facts);
    return code;
}

/* ---- Corpus report --------------------------------------------------------------------------- */

/* The report of dedupe --unit, and the table of --dry-run. */

/* ---- Wrong removals -------------------------------------------------------------------------- */

/* The rate of the filters that keys were compared with. */
static double rate_of_against(const struct tool_judge *judge)
{
    double pass = 0;
    for (size_t i = 0; i < judge->against_count; i++) {
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(judge->against[i].filter, &scan);
        pass += log1p(-scan.live_rate);
    }
    return -expm1(pass);
}

/* A key is wrongly seen at the mean rate of this run. A paragraph with n new n-grams that is d
 * short of the threshold is cut wrongly if d of the n are wrongly seen: in C(n, d) ways, at rate^d
 * each. The sums over all paragraphs that stayed are in `short_by`. */
double tool_corpus_wrong(const struct tool_dedupe_command *command, const struct tool_judge *judge,
                         const struct tool_corpus_counts *counts)
{
    struct tool_seen_facts facts = {0};
    double rate = 0, wrong = 0, power = 1;
    if (!judge->no_add) {
        tool_seen_facts_get(&command->seen, &facts);
        if (facts.wrong_drops > 0)
            rate = facts.wrong_drops / (facts.wrong_drops + (double)command->seen.kept);
    }
    const double against = rate_of_against(judge);
    rate = rate + against - rate * against;
    for (size_t i = 0; i < sizeof(counts->short_by) / sizeof(counts->short_by[0]); i++) {
        power *= rate / (1 - rate);
        wrong += counts->short_by[i] * power;
    }
    return wrong;
}

static const char *say_wrong(char text[TOOL_NUMBER_BYTES + 16], double wrong)
{
    char number[TOOL_NUMBER_BYTES];
    if (wrong > 0 && wrong < 0.01)
        snprintf(text, TOOL_NUMBER_BYTES + 16, "fewer than 0.01");
    else if (!(wrong < 1e15))
        snprintf(text, TOOL_NUMBER_BYTES + 16, "countless");
    else if (wrong >= 1000)
        snprintf(text, TOOL_NUMBER_BYTES + 16, "about %s",
                 tool_format_count(number, (uint64_t)(wrong + 0.5)));
    else
        snprintf(text, TOOL_NUMBER_BYTES + 16, wrong > 0 ? "about %s" : "%s",
                 tool_format_rate(number, wrong));
    return text;
}

/* ---- The report ------------------------------------------------------------------------------ */

static uint64_t memory_of(const struct tool_dedupe_command *command)
{
    struct tool_seen_facts facts = {0};
    if (command->seen.filter != NULL)
        tool_seen_facts_get(&command->seen, &facts);
    return facts.bytes;
}

static const char *unit_name(const struct tool_judge *judge)
{
    return judge->unit == TOOL_UNIT_DOCUMENT    ? "document"
           : judge->unit == TOOL_UNIT_PARAGRAPH ? "paragraph"
                                                : "ngram";
}

static json_t *documents_in_json(const struct tool_dedupe_command *command,
                                 const struct tool_judge *judge,
                                 const struct tool_corpus_counts *counts, double wrong)
{
    json_t *object = tool_json_report("dedupe");
    tool_json_add(object, "unit", tool_json_text(unit_name(judge)));
    tool_json_add(object, "documents", tool_json_count(counts->documents));
    tool_json_add(object, "documents_dropped", tool_json_count(counts->dropped));
    tool_json_add(object, "documents_changed", tool_json_count(counts->changed));
    tool_json_add(object, "without_text", tool_json_count(counts->without_text));
    tool_json_add(object, "paragraphs", tool_json_count(counts->paragraphs));
    tool_json_add(object, "paragraphs_removed", tool_json_count(counts->cut));
    tool_json_add(object, "keys", tool_json_count(counts->keys));
    tool_json_add(object, "keys_seen", tool_json_count(counts->seen));
    tool_json_add(object, "input_bytes", tool_json_count(counts->bytes));
    tool_json_add(object, "removed_bytes", tool_json_count(counts->removed_bytes));
    tool_json_add(object, "expected_wrong_removals", tool_json_number(wrong));
    tool_json_add(object, "bytes", tool_json_count(memory_of(command)));
    tool_json_add(object, "stopped", tool_json_bool(command->dedupe.stopped));
    return object;
}

static void say_documents(const struct tool_dedupe_command *command, const struct tool_judge *judge,
                          const struct tool_corpus_counts *counts, double wrong)
{
    char documents[TOOL_NUMBER_BYTES], dropped[TOOL_NUMBER_BYTES], changed[TOOL_NUMBER_BYTES];
    char paragraphs[TOOL_NUMBER_BYTES], cut[TOOL_NUMBER_BYTES], keys[TOOL_NUMBER_BYTES];
    char seen[TOOL_NUMBER_BYTES], bytes[TOOL_NUMBER_BYTES], removed[TOOL_NUMBER_BYTES];
    char memory[TOOL_NUMBER_BYTES], text[TOOL_NUMBER_BYTES + 16], inner[400] = "";
    char blank[TOOL_NUMBER_BYTES], without[80] = "", taken[TOOL_NUMBER_BYTES + 16] = "";
    if (memory_of(command) > 0) /* none, if there was nothing left to do */
        snprintf(taken, sizeof(taken), " memory %s;", tool_format_size(memory, memory_of(command)));
    if (counts->without_text > 0)
        snprintf(without, sizeof(without), ", %s without a text",
                 tool_format_count(blank, counts->without_text));
    if (judge->unit != TOOL_UNIT_DOCUMENT)
        snprintf(inner, sizeof(inner), ", %s %s; %s of %s paragraphs%s",
                 tool_format_count(changed, counts->changed),
                 judge->annotate != NULL ? "with spans" : "changed",
                 tool_format_count(cut, counts->cut),
                 tool_format_count(paragraphs, counts->paragraphs),
                 judge->annotate != NULL ? "" : " removed");
    if (judge->unit == TOOL_UNIT_NGRAM)
        snprintf(inner + strlen(inner), sizeof(inner) - strlen(inner), ", %s of %s n-grams seen",
                 tool_format_count(seen, counts->seen), tool_format_count(keys, counts->keys));
    tool_say("dedupe: read %s %s (%s)%s, %s %s%s; %s removed;%s expected wrong removals: %s",
             tool_format_count(documents, counts->documents),
             counts->documents == 1 ? "document" : "documents",
             tool_format_size(bytes, counts->bytes), without,
             tool_format_count(dropped, counts->dropped),
             judge->annotate != NULL ? "to be dropped" : "dropped", inner,
             tool_format_size(removed, counts->removed_bytes), taken, say_wrong(text, wrong));
}

void tool_corpus_report(const struct tool_dedupe_command *command, const struct tool_judge *judge,
                        const struct tool_corpus_counts *counts, double wrong)
{
    if (command->json)
        tool_json_say(documents_in_json(command, judge, counts, wrong));
    else if (!command->quiet)
        say_documents(command, judge, counts, wrong);
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

static const double rates[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* A filter that is made for the different keys, and the removals that are expected to be wrong. The
 * rate rises while the filter fills, to its own at the end: the mean is known of its plan. */
static bool plan_one(const struct tool_judge *judge, const struct tool_corpus_size *size,
                     double rate, uint64_t *bytes, double *wrong)
{
    bloomery_error error;
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .rate = rate};
    plan.keys = size->different < 1024 ? 1024 : (uint64_t)size->different;
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    const double keys = (double)plan.planned_keys;
    *bytes = plan.planned_bytes;
    *wrong = tool_corpus_size_wrong(judge, size, (keys - tool_expected_new(&plan, 0, keys)) / keys);
    return true;
}

/* The estimates are of things that are counted. */
static uint64_t whole(double value)
{
    return (uint64_t)(value + 0.5);
}

static int print_json(const struct tool_judge *judge, const struct tool_corpus_size *size,
                      double seconds)
{
    json_t *object = tool_json_report("dedupe"), *list = tool_json_array();
    tool_json_add(object, "unit", tool_json_text(unit_name(judge)));
    tool_json_add(object, "sampled_bytes", tool_json_count(size->sampled_bytes));
    tool_json_add(object, "input_bytes", tool_json_count(whole(size->bytes)));
    tool_json_add(object, "documents", tool_json_count(whole(size->documents)));
    tool_json_add(object, "paragraphs", tool_json_count(whole(size->paragraphs)));
    tool_json_add(object, "keys", tool_json_count(whole(size->keys)));
    tool_json_add(object, "different_keys", tool_json_count(whole(size->different)));
    tool_json_add(object, "seconds", tool_json_number(seconds));
    for (size_t i = 0; i < RATES; i++) {
        uint64_t bytes;
        double wrong;
        if (!plan_one(judge, size, rates[i], &bytes, &wrong))
            return TOOL_ERROR;
        json_t *row = tool_json_object();
        tool_json_add(row, "rate", tool_json_number(rates[i]));
        tool_json_add(row, "bytes", tool_json_count(bytes));
        tool_json_add(row, "expected_wrong_removals", tool_json_number(wrong));
        tool_json_append(list, row);
    }
    tool_json_add(object, "plans", list);
    return tool_json_print(object, TOOL_FOUND);
}

static const char *about(char *text, double value)
{
    return tool_format_count(text, whole(value));
}

static int print_text(const struct tool_judge *judge, const struct tool_corpus_size *size,
                      double seconds)
{
    struct tool_out out;
    char one[TOOL_NUMBER_BYTES], two[TOOL_NUMBER_BYTES], wrong_text[TOOL_NUMBER_BYTES + 16];
    tool_out_start(&out);
    tool_format_size(one, (uint64_t)size->bytes);
    tool_out_format(&out, "input         about %s in %s documents\n", one,
                    about(two, size->documents));
    tool_out_format(&out, "sampled       %s\n", tool_format_size(one, size->sampled_bytes));
    if (judge->unit != TOOL_UNIT_DOCUMENT)
        tool_out_format(&out, "paragraphs    about %s\n", about(one, size->paragraphs));
    if (judge->unit == TOOL_UNIT_NGRAM)
        tool_out_format(&out, "n-grams       about %s of %u words\n", about(one, size->keys),
                        judge->ngram);
    tool_out_format(&out, "different     at most about %s\n", about(one, size->different));
    tool_format_duration(one, seconds);
    tool_out_format(&out, "time          %s, without packing and unpacking\n\n",
                    seconds < 1 ? "less than a second" : one);
    tool_out_format(&out, "%-8s  %12s  %s\n", "rate", "memory", "wrong removals expected");
    for (size_t i = 0; i < RATES; i++) {
        uint64_t bytes;
        double wrong;
        if (!plan_one(judge, size, rates[i], &bytes, &wrong))
            return TOOL_ERROR;
        tool_out_format(&out, "%-8s  %12s  %s\n", tool_format_rate(one, rates[i]),
                        tool_format_size(two, bytes), say_wrong(wrong_text, wrong));
    }
    return tool_out_finish(&out, TOOL_FOUND);
}

int tool_corpus_print_plans(const struct tool_dedupe_command *command,
                            const struct tool_judge *judge, const struct tool_corpus_size *size)
{
    const uint32_t threads =
        command->source.threads > 0 ? command->source.threads : bloomery_threads();
    /* Adding takes a thread of its own, and about as long again with n-grams. */
    const double seconds = size->seconds * 1.5 / threads;
    if (command->json)
        return print_json(judge, size, seconds);
    return print_text(judge, size, seconds);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The report of dedupe at the end: the number of lines, the memory, and how many of the dropped
 * lines it should not have dropped. */
#include "command/dedupe/dedupe_command.h"

#include "base/json.h"
#include "base/numbers.h"
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

static void say_report(const struct tool_dedupe_command *command,
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

static json_t *json_report(const struct tool_dedupe_command *command,
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
        return tool_json_print(json_report(command, &facts), code);
    if (command->json)
        tool_json_say(json_report(command, &facts)); /* standard output has lines */
    else
        say_report(command, &facts);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "command/inspect/canary.h"

#include "base/bits.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "key/wrong_form.h"
#include "tool.h"

#include <stdlib.h>

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

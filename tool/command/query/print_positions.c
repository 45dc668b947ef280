/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For comparison with another implementation, so nothing here is fast: one thread, key by key.
 *
 *     1 15 11        654321        a plain filter: the positions in the order of the probes
 *     0:17 3         654321        a chain: layer 0, the oldest,
 *     1:8 40 21      654321        and layer 1
 */
#include "command/query/print_positions.h"

#include "base/bits.h"
#include "base/experimental.h"
#include "input/chunks.h"
#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct printing {
    const bloomery_filter *filter;
    const bloomery_key_rule *rule;
    struct tool_made *made;
    struct tool_out *out;
    unsigned char delimiter;
    uint32_t layers;
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
};

static void printing_start(struct printing *printing, const bloomery_filter *filter,
                           const bloomery_key_rule *rule, struct tool_out *out)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    printing->filter = filter;
    printing->rule = rule;
    printing->made = tool_made_new();
    printing->out = out;
    printing->delimiter = '\n';
    printing->layers = info.layers;
}

static void print_one(struct printing *printing, bloomery_key key, bloomery_key record)
{
    for (uint32_t layer = 0; layer < printing->layers; layer++) {
        const size_t count = bloomery_positions(printing->filter, layer, key, printing->positions,
                                                BLOOMERY_POSITIONS_MAX);
        if (printing->layers > 1)
            tool_out_format(printing->out, "%u:", layer);
        for (size_t i = 0; i < count && i < BLOOMERY_POSITIONS_MAX; i++)
            tool_out_format(printing->out, "%s%llu", i > 0 ? " " : "",
                            (unsigned long long)printing->positions[i]);
        tool_out_bytes(printing->out, "\t", 1);
        tool_out_bytes(printing->out, record.data, record.bytes);
        tool_out_bytes(printing->out, &printing->delimiter, 1);
    }
}

/* A batch of records; returns how many of them have a key. */
static size_t print_batch(struct printing *printing, const struct tool_chunk *chunk,
                          const bloomery_key *records, size_t count)
{
    struct tool_made *made = printing->made;
    size_t key = 0;
    tool_rule_apply(printing->rule, chunk, records, count, made);
    for (size_t i = 0; i < count; i++)
        if (tool_bit(made->with_key, i))
            print_one(printing, made->keys[key++], records[i]);
    assert(key == made->count);
    return key;
}

bool tool_positions_of_keys(const bloomery_filter *filter, const bloomery_key_rule *rule,
                            const char *const *keys, size_t count, unsigned char delimiter,
                            struct tool_out *out, uint64_t *queried)
{
    const bloomery_key_rule own = tool_rule_of_keys(rule);
    struct printing *printing = tool_allocate(sizeof(*printing));
    printing_start(printing, filter, &own, out);
    printing->delimiter = delimiter;
    *queried = 0;
    for (size_t i = 0; i < count; i++) {
        const bloomery_key record = bloomery_key_of(keys[i], strlen(keys[i]));
        *queried += print_batch(printing, NULL, &record, 1);
    }
    const bool good = tool_tally_say(&printing->made->tally, &own, "such keys have no positions");
    tool_made_free(printing->made);
    free(printing);
    return good;
}

bool tool_positions_of_source(const bloomery_filter *filter, const bloomery_key_rule *rule,
                              const struct tool_source *source, struct tool_out *out,
                              uint64_t *queried)
{
    struct tool_source alone = *source;
    alone.threads = 1;
    struct tool_chunks *chunks = tool_chunks_open(&alone, NULL);
    struct tool_chunk chunk = {0};
    struct printing *printing = tool_allocate(sizeof(*printing));
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    printing_start(printing, filter, rule, out);
    printing->delimiter = source->delimiter;
    *queried = 0;
    while (!tool_out_failed(out) && tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while ((count = tool_chunk_keys(&chunk, records)) > 0)
            *queried += print_batch(printing, &chunk, records, count);
        tool_out_flush(out);
    }
    tool_tally_place(&printing->made->tally, chunks);
    const bool whole = tool_chunks_close(chunks);
    const bool good =
        tool_tally_say(&printing->made->tally, rule, "such records have no positions");
    tool_made_free(printing->made);
    tool_chunk_free(&chunk);
    free(records);
    free(printing);
    return whole && good;
}

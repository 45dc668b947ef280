/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include "blocks.h"
#include "team.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Counting -------------------------------------------------------------------------------- */

static void count_blocks(void *context, uint32_t number)
{
    (void)number;
    struct tool_blocks *blocks = context;
    struct tool_block block = {0};
    while (tool_blocks_take(blocks, &block))
        block.records = tool_split_count(block.from, block.end, block.delimiter);
    tool_block_free(&block);
}

bool tool_lines_count(const struct tool_source *source, const char *why_pipe, bool quiet,
                      uint64_t *records)
{
    const char *culprit;
    if (!tool_source_readable_twice(source, &culprit)) {
        tool_usage("%s: %s", tool_path_said(culprit), why_pipe);
        return false;
    }
    struct tool_source once = *source;
    once.unwarned = true;
    struct tool_blocks *blocks = tool_blocks_open(&once, quiet ? NULL : "counting");
    tool_team_run(tool_blocks_threads(blocks), count_blocks, blocks);
    *records = tool_blocks_records(blocks);
    return tool_blocks_close(blocks);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* What one thread has: it alone writes here, so it shares no cache line with another. */
struct adder {
    struct tool_block block;
    bloomery_key keys[TOOL_BATCH_ROOM];
};

struct adding {
    struct tool_blocks *blocks;
    uint32_t threads;
    struct adder **adders;
};

/* A bloomery_source: the next keys of a thread's block, or of its next block. */
static size_t next_keys(void *context, uint32_t thread, const bloomery_key **keys)
{
    struct adding *adding = context;
    assert(thread < adding->threads);
    struct adder *adder = adding->adders[thread];
    while (true) {
        size_t count = adder->block.open ? tool_block_keys(&adder->block, adder->keys) : 0;
        *keys = adder->keys;
        if (count > 0)
            return count;
        if (!tool_blocks_take(adding->blocks, &adder->block))
            return 0;
    }
}

bool tool_lines_add(const struct tool_source *source, bloomery_filter *filter, const char *name,
                    const char *verb, bool quiet, uint64_t *records)
{
    struct adding adding = {.blocks = tool_blocks_open(source, quiet ? NULL : verb)};
    adding.threads = tool_blocks_threads(adding.blocks);
    adding.adders = tool_allocate(adding.threads * sizeof(struct adder *));
    for (uint32_t i = 0; i < adding.threads; i++) {
        adding.adders[i] = tool_allocate(sizeof(struct adder));
        memset(&adding.adders[i]->block, 0, sizeof(struct tool_block));
    }

    bloomery_error error;
    bloomery_status status =
        bloomery_build_from(filter, next_keys, &adding, adding.threads, &error);

    for (uint32_t i = 0; i < adding.threads; i++) {
        tool_block_free(&adding.adders[i]->block);
        free(adding.adders[i]);
    }
    free(adding.adders);
    *records = tool_blocks_records(adding.blocks);
    bool all_read = tool_blocks_close(adding.blocks);
    if (status != BLOOMERY_OK)
        tool_library_error(name, &error);
    return all_read && status == BLOOMERY_OK;
}

/* ---- What it did ----------------------------------------------------------------------------- */

void tool_change_find(const bloomery_info *before, const bloomery_filter *filter, uint64_t records,
                      struct tool_change *change)
{
    change->info = (bloomery_info)BLOOMERY_INFO;
    bloomery_info_get(filter, true, &change->info);
    assert(change->info.bits_set >= before->bits_set);
    change->records = records;
    change->new_bits = change->info.bits_set - before->bits_set;
    if (change->new_bits == 0)
        change->estimated_new_keys = 0;
    else
        change->estimated_new_keys = change->info.estimated_keys - before->estimated_keys;
    /* Whatever the estimate: bits are set by new keys, and no more are new than there are. */
    if (change->new_bits > 0 && change->estimated_new_keys < 1)
        change->estimated_new_keys = 1;
    if (!isinf(change->info.estimated_keys) && change->estimated_new_keys > (double)records)
        change->estimated_new_keys = (double)records;
}

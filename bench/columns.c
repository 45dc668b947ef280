/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our filters, queried and added to by columns: keys as they lie in memory, without a descriptor
 * for each.
 *
 *     column      L = 1. Integers: 8 bytes each, IDs: 12 bytes each, URLs: offsets of 32 bits
 *     column-2    the same with L = 2
 *     hashes      L = 1, and the caller has hashed: what is left for the filter to do
 *
 * Each has a filter of its own. Descriptors are made before the clock starts, and so is a column:
 * an array of offsets is what those who hold strings in a column have.
 */
#include "bench.h"

#include <stdlib.h>

enum { HASHES = 0 };

struct column {
    bloomery_filter *filter;
    bool hashed;
    bloomery_keys now; /* of the chunk */
    int32_t offsets[BENCH_CHUNK + 1];
    uint64_t hashes[BENCH_CHUNK];
};

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    struct column *column = bench_allocate(sizeof *column);
    column->hashed = variant == HASHES;
    column->filter = bench_blocked_make(wanted, variant == HASHES ? 1 : variant, false, facts);
    return column;
}

static void clear(void *context)
{
    bench_clear(((struct column *)context)->filter);
}

static void release(void *context)
{
    bench_release(((struct column *)context)->filter);
    free(context);
}

static void prepare_hashes(struct column *column, const struct bench_chunk *chunk)
{
    static bloomery_hash hashes[BENCH_CHUNK];
    const bloomery_keys list = bloomery_keys_of_list(chunk->keys, chunk->count);
    bloomery_error error;
    if (bloomery_hash_keys(column->filter, &list, hashes, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    for (size_t i = 0; i < chunk->count; i++)
        column->hashes[i] = hashes[i].hi;
    column->now.form = BLOOMERY_KEYS_HASHES64;
    column->now.data = column->hashes;
}

/* The strings of a chunk lie one behind the other. */
static void prepare_offsets(struct column *column, const struct bench_chunk *chunk)
{
    const char *begin = chunk->keys[0].data;
    int32_t at = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        if ((const char *)chunk->keys[i].data != begin + at)
            bench_fail("strings with gaps between them are not a column");
        column->offsets[i] = at;
        at += (int32_t)chunk->keys[i].bytes;
    }
    column->offsets[chunk->count] = at;
    column->now.form = BLOOMERY_KEYS_OFFSETS32;
    column->now.data = begin;
    column->now.bytes = (size_t)at;
    column->now.offsets = column->offsets;
}

static void prepare(void *context, const struct bench_chunk *chunk)
{
    struct column *column = context;
    column->now = (bloomery_keys)BLOOMERY_KEYS;
    column->now.count = chunk->count;
    if (column->hashed) {
        prepare_hashes(column, chunk);
    } else if (chunk->type == BENCH_URLS) {
        prepare_offsets(column, chunk);
    } else {
        column->now.form = BLOOMERY_KEYS_FIXED;
        column->now.data = chunk->keys[0].data;
        column->now.width = chunk->keys[0].bytes;
    }
}

static uint64_t add(void *context, const struct bench_chunk *chunk)
{
    struct column *column = context;
    bloomery_error error;
    if (bloomery_add_keys(column->filter, &column->now, NULL, NULL, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return chunk->count;
}

static uint64_t query(void *context, const struct bench_chunk *chunk)
{
    struct column *column = context;
    bloomery_error error;
    bloomery_counts counts;
    (void)chunk;
    if (bloomery_may_contain_keys(column->filter, &column->now, NULL, &counts, &error) !=
        BLOOMERY_OK)
        bench_fail("%s", error.text);
    return counts.positive;
}

#define COLUMN(title, which)                                                               \
    {                                                                                      \
        .name = title, .role = BENCH_OURS, .variant = which, .make = make, .clear = clear, \
        .release = release, .prepare = prepare, .operations = {NULL, add, NULL, query},    \
    }

const struct bench_contestant bench_columns[] = {
    COLUMN("column", 1),
    COLUMN("column-2", 2),
    COLUMN("hashes", HASHES),
    {.name = NULL},
};

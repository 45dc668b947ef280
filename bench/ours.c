/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our filters, through the public functions only.
 *
 *     blocked-1 .. -4   L = 1 .. 4; batches are of descriptors. blocked-4 only where it is named
 *     classic           the flat one
 *     concurrent        as blocked-1, made for any number of threads at once; here there is one
 *     pair              blocked-1's filter queried by a caller's own loop with hash and prefetch
 *
 * columns.c and inline.c have the other interfaces.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bench.h"

#include <bloomery/experimental.h>

enum { CLASSIC = 0, LINES_MAX = 4, CONCURRENT = LINES_MAX + 1 };

static bloomery_filter *alive[LINES_MAX + 1];

const bloomery_filter *bench_our_filter(uint32_t lines)
{
    return alive[lines];
}

static bloomery_filter *create(const struct bench_case *wanted, bloomery_kind kind,
                               const bloomery_plan_options *wish,
                               const bloomery_create_options *options, bloomery_plan *plan)
{
    bloomery_filter *filter;
    bloomery_error error;
    *plan = (bloomery_plan){.kind = kind, .keys = wanted->keys, .rate = wanted->rate};
    if (bloomery_plan_solve(plan, wish, &error) != BLOOMERY_OK ||
        bloomery_create(plan, options, &filter, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return filter;
}

bloomery_filter *bench_filter_make(const struct bench_case *wanted, bloomery_kind kind,
                                   uint32_t lines, bloomery_plan *plan)
{
    bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
    wish.blocks_per_key = lines;
    return create(wanted, kind, &wish, NULL, plan);
}

static void fill_facts(const bloomery_filter *filter, struct bench_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    snprintf(facts->layout, sizeof facts->layout, "%s",
             info.kind == BLOOMERY_CLASSIC ? "flat" : "512-bit blocks");
    facts->lines = info.blocks_per_key;
    facts->probes = info.probes;
    facts->bytes = info.bytes;
    facts->planned = info.planned_rate;
    facts->kernel = info.kernel;
}

bloomery_filter *bench_blocked_make(const struct bench_case *wanted, uint32_t lines,
                                    bool concurrent, struct bench_facts *facts)
{
    bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan;
    wish.blocks_per_key = lines;
    options.concurrent_adds = concurrent;
    bloomery_filter *filter = create(wanted, BLOOMERY_BLOCKED, &wish, &options, &plan);
    fill_facts(filter, facts);
    return filter;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    bloomery_plan plan;
    if (variant == CONCURRENT)
        return bench_blocked_make(wanted, 1, true, facts);
    if (variant != CLASSIC)
        return alive[variant] = bench_blocked_make(wanted, variant, false, facts);
    alive[variant] = bench_filter_make(wanted, BLOOMERY_CLASSIC, 0, &plan);
    fill_facts(alive[variant], facts);
    return alive[variant];
}

void bench_clear(void *context)
{
    bloomery_error error;
    if (bloomery_clear(context, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
}

void bench_release(void *context)
{
    for (int i = 0; i <= LINES_MAX; i++)
        if (alive[i] == context)
            alive[i] = NULL;
    bloomery_free(context);
}

uint64_t bench_add_one(void *context, const struct bench_chunk *chunk)
{
    uint64_t added = 0;
    if (chunk->numbers != NULL)
        for (size_t i = 0; i < chunk->count; i++)
            added += bloomery_add(context, bloomery_key_of(&chunk->numbers[i], 8), NULL);
    else
        for (size_t i = 0; i < chunk->count; i++)
            added += bloomery_add(context, chunk->keys[i], NULL);
    return added;
}

uint64_t bench_add_batch(void *context, const struct bench_chunk *chunk)
{
    const bloomery_keys keys = bloomery_keys_of_list(chunk->keys, chunk->count);
    bloomery_error error;
    if (bloomery_add_keys(context, &keys, NULL, NULL, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return chunk->count;
}

uint64_t bench_query_one(void *context, const struct bench_chunk *chunk)
{
    uint64_t found = 0;
    if (chunk->numbers != NULL)
        for (size_t i = 0; i < chunk->count; i++)
            found += bloomery_may_contain(context, bloomery_key_of(&chunk->numbers[i], 8));
    else
        for (size_t i = 0; i < chunk->count; i++)
            found += bloomery_may_contain(context, chunk->keys[i]);
    return found;
}

uint64_t bench_query_batch(void *context, const struct bench_chunk *chunk)
{
    const bloomery_keys keys = bloomery_keys_of_list(chunk->keys, chunk->count);
    bloomery_counts counts;
    bloomery_error error;
    if (bloomery_may_contain_keys(context, &keys, NULL, &counts, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return counts.positive;
}

static inline void hash_and_prefetch(const bloomery_filter *filter, bloomery_key key,
                                     bloomery_hash *hash)
{
    if (bloomery_hash_key(filter, key, hash, NULL) != BLOOMERY_OK)
        bench_fail("bloomery_hash_key");
    bloomery_prefetch_hash(filter, *hash);
}

/* The caller's own loop: hash, prefetch, and query 128 keys later. */
static uint64_t query_pair(void *context, const struct bench_chunk *chunk)
{
    enum { AHEAD = 128 };
    bloomery_hash hashes[AHEAD];
    const size_t ahead = chunk->count < AHEAD ? chunk->count : AHEAD;
    uint64_t found = 0;
    for (size_t i = 0; i < ahead; i++)
        hash_and_prefetch(context, chunk->keys[i], &hashes[i]);
    for (size_t i = ahead; i < chunk->count; i++) {
        bloomery_hash *hash = &hashes[i % AHEAD];
        found += bloomery_may_contain_hash(context, *hash);
        hash_and_prefetch(context, chunk->keys[i], hash);
    }
    for (size_t i = 0; i < ahead; i++)
        found += bloomery_may_contain_hash(context, hashes[i]);
    return found;
}

bloomery_filter *bench_borrow(const char *name, uint32_t lines, struct bench_facts *facts)
{
    if (alive[lines] == NULL)
        fprintf(stderr, "bench: %s queries the filter of blocked-%u, which was not chosen\n", name,
                lines);
    else
        fill_facts(alive[lines], facts);
    return alive[lines];
}

void bench_leave(void *context)
{
    (void)context;
}

static void *borrow(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    (void)wanted;
    return bench_borrow("pair", variant, facts);
}

#define OURS(title, lines, ...)                                                                  \
    {                                                                                            \
        .name = title, .role = BENCH_OURS, .variant = lines, .make = make, .clear = bench_clear, \
        .release = bench_release,                                                                \
        .operations = {bench_add_one, bench_add_batch, bench_query_one, bench_query_batch},      \
        __VA_ARGS__                                                                              \
    }

const struct bench_contestant bench_ours[] = {
    OURS("blocked-1", 1),
    OURS("blocked-2", 2),
    OURS("blocked-3", 3, .slow = true),
    OURS("blocked-4", 4, .slow = true, .named = true),
    OURS("classic", CLASSIC, .slow = true),
    OURS("concurrent", CONCURRENT),
    {
        .name = "pair",
        .role = BENCH_OURS,
        .variant = 1,
        .make = borrow,
        .clear = bench_leave,
        .release = bench_leave,
        .operations = {NULL, NULL, NULL, query_pair},
    },
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Our filters, through the public functions only. */
#include "bench.h"

enum { CLASSIC = 0, LINES_MOST = 3 };

static bloomery_filter *alive[LINES_MOST + 1];

const bloomery_filter *bench_our_filter(uint32_t lines)
{
    return alive[lines];
}

bloomery_filter *bench_filter_make(const struct bench_case *wanted, bloomery_kind kind,
                                   uint32_t lines, bloomery_plan *plan)
{
    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_filter *filter;
    bloomery_error error;
    *plan = (bloomery_plan){.kind = kind, .keys = wanted->keys, .rate = wanted->rate};
    options.lines = lines;
    if (bloomery_plan_solve(plan, &options, &error) != BLOOMERY_OK ||
        bloomery_create(plan, &options, &filter, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return filter;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_plan plan;
    bloomery_kind kind = variant == CLASSIC ? BLOOMERY_CLASSIC : BLOOMERY_BLOCKED;
    bloomery_filter *filter = bench_filter_make(wanted, kind, variant, &plan);
    bloomery_info_get(filter, false, &info);
    snprintf(facts->layout, sizeof facts->layout, "%s",
             kind == BLOOMERY_CLASSIC ? "flat" : "512-bit lines");
    facts->lines = plan.lines;
    facts->probes = plan.probes;
    facts->bytes = plan.bytes;
    facts->planned = plan.rate;
    facts->kernel = info.kernel;
    alive[variant] = filter;
    return filter;
}

static void clear(void *context)
{
    bloomery_clear(context);
}

static void release(void *context)
{
    for (int i = 0; i <= LINES_MOST; i++)
        if (alive[i] == context)
            alive[i] = NULL;
    bloomery_free(context);
}

uint64_t bench_add_one(void *context, const struct bench_chunk *chunk)
{
    uint64_t added = 0;
    if (chunk->numbers != NULL)
        for (size_t i = 0; i < chunk->count; i++)
            added +=
                bloomery_add(context, bloomery_key_of(&chunk->numbers[i], 8), NULL) == BLOOMERY_NEW;
    else
        for (size_t i = 0; i < chunk->count; i++)
            added += bloomery_add(context, chunk->keys[i], NULL) == BLOOMERY_NEW;
    return added;
}

uint64_t bench_add_batch(void *context, const struct bench_chunk *chunk)
{
    if (bloomery_add_batch(context, chunk->keys, chunk->count, NULL, NULL) != BLOOMERY_OK)
        bench_fail("bloomery_add_batch");
    return chunk->count;
}

uint64_t bench_ask_one(void *context, const struct bench_chunk *chunk)
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

uint64_t bench_ask_batch(void *context, const struct bench_chunk *chunk)
{
    return bloomery_may_contain_batch(context, chunk->keys, chunk->count, NULL);
}

/* The caller's own loop: hash, prefetch, and ask 128 keys later. */
static uint64_t ask_pair(void *context, const struct bench_chunk *chunk)
{
    enum { AHEAD = 128 };
    bloomery_hash hashes[AHEAD];
    uint64_t found = 0;
    for (size_t i = 0; i < chunk->count + AHEAD; i++) {
        if (i >= AHEAD && i - AHEAD < chunk->count)
            found += bloomery_may_contain_hash(context, hashes[i % AHEAD]);
        if (i < chunk->count) {
            if (bloomery_hash_key(context, chunk->keys[i], &hashes[i % AHEAD]) != BLOOMERY_OK)
                bench_fail("bloomery_hash_key");
            bloomery_prefetch_hash(context, hashes[i % AHEAD]);
        }
    }
    return found;
}

/* The same filter as blocked-1, asked by that loop. */
static void *borrow(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    (void)wanted;
    if (alive[variant] == NULL) {
        fprintf(stderr, "bench: pair asks the filter of blocked-1, which was not chosen\n");
        return NULL;
    }
    bloomery_info_get(alive[variant], false, &info);
    snprintf(facts->layout, sizeof facts->layout, "512-bit lines");
    facts->lines = info.lines;
    facts->probes = info.probes;
    facts->bytes = info.bytes;
    facts->planned = info.planned_rate;
    facts->kernel = info.kernel;
    return alive[variant];
}

static void leave(void *context)
{
    (void)context;
}

#define OURS(title, lines, costly)                                                         \
    {                                                                                      \
        .name = title, .role = BENCH_OURS, .variant = lines, .slow = costly, .make = make, \
        .clear = clear, .release = release,                                                \
        .operations = {bench_add_one, bench_add_batch, bench_ask_one, bench_ask_batch},    \
    }

const struct bench_contestant bench_ours[] = {
    OURS("blocked-1", 1, false),
    OURS("blocked-2", 2, false),
    OURS("blocked-3", 3, true),
    OURS("classic", CLASSIC, true),
    {
        .name = "pair",
        .role = BENCH_OURS,
        .variant = 1,
        .make = borrow,
        .clear = leave,
        .release = leave,
        .operations = {NULL, NULL, NULL, ask_pair},
    },
    {.name = NULL},
};

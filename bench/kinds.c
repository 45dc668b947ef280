/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds beside each other: what it costs to be able to remove, to grow, to know how many bits a
 * batch set. They take part only where --only names them, so that the other tables stay as they
 * are.
 *
 *     blocked-fresh    as blocked, planned freely; its batches count the bits that they set
 *     counting-4, -8   counters of 4 and of 8 bits in the places of blocked's bits
 *     scalable         a chain whose first layer is planned for all keys: it never grows
 *     scalable-grown   one that began with room for a twentieth of them
 *     cuckoo           as `bloomery plan --kind cuckoo` makes it; rates from 1 in 200 on
 *     cuckoo-server    made as CF.RESERVE makes it: two slots a bucket, another table when full
 *
 * A cleared chain keeps its layers, so the one that shall grow again is made anew. The kernel's
 * work for the pages of its later layers is then part of its time, as in every program that lets a
 * filter grow.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bench.h"

#include <bloomery/experimental.h>

#include <stdlib.h>

enum variant { FRESH, COUNTING_4, COUNTING_8, SCALABLE, GROWN, CUCKOO, CUCKOO_SERVER };

enum { FIRST_PART = 20 }; /* of the keys, for which a chain begins that grows */

struct kind {
    enum variant variant;
    bloomery_plan plan;
    bloomery_filter *filter;
};

static bloomery_filter *filter_of(void *context)
{
    return ((struct kind *)context)->filter;
}

static void create(struct kind *kind)
{
    bloomery_error error;
    const bloomery_status status =
        kind->variant == CUCKOO_SERVER
            ? bloomery_cuckoo_create(kind->plan.keys, 0, 0, 1, NULL, &kind->filter, &error)
            : bloomery_create(&kind->plan, NULL, &kind->filter, &error);
    if (status != BLOOMERY_OK)
        bench_fail("%s", error.text);
}

/* Returns the bytes that `bloomery plan` gives for a chain with `keys` keys. */
static uint64_t planned_bytes(const bloomery_plan *plan, uint64_t keys)
{
    uint64_t bytes = 0;
    uint64_t room = 0;
    for (uint32_t i = 0; room < keys; i++) {
        bloomery_plan layer = BLOOMERY_PLAN;
        bloomery_error error;
        if (bloomery_plan_layer(plan, i, &layer, &error) != BLOOMERY_OK)
            bench_fail("%s", error.text);
        bytes += layer.planned_bytes;
        room += layer.planned_keys;
    }
    return bytes;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    struct kind *kind = bench_allocate(sizeof *kind);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    bloomery_error error;
    kind->variant = (enum variant)variant;
    kind->plan =
        (bloomery_plan){.kind = BLOOMERY_BLOCKED, .keys = wanted->keys, .rate = wanted->rate};
    if (variant == COUNTING_4 || variant == COUNTING_8) {
        kind->plan.kind = BLOOMERY_COUNTING;
        options.cell_bits = variant == COUNTING_4 ? 4 : 8;
    } else if (variant != FRESH) {
        kind->plan.kind =
            variant == CUCKOO || variant == CUCKOO_SERVER ? BLOOMERY_CUCKOO : BLOOMERY_SCALABLE;
    }
    if (variant == GROWN)
        kind->plan.keys = (wanted->keys + FIRST_PART - 1) / FIRST_PART;
    if (bloomery_plan_solve(&kind->plan, &options, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    create(kind);
    bloomery_info_get(kind->filter, &info);
    snprintf(facts->layout, sizeof facts->layout, "%s", bloomery_kind_name((int)kind->plan.kind));
    facts->lines = kind->plan.blocks_per_key;
    facts->probes = kind->plan.probes;
    facts->bytes =
        variant == GROWN ? planned_bytes(&kind->plan, wanted->keys) : kind->plan.planned_bytes;
    facts->planned = kind->plan.planned_rate;
    facts->below = kind->plan.kind == BLOOMERY_SCALABLE || kind->plan.kind == BLOOMERY_CUCKOO;
    facts->kernel = info.kernel;
    if (variant == CUCKOO_SERVER) { /* its rate is known when it is full */
        facts->probes = info.probes;
        facts->bytes = info.bytes;
    }
    return kind;
}

static void clear(void *context)
{
    struct kind *kind = context;
    if (kind->variant == GROWN || kind->variant == CUCKOO_SERVER) {
        bloomery_free(kind->filter);
        create(kind);
    }
    bench_clear(kind->filter);
}

static void full(void *context, struct bench_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter_of(context), &info);
    facts->held = info.bytes;
    facts->layers = info.layers;
}

/* The tables that a server's filter has now: their rates add up. */
static void full_server(void *context, struct bench_facts *facts)
{
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    full(context, facts);
    bloomery_scan(filter_of(context), &scan);
    facts->planned = scan.expected_rate;
}

static void release(void *context)
{
    bloomery_free(filter_of(context));
    free(context);
}

static uint64_t add_one(void *context, const struct bench_chunk *chunk)
{
    return bench_add_one(filter_of(context), chunk);
}

static uint64_t add_batch(void *context, const struct bench_chunk *chunk)
{
    return bench_add_batch(filter_of(context), chunk);
}

static uint64_t add_fresh(void *context, const struct bench_chunk *chunk)
{
    const bloomery_keys keys = bloomery_keys_of_list(chunk->keys, chunk->count);
    bloomery_counts counts;
    bloomery_error error;
    if (bloomery_add_keys(filter_of(context), &keys, NULL, &counts, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return counts.cells;
}

static uint64_t query_one(void *context, const struct bench_chunk *chunk)
{
    return bench_query_one(filter_of(context), chunk);
}

static uint64_t query_batch(void *context, const struct bench_chunk *chunk)
{
    return bench_query_batch(filter_of(context), chunk);
}

#define KIND(title, which, batch, whole)                                                  \
    {                                                                                     \
        .name = title, .role = BENCH_OURS, .variant = which, .named = true, .make = make, \
        .clear = clear, .full = whole, .release = release,                                \
        .operations = {add_one, batch, query_one, query_batch},                           \
    }

const struct bench_contestant bench_kinds[] = {
    KIND("blocked-fresh", FRESH, add_fresh, NULL),
    KIND("counting-4", COUNTING_4, add_batch, NULL),
    KIND("counting-8", COUNTING_8, add_batch, NULL),
    KIND("scalable", SCALABLE, add_batch, full),
    KIND("scalable-grown", GROWN, add_batch, full),
    KIND("cuckoo", CUCKOO, add_batch, full),
    KIND("cuckoo-server", CUCKOO_SERVER, add_batch, full_server),
    {.name = NULL},
};

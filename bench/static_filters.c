/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters that are built once from all their keys, and what memory allows them. They take part only
 * where --only or --also names them.
 *
 *     static            ours, queried by descriptors
 *     static-column     the same filter, queried by columns
 *     fuse8, fuse16     stand-ins for 3-wise binary fuse filters, fingerprints of 8 and 16 bits.
 *                       They take no other rates than 2^-8 and 2^-16 and are left out elsewhere
 *     fuse8-unsorted,   the same with the keys in the order in which they came. What is published
 *     fuse16-unsorted   sorts them first by a product that overflows from some 10 million keys on;
 *                       then their order is hardly better than this one
 *
 * A binary fuse filter, from its paper (Graf and Lemire, 2022): an array of fingerprints, cut into
 * segments of a power of two. A key has one place in each of three segments that follow each other:
 *
 *     | segment 0 | segment 1 | segment 2 | segment 3 | ...
 *                      ^           ^           ^             fingerprint(key) =
 *                      a           b           c                 array[a] ^ array[b] ^ array[c]
 *
 * The build peels: a place that only one key has is that key's, the key is taken away, and so on.
 * In the reverse order each key's own place is given the value that makes its equation true. 1.125
 * places per key are enough for large sets. Where peeling ends early another seed is tried.
 *
 * As in split_block.c the kernel is ours and is written to be a hard rival: hashed by XXH3 of 64
 * bits, inlined, 128 keys in flight, on the same kind of pages.
 */
#include "loop.h"

#include "kinds/shape.h"

#include <bloomery/builder.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 128, TRIES_MAX = 100 };

#define FAST static inline __attribute__((always_inline))

/* ---- Ours ----------------------------------------------------------------------------------- */

static const bloomery_filter *built; /* static-column queries the filter of static */

static double build(const struct bench_case *wanted, const bloomery_filter **filter)
{
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = wanted->keys, .rate = wanted->rate};
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    bloomery_builder *builder;
    bloomery_error error;
    double seconds = 0;
    options.threads = 1;
    options.memory = wanted->keys * 48 + ((uint64_t)64 << 20);
    if (bloomery_builder_open(&plan, NULL, &options, &builder, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    for (uint64_t done = 0; done < wanted->keys; done += BENCH_CHUNK) {
        const size_t now =
            wanted->keys - done < BENCH_CHUNK ? (size_t)(wanted->keys - done) : (size_t)BENCH_CHUNK;
        const struct bench_chunk *chunk = bench_keys(wanted->type, done, now);
        const bloomery_keys keys = bloomery_keys_of_list(chunk->keys, chunk->count);
        const double begin = bench_seconds();
        if (bloomery_builder_add(builder, &keys, &error) != BLOOMERY_OK)
            bench_fail("%s", error.text);
        seconds += bench_seconds() - begin;
    }
    const double begin = bench_seconds();
    if (bloomery_builder_finish(builder, filter, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    seconds += bench_seconds() - begin;
    bloomery_builder_free(builder);
    return seconds * 1e9 / (double)wanted->keys;
}

static void fill_facts(struct bench_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(built, &info);
    snprintf(facts->layout, sizeof facts->layout, "bumped ribbon");
    facts->bytes = info.bytes;
    facts->planned = info.planned_rate;
    facts->kernel = info.kernel;
}

/* Contexts are not const; the operations on this one only query it. */
static void *built_context(void)
{
    return (void *)(uintptr_t)built;
}

static void *make_static(uint32_t variant, const struct bench_case *wanted,
                         struct bench_facts *facts)
{
    (void)variant;
    facts->built_ns = build(wanted, &built);
    fill_facts(facts);
    return built_context();
}

static void release_static(void *context)
{
    built = NULL;
    bloomery_free(context);
}

static void *borrow_static(uint32_t variant, const struct bench_case *wanted,
                           struct bench_facts *facts)
{
    (void)variant;
    (void)wanted;
    if (built == NULL)
        fprintf(stderr,
                "bench: static-column queries the filter of static, which was not chosen\n");
    else
        fill_facts(facts);
    return built_context();
}

static uint64_t query_column(void *context, const struct bench_chunk *chunk)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    bloomery_counts counts;
    bloomery_error error;
    keys.form = BLOOMERY_KEYS_FIXED;
    keys.count = chunk->count;
    keys.data = chunk->keys[0].data;
    keys.width = chunk->keys[0].bytes;
    if (bloomery_may_contain_keys(context, &keys, NULL, &counts, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return counts.positive;
}

/* ---- The stand-in --------------------------------------------------------------------------- */

struct fuse {
    struct bench_pages pages;
    uint64_t places;  /* where a key's first place can lie */
    uint64_t segment; /* places in one */
    uint64_t array;
    uint64_t seed;
    uint32_t bytes; /* of a fingerprint */
};

struct fuse_key {
    uint64_t at[3];
    uint64_t hash;
};

FAST struct fuse_key fuse_find(uint64_t hash, uint64_t places, uint64_t segment)
{
    struct fuse_key key;
    const uint64_t first = (uint64_t)(((unsigned __int128)hash * places) >> 64);
    key.hash = hash;
    key.at[0] = first;
    key.at[1] = (first + segment) ^ (hash >> 18 & (segment - 1));
    key.at[2] = (first + 2 * segment) ^ (hash & (segment - 1));
    return key;
}

FAST uint64_t fingerprint_of(uint64_t hash)
{
    return hash ^ hash >> 32;
}

FAST uint64_t is_found(const unsigned char *memory, struct fuse_key key, uint32_t bytes)
{
    if (bytes == 1)
        return (uint8_t)(fingerprint_of(key.hash) ^ memory[key.at[0]] ^ memory[key.at[1]] ^
                         memory[key.at[2]]) == 0;
    const uint16_t *array = (const void *)memory;
    return (uint16_t)(fingerprint_of(key.hash) ^ array[key.at[0]] ^ array[key.at[1]] ^
                      array[key.at[2]]) == 0;
}

/* A mixed hash: that of loop.h with the seed that peeling took. */
FAST struct fuse_key find(const struct bench_loop *loop, size_t i, enum bench_type type,
                          const struct fuse *fuse)
{
    return fuse_find(bench_loop_hash(loop, i, type), fuse->places, fuse->segment);
}

FAST uint64_t one_by_one(const struct bench_loop loop, const struct fuse fuse, uint32_t bytes,
                         enum bench_type type)
{
    uint64_t found = 0;
    for (size_t i = 0; i < loop.count; i++)
        found += is_found(loop.memory, find(&loop, i, type, &fuse), bytes);
    return found;
}

FAST uint64_t in_window(const struct bench_loop loop, const struct fuse fuse, uint32_t bytes,
                        enum bench_type type)
{
    struct fuse_key keys[AHEAD];
    uint64_t found = 0;
    const size_t first = loop.count < AHEAD ? loop.count : AHEAD;
    for (size_t i = 0; i < loop.count + first; i++) {
        if (i >= first)
            found += is_found(loop.memory, keys[(i - first) % AHEAD], bytes);
        if (i >= loop.count)
            continue;
        const struct fuse_key key = find(&loop, i, type, &fuse);
        for (int j = 0; j < 3; j++)
            bloomery_request_line(loop.memory + key.at[j] * bytes, fuse.array * bytes);
        keys[i % AHEAD] = key;
    }
    return found;
}

static struct bench_loop loop_of(const struct fuse *fuse, const struct bench_chunk *chunk)
{
    return (struct bench_loop){
        .memory = fuse->pages.at,
        .seed = fuse->seed,
        .numbers = chunk->numbers,
        .keys = chunk->keys,
        .count = chunk->count,
    };
}

#define OPERATION(name, form)                                                       \
    static uint64_t name(void *context, const struct bench_chunk *chunk)            \
    {                                                                               \
        const struct fuse fuse = *(const struct fuse *)context;                     \
        const struct bench_loop loop = loop_of(&fuse, chunk);                       \
        if (chunk->type == BENCH_INTEGERS)                                          \
            return fuse.bytes == 1 ? form(loop, fuse, 1, BENCH_INTEGERS)            \
                                   : form(loop, fuse, 2, BENCH_INTEGERS);           \
        return chunk->type == BENCH_IDS ? form(loop, fuse, fuse.bytes, BENCH_IDS)   \
                                        : form(loop, fuse, fuse.bytes, BENCH_URLS); \
    }

OPERATION(fuse_query_one, one_by_one)
OPERATION(fuse_query, in_window)

/* The sizes that the paper found by experiment for three places per key. */
static void fuse_plan(struct fuse *fuse, uint64_t keys)
{
    const double n = (double)keys;
    uint64_t segment = (uint64_t)1 << (unsigned)floor(log(n) / log(3.33) + 2.25);
    const uint64_t most = (uint64_t)1 << 18;
    const double factor = fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n));
    segment = segment < most ? segment : most;
    const uint64_t segments = ((uint64_t)llround(n * factor) + segment - 1) / segment;
    fuse->segment = segment;
    fuse->places = (segments > 2 ? segments - 2 : 1) * segment;
    fuse->array = fuse->places + 2 * segment;
}

static void hash_all(const struct fuse *fuse, const struct bench_case *wanted, uint64_t *hashes,
                     double *seconds)
{
    for (uint64_t done = 0; done < wanted->keys; done += BENCH_CHUNK) {
        const size_t now =
            wanted->keys - done < BENCH_CHUNK ? (size_t)(wanted->keys - done) : (size_t)BENCH_CHUNK;
        const struct bench_chunk *chunk = bench_keys(wanted->type, done, now);
        const struct bench_loop loop = loop_of(fuse, chunk);
        const double begin = bench_seconds();
        for (size_t i = 0; i < now; i++)
            hashes[done + i] = bench_loop_hash(&loop, i, chunk->type);
        *seconds += bench_seconds() - begin;
    }
}

/* Sorts by the first place, roughly: keys whose places lie near each other come near each other. */
static void sort_by_place(uint64_t *hashes, uint64_t *sorted, uint64_t keys)
{
    enum { BITS = 12 };
    static uint64_t begins[(1 << BITS) + 1];
    memset(begins, 0, sizeof begins);
    for (uint64_t i = 0; i < keys; i++)
        begins[(hashes[i] >> (64 - BITS)) + 1]++;
    for (int i = 0; i < 1 << BITS; i++)
        begins[i + 1] += begins[i];
    for (uint64_t i = 0; i < keys; i++)
        sorted[begins[hashes[i] >> (64 - BITS)]++] = hashes[i];
    memcpy(hashes, sorted, keys * sizeof *hashes);
}

struct peeling {
    uint64_t *hashes; /* exclusive or of those that have the place */
    uint8_t *counts;  /* how many, times four, and the exclusive or of which place it is of each */
    uint32_t *alone;  /* places that one key has */
    uint64_t *order;  /* keys as they are taken away */
    uint8_t *owns;    /* and which of its three places each has */
};

static void peel_count(const struct fuse *fuse, struct peeling *peeling, const uint64_t *hashes,
                       uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++) {
        const struct fuse_key key = fuse_find(hashes[i], fuse->places, fuse->segment);
        for (int j = 0; j < 3; j++) {
            peeling->hashes[key.at[j]] ^= key.hash;
            peeling->counts[key.at[j]] = (uint8_t)((peeling->counts[key.at[j]] + 4) ^ j);
        }
    }
}

/* How many keys were taken away. A place with 64 keys or more would count wrongly; the end shows
 * it, as too few. */
static uint64_t peel(const struct fuse *fuse, struct peeling *peeling)
{
    uint64_t waiting = 0;
    uint64_t taken = 0;
    for (uint64_t at = 0; at < fuse->array; at++) {
        peeling->alone[waiting] = (uint32_t)at;
        waiting += peeling->counts[at] >> 2 == 1;
    }
    while (waiting > 0) {
        const uint32_t at = peeling->alone[--waiting];
        if (peeling->counts[at] >> 2 != 1)
            continue;
        const struct fuse_key key = fuse_find(peeling->hashes[at], fuse->places, fuse->segment);
        const uint8_t own = peeling->counts[at] & 3;
        peeling->order[taken] = key.hash;
        peeling->owns[taken++] = own;
        for (int j = 0; j < 3; j++) {
            const uint64_t other = key.at[j];
            peeling->hashes[other] ^= key.hash;
            peeling->counts[other] = (uint8_t)((peeling->counts[other] - 4) ^ j);
            peeling->alone[waiting] = (uint32_t)other;
            waiting += j != own && peeling->counts[other] >> 2 == 1;
        }
    }
    return taken;
}

static void assign(const struct fuse *fuse, const struct peeling *peeling, uint64_t keys)
{
    uint8_t *bytes = fuse->pages.at;
    uint16_t *pairs = (void *)fuse->pages.at;
    for (uint64_t i = keys; i-- > 0;) {
        const struct fuse_key key = fuse_find(peeling->order[i], fuse->places, fuse->segment);
        const uint64_t print = fingerprint_of(key.hash);
        const uint64_t own = key.at[peeling->owns[i]];
        const uint64_t a = key.at[0], b = key.at[1], c = key.at[2];
        if (fuse->bytes == 1)
            bytes[own] = (uint8_t)(print ^ bytes[a] ^ bytes[b] ^ bytes[c] ^ bytes[own]);
        else
            pairs[own] = (uint16_t)(print ^ pairs[a] ^ pairs[b] ^ pairs[c] ^ pairs[own]);
    }
}

/* One try. False where peeling ended early. */
static bool fuse_try(struct fuse *fuse, const struct bench_case *wanted, bool sorted,
                     double *seconds)
{
    const uint64_t keys = wanted->keys;
    uint64_t *hashes = bench_allocate(keys * sizeof *hashes);
    struct peeling peeling = {
        .hashes = bench_allocate(fuse->array * sizeof *peeling.hashes),
        .counts = bench_allocate(fuse->array),
        .alone = bench_allocate((fuse->array + 3) * sizeof *peeling.alone),
        .order = bench_allocate((keys + 1) * sizeof *peeling.order),
        .owns = bench_allocate(keys + 1),
    };
    hash_all(fuse, wanted, hashes, seconds);
    const double begin = bench_seconds();
    if (sorted)
        sort_by_place(hashes, peeling.order, keys);
    peel_count(fuse, &peeling, hashes, keys);
    const bool all = peel(fuse, &peeling) == keys;
    if (all)
        assign(fuse, &peeling, keys);
    *seconds += bench_seconds() - begin;
    free(hashes);
    free(peeling.hashes);
    free(peeling.counts);
    free(peeling.alone);
    free(peeling.order);
    free(peeling.owns);
    return all;
}

static void *make_fuse(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    const uint32_t bytes = variant & 3;
    if (fabs(wanted->rate / ldexp(1, -8 * (int)bytes) - 1) > 0.001)
        return NULL; /* fingerprints have whole bytes */
    struct fuse *fuse = bench_allocate(sizeof *fuse);
    double seconds = 0;
    fuse->bytes = bytes;
    fuse_plan(fuse, wanted->keys);
    if (fuse->array >> 32 != 0)
        bench_fail("the stand-in has at most 2^32 places");
    fuse->pages = bench_pages_make(fuse->array * bytes);
    for (fuse->seed = 1; !fuse_try(fuse, wanted, variant < 4, &seconds); fuse->seed++)
        if (fuse->seed == TRIES_MAX)
            bench_fail("peeling ends early with %d seeds", TRIES_MAX);
    snprintf(facts->layout, sizeof facts->layout, "binary fuse, %u-bit fingerprints", 8 * bytes);
    facts->lines = 3;
    facts->bytes = fuse->array * bytes;
    facts->planned = wanted->rate;
    facts->kernel = "scalar";
    facts->built_ns = seconds * 1e9 / (double)wanted->keys;
    return fuse;
}

static void release_fuse(void *context)
{
    struct fuse *fuse = context;
    bloomery_free(fuse->pages.filter);
    free(fuse);
}

#define FUSE(title, which)                                                                     \
    {                                                                                          \
        .name = title, .role = BENCH_PEER, .variant = which, .named = true, .make = make_fuse, \
        .clear = bench_leave, .release = release_fuse,                                         \
        .operations = {NULL, NULL, fuse_query_one, fuse_query},                                \
    }

const struct bench_contestant bench_static[] = {
    {
        .name = "static",
        .role = BENCH_OURS,
        .named = true,
        .make = make_static,
        .clear = bench_leave,
        .release = release_static,
        .operations = {NULL, NULL, bench_query_one, bench_query_batch},
    },
    {
        .name = "static-column",
        .role = BENCH_OURS,
        .named = true,
        .make = borrow_static,
        .clear = bench_leave,
        .release = bench_leave,
        .operations = {NULL, NULL, NULL, query_column},
    },
    FUSE("fuse8", 1),
    FUSE("fuse16", 2),
    FUSE("fuse8-unsorted", 5),
    FUSE("fuse16-unsorted", 6),
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of RedisBloom's, in calls of 100 keys as a server makes them, beside what the memory
 * allows.
 *
 *     absent, new, present    asked for, added, asked for again. The filter is for 1 in 1000, ten
 *                             bits a key, and half of its bits are set, at random
 *     two lines read          an absent key cannot be told by less: the first bit that is not set
 *                             is the second one on average
 *     ten lines changed       a new key cannot be added by less: all its bits lie in other lines
 *     ten lines read          nor a present one be found
 *
 * The limits find their lines by multiplications, have 80 lines under way all the time, and know
 * no key. All work on memory by pages of 2 MiB, where the kernel has them, and of 4 KiB, which is
 * what a server's allocator gives. Times are the thread's own, as those of bench/server.py are the
 * server's.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bench.h"

#include "kinds/shape.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    CALL = 100,
    LINE = 64,
    PROBES = 10,
    FEW = 2,
    AHEAD = 80,
    PARTS_MAX = 25,
    ROWS = 6,
    CHUNKS_MAX = 20, /* of a part */
    SHARE = 16,      /* of the keys that a filter is for are added at most */
};

static const double rate = 0.001;
static const double bits_per_key = 14.3776; /* at that rate */

struct memory {
    bloomery_filter *filter;
    unsigned char *lines; /* of the limits */
    uint64_t line_count;
    uint64_t keys; /* of a part */
    const bool *huge;
};

/* Returns the processor time of this thread: that of other programs is not in it. */
static double own_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(bloomery_status status, const bloomery_error *error)
{
    if (status != BLOOMERY_OK)
        bench_fail("%s", error->text);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *take(void *context, size_t bytes, size_t alignment)
{
    const size_t most = bytes + ((size_t)2 << 20);
    unsigned char *block =
        mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)alignment; /* pages have any that is asked for */
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, most, *(const bool *)context ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return block;
}

static void give(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    munmap(memory, bytes + ((size_t)2 << 20));
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 29;
}

/* A filter of those bytes, about, with random bits. */
static void make(struct memory *memory, uint64_t bytes, uint32_t parts)
{
    enum { PIECE = 1 << 20 };
    static uint64_t piece[PIECE / 8];
    bloomery_dialect_parameters given = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_create_options create = BLOOMERY_CREATE_OPTIONS;
    bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
    bloomery_error error;
    uint64_t state = bytes;
    given.keys = (uint64_t)((double)bytes * 8 / bits_per_key);
    given.rate = rate;
    given.variant = "nonscaling";
    create.allocator = (bloomery_allocator){take, give, (void *)(uintptr_t)memory->huge, take};
    must(bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_REDISBLOOM), &given, &create,
                                 &memory->filter, &error),
         &error);
    if (bloomery_layer_info_get(memory->filter, 0, false, &layer) != BLOOMERY_OK)
        bench_fail("a filter without a link");
    const uint64_t size = layer.bits / 8;
    for (uint64_t at = 0; at < size; at += PIECE) {
        const uint64_t now = size - at < PIECE ? size - at : PIECE;
        for (size_t i = 0; i < PIECE / 8; i++)
            piece[i] = next_random(&state);
        must(bloomery_redisbloom_loadchunk(&memory->filter, 1 + at + now, piece, (size_t)now, NULL,
                                           &error),
             &error);
    }
    if (layer.probes != PROBES)
        bench_fail("%u bits a key, not %d", layer.probes, PROBES);
    memory->line_count = bytes / LINE;
    memory->keys = given.keys / SHARE / parts / BENCH_CHUNK * BENCH_CHUNK;
    if (memory->keys > CHUNKS_MAX * BENCH_CHUNK)
        memory->keys = CHUNKS_MAX * BENCH_CHUNK;
    if (memory->keys == 0)
        bench_fail("%" PRIu64 " bytes are too few for %u parts", bytes, parts);
    memory->lines = take((void *)(uintptr_t)memory->huge, bytes, LINE);
    if (memory->lines == NULL)
        bench_fail("no memory");
    memset(memory->lines, 1, bytes);
}

/* ---- What is measured ------------------------------------------------------------------------ */

typedef uint64_t operation(struct memory *memory, const struct bench_chunk *chunk);

static uint64_t ask(struct memory *memory, const struct bench_chunk *chunk)
{
    uint64_t answers[CALL / 64 + 1], found = 0;
    for (size_t at = 0; at < chunk->count; at += CALL) {
        const size_t now = chunk->count - at < CALL ? chunk->count - at : CALL;
        const bloomery_keys keys = bloomery_keys_of_list(chunk->keys + at, now);
        bloomery_counts counts;
        bloomery_error error;
        must(bloomery_may_contain_keys(memory->filter, &keys, answers, &counts, &error), &error);
        found += counts.positive;
    }
    return found;
}

static uint64_t add(struct memory *memory, const struct bench_chunk *chunk)
{
    uint64_t answers[CALL / 64 + 1], fresh = 0;
    for (size_t at = 0; at < chunk->count; at += CALL) {
        const size_t now = chunk->count - at < CALL ? chunk->count - at : CALL;
        const bloomery_keys keys = bloomery_keys_of_list(chunk->keys + at, now);
        bloomery_counts counts;
        bloomery_error error;
        must(bloomery_add_keys(memory->filter, &keys, answers, &counts, &error), &error);
        fresh += counts.positive;
    }
    return fresh;
}

/* Reads or changes some cache lines for each key, by their numbers alone. */
static inline __attribute__((always_inline)) uint64_t lines(struct memory *memory,
                                                            const struct bench_chunk *chunk,
                                                            const uint32_t each, const bool change)
{
    unsigned char *ring[AHEAD] = {NULL};
    const size_t count = chunk->count * each;
    uint64_t state = chunk->numbers[0] * UINT64_C(0x9e3779b97f4a7c15), sum = 0;
    for (size_t i = 0; i < count + AHEAD; i++) {
        unsigned char **place = &ring[i % AHEAD];
        if (i >= AHEAD) {
            sum += **place;
            if (change)
                **place |= (unsigned char)i;
        }
        if (i >= count)
            continue;
        const unsigned __int128 product =
            (unsigned __int128)next_random(&state) * memory->line_count;
        *place = memory->lines + (uint64_t)(product >> 64) * LINE;
        bloomery_request_line(*place, memory->line_count * LINE);
    }
    return sum;
}

static uint64_t few_read(struct memory *memory, const struct bench_chunk *chunk)
{
    return lines(memory, chunk, FEW, false);
}

static uint64_t all_changed(struct memory *memory, const struct bench_chunk *chunk)
{
    return lines(memory, chunk, PROBES, true);
}

static uint64_t all_read(struct memory *memory, const struct bench_chunk *chunk)
{
    return lines(memory, chunk, PROBES, false);
}

static const struct {
    const char *name;
    operation *run;
    uint64_t first;     /* the number of its first key, but for those of a part */
    double least, most; /* the share of its keys that it finds; of limits any */
} rows[ROWS] = {
    {"absent", ask, UINT64_C(1) << 40, 0, 0.01},
    {"new", add, 0, 0.99, 1},
    {"present", ask, 0, 1, 1},
    {"two lines read", few_read, 0, 0, 1e9},
    {"ten lines changed", all_changed, 0, 0, 1e9},
    {"ten lines read", all_read, 0, 0, 1e9},
};

static double run(struct memory *memory, size_t row, uint64_t first)
{
    double seconds = 0;
    uint64_t found = 0;
    for (uint64_t done = 0; done < memory->keys; done += BENCH_CHUNK) {
        const struct bench_chunk *chunk =
            bench_keys(BENCH_INTEGERS, rows[row].first + first + done, BENCH_CHUNK);
        const double begin = own_seconds();
        found += rows[row].run(memory, chunk);
        seconds += own_seconds() - begin;
    }
    const double share = (double)found / (double)memory->keys;
    if (share < rows[row].least || share > rows[row].most)
        bench_fail("%s: %g of the keys were found", rows[row].name, share);
    return seconds * 1e9 / (double)memory->keys;
}

void bench_dialect(FILE *json, uint64_t bytes, uint32_t parts)
{
    static double ns[ROWS][PARTS_MAX];
    static const bool pages[] = {true, false};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct memory memory = {.huge = &pages[i]};
        make(&memory, bytes, parts);
        for (uint32_t part = 0; part < parts; part++)
            for (size_t row = 0; row < ROWS; row++)
                ns[row][part] = run(&memory, row, part * memory.keys);
        bloomery_free(memory.filter);
        give(NULL, memory.lines, bytes, LINE);
        for (size_t row = 0; row < ROWS; row++) {
            printf("%11" PRIu64 " bytes, pages of %s: %-18s %7.2f ns\n", bytes,
                   pages[i] ? "2 MiB" : "4 KiB", rows[row].name, bench_median(ns[row], parts));
            if (json == NULL)
                continue;
            fprintf(json,
                    "%s\n{\"what\": \"in process\", \"name\": \"%s\", \"bytes\": %" PRIu64
                    ", \"pages\": \"%s\", \"ns\": [",
                    i + row > 0 ? "," : "", rows[row].name, bytes, pages[i] ? "2 MiB" : "4 KiB");
            for (uint32_t part = 0; part < parts; part++)
                fprintf(json, "%s%.4f", part == 0 ? "" : ", ", ns[row][part]);
            fputs("]}", json);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the fastest peers: the split-block filter, whose geometry and salts are those of
 * the Parquet format's specification.
 *
 *     block of 32 bytes   | word 0 | word 1 | ... | word 7 |    one bit of 32 in each word:
 *                                                               (low half of the hash * salt_i) >> 27
 *
 * Eight bits, one load, one instruction to compare: no filter asks less of a processor. It pays with
 * memory: 6 % more than 512-bit lines at a rate of 1e-2, 20 % at 1e-4.
 *
 * This kernel is ours and is written to be a hard rival, not to be used: inlined into the caller's
 * loop as a header-only library would be, a hash of one multiplication for integers, XXH3 of 64 bits
 * for strings, and in batches the same window of 128 keys in flight, on the same pages.
 */
#include "bench.h"

#if defined(__x86_64__)

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <immintrin.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 32, AHEAD = 128 };

#define FAST static inline __attribute__((always_inline, target("avx2")))

struct split_block {
    struct bench_pages pages;
    uint64_t blocks;
};

FAST uint64_t hash_of(const struct bench_loop *loop, size_t i, bool integers)
{
    if (!integers)
        return XXH3_64bits(loop->keys[i].data, loop->keys[i].bytes);
    unsigned __int128 product = (unsigned __int128)loop->numbers[i] * UINT64_C(0x9E3779B97F4A7C15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

FAST __m256i *block_of(const struct bench_loop *loop, uint64_t hash)
{
    uint64_t block = (uint64_t)(((unsigned __int128)hash * loop->blocks) >> 64);
    return (__m256i *)(void *)(loop->memory + block * BLOCK_BYTES);
}

FAST __m256i bits_of(uint64_t hash)
{
    const __m256i salts =
        _mm256_setr_epi32(0x47b6137b, 0x44974d91, (int)0x8824ad5b, (int)0xa2b7289d, 0x705495c7,
                          0x2df1424b, (int)0x9efc4947, 0x5c6bfb31);
    __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32((int)(uint32_t)hash), salts);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
}

FAST uint64_t apply(const struct bench_loop *loop, uint64_t hash, bool adding)
{
    __m256i *block = block_of(loop, hash);
    __m256i bits = bits_of(hash);
    if (!adding)
        return (uint64_t)_mm256_testc_si256(_mm256_load_si256(block), bits);
    _mm256_store_si256(block, _mm256_or_si256(_mm256_load_si256(block), bits));
    return 1;
}

FAST uint64_t one_by_one(struct bench_loop loop, bool adding, bool integers)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < loop.count; i++)
        sum += apply(&loop, hash_of(&loop, i, integers), adding);
    return sum;
}

FAST uint64_t in_window(struct bench_loop loop, bool adding, bool integers)
{
    uint64_t hashes[AHEAD];
    uint64_t sum = 0;
    size_t first = loop.count < AHEAD ? loop.count : AHEAD;
    for (size_t i = 0; i < first; i++) {
        hashes[i] = hash_of(&loop, i, integers);
        __builtin_prefetch(block_of(&loop, hashes[i]));
    }
    for (size_t i = first; i < loop.count; i++) {
        uint64_t hash = hash_of(&loop, i, integers);
        sum += apply(&loop, hashes[i % AHEAD], adding);
        hashes[i % AHEAD] = hash;
        __builtin_prefetch(block_of(&loop, hash));
    }
    for (size_t i = loop.count - first; i < loop.count; i++)
        sum += apply(&loop, hashes[i % AHEAD], adding);
    return sum;
}

static struct bench_loop loop_of(const struct split_block *filter, const struct bench_chunk *chunk)
{
    return (struct bench_loop){
        .memory = filter->pages.at,
        .blocks = filter->blocks,
        .numbers = chunk->numbers,
        .keys = chunk->keys,
        .count = chunk->count,
    };
}

#define OPERATION(name, form, adding)                                                         \
    __attribute__((target("avx2"))) static uint64_t name(void *context,                       \
                                                         const struct bench_chunk *chunk)     \
    {                                                                                         \
        struct bench_loop loop = loop_of(context, chunk);                                     \
        return chunk->numbers != NULL ? form(loop, adding, true) : form(loop, adding, false); \
    }

OPERATION(add_one, one_by_one, true)
OPERATION(add_batch, in_window, true)
OPERATION(ask_one, one_by_one, false)
OPERATION(ask_batch, in_window, false)

/* The rate: a block has a Poisson number j of keys, and each of the eight words of an absent key
 * finds its bit set with probability 1 - (31/32)^j. */
static double rate_of(double keys, double blocks)
{
    double load = keys / blocks;
    double chance = exp(-load);
    double rate = 0;
    for (int j = 1; j < 1000; j++) {
        chance *= load / j;
        rate += chance * pow(1 - pow(31.0 / 32, j), 8);
    }
    return rate;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    (void)variant;
    double few = 1;
    double many = (double)wanted->keys * 4 + 16;
    if (!__builtin_cpu_supports("avx2")) {
        fprintf(stderr, "bench: the split-block kernel needs AVX2\n");
        return NULL;
    }
    while (many - few > 1) {
        double middle = floor((few + many) / 2);
        if (rate_of((double)wanted->keys, middle) > wanted->rate)
            few = middle;
        else
            many = middle;
    }
    struct split_block *filter = bench_allocate(sizeof *filter);
    filter->blocks = (uint64_t)many;
    filter->pages = bench_pages_make(filter->blocks * BLOCK_BYTES);
    snprintf(facts->layout, sizeof facts->layout, "256-bit blocks of 8 words");
    facts->lines = 1;
    facts->probes = 8;
    facts->bytes = filter->blocks * BLOCK_BYTES;
    facts->planned = rate_of((double)wanted->keys, many);
    facts->kernel = "avx2";
    return filter;
}

static void clear(void *context)
{
    struct split_block *filter = context;
    bloomery_clear(filter->pages.filter);
}

static void release(void *context)
{
    struct split_block *filter = context;
    bloomery_free(filter->pages.filter);
    free(filter);
}

const struct bench_contestant bench_split_block[] = {
    {
        .name = "split-block",
        .role = BENCH_PEER,
        .make = make,
        .clear = clear,
        .release = release,
        .operations = {add_one, add_batch, ask_one, ask_batch},
    },
    {.name = NULL},
};

#else

const struct bench_contestant bench_split_block[] = {{.name = NULL}};

#endif

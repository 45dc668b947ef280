/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the fastest peers: the split-block filter, whose geometry and salts are those of
 * the Parquet format's specification.
 *
 *     block of 32 bytes   | word 0 | word 1 | ... | word 7 |    one bit of 32 in each word:
 *                                                          (low half of the hash * salt_i) >> 27
 *
 * Eight bits, one load, one instruction to compare: no filter needs less of a processor. It pays
 * with memory: 4 % more than 512-bit blocks at a rate of 1e-2, a third at 1e-4.
 *
 * The strict form: the block is the high half of the hash brought into range by a multiplication,
 * the bits come from its low half.
 *
 *     split-block        hashes what we hash as we do: XXH3 of 64 bits
 *     split-block-lanes  the same bits; in batches integers are hashed in four lanes, by our own
 *                        kernels, and addresses wait in the ring: what our batches have, with the
 *                        cheaper block. For comparison, since no peer has it
 *     split-block-1mul   integers by one multiplication. Such a hash cannot promise a rate:
 *                        sequences and other structured keys miss it. For comparison only
 *
 * This kernel is ours and is written to be a hard rival, not to be used: inlined into the caller's
 * loop as a header-only library would be, with the lengths of keys known to the compiler (loop.h),
 * and in batches the same window of 128 keys in flight, on the same pages.
 */
#include "loop.h"

#if defined(__x86_64__)

#include "kernels/lanes_avx2.h"
#include "kinds/shape.h"

#include <immintrin.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 32, AHEAD = 128, LANES_RING = 2 * AHEAD };

#define FAST static inline __attribute__((always_inline, target("avx2,bmi,bmi2,popcnt")))

enum variant { SAME_HASH, ONE_PRODUCT, IN_LANES };

struct split_block {
    struct bench_pages pages;
    uint64_t blocks;
    uint64_t seed; /* as in a filter: the compiler must not know it */
};

FAST uint64_t hash_of(const struct bench_loop *loop, size_t i, enum variant variant,
                      enum bench_type type)
{
    if (variant != ONE_PRODUCT)
        return bench_loop_hash(loop, i, type);
    unsigned __int128 product = (unsigned __int128)loop->numbers[i] * UINT64_C(0x9E3779B97F4A7C15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

FAST __m256i *block_of(const struct bench_loop *loop, uint64_t hash)
{
    uint64_t block = ((hash >> 32) * loop->blocks) >> 32;
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

FAST uint64_t apply_at(__m256i *block, uint64_t hash, bool adding)
{
    __m256i bits = bits_of(hash);
    if (!adding)
        return (uint64_t)_mm256_testc_si256(_mm256_load_si256(block), bits);
    _mm256_store_si256(block, _mm256_or_si256(_mm256_load_si256(block), bits));
    return 1;
}

FAST uint64_t apply(const struct bench_loop *loop, uint64_t hash, bool adding)
{
    return apply_at(block_of(loop, hash), hash, adding);
}

FAST uint64_t one_by_one(const struct bench_loop loop, enum variant variant, bool adding,
                         enum bench_type type)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < loop.count; i++)
        sum += apply(&loop, hash_of(&loop, i, variant, type), adding);
    return sum;
}

FAST uint64_t in_window(const struct bench_loop loop, enum variant variant, bool adding,
                        enum bench_type type)
{
    uint64_t hashes[AHEAD];
    uint64_t sum = 0;
    size_t first = loop.count < AHEAD ? loop.count : AHEAD;
    for (size_t i = 0; i < first; i++) {
        hashes[i] = hash_of(&loop, i, variant, type);
        bloomery_request_line(block_of(&loop, hashes[i]), loop.blocks * BLOCK_BYTES);
    }
    for (size_t i = first; i < loop.count; i++) {
        uint64_t hash = hash_of(&loop, i, variant, type);
        sum += apply(&loop, hashes[i % AHEAD], adding);
        hashes[i % AHEAD] = hash;
        bloomery_request_line(block_of(&loop, hash), loop.blocks * BLOCK_BYTES);
    }
    for (size_t i = loop.count - first; i < loop.count; i++)
        sum += apply(&loop, hashes[i % AHEAD], adding);
    return sum;
}

/* Four integers enter: their hashes, and the addresses of their blocks. */
FAST void enter_lanes(const struct bench_loop *loop, const struct bloomery_short_secret *secret,
                      size_t i, uint64_t *hashes, uint64_t *at)
{
    const __m256i hash =
        hash_8_avx2(secret, words_avx2((const uint8_t *)(const void *)(loop->numbers + i)));
    const __m256i product = _mm256_mul_epu32(high_half_avx2(hash), all_avx2(loop->blocks));
    const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(product, 32 - 5),
                                            all_avx2(~(uint64_t)(BLOCK_BYTES - 1)));
    const size_t slot = i % LANES_RING;
    _mm256_store_si256((__m256i *)(void *)(hashes + slot), hash);
    _mm256_store_si256((__m256i *)(void *)(at + slot),
                       _mm256_add_epi64(offset, all_avx2((uintptr_t)loop->memory)));
    for (size_t j = slot; j < slot + LANES_avx2; j++)
        bloomery_request_line((const void *)(uintptr_t)at[j], loop->blocks * BLOCK_BYTES);
}

/* Of whole groups of eight; what is left is done one by one. */
FAST uint64_t in_lanes(const struct bench_loop loop, bool adding)
{
    const struct bloomery_short_secret secret = bloomery_short_secret_of(loop.seed);
    uint64_t hashes[LANES_RING] __attribute__((aligned(64)));
    uint64_t at[LANES_RING] __attribute__((aligned(64)));
    const size_t whole = loop.count / 8 * 8;
    uint64_t sum = 0;
    for (size_t i = 0; i < whole + AHEAD; i += 8) {
        for (size_t j = i; i < whole && j < i + 8; j += LANES_avx2)
            enter_lanes(&loop, &secret, j, hashes, at);
        const size_t slot = (i - AHEAD) % LANES_RING;
        for (size_t j = slot; i >= AHEAD && j < slot + 8; j++)
            sum += apply_at((__m256i *)(uintptr_t)at[j], hashes[j], adding);
    }
    for (size_t i = whole; i < loop.count; i++)
        sum += apply(&loop, hash_of(&loop, i, SAME_HASH, BENCH_INTEGERS), adding);
    return sum;
}

static struct bench_loop loop_of(const struct split_block *filter, const struct bench_chunk *chunk)
{
    return (struct bench_loop){
        .memory = filter->pages.at,
        .blocks = filter->blocks,
        .seed = filter->seed,
        .numbers = chunk->numbers,
        .keys = chunk->keys,
        .count = chunk->count,
    };
}

#define OPERATION(name, form, variant, adding)                            \
    __attribute__((target("avx2,bmi,bmi2,popcnt"))) static uint64_t name( \
        void *context, const struct bench_chunk *chunk)                   \
    {                                                                     \
        struct bench_loop loop = loop_of(context, chunk);                 \
        if (chunk->type == BENCH_INTEGERS)                                \
            return form(loop, variant, adding, BENCH_INTEGERS);           \
        if (chunk->type == BENCH_IDS)                                     \
            return form(loop, variant, adding, BENCH_IDS);                \
        return form(loop, variant, adding, BENCH_URLS);                   \
    }

OPERATION(add_one, one_by_one, SAME_HASH, true)
OPERATION(add_batch, in_window, SAME_HASH, true)
OPERATION(query_one, one_by_one, SAME_HASH, false)
OPERATION(query_batch, in_window, SAME_HASH, false)
#define LANES_OPERATION(name, adding)                                     \
    __attribute__((target("avx2,bmi,bmi2,popcnt"))) static uint64_t name( \
        void *context, const struct bench_chunk *chunk)                   \
    {                                                                     \
        return in_lanes(loop_of(context, chunk), adding);                 \
    }

LANES_OPERATION(lanes_add_batch, true)
LANES_OPERATION(lanes_query_batch, false)
OPERATION(product_add_one, one_by_one, ONE_PRODUCT, true)
OPERATION(product_add_batch, in_window, ONE_PRODUCT, true)
OPERATION(product_query_one, one_by_one, ONE_PRODUCT, false)
OPERATION(product_query_batch, in_window, ONE_PRODUCT, false)

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
    double few = 1;
    double many = (double)wanted->keys * 4 + 16;
    if (variant != SAME_HASH && wanted->type != BENCH_INTEGERS)
        return NULL; /* strings have no such hash, or are not hashed so */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
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
    if (filter->blocks >> 32 != 0)
        bench_fail("the strict form has at most 2^32 blocks");
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
    bench_clear(filter->pages.filter);
}

static void release(void *context)
{
    struct split_block *filter = context;
    bloomery_free(filter->pages.filter);
    free(filter);
}

#define SPLIT_BLOCK(title, part, which, ...)                                         \
    {                                                                                \
        .name = title, .role = part, .variant = which, .make = make, .clear = clear, \
        .release = release, .operations = {__VA_ARGS__},                             \
    }

const struct bench_contestant bench_split_block[] = {
    SPLIT_BLOCK("split-block", BENCH_PEER, SAME_HASH, add_one, add_batch, query_one, query_batch),
    SPLIT_BLOCK("split-block-1mul", BENCH_COMPARISON, ONE_PRODUCT, product_add_one,
                product_add_batch, product_query_one, product_query_batch),
    SPLIT_BLOCK("split-block-lanes", BENCH_COMPARISON, IN_LANES, add_one, lanes_add_batch,
                query_one, lanes_query_batch),
    {.name = NULL},
};

#else

const struct bench_contestant bench_split_block[] = {{.name = NULL}};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of other systems: a key has one block of N, and all its bits are there.
 *
 *     SALTED_WORDS    32 bytes, eight words of 32 bits, one bit in each:
 *                     | .1...... | ....1... | 1....... | ..  bit (x s_i mod 2^32) >> 27 of word i
 *     GOLDEN_BLOCK     64 bytes, k bits anywhere:
 *                     | ..1......1.....................1..    bit x g^i mod 2^32 >> 23
 *
 * x is half of the hash, the other half chooses the block. So a block sees only 32 bits of a key: a
 * key shares its bits with every key that has the same x and the same block. Let j, the keys in a
 * block, be Binomial(n, 1/N), and let positions be as good as independent. Then an absent key is a
 * false positive with
 *
 *     SALTED_WORDS    (1 - (31/32)^j)^8         eight words, each with a bit of every key
 *     GOLDEN_BLOCK     E[(X_jk / 512)^k]         plan/foreign/scattered_rate.h
 *
 * and otherwise with probability n / N / 2^32 for its x. That is all there is at the rates of a
 * filter with more than some 40 bits a key.
 */
#include "core/foreign/schemes.h"

#include "base/error.h"
#include "core/foreign/steps.h"
#include "kinds/blocked.h"
#include "plan/foreign/scattered_rate.h"

#include <assert.h>
#include <math.h>

enum {
    WORDS = 8,
    WORD_BITS = 32,
    SALTED_BITS = WORDS * WORD_BITS,
    BLOCK_BITS = BLOOMERY_BLOCK_BITS,
    FULL_LOAD = 4096,  /* keys that leave no bit of a word 0 */
    SEEN_BITS = 32,    /* of a hash, in a block */
    SALTED_SHIFT = 27, /* 32 - log2(WORD_BITS) */
    GOLDEN_SHIFT = 23, /* 32 - log2(BLOCK_BITS) */
};

/* ---- Any ------------------------------------------------------------------------------------- */

bloomery_status bloomery_blocks_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, uint32_t block_bits,
                                      bloomery_error *error)
{
    if (shape->block_bits != block_bits)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of this scheme have no blocks of %u bits", shape->block_bits);
    if (layer->blocks_per_key != 1)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key has one block in filters of this scheme, not %u",
                             layer->blocks_per_key);
    if (layer->bits % block_bits != 0 || layer->blocks != layer->bits / block_bits ||
        layer->blocks > UINT32_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter of this scheme has 1 to 2^32-1 blocks of %u bits; %llu bits "
                             "make others",
                             block_bits, (unsigned long long)layer->bits);
    return BLOOMERY_OK;
}

double bloomery_rate_of_32_bits(double rate, double keys)
{
    return rate + (1 - rate) * -expm1(-ldexp(keys, -SEEN_BITS));
}

static double keys_of_a_block(const struct bloomery_layer *layer, double keys)
{
    assert(layer->blocks > 0);
    return keys / (double)layer->blocks;
}

/* ---- A bit in each of eight words ------------------------------------------------------------ */

static const uint32_t salts[WORDS] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                      0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

static inline struct bloomery_steps salted_words_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    return (struct bloomery_steps){
        .at = (uint32_t)hash.lo,
        .base = ((hash.lo >> 32) * layer->blocks >> 32) * SALTED_BITS,
    };
}

static inline uint64_t salted_words_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    (void)layer;
    assert(i < WORDS);
    return steps->base + (uint64_t)i * WORD_BITS + ((uint32_t)steps->at * salts[i] >> SALTED_SHIFT);
}

#define SCHEME salted_words
#define SCHEME_BLOCKS
#include "core/foreign/scheme_template.h"

bloomery_status bloomery_salted_words_check(const struct bloomery_shape *shape,
                                            const struct bloomery_layer *layer,
                                            bloomery_error *error)
{
    if (layer->probes != WORDS)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key sets 8 bits in filters of this scheme, not %u", layer->probes);
    return bloomery_blocks_check(shape, layer, SALTED_BITS, error);
}

static double salted_with(void *context, uint64_t load)
{
    (void)context;
    return pow(-expm1((double)load * log1p(-1.0 / WORD_BITS)), WORDS);
}

double bloomery_salted_words_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    if (keys == 0)
        return 0;
    if (keys_of_a_block(layer, (double)keys) > FULL_LOAD)
        return 1;
    const double rate =
        bloomery_expect_load((double)keys, 1 / (double)layer->blocks, salted_with, NULL);
    return bloomery_rate_of_32_bits(rate, keys_of_a_block(layer, (double)keys));
}

/* A key has a bit in every word of its block: it misses a given bit of a word with probability
 * 31/32. */
double bloomery_salted_words_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = 1.0 / WORD_BITS / (double)layer->blocks;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

void bloomery_salted_words_scan(const struct bloomery_shape *shape,
                                const struct bloomery_layer *layer, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    double sum = 0;
    (void)shape;
    *scan = (struct bloomery_scan){.bits_set = 0};
    for (uint64_t block = 0; block < layer->blocks; block++) {
        double rate = 1;
        for (size_t i = 0; i < WORDS; i++) {
            uint32_t word;
            memcpy(&word, payload + block * (SALTED_BITS / 8) + i * sizeof word, sizeof word);
            const int set = __builtin_popcount(word);
            rate *= set / (double)WORD_BITS;
            scan->bits_set += (uint64_t)set;
        }
        sum += rate;
    }
    assert(scan->bits_set <= layer->bits);
    const double keys = bloomery_salted_words_estimate(layer, scan->bits_set);
    scan->live_rate =
        bloomery_rate_of_32_bits(sum / (double)layer->blocks, keys_of_a_block(layer, keys));
}

/* ---- Multiples of the golden ratio ----------------------------------------------------------- */

static inline struct bloomery_steps golden_block_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    return (struct bloomery_steps){
        .at = hash.lo >> 32,
        .base = ((hash.lo & UINT32_MAX) * layer->blocks >> 32) * BLOCK_BITS,
    };
}

static inline uint64_t golden_block_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    const uint32_t next = at * UINT32_C(0x9e3779b9);
    (void)layer;
    (void)i;
    steps->at = next;
    return steps->base + (at >> GOLDEN_SHIFT);
}

#define SCHEME golden_block
#define SCHEME_BLOCKS
#include "core/foreign/scheme_template.h"

bloomery_status bloomery_golden_block_check(const struct bloomery_shape *shape,
                                            const struct bloomery_layer *layer,
                                            bloomery_error *error)
{
    return bloomery_blocks_check(shape, layer, BLOCK_BITS, error);
}

double bloomery_golden_block_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const double rate = bloomery_scattered_rate(layer->blocks, layer->probes, keys);
    return bloomery_rate_of_32_bits(rate, keys_of_a_block(layer, (double)keys));
}

/* A given bit is missed by a key with probability 1 - q, q = (1 - (1-1/512)^k) / N, so
 * E[fill] = 1 - (1 - q)^n; solved for n. */
double bloomery_golden_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = -expm1(layer->probes * log1p(-1.0 / BLOCK_BITS)) / (double)layer->blocks;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

/* A key's k bits are anywhere in its block: all set with probability (bits set there / 512)^k. */
void bloomery_golden_block_scan(const struct bloomery_shape *shape,
                                const struct bloomery_layer *layer, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    double sum = 0;
    (void)shape;
    scan->bits_set = 0;
    scan->saturated = 0;
    for (uint64_t block = 0; block < layer->blocks; block++, payload += BLOCK_BITS / 8) {
        const uint64_t set = bloomery_count_bits(payload, BLOCK_BITS / 64);
        scan->bits_set += set;
        sum += pow((double)set / BLOCK_BITS, layer->probes);
    }
    assert(scan->bits_set <= layer->bits);
    const double keys = bloomery_golden_block_estimate(layer, scan->bits_set);
    scan->live_rate =
        bloomery_rate_of_32_bits(sum / (double)layer->blocks, keys_of_a_block(layer, keys));
}

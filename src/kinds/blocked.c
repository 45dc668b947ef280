/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocked filter: N blocks of 64 bytes; L of them for a key, and k bits in each, one to a word.
 *
 *     payload   | block 0 | block 1 | ...                | block N-1 |     64 bytes each
 *                             ^ fastrange(x, N)
 *                   ··1···  ··1···  1·····  ······  ······  ······  ····1·  ·····1
 *                   word 0       1       2       3       4       5       6       7
 *                   k = 5 words from word 6 on, a bit in each (kinds/derive.h)
 *
 * kernels/block.h has a block and a key in plain C, which is the definition of the kind's answers.
 * kernels/block_template.h has a key in its blocks, once for every processor.
 */
#include "kinds/blocked.h"
#include "base/bits.h"
#include "base/cpu.h"
#include "base/error.h"
#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>

bloomery_status bloomery_blocked_check(const struct bloomery_shape *shape,
                                       const struct bloomery_layer *layer, bloomery_error *error)
{
    if (shape->block_bits != BLOOMERY_BLOCK_BITS)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 0,
            "blocks of %u cells are not known to this version; a blocked filter has blocks of 512",
            shape->block_bits);
    if (layer->blocks_per_key < 1 || layer->blocks_per_key > BLOOMERY_BLOCKS_PER_KEY_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a blocked filter has 1 to %d blocks per key, not %u",
                             BLOOMERY_BLOCKS_PER_KEY_MAX, layer->blocks_per_key);
    if (layer->probes > BLOOMERY_BLOCK_PROBES_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a blocked filter has 1 to %d bits per block of a key, not %u",
                             BLOOMERY_BLOCK_PROBES_MAX, layer->probes);
    if (layer->bits % BLOOMERY_BLOCK_BITS != 0 ||
        layer->blocks != layer->bits / BLOOMERY_BLOCK_BITS)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a blocked filter has a multiple of 512 bits, not %llu",
                             (unsigned long long)layer->bits);
    return BLOOMERY_OK;
}

void bloomery_blocked_prefetch(const struct bloomery_layer *layer, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bloomery_blocked_prefetch_block(layer, payload, hashes + i, 1, 0);
        bloomery_blocked_prefetch_rest(layer, payload, hashes[i]);
    }
}

const struct bloomery_operations *bloomery_blocked_operations(uint32_t cell_bits, bool concurrent)
{
    assert(cell_bits == 1);
    (void)cell_bits;
#if defined(__x86_64__)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX512)
        return &bloomery_blocked_avx512[concurrent];
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX2)
        return &bloomery_blocked_avx2[concurrent];
#elif defined(BLOOMERY_ARM_KERNELS)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_NEON)
        return &bloomery_blocked_neon[concurrent];
#endif
    return &bloomery_blocked_scalar[concurrent];
}

double bloomery_blocked_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_blocked_rate(layer->blocks, layer->blocks_per_key, layer->probes, keys);
}

/*
 * The live rate: an absent key's blocks are uniform and independent. In a block b its k bits are in
 * one of eight windows of words, one bit in each word. With x_c bits set in word c they are all set
 * with probability
 *
 *     f(b) = mean over the windows of the product of x_c / 64 over its words
 *
 * so the rate of these very bits is (mean over blocks of f)^L, coinciding blocks included. The
 * filter-wide fill^k would be too low.
 */
double bloomery_block_live_rate(const uint8_t set_in_word[BLOOMERY_BLOCK_WORDS], uint32_t probes)
{
    double fill[2 * BLOOMERY_BLOCK_WORDS];
    double window[BLOOMERY_BLOCK_WORDS];
    double sum = 0;
    for (uint32_t i = 0; i < 2 * BLOOMERY_BLOCK_WORDS; i++)
        fill[i] = (double)set_in_word[i % BLOOMERY_BLOCK_WORDS] / BLOOMERY_WORD_BITS;
    for (uint32_t first = 0; first < BLOOMERY_BLOCK_WORDS; first++)
        window[first] = 1;
    for (uint32_t i = 0; i < probes; i++)
        for (uint32_t first = 0; first < BLOOMERY_BLOCK_WORDS; first++)
            window[first] *= fill[first + i];
    for (uint32_t first = 0; first < BLOOMERY_BLOCK_WORDS; first++)
        sum += window[first];
    assert(probes <= BLOOMERY_BLOCK_WORDS && sum <= BLOOMERY_BLOCK_WORDS);
    return sum / BLOOMERY_BLOCK_WORDS;
}

static inline __attribute__((always_inline)) void
scan_blocks(const struct bloomery_layer *layer, const uint8_t *payload, struct bloomery_scan *scan)
{
    double sum = 0;
    scan->bits_set = 0;
    scan->saturated = 0;
    for (uint64_t block = 0; block < layer->blocks; block++) {
        uint8_t set[BLOOMERY_BLOCK_WORDS];
        for (uint32_t word = 0; word < BLOOMERY_BLOCK_WORDS; word++) {
            set[word] = (uint8_t)bloomery_count_bits(payload, 1);
            scan->bits_set += set[word];
            payload += sizeof(uint64_t);
        }
        sum += bloomery_block_live_rate(set, layer->probes);
    }
    assert(scan->bits_set <= layer->bits);
    scan->live_rate = pow(sum / (double)layer->blocks, layer->blocks_per_key);
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) static void
scan_blocks_avx2(const struct bloomery_layer *layer, const uint8_t *payload,
                 struct bloomery_scan *scan)
{
    scan_blocks(layer, payload, scan);
}
#endif

void bloomery_blocked_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                           const uint8_t *payload, struct bloomery_scan *scan)
{
    (void)shape;
#if defined(__x86_64__)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX2) {
        scan_blocks_avx2(layer, payload, scan);
        return;
    }
#endif
    scan_blocks(layer, payload, scan);
}

double bloomery_blocked_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_blocked_estimate_keys(layer->bits, layer->blocks, layer->blocks_per_key,
                                          layer->probes, bits_set);
}

/* ---- Masks of keys ----------------------------------------------------------------------------
 * */

/* kernels/block.h says how they are read. */

/* All ones in word c if it is one of the k from the first one on. */
#define ONES(ones, first, c) -(uint64_t)(((c) + 8 - (first)) % 8 < (ones))
#define ROW(ones, first)                                                                           \
    {                                                                                              \
        ONES(ones, first, 0), ONES(ones, first, 1), ONES(ones, first, 2), ONES(ones, first, 3),    \
            ONES(ones, first, 4), ONES(ones, first, 5), ONES(ones, first, 6), ONES(ones, first, 7) \
    }
#define ROWS(ones)                                                                          \
    {                                                                                       \
        ROW(ones, 0), ROW(ones, 1), ROW(ones, 2), ROW(ones, 3), ROW(ones, 4), ROW(ones, 5), \
            ROW(ones, 6), ROW(ones, 7)                                                      \
    }
const uint64_t bloomery_window_words[BLOOMERY_BLOCK_PROBES_MAX + 1][BLOOMERY_BLOCK_WORDS]
                                    [BLOOMERY_BLOCK_WORDS]
    __attribute__((aligned(64))) = {
        ROWS(0), ROWS(1), ROWS(2), ROWS(3), ROWS(4), ROWS(5), ROWS(6), ROWS(7), ROWS(8),
};
#undef ROWS
#undef ROW
#undef ONES

/* k ones, rotated upwards by 0 to 7 of 8 bits. */
#define TURN(ones, first) (((ones) << (first) | (ones) >> (8 - (first))) & 0xff)
#define ROW(ones)                                                                                 \
    {                                                                                             \
        TURN(ones, 0), TURN(ones, 1), TURN(ones, 2), TURN(ones, 3), TURN(ones, 4), TURN(ones, 5), \
            TURN(ones, 6), TURN(ones, 7)                                                          \
    }
const uint8_t bloomery_window_bits[BLOOMERY_BLOCK_PROBES_MAX + 1][BLOOMERY_BLOCK_WORDS] = {
    ROW(0x00), ROW(0x01), ROW(0x03), ROW(0x07), ROW(0x0f),
    ROW(0x1f), ROW(0x3f), ROW(0x7f), ROW(0xff),
};
#undef ROW
#undef TURN

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocked filter: N lines of 64 bytes, L of them and k bits in each for a key.
 *
 *     payload   | line 0 | line 1 | ...                | line N-1 |     64 bytes each
 *                             ^ fastrange(hi, N)
 *                             ···1·····1··1····  k positions of 9 bits out of lo
 *
 * This is the scalar code: the definition of the kind's answers.
 */
#include "core/blocked.h"

#include "base/cpu.h"
#include "base/error.h"
#include "core/bits.h"
#include "core/derive.h"
#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>

bloomery_status bloomery_blocked_check(const struct bloomery_shape *shape,
                                       const struct bloomery_link *link, bloomery_error *error)
{
    if (shape->block_bits != BLOOMERY_BLOCK_BITS)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 0,
            "a filter of lines with blocks of %u cells is not known to this version",
            shape->block_bits);
    if (link->lines < 1 || link->lines > BLOOMERY_LINES_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a blocked filter has 1 to 3 lines per key, not %u", link->lines);
    if (link->bits % BLOOMERY_BLOCK_BITS != 0 || link->blocks != link->bits / BLOOMERY_BLOCK_BITS)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a blocked filter has a multiple of 512 bits, not %llu",
                             (unsigned long long)link->bits);
    return BLOOMERY_OK;
}

static inline __attribute__((always_inline)) uint32_t add_with(bloomery_bit_setter *set,
                                                               const struct bloomery_link *link,
                                                               uint8_t *payload, bloomery_hash hash)
{
    struct bloomery_draw draw = bloomery_draw_start(hash);
    uint32_t new_bits = 0;
    for (uint32_t line = 0; line < link->lines; line++) {
        uint64_t index = bloomery_line_of(hash, line, link->blocks);
        assert(index < link->blocks);
        uint8_t *bytes = payload + index * BLOOMERY_BLOCK_BYTES;
        for (uint32_t probe = 0; probe < link->probes; probe++)
            new_bits += set(bytes, bloomery_draw_next(&draw));
    }
    return new_bits;
}

static inline __attribute__((always_inline)) bool test_with(bool (*test)(const uint8_t *, uint64_t),
                                                            const struct bloomery_link *link,
                                                            const uint8_t *payload,
                                                            bloomery_hash hash)
{
    struct bloomery_draw draw = bloomery_draw_start(hash);
    for (uint32_t line = 0; line < link->lines; line++) {
        uint64_t index = bloomery_line_of(hash, line, link->blocks);
        assert(index < link->blocks);
        const uint8_t *bytes = payload + index * BLOOMERY_BLOCK_BYTES;
        for (uint32_t probe = 0; probe < link->probes; probe++)
            if (!test(bytes, bloomery_draw_next(&draw)))
                return false;
    }
    return true;
}

void bloomery_blocked_prefetch(const struct bloomery_link *link, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t line = 0; line < link->lines; line++)
            __builtin_prefetch(payload + bloomery_line_of(hashes[i], line, link->blocks) *
                                             BLOOMERY_BLOCK_BYTES);
}

void bloomery_blocked_prefetch_line(const struct bloomery_link *link, const uint8_t *payload,
                                    const bloomery_hash *hashes, size_t count, uint32_t line)
{
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(payload +
                           bloomery_line_of(hashes[i], line, link->blocks) * BLOOMERY_BLOCK_BYTES);
}

void bloomery_blocked_prefetch_first(const struct bloomery_link *link, const uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count)
{
    bloomery_blocked_prefetch_line(link, payload, hashes, count, 0);
}

/* Positions are drawn over the lines one after another: those of the lines before are passed by. */
static void plain_add_line(const struct bloomery_link *link, uint8_t *payload,
                           const bloomery_hash *hashes, size_t count, uint32_t line)
{
    for (size_t i = 0; i < count; i++) {
        struct bloomery_draw draw = bloomery_draw_start(hashes[i]);
        for (uint32_t passed = 0; passed < line * link->probes; passed++)
            bloomery_draw_next(&draw);
        uint64_t index = bloomery_line_of(hashes[i], line, link->blocks);
        assert(index < link->blocks);
        for (uint32_t probe = 0; probe < link->probes; probe++)
            bloomery_bit_set(payload + index * BLOOMERY_BLOCK_BYTES, bloomery_draw_next(&draw));
    }
}

#define BATCH_NAME(name) plain_##name
#define BATCH_SET        bloomery_bit_set
#define BATCH_TEST       bloomery_bit_test
#include "core/batch.h"

#define BATCH_NAME(name) atomic_##name
#define BATCH_SET        bloomery_bit_set_atomic
#define BATCH_TEST       bloomery_bit_test_atomic
#include "core/batch.h"

const struct bloomery_operations *bloomery_blocked_scalar(void)
{
    static const struct bloomery_operations plain = {
        .name = "scalar",
        .add = plain_add,
        .may_contain = plain_may_contain,
        .prefetch_add = bloomery_blocked_prefetch,
        .prefetch_ask = bloomery_blocked_prefetch,
        .add_word = plain_add_word,
        .ask_word = plain_ask_word,
        .prefetch_line = bloomery_blocked_prefetch_line,
        .add_line = plain_add_line,
    };
    return &plain;
}

const struct bloomery_operations *bloomery_blocked_operations(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations atomic = {
        .name = "scalar-concurrent",
        .add = atomic_add,
        .may_contain = atomic_may_contain,
        .prefetch_add = bloomery_blocked_prefetch,
        .prefetch_ask = bloomery_blocked_prefetch,
        .add_word = atomic_add_word,
        .ask_word = atomic_ask_word,
    };
    assert(cell_bits == 1);
    (void)cell_bits;
    if (concurrent) /* kernels load whole lines at once, which others may be writing to */
        return &atomic;
#if defined(__x86_64__)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX512)
        return &bloomery_blocked_avx512_operations;
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX2)
        return &bloomery_blocked_avx2_operations;
#elif defined(BLOOMERY_ARM_KERNELS)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_NEON)
        return &bloomery_blocked_neon_operations;
#endif
    return bloomery_blocked_scalar();
}

double bloomery_blocked_expected_rate(const struct bloomery_link *link, uint64_t keys)
{
    return bloomery_blocked_rate(link->blocks, link->lines, link->probes, keys);
}

/*
 * The live rate: an absent key's lines are uniform and independent, and in line b its k positions
 * are all set with probability (x_b / 512)^k, x_b the bits set there. So the rate of these very
 * bits is (mean over lines of (x_b / 512)^k)^L, coinciding lines included, and a histogram of x_b
 * is all it needs. The filter-wide fill^k would be too low.
 */
double bloomery_blocked_live_rate(const struct bloomery_link *link,
                                  const uint64_t lines_with[BLOOMERY_BLOCK_BITS + 1],
                                  uint64_t *bits_set)
{
    double sum = 0;
    *bits_set = 0;
    for (uint32_t set = 1; set <= BLOOMERY_BLOCK_BITS; set++) {
        double fill = (double)set / BLOOMERY_BLOCK_BITS;
        sum += (double)lines_with[set] * pow(fill, link->probes);
        *bits_set += set * lines_with[set];
    }
    return pow(sum / (double)link->blocks, link->lines);
}

void bloomery_blocked_scan(const struct bloomery_shape *shape, const struct bloomery_link *link,
                           const uint8_t *payload, struct bloomery_scan *scan)
{
    uint64_t lines_with[BLOOMERY_BLOCK_BITS + 1] = {0};
    (void)shape;
    for (uint64_t block = 0; block < link->blocks; block++) {
        uint64_t set =
            bloomery_count_bits(payload + block * BLOOMERY_BLOCK_BYTES, BLOOMERY_BLOCK_BYTES / 8);
        assert(set <= BLOOMERY_BLOCK_BITS);
        lines_with[set]++;
    }
    scan->stuck = 0;
    scan->live_rate = bloomery_blocked_live_rate(link, lines_with, &scan->bits_set);
}

/* A given cell is missed by one of nL picks with probability 1 - q, q = (1 - (1-1/512)^k) / N, so
 * E[fill] = 1 - (1 - q)^(nL); solved for n. */
double bloomery_blocked_estimate(const struct bloomery_link *link, uint64_t bits_set)
{
    if (bits_set >= link->bits)
        return INFINITY;
    double missed = log1p(-(double)bits_set / (double)link->bits);
    double hit = -expm1(link->probes * log1p(-1.0 / BLOOMERY_BLOCK_BITS)) / (double)link->blocks;
    return missed / (link->lines * log1p(-hit));
}

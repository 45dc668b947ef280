/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions where memory does not reach: arrays of up to 2^40 bits, of which no bit is kept. What
 * reads only part of a hash, or multiplies in 32 bits, leaves marks here: parts of the array that
 * no key reaches, or that too many do (1 in 2^8 of the keys would do for a filter of 2^33 bits
 * whose rate is 90 % instead of 0.1 %).
 *
 * Chi-square over equal parts of the array, for every family of keys, at sizes around powers of two
 * and of no special form; and the positions within a block; and pairs, which show steps that are
 * too regular.
 *
 * Build: this file, ../support/support.c, ../support/bounds.c; src/ in reach (kinds/derive.h),
 * cmocka, the library, libm. No arguments. Suite: property.
 */
#include "../support/bounds.h"
#include "../support/support.h"

#include "kinds/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 256, KEYS = 40000 };

static const double risk = 1e-9; /* of each of some hundred tests */

static bloomery_hash hashes[TEST_FAMILIES][KEYS];

static int make_hashes(void **state)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .bits = 512, .blocks_per_key = 1, .probes = 1};
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        /* Every other family with both halves of a hash. */
        plan.hash = family % 2 == 0 ? BLOOMERY_HASH_XXH3_64 : BLOOMERY_HASH_XXH3_128;
        bloomery_filter *filter = test_create(&plan, NULL);
        for (uint64_t i = 0; i < KEYS; i++) {
            uint8_t bytes[TEST_SECRET_BYTES];
            size_t length = test_key((enum test_family)family, 0, i, bytes);
            bloomery_hash_key(filter, bloomery_key_of(bytes, length), &hashes[family][i], NULL);
        }
        bloomery_free(filter);
    }
    return 0;
}

static double chi_square(const uint64_t *counts, size_t cells, double total)
{
    double expected = total / (double)cells;
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

static void assert_uniform(const char *what, const char *family, uint64_t size,
                           const uint64_t *counts, size_t cells, double total)
{
    double value = chi_square(counts, cells, total);
    double freedom = (double)cells - 1;
    /* Too even is as suspicious as too uneven. */
    if (test_chi_square_tail(value, freedom) < risk ||
        test_chi_square_tail(value, freedom) > 1 - risk)
        fail_msg("%s of %s keys in %llu: chi-square %.1f with %.0f degrees of freedom", what,
                 family, (unsigned long long)size, value, freedom);
}

/* The part of 0 .. size-1 that an index lies in. */
static size_t part_of(uint64_t index, uint64_t size)
{
    assert_true(index < size);
    return (size_t)((unsigned __int128)index * PARTS / size);
}

/* Powers of two and their neighbours, and sizes of no special form. */
static const uint64_t sizes[] = {
    (1ull << 31) - 1, 1ull << 31,    (1ull << 31) + 1, (1ull << 32) - 1, 1ull << 32,
    (1ull << 32) + 1, 3ull << 32,    (1ull << 33) + 7, (1ull << 36) - 1, 1ull << 40,
    (1ull << 40) - 1, 999999999989u, 1ull << 42,       5ull << 42,       (1ull << 45) + 512,
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void classic_positions_reach_2_to_40_bits(void **state)
{
    enum { PROBES = 8 };
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        for (size_t s = 0; s < SIZES; s++) {
            static uint64_t all[PARTS];
            static uint64_t each[PROBES][PARTS];
            static uint64_t low[PARTS];
            memset(all, 0, sizeof all);
            memset(each, 0, sizeof each);
            memset(low, 0, sizeof low);
            for (size_t i = 0; i < KEYS; i++)
                for (uint32_t probe = 0; probe < PROBES; probe++) {
                    uint64_t at = bloomery_classic_position(hashes[family][i], probe, sizes[s]);
                    all[part_of(at, sizes[s])]++;
                    each[probe][part_of(at, sizes[s])]++;
                    low[at % PARTS]++; /* within words and bytes too */
                }
            const char *name = test_family_names[family];
            assert_uniform("positions", name, sizes[s], all, PARTS, (double)PROBES * KEYS);
            assert_uniform("low bits", name, sizes[s], low, PARTS, (double)PROBES * KEYS);
            for (uint32_t probe = 0; probe < PROBES; probe++)
                assert_uniform("one probe", name, sizes[s], each[probe], PARTS, KEYS);
        }
}

static void blocks_reach_2_to_40_bits(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t blocks = sizes[s] / 512;
            for (uint32_t which = 0; which < 4; which++) {
                uint64_t parts[PARTS] = {0};
                uint64_t low[PARTS] = {0};
                for (size_t i = 0; i < KEYS; i++) {
                    uint64_t at = bloomery_block_of(hashes[family][i], which, blocks);
                    parts[part_of(at, blocks)]++;
                    low[at % PARTS]++;
                }
                const char *name = test_family_names[family];
                assert_uniform("blocks", name, blocks, parts, PARTS, KEYS);
                assert_uniform("low bits of blocks", name, blocks, low, PARTS, KEYS);
            }
        }
}

/* A block says nothing of first words or bits, nor one word of the next: all pairs are equally
 * frequent, in each of the L blocks of a key. Pairs of neighbouring words are counted bit by
 * bit. */
static void positions_are_independent(void **state)
{
    enum { WORDS = 8, SIDE = 16, BLOCKS = 4 };
    static uint64_t bits[WORDS][64];
    static uint64_t pairs[WORDS][64 * 64];
    static uint64_t firsts[8];
    static uint64_t first_and_bit[8 * 64];
    static uint64_t block_and_bit[WORDS][SIDE * 64];
    static uint64_t block_and_first[SIDE * 8];
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        for (uint32_t which = 0; which < BLOCKS; which++) {
            const char *name = test_family_names[family];
            memset(bits, 0, sizeof bits);
            memset(pairs, 0, sizeof pairs);
            memset(firsts, 0, sizeof firsts);
            memset(first_and_bit, 0, sizeof first_and_bit);
            memset(block_and_bit, 0, sizeof block_and_bit);
            memset(block_and_first, 0, sizeof block_and_first);
            for (size_t i = 0; i < KEYS; i++) {
                const struct bloomery_place place =
                    bloomery_place_of(hashes[family][i], which, SIDE);
                const uint32_t first = bloomery_first_word(place.word);
                firsts[first]++;
                block_and_first[place.block * 8 + first]++;
                first_and_bit[first * 64 + bloomery_bit_in_word(place.word, first)]++;
                for (uint32_t word = 0; word < WORDS; word++) {
                    const uint32_t bit = bloomery_bit_in_word(place.word, word);
                    const uint32_t next = bloomery_bit_in_word(place.word, (word + 1) % WORDS);
                    bits[word][bit]++;
                    pairs[word][bit * 64 + next]++;
                    block_and_bit[word][place.block * 64 + bit]++;
                }
            }
            assert_uniform("first words", name, which, firsts, 8, KEYS);
            assert_uniform("blocks and first words", name, which, block_and_first, SIDE * 8, KEYS);
            assert_uniform("first words and bits", name, which, first_and_bit, 8 * 64, KEYS);
            for (uint32_t word = 0; word < WORDS; word++) {
                assert_uniform("bits", name, word, bits[word], 64, KEYS);
                assert_uniform("neighbours", name, word, pairs[word], 64 * 64, KEYS);
                assert_uniform("blocks and bits", name, word, block_and_bit[word], SIDE * 64, KEYS);
            }
        }
}

/* Nor one block of a key the next. */
static void blocks_of_a_key_are_independent(void **state)
{
    enum { SIDE = 32, BLOCKS = 4 };
    static uint64_t both[SIDE * SIDE];
    static uint64_t bits[64 * 64];
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        for (uint32_t one = 0; one < BLOCKS; one++)
            for (uint32_t other = 0; other < one; other++) {
                memset(both, 0, sizeof both);
                memset(bits, 0, sizeof bits);
                for (size_t i = 0; i < KEYS; i++) {
                    const bloomery_hash hash = hashes[family][i];
                    const struct bloomery_place a = bloomery_place_of(hash, one, SIDE);
                    const struct bloomery_place b = bloomery_place_of(hash, other, SIDE);
                    both[a.block * SIDE + b.block]++;
                    bits[(a.word & 63) * 64 + (b.word & 63)]++;
                }
                const char *name = test_family_names[family];
                assert_uniform("pairs of blocks", name, one, both, SIDE * SIDE, KEYS);
                assert_uniform("bits of two blocks", name, one, bits, 64 * 64, KEYS);
            }
}

/* With the highest bits of the hash held fixed, as they are within a block of a filter of 2^20 to
 * 2^32 blocks, the bits of the keys that share it are still free. */
static void bits_are_free_within_a_block(void **state)
{
    static uint64_t pairs[8][64 * 64];
    uint64_t random = 77;
    (void)state;
    for (unsigned fixed = 20; fixed <= 32; fixed += 4) {
        memset(pairs, 0, sizeof pairs);
        for (size_t i = 0; i < 8 * (size_t)KEYS; i++) {
            const uint64_t high = UINT64_C(0x9A7C15F39CC0605C) >> (64 - fixed) << (64 - fixed);
            const bloomery_hash hash = {0, high | test_next(&random) >> fixed};
            const uint64_t w = bloomery_place_of(hash, 0, 1).word;
            for (uint32_t word = 0; word < 8; word++)
                pairs[word][bloomery_bit_in_word(w, word) * 64 +
                            bloomery_bit_in_word(w, (word + 3) % 8)]++;
        }
        for (uint32_t word = 0; word < 8; word++)
            assert_uniform("bits within a block", "random", fixed, pairs[word], 64 * 64,
                           8.0 * KEYS);
    }
}

/* Distances between a classic key's probes: a step that is the same for all, or 0, or falls on half
 * of the array only, shows here. */
static void classic_steps_are_uniform(void **state)
{
    static const uint64_t bits[] = {1u << 16, (1u << 16) + 1, 1ull << 40, 65521};
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        for (size_t s = 0; s < sizeof bits / sizeof bits[0]; s++)
            for (uint32_t probe = 1; probe < 12; probe++) {
                uint64_t parts[PARTS] = {0};
                uint64_t parity[2] = {0};
                for (size_t i = 0; i < KEYS; i++) {
                    const bloomery_hash *hash = &hashes[family][i];
                    uint64_t one = bloomery_classic_position(*hash, probe - 1, bits[s]);
                    uint64_t other = bloomery_classic_position(*hash, probe, bits[s]);
                    uint64_t step = other >= one ? other - one : other + bits[s] - one;
                    parts[part_of(step, bits[s])]++;
                    parity[(one ^ other) & 1]++;
                }
                const char *name = test_family_names[family];
                assert_uniform("steps", name, bits[s], parts, PARTS, KEYS);
                assert_uniform("parity of steps", name, bits[s], parity, 2, KEYS);
            }
}

/* Coincidences are as frequent as chance has them: of two blocks, and in a tiny classic array. */
static void repeats_are_as_frequent_as_chance(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        double in_array = 0;
        double same_block = 0;
        for (size_t i = 0; i < KEYS; i++) {
            bloomery_hash hash = hashes[family][i];
            for (unsigned j = 0; j < 8; j++)
                for (unsigned k = 0; k < j; k++)
                    in_array += bloomery_classic_position(hash, j, 127) ==
                                bloomery_classic_position(hash, k, 127);
            same_block += bloomery_block_of(hash, 0, 64) == bloomery_block_of(hash, 1, 64);
        }
        double pairs = 28.0 * KEYS;
        assert_true(test_rate_at_least(in_array, pairs, risk) < 1.0 / 127);
        assert_true(test_rate_at_most(in_array, pairs, risk) > 1.0 / 127);
        assert_true(test_rate_at_least(same_block, KEYS, risk) < 1.0 / 64);
        assert_true(test_rate_at_most(same_block, KEYS, risk) > 1.0 / 64);
    }
}

/* Halving a blocked filter merges blocks 2i and 2i + 1. */
static void blocks_fold(void **state)
{
    (void)state;
    for (uint64_t blocks = 16; blocks < 1ull << 31; blocks = blocks * 7 / 16 * 16)
        for (size_t i = 0; i < KEYS; i += 7)
            for (uint32_t which = 0; which < 4; which++)
                assert_true(bloomery_block_of(hashes[0][i], which, blocks) / 2 ==
                            bloomery_block_of(hashes[0][i], which, blocks / 2));
}

/* The ends of the range: no hash leads past the array. */
static void no_position_is_past_the_end(void **state)
{
    (void)state;
    for (unsigned power = 0; power <= 50; power++)
        for (int off = -1; off <= 1; off++) {
            uint64_t size = ((uint64_t)1 << power) + (uint64_t)(int64_t)off;
            if (size == 0 || size > 1ull << 50)
                continue;
            for (unsigned bit = 0; bit < 64; bit++) {
                uint64_t value = ~(uint64_t)0 << bit;
                assert_true(bloomery_fastrange(value, size) < size);
                assert_true(bloomery_fastrange(~value, size) < size);
            }
            assert_true(bloomery_fastrange(UINT64_MAX, size) == size - 1);
            assert_true(bloomery_fastrange(0, size) == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classic_positions_reach_2_to_40_bits),
        cmocka_unit_test(blocks_reach_2_to_40_bits),
        cmocka_unit_test(positions_are_independent),
        cmocka_unit_test(blocks_of_a_key_are_independent),
        cmocka_unit_test(bits_are_free_within_a_block),
        cmocka_unit_test(classic_steps_are_uniform),
        cmocka_unit_test(repeats_are_as_frequent_as_chance),
        cmocka_unit_test(blocks_fold),
        cmocka_unit_test(no_position_is_past_the_end),
    };
    return test_run_group("positions", tests, make_hashes, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which a static filter takes its hashes, whatever they look like: by chance, equal,
 * few different ones, equal in all but one part, sorted already.
 *
 * Build: this file, ../support/support.c; cmocka, the library's inside. Suite: unit.
 */
#include "../support/built.h"

#include "builder/pairs.h"
#include "kinds/static.h"

#include <string.h>

enum { ROOM = 70000, LOOKS = 7 };

static const size_t counts[] = {0, 1, 2, 23, 24, 25, 26, 40, 100, 1000, 4097, ROOM};

static bloomery_hash made[ROOM], expected[ROOM], sorted[ROOM];
static uint32_t layer_of_order; /* qsort hands nothing on */

static int compare(const void *one, const void *other)
{
    const bloomery_hash *a = one;
    const bloomery_hash *b = other;
    const uint64_t left[] = {bloomery_equation_x(*a, layer_of_order), a->lo, a->hi};
    const uint64_t right[] = {bloomery_equation_x(*b, layer_of_order), b->lo, b->hi};
    for (size_t i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Number i of a look. */
static bloomery_hash hash_that_looks(uint32_t look, uint64_t i)
{
    const uint64_t a = bloomery_mix64(2 * i + 1);
    const uint64_t b = bloomery_mix64(2 * i);
    switch (look) {
    case 0:
        return (bloomery_hash){a, b};
    case 1: /* all equal */
        return (bloomery_hash){1, 2};
    case 2: /* few different ones */
        return (bloomery_hash){a % 3, b % 5};
    case 3: /* different in the last bits */
        return (bloomery_hash){.hi = b & 1, .lo = 77};
    case 4: /* different in lo alone, in its middle */
        return (bloomery_hash){.hi = 5, .lo = (a & 0xfff) << 30};
    case 5: /* most in one heap */
        return (bloomery_hash){.hi = i % 100 == 0 ? b : UINT64_C(7) << 61, .lo = a};
    default: /* falling */
        return (bloomery_hash){.hi = ~(i << 40), .lo = a};
    }
}

static void is_sorted(size_t count, uint32_t layer, uint32_t same)
{
    memcpy(expected, made, count * sizeof *made);
    memcpy(sorted, made, count * sizeof *made);
    layer_of_order = layer;
    qsort(expected, count, sizeof *expected, compare);
    bloomery_pairs_sort(sorted, count, layer, same);
    assert_memory_equal(sorted, expected, count * sizeof *sorted);
}

static void pairs_are_sorted_whatever_they_look_like(void **state)
{
    (void)state;
    for (uint32_t look = 0; look < LOOKS; look++) {
        for (uint64_t i = 0; i < ROOM; i++)
            made[i] = hash_that_looks(look, i);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (uint32_t layer = 0; layer < 2; layer++)
                is_sorted(counts[i], layer, 0);
    }
}

/* Of a unit all have the same first bits of x, any number of them. */
static void equal_first_bits_are_not_looked_at(void **state)
{
    (void)state;
    for (uint32_t same = 1; same <= 64; same++) {
        for (uint64_t i = 0; i < ROOM; i++) {
            made[i] = hash_that_looks(0, i);
            made[i].hi = same == 64 ? 3 : made[i].hi >> same | UINT64_C(1) << (64 - same);
        }
        is_sorted(5000, 0, same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_sorted_whatever_they_look_like),
        cmocka_unit_test(equal_first_bits_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

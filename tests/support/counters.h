/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of counting filters share: hand-made plans, and the counters as they lie in a
 * file. */
#ifndef TESTS_COUNTERS_H
#define TESTS_COUNTERS_H

#include "forge.h"

/* Of counters: the widths that there are. */
enum { TEST_WIDTHS = 2 };
static const uint32_t test_widths[TEST_WIDTHS] = {4, 8};

static inline bloomery_plan test_counting_plan(uint32_t cell_bits, uint32_t blocks_per_key,
                                               uint32_t probes, uint64_t blocks)
{
    return (bloomery_plan){.kind = BLOOMERY_COUNTING,
                           .cell_bits = cell_bits,
                           .blocks_per_key = blocks_per_key,
                           .probes = probes,
                           .bits = 512 * blocks};
}

/* The counters alone: the file says more, such as how many keys were added. */
static inline struct test_bytes test_counters(const bloomery_filter *filter)
{
    struct test_bytes file = test_written(filter);
    const size_t from = forge_payload(&file);
    struct test_bytes counters = test_copy_bytes(file.data + from, forge_trailer(&file) - from);
    test_bytes_free(&file);
    return counters;
}

static inline uint32_t test_counter_at(const struct test_bytes *counters, uint32_t cell_bits,
                                       size_t cell)
{
    if (cell_bits == 8)
        return counters->data[cell];
    return counters->data[cell / 2] >> (cell % 2 * 4) & 15;
}

static inline void test_assert_same_counters(const bloomery_filter *one,
                                             const bloomery_filter *other)
{
    struct test_bytes of_one = test_counters(one);
    struct test_bytes of_other = test_counters(other);
    assert_true(test_bytes_equal(&of_one, &of_other));
    test_bytes_free(&of_one);
    test_bytes_free(&of_other);
}

#endif

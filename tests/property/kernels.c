/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_equals_scalar: every kernel that this machine can run against the scalar code, which is
 * the definition: the same answers, the same counts of new bits, the same payload, for every k and
 * L.
 *
 * Hashes, not keys, go in: random ones, and ones made of few bits, so that positions repeat and
 * lines coincide. The filters are small, so that every line is hit often and some fill up.
 */
#include "../support/support.h"

#include "base/cpu.h"
#include "core/blocked.h"
#include "core/filter.h"

#include <stdlib.h>
#include <string.h>

enum { HASHES = 4096, BLOCKS = 37 };

static bloomery_hash hashes[HASHES];
static uint64_t random_state;

static uint64_t random64(void)
{
    return test_next(&random_state);
}

static void make_hashes(uint64_t seed)
{
    random_state = seed;
    for (size_t i = 0; i < HASHES; i++) {
        hashes[i] = (bloomery_hash){random64(), random64()};
        switch (i % 8) {
        case 0: /* positions repeat */
            hashes[i].lo &= random64() & random64();
            break;
        case 1: /* the highest of everything */
            hashes[i].lo |= random64() | random64();
            hashes[i].hi |= UINT64_C(0xFFFFFFFF00000000);
            break;
        case 2: /* asked and added before */
            hashes[i] = hashes[i / 2];
            break;
        case 3:
            hashes[i].lo = i % 16 == 3 ? 0 : UINT64_MAX;
            break;
        default:
            break;
        }
    }
}

static struct bloomery_link link_of(uint32_t lines, uint32_t probes)
{
    return (struct bloomery_link){.bits = BLOCKS * 512,
                                  .blocks = BLOCKS,
                                  .probes = probes,
                                  .lines = lines,
                                  .bytes = BLOCKS * 64};
}

/* Words of every length, so that no kernel may look past its count. */
static size_t word_length(size_t at)
{
    size_t length = 1 + at % 64;
    return length < HASHES - at ? length : HASHES - at;
}

static void compare(const struct bloomery_operations *kernel, uint32_t lines, uint32_t probes)
{
    const struct bloomery_operations *scalar = bloomery_blocked_scalar();
    const struct bloomery_link link = link_of(lines, probes);
    static uint8_t left[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t right[BLOCKS * 64] __attribute__((aligned(64)));
    memset(left, 0, sizeof left);
    memset(right, 0, sizeof right);
    for (size_t at = 0; at < HASHES; at += word_length(at)) {
        const size_t count = word_length(at);
        const bloomery_hash *word = hashes + at;
        uint64_t new_left = 7, new_right = 7;
        assert_int_equal(scalar->ask_word(&link, left, word, count),
                         kernel->ask_word(&link, right, word, count));
        /* With and without counting, which may be different code. */
        uint64_t *counts[] = {at % 3 == 0 ? NULL : &new_left, at % 3 == 0 ? NULL : &new_right};
        assert_int_equal(scalar->add_word(&link, left, word, count, counts[0]),
                         kernel->add_word(&link, right, word, count, counts[1]));
        assert_int_equal(new_left, new_right);
        assert_memory_equal(left, right, sizeof left);
        assert_int_equal(kernel->ask_word(&link, right, word, count),
                         count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1);
        bloomery_hash one = {random64(), random64()};
        assert_int_equal(scalar->may_contain(&link, left, one),
                         kernel->may_contain(&link, right, one));
        if (at % 5 == 0)
            assert_int_equal(scalar->add(&link, left, one), kernel->add(&link, right, one));
        assert_memory_equal(left, right, sizeof left);
        if (at % 512 == 0) { /* before everything says yes */
            memset(left, 0, sizeof left);
            memset(right, 0, sizeof right);
        }
    }
}

static void compare_all(const struct bloomery_operations *kernel)
{
    for (uint32_t lines = 1; lines <= 3; lines++)
        for (uint32_t probes = 1; probes * lines <= 64; probes++) {
            make_hashes(lines * 1000 + probes);
            compare(kernel, lines, probes);
        }
}

static void kernel_equals_scalar_avx2(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (bloomery_cpu_level() < BLOOMERY_CPU_AVX2)
        skip();
    compare_all(&bloomery_blocked_avx2_operations);
#else
    skip();
#endif
}

static void kernel_equals_scalar_avx512(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (bloomery_cpu_level() < BLOOMERY_CPU_AVX512)
        skip();
    compare_all(&bloomery_blocked_avx512_operations);
#else
    skip();
#endif
}

/* A filter made on any machine is the same file; and the level can be switched down. */
static void the_environment_chooses_the_kernel(void **state)
{
    (void)state;
    bloomery_plan plan = {.keys = 1000, .rate = 0.01};
    bloomery_filter *filter = NULL;
    bloomery_info info = BLOOMERY_INFO;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_create(&plan, NULL, &filter, NULL), BLOOMERY_OK);
    bloomery_info_get(filter, false, &info);
    const char *wanted = getenv("BLOOMERY_CPU");
    if (wanted != NULL && strcmp(wanted, "scalar") == 0)
        assert_string_equal(info.kernel, "scalar");
    else
        assert_non_null(info.kernel);
    bloomery_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_equals_scalar_avx2),
        cmocka_unit_test(kernel_equals_scalar_avx512),
        cmocka_unit_test(the_environment_chooses_the_kernel),
    };
    return test_run_group("kernels", tests, NULL, NULL);
}

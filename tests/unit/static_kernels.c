/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_equals_scalar of static filters: each kernel that this machine can run, in batches of
 * every length, against the answer for one hash in plain C, which is the definition.
 *
 * Build: this file, ../support/support.c; cmocka, the library's inside. Suite: unit.
 */
#include "../support/built.h"

#include "base/cpu.h"
#include "kernels/fast_path.h"
#include "kinds/static.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HASHES = 3000 };

static bloomery_hash hashes[HASHES];

/* Half of them are keys; some start at the first row of a block, some at the last. */
static void make_hashes(uint64_t seed)
{
    for (size_t i = 0; i < HASHES; i++) {
        hashes[i] = (bloomery_hash){test_next(&seed), test_next(&seed)};
        if (i % 16 == 3)
            hashes[i].hi = 0;
        if (i % 16 == 5)
            hashes[i].hi = UINT64_MAX;
        if (i % 16 == 7)
            hashes[i].lo = i % 32 == 7 ? 0 : UINT64_MAX;
    }
}

static void compare(const struct bloomery_fast_path *kernel, const bloomery_filter *filter)
{
    uint64_t answers[HASHES / 64 + 2];
    static const size_t lengths[] = {0,   1,   7,   8,   9,   63,  64,    65,
                                     127, 128, 129, 200, 256, 321, HASHES};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t count = lengths[i];
        const size_t first = (HASHES - count) / 2;
        const struct bloomery_input keys = bloomery_input_of_hashes(hashes + first);
        size_t expected = 0;
        memset(answers, 0x5a, sizeof answers);
        const size_t found = kernel->query(filter, filter->layers, &keys, count, answers);
        for (size_t j = 0; j < count; j++) {
            const bool yes = filter->layers->keys > 0 &&
                             bloomery_static_from(filter->layers, 0, hashes[first + j]);
            expected += yes;
            assert_int_equal(answers[j / 64] >> j % 64 & 1, yes);
        }
        assert_int_equal(found, expected);
        assert_int_equal(kernel->query(filter, filter->layers, &keys, count, NULL), expected);
        if (count % 64 != 0)
            assert_int_equal(answers[count / 64] >> count % 64, 0);
        assert_true(answers[(count + 63) / 64] == UINT64_C(0x5a5a5a5a5a5a5a5a));
    }
}

/* b0 at its borders and in the middle of a section; the payload is then no solution, which the
 * answers of a kernel must not depend on. */
static void compare_all(const struct bloomery_fast_path *kernel)
{
    for (uint32_t columns = 0; columns <= 20; columns++)
        for (int keys = 0; keys < 3; keys++) {
            make_hashes(columns);
            bloomery_builder *builder = test_builder(ldexp(0.75, -(int)columns), NULL, NULL);
            assert_int_equal(build_hashes(builder, hashes, keys == 0 ? 0 : HASHES / 2, NULL),
                             BLOOMERY_OK);
            if (keys == 2) { /* two sections, and layers behind */
                struct test_integers integers = test_integers_make(0, 140000);
                assert_int_equal(bloomery_builder_add(builder, &integers.column, NULL),
                                 BLOOMERY_OK);
                free(integers.values);
            }
            const bloomery_filter *filter = test_finish(builder);
            compare(kernel, filter);
            struct bloomery_ribbon *ribbon = &filter->layers[0].ribbon;
            const uint64_t blocks = bloomery_ribbon_blocks(ribbon);
            const uint64_t borders[] = {blocks, blocks - 1, blocks / 3};
            for (size_t i = 0; i < 3; i++) { /* narrower than it was: within its bytes */
                if (borders[i] < ribbon->wide_from)
                    continue;
                ribbon->wide_from = borders[i];
                compare(kernel, filter);
            }
            bloomery_free(filter);
        }
}

static void the_scalar_kernel_is_the_definition(void **state)
{
    (void)state;
    compare_all(&bloomery_static_scalar);
}

#if defined(__x86_64__)
static void the_avx2_kernel_equals_scalar(void **state)
{
    (void)state;
    if (bloomery_cpu_level() < BLOOMERY_CPU_AVX2)
        skip();
    compare_all(&bloomery_static_avx2);
}

static void the_avx512_kernel_equals_scalar(void **state)
{
    (void)state;
    if (bloomery_cpu_level() < BLOOMERY_CPU_AVX512)
        skip();
    compare_all(&bloomery_static_avx512);
}

static void the_vpopcntdq_kernel_equals_scalar(void **state)
{
    (void)state;
    if (bloomery_cpu_level() < BLOOMERY_CPU_VPOPCNTDQ)
        skip();
    compare_all(&bloomery_static_vpopcntdq);
}
#elif defined(BLOOMERY_ARM_KERNELS)
static void the_neon_kernel_equals_scalar(void **state)
{
    (void)state;
    if (bloomery_cpu_level() < BLOOMERY_CPU_NEON)
        skip();
    compare_all(&bloomery_static_neon);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scalar_kernel_is_the_definition),
#if defined(__x86_64__)
        cmocka_unit_test(the_avx2_kernel_equals_scalar),
        cmocka_unit_test(the_avx512_kernel_equals_scalar),
        cmocka_unit_test(the_vpopcntdq_kernel_equals_scalar),
#elif defined(BLOOMERY_ARM_KERNELS)
        cmocka_unit_test(the_neon_kernel_equals_scalar),
#endif
    };
    return test_run_group("static_kernels", tests, NULL, NULL);
}

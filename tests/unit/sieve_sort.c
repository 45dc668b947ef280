/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints are sorted as qsort sorts them, whatever they are. */
#include "../support/support.h"

#include "sieve/disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t state = 1;

static uint64_t draw(void)
{
    return test_next(&state);
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one;
    const uint64_t b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* ---- Shapes of arrays ------------------------------------------------------------------------ */

static uint64_t uniform(size_t i, size_t count)
{
    (void)i, (void)count;
    return draw();
}
static uint64_t of_48_bits(size_t i, size_t count)
{
    (void)i, (void)count;
    return draw() << 16;
}
static uint64_t rising(size_t i, size_t count)
{
    return UINT64_MAX / count * i;
}
static uint64_t falling(size_t i, size_t count)
{
    return UINT64_MAX / count * (count - 1 - i);
}
static uint64_t zero(size_t i, size_t count)
{
    (void)i, (void)count;
    return 0;
}
static uint64_t highest(size_t i, size_t count)
{
    (void)i, (void)count;
    return UINT64_MAX;
}
static uint64_t small(size_t i, size_t count)
{
    return draw() % (count + i % 2);
}
static uint64_t one_of_two(size_t i, size_t count)
{
    (void)count;
    return i % 2 ? 1 : UINT64_MAX;
}
static uint64_t one_of_few(size_t i, size_t count)
{
    (void)i, (void)count;
    return (draw() % 100) * UINT64_C(0x0123456789ABCDEF);
}
static uint64_t one_odd_one_out(size_t i, size_t count)
{
    return i == count / 2 ? UINT64_C(1) << 63 : 7;
}
/* Half of the values differ in the first bit, half of the others in the second, and so on: in each
 * digit most have the same value. */
static uint64_t nested(size_t i, size_t count)
{
    (void)i, (void)count;
    const unsigned zeros = (unsigned)__builtin_ctzll(draw() | UINT64_C(1) << 63);
    return (UINT64_MAX >> zeros) ^ (draw() & 255);
}
/* Only every tenth bit differs, the highest in few: each digit has two values. */
static uint64_t sparse(size_t i, size_t count)
{
    (void)i, (void)count;
    return draw() & UINT64_C(0x8020080200802008);
}

static uint64_t (*const shapes[])(size_t i, size_t count) = {
    uniform, of_48_bits, rising,     falling,         zero,   highest,
    small,   one_of_two, one_of_few, one_odd_one_out, nested, sparse,
};

static bool sorts(uint64_t (*shape)(size_t i, size_t count), size_t count, unsigned skip,
                  bool with_prefix)
{
    uint64_t *values = malloc((count + 1) * sizeof *values);
    uint64_t *expected = malloc((count + 1) * sizeof *expected);
    if (values == NULL || expected == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        values[i] = shape(i, count);
        if (with_prefix && skip > 0)
            values[i] = values[i] >> skip | UINT64_C(0xA5A5A5A5A5A5A5A5) >> (64 - skip)
                                                                                << (64 - skip);
    }
    values[count] = expected[count] = UINT64_C(0xDEADBEEFDEADBEEF);
    memcpy(expected, values, count * sizeof *values);
    qsort(expected, count, sizeof *expected, compare);
    bloomery_sort_fingerprints(values, count, skip);
    bool right = memcmp(values, expected, (count + 1) * sizeof *values) == 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || expected[i] != expected[kept - 1])
            expected[kept++] = expected[i];
    right = right && bloomery_unique_fingerprints(values, count) == kept &&
            memcmp(values, expected, kept * sizeof *values) == 0;
    free(values);
    free(expected);
    return right;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void sorts_as_qsort(void **unused)
{
    (void)unused;
    static const size_t counts[] = {0,   1,   2,    3,    8,    23,    24,   25,
                                    100, 511, 1024, 5000, 8191, 16384, 70000};
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (size_t j = 0; j < COUNT(counts); j++)
            for (unsigned skip = 0; skip <= BLOOMERY_SORT_SKIP_MAX; skip += 5)
                assert_true(sorts(shapes[i], counts[j], skip, true));
    for (size_t count = 0; count < 700; count++)
        assert_true(sorts(uniform, count, 0, true));
}

static void order_is_right_where_the_hint_is_wrong(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (unsigned skip = 1; skip <= BLOOMERY_SORT_SKIP_MAX; skip++) {
            assert_true(sorts(shapes[i], 30, skip, false));
            assert_true(sorts(shapes[i], 3000, skip, false));
        }
}

static void *sort_all_shapes(void *wrong)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        *(size_t *)wrong += !sorts(shapes[i], 300000, 6, false);
    return NULL;
}

/* What a quadratic sort would need hours for, on a stack that is little more than the header
 * says. */
static void large_arrays_need_little_time_and_stack(void **unused)
{
    (void)unused;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t wrong = 0;
    size_t stack = (size_t)96 << 10;
    const long least =
        sysconf(_SC_THREAD_STACK_MIN); /* what a thread needs before it does anything */
    if (least > 0)
        stack += (size_t)least;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    stack *= 16;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
    stack *= 16;
#endif
#endif
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, sort_all_shapes, &wrong), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(wrong, 0);
    pthread_attr_destroy(&attributes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_as_qsort),
        cmocka_unit_test(order_is_right_where_the_hint_is_wrong),
        cmocka_unit_test(large_arrays_need_little_time_and_stack),
    };
    return test_run_group("sieve_sort", tests, NULL, NULL);
}

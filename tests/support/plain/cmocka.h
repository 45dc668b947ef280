/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cmocka that the property tests use, for a C library that cmocka was not built for
 * (scripts/check-musl puts this folder first). A failed assert prints itself and leaves its test by
 * longjmp, and so does skip. One thread at a time may fail.
 */
#ifndef BLOOMERY_TESTS_PLAIN_CMOCKA_H
#define BLOOMERY_TESTS_PLAIN_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function)           \
    {                                        \
        .name = #function, .run = (function) \
    }

/* One of each for the program, whichever of its files asserts. */
__attribute__((weak)) jmp_buf plain_leave;

enum { PLAIN_FAILED = 1, PLAIN_SKIPPED = 2 };

#define print_message(...) printf("# " __VA_ARGS__)
#define skip()             longjmp(plain_leave, PLAIN_SKIPPED)
#define fail_msg(...)                            \
    do {                                         \
        printf("# %s:%d: ", __FILE__, __LINE__); \
        printf(__VA_ARGS__);                     \
        printf("\n");                            \
        longjmp(plain_leave, PLAIN_FAILED);      \
    } while (0)
#define plain_expect(holds, text) \
    do {                          \
        if (!(holds))             \
            fail_msg("%s", text); \
    } while (0)

#define assert_true(value)           plain_expect(value, #value)
#define assert_false(value)          plain_expect(!(value), "not " #value)
#define assert_null(value)           plain_expect((value) == NULL, #value " is NULL")
#define assert_non_null(value)       plain_expect((value) != NULL, #value " is not NULL")
#define assert_ptr_equal(one, other) plain_expect((one) == (other), #one " is " #other)
#define assert_string_equal(one, other) \
    plain_expect(strcmp((const char *)(one), (const char *)(other)) == 0, #one " is " #other)
#define assert_memory_equal(a, b, n)     plain_expect(memcmp(a, b, n) == 0, #a " is " #b)
#define assert_memory_not_equal(a, b, n) plain_expect(memcmp(a, b, n) != 0, #a " is not " #b)
#define assert_in_range(value, least, most) \
    plain_expect((value) >= (least) && (value) <= (most), #value " in " #least " to " #most)
#define assert_int_not_equal(one, other) \
    plain_expect((uint64_t)(one) != (uint64_t)(other), #one " is not " #other)
#define assert_int_equal(one, other)                                                              \
    do {                                                                                          \
        const uint64_t plain_one = (uint64_t)(one), plain_other = (uint64_t)(other);              \
        if (plain_one != plain_other)                                                             \
            fail_msg("%s is %lld, not %lld", #one, (long long)plain_one, (long long)plain_other); \
    } while (0)

/* Runs all, TAP on standard output. Returns how many failed. */
static inline int plain_run(const struct CMUnitTest *tests, size_t count, int (*set_up)(void **),
                            int (*tear_down)(void **))
{
    static int failed;
    static size_t at;
    static void *state;
    if (set_up != NULL && set_up(&state) != 0)
        return 1;
    printf("1..%zu\n", count);
    for (at = 0; at < count; at++) {
        const int left = setjmp(plain_leave);
        if (left == 0)
            tests[at].run(&state);
        failed += left == PLAIN_FAILED;
        printf("%sok %zu - %s%s\n", left == PLAIN_FAILED ? "not " : "", at + 1, tests[at].name,
               left == PLAIN_SKIPPED ? " # SKIP" : "");
        fflush(stdout);
    }
    return failed + (tear_down != NULL && tear_down(&state) != 0);
}

#define cmocka_run_group_tests_name(name, tests, set_up, tear_down) \
    plain_run(tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)
#define cmocka_set_test_filter(pattern) (void)(pattern) /* all of them run */

#endif

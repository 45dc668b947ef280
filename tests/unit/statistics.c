/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of tool/base/statistics.c against sums that are simple to see, and against counts
 * drawn at random. */
#include "base/statistics.h"
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void wilson_of_known_counts(void **state)
{
    (void)state;
    /* 10 of 100: textbooks give 0.0552 to 0.1744. */
    struct tool_interval some = tool_wilson(10, 100);
    assert_true(fabs(some.low - 0.05523) < 1e-5);
    assert_true(fabs(some.high - 0.17437) < 1e-5);
    /* 0 of n: z^2 / (n + z^2). */
    struct tool_interval none = tool_wilson(0, 1000);
    assert_true(none.low == 0);
    assert_true(fabs(none.high - 3.841459 / 1003.841459) < 1e-8);
    struct tool_interval all = tool_wilson(1000, 1000);
    assert_true(all.high == 1);
    assert_true(fabs(all.low - (1 - none.high)) < 1e-12);
}

/* The whole distribution of few trials, term by term. */
static void plausible_equals_the_plain_sum(void **state)
{
    (void)state;
    const double rates[] = {0.001, 0.01, 0.1, 0.3, 0.5, 0.9};
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        enum { TRIALS = 60 };
        double chance[TRIALS + 1];
        chance[0] = pow(1 - rates[r], TRIALS);
        for (int x = 0; x < TRIALS; x++)
            chance[x + 1] = chance[x] * (TRIALS - x) / (x + 1) * rates[r] / (1 - rates[r]);
        for (int hits = 0; hits <= TRIALS; hits++) {
            double below = 0;
            double above = 0;
            for (int x = 0; x <= hits; x++)
                below += chance[x];
            for (int x = hits; x <= TRIALS; x++)
                above += chance[x];
            bool expected = below >= 0.0005 && above >= 0.0005;
            assert_int_equal(tool_plausible((uint64_t)hits, TRIALS, rates[r]), expected);
        }
    }
}

static void ends_are_where_plausible_ends(void **state)
{
    (void)state;
    const uint64_t trials[] = {1, 10, 1000, 10000000, 1000000000000};
    const double rates[] = {0, 1e-12, 1e-6, 0.01, 0.5, 0.999, 1};
    for (size_t t = 0; t < sizeof(trials) / sizeof(trials[0]); t++)
        for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
            uint64_t least, most;
            tool_plausible_hits(trials[t], rates[r], &least, &most);
            assert_true(least <= most && most <= trials[t]);
            assert_true(tool_plausible(least, trials[t], rates[r]));
            assert_true(tool_plausible(most, trials[t], rates[r]));
            assert_true(least == 0 || !tool_plausible(least - 1, trials[t], rates[r]));
            assert_true(most == trials[t] || !tool_plausible(most + 1, trials[t], rates[r]));
        }
}

/* For many trials the bounds are those of the normal distribution: 3.2905 deviations. */
static void many_trials_are_nearly_normal(void **state)
{
    (void)state;
    uint64_t least, most;
    tool_plausible_hits(10000000, 0.01, &least, &most);
    const double deviation = sqrt(10000000 * 0.01 * 0.99);
    assert_true(fabs((double)most - 100000 - 3.2905 * deviation) < 3);
    assert_true(fabs((double)least - 100000 + 3.2905 * deviation) < 3);
}

/* Counts drawn at the rate itself are nearly never refused, and at a rate a tenth higher nearly
 * always. */
static void drawn_counts_are_judged_rightly(void **state)
{
    (void)state;
    struct tool_random random = tool_random_make(1, 0);
    unsigned refused_right = 0;
    unsigned refused_wrong = 0;
    for (int run = 0; run < 200; run++) {
        uint64_t right = 0;
        uint64_t wrong = 0;
        for (int i = 0; i < 30000; i++) {
            right += tool_scale(tool_random_next(&random), 100) < 10;
            wrong += tool_scale(tool_random_next(&random), 100) < 11;
        }
        refused_right += !tool_plausible(right, 30000, 0.1);
        refused_wrong += !tool_plausible(wrong, 30000, 0.1);
    }
    assert_in_range(refused_right, 0, 3);
    assert_in_range(refused_wrong, 190, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_of_known_counts),
        cmocka_unit_test(plausible_equals_the_plain_sum),
        cmocka_unit_test(ends_are_where_plausible_ends),
        cmocka_unit_test(many_trials_are_nearly_normal),
        cmocka_unit_test(drawn_counts_are_judged_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

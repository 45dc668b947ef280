/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remainder without a division is the remainder.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: unit.
 */
#include "../support/support.h"

#include "base/bytes.h"

static void assert_remainder(uint64_t a, uint64_t divisor)
{
    const uint64_t rest = bloomery_modulo(a, divisor, bloomery_inverse(divisor));
    if (rest != a % divisor)
        fail_msg("%llu mod %llu is not %llu", (unsigned long long)a, (unsigned long long)divisor,
                 (unsigned long long)rest);
}

/* Numbers beside multiples of the divisor, where a quotient is wrong first, and any others. */
static void remainders_are_those_of_a_division(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (unsigned bits = 0; bits < 63; bits++)
        for (int i = 0; i < 300; i++) {
            const uint64_t power = UINT64_C(1) << bits;
            const uint64_t divisor =
                i < 2 ? power + (uint64_t)i : power | test_next(&random) % power;
            const uint64_t most = UINT64_MAX / divisor;
            const uint64_t multiple = (i % 2 == 0 ? most : test_next(&random) % most + 1) * divisor;
            for (uint64_t beside = 0; beside < 3; beside++) {
                assert_remainder(multiple - beside, divisor);
                assert_remainder(multiple + beside, divisor);
                assert_remainder(UINT64_MAX - beside, divisor);
                assert_remainder(beside, divisor);
            }
            assert_remainder(test_next(&random), divisor);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remainders_are_those_of_a_division),
    };
    return test_run_group("modulo", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The invented population of tool/base/ids.c: valid, distinct, in the proportions of its table. The
 * checks here are written from the description of the numbers and share nothing with the code. */
#include "base/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GROUPS = 20, SEXES = 2 };

static const unsigned thousands[GROUPS][SEXES] = {
    {990, 930}, {1001, 947}, {825, 779}, {572, 545}, {564, 536}, {740, 733}, {815, 843},
    {666, 670}, {581, 603},  {534, 569}, {459, 519}, {485, 576}, {353, 458}, {248, 380},
    {119, 201}, {74, 159},   {64, 152},  {17, 45},   {5, 18},    {0, 3},
};

/* `count` people, each 12 digits; the caller frees them. */
static char *population(uint64_t count, uint64_t seed)
{
    struct tool_ids *ids = tool_ids_make(count, seed);
    assert_non_null(ids);
    char *digits = malloc((size_t)count * TOOL_ID_DIGITS);
    assert_non_null(digits);
    assert_int_equal(tool_ids_next(ids, (size_t)count, digits), count);
    char more[TOOL_ID_DIGITS];
    assert_int_equal(tool_ids_next(ids, 1, more), 0);
    tool_ids_free(ids);
    return digits;
}

static unsigned two_digits(const char *digits)
{
    return (unsigned)(digits[0] - '0') * 10 + (unsigned)(digits[1] - '0');
}

static unsigned birth_year(const char *id)
{
    static const unsigned centuries[7] = {0, 1800, 1800, 1900, 1900, 2000, 2000};
    unsigned century = (unsigned)(id[6] - '0');
    assert_in_range(century, 1, 6);
    return centuries[century] + two_digits(id);
}

/* Years completed on 1 July 2020. */
static unsigned age_of(const char *id)
{
    unsigned month = two_digits(id + 2);
    unsigned day = two_digits(id + 4);
    bool birthday_past = month < 7 || (month == 7 && day == 1);
    assert_true(birth_year(id) < 2020 || birthday_past);
    return 2020 - birth_year(id) - (birthday_past ? 0 : 1);
}

static unsigned sex_of(const char *id)
{
    return (unsigned)(id[6] - '0') % 2 == 1 ? 0 : 1;
}

static bool date_exists(unsigned year, unsigned month, unsigned day)
{
    if (month < 1 || month > 12 || day < 1)
        return false;
    if (month == 2)
        return day <= (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29u : 28u);
    bool short_month = month == 4 || month == 6 || month == 9 || month == 11;
    return day <= (short_month ? 30u : 31u);
}

static bool check_digit_right(const char *id)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 11; i++)
        sum += (unsigned)(id[i] - '0') * (i + 1);
    if (sum % 11 == 10) {
        sum = 0;
        for (unsigned i = 0; i < 11; i++)
            sum += (unsigned)(id[i] - '0') * ((i + 2) % 11 + 1);
    }
    return sum % 11 == (unsigned)(id[11] - '0'); /* a sum of 10 equals no digit */
}

static void assert_valid(const char *id)
{
    for (unsigned i = 0; i < TOOL_ID_DIGITS; i++)
        assert_in_range(id[i], '0', '9');
    assert_true(date_exists(birth_year(id), two_digits(id + 2), two_digits(id + 4)));
    assert_in_range(birth_year(id), 1920, 2020);
    assert_true(check_digit_right(id));
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, TOOL_ID_DIGITS);
}

static void assert_distinct(char *ids, uint64_t count)
{
    qsort(ids, (size_t)count, TOOL_ID_DIGITS, compare_ids);
    for (uint64_t i = 1; i < count; i++)
        assert_true(compare_ids(ids + (i - 1) * TOOL_ID_DIGITS, ids + i * TOOL_ID_DIGITS) < 0);
}

static void every_id_is_valid(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        const uint64_t count = 300000;
        char *ids = population(count, seed);
        for (uint64_t i = 0; i < count; i++)
            assert_valid(ids + i * TOOL_ID_DIGITS);
        free(ids);
    }
}

static void both_weight_rows_are_used(void **state)
{
    (void)state;
    const uint64_t count = 100000;
    char *ids = population(count, 5);
    uint64_t second_row = 0;
    for (uint64_t i = 0; i < count; i++) {
        unsigned sum = 0;
        for (unsigned k = 0; k < 11; k++)
            sum += (unsigned)(ids[i * TOOL_ID_DIGITS + k] - '0') * (k + 1);
        second_row += sum % 11 == 10;
    }
    /* A tenth of 120 in 121 valid serials need it: 1/11 of all less the invalid 1/121. */
    assert_in_range(second_row, count / 12 - 500, count / 12 + 500);
    free(ids);
}

static void no_id_repeats(void **state)
{
    (void)state;
    const uint64_t counts[] = {1,    2,    3,    4,     5,     7,      39,     40,     41,
                               1023, 1024, 1025, 65535, 65537, 131072, 131073, 1000000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char *ids = population(counts[i], i);
        assert_distinct(ids, counts[i]);
        free(ids);
    }
}

static void small_populations_are_whole(void **state)
{
    (void)state;
    for (uint64_t count = 1; count <= 64; count++) {
        char *ids = population(count, 99);
        assert_distinct(ids, count);
        free(ids);
    }
}

/* What is left over when shares are rounded goes to any, not always to the same day or group.
 */
static void single_people_are_of_all_sorts(void **state)
{
    (void)state;
    unsigned women = 0;
    unsigned under_30 = 0;
    unsigned months[13] = {0};
    enum { PEOPLE = 360 };
    for (uint64_t seed = 0; seed < PEOPLE; seed++) {
        char *id = population(1, seed);
        assert_valid(id);
        women += sex_of(id);
        under_30 += age_of(id) < 30;
        months[two_digits(id + 2)]++;
        free(id);
    }
    /* 51.5 % and 48.8 %; five standard deviations are 47, and 26 those of a month. */
    assert_in_range(women, 185 - 47, 185 + 47);
    assert_in_range(under_30, 176 - 47, 176 + 47);
    for (unsigned month = 1; month <= 12; month++)
        assert_in_range(months[month], 30 - 26, 30 + 26);
}

/* Every age group and sex has its share of any population, to within one person. */
static void shares_are_exact(void **state)
{
    (void)state;
    uint64_t total = 0;
    for (unsigned group = 0; group < GROUPS; group++)
        total += thousands[group][0] + thousands[group][1];
    const uint64_t counts[] = {1, 10, 1000, 123457, 1000000};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        char *ids = population(counts[c], 7);
        uint64_t found[GROUPS][SEXES] = {{0}};
        for (uint64_t i = 0; i < counts[c]; i++) {
            const char *id = ids + i * TOOL_ID_DIGITS;
            assert_in_range(age_of(id), 0, 99);
            found[age_of(id) / 5][sex_of(id)]++;
        }
        for (unsigned group = 0; group < GROUPS; group++)
            for (unsigned sex = 0; sex < SEXES; sex++) {
                double exact = (double)counts[c] * thousands[group][sex] / (double)total;
                assert_true((double)found[group][sex] > exact - 1.0);
                assert_true((double)found[group][sex] < exact + 1.0);
            }
        assert_int_equal(found[19][0], 0);
        free(ids);
    }
}

/* The days of one age group share it evenly, to within one person. */
static void days_are_even(void **state)
{
    (void)state;
    const uint64_t count = 2000000;
    char *ids = population(count, 3);
    unsigned born[13][32] = {{0}}; /* women born in 1981, who are all of one group */
    for (uint64_t i = 0; i < count; i++) {
        const char *id = ids + i * TOOL_ID_DIGITS;
        if (birth_year(id) == 1981 && sex_of(id) == 1)
            born[two_digits(id + 2)][two_digits(id + 4)]++;
    }
    unsigned least = born[1][1];
    unsigned most = born[1][1];
    for (unsigned month = 1; month <= 12; month++)
        for (unsigned day = 1; day <= 31; day++)
            if (date_exists(1981, month, day)) {
                least = born[month][day] < least ? born[month][day] : least;
                most = born[month][day] > most ? born[month][day] : most;
            }
    assert_true(least > 30);
    assert_true(most - least <= 1);
    free(ids);
}

/* The first tenth of the output looks like the whole: nothing comes in order of age or sex. */
static void order_looks_shuffled(void **state)
{
    (void)state;
    const uint64_t count = 1000000;
    char *ids = population(count, 11);
    uint64_t women = 0;
    uint64_t children = 0;
    uint64_t rising = 0;
    for (uint64_t i = 0; i < count / 10; i++) {
        const char *id = ids + i * TOOL_ID_DIGITS;
        women += sex_of(id);
        children += age_of(id) < 15;
        rising += compare_ids(id, id + TOOL_ID_DIGITS) < 0;
    }
    /* 51.5 % women, 29.1 % under 15, half of the steps upward; six standard deviations are 950. */
    assert_in_range(women, 51475 - 950, 51475 + 950);
    assert_in_range(children, 29140 - 950, 29140 + 950);
    assert_in_range(rising, 50000 - 950, 50000 + 950);
    free(ids);
}

/* Serials of one day are spread over all four digits. */
static void serials_are_spread(void **state)
{
    (void)state;
    const uint64_t count = 200000;
    char *ids = population(count, 13);
    uint64_t digits[4][10] = {{0}};
    for (uint64_t i = 0; i < count; i++)
        for (unsigned place = 0; place < 4; place++)
            digits[place][ids[i * TOOL_ID_DIGITS + 7 + place] - '0']++;
    for (unsigned place = 0; place < 4; place++)
        for (unsigned digit = 0; digit < 10; digit++)
            assert_in_range(digits[place][digit], 20000 - 900, 20000 + 900);
    free(ids);
}

static void seed_decides_all(void **state)
{
    (void)state;
    const uint64_t count = 5000;
    char *first = population(count, 21);
    char *again = population(count, 21);
    char *other = population(count, 22);
    assert_memory_equal(first, again, count * TOOL_ID_DIGITS);
    assert_memory_not_equal(first, other, count * TOOL_ID_DIGITS);

    /* However many are taken at a time, the population is the same. */
    struct tool_ids *ids = tool_ids_make(count, 21);
    assert_non_null(ids);
    size_t done = 0;
    for (size_t most = 1; done < count; most = most % 700 + 1) {
        size_t taken = tool_ids_next(ids, most, again + done * TOOL_ID_DIGITS);
        assert_in_range(taken, 1, most);
        done += taken;
        assert_true(done <= count);
    }
    assert_memory_equal(first, again, count * TOOL_ID_DIGITS);
    tool_ids_free(ids);
    free(first);
    free(again);
    free(other);
}

/* The largest population is one: its first million are valid and distinct. */
static void maximum_is_possible(void **state)
{
    (void)state;
    const uint64_t maximum = tool_ids_maximum();
    assert_in_range(maximum, 300000000, 700000000);
    struct tool_ids *ids = tool_ids_make(maximum, 0);
    assert_non_null(ids);
    const size_t count = 1000000;
    char *digits = malloc(count * TOOL_ID_DIGITS);
    assert_non_null(digits);
    assert_int_equal(tool_ids_next(ids, count, digits), count);
    for (size_t i = 0; i < count; i += 10)
        assert_valid(digits + i * TOOL_ID_DIGITS);
    assert_distinct(digits, count);
    free(digits);
    tool_ids_free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_is_valid),
        cmocka_unit_test(both_weight_rows_are_used),
        cmocka_unit_test(no_id_repeats),
        cmocka_unit_test(small_populations_are_whole),
        cmocka_unit_test(single_people_are_of_all_sorts),
        cmocka_unit_test(shares_are_exact),
        cmocka_unit_test(days_are_even),
        cmocka_unit_test(order_looks_shuffled),
        cmocka_unit_test(serials_are_spread),
        cmocka_unit_test(seed_decides_all),
        cmocka_unit_test(maximum_is_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tool/base/numbers.c: what is read, what is refused, and what is written. */
#include "../../tool/base/numbers.h"

#include "../../tool/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { UNTOUCHED = 4711 };

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void counts_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"7", 7},
        {"007", 7},
        {"20000000", 20000000},
        {"20_000_000", 20000000},
        {"1_0", 10},
        {"20M", 20000000},
        {"10k", 10000},
        {"10K", 10000},
        {"1.5k", 1500},
        {".5k", 500},
        {"2.k", 2000},
        {"2e7", 20000000},
        {"2E7", 20000000},
        {"1.25e+2", 125},
        {"1e9", 1000000000},
        {"1500e-2", 15},
        {"1G", 1000000000},
        {"3T", UINT64_C(3000000000000)},
        {"9007199254740993", UINT64_C(9007199254740993)}, /* 2^53 + 1: no double holds it */
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551.615k", UINT64_MAX},
        {"0e999", 0},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++) {
        uint64_t value = UNTOUCHED;
        if (!tool_parse_count(good[i].text, &value) || value != good[i].value)
            fail_msg("'%s' was read as %llu", good[i].text, (unsigned long long)value);
    }
}

static void no_counts_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        " 1",
        "1 ",
        "-1",
        "+1",
        "x",
        "1x",
        "1kk",
        "1m",
        "1.5",
        "1e",
        "1e-3",
        "e5",
        ".",
        "._1",
        "_1",
        "1_",
        "1__0",
        "1._5k",
        "0x10",
        "inf",
        "nan",
        "1e30",
        "1,00",
        "1,0000",
        "1000,000",
        ",100",
        "1,000,00",
        "1.2.3",
        "1%",
        "1k_0",
        "1e1001",
        "1/2",
        "18446744073709551616",
        "18446744073709551.616k",
        "99999999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        uint64_t value = UNTOUCHED;
        if (tool_parse_count(bad[i], &value))
            fail_msg("'%s' was read as %llu", bad[i], (unsigned long long)value);
        assert_int_equal(value, UNTOUCHED);
    }
}

static void sizes_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"512", 512},
        {"512B", 512},
        {"512b", 512},
        {"1k", 1024},
        {"1K", 1024},
        {"1kB", 1000},
        {"1KiB", 1024},
        {"18MB", 18000000},
        {"512MiB", UINT64_C(512) << 20},
        {"512M", UINT64_C(512) << 20},
        {"512mib", UINT64_C(512) << 20},
        {"2GB", 2000000000},
        {"1.5GiB", UINT64_C(3) << 29},
        {"1.1KiB", 1126}, /* 1126.4 */
        {"2T", UINT64_C(1) << 41},
        {"1e3", 1000},
        {"1e3MB", 1000000000},
        {"36.5 MiB", UINT64_C(73) << 19},
        {"1,024 KiB", UINT64_C(1) << 20},
        {"1_000", 1000},
        {"1,000", 1000},
        {"12,345,678", 12345678},
    };
    static const char *const bad[] = {"",    "-1",  "1i",           "1KI",   "1KiBs",
                                      "1BB", "1iB", "1KBi",         "MiB",   "1  MiB",
                                      "1 ",  "1XB", "99999999999T", "1.5.5B"};
    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++) {
        uint64_t value = UNTOUCHED;
        if (!tool_parse_size(good[i].text, &value) || value != good[i].value)
            fail_msg("'%s' was read as %llu", good[i].text, (unsigned long long)value);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        uint64_t value = UNTOUCHED;
        if (tool_parse_size(bad[i], &value))
            fail_msg("'%s' was read as %llu", bad[i], (unsigned long long)value);
        assert_int_equal(value, UNTOUCHED);
    }
}

static void rates_are_read_to_the_last_bit(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0.01", 0.01},
        {".01", 0.01},
        {"1e-6", 1e-6},
        {"1E-6", 1e-6},
        {"0.01%", 0.01 / 100},
        {"5%", 5.0 / 100},
        {"1/1000", 1.0 / 1000},
        {"1/1k", 1.0 / 1000},
        {"2/1e6", 2.0 / 1000000},
        {"1/1_000", 1.0 / 1000},
        {"1 in 12,500", 1.0 / 12500},
        {"1 %", 0.01},
        {"0.1000000000000000055511151231257827", 0.1},
        {"0.3", 0.3},
        {"0", 0},
        {"2", 2},
    };
    static const char *const bad[] = {"",     "-0.1", "+1",  " 0.1", "0.1 ",  "0,1",   "0x1p-3",
                                      "nan",  "inf",  "1/0", "1/",   "/2",    "1/2/3", "1%%",
                                      "1/3%", "1e",   "%",   "0.1k", "1e999", "0.0_1"};
    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++) {
        double value = UNTOUCHED;
        if (!tool_parse_rate(good[i].text, &value) || memcmp(&value, &good[i].value, 8) != 0)
            fail_msg("'%s' was read as %.17g", good[i].text, value);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        double value = UNTOUCHED;
        if (tool_parse_rate(bad[i], &value))
            fail_msg("'%s' was read as %.17g", bad[i], value);
    }
}

static void counts_are_written_in_groups_of_three(void **state)
{
    static const struct {
        uint64_t value;
        const char *text;
    } table[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {20000000, "20,000,000"},
        {100000, "100,000"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };
    char buffer[TOOL_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < LENGTH(table); i++)
        assert_string_equal(tool_format_count(buffer, table[i].value), table[i].text);
}

static void sizes_are_written_with_three_digits(void **state)
{
    static const struct {
        uint64_t value;
        const char *text;
    } table[] = {
        {0, "0 bytes"},           {1, "1 byte"},          {1023, "1023 bytes"},
        {1024, "1.00 KiB"},       {1536, "1.50 KiB"},     {10229, "9.99 KiB"},
        {10239, "10.0 KiB"},      {102399, "100 KiB"},    {1047552, "1023 KiB"},
        {1048064, "1.00 MiB"}, /* 1023.5 KiB: not "1024 KiB" */
        {1048575, "1.00 MiB"},    {24736768, "23.6 MiB"}, {UINT64_C(1) << 47, "128 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char buffer[TOOL_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < LENGTH(table); i++)
        assert_string_equal(tool_format_size(buffer, table[i].value), table[i].text);
}

static void rates_are_written_as_odds(void **state)
{
    static const struct {
        double value;
        const char *odds;
        const char *rate;
    } table[] = {
        {0, "never", "0"},
        {1, "always", "1"},
        {0.5, "1 in 2", "0.5"},
        {0.4, "1 in 2.5", "0.4"},
        {0.01, "1 in 100", "0.01"},
        {0.010005, "1 in 100", "0.01"},
        {0.00998, "1 in 100", "0.00998"},
        {0.001, "1 in 1,000", "0.001"},
        {1.23e-5, "1 in 81,300", "1.23e-05"},
        {1e-15, "1 in 1,000,000,000,000,000", "1e-15"},
        {1e-30, "1 in 1e+30", "1e-30"},
    };
    char buffer[TOOL_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < LENGTH(table); i++) {
        assert_string_equal(tool_format_odds(buffer, table[i].value), table[i].odds);
        assert_string_equal(tool_format_rate(buffer, table[i].value), table[i].rate);
    }
}

static void exact_numbers_read_back_the_same(void **state)
{
    static const double values[] = {0,    1,      0.1,           1.0 / 3, 1e-15,   0.0099826234,
                                    1e22, 5e-324, 123456789.125, 2.0 / 3, 1.7e308, 0.3};
    char buffer[TOOL_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < LENGTH(values); i++) {
        double value = UNTOUCHED;
        tool_format_exact(buffer, values[i]);
        assert_true(tool_parse_rate(buffer, &value));
        assert_memory_equal(&value, &values[i], sizeof(value));
    }
    assert_string_equal(tool_format_exact(buffer, 0.1), "0.1");
    assert_string_equal(tool_format_exact(buffer, 1e-4), "0.0001");
}

static void nearest_name_is_near_or_none(void **state)
{
    static const char *const names[] = {"plan", "build", "query", "inspect"};
    (void)state;
    assert_string_equal(tool_nearest("qurey", names, 4), "query");
    assert_string_equal(tool_nearest("biuld", names, 4), "build");
    assert_string_equal(tool_nearest("insp", names, 4), "inspect");
    assert_string_equal(tool_nearest("plans", names, 4), "plan");
    assert_null(tool_nearest("xyzzy", names, 4));
    assert_null(tool_nearest("", names, 4));
    assert_null(tool_nearest("x", names, 4));
    assert_null(tool_nearest("a word that is much longer than any name can be", names, 4));
}

static void durations_have_units(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } table[] = {{0, "0 s"},
                 {59.9, "59 s"},
                 {60, "1 min 0 s"},
                 {3599, "59 min 59 s"},
                 {7500, "2 h 5 min"},
                 {172799, "47 h 59 min"},
                 {356400, "4 days 3 h"},
                 {1e300, "11574074074 days 1 h"}};
    char buffer[TOOL_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_string_equal(tool_format_duration(buffer, table[i].seconds), table[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(counts_are_read_exactly),
        cmocka_unit_test(no_counts_are_refused),
        cmocka_unit_test(sizes_are_read_exactly),
        cmocka_unit_test(rates_are_read_to_the_last_bit),
        cmocka_unit_test(counts_are_written_in_groups_of_three),
        cmocka_unit_test(sizes_are_written_with_three_digits),
        cmocka_unit_test(rates_are_written_as_odds),
        cmocka_unit_test(exact_numbers_read_back_the_same),
        cmocka_unit_test(nearest_name_is_near_or_none),
    };
    return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key rules by the library alone: what becomes of a record, and that neither the record nor the
 * room is left. That the command makes the same keys, tests/cli/test_rules.py shows by a second
 * implementation.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#include "../support/support.h"

#include <bloomery/records.h>

#include <string.h>

static int apply(const bloomery_key_rule *rule, const char *record, char *key, size_t room)
{
    bloomery_error error = {.text = ""};
    bloomery_key made;
    uint8_t out[BLOOMERY_RULE_ROOM(100)];
    assert_true(strlen(record) <= 100);
    const int result =
        (int)bloomery_rule_apply(rule, record, strlen(record), out, sizeof out, &made, &error);
    assert_true(made.bytes < room);
    if (made.bytes > 0)
        memcpy(key, made.data, made.bytes);
    key[made.bytes] = '\0';
    assert_int_equal(error.text[0] != '\0', result == BLOOMERY_RECORD_BAD);
    return result;
}

static void a_record_becomes_a_key_or_says_why_not(void **state)
{
    enum {
        NO_FIELD = BLOOMERY_RECORD_NO_FIELD,
        SKIPPED = BLOOMERY_RECORD_SKIPPED,
        OPEN = BLOOMERY_RECORD_KEY | BLOOMERY_RECORD_OPEN_QUOTE,
        KEY = BLOOMERY_RECORD_KEY,
        BAD = BLOOMERY_RECORD_BAD,
    };
    static const bloomery_key_rule none = {.flags = 0};
    static const bloomery_key_rule csv = {
        .flags = BLOOMERY_RULE_CSV | BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER,
        .delimiter = ',',
        .field = 2,
        .comment = '#',
    };
    static const bloomery_key_rule hex = {.flags = BLOOMERY_RULE_HEX | BLOOMERY_RULE_CRLF |
                                                   BLOOMERY_RULE_SKIP_EMPTY};
    static const bloomery_key_rule wide = {.flags = BLOOMERY_RULE_UTF16 | BLOOMERY_RULE_UPPER};
    static const bloomery_key_rule number = {.flags = BLOOMERY_RULE_INT32};
    static const struct {
        const bloomery_key_rule *rule;
        const char *record;
        int result;
        const char *key;
    } examples[] = {
        {&none, " As it is\r", KEY, " As it is\r"},
        {&none, "", KEY, ""},
        {&csv, "17,Anna", KEY, "anna"},
        {&csv, "17,\" Anna, B. \",x", KEY, "anna, b."},
        {&csv, "17,\"say \"\"no\"\"\"", KEY, "say \"no\""},
        {&csv, "17,\"a\"b\"c", KEY, "ab\"c"},
        {&csv, "17,\"Open", OPEN, "open"},
        {&csv, "\"17", NO_FIELD | BLOOMERY_RECORD_OPEN_QUOTE, ""},
        {&csv, "17,", KEY, ""},
        {&csv, "17", NO_FIELD, ""},
        {&csv, "# 17,Anna", SKIPPED, ""},
        {&csv, " # 17,Anna", KEY, "anna"},
        {&hex, "616C\r", KEY, "al"},
        {&hex, "61 ", BAD, ""},
        {&hex, "61g0", BAD, ""},
        {&hex, "\r", SKIPPED, ""},
        {&wide, "\xff", BAD, ""},
        {&number, "1234567890123", BAD, ""},
        {&number, "16909060", KEY, "\4\3\2\1"},
    };
    char key[120];
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const int result = apply(examples[i].rule, examples[i].record, key, sizeof key);
        if (result != examples[i].result || strcmp(key, examples[i].key) != 0)
            fail_msg("'%s' gives %d, '%s'", examples[i].record, result, key);
    }
}

static void a_rule_that_contradicts_itself_is_refused(void **state)
{
    const bloomery_key_rule rules[] = {
        {.flags = BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER},
        {.flags = BLOOMERY_RULE_CSV},
        {.flags = BLOOMERY_RULE_ELSEWHERE << 1},
        {.flags = BLOOMERY_RULE_TRIM | BLOOMERY_RULE_ELSEWHERE}, /* does not say where */
        {.comment = 256},
    };
    uint8_t out[BLOOMERY_RULE_ROOM(3)];
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bloomery_key key = bloomery_key_of("x", 1);
        assert_int_equal(bloomery_rule_apply(&rules[i], "abc", 3, out, sizeof out, &key, NULL),
                         BLOOMERY_RECORD_RULE_REFUSED);
        assert_true(key.data == NULL && key.bytes == 0);
    }
}

static void too_little_room_is_refused(void **state)
{
    const bloomery_key_rule lower = {.flags = BLOOMERY_RULE_LOWER};
    const bloomery_key_rule number = {.flags = BLOOMERY_RULE_INT64};
    const bloomery_key_rule trim = {.flags = BLOOMERY_RULE_TRIM};
    bloomery_error error = {.text = ""};
    uint8_t out[8] = "untouch";
    bloomery_key key;
    (void)state;
    assert_int_equal(bloomery_rule_apply(&lower, "ABC", 3, out, 2, &key, &error),
                     BLOOMERY_RECORD_RULE_REFUSED);
    assert_non_null(strstr(error.text, "3 bytes"));
    assert_int_equal(bloomery_rule_apply(&number, "1", 1, out, 7, &key, NULL),
                     BLOOMERY_RECORD_RULE_REFUSED);
    assert_string_equal(out, "untouch");
    assert_int_equal(bloomery_rule_apply(&lower, "ABC", SIZE_MAX / 2, out, 8, &key, NULL),
                     BLOOMERY_RECORD_RULE_REFUSED);
    assert_int_equal(bloomery_rule_apply(&lower, "ABC", 3, out, 3, &key, NULL),
                     BLOOMERY_RECORD_KEY);
    assert_memory_equal(out, "abc", 3);
    assert_int_equal(bloomery_rule_apply(&trim, " ab", 3, NULL, 0, &key, NULL),
                     BLOOMERY_RECORD_KEY);
    assert_memory_equal(key.data, "ab", 2);
}

/* Nor is there room for a key of no bytes: it may be no address at all. */
static void an_empty_record_may_have_no_address(void **state)
{
    static const uint32_t flags[] = {0,
                                     BLOOMERY_RULE_TRIM | BLOOMERY_RULE_CRLF,
                                     BLOOMERY_RULE_LOWER,
                                     BLOOMERY_RULE_UPPER | BLOOMERY_RULE_UTF16,
                                     BLOOMERY_RULE_HEX,
                                     BLOOMERY_RULE_UTF16,
                                     BLOOMERY_RULE_CSV | BLOOMERY_RULE_LOWER};
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        for (int32_t field = -1; field <= 1; field++) {
            const bloomery_key_rule rule = {
                .flags = flags[i], .field = field, .delimiter = field != 0 ? ',' : 0};
            bloomery_key key = {"x", 1};
            if (field == 0 && (flags[i] & BLOOMERY_RULE_CSV) != 0)
                continue;
            assert_int_equal(bloomery_rule_apply(&rule, NULL, 0, NULL, 0, &key, NULL),
                             BLOOMERY_RECORD_KEY);
            assert_int_equal(key.bytes, 0);
        }
}

/* All rules there are over records from few letters; record and room end at a page that must not be
 * touched. */
static void no_rule_leaves_its_record_or_its_room(void **state)
{
    static const char letters[] = "aF0,,\"\"\r# -1\xc3\xa4";
    enum { OPEN_QUOTE = BLOOMERY_RECORD_OPEN_QUOTE };
    const uint64_t rounds = test_long() ? 4000000 : 200000;
    uint64_t random = 7;
    char text[33] = "";
    (void)state;
    struct test_fence record = test_fence_make(text, sizeof text - 1);
    static uint8_t zeros[BLOOMERY_RULE_ROOM(32)];
    struct test_fence out = test_fence_make(zeros, sizeof zeros);
    for (uint64_t i = 0; i < rounds; i++) {
        const size_t bytes = test_below(&random, 33);
        const size_t room = BLOOMERY_RULE_ROOM(bytes);
        uint8_t *from = record.data + record.bytes - bytes;
        for (size_t j = 0; j < bytes; j++)
            from[j] = (uint8_t)letters[test_below(&random, sizeof letters - 1)];
        memcpy(text, from, bytes);
        bloomery_key_rule rule = {.flags = (uint32_t)test_below(&random, 1024)};
        if (test_below(&random, 2) == 0) {
            rule.field = (int32_t)test_below(&random, 7) - 3;
            rule.delimiter = rule.field != 0 ? ',' : 0;
        }
        rule.comment = test_below(&random, 2) == 0 ? '#' : 0;
        bloomery_key key;
        const int result = (int)bloomery_rule_apply(&rule, from, bytes, out.data + out.bytes - room,
                                                    room, &key, NULL);
        assert_memory_equal(text, from, bytes);
        if ((result & ~OPEN_QUOTE) != BLOOMERY_RECORD_KEY) {
            assert_in_range(result & ~OPEN_QUOTE, BLOOMERY_RECORD_SKIPPED,
                            BLOOMERY_RECORD_RULE_REFUSED);
            assert_true(result != (BLOOMERY_RECORD_RULE_REFUSED | OPEN_QUOTE));
            assert_true(key.data == NULL && key.bytes == 0);
            continue;
        }
        const uint8_t *at = key.data;
        const uint8_t *end = out.data + out.bytes;
        assert_true((at >= from && at + key.bytes <= from + bytes) ||
                    (at >= end - room && at + key.bytes <= end));
    }
    test_fence_free(&record);
    test_fence_free(&out);
}

static void letters_change_their_case_and_nothing_else_does(void **state)
{
    const bloomery_key_rule rules[] = {{.flags = BLOOMERY_RULE_LOWER},
                                       {.flags = BLOOMERY_RULE_UPPER}};
    uint8_t record[256 + 16], out[BLOOMERY_RULE_ROOM(sizeof record)];
    bloomery_key key;
    (void)state;
    for (size_t i = 0; i < sizeof record; i++)
        record[i] = (uint8_t)i;
    for (size_t i = 0; i < 2 * 16; i++) {
        const char first = i % 2 == 0 ? 'A' : 'a';
        const uint8_t *from = record + i / 2;
        assert_int_equal(bloomery_rule_apply(&rules[i % 2], from, 256, out, sizeof out, &key, NULL),
                         BLOOMERY_RECORD_KEY);
        assert_int_equal(key.bytes, 256);
        for (size_t j = 0; j < 256; j++) {
            const bool letter = from[j] >= first && from[j] < first + 26;
            assert_int_equal(((const uint8_t *)key.data)[j], letter ? from[j] ^ 0x20 : from[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_becomes_a_key_or_says_why_not),
        cmocka_unit_test(a_rule_that_contradicts_itself_is_refused),
        cmocka_unit_test(too_little_room_is_refused),
        cmocka_unit_test(an_empty_record_may_have_no_address),
        cmocka_unit_test(letters_change_their_case_and_nothing_else_does),
        cmocka_unit_test(no_rule_leaves_its_record_or_its_room),
    };
    return test_run_group("rules", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Key rules: the worked examples, every step and their order, and that no rule reads outside the
 * records. That whole files come out right is shown in tests/cli/test_rules.py, by a second
 * implementation. */
#include "key/rule.h"

#include <bloomery/records.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TRIM = BLOOMERY_RULE_TRIM,
    LOWER = BLOOMERY_RULE_LOWER,
    UPPER = BLOOMERY_RULE_UPPER,
    HEX = BLOOMERY_RULE_HEX,
    CRLF = BLOOMERY_RULE_CRLF,
    SKIP_EMPTY = BLOOMERY_RULE_SKIP_EMPTY,
    CSV = BLOOMERY_RULE_CSV,
    INT64 = BLOOMERY_RULE_INT64,
    INT32 = BLOOMERY_RULE_INT32,
    UTF16 = BLOOMERY_RULE_UTF16,
    ALL_FLAGS = 2 * BLOOMERY_RULE_ELSEWHERE - 1,
};

/* Fails unless the record gives this key, or none where `key` is NULL. */
static void assert_key(const bloomery_key_rule *rule, const char *record, const char *key)
{
    struct tool_made *made = tool_made_new();
    bloomery_key one = bloomery_key_of(record, strlen(record));
    size_t count = tool_rule_apply(rule, NULL, &one, 1, made);
    if (count != (key != NULL) || made->with_key[0] != count)
        fail_msg("'%s' gives %zu keys", record, count);
    if (key != NULL &&
        (made->keys[0].bytes != strlen(key) || memcmp(made->keys[0].data, key, strlen(key)) != 0))
        fail_msg("'%s' gives '%.*s', not '%s'", record, (int)made->keys[0].bytes,
                 (const char *)made->keys[0].data, key);
    assert_int_equal(made->tally.passed_over, key == NULL);
    tool_made_free(made);
}

struct example {
    const char *record;
    const char *key;
};

static void assert_examples(bloomery_key_rule rule, const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_key(&rule, examples[i].record, examples[i].key);
}

#define ASSERT_EXAMPLES(rule, examples) \
    assert_examples(rule, examples, sizeof(examples) / sizeof((examples)[0]))

static void rule_gives_the_worked_examples(void **unused)
{
    (void)unused;
    static const struct example examples[] = {
        {"17,Anna", "anna"},
        {"17,\" Anna, B. \",x", "anna, b."},
        {"17,\"say \"\"no\"\"\"", "say \"no\""},
        {"17,a\"b", "a\"b"},
        {"17,\"a\"b\"c", "ab\"c"},
        {"17,\"open", "open"},
        {"17,\"open \"\"", "open \""},
        {"17,\"\"", ""},
        {"17,\"", ""},
        {"17,", ""},
        {"17", NULL},
        {"", NULL},
        {"# 17,Anna", NULL},
        {" # 17,Anna", "anna"},
        {"\"a,b\",C", "c"},
    };
    ASSERT_EXAMPLES(((bloomery_key_rule){CSV | TRIM | LOWER, ',', 2, '#'}), examples);
}

static void each_step_does_its_part_alone(void **unused)
{
    (void)unused;
    static const struct example none[] = {{" A\r", " A\r"}, {"", ""}};
    ASSERT_EXAMPLES(((bloomery_key_rule){0, 0, 0, 0}), none);
    static const struct example crlf[] = {{"a\r", "a"}, {"a\r\r", "a\r"}, {"\r", ""}, {"", ""}};
    ASSERT_EXAMPLES(((bloomery_key_rule){CRLF, 0, 0, 0}), crlf);
    static const struct example comment[] = {{"#", NULL}, {"a#", "a#"}, {"", ""}};
    ASSERT_EXAMPLES(((bloomery_key_rule){0, 0, 0, '#'}), comment);
    static const struct example trim[] = {{" \t a b\t", "a b"}, {" \t", ""}, {"a\v", "a\v"}};
    ASSERT_EXAMPLES(((bloomery_key_rule){TRIM, 0, 0, 0}), trim);
    static const struct example lower[] = {{"@AZ[`az{\xc3\x84", "@az[`az{\xc3\x84"}};
    ASSERT_EXAMPLES(((bloomery_key_rule){LOWER, 0, 0, 0}), lower);
    static const struct example upper[] = {{"@AZ[`az{\xc3\xa4", "@AZ[`AZ{\xc3\xa4"}};
    ASSERT_EXAMPLES(((bloomery_key_rule){UPPER, 0, 0, 0}), upper);
    static const struct example hex[] = {{"4a4B", "JK"}, {"4", NULL},  {"4g", NULL}, {"", ""},
                                         {"4a 4", NULL}, {"/a", NULL}, {":a", NULL}, {"@a", NULL}};
    ASSERT_EXAMPLES(((bloomery_key_rule){HEX, 0, 0, 0}), hex);
    static const struct example skip[] = {{"", NULL}, {" ", " "}};
    ASSERT_EXAMPLES(((bloomery_key_rule){SKIP_EMPTY, 0, 0, 0}), skip);
}

/* A record and its key as spans; NULL: none. */
static void assert_form(uint32_t flags, const char *record, const char *key, size_t key_bytes)
{
    struct tool_made *made = tool_made_new();
    const bloomery_key_rule rule = {.flags = flags};
    const bloomery_key one = bloomery_key_of(record, strlen(record));
    const size_t count = tool_rule_apply(&rule, NULL, &one, 1, made);
    if (count != (key != NULL))
        fail_msg("'%s' gives %zu keys", record, count);
    if (key != NULL &&
        (made->keys[0].bytes != key_bytes || memcmp(made->keys[0].data, key, key_bytes) != 0))
        fail_msg("'%s' gives %zu other bytes", record, made->keys[0].bytes);
    if (key != NULL)
        assert_int_equal(made->texts[0].bytes, one.bytes);
    tool_made_free(made);
}

static void numbers_become_bytes_in_twos_complement(void **unused)
{
    (void)unused;
    assert_form(INT64, "1", "\1\0\0\0\0\0\0\0", 8);
    assert_form(INT64, "-2", "\376\377\377\377\377\377\377\377", 8);
    assert_form(INT64, "+0072623859790382856", "\10\7\6\5\4\3\2\1", 8);
    assert_form(INT64, "9223372036854775807", "\377\377\377\377\377\377\377\177", 8);
    assert_form(INT64, "-9223372036854775808", "\0\0\0\0\0\0\0\200", 8);
    assert_form(INT64, "9223372036854775808", "\0\0\0\0\0\0\0\200", 8);
    assert_form(INT64, "+18446744073709551614", "\376\377\377\377\377\377\377\377", 8);
    assert_form(INT64, "18446744073709551615", "\377\377\377\377\377\377\377\377", 8);
    assert_form(INT64, "-0", "\0\0\0\0\0\0\0\0", 8);
    assert_form(INT32, "-2147483648", "\0\0\0\200", 4);
    assert_form(INT32, "2147483647", "\377\377\377\177", 4);
    assert_form(INT32, "4294967294", "\376\377\377\377", 4);
    static const char *const none[] = {"",
                                       "-",
                                       "+",
                                       "1.0",
                                       "0x1",
                                       "1 ",
                                       " 1",
                                       "--1",
                                       "18446744073709551616",
                                       "-9223372036854775809",
                                       "18446744073709551617",
                                       "184467440737095516150",
                                       "1e3",
                                       "a"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_form(INT64, none[i], NULL, 0);
        assert_form(INT32, none[i], NULL, 0);
    }
    assert_form(INT32, "4294967296", NULL, 0);
    assert_form(INT32, "-2147483649", NULL, 0);
    /* An empty key is not a number, and is reported unless empty keys are skipped. */
    assert_key(&(bloomery_key_rule){INT64 | SKIP_EMPTY, 0, 0, 0}, "", NULL);
    assert_key(&(bloomery_key_rule){INT32 | TRIM, 0, 0, 0}, " 16909060 ", "\4\3\2\1");
    assert_key(&(bloomery_key_rule){CSV | INT32, ',', 2, 0}, "a,\"16909060\"", "\4\3\2\1");
}

static void texts_become_utf16(void **unused)
{
    (void)unused;
    assert_form(UTF16, "", "", 0);
    assert_form(UTF16, "aZ", "a\0Z\0", 4);
    assert_form(UTF16, "\xc3\xa4\xe2\x82\xac", "\xe4\0\xac\x20", 4);
    assert_form(UTF16, "\xf0\x9f\x98\x80", "\x3d\xd8\0\xde", 4);
    assert_form(UTF16, "\xf4\x8f\xbf\xbf", "\xff\xdb\xff\xdf", 4);
    assert_form(UTF16, "\xed\xa0\x80x", "\0\xd8x\0", 4); /* a surrogate by itself */
    assert_form(LOWER | UTF16, "A\xc3\x84", "a\0\xc4\0", 4);
    static const char *const none[] = {"\x80",
                                       "a\xc3",
                                       "\xc3(",
                                       "\xc0\xaf",
                                       "\xe0\x9f\xbf",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf8\x88\x80\x80\x80",
                                       "\xff",
                                       "\xe2\x82"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_form(UTF16, none[i], NULL, 0);
}

static void fields_are_counted_from_both_ends(void **unused)
{
    (void)unused;
    static const struct example first[] = {{"a;b", "a"}, {"a", "a"}, {"", ""}, {";b", ""}};
    static const struct example third[] = {{"a;b;c;d", "c"}, {"a;b;", ""}, {"a;b", NULL}};
    static const struct example last[] = {{"a;b", "b"}, {"a", "a"}, {"a;", ""}, {"", ""}};
    static const struct example third_last[] = {{"a;b;c;d", "b"}, {"a;b;c", "a"}, {"b;c", NULL}};
    for (uint32_t csv = 0; csv <= CSV; csv += CSV) {
        ASSERT_EXAMPLES(((bloomery_key_rule){csv, ';', 1, 0}), first);
        ASSERT_EXAMPLES(((bloomery_key_rule){csv, ';', 3, 0}), third);
        ASSERT_EXAMPLES(((bloomery_key_rule){csv, ';', -1, 0}), last);
        ASSERT_EXAMPLES(((bloomery_key_rule){csv, ';', -3, 0}), third_last);
        for (int end = 0; end < 2; end++) {
            int32_t far = end ? INT32_MIN : INT32_MAX;
            assert_key(&(bloomery_key_rule){csv, ';', far, 0}, "\"a;b\";c", NULL);
            assert_key(&(bloomery_key_rule){csv, ';', far, 0}, "a;b;c", NULL);
        }
    }
    static const struct example quoted[] = {{"a;\"b;c\";d", "b;c"},
                                            {"\"\"\";\"\"\";d", "\";\""},
                                            {"\"open;x", NULL},
                                            {"a;\"b\"c;d", "bc"}};
    ASSERT_EXAMPLES(((bloomery_key_rule){CSV, ';', -2, 0}), quoted);
}

static void steps_come_in_their_order(void **unused)
{
    (void)unused;
    /* crlf before the field: the last field has the carriage return; and before comment. */
    assert_key(&(bloomery_key_rule){CRLF, ',', -1, 0}, "a,b\r", "b");
    assert_key(&(bloomery_key_rule){CRLF | SKIP_EMPTY, 0, 0, 0}, "\r", NULL);
    assert_key(&(bloomery_key_rule){CRLF, 0, 0, '\r'}, "\r", "");
    /* comment before the field and before trim. */
    assert_key(&(bloomery_key_rule){0, ',', 2, '#'}, "#a,b", NULL);
    assert_key(&(bloomery_key_rule){0, ',', 2, '#'}, "a,#b", "#b");
    assert_key(&(bloomery_key_rule){TRIM, 0, 0, '#'}, " #", "#");
    /* The field before trim and case: neither touches the delimiter. */
    assert_key(&(bloomery_key_rule){TRIM, '\t', 2, 0}, "\ta\tb", "a");
    assert_key(&(bloomery_key_rule){LOWER, 'X', 2, 0}, "AXBxC", "bxc");
    /* trim before hex, within quotes too, and hex before skip-empty. */
    assert_key(&(bloomery_key_rule){TRIM | HEX, 0, 0, 0}, " 41 ", "A");
    assert_key(&(bloomery_key_rule){CSV | TRIM, ',', 1, 0}, "\" a \"", "a");
    assert_key(&(bloomery_key_rule){CSV | TRIM, ',', 1, 0}, " \"a\"", "\"a\"");
    assert_key(&(bloomery_key_rule){TRIM | SKIP_EMPTY, 0, 0, 0}, " ", NULL);
}

static void what_is_passed_over_is_counted_by_reason(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"x,4a", "#",          "x",    "x,4",    "x,",
                                        "",     "\"x\",\"4b", "\"x,", "x,zz\n", "x,4c"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    const bloomery_key_rule rule = {CSV | HEX | SKIP_EMPTY, ',', 2, '#'};
    const struct tool_chunk chunk = {.number = 7, .input = "here"};
    struct tool_made *made = tool_made_new();
    bloomery_key records[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        records[i] = bloomery_key_of(texts[i], strlen(texts[i]));
    assert_int_equal(tool_rule_apply(&rule, &chunk, records, TEXTS, made), 3);
    assert_int_equal(made->with_key[0], 1 << 0 | 1 << 6 | 1 << 9);
    assert_int_equal(made->malformed, 2);
    assert_int_equal(made->tally.malformed, 2);
    assert_int_equal(made->tally.without_field, 3);
    assert_int_equal(made->tally.open_quotes, 2);
    assert_int_equal(made->tally.passed_over, 7);
    assert_int_equal(made->tally.malformed_at.chunk_number, 7);
    assert_string_equal(made->tally.malformed_at.input, "here");
    assert_string_equal(made->tally.shown, "x,4");
    assert_memory_equal(made->texts[1].data, "4b", 2);

    /* The first of several threads is the one of the earliest chunk. */
    struct tool_tally sum = {0}, early = made->tally;
    early.malformed_at.chunk_number = 3;
    memcpy(early.shown, "early", 6);
    tool_tally_add(&sum, &made->tally);
    tool_tally_add(&sum, &early);
    tool_tally_add(&sum, &made->tally);
    assert_string_equal(sum.shown, "early");
    assert_int_equal(sum.malformed, 6);
    assert_int_equal(sum.passed_over, 21);

    /* A batch begins anew, the tally does not. */
    assert_int_equal(tool_rule_apply(&rule, &chunk, records, 1, made), 1);
    assert_int_equal(made->malformed, 0);
    assert_int_equal(made->tally.malformed, 2);
    tool_made_free(made);
}

static uint64_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static void answers_to_keys_are_spread_over_their_records(void **unused)
{
    (void)unused;
    static bloomery_key records[TOOL_BATCH_KEYS];
    static const char *const texts[] = {"a", "#", "b"};
    const bloomery_key_rule rule = {.comment = '#'};
    struct tool_made *made = tool_made_new();
    for (int round = 0; round < 200; round++) {
        uint64_t of_keys[TOOL_BATCH_WORDS] = {0}, of_records[TOOL_BATCH_WORDS];
        const size_t count = round == 0 ? (size_t)TOOL_BATCH_KEYS : chance(TOOL_BATCH_KEYS + 1);
        const uint32_t kinds = 1 + chance(3);
        for (size_t i = 0; i < count; i++)
            records[i] = bloomery_key_of(texts[chance(kinds)], 1);
        const size_t keys = tool_rule_apply(&rule, NULL, records, count, made);
        for (size_t i = 0; i < keys; i++)
            of_keys[i / 64] |= (uint64_t)chance(2) << i % 64;
        tool_made_spread(made, count, of_keys, of_records);
        for (size_t i = 0, key = 0; i < count; i++) {
            bool has_key = *(const char *)records[i].data != '#';
            bool expected = has_key && (of_keys[key / 64] >> key % 64 & 1) != 0;
            key += has_key;
            assert_int_equal(of_records[i / 64] >> i % 64 & 1, expected);
        }
    }
    tool_made_free(made);
}

static bloomery_key_rule random_rule(void)
{
    static const uint32_t cases[] = {0,     LOWER, UPPER,         HEX,          INT64,
                                     INT32, UTF16, LOWER | UTF16, UPPER | UTF16};
    bloomery_key_rule rule = {.flags = chance(ALL_FLAGS + 1) &
                                       ~(uint32_t)(LOWER | UPPER | HEX | CSV | INT64 | INT32 |
                                                   UTF16 | BLOOMERY_RULE_ELSEWHERE)};
    rule.flags |= cases[chance(9)];
    rule.comment = chance(2) == 0 ? '#' : 0;
    if (chance(3) > 0) {
        rule.flags |= chance(2) == 0 ? CSV : 0;
        rule.field = (int32_t)chance(9) - 4;
        rule.field += rule.field == 0;
        rule.delimiter = chance(8) == 0 ? '"' : ','; /* a file may say so, though no option does */
    }
    return rule;
}

/* A record between two pages that can't be read: at the end of its own, or at the beginning. */
static void no_rule_reads_outside_its_records(void **unused)
{
    (void)unused;
    static const char letters[] = "a,,\"\"\" \t\r#4F-79\xc3\x84\xf0\x9f\x98\x80";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    struct tool_made *made = tool_made_new();
    for (int round = 0; round < 200000; round++) {
        unsigned char copy[24];
        const size_t bytes = chance(sizeof(copy) + 1);
        for (size_t i = 0; i < bytes; i++)
            copy[i] = (unsigned char)letters[chance(sizeof(letters) - 1)];
        unsigned char *at = map + page + (chance(2) == 0 ? 0 : page - bytes);
        memcpy(at, copy, bytes);
        const bloomery_key_rule rule = random_rule();
        const bloomery_key record = bloomery_key_of(at, bytes);
        if (tool_rule_apply(&rule, NULL, &record, 1, made) == 1) {
            const unsigned char *key = made->keys[0].data;
            const bool numbers = (rule.flags & (INT64 | INT32)) != 0;
            const size_t most = numbers ? 8 : (rule.flags & UTF16) != 0 ? 2 * bytes : bytes;
            assert_true(made->keys[0].bytes <= most);
            bool within = key >= at && key + made->keys[0].bytes <= at + bytes;
            bool made_of_it = made->scratch != NULL && key >= made->scratch &&
                              key + made->keys[0].bytes <= made->scratch + made->capacity;
            assert_true(within || made_of_it);
        }
        assert_memory_equal(at, copy, bytes); /* and changes nothing in them */
    }
    tool_made_free(made);
    munmap(map, 3 * page);
}

static void rules_are_described_whole(void **unused)
{
    (void)unused;
    char text[TOOL_RULE_TEXT_BYTES];
    bloomery_key_rule rule = {0};
    assert_string_equal(tool_rule_describe(&rule, text), "");
    assert_true(tool_rule_is_none(&rule));
    rule = (bloomery_key_rule){ALL_FLAGS, 255, INT32_MIN, 255};
    assert_string_equal(tool_rule_describe(&rule, text),
                        "field -2147483648, delimited by byte 255, a place that is not kept (-F, "
                        "--jsonl), trim, lower, upper, hex, crlf, skip-empty, csv, int64, int32, "
                        "utf16, header, comments begin with byte 255");
    rule = (bloomery_key_rule){.comment = '#'};
    assert_string_equal(tool_rule_describe(&rule, text), "comments begin with '#'");
    assert_false(tool_rule_is_none(&rule));
}

static void bytes_are_shown_escaped_and_cut(void **unused)
{
    (void)unused;
    char text[12];
    assert_string_equal(tool_show_bytes(text, sizeof(text), "a\\\n", 3), "a\\x5c\\x0a");
    assert_string_equal(tool_show_bytes(text, sizeof(text), "12345678901", 11), "12345678901");
    assert_string_equal(tool_show_bytes(text, sizeof(text), "123456789012", 12), "12345678...");
    assert_string_equal(tool_show_bytes(text, sizeof(text), "\x1b\xff\xff", 3), "\\x1b\\xff...");
    assert_string_equal(tool_show_bytes(text, sizeof(text), NULL, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_gives_the_worked_examples),
        cmocka_unit_test(each_step_does_its_part_alone),
        cmocka_unit_test(numbers_become_bytes_in_twos_complement),
        cmocka_unit_test(texts_become_utf16),
        cmocka_unit_test(fields_are_counted_from_both_ends),
        cmocka_unit_test(steps_come_in_their_order),
        cmocka_unit_test(what_is_passed_over_is_counted_by_reason),
        cmocka_unit_test(answers_to_keys_are_spread_over_their_records),
        cmocka_unit_test(no_rule_reads_outside_its_records),
        cmocka_unit_test(rules_are_described_whole),
        cmocka_unit_test(bytes_are_shown_escaped_and_cut),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

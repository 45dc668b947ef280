/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON are read as another reader of JSON reads them: jansson, which builds a tree. */
#include "input/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { LINE = 4000, LINES = 30000 };

static uint64_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* ---- Making lines ---------------------------------------------------------------------------- */

struct line {
    char text[LINE + 300];
    size_t bytes;
};

static void put(struct line *line, const char *text)
{
    const size_t bytes = strlen(text);
    if (line->bytes + bytes <= LINE + 200)
        memcpy(line->text + line->bytes, text, bytes), line->bytes += bytes;
}

static const char *one_of(const char *const *texts, size_t count)
{
    return texts[chance((uint32_t)count)];
}

#define ONE_OF(texts) one_of(texts, sizeof(texts) / sizeof((texts)[0]))

static void put_blanks(struct line *line)
{
    static const char *const blanks[] = {"", "", "", " ", "\t", "\r ", "  "};
    put(line, ONE_OF(blanks));
}

static void put_value(struct line *line, int depth);

static void put_object(struct line *line, int depth)
{
    static const char *const names[] = {"\"a\"",       "\"b\"",   "\"0\"",
                                        "\"\\u0061\"", "\"a.b\"", "\"\""};
    put(line, "{");
    for (uint32_t i = chance(4); i > 0; i--) {
        put_blanks(line);
        put(line, ONE_OF(names));
        put_blanks(line);
        put(line, ":");
        put_blanks(line);
        put_value(line, depth - 1);
        put_blanks(line);
        put(line, i > 1 ? "," : "");
    }
    put(line, "}");
}

static void put_array(struct line *line, int depth)
{
    put(line, "[");
    for (uint32_t i = chance(4); i > 0; i--) {
        put_value(line, depth - 1);
        put(line, i > 1 ? "," : "");
        put_blanks(line);
    }
    put(line, "]");
}

static void put_value(struct line *line, int depth)
{
    static const char *const plain[] = {"0",
                                        "-1",
                                        "12.5",
                                        "1e3",
                                        "-0.25E-2",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "\"a\"",
                                        "\"x y z\"",
                                        "\"\\n\"",
                                        "\"\\u00e9\"",
                                        "\"\\\\\\\"\"",
                                        "\"long text without an end in sight, or nearly so\"",
                                        "\"\\ud83d\\ude00!\"",
                                        "\"a\\/b\""};
    const uint32_t form = depth > 0 && line->bytes < LINE / 2 ? chance(4) : 3;
    if (form == 0)
        put_array(line, depth);
    else if (form < 3)
        put_object(line, depth);
    else
        put(line, ONE_OF(plain));
}

static void make_line(struct line *line)
{
    line->bytes = 0;
    put_blanks(line);
    put_value(line, 5);
    put_blanks(line);
    if (chance(2) == 0 || line->bytes == 0)
        return;
    /* Broken, or not: one byte becomes another, or the end is gone. */
    static const char bytes[] = "{}[]\",:\\0-.eEtn u\t\x01";
    if (chance(3) == 0)
        line->bytes = chance((uint32_t)line->bytes);
    else
        line->text[chance((uint32_t)line->bytes)] = bytes[chance(sizeof(bytes) - 1)];
}

/* ---- Reading them twice ---------------------------------------------------------------------- */

static const json_t *walk(const json_t *value, const char *const *steps)
{
    for (; *steps != NULL && value != NULL; steps++) {
        if (json_is_array(value))
            value = (*steps)[0] >= '0' && (*steps)[0] <= '9' && (*steps)[1] == '\0'
                        ? json_array_get(value, (size_t)((*steps)[0] - '0'))
                        : NULL;
        else
            value = json_object_get(value, *steps);
    }
    return value;
}

static enum tool_json_kind kind_of(const json_t *value)
{
    return value == NULL           ? TOOL_JSON_MISSING
           : json_is_string(value) ? TOOL_JSON_STRING
           : json_is_number(value) ? TOOL_JSON_NUMBER
                                   : TOOL_JSON_OTHER;
}

static void compare(const char *path_text, const char *const *steps, const char *line, size_t bytes)
{
    struct tool_json_path path;
    json_error_t error;
    /* Exactly as long as the line, so that a sanitizer sees a read behind it. */
    char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, line, bytes);
    assert_true(tool_json_path_parse(path_text, &path));
    const struct tool_json_value value = tool_json_find(&path, copy, bytes);
    json_t *tree = json_loadb(copy, bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (tree == NULL && strstr(error.text, "Unicode") != NULL) { /* see a_lone_surrogate_is_kept */
        free(copy);
        return;
    }
    const enum tool_json_kind wanted = tree == NULL ? TOOL_JSON_BROKEN : kind_of(walk(tree, steps));
    if (value.kind != wanted)
        fail_msg("kind %d, not %d, at %s of %.*s (%s)", value.kind, wanted, path_text, (int)bytes,
                 line, tree == NULL ? error.text : "");
    if (value.kind == TOOL_JSON_STRING) {
        const json_t *text = walk(tree, steps);
        unsigned char plain[LINE];
        const size_t count = tool_json_unescape(value.at, value.bytes, plain);
        assert_int_equal(count, json_string_length(text));
        assert_memory_equal(plain, json_string_value(text), count);
        assert_int_equal(value.escaped, memchr(value.at, '\\', value.bytes) != NULL);
    } else if (value.kind == TOOL_JSON_NUMBER) {
        char digits[64] = "";
        memcpy(digits, value.at, value.bytes);
        assert_true(strtod(digits, NULL) == json_number_value(walk(tree, steps)));
    }
    json_decref(tree);
    free(copy);
}

static void members_equal_those_of_a_tree(void **test_state)
{
    (void)test_state;
    static const char *const a[] = {"a", NULL}, *const a_b[] = {"a", "b", NULL},
                             *const dotted[] = {"a.b", NULL},
                             *const b_0_a[] = {"b", "0", "a", NULL}, *const first[] = {"0", NULL};
    static struct line line;
    for (int i = 0; i < LINES; i++) {
        make_line(&line);
        compare("a", a, line.text, line.bytes);
        compare("a.b", a_b, line.text, line.bytes);
        compare("a\\.b", dotted, line.text, line.bytes);
        compare("b.0.a", b_0_a, line.text, line.bytes);
        compare("0", first, line.text, line.bytes);
    }
}

static void escaped_text_comes_back(void **test_state)
{
    (void)test_state;
    unsigned char text[200], inside[6 * 200], back[6 * 200];
    struct tool_json_path path;
    assert_true(tool_json_path_parse("t", &path));
    for (int i = 0; i < 3000; i++) {
        const size_t bytes = chance(sizeof text);
        for (size_t j = 0; j < bytes; j++)
            text[j] = (unsigned char)chance(i % 2 == 0 ? 256 : 40);
        const size_t count = tool_json_escape(text, bytes, inside);
        char line[6 * 200 + 10];
        memcpy(line, "{\"t\":\"", 6);
        memcpy(line + 6, inside, count);
        memcpy(line + 6 + count, "\"}", 2);
        const struct tool_json_value value = tool_json_find(&path, line, count + 8);
        assert_int_equal(value.kind, TOOL_JSON_STRING);
        assert_int_equal(tool_json_unescape(value.at, value.bytes, back), bytes);
        assert_memory_equal(back, text, bytes);
    }
}

static void deep_lines_are_broken(void **test_state)
{
    (void)test_state;
    static char line[2 * TOOL_JSON_DEPTH + 10];
    struct tool_json_path path;
    assert_true(tool_json_path_parse("a", &path));
    for (size_t depth = TOOL_JSON_DEPTH - 1; depth <= TOOL_JSON_DEPTH + 1; depth++) {
        memset(line, '[', depth);
        memset(line + depth, ']', depth);
        assert_int_equal(tool_json_find(&path, line, 2 * depth).kind,
                         depth <= TOOL_JSON_DEPTH ? TOOL_JSON_MISSING : TOOL_JSON_TOO_DEEP);
    }
}

static void paths_that_are_none(void **test_state)
{
    (void)test_state;
    static char longest[2 * TOOL_JSON_PATH_BYTES];
    struct tool_json_path path;
    memset(longest, 'x', sizeof(longest) - 1);
    assert_false(tool_json_path_parse(longest, &path));
    assert_false(tool_json_path_parse("", &path));
    assert_false(tool_json_path_parse("a..b", &path));
    assert_false(tool_json_path_parse("a.", &path));
    assert_false(tool_json_path_parse("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", &path));
    assert_true(tool_json_path_parse("a\\.", &path));
    assert_int_equal(path.steps, 1);
    assert_int_equal(path.step[0].bytes, 2);
}

/* A half of a pair of surrogates by itself, as three bytes: what writes such lines means no other
 * text by it. */
static void a_lone_surrogate_is_kept(void **test_state)
{
    (void)test_state;
    static const char line[] = "{\"t\":\"x\\ud83dy\\ude00\"}";
    unsigned char text[20];
    struct tool_json_path path;
    assert_true(tool_json_path_parse("t", &path));
    const struct tool_json_value value = tool_json_find(&path, line, strlen(line));
    assert_int_equal(tool_json_unescape(value.at, value.bytes, text), 8);
    assert_memory_equal(text, "x\xed\xa0\xbdy\xed\xb8\x80", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_equal_those_of_a_tree), cmocka_unit_test(escaped_text_comes_back),
        cmocka_unit_test(deep_lines_are_broken),         cmocka_unit_test(paths_that_are_none),
        cmocka_unit_test(a_lone_surrogate_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

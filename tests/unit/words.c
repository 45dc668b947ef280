/* SPDX-License-Identifier: Apache-2.0 */
/* Words are those of libunistring over the whole text, wherever the text is cut on the way. */
#include "units/word_breaks.h"

#include "base/system.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>
#include <uniwbrk.h>

#include <cmocka.h>

enum { TEXT = 4000, RANDOM_TEXTS = 40000 };

static uint64_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* ---- The same by libunistring alone ---------------------------------------------------------- */

#define FUNCTIONS(X)       \
    X(u8_mbtoucr)          \
    X(u8_wordbreaks)       \
    X(uc_general_category) \
    X(uc_general_category_name)

static struct library {
    FUNCTIONS(TOOL_LOAD_FIELD)
} library;

static const char *load(const char *name, struct library *functions)
{
    const struct bloomery_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    return bloomery_load_library(name, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

static int load_both(void **test_state)
{
    (void)test_state;
    return tool_words_load() != NULL || (load("libunistring.so.5", &library) != NULL &&
                                         load("libunistring.so.2", &library) != NULL);
}

struct expected {
    char text[2 * TEXT + 1]; /* the words, a space before each */
    size_t bytes;
};

static bool is_word(const uint8_t *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ucs4_t character;
        at += (size_t)library.u8_mbtoucr(&character, text + at, bytes - at);
        /* Names of categories begin with L for letters, N for numbers. */
        const char kind =
            library.uc_general_category_name(library.uc_general_category(character))[0];
        if (kind == 'L' || kind == 'N')
            return true;
    }
    return false;
}

static void expect_piece(struct expected *expected, const uint8_t *text, size_t bytes)
{
    char breaks[TEXT];
    library.u8_wordbreaks(text, bytes, breaks);
    for (size_t begin = 0, end; begin < bytes; begin = end) {
        for (end = begin + 1; end < bytes && breaks[end] == 0; end++)
            continue;
        if (!is_word(text + begin, end - begin))
            continue;
        expected->text[expected->bytes++] = ' ';
        memcpy(expected->text + expected->bytes, text + begin, end - begin);
        expected->bytes += end - begin;
    }
}

static void expect(struct expected *expected, const uint8_t *text, size_t bytes)
{
    expected->bytes = 0;
    size_t begin = 0;
    for (size_t at = 0; at < bytes;) {
        ucs4_t character;
        const int length = library.u8_mbtoucr(&character, text + at, bytes - at);
        if (length > 0) {
            at += (size_t)length;
            continue;
        }
        expect_piece(expected, text + begin, at - begin);
        begin = ++at;
    }
    expect_piece(expected, text + begin, bytes - begin);
}

static struct tool_words words;

/* The text has a block of its own, so that sanitizers see each byte that is read outside. */
static void compare(const void *text, size_t bytes)
{
    static struct expected expected;
    unsigned char *copy = malloc(bytes + (bytes == 0));
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    expect(&expected, copy, bytes);
    tool_words_split(&words, copy, bytes);
    free(copy);
    size_t at = 0;
    for (size_t i = 0; i < words.count; i++) {
        const struct tool_word word = words.words[i];
        if (word.begin != at + (i > 0) || word.end <= word.begin)
            fail_msg("word %zu of \"%.*s\" is at %u to %u", i, (int)bytes, (const char *)text,
                     word.begin, word.end);
        at = word.end;
    }
    const size_t skipped = expected.bytes > 0;
    if (at != words.joined_bytes || at != expected.bytes - skipped ||
        (at > 0 && memcmp(words.joined, expected.text + skipped, at) != 0))
        fail_msg("\"%.*s\" gives \"%.*s\" instead of \"%.*s\"", (int)bytes, (const char *)text,
                 (int)at, (const char *)words.joined, (int)(expected.bytes - skipped),
                 expected.text + skipped);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

struct alphabet {
    const char *const *characters;
    size_t count;
};

static size_t put(char *text, size_t bytes, const char *character)
{
    const size_t length = strlen(character);
    memcpy(text + bytes, character, length);
    return bytes + length;
}

static void compare_all(const struct alphabet *alphabet, size_t longest)
{
    size_t total = 1;
    for (size_t length = 0; length <= longest; length++, total *= alphabet->count)
        for (size_t number = 0; number < total; number++) {
            char text[100];
            size_t bytes = 0;
            size_t rest = number;
            for (size_t i = 0; i < length; i++, rest /= alphabet->count)
                bytes = put(text, bytes, alphabet->characters[rest % alphabet->count]);
            compare(text, bytes);
        }
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void all_short_ascii_texts(void **test_state)
{
    (void)test_state;
    static const char *const each[] = {"a", "1", "_",  ":",  ".",  "'", ",",
                                       ";", "-", "\"", "\n", "\r", " "};
    const struct alphabet alphabet = {each, COUNT(each)};
    compare_all(&alphabet, 5);
}

/* One character of each class of UAX 29, or two. */
static const char *const classes[] = {
    "a",
    "7",
    "_",
    ":",
    ".",
    "'",
    ",",
    "\"",
    "-",
    " ",
    "\n",
    "\r",
    "\u00e9",       /* letter */
    "\u0308",       /* Extend */
    "\u200d",       /* ZWJ */
    "\u00ad",       /* Format */
    "\u2139",       /* a letter that is a pictograph */
    "\u05d0",       /* Hebrew */
    "\u30ab",       /* Katakana */
    "\u5b57",       /* a letter of class Other */
    "\u00b2",       /* a number of class Other, in two bytes */
    "\u0663",       /* Numeric */
    "\u00b7",       /* MidLetter */
    "\u2019",       /* MidNumLet */
    "\u203f",       /* ExtendNumLet */
    "\u3000",       /* space */
    "\u2028",       /* Newline */
    "\U0001f1e6",   /* half a flag */
    "\xff",         /* no UTF-8 */
    "\xe2\x82",     /* a character that is cut short */
    "\xed\xa0\x80", /* half a pair of surrogates */
    "\xf0\x90\x80", /* and a longer one */
    "\t",
    "B",
    "0",
    ";",
};

static void all_short_mixed_texts(void **test_state)
{
    (void)test_state;
    const struct alphabet alphabet = {classes, COUNT(classes)};
    compare_all(&alphabet, 3);
}

/* Most characters come from the first of the list, so that stretches of ASCII are long as well. */
static void random_texts(void **test_state)
{
    (void)test_state;
    for (size_t i = 0; i < RANDOM_TEXTS; i++) {
        char text[TEXT];
        size_t bytes = 0;
        const uint32_t length = i % 100 == 0 ? 900 : chance(40);
        const uint32_t first = 1 + chance(COUNT(classes));
        for (uint32_t k = 0; k < length; k++)
            bytes = put(text, bytes, classes[chance(chance(4) == 0 ? COUNT(classes) : first)]);
        compare(text, bytes);
    }
}

static void every_ascii_character_between_all_others(void **test_state)
{
    (void)test_state;
    for (unsigned i = 0; i < 128; i++)
        for (size_t k = 0; k < COUNT(classes) * COUNT(classes); k++) {
            char text[20];
            size_t bytes = put(text, 0, classes[k / COUNT(classes)]);
            text[bytes++] = (char)i;
            bytes = put(text, bytes, classes[k % COUNT(classes)]);
            compare(text, bytes);
        }
}

/* Bytes of any value: few of them are characters. */
static void random_bytes(void **test_state)
{
    (void)test_state;
    for (size_t i = 0; i < RANDOM_TEXTS; i++) {
        char text[40];
        const uint32_t bytes = chance(sizeof(text));
        for (uint32_t k = 0; k < bytes; k++)
            text[k] = (char)chance(256);
        compare(text, bytes);
    }
}

/* ---- By hand --------------------------------------------------------------------------------- */

static void check(const char *text, const char *joined, size_t count)
{
    tool_words_split(&words, (const unsigned char *)text, strlen(text));
    assert_int_equal(words.count, count);
    assert_int_equal(words.joined_bytes, strlen(joined));
    assert_memory_equal(words.joined, joined, strlen(joined));
}

static void words_of_some_sentences(void **test_state)
{
    (void)test_state;
    check("The quick (\"brown\") fox can't jump 32.3 feet, right?",
          "The quick brown fox can't jump 32.3 feet right", 9);
    check(" e.g. __ 1,000 x_1 'tis foo.Bar a:1\n", "e.g 1,000 x_1 tis foo.Bar a 1", 7);
    check("Gr\u00f6\u00dfe, l\u2019\u00e9t\u00e9 \u2014 na\u00efve.",
          "Gr\u00f6\u00dfe l\u2019\u00e9t\u00e9 na\u00efve", 3);
    check("\u6f22\u5b57 \u30ab\u30bf\u30ab\u30ca", "\u6f22 \u5b57 \u30ab\u30bf\u30ab\u30ca", 3);
    check("a\xff"
          "b",
          "a b", 2);
    check(" ... \u2014 \xf0\x9f\x98\x80", "", 0);
}

static void a_run_of_words_is_one_span(void **test_state)
{
    (void)test_state;
    static const char text[] = "One, two;\nthr\u00e9e -- four.";
    tool_words_split(&words, (const unsigned char *)text, strlen(text));
    assert_int_equal(words.count, 4);
    const size_t bytes = words.words[2].end - words.words[1].begin;
    assert_int_equal(bytes, strlen("two thr\u00e9e"));
    assert_memory_equal(words.joined + words.words[1].begin, "two thr\u00e9e", bytes);
}

static void a_text_of_one_word_beyond_all_room(void **test_state)
{
    (void)test_state;
    enum { BYTES = 3000000 };
    unsigned char *text = malloc(BYTES);
    assert_non_null(text);
    memset(text, 'a', BYTES);
    tool_words_split(&words, text, BYTES);
    assert_int_equal(words.count, 1);
    assert_int_equal(words.joined_bytes, BYTES);
    for (size_t i = 0; i + 1 < BYTES; i += 2)
        memcpy(text + i, "\u00b2", 2);
    tool_words_split(&words, text, BYTES);
    assert_int_equal(words.count, BYTES / 2);
    assert_int_equal(words.joined_bytes, BYTES + BYTES / 2 - 1);
    assert_int_equal(words.words[BYTES / 2 - 1].end, words.joined_bytes);
    free(text);
    tool_words_free(&words);
    assert_null(words.joined);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_short_ascii_texts),
        cmocka_unit_test(all_short_mixed_texts),
        cmocka_unit_test(every_ascii_character_between_all_others),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(words_of_some_sentences),
        cmocka_unit_test(a_run_of_words_is_one_span),
        cmocka_unit_test(a_text_of_one_word_beyond_all_room),
    };
    return cmocka_run_group_tests(tests, load_both, NULL);
}

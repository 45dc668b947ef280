/* SPDX-License-Identifier: Apache-2.0 */
/* Text is split alike at every level: as memchr splits it, called once for each record. */
#include "input/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 5000, KEYS = 5000 };

/* A text that ends exactly where its allocation does, so that a sanitizer sees a read behind it. */
struct text {
    unsigned char *bytes;
    size_t count;
    unsigned char delimiter;
    bloomery_key keys[KEYS];
    size_t key_count;
};

static uint64_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* The definition. */
static void find_keys(struct text *text)
{
    const unsigned char *from = text->bytes, *end = from + text->count;
    text->key_count = 0;
    while (from < end) {
        const unsigned char *stop = memchr(from, text->delimiter, (size_t)(end - from));
        text->keys[text->key_count++] = bloomery_key_of(from, (size_t)(stop - from));
        from = stop + 1;
    }
}

/* `count` bytes, about one in `mean` of them a delimiter, the last one surely; from a place in the
 * allocation that is aligned to nothing. */
static unsigned char *make_text(struct text *text, size_t count, uint32_t mean,
                                unsigned char delimiter)
{
    const size_t shift = chance(64);
    unsigned char *memory = malloc(shift + count);
    assert_non_null(memory);
    text->bytes = memory + shift;
    text->count = count;
    text->delimiter = delimiter;
    for (size_t i = 0; i < count; i++) {
        text->bytes[i] = (unsigned char)(delimiter ^ (1 + chance(255)));
        if (chance(mean) == 0)
            text->bytes[i] = delimiter;
    }
    if (count > 0)
        text->bytes[count - 1] = delimiter;
    find_keys(text);
    return memory;
}

/* Takes the text in batches of `most` and compares. Behind what a call may write stands a mark. */
static void expect_same(const struct text *text, const struct tool_split_level *level, size_t most)
{
    static bloomery_key found[KEYS + TOOL_SPLIT_SLACK + 1];
    const unsigned char *from = text->bytes, *end = from + text->count;
    bloomery_key *mark = &found[most + TOOL_SPLIT_SLACK];
    size_t at = 0;
    while (from < end) {
        *mark = bloomery_key_of(&found, 12345);
        size_t count = level->split(&from, end, text->delimiter, found, most);
        assert_in_range(count, 1, most);
        assert_true(at + count <= text->key_count);
        for (size_t i = 0; i < count; i++, at++) {
            assert_ptr_equal(found[i].data, text->keys[at].data);
            assert_int_equal(found[i].bytes, text->keys[at].bytes);
        }
        assert_true(mark->data == &found && mark->bytes == 12345);
        assert_true(from == end || count == most);
    }
    assert_int_equal(at, text->key_count);
    assert_int_equal(level->count(text->bytes, end, text->delimiter), text->key_count);
}

static void expect_same_everywhere(const struct text *text)
{
    static const size_t mosts[] = {1, 7, 64, 1024, KEYS};
    const struct tool_split_level *level;
    assert_non_null(tool_split_level(0));
    for (size_t l = 0; (level = tool_split_level(l)) != NULL; l++)
        for (size_t m = 0; m < sizeof(mosts) / sizeof(mosts[0]); m++)
            expect_same(text, level, mosts[m]);
    const struct tool_split_level chosen = {"chosen", tool_split, tool_split_count};
    expect_same(text, &chosen, 100);
}

static void every_level_splits_as_memchr_does(void **unused)
{
    (void)unused;
    static const uint32_t means[] = {1, 2, 5, 6, 7, 9, 13, 40, 64, 65, 300, 1000000};
    static struct text text;
    for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); m++)
        for (unsigned round = 0; round < 40; round++) {
            const size_t count = round < 20 ? chance(200) : chance(TEXT);
            const unsigned char delimiter = round % 3 == 0 ? '\n' : (unsigned char)chance(256);
            unsigned char *memory = make_text(&text, count, means[m], delimiter);
            expect_same_everywhere(&text);
            free(memory);
        }
}

/* Records that end at, before and behind the borders of steps, of every length up to three. */
static void delimiters_at_the_borders_of_steps_are_found(void **unused)
{
    (void)unused;
    static struct text text;
    for (size_t length = 0; length <= 3 * 64; length++)
        for (size_t count = 1; count <= 3; count++) {
            unsigned char *memory = make_text(&text, (length + 1) * count, 1000000, '\n');
            for (size_t i = 1; i <= count; i++)
                text.bytes[i * (length + 1) - 1] = '\n';
            find_keys(&text);
            assert_int_equal(text.key_count, count);
            expect_same_everywhere(&text);
            free(memory);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_splits_as_memchr_does),
        cmocka_unit_test(delimiters_at_the_borders_of_steps_are_found),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

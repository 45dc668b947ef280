/* SPDX-License-Identifier: Apache-2.0 */
#include "key/hint.h"

#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* 128 bits to 512 bits in hexadecimal digits, MD5 to SHA-512. */
enum { KEPT_MAX = 1000, DIGITS_MIN = 32, DIGITS_MAX = 128 };

struct tool_hint {
    size_t count[2]; /* of keys with small and with capital letters */
    bloomery_key keys[2][KEPT_MAX];
    char text[2][KEPT_MAX][DIGITS_MAX]; /* in the other case */
};

struct tool_hint *tool_hint_new(void)
{
    struct tool_hint *hint = tool_allocate(sizeof(*hint));
    hint->count[0] = hint->count[1] = 0;
    return hint;
}

void tool_hint_free(struct tool_hint *hint)
{
    free(hint);
}

/* 0: a digest with small letters, 1: with capital ones, -1: neither, or without any letter. */
static int letters_of(const unsigned char *text, size_t bytes)
{
    int letters = -1;
    if (bytes < DIGITS_MIN || bytes > DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        bool small = text[i] >= 'a' && text[i] <= 'f', capital = text[i] >= 'A' && text[i] <= 'F';
        if (!small && !capital && (text[i] < '0' || text[i] > '9'))
            return -1;
        if ((small && letters == 1) || (capital && letters == 0))
            return -1;
        letters = small ? 0 : capital ? 1 : letters;
    }
    return letters;
}

void tool_hint_keep(struct tool_hint *hint, const bloomery_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *from = keys[i].data;
        int letters = letters_of(from, keys[i].bytes);
        if (letters < 0 || hint->count[letters] == KEPT_MAX)
            continue;
        char *to = hint->text[letters][hint->count[letters]];
        for (size_t j = 0; j < keys[i].bytes; j++)
            to[j] = (char)(from[j] > '9' ? from[j] ^ 0x20 : from[j]);
        hint->keys[letters][hint->count[letters]++] = bloomery_key_of(to, keys[i].bytes);
    }
}

/* The chance of so many false positives among so many keys is below expected^hits / hits!. */
static bool by_chance(size_t hits, size_t queried, double rate)
{
    const double expected = (double)queried * rate;
    double chance = 1;
    for (size_t i = 1; i <= hits && chance > 0; i++)
        chance *= expected / (double)i;
    return chance > 0.05;
}

void tool_hint_say(const struct tool_hint *hint, const char *name, const bloomery_filter *filter,
                   bool optional)
{
    static const char *const cases[2] = {"upper", "lower"};
    bloomery_info info = BLOOMERY_INFO;
    if (hint->count[0] == 0 && hint->count[1] == 0)
        return;
    bloomery_info_get(filter, true, &info);
    for (int i = 0; i < 2; i++) {
        size_t queried = hint->count[i];
        size_t hits = bloomery_may_contain_batch(filter, hint->keys[i], queried, NULL);
        assert(hits <= queried);
        if (hits == 0 || by_chance(hits, queried, info.live_rate))
            continue;
        if (optional)
            tool_error("hint: none was found, but in %s case such keys may be in %s; --%s asks so",
                       cases[i], name, cases[i]);
        else
            tool_error("hint: none was found, but in %s case such keys may be in %s; change their "
                       "letters first, as 'tr %s' does",
                       cases[i], name, i == 0 ? "a-f A-F" : "A-F a-f");
        return;
    }
}

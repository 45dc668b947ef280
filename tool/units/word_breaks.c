/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a text.
 *
 * libunistring knows the boundaries in any text, but takes several passes for it. Most text is
 * ASCII, where the rules are few, so ASCII is split here and libunistring gets the stretches around
 * other characters. It also says what each ASCII character is, so both follow one version of
 * Unicode.
 *
 * ASCII, with the numbers of the rules in UAX 29. Letters, digits and "_" in a row are one word (5,
 * 8 to 10, 13a, 13b). One character between two letters (":", ".", "'") or between two digits (",",
 * ";", ".", "'") joins them (6, 7, 11, 12). All others are separators: boundaries lie before and
 * behind each. Rules 3 and 3d keep a line end and a row of spaces together, which are not words.
 *
 * Where a text may be cut without a change of its words:
 *
 *   - Between a separator and another ASCII character, either side first. A mark could belong to
 *     the separator before it (4), and none is ASCII. Before a separator there is always a
 *     boundary. No rule looks across one. The double quote joins Hebrew letters only (7b, 7c).
 *   - But not between two spaces: a joiner behind them and a symbol that is a letter, such as
 *     U+2139, form one word with all of them (3c, 3d, 4).
 *
 * So a stretch for libunistring begins at the last such cut before a character that is not ASCII,
 * and ends at the first one after it.
 */
#include "units/word_breaks.h"

#include "base/system.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<uniwbrk.h>)
#include <unictype.h>
#include <unistr.h>
#include <uniwbrk.h>

/* ---- The library ----------------------------------------------------------------------------- */

#define FUNCTIONS(X)                    \
    X(u8_check)                         \
    X(u8_mbtouc_unsafe)                 \
    X(u8_wordbreaks)                    \
    X(uc_is_general_category_withtable) \
    X(uc_wordbreak_property)

struct libunistring {
    FUNCTIONS(TOOL_LOAD_FIELD)
};

static struct libunistring library;

static const char *load(const char *name, struct libunistring *functions)
{
    const struct bloomery_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    return bloomery_load_library(name, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

/* What an ASCII character is. Those of a row of LETTER, DIGIT and CONNECTOR are one word. A
 * character that joins letters or digits has that bit JOINS higher. 0: a separator. */
enum {
    LETTER = 1,
    DIGIT = 2,
    CONNECTOR = 4,
    IN_WORD = LETTER | DIGIT | CONNECTOR,
    JOINS = 3,
};

static unsigned char kinds[256];
/* Letters, digits and "_" are IN_WORD and nothing else is, as is_in_word() takes for granted. */
static bool kinds_are_usual;

static unsigned char kind_of(int property)
{
    switch (property) {
    case WBP_ALETTER:
        return LETTER;
    case WBP_NUMERIC:
        return DIGIT;
    case WBP_EXTENDNUMLET:
        return CONNECTOR;
    case WBP_MIDLETTER:
        return LETTER << JOINS;
    case WBP_MIDNUM:
        return DIGIT << JOINS;
    case WBP_MIDNUMLET:
    case WBP_SQ:
        return (LETTER | DIGIT) << JOINS;
    default:
        return 0;
    }
}

const char *tool_words_load(void)
{
    /* Since 1.1, since 0.9.7, and before. These functions are the same in all. */
    static const char *const names[] = {"libunistring.so.5", "libunistring.so.2",
                                        "libunistring.so.0"};
    const char *reason = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        reason = load(names[i], &library);
        if (reason == NULL)
            break;
    }
    if (reason != NULL)
        return load("libunistring.so.2", &library);
    kinds_are_usual = true;
    for (unsigned c = 0; c < 128; c++) {
        const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
        kinds[c] = kind_of(library.uc_wordbreak_property(c));
        kinds_are_usual = kinds_are_usual && (kinds[c] & IN_WORD) == (letter     ? LETTER
                                                                      : digit    ? DIGIT
                                                                      : c == '_' ? CONNECTOR
                                                                                 : 0);
    }
    return NULL;
}

/* ---- Words ----------------------------------------------------------------------------------- */

enum { QUICK = 16 };

/* Returns the memory, grown to `bytes`, or NULL after noting that it is exhausted. */
static void *grow(struct tool_words *words, void *memory, size_t bytes)
{
    void *grown = realloc(memory, bytes);
    if (grown == NULL)
        words->missing = bytes;
    return grown;
}

static bool make_room(struct tool_words *words, size_t bytes)
{
    /* QUICK more than there are, since add_word() writes QUICK bytes for any length of the word. */
    const size_t joined = words->joined_bytes + bytes + 1 + QUICK;
    if (joined > words->joined_room) {
        const size_t room = joined + joined / 2 + 4096;
        unsigned char *grown = grow(words, words->joined, room);
        if (grown == NULL)
            return false;
        words->joined = grown;
        words->joined_room = room;
    }
    if (words->count == words->room) {
        const size_t room = words->room + words->room / 2 + 512;
        struct tool_word *grown = grow(words, words->words, room * sizeof(*grown));
        if (grown == NULL)
            return false;
        words->words = grown;
        words->room = room;
    }
    return true;
}

/* Adds text[0, bytes); `readable` bytes of it may be read. Without memory for it nothing is added,
 * which words->missing says. */
static inline void add_word(struct tool_words *words, const unsigned char *text, size_t bytes,
                            size_t readable)
{
    if (words->joined_bytes + bytes + 1 + QUICK > words->joined_room || words->count == words->room)
        if (!make_room(words, bytes))
            return;
    size_t begin = words->joined_bytes;
    if (words->count > 0)
        words->joined[begin++] = ' ';
    /* A copy of a constant length takes one instruction; most words are short. */
    if (bytes <= QUICK && readable >= QUICK)
        memcpy(words->joined + begin, text, QUICK);
    else
        memcpy(words->joined + begin, text, bytes);
    words->joined_bytes = begin + bytes;
    words->words[words->count++] =
        (struct tool_word){.begin = (uint32_t)begin, .end = (uint32_t)words->joined_bytes};
}

/* ---- ASCII ----------------------------------------------------------------------------------- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bits of those of eight ASCII characters that are IN_WORD; `letters`: that are letters or
 * digits. A sum of a byte and 0x80 - x has its high bit set if the byte is x or more. */
static inline uint64_t is_in_word(uint64_t text, uint64_t *letters)
{
    const uint64_t lower = text | EACH(0x20);
    const uint64_t letter = (lower + EACH(0x80 - 'a')) & ~(lower + EACH(0x80 - 'z' - 1));
    const uint64_t digit = (text + EACH(0x80 - '0')) & ~(text + EACH(0x80 - '9' - 1));
    const uint64_t connector = ~((text ^ EACH('_')) + EACH(0x7f));
    *letters = (letter | digit) & EACH(0x80);
    return (letter | digit | connector) & EACH(0x80);
}

/* Behind the characters in a row, from `at` on, that are IN_WORD. Adds what they are to `found`,
 * but for digits, which it may take for letters. */
static inline const unsigned char *skip_word(const unsigned char *at, const unsigned char *end,
                                             unsigned *found)
{
    while (end - at >= 8 && kinds_are_usual && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        uint64_t text, letters;
        memcpy(&text, at, sizeof(text));
        const uint64_t others = ~is_in_word(text, &letters) & EACH(0x80);
        /* The bits below the first other one. */
        if ((*found & (LETTER | DIGIT)) == 0 && (letters & (others - 1) & ~others) != 0)
            *found |= LETTER;
        if (others != 0)
            return at + __builtin_ctzll(others) / 8;
        at += sizeof(text);
    }
    while (at < end && (kinds[*at] & IN_WORD) != 0)
        *found |= kinds[*at++];
    return at;
}

static void split_ascii(struct tool_words *words, const unsigned char *at, const unsigned char *end)
{
    while (true) {
        while (at < end && (kinds[*at] & IN_WORD) == 0)
            at++;
        if (at == end)
            return;
        const unsigned char *begin = at;
        unsigned found = 0;
        do {
            found |= kinds[*at];
            at = skip_word(at + 1, end, &found);
            /* The character here joins that before it to that behind it. */
        } while (end - at >= 2 && kinds[at[0]] >> JOINS != 0 &&
                 (kinds[at[-1]] & kinds[at[1]] & kinds[at[0]] >> JOINS) != 0);
        if ((found & (LETTER | DIGIT)) != 0)
            add_word(words, begin, (size_t)(at - begin), (size_t)(end - begin));
    }
}

/* ---- Other text through libunistring --------------------------------------------------------- */

static bool has_letter_or_number(const unsigned char *text, size_t bytes)
{
    while (bytes > 0) {
        ucs4_t character;
        const size_t length = (size_t)library.u8_mbtouc_unsafe(&character, text, bytes);
        if (library.uc_is_general_category_withtable(character,
                                                     UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_N))
            return true;
        text += length;
        bytes -= length;
    }
    return false;
}

/* Of valid UTF-8. */
static void split_valid(struct tool_words *words, const unsigned char *text, size_t bytes)
{
    if (bytes > words->breaks_room) {
        const size_t room = bytes + bytes / 2 + 4096;
        free(words->breaks);
        words->breaks_room = 0;
        words->breaks = grow(words, NULL, room);
        if (words->breaks == NULL)
            return;
        words->breaks_room = room;
    }
    library.u8_wordbreaks(text, bytes, words->breaks);
    for (size_t begin = 0; begin < bytes;) {
        const char *next = memchr(words->breaks + begin + 1, 1, bytes - begin - 1);
        const size_t end = next != NULL ? (size_t)(next - words->breaks) : bytes;
        if (has_letter_or_number(text + begin, end - begin))
            add_word(words, text + begin, end - begin, bytes - begin);
        begin = end;
    }
}

/* ---- Cuts ------------------------------------------------------------------------------------ */

static bool is_ascii(unsigned char byte)
{
    return byte < 0x80;
}

/* Whether the text may be cut before `at`, which is not its first byte. */
static bool is_cut(const unsigned char *at)
{
    return is_ascii(at[-1]) && is_ascii(at[0]) && (kinds[at[-1]] == 0 || kinds[at[0]] == 0) &&
           !(at[-1] == ' ' && at[0] == ' ');
}

static const unsigned char *first_other(const unsigned char *at, const unsigned char *end)
{
    uint64_t bytes;
    for (; (size_t)(end - at) >= sizeof(bytes); at += sizeof(bytes)) {
        memcpy(&bytes, at, sizeof(bytes));
        if ((bytes & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    while (at < end && is_ascii(*at))
        at++;
    return at;
}

bool tool_words_split(struct tool_words *words, const unsigned char *text, size_t bytes)
{
    assert(library.u8_wordbreaks != NULL);
    words->count = words->joined_bytes = words->missing = 0;
    const unsigned char *at = text;
    const unsigned char *end = text + (bytes < TOOL_WORDS_TEXT_MAX ? bytes : TOOL_WORDS_TEXT_MAX);
    while (at < end) {
        const unsigned char *other = first_other(at, end);
        if (other == end) {
            split_ascii(words, at, end);
            break;
        }
        const unsigned char *stretch = other;
        while (stretch > at && !is_cut(stretch))
            stretch--;
        split_ascii(words, at, stretch);
        at = other + 1;
        while (at < end && !is_cut(at))
            at++;
        /* The stretch goes to the library, without the bytes that are not UTF-8. */
        while (stretch < at) {
            const unsigned char *invalid = library.u8_check(stretch, (size_t)(at - stretch));
            const unsigned char *valid_end = invalid != NULL ? invalid : at;
            if (valid_end > stretch)
                split_valid(words, stretch, (size_t)(valid_end - stretch));
            stretch = valid_end + (invalid != NULL);
        }
        assert(stretch == at);
    }
    return words->missing == 0;
}

#else /* a Python package may be built where the headers are not */

const char *tool_words_load(void)
{
    return "this build was made without its headers";
}

bool tool_words_split(struct tool_words *words, const unsigned char *text, size_t bytes)
{
    (void)words, (void)text, (void)bytes;
    assert(false); /* loading it failed */
    return false;
}

#endif

void tool_words_free(struct tool_words *words)
{
    free(words->joined);
    free(words->words);
    free(words->breaks);
    *words = (struct tool_words){0};
}

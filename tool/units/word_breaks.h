/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a text by Unicode's word boundaries (UAX 29), from libunistring.
 * word_breaks.c holds the essay.
 */
#ifndef BLOOMERY_TOOL_UNITS_WORD_BREAKS_H
#define BLOOMERY_TOOL_UNITS_WORD_BREAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only the first bytes of a text are split, at most this number: places of words have 32 bits. */
#define TOOL_WORDS_TEXT_MAX ((size_t)1 << 30)

/* Its place in the joined words: bytes [begin, end). */
struct tool_word {
    uint32_t begin, end;
};

/* Zeros to begin with. Room is kept from text to text. */
struct tool_words {
    unsigned char *joined; /* the words one after the other, one space between */
    size_t joined_bytes, joined_room;
    struct tool_word *words;
    size_t count, room;
    char *breaks; /* libunistring's answers for one stretch */
    size_t breaks_room;
    size_t missing; /* bytes that the last split could not have; 0: none */
};

/* Loads libunistring, for good. NULL, or why it can't be had, which stays until the thread's next
 * call. Called with success before any text is split, and before there are other threads. */
const char *tool_words_load(void);

/*
 * Splits UTF-8 text into words: those pieces between word boundaries that hold a letter or a number
 * (general categories L and N). Words i to i+n-1 are joined[words[i].begin, words[i+n-1].end).
 * False if memory is exhausted: words are missing then.
 *
 * A byte that does not belong to a character is between two boundaries, and is not a word. Time:
 * linear. Memory: up to twice the text, 8 bytes a word, and a byte for each byte of the longest
 * stretch that is not plain ASCII. Reads no byte outside the text. Threads need a struct each.
 */
bool tool_words_split(struct tool_words *words, const unsigned char *text, size_t bytes);

void tool_words_free(struct tool_words *words);

#endif /* BLOOMERY_TOOL_UNITS_WORD_BREAKS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting text into records, 64 bytes at a step, with the vectors that the processor has. split.c
 * holds the essay.
 */
#ifndef BLOOMERY_TOOL_SPLIT_H
#define BLOOMERY_TOOL_SPLIT_H

#include <bloomery/bloomery.h>

#include <stddef.h>

/* How many keys tool_split may write beyond the requested ones: those that the last step finds. */
enum { TOOL_SPLIT_SLACK = 64 };

/*
 * Takes up to `most` records out of [*from, end) and moves *from behind the last one. The byte
 * before `end` is a delimiter, so all records are whole; nothing at or behind `end` is read.
 * Returns how many there are; 0 if *from is `end`. `keys` has room for `most` + TOOL_SPLIT_SLACK.
 */
size_t tool_split(const unsigned char **from, const unsigned char *end, unsigned char delimiter,
                  bloomery_key *keys, size_t most);

/* How many records there are in [from, end): the number of delimiters. */
size_t tool_split_count(const unsigned char *from, const unsigned char *end,
                        unsigned char delimiter);

/* The levels by themselves, for the test: each gives the same. */
typedef size_t tool_split_function(const unsigned char **from, const unsigned char *end,
                                   unsigned char delimiter, bloomery_key *keys, size_t most);
typedef size_t tool_split_count_function(const unsigned char *from, const unsigned char *end,
                                         unsigned char delimiter);

struct tool_split_level {
    const char *name;
    tool_split_function *split;
    tool_split_count_function *count;
};

/* Level `index`, from the plainest up; NULL if this processor has no such level. */
const struct tool_split_level *tool_split_level(size_t index);

#endif /* BLOOMERY_TOOL_SPLIT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Where text is cut into records: 64 bytes at a step, with the vectors that the processor has, and
 * beside that for fields in quotes, which may have line ends in them. split.c holds the essay. */
#ifndef BLOOMERY_TOOL_SPLIT_H
#define BLOOMERY_TOOL_SPLIT_H
#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- Records with quotes --------------------------------------------------------------------- */

/*
 * Finds the ends of records whose fields may stand in quotes. As RFC 4180 has it, a line end within
 * quotes is a byte of the field:
 *
 *     1,"two        one record of two lines
 *     lines",x
 *     2,a"b         a record: a quote within a field is a letter
 *
 * Reading is cut at ends that a scan finds, which reads the bytes as they come and keeps its place.
 * Each thread then finds the records of the cut text for itself.
 */

struct tool_quotes {
    bool heeded; /* otherwise a record ends at each terminator */
    unsigned char delimiter;
    unsigned char comment; /* a record that begins so ends with its line; 0: none does */
};

enum tool_quotes_place {
    TOOL_AT_MARK, /* an input begins here, perhaps with a byte order mark */
    TOOL_AT_RECORD,
    TOOL_AT_FIELD,
    TOOL_IN_FIELD,  /* quotes are letters here */
    TOOL_IN_QUOTES, /* behind the one that began the field */
    TOOL_AT_QUOTE,  /* behind one within quotes: it closes, or is the first of two */
    TOOL_IN_COMMENT,
};

struct tool_scan {
    struct tool_quotes quotes;
    unsigned char terminator;
    enum tool_quotes_place place;
    uint32_t mark; /* bytes of it that were seen */
    uint64_t scanned;
    uint64_t opened; /* the last quoted field's beginning, in bytes from the scan's */
};

/* A scan from the beginning of a record; `marked`: of an input, whose mark does not count. */
struct tool_scan tool_scan_begin(const struct tool_quotes *quotes, unsigned char terminator,
                                 bool marked);

/* Goes on over `count` bytes. How many of them end whole records: up to behind the last end. With
 * `first`, up to behind the first end, and the scan is then there. 0: no record ends here. */
size_t tool_scan_on(struct tool_scan *scan, const unsigned char *bytes, size_t count, bool first);

/* Whether the scan is within quotes. */
static inline bool tool_scan_is_open(const struct tool_scan *scan)
{
    return scan->place == TOOL_IN_QUOTES;
}

/* As tool_split, for whole records that may have quotes. `inner` grows by the line ends within
 * them. */
size_t tool_quotes_split(const struct tool_quotes *quotes, const unsigned char **from,
                         const unsigned char *end, unsigned char terminator, bloomery_key *keys,
                         size_t most, uint64_t *inner);

#endif /* BLOOMERY_TOOL_SPLIT_H */

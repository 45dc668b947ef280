/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef BLOOMERY_TOOL_QUOTES_H
#define BLOOMERY_TOOL_QUOTES_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_quotes {
    bool heeded; /* otherwise a record ends at each terminator */
    unsigned char delimiter;
    unsigned char comment; /* a record that begins so ends with its line; 0: none does */
};

/* The rule for text that has quotes; NULL if each line of it is a record. */
const struct tool_quotes *tool_quotes_in(const struct tool_quotes *quotes,
                                         const unsigned char *text, size_t bytes);

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

/* The error of a record without an end, from the scan of what there is of it. Either the input
 * `ended`, or nothing longer than `most` is taken. */
void tool_scan_say(const struct tool_scan *scan, bool ended, const char *input, const char *line,
                   const char *most);

/* As tool_split, for whole records that may have quotes. `inner` grows by the line ends within
 * them. */
size_t tool_quotes_split(const struct tool_quotes *quotes, const unsigned char **from,
                         const unsigned char *end, unsigned char terminator, bloomery_key *keys,
                         size_t most, uint64_t *inner);

#endif /* BLOOMERY_TOOL_QUOTES_H */

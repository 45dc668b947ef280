/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file that is not our filter seems to be. Most formats of other systems have no magic,
 * but numbers in their headers that fit each other and the length of the file. That is enough to
 * say what a file looks like, and not enough to open it so: answers by a wrong guess are noise.
 */
#ifndef BLOOMERY_TOOL_FILTER_SNIFF_H
#define BLOOMERY_TOOL_FILTER_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a file that are looked at. A packed file has a length that is not known, and no last
 * bytes. */
enum { TOOL_LOOK_HEAD = 128, TOOL_LOOK_TAIL = 5 };

struct tool_looked_at {
    unsigned char head[TOOL_LOOK_HEAD];
    size_t head_bytes; /* all, if the file has fewer */
    unsigned char tail[TOOL_LOOK_TAIL];
    bool has_tail;
    bool length_known;
    uint64_t bytes;
};

struct tool_look {
    char text[200];      /* "a filter of dcso": what it looks like */
    const char *reading; /* the value of --dialect that reads it so; NULL: none does */
};

/* False if it looks like nothing known. */
bool tool_looks_like(const struct tool_looked_at *at, struct tool_look *look);

/* The dialects whose files have nothing to be recognised by, or not in all their forms. */
extern const char tool_looks_like_nothing[];

#endif /* BLOOMERY_TOOL_FILTER_SNIFF_H */

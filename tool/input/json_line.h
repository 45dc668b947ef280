/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One member of a line of JSON, by its path, and the place of its bytes in the line. json_line.c
 * holds the essay.
 */
#ifndef BLOOMERY_TOOL_JSON_LINE_H
#define BLOOMERY_TOOL_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TOOL_JSON_STEPS = 16,  /* of a path, at most */
    TOOL_JSON_DEPTH = 512, /* of arrays and objects in a line, at most */
    TOOL_JSON_PATH_BYTES = 512,
};

/* `url`, `meta.id`, `tags.0`: member names and places in arrays, with dots between them; `\.` is a
 * dot in a name. */
struct tool_json_path {
    const char *text; /* as it was given; not copied */
    size_t steps;
    struct {
        size_t name; /* its beginning in `names` */
        size_t bytes;
        long index; /* the name as a place in an array; -1: it is none */
    } step[TOOL_JSON_STEPS];
    char names[TOOL_JSON_PATH_BYTES];
};

/* False if the text is no path: empty, an empty name, too long. */
bool tool_json_path_parse(const char *text, struct tool_json_path *path);

enum tool_json_kind {
    TOOL_JSON_BROKEN,   /* the line is no JSON */
    TOOL_JSON_TOO_DEEP, /* its arrays and objects are nested beyond TOOL_JSON_DEPTH; what follows is
                         * not looked at */
    TOOL_JSON_MISSING,  /* it has no such member */
    TOOL_JSON_OTHER,    /* which is an object, an array, true, false or null */
    TOOL_JSON_NUMBER,
    TOOL_JSON_STRING,
};

struct tool_json_value {
    enum tool_json_kind kind;
    const unsigned char *at; /* a number's digits; the bytes between a string's quotes */
    size_t bytes;
    bool escaped; /* a string with a backslash in it: see tool_json_unescape */
};

/* Finds the value that the path leads to. The whole line is checked. Of members of one name the
 * last one counts. Reads no byte outside the line. Time: linear in the line. */
struct tool_json_value tool_json_find(const struct tool_json_path *path, const void *line,
                                      size_t bytes);

/* Writes what a string's bytes stand for, in UTF-8, to `to`, which has room for as many bytes as
 * `bytes`. A half of a surrogate pair that stands alone is written as three bytes. Returns how
 * many. */
size_t tool_json_unescape(const unsigned char *from, size_t bytes, unsigned char *to);

/* Writes `bytes` of text as the inside of a JSON string: quotes, backslashes and control characters
 * are escaped. `to` has room for 6 * bytes. Returns how many. */
size_t tool_json_escape(const unsigned char *from, size_t bytes, unsigned char *to);

#endif /* BLOOMERY_TOOL_JSON_LINE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a key's text in a record, beyond the one field that a key rule can name. It may be
 * several fields, fields by the names of a header, or a member of a line of JSON. It belongs to an
 * input, not to a filter, and no file keeps it.
 *
 *     -F 3,1       850101,Ada,Paris        text  Paris,850101     (with --csv: byte 31 between)
 *     --jsonl id   {"id": "x", "n": 1}     text  x
 */
#ifndef BLOOMERY_TOOL_LAYOUT_H
#define BLOOMERY_TOOL_LAYOUT_H
#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Lines of JSON --------------------------------------------------------------------------- */

/* One member of a line of JSON, by its path, and the place of its bytes in the line. layout.c has
 * the essay. */

enum {
    TOOL_JSON_STEPS = 16,  /* of a path, at most */
    TOOL_JSON_DEPTH = 512, /* of arrays and objects in a line, at most */
    TOOL_JSON_PATH_BYTES = 512,
};

/* `url`, `meta.id`, `tags.0`: member names and places in arrays, with dots between them; `\.` is a
 * dot in a name. Or a JSON pointer (RFC 6901), which begins with a slash: `/meta/id`, with `~1` for
 * a slash in a name and `~0` for a tilde. */
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

/* False if the text is not a path: empty, an empty name, too long, another escape than those. */
bool tool_json_path_parse(const char *text, struct tool_json_path *path);

enum tool_json_kind {
    TOOL_JSON_BROKEN,   /* the line is not JSON */
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

/* ---- Layouts --------------------------------------------------------------------------------- */

enum {
    TOOL_LAYOUT_FIELDS = 16,     /* at most */
    TOOL_LAYOUT_SEPARATOR = 31,  /* "unit separator": between the fields of a CSV record */
    TOOL_LAYOUT_NAME_BYTES = 64, /* of a name shown in messages */
};

struct tool_layout {
    uint32_t field_count; /* 0: the key rule names the field, or there is none */
    struct {
        int32_t number;   /* as in a key rule; 0: by name */
        const char *name; /* of the header; not NUL-terminated */
        size_t bytes;
    } fields[TOOL_LAYOUT_FIELDS];
    bool header; /* the first record of an input names its fields, and has no key */
    bool jsonl;
    struct tool_json_path path;

    /* How records are cut into fields. */
    uint32_t delimiter;
    uint32_t flags; /* BLOOMERY_RULE_CSV, BLOOMERY_RULE_CRLF */
};

/* The numbers of an input's fields: those that were named are looked up in its header. */
struct tool_columns {
    int32_t numbers[TOOL_LAYOUT_FIELDS];
};

/* Whether a layout says more than a key rule: NULL says nothing. */
static inline bool tool_layout_is_none(const struct tool_layout *layout)
{
    return layout == NULL || (layout->field_count == 0 && !layout->jsonl && !layout->header);
}

/* Takes the value of -F that is more than one number. False after a message. */
bool tool_layout_take_fields(struct tool_layout *layout, const char *text);

/* Finds the columns of an input in its header. Those with numbers need none. Returns NULL, or a
 * sentence in `error` that names the column that is missing. */
const char *tool_layout_find_columns(const struct tool_layout *layout, bloomery_key header,
                                     struct tool_columns *columns, char *error, size_t room);

/* Returns how many bytes tool_layout_text may write for a record of `bytes` bytes. */
size_t tool_layout_room(const struct tool_layout *layout, size_t bytes);

enum tool_text {
    TOOL_TEXT_FOUND,
    TOOL_TEXT_MISSING,  /* no such field or member, or it is neither a string nor a number */
    TOOL_TEXT_BROKEN,   /* no JSON */
    TOOL_TEXT_TOO_DEEP, /* JSON beyond TOOL_JSON_DEPTH */
};

/* The text of the key: a span of the record or of `to`. `open_quote`: the record ends within
 * quotes. */
enum tool_text tool_layout_text(const struct tool_layout *layout,
                                const struct tool_columns *columns, bloomery_key record,
                                unsigned char *to, bloomery_key *text, bool *open_quote);

/* The name of the wanted text in messages: "fields 3,1", "'meta.id'". Returns `text`. */
enum { TOOL_LAYOUT_TEXT_BYTES = 160 };
const char *tool_layout_describe(const struct tool_layout *layout,
                                 char text[TOOL_LAYOUT_TEXT_BYTES]);

#endif /* BLOOMERY_TOOL_LAYOUT_H */

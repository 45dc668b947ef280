/* SPDX-License-Identifier: Apache-2.0 */
#include "input/layout.h"

#include "tool.h"

#include <bloomery/records.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_field(struct tool_layout *layout, const char *text, size_t bytes)
{
    if (layout->field_count == TOOL_LAYOUT_FIELDS) {
        tool_usage("-F: at most %d fields make a key", TOOL_LAYOUT_FIELDS);
        return false;
    }
    if (bytes == 0) {
        tool_usage("-F: a field is missing between two commas");
        return false;
    }
    layout->fields[layout->field_count].number = 0;
    const size_t sign = text[0] == '-';
    if (bytes > sign && strspn(text + sign, "0123456789") >= bytes - sign) {
        const long number = bytes <= 10 ? strtol(text, NULL, 10) : 0;
        if (number == 0 || number > INT32_MAX || number < -INT32_MAX) {
            tool_usage(
                "-F: no field has the number %.*s: they are counted from 1 on, or from the end: "
                "-1 is the last",
                (int)bytes, text);
            return false;
        }
        layout->fields[layout->field_count].number = (int32_t)number;
    }
    layout->fields[layout->field_count].name = text;
    layout->fields[layout->field_count++].bytes = bytes;
    return true;
}

bool tool_layout_take_fields(struct tool_layout *layout, const char *text)
{
    layout->field_count = 0;
    while (true) {
        const size_t bytes = strcspn(text, ",");
        if (!take_field(layout, text, bytes))
            return false;
        if (text[bytes] == '\0')
            return true;
        text += bytes + 1;
    }
}

const char *tool_layout_describe(const struct tool_layout *layout,
                                 char text[TOOL_LAYOUT_TEXT_BYTES])
{
    if (layout->jsonl) {
        snprintf(text, TOOL_LAYOUT_TEXT_BYTES, "'%.100s'", layout->path.text);
        return text;
    }
    size_t used = (size_t)snprintf(text, TOOL_LAYOUT_TEXT_BYTES, "field%s",
                                   layout->field_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < layout->field_count && used < TOOL_LAYOUT_TEXT_BYTES; i++)
        used += (size_t)snprintf(text + used, TOOL_LAYOUT_TEXT_BYTES - used, "%s%.*s",
                                 i == 0 ? " " : ",", (int)layout->fields[i].bytes,
                                 layout->fields[i].name);
    return text;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Field `number` of a record. A field with quotes is written to `to`, without them. */
static int field_of(const struct tool_layout *layout, int32_t number, bloomery_key record,
                    unsigned char *to, bloomery_key *field)
{
    const bloomery_key_rule rule = {
        .flags = layout->flags, .field = number, .delimiter = layout->delimiter};
    const int result =
        (int)bloomery_rule_apply(&rule, record.data, record.bytes, to, record.bytes, field, NULL);
    assert(result != BLOOMERY_RECORD_RULE_REFUSED);
    return result;
}

/* The number of the header's field of this name; 0: there is none. */
static int32_t find_name(const struct tool_layout *layout, bloomery_key header, const char *name,
                         size_t bytes, unsigned char *room)
{
    bloomery_key field;
    for (int32_t number = 1; number < INT32_MAX; number++) {
        const int result = field_of(layout, number, header, room, &field);
        if ((result & ~BLOOMERY_RECORD_OPEN_QUOTE) != BLOOMERY_RECORD_KEY)
            return 0;
        const size_t returns = field.bytes > 0 && ((const char *)field.data)[field.bytes - 1] ==
                                                      '\r'; /* the line's, not the name's */
        if (field.bytes - returns == bytes && memcmp(field.data, name, bytes) == 0)
            return number;
    }
    return 0;
}

const char *tool_layout_find_columns(const struct tool_layout *layout, bloomery_key header,
                                     struct tool_columns *columns, char *error, size_t room)
{
    const char *result = NULL;
    unsigned char *names = tool_allocate(header.bytes + 1);
    for (uint32_t i = 0; i < layout->field_count && result == NULL; i++) {
        const char *name = layout->fields[i].name;
        const size_t bytes = layout->fields[i].bytes;
        columns->numbers[i] = layout->fields[i].number;
        if (columns->numbers[i] == 0)
            columns->numbers[i] = find_name(layout, header, name, bytes, names);
        if (columns->numbers[i] != 0)
            continue;
        snprintf(error, room, "its first record, the header, names no field '%.*s'",
                 (int)(bytes < TOOL_LAYOUT_NAME_BYTES ? bytes : TOOL_LAYOUT_NAME_BYTES), name);
        result = error;
    }
    free(names);
    return result;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Fields are joined in a room of their own, behind which each is unquoted. */
static size_t joined_room(const struct tool_layout *layout, size_t bytes)
{
    return layout->field_count * (bytes + 1);
}

size_t tool_layout_room(const struct tool_layout *layout, size_t bytes)
{
    return layout->jsonl ? bytes : joined_room(layout, bytes) + bytes;
}

static enum tool_text join(const struct tool_layout *layout, const struct tool_columns *columns,
                           bloomery_key record, unsigned char *to, bloomery_key *text,
                           bool *open_quote)
{
    const bool csv = (layout->flags & BLOOMERY_RULE_CSV) != 0;
    const unsigned char separator =
        csv ? (unsigned char)TOOL_LAYOUT_SEPARATOR : (unsigned char)layout->delimiter;
    unsigned char *const unquoted = to + joined_room(layout, record.bytes);
    size_t used = 0;
    for (uint32_t i = 0; i < layout->field_count; i++) {
        bloomery_key field;
        int result = field_of(layout, columns->numbers[i], record, unquoted, &field);
        *open_quote = *open_quote || (result & BLOOMERY_RECORD_OPEN_QUOTE) != 0;
        if ((result & ~BLOOMERY_RECORD_OPEN_QUOTE) != BLOOMERY_RECORD_KEY)
            return TOOL_TEXT_MISSING;
        if (layout->field_count == 1) {
            *text = field;
            return TOOL_TEXT_FOUND;
        }
        if (i > 0)
            to[used++] = separator;
        if (field.bytes > 0)
            memcpy(to + used, field.data, field.bytes);
        used += field.bytes;
    }
    assert(used <= joined_room(layout, record.bytes));
    *text = bloomery_key_of(to, used);
    return TOOL_TEXT_FOUND;
}

enum tool_text tool_layout_text(const struct tool_layout *layout,
                                const struct tool_columns *columns, bloomery_key record,
                                unsigned char *to, bloomery_key *text, bool *open_quote)
{
    if (!layout->jsonl)
        return join(layout, columns, record, to, text, open_quote);
    const struct tool_json_value value = tool_json_find(&layout->path, record.data, record.bytes);
    if (value.kind == TOOL_JSON_BROKEN)
        return TOOL_TEXT_BROKEN;
    if (value.kind == TOOL_JSON_TOO_DEEP)
        return TOOL_TEXT_TOO_DEEP;
    if (value.kind != TOOL_JSON_STRING && value.kind != TOOL_JSON_NUMBER)
        return TOOL_TEXT_MISSING;
    *text = value.escaped ? bloomery_key_of(to, tool_json_unescape(value.at, value.bytes, to))
                          : bloomery_key_of(value.at, value.bytes);
    return TOOL_TEXT_FOUND;
}

/* ---- Lines of JSON --------------------------------------------------------------------------- */

/*
 * Lines of JSON are read in place: no tree is built, and what is found is a span of the line.
 *
 *     path   meta . id
 *     line   {"n": 1, "meta": {"tags": [], "id": "x\u0041"}}
 *                                                 ^^^^^^^^    at, bytes, escaped
 *
 * A parser's tree would not do for two reasons. A document whose text has been shortened is
 * otherwise written as it was, byte by byte. So the place of the text in the line is needed. And
 * such lines are nearly all one long string, which a tree copies and this passes over, eight bytes
 * a step.
 *
 * The line is checked whole, by the grammar of RFC 8259, but for two things. Bytes of 0x80 and
 * above are not checked to be UTF-8: keys are bytes. Halves of surrogate pairs may stand alone.
 *
 * `depth` counts the arrays and objects that are open. `matched` counts those of them on the path:
 * the outermost always, an inner one if the step of its depth named it.
 */

/* ---- JSON: paths ----------------------------------------------------------------------------- */

static long place_of(const char *name, size_t bytes)
{
    long place = 0;
    if (bytes == 0 || bytes > 9 || (bytes > 1 && name[0] == '0'))
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        place = 10 * place + (name[i] - '0');
    }
    return place;
}

/* The name of a step, up to a dot or the end. Returns what is behind it. */
static const char *read_name(const char *text, char **to)
{
    for (; *text != '\0' && *text != '.'; text++) {
        if (text[0] == '\\' && (text[1] == '.' || text[1] == '\\'))
            text++;
        *(*to)++ = *text;
    }
    return text;
}

/* The same of a JSON pointer, up to a slash; NULL at an escape that it does not have. */
static const char *read_token(const char *text, char **to)
{
    for (; *text != '\0' && *text != '/'; text++) {
        char byte = *text;
        if (byte == '~' && *++text != '0' && *text != '1')
            return NULL;
        if (byte == '~' && *text == '1')
            byte = '/';
        *(*to)++ = byte;
    }
    return text;
}

bool tool_json_path_parse(const char *text, struct tool_json_path *path)
{
    char *to = path->names;
    const bool pointer = text[0] == '/';
    path->text = text;
    path->steps = 0;
    if (strlen(text) >= sizeof(path->names))
        return false;
    text += pointer;
    while (true) {
        const char *name = to;
        text = pointer ? read_token(text, &to) : read_name(text, &to);
        if (text == NULL)
            return false;
        const size_t bytes = (size_t)(to - name);
        if (bytes == 0 || path->steps == TOOL_JSON_STEPS)
            return false;
        path->step[path->steps].name = (size_t)(name - path->names);
        path->step[path->steps].bytes = bytes;
        path->step[path->steps++].index = place_of(name, bytes);
        if (*text++ == '\0')
            return true;
    }
}

/* ---- JSON: strings --------------------------------------------------------------------------- */

/* In each byte of the result the highest bit is set if that byte ends a run of plain text. Such a
 * byte is a quote, a backslash or a control character. Above the first such byte bits may be set
 * wrongly. */
static inline uint64_t ends_of_text(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 0x80 * ones;
    const uint64_t quote = bytes ^ '"' * ones, back = bytes ^ '\\' * ones;
    const uint64_t control = (bytes - 0x20 * ones) & ~bytes;
    return (((quote - ones) & ~quote) | ((back - ones) & ~back) | control) & high;
}

/* The first byte from `at` on that is a quote, a backslash or a control character, or `end`. */
static const unsigned char *skip_text(const unsigned char *at, const unsigned char *end)
{
    uint64_t word;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        const uint64_t ends = ends_of_text(word);
        if (ends != 0)
            return at + __builtin_ctzll(ends) / 8;
    }
#else
    (void)word;
#endif
    while (at < end && *at != '"' && *at != '\\' && *at >= 0x20)
        at++;
    return at;
}

static int digit_of(unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Behind the escape at `at`, a backslash; NULL if it is none. */
static const unsigned char *skip_escape(const unsigned char *at, const unsigned char *end)
{
    if (end - at < 2)
        return NULL;
    if (at[1] != 'u')
        return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL ? at + 2 : NULL;
    if (end - at < 6)
        return NULL;
    for (int i = 2; i < 6; i++)
        if (digit_of(at[i]) < 0)
            return NULL;
    return at + 6;
}

/* The closing quote of a string whose inside begins at `at`; NULL if the string is broken. */
static const unsigned char *string_end(const unsigned char *at, const unsigned char *end,
                                       bool *escaped)
{
    *escaped = false;
    while (true) {
        at = skip_text(at, end);
        if (at == end || (*at != '"' && *at != '\\'))
            return NULL;
        if (*at == '"')
            return at;
        *escaped = true;
        at = skip_escape(at, end);
        if (at == NULL)
            return NULL;
    }
}

static uint32_t four_digits(const unsigned char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = 16 * value + (uint32_t)digit_of(at[i]);
    return value;
}

static unsigned char *put_utf8(uint32_t code, unsigned char *to)
{
    if (code < 0x80) {
        *to++ = (unsigned char)code;
    } else if (code < 0x800) {
        *to++ = (unsigned char)(0xc0 | code >> 6);
        *to++ = (unsigned char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (unsigned char)(0xe0 | code >> 12);
        *to++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (unsigned char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (unsigned char)(0xf0 | code >> 18);
        *to++ = (unsigned char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (unsigned char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Behind a \u, whose digits begin at `from`: its character, which may take a second \u. */
static const unsigned char *unescape_code(const unsigned char *from, const unsigned char *end,
                                          unsigned char **to)
{
    uint32_t code = four_digits(from);
    from += 4;
    if (code >= 0xd800 && code < 0xdc00 && end - from >= 6 && from[0] == '\\' && from[1] == 'u') {
        const uint32_t low = four_digits(from + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            from += 6;
        }
    }
    *to = put_utf8(code, *to);
    return from;
}

size_t tool_json_unescape(const unsigned char *from, size_t bytes, unsigned char *to)
{
    static const char letters[] = "bfnrt", stand_for[] = "\b\f\n\r\t";
    const unsigned char *const end = from + bytes, *const start = to;
    while (from < end) {
        const unsigned char *back = memchr(from, '\\', (size_t)(end - from));
        const size_t plain = (size_t)((back != NULL ? back : end) - from);
        memmove(to, from, plain);
        to += plain;
        if (back == NULL)
            break;
        assert(end - back >= 2); /* it was checked when it was found */
        from = back + 2;
        const char *letter = strchr(letters, back[1]);
        if (back[1] == 'u')
            from = unescape_code(from, end, &to);
        else
            *to++ = letter != NULL ? (unsigned char)stand_for[letter - letters] : back[1];
    }
    assert((size_t)(to - start) <= bytes);
    return (size_t)(to - start);
}

size_t tool_json_escape(const unsigned char *from, size_t bytes, unsigned char *to)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "bfnrt", stand_for[] = "\b\f\n\r\t";
    const unsigned char *const end = from + bytes, *const start = to;
    while (from < end) {
        const unsigned char *stop = skip_text(from, end);
        memcpy(to, from, (size_t)(stop - from));
        to += stop - from;
        from = stop;
        if (from == end)
            break;
        const char *letter = *from != '\0' ? strchr(stand_for, *from) : NULL;
        *to++ = '\\';
        if (*from >= 0x20)
            *to++ = *from;
        else if (letter != NULL)
            *to++ = (unsigned char)letters[letter - stand_for];
        else {
            memcpy(to, "u00", 3);
            to[3] = (unsigned char)digits[*from >> 4];
            to[4] = (unsigned char)digits[*from & 15];
            to += 5;
        }
        from++;
    }
    return (size_t)(to - start);
}

/* ---- JSON: other values ---------------------------------------------------------------------- */

static const unsigned char *skip_digits(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Behind a number; NULL if it is none. */
static const unsigned char *skip_number(const unsigned char *at, const unsigned char *end)
{
    if (at < end && *at == '-')
        at++;
    const unsigned char *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return NULL;
    if (at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    return at;
}

static const unsigned char *skip_blanks(const unsigned char *at, const unsigned char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* ---- JSON: a line ---------------------------------------------------------------------------- */

struct walk {
    const struct tool_json_path *path;
    const unsigned char *at, *end;
    size_t depth;                           /* arrays and objects that are open */
    size_t matched;                         /* of these, from the outermost on, those on the path */
    bool on_path;                           /* the next value is what the path leads to, or to */
    long places[TOOL_JSON_STEPS + 1];       /* of the next elements, in arrays on the path */
    uint64_t objects[TOOL_JSON_DEPTH / 64]; /* a bit for each that is open: it is an object */
    bool too_deep;
    struct tool_json_value found;
};

static bool in_object(const struct walk *walk)
{
    assert(walk->depth > 0);
    const size_t bit = walk->depth - 1;
    return walk->objects[bit / 64] >> bit % 64 & 1;
}

/* Whether the path goes on in the innermost that is open: then by step[depth - 1]. */
static bool has_step(const struct walk *walk)
{
    return walk->matched == walk->depth && walk->depth <= walk->path->steps;
}

/* A value found earlier in a member of the same name no longer counts. */
static void set_on_path(struct walk *walk, bool on_path)
{
    walk->on_path = on_path;
    if (on_path)
        walk->found = (struct tool_json_value){.kind = TOOL_JSON_MISSING};
}

/* Whether the next value is the wanted one. */
static bool is_wanted(const struct walk *walk)
{
    return walk->on_path && walk->depth == walk->path->steps;
}

/* Whether the name, as it is in the line, is that of the next step. */
static bool is_step(const struct walk *walk, const unsigned char *at, size_t bytes, bool escaped)
{
    unsigned char plain[6 * TOOL_JSON_PATH_BYTES];
    const size_t step = walk->depth - 1;
    if (!has_step(walk))
        return false;
    if (escaped && bytes <= 6 * walk->path->step[step].bytes) {
        bytes = tool_json_unescape(at, bytes, plain);
        at = plain;
    }
    return bytes == walk->path->step[step].bytes &&
           memcmp(at, walk->path->names + walk->path->step[step].name, bytes) == 0;
}

/* A member's name and the colon. */
static bool take_name(struct walk *walk)
{
    bool escaped;
    if (walk->at == walk->end || *walk->at != '"')
        return false;
    const unsigned char *name = walk->at + 1;
    const unsigned char *stop = string_end(name, walk->end, &escaped);
    if (stop == NULL)
        return false;
    set_on_path(walk, is_step(walk, name, (size_t)(stop - name), escaped));
    walk->at = skip_blanks(stop + 1, walk->end);
    if (walk->at == walk->end || *walk->at != ':')
        return false;
    walk->at = skip_blanks(walk->at + 1, walk->end);
    return true;
}

/* Comes to the next member or element. */
static bool take_next(struct walk *walk)
{
    if (in_object(walk))
        return take_name(walk);
    set_on_path(walk, has_step(walk) && walk->path->step[walk->depth - 1].index ==
                                            walk->places[walk->depth - 1]++);
    return true;
}

/* Opens an array or an object; `empty`: and closes it at once. */
static bool open_nested(struct walk *walk, bool *empty)
{
    const bool object = *walk->at == '{';
    walk->too_deep = walk->depth == TOOL_JSON_DEPTH;
    if (walk->too_deep)
        return false;
    if (is_wanted(walk))
        walk->found.kind = TOOL_JSON_OTHER;
    const size_t bit = walk->depth++;
    walk->objects[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    walk->objects[bit / 64] |= (uint64_t)object << bit % 64;
    if (bit == 0 || (walk->on_path && walk->matched == bit))
        walk->matched = walk->depth;
    if (has_step(walk))
        walk->places[bit] = 0;
    walk->at = skip_blanks(walk->at + 1, walk->end);
    *empty = walk->at < walk->end && *walk->at == (object ? '}' : ']');
    return *empty || take_next(walk);
}

/* Skips a value that is neither an array nor an object. False if it is not a value at all. */
static bool take_plain(struct walk *walk)
{
    const unsigned char *at = walk->at, *stop = NULL;
    struct tool_json_value value = {.kind = TOOL_JSON_OTHER, .at = at};
    if (at == walk->end)
        return false;
    if (*at == '"') {
        value.kind = TOOL_JSON_STRING;
        value.at = at + 1;
        stop = string_end(value.at, walk->end, &value.escaped);
        if (stop == NULL)
            return false;
        value.bytes = (size_t)(stop++ - value.at);
    } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
        value.kind = TOOL_JSON_NUMBER;
        stop = skip_number(at, walk->end);
        value.bytes = stop != NULL ? (size_t)(stop - at) : 0;
    } else {
        static const char *const words[] = {"true", "false", "null"};
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && stop == NULL; i++) {
            const size_t bytes = strlen(words[i]);
            if ((size_t)(walk->end - at) >= bytes && memcmp(at, words[i], bytes) == 0)
                stop = at + bytes;
        }
    }
    if (is_wanted(walk))
        walk->found = value;
    walk->at = stop;
    return stop != NULL;
}

/* Behind a value: closes what ends here, and comes to the next value. False if something else is
 * there. The depth is 0 at the end of the line. */
static bool go_on(struct walk *walk)
{
    while (walk->depth > 0) {
        walk->at = skip_blanks(walk->at, walk->end);
        if (walk->at == walk->end)
            return false;
        if (*walk->at == ',') {
            walk->at = skip_blanks(walk->at + 1, walk->end);
            return take_next(walk);
        }
        if (*walk->at != (in_object(walk) ? '}' : ']'))
            return false;
        walk->at++;
        if (walk->matched == walk->depth)
            walk->matched--;
        walk->depth--;
    }
    return true;
}

static bool walk_line(struct walk *walk)
{
    walk->at = skip_blanks(walk->at, walk->end);
    do {
        bool empty = true; /* nothing is left open */
        const bool nested = walk->at < walk->end && (*walk->at == '{' || *walk->at == '[');
        if (nested ? !open_nested(walk, &empty) : !take_plain(walk))
            return false;
        if (empty && !go_on(walk))
            return false;
    } while (walk->depth > 0);
    assert(walk->matched == 0);
    return skip_blanks(walk->at, walk->end) == walk->end;
}

struct tool_json_value tool_json_find(const struct tool_json_path *path, const void *line,
                                      size_t bytes)
{
    struct walk walk = {.path = path, .at = line, .end = (const unsigned char *)line + bytes};
    walk.found.kind = TOOL_JSON_MISSING;
    assert(path->steps > 0);
    if (!walk_line(&walk))
        return (struct tool_json_value){.kind =
                                            walk.too_deep ? TOOL_JSON_TOO_DEEP : TOOL_JSON_BROKEN};
    return walk.found;
}

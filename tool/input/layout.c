/* SPDX-License-Identifier: Apache-2.0 */
#include "input/layout.h"

#include "tool.h"

#include <bloomery/records.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

static bool is_number(const char *text, size_t bytes)
{
    const size_t sign = bytes > 0 && text[0] == '-';
    for (size_t i = sign; i < bytes; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return bytes > sign;
}

static bool take_field(struct tool_layout *layout, const char *text, size_t bytes)
{
    if (layout->field_count == TOOL_LAYOUT_FIELDS) {
        tool_usage("-F: at most %d fields make a key", TOOL_LAYOUT_FIELDS);
        return false;
    }
    if (bytes == 0) {
        tool_usage("-F: between two commas there is no field");
        return false;
    }
    layout->fields[layout->field_count].number = 0;
    if (is_number(text, bytes)) {
        const long number = bytes <= 10 ? strtol(text, NULL, 10) : 0;
        if (number == 0 || number > INT32_MAX || number < -INT32_MAX) {
            tool_usage("-F: there is no field %.*s: they are counted from 1 on, or from the end: "
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

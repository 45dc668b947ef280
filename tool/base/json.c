/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/out.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *must(json_t *value)
{
    if (value == NULL) {
        tool_error("not enough memory for the report");
        exit(TOOL_ERROR);
    }
    return value;
}

void tool_json_add(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        must(NULL);
}

void tool_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        must(NULL);
}

json_t *tool_json_count(uint64_t value)
{
    return must(value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value));
}

json_t *tool_json_integer(int64_t value)
{
    return must(json_integer((json_int_t)value));
}

json_t *tool_json_number(double value)
{
    return isfinite(value) ? must(json_real(value + 0.0)) : tool_json_null(); /* no minus zero */
}

json_t *tool_json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL)
        return value;
    /* Not UTF-8, most probably: every byte outside ASCII is doubtful. */
    char *plain = tool_allocate(strlen(text) + 1);
    size_t length = 0;
    for (; text[length] != '\0'; length++)
        plain[length] = (unsigned char)text[length] < 0x80 ? text[length] : '?';
    plain[length] = '\0';
    value = must(json_string(plain));
    free(plain);
    return value;
}

json_t *tool_json_bool(bool value)
{
    return json_boolean(value);
}

json_t *tool_json_null(void)
{
    return json_null();
}

json_t *tool_json_array(void)
{
    return must(json_array());
}

json_t *tool_json_object(void)
{
    return must(json_object());
}

static int take_text(const char *text, size_t bytes, void *out)
{
    tool_out_bytes(out, text, bytes);
    return 0;
}

int tool_json_print(json_t *object, int code)
{
    struct tool_out out;
    tool_out_start(&out);
    if (json_dump_callback(object, take_text, &out, JSON_INDENT(2)) != 0)
        must(NULL);
    tool_out_text(&out, "\n");
    json_decref(object);
    return tool_out_finish(&out, code);
}

void tool_json_say(json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (text == NULL) {
        tool_error("not enough memory for the report");
    } else {
        tool_status_line_wipe(); /* its lines are not those of a sentence */
        fprintf(stderr, "%s\n", text);
    }
    free(text);
}

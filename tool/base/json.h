/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON output on top of jansson: what reports (report.h) are printed with, and lists that are
 * printed piece by piece. Numbers are not rounded, and sizes are plain bytes.
 */
#ifndef BLOOMERY_TOOL_JSON_H
#define BLOOMERY_TOOL_JSON_H

#include <bloomery/bloomery.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* No value from here is NULL: running out of memory ends the program with a message. */

/* Adds a member or an element, and takes the value over. */
void tool_json_add(json_t *object, const char *name, json_t *value);
void tool_json_append(json_t *array, json_t *value);

/* Values. A double that is infinite or not a number is null. Bytes that are not UTF-8 are replaced
 * by '?'. */
json_t *tool_json_count(uint64_t value); /* from 2^63 on it is rounded */
json_t *tool_json_integer(int64_t value);
json_t *tool_json_number(double value);
json_t *tool_json_text(const char *text);
json_t *tool_json_bool(bool value);
json_t *tool_json_null(void);
json_t *tool_json_array(void);
json_t *tool_json_object(void);

/* Prints the object and a newline on stdout, frees it, and returns `code`, or TOOL_ERROR after a
 * message if writing failed. */
int tool_json_print(json_t *object, int code);

/* The same on stderr, for commands whose stdout has something else. */
void tool_json_say(json_t *object);

#endif /* BLOOMERY_TOOL_JSON_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, written into one buffer: how the module hands facts to the page.
 *
 * One text at a time. It is valid until the next one is begun. Numbers that no JSON has (infinity,
 * NaN) become null.
 */
#ifndef WEB_JSON_H
#define WEB_JSON_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the last call that failed did so (wasm.c). */
extern bloomery_error web_error;

/* Begins a text with '{', or '[' for a list. */
void json_begin(char bracket);

/* Ends it, and returns it. A text that found no room is "null". */
const char *json_end(char bracket);

/* A member of the object; name NULL: an element of the list. */
void json_number(const char *name, double value);
void json_bool(const char *name, bool value);
void json_text(const char *name, const char *text); /* NULL: null */
void json_hex(const char *name, uint64_t value);    /* 16 digits, as a text */
void json_open(const char *name, char bracket);
void json_close(char bracket);

#endif

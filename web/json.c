/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Enough for a note of 4,000 bytes, each written as six, and 64 layers. */
static char text[1 << 16];
static size_t used;
static bool overflown;
static bool first;

static void put(const char *bytes, size_t count)
{
    if (count >= sizeof text - used) {
        overflown = true;
        return;
    }
    memcpy(text + used, bytes, count);
    used += count;
    text[used] = '\0';
}

static void put_quoted(const char *string)
{
    char escaped[8];
    put("\"", 1);
    for (; *string != '\0'; string++) {
        const unsigned char byte = (unsigned char)*string;
        if (byte < ' ' || byte == '"' || byte == '\\') {
            snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            put(escaped, 6);
        } else {
            put(string, 1);
        }
    }
    put("\"", 1);
}

static void put_name(const char *name)
{
    if (!first)
        put(",", 1);
    first = false;
    if (name != NULL) {
        put_quoted(name);
        put(":", 1);
    }
}

void json_begin(char bracket)
{
    used = 0;
    overflown = false;
    put(&bracket, 1);
    first = true;
}

const char *json_end(char bracket)
{
    put(&bracket, 1);
    return overflown ? "{\"error\":\"there is too much to say\",\"status\":-11,\"name\":\"\"}"
                     : text;
}

void json_number(const char *name, double value)
{
    char digits[32] = "null";
    put_name(name);
    if (isfinite(value))
        snprintf(digits, sizeof digits, "%.17g", value);
    put(digits, strlen(digits));
}

void json_bool(const char *name, bool value)
{
    put_name(name);
    put(value ? "true" : "false", value ? 4 : 5);
}

void json_text(const char *name, const char *string)
{
    put_name(name);
    if (string == NULL)
        put("null", 4);
    else
        put_quoted(string);
}

void json_hex(const char *name, uint64_t value)
{
    char digits[20];
    put_name(name);
    snprintf(digits, sizeof digits, "\"%08lx%08lx\"", (unsigned long)(value >> 32),
             (unsigned long)(value & UINT32_MAX));
    put(digits, strlen(digits));
}

void json_open(const char *name, char bracket)
{
    put_name(name);
    put(&bracket, 1);
    first = true;
}

void json_close(char bracket)
{
    put(&bracket, 1);
    first = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A character is one unit of two bytes, or two units, the surrogates, of which the first says so:
 *
 *     d83d de00    1f600    f0 9f 98 80
 *
 * A surrogate without its other half is an error, and no replacement character: two keys would
 * become one.
 */
#include "input/utf16.h"

#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAW_BYTES = 1 << 16, CHARACTER_BYTES = 4, SEEN_BYTES = 4096, SEEN_LEAST = 8 };

struct tool_utf16 {
    tool_utf16_source *read;
    void *context;
    bool big; /* the higher byte of a unit comes first */
    bool ended;
    uint64_t offset; /* of raw[from] in the input */
    size_t from, used, capacity;
    unsigned char *raw; /* bytes to be transcoded: [from, used) */
    unsigned char pending[CHARACTER_BYTES];
    size_t pending_bytes; /* of a character for which there was no room: its last ones */
    char error[100];
};

bool tool_utf16_is_marked(const unsigned char *bytes, size_t count)
{
    return count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}

const char *tool_utf16_seems(const unsigned char *bytes, size_t count)
{
    size_t nuls[2] = {0, 0};
    if (count > SEEN_BYTES)
        count = SEEN_BYTES;
    count &= ~(size_t)1;
    for (size_t i = 0; i < count; i++)
        nuls[i % 2] += bytes[i] == '\0';
    if (count < SEEN_LEAST || (nuls[0] > 0 && nuls[1] > 0))
        return NULL;
    if (nuls[1] >= count / 2 - count / 8)
        return "UTF-16LE";
    return nuls[0] >= count / 2 - count / 8 ? "UTF-16BE" : NULL;
}

struct tool_utf16 *tool_utf16_open(tool_utf16_source *read, void *context,
                                   const unsigned char *head, size_t count)
{
    assert(tool_utf16_is_marked(head, count));
    struct tool_utf16 *text = tool_allocate(sizeof(*text));
    *text = (struct tool_utf16){.read = read, .context = context, .big = head[0] == 0xfe};
    text->capacity = count > RAW_BYTES ? count : RAW_BYTES;
    text->raw = tool_allocate(text->capacity);
    memcpy(text->raw, head, count);
    text->used = count;
    return text;
}

static uint32_t unit_at(const struct tool_utf16 *text, size_t at)
{
    const unsigned char *bytes = text->raw + at;
    return text->big ? (uint32_t)bytes[0] << 8 | bytes[1] : (uint32_t)bytes[1] << 8 | bytes[0];
}

static size_t write_utf8(unsigned char *to, uint32_t character)
{
    static const unsigned char first[CHARACTER_BYTES + 1] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (character < 0x80) {
        to[0] = (unsigned char)character;
        return 1;
    }
    const size_t bytes = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--, character >>= 6)
        to[i] = (unsigned char)(0x80 | (character & 0x3f));
    to[0] = (unsigned char)(first[bytes] | character);
    return bytes;
}

/* The next character of the bytes at hand: its UTF-8 is written to `to`. 0 if more bytes are
 * needed, or after an error. */
static size_t take_character(struct tool_utf16 *text, unsigned char to[CHARACTER_BYTES])
{
    const size_t left = text->used - text->from;
    size_t taken = 2;
    if (left < 2)
        return 0;
    uint32_t character = unit_at(text, text->from);
    if (character >= 0xd800 && character < 0xe000) {
        if (character < 0xdc00 && left < 4 && !text->ended)
            return 0;
        const uint32_t other = left >= 4 ? unit_at(text, text->from + 2) : 0;
        if (character >= 0xdc00 || other < 0xdc00 || other >= 0xe000) {
            snprintf(text->error, sizeof(text->error),
                     "half a character of UTF-16 at byte %llu; --text takes its bytes as they are",
                     (unsigned long long)text->offset);
            return 0;
        }
        character = 0x10000 + ((character - 0xd800) << 10) + (other - 0xdc00);
        taken = 4;
    }
    text->from += taken;
    text->offset += taken;
    return write_utf8(to, character);
}

/* 1, 0 at the end, -1. */
static int read_more(struct tool_utf16 *text)
{
    if (text->ended && text->used > text->from) {
        snprintf(text->error, sizeof(text->error),
                 "ends within a character of UTF-16; --text takes its bytes as they are");
        return -1;
    }
    if (text->ended)
        return 0;
    memmove(text->raw, text->raw + text->from, text->used - text->from);
    text->used -= text->from;
    text->from = 0;
    ssize_t count = text->read(text->context, text->raw + text->used, text->capacity - text->used);
    if (count < 0)
        return -1;
    text->ended = count == 0;
    text->used += (size_t)count;
    return 1;
}

static size_t take_pending(struct tool_utf16 *text, unsigned char *buffer, size_t room)
{
    const size_t count = text->pending_bytes < room ? text->pending_bytes : room;
    memcpy(buffer, text->pending, count);
    text->pending_bytes -= count;
    memmove(text->pending, text->pending + count, text->pending_bytes);
    return count;
}

ssize_t tool_utf16_read(struct tool_utf16 *text, unsigned char *buffer, size_t room)
{
    size_t done = 0;
    assert(room > 0);
    while (done == 0) {
        if (text->pending_bytes > 0)
            return (ssize_t)take_pending(text, buffer, room);
        size_t count = 1;
        while (room - done >= CHARACTER_BYTES && count > 0) {
            count = take_character(text, buffer + done);
            done += count;
        }
        if (room < CHARACTER_BYTES)
            text->pending_bytes = count = take_character(text, text->pending);
        if (done > 0 || count > 0)
            continue;
        int more = text->error[0] != '\0' ? -1 : read_more(text);
        if (more <= 0)
            return more;
    }
    return (ssize_t)done;
}

const char *tool_utf16_error(const struct tool_utf16 *text)
{
    return text->error;
}

void tool_utf16_close(struct tool_utf16 *text)
{
    free(text->raw);
    free(text);
}

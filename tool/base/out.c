/* SPDX-License-Identifier: Apache-2.0 */
#include "base/out.h"

#include "base/system.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tool_out_start(struct tool_out *out)
{
    out->used = 0;
    out->failure = 0;
    out->written = 0;
    tool_out_redirect(out, STDOUT_FILENO, "stdout");
}

void tool_out_redirect(struct tool_out *out, int descriptor, const char *said)
{
    out->descriptor = descriptor;
    out->said = said;
    out->sink = NULL;
}

void tool_out_divert(struct tool_out *out,
                     int (*sink)(void *context, const void *data, size_t bytes), void *context)
{
    out->sink = sink;
    out->context = context;
}

static void out_write(struct tool_out *out, const unsigned char *data, size_t bytes)
{
    if (bytes > 0)
        tool_watched_check(); /* what is wrong by now does not leave */
    if (out->failure == 0 && out->sink != NULL)
        out->failure = out->sink(out->context, data, bytes);
    else if (out->failure == 0)
        out->failure = tool_write_all(out->descriptor, data, bytes, &out->written);
}

bool tool_out_flush(struct tool_out *out)
{
    out_write(out, out->buffer, out->used);
    out->used = 0;
    return out->failure == 0;
}

bool tool_out_failed(const struct tool_out *out)
{
    return out->failure != 0;
}

void tool_out_bytes(struct tool_out *out, const void *data, size_t bytes)
{
    if (bytes > TOOL_OUT_BYTES - out->used)
        tool_out_flush(out);
    if (bytes > TOOL_OUT_BYTES) { /* too long to gain anything from a copy */
        out_write(out, data, bytes);
        return;
    }
    if (bytes > 0)
        memcpy(out->buffer + out->used, data, bytes);
    out->used += bytes;
    assert(out->used <= TOOL_OUT_BYTES);
}

void tool_out_text(struct tool_out *out, const char *text)
{
    tool_out_bytes(out, text, strlen(text));
}

void tool_out_format(struct tool_out *out, const char *format, ...)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t room = TOOL_OUT_BYTES - out->used;
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf((char *)out->buffer + out->used, room, format, arguments);
        va_end(arguments);
        if (length < 0)
            return;
        if ((size_t)length < room) {
            out->used += (size_t)length;
            return;
        }
        tool_out_flush(out);
    }
    out->failure = EMSGSIZE; /* longer than out.h allows: better an error than a line cut short */
}

void tool_out_name(struct tool_out *out, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    char *copy = tool_allocate(bytes);
    memcpy(copy, name, bytes);
    tool_out_text(out, tool_printable(copy));
    free(copy);
}

unsigned char *tool_out_room(struct tool_out *out, size_t bytes)
{
    assert(bytes <= TOOL_OUT_BYTES);
    if (bytes > TOOL_OUT_BYTES - out->used)
        tool_out_flush(out);
    return out->buffer + out->used;
}

void tool_out_take(struct tool_out *out, size_t bytes)
{
    out->used += bytes;
    assert(out->used <= TOOL_OUT_BYTES);
}

int tool_out_finish(struct tool_out *out, int code)
{
    tool_out_flush(out);
    if (out->failure != 0) {
        tool_error("writing to %s: %s", out->said, strerror(out->failure));
        return TOOL_ERROR;
    }
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* All messages for people, on stderr. */
#include "base/experimental.h"
#include "tool.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The line on the terminal ---------------------------------------------------------------- */

static bool line_stands;

void tool_status_line_begin(void)
{
    line_stands = true;
}

void tool_status_line_wipe(void)
{
    if (line_stands)
        fputs("\r\x1b[K", stderr);
    line_stands = false;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static const char *program = "bloomery";
static const struct tool_command *running;

void tool_set_command(const struct tool_command *command)
{
    running = command;
}

void tool_set_program(const struct tool_command *command)
{
    program = command->name;
    running = command;
}

/* The subcommand's name, "" if there is none. */
static const char *subcommand(void)
{
    return running != NULL && running->name != program ? running->name : "";
}

const struct tool_command *tool_running_command(void)
{
    return running;
}

/* The bytes of the UTF-8 character that begins here; 1 if none does. */
static size_t utf8_bytes(const unsigned char *text)
{
    const size_t bytes = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 1;
    return bytes;
}

char *tool_printable(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t bytes = utf8_bytes(at);
        /* The control characters from 0x80 on: two bytes in UTF-8, or one of another encoding. */
        const bool control =
            bytes == 1 ? *at < 0x20 || (*at >= 0x7f && *at < 0xa0) : at[0] == 0xc2 && at[1] < 0xa0;
        if (control)
            memset(at, '?', bytes);
        at += bytes;
    }
    return text;
}

enum { SENTENCE_BYTES = 8000, LINE_BYTES = SENTENCE_BYTES + 64 };

static void say_format(const char *kind, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void say_format(const char *kind, const char *format, va_list arguments)
{
    char sentence[SENTENCE_BYTES];
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    /* One line in one piece: commands that run side by side share a terminal or a log. */
    char line[LINE_BYTES];
    const char *part = subcommand();
    int length = snprintf(line, sizeof(line), "%s: %s%s%s%s\n", program, part,
                          part[0] != '\0' ? ": " : "", kind, tool_printable(sentence));
    tool_status_line_wipe();
    if (length > 0 && (size_t)length < sizeof(line))
        fwrite(line, 1, (size_t)length, stderr);
}

void tool_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format("", format, arguments);
    va_end(arguments);
}

void tool_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format("warning: ", format, arguments);
    va_end(arguments);
}

void tool_notice(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format("note: ", format, arguments);
    va_end(arguments);
}

int tool_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format("", format, arguments);
    va_end(arguments);
    const char *part = subcommand();
    fprintf(stderr, "try '%s%s%s --help'\n", program, part[0] != '\0' ? " " : "", part);
    return TOOL_ERROR;
}

void tool_say(const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    tool_status_line_wipe();
    fprintf(stderr, "%s\n", tool_printable(sentence));
}

/* Whether a sentence of the library names the file itself: at its beginning, or as a path in it. A
 * word at its end may be one of the sentence, as in "the file is empty". */
static bool is_named(const char *text, const char *name)
{
    char what[SENTENCE_BYTES]; /* as the library shows it */
    snprintf(what, sizeof(what), "%s", name);
    const size_t bytes = strlen(tool_printable(what));
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        const char next = at[bytes];
        if ((at == text || at[-1] == ' ') &&
            ((next != '\0' && strchr(":/,;", next) != NULL) || (at == text && next == ' ')))
            return true;
    }
    return false;
}

int tool_library_error(const char *what, const bloomery_error *error)
{
    if (what == NULL || what[0] == '\0' || is_named(error->text, what))
        tool_error("%s", error->text);
    else
        tool_error("%s: %s", what, error->text);
    return TOOL_ERROR;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *tool_allocate(size_t bytes)
{
    return tool_reallocate(NULL, bytes);
}

void tool_no_memory(uint64_t bytes)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    tool_error("not enough memory for %llu bytes%s%s", (unsigned long long)bytes,
               bytes > limits.room ? ": " : "", bytes > limits.room ? limits.text : "");
}

void *tool_reallocate(void *memory, size_t bytes)
{
    void *grown = realloc(memory, bytes > 0 ? bytes : 1);
    if (grown == NULL) {
        tool_no_memory(bytes);
        exit(TOOL_ERROR);
    }
    return grown;
}

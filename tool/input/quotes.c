/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record without quotes costs one look for its end. If there are quotes, a field is read byte by
 * byte, one byte per cycle. Text in quotes is searched from quote to quote.
 */
#include "input/quotes.h"

#include "input/split.h"
#include "tool.h"

#include <assert.h>
#include <string.h>

const struct tool_quotes *tool_quotes_in(const struct tool_quotes *quotes,
                                         const unsigned char *text, size_t bytes)
{
    return quotes->heeded && memchr(text, '"', bytes) != NULL ? quotes : NULL;
}

struct tool_scan tool_scan_begin(const struct tool_quotes *quotes, unsigned char terminator,
                                 bool marked)
{
    return (struct tool_scan){.quotes = *quotes,
                              .terminator = terminator,
                              .place = marked ? TOOL_AT_MARK : TOOL_AT_RECORD};
}

/* Behind the byte, or `count` if it does not come. */
static size_t behind(const unsigned char *bytes, size_t at, size_t count, unsigned char byte)
{
    const unsigned char *found = memchr(bytes + at, byte, count - at);
    return found != NULL ? (size_t)(found - bytes) + 1 : count;
}

/* A byte that begins a field, or a record. It is taken only if it is a quote. */
static size_t begin_field(struct tool_scan *scan, const unsigned char *bytes, size_t at)
{
    const struct tool_quotes *quotes = &scan->quotes;
    if (scan->place == TOOL_AT_RECORD && quotes->comment != 0 && bytes[at] == quotes->comment) {
        scan->place = TOOL_IN_COMMENT;
        return at;
    }
    scan->place = bytes[at] == '"' ? TOOL_IN_QUOTES : TOOL_IN_FIELD;
    if (scan->place == TOOL_IN_FIELD)
        return at;
    scan->opened = scan->scanned + at;
    return at + 1;
}

static size_t skip_mark(struct tool_scan *scan, const unsigned char *bytes, size_t at)
{
    static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};
    if (bytes[at] != mark[scan->mark]) {
        scan->place = scan->mark == 0 ? TOOL_AT_RECORD : TOOL_IN_FIELD;
        return at;
    }
    if (++scan->mark == sizeof(mark))
        scan->place = TOOL_AT_RECORD;
    return at + 1;
}

/* To the end of a field, or of the bytes. */
static size_t pass_field(struct tool_scan *scan, const unsigned char *bytes, size_t at,
                         size_t count)
{
    const unsigned char delimiter = scan->quotes.delimiter, terminator = scan->terminator;
    while (at < count && bytes[at] != delimiter && bytes[at] != terminator)
        at++;
    if (at == count)
        return at;
    scan->place = bytes[at] == terminator ? TOOL_AT_RECORD : TOOL_AT_FIELD;
    return at + 1;
}

/* One step, at most to the end of a record. */
static size_t step(struct tool_scan *scan, const unsigned char *bytes, size_t at, size_t count)
{
    size_t next;
    switch (scan->place) {
    case TOOL_AT_MARK:
        return skip_mark(scan, bytes, at);
    case TOOL_AT_RECORD:
    case TOOL_AT_FIELD:
        return begin_field(scan, bytes, at);
    case TOOL_IN_QUOTES:
        next = behind(bytes, at, count, '"');
        if (bytes[next - 1] == '"')
            scan->place = TOOL_AT_QUOTE;
        return next;
    case TOOL_AT_QUOTE:
        scan->place = bytes[at] == '"' ? TOOL_IN_QUOTES : TOOL_IN_FIELD;
        return bytes[at] == '"' ? at + 1 : at;
    case TOOL_IN_COMMENT:
        next = behind(bytes, at, count, scan->terminator);
        if (bytes[next - 1] == scan->terminator)
            scan->place = TOOL_AT_RECORD;
        return next;
    case TOOL_IN_FIELD:
        break;
    }
    return pass_field(scan, bytes, at, count);
}

/* If no quote is among the bytes and none is open, only the end of the last record matters. */
static bool is_simple(const struct tool_scan *scan, const unsigned char *bytes, size_t count)
{
    if (!scan->quotes.heeded)
        return true;
    return scan->place != TOOL_IN_QUOTES && scan->place != TOOL_AT_QUOTE &&
           scan->place != TOOL_AT_MARK && memchr(bytes, '"', count) == NULL;
}

static size_t scan_simple(struct tool_scan *scan, const unsigned char *bytes, size_t count)
{
    const unsigned char *last = memrchr(bytes, scan->terminator, count);
    size_t at = last != NULL ? (size_t)(last - bytes) + 1 : 0;
    if (last != NULL)
        scan->place = TOOL_AT_RECORD;
    if (!scan->quotes.heeded || at == count)
        return at;
    const unsigned char comment = scan->quotes.comment;
    if (scan->place == TOOL_AT_RECORD && comment != 0 && bytes[at] == comment)
        scan->place = TOOL_IN_COMMENT;
    else if (scan->place != TOOL_IN_COMMENT)
        scan->place = bytes[count - 1] == scan->quotes.delimiter ? TOOL_AT_FIELD : TOOL_IN_FIELD;
    return at;
}

size_t tool_scan_on(struct tool_scan *scan, const unsigned char *bytes, size_t count, bool first)
{
    size_t at = 0, end = 0;
    if (!first && is_simple(scan, bytes, count)) {
        end = scan_simple(scan, bytes, count);
        scan->scanned += count;
        return end;
    }
    if (!scan->quotes.heeded) {
        const unsigned char *found = memchr(bytes, scan->terminator, count);
        return found != NULL ? (size_t)(found - bytes) + 1 : 0;
    }
    while (at < count && !(first && end > 0)) {
        const size_t next = step(scan, bytes, at, count);
        if (next > at && scan->place == TOOL_AT_RECORD && bytes[next - 1] == scan->terminator)
            end = next;
        assert(next >= at && next <= count);
        at = next;
    }
    scan->scanned += at;
    return end;
}

void tool_scan_say(const struct tool_scan *scan, bool ended, const char *input, const char *line,
                   const char *most)
{
    if (ended)
        tool_error("%s: %s has a quote that is never closed", input, line);
    else if (tool_scan_is_open(scan))
        tool_error("%s: %s has a quote that is not closed within %s; --max-line SIZE takes longer "
                   "records",
                   input, line, most);
    else
        tool_error("%s: %s is longer than %s; --max-line SIZE takes longer ones", input, line,
                   most);
}

size_t tool_quotes_split(const struct tool_quotes *quotes, const unsigned char **from,
                         const unsigned char *end, unsigned char terminator, bloomery_key *keys,
                         size_t most, uint64_t *inner)
{
    size_t count = 0;
    while (count < most && *from < end) {
        struct tool_scan scan = tool_scan_begin(quotes, terminator, false);
        size_t bytes = tool_scan_on(&scan, *from, (size_t)(end - *from), true);
        if (bytes == 0) /* the last record of an input: cut at the input's end */
            bytes = (size_t)(end - *from);
        keys[count++] = bloomery_key_of(*from, bytes - 1);
        *inner += tool_split_count(*from, *from + bytes, terminator) - 1;
        *from += bytes;
    }
    return count;
}

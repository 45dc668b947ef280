/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How input becomes keys.
 *
 * One buffer holds a stretch of the input. A batch is an array of spans that point into it, so a
 * record is never copied and never allocated for:
 *
 *     buffer  850101312345\n850101312353\n...\n9912|            |
 *             ^begin                           ^scanned          ^capacity
 *                                                  ^end
 *
 * [begin, end) has been read and not been handed out; no delimiter lies in [begin, scanned). When
 * the last whole record is out, the few bytes of the cut one behind it move to the front and the
 * next block is read after them. A record longer than the buffer doubles it, and the search goes on
 * where it stopped, so that long records take linear time.
 *
 * The search looks at 64 bytes at once and turns them into a word of bits, one per delimiter: with
 * records of a dozen bytes that finds five of them per step, where memchr would be called for each.
 *
 * Bytes are bytes: nothing here knows an encoding. The last record needs no delimiter (the buffer
 * always has room for one, and gets it), an empty record is the empty key, and an empty input has
 * no record. What is not seen in a text and yet becomes part of its keys, a byte order mark and a
 * carriage return, is warned about, once for an input.
 */
#include "lines.h"

#include "numbers.h"
#include "progress.h"
#include "tool.h"
#include "unpack.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    BUFFER_BYTES = 1 << 20,
    STEP = 64, /* bytes that one step of the search looks at, and keys it can find */
};

struct tool_lines {
    struct tool_source source;
    size_t next_input;
    uint64_t records;
    uint64_t bytes;
    bool failed;

    /* The input being read; name is NULL between inputs. */
    const char *name;
    int descriptor;
    struct tool_unpack *unpack; /* NULL: plain */
    bool input_ended;
    bool first_record; /* none has been handed out of this input */

    unsigned char *buffer;
    size_t capacity; /* the buffer has one byte more, for a missing last delimiter */
    size_t begin;
    size_t scanned;
    size_t end;

    bloomery_key keys[TOOL_BATCH_KEYS + STEP];
};

struct tool_lines *tool_lines_open(const struct tool_source *source)
{
    struct tool_lines *lines = tool_allocate(sizeof(*lines));
    lines->source = *source;
    lines->next_input = 0;
    lines->records = 0;
    lines->bytes = 0;
    lines->failed = false;
    lines->name = NULL;
    lines->descriptor = -1;
    lines->unpack = NULL;
    lines->input_ended = false;
    lines->first_record = false;
    lines->capacity = BUFFER_BYTES;
    lines->buffer = tool_allocate(lines->capacity + 1);
    lines->begin = lines->scanned = lines->end = 0;
    return lines;
}

uint64_t tool_lines_records(const struct tool_lines *lines)
{
    return lines->records;
}

uint64_t tool_lines_bytes(const struct tool_lines *lines)
{
    return lines->bytes;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *said_name(const char *path)
{
    return is_stdin(path) ? "standard input" : path;
}

static const char *input_at(const struct tool_source *source, size_t index)
{
    return source->count == 0 ? "-" : source->paths[index];
}

static size_t input_count(const struct tool_source *source)
{
    return source->count == 0 ? 1 : source->count;
}

static void close_input(struct tool_lines *lines)
{
    if (lines->unpack != NULL)
        tool_unpack_close(lines->unpack);
    lines->unpack = NULL;
    if (lines->descriptor > STDIN_FILENO)
        close(lines->descriptor);
    lines->descriptor = -1;
    lines->name = NULL;
    lines->begin = lines->scanned = lines->end = 0;
}

static void fail_input(struct tool_lines *lines, const char *why)
{
    tool_error("%s: %s", said_name(lines->name), why);
    lines->failed = true;
    close_input(lines);
    if (!lines->source.keep_going)
        lines->next_input = input_count(&lines->source);
}

/* One read of the file itself into the buffer's free part. 0 at the end, -1 with errno. */
static ssize_t read_plain(struct tool_lines *lines)
{
    ssize_t count;
    do
        count = read(lines->descriptor, lines->buffer + lines->end, lines->capacity - lines->end);
    while (count < 0 && errno == EINTR);
    if (count > 0)
        lines->bytes += (uint64_t)count;
    return count;
}

/* Reads the first bytes and looks whether they are compressed. */
static bool recognise(struct tool_lines *lines)
{
    enum tool_packing packing = TOOL_PLAIN;
    bool undecided = true;
    while (undecided && !lines->input_ended) {
        ssize_t count = read_plain(lines);
        if (count < 0) {
            fail_input(lines, strerror(errno));
            return false;
        }
        lines->input_ended = count == 0;
        lines->end += (size_t)count;
        packing = tool_packing_of(lines->buffer, lines->end, &undecided);
    }
    if (packing == TOOL_PLAIN)
        return true;
    if (packing == TOOL_BZIP2 || packing == TOOL_FILTER) {
        fail_input(lines, packing == TOOL_FILTER
                              ? "is a filter, not a list of keys"
                              : "is compressed with bzip2, which is not unpacked; use bzcat");
        return false;
    }
    lines->unpack = tool_unpack_open(lines->descriptor, packing, lines->buffer, lines->end,
                                     &lines->bytes, lines->source.delimiter);
    lines->end = 0;
    lines->input_ended = false;
    return true;
}

/* Opens the next input. False where it failed; lines->name says whether one is open. */
static bool open_input(struct tool_lines *lines)
{
    lines->name = input_at(&lines->source, lines->next_input++);
    lines->input_ended = false;
    lines->first_record = true;
    lines->descriptor = STDIN_FILENO;
    if (!is_stdin(lines->name))
        lines->descriptor = open(lines->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    else if (isatty(STDIN_FILENO))
        tool_say("bloomery: reading keys from the terminal, one per line; end with Ctrl-D");

    struct stat facts;
    if (lines->descriptor < 0 || fstat(lines->descriptor, &facts) != 0) {
        fail_input(lines, strerror(errno));
        return false;
    }
    if (S_ISDIR(facts.st_mode)) {
        fail_input(lines, "is a directory, not a file of keys");
        return false;
    }
    return recognise(lines);
}

/* ---- The buffer ------------------------------------------------------------------------------ */

/* Makes room and reads on. False where the input failed. */
static bool refill(struct tool_lines *lines)
{
    size_t rest = lines->end - lines->begin;
    assert(lines->begin <= lines->scanned && lines->scanned == lines->end);
    if (lines->begin > 0)
        memmove(lines->buffer, lines->buffer + lines->begin, rest);
    lines->begin = 0;
    lines->scanned = lines->end = rest;
    if (rest == lines->capacity) {
        lines->capacity *= 2;
        lines->buffer = tool_reallocate(lines->buffer, lines->capacity + 1);
    }

    ssize_t count;
    if (lines->unpack != NULL)
        count = tool_unpack_read(lines->unpack, lines->buffer + rest, lines->capacity - rest);
    else
        count = read_plain(lines);
    if (count < 0) {
        fail_input(lines,
                   lines->unpack != NULL ? tool_unpack_error(lines->unpack) : strerror(errno));
        return false;
    }
    lines->input_ended = count == 0;
    lines->end += (size_t)count;
    assert(lines->end <= lines->capacity);
    return true;
}

#if defined(__SSE2__)
/* Bit i is set where byte i is the delimiter. */
static inline uint64_t delimiters(const unsigned char *bytes, __m128i delimiter)
{
    uint64_t word = 0;
    for (size_t i = 0; i < STEP / 16; i++) {
        __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        uint64_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, delimiter));
        word |= bits << (16 * i);
    }
    return word;
}
#endif

/* Finds whole records in [begin, end) and takes up to TOOL_BATCH_KEYS of them out of it. */
static size_t scan(struct tool_lines *lines)
{
    const unsigned char *buffer = lines->buffer;
    bloomery_key *keys = lines->keys;
    size_t count = 0, start = lines->begin, at = lines->scanned, end = lines->end;

#if defined(__SSE2__)
    __m128i delimiter = _mm_set1_epi8((char)lines->source.delimiter);
    for (; count < TOOL_BATCH_KEYS && at + STEP <= end; at += STEP)
        for (uint64_t word = delimiters(buffer + at, delimiter); word != 0; word &= word - 1) {
            size_t stop = at + (size_t)__builtin_ctzll(word);
            keys[count++] = bloomery_key_of(buffer + start, stop - start);
            start = stop + 1;
        }
#endif
    while (count < TOOL_BATCH_KEYS && at < end) {
        const unsigned char *stop = memchr(buffer + at, lines->source.delimiter, end - at);
        if (stop == NULL) {
            at = end;
            break;
        }
        keys[count++] = bloomery_key_of(buffer + start, (size_t)(stop - buffer) - start);
        at = start = (size_t)(stop - buffer) + 1;
    }

    if (count > TOOL_BATCH_KEYS) { /* the last step found some too many: back behind the last one */
        count = TOOL_BATCH_KEYS;
        const unsigned char *last = keys[count - 1].data;
        at = start = (size_t)(last - buffer) + keys[count - 1].bytes + 1;
    }
    lines->begin = start;
    lines->scanned = at > start ? at : start;
    return count;
}

/* The input has ended: what is left is a record without a delimiter, or nothing. */
static size_t last_record(struct tool_lines *lines)
{
    size_t rest = lines->end - lines->begin;
    if (rest == 0)
        return 0;
    lines->buffer[lines->end] = lines->source.delimiter;
    lines->keys[0] = bloomery_key_of(lines->buffer + lines->begin, rest);
    lines->begin = lines->scanned = lines->end;
    return 1;
}

/* Looks at the first record of an input for what comes of other systems' text files. */
static void warn_of_marks(struct tool_lines *lines)
{
    const char *text = lines->keys[0].data;
    size_t bytes = lines->keys[0].bytes;
    lines->first_record = false;
    if (lines->source.unwarned)
        return;
    bool marked = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    bool returned = bytes > 0 && lines->source.delimiter == '\n' && text[bytes - 1] == '\r';
    if (marked || returned)
        tool_warning("%s: %s%s%s", said_name(lines->name),
                     marked ? "it begins with a UTF-8 byte order mark, which becomes part of the "
                              "first key"
                            : "",
                     marked && returned ? "; " : "",
                     returned ? "its first line ends in a carriage return, which becomes part of "
                                "the key"
                              : "");
}

size_t tool_lines_next(struct tool_lines *lines, const bloomery_key **keys)
{
    size_t count = 0;
    *keys = lines->keys;
    while (count == 0) {
        if (lines->name == NULL) {
            if (lines->next_input == input_count(&lines->source))
                return 0;
            if (!open_input(lines))
                continue;
        }
        count = scan(lines);
        if (count > 0)
            break;
        if (!lines->input_ended) {
            refill(lines);
            continue;
        }
        count = last_record(lines);
        if (count == 0)
            close_input(lines);
    }
    assert(count <= TOOL_BATCH_KEYS);
    assert(((const unsigned char *)lines->keys[0].data)[lines->keys[0].bytes] ==
           lines->source.delimiter);
    if (lines->first_record)
        warn_of_marks(lines);
    lines->records += count;
    return count;
}

bool tool_lines_close(struct tool_lines *lines)
{
    bool whole = !lines->failed;
    if (lines->name != NULL)
        close_input(lines);
    free(lines->buffer);
    free(lines);
    return whole;
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Whether an input can be read twice: a file. What can't be opened is left to the reading, which
 * says why. */
static bool readable_twice(const char *path)
{
    struct stat facts;
    if (is_stdin(path))
        return false;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode);
}

uint64_t tool_lines_total(const struct tool_source *source)
{
    uint64_t total = 0;
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        if (is_stdin(source->paths[i]) || stat(source->paths[i], &facts) != 0 ||
            !S_ISREG(facts.st_mode))
            return 0;
        total += (uint64_t)facts.st_size;
    }
    return total;
}

bool tool_lines_count(const struct tool_source *source, const char *why_pipe, bool quiet,
                      uint64_t *records)
{
    for (size_t i = 0; i < input_count(source); i++) {
        const char *path = input_at(source, i);
        if (readable_twice(path))
            continue;
        tool_usage("%s: %s", said_name(path), why_pipe != NULL ? why_pipe : "can't be read twice");
        return false;
    }

    struct tool_progress progress;
    tool_progress_start(&progress, "counting", quiet);
    uint64_t total = tool_lines_total(source);
    struct tool_source once = *source;
    once.unwarned = true;
    struct tool_lines *lines = tool_lines_open(&once);
    const bloomery_key *keys;
    while (tool_lines_next(lines, &keys) > 0)
        tool_progress_update(&progress, lines->records, lines->bytes, total);
    tool_progress_stop(&progress);
    *records = lines->records;
    return tool_lines_close(lines);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

bool tool_lines_add(const struct tool_source *source, bloomery_filter *filter, const char *name,
                    const char *verb, bool quiet, uint64_t *records, uint64_t *new_keys)
{
    struct tool_progress progress;
    uint64_t total = tool_lines_total(source);
    tool_progress_start(&progress, verb, quiet);
    struct tool_lines *lines = tool_lines_open(source);
    bloomery_status status = BLOOMERY_OK;
    const bloomery_key *keys;
    size_t count;
    *new_keys = 0;
    while (status == BLOOMERY_OK && (count = tool_lines_next(lines, &keys)) > 0) {
        uint64_t answers[TOOL_BATCH_WORDS];
        status = bloomery_add_batch(filter, keys, count, answers, NULL);
        for (size_t w = 0; w < (count + 63) / 64 && status == BLOOMERY_OK; w++)
            *new_keys += (uint64_t)__builtin_popcountll(answers[w]);
        tool_progress_update(&progress, lines->records, lines->bytes, total);
    }
    tool_progress_stop(&progress);
    *records = lines->records;
    if (status != BLOOMERY_OK)
        tool_error("%s: %s", name, bloomery_status_text(status));
    bool all_read = tool_lines_close(lines);
    return all_read && status == BLOOMERY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How input becomes chunks of records that several threads can work on.
 *
 *     input    850101312345\n850101312353\n99121|7314159\n...
 *     chunk 0  850101312345\n850101312353\n
 *     rest                                 99121
 *     chunk 1                              991217314159\n...
 *
 * A chunk is what one read returns, cut behind its last delimiter. The few bytes of the cut record
 * are set aside and begin the next chunk. A record that is longer than a chunk makes its chunk
 * longer, by doubling, so that long records take linear time. It grows up to the longest record
 * that may be (line_max), so a file without line ends takes no more memory than that. The bytes of
 * a read are handed out at once, even if it is one line: the person typing it waits for the answer.
 *
 * Only one thread reads at a time: a thread that takes a chunk has the baton, reads, cuts and hands
 * the baton on. Reading a cached file takes a tenth of the time of what is then done with its
 * lines, splitting included. That happens in the thread's own chunk, which its core still has in
 * its cache. All messages about the inputs are printed with the baton in hand, and so in their
 * order.
 *
 * The reading of a chunk, with the names of the functions:
 *
 *     fill           no input is open: the first bytes of the next one | the rest of the last chunk
 *                        |                                              (AT_LONG: the input fails)
 *                        v
 *     read_records   does a record end in what is new? -- yes --> take_records: up to the last end,
 *                    ^   | no                                     the rest is set aside
 *                    |   v
 *                    |  longer than any may be? -- yes --> its bytes are dropped (record_max), or
 *                    |   | no                              the input fails (line_max)
 *                    |   v
 *                    +- more bytes
 *                        | there are none
 *                        v
 *                    what is left is the last record; within quotes it fails
 *
 * An input that fails or ends is closed, and fill goes on with the next.
 *
 *     NO_INPUT -- is opened --> AT_BEGIN -- a chunk --> INSIDE -- more of them --> INSIDE
 *        ^                         |                       |
 *        +----- ends, or fails ----+-----------------------+--> AT_LONG: fails at the next call
 *
 * Chunks are numbered as they are read. A thread that writes output waits with it until all earlier
 * chunks have been given back: the output is that of one thread. No more than one chunk per thread
 * exists at any time, which bounds the memory.
 *
 * Bytes are bytes: nothing here knows an encoding. The last record needs no delimiter: the buffer
 * always has room for one, and it is added. An empty record is the empty key, and an empty input
 * has no record. A byte order mark that begins an input is not text and is dropped (`keep_bom`
 * keeps it). A carriage return is not seen in a text either and yet becomes part of its keys. If
 * no key rule removes it, a warning is printed, once for an input.
 */
#include "input/chunks.h"

#include "base/numbers.h"
#include "base/progress.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes set aside from one chunk for the next: the beginning of a record. */
struct rest {
    unsigned char *data;
    size_t bytes;
    size_t capacity;
};

/* Where the reading stands. */
enum place {
    NO_INPUT, /* is open */
    AT_BEGIN, /* nothing of the open input has been handed out */
    INSIDE,   /* something has */
    AT_LONG,  /* and what follows is a record that is too long */
};

/* With record_max: whether the open input had records that were too long. */
enum dropped {
    NONE_DROPPED,
    DROPPING, /* what is read belongs to one */
    SOME_DROPPED,
};

struct past {
    uint64_t lines; /* UNKNOWN if the chunk was not split to its end, or not yet */
    bool begins_input;
};

#define UNKNOWN UINT64_MAX

struct tool_chunks {
    struct tool_source source;
    size_t chunk_bytes;
    size_t line_max; /* SIZE_MAX - 1: any */
    uint32_t threads;
    uint64_t total; /* of the inputs, in bytes; 0: unknown */
    int wake[2];    /* a pipe; a byte in it wakes the reader. -1: none */

    pthread_mutex_t mutex;
    pthread_cond_t baton_free;
    pthread_cond_t given_back;
    /* Under the mutex. */
    bool baton_taken;
    bool stopped;
    bool ended;     /* no more chunks */
    uint64_t taken; /* chunks handed out */
    uint64_t done;  /* and given back */
    uint64_t records;
    uint64_t inner;    /* line ends within them, in quotes */
    struct past *past; /* of all that were taken, to tell a record's line; not with record_max */
    size_t past_room;
    uint64_t input_start; /* lines of the inputs before the open one; with record_max */
    uint64_t last_start;  /* and of this one before the last chunk */
    uint64_t too_long;
    const char *too_long_input; /* the first one: its input, and its line there */
    uint64_t too_long_line;

    /* The baton's. */
    struct tool_input input;
    enum place place;
    enum dropped dropped;
    struct tool_scan scan; /* up to where the open input was read */
    struct tool_columns columns;
    char columns_error[160];
    bool failed;
    struct rest rest;
    struct tool_progress progress;
};

/* A quarter of a core's second-level cache, where a chunk stays until it is done with. Chunks of
 * 128 KiB to 1 MiB take the same time within 5 %. */
enum { CHUNK_BYTES = 1 << 18 };

/* How many bytes a chunk begins with. Tests want chunks that are full after some lines. */
static size_t chunk_bytes(void)
{
#ifdef BLOOMERY_TOOL_SWITCH
    const char *text = getenv("BLOOMERY_BLOCK_BYTES");
    size_t wanted = text != NULL ? strtoul(text, NULL, 10) : 0;
    if (wanted >= TOOL_INPUT_LEAST_ROOM && wanted <= CHUNK_BYTES)
        return wanted;
#endif
    return CHUNK_BYTES;
}

/* How many threads are of use for a source of `bytes` (0: not known) in chunks of `each`. Of
 * packed files more chunks come than their size says, but unpacking is one thread's work. */
static uint32_t threads_for(const struct tool_source *source, uint64_t bytes, size_t each)
{
    uint32_t threads = source->threads;
    if (threads == 0)
        threads = bloomery_threads();
    if (threads > TOOL_THREADS_MAX)
        threads = TOOL_THREADS_MAX;
    if (bytes > 0 && bytes / each < threads)
        threads = (uint32_t)(bytes / each) + 1;
    return threads;
}

struct tool_chunks *tool_chunks_open(const struct tool_source *source, const char *verb)
{
    struct tool_chunks *chunks = tool_allocate(sizeof(*chunks));
    memset(chunks, 0, sizeof(*chunks));
    chunks->source = *source;
    chunks->chunk_bytes = chunk_bytes();
    chunks->line_max = source->record_max > 0 ? SIZE_MAX - 1
                       : source->line_max > 0 ? source->line_max
                                              : TOOL_LINE_MAX;
    chunks->total = tool_source_bytes(source);
    chunks->threads = threads_for(source, chunks->total, chunks->chunk_bytes);
    chunks->wake[0] = chunks->wake[1] = -1;
    if (source->interrupt != NULL) {
        chunks->wake[0] = tool_interrupt_read_end(source->interrupt);
        chunks->wake[1] = tool_interrupt_write_end(source->interrupt);
    } else if (source->stops != TOOL_STOPS_NEVER && chunks->threads > 1 && pipe(chunks->wake) != 0)
        chunks->wake[0] = chunks->wake[1] = -1; /* a stop then waits for the next bytes */
    pthread_mutex_init(&chunks->mutex, NULL);
    pthread_cond_init(&chunks->baton_free, NULL);
    pthread_cond_init(&chunks->given_back, NULL);
    tool_input_start(&chunks->input, &chunks->source, chunks->wake[0]);
    tool_progress_start(&chunks->progress, verb, verb == NULL);
    return chunks;
}

uint32_t tool_chunks_threads(const struct tool_chunks *chunks)
{
    return chunks->threads;
}

/* ---- The baton ------------------------------------------------------------------------------- */

/* Takes the chunk back from a thread that comes for another. */
static void give_back(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    if (!chunk->open)
        return;
    chunk->open = false;
    chunks->records += chunk->records;
    chunks->inner += chunk->inner;
    if (chunk->from == chunk->end && chunks->past != NULL)
        chunks->past[chunk->number].lines = chunk->records + chunk->inner;
    chunks->done++;
    assert(chunks->done <= chunks->taken);
    pthread_cond_broadcast(&chunks->given_back);
}

void tool_chunks_give_back(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    pthread_mutex_lock(&chunks->mutex);
    give_back(chunks, chunk);
    pthread_mutex_unlock(&chunks->mutex);
}

/* A chunk gets its number. */
static void remember(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    chunk->number = chunks->taken++;
    if (chunks->source.record_max > 0) {
        assert(chunks->done == chunk->number); /* one thread: all others are back */
        chunks->last_start = chunks->records + chunks->inner - chunks->input_start;
        return;
    }
    if (chunk->number == chunks->past_room) {
        chunks->past_room = 2 * chunks->past_room + 64;
        chunks->past = tool_reallocate(chunks->past, chunks->past_room * sizeof(*chunks->past));
    }
    chunks->past[chunk->number] = (struct past){UNKNOWN, chunk->begins_input};
}

uint64_t tool_chunks_line(const struct tool_chunks *chunks, uint64_t number, uint64_t record)
{
    uint64_t line = record + 1;
    assert(number < chunks->taken);
    if (chunks->past == NULL)
        return number + 1 == chunks->taken ? chunks->last_start + line : 0;
    while (!chunks->past[number].begins_input) {
        assert(number > 0);
        if (chunks->past[--number].lines == UNKNOWN)
            return 0;
        line += chunks->past[number].lines;
    }
    return line;
}

/* True: the baton is ours. False: there are no more chunks. */
static bool seize(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    pthread_mutex_lock(&chunks->mutex);
    give_back(chunks, chunk);
    while (chunks->baton_taken && !chunks->stopped && !chunks->ended)
        pthread_cond_wait(&chunks->baton_free, &chunks->mutex);
    bool ours = !chunks->stopped && !chunks->ended;
    if (ours)
        chunks->baton_taken = true;
    uint64_t records = chunks->records;
    pthread_mutex_unlock(&chunks->mutex);
    if (ours)
        tool_progress_update(&chunks->progress, records, chunks->input.stream.bytes_read,
                             chunks->total);
    return ours;
}

static bool hand_on(struct tool_chunks *chunks, struct tool_chunk *chunk, bool filled)
{
    pthread_mutex_lock(&chunks->mutex);
    assert(chunks->baton_taken);
    chunks->baton_taken = false;
    if (chunks->stopped)
        filled = false;
    if (filled) {
        chunk->open = true;
        chunk->records = chunk->inner = 0;
        remember(chunks, chunk);
        pthread_cond_signal(&chunks->baton_free);
    } else {
        chunks->ended = true;
        pthread_cond_broadcast(&chunks->baton_free);
    }
    pthread_mutex_unlock(&chunks->mutex);
    return filled;
}

/* Whether to go on. `wait`: once all that was read is done with, for which nobody needs the
 * baton. */
static bool goes_on(struct tool_chunks *chunks, bool wait)
{
    pthread_mutex_lock(&chunks->mutex);
    while (wait && chunks->done != chunks->taken && !chunks->stopped)
        pthread_cond_wait(&chunks->given_back, &chunks->mutex);
    bool going_on = !chunks->stopped;
    pthread_mutex_unlock(&chunks->mutex);
    return going_on;
}

bool tool_chunks_turn(struct tool_chunks *chunks, const struct tool_chunk *chunk)
{
    assert(chunk->open);
    pthread_mutex_lock(&chunks->mutex);
    /* After a stop chunks come back in any order, counted but not answered. */
    assert(chunks->stopped || chunks->done <= chunk->number);
    assert(chunk->number < chunks->taken);
    while (chunks->done != chunk->number && !chunks->stopped)
        pthread_cond_wait(&chunks->given_back, &chunks->mutex);
    bool ours = !chunks->stopped;
    pthread_mutex_unlock(&chunks->mutex);
    return ours;
}

void tool_chunks_stop(struct tool_chunks *chunks)
{
    assert(chunks->source.stops != TOOL_STOPS_NEVER);
    pthread_mutex_lock(&chunks->mutex);
    bool first = !chunks->stopped;
    chunks->stopped = true;
    pthread_cond_broadcast(&chunks->baton_free);
    pthread_cond_broadcast(&chunks->given_back);
    pthread_mutex_unlock(&chunks->mutex);
    ssize_t written;
    if (first && chunks->wake[1] >= 0)
        do
            written = write(chunks->wake[1], "", 1);
        while (written < 0 && errno == EINTR);
}

/* ---- Reading, with the baton ----------------------------------------------------------------- */

static void end_input(struct tool_chunks *chunks)
{
    tool_input_close(&chunks->input);
    chunks->rest.bytes = 0;
    chunks->place = NO_INPUT;
}

/* After an error: the next input is read, or none. */
static void leave_input(struct tool_chunks *chunks)
{
    end_input(chunks);
    if (!chunks->source.keep_going)
        chunks->input.next = tool_source_count(&chunks->source);
}

/* Waiting for bytes also fails if reading was interrupted. */
static void fail_input(struct tool_chunks *chunks)
{
    if (!tool_interrupt_came(chunks->source.interrupt) &&
        goes_on(chunks, chunks->source.stops == TOOL_STOPS_SETTLED)) {
        if (!chunks->source.silent)
            tool_error("%s: %s", tool_path_said(chunks->input.name), chunks->input.error);
        chunks->failed = true;
    }
    leave_input(chunks);
}

/* The line behind all that was read of the input, all chunks being back. 0 if one was not split to
 * its end. */
static uint64_t next_line(const struct tool_chunks *chunks)
{
    if (chunks->source.record_max > 0)
        return chunks->records + chunks->inner - chunks->input_start +
               (chunks->dropped != DROPPING);
    if (chunks->place == AT_BEGIN)
        return 1;
    const uint64_t last = chunks->taken - 1;
    const uint64_t lines = chunks->past[last].lines;
    return lines != UNKNOWN ? tool_chunks_line(chunks, last, lines) : 0;
}

/* For records that were scanned before; `first`: those of a chunk. */
static struct tool_scan scan_again(const struct tool_chunks *chunks, bool first)
{
    return tool_scan_begin(&chunks->source.quotes, chunks->source.delimiter,
                           first && chunks->place == AT_BEGIN && !chunks->source.keep_bom);
}

/* The next record has no end: it is longer than any may be, or `ended` within quotes. `record`
 * holds its bytes at hand; NULL: all of it, or nothing. The record's line is known when the chunks
 * before it have been split. Returns false. */
static bool fail_record(struct tool_chunks *chunks, const unsigned char *record, size_t bytes,
                        bool ended)
{
    char most[TOOL_NUMBER_BYTES], line[TOOL_NUMBER_BYTES] = "a line";
    if (!tool_interrupt_came(chunks->source.interrupt) && goes_on(chunks, true)) {
        struct tool_scan scan = scan_again(chunks, true);
        uint64_t number = next_line(chunks);
        const size_t scanned = record != NULL ? tool_scan_on(&scan, record, bytes, false) : 0;
        if (number > 0 && scanned == 0 && tool_scan_is_open(&scan))
            number += tool_split_count(record, record + scan.opened, chunks->source.delimiter);
        if (number > 0)
            snprintf(line, sizeof(line), "line %llu", (unsigned long long)number);
        const char *const input = tool_path_said(chunks->input.name);
        tool_format_size(most, chunks->line_max);
        if (chunks->source.silent)
            ; /* the next reading says it */
        else if (ended)
            tool_error("%s: %s has a quote that is never closed", input, line);
        else if (tool_scan_is_open(&scan))
            tool_error("%s: %s has a quote that is not closed within %s; "
                       "--max-line SIZE allows longer records",
                       input, line, most);
        else
            tool_error("%s: %s is longer than %s; --max-line SIZE allows longer ones", input, line,
                       most);
        chunks->failed = true;
    }
    leave_input(chunks);
    return false;
}

enum { MARK_BYTES = 3 };

/* The mark has no delimiter in it, so it lies whole in the input's first chunk. */
static bool is_marked(const struct tool_chunks *chunks, const unsigned char *text, size_t bytes)
{
    return chunks->place == AT_BEGIN && chunks->dropped == NONE_DROPPED &&
           !chunks->source.keep_bom && bytes >= MARK_BYTES &&
           memcmp(text, "\xef\xbb\xbf", MARK_BYTES) == 0;
}

/* The first record of a chunk's text. */
static bloomery_key first_record(const struct tool_chunks *chunks, const struct tool_chunk *chunk)
{
    struct tool_scan scan =
        tool_scan_begin(&chunks->source.quotes, chunks->source.delimiter, false);
    const size_t bytes = tool_scan_on(&scan, chunk->from, (size_t)(chunk->end - chunk->from), true);
    assert(bytes > 0);
    return bloomery_key_of(chunk->from, bytes - 1);
}

/* The columns of an input, by its header. False after a message. */
static bool find_columns(struct tool_chunks *chunks, const struct tool_chunk *chunk)
{
    const struct tool_layout *layout = chunks->source.layout;
    if (chunks->place != AT_BEGIN || layout == NULL || layout->field_count == 0)
        return true;
    const char *error =
        tool_layout_find_columns(layout, first_record(chunks, chunk), &chunks->columns,
                                 chunks->columns_error, sizeof(chunks->columns_error));
    if (error == NULL)
        return true;
    chunks->input.error = error;
    fail_input(chunks);
    return false;
}

/* The chunk's records end before `end`. False after an error in what the first one has to say. */
static bool set_records(struct tool_chunks *chunks, struct tool_chunk *chunk, size_t end)
{
    assert(end > 0 && end <= chunk->capacity + 1);
    chunk->from = chunk->buffer;
    chunk->end = chunk->buffer + end;
    chunk->delimiter = chunks->source.delimiter;
    chunk->input = chunks->input.name;
    chunk->input_index = chunks->input.next - 1;
    chunk->packing = chunks->input.packing;
    chunk->begins_input = chunks->place == AT_BEGIN;
    assert(chunk->end[-1] == chunk->delimiter);
    if (is_marked(chunks, chunk->from, end))
        chunk->from += MARK_BYTES;
    assert(chunk->from < chunk->end);
    chunk->begin = chunk->from;
    const bool quoted = chunks->source.quotes.heeded &&
                        memchr(chunk->from, '"', (size_t)(chunk->end - chunk->from)) != NULL;
    chunk->quotes = quoted ? &chunks->source.quotes : NULL; /* else each line is a record */
    if (!find_columns(chunks, chunk))
        return false;
    if (chunk->begins_input && !chunks->source.unwarned)
        tool_input_warn(&chunks->input, first_record(chunks, chunk),
                        (size_t)(chunk->end - chunk->from), &chunks->columns);
    chunk->layout = chunks->source.layout;
    chunk->columns = chunks->columns;
    chunks->place = INSIDE;
    return true;
}

/* No more than the longest record takes with its delimiter, if a chunk has fewer bytes to begin
 * with. */
static void make_room(const struct tool_chunks *chunks, struct tool_chunk *chunk, size_t bytes)
{
    if (bytes <= chunk->capacity)
        return;
    assert(bytes <= chunks->line_max + 1);
    while (chunk->capacity < bytes)
        chunk->capacity *= 2;
    if (chunk->capacity > chunks->line_max + 1)
        chunk->capacity = chunks->line_max + 1;
    chunk->buffer = tool_reallocate(chunk->buffer, chunk->capacity + 1);
}

/* A record is longer than any may be: its bytes go, those that are here and those that come. */
static void begin_dropping(struct tool_chunks *chunks)
{
    pthread_mutex_lock(&chunks->mutex);
    if (chunks->too_long++ == 0) {
        chunks->too_long_input = chunks->input.name;
        chunks->too_long_line = chunks->records + chunks->inner - chunks->input_start + 1;
    }
    chunks->records++;
    pthread_mutex_unlock(&chunks->mutex);
    chunks->dropped = DROPPING;
}

/* Drops what belongs to that record of the chunk's first `used` bytes. Returns how many are
 * left. */
static size_t drop(struct tool_chunks *chunks, struct tool_chunk *chunk, size_t used)
{
    const size_t end = tool_scan_on(&chunks->scan, chunk->buffer, used, true);
    if (end == 0)
        return 0;
    chunks->dropped = SOME_DROPPED;
    memmove(chunk->buffer, chunk->buffer + end, used - end);
    return used - end;
}

/* The place in the first `bytes`, which are whole records, at which a record begins that is too
 * long. `bytes` if none is. Within the length of the longest record and its delimiter a record
 * ends, or it is too long. */
static size_t find_long(const struct tool_chunks *chunks, const unsigned char *text, size_t bytes)
{
    const size_t most = chunks->line_max + 1;
    size_t at = 0;
    while (bytes - at > most) {
        struct tool_scan scan = scan_again(chunks, at == 0);
        const size_t end = tool_scan_on(&scan, text + at, most, false);
        if (end == 0)
            return at;
        at += end;
    }
    return bytes;
}

static void set_aside(struct rest *rest, const unsigned char *data, size_t bytes)
{
    if (bytes > rest->capacity) {
        rest->capacity = bytes * 2;
        rest->data = tool_reallocate(rest->data, rest->capacity);
    }
    if (bytes > 0)
        memcpy(rest->data, data, bytes);
    rest->bytes = bytes;
}

/* Moves all that was set aside to `to`. Memory beyond `kept` is not kept: it was for a long
 * record. */
static void take_back(struct rest *rest, unsigned char *to, size_t kept)
{
    assert(rest->bytes > 0 && rest->bytes <= rest->capacity);
    memcpy(to, rest->data, rest->bytes);
    rest->bytes = 0;
    if (rest->capacity > kept) {
        free(rest->data);
        *rest = (struct rest){0};
    }
}

/* Of the chunk's `used` bytes the first `end` are whole records, and become its own; the others are
 * set aside. False if the first record is too long. */
static bool take_records(struct tool_chunks *chunks, struct tool_chunk *chunk, size_t end,
                         size_t used)
{
    const size_t good = find_long(chunks, chunk->buffer, end);
    if (good == 0)
        return fail_record(chunks, NULL, 0, false);
    set_aside(&chunks->rest, chunk->buffer + end, good < end ? 0 : used - end);
    if (!set_records(chunks, chunk, good))
        return false;
    if (good < end)
        chunks->place = AT_LONG;
    return true;
}

/* Reads until there is a whole record. The chunk has `used` bytes already, of which the first
 * `searched` have no delimiter. False at the end of the input, or if it failed. */
static bool read_records(struct tool_chunks *chunks, struct tool_chunk *chunk, size_t searched,
                         size_t used)
{
    while (true) {
        const size_t end =
            tool_scan_on(&chunks->scan, chunk->buffer + searched, used - searched, false);
        if (end > 0)
            return take_records(chunks, chunk, searched + end, used);
        if (tool_interrupt_came(chunks->source.interrupt)) {
            end_input(chunks);
            return false;
        }
        if (chunks->source.record_max > 0 && used > chunks->source.record_max) {
            begin_dropping(chunks);
            used = 0;
        }
        if (used > chunks->line_max)
            return fail_record(chunks, chunk->buffer, used, false);
        searched = used;
        make_room(chunks, chunk, used + 1);
        const size_t most = chunks->source.record_max; /* a longer one is seen before its end */
        const size_t room = most > 0 && most < chunk->capacity ? most + 1 : chunk->capacity;
        ssize_t count = tool_input_read(&chunks->input, chunk->buffer + used, room - used);
        if (count < 0) {
            fail_input(chunks);
            return false;
        }
        if (count == 0)
            break;
        used += (size_t)count;
        if (chunks->dropped == DROPPING)
            used = drop(chunks, chunk, used);
    }
    if (used == MARK_BYTES && is_marked(chunks, chunk->buffer, used))
        used = 0; /* an input of a mark alone has no record */
    /* The writer probably got the signal too, perhaps in the middle of a line. */
    if (tool_interrupt_came(chunks->source.interrupt))
        used = 0;
    else if ((used > 0 || chunks->dropped == DROPPING) && tool_scan_is_open(&chunks->scan))
        return fail_record(chunks, chunks->dropped == DROPPING ? NULL : chunk->buffer, used, true);
    if (used > 0) { /* what is left is a record without a delimiter */
        chunk->buffer[used] = chunks->source.delimiter;
        if (!set_records(chunks, chunk, used + 1))
            return false;
    }
    end_input(chunks);
    return used > 0;
}

static bool fill(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    if (chunk->buffer == NULL) {
        chunk->capacity = chunks->chunk_bytes;
        chunk->buffer = tool_allocate(chunk->capacity + 1);
    }
    while (true) {
        size_t used = 0, searched = 0;
        if (tool_interrupt_came(chunks->source.interrupt))
            return false;
        assert((chunks->place == NO_INPUT) == (chunks->input.name == NULL));
        if (chunks->place == NO_INPUT) {
            if (!goes_on(chunks, chunks->source.stops == TOOL_STOPS_SETTLED))
                return false;
            enum tool_opened opened =
                tool_input_open_next(&chunks->input, chunk->buffer, chunk->capacity, &used);
            if (opened == TOOL_OPENED_ALL)
                return false;
            chunks->place = AT_BEGIN;
            chunks->dropped = NONE_DROPPED;
            chunks->scan = tool_scan_begin(&chunks->source.quotes, chunks->source.delimiter,
                                           !chunks->source.keep_bom);
            if (chunks->source.record_max > 0) /* and so one thread */
                chunks->input_start = chunks->records + chunks->inner;
            if (opened == TOOL_OPEN_FAILED) {
                fail_input(chunks);
                continue;
            }
        } else if (chunks->place == AT_LONG) {
            fail_record(chunks, NULL, 0, false);
            continue;
        } else if (chunks->rest.bytes > 0) {
            used = searched = chunks->rest.bytes;
            make_room(chunks, chunk, used);
            take_back(&chunks->rest, chunk->buffer, 4 * chunks->chunk_bytes);
        }
        if (read_records(chunks, chunk, searched, used))
            return true;
    }
}

bool tool_chunks_take(struct tool_chunks *chunks, struct tool_chunk *chunk)
{
    return seize(chunks, chunk) && hand_on(chunks, chunk, fill(chunks, chunk));
}

/* ---- The end --------------------------------------------------------------------------------- */

uint64_t tool_chunks_records(const struct tool_chunks *chunks)
{
    return chunks->records;
}

uint64_t tool_chunks_too_long(const struct tool_chunks *chunks, const char **name, uint64_t *line)
{
    *name = chunks->too_long_input;
    *line = chunks->too_long_line;
    return chunks->too_long;
}

bool tool_chunks_close(struct tool_chunks *chunks)
{
    bool whole = !chunks->failed;
    tool_progress_stop(&chunks->progress);
    tool_input_close(&chunks->input);
    for (size_t i = 0; i < 2; i++)
        if (chunks->source.interrupt == NULL && chunks->wake[i] >= 0)
            close(chunks->wake[i]);
    pthread_cond_destroy(&chunks->given_back);
    pthread_cond_destroy(&chunks->baton_free);
    pthread_mutex_destroy(&chunks->mutex);
    free(chunks->past);
    free(chunks->rest.data);
    free(chunks);
    return whole;
}

void tool_chunk_free(struct tool_chunk *chunk)
{
    free(chunk->buffer);
    *chunk = (struct tool_chunk){0};
}

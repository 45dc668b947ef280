/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How input becomes blocks of records that several threads can work on.
 *
 *     input    850101312345\n850101312353\n99121|7314159\n...
 *     block 0  850101312345\n850101312353\n
 *     rest                                 99121
 *     block 1                              991217314159\n...
 *
 * A block is what one read gives, cut behind its last delimiter; the few bytes of the cut record
 * are set aside and begin the next block. A record that is longer than a block makes its block
 * longer, by doubling, so that long records take linear time, up to the longest record that may be
 * (line_most), so that a file without line ends takes no more memory than that. What a read gives
 * is handed out at once, be it one line: whoever types it waits for the answer.
 *
 * Reading is one thread's at a time: who takes a block has the baton, reads, cuts and hands the
 * baton on. Reading a cached file takes a tenth of what is then done with its lines, splitting them
 * included, and that happens in the thread's own block, which its core still has in its cache.
 * Everything that is said about the inputs is said with the baton in hand, and so in their order.
 *
 * Blocks are numbered as they are read. Who writes output waits with it until all earlier blocks
 * have been given back: the output is that of one thread. No more than one block per thread exists
 * at any time, which bounds the memory.
 *
 * Bytes are bytes: nothing here knows an encoding. The last record needs no delimiter (the buffer
 * always has room for one, and gets it), an empty record is the empty key, and an empty input has
 * no record. A byte order mark that begins an input is no text and is dropped (`keep_bom` keeps it). A
 * carriage return is not seen in a text either and yet becomes part of its keys: where no key rule
 * removes it, it is warned about, once for an input.
 */
#include "input/blocks.h"

#include "base/numbers.h"
#include "base/progress.h"
#include "base/team.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A quarter of a core's second-level cache, where a block stays until it is done with. Blocks of
 * 128 KiB to 1 MiB take the same time within 5 %. */
enum { BLOCK_BYTES = 1 << 18 };

struct past {
    uint64_t records; /* UNKNOWN where the block was not split to its end, or not yet */
    bool begins_input;
};

#define UNKNOWN UINT64_MAX

struct tool_blocks {
    struct tool_source source;
    size_t block_bytes;
    size_t line_most; /* SIZE_MAX - 1: any */
    uint32_t threads;
    uint64_t total; /* of the inputs, in bytes; 0: unknown */
    int wake[2];    /* a pipe; a byte in it wakes the reader. -1: none */

    pthread_mutex_t mutex;
    pthread_cond_t baton_free;
    pthread_cond_t given_back;
    /* Under the mutex. */
    bool baton_taken;
    bool stopped;
    bool ended;     /* no more blocks */
    uint64_t taken; /* blocks handed out */
    uint64_t done;  /* and given back */
    uint64_t records;
    struct past *past; /* of all that were taken, to tell a record's line; not with record_most */
    size_t past_room;
    uint64_t input_start; /* records of the inputs before the open one; with record_most */
    uint64_t last_start;  /* and of this one before the last block */
    uint64_t too_long;
    const char *too_long_input; /* the first one: its input, and its line there */
    uint64_t too_long_line;

    /* The baton's. */
    struct tool_input input;
    bool first_record; /* none has been handed out of this input */
    bool failed;
    bool ends_long;    /* what follows the last block is a record that is too long */
    bool dropping;     /* what is read belongs to a record that is too long */
    bool dropped_here; /* the open input has had one */
    unsigned char *rest;
    size_t rest_bytes;
    size_t rest_capacity;
    struct tool_progress progress;
};

/* Tests want blocks that are full after some lines. */
static size_t wanted_block_bytes(void)
{
#ifdef BLOOMERY_TOOL_SWITCH
    const char *text = getenv("BLOOMERY_BLOCK_BYTES");
    size_t wanted = text != NULL ? strtoul(text, NULL, 10) : 0;
    if (wanted >= TOOL_INPUT_LEAST_ROOM && wanted <= BLOCK_BYTES)
        return wanted;
#endif
    return BLOCK_BYTES;
}

/* Of packed files more blocks come than their size says, but unpacking is one thread's work. */
static uint32_t useful_threads(const struct tool_blocks *blocks)
{
    uint32_t threads = blocks->source.threads;
    if (threads == 0)
        threads = bloomery_threads();
    if (threads > TOOL_THREADS_MOST)
        threads = TOOL_THREADS_MOST;
    if (blocks->total > 0 && blocks->total / blocks->block_bytes < threads)
        threads = (uint32_t)(blocks->total / blocks->block_bytes) + 1;
    return threads;
}

struct tool_blocks *tool_blocks_open(const struct tool_source *source, const char *verb)
{
    struct tool_blocks *blocks = tool_allocate(sizeof(*blocks));
    memset(blocks, 0, sizeof(*blocks));
    blocks->source = *source;
    blocks->block_bytes = wanted_block_bytes();
    blocks->line_most = source->record_most > 0 ? SIZE_MAX - 1
                        : source->line_most > 0 ? source->line_most
                                                : TOOL_LINE_MOST;
    blocks->total = tool_source_bytes(source);
    blocks->threads = useful_threads(blocks);
    blocks->wake[0] = blocks->wake[1] = -1;
    if (source->interrupt != NULL) {
        blocks->wake[0] = tool_interrupt_read_end(source->interrupt);
        blocks->wake[1] = tool_interrupt_write_end(source->interrupt);
    } else if (source->stoppable && blocks->threads > 1 && pipe(blocks->wake) != 0)
        blocks->wake[0] = blocks->wake[1] = -1; /* a stop then waits for the next bytes */
    pthread_mutex_init(&blocks->mutex, NULL);
    pthread_cond_init(&blocks->baton_free, NULL);
    pthread_cond_init(&blocks->given_back, NULL);
    tool_input_start(&blocks->input, &blocks->source, blocks->wake[0]);
    tool_progress_start(&blocks->progress, verb, verb == NULL);
    return blocks;
}

uint32_t tool_blocks_threads(const struct tool_blocks *blocks)
{
    return blocks->threads;
}

/* ---- The baton ------------------------------------------------------------------------------- */

/* Takes the block back from a thread that comes for another. */
static void give_back(struct tool_blocks *blocks, struct tool_block *block)
{
    if (!block->open)
        return;
    block->open = false;
    blocks->records += block->records;
    if (block->from == block->end && blocks->past != NULL)
        blocks->past[block->number].records = block->records;
    blocks->done++;
    assert(blocks->done <= blocks->taken);
    pthread_cond_broadcast(&blocks->given_back);
}

void tool_blocks_give_back(struct tool_blocks *blocks, struct tool_block *block)
{
    pthread_mutex_lock(&blocks->mutex);
    give_back(blocks, block);
    pthread_mutex_unlock(&blocks->mutex);
}

/* A block gets its number. */
static void remember(struct tool_blocks *blocks, struct tool_block *block)
{
    block->number = blocks->taken++;
    if (blocks->source.record_most > 0) {
        assert(blocks->done == block->number); /* one thread, and so all others are back */
        blocks->last_start = blocks->records - blocks->input_start;
        return;
    }
    if (block->number == blocks->past_room) {
        blocks->past_room = 2 * blocks->past_room + 64;
        blocks->past = tool_reallocate(blocks->past, blocks->past_room * sizeof(*blocks->past));
    }
    blocks->past[block->number] = (struct past){UNKNOWN, block->begins_input};
}

uint64_t tool_blocks_line(const struct tool_blocks *blocks, uint64_t number, uint64_t record)
{
    uint64_t line = record + 1;
    assert(number < blocks->taken);
    if (blocks->past == NULL)
        return number + 1 == blocks->taken ? blocks->last_start + line : 0;
    while (!blocks->past[number].begins_input) {
        assert(number > 0);
        if (blocks->past[--number].records == UNKNOWN)
            return 0;
        line += blocks->past[number].records;
    }
    return line;
}

/* True: the baton is ours. False: there are no more blocks. */
static bool seize(struct tool_blocks *blocks, struct tool_block *block)
{
    pthread_mutex_lock(&blocks->mutex);
    give_back(blocks, block);
    while (blocks->baton_taken && !blocks->stopped && !blocks->ended)
        pthread_cond_wait(&blocks->baton_free, &blocks->mutex);
    bool ours = !blocks->stopped && !blocks->ended;
    if (ours)
        blocks->baton_taken = true;
    uint64_t records = blocks->records;
    pthread_mutex_unlock(&blocks->mutex);
    if (ours)
        tool_progress_update(&blocks->progress, records, blocks->input.stream.bytes_read,
                             blocks->total);
    return ours;
}

static bool hand_on(struct tool_blocks *blocks, struct tool_block *block, bool filled)
{
    pthread_mutex_lock(&blocks->mutex);
    assert(blocks->baton_taken);
    blocks->baton_taken = false;
    if (blocks->stopped)
        filled = false;
    if (filled) {
        block->open = true;
        block->records = 0;
        remember(blocks, block);
        pthread_cond_signal(&blocks->baton_free);
    } else {
        blocks->ended = true;
        pthread_cond_broadcast(&blocks->baton_free);
    }
    pthread_mutex_unlock(&blocks->mutex);
    return filled;
}

/* Whether to go on; `wait`: when all that was read is done with, for which nobody needs the
 * baton. */
static bool goes_on(struct tool_blocks *blocks, bool wait)
{
    pthread_mutex_lock(&blocks->mutex);
    while (wait && blocks->done != blocks->taken && !blocks->stopped)
        pthread_cond_wait(&blocks->given_back, &blocks->mutex);
    bool going_on = !blocks->stopped;
    pthread_mutex_unlock(&blocks->mutex);
    return going_on;
}

static bool settle(struct tool_blocks *blocks)
{
    return goes_on(blocks, blocks->source.settled);
}

bool tool_blocks_turn(struct tool_blocks *blocks, const struct tool_block *block)
{
    assert(block->open);
    pthread_mutex_lock(&blocks->mutex);
    /* After a stop blocks come back in any order, counted but not answered. */
    assert(blocks->stopped || blocks->done <= block->number);
    assert(block->number < blocks->taken);
    while (blocks->done != block->number && !blocks->stopped)
        pthread_cond_wait(&blocks->given_back, &blocks->mutex);
    bool ours = !blocks->stopped;
    pthread_mutex_unlock(&blocks->mutex);
    return ours;
}

void tool_blocks_stop(struct tool_blocks *blocks)
{
    assert(blocks->source.stoppable);
    pthread_mutex_lock(&blocks->mutex);
    bool first = !blocks->stopped;
    blocks->stopped = true;
    pthread_cond_broadcast(&blocks->baton_free);
    pthread_cond_broadcast(&blocks->given_back);
    pthread_mutex_unlock(&blocks->mutex);
    ssize_t written;
    if (first && blocks->wake[1] >= 0)
        do
            written = write(blocks->wake[1], "", 1);
        while (written < 0 && errno == EINTR);
}

/* ---- Reading, with the baton ----------------------------------------------------------------- */

static void end_input(struct tool_blocks *blocks)
{
    tool_input_close(&blocks->input);
    blocks->rest_bytes = 0;
    blocks->ends_long = false;
}

/* After an error: the next input is read, or none. */
static void leave_input(struct tool_blocks *blocks)
{
    end_input(blocks);
    if (!blocks->source.keep_going)
        blocks->input.next = tool_source_count(&blocks->source);
}

/* Waiting for bytes fails, too, where reading was interrupted. */
static void fail_input(struct tool_blocks *blocks)
{
    if (!tool_interrupt_came(blocks->source.interrupt) && settle(blocks)) {
        tool_error("%s: %s", tool_path_said(blocks->input.name), blocks->input.error);
        blocks->failed = true;
    }
    leave_input(blocks);
}

/* The line behind all that was read of the input, all blocks being back; 0 where one was not split
 * to its end. */
static uint64_t next_line(const struct tool_blocks *blocks)
{
    if (blocks->first_record)
        return 1;
    const uint64_t last = blocks->taken - 1;
    const uint64_t records = blocks->past[last].records;
    return records != UNKNOWN ? tool_blocks_line(blocks, last, records) : 0;
}

/* The next record is longer than any may be. Its line is known when the blocks before it have been
 * split. */
static void fail_long(struct tool_blocks *blocks)
{
    char most[TOOL_NUMBER_BYTES], line[TOOL_NUMBER_BYTES] = "a line";
    if (!tool_interrupt_came(blocks->source.interrupt) && goes_on(blocks, true)) {
        const uint64_t number = next_line(blocks);
        if (number > 0)
            snprintf(line, sizeof(line), "line %llu", (unsigned long long)number);
        tool_error("%s: %s is longer than %s; --max-line SIZE takes longer ones",
                   tool_path_said(blocks->input.name), line,
                   tool_format_size(most, blocks->line_most));
        blocks->failed = true;
    }
    leave_input(blocks);
}

enum { MARK_BYTES = 3 };

/* The mark has no delimiter in it, so it lies whole in the input's first block. */
static bool is_marked(const struct tool_blocks *blocks, const unsigned char *text, size_t bytes)
{
    return blocks->first_record && !blocks->dropped_here && !blocks->source.keep_bom &&
           bytes >= MARK_BYTES && memcmp(text, "\xef\xbb\xbf", MARK_BYTES) == 0;
}

/* Looks at the first record of an input for what comes of other systems' text files. */
static void warn_of_returns(const struct tool_blocks *blocks, const struct tool_block *block)
{
    const unsigned char *text = block->from;
    const unsigned char *stop = memchr(text, block->delimiter, (size_t)(block->end - block->from));
    assert(stop != NULL);
    if (stop > text && block->delimiter == '\n' && stop[-1] == '\r')
        tool_warning("%s: its first line ends in a carriage return, which becomes part of the key",
                     tool_path_said(blocks->input.name));
}

/* The block's records end before `end`. */
static void set_records(struct tool_blocks *blocks, struct tool_block *block, size_t end)
{
    assert(end > 0 && end <= block->capacity + 1);
    block->from = block->buffer;
    block->end = block->buffer + end;
    block->delimiter = blocks->source.delimiter;
    block->input = blocks->input.name;
    block->begins_input = blocks->first_record;
    assert(block->end[-1] == block->delimiter);
    if (is_marked(blocks, block->from, end))
        block->from += MARK_BYTES;
    assert(block->from < block->end);
    if (blocks->first_record && !blocks->source.unwarned && !blocks->source.returns_taken)
        warn_of_returns(blocks, block);
    blocks->first_record = false;
}

static void set_rest_aside(struct tool_blocks *blocks, const unsigned char *rest, size_t bytes)
{
    if (bytes > blocks->rest_capacity) {
        blocks->rest_capacity = bytes * 2;
        blocks->rest = tool_reallocate(blocks->rest, blocks->rest_capacity);
    }
    if (bytes > 0)
        memcpy(blocks->rest, rest, bytes);
    blocks->rest_bytes = bytes;
}

/* No more than the longest record takes with its delimiter, where a block has fewer bytes to begin
 * with. */
static void make_room(const struct tool_blocks *blocks, struct tool_block *block, size_t bytes)
{
    if (bytes <= block->capacity)
        return;
    assert(bytes <= blocks->line_most + 1);
    while (block->capacity < bytes)
        block->capacity *= 2;
    if (block->capacity > blocks->line_most + 1)
        block->capacity = blocks->line_most + 1;
    block->buffer = tool_reallocate(block->buffer, block->capacity + 1);
}

/* A record is longer than any may be: its bytes go, those that are here and those that come. */
static void begin_dropping(struct tool_blocks *blocks)
{
    pthread_mutex_lock(&blocks->mutex);
    if (blocks->too_long++ == 0) {
        blocks->too_long_input = blocks->input.name;
        blocks->too_long_line = blocks->records - blocks->input_start + 1;
    }
    blocks->records++;
    pthread_mutex_unlock(&blocks->mutex);
    blocks->dropping = blocks->dropped_here = true;
}

/* Drops what belongs to that record of the block's first `used` bytes. Returns how many are left. */
static size_t drop(struct tool_blocks *blocks, struct tool_block *block, size_t used)
{
    unsigned char *end = memchr(block->buffer, blocks->source.delimiter, used);
    if (end == NULL)
        return 0;
    blocks->dropping = false;
    used -= (size_t)(end + 1 - block->buffer);
    memmove(block->buffer, end + 1, used);
    return used;
}

/* Where in the first `bytes`, which are whole records, one begins that is too long; `bytes` where
 * none does. In so many bytes as the longest record takes with its delimiter one ends, or it is
 * too long. */
static size_t find_long(const struct tool_blocks *blocks, const unsigned char *text, size_t bytes)
{
    const size_t most = blocks->line_most + 1;
    size_t at = 0;
    while (bytes - at > most) {
        const unsigned char *last = memrchr(text + at, blocks->source.delimiter, most);
        if (last == NULL)
            return at;
        at = (size_t)(last - text) + 1;
    }
    return bytes;
}

/* Of the block's `used` bytes the first `end` are whole records, and become its own; the others
 * are set aside. False where the first record is too long. */
static bool take_records(struct tool_blocks *blocks, struct tool_block *block, size_t end,
                         size_t used)
{
    const size_t good = find_long(blocks, block->buffer, end);
    if (good == 0) {
        fail_long(blocks);
        return false;
    }
    blocks->ends_long = good < end;
    set_rest_aside(blocks, block->buffer + end, blocks->ends_long ? 0 : used - end);
    set_records(blocks, block, good);
    return true;
}

/* Reads until there is a whole record. The block has `used` bytes already, in the first of which up
 * to `searched` there is no delimiter. False at the end of the input, or where it failed. */
static bool read_records(struct tool_blocks *blocks, struct tool_block *block, size_t searched,
                         size_t used)
{
    while (true) {
        unsigned char *last =
            memrchr(block->buffer + searched, blocks->source.delimiter, used - searched);
        if (last != NULL)
            return take_records(blocks, block, (size_t)(last - block->buffer) + 1, used);
        if (tool_interrupt_came(blocks->source.interrupt)) {
            end_input(blocks);
            return false;
        }
        if (blocks->source.record_most > 0 && used > blocks->source.record_most) {
            begin_dropping(blocks);
            used = 0;
        }
        if (used > blocks->line_most) {
            fail_long(blocks);
            return false;
        }
        searched = used;
        make_room(blocks, block, used + 1);
        ssize_t count =
            tool_input_read(&blocks->input, block->buffer + used, block->capacity - used);
        if (count < 0) {
            fail_input(blocks);
            return false;
        }
        if (count == 0)
            break;
        used += (size_t)count;
        if (blocks->dropping)
            used = drop(blocks, block, used);
    }
    if (used == MARK_BYTES && is_marked(blocks, block->buffer, used))
        used = 0; /* an input of a mark alone has no record */
    /* Who wrote it got the signal too, as like as not, in the middle of a line. */
    if (tool_interrupt_came(blocks->source.interrupt))
        used = 0;
    if (used > 0) { /* what is left is a record without a delimiter */
        block->buffer[used] = blocks->source.delimiter;
        set_records(blocks, block, used + 1);
    }
    end_input(blocks);
    return used > 0;
}

static bool fill(struct tool_blocks *blocks, struct tool_block *block)
{
    if (block->buffer == NULL) {
        block->capacity = blocks->block_bytes;
        block->buffer = tool_allocate(block->capacity + 1);
    }
    while (true) {
        size_t used = 0, searched = 0;
        if (tool_interrupt_came(blocks->source.interrupt))
            return false;
        if (blocks->input.name == NULL) {
            if (!settle(blocks))
                return false;
            enum tool_opened opened =
                tool_input_open_next(&blocks->input, block->buffer, block->capacity, &used);
            if (opened == TOOL_OPENED_ALL)
                return false;
            blocks->first_record = true;
            blocks->dropping = blocks->dropped_here = false;
            if (blocks->source.record_most > 0) /* and so one thread */
                blocks->input_start = blocks->records;
            if (opened == TOOL_OPEN_FAILED) {
                fail_input(blocks);
                continue;
            }
        } else if (blocks->ends_long) {
            fail_long(blocks);
            continue;
        } else if (blocks->rest_bytes > 0) {
            used = searched = blocks->rest_bytes;
            make_room(blocks, block, used);
            memcpy(block->buffer, blocks->rest, used);
            blocks->rest_bytes = 0;
            if (blocks->rest_capacity > 4 * blocks->block_bytes) { /* of a long record */
                free(blocks->rest);
                blocks->rest = NULL;
                blocks->rest_capacity = 0;
            }
        }
        if (read_records(blocks, block, searched, used))
            return true;
    }
}

bool tool_blocks_take(struct tool_blocks *blocks, struct tool_block *block)
{
    return seize(blocks, block) && hand_on(blocks, block, fill(blocks, block));
}

/* ---- The end --------------------------------------------------------------------------------- */

uint64_t tool_blocks_records(const struct tool_blocks *blocks)
{
    return blocks->records;
}

uint64_t tool_blocks_too_long(const struct tool_blocks *blocks, const char **name, uint64_t *line)
{
    *name = blocks->too_long_input;
    *line = blocks->too_long_line;
    return blocks->too_long;
}

bool tool_blocks_close(struct tool_blocks *blocks)
{
    bool whole = !blocks->failed;
    tool_progress_stop(&blocks->progress);
    tool_input_close(&blocks->input);
    for (size_t i = 0; i < 2; i++)
        if (blocks->source.interrupt == NULL && blocks->wake[i] >= 0)
            close(blocks->wake[i]);
    pthread_cond_destroy(&blocks->given_back);
    pthread_cond_destroy(&blocks->baton_free);
    pthread_mutex_destroy(&blocks->mutex);
    free(blocks->past);
    free(blocks->rest);
    free(blocks);
    return whole;
}

void tool_block_free(struct tool_block *block)
{
    free(block->buffer);
    *block = (struct tool_block){0};
}

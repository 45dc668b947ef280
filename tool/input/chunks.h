/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs as chunks of whole records, for one thread or several; chunks.c holds the essay. Each
 * thread goes on until there are no more:
 *
 *     struct tool_chunk chunk = {0};
 *     while (tool_chunks_take(chunks, &chunk)) {
 *         while ((count = tool_chunk_keys(&chunk, keys)) > 0)
 *             ...
 *         if (tool_chunks_turn(chunks, &chunk))
 *             ... output, in the order of the input ...
 *     }
 *     tool_chunk_free(&chunk);
 */
#ifndef BLOOMERY_TOOL_BLOCKS_H
#define BLOOMERY_TOOL_BLOCKS_H

#include "input/input.h"
#include "input/split.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most keys in a batch: a multiple of 64, and the length of answer arrays follows from it. */
enum {
    TOOL_BATCH_KEYS = 4096,
    TOOL_BATCH_WORDS = TOOL_BATCH_KEYS / 64,
    TOOL_BATCH_ROOM = TOOL_BATCH_KEYS + TOOL_SPLIT_SLACK, /* keys that tool_chunk_keys may write */
};

struct tool_chunks;

/* A stretch of one input. Begins as zeros. */
struct tool_chunk {
    unsigned char *buffer;
    size_t capacity;           /* the buffer has one byte more, for a missing last delimiter */
    const unsigned char *from; /* what has not been split yet: [from, end) */
    const unsigned char *end;
    unsigned char delimiter;
    uint64_t number;                  /* from 0 on, in the order of the input */
    uint64_t records;                 /* that were taken out of it */
    uint64_t inner;                   /* line ends within those, in quotes */
    const struct tool_quotes *quotes; /* NULL: it has none, and each line is a record */
    const unsigned char *begin;       /* of its first record */
    const char *input;                /* what it was read from: a path of the source */
    size_t input_index;               /* of that path in the source */
    enum tool_packing packing;        /* of that input */
    bool begins_input;                /* it is the first one of that */
    const struct tool_layout *layout; /* the source's */
    struct tool_columns columns;      /* of this input */
    bool open;                        /* taken and not yet given back */
};

/* Opens nothing yet; `source` and its paths must stay until tool_chunks_close. `verb`: of the
 * progress line, NULL for none. Never NULL. */
struct tool_chunks *tool_chunks_open(const struct tool_source *source, const char *verb);

/* How many threads are of use: at most those requested, and no more than there are chunks. */
uint32_t tool_chunks_threads(const struct tool_chunks *chunks);

/* Gives the chunk back that this thread had, and takes the next. False at the end, or after
 * tool_chunks_stop. */
bool tool_chunks_take(struct tool_chunks *chunks, struct tool_chunk *chunk);

/* Gives the chunk back without taking another: for a thread that ends early, so that its records
 * count. */
void tool_chunks_give_back(struct tool_chunks *chunks, struct tool_chunk *chunk);

/*
 * The next 1 to TOOL_BATCH_KEYS keys of a chunk, 0 at its end. They are valid until the next chunk
 * is taken. The byte after each key is the delimiter, also after a last record that has none in the
 * input. The next key begins right behind it, so any run of keys can be written out as one span.
 */
static inline size_t tool_chunk_keys(struct tool_chunk *chunk, bloomery_key *keys)
{
    size_t count;
    if (__builtin_expect(chunk->quotes != NULL, 0))
        count = tool_quotes_split(chunk->quotes, &chunk->from, chunk->end, chunk->delimiter, keys,
                                  TOOL_BATCH_KEYS, &chunk->inner);
    else
        count = tool_split(&chunk->from, chunk->end, chunk->delimiter, keys, TOOL_BATCH_KEYS);
    chunk->records += count;
    return count;
}

/* How many lines of the chunk come before the record of this number. */
static inline uint64_t tool_chunk_lines_before(const struct tool_chunk *chunk, bloomery_key record,
                                               uint64_t number)
{
    return chunk->quotes == NULL ? number
                                 : tool_split_count(chunk->begin, record.data, chunk->delimiter);
}

/* Whether the first of the `count` records that were just taken out of a chunk is a header. */
static inline bool tool_chunk_has_header(const struct tool_chunk *chunk, size_t count)
{
    return chunk != NULL && chunk->layout != NULL && chunk->layout->header && chunk->begins_input &&
           chunk->records == count && count > 0;
}

/* Waits until all chunks before this one have been given back; every thread must then wait so for
 * every chunk. False after tool_chunks_stop. */
bool tool_chunks_turn(struct tool_chunks *chunks, const struct tool_chunk *chunk);

/* Ends it for all threads, also for one that waits for input. Needs `stops` in the source. */
void tool_chunks_stop(struct tool_chunks *chunks);

/* Records of all chunks given back. */
uint64_t tool_chunks_records(const struct tool_chunks *chunks);

/* Records that were passed over because they were longer than the source's record_max. They count
 * among the records. If there are any, `name` becomes the input of the first and `line` its number
 * there. */
uint64_t tool_chunks_too_long(const struct tool_chunks *chunks, const char **name, uint64_t *line);

/* The line of a record in its input, counted from 1; `record` lines of chunk `number` come before
 * it. Valid when all chunks have been given back. Returns 0 if a chunk before it was not split to
 * its end. With record_max, also if the chunk is not the last one that was taken. */
uint64_t tool_chunks_line(const struct tool_chunks *chunks, uint64_t number, uint64_t record);

/* Releases everything but the threads' chunks. True if all inputs were read to their end; otherwise
 * the messages have been printed. */
bool tool_chunks_close(struct tool_chunks *chunks);

void tool_chunk_free(struct tool_chunk *chunk);

#endif /* BLOOMERY_TOOL_BLOCKS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs as blocks of whole records, for one thread or several; blocks.c holds the essay. Each
 * thread goes on until there are no more:
 *
 *     struct tool_block block = {0};
 *     while (tool_blocks_take(blocks, &block)) {
 *         while ((count = tool_block_keys(&block, keys)) > 0)
 *             ...
 *         if (tool_blocks_turn(blocks, &block))
 *             ... output, in the order of the input ...
 *     }
 *     tool_block_free(&block);
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
    TOOL_BATCH_ROOM = TOOL_BATCH_KEYS + TOOL_SPLIT_SLACK, /* keys that tool_block_keys may write */
};

struct tool_blocks;

/* A stretch of one input. Begins as zeros. */
struct tool_block {
    unsigned char *buffer;
    size_t capacity;           /* the buffer has one byte more, for a missing last delimiter */
    const unsigned char *from; /* what has not been split yet: [from, end) */
    const unsigned char *end;
    unsigned char delimiter;
    uint64_t number;   /* from 0 on, in the order of the input */
    uint64_t records;  /* that were taken out of it */
    const char *input; /* what it was read from: a path of the source */
    bool begins_input; /* it is the first one of that */
    bool open;         /* taken and not yet given back */
};

/* Opens nothing yet; `source` and its paths must stay until tool_blocks_close. `verb`: of the
 * progress line, NULL for none. Never NULL. */
struct tool_blocks *tool_blocks_open(const struct tool_source *source, const char *verb);

/* How many threads are of use: those that were asked for, and no more than there are blocks. */
uint32_t tool_blocks_threads(const struct tool_blocks *blocks);

/* Gives the block back that this thread had, and takes the next. False at the end, or after
 * tool_blocks_stop. */
bool tool_blocks_take(struct tool_blocks *blocks, struct tool_block *block);

/* Gives the block back without taking another: for a thread that ends early, so that its records count. */
void tool_blocks_give_back(struct tool_blocks *blocks, struct tool_block *block);

/*
 * The next 1 to TOOL_BATCH_KEYS keys of a block, 0 at its end. They are valid until the next block
 * is taken. The byte after each key is the delimiter, also after a last record that has none in the
 * input, and the next key begins right behind it: any run of them can be written out as one span.
 */
static inline size_t tool_block_keys(struct tool_block *block, bloomery_key *keys)
{
    size_t count = tool_split(&block->from, block->end, block->delimiter, keys, TOOL_BATCH_KEYS);
    block->records += count;
    return count;
}

/* Waits until all blocks before this one have been given back; every thread must then wait so for
 * every block. False after tool_blocks_stop. */
bool tool_blocks_turn(struct tool_blocks *blocks, const struct tool_block *block);

/* Ends it for all threads, also for one that waits for input. Needs `stoppable` in the source. */
void tool_blocks_stop(struct tool_blocks *blocks);

/* Records of all blocks given back. */
uint64_t tool_blocks_records(const struct tool_blocks *blocks);

/* Records that were passed over, being longer than the source's record_most; they count among the records. Where
 * there are any, `name` becomes the input of the first and `line` its number there. */
uint64_t tool_blocks_too_long(const struct tool_blocks *blocks, const char **name, uint64_t *line);

/* The number of a record in its input, counted from 1: of record `record`, counted from 0, of block `number`.
 * When all blocks have been given back; 0 where one before it was not split to its end, or with record_most where
 * it is not the last one that was taken. */
uint64_t tool_blocks_line(const struct tool_blocks *blocks, uint64_t number, uint64_t record);

/* Releases everything but the threads' blocks. True where all inputs were read to their end;
 * otherwise the messages have been printed. */
bool tool_blocks_close(struct tool_blocks *blocks);

void tool_block_free(struct tool_block *block);

#endif /* BLOOMERY_TOOL_BLOCKS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks of a filter have how many bits set, and how many theory expects. */
#ifndef BLOOMERY_TOOL_BLOCK_FILL_H
#define BLOOMERY_TOOL_BLOCK_FILL_H

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stdint.h>

enum { TOOL_BLOCK_CELLS = 512 };

struct tool_block_fill {
    const char *file;
    bloomery_kind kind;
    bool counters; /* cells are counters, in use if they are not 0 */
    uint32_t blocks_per_key;
    uint32_t probes;
    uint32_t layers;
    uint64_t blocks;
    double keys; /* estimated; infinite if all bits are set */
    /* The number of blocks with so many bits set. */
    uint64_t measured[TOOL_BLOCK_CELLS + 1];
    double expected[TOOL_BLOCK_CELLS + 1];
    double measured_mean, measured_deviation; /* of a block's set bits */
    double expected_mean, expected_deviation;
};

/* Reads all bits. False after a message: a filter of this kind has no such blocks. */
bool tool_block_fill(const char *file, const bloomery_filter *filter, struct tool_block_fill *fill);

#endif /* BLOOMERY_TOOL_BLOCK_FILL_H */

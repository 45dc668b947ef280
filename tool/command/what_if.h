/* SPDX-License-Identifier: Apache-2.0 */
/* plan --bits-per-key, plan --probes: the rate of a size and of probes that the user chose. */
#ifndef BLOOMERY_TOOL_WHAT_IF_H
#define BLOOMERY_TOOL_WHAT_IF_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

/* The keys that a table shows if neither keys nor memory are given: rates hardly depend on them. */
#define TOOL_WHAT_IF_KEYS UINT64_C(1000000)

enum {
    TOOL_WHAT_IF_PROBES = 64,        /* the maximum, of a classic filter */
    TOOL_WHAT_IF_BLOCKED_PROBES = 8, /* in each block */
};

struct tool_what_if {
    uint64_t keys;         /* 0: as many as fit in memory, or TOOL_WHAT_IF_KEYS */
    uint64_t memory;       /* 0: not given */
    double bits_per_key;   /* 0: what memory and keys give */
    double rate;           /* 0: not given */
    bool grows;            /* --grow-to was given */
    uint32_t folds;        /* 0: none */
    uint32_t probes;       /* 0: those with the lowest rate */
    bloomery_kind kind;    /* 0: blocked and classic */
    uint32_t blocks;       /* 0: any */
    uint32_t counter_bits; /* 0: 4 */
    bool json;
};

/* A value of --bits-per-key. False after a message. */
bool tool_option_bits_per_key(const char *text, double *bits_per_key);

/* Whether the options go together; a kind of 0 becomes one that can have these probes. False after
 * a message. */
bool tool_what_if_fits(const struct tool_what_if *wish, bloomery_kind *kind);

/* Prints the table and returns the exit code. */
int tool_what_if(struct tool_what_if wish);

#endif /* BLOOMERY_TOOL_WHAT_IF_H */

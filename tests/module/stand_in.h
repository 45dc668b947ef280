/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server in the test's own process: just enough of one for the module to believe in it. It does
 * what a real one is never made to do: it refuses the n-th allocation, moves every block when it
 * defragments, lacks a function, and counts what was not given back.
 */
#ifndef TESTS_MODULE_STAND_IN_H
#define TESTS_MODULE_STAND_IN_H

#include "module/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STAND_IN_TEXT = 8192, STAND_IN_KEYS = 8, STAND_IN_PAYLOAD = 1 << 20 };

struct stand_in {
    /* What the test decides. */
    const char *missing; /* the name of a function that this server has not; NULL: none */
    long refuse_at;      /* this allocation from now on, 1 the next, is refused; 0: none */

    /* What happened. */
    long blocks; /* given out and not given back */
    long moves;  /* by defragmentation */
    char reply[STAND_IN_TEXT];
    char passed_on[STAND_IN_TEXT];  /* what a replica would get */
    char log[STAND_IN_TEXT];        /* the last line */
    uint8_t bulk[STAND_IN_PAYLOAD]; /* the last string in a reply */
    size_t bulk_bytes;

    /* A payload of DUMP. */
    uint8_t payload[STAND_IN_PAYLOAD];
    size_t payload_bytes;
};

extern struct stand_in stand_in;

/* Loads the module, with these words behind its name, a NULL at their end. */
int stand_in_load(const char *const *words);

/* Runs a command of words that are texts, NULL at their end. The reply is in stand_in.reply. */
const char *stand_in_ask(const char *command, ...) __attribute__((sentinel));

/* BF.LOADCHUNK with stand_in.bulk. */
const char *stand_in_load_chunk(const char *key, const char *iterator);

/* Forgets all keys. */
void stand_in_flush(void);

/* DUMP to stand_in.payload, and RESTORE from it; false: refused. */
void stand_in_dump(const char *key);
bool stand_in_restore(const char *key);

bool stand_in_copy(const char *from, const char *to);
uint64_t stand_in_digest(const char *key);
void stand_in_defrag(const char *key);

#endif /* TESTS_MODULE_STAND_IN_H */

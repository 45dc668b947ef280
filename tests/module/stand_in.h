/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server in the test's own process: just enough of one for the module to believe in it. It does
 * what a real one is never made to do: it refuses the n-th allocation, moves every block when it
 * defragments, lacks a function, and counts what was not given back.
 */
#ifndef TESTS_MODULE_STAND_IN_H
#define TESTS_MODULE_STAND_IN_H

#include "module/api.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STAND_IN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STAND_IN_SANITIZED 1
#endif
#endif
#ifndef STAND_IN_SANITIZED
#define STAND_IN_SANITIZED 0
#endif

enum { STAND_IN_TEXT = 8192, STAND_IN_KEYS = 20, STAND_IN_PAYLOAD = 4 << 20 };

struct stand_in {
    /* What the test decides. */
    const char *missing; /* the name of a function that this server has not; NULL: none */
    int flags;           /* of every context: SERVER_CONTEXT_LOADING, say */
    uint64_t now_ms;     /* the time of the day */
    uint64_t maxmemory;  /* and all of it is used; 0: none */
    long refuse_at;      /* this allocation from now on, 1 the next, is refused; 0: none */

    /* What happened. */
    atomic_long blocks; /* given out and not given back; in any thread */
    size_t asked;       /* bytes that were given out, ever */
    long moves;         /* by defragmentation */
    long signals;       /* of modified keys */
    long events;        /* of the keyspace */
    char reply[STAND_IN_TEXT];
    char passed_on[STAND_IN_TEXT];  /* what a replica would get */
    char log[STAND_IN_TEXT];        /* the last line */
    uint8_t bulk[STAND_IN_PAYLOAD]; /* the last string in a reply */
    size_t bulk_bytes;

    /* A payload of DUMP. */
    enum stand_in_type { STAND_IN_FILTER, STAND_IN_WINDOW, STAND_IN_CUCKOO, STAND_IN_TYPES } type;
    uint8_t payload[STAND_IN_PAYLOAD];
    size_t payload_bytes;
    size_t payload_read; /* by RESTORE */
};

extern struct stand_in stand_in;

/* Loads the module, with these words behind its name, a NULL at their end. */
int stand_in_load(const char *const *words);

/* Runs a command of words that are texts, NULL at their end. The reply is in stand_in.reply. */
const char *stand_in_ask(const char *command, ...) __attribute__((sentinel));

/* A command that was never run since the module was loaded; NULL: there is none. */
const char *stand_in_never_run(void);

/* BF.LOADCHUNK with stand_in.bulk, or with other bytes; and another LOADCHUNK, "cf.loadchunk" say.
 * */
const char *stand_in_load_chunk(const char *key, const char *iterator);
const char *stand_in_load_chunk_of(const char *key, const char *iterator, const void *data,
                                   size_t bytes);
const char *stand_in_load_piece(const char *command, const char *key, const char *iterator,
                                const void *data, size_t bytes);

/* A number of the section of INFO. */
unsigned long long stand_in_info(const char *field);

bool stand_in_has(const char *key);

/* Forgets all keys. */
void stand_in_flush(void);

/* UNLINK: the key is gone, and its value is released by the second one, in any thread. */
void *stand_in_unlink(const char *key);
void stand_in_release(void *value);

/* DUMP to stand_in.payload, and RESTORE from it, also as another encoding version. False: it was
 * refused. */
void stand_in_dump(const char *key);
bool stand_in_restore(const char *key);
bool stand_in_restore_as(const char *key, int encoding);

/* A rewritten AOF of a key, as it makes another one. */
void stand_in_rewrite(const char *from, const char *to);

/* MEMORY USAGE, without what the server adds. */
size_t stand_in_memory(const char *key);

bool stand_in_copy(const char *from, const char *to);
uint64_t stand_in_digest(const char *key);
void stand_in_defrag(const char *key);

/* The server's cron. */
void stand_in_tick(void);

/* A child of the server is born, or has ended. */
void stand_in_child(bool is_born);

#endif /* TESTS_MODULE_STAND_IN_H */

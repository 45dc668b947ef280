/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys become hashes before there is a filter. Its plan decides its hash, and that needs the number
 * of keys. So if both are possible, both are made. hasher.c says when that is.
 *
 *     struct tool_hasher hasher;
 *     if (tool_hasher_open(&hasher, &options, rate, memory)) {
 *         tool_hasher_start(&hasher, threads);
 *         ... in each thread: tool_hasher_take(&hasher, thread, keys, count) ...
 *         ... the filter is made, with the same options ...
 *         tool_hasher_build(&hasher, filter, plan.hash, "f.bloom", false);
 *     }
 *     tool_hasher_close(&hasher);
 */
#ifndef BLOOMERY_TOOL_HASHER_H
#define BLOOMERY_TOOL_HASHER_H

#include "filter/distinct.h"
#include "filter/hash_store.h"

#include <bloomery/bloomery.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_HASHER_PARTS = 2 };

/* One of the hashes. */
struct tool_hasher_part {
    bloomery_hash_id hash;
    bloomery_filter *filter; /* a small one with this hash, to make it */
    struct tool_hash_store *store;
    uint64_t keys_max; /* with more keys the filter has the other hash, and these go */
};

struct tool_hasher {
    struct tool_hasher_part parts[TOOL_HASHER_PARTS];
    size_t count;                   /* of parts */
    struct tool_distinct *distinct; /* of each thread */
    uint32_t threads;
    _Atomic uint64_t keys;
};

/* Makes the smallest filter, of which only the hash is used. NULL after a message. */
bloomery_filter *tool_hasher_least(bloomery_hash_id hash, const bloomery_create_options *options);

/* For a filter with this hash (BLOOMERY_HASH_DEFAULT: as its rate will need) and these options. Its
 * rate will be this one, or if that is 0 the least one that the memory allows. False after a
 * message; either way it is to be closed. */
bool tool_hasher_open(struct tool_hasher *hasher, bloomery_hash_id hash,
                      const bloomery_create_options *options, double rate, uint64_t memory);

/* Keys will come from so many threads. */
void tool_hasher_start(struct tool_hasher *hasher, uint32_t threads);

/* Hashes keys and keeps the hashes. False if they can't be kept. */
bool tool_hasher_take(struct tool_hasher *hasher, uint32_t thread, const bloomery_key *keys,
                      size_t count);

/* Whether any could not, and a message that says why. */
bool tool_hasher_failed(const struct tool_hasher *hasher);
void tool_hasher_say(const struct tool_hasher *hasher);

/*
 * An upper bound of the different keys: the number of keys itself, or an estimate and four of its
 * standard deviations, if that is less. A filter for so many keeps its rate. The same whatever the
 * threads. When no thread takes any more.
 */
uint64_t tool_hasher_different_keys(struct tool_hasher *hasher);

/* Adds all to the filter, which has this hash; see tool_hash_store_build. */
bool tool_hasher_build(struct tool_hasher *hasher, bloomery_filter *filter, bloomery_hash_id hash,
                       const char *name, bool quiet);

void tool_hasher_close(struct tool_hasher *hasher);

#endif /* BLOOMERY_TOOL_HASHER_H */

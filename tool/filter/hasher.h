/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys become hashes before there is a filter. Its plan decides its hash, and that needs the number
 * of keys. So if both are possible, both are made. hasher.c has the essays.
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
#include <bloomery/bloomery.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Different hashes ------------------------------------------------------------------------ */

/* How many different hashes there are, from a sample of them. */

enum { TOOL_DISTINCT_KEPT = 1 << 14 }; /* different hashes in a sample, at most */

/* One thread's sample. Begins as zeros. */
struct tool_distinct {
    uint32_t level;  /* those hashes are in the sample whose lowest `level` bits are 0 */
    size_t count;    /* of them, without zero_seen */
    bool zero_seen;  /* the hash 0, which marks empty slots, is in it */
    uint64_t *slots; /* NULL: none yet */
};

/* Takes a hash, evenly spread over all numbers of 64 bits. */
void tool_distinct_add_sampled(struct tool_distinct *distinct, uint64_t hash);

static inline void tool_distinct_add(struct tool_distinct *distinct, uint64_t hash)
{
    if ((hash & ((UINT64_C(1) << distinct->level) - 1)) == 0)
        tool_distinct_add_sampled(distinct, hash);
}

/* Takes those of another one. */
void tool_distinct_merge(struct tool_distinct *into, const struct tool_distinct *from);

/* The estimate, and its standard deviation: 0 while every hash is in the sample. */
double tool_distinct_estimate(const struct tool_distinct *distinct, double *deviation);

void tool_distinct_free(struct tool_distinct *distinct);

/* ---- The store of hashes --------------------------------------------------------------------- */

/*
 * Hashes of keys that wait for the filter they go into: of any number, in bounded memory, and past
 * that in a file. All threads keep, and then one builds:
 *
 *     struct tool_hash_store *store = tool_hash_store_new(sizeof(uint64_t), threads, max_bytes);
 *     ... in each thread: tool_hash_store_keep(store, thread, hashes, count) ...
 *     tool_hash_store_build(store, filter, "f.bloom", false);
 *     tool_hash_store_free(store);
 */

struct tool_hash_store;

/* `hash_bytes`: 8 of filters with XXH3-64, whose hashes have no more, else 16. `max_bytes` is the
 * memory that they may take; at least 64 bytes a thread. Never NULL. */
struct tool_hash_store *tool_hash_store_new(size_t hash_bytes, uint32_t threads, size_t max_bytes);

/* Thread `thread`, 0 to threads - 1, keeps hashes. False if the file for them can't be made or
 * written; from then on nothing is kept. */
bool tool_hash_store_keep(struct tool_hash_store *store, uint32_t thread,
                          const bloomery_hash *hashes, size_t count);

/* Whether the file failed, and a message about it if it did. When no thread keeps any more. */
bool tool_hash_store_failed(const struct tool_hash_store *store);
void tool_hash_store_say(const struct tool_hash_store *store);

/* How many hashes there are; and, for tests, how many bytes of them are in the file. When no thread
 * keeps any more. */
uint64_t tool_hash_store_count(const struct tool_hash_store *store);
uint64_t tool_hash_store_file_bytes(const struct tool_hash_store *store);

/* Adds all to the filter, which messages call `name`, with as many threads as there were, and
 * progress unless quiet. The store is then used up. False after a message. */
bool tool_hash_store_build(struct tool_hash_store *store, bloomery_filter *filter, const char *name,
                           bool quiet);

/* NULL is fine. */
void tool_hash_store_free(struct tool_hash_store *store);

/* ---- The hasher ------------------------------------------------------------------------------ */

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
    bool counts_only; /* nothing is kept: the keys come a second time when there is a filter */
    _Atomic uint64_t keys;
};

/* Makes the smallest filter, of which only the hash is used. NULL after a message. */
bloomery_filter *tool_hasher_least(bloomery_hash_id hash, const bloomery_create_options *options);

/* For a filter with this hash (BLOOMERY_HASH_DEFAULT: as its rate will need) and these options. Its
 * rate will be this one, or if that is 0 the least one that the memory allows. False after a
 * message; either way it is to be closed. */
bool tool_hasher_open(struct tool_hasher *hasher, bloomery_hash_id hash,
                      const bloomery_create_options *options, double rate, uint64_t memory);

/* Prepares for keys from `threads` threads. `counts_only` is set before, where it is wanted. */
void tool_hasher_start(struct tool_hasher *hasher, uint32_t threads);

/* Hashes keys and keeps the hashes. False if they can't be kept. */
bool tool_hasher_take(struct tool_hasher *hasher, uint32_t thread, const bloomery_key *keys,
                      size_t count);

/* Whether any could not, and a message that says why. */
bool tool_hasher_failed(const struct tool_hasher *hasher);
void tool_hasher_say(const struct tool_hasher *hasher);

/*
 * Returns an upper bound of the number of distinct keys: the number of keys itself, or an estimate
 * and four of its standard deviations, if that is less. A filter for that number keeps its rate. It
 * does not depend on the threads. Call it when no thread takes any more.
 */
uint64_t tool_hasher_different_keys(struct tool_hasher *hasher);

/* Adds all to the filter, which has this hash; see tool_hash_store_build. */
bool tool_hasher_build(struct tool_hasher *hasher, bloomery_filter *filter, bloomery_hash_id hash,
                       const char *name, bool quiet);

void tool_hasher_close(struct tool_hasher *hasher);

#endif /* BLOOMERY_TOOL_HASHER_H */

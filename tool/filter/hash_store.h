/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of keys that wait for the filter they go into: of any number, in bounded memory, and past
 * that in a file. hash_store.c holds the essay. All threads keep, and then one builds:
 *
 *     struct tool_hash_store *store = tool_hash_store_new(sizeof(uint64_t), threads, max_bytes);
 *     ... in each thread: tool_hash_store_keep(store, thread, hashes, count) ...
 *     tool_hash_store_build(store, filter, "f.bloom", false);
 *     tool_hash_store_free(store);
 */
#ifndef BLOOMERY_TOOL_HASH_STORE_H
#define BLOOMERY_TOOL_HASH_STORE_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* BLOOMERY_TOOL_HASH_STORE_H */

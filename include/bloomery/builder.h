/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building static filters: the smallest kind, which takes all its keys at once.
 *
 * Threads, ownership, errors, structs and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_BUILDER_H
#define BLOOMERY_BUILDER_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A static filter is built once, from all its keys. A builder collects them, and then makes the
 * filter or its file:
 *
 *     bloomery_builder *builder = NULL;
 *     bloomery_plan plan = {.keys = 1000000, .rate = 1e-4};
 *     status = bloomery_builder_open(&plan, NULL, NULL, &builder, &error);
 *     ... bloomery_builder_add(builder, &keys, &error), any number of times
 *     status = bloomery_builder_save(builder, "list.bloom", &error);
 *     bloomery_builder_free(builder);
 *
 * The same set of keys makes the same bytes, whatever their order, how often they come, and in how
 * many threads and how much memory. The plan's number of keys is only an estimate of the size: any
 * number may be added, 0 included.
 */
typedef struct bloomery_builder bloomery_builder;

/* Called by the thread that called _finish or _save, now and then: `done` of `total` steps of the
 * layer that is being built. A result other than 0 stops the build, which is BLOOMERY_IO_FAILED
 * then. */
typedef int (*bloomery_progress)(void *context, uint64_t done, uint64_t total);

typedef struct bloomery_builder_options {
    size_t struct_bytes; /* sizeof(bloomery_builder_options), or 0 */

    /* Bytes for keys that wait (16 each, as hashes), and for the work on them: 0 for 1 GiB, or for
     * half of the `room` of bloomery_limits if that is less; else at least 16 MiB. The filter
     * itself comes on top, and briefly twice at the end, unless it is saved with a `directory`. */
    uint64_t memory;

    /* Where keys are stored that do not fit in memory: in files without names, which vanish when
     * the process ends. 16 bytes per key, and for _save the filter. NULL: BLOOMERY_FULL then. */
    const char *directory;

    uint32_t threads;    /* of _finish and _save; 0: BLOOMERY_THREADS_ALL */
    bool unchecked;      /* leave out the query for every key at the end */
    uint8_t reserved[3]; /* 0 */

    bloomery_progress progress; /* may be NULL */
    void *progress_context;
} bloomery_builder_options;

#define BLOOMERY_BUILDER_OPTIONS BLOOMERY_SIZED(bloomery_builder_options)

/*
 * Makes a builder. The plan has a rate, and BLOOMERY_STATIC or 0 as its kind; it is solved here if
 * necessary, as by bloomery_create. `options` as for bloomery_create; of these concurrent_adds and
 * memory_limit must be 0. The allocator is called by one thread at a time, which may be any of
 * those that add keys. BLOOMERY_BAD_ARGUMENT, BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY;
 * BLOOMERY_IO_FAILED if no file can be made in the directory.
 */
BLOOMERY_PUBLIC bloomery_status
bloomery_builder_open(const bloomery_plan *plan, const bloomery_create_options *options,
                      const bloomery_builder_options *builder_options, bloomery_builder **builder,
                      bloomery_error *error);

/*
 * Adds keys in any form; hashes must be made with the same hash, seed and secret. Any number of
 * threads may add at the same time. BLOOMERY_FULL if the memory is used up and the builder has no
 * directory, BLOOMERY_OUT_OF_MEMORY, BLOOMERY_IO_FAILED: some of the keys may be missing then, and
 * every later call fails in the same way. BLOOMERY_BAD_ARGUMENT and BLOOMERY_MISMATCH as of
 * bloomery_add_keys: none of these keys was added.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_builder_add(bloomery_builder *builder,
                                                     const bloomery_keys *keys,
                                                     bloomery_error *error);

/*
 * Makes the filter of all keys that were added, in memory or straight in a file, which then holds
 * what bloomery_save would write; `path` is replaced as there. No keys may be added during the
 * call. Each key is looked up in what was built before the call is done, unless `unchecked`:
 * BLOOMERY_CORRUPT if one is missing, which only broken memory can cause.
 *
 * A builder makes one filter: BLOOMERY_BAD_ARGUMENT after that. On failure the old file stays and
 * the builder can only be freed. BLOOMERY_UNSUPPORTED if its hashes were made to collide, as anyone
 * can with XXH3: a filter with a secret is safe from that. Also BLOOMERY_OUT_OF_MEMORY,
 * BLOOMERY_IO_FAILED; and BLOOMERY_FULL if the memory allowed is not enough to sort the keys.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_builder_finish(bloomery_builder *builder,
                                                        const bloomery_filter **filter,
                                                        bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_builder_save(bloomery_builder *builder, const char *path,
                                                      bloomery_error *error);

/* Releases everything, the temporary files too. NULL is allowed. */
BLOOMERY_PUBLIC void bloomery_builder_free(bloomery_builder *builder);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_BUILDER_H */

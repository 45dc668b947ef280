/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sieve inside.
 *
 *     push -> canonicaliser -> hash -> engine ----------------> queue -> pop -> leases -> ack
 *                                      memory: filter, NEW ----^
 *                                      disk:   cache -> SEEN
 *                                              pending log of a partition -> decided --^
 *
 * sieve.c takes the calls, one at a time under a lock, and knows no engine; an engine is a row of
 * functions. What is durable is what the manifest says (manifest.h): a commit writes out what is in
 * buffers, syncs it, and then the manifest. Files are appended to or written once, so that until
 * the next commit all that the last one counted is there. A file that is no longer needed is
 * removed after the commit that does without it.
 */
#ifndef BLOOMERY_SIEVE_ENGINE_H
#define BLOOMERY_SIEVE_ENGINE_H

#include "hash/hashes.h"
#include "sieve/queue/dead.h"
#include "sieve/queue/queue.h"

#include <pthread.h>

/* What is kept in the directory and can't be changed. */
struct bloomery_sieve_settings {
    uint32_t engine;
    uint32_t fingerprint_bits;
    uint32_t partitions;
    uint32_t full;
    uint32_t leases;
    uint32_t hash; /* of the disk engine */
    bool ordered;  /* BLOOMERY_SIEVE_ORDER_FIFO; of the disk engine */
    uint64_t keys;
    double rate;
    char canon[BLOOMERY_SIEVE_CANON_NAME_BYTES + 1];
    char dialect[32]; /* "": Bloomery's own */
    uint8_t secret[BLOOMERY_SECRET_BYTES];
};

/* The order in which keys come out: of the memory engine as of one partition. */
static inline bloomery_sieve_order
bloomery_sieve_order_of(const struct bloomery_sieve_settings *settings)
{
    return settings->ordered || settings->engine == BLOOMERY_SIEVE_MEMORY
               ? BLOOMERY_SIEVE_ORDER_FIFO
               : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
}

enum {
    /* What version 0.1 has of the public structs. */
    BLOOMERY_SIEVE_INFO_BYTES_FIRST = sizeof(bloomery_sieve_info),
    BLOOMERY_SIEVE_RECOVERY_BYTES_FIRST = sizeof(bloomery_sieve_recovery),
};

struct bloomery_sieve_counters {
    uint64_t pushed;
    uint64_t new_keys;
    uint64_t seen;
    uint64_t pending;
    uint64_t forced;
    uint64_t marked;
    double drops; /* expected, of the memory engine */
};

enum {
    BLOOMERY_SIEVE_COUNTERS = 7,
    BLOOMERY_SIEVE_LEASE_SECONDS = 3600, /* if the caller does not choose */
    BLOOMERY_SIEVE_PORTION = 256,        /* keys that are hashed at a time */
    BLOOMERY_SIEVE_BUDGET = 64 << 20,    /* bytes of the disk engine, if nobody says */
    BLOOMERY_CANON_ROOM = 16,            /* what a canonicaliser may add to a key */
    /* Bytes of a portion's canonical keys that need no memory of their own. */
    BLOOMERY_CANON_STACK = 32 * 1024,
    /* Keys that are asked for under one lock; a number of one takes 16 bits. */
    BLOOMERY_CONTAINS_MAX = 16384,
};

struct bloomery_disk;
struct bloomery_filter_engine;

struct bloomery_sieve_engine_row {
    /* Empty, in an empty directory or none. */
    bloomery_status (*make)(bloomery_sieve *sieve, bloomery_error *error);
    /* From the bytes that `store` wrote; the queue has been restored. */
    bloomery_status (*restore)(bloomery_sieve *sieve, const uint8_t *from, size_t bytes,
                               bloomery_error *error);
    void (*free)(bloomery_sieve *sieve);
    /* The next entries: those of keys[i] from `*done` on; `*done` becomes how many are done.
     * `kind`: 0, BLOOMERY_ENTRY_MARKED or _FORCED. `hashes` as `hash` made them. */
    bloomery_status (*push)(bloomery_sieve *sieve, const bloomery_hash *hashes,
                            const struct bloomery_entry *entries, size_t count, uint8_t *results,
                            size_t *done, bloomery_error *error);
    /* Called without the lock. */
    void (*hash)(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes);
    /* SEEN, NEW or PENDING for each of up to BLOOMERY_CONTAINS_MAX keys; `room`: as many words,
     * whose contents do not matter. */
    bloomery_status (*contains)(bloomery_sieve *sieve, const bloomery_hash *hashes, size_t count,
                                uint64_t *room, uint8_t *results, bloomery_error *error);
    /* Decides until `wanted` items are queued or nothing is pending; UINT64_MAX: everything. */
    bloomery_status (*decide)(bloomery_sieve *sieve, uint64_t wanted, bloomery_error *error);
    /* Writes out and syncs what it has; then its part of the manifest. */
    bloomery_status (*prepare)(bloomery_sieve *sieve, bool closing, bloomery_error *error);
    size_t (*store)(const bloomery_sieve *sieve, uint8_t *to);
    /* The manifest is durable: removes what it does without. */
    void (*committed)(bloomery_sieve *sieve);
    /* Whether the state names this file. */
    bool (*names)(const bloomery_sieve *sieve, enum bloomery_file_kind kind, uint64_t number,
                  uint64_t generation);
    void (*info)(bloomery_sieve *sieve, bloomery_sieve_info *info);
    bloomery_status (*verify)(bloomery_sieve *sieve, bloomery_sieve_report report, void *context,
                              uint64_t *damaged, bloomery_error *error);
    /* The first segment of the queue that it still needs; UINT64_MAX: none. */
    uint64_t (*keep_segment)(const bloomery_sieve *sieve);
};

extern const struct bloomery_sieve_engine_row bloomery_sieve_disk;
extern const struct bloomery_sieve_engine_row bloomery_sieve_memory;

struct bloomery_manifest {
    int file;            /* -1: no directory */
    uint64_t generation; /* of the last commit */
    uint64_t copy_bytes;
    uint8_t *image;     /* copy_bytes */
    uint32_t first[2];  /* of a slot, the copy to be written first: the other one is whole */
    bool mends;         /* copy `first` of the last commit is not what its twin is */
    uint64_t broken_at; /* where that is, if it is not whole; UINT64_MAX: it is */
};

struct bloomery_sieve {
    pthread_mutex_t mutex;
    struct bloomery_store store;
    bloomery_allocator allocator;
    struct bloomery_queue *queue;
    struct bloomery_dead dead;
    const struct bloomery_sieve_engine_row *engine;
    struct bloomery_disk *disk;
    struct bloomery_filter_engine *filter;
    struct bloomery_sieve_settings settings;
    struct bloomery_sieve_counters counters;
    struct bloomery_manifest manifest;
    const struct bloomery_hash_row *hash;
    struct bloomery_hash_secret secret;
    bloomery_canonicaliser canonicaliser;
    void *canonicaliser_context;
    bloomery_sieve_warning warning;
    void *warning_context;
    char *path; /* as it was given, for messages */
    size_t path_bytes;
    char *real_path; /* from the root on */
    size_t real_path_bytes;
    uint64_t memory; /* the budget; 0: none */
    bloomery_sieve_sync sync;
    double sync_seconds; /* of BLOOMERY_SIEVE_SYNC_TIMED */
    double lease;
    double committed_at; /* monotonic seconds */
    uint64_t durable;    /* pushes and finished items that the last commit has */
    uint64_t durable_done;
    uint64_t commits;
    bool changed; /* since the last commit */
    bool made_directory;
};

/* ---- The manifest --------------------------------------------------------------------------- */

/* The bytes of a copy for these settings. */
uint64_t bloomery_manifest_slot(const struct bloomery_sieve_settings *settings);

/* Makes the file with the state in all its copies, under its name in one step. */
bloomery_status bloomery_manifest_make(bloomery_sieve *sieve, bloomery_error *error);

/* Opens it and reads the last commit's settings into sieve->settings. Changes nothing.
 * BLOOMERY_NOT_A_FILTER if there is none; BLOOMERY_CORRUPT also if the last commit may be one
 * that cannot be read. */
bloomery_status bloomery_manifest_open(bloomery_sieve *sieve, bloomery_error *error);

/* With the image still as it was read: the last commit becomes durable if a process that ended
 * before it was may have made it. Before that nothing may be cut or removed: what is there may be
 * what a power cut goes back to. */
bloomery_status bloomery_manifest_settle(bloomery_sieve *sieve, bloomery_error *error);

/* Called after all else was restored, and with the image still as it was read. Writes a copy of the
 * last commit that is not whole, or older, from its twin. */
void bloomery_manifest_mend(bloomery_sieve *sieve);

/* Reports a copy of the last commit that is not whole, and counts it. */
bloomery_status bloomery_manifest_verify(bloomery_sieve *sieve, bloomery_sieve_report report,
                                         void *context, uint64_t *damaged, bloomery_error *error);

/* Whether the state that was read was written by a process that did not sync. */
bool bloomery_manifest_unsynced(const bloomery_sieve *sieve);

/* Then, counters, queue and engine, which have been made meanwhile. */
bloomery_status bloomery_manifest_restore(bloomery_sieve *sieve, bool keep_leases,
                                          bloomery_error *error);

/* Makes the file anew for settings that have other leases than the file was made for. */
bloomery_status bloomery_manifest_resize(bloomery_sieve *sieve, bloomery_error *error);

/* Writes the state into the slot that is not the newest, and syncs it. */
bloomery_status bloomery_manifest_write(bloomery_sieve *sieve, bloomery_error *error);
void bloomery_manifest_close(bloomery_sieve *sieve);

/* ---- Opening (sieve_open.c) ----------------------------------------------------------------- */

/* A caller's struct may be of an older header, shorter, or of a later one, whose other fields must
 * be unused. */
bloomery_status bloomery_sieve_copy_options(const bloomery_sieve_options *options,
                                            bloomery_sieve_options *copy, bloomery_error *error);

/* As bloomery_sieve_open, in a directory that is open and locked already, which becomes the
 * sieve's, and is closed on failure too; -1: there is none. */
bloomery_status bloomery_sieve_open_locked(const bloomery_sieve_options *options, int directory,
                                           bloomery_sieve **sieve, bloomery_error *error);

/* A sieve that is not open yet, and its end, open or not. `made` may be there on failure too. */
bloomery_status bloomery_sieve_allocate(const bloomery_sieve_options *options,
                                        bloomery_sieve **made, bloomery_error *error);
void bloomery_sieve_destroy(bloomery_sieve *sieve);

/* ---- Commits --------------------------------------------------------------------------------- */

/* With the lock held. */
bloomery_status bloomery_sieve_commit_now(bloomery_sieve *sieve, bool closing,
                                          bloomery_error *error);

/* A commit if it is time for one: before a change, so that one that fails leaves nothing
 * changed. */
bloomery_status bloomery_sieve_commit_due(bloomery_sieve *sieve, bloomery_error *error);

/* The same where a full disk must not keep anyone from emptying the queue: that the commit fails is
 * no failure. And after a change, if each is to be durable: without room it is made, and durable
 * with the next commit. */
bloomery_status bloomery_sieve_commit_if_can(bloomery_sieve *sieve, bloomery_error *error);
bloomery_status bloomery_sieve_commit_where_room(bloomery_sieve *sieve, bloomery_error *error);

/* Says it through the caller's function, if there is one. */
__attribute__((format(printf, 2, 3))) void bloomery_sieve_warn(bloomery_sieve *sieve,
                                                               const char *format, ...);

/* Seconds of a clock that only goes forward. */
double bloomery_sieve_now(void);

/* Seconds since 1970, by the clock on the wall. */
double bloomery_sieve_wall_clock(void);

/* Whether it may be changed: BLOOMERY_IO_FAILED if a sync failed before, BLOOMERY_READ_ONLY. */
bloomery_status bloomery_sieve_usable(const bloomery_sieve *sieve, bloomery_error *error);

/* ---- Keys, without the lock ------------------------------------------------------------------ */

/* BLOOMERY_BAD_ARGUMENT if key and payload are longer than an item may be. */
bloomery_status bloomery_sieve_check_lengths(const struct bloomery_entry *entry,
                                             bloomery_error *error);

/* The number of keys that are canonicalised and hashed together, BLOOMERY_SIEVE_PORTION at most.
 * They are those that fit in BLOOMERY_CANON_STACK, from the first on. It is one if even the first
 * does not fit, and none if that is longer than any key. `bytes` become what their forms need. */
size_t bloomery_sieve_fitting(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                              size_t *bytes);

/* Puts the canonical forms of a portion's keys into `entries`; they lie in `room`. */
void bloomery_sieve_canonicalise(const bloomery_sieve *sieve, uint8_t *room,
                                 struct bloomery_entry *entries, size_t count);

#endif

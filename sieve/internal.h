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
 * functions. What is durable is what the manifest says (below): a commit writes out what is in
 * buffers, syncs it, and then the manifest. Files are appended to or written once, so that until
 * the next commit all that the last one counted is there. A file that is no longer needed is
 * removed after the commit that does without it.
 */
#ifndef BLOOMERY_SIEVE_INTERNAL_H
#define BLOOMERY_SIEVE_INTERNAL_H

#include "hash/hashes.h"
#include "sieve/queue.h"

#include <bloomery/sieve.h>
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
    /* Keys that are looked up under one lock; a number of one takes 16 bits. */
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
    bloomery_status (*verify)(bloomery_sieve *sieve, struct bloomery_findings *findings,
                              bloomery_error *error);
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

/* ---- The manifest (manifest.c) --------------------------------------------------------------- */

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

/* Called after everything else was restored, and with the image still as it was read. Writes a copy
 * of the last commit that is not whole, or older, from its twin. */
void bloomery_manifest_mend(bloomery_sieve *sieve);

/* Reports a copy of the last commit that is not whole. */
void bloomery_manifest_verify(const bloomery_sieve *sieve, struct bloomery_findings *findings);

/* Whether the state that was read was written by a process that did not sync. */
bool bloomery_manifest_unsynced(const bloomery_sieve *sieve);

/* The parts of the image behind its fixed fields. BLOOMERY_CORRUPT: they do not add up. */
struct bloomery_manifest_parts {
    uint8_t *queue; /* the queue's state */
    uint64_t queue_bytes;
    uint8_t *engine; /* the engine's state */
    uint64_t engine_bytes;
};
bloomery_status bloomery_manifest_parts(const bloomery_sieve *sieve,
                                        struct bloomery_manifest_parts *parts,
                                        bloomery_error *error);

/* The counters of the last commit. */
void bloomery_manifest_counters(const bloomery_sieve *sieve,
                                struct bloomery_sieve_counters *counters);

/* Then, counters, queue and engine, which have been made before. */
bloomery_status bloomery_manifest_restore(bloomery_sieve *sieve, bool keep_leases,
                                          bloomery_error *error);

/* Makes the file anew for settings that have other leases than the file was made for. */
bloomery_status bloomery_manifest_resize(bloomery_sieve *sieve, bloomery_error *error);

/* Writes the state into the slot that is not the newest, and syncs it. */
bloomery_status bloomery_manifest_write(bloomery_sieve *sieve, bloomery_error *error);
void bloomery_manifest_close(bloomery_sieve *sieve);

/* ---- Opening (open.c) ------------------------------------------------------------------------ */

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

/* ---- Commits (sieve.c) ----------------------------------------------------------------------- */

/* With the lock held. */
bloomery_status bloomery_sieve_commit_now(bloomery_sieve *sieve, bool closing,
                                          bloomery_error *error);

/* A commit if it is time for one: before a change, so that one that fails leaves nothing
 * changed. */
bloomery_status bloomery_sieve_commit_due(bloomery_sieve *sieve, bloomery_error *error);

/* The same where a full disk must not keep anyone from emptying the queue: a commit that fails is
 * not a failure. And after a change, if each is to be durable: without room it is made, and durable
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

/* ---- Facts (sieve.c) ------------------------------------------------------------------------- */

/* What settings and counters say, of a sieve that is open or of its last commit. */
void bloomery_sieve_fill_info(const struct bloomery_sieve_settings *settings,
                              const struct bloomery_sieve_counters *counters,
                              bloomery_sieve_info *info);

/* ---- Keys, without the lock (sieve.c) -------------------------------------------------------- */

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

/* ---- The directory (directory.c) ------------------------------------------------------------- */

/* The directory of a sieve: finding and locking it, and which of the names in it are ours. */

/* Opens the directory, made if need be, and locks it: alone, or with others that only read.
 * BLOOMERY_BUSY. */
bloomery_status bloomery_directory_enter(bloomery_sieve *sieve, bool existing,
                                         bloomery_error *error);

/* Makes the name of a new directory durable. */
bloomery_status bloomery_directory_sync_parent(const bloomery_sieve *sieve, bloomery_error *error);

/* Calls `take` for each name but . and .. until it says false; `all`: it never did. */
bloomery_status bloomery_directory_each(const bloomery_sieve *sieve,
                                        bool (*take)(void *context, const char *name),
                                        void *context, bool *all, bloomery_error *error);

/* A sieve that was being made when a crash came has left no more than a manifest without its name.
 * */
bool bloomery_directory_is_beginning(void *context, const char *name);

/* The kind of a sieve's file by its name, and its numbers; false if it is not one. */
bool bloomery_directory_parse_name(const char *name, enum bloomery_file_kind *kind,
                                   uint64_t *number, uint64_t *generation);

/* Whether it is a sieve's file that the state does not name, or that a crash left unfinished. */
bool bloomery_directory_is_litter(const bloomery_sieve *sieve, const char *name);

/* Removes litter; other files are left alone. */
bloomery_status bloomery_directory_tidy(bloomery_sieve *sieve, bloomery_error *error);

/* There is no MANIFEST. BLOOMERY_OK: a sieve can be made here. BLOOMERY_NOT_A_FILTER: it cannot, or
 * only what exists may be opened; the text says whether this was a sieve. */
bloomery_status bloomery_directory_without_manifest(const bloomery_sieve *sieve, bool existing,
                                                    bloomery_error *error);

/* ---- Layout of the manifest (manifest.c) ----------------------------------------------------- */

/*
 * MANIFEST: what counts. Four copies of one size, two of each of the last two commits:
 *
 *     | slot 0               | slot 1               |
 *     | copy 0   | copy 1    | copy 0   | copy 1    |
 *       header, settings, counters, queue, leases, engine, then anything
 *
 * A commit syncs all other files, then writes one copy of the slot that is not the newest, and
 * syncs it. Only then it writes the other copy, which need not be waited for. The sync of the next
 * commit takes it along before it touches this slot's twin. So whatever a crash or a power cut
 * leaves,
 *
 *     while the first copy is written     the second one is whole: the state before the last
 *     while the second one is written     the first one is whole, and durable
 *
 * each slot has a copy that is whole, and the greatest generation among whole copies is that of the
 * last commit. A slot without any is damage and nothing else (or the power was cut while nobody
 * synced). What it held may have been the last commit. Then nothing is opened, rather than the
 * commit undone. One damaged copy costs nothing.
 *
 * A copy, little-endian:
 *
 *     0    "BLMSIEVE"
 *     8    version             u32    3
 *     12   number of the slot  u32
 *     16   bytes of a copy     u64
 *     24   bytes used          u64
 *     32   generation          u64    one more with each commit; its last bit: the slot
 *     40   checksum            u64    XXH3-64 of the used bytes with zeros here, seed 0
 *     48   id                  16 bytes: drawn when the sieve was made; the other files' seed
 *     64   engine, fingerprint bits, partitions, what to do when full, leases, hash, ordered,
 *          not synced    u32 each
 *     96   keys u64, rate f64
 *     112  secret key of the hash      16 bytes
 *     128  name of the canonicaliser   32 bytes
 *     160  name of the dialect         32 bytes
 *     192  pushed, new, seen, pending, forced, marked u64, expected drops f64
 *     248  bytes of the queue's state, bytes of the engine's    u64 each
 *     264  seconds of the longest lease that is out, or more    f64, 0: not known
 *     272  dead items: generation of their file, bytes, items    u64 each (queue.h)
 *     296  memory engine: number of the first entry that its filter lacks    u64, 0: not known
 *     304  0, up to
 *     320  the queue's state, the engine's state
 *
 * Versions 1 and 2 were never released and are not read.
 *
 * The file has the secret key of the hash: who knows it can make keys that collide. So it is made
 * to be read by its owner only; one that is made anew keeps the permissions that it had.
 */

enum {
    BLOOMERY_MANIFEST_VERSION = 3,
    BLOOMERY_MANIFEST_COPIES = 2, /* of a slot */
    BLOOMERY_MANIFEST_UNSYNCED = 92,
    BLOOMERY_MANIFEST_COUNTERS = 192,
    BLOOMERY_MANIFEST_LENGTHS = 248,
    BLOOMERY_MANIFEST_LONGEST = 264,
    BLOOMERY_MANIFEST_DEAD = 272,
    BLOOMERY_MANIFEST_SAVED = 296,
    BLOOMERY_MANIFEST_STATE = 320,
    BLOOMERY_MANIFEST_PAGE = 4096,
    BLOOMERY_MANIFEST_MAX = 64 << 20, /* bytes of a copy */
};

/* Writes, or compares, the checksum of an image of `used` bytes. */
void bloomery_manifest_seal(uint8_t *image, size_t used);
bool bloomery_manifest_is_sealed(uint8_t *image, size_t used);

extern const uint8_t bloomery_manifest_magic[8];

/* Memory for a copy. */
bloomery_status bloomery_manifest_image(bloomery_sieve *sieve, uint64_t bytes,
                                        bloomery_error *error);

/* As _open, and if a slot has no whole copy the other one is taken all the same: `undone`
 * becomes whether that is so. For recover.c. */
bloomery_status bloomery_manifest_open_older(bloomery_sieve *sieve, bool *undone,
                                             bloomery_error *error);

/* Makes the file anew, all four copies with the state in the image, of `used` bytes, and gives it
 * its name in one step. Durable when it returns. */
bloomery_status bloomery_manifest_replace(bloomery_sieve *sieve, size_t used,
                                          bloomery_error *error);

/* ---- Forms of keys (canon.c) ----------------------------------------------------------------- */

/* The canonicalisers that sieve.h offers by name. */

/* "url" and "url-query"; NULL for other names. They use no context, allocate nothing, and take time
 * linear in the key; given their own result they return it. They need `room` for one byte more than
 * the key has: with less, and for keys that are not absolute URLs, they return SIZE_MAX. */
bloomery_canonicaliser bloomery_canon_find(const char *name);

/* ---- Recovery (recover.c, recover_queue.c) --------------------------------------------------- */

/*
 * Recovery: a sieve that is damaged becomes one that opens. It works on the image of the manifest,
 * without an engine:
 *
 *     recover.c        which state counts; logs and seen-sets: damaged files are written anew, from
 *                      their whole frames; the end
 *     recover_queue.c  findings, and what is set aside; the queue: damaged frames become frames of
 *                      nothing; dead items
 *
 * The order is this. What is damaged is linked or copied into the folder. Frames are overwritten
 * and new files made, and synced. Then the manifest is made anew, in one step. Until then the old
 * files are there, and named; afterwards they are litter, which opening removes, and the folder has
 * them.
 *
 * Numbers of the queue's entries go on without holes, since that is how a missing frame is noticed.
 * So if entries were lost, there are as many entries that say nothing (BLOOMERY_ENTRY_VOID: marked
 * and forced at once, which no push is). Popping passes over them as over marked keys.
 */

struct bloomery_recovery {
    bloomery_sieve *sieve;
    bloomery_sieve_report report;
    void *context;
    bloomery_sieve_recovery result;
    int folder;   /* -1: there is none yet */
    uint8_t *own; /* room for the longest body, and for the records of a frame */
    uint8_t *area;
    uint8_t *records;
    uint8_t *leases; /* of the queue, in the image */
    bool changed;    /* the image, or what it names */
    /* recount */
    uint64_t pending; /* plain pushes that are pending */
    uint64_t rolled;  /* items behind the tail of the state that was taken */
    uint64_t first; /* number of the first entry that the walk through the queue came by; 0: none */
    bool rolls;     /* a log is gone: what was in it may be in the queue, behind that tail */
    uint64_t saved_number; /* of the first entry that the saved filter lacks; 0: not known */
};

/* ---- What is set aside (recover_queue.c) ----------------------------------------------------- */

/* Counts a finding and reports it. */
__attribute__((format(printf, 2, 3))) void
bloomery_recovery_report(struct bloomery_recovery *recovery, const char *format, ...);

/* Keeps a whole file in the folder: another name of it, or a copy. One that is not there is fine.
 * */
bloomery_status bloomery_recovery_keep(struct bloomery_recovery *recovery, const char *name,
                                       bloomery_error *error);
/* A copy of its bytes from `from` to `end`. */
bloomery_status bloomery_recovery_keep_part(struct bloomery_recovery *recovery,
                                            const struct bloomery_store_file *file, uint64_t from,
                                            uint64_t end, bloomery_error *error);

/* ---- Parts of the image ---------------------------------------------------------------------- */

/* The queue, from its head on, or from `saved`, where the memory engine's filter was saved. That
 * may move, and recovery->saved_number with it. */
bloomery_status bloomery_recovery_queue(struct bloomery_recovery *recovery,
                                        struct bloomery_queue_state *queue,
                                        struct bloomery_queue_position *saved,
                                        bloomery_error *error);

/* The list of dead items, by its state in the image (recover_queue.c). */
bloomery_status bloomery_recovery_dead(struct bloomery_recovery *recovery, uint8_t *state,
                                       bloomery_error *error);

#endif /* BLOOMERY_SIEVE_INTERNAL_H */

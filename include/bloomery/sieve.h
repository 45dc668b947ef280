/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sieve: a to-visit queue that drops what was seen.
 *
 * A crawler pushes every link it finds and pops the next one to visit; each key comes out once, however often it
 * goes in:
 *
 *     bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
 *     bloomery_sieve *sieve = NULL;
 *     bloomery_error error;
 *     options.directory = "crawl";
 *     if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     bloomery_sieve_push(sieve, bloomery_key_of(url, strlen(url)), bloomery_key_of(NULL, 0), NULL,
 *                         &error);
 *     while (bloomery_sieve_pop(sieve, items, 10, &count, &error) == BLOOMERY_OK && count > 0)
 *         for (size_t i = 0; i < count; i++) {
 *             visit(items[i].key);
 *             bloomery_sieve_ack(sieve, &items[i].number, 1, NULL, &error);
 *         }
 *     bloomery_sieve_close(sieve, &error);
 *
 * The words:
 *
 *   push      "visit this unless it was seen". Keys are opaque bytes; a payload may come with one and goes out
 *             with it, that of the first push of its key
 *   pending   pushed and not decided yet: the disk engine decides in batches
 *   queue     what was decided to be new and was not popped, in the order of the first pushes (disk engine: per
 *             partition)
 *   item      what comes out of the queue: a key, its payload, and a number to acknowledge it by
 *   leased    popped and not acknowledged; comes again when its lease ends
 *   synced    pushes have numbers, 1 the first; those up to `synced` survive a crash
 *
 * Two engines remember what was seen:
 *
 *   BLOOMERY_SIEVE_MEMORY  a Bloom filter in memory. Answers at once, NEW or SEEN. Calls a new key seen as often
 *                          as its rate; 1e9 keys at 1e-6 take 3.9 GB
 *   BLOOMERY_SIEVE_DISK    sorted 64-bit fingerprints of keys in a directory, 8 bytes a key, whatever the memory
 *                          (18 MB do for 1e9). Answers SEEN at once for what it saw lately, else PENDING. Drops a
 *                          new key only where its fingerprint is another's: about n^2 / 2^65 keys of n
 *
 * docs/sieve.md tells the contract, the files, and the arithmetic.
 *
 * Conventions are those of bloomery.h. Threads: any number of threads may use one sieve at once,
 * each call is whole by itself; of threads that push one key at once one is told NEW (or its push
 * is the one that counts), the others SEEN or PENDING. Only _close must be alone. What an item
 * points to lasts until the next bloomery_sieve_pop or _pop_queued: one thread pops, or the threads
 * take turns around pop and what they do with the bytes. Processes: a directory is one process's at
 * a time; a second one is refused (BLOOMERY_BUSY).
 *
 * A call that fails has changed nothing, unless it says otherwise: with a full disk a push is
 * refused, and goes through when there is room. Where the system could not say whether bytes
 * reached the disk (fsync failed), the sieve refuses all further changes: close it and open it
 * again, which finds the state of the last commit. With BLOOMERY_SYNC_ALWAYS, a push whose commit
 * found the disk full has been made (its number is given) and is durable with the next commit; pops
 * and acknowledgements that find it full succeed, to make room. So a caller that gives numbers away
 * for others to acknowledge by calls _commit first, and gives them only where that succeeded.
 *
 * A process that forks leaves the sieve to one of the two: the other must not touch it, not even close it, and holds the
 * directory's lock as long as it lives, unless it executes another program.
 */
#ifndef BLOOMERY_SIEVE_H
#define BLOOMERY_SIEVE_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bloomery_sieve bloomery_sieve;

typedef enum bloomery_sieve_engine {
    BLOOMERY_SIEVE_DEFAULT = 0, /* disk with a directory, memory without */
    BLOOMERY_SIEVE_MEMORY = 1,
    BLOOMERY_SIEVE_DISK = 2,
} bloomery_sieve_engine;

/* What the memory engine does at its capacity. */
typedef enum bloomery_sieve_full {
    BLOOMERY_SIEVE_GROW =
        0, /* the filter grows by layers; the rate holds. BLOOMERY_FULL where `memory` is used up */
    BLOOMERY_SIEVE_STOP =
        1, /* new keys are refused with BLOOMERY_FULL; seen ones are still answered */
    BLOOMERY_SIEVE_WARN = 2, /* goes on, and the rate rises; says so once */
} bloomery_sieve_full;

/* How soon pushes survive a crash of the machine. A crash of the process alone loses no more. */
enum {
    BLOOMERY_SYNC_ALWAYS =
        -1, /* with each call that changes something: when it returns, it is on the disk */
    BLOOMERY_SYNC_NEVER =
        -2, /* not synced at all: a kill loses what was pushed since the last commit (about a
                                  second's), a power cut may leave a damaged sieve */
};

enum {
    BLOOMERY_SIEVE_ITEM_MAX = 1 << 20, /* bytes of a key and its payload together */
    BLOOMERY_CANON_NAME_BYTES = 31,
};

/* What a push found. */
enum {
    /* BLOOMERY_SEEN = 0, BLOOMERY_NEW = 1 */
    BLOOMERY_PENDING = 2, /* not known yet: comes out of the queue if it is new */
};

/* Makes the form of a key that counts: writes at most `room` bytes to `out` and returns their number, which must
 * not be more than the key's bytes + 16; SIZE_MAX: leave the key as it is. Keys that become the same are the
 * same, and it is the form made that comes out. Called by several threads at once. */
typedef size_t (*bloomery_canonicaliser)(void *context, bloomery_key key, void *out, size_t room);

/* A remark for people while a call runs, such as "over its capacity". The text ends with the call. Called with
 * the sieve locked: do not call it from there. */
typedef void (*bloomery_sieve_warning)(void *context, const char *text);

/*
 * What a caller may choose. Zero fields take the default. Fields marked "kept" are those of the directory once it
 * is made: leave them 0, or give the same ones, or be refused with BLOOMERY_MISMATCH.
 */
typedef struct bloomery_sieve_options {
    size_t struct_bytes; /* sizeof(bloomery_sieve_options) */
    /* Both functions or none, else BLOOMERY_BAD_ARGUMENT. Called by all threads that push or ask
     * (_contains), at the same time. */
    bloomery_allocator allocator;

    /* NULL: all in memory, and gone with the process. It is made if it does not exist; if it does, it is empty or a
     * sieve. */
    const char *directory;
    bloomery_sieve_engine engine; /* kept */

    /* Bytes that the sieve may allocate, filter, buffers and queue. 0: disk engine 64 MiB, memory
     * engine no limit. Too little is BLOOMERY_BAD_ARGUMENT, and the text says the least, which depends
     * on partitions and leases alone: whatever memory a sieve of the disk engine was used with before,
     * it opens with any from the least on, and decides in smaller pieces. An item longer than a buffer
     * (4 to 64 KiB) takes up to twice its length besides while it is written, decided or popped. */
    uint64_t memory;

    /* Kept. Distinct keys that are expected; 0: 1,000,000. Memory engine: after so many it does what `full` says. Disk
     * engine: no limit, only the number of partitions is chosen for it. */
    uint64_t keys;
    double rate;              /* kept. Memory engine: 0 for 1e-6 */
    bloomery_sieve_full full; /* kept. Memory engine */

    /* Kept. Memory engine: the filter of another system, "sieve-murmur3" for the one of the lineage; NULL: ours. With
     * BLOOMERY_SIEVE_STOP or _WARN. */
    const char *dialect;
    uint32_t fingerprint_bits; /* kept. Disk engine: 64 (0 too) or 48 */
    uint32_t partitions;       /* kept. Disk engine: a power of two, 1 to 256; 0: chosen */

    /* Kept. Disk engine: the queue is in the order of the first pushes over all partitions. Nothing is decided before
     * everything is, so batches are larger. */
    bool ordered;

    /* Seconds between commits (0: 1), or BLOOMERY_SYNC_ALWAYS, BLOOMERY_SYNC_NEVER. Commits happen within calls: a sieve
     * that nobody calls does not commit; call _commit or _close. */
    double sync;

    /* Seconds, by the clock on the wall, until an item that was popped and not acknowledged comes
     * again; 0: 3600. A clock before 1970 counts as 1970. Where that clock had run ahead and was set
     * right, a lease that ends a minute later than the longest that is out would, granted at
     * opening, has ended. */
    double lease;
    uint32_t
        leases; /* kept. Items that may be leased at a time, 1 to 1,000,000; 0: 4096. 32 bytes each */
    bool
        keep_leases; /* leases from before this open go on until their time; otherwise they end now,
                      * and with the next commit on the disk too */

    /* Kept. A canonicaliser by name: NULL or "none"; "url"; "url-query", which sorts the parameters as well; or the name
     * of your own, up to BLOOMERY_CANON_NAME_BYTES. */
    const char *canon;
    bloomery_canonicaliser
        canonicaliser; /* your own; given if and only if `canon` is none of these names */
    void *canonicaliser_context;
    bloomery_sieve_warning warning; /* NULL: remarks are lost */
    void *warning_context;
    bool
        existing; /* open only what is there: a directory that is no sieve is BLOOMERY_NOT_A_FILTER */

    /* Only look: nothing in the directory is changed, not even what a crash left, so that a
     * read-only file system will do. Calls that change something are BLOOMERY_READ_ONLY. Others may
     * read at the same time, and nobody may write (where the file system has locks). Implies
     * `existing`. */
    bool read_only;
} bloomery_sieve_options;

#define BLOOMERY_SIEVE_OPTIONS                         \
    {                                                  \
        .struct_bytes = sizeof(bloomery_sieve_options) \
    }

/* The queue of the lineage: its Murmur3 filter bit for bit, 1 in 100, one warning at its capacity, which is `keys`. */
#define BLOOMERY_SIEVE_LINEAGE_OPTIONS                                                   \
    {                                                                                    \
        .struct_bytes = sizeof(bloomery_sieve_options), .engine = BLOOMERY_SIEVE_MEMORY, \
        .rate = 0.01, .full = BLOOMERY_SIEVE_WARN, .dialect = "sieve-murmur3"            \
    }

/*
 * Opens a sieve, or makes one. A crash before leaves nothing to repair: what the last commit says is the state,
 * and what was written after it is cut off. Time: disk engine, milliseconds; memory engine, that of reading its
 * filter and what was queued since that was saved.
 *
 * Damage is no crash: where the last commit may be one that cannot be read any more, nothing is
 * opened or changed, and the text says so (BLOOMERY_CORRUPT); bloomery_sieve_recover goes on from
 * there. A single damaged copy of it is made good from the other one, with a warning.
 *
 * BLOOMERY_BAD_ARGUMENT, BLOOMERY_MISMATCH (a kept option that differs, named), BLOOMERY_BUSY (another process has
 * it), BLOOMERY_NOT_A_FILTER (a directory with other things in it, or with nothing and `existing`),
 * BLOOMERY_WRONG_VERSION, BLOOMERY_CORRUPT, BLOOMERY_IO_FAILED, BLOOMERY_OUT_OF_MEMORY, BLOOMERY_UNSUPPORTED.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_open(const bloomery_sieve_options *options,
                                                    bloomery_sieve **sieve, bloomery_error *error);

/* Commits what is not yet, and frees the sieve in any case. Pending keys stay pending, in the directory. NULL is
 * fine. BLOOMERY_IO_FAILED: the state in the directory is that of the last commit. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_close(bloomery_sieve *sieve, bloomery_error *error);

/*
 * Pushes a key: BLOOMERY_NEW (it is in the queue now), BLOOMERY_SEEN (dropped), BLOOMERY_PENDING, or a negative
 * status. The empty key is a key like any other. `payload` may be empty. `number`, unless NULL, becomes the number
 * of this push, of SEEN ones too.
 *
 * Where a batch of pending keys is full, the push that filled it decides it: that call takes as long as reading
 * and writing a partition. Else some 100 ns.
 *
 * BLOOMERY_BAD_ARGUMENT (longer than BLOOMERY_SIEVE_ITEM_MAX), BLOOMERY_FULL (memory engine: over capacity or memory),
 * BLOOMERY_IO_FAILED, BLOOMERY_CORRUPT (a damaged frame of the seen-set was met; the text says which, and what it held).
 */
BLOOMERY_PUBLIC int bloomery_sieve_push(bloomery_sieve *sieve, bloomery_key key,
                                        bloomery_key payload, uint64_t *number,
                                        bloomery_error *error);

/* Puts a key into the queue although it may have been seen (to visit it again), and marks it seen. NEW, or
 * PENDING where it comes out with its partition. */
BLOOMERY_PUBLIC int bloomery_sieve_push_force(bloomery_sieve *sieve, bloomery_key key,
                                              bloomery_key payload, uint64_t *number,
                                              bloomery_error *error);

/* Marks a key seen and does not queue it. NEW: it was not seen before; SEEN; PENDING. A key that was pushed before
 * and is still pending comes out all the same. */
BLOOMERY_PUBLIC int bloomery_sieve_mark_seen(bloomery_sieve *sieve, bloomery_key key,
                                             uint64_t *number, bloomery_error *error);

/*
 * The same as many pushes, in this order, and faster. `payloads` may be NULL. results[i] becomes NEW, SEEN or
 * PENDING. On failure the first `*done` keys were pushed (and have results), the others were not.
 * `last`, unless NULL, becomes the number of the last push.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_push_batch(
    bloomery_sieve *sieve, const bloomery_key *keys, const bloomery_key *payloads, size_t count,
    uint8_t *results, size_t *done, uint64_t *last, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_mark_seen_batch(bloomery_sieve *sieve,
                                                               const bloomery_key *keys,
                                                               size_t count, uint8_t *results,
                                                               size_t *done, uint64_t *last,
                                                               bloomery_error *error);

/*
 * Whether a key was seen, without pushing it: SEEN, NEW (surely not), or PENDING: it is not among
 * the decided ones, and others of its partition are pending, of which it may be one. Disk engine:
 * reads two or three frames of 4 KiB, and where keys of its partition were decided without a merge
 * their fingerprints, up to 8 bytes times the batch. Keys that were popped were seen. Negative on
 * failure: BLOOMERY_BAD_ARGUMENT (longer than BLOOMERY_SIEVE_ITEM_MAX), BLOOMERY_CORRUPT,
 * BLOOMERY_IO_FAILED, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC int bloomery_sieve_contains(bloomery_sieve *sieve, bloomery_key key,
                                            bloomery_error *error);

/*
 * The same for many keys, in any order, equal ones among them too: results[i] becomes SEEN, NEW or
 * PENDING. Faster, the more keys there are to a call: the disk engine looks for up to 16,384
 * together in the order of their fingerprints, and reads what one needs once for all of them. So
 * many are answered under one lock, between two of which others may push. More than 256 keys take
 * 24 bytes each besides, of up to 16,384, while it runs; without that memory it is slower. `count`
 * may be 0.
 *
 * On failure, as of bloomery_sieve_contains, no result counts: a damaged frame that one key needs
 * fails the batch, and asking one by one answers the others.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_contains_batch(bloomery_sieve *sieve,
                                                              const bloomery_key *keys,
                                                              size_t count, uint8_t *results,
                                                              bloomery_error *error);

/* Decides everything that is pending. Disk engine: up to reading and writing the whole seen-set. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_flush(bloomery_sieve *sieve, bloomery_error *error);

/* Makes the state durable now (BLOOMERY_SYNC_NEVER: leaves it to the system, but a kill loses nothing then). */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_commit(bloomery_sieve *sieve, bloomery_error *error);

/* One item of the queue. */
typedef struct bloomery_sieve_item {
    bloomery_key
        key; /* the bytes belong to the sieve and last until the next pop, of either sort */
    bloomery_key payload;
    uint64_t number; /* to acknowledge it by; rises along the queue */
    bool again;      /* it was leased before, and not acknowledged */
} bloomery_sieve_item;

/*
 * Leases up to `room` items; `count` becomes their number. Items whose lease has ended come first. Fewer than `room`
 * may come although there are more: as many as fit in 64 KiB, and at least one. Where the queue is empty, pending
 * partitions are decided, the cheapest first, until there is something; 0 items mean that nothing is queued or
 * pending (leased ones may still come back).
 *
 * The leases are durable with the next commit: before this returns with BLOOMERY_SYNC_ALWAYS and
 * room on the disk, else after bloomery_sieve_commit, one for as many pops as you like. From then
 * on the numbers are those of their items for good. Before, a crash undoes the pop, and the numbers
 * may become other items': so commit before anybody gets them who may outlive this process.
 *
 * A full disk that keeps pending keys from being decided does not keep items from coming out: first
 * a commit is tried, which removes what was read and acknowledged, then it is decided again; what
 * was decided comes out. BLOOMERY_IO_FAILED where nothing was.
 *
 * BLOOMERY_FULL: `leases` items are leased already. BLOOMERY_CORRUPT: a frame of the queue is damaged; the text says
 * which and how many items it held. bloomery_sieve_skip goes on behind it.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_pop(bloomery_sieve *sieve,
                                                   bloomery_sieve_item *items, size_t room,
                                                   size_t *count, bloomery_error *error);

/* The same of what is queued now or comes again, and never decides: 0 items mean that nothing is
 * queued, and keys may be pending. Reads frames of the queue alone, a few of 64 KiB for new items
 * and one for each that comes again; where it is time, it commits, as other calls do. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_pop_queued(bloomery_sieve *sieve,
                                                          bloomery_sieve_item *items, size_t room,
                                                          size_t *count, bloomery_error *error);

/* Ends leases for good: these items are done. `unknown`, unless NULL, becomes how many of the numbers are not
 * leased (acknowledged twice, or never popped), which is no failure. O(log leases) each. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_ack(bloomery_sieve *sieve, const uint64_t *numbers,
                                                   size_t count, size_t *unknown,
                                                   bloomery_error *error);

/* Ends leases at once: these items come again with the next pop. As _ack. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_return(bloomery_sieve *sieve,
                                                      const uint64_t *numbers, size_t count,
                                                      size_t *unknown, bloomery_error *error);

/* Gives up a damaged frame at the head of the queue, and no other: `lost` becomes the number of
 * items it held. 0 where it is not damaged. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_skip(bloomery_sieve *sieve, uint64_t *lost,
                                                    bloomery_error *error);

typedef struct bloomery_sieve_info {
    size_t struct_bytes; /* sizeof(bloomery_sieve_info), set by the caller */
    bloomery_sieve_engine engine;
    uint32_t partitions;
    uint32_t fingerprint_bits;
    bool ordered;
    char canon[BLOOMERY_CANON_NAME_BYTES + 1];
    /* pushes, since the sieve was made; pushed = new + seen + pending + forced + noted */
    uint64_t pushed; /* the number of the last push */
    uint64_t
        synced; /* pushes up to this number are durable (BLOOMERY_SYNC_NEVER: survive a kill) */
    uint64_t new_keys;
    uint64_t seen;
    uint64_t
        pending; /* pushes not decided; forced and noted ones, undecided too, are not among them */
    uint64_t forced;
    uint64_t marked;
    /* the queue */
    uint64_t queued; /* not popped yet */
    uint64_t leased; /* popped, not acknowledged, those that wait to come again included */
    uint64_t acked;
    /* the seen-set */
    /* Disk engine: fingerprints in the seen-set; those of keys that were decided without a merge come later. Memory engine:
     * estimated distinct keys, UINT64_MAX where every bit is set. */
    uint64_t distinct;
    uint64_t capacity; /* memory engine: planned keys; 0: none */
    /* Memory engine: how often a new key is called seen now, from the bits that pushes set (in a
     * flat array of bits exactly; else as is to be expected with so many). */
    double live_rate;
    /* New keys that were dropped since the beginning, expected. Memory engine: from the share
     * of new keys among the pushes, which in a filter that lets hardly any through is that of the
     * time before (docs/sieve.md). At most `seen`. Notes and forced pushes are no drops. */
    double expected_drops;
    /* bytes now */
    uint64_t memory_budget; /* 0: none */
    uint64_t memory;        /* allocated */
    uint64_t seen_bytes;    /* of the seen-set: disk, or the filter's memory */
    uint64_t pending_bytes; /* on disk */
    uint64_t queue_bytes;   /* on disk, or in memory where there is no directory */
    uint64_t lease_bytes;
    /* work since the sieve was opened */
    uint64_t cache_hits; /* pushes that the cache of recent fingerprints answered */
    uint64_t decisions;  /* batches decided */
    uint64_t bytes_read; /* by this sieve from its files */
    uint64_t bytes_written;
    uint64_t commits;
    double flush_bytes; /* about what a flush would read and write now */
    bool over_capacity; /* memory engine with BLOOMERY_SIEVE_WARN */
    /* of `acked`, those whose acknowledgement is durable; the other items come again after a
     * crash */
    uint64_t acked_synced;
} bloomery_sieve_info;

#define BLOOMERY_SIEVE_INFO                         \
    {                                               \
        .struct_bytes = sizeof(bloomery_sieve_info) \
    }

/* O(partitions), and O(1) with the memory engine, whose filter is not read. */
BLOOMERY_PUBLIC void bloomery_sieve_info_get(bloomery_sieve *sieve, bloomery_sieve_info *info);

/* How many different keys were seen, O(1): the memory engine's estimate from the bits that pushes set; the disk engine's
 * fingerprints in the seen-set. Infinity where every bit is set. */
BLOOMERY_PUBLIC double bloomery_sieve_estimate(bloomery_sieve *sieve);

/*
 * Reads every frame of every file of the directory that the last commit counts, and calls `report` for each that is
 * damaged, with a sentence that says which and what it held. `damaged` becomes their number. BLOOMERY_OK even then;
 * failures are those of reading. The memory engine's filter counts as one frame.
 */
typedef void (*bloomery_sieve_report)(void *context, const char *text);
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_verify(bloomery_sieve *sieve,
                                                      bloomery_sieve_report report, void *context,
                                                      uint64_t *damaged, bloomery_error *error);

/* What was lost, as far as it is known. */
typedef struct bloomery_sieve_recovery {
    size_t struct_bytes; /* sizeof(bloomery_sieve_recovery), set by the caller */
    uint64_t damaged;    /* frames, headers and files that were not whole */
    bool older;          /* the last commit could not be read, and the one before it was taken */
    uint64_t pending;    /* pushes that were not decided, and never will be */
    uint64_t queued;     /* items of the queue, popped ones that may have come again included */
    uint64_t seen;       /* keys that are not known any more: pushed again, they come out again */
    uint64_t aside;      /* files, or parts of files, that were set aside */
    char folder[32];     /* in the directory, where they are; "": none were */
} bloomery_sieve_recovery;

#define BLOOMERY_SIEVE_RECOVERY                         \
    {                                                   \
        .struct_bytes = sizeof(bloomery_sieve_recovery) \
    }

/*
 * Makes a sieve that is damaged one that opens and works, from what of it is whole. No sieve may be
 * open in the directory; options as for _open, of which it takes `directory`, `allocator`, `memory`
 * and `warning`.
 *
 *   the last commit             where no copy of it is whole, the one before it counts
 *   a frame of the queue        its items are lost, and popping passes over them
 *   a frame of pending keys     these pushes are lost: not seen, not queued
 *   a frame of the seen-set     its keys are forgotten; pushed again, they come out again
 *   a missing file              as all frames of it
 *   the memory engine's filter  only what the queue's files still hold stays seen
 *
 * Nothing is deleted: what is damaged, and what the state before the last commit does not name, is
 * put into a folder "set-aside.N" in the directory, before anything is changed. `report` is called
 * for each thing found, with a sentence; NULL is fine. A sieve that is whole stays as it is,
 * `damaged` 0. Time: that of bloomery_sieve_verify, and of writing the files that are damaged anew.
 * Space: what is set aside is linked or copied, on the same file system.
 *
 * Where it is interrupted or fails, the sieve is as damaged as before, or less: call it again.
 *
 * BLOOMERY_CORRUPT where no state is whole, or none that fits the files; others as _open.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_recover(const bloomery_sieve_options *options,
                                                       bloomery_sieve_report report, void *context,
                                                       bloomery_sieve_recovery *recovery,
                                                       bloomery_error *error);

/* Calls `take`, with the sieve locked (do not call it from there), for each fingerprint of the disk engine's seen-set, rising; a non-zero return ends it and is
 * returned. What is pending is not among them: flush first. BLOOMERY_UNSUPPORTED (memory engine), _CORRUPT, _IO_FAILED. */
BLOOMERY_PUBLIC int bloomery_sieve_each_seen(bloomery_sieve *sieve,
                                             int (*take)(void *context, uint64_t fingerprint),
                                             void *context, bloomery_error *error);

/* Calls `take`, with the sieve locked, for each queued item, front to back, without popping it; leased ones that come again are not among
 * them. What it points to lasts for the call. A non-zero return ends it and is returned. */
BLOOMERY_PUBLIC int bloomery_sieve_each_queued(bloomery_sieve *sieve,
                                               int (*take)(void *context,
                                                           const bloomery_sieve_item *item),
                                               void *context, bloomery_error *error);

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* What a sieve of n distinct keys costs before it exists (docs/sieve.md derives it). */
typedef struct bloomery_sieve_plan {
    /* set by the caller; 0: the default */
    uint64_t keys;             /* n: distinct keys, required */
    uint64_t pushes;           /* T: keys and repeated ones; 0: n */
    uint64_t memory;           /* bytes that the sieve may allocate; 0: 64 MiB */
    double key_bytes;          /* of a key and its payload, on average; 0: 50 */
    double rate;               /* of the memory engine it is compared with; 0: 1e-6 */
    uint32_t fingerprint_bits; /* 64 (0 too) or 48 */
    uint32_t partitions;       /* 0: chosen */
    double cache_hit;          /* share of the repeated pushes that the cache answers, 0 to 1 */
    double disk_speed;         /* bytes a second, read and write alike; 0: 500e6 */
    /* filled */
    uint64_t min_memory;  /* with so many partitions */
    uint64_t batch;       /* pending keys of a partition that fit, r */
    uint64_t pending_max; /* keys that may be pending at a time, about P r / 2 on average */
    double seen_disk;     /* bytes */
    double pending_disk;  /* at most */
    double queue_disk;    /* where nobody pops */
    double seen_traffic;  /* bytes read and written for merging, all together */
    double pending_traffic;
    double queue_traffic;
    double seconds;       /* all traffic at disk_speed */
    double flush_seconds; /* reading and writing the whole seen-set once */
    double wrong_drops;   /* new keys expected to be dropped: n^2 / 2^(bits + 1) */
    double filter_bytes;  /* the memory engine at `rate` */
    double limit_bytes;   /* the least that any structure takes in memory at `rate` */
    double budget_rate;   /* the best possible rate of any structure in `memory`, without a disk */
} bloomery_sieve_plan;

/* BLOOMERY_BAD_ARGUMENT where keys is 0 or over 2^48, pushes below keys, the memory below min_memory (the text says
 * it), or another field out of its range. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_plan_solve(bloomery_sieve_plan *plan,
                                                          bloomery_error *error);

#ifdef __cplusplus
}
#endif

#endif

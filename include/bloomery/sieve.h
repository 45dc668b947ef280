/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sieve: a to-visit queue that drops keys it has seen.
 *
 * A crawler pushes every URL that it finds and pops the next one to visit. Each key comes out once,
 * however often it is pushed:
 *
 *     bloomery_sieve_options options = {.directory = "crawl"};
 *     bloomery_sieve *sieve = NULL;
 *     bloomery_error error;
 *     if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     bloomery_sieve_push(sieve, &url, NULL, 1, 0, NULL, NULL, &error);
 *     while (bloomery_sieve_pop(sieve, items, 10, 0, &count, &error) == BLOOMERY_OK && count > 0)
 *         for (size_t i = 0; i < count; i++) {
 *             visit(items[i].key);
 *             bloomery_sieve_finish(sieve, &items[i].number, 1, BLOOMERY_SIEVE_DONE, NULL, &error);
 *         }
 *     bloomery_sieve_close(sieve, &error);
 *
 * Contents
 *
 *   1  Options, opening, closing
 *   2  Pushing
 *   3  Has it been seen?
 *   4  Popping: leases, ends of leases and dead items
 *   5  Facts
 *   6  Administration: verify, recover, skip, walk through
 *   7  Plans: what a sieve costs before it exists
 *
 * The words
 *
 *   push      "visit this unless it was seen". Keys are opaque bytes. A payload may come with a key
 *             and goes out with it: that of the first push of the key
 *   pending   pushed and not decided yet: the disk engine decides in batches
 *   queue     keys that were decided to be new and have not been popped, in the order of their
 *             first pushes (disk engine: per partition)
 *   item      what comes out of the queue: a key, its payload, and a number to finish it by
 *   lease     a popped item is leased until it is finished. If the lease ends first, it is
 *             redelivered (elsewhere: a visibility timeout)
 *   dead      an item that was delivered `max_deliveries` times and never finished is put
 *             aside in a list (elsewhere: a dead-letter queue)
 *   mark      a key can be marked as seen without being queued
 *   durable   survives a crash of the machine. Pushes have numbers, 1 the first; those up to
 *             `durable` are durable
 *   frame     what the sieve's files are made of: a piece that is written, checksummed and read
 *             whole
 *
 * Two engines remember what was seen
 *
 *   BLOOMERY_SIEVE_MEMORY  A Bloom filter in memory. Answers at once, NEW or SEEN. A new key is
 *                          SEEN as often as the filter's rate says; 1e9 keys at 1e-6 take 3.9 GB.
 *   BLOOMERY_SIEVE_DISK    Sorted 64-bit fingerprints of keys in a directory: 8 bytes per key,
 *                          whatever the memory (18 MB are enough for 1e9 keys). Answers SEEN at
 *                          once for recent keys, else PENDING. Drops a new key only if another key
 *                          has the same fingerprint: about n^2 / 2^65 of n keys.
 *
 * docs/sieve.md describes the contract, the files and the arithmetic.
 *
 * The conventions are those of bloomery.h, and these:
 *
 *   Threads    Any number of threads may use one sieve at once. Calls are atomic; if threads push
 *              one key concurrently, exactly one push takes effect, and the others are SEEN or
 *              PENDING. Only _close must be alone. What an item points to lasts until the next
 *              bloomery_sieve_pop: one thread pops, or the threads lock around pop
 *              and what they do with the bytes.
 *   Processes  A directory belongs to one process at a time; a second one gets BLOOMERY_BUSY. After
 *              a fork only one of the two processes may use the sieve. The other must not touch it,
 *              not even close it, and holds the directory's lock until it ends or executes another
 *              program.
 *   Failures   A call that fails has changed nothing, unless it says otherwise. With a full disk a
 *              push is refused, and succeeds when there is room. If the system could not say
 *              whether bytes reached the disk (fsync failed), the sieve refuses all further
 *              changes: close it and open it again, which finds the state of the last commit.
 *   Full disk  With BLOOMERY_SIEVE_SYNC_ALWAYS, a push whose commit found the disk full has been
 *              made (its number is given) and is durable with the next commit. Pops and finished
 *              items that find it full succeed, to make room. A caller that gives numbers to other
 *              processes must therefore call _commit first, and give them only if it succeeded.
 */
#ifndef BLOOMERY_SIEVE_H
#define BLOOMERY_SIEVE_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1  Options, opening, closing ------------------------------------------------------------ */

typedef struct bloomery_sieve bloomery_sieve;

typedef enum bloomery_sieve_engine {
    BLOOMERY_SIEVE_DEFAULT = 0, /* disk with a directory, memory without */
    BLOOMERY_SIEVE_MEMORY = 1,
    BLOOMERY_SIEVE_DISK = 2,
} bloomery_sieve_engine;

/* What the memory engine does at its capacity. */
typedef enum bloomery_sieve_full {
    /* The filter grows by layers, and the rate holds. BLOOMERY_FULL if `memory` is used up. */
    BLOOMERY_SIEVE_GROW = 0,
    /* New keys are refused with BLOOMERY_FULL; seen ones are still answered. */
    BLOOMERY_SIEVE_STOP = 1,
    /* It goes on, and the rate rises. It warns once. */
    BLOOMERY_SIEVE_WARN = 2,
} bloomery_sieve_full;

/* How soon pushes are durable. A crash of the process alone loses no more. */
typedef enum bloomery_sieve_sync {
    BLOOMERY_SIEVE_SYNC_TIMED = 0, /* every `sync_seconds`, within calls */
    /* With each call that changes something: when it returns, the change is on the disk. */
    BLOOMERY_SIEVE_SYNC_ALWAYS = 1,
    /* Never: a kill loses what was pushed since the last commit (about a second's), a power cut may
     * leave a damaged sieve. */
    BLOOMERY_SIEVE_SYNC_NEVER = 2,
} bloomery_sieve_sync;

/* The order in which new keys come out of the queue. */
typedef enum bloomery_sieve_order {
    /* That of the first pushes within a partition of the keys, and one partition after the other.
     * The memory engine has one partition: first in, first out. */
    BLOOMERY_SIEVE_ORDER_BY_PARTITION = 0,
    /* First in, first out. The disk engine then decides nothing before it decides everything, so
     * its batches are larger. */
    BLOOMERY_SIEVE_ORDER_FIFO = 1,
} bloomery_sieve_order;

enum {
    BLOOMERY_SIEVE_ITEM_MAX = 1 << 20, /* bytes of a key and its payload together */
    BLOOMERY_SIEVE_CANON_NAME_BYTES = 31,
    BLOOMERY_SIEVE_DELIVERIES_MAX = 65535,
};

/* Makes the canonical form of a key. Writes at most `room` bytes to `out` and returns their number,
 * which must not be more than the key's bytes + 16. SIZE_MAX: leave the key as it is. Keys with the
 * same form are the same key, and the form is what comes out. Several threads call it at once. */
typedef size_t (*bloomery_canonicaliser)(void *context, bloomery_key key, void *out, size_t room);

/* Gets a warning for people while a call runs, such as "over its capacity". The text is valid
 * during the call. Called with the sieve locked: it must not call the sieve. */
typedef void (*bloomery_sieve_warning)(void *context, const char *text);

/*
 * What a caller may choose. Zero fields take the default. Fields marked "kept" are kept in the
 * directory: leave them 0 when it exists already, or give the same ones, else it is
 * BLOOMERY_MISMATCH.
 */
typedef struct bloomery_sieve_options {
    size_t struct_bytes; /* sizeof(bloomery_sieve_options), or 0 */

    /* Give both functions or neither, else BLOOMERY_BAD_ARGUMENT. All threads that push or call
     * _contains call them, concurrently. */
    bloomery_allocator allocator;

    /* NULL: all in memory, and gone with the process. A directory that does not exist is made; one
     * that does must be empty or a sieve. */
    const char *directory;
    bloomery_sieve_engine engine; /* kept */

    /* Bytes that the sieve may allocate: filter, buffers and queue. 0: disk engine 64 MiB, or half
     * of the `room` of bloomery_limits if that is less; memory engine no limit. Too little is
     * BLOOMERY_BAD_ARGUMENT; the text says the minimum, which depends only on partitions and
     * leases. A sieve of the disk engine opens with any memory from the minimum on, whatever it was
     * used with before, and then decides in smaller pieces. An item longer than a buffer (4 to 64
     * KiB) takes up to twice its length besides while it is written, decided or popped. */
    uint64_t memory;

    /* Kept. Distinct keys that are expected; 0: 1,000,000. Memory engine: after these it does
     * what `full` says. Disk engine: no limit; it chooses the number of partitions. */
    uint64_t keys;
    double rate;              /* kept. Memory engine: 0 for 1e-6 */
    bloomery_sieve_full full; /* kept. Memory engine */

    /* Kept. Memory engine: the filter of another system by the name of its dialect, with
     * BLOOMERY_SIEVE_STOP or _WARN; NULL: Bloomery's own. */
    const char *dialect;
    uint32_t fingerprint_bits; /* kept. Disk engine: 64 (0 too) or 48 */
    uint32_t partitions;       /* kept. Disk engine: a power of two, 1 to 256; 0: chosen */

    bloomery_sieve_order order; /* kept */

    /* Commits happen within calls. A sieve that nobody calls does not commit: call _commit or
     * _close. */
    bloomery_sieve_sync sync;
    double sync_seconds; /* of BLOOMERY_SIEVE_SYNC_TIMED; 0: 1 */

    /* Lease duration in seconds (wall clock); an item not finished in time is redelivered. 0
     * means 3600. A clock before 1970 counts as 1970. If the clock had run ahead and was set right,
     * a lease has ended if it would end over a minute later than the longest one granted now. */
    double lease;
    /* Items that may be leased at a time, 1 to 1,000,000. 0: 4096, or as many as an existing sieve
     * has. Another number changes an existing sieve permanently. Fewer than are leased now is
     * BLOOMERY_MISMATCH. 32 bytes of the directory each. With `read_only` it has no effect. */
    uint32_t leases;
    /* Leases from before this open continue until they end. Otherwise they end now, and on disk
     * with the next commit. */
    bool keep_leases;

    /* Kept. A canonicaliser by name: NULL or "none"; "url"; "url-query", which sorts the parameters
     * as well; or the name of your own, up to BLOOMERY_SIEVE_CANON_NAME_BYTES. */
    const char *canon;
    /* Your own function; give it if and only if `canon` has another name than these. */
    bloomery_canonicaliser canonicaliser;
    void *canonicaliser_context;

    bloomery_sieve_warning warning; /* NULL: warnings are lost */
    void *warning_context;

    /* Open only what is there: any other directory is BLOOMERY_NOT_A_FILTER, and none is
     * BLOOMERY_BAD_ARGUMENT. */
    bool existing;

    /* Change nothing in the directory, not even what a crash left, so a read-only file system is
     * enough. Calls that change something are BLOOMERY_READ_ONLY. Others may read at the same time,
     * and nobody may write (if the file system has locks). Implies `existing`. */
    bool read_only;
    uint8_t reserved[2]; /* 0 */

    /* An item that was delivered this often and not acknowledged is put aside by the next pop,
     * instead of being delivered again: bloomery_sieve_each visits such items. 1 to
     * BLOOMERY_SIEVE_DELIVERIES_MAX, with a directory; 0: no limit. Not kept. */
    uint32_t max_deliveries;
} bloomery_sieve_options;

#define BLOOMERY_SIEVE_OPTIONS BLOOMERY_SIZED(bloomery_sieve_options)

/*
 * Opens a sieve, or makes one. After a crash there is nothing to repair: the state is that of the
 * last commit, and everything written later is cut off. Time: disk engine, milliseconds; memory
 * engine, that of reading its filter and what was queued since that was saved.
 *
 * Damage is different. If the last commit may be one that can no longer be read, nothing is opened
 * or changed: BLOOMERY_CORRUPT. The text names bloomery_sieve_recover, which repairs the sieve. A
 * single damaged copy of the commit is repaired from the other one, with a warning.
 *
 * BLOOMERY_BAD_ARGUMENT; BLOOMERY_MISMATCH (a kept option that differs, named); BLOOMERY_BUSY
 * (another process has it); BLOOMERY_NOT_A_FILTER (a directory with other things in it, or with
 * nothing and `existing`); BLOOMERY_WRONG_VERSION; BLOOMERY_CORRUPT; BLOOMERY_IO_FAILED;
 * BLOOMERY_OUT_OF_MEMORY; BLOOMERY_UNSUPPORTED.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_open(const bloomery_sieve_options *options,
                                                    bloomery_sieve **sieve, bloomery_error *error);

/* Commits what is not committed yet, and frees the sieve in any case. Pending keys stay pending, in
 * the directory. NULL is allowed. BLOOMERY_IO_FAILED: the state in the directory is that of the
 * last commit. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_close(bloomery_sieve *sieve, bloomery_error *error);

/* Makes the state durable now. With BLOOMERY_SIEVE_SYNC_NEVER it leaves that to the system; a kill
 * loses nothing then. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_commit(bloomery_sieve *sieve, bloomery_error *error);

/* ---- 2  Pushing ------------------------------------------------------------------------------ */

/* What a push or a query found. Arrays of results are bytes with these values. */
typedef enum bloomery_sieve_result {
    BLOOMERY_SIEVE_NEW = 1,  /* not seen before; pushed, it is in the queue now */
    BLOOMERY_SIEVE_SEEN = 2, /* seen before; a push drops it */
    BLOOMERY_SIEVE_PENDING =
        3, /* not decided yet; pushed, it comes out of the queue if it is new */
} bloomery_sieve_result;

/* How bloomery_sieve_push treats its keys. */
typedef enum bloomery_sieve_push_mode {
    BLOOMERY_SIEVE_PUSH = 0, /* queue each key unless it was seen */
    /* Queue each key although it may have been seen (to visit it again), and mark it as seen. NEW,
     * or PENDING if it comes out with its partition. */
    BLOOMERY_SIEVE_PUSH_AGAIN = 1,
    /* Mark each key as seen and do not queue it; payloads must be NULL. A key that was pushed
     * before and is still pending comes out all the same. */
    BLOOMERY_SIEVE_PUSH_MARK = 2,
} bloomery_sieve_push_mode;

/* How far a push came. Never grows. */
typedef struct bloomery_sieve_pushed {
    size_t done;   /* keys that were pushed, the first ones: all of them on success */
    uint64_t last; /* the number of the last push; SEEN ones have numbers too. 0 if done is 0 */
} bloomery_sieve_pushed;

/*
 * Pushes keys, in this order, the faster the more there are. `payloads`, one for each key, may be
 * NULL. The empty key is a key like any other. `results`, unless NULL, has `count` bytes: those of
 * the first `done` keys become NEW, SEEN or PENDING. `pushed`, unless NULL, says how far it came,
 * on failure too: the keys after that were not pushed.
 *
 * If a batch of pending keys is full, the push that filled it decides it. That call takes as long
 * as reading and writing a partition. Other pushes take some 100 ns a key.
 *
 * BLOOMERY_BAD_ARGUMENT (longer than BLOOMERY_SIEVE_ITEM_MAX; not a mode; payloads of marked keys);
 * BLOOMERY_FULL (memory engine: over capacity or memory); BLOOMERY_IO_FAILED; BLOOMERY_CORRUPT (a
 * damaged frame of the seen-set was met; the text says which, and what it held).
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_push(bloomery_sieve *sieve, const bloomery_key *keys,
                                                    const bloomery_key *payloads, size_t count,
                                                    bloomery_sieve_push_mode mode, uint8_t *results,
                                                    bloomery_sieve_pushed *pushed,
                                                    bloomery_error *error);

/* Decides everything that is pending. Disk engine: up to reading and writing the whole seen-set. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_flush(bloomery_sieve *sieve, bloomery_error *error);

/* ---- 3  Has it been seen? -------------------------------------------------------------------- */

/*
 * Looks up keys without pushing them, in any order; keys may repeat. results[i] becomes SEEN; NEW
 * (definitely not seen); or PENDING: it is not among the decided keys, but possibly among the
 * pending ones of its partition. Keys that were popped were seen.
 *
 * The more keys a call has, the faster it is. For one key the disk engine reads two or three frames
 * of 4 KiB; if keys of its partition were decided without a merge, it reads their fingerprints too,
 * up to 8 bytes times the batch. Of many keys it looks up 16,384 at a time in the order of their
 * fingerprints, and reads each frame once for all of them. It holds the lock for these; between two
 * such rounds others may push. With more than 256 keys it allocates 24 bytes each, of up to 16,384,
 * while it runs; without that memory it is slower. `count` may be 0.
 *
 * On failure no result counts: BLOOMERY_BAD_ARGUMENT (longer than BLOOMERY_SIEVE_ITEM_MAX),
 * BLOOMERY_CORRUPT, BLOOMERY_IO_FAILED, BLOOMERY_OUT_OF_MEMORY. A damaged frame that one key needs
 * fails the call; calls for single keys still answer for the others.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_contains(bloomery_sieve *sieve,
                                                        const bloomery_key *keys, size_t count,
                                                        uint8_t *results, bloomery_error *error);

/* ---- 4  Popping ------------------------------------------------------------------------------ */

/* One item of the queue. Never grows: items come in arrays. */
typedef struct bloomery_sieve_item {
    /* The bytes belong to the sieve and last until the next pop, in any thread. */
    bloomery_key key;
    bloomery_key payload;
    uint64_t number;     /* to finish it by; rises along the queue */
    bool again;          /* redelivered: it was leased before, and not finished */
    uint32_t deliveries; /* how often it was popped, with this time; counted up to 65,535 */
    double lease_ends;   /* of leased items: in seconds since 1970; 0: it was returned */
} bloomery_sieve_item;

/* How bloomery_sieve_pop works. */
typedef enum bloomery_sieve_pop_mode {
    BLOOMERY_SIEVE_POP = 0, /* decide pending keys if nothing is queued */
    /* Only items that are queued now or redelivered: 0 items mean that nothing is queued, and keys
     * may be pending. Reads frames of the queue alone, a few of 64 KiB for new items and one for
     * each that is redelivered. */
    BLOOMERY_SIEVE_POP_QUEUED = 1,
} bloomery_sieve_pop_mode;

/*
 * Leases up to `room` items; `count` becomes their number. Items whose lease has ended come first.
 * Fewer than `room` may come although there are more: as many as fit in 64 KiB, and at least one.
 * If the queue is empty, pending partitions are decided, the cheapest first, until there is
 * something. 0 items mean that nothing is queued or pending (leased ones may still come back).
 *
 * The leases are durable with the next commit. With BLOOMERY_SIEVE_SYNC_ALWAYS and room on the disk
 * that is before this returns, else after bloomery_sieve_commit, one for any number of pops. From
 * then on the numbers belong to their items permanently. Before that, a crash undoes the pop, and
 * other items may get the numbers. So commit before you pass them to a process that may outlive
 * this one.
 *
 * If pending keys cannot be decided because the disk is full, items still come out. A commit is
 * tried first, which removes files whose items are done; then the decision is tried again. Decided
 * keys come out. BLOOMERY_IO_FAILED if there are none.
 *
 * With `max_deliveries`, items whose lease has ended and that were delivered that often are put
 * aside on the way. If the disk has no room for them they stay leased, and other items come;
 * BLOOMERY_IO_FAILED if there are none.
 *
 * BLOOMERY_FULL: `leases` items are leased already. BLOOMERY_CORRUPT: a frame of the queue is
 * damaged; the text says which and how many items it held. bloomery_sieve_skip goes on behind it.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_pop(bloomery_sieve *sieve,
                                                   bloomery_sieve_item *items, size_t room,
                                                   bloomery_sieve_pop_mode mode, size_t *count,
                                                   bloomery_error *error);

/* How a lease ends. */
typedef enum bloomery_sieve_outcome {
    BLOOMERY_SIEVE_DONE = 1, /* the item is done: it never comes again */
    BLOOMERY_SIEVE_BACK = 2, /* it is redelivered with the next pop */
    /* The same for an item that was popped and reached nobody: this delivery is not counted. */
    BLOOMERY_SIEVE_UNDO = 3,
} bloomery_sieve_outcome;

/* In the place of a count: all items that are leased. */
#define BLOOMERY_SIEVE_ALL ((size_t)-1)

/* Ends the leases of the items with these numbers. With a `count` of BLOOMERY_SIEVE_ALL, `numbers`
 * is not read and all leases end, as of workers that died with their numbers. `finished`, unless
 * NULL, becomes how many leases ended: a number that is not leased (finished twice, or never
 * popped) is not a failure. O(log leases) each. BLOOMERY_BAD_ARGUMENT (not an outcome);
 * BLOOMERY_IO_FAILED. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_finish(bloomery_sieve *sieve,
                                                      const uint64_t *numbers, size_t count,
                                                      bloomery_sieve_outcome outcome,
                                                      uint64_t *finished, bloomery_error *error);

/* Renews leases: they end `lease` seconds from now (0: as long as the sieve was opened with),
 * earlier or later than they would have. For work that takes longer than expected. If an item was
 * redelivered since, this renews the lease of its new holder. `extended`, unless NULL, becomes how
 * many of the numbers are leased. BLOOMERY_BAD_ARGUMENT (a `lease` that is not a number of seconds;
 * BLOOMERY_SIEVE_ALL); BLOOMERY_IO_FAILED. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_extend(bloomery_sieve *sieve,
                                                      const uint64_t *numbers, size_t count,
                                                      double lease, uint64_t *extended,
                                                      bloomery_error *error);

/* Which items bloomery_sieve_each visits. */
typedef enum bloomery_sieve_items {
    /* Front to back; items that await redelivery are not among them. */
    BLOOMERY_SIEVE_QUEUED = 1,
    /* In the order of the numbers. `again`: it was delivered more than once. */
    BLOOMERY_SIEVE_LEASED = 2,
    /* In the order in which they were put aside. `number` is the one it was delivered under; it
     * cannot be finished by it. `deliveries` is 0: not known. */
    BLOOMERY_SIEVE_DEAD = 3,
} bloomery_sieve_items;

/* Receives an item, whose bytes last for the call. A result other than 0 ends the visit. */
typedef int (*bloomery_sieve_visitor)(void *context, const bloomery_sieve_item *item);

/* Calls `visit` for each of these items, without popping any. The sieve is locked: `visit` must not
 * call it. `result`, unless NULL, becomes the result that ended the visit, or 0. BLOOMERY_CORRUPT,
 * BLOOMERY_IO_FAILED. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_each(bloomery_sieve *sieve,
                                                    bloomery_sieve_items which,
                                                    bloomery_sieve_visitor visit, void *context,
                                                    int *result, bloomery_error *error);

/* Empties the list of dead items: they are gone, or (`again`) queued again, as new items with
 * numbers and deliveries of their own, all or none. They stay seen in any case. `count`, unless
 * NULL, becomes how many there were. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_end_dead(bloomery_sieve *sieve, bool again,
                                                        uint64_t *count, bloomery_error *error);

/* ---- 5  Facts -------------------------------------------------------------------------------- */

typedef struct bloomery_sieve_info {
    size_t struct_bytes; /* sizeof(bloomery_sieve_info), or 0 */
    bloomery_sieve_engine engine;
    uint32_t partitions;
    uint32_t fingerprint_bits;
    bloomery_sieve_order order;
    char canon[BLOOMERY_SIEVE_CANON_NAME_BYTES + 1];

    /* Pushes since the sieve was made: pushed = new_keys + seen + pending + forced + marked. */
    uint64_t pushed; /* the number of the last push */
    /* Pushes up to this number are durable (BLOOMERY_SIEVE_SYNC_NEVER: survive a kill). */
    uint64_t durable;
    uint64_t new_keys;
    uint64_t seen;
    uint64_t pending; /* not decided; without forced and marked ones, which are counted below */
    uint64_t forced;
    uint64_t marked;

    /* The queue. */
    uint64_t queued; /* not popped yet */
    uint64_t leased; /* popped and not finished, those that await redelivery included */
    uint64_t done;
    uint64_t done_durable; /* of these, durable ones; the others are redelivered after a crash */

    /* The seen-set. */
    /* Disk engine: fingerprints in it; those of keys that were decided without a merge come later.
     * Memory engine: estimated distinct keys, UINT64_MAX if every bit is set. */
    uint64_t distinct;
    uint64_t capacity;  /* memory engine: planned keys; 0: none */
    bool over_capacity; /* memory engine with BLOOMERY_SIEVE_WARN */
    /* Memory engine: how often a new key is called seen now. It is computed from the bits that
     * pushes set (in a flat array of bits exactly; else as expected with that many). */
    double live_rate;
    /* Expected number of new keys that were dropped since the sieve was made. Memory engine:
     * computed from the share of new keys among the pushes; if the filter passes very few, among
     * earlier pushes (docs/sieve.md). At most `seen`. Marked keys and forced pushes are not
     * drops. */
    double expected_drops;

    /* Bytes now. */
    uint64_t memory_budget; /* 0: none */
    uint64_t memory;        /* allocated */
    uint64_t seen_bytes;    /* of the seen-set: disk, or the filter's memory */
    uint64_t pending_bytes; /* on disk */
    uint64_t queue_bytes;   /* on disk; without a directory in memory */
    uint64_t lease_bytes;

    /* Work since the sieve was opened. */
    uint64_t cache_hits; /* pushes that the cache of recent fingerprints answered */
    uint64_t decisions;  /* batches decided */
    uint64_t bytes_read; /* by this sieve from its files */
    uint64_t bytes_written;
    uint64_t commits;
    double flush_bytes; /* about what a flush would read and write now */

    uint64_t planned; /* the `keys` that the sieve was made for, of either engine */

    uint64_t dead;       /* items that were put aside; not among queued, leased and done */
    uint64_t dead_bytes; /* on disk */
    uint64_t leases;     /* the most items that may be leased at a time */
} bloomery_sieve_info;

#define BLOOMERY_SIEVE_INFO BLOOMERY_SIZED(bloomery_sieve_info)

/* Fills `info` with what is in the sieve and what it takes. O(partitions), and O(1) with the memory
 * engine, whose filter is not read. */
BLOOMERY_PUBLIC void bloomery_sieve_info_get(bloomery_sieve *sieve, bloomery_sieve_info *info);

/*
 * The facts of a sieve that need not be open: what its last commit says. Another process may have
 * it open and commit at the same time; no lock is taken, nothing is changed, and neither waits for
 * the other. Of the options `directory` and `allocator` count. Reads MANIFEST alone, whatever the
 * engine and its size. All figures are of one commit, so `durable` is `pushed`; what the other
 * process did since is not in them.
 *
 * `queue_bytes`, and `seen_bytes` of the memory engine, are the lengths of files that are there
 * now, without memory. Not known, and 0: `memory`, `memory_budget`, and the work since an opening.
 * Not known of the memory engine: `distinct`, which is UINT64_MAX, and `live_rate`, 1.
 *
 * BLOOMERY_BAD_ARGUMENT (no directory); others as _open, without BLOOMERY_BUSY and
 * BLOOMERY_MISMATCH. A copy of the commit that is being written is read again.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_info_read(const bloomery_sieve_options *options,
                                                         bloomery_sieve_info *info,
                                                         bloomery_error *error);

/* ---- 6  Administration ----------------------------------------------------------------------- */

/* Gets a sentence for each thing that is found. */
typedef void (*bloomery_sieve_report)(void *context, const char *text);

/*
 * Reads every frame of every file of the directory that the last commit counts. It calls `report`
 * for each damaged frame, with a sentence that says which and what it held. `damaged` becomes their
 * number. BLOOMERY_OK even then; failures are those of reading. The memory engine's filter counts
 * as one frame.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_verify(bloomery_sieve *sieve,
                                                      bloomery_sieve_report report, void *context,
                                                      uint64_t *damaged, bloomery_error *error);

/* Gives up a damaged frame at the head of the queue, and no other: `lost` becomes the number of
 * items it held. 0 if it is not damaged. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_skip(bloomery_sieve *sieve, uint64_t *lost,
                                                    bloomery_error *error);

/* What was lost, as far as it is known. */
typedef struct bloomery_sieve_recovery {
    size_t struct_bytes; /* sizeof(bloomery_sieve_recovery), or 0 */
    uint64_t damaged;    /* frames, headers and files that were not whole */
    bool older;          /* the last commit could not be read, and the one before it was taken */
    uint64_t pending;    /* pushes that were not decided, and never will be */
    /* Items of the queue, popped ones that may have come again and dead ones included. */
    uint64_t queued;
    uint64_t seen;   /* keys that are no longer known: pushed again, they come out again */
    uint64_t aside;  /* files, or parts of files, that were set aside */
    char folder[32]; /* in the directory, with these files; "": none were */
} bloomery_sieve_recovery;

#define BLOOMERY_SIEVE_RECOVERY BLOOMERY_SIZED(bloomery_sieve_recovery)

/*
 * Repairs a damaged sieve so that it opens and works, with everything that is intact. No sieve may
 * be open in the directory. Options as for _open, of which it takes `directory`, `allocator`,
 * `memory` and `warning`.
 *
 *   the last commit             if no copy of it is whole, the one before it counts
 *   a frame of the queue        its items are lost, and popping passes over them
 *   a frame of pending keys     these pushes are lost: not seen, not queued
 *   a frame of the seen-set     its keys are forgotten; pushed again, they come out again
 *   a missing file              as all frames of it
 *   a frame of a dead item      it is not in the list any more, and counts as `queued`
 *   the memory engine's filter  only what the queue's files still hold stays seen
 *
 * Nothing is deleted. Damaged files, and those that the state before the last commit does not name,
 * are put into a folder "set-aside.N" in the directory before anything is changed. `report` is
 * called for each thing found; it may be NULL. An undamaged sieve is not changed, and `damaged` is
 * 0. Time: that of bloomery_sieve_verify, and of writing the damaged files anew. Space: what is set
 * aside is linked or copied, on the same file system.
 *
 * If it is interrupted or fails, the sieve is as damaged as before, or less: call it again.
 *
 * BLOOMERY_CORRUPT if no state is whole, or none that fits the files; others as _open.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_recover(const bloomery_sieve_options *options,
                                                       bloomery_sieve_report report, void *context,
                                                       bloomery_sieve_recovery *recovery,
                                                       bloomery_error *error);

/* Receives a fingerprint. A result other than 0 ends the visit. */
typedef int (*bloomery_sieve_fingerprint_visitor)(void *context, uint64_t fingerprint);

/* Calls `visit` for each fingerprint of the disk engine's seen-set, rising. The sieve is locked:
 * `visit` must not call it. Pending keys are not among them: flush first. `result` as in
 * bloomery_sieve_each. BLOOMERY_UNSUPPORTED (memory engine), BLOOMERY_CORRUPT, BLOOMERY_IO_FAILED.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_each_seen(bloomery_sieve *sieve,
                                                         bloomery_sieve_fingerprint_visitor visit,
                                                         void *context, int *result,
                                                         bloomery_error *error);

/* ---- 7  Plans -------------------------------------------------------------------------------- */

/* What a sieve of n distinct keys costs before it exists (docs/sieve.md derives it). */
typedef struct bloomery_sieve_plan {
    size_t struct_bytes; /* sizeof(bloomery_sieve_plan), or 0 */

    /* Set by the caller; 0: the default. */
    uint64_t keys;             /* n: distinct keys, required */
    uint64_t pushes;           /* T: keys and repeated ones; 0: n */
    uint64_t memory;           /* bytes that the sieve may allocate; 0: 64 MiB */
    double key_bytes;          /* of a key and its payload, on average; 0: 50 */
    double rate;               /* of the memory engine it is compared with; 0: 1e-6 */
    uint32_t fingerprint_bits; /* 64 (0 too) or 48 */
    uint32_t partitions;       /* 0: chosen */
    double cache_hit;          /* share of the repeated pushes that the cache answers, 0 to 1 */
    double disk_speed;         /* bytes a second, read and write alike; 0: 500e6 */

    /* Filled. */
    uint64_t min_memory;  /* the least with that many partitions */
    uint64_t batch;       /* pending keys of a partition that fit, r */
    uint64_t pending_max; /* keys that may be pending at a time, about P r / 2 on average */
    double seen_disk;     /* bytes */
    double pending_disk;  /* at most */
    double queue_disk;    /* if nothing is popped */
    double seen_traffic;  /* bytes read and written for merging, in total */
    double pending_traffic;
    double queue_traffic;
    double seconds;       /* all traffic at disk_speed */
    double flush_seconds; /* reading and writing the whole seen-set once */
    double wrong_drops;   /* new keys expected to be dropped: n^2 / 2^(bits + 1) */
    double filter_bytes;  /* the memory engine at `rate` */
    double limit_bytes;   /* the least that any structure takes in memory at `rate` */
    double budget_rate;   /* the best possible rate of any structure in `memory`, without a disk */
} bloomery_sieve_plan;

#define BLOOMERY_SIEVE_PLAN BLOOMERY_SIZED(bloomery_sieve_plan)

/* Computes what a sieve needs, before it is made, from the fields that the caller has set.
 * BLOOMERY_BAD_ARGUMENT if keys is 0 or over 2^48, pushes is below keys, the memory is below
 * min_memory (the text says it), or another field is out of its range. The plan is unchanged on
 * failure. */
BLOOMERY_PUBLIC bloomery_status bloomery_sieve_plan_solve(bloomery_sieve_plan *plan,
                                                          bloomery_error *error);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_SIEVE_H */

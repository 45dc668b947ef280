/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk engine: what was seen is P partitions of sorted fingerprints; what was pushed waits in P
 * logs.
 *
 *     fingerprint = 64 bits of a keyed hash of the key
 *                   partition | the rest: uniform within the partition
 *
 *     cache      of recent fingerprints, 4 ways: what is in it was pushed before, so SEEN, and
 *                nothing else is done
 *     log        of a partition, "pending": frames of (fingerprints | entries), gathered in a
 *                buffer
 *                | decided ......... | not decided ....... |  buffer
 *     seen-set   of a partition: below
 *
 * Deciding a partition reads the fingerprints of its log, sorts them, and finds which are in the
 * seen-set. There are two ways, and the one that reads and writes less is taken. Merging puts them
 * into the seen-set, which is written anew, and makes the log empty. Probing looks for each; the
 * log stays, its entries decided, until there are enough for a merge. Either way the log is then
 * read once more, with the keys. The first entry of each fingerprint that was not seen goes to the
 * queue.
 *
 * A log with more entries than a batch holds, written when the sieve had more memory, is merged in
 * pieces:
 *
 *     | piece 1 ............ | piece 2 ............ | the rest |       whole frames, at most a
 *     batch of entries each
 *       merged: seen-set anew, its entries decided    ...        the last one makes the log empty
 *
 * Each piece costs a reading and a writing of the seen-set. Between pieces the state is whole.
 * Fingerprints that are in the seen-set and in the decided part of the log as well do no harm,
 * since both mean "seen".
 *
 * Take n distinct keys, T pushes, and batches of r fingerprints in P partitions. Merging then reads
 * and writes T/r times on average 2 * 8 n / (2 P) bytes, 8 T n / (r P) together. The log and the
 * queue move each key four times.
 */
#ifndef BLOOMERY_SIEVE_DISK_H
#define BLOOMERY_SIEVE_DISK_H

#include "base/bits.h"
#include "sieve/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bloomery_sieve_settings;

/* ---- The budget (plan.c) --------------------------------------------------------------------- */

/*
 * How the disk engine splits its memory: at opening, and in a plan.
 *
 *     fixed      tables of partitions, leases, areas to read and write frames in
 *     buffers    one a partition, where pending keys gather until they are written as a frame
 *     cache      fingerprints that were decided lately
 *     batch      what deciding a partition needs: its pending fingerprints sorted, two bits for
 *                each (known already; first of its key and new), and an index by their first bits
 *
 * Of what is not fixed, buffers get up to a quarter and the cache up to an eighth, both in powers
 * of two. The batch gets the rest, since all reading and writing of the seen-set is divided by it
 * (plan.c).
 */

enum {
    BLOOMERY_SIEVE_BUFFER_MIN = 4096,
    BLOOMERY_SIEVE_BUFFER_MAX = 65536,
    BLOOMERY_SIEVE_CACHE_BITS_MIN = 10,
    BLOOMERY_SIEVE_CACHE_BITS_MAX = 22,
    BLOOMERY_SIEVE_BATCH_MIN = 16384,
    BLOOMERY_SIEVE_PARTITIONS_MAX = 256,
};

struct bloomery_sieve_budget {
    uint32_t buffer_bytes; /* a partition's, a power of two */
    uint32_t cache_bits;   /* the cache has 2^cache_bits fingerprints of 8 bytes */
    uint32_t bucket_bits;  /* the index has 2^bucket_bits + 1 entries of 4 bytes */
    uint64_t batch; /* r: pending keys of one partition that can be decided at once, below 2^32 */
    uint64_t fixed; /* bytes */
    uint64_t total; /* bytes, all parts together */
};

/* Splits `memory` bytes for `partitions` (a power of two, 1 to 256) and `leases`. False: it is less
 * than `least`, the bytes that are needed (always set). Then `budget` is undefined. O(1). */
bool bloomery_sieve_split(uint64_t memory, uint32_t partitions, uint32_t leases,
                          struct bloomery_sieve_budget *budget, uint64_t *least);

/* Bytes of the batch's areas: one of fingerprints, two of bits (in words of 8 bytes), one of the
 * index. */
static inline uint64_t bloomery_sieve_batch_bytes(uint64_t batch)
{
    return batch * 8;
}
static inline uint64_t bloomery_sieve_bits_bytes(uint64_t batch)
{
    return bloomery_words_of(batch) * 8;
}
static inline uint64_t bloomery_sieve_index_bytes(uint32_t bucket_bits)
{
    return (((uint64_t)1 << bucket_bits) + 1) * 4;
}

/* The partitions for `keys` distinct keys, if the caller does not choose: about 2^24 keys each,
 * 16 to 256. */
uint32_t bloomery_sieve_partitions(uint64_t keys);

/* ---- The seen-set (seen.c) ------------------------------------------------------------------- */

/*
 * The seen-set of a partition: its fingerprints, sorted, in a file that is written once.
 *
 *     0        the file's header, 64 bytes
 *     64       frames of 4096 bytes: a checksum (u64), then the next fingerprints: 511 of 8 bytes,
 *              or 681 of 6 bytes (the upper ones, the lower 16 bits being zero); the last frame is
 *              as short as it can be
 *
 * How many fingerprints there are stands in the manifest. 8 bytes of each 4096 are not
 * fingerprints: 8.016 bytes a key.
 *
 * Fingerprints are uniform, so where one lies is guessed to within about sqrt(n) / 2 places, that
 * is a few frames. Looking for one reads two or three frames. New ones are merged in by writing the
 * file anew.
 */

enum {
    BLOOMERY_SEEN_FRAME = 4096,
    BLOOMERY_SEEN_CHECKSUM = 8,
    BLOOMERY_SEEN_AREA = 128 * 1024, /* read or written at a time */
    BLOOMERY_SEEN_PER_FRAME = 682,   /* at most */
};

/* Bytes of a file of `entries` fingerprints of `width` bytes. */
uint64_t bloomery_seen_bytes(uint64_t entries, unsigned width);

/* Walks a file front to back, a frame at a time. */
struct bloomery_seen_reader {
    struct bloomery_store *store;
    const struct bloomery_store_file *file;
    unsigned width;
    uint64_t entries;
    uint64_t next;    /* the next frame */
    uint8_t *area;    /* BLOOMERY_SEEN_AREA bytes */
    uint64_t area_at; /* offset of the area in the file */
    size_t area_bytes;
};

void bloomery_seen_begin(struct bloomery_seen_reader *reader, struct bloomery_store *store,
                         const struct bloomery_store_file *file, uint64_t entries, unsigned width,
                         uint8_t *area);

/* The values of the next frame (BLOOMERY_SEEN_PER_FRAME at most) and their number: 0 at the end.
 * Damage is BLOOMERY_CORRUPT, its text says which frame and what it held; the reader then stands
 * behind it. */
bloomery_status bloomery_seen_next(struct bloomery_seen_reader *reader, uint64_t *values,
                                   size_t *count, bloomery_error *error);

/* Writes a file front to back. */
struct bloomery_seen_writer {
    struct bloomery_store *store;
    struct bloomery_store_file *file;
    unsigned width;
    uint64_t entries;
    uint8_t *area; /* BLOOMERY_SEEN_AREA bytes */
    size_t area_bytes;
    uint64_t area_at;
    size_t in_frame; /* bytes of the frame being filled, its checksum's included; 0: none is */
    uint64_t last;
};

void bloomery_seen_start(struct bloomery_seen_writer *writer, struct bloomery_store *store,
                         struct bloomery_store_file *file, unsigned width, uint8_t *area);

/* Appends values, each greater than the one before. */
bloomery_status bloomery_seen_put(struct bloomery_seen_writer *writer, const uint64_t *values,
                                  size_t count, bloomery_error *error);
bloomery_status bloomery_seen_finish(struct bloomery_seen_writer *writer, bloomery_error *error);

/* Whether `value` is in a file of fingerprints whose first `skip_bits` bits are all equal. `area`:
 * BLOOMERY_SEEN_FRAME bytes and BLOOMERY_SEEN_PER_FRAME values. */
struct bloomery_seen_probe {
    struct bloomery_store *store;
    const struct bloomery_store_file *file;
    unsigned width;
    unsigned skip_bits;
    uint64_t entries;
    uint64_t frame; /* the frame that is in `values`; UINT64_MAX: none */
    size_t count;
    uint64_t *values; /* room for BLOOMERY_SEEN_PER_FRAME */
    uint8_t *area;    /* room for BLOOMERY_SEEN_FRAME */
};

void bloomery_seen_probe_begin(struct bloomery_seen_probe *probe, struct bloomery_store *store,
                               const struct bloomery_store_file *file, uint64_t entries,
                               unsigned width, unsigned skip_bits, uint8_t *area, uint64_t *values);
bloomery_status bloomery_seen_probe(struct bloomery_seen_probe *probe, uint64_t value, bool *found,
                                    bloomery_error *error);

/* ---- Sorting (seen.c) ------------------------------------------------------------------------ */

/* Sorts fingerprints in place: a batch fills the memory it has, there is no room for a second
 * one. */

enum { BLOOMERY_SORT_SKIP_MAX = 10 };

/* Sorts `count` values, rising, in O(count) for any values; meant for uniform ones. Takes no memory
 * but 60 KB of stack. `skip_bits` (to BLOOMERY_SORT_SKIP_MAX): the number of first bits that are
 * the same in all, as in one partition. It is a hint: the order is right even if it is wrong. */
void bloomery_sort_fingerprints(uint64_t *values, size_t count, unsigned skip_bits);

/* Keeps one of each value of a sorted array, in front; returns how many there are. What lies behind
 * them is undefined. */
size_t bloomery_unique_fingerprints(uint64_t *values, size_t count);

/* ---- The engine ------------------------------------------------------------------------------ */

enum {
    BLOOMERY_CACHE_WAYS = 4,
    BLOOMERY_PARTITION_STATE = 56, /* in the manifest */
    BLOOMERY_LOG_AREA =
        65536, /* of a frame's fixed part, and of its body but for single long entries */
    BLOOMERY_LOG_FRAME = 2 * BLOOMERY_LOG_AREA,
    BLOOMERY_VALUES_BYTES = BLOOMERY_SEEN_PER_FRAME * 8,
};

struct bloomery_partition {
    /* the log */
    struct bloomery_store_file log; /* file -1: there is none yet */
    uint64_t log_generation;
    uint64_t log_bytes;     /* that count, the file's header's included; 0: there is no file */
    uint64_t log_entries;   /* in these bytes */
    uint64_t decided_bytes; /* where the first frame lies that is not decided */
    uint64_t decided_entries;
    /* the buffer: records from its start on, entries from `body` on */
    uint8_t *buffer;
    uint32_t body; /* where the entries begin */
    uint32_t body_bytes;
    uint32_t entries;
    uint64_t first; /* number of the push that came first */
    /* the seen-set */
    uint64_t seen_generation; /* 0: none */
    uint64_t seen_entries;
    /* of the last commit: these files must stay until the next one */
    uint64_t committed_log;
    uint64_t committed_seen;
    /* computed, not adopted yet */
    enum bloomery_staged {
        BLOOMERY_STAGED_NOT,
        BLOOMERY_STAGED_MERGE,
        BLOOMERY_STAGED_QUERY
    } staged;
    uint64_t staged_generation; /* of the new seen-set, and its entries; 0: there is none */
    uint64_t staged_seen;
    bool damaged; /* found so by the call under way, which goes on with the others */
};

struct bloomery_disk {
    struct bloomery_sieve_budget budget;
    uint32_t partitions;
    unsigned partition_bits;
    unsigned width; /* bytes of a fingerprint in the seen-set */
    /* Bytes of a record in a log: fingerprint, and if ordered the push's number less the frame's
     * first. */
    unsigned stride;
    uint8_t *arena; /* all that follows, as the budget splits it */
    uint64_t arena_bytes;
    struct bloomery_partition *partition;
    uint8_t *buffers;
    uint64_t *cache;
    uint64_t cache_mask; /* sets - 1 */
    /* the batch that is being decided */
    uint64_t batch; /* r */
    uint64_t *values;
    uint64_t *marks; /* a bit for each of values: seen, or taken */
    uint64_t *
        verdicts; /* a bit for each entry that is not decided: the first of its key, and not seen */
    uint32_t *index;
    uint8_t *in;            /* BLOOMERY_SEEN_AREA */
    uint8_t *out;           /* BLOOMERY_SEEN_AREA */
    uint8_t *area;          /* 2 * BLOOMERY_LOG_AREA: a frame of a log */
    uint64_t *frame_values; /* BLOOMERY_SEEN_PER_FRAME */
    uint64_t cache_hits;
    uint64_t decisions;
    uint64_t waiting; /* entries that are not decided, over all partitions */
};

static inline uint64_t bloomery_fingerprint_of(const struct bloomery_disk *disk, bloomery_hash hash)
{
    return disk->width == 8 ? hash.lo : hash.lo & ~(uint64_t)0xffff;
}

static inline uint32_t bloomery_partition_of(const struct bloomery_disk *disk, uint64_t fingerprint)
{
    return disk->partition_bits == 0 ? 0 : (uint32_t)(fingerprint >> (64 - disk->partition_bits));
}

/* Entries that are in a log or its buffer and not decided. */
static inline uint64_t bloomery_partition_waiting(const struct bloomery_partition *partition)
{
    return partition->log_entries - partition->decided_entries + partition->entries;
}

/* ---- Rows of the manifest (disk.c) ----------------------------------------------------------- */

/* What a partition's row of BLOOMERY_PARTITION_STATE bytes says: of its log, what is decided, and
 * its seen-set. */
void bloomery_partition_load(const uint8_t *from, struct bloomery_partition *partition);
void bloomery_partition_store(const struct bloomery_partition *partition, uint8_t *to);

/* ---- Facts of a sieve that is not open (disk.c) ---------------------------------------------- */

/* Adds what the manifest's rows, one for each partition, say. `memory`: what a flush is to have of
 * it. False: a row does not add up. */
bool bloomery_disk_rows_info(const struct bloomery_sieve_settings *settings, uint64_t memory,
                             const uint8_t *rows, bloomery_sieve_info *info);

/* ---- Logs (seen.c) --------------------------------------------------------------------------- */

/* Where entries begin in a buffer whose entries are about `body` bytes long. */
uint32_t bloomery_log_split(const struct bloomery_disk *disk, uint64_t body_bytes,
                            uint64_t entries);

/* Appends an entry. On failure nothing has changed. */
bloomery_status bloomery_log_append(bloomery_sieve *sieve, uint32_t number, uint64_t fingerprint,
                                    const struct bloomery_entry *entry, uint64_t push,
                                    bloomery_error *error);
/* Writes out the buffer. */
bloomery_status bloomery_log_seal(bloomery_sieve *sieve, uint32_t number, bloomery_error *error);

/* Walks a log's records: `take` for each frame of them. */
bloomery_status bloomery_log_each(bloomery_sieve *sieve, uint32_t number, uint64_t from,
                                  uint64_t to,
                                  bloomery_status (*take)(void *context, const uint8_t *records,
                                                          uint32_t count, bloomery_error *error),
                                  void *context, bloomery_error *error);

/* The frame at `offset`, with its keys: in `area`, or in memory of its own that _release gives
 * back. */
struct bloomery_log_frame {
    uint64_t offset;
    struct bloomery_frame frame;
    uint8_t *records;
    uint8_t *body;
    uint8_t *own;
    uint64_t own_bytes;
};
bloomery_status bloomery_log_read(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                  uint8_t *area, size_t room, struct bloomery_log_frame *frame,
                                  bloomery_error *error);
void bloomery_log_release(bloomery_sieve *sieve, struct bloomery_log_frame *frame);
/* What the header of a log's frame promises beyond what store.h checks: a record for each entry, in
 * an area. */
bool bloomery_log_is_frame(const struct bloomery_frame *frame, unsigned stride);
/* The header of the frame at `offset`, checked. */
bloomery_status bloomery_log_header(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                    struct bloomery_frame *frame, bloomery_error *error);

/* ---- Which entries are new (decide.c) -------------------------------------------------------- */

/* The bytes that deciding a partition reads and writes, about; `merge`: by merging. */
double bloomery_stage_cost(const struct bloomery_disk *disk,
                           const struct bloomery_partition *partition, bool merge);

/* A part of a log that is decided at a time: whole frames, as many as a batch holds. */
struct bloomery_disk_piece {
    uint64_t from; /* bytes of the log */
    uint64_t to;
    uint64_t waiting; /* its entries that are not decided */
    uint64_t before;  /* entries of the log, decided or in pieces before this one */
    bool last;
    /* Verdicts of the piece before that share a word with the first ones of this piece: how many
     * bits they are, and the word. */
    unsigned carried;
    uint64_t carry;
};

/* Before the first piece of a partition, whose buffer is empty. `merge`: the decided part of the
 * log is merged too. */
struct bloomery_disk_piece bloomery_piece_begin(const struct bloomery_partition *partition,
                                                bool merge);
/* The next one. BLOOMERY_CORRUPT: a damaged frame, or other entries than the manifest counts. */
bloomery_status bloomery_piece_next(bloomery_sieve *sieve, uint32_t number,
                                    struct bloomery_disk_piece *piece, bloomery_error *error);

/* Sorts a piece against the seen-set: disk->verdicts afterwards has a bit for each entry that is
 * not decided, behind those carried. With `merge`, writes a new seen-set and syncs it; if one is
 * staged already, from that one. Without, the log is one piece. On failure nothing of the partition
 * is staged. */
bloomery_status bloomery_stage(bloomery_sieve *sieve, uint32_t number,
                               const struct bloomery_disk_piece *piece, bool merge,
                               bloomery_error *error);
/* Takes over what was staged up to the end of this piece, by calling its entries decided. After a
 * merge of the last one it forgets the log. `decided`: entries that were not before. */
void bloomery_stage_adopt(bloomery_sieve *sieve, uint32_t number,
                          const struct bloomery_disk_piece *piece, uint64_t decided);
/* Or removes it. */
void bloomery_stage_drop(bloomery_sieve *sieve, uint32_t number);

/* ---- New entries to the queue (decide.c) ----------------------------------------------------- */

/* What becomes of the counters if everything goes well. */
struct bloomery_tally {
    uint64_t decided; /* pushes that were pending */
    uint64_t new_keys;
};

/* An entry with its verdict, whether it is the first of its key and that was not seen: to the
 * queue, or not. */
bloomery_status bloomery_apply_verdict(bloomery_sieve *sieve, struct bloomery_entry *entry,
                                       bool first, struct bloomery_tally *tally,
                                       bloomery_error *error);
void bloomery_tally_count(bloomery_sieve *sieve, const struct bloomery_tally *tally);
/* BLOOMERY_CORRUPT: the entry at `place` in the frame at `offset` of a log is none. */
bloomery_status bloomery_entry_damaged(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                       bloomery_error *error);
/* Whether a partition is to be merged; `merge`: the caller wishes it. */
bool bloomery_merges(const bloomery_sieve *sieve, uint32_t number, bool merge);

/* `merge`: also if probing would do. */
bloomery_status bloomery_decide(bloomery_sieve *sieve, uint32_t number, bool merge,
                                bloomery_error *error);

/* ---- In the order of the pushes (decide_ordered.c) ------------------------------------------- */

/* Everything, in the order of the pushes. */
bloomery_status bloomery_decide_ordered(bloomery_sieve *sieve, bool merge, bloomery_error *error);

/* ---- Looking up (disk.c) --------------------------------------------------------------------- */

/* Answers for `count` of the hashes. order[i]: a fingerprint of which the last 16 bits are the
 * number of its hash; the words are sorted. */
bloomery_status bloomery_disk_contains(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                       uint64_t *order, size_t count, uint8_t *results,
                                       bloomery_error *error);

/* ---- Verifying (seen.c) ---------------------------------------------------------------------- */

bloomery_status bloomery_disk_verify(bloomery_sieve *sieve, struct bloomery_findings *findings,
                                     bloomery_error *error);
/* Calls `take` for each fingerprint of all seen-sets. Non-zero ends it and is returned. */
int bloomery_disk_each(bloomery_sieve *sieve, int (*take)(void *context, uint64_t fingerprint),
                       void *context, bloomery_error *error);

#endif /* BLOOMERY_SIEVE_DISK_H */

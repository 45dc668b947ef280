/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a sieve, and its files of frames.
 *
 * All files lie in one directory, so that syncing it makes every name durable. A file is
 *
 *     0    header, 64 bytes: magic, version, what it is, its number and generation, the sieve's id,
 *          checksum
 *     64   frames or other content
 *
 * and is only appended to, or written once. How much of it counts is for the manifest to say. What
 * lies behind that was written after the last commit, and is cut off at opening. A frame is
 *
 *     0    entries         u32
 *     4    fixed bytes     u32    of the fixed part: one or two arrays of numbers
 *     8    body bytes      u32
 *     12   0               u32
 *     16   first           u64    number of the first entry (queue: item; pending: push)
 *     24   checksum of the fixed part   u64
 *     32   checksum of the body         u64
 *     40   checksum of bytes 0 to 39    u64
 *     48   fixed part, then body
 *
 * little-endian. Checksums are XXH3-64. Their seed is made of the sieve's id, the file's kind,
 * number and generation, and the frame's offset. A frame that lands in another place is damaged,
 * not valid.
 */
#ifndef BLOOMERY_SIEVE_STORE_H
#define BLOOMERY_SIEVE_STORE_H

#include <assert.h>
#include <bloomery/sieve.h>
#include <string.h>

enum {
    BLOOMERY_FILE_HEADER = 64,
    BLOOMERY_FRAME_HEADER = 48,
    BLOOMERY_SIEVE_VERSION = 1,
    BLOOMERY_FILE_NAME = 48,
};

enum bloomery_file_kind {
    BLOOMERY_FILE_SEEN = 1,     /* number: partition */
    BLOOMERY_FILE_PENDING = 2,  /* number: partition */
    BLOOMERY_FILE_QUEUE = 3,    /* number: segment */
    BLOOMERY_FILE_VERDICTS = 5, /* while an ordered batch is decided */
    BLOOMERY_FILE_DEAD = 6,     /* items that were delivered too often (queue.h) */
    BLOOMERY_FILE_FILTER = 4,   /* a filter of bloomery.h, which has a header of its own */
};

struct bloomery_store {
    const bloomery_allocator *allocator;
    const char *path;   /* for messages */
    int directory;      /* -1: no directory; then there are no files */
    bool syncs;         /* false: BLOOMERY_SIEVE_SYNC_NEVER */
    bool read_only;     /* nothing in the directory is changed */
    bool names_changed; /* files were made since the directory was last synced */
    bool failed;        /* a sync failed: what is on the disk is not known */
    uint64_t seed;      /* of all checksums, made of the id */
    uint8_t id[16];
    uint64_t memory; /* bytes allocated */
    uint64_t bytes_read;
    uint64_t bytes_written;
};

/* A file of the directory; file -1: none. */
struct bloomery_store_file {
    int file;
    enum bloomery_file_kind kind;
    uint64_t number;
    uint64_t generation; /* queue segments: 0 */
    uint64_t seed;
    bool dirty; /* written since it was last synced */
};

/* Memory through the sieve's allocator, counted; zeroed, at a multiple of 64. bytes > 0. */
void *bloomery_store_allocate(struct bloomery_store *store, uint64_t bytes);
void bloomery_store_release(struct bloomery_store *store, void *memory, uint64_t bytes);

/* "seen-003.12", "pending-003.7", "queue-000000000001", "filter.3". */
void bloomery_store_name(enum bloomery_file_kind kind, uint64_t number, uint64_t generation,
                         char name[BLOOMERY_FILE_NAME]);

/* Makes a file with its header, empty; one of that name is replaced. */
bloomery_status bloomery_store_create(struct bloomery_store *store, enum bloomery_file_kind kind,
                                      uint64_t number, uint64_t generation,
                                      struct bloomery_store_file *file, bloomery_error *error);

/* Opens a file whose first `bytes` bytes count (the header's included). Checks that they are there
 * and that the header is sound. With `cut`, and unless the store is only read, cuts off what
 * follows. BLOOMERY_CORRUPT, naming the file. */
bloomery_status bloomery_store_open(struct bloomery_store *store, enum bloomery_file_kind kind,
                                    uint64_t number, uint64_t generation, uint64_t bytes, bool cut,
                                    struct bloomery_store_file *file, bloomery_error *error);

/* For recovery: opens a file whatever it holds, and tells how long it is and whether its header is
 * sound. No such file: file -1. BLOOMERY_WRONG_VERSION: its header is sound and of a later one. */
bloomery_status bloomery_store_open_any(struct bloomery_store *store, enum bloomery_file_kind kind,
                                        uint64_t number, uint64_t generation,
                                        struct bloomery_store_file *file, uint64_t *length,
                                        bool *headed, bloomery_error *error);
bloomery_status bloomery_store_write_header(struct bloomery_store *store,
                                            struct bloomery_store_file *file,
                                            bloomery_error *error);

/* Closes it; file -1 is fine. Does not sync. */
void bloomery_store_close(struct bloomery_store_file *file);

/* Removes a file's name; one that is not there is fine. Failures are left to the next opening,
 * which removes what the manifest does not name. */
void bloomery_store_remove(struct bloomery_store *store, enum bloomery_file_kind kind,
                           uint64_t number, uint64_t generation);

/* All of it, or BLOOMERY_IO_FAILED (a full disk among others: then what was written of it does not
 * count) or BLOOMERY_CORRUPT (the file ends before). */
bloomery_status bloomery_store_write(struct bloomery_store *store, struct bloomery_store_file *file,
                                     uint64_t offset, const void *data, size_t bytes,
                                     bloomery_error *error);
bloomery_status bloomery_store_read(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t offset,
                                    void *data, size_t bytes, bloomery_error *error);

/* Cuts a file to its first `bytes` bytes, after a write that failed half way. */
bloomery_status bloomery_store_cut(struct bloomery_store *store, struct bloomery_store_file *file,
                                   uint64_t bytes, bloomery_error *error);

/* Makes durable what was written; nothing to do if it is not dirty or the sieve does not sync. A
 * failure sets store->failed, and then all later ones fail too. */
bloomery_status bloomery_store_sync(struct bloomery_store *store, struct bloomery_store_file *file,
                                    bloomery_error *error);
bloomery_status bloomery_store_sync_names(struct bloomery_store *store, bloomery_error *error);

/* BLOOMERY_CORRUPT with "crawl/queue-000000000001 is damaged at N: <what>". */
__attribute__((format(printf, 5, 6))) bloomery_status
bloomery_store_damaged(const struct bloomery_store *store, const struct bloomery_store_file *file,
                       uint64_t offset, bloomery_error *error, const char *format, ...);

/* ---- Frames -------------------------------------------------------------------------------- */

struct bloomery_frame {
    uint32_t entries;
    uint32_t fixed_bytes;
    uint32_t body_bytes;
    uint64_t first;
    uint64_t fixed_checksum;
    uint64_t body_checksum;
};

/* Bytes of a frame with its header. */
static inline uint64_t bloomery_frame_bytes(const struct bloomery_frame *frame)
{
    return BLOOMERY_FRAME_HEADER + (uint64_t)frame->fixed_bytes + frame->body_bytes;
}

/* Writes a frame at `offset`: fills in the checksums. Parts of 0 bytes may be NULL. */
bloomery_status bloomery_frame_write(struct bloomery_store *store, struct bloomery_store_file *file,
                                     uint64_t offset, struct bloomery_frame *frame,
                                     const void *fixed, const void *body, bloomery_error *error);

/* Reads and checks a frame's header; `end` is where the file's counted bytes end, which the frame
 * must not pass. */
bloomery_status bloomery_frame_header(struct bloomery_store *store,
                                      const struct bloomery_store_file *file, uint64_t offset,
                                      uint64_t end, struct bloomery_frame *frame,
                                      bloomery_error *error);

/* The first sound header from `from` on, of a frame that has entries and ends by `end`: behind a
 * damaged one frames are found so. No other bytes pass for one, since its checksum has the sieve's
 * id and the place in it. `offset` becomes `end` if there is none. About 0.3 s for 64 MiB. */
bloomery_status bloomery_frame_find(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t from,
                                    uint64_t end, uint64_t *offset, struct bloomery_frame *frame,
                                    bloomery_error *error);

/* Reads and checks one part, which must fit: the caller looks at fixed_bytes or body_bytes
 * before. */
bloomery_status bloomery_frame_fixed(struct bloomery_store *store,
                                     const struct bloomery_store_file *file, uint64_t offset,
                                     const struct bloomery_frame *frame, void *fixed,
                                     bloomery_error *error);
bloomery_status bloomery_frame_body(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t offset,
                                    const struct bloomery_frame *frame, void *body,
                                    bloomery_error *error);

/* ---- Walking through the frames of a file ---------------------------------------------------- */

/*
 * Reading, verifying and recovering a file of frames are the same walk:
 *
 *     | frame | frame | damaged ? ? ? ? | frame | frame |
 *       take    take    damaged  find --> take    take
 *
 * A header that is sound, and that `fits` accepts, says where the next frame begins, even if a part
 * of its own frame is damaged. Behind any other header the walk goes on at the next sound one.
 * Without `damaged` the first damage ends the walk. Other failures always do.
 */
struct bloomery_frame_walk {
    struct bloomery_store *store;
    const struct bloomery_store_file *file;
    uint64_t at;  /* the frame; before the walk: the first one */
    uint64_t to;  /* the walk ends here: at `end`, unless only a part is walked through */
    uint64_t end; /* where the counted bytes of the file end */
    void *context;
    /* BLOOMERY_CORRUPT: this file has no frame with such a header, though its checksum is right. */
    bloomery_status (*fits)(struct bloomery_frame_walk *walk, const struct bloomery_frame *frame,
                            bloomery_error *error);
    /* Reads the parts that it wants. BLOOMERY_CORRUPT: one of them is damaged. It may bring `to`
     * nearer, down to `at`, to end the walk. */
    bloomery_status (*take)(struct bloomery_frame_walk *walk, struct bloomery_frame *frame,
                            bloomery_error *error);
    /* Reports damage, which `error` has. If it fails itself, `error` says why. It may set `at`
     * and `to`; then the walk goes on there. */
    bloomery_status (*damaged)(struct bloomery_frame_walk *walk, bloomery_error *error);
};

/* Afterwards `at` is behind the last frame. */
bloomery_status bloomery_frames_walk(struct bloomery_frame_walk *walk, bloomery_error *error);

/* What a verification finds. */
struct bloomery_findings {
    bloomery_sieve_report report; /* NULL: damage is only counted */
    void *context;
    uint64_t damaged;
};

/* Reports damage, counts it and returns BLOOMERY_OK. Any other status is returned, with its error,
 * and so is damage if `findings` is NULL. */
bloomery_status bloomery_findings_add(struct bloomery_findings *findings, bloomery_status status,
                                      const bloomery_error *found, bloomery_error *error);

/* ---- Entries --------------------------------------------------------------------------------- */

/*
 * An entry of a frame's body: a key, its payload, and what is to become of it. As bytes:
 *
 *     flags and key length    varint of key bytes << 3 | flags
 *     payload length          varint, only with BLOOMERY_ENTRY_PAYLOAD
 *     key, payload
 *
 * A varint is 7 bits a byte, the least significant first, the top bit set on all bytes but the
 * last. Lengths are at most BLOOMERY_SIEVE_ITEM_MAX together, so a prefix is at most 4 + 3 bytes.
 */

enum {
    BLOOMERY_ENTRY_PAYLOAD = 1,
    BLOOMERY_ENTRY_MARKED = 2, /* seen, and no item */
    BLOOMERY_ENTRY_FORCED = 4, /* an item although it was seen */
    BLOOMERY_ENTRY_VOID = 6,   /* both: nothing; what stood here was lost to damage (internal.h) */
    BLOOMERY_ENTRY_PREFIX_MAX = 8,
};

struct bloomery_entry {
    bloomery_key key;
    bloomery_key payload;
    uint32_t flags; /* MARKED, FORCED */
};

/* Whether a sieve can have taken an entry of these lengths. */
static inline bool bloomery_entry_fits(const struct bloomery_entry *entry)
{
    return entry->key.bytes <= BLOOMERY_SIEVE_ITEM_MAX &&
           entry->payload.bytes <= BLOOMERY_SIEVE_ITEM_MAX - entry->key.bytes;
}

static inline size_t bloomery_varint_put(uint8_t *to, uint32_t value)
{
    size_t bytes = 0;
    assert(value < 1U << 28); /* or reading takes it for none */
    for (; value >= 128; value >>= 7)
        to[bytes++] = (uint8_t)(value | 128);
    to[bytes++] = (uint8_t)value;
    return bytes;
}

/* The bytes taken, or 0 unless a whole varint of at most 4 bytes is there. */
static inline size_t bloomery_varint_get(const uint8_t *from, size_t room, uint32_t *value)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < room && i < 4; i++) {
        sum |= (uint32_t)(from[i] & 127) << (7 * i);
        if (from[i] < 128) {
            *value = sum;
            return i + 1;
        }
    }
    return 0;
}

/* The most that an entry takes. */
static inline size_t bloomery_entry_bound(const struct bloomery_entry *entry)
{
    return BLOOMERY_ENTRY_PREFIX_MAX + entry->key.bytes + entry->payload.bytes;
}

/* Writes an entry; `to` has room for bloomery_entry_bound. Returns its bytes. */
static inline size_t bloomery_entry_put(uint8_t *to, const struct bloomery_entry *entry)
{
    const bool paid = entry->payload.bytes > 0;
    assert(bloomery_entry_fits(entry));
    size_t at = bloomery_varint_put(to, (uint32_t)entry->key.bytes << 3 | entry->flags |
                                            (paid ? BLOOMERY_ENTRY_PAYLOAD : 0));
    if (paid)
        at += bloomery_varint_put(to + at, (uint32_t)entry->payload.bytes);
    assert(at <= BLOOMERY_ENTRY_PREFIX_MAX);
    if (entry->key.bytes > 0)
        memcpy(to + at, entry->key.data, entry->key.bytes);
    at += entry->key.bytes;
    if (paid)
        memcpy(to + at, entry->payload.data, entry->payload.bytes);
    return at + entry->payload.bytes;
}

/* Reads an entry, which points into `from`; the bytes taken, or 0 if there is no sound one. */
static inline size_t bloomery_entry_get(const uint8_t *from, size_t room,
                                        struct bloomery_entry *entry)
{
    uint32_t head = 0;
    uint32_t payload = 0;
    size_t at = bloomery_varint_get(from, room, &head);
    if (at == 0)
        return 0;
    if (head & BLOOMERY_ENTRY_PAYLOAD) {
        const size_t more = bloomery_varint_get(from + at, room - at, &payload);
        if (more == 0)
            return 0;
        at += more;
    }
    if ((head >> 3) > room - at || payload > room - at - (head >> 3))
        return 0;
    entry->flags = head & (BLOOMERY_ENTRY_MARKED | BLOOMERY_ENTRY_FORCED);
    entry->key = bloomery_key_of(from + at, head >> 3);
    entry->payload = bloomery_key_of(from + at + (head >> 3), payload);
    return at + (head >> 3) + payload;
}

#endif /* BLOOMERY_SIEVE_STORE_H */

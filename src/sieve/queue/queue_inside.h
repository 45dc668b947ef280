/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue inside. Its one idea: a frame's place is known before the frame is written.
 *
 *     tail = {segment, offset}: where the buffer will lie once it is sealed
 *
 * So the head may read entries out of the buffer, and leases may name them, while the buffer still
 * grows; sealing changes nothing for them. A segment is left right after the frame that fills it,
 * never before a frame.
 *
 * Without a directory each frame is a segment of its own, {segment, 64}, and lies in a ring of
 * memory.
 *
 *     queue.c         the tail: append, seal, mark and rewind, sync; facts
 *     queue_read.c    frames by their place, checked; walking; each, verify
 *     queue_pop.c     the head: pop, skip
 *     queue_leases.c  the leases, and nothing else
 *     queue_ring.c    frames in memory
 *     queue_state.c   store and restore, and which segments are still named
 */
#ifndef BLOOMERY_SIEVE_QUEUE_INSIDE_H
#define BLOOMERY_SIEVE_QUEUE_INSIDE_H

#include "sieve/queue/dead.h"
#include "sieve/queue/queue.h"

enum {
    BLOOMERY_QUEUE_BODY_MAX = BLOOMERY_SIEVE_ITEM_MAX + BLOOMERY_ENTRY_PREFIX_MAX,
    BLOOMERY_LEASE_CHUNK = 256,
};

/* ---- Leases (queue_leases.c) ----------------------------------------------------------------- */

/* As long as in the manifest. */
struct bloomery_lease {
    uint64_t number;
    uint64_t segment; /* of the frame */
    uint64_t offset : BLOOMERY_LEASE_OFFSET_BITS;
    uint64_t deliveries : 64 - BLOOMERY_LEASE_OFFSET_BITS; /* and not more than fit */
    double ends;                                           /* seconds since 1970; below 0: dead */
};

enum { BLOOMERY_DELIVERIES_MAX = (1 << (64 - BLOOMERY_LEASE_OFFSET_BITS)) - 1 };

static inline struct bloomery_queue_position
bloomery_lease_place(const struct bloomery_lease *lease)
{
    return (struct bloomery_queue_position){lease->segment, lease->offset};
}

/*
 * In the order of the numbers, so also of the places. Dead ones stay until there are enough of them
 * to be worth moving the others together. Of chunk i, least[i] is at most the least end among the
 * living: what has not ended is passed over by chunks.
 */
struct bloomery_leases {
    struct bloomery_lease *list;
    double *least;
    uint32_t limit;    /* living ones at a time */
    uint32_t capacity; /* of the list */
    uint32_t count;
    uint32_t live;
    uint32_t first; /* none before it lives */
};

bool bloomery_leases_make(struct bloomery_store *store, struct bloomery_leases *leases,
                          uint32_t limit);
void bloomery_leases_free(struct bloomery_store *store, struct bloomery_leases *leases);
/* A number above all others; there is room: live < limit. */
void bloomery_leases_add(struct bloomery_leases *leases, const struct bloomery_lease *lease);
/* The first one with this number or a later one, living or not, or `count`. */
uint32_t bloomery_leases_from(const struct bloomery_leases *leases, uint64_t number);
/* The living one with this number, or `count`. */
uint32_t bloomery_leases_find(const struct bloomery_leases *leases, uint64_t number);
/* May move all of them. */
void bloomery_leases_kill(struct bloomery_leases *leases, uint32_t index);
void bloomery_leases_extend(struct bloomery_leases *leases, uint32_t index, double ends);
/* The first living one from `from` on that ended by `now`, or `count`. */
uint32_t bloomery_leases_ended(const struct bloomery_leases *leases, uint32_t from, double now);
/* The first living one from `from` on, or `count`. */
uint32_t bloomery_leases_next(const struct bloomery_leases *leases, uint32_t from);
/* Whether a living one lies in this segment. */
bool bloomery_leases_in(const struct bloomery_leases *leases, uint64_t segment);

/* ---- Frames in memory (queue_ring.c) --------------------------------------------------------- */

struct bloomery_ring_frame {
    uint64_t first;
    uint32_t entries;
    uint32_t bytes;
    uint32_t leases;
    uint32_t spare;
    uint8_t body[];
};

/* The slots of frames [base, base + count); a power of two of slots. */
struct bloomery_queue_ring {
    struct bloomery_ring_frame **slots;
    uint64_t capacity;
    uint64_t base;
    uint64_t count;
    uint64_t most;  /* bytes; 0: no limit */
    uint64_t bytes; /* of frames and slots */
};

/* Behind the last one; the copy of a body. BLOOMERY_FULL, BLOOMERY_OUT_OF_MEMORY. */
bloomery_status bloomery_ring_add(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                                  const struct bloomery_ring_frame *facts, const void *body,
                                  bloomery_error *error);
/* NULL if it was given back, or never was. */
struct bloomery_ring_frame *bloomery_ring_find(const struct bloomery_queue_ring *ring,
                                               uint64_t number);
void bloomery_ring_drop(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                        uint64_t number);
/* Drops all from this one on. */
void bloomery_ring_cut(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                       uint64_t number);
void bloomery_ring_free(struct bloomery_store *store, struct bloomery_queue_ring *ring);

/* ---- The queue ------------------------------------------------------------------------------- */

/* A frame as it can be read: in the buffer, in the ring, or in the area. */
struct bloomery_queue_view {
    uint64_t first;
    uint32_t entries;
    uint32_t bytes;
    const uint8_t *body;
};

struct bloomery_queue {
    struct bloomery_store *store;
    uint64_t segment_bytes; /* BLOOMERY_QUEUE_SEGMENT, but in tests */
    uint64_t idle_bytes;    /* BLOOMERY_QUEUE_IDLE, but in tests */

    /* The tail. */
    struct bloomery_queue_position tail;
    struct bloomery_store_file tail_file; /* open: of the tail's segment */
    bool spoiled;                         /* bytes behind the tail, of a write that failed */
    uint64_t next;                        /* number of the next entry */
    uint64_t buffer_first;                /* number of the buffer's first entry */
    uint32_t buffer_entries;
    uint32_t buffer_bytes;
    uint32_t buffer_leases; /* without directory */
    uint8_t *buffer;
    struct bloomery_queue_ring ring; /* without directory */

    /* The head: the frame it is in, and what of it was taken. */
    struct bloomery_queue_position head;
    uint32_t head_index; /* entries */
    uint32_t head_at;    /* bytes; not known while head_at == UINT32_MAX */
    uint64_t head_number;
    /* Items from the head on; after damage at most so many, until the head is at the tail. */
    uint64_t queued;
    uint64_t done;

    /* The frame read last, unless its segment is 0; a long one lies in memory of its own. */
    struct bloomery_queue_position area_place;
    struct bloomery_frame area_frame; /* its header, if area_headed: also if its body is damaged */
    bool area_headed;
    uint8_t *area;
    uint8_t *long_body;
    uint64_t long_bytes;
    struct bloomery_store_file read_file; /* of a segment that is not the tail's */
    uint64_t read_end;
    /* Where walking to an entry got to, so that the next one need not start again. */
    struct bloomery_queue_position walk_place;
    uint32_t walk_index;
    uint32_t walk_at;

    /* What the last pop gave out. */
    uint8_t *arena;
    uint32_t arena_bytes;
    uint8_t *held; /* a long item */
    uint64_t held_bytes;
    struct bloomery_queue_position broken; /* a frame with leases that could not be read */

    struct bloomery_dead *dead; /* takes items that were delivered `most_deliveries` times */
    uint32_t most_deliveries;   /* 0: no limit */

    struct bloomery_leases leases;
    double longest; /* seconds of the longest lease that is out, or more; 0: not known */

    /* Segments: [swept, tail] are there, and those kept behind for their leases. */
    uint64_t swept;
    uint64_t *kept;
    uint32_t kept_count;
    uint64_t closed_bytes; /* of all but the tail */
};

static inline bool bloomery_place_same(struct bloomery_queue_position one,
                                       struct bloomery_queue_position other)
{
    return one.segment == other.segment && one.offset == other.offset;
}

static inline bool bloomery_place_before(struct bloomery_queue_position one,
                                         struct bloomery_queue_position other)
{
    return one.segment < other.segment ||
           (one.segment == other.segment && one.offset < other.offset);
}

static inline bool bloomery_queue_on_disk(const struct bloomery_queue *queue)
{
    return queue->store->directory >= 0;
}

/* ---- queue.c */
/* Opens or makes the file of the tail's segment. */
bloomery_status bloomery_queue_tail_file(struct bloomery_queue *queue, bloomery_error *error);
/* The head to behind the last entry: everything that is left is no item. */
void bloomery_queue_finish_head(struct bloomery_queue *queue);
/* Moves the head to another frame; gives back frames in memory that it leaves behind. */
void bloomery_queue_move_head(struct bloomery_queue *queue, struct bloomery_queue_position place);

/* ---- queue_pop.c */
/* The lease at this index has ended; its item neither comes again nor counts as acknowledged. May
 * move all leases. */
void bloomery_queue_end_lease(struct bloomery_queue *queue, uint32_t index);

/* ---- queue_read.c */
/* The frame at a place, whole and checked, with the entries that it claims. What it points to lasts
 * until the next one. On BLOOMERY_CORRUPT area_headed tells whether area_frame is its sound
 * header. */
bloomery_status bloomery_queue_load(struct bloomery_queue *queue,
                                    struct bloomery_queue_position place,
                                    struct bloomery_queue_view *view, bloomery_error *error);
/* Where entry `index` < entries begins. */
uint32_t bloomery_queue_walk(struct bloomery_queue *queue, struct bloomery_queue_position place,
                             const struct bloomery_queue_view *view, uint32_t index);
/* The place behind a frame of so many body bytes; not behind the tail. */
bloomery_status bloomery_queue_step(struct bloomery_queue *queue,
                                    struct bloomery_queue_position *place, uint32_t body_bytes,
                                    bloomery_error *error);
/* From a frame that could not be read to where reading can go on. Gives the place, and the number
 * of its first entry, at least `number` before. */
void bloomery_queue_pass(struct bloomery_queue *queue, struct bloomery_queue_position *place,
                         uint64_t *number);
/* Whether a queue whose next number is `next` may have written a frame with such a header. A sound
 * checksum can stand over numbers that none writes. And whether a body has just so many entries. */
bool bloomery_queue_is_frame(const struct bloomery_frame *frame, uint64_t next);
bool bloomery_queue_is_body(const uint8_t *body, uint32_t bytes, uint32_t entries);
/* Forgets the frame read last. */
void bloomery_queue_forget(struct bloomery_queue *queue);
void bloomery_queue_close_read(struct bloomery_queue *queue);

/* ---- queue_state.c */
/* Bytes of a segment's file; 0 if there is none. */
uint64_t bloomery_queue_segment_bytes(const struct bloomery_queue *queue, uint64_t segment);

#endif

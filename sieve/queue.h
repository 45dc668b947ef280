/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue: entries in, items out, in the order they came; what was handed out and not
 * acknowledged comes again.
 *
 *     head: read here                                              tail: appended here
 *     | frame | frame | frame | ... segment ends | frame | ... | frame |  buffer
 *
 * Entries gather in a buffer, which is written as a frame (store.h) when it is full, sealed, or
 * about to be read. With a directory frames lie in segments, files of about 64 MiB. They are
 * removed when they were read and nothing in them is leased. Without one, frames lie in memory.
 * Each entry has a number, 1 the first, also those that are not items (MARKED).
 *
 * A lease is where an item lies (frame and place in it), its number, and when it ends. Leases are
 * kept in the order of their numbers.
 *
 * Below ("Inside") stands how it works.
 */
#ifndef BLOOMERY_SIEVE_QUEUE_H
#define BLOOMERY_SIEVE_QUEUE_H

#include "sieve/store.h"

enum {
    BLOOMERY_QUEUE_BUFFER =
        65536, /* bytes of a frame's body, but for a single entry that is longer */
    BLOOMERY_QUEUE_SEGMENT = 64 << 20,
    /* Bytes from which a segment is left at a commit when nothing in it is queued or leased. */
    BLOOMERY_QUEUE_IDLE = 64 << 10,
    BLOOMERY_LEASE_BYTES = 32, /* in memory and in the manifest */
    BLOOMERY_LEASE_OFFSET_BITS = 48,
    BLOOMERY_QUEUE_STATE = 80, /* in the manifest, without the leases */
};
static const uint64_t bloomery_lease_offset_mask = ((uint64_t)1 << BLOOMERY_LEASE_OFFSET_BITS) - 1;

struct bloomery_queue;
struct bloomery_dead;

/* `memory_max` bounds what a queue without directory may take for frames (0: nothing does): then
 * BLOOMERY_FULL. Takes 3 areas of BLOOMERY_QUEUE_BUFFER and a little, and the leases. */
bloomery_status bloomery_queue_make(struct bloomery_store *store, uint32_t leases,
                                    uint64_t memory_max, struct bloomery_queue **made,
                                    bloomery_error *error);
void bloomery_queue_free(struct bloomery_queue *queue);

/* The state for the manifest, of everything that was sealed (the buffer is empty): first
 * BLOOMERY_QUEUE_STATE bytes, then BLOOMERY_LEASE_BYTES a lease. Returns the bytes written; `to`
 * has room for all leases. */
size_t bloomery_queue_store(const struct bloomery_queue *queue, uint8_t *to);

/* Takes over a state: checks every number in it, opens and cuts the tail segment, looks that all
 * others are there. `keep_leases`: they go on, but for those that end after `latest` (seconds since
 * 1970), which nobody can have granted; all others have ended. `ended` becomes whether one has that
 * had not in the state. BLOOMERY_CORRUPT. */
bloomery_status bloomery_queue_restore(struct bloomery_queue *queue, const uint8_t *from,
                                       size_t bytes, bool keep_leases, double latest, bool *ended,
                                       bloomery_error *error);

/* Whether the state names segment `number`: from the head on, or with leases in it. Others are
 * litter of a crash, but for those that a caller wished to keep. */
bool bloomery_queue_has_segment(const struct bloomery_queue *queue, uint64_t number);

/* Appends. On failure nothing has changed. */
bloomery_status bloomery_queue_append(struct bloomery_queue *queue,
                                      const struct bloomery_entry *entry, bloomery_error *error);

/* Makes sure that entries whose bounds (bloomery_entry_bound) add up to `bytes` can be appended
 * without fail: seals if the buffer has no room for them. More than BLOOMERY_QUEUE_BUFFER is for
 * one entry: then memory or a file must be there. */
bloomery_status bloomery_queue_reserve(struct bloomery_queue *queue, uint64_t bytes,
                                       bloomery_error *error);

/* Writes out the buffer. */
bloomery_status bloomery_queue_seal(struct bloomery_queue *queue, bloomery_error *error);

/* Leaves the segment at the tail if nothing in it is queued or leased, so that the next commit
 * removes it: full or not, but `at_least` bytes long. True if it did. The buffer is empty. */
bool bloomery_queue_leave_idle(struct bloomery_queue *queue, uint64_t at_least);

/* A state to come back to: taken right after a seal; going back undoes all appending since (files
 * made since are removed). In between nothing is popped. */
struct bloomery_queue_mark {
    uint64_t segment;
    uint64_t offset;
    uint64_t next_number;
    uint64_t queued;
    uint32_t buffer_bytes; /* without directory nothing is sealed before a frame is full */
};
void bloomery_queue_mark(const struct bloomery_queue *queue, struct bloomery_queue_mark *mark);
void bloomery_queue_rewind(struct bloomery_queue *queue, const struct bloomery_queue_mark *mark);

/* Makes durable what was sealed: to be called before a commit. */
bloomery_status bloomery_queue_sync(struct bloomery_queue *queue, bloomery_error *error);

/* Removes segments that the state no longer names and that lie before `keep_segment` (UINT64_MAX:
 * no such wish): to be called after a commit. */
void bloomery_queue_tidy(struct bloomery_queue *queue, uint64_t keep_segment);

/* From now on a pop puts leased items aside that were delivered so often, instead of delivering
 * them again. 0: never. */
void bloomery_queue_put_aside(struct bloomery_queue *queue, struct bloomery_dead *dead,
                              uint32_t most_deliveries);

/* As bloomery_sieve_pop, without deciding anything: ended leases first (`now`: seconds since 1970,
 * leases run until now + lease). MARKED entries are passed over. If the disk has no room for what
 * is to be put aside, that stays leased, and other items come. */
bloomery_status bloomery_queue_pop(struct bloomery_queue *queue, double now, double lease,
                                   bloomery_sieve_item *items, size_t room, size_t *count,
                                   bloomery_error *error);
/* Ends leases, as bloomery_sieve_finish. Returns how many of the numbers were leased. */
size_t bloomery_queue_end(struct bloomery_queue *queue, const uint64_t *numbers, size_t count,
                          bloomery_sieve_outcome outcome);
/* Leases that end now + lease instead. Returns how many of the numbers are leased. */
size_t bloomery_queue_extend(struct bloomery_queue *queue, const uint64_t *numbers, size_t count,
                             double now, double lease);
/* Ends all leases. Returns how many there were. */
size_t bloomery_queue_end_all(struct bloomery_queue *queue, bloomery_sieve_outcome outcome);
/* Calls `take` for each leased item, in the order of the numbers. Non-zero ends it and is
 * returned. */
int bloomery_queue_each_leased(struct bloomery_queue *queue, bloomery_sieve_visitor take,
                               void *context, bloomery_error *error);
bloomery_status bloomery_queue_skip(struct bloomery_queue *queue, uint64_t *lost,
                                    bloomery_error *error);

/* Calls `take` for each entry from the head to the tail, or from the frame at `from` on, whose
 * first entry has this number (0: not known). Segment 0 means the first frame that ever was. Popped
 * entries are among them, and MARKED ones too. Changes nothing. Non-zero ends it and is returned;
 * BLOOMERY_CORRUPT also if a frame is missing: between, or at `from` if its number is known.
 * Without directory: from the head only. */
struct bloomery_queue_position {
    uint64_t segment;
    uint64_t offset;
};
int bloomery_queue_each(struct bloomery_queue *queue,
                        const struct bloomery_queue_position *from, /* NULL: the head */
                        uint64_t number,
                        int (*take)(void *context, const struct bloomery_entry *entry,
                                    uint64_t number),
                        void *context, bloomery_error *error);
/* Where the next frame will be written: to be asked right after a seal. */
struct bloomery_queue_position bloomery_queue_tail(const struct bloomery_queue *queue);

/* The state's numbers, which are followed by the leases. */
struct bloomery_queue_state {
    struct bloomery_queue_position head;
    uint64_t head_index;  /* entries of the frame there that were taken */
    uint64_t head_number; /* of the next entry to come out */
    struct bloomery_queue_position tail;
    uint64_t next; /* number of the next entry to go in */
    uint64_t queued;
    uint64_t done;
    uint64_t leases;
};

/* BLOOMERY_QUEUE_STATE bytes, as they are. */
void bloomery_queue_state_load(const uint8_t *from, struct bloomery_queue_state *state);
void bloomery_queue_state_store(const struct bloomery_queue_state *state, uint8_t *to);

/* Those of a state of `bytes` bytes, with no file looked at. False: they do not fit together. */
bool bloomery_queue_state_read(const uint8_t *from, size_t bytes,
                               struct bloomery_queue_state *state);

/* Reads every frame that the state names, popped ones with leases in them too. */
bloomery_status bloomery_queue_verify(struct bloomery_queue *queue,
                                      struct bloomery_findings *findings, bloomery_error *error);

/* Facts. */
uint64_t bloomery_queue_queued(
    const struct bloomery_queue *queue); /* items not popped; marked ones don't count */
uint64_t bloomery_queue_leased(const struct bloomery_queue *queue);
uint64_t bloomery_queue_done(const struct bloomery_queue *queue); /* since the sieve was made */
uint64_t bloomery_queue_next(const struct bloomery_queue *queue); /* the next entry's number */
/* Of the leases that are out, the longest that was granted, in seconds, or more; 0: not known. */
double bloomery_queue_longest(const struct bloomery_queue *queue);
void bloomery_queue_set_longest(struct bloomery_queue *queue, double seconds);
uint64_t
bloomery_queue_bytes(const struct bloomery_queue *queue); /* of segments, or of memory frames */
/* Whether something may come out now: queued, or leased and ended. */
bool bloomery_queue_ready(const struct bloomery_queue *queue, double now);

/* ---- Dead items (pop.c) ---------------------------------------------------------------------- */

/*
 * Items that were delivered too often and never acknowledged: put aside, so that they neither come
 * again nor hold a lease. A file "dead.G", a frame (store.h) for each of them, whose first entry is
 * the item as the queue had it and whose number is the item's. G counts how often the list was
 * emptied.
 *
 * As of every file, what the manifest says of it counts: an item is in the list with the commit
 * that ends its lease, and not before. The list is emptied by a commit that names the next
 * generation; then the file is removed.
 */

enum { BLOOMERY_DEAD_STATE = 24 }; /* bytes in the manifest */

struct bloomery_dead {
    struct bloomery_store *store;
    struct bloomery_store_file file; /* open if `bytes` is not 0 */
    uint64_t generation;
    uint64_t committed; /* the generation that the last commit names */
    uint64_t bytes;     /* of the file that count; 0: there is none */
    uint64_t items;
};

/* Empty. */
void bloomery_dead_start(struct bloomery_dead *dead, struct bloomery_store *store);
void bloomery_dead_close(struct bloomery_dead *dead);

/* The part of the manifest: generation, bytes, items, u64 each. Restoring opens the file and cuts
 * what lies behind its bytes. BLOOMERY_CORRUPT. */
void bloomery_dead_store(const struct bloomery_dead *dead, uint8_t to[BLOOMERY_DEAD_STATE]);
bloomery_status bloomery_dead_restore(struct bloomery_dead *dead,
                                      const uint8_t from[BLOOMERY_DEAD_STATE],
                                      bloomery_error *error);
/* Whether the state names the file of this generation. */
bool bloomery_dead_names(const struct bloomery_dead *dead, uint64_t generation);

/* Appends an entry of the queue, as it lies in its frame. On failure nothing has changed. */
bloomery_status bloomery_dead_append(struct bloomery_dead *dead, uint64_t number,
                                     const uint8_t *entry, size_t bytes, bloomery_error *error);

/* Forgets all items. The file goes with bloomery_dead_committed. */
void bloomery_dead_empty(struct bloomery_dead *dead);

/* Makes durable what was appended: before a commit. */
bloomery_status bloomery_dead_sync(struct bloomery_dead *dead, bloomery_error *error);
/* After it. */
void bloomery_dead_committed(struct bloomery_dead *dead);

/* Calls `take`, unless NULL, for each item, in the order in which they were put aside. Non-zero
 * ends it and is returned. Damage, which `error` has, ends it too unless there is `damaged`. */
int bloomery_dead_each(struct bloomery_dead *dead,
                       int (*take)(void *context, const struct bloomery_entry *entry,
                                   uint64_t number),
                       bloomery_status (*damaged)(void *context, bloomery_error *error),
                       void *context, bloomery_error *error);

/* Reads all frames. */
bloomery_status bloomery_dead_verify(struct bloomery_dead *dead, struct bloomery_findings *findings,
                                     bloomery_error *error);

/* ---- Inside ---------------------------------------------------------------------------------- */

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
 *     queue.c       the tail: append, seal, mark and rewind, sync; facts; store and restore, and
 *                   which segments are still named
 *     queue_read.c  frames by their place, checked; walking; each, verify; the leases; frames in
 *                   memory
 *     pop.c         the head: pop, skip; dead items
 */

enum {
    BLOOMERY_QUEUE_BODY_MAX = BLOOMERY_SIEVE_ITEM_MAX + BLOOMERY_ENTRY_PREFIX_MAX,
    BLOOMERY_LEASE_CHUNK = 256,
};

/* ---- Leases (queue_read.c) ------------------------------------------------------------------- */

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

/* ---- Frames in memory (queue_read.c) --------------------------------------------------------- */

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
    /* Items from the head on; after damage at most as many, until the head is at the tail. */
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

/* ---- Of the tail (queue.c) */
/* Opens or makes the file of the tail's segment. */
bloomery_status bloomery_queue_tail_file(struct bloomery_queue *queue, bloomery_error *error);
/* The head to behind the last entry: nothing that is left is an item. */
void bloomery_queue_finish_head(struct bloomery_queue *queue);
/* Moves the head to another frame; gives back frames in memory that it leaves behind. */
void bloomery_queue_move_head(struct bloomery_queue *queue, struct bloomery_queue_position place);

/* ---- Of the head (pop.c) */
/* The lease at this index has ended; its item neither comes again nor counts as acknowledged. May
 * move all leases. */
void bloomery_queue_end_lease(struct bloomery_queue *queue, uint32_t index);

/* ---- Of frames (queue_read.c) */
/* The frame at a place, whole and checked, with the entries that it claims. What it points to lasts
 * until the next one. On BLOOMERY_CORRUPT area_headed tells whether area_frame is its sound
 * header. */
bloomery_status bloomery_queue_load(struct bloomery_queue *queue,
                                    struct bloomery_queue_position place,
                                    struct bloomery_queue_view *view, bloomery_error *error);
/* Where entry `index` < entries begins. */
uint32_t bloomery_queue_walk(struct bloomery_queue *queue, struct bloomery_queue_position place,
                             const struct bloomery_queue_view *view, uint32_t index);
/* The place behind a frame of `body_bytes` bytes of body; not behind the tail. */
bloomery_status bloomery_queue_step(struct bloomery_queue *queue,
                                    struct bloomery_queue_position *place, uint32_t body_bytes,
                                    bloomery_error *error);
/* From a frame that could not be read to where reading can go on. Gives the place, and the number
 * of its first entry, at least `number` before. */
void bloomery_queue_pass_damage(struct bloomery_queue *queue, struct bloomery_queue_position *place,
                                uint64_t *number);
/* Whether a queue whose next number is `next` may have written a frame with such a header. A sound
 * checksum can stand over numbers that none writes. And whether a body has exactly `entries`
 * entries. */
bool bloomery_queue_is_frame(const struct bloomery_frame *frame, uint64_t next);
bool bloomery_queue_is_body(const uint8_t *body, uint32_t bytes, uint32_t entries);
/* Forgets the frame read last. */
void bloomery_queue_forget(struct bloomery_queue *queue);
void bloomery_queue_close_read(struct bloomery_queue *queue);

/* Bytes of a segment's file; 0 if there is none. */
uint64_t bloomery_queue_segment_bytes(const struct bloomery_queue *queue, uint64_t segment);

#endif /* BLOOMERY_SIEVE_QUEUE_H */

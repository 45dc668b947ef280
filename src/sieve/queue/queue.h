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
 * queue_inside.h tells how it works.
 */
#ifndef BLOOMERY_SIEVE_QUEUE_H
#define BLOOMERY_SIEVE_QUEUE_H

#include "sieve/store/entry.h"
#include "sieve/store/store.h"

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

/* Calls `take` for each entry from the head to the tail, or from the frame at `from` on. Segment 0
 * means the first frame that is still there. Popped entries are among them, and MARKED ones too.
 * Changes nothing. Non-zero ends it and is returned; BLOOMERY_CORRUPT also if a frame between is
 * missing. Without directory: from the head only. */
struct bloomery_queue_position {
    uint64_t segment;
    uint64_t offset;
};
int bloomery_queue_each(struct bloomery_queue *queue,
                        const struct bloomery_queue_position *from, /* NULL: the head */
                        int (*take)(void *context, const struct bloomery_entry *entry,
                                    uint64_t number),
                        void *context, bloomery_error *error);
/* Where the next frame will be written: to be asked right after a seal. */
struct bloomery_queue_position bloomery_queue_tail(const struct bloomery_queue *queue);

/* What a state says, with no file looked at. False: its numbers do not fit together. */
struct bloomery_queue_facts {
    struct bloomery_queue_position tail;
    uint64_t queued;
    uint64_t leased;
    uint64_t done;
};
bool bloomery_queue_state_read(const uint8_t *from, size_t bytes,
                               struct bloomery_queue_facts *facts);

/* Reads every frame that the state names, popped ones with leases in them too; reports damage,
 * counts it. */
bloomery_status bloomery_queue_verify(struct bloomery_queue *queue, bloomery_sieve_report report,
                                      void *context, uint64_t *damaged, bloomery_error *error);

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

#endif

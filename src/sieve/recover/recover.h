/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: a sieve that is damaged becomes one that opens. It works on the image of the manifest,
 * without an engine:
 *
 *     recover.c        which state counts; the end
 *     set_aside.c      findings; what is set aside
 *     recover_queue.c  the queue: damaged frames become frames of nothing
 *     recover_disk.c   logs and seen-sets: damaged files are written anew, from their whole frames
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
#ifndef BLOOMERY_SIEVE_RECOVER_H
#define BLOOMERY_SIEVE_RECOVER_H

#include "sieve/engine.h"
#include "sieve/queue/queue_inside.h"

struct bloomery_recovery {
    bloomery_sieve *sieve;
    bloomery_sieve_report report;
    void *context;
    bloomery_sieve_recovery result;
    int folder;   /* -1: there is none yet */
    uint8_t *own; /* room for the longest body, and for the records of a frame */
    uint8_t *area;
    uint8_t *records;
    bool changed; /* the image, or what it names */
    /* recount */
    uint64_t pending; /* plain pushes that are pending */
    uint64_t rolled;  /* items behind the tail of the state that was taken */
    uint64_t first; /* number of the first entry that the walk through the queue came by; 0: none */
    bool rolls;     /* a log is gone: what was in it may be in the queue, behind that tail */
};

/* The state of the queue, taken apart; recover_queue.c. */
struct bloomery_recovery_queue {
    struct bloomery_queue_position head;
    uint64_t head_index;
    uint64_t head_number;
    struct bloomery_queue_position tail;
    uint64_t next;
    uint64_t queued;
    uint64_t done;
    uint64_t leases;
    uint8_t *lease; /* the first, in the image */
};

/* ---- set_aside.c ---- */

/* Counts a finding and reports it. */
__attribute__((format(printf, 2, 3))) void
bloomery_recovery_tell(struct bloomery_recovery *recovery, const char *format, ...);

/* Keeps a whole file in the folder: another name of it, or a copy. One that is not there is fine.
 * */
bloomery_status bloomery_recovery_keep(struct bloomery_recovery *recovery, const char *name,
                                       bloomery_error *error);
/* A copy of its bytes from `from` to `end`. */
bloomery_status bloomery_recovery_keep_part(struct bloomery_recovery *recovery,
                                            const struct bloomery_store_file *file, uint64_t from,
                                            uint64_t end, bloomery_error *error);

/* ---- recover_void.c ---- */

/* Where entries were lost: in which file, and which number comes next. */
struct bloomery_recovery_gap {
    struct bloomery_recovery *recovery;
    struct bloomery_store_file *file; /* of the segment */
    uint64_t *number;                 /* of the next entry; rises with each that is put there */
    bool is_log;                      /* the queue is the memory engine's log */
};

/* Puts so many entries of nothing into just so many bytes at `at`. BLOOMERY_CORRUPT if they do not
 * fit. */
bloomery_status bloomery_recovery_fill(struct bloomery_recovery_gap gap, uint64_t at,
                                       uint64_t bytes, uint64_t entries, bloomery_error *error);

/* As many at the end of a segment, a byte each, and the file ends behind them. `at` moves there. */
bloomery_status bloomery_recovery_append(struct bloomery_recovery_gap gap, uint64_t *at,
                                         uint64_t entries, bloomery_error *error);

/* ---- recover_queue.c, recover_disk.c ---- */

/* The queue, from its head on, or from `saved`, where the memory engine's filter was saved, which
 * may move. */
bloomery_status bloomery_recovery_queue(struct bloomery_recovery *recovery,
                                        struct bloomery_recovery_queue *queue,
                                        struct bloomery_queue_position *saved,
                                        bloomery_error *error);

/* The list of dead items, by its state in the image (recover_dead.c). */
bloomery_status bloomery_recovery_dead(struct bloomery_recovery *recovery, uint8_t *state,
                                       bloomery_error *error);

/* The rows of the partitions, in the image. */
bloomery_status bloomery_recovery_disk(struct bloomery_recovery *recovery, uint8_t *rows,
                                       bloomery_error *error);

#endif

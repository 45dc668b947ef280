/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lives of a sieve that end at any moment, and what must be left of them.
 *
 * A story is a stream of pushes in which the number of a push says all about it: its key, and
 * whether it pushes, forces or marks. So a program that is started again goes on where the sieve
 * says that it is, and an observer knows what has to come out of the first n pushes. A life
 * works at it: pushes, pops, acknowledges, commits; and tells through a pipe what it begins and
 * what it was promised:
 *
 *     begun n     pushes up to n are about to be made
 *     synced n    the sieve says that pushes up to n are durable
 *     popped p    the item of push p came out, under this number
 *     acking p    it is about to be acknowledged
 *     sure        all that was said before was committed
 *
 * The ledger keeps what was told. When the life has ended, in whatever way, judge looks at a copy
 * of the directory:
 *
 *     the state is that of the first n pushes, synced <= n <= begun
 *     what comes out of it, and what was acknowledged before, are the items of the first n pushes,
 *     each once what was surely acknowledged does not come again; what was surely leased comes
 *     again, under its number
 *
 * and afterwards the ledger is exact again, for the next life.
 */
#ifndef TESTS_LIFE_H
#define TESTS_LIFE_H

#include "../support/faults.h"
#include "stream.h"

struct story {
    const char *name;
    bloomery_sieve_engine engine;
    uint32_t partitions;
    uint32_t bits;
    bool ordered;
    bloomery_sieve_sync sync;
    double seconds; /* of BLOOMERY_SIEVE_SYNC_TIMED */
    uint64_t pushes;
    uint32_t batch; /* pushes in one call, at most */
};
enum { LIFE_STORIES = 8, LIFE_HEARD = 12288 };
extern const struct story life_stories[LIFE_STORIES];

/* How a life ends by itself. */
enum {
    LIFE_END = 0,     /* the story is over: all was pushed, popped, acknowledged and committed */
    LIFE_REFUSED = 3, /* a sync failed, and the sieve refused to go on, as it should */
    LIFE_WRONG = 4,   /* something is not as it should be; it told where */
};

/* What a life may meet. */
enum life_faults {
    LIFE_NO_FAULTS, /* every call must succeed */
    LIFE_FULL_DISK, /* a call may fail, then nothing has changed, and it goes through in the end */
    LIFE_FAILED_SYNC, /* a call may fail, and then all others */
};

/* Lives, telling through `out`. `number` makes each life another one. Does not use cmocka. */
int life_live(const struct story *story, const char *path, uint64_t number, enum life_faults faults,
              int out);

struct ledger {
    const struct story *story;
    uint64_t length; /* pushes of the story */
    uint8_t *marks;  /* of each push */
    uint64_t *numbers;
    uint64_t begun;
    uint64_t synced;
    bool over;
    uint64_t failures; /* of calls, that the life survived */
    uint64_t judged;   /* lives */
    uint64_t lost;     /* pushes that were begun and did not survive, over all lives */
    uint64_t again;    /* items that came again */
    uint8_t heard[LIFE_HEARD];
    size_t have; /* bytes of it */
};

void ledger_make(struct ledger *ledger, const struct story *story);
void ledger_free(struct ledger *ledger);

/* Whether nothing more can come of a push: it was not a new one, or its item was surely
 * acknowledged. */
bool ledger_done(const struct ledger *ledger, uint64_t push);

/* Reads what a life says until it ends or `seconds` have passed (negative: no limit). true: it
 * ended. */
bool ledger_listen(struct ledger *ledger, int from, double seconds);

/* Judges what a life left at `path`, on a copy at `copy`. Fails the test, with `what` in front. */
void ledger_judge(struct ledger *ledger, const char *path, const char *copy, const char *what);

/* ---- Places ---------------------------------------------------------------------------- */

/* A place for a life: the sieve is a directory in it, so that making it is seen too. */
struct place {
    struct faulty_disk disk;
    char path[300];
    char copy[300];
    struct ledger ledger;
};
void place_make(struct place *place, const struct story *story);
void place_free(struct place *place);

/* A life in a process of its own, in front of a disk that fails. Returns its exit status; `struck`
 * becomes the call that was struck, or "". */
int drive(struct place *place, uint64_t number, const struct fault *fault, enum life_faults faults,
          char struck[32]);

/* This program, started again with these arguments, in front of the same disk. Returns its exit
 * status. */
int drive_program(const struct place *place, const struct fault *fault, char *const *arguments);

/* main() of the process that drive starts: true where this is one, and its exit status. */
bool drive_main(int count, char **arguments, int *status);

/* Fails the test unless nothing more can come of any push of the story. */
void place_judge_end(const struct place *place, const char *what);

#endif

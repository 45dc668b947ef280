/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys seen so far: a filter, or a set of fingerprints. Keys are added to it in one order, and
 * it reports of each whether it is new. seen.c holds the essay on what happens when it is full.
 */
#ifndef BLOOMERY_TOOL_UNITS_SEEN_H
#define BLOOMERY_TOOL_UNITS_SEEN_H

#include "units/drop_estimate.h"
#include "units/fingerprints.h"

#include <bloomery/bloomery.h>
#include <bloomery/records.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_on_full { TOOL_FULL_STOP, TOOL_FULL_GROW, TOOL_FULL_PASS };

/* It is full if its rate is this many times its target. */
#define TOOL_SEEN_FULL_FACTOR 2.0

/* What happens to it while keys are added. */
enum tool_seen_news {
    TOOL_SEEN_PLANNED, /* it holds what it was planned for; its rate rises from now on */
    TOOL_SEEN_PASSING, /* it is full: nothing more is remembered */
};

/* A filter whose keys are dropped. Nothing is added to it. */
struct tool_against {
    const char *path;
    const bloomery_filter *filter;
    bloomery_key_rule rule; /* by which its keys are made */
};

struct tool_seen {
    bloomery_filter *filter;         /* of the keys; or, beside a table, one that only hashes */
    struct tool_fingerprints *table; /* NULL: a filter */
    uint32_t table_bits;             /* of a fingerprint */
    enum tool_on_full on_full;
    const char *advice; /* the available actions when it is full */
    uint32_t group;     /* keys that belong together: new if all of them are; 0: each by itself */
    bool adds_seen;     /* groups that are not new are added as well */
    void (*tell)(const struct tool_seen *seen, enum tool_seen_news news); /* NULL: nobody is */

    /* Of a filter: its state at the start. */
    struct tool_chain start;
    bool grows;
    double target; /* the rate that it was made for; 0: unknown */

    uint64_t start_count;  /* fingerprints at the start */
    uint64_t kept;         /* keys that were new, so far */
    uint64_t warn_at;      /* when that many were: it holds what it was planned for */
    uint64_t full_at;      /* and: its rate is twice the target */
    uint64_t unremembered; /* new keys that were let pass after that */
    bool full;
    bool warned;       /* that it holds what it was planned for */
    bool passing_said; /* that nothing more is remembered */
};

/* After filter or table, and on_full, were set. `target`: the requested rate, 0: none was; it is
 * then the filter's own. */
void tool_seen_start(struct tool_seen *seen, double target);

/*
 * Adds keys by their hashes, in order. Bit i of `answers` is set if key i is new. Returns how many
 * were dealt with: all, or those before the one with which it stopped, `full` being set. `tell` is
 * called from here.
 *
 * Of groups, whole ones come. All keys of a group are looked up before any of them is added; if one
 * was there, none is added, unless `adds_seen`.
 */
size_t tool_seen_add(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                     uint64_t *answers);

/* Adds nothing: bit i of `answers` is set if key i is not there. */
void tool_seen_look_up(const struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                       uint64_t *answers);

/* From now on it is another run that is counted: keys added so far only count as seen. */
void tool_seen_restart(struct tool_seen *seen);

/* The facts for reports. Memory is that of filter or table. */
struct tool_seen_facts {
    uint64_t bytes;
    uint32_t layers;    /* of a filter */
    double keys;        /* different ones in it, as estimated */
    double rate;        /* of a filter now; 0 for a table */
    double wrong_drops; /* of this run, expected: new keys that were taken for old ones */
};

void tool_seen_facts_get(const struct tool_seen *seen, struct tool_seen_facts *facts);

/* ---- Keys that wait -------------------------------------------------------------------------- */

/* The keys of a chunk. One thread's; begins as zeros. */
struct tool_adding {
    uint64_t number; /* of the chunk: from 0 on, without a gap */
    size_t count;    /* of keys */
    bloomery_hash *hashes;
    uint64_t *answers; /* bit i is set if key i is new */
    size_t room;       /* of hashes; of answers in bits */
    size_t answered;   /* fewer than `count`: what was seen is full, and this is the last chunk */
    size_t missing;    /* bytes that could not be had; 0: none */
    bool added;        /* its adder's own */
};

/* Makes room for `more` keys behind the `count` that are there. False if memory is exhausted. */
bool tool_adding_make_room(struct tool_adding *adding, size_t more);
void tool_adding_free(struct tool_adding *adding);

#endif /* BLOOMERY_TOOL_UNITS_SEEN_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys seen so far: a filter, or a set of fingerprints. Keys are added to it in one order, and
 * it reports of each whether it is new. seen.c holds the essay on what happens when it is full.
 */
#ifndef BLOOMERY_TOOL_SEEN_H
#define BLOOMERY_TOOL_SEEN_H

#include "command/dedupe/expected.h"
#include "command/dedupe/fingerprints.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_on_full { TOOL_FULL_STOP, TOOL_FULL_GROW, TOOL_FULL_PASS };

struct tool_seen {
    bloomery_filter *filter;         /* of the keys; or, beside a table, one that only hashes */
    struct tool_fingerprints *table; /* NULL: a filter */
    uint32_t table_bits;             /* of a fingerprint */
    enum tool_on_full on_full;
    const char *advice; /* the available actions when it is full */

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
 * were dealt with: all, or those before the one with which it stopped, `full` being set. Prints the
 * warnings.
 */
size_t tool_seen_add(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
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

/* Prints the error that it is full, and its state after `lines` lines, of which `kept` were
 * kept. */
void tool_seen_say_full(const struct tool_seen *seen, uint64_t lines, uint64_t kept);

#endif /* BLOOMERY_TOOL_SEEN_H */

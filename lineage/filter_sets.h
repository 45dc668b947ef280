/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of other systems in the experiment, in this process or on a JVM. */
#ifndef BLOOMERY_LINEAGE_FILTER_SETS_H
#define BLOOMERY_LINEAGE_FILTER_SETS_H

#include "exact_sets.h"

#include <bloomery/bloomery.h>

/* The facts known of a filter of another system. */
struct tool_filter_facts {
    bloomery_plan shape; /* kind, bits and probes */
    double predicted_rate;
    double live_rate;
    uint64_t written_bytes; /* as its system writes it; 0: not at all */
    uint32_t written_crc;   /* the CRC-32 of these bytes */
};

/* Scans the filter and writes it once, to nowhere. */
void tool_filter_facts_get(const bloomery_filter *filter, struct tool_filter_facts *facts);

/* Puts them into a trial. */
void tool_filter_facts_tell(const struct tool_filter_facts *facts, struct tool_trial *trial);

/* How far the rate of one filter may be from the predicted one if bits lie in steps, as Guava's
 * do. */
double tool_filter_steps_stray(const struct tool_filter_facts *facts);

/* Queries a filter as a structure is queried. */
void tool_filter_query(const bloomery_filter *filter, struct tool_digits keys, uint64_t *answers);

#endif /* BLOOMERY_LINEAGE_FILTER_SETS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lineage experiment without its command line: the queries to each structure, the true answers,
 * and the results of one structure. experiment.c holds the essay.
 *
 *     tool_experiment_start(&experiment, 20000000, 10000000, 0.01, 0);
 *     code = tool_experiment_run(&experiment, &tool_integer_set, &trial);       first an exact one,
 *     code = tool_experiment_run(&experiment, &tool_blocked_filter, &trial);    and so on
 *     tool_experiment_end(&experiment);
 */
#ifndef BLOOMERY_LINEAGE_EXPERIMENT_H
#define BLOOMERY_LINEAGE_EXPERIMENT_H

#include "exact_sets.h"

struct tool_experiment {
    struct tool_digits keys;
    struct tool_digits queries;
    double rate;
    uint64_t *truth;  /* bit i of word i / 64: query i is a key. By the first structure */
    uint64_t members; /* how many queries are keys */
    uint64_t seed;
    bool settled;  /* truth and members are known */
    bool progress; /* print on stderr what is being done */
    struct tool_meter meter;
};

enum tool_verdict {
    TOOL_EXACT,         /* it has no rate */
    TOOL_AS_PREDICTED,  /* chance makes such a count of the predicted rate */
    TOOL_AS_THESE_BITS, /* not of that, but of these very bits, and so small a structure varies */
    TOOL_AS_ITS_STEPS,  /* nor of these; but as near as the steps of so few keys leave it */
    TOOL_OFF,           /* none of these: a finding */
};

struct tool_trial {
    const struct tool_structure *structure;
    uint64_t bytes;
    uint64_t max_bytes;   /* while it was built */
    double build_seconds; /* of the thread that did it */
    double query_seconds;
    uint64_t false_positives;
    double predicted_rate;
    double live_rate;
    uint64_t min_expected; /* false positives that chance makes of the predicted rate */
    uint64_t max_expected;
    enum tool_verdict verdict;

    /* Of filters of other systems; else 0. */
    uint64_t bits;
    uint32_t probes;
    uint64_t written_bytes; /* as that system writes it */
    uint32_t written_crc;   /* the CRC-32 of these bytes */

    /* Of what ran in a process of its own; else false and 0. */
    bool process;
    double process_seconds; /* of processors, from its start */
    uint64_t process_bytes; /* of memory at most; 0: not known */
};

/* Everything that the experiment knows, in the order in which it is shown. */
enum { TOOL_STRUCTURES = 11 };
extern const struct tool_structure
    *const tool_structures[TOOL_STRUCTURES]; /* NULL: not in this build */

/* All trials, and which of them to show. */
struct tool_results {
    struct tool_trial trials[TOOL_STRUCTURES];
    bool queried[TOOL_STRUCTURES];
};

/* Makes keys and queries. False after a message. keys: 1 to tool_ids_maximum(). */
bool tool_experiment_start(struct tool_experiment *experiment, uint64_t keys, uint64_t queries,
                           double rate, uint64_t seed);
void tool_experiment_end(struct tool_experiment *experiment);

/* Builds the structure, queries it, releases it. TOOL_FOUND; or after a message TOOL_NONE for a
 * false negative or an exact set that errs, and TOOL_ERROR. */
int tool_experiment_run(struct tool_experiment *experiment, const struct tool_structure *structure,
                        struct tool_trial *trial);

/* The queries that are no keys. */
uint64_t tool_experiment_absent(const struct tool_experiment *experiment);

#endif /* BLOOMERY_LINEAGE_EXPERIMENT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures of the lineage experiment behind one interface. They are four exact sets, a bitmap
 * with one hash, Bloomery's filters, and those of the original experiment, here and on a JVM.
 * exact_sets.c, hash_sets.c, filter_sets.c and jvm_sets.c explain how each works.
 *
 * They take the experiment's keys only: strings of TOOL_DIGITS decimal digits, one after the other.
 */
#ifndef BLOOMERY_LINEAGE_EXACT_SETS_H
#define BLOOMERY_LINEAGE_EXACT_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_DIGITS = 12 }; /* per key */

/* Keys: `count` times TOOL_DIGITS bytes, distinct. */
struct tool_digits {
    const char *text;
    size_t count;
};

/* The memory that a structure has allocated: counted, not estimated. */
struct tool_meter {
    uint64_t bytes; /* now */
    uint64_t most;  /* at the worst moment */
};

/* Memory from the system, zeroed, counted in the meter. NULL: not enough. */
void *tool_meter_allocate(struct tool_meter *meter, uint64_t bytes, size_t alignment);
void tool_meter_release(struct tool_meter *meter, void *memory, uint64_t bytes);

struct tool_trial;

struct tool_structure {
    const char *name;  /* on the command line and in JSON */
    const char *title; /* in the table */
    bool exact;
    bool requested_rate; /* made for the requested rate; false: it has its own, or none */
    bool on_jvm;         /* tool_jvm_sets_start comes first */

    /* Whether this machine can make it; NULL: always. */
    bool (*available)(void);

    /* Builds it of all keys. `rate` is for filters. NULL: not enough memory, or another failure, of
     * which a message has been printed, and then *told is set. */
    void *(*make)(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told);
    void (*release)(void *set, struct tool_meter *meter);

    /* Sets bit i & 63 of answers[i >> 6] if key i may be in; the bits after the last are cleared.
     * Any number of threads may query at once. */
    void (*query)(const void *set, struct tool_digits keys, uint64_t *answers);

    /* NULL for exact structures, whose rate is nil. The first is the rate predicted for this many
     * keys. The second is that of the very bits as they came out. The third is the factor by which
     * the second may exceed the first because small structures vary. */
    double (*predicted_rate)(const void *set);
    double (*live_rate)(const void *set);
    double (*allowed_factor)(const void *set);

    /* NULL: not at all. How far the rate of one set may be from the predicted one, which is the
     * average of all sets of its size. The difference comes from how its way from a hash to bits
     * suits these very keys. */
    double (*stray)(const void *set);

    /* Puts into the trial the facts that only it knows: times that passed elsewhere, its geometry,
     * its bytes. Is called once, when the queries have been answered. NULL: nothing. An exit code,
     * after a message if it is not TOOL_FOUND. */
    int (*tell)(void *set, struct tool_digits queries, const uint64_t *answers,
                struct tool_trial *trial);
};

extern const struct tool_structure tool_string_set;
extern const struct tool_structure tool_sorted_list;
extern const struct tool_structure tool_integer_set;
#ifdef BLOOMERY_HAVE_LIBCRYPTO
extern const struct tool_structure tool_digest_set;
#endif
extern const struct tool_structure tool_one_hash_bitmap;
extern const struct tool_structure tool_blocked_filter;
extern const struct tool_structure tool_classic_filter;
extern const struct tool_structure tool_guava_filter;
extern const struct tool_structure tool_sha384_filter;
extern const struct tool_structure tool_guava_on_jvm;
extern const struct tool_structure tool_sha384_on_jvm;

#endif /* BLOOMERY_LINEAGE_EXACT_SETS_H */

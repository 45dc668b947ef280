/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures of the lineage experiment as rows of one table: four exact sets, a bitmap with one
 * hash, Bloomery's filters, and the two of the original experiment. sets.c explains how each works.
 */
#ifndef BLOOMERY_LINEAGE_SETS_H
#define BLOOMERY_LINEAGE_SETS_H

#include <bloomery/bloomery.h>

/* Keys: `count` strings of TOOL_DIGITS decimal digits, one after the other. */
enum { TOOL_DIGITS = 12 };
struct tool_digits {
    const char *text;
    size_t count;
};

struct tool_set;
struct tool_structure {
    const char *name; /* on the command line and in JSON; of another system's filter: its dialect */
    const char *title; /* in the table */
    bool exact;
    bool requested_rate; /* a filter made for the requested rate; false: it has its own, or none */
    unsigned width;      /* of a table: words in a slot; 0: a slot is a bit */
    bloomery_kind kind;  /* of Bloomery's filters */

    /* Adds set->keys. False after a message. */
    bool (*fill)(struct tool_set *set);
    /* Sets bit i & 63 of answers[i >> 6] if key i may be in; bits after the last are cleared. */
    void (*query)(const struct tool_set *set, struct tool_digits keys, uint64_t *answers);
};

/* In the order in which they are shown. */
enum { TOOL_INTEGERS = 2, TOOL_MD5 = 3, TOOL_GUAVA = 7, TOOL_SHA384 = 8, TOOL_STRUCTURES = 9 };
extern const struct tool_structure tool_structures[TOOL_STRUCTURES];

/* A structure with keys in it. Who fills it gives the first three; the rest begins as 0. */
struct tool_set {
    const struct tool_structure *structure;
    struct tool_digits keys;
    double rate;     /* for filters */
    uint64_t bytes;  /* allocated now: counted, not estimated */
    uint64_t *words; /* of a table, or the sorted list */
    uint64_t size;   /* of a table: slots */
    bloomery_filter *filter;
    bloomery_plan shape; /* kind, bits and probes, and what else its plan has */

    /* Of what is not exact, by tool_set_settle. */
    double predicted_rate;  /* for this many keys */
    double live_rate;       /* of the very bits as they came out */
    double allowed_rate;    /* the live rate may be as high, because small structures vary */
    double stray;           /* and this far from both the rate may be, because bits lie in steps */
    uint64_t written_bytes; /* of another system's filter, as that system writes it */
    uint32_t written_crc;   /* the CRC-32 of these bytes */
};

void tool_set_settle(struct tool_set *set);

/* Frees its memory; the numbers stay. */
void tool_set_release(struct tool_set *set);

/* Memory from the system, zeroed, in huge pages if it is large. NULL: not enough. For free(). */
void *tool_pages(uint64_t bytes, size_t alignment);

#endif /* BLOOMERY_LINEAGE_SETS_H */

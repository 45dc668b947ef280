/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark of filters: one process, one set of keys, every contestant in turn.
 *
 *   case         a size, a type of key and a rate
 *   contestant   one of our filters, a peer, or a physical limit (which is not a filter, but a loop
 *                over the same memory that does what every filter has to do)
 *   chunk        some thousand keys, made before the clock starts
 *   phase        adding, or asking for absent or for present keys; one key per call or in batches
 *   part         one of five (or so) equal measurements of a phase; the figure is their median
 *
 * Contestants take turns part by part, and each part begins with another one, so that a
 * disturbance of some seconds hits all alike.
 */
#ifndef BLOOMERY_BENCH_H
#define BLOOMERY_BENCH_H

#include <bloomery/bloomery.h>

#include <stdio.h>

/* ---- Keys ----------------------------------------------------------------------------------- */

enum bench_type { BENCH_INTEGERS, BENCH_IDS, BENCH_URLS, BENCH_TYPES };

extern const char *const bench_type_names[BENCH_TYPES];

/* How many keys are made ahead of the clock. Enough that starting and draining a window of 128 is
 * nothing; few enough that keys and spans stay in the second-level cache, as those of a program do
 * that reads its input block by block. */
enum { BENCH_CHUNK = 16384 };

struct bench_chunk {
    size_t count;
    enum bench_type type;
    const uint64_t *numbers; /* the keys themselves, where they are integers; else NULL */
    const bloomery_key *keys;
};

/* Makes keys number `first` to `first + count - 1` of a type in memory that the next call reuses.
 * Keys of different numbers differ, so that numbers from n on are absent keys. */
const struct bench_chunk *bench_keys(enum bench_type type, uint64_t first, size_t count);

/* ---- Contestants ---------------------------------------------------------------------------- */

struct bench_case {
    enum bench_type type;
    uint64_t keys;
    double rate;
};

/* What a row reports beside times, so that only like is compared with like. */
struct bench_facts {
    char layout[40];
    uint32_t lines;     /* cache lines per key; 0: as many as probes */
    uint32_t probes;    /* bits per key, per line if blocked */
    uint64_t bytes;     /* the memory that was planned */
    uint64_t held;      /* what it takes with all keys in it, where that differs; else 0 */
    uint32_t layers;    /* of a chain, with all keys in it; else 0 */
    bool below;         /* the rate is one that it stays below, not one that it meets */
    double planned;     /* the rate that was planned; 0 for a limit */
    double built_ns;    /* per key, where the filter is built at once from all keys; else 0 */
    const char *kernel; /* static storage */
};

/* Does the chunk's keys and says how many were new or found; for a limit, something that depends
 * on every byte read. */
typedef uint64_t bench_operation(void *context, const struct bench_chunk *chunk);

/* A comparison is shown and never judged: it does less than a filter has to. */
enum bench_role { BENCH_OURS, BENCH_PEER, BENCH_COMPARISON, BENCH_LIMIT };

enum { BENCH_ADD_ONE, BENCH_ADD_BATCH, BENCH_QUERY_ONE, BENCH_QUERY_BATCH, BENCH_OPERATIONS };

struct bench_contestant {
    const char *name;
    enum bench_role role;
    uint32_t variant; /* for the functions below */
    bool slow;        /* left out of the largest sizes */
    bool named;       /* takes part only where --only or --also names it */
    /* NULL where there can be none (with a reason on stderr). */
    void *(*make)(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts);
    void (*clear)(void *context); /* also touches every page */
    /* Called once with all keys of the case in it, where its size follows from them; else NULL. */
    void (*full)(void *context, struct bench_facts *facts);
    void (*release)(void *context);
    /* Before the clock starts, of each chunk: what callers of it have anyway. Or NULL. */
    void (*prepare)(void *context, const struct bench_chunk *chunk);
    bench_operation *operations[BENCH_OPERATIONS]; /* NULL: has none */
};

/* Ends with a row without a name. */
extern const struct bench_contestant bench_ours[];
extern const struct bench_contestant bench_columns[];
extern const struct bench_contestant bench_inline[];
extern const struct bench_contestant bench_kinds[];
extern const struct bench_contestant bench_libbloom[];
extern const struct bench_contestant bench_split_block[];
extern const struct bench_contestant bench_static[];
extern const struct bench_contestant bench_limits[];

/* Returns our filter of this case that has some number of blocks per key, or NULL. Limits read its
 * memory. */
const bloomery_filter *bench_our_filter(uint32_t lines);

/* Our filter for a case; ends the program where there can be none. */
bloomery_filter *bench_filter_make(const struct bench_case *wanted, bloomery_kind kind,
                                   uint32_t lines, bloomery_plan *plan);

/* The same with the facts of its row, and for many threads at once or for one. */
bloomery_filter *bench_blocked_make(const struct bench_case *wanted, uint32_t lines,
                                    bool concurrent, struct bench_facts *facts);

/* The filter of bench_our_filter for rows that query it in other ways, with its facts; NULL, with a
 * sentence on stderr, where `name` has none to query. Clearing and releasing it is its owner's. */
bloomery_filter *bench_borrow(const char *name, uint32_t lines, struct bench_facts *facts);
void bench_leave(void *context);
void bench_clear(void *context);
void bench_release(void *context);

/* Adding to and querying any of our filters: the context is a bloomery_filter. */
bench_operation bench_add_one, bench_add_batch, bench_query_one, bench_query_batch;

/* ---- Measuring ------------------------------------------------------------------------------ */

double bench_seconds(void);
void bench_pin(int processor); /* -1: any */
double bench_median(const double *values, size_t count);
/* What this process has in memory, counted page by page. */
uint64_t bench_resident_bytes(void);
/* Prints and ends the program. */
void bench_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Memory of at least `bytes` bytes that is the memory of one of our filters: same alignment, same
 * pages. */
struct bench_pages {
    bloomery_filter *filter;
    unsigned char *at;
    uint64_t bytes;
};
struct bench_pages bench_pages_make(uint64_t bytes);
void *bench_allocate(uint64_t bytes); /* small and never freed before the end: bookkeeping */

/* ---- The other measurements ------------------------------------------------------------------ */

void bench_threads(FILE *json, uint64_t keys, uint32_t threads, uint32_t parts);
void bench_open(FILE *json);
/* Of the contestants of some lists, those that `only` names (NULL: all), and of the types of key
 * those that are set (all, if none is). */
void bench_instructions(FILE *json, const struct bench_contestant *const *lists, size_t count,
                        const char *only, const bool *types);
/* Whether a list with commas has a name; NULL has none. */
bool bench_named(const char *list, const char *name);
void bench_dialect(FILE *json, uint64_t bytes, uint32_t parts);
void bench_several(FILE *json, uint64_t keys, uint32_t parts);
void bench_remove(FILE *json, uint64_t keys, uint32_t parts);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast path of blocked layers: whole batches (fast_path_template.h), and single keys of filters
 * of one layer (single_template.h), each compiled in one piece for every processor. Chains of
 * blocked layers take it layer by layer (kinds/chain.c), and so do flat filters of other systems,
 * whose batches are those of their scheme (dialects/scheme_template.h). Everything else - classic
 * filters, counters, blocks of other systems - goes through kernels/pipeline.h, to the same
 * answers.
 */
#ifndef BLOOMERY_KERNELS_FAST_PATH_H
#define BLOOMERY_KERNELS_FAST_PATH_H

#include "base/cpu.h"
#include "kernels/input.h"

/* In one layer of a filter. `answers` as in bloomery_may_contain_keys, or NULL; returns how many
 * are true. */
typedef size_t bloomery_fast_query(const bloomery_filter *filter,
                                   const struct bloomery_layer *layer,
                                   const struct bloomery_input *keys, size_t count,
                                   uint64_t *answers);

/* `answers` and `counts` as in bloomery_add_keys, or NULL. */
typedef void bloomery_fast_add(const bloomery_filter *filter, const struct bloomery_layer *layer,
                               const struct bloomery_input *keys, size_t count, uint64_t *answers,
                               bloomery_counts *counts);

/* Adds without answers, while no other thread does; returns how many bits were not set. */
typedef uint64_t bloomery_fast_add_tallied(const bloomery_filter *filter,
                                           const struct bloomery_layer *layer,
                                           const struct bloomery_input *keys, size_t count);

/* Of a level of base/cpu.h. */
struct bloomery_fast_path {
    const char *name; /* of static filters; for others the operations have it */
    bloomery_fast_query *query;
    bloomery_fast_add *add[2];              /* [1] for filters that several threads write */
    bloomery_fast_add_tallied *add_tallied; /* or NULL */
    /* XXH3-64 of keys that are named by a list or by offsets, all valid; or NULL: it is that of
     * kernels/input.h. */
    bloomery_key_hasher *hash_named;
    /* Single keys. Of filters of one layer, with XXH3-64: [0], or [1] if keys have one block, and
     * eight bits in it. [2]: of chains, and with another hash. */
    const struct bloomery_lookup *lookups;
    /* The same if keys can be added. [2]: to chains to which one thread adds. */
    const struct bloomery_addition *additions;
    const struct bloomery_addition *shared_addition; /* as [0] and [1], if several threads add */
};

extern const struct bloomery_fast_path bloomery_fast_scalar;
extern const struct bloomery_fast_path bloomery_fast_avx2;
extern const struct bloomery_fast_path bloomery_fast_avx512;
extern const struct bloomery_fast_path bloomery_fast_neon;

/* Those for this processor. */
const struct bloomery_fast_path *bloomery_fast_path_best(void);

/* ---- Static filters -------------------------------------------------------------------------- */

/* Batches of a static filter, for each processor; static_template.h has them. */

/* Of these `name`, `query` and one of `lookups` are there: no key is ever added. */
extern const struct bloomery_fast_path bloomery_static_scalar;
extern const struct bloomery_fast_path bloomery_static_avx2;
extern const struct bloomery_fast_path bloomery_static_avx512;
extern const struct bloomery_fast_path bloomery_static_vpopcntdq;
extern const struct bloomery_fast_path bloomery_static_neon;

/* Those for this processor. */
const struct bloomery_fast_path *bloomery_fast_static_best(void);

/* By the number that a filter has: those for the processors that this build knows. The first is
 * NULL. */
#if defined(__x86_64__)
enum { BLOOMERY_FAST_PATHS = 8 };
#elif defined(BLOOMERY_ARM_KERNELS)
enum { BLOOMERY_FAST_PATHS = 5 };
#else
enum { BLOOMERY_FAST_PATHS = 3 };
#endif
extern const struct bloomery_fast_path *const bloomery_fast_paths[BLOOMERY_FAST_PATHS];

#endif /* BLOOMERY_KERNELS_FAST_PATH_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full a filter is, without reading it: each add says how many bits it set, and bits make keys
 * and rates (kinds/kinds.h). And what the memory engine drops wrongly, which follows from the rate.
 */
#ifndef BLOOMERY_SIEVE_MEMORY_ENGINE_H
#define BLOOMERY_SIEVE_MEMORY_ENGINE_H

#include "kinds/filter.h"
#include "sieve/internal.h"

struct bloomery_fill_level {
    uint32_t layers;
    uint64_t bits_set;                       /* of all layers */
    uint64_t layer_bits[BLOOMERY_CHAIN_MAX]; /* of each */
    double older_keys;                       /* of all layers but the newest */
    double older_passing;                    /* ln of how often a new key passes all of them */
    /* The rate, about, as it was computed last; it is good for while the newest layer has fewer
     * bits. And rates with numbers of bits between which it lies. */
    double rate;
    uint64_t rate_until;
    uint64_t found_bits[2];
    double found_rates[2];
    /* Of the last pushes, older ones counting less and less: how many were answered NEW. Also how
     * many would have been if all had been new. */
    double fresh;
    double chances;
};

/* Begins; `scan`: reads what is in the filter, which is empty otherwise. */
void bloomery_fill_level_start(struct bloomery_fill_level *level, const bloomery_filter *filter,
                               bool scan);

/* Adds have set `new_bits` bits; the filter may have grown with them. */
void bloomery_fill_level_add(struct bloomery_fill_level *level, const bloomery_filter *filter,
                             uint64_t new_bits);

/* Distinct keys; infinity if all bits are set. */
double bloomery_fill_level_keys(const struct bloomery_fill_level *level,
                                const bloomery_filter *filter);

/* How often a new key is called seen now; and about so often, in a few ns. */
double bloomery_fill_level_rate(const struct bloomery_fill_level *level,
                                const bloomery_filter *filter);
double bloomery_fill_level_rate_about(struct bloomery_fill_level *level,
                                      const bloomery_filter *filter);

/* Goes on from counters that were kept: `fresh` of `pushes` pushes were of new keys. */
void bloomery_drops_start(struct bloomery_fill_level *level, double fresh, double pushes);

/* New keys among `pushes` that were dropped, expected: `fresh` of these were answered NEW, at this
 * rate. */
double bloomery_drops_among(struct bloomery_fill_level *level, uint64_t fresh, uint64_t pushes,
                            double rate);

/* ---- The engine ------------------------------------------------------------------------------ */

/*
 * The memory engine: a filter says at once whether a key is new.
 *
 * With a directory, the queue is its log. Each new key is appended there anyway, and keys that are
 * marked as seen are appended as entries that are not items. So the filter itself is only saved now
 * and then ("filter.G"), when more was appended since than it has bytes. Opening adds what was
 * appended since. That bounds both: saving to as many bytes as the queue's own, opening to reading
 * about the filter twice.
 */

enum { BLOOMERY_MEMORY_STATE = 40 };

struct bloomery_filter_engine {
    bloomery_filter *filter;
    struct bloomery_fill_level level;
    uint64_t keys; /* new ones that were added: marked and forced ones too */
    bool warned;
    uint64_t generation; /* of the saved filter; 0: none */
    uint64_t committed;
    struct bloomery_queue_position saved; /* what is behind it is not in the saved filter */
    uint64_t saved_number;                /* of the first entry behind it; 0: not known */
    uint64_t appended;                    /* bytes since then */
};

/* ---- An empty filter ------------------------------------------------------------------------- */

/* What the filter may take: all that queue and leases do not; 0: no limit. */
uint64_t bloomery_filter_engine_limit(const bloomery_sieve *sieve);

/* BLOOMERY_BAD_ARGUMENT if a filter of this many bytes does not fit in the sieve's memory. */
bloomery_status bloomery_filter_engine_fits(const bloomery_sieve *sieve, uint64_t bytes,
                                            bloomery_error *error);

/* Of its file. */
uint64_t bloomery_filter_engine_bytes(const bloomery_filter *filter);

/* The filter of the sieve's settings, empty. */
bloomery_status bloomery_filter_engine_create(bloomery_sieve *sieve, bloomery_error *error);

#endif /* BLOOMERY_SIEVE_MEMORY_ENGINE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full a filter is, without reading it: each add says how many bits it set, and bits make keys
 * and rates (kinds/kinds.h). And what the memory engine drops wrongly, which follows from the rate.
 */
#ifndef BLOOMERY_SIEVE_FILLED_H
#define BLOOMERY_SIEVE_FILLED_H

#include "kinds/filter.h"

struct bloomery_filled {
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
void bloomery_filled_start(struct bloomery_filled *filled, const bloomery_filter *filter,
                           bool scan);

/* Adds have set so many bits; the filter may have grown meanwhile. */
void bloomery_filled_add(struct bloomery_filled *filled, const bloomery_filter *filter,
                         uint64_t new_bits);

/* Distinct keys; infinity if all bits are set. */
double bloomery_filled_keys(const struct bloomery_filled *filled, const bloomery_filter *filter);

/* How often a new key is called seen now; and about so often, in a few ns. */
double bloomery_filled_rate(const struct bloomery_filled *filled, const bloomery_filter *filter);
double bloomery_filled_rate_about(struct bloomery_filled *filled, const bloomery_filter *filter);

/* Goes on from counters that were kept: of so many pushes so many were of new keys. */
void bloomery_drops_start(struct bloomery_filled *filled, double fresh, double pushes);

/* New keys among `pushes` that were dropped, expected: `fresh` of these were answered NEW, at this
 * rate. */
double bloomery_drops_among(struct bloomery_filled *filled, uint64_t fresh, uint64_t pushes,
                            double rate);

#endif

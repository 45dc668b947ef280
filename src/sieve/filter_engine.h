/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory engine: a filter says at once whether a key is new.
 *
 * With a directory, the queue is its log. Each new key is appended there anyway, and keys that are
 * marked as seen are appended as entries that are no items. So the filter itself is only saved now
 * and then ("filter.G"), when more was appended since than it has bytes. Opening adds what was
 * appended since. That bounds both: saving to as many bytes as the queue's own, opening to reading
 * about the filter twice.
 */
#ifndef BLOOMERY_SIEVE_FILTER_ENGINE_H
#define BLOOMERY_SIEVE_FILTER_ENGINE_H

#include "sieve/engine.h"
#include "sieve/filled.h"

enum { BLOOMERY_MEMORY_STATE = 40 };

struct bloomery_filter_engine {
    bloomery_filter *filter;
    struct bloomery_filled filled;
    uint64_t keys; /* new ones that were added: marked and forced ones too */
    bool warned;
    uint64_t generation; /* of the saved filter; 0: none */
    uint64_t committed;
    struct bloomery_queue_position saved; /* what is behind it is not in the saved filter */
    uint64_t appended;                    /* bytes since then */
};

/* ---- filter_create.c ---- */

/* What the filter may take: all that queue and leases do not; 0: no limit. */
uint64_t bloomery_filter_engine_limit(const bloomery_sieve *sieve);

/* BLOOMERY_BAD_ARGUMENT if a filter of this many bytes does not fit in the sieve's memory. */
bloomery_status bloomery_filter_engine_fits(const bloomery_sieve *sieve, uint64_t bytes,
                                            bloomery_error *error);

/* Of its file. */
uint64_t bloomery_filter_engine_bytes(const bloomery_filter *filter);

/* The filter of the sieve's settings, empty. */
bloomery_status bloomery_filter_engine_create(bloomery_sieve *sieve, bloomery_error *error);

#endif

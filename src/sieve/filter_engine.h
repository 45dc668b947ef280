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

#endif

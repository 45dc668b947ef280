/* SPDX-License-Identifier: Apache-2.0 */
/* What adding a key, many keys and a build have in common. */
#ifndef BLOOMERY_ADD_H
#define BLOOMERY_ADD_H

#include "batch/input.h"

/* BLOOMERY_OK, BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED, or BLOOMERY_UNSUPPORTED if the hash of
 * another system is not available. */
bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error);

/* The same of removing: also BLOOMERY_UNSUPPORTED if there are no counters. */
bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error);

/* As bloomery_add_keys in the calling thread, of a filter that keys can be added to, and of an
 * input that has no `valid`. `answers` and `counts` may be NULL. */
bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, bloomery_counts *counts,
                                   bloomery_error *error);

/* The same of any input: where something is not a key, the answer is 0. */
bloomery_status bloomery_add_present(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint64_t *answers, bloomery_counts *counts,
                                     bloomery_error *error);

/* As bloomery_add_keys with these threads, which were checked; positive and cells are 0. */
bloomery_status bloomery_build_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint32_t threads, bloomery_counts *counts,
                                     bloomery_error *error);

/* As bloomery_remove_keys, of a filter that keys can be removed from. */
void bloomery_remove_input(bloomery_filter *filter, const struct bloomery_input *keys, size_t count,
                           uint64_t *answers, bloomery_counts *counts);

/* A caller's keys, checked whole. */
bloomery_status bloomery_keys_read(const bloomery_filter *filter, const bloomery_keys *keys,
                                   struct bloomery_input *input, bloomery_error *error);

/* Whether a call may ask for this many threads. */
bloomery_status bloomery_threads_check(uint32_t threads, bloomery_error *error);

/* How many threads that is; at least 1. */
uint32_t bloomery_threads_of(uint32_t threads);

/* Counts keys that were added, in a concurrent filter while others do so too. */
void bloomery_count_adds(bloomery_filter *filter, uint64_t adds);

#endif

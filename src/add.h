/* SPDX-License-Identifier: Apache-2.0 */
/* What adding a key, a batch and a build have in common. */
#ifndef BLOOMERY_ADD_H
#define BLOOMERY_ADD_H

#include "batch/keys.h"

/* BLOOMERY_OK, BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED, or BLOOMERY_UNSUPPORTED if the hash of
 * another system is not available. */
bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error);

/* The same of removing: also BLOOMERY_UNSUPPORTED if there are no counters. */
bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error);

/* bloomery_add_batch of keys in any form, that says why a chain could not grow. */
bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                  size_t count, uint64_t *answers, uint64_t *new_bits,
                                  bloomery_error *error);

/* The same of hashes; `done` receives how many of them were added, the first ones. */
bloomery_status bloomery_add_hashes_until(bloomery_filter *filter, const bloomery_hash *hashes,
                                          size_t count, uint64_t *answers, uint64_t *new_bits,
                                          size_t *done);

/* The same of those keys alone that are keys (keys->valid is not NULL): the answers of the others
 * are 0. */
bloomery_status bloomery_add_valid(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, uint64_t *new_bits,
                                   bloomery_error *error);

/* A column, checked whole, as keys. */
bloomery_status bloomery_keys_read(const bloomery_filter *filter, const bloomery_keys *keys,
                                     struct bloomery_input *keys, bloomery_error *error);

/* bloomery_add_parallel of keys in any form. */
bloomery_status bloomery_build_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                    size_t count, uint32_t threads, bloomery_error *error);

/* Counts keys that were added, in a concurrent filter while others do so too. */
void bloomery_count_adds(bloomery_filter *filter, uint64_t adds);

#endif

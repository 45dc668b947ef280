/* SPDX-License-Identifier: Apache-2.0 */
/* What queries of a key and of many keys have in common. */
#ifndef BLOOMERY_QUERY_H
#define BLOOMERY_QUERY_H

#include "batch/input.h"

/* Whether hashes say where keys are; else BLOOMERY_UNSUPPORTED. */
bloomery_status bloomery_can_take_hashes(const bloomery_filter *filter, bloomery_error *error);

/* Whether keys can be hashed, too: BLOOMERY_SECRET_NEEDED. */
bloomery_status bloomery_can_hash(const bloomery_filter *filter, bloomery_error *error);

/* `answers` as in bloomery_may_contain_keys; how many are true. All of them are keys. */
size_t bloomery_query_input(const bloomery_filter *filter, const struct bloomery_input *keys,
                            size_t count, uint64_t *answers);

/* The same of any input: where something is not a key, the answer is 0. */
size_t bloomery_query_present(const bloomery_filter *filter, const struct bloomery_input *keys,
                              size_t count, uint64_t *answers);

#endif

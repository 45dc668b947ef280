/* SPDX-License-Identifier: Apache-2.0 */
/* What queries by batches and by columns have in common. */
#ifndef BLOOMERY_QUERY_H
#define BLOOMERY_QUERY_H

#include "batch/keys.h"

/* `answers` as in bloomery_may_contain_batch; how many are true. */
size_t bloomery_query_input(const bloomery_filter *filter, const struct bloomery_input *keys,
                           size_t count, uint64_t *answers);

#endif

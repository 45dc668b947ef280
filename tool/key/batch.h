/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of keys, as an address and a length each, for calls that cannot fail. */
#ifndef BLOOMERY_TOOL_BATCH_H
#define BLOOMERY_TOOL_BATCH_H

#include <bloomery/bloomery.h>

#include <stddef.h>
#include <stdint.h>

/* Returns how many of the keys the filter may have. Bit i & 63 of word i >> 6 of `answers`, which
 * may be NULL, is set for these. A filter that was opened without its secret may have every key,
 * and so the status says nothing more. */
static inline size_t tool_batch_query(const bloomery_filter *filter, const bloomery_key *list,
                                      size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts;
    (void)bloomery_may_contain_keys(filter, &keys, answers, &counts, NULL);
    return counts.positive;
}

/* Hashes the keys. BLOOMERY_UNSUPPORTED if they have positions and no hash, as in some filters of
 * other systems. */
static inline bloomery_status tool_batch_hash(const bloomery_filter *filter,
                                              const bloomery_key *list, size_t count,
                                              bloomery_hash *hashes)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    return bloomery_hash_keys(filter, &keys, hashes, NULL);
}

#endif /* BLOOMERY_TOOL_BATCH_H */

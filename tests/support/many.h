/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms of calls that most tests make: lists of keys, hashes, facts. */
#ifndef BLOOMERY_TESTS_MANY_H
#define BLOOMERY_TESTS_MANY_H

#include <bloomery/bloomery.h>

/* Adds a list of keys; `answers` may be NULL. */
static inline bloomery_status add_list(bloomery_filter *filter, const bloomery_key *list,
                                       size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    return bloomery_add_keys(filter, &keys, answers, NULL, NULL);
}

/* Adds a list of keys and returns how many bits (counters) left 0; 0 on failure. */
static inline uint64_t add_list_cells(bloomery_filter *filter, const bloomery_key *list,
                                      size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts = {0, 0, 0};
    bloomery_add_keys(filter, &keys, answers, &counts, NULL);
    return counts.cells;
}

/* Adds a list of keys with several threads. */
static inline bloomery_status add_list_threads(bloomery_filter *filter, const bloomery_key *list,
                                               size_t count, uint32_t threads,
                                               bloomery_error *error)
{
    bloomery_keys keys = bloomery_keys_of_list(list, count);
    keys.threads = threads;
    return bloomery_add_keys(filter, &keys, NULL, NULL, error);
}

/* Returns how many keys of a list may be in the filter; `answers` may be NULL. */
static inline size_t query_list(const bloomery_filter *filter, const bloomery_key *list,
                                size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts = {0, 0, 0};
    bloomery_may_contain_keys(filter, &keys, answers, &counts, NULL);
    return counts.positive;
}

/* Hashes a list of keys. */
static inline bloomery_status hash_list(const bloomery_filter *filter, const bloomery_key *list,
                                        size_t count, bloomery_hash *hashes)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    return bloomery_hash_keys(filter, &keys, hashes, NULL);
}

static inline bloomery_status add_hashes(bloomery_filter *filter, const bloomery_hash *hashes,
                                         size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
    return bloomery_add_keys(filter, &keys, answers, NULL, NULL);
}

static inline size_t query_hashes(const bloomery_filter *filter, const bloomery_hash *hashes,
                                  size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
    bloomery_counts counts = {0, 0, 0};
    bloomery_may_contain_keys(filter, &keys, answers, &counts, NULL);
    return counts.positive;
}

/* The status of adding a key: BLOOMERY_OK, or why it could not be added. */
static inline bloomery_status add_status(bloomery_filter *filter, bloomery_key key)
{
    bloomery_error error;
    error.status = BLOOMERY_OK;
    return bloomery_add(filter, key, &error) ? BLOOMERY_OK : error.status;
}

/* The status of removing a key that is there or not. */
static inline bloomery_status remove_status(bloomery_filter *filter, bloomery_key key)
{
    bloomery_error error;
    error.status = BLOOMERY_OK;
    return bloomery_remove(filter, key, &error) ? BLOOMERY_OK : error.status;
}

static inline bloomery_info info_of(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    return info;
}

static inline bloomery_scan_result scan_of(const bloomery_filter *filter)
{
    bloomery_scan_result result = BLOOMERY_SCAN_RESULT;
    bloomery_scan(filter, &result);
    return result;
}

#endif /* BLOOMERY_TESTS_MANY_H */

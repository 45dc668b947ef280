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

/* Adds a list of keys; `bits` receives how many bits (counters) left 0. */
static inline bloomery_status add_list_bits(bloomery_filter *filter, const bloomery_key *list,
                                            size_t count, uint64_t *answers, uint64_t *bits)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_add_keys(filter, &keys, answers, &counts, NULL);
    *bits = counts.cells;
    return status;
}

/* Adds keys of any form; `bits` receives how many bits (counters) left 0. */
static inline bloomery_status add_keys_bits(bloomery_filter *filter, const bloomery_keys *keys,
                                            uint64_t *answers, uint64_t *bits,
                                            bloomery_error *error)
{
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_add_keys(filter, keys, answers, &counts, error);
    *bits = counts.cells;
    return status;
}

/* Adds keys of any form with several threads. */
static inline bloomery_status add_keys_threads(bloomery_filter *filter, const bloomery_keys *keys,
                                               uint32_t threads, bloomery_error *error)
{
    bloomery_keys with = *keys;
    with.threads = threads;
    return bloomery_add_keys(filter, &with, NULL, NULL, error);
}

/* Queries keys of any form; `found` receives how many may be in the filter. */
static inline bloomery_status query_keys(const bloomery_filter *filter, const bloomery_keys *keys,
                                         uint64_t *answers, size_t *found, bloomery_error *error)
{
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_may_contain_keys(filter, keys, answers, &counts, error);
    *found = counts.positive;
    return status;
}

/* Removes keys of any form; `removed` receives how many were removed. */
static inline bloomery_status remove_keys(bloomery_filter *filter, const bloomery_keys *keys,
                                          uint64_t *answers, size_t *removed, bloomery_error *error)
{
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_remove_keys(filter, keys, answers, &counts, error);
    *removed = counts.positive;
    return status;
}

/*
 * What a call for one key did, as one number: one of these, or the status of a failure, which is
 * below 0. The error begins with a status that no call gives, so a call that returns false and
 * forgets to write one shows.
 */
enum { WAS_NEW = 1, WAS_SEEN = 0, WAS_REMOVED = 1, WAS_ABSENT = 0, WAS_SILENT = -1000 };

static inline int add_outcome(bloomery_filter *filter, bloomery_key key)
{
    bloomery_error error;
    error.status = (bloomery_status)WAS_SILENT;
    return bloomery_add(filter, key, &error) ? WAS_NEW : (int)error.status;
}

static inline int add_hash_outcome(bloomery_filter *filter, bloomery_hash hash)
{
    bloomery_error error;
    error.status = (bloomery_status)WAS_SILENT;
    return bloomery_add_hash(filter, hash, &error) ? WAS_NEW : (int)error.status;
}

static inline int remove_outcome(bloomery_filter *filter, bloomery_key key)
{
    bloomery_error error;
    error.status = (bloomery_status)WAS_SILENT;
    return bloomery_remove(filter, key, &error) ? WAS_REMOVED : (int)error.status;
}

/* The same by the calls for many keys, which say how many bits (counters) became or ceased to be 0.
 */
static inline int add_one(bloomery_filter *filter, bloomery_key key, uint64_t *bits)
{
    const bloomery_keys keys = bloomery_keys_of_list(&key, 1);
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_add_keys(filter, &keys, NULL, &counts, NULL);
    *bits = counts.cells;
    return status == BLOOMERY_OK ? (int)counts.positive : (int)status;
}

static inline int remove_one(bloomery_filter *filter, bloomery_key key, uint64_t *bits)
{
    const bloomery_keys keys = bloomery_keys_of_list(&key, 1);
    bloomery_counts counts = {0, 0, 0};
    const bloomery_status status = bloomery_remove_keys(filter, &keys, NULL, &counts, NULL);
    *bits = counts.cells;
    return status == BLOOMERY_OK ? (int)counts.positive : (int)status;
}

/* The status of adding a key: BLOOMERY_OK, or why it could not be added. */
static inline int add_status(bloomery_filter *filter, bloomery_key key)
{
    const int outcome = add_outcome(filter, key);
    return outcome == WAS_NEW ? (int)BLOOMERY_OK : outcome;
}

static inline int add_hash_status(bloomery_filter *filter, bloomery_hash hash)
{
    const int outcome = add_hash_outcome(filter, hash);
    return outcome == WAS_NEW ? (int)BLOOMERY_OK : outcome;
}

/* The status of removing a key that is there or not. */
static inline int remove_status(bloomery_filter *filter, bloomery_key key)
{
    const int outcome = remove_outcome(filter, key);
    return outcome == WAS_REMOVED ? (int)BLOOMERY_OK : outcome;
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

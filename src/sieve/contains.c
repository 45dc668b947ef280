/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether keys were seen: the calls. Keys are brought into their form and hashed without the lock,
 * in portions that fit on the stack. Then the engine answers all of them under one lock, so that
 * what it reads for one serves the others. The hashes of more than a portion lie in memory of their
 * own; if there is none, a portion at a time will do.
 */
#include "base/error.h"
#include "base/memory.h"
#include "sieve/engine.h"

#include <assert.h>

/* Forms and hashes of the first keys, as many as are done together: `*done`. */
static bloomery_status hash_portion(const bloomery_sieve *sieve, const bloomery_key *keys,
                                    size_t count, bloomery_hash *hashes, size_t *done,
                                    bloomery_error *error)
{
    struct bloomery_entry entries[BLOOMERY_SIEVE_PORTION];
    bloomery_key forms[BLOOMERY_SIEVE_PORTION];
    uint8_t stack[BLOOMERY_CANON_STACK];
    uint8_t *own = NULL;
    size_t bytes = 0;
    *done = bloomery_sieve_fitting(sieve, keys, count, &bytes);
    assert(*done > 0 && *done <= BLOOMERY_SIEVE_PORTION); /* lengths have been checked */
    assert(sieve->canonicaliser == NULL || bytes <= sizeof stack || *done == 1);
    for (size_t i = 0; i < *done; i++)
        entries[i] = (struct bloomery_entry){keys[i], bloomery_key_of("", 0), 0};
    if (sieve->canonicaliser != NULL) {
        /* One long key. Not counted in sieve->store, which the lock is for. */
        if (bytes > sizeof stack && !(own = bloomery_allocate(&sieve->allocator, bytes, 64)))
            return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                                 "no memory for a key of %zu bytes", keys[0].bytes);
        bloomery_sieve_canonicalise(sieve, own != NULL ? own : stack, entries, *done);
    }
    for (size_t i = 0; i < *done; i++)
        forms[i] = entries[i].key;
    sieve->engine->hash(sieve, forms, *done, hashes);
    bloomery_release(&sieve->allocator, own, bytes, 64);
    return BLOOMERY_OK;
}

static bloomery_status hash_all(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                                bloomery_hash *hashes, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    size_t some = 0;
    for (size_t at = 0; status == BLOOMERY_OK && at < count; at += some)
        status = hash_portion(sieve, keys + at, count - at, hashes + at, &some, error);
    return status;
}

/* `most` keys at a time, for which there is room. */
static bloomery_status query(bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                             bloomery_hash *hashes, uint64_t *room, size_t most, uint8_t *results,
                             bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    size_t some = 0;
    for (size_t at = 0; status == BLOOMERY_OK && at < count; at += some) {
        some = count - at < most ? count - at : most;
        assert(some > 0 && some <= BLOOMERY_CONTAINS_MAX);
        status = hash_all(sieve, keys + at, some, hashes, error);
        if (status != BLOOMERY_OK)
            return status;
        pthread_mutex_lock(&sieve->mutex);
        status = sieve->engine->contains(sieve, hashes, some, room, results + at, error);
        pthread_mutex_unlock(&sieve->mutex);
    }
    return status;
}

bloomery_status bloomery_sieve_contains(bloomery_sieve *sieve, const bloomery_key *keys,
                                        size_t count, uint8_t *results, bloomery_error *error)
{
    bloomery_hash few[BLOOMERY_SIEVE_PORTION];
    uint64_t few_words[BLOOMERY_SIEVE_PORTION];
    const size_t most = count < BLOOMERY_CONTAINS_MAX ? count : BLOOMERY_CONTAINS_MAX;
    const size_t bytes = most * (sizeof(bloomery_hash) + sizeof(uint64_t));
    bloomery_hash *many = NULL;
    /* All before the first: a key that is too long must not be found half way. */
    for (size_t i = 0; i < count; i++) {
        const struct bloomery_entry entry = {keys[i], bloomery_key_of("", 0), 0};
        const bloomery_status status = bloomery_sieve_check_lengths(&entry, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    if (count > BLOOMERY_SIEVE_PORTION)
        many = bloomery_allocate(&sieve->allocator, bytes, 64);
    if (many == NULL)
        return query(sieve, keys, count, few, few_words, BLOOMERY_SIEVE_PORTION, results, error);
    const bloomery_status status =
        query(sieve, keys, count, many, (uint64_t *)(many + most), most, results, error);
    bloomery_release(&sieve->allocator, many, bytes, 64);
    return status;
}

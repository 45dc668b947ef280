/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms of calls with one key: what became of it, NEW, SEEN or PENDING, or a status. */
#ifndef BLOOMERY_TESTS_SIEVE_KEYS_H
#define BLOOMERY_TESTS_SIEVE_KEYS_H

#include <bloomery/sieve.h>

static inline int push_key_as(bloomery_sieve *sieve, bloomery_sieve_push_mode mode,
                              const bloomery_key *key, const bloomery_key *payload,
                              uint64_t *number, bloomery_error *error)
{
    uint8_t result = 0;
    bloomery_sieve_pushed pushed = {0, 0};
    const bloomery_status status =
        bloomery_sieve_push(sieve, key, payload, 1, mode, &result, &pushed, error);
    if (number != NULL && pushed.done == 1)
        *number = pushed.last;
    return status == BLOOMERY_OK ? (int)result : (int)status;
}

/* `number`, unless NULL, becomes that of the push, if it was made. */
static inline int push_key(bloomery_sieve *sieve, bloomery_key key, bloomery_key payload,
                           uint64_t *number, bloomery_error *error)
{
    return push_key_as(sieve, BLOOMERY_SIEVE_PUSH, &key, &payload, number, error);
}

static inline int push_key_again(bloomery_sieve *sieve, bloomery_key key, bloomery_key payload,
                                 uint64_t *number, bloomery_error *error)
{
    return push_key_as(sieve, BLOOMERY_SIEVE_PUSH_AGAIN, &key, &payload, number, error);
}

static inline int mark_key(bloomery_sieve *sieve, bloomery_key key, uint64_t *number,
                           bloomery_error *error)
{
    return push_key_as(sieve, BLOOMERY_SIEVE_PUSH_MARK, &key, NULL, number, error);
}

static inline int query_key(bloomery_sieve *sieve, bloomery_key key, bloomery_error *error)
{
    uint8_t result = 0;
    const bloomery_status status = bloomery_sieve_contains(sieve, &key, 1, &result, error);
    return status == BLOOMERY_OK ? (int)result : (int)status;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 with 128 bits of output, of libsodium. Without the key nobody can choose keys that
 * collide, so it is what a filter needs whose keys come from strangers. Built without libsodium,
 * keyed filters can be opened for inspection only.
 */
#include "hash/hashes.h"

#include "base/bytes.h"

#ifdef BLOOMERY_HAVE_SODIUM

#include <sodium/crypto_shorthash_siphash24.h>

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    uint8_t output[crypto_shorthash_siphashx24_BYTES];
    crypto_shorthash_siphashx24(output, key.data, key.bytes, secret->key);
    return (bloomery_hash){.lo = bloomery_load_u64(output), .hi = bloomery_load_u64(output + 8)};
}

static const bool available = true;

#else

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    (void)key;
    return (bloomery_hash){0, 0}; /* never called: the row says that it is not available */
}

static const bool available = false;

#endif

static void many(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = one(secret, keys[i]);
}

const struct bloomery_hash_row bloomery_hash_siphash = {
    BLOOMERY_HASH_NAMED(siphash), .keyed = true, .available = available, .one = one, .many = many,
};

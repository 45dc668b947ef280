/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 with 128 bits of output, of libsodium. Without the secret it is infeasible to choose
 * keys that collide, so filters whose keys come from strangers need it. In a build without
 * libsodium, keyed filters can only be opened for inspection.
 */
#include "hash/hashes.h"

#include "base/bytes.h"

#ifdef BLOOMERY_HAVE_SODIUM

#include <sodium/crypto_shorthash_siphash24.h>

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    uint8_t output[crypto_shorthash_siphashx24_BYTES];
    crypto_shorthash_siphashx24(output, key.data, key.bytes, secret->siphash);
    return (bloomery_hash){.lo = bloomery_load_u64(output), .hi = bloomery_load_u64(output + 8)};
}

static const bool available = true;

#else

#include <assert.h>

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    (void)key;
    assert(false); /* the row says that it is not available */
    return (bloomery_hash){0, 0};
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
    .id = BLOOMERY_HASH_SIPHASH,
    .name = "siphash",
    .keyed = true,
    .available = available,
    .one = one,
    .many = many,
};

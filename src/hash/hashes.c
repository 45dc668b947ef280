/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/hashes.h"

#include "base/bytes.h"
#include "base/system.h"

#include <assert.h>
#include <string.h>

const struct bloomery_hash_row *bloomery_hash_find(uint32_t id)
{
    switch (id) {
    case BLOOMERY_HASH_XXH3_64:
        return &bloomery_hash_xxh3_64;
    case BLOOMERY_HASH_XXH3_128:
        return &bloomery_hash_xxh3_128;
    case BLOOMERY_HASH_SIPHASH:
        return &bloomery_hash_siphash;
    default:
        return NULL;
    }
}

bool bloomery_hash_usable(const struct bloomery_hash_row *hash)
{
    assert(hash->one != NULL || hash->positions != NULL);
    return hash->available && (hash->ready == NULL || hash->ready());
}

void bloomery_hash_many(const struct bloomery_hash_row *hash,
                        const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                        size_t count, bloomery_hash *hashes)
{
    assert(hash->available && hash->positions == NULL && hash->one != NULL);
    if (hash->many != NULL) {
        hash->many(secret, keys, count, hashes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash->one(secret, keys[i]);
}

uint64_t bloomery_secret_fingerprint(const uint8_t secret[BLOOMERY_SECRET_BYTES])
{
    /* A hash of a fixed text under the secret. A secret that hashes it to 0 (one in 2^64) shares
     * its fingerprint with one that hashes it to 1, since 0 means "not keyed" in files. */
    static const char text[] = "bloomery key fingerprint 1";
    struct bloomery_hash_secret under = {.seed = 0};
    memcpy(under.siphash, secret, sizeof under.siphash);
    assert(bloomery_hash_siphash.available);
    uint64_t fingerprint =
        bloomery_hash_siphash.one(&under, bloomery_key_of(text, sizeof text - 1)).lo;
    bloomery_wipe(&under, sizeof under);
    return fingerprint != 0 ? fingerprint : 1;
}

bool bloomery_secret_draw(uint8_t secret[BLOOMERY_SECRET_BYTES])
{
    return bloomery_random(secret, BLOOMERY_SECRET_BYTES);
}

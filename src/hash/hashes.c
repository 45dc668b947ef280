/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/hashes.h"

#include <string.h>
#include <sys/random.h>

const struct bloomery_hash_row *bloomery_hash_find(uint32_t id)
{
    static const struct bloomery_hash_row *const rows[] = {
        &bloomery_hash_xxh3,
        &bloomery_hash_siphash,
        &bloomery_hash_murmur3,
        &bloomery_hash_murmur64a,
        &bloomery_hash_murmur2,
        &bloomery_hash_fnv1_modulo,
        &bloomery_hash_murmur3_twice,
        &bloomery_hash_city64_pair,
        &bloomery_hash_city64,
        &bloomery_hash_fmix64,
        &bloomery_hash_murmur3_cassandra,
        &bloomery_hash_murmur3_cassandra_swapped,
        &bloomery_hash_orc_bytes,
        &bloomery_hash_orc_long,
        &bloomery_hash_spark_pair,
        &bloomery_hash_xxh64,
        &bloomery_hash_leveldb,
        &bloomery_hash_rocksdb_legacy,
        &bloomery_hash_xxph3,
        &bloomery_hash_sha384_slices,
        &bloomery_hash_simple_seven,
        &bloomery_hash_simple_six,
        &bloomery_hash_md5_chain_a,
        &bloomery_hash_md5_chain_b,
        &bloomery_hash_md5_chain_c,
        &bloomery_hash_md5_chain_d,
        &bloomery_hash_md5_chain_e,
        &bloomery_hash_md5_chain_f,
        &bloomery_hash_md5_chain_g,
        &bloomery_hash_pybloom_3,
        &bloomery_hash_pybloom_4,
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((uint32_t)rows[i]->id == id)
            return rows[i];
    return NULL;
}

bool bloomery_hash_usable(const struct bloomery_hash_row *hash)
{
    return hash->available && (hash->ready == NULL || hash->ready());
}

void bloomery_hash_many(const struct bloomery_hash_row *hash,
                        const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                        size_t count, bloomery_hash *hashes)
{
    if (hash->many != NULL) {
        hash->many(secret, keys, count, hashes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash->one(secret, keys[i]);
}

uint64_t bloomery_key_fingerprint(const uint8_t key[BLOOMERY_KEY_BYTES])
{
    /* A hash of a fixed text under the key. A key that hashes it to 0 (one in 2^64) shares its
     * fingerprint with one that hashes it to 1: 0 means "not keyed" in files. */
    static const char text[] = "bloomery key fingerprint 1";
    struct bloomery_hash_secret secret = {.seed = 0};
    for (size_t i = 0; i < sizeof secret.key; i++)
        secret.key[i] = key[i];
    uint64_t fingerprint =
        bloomery_hash_siphash.one(&secret, bloomery_key_of(text, sizeof text - 1)).lo;
    explicit_bzero(&secret, sizeof secret);
    return fingerprint != 0 ? fingerprint : 1;
}

bool bloomery_key_draw(uint8_t key[BLOOMERY_KEY_BYTES])
{
    return getrandom(key, BLOOMERY_KEY_BYTES, 0) == BLOOMERY_KEY_BYTES;
}

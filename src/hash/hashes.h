/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key bytes in, 128 bits out. One file per hash, one row here:
 *
 *   id  name      keyed  what
 *   1   xxh3      no     XXH3, 128 bits, with a 64-bit seed; {lo, hi} are low64 and high64
 *   2   siphash   yes    SipHash-2-4, 128 bits; {lo, hi} are bytes 0-7 and 8-15, little-endian
 *
 * The ids stand in files.
 */
#ifndef BLOOMERY_HASH_HASHES_H
#define BLOOMERY_HASH_HASHES_H

#include <bloomery/bloomery.h>

/* What turns the public function into this filter's own. */
struct bloomery_hash_secret {
    uint64_t seed;
    uint8_t key[BLOOMERY_KEY_BYTES];
};

struct bloomery_hash_row {
    bloomery_hash_id id;
    const char *name;
    bool keyed;
    bool available; /* in this build */
    bloomery_hash (*one)(const struct bloomery_hash_secret *secret, bloomery_key key);
    void (*many)(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes);
};

extern const struct bloomery_hash_row bloomery_hash_xxh3;
extern const struct bloomery_hash_row bloomery_hash_siphash;

/* XXH3 of a key of any length, as a call. */
bloomery_hash bloomery_xxh3_any(const struct bloomery_hash_secret *secret, bloomery_key key);

/* What `many` of XXH3 is on a processor with AVX2 or AVX-512. */
void bloomery_xxh3_many_avx2(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                             size_t count, bloomery_hash *hashes);
void bloomery_xxh3_many_avx512(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                               size_t count, bloomery_hash *hashes);

/* NULL for an unknown id. */
const struct bloomery_hash_row *bloomery_hash_find(uint32_t id);

/* 64 bits that tell keys apart without telling the key; never 0. Only where siphash is available.
 */
uint64_t bloomery_key_fingerprint(const uint8_t key[BLOOMERY_KEY_BYTES]);

/* Draws a key from the kernel's generator. false: it has none to give. */
bool bloomery_key_draw(uint8_t key[BLOOMERY_KEY_BYTES]);

/* The checksum of files: XXH3-64. */
uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Key bytes in, 64 or 128 bits out. A hash is a row. */
#ifndef BLOOMERY_HASH_HASHES_H
#define BLOOMERY_HASH_HASHES_H

#include <bloomery/bloomery.h>

/* What hash/xxh3.h makes of a seed. */
struct bloomery_short_secret {
    uint64_t flip[3];
};

/* What turns a public hash function into this filter's own. The seed comes last: those of other
 * systems read nothing else, and a filter with one of them has nothing else (kinds/filter.h). */
struct bloomery_hash_secret {
    union {
        uint8_t siphash[BLOOMERY_SECRET_BYTES]; /* of a keyed filter */
        struct bloomery_short_secret brief;     /* of a filter with XXH3-64 */
    };
    uint64_t seed;
};

struct bloomery_hash_row {
    uint32_t id;
    const char *name;
    bool keyed;
    bool available; /* in this build */
    bloomery_hash (*one)(const struct bloomery_hash_secret *secret, bloomery_key key);
    /* NULL: `one`, key by key. */
    void (*many)(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes);
    /* If 128 bits are not enough (`one` and `many` are NULL then): the key's positions in `cells`
     * cells, `probes` of them, each below `cells`. */
    void (*positions)(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                      uint32_t probes, uint64_t *positions);
    /* Whether it has positions for such an array; NULL: always. */
    bool (*fits)(uint64_t cells, uint32_t probes);
    /* Whether it can be computed on this machine, if a library has to be found first; NULL: if
     * `available`. */
    bool (*ready)(void);
};

/*
 * Our own hashes. The ids stand in files and are never renumbered. What they make of keys:
 *
 *     xxh3_64         {lo, hi} are 0 and XXH3, 64 bits, with a 64-bit seed
 *     xxh3_128        {lo, hi} are low64 and high64 of XXH3, 128 bits
 *     siphash         SipHash-2-4, 128 bits, keyed: bytes 0-7 and 8-15, little-endian
 *
 * Those of other systems have ids from BLOOMERY_HASH_FOREIGN on, and rows that nothing here knows
 * (kinds/kinds.h).
 */
extern const struct bloomery_hash_row bloomery_hash_xxh3_64;
extern const struct bloomery_hash_row bloomery_hash_xxh3_128;
extern const struct bloomery_hash_row bloomery_hash_siphash;

enum { BLOOMERY_HASH_FOREIGN = 16 };

/* XXH3 of two pieces of bytes, one behind the other, with seed 0. */
bloomery_hash bloomery_xxh3_salted(const void *salt, size_t salt_bytes, const void *data,
                                   size_t bytes);

/* Of our own hashes; NULL for another id. */
const struct bloomery_hash_row *bloomery_hash_find(uint32_t id);

/* Whether keys can be hashed: in this build, and on this machine. */
bool bloomery_hash_usable(const struct bloomery_hash_row *hash);

/* `many` of hashes that are computed key by key. */
void bloomery_hash_many(const struct bloomery_hash_row *hash,
                        const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                        size_t count, bloomery_hash *hashes);

/* 64 bits that tell secrets apart without revealing the secret; never 0. Only if siphash is
 * available. */
uint64_t bloomery_secret_fingerprint(const uint8_t secret[BLOOMERY_SECRET_BYTES]);

/* Draws a secret from the kernel's generator. false: it has none to give. */
bool bloomery_secret_draw(uint8_t secret[BLOOMERY_SECRET_BYTES]);

/* The checksum of files: XXH3-64. */
uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed);

#endif

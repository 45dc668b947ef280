/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key bytes in, 128 bits out. One file per hash, one row here:
 *
 *   id  name      keyed  what
 *   1   xxh3      no     XXH3, 128 bits, with a 64-bit seed; {lo, hi} are low64 and high64
 *   2   siphash   yes    SipHash-2-4, 128 bits; {lo, hi} are bytes 0-7 and 8-15, little-endian
 *
 *
 * From 16 on, of other systems (src/dialect), their seed in `seed`:
 *
 *   16  murmur3-x64-128    {lo, hi} are its h1 and h2
 *   17  murmur3-cassandra  the same with the last bytes sign-extended
 *   18  city64-pair        CityHash 1.0.2 with the seed, and with 845897321 seed + 217728422
 *   19  city64             lo: CityHash 1.0.2
 *   20  fmix64             lo: murmur3's finaliser of a number of 1 to 8 bytes, little-endian; of 16
 *                          and 32 bytes: of its words XORed, but for the last one of four
 *   21  murmur64a-pair     lo: MurmurHash64A with seed 0xc6a4a7935bd1e995; hi: with seed lo
 *   22  murmur2-pair       lo: MurmurHash2 with seed 0x9747b28c; hi: with seed lo; 32 bits each
 *   23  xxh64              lo: XXH64
 *   24  fnv1-modulo        lo: FNV-1 modulo 2^64 - 59
 *   25  leveldb            lo: its hash, seed 0xbc9f1d34; 32 bits
 *   26  rocksdb-legacy     the same with the last bytes sign-extended
 *   27  xxph3              lo: the preview of XXH3 that RocksDB kept
 *   28  orc-bytes          lo: one lane of murmur3
 *   29  orc-long           lo: Wang's mix of a number of 8 bytes, little-endian
 *   30  spark-pair         murmur3 x86 32 with a tail of its own: lo, and with that as seed, lo >> 32
 *   31  bits-and-blooms    positions: two murmur3 x64 128 of key and key 0x01
 *   32  sha384-slices      positions: 28 bits of each 32 of SHA-384
 *   33  simple-hash        positions: h = seed h + c, seeds 5 7 11 13 31 37 61, c units of UTF-16
 *   34  simple-hash-six    seeds 7 11 13 31 37 61
 *   35  md5-chain-a        positions: a chain of MD5 digests divided by m; formats of its seven
 *   ..  md5-chain-b .. g   releases (41: g)
 *   42  pybloom-3          positions: chunks of salted digests, MD5 where they fit in 128 bits
 *   43  pybloom-4          the same with XXH3-128 there
 *   44  murmur3-cassandra-swapped  those of 17 in the other order
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
    /* NULL: `one`, key by key. */
    void (*many)(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes);
    /* Where 128 bits are not enough (`one` and `many` are NULL then): the key's positions in `cells`
     * cells, `probes` of them, each below `cells`. */
    void (*positions)(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                      uint32_t probes, uint64_t *positions);
    /* Whether it has positions for such an array; NULL: always. */
    bool (*fits)(uint64_t cells, uint32_t probes);
    /* Whether it can be computed on this machine, where a library has to be found first; NULL: where
     * `available`. */
    bool (*ready)(void);
};

/* Hashes of other systems have numbers from here on. */
enum { BLOOMERY_HASH_FOREIGN = 16 };

extern const struct bloomery_hash_row bloomery_hash_xxh3;
extern const struct bloomery_hash_row bloomery_hash_siphash;
extern const struct bloomery_hash_row bloomery_hash_murmur3;
extern const struct bloomery_hash_row bloomery_hash_murmur64a;
extern const struct bloomery_hash_row bloomery_hash_murmur2;
extern const struct bloomery_hash_row bloomery_hash_fnv1_modulo;
extern const struct bloomery_hash_row bloomery_hash_murmur3_twice;
extern const struct bloomery_hash_row bloomery_hash_city64_pair;
extern const struct bloomery_hash_row bloomery_hash_city64;
extern const struct bloomery_hash_row bloomery_hash_fmix64;
extern const struct bloomery_hash_row bloomery_hash_murmur3_cassandra;
extern const struct bloomery_hash_row bloomery_hash_murmur3_cassandra_swapped;
extern const struct bloomery_hash_row bloomery_hash_orc_bytes;
extern const struct bloomery_hash_row bloomery_hash_orc_long;
extern const struct bloomery_hash_row bloomery_hash_spark_pair;
extern const struct bloomery_hash_row bloomery_hash_xxh64;
extern const struct bloomery_hash_row bloomery_hash_leveldb;
extern const struct bloomery_hash_row bloomery_hash_rocksdb_legacy;
extern const struct bloomery_hash_row bloomery_hash_xxph3;

extern const struct bloomery_hash_row bloomery_hash_md5_chain_a;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_b;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_c;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_d;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_e;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_f;
extern const struct bloomery_hash_row bloomery_hash_md5_chain_g;
extern const struct bloomery_hash_row bloomery_hash_pybloom_3;
extern const struct bloomery_hash_row bloomery_hash_pybloom_4;
extern const struct bloomery_hash_row bloomery_hash_sha384_slices;
extern const struct bloomery_hash_row bloomery_hash_simple_seven;
extern const struct bloomery_hash_row bloomery_hash_simple_six;

/* XXH3 of two pieces of bytes, one behind the other, with seed 0. */
bloomery_hash bloomery_xxh3_salted(const void *salt, size_t salt_bytes, const void *data,
                                   size_t bytes);

/* XXH3 of a key of any length, as a call. */
bloomery_hash bloomery_xxh3_any(const struct bloomery_hash_secret *secret, bloomery_key key);

/* What `many` of XXH3 is on a processor with AVX2 or AVX-512. */
void bloomery_xxh3_many_avx2(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                             size_t count, bloomery_hash *hashes);
void bloomery_xxh3_many_avx512(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                               size_t count, bloomery_hash *hashes);

/* NULL for an unknown id. */
const struct bloomery_hash_row *bloomery_hash_find(uint32_t id);

/* Whether keys can be hashed: in this build, and on this machine. */
bool bloomery_hash_usable(const struct bloomery_hash_row *hash);

/* `many` of hashes that are computed key by key. */
void bloomery_hash_many(const struct bloomery_hash_row *hash,
                        const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                        size_t count, bloomery_hash *hashes);

/* 64 bits that tell keys apart without telling the key; never 0. Only where siphash is available.
 */
uint64_t bloomery_key_fingerprint(const uint8_t key[BLOOMERY_KEY_BYTES]);

/* Draws a key from the kernel's generator. false: it has none to give. */
bool bloomery_key_draw(uint8_t key[BLOOMERY_KEY_BYTES]);

/* The checksum of files: XXH3-64. */
uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed);

#endif

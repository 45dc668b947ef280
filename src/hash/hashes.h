/* SPDX-License-Identifier: Apache-2.0 */
/* Key bytes in, 64 or 128 bits out. One file per hash, one row in the list below. */
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
    bloomery_hash_id id;
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
 * Every hash: ROW(id, variable, name). The ids stand in files and are never renumbered; from 16 on
 * they are those of other systems (src/dialect), with their seed in `seed`. What they make of keys:
 *
 *   xxh3_64         {lo, hi} are 0 and XXH3, 64 bits, with a 64-bit seed
 *   xxh3_128        {lo, hi} are low64 and high64 of XXH3, 128 bits
 *   siphash         SipHash-2-4, 128 bits, keyed: bytes 0-7 and 8-15, little-endian
 *
 *   murmur3         {lo, hi} are its h1 and h2
 *   murmur3_cassandra   the same with the last bytes sign-extended; swapped: in the other order
 *   city64_pair     CityHash 1.0.2 with the seed, and with 845897321 seed + 217728422
 *   city64          lo: CityHash 1.0.2
 *   fmix64          lo: murmur3's finaliser of a number of 1 to 8 bytes, little-endian; of 16 and
 *                   32 bytes: of its words XORed, but for the last one of four
 *   murmur64a       lo: MurmurHash64A with seed 0xc6a4a7935bd1e995; hi: with seed lo
 *   murmur2         lo: MurmurHash2 with seed 0x9747b28c; hi: with seed lo; 32 bits each
 *   xxh64           lo: XXH64
 *   fnv1_modulo     lo: FNV-1 modulo 2^64 - 59
 *   leveldb         lo: its hash, seed 0xbc9f1d34; 32 bits
 *   rocksdb_legacy  the same with the last bytes sign-extended
 *   xxph3           lo: the preview of XXH3 that RocksDB kept
 *   orc_bytes       lo: one lane of murmur3
 *   orc_long        lo: Wang's mix of a number of 8 bytes, little-endian
 *   spark_pair      murmur3 x86 32 with a tail of its own: lo, and with that as seed, lo >> 32
 *   murmur3_twice   positions: two murmur3 x64 128 of key and key 0x01
 *   sha384_slices   positions: 28 bits of each 32 of SHA-384
 *   simple_seven    positions: h = seed h + c, seeds 5 7 11 13 31 37 61, c units of UTF-16
 *   simple_six      seeds 7 11 13 31 37 61
 *   md5_chain_a     positions: a chain of MD5 digests divided by m; formats of its seven releases,
 *                   a to g
 *   pybloom_3       positions: chunks of salted digests, MD5 where they fit in 128 bits
 *   pybloom_4       the same with XXH3-128 there
 */
#define BLOOMERY_HASH_OWN(ROW)                        \
    ROW(BLOOMERY_HASH_XXH3_128, xxh3_128, "xxh3-128") \
    ROW(BLOOMERY_HASH_SIPHASH, siphash, "siphash")    \
    ROW(BLOOMERY_HASH_XXH3_64, xxh3_64, "xxh3-64")
#ifdef BLOOMERY_NO_DIALECTS /* the single file only */
#define BLOOMERY_HASH_LIST(ROW) BLOOMERY_HASH_OWN(ROW)
#else
#define BLOOMERY_HASH_LIST(ROW)                     \
    BLOOMERY_HASH_OWN(ROW)                          \
    ROW(16, murmur3, "murmur3-x64-128")             \
    ROW(17, murmur3_cassandra, "murmur3-cassandra") \
    ROW(18, city64_pair, "city64-pair")             \
    ROW(19, city64, "city64")                       \
    ROW(20, fmix64, "fmix64")                       \
    ROW(21, murmur64a, "murmur64a-pair")            \
    ROW(22, murmur2, "murmur2-pair")                \
    ROW(23, xxh64, "xxh64")                         \
    ROW(24, fnv1_modulo, "fnv1-modulo")             \
    ROW(25, leveldb, "leveldb")                     \
    ROW(26, rocksdb_legacy, "rocksdb-legacy")       \
    ROW(27, xxph3, "xxph3")                         \
    ROW(28, orc_bytes, "orc-bytes")                 \
    ROW(29, orc_long, "orc-long")                   \
    ROW(30, spark_pair, "spark-pair")               \
    ROW(31, murmur3_twice, "bits-and-blooms")       \
    ROW(32, sha384_slices, "sha384-slices")         \
    ROW(33, simple_seven, "simple-hash")            \
    ROW(34, simple_six, "simple-hash-six")          \
    ROW(35, md5_chain_a, "md5-chain-a")             \
    ROW(36, md5_chain_b, "md5-chain-b")             \
    ROW(37, md5_chain_c, "md5-chain-c")             \
    ROW(38, md5_chain_d, "md5-chain-d")             \
    ROW(39, md5_chain_e, "md5-chain-e")             \
    ROW(40, md5_chain_f, "md5-chain-f")             \
    ROW(41, md5_chain_g, "md5-chain-g")             \
    ROW(42, pybloom_3, "pybloom-3")                 \
    ROW(43, pybloom_4, "pybloom-4")                 \
    ROW(44, murmur3_cassandra_swapped, "murmur3-cassandra-swapped")
#endif

/* Hashes of other systems have numbers from here on. */
enum { BLOOMERY_HASH_FOREIGN = 16 };

#define BLOOMERY_HASH_DECLARE(id, variable, name)                   \
    extern const struct bloomery_hash_row bloomery_hash_##variable; \
    extern const char bloomery_hash_name_##variable[];
BLOOMERY_HASH_LIST(BLOOMERY_HASH_DECLARE)
#undef BLOOMERY_HASH_DECLARE

enum {
#define BLOOMERY_HASH_NUMBER(id, variable, name) BLOOMERY_HASH_ID_##variable = (id),
    BLOOMERY_HASH_LIST(BLOOMERY_HASH_NUMBER)
#undef BLOOMERY_HASH_NUMBER
};

/* The first two fields of a row. */
#define BLOOMERY_HASH_NAMED(variable) \
    .id = (bloomery_hash_id)BLOOMERY_HASH_ID_##variable, .name = bloomery_hash_name_##variable

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

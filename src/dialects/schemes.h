/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of other systems, and how a hash becomes positions: their schemes. Both are numbers of a
 * shape, which stand in files, and both have rows, in the file of their system; here are those that
 * several have. What hashes make of a key:
 *
 *   id  hash
 *   16  murmur3                    {lo, hi} are its h1 and h2
 *   17  murmur3-cassandra          the same with the last bytes sign-extended
 *   18  city64-pair                CityHash 1.0.2 with the seed, and with 845897321 seed +
 *                                  217728422
 *   19  city64                     lo: CityHash 1.0.2
 *   20  fmix64                     lo: murmur3's finaliser of a number of 1 to 8 bytes,
 *                                  little-endian; of 16 and 32 bytes: of its words XORed, but for
 *                                  the last one of four
 *   21  murmur64a-pair             lo: MurmurHash64A with seed 0xc6a4a7935bd1e995; hi: with seed lo
 *   22  murmur2-pair               lo: MurmurHash2 with seed 0x9747b28c; hi: with seed lo; 32 bits
 *                                  each
 *   23  xxh64                      lo: XXH64
 *   24  fnv1-modulo                lo: FNV-1 modulo 2^64 - 59
 *   25  leveldb                    lo: its hash, seed 0xbc9f1d34; 32 bits
 *   26  rocksdb-legacy             the same with the last bytes sign-extended
 *   27  xxph3                      lo: the preview of XXH3 that RocksDB kept
 *   28  orc-bytes                  lo: one lane of murmur3
 *   29  orc-long                   lo: Wang's mix of a number of 8 bytes, little-endian
 *   30  spark-pair                 murmur3 x86 32 with a tail of its own: lo, and with that as
 *                                  seed, lo >> 32
 *   31  bits-and-blooms            positions: two murmur3 x64 128 of key and key 0x01
 *   32  sha384-slices              positions: 28 bits of each 32 of SHA-384
 *   33  simple-hash                positions: h = seed h + c, seeds 5 7 11 13 31 37 61, c units of
 *                                  UTF-16
 *   34  simple-hash-six            seeds 7 11 13 31 37 61
 *   35  md5-chain-a .. 41 -g       positions: a chain of digests divided by m, in seven forms
 *   42  pybloom-3                  positions: chunks of salted digests, MD5 where they fit in 128
 *                                  bits
 *   43  pybloom-4                  the same with XXH3-128 there
 *   44  murmur3-cassandra-swapped  17 in the other order
 *   45  murmur64a                  lo: MurmurHash64A with seed 0
 *
 * A scheme goes with a kind, and the pair has a row of the same form as a kind (kinds/kinds.h):
 *
 *     kind, block scheme, probe scheme  ->  a row: check, operations, expected rate, estimate, scan
 *
 * so that nothing in core knows that there are others. The hash is {lo, hi}, m the cells, N the
 * blocks and s32(x) the low 32 bits as a signed number. Probe i = 0 .. k-1 touches:
 *
 *   id  probe scheme         cell
 *   1   POSITIONS          what the hash itself hands out (hash/hashes.h): 128 bits are too few
 *   2   MASKED_DOUBLE      ((lo + i hi) mod 2^63) mod m
 *   3   FLIPPED_DOUBLE_32  c = s32(lo + (i + 1) (lo >> 32)); ~c if c < 0; mod m. Never past 2^31
 *   4   DOUBLE             ((lo + i hi) mod 2^64) mod m
 *   5   DOUBLE_32          ((lo + i hi) mod 2^32) mod m. Never past 2^32
 *   6   QUADRATIC          ((lo + i hi + i^2) mod 2^64) mod m
 *   7   SALTED_PAIR        H128(lo, salt[i]) mod m; k at most 15
 *   8   FLIPPED_SUM_64     c = s32(lo) (2^31 - 1) + (i + 1) s32(lo >> 32) in 64 bits; ~c if c < 0;
 *                          mod m
 *   9   MODULAR_CHAIN      h = h G mod 2^64 mod P, from h = lo on; mod m
 *   10  ROTATED_STEP       ((h + i rotr32(h, 17)) mod 2^32) mod m, h = lo32
 *   11  ABSOLUTE_DOUBLE    |s64(lo + i hi) rem m|
 *   15  FLIPPED_SUM_64_KEPT  as 8, but going on from ~c if c was < 0
 *   16  SLICES             as 1, position i in slice i of m/k cells
 *   17  DOUBLE_HALVES      (lo32 + i hi32) mod m; the sum does not wrap
 *
 *   and in blocks, of which block scheme 1 takes floor(hi32(lo) N / 2^32), 2 takes
 *   floor(lo32(lo) N / 2^32), and 3 takes lo32(lo) mod N:
 *
 *   12  SALTED_WORDS       bit (lo32 salt[i] mod 2^32) >> 27 of word i of 8; blocks of 256
 *   13  ROTATED_BLOCK       (h + i rotr32(h, 17)) mod B, h = lo32; blocks of B = 512, 1024 or 2048
 *   14  GOLDEN_BLOCK        x >> 23, x = hi32(lo) 0x9e3779b9^i mod 2^32; blocks of 512
 *
 *   In block scheme 4, of cuckoo filters, a block is a bucket of b cells of 8 bits, and a key has
 *   two (kinds/tables.c):
 *
 *   18  SLOTS               the cells of buckets lo mod N and (lo ^ 0x5bd1e995 f) mod N, in one of
 *                           which the key's fingerprint f = lo mod 255 + 1 lies
 */
#ifndef BLOOMERY_DIALECTS_SCHEMES_H
#define BLOOMERY_DIALECTS_SCHEMES_H

#include "base/bits.h"
#include "base/bytes.h"
#include "base/threads.h"
#include "hash/hashes.h"
#include "kinds/kinds.h"

#include <bloomery/dialect.h>

#include <assert.h>

enum { /* hashes */
       BLOOMERY_HASH_MURMUR3 = 16,
       BLOOMERY_HASH_MURMUR3_CASSANDRA = 17,
       BLOOMERY_HASH_CITY64_PAIR = 18,
       BLOOMERY_HASH_CITY64 = 19,
       BLOOMERY_HASH_FMIX64 = 20,
       BLOOMERY_HASH_MURMUR64A = 21,
       BLOOMERY_HASH_MURMUR2 = 22,
       BLOOMERY_HASH_XXH64 = 23,
       BLOOMERY_HASH_FNV1_MODULO = 24,
       BLOOMERY_HASH_LEVELDB = 25,
       BLOOMERY_HASH_ROCKSDB_LEGACY = 26,
       BLOOMERY_HASH_XXPH3 = 27,
       BLOOMERY_HASH_ORC_BYTES = 28,
       BLOOMERY_HASH_ORC_LONG = 29,
       BLOOMERY_HASH_SPARK_PAIR = 30,
       BLOOMERY_HASH_MURMUR3_TWICE = 31,
       BLOOMERY_HASH_SHA384_SLICES = 32,
       BLOOMERY_HASH_SIMPLE_SEVEN = 33,
       BLOOMERY_HASH_SIMPLE_SIX = 34,
       BLOOMERY_HASH_MD5_CHAIN_A = 35, /* to G, 41 */
       BLOOMERY_HASH_PYBLOOM_3 = 42,
       BLOOMERY_HASH_PYBLOOM_4 = 43,
       BLOOMERY_HASH_MURMUR3_CASSANDRA_SWAPPED = 44,
       BLOOMERY_HASH_MURMUR64A_PLAIN = 45,
};

enum { /* block schemes */
       BLOOMERY_BLOCKS_HIGH_HALF = 1,
       BLOOMERY_BLOCKS_LOW_HALF = 2,
       BLOOMERY_BLOCKS_MODULO = 3,
       BLOOMERY_BLOCKS_CUCKOO = 4,
};

enum { /* probe schemes */
       BLOOMERY_PROBES_POSITIONS = 1,
       BLOOMERY_PROBES_MASKED_DOUBLE = 2,
       BLOOMERY_PROBES_FLIPPED_DOUBLE_32 = 3,
       BLOOMERY_PROBES_DOUBLE = 4,
       BLOOMERY_PROBES_DOUBLE_32 = 5,
       BLOOMERY_PROBES_QUADRATIC = 6,
       BLOOMERY_PROBES_SALTED_PAIR = 7,
       BLOOMERY_PROBES_FLIPPED_SUM_64 = 8,
       BLOOMERY_PROBES_MODULAR_CHAIN = 9,
       BLOOMERY_PROBES_ROTATED_STEP = 10,
       BLOOMERY_PROBES_ABSOLUTE_DOUBLE = 11,
       BLOOMERY_PROBES_SALTED_WORDS = 12,
       BLOOMERY_PROBES_ROTATED_BLOCK = 13,
       BLOOMERY_PROBES_GOLDEN_BLOCK = 14,
       BLOOMERY_PROBES_FLIPPED_SUM_64_KEPT = 15,
       BLOOMERY_PROBES_SLICES = 16,
       BLOOMERY_PROBES_DOUBLE_HALVES = 17,
       BLOOMERY_PROBES_SLOTS = 18,
};

/* Repeat schemes of counters: with 0 a key touches each of its counters once in a block, with 1 as
 * often as a position of it comes up. */
enum { BLOOMERY_REPEATS_COUNT = 1 };

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The numbers of a row: of a flat array of bits, and of one whose keys have one block each. */
#define BLOOMERY_FLAT_ROW(scheme)                                                         \
    .id = BLOOMERY_CLASSIC, .probe_scheme = (scheme), .cell_sizes = 1 << 1, .adds = true, \
    .merges = true, .has_bits = true
#define BLOOMERY_BLOCKS_ROW(blocks, scheme)                                     \
    .id = BLOOMERY_BLOCKED, .block_scheme = (blocks), .probe_scheme = (scheme), \
    .cell_sizes = 1 << 1, .adds = true, .merges = true, .has_bits = true

/* And its functions, which have one name but for its end. */
#define BLOOMERY_ROW_RATES(name) \
    .expected_rate = name##_expected_rate, .estimate = name##_estimate, .scan = name##_scan

/* What several systems have. */
extern const struct bloomery_hash_row bloomery_hash_murmur3;
extern const struct bloomery_kind_row bloomery_scheme_positions;
extern const struct bloomery_kind_row bloomery_scheme_double;
extern const struct bloomery_kind_row bloomery_scheme_flipped_double_32;

/* For rows elsewhere: how the positions of a hash that gives them are set and tested, and all about
 * double hashing whose sums wrap at 2^64. */
const struct bloomery_operations *bloomery_positions_operations(uint32_t cell_bits,
                                                                bool concurrent);
const struct bloomery_operations *bloomery_double_operations(uint32_t cell_bits, bool concurrent);
double bloomery_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys);
double bloomery_double_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
void bloomery_double_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan);

/* The requirements of every scheme with one block per key: L = 1, whole blocks of that size, fewer
 * than 2^32 of them. */
bloomery_status bloomery_blocks_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, uint32_t block_bits,
                                      bloomery_error *error);

/* The mean of `keys` keys in a block. */
static inline double bloomery_keys_of_a_block(const struct bloomery_layer *layer, double keys)
{
    assert(layer->blocks > 0);
    return keys / (double)layer->blocks;
}

/* Returns the rate among `keys` keys, which may be infinite, if only 32 bits of a key count. */
double bloomery_rate_of_32_bits(double rate, double keys);

/* ---- Where a walk over positions stands ------------------------------------------------------ */

struct bloomery_steps {
    uint64_t at;
    uint64_t step;
    uint64_t base; /* of schemes with blocks: the first cell of the block */
};

enum {
    BLOOMERY_PREFETCHED = 8,       /* positions that are requested of a key on its own */
    BLOOMERY_FIRST = 2,            /* that are looked at first, of a key among many */
    BLOOMERY_SECOND = 4,           /* and then, up to here */
    BLOOMERY_KEYS_AHEAD = 16,      /* that are added: their memory is on its way */
    BLOOMERY_QUERIES_AHEAD = 32,   /* that are looked up */
    BLOOMERY_POSITIONS_AHEAD = 32, /* of each; if it has more, none is ahead */
    BLOOMERY_PORTION = 128,        /* keys that are looked up in one go */
    BLOOMERY_EIGHT = 8,            /* that are hashed in one go */
};

/* Single bits, by words: a processor has instructions for that. Layers are whole words. */
static inline bool bloomery_payload_bit_test(const uint8_t *payload, uint64_t bit)
{
    return bloomery_load_u64(payload + (bit >> 6 << 3)) >> (bit & 63) & 1;
}

static inline uint32_t bloomery_payload_bit_set(uint8_t *payload, uint64_t bit)
{
    uint8_t *at = payload + (bit >> 6 << 3);
    const uint64_t before = bloomery_load_u64(at);
    bloomery_store_u64(at, before | UINT64_C(1) << (bit & 63));
    return (before >> (bit & 63) & 1) ^ 1;
}

/* Has memory on its way, into the second-level cache: a processor has several times as many
 * requests under way for that as for the first level. Schemes read ten lines of a key. */
static inline __attribute__((always_inline)) void bloomery_request(const uint8_t *memory)
{
    __builtin_prefetch(memory, 0, 2);
}

static inline __attribute__((always_inline)) void bloomery_request_to_change(const uint8_t *memory)
{
    __builtin_prefetch(memory, 1, 2);
}

static inline uint32_t bloomery_rotate_right_32(uint32_t value, unsigned bits)
{
    assert(bits > 0 && bits < 32);
    return value >> bits | value << (32 - bits);
}

/* A signed number that is negative becomes its complement, which is not: -1 becomes 0. */
static inline uint64_t bloomery_flip_32(uint32_t value)
{
    return (value >> 31) != 0 ? (uint32_t)~value : value;
}

static inline uint64_t bloomery_flip_64(uint64_t value)
{
    return (value >> 63) != 0 ? ~value : value;
}

#endif

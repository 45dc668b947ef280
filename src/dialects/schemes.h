/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a hash becomes positions in filters of other systems: their schemes, as values of the shape.
 * A scheme goes with a kind, and the pair has a row of the same form as a kind (kinds/kinds.h):
 *
 *     kind, block scheme, probe scheme  ->  a row: check, operations, expected rate, estimate, scan
 *
 * so that nothing else in core knows that there are others. The hash is {lo, hi}, m the cells, N
 * the blocks and s32(x) the low 32 bits as a signed number. Probe i = 0 .. k-1 touches:
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
 * The numbers stand in files.
 */
#ifndef BLOOMERY_DIALECTS_SCHEMES_H
#define BLOOMERY_DIALECTS_SCHEMES_H

#include "base/bits.h"
#include "base/threads.h"
#include "kinds/kinds.h"

#include <bloomery/dialect.h>

#include <assert.h>

enum { /* block schemes */
       BLOOMERY_BLOCKS_HIGH_HALF = 1,
       BLOOMERY_BLOCKS_LOW_HALF = 2,
       BLOOMERY_BLOCKS_MODULO = 3,
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
};

/* Repeat schemes of counters: with 0 a key touches each of its counters once in a block, with 1 as
 * often as a position of it comes up. */
enum { BLOOMERY_REPEATS_COUNT = 1 };

/* Of the shape's kind and schemes; NULL if this version has none. */
const struct bloomery_kind_row *bloomery_scheme_row(const struct bloomery_shape *shape);

/* The statistics of flat arrays whose positions are uniform and independent, for every flat scheme
 * that has none of its own. The check is that of a flat array. */
bloomery_status bloomery_flat_check(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *layer, bloomery_error *error);
void bloomery_flat_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                        const uint8_t *payload, struct bloomery_scan *scan);

/* The operations of each scheme; defined by dialects/scheme_template.h. */
#define BLOOMERY_DECLARE_SCHEME(prefix) \
    const struct bloomery_operations *prefix##_operations(uint32_t cell_bits, bool concurrent);
BLOOMERY_DECLARE_SCHEME(bloomery_positions)
BLOOMERY_DECLARE_SCHEME(bloomery_masked_double)
BLOOMERY_DECLARE_SCHEME(bloomery_flipped_double_32)
BLOOMERY_DECLARE_SCHEME(bloomery_double)
BLOOMERY_DECLARE_SCHEME(bloomery_quadratic)
BLOOMERY_DECLARE_SCHEME(bloomery_salted_pair)
BLOOMERY_DECLARE_SCHEME(bloomery_flipped_sum_64_kept)

/* Counters that are touched as often as positions name them (dialects/md5_chain.c). */
BLOOMERY_DECLARE_SCHEME(bloomery_counted_positions)
void bloomery_counted_positions_scan(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *layer, const uint8_t *payload,
                                     struct bloomery_scan *scan);

/* Slices, and chains of such filters (dialects/pybloom.c). */
bloomery_status bloomery_slices_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, bloomery_error *error);
double bloomery_slices_expected_rate(const struct bloomery_layer *layer, uint64_t keys);
double bloomery_slices_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
void bloomery_slices_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan);
bloomery_status bloomery_slices_next_layer(const struct bloomery_shape *shape,
                                           const struct bloomery_layer *newest,
                                           struct bloomery_layer *next, bloomery_error *error);

/* The layer of a filter in slices for keys at a rate: k = ceil(log2(1/p)) of ceil(n |ln p| / (k
 * ln2^2)) bits. BLOOMERY_BAD_ARGUMENT if there is none. */
bloomery_status bloomery_slices_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                     bloomery_error *error);

/* The probes of SALTED_PAIR: it has so many salts. */
enum { BLOOMERY_SALTED_PAIR_PROBES = 15 };

/* With the cost of positions that depend on each other (dialects/clickhouse.h). */
double bloomery_quadratic_expected_rate(const struct bloomery_layer *layer, uint64_t keys);
double bloomery_quadratic_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
void bloomery_quadratic_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                             const uint8_t *payload, struct bloomery_scan *scan);

/* As far as FLIPPED_DOUBLE_32 reaches, and as evenly. Cells past 2^31 always stay 0. Cells that two
 * numbers reach are set sooner than those that one reaches (dialects/rates.h). */
double bloomery_flipped_double_32_expected_rate(const struct bloomery_layer *layer, uint64_t keys);
double bloomery_flipped_double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
void bloomery_flipped_double_32_scan(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *layer, const uint8_t *payload,
                                     struct bloomery_scan *scan);

/* Blocks, and walks by a hash that is its own step: rates of their own
 * (dialects/schemes.c, dialects/storage.h). */
#define BLOOMERY_DECLARE_RATES(prefix)                                                         \
    BLOOMERY_DECLARE_SCHEME(prefix)                                                            \
    double prefix##_expected_rate(const struct bloomery_layer *layer, uint64_t keys);          \
    void prefix##_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer, \
                       const uint8_t *payload, struct bloomery_scan *scan);
BLOOMERY_DECLARE_RATES(bloomery_rotated_step)
BLOOMERY_DECLARE_RATES(bloomery_salted_words)
BLOOMERY_DECLARE_RATES(bloomery_rotated_block)
BLOOMERY_DECLARE_RATES(bloomery_golden_block)
double bloomery_rotated_step_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
double bloomery_golden_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
double bloomery_salted_words_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
double bloomery_rotated_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
bloomery_status bloomery_salted_words_check(const struct bloomery_shape *shape,
                                            const struct bloomery_layer *layer,
                                            bloomery_error *error);
bloomery_status bloomery_rotated_block_check(const struct bloomery_shape *shape,
                                             const struct bloomery_layer *layer,
                                             bloomery_error *error);
bloomery_status bloomery_golden_block_check(const struct bloomery_shape *shape,
                                            const struct bloomery_layer *layer,
                                            bloomery_error *error);

/* The requirements of every scheme with one block per key: L = 1, whole blocks of that size, fewer
 * than 2^32 of them. */
bloomery_status bloomery_blocks_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, uint32_t block_bits,
                                      bloomery_error *error);

/* The mean of `keys` keys in a block. */
double bloomery_keys_of_a_block(const struct bloomery_layer *layer, double keys);

/* The rate if only 32 bits of a key are seen, among so many keys. `keys` may be infinite. */
double bloomery_rate_of_32_bits(double rate, double keys);

/* Rates that are not the classic one: of double hashing (dialects/rates.h,
 * dialects/libbloom.c, dialects/rates.h), and of a chain
 * of products (dialects/dcso.c). */
double bloomery_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys);
double bloomery_double_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
void bloomery_double_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan);
BLOOMERY_DECLARE_RATES(bloomery_double_32)
BLOOMERY_DECLARE_RATES(bloomery_double_halves)
BLOOMERY_DECLARE_RATES(bloomery_modular_chain)
BLOOMERY_DECLARE_RATES(bloomery_flipped_sum_64)
BLOOMERY_DECLARE_RATES(bloomery_absolute_double)
double bloomery_double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
double bloomery_double_halves_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
double bloomery_modular_chain_estimate(const struct bloomery_layer *layer, uint64_t bits_set);
bloomery_status bloomery_double_32_check(const struct bloomery_shape *shape,
                                         const struct bloomery_layer *layer, bloomery_error *error);

/* Chains of layers by DOUBLE (dialects/redisbloom.c): a layer for 1 to 2^48 keys at a rate, and
 * the one after another. BLOOMERY_BAD_ARGUMENT if there is none. */
bloomery_status bloomery_tightened_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                        bloomery_error *error);
bloomery_status bloomery_tightened_next_layer(const struct bloomery_shape *shape,
                                              const struct bloomery_layer *newest,
                                              struct bloomery_layer *next, bloomery_error *error);

/* ---- Where a walk over positions stands ------------------------------------------------------ */

struct bloomery_steps {
    uint64_t at;
    uint64_t step;
    uint64_t base; /* of schemes with blocks: the first cell of the block */
};

enum {
    BLOOMERY_PREFETCHED = 8,       /* positions that are requested of a key on its own */
    BLOOMERY_FIRST = 2,            /* that are looked at first, of a key in a word */
    BLOOMERY_SECOND = 5,           /* and then, up to here */
    BLOOMERY_KEYS_AHEAD = 8,       /* whose memory is on its way */
    BLOOMERY_POSITIONS_AHEAD = 32, /* of each; if it has more, none is ahead */
};

/* A key that is looked up, and how far it is. */
struct bloomery_walking {
    struct bloomery_steps steps;
    bool there; /* as far as is known */
    uint64_t at[BLOOMERY_POSITIONS_AHEAD];
};

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Bloom filter among the examples of Python's bitarray (examples/bloom.py), whose positions are
 * the remainders of digests. They changed with releases: the variants.
 *
 *     a    February 2012, in no release   e    1.2.0 to 2.8.2, Debian 12 among them: the default
 *     b    0.5.0                          f    2.8.3 to 3.1.0
 *     c    0.5.1 to 1.0.1                 g    from 3.1.1 on
 *     d    1.1.0
 *
 * The bytes are those of bitarray's tofile(): ceil(m / 8) of them, no header,
 *
 *     bit p is bit 7 - (p & 7) of byte p >> 3; what is past m is 0
 *
 * and neither m, k nor the variant is in them. Keys are the UTF-8 of str(key): numbers in decimal.
 *
 * Sizing: up to d the caller says m and k; from e on k = ceil(-log2 p), m = ceil(-n log2(p) / ln
 * 2).
 *
 * Counters in the place of bits (cell_bits 4 or 8) were never among the examples. A key adds 1 for
 * each position, repeats included, and takes 1 for each when it is removed. Only our own format
 * holds them.
 *
 * Faults: in b a digest is used up after 512 / log2(m) positions and all others are 0. c can't go
 * on under Python 3 if a second digest is needed. f and g pass over half of all draws if m is a
 * power of two, since they take the next one above it.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/threads.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "hash/digest.h"
#include "hash/hashes.h"
#include "kinds/counting.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * A digest of the key is read as a number x, and divided by m again and again; the remainders are
 * the positions. When x is used up, a byte is appended to the message - key, key., key.., ... - and
 * the next digest taken:
 *
 *     form        digest, as a number      begins with      another one if        byte
 *     a           MD5, high byte first     x = 0            x < m                 .
 *     b           SHA-512, high first      digest of key    never
 *     c           MD5, high first          digest of key    x < m                 .
 *     d           MD5, high first          digest of key    x < m                 x
 *     e           MD5, high first          digest of key    x < 1024 m            x
 *     f           SHA-1, low first         digest of key    x < n                 X
 *     g           SHA-1, low first         x = 0            x < n                 X
 *
 * f and g divide by n, the power of two above m - twice m if m is one itself. They pass over
 * remainders of m and more: about half of all draws at worst. In b numbers end: once m^i has passed
 * 2^512, x is 0 and so are all further positions. In the others a remainder taken off a quotient
 * that is little more than m is not quite uniform, which e mends.
 */

struct form {
    enum bloomery_digest_id digest;
    bool low_first;
    bool from_zero;
    bool rejects;
    uint32_t reserve; /* another digest if x < reserve * m (of n, if it rejects); 0: never */
    char byte;
};

static const struct form forms[] = {
    {BLOOMERY_DIGEST_MD5, false, true, false, 1, '.'},
    {BLOOMERY_DIGEST_SHA512, false, false, false, 0, 0},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1, '.'},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1, 'x'},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1024, 'x'},
    {BLOOMERY_DIGEST_SHA1, true, false, true, 1, 'X'},
    {BLOOMERY_DIGEST_SHA1, true, true, true, 1, 'X'},
};

static struct bloomery_wide number_of(const struct form *form, const struct bloomery_digest *digest)
{
    uint8_t bytes[BLOOMERY_DIGEST_MAX];
    const size_t count = bloomery_digest_bytes(form->digest);
    bloomery_digest_get(digest, bytes);
    return form->low_first ? bloomery_wide_le(bytes, count) : bloomery_wide_be(bytes, count);
}

static void draw(const struct form *form, bloomery_key key, uint64_t cells, uint32_t probes,
                 uint64_t *positions)
{
    struct bloomery_digest digest;
    struct bloomery_wide number = {.count = 0};
    const uint64_t divisor = form->rejects ? UINT64_C(1) << (64 - __builtin_clzll(cells)) : cells;
    bloomery_digest_begin(&digest, form->digest);
    bloomery_digest_add(&digest, key.data, key.bytes);
    if (!form->from_zero)
        number = number_of(form, &digest);
    for (uint32_t i = 0; i < probes;) {
        if (bloomery_wide_below(&number, divisor * form->reserve)) {
            bloomery_digest_add(&digest, &form->byte, 1);
            number = number_of(form, &digest);
        }
        positions[i] = bloomery_wide_divide(&number, divisor);
        i += positions[i] < cells;
    }
}

/* Products with the reserve, and n, stay below 2^64. */
static bool has_positions(uint64_t cells, uint32_t probes)
{
    return cells > 0 && cells <= UINT64_C(1) << 53 && probes > 0;
}

#define FORM(letter, number)                                                                    \
    static void positions_##letter(const struct bloomery_hash_secret *secret, bloomery_key key, \
                                   uint64_t cells, uint32_t probes, uint64_t *positions)        \
    {                                                                                           \
        (void)secret;                                                                           \
        assert(has_positions(cells, probes));                                                   \
        draw(&forms[number], key, cells, probes, positions);                                    \
    }                                                                                           \
    static const struct bloomery_hash_row form_##letter = {                                     \
        .id = BLOOMERY_HASH_MD5_CHAIN_A + (number),                                             \
        .name = "md5-chain-" #letter,                                                           \
        .available = BLOOMERY_DIGESTS_BUILT,                                                    \
        .ready = bloomery_digest_ready,                                                         \
        .positions = positions_##letter,                                                        \
        .fits = has_positions,                                                                  \
    };

FORM(a, 0)
FORM(b, 1)
FORM(c, 2)
FORM(d, 3)
FORM(e, 4)
FORM(f, 5)
FORM(g, 6)

/* ---- Counters -------------------------------------------------------------------------------- */

/*
 * Counters of keys that come as positions, in one flat array. Each position counts, so a key that
 * names a counter twice adds 2 to it, and takes 2 when it is removed:
 *
 *     positions 3 9 3      counter 3: +2      counter 9: +1
 *
 * Everything else is as in kinds/counting.c. Saturated counters stay so; below the maximum they are
 * exact sums. A removal is refused if a counter is less than what it would take, since the key is
 * then not in.
 *
 * A key has up to 1024 positions. How often one of them comes up is counted by looking at all
 * others: filters of counters have a handful.
 */

#define INLINE static inline __attribute__((always_inline))

/* How often position i comes up; 0 if it came up before. */
static uint32_t times_of(const uint64_t *positions, uint32_t probes, uint32_t i)
{
    uint32_t times = 1;
    assert(i < probes && probes <= BLOOMERY_POSITIONS_MAX);
    for (uint32_t j = 0; j < i; j++)
        if (positions[j] == positions[i])
            return 0;
    for (uint32_t j = i + 1; j < probes; j++)
        times += positions[j] == positions[i];
    return times;
}

INLINE uint32_t add_with(const struct bloomery_layer *layer, uint8_t *payload,
                         const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        fresh += bloomery_counter_raise(payload, positions[i], 1, bits, atomic) == 0;
    }
    return fresh;
}

INLINE bool query_with(const struct bloomery_layer *layer, const uint8_t *payload,
                       const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        if (bloomery_counter_get(payload, positions[i], bits, atomic) == 0)
            return false;
    }
    return true;
}

/* Gives back what was taken for the first `count` positions: nothing to counters that were
 * saturated, whose bit in `saturated` is set. */
INLINE void put_back_with(const struct bloomery_layer *layer, uint8_t *payload,
                          const uint64_t *positions, const uint64_t *saturated, uint32_t count,
                          const uint32_t bits, const bool atomic)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t times = times_of(positions, layer->probes, i);
        if (times > 0 && (saturated[i / 64] >> i % 64 & 1) == 0)
            bloomery_counter_raise(payload, positions[i], times, bits, atomic);
    }
}

/* A counter that a key names more often than it can count is saturated if the key is in. */
INLINE uint32_t needed(uint32_t times, const uint32_t bits)
{
    const uint32_t max = bloomery_counter_max(bits);
    return times < max ? times : max;
}

INLINE bool remove_with(const struct bloomery_layer *layer, uint8_t *payload,
                        const uint64_t *positions, uint32_t *cleared, const uint32_t bits,
                        const bool atomic)
{
    uint64_t saturated[BLOOMERY_POSITIONS_MAX / 64] = {0};
    uint32_t zero = 0;
    *cleared = 0;
    for (uint32_t i = 0; i < layer->probes; i++)
        if (bloomery_counter_get(payload, positions[i], bits, atomic) <
            needed(times_of(positions, layer->probes, i), bits))
            return false;
    for (uint32_t i = 0; i < layer->probes; i++) {
        const uint32_t times = needed(times_of(positions, layer->probes, i), bits);
        if (times == 0)
            continue;
        const uint32_t before = bloomery_counter_lower(payload, positions[i], times, bits, atomic);
        assert(before >= times || atomic);
        if (before < times) { /* others were faster */
            put_back_with(layer, payload, positions, saturated, i, bits, atomic);
            return false;
        }
        if (before == bloomery_counter_max(bits))
            saturated[i / 64] |= (uint64_t)1 << i % 64;
        else
            zero += before == times;
    }
    assert(zero <= layer->probes);
    *cleared = zero;
    return true;
}

/* A saturated counter says no more than "that often, or more". */
INLINE uint32_t count_with(const struct bloomery_layer *layer, const uint8_t *payload,
                           const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    const uint32_t max = bloomery_counter_max(bits);
    uint32_t min = max;
    for (uint32_t i = 0; i < layer->probes; i++) {
        const uint32_t value = bloomery_counter_get(payload, positions[i], bits, atomic);
        const uint32_t times = times_of(positions, layer->probes, i);
        if (value != max && times > 0 && value / times < min)
            min = value / times;
    }
    return min;
}

/* ---- Four instances -------------------------------------------------------------------------- */

#define INSTANCE(prefix, bits, atomic, label)                                                  \
    static uint32_t prefix##_add(const struct bloomery_layer *layer, uint8_t *payload,         \
                                 const uint64_t *positions)                                    \
    {                                                                                          \
        return add_with(layer, payload, positions, bits, atomic);                              \
    }                                                                                          \
    static bool prefix##_query(const struct bloomery_layer *layer, const uint8_t *payload,     \
                               const uint64_t *positions)                                      \
    {                                                                                          \
        return query_with(layer, payload, positions, bits, atomic);                            \
    }                                                                                          \
    static bool prefix##_remove(const struct bloomery_layer *layer, uint8_t *payload,          \
                                const uint64_t *positions, uint32_t *cleared)                  \
    {                                                                                          \
        return remove_with(layer, payload, positions, cleared, bits, atomic);                  \
    }                                                                                          \
    static uint32_t prefix##_count(const struct bloomery_layer *layer, const uint8_t *payload, \
                                   const uint64_t *positions)                                  \
    {                                                                                          \
        return count_with(layer, payload, positions, bits, atomic);                            \
    }                                                                                          \
    static const struct bloomery_operations prefix##_operations = {                            \
        .name = label,                                                                         \
        .add_positions = prefix##_add,                                                         \
        .may_contain_positions = prefix##_query,                                               \
        .remove_positions = prefix##_remove,                                                   \
        .count_positions = prefix##_count,                                                     \
    };

INSTANCE(positions_nibbles, 4, false, "positions")
INSTANCE(positions_bytes, 8, false, "positions")
INSTANCE(positions_atomic_nibbles, 4, true, "positions-concurrent")
INSTANCE(positions_atomic_bytes, 8, true, "positions-concurrent")

static const struct bloomery_operations *counted_operations(uint32_t cell_bits, bool concurrent)
{
    const bool shared = bloomery_is_shared(concurrent);
    assert(cell_bits == 4 || cell_bits == 8);
    if (cell_bits == 4)
        return shared ? &positions_atomic_nibbles_operations : &positions_nibbles_operations;
    return shared ? &positions_atomic_bytes_operations : &positions_bytes_operations;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Whether a key may be in depends on which counters are 0: rates and estimates are those of
 * bits. */
static void counted_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                         const uint8_t *payload, struct bloomery_scan *scan)
{
    const uint32_t max = bloomery_counter_max(shape->cell_bits);
    scan->bits_set = scan->saturated = 0;
    for (uint64_t i = 0; i < layer->bits; i++) {
        const uint32_t value = bloomery_counter_get(payload, i, shape->cell_bits, true);
        scan->bits_set += value != 0;
        scan->saturated += value == max;
    }
    assert(scan->saturated <= scan->bits_set && scan->bits_set <= layer->bits);
    scan->live_rate = pow((double)scan->bits_set / (double)layer->bits, layer->probes);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row counted_positions = {
    .id = BLOOMERY_COUNTING,
    .probe_scheme = BLOOMERY_PROBES_POSITIONS,
    .repeat_scheme = BLOOMERY_REPEATS_COUNT,
    .takes_positions = true,
    .check = bloomery_classic_check,
    .operations = counted_operations,
    .expected_rate = bloomery_classic_expected_rate,
    .estimate = bloomery_classic_estimate,
    .scan = counted_scan,
    .cell_sizes = 1 << 4 | 1 << 8,
    .probes_max = BLOOMERY_POSITIONS_MAX,
    .adds = true,
    .removes = true,
    .merges = true,
    .has_bits = true,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { BIT_PER_CELL = 1 };

/* Whether m and k were said or could be computed, as from form e on; fills in what was not. */
static bloomery_status size(const bloomery_dialect_parameters *given, bool sized, double *bits,
                            double *probes, bloomery_error *error)
{
    *bits = (double)given->bits;
    *probes = given->probes;
    if (given->bits > 0 && given->probes > 0)
        return BLOOMERY_OK;
    if (given->bits > 0 || given->probes > 0 || !sized || given->keys == 0 ||
        !(given->rate > 0 && given->rate < 1))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            !sized ? "variants a to d of md5-chain have no sizing: they take bits and "
                     "probes"
                   : "md5-chain takes keys and a rate above 0 and below 1, or bits "
                     "and probes");
    *probes = ceil(-log2(given->rate));
    *bits = ceil(-(double)given->keys * log2(given->rate) / log(2));
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const struct bloomery_hash_row *form = bloomery_dialect_md5_chain.hashes[variant];
    const uint32_t cell_bits = given->cell_bits > 0 ? given->cell_bits : BIT_PER_CELL;
    double bits, probes;
    bloomery_status status = size(given, form->id >= form_e.id, &bits, &probes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!(bits <= (double)BLOOMERY_BITS_MAX) || !(probes <= BLOOMERY_POSITIONS_MAX))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter has at most 2^50 bits and 1024 probes; these numbers make "
                             "another");
    bloomery_design_flat(
        design, form, cell_bits == BIT_PER_CELL ? &bloomery_scheme_positions : &counted_positions,
        given->bits > 0 ? given->bits : (uint64_t)bits, (uint32_t)probes);
    design->shape.cell_bits = bloomery_cell_bits_field(cell_bits);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = plan(given, variant, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bits = design->layers[0].bits;
    const uint64_t needed = bits / 8 + (bits % 8 != 0);
    if (needed != bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: %llu bits take %llu bytes, there are %zu",
                             needed > bytes ? "cut short" : "something follows the filter",
                             (unsigned long long)bits, (unsigned long long)needed, bytes);
    design->layout = BLOOMERY_LAYOUT_MSB_FIRST;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->kind == &counted_positions)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "it has counters, and bitarray's example knows bits only");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    assert(bloomery_dialect_fits(&bloomery_dialect_md5_chain, filter, NULL) == BLOOMERY_OK);
    assert(filter->shape.cell_bits == BIT_PER_CELL);
    return bloomery_emit_bits(emitter, layer, layer->bits / 8 + (layer->bits % 8 != 0),
                              BLOOMERY_LAYOUT_MSB_FIRST);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static bool remark_form(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->hash == &form_b) {
        /* m^i passes 2^512 with position i, from which on all are 0. */
        const double digits = ceil(512 / log2((double)layer->bits));
        if (!(digits < layer->probes))
            return false;
        snprintf(
            text, room,
            "in these %llu bits a digest is used up after %u positions: the other %u of its %u are "
            "bit 0 for every key, and its rate is that of %u probes",
            (unsigned long long)layer->bits, (uint32_t)digits, layer->probes - (uint32_t)digits,
            layer->probes, (uint32_t)digits);
        return true;
    }
    if (filter->hash == &form_c) {
        /* A second digest is needed if the first, a number below 2^128, is less than m^k. */
        struct bloomery_phrase phrase;
        const double share = exp2(fmin(0, layer->probes * log2((double)layer->bits) - 128));
        if (share < 1e-12)
            return false;
        snprintf(
            text, room,
            "the original stops with a TypeError under Python 3 where a key needs a second digest: "
            "in %llu bits with %u probes that is %s of all keys",
            (unsigned long long)layer->bits, layer->probes,
            share < 1 ? bloomery_phrase_rate(&phrase, share) : "all");
        return true;
    }
    if ((filter->hash != &form_f && filter->hash != &form_g) ||
        (layer->bits & (layer->bits - 1)) != 0)
        return false;
    snprintf(text, room,
             "with %llu bits, a power of two, the original passes over half of all it draws: %u "
             "draws for a key of %u probes",
             (unsigned long long)layer->bits, 2 * layer->probes, layer->probes);
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_md5_chain = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_MD5_CHAIN,
            .name = "md5-chain",
            .description = "the example filter of Python's bitarray, its bytes by tofile()",
            .variants = "e, a, b, c, d, f, g",
            .load_needs = "bits, probes",
            .load_takes = "variant, keys, rate, bits, probes",
            .create_takes = "variant, keys, rate, bits, probes, cell_bits",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .names = {"e", "a", "b", "c", "d", "f", "g"},
    .hashes = {&form_e, &form_a, &form_b, &form_c, &form_d, &form_f, &form_g},
    .schemes = {&bloomery_scheme_positions, &counted_positions},
    .others = "bitarray's example takes positions off a chain of digests",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {bloomery_remark_rate, remark_form},
    .variants_by_hash = true,
};

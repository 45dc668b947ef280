/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DCSO's filters (github.com/DCSO/bloom, format version 1, which its Go, Python and C programs
 * share):
 *
 *     byte 0     1, the version; the other 7 bytes of the word are flags, 0 so far
 *     byte 8     n, the keys it is for        u64, little-endian as all that follows
 *     byte 16    p, the rate                  f64
 *     byte 24    k                            u64
 *     byte 32    m                            u64
 *     byte 40    keys that set a bit          u64
 *     byte 48    ceil(m / 64) words, bit p being bit p & 63 of word p >> 6
 *                what is left is data that somebody attached
 *
 * The whole may be compressed by gzip, which the bytes themselves do not say: the caller unpacks
 * it.
 *
 * Keys are hashed by FNV-1, positions are a chain of products. Sizing: m = |ceil(n ln p /
 * ln(2)^2)|, which is the floor, since what is rounded up is negative; k = ceil(m / n ln 2).
 *
 * Faults: if m = 2^j r with a small odd r, the positions of a key depend on each other, and the
 * rate is many times the planned one. m = 0, which n = 1 and p = 0.9 make, is a filter that
 * contains everything; it is refused here.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "plan/classic_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * FNV-1 with 64 bits (Fowler, Noll and Vo, public domain): for each byte h = h 0x100000001b3, then
 * h ^= the byte, from 0xcbf29ce484222325 on. Not FNV-1a, which does the two the other way round,
 * and so is the better one. Here the last byte of a key changes only the lowest eight bits.
 *
 * DCSO's filters begin with it modulo their prime 2^64 - 59: one subtraction, if it is no less.
 */

static const uint64_t start = UINT64_C(0xcbf29ce484222325);
static const uint64_t fnv_factor = UINT64_C(0x100000001b3);
static const uint64_t modulus = 0 - UINT64_C(59);

static bloomery_hash fnv1(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    uint64_t h = start;
    (void)secret;
    for (size_t i = 0; i < key.bytes; i++)
        h = h * fnv_factor ^ data[i];
    return (bloomery_hash){.lo = h < modulus ? h : h - modulus, .hi = 0};
}

static const struct bloomery_hash_row fnv1_modulo = {
    .id = BLOOMERY_HASH_FNV1_MODULO,
    .name = "fnv1-modulo",
    .available = true,
    .one = fnv1,
};

/* ---- Rates ----------------------------------------------------------------------------------- */

/*
 * Write m = 2^j r, r odd. Since G is odd, multiplying by it permutes the residues modulo 2^j. The
 * residue of h G^i modulo 2^j follows from that of h alone. So a key does not draw k positions. It
 * draws a place on a ring of residues and takes the k places after it. Only modulo r its positions
 * are as good as independent:
 *
 *     ring        .  .  s  .  .  .  .  .  .        s: where a key begins; of 2^j places
 *     takes                1  2  3  4  5           its k = 5 places, in each one of r cells
 *     another        q
 *     takes             1  2  3  4  5              has four places in common with it
 *
 * At r = 1 there is one cell to a place. A key is a false positive once the k places after it are
 * covered by the stretches of other keys. J keys begin at each place, J Poisson with mean l = n /
 * 2^j. Then that fails only if k places in a row, of the 2k-1 that can reach, have none:
 *
 *     rate = 1 - e^-kl (1 + (k-1) (1 - e^-l))
 *
 * (65,536 bits, k = 7, n = 6000: 0.197, and not 0.0053).
 *
 * For any r let S be a set of the k places. A key that covers c of S from its beginning misses all
 * its cells there with chance x^c, x = 1 - 1/r. So a place with Poisson many such keys leaves S
 * alone with chance g(c) = exp(-l (1 - x^c)), and by inclusion and exclusion
 *
 *     rate = sum over S of (-1)^|S| product over the 2k-1 places s of g(|S covered from s|).
 *
 * What a place covers is a beginning of the k or an end of them. Let T = |S| and a the number of S
 * among the first t. The product is that of g(a) over t = 1 .. k and of g(T - a) over t = 1 .. k-1.
 * A walk over t sums it up for all S of size T at once.
 *
 * Terms are as large as (1 + 1/2)^k in sum, so that some 1e-16 of that is lost. The sum over one
 * stretch alone,
 *
 *     E[(1 - x^J e^(-n (k-1) / m))^k],
 *
 * loses nothing and is less than the rate: it is taken if nothing else is left.
 */

enum { PLACES_MAX = 64 };

/* Past this many keys to a place, J hardly varies. */
static const double crowded = 1e6;

/* The sum over all S, and over the same terms without their signs. */
static double include_and_exclude(double load, double miss, uint32_t probes, double *magnitude)
{
    double alone[PLACES_MAX + 1]; /* g */
    double sum = 0;
    assert(probes <= PLACES_MAX);
    *magnitude = 0;
    for (uint32_t c = 0; c <= probes; c++)
        alone[c] = exp(load * (pow(miss, c) - 1));
    for (uint32_t size = 0; size <= probes; size++) {
        double ways[PLACES_MAX + 1] = {1};
        for (uint32_t t = 1; t <= probes; t++)
            for (uint32_t a = t < size ? t : size;; a--) {
                const double here = ways[a] + (a > 0 ? ways[a - 1] : 0);
                ways[a] = here * alone[a] * (t < probes ? alone[size - a] : 1);
                if (a == 0)
                    break;
            }
        sum += size % 2 == 0 ? ways[size] : -ways[size];
        *magnitude += ways[size];
    }
    return sum;
}

/* What the keys of one place alone make likely. */
static double one_stretch(double load, double miss, double others, uint32_t probes)
{
    const double max = load + 20 * sqrt(load) + 60;
    double rate = 0;
    for (double j = 0; j <= max; j++) {
        const double log_chance = j * log(load) - load - lgamma(j + 1);
        rate += exp(log_chance) * pow(1 - pow(miss, j) * others, probes);
    }
    return rate;
}

static double chain_walk_rate(uint64_t bits, uint32_t probes, uint64_t keys)
{
    assert(bits > 0 && probes > 0);
    const uint64_t ring = bits & (0 - bits); /* places: 2^j */
    const double load = (double)keys / (double)ring;
    const double miss = 1 - (double)ring / (double)bits;
    double rate = bloomery_classic_rate(bits, probes, keys);
    double magnitude = 0;
    if (keys == 0 || ring == 1 || probes == 1 || load > crowded)
        return rate;
    const double others = exp(-(double)keys * (probes - 1) / (double)bits);
    if (load * probes < 1000)
        rate = fmax(rate, one_stretch(load, miss, others, probes));
    if (probes <= PLACES_MAX) {
        const double sum = include_and_exclude(load, miss, probes, &magnitude);
        if (sum > magnitude * DBL_EPSILON * 1000)
            rate = fmax(rate, sum);
    }
    assert(rate >= 0);
    return fmin(rate, 1);
}

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * A chain of numbers below P = 2^64 - 59, as DCSO's filters have it: position i = 0 .. k-1 is
 * h[i+1] mod m, with
 *
 *     h[i+1] = (h[i] G mod 2^64) mod P,        G = 2^64 - 1469
 *
 * The product wraps at 2^64 before it is reduced, so it is not a multiplication modulo P. All but
 * 59 in 2^64 products are below P, and then the reduction does nothing: the chain is h G^i modulo
 * 2^64. That is what makes sizes that are multiples of powers of two bad ones.
 */

static const uint64_t factor = 0 - UINT64_C(1469);

static inline struct bloomery_steps modular_chain_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo};
}

static inline uint64_t modular_chain_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t product = steps->at * factor;
    (void)i;
    steps->at = product < modulus ? product : product - modulus;
    assert(steps->at < modulus);
    return steps->at % layer->bits;
}

#define SCHEME modular_chain
#include "dialects/scheme_template.h"

static double modular_chain_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return chain_walk_rate(layer->bits, layer->probes, keys);
}

static void modular_chain_scan(const struct bloomery_shape *shape,
                               const struct bloomery_layer *layer, const uint8_t *payload,
                               struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    if (scan->bits_set < layer->bits)
        scan->live_rate =
            chain_walk_rate(layer->bits, layer->probes,
                            (uint64_t)llround(bloomery_classic_estimate(layer, scan->bits_set)));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row modular_chain = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_MODULAR_CHAIN),
    .check = bloomery_classic_check,
    .operations = modular_chain_operations,
    .expected_rate = modular_chain_expected_rate,
    /* How many bits are set is as in a classic filter; which of them belong together is not. */
    .estimate = bloomery_classic_estimate,
    .scan = modular_chain_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { HEADER = 48, VERSION = 1 };

static bloomery_status wrong_numbers(bloomery_error *error)
{
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "DCSO's filters take keys and a rate above 0 and below 1, or bits and probes, that "
        "make 1 to 2^50 bits and 1 to 1024 probes");
}

static void lay_out(struct bloomery_design *design, uint64_t bits, uint32_t probes)
{
    bloomery_design_flat(design, &fnv1_modulo, &modular_chain, bits, probes);
    design->shape.count_scheme = BLOOMERY_COUNTS_NEW;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const double ln2 = log(2);
    const double keys = (double)given->keys;
    double bits = (double)given->bits;
    double probes = given->probes;
    (void)variant;
    if (given->bits == 0 && given->probes == 0) {
        if (given->keys == 0 || !(given->rate > 0 && given->rate < 1))
            return wrong_numbers(error);
        bits = fabs(ceil(keys * log(given->rate) / (ln2 * ln2)));
        probes = ceil(ln2 * bits / keys);
    }
    if (!(bits >= 1 && bits <= (double)BLOOMERY_BITS_MAX) ||
        !(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX))
        return wrong_numbers(error);
    lay_out(design, (uint64_t)bits, (uint32_t)probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status check_header(const uint8_t *data, size_t bytes, bloomery_error *error)
{
    if (bytes >= 2 && data[0] == 0x1f && data[1] == 0x8b)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "compressed by gzip: unpack it before it is read");
    if (bytes > 0 && data[0] != VERSION)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, 0,
                             "filters of DCSO's begin with version 1, not %u", data[0]);
    if (bytes < HEADER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of DCSO's begins with 48 bytes, there are %zu",
                             bytes);
    if (bloomery_load_u64(data) != VERSION)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 1,
                             "flags are set that version 1 does not have");
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    (void)variant;
    bloomery_status status = check_header(data, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    const double rate = bloomery_load_f64(data + 16);
    const uint64_t probes = bloomery_load_u64(data + 24);
    const uint64_t bits = bloomery_load_u64(data + 32);
    const uint64_t words = bits / 64 + (bits % 64 != 0);
    if (probes == 0 || bits == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 24,
                             "%llu probes in %llu bits: such a filter contains everything",
                             (unsigned long long)probes, (unsigned long long)bits);
    if (probes > BLOOMERY_POSITIONS_MAX || !(rate >= 0 && rate <= 1))
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, 16,
            "damaged: %llu probes are more than 1024, or the rate is not between 0 and 1",
            (unsigned long long)probes);
    if (words > (bytes - HEADER) / 8)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: %llu bits take %llu words, there is room for %zu",
                             (unsigned long long)bits, (unsigned long long)words,
                             (bytes - HEADER) / 8);
    lay_out(design, bits, (uint32_t)probes);
    design->layers[0].keys = bloomery_load_u64(data + 8);
    design->layers[0].rate = rate;
    design->layers[0].adds = bloomery_load_u64(data + 40);
    design->bits[0] = data + HEADER;
    design->bit_bytes[0] = words * 8;
    design->extra = data + HEADER + (size_t)words * 8;
    design->extra_bytes = bytes - HEADER - (size_t)words * 8;
    assert(HEADER + words * 8 + design->extra_bytes == bytes);
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    uint8_t header[HEADER];
    assert(bloomery_dialect_fits(&bloomery_dialect_dcso, filter, NULL) == BLOOMERY_OK);
    assert(layer->bits > 0 && layer->probes > 0); /* else it would contain everything */
    bloomery_store_u64(header, VERSION);
    bloomery_store_u64(header + 8, layer->keys);
    bloomery_store_f64(header + 16, layer->rate);
    bloomery_store_u64(header + 24, layer->probes);
    bloomery_store_u64(header + 32, layer->bits);
    bloomery_store_u64(header + 40, layer->adds);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    if (status == BLOOMERY_OK)
        status = bloomery_emit_bits(emitter, layer, bloomery_words_of(layer->bits) * 8,
                                    BLOOMERY_LAYOUT_BYTES);
    if (status == BLOOMERY_OK)
        status = bloomery_emit(emitter, bloomery_cold_in(filter)->extra,
                               bloomery_cold_in(filter)->extra_bytes);
    return status;
}

/* If no rate was planned: the rate when half of the bits are set. */
static bool remark_half(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const double keys = floor(log(2) * (double)layer->bits / layer->probes);
    struct bloomery_phrase is, usual;
    if (layer->rate > 0 || keys < 1)
        return false;
    const double rate = filter->kind->expected_rate(layer, (uint64_t)keys);
    const double classic = exp2(-(double)layer->probes);
    if (!(rate > 1.5 * classic))
        return false;
    snprintf(text, room,
             "half full, with %llu keys, this dialect's rate at this size is %s, not the %s of the "
             "usual formula",
             (unsigned long long)keys, bloomery_phrase_rate(&is, rate),
             bloomery_phrase_rate(&usual, classic));
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_dcso = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_DCSO,
            .name = "dcso",
            .description = "DCSO's filters, version 1, not compressed",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .hashes = {&fnv1_modulo},
    .schemes = {&modular_chain},
    .others = "DCSO's filters hash by FNV-1 and step by products",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_remark_rate, remark_half},
};

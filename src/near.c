/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Near-duplicates: signatures, bands, and how many of each.
 *
 * Words are hashed as keys. The hash of a shingle is the polynomial of its words' hashes, modulo
 * 2^64 and mixed, so that the next shingle's follows from it by two products:
 *
 *     words w0 w1 w2 w3 ...      first   ((w0 M + w1) M + w2) ...      n words
 *                                next    first M + wn - w0 M^n
 *
 * A signature by one hash a shingle. The hash of a shingle selects one of the signature's places,
 * and the least hash of each place is kept (one-permutation hashing). Two documents have the same
 * least hash at a place as often as the similarity of their shingles says, since that shingle is
 * the first in a random order of both sets together. MinHash as it was first described computes a
 * hash a place and shingle, 128 times the work.
 *
 *     hash       place (upper 32 bits * values >> 32)    value (lower 32 bits)
 *     6d3f...    54                                      ...9a07
 *
 * Short documents leave places empty. An empty place takes the value of another one: of the first
 * that is not empty, in an order of all places that follows from its own number alone. Two
 * documents whose sets are equal in that first place have the same value in both. The order of each
 * place is an order of its own, so that of few values each is taken about as often (optimal
 * densification, Shrivastava 2017). docs/near.md has what other ways to fill them measure.
 *
 *     place 7:    54 3 96 3 11 ...  (32 draws)    then the other places by their ranks
 *
 * The draws alone would find a place, too. Of few full ones each takes a draw after draw, about
 * values^2 / full for all places, where ranks of the full ones take values * full.
 *
 * Values are the hash's lower half, and order is decided by the upper half first. So values of
 * long documents, whose least hashes are all small, still have 32 bits.
 */
#include <bloomery/near.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/versioned.h"
#include "hash/hashes.h"
#include "library.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    VALUES_DEFAULT = 128,
    WORDS_DEFAULT = 5,
    FIRST_BYTES = sizeof(bloomery_near), /* of version 0.1 */
    BLOCK = 512,                         /* words that are hashed at once */
    DRAW_STEPS = 8,                      /* steps of four places each, before ranks decide */
};

#define RATE_DEFAULT        1e-5
#define MISS_WEIGHT_DEFAULT 0.7

/* ---- The plan -------------------------------------------------------------------------------- */

static double power(double base, uint32_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            result *= base;
        base *= base;
    }
    return result;
}

enum { STEPS = 256 }; /* of the curve on either side of the threshold */

/* Bands and rows with the least weighted error. Both areas are sums over the middles of equal
 * steps. For a number of rows the curves of 1, 2, 3 ... bands follow from each other. */
static void choose_bands(bloomery_near *near, double threshold, double miss_weight)
{
    double best = 2;
    for (uint32_t rows = 1; rows <= near->values; rows++) {
        double unlike[2 * STEPS], missed[2 * STEPS];
        for (uint32_t i = 0; i < 2 * STEPS; i++) {
            const double part = (i % STEPS + 0.5) / STEPS;
            const double similarity =
                i < STEPS ? part * threshold : threshold + part * (1 - threshold);
            unlike[i] = 1 - power(similarity, rows); /* a band is not the same */
            missed[i] = 1;
        }
        for (uint32_t bands = 1; bands <= near->values / rows; bands++) {
            double found_below = 0, missed_above = 0;
            for (uint32_t i = 0; i < STEPS; i++) {
                missed[i] *= unlike[i];
                found_below += 1 - missed[i];
                missed[STEPS + i] *= unlike[STEPS + i];
                missed_above += missed[STEPS + i];
            }
            const double error = ((1 - miss_weight) * found_below * threshold +
                                  miss_weight * missed_above * (1 - threshold)) /
                                 STEPS;
            if (error < best) {
                best = error;
                near->bands = bands;
                near->rows = rows;
            }
        }
    }
}

static bloomery_status bad(bloomery_error *error, const char *text)
{
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "%s", text);
}

static bool is_share(double number)
{
    return number > 0 && number < 1;
}

/* Checks what the caller asks for, and fills the numbers that have defaults. */
static bloomery_status read_wishes(bloomery_near *near, bloomery_error *error)
{
    const uint64_t values = near->permutations > 0 ? near->permutations : VALUES_DEFAULT;
    const uint64_t product = (uint64_t)near->forced_bands * near->forced_rows;
    if (!is_share(near->threshold))
        return bad(error, "the threshold is a similarity above 0 and below 1, such as 0.8; a "
                          "filter of whole texts finds equal ones");
    if (near->rate != 0 && !is_share(near->rate))
        return bad(error, "the rate is above 0 and below 1, or 0 for 1 in 100,000");
    if (near->miss_weight != 0 && !is_share(near->miss_weight))
        return bad(error, "miss_weight is above 0 and below 1, or 0 for 0.7");
    if (values > BLOOMERY_NEAR_VALUES_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a signature has 1 to %u values, not %u", BLOOMERY_NEAR_VALUES_MAX,
                             near->permutations);
    if (near->shingle > BLOOMERY_NEAR_WORDS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a shingle has 1 to %u words, not %u",
                             BLOOMERY_NEAR_WORDS_MAX, near->shingle);
    if ((near->forced_bands > 0) != (near->forced_rows > 0))
        return bad(error, "bands and rows are forced together: give both or neither");
    if (product > values)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%u bands of %u values are %llu, and a signature has %llu: give fewer "
                             "bands or rows, or more permutations",
                             near->forced_bands, near->forced_rows, (unsigned long long)product,
                             (unsigned long long)values);
    near->values = (uint32_t)values;
    near->words = near->shingle > 0 ? near->shingle : WORDS_DEFAULT;
    near->bands = near->forced_bands;
    near->rows = near->forced_rows;
    return BLOOMERY_OK;
}

/* The filter's part. One wrong band of a document is enough to find it, so a key's rate is about
 * the document's, divided by the bands. */
static bloomery_status plan_filter(bloomery_near *near, bloomery_error *error)
{
    const double rate = near->rate > 0 ? near->rate : RATE_DEFAULT;
    near->key_rate = -expm1(log1p(-rate) / near->bands);
    near->keys = near->bytes = 0;
    if (near->documents > BLOOMERY_KEYS_MAX / near->bands)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu documents of %u bands are more keys than the %llu that a filter "
                             "can have",
                             (unsigned long long)near->documents, near->bands,
                             (unsigned long long)BLOOMERY_KEYS_MAX);
    if (near->documents == 0)
        return BLOOMERY_OK;
    bloomery_plan plan = {.keys = near->documents * near->bands, .rate = near->key_rate};
    const bloomery_status status = bloomery_plan_solve(&plan, NULL, error);
    near->keys = plan.keys;
    near->bytes = plan.planned_bytes;
    return status;
}

static bloomery_status read_near(const bloomery_near *given, bloomery_near *near,
                                 bloomery_error *error)
{
    return bloomery_versioned_read(given, FIRST_BYTES, near, sizeof(*near), "BLOOMERY_NEAR", error);
}

bloomery_status bloomery_near_plan(bloomery_near *near, bloomery_error *error)
{
    bloomery_near solved;
    bloomery_status status = read_near(near, &solved, error);
    if (status == BLOOMERY_OK)
        status = read_wishes(&solved, error);
    if (status != BLOOMERY_OK)
        return status;
    if (solved.bands == 0)
        choose_bands(&solved, solved.threshold,
                     solved.miss_weight > 0 ? solved.miss_weight : MISS_WEIGHT_DEFAULT);
    assert(solved.bands > 0 && solved.rows > 0 && solved.bands * solved.rows <= solved.values);
    status = plan_filter(&solved, error);
    if (status == BLOOMERY_OK)
        bloomery_versioned_give(&solved, sizeof(solved), near, FIRST_BYTES);
    return status;
}

/* Whether it was planned, or was filled in as a plan is. */
static bool is_planned(const bloomery_near *near)
{
    return near->values > 0 && near->values <= BLOOMERY_NEAR_VALUES_MAX && near->words > 0 &&
           near->words <= BLOOMERY_NEAR_WORDS_MAX && near->bands > 0 && near->rows > 0 &&
           (uint64_t)near->bands * near->rows <= near->values;
}

double bloomery_near_rate(const bloomery_near *near, double similarity)
{
    if (!is_planned(near))
        return 1;
    const double s = similarity > 0 ? similarity < 1 ? similarity : 1 : 0;
    const double by_chance = -expm1(near->bands * log1p(-near->key_rate));
    const double missed = power(1 - power(s, near->rows), near->bands);
    return (1 - missed) + missed * by_chance;
}

double bloomery_near_similarity(const bloomery_near *near, uint32_t bands)
{
    if (!is_planned(near) || bands >= near->bands)
        return 1;
    return bands > 0 ? pow((double)bands / near->bands, 1.0 / near->rows) : 0;
}

/* ---- Signatures ------------------------------------------------------------------------------ */

/* The least hash of each place; UINT64_MAX: none. A shingle with that very hash is left out. */
struct sketch {
    uint32_t values;
    uint64_t least[BLOOMERY_NEAR_VALUES_MAX];
};

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* A bijection of 64-bit numbers (SplitMix64's). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Adds shingles 0 to count - 1 of `length` words each; shingle i begins at word i. */
static void add_shingles(struct sketch *sketch, const uint64_t *words, size_t count, size_t length)
{
    uint64_t polynomial = 0, leaving = 1;
    for (size_t i = 0; i < length; i++) {
        polynomial = polynomial * MULTIPLIER + words[i];
        leaving *= MULTIPLIER;
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            polynomial = polynomial * MULTIPLIER + (words[i + length - 1] - words[i - 1] * leaving);
        const uint64_t hash = mix(polynomial);
        uint64_t *least = &sketch->least[(hash >> 32) * sketch->values >> 32];
        if (hash < *least)
            *least = hash;
    }
}

/* Number `step` of the row in which place `place` looks for a value, four places of 16 bits; from
 * DRAW_STEPS on the rank that place number step - DRAW_STEPS has for it. */
static uint64_t row_of(uint32_t place, uint32_t step)
{
    return mix(((uint64_t)(place + 1) << 32 | step) * MULTIPLIER);
}

/* The hashes of words `first` to first + count - 1, at most BLOCK, without those that do not
 * exist. Returns how many. */
static size_t hash_words(const struct bloomery_input *input, const bloomery_filter *hasher,
                         size_t first, size_t count, uint64_t *words)
{
    struct bloomery_compact compact; /* large: not filled */
    assert(count <= BLOCK);
    if (input->valid == NULL)
        bloomery_key_hasher_of(input, hasher)(input, hasher, first, count, compact.hashes);
    else
        count = bloomery_input_compact(input, hasher, first, count, &compact);
    for (size_t i = 0; i < count; i++)
        words[i] = compact.hashes[i].hi;
    return count;
}

/* The value of a place that is empty. `full`: the places that are not, one or more. */
static uint32_t borrow(const struct sketch *sketch, uint32_t place, const uint16_t *full,
                       uint32_t count)
{
    assert(count > 0 && sketch->least[place] == UINT64_MAX);
    for (uint32_t step = 0; step < DRAW_STEPS; step++) {
        const uint64_t four = row_of(place, step);
        for (unsigned shift = 0; shift < 64; shift += 16) {
            const uint64_t least = sketch->least[(four >> shift & 0xffff) * sketch->values >> 16];
            if (least != UINT64_MAX)
                return (uint32_t)least;
        }
    }
    uint64_t first = UINT64_MAX;
    uint32_t from = full[0];
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t rank = row_of(place, DRAW_STEPS + full[i]);
        from = rank < first ? full[i] : from;
        first = rank < first ? rank : first;
    }
    return (uint32_t)sketch->least[from];
}

static void write_signature(const struct sketch *sketch, uint32_t *signature)
{
    uint16_t full[BLOOMERY_NEAR_VALUES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sketch->values; i++)
        if (sketch->least[i] != UINT64_MAX)
            full[count++] = (uint16_t)i;
    const uint32_t only = count > 0 ? (uint32_t)sketch->least[full[0]] : UINT32_MAX;
    for (uint32_t i = 0; i < sketch->values; i++)
        signature[i] = sketch->least[i] != UINT64_MAX ? (uint32_t)sketch->least[i]
                       : count < 2                    ? only
                                                      : borrow(sketch, i, full, count);
}

bloomery_status bloomery_signature_of(const bloomery_near *near, const bloomery_filter *hasher,
                                      const bloomery_keys *words, uint32_t *signature,
                                      bloomery_error *error)
{
    struct bloomery_input input;
    struct sketch sketch; /* large: only the places in use are filled */
    /* The hashes of words, those that the next shingles begin with first. */
    uint64_t hashes[BLOOMERY_NEAR_WORDS_MAX - 1 + BLOCK];
    size_t kept = 0;
    bool shingled = false;
    if (!is_planned(near))
        return bad(error, "there is no plan yet: call bloomery_near_plan first");
    bloomery_status status = bloomery_keys_read(hasher, words, &input, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_hash(hasher, error);
    if (status == BLOOMERY_OK && (uint32_t)hasher->shape.hash >= BLOOMERY_HASH_FOREIGN)
        status = bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                               "filters of other systems can't hash words; bloomery_new(0, 0.5) "
                               "makes one that can");
    if (status != BLOOMERY_OK)
        return status;
    sketch.values = near->values;
    memset(sketch.least, 0xff, sketch.values * sizeof(sketch.least[0]));
    for (size_t i = 0; i < words->count; i += BLOCK) {
        const size_t now = words->count - i < BLOCK ? words->count - i : (size_t)BLOCK;
        kept += hash_words(&input, hasher, i, now, hashes + kept);
        assert(kept <= sizeof(hashes) / sizeof(hashes[0]));
        if (kept < near->words)
            continue;
        const size_t shingles = kept - near->words + 1;
        add_shingles(&sketch, hashes, shingles, near->words);
        shingled = true;
        kept -= shingles;
        memmove(hashes, hashes + shingles, kept * sizeof(hashes[0]));
    }
    if (!shingled && kept > 0)
        add_shingles(&sketch, hashes, 1, kept);
    write_signature(&sketch, signature);
    return BLOOMERY_OK;
}

bloomery_keys bloomery_bands_of(const bloomery_near *near, const uint32_t *signature, void *room)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    uint8_t *to = room;
    keys.form = BLOOMERY_KEYS_FIXED;
    keys.data = room;
    if (!is_planned(near))
        return keys;
    keys.count = near->bands;
    keys.width = 4 * (1 + (size_t)near->rows);
    for (uint32_t band = 0; band < near->bands; band++) {
        bloomery_store_u32(to, band);
        to += 4;
        for (uint32_t row = 0; row < near->rows; row++, to += 4)
            bloomery_store_u32(to, *signature++);
    }
    assert((size_t)(to - (uint8_t *)room) == bloomery_bands_bytes(near));
    return keys;
}

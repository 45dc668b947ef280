/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elimination and back substitution over GF(2), with 64 unknowns in an equation:
 *
 *     row p        p+1 ... p+63
 *     | 1 | c1 | c2 | ... | c63 | = fingerprint         band[p]: the equation that begins at row p
 *         | 1 | c1 | ...        | = ...
 *
 * A key's equation is XORed with the one of its first row until it begins at a row without one,
 * which it takes. If nothing is left of it, it follows from others: its fingerprint agrees by
 * chance, or it fails. Then the bucket's threshold rises until the key is below, and the keys of
 * the bucket that start below are bumped. The rows that they took are emptied again. Keys come by
 * falling start, so no equation that stays rests on one of those.
 */
#include "builder/section.h"

#include "base/bytes.h"
#include "base/cpu.h"

#include <string.h>

enum { COLUMNS_ROOM = 56 /* r + 1, in whole planes */ };

#define NOWHERE UINT32_MAX

#define INTO_CALLER static inline __attribute__((always_inline))

/* A row that a key of the newest bucket took. */
struct taken {
    uint32_t offset; /* of the key in its bucket */
    uint32_t row;
};

static size_t words_of(const struct bloomery_ribbon *ribbon)
{
    return (size_t)bloomery_ribbon_section_blocks(ribbon) * (ribbon->columns + 1U);
}

static size_t rows_of(const struct bloomery_ribbon *ribbon)
{
    return (size_t)ribbon->starts + BLOOMERY_RIBBON_WIDTH;
}

size_t bloomery_section_bytes(const struct bloomery_ribbon *ribbon)
{
    return (size_t)bloomery_ribbon_up(rows_of(ribbon) * sizeof(struct bloomery_band) +
                                      words_of(ribbon) * sizeof(uint64_t) +
                                      bloomery_ribbon_section_buckets(ribbon));
}

void bloomery_section_start(struct bloomery_section *section, const struct bloomery_ribbon *ribbon,
                            uint32_t layer, void *memory)
{
    struct bloomery_band *band = memory;
    uint64_t *words = (uint64_t *)(void *)(band + rows_of(ribbon));
    *section = (struct bloomery_section){
        .ribbon = ribbon,
        .layer = layer,
        .band = band,
        .words = words,
        .thresholds = (uint8_t *)(words + words_of(ribbon)),
    };
}

struct bloomery_section_run bloomery_section_run_of(const struct bloomery_ribbon *ribbon,
                                                    uint64_t number, uint32_t plane)
{
    const uint64_t blocks = bloomery_ribbon_section_blocks(ribbon);
    struct bloomery_section_run run = {0, 0, 0};
    for (uint32_t i = 0; i <= plane; i++) {
        run.from += run.words;
        run.to = bloomery_ribbon_word(ribbon, i, number * blocks);
        run.words = (size_t)(bloomery_ribbon_word(ribbon, i, (number + 1) * blocks) - run.to);
    }
    return run;
}

/* ---- Elimination ----------------------------------------------------------------------------- */

/* A key on its way to the row that it takes. */
struct going {
    uint64_t coefficients;
    uint64_t fingerprint;
    uint32_t at;     /* where its equation begins by now; NOWHERE: it is not on its way */
    uint32_t offset; /* in its bucket */
    bool failed;
};

/* The keys of one bucket, by falling start. */
struct bucket {
    const struct bloomery_section *section;
    const bloomery_hash *keys;
    size_t left; /* not yet on their way: the first ones */
    struct taken taken[BLOOMERY_RIBBON_BUCKET + BLOOMERY_RIBBON_WIDTH];
    uint32_t taken_count;
};

enum step { MOVED, ARRIVED, FAILED };

INTO_CALLER struct going begin(struct bucket *bucket)
{
    const struct bloomery_section *section = bucket->section;
    if (bucket->left == 0)
        return (struct going){.at = NOWHERE};
    const bloomery_hash key = bucket->keys[--bucket->left];
    const uint64_t x = bloomery_equation_x(key, section->layer);
    const uint32_t start = bloomery_equation_start(x, section->ribbon);
    return (struct going){
        .coefficients = bloomery_equation_c(key.lo, section->layer),
        .fingerprint = bloomery_equation_f(key.lo, section->layer),
        .at = start,
        .offset = start % BLOOMERY_RIBBON_BUCKET,
    };
}

/* One row further. It has arrived if that row is free, or if it follows from others and holds. */
INTO_CALLER enum step step(struct bucket *bucket, struct going *key, uint64_t columns)
{
    struct bloomery_band *row = &bucket->section->band[key->at];
    if (row->coefficients == 0) {
        assert(bucket->taken_count < sizeof bucket->taken / sizeof bucket->taken[0]);
        *row = (struct bloomery_band){key->coefficients, key->fingerprint};
        bucket->taken[bucket->taken_count++] = (struct taken){key->offset, key->at};
        return ARRIVED;
    }
    key->coefficients ^= row->coefficients;
    key->fingerprint ^= row->fingerprint;
    if (key->coefficients == 0)
        return (key->fingerprint & columns) == 0 ? ARRIVED : FAILED;
    const uint32_t zeros = (uint32_t)__builtin_ctzll(key->coefficients);
    key->coefficients >>= zeros;
    key->at += zeros;
    return MOVED;
}

/* The lowest threshold that bumps a key at this offset; what such keys took is emptied. */
static uint32_t bump(const struct bucket *bucket, uint32_t offset)
{
    uint32_t threshold = 1;
    while (bloomery_ribbon_cut(threshold) <= offset)
        threshold++;
    for (uint32_t i = 0; i < bucket->taken_count; i++)
        if (bucket->taken[i].offset < bloomery_ribbon_cut(threshold))
            bucket->section->band[bucket->taken[i].row] = (struct bloomery_band){0, 0};
    return threshold;
}

/* Two keys are on their way at a time, since each waits for its last row. The later one stays behind
 * the earlier one, in rows that this one does not change any more; so all is as if one went after the
 * other. Keys that come after one that failed start below it and are bumped too. */
static uint32_t solve_bucket(const struct bloomery_section *section, const bloomery_hash *keys,
                             size_t count)
{
    const uint64_t columns = (UINT64_C(2) << section->ribbon->columns) - 1;
    struct bucket bucket;
    bucket.section = section;
    bucket.keys = keys;
    bucket.left = count;
    bucket.taken_count = 0;
    struct going earlier = begin(&bucket);
    struct going later = begin(&bucket);
    while (earlier.at != NOWHERE) {
        enum step done = step(&bucket, &earlier, columns);
        if (done == FAILED)
            return bump(&bucket, earlier.offset);
        if (done == ARRIVED) {
            earlier = later;
            later = begin(&bucket);
        } else if (later.at < earlier.at) {
            done = step(&bucket, &later, columns);
            if (done == FAILED)
                later = (struct going){.at = NOWHERE, .offset = later.offset, .failed = true};
            else if (done == ARRIVED)
                later = begin(&bucket);
        }
    }
    return earlier.failed ? bump(&bucket, earlier.offset) : 0;
}

/* ---- Back substitution ----------------------------------------------------------------------- */

/* From the last row to the first. Bit i of state[j] is column j of row p + i. A row without an
 * equation is 0 in all columns. `planes` is a constant in most calls. */
INTO_CALLER void substitute_planes(struct bloomery_section *section, uint64_t number,
                                   const uint32_t planes)
{
    const struct bloomery_ribbon *ribbon = section->ribbon;
    const uint64_t first = number * bloomery_ribbon_section_blocks(ribbon);
    uint64_t state[COLUMNS_ROOM] = {0};
    for (size_t row = rows_of(ribbon); row-- > 0;) {
        const struct bloomery_band band = section->band[row];
        for (uint32_t j = 0; j < planes * BLOOMERY_RIBBON_PLANE; j++) {
            const uint64_t moved = state[j] << 1;
            const uint64_t ones = (uint64_t)__builtin_popcountll(moved & band.coefficients);
            state[j] = moved | ((ones ^ band.fingerprint >> j) & 1);
        }
        if (row % BLOOMERY_RIBBON_WIDTH != 0)
            continue;
        const uint64_t block = first + row / BLOOMERY_RIBBON_WIDTH;
        const uint32_t columns = ribbon->columns + (uint32_t)(block >= ribbon->wide_from);
        for (uint32_t plane = 0; plane < planes; plane++) {
            const struct bloomery_section_run run = bloomery_section_run_of(ribbon, number, plane);
            uint64_t *to =
                section->words + run.from + (bloomery_ribbon_word(ribbon, plane, block) - run.to);
            memcpy(to, state + (size_t)plane * BLOOMERY_RIBBON_PLANE,
                   bloomery_ribbon_words(columns, plane) * sizeof *to);
        }
    }
}

INTO_CALLER void substitute_any(struct bloomery_section *section, uint64_t number)
{
    const uint32_t planes = section->ribbon->columns / BLOOMERY_RIBBON_PLANE + 1;
    assert(planes * BLOOMERY_RIBBON_PLANE <= COLUMNS_ROOM);
    if (planes == 1)
        substitute_planes(section, number, 1);
    else if (planes == 2)
        substitute_planes(section, number, 2);
    else
        substitute_planes(section, number, planes);
}

static void substitute_scalar(struct bloomery_section *section, uint64_t number)
{
    substitute_any(section, number);
}

#if defined(__x86_64__)
__attribute__((target("popcnt,bmi,bmi2,avx2"))) static void
substitute_avx2(struct bloomery_section *section, uint64_t number)
{
    substitute_any(section, number);
}

#if defined(__clang__)
#define WIDE_VECTORS
#else
#define WIDE_VECTORS ",prefer-vector-width=512" /* else gcc takes half of them */
#endif

__attribute__((
    target("popcnt,bmi,bmi2,avx2,avx512f,avx512vl,avx512vpopcntdq" WIDE_VECTORS))) static void
substitute_avx512(struct bloomery_section *section, uint64_t number)
{
    substitute_any(section, number);
}
#endif

static void substitute(struct bloomery_section *section, uint64_t number)
{
#if defined(__x86_64__)
    const enum bloomery_cpu level = bloomery_cpu_level();
    if (level >= BLOOMERY_CPU_VPOPCNTDQ) {
        substitute_avx512(section, number);
        return;
    }
    if (level >= BLOOMERY_CPU_AVX2) {
        substitute_avx2(section, number);
        return;
    }
#endif
    substitute_scalar(section, number);
}

/* ---- A section ------------------------------------------------------------------------------- */

void bloomery_section_solve(struct bloomery_section *section, uint64_t number, bloomery_hash *keys,
                            size_t count)
{
    const struct bloomery_ribbon *ribbon = section->ribbon;
    const uint64_t buckets = bloomery_ribbon_section_buckets(ribbon);
    size_t from = 0;
    section->bumped_count = 0;
    memset(section->band, 0, rows_of(ribbon) * sizeof *section->band);
    for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        const uint64_t behind = (bucket + 1) * BLOOMERY_RIBBON_BUCKET;
        size_t to = from;
        while (to < count && bloomery_equation_start(bloomery_equation_x(keys[to], section->layer),
                                                     ribbon) < behind)
            to++;
        const uint32_t threshold = solve_bucket(section, keys + from, to - from);
        const uint64_t first = bucket * BLOOMERY_RIBBON_BUCKET + bloomery_ribbon_cut(threshold);
        section->thresholds[bucket] = (uint8_t)threshold;
        for (size_t i = from; threshold > 0 && i < to; i++) {
            const uint64_t x = bloomery_equation_x(keys[i], section->layer);
            if (bloomery_equation_start(x, ribbon) >= first)
                break;
            const bloomery_hash bumped = keys[i];
            keys[i] = keys[section->bumped_count];
            keys[section->bumped_count++] = bumped;
        }
        from = to;
    }
    assert(from == count);
    substitute(section, number);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    /* Files have little-endian words. */
    for (size_t i = 0; i < words_of(section->ribbon); i++)
        section->words[i] = __builtin_bswap64(section->words[i]);
#endif
}

bool bloomery_section_holds(const struct bloomery_section *section, uint64_t number,
                            bloomery_hash hash)
{
    const struct bloomery_ribbon *ribbon = section->ribbon;
    const struct bloomery_equation equation = bloomery_equation_of(hash, section->layer, ribbon);
    const uint32_t columns = ribbon->columns + (uint32_t)(equation.block >= ribbon->wide_from);
    const uint64_t first = equation.coefficients << equation.shift;
    const uint64_t second = equation.coefficients >> 1 >> (63 - equation.shift);
    uint64_t differ = 0;
    for (uint32_t j = 0, plane = 0; j < columns; plane++) {
        const struct bloomery_section_run run = bloomery_section_run_of(ribbon, number, plane);
        const uint64_t *words = section->words + run.from - run.to;
        const uint64_t *block = words + bloomery_ribbon_word(ribbon, plane, equation.block);
        const uint64_t *next = words + bloomery_ribbon_word(ribbon, plane, equation.block + 1);
        for (uint32_t i = 0; i < BLOOMERY_RIBBON_PLANE && j < columns; i++, j++) {
            const uint64_t bits =
                (bloomery_load_u64(block + i) & first) ^ (bloomery_load_u64(next + i) & second);
            differ |= (uint64_t)__builtin_parityll(bits) ^ (equation.fingerprint >> j & 1);
        }
    }
    return differ == 0;
}

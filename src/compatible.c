/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two filters fit together. All that decides a key's cells must be the same. It is compared
 * in the order in which one would look for the mistake. The first that differs is reported with
 * both its values, in words.
 */
#include "merge.h"

#include "base/error.h"

#include <bloomery/records.h>

#include <string.h>

/* A number that must be the same, and how its value is said: before + number + after. */
struct number {
    const char *what;
    const char *before;
    const char *after;
    uint64_t one;
    uint64_t other;
};

static bloomery_status compare_numbers(const struct number *numbers, size_t count,
                                       bloomery_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i].one != numbers[i].other)
            return bloomery_fail(
                error, BLOOMERY_MISMATCH, 0, "%s differ: %s%llu%s, and %s%llu%s", numbers[i].what,
                numbers[i].before, (unsigned long long)numbers[i].one, numbers[i].after,
                numbers[i].before, (unsigned long long)numbers[i].other, numbers[i].after);
    return BLOOMERY_OK;
}

/* ---- Kinds and hashes ----------------------------------------------------------------------- */

static bloomery_status compare_kinds(const struct bloomery_shape *one,
                                     const struct bloomery_shape *other, bloomery_error *error)
{
    const struct number numbers[] = {
        {"the cells", "", " bits each", one->cell_bits, other->cell_bits},
        {"the dialects", "number ", "", one->dialect, other->dialect},
    };
    if (one->kind != other->kind)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "the kinds differ: %s, and %s",
                             bloomery_kind_name((int)one->kind),
                             bloomery_kind_name((int)other->kind));
    return compare_numbers(numbers, sizeof numbers / sizeof numbers[0], error);
}

static bloomery_status compare_hashes(const struct bloomery_shape *one,
                                      const struct bloomery_shape *other, bloomery_error *error)
{
    const struct number seed = {"the seeds", "", "", one->seed, other->seed};
    if (one->hash != other->hash)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "the hashes differ: %s, and %s",
                             one->hash_row->name, other->hash_row->name);
    bloomery_status status = compare_numbers(&seed, 1, error);
    if (status == BLOOMERY_OK && one->secret_fingerprint != other->secret_fingerprint)
        status =
            bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                          "the secrets differ: one with fingerprint %016llx, and one with %016llx",
                          (unsigned long long)one->secret_fingerprint,
                          (unsigned long long)other->secret_fingerprint);
    return status;
}

/* ---- Key rules ------------------------------------------------------------------------------ */

static bloomery_status differ(const char *one, const char *other, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "the key rules differ: %s, and %s", one,
                         other);
}

/* What a key is has to be the same. How records are laid out need not be. */
static bloomery_status compare_rules(uint32_t one, uint32_t other, bloomery_error *error)
{
    static const struct {
        uint32_t flag;
        const char *yes;
        const char *no;
    } words[] = {
        {BLOOMERY_RULE_TRIM, "blanks at both ends removed", "blanks kept"},
        {BLOOMERY_RULE_LOWER, "letters made lower case", "not made lower case"},
        {BLOOMERY_RULE_UPPER, "letters made upper case", "not made upper case"},
        {BLOOMERY_RULE_HEX, "hexadecimal digits made bytes", "digits kept"},
        {BLOOMERY_RULE_INT64, "numbers made 8 bytes", "numbers not made 8 bytes"},
        {BLOOMERY_RULE_INT32, "numbers made 4 bytes", "numbers not made 4 bytes"},
        {BLOOMERY_RULE_UTF16, "text made UTF-16", "not made UTF-16"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (((one ^ other) & words[i].flag) != 0)
            return differ((one & words[i].flag) != 0 ? words[i].yes : words[i].no,
                          (other & words[i].flag) != 0 ? words[i].yes : words[i].no, error);
    return BLOOMERY_OK;
}

/* ---- Geometry ------------------------------------------------------------------------------- */

bool bloomery_folds_between(uint64_t larger, uint64_t smaller, uint32_t *folds)
{
    *folds = 0;
    for (; larger > smaller && larger % 2 == 0; larger /= 2)
        ++*folds;
    return larger == smaller;
}

static bloomery_status compare_sizes(const struct bloomery_layer *one,
                                     const struct bloomery_layer *other, const char *cells,
                                     bool foreign, bloomery_error *error)
{
    uint32_t folds;
    if (one->bits == other->bits)
        return BLOOMERY_OK;
    if (foreign)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "the sizes differ: %llu %s, and %llu; filters of other systems fit "
                             "only where they are of one size",
                             (unsigned long long)one->bits, cells, (unsigned long long)other->bits);
    if (bloomery_folds_between(one->bits, other->bits, &folds) ||
        bloomery_folds_between(other->bits, one->bits, &folds))
        return BLOOMERY_OK;
    return bloomery_fail(
        error, BLOOMERY_MISMATCH, 0,
        "the sizes differ: %llu %s, and %llu; they fit only where halving the larger one, once or "
        "more, gives the smaller one: plan all parts for the same keys and rate",
        (unsigned long long)one->bits, cells, (unsigned long long)other->bits);
}

/* Layers of a chain differ among themselves in all of this. */
static bloomery_status compare_layers(const struct bloomery_layer *one,
                                      const struct bloomery_layer *other, const char *cells,
                                      bool foreign, bloomery_error *error)
{
    const struct number numbers[] = {
        {"the blocks of a key", "", "", one->blocks_per_key, other->blocks_per_key},
        {one->blocks_per_key > 0 ? "the bits of a key in a block" : "the bits of a key", "", "",
         one->probes, other->probes},
    };
    bloomery_status status = compare_numbers(numbers, sizeof numbers / sizeof numbers[0], error);
    return status == BLOOMERY_OK ? compare_sizes(one, other, cells, foreign, error) : status;
}

static bloomery_status compare_geometry(const bloomery_filter *one, const bloomery_filter *other,
                                        bloomery_error *error)
{
    const struct bloomery_shape *first = &one->shape;
    const struct bloomery_shape *second = &other->shape;
    const struct number numbers[] = {
        {"the blocks", "", " cells each", first->block_bits, second->block_bits},
        {"the block schemes", "number ", "", first->block_scheme, second->block_scheme},
        {"the probe schemes", "number ", "", first->probe_scheme, second->probe_scheme},
        {"the bit orders", "number ", "", first->bit_order, second->bit_order},
        {"the repeat schemes", "number ", "", first->repeat_scheme, second->repeat_scheme},
    };
    bloomery_status status = compare_numbers(numbers, sizeof numbers / sizeof numbers[0], error);
    if (status != BLOOMERY_OK || one->kind->grows)
        return status;
    return compare_layers(one->layers, other->layers, first->cell_bits > 1 ? "counters" : "bits",
                          one->foreign, error);
}

bloomery_status bloomery_compatible(const bloomery_filter *one, const bloomery_filter *other,
                                    bloomery_error *error)
{
    bloomery_status status = compare_kinds(&one->shape, &other->shape, error);
    if (status == BLOOMERY_OK)
        status = compare_hashes(&one->shape, &other->shape, error);
    if (status == BLOOMERY_OK)
        status = compare_rules(bloomery_rest_in(one)->rule.flags,
                               bloomery_rest_in(other)->rule.flags, error);
    if (status == BLOOMERY_OK)
        status = compare_geometry(one, other, error);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cuckoo_rate.h"

#include "base/error.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

/*
 * A table of n buckets answers "possibly" for pairs (bucket, fingerprint), which fall into classes
 * of two: a bucket and the other bucket of that fingerprint. A key belongs to one class for good,
 * however it is moved, and a query is a false positive exactly if its class has a key. h mod 255
 * and h mod n are independent, since 255 is odd, so each class has probability 2 / (255 n). Of m
 * keys, none is in a class with probability (1 - 2 / (255 n))^m:
 *
 *     rate = 1 - (1 - 2 / (255 n))^m
 *
 * While it is small that is 2 m / (255 n), or 2 b load / 255 with b slots in a bucket: for two of
 * them and a full table 1.6 %. So the rate falls with the buckets, and slots only decide how full
 * a table can be. A fingerprint f whose 0x5bd1e995 f is 0 modulo n has one bucket instead of two,
 * so its classes have half of that probability. The factor is odd: those are the multiples of n
 * among 1 to 255, and there are none from n = 256 on. The formula is exact for distinct keys that
 * are all in this table; a filter of several tables has 1 - product of (1 - rate).
 */
double bloomery_table_rate(uint64_t buckets, uint64_t keys)
{
    const uint64_t classes = BLOOMERY_PRINTS / buckets;
    const double alone = (double)classes / BLOOMERY_PRINTS;
    const double pair = 1 / ((double)BLOOMERY_PRINTS * (double)buckets);
    assert(buckets > 0 && alone <= 1);
    const double one = -expm1((double)keys * log1p(-pair));
    const double two = -expm1((double)keys * log1p(-2 * pair));
    return keys == 0 ? 0 : alone * one + (1 - alone) * two;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/*
 * How full a table can be before a key finds no slot, with 500 moves. The least over some hundred
 * tables of 2^6 to 2^20 buckets was 0.92 and 0.98 (planned_tables_take_their_keys). With buckets of
 * 1 and 2 slots a few keys in the same buckets suffice, and the larger a table is, the sooner there
 * are such: of 2^20 buckets, some were full at a load of 0.08 and 0.36. So plans do not use them.
 */
static const struct fit {
    uint32_t slots;
    double load;
} fits[] = {{4, 0.9}, {8, 0.97}};

enum { FITS = sizeof fits / sizeof fits[0] };

static const double rate_min = 1.0 / BLOOMERY_TABLE_RATE_INVERSE;

/* A table, and its keys. */
struct found {
    uint64_t buckets;
    uint32_t slots;
    uint64_t keys;
    double rate;
};

static uint64_t bytes_of(const struct found *found)
{
    const uint64_t slots = found->buckets * found->slots;
    return (slots + 63) / 64 * 64;
}

static bool holds(const struct fit *fit, uint64_t buckets, uint64_t keys)
{
    return (double)keys <= fit->load * (double)buckets * fit->slots;
}

/* The least table; false if it would have 2^32 slots. */
static bool least(const struct fit *fit, uint64_t keys, double rate, struct found *found)
{
    uint64_t buckets = 1;
    while (buckets * fit->slots < BLOOMERY_TABLE_SLOTS &&
           (!holds(fit, buckets, keys) || bloomery_table_rate(buckets, keys) > rate))
        buckets *= 2;
    *found = (struct found){buckets, fit->slots, keys, bloomery_table_rate(buckets, keys)};
    return buckets * fit->slots < BLOOMERY_TABLE_SLOTS;
}

/* The largest table in some memory; false if there is none. */
static bool most(const struct fit *fit, uint64_t bytes, struct found *found)
{
    *found = (struct found){.buckets = 1, .slots = fit->slots};
    if (bytes_of(found) > bytes)
        return false;
    for (struct found next = *found;; *found = next) {
        next.buckets *= 2;
        if (next.buckets * next.slots >= BLOOMERY_TABLE_SLOTS || bytes_of(&next) > bytes)
            return true;
    }
}

/* Fills in the keys that a table takes at a rate. */
static void fill_up(const struct fit *fit, double rate, struct found *found)
{
    const double pair = 2 / ((double)BLOOMERY_PRINTS * (double)found->buckets);
    const double by_rate = log1p(-rate) / log1p(-pair);
    const double by_load = fit->load * (double)found->buckets * found->slots;
    found->keys = (uint64_t)fmin(by_rate, by_load);
    while (found->keys > 0 && bloomery_table_rate(found->buckets, found->keys) > rate)
        found->keys--;
    found->rate = bloomery_table_rate(found->buckets, found->keys);
}

/* Whether a table is better than the best so far, for what was asked for. Of equals the first is
 * taken, which has fewer slots in a bucket. */
static bool is_better(const bloomery_plan *plan, const struct found *found,
                      const struct found *best)
{
    if (best->buckets == 0)
        return true;
    if (plan->bytes == 0)
        return bytes_of(found) < bytes_of(best);
    return plan->keys != 0 ? found->rate < best->rate : found->keys > best->keys;
}

static void choose(const bloomery_plan *plan, uint32_t slots, struct found *best)
{
    *best = (struct found){.buckets = 0};
    for (size_t i = 0; i < FITS; i++) {
        const struct fit *fit = &fits[i];
        struct found found = {.buckets = 1, .slots = fit->slots};
        bool good = true;
        if (slots > 0 && slots != fit->slots)
            continue;
        if (bloomery_plan_is_of_none(plan))
            good = fit->slots == 4 || slots > 0;
        else if (plan->bytes == 0)
            good = least(fit, plan->keys, plan->rate, &found);
        else
            good = most(fit, plan->bytes, &found);
        if (good && plan->bytes != 0 && plan->keys == 0)
            fill_up(fit, plan->rate, &found);
        if (good && plan->bytes != 0 && plan->keys != 0) {
            found.keys = plan->keys;
            found.rate = bloomery_table_rate(found.buckets, plan->keys);
            good = holds(fit, found.buckets, plan->keys);
        }
        if (good && is_better(plan, &found, best))
            *best = found;
    }
}

static bloomery_status check_options(const bloomery_plan_options *options, bloomery_error *error)
{
    const uint32_t slots = options->probes;
    bool known = slots == 0;
    for (size_t i = 0; i < FITS; i++)
        known = known || slots == fits[i].slots;
    if (options->hash != BLOOMERY_HASH_DEFAULT || options->blocks_per_key > 0 ||
        options->folds > 0 || (options->cell_bits != 0 && options->cell_bits != 8) || !known)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a cuckoo filter has its own hash, two buckets for a key and cells of "
                             "8 bits, and does not fold; it can be planned with 4 or 8 slots in a "
                             "bucket (probes)");
    return BLOOMERY_OK;
}

static bloomery_status refuse(const bloomery_plan *plan, bloomery_error *error)
{
    struct bloomery_phrase bytes;
    if (plan->bytes == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu keys at that rate take a table of 2^32 slots or more, which a "
                             "cuckoo filter cannot have: plan a counting filter, a higher rate, or "
                             "fewer keys",
                             (unsigned long long)plan->keys);
    if (plan->keys == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a cuckoo filter takes at least 64 bytes, not %s",
                             bloomery_phrase_bytes(&bytes, plan->bytes));
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%llu keys do not fit in a table of %s: a slot has 1 byte, and at most "
                         "97 %% of the slots are taken",
                         (unsigned long long)plan->keys,
                         bloomery_phrase_bytes(&bytes, plan->bytes));
}

bloomery_status bloomery_table_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                     bloomery_error *error)
{
    struct found found;
    bloomery_status status = bloomery_plan_check_numbers(plan, error);
    if (status == BLOOMERY_OK)
        status = check_options(options, error);
    if (status != BLOOMERY_OK)
        return status;
    if (plan->rate > 0 && plan->rate < rate_min)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a cuckoo filter has fingerprints of 8 bits, with which a rate below "
                             "1 in %d takes more memory than a counting filter: plan one of kind "
                             "counting, or a rate of 1 in %d or more",
                             BLOOMERY_TABLE_RATE_INVERSE, BLOOMERY_TABLE_RATE_INVERSE);
    choose(plan, options->probes, &found);
    if (found.buckets == 0 || (plan->bytes != 0 && found.keys == 0))
        return refuse(plan, error);
    if (plan->rate == 0 && found.rate > 0.5)
        return refuse(plan, error);
    const double keys = (double)found.keys;
    plan->blocks_per_key = 2;
    plan->probes = found.slots;
    plan->cell_bits = 8;
    plan->hash = BLOOMERY_HASH_DEFAULT;
    plan->bits = found.buckets * found.slots;
    plan->planned_keys = found.keys;
    plan->planned_rate = found.rate;
    plan->planned_bytes = bytes_of(&found);
    plan->bits_per_key = found.keys > 0 ? 8 * (double)plan->bits / keys : 0;
    plan->limit_ratio = found.rate > 0 ? plan->bits_per_key / -log2(found.rate) : 0;
    plan->absent_cache_lines = 2;
    plan->present_cache_lines = 1.5;
    assert(plan->bits < BLOOMERY_TABLE_SLOTS && found.rate <= 1);
    return BLOOMERY_OK;
}

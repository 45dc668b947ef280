/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: see plan/solve.h for how they are solved. */
#include "base/error.h"
#include "base/experimental.h"
#include "base/versioned.h"
#include "format/format.h"
#include "hash/hashes.h"
#include "kinds/chain.h"
#include "kinds/kinds.h"
#include "library.h"
#include "plan/cuckoo_rate.h"
#include "plan/ribbon.h"
#include "plan/solve.h"

#include <math.h>
#include <string.h>

/* Returns the row of a plan's kind, or NULL for an unknown one. A kind of 0 becomes `kind`. */
static const struct bloomery_kind_row *kind_of(bloomery_plan *plan, bloomery_kind kind,
                                               bloomery_error *error)
{
    if (plan->kind == BLOOMERY_KIND_DEFAULT)
        plan->kind = kind;
    const struct bloomery_kind_row *row = bloomery_kind_row((uint32_t)plan->kind);
    if (row == NULL)
        (void)bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                            "filters of kind %d are not available in this version",
                            (int)plan->kind);
    return row;
}

/* Solves a plan that was read. A kind of 0 is `kind`, and the plan then has that one. */
static bloomery_status solve(bloomery_plan *plan, bloomery_kind kind,
                             const bloomery_plan_options *given, bloomery_error *error)
{
    if (BLOOMERY_HAS_TABLES && plan->kind == BLOOMERY_CUCKOO)
        return bloomery_table_solve(plan, given, error);
    const struct bloomery_kind_row *row = kind_of(plan, kind, error);
    if (row == NULL)
        return BLOOMERY_UNSUPPORTED;
    plan->cell_bits = given->cell_bits;
    if (!row->adds)
        return bloomery_ribbon_solve(plan, given, error);
    return row->grows ? bloomery_chain_first(plan, given->blocks_per_key, given->probes,
                                             given->folds, given->hash, error)
                      : bloomery_solve(plan, given->blocks_per_key, given->probes, given->folds,
                                       given->hash, error);
}

bloomery_status bloomery_plan_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                    bloomery_error *error)
{
    bloomery_plan_options given;
    bloomery_plan solved;
    bloomery_status status = bloomery_plan_options_read(options, &given, error);
    if (status == BLOOMERY_OK)
        status = bloomery_plan_read(plan, &solved, error);
    if (status != BLOOMERY_OK)
        return status;
    if (given.hash != BLOOMERY_HASH_DEFAULT && bloomery_hash_find(given.hash) == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "hash %d does not exist: "
                             "bloomery_hash_id lists the hashes",
                             (int)given.hash);
    const bloomery_kind kind = solved.kind;
    status = solve(&solved, BLOOMERY_BLOCKED, &given, error);
    solved.kind = kind; /* the caller's, as keys, rate and bytes are */
    if (status == BLOOMERY_OK)
        bloomery_plan_give(&solved, plan);
    return status;
}

/*
 * Whether a solved plan of blocks was one of another kind of blocks. A scalable filter's planned
 * rate is the very one that was given, and its first layer has a quarter of it or less. Of the
 * others the planned rate is that of its blocks, which equals the given one by accident only. So
 * the rate of the blocks, some 0.2 ms, is rarely computed but for scalable filters.
 */
static bool changed_growth(const bloomery_plan *plan, bool grows)
{
    static const double rounding = 1 + 1e-6;
    if (!(plan->limit_ratio > 0 && plan->planned_rate > 0 && plan->planned_bytes > 0))
        return false; /* filled in by hand, in part at least, or for 0 keys */
    if (plan->bytes != 0 || (plan->rate != 0 && plan->rate != plan->planned_rate))
        return grows; /* not what solving a scalable plan leaves */
    const double rate = bloomery_geometry_rate(BLOOMERY_BLOCKED, plan->bits, plan->blocks_per_key,
                                               plan->probes, plan->hash, plan->planned_keys);
    return grows ? rate > plan->planned_rate * BLOOMERY_CHAIN_FIRST * rounding
                 : rate * rounding < plan->planned_rate;
}

/* Whether the cells of a plan take other memory than the planned bytes. */
static bool changed_memory(const bloomery_plan *plan)
{
    const uint64_t line = 8 * (uint64_t)BLOOMERY_PAYLOAD_UNIT;
    if (plan->planned_bytes == 0 || plan->bits > BLOOMERY_BITS_MAX)
        return false; /* too many bits are refused later */
    const uint64_t bits = plan->bits * bloomery_cell_bits(plan);
    return plan->planned_bytes != (bits + line - 1) / line * BLOOMERY_PAYLOAD_UNIT;
}

/* Whether a plan does not fit the fields that it was solved for. */
static bool was_changed(const bloomery_plan *plan, const struct bloomery_kind_row *row)
{
    static const double rounding = 1 + 1e-9;
    const bool counts = plan->kind == BLOOMERY_COUNTING;
    const bool flat = plan->kind == BLOOMERY_CLASSIC || !row->adds;
    return (plan->keys != 0 && plan->planned_keys != plan->keys) ||
           (plan->rate != 0 && !(plan->planned_rate <= plan->rate * rounding)) ||
           (plan->bytes != 0 && plan->planned_bytes > plan->bytes) ||
           (counts ? plan->cell_bits == 1 : plan->cell_bits > 1) ||
           flat != (plan->blocks_per_key == 0) || (row->adds && changed_memory(plan)) ||
           (!flat && changed_growth(plan, row->grows));
}

/* The plan of a cuckoo filter that was solved or filled in: its table is what was planned. */
static bloomery_status settle_table(const bloomery_plan *plan, bloomery_error *error)
{
    static const double rounding = 1 + 1e-9;
    const uint64_t buckets = plan->probes > 0 ? plan->bits / plan->probes : 0;
    if (buckets == 0 || (buckets & (buckets - 1)) != 0 || buckets * plan->probes != plan->bits)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a cuckoo filter has a power of two of buckets of `probes` slots, and "
                             "`bits` is the number of its slots");
    if ((plan->keys != 0 && plan->planned_keys != plan->keys) ||
        (plan->rate != 0 && !(plan->planned_rate <= plan->rate * rounding)) ||
        (plan->bytes != 0 && plan->planned_bytes > plan->bytes) || changed_memory(plan) ||
        plan->cell_bits != 8 || plan->blocks_per_key != 2)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the plan was changed after it was solved: call bloomery_plan_solve "
                             "again");
    return BLOOMERY_OK;
}

bloomery_status bloomery_plan_settle(const bloomery_plan *given, bloomery_kind kind,
                                     bloomery_plan *plan, bloomery_error *error)
{
    static const bloomery_plan_options none;
    const bloomery_status status = bloomery_plan_read(given, plan, error);
    if (status != BLOOMERY_OK)
        return status;
    if (plan->bits == 0 && (plan->blocks_per_key | plan->probes | plan->cell_bits) != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the plan has probes, blocks_per_key or cell_bits and no bits: to "
                             "force them, solve it with bloomery_plan_options");
    if (plan->bits == 0 && plan->hash != BLOOMERY_HASH_DEFAULT)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the plan has a hash and no bits: to force the hash, solve it with "
                             "bloomery_plan_options");
    if (plan->bits == 0)
        return solve(plan, kind, &none, error);
    if (BLOOMERY_HAS_TABLES && plan->kind == BLOOMERY_CUCKOO)
        return settle_table(plan, error);
    const struct bloomery_kind_row *row = kind_of(plan, kind, error);
    if (row == NULL)
        return BLOOMERY_UNSUPPORTED;
    /* Only solving fills or reads these fields. */
    if ((plan->keys != 0 || plan->rate != 0 || plan->bytes != 0 || plan->bits_per_key != 0) &&
        was_changed(plan, row))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the plan was changed after it was solved: call bloomery_plan_solve "
                             "again");
    return BLOOMERY_OK;
}

double bloomery_plan_rate(const bloomery_plan *given, uint64_t keys)
{
    bloomery_plan read;
    const bloomery_plan *plan = &read;
    if (bloomery_plan_read(given, &read, NULL) != BLOOMERY_OK)
        return 1;
    bloomery_kind kind = plan->kind == BLOOMERY_KIND_DEFAULT ? BLOOMERY_BLOCKED : plan->kind;
    const double rate = plan->planned_rate > 0 ? plan->planned_rate : plan->rate;
    if (BLOOMERY_HAS_TABLES && kind == BLOOMERY_CUCKOO)
        return plan->probes > 0 && plan->bits >= plan->probes
                   ? bloomery_table_rate(plan->bits / plan->probes, keys)
                   : 1;
    if (kind == BLOOMERY_STATIC) /* whatever the keys are, it is built for them */
        return keys == 0 ? 0 : rate > 0 && rate < 1 ? rate : 1;
    return bloomery_geometry_rate(kind, plan->bits, plan->blocks_per_key, plan->probes, plan->hash,
                                  keys);
}

bloomery_status bloomery_plan_layer(const bloomery_plan *given, uint32_t index,
                                    bloomery_plan *layer, bloomery_error *error)
{
    bloomery_plan read;
    const bloomery_plan *plan = &read;
    bloomery_status known = bloomery_plan_read(given, &read, error);
    if (known != BLOOMERY_OK)
        return known;
    const struct bloomery_kind_row *row = bloomery_kind_row((uint32_t)plan->kind);
    if (row == NULL || !row->grows || index >= BLOOMERY_CHAIN_MAX || plan->planned_keys == 0 ||
        !(plan->planned_rate > 0))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "layers 0 to 63 of a scalable filter have plans, once its own plan is "
                             "solved");
    bloomery_plan now = *plan;
    now.kind = BLOOMERY_BLOCKED;
    now.keys = plan->planned_keys;
    now.rate = now.planned_rate = plan->planned_rate * BLOOMERY_CHAIN_FIRST;
    const bloomery_hash_id hash =
        plan->hash != BLOOMERY_HASH_DEFAULT ? plan->hash : BLOOMERY_HASH_XXH3_64;
    now.hash = hash;
    for (uint32_t i = 0; i < index; i++) {
        const struct bloomery_layer newest = {.keys = now.planned_keys, .rate = now.planned_rate};
        bloomery_status status = bloomery_chain_next(&newest, &now, hash, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    now.limit_ratio = (double)now.bits / ((double)now.planned_keys * -log2(now.planned_rate));
    bloomery_plan_give(&now, layer);
    return BLOOMERY_OK;
}

/* ---- A caller's options ---------------------------------------------------------------------- */

/* What version 0.1 has of each struct. A later version adds its fields behind these, and reads a
 * struct of this length all the same. */
enum {
    PLAN_BYTES_FIRST = sizeof(bloomery_plan_options),
    CREATE_BYTES_FIRST = sizeof(bloomery_create_options),
    OPEN_BYTES_FIRST = sizeof(bloomery_open_options),
    SOLVED_BYTES_FIRST = sizeof(bloomery_plan),
};

static bloomery_status check_allocator(const bloomery_allocator *allocator, bloomery_error *error)
{
    if ((allocator->allocate == NULL) != (allocator->release == NULL) ||
        (allocator->allocate == NULL && allocator->allocate_zeroed != NULL))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "an allocator needs both allocate and release");
    return BLOOMERY_OK;
}

bloomery_status bloomery_rule_check(const bloomery_key_rule *rule, bloomery_error *error)
{
    if (bloomery_rule_is_sound(rule))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "no such key rule: of lower, upper, hex, int64 and int32 it has one at "
                         "most, utf16 only without the last three, a delimiter and CSV only with a "
                         "field, no field if the key lies elsewhere, bytes from 0 to 255, and "
                         "known flags (0x%x)",
                         rule->flags);
}

/* What a file keeps beside the bits. */
static bloomery_status check_remarks(const bloomery_key_rule *rule, const char *note,
                                     bloomery_error *error)
{
    const bloomery_status status = bloomery_rule_check(rule, error);
    if (status != BLOOMERY_OK)
        return status;
    if (note != NULL && strlen(note) > BLOOMERY_NOTE_BYTES)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a note has at most %d bytes",
                             BLOOMERY_NOTE_BYTES);
    return BLOOMERY_OK;
}

bloomery_status bloomery_plan_options_read(const bloomery_plan_options *given,
                                           bloomery_plan_options *options, bloomery_error *error)
{
    bloomery_status status = bloomery_versioned_read(
        given, PLAN_BYTES_FIRST, options, sizeof *options, "BLOOMERY_PLAN_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(&options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_create_options_read(const bloomery_create_options *given,
                                             bloomery_create_options *options,
                                             bloomery_error *error)
{
    bloomery_status status = bloomery_versioned_read(
        given, CREATE_BYTES_FIRST, options, sizeof *options, "BLOOMERY_CREATE_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_open_options_read(const bloomery_open_options *given,
                                           bloomery_open_options *options, bloomery_error *error)
{
    bloomery_status status = bloomery_versioned_read(
        given, OPEN_BYTES_FIRST, options, sizeof *options, "BLOOMERY_OPEN_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error)
{
    bloomery_status status = bloomery_versioned_read(given, SOLVED_BYTES_FIRST, plan, sizeof *plan,
                                                     "BLOOMERY_PLAN", error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(&plan->reserved, sizeof plan->reserved, error);
    return status;
}

void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given)
{
    bloomery_versioned_give(plan, sizeof *plan, given, SOLVED_BYTES_FIRST);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: see plan/solve.h for how they are solved. */
#include "chain/grow.h"
#include "core/kinds.h"
#include "options.h"
#include "plan/ribbon_solve.h"
#include "plan/solve.h"

#include "base/error.h"
#include "hash/hashes.h"

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
    if (given.hash != BLOOMERY_HASH_DEFAULT &&
        ((uint32_t)given.hash >= BLOOMERY_HASH_FOREIGN || bloomery_hash_find(given.hash) == NULL))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "there is no hash %d",
                             (int)given.hash);
    if (solved.kind == BLOOMERY_KIND_DEFAULT)
        solved.kind = BLOOMERY_BLOCKED;
    if (bloomery_kind_row(solved.kind) == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of kind %d are not available in this version",
                             (int)solved.kind);
    solved.cell_bits = given.cell_bits;
    const double wanted = solved.rate;
    if (!bloomery_kind_row(solved.kind)->adds)
        status = bloomery_ribbon_solve(&solved, &given, error);
    else if (bloomery_kind_row(solved.kind)->grows)
        status = bloomery_chain_first(&solved, given.blocks_per_key, given.probes, given.folds,
                                      given.hash, error);
    else
        status = bloomery_solve(&solved, given.blocks_per_key, given.probes, given.folds,
                                given.hash, error);
    solved.wanted_rate = wanted;
    if (status == BLOOMERY_OK)
        bloomery_plan_give(&solved, plan);
    return status;
}

double bloomery_plan_rate(const bloomery_plan *given, uint64_t keys)
{
    bloomery_plan read;
    const bloomery_plan *plan = &read;
    if (bloomery_plan_read(given, &read, NULL) != BLOOMERY_OK)
        return 1;
    bloomery_kind kind = plan->kind == BLOOMERY_KIND_DEFAULT ? BLOOMERY_BLOCKED : plan->kind;
    if (kind == BLOOMERY_STATIC) /* whatever the keys are, it is built for them */
        return keys == 0 ? 0 : plan->rate > 0 && plan->rate < 1 ? plan->rate : 1;
    return bloomery_geometry_rate(kind, plan->bits, plan->blocks_per_key, plan->probes, plan->hash,
                                  keys);
}

bloomery_status bloomery_plan_layer(const bloomery_plan *given, uint32_t index,
                                    bloomery_plan *layer, bloomery_error *error)
{
    bloomery_plan read;
    const bloomery_plan *plan = &read;
    bloomery_status known = bloomery_plan_read(given, &read, error);
    if (known == BLOOMERY_OK)
        known = bloomery_plan_check(layer, error);
    if (known != BLOOMERY_OK)
        return known;
    const struct bloomery_kind_row *row = bloomery_kind_row((uint32_t)plan->kind);
    if (row == NULL || !row->grows || index >= BLOOMERY_CHAIN_MAX || plan->keys == 0 ||
        !(plan->rate > 0))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "layers 0 to 63 of a scalable filter have plans");
    bloomery_plan now = *plan;
    now.kind = BLOOMERY_BLOCKED;
    now.rate = plan->rate * BLOOMERY_CHAIN_FIRST;
    const bloomery_hash_id hash =
        plan->hash != BLOOMERY_HASH_DEFAULT ? plan->hash : BLOOMERY_HASH_XXH3_64;
    now.hash = hash;
    for (uint32_t i = 0; i < index; i++) {
        const struct bloomery_layer newest = {.keys = now.keys, .rate = now.rate};
        bloomery_status status = bloomery_chain_next(&newest, &now, hash, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    bloomery_plan_give(&now, layer);
    return BLOOMERY_OK;
}

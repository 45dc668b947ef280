/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: see plan/solve.h for how they are solved. */
#include "chain/grow.h"
#include "core/kinds.h"
#include "options.h"
#include "plan/solve.h"

#include "base/error.h"
#include "hash/hashes.h"

bloomery_status bloomery_plan_solve(bloomery_plan *plan, const bloomery_options *options,
                                    bloomery_error *error)
{
    struct bloomery_options given;
    bloomery_plan solved = *plan;
    bloomery_status status = bloomery_options_read(options, &given, error);
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
    bloomery_hash_id hash = given.hash;
    if (hash == BLOOMERY_HASH_DEFAULT && (given.secret != NULL || given.secret_outside))
        hash = BLOOMERY_HASH_SIPHASH;
    if (bloomery_kind_row(solved.kind)->grows)
        status = bloomery_chain_first(&solved, given.blocks_per_key, given.probes, given.folds,
                                      hash, error);
    else
        status =
            bloomery_solve(&solved, given.blocks_per_key, given.probes, given.folds, hash, error);
    if (status == BLOOMERY_OK)
        *plan = solved;
    return status;
}

double bloomery_plan_rate(const bloomery_plan *plan, uint64_t keys)
{
    bloomery_kind kind = plan->kind == BLOOMERY_KIND_DEFAULT ? BLOOMERY_BLOCKED : plan->kind;
    return bloomery_geometry_rate(kind, plan->bits, plan->blocks_per_key, plan->probes, plan->hash,
                                  keys);
}

bloomery_status bloomery_plan_layer(const bloomery_plan *plan, uint32_t index, bloomery_plan *layer,
                                    bloomery_error *error)
{
    if (plan->kind != BLOOMERY_SCALABLE || index >= BLOOMERY_CHAIN_MAX || plan->keys == 0 ||
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
    *layer = now;
    return BLOOMERY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Making, emptying and freeing filters. */
#include "create.h"
#include "chain/grow.h"
#include "options.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/experimental.h"
#include "base/memory.h"
#include "base/pages.h"
#include "plan/describe.h"
#include "plan/solve.h"

#include <assert.h>
#include <string.h>

bloomery_status bloomery_choose_hash(const bloomery_plan *plan, bloomery_hash_id plain,
                                     const bloomery_create_options *options,
                                     struct bloomery_shape *shape, struct bloomery_traits *traits,
                                     bloomery_error *error)
{
    const bloomery_hash_id id = options->secret != NULL               ? BLOOMERY_HASH_SIPHASH
                                : plan->hash != BLOOMERY_HASH_DEFAULT ? plan->hash
                                                                      : plain;
    const struct bloomery_hash_row *hash = bloomery_hash_find(id);
    if (hash == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "there is no hash %d", (int)id);
    if (hash->keyed && options->seed != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a keyed filter has no seed: its secret takes that part");
    if (!hash->available)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "this build has no hash %s: it was made without libsodium",
                             hash->name);
    if (options->secret_outside && options->secret == NULL)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "secret_outside keeps the secret out of the file: give it as `secret`");
    shape->hash = (uint16_t)id;
    shape->hash_row = hash;
    shape->seed = traits->secret.seed = options->seed;
    traits->secret_known = true;
    if (!hash->keyed)
        return BLOOMERY_OK;
    if (options->secret != NULL)
        memcpy(traits->secret.siphash, options->secret, BLOOMERY_SECRET_BYTES);
    else if (!bloomery_secret_draw(traits->secret.siphash))
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "the system gives no random secret");
    traits->secret_in_file = !options->secret_outside;
    shape->secret_fingerprint = bloomery_secret_fingerprint(traits->secret.siphash);
    return BLOOMERY_OK;
}

/* What a chain needs to know, and whether its first layer fits in its limit. */
static bloomery_status check_chain(double rate, uint64_t bytes, uint64_t memory_limit,
                                   bloomery_error *error)
{
    struct bloomery_phrase takes, limit;
    if (!(rate > 0 && rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a scalable filter needs to know its rate, above 0 and below 1");
    if (memory_limit > 0 && bytes > memory_limit)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the filter takes %s to begin with, and the limit is %s; plan it for "
                             "fewer keys, or for a higher rate",
                             bloomery_phrase_bytes(&takes, bytes),
                             bloomery_phrase_bytes(&limit, memory_limit));
    return BLOOMERY_OK;
}

static struct bloomery_layer first_layer(const bloomery_plan *plan, bool grows)
{
    struct bloomery_layer layer = {.bits = plan->bits,
                                   .probes = plan->probes,
                                   .blocks_per_key = plan->blocks_per_key,
                                   .keys = plan->planned_keys,
                                   .rate = plan->planned_rate * (grows ? BLOOMERY_CHAIN_FIRST : 1)};
    if (!grows)
        layer.wanted = plan->rate;
    return layer;
}

bloomery_status bloomery_create(const bloomery_plan *given_plan,
                                const bloomery_create_options *given, bloomery_filter **filter,
                                bloomery_error *error)
{
    bloomery_create_options options;
    bloomery_plan settled;
    const bloomery_plan *plan = &settled;
    *filter = NULL;
    bloomery_status status = bloomery_create_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status = bloomery_plan_settle(given_plan, BLOOMERY_BLOCKED, &settled, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_kind_row *row = bloomery_kind_row((uint32_t)plan->kind);
    if (!row->adds)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a %s filter is built from all its keys: bloomery_builder_open",
                             bloomery_kind_name((int)plan->kind));
    struct bloomery_layer layer = first_layer(plan, row->grows);
    struct bloomery_shape shape = {.kind = (uint16_t)plan->kind,
                                   .kind_row = row,
                                   .block_bits = row->block_bits,
                                   .cell_bits = bloomery_cell_bits_field(bloomery_cell_bits(plan)),
                                   .layer_count = 1,
                                   .layers = &layer};
    struct bloomery_traits traits = {.allocator = options.allocator,
                                     .concurrent = options.concurrent_adds,
                                     .memory_limit = options.memory_limit,
                                     .rule = options.rule,
                                     .note = options.note,
                                     .note_bytes = options.note ? strlen(options.note) : 0};
    uint64_t payload_bytes = 0;
    if ((status = bloomery_shape_lay_out(&shape, &payload_bytes, error)) == BLOOMERY_OK &&
        plan->planned_bytes != 0 && plan->planned_bytes != payload_bytes)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "%llu cells take %llu bytes, not %llu: solve the plan, or leave "
                               "planned_bytes 0",
                               (unsigned long long)plan->bits, (unsigned long long)payload_bytes,
                               (unsigned long long)plan->planned_bytes);
    if (status == BLOOMERY_OK && row->grows)
        status = check_chain(plan->planned_rate, payload_bytes, options.memory_limit, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_choose_hash(plan, BLOOMERY_HASH_XXH3_64, &options, &shape, &traits, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&shape, payload_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(&shape, &traits, NULL, payload_bytes, filter, error);
    if (status == BLOOMERY_OK)
        bloomery_chain_begin(*filter);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    return status;
}

bloomery_filter *bloomery_new(uint64_t keys, double rate, bloomery_error *error)
{
    const bloomery_plan plan = {.keys = keys, .rate = rate};
    bloomery_filter *filter = NULL;
    bloomery_status status = bloomery_plan_check_rate(rate, error);
    if (status == BLOOMERY_OK)
        status = bloomery_create(&plan, NULL, &filter, error);
    assert((status == BLOOMERY_OK) == (filter != NULL));
    (void)status;
    return filter;
}

/* Gives the layers back that have memory of their own. */
static void release_grown(bloomery_filter *filter)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        if (bloomery_is_apart(filter, &filter->layers[i]))
            bloomery_release(&filter->allocator, filter->layers[i].payload,
                             (size_t)filter->layers[i].bytes, BLOOMERY_PAYLOAD_UNIT);
}

/* Back to the layer that the chain began with, which lies where its payload begins. A chain that
 * was read has all of its layers there. Their memory is freed, if there is some for the first
 * alone. */
static void clear_chain(bloomery_filter *filter)
{
    struct bloomery_layer first = filter->layers[filter->first];
    const size_t bytes = (size_t)first.bytes;
    bool fresh = false;
    release_grown(filter);
    bloomery_release_room(filter);
    if (filter->near_words == 0 && bloomery_rest_in(filter)->payload_bytes > bytes) {
        uint8_t *payload = bloomery_allocate(&filter->allocator, bytes, BLOOMERY_PAYLOAD_UNIT);
        struct bloomery_rest *rest = bloomery_rest_of(filter);
        if (payload != NULL) {
            bloomery_release(&filter->allocator, rest->payload, (size_t)rest->payload_bytes,
                             BLOOMERY_PAYLOAD_UNIT);
            rest->payload = payload;
            rest->payload_bytes = bytes;
            fresh = true;
        }
    }
    first.payload = bloomery_payload_of(filter);
    if (!fresh) /* what was allocated now is zero, and stays untouched */
        memset(first.payload, 0, (size_t)bloomery_held_bytes(filter, &first));
    first.offset = 0;
    first.dumped = 0;
    first.adds = 0;
    filter->layers[0] = first;
    filter->first = 0;
    filter->shape.layer_count = 1;
    bloomery_chain_begin(filter);
}

bloomery_status bloomery_clear(bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->adds)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 0,
            "a static filter cannot be cleared, since no key could be added to it");
    if (filter->storage != BLOOMERY_OWNED)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0,
                             "the filter is a map or a view, which cannot be cleared");
    (void)bloomery_failed_adds_take(filter, NULL);
    if (filter->kind->grows) {
        clear_chain(filter);
        return BLOOMERY_OK;
    }
    filter->layers[0].adds = 0;
    memset(bloomery_payload_of(filter), 0, (size_t)bloomery_payload_room(filter));
    return BLOOMERY_OK;
}

uint64_t bloomery_populate(bloomery_filter *filter, uint64_t from, uint64_t bytes)
{
    if (filter->storage != BLOOMERY_OWNED || from >= bloomery_payload_room(filter))
        return from;
    const uint64_t left = bloomery_payload_room(filter) - from;
    return from + bloomery_pages_touch(bloomery_payload_of(filter) + from,
                                       (size_t)(bytes < left ? bytes : left));
}

void bloomery_release_others(bloomery_filter *filter)
{
    struct bloomery_map map = bloomery_rest_in(filter)->map;
    release_grown(filter);
    if (filter->storage == BLOOMERY_OWNED && filter->near_words == 0)
        bloomery_release(&filter->allocator, bloomery_rest_in(filter)->payload,
                         (size_t)bloomery_rest_in(filter)->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    bloomery_release_room(filter);
    bloomery_locks_free(&filter->allocator, bloomery_rest_in(filter)->growing, 1);
    bloomery_unmap(&map);
}

void bloomery_free(const bloomery_filter *filter)
{
    /* A filter is const where it cannot be changed, but the library made its struct. */
    bloomery_filter *ours = (bloomery_filter *)(uintptr_t)filter;
    if (ours == NULL)
        return;
    bloomery_release_others(ours);
    bloomery_release_itself(ours);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Making, emptying and freeing filters. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/experimental.h"
#include "base/memory.h"
#include "dialects/dialects.h"
#include "hash/xxh3.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "library.h"
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
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "hash %d does not exist: "
                             "bloomery_hash_id lists the hashes",
                             (int)id);
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
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0,
                             "the system did not provide a random secret");
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
    if (BLOOMERY_HAS_TABLES && plan->kind == BLOOMERY_CUCKOO)
        return bloomery_cuckoo_of_plan(plan, &options, filter, error);
    const struct bloomery_kind_row *row = bloomery_kind_row((uint32_t)plan->kind);
    if (!row->adds)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a %s filter is built from all its keys: bloomery_builder_open",
                             bloomery_kind_name((int)plan->kind));
    struct bloomery_layer layer = {.bits = plan->bits,
                                   .probes = plan->probes,
                                   .blocks_per_key = plan->blocks_per_key,
                                   .keys = plan->planned_keys,
                                   .rate = plan->planned_rate *
                                           (row->grows ? BLOOMERY_CHAIN_FIRST : 1)};
    if (!row->grows)
        layer.wanted = plan->rate;
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
    struct bloomery_checked_shape checked;
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
        status = bloomery_shape_check(&shape, payload_bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, NULL, filter, error);
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
    if (filter->near_words == 0 && bloomery_cold_in(filter)->payload_bytes > bytes) {
        uint8_t *payload = bloomery_allocate(&filter->allocator, bytes, BLOOMERY_PAYLOAD_UNIT);
        struct bloomery_cold *cold = bloomery_cold_of(filter);
        if (payload != NULL) {
            bloomery_release(&filter->allocator, cold->payload, (size_t)cold->payload_bytes,
                             BLOOMERY_PAYLOAD_UNIT);
            cold->payload = payload;
            cold->payload_bytes = bytes;
            fresh = true;
        }
    }
    first.payload = bloomery_payload_of(filter);
    if (!fresh) /* what was allocated now is zero, and stays untouched */
        memset(first.payload, 0, (size_t)bloomery_held_bytes(filter, &first));
    first.offset = 0;
    if (bloomery_has_tables(filter->kind))
        first.removed = 0;
    else
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
    if (bloomery_has_layers(filter->kind)) { /* those that were built are refused above */
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
    struct bloomery_map map = bloomery_cold_in(filter)->map;
    release_grown(filter);
    if (filter->storage == BLOOMERY_OWNED && filter->near_words == 0)
        bloomery_release(&filter->allocator, bloomery_cold_in(filter)->payload,
                         (size_t)bloomery_cold_in(filter)->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    bloomery_release_room(filter);
    bloomery_locks_free(&filter->allocator, bloomery_cold_in(filter)->growing, 1);
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

/* ---- Moving ---------------------------------------------------------------------------------- */

/*
 * A filter is a handful of blocks of memory, which point to each other:
 *
 *     filter ──┬── payload                 layers 0 .. i lie in it, or in front of the filter
 *     (records,│
 *      extra,  ├── layer i+1, layer i+2    grown since, a block each
 *      note)   ├── records of layers       of a chain that has outgrown those of the filter
 *              └── growing                 the lock of a concurrent chain
 *
 * Each is offered to the caller's function, the filter itself last, since all pointers to the
 * others are in it. Places within a block are kept as distances from its beginning before it moves,
 * since the old block may be gone after.
 *
 * A block whose new address is not a multiple of its alignment is copied once more, since kernels
 * read whole cache lines. If memory runs out for that, the block is lost and with it the filter.
 */

struct mover {
    bloomery_mover move;
    void *context;
    bloomery_allocator allocator; /* the filter's: the filter itself may be lost */
    bloomery_status status;
};

/* Copies a block whose new address is not aligned. Returns NULL if memory ran out. */
static void *copy_straight(struct mover *mover, const void *crooked, size_t bytes, size_t alignment)
{
    void *straight = bloomery_allocate(&mover->allocator, bytes, alignment);
    if (straight != NULL)
        memcpy(straight, crooked, bytes);
    if (mover->status == BLOOMERY_OK || straight == NULL)
        mover->status = straight != NULL ? BLOOMERY_BAD_ARGUMENT : BLOOMERY_OUT_OF_MEMORY;
    return straight;
}

static void release_crooked(const struct mover *mover, void *crooked, size_t bytes,
                            size_t alignment)
{
    bloomery_wipe(crooked, bytes); /* it may hold the secret */
    mover->allocator.release(mover->allocator.context, crooked, bytes, alignment);
}

static void *offer(const struct mover *mover, void *memory, size_t bytes, size_t alignment)
{
    void *now = mover->move(mover->context, memory, bytes, alignment);
    return now != NULL ? now : memory;
}

/* Where the block is now; NULL: it is lost, and released. */
static void *move_block(struct mover *mover, void *memory, uint64_t bytes, size_t alignment)
{
    assert(memory != NULL && (uintptr_t)memory % alignment == 0);
    void *now = offer(mover, memory, (size_t)bytes, alignment);
    if ((uintptr_t)now % alignment == 0)
        return now;
    void *straight = copy_straight(mover, now, (size_t)bytes, alignment);
    release_crooked(mover, now, (size_t)bytes, alignment);
    return straight;
}

/* While the payload moves, its layers are nowhere. */
static void detach_layers(bloomery_filter *filter)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        if (!bloomery_is_apart(filter, &filter->layers[i]))
            filter->layers[i].payload = NULL;
}

/* They lie in it in their order, though after a merge others may be between them. Layers that were
 * lost are nowhere as well, and the filter is about to be. */
static void attach_layers(bloomery_filter *filter)
{
    uint8_t *payload = bloomery_payload_of(filter);
    uint64_t at = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count && payload != NULL; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        const uint64_t room = bloomery_payload_room(filter);
        const uint64_t bytes = layer->bytes < room ? layer->bytes : room; /* one may be cut short */
        if (layer->payload != NULL || bytes > room - at)
            continue;
        layer->payload = payload + at;
        at += bytes;
    }
}

/* Moves the records of layers that are not part of the filter's block. If they are lost, so are the
 * layers. */
static void move_room(struct mover *mover, bloomery_filter *filter)
{
    const size_t alignment = BLOOMERY_ROOM_ALIGNMENT;
    const size_t bytes = bloomery_room(filter) * sizeof(struct bloomery_layer);
    if (!bloomery_has_room_apart(filter))
        return;
    void *now = offer(mover, filter->layers, bytes, alignment);
    if ((uintptr_t)now % alignment != 0) {
        void *straight = copy_straight(mover, now, bytes, alignment);
        if (straight == NULL) {
            /* The records of the layers are lost: their layers are released from the old ones. */
            const uint8_t *records = now;
            for (uint32_t number = 0; number < filter->shape.layer_count; number++) {
                struct bloomery_layer lost;
                memcpy(&lost, records + number * sizeof lost, sizeof lost);
                if (bloomery_is_apart(filter, &lost))
                    bloomery_release(&mover->allocator, lost.payload, (size_t)lost.bytes,
                                     BLOOMERY_PAYLOAD_UNIT);
            }
        }
        release_crooked(mover, now, bytes, alignment);
        now = straight;
    }
    filter->shape.layers = now != NULL ? now : filter->own;
    if (now == NULL)
        filter->shape.layer_count = 0;
}

static void move_lock(struct mover *mover, bloomery_filter *filter)
{
    if (bloomery_cold_in(filter)->growing == NULL)
        return;
    struct bloomery_cold *cold = bloomery_cold_of(filter);
    bloomery_lock_end(cold->growing);
    cold->growing = move_block(mover, cold->growing, sizeof *cold->growing, sizeof *cold->growing);
    if (cold->growing == NULL)
        return;
    const bool begun = bloomery_lock_begin(cold->growing);
    assert(begun);
    (void)begun;
}

/* A filter of any kind, but for what lies before it and behind its rest. */
union still {
    bloomery_filter filter;
    uint8_t bytes[sizeof(bloomery_filter) + BLOOMERY_CHAIN_MAX * sizeof(struct bloomery_layer) +
                  sizeof(struct bloomery_cold)];
};

/* All pointers into the filter's own allocation, once it lies elsewhere. `was`: where it lay. */
static void point_anew(bloomery_filter *filter, uintptr_t was, bool room_apart)
{
    const uintptr_t by = (uintptr_t)filter - was; /* modulo 2^64 */
    if (!room_apart)
        filter->shape.layers = filter->own;
    if (!filter->has_cold)
        return;
    struct bloomery_cold *cold = bloomery_cold_of(filter);
    if (cold->next != NULL)
        cold->next = (bloomery_plan *)((uintptr_t)cold->next + by);
    cold->extra = (uint8_t *)((uintptr_t)cold->extra + by);
    cold->note = (char *)((uintptr_t)cold->note + by);
}

/* NULL: it is lost, and what it owned is released. */
static bloomery_filter *move_itself(struct mover *mover, bloomery_filter *filter)
{
    union still still;
    const size_t before = (size_t)((uint8_t *)filter - bloomery_base_of(filter));
    const size_t bytes = bloomery_own_bytes(filter) - before;
    const bool near = filter->near_words > 0;
    const uintptr_t was = (uintptr_t)filter;
    const bool apart = bloomery_has_room_apart(filter);
    if (near)
        detach_layers(filter);
    memcpy(still.bytes, filter, bytes < sizeof still ? bytes : sizeof still);
    uint8_t *block =
        move_block(mover, bloomery_base_of(filter), before + bytes, BLOOMERY_PAYLOAD_UNIT);
    if (block != NULL) {
        filter = (bloomery_filter *)(void *)(block + before);
        point_anew(filter, was, apart);
        if (near)
            attach_layers(filter);
    } else {
        filter = NULL;
        point_anew(&still.filter, was, apart);
        bloomery_release_others(&still.filter);
    }
    bloomery_wipe(&still, sizeof still);
    return filter;
}

bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move, void *context)
{
    bloomery_filter *moving = *filter;
    struct mover mover = {move, context, moving->allocator, BLOOMERY_OK};
    if (moving->allocator.allocate == NULL)
        return BLOOMERY_UNSUPPORTED;
    /* The layers added since the filter was made. */
    for (uint32_t i = 0; i < moving->shape.layer_count; i++) {
        struct bloomery_layer *layer = &moving->layers[i];
        if (bloomery_is_apart(moving, layer))
            layer->payload =
                move_block(&mover, layer->payload, layer->bytes, BLOOMERY_PAYLOAD_UNIT);
    }
    /* The payload that the filter was made with, if it is a block of its own. */
    if (moving->storage == BLOOMERY_OWNED && moving->near_words == 0) {
        struct bloomery_cold *cold = bloomery_cold_of(moving);
        detach_layers(moving);
        cold->payload =
            move_block(&mover, cold->payload, cold->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
        attach_layers(moving);
    }
    move_room(&mover, moving);
    move_lock(&mover, moving);
    moving = move_itself(&mover, moving);
    if (mover.status == BLOOMERY_OUT_OF_MEMORY) {
        bloomery_free(moving);
        moving = NULL;
    }
    assert(moving != NULL || mover.status == BLOOMERY_OUT_OF_MEMORY);
    *filter = moving;
    return mover.status;
}

/* ---- The fastest path of its keys ------------------------------------------------------------ */

static uint8_t number_of(const struct bloomery_fast_path *fast)
{
    uint8_t number = 1;
    while (number < BLOOMERY_FAST_PATHS && bloomery_fast_paths[number] != fast)
        number++;
    assert(number < BLOOMERY_FAST_PATHS);
    return number;
}

bloomery_status bloomery_filter_make(struct bloomery_checked_shape checked,
                                     const struct bloomery_traits *traits, const uint8_t *payload,
                                     struct bloomery_filter **out, bloomery_error *error)
{
    const struct bloomery_shape *shape = checked.shape;
    const bloomery_status status = bloomery_make(checked, traits, payload, out, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_filter *filter = *out;
    const bool blocked =
        shape->block_bits == BLOOMERY_BLOCK_BITS && shape->cell_bits == 1 && !filter->foreign;
    const bool grows = filter->kind->grows;
    const bool one_by_one = blocked && !grows && shape->hash == BLOOMERY_HASH_XXH3_64;
    const bool usual = one_by_one && filter->layers->blocks_per_key == 1 &&
                       filter->layers->probes == BLOOMERY_BLOCK_PROBES_MAX;
    const bool can_add = filter->storage == BLOOMERY_OWNED && filter->secret_known;
    if (shape->hash == BLOOMERY_HASH_XXH3_64)
        bloomery_secret_of(filter)->brief = bloomery_short_secret_of(shape->seed);
    if (blocked)
        filter->fast_path = number_of(bloomery_fast_path_best());
    else if (filter->kind->cascades)
        filter->fast_path = number_of(bloomery_fast_static_best());
    const struct bloomery_fast_path *fast = bloomery_fast_path_of(filter);
    filter->lookup = &bloomery_lookup_any;
    filter->addition = &bloomery_addition_any;
    if (blocked)
        filter->lookup = &fast->lookups[one_by_one ? usual : 2];
    else if (filter->kind->cascades)
        filter->lookup = fast->lookups;
    if (one_by_one && can_add)
        filter->addition = filter->concurrent ? fast->shared_addition : &fast->additions[usual];
    else if (blocked && grows && can_add && !filter->concurrent)
        filter->addition = &fast->additions[2];
    return BLOOMERY_OK;
}

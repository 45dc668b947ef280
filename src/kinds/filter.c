/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one gate between shapes and memory. Parsers only fill shapes. Here a shape is checked whole -
 * every product, every range. After that no number of a file is ever used as a size or an index
 * without a bound: positions come from fastrange(h, m), which is below m, and m is checked against
 * the payload.
 */
#include "kinds/filter.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "plan/solve.h"

#include <assert.h>
#include <string.h>

/* The bytes of a layer, in whole units; false if it is out of range. */
static bool layer_bytes(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                        uint64_t *bytes)
{
    const struct bloomery_kind_row *kind = shape->kind_row;
    const uint64_t cells = layer->bits;
    if (kind != NULL && kind->layer_bytes != NULL)
        return kind->layer_bytes(layer, bytes);
    if (shape->cell_bits == 0 || shape->cell_bits > BLOOMERY_CELL_BITS_MAX || cells == 0 ||
        cells > BLOOMERY_BITS_MAX / shape->cell_bits)
        return false;
    return bloomery_round_up((cells * shape->cell_bits + 7) / 8, BLOOMERY_PAYLOAD_UNIT, bytes);
}

static bloomery_status wrong_size(const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->bits == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the plan has no size: call bloomery_plan_solve first");
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%llu cells are too many, or not of 1 to 8 bits: a filter has at most "
                         "2^50 bits; plan fewer keys or a higher rate",
                         (unsigned long long)layer->bits);
}

bloomery_status bloomery_shape_lay_out(struct bloomery_shape *shape, uint64_t *payload_bytes,
                                       bloomery_error *error)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < shape->layer_count; i++) {
        struct bloomery_layer *layer = &shape->layers[i];
        if (!layer_bytes(shape, layer, &layer->bytes))
            return wrong_size(layer, error);
        layer->blocks = shape->block_bits > 0 ? layer->bits / shape->block_bits : 0;
        assert(layer->blocks * shape->block_bits <= layer->bits);
        layer->offset = end;
        end += layer->bytes;
    }
    assert(end % BLOOMERY_PAYLOAD_UNIT == 0);
    *payload_bytes = end;
    return BLOOMERY_OK;
}

static bloomery_status check_schemes(const struct bloomery_shape *shape,
                                     const struct bloomery_kind_row *row, bloomery_error *error)
{
    const struct {
        const char *name;
        uint32_t value;
        uint32_t known;
    } fields[] = {
        {"bit order", shape->bit_order, BLOOMERY_SCHEME_NATIVE},
        {"repeat scheme", shape->repeat_scheme, row->repeat_scheme},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].value != fields[i].known)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                 "%s %u is not known to this version", fields[i].name,
                                 fields[i].value);
    if (shape->count_scheme > BLOOMERY_COUNTS_NEW)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "count scheme %u is not known to this version", shape->count_scheme);
    if (!(shape->tightening >= 0 && shape->tightening <= 1))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "the rate of a further layer is 0 to 1 times that of the layer before");
    return BLOOMERY_OK;
}

static bloomery_status check_hash(const struct bloomery_shape *shape, bloomery_error *error)
{
    const struct bloomery_hash_row *hash = shape->hash_row;
    if (hash == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "hash %u is not known to this version",
                             shape->hash);
    if (hash->keyed != (shape->secret_fingerprint != 0))
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, 0,
            "a filter has a secret's fingerprint if and only if its hash is keyed");
    if (hash->keyed && shape->seed != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a keyed filter has no seed: its secret takes that part");
    /* The schemes of other systems are made for their hashes: ours have no positions to hand
     * out, theirs no secret. */
    const bool foreign = bloomery_is_foreign(shape);
    if (foreign == (hash->id >= BLOOMERY_HASH_FOREIGN) &&
        shape->kind_row->takes_positions == (hash->positions != NULL))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "hash %s does not go with probe scheme %u",
                         hash->name, shape->probe_scheme);
}

static bloomery_status check_probes(const struct bloomery_shape *shape,
                                    const struct bloomery_kind_row *kind,
                                    const struct bloomery_layer *layer, bloomery_error *error)
{
    const uint32_t blocks_per_key = layer->blocks_per_key > 0 ? layer->blocks_per_key : 1;
    const uint32_t max = kind->probes_max > 0 ? kind->probes_max : BLOOMERY_PROBES_MAX;
    const struct bloomery_hash_row *hash = shape->hash_row;
    if (layer->probes < 1 || layer->probes > max || blocks_per_key > BLOOMERY_PROBES_MAX ||
        layer->probes * blocks_per_key > max)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key sets 1 to %u bits, not %u in each of %u blocks", max,
                             layer->probes, blocks_per_key);
    if (hash->fits != NULL && !hash->fits(layer->bits, layer->probes))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "hash %s has no %u positions in %llu bits", hash->name, layer->probes,
                             (unsigned long long)layer->bits);
    return BLOOMERY_OK;
}

static bloomery_status check_layer(const struct bloomery_shape *shape,
                                   const struct bloomery_kind_row *kind,
                                   const struct bloomery_layer *layer, uint64_t expected_offset,
                                   bloomery_error *error)
{
    uint64_t bytes;
    if (!layer_bytes(shape, layer, &bytes))
        return kind->layer_bytes != NULL
                   ? bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                   "no layer of this kind has these starts, sections and columns")
                   : wrong_size(layer, error);
    if (layer->bytes != bytes || layer->offset != expected_offset)
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, 0,
            "a layer of %llu cells must take %llu bytes from byte %llu of the payload",
            (unsigned long long)layer->bits, (unsigned long long)bytes,
            (unsigned long long)expected_offset);
    bloomery_status status = check_probes(shape, kind, layer, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!(layer->rate >= 0 && layer->rate <= 1)) /* so written, NaN fails too */
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a planned rate is 0 to 1");
    if (kind->grows && (layer->keys == 0 || layer->keys > BLOOMERY_KEYS_MAX || !(layer->rate > 0)))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a scalable filter needs to know the keys (1 to 2^48) and the rate of "
                             "its layers");
    return kind->check(shape, layer, error);
}

bloomery_status bloomery_shape_check(const struct bloomery_shape *shape, uint64_t payload_bytes,
                                     struct bloomery_checked_shape *checked, bloomery_error *error)
{
    const struct bloomery_kind_row *kind = shape->kind_row;
    *checked = (struct bloomery_checked_shape){NULL, 0};
    /* Our own filters have nothing of other systems; theirs have a dialect and schemes. */
    const bool foreign = bloomery_is_foreign(shape);
    if (foreign != (shape->dialect != 0) ||
        (!foreign && (shape->count_scheme != 0 || shape->growth != 0 || shape->tightening != 0)))
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "a dialect, and schemes of other systems, go together");
    if (kind == NULL)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 0,
            bloomery_is_foreign(shape)
                ? "filters of kind %u with block scheme %u and probe scheme %u are "
                  "not known to this version"
                : "filters of kind %u are not available in this version",
            shape->kind, shape->block_scheme, shape->probe_scheme);
    const bool chain = bloomery_has_layers(kind);
    const uint32_t most = bloomery_layers_max(shape);
    if (shape->layer_count < 1 || shape->layer_count > (chain ? most : 1))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             chain ? "a filter of this kind has 1 to %u layers, not %u"
                                   : "a filter of this kind has %u layer, not %u",
                             chain ? most : 1, shape->layer_count);
    if (shape->cell_bits > BLOOMERY_CELL_BITS_MAX ||
        (kind->cell_sizes >> shape->cell_bits & 1) == 0)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "cells of %u bits are not known in filters of this kind",
                             shape->cell_bits);
    bloomery_status status = check_schemes(shape, kind, error);
    if (status == BLOOMERY_OK)
        status = check_hash(shape, error);
    uint64_t end = 0;
    for (uint32_t i = 0; i < shape->layer_count && status == BLOOMERY_OK; i++) {
        status = check_layer(shape, kind, &shape->layers[i], end, error);
        end += shape->layers[i].bytes;
    }
    if (status == BLOOMERY_OK && end > SIZE_MAX)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "a filter of %llu bytes is more than a program can have on this "
                             "processor, whose addresses have %zu bits",
                             (unsigned long long)end, 8 * sizeof(void *));
    if (status == BLOOMERY_OK && end != payload_bytes)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "the layers take %llu bytes, but the payload has %llu",
                             (unsigned long long)end, (unsigned long long)payload_bytes);
    if (status == BLOOMERY_OK)
        *checked = (struct bloomery_checked_shape){shape, payload_bytes};
    return status;
}

/* A concurrent chain has room for all layers that it may ever get, so that none moves during a
 * query. Any other filter has it for those that it is made with. */
static uint32_t own_room(const struct bloomery_shape *shape, const struct bloomery_traits *traits)
{
    if (shape->kind_row->grows && traits->concurrent)
        return BLOOMERY_CHAIN_MAX;
    return shape->layer_count <= BLOOMERY_CHAIN_MAX ? shape->layer_count : 1;
}

/* ---- The filter's allocation ----------------------------------------------------------------- */

/* Up to here a payload lies before its filter, unless several threads add: one block of memory
 * instead of two. */
enum { NEAR_BYTES = 1024 };

_Static_assert(NEAR_BYTES / BLOOMERY_WORD_BYTES <= UINT8_MAX, "words are counted in a byte");

/* Where the parts of the allocation begin (filter.h), counted from the filter. */
struct parts {
    size_t before; /* it, in bytes */
    size_t words;  /* of the payload there */
    uint32_t room;
    size_t cold; /* 0: none */
    size_t next; /* 0: none */
    size_t extra;
    size_t note;
    size_t end;
};

/* The words of a payload that lies before its filter. A key of a server is a chain of one flat
 * layer, and takes no more than it has bits. What came from one of our files was checked up to the
 * end of its last line, and keeps that. */
static size_t near_words(const struct bloomery_shape *shape, const struct bloomery_traits *traits,
                         uint64_t payload_bytes)
{
    const struct bloomery_kind_row *kind = shape->kind_row;
    const bool chain = (kind->grows && bloomery_is_flat(shape)) || bloomery_has_tables(kind);
    assert(payload_bytes <= NEAR_BYTES && payload_bytes % BLOOMERY_PAYLOAD_UNIT == 0);
    if (chain && shape->layer_count == 1 && !traits->of_our_file)
        return (size_t)bloomery_words_of(shape->layers[0].bits * shape->cell_bits);
    return (size_t)payload_bytes / BLOOMERY_WORD_BYTES;
}

static bool needs_cold(const struct bloomery_traits *traits)
{
    const bloomery_key_rule *rule = &traits->rule;
    return traits->concurrent || traits->memory_limit > 0 || traits->note_bytes > 0 ||
           traits->extra_bytes > 0 || rule->flags != 0 || rule->delimiter != 0 ||
           rule->field != 0 || rule->comment != 0;
}

/* False: it would be larger than memory can be. */
static bool find_parts(const struct bloomery_shape *shape, const struct bloomery_traits *traits,
                       bool owned, uint64_t payload_bytes, struct parts *parts)
{
    const bool plans = shape->kind_row->grows && !bloomery_is_foreign(shape);
    const bool near = owned && !traits->concurrent && payload_bytes <= NEAR_BYTES;
    *parts = (struct parts){.room = own_room(shape, traits)};
    parts->words = near ? near_words(shape, traits, payload_bytes) : 0;
    parts->before = parts->words * BLOOMERY_WORD_BYTES +
                    (bloomery_is_foreign(shape) ? 0 : BLOOMERY_SECRET_BEFORE);
    size_t at = sizeof(struct bloomery_filter) + bloomery_room_bytes(parts->room);
    if (plans || !near || needs_cold(traits)) {
        parts->cold = at;
        at += sizeof(struct bloomery_cold);
    }
    if (plans) {
        parts->next = at;
        at += sizeof(bloomery_plan);
    }
    parts->extra = at;
    if (__builtin_add_overflow(at, traits->extra_bytes, &parts->note) ||
        __builtin_add_overflow(parts->note, traits->note_bytes, &parts->end))
        return false;
    return !__builtin_add_overflow(parts->end, (traits->note_bytes > 0) + (size_t)NEAR_BYTES, &at);
}

static void fill_cold(struct bloomery_cold *cold, const struct parts *parts, uint8_t *filter,
                      const struct bloomery_traits *traits)
{
    cold->memory_limit = traits->memory_limit;
    cold->rule = traits->rule;
    cold->failed_adds = traits->failed_adds;
    if (parts->next > 0)
        cold->next = (bloomery_plan *)(void *)(filter + parts->next);
    cold->extra = filter + parts->extra;
    cold->extra_bytes = traits->extra_bytes;
    if (traits->extra_bytes > 0)
        memcpy(cold->extra, traits->extra, traits->extra_bytes);
    cold->note = (char *)filter + parts->note;
    cold->note_bytes = traits->note_bytes;
    if (traits->note_bytes > 0)
        memcpy(cold->note, traits->note, traits->note_bytes);
}

/* The filter's own allocation, and what shape and traits say. */
static struct bloomery_filter *allocate_filter(const struct bloomery_shape *shape,
                                               const struct bloomery_traits *traits, bool owned,
                                               uint64_t payload_bytes)
{
    struct parts parts;
    if (!find_parts(shape, traits, owned, payload_bytes, &parts))
        return NULL;
    const size_t bytes = parts.before + parts.end + (traits->note_bytes > 0);
    uint8_t *block = bloomery_allocate(&traits->allocator, bytes, BLOOMERY_PAYLOAD_UNIT);
    if (block == NULL)
        return NULL;
    struct bloomery_filter *filter = (struct bloomery_filter *)(void *)(block + parts.before);
    filter->foreign = bloomery_is_foreign(shape);
    filter->near_words = (uint8_t)parts.words;
    filter->own_room = (uint8_t)parts.room;
    filter->has_cold = parts.cold > 0;
    filter->allocator = traits->allocator;
    filter->concurrent = traits->concurrent;
    filter->shape.layers = filter->own;
    if (filter->has_cold)
        fill_cold(bloomery_cold_of(filter), &parts, (uint8_t *)filter, traits);
    assert(bloomery_base_of(filter) == block && bloomery_own_bytes(filter) == bytes);
    if (!bloomery_make_room(filter, shape->layer_count)) {
        bloomery_release(&traits->allocator, block, bytes, BLOOMERY_PAYLOAD_UNIT);
        return NULL;
    }
    struct bloomery_layer *layers = filter->layers;
    filter->shape = *shape;
    filter->shape.layers = layers;
    memcpy(filter->layers, shape->layers, bloomery_room_bytes(shape->layer_count));
    return filter;
}

/* Gives back what a filter got before something was refused. */
static void unmake(struct bloomery_filter *filter)
{
    const struct bloomery_cold *cold = bloomery_cold_in(filter);
    assert(filter->storage == BLOOMERY_OWNED);
    bloomery_locks_free(&filter->allocator, cold->growing, 1);
    if (filter->near_words == 0)
        bloomery_release(&filter->allocator, cold->payload, (size_t)cold->payload_bytes,
                         BLOOMERY_PAYLOAD_UNIT);
    bloomery_release_room(filter);
    bloomery_release_itself(filter);
}

/* Takes the memory of its own that the filter needs besides. */
static bool take_memory(struct bloomery_filter *filter, uint64_t payload_bytes)
{
    const bool locks = filter->kind->grows && filter->concurrent;
    assert(filter->storage == BLOOMERY_OWNED);
    if (filter->near_words == 0) {
        struct bloomery_cold *cold = bloomery_cold_of(filter);
        cold->payload_bytes = payload_bytes;
        cold->payload =
            bloomery_allocate(&filter->allocator, (size_t)payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    }
    if (locks)
        bloomery_cold_of(filter)->growing = bloomery_locks_make(&filter->allocator, 1);
    return bloomery_payload_of(filter) != NULL &&
           (!locks || bloomery_cold_in(filter)->growing != NULL);
}

static void place_layers(struct bloomery_filter *filter)
{
    uint8_t *payload = bloomery_payload_of(filter);
    const uint32_t layers = filter->shape.layer_count;
    uint64_t dumped = 0;
    assert((uintptr_t)payload % BLOOMERY_PAYLOAD_UNIT == 0);
    for (uint32_t i = 0; i < layers; i++) {
        filter->layers[i].payload = payload + filter->layers[i].offset;
        bloomery_prepare_layer(&filter->shape, &filter->layers[i]);
        if (filter->kind->cascades)
            filter->layers[i].cascades = i + 1 < layers;
        if (filter->kind->grows && filter->foreign)
            filter->layers[i].dumped = dumped;
        dumped += filter->layers[i].bits / 8;
        assert(!bloomery_is_apart(filter, &filter->layers[i]));
    }
}

bloomery_status bloomery_make(struct bloomery_checked_shape checked,
                              const struct bloomery_traits *traits, const uint8_t *payload,
                              struct bloomery_filter **out, bloomery_error *error)
{
    const struct bloomery_shape *shape = checked.shape;
    const uint64_t payload_bytes = checked.payload_bytes;
    assert(shape != NULL && shape->kind_row != NULL && shape->hash_row != NULL);
    struct bloomery_filter *filter = allocate_filter(shape, traits, payload == NULL, payload_bytes);
    if (filter == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory for a filter");
    filter->of_our_file = traits->of_our_file;
    assert(filter->kind != NULL && filter->hash != NULL);
    filter->operations = filter->kind->operations(shape->cell_bits, traits->concurrent);
    assert((filter->operations->may_contain == NULL) == (filter->hash->positions != NULL));
    assert(filter->kind->removes ==
           (filter->operations->remove != NULL || filter->operations->remove_positions != NULL ||
            bloomery_has_tables(filter->kind)));
    assert(traits->secret.seed == shape->seed);
    if (!filter->foreign)
        *bloomery_secret_of(filter) = traits->secret;
    if (shape->secret_fingerprint != 0)
        bloomery_pages_hide(bloomery_secret_of(filter), BLOOMERY_SECRET_BEFORE);
    filter->secret_known = traits->secret_known;
    filter->secret_in_file = traits->secret_in_file;
    filter->add_failure = traits->add_failure;
    if (payload != NULL) {
        struct bloomery_cold *cold = bloomery_cold_of(filter);
        filter->storage = BLOOMERY_BORROWED;
        cold->payload = (uint8_t *)(uintptr_t)payload; /* only owned payloads are written */
        cold->payload_bytes = payload_bytes;
    } else {
        filter->storage = BLOOMERY_OWNED;
        if (!take_memory(filter, payload_bytes)) {
            unmake(filter);
            return bloomery_fail_memory(error, &traits->allocator, "a filter", payload_bytes);
        }
    }
    place_layers(filter);
    assert(bloomery_payload_bytes(filter) == payload_bytes);
    *out = filter;
    return BLOOMERY_OK;
}

/* ---- What a filter has ----------------------------------------------------------------------- */

const struct bloomery_cold bloomery_no_cold;

struct bloomery_traits bloomery_traits_of(const struct bloomery_filter *filter)
{
    const struct bloomery_cold *cold = bloomery_cold_in(filter);
    assert(cold->note_bytes == 0 || cold->note[cold->note_bytes] == '\0');
    struct bloomery_traits traits = {
        .allocator = filter->allocator,
        .secret = {.seed = filter->shape.seed},
        .secret_known = filter->secret_known,
        .secret_in_file = filter->secret_in_file,
        .of_our_file = filter->of_our_file,
        .rule = cold->rule,
        .note = cold->note,
        .note_bytes = cold->note_bytes,
        .extra = cold->extra,
        .extra_bytes = cold->extra_bytes,
        .add_failure = __atomic_load_n(&filter->add_failure, __ATOMIC_ACQUIRE),
        .failed_adds = __atomic_load_n(&cold->failed_adds, __ATOMIC_RELAXED),
    };
    if (!filter->foreign)
        traits.secret = *bloomery_secret_of(filter);
    return traits;
}

size_t bloomery_own_bytes(const struct bloomery_filter *filter)
{
    const struct bloomery_cold *cold = bloomery_cold_in(filter);
    const uint8_t *end = (const uint8_t *)&filter->own[filter->own_room];
    size_t bytes = (size_t)(end - bloomery_base_of(filter));
    if (filter->has_cold)
        bytes += sizeof *cold + cold->extra_bytes + cold->note_bytes + (cold->note_bytes > 0);
    if (cold->next != NULL)
        bytes += sizeof *cold->next;
    return bytes;
}

void bloomery_release_itself(struct bloomery_filter *filter)
{
    const bloomery_allocator allocator = filter->allocator;
    uint8_t *block = bloomery_base_of(filter);
    const size_t bytes = bloomery_own_bytes(filter);
    if (!filter->foreign) /* The secret must not be found in freed memory. */
        bloomery_wipe(bloomery_secret_of(filter), BLOOMERY_SECRET_BEFORE);
    bloomery_release(&allocator, block, bytes, BLOOMERY_PAYLOAD_UNIT);
}

/* ---- The room for layers --------------------------------------------------------------------- */

bool bloomery_make_room(struct bloomery_filter *filter, uint32_t layers)
{
    uint32_t room = bloomery_room(filter);
    uint32_t doublings = filter->doublings;
    if (layers <= room)
        return true;
    assert(layers <= BLOOMERY_LAYERS_MAX && !filter->concurrent);
    for (; room < layers; room *= 2)
        doublings++;
    struct bloomery_layer *now =
        bloomery_allocate(&filter->allocator, bloomery_room_bytes(room), BLOOMERY_ROOM_ALIGNMENT);
    if (now == NULL)
        return false;
    memcpy(now, filter->layers, bloomery_room_bytes(filter->shape.layer_count));
    bloomery_release_room(filter);
    filter->shape.layers = now;
    filter->doublings = (uint8_t)doublings;
    assert(bloomery_room(filter) == room);
    return true;
}

void bloomery_release_room(struct bloomery_filter *filter)
{
    if (bloomery_has_room_apart(filter))
        bloomery_release(&filter->allocator, filter->layers,
                         bloomery_room_bytes(bloomery_room(filter)), BLOOMERY_ROOM_ALIGNMENT);
    filter->shape.layers = filter->own;
    filter->doublings = 0;
}

static const char *why_refused(bloomery_status status)
{
    switch (status) {
    case BLOOMERY_FULL:
        return "the filter is full";
    case BLOOMERY_OUT_OF_MEMORY:
        return "memory ran out for another layer";
    case BLOOMERY_SECRET_NEEDED:
        return "the filter was opened without its secret";
    case BLOOMERY_READ_ONLY:
        return "the filter is read-only";
    default:
        return "this build can't hash keys for the filter, or its keys have no hash";
    }
}

bool bloomery_add_answer(struct bloomery_filter *filter, bloomery_status status, uint32_t set,
                         bloomery_error *error)
{
    if (status != BLOOMERY_OK) {
        /* Without `error` the caller does not hear of it: the filter remembers. */
        assert(status < 0 && -status <= UINT8_MAX);
        if (error != NULL)
            return false;
        if (filter->has_cold)
            __atomic_fetch_add(&bloomery_cold_of(filter)->failed_adds, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&filter->add_failure, (uint8_t)-status, __ATOMIC_RELEASE);
        return false;
    }
    if (error != NULL)
        error->status = BLOOMERY_OK;
    return set > 0;
}

bloomery_status bloomery_failed_adds_take(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_filter *changed = (bloomery_filter *)(uintptr_t)filter; /* never a caller's bytes */
    uint64_t keys = 0;
    if (__atomic_load_n(&filter->add_failure, __ATOMIC_RELAXED) == 0)
        return BLOOMERY_OK;
    const int failure = __atomic_exchange_n(&changed->add_failure, 0, __ATOMIC_ACQUIRE);
    if (failure == 0) /* another thread was faster */
        return BLOOMERY_OK;
    if (filter->has_cold)
        keys = __atomic_exchange_n(&bloomery_cold_of(changed)->failed_adds, 0, __ATOMIC_RELAXED);
    const bloomery_status status = (bloomery_status)-failure;
    const char *why = why_refused(status);
    static const char then[] = "bloomery_add was called without an error. The next call continues "
                               "without these keys";
    if (keys == 0) /* not counted in a filter of few bytes */
        return bloomery_fail(error, status, 0, "keys could not be added, since %s; %s", why, then);
    return bloomery_fail(error, status, 0, "%llu key%s could not be added, since %s; %s",
                         (unsigned long long)keys, keys == 1 ? "" : "s", why, then);
}

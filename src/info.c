/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a filter: off its shape, and off its bits. */
#include "base/error.h"
#include "base/experimental.h"
#include "base/system.h"
#include "base/threads.h"
#include "base/versioned.h"
#include "format/format.h"
#include "kinds/chain.h"
#include "kinds/filter.h"
#include "library.h"
#include "plan/blocked_rate.h"
#include "plan/cuckoo_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <bloomery/bloomery.h>
#include <bloomery/inline.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* What version 0.1 has of each struct. */
enum {
    INFO_BYTES_FIRST = sizeof(bloomery_info),
    SCAN_BYTES_FIRST = sizeof(bloomery_scan_result),
    LAYER_BYTES_FIRST = sizeof(bloomery_layer_info),
};

/* Sums up the layers of a chain. Other threads may add a layer to a concurrent filter during the
 * walk: then it starts again. */
static void read_layers(const bloomery_filter *filter, bloomery_info *info)
{
    do {
        info->layers = bloomery_layer_count(filter);
        info->bits = info->planned_keys = info->adds = 0;
        for (uint32_t i = 0; i < info->layers; i++) {
            info->bits += filter->layers[i].bits;
            /* Those of later layers were bumped out of the first. */
            if (i == 0 || !filter->kind->cascades)
                info->planned_keys += filter->layers[i].keys;
            info->adds += __atomic_load_n(&filter->layers[i].adds, __ATOMIC_RELAXED);
        }
        info->bytes = bloomery_payload_bytes(filter);
        info->file_bytes = bloomery_file_bytes(filter);
    } while (info->layers != bloomery_layer_count(filter));
}

/* In chains of other systems each layer has `tightening` times the rate of the one before. */
static double planned_rate(const bloomery_filter *filter, uint32_t layers)
{
    const struct bloomery_shape *shape = &filter->shape;
    if (filter->kind->cascades || bloomery_has_tables(filter->kind))
        return filter->layers[0].rate; /* where nearly all queries end; all planned keys are */
    if (!filter->kind->grows)
        return filter->layers[layers - 1].rate;
    if (!filter->foreign)
        return bloomery_chain_rate(filter->layers, layers);
    if (shape->growth == 0)
        return filter->layers[0].rate;
    return fmin(1, filter->layers[0].rate / (1 - shape->tightening));
}

static void read_shape(const bloomery_filter *filter, bloomery_info *info)
{
    const struct bloomery_shape *shape = &filter->shape;
    read_layers(filter, info);
    const struct bloomery_layer *newest = &filter->layers[info->layers - 1];
    info->kind = (bloomery_kind)shape->kind;
    info->format_version = BLOOMERY_FORMAT_VERSION;
    info->blocks_per_key = newest->blocks_per_key;
    info->probes = newest->probes;
    info->cell_bits = shape->cell_bits;
    info->counter_max = shape->cell_bits > 1 ? (1u << shape->cell_bits) - 1 : 0;
    info->planned_rate = planned_rate(filter, info->layers);
    info->wanted_rate = fmax(info->planned_rate, bloomery_wanted_rate(filter));
    if (filter->kind->grows) {
        info->growth = filter->foreign ? filter->shape.growth : BLOOMERY_CHAIN_GROWTH;
        info->tightening = filter->foreign ? filter->shape.tightening : BLOOMERY_CHAIN_FACTOR;
        if (info->growth == 0)
            info->tightening = 0;
    }
    if (bloomery_has_tables(filter->kind)) {
        info->growth = shape->growth;
        info->counter_max = 0; /* copies take slots, and none saturates */
    }
    info->memory_bytes = bloomery_memory(filter);
    info->hash = (bloomery_hash_id)shape->hash;
    info->seed = shape->seed;
    info->secret_fingerprint = shape->secret_fingerprint;
    info->secret_in_file = filter->secret_in_file;
    info->secret_known = filter->secret_known;
    info->writable =
        filter->kind->adds && filter->storage == BLOOMERY_OWNED && filter->secret_known;
    info->mapped = filter->storage == BLOOMERY_MAPPED;
    info->rule = bloomery_cold_in(filter)->rule;
    info->note = bloomery_cold_in(filter)->note_bytes > 0 ? bloomery_cold_in(filter)->note : NULL;
    info->dialect = shape->dialect;
    info->kernel =
        filter->kind->cascades ? bloomery_fast_path_of(filter)->name : filter->operations->name;
    info->can_add = filter->kind->adds;
    info->can_remove = filter->kind->removes;
    info->can_merge = filter->kind->merges;
    info->can_grow = info->growth > 0; /* RedisBloom has chains that never do */
    info->has_bits = filter->kind->has_bits;
}

/* Adds the hash's part to a rate with this number of keys: nothing in filters of other systems,
 * whose rates are those of their schemes. A random hash that equals a key's is among those that the
 * bits let pass. But rates of bits are those of positions, of which there are more than hashes of
 * 64 bits. */
static double with_hash(const bloomery_filter *filter, double keys, double rate)
{
    return filter->foreign || !(keys < (double)BLOOMERY_KEYS_MAX)
               ? rate
               : bloomery_rate_with_hash((bloomery_hash_id)filter->shape.hash,
                                         (uint64_t)llround(keys), rate);
}

/* The rate with this many keys, which may be infinite. */
static double expected_rate(const bloomery_filter *filter, const struct bloomery_layer *layer,
                            double keys)
{
    return isinf(keys) ? 1 : filter->kind->expected_rate(layer, (uint64_t)llround(keys));
}

/* A static filter answers in the layer that does not hand the key on. Behind the last one that does
 * so, the answer is "possibly". */
static void scan_handed_on(const bloomery_filter *filter, bloomery_scan_result *result)
{
    double reached = 1;
    result->estimated_keys = (double)filter->layers[0].keys;
    if (filter->layers[0].keys == 0)
        return;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        struct bloomery_scan scan;
        filter->kind->scan(&filter->shape, layer, layer->payload, &scan);
        result->live_rate += reached * scan.live_rate;
        reached *= scan.cascaded;
    }
    result->live_rate += reached;
    result->expected_rate = filter->kind->expected_rate(filter->layers, filter->layers[0].keys);
}

/* A chain says "possibly" if one of its layers does: 1 - product of (1 - rate), written so that
 * small rates are not lost to rounding. */
static void scan_bits(const bloomery_filter *filter, bloomery_scan_result *result)
{
    double no_live = 0;
    double no_expected = 0;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        struct bloomery_scan scan;
        filter->kind->scan(&filter->shape, layer, layer->payload, &scan);
        assert(scan.bits_set <= layer->bits);
        const double keys = filter->kind->estimate(layer, scan.bits_set);
        bits += layer->bits;
        result->bits_set += scan.bits_set;
        result->saturated_cells += scan.saturated;
        result->estimated_keys += keys;
        no_live += log1p(-scan.live_rate);
        no_expected += log1p(-expected_rate(filter, layer, keys));
    }
    /* Not -expm1, which makes -0 of an empty filter. */
    result->live_rate = with_hash(filter, result->estimated_keys, 0 - expm1(no_live));
    result->expected_rate = with_hash(filter, result->estimated_keys, 0 - expm1(no_expected));
    result->fill = (double)result->bits_set / (double)bits;
}

void bloomery_info_get(const bloomery_filter *filter, bloomery_info *out)
{
    bloomery_info info;
    memset(&info, 0, sizeof info);
    read_shape(filter, &info);
    bloomery_versioned_give(&info, sizeof info, out, INFO_BYTES_FIRST);
}

void bloomery_scan(const bloomery_filter *filter, bloomery_scan_result *out)
{
    bloomery_scan_result result;
    memset(&result, 0, sizeof result);
    if (filter->kind->cascades)
        scan_handed_on(filter, &result);
    else
        scan_bits(filter, &result);
    bloomery_versioned_give(&result, sizeof result, out, SCAN_BYTES_FIRST);
}

/* The keys at which the rate rises from what was scanned to `limit`: at least, since a rate of k
 * probes rises with the k-th power of the keys at the most. A key of a cuckoo filter takes a slot,
 * with which two of a table's pairs of a bucket and a fingerprint answer (plan/cuckoo_rate.c);
 * where tables have different sizes, it counts as the average of the keys that are there. */
static uint64_t keys_until(const bloomery_filter *filter, const bloomery_info *info,
                           const bloomery_scan_result *now, double limit)
{
    const bool tables = bloomery_has_tables(filter->kind);
    if (tables && info->growth <= 1) {
        const double pairs = (double)BLOOMERY_PRINTS * (double)filter->layers[0].blocks;
        return (uint64_t)((limit - now->live_rate) * pairs / 2);
    }
    const double steepest = tables ? 1 : (double)info->probes * fmax(1, info->blocks_per_key);
    const double keys = now->estimated_keys * pow(limit / now->live_rate, 1 / steepest);
    const double left = fmin(keys - now->estimated_keys, (double)BLOOMERY_KEYS_MAX);
    return left >= 1 ? (uint64_t)left : 0;
}

uint64_t bloomery_keys_left(const bloomery_filter *filter, double limit)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result now = BLOOMERY_SCAN_RESULT;
    uint64_t left = 0;

    bloomery_info_get(filter, &info);
    if (!info.can_add)
        return 0;
    if (!(limit > 0))
        limit = fmax(2 * info.planned_rate, info.wanted_rate);
    /* The rate of tables rises with their keys, however many there are. */
    if ((info.can_grow && !bloomery_has_tables(filter->kind)) || !(limit > 0 && limit < 1))
        return UINT64_MAX;
    bloomery_scan(filter, &now);
    if (now.live_rate < limit)
        left = now.live_rate > 0 ? keys_until(filter, &info, &now, limit) : 1;
    /* A few keys in a small filter may fall so that its rate is higher than planned. */
    const double within = (double)info.planned_keys - now.estimated_keys;
    return within > (double)left ? (uint64_t)within : left;
}

uint64_t bloomery_memory(const bloomery_filter *filter)
{
    uint64_t bytes = bloomery_own_bytes(filter);
    if (filter->storage == BLOOMERY_OWNED && filter->near_words == 0)
        bytes += bloomery_cold_in(filter)->payload_bytes;
    if (bloomery_has_room_apart(filter))
        bytes += bloomery_room(filter) * sizeof filter->layers[0];
    if (bloomery_cold_in(filter)->growing != NULL)
        bytes += sizeof *bloomery_cold_in(filter)->growing;
    for (uint32_t i = bloomery_layer_count(filter); i-- > 0;)
        if (bloomery_is_apart(filter, &filter->layers[i]))
            bytes += filter->layers[i].bytes;
    return bytes;
}

bloomery_status bloomery_layer_info_get(const bloomery_filter *filter, uint32_t index, bool scan,
                                        bloomery_layer_info *out)
{
    const uint32_t layers = bloomery_layer_count(filter);
    if (index >= layers)
        return BLOOMERY_BAD_ARGUMENT;
    const struct bloomery_layer *layer = &filter->layers[index];
    bloomery_layer_info info = {
        .blocks_per_key = layer->blocks_per_key,
        .probes = layer->probes,
        .bits = layer->bits,
        .bytes = layer->bytes,
        .planned_keys = layer->keys,
        .planned_rate = layer->rate,
        .adds = __atomic_load_n(&layer->adds, __ATOMIC_RELAXED),
    };
    if (scan) {
        struct bloomery_scan found;
        filter->kind->scan(&filter->shape, layer, layer->payload, &found);
        if (filter->kind->cascades && found.cascaded < 1) /* of the queries that end here */
            found.live_rate /= 1 - found.cascaded;
        info.bits_known = filter->kind->has_bits;
        info.bits_set = found.bits_set;
        info.estimated_keys = filter->kind->estimate(layer, found.bits_set);
        info.live_rate = with_hash(filter, info.estimated_keys, found.live_rate);
    } else if (filter->kind->grows && filter->storage == BLOOMERY_OWNED) { /* as keys come */
        info.bits_known = true;
        info.bits_set = __atomic_load_n(&layer->bits_set, __ATOMIC_RELAXED);
        info.estimated_keys = filter->kind->estimate(layer, info.bits_set);
    }
    bloomery_versioned_give(&info, sizeof info, out, LAYER_BYTES_FIRST);
    return BLOOMERY_OK;
}

/* The bits of a chain's older layers, which no key changes any more. */
static uint64_t older_bits(const bloomery_filter *filter, const struct bloomery_layer *layer)
{
    struct bloomery_scan scan;
    if (filter->storage == BLOOMERY_OWNED) /* they are counted as keys come */
        return __atomic_load_n(&layer->bits_set, __ATOMIC_RELAXED);
    filter->kind->scan(&filter->shape, layer, layer->payload, &scan);
    return scan.bits_set;
}

bloomery_status bloomery_layer_span(const bloomery_filter *filter, uint32_t index,
                                    const void **data, uint64_t *bytes)
{
    const bool known = index < bloomery_layer_count(filter);
    *data = known ? filter->layers[index].payload : NULL;
    *bytes = known ? bloomery_held_bytes(filter, &filter->layers[index]) : 0;
    return known ? BLOOMERY_OK : BLOOMERY_BAD_ARGUMENT;
}

double bloomery_estimate(const bloomery_filter *filter, uint64_t bits_set)
{
    const uint32_t newest = bloomery_layer_count(filter) - 1;
    double keys = 0;
    for (uint32_t i = 0; i < newest; i++) {
        uint64_t bits = older_bits(filter, &filter->layers[i]);
        keys += filter->kind->estimate(&filter->layers[i], bits);
        bits_set -= bits < bits_set ? bits : bits_set;
    }
    /* A caller's sum may be more than there are bits: then all are set. */
    const struct bloomery_layer *last = &filter->layers[newest];
    return keys + filter->kind->estimate(last, bits_set < last->bits ? bits_set : last->bits);
}

double bloomery_expected_rate(const bloomery_filter *filter, uint64_t keys)
{
    const uint64_t held = keys < BLOOMERY_KEYS_MAX ? keys : BLOOMERY_KEYS_MAX;
    if (filter->kind->cascades) /* its hash is in the rate */
        return filter->kind->expected_rate(filter->layers, held);
    const struct bloomery_layer *newest = &filter->layers[bloomery_layer_count(filter) - 1];
    return with_hash(filter, (double)held, filter->kind->expected_rate(newest, held));
}

/* ---- Limits and threads ---------------------------------------------------------------------- */

/* What the process may use: memory, and how many threads are worth making. */

/* What version 0.1 has of the struct. */
enum { LIMITS_BYTES_FIRST = sizeof(bloomery_limits) };

void bloomery_limits_get(bloomery_limits *limits)
{
    bloomery_limits all = BLOOMERY_LIMITS;
    bloomery_limits_read(bloomery_limits_root(), &all);
    bloomery_phrase_limits(&all);
    bloomery_versioned_give(&all, sizeof all, limits, LIMITS_BYTES_FIRST);
}

/* What a thread may take: of addresses 8 MiB for its stack, and 128 MiB while the C library makes
 * an area of allocations for it; of a container's memory its buffers. */
static const uint64_t addresses = (uint64_t)136 << 20;
static const uint64_t buffers = (uint64_t)8 << 20;

uint32_t bloomery_threads(void)
{
    uint32_t threads = bloomery_processors();
    bloomery_limits limits = BLOOMERY_LIMITS;
    if (threads == 1)
        return threads;
    bloomery_limits_get(&limits);
    if (limits.process_left / addresses < threads)
        threads = (uint32_t)(limits.process_left / addresses);
    if (limits.container_left / buffers < threads)
        threads = (uint32_t)(limits.container_left / buffers);
    return threads > 0 ? threads : 1;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The names of statuses, and the version. */

struct status_row {
    int value;
    const char *name;
};

static const struct status_row rows[] = {
#define ROW(name) {name, #name},
    ROW(BLOOMERY_OK) ROW(BLOOMERY_BAD_ARGUMENT) ROW(BLOOMERY_OUT_OF_MEMORY) ROW(BLOOMERY_IO_FAILED)
        ROW(BLOOMERY_NOT_A_FILTER) ROW(BLOOMERY_WRONG_VERSION) ROW(BLOOMERY_CORRUPT)
            ROW(BLOOMERY_TRUNCATED) ROW(BLOOMERY_MISMATCH) ROW(BLOOMERY_READ_ONLY)
                ROW(BLOOMERY_FULL) ROW(BLOOMERY_UNSUPPORTED) ROW(BLOOMERY_SECRET_NEEDED)
                    ROW(BLOOMERY_BUSY)
#undef ROW
};

const char *bloomery_status_name(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value == status)
            return rows[i].name;
    return NULL;
}

const char *bloomery_version(void)
{
    return BLOOMERY_VERSION;
}

/* ---- Inlined queries and adds ---------------------------------------------------------------- */

/* Which filters fit <bloomery/inline.h>. */

bloomery_status bloomery_inline_of(const bloomery_filter *filter, bloomery_inline *taken,
                                   bloomery_error *error)
{
    const struct bloomery_shape *shape = &filter->shape;
    const struct bloomery_layer *layer = filter->layers;
    memset(taken, 0, sizeof *taken);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries and adds need a little-endian host");
    if (filter->foreign || shape->kind != BLOOMERY_BLOCKED)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries and adds are for blocked filters of Bloomery's own");
    if (shape->hash != BLOOMERY_HASH_XXH3_64)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries and adds are for filters with hash %s, not %s",
                             bloomery_hash_xxh3_64.name, filter->hash->name);
    if (filter->concurrent)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 0,
            "inlined queries and adds are not for filters to which several threads add");
    *taken = (bloomery_inline){
        .words = (const uint64_t *)(const void *)layer->payload,
        .count = layer->blocks,
        .seed = shape->seed,
        .blocks_per_key = layer->blocks_per_key,
        .probes = layer->probes,
    };
    return BLOOMERY_OK;
}

bloomery_status bloomery_inline_adder_of(bloomery_filter *filter, bloomery_inline_adder *taken,
                                         bloomery_error *error)
{
    memset(taken, 0, sizeof *taken);
    bloomery_status status = bloomery_inline_of(filter, &taken->query, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_add(filter, error);
    if (status != BLOOMERY_OK) {
        memset(taken, 0, sizeof *taken);
        return status;
    }
    taken->words = (uint64_t *)(void *)filter->layers->payload;
    taken->adds = &filter->layers->adds;
    return BLOOMERY_OK;
}

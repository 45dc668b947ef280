/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a filter: off its shape, and off its bits. */
#include "chain/grow.h"
#include "core/filter.h"
#include "format/format.h"

#include "plan/hash_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Of a chain, what its links make up. Others may be adding to a filter made for it, and another link
 * may come meanwhile: then once more. */
static void read_links(const bloomery_filter *filter, bloomery_info *info)
{
    do {
        info->links = bloomery_link_count(filter);
        info->bits = info->planned_keys = info->adds = 0;
        for (uint32_t i = 0; i < info->links; i++) {
            info->bits += filter->links[i].bits;
            info->planned_keys += filter->links[i].keys;
            info->adds += __atomic_load_n(&filter->links[i].adds, __ATOMIC_RELAXED);
        }
        info->bytes = bloomery_payload_bytes(filter);
        info->file_bytes = bloomery_bytes(filter);
    } while (info->links != bloomery_link_count(filter));
}

/* In chains of other systems each link has `tightening` times the rate of the one before. */
static double planned_rate(const bloomery_filter *filter, uint32_t links)
{
    const struct bloomery_shape *shape = &filter->shape;
    if (!filter->kind->grows)
        return filter->links[links - 1].rate;
    if (!filter->foreign)
        return bloomery_chain_rate(filter->links, links);
    if (shape->growth == 0)
        return filter->links[0].rate;
    return fmin(1, filter->links[0].rate / (1 - shape->tightening));
}

static void read_shape(const bloomery_filter *filter, bloomery_info *info)
{
    const struct bloomery_shape *shape = &filter->shape;
    read_links(filter, info);
    const struct bloomery_link *newest = &filter->links[info->links - 1];
    info->kind = (bloomery_kind)shape->kind;
    info->format_version = BLOOMERY_FORMAT_VERSION;
    info->lines = newest->lines;
    info->probes = newest->probes;
    info->cell_bits = shape->cell_bits;
    info->counter_most = shape->cell_bits > 1 ? (1u << shape->cell_bits) - 1 : 0;
    info->planned_rate = planned_rate(filter, info->links);
    info->hash = (bloomery_hash_id)shape->hash;
    info->seed = shape->seed;
    info->key_fingerprint = shape->key_fingerprint;
    info->key_in_file = filter->key_in_file;
    info->key_known = filter->key_known;
    info->writable = filter->storage == BLOOMERY_OWNED && filter->key_known;
    info->mapped = filter->storage == BLOOMERY_MAPPED;
    info->rule = filter->rule;
    info->note = filter->note_bytes > 0 ? filter->note : NULL;
    info->dialect = shape->dialect;
    info->kernel = filter->operations.name;
}

/* What the hash adds to a rate with so many keys: nothing in filters of other systems, whose rates
 * are those of their rules. A random hash that is a key's is among those that the bits let pass;
 * but rates of bits are those of positions, of which there are more than hashes of 64 bits. */
static double with_hash(const bloomery_filter *filter, double keys, double rate)
{
    return filter->foreign || !(keys < (double)BLOOMERY_KEYS_MAX)
               ? rate
               : bloomery_rate_with_hash((bloomery_hash_id)filter->shape.hash,
                                         (uint64_t)llround(keys), rate);
}

/* The rate with this many keys, which may be infinite. */
static double expected_rate(const bloomery_filter *filter, const struct bloomery_link *link,
                            double keys)
{
    return isinf(keys) ? 1 : filter->kind->expected_rate(link, (uint64_t)llround(keys));
}

/* A chain says "maybe" where one of its links does: 1 - product of (1 - rate), written so that
 * small rates are not lost to rounding. */
static void read_bits(const bloomery_filter *filter, bloomery_info *info)
{
    double no_live = 0;
    double no_expected = 0;
    for (uint32_t i = 0; i < filter->shape.link_count; i++) {
        const struct bloomery_link *link = &filter->links[i];
        struct bloomery_scan scan;
        filter->kind->scan(&filter->shape, link, link->payload, &scan);
        assert(scan.bits_set <= link->bits);
        const double keys = filter->kind->estimate(link, scan.bits_set);
        info->bits_set += scan.bits_set;
        info->stuck_cells += scan.stuck;
        info->estimated_keys += keys;
        no_live += log1p(-scan.live_rate);
        no_expected += log1p(-expected_rate(filter, link, keys));
    }
    /* Not -expm1, which makes -0 of an empty filter. */
    info->live_rate = with_hash(filter, info->estimated_keys, 0 - expm1(no_live));
    info->expected_rate = with_hash(filter, info->estimated_keys, 0 - expm1(no_expected));
    info->fill = (double)info->bits_set / (double)info->bits;
}

void bloomery_info_get(const bloomery_filter *filter, bool scan, bloomery_info *out)
{
    bloomery_info info;
    const size_t bytes = out->struct_bytes;
    memset(&info, 0, sizeof info);
    read_shape(filter, &info);
    if (scan)
        read_bits(filter, &info);
    info.struct_bytes = bytes;
    memcpy(out, &info, bytes < sizeof info ? bytes : sizeof info);
}

bloomery_status bloomery_link_info_get(const bloomery_filter *filter, uint32_t index, bool scan,
                                       bloomery_link_info *out)
{
    const size_t bytes = out->struct_bytes;
    const uint32_t links = bloomery_link_count(filter);
    if (index >= links)
        return BLOOMERY_BAD_ARGUMENT;
    const struct bloomery_link *link = &filter->links[index];
    bloomery_link_info info = {
        .struct_bytes = bytes,
        .lines = link->lines,
        .probes = link->probes,
        .bits = link->bits,
        .bytes = link->bytes,
        .planned_keys = link->keys,
        .planned_rate = link->rate,
        .adds = __atomic_load_n(&link->adds, __ATOMIC_RELAXED),
    };
    if (scan) {
        struct bloomery_scan found;
        filter->kind->scan(&filter->shape, link, link->payload, &found);
        info.bits_set = found.bits_set;
        info.estimated_keys = filter->kind->estimate(link, found.bits_set);
        info.live_rate = with_hash(filter, info.estimated_keys, found.live_rate);
    }
    memcpy(out, &info, bytes < sizeof info ? bytes : sizeof info);
    return BLOOMERY_OK;
}

/* The bits of a chain's older links are known where it can grow: it counts them. */
static uint64_t older_bits(const bloomery_filter *filter, const struct bloomery_link *link)
{
    struct bloomery_scan scan;
    if (filter->kind->grows && !filter->foreign && filter->storage == BLOOMERY_OWNED &&
        link->unsure == 0)
        return __atomic_load_n(&link->bits_set, __ATOMIC_RELAXED);
    filter->kind->scan(&filter->shape, link, link->payload, &scan);
    return scan.bits_set;
}

double bloomery_estimate(const bloomery_filter *filter, uint64_t bits_set)
{
    const uint32_t newest = bloomery_link_count(filter) - 1;
    double keys = 0;
    for (uint32_t i = 0; i < newest; i++) {
        uint64_t bits = older_bits(filter, &filter->links[i]);
        keys += filter->kind->estimate(&filter->links[i], bits);
        bits_set -= bits < bits_set ? bits : bits_set;
    }
    /* A caller's sum may be more than there are bits: then all are set. */
    const struct bloomery_link *last = &filter->links[newest];
    return keys + filter->kind->estimate(last, bits_set < last->bits ? bits_set : last->bits);
}

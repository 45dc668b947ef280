/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Union, intersection and folding: filters become filters without a key being seen.
 *
 *     bloomery_merge         from, folded to the size of into ──┐
 *                            into ──────────────────────────────┴ ∪ ──> into
 *     bloomery_merge_save    all, folded to the least size ──── ∪ ──> 64 KiB ──> a file
 *
 * Payloads that still have the checksums of their file are compared with them first. Bits that came
 * out of a damaged file would otherwise leave here in a filter whose checksums are right.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/versioned.h"
#include "kinds/cells.h"
#include "kinds/chain.h"
#include "kinds/counting.h"
#include "library.h"
#include "plan/blocked_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <bloomery/records.h>
#include <math.h>
#include <string.h>

/* Stretches that pass over the stack: small enough for a first-level cache, two at a time. */
enum { STRETCH = 4096 };

/* How often the larger one of two sizes must be halved to be the smaller one; false if it can't
 * be. */
static bool folds_between(uint64_t larger, uint64_t smaller, uint32_t *folds)
{
    *folds = 0;
    for (; larger > smaller && larger % 2 == 0; larger /= 2)
        ++*folds;
    return larger == smaller;
}

/* The cells of a plain filter at a size that it folds to. */
static struct bloomery_cells cells_at(const bloomery_filter *filter, uint64_t bits)
{
    uint32_t folds = 0;
    bool fits = folds_between(filter->layers->bits, bits, &folds);
    assert(fits && filter->shape.layer_count == 1);
    (void)fits;
    return bloomery_cells_of(&filter->shape, filter->layers, folds);
}

static bloomery_status no_chain(const bloomery_filter *filter, const char *what,
                                bloomery_error *error)
{
    if (bloomery_has_tables(filter->kind))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "cuckoo filters can't be %s, since each slot has the fingerprint of "
                             "one key: add the keys themselves to another filter",
                             what);
    if (filter->foreign && filter->kind->grows)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "chains of other systems can't be %s",
                             what);
    if (filter->kind->cascades)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "static filters can't be merged, intersected or folded: build one "
                             "from all keys");
    if (!filter->kind->grows)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "scalable filters can't be %s", what);
}

static uint64_t adds_of(uint64_t one, uint64_t other, bool intersect)
{
    uint64_t sum;
    if (intersect)
        return one < other ? one : other;
    return __builtin_add_overflow(one, other, &sum) ? UINT64_MAX : sum;
}

/* ---- In memory ------------------------------------------------------------------------------ */

/* A stretch of `from` put together with the same stretch at `into`, which has the folded size. */
static void join(uint8_t *into, const struct bloomery_cells *from, uint64_t at, size_t bytes,
                 bool intersect)
{
    uint8_t room[STRETCH];
    for (size_t done = 0; done < bytes; done += STRETCH) {
        const size_t now = bytes - done < STRETCH ? bytes - done : STRETCH;
        const uint8_t *cells = bloomery_cells_read(from, at + done, now, room);
        if (intersect)
            bloomery_cells_intersect(from->cell_bits, into + done, cells, now);
        else
            bloomery_cells_unite(from->cell_bits, into + done, cells, now);
    }
}

/* What both directions need before anything changes. */
static bloomery_status check_join(const bloomery_filter *into, const bloomery_filter *from,
                                  bloomery_error *error)
{
    if (into->storage != BLOOMERY_OWNED)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0,
                             "the filter is a map or a view: bloomery_open and bloomery_load make "
                             "filters that others can be merged into");
    bloomery_status status = bloomery_compatible(into, from, error);
    if (status == BLOOMERY_OK && !into->kind->grows && into->layers->bits > from->layers->bits)
        status = bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                               "the filter to merge into is the larger one: %llu cells, and %llu; "
                               "fold it first",
                               (unsigned long long)into->layers->bits,
                               (unsigned long long)from->layers->bits);
    if (status == BLOOMERY_OK)
        status = bloomery_verify(from, error);
    return status == BLOOMERY_OK ? bloomery_failed_adds_take(from, error) : status;
}

static bloomery_status combine(bloomery_filter *into, const bloomery_filter *from, bool intersect,
                               bloomery_error *error)
{
    if (into->kind->cascades || bloomery_has_tables(into->kind))
        return no_chain(into, "merged", error);
    bloomery_status status = check_join(into, from, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!into->kind->merges)
        return no_chain(into, "merged", error);
    if (into->kind->grows) {
        status = from == into ? BLOOMERY_OK : bloomery_chain_join(into, from, error);
    } else {
        const struct bloomery_cells cells = cells_at(from, into->layers->bits);
        join(into->layers->payload, &cells, 0, (size_t)into->layers->bytes, intersect);
        into->layers->adds = adds_of(into->layers->adds, from->layers->adds, intersect);
    }
    /* A filter that was opened without its secret learns it from one that has it. */
    if (status == BLOOMERY_OK && !into->secret_known && from->secret_known) {
        if (!into->foreign)
            *bloomery_secret_of(into) = *bloomery_secret_of(from);
        into->secret_known = true;
    }
    return status;
}

bloomery_status bloomery_merge(bloomery_filter *into, const bloomery_filter *from,
                               bloomery_error *error)
{
    return combine(into, from, false, error);
}

bloomery_status bloomery_intersect(bloomery_filter *into, const bloomery_filter *from,
                                   bloomery_error *error)
{
    bloomery_status status = no_chain(into, "intersected", error);
    return status == BLOOMERY_OK ? combine(into, from, true, error) : status;
}

/* ---- Folding -------------------------------------------------------------------------------- */

/* The shape of a filter of `bits` cells, which `filter` folds to; its layer is `layer`. */
static struct bloomery_shape shape_at(const bloomery_filter *filter, uint64_t bits,
                                      struct bloomery_layer *layer, uint64_t *payload_bytes)
{
    struct bloomery_shape shape = filter->shape;
    *layer = *filter->layers;
    layer->bits = bits;
    layer->offset = 0;
    shape.layers = layer;
    bloomery_status status = bloomery_shape_lay_out(&shape, payload_bytes, NULL);
    assert(status == BLOOMERY_OK && *payload_bytes <= filter->layers->bytes);
    (void)status;
    if (bits != filter->layers->bits) {
        /* The rate with the planned keys, as a plan has it; 0: these are unknown. */
        const double rate = layer->keys > 0 ? filter->kind->expected_rate(layer, layer->keys) : 0;
        layer->rate =
            layer->keys == 0 || filter->foreign
                ? rate
                : bloomery_rate_with_hash((bloomery_hash_id)filter->shape.hash, layer->keys, rate);
    }
    return shape;
}

static bloomery_status check_folds(const bloomery_filter *filter, uint32_t times,
                                   bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    const bool flat = bloomery_is_flat(&filter->shape);
    const uint64_t size = flat ? layer->bits : layer->blocks;
    const uint32_t most = (uint32_t)__builtin_ctzll(size);
    const char *unit = flat ? "bit" : "block";
    if (times < 1 || times > 30)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter is folded 1 to 30 times, not %u", times);
    if (times <= most)
        return BLOOMERY_OK;
    if (most == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter of %llu %s%s can't be halved: the number is odd",
                             (unsigned long long)size, unit, size == 1 ? "" : "s");
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "a filter of %llu %ss can be halved %u time%s, not %u",
                         (unsigned long long)size, unit, most, most == 1 ? "" : "s", times);
}

bloomery_status bloomery_fold(const bloomery_filter *filter, uint32_t times,
                              const bloomery_open_options *given, bloomery_filter **folded,
                              bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_checked_shape checked;
    struct bloomery_layer layer;
    uint64_t payload_bytes;
    *folded = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status = no_chain(filter, "folded", error);
    if (status == BLOOMERY_OK && filter->foreign)
        status = bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                               "filters of other systems can't be halved: their positions are no "
                               "longer the same then");
    if (status == BLOOMERY_OK)
        status = check_folds(filter, times, error);
    if (status == BLOOMERY_OK)
        status = bloomery_verify(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_shape shape =
        shape_at(filter, filter->layers->bits >> times, &layer, &payload_bytes);
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    traits.concurrent = options.concurrent_adds;
    status = bloomery_shape_check(&shape, payload_bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, NULL, folded, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_cells cells = bloomery_cells_of(&filter->shape, filter->layers, times);
    join((*folded)->layers->payload, &cells, 0, (size_t)payload_bytes, false);
    return BLOOMERY_OK;
}

/* ---- To a file ------------------------------------------------------------------------------ */

struct stream {
    const bloomery_filter *const *filters;
    size_t count;
    uint64_t bits; /* of the result */
    bool intersect;
};

/* bloomery_spans: all filters' stretches, put together. */
static const uint8_t *stream_span(void *context, uint64_t at, size_t bytes, uint8_t *room)
{
    const struct stream *stream = context;
    struct bloomery_cells cells = cells_at(stream->filters[0], stream->bits);
    const uint8_t *first = bloomery_cells_read(&cells, at, bytes, room);
    if (stream->count == 1)
        return first;
    if (first != room)
        memcpy(room, first, bytes);
    for (size_t i = 1; i < stream->count; i++) {
        cells = cells_at(stream->filters[i], stream->bits);
        join(room, &cells, at, bytes, stream->intersect);
    }
    return room;
}

/* Checks all filters, and finds the smallest size and the adds of the result. */
static bloomery_status check_all(struct stream *stream, uint64_t *adds, bloomery_error *error)
{
    bloomery_error why = {.status = BLOOMERY_OK};
    bloomery_status status = BLOOMERY_OK;
    if (stream->count == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "no filter was added: add one before "
                             "the file is written");
    const bloomery_filter *first = stream->filters[0];
    status = no_chain(first, "merged on their way to a file: merge them in memory", error);
    stream->bits = first->layers->bits;
    *adds = first->layers->adds;
    for (size_t i = 1; i < stream->count && status == BLOOMERY_OK; i++) {
        const struct bloomery_layer *layer = stream->filters[i]->layers;
        if (bloomery_compatible(first, stream->filters[i], &why) != BLOOMERY_OK)
            return bloomery_fail(error, why.status, 0, "filter %zu does not fit the first: %s",
                                 i + 1, why.text);
        if (layer->bits < stream->bits)
            stream->bits = layer->bits;
        *adds = adds_of(*adds, layer->adds, stream->intersect);
    }
    for (size_t i = 0; i < stream->count && status == BLOOMERY_OK; i++)
        if (bloomery_verify(stream->filters[i], &why) != BLOOMERY_OK ||
            bloomery_failed_adds_take(stream->filters[i], &why) != BLOOMERY_OK)
            return bloomery_fail(error, why.status, why.offset, "filter %zu: %s", i + 1, why.text);
    return status;
}

static bloomery_status save_all(const bloomery_filter *const *filters, size_t count, bool intersect,
                                const char *path, bloomery_error *error)
{
    struct stream stream = {.filters = filters, .count = count, .intersect = intersect};
    struct bloomery_checked_shape checked;
    struct bloomery_layer layer;
    bloomery_filter *head;
    uint64_t adds = 0, payload_bytes;
    bloomery_status status = check_all(&stream, &adds, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_shape shape = shape_at(filters[0], stream.bits, &layer, &payload_bytes);
    layer.adds = adds;
    struct bloomery_traits traits = bloomery_traits_of(filters[0]);
    /* What the file's head is written from: the payload that it views is not looked at. */
    status = bloomery_shape_check(&shape, payload_bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, filters[0]->layers->payload, &head, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_save_spans(head, stream_span, &stream, path, error);
    bloomery_free(head);
    return status;
}

bloomery_status bloomery_merge_save(const bloomery_filter *const *filters, size_t count,
                                    const char *path, bloomery_error *error)
{
    return save_all(filters, count, false, path, error);
}

bloomery_status bloomery_intersect_save(const bloomery_filter *const *filters, size_t count,
                                        const char *path, bloomery_error *error)
{
    return save_all(filters, count, true, path, error);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* What two filters have in common, read off their cells: plan/blocked_rate.h says how exact that
 * is. */

/* What version 0.1 has of the struct. */
enum { COMPARISON_BYTES_FIRST = sizeof(bloomery_comparison) };

/* Cells that are not 0, at the smaller of the two sizes. */
struct counts {
    uint64_t set[2];
    uint64_t either;
    bool equal;
};

static void count_all(const struct bloomery_cells *one, const struct bloomery_cells *other,
                      struct counts *counts)
{
    uint8_t room[2][STRETCH];
    const uint32_t cell_bits = one->cell_bits;
    const uint64_t end = bloomery_cells_bytes(one);
    assert(end == bloomery_cells_bytes(other));
    *counts = (struct counts){.equal = true};
    for (uint64_t at = 0; at < end; at += STRETCH) {
        const size_t bytes = end - at < STRETCH ? (size_t)(end - at) : STRETCH;
        const uint8_t *first = bloomery_cells_read(one, at, bytes, room[0]);
        const uint8_t *second = bloomery_cells_read(other, at, bytes, room[1]);
        counts->set[0] += bloomery_cells_count(cell_bits, first, bytes);
        counts->set[1] += bloomery_cells_count(cell_bits, second, bytes);
        counts->either += bloomery_cells_count_either(cell_bits, first, second, bytes);
        counts->equal = counts->equal && memcmp(first, second, bytes) == 0;
    }
}

/* `layer` has the size at which the cells were counted. */
static void estimate(const struct bloomery_kind_row *kind, const struct bloomery_layer *layer,
                     const struct counts *counts, bloomery_comparison *comparison)
{
    const double keys[2] = {kind->estimate(layer, counts->set[0]),
                            kind->estimate(layer, counts->set[1])};
    const double all = kind->estimate(layer, counts->either);
    const bool known = !isinf(all);
    const double common = known ? fmax(0, keys[0] + keys[1] - all) : NAN;
    const struct bloomery_overlap overlap = {
        .bits = layer->bits,
        .blocks = layer->blocks_per_key > 0 ? layer->blocks : 0,
        .blocks_per_key = layer->blocks_per_key,
        .probes = layer->probes,
        .keys = {keys[0], keys[1]},
        .union_keys = all,
        .common_keys = common,
    };
    *comparison = (bloomery_comparison){
        .keys = {keys[0], keys[1]},
        .union_keys = all,
        .common_keys = common,
        .jaccard = all > 0 ? common / all : 0,
        .deviation = bloomery_overlap_deviation(&overlap),
        .jaccard_deviation = bloomery_overlap_jaccard(&overlap),
        .within = {counts->either == counts->set[1], counts->either == counts->set[0]},
        .equal = counts->equal,
    };
}

bloomery_status bloomery_compare(const bloomery_filter *one, const bloomery_filter *other,
                                 bloomery_comparison *comparison, bloomery_error *error)
{
    struct counts counts;
    bloomery_comparison found;
    if (bloomery_has_tables(one->kind))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "cuckoo filters can't be compared: the same keys in another order lie "
                             "in other slots");
    bloomery_status status = bloomery_compatible(one, other, error);
    if (status != BLOOMERY_OK)
        return status;
    if (one->foreign && !bloomery_is_flat(&one->shape))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of blocks of another system can't be compared");
    if (!one->kind->has_bits)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "static filters can't be compared: their bits depend on all keys");
    if (one->kind->grows)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "scalable filters can't be compared: the same keys in another order "
                             "lie in other layers");
    const struct bloomery_layer *lesser =
        one->layers->bits <= other->layers->bits ? one->layers : other->layers;
    const struct bloomery_cells first = cells_at(one, lesser->bits);
    const struct bloomery_cells second = cells_at(other, lesser->bits);
    count_all(&first, &second, &counts);
    estimate(one->kind, lesser, &counts, &found);
    bloomery_versioned_give(&found, sizeof found, comparison, COMPARISON_BYTES_FIRST);
    return BLOOMERY_OK;
}

/* ---- Whether two filters fit together -------------------------------------------------------- */

/*
 * Whether two filters fit together. All that decides a key's cells must be the same. It is compared
 * in the order in which one would look for the mistake. The first that differs is reported with
 * both its values, in words.
 */

/* A number that must be the same, and the text of its value: before + number + after. */
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
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "the key rules differ: %s, and %s",
                                 (one & words[i].flag) != 0 ? words[i].yes : words[i].no,
                                 (other & words[i].flag) != 0 ? words[i].yes : words[i].no);
    return BLOOMERY_OK;
}

/* ---- Geometry ------------------------------------------------------------------------------- */

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
    if (folds_between(one->bits, other->bits, &folds) ||
        folds_between(other->bits, one->bits, &folds))
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
        status = compare_rules(bloomery_cold_in(one)->rule.flags,
                               bloomery_cold_in(other)->rule.flags, error);
    if (status == BLOOMERY_OK)
        status = compare_geometry(one, other, error);
    return status;
}

/* ---- Copying --------------------------------------------------------------------------------- */

/*
 * A filter as another one in memory of its own. Layers that lie here and there come to lie in one
 * payload, as they do in a file:
 *
 *     filter    | payload: layer 0 |    | layer 1 |    | layer 2     |
 *     copy      | payload: layer 0 | layer 1 | layer 2     |
 *
 * Their offsets say so already: they are those of the file.
 */

bloomery_status bloomery_copy(const bloomery_filter *filter, const bloomery_open_options *given,
                              bloomery_filter **copy, bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_checked_shape checked;
    *copy = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    traits.concurrent = options.concurrent_adds;
    traits.memory_limit = options.memory_limit;
    status = bloomery_dialect_may_open(&filter->shape, &traits, error);
    /* A filter that was opened without its secret learns it if the caller gives it now. */
    if (status == BLOOMERY_OK && options.secret != NULL && filter->shape.secret_fingerprint != 0 &&
        filter->hash->available) {
        if (bloomery_secret_fingerprint(options.secret) != filter->shape.secret_fingerprint)
            status = bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                                   "the secret given is not the one that the filter was made with");
        else
            memcpy(traits.secret.siphash, options.secret, BLOOMERY_SECRET_BYTES);
        traits.secret_known = status == BLOOMERY_OK;
    }
    if (status == BLOOMERY_OK)
        status = bloomery_verify(filter, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_shape_check(&filter->shape, bloomery_payload_bytes(filter), &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, NULL, copy, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status != BLOOMERY_OK)
        return status;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const uint64_t here = bloomery_held_bytes(filter, &filter->layers[i]);
        const uint64_t there = bloomery_held_bytes(*copy, &(*copy)->layers[i]);
        memcpy((*copy)->layers[i].payload, filter->layers[i].payload,
               (size_t)(here < there ? here : there));
    }
    (*copy)->first = filter->first; /* what it goes back to when it is cleared */
    bloomery_chain_open(*copy);
    assert(bloomery_payload_bytes(*copy) == bloomery_payload_bytes(filter));
    return BLOOMERY_OK;
}

/* ---- Without counters ------------------------------------------------------------------------ */

bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                       const bloomery_open_options *given,
                                       bloomery_filter **dropped, bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_checked_shape checked;
    uint64_t bytes = 0;
    *dropped = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_has_tables(filter->kind))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a cuckoo filter has fingerprints, and no counters to drop: build a "
                             "filter of another kind from the keys");
    if (filter->foreign)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "the counters of a filter of another system can't be dropped");
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a filter of kind %s has no counters to drop",
                             bloomery_kind_name((int)filter->shape.kind));
    if (bloomery_cold_in(filter)->checksums != NULL) { /* what was not read yet may be damaged */
        status = bloomery_verify(filter, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct bloomery_layer layer = filter->layers[0];
    struct bloomery_shape shape = filter->shape;
    shape.kind = BLOOMERY_BLOCKED;
    shape.kind_row = bloomery_kind_row(BLOOMERY_BLOCKED);
    shape.cell_bits = 1;
    shape.layers = &layer;
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    status = bloomery_shape_lay_out(&shape, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&shape, bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, NULL, dropped, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status == BLOOMERY_OK)
        bloomery_counting_drop(&filter->layers[0], filter->shape.cell_bits,
                               filter->layers[0].payload, bloomery_payload_of(*dropped));
    return status;
}

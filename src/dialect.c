/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of dialect.h that make and write filters. A dialect's row fills a design. Here
 * it is checked, gets memory and its bits, as kinds/filter.c does for every filter.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/experimental.h"
#include "base/io.h"
#include "base/versioned.h"
#include "dialects/redisbloom.h"
#include "format/format.h"
#include "kinds/cells.h"
#include "kinds/chain.h"
#include "kinds/derive.h"
#include "library.h"
#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What version 0.1 has of the struct. */
enum { PARAMETERS_BYTES_FIRST = sizeof(bloomery_dialect_parameters) };

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Whether `field` is one of the names in `names`, which are separated by ", ". */
static bool names_field(const char *names, const char *field)
{
    const size_t length = strlen(field);
    for (const char *at = names; (at = strstr(at, field)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

/* What is not taken must not be given: the caller would believe that it has an effect. */
static bloomery_status check_parameters(const struct bloomery_dialect_row *row, const char *takes,
                                        const bloomery_dialect_parameters *given,
                                        bloomery_error *error)
{
    const struct {
        bool set;
        const char *name;
    } fields[] = {
        {given->variant != NULL, "variant"},
        {given->keys != 0, "keys"},
        {!(given->rate == 0), "rate"},
        {given->bits != 0, "bits"},
        {given->bytes != 0, "bytes"},
        {given->probes != 0, "probes"},
        {!(given->bits_per_key == 0), "bits_per_key"},
        {given->seed != 0, "seed"},
        {given->growth != 0, "growth"},
        {given->columns != 0, "columns"},
        {given->index != 0, "index"},
        {given->cell_bits != 0, "cell_bits"},
        {given->slots != 0, "slots"},
        {given->iterations != 0, "iterations"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].set && !names_field(takes, fields[i].name))
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "dialect %s has no use for %s here", row->facts.name,
                                 fields[i].name);
    return BLOOMERY_OK;
}

bloomery_status bloomery_creation_as_opening(const bloomery_create_options *given,
                                             bloomery_open_options *options, bloomery_error *error)
{
    bloomery_create_options create;
    const bloomery_status status = bloomery_create_options_read(given, &create, error);
    if (status != BLOOMERY_OK)
        return status;
    if (create.seed != 0 || create.secret != NULL || create.secret_outside)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the hash of a dialect is its own: options give no seed and no "
                             "secret");
    *options = (bloomery_open_options){.struct_bytes = sizeof *options,
                                       .allocator = create.allocator,
                                       .concurrent_adds = create.concurrent_adds,
                                       .memory_limit = create.memory_limit,
                                       .rule = create.rule,
                                       .note = create.note};
    return BLOOMERY_OK;
}

/* ---- From a design to a filter --------------------------------------------------------------- */

static void fill_layers(const struct bloomery_design *design, bloomery_filter *filter)
{
    bool empty = design->gather == NULL;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        assert(design->bit_bytes[i] <= bloomery_held_bytes(filter, &filter->layers[i]));
        if (design->gather != NULL)
            design->gather(design, i, filter->layers[i].payload);
        else if (design->bits[i] != NULL)
            bloomery_turn_bits(design->layout, design->bits[i], filter->layers[i].payload,
                               (size_t)design->bit_bytes[i]);
        empty = empty && design->bits[i] == NULL;
    }
    if (empty)
        bloomery_chain_begin(filter);
    else
        bloomery_chain_open(filter);
}

#ifndef NDEBUG
/* Whether a parsed design points into its bytes, or into itself: fill_layers relies on it. */
static bool lies_within(const struct bloomery_design *design, const uint8_t *data, size_t bytes)
{
    if (design->shape.layer_count < 1 || design->shape.layer_count > BLOOMERY_LAYERS_MAX)
        return false;
    for (uint32_t i = 0; i < design->shape.layer_count && design->gather == NULL; i++) {
        const uint64_t length = design->bit_bytes[i];
        const uintptr_t from = (uintptr_t)design->bits[i];
        const uintptr_t small = (uintptr_t)design->small;
        const bool in_data = length <= bytes && from - (uintptr_t)data <= bytes - (size_t)length;
        const bool in_small =
            length <= sizeof design->small && from - small <= sizeof design->small - length;
        if (from != 0 && !in_data && !in_small)
            return false;
    }
    return true;
}
#endif

/* The design's numbers are those of bytes, or what follows from parameters. */
bloomery_status bloomery_design_make(const struct bloomery_dialect_row *row,
                                     struct bloomery_design *design,
                                     const bloomery_open_options *options, bloomery_filter **filter,
                                     bloomery_error *error)
{
    struct bloomery_checked_shape checked;
    uint64_t payload_bytes = 0;
    design->shape.dialect = row->facts.id;
    struct bloomery_traits traits = {
        .allocator = options->allocator,
        .secret = {.seed = design->shape.seed},
        .concurrent = options->concurrent_adds,
        .memory_limit = options->memory_limit,
        .rule = options->rule,
        .note = options->note,
        .note_bytes = options->note ? strlen(options->note) : 0,
        .extra = design->extra,
        .extra_bytes = design->extra_bytes,
    };
    assert(design->shape.layers == design->layers && design->shape.layer_count >= 1);
    assert(design->shape.hash_row != NULL && design->shape.kind_row != NULL);
    bloomery_status status = bloomery_shape_lay_out(&design->shape, &payload_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&design->shape, payload_bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dialect_may_open(&design->shape, &traits, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_hash_row *hash = design->shape.hash_row;
    traits.secret_known = bloomery_hash_usable(hash);
    if (!traits.secret_known && !options->inspect)
        return bloomery_dialect_no_hash(hash, error);
    status = bloomery_filter_make(checked, &traits, NULL, filter, error);
    if (status != BLOOMERY_OK)
        return status;
    assert((*filter)->shape.layer_count == design->shape.layer_count);
    fill_layers(design, *filter);
    status = bloomery_spare_bits_check(*filter, 0, error);
    if (status != BLOOMERY_OK) {
        bloomery_free(*filter);
        *filter = NULL;
    }
    return status;
}

bloomery_status bloomery_design_begin(const bloomery_open_options *given,
                                      bloomery_open_options *options,
                                      struct bloomery_design *design, bloomery_error *error)
{
    static const bloomery_allocator none;
    bloomery_status status = bloomery_open_options_read(given, options, error);
    bloomery_design_empty(design, status == BLOOMERY_OK ? &options->allocator : &none);
    if (status == BLOOMERY_OK && options->secret != NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "filters of other systems have no secret");
    return status;
}

/* What creating and loading begin with. */
static bloomery_status
begin(const bloomery_dialect *dialect, const bloomery_dialect_parameters *given,
      const bloomery_open_options *given_options, bloomery_dialect_parameters *parameters,
      bloomery_open_options *options, struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = bloomery_design_begin(given_options, options, design, error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_read(given, PARAMETERS_BYTES_FIRST, parameters,
                                         sizeof *parameters, "BLOOMERY_DIALECT_PARAMETERS", error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_versioned_reserved(&parameters->reserved, sizeof parameters->reserved, error);
    if (status == BLOOMERY_OK && dialect == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the dialect is NULL: bloomery_dialect_find and _get return NULL for "
                             "an unknown name or number");
    if (status == BLOOMERY_OK && bloomery_dialect_row(dialect->id) == NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "dialect %d does not exist",
                               (int)dialect->id);
    return status;
}

/* What creating does before anything is allocated. */
static bloomery_status plan(const bloomery_dialect *dialect,
                            const bloomery_dialect_parameters *given,
                            const bloomery_create_options *given_options,
                            bloomery_open_options *options, struct bloomery_design *design,
                            bloomery_error *error)
{
    bloomery_dialect_parameters parameters;
    bloomery_open_options chosen;
    bloomery_status status = bloomery_creation_as_opening(given_options, &chosen, error);
    if (status == BLOOMERY_OK)
        status = begin(dialect, given, &chosen, &parameters, options, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_dialect_row *row = bloomery_dialect_row(dialect->id);
    if (row->plan == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of dialect %s can be read, not made", row->facts.name);
    status = check_parameters(row, row->facts.create_takes, &parameters, error);
    if (status != BLOOMERY_OK)
        return status;
    const int variant = bloomery_dialect_choose(row, parameters.variant, error);
    return variant < 0 ? BLOOMERY_BAD_ARGUMENT : row->plan(&parameters, variant, design, error);
}

bloomery_status bloomery_dialect_create_bytes(const bloomery_dialect *dialect,
                                              const bloomery_dialect_parameters *given,
                                              const bloomery_create_options *given_options,
                                              uint64_t *bytes, bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_design design;
    const bloomery_status status = plan(dialect, given, given_options, &options, &design, error);
    assert(status != BLOOMERY_OK || design.block == NULL);
    return status == BLOOMERY_OK ? bloomery_shape_lay_out(&design.shape, bytes, error) : status;
}

/* What version 0.1 has of the struct of facts. */
enum { SOLVED_DIALECT_BYTES_FIRST = sizeof(bloomery_dialect_plan) };

bloomery_status bloomery_dialect_plan_solve(const bloomery_dialect *dialect,
                                            const bloomery_dialect_parameters *given,
                                            bloomery_dialect_plan *solved, bloomery_error *error)
{
    bloomery_open_options options;
    bloomery_dialect_parameters parameters;
    struct bloomery_design design;
    uint64_t bytes;
    bloomery_status status = plan(dialect, given, NULL, &options, &design, error);
    assert(status != BLOOMERY_OK || design.block == NULL);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_read(given, PARAMETERS_BYTES_FIRST, &parameters,
                                         sizeof parameters, "BLOOMERY_DIALECT_PARAMETERS", error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_lay_out(&design.shape, &bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_layer *layer = design.layers;
    const struct bloomery_kind_row *kind = design.shape.kind_row;
    assert(layer->bits > 0 && layer->probes > 0 && kind->expected_rate != NULL);
    const double cells_bits =
        (double)layer->bits * (bloomery_has_tables(kind) ? design.shape.cell_bits : 1);
    const bloomery_dialect_plan facts = {
        .bits = layer->bits,
        .bytes = (layer->bits * design.shape.cell_bits + 7) / 8,
        .probes = layer->probes,
        .blocks_per_key = layer->blocks_per_key,
        .block_bits = design.shape.block_bits,
        .grows = design.shape.growth > 0,
        .keys = layer->keys,
        .rate = parameters.rate,
        .expected_rate = layer->keys > 0 ? kind->expected_rate(layer, layer->keys) : 0,
        .bits_per_key = layer->keys > 0 ? cells_bits / (double)layer->keys : 0,
    };
    bloomery_versioned_give(&facts, sizeof facts, solved, SOLVED_DIALECT_BYTES_FIRST);
    return BLOOMERY_OK;
}

bloomery_status bloomery_dialect_create(const bloomery_dialect *dialect,
                                        const bloomery_dialect_parameters *given,
                                        const bloomery_create_options *given_options,
                                        bloomery_filter **filter, bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_design design;
    *filter = NULL;
    const bloomery_status status = plan(dialect, given, given_options, &options, &design, error);
    assert(status != BLOOMERY_OK || design.block == NULL); /* one layer has its room */
    return status == BLOOMERY_OK ? bloomery_design_make(bloomery_dialect_row(dialect->id), &design,
                                                        &options, filter, error)
                                 : status;
}

bloomery_status bloomery_dialect_load(const bloomery_dialect *dialect, const void *data,
                                      size_t bytes, const bloomery_dialect_parameters *given,
                                      const bloomery_open_options *given_options,
                                      bloomery_filter **filter, bloomery_error *error)
{
    bloomery_dialect_parameters parameters;
    bloomery_open_options options;
    struct bloomery_design design;
    *filter = NULL;
    bloomery_status status =
        begin(dialect, given, given_options, &parameters, &options, &design, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_dialect_row *row = bloomery_dialect_row(dialect->id);
    if (row->parse == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "dialect %s has no bytes to read",
                             row->facts.name);
    status = check_parameters(row, row->facts.load_takes, &parameters, error);
    const int variant =
        status == BLOOMERY_OK ? bloomery_dialect_choose(row, parameters.variant, error) : 0;
    if (variant < 0)
        status = BLOOMERY_BAD_ARGUMENT;
    if (status == BLOOMERY_OK)
        status = row->parse(data, bytes, &parameters, variant, &design, error);
    if (status != BLOOMERY_OK) {
        bloomery_design_end(&design);
        return status;
    }
    assert(lies_within(&design, data, bytes));
    status = bloomery_design_make(row, &design, &options, filter, error);
    bloomery_design_end(&design);
    /* No argument of the caller: the bytes' own numbers. But parameters may be at fault as well. */
    if (status == BLOOMERY_BAD_ARGUMENT && row->facts.load_takes[0] == '\0') {
        if (error != NULL)
            error->status = BLOOMERY_CORRUPT;
        status = BLOOMERY_CORRUPT;
    }
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

bloomery_status bloomery_dialect_write(const bloomery_filter *filter,
                                       const bloomery_dialect *dialect, bloomery_sink sink,
                                       void *context, bloomery_error *error)
{
    struct bloomery_emitter emitter = {sink, context, error};
    bloomery_error why = {.status = BLOOMERY_OK};
    const uint32_t id = dialect != NULL ? dialect->id : filter->shape.dialect;
    const struct bloomery_dialect_row *row = bloomery_dialect_row(id);
    if (row == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             id == 0 ? "the filter is not one of another system's: name the dialect"
                                     : "the dialect does not exist");
    if (row->write == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "dialect %s has no bytes to write",
                             row->facts.name);
    bloomery_dialect_fits(row, filter, &why);
    if (why.status != BLOOMERY_OK)
        return bloomery_fail(
            error, BLOOMERY_MISMATCH, 0,
            "the filter can't be written as %s: %s; build one of that dialect from "
            "the keys",
            row->facts.name, why.text);
    bloomery_status status =
        bloomery_cold_in(filter)->checksums != NULL ? bloomery_verify(filter, error) : BLOOMERY_OK;
    if (status == BLOOMERY_OK)
        status = bloomery_failed_adds_take(filter, error);
    return status == BLOOMERY_OK ? row->write(filter, &emitter) : status;
}

/* A file that is to hold the bytes, and why it can't. */
struct target {
    struct bloomery_replacement replacement;
    bloomery_error error;
};

static int write_to_target(void *context, const void *data, size_t bytes)
{
    struct target *target = context;
    return (int)bloomery_replacement_write(&target->replacement, data, bytes, &target->error);
}

bloomery_status bloomery_dialect_save(const bloomery_filter *filter,
                                      const bloomery_dialect *dialect, const char *path,
                                      bloomery_error *error)
{
    struct target target = {.error = {.status = BLOOMERY_OK}};
    bloomery_status status = bloomery_replacement_begin(&target.replacement, path, 0666, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_dialect_write(filter, dialect, write_to_target, &target, error);
    if (target.error.status != BLOOMERY_OK && error != NULL)
        *error = target.error; /* of the file; the sink only knows that it was stopped */
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_commit(&target.replacement, error);
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(&target.replacement);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

bool bloomery_dialect_remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    const struct bloomery_dialect_row *row = bloomery_dialect_row(filter->shape.dialect);
    if (row == NULL || !bloomery_dialect_is(row, filter)) /* our files may say anything */
        return false;
    size_t count = 0;
    while (row->remarks[count] != NULL)
        count++;
    for (size_t i = 0; i + index < count; i++) /* some rates take long to compute */
        if (row->remarks[i](filter, text, room) && index-- == 0)
            return true;
    return false;
}

const char *bloomery_dialect_variant(const bloomery_filter *filter)
{
    const struct bloomery_dialect_row *row = bloomery_dialect_row(filter->shape.dialect);
    return row != NULL ? bloomery_dialect_name(row, filter) : NULL;
}

const char *bloomery_hash_name(uint32_t id)
{
    const struct bloomery_hash_row *hash = bloomery_hash_find(id);
    if (hash == NULL)
        hash = bloomery_dialect_rows->hash(id);
    return hash != NULL ? hash->name : NULL;
}

size_t bloomery_positions(const bloomery_filter *filter, uint32_t layer, bloomery_key key,
                          uint64_t *positions, size_t room)
{
    uint64_t all[BLOOMERY_POSITIONS_MAX];
    if (layer >= bloomery_layer_count(filter) || !filter->secret_known ||
        filter->kind->cascades) /* a key has an equation there, and no cells */
        return 0;
    const struct bloomery_layer *at = &filter->layers[layer];
    const size_t count = (size_t)at->probes * (at->blocks_per_key > 1 ? at->blocks_per_key : 1);
    assert(count <= BLOOMERY_POSITIONS_MAX);
    if (bloomery_by_positions(filter)) {
        filter->hash->positions(bloomery_secret_of(filter), key, at->bits, at->probes, all);
    } else {
        const bloomery_hash hash = filter->hash->one(bloomery_secret_of(filter), key);
        if (filter->foreign)
            filter->operations->positions_of(at, hash, all);
        else {
            /* Our own positions, as kinds/derive.h has them. */
            size_t next = 0;
            for (uint32_t which = 0; which < at->blocks_per_key; which++) {
                const struct bloomery_place place = bloomery_place_of(hash, which, at->blocks);
                for (uint32_t i = 0; i < at->probes; i++)
                    all[next++] =
                        place.block * BLOOMERY_BLOCK_BITS + bloomery_block_position(place.word, i);
            }
            for (uint32_t i = 0; at->blocks_per_key == 0 && i < at->probes; i++)
                all[next++] = bloomery_classic_position(hash, i, at->bits);
        }
    }
    if (room > 0)
        memcpy(positions, all, (count < room ? count : room) * sizeof *positions);
    return count;
}

/* ---- RedisBloom's chunks --------------------------------------------------------------------- */

/*
 * RedisBloom's chunks. Iterators count the bytes of bits that were passed on, plus 1. Layers lie in
 * that count one behind the other, without the padding in our payload.
 *
 *     iterator asked    0        1           1+b0                1+b0+b1
 *     chunk             header | bits of 0 | bits of 1 .. 16 MiB at once .. | nothing
 *     next              1        1+b0        1+b0+b1             0
 */

/* The layer in which byte `at` of all bits lies, and where in it; NULL past the end. A whole dump
 * asks for each layer, and a chain has up to 65,536. */
static struct bloomery_layer *layer_at(const bloomery_filter *filter, uint64_t *at)
{
    uint32_t from = 0;
    uint32_t to = filter->shape.layer_count;
    assert(to > 0 && filter->layers[0].dumped == 0);
    while (to - from > 1) { /* the last layer that begins at `at` or before */
        const uint32_t middle = from + (to - from) / 2;
        if (filter->layers[middle].dumped <= *at)
            from = middle;
        else
            to = middle;
    }
    struct bloomery_layer *layer = &filter->layers[from];
    *at -= layer->dumped;
    return *at < layer->bits / 8 ? layer : NULL;
}

size_t bloomery_redisbloom_header_bytes(const bloomery_filter *filter)
{
    const bool fits =
        bloomery_dialect_fits(&bloomery_dialect_redisbloom, filter, NULL) == BLOOMERY_OK;
    return fits ? bloomery_redisbloom_header_size(filter) : 0;
}

bloomery_status bloomery_redisbloom_scandump(const bloomery_filter *filter, uint64_t iterator,
                                             uint8_t *header, const void **data, size_t *bytes,
                                             uint64_t *next, bloomery_error *error)
{
    *data = header;
    *bytes = 0;
    *next = 0;
    /* The header has the numbers of all layers. A dump asks for each layer's bits by itself. */
    const bloomery_status status =
        iterator == 0 ? bloomery_dialect_fits(&bloomery_dialect_redisbloom, filter, error)
                      : bloomery_redisbloom_is_chain(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    if (iterator == 0 && header == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "iterator 0 asks for the header, which needs room of %zu bytes",
                             bloomery_redisbloom_header_size(filter));
    if (iterator == 0) {
        bloomery_redisbloom_write_header(filter, header);
        *bytes = bloomery_redisbloom_header_size(filter);
        *next = 1;
        return BLOOMERY_OK;
    }
    uint64_t at = iterator - 1;
    const struct bloomery_layer *layer = layer_at(filter, &at);
    if (layer == NULL)
        return BLOOMERY_OK;
    const uint64_t left = layer->bits / 8 - at;
    *data = layer->payload + at;
    *bytes = left < BLOOMERY_REDISBLOOM_CHUNK ? (size_t)left : BLOOMERY_REDISBLOOM_CHUNK;
    *next = iterator + *bytes;
    return BLOOMERY_OK;
}

static uint64_t bits_of(const uint8_t *bytes, size_t count)
{
    const size_t words = count / 8;
    uint64_t last = 0;
    memcpy(&last, bytes + 8 * words, count % 8);
    return bloomery_count_payload(bytes, words) + (uint64_t)__builtin_popcountll(last);
}

bloomery_status bloomery_redisbloom_same_layers(const bloomery_filter *one,
                                                const bloomery_filter *other, bloomery_error *error)
{
    bloomery_status status = bloomery_redisbloom_is_chain(one, error);
    if (status == BLOOMERY_OK)
        status = bloomery_redisbloom_is_chain(other, error);
    if (status != BLOOMERY_OK)
        return status;
    if (one->shape.layer_count != other->shape.layer_count)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "one filter has %u layers, the other %u",
                             one->shape.layer_count, other->shape.layer_count);
    for (uint32_t i = 0; i < one->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &one->layers[i];
        const struct bloomery_layer *twin = &other->layers[i];
        if (layer->bits != twin->bits)
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                                 "layer %u has %llu bits in one filter and %llu in the other",
                                 i + 1, (unsigned long long)layer->bits,
                                 (unsigned long long)twin->bits);
        if (layer->probes != twin->probes)
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                                 "layer %u has %u probes in one filter and %u in the other", i + 1,
                                 layer->probes, twin->probes);
    }
    return BLOOMERY_OK;
}

/* The keys of a union: what its bits say, within what the two counts allow. */
static uint64_t keys_of_union(const struct bloomery_kind_row *kind,
                              const struct bloomery_layer *layer, uint64_t other)
{
    const uint64_t least = layer->adds > other ? layer->adds : other;
    uint64_t most;
    if (__builtin_add_overflow(layer->adds, other, &most))
        most = UINT64_MAX;
    const double keys = kind->estimate(layer, layer->bits_set);
    if (!(keys < 0x1p63))
        return most;
    const uint64_t found = (uint64_t)llround(keys);
    if (found < least)
        return least;
    return found < most ? found : most;
}

bloomery_status bloomery_redisbloom_merge(bloomery_filter *into, const bloomery_filter *from,
                                          bloomery_error *error)
{
    bloomery_status status = bloomery_redisbloom_same_layers(into, from, error);
    if (status == BLOOMERY_OK && into->storage != BLOOMERY_OWNED)
        status = bloomery_fail(error, BLOOMERY_READ_ONLY, 0, "the filter is read-only");
    if (status != BLOOMERY_OK || into == from)
        return status;
    for (uint32_t i = 0; i < into->shape.layer_count; i++) {
        struct bloomery_layer *layer = &into->layers[i];
        const struct bloomery_layer *other = &from->layers[i];
        const size_t bytes = (size_t)(layer->bits / 8);
        assert(bytes <= bloomery_held_bytes(from, other));
        bloomery_cells_unite(1, layer->payload, other->payload, bytes);
        layer->bits_set = bits_of(layer->payload, bytes);
        assert(layer->bits_set <= layer->bits);
        layer->adds = keys_of_union(into->kind, layer, other->adds);
    }
    return BLOOMERY_OK;
}

static bloomery_status load_header(bloomery_filter **filter, const void *data, size_t bytes,
                                   const bloomery_open_options *given, bloomery_error *error)
{
    struct bloomery_design design;
    bloomery_open_options options;
    size_t header = 0;
    uint64_t payload = 0;
    if (*filter != NULL)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "iterator 1 is a header and begins a filter, and there is one already");
    bloomery_status status = bloomery_design_begin(given, &options, &design, error);
    if (status == BLOOMERY_OK)
        status = bloomery_redisbloom_parse_header(data, bytes, &design, &header, error);
    if (status == BLOOMERY_OK && header != bytes)
        status = bloomery_fail(error, BLOOMERY_CORRUPT, header,
                               "a header of %u layers has %zu bytes, not %zu",
                               design.shape.layer_count, header, bytes);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < design.shape.layer_count; i++)
        payload += design.layers[i].bits / 8;
    if (status == BLOOMERY_OK && options.memory_limit > 0 && payload > options.memory_limit)
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "a filter of %llu bytes would pass the limit of memory",
                               (unsigned long long)payload);
    if (status == BLOOMERY_OK)
        status = bloomery_design_make(bloomery_dialect_row(BLOOMERY_DIALECT_REDISBLOOM), &design,
                                      &options, filter, error);
    bloomery_design_end(&design);
    return status;
}

bloomery_status bloomery_redisbloom_loadchunk(bloomery_filter **filter, uint64_t iterator,
                                              const void *data, size_t bytes,
                                              const bloomery_open_options *options,
                                              bloomery_error *error)
{
    if (iterator == 1)
        return load_header(filter, data, bytes, options, error);
    if (*filter == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the first chunk is the header, with iterator 1");
    bloomery_status status = bloomery_redisbloom_is_chain(*filter, error);
    if (status == BLOOMERY_OK && (*filter)->storage != BLOOMERY_OWNED)
        status = bloomery_fail(error, BLOOMERY_READ_ONLY, 0, "the filter is read-only");
    if (status != BLOOMERY_OK)
        return status;
    if (iterator == 0 || bytes > iterator - 1)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%zu bytes can't end at iterator %llu", bytes,
                             (unsigned long long)iterator);
    uint64_t at = iterator - 1 - bytes;
    struct bloomery_layer *layer = layer_at(*filter, &at);
    if (layer == NULL || bytes > layer->bits / 8 - at)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "%zu bytes that end at iterator %llu are not in one layer of this filter", bytes,
            (unsigned long long)iterator);
    assert(at + bytes <= bloomery_held_bytes(*filter, layer));
    if (bytes == 0)
        return BLOOMERY_OK;
    layer->bits_set -= bits_of(layer->payload + at, bytes);
    memcpy(layer->payload + at, data, bytes);
    layer->bits_set += bits_of(layer->payload + at, bytes);
    assert(layer->bits_set <= layer->bits);
    return BLOOMERY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the dialects' files have in common: parameters, designs, bits and remarks (dialects.h). */
#include "dialects/dialects.h"
#include "dialects/schemes.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

int bloomery_dialect_choose(const struct bloomery_dialect_row *row, const char *wanted,
                            bloomery_error *error)
{
    if (wanted == NULL)
        return 0;
    for (int i = 0; row->names[i] != NULL; i++)
        if (strcmp(row->names[i], wanted) == 0)
            return i;
    bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "variant \"%.40s\" does not exist, only %s",
                  wanted, row->facts.variants);
    return -1;
}

const char *bloomery_dialect_name(const struct bloomery_dialect_row *row,
                                  const bloomery_filter *filter)
{
    int number = -1;
    if (row->variant != NULL)
        number = row->variant(filter);
    for (int i = 0; row->variants_by_hash && row->hashes[i] != NULL; i++)
        number = row->hashes[i] == filter->hash ? i : number;
    for (int i = 0; row->variants_by_scheme && row->schemes[i] != NULL; i++)
        number = row->schemes[i] == filter->kind ? i : number;
    assert(number < BLOOMERY_DIALECT_NAMES);
    return number >= 0 ? row->names[number] : NULL;
}

bool bloomery_dialect_is(const struct bloomery_dialect_row *row, const bloomery_filter *filter)
{
    const struct bloomery_shape *shape = &filter->shape;
    size_t hash = 0, scheme = 0;
    while (row->hashes[hash] != NULL && row->hashes[hash] != filter->hash)
        hash++;
    while (row->schemes[scheme] != NULL && row->schemes[scheme] != filter->kind)
        scheme++;
    return row->hashes[hash] != NULL && row->schemes[scheme] != NULL &&
           (row->seeded || shape->seed == 0) &&
           (!row->counts_new || shape->count_scheme == BLOOMERY_COUNTS_NEW);
}

bloomery_status bloomery_dialect_fits(const struct bloomery_dialect_row *row,
                                      const bloomery_filter *filter, bloomery_error *error)
{
    assert(row->others != NULL && (row->unit_bits > 0 || row->units_max == 0));
    if (!bloomery_dialect_is(row, filter))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", row->others);
    const struct bloomery_layer *layer = filter->layers;
    const uint64_t unit = row->unit_bits > 0 ? row->unit_bits : 1;
    if ((row->unit_bits > 0 && layer->bits % row->unit_bits != 0) ||
        (row->units_max > 0 && layer->bits / unit > row->units_max) ||
        (row->probes_max > 0 && layer->probes > row->probes_max))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", row->sizes);
    return row->fits != NULL ? row->fits(filter, error) : BLOOMERY_OK;
}

/* ---- Designs --------------------------------------------------------------------------------- */

void bloomery_design_empty(struct bloomery_design *design, const bloomery_allocator *allocator)
{
    memset(design, 0, sizeof *design);
    design->layers = design->shape.layers = design->few.layers;
    design->bits = design->few.bits;
    design->bit_bytes = design->few.bit_bytes;
    design->kept = design->small;
    design->allocator = *allocator;
}

void bloomery_design_end(struct bloomery_design *design)
{
    bloomery_release(&design->allocator, design->block, design->block_bytes, BLOOMERY_PAYLOAD_UNIT);
    design->block = NULL;
}

bloomery_status bloomery_design_room(struct bloomery_design *design, uint32_t layers,
                                     size_t kept_bytes, bloomery_error *error)
{
    const size_t records = layers * sizeof *design->layers;
    const size_t lengths = layers * sizeof *design->bit_bytes;
    const size_t places = layers * sizeof *design->bits;
    assert(design->block == NULL && layers <= BLOOMERY_LAYERS_MAX);
    if (layers <= BLOOMERY_CHAIN_MAX && kept_bytes <= sizeof design->small)
        return BLOOMERY_OK;
    const size_t bytes = records + lengths + places + kept_bytes;
    uint8_t *block = bloomery_allocate(&design->allocator, bytes, BLOOMERY_PAYLOAD_UNIT);
    if (block == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory to read a chain of %u layers", layers);
    design->block = block;
    design->block_bytes = bytes;
    design->layers = design->shape.layers = (struct bloomery_layer *)(void *)block;
    design->bit_bytes = (uint64_t *)(void *)(block + records);
    design->bits = (const uint8_t **)(void *)(block + records + lengths);
    design->kept = block + records + lengths + places;
    return BLOOMERY_OK;
}

void bloomery_design_rows(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                          const struct bloomery_kind_row *scheme)
{
    struct bloomery_shape *shape = &design->shape;
    assert(hash->id >= BLOOMERY_HASH_FOREIGN && hash->id <= UINT16_MAX);
    assert(scheme->block_scheme <= UINT8_MAX && scheme->probe_scheme <= UINT8_MAX);
    shape->hash_row = hash;
    shape->hash = (uint16_t)hash->id;
    shape->kind_row = scheme;
    shape->kind = (uint16_t)scheme->id;
    shape->block_scheme = (uint8_t)scheme->block_scheme;
    shape->probe_scheme = (uint8_t)scheme->probe_scheme;
    shape->repeat_scheme = (uint8_t)scheme->repeat_scheme;
    shape->cell_bits = 1;
}

void bloomery_design_flat(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                          const struct bloomery_kind_row *scheme, uint64_t bits, uint32_t probes)
{
    assert(design->shape.layers == design->layers && design->shape.layer_count == 0);
    bloomery_design_rows(design, hash, scheme);
    design->shape.layer_count = 1;
    design->layers[0] = (struct bloomery_layer){.bits = bits, .probes = probes};
}

void bloomery_design_blocks(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                            const struct bloomery_kind_row *scheme, uint64_t blocks,
                            uint16_t block_bits, uint32_t probes)
{
    assert(scheme->id == BLOOMERY_BLOCKED && block_bits > 0);
    bloomery_design_flat(design, hash, scheme, blocks * block_bits, probes);
    design->shape.block_bits = block_bits;
    design->layers[0].blocks_per_key = 1;
}

bloomery_status bloomery_dialect_length(uint64_t words, size_t header, size_t bytes,
                                        bloomery_error *error)
{
    assert(header <= bytes && words <= UINT64_MAX / 16);
    if (words == (bytes - header) / 8 && (bytes - header) % 8 == 0)
        return BLOOMERY_OK;
    return bloomery_fail(
        error, BLOOMERY_TRUNCATED, bytes, "%s: %llu words take %llu bytes, there are %zu",
        words > (bytes - header) / 8 ? "cut short" : "something follows the filter",
        (unsigned long long)words, (unsigned long long)(header + words * 8), bytes);
}

/* ---- Bits ------------------------------------------------------------------------------------ */

static uint8_t turn_byte(uint8_t byte)
{
    byte = (uint8_t)((byte >> 4 & 0x0f) | (byte << 4 & 0xf0));
    byte = (uint8_t)((byte >> 2 & 0x33) | (byte << 2 & 0xcc));
    return (uint8_t)((byte >> 1 & 0x55) | (byte << 1 & 0xaa));
}

void bloomery_turn_bits(enum bloomery_layout layout, const uint8_t *from, uint8_t *to, size_t bytes)
{
    switch (layout) {
    case BLOOMERY_LAYOUT_BYTES:
        memcpy(to, from, bytes);
        break;
    case BLOOMERY_LAYOUT_BE_WORDS:
        assert(bytes % 8 == 0);
        for (size_t at = 0; at < bytes; at += 8)
            bloomery_store_u64(to + at, bloomery_load_be(from + at, 8));
        break;
    case BLOOMERY_LAYOUT_MSB_FIRST:
        for (size_t at = 0; at < bytes; at++)
            to[at] = turn_byte(from[at]);
        break;
    }
}

bloomery_status bloomery_emit(struct bloomery_emitter *emitter, const void *data, size_t bytes)
{
    assert(emitter->sink != NULL && (data != NULL || bytes == 0));
    if (bytes > 0 && emitter->sink(emitter->context, data, bytes) != 0)
        return bloomery_fail(emitter->error, BLOOMERY_IO_FAILED, 0,
                             "writing was stopped by the receiver of the bytes");
    return BLOOMERY_OK;
}

bloomery_status bloomery_emit_bits(struct bloomery_emitter *emitter,
                                   const struct bloomery_layer *layer, uint64_t bytes,
                                   enum bloomery_layout layout)
{
    uint8_t room[4096];
    assert(bytes <= layer->bytes && (layout != BLOOMERY_LAYOUT_BE_WORDS || bytes % 8 == 0));
    for (uint64_t at = 0; at < bytes; at += sizeof room) {
        const size_t now = bytes - at < sizeof room ? (size_t)(bytes - at) : sizeof room;
        bloomery_turn_bits(layout, layer->payload + at, room, now);
        bloomery_status status = bloomery_emit(emitter, room, now);
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

/* ---- Remarks --------------------------------------------------------------------------------- */

bool bloomery_remark_rate_above(const bloomery_filter *filter, double factor, char *text,
                                size_t room)
{
    const struct bloomery_layer *layer = &filter->layers[0];
    struct bloomery_phrase is, queried;
    if (layer->keys == 0 || !(layer->rate > 0))
        return false;
    assert(factor >= 1 && room > 0);
    const double rate = filter->kind->expected_rate(layer, layer->keys);
    if (!(rate > layer->rate * factor))
        return false;
    snprintf(
        text, room,
        "with the %llu keys it was made for, this dialect's rate at this size is %s, not the %s "
        "it was asked for",
        (unsigned long long)layer->keys, bloomery_phrase_rate(&is, rate),
        bloomery_phrase_rate(&queried, layer->rate));
    return true;
}

bool bloomery_remark_rate(const bloomery_filter *filter, char *text, size_t room)
{
    return bloomery_remark_rate_above(filter, 1.1, text, room);
}

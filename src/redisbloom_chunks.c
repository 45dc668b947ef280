/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RedisBloom's chunks. Iterators count the bytes of bits that were passed on, plus 1. Layers lie in
 * that count one behind the other, without the padding in our payload.
 *
 *     iterator asked    0        1           1+b0                1+b0+b1
 *     chunk             header | bits of 0 | bits of 1 .. 16 MiB at once .. | nothing
 *     next              1        1+b0        1+b0+b1             0
 */
#include "design.h"
#include "dialects/redisbloom.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/experimental.h"

#include <assert.h>
#include <string.h>

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

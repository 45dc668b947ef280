/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h. */
#include "dialects/storage.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NO_KEY = 1, ANY_KEY = 2, BITS_MAX = 4096 };

void bloomery_design_constant(struct bloomery_design *design, bool any_key, const uint8_t *bytes,
                              size_t count)
{
    const size_t room = (size_t)(design->layers[0].bits / 8);
    uint8_t *const extra = design->small + BITS_MAX / 8;
    assert(design->layers[0].bits % 8 == 0 && design->layers[0].bits <= BITS_MAX);
    assert(count <= BLOOMERY_CONSTANT_MAX && count + 1 + BITS_MAX / 8 <= sizeof design->small);
    extra[0] = any_key ? ANY_KEY : NO_KEY;
    if (count > 0)
        memcpy(extra + 1, bytes, count);
    design->extra = extra;
    design->extra_bytes = count + 1;
    memset(design->small, any_key ? 0xff : 0, room);
    design->bits[0] = design->small;
    design->bit_bytes[0] = room;
}

bool bloomery_is_constant(const bloomery_filter *filter, const uint8_t **bytes, size_t *count)
{
    const struct bloomery_layer *layer = filter->layers;
    if (bloomery_cold_in(filter)->extra_bytes < 1 ||
        bloomery_cold_in(filter)->extra_bytes > BLOOMERY_CONSTANT_MAX + 1 || layer->bits > BITS_MAX)
        return false;
    const uint8_t mark = bloomery_cold_in(filter)->extra[0];
    if (mark != NO_KEY && mark != ANY_KEY)
        return false;
    for (size_t i = 0; i < layer->bits / 8; i++)
        if (layer->payload[i] != (mark == ANY_KEY ? 0xff : 0))
            return false;
    *bytes = bloomery_cold_in(filter)->extra + 1;
    *count = bloomery_cold_in(filter)->extra_bytes - 1;
    return true;
}

static uint64_t keys_planned(const struct bloomery_layer *layer)
{
    if (layer->keys > 0)
        return layer->keys;
    const double planned = (double)layer->bits / ceil(layer->probes / 0.69);
    return (uint64_t)planned; /* bits are at most 2^50 */
}

bool bloomery_remark_promise(const bloomery_filter *filter,
                             double (*promised)(const struct bloomery_layer *layer, uint64_t keys),
                             double factor, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const uint64_t keys = keys_planned(layer);
    struct bloomery_phrase is, formula;
    const uint8_t *bytes;
    size_t count;
    if (bloomery_is_constant(filter, &bytes, &count) || keys == 0)
        return false;
    assert(factor >= 1 && room > 0);
    const double rate = filter->kind->expected_rate(layer, keys);
    const double other = promised(layer, keys);
    if (!(rate > other * factor))
        return false;
    snprintf(text, room,
             "with %s %llu keys%s, this dialect's rate at this size is %s, not the %s of the usual "
             "formula",
             layer->keys > 0 ? "the" : "some", (unsigned long long)keys,
             layer->keys > 0 ? " it was made for" : ", which its probes tell",
             bloomery_phrase_rate(&is, rate), bloomery_phrase_rate(&formula, other));
    return true;
}

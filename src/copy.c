/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter as another one in memory of its own. Layers that lie here and there come to lie in one
 * payload, as they do in a file:
 *
 *     filter    | payload: layer 0 |    | layer 1 |    | layer 2     |
 *     copy      | payload: layer 0 | layer 1 | layer 2     |
 *
 * Their offsets say so already: they are those of the file.
 */
#include "chain/grow.h"
#include "dialects/dialects.h"
#include "options.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

/* The secret of a filter that was opened without it, if the caller gives it now. */
static bloomery_status learn_secret(const bloomery_filter *filter, const uint8_t *secret,
                                    struct bloomery_traits *traits, bloomery_error *error)
{
    if (secret == NULL || filter->shape.secret_fingerprint == 0 || !filter->hash->available)
        return BLOOMERY_OK;
    if (bloomery_secret_fingerprint(secret) != filter->shape.secret_fingerprint)
        return bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                             "the secret given is not the one that the filter was made with");
    memcpy(traits->secret.siphash, secret, BLOOMERY_SECRET_BYTES);
    traits->secret_known = true;
    return BLOOMERY_OK;
}

bloomery_status bloomery_copy(const bloomery_filter *filter, const bloomery_open_options *given,
                              bloomery_filter **copy, bloomery_error *error)
{
    bloomery_open_options options;
    *copy = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    traits.concurrent = options.concurrent_adds;
    traits.memory_limit = options.memory_limit;
    status = bloomery_dialect_may_open(&filter->shape, &traits, error);
    if (status == BLOOMERY_OK)
        status = learn_secret(filter, options.secret, &traits, error);
    if (status == BLOOMERY_OK)
        status = bloomery_verify(filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(&filter->shape, &traits, NULL, bloomery_payload_bytes(filter),
                                      copy, error);
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

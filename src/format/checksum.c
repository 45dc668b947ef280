/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksums behind a payload: one per 64 KiB, so that damage is found to within 64 KiB, and one
 * over those. They are seeded with the header's checksum, so a header and a payload of different
 * files never verify together.
 *
 *     c_i  = XXH3-64(payload[i * 65536 ...], seed = header checksum)    8 bytes each, little-endian
 *     last = XXH3-64(c_0 c_1 ..., seed = header checksum)
 */
#include "format/format.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>

static uint64_t spans(uint64_t payload_bytes)
{
    return payload_bytes / BLOOMERY_CHECKSUM_SPAN + (payload_bytes % BLOOMERY_CHECKSUM_SPAN != 0);
}

uint64_t bloomery_checksums_bytes(uint64_t payload_bytes)
{
    return (spans(payload_bytes) + 1) * 8;
}

bloomery_status bloomery_checksums_verify(const uint8_t *payload, uint64_t payload_bytes,
                                          const uint8_t *checksums, uint64_t seed,
                                          uint64_t payload_offset, bloomery_error *error)
{
    return bloomery_checksums_verify_spans(payload, payload_bytes, checksums, seed, payload_offset,
                                           0, UINT64_MAX, error);
}

bloomery_status bloomery_checksums_verify_spans(const uint8_t *payload, uint64_t payload_bytes,
                                                const uint8_t *checksums, uint64_t seed,
                                                uint64_t payload_offset, uint64_t first,
                                                uint64_t end, bloomery_error *error)
{
    const uint64_t count = spans(payload_bytes);
    const uint64_t checksums_offset = payload_offset + payload_bytes;
    assert(payload_bytes > 0 && (count + 1) * 8 == bloomery_checksums_bytes(payload_bytes));
    if (first == 0 && bloomery_checksum(checksums, (size_t)(count * 8), seed) !=
                          bloomery_load_u64(checksums + count * 8))
        return bloomery_fail(error, BLOOMERY_CORRUPT, checksums_offset,
                             "damaged: the checksums behind the payload, from byte %llu, do not "
                             "match their own checksum",
                             (unsigned long long)checksums_offset);
    for (uint64_t i = first; i < count && i < end; i++) {
        uint64_t from = i * BLOOMERY_CHECKSUM_SPAN;
        uint64_t bytes = payload_bytes - from < BLOOMERY_CHECKSUM_SPAN ? payload_bytes - from
                                                                       : BLOOMERY_CHECKSUM_SPAN;
        if (bloomery_checksum(payload + from, (size_t)bytes, seed) !=
            bloomery_load_u64(checksums + i * 8))
            return bloomery_fail(error, BLOOMERY_CORRUPT, payload_offset + from,
                                 "damaged between bytes %llu and %llu: the checksum does not match",
                                 (unsigned long long)(payload_offset + from),
                                 (unsigned long long)(payload_offset + from + bytes - 1));
    }
    return BLOOMERY_OK;
}

bloomery_status bloomery_spare_bits_check(const struct bloomery_filter *filter,
                                          uint64_t payload_offset, bloomery_error *error)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        const uint64_t offset = payload_offset + layer->offset;
        uint64_t at = 0;
        if (filter->kind->spare != NULL && !filter->kind->spare(layer, &at))
            return bloomery_fail(error, BLOOMERY_CORRUPT, offset + at,
                                 "damaged: what no key touches is not zero at byte %llu",
                                 (unsigned long long)(offset + at));
        if (filter->kind->spare != NULL)
            continue;
        assert(layer->bits * filter->shape.cell_bits <= layer->bytes * 8);
        const uint64_t end = bloomery_held_bytes(filter, layer) * 8;
        for (uint64_t bit = layer->bits * filter->shape.cell_bits; bit < end; bit++)
            if (bloomery_bit_test(layer->payload, bit))
                return bloomery_fail(error, BLOOMERY_CORRUPT, offset + bit / 8,
                                     "damaged: a bit past the last one is set at byte %llu",
                                     (unsigned long long)(offset + bit / 8));
    }
    return BLOOMERY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 20-million-ID experiment's positions. SHA-384 has 48 bytes, twelve words of 32 bits, most
 * significant byte first. The low 28 bits of each are a position among 2^28.
 */
#include "hash/foreign/digest.h"
#include "hash/hashes.h"

#include "base/bytes.h"

#include <assert.h>

enum { PROBES = 12, WORD = 4, KEPT_BITS = 28 };

static void positions_of(const struct bloomery_hash_secret *secret, bloomery_key key,
                         uint64_t cells, uint32_t probes, uint64_t *positions)
{
    uint8_t digest[BLOOMERY_DIGEST_MAX];
    struct bloomery_digest message;
    (void)secret;
    assert(cells == UINT64_C(1) << KEPT_BITS && probes == PROBES);
    bloomery_digest_begin(&message, BLOOMERY_DIGEST_SHA384);
    bloomery_digest_add(&message, key.data, key.bytes);
    bloomery_digest_get(&message, digest);
    for (uint32_t i = 0; i < probes; i++)
        positions[i] =
            __builtin_bswap32(bloomery_load_u32(digest + (size_t)i * WORD)) & (cells - 1);
}

static bool fits(uint64_t cells, uint32_t probes)
{
    return cells == UINT64_C(1) << KEPT_BITS && probes == PROBES;
}

const struct bloomery_hash_row bloomery_hash_sha384_slices = {
    BLOOMERY_HASH_NAMED(sha384_slices),
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_of,
    .fits = fits,
};

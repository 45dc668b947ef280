/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions of pybloom and pybloom_live. The filter is k slices of s bits, and slice j takes
 * number j of a stream of numbers, modulo s. The stream is cut out of salted digests:
 *
 *     salt i    = D(i as 4 bytes, little-endian)
 *     digest i  = D(salt i, key)
 *
 *     |    digest 0     |    digest 1     | ...
 *     | n0 | n1 | n2 | n3 | n4 | n5 | ...           2 bytes each if s < 2^15, 4 if s < 2^31, else 8
 *
 * D is the shortest digest that has all k numbers, 8 k w bits of w bytes each:
 *
 *     bits      up to 128     160      256       384       more
 *     D         MD5 or XXH3   SHA-1    SHA-256   SHA-384   SHA-512, as often as need be
 *
 * The shortest one is MD5 up to version 3 (and in pybloom 2.0). From version 4 on it is XXH3 with
 * 128 bits, most significant byte first.
 */
#include "hash/foreign/digest.h"
#include "hash/hashes.h"

#include "base/bytes.h"

#include <assert.h>

/* D: one of libcrypto's, or XXH3. */
struct chosen {
    bool xxh3;
    enum bloomery_digest_id id;
    size_t bytes;
};

static unsigned width_of(uint64_t slice)
{
    if (slice < UINT64_C(1) << 15)
        return 2;
    return slice < UINT64_C(1) << 31 ? 4 : 8;
}

static struct chosen choose(unsigned width, uint32_t probes, bool version_4)
{
    const uint64_t bits = (uint64_t)8 * probes * width;
    struct chosen chosen = {.id = BLOOMERY_DIGEST_MD5};
    if (bits > 384)
        chosen.id = BLOOMERY_DIGEST_SHA512;
    else if (bits > 256)
        chosen.id = BLOOMERY_DIGEST_SHA384;
    else if (bits > 160)
        chosen.id = BLOOMERY_DIGEST_SHA256;
    else if (bits > 128)
        chosen.id = BLOOMERY_DIGEST_SHA1;
    else
        chosen.xxh3 = version_4;
    chosen.bytes = bloomery_digest_bytes(chosen.id); /* MD5 and XXH3 are as long */
    return chosen;
}

/* D of one piece of bytes behind another. */
static void digest_of(const struct chosen *chosen, const uint8_t *salt, size_t salt_bytes,
                      const uint8_t *data, size_t bytes, uint8_t *result)
{
    struct bloomery_digest digest;
    if (chosen->xxh3) {
        const bloomery_hash hash = bloomery_xxh3_salted(salt, salt_bytes, data, bytes);
        bloomery_store_u64(result, __builtin_bswap64(hash.hi));
        bloomery_store_u64(result + 8, __builtin_bswap64(hash.lo));
        return;
    }
    bloomery_digest_begin(&digest, chosen->id);
    bloomery_digest_add(&digest, salt, salt_bytes);
    bloomery_digest_add(&digest, data, bytes);
    bloomery_digest_get(&digest, result);
}

static void positions_of(bloomery_key key, uint64_t cells, uint32_t probes, bool version_4,
                         uint64_t *positions)
{
    const uint64_t slice = cells / probes;
    const unsigned width = width_of(slice);
    const struct chosen chosen = choose(width, probes, version_4);
    const uint32_t numbers = (uint32_t)(chosen.bytes / width);
    uint8_t number[4], salt[BLOOMERY_DIGEST_MAX], digest[BLOOMERY_DIGEST_MAX];
    for (uint32_t i = 0; i < probes; i++) {
        if (i % numbers == 0) {
            bloomery_store_u32(number, i / numbers);
            digest_of(&chosen, NULL, 0, number, sizeof number, salt);
            digest_of(&chosen, salt, chosen.bytes, key.data, key.bytes, digest);
        }
        positions[i] =
            bloomery_load_le(digest + (size_t)(i % numbers) * width, width) % slice + i * slice;
    }
}

static bool fits(uint64_t cells, uint32_t probes)
{
    return probes > 0 && cells >= probes && cells % probes == 0;
}

static void positions_3(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                        uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits(cells, probes));
    positions_of(key, cells, probes, false, positions);
}

static void positions_4(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                        uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits(cells, probes));
    positions_of(key, cells, probes, true, positions);
}

const struct bloomery_hash_row bloomery_hash_pybloom_3 = {
    BLOOMERY_HASH_NAMED(pybloom_3),
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_3,
    .fits = fits,
};

const struct bloomery_hash_row bloomery_hash_pybloom_4 = {
    BLOOMERY_HASH_NAMED(pybloom_4),
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_4,
    .fits = fits,
};

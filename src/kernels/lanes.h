/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys side by side: from the bytes of several keys to their hashes, and from hashes to blocks and
 * words w (kinds/derive.h), with a key in each 64-bit lane of a register. Files of the same form do
 * this for vector units (lanes_avx2.h, lanes_avx512.h). This one is plain C, with one lane: its
 * functions are the definition, and the fastest form for processors that have a product of 64 bits
 * for one number but not for lanes. NEON is such a unit: docs/benchmarks.md has the count.
 *
 * Each file defines for its unit:
 *
 *     lanes, LANES                    a register, and how many keys it has
 *     words(data)                     the next words of keys that lie one after another
 *     both_words(data, width, last)   the first words of keys of 9 to 16 bytes in a row, and
 *                                     through `last` their last ones; 16 bytes of each are read
 *     gather(at)                      a word of a key from each address
 *     load(hashes)                    given hashes of 64 bits
 *     load_pairs(hashes, lo)          given hashes of 128 bits: hi, and through `lo` the other half
 *     list_bytes(list)                the lengths of keys, from descriptors
 *     narrow_bytes, wide_bytes        the same from offsets of 32 or 64 bits
 *     same_bytes(bytes)               one length for all
 *     are_between(bytes, least, span) whether all lengths are `least` to `least` + `span`;
 *                                     `span` is 0 or 7
 *     hash_8(secret, words)           XXH3-64 of keys of 8 bytes
 *     hash_9_to_16(secret, first, last, bytes)
 *                                     and of 9 to 16: their first and last eight bytes
 *     block_hash(hi, which)           x_j of block j, j >= 1
 *     place(x, lo, layer, at, word)   the address of the block that x chooses, and w
 *
 * place() of vector units has products of 32 bits: a layer has fewer than 2^32 blocks.
 */
#ifndef BLOOMERY_KERNELS_LANES_H
#define BLOOMERY_KERNELS_LANES_H

#include "hash/xxh3.h"
#include "kinds/blocked.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t lanes_scalar;
enum { LANES_scalar = 1 };

INLINE lanes_scalar words_scalar(const uint8_t *data)
{
    return bloomery_load_u64(data);
}

INLINE lanes_scalar gather_scalar(const uint8_t *const at[LANES_scalar])
{
    return bloomery_load_u64(at[0]);
}

INLINE lanes_scalar both_words_scalar(const uint8_t *data, size_t width, lanes_scalar *last)
{
    *last = bloomery_load_u64(data + width - sizeof(uint64_t));
    return bloomery_load_u64(data);
}

INLINE lanes_scalar load_scalar(const uint8_t *hashes)
{
    lanes_scalar hash;
    memcpy(&hash, hashes, sizeof hash);
    return hash;
}

INLINE lanes_scalar load_pairs_scalar(const uint8_t *hashes, lanes_scalar *lo)
{
    bloomery_hash hash;
    memcpy(&hash, hashes, sizeof hash);
    *lo = hash.lo;
    return hash.hi;
}

INLINE lanes_scalar list_bytes_scalar(const bloomery_key *list)
{
    return list->bytes;
}

INLINE lanes_scalar narrow_bytes_scalar(const uint8_t *offsets)
{
    uint32_t two[2];
    memcpy(two, offsets, sizeof two);
    return two[1] - two[0];
}

INLINE lanes_scalar wide_bytes_scalar(const uint8_t *offsets)
{
    uint64_t two[2];
    memcpy(two, offsets, sizeof two);
    return two[1] - two[0];
}

INLINE lanes_scalar same_bytes_scalar(size_t bytes)
{
    return bytes;
}

INLINE bool are_between_scalar(const lanes_scalar *bytes, size_t count, uint64_t least,
                               uint64_t span)
{
    uint64_t outside = 0;
    for (size_t i = 0; i < count; i++)
        outside |= (bytes[i] - least) & ~span;
    return outside == 0;
}

INLINE lanes_scalar hash_8_scalar(const struct bloomery_short_secret *secret, lanes_scalar words)
{
    return bloomery_xxh3_8(secret, words);
}

INLINE lanes_scalar hash_9_to_16_scalar(const struct bloomery_short_secret *secret,
                                        lanes_scalar first, lanes_scalar last, lanes_scalar bytes)
{
    return bloomery_xxh3_two_words(secret, first, last, bytes);
}

INLINE lanes_scalar block_hash_scalar(lanes_scalar hi, uint32_t which)
{
    return bloomery_block_hash((bloomery_hash){0, hi}, which);
}

INLINE void place_scalar(lanes_scalar x, lanes_scalar lo, const struct bloomery_layer *layer,
                         uint8_t **at, uint64_t *word)
{
    *at = layer->payload + bloomery_fastrange(x, layer->blocks) * BLOOMERY_BLOCK_BYTES;
    *word = bloomery_mix_fold(x ^ lo, BLOOMERY_MIX_1);
}

#undef INLINE

#endif /* BLOOMERY_KERNELS_LANES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counting filter: a blocked filter whose cells are counters of 4 or 8 bits, so that keys can
 * be removed.
 *
 *     blocked    | 512 bits |                                 64 bytes
 *     counting   | 512 counters, two to a byte, low first  |   256 bytes (512 if of 8 bits)
 *                      ^
 *                  counter 4 of the block is the low half of byte 2
 *
 * Blocks and positions of a key are those of kinds/derive.h. So with a bit in the place of every
 * counter that is not 0 it is the blocked filter, bit for bit.
 *
 * What a key touches. In a block its k positions are in k words, so they differ. If two of its
 * blocks coincide they may not, and a counter that both name is touched twice:
 *
 *     block 0, block 7:   positions 3 70 140       +1 for counters 3, 70, 140
 *     block 1, block 2:   positions 70 150 200     +1 for counters 70, 150, 200 of another block
 *     block 1, block 7:   positions 70 150 200     if the blocks coincide: counter 70 gets 2
 *
 * Each block counts for itself, because then counters are sums over blocks. A thread can add block
 * 1 of a key without knowing where block 0 lies (src/build.c). Two blocks of a filter that is
 * halved add up to the counts of the smaller filter.
 *
 * Saturated counters. At its maximum a counter no longer knows what it stands for, so nothing moves
 * it from there, up or down. Below, it is exactly the sum of what the keys in the filter add to it:
 *
 *     counter = maximum    or    counter = sum over keys of (blocks that name it)
 *
 * Adds keep that, and so do removals of keys that are there: each takes away what its add brought.
 * Hence no counter of a key that is still there ever becomes 0. A removal is refused if a
 * counter is less than what the key would take away, for then the key is not there.
 *
 * Several threads. A counter is changed with compare-and-swap of its byte, so no change is lost and
 * the sums hold. A removal first looks whether all of its counters are large enough, and only then
 * takes from them one after the other. A counter may have become too small between the two, if two
 * threads remove one key that was added once. The removal then puts back what it took, and the key
 * was absent.
 */
#include "kinds/counting.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/threads.h"
#include "kinds/blocked.h"
#include "kinds/derive.h"

#include <assert.h>
#include <math.h>

enum {
    CELLS = BLOOMERY_BLOCK_BITS,
    TOUCHED_MAX = BLOOMERY_BLOCKS_PER_KEY_MAX * BLOOMERY_BLOCK_PROBES_MAX,
    FIRST_PROBES = 2,
    COUNTING_AHEAD = 64, /* keys, of up to k L cache lines each */
};

#define INLINE static inline __attribute__((always_inline))

/* The geometry is that of blocked; which counters there are, the row of the kind says. */
bloomery_status bloomery_counting_check(const struct bloomery_shape *shape,
                                        const struct bloomery_layer *layer, bloomery_error *error)
{
    return bloomery_blocked_check(shape, layer, error);
}

/* ---- What a key touches ---------------------------------------------------------------------- */

/* The counters of a key, each once, and how many of its blocks name each. */
struct touched {
    uint32_t count;
    struct {
        uint64_t block;
        uint32_t position;
        uint32_t times;
    } at[TOUCHED_MAX];
};

/* Another block names this counter; only the blocks before it, the first `known`, can have done
 * so. */
static void touch_again(struct touched *touched, uint32_t known, uint64_t block, uint32_t position)
{
    for (uint32_t i = 0; i < known; i++)
        if (touched->at[i].block == block && touched->at[i].position == position) {
            touched->at[i].times++;
            return;
        }
    assert(touched->count < TOUCHED_MAX);
    touched->at[touched->count].block = block;
    touched->at[touched->count].position = position;
    touched->at[touched->count++].times = 1;
}

static void touched_find(struct touched *touched, const struct bloomery_layer *layer,
                         bloomery_hash hash)
{
    touched->count = 0;
    for (uint32_t which = 0; which < layer->blocks_per_key; which++) {
        const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
        const uint32_t known = touched->count;
        assert(place.block < layer->blocks);
        for (uint32_t probe = 0; probe < layer->probes; probe++)
            touch_again(touched, known, place.block, bloomery_block_position(place.word, probe));
    }
    assert(touched->count >= layer->probes);
    assert(touched->count <= layer->probes * layer->blocks_per_key);
}

#define COUNTING_NAME(name) nibbles_##name
#define COUNTING_BITS       4
#define COUNTING_ATOMIC     false
#define COUNTING_LABEL      "scalar"
#include "kinds/counting_template.h"

#define COUNTING_NAME(name) bytes_##name
#define COUNTING_BITS       8
#define COUNTING_ATOMIC     false
#define COUNTING_LABEL      "scalar"
#include "kinds/counting_template.h"

#define COUNTING_NAME(name) atomic_nibbles_##name
#define COUNTING_BITS       4
#define COUNTING_ATOMIC     true
#define COUNTING_LABEL      "scalar-concurrent"
#include "kinds/counting_template.h"

#define COUNTING_NAME(name) atomic_bytes_##name
#define COUNTING_BITS       8
#define COUNTING_ATOMIC     true
#define COUNTING_LABEL      "scalar-concurrent"
#include "kinds/counting_template.h"

const struct bloomery_operations *bloomery_counting_operations(uint32_t cell_bits, bool concurrent)
{
    assert(cell_bits == 4 || cell_bits == 8);
    if (cell_bits == 4)
        return bloomery_is_shared(concurrent) ? &atomic_nibbles_operations : &nibbles_operations;
    return bloomery_is_shared(concurrent) ? &atomic_bytes_operations : &bytes_operations;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Whether a key may be in depends on which counters are 0, and so do rates and estimates: they are
 * those of blocked. */
double bloomery_counting_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_blocked_expected_rate(layer, keys);
}

double bloomery_counting_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_blocked_estimate(layer, bits_set);
}

/* The lowest bit of each counter of a word that is at its maximum. */
INLINE uint64_t all(uint64_t word, const uint32_t bits)
{
    for (uint32_t half = bits / 2; half > 0; half /= 2)
        word &= word >> half;
    return word & (bits == 4 ? UINT64_C(0x1111111111111111) : UINT64_C(0x0101010101010101));
}

INLINE void scan_with(const struct bloomery_layer *layer, const uint8_t *payload,
                      struct bloomery_scan *scan, const uint32_t bits)
{
    double sum = 0;
    scan->saturated = 0;
    scan->bits_set = 0;
    for (uint64_t block = 0; block < layer->blocks; block++) {
        uint8_t used[BLOOMERY_BLOCK_WORDS] = {0};
        for (uint32_t i = 0; i < BLOOMERY_BLOCK_WORDS * bits; i++, payload += 8) {
            const uint64_t cells = bloomery_load_u64(payload);
            const int here = __builtin_popcountll(bloomery_used_cells(cells, bits));
            used[i / bits] = (uint8_t)(used[i / bits] + here);
            scan->bits_set += (uint64_t)here;
            scan->saturated += (uint64_t)__builtin_popcountll(all(cells, bits));
        }
        sum += bloomery_block_live_rate(used, layer->probes);
    }
    scan->live_rate = pow(sum / (double)layer->blocks, layer->blocks_per_key);
}

void bloomery_counting_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                            const uint8_t *payload, struct bloomery_scan *scan)
{
    if (shape->cell_bits == 4)
        scan_with(layer, payload, scan, 4);
    else
        scan_with(layer, payload, scan, 8);
    assert(scan->saturated <= scan->bits_set && scan->bits_set <= layer->bits);
}

/* Bits 0, 4, 8, ... of a word, moved together: pairs, fours, eights. */
static uint16_t gather_nibbles(uint64_t word)
{
    word = (word | word >> 3) & UINT64_C(0x0303030303030303);
    word = (word | word >> 6) & UINT64_C(0x000f000f000f000f);
    word = (word | word >> 12) & UINT64_C(0x000000ff000000ff);
    return (uint16_t)(word | word >> 24);
}

void bloomery_counting_drop(const struct bloomery_layer *layer, uint32_t cell_bits,
                            const uint8_t *payload, uint8_t *bits)
{
    const uint64_t words = layer->blocks * (CELLS / 64) * cell_bits;
    assert(cell_bits == 4 || cell_bits == 8);
    assert(layer->blocks * CELLS == layer->bits);
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t word = bloomery_load_u64(payload + 8 * i);
        if (cell_bits == 4)
            bloomery_store_u16(bits + 2 * i, gather_nibbles(bloomery_used_cells(word, 4)));
        else {
            /* The product moves bit 8 i to bit 56 + i, and no other bit above that. */
            bits[i] = (uint8_t)(bloomery_used_cells(word, 8) * UINT64_C(0x0102040810204080) >> 56);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding halves a filter so that it becomes, cell for cell, the one that would have been built at
 * half the size. That works because places are chosen by fastrange, whose high bits decide. A hash
 * that picks place i of N picks place floor(i / 2) of N / 2 (docs/mathematics.md, section 7).
 *
 * Blocks: what moves is the whole block, and positions in it do not know N.
 *
 *     | block 0 | block 1 | block 2 | block 3 | block 4 | block 5 | block 6 | block 7 |
 *      └──────── ∪ ────────────┘           └──────── ∪ ────────────┘
 *     |             block 0                |             block 1                |     folded twice
 *
 * Flat arrays: what moves is the single bit. Two neighbours become one, and a word of 64 bits one
 * of 32, by bringing the even bits of x | x >> 1 together:
 *
 *     x            h g f e d c b a
 *     x | x >> 1   . hg . fe . dc . ba      every other bit counts
 *     folded       . . . .  hg fe dc ba
 *
 * Folded t times, a word becomes 64 >> t bits, and 2^t words become one. From t = 6 on a word is a
 * single bit, and words are ORed before they are folded.
 *
 * ∪ is OR for bits. Counters are added, and stay at the maximum once they are there. The maximum
 * stands for "that many or more", and so does a sum that passes it. Bits of counters are handled a
 * byte at a time in loops that compilers turn into vectors; no loop here runs over single cells.
 */
#include "kinds/cells.h"
#include "base/bits.h"
#include "base/bytes.h"

#include <assert.h>
#include <string.h>

enum { WORD_BITS = 64, WORD_FOLDS = 6, UNIT = BLOOMERY_PAYLOAD_UNIT };

struct bloomery_cells bloomery_cells_of(const struct bloomery_shape *shape,
                                        const struct bloomery_layer *layer, uint32_t folds)
{
    assert(folds < WORD_BITS && layer->bits % ((uint64_t)1 << folds) == 0);
    assert(bloomery_is_flat(shape) || layer->blocks % ((uint64_t)1 << folds) == 0);
    return (struct bloomery_cells){
        .payload = layer->payload,
        .cells = layer->bits,
        .cell_bits = shape->cell_bits,
        .block_bits = shape->block_bits,
        .folds = folds,
    };
}

/* The bits of the folded cells. */
static uint64_t folded_bits(const struct bloomery_cells *cells)
{
    return (cells->cells >> cells->folds) * cells->cell_bits;
}

uint64_t bloomery_cells_bytes(const struct bloomery_cells *cells)
{
    const uint64_t bits = folded_bits(cells);
    return (bits / 8 + (bits % 8 != 0) + UNIT - 1) / UNIT * UNIT;
}

/* ---- Two stretches -------------------------------------------------------------------------- */

static inline void unite_bits(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        into[i] |= from[i];
}

static inline uint8_t lesser(unsigned one, unsigned other)
{
    return (uint8_t)(one < other ? one : other);
}

static inline void unite_nibbles(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t low = lesser((into[i] & 15u) + (from[i] & 15u), 15);
        uint8_t high = lesser((unsigned)(into[i] >> 4) + (unsigned)(from[i] >> 4), 15);
        into[i] = (uint8_t)(low | high << 4);
    }
}

static inline void unite_bytes(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        into[i] = lesser((unsigned)into[i] + from[i], 255);
}

void bloomery_cells_unite(uint32_t cell_bits, uint8_t *into, const uint8_t *from, size_t bytes)
{
    assert(cell_bits == 1 || cell_bits == 4 || cell_bits == 8);
    if (cell_bits == 1)
        unite_bits(into, from, bytes);
    else if (cell_bits == 4)
        unite_nibbles(into, from, bytes);
    else
        unite_bytes(into, from, bytes);
}

void bloomery_cells_intersect(uint32_t cell_bits, uint8_t *into, const uint8_t *from, size_t bytes)
{
    assert(cell_bits == 1 || cell_bits == 4 || cell_bits == 8);
    if (cell_bits == 4)
        for (size_t i = 0; i < bytes; i++) {
            uint8_t low = lesser(into[i] & 15u, from[i] & 15u);
            uint8_t high = lesser(into[i] & 240u, from[i] & 240u);
            into[i] = low | high;
        }
    else if (cell_bits == 1)
        for (size_t i = 0; i < bytes; i++)
            into[i] &= from[i];
    else
        for (size_t i = 0; i < bytes; i++)
            into[i] = lesser(into[i], from[i]);
}

/* ---- Folding -------------------------------------------------------------------------------- */

typedef void unite_unit(uint8_t *into, const uint8_t *from, size_t bytes);

/* A unit of 64 bytes lies in one block. Its share of that is a unit in each of the blocks that fold
 * to it, a block apart. */
static inline __attribute__((always_inline)) void
fold_blocks_with(unite_unit *unite, size_t block_bytes, const struct bloomery_cells *cells,
                 uint64_t at, size_t bytes, uint8_t *room)
{
    const uint64_t blocks = (uint64_t)1 << cells->folds;
    for (size_t done = 0; done < bytes; done += UNIT) {
        const uint64_t block = (at + done) / block_bytes;
        const uint8_t *from =
            cells->payload + block * blocks * block_bytes + (at + done) % block_bytes;
        memcpy(room + done, from, UNIT);
        for (uint64_t i = 1; i < blocks; i++)
            unite(room + done, from + i * block_bytes, UNIT);
    }
}

/* A word folded `folds` <= 6 times: 64 >> folds bits. */
static uint64_t fold_word(uint64_t x, uint32_t folds)
{
    static const uint64_t masks[] = {
        0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
        0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff,
    };
    for (uint32_t fold = 0; fold < folds; fold++) {
        x = (x | x >> 1) & masks[0];
        for (unsigned i = 1; i < WORD_FOLDS; i++)
            x = (x | x >> (1u << (i - 1))) & masks[i];
    }
    return x;
}

/* Words `from` to `from + count - 1` of a flat array that has `words`, ORed; those behind it are
 * 0. */
static uint64_t unite_words(const uint8_t *payload, uint64_t words, uint64_t from, uint64_t count)
{
    uint64_t all = 0;
    const uint64_t end = from + count < words ? from + count : words;
    for (uint64_t i = from; i < end; i++)
        all |= bloomery_load_u64(payload + i * 8);
    return all;
}

static void fold_flat(const struct bloomery_cells *cells, uint64_t at, size_t bytes, uint8_t *room)
{
    const uint64_t words = cells->cells / WORD_BITS + (cells->cells % WORD_BITS != 0);
    const uint32_t within = cells->folds < WORD_FOLDS ? cells->folds : WORD_FOLDS;
    const uint64_t at_once = (uint64_t)1 << (cells->folds - within);
    assert(cells->cell_bits == 1 && cells->folds > 0);
    for (size_t done = 0; done < bytes; done += 8) {
        uint64_t from = ((at + done) / 8) << cells->folds;
        uint64_t folded = 0;
        for (uint32_t part = 0; part < 1u << within; part++, from += at_once)
            folded |= fold_word(unite_words(cells->payload, words, from, at_once), within)
                      << (part * (WORD_BITS >> within));
        bloomery_store_u64(room + done, folded);
    }
}

const uint8_t *bloomery_cells_read(const struct bloomery_cells *cells, uint64_t at, size_t bytes,
                                   uint8_t *room)
{
    const uint64_t last = folded_bits(cells);
    assert(at % UNIT == 0 && bytes % UNIT == 0 && bytes > 0);
    assert(at + bytes <= bloomery_cells_bytes(cells) && at * 8 < last);
    const bool spare = last - at * 8 < (uint64_t)bytes * 8;
    if (cells->folds == 0 && !spare)
        return cells->payload + at;
    if (cells->folds == 0)
        memcpy(room, cells->payload + at, bytes);
    else if (cells->block_bits > 0) {
        const size_t block_bytes = (size_t)cells->block_bits * cells->cell_bits / 8;
        assert(block_bytes % UNIT == 0);
        if (cells->cell_bits == 1)
            fold_blocks_with(unite_bits, block_bytes, cells, at, bytes, room);
        else if (cells->cell_bits == 4)
            fold_blocks_with(unite_nibbles, block_bytes, cells, at, bytes, room);
        else
            fold_blocks_with(unite_bytes, block_bytes, cells, at, bytes, room);
    } else
        fold_flat(cells, at, bytes, room);
    if (spare) {
        /* Bits past the last cell are 0. */
        const uint64_t bits = last - at * 8;
        const size_t whole = (size_t)(bits / 8);
        assert(whole < bytes);
        room[whole] &= (uint8_t)((1u << bits % 8) - 1);
        memset(room + whole + 1, 0, bytes - whole - 1);
    }
    return room;
}

/* ---- Counting ------------------------------------------------------------------------------- */

static uint64_t word_of(const uint8_t *bytes)
{
    uint64_t word; /* a count does not depend on the order of the bytes */
    memcpy(&word, bytes, sizeof word);
    return word;
}

uint64_t bloomery_cells_count_either(uint32_t cell_bits, const uint8_t *one, const uint8_t *other,
                                     size_t bytes)
{
    uint64_t count = 0;
    assert(bytes % 8 == 0);
    if (one == other && cell_bits == 1)
        return bloomery_count_payload(one, bytes / 8);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_of(one + i) | word_of(other + i);
        count += (uint64_t)__builtin_popcountll(bloomery_used_cells(word, cell_bits));
    }
    return count;
}

uint64_t bloomery_cells_count(uint32_t cell_bits, const uint8_t *one, size_t bytes)
{
    return bloomery_cells_count_either(cell_bits, one, one, bytes);
}

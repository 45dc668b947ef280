/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells without keys: payloads of one shape put together cell by cell, and seen at a smaller size.
 * cells.c holds the essay.
 *
 * Everything works on a stretch of a payload: `bytes` bytes from byte `at` on, both multiples of
 * 64. So payloads of any size pass through a memory of any size.
 */
#ifndef BLOOMERY_KINDS_CELLS_H
#define BLOOMERY_KINDS_CELLS_H

#include "kinds/shape.h"

/* One layer's cells as they are (no folds), or as they are at half the size, that often. */
struct bloomery_cells {
    const uint8_t *payload;
    uint64_t cells;     /* of the layer itself: a multiple of 2^folds, and of whole blocks if any */
    uint32_t cell_bits; /* 1, 4 or 8 */
    uint32_t block_bits;
    uint32_t folds;
};

/* The cells of a layer of that shape, folded so often. */
struct bloomery_cells bloomery_cells_of(const struct bloomery_shape *shape,
                                        const struct bloomery_layer *layer, uint32_t folds);

/* The bytes of the folded cells: a multiple of 64. */
uint64_t bloomery_cells_bytes(const struct bloomery_cells *cells);

/* A stretch of the folded cells, in `room` (of `bytes` bytes), or in the payload itself if nothing
 * had to be done. Spare bits behind the last cell are zero whatever the payload holds there. */
const uint8_t *bloomery_cells_read(const struct bloomery_cells *cells, uint64_t at, size_t bytes,
                                   uint8_t *room);

/* Puts a stretch together with another, cell by cell. Union: bits are ORed, counters added up to
 * their maximum. Intersection: bits are ANDed, of counters the lesser stays. */
void bloomery_cells_unite(uint32_t cell_bits, uint8_t *into, const uint8_t *from, size_t bytes);
void bloomery_cells_intersect(uint32_t cell_bits, uint8_t *into, const uint8_t *from, size_t bytes);

/* How many cells of a stretch are not 0, and how many are not 0 in at least one of two. */
uint64_t bloomery_cells_count(uint32_t cell_bits, const uint8_t *one, size_t bytes);
uint64_t bloomery_cells_count_either(uint32_t cell_bits, const uint8_t *one, const uint8_t *other,
                                     size_t bytes);

#endif /* BLOOMERY_KINDS_CELLS_H */

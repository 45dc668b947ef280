/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix sort in place, by one byte after the other from the most significant on:
 *
 *     count how many have each byte  ->  where each of the 256 heaps begins
 *     take a hash, put it on its heap, go on with the one that lay there
 *     sort each heap by the next byte; a small one by insertion
 *
 * It takes no memory beside the hashes, and no time that chosen keys could drive up: after 24 bytes
 * two hashes are the same.
 */
#include "builder/pairs.h"

#include "core/equation.h"

enum {
    HEAPS = 256,
    SMALL = 40, /* as many are sorted sooner by insertion */
    X_BYTES = 8,
    LO_BYTES = 16,
    ALL_BYTES = 24,
};

static inline uint32_t byte_of(bloomery_hash hash, uint32_t layer, uint32_t byte)
{
    const uint64_t word = byte < X_BYTES    ? bloomery_equation_x(hash, layer)
                          : byte < LO_BYTES ? hash.lo
                                            : hash.hi;
    return (uint32_t)(word >> (56 - 8 * (byte % 8))) & 0xff;
}

static inline bool comes_before(bloomery_hash one, bloomery_hash other, uint32_t layer)
{
    const uint64_t x = bloomery_equation_x(one, layer);
    const uint64_t y = bloomery_equation_x(other, layer);
    if (x != y)
        return x < y;
    return one.lo != other.lo ? one.lo < other.lo : one.hi < other.hi;
}

static void insert(bloomery_hash *hashes, size_t count, uint32_t layer)
{
    for (size_t i = 1; i < count; i++) {
        const bloomery_hash hash = hashes[i];
        size_t at = i;
        for (; at > 0 && comes_before(hash, hashes[at - 1], layer); at--)
            hashes[at] = hashes[at - 1];
        hashes[at] = hash;
    }
}

/* Puts hashes on their heaps, which begin at `next` and end at `end`. */
static void distribute(bloomery_hash *hashes, uint32_t layer, uint32_t byte, size_t *next,
                       const size_t *end)
{
    for (uint32_t heap = 0; heap < HEAPS; heap++)
        while (next[heap] < end[heap]) {
            bloomery_hash hash = hashes[next[heap]];
            for (uint32_t to; (to = byte_of(hash, layer, byte)) != heap;) {
                const bloomery_hash other = hashes[next[to]];
                hashes[next[to]++] = hash;
                hash = other;
            }
            hashes[next[heap]++] = hash;
        }
}

void bloomery_pairs_sort(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t bytes)
{
    size_t next[HEAPS];
    size_t end[HEAPS] = {0};
    for (; count > SMALL && bytes < ALL_BYTES; bytes++) {
        for (size_t i = 0; i < count; i++)
            end[byte_of(hashes[i], layer, bytes)]++;
        if (end[byte_of(hashes[0], layer, bytes)] != count)
            break;
        end[byte_of(hashes[0], layer, bytes)] = 0; /* all have this byte: the next one decides */
    }
    if (count <= SMALL) {
        insert(hashes, count, layer);
        return;
    }
    if (bytes == ALL_BYTES)
        return;
    size_t sum = 0;
    for (uint32_t heap = 0; heap < HEAPS; heap++) {
        next[heap] = sum;
        sum += end[heap];
        end[heap] = sum;
    }
    distribute(hashes, layer, bytes, next, end);
    for (uint32_t heap = 0; heap < HEAPS; heap++) {
        const size_t from = heap > 0 ? end[heap - 1] : 0;
        bloomery_pairs_sort(hashes + from, end[heap] - from, layer, bytes + 1);
    }
}

size_t bloomery_pairs_distinct(bloomery_hash *hashes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || hashes[i].hi != hashes[kept - 1].hi || hashes[i].lo != hashes[kept - 1].lo)
            hashes[kept++] = hashes[i];
    return kept;
}

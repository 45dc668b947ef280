/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix sort in place, digit after digit of x, then of lo, from the most significant on. These two
 * words say what the third, hi, is.
 *
 *     count how many have each digit  ->  where each of the heaps begins
 *     swap each hash with the first one on its heap that is not there yet
 *     sort each large heap by the next digit; small ones by one pass of insertion over all
 *
 * A digit has up to eight bits: as many as leave two or three hashes in a heap, if chance made them.
 * Swaps do not wait for each other, so the processor has several on the way. The sort takes no memory
 * beside the hashes, and no time that chosen keys could drive up: after 128 bits two hashes are the
 * same.
 */
#include "builder/pairs.h"

#include "kinds/static.h"

enum {
    DIGIT_BITS = 8,
    HEAPS = 1 << DIGIT_BITS,
    SMALL = 24, /* as many are sorted sooner by insertion */
    WORD_BITS = 64,
    ALL_BITS = 2 * WORD_BITS,
};

#define INTO_CALLER static inline __attribute__((always_inline))

/* `bits` bits of x and lo, which lie behind one another, from bit `from` on; all of one word. */
INTO_CALLER size_t digit_of(bloomery_hash hash, uint32_t layer, uint32_t from, uint32_t bits)
{
    const uint64_t word = from < WORD_BITS ? bloomery_equation_x(hash, layer) : hash.lo;
    return (size_t)(word << from % WORD_BITS >> (WORD_BITS - bits));
}

INTO_CALLER bool comes_before(bloomery_hash one, bloomery_hash other, uint32_t layer)
{
    const uint64_t x = bloomery_equation_x(one, layer);
    const uint64_t y = bloomery_equation_x(other, layer);
    return x != y ? x < y : one.lo < other.lo;
}

INTO_CALLER void insert(bloomery_hash *hashes, size_t count, uint32_t layer)
{
    for (size_t i = 1; i < count; i++) {
        const bloomery_hash hash = hashes[i];
        size_t at = i;
        for (; at > 0 && comes_before(hash, hashes[at - 1], layer); at--)
            hashes[at] = hashes[at - 1];
        hashes[at] = hash;
    }
}

/* How many bits the next digit has. */
static uint32_t bits_for(size_t count, uint32_t from)
{
    const uint32_t left = WORD_BITS - from % WORD_BITS;
    const uint32_t wanted = 62 - (uint32_t)__builtin_clzll(count);
    const uint32_t most = left < DIGIT_BITS ? left : DIGIT_BITS;
    assert(count > SMALL && from < ALL_BITS);
    return wanted < most ? wanted : most;
}

/* Puts hashes on their heaps, which end at `end`; what lies before `next` is in its place. Each step
 * puts one hash in its place, so there are as many steps as hashes. */
INTO_CALLER void distribute(bloomery_hash *hashes, uint32_t layer, uint32_t from, uint32_t bits,
                            size_t *next, const size_t *end)
{
    for (bool all = false; !all;) {
        all = true;
        for (size_t heap = 0; heap >> bits == 0; heap++) {
            for (size_t i = next[heap]; i < end[heap]; i++) {
                const bloomery_hash hash = hashes[i];
                const size_t to = next[digit_of(hash, layer, from, bits)]++;
                hashes[i] = hashes[to];
                hashes[to] = hash;
            }
            all = all && next[heap] == end[heap];
        }
    }
}

/* Counts by the next digit that is not the same in all, and makes of the counts the heaps' bounds.
 * False: there is none, so all hashes are equal. */
INTO_CALLER bool lay_heaps(const bloomery_hash *hashes, size_t count, uint32_t layer,
                           uint32_t *from, uint32_t *bits, size_t *next, size_t *end)
{
    for (; *from < ALL_BITS; *from += *bits) {
        *bits = bits_for(count, *from);
        for (size_t heap = 0; heap >> *bits == 0; heap++)
            end[heap] = 0;
        for (size_t i = 0; i < count; i++)
            end[digit_of(hashes[i], layer, *from, *bits)]++;
        if (end[digit_of(hashes[0], layer, *from, *bits)] != count)
            break;
    }
    if (*from >= ALL_BITS)
        return false;
    size_t sum = 0;
    for (size_t heap = 0; heap >> *bits == 0; heap++) {
        next[heap] = sum;
        sum += end[heap];
        end[heap] = sum;
    }
    assert(sum == count);
    return true;
}

static void sort_first(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t from);
static void sort_later(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t from);

/* `layer` is a constant 0 for the first layer, whose x takes no work. */
INTO_CALLER void sort(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t from,
                      void (*again)(bloomery_hash *, size_t, uint32_t, uint32_t))
{
    size_t next[HEAPS];
    size_t end[HEAPS];
    uint32_t bits = 0;
    bool small = count <= SMALL;
    if (!small) {
        if (!lay_heaps(hashes, count, layer, &from, &bits, next, end))
            return;
        distribute(hashes, layer, from, bits, next, end);
        for (size_t heap = 0, first = 0; heap >> bits == 0; first = end[heap++]) {
            const size_t here = end[heap] - first;
            if (here > SMALL)
                again(hashes + first, here, layer, from + bits);
            else
                small = small || here > 1;
        }
    }
    if (small)
        insert(hashes, count, layer);
}

static void sort_first(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t from)
{
    assert(layer == 0);
    (void)layer;
    sort(hashes, count, 0, from, sort_first);
}

static void sort_later(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t from)
{
    sort(hashes, count, layer, from, sort_later);
}

void bloomery_pairs_sort(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t same)
{
    if (layer == 0)
        sort_first(hashes, count, layer, same);
    else
        sort_later(hashes, count, layer, same);
}

size_t bloomery_pairs_distinct(bloomery_hash *hashes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || hashes[i].hi != hashes[kept - 1].hi || hashes[i].lo != hashes[kept - 1].lo)
            hashes[kept++] = hashes[i];
    return kept;
}

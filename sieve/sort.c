/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Radix sort in place, from the top bits down, for values that are spread evenly.
 *
 *     spread    count how often each digit occurs; that tells where each digit's values belong;
 *               swap every value to the next free place of its digit. Digits are as wide as leaves
 *               about MEAN values each after one or two rounds: 9 and 8 bits for 2^20 values, and
 *               what the second round moves stays in the nearest cache.
 *     insert    few values of one digit lie together: one insertion pass over all of them ends it.
 *
 * If values are not spread evenly, a digit has many values, and is spread again by the bits behind
 * it. From DEPTH on, where only values made for it come, that is done bit by bit (`part`), which
 * takes little stack. The first bits in which the values differ are looked for each time, so equal
 * values and long common beginnings cost one look. In all, a value is moved at most 64 times.
 */
#include "sieve/disk.h"

#include <assert.h>
#include <stdbool.h>

enum {
    DIGIT_BITS =
        10, /* the most: 1024 places to write at fit the translation buffers of all processors */
    DIGITS = 1 << DIGIT_BITS,
    MEAN_BITS = 3,
    FEW = 24, /* the most that are left to insertion */
    DEPTH = 3,
};

static void insert(uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t value = values[i];
        size_t to = i;
        for (; to > 0 && values[to - 1] > value; to--)
            values[to] = values[to - 1];
        values[to] = value;
    }
}

/* The bits in which values differ. */
static uint64_t difference(const uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 1; i < count; i++)
        sum |= values[i] ^ values[0];
    return sum;
}

/* Bit by bit, the highest that differs first. It calls itself for the values that have the bit, and
 * goes on with the others. It is at most 64 deep, since the highest bit is lower each time. */
static void part(uint64_t *values, size_t count)
{
    while (count > FEW) {
        const uint64_t differ = difference(values, count);
        if (differ == 0)
            return;
        const uint64_t bit = (uint64_t)1 << (63 - __builtin_clzll(differ));
        size_t low = 0;
        size_t high = count;
        while (low < high) {
            const uint64_t value = values[low];
            if (value & bit) {
                high--;
                values[low] = values[high];
                values[high] = value;
            } else {
                low++;
            }
        }
        part(values + low, count - low);
        count = low;
    }
    insert(values, count);
}

/* How wide the digit is: about 2^MEAN_BITS values each when all rounds are done, in rounds of even
 * width. */
static unsigned digit_bits(size_t count)
{
    const unsigned all = 63 - (unsigned)__builtin_clzll((uint64_t)count);
    const unsigned bits = all > MEAN_BITS ? all - MEAN_BITS : 1;
    const unsigned rounds = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    return (bits + rounds - 1) / rounds;
}

/* Where each digit's values belong: next[d] to end[d]. */
struct places {
    size_t next[DIGITS];
    size_t end[DIGITS];
};

/* Counts digits into `end`; true: the values agree in the bits above `shift + bits`. */
static bool count_digits(const uint64_t *values, size_t count, unsigned shift, unsigned bits,
                         struct places *places)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t differ = 0;
    for (size_t digit = 0; digit <= mask; digit++)
        places->end[digit] = 0;
    for (size_t i = 0; i < count; i++) {
        differ |= values[i] ^ values[0];
        places->end[(values[i] >> shift) & mask]++;
    }
    return shift + bits >= 64 || differ >> (shift + bits) == 0;
}

/* Swaps every value to where it belongs. One pass after the other over the values that are not
 * there yet. Neighbours are independent of each other, so that the processor has many swaps under
 * way, unlike along a cycle. */
static void swap_all(uint64_t *values, unsigned shift, unsigned bits, struct places *places)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t digit = 0; digit <= mask; digit++) {
            const size_t end = places->end[digit];
            for (size_t from = places->next[digit]; from < end; from++) {
                const uint64_t value = values[from];
                const size_t to = places->next[(value >> shift) & mask]++;
                values[from] = values[to];
                values[to] = value;
            }
            moved |= places->next[digit] < end;
        }
    }
}

static void spread(uint64_t *values, size_t count, unsigned skip, unsigned depth)
{
    struct places places;
    unsigned bits = digit_bits(count);
    assert(count > 0 && skip < 64);
    bits = bits < 64 - skip ? bits : 64 - skip;
    unsigned shift = 64 - skip - bits;
    if (!count_digits(values, count, shift, bits, &places)) {
        shift = 64 - bits;
        (void)count_digits(values, count, shift, bits, &places);
    }
    size_t sum = 0;
    for (size_t digit = 0; digit < (size_t)1 << bits; digit++) {
        places.next[digit] = sum;
        sum += places.end[digit];
        places.end[digit] = sum;
    }
    assert(sum == count);
    swap_all(values, shift, bits, &places);
    size_t from = 0;
    for (size_t digit = 0; digit < (size_t)1 << bits && shift > 0; digit++) {
        const size_t many = places.end[digit] - from;
        if (many > FEW && depth + 1 < DEPTH)
            spread(values + from, many, 64 - shift, depth + 1);
        else if (many > FEW)
            part(values + from, many);
        from = places.end[digit];
    }
    insert(values, count);
}

void bloomery_sort_fingerprints(uint64_t *values, size_t count, unsigned skip_bits)
{
    assert(skip_bits <= BLOOMERY_SORT_SKIP_MAX);
    assert(values != NULL || count == 0);
    if (count <= FEW)
        insert(values, count);
    else
        spread(values, count, skip_bits, 0);
}

size_t bloomery_unique_fingerprints(uint64_t *values, size_t count)
{
    if (count == 0)
        return 0;
    size_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        assert(values[i] >= values[kept - 1]);
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    }
    return kept;
}

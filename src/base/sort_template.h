/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix sort in place, from the most significant bits of a key down: a template, instantiated by
 * defining before inclusion
 *
 *     SORT(name)                   the instance's name for a function
 *     SORT_ELEMENT                 the type of what is sorted
 *     SORT_WORDS                   words of 64 bits in a key
 *     SORT_WORD(element, with, n)  word n of an element's key, 0 the most significant; `with` is
 *                                  what SORT(all) was given
 *     SORT_DIGIT_BITS              the most that a digit has
 *     SORT_MEAN_BITS               2^this elements are left on a heap, if chance made the keys
 *
 * It does this:
 *
 *     count how many have each digit  ->  where each of the heaps begins
 *     swap each element with the first one on its heap that is not there yet
 *     sort each large heap by the next digit; small ones by one pass of insertion over all
 *
 * Swaps do not wait for each other, as they would along a cycle, so the processor has several on
 * the way. The sort takes no memory but stack, and no time that chosen keys could drive up: bits
 * that are the same in all elements cost one look, and behind the last bit two elements are equal.
 * From the third round on, where only keys that were made for it come in large numbers, digits have
 * four bits, and a round takes little stack.
 */

enum {
    SORT(word_bits) = 64,
    SORT(all_bits) = 64 * SORT_WORDS,
    SORT(deep_bits) = 4,
    SORT(few) = 24
};

#define SORT_INTO_CALLER static inline __attribute__((always_inline))

/* `bits` bits of a key from bit `from` on, counted from the highest; all of one word. */
SORT_INTO_CALLER size_t SORT(digit)(SORT_ELEMENT element, uint32_t with, uint32_t from,
                                    uint32_t bits)
{
    const uint64_t word = SORT_WORD(element, with, from / SORT(word_bits));
    (void)with; /* which not every key needs */
    return (size_t)(word << from % SORT(word_bits) >> (SORT(word_bits) - bits));
}

SORT_INTO_CALLER bool SORT(before)(SORT_ELEMENT one, SORT_ELEMENT other, uint32_t with)
{
    (void)with;
    for (uint32_t n = 0; n + 1 < SORT_WORDS; n++)
        if (SORT_WORD(one, with, n) != SORT_WORD(other, with, n))
            return SORT_WORD(one, with, n) < SORT_WORD(other, with, n);
    return SORT_WORD(one, with, SORT_WORDS - 1) < SORT_WORD(other, with, SORT_WORDS - 1);
}

SORT_INTO_CALLER void SORT(insert)(SORT_ELEMENT *elements, size_t count, uint32_t with)
{
    for (size_t i = 1; i < count; i++) {
        const SORT_ELEMENT element = elements[i];
        size_t at = i;
        for (; at > 0 && SORT(before)(element, elements[at - 1], with); at--)
            elements[at] = elements[at - 1];
        elements[at] = element;
    }
}

/* How many bits the digit at `from` has: what leaves heaps of the mean, if they fit. */
SORT_INTO_CALLER uint32_t SORT(bits_for)(size_t count, uint32_t from, const uint32_t most)
{
    const uint32_t all = 63 - (uint32_t)__builtin_clzll((uint64_t)count);
    const uint32_t wanted = all > SORT_MEAN_BITS ? all - SORT_MEAN_BITS : 1;
    const uint32_t left = SORT(word_bits) - from % SORT(word_bits);
    const uint32_t fits = left < most ? left : most;
    assert(count > SORT(few) && from < SORT(all_bits));
    return wanted < fits ? wanted : fits;
}

/* The first bit from `from` on, of whose word all bits before are the same, that differs. */
SORT_INTO_CALLER uint32_t SORT(first_difference)(const SORT_ELEMENT *elements, size_t count,
                                                 uint32_t with, uint32_t from)
{
    (void)with;
    for (uint32_t n = from / SORT(word_bits); n < SORT_WORDS; n++) {
        const uint64_t first = SORT_WORD(elements[0], with, n);
        const uint32_t same = n == from / SORT(word_bits) ? from % SORT(word_bits) : 0;
        uint64_t differ = 0;
        for (size_t i = 1; i < count; i++)
            differ |= SORT_WORD(elements[i], with, n) ^ first;
        if (differ << same != 0)
            return SORT(word_bits) * n + same + (uint32_t)__builtin_clzll(differ << same);
    }
    return SORT(all_bits);
}

/* Counts by the digit at `from`, or at the first bit behind it that is not the same in all, and
 * makes of the counts the heaps' bounds. False: there is none, so all elements are equal. */
SORT_INTO_CALLER bool SORT(lay_heaps)(const SORT_ELEMENT *elements, size_t count, uint32_t with,
                                      uint32_t *from, uint32_t *bits, const uint32_t most,
                                      size_t *next, size_t *end)
{
    for (bool again = true; again;) {
        if (*from >= SORT(all_bits))
            return false;
        *bits = SORT(bits_for)(count, *from, most);
        for (size_t heap = 0; heap >> *bits == 0; heap++)
            end[heap] = 0;
        for (size_t i = 0; i < count; i++)
            end[SORT(digit)(elements[i], with, *from, *bits)]++;
        again = end[SORT(digit)(elements[0], with, *from, *bits)] == count;
        if (again)
            *from = SORT(first_difference)(elements, count, with, *from);
    }
    size_t sum = 0;
    for (size_t heap = 0; heap >> *bits == 0; heap++) {
        next[heap] = sum;
        sum += end[heap];
        end[heap] = sum;
    }
    assert(sum == count);
    return true;
}

/* Puts elements on their heaps, which end at `end`; what lies before `next` is in its place. Each
 * step puts one element in its place, so there are as many steps as elements. */
SORT_INTO_CALLER void SORT(distribute)(SORT_ELEMENT *elements, uint32_t with, uint32_t from,
                                       uint32_t bits, size_t *next, const size_t *end)
{
    for (bool all = false; !all;) {
        all = true;
        for (size_t heap = 0; heap >> bits == 0; heap++) {
            for (size_t i = next[heap]; i < end[heap]; i++) {
                const SORT_ELEMENT element = elements[i];
                const size_t to = next[SORT(digit)(element, with, from, bits)]++;
                elements[i] = elements[to];
                elements[to] = element;
            }
            all = all && next[heap] == end[heap];
        }
    }
}

static void SORT(wide)(SORT_ELEMENT *elements, size_t count, uint32_t with, uint32_t from,
                       uint32_t round);
static void SORT(deep)(SORT_ELEMENT *elements, size_t count, uint32_t with, uint32_t from);

/* A round over more elements than a few, and those after it. `next` and `end` have 2^most places.
 * */
SORT_INTO_CALLER void SORT(round)(SORT_ELEMENT *elements, size_t count, uint32_t with,
                                  uint32_t from, const uint32_t most, uint32_t round, size_t *next,
                                  size_t *end)
{
    uint32_t bits = 0;
    bool rest = false; /* small heaps that are to be sorted */
    if (!SORT(lay_heaps)(elements, count, with, &from, &bits, most, next, end))
        return;
    SORT(distribute)(elements, with, from, bits, next, end);
    for (size_t heap = 0, first = 0; heap >> bits == 0; first = end[heap++]) {
        const size_t here = end[heap] - first;
        if (here <= SORT(few))
            rest = rest || here > 1;
        else if (round < 2)
            SORT(wide)(elements + first, here, with, from + bits, round + 1);
        else
            SORT(deep)(elements + first, here, with, from + bits);
    }
    if (rest)
        SORT(insert)(elements, count, with);
}

static void SORT(wide)(SORT_ELEMENT *elements, size_t count, uint32_t with, uint32_t from,
                       uint32_t round)
{
    size_t next[1 << SORT_DIGIT_BITS], end[1 << SORT_DIGIT_BITS];
    SORT(round)(elements, count, with, from, SORT_DIGIT_BITS, round, next, end);
}

static void SORT(deep)(SORT_ELEMENT *elements, size_t count, uint32_t with, uint32_t from)
{
    size_t next[1 << SORT(deep_bits)], end[1 << SORT(deep_bits)];
    SORT(round)(elements, count, with, from, SORT(deep_bits), 2, next, end);
}

/* Sorts elements whose keys agree in their first `same` bits. */
static void SORT(all)(SORT_ELEMENT *elements, size_t count, uint32_t with, uint32_t same)
{
    if (count <= SORT(few))
        SORT(insert)(elements, count, with);
    else
        SORT(wide)(elements, count, with, same, 0);
}

#undef SORT_INTO_CALLER
#undef SORT
#undef SORT_ELEMENT
#undef SORT_WORDS
#undef SORT_WORD
#undef SORT_DIGIT_BITS
#undef SORT_MEAN_BITS

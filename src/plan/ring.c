/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ring.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { WORDS = BLOOMERY_RING_WORDS, SETS = BLOOMERY_RING_SETS, MASKS = 1 << WORDS };

static const double hit = 1.0 / 64; /* the marked bit of a word, which a key sets a bit in */

static uint32_t turned(uint32_t set, uint32_t by)
{
    return (set << by | set >> (WORDS - by)) & (MASKS - 1);
}

static uint32_t mirrored(uint32_t set)
{
    uint32_t mirror = 0;
    for (uint32_t word = 0; word < WORDS; word++)
        mirror |= (set >> word & 1) << (WORDS - 1 - word);
    return mirror;
}

/* The least of all sets that are this one turned or mirrored. */
static uint32_t min_alike(uint32_t set)
{
    uint32_t min = set;
    for (uint32_t by = 0; by < WORDS; by++) {
        const uint32_t one = turned(set, by);
        const uint32_t other = mirrored(one);
        min = one < min ? one : min;
        min = other < min ? other : min;
    }
    return min;
}

static uint32_t size_of(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* The number of each of 256 sets among the 30, fewer words first; and which those are. */
static void number_sets(uint8_t number[MASKS], uint32_t sets[SETS])
{
    uint32_t alike[MASKS];
    uint32_t found = 0;
    for (uint32_t set = 0; set < MASKS; set++)
        alike[set] = min_alike(set);
    for (uint32_t size = 0; size <= WORDS; size++)
        for (uint32_t set = 0; set < MASKS; set++)
            if (alike[set] == set && size_of(set) == size) {
                assert(found < SETS);
                number[set] = (uint8_t)found;
                sets[found++] = set;
            }
    assert(found == SETS);
    for (uint32_t set = 0; set < MASKS; set++)
        number[set] = number[alike[set]];
}

/* The factors of set i start here: it has i + 1 of them. */
static size_t row(uint32_t i)
{
    return (size_t)i * (i + 1) / 2;
}

/* What a key with this window does to the marks of a set. */
static void add_window(double *factor, const uint8_t number[MASKS], uint32_t set, uint32_t window)
{
    const uint32_t touched = set & window;
    uint32_t missed = touched; /* T: all subsets, down to none */
    for (;;) {
        const double chance =
            pow(hit, size_of(touched) - size_of(missed)) * pow(1 - hit, size_of(missed));
        factor[number[(set & ~window) | missed]] += chance / WORDS;
        if (missed == 0)
            break;
        missed = (missed - 1) & touched;
    }
}

void bloomery_ring_start(struct bloomery_ring *ring, uint32_t probes)
{
    uint8_t number[MASKS];
    uint32_t sets[SETS];
    assert(probes >= 1 && probes <= WORDS);
    const uint32_t window = (1U << probes) - 1;
    number_sets(number, sets);
    *ring = (struct bloomery_ring){.window = number[window]};
    ring->chance[0] = 1; /* of no marks */
    for (uint32_t i = 0; i < SETS; i++) {
        double missed = 0;
        for (uint32_t by = 0; by < WORDS; by++) {
            const uint32_t words = turned(window, by);
            add_window(ring->step + row(i), number, sets[i], words);
            missed += pow(1 - hit, size_of(sets[i] & words)) / WORDS;
        }
        ring->missed[i] = log(missed);
    }
    for (uint32_t set = 0; set <= window; set++)
        ring->sign[number[set]] += size_of(set) % 2 == 0 ? 1 : -1;
}

void bloomery_ring_step(struct bloomery_ring *ring)
{
    /* From the largest down: a set needs the smaller ones of the key before. */
    for (uint32_t i = ring->window; i > 0; i--) {
        const double *factor = ring->step + row(i);
        double sum = 0;
        for (uint32_t s = 0; s <= i; s++)
            sum += factor[s] * ring->chance[s];
        ring->chance[i] = sum;
    }
}

double bloomery_ring_chance(const struct bloomery_ring *ring)
{
    return ring->chance[ring->window];
}

double bloomery_ring_chance_at(const struct bloomery_ring *ring, double keys)
{
    double sum = 0;
    for (uint32_t i = 0; i <= ring->window; i++)
        if (ring->sign[i] != 0)
            sum += ring->sign[i] * exp(keys * ring->missed[i]);
    return sum < 0 ? 0 : sum < 1 ? sum : 1;
}

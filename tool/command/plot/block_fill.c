/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fill of blocks. n keys make T = nL picks of a block each. The picks that one of the N blocks
 * gets, its load, are Binomial(T, 1/N): in a large filter nearly Poisson with mean T/N. A pick sets
 * k different bits of its block, so the set bits of a block of load j follow a chain of j steps:
 *
 *     x set bits  ->  x + r,  with the chance  C(512 - x, r) C(x, k - r) / C(512, k)
 *
 * and the number of blocks with x set bits is N times the mixture of these over all loads. That the
 * k bits lie in different words is left out: it does not change the mean, and the deviation by less
 * than a part in 200 (docs/mathematics.md, section 17). In a scalable filter the layers are added.
 */
#include "command/plot/block_fill.h"

#include "base/experimental.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS = TOOL_BLOCK_CELLS,
    PROBES_MAX = 8,
};

/* ---- Measured -------------------------------------------------------------------------------- */

static unsigned cells_set(const unsigned char *block, uint32_t cell_bits)
{
    const size_t bytes = (size_t)CELLS / 8 * cell_bits;
    unsigned set = 0;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, block + i, sizeof(word));
        if (cell_bits == 4) { /* the lowest bit of each counter: whether one of its bits is set */
            word |= word >> 2;
            word = (word | word >> 1) & UINT64_C(0x1111111111111111);
        } else if (cell_bits == 8) {
            word |= word >> 4;
            word |= word >> 2;
            word = (word | word >> 1) & UINT64_C(0x0101010101010101);
        }
        set += (unsigned)__builtin_popcountll(word);
    }
    return set;
}

static void measure(const bloomery_filter *filter, uint32_t layer, uint32_t cell_bits,
                    uint64_t blocks, struct tool_block_fill *fill)
{
    const void *data;
    uint64_t bytes;
    const size_t block_bytes = (size_t)CELLS / 8 * cell_bits;
    bloomery_layer_span(filter, layer, &data, &bytes);
    assert(bytes >= blocks * block_bytes);
    for (uint64_t i = 0; i < blocks; i++)
        fill->measured[cells_set((const unsigned char *)data + i * block_bytes, cell_bits)]++;
}

/* ---- Expected -------------------------------------------------------------------------------- */

/* The chances of loads `first` to `first + count - 1`, which are all that weigh anything. */
struct loads {
    uint64_t first;
    uint64_t count;
    double *weights;
};

/* The weights begin at the mode and go outwards by the ratio of neighbours, so no factorial of a
 * large number is needed; they are normalised at the end. */
static struct loads expect_loads(double picks, double blocks)
{
    const double mean = picks / blocks, odds = 1 / (blocks - 1);
    const double reach = 10 * sqrt(mean * (1 - 1 / blocks)) + 30;
    if (blocks < 2)
        return (struct loads){(uint64_t)picks, 1, NULL};
    const uint64_t mode = (uint64_t)mean;
    const uint64_t first = mean > reach ? (uint64_t)(mean - reach) : 0;
    const uint64_t last = (uint64_t)fmin(picks, mean + reach);
    struct loads loads = {first, last - first + 1, NULL};
    loads.weights = tool_allocate(loads.count * sizeof(double));
    double *at = loads.weights, sum = 1;
    at[mode - first] = 1;
    for (uint64_t j = mode; j < last; j++)
        sum += at[j + 1 - first] = at[j - first] * (picks - (double)j) / ((double)j + 1) * odds;
    for (uint64_t j = mode; j > first; j--)
        sum += at[j - 1 - first] = at[j - first] * (double)j / (picks - (double)j + 1) / odds;
    for (uint64_t i = 0; i < loads.count; i++)
        at[i] /= sum;
    return loads;
}

/* steps[x][r]: of a pick in a block with x set bits, the chance that r of its k are new. */
static void tabulate_steps(uint32_t probes, double steps[CELLS + 1][PROBES_MAX + 1])
{
    double all = 1;
    for (uint32_t i = 0; i < probes; i++)
        all *= CELLS - i;
    for (uint32_t x = 0; x <= CELLS; x++) {
        double choose = 1; /* C(k, r) */
        for (uint32_t r = 0; r <= probes; r++) {
            double ways = choose;
            for (uint32_t i = 0; i < r; i++)
                ways *= x + i < CELLS ? CELLS - x - i : 0;
            for (uint32_t i = 0; i < probes - r; i++)
                ways *= x > i ? x - i : 0;
            steps[x][r] = ways / all;
            choose = choose * (probes - r) / (r + 1);
        }
    }
}

/* One pick more, in place: from full blocks down, so that what moved is not moved again. */
static void add_pick(uint32_t probes, double steps[CELLS + 1][PROBES_MAX + 1], double *chances)
{
    for (uint32_t x = CELLS + 1; x-- > 0;) {
        const double before = chances[x];
        if (before <= 0)
            continue;
        chances[x] = before * steps[x][0];
        for (uint32_t r = 1; r <= probes && x + r <= CELLS; r++)
            chances[x + r] += before * steps[x][r];
    }
}

static void expect(const bloomery_layer_info *layer, uint64_t blocks, double *expected)
{
    static double steps[CELLS + 1][PROBES_MAX + 1];
    double chances[CELLS + 1] = {1};
    if (isinf(layer->estimated_keys)) {
        expected[CELLS] += (double)blocks;
        return;
    }
    const double picks = round(layer->estimated_keys * layer->blocks_per_key);
    struct loads loads = expect_loads(picks, (double)blocks);
    tabulate_steps(layer->probes, steps);
    for (uint64_t load = 0; load < loads.first + loads.count; load++) {
        if (load >= loads.first) {
            const double weight = loads.weights != NULL ? loads.weights[load - loads.first] : 1;
            for (uint32_t x = 0; x <= CELLS; x++)
                expected[x] += (double)blocks * weight * chances[x];
        }
        add_pick(layer->probes, steps, chances);
    }
    free(loads.weights);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static bool has_blocks(const char *file, const bloomery_info *info)
{
    if (info->dialect != 0)
        tool_error("%s: the fill by block is for filters of ours; filters of %s have other blocks, "
                   "or none",
                   file, bloomery_dialect_get(info->dialect)->name);
    else if (!info->has_bits)
        tool_error("%s: about half of the bits of a static filter are set, whatever its keys are: "
                   "it has no fill to plot",
                   file);
    else if (info->blocks_per_key == 0)
        tool_error("%s: a classic filter has no blocks, its keys set bits anywhere; 'bloomery "
                   "inspect' shows its fill",
                   file);
    else
        return true;
    return false;
}

static void sum_up(struct tool_block_fill *fill)
{
    const double blocks = (double)fill->blocks;
    double squares[2] = {0};
    for (int x = 0; x <= CELLS; x++) {
        fill->measured_mean += x * (double)fill->measured[x] / blocks;
        fill->expected_mean += x * fill->expected[x] / blocks;
    }
    for (int x = 0; x <= CELLS; x++) {
        const double off[2] = {x - fill->measured_mean, x - fill->expected_mean};
        squares[0] += off[0] * off[0] * (double)fill->measured[x] / blocks;
        squares[1] += off[1] * off[1] * fill->expected[x] / blocks;
    }
    fill->measured_deviation = sqrt(squares[0]);
    fill->expected_deviation = sqrt(squares[1]);
}

bool tool_block_fill(const char *file, const bloomery_filter *filter, struct tool_block_fill *fill)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (!has_blocks(file, &info))
        return false;
    *fill = (struct tool_block_fill){
        .file = file,
        .kind = info.kind,
        .counters = info.counter_max > 0,
        .blocks_per_key = info.blocks_per_key,
        .probes = info.probes,
        .layers = info.layers,
    };
    for (uint32_t i = 0; i < info.layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        bloomery_layer_info_get(filter, i, true, &layer);
        const uint64_t blocks = layer.bits / CELLS;
        measure(filter, i, info.cell_bits, blocks, fill);
        expect(&layer, blocks, fill->expected);
        fill->blocks += blocks;
        fill->keys += layer.estimated_keys;
    }
    sum_up(fill);
    return true;
}

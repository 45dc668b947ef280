/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a count of false positives says about a rate. Both questions are about the binomial
 * distribution: `trials` absent keys, each a false positive with the same chance.
 */
#ifndef BLOOMERY_TOOL_STATISTICS_H
#define BLOOMERY_TOOL_STATISTICS_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

struct tool_interval {
    double low;
    double high;
};

/* The interval of rates that `hits` of `trials` leave open with 95 % confidence, by Wilson. */
struct tool_interval tool_wilson(uint64_t hits, uint64_t trials);

/* Returns whether this rate gives `hits` or more (or `hits` or fewer) at least once in 2,000 times.
 * The two sides together are wrong once in 1,000. Exact, even for a handful of hits. */
bool tool_plausible(uint64_t hits, uint64_t trials, double rate);

/* The minimum and the maximum of hits that are plausible. */
void tool_plausible_hits(uint64_t trials, double rate, uint64_t *least, uint64_t *most);

/*
 * How far the live rate of one filter may lie above the average of its shape by chance. It is a
 * factor of at least 1.05: our plans may be off by 5 %. `shape` is a plan of which
 * kind, bits, lines and probes are read. statistics.c derives it.
 */
double tool_allowed_factor(const bloomery_plan *shape, uint64_t keys);

#endif /* BLOOMERY_TOOL_STATISTICS_H */

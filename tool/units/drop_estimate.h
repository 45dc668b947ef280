/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many new keys a filter is expected to have taken for old ones while it was being filled.
 * drop_estimate.c derives it.
 */
#ifndef BLOOMERY_TOOL_UNITS_DROP_ESTIMATE_H
#define BLOOMERY_TOOL_UNITS_DROP_ESTIMATE_H

#include <bloomery/bloomery.h>
#include <stdint.h>

enum { TOOL_LAYERS_MAX = 64 };

/* The container of a filter's keys: one layer, or the chain of a scalable filter. */
struct tool_chain {
    uint32_t layers;
    struct tool_chain_layer {
        bloomery_plan plan; /* the shape, and the keys that it was planned for (0: unknown) */
        double keys;        /* different keys in it */
        double rate;        /* of these */
    } layer[TOOL_LAYERS_MAX];
};

/* As the filter is: keys and rates read off its bits. */
void tool_chain_read(const bloomery_filter *filter, struct tool_chain *chain);

/* As it became, when it was `before` and `kept` keys were then found new. Only layers that became
 * full since are scanned. */
void tool_chain_follow(const bloomery_filter *filter, const struct tool_chain *before,
                       uint64_t kept, struct tool_chain *chain);

/* The rate of the whole. */
double tool_chain_rate(const struct tool_chain *chain);

/* The different keys in it. */
double tool_chain_keys(const struct tool_chain *chain);

/* The new keys that are expected to have been taken for old ones from `before` to `after`. */
double tool_chain_drops(const struct tool_chain *before, const struct tool_chain *after);

/* How many of the keys from the one after `from` keys to the one after `to` are found new, in a
 * filter of one layer. */
double tool_expected_new(const bloomery_plan *plan, double from, double to);

/* The other way round: how many keys are in it when, after `from` keys, `kept` were found new. */
double tool_expected_keys(const bloomery_plan *plan, double from, double kept);

/* The number of keys with which the rate of a filter of this plan comes to `rate`. */
uint64_t tool_expected_full(const bloomery_plan *plan, double rate);

#endif /* BLOOMERY_TOOL_UNITS_DROP_ESTIMATE_H */

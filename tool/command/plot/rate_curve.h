/* SPDX-License-Identifier: Apache-2.0 */
/* The false-positive rate over the number of keys, of a plan or of a filter. All rates are the
 * library's. */
#ifndef BLOOMERY_TOOL_RATE_CURVE_H
#define BLOOMERY_TOOL_RATE_CURVE_H

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An even number, so that the planned keys are a point of a curve to twice as many. */
enum { TOOL_CURVE_POINTS = 128 };

struct tool_curve {
    const char *file;    /* NULL: a plan */
    const char *dialect; /* another system's name; NULL: ours */
    bloomery_kind kind;
    uint32_t blocks_per_key; /* these three of the first layer */
    uint32_t probes;
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys; /* 0: unknown */
    double planned_rate;
    bool has_now; /* it is a file; now_keys is infinite if all bits are set */
    double now_keys;
    double now_predicted;
    double now_live;
    uint64_t keys_max;
    size_t count;
    struct tool_curve_point {
        uint64_t keys; /* from 1 on, rising */
        double rate;
    } points[TOOL_CURVE_POINTS];
};

/* Of a solved plan, from 1 to `keys_max` keys; 0: to as many as are worth seeing. False after a
 * message: there is no curve. */
bool tool_curve_of_plan(const bloomery_plan *plan, uint64_t keys_max, struct tool_curve *curve);

/* Of a filter, which `file` names. */
bool tool_curve_of_filter(const char *file, const bloomery_filter *filter, uint64_t keys_max,
                          struct tool_curve *curve);

#endif /* BLOOMERY_TOOL_RATE_CURVE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Bloomery's own filters as structures of the experiment: nothing here that a user of the library
 * could not write. */
#include "exact_sets.h"

#include "portions.h"
#include "statistics.h"
#include "tool.h"

#include <assert.h>

struct filter_set {
    bloomery_filter *filter;
    bloomery_plan plan;
};

enum { BATCH = 4096 };

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    return tool_meter_allocate(context, bytes, alignment);
}

static void release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)alignment;
    tool_meter_release(context, memory, bytes);
}

/* The keys of the next batch as the library takes them. Returns how many. */
static size_t fill_batch(struct tool_digits keys, size_t from, bloomery_key *batch)
{
    size_t count = keys.count - from < BATCH ? keys.count - from : (size_t)BATCH;
    for (size_t i = 0; i < count; i++)
        batch[i] = bloomery_key_of(tool_key_at(keys, from + i), TOOL_DIGITS);
    return count;
}

static void filter_set_release(void *set, struct tool_meter *meter)
{
    struct filter_set *own = set;
    bloomery_free(own->filter);
    tool_meter_release(meter, own, sizeof(*own));
}

static bool fill_filter(bloomery_filter *filter, struct tool_digits keys)
{
    bloomery_key batch[BATCH];
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = fill_batch(keys, from, batch);
        if (bloomery_add_batch(filter, batch, count, NULL, NULL) != BLOOMERY_OK)
            return false;
    }
    return true;
}

static void *filter_set_make(bloomery_kind kind, struct tool_digits keys, double rate,
                             struct tool_meter *meter, bool *told)
{
    struct filter_set *own = tool_meter_allocate(meter, sizeof(*own), 64);
    if (own == NULL)
        return NULL;
    bloomery_options options = BLOOMERY_OPTIONS;
    options.allocator = (bloomery_allocator){allocate, release, meter};
    own->plan = (bloomery_plan){.kind = kind, .keys = keys.count, .rate = rate};
    bloomery_error error;
    if (bloomery_plan_solve(&own->plan, &options, &error) != BLOOMERY_OK ||
        bloomery_create(&own->plan, &options, &own->filter, &error) != BLOOMERY_OK) {
        tool_library_error(bloomery_kind_name((int)kind), &error);
        *told = true;
    } else if (!fill_filter(own->filter, keys)) {
        tool_error("%s: adding keys failed", bloomery_kind_name((int)kind));
        *told = true;
    }
    if (*told) {
        filter_set_release(own, meter);
        return NULL;
    }
    return own;
}

static void *blocked_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                          bool *told)
{
    return filter_set_make(BLOOMERY_BLOCKED, keys, rate, meter, told);
}

static void *classic_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                          bool *told)
{
    return filter_set_make(BLOOMERY_CLASSIC, keys, rate, meter, told);
}

static void filter_set_ask(const void *set, struct tool_digits keys, uint64_t *answers)
{
    const struct filter_set *own = set;
    bloomery_key batch[BATCH];
    _Static_assert(BATCH % 64 == 0, "batches begin at words of answers");
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = fill_batch(keys, from, batch);
        bloomery_may_contain_batch(own->filter, batch, count, answers + from / 64);
    }
}

static double filter_set_predicted(const void *set)
{
    const struct filter_set *own = set;
    return own->plan.rate;
}

static double filter_set_live(const void *set)
{
    const struct filter_set *own = set;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(own->filter, true, &info);
    return info.live_rate;
}

static double filter_set_allowed_factor(const void *set)
{
    const struct filter_set *own = set;
    return tool_allowed_factor(&own->plan, own->plan.keys);
}

const struct tool_structure tool_blocked_filter = {
    .name = "blocked",
    .title = "Bloomery, blocked",
    .exact = false,
    .asked_rate = true,
    .make = blocked_make,
    .release = filter_set_release,
    .ask = filter_set_ask,
    .predicted_rate = filter_set_predicted,
    .live_rate = filter_set_live,
    .allowed_factor = filter_set_allowed_factor,
};

const struct tool_structure tool_classic_filter = {
    .name = "classic",
    .title = "Bloomery, classic",
    .exact = false,
    .asked_rate = true,
    .make = classic_make,
    .release = filter_set_release,
    .ask = filter_set_ask,
    .predicted_rate = filter_set_predicted,
    .live_rate = filter_set_live,
    .allowed_factor = filter_set_allowed_factor,
};

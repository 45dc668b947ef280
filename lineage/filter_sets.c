/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery's own filters, and those of other systems, as structures of the experiment. A user of
 * the library could write everything here.
 *
 * The two of other systems are the ones that the original experiment compared, of the same sizes as
 * there and bit for bit the same. A JVM makes the same bytes of the same keys (jvm_sets.c).
 */
#include "filter_sets.h"

#include "base/statistics.h"
#include "experiment.h"
#include "portions.h"
#include "tool.h"

#include <bloomery/dialect.h>

#include <assert.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

struct filter_set {
    bloomery_filter *filter;
    bloomery_plan plan; /* of a filter of another system: its geometry */
    struct tool_filter_facts facts;
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
        const bloomery_keys list = bloomery_keys_of_list(batch, count);
        if (bloomery_add_keys(filter, &list, NULL, NULL, NULL) != BLOOMERY_OK)
            return false;
    }
    return true;
}

/* Prints why there is no such filter, or that filling it failed. */
static void *filter_set_begin(struct filter_set *own, const char *name, bloomery_status status,
                              const bloomery_error *error, struct tool_digits keys,
                              struct tool_meter *meter, bool *told)
{
    if (status != BLOOMERY_OK)
        *told = true, tool_library_error(name, error);
    else if (!fill_filter(own->filter, keys))
        *told = true, tool_error("%s: adding keys failed", name);
    if (!*told)
        return own;
    filter_set_release(own, meter);
    return NULL;
}

static void *filter_set_make(bloomery_kind kind, struct tool_digits keys, double rate,
                             struct tool_meter *meter, bool *told)
{
    struct filter_set *own = tool_meter_allocate(meter, sizeof(*own), 64);
    if (own == NULL)
        return NULL;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = (bloomery_allocator){allocate, release, meter, NULL};
    own->plan = (bloomery_plan){.kind = kind, .keys = keys.count, .rate = rate};
    bloomery_error error;
    bloomery_status status = bloomery_plan_solve(&own->plan, NULL, &error);
    if (status == BLOOMERY_OK)
        status = bloomery_create(&own->plan, &options, &own->filter, &error);
    return filter_set_begin(own, bloomery_kind_name((int)kind), status, &error, keys, meter, told);
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

void tool_filter_query(const bloomery_filter *filter, struct tool_digits keys, uint64_t *answers)
{
    bloomery_key batch[BATCH];
    _Static_assert(BATCH % 64 == 0, "batches begin at words of answers");
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = fill_batch(keys, from, batch);
        const bloomery_keys list = bloomery_keys_of_list(batch, count);
        bloomery_may_contain_keys(filter, &list, answers + from / 64, NULL, NULL);
    }
}

static void filter_set_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    const struct filter_set *own = set;
    tool_filter_query(own->filter, keys, answers);
}

static double filter_set_predicted(const void *set)
{
    const struct filter_set *own = set;
    return own->plan.planned_rate;
}

static double filter_set_live(const void *set)
{
    const struct filter_set *own = set;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_scan(own->filter, &scan);
    return scan.live_rate;
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
    .requested_rate = true,
    .make = blocked_make,
    .release = filter_set_release,
    .query = filter_set_query,
    .predicted_rate = filter_set_predicted,
    .live_rate = filter_set_live,
    .allowed_factor = filter_set_allowed_factor,
};

const struct tool_structure tool_classic_filter = {
    .name = "classic",
    .title = "Bloomery, classic",
    .exact = false,
    .requested_rate = true,
    .make = classic_make,
    .release = filter_set_release,
    .query = filter_set_query,
    .predicted_rate = filter_set_predicted,
    .live_rate = filter_set_live,
    .allowed_factor = filter_set_allowed_factor,
};

/* ---- Filters of other systems ---------------------------------------------------------------- */

struct sum {
    uint64_t bytes;
    uLong crc;
};

static int add_to_sum(void *context, const void *data, size_t bytes)
{
    struct sum *sum = context;
    sum->bytes += bytes;
    sum->crc = crc32_z(sum->crc, data, bytes);
    return 0;
}

void tool_filter_facts_get(const bloomery_filter *filter, struct tool_filter_facts *facts)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    struct sum sum = {0, crc32_z(0, NULL, 0)};
    bloomery_info_get(filter, &info);
    bloomery_scan(filter, &scan);
    *facts = (struct tool_filter_facts){
        .shape = {.kind = info.kind, .bits = info.bits, .probes = info.probes},
        /* Of the keys as estimated from its bits: nothing else knows its own way from hash to bits.
         * The estimate is within a hundredth even for a handful. */
        .predicted_rate = scan.expected_rate,
        .live_rate = scan.live_rate,
    };
    if (bloomery_dialect_write(filter, NULL, add_to_sum, &sum, NULL) != BLOOMERY_OK)
        return;
    facts->written_bytes = sum.bytes;
    facts->written_crc = (uint32_t)sum.crc;
}

void tool_filter_facts_tell(const struct tool_filter_facts *facts, struct tool_trial *trial)
{
    trial->bits = facts->shape.bits;
    trial->probes = facts->shape.probes;
    trial->written_bytes = facts->written_bytes;
    trial->written_crc = facts->written_crc;
}

static void *dialect_set_make(const char *name, const bloomery_dialect_parameters *parameters,
                              struct tool_digits keys, struct tool_meter *meter, bool *told)
{
    struct filter_set *own = tool_meter_allocate(meter, sizeof(*own), 64);
    if (own == NULL)
        return NULL;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = (bloomery_allocator){allocate, release, meter, NULL};
    own->plan.keys = keys.count;
    bloomery_error error;
    bloomery_status status = bloomery_dialect_create(bloomery_dialect_find(name), parameters,
                                                     &options, &own->filter, &error);
    return filter_set_begin(own, name, status, &error, keys, meter, told);
}

static void *guava_make(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    parameters.keys = keys.count;
    parameters.rate = rate;
    return dialect_set_make("guava", &parameters, keys, meter, told);
}

static void *sha384_make(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told)
{
    const bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    (void)rate;
    return dialect_set_make("sha384-slices", &parameters, keys, meter, told);
}

/* Its hash is libcrypto's. A filter of this size costs nothing before it is touched. */
static bool sha384_available(void)
{
    const bloomery_dialect *dialect = bloomery_dialect_find("sha384-slices");
    const bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    bool available = dialect != NULL && bloomery_dialect_create(dialect, &parameters, NULL, &filter,
                                                                NULL) != BLOOMERY_UNSUPPORTED;
    bloomery_free(filter);
    return available;
}

static int dialect_set_tell(void *set, struct tool_digits queries, const uint64_t *answers,
                            struct tool_trial *trial)
{
    struct filter_set *own = set;
    (void)queries;
    (void)answers;
    tool_filter_facts_get(own->filter, &own->facts);
    tool_filter_facts_tell(&own->facts, trial);
    return TOOL_FOUND;
}

static double dialect_set_predicted(const void *set)
{
    const struct filter_set *own = set;
    return own->facts.predicted_rate;
}

static double dialect_set_live(const void *set)
{
    const struct filter_set *own = set;
    return own->facts.live_rate;
}

static double dialect_set_allowed_factor(const void *set)
{
    const struct filter_set *own = set;
    return tool_allowed_factor(&own->facts.shape, own->plan.keys);
}

/*
 * The bits of a key lie in steps: position i is a + i b modulo m. Steps that return early, of a key
 * that was added or of one that is queried, make such keys alike. The predicted rate has what that
 * adds on average. With a handful of keys one filter has much more of it or nothing. It was up to
 * 0.25 k/m where it was measured (1 to 4,097 keys, rates of 0.6 to 1e-9). Many times that is
 * allowed, which is nothing if there are many keys.
 */
double tool_filter_steps_stray(const struct tool_filter_facts *facts)
{
    return fmin(1, 2.0 * facts->shape.probes / (double)facts->shape.bits);
}

static double guava_stray(const void *set)
{
    const struct filter_set *own = set;
    return tool_filter_steps_stray(&own->facts);
}

const struct tool_structure tool_guava_filter = {
    .name = "guava",
    .title = "Guava's filter, here",
    .exact = false,
    .requested_rate = true,
    .make = guava_make,
    .release = filter_set_release,
    .query = filter_set_query,
    .predicted_rate = dialect_set_predicted,
    .live_rate = dialect_set_live,
    .allowed_factor = dialect_set_allowed_factor,
    .stray = guava_stray,
    .tell = dialect_set_tell,
};

const struct tool_structure tool_sha384_filter = {
    .name = "sha384-slices",
    .title = "SHA-384 filter, here",
    .exact = false,
    .available = sha384_available,
    .make = sha384_make,
    .release = filter_set_release,
    .query = filter_set_query,
    .predicted_rate = dialect_set_predicted,
    .live_rate = dialect_set_live,
    .allowed_factor = dialect_set_allowed_factor,
    .tell = dialect_set_tell,
};

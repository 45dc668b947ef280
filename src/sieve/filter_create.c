/* SPDX-License-Identifier: Apache-2.0 */
/* An empty filter for the memory engine, within what the sieve may allocate. */
#include "sieve/filter_engine.h"

#include <bloomery/dialect.h>

#include "base/bytes.h"
#include "base/error.h"
#include "library.h"

uint64_t bloomery_filter_engine_limit(const bloomery_sieve *sieve)
{
    const uint64_t fixed = (uint64_t)4 * BLOOMERY_QUEUE_BUFFER +
                           3 * (uint64_t)sieve->settings.leases * BLOOMERY_LEASE_BYTES;
    if (sieve->memory == 0)
        return 0;
    const uint64_t rest = sieve->memory > fixed ? sieve->memory - fixed : 1;
    /* Without a directory the queue is in memory too: half of the rest. */
    return sieve->store.directory >= 0 ? rest : rest / 2 + 1;
}

bloomery_status bloomery_filter_engine_fits(const bloomery_sieve *sieve, uint64_t bytes,
                                            bloomery_error *error)
{
    const uint64_t limit = bloomery_filter_engine_limit(sieve);
    if (limit == 0 || bytes <= limit)
        return BLOOMERY_OK;
    const uint64_t fixed = sieve->memory > limit ? sieve->memory - limit : 0;
    const uint64_t least = (sieve->store.directory >= 0 ? bytes : 2 * bytes) + fixed + 65536;
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "the filter, planned for %llu keys, takes %llu bytes, the sieve at least %llu, "
        "not %llu; the disk engine takes less",
        (unsigned long long)sieve->settings.keys, (unsigned long long)bytes,
        (unsigned long long)least, (unsigned long long)sieve->memory);
}

uint64_t bloomery_filter_engine_bytes(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    return info.file_bytes;
}

static bloomery_status create_dialect(bloomery_sieve *sieve, const bloomery_create_options *options,
                                      bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    const bloomery_dialect *dialect = bloomery_dialect_find(settings->dialect);
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_hash hash;
    if (dialect == NULL || !dialect->creates)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "no filters of '%s' can be made",
                             settings->dialect);
    parameters.keys = settings->keys;
    parameters.rate = settings->rate;
    uint64_t bytes = 0;
    bloomery_status status =
        bloomery_dialect_create_bytes(dialect, &parameters, options, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_engine_fits(sieve, bytes, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_dialect_create(dialect, &parameters, options, &sieve->filter->filter, error);
    if (status == BLOOMERY_OK)
        sieve->filter->filter->of_our_file = true;
    if (status == BLOOMERY_OK && bloomery_hash_key(sieve->filter->filter, bloomery_key_of("", 0),
                                                   &hash, NULL) != BLOOMERY_OK)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of '%s' have positions and no hashes, which a sieve needs",
                             settings->dialect);
    return status == BLOOMERY_OK
               ? bloomery_filter_engine_fits(
                     sieve, bloomery_filter_engine_bytes(sieve->filter->filter), error)
               : status;
}

bloomery_status bloomery_filter_engine_create(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = sieve->allocator;
    options.memory_limit = bloomery_filter_engine_limit(sieve);
    if (settings->dialect[0] != '\0')
        return create_dialect(sieve, &options, error);
    options.seed = bloomery_load_u64(settings->secret);
    bloomery_plan plan = {
        .kind = settings->full == BLOOMERY_SIEVE_GROW ? BLOOMERY_SCALABLE : BLOOMERY_BLOCKED,
        .keys = settings->keys,
        .rate = settings->rate,
    };
    bloomery_status status = bloomery_plan_solve(&plan, NULL, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_engine_fits(sieve, plan.planned_bytes, error);
    return status == BLOOMERY_OK ? bloomery_create(&plan, &options, &sieve->filter->filter, error)
                                 : status;
}

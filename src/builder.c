/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building static filters: keys -> hash/ -> hashes -> builder/spool.c -> builder/assemble.c -> a
 * filter, or straight a file.
 */
#include <bloomery/builder.h>

#include "library.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/versioned.h"
#include "builder/assemble.h"
#include "kernels/input.h"
#include "plan/solve.h"

#include <string.h>

static const uint64_t memory_default = (uint64_t)1 << 30;
static const uint64_t memory_min = (uint64_t)16 << 20;
/* Of the memory: for sorting and solving, beside the hashes that wait. */
static const uint64_t work_min = (uint64_t)8 << 20;

enum {
    OPTIONS_BYTES_FIRST = sizeof(bloomery_builder_options),
    HASH_AT_ONCE = 1024,
    THREADS_MAX = 64,
};

struct bloomery_builder {
    /* A filter of no keys: it hashes, and has what the result will have beside its bits. */
    bloomery_filter *empty;
    bloomery_allocator allocator;
    bloomery_builder_options options;
    char *directory; /* or NULL; of `own_bytes` */
    size_t own_bytes;
    struct bloomery_pool pool;
    struct bloomery_spool spool;
    double rate;
    bool finished;
    struct bloomery_lock *lock; /* for the failure */
    bool failed;                /* atomic */
    bloomery_error failure;
};

/* ---- Opening --------------------------------------------------------------------------------- */

static bloomery_status read_options(const bloomery_builder_options *given,
                                    bloomery_builder_options *options, bloomery_error *error)
{
    bloomery_status status = bloomery_versioned_read(
        given, OPTIONS_BYTES_FIRST, options, sizeof *options, "BLOOMERY_BUILDER_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(options->reserved, sizeof options->reserved, error);
    if (status != BLOOMERY_OK)
        return status;
    if (options->memory == 0) {
        /* Half of the room stays for the filter. */
        bloomery_limits limits = BLOOMERY_LIMITS;
        bloomery_limits_get(&limits);
        options->memory = limits.room / 2 >= memory_default ? memory_default
                          : limits.room / 2 > memory_min    ? limits.room / 2
                                                            : memory_min;
    }
    if (options->memory < memory_min)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a builder needs at least 16 MiB of memory, not %llu bytes",
                             (unsigned long long)options->memory);
    status = bloomery_threads_check(options->threads, error);
    if (status != BLOOMERY_OK)
        return status;
    if (options->threads == 0)
        options->threads = BLOOMERY_THREADS_ALL;
    options->threads = bloomery_threads_of(options->threads);
    if (options->threads > THREADS_MAX)
        options->threads = THREADS_MAX;
    return BLOOMERY_OK;
}

/* The caller's plan. What is read of it are its hash and its rate: the one that was asked for, for
 * which columns are chosen, else what the memory has room for. */
static bloomery_status read_plan(const bloomery_plan *given, bloomery_plan *plan,
                                 bloomery_error *error)
{
    const bloomery_status status = bloomery_plan_settle(given, BLOOMERY_STATIC, plan, error);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_kind_row((uint32_t)plan->kind)->adds)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a builder makes static filters; one of another kind is created "
                             "empty: bloomery_create");
    if (plan->rate == 0)
        plan->rate = plan->planned_rate;
    return BLOOMERY_OK;
}

/* The filter of no keys. */
static bloomery_status make_empty(const bloomery_plan *plan, const bloomery_create_options *options,
                                  bloomery_filter **empty, bloomery_error *error)
{
    struct bloomery_layer layer = {.ribbon = bloomery_ribbon_for(0, plan->rate)};
    struct bloomery_shape shape = {.kind = BLOOMERY_STATIC,
                                   .kind_row = bloomery_kind_row(BLOOMERY_STATIC),
                                   .cell_bits = 1,
                                   .layer_count = 1,
                                   .layers = &layer};
    struct bloomery_traits traits = {.allocator = options->allocator,
                                     .rule = options->rule,
                                     .note = options->note,
                                     .note_bytes = options->note ? strlen(options->note) : 0};
    struct bloomery_checked_shape checked;
    uint64_t bytes = 0;
    layer.bits = bloomery_ribbon_blocks(&layer.ribbon) * BLOOMERY_RIBBON_WIDTH;
    layer.probes = layer.ribbon.columns + 1U;
    bloomery_status status =
        bloomery_choose_hash(plan, BLOOMERY_HASH_XXH3_128, options, &shape, &traits, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_lay_out(&shape, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&shape, bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, NULL, empty, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    return status;
}

static bloomery_status no_memory(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory for a builder");
}

static bloomery_builder *allocate_builder(const bloomery_allocator *allocator,
                                          const bloomery_builder_options *options)
{
    const size_t path = options->directory != NULL ? strlen(options->directory) + 1 : 0;
    bloomery_builder *builder = bloomery_allocate(allocator, sizeof *builder + path, 64);
    if (builder == NULL)
        return NULL;
    builder->own_bytes = sizeof *builder + path;
    builder->allocator = *allocator;
    builder->options = *options;
    builder->pool.file = -1;
    if (path > 0)
        builder->directory = memcpy(builder + 1, options->directory, path);
    builder->options.directory = builder->directory;
    return builder;
}

bloomery_status bloomery_builder_open(const bloomery_plan *given_plan,
                                      const bloomery_create_options *given,
                                      const bloomery_builder_options *given_builder,
                                      bloomery_builder **opened, bloomery_error *error)
{
    bloomery_create_options options;
    bloomery_builder_options builder_options;
    bloomery_plan plan;
    *opened = NULL;
    bloomery_status status = bloomery_create_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status = read_options(given_builder, &builder_options, error);
    if (status == BLOOMERY_OK)
        status = read_plan(given_plan, &plan, error);
    if (status == BLOOMERY_OK) {
        if (!(plan.rate >= BLOOMERY_RATE_MIN && plan.rate < 1))
            status =
                bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                              "a rate must be at least 1e-15 and below 1: set `rate` of the plan");
        else if (plan.hash == BLOOMERY_HASH_XXH3_64)
            status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                   "a static filter needs a hash of 128 bits: XXH3-128 or SipHash");
        else if (options.concurrent_adds || options.memory_limit != 0)
            status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                   "concurrent_adds and memory_limit are not for static filters");
    }
    if (status != BLOOMERY_OK)
        return status;
    if (builder_options.directory != NULL) {
        /* Before the long work: can hashes wait there? */
        int file = -1;
        status = bloomery_scratch_open(builder_options.directory, &file, error);
        if (status == BLOOMERY_OK)
            bloomery_scratch_close(file);
    }
    if (status != BLOOMERY_OK)
        return status;
    bloomery_builder *builder = allocate_builder(&options.allocator, &builder_options);
    if (builder == NULL)
        return no_memory(error);
    const uint64_t memory = builder_options.memory;
    builder->rate = plan.rate;
    status = make_empty(&plan, &options, &builder->empty, error);
    if (status == BLOOMERY_OK &&
        ((builder->lock = bloomery_locks_make(&builder->allocator, 1)) == NULL ||
         !bloomery_pool_start(&builder->pool, &builder->allocator, builder->directory,
                              memory - memory / 8 - work_min) ||
         !bloomery_spool_start(&builder->spool, &builder->pool, 0)))
        status = no_memory(error);
    if (status != BLOOMERY_OK) {
        bloomery_builder_free(builder);
        return status;
    }
    *opened = builder;
    return BLOOMERY_OK;
}

void bloomery_builder_free(bloomery_builder *builder)
{
    if (builder == NULL)
        return;
    const bloomery_allocator allocator = builder->allocator;
    if (builder->spool.locks != NULL)
        bloomery_spool_end(&builder->spool);
    if (builder->pool.lock != NULL)
        bloomery_pool_end(&builder->pool);
    bloomery_locks_free(&allocator, builder->lock, 1);
    bloomery_free(builder->empty);
    bloomery_release(&allocator, builder, builder->own_bytes, 64);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* What failed once fails again: keys may be missing. */
static bloomery_status check_builder(bloomery_builder *builder, bloomery_error *error)
{
    if (builder->finished)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the builder has made its filter: open another one");
    if (!__atomic_load_n(&builder->failed, __ATOMIC_ACQUIRE))
        return BLOOMERY_OK;
    return bloomery_fail(error, builder->failure.status, 0, "%s", builder->failure.text);
}

static bloomery_status add_keys(bloomery_builder *builder, const struct bloomery_input *keys,
                                size_t count, bloomery_error *error)
{
    bloomery_hash hashes[HASH_AT_ONCE];
    bloomery_error failure = {.status = BLOOMERY_OK};
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, builder->empty);
    bloomery_status status = check_builder(builder, error);
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i += HASH_AT_ONCE) {
        const size_t now = count - i < HASH_AT_ONCE ? count - i : HASH_AT_ONCE;
        hash_keys(keys, builder->empty, i, now, hashes);
        if (bloomery_spool_add(&builder->spool, hashes, now, &failure) != BLOOMERY_OK) {
            bloomery_lock(builder->lock);
            if (!builder->failed) {
                builder->failure = failure;
                __atomic_store_n(&builder->failed, true, __ATOMIC_RELEASE);
            }
            bloomery_unlock(builder->lock);
            if (error != NULL)
                *error = failure;
            status = failure.status;
        }
    }
    return status;
}

bloomery_status bloomery_builder_add(bloomery_builder *builder, const bloomery_keys *keys,
                                     bloomery_error *error)
{
    struct bloomery_input input;
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    bloomery_status status = bloomery_keys_read(builder->empty, keys, &input, error);
    if (status != BLOOMERY_OK || input.valid == NULL)
        return status == BLOOMERY_OK ? add_keys(builder, &input, keys->count, error) : status;
    for (size_t i = 0; i < keys->count && status == BLOOMERY_OK; i += BLOOMERY_COMPACT) {
        const size_t left = keys->count - i;
        const size_t kept = bloomery_input_compact(
            &input, builder->empty, i, left < BLOOMERY_COMPACT ? left : BLOOMERY_COMPACT, &compact);
        status = add_keys(builder, &list, kept, error);
    }
    return status;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

/* Builds all layers, in memory or in `file`. */
static bloomery_status assemble(bloomery_builder *builder, int file,
                                struct bloomery_assembly *assembly, bloomery_error *error)
{
    *assembly = (struct bloomery_assembly){
        .allocator = &builder->allocator,
        .memory = builder->options.memory,
        .threads = builder->options.threads,
        .unchecked = builder->options.unchecked,
        .rate = builder->rate,
        .progress = builder->options.progress,
        .progress_context = builder->options.progress_context,
        .file = file,
    };
    bloomery_status status = check_builder(builder, error);
    if (status != BLOOMERY_OK)
        return status;
    builder->finished = true;
    status = bloomery_assemble(assembly, &builder->spool, error);
    bloomery_pool_end(&builder->pool); /* nothing waits any more */
    return status;
}

/* The filter of these layers, over `payload` or memory of its own. */
static bloomery_status make_filter(const bloomery_builder *builder,
                                   struct bloomery_assembly *assembly, const uint8_t *payload,
                                   bloomery_filter **filter, bloomery_error *error)
{
    struct bloomery_shape shape = builder->empty->shape;
    struct bloomery_traits traits = bloomery_traits_of(builder->empty);
    struct bloomery_checked_shape checked;
    shape.layers = assembly->layers;
    shape.layer_count = assembly->layer_count;
    bloomery_status status = bloomery_shape_check(&shape, assembly->payload_bytes, &checked, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(checked, &traits, payload, filter, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    return status;
}

bloomery_status bloomery_builder_finish(bloomery_builder *builder, const bloomery_filter **filter,
                                        bloomery_error *error)
{
    struct bloomery_assembly assembly;
    bloomery_filter *made = NULL;
    *filter = NULL;
    bloomery_status status = assemble(builder, -1, &assembly, error);
    if (status == BLOOMERY_OK)
        status = make_filter(builder, &assembly, NULL, &made, error);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < assembly.layer_count; i++)
        memcpy(made->layers[i].payload, assembly.layers[i].payload,
               (size_t)assembly.layers[i].bytes);
    bloomery_assembly_free(&assembly);
    *filter = made;
    return status;
}

/* bloomery_spans over a temporary file. */
static const uint8_t *file_spans(void *context, uint64_t at, size_t bytes, uint8_t *room)
{
    const int *file = context;
    return bloomery_scratch_read(*file, at, room, bytes) == 0 ? room : NULL;
}

static bloomery_status save_by_file(bloomery_builder *builder, const char *path,
                                    bloomery_error *error)
{
    struct bloomery_assembly assembly = {.layer_count = 0};
    bloomery_filter *filter = NULL;
    int file = -1;
    bloomery_status status = bloomery_scratch_open(builder->directory, &file, error);
    if (status != BLOOMERY_OK)
        return status;
    status = assemble(builder, file, &assembly, error);
    if (status == BLOOMERY_OK)
        status = bloomery_scratch_resize(file, assembly.payload_bytes, builder->directory, error);
    /* The filter's own payload is not looked at: any address does. */
    if (status == BLOOMERY_OK)
        status =
            make_filter(builder, &assembly, bloomery_payload_of(builder->empty), &filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_save_spans(filter, file_spans, &file, path, error);
    bloomery_free(filter);
    bloomery_scratch_close(file);
    return status;
}

bloomery_status bloomery_builder_save(bloomery_builder *builder, const char *path,
                                      bloomery_error *error)
{
    const bloomery_filter *filter = NULL;
    /* Before the long work: can a file be made there? */
    struct bloomery_replacement replacement;
    bloomery_status status = bloomery_replacement_begin(&replacement, path, 0600, error);
    if (status == BLOOMERY_OK)
        bloomery_replacement_abandon(&replacement);
    if (status == BLOOMERY_OK && builder->directory != NULL)
        return save_by_file(builder, path, error);
    if (status == BLOOMERY_OK)
        status = bloomery_builder_finish(builder, &filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_save(filter, path, error);
    bloomery_free(filter);
    return status;
}

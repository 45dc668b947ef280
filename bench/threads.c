/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread beside several. Integer keys at 1e-2, made before the clock starts; wall-clock time.
 *
 *     build       bloomery_add_keys of a whole filter, with threads
 *     query       each thread looks up its own part of the keys
 *     separate    each thread adds its own part of the keys, in one batch, to a filter of its own,
 *                 of the same size. They share nothing but the memory: what a build could be at
 *                 best
 */
#include "bench.h"

#include "kinds/derive.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS_MAX = 64, PARTS_MAX = 25 };

struct key_set {
    uint64_t *numbers;
    bloomery_key *keys;
    uint64_t count;
};

static void *map(uint64_t bytes)
{
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("no memory for %" PRIu64 " bytes of keys", bytes);
    madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
    return memory;
}

static struct key_set key_set_make(uint64_t first, uint64_t count)
{
    struct key_set set = {map(count * sizeof *set.numbers), map(count * sizeof *set.keys), count};
    for (uint64_t i = 0; i < count; i++) {
        set.numbers[i] = bloomery_mix64(first + i);
        set.keys[i] = bloomery_key_of(&set.numbers[i], sizeof *set.numbers);
    }
    return set;
}

static void key_set_free(struct key_set *set)
{
    munmap(set->numbers, (size_t)(set->count * sizeof *set->numbers));
    munmap(set->keys, (size_t)(set->count * sizeof *set->keys));
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    bloomery_filter *filter;
    bool adds;
    const bloomery_key *keys;
    uint64_t count;
    uint64_t found;
    double begin;
    double end;
};

static void *work(void *context)
{
    struct worker *worker = context;
    const bloomery_keys keys = bloomery_keys_of_list(worker->keys, (size_t)worker->count);
    bloomery_counts counts;
    bloomery_error error;
    pthread_barrier_wait(worker->start);
    worker->begin = bench_seconds();
    const bloomery_status status =
        worker->adds ? bloomery_add_keys(worker->filter, &keys, NULL, &counts, &error)
                     : bloomery_may_contain_keys(worker->filter, &keys, NULL, &counts, &error);
    worker->end = bench_seconds();
    if (status != BLOOMERY_OK)
        bench_fail("%s", error.text);
    worker->found = counts.positive;
    return NULL;
}

/* Nanoseconds a key from first start to last end: all query filters[0], or each adds to its own. */
static double run(bloomery_filter *const *filters, bool adds, const struct key_set *set,
                  uint32_t threads, uint64_t *found)
{
    struct worker workers[THREADS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads);
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t from = set->count / threads * i;
        uint64_t to = i + 1 == threads ? set->count : set->count / threads * (i + 1);
        workers[i] = (struct worker){.start = &start,
                                     .filter = filters[adds ? i : 0],
                                     .adds = adds,
                                     .keys = set->keys + from,
                                     .count = to - from};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            bench_fail("no thread");
    }
    double begin = 0;
    double end = 0;
    *found = 0;
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        begin = i == 0 || workers[i].begin < begin ? workers[i].begin : begin;
        end = workers[i].end > end ? workers[i].end : end;
        *found += workers[i].found;
    }
    pthread_barrier_destroy(&start);
    return (end - begin) * 1e9 / (double)set->count;
}

static double separate(bloomery_filter *const *filters, const struct key_set *set, uint32_t threads)
{
    uint64_t found;
    for (uint32_t i = 0; i < threads; i++)
        bench_clear(filters[i]);
    return run(filters, true, set, threads, &found);
}

static double build(bloomery_filter *filter, const struct key_set *set, uint32_t threads)
{
    bloomery_keys keys = bloomery_keys_of_list(set->keys, (size_t)set->count);
    bloomery_error error;
    keys.threads = threads;
    bench_clear(filter);
    double begin = bench_seconds();
    if (bloomery_add_keys(filter, &keys, NULL, NULL, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return (bench_seconds() - begin) * 1e9 / (double)set->count;
}

static void write_row(FILE *json, const char *separator, const char *operation, uint64_t keys,
                      uint32_t threads, const double *ns, uint32_t parts)
{
    printf("%-8s %11" PRIu64 " keys, %2u threads: %6.2f ns per key\n", operation, keys, threads,
           bench_median(ns, parts));
    fflush(stdout);
    if (json == NULL)
        return;
    fprintf(json, "%s\n{\"operation\": \"%s\", \"keys\": %" PRIu64 ", \"threads\": %u, \"ns\": [",
            separator, operation, keys, threads);
    for (uint32_t part = 0; part < parts; part++)
        fprintf(json, "%s%.4f", part == 0 ? "" : ", ", ns[part]);
    fputs("]}", json);
}

enum { BUILD, SEPARATE, QUERY, OPERATIONS };

static const char *const operation_names[OPERATIONS] = {"build", "separate", "query"};

/* [0]: one thread, [1]: several. */
static double times[OPERATIONS][2][PARTS_MAX];

static void measure_adds(bloomery_filter *const *filters, uint64_t keys, const uint32_t *threads,
                         uint32_t parts)
{
    struct key_set members = key_set_make(0, keys);
    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t which = (i + part) % 2;
            times[SEPARATE][which][part] = separate(filters, &members, threads[which]);
            times[BUILD][which][part] = build(filters[0], &members, threads[which]);
        }
    key_set_free(&members);
}

static void measure_queries(bloomery_filter *const *filters, uint64_t keys, const uint32_t *threads,
                            uint32_t parts)
{
    const uint64_t queried = keys < 20000000 ? keys : 20000000;
    uint64_t found[2] = {0, 0};
    struct key_set others = key_set_make(keys, queried);
    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t which = (i + part) % 2;
            times[QUERY][which][part] = run(filters, false, &others, threads[which], &found[which]);
        }
    if (found[0] != found[1])
        bench_fail("threads found %" PRIu64 " and %" PRIu64, found[0], found[1]);
    key_set_free(&others);
}

void bench_threads(FILE *json, uint64_t keys, uint32_t threads, uint32_t parts)
{
    const struct bench_case wanted = {BENCH_INTEGERS, keys, 0.01};
    const uint32_t numbers[2] = {1, threads};
    bloomery_filter *filters[THREADS_MAX];
    bloomery_plan plan;
    if (threads < 1 || threads > THREADS_MAX)
        bench_fail("1 to %d threads", THREADS_MAX);
    for (uint32_t i = 0; i < threads; i++)
        filters[i] = bench_filter_make(&wanted, BLOOMERY_BLOCKED, 1, &plan);
    measure_adds(filters, keys, numbers, parts);
    measure_queries(filters, keys, numbers, parts);
    const char *separator = "";
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (uint32_t which = 0; which < 2; which++) {
            write_row(json, separator, operation_names[operation], keys, numbers[which],
                      times[operation][which], parts);
            separator = ",";
        }
    for (uint32_t i = 0; i < threads; i++)
        bloomery_free(filters[i]);
}

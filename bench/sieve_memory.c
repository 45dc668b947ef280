/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory engine: 12-digit IDs in batches of 1024, made before the clock starts, by one thread
 * and by several, each with its own part of the keys: all of them new, then all of them seen, then
 * taken out of the queue. Beside it the filters that it is made of, without queue and lock, and a
 * hash set of strings; all at the engine's rate, each made afresh for each part, so that the first
 * touch of its memory is in the time of what is new.
 */
#include "sieve.h"
#include "sieve_set.h"

#include <bloomery/sieve.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, THREADS_MAX = 16, PARTS_MAX = 25, POPPED = 1024 };

enum what { NEW_KEYS, SEEN_KEYS, TAKEN, WHATS };

static const char *const what_names[WHATS] = {"new", "seen", "pop and ack"};

struct job;

struct contestant {
    const char *name;
    bool one_thread; /* only */
    void (*make)(struct job *job);
    void (*free)(struct job *job);
    /* Pushes keys; how many were new. */
    uint64_t (*push)(struct job *job, const bloomery_key *keys, size_t count);
    uint64_t (*bytes)(struct job *job);
    uint64_t (*empty)(struct job *job); /* NULL: has no queue */
};

struct job {
    const struct contestant *contestant;
    uint64_t count;
    uint32_t threads;
    const bloomery_key *keys;
    bloomery_sieve *sieve;
    bloomery_filter *filter;
    struct sieve_set set;
    uint64_t bytes;
    uint64_t found[WHATS];
    double ns[WHATS][PARTS_MAX];
};

/* ---- Contestants ----------------------------------------------------------------------------- */

static const double rate = 1e-6;

static void sieve_make(struct job *job)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_error error;
    options.engine = BLOOMERY_SIEVE_MEMORY;
    options.keys = job->count;
    options.rate = rate;
    options.leases = POPPED;
    if (bloomery_sieve_open(&options, &job->sieve, &error) != BLOOMERY_OK)
        sieve_fail("%s", error.text);
}

static void sieve_free(struct job *job)
{
    bloomery_sieve_close(job->sieve, NULL);
}

static uint64_t sieve_push(struct job *job, const bloomery_key *keys, size_t count)
{
    uint8_t results[BATCH];
    uint64_t found = 0;
    bloomery_error error;
    if (bloomery_sieve_push(job->sieve, keys, NULL, count, BLOOMERY_SIEVE_PUSH, results, NULL,
                            &error) != BLOOMERY_OK)
        sieve_fail("%s", error.text);
    for (size_t i = 0; i < count; i++)
        found += results[i] == BLOOMERY_SIEVE_NEW;
    return found;
}

static uint64_t sieve_bytes(struct job *job)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(job->sieve, &info);
    return info.memory;
}

static uint64_t sieve_empty(struct job *job)
{
    static bloomery_sieve_item items[POPPED];
    uint64_t numbers[POPPED];
    uint64_t taken = 0;
    bloomery_error error;
    for (size_t count = 1; count > 0; taken += count) {
        if (bloomery_sieve_pop(job->sieve, items, POPPED, BLOOMERY_SIEVE_POP, &count, &error) !=
            BLOOMERY_OK)
            sieve_fail("%s", error.text);
        for (size_t i = 0; i < count; i++)
            numbers[i] = items[i].number;
        if (bloomery_sieve_finish(job->sieve, numbers, count, BLOOMERY_SIEVE_DONE, NULL, &error) !=
            BLOOMERY_OK)
            sieve_fail("%s", error.text);
    }
    return taken;
}

static void filter_of(struct job *job, bloomery_kind kind, bool concurrent)
{
    bloomery_plan plan = {.kind = kind, .keys = job->count, .rate = rate};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_error error;
    options.concurrent_adds = concurrent;
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK ||
        bloomery_create(&plan, &options, &job->filter, &error) != BLOOMERY_OK)
        sieve_fail("%s", error.text);
}

static void blocked_make(struct job *job)
{
    filter_of(job, BLOOMERY_BLOCKED, job->threads > 1);
}

static void scalable_make(struct job *job)
{
    filter_of(job, BLOOMERY_SCALABLE, job->threads > 1);
}

static void filter_free(struct job *job)
{
    bloomery_free(job->filter);
}

static uint64_t filter_push(struct job *job, const bloomery_key *keys, size_t count)
{
    const bloomery_keys list = bloomery_keys_of_list(keys, count);
    bloomery_counts counts;
    bloomery_error error;
    if (bloomery_add_keys(job->filter, &list, NULL, &counts, &error) != BLOOMERY_OK)
        sieve_fail("%s", error.text);
    return counts.positive;
}

static uint64_t filter_bytes(struct job *job)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(job->filter, &info);
    return info.bytes;
}

static void set_make(struct job *job)
{
    sieve_set_make(&job->set, 1 << 16);
}

static void set_free(struct job *job)
{
    sieve_set_free(&job->set);
}

static uint64_t set_push(struct job *job, const bloomery_key *keys, size_t count)
{
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += sieve_set_add(&job->set, keys[i]);
    return found;
}

static uint64_t set_bytes(struct job *job)
{
    return sieve_set_bytes(&job->set);
}

static const struct contestant contestants[] = {
    {"sieve, memory engine", false, sieve_make, sieve_free, sieve_push, sieve_bytes, sieve_empty},
    {"filter, blocked", false, blocked_make, filter_free, filter_push, filter_bytes, NULL},
    {"filter, scalable", false, scalable_make, filter_free, filter_push, filter_bytes, NULL},
    {"hash set of strings", true, set_make, set_free, set_push, set_bytes, NULL},
};

enum { CONTESTANTS = sizeof contestants / sizeof *contestants };

/* ---- Threads --------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct job *job;
    const bloomery_key *keys;
    uint64_t count;
    uint64_t found;
    double begin;
    double end;
};

static void *work(void *context)
{
    struct worker *worker = context;
    pthread_barrier_wait(worker->start);
    worker->begin = sieve_seconds();
    for (uint64_t done = 0; done < worker->count; done += BATCH) {
        const size_t now = worker->count - done < BATCH ? (size_t)(worker->count - done) : BATCH;
        worker->found += worker->job->contestant->push(worker->job, worker->keys + done, now);
    }
    worker->end = sieve_seconds();
    return NULL;
}

/* Pushes all keys; nanoseconds a key from the first start to the last end. */
static double push_all(struct job *job, uint64_t *found)
{
    struct worker workers[THREADS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, job->threads);
    for (uint32_t i = 0; i < job->threads; i++) {
        const uint64_t from = job->count / job->threads * i;
        const uint64_t to =
            i + 1 == job->threads ? job->count : job->count / job->threads * (i + 1);
        workers[i] = (struct worker){
            .start = &start, .job = job, .keys = job->keys + from, .count = to - from};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            sieve_fail("no thread");
    }
    double begin = 0;
    double end = 0;
    *found = 0;
    for (uint32_t i = 0; i < job->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        begin = i == 0 || workers[i].begin < begin ? workers[i].begin : begin;
        end = workers[i].end > end ? workers[i].end : end;
        *found += workers[i].found;
    }
    pthread_barrier_destroy(&start);
    return (end - begin) * 1e9 / (double)job->count;
}

static void run_part(struct job *job, uint32_t part)
{
    job->contestant->make(job);
    job->ns[NEW_KEYS][part] = push_all(job, &job->found[NEW_KEYS]);
    job->bytes = job->contestant->bytes(job);
    job->ns[SEEN_KEYS][part] = push_all(job, &job->found[SEEN_KEYS]);
    if (job->contestant->empty != NULL) {
        const double begin = sieve_seconds();
        job->found[TAKEN] = job->contestant->empty(job);
        job->ns[TAKEN][part] = (sieve_seconds() - begin) * 1e9 / (double)job->count;
    }
    job->contestant->free(job);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(const double *values, uint32_t count)
{
    double sorted[PARTS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[count / 2];
}

/* Whether it lost keys: what it calls seen though it was new is a wrong drop, and nothing seen may
 * be new. */
static bool right(const struct job *job)
{
    const double wrong = (double)(job->count - job->found[NEW_KEYS]);
    const double expected = (double)job->count * rate;
    return job->found[SEEN_KEYS] == 0 && wrong <= 20 + 5 * expected &&
           (job->contestant->empty == NULL || job->found[TAKEN] == job->found[NEW_KEYS]);
}

static void write_rows(FILE *json, const struct job *job, uint32_t parts, bool first)
{
    for (int what = 0; what < WHATS; what++) {
        if (what == TAKEN && job->contestant->empty == NULL)
            continue;
        printf("%-21s %u thread%s %-12s %7.2f ns a key, %7.2f M/s\n", job->contestant->name,
               job->threads, job->threads == 1 ? ", " : "s,", what_names[what],
               median(job->ns[what], parts), 1e3 / median(job->ns[what], parts));
        if (json == NULL)
            continue;
        fprintf(json,
                "%s{\"name\": \"%s\", \"what\": \"%s\", \"threads\": %u, \"keys\": %" PRIu64
                ", \"found\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"ns\": [",
                first && what == 0 ? "" : ",\n", job->contestant->name, what_names[what],
                job->threads, job->count, job->found[what], job->bytes);
        for (uint32_t part = 0; part < parts; part++)
            fprintf(json, "%s%.4f", part == 0 ? "" : ", ", job->ns[what][part]);
        fputs("]}", json);
    }
    fflush(stdout);
}

int sieve_memory(int argc, char **argv)
{
    static const char *const names[] = {"=--keys", "=--threads", "=--parts", "=--json", NULL};
    sieve_check_arguments(argc, argv, names);
    const uint64_t count = sieve_number(sieve_option(argc, argv, "--keys", "20M"));
    const uint32_t threads = (uint32_t)sieve_number(sieve_option(argc, argv, "--threads", "2"));
    const uint32_t parts = (uint32_t)sieve_number(sieve_option(argc, argv, "--parts", "5"));
    if (count < 1 || threads < 1 || threads > THREADS_MAX || parts < 1 || parts > PARTS_MAX)
        sieve_fail("at least one key, 1 to %d threads, 1 to %d parts", THREADS_MAX, PARTS_MAX);
    char *text = malloc((size_t)count * SIEVE_ID_BYTES);
    bloomery_key *keys = malloc((size_t)count * sizeof *keys);
    static struct job jobs[2 * CONTESTANTS];
    size_t entrants = 0;
    if (text == NULL || keys == NULL)
        sieve_fail("no memory for %" PRIu64 " keys", count);
    for (uint64_t i = 0; i < count; i++) {
        sieve_id(i, text + i * SIEVE_ID_BYTES);
        keys[i] = bloomery_key_of(text + i * SIEVE_ID_BYTES, SIEVE_ID_BYTES);
    }
    for (int i = 0; i < CONTESTANTS; i++)
        for (uint32_t many = 0; many < (contestants[i].one_thread || threads == 1 ? 1 : 2); many++)
            jobs[entrants++] = (struct job){.contestant = &contestants[i],
                                            .count = count,
                                            .threads = many == 0 ? 1 : threads,
                                            .keys = keys};
    for (uint32_t part = 0; part < parts; part++)
        for (size_t i = 0; i < entrants; i++)
            run_part(&jobs[(i + part) % entrants], part);
    FILE *json = sieve_json(argc, argv);
    int failed = 0;
    if (json != NULL)
        fputs("[", json);
    for (size_t i = 0; i < entrants; i++) {
        write_rows(json, &jobs[i], parts, i == 0);
        if (!right(&jobs[i])) {
            fprintf(stderr, "sieve: %s lost keys, or found them new again\n",
                    jobs[i].contestant->name);
            failed = 1;
        }
    }
    if (json != NULL) {
        fputs("]\n", json);
        fclose(json);
    }
    free(keys);
    free(text);
    return failed;
}

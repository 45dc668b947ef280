/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads add to one filter and query it, at the same time and without a lock of their own.
 *
 *     threads THREADS
 *
 * Each thread adds its share of a million numbers, and then looks for all of them. A key that two
 * threads add at the same moment may be new to both; none is lost.
 *
 * Introduces: concurrent_adds, bloomery_add from threads, integers as keys.
 */
#include <bloomery/bloomery.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 1000000, THREADS_MAX = 64 };

struct job {
    bloomery_filter *filter;
    pthread_barrier_t *all_added;
    uint64_t from, to;
    uint64_t added, found;
};

static void *work(void *context)
{
    struct job *job = context;
    for (uint64_t number = job->from; number < job->to; number++)
        job->added += bloomery_add(job->filter, bloomery_key_of(&number, sizeof(number)), NULL);
    pthread_barrier_wait(job->all_added);
    for (uint64_t number = 0; number < KEYS; number++)
        job->found += bloomery_may_contain(job->filter, bloomery_key_of(&number, sizeof(number)));
    return NULL;
}

int main(int argc, char **argv)
{
    const int count = argc == 2 ? atoi(argv[1]) : 0;
    bloomery_plan plan = {.keys = KEYS, .rate = 1e-6};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    pthread_t threads[THREADS_MAX];
    struct job jobs[THREADS_MAX];
    pthread_barrier_t all_added;
    uint64_t added = 0, found = 0;

    if (count < 1 || count > THREADS_MAX) {
        fprintf(stderr, "usage: threads THREADS, 1 to %d\n", THREADS_MAX);
        return 2;
    }
    options.concurrent_adds = true;
    if (bloomery_create(&plan, &options, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "threads: %s\n", error.text);
        return 2;
    }
    if (pthread_barrier_init(&all_added, NULL, (unsigned)count) != 0) {
        fputs("threads: no barrier\n", stderr);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){filter,
                               &all_added,
                               (uint64_t)KEYS * (uint64_t)i / (uint64_t)count,
                               (uint64_t)KEYS * (uint64_t)(i + 1) / (uint64_t)count,
                               0,
                               0};
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) {
            fputs("threads: no more threads\n", stderr);
            exit(2); /* the others wait for this one */
        }
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        added += jobs[i].added;
        found += jobs[i].found;
    }
    printf("%d threads, %d keys: %s; each thread found %llu of them\n", count, KEYS,
           added >= KEYS - 100 ? "nearly all were new" : "some seemed seen",
           (unsigned long long)(found / (uint64_t)count));
    pthread_barrier_destroy(&all_added);
    bloomery_free(filter);
    return found == (uint64_t)KEYS * (uint64_t)count ? 0 : 1;
}

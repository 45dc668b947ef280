/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of two equal keys is the first depends on all keys before, so one thing can't be shared
 * among threads. One thread does nothing else, and the others do the rest, each for its own chunk.
 *
 *     worker 1   take 0 | split, make keys, hash |       | close up | PRINT 0 | take 2 | ...
 *     adder                                      | ADD 0 | ADD 1 |                       ...
 *     worker 2          take 1 | split, make keys, hash  |       | close up | PRINT 1 | ...
 *
 * The adder takes what is posted in the order of the chunks. When each worker added its own chunk
 * in its turn, two threads were slower than one: what was seen last moved from core to core. With
 * one thread there is no adder.
 */
#include "command/dedupe/adder.h"

#include "base/bits.h"
#include "tool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct tool_adder {
    struct tool_seen *seen;
    uint32_t threads;
    bool has_thread; /* one that only adds; otherwise there is one thread, which does all */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t post, added;
    /* Under the mutex. What was seen is the adder's. */
    uint64_t turn;               /* the chunk to be added next */
    bool ended;                  /* nothing is added any more */
    bool stopped;                /* and that because what was seen is full */
    struct tool_adding **posted; /* chunk b by place b % threads; NULL: not there yet */
};

void tool_adding_make_room(struct tool_adding *adding, size_t more)
{
    if (adding->room > 0 && adding->room - adding->count >= more)
        return;
    adding->room = 2 * adding->room + 4 * more + 64;
    const size_t bytes = tool_words_of(adding->room) * sizeof(uint64_t);
    adding->hashes = tool_reallocate(adding->hashes, adding->room * sizeof(*adding->hashes));
    adding->answers = tool_reallocate(adding->answers, bytes);
}

void tool_adding_free(struct tool_adding *adding)
{
    free(adding->hashes);
    free(adding->answers);
    *adding = (struct tool_adding){0};
}

/* Adds keys that are next in the order of the input. False: it stops here. */
static bool add_next(struct tool_adder *adder, struct tool_adding *adding)
{
    adding->answered = 0;
    if (adding->count == 0) /* and perhaps no room for answers */
        return true;
    adding->answered = tool_seen_add(adder->seen, adding->hashes, adding->count, adding->answers);
    return adding->answered == adding->count;
}

/* The keys that are next, taken off the ring; NULL if none will come. */
static struct tool_adding *next_posted(struct tool_adder *adder)
{
    struct tool_adding **place = &adder->posted[adder->turn % adder->threads];
    while (*place == NULL && !adder->ended)
        pthread_cond_wait(&adder->post, &adder->mutex);
    struct tool_adding *adding = adder->ended ? NULL : *place;
    *place = NULL;
    return adding;
}

static void *add_chunks(void *context)
{
    struct tool_adder *adder = context;
    struct tool_adding *adding;
    pthread_mutex_lock(&adder->mutex);
    while ((adding = next_posted(adder)) != NULL) {
        assert(adding->number == adder->turn);
        pthread_mutex_unlock(&adder->mutex);
        const bool more = add_next(adder, adding);
        pthread_mutex_lock(&adder->mutex);
        adder->turn++;
        adder->stopped = adder->stopped || !more;
        adder->ended = adder->ended || !more;
        adding->added = true;
        pthread_cond_broadcast(&adder->added);
    }
    pthread_mutex_unlock(&adder->mutex);
    return NULL;
}

/* Threads: one that adds, and others for all else, of which each waits for the adder in every
 * chunk. So there are at least two, for one processor. If there is none to be had, one thread does
 * all. */
struct tool_adder *tool_adder_start(struct tool_seen *seen, uint32_t *threads)
{
    struct tool_adder *adder = tool_allocate(sizeof(*adder));
    *adder = (struct tool_adder){.seen = seen, .threads = *threads};
    pthread_mutex_init(&adder->mutex, NULL);
    pthread_cond_init(&adder->post, NULL);
    pthread_cond_init(&adder->added, NULL);
    if (adder->threads > 2)
        adder->threads--;
    adder->posted = tool_allocate(adder->threads * sizeof(struct tool_adding *));
    memset(adder->posted, 0, adder->threads * sizeof(struct tool_adding *));
    adder->has_thread =
        adder->threads > 1 && pthread_create(&adder->thread, NULL, add_chunks, adder) == 0;
    if (!adder->has_thread)
        adder->threads = 1;
    *threads = adder->threads;
    return adder;
}

bool tool_adder_add(struct tool_adder *adder, struct tool_adding *adding)
{
    if (!adder->has_thread) {
        const bool before = adder->ended;
        assert(adding->number == adder->turn);
        adder->stopped = !before && !add_next(adder, adding);
        adder->ended = before || adder->stopped;
        adder->turn++;
        return !before;
    }
    pthread_mutex_lock(&adder->mutex);
    struct tool_adding **place = &adder->posted[adding->number % adder->threads];
    assert(*place == NULL);
    *place = adding;
    adding->added = false;
    pthread_cond_signal(&adder->post);
    while (!adding->added && !adder->ended)
        pthread_cond_wait(&adder->added, &adder->mutex);
    const bool added = adding->added;
    pthread_mutex_unlock(&adder->mutex);
    return added;
}

bool tool_adder_end(struct tool_adder *adder)
{
    pthread_mutex_lock(&adder->mutex);
    adder->ended = true;
    pthread_cond_broadcast(&adder->post);
    pthread_cond_broadcast(&adder->added);
    pthread_mutex_unlock(&adder->mutex);
    if (adder->has_thread)
        pthread_join(adder->thread, NULL);
    const bool stopped = adder->stopped;
    pthread_cond_destroy(&adder->added);
    pthread_cond_destroy(&adder->post);
    pthread_mutex_destroy(&adder->mutex);
    free(adder->posted);
    free(adder);
    return stopped;
}

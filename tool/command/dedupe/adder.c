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
 * in its turn, two threads were slower than one: the lines seen last moved from core to core. A
 * single thread adds by itself.
 */
#include "command/dedupe/adder.h"
#include "base/experimental.h"
#include "base/numbers.h"
#include "tool.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The order of the input ------------------------------------------------------------------ */

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

/* Starts one thread that adds, and others for everything else, each of which waits for the adder in
 * every chunk. So there are at least two, even on one processor. If no thread can be started, one
 * thread does everything. */
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

/* ---- Messages -------------------------------------------------------------------------------- */

static const char *say_keys(char text[TOOL_NUMBER_BYTES], double keys)
{
    return keys < 1e18 ? tool_format_count(text, (uint64_t)(keys + 0.5)) : "countless";
}

static void warn_planned(const struct tool_seen *seen)
{
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES];
    const struct tool_chain_layer *layer = &seen->start.layer[0];
    tool_format_count(keys, layer->plan.planned_keys);
    tool_format_odds(rate, TOOL_SEEN_FULL_FACTOR * seen->target);
    if (seen->on_full == TOOL_FULL_STOP)
        tool_warning(
            "the filter now holds the %s keys that it was planned for; its rate rises from "
            "now on, and the run stops at %s",
            keys, rate);
    else
        tool_warning(
            "the filter now holds the %s keys that it was planned for; its rate rises from "
            "now on, and from %s on no more lines are remembered",
            keys, rate);
}

static void warn_passing(const struct tool_seen *seen)
{
    struct tool_seen_facts facts;
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES];
    tool_seen_facts_get(seen, &facts);
    say_keys(keys, facts.keys);
    if (seen->table != NULL)
        tool_warning("the fingerprints of %s keys use all the memory that is allowed: lines are no "
                     "longer remembered, and are printed each time",
                     keys);
    else
        tool_warning("the filter is full, with about %s keys and a rate of %s: lines are no longer "
                     "remembered, and are printed each time",
                     keys, tool_format_odds(rate, facts.rate));
}

void tool_seen_tell(const struct tool_seen *seen, enum tool_seen_news news)
{
    if (news == TOOL_SEEN_PLANNED)
        warn_planned(seen);
    else
        warn_passing(seen);
}

void tool_seen_say_full(const struct tool_seen *seen, uint64_t lines, uint64_t kept)
{
    char number[TOOL_NUMBER_BYTES], all[TOOL_NUMBER_BYTES + 8], passed[TOOL_NUMBER_BYTES],
        keys[TOOL_NUMBER_BYTES];
    char size[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], target[TOOL_NUMBER_BYTES];
    struct tool_seen_facts facts;
    bloomery_limits limits = BLOOMERY_LIMITS;
    tool_seen_facts_get(seen, &facts);
    bloomery_limits_get(&limits);
    const bool is_met = limits.room / 3 < facts.bytes; /* what comes next is twice as large */
    const char *colon = is_met ? ": " : "", *met = is_met ? limits.text : "";
    tool_format_count(number, lines);
    snprintf(all, sizeof(all), "%s %s", number, lines == 1 ? "line" : "lines");
    tool_format_count(passed, kept);
    say_keys(keys, facts.keys);
    tool_format_size(size, facts.bytes);
    tool_format_odds(rate, facts.rate);
    tool_format_odds(target, seen->target);
    if (seen->table != NULL)
        tool_error("stopped after %s, of which %s were kept: the fingerprints of %s keys use %s, "
                   "and no more is allowed%s%s; %s",
                   all, passed, keys, size, colon, met, seen->advice);
    else if (seen->grows)
        tool_error(
            "stopped after %s, of which %s were kept: the filter has about %s keys in %s and "
            "a rate of %s, and no memory to grow%s%s; %s",
            all, passed, keys, size, rate, colon, met, seen->advice);
    else
        tool_error(
            "stopped after %s, of which %s were kept: the filter is full, with about %s keys "
            "and a rate of %s instead of %s; %s",
            all, passed, keys, rate, target, seen->advice);
}

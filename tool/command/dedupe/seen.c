/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter that is fuller than it was planned for drops new lines, and the fuller it gets the more:
 *
 *     keys, of those planned      1        2        4        8       16
 *     rate, made for 1 in 10^6    10^-6    10^-3    0.11     0.84    ~1
 *
 * A run that goes on without a notice loses nearly everything that comes after. So there are two
 * marks, both numbers of new keys that are known before the first line is read:
 *
 *     warn_at   it holds what it was planned for: a warning, and it goes on
 *     full_at   its rate is twice the requested one; then
 *                 stop   this was the last line: an error, with all that was kept delivered
 *                 pass   nothing is remembered any more. Lines that the filter does not have are
 *                        let pass, again and again; its rate stays what it is
 *
 * A filter that grows comes to neither: it gets another layer, and its rate stays below its target.
 * It is full if the next layer would take more memory than allowed or available. A table of
 * fingerprints likewise, which has no rate that rises. These stop, or pass.
 *
 * New keys are counted, and not calls of add: lines come again, and a file that is fed twice fills
 * nothing. How many keys make those new ones is in drop_estimate.c. Because the marks are numbers
 * of keys, it ends at the same line whatever the chunks and threads were.
 */
#include "command/dedupe/seen.h"
#include "base/bits.h"
#include "base/experimental.h"
#include "base/numbers.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The marks ------------------------------------------------------------------------------- */

#define FULL_FACTOR 2.0 /* times the target */

/* The number of new keys that make it hold `keys`. */
static uint64_t new_until(const struct tool_seen *seen, double keys)
{
    const struct tool_chain_layer *layer = &seen->start.layer[0];
    double fresh = tool_expected_new(&layer->plan, layer->keys, keys);
    return fresh > 0 ? (uint64_t)fresh : 0;
}

void tool_seen_start(struct tool_seen *seen, double target)
{
    bloomery_info info = BLOOMERY_INFO;
    seen->warn_at = seen->full_at = UINT64_MAX;
    if (seen->table != NULL)
        return;
    bloomery_info_get(seen->filter, &info);
    seen->grows = info.can_grow;
    seen->target = target > 0 ? target : info.planned_rate;
    tool_chain_read(seen->filter, &seen->start);
    if (seen->grows || seen->start.layers > 1 || !(seen->target > 0))
        return;
    const bloomery_plan *plan = &seen->start.layer[0].plan;
    if (plan->planned_keys > 0)
        seen->warn_at = new_until(seen, (double)plan->planned_keys);
    seen->full_at = new_until(seen, (double)tool_expected_full(plan, FULL_FACTOR * seen->target));
    seen->full = seen->full_at == 0;
}

static void follow(const struct tool_seen *seen, struct tool_chain *now)
{
    tool_chain_follow(seen->filter, &seen->start, seen->kept, now);
}

void tool_seen_restart(struct tool_seen *seen)
{
    struct tool_chain now;
    const uint64_t kept = seen->kept;
    seen->kept = seen->unremembered = 0;
    if (seen->table != NULL) {
        seen->start_count = tool_fingerprints_count(seen->table);
        return;
    }
    seen->kept = kept;
    follow(seen, &now);
    seen->kept = 0;
    seen->start = now;
    if (seen->full_at != UINT64_MAX)
        seen->full_at -= kept;
    if (seen->warn_at != UINT64_MAX)
        seen->warn_at = seen->warn_at > kept ? seen->warn_at - kept : 0;
}

static const char *say_keys(char text[TOOL_NUMBER_BYTES], double keys)
{
    return keys < 1e18 ? tool_format_count(text, (uint64_t)(keys + 0.5)) : "countless";
}

static void warn_planned(struct tool_seen *seen)
{
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES];
    const struct tool_chain_layer *layer = &seen->start.layer[0];
    seen->warned = true;
    tool_format_count(keys, layer->plan.planned_keys);
    tool_format_odds(rate, FULL_FACTOR * seen->target);
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

static void warn_passing(struct tool_seen *seen)
{
    struct tool_seen_facts facts;
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES];
    tool_seen_facts_get(seen, &facts);
    say_keys(keys, facts.keys);
    seen->passing_said = true;
    if (seen->table != NULL)
        tool_warning("the fingerprints of %s keys use all the memory that is allowed: lines are no "
                     "longer remembered, and are printed each time",
                     keys);
    else
        tool_warning("the filter is full, with about %s keys and a rate of %s: lines are no longer "
                     "remembered, and are printed each time",
                     keys, tool_format_odds(rate, facts.rate));
}

/* ---- Adding ---------------------------------------------------------------------------------- */

enum { PIECE = 4096, PIECE_WORDS = PIECE / 64 };

/* Adds to filter or table whatever the marks. Fewer than `count`: it could not grow. */
static size_t add_some(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                       uint64_t *answers)
{
    size_t added = count;
    if (seen->table != NULL) {
        added = tool_fingerprints_add(seen->table, hashes, count, answers);
    } else {
        const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
        bloomery_counts counts;
        (void)bloomery_add_keys(seen->filter, &keys, answers, &counts, NULL);
        added = counts.done;
    }
    assert(added <= count);
    seen->kept += tool_ones_in(answers, count);
    return added;
}

/* Adds nothing: bit i is set if key i is not there. */
static void look_up(const struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                    uint64_t *answers)
{
    if (seen->table != NULL) {
        tool_fingerprints_query(seen->table, hashes, count, answers);
    } else {
        const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
        (void)bloomery_may_contain_keys(seen->filter, &keys, answers, NULL, NULL);
        for (size_t w = 0; w < tool_words_of(count); w++)
            answers[w] = ~answers[w];
        if (count > 0)
            answers[(count - 1) / 64] &= tool_last_bits(count);
    }
}

/* Lets pass the keys that are not there. */
static void query_some(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                       uint64_t *answers)
{
    look_up(seen, hashes, count, answers);
    seen->unremembered += tool_ones_in(answers, count);
}

/* Adds no more than there is room for before the next mark, so that the marks are met exactly. */
static size_t add_to_mark(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                          uint64_t *answers)
{
    uint64_t room = seen->full_at - seen->kept;
    if (!seen->warned && seen->warn_at > seen->kept && seen->warn_at - seen->kept < room)
        room = seen->warn_at - seen->kept;
    if (count > room)
        count = (size_t)room;
    size_t added = add_some(seen, hashes, count, answers);
    if (!seen->warned && seen->kept >= seen->warn_at)
        warn_planned(seen);
    seen->full = added < count || seen->kept >= seen->full_at;
    return added;
}

enum { GROUP_WORDS = 1024 / 64, GROUPS_AHEAD = 8 };

/* Looks up a group, and adds it if it is new. False: it found no room, and this ends it. */
static bool add_group(struct tool_seen *seen, const bloomery_hash *hashes, uint64_t *answers)
{
    const size_t group = seen->group;
    uint64_t added[GROUP_WORDS] = {0};
    look_up(seen, hashes, group, answers);
    const bool is_new = tool_ones_in(answers, group) == group;
    /* The mark is met with the group that would pass it. */
    seen->full = seen->full || seen->full_at - seen->kept < group;
    if (!seen->full && (is_new || seen->adds_seen))
        seen->full = add_some(seen, hashes, group, added) < group;
    if (!seen->full) {
        if (!seen->warned && seen->kept >= seen->warn_at)
            warn_planned(seen);
        return true;
    }
    if (seen->on_full != TOOL_FULL_PASS)
        return false;
    if (!seen->passing_said)
        warn_passing(seen);
    seen->unremembered += is_new ? group : 0;
    return true;
}

/* What tool_seen_add does with groups. The filter's lines for the groups ahead are on their way
 * while one is looked up. */
static size_t add_groups(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                         uint64_t *answers)
{
    const size_t group = seen->group, ahead = GROUPS_AHEAD * group;
    assert(count % group == 0 && group <= (size_t)GROUP_WORDS * 64);
    for (size_t done = 0; done < count; done += group) {
        uint64_t piece[GROUP_WORDS] = {0};
        for (size_t i = done == 0 ? 0 : done + ahead - group;
             seen->table == NULL && i < done + ahead && i < count; i++)
            bloomery_prefetch_hash(seen->filter, hashes[i]);
        if (!add_group(seen, hashes + done, piece))
            return done;
        for (size_t i = 0; i < group; i++)
            answers[(done + i) / 64] |= (uint64_t)tool_bit(piece, i) << (done + i) % 64;
    }
    return count;
}

size_t tool_seen_add(struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
                     uint64_t *answers)
{
    size_t done = 0;
    memset(answers, 0, tool_words_of(count) * sizeof(*answers));
    if (seen->group > 0)
        return add_groups(seen, hashes, count, answers);
    if (!seen->full && count > 0)
        done = add_to_mark(seen, hashes, count, answers);
    while (done < count) { /* a mark was met */
        uint64_t piece[PIECE_WORDS] = {0};
        size_t now = count - done < PIECE ? count - done : (size_t)PIECE;
        if (seen->full && seen->on_full != TOOL_FULL_PASS)
            break;
        if (seen->full && !seen->passing_said)
            warn_passing(seen);
        if (seen->full)
            query_some(seen, hashes + done, now, piece);
        else
            now = add_to_mark(seen, hashes + done, now, piece);
        for (size_t i = 0; i < now; i++)
            answers[(done + i) / 64] |= (uint64_t)tool_bit(piece, i) << (done + i) % 64;
        done += now;
    }
    assert(done == count || seen->full);
    return done;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void tool_seen_facts_get(const struct tool_seen *seen, struct tool_seen_facts *facts)
{
    *facts = (struct tool_seen_facts){0};
    if (seen->table != NULL) {
        const uint64_t count = tool_fingerprints_count(seen->table);
        facts->bytes = tool_fingerprints_bytes(seen->table);
        facts->keys = (double)count;
        facts->wrong_drops =
            tool_fingerprints_drops(seen->table_bits, seen->start_count, count) +
            ldexp((double)seen->unremembered * (double)count, -(int)seen->table_bits);
        return;
    }
    struct tool_chain now;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(seen->filter, &info);
    follow(seen, &now);
    facts->bytes = info.bytes;
    facts->layers = info.layers;
    facts->keys = tool_chain_keys(&now);
    facts->rate = tool_chain_rate(&now);
    facts->wrong_drops = tool_chain_drops(&seen->start, &now);
    if (seen->unremembered > 0)
        facts->wrong_drops += (double)seen->unremembered * facts->rate / (1 - facts->rate);
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

/* ---- The order of the input ------------------------------------------------------------------ */

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

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
#include "units/seen.h"
#include "base/bits.h"
#include "base/experimental.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The marks ------------------------------------------------------------------------------- */

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
    seen->full_at =
        new_until(seen, (double)tool_expected_full(plan, TOOL_SEEN_FULL_FACTOR * seen->target));
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

/* Tells what happened to the caller, if it wants to know. */
static void tell(const struct tool_seen *seen, enum tool_seen_news news)
{
    if (seen->tell != NULL)
        seen->tell(seen, news);
}

static void pass_mark(struct tool_seen *seen)
{
    seen->warned = true;
    tell(seen, TOOL_SEEN_PLANNED);
}

static void begin_passing(struct tool_seen *seen)
{
    seen->passing_said = true;
    tell(seen, TOOL_SEEN_PASSING);
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

void tool_seen_look_up(const struct tool_seen *seen, const bloomery_hash *hashes, size_t count,
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
    tool_seen_look_up(seen, hashes, count, answers);
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
        pass_mark(seen);
    seen->full = added < count || seen->kept >= seen->full_at;
    return added;
}

enum { GROUP_WORDS = 1024 / 64, GROUPS_AHEAD = 8 };

/* Looks up a group, and adds it if it is new. False: it found no room, and this ends it. */
static bool add_group(struct tool_seen *seen, const bloomery_hash *hashes, uint64_t *answers)
{
    const size_t group = seen->group;
    uint64_t added[GROUP_WORDS] = {0};
    tool_seen_look_up(seen, hashes, group, answers);
    const bool is_new = tool_ones_in(answers, group) == group;
    /* The mark is met with the group that would pass it. */
    seen->full = seen->full || seen->full_at - seen->kept < group;
    if (!seen->full && (is_new || seen->adds_seen))
        seen->full = add_some(seen, hashes, group, added) < group;
    if (!seen->full) {
        if (!seen->warned && seen->kept >= seen->warn_at)
            pass_mark(seen);
        return true;
    }
    if (seen->on_full != TOOL_FULL_PASS)
        return false;
    if (!seen->passing_said)
        begin_passing(seen);
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
            begin_passing(seen);
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

bool tool_adding_make_room(struct tool_adding *adding, size_t more)
{
    if (adding->room > 0 && adding->room - adding->count >= more)
        return true;
    const size_t room = 2 * adding->room + 4 * more + 64;
    bloomery_hash *hashes = realloc(adding->hashes, room * sizeof(*hashes));
    adding->hashes = hashes != NULL ? hashes : adding->hashes;
    uint64_t *answers =
        hashes != NULL ? realloc(adding->answers, tool_words_of(room) * sizeof(*answers)) : NULL;
    adding->answers = answers != NULL ? answers : adding->answers;
    adding->missing = answers != NULL ? 0 : room * sizeof(*hashes);
    adding->room = answers != NULL ? room : adding->room;
    return answers != NULL;
}

void tool_adding_free(struct tool_adding *adding)
{
    free(adding->hashes);
    free(adding->answers);
    *adding = (struct tool_adding){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place is the lines that begin in a stretch of bytes, the last one to its end.
 *
 *     place      |---------------------|
 *     lines   ------|------|---------|---------|----
 *                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^         are sampled
 *
 * Places that touch share no line and leave none out. If not all is read, there is one place in
 * each of the equal parts of an input, at a random distance from the part's beginning. Otherwise
 * the places of two copies of a file would hold the same lines, and say that all lines repeat.
 *
 * How many distinct keys has the whole, if k of its K places were read? Repeats lie near each other
 * in some inputs (a sorted file) and far apart in others (a log), so a count of lines says little.
 * What counts is in how many of the k places a key was met, however often there:
 *
 *     estimate = K / k * (keys of one place) + (keys of two places or more)
 *
 * Say a key is in B of the K places. It is met in exactly one with a chance of about
 * B k/K (1 - k/K)^(B-1), and then counts K/k. For B = 1 that makes 1 on average, as it should. For
 * any B > 1 the two terms together make at least 1 and at most B. So keys that are everywhere count
 * once, keys of one place count in full, and those between are counted too often, never too
 * rarely: the estimate is too high rather than too low, and at most the number of lines. It is
 * exact if all was read.
 */
#include "command/dedupe/places.h"

#include "base/system.h"
#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Places ---------------------------------------------------------------------------------- */

unsigned char *tool_places_buffer(struct tool_places *places, size_t bytes)
{
    if (places->capacity < bytes || places->buffer == NULL) {
        while (places->capacity < bytes)
            places->capacity = places->capacity == 0 ? bytes : 2 * places->capacity;
        places->buffer = tool_reallocate(places->buffer, places->capacity + 1);
    }
    return places->buffer;
}

static int order_hashes(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void sort_hashes(uint64_t *hashes, size_t count)
{
    if (count > 1)
        qsort(hashes, count, sizeof(*hashes), order_hashes);
}

/* A place is over: of its hashes from `first` on each stays once. */
static void end_place(struct tool_places *places, size_t first)
{
    size_t kept = first;
    if (places->hashes == NULL)
        return;
    sort_hashes(places->hashes + first, places->count - first);
    for (size_t i = first; i < places->count; i++)
        if (kept == first || places->hashes[kept - 1] != places->hashes[i])
            places->hashes[kept++] = places->hashes[i];
    places->count = kept;
}

void tool_places_take(struct tool_places *places, size_t place, size_t bytes, bool ended)
{
    unsigned char *from = places->buffer, *end = from + bytes;
    if (ended && bytes > 0 && end[-1] != places->delimiter)
        *end++ = places->delimiter;
    const size_t first = place < (size_t)(end - from) ? place : (size_t)(end - from);
    const unsigned char *last = first > 0 ? from + first - 1 : from;
    const unsigned char *line =
        first > 0 ? memchr(last, places->delimiter, (size_t)(end - last)) : NULL;
    places->partly = places->partly || line == NULL;
    if (line == NULL) /* the last one is too long: those before it */
        line = first > 0 ? memrchr(from, places->delimiter, first) : NULL;
    if (line == NULL)
        return;
    const size_t hashes = places->count;
    places->take(places->context, from, (size_t)(line + 1 - from));
    end_place(places, hashes);
}

/* Reads a place from byte `at` on, with its last line, from its first line's begin; 0 if no line
 * begins there. `before`: 1 if a byte lies before it in the input, which says whether a line begins
 * at `at`. */
static size_t read_place(struct tool_places *places, int file, uint64_t at, size_t before,
                         size_t *place, bool *ended)
{
    size_t wanted = places->place_bytes + before, used = 0;
    *ended = false;
    while (used < places->line_room && !*ended) {
        uint64_t count = 0;
        unsigned char *to = tool_places_buffer(places, wanted) + used;
        if (tool_read_at(file, at - before + used, to, wanted - used, &count) != 0)
            return 0;
        *ended = used + count < wanted;
        const bool line_ends = memchr(to, places->delimiter, (size_t)count) != NULL;
        const bool first = used == 0;
        used += (size_t)count;
        if (used > 0 && (first ? places->buffer[used - 1] == places->delimiter : line_ends))
            break;
        wanted = used + places->place_bytes;
    }
    unsigned char *from = places->buffer;
    *place = used < places->place_bytes + before ? used : places->place_bytes + before;
    if (before > 0) {
        const unsigned char *line = memchr(from, places->delimiter, *place);
        const size_t skipped = line != NULL ? (size_t)(line + 1 - from) : *place;
        memmove(from, from + skipped, used - skipped);
        used -= skipped;
        *place -= skipped;
    }
    return *place > 0 ? used : 0;
}

void tool_places_read(struct tool_places *places, int file, uint64_t from, uint64_t bytes,
                      size_t most)
{
    const uint64_t step = places->place_bytes, all = bytes / step + (bytes % step > 0);
    const bool whole = all <= most;
    const uint64_t count = whole ? all : most;
    const uint64_t width = count > 0 ? bytes / count : 0;
    places->partly = places->partly || !whole;
    assert(whole || width >= step);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at =
            whole ? i * step
                  : i * width + tool_scale(tool_random_next(&places->disorder), width - step + 1);
        size_t place = 0;
        bool ended = false;
        const size_t used = read_place(places, file, from + at, at > 0, &place, &ended);
        if (used > 0)
            tool_places_take(places, place, used, ended);
    }
}

/* ---- Distinct keys --------------------------------------------------------------------------- */

void tool_places_hash(struct tool_places *places, const bloomery_hash *hashes, size_t count)
{
    if (places->room - places->count < count) {
        places->room = 2 * places->room + count;
        places->hashes = tool_reallocate(places->hashes, places->room * sizeof(*places->hashes));
    }
    for (size_t i = 0; i < count; i++)
        places->hashes[places->count++] = hashes[i].hi;
}

double tool_places_distinct(struct tool_places *places, double whole)
{
    const uint64_t *hashes = places->hashes;
    const size_t count = places->count;
    size_t single = 0, several = 0;
    sort_hashes(places->hashes, count);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && hashes[next] == hashes[i];)
            next++;
        single += next == i + 1;
        several += next > i + 1;
    }
    return whole * (double)single + (double)several;
}

void tool_places_free(struct tool_places *places)
{
    free(places->buffer);
    free(places->hashes);
    places->buffer = NULL;
    places->hashes = NULL;
    places->capacity = places->count = places->room = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of inputs: the lines at places that are spread over them, and how many distinct keys the
 * whole has. places.c holds the essay.
 *
 *     struct tool_places places = {.delimiter = '\n', .place_bytes = ..., .line_room = ...,
 *                                  .take = take, .context = ...};
 *     tool_places_read(&places, file, from, bytes, 64);       take() calls tool_places_hash
 *     distinct = tool_places_distinct(&places, all_bytes / sampled_bytes);
 *     tool_places_free(&places);
 */
#ifndef BLOOMERY_TOOL_PLACES_H
#define BLOOMERY_TOOL_PLACES_H

#include "base/random.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_places {
    unsigned char delimiter;
    size_t place_bytes; /* the lines that begin in these bytes belong to a place */
    size_t line_room;   /* bytes of a place with its last line; a longer line is left out */
    /* Takes the whole lines of a place, the last of which has its delimiter. */
    void (*take)(void *context, const unsigned char *from, size_t bytes);
    void *context;

    bool partly; /* some bytes of the inputs were not sampled */

    unsigned char *buffer; /* `capacity` + 1 */
    size_t capacity;
    struct tool_random disorder; /* where the next places lie */
    uint64_t *hashes; /* of each place its distinct ones, and those of the place that is taken */
    size_t count, room;
};

/* Reads at most `most` places of [from, from + bytes) of a file, which are all of it if it is that
 * small. */
void tool_places_read(struct tool_places *places, int file, uint64_t from, uint64_t bytes,
                      size_t most);

/* The buffer, with room for this many bytes. */
unsigned char *tool_places_buffer(struct tool_places *places, size_t bytes);

/* Takes the lines of the buffer that begin in its first `place` bytes, if they end in `bytes`.
 * `ended`: nothing follows. */
void tool_places_take(struct tool_places *places, size_t place, size_t bytes, bool ended);

/* Adds hashes of 64 bits (XXH3-64) of the keys of the place that is taken. */
void tool_places_hash(struct tool_places *places, const bloomery_hash *hashes, size_t count);

/* Returns the estimate of the distinct keys of a whole that is `whole` times the sample. */
double tool_places_distinct(struct tool_places *places, double whole);

void tool_places_free(struct tool_places *places);

#endif /* BLOOMERY_TOOL_PLACES_H */

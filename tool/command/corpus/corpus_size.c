/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to 64 places that are spread over the inputs are read (dedupe/places.c): the lines that begin
 * in 256 KiB at each. Of a packed input the beginning is sampled, and from how much came out of its
 * first megabyte follows how much the whole will be.
 *
 * The filter is planned for the distinct keys of the whole, as places.c estimates them: rather too
 * many than too few.
 */
#include "command/corpus/corpus_size.h"

#include "base/system.h"
#include "command/dedupe/places.h"
#include "input/input.h"
#include "tool.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACES = 64,
    PLACE_BYTES = 256 << 10,
    PACKED_SAMPLE = 1 << 20, /* packed bytes that are unpacked for the ratio */
    PLACE_ROOM = 64 << 20,   /* a place with its last line; a longer line is left out */
    UNPACKED_AT_ONCE = 4 << 20,
};

struct sampler {
    const struct tool_judge *judge;
    struct tool_documents *documents;
    struct tool_corpus_size *size;
    struct tool_places places;
    uint64_t documents_seen, paragraphs, keys;
    double seconds;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* Counts the documents of whole lines, of which the last one has its line end. */
static void sample_lines(void *context, const unsigned char *from, size_t bytes)
{
    struct sampler *sampler = context;
    struct tool_documents *documents = sampler->documents;
    struct tool_chunk chunk = {.from = from, .end = from + bytes, .delimiter = '\n', .begin = from};
    struct tool_adding *adding = &documents->keys->adding;
    const double start = now();
    tool_documents_read(documents, &chunk);
    sampler->seconds += now() - start;
    sampler->size->sampled_bytes += bytes;
    sampler->size->sampled_documents += documents->count;
    sampler->documents_seen += documents->count;
    sampler->paragraphs += documents->paragraph_count;
    for (size_t i = 0; i < documents->paragraph_count; i++) {
        const uint32_t keys = tool_documents_keys_of(documents, i);
        sampler->keys += keys;
        sampler->size->paragraphs_of[keys < TOOL_SIZE_KEYS ? keys : TOOL_SIZE_KEYS]++;
    }
    tool_places_hash(&sampler->places, adding->hashes, adding->count);
}

static void sample_plain(struct sampler *sampler, const char *path, uint64_t bytes, size_t places)
{
    const char *why;
    const int file = tool_open_regular(path, &why); /* the reading says why it can't be read */
    if (file < 0)
        return;
    tool_places_read(&sampler->places, file, 0, bytes, places);
    close(file);
}

/* The factor by which an input grows when it is unpacked. Its beginning is sampled. */
static double sample_packed(struct sampler *sampler, char *path, uint64_t bytes)
{
    const struct tool_source source = {
        .paths = &path, .count = 1, .delimiter = '\n', .unwarned = true};
    struct tool_places *places = &sampler->places;
    struct tool_input input;
    size_t used = 0;
    double unpacked = 0, factor = 1;
    ssize_t count = 1; /* more may come */
    tool_input_start(&input, &source, -1);
    unsigned char *buffer = tool_places_buffer(places, UNPACKED_AT_ONCE);
    if (tool_input_open_next(&input, buffer, UNPACKED_AT_ONCE, &used) != TOOL_OPENED)
        return 0;
    unpacked = (double)used;
    /* Until a line ends behind the place. */
    while (used < PLACE_ROOM && (used <= PLACE_BYTES || memchr(buffer + PLACE_BYTES - 1, '\n',
                                                               used - PLACE_BYTES + 1) == NULL)) {
        buffer = tool_places_buffer(places, used + UNPACKED_AT_ONCE);
        count = tool_input_read(&input, buffer + used, UNPACKED_AT_ONCE);
        if (count <= 0)
            break;
        used += (size_t)count;
        unpacked += (double)count;
    }
    places->partly = places->partly || used > PLACE_BYTES || count > 0;
    tool_places_take(places, PLACE_BYTES, used, count == 0);
    while (count > 0 && input.stream.bytes_read <= PACKED_SAMPLE &&
           (count = tool_input_read(&input, buffer, UNPACKED_AT_ONCE)) > 0)
        unpacked += (double)count;
    const uint64_t packed = count > 0 ? input.stream.bytes_read : bytes;
    if (packed > 0)
        factor = unpacked / (double)packed;
    tool_input_close(&input);
    return factor;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The bytes of the inputs as they lie there. */
static uint64_t sum_bytes(const struct tool_source *source, bool *known)
{
    uint64_t sum = 0;
    *known = true;
    for (size_t i = 0; i < tool_source_count(source); i++) {
        struct stat facts;
        const char *path = tool_source_path(source, i);
        if (tool_path_is_stdin(path))
            *known = false;
        else if (stat(path, &facts) == 0 && S_ISREG(facts.st_mode))
            sum += (uint64_t)facts.st_size;
        else if (stat(path, &facts) == 0)
            *known = false;
    }
    return sum;
}

/* Takes the sample: each input gets places by its share of all bytes. Of packed ones the first is
 * sampled and every one after so many bytes; between them the last factor holds. */
static void sample_inputs(struct sampler *sampler, const struct tool_source *source, uint64_t all)
{
    double owed = 0.999, factor = 0; /* a place for the first, no more than PLACES in all */
    for (size_t i = 0; i < tool_source_count(source); i++) {
        char *path = source->paths[i];
        struct stat facts;
        if (stat(path, &facts) != 0 || facts.st_size == 0)
            continue;
        const uint64_t bytes = (uint64_t)facts.st_size;
        const bool packed = tool_path_packing(path) != TOOL_PLAIN;
        owed += (double)PLACES * (double)bytes / (double)all;
        if (!packed && owed >= 1)
            sample_plain(sampler, path, bytes, (size_t)owed);
        else if (packed && (owed >= 1 || factor == 0))
            factor = sample_packed(sampler, path, bytes);
        else
            sampler->places.partly = true;
        owed -= floor(owed);
        sampler->size->bytes += (packed ? factor : 1) * (double)bytes;
    }
}

void tool_corpus_size_get(const struct tool_judge *judge, const struct tool_source *source,
                          struct tool_corpus_size *size)
{
    struct tool_judge alone = *judge; /* keys of other filters are keys all the same */
    struct sampler sampler = {.judge = &alone, .size = size};
    sampler.places = (struct tool_places){.delimiter = '\n',
                                          .place_bytes = PLACE_BYTES,
                                          .line_room = PLACE_ROOM,
                                          .take = sample_lines,
                                          .context = &sampler};
    *size = (struct tool_corpus_size){0};
    const uint64_t all = sum_bytes(source, &size->known);
    if (!size->known || all == 0)
        return;
    alone.against_count = 0;
    alone.no_add = false;
    sampler.documents = tool_documents_new(&alone);
    sample_inputs(&sampler, source, all);
    if (size->sampled_bytes > 0) {
        const double whole = size->bytes / (double)size->sampled_bytes;
        size->documents = whole * (double)sampler.documents_seen;
        size->paragraphs = whole * (double)sampler.paragraphs;
        size->keys = whole * (double)sampler.keys;
        size->seconds = whole * sampler.seconds;
        size->different = tool_places_distinct(&sampler.places, whole);
    }
    size->sampled_texts = sampler.documents->texts;
    size->whole = !sampler.places.partly;
    tool_places_free(&sampler.places);
    tool_documents_free(sampler.documents);
}

/* ---- Wrong removals -------------------------------------------------------------------------- */

/* The chance that at least `needed` of `keys` new keys are taken for old ones. */
static double chance(uint32_t keys, uint32_t needed, double rate)
{
    double sum = 0;
    for (uint32_t i = needed; i <= keys; i++)
        sum += exp(lgamma(keys + 1.0) - lgamma(i + 1.0) - lgamma(keys - i + 1.0) + i * log(rate) +
                   (keys - i) * log1p(-rate));
    return sum < 1 ? sum : 1;
}

double tool_corpus_size_wrong(const struct tool_judge *judge, const struct tool_corpus_size *size,
                              double rate)
{
    uint64_t all = 0;
    double wrong = 0;
    for (uint32_t keys = 0; keys <= TOOL_SIZE_KEYS; keys++) {
        const uint64_t most = (uint64_t)judge->threshold * keys;
        const uint32_t needed = (uint32_t)((most + TOOL_THRESHOLD_ONE - 1) / TOOL_THRESHOLD_ONE);
        all += size->paragraphs_of[keys];
        if (keys > 0 && rate > 0)
            wrong += (double)size->paragraphs_of[keys] * chance(keys, needed, rate);
    }
    return all > 0 ? size->paragraphs * wrong / (double)all : 0;
}

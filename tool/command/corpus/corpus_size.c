/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to 64 places that are spread over the inputs are read: the lines that begin in 256 KiB at
 * each, the last one to its end.
 *
 *     place      |---------------------|
 *     lines   ------|------|---------|---------|----
 *                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^         are sampled
 *
 * Places that touch share no line and leave none out. Of a packed input the beginning is sampled,
 * and from how much came out of its first megabyte follows how much the whole will be.
 *
 * The keys of the sample are counted, and so are the different ones. Repeats of a key that lie far
 * apart are met in the whole, and mostly not in a sample. So the share of different keys in the
 * sample is more than that in the whole, and the filter that is planned by it is rather too large
 * than too small:
 *
 *     different, at most   keys in all * different in the sample / keys in the sample
 */
#include "command/corpus/corpus_size.h"

#include "base/io.h"
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
    unsigned char *buffer; /* `capacity` + 1 */
    size_t capacity;
    bool partly; /* some of the inputs' bytes were not sampled */
    uint64_t documents_seen, paragraphs, keys;
    bloomery_hash *hashes;
    size_t count, room;
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
static void sample_lines(struct sampler *sampler, const unsigned char *from, size_t bytes)
{
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
    if (sampler->room - sampler->count < adding->count) {
        sampler->room = 2 * sampler->room + adding->count;
        sampler->hashes =
            tool_reallocate(sampler->hashes, sampler->room * sizeof(*sampler->hashes));
    }
    if (adding->count > 0)
        memcpy(sampler->hashes + sampler->count, adding->hashes,
               adding->count * sizeof(*adding->hashes));
    sampler->count += adding->count;
}

static void make_room(struct sampler *sampler, size_t bytes)
{
    while (sampler->capacity < bytes)
        sampler->capacity = sampler->capacity == 0 ? bytes : 2 * sampler->capacity;
    sampler->buffer = tool_reallocate(sampler->buffer, sampler->capacity + 1);
}

/* Takes the lines of the buffer that begin in its first `place` bytes, if they end in `bytes`.
 * `ended`: nothing follows. */
static void take_place(struct sampler *sampler, size_t place, size_t bytes, bool ended)
{
    unsigned char *from = sampler->buffer, *end = from + bytes;
    if (ended && bytes > 0 && end[-1] != '\n')
        *end++ = '\n';
    const size_t first = place < (size_t)(end - from) ? place : (size_t)(end - from);
    const unsigned char *last = first > 0 ? from + first - 1 : from;
    const unsigned char *line = first > 0 ? memchr(last, '\n', (size_t)(end - last)) : NULL;
    sampler->partly = sampler->partly || line == NULL;
    if (line == NULL) /* the last one is too long: those before it */
        line = first > 0 ? memrchr(from, '\n', first) : NULL;
    if (line != NULL)
        sample_lines(sampler, from, (size_t)(line + 1 - from));
}

/* Reads a place from byte `at` on, with its last line, from its first line's begin; 0 if no line
 * begins there. */
static size_t read_place(struct sampler *sampler, int file, uint64_t at, size_t *place, bool *ended)
{
    const size_t before = at > 0; /* the byte that says whether a line begins at `at` */
    size_t wanted = PLACE_BYTES + before, used = 0;
    *ended = false;
    while (used < PLACE_ROOM && !*ended) {
        uint64_t count = 0;
        make_room(sampler, wanted);
        if (tool_read_at(file, at - before + used, sampler->buffer + used, wanted - used, &count) !=
            0)
            return 0;
        *ended = used + count < wanted;
        const bool line_ends = memchr(sampler->buffer + used, '\n', (size_t)count) != NULL;
        const bool first = used == 0;
        used += (size_t)count;
        if (used > 0 && (first ? sampler->buffer[used - 1] == '\n' : line_ends))
            break;
        wanted = used + PLACE_BYTES;
    }
    unsigned char *from = sampler->buffer;
    *place = used < PLACE_BYTES + before ? used : PLACE_BYTES + before;
    if (before > 0) {
        const unsigned char *line = memchr(from, '\n', *place);
        const size_t skipped = line != NULL ? (size_t)(line + 1 - from) : *place;
        memmove(from, from + skipped, used - skipped);
        used -= skipped;
        *place -= skipped;
    }
    return *place > 0 ? used : 0;
}

static void sample_plain(struct sampler *sampler, const char *path, uint64_t bytes, size_t places)
{
    const char *why;
    const int file = tool_open_regular(path, &why); /* the reading says why it can't be read */
    const uint64_t all = (bytes + PLACE_BYTES - 1) / PLACE_BYTES;
    const bool whole = all <= places;
    if (whole)
        places = (size_t)all;
    sampler->partly = sampler->partly || !whole;
    for (size_t i = 0; i < places && file >= 0; i++) {
        const uint64_t room = bytes > PLACE_BYTES ? bytes - PLACE_BYTES : 0;
        const uint64_t at = whole        ? (uint64_t)i * PLACE_BYTES
                            : places > 1 ? room / (places - 1) * i
                                         : 0;
        size_t place = 0;
        bool ended = false;
        const size_t used = read_place(sampler, file, at, &place, &ended);
        if (used > 0)
            take_place(sampler, place, used, ended);
    }
    if (file >= 0)
        close(file);
}

/* The factor by which an input grows when it is unpacked. Its beginning is sampled. */
static double sample_packed(struct sampler *sampler, char *path, uint64_t bytes)
{
    const struct tool_source source = {
        .paths = &path, .count = 1, .delimiter = '\n', .unwarned = true};
    struct tool_input input;
    size_t used = 0;
    double unpacked = 0, factor = 1;
    ssize_t count = 1; /* more may come */
    tool_input_start(&input, &source, -1);
    make_room(sampler, UNPACKED_AT_ONCE);
    if (tool_input_open_next(&input, sampler->buffer, UNPACKED_AT_ONCE, &used) != TOOL_OPENED)
        return 0;
    unpacked = (double)used;
    /* Until a line ends behind the place. */
    while (used < PLACE_ROOM &&
           (used <= PLACE_BYTES ||
            memchr(sampler->buffer + PLACE_BYTES - 1, '\n', used - PLACE_BYTES + 1) == NULL)) {
        make_room(sampler, used + UNPACKED_AT_ONCE);
        count = tool_input_read(&input, sampler->buffer + used, UNPACKED_AT_ONCE);
        if (count <= 0)
            break;
        used += (size_t)count;
        unpacked += (double)count;
    }
    sampler->partly = sampler->partly || used > PLACE_BYTES || count > 0;
    take_place(sampler, PLACE_BYTES, used, count == 0);
    while (count > 0 && input.stream.bytes_read <= PACKED_SAMPLE &&
           (count = tool_input_read(&input, sampler->buffer, UNPACKED_AT_ONCE)) > 0)
        unpacked += (double)count;
    const uint64_t packed = count > 0 ? input.stream.bytes_read : bytes;
    if (packed > 0)
        factor = unpacked / (double)packed;
    tool_input_close(&input);
    return factor;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int order_hashes(const void *one, const void *other)
{
    const bloomery_hash *a = one, *b = other;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi < b->hi ? -1 : a->hi > b->hi;
}

static size_t count_different(struct sampler *sampler)
{
    size_t different = sampler->count > 0;
    if (sampler->count > 0)
        qsort(sampler->hashes, sampler->count, sizeof(*sampler->hashes), order_hashes);
    for (size_t i = 1; i < sampler->count; i++)
        different += order_hashes(&sampler->hashes[i - 1], &sampler->hashes[i]) != 0;
    return different;
}

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
    double owed = 1, factor = 0;
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
            sampler->partly = true;
        owed -= floor(owed);
        sampler->size->bytes += (packed ? factor : 1) * (double)bytes;
    }
}

void tool_corpus_size_get(const struct tool_judge *judge, const struct tool_source *source,
                          struct tool_corpus_size *size)
{
    struct tool_judge alone = *judge; /* keys of other filters are keys all the same */
    struct sampler sampler = {.judge = &alone, .size = size};
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
        if (sampler.keys > 0)
            size->different = size->keys * (double)count_different(&sampler) / (double)sampler.keys;
    }
    size->sampled_texts = sampler.documents->texts;
    size->whole = !sampler.partly;
    free(sampler.hashes);
    free(sampler.buffer);
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

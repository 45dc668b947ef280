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
 *
 * A second estimate is too low rather than too high: the keys of the sample, and f1^2 / (2 f2) that
 * were not met, if f1 were met in one place and f2 in several (Chao, "Nonparametric estimation of
 * the number of classes in a population", 1984). It is near the truth if all keys come about
 * equally often. Between the two only counting tells.
 */
#include "command/dedupe/sample.h"
#include "base/system.h"
#include "command/dedupe/documents.h"
#include "filter/hasher.h"
#include "input/chunks.h"
#include "input/input.h"
#include "input/unpack.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* Sorts by the bytes from bit `shift` on, an even number of them, the lowest first. */
static void sort_by_bytes(uint64_t *hashes, size_t count, unsigned shift)
{
    enum { BYTE = 256 };
    uint64_t *other = tool_allocate(count * sizeof(*other));
    uint64_t *from = hashes, *to = other;
    for (; shift < 64; shift += 8) {
        size_t places[BYTE] = {0}, next = 0;
        for (size_t i = 0; i < count; i++)
            places[from[i] >> shift & (BYTE - 1)]++;
        for (size_t i = 0; i < BYTE; i++) {
            const size_t begin = next;
            next += places[i];
            places[i] = begin;
        }
        assert(next == count);
        for (size_t i = 0; i < count; i++)
            to[places[from[i] >> shift & (BYTE - 1)]++] = from[i];
        uint64_t *const sorted = to;
        to = from;
        from = sorted;
    }
    assert(from == hashes); /* after an even number of bytes */
    free(other);
}

/* By the upper four bytes. Few hashes agree in these, and insertion puts them right. Lines can be
 * chosen whose hashes do; then by all bytes. With qsort dedupe of 2 million lines took 1.3 times as
 * long, and all eight bytes took twice the instructions. */
static void sort_hashes(uint64_t *hashes, size_t count)
{
    if (count < 2)
        return;
    sort_by_bytes(hashes, count, 32);
    size_t moves = 0;
    for (size_t i = 1; i < count && moves <= count; i++) {
        const uint64_t hash = hashes[i];
        size_t at = i;
        for (; at > 0 && hashes[at - 1] > hash; at--)
            hashes[at] = hashes[at - 1];
        hashes[at] = hash;
        moves += i - at;
    }
    if (moves > count)
        sort_by_bytes(hashes, count, 0);
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

double tool_places_distinct(struct tool_places *places, double whole, double *least)
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
    const double most = whole * (double)single + (double)several;
    const double unmet =
        whole > 1 ? (double)single * (double)single / (2 * (double)several + 1) : 0;
    if (least != NULL)
        *least = fmin(most, (double)(single + several) + unmet);
    return most;
}

void tool_places_free(struct tool_places *places)
{
    free(places->buffer);
    free(places->hashes);
    places->buffer = NULL;
    places->hashes = NULL;
    places->capacity = places->count = places->room = 0;
}

double tool_keys_of_sample(double distinct, double all, bool whole)
{
    enum { LEAST = 1 << 16 };
    const double least = all < LEAST ? all : LEAST;
    return whole || distinct > least ? distinct : least;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/*
 * Of lines up to 64 places of 64 KiB, spread over the inputs by their sizes, are read: inputs of
 * up to 4 MiB whole. The keys there are made by the rule of the run, so that the distinct ones are
 * those of the field or member that is compared. An estimate that is too low costs a filter that
 * grows, and one that is too high costs some memory. Reading all of the input once more, to count,
 * would cost more.
 */

enum {
    PLACES = 64,
    LINE_PLACE_BYTES = 1 << 16,
    LINE_ROOM = 1 << 20,
    HEADS = 16, /* inputs that are looked at whether they are packed, sampled or not */
};

struct line_sampler {
    const struct tool_source *source;
    const bloomery_key_rule *rule;
    struct tool_places places;
    bloomery_filter *hasher;
    struct tool_made *made;
    bloomery_hash *hashes;
    bool plain;                  /* lines of this input are hashed whole */
    struct tool_columns columns; /* of this input */
    uint64_t bytes, records;     /* that were sampled */
};

/* An input, as it stands before it is read. */
struct stretch {
    uint64_t from, bytes;
};

static void hash_keys(struct line_sampler *sampler, const bloomery_key *keys, size_t count)
{
    const bloomery_status status = tool_batch_hash(sampler->hasher, keys, count, sampler->hashes);
    assert(status == BLOOMERY_OK);
    (void)status;
    tool_places_hash(&sampler->places, sampler->hashes, count);
}

static void sample_records(void *context, const unsigned char *from, size_t bytes)
{
    struct line_sampler *sampler = context;
    bloomery_key keys[TOOL_BATCH_ROOM];
    size_t count;
    struct tool_chunk chunk = {.from = from,
                               .end = from + bytes,
                               .begin = from,
                               .delimiter = sampler->places.delimiter,
                               .layout = sampler->source->layout,
                               .columns = sampler->columns};
    while ((count = tool_chunk_keys(&chunk, keys)) > 0) {
        sampler->records += count;
        if (sampler->plain) {
            hash_keys(sampler, keys, count);
        } else {
            tool_rule_apply(sampler->rule, &chunk, keys, count, sampler->made);
            hash_keys(sampler, sampler->made->keys, sampler->made->count);
        }
    }
    sampler->bytes += bytes;
}

/* Finds the columns that the rule names in the header of an input. If they are not there, whole
 * lines are counted: reading it will say what is wrong. */
static void name_columns(struct line_sampler *sampler, int file, const struct stretch *input)
{
    const struct tool_layout *layout = sampler->source->layout;
    char error[256];
    uint64_t count = 0;
    sampler->plain = tool_records_are_keys(sampler->rule, sampler->source);
    if (layout == NULL || layout->field_count == 0)
        return;
    unsigned char *head = tool_places_buffer(&sampler->places, LINE_PLACE_BYTES);
    if (tool_read_at(file, input->from, head, LINE_PLACE_BYTES, &count) != 0)
        count = 0;
    const unsigned char *end = memchr(head, sampler->places.delimiter, (size_t)count);
    const size_t bytes = end != NULL ? (size_t)(end - head) : (size_t)count;
    sampler->plain = tool_layout_find_columns(layout, bloomery_key_of(head, bytes),
                                              &sampler->columns, error, sizeof(error)) != NULL;
}

/* Where an input begins, and how long it is. Nothing, if it can't be opened. False if it is not a
 * plain file. */
static bool measure(const char *path, struct stretch *input)
{
    struct stat facts;
    const bool from_stdin = tool_path_is_stdin(path);
    *input = (struct stretch){0};
    if (from_stdin ? fstat(STDIN_FILENO, &facts) != 0 : stat(path, &facts) != 0)
        return !from_stdin;
    if (!S_ISREG(facts.st_mode))
        return false;
    const off_t from = from_stdin ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    if (from >= 0 && from < facts.st_size)
        *input = (struct stretch){(uint64_t)from, (uint64_t)(facts.st_size - from)};
    return true;
}

/* Samples at most `most` places of an input. False if it is packed. */
static bool sample_input(struct line_sampler *sampler, const char *path,
                         const struct stretch *input, size_t most)
{
    const bool from_stdin = tool_path_is_stdin(path);
    const int file =
        from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return true;
    unsigned char head[4096];
    uint64_t count = 0;
    bool undecided;
    const bool good = tool_read_at(file, input->from, head, sizeof(head), &count) == 0 &&
                      tool_packing_of(head, (size_t)count, &undecided) == TOOL_PLAIN;
    if (good && most > 0) {
        name_columns(sampler, file, input);
        tool_places_read(&sampler->places, file, input->from, input->bytes, most);
    }
    if (!from_stdin)
        close(file);
    return good;
}

/* Each input gets places by its share of all bytes; if all are few, all of them are read. */
static bool sample_files_of_lines(struct line_sampler *sampler, const struct stretch *inputs,
                                  uint64_t all)
{
    const bool whole = all <= (uint64_t)PLACES * LINE_PLACE_BYTES;
    double owed = 0.999; /* a place for the first one, and no more than PLACES in all */
    for (size_t i = 0; i < tool_source_count(sampler->source); i++) {
        if (inputs[i].bytes == 0)
            continue;
        owed += (double)PLACES * (double)inputs[i].bytes / (double)all;
        const size_t most = whole ? SIZE_MAX : (size_t)owed;
        owed -= floor(owed);
        sampler->places.partly = sampler->places.partly || most == 0;
        if ((most > 0 || i < HEADS) &&
            !sample_input(sampler, tool_source_path(sampler->source, i), &inputs[i], most))
            return false;
    }
    return true;
}

static void conclude(struct line_sampler *sampler, uint64_t all, struct tool_estimate *estimate)
{
    estimate->whole = !sampler->places.partly;
    if (sampler->bytes == 0) { /* nothing, or lines longer than any place */
        estimate->records = estimate->distinct = estimate->least = all > 0;
        return;
    }
    const double times = (double)all / (double)sampler->bytes;
    estimate->records = times * (double)sampler->records;
    estimate->distinct =
        tool_places_distinct(&sampler->places, estimate->whole ? 1 : times, &estimate->least);
    if (estimate->distinct > estimate->records)
        estimate->distinct = estimate->records;
}

/* Takes a sample of places of that size, with the bytes of all inputs. False if one of them is not
 * a plain file. tool_places_free ends it. */
static bool sample_sources(struct line_sampler *sampler, size_t place_bytes, uint64_t *all)
{
    const struct tool_source *source = sampler->source;
    const size_t count = tool_source_count(source);
    struct stretch *inputs = tool_allocate((count + 1) * sizeof(*inputs));
    bool good = true;
    *all = 0;
    sampler->places = (struct tool_places){.delimiter = source->delimiter,
                                           .place_bytes = place_bytes,
                                           .line_room = LINE_ROOM,
                                           .take = sample_records,
                                           .context = sampler};
    for (size_t i = 0; i < count && good; i++) {
        good = measure(tool_source_path(source, i), &inputs[i]);
        *all += inputs[i].bytes;
    }
    sampler->hasher = good ? tool_hasher_least(BLOOMERY_HASH_XXH3_64, NULL) : NULL;
    good = good && sampler->hasher != NULL;
    if (good) {
        sampler->made = tool_made_new();
        sampler->hashes = tool_allocate(TOOL_BATCH_ROOM * sizeof(*sampler->hashes));
        good = sample_files_of_lines(sampler, inputs, *all);
        tool_made_free(sampler->made);
        free(sampler->hashes);
    }
    bloomery_free(sampler->hasher);
    free(inputs);
    return good;
}

bool tool_estimate_keys(const struct tool_source *source, const bloomery_key_rule *rule,
                        struct tool_estimate *estimate)
{
    struct line_sampler sampler = {.source = source, .rule = rule};
    uint64_t all;
    *estimate = (struct tool_estimate){0};
    const bool good = sample_sources(&sampler, LINE_PLACE_BYTES, &all);
    if (good)
        conclude(&sampler, all, estimate);
    tool_places_free(&sampler.places);
    return good;
}

/*
 * How many lines come again: within a place as many as there, of each place; and far apart, each
 * with a line somewhere else. Of the latter a pair is in the sample with a chance of 1 / times^2,
 * so they are times^2 as many in the whole, and times as great a part of its lines.
 */
bool tool_lines_seem_different(const struct tool_source *source, const bloomery_key_rule *rule,
                               uint64_t least)
{
    struct line_sampler sampler = {.source = source, .rule = rule};
    uint64_t all;
    bool seem = tool_records_are_keys(rule, source) &&
                sample_sources(&sampler, LINE_PLACE_BYTES / 4, &all) && sampler.bytes > 0;
    if (seem) {
        const double times = (double)all / (double)sampler.bytes, lines = (double)sampler.records;
        const double met = (double)sampler.places.count; /* in each place once */
        const double different = tool_places_distinct(&sampler.places, 1, NULL);
        seem = times * lines > (double)least &&
               lines - met + (met - different) * times <= TOOL_HARDLY_REPEATED * lines;
    }
    tool_places_free(&sampler.places);
    return seem;
}

/* ---- Documents ------------------------------------------------------------------------------- */

/*
 * Of documents up to 64 places that are spread over the inputs are read: the lines that begin in
 * 256 KiB at each. Of a packed input the beginning is sampled, and from how much came out of its
 * first megabyte follows how much the whole will be.
 *
 * The filter is planned for the distinct keys of the whole, as they are estimated above: rather too
 * many than too few.
 */

enum {
    DOCUMENT_PLACE_BYTES = 256 << 10,
    PACKED_SAMPLE = 1 << 20, /* packed bytes that are unpacked for the ratio */
    PLACE_ROOM = 64 << 20,   /* a place with its last line; a longer line is left out */
    UNPACKED_AT_ONCE = 4 << 20,
};

struct document_sampler {
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

/* Counts the documents of whole lines, of which the last one has its line end. */
static void sample_lines(void *context, const unsigned char *from, size_t bytes)
{
    struct document_sampler *sampler = context;
    struct tool_documents *documents = sampler->documents;
    struct tool_chunk chunk = {.from = from, .end = from + bytes, .delimiter = '\n', .begin = from};
    struct tool_adding *adding = &documents->units->adding;
    const double start = now();
    tool_documents_read(documents, &chunk);
    sampler->seconds += now() - start;
    sampler->size->sampled_bytes += bytes;
    sampler->size->sampled_documents += documents->count;
    sampler->documents_seen += documents->count;
    sampler->paragraphs += documents->units->paragraph_count;
    for (size_t i = 0; i < documents->units->paragraph_count; i++) {
        const uint32_t keys = tool_documents_keys_of(documents, i);
        sampler->keys += keys;
        sampler->size->paragraphs_of[keys < TOOL_SIZE_KEYS ? keys : TOOL_SIZE_KEYS]++;
    }
    tool_places_hash(&sampler->places, adding->hashes, adding->count);
}

/* The factor by which an input grows when it is unpacked. Its beginning is sampled. */
static double sample_packed(struct document_sampler *sampler, char *path, uint64_t bytes)
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
    while (used < PLACE_ROOM &&
           (used <= DOCUMENT_PLACE_BYTES || memchr(buffer + DOCUMENT_PLACE_BYTES - 1, '\n',
                                                   used - DOCUMENT_PLACE_BYTES + 1) == NULL)) {
        buffer = tool_places_buffer(places, used + UNPACKED_AT_ONCE);
        count = tool_input_read(&input, buffer + used, UNPACKED_AT_ONCE);
        if (count <= 0)
            break;
        used += (size_t)count;
        unpacked += (double)count;
    }
    places->partly = places->partly || used > DOCUMENT_PLACE_BYTES || count > 0;
    tool_places_take(places, DOCUMENT_PLACE_BYTES, used, count == 0);
    while (count > 0 && input.stream.bytes_read <= PACKED_SAMPLE &&
           (count = tool_input_read(&input, buffer, UNPACKED_AT_ONCE)) > 0)
        unpacked += (double)count;
    const uint64_t packed = count > 0 ? input.stream.bytes_read : bytes;
    if (packed > 0)
        factor = unpacked / (double)packed;
    tool_input_close(&input);
    return factor;
}

/* Takes the sample: each input gets places by its share of all bytes. Of packed ones the first is
 * sampled and every one after a number of bytes; between them the last factor holds. */
static void sample_files_of_documents(struct document_sampler *sampler,
                                      const struct tool_source *source, uint64_t all)
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
        if (!packed && owed >= 1) {
            const char *why;
            const int file = tool_open_regular(path, &why); /* the reading says why it can't be */
            if (file >= 0) {
                tool_places_read(&sampler->places, file, 0, bytes, (size_t)owed);
                close(file);
            }
        } else if (packed && (owed >= 1 || factor == 0))
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
    struct document_sampler sampler = {.size = size};
    sampler.places = (struct tool_places){.delimiter = '\n',
                                          .place_bytes = DOCUMENT_PLACE_BYTES,
                                          .line_room = PLACE_ROOM,
                                          .take = sample_lines,
                                          .context = &sampler};
    uint64_t all = 0; /* bytes of the inputs as they lie there */
    *size = (struct tool_corpus_size){0};
    size->known = true;
    for (size_t i = 0; i < tool_source_count(source) && size->known; i++) {
        const char *path = tool_source_path(source, i);
        struct stretch input;
        size->known = !tool_path_is_stdin(path) && measure(path, &input);
        all += size->known ? input.bytes : 0;
    }
    if (!size->known || all == 0)
        return;
    alone.against_count = 0;
    alone.no_add = false;
    sampler.documents = tool_documents_new(&alone);
    sample_files_of_documents(&sampler, source, all);
    if (size->sampled_bytes > 0) {
        const double whole = size->bytes / (double)size->sampled_bytes;
        size->documents = whole * (double)sampler.documents_seen;
        size->paragraphs = whole * (double)sampler.paragraphs;
        size->keys = whole * (double)sampler.keys;
        size->seconds = whole * sampler.seconds;
        size->different = tool_places_distinct(&sampler.places, whole, NULL);
    }
    size->sampled_texts = sampler.documents->texts;
    size->whole = !sampler.places.partly;
    tool_places_free(&sampler.places);
    tool_documents_free(sampler.documents);
}

uint64_t tool_corpus_size_keys(const struct tool_corpus_size *size)
{
    return TOOL_CORPUS_KEYS_MIN +
           (uint64_t)(1.05 * tool_keys_of_sample(size->different, size->keys, size->whole));
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
    if (judge->near != NULL) /* a document with keys has those of all bands */
        return -size->keys / judge->near->bands * expm1(judge->near->bands * log1p(-rate));
    for (uint32_t keys = 0; keys <= TOOL_SIZE_KEYS; keys++) {
        const uint64_t most = (uint64_t)judge->threshold * keys;
        const uint32_t needed = (uint32_t)((most + TOOL_THRESHOLD_ONE - 1) / TOOL_THRESHOLD_ONE);
        all += size->paragraphs_of[keys];
        if (keys > 0 && rate > 0)
            wrong += (double)size->paragraphs_of[keys] * chance(keys, needed, rate);
    }
    return all > 0 ? size->paragraphs * wrong / (double)all : 0;
}

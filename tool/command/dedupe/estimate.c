/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to 64 places of 64 KiB, spread over the inputs by their sizes, are read (places.c): inputs of
 * up to 4 MiB whole. The keys there are made by the rule of the run, so that the distinct ones are
 * those of the field or member that is compared. An estimate that is too low costs a filter that
 * grows, and one that is too high costs some memory. Reading all of the input once more, to count,
 * would cost more.
 */
#include "command/dedupe/estimate.h"

#include "base/system.h"
#include "command/dedupe/places.h"
#include "filter/hasher.h"
#include "input/chunks.h"
#include "input/unpack.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLACES = 64,
    PLACE_BYTES = 1 << 16,
    LINE_ROOM = 1 << 20,
    HEADS = 16, /* inputs that are looked at whether they are packed, sampled or not */
};

struct sampler {
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

/* ---- Keys ------------------------------------------------------------------------------------ */

static void hash_keys(struct sampler *sampler, const bloomery_key *keys, size_t count)
{
    const bloomery_status status = tool_batch_hash(sampler->hasher, keys, count, sampler->hashes);
    assert(status == BLOOMERY_OK);
    (void)status;
    tool_places_hash(&sampler->places, sampler->hashes, count);
}

static void sample_records(void *context, const unsigned char *from, size_t bytes)
{
    struct sampler *sampler = context;
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
static void name_columns(struct sampler *sampler, int file, const struct stretch *input)
{
    const struct tool_layout *layout = sampler->source->layout;
    char error[256];
    uint64_t count = 0;
    sampler->plain = tool_records_are_keys(sampler->rule, sampler->source);
    if (layout == NULL || layout->field_count == 0)
        return;
    unsigned char *head = tool_places_buffer(&sampler->places, PLACE_BYTES);
    if (tool_read_at(file, input->from, head, PLACE_BYTES, &count) != 0)
        count = 0;
    const unsigned char *end = memchr(head, sampler->places.delimiter, (size_t)count);
    const size_t bytes = end != NULL ? (size_t)(end - head) : (size_t)count;
    sampler->plain = tool_layout_find_columns(layout, bloomery_key_of(head, bytes),
                                              &sampler->columns, error, sizeof(error)) != NULL;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

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

static bool is_packed(int file, const struct stretch *input)
{
    unsigned char head[4096];
    uint64_t count = 0;
    bool undecided;
    return tool_read_at(file, input->from, head, sizeof(head), &count) != 0 ||
           tool_packing_of(head, (size_t)count, &undecided) != TOOL_PLAIN;
}

/* Samples at most `most` places of an input. False if it is packed. */
static bool sample_input(struct sampler *sampler, const char *path, const struct stretch *input,
                         size_t most)
{
    const bool from_stdin = tool_path_is_stdin(path);
    const int file =
        from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return true;
    const bool good = !is_packed(file, input);
    if (good && most > 0) {
        name_columns(sampler, file, input);
        tool_places_read(&sampler->places, file, input->from, input->bytes, most);
    }
    if (!from_stdin)
        close(file);
    return good;
}

/* Each input gets places by its share of all bytes; if all are few, all of them are read. */
static bool sample_inputs(struct sampler *sampler, const struct stretch *inputs, uint64_t all)
{
    const bool whole = all <= (uint64_t)PLACES * PLACE_BYTES;
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

static void conclude(struct sampler *sampler, uint64_t all, struct tool_estimate *estimate)
{
    estimate->whole = !sampler->places.partly;
    if (sampler->bytes == 0) { /* nothing, or lines longer than any place */
        estimate->records = estimate->distinct = all > 0;
        return;
    }
    const double times = (double)all / (double)sampler->bytes;
    estimate->records = times * (double)sampler->records;
    estimate->distinct = tool_places_distinct(&sampler->places, estimate->whole ? 1 : times);
    if (estimate->distinct > estimate->records)
        estimate->distinct = estimate->records;
}

bool tool_estimate_keys(const struct tool_source *source, const bloomery_key_rule *rule,
                        struct tool_estimate *estimate)
{
    const size_t count = tool_source_count(source);
    struct sampler sampler = {.source = source, .rule = rule};
    struct stretch *inputs = tool_allocate((count + 1) * sizeof(*inputs));
    uint64_t all = 0;
    bool good = true;
    *estimate = (struct tool_estimate){0};
    for (size_t i = 0; i < count && good; i++) {
        good = measure(tool_source_path(source, i), &inputs[i]);
        all += inputs[i].bytes;
    }
    sampler.hasher = good ? tool_hasher_least(BLOOMERY_HASH_XXH3_64, NULL) : NULL;
    good = good && sampler.hasher != NULL;
    if (good) {
        sampler.places = (struct tool_places){.delimiter = source->delimiter,
                                              .place_bytes = PLACE_BYTES,
                                              .line_room = LINE_ROOM,
                                              .take = sample_records,
                                              .context = &sampler};
        sampler.made = tool_made_new();
        sampler.hashes = tool_allocate(TOOL_BATCH_ROOM * sizeof(*sampler.hashes));
        good = sample_inputs(&sampler, inputs, all);
        if (good)
            conclude(&sampler, all, estimate);
        tool_places_free(&sampler.places);
        tool_made_free(sampler.made);
        free(sampler.hashes);
    }
    bloomery_free(sampler.hasher);
    free(inputs);
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/fill.h"

#include "base/system.h"
#include "input/chunks.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A record of which no key can be made ends it. The first one in the input is shown, however many
 * threads there are: chunks before it have been taken, and are read to their end. */
static const char no_key[] = "no key can be made of it";

/* ---- Counting -------------------------------------------------------------------------------- */

struct counting {
    struct tool_chunks *chunks;
    const bloomery_key_rule *rule;
    bool passes_over;
    atomic_bool ended;
    struct tool_tally *tallies; /* of each thread */
};

/* Whether there may be fewer keys than records. */
static bool passes_over(const bloomery_key_rule *rule, const struct tool_source *source)
{
    return !tool_layout_is_none(source->layout) || rule->field != 0 || rule->comment != 0 ||
           (rule->flags & (TOOL_RULE_FORMS | BLOOMERY_RULE_SKIP_EMPTY)) != 0;
}

static void count_records(struct counting *counting)
{
    struct tool_chunk chunk = {0};
    while (tool_chunks_take(counting->chunks, &chunk)) {
        chunk.records = tool_split_count(chunk.from, chunk.end, chunk.delimiter);
        chunk.from = chunk.end;
    }
    tool_chunk_free(&chunk);
}

static void count_keys(struct counting *counting, struct tool_tally *tally)
{
    struct tool_chunk chunk = {0};
    struct tool_made *made = tool_made_new();
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    while (!atomic_load(&counting->ended) && tool_chunks_take(counting->chunks, &chunk)) {
        size_t count;
        while (made->tally.malformed == 0 && (count = tool_chunk_keys(&chunk, records)) > 0)
            tool_rule_apply(counting->rule, &chunk, records, count, made);
        if (made->tally.malformed > 0)
            atomic_store(&counting->ended, true);
    }
    tool_chunks_give_back(counting->chunks, &chunk);
    tool_tally_add(tally, &made->tally);
    free(records);
    tool_made_free(made);
    tool_chunk_free(&chunk);
}

static void count_chunks(void *context, uint32_t number)
{
    struct counting *counting = context;
    if (counting->passes_over)
        count_keys(counting, &counting->tallies[number]);
    else
        count_records(counting);
}

bool tool_lines_count(const struct tool_source *source, const bloomery_key_rule *rule,
                      const char *why_pipe, bool quiet, uint64_t *keys)
{
    const char *culprit;
    if (!tool_source_readable_twice(source, &culprit)) {
        tool_usage("%s: %s", tool_path_said(culprit), why_pipe);
        return false;
    }
    struct tool_source once = *source;
    once.unwarned = true;
    struct counting counting = {tool_chunks_open(&once, quiet ? NULL : "counting"), rule,
                                passes_over(rule, source), false, NULL};
    const uint32_t threads = tool_chunks_threads(counting.chunks);
    counting.tallies = tool_allocate(threads * sizeof(*counting.tallies));
    memset(counting.tallies, 0, threads * sizeof(*counting.tallies));
    tool_team_run(threads, count_chunks, &counting);

    struct tool_tally first = {0};
    for (uint32_t i = 0; i < threads; i++)
        tool_tally_add(&first, &counting.tallies[i]);
    free(counting.tallies);
    *keys = tool_chunks_records(counting.chunks) - first.passed_over;
    tool_tally_place(&first, counting.chunks);
    bool all_read = tool_chunks_close(counting.chunks);
    /* What else there is to say is said when the keys are added. */
    first.without_field = first.open_quotes = first.broken = first.too_deep = 0;
    first.malformed = first.malformed > 0;
    return tool_tally_say(&first, rule, no_key) && all_read;
}

/* ---- All keys -------------------------------------------------------------------------------- */

/* What one thread has: it alone writes here, so it shares no cache line with another. */
struct adder {
    struct tool_chunk chunk;
    struct tool_made *made; /* NULL: records are the keys */
    bloomery_key records[TOOL_BATCH_ROOM];
};

struct adding {
    struct tool_chunks *chunks;
    const bloomery_key_rule *rule;
    atomic_bool ended;
    uint32_t threads;
    struct adder **adders;
    struct tool_hasher *hasher; /* where the keys are hashed and not added */
    bloomery_builder *builder;  /* where they are for a static filter */
};

/* Makes keys of the next records; 0 if the chunk, or the adding, has come to its end. */
static size_t next_made(struct adding *adding, struct adder *adder)
{
    struct tool_made *made = adder->made;
    size_t count;
    while (made->tally.malformed == 0 &&
           (count = tool_chunk_keys(&adder->chunk, adder->records)) > 0) {
        size_t keys = tool_rule_apply(adding->rule, &adder->chunk, adder->records, count, made);
        if (made->tally.malformed == 0 && keys > 0)
            return keys;
    }
    if (made->tally.malformed > 0)
        atomic_store(&adding->ended, true);
    return 0;
}

/* A bloomery_source: the next keys of a thread's chunk, or of its next chunk. */
static size_t next_keys(void *context, uint32_t thread, const bloomery_key **keys)
{
    struct adding *adding = context;
    assert(thread < adding->threads);
    struct adder *adder = adding->adders[thread];
    while (true) {
        size_t count = 0;
        if (adder->chunk.open)
            count = adder->made != NULL ? next_made(adding, adder)
                                        : tool_chunk_keys(&adder->chunk, adder->records);
        *keys = adder->made != NULL ? adder->made->keys : adder->records;
        if (count > 0)
            return count;
        if (atomic_load(&adding->ended)) {
            tool_chunks_give_back(adding->chunks, &adder->chunk);
            return 0;
        }
        if (!tool_chunks_take(adding->chunks, &adder->chunk))
            return 0;
    }
}

static struct adder *adder_new(const bloomery_key_rule *rule, const struct tool_source *source)
{
    struct adder *adder = tool_allocate(sizeof(struct adder));
    memset(&adder->chunk, 0, sizeof(struct tool_chunk));
    adder->made = tool_records_are_keys(rule, source) ? NULL : tool_made_new();
    return adder;
}

static void adder_free(struct adder *adder, struct tool_tally *tally)
{
    if (adder->made != NULL)
        tool_tally_add(tally, &adder->made->tally);
    tool_made_free(adder->made);
    tool_chunk_free(&adder->chunk);
    free(adder);
}

static void begin(struct adding *adding, const struct tool_source *source,
                  const bloomery_key_rule *rule, const char *verb)
{
    *adding = (struct adding){.chunks = tool_chunks_open(source, verb), .rule = rule};
    adding->threads = tool_chunks_threads(adding->chunks);
    adding->adders = tool_allocate(adding->threads * sizeof(struct adder *));
    for (uint32_t i = 0; i < adding->threads; i++)
        adding->adders[i] = adder_new(rule, source);
}

/* Fills what the change knows of records. False if there was an error in the input, after messages,
 * or in what was `done` with the keys, which has been reported. */
static bool end(struct adding *adding, bool done, struct tool_change *change)
{
    struct tool_tally tally = {0};
    for (uint32_t i = 0; i < adding->threads; i++)
        adder_free(adding->adders[i], &tally);
    free(adding->adders);
    uint64_t records = tool_chunks_records(adding->chunks);
    tool_tally_place(&tally, adding->chunks);
    bool all_read = tool_chunks_close(adding->chunks);
    tally.malformed = tally.malformed > 0;
    if (!tool_tally_say(&tally, adding->rule, no_key) || !all_read || !done)
        return false;
    assert(tally.passed_over <= records);
    change->records = records - tally.passed_over;
    change->passed_over = tally.passed_over;
    change->headers = tally.headers;
    return tool_tally_has_keys(&tally, adding->rule, change->records);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

bool tool_lines_add(const struct tool_source *source, const bloomery_key_rule *rule,
                    bloomery_filter *filter, const char *name, const char *verb, bool quiet,
                    struct tool_change *change)
{
    struct adding adding;
    begin(&adding, source, rule, quiet ? NULL : verb);
    bloomery_error error;
    bloomery_status status = bloomery_add_from(filter, next_keys, &adding, adding.threads, &error);
    if (status != BLOOMERY_OK)
        tool_library_error(name, &error);
    return end(&adding, status == BLOOMERY_OK, change);
}

/* ---- Hashing --------------------------------------------------------------------------------- */

/* If hashes can't be kept, the others need not wait for input that may be long in coming. */
static void hash_chunks(void *context, uint32_t number)
{
    struct adding *adding = context;
    const bloomery_key *keys;
    size_t count;
    while ((count = next_keys(adding, number, &keys)) > 0)
        if (!tool_hasher_take(adding->hasher, number, keys, count)) {
            tool_chunks_stop(adding->chunks);
            tool_chunks_give_back(adding->chunks, &adding->adders[number]->chunk);
            return;
        }
}

bool tool_lines_hash(const struct tool_source *source, const bloomery_key_rule *rule,
                     struct tool_hasher *hasher, bool quiet, struct tool_change *change)
{
    struct adding adding;
    struct tool_source stoppable = *source;
    stoppable.stops = TOOL_STOPS_EARLY;
    begin(&adding, &stoppable, rule, quiet ? NULL : "reading");
    adding.hasher = hasher;
    tool_hasher_start(hasher, adding.threads);
    tool_team_run(adding.threads, hash_chunks, &adding);
    const bool kept = !tool_hasher_failed(hasher);
    if (!end(&adding, kept, change)) {
        tool_hasher_say(hasher);
        return false;
    }
    return true;
}

/* ---- Building -------------------------------------------------------------------------------- */

/* What failed in one thread fails in all of them, and again afterwards. */
static void build_chunks(void *context, uint32_t number)
{
    struct adding *adding = context;
    const bloomery_key *list;
    size_t count;
    while ((count = next_keys(adding, number, &list)) > 0) {
        const bloomery_keys keys = bloomery_keys_of_list(list, count);
        if (bloomery_builder_add(adding->builder, &keys, NULL) != BLOOMERY_OK) {
            tool_chunks_stop(adding->chunks);
            tool_chunks_give_back(adding->chunks, &adding->adders[number]->chunk);
            return;
        }
    }
}

bool tool_lines_build(const struct tool_source *source, const bloomery_key_rule *rule,
                      bloomery_builder *builder, bool quiet, struct tool_change *change)
{
    struct adding adding;
    struct tool_source stoppable = *source;
    bloomery_error error;
    stoppable.stops = TOOL_STOPS_EARLY;
    begin(&adding, &stoppable, rule, quiet ? NULL : "reading");
    adding.builder = builder;
    tool_team_run(adding.threads, build_chunks, &adding);
    const bloomery_keys none = bloomery_keys_of_list(NULL, 0);
    const bool kept = bloomery_builder_add(builder, &none, &error) == BLOOMERY_OK;
    if (!kept)
        tool_library_error(NULL, &error);
    return end(&adding, kept, change);
}

/* ---- What it did ----------------------------------------------------------------------------- */

void tool_change_find(const bloomery_scan_result *before, const bloomery_filter *filter,
                      struct tool_change *change)
{
    const uint64_t records = change->records;
    const bloomery_scan_result *now = &change->facts.scan;
    tool_facts_read(filter, &change->facts);
    assert(now->bits_set >= before->bits_set);
    change->new_bits = now->bits_set - before->bits_set;
    if (!change->facts.info.has_bits) /* a static filter: built from these very keys */
        change->estimated_new_keys = now->estimated_keys;
    else if (change->new_bits == 0)
        change->estimated_new_keys = 0;
    else
        change->estimated_new_keys = now->estimated_keys - before->estimated_keys;
    /* Whatever the estimate: bits are set by new keys, and no more are new than there are. */
    if (change->new_bits > 0 && change->estimated_new_keys < 1)
        change->estimated_new_keys = 1;
    if (!isinf(now->estimated_keys) && change->estimated_new_keys > (double)records)
        change->estimated_new_keys = (double)records;
}

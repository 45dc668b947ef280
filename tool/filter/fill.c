/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/fill.h"

#include "base/experimental.h"
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
    /* Where the keys go that are not added at once; if there is neither, they are only counted. */
    struct tool_hasher *hasher; /* they are hashed */
    bloomery_builder *builder;  /* they are for a static filter */
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

static void begin(struct adding *adding, const struct tool_source *source,
                  const bloomery_key_rule *rule, const char *verb)
{
    *adding = (struct adding){.chunks = tool_chunks_open(source, verb), .rule = rule};
    adding->threads = tool_chunks_threads(adding->chunks);
    adding->adders = tool_allocate(adding->threads * sizeof(struct adder *));
    for (uint32_t i = 0; i < adding->threads; i++) {
        struct adder *adder = adding->adders[i] = tool_allocate(sizeof(struct adder));
        adder->chunk = (struct tool_chunk){0};
        adder->made = tool_records_are_keys(rule, source) ? NULL : tool_made_new();
    }
}

/* Sums up what the threads have seen, and ends the reading. How many records there were.
 * `all_read`: whether that was all of the input; if not, after messages. */
static uint64_t close_chunks(struct adding *adding, struct tool_tally *tally, bool *all_read)
{
    *tally = (struct tool_tally){0};
    for (uint32_t i = 0; i < adding->threads; i++) {
        struct adder *adder = adding->adders[i];
        if (adder->made != NULL)
            tool_tally_add(tally, &adder->made->tally);
        tool_made_free(adder->made);
        tool_chunk_free(&adder->chunk);
        free(adder);
    }
    free(adding->adders);
    const uint64_t records = tool_chunks_records(adding->chunks);
    assert(tally->passed_over <= records);
    tool_tally_place(tally, adding->chunks);
    *all_read = tool_chunks_close(adding->chunks);
    tally->malformed = tally->malformed > 0;
    return records;
}

/* Fills what the change knows of records. False if there was an error in the input, after messages,
 * or in what was `done` with the keys, which has been reported. */
static bool end(struct adding *adding, bool done, struct tool_change *change)
{
    struct tool_tally tally;
    bool all_read;
    const uint64_t records = close_chunks(adding, &tally, &all_read);
    if (!tool_tally_say(&tally, adding->rule, no_key) || !all_read || !done)
        return false;
    change->records = records - tally.passed_over;
    change->passed_over = tally.passed_over;
    change->headers = tally.headers;
    return tool_tally_has_keys(&tally, adding->rule, change->records);
}

/* ---- What is done with them ------------------------------------------------------------------ */

/* Takes the keys of a thread's chunks. If they can't be kept, the other threads need not wait for
 * input that may be slow: what failed in one fails in all of them, and is reported afterwards. */
static void take_keys(void *context, uint32_t number)
{
    struct adding *adding = context;
    const bloomery_key *list;
    bool kept = true;
    size_t count;
    while (kept && (count = next_keys(adding, number, &list)) > 0) {
        const bloomery_keys keys = bloomery_keys_of_list(list, count);
        if (adding->hasher != NULL)
            kept = tool_hasher_take(adding->hasher, number, list, count);
        else if (adding->builder != NULL)
            kept = bloomery_builder_add(adding->builder, &keys, NULL) == BLOOMERY_OK;
    }
    if (!kept) {
        tool_chunks_stop(adding->chunks);
        tool_chunks_give_back(adding->chunks, &adding->adders[number]->chunk);
    }
}

static void count_records(void *context, uint32_t number)
{
    struct adding *adding = context;
    struct tool_chunk *chunk = &adding->adders[number]->chunk;
    while (tool_chunks_take(adding->chunks, chunk)) {
        chunk->records = tool_split_count(chunk->from, chunk->end, chunk->delimiter);
        chunk->from = chunk->end;
    }
}

bool tool_lines_count(const struct tool_source *source, const bloomery_key_rule *rule,
                      const char *why_pipe, bool quiet, uint64_t *keys)
{
    const bool fewer = /* there may be fewer keys than records */
        !tool_layout_is_none(source->layout) || rule->field != 0 || rule->comment != 0 ||
        (rule->flags & (TOOL_RULE_FORMS | BLOOMERY_RULE_SKIP_EMPTY)) != 0;
    struct tool_source once = *source;
    struct adding counting;
    struct tool_tally tally;
    const char *culprit;
    bool all_read;
    if (!tool_source_readable_twice(source, &culprit)) {
        tool_usage("%s: %s", tool_path_said(culprit), why_pipe);
        return false;
    }
    once.unwarned = true;
    begin(&counting, &once, rule, quiet ? NULL : "counting");
    tool_team_run(counting.threads, fewer ? take_keys : count_records, &counting);
    *keys = close_chunks(&counting, &tally, &all_read) - tally.passed_over;
    /* The rest is reported when the keys are added. */
    tally.without_field = tally.open_quotes = tally.broken = tally.too_deep = 0;
    return tool_tally_say(&tally, rule, no_key) && all_read;
}

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

bool tool_lines_hash(const struct tool_source *source, const bloomery_key_rule *rule,
                     struct tool_hasher *hasher, bool quiet, struct tool_change *change)
{
    struct adding adding;
    struct tool_source stoppable = *source;
    stoppable.stops = TOOL_STOPS_EARLY;
    begin(&adding, &stoppable, rule, quiet ? NULL : "reading");
    adding.hasher = hasher;
    tool_hasher_start(hasher, adding.threads);
    tool_team_run(adding.threads, take_keys, &adding);
    if (end(&adding, !tool_hasher_failed(hasher), change))
        return true;
    tool_hasher_say(hasher);
    return false;
}

/* Inputs of fewer bytes have so few keys that their hashes take little memory. */
static uint64_t read_twice_least(void)
{
#ifdef BLOOMERY_TOOL_SWITCH
    const char *text = getenv("BLOOMERY_TWICE_BYTES");
    if (text != NULL)
        return strtoull(text, NULL, 10);
#endif
    return (uint64_t)8 << 20;
}

bool tool_lines_are_read_twice(const struct tool_source *source, struct tool_second_reading *second)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    return tool_second_reading_begin(second, source, read_twice_least(), limits.room / 2);
}

bool tool_lines_distinct(const struct tool_source *source, const bloomery_key_rule *rule,
                         bool quiet, uint64_t *keys)
{
    const bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    struct tool_source once = *source;
    struct tool_second_reading second;
    struct tool_hasher hasher;
    struct adding adding;
    struct tool_tally tally;
    bool all_read = false;
    if (!tool_lines_are_read_twice(source, &second))
        return false;
    if (tool_hasher_open(&hasher, BLOOMERY_HASH_XXH3_64, &options, 0, 0)) {
        hasher.counts_only = true;
        once.unwarned = once.silent = true;
        once.stops = TOOL_STOPS_NEVER;
        begin(&adding, &once, rule, quiet ? NULL : "counting");
        adding.hasher = &hasher;
        tool_hasher_start(&hasher, adding.threads);
        tool_team_run(adding.threads, take_keys, &adding);
        (void)close_chunks(&adding, &tally, &all_read);
        *keys = tool_hasher_different_keys(&hasher);
    }
    tool_hasher_close(&hasher);
    const bool good = tool_second_reading_rewind(&second) && all_read && tally.malformed == 0 &&
                      tool_second_reading_changed(&second) == NULL;
    tool_second_reading_end(&second);
    return good;
}

/* `same`: as many records came as before. False after a message if the inputs were changed. */
static bool is_unchanged(const struct tool_second_reading *second, bool same)
{
    const char *changed = tool_second_reading_changed(second);
    if (changed == NULL && same)
        return true;
    tool_error("%s: changed while it was read. Without -n it is read twice, to count its keys and "
               "to add them; with -n N once",
               changed != NULL ? changed : "the input");
    return false;
}

bool tool_lines_count_whole(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                            bool quiet, uint64_t *count)
{
    struct tool_source once = *second->source;
    struct adding counting;
    struct tool_tally tally;
    bool all_read;
    assert(tool_records_are_keys(rule, second->source));
    once.unwarned = once.silent = true;
    begin(&counting, &once, rule, quiet ? NULL : "counting");
    tool_team_run(counting.threads, count_records, &counting);
    *count = close_chunks(&counting, &tally, &all_read);
    return all_read;
}

bool tool_lines_add_counted(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                            bloomery_filter *filter, const char *name, uint64_t count, bool quiet,
                            struct tool_change *change)
{
    return tool_second_reading_rewind(second) &&
           tool_lines_add(second->source, rule, filter, name, "building", quiet, change) &&
           is_unchanged(second, change->records == count);
}

bool tool_lines_add_again(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                          bloomery_filter *filter, const char *name, bool quiet,
                          const struct tool_change *change)
{
    struct tool_source again = *second->source;
    struct adding adding;
    struct tool_tally tally;
    bloomery_error error;
    bool all_read;
    if (!tool_second_reading_rewind(second))
        return false;
    again.unwarned = true;
    begin(&adding, &again, rule, quiet ? NULL : "building");
    const bloomery_status status =
        bloomery_add_from(filter, next_keys, &adding, adding.threads, &error);
    if (status != BLOOMERY_OK)
        tool_library_error(name, &error);
    const uint64_t records = close_chunks(&adding, &tally, &all_read);
    return status == BLOOMERY_OK && all_read &&
           is_unchanged(second, tally.passed_over == change->passed_over &&
                                    records - tally.passed_over == change->records);
}

bool tool_lines_build(const struct tool_source *source, const bloomery_key_rule *rule,
                      bloomery_builder *builder, bool quiet, struct tool_change *change)
{
    struct adding adding;
    struct tool_source stoppable = *source;
    const bloomery_keys none = bloomery_keys_of_list(NULL, 0);
    bloomery_error error;
    stoppable.stops = TOOL_STOPS_EARLY;
    begin(&adding, &stoppable, rule, quiet ? NULL : "reading");
    adding.builder = builder;
    tool_team_run(adding.threads, take_keys, &adding);
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

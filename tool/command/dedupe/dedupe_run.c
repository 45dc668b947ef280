/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run over a source of records: lines, or documents.
 *
 *     source    inputs, one after the other
 *       |
 *     chunks    of whole records, numbered                              input/chunks.h
 *       |
 *     workers   each takes a chunk: records, keys, hashes               lines, or documents.c
 *       |
 *     adder     adds the keys of chunk 0, 1, 2 ...: which are new?      seen.c
 *       |
 *     workers   each judges its chunk by the answers: text to print     lines, or documents.c
 *       |
 *     turn      chunk 0, 1, 2 ... is printed, and appended to a file
 *       |
 *     counts, tally, state, report                                      cmd_dedupe.c
 *
 * Which of two equal records stays is decided by their order, and two things follow the order of
 * the input: the adding, and the printing, after which a chunk is free again. The threads do
 * everything else, each for its own chunk. So the output is the same whatever their number.
 *
 * Each chunk is written at once. So the reader at the other end of a pipe gets what there is, also
 * while the next line is long in coming.
 *
 * The two kinds of records differ in what a worker does before and after the adding, which is in
 * their rows of `struct kind`.
 */
#include "command/dedupe/dedupe.h"

#include "base/bits.h"
#include "base/system.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Where chunks begin in their inputs. */
struct place_of_chunk {
    uint64_t lines; /* that it has, or that are before it */
    bool begins_input;
};

struct places {
    pthread_mutex_t mutex;
    struct place_of_chunk *chunks;
    size_t room;
    uint64_t known;  /* chunks whose lines are those before them */
    uint64_t before; /* the next one's, unless it begins an input */
};

struct run {
    struct tool_dedupe *dedupe;
    const struct kind *kind;
    struct tool_chunks *chunks;
    struct tool_adder *adder;
    bool learns; /* nothing is printed or counted */
    bool plain;  /* every line is its key, and a candidate */
    void **workers;
    struct places places;
};

/* What is delivered of a chunk, in its turn. */
struct delivery {
    bool needless; /* nothing is, and no turn is waited for */
    bool spoilt;   /* with what follows no output is right: the run ends */
    const unsigned char *printed, *appended, *removed;
    size_t printed_bytes, appended_bytes, removed_bytes;
    struct tool_dedupe_counts counts; /* of documents */
};

/* A kind of records. A worker is one thread's. */
struct kind {
    void *(*begin)(struct run *run);
    /* Makes the keys of the chunk that was taken. */
    struct tool_adding *(*read)(void *worker, struct tool_chunk *chunk);
    /* Judges it, after the adding. If the run only learns it is not called. */
    struct delivery (*judge)(void *worker, const struct tool_chunk *chunk);
    /* Adds its counts to the run's, and frees it. */
    void (*end)(void *worker, struct run *run);
};

/* ---- Lines ----------------------------------------------------------------------------------- */

/*
 * The kept lines are closed up within the chunk that they came in. Each run of them is moved to the
 * left over what was dropped before it. Then the chunk's beginning is the text to print.
 *
 *     read    a1 \n b1 \n a1 \n c1 \n b1 \n d1 \n
 *     kept     1     1     0     1     0     1
 *     text    a1 \n b1 \n c1 \n d1 \n
 *
 * Records and keys. Mostly a record is its key. With a rule some records have none. They are kept,
 * since dropping records that can't be distinguished would lose them. And a record that another
 * filter may have (against) is dropped without being added. The others are candidates; hashes and
 * answers are of these alone, in their order, and a bit a record says which they are.
 */

struct lines {
    const struct run *run;
    struct tool_chunk *chunk;

    /* Of the chunk's records. */
    bloomery_key *records;
    size_t count, room;
    size_t limit;         /* those that were dealt with: all, unless it stopped before */
    uint64_t *keyed;      /* have a key */
    uint64_t *candidates; /* and are in no filter that they are compared against */
    uint64_t *kept;

    struct tool_adding adding; /* its candidates */

    unsigned char *other; /* appended, if that is not what is printed */
    size_t other_room;

    struct tool_dedupe_counts counts;
    struct tool_made *made, *made_other; /* by our rule, by another filter's; NULL: not needed */
};

static void *lines_begin(struct run *run)
{
    struct lines *lines = tool_allocate(sizeof(*lines));
    *lines = (struct lines){.run = run};
    if (!run->plain) {
        lines->made = tool_made_new();
        lines->made_other = tool_made_new();
    }
    return lines;
}

static void lines_end(void *worker, struct run *run)
{
    struct lines *lines = worker;
    if (lines->made != NULL)
        tool_tally_add(&run->dedupe->tally, &lines->made->tally);
    tool_dedupe_counts_add(&run->dedupe->counts, &lines->counts);
    tool_made_free(lines->made);
    tool_made_free(lines->made_other);
    tool_adding_free(&lines->adding);
    free(lines->records);
    free(lines->keyed);
    free(lines->candidates);
    free(lines->kept);
    free(lines->other);
    free(lines);
}

/* Zeros from bit `count` on, to the end of `room` bits. */
static void cut_bits(uint64_t *words, size_t count, size_t room)
{
    size_t whole = tool_words_of(count);
    if (count > 0)
        words[whole - 1] &= tool_last_bits(count);
    memset(words + whole, 0, (tool_words_of(room) - whole) * sizeof(*words));
}

/* Room for another batch. All arrays are as long as the chunk has records. */
static void make_room(struct lines *lines)
{
    if (lines->room - lines->count >= TOOL_BATCH_ROOM)
        return;
    lines->room = 2 * lines->room + 4 * (size_t)TOOL_BATCH_ROOM;
    const size_t bytes = tool_words_of(lines->room) * sizeof(uint64_t);
    lines->records = tool_reallocate(lines->records, lines->room * sizeof(*lines->records));
    lines->kept = tool_reallocate(lines->kept, bytes);
    lines->keyed = tool_reallocate(lines->keyed, bytes);
    lines->candidates = tool_reallocate(lines->candidates, bytes);
    cut_bits(lines->keyed, lines->count, lines->room);
    cut_bits(lines->candidates, lines->count, lines->room);
}

static void hash_keys(struct lines *lines, const bloomery_key *keys, size_t count)
{
    struct tool_adding *adding = &lines->adding;
    if (!tool_adding_make_room(adding, count)) {
        tool_no_memory(adding->missing);
        exit(TOOL_ERROR);
    }
    bloomery_status status = tool_batch_hash(lines->run->dedupe->seen->filter, keys, count,
                                             adding->hashes + adding->count);
    assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
    (void)status;
    adding->count += count;
}

/* Sets the bits of those records of a batch that one of the other filters may have. */
static void find_against(struct lines *lines, const bloomery_key *records, size_t count,
                         uint64_t *dropped)
{
    const struct tool_dedupe *dedupe = lines->run->dedupe;
    for (size_t i = 0; i < dedupe->against_count && !lines->run->learns; i++) {
        const struct tool_against *against = &dedupe->against[i];
        uint64_t of_keys[TOOL_BATCH_WORDS] = {0}, of_records[TOOL_BATCH_WORDS] = {0};
        struct tool_made *made = lines->made;
        if (!tool_rule_equal(&against->rule, &dedupe->rule)) {
            made = lines->made_other;
            tool_rule_apply(&against->rule, lines->chunk, records, count, made);
        }
        tool_batch_query(against->filter, made->keys, made->count, of_keys);
        tool_made_spread(made, count, of_keys, of_records);
        for (size_t w = 0; w < tool_words_of(count); w++)
            dropped[w] |= of_records[w];
    }
}

/* Whether a record has nothing in it, which a rule that skips empty keys wants dropped. Records
 * whose field alone is empty are not so. */
static bool is_blank(const bloomery_key_rule *rule, bloomery_key record)
{
    const unsigned char *at = record.data, *const end = at + record.bytes;
    if ((rule->flags & BLOOMERY_RULE_SKIP_EMPTY) == 0)
        return false;
    const unsigned char *last = end;
    if ((rule->flags & BLOOMERY_RULE_CRLF) != 0 && last > at && last[-1] == '\r')
        last--;
    while ((rule->flags & BLOOMERY_RULE_TRIM) != 0 && at < last && (*at == ' ' || *at == '\t'))
        at++;
    return at == last;
}

/* Whether the first record of a chunk is a header, which the report does not count. */
static bool has_header(const struct lines *lines)
{
    const struct tool_layout *layout = lines->chunk->layout;
    return layout != NULL && layout->header && lines->chunk->begins_input;
}

/* Makes keys of a batch of records, and hashes those of the candidates. */
static void choose_keys(struct lines *lines, size_t first, size_t count)
{
    const bloomery_key *records = lines->records + first;
    struct tool_made *made = lines->made;
    uint64_t dropped[TOOL_BATCH_WORDS] = {0};
    size_t key = 0, chosen = 0;
    tool_rule_apply(&lines->run->dedupe->rule, lines->chunk, records, count, made);
    find_against(lines, records, count, dropped);
    for (size_t i = 0; i < count; i++) {
        if (tool_bit(made->with_key, i)) {
            tool_bit_set(lines->keyed, first + i);
            if (!tool_bit(dropped, i)) {
                tool_bit_set(lines->candidates, first + i);
                made->keys[chosen++] = made->keys[key];
            }
            key++;
        } else if (tool_bit(dropped, i) || (is_blank(&lines->run->dedupe->rule, records[i]) &&
                                            !(first + i == 0 && has_header(lines)))) {
            tool_bit_set(lines->keyed, first + i); /* by the other filter's rule; or none, and it
                                                       is dropped all the same */
        }
    }
    assert(key == made->count);
    hash_keys(lines, made->keys, chosen);
}

static struct tool_adding *lines_read(void *worker, struct tool_chunk *chunk)
{
    struct lines *lines = worker;
    const bool plain = lines->run->plain;
    lines->chunk = chunk;
    if (lines->room > 0) {
        cut_bits(lines->keyed, 0, lines->count);
        cut_bits(lines->candidates, 0, lines->count);
    }
    lines->count = lines->adding.count = 0;
    while (true) {
        make_room(lines);
        size_t count = tool_chunk_keys(lines->chunk, lines->records + lines->count);
        if (count == 0)
            break;
        if (plain)
            hash_keys(lines, lines->records + lines->count, count);
        else
            choose_keys(lines, lines->count, count);
        lines->count += count;
    }
    assert(!plain || lines->adding.count == lines->count);
    return &lines->adding;
}

/* The record that candidate `index` is. */
static size_t record_of(const struct lines *lines, size_t index)
{
    if (lines->run->plain)
        return index;
    size_t record = tool_next_bit(lines->candidates, 0, lines->count, true);
    while (index-- > 0)
        record = tool_next_bit(lines->candidates, record + 1, lines->count, true);
    return record;
}

/* From bits of candidates to bits of records: which are kept. */
static void find_kept(struct lines *lines)
{
    size_t words = tool_words_of(lines->limit), candidate = 0;
    if (lines->run->plain) {
        memcpy(lines->kept, lines->adding.answers, words * sizeof(uint64_t));
        cut_bits(lines->kept, lines->limit, lines->limit);
        return;
    }
    for (size_t w = 0; w < words; w++) {
        uint64_t kept = ~lines->keyed[w];
        for (uint64_t left = lines->candidates[w]; left != 0; left &= left - 1) {
            if (candidate == lines->adding.answered)
                break;
            if (tool_bit(lines->adding.answers, candidate++))
                kept |= left & -left;
        }
        lines->kept[w] = kept;
    }
    cut_bits(lines->kept, lines->limit, lines->limit);
    for (size_t i = tool_next_bit(lines->keyed, 0, lines->limit, false); i < lines->limit;
         i = tool_next_bit(lines->keyed, i + 1, lines->limit, false))
        lines->counts.without_key++;
    if (lines->limit == 0 || !has_header(lines))
        return;
    assert(lines->counts.without_key > 0);
    lines->counts.without_key--;
    if (lines->chunk->number > 0) /* that of the first input stands for all */
        lines->kept[0] &= ~UINT64_C(1);
}

/* Copies the records whose bit is `value` to `to`, which may be where they are: each goes to the
 * left, or stays. Returns how many bytes they are, delimiters included. */
static size_t gather(const struct lines *lines, bool value, unsigned char *to)
{
    const size_t limit = lines->limit;
    size_t bytes = 0;
    size_t from = tool_next_bit(lines->kept, 0, limit, value);
    while (from < limit) {
        size_t end = tool_next_bit(lines->kept, from, limit, !value);
        const unsigned char *first = lines->records[from].data;
        const unsigned char *last = lines->records[end - 1].data;
        size_t length = (size_t)(last - first) + lines->records[end - 1].bytes + 1;
        assert(first[length - 1] == lines->chunk->delimiter);
        if (to + bytes != first)
            memmove(to + bytes, first, length);
        bytes += length;
        from = tool_next_bit(lines->kept, end, limit, value);
    }
    return bytes;
}

static struct delivery lines_judge(void *worker, const struct tool_chunk *chunk)
{
    struct lines *lines = worker;
    const struct tool_dedupe *dedupe = lines->run->dedupe;
    const struct tool_adding *adding = &lines->adding;
    struct delivery delivery = {.printed = chunk->buffer, .appended = chunk->buffer};
    size_t bytes = 0;
    lines->limit =
        adding->answered < adding->count ? record_of(lines, adding->answered) : lines->count;
    find_kept(lines);
    const uint64_t kept = tool_ones_in(lines->kept, lines->limit);
    const bool header = lines->limit > 0 && has_header(lines), first = chunk->number == 0;
    assert(kept + (header && !first) <= lines->limit);
    lines->counts.records += lines->limit - header;
    lines->counts.dropped += lines->limit - kept - (header && !first);
    delivery.needless = dedupe->count_only && dedupe->appended == NULL;
    if (delivery.needless)
        return delivery;
    /* The kept records are set aside, if the chunk becomes the text of the dropped ones. */
    if (dedupe->appended != NULL && dedupe->invert) {
        if (lines->other_room < chunk->capacity + 1) {
            lines->other_room = chunk->capacity + 1;
            lines->other = tool_reallocate(lines->other, lines->other_room);
        }
        delivery.appended = lines->other;
        delivery.appended_bytes = gather(lines, true, lines->other);
    }
    if (!dedupe->count_only || !dedupe->invert)
        bytes = gather(lines, !dedupe->invert, chunk->buffer);
    delivery.printed_bytes = dedupe->count_only ? 0 : bytes;
    if (!dedupe->invert)
        delivery.appended_bytes = bytes;
    return delivery;
}

static const struct kind of_lines = {lines_begin, lines_read, lines_judge, lines_end};

/* ---- Documents ------------------------------------------------------------------------------- */

struct documents {
    struct run *run;
    struct tool_documents *documents;
};

static void *documents_begin(struct run *run)
{
    struct documents *worker = tool_allocate(sizeof(*worker));
    *worker = (struct documents){run, tool_documents_new(run->dedupe->judge)};
    return worker;
}

/*
 * Where a chunk begins in its input is known when all chunks before it were read, which is so when
 * its keys were added.
 */

/* Notes how many lines a chunk has. */
static void note_lines(struct run *run, const struct tool_chunk *chunk, uint64_t lines)
{
    struct places *places = &run->places;
    pthread_mutex_lock(&places->mutex);
    if (chunk->number >= places->room) {
        places->room = 2 * chunk->number + 64;
        places->chunks = tool_reallocate(places->chunks, places->room * sizeof(*places->chunks));
    }
    places->chunks[chunk->number] = (struct place_of_chunk){lines, chunk->begins_input};
    pthread_mutex_unlock(&places->mutex);
}

/* The first line of a chunk in its input, from 1 on. From then on the chunks up to this one have
 * the lines before them in the place of their own. */
static uint64_t first_line(struct run *run, uint64_t number)
{
    struct places *places = &run->places;
    pthread_mutex_lock(&places->mutex);
    for (; places->known <= number; places->known++) {
        struct place_of_chunk *chunk = &places->chunks[places->known];
        const uint64_t lines = chunk->lines;
        places->before = chunk->begins_input ? 0 : places->before;
        chunk->lines = places->before;
        places->before += lines;
    }
    const uint64_t line = places->chunks[number].lines + 1;
    pthread_mutex_unlock(&places->mutex);
    return line;
}

static struct tool_adding *documents_read(void *context, struct tool_chunk *chunk)
{
    struct documents *worker = context;
    tool_documents_read(worker->documents, chunk);
    if (worker->run->dedupe->removed != NULL)
        note_lines(worker->run, chunk, worker->documents->count);
    return &worker->documents->units->adding;
}

/* What was counted since. */
static struct tool_dedupe_counts counted_since(const struct tool_dedupe_counts *before,
                                               const struct tool_dedupe_counts *now)
{
    struct tool_dedupe_counts counts = *now;
    counts.records -= before->records;
    counts.without_key -= before->without_key;
    counts.dropped -= before->dropped;
    counts.changed -= before->changed;
    counts.bytes -= before->bytes;
    counts.paragraphs -= before->paragraphs;
    counts.cut -= before->cut;
    counts.keys -= before->keys;
    counts.seen -= before->seen;
    counts.removed_bytes -= before->removed_bytes;
    return counts;
}

static struct delivery documents_judge(void *context, const struct tool_chunk *chunk)
{
    struct documents *worker = context;
    struct tool_documents *documents = worker->documents;
    const struct tool_dedupe *dedupe = worker->run->dedupe;
    const struct tool_dedupe_counts before = documents->units->counts;
    tool_documents_judge(documents, chunk->input,
                         dedupe->removed != NULL ? first_line(worker->run, chunk->number) : 0);
    return (struct delivery){.spoilt = documents->clashes > 0,
                             .printed = documents->output.data,
                             .printed_bytes = documents->output.count,
                             .removed = documents->removed.data,
                             .removed_bytes = documents->removed.count,
                             .counts = counted_since(&before, &documents->units->counts)};
}

static void documents_end(void *context, struct run *run)
{
    struct documents *worker = context;
    struct tool_documents *documents = worker->documents;
    struct tool_dedupe *dedupe = run->dedupe;
    tool_dedupe_counts_add(&dedupe->counts, &documents->units->counts);
    tool_tally_add(&dedupe->tally, &documents->tally);
    dedupe->texts += documents->texts;
    if (!run->learns) /* what is only read gets no member */
        dedupe->clashes += documents->clashes;
    tool_documents_free(documents);
    free(worker);
}

static const struct kind of_documents = {documents_begin, documents_read, documents_judge,
                                         documents_end};

/* ---- The run --------------------------------------------------------------------------------- */

/* False if the run ends with this chunk. */
static bool deliver_chunk(struct run *run, const struct tool_chunk *chunk,
                          const struct delivery *delivery)
{
    struct tool_dedupe *dedupe = run->dedupe;
    if (delivery->needless)
        return true;
    if (!tool_chunks_turn(run->chunks, chunk))
        return false;
    /* Printed first: a line that a crash keeps from being remembered comes again, and is not
     * lost. */
    dedupe->failed = delivery->spoilt ||
                     (delivery->printed_bytes > 0 &&
                      !dedupe->write(dedupe->context, delivery->printed, delivery->printed_bytes));
    if (dedupe->of_inputs != NULL)
        tool_dedupe_counts_add(&dedupe->of_inputs[chunk->input_index], &delivery->counts);
    if (dedupe->removed != NULL) {
        tool_out_bytes(dedupe->removed, delivery->removed, delivery->removed_bytes);
        dedupe->failed = dedupe->failed || tool_out_failed(dedupe->removed);
    }
    if (dedupe->failed || dedupe->appended == NULL)
        return !dedupe->failed;
    tool_watched_check(); /* with -c or -v nothing may have been printed */
    dedupe->failed =
        !tool_appended_write(dedupe->appended, delivery->appended, delivery->appended_bytes);
    return !dedupe->failed;
}

static void work(void *context, uint32_t number)
{
    struct run *run = context;
    void *worker = run->workers[number];
    struct tool_chunk chunk = {0};
    while (tool_chunks_take(run->chunks, &chunk)) {
        struct tool_adding *adding = run->kind->read(worker, &chunk);
        adding->number = chunk.number;
        if (!tool_adder_add(run->adder, adding))
            break; /* the chunk is not given back: a thread with an earlier one ends it all */
        bool more = adding->answered == adding->count;
        if (!run->learns) {
            const struct delivery delivery = run->kind->judge(worker, &chunk);
            more = deliver_chunk(run, &chunk, &delivery) && more;
        }
        if (!more)
            tool_chunks_stop(run->chunks);
    }
    tool_chunk_free(&chunk);
}

static bool run_source(struct tool_dedupe *dedupe, const struct tool_source *source, bool learns)
{
    struct tool_source stoppable = *source;
    stoppable.stops = dedupe->may_stop ? TOOL_STOPS_SETTLED : TOOL_STOPS_EARLY;
    stoppable.interrupt = learns ? NULL : dedupe->interrupt;
    const bool documents = dedupe->judge != NULL;
    struct run run = {
        .dedupe = dedupe, .learns = learns, .places.mutex = PTHREAD_MUTEX_INITIALIZER};
    run.kind = documents ? &of_documents : &of_lines;
    run.plain =
        tool_records_are_keys(&dedupe->rule, source) && (learns || dedupe->against_count == 0);
    const char *verb = !learns ? "comparing" : documents ? "reading again" : "reading";
    run.chunks =
        tool_chunks_open(&stoppable, dedupe->silent && (documents || !learns) ? NULL : verb);
    uint32_t threads = tool_chunks_threads(run.chunks);
    run.adder = tool_adder_start(dedupe->seen, &threads);
    run.workers = tool_allocate(threads * sizeof(*run.workers));
    for (uint32_t i = 0; i < threads; i++)
        run.workers[i] = run.kind->begin(&run);
    tool_team_run(threads, work, &run);
    dedupe->stopped = tool_adder_end(run.adder) || dedupe->stopped;
    for (uint32_t i = 0; i < threads; i++)
        run.kind->end(run.workers[i], &run);
    free(run.workers);
    free(run.places.chunks);
    tool_tally_place(&dedupe->tally, run.chunks); /* those of earlier sources have theirs */
    const bool whole = tool_chunks_close(run.chunks);
    return whole && !dedupe->stopped && !dedupe->failed;
}

bool tool_dedupe_learn(struct tool_dedupe *dedupe, const struct tool_source *source)
{
    return run_source(dedupe, source, true);
}

bool tool_dedupe_run(struct tool_dedupe *dedupe, const struct tool_source *source)
{
    assert(dedupe->write != NULL || dedupe->count_only);
    return run_source(dedupe, source, false);
}

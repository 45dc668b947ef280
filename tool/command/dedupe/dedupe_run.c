/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys are added in the order of the input (adder.c), by several threads. Printing goes round in
 * that order too, and so does giving the chunk back (chunks.h). So the output is the same whatever
 * the number of threads.
 *
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
 *
 * Each chunk is written at once. So the reader at the other end of a pipe gets what there is, also
 * while the next line is long in coming.
 */
#include "base/bits.h"
#include "base/team.h"
#include "base/watched.h"
#include "command/dedupe/dedupe.h"
#include "command/dedupe/seen.h"
#include "input/chunks.h"
#include "key/batch.h"
#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct tool_dedupe *dedupe;
    struct tool_chunks *chunks;
    bool learns; /* nothing is printed or counted */
    bool plain;  /* every record is its key, and a candidate */
    uint32_t threads;
    struct worker **workers;
    struct tool_adder *adder;
};

/* The data of one thread. */
struct worker {
    struct run *run;
    struct tool_chunk chunk;

    /* Of the chunk's records. */
    bloomery_key *records;
    size_t count, room;
    size_t limit;         /* those that were dealt with: all, unless it stopped before */
    uint64_t *keyed;      /* have a key */
    uint64_t *candidates; /* and are in no filter that they are compared against */
    uint64_t *kept;

    struct tool_adding adding; /* its candidates */

    unsigned char *other; /* appended, if that is not what is printed */
    size_t other_bytes, other_room;

    uint64_t line_count, kept_count, dropped_count, without_key;
    struct tool_made *made, *made_other; /* by our rule, by another filter's; NULL: not needed */
};

/* ---- Workers --------------------------------------------------------------------------------- */

static struct worker *worker_new(struct run *run)
{
    struct worker *worker = tool_allocate(sizeof(*worker));
    *worker = (struct worker){.run = run};
    if (!run->plain) {
        worker->made = tool_made_new();
        worker->made_other = tool_made_new();
    }
    return worker;
}

static void worker_free(struct worker *worker, struct tool_dedupe *dedupe)
{
    if (worker->made != NULL)
        tool_tally_add(&dedupe->tally, &worker->made->tally);
    tool_made_free(worker->made);
    tool_made_free(worker->made_other);
    dedupe->lines += worker->line_count;
    dedupe->kept += worker->kept_count;
    dedupe->dropped += worker->dropped_count;
    dedupe->without_key += worker->without_key;
    tool_chunk_free(&worker->chunk);
    free(worker->records);
    free(worker->keyed);
    free(worker->candidates);
    free(worker->kept);
    tool_adding_free(&worker->adding);
    free(worker->other);
    free(worker);
}

/* ---- Bits ------------------------------------------------------------------------------------ */

/* Zeros from bit `count` on, to the end of `room` bits. */
static void cut_bits(uint64_t *words, size_t count, size_t room)
{
    size_t whole = tool_words_of(count);
    if (count > 0)
        words[whole - 1] &= tool_last_bits(count);
    memset(words + whole, 0, (tool_words_of(room) - whole) * sizeof(*words));
}

/* ---- Keys and hashes ------------------------------------------------------------------------- */

/* Room for another batch. All arrays are as long as the chunk has records. */
static void make_room(struct worker *worker)
{
    if (worker->room - worker->count >= TOOL_BATCH_ROOM)
        return;
    worker->room = 2 * worker->room + 4 * (size_t)TOOL_BATCH_ROOM;
    const size_t bytes = tool_words_of(worker->room) * sizeof(uint64_t);
    worker->records = tool_reallocate(worker->records, worker->room * sizeof(*worker->records));
    worker->kept = tool_reallocate(worker->kept, bytes);
    worker->keyed = tool_reallocate(worker->keyed, bytes);
    worker->candidates = tool_reallocate(worker->candidates, bytes);
    cut_bits(worker->keyed, worker->count, worker->room);
    cut_bits(worker->candidates, worker->count, worker->room);
}

static void hash_keys(struct worker *worker, const bloomery_key *keys, size_t count)
{
    struct tool_adding *adding = &worker->adding;
    tool_adding_make_room(adding, count);
    bloomery_status status = tool_batch_hash(worker->run->dedupe->seen->filter, keys, count,
                                             adding->hashes + adding->count);
    assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
    (void)status;
    adding->count += count;
}

/* Sets the bits of those records of a batch that one of the other filters may have. */
static void find_against(struct worker *worker, const bloomery_key *records, size_t count,
                         uint64_t *dropped)
{
    const struct tool_dedupe *dedupe = worker->run->dedupe;
    for (size_t i = 0; i < dedupe->against_count && !worker->run->learns; i++) {
        const struct tool_against *against = &dedupe->against[i];
        uint64_t of_keys[TOOL_BATCH_WORDS] = {0}, of_records[TOOL_BATCH_WORDS] = {0};
        struct tool_made *made = worker->made;
        if (!tool_rule_equal(&against->rule, &dedupe->rule)) {
            made = worker->made_other;
            tool_rule_apply(&against->rule, &worker->chunk, records, count, made);
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

/* Makes keys of a batch of records, and hashes those of the candidates. */
static void choose_keys(struct worker *worker, size_t first, size_t count)
{
    const bloomery_key *records = worker->records + first;
    struct tool_made *made = worker->made;
    uint64_t dropped[TOOL_BATCH_WORDS] = {0};
    size_t key = 0, chosen = 0;
    tool_rule_apply(&worker->run->dedupe->rule, &worker->chunk, records, count, made);
    find_against(worker, records, count, dropped);
    for (size_t i = 0; i < count; i++) {
        if (tool_bit(made->with_key, i)) {
            tool_bit_set(worker->keyed, first + i);
            if (!tool_bit(dropped, i)) {
                tool_bit_set(worker->candidates, first + i);
                made->keys[chosen++] = made->keys[key];
            }
            key++;
        } else if (tool_bit(dropped, i) || is_blank(&worker->run->dedupe->rule, records[i])) {
            tool_bit_set(worker->keyed, first + i); /* by the other filter's rule; or none, and it
                                                       is dropped all the same */
        }
    }
    assert(key == made->count);
    hash_keys(worker, made->keys, chosen);
}

static void hash_chunk(struct worker *worker)
{
    const bool plain = worker->run->plain;
    if (worker->room > 0) {
        cut_bits(worker->keyed, 0, worker->count);
        cut_bits(worker->candidates, 0, worker->count);
    }
    worker->count = worker->adding.count = 0;
    while (true) {
        make_room(worker);
        size_t count = tool_chunk_keys(&worker->chunk, worker->records + worker->count);
        if (count == 0)
            break;
        if (plain)
            hash_keys(worker, worker->records + worker->count, count);
        else
            choose_keys(worker, worker->count, count);
        worker->count += count;
    }
    assert(!plain || worker->adding.count == worker->count);
    worker->adding.number = worker->chunk.number;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* The record that candidate `index` is. */
static size_t record_of(const struct worker *worker, size_t index)
{
    if (worker->run->plain)
        return index;
    size_t record = tool_next_bit(worker->candidates, 0, worker->count, true);
    while (index-- > 0)
        record = tool_next_bit(worker->candidates, record + 1, worker->count, true);
    return record;
}

/* Whether the first record that was dealt with is a header, which is no line of the report. */
static bool has_header(const struct worker *worker)
{
    const struct tool_layout *layout = worker->chunk.layout;
    return layout != NULL && layout->header && worker->chunk.begins_input && worker->limit > 0;
}

/* False if nothing is to be done with this chunk: it stopped at an earlier one. */
static bool add_chunk(struct worker *worker)
{
    const struct tool_adding *adding = &worker->adding;
    if (!tool_adder_add(worker->run->adder, &worker->adding))
        return false;
    const bool stop = adding->answered < adding->count;
    worker->limit = stop ? record_of(worker, adding->answered) : worker->count;
    if (!worker->run->learns)
        worker->line_count += worker->limit - has_header(worker);
    return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* From bits of candidates to bits of records: which are kept. */
static void find_kept(struct worker *worker)
{
    size_t words = tool_words_of(worker->limit), candidate = 0;
    if (worker->run->plain) {
        memcpy(worker->kept, worker->adding.answers, words * sizeof(uint64_t));
        cut_bits(worker->kept, worker->limit, worker->limit);
        return;
    }
    for (size_t w = 0; w < words; w++) {
        uint64_t kept = ~worker->keyed[w];
        for (uint64_t left = worker->candidates[w]; left != 0; left &= left - 1) {
            if (candidate == worker->adding.answered)
                break;
            if (tool_bit(worker->adding.answers, candidate++))
                kept |= left & -left;
        }
        worker->kept[w] = kept;
    }
    cut_bits(worker->kept, worker->limit, worker->limit);
    for (size_t i = tool_next_bit(worker->keyed, 0, worker->limit, false); i < worker->limit;
         i = tool_next_bit(worker->keyed, i + 1, worker->limit, false))
        worker->without_key++;
    if (!has_header(worker))
        return;
    worker->without_key--;
    if (worker->chunk.number > 0) /* that of the first input stands for all */
        worker->kept[0] &= ~UINT64_C(1);
}

/* Copies the records whose bit is `value` to `to`, which may be where they are: each goes to the
 * left, or stays. Returns how many bytes they are, delimiters included. */
static size_t gather(const struct worker *worker, bool value, unsigned char *to)
{
    const size_t limit = worker->limit;
    size_t bytes = 0;
    size_t from = tool_next_bit(worker->kept, 0, limit, value);
    while (from < limit) {
        size_t end = tool_next_bit(worker->kept, from, limit, !value);
        const unsigned char *first = worker->records[from].data;
        const unsigned char *last = worker->records[end - 1].data;
        size_t length = (size_t)(last - first) + worker->records[end - 1].bytes + 1;
        assert(first[length - 1] == worker->chunk.delimiter);
        if (to + bytes != first)
            memmove(to + bytes, first, length);
        bytes += length;
        from = tool_next_bit(worker->kept, end, limit, value);
    }
    return bytes;
}

/* The kept records, to be appended, if the chunk becomes the text of the dropped ones. */
static void set_kept_aside(struct worker *worker)
{
    const size_t room = worker->chunk.capacity + 1;
    if (worker->other_room < room) {
        worker->other = tool_reallocate(worker->other, room);
        worker->other_room = room;
    }
    worker->other_bytes = gather(worker, true, worker->other);
}

static bool print_chunk(struct worker *worker, size_t bytes)
{
    struct run *run = worker->run;
    struct tool_dedupe *dedupe = run->dedupe;
    const unsigned char *text = worker->chunk.buffer;
    if (!tool_chunks_turn(run->chunks, &worker->chunk))
        return false;
    if (!dedupe->count_only) {
        tool_out_bytes(&dedupe->out, text, bytes);
        if (!tool_out_flush(&dedupe->out))
            return false;
    }
    /* Printed first: a line that a crash keeps from being remembered comes again, and is not
     * lost. */
    if (dedupe->appended == NULL)
        return true;
    tool_watched_check(); /* with -c or -v nothing may have been printed */
    bool aside = dedupe->invert;
    dedupe->append_failed = !tool_appended_write(dedupe->appended, aside ? worker->other : text,
                                                 aside ? worker->other_bytes : bytes);
    return !dedupe->append_failed;
}

/* The steps after adding. False if it has come to an end. */
static bool deliver_chunk(struct worker *worker)
{
    const struct tool_dedupe *dedupe = worker->run->dedupe;
    size_t bytes = 0;
    find_kept(worker);
    const uint64_t kept = tool_ones_in(worker->kept, worker->limit);
    const bool header = has_header(worker), first = worker->chunk.number == 0;
    worker->kept_count += kept - (header && first);
    worker->dropped_count += worker->limit - kept - (header && !first);
    if (dedupe->count_only && dedupe->appended == NULL)
        return true;
    if (dedupe->appended != NULL && dedupe->invert)
        set_kept_aside(worker);
    if (!dedupe->count_only || !dedupe->invert)
        bytes = gather(worker, !dedupe->invert, worker->chunk.buffer);
    return print_chunk(worker, bytes);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void work(void *context, uint32_t number)
{
    struct run *run = context;
    struct worker *worker = run->workers[number];
    while (tool_chunks_take(run->chunks, &worker->chunk)) {
        hash_chunk(worker);
        if (!add_chunk(worker))
            return;
        bool last = worker->adding.answered < worker->adding.count;
        if (run->learns ? last : !deliver_chunk(worker) || last)
            tool_chunks_stop(run->chunks);
    }
}

static void start_threads(struct run *run)
{
    run->threads = tool_chunks_threads(run->chunks);
    run->adder = tool_adder_start(run->dedupe->seen, &run->threads);
    run->workers = tool_allocate(run->threads * sizeof(struct worker *));
    for (uint32_t i = 0; i < run->threads; i++)
        run->workers[i] = worker_new(run);
}

static void end_threads(struct run *run)
{
    run->dedupe->stopped = tool_adder_end(run->adder) || run->dedupe->stopped;
    for (uint32_t i = 0; i < run->threads; i++)
        worker_free(run->workers[i], run->dedupe);
    free(run->workers);
}

static bool run_source(struct tool_dedupe *dedupe, const struct tool_source *source, bool learns)
{
    const bool silent = !learns && dedupe->silent;
    struct tool_source stoppable = *source;
    stoppable.stoppable = true;
    stoppable.settled = dedupe->may_stop;
    stoppable.interrupt = learns ? NULL : dedupe->interrupt;
    struct run run = {.dedupe = dedupe, .learns = learns};
    const bool told = dedupe->tally.malformed > 0; /* of other chunks than these */
    run.plain =
        tool_records_are_keys(&dedupe->rule, source) && (learns || dedupe->against_count == 0);
    run.chunks = tool_chunks_open(&stoppable, silent ? NULL : learns ? "reading" : "comparing");
    start_threads(&run);
    tool_team_run(run.threads, work, &run);
    end_threads(&run);
    if (!told)
        tool_tally_place(&dedupe->tally, run.chunks);
    bool whole = tool_chunks_close(run.chunks);
    return whole && !dedupe->stopped && !dedupe->append_failed && !tool_out_failed(&dedupe->out);
}

bool tool_dedupe_learn(struct tool_dedupe *dedupe, const struct tool_source *source)
{
    struct tool_dedupe counts = *dedupe;
    bool good = run_source(&counts, source, true);
    dedupe->stopped = counts.stopped;
    dedupe->tally = counts.tally;
    return good;
}

bool tool_dedupe_run(struct tool_dedupe *dedupe, const struct tool_source *source)
{
    return run_source(dedupe, source, false);
}

/* ---- Corpus pass ----------------------------------------------------------------------------- */

/*
 * The order of documents decides which of two equal paragraphs stays. So keys are added in that
 * order (dedupe/adder.c), and all else is done by the threads, each for its own chunk. The output
 * is the same whatever their number.
 */

struct corpus_run {
    struct tool_corpus_pass *pass;
    struct tool_chunks *chunks;
    struct tool_adder *adder;
    struct tool_documents **documents; /* of each thread */
};

/* What stays of a chunk, in its turn. False if the pass ends here. */
static bool deliver_documents(struct corpus_run *run, const struct tool_chunk *chunk,
                              struct tool_documents *documents)
{
    struct tool_corpus_pass *pass = run->pass;
    tool_documents_judge(documents, tool_documents_answered(documents));
    if (!tool_chunks_turn(run->chunks, chunk))
        return false;
    pass->failed = documents->clashes > 0; /* with what follows, no output is right */
    if (pass->failed)
        return false;
    pass->failed = documents->output_bytes > 0 &&
                   !pass->write(pass->context, documents->output, documents->output_bytes);
    return !pass->failed;
}

static void work_on_documents(void *context, uint32_t number)
{
    struct corpus_run *run = context;
    struct tool_documents *documents = run->documents[number];
    struct tool_adding *adding = &documents->keys->adding;
    struct tool_chunk chunk = {0};
    while (tool_chunks_take(run->chunks, &chunk)) {
        tool_documents_read(documents, &chunk);
        if (!tool_adder_add(run->adder, adding))
            break; /* the chunk is not given back: a thread with an earlier one ends it all */
        const bool last = adding->answered < adding->count;
        if ((!run->pass->learns && !deliver_documents(run, &chunk, documents)) || last)
            tool_chunks_stop(run->chunks);
    }
    tool_chunk_free(&chunk);
}

/* Puts the places of these inputs behind those of earlier ones, which are closed. */
static void append_tally(struct tool_tally *into, const struct tool_tally *from)
{
    for (uint64_t i = 0; i < from->broken && into->broken + i < TOOL_TALLY_PLACES; i++)
        into->broken_at[into->broken + i] = from->broken_at[i];
    into->broken += from->broken;
    into->too_deep += from->too_deep;
}

bool tool_corpus_pass_run(struct tool_corpus_pass *pass, const struct tool_source *source)
{
    struct tool_source stoppable = *source;
    stoppable.stoppable = true;
    stoppable.settled = true;
    struct corpus_run run = {.pass = pass};
    run.chunks = tool_chunks_open(&stoppable, pass->silent   ? NULL
                                              : pass->learns ? "reading again"
                                                             : "comparing");
    uint32_t threads = tool_chunks_threads(run.chunks);
    run.adder = tool_adder_start(pass->seen, &threads);
    run.documents = tool_allocate(threads * sizeof(struct tool_documents *));
    for (uint32_t i = 0; i < threads; i++)
        run.documents[i] = tool_documents_new(pass->judge);
    tool_team_run(threads, work_on_documents, &run);
    pass->stopped = tool_adder_end(run.adder) || pass->stopped;
    struct tool_tally tally = {0};
    for (uint32_t i = 0; i < threads; i++) {
        tool_corpus_counts_add(&pass->counts, &run.documents[i]->counts);
        pass->texts += run.documents[i]->texts;
        if (!pass->learns) /* what is only read gets no member */
            pass->clashes += run.documents[i]->clashes;
        tool_tally_add(&tally, &run.documents[i]->tally);
        tool_documents_free(run.documents[i]);
    }
    free(run.documents);
    tool_tally_place(&tally, run.chunks);
    append_tally(&pass->tally, &tally);
    const bool whole = tool_chunks_close(run.chunks);
    return whole && !pass->stopped && !pass->failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of records becomes a batch of keys, by the filter's rule (rule.c), or is one already. A
 * batch of keys becomes words of answers, one bit a key; several filters are the OR of their words
 * and -v is its complement. (If a rule has left out records, the answers to keys are spread over
 * the records first. A record without a key is on neither side.) The runs of ones are printed. The
 * keys of a batch lie one behind another in the chunk that they came with, delimiters between them,
 * so a run is one copy.
 *
 *     keys       a1 \n b1 \n x \n a2 \n ...
 *     selected    1     1    0    1            two runs: "a1\nb1\n", "a2\n..."
 *
 * Filters of different rules are queried for different keys of the same record; those of one rule
 * for the same ones. With a file that confirms, keys that are definitely in no filter are not
 * looked for there. Of the others, keys that the file lacks count as absent, and are counted.
 *
 * Each thread has a querier of its own: a chunk of input, its answers, its counts, and the text
 * that its chunk will print. Text waits until all chunks before it have been printed; counts are
 * summed at the end. The text of a chunk is written at once, and a chunk ends when no more input
 * waits (tool_stream). So a line of a pipe is answered before the next one comes.
 */
#include "command/query/query.h"

#include "base/bits.h"
#include "base/system.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct querier {
    const struct tool_question *question;
    struct tool_chunk chunk;

    uint64_t queried, passed_over, selected_count;
    uint64_t *hits;     /* of each filter */
    uint64_t *rejected; /* of each */
    bool plain;         /* records are the keys, of all filters, and nothing confirms */
    const bloomery_key_rule *rules;
    struct tool_made **made; /* by each rule; NULL: records are the keys */

    const unsigned char *counted; /* in the chunk: `line` line ends of the input come before */
    uint64_t line;
    uint64_t selected_here; /* of this input */
    bool input_done;        /* its rest is left */

    char *text; /* to be printed */
    size_t text_bytes;
    size_t text_capacity;

    uint64_t (*answers)[TOOL_BATCH_WORDS]; /* of each filter */
    uint64_t selected[TOOL_BATCH_WORDS];
    uint64_t with_key[TOOL_BATCH_WORDS];
    bloomery_key keys[TOOL_BATCH_ROOM]; /* the records */
};

static struct querier *querier_new(const struct tool_question *question,
                                   const bloomery_key_rule *rules, const struct tool_layout *layout)
{
    struct querier *querier = tool_allocate(sizeof(*querier));
    memset(querier, 0, sizeof(*querier));
    querier->question = question;
    querier->hits = tool_allocate(question->filter_count * sizeof(*querier->hits));
    memset(querier->hits, 0, question->filter_count * sizeof(*querier->hits));
    querier->rejected = tool_allocate(question->filter_count * sizeof(*querier->rejected));
    memset(querier->rejected, 0, question->filter_count * sizeof(*querier->rejected));
    querier->answers = tool_allocate(question->filter_count * sizeof(*querier->answers));
    assert(question->rule_count >= 1);
    querier->rules = rules;
    querier->plain = question->confirm == NULL;
    querier->made = tool_allocate(question->rule_count * sizeof(struct tool_made *));
    for (size_t r = 0; r < question->rule_count; r++) {
        bool none = tool_rule_is_none(&rules[r]) && tool_layout_is_none(layout);
        querier->made[r] = none ? NULL : tool_made_new();
        querier->plain = querier->plain && none;
    }
    return querier;
}

/* Adds its counts to those of the question. */
static void querier_free(struct querier *querier, struct tool_question *question)
{
    question->queried += querier->queried;
    question->passed_over += querier->passed_over;
    question->selected += querier->selected_count;
    for (size_t f = 0; f < question->filter_count; f++) {
        question->filters[f].hits += querier->hits[f];
        question->filters[f].rejected += querier->rejected[f];
    }
    for (size_t r = 0; r < question->rule_count; r++)
        if (querier->made[r] != NULL) {
            tool_tally_add(&question->tallies[r], &querier->made[r]->tally);
            tool_made_free(querier->made[r]);
        }
    free(querier->made);
    tool_chunk_free(&querier->chunk);
    free(querier->text);
    free(querier->answers);
    free(querier->rejected);
    free(querier->hits);
    free(querier);
}

/* ---- A batch --------------------------------------------------------------------------------- */

/* Queries all filters for the same keys, the records. */
static void query_plainly(struct querier *querier, size_t count)
{
    const struct tool_question *question = querier->question;
    const size_t words = tool_words_of(count);
    for (size_t f = 0; f < question->filter_count; f++) {
        querier->hits[f] += tool_batch_query(question->filters[f].filter, querier->keys, count,
                                             querier->answers[f]);
        for (size_t w = 0; w < words; w++)
            querier->selected[w] |= querier->answers[f][w];
    }
}

/* Takes the answers back that the file does not confirm. Texts are the keys as text. */
static void confirm(struct querier *querier, size_t rule, const bloomery_key *texts, size_t words)
{
    const struct tool_question *question = querier->question;
    for (size_t w = 0; w < words; w++) {
        uint64_t any = 0, wrong = 0;
        for (size_t f = 0; f < question->filter_count; f++)
            any |= question->filters[f].rule == rule ? querier->answers[f][w] : 0;
        for (; any != 0; any &= any - 1) {
            int bit = __builtin_ctzll(any);
            if (!tool_confirm_has(question->confirm, rule, texts[w * 64 + (size_t)bit]))
                wrong |= UINT64_C(1) << bit;
        }
        for (size_t f = 0; f < question->filter_count; f++)
            if (question->filters[f].rule == rule) {
                querier->rejected[f] +=
                    (uint64_t)__builtin_popcountll(querier->answers[f][w] & wrong);
                querier->answers[f][w] &= ~wrong;
            }
    }
}

/* Queries the filters of one rule; their answers are then those to the records. */
static void query_by_rule(struct querier *querier, size_t rule, size_t count)
{
    const struct tool_question *question = querier->question;
    struct tool_made *made = querier->made[rule];
    const bloomery_key *keys = querier->keys, *texts = querier->keys;
    size_t key_count = count;
    if (made != NULL) {
        key_count =
            tool_rule_apply(&querier->rules[rule], querier->chunk.open ? &querier->chunk : NULL,
                            querier->keys, count, made);
        keys = made->keys;
        bool forms = (querier->rules[rule].flags & TOOL_RULE_FORMS) != 0;
        texts = forms ? made->texts : made->keys;
    }
    const size_t words = tool_words_of(count), key_words = tool_words_of(key_count);
    for (size_t f = 0; f < question->filter_count; f++)
        if (question->filters[f].rule == rule)
            tool_batch_query(question->filters[f].filter, keys, key_count, querier->answers[f]);
    if (question->confirm != NULL)
        confirm(querier, rule, texts, key_words);
    for (size_t f = 0; f < question->filter_count; f++) {
        if (question->filters[f].rule != rule)
            continue;
        querier->hits[f] += tool_ones_in(querier->answers[f], key_count);
        if (key_count < count) {
            uint64_t of_keys[TOOL_BATCH_WORDS];
            memcpy(of_keys, querier->answers[f], key_words * sizeof(uint64_t));
            tool_made_spread(made, count, of_keys, querier->answers[f]);
        }
        for (size_t w = 0; w < words; w++)
            querier->selected[w] |= querier->answers[f][w];
    }
    if (made != NULL)
        for (size_t w = 0; w < words; w++)
            querier->with_key[w] |= made->with_key[w];
    else
        memset(querier->with_key, 0xff, words * sizeof(uint64_t));
}

/* Fills `selected`; returns how many records are in it. */
static size_t query(struct querier *querier, size_t count)
{
    const struct tool_question *question = querier->question;
    const size_t words = tool_words_of(count);
    memset(querier->selected, 0, words * sizeof(uint64_t));
    if (querier->plain) {
        query_plainly(querier, count);
        memset(querier->with_key, 0xff, words * sizeof(uint64_t));
    } else {
        memset(querier->with_key, 0, words * sizeof(uint64_t));
        for (size_t r = 0; r < question->rule_count; r++)
            query_by_rule(querier, r, count);
    }
    querier->with_key[words - 1] &= tool_last_bits(count);
    const size_t queried = querier->plain ? count : tool_ones_in(querier->with_key, count);
    querier->queried += queried;
    querier->passed_over += count - queried;
    if (question->invert)
        for (size_t w = 0; w < words; w++)
            querier->selected[w] = ~querier->selected[w] & querier->with_key[w];
    return tool_ones_in(querier->selected, count);
}

static void append(struct querier *querier, const void *bytes, size_t count)
{
    if (count > querier->text_capacity - querier->text_bytes) {
        querier->text_capacity = 2 * querier->text_capacity + count;
        querier->text = tool_reallocate(querier->text, querier->text_capacity);
    }
    memcpy(querier->text + querier->text_bytes, bytes, count);
    querier->text_bytes += count;
}

static const char *input_name(const struct querier *querier)
{
    const char *path = querier->chunk.input;
    return tool_path_is_stdin(path) ? "(standard input)" : path;
}

static void append_runs(struct querier *querier, size_t count)
{
    const bloomery_key *keys = querier->keys;
    size_t from = tool_next_bit(querier->selected, 0, count, true);
    while (from < count) {
        size_t to = tool_next_bit(querier->selected, from, count, false);
        const char *first = keys[from].data;
        const char *last = keys[to - 1].data;
        assert(last >= first);
        assert(last[keys[to - 1].bytes] == (char)querier->question->delimiter);
        append(querier, first, (size_t)(last - first) + keys[to - 1].bytes + 1);
        from = tool_next_bit(querier->selected, to, count, true);
    }
}

static void count_lines(struct querier *querier, const unsigned char *to)
{
    querier->line += tool_split_count(querier->counted, to, querier->chunk.delimiter);
    querier->counted = to;
}

/* The text before a record as grep has it. A number is that of its first line. */
static void append_place(struct querier *querier, bloomery_key record)
{
    char number[32];
    if (!querier->chunk.open)
        return;
    if (querier->question->input_names) {
        const char *name = input_name(querier);
        append(querier, name, strlen(name));
        append(querier, ":", 1);
    }
    if (querier->question->line_numbers) {
        count_lines(querier, record.data);
        snprintf(number, sizeof(number), "%llu:", (unsigned long long)querier->line + 1);
        append(querier, number, strlen(number));
    }
}

static void append_lines(struct querier *querier, size_t count)
{
    size_t at = tool_next_bit(querier->selected, 0, count, true);
    for (; at < count; at = tool_next_bit(querier->selected, at + 1, count, true)) {
        append_place(querier, querier->keys[at]);
        append(querier, querier->keys[at].data, querier->keys[at].bytes + 1);
    }
}

static void append_with_names(struct querier *querier, size_t count)
{
    const struct tool_question *question = querier->question;
    size_t at = tool_next_bit(querier->selected, 0, count, true);
    for (; at < count; at = tool_next_bit(querier->selected, at + 1, count, true))
        for (size_t f = 0; f < question->filter_count; f++)
            if (tool_bit(querier->answers[f], at)) {
                append_place(querier, querier->keys[at]);
                append(querier, question->filters[f].name, strlen(question->filters[f].name));
                append(querier, ":", 1);
                append(querier, querier->keys[at].data, querier->keys[at].bytes + 1);
            }
}

/*
 * Each selected line behind its count. A key whose lines coincide may be definitely absent though
 * none of its counters is 0. Its count is 0 then, and it is taken back.
 */
static void append_with_counts(struct querier *querier, size_t count)
{
    const struct tool_question *question = querier->question;
    const struct tool_made *made = querier->made[0];
    size_t key = 0, absent = 0;
    for (size_t at = 0; at < count; at++) {
        const bloomery_key record = querier->keys[at];
        const bloomery_key queried = made == NULL ? record : made->keys[key];
        char text[16];
        key += tool_bit(querier->with_key, at);
        if (!tool_bit(querier->selected, at))
            continue;
        uint32_t times = bloomery_key_count(question->filters[0].filter, queried);
        if (times == 0) {
            absent++;
            continue;
        }
        append_place(querier, record);
        snprintf(text, sizeof(text), "%u%s\t", times, times == question->counter_max ? "+" : "");
        append(querier, text, strlen(text));
        append(querier, record.data, record.bytes + 1);
    }
    querier->hits[0] -= absent;
    querier->selected_count -= absent;
}

/* Of an input no more are selected than were requested. Returns how many are. */
static size_t take_most(struct querier *querier, size_t count, size_t hits)
{
    const uint64_t left = querier->question->most - querier->selected_here;
    querier->input_done = hits >= left;
    if (hits > left) {
        size_t end = 0;
        for (uint64_t i = 0; i < left; i++)
            end = tool_next_bit(querier->selected, end, count, true) + 1;
        for (hits = (size_t)left; end < count; end++)
            querier->selected[end / 64] &= ~(UINT64_C(1) << (end % 64));
    }
    querier->selected_here += hits;
    return hits;
}

/* Makes the text of a batch. */
static void append_batch(struct querier *querier, size_t count, size_t hits)
{
    const struct tool_question *question = querier->question;
    if (querier->chunk.open && querier->chunk.number == 0 && !question->list_inputs &&
        tool_chunk_has_header(&querier->chunk, count)) {
        append_place(querier, querier->keys[0]);
        append(querier, querier->keys[0].data, querier->keys[0].bytes + 1);
    }
    if (question->counts)
        append_with_counts(querier, count);
    else if (question->with_filename)
        append_with_names(querier, count);
    else if (question->list_inputs && hits > 0) {
        const char *name = input_name(querier);
        append(querier, name, strlen(name));
        append(querier, &question->delimiter, 1);
    } else if (question->input_names || question->line_numbers)
        append_lines(querier, count);
    else if (hits > 0)
        append_runs(querier, count);
}

/* Queries `count` of the querier's keys. False if no more need to be queried. */
static bool answer(struct querier *querier, size_t count)
{
    const struct tool_question *question = querier->question;
    size_t hits = query(querier, count);
    if (question->most > 0)
        hits = take_most(querier, count, hits);
    querier->selected_count += hits;
    /* The first keys of the input, for the hint. Chunk 0 is one thread's alone, so the keys that
     * are kept are the same however many threads there are. */
    if (question->hint != NULL && (!querier->chunk.open || querier->chunk.number == 0)) {
        const struct tool_made *made = querier->made[0];
        tool_hint_keep(question->hint, made != NULL ? made->keys : querier->keys,
                       made != NULL ? made->count : count);
    }
    if (question->confirm != NULL && !tool_confirm_is_sorted(question->confirm))
        return false;
    if (question->quiet)
        return hits == 0;
    if (question->count_only)
        return true;
    append_batch(querier, count, hits);
    return true;
}

/* Writes the text out at once: the next line may be long in coming. False if it can't be. */
static bool print_text(struct querier *querier, struct tool_question *question)
{
    tool_out_bytes(&question->out, querier->text, querier->text_bytes);
    querier->text_bytes = 0;
    return tool_out_flush(&question->out);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

bool tool_query_keys(struct tool_question *question, const char *const *keys, size_t count)
{
    bloomery_key_rule *rules = tool_allocate(question->rule_count * sizeof(*rules));
    for (size_t r = 0; r < question->rule_count; r++)
        rules[r] = tool_rule_of_keys(&question->rules[r]);
    struct querier *querier = querier_new(question, rules, NULL);
    bool more = true;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(keys[i]) + 1;
    /* Laid out as in a chunk: one behind another, each followed by the delimiter. */
    char *text = tool_allocate(bytes), *to = text;
    for (size_t i = 0; i < count && more;) {
        size_t now = 0;
        for (; now < TOOL_BATCH_KEYS && i < count; now++, i++) {
            size_t length = strlen(keys[i]);
            memcpy(to, keys[i], length);
            to[length] = (char)question->delimiter;
            querier->keys[now] = bloomery_key_of(to, length);
            to += length + 1;
        }
        more = answer(querier, now) && print_text(querier, question);
    }
    free(text);
    querier_free(querier, question);
    free(rules);
    return more;
}

/* ---- Sources --------------------------------------------------------------------------------- */

struct querying {
    struct tool_question *question; /* `out` belongs to the thread whose turn it is */
    struct tool_chunks *chunks;
    struct querier **queriers;
    const char *last_input;
    const struct tool_source *source;
    uint64_t *input_counts; /* selected of each; NULL: not wanted */
};

/* One chunk. False if no more need to be queried. */
static bool answer_chunk(const struct querying *querying, struct querier *querier)
{
    const struct tool_question *question = querying->question;
    size_t count;
    if (querier->chunk.begins_input) {
        querier->line = querier->selected_here = 0;
        querier->input_done = false;
    }
    querier->counted = querier->chunk.from;
    while (!querier->input_done && (count = tool_chunk_keys(&querier->chunk, querier->keys)) > 0)
        if (!answer(querier, count))
            return false;
    if (question->line_numbers)
        count_lines(querier, querier->chunk.end);
    if (question->quiet || question->count_only)
        return true;
    const bool last = querier->chunk.input == querying->last_input;
    return tool_chunks_turn(querying->chunks, &querier->chunk) &&
           print_text(querier, querying->question) && !(querier->input_done && last);
}

/* Adds to the count of the input that the chunk is of. */
static void count_input(const struct querying *querying, const char *input, uint64_t selected)
{
    for (size_t i = 0; i < tool_source_count(querying->source); i++)
        if (tool_source_path(querying->source, i) == input) {
            __atomic_fetch_add(&querying->input_counts[i], selected, __ATOMIC_RELAXED);
            return;
        }
}

static void answer_chunks(void *context, uint32_t number)
{
    const struct querying *querying = context;
    struct querier *querier = querying->queriers[number];
    while (tool_chunks_take(querying->chunks, &querier->chunk)) {
        const uint64_t before = querier->selected_count;
        if (!answer_chunk(querying, querier))
            tool_chunks_stop(querying->chunks);
        if (querying->input_counts != NULL)
            count_input(querying, querier->chunk.input, querier->selected_count - before);
    }
}

/* "name:count" for each, as grep -c has it. An input that can't be read had its message. */
static void print_input_counts(const struct querying *querying)
{
    for (size_t i = 0; i < tool_source_count(querying->source); i++) {
        const char *path = tool_source_path(querying->source, i);
        const bool is_stdin = tool_path_is_stdin(path);
        if (is_stdin || access(path, R_OK) == 0)
            tool_out_format(&querying->question->out, "%s:%llu\n",
                            is_stdin ? "(standard input)" : path,
                            (unsigned long long)querying->input_counts[i]);
    }
}

bool tool_query_source(struct tool_question *question, const struct tool_source *source)
{
    struct tool_source stoppable = *source;
    stoppable.stops = question->quiet ? TOOL_STOPS_SETTLED : TOOL_STOPS_EARLY;
    if (question->line_numbers || question->most > 0)
        stoppable.threads = 1;
    assert(source->delimiter == question->delimiter);

    struct tool_chunks *chunks = tool_chunks_open(&stoppable, question->silent ? NULL : "querying");
    const uint32_t threads = tool_chunks_threads(chunks);
    struct querying querying = {question,
                                chunks,
                                tool_allocate(threads * sizeof(struct querier *)),
                                tool_source_path(source, tool_source_count(source) - 1),
                                source,
                                NULL};
    if (question->count_only && question->input_names) {
        querying.input_counts = tool_allocate(tool_source_count(source) * sizeof(uint64_t));
        memset(querying.input_counts, 0, tool_source_count(source) * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < threads; i++)
        querying.queriers[i] = querier_new(question, question->rules, source->layout);
    tool_team_run(threads, answer_chunks, &querying);
    for (uint32_t i = 0; i < threads; i++)
        querier_free(querying.queriers[i], question);
    free(querying.queriers);
    if (querying.input_counts != NULL)
        print_input_counts(&querying);
    free(querying.input_counts);
    for (size_t r = 0; r < question->rule_count; r++)
        tool_tally_place(&question->tallies[r], chunks);
    return tool_chunks_close(chunks);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of records becomes a batch of keys, by the filter's rule (rule.c), or is one already. A
 * batch of keys becomes words of answers, one bit a key; several filters are the OR of their
 * words and -v is its complement. (Where a rule has left out records, the answers to keys are spread
 * over the records first, and a record without a key is on neither side.) What is printed are runs of ones: the keys of a batch lie one
 * behind another in the block that they came with, delimiters between them, so a run is one copy.
 *
 *     keys       a1 \n b1 \n x \n a2 \n ...
 *     selected    1     1    0    1            two runs: "a1\nb1\n", "a2\n..."
 *
 * Filters of different rules are asked for different keys of the same record; those of one rule for
 * the same ones. With a file that confirms, keys that no filter may have are not looked for there;
 * of the others those that it lacks count as absent. Digits under --hex are looked for in
 * either case, since they stand for the same key.
 *
 * Each thread has an asker of its own: a block of input, its answers, its counts, and the text that
 * its block will print. Text waits until all blocks before it have been printed; counts are summed
 * at the end.
 */
#include "command/query/query_run.h"

#include "base/bits.h"
#include "base/team.h"
#include "input/blocks.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asker {
    const struct tool_question *question;
    struct tool_block block;

    uint64_t asked, passed_over, selected_count;
    uint64_t *hits; /* of each filter */
    bool plain;     /* records are the keys, of all filters, and nothing confirms */
    const bloomery_key_rule *rules;
    struct tool_made **made; /* by each rule; NULL: records are the keys */

    char *text; /* to be printed */
    size_t text_bytes;
    size_t text_capacity;

    uint64_t (*answers)[TOOL_BATCH_WORDS]; /* of each filter */
    uint64_t selected[TOOL_BATCH_WORDS];
    uint64_t with_key[TOOL_BATCH_WORDS];
    bloomery_key keys[TOOL_BATCH_ROOM]; /* the records */
};

static void make_room_for_rules(struct asker *asker, const bloomery_key_rule *rules)
{
    const size_t count = asker->question->rule_count;
    assert(count >= 1);
    asker->rules = rules;
    asker->plain = asker->question->confirm == NULL;
    asker->made = tool_allocate(count * sizeof(struct tool_made *));
    for (size_t r = 0; r < count; r++) {
        bool none = tool_rule_is_none(&rules[r]);
        asker->made[r] = none ? NULL : tool_made_new();
        asker->plain = asker->plain && none;
    }
}

static struct asker *asker_new(const struct tool_question *question, const bloomery_key_rule *rules)
{
    struct asker *asker = tool_allocate(sizeof(*asker));
    memset(asker, 0, sizeof(*asker));
    asker->question = question;
    asker->hits = tool_allocate(question->filter_count * sizeof(*asker->hits));
    memset(asker->hits, 0, question->filter_count * sizeof(*asker->hits));
    asker->answers = tool_allocate(question->filter_count * sizeof(*asker->answers));
    make_room_for_rules(asker, rules);
    return asker;
}

/* Adds what it has counted to the question's counts. */
static void asker_free(struct asker *asker, struct tool_question *question)
{
    question->asked += asker->asked;
    question->passed_over += asker->passed_over;
    question->selected += asker->selected_count;
    for (size_t f = 0; f < question->filter_count; f++)
        question->filters[f].hits += asker->hits[f];
    for (size_t r = 0; r < question->rule_count; r++)
        if (asker->made[r] != NULL) {
            tool_tally_add(&question->tallies[r], &asker->made[r]->tally);
            tool_made_free(asker->made[r]);
        }
    free(asker->made);
    tool_block_free(&asker->block);
    free(asker->text);
    free(asker->answers);
    free(asker->hits);
    free(asker);
}

/* ---- A batch --------------------------------------------------------------------------------- */

/* Bits of the last word that stand for no key. */
static uint64_t tail_mask(size_t count)
{
    return count % 64 == 0 ? ~UINT64_C(0) : (UINT64_C(1) << count % 64) - 1;
}

/* Asks all filters for the same keys, the records. */
static void ask_plainly(struct asker *asker, size_t count)
{
    const struct tool_question *question = asker->question;
    const size_t words = (count + 63) / 64;
    for (size_t f = 0; f < question->filter_count; f++) {
        asker->hits[f] += bloomery_may_contain_batch(question->filters[f].filter, asker->keys,
                                                     count, asker->answers[f]);
        for (size_t w = 0; w < words; w++)
            asker->selected[w] |= asker->answers[f][w];
    }
}

/* Takes the answers back that the file does not confirm. Texts are the keys as text. */
static void confirm(struct asker *asker, size_t rule, const bloomery_key *texts, size_t words)
{
    const struct tool_question *question = asker->question;
    const bool hex = (asker->rules[rule].flags & BLOOMERY_RULE_HEX) != 0;
    for (size_t w = 0; w < words; w++) {
        uint64_t any = 0, wrong = 0;
        for (size_t f = 0; f < question->filter_count; f++)
            any |= question->filters[f].rule == rule ? asker->answers[f][w] : 0;
        for (; any != 0; any &= any - 1) {
            int bit = __builtin_ctzll(any);
            const bloomery_key text = texts[w * 64 + (size_t)bit];
            if (hex ? !tool_confirm_has_hex(question->confirm, text)
                    : !tool_confirm_has(question->confirm, text))
                wrong |= UINT64_C(1) << bit;
        }
        for (size_t f = 0; f < question->filter_count; f++)
            if (question->filters[f].rule == rule)
                asker->answers[f][w] &= ~wrong;
    }
}

/* Asks the filters of one rule; their answers are then those to the records. */
static void ask_by_rule(struct asker *asker, size_t rule, size_t count)
{
    const struct tool_question *question = asker->question;
    struct tool_made *made = asker->made[rule];
    const bloomery_key *keys = asker->keys, *texts = asker->keys;
    size_t key_count = count;
    if (made != NULL) {
        key_count = tool_rule_apply(&asker->rules[rule], asker->block.open ? &asker->block : NULL,
                                    asker->keys, count, made);
        keys = made->keys;
        bool forms = (asker->rules[rule].flags & TOOL_RULE_FORMS) != 0;
        texts = forms ? made->texts : made->keys;
    }
    const size_t words = (count + 63) / 64, key_words = (key_count + 63) / 64;
    for (size_t f = 0; f < question->filter_count; f++)
        if (question->filters[f].rule == rule)
            bloomery_may_contain_batch(question->filters[f].filter, keys, key_count,
                                       asker->answers[f]);
    if (question->confirm != NULL)
        confirm(asker, rule, texts, key_words);
    for (size_t f = 0; f < question->filter_count; f++) {
        if (question->filters[f].rule != rule)
            continue;
        asker->hits[f] += tool_ones_in(asker->answers[f], key_count);
        if (key_count < count) {
            uint64_t of_keys[TOOL_BATCH_WORDS];
            memcpy(of_keys, asker->answers[f], key_words * sizeof(uint64_t));
            tool_made_spread(made, count, of_keys, asker->answers[f]);
        }
        for (size_t w = 0; w < words; w++)
            asker->selected[w] |= asker->answers[f][w];
    }
    if (made != NULL)
        for (size_t w = 0; w < words; w++)
            asker->with_key[w] |= made->with_key[w];
    else
        memset(asker->with_key, 0xff, words * sizeof(uint64_t));
}

/* Fills `selected`; returns how many records are in it. */
static size_t ask(struct asker *asker, size_t count)
{
    const struct tool_question *question = asker->question;
    const size_t words = (count + 63) / 64;
    memset(asker->selected, 0, words * sizeof(uint64_t));
    if (asker->plain) {
        ask_plainly(asker, count);
        memset(asker->with_key, 0xff, words * sizeof(uint64_t));
    } else {
        memset(asker->with_key, 0, words * sizeof(uint64_t));
        for (size_t r = 0; r < question->rule_count; r++)
            ask_by_rule(asker, r, count);
    }
    asker->with_key[words - 1] &= tail_mask(count);
    const size_t asked = asker->plain ? count : tool_ones_in(asker->with_key, count);
    asker->asked += asked;
    asker->passed_over += count - asked;
    if (question->invert)
        for (size_t w = 0; w < words; w++)
            asker->selected[w] = ~asker->selected[w] & asker->with_key[w];
    return tool_ones_in(asker->selected, count);
}

/* Whether no filter has any of the keys so far. */
static bool found_none(const struct asker *asker)
{
    uint64_t hits = 0;
    for (size_t f = 0; f < asker->question->filter_count; f++)
        hits += asker->hits[f];
    return hits == 0;
}

/* The first keys of the input, for the hint. Block 0 is one thread's alone, so the keys that are kept are
 * the same however many threads there are. */
static void keep_first_keys(struct asker *asker, size_t count)
{
    const struct tool_made *made = asker->made[0];
    if (asker->block.open && asker->block.number > 0)
        return;
    tool_hint_keep(asker->question->hint, made != NULL ? made->keys : asker->keys,
                   made != NULL ? made->count : count);
}

static void append(struct asker *asker, const void *bytes, size_t count)
{
    if (count > asker->text_capacity - asker->text_bytes) {
        asker->text_capacity = 2 * asker->text_capacity + count;
        asker->text = tool_reallocate(asker->text, asker->text_capacity);
    }
    memcpy(asker->text + asker->text_bytes, bytes, count);
    asker->text_bytes += count;
}

static void append_runs(struct asker *asker, size_t count)
{
    const bloomery_key *keys = asker->keys;
    size_t from = tool_next_bit(asker->selected, 0, count, true);
    while (from < count) {
        size_t to = tool_next_bit(asker->selected, from, count, false);
        const char *first = keys[from].data;
        const char *last = keys[to - 1].data;
        assert(last >= first);
        assert(last[keys[to - 1].bytes] == (char)asker->question->delimiter);
        append(asker, first, (size_t)(last - first) + keys[to - 1].bytes + 1);
        from = tool_next_bit(asker->selected, to, count, true);
    }
}

static void append_with_names(struct asker *asker, size_t count)
{
    const struct tool_question *question = asker->question;
    size_t at = tool_next_bit(asker->selected, 0, count, true);
    for (; at < count; at = tool_next_bit(asker->selected, at + 1, count, true))
        for (size_t f = 0; f < question->filter_count; f++)
            if (asker->answers[f][at / 64] >> at % 64 & 1) {
                append(asker, question->filters[f].name, strlen(question->filters[f].name));
                append(asker, ":", 1);
                append(asker, asker->keys[at].data, asker->keys[at].bytes + 1);
            }
}

/*
 * Each selected line behind its count. A key whose lines coincide may be surely absent though none of
 * its counters is 0: its count is 0 then, and it is taken back.
 */
static void append_with_counts(struct asker *asker, size_t count)
{
    const struct tool_question *question = asker->question;
    const struct tool_made *made = asker->made[0];
    size_t key = 0, absent = 0;
    for (size_t at = 0; at < count; at++) {
        const bloomery_key record = asker->keys[at];
        const bloomery_key asked = made == NULL ? record : made->keys[key];
        char text[16];
        key += asker->with_key[at / 64] >> at % 64 & 1;
        if ((asker->selected[at / 64] >> at % 64 & 1) == 0)
            continue;
        uint32_t times = bloomery_count(question->filters[0].filter, asked);
        if (times == 0) {
            absent++;
            continue;
        }
        snprintf(text, sizeof(text), "%u%s\t", times, times == question->counter_most ? "+" : "");
        append(asker, text, strlen(text));
        append(asker, record.data, record.bytes + 1);
    }
    asker->hits[0] -= absent;
    asker->selected_count -= absent;
}

/* Asks for `count` of the asker's keys. False where no more need to be asked. */
static bool answer(struct asker *asker, size_t count)
{
    const struct tool_question *question = asker->question;
    size_t hits = ask(asker, count);
    asker->selected_count += hits;
    if (question->hint != NULL && found_none(asker))
        keep_first_keys(asker, count);
    if (question->confirm != NULL && !tool_confirm_is_sorted(question->confirm))
        return false;
    if (question->quiet)
        return hits == 0;
    if (question->count_only)
        return true;
    if (question->counts)
        append_with_counts(asker, count);
    else if (question->with_filename)
        append_with_names(asker, count);
    else if (hits > 0)
        append_runs(asker, count);
    return true;
}

/* Prints the text. False where it can't be written. */
static bool print_text(struct asker *asker, struct tool_question *question)
{
    tool_out_bytes(&question->out, asker->text, asker->text_bytes);
    asker->text_bytes = 0;
    if (question->to_terminal)
        tool_out_flush(&question->out);
    return !tool_out_failed(&question->out);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

bool tool_ask_keys(struct tool_question *question, const char *const *keys, size_t count)
{
    bloomery_key_rule *rules = tool_allocate(question->rule_count * sizeof(*rules));
    for (size_t r = 0; r < question->rule_count; r++)
        rules[r] = tool_rule_of_keys(&question->rules[r]);
    struct asker *asker = asker_new(question, rules);
    bool more = true;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(keys[i]) + 1;
    /* Laid out as in a block: one behind another, each followed by the delimiter. */
    char *text = tool_allocate(bytes), *to = text;
    for (size_t i = 0; i < count && more;) {
        size_t now = 0;
        for (; now < TOOL_BATCH_KEYS && i < count; now++, i++) {
            size_t length = strlen(keys[i]);
            memcpy(to, keys[i], length);
            to[length] = (char)question->delimiter;
            asker->keys[now] = bloomery_key_of(to, length);
            to += length + 1;
        }
        more = answer(asker, now) && print_text(asker, question);
    }
    free(text);
    asker_free(asker, question);
    free(rules);
    return more;
}

/* ---- Sources --------------------------------------------------------------------------------- */

struct asking {
    struct tool_question *question; /* `out` belongs to whose turn it is */
    struct tool_blocks *blocks;
    struct asker **askers;
};

/* One block. False where no more need to be asked. */
static bool answer_block(const struct asking *asking, struct asker *asker)
{
    const struct tool_question *question = asking->question;
    size_t count;
    while ((count = tool_block_keys(&asker->block, asker->keys)) > 0)
        if (!answer(asker, count))
            return false;
    if (question->quiet || question->count_only)
        return true;
    return tool_blocks_turn(asking->blocks, &asker->block) && print_text(asker, asking->question);
}

static void answer_blocks(void *context, uint32_t number)
{
    const struct asking *asking = context;
    struct asker *asker = asking->askers[number];
    while (tool_blocks_take(asking->blocks, &asker->block))
        if (!answer_block(asking, asker))
            tool_blocks_stop(asking->blocks);
}

bool tool_ask_source(struct tool_question *question, const struct tool_source *source)
{
    bool silent = question->quiet || (question->to_terminal && !question->count_only);
    struct tool_source stoppable = *source;
    stoppable.stoppable = true;
    stoppable.settled = question->quiet;
    assert(source->delimiter == question->delimiter);

    struct tool_blocks *blocks = tool_blocks_open(&stoppable, silent ? NULL : "asking");
    const uint32_t threads = tool_blocks_threads(blocks);
    struct asking asking = {question, blocks, tool_allocate(threads * sizeof(struct asker *))};
    for (uint32_t i = 0; i < threads; i++)
        asking.askers[i] = asker_new(question, question->rules);
    tool_team_run(threads, answer_blocks, &asking);
    for (uint32_t i = 0; i < threads; i++)
        asker_free(asking.askers[i], question);
    free(asking.askers);
    for (size_t r = 0; r < question->rule_count; r++)
        tool_tally_place(&question->tallies[r], blocks);
    return tool_blocks_close(blocks);
}

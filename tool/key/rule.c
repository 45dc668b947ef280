/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of records by the thousand. The effect of a rule on one record is the library's:
 * bloomery_rule_apply (src/records.c) has the order of the steps and worked examples. Here a record
 * goes through it twice if its key is not text, since messages show its form as text:
 *
 *     record ── crlf, comment, field, trim ──> text ── case, hex, numbers, utf16, skip-empty ──>
 *     key
 *
 * Most keys are spans of their records and cost no copy. The others lie in a scratch buffer, one
 * behind the other. It has room for all of a batch, by what the library may need for each.
 */
#include "key/rule.h"

#include "base/bits.h"
#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tool_made *tool_made_new(void)
{
    struct tool_made *made = tool_allocate(sizeof(*made));
    made->count = 0;
    made->malformed = 0;
    memset(made->with_key, 0, sizeof(made->with_key));
    made->tally = (struct tool_tally){0};
    made->scratch = NULL;
    made->capacity = 0;
    return made;
}

void tool_made_free(struct tool_made *made)
{
    if (made != NULL)
        free(made->scratch);
    free(made);
}

const char *tool_show_bytes(char *text, size_t room, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = data;
    size_t used = 0, cut = 0; /* the place for "...", if there is room */
    assert(room >= 8);
    for (size_t i = 0; i < bytes; i++) {
        bool plain = from[i] >= 0x20 && from[i] < 0x7f && from[i] != '\\';
        if (used + 4 <= room)
            cut = used;
        if (used + (plain ? 1 : 4) >= room) {
            memcpy(text + cut, "...", 3);
            used = cut + 3;
            break;
        }
        if (plain) {
            text[used++] = (char)from[i];
            continue;
        }
        text[used++] = '\\';
        text[used++] = 'x';
        text[used++] = digits[from[i] >> 4];
        text[used++] = digits[from[i] & 15];
    }
    assert(used < room);
    text[used] = '\0';
    return text;
}

/* `left`: how many records of the batch come from this one on, itself included. */
static struct tool_place place_of(const struct tool_chunk *chunk, size_t left)
{
    if (chunk == NULL)
        return (struct tool_place){.placed = true};
    return (struct tool_place){
        .chunk_number = chunk->number, .record = chunk->records - left, .input = chunk->input};
}

void tool_tally_note_broken(struct tool_tally *tally, const struct tool_chunk *chunk, size_t left,
                            bool too_deep)
{
    if (tally->broken < TOOL_TALLY_PLACES)
        tally->broken_at[tally->broken] = place_of(chunk, left);
    tally->broken++;
    tally->too_deep += too_deep;
}

static void note_malformed(struct tool_made *made, const struct tool_chunk *chunk,
                           bloomery_key record, size_t left)
{
    struct tool_tally *tally = &made->tally;
    made->malformed++;
    if (tally->malformed++ > 0)
        return;
    tally->malformed_at = place_of(chunk, left);
    if (chunk != NULL)
        tally->malformed_at.record =
            tool_chunk_lines_before(chunk, record, tally->malformed_at.record);
    tool_show_bytes(tally->shown, sizeof(tally->shown), record.data, record.bytes);
}

/* ---- All steps ------------------------------------------------------------------------------- */

/* The two halves of a rule; the first is all of it if no key differs from its text but in case. */
struct steps {
    bloomery_key_rule to_text;
    bloomery_key_rule to_key;
    bool text_is_record;
    bool key_is_text;
    const struct tool_layout *layout; /* NULL, or it finds the text for `to_text` */
    uint32_t comment;                 /* then */
};

static struct steps steps_of(const bloomery_key_rule *rule, const struct tool_chunk *chunk)
{
    const uint32_t last = TOOL_RULE_CHANGES | BLOOMERY_RULE_SKIP_EMPTY;
    struct steps steps = {.to_text = *rule};
    steps.to_text.flags &= ~(uint32_t)TOOL_RULE_LAYOUT;
    if (chunk != NULL && chunk->layout != NULL &&
        (chunk->layout->jsonl || chunk->layout->field_count > 0)) {
        steps.layout = chunk->layout;
        steps.comment = rule->comment;
        steps.to_text.flags &= ~(uint32_t)BLOOMERY_RULE_CRLF;
        steps.to_text = (bloomery_key_rule){.flags = steps.to_text.flags};
    }
    if ((rule->flags & TOOL_RULE_FORMS) != 0) {
        steps.to_text.flags &= ~last;
        steps.to_key.flags = rule->flags & last;
    }
    steps.text_is_record = tool_rule_is_none(&steps.to_text);
    steps.key_is_text = tool_rule_is_none(&steps.to_key);
    return steps;
}

/* One half of the rule; what it writes is kept in the scratch, which is moved on. */
static int apply(const bloomery_key_rule *rule, bloomery_key *key, unsigned char **scratch,
                 const struct tool_made *made)
{
    const size_t room = *scratch != NULL ? (size_t)(made->scratch + made->capacity - *scratch) : 0;
    const int result =
        (int)bloomery_rule_apply(rule, key->data, key->bytes, *scratch, room, key, NULL);
    assert(result != BLOOMERY_RECORD_RULE_REFUSED);
    if ((uintptr_t)key->data - (uintptr_t)*scratch < room)
        *scratch += (size_t)((const unsigned char *)key->data - *scratch) + key->bytes;
    return result;
}

/* Handles a record that is not plainly a key. True if it is one, of a record that ends within
 * quotes. `left` as in note_malformed. */
static bool count_odd(int result, const struct tool_chunk *chunk, bloomery_key record, size_t left,
                      struct tool_made *made)
{
    made->tally.open_quotes += (result & BLOOMERY_RECORD_OPEN_QUOTE) != 0;
    result &= ~BLOOMERY_RECORD_OPEN_QUOTE;
    made->tally.without_field += result == BLOOMERY_RECORD_NO_FIELD;
    if (result == BLOOMERY_RECORD_BAD)
        note_malformed(made, chunk, record, left);
    return result == BLOOMERY_RECORD_KEY;
}

/* From a record to the text that its layout says. False if there is none: that is counted. */
static bool take_text(const struct steps *steps, const struct tool_chunk *chunk, size_t left,
                      unsigned char **scratch, struct tool_made *made, bloomery_key *text)
{
    const bloomery_key record = *text;
    bool open_quote = false;
    if (steps->comment != 0 && record.bytes > 0 &&
        *(const unsigned char *)record.data == steps->comment)
        return false;
    const enum tool_text found =
        tool_layout_text(steps->layout, &chunk->columns, record, *scratch, text, &open_quote);
    *scratch += tool_layout_room(steps->layout, record.bytes);
    assert(*scratch <= made->scratch + made->capacity);
    made->tally.open_quotes += open_quote;
    made->tally.without_field += found == TOOL_TEXT_MISSING;
    if (found == TOOL_TEXT_BROKEN || found == TOOL_TEXT_TOO_DEEP)
        tool_tally_note_broken(&made->tally, chunk, left, found == TOOL_TEXT_TOO_DEEP);
    return found == TOOL_TEXT_FOUND;
}

/* Whether the record has a key, which is then behind the others. */
static bool make_key(const struct steps *steps, const struct tool_chunk *chunk, bloomery_key record,
                     size_t left, unsigned char **scratch, struct tool_made *made)
{
    bloomery_key key = record;
    int result = BLOOMERY_RECORD_KEY;
    if (steps->layout != NULL && !take_text(steps, chunk, left, scratch, made, &key))
        return false;
    if (!steps->text_is_record)
        result = apply(&steps->to_text, &key, scratch, made);
    if (result != BLOOMERY_RECORD_KEY && !count_odd(result, chunk, record, left, made))
        return false;
    made->texts[made->count] = key;
    if (!steps->key_is_text) {
        result = apply(&steps->to_key, &key, scratch, made);
        if (result != BLOOMERY_RECORD_KEY && !count_odd(result, chunk, record, left, made))
            return false;
    }
    made->keys[made->count++] = key;
    return true;
}

/* Room for all keys of a batch; none if all of them are spans of their records. */
static unsigned char *scratch_for(const bloomery_key_rule *rule, const struct tool_layout *layout,
                                  const bloomery_key *records, size_t count, struct tool_made *made)
{
    static const uint32_t longer = BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32 | BLOOMERY_RULE_UTF16;
    const bool changes = (rule->flags & (BLOOMERY_RULE_CSV | TOOL_RULE_CHANGES)) != 0;
    size_t bytes = 0, texts = 0;
    if (!changes && layout == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t text =
            layout != NULL ? tool_layout_room(layout, records[i].bytes) : records[i].bytes;
        texts += layout != NULL ? text : 0;
        bytes += changes ? 2 * text : 0;
    }
    if ((rule->flags & longer) != 0) /* quotes off, case changed, two bytes for each; or a number */
        bytes = 2 * bytes + 8 * count;
    bytes += texts;
    if (bytes > made->capacity || made->scratch == NULL) {
        free(made->scratch);
        made->capacity = bytes + bytes / 2;
        made->scratch = tool_allocate(made->capacity);
    }
    return made->scratch;
}

size_t tool_rule_apply(const bloomery_key_rule *rule, const struct tool_chunk *chunk,
                       const bloomery_key *records, size_t count, struct tool_made *made)
{
    assert(count <= TOOL_BATCH_KEYS);
    const struct steps steps = steps_of(rule, chunk);
    unsigned char *scratch = scratch_for(rule, steps.layout, records, count, made);
    const bool header = tool_chunk_has_header(chunk, count);
    made->count = 0;
    made->malformed = 0;
    made->tally.headers += header;
    made->tally.layout = steps.layout;
    for (size_t first = 0; first < count; first += 64) {
        uint64_t word = 0;
        for (size_t i = first + (header && first == 0); i < count && i < first + 64; i++)
            word |= (uint64_t)make_key(&steps, chunk, records[i], count - i, &scratch, made)
                    << i % 64;
        made->with_key[first / 64] = word;
    }
    assert(made->scratch == NULL || scratch <= made->scratch + made->capacity);
    assert(made->count <= count);
    made->tally.passed_over += count - made->count;
    return made->count;
}

void tool_made_spread(const struct tool_made *made, size_t count, const uint64_t *of_keys,
                      uint64_t *of_records)
{
    const size_t words = tool_words_of(count);
    size_t key = 0;
    assert(of_keys != of_records);
    if (made->count == count) {
        memcpy(of_records, of_keys, words * sizeof(uint64_t));
        return;
    }
    for (size_t w = 0; w < words; w++) {
        uint64_t word = 0;
        for (uint64_t left = made->with_key[w]; left != 0; left &= left - 1, key++)
            word |= (uint64_t)tool_bit(of_keys, key) << __builtin_ctzll(left);
        of_records[w] = word;
    }
    assert(key == made->count);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static size_t places_of(const struct tool_tally *tally)
{
    return tally->broken < TOOL_TALLY_PLACES ? (size_t)tally->broken : TOOL_TALLY_PLACES;
}

/* Those that have been placed are of inputs before these. */
static bool is_before(const struct tool_place *one, const struct tool_place *other)
{
    if (one->placed != other->placed)
        return one->placed;
    if (one->chunk_number != other->chunk_number)
        return one->chunk_number < other->chunk_number;
    return one->record < other->record;
}

/* Merges two ordered lists, and keeps the first places of both. */
static void add_places(struct tool_tally *into, const struct tool_tally *from)
{
    struct tool_place all[TOOL_TALLY_PLACES];
    const size_t one_count = places_of(into), other_count = places_of(from);
    size_t one = 0, other = 0, count = 0;
    while (count < TOOL_TALLY_PLACES && (one < one_count || other < other_count)) {
        bool first = other == other_count ||
                     (one < one_count && is_before(&into->broken_at[one], &from->broken_at[other]));
        all[count++] = first ? into->broken_at[one++] : from->broken_at[other++];
    }
    memcpy(into->broken_at, all, count * sizeof(*all));
}

void tool_tally_add(struct tool_tally *into, const struct tool_tally *from)
{
    if (from->malformed > 0 && (into->malformed == 0 || from->malformed_at.chunk_number <
                                                            into->malformed_at.chunk_number)) {
        into->malformed_at = from->malformed_at;
        memcpy(into->shown, from->shown, sizeof(into->shown));
    }
    add_places(into, from);
    into->broken += from->broken;
    into->too_deep += from->too_deep;
    into->headers += from->headers;
    into->layout = from->layout != NULL ? from->layout : into->layout;
    into->without_field += from->without_field;
    into->malformed += from->malformed;
    into->open_quotes += from->open_quotes;
    into->passed_over += from->passed_over;
}

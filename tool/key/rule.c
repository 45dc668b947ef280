/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a record becomes a key.
 *
 * A record is what the input has between two terminators. Without a rule it is the key. With one it
 * goes through these steps, always in this order, each only where the rule has it:
 *
 *     1  crlf         one carriage return at its end is removed
 *     2  comment      a record that begins with this byte has no key
 *     3  field        the field of this number is taken; a record without it has no key
 *     4  trim         blanks and tabs at both ends are removed
 *     5  hex          pairs of hexadecimal digits become bytes
 *        int64, int32 a decimal number becomes 8 or 4 bytes
 *        lower, upper ASCII letters change their case; of these five a rule has at most one
 *     6  utf16        UTF-8 becomes UTF-16; not with hex, int64 or int32
 *     7  skip-empty   what is empty now has no key
 *
 * What is no such pairs, no such number or no UTF-8 has no key, and that is told of.
 *
 * The order is part of the file format (docs/format.md), since two programs that differ in it ask
 * for different keys. With `field 2, delimited by comma; csv, trim, lower, comment #`:
 *
 *     record                  key
 *     17,Anna                 anna
 *     17," Anna, B. ",x       anna, b.        the delimiter stands within quotes; then trim
 *     17,"say ""no"""         say "no"        two quotes are one
 *     17,a"b                  a"b             a quote within an unquoted field is a letter
 *     17,"a"b"c               ab"c            what follows a closing quote is unquoted
 *     17,"open                open            and the record is counted: see below
 *     17,                     (empty)         a key, unless skip-empty
 *     17                      none            no field 2
 *     # 17,Anna               none
 *      # 17,Anna              anna            it begins with a blank
 *
 * An empty record has one field, the empty one; after the last delimiter there is one more field,
 * which may be empty. Field -1 is the last, -2 the one before it.
 *
 * Quoting is that of RFC 4180 as far as records are lines: a field that begins with a quote goes to
 * the next quote that is not doubled. A quote that is still open at the end of the record ends
 * there. In files where a quoted field may contain line ends that is wrong, and what follows is
 * wrong too; so such records are counted and warned about, wherever in the record the quote is.
 *
 * Most keys are spans of their records and cost no copy. Where bytes change (case, hex, doubled
 * quotes) the key is made in a scratch buffer; the record stays as it is, for it may be printed, and
 * another filter may make another key of it. A key is hardly ever longer than its record, and under hex
 * both the digits and the bytes are wanted, so twice the records' length is enough for a batch. (Numbers
 * and UTF-16 may be longer than their text: tool_rule_apply makes room for them.)
 */
#include "key/rule.h"

#include "base/bits.h"
#include "key/key_forms.h"
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

/* ---- Fields ---------------------------------------------------------------------------------- */

struct span {
    const unsigned char *at;
    size_t bytes;
};

static const unsigned char *find(const unsigned char *from, const unsigned char *end, int byte)
{
    const unsigned char *found = from < end ? memchr(from, byte, (size_t)(end - from)) : NULL;
    return found != NULL ? found : end;
}

/* Field `number` (from 1) of an unquoted record. False where it has fewer. */
static bool field_from_front(struct span *text, int delimiter, int64_t number)
{
    const unsigned char *from = text->at, *end = text->at + text->bytes;
    const unsigned char *stop = find(from, end, delimiter);
    for (; number > 1; number--) {
        if (stop == end)
            return false;
        from = stop + 1;
        stop = find(from, end, delimiter);
    }
    assert(from >= text->at && stop >= from && stop <= end);
    *text = (struct span){from, (size_t)(stop - from)};
    return true;
}

/* Field `number` (from 1) counted from the end. */
static bool field_from_back(struct span *text, int delimiter, int64_t number)
{
    const unsigned char *begin = text->at;
    size_t bytes = text->bytes; /* of the record, up to the end of the field looked at */
    while (true) {
        const unsigned char *before = bytes > 0 ? memrchr(begin, delimiter, bytes) : NULL;
        const unsigned char *from = before != NULL ? before + 1 : begin;
        if (number == 1) {
            *text = (struct span){from, bytes - (size_t)(from - begin)};
            return true;
        }
        if (before == NULL)
            return false;
        bytes = (size_t)(before - begin);
        number--;
    }
}

/* Where the field that begins at `from` ends. */
static const unsigned char *quoted_end(const unsigned char *from, const unsigned char *end,
                                       int delimiter, bool *open)
{
    if (from == end || *from != '"')
        return find(from, end, delimiter);
    const unsigned char *quote = find(from + 1, end, '"');
    while (end - quote >= 2 && quote[1] == '"')
        quote = find(quote + 2, end, '"');
    *open = quote == end;
    return quote == end ? end : find(quote + 1, end, delimiter);
}

/* Field `number` of a record with quotes, still in them. Goes to the record's end, to see all of
 * its quotes, and once more for a field counted from there. */
static bool field_in_quotes(struct span *text, int delimiter, int64_t number, bool *open)
{
    const unsigned char *const begin = text->at, *const end = text->at + text->bytes;
    for (int pass = 0; pass < 2; pass++) {
        const unsigned char *from = begin;
        bool found = false, more = true;
        int64_t fields = 0;
        while (more) {
            const unsigned char *stop = quoted_end(from, end, delimiter, open);
            assert(stop >= from && stop <= end);
            if (++fields == number) {
                *text = (struct span){from, (size_t)(stop - from)};
                found = true;
            }
            more = stop < end;
            from = more ? stop + 1 : end;
        }
        if (found || number > 0 || fields + number < 0)
            return found;
        number += fields + 1;
    }
    return false;
}

/* Takes the quotes off a field, in place or, where they are not just around it, in the scratch,
 * which is moved on. */
static void unquote(struct span *text, unsigned char **scratch)
{
    const unsigned char *end = text->at + text->bytes;
    if (text->bytes == 0 || text->at[0] != '"')
        return;
    const unsigned char *from = text->at + 1;
    const unsigned char *quote = find(from, end, '"');
    if (end - quote <= 1) { /* the closing one is the last byte, or there is none */
        *text = (struct span){from, (size_t)(quote - from)};
        return;
    }
    unsigned char *to = *scratch;
    assert(to != NULL);
    while (quote < end) {
        bool doubled = end - quote >= 2 && quote[1] == '"';
        memcpy(to, from, (size_t)(quote - from));
        to += quote - from;
        from = quote + 1;
        if (!doubled)
            break;
        *to++ = '"';
        from = quote + 2;
        quote = find(from, end, '"');
    }
    memcpy(to, from, (size_t)(end - from)); /* behind the closing quote, or what an open one has */
    to += end - from;
    *text = (struct span){*scratch, (size_t)(to - *scratch)};
    *scratch = to;
}

static bool take_field(const bloomery_key_rule *rule, struct span *text, unsigned char **scratch,
                       struct tool_tally *tally)
{
    const int delimiter = (int)rule->delimiter;
    const int64_t number = rule->field;
    const unsigned char *end = text->at + text->bytes;
    if ((rule->flags & BLOOMERY_RULE_CSV) != 0 && find(text->at, end, '"') != end) {
        bool open = false;
        bool found = field_in_quotes(text, delimiter, number, &open);
        tally->open_quotes += open;
        if (found)
            unquote(text, scratch);
        return found;
    }
    return number > 0 ? field_from_front(text, delimiter, number)
                      : field_from_back(text, delimiter, -number);
}

/* ---- The other steps ------------------------------------------------------------------------- */

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

static void trim(struct span *text)
{
    while (text->bytes > 0 && is_blank(text->at[text->bytes - 1]))
        text->bytes--;
    while (text->bytes > 0 && is_blank(text->at[0])) {
        text->at++;
        text->bytes--;
    }
}

/* Copies, with the letters from `first` on, 26 of them, in their other case. */
static void change_case(struct span *text, unsigned char first, unsigned char **scratch)
{
    unsigned char *to = *scratch;
    assert(to != NULL);
    for (size_t i = 0; i < text->bytes; i++) {
        unsigned char byte = text->at[i];
        to[i] = (unsigned char)(byte ^ ((unsigned char)(byte - first) < 26 ? 0x20 : 0));
    }
    *scratch += text->bytes;
    text->at = to;
}

static int digit_of(unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool read_hex(struct span *text, unsigned char **scratch)
{
    unsigned char *to = *scratch;
    assert(to != NULL);
    if (text->bytes % 2 != 0)
        return false;
    for (size_t i = 0; i < text->bytes; i += 2) {
        int high = digit_of(text->at[i]), low = digit_of(text->at[i + 1]);
        if (high < 0 || low < 0)
            return false;
        *to++ = (unsigned char)(16 * high + low);
    }
    *text = (struct span){*scratch, text->bytes / 2};
    *scratch = to;
    return true;
}

static bool read_number(struct span *text, size_t width, unsigned char **scratch)
{
    unsigned char *to = *scratch;
    assert(to != NULL);
    if (!tool_form_number(text->at, text->bytes, width, to))
        return false;
    *text = (struct span){to, width};
    *scratch += width;
    return true;
}

static bool read_utf16(struct span *text, unsigned char **scratch)
{
    unsigned char *to = *scratch;
    assert(to != NULL);
    const size_t bytes = tool_form_utf16(text->at, text->bytes, to);
    if (bytes == TOOL_FORM_NONE)
        return false;
    *text = (struct span){to, bytes};
    *scratch += bytes;
    return true;
}

/* Steps 5 and 6. False where the text is none that they can be done with. */
static bool change_form(uint32_t flags, struct span *text, unsigned char **scratch)
{
    const uint32_t numbers = BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32;
    if ((flags & BLOOMERY_RULE_HEX) != 0)
        return read_hex(text, scratch);
    if ((flags & numbers) != 0 && text->bytes == 0 && (flags & BLOOMERY_RULE_SKIP_EMPTY) != 0)
        return true;
    if ((flags & numbers) != 0)
        return read_number(text, (flags & BLOOMERY_RULE_INT64) != 0 ? 8 : 4, scratch);
    if ((flags & (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER)) != 0)
        change_case(text, (flags & BLOOMERY_RULE_LOWER) != 0 ? 'A' : 'a', scratch);
    return (flags & BLOOMERY_RULE_UTF16) == 0 || read_utf16(text, scratch);
}

const char *tool_show_bytes(char *text, size_t room, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = data;
    size_t used = 0, cut = 0; /* where "..." has room */
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
static void note_malformed(struct tool_made *made, const struct tool_chunk *chunk,
                           bloomery_key record, size_t left)
{
    struct tool_tally *tally = &made->tally;
    made->malformed++;
    /* A thread's chunks come in the order of the input, so its first is its earliest. */
    if (tally->malformed++ > 0)
        return;
    tally->chunk_number = chunk != NULL ? chunk->number : 0;
    tally->record = chunk != NULL ? chunk->records - left : 0;
    tally->input = chunk != NULL ? chunk->input : NULL;
    tool_show_bytes(tally->shown, sizeof(tally->shown), record.data, record.bytes);
}

/* ---- All steps ------------------------------------------------------------------------------- */

/* Whether the record has a key, which is then behind the others. `left` as in note_malformed. */
static bool make_key(const bloomery_key_rule *rule, const struct tool_chunk *chunk,
                     bloomery_key record, size_t left, unsigned char **scratch,
                     struct tool_made *made)
{
    struct span text = {record.data, record.bytes};
    const uint32_t flags = rule->flags;
    if ((flags & BLOOMERY_RULE_CRLF) != 0 && text.bytes > 0 && text.at[text.bytes - 1] == '\r')
        text.bytes--;
    if (rule->comment != 0 && text.bytes > 0 && text.at[0] == rule->comment)
        return false;
    if (rule->field != 0 && !take_field(rule, &text, scratch, &made->tally)) {
        made->tally.without_field++;
        return false;
    }
    if ((flags & BLOOMERY_RULE_TRIM) != 0)
        trim(&text);
    made->texts[made->count] = bloomery_key_of(text.at, text.bytes);
    if ((flags & TOOL_RULE_CHANGES) != 0 && !change_form(flags, &text, scratch)) {
        note_malformed(made, chunk, record, left);
        return false;
    }
    if ((flags & BLOOMERY_RULE_SKIP_EMPTY) != 0 && text.bytes == 0)
        return false;
    made->keys[made->count++] = bloomery_key_of(text.at, text.bytes);
    return true;
}

/* Room for what all keys of a batch may take; none where all of them are spans of their records. */
static unsigned char *scratch_for(const bloomery_key_rule *rule, const bloomery_key *records,
                                  size_t count, struct tool_made *made)
{
    static const uint32_t longer = BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32 | BLOOMERY_RULE_UTF16;
    size_t bytes = 0;
    if ((rule->flags & (BLOOMERY_RULE_CSV | TOOL_RULE_CHANGES)) == 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        bytes += 2 * records[i].bytes;
    if ((rule->flags & longer) != 0) /* quotes off, case changed, two bytes for each; or a number */
        bytes = 2 * bytes + 8 * count;
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
    unsigned char *scratch = scratch_for(rule, records, count, made);
    made->count = 0;
    made->malformed = 0;
    for (size_t first = 0; first < count; first += 64) {
        uint64_t word = 0;
        for (size_t i = first; i < count && i < first + 64; i++)
            word |= (uint64_t)make_key(rule, chunk, records[i], count - i, &scratch, made)
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

void tool_tally_add(struct tool_tally *into, const struct tool_tally *from)
{
    if (from->malformed > 0 && (into->malformed == 0 || from->chunk_number < into->chunk_number)) {
        into->chunk_number = from->chunk_number;
        into->record = from->record;
        into->input = from->input;
        memcpy(into->shown, from->shown, sizeof(into->shown));
    }
    into->without_field += from->without_field;
    into->malformed += from->malformed;
    into->open_quotes += from->open_quotes;
    into->passed_over += from->passed_over;
}

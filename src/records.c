/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a record becomes a key.
 *
 * A record is what the input has between two terminators. Without a rule it is the key. With one it
 * goes through these steps, always in this order, each only if the rule has it:
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
 * A record without such pairs, number or UTF-8 has no key, and that is reported.
 *
 * The order is part of the file format (docs/format.md), since two programs that differ in it query
 * different keys. With `field 2, delimited by comma; csv, trim, lower, comment #`:
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
 * Quoting is that of RFC 4180 as far as records are lines. A field that begins with a quote goes to
 * the next quote that is not doubled. A quote that is still open at the end of the record ends
 * there. In files with line ends in quoted fields that is wrong, and so is what follows. So such
 * records are counted and warned about, wherever in the record the quote is.
 *
 * Most keys are spans of their records and cost no copy. If bytes change (case, hex, numbers,
 * doubled quotes) the key is made in the caller's room. The record stays as it is, since another
 * filter may make another key of it. Each step that changes bytes takes room behind that of the one
 * before. That is at most as much as the record has, but 8 bytes for a number, and twice the record
 * for UTF-16.
 */
#include "base/error.h"
#include "base/quotes.h"
#include "format/format.h"
#include "library.h"

#include <assert.h>
#include <bloomery/records.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Key forms ------------------------------------------------------------------------------- */

/* Texts as other bytes, for systems that hash numbers, or texts in UTF-16. */

/* A whole decimal number, with a sign or without, as `width` (4 or 8) bytes in two's complement,
 * the least significant one first. False if the text is none, or one that does not fit. */
static bool form_number(const unsigned char *text, size_t bytes, size_t width, unsigned char *to);

/*
 * UTF-8 as UTF-16, the less significant byte of a unit first. Writes at most 2 * `bytes` bytes and
 * returns how many; FORM_NONE if the text is not UTF-8 in the shortest form. A surrogate
 * is taken as a unit: UTF-8 does not have it, but texts that were cut in UTF-16 do.
 */
#define FORM_NONE ((size_t)-1)
static size_t form_utf16(const unsigned char *text, size_t bytes, unsigned char *to);

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

/* Field `number` (from 1) of an unquoted record. False if it has fewer. */
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

/* The end of the field that begins at `from`. */
static const unsigned char *quoted_end(const unsigned char *from, const unsigned char *end,
                                       int delimiter, bool *open)
{
    if (from == end || *from != '"')
        return find(from, end, delimiter);
    bool closed = false;
    const unsigned char *behind = bloomery_quotes_end(from + 1, end, &closed);
    *open = !closed;
    return find(behind, end, delimiter);
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

/* Removes the quotes of a field: in place, or if they are not just around it, in the scratch, which
 * is moved on. */
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

/* False if the record does not have the field. `open`: whether it ends within quotes. */
static bool take_field(const bloomery_key_rule *rule, struct span *text, unsigned char **scratch,
                       bool *open)
{
    const int delimiter = (int)rule->delimiter;
    const int64_t number = rule->field;
    const unsigned char *end = text->at + text->bytes;
    if ((rule->flags & BLOOMERY_RULE_CSV) != 0 && find(text->at, end, '"') != end) {
        const bool found = field_in_quotes(text, delimiter, number, open);
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

/* Eight bytes at once: those of the 26 letters from `first` on change their case. The sums stay in
 * their bytes, since only the low seven bits go into them. */
static uint64_t other_case(uint64_t bytes, unsigned char first)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 0x80 * ones;
    const uint64_t low = bytes & ~high;
    const uint64_t from = low + (0x80u - first) * ones;
    const uint64_t behind = low + (0x80u - first - 26) * ones;
    return bytes ^ ((from & ~behind & ~bytes & high) >> 2);
}

/* Copies, with the letters from `first` on, 26 of them, in their other case. */
static void change_case(struct span *text, unsigned char first, unsigned char **scratch)
{
    const unsigned char *from = text->at;
    unsigned char *to = *scratch;
    uint64_t word;
    const size_t bytes = text->bytes;
    size_t i = 0;
    if (bytes == 0) /* of which there may be no room */
        return;
    for (; bytes - i >= sizeof word; i += sizeof word) {
        memcpy(&word, from + i, sizeof word);
        word = other_case(word, first);
        memcpy(to + i, &word, sizeof word);
    }
    for (; i < bytes; i++)
        to[i] = (unsigned char)(from[i] ^ ((unsigned char)(from[i] - first) < 26 ? 0x20 : 0));
    *text = (struct span){to, bytes};
    *scratch = to + bytes;
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

#define CHANGES                                                                            \
    (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX | BLOOMERY_RULE_INT64 | \
     BLOOMERY_RULE_INT32 | BLOOMERY_RULE_UTF16)

/* Steps 5 and 6. False if they cannot be applied to the text. */
static bool change_form(uint32_t flags, struct span *text, unsigned char **scratch)
{
    const uint32_t numbers = BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32;
    if ((flags & BLOOMERY_RULE_HEX) != 0)
        return read_hex(text, scratch);
    if ((flags & numbers) != 0 && text->bytes == 0 && (flags & BLOOMERY_RULE_SKIP_EMPTY) != 0)
        return true;
    if ((flags & numbers) != 0) {
        const size_t width = (flags & BLOOMERY_RULE_INT64) != 0 ? 8 : 4;
        unsigned char *to = *scratch;
        if (!form_number(text->at, text->bytes, width, to))
            return false;
        *text = (struct span){to, width};
        *scratch += width;
        return true;
    }
    if ((flags & (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER)) != 0)
        change_case(text, (flags & BLOOMERY_RULE_LOWER) != 0 ? 'A' : 'a', scratch);
    if ((flags & BLOOMERY_RULE_UTF16) == 0 || text->bytes == 0)
        return true;
    const size_t bytes = form_utf16(text->at, text->bytes, *scratch);
    if (bytes == FORM_NONE)
        return false;
    assert(bytes <= 2 * text->bytes); /* what room_for has room for */
    *text = (struct span){*scratch, bytes};
    *scratch += bytes;
    return true;
}

/* ---- All steps ------------------------------------------------------------------------------- */

/* What the steps of a rule may write for a record of these bytes. */
static size_t room_for(uint32_t flags, size_t bytes)
{
    const uint32_t same =
        BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX; /* of which it has one */
    size_t room = 0;
    if ((flags & BLOOMERY_RULE_CSV) != 0)
        room += bytes;
    if ((flags & same) != 0)
        room += bytes;
    if ((flags & BLOOMERY_RULE_UTF16) != 0)
        room += 2 * bytes;
    if ((flags & (BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32)) != 0)
        room += 8;
    assert(room <= BLOOMERY_RULE_ROOM(bytes));
    return room;
}

static bloomery_status check(const bloomery_key_rule *rule, size_t bytes, size_t room,
                             bloomery_error *error)
{
    const bloomery_status sound = bloomery_rule_check(rule, error);
    if (sound != BLOOMERY_OK)
        return sound;
    if ((rule->flags & BLOOMERY_RULE_ELSEWHERE) != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the key rule does not say where the key lies in a record: take its "
                             "text out, and apply the rule without BLOOMERY_RULE_ELSEWHERE");
    if (bytes > (SIZE_MAX - 8) / 4)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a record of %zu bytes is too long",
                             bytes);
    if (room < BLOOMERY_RULE_ROOM(bytes) && room < room_for(rule->flags, bytes))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the key of a record of %zu bytes may need room for %zu bytes, not "
                             "%zu; BLOOMERY_RULE_ROOM is always enough",
                             bytes, room_for(rule->flags, bytes), room);
    return BLOOMERY_OK;
}

static bloomery_record make_key(const bloomery_key_rule *rule, struct span *made,
                                unsigned char *scratch, bool *open, bloomery_error *error)
{
    struct span text = *made;
    const uint32_t flags = rule->flags;
    if ((flags & BLOOMERY_RULE_CRLF) != 0 && text.bytes > 0 && text.at[text.bytes - 1] == '\r')
        text.bytes--;
    if (rule->comment != 0 && text.bytes > 0 && text.at[0] == rule->comment)
        return BLOOMERY_RECORD_SKIPPED;
    if (rule->field != 0 && !take_field(rule, &text, &scratch, open))
        return BLOOMERY_RECORD_NO_FIELD;
    if ((flags & BLOOMERY_RULE_TRIM) != 0) {
        while (text.bytes > 0 && is_blank(text.at[text.bytes - 1]))
            text.bytes--;
        while (text.bytes > 0 && is_blank(text.at[0])) {
            text.at++;
            text.bytes--;
        }
    }
    if ((flags & CHANGES) != 0 && !change_form(flags, &text, &scratch)) {
        const char *what =
            (flags & BLOOMERY_RULE_HEX) != 0     ? "not pairs of hexadecimal digits"
            : (flags & BLOOMERY_RULE_INT64) != 0 ? "not a whole number from -2^63 to 2^64-1"
            : (flags & BLOOMERY_RULE_INT32) != 0 ? "not a whole number from -2^31 to 2^32-1"
                                                 : "not UTF-8";
        bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the key in the record is %s", what);
        return BLOOMERY_RECORD_BAD;
    }
    if ((flags & BLOOMERY_RULE_SKIP_EMPTY) != 0 && text.bytes == 0)
        return BLOOMERY_RECORD_SKIPPED;
    *made = text;
    return BLOOMERY_RECORD_KEY;
}

bloomery_record bloomery_rule_apply(const bloomery_key_rule *rule, const void *record, size_t bytes,
                                    void *out, size_t room, bloomery_key *key,
                                    bloomery_error *error)
{
    static const unsigned char nothing[1]; /* what an empty record at no address points to */
    struct span text = {record != NULL ? record : nothing, bytes};
    bool open = false;
    *key = bloomery_key_of(NULL, 0);
    if (check(rule, bytes, room, error) != BLOOMERY_OK)
        return BLOOMERY_RECORD_RULE_REFUSED;
    const bloomery_record result = make_key(rule, &text, out, &open, error);
    if (result == BLOOMERY_RECORD_KEY)
        *key = bloomery_key_of(text.at, text.bytes);
    return open ? (bloomery_record)(result | BLOOMERY_RECORD_OPEN_QUOTE) : result;
}

/* ---- Key forms ------------------------------------------------------------------------------- */

static bool form_number(const unsigned char *text, size_t bytes, size_t width, unsigned char *to)
{
    assert(width == 4 || width == 8);
    const bool minus = bytes > 0 && text[0] == '-';
    const bool sign = minus || (bytes > 0 && text[0] == '+');
    /* Without a sign, up to what the bytes hold: unsigned numbers are written so, and have the same
     * bytes as the negative number that is less by 2^(8 width). */
    const uint64_t most = minus ? UINT64_C(1) << (8 * width - 1) : UINT64_MAX >> (64 - 8 * width);
    uint64_t value = 0;
    if (bytes == (size_t)sign)
        return false;
    for (size_t i = sign; i < bytes; i++) {
        const unsigned digit = (unsigned)text[i] - '0';
        if (digit > 9 || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    assert(value <= most);
    value = minus ? 0 - value : value;
    for (size_t i = 0; i < width; i++)
        to[i] = (unsigned char)(value >> 8 * i);
    return true;
}

/* The character at the beginning of a text, and its bytes; 0 bytes if there is none. */
static size_t next_character(const unsigned char *text, size_t bytes, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* that needs this many bytes */
    const unsigned char first = text[0];
    const size_t length = first < 0x80             ? 1
                          : (first & 0xe0) == 0xc0 ? 2
                          : (first & 0xf0) == 0xe0 ? 3
                          : (first & 0xf8) == 0xf0 ? 4
                                                   : 0;
    if (length == 0 || length > bytes)
        return 0;
    uint32_t value = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3fu);
    }
    *character = value;
    return value >= least[length] && value <= 0x10ffff ? length : 0;
}

static unsigned char *put_unit(unsigned char *to, uint32_t unit)
{
    to[0] = (unsigned char)unit;
    to[1] = (unsigned char)(unit >> 8);
    return to + 2;
}

static size_t form_utf16(const unsigned char *text, size_t bytes, unsigned char *to)
{
    const unsigned char *const begin = to;
    while (bytes > 0) {
        uint32_t character = 0;
        const size_t length = next_character(text, bytes, &character);
        if (length == 0)
            return FORM_NONE;
        if (character >= 0x10000) {
            to = put_unit(to, 0xd800 + ((character - 0x10000) >> 10));
            character = 0xdc00 + (character & 0x3ff);
        }
        to = put_unit(to, character);
        text += length;
        bytes -= length;
    }
    return (size_t)(to - begin);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Many keys in somebody's memory, as keys that the library reads there, or as portions. */
#include "native.h"

#include <assert.h>
#include <string.h>

bool native_chunk_keys(const struct native_chunk *chunk, const struct native_keying *keying,
                       bloomery_keys *keys)
{
    *keys = (bloomery_keys)BLOOMERY_KEYS;
    keys->count = chunk->count;
    keys->first = chunk->first;
    keys->data = chunk->data;
    keys->valid = chunk->valid;
    switch (chunk->form) {
    case NATIVE_INTEGERS:
    case NATIVE_RAW:
        /* Integers of the width of a key are keys as they are in memory. */
        if (chunk->form == NATIVE_RAW ? keying->has_rule
                                      : chunk->width != keying->integer_bytes || chunk->swapped ||
                                            __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
            return false;
        if (chunk->stride < (ptrdiff_t)chunk->width || chunk->width == 0)
            return false;
        keys->form = BLOOMERY_KEYS_FIXED;
        keys->width = chunk->width;
        keys->stride = (size_t)chunk->stride;
        return true;
    case NATIVE_OFFSETS32:
    case NATIVE_OFFSETS64:
        keys->form =
            chunk->form == NATIVE_OFFSETS32 ? BLOOMERY_KEYS_OFFSETS32 : BLOOMERY_KEYS_OFFSETS64;
        keys->offsets = chunk->offsets;
        keys->bytes = chunk->bytes;
        return !keying->has_rule && chunk->offsets != NULL;
    default:
        return false;
    }
}

/* One integer of any width and order, extended to 64 bits. */
static uint64_t integer_at(const struct native_chunk *chunk, const unsigned char *at)
{
    unsigned char bytes[8];
    uint64_t value = 0;

    assert(chunk->width >= 1 && chunk->width <= sizeof bytes);
    memcpy(bytes, at, chunk->width);
    const bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != chunk->swapped;
    for (size_t i = 0; i < chunk->width; i++)
        value |= (uint64_t)bytes[big ? chunk->width - 1 - i : i] << (8 * i);
    const unsigned unused = 64 - 8 * (unsigned)chunk->width;
    return chunk->is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* An int64 column may be asked of a filter with keys of 4 bytes: then it must fit. */
static bool take_integer(const struct native_chunk *chunk, const struct native_keying *keying,
                         size_t number, struct native_portion *portion, bloomery_error *error)
{
    const uint64_t value =
        integer_at(chunk, chunk->data + (ptrdiff_t)(chunk->first + number) * chunk->stride);
    const int64_t given = (int64_t)value;
    if (keying->integer_bytes == 0 ||
        (keying->integer_bytes == 4 &&
         (given > UINT32_MAX || given < INT32_MIN || (!chunk->is_signed && given < 0)))) {
        error->status = BLOOMERY_BAD_ARGUMENT;
        PyOS_snprintf(error->text, sizeof(error->text), "%s",
                      keying->integer_bytes == 0
                          ? "integers are not keys of this filter: its rule makes keys of texts"
                          : "an integer is out of range: keys of this filter are -2**31 to "
                            "2**32 - 1");
        portion->bad = portion->records;
        return false;
    }
    native_portion_integer(portion, native_little_endian(value), keying->integer_bytes);
    return true;
}

/* UTF-8 of a character; its bytes, or 0 if it is none (a surrogate, or too large). */
static size_t put_character(uint32_t character, unsigned char *out)
{
    if (character < 0x80) {
        out[0] = (unsigned char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (unsigned char)(0xc0 | character >> 6);
        out[1] = (unsigned char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return 0;
    if (character < 0x10000) {
        out[0] = (unsigned char)(0xe0 | character >> 12);
        out[1] = (unsigned char)(0x80 | (character >> 6 & 0x3f));
        out[2] = (unsigned char)(0x80 | (character & 0x3f));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | character >> 18);
    out[1] = (unsigned char)(0x80 | (character >> 12 & 0x3f));
    out[2] = (unsigned char)(0x80 | (character >> 6 & 0x3f));
    out[3] = (unsigned char)(0x80 | (character & 0x3f));
    return 4;
}

/* A string of NumPy's U. */
static bool take_ucs4(const struct native_chunk *chunk, const unsigned char *at,
                      struct native_portion *portion, bloomery_error *error)
{
    struct native_arena *texts = &portion->texts;
    const size_t start = texts->used;
    size_t length = chunk->width / 4;
    assert(chunk->width % 4 == 0);
    uint32_t character;

    if (!native_arena_reserve(texts, chunk->width + 4)) {
        *error = (bloomery_error){.status = BLOOMERY_OUT_OF_MEMORY, .text = "not enough memory"};
        return false;
    }
    for (; length > 0; length--) { /* its end */
        memcpy(&character, at + 4 * (length - 1), 4);
        if (character != 0)
            break;
    }
    for (size_t i = 0; i < length; i++) {
        memcpy(&character, at + 4 * i, 4);
        const size_t bytes = put_character(
            chunk->swapped ? __builtin_bswap32(character) : character, texts->bytes + texts->used);
        if (bytes == 0) {
            error->status = BLOOMERY_BAD_ARGUMENT;
            PyOS_snprintf(error->text, sizeof(error->text),
                          "character %zu of a string has no UTF-8: it is a surrogate", i);
            portion->bad = portion->records;
            return false;
        }
        texts->used += bytes;
    }
    native_portion_point(portion, texts->bytes, texts->used - start);
    portion->copies[portion->records - 1] = 1 + start;
    portion->plain = false;
    return true;
}

static bool bad_place(struct native_portion *portion, bloomery_error *error)
{
    error->status = BLOOMERY_BAD_ARGUMENT;
    PyOS_snprintf(error->text, sizeof(error->text),
                  "a value of the array lies outside its buffers: the array is damaged");
    portion->bad = portion->records;
    return false;
}

/* A view of Arrow: the length, then up to 12 bytes, or four of them, a buffer and a place in it. */
static bool take_view(const struct native_chunk *chunk, const unsigned char *at,
                      struct native_portion *portion, bloomery_error *error)
{
    int32_t fields[4]; /* length, four bytes, buffer, place */
    memcpy(fields, at, sizeof(fields));
    if (fields[0] < 0)
        return bad_place(portion, error);
    if (fields[0] <= 12) {
        native_portion_point(portion, at + 4, (size_t)fields[0]);
        return true;
    }
    if (fields[2] < 0 || (size_t)fields[2] >= chunk->buffer_count || fields[3] < 0 ||
        chunk->buffers[fields[2]] == NULL ||
        (int64_t)fields[3] + fields[0] > chunk->buffer_bytes[fields[2]])
        return bad_place(portion, error);
    const unsigned char *data = chunk->buffers[fields[2]];
    native_portion_point(portion, data + fields[3], (size_t)fields[0]);
    return true;
}

static bool take_offsets(const struct native_chunk *chunk, size_t number,
                         struct native_portion *portion, bloomery_error *error)
{
    int64_t from, to;
    if (chunk->form == NATIVE_OFFSETS32) {
        int32_t both[2];
        memcpy(both, (const unsigned char *)chunk->offsets + 4 * (chunk->first + number), 8);
        from = both[0];
        to = both[1];
    } else {
        int64_t both[2];
        memcpy(both, (const unsigned char *)chunk->offsets + 8 * (chunk->first + number), 16);
        from = both[0];
        to = both[1];
    }
    if (from < 0 || to < from || (uint64_t)to > chunk->bytes)
        return bad_place(portion, error);
    native_portion_point(portion, chunk->data + from, (size_t)(to - from));
    return true;
}

static bool take_value(const struct native_chunk *chunk, const struct native_keying *keying,
                       size_t number, struct native_portion *portion, bloomery_error *error)
{
    const ptrdiff_t place = (ptrdiff_t)(chunk->first + number);
    assert(chunk->data != NULL);
    const unsigned char *at = chunk->data + place * chunk->stride;
    size_t bytes = chunk->width;

    switch (chunk->form) {
    case NATIVE_INTEGERS:
        return take_integer(chunk, keying, number, portion, error);
    case NATIVE_UCS4:
        return take_ucs4(chunk, at, portion, error);
    case NATIVE_VIEWS:
        return take_view(chunk, at, portion, error);
    case NATIVE_OFFSETS32:
    case NATIVE_OFFSETS64:
        return take_offsets(chunk, number, portion, error);
    case NATIVE_PADDED:
        while (bytes > 0 && at[bytes - 1] == 0)
            bytes--;
        break;
    default:
        break;
    }
    native_portion_point(portion, at, bytes);
    return true;
}

bool native_chunk_portion(const struct native_chunk *chunk, const struct native_keying *keying,
                          size_t from, struct native_portion *portion, bloomery_error *error)
{
    assert(from < chunk->count);
    const size_t left = chunk->count - from;
    const size_t records = left < NATIVE_PORTION ? left : NATIVE_PORTION;

    native_portion_begin(portion);
    for (size_t i = 0; i < records; i++) {
        const size_t bit = chunk->first + from + i;
        const bool is_null = chunk->valid != NULL && (chunk->valid[bit >> 3] >> (bit & 7) & 1) == 0;
        if (chunk->form == NATIVE_NOTHING || is_null)
            native_portion_nothing(portion);
        else if (!take_value(chunk, keying, from + i, portion, error))
            return false;
    }
    assert(portion->records == records);
    return native_portion_close(portion, keying, error);
}

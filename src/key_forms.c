/* SPDX-License-Identifier: Apache-2.0 */
#include "key_forms.h"

#include <assert.h>
#include <stdint.h>

bool bloomery_form_number(const unsigned char *text, size_t bytes, size_t width, unsigned char *to)
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

size_t bloomery_form_utf16(const unsigned char *text, size_t bytes, unsigned char *to)
{
    const unsigned char *const begin = to;
    while (bytes > 0) {
        uint32_t character = 0;
        const size_t length = next_character(text, bytes, &character);
        if (length == 0)
            return BLOOMERY_FORM_NONE;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Bits that grow: the answers of an operation while it runs. */
#include "native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool native_bits_reserve(struct native_bits *bits, size_t count)
{
    if (count > SIZE_MAX / 2 - bits->count)
        return false;
    const size_t words = (bits->count + count + 63) / 64;
    if (words <= bits->room)
        return true;
    const size_t room = words + words / 2 + 16;
    uint64_t *larger = realloc(bits->words, room * sizeof(uint64_t));
    if (larger == NULL)
        return false;
    memset(larger + bits->room, 0, (room - bits->room) * sizeof(uint64_t));
    bits->words = larger;
    bits->room = room;
    assert(words <= bits->room);
    return true;
}

bool native_bits_append(struct native_bits *bits, const uint64_t *words, size_t count)
{
    if (!native_bits_reserve(bits, count))
        return false;
    assert(bits->count + count <= 64 * bits->room);
    const size_t shift = bits->count & 63;
    uint64_t *out = bits->words + bits->count / 64;
    for (size_t i = 0; i < (count + 63) / 64; i++) {
        uint64_t word = words[i];
        if (64 * (i + 1) > count)
            word &= UINT64_MAX >> (64 * (i + 1) - count);
        if (shift == 0)
            out[i] = word;
        else {
            out[i] |= word << shift;
            if (64 * i + 64 - shift < count)
                out[i + 1] = word >> (64 - shift);
        }
    }
    bits->count += count;
    assert(bits->count <= 64 * bits->room);
    return true;
}

size_t native_count_bits(const uint64_t *words, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < (count + 63) / 64; i++)
        sum += (size_t)__builtin_popcountll(words[i]);
    return sum;
}

size_t native_bits_true(const struct native_bits *bits)
{
    return native_count_bits(bits->words, bits->count);
}

void native_bits_spread(const struct native_bits *bits, unsigned char *out, ptrdiff_t stride)
{
    for (size_t i = 0; i < bits->count; i++)
        out[(ptrdiff_t)i * stride] = native_bit(bits, i);
}

bool native_answers_write(const struct native_bits *bits, PyObject *out)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(out, &buffer, PyBUF_FULL) != 0)
        return false;
    const char *format = buffer.format == NULL ? "B" : buffer.format;
    const bool fits = buffer.ndim == 1 && buffer.itemsize == 1 && strchr("?Bb", *format) != NULL &&
                      (size_t)buffer.shape[0] == bits->count && buffer.suboffsets == NULL;
    if (fits)
        native_bits_spread(bits, buffer.buf, buffer.strides[0]);
    else
        PyErr_Format(PyExc_ValueError,
                     "`out` must be a writable array of %zu bools; it has %zd items of the format "
                     "'%s'",
                     bits->count, buffer.ndim == 1 ? buffer.shape[0] : (Py_ssize_t)-1, format);
    PyBuffer_Release(&buffer);
    return fits;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays with the buffer protocol: NumPy's, array.array, memoryview.
 *
 *     b B h H i I l L q Q   integers; any byte order, any stride, backwards too
 *     Ns, c                 NumPy's S: bytes, without the NULs at the end, as NumPy drops them
 *     Nw                    NumPy's U: characters of 4 bytes, made UTF-8
 *     Nx                    NumPy's V: N bytes as they are
 *     B of two dimensions   a row is a key: digests
 *
 * Not floats and bools, which are not keys. Arrays of objects hand out the addresses of their
 * objects here: those are iterated over instead.
 */
#include "native.h"

#include <string.h>

/* What one format means. False: no keys; `objects` tells arrays of objects apart. */
static bool read_format(const Py_buffer *buffer, struct native_chunk *chunk, bool *objects)
{
    const char *format = buffer->format == NULL ? "B" : buffer->format;
    const bool native_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

    if (*format != '\0' && strchr("@=<>!", *format) != NULL) {
        const bool big = *format == '>' || *format == '!';
        chunk->swapped = *format != '@' && *format != '=' && big != native_is_big;
        format++;
    }
    while (*format >= '0' && *format <= '9')
        format++;
    *objects = *format == 'O';
    if (format[0] == '\0' || format[1] != '\0')
        return false;
    chunk->width = (size_t)buffer->itemsize;
    if (strchr("bhilq", *format) != NULL || strchr("BHILQ", *format) != NULL) {
        chunk->form = NATIVE_INTEGERS;
        chunk->is_signed = *format >= 'a';
        return chunk->width <= 8;
    }
    switch (*format) {
    case 's':
    case 'c':
        chunk->form = NATIVE_PADDED;
        return true;
    case 'w':
        chunk->form = NATIVE_UCS4;
        return chunk->width % 4 == 0;
    case 'x':
        chunk->form = NATIVE_RAW;
        return true;
    default:
        return false;
    }
}

/* The places of the keys. False after raising. */
static bool read_shape(const Py_buffer *buffer, struct native_chunk *chunk)
{
    if (buffer->ndim == 2 && chunk->form == NATIVE_INTEGERS && chunk->width == 1 &&
        (buffer->strides[1] == 1 || buffer->shape[1] <= 1)) {
        chunk->form = NATIVE_RAW; /* a row is a key */
        chunk->width = (size_t)buffer->shape[1];
    } else if (buffer->ndim != 1) {
        PyErr_Format(PyExc_TypeError,
                     "an array of %d dimensions is not a list of keys: use array.ravel(); of two "
                     "dimensions are only bytes (uint8), a row of which is a key",
                     buffer->ndim);
        return false;
    }
    chunk->count = (size_t)buffer->shape[0];
    chunk->stride = buffer->strides[0];
    chunk->data = buffer->buf != NULL ? buffer->buf : "";
    return true;
}

static int refuse(const Py_buffer *buffer)
{
    PyErr_Format(PyExc_TypeError,
                 "an array with the format '%s' has no keys: integers and strings are keys; of "
                 "floats, bools and records make one of these first, such as array.astype('i8') or "
                 "array.astype('U'); in pandas series.astype('Int64') keeps missing ones",
                 buffer->format == NULL ? "B" : buffer->format);
    return -1;
}

int native_work_buffer(struct native_work *work, PyObject *keys)
{
    struct native_chunk chunk = {.form = NATIVE_INTEGERS};
    Py_buffer buffer;
    bool objects = false;

    if (!PyObject_CheckBuffer(keys))
        return 0;
    if (PyObject_GetBuffer(keys, &buffer, PyBUF_FULL_RO) != 0) {
        if (PyErr_ExceptionMatches(PyExc_ValueError) == 0 &&
            PyErr_ExceptionMatches(PyExc_BufferError) == 0)
            return -1;
        PyErr_Clear(); /* it has items that no format describes */
        return 0;
    }
    int done = -1;
    if (buffer.ndim == 0)
        PyErr_SetString(PyExc_TypeError, "a single value is not a list of keys");
    else if (buffer.suboffsets != NULL)
        PyErr_SetString(PyExc_TypeError, "an array with suboffsets is not read: copy it first");
    else if (!read_format(&buffer, &chunk, &objects))
        done = objects ? 0 : refuse(&buffer);
    else if (read_shape(&buffer, &chunk))
        done = native_work_chunk(work, &chunk) ? 1 : -1;
    PyBuffer_Release(&buffer);
    return done;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow's C data interface, by the PyCapsule protocol: pyarrow, polars, DuckDB and others hand over
 * arrays without a copy, and this needs none of them. The structs are those of Arrow's
 * specification ("The Arrow C data interface"), which never change.
 *
 *     u z       utf8, binary               U Z       the same with offsets of 64 bits
 *     vu vz     views                      w:N       N bytes each
 *     c C s S i I l L   integers           n         nothing but nulls
 *
 * A null is not a key: nothing is added for it, and the answer is False.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

struct schema {
    const char *format, *name, *metadata;
    int64_t flags, children_count;
    struct schema **children, *dictionary;
    void (*release)(struct schema *);
    void *private_data;
};

struct array {
    int64_t length, null_count, offset, buffer_count, children_count;
    const void **buffers;
    struct array **children, *dictionary;
    void (*release)(struct array *);
    void *private_data;
};

struct stream {
    int (*get_schema)(struct stream *, struct schema *);
    int (*get_next)(struct stream *, struct array *);
    const char *(*get_last_error)(struct stream *);
    void (*release)(struct stream *);
    void *private_data;
};

/* Releases, whatever is released by Python code: that must not see the exception that was raised
 * before. */
static void release_schema(struct schema *schema)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (schema->release != NULL)
        schema->release(schema);
    PyErr_Restore(type, value, trace);
}

static void release_array(struct array *array)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    array->release(array);
    PyErr_Restore(type, value, trace);
}

static void release_stream(struct stream *stream)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (stream->release != NULL)
        stream->release(stream);
    PyErr_Restore(type, value, trace);
}

static bool refuse(const struct schema *schema)
{
    const char *format = schema->format;
    if (schema->dictionary != NULL)
        PyErr_SetString(PyExc_TypeError, "a dictionary-encoded array is not read: decode it first "
                                         "(pyarrow: array.dictionary_decode())");
    else if (strcmp(format, "+s") == 0)
        PyErr_SetString(PyExc_TypeError, "a table has several columns: pass one of them");
    else
        PyErr_Format(
            PyExc_TypeError,
            "an Arrow array with the format '%s' has no keys: strings, binary and integers "
            "are keys; cast it to one of these first",
            format);
    return false;
}

/* The form of the values. False after raising. */
static bool read_schema(const struct schema *schema, struct native_chunk *chunk)
{
    static const char integers[] = "cCsSiIlL";
    const char *format = schema->format;

    if (schema->dictionary != NULL)
        return refuse(schema);
    if (strncmp(format, "w:", 2) == 0) {
        char *end = NULL;
        const long width = strtol(format + 2, &end, 10);
        chunk->form = NATIVE_RAW;
        chunk->width = (size_t)width;
        return (width >= 0 && end != format + 2 && *end == '\0') || refuse(schema);
    }
    if (strcmp(format, "vu") == 0 || strcmp(format, "vz") == 0) {
        chunk->form = NATIVE_VIEWS;
        chunk->width = 16;
        return true;
    }
    if (format[0] == '\0' || format[1] != '\0')
        return refuse(schema);
    const char *place = strchr(integers, format[0]);
    if (place != NULL) {
        chunk->form = NATIVE_INTEGERS;
        chunk->width = (size_t)1 << ((place - integers) / 2);
        chunk->is_signed = (place - integers) % 2 == 0;
    } else if (format[0] == 'n')
        chunk->form = NATIVE_NOTHING;
    else if (format[0] == 'u' || format[0] == 'z')
        chunk->form = NATIVE_OFFSETS32;
    else if (format[0] == 'U' || format[0] == 'Z')
        chunk->form = NATIVE_OFFSETS64;
    else
        return refuse(schema);
    return true;
}

/* Where the values end: the last offset. */
static bool read_end(struct native_chunk *chunk)
{
    const unsigned char *offsets = chunk->offsets;
    const size_t last = chunk->first + chunk->count;
    int64_t end = 0;
    if (chunk->form == NATIVE_OFFSETS32) {
        int32_t narrow;
        memcpy(&narrow, offsets + 4 * last, 4);
        end = narrow;
    } else
        memcpy(&end, offsets + 8 * last, 8);
    if (end < 0)
        return false;
    chunk->bytes = (size_t)end;
    return true;
}

/* The memory of the values. False after raising. */
static bool read_array(const struct array *array, struct native_chunk *chunk)
{
    const bool offsets = chunk->form == NATIVE_OFFSETS32 || chunk->form == NATIVE_OFFSETS64;
    const int64_t needed = chunk->form == NATIVE_NOTHING            ? 0
                           : offsets || chunk->form == NATIVE_VIEWS ? 3
                                                                    : 2;
    bool good = array->length >= 0 && array->offset >= 0 && array->buffer_count >= needed &&
                array->length <= INT64_MAX / 64 - array->offset;

    chunk->count = (size_t)array->length;
    chunk->first = (size_t)array->offset;
    chunk->stride = (ptrdiff_t)chunk->width;
    chunk->valid = NULL;
    if (!good || chunk->form == NATIVE_NOTHING || array->length == 0)
        goto done;
    if (array->null_count != 0)
        chunk->valid = array->buffers[0];
    if (offsets) {
        chunk->offsets = array->buffers[1];
        chunk->data = array->buffers[2];
        good =
            chunk->offsets != NULL && read_end(chunk) && (chunk->data != NULL || chunk->bytes == 0);
    } else {
        chunk->data = array->buffers[1];
        good = chunk->data != NULL || (chunk->form == NATIVE_RAW && chunk->width == 0);
    }
    if (good && chunk->form == NATIVE_VIEWS) {
        chunk->buffer_count = (size_t)(array->buffer_count - 3);
        chunk->buffers = (const void *const *)(array->buffers + 2);
        chunk->buffer_bytes = array->buffers[array->buffer_count - 1];
        good = chunk->buffer_count == 0 || chunk->buffer_bytes != NULL;
    }
    if (chunk->data == NULL)
        chunk->data = (const unsigned char *)"";
done:
    if (!good)
        PyErr_SetString(PyExc_ValueError, "an Arrow array lacks a buffer, or its sizes are wrong");
    return good;
}

/* Takes the keys of one array and releases it. */
static bool take_array(struct native_work *work, struct native_chunk *chunk, struct array *array)
{
    const bool done = read_array(array, chunk) && native_work_chunk(work, chunk);
    release_array(array);
    return done;
}

static bool stream_failed(struct stream *stream, int code)
{
    const char *text = stream->get_last_error(stream);
    if (PyErr_Occurred() == NULL)
        PyErr_Format(PyExc_OSError, "the Arrow stream failed: %s",
                     text != NULL ? text : strerror(code));
    return false;
}

static bool take_stream(struct native_work *work, struct stream *stream)
{
    struct native_chunk chunk = {.form = NATIVE_RAW};
    struct schema schema = {.release = NULL};
    int code = stream->get_schema(stream, &schema);

    if (code != 0)
        return stream_failed(stream, code);
    bool good = read_schema(&schema, &chunk);
    while (good) {
        struct array array = {.release = NULL};
        code = stream->get_next(stream, &array);
        if (code != 0)
            good = stream_failed(stream, code);
        else if (array.release == NULL)
            break;
        else
            good = take_array(work, &chunk, &array);
    }
    release_schema(&schema);
    return good;
}

/* The method of an object, called. NULL if there is none that works here, or after raising. */
static PyObject *export(PyObject *keys, const char *method)
{
    PyObject *found = PyObject_GetAttrString(keys, method);
    if (found == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
        return NULL;
    }
    PyObject *capsules = PyObject_CallNoArgs(found);
    Py_DECREF(found);
    /* pandas exports through pyarrow, which need not be there: then it is an array, too. */
    if (capsules == NULL && PyErr_ExceptionMatches(PyExc_ImportError))
        PyErr_Clear();
    return capsules;
}

static int take_stream_capsule(struct native_work *work, PyObject *capsule)
{
    struct stream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL)
        return -1;
    if (stream->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was used up already");
        return -1;
    }
    struct stream mine = *stream; /* moved: the capsule releases nothing any more */
    stream->release = NULL;
    const bool done = take_stream(work, &mine);
    release_stream(&mine);
    return done ? 1 : -1;
}

static int take_array_capsules(struct native_work *work, PyObject *capsules)
{
    struct native_chunk chunk = {.form = NATIVE_RAW};
    PyObject *first = NULL, *second = NULL;

    if (!PyTuple_Check(capsules) || PyTuple_Size(capsules) != 2) {
        PyErr_SetString(PyExc_TypeError, "__arrow_c_array__ returned no pair of capsules");
        return -1;
    }
    first = PyTuple_GetItem(capsules, 0);
    second = PyTuple_GetItem(capsules, 1);
    struct schema *schema = PyCapsule_GetPointer(first, "arrow_schema");
    struct array *array = schema == NULL ? NULL : PyCapsule_GetPointer(second, "arrow_array");
    if (array == NULL)
        return -1;
    if (array->release == NULL || schema->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow array was released already");
        return -1;
    }
    struct array mine = *array;
    array->release = NULL;
    if (!read_schema(schema, &chunk)) {
        release_array(&mine);
        return -1;
    }
    return take_array(work, &chunk, &mine) ? 1 : -1;
}

int native_work_arrow(struct native_work *work, PyObject *keys)
{
    PyObject *capsules = export(keys, "__arrow_c_stream__");
    int done = 0;

    if (capsules != NULL)
        done = take_stream_capsule(work, capsules);
    else if (PyErr_Occurred() == NULL) {
        capsules = export(keys, "__arrow_c_array__");
        if (capsules != NULL)
            done = take_array_capsules(work, capsules);
    }
    Py_XDECREF(capsules);
    return PyErr_Occurred() != NULL ? -1 : done;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object as a key:
 *
 *     str                 its UTF-8
 *     bytes, bytearray,   themselves
 *     memoryview of bytes
 *     int, numpy.int64    8 bytes, two's complement, least significant first, as the command's
 *                         --int64; 4 bytes for filters made with integers=32
 *
 * Any other object is a TypeError that says what to do instead. A key must not depend on what a
 * float's -0.0 or a tuple's repr is; and True, 1 and 1.0, which are equal in Python, would be one
 * key or three.
 */
#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The flags of a rule that say what the bytes of a key are. */
static const uint32_t rule_of_key = BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER |
                                    BLOOMERY_RULE_HEX | BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32 |
                                    BLOOMERY_RULE_UTF16;

void native_keying_of(const bloomery_key_rule *rule, struct native_keying *keying)
{
    memset(keying, 0, sizeof(*keying));
    keying->rule.flags = rule->flags & rule_of_key;
    keying->has_rule = keying->rule.flags != 0;
    if (rule->flags & BLOOMERY_RULE_INT32)
        keying->integer_bytes = 4;
    else if (!keying->has_rule || rule->flags & BLOOMERY_RULE_INT64)
        keying->integer_bytes = 8;
}

static bool out_of_range(size_t bytes)
{
    PyErr_Format(PyExc_OverflowError,
                 bytes == 4 ? "an int is out of range: keys of this filter are -2**31 to 2**32 - 1"
                            : "an int is out of range: keys are -2**63 to 2**64 - 1; for larger "
                              "numbers use bytes, such as number.to_bytes(16, 'little')");
    return false;
}

bool native_integer(PyObject *number, size_t bytes, uint64_t *key)
{
    int overflow = 0;

    if (bytes == 0) {
        PyErr_SetString(PyExc_TypeError,
                        "an int is not a key of this filter: its rule makes keys of "
                        "texts; see Filter.rule");
        return false;
    }
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (value == -1 && PyErr_Occurred() != NULL)
        return false;
    if (overflow < 0 || (bytes == 4 && (overflow > 0 || value < INT32_MIN || value > UINT32_MAX)))
        return out_of_range(bytes);
    *key = (uint64_t)value;
    if (overflow > 0) {
        *key = PyLong_AsUnsignedLongLong(number);
        if (PyErr_Occurred() != NULL) {
            PyErr_Clear();
            return out_of_range(bytes);
        }
    }
    *key = native_little_endian(*key);
    return true;
}

/* Raises a TypeError that says what to do instead. Returns false. */
static bool refuse(PyObject *object)
{
    PyObject *name = PyType_GetName(Py_TYPE(object));
    if (name == NULL)
        return false;
    const char *remedy = "str, bytes-like objects and int are keys; convert it to one of these";
    if (PyBool_Check(object) || PyIndex_Check(object))
        remedy = "say int(key), or str(key)";
    else if (PyFloat_Check(object) && isnan(PyFloat_AsDouble(object)))
        remedy = "leave out what is missing, or use the methods that end in _many, which do so";
    else if (PyFloat_Check(object))
        remedy = "say repr(key), or struct.pack('<d', key)";
    else if (PyObject_HasAttrString(object, "packed"))
        remedy = "say key.packed"; /* IPv4Address and the like */
    else if (PyObject_HasAttrString(object, "bytes") && PyObject_HasAttrString(object, "hex"))
        remedy = "say key.bytes"; /* UUID */
    else if (PyObject_HasAttrString(object, "__fspath__"))
        remedy = "say os.fspath(key)";
    else if (PyUnicode_CompareWithASCIIString(name, "datetime64") == 0 ||
             PyUnicode_CompareWithASCIIString(name, "timedelta64") == 0)
        remedy = "say key.astype('i8')";
    else if (PyObject_HasAttrString(object, "isoformat"))
        remedy = "say key.isoformat()"; /* date, time, datetime */
    else if (PyUnicode_CompareWithASCIIString(name, "Decimal") == 0 ||
             PyUnicode_CompareWithASCIIString(name, "Fraction") == 0)
        remedy = "say str(key)";
    else if (object == Py_None)
        remedy = "leave it out, or choose a key that stands for it";
    else if (PyTuple_Check(object) || PyList_Check(object))
        remedy =
            "join its parts to one str or bytes with a separator; of many keys use the methods "
            "that end in _many";
    PyErr_Format(PyExc_TypeError, "%U is not a key: %s", name, remedy);
    Py_DECREF(name);
    return false;
}

/* numpy.datetime64 and its like hand out their bytes, but are single values. */
static bool is_scalar(PyObject *object)
{
    PyObject *dimensions = PyObject_GetAttrString(object, "ndim");
    const bool scalar =
        dimensions != NULL && PyLong_Check(dimensions) != 0 && PyObject_IsTrue(dimensions) == 0;
    Py_XDECREF(dimensions);
    PyErr_Clear();
    return scalar;
}

/* Bytes of an exporter of one dimension. 1: taken; 0: it is none; -1 after raising. */
static int take_buffer(PyObject *object, struct native_bytes *taken)
{
    Py_buffer *buffer = &taken->buffer;
    if (PyObject_GetBuffer(object, buffer, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return 0;
    }
    const char *format = buffer->format == NULL ? "B" : buffer->format;
    if (buffer->ndim == 1 && buffer->itemsize == 1 && strchr("Bbc", format[0]) != NULL &&
        format[1] == '\0' && PyBuffer_IsContiguous(buffer, 'C') && !is_scalar(object)) {
        taken->key = bloomery_key_of(buffer->buf, (size_t)buffer->len);
        taken->has_buffer = true;
        return 1;
    }
    const bool scalar = buffer->ndim == 0 || is_scalar(object);
    const bool truth = format[0] == '?';
    PyBuffer_Release(buffer);
    if (scalar && truth) {
        refuse(object);
        return -1;
    }
    if (scalar)
        return 0; /* numpy.int64 and its like */
    PyErr_SetString(PyExc_TypeError,
                    "an array is not a single key: use the methods that end in _many, "
                    "or array.tobytes() if its bytes are one key");
    return -1;
}

bool native_bytes_take(PyObject *object, const struct native_keying *keying,
                       struct native_bytes *taken)
{
    Py_ssize_t bytes = 0;
    char *data = NULL;

    taken->is_integer = taken->has_buffer = false;
    if (PyUnicode_Check(object)) {
        taken->key.data = PyUnicode_AsUTF8AndSize(object, &bytes);
        taken->key.bytes = (size_t)bytes;
        return taken->key.data != NULL;
    }
    if (PyBytes_Check(object)) {
        if (PyBytes_AsStringAndSize(object, &data, &bytes) != 0)
            return false;
        taken->key = bloomery_key_of(data, (size_t)bytes);
        return true;
    }
    if (!PyLong_Check(object)) {
        const int found = PyObject_CheckBuffer(object) ? take_buffer(object, taken) : 0;
        if (found != 0)
            return found > 0;
    }
    if (PyBool_Check(object) || !PyIndex_Check(object))
        return refuse(object);
    PyObject *number = PyNumber_Index(object);
    const bool made =
        number != NULL && native_integer(number, keying->integer_bytes, &taken->integer);
    Py_XDECREF(number);
    taken->is_integer = true;
    taken->key = bloomery_key_of(&taken->integer, keying->integer_bytes);
    return made;
}

void native_bytes_release(struct native_bytes *taken)
{
    if (taken->has_buffer)
        PyBuffer_Release(&taken->buffer);
    taken->has_buffer = false;
}

/* The rule's key of the bytes. */
static bool apply_rule(const struct native_state *state, const struct native_keying *keying,
                       struct native_key *taken)
{
    const bloomery_key record = taken->bytes.key;
    bloomery_error error;

    if (record.bytes > SIZE_MAX / 8) {
        PyErr_NoMemory();
        return false;
    }
    taken->made = malloc(BLOOMERY_RULE_ROOM(record.bytes));
    if (taken->made == NULL) {
        PyErr_NoMemory();
        return false;
    }
    const bloomery_record found =
        bloomery_rule_apply(&keying->rule, record.data, record.bytes, taken->made,
                            BLOOMERY_RULE_ROOM(record.bytes), &taken->key, &error);
    if (found == BLOOMERY_RECORD_KEY)
        return true;
    error.status = BLOOMERY_BAD_ARGUMENT; /* the key has not the form that the rule needs */
    native_raise(state, &error, NULL);
    return false;
}

bool native_key_take(const struct native_state *state, PyObject *object,
                     const struct native_keying *keying, struct native_key *taken)
{
    taken->made = NULL;
    if (!native_bytes_take(object, keying, &taken->bytes))
        return false;
    taken->key = taken->bytes.key;
    if (!keying->has_rule || taken->bytes.is_integer)
        return true;
    if (apply_rule(state, keying, taken))
        return true;
    native_key_release(taken);
    return false;
}

void native_key_release(struct native_key *taken)
{
    free(taken->made);
    taken->made = NULL;
    native_bytes_release(&taken->bytes);
}

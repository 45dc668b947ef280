/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BoolColumn: many answers. The library's answers are bits, low bit first, which is Arrow's boolean
 * array as it stands. NumPy wants a byte for each; these are made when it first asks.
 */
#include "native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bits ------------------------------------------------------------------------------------ */

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
    return true;
}

bool native_bits_append(struct native_bits *bits, const uint64_t *words, size_t count)
{
    if (!native_bits_reserve(bits, count))
        return false;
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

static bool bit_at(const struct native_bits *bits, size_t number)
{
    return (bits->words[number / 64] >> (number & 63) & 1) != 0;
}

static size_t bits_true(const struct native_bits *bits)
{
    size_t sum = 0;
    for (size_t i = 0; i < (bits->count + 63) / 64; i++)
        sum += (size_t)__builtin_popcountll(bits->words[i]);
    return sum;
}

static void bits_spread(const struct native_bits *bits, unsigned char *out, ptrdiff_t stride)
{
    for (size_t i = 0; i < bits->count; i++)
        out[(ptrdiff_t)i * stride] = bit_at(bits, i);
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
        bits_spread(bits, buffer.buf, buffer.strides[0]);
    else
        PyErr_Format(PyExc_ValueError,
                     "`out` must be a writable array of %zu bools; it has %zd items of the format "
                     "'%s'",
                     bits->count, buffer.ndim == 1 ? buffer.shape[0] : (Py_ssize_t)-1, format);
    PyBuffer_Release(&buffer);
    return fits;
}

/* ---- The class ------------------------------------------------------------------------------- */

struct answers {
    PyObject_HEAD struct native_bits bits;
    unsigned char *bytes; /* one each, once somebody asked */
    Py_ssize_t shape, stride;
};

PyObject *native_answers_new(const struct native_state *state, struct native_bits *bits)
{
    struct answers *answers = NULL;
    if (native_bits_reserve(bits, 1)) { /* also none have an address */
        allocfunc allocate = PyType_GetSlot(state->answers_type, Py_tp_alloc);
        answers = (struct answers *)allocate(state->answers_type, 0);
    } else
        PyErr_NoMemory();
    if (answers == NULL)
        free(bits->words);
    else {
        answers->bits = *bits;
        answers->shape = (Py_ssize_t)bits->count;
        answers->stride = 1;
    }
    memset(bits, 0, sizeof(*bits));
    return (PyObject *)answers;
}

static void answers_dealloc(PyObject *self)
{
    struct answers *answers = (struct answers *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(answers->bits.words);
    free(answers->bytes);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static Py_ssize_t answers_length(PyObject *self)
{
    return ((struct answers *)self)->shape;
}

static PyObject *answers_item(PyObject *self, Py_ssize_t number)
{
    const struct answers *answers = (const struct answers *)self;
    if (number < 0 || number >= answers->shape) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    return NATIVE_BOOL(bit_at(&answers->bits, (size_t)number));
}

static PyObject *answers_sum(PyObject *self, PyObject *none)
{
    (void)none;
    return PyLong_FromSize_t(bits_true(&((const struct answers *)self)->bits));
}

static PyObject *answers_tolist(PyObject *self, PyObject *none)
{
    const struct answers *answers = (const struct answers *)self;
    PyObject *list = PyList_New(answers->shape);
    (void)none;
    for (Py_ssize_t i = 0; list != NULL && i < answers->shape; i++)
        if (PyList_SetItem(list, i, NATIVE_BOOL(bit_at(&answers->bits, (size_t)i))) != 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *answers_repr(PyObject *self)
{
    const struct answers *answers = (const struct answers *)self;
    return PyUnicode_FromFormat("<bloomery.BoolColumn: %zu of %zd true>", bits_true(&answers->bits),
                                answers->shape);
}

static int answers_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct answers *answers = (struct answers *)self;
    if (flags & PyBUF_WRITABLE) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "answers are read-only");
        return -1;
    }
    if (answers->bytes == NULL) {
        answers->bytes = malloc(answers->bits.count + 1);
        if (answers->bytes == NULL) {
            view->obj = NULL;
            PyErr_NoMemory();
            return -1;
        }
        bits_spread(&answers->bits, answers->bytes, 1);
    }
    *view =
        (Py_buffer){.buf = answers->bytes,
                    .obj = Py_NewRef(self),
                    .len = answers->shape,
                    .readonly = 1,
                    .itemsize = 1,
                    .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t) "?" : NULL,
                    .ndim = 1,
                    .shape = flags & PyBUF_ND ? &answers->shape : NULL,
                    .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &answers->stride : NULL};
    return 0;
}

/* ---- As Arrow's boolean array: the structs are described in arrow.c -------------------------- */

struct exported_schema {
    const char *format, *name, *metadata;
    int64_t flags, children_count;
    void *children, *dictionary;
    void (*release)(struct exported_schema *);
    void *private_data;
};

struct exported_array {
    int64_t length, null_count, offset, buffer_count, children_count;
    const void **buffers;
    void *children, *dictionary;
    void (*release)(struct exported_array *);
    void *private_data;
};

static void release_schema(struct exported_schema *schema)
{
    schema->release = NULL;
}

/* Any thread may release it, with the GIL or without. The buffers live as long as their owner, of
 * which a moved copy of the struct keeps a reference. */
struct lent {
    const void *both[2];
    PyObject *owner;
};

static void release_array(struct exported_array *array)
{
    struct lent *lent = array->private_data;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(lent->owner);
    PyGILState_Release(state);
    free(lent);
    array->release = NULL;
}

static void free_schema(PyObject *capsule)
{
    struct exported_schema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema != NULL && schema->release != NULL)
        schema->release(schema);
    free(schema);
}

static void free_array(PyObject *capsule)
{
    struct exported_array *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array != NULL && array->release != NULL)
        array->release(array);
    free(array);
}

static PyObject *schema_capsule(void)
{
    struct exported_schema *schema = calloc(1, sizeof(*schema));
    if (schema == NULL)
        return PyErr_NoMemory();
    schema->format = "b";
    schema->name = "";
    schema->release = release_schema;
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema);
    if (capsule == NULL)
        free(schema);
    return capsule;
}

static PyObject *array_capsule(PyObject *self)
{
    const struct answers *answers = (const struct answers *)self;
    struct exported_array *array = calloc(1, sizeof(*array));
    struct lent *lent = calloc(1, sizeof(*lent));
    if (array == NULL || lent == NULL) {
        free(array);
        free(lent);
        return PyErr_NoMemory();
    }
    lent->both[1] = answers->bits.words;
    lent->owner = Py_NewRef(self);
    array->length = answers->shape;
    array->buffer_count = 2;
    array->buffers = lent->both;
    array->release = release_array;
    array->private_data = lent;
    PyObject *capsule = PyCapsule_New(array, "arrow_array", free_array);
    if (capsule == NULL) {
        release_array(array);
        free(array);
    }
    return capsule;
}

static PyObject *answers_arrow(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &requested))
        return NULL;
    PyObject *schema = schema_capsule();
    PyObject *array = schema == NULL ? NULL : array_capsule(self);
    PyObject *both = array == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

static PyObject *answers_arrow_schema(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return schema_capsule();
}

PyType_Spec *native_answers_spec(void)
{
    static PyMethodDef methods[] = {
        {"sum", answers_sum, METH_NOARGS, "sum() -> int: how many are True."},
        {"tolist", answers_tolist, METH_NOARGS, "tolist() -> list of bool."},
        {"__arrow_c_array__", NATIVE_KEYWORDS(answers_arrow), METH_VARARGS | METH_KEYWORDS,
         "Arrow's boolean array, without a copy."},
        {"__arrow_c_schema__", answers_arrow_schema, METH_NOARGS, "Arrow's type: boolean."},
        {NULL, NULL, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Many answers: numpy.asarray() and Arrow take them without a copy."},
        {Py_tp_dealloc, answers_dealloc},
        {Py_tp_repr, answers_repr},
        {Py_tp_methods, methods},
        {Py_sq_length, answers_length},
        {Py_sq_item, answers_item},
        {Py_bf_getbuffer, answers_get_buffer},
        {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.BoolColumn",
                               .basicsize = sizeof(struct answers),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                        Py_TPFLAGS_IMMUTABLETYPE,
                               .slots = slots};
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BoolColumn: many answers. The library's answers are bits, low bit first, which is Arrow's boolean
 * array as it stands. NumPy wants a byte for each; these are made when it first asks.
 *
 * pandas takes a column for what it is only if it is iterable and has a dtype: else it writes the
 * whole object into each row. Its masks want `shape` and `~` as well.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- The class ------------------------------------------------------------------------------- */

PyObject *native_answers_new(const struct native_state *state, struct native_bits *bits)
{
    struct native_answers *answers = NULL;
    if (native_bits_reserve(bits, 1)) { /* also none have an address */
        allocfunc allocate = PyType_GetSlot(state->answers_type, Py_tp_alloc);
        answers = (struct native_answers *)allocate(state->answers_type, 0);
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
    struct native_answers *answers = (struct native_answers *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(answers->bits.words);
    free(answers->bytes);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static Py_ssize_t answers_length(PyObject *self)
{
    return ((struct native_answers *)self)->shape;
}

static PyObject *answers_item(PyObject *self, Py_ssize_t number)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    if (number < 0 || number >= answers->shape) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    return NATIVE_BOOL(native_bit(&answers->bits, (size_t)number));
}

/* ---- As a sequence --------------------------------------------------------------------------- */

/* Makes room for `count` answers, all false. False after raising. */
static bool begin_bits(struct native_bits *bits, size_t count)
{
    *bits = (struct native_bits){NULL, 0, 0};
    if (!native_bits_reserve(bits, count)) {
        PyErr_NoMemory();
        return false;
    }
    bits->count = count;
    return true;
}

static PyObject *answers_slice(PyObject *self, PyObject *slice)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    const struct native_state *state = native_state_of(Py_TYPE(self));
    struct native_bits bits;
    Py_ssize_t start, stop, step;

    if (state == NULL || PySlice_Unpack(slice, &start, &stop, &step) != 0)
        return NULL;
    const Py_ssize_t count = PySlice_AdjustIndices(answers->shape, &start, &stop, step);
    if (!begin_bits(&bits, (size_t)count))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        bits.words[i / 64] |= (uint64_t)native_bit(&answers->bits, (size_t)(start + i * step))
                              << (i & 63);
    return native_answers_new(state, &bits);
}

static PyObject *answers_subscript(PyObject *self, PyObject *index)
{
    if (PySlice_Check(index))
        return answers_slice(self, index);
    if (!PyIndex_Check(index)) {
        PyErr_SetString(PyExc_TypeError, "answers are indexed by ints and slices; "
                                         "numpy.asarray(answers) takes arrays and masks as well");
        return NULL;
    }
    const Py_ssize_t number = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != NULL)
        return NULL;
    return answers_item(self, number < 0 ? number + answers_length(self) : number);
}

static PyObject *answers_iterate(PyObject *self)
{
    return PySeqIter_New(self);
}

/* Compares as lists do: with answers, lists and tuples, as a whole. Arrays compare item by item,
 * which is their own work. */
static PyObject *answers_compare(PyObject *self, PyObject *other, int operation)
{
    const struct native_state *state = native_state_of(Py_TYPE(self));
    const bool list = PyList_Check(other) || PyTuple_Check(other);
    if (state == NULL)
        return NULL;
    if ((operation != Py_EQ && operation != Py_NE) || (!list && Py_TYPE(other) != Py_TYPE(self)))
        Py_RETURN_NOTIMPLEMENTED;
    Py_ssize_t length = PyObject_Size(other);
    bool equal = length == answers_length(self);
    for (Py_ssize_t i = 0; equal && i < answers_length(self); i++) {
        PyObject *mine = answers_item(self, i);
        PyObject *item = mine == NULL ? NULL : PySequence_GetItem(other, i);
        const int same = item == NULL ? -1 : PyObject_RichCompareBool(mine, item, Py_EQ);
        Py_XDECREF(mine);
        Py_XDECREF(item);
        if (same < 0)
            return NULL;
        equal = same > 0;
    }
    return NATIVE_BOOL(equal == (operation == Py_EQ));
}

static PyObject *answers_invert(PyObject *self)
{
    const struct native_bits *mine = &((const struct native_answers *)self)->bits;
    const struct native_state *state = native_state_of(Py_TYPE(self));
    struct native_bits bits;

    if (state == NULL || !begin_bits(&bits, mine->count))
        return NULL;
    for (size_t i = 0; i < mine->count / 64; i++)
        bits.words[i] = ~mine->words[i];
    if ((mine->count & 63) != 0)
        bits.words[mine->count / 64] =
            ~mine->words[mine->count / 64] & (UINT64_MAX >> (64 - (mine->count & 63)));
    return native_answers_new(state, &bits);
}

/* Joins two columns, answer by answer. Operators may get the other class first. */
static PyObject *answers_join(PyObject *one, PyObject *other, char how)
{
    const struct native_state *state = native_state_find(Py_TYPE(one));
    struct native_bits bits;

    if (state == NULL || Py_TYPE(one) != state->answers_type || Py_TYPE(one) != Py_TYPE(other))
        Py_RETURN_NOTIMPLEMENTED;
    const struct native_bits *a = &((const struct native_answers *)one)->bits;
    const struct native_bits *b = &((const struct native_answers *)other)->bits;
    if (a->count != b->count)
        return PyErr_Format(PyExc_ValueError, "columns of %zu and of %zu answers have no pairs",
                            a->count, b->count);
    if (!begin_bits(&bits, a->count))
        return NULL;
    for (size_t i = 0; i < (a->count + 63) / 64; i++)
        bits.words[i] = how == '&'   ? a->words[i] & b->words[i]
                        : how == '|' ? a->words[i] | b->words[i]
                                     : a->words[i] ^ b->words[i];
    return native_answers_new(state, &bits);
}

static PyObject *answers_and(PyObject *one, PyObject *other)
{
    return answers_join(one, other, '&');
}

static PyObject *answers_or(PyObject *one, PyObject *other)
{
    return answers_join(one, other, '|');
}

static PyObject *answers_xor(PyObject *one, PyObject *other)
{
    return answers_join(one, other, '^');
}

static PyObject *answers_count(PyObject *self, PyObject *value)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    const size_t yes = native_bits_true(&answers->bits);
    const int is_true = PyObject_RichCompareBool(value, Py_True, Py_EQ);
    const int is_false = is_true == 0 ? PyObject_RichCompareBool(value, Py_False, Py_EQ) : 0;
    if (is_true < 0 || is_false < 0)
        return NULL;
    return PyLong_FromSize_t(is_true ? yes : is_false ? answers->bits.count - yes : 0);
}

static PyObject *answers_index(PyObject *self, PyObject *args)
{
    PyObject *value;
    Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX;
    const Py_ssize_t count = answers_length(self);
    if (!PyArg_ParseTuple(args, "O|nn", &value, &start, &stop))
        return NULL;
    start = start < 0 ? start + count : start;
    stop = stop < 0 ? stop + count : stop;
    for (Py_ssize_t i = start < 0 ? 0 : start; i < count && i < stop; i++) {
        PyObject *item = answers_item(self, i);
        const int same = item == NULL ? -1 : PyObject_RichCompareBool(value, item, Py_EQ);
        Py_XDECREF(item);
        if (same < 0)
            return NULL;
        if (same > 0)
            return PyLong_FromSsize_t(i);
    }
    PyErr_SetString(PyExc_ValueError, "no such answer");
    return NULL;
}

/* ---- As an array ----------------------------------------------------------------------------- */

/* An array of NumPy over the bytes, without a copy. */
static PyObject *array_of(PyObject *self)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy == NULL ? NULL : PyMemoryView_FromObject(self);
    PyObject *array = view == NULL ? NULL : PyObject_CallMethod(numpy, "asarray", "O", view);
    Py_XDECREF(view);
    Py_XDECREF(numpy);
    return array;
}

static PyObject *answers_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *type = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &type, &copy))
        return NULL;
    PyObject *array = array_of(self);
    if (array == NULL || (type == Py_None && copy == Py_None))
        return array;
    const int wanted = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    PyObject *made = NULL;
    if (wanted >= 0)
        made = PyObject_CallMethod(array, "astype", "Ossii",
                                   type == Py_None ? (PyObject *)&PyBool_Type : type, "K", "unsafe",
                                   1, wanted);
    if (made != NULL && made != array && wanted == 0 && copy != Py_None) {
        PyErr_SetString(PyExc_ValueError, "an array of another dtype is a copy: leave copy=False");
        Py_CLEAR(made);
    }
    Py_DECREF(array);
    return made;
}

/* Whether NumPy's functions call a method with arguments that say nothing: numpy.sum(answers) asks
 * for answers.sum(axis=None, dtype=None, out=None). */
static bool says_nothing(PyObject *args, PyObject *keywords)
{
    bool nothing = true;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
        nothing = nothing && PyTuple_GetItem(args, i) == Py_None;
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value))
        nothing = nothing && value == Py_None;
    return nothing;
}

/* The method of the array, where its arguments say something. */
static PyObject *by_array(PyObject *self, const char *name, PyObject *args, PyObject *keywords)
{
    PyObject *array = array_of(self);
    PyObject *method = array == NULL ? NULL : PyObject_GetAttrString(array, name);
    PyObject *result = method == NULL ? NULL : PyObject_Call(method, args, keywords);
    Py_XDECREF(method);
    Py_XDECREF(array);
    return result;
}

static PyObject *answers_sum(PyObject *self, PyObject *args, PyObject *keywords)
{
    if (!says_nothing(args, keywords))
        return by_array(self, "sum", args, keywords);
    return PyLong_FromSize_t(native_bits_true(&((const struct native_answers *)self)->bits));
}

static PyObject *answers_mean(PyObject *self, PyObject *args, PyObject *keywords)
{
    const struct native_bits *bits = &((const struct native_answers *)self)->bits;
    if (!says_nothing(args, keywords))
        return by_array(self, "mean", args, keywords);
    if (bits->count == 0)
        return PyFloat_FromDouble(Py_NAN);
    return PyFloat_FromDouble((double)native_bits_true(bits) / (double)bits->count);
}

static PyObject *answers_any(PyObject *self, PyObject *args, PyObject *keywords)
{
    if (!says_nothing(args, keywords))
        return by_array(self, "any", args, keywords);
    return NATIVE_BOOL(native_bits_true(&((const struct native_answers *)self)->bits) > 0);
}

static PyObject *answers_all(PyObject *self, PyObject *args, PyObject *keywords)
{
    const struct native_bits *bits = &((const struct native_answers *)self)->bits;
    if (!says_nothing(args, keywords))
        return by_array(self, "all", args, keywords);
    return NATIVE_BOOL(native_bits_true(bits) == bits->count);
}

static PyObject *answers_shape(PyObject *self, void *unused)
{
    (void)unused;
    return Py_BuildValue("(n)", answers_length(self));
}

static PyObject *answers_ndim(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(1);
}

static PyObject *answers_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(answers_length(self));
}

/* pandas takes a mask for one only if it is NumPy's array itself, or has a dtype of pandas. So that
 * is the dtype once pandas was imported; before it is NumPy's. */
static PyObject *answers_dtype(PyObject *self, void *unused)
{
    PyObject *type = NULL;
    (void)self;
    (void)unused;
    PyObject *pandas = PyDict_GetItemString(PyImport_GetModuleDict(), "pandas");
    if (pandas != NULL) {
        Py_INCREF(pandas);
        type = PyObject_CallMethod(pandas, "BooleanDtype", NULL);
        Py_DECREF(pandas);
        PyErr_Clear(); /* it is being imported, or is another module of that name */
    }
    PyObject *numpy = type == NULL ? PyImport_ImportModule("numpy") : NULL;
    if (numpy != NULL)
        type = PyObject_CallMethod(numpy, "dtype", "s", "bool");
    else if (type == NULL && PyErr_ExceptionMatches(PyExc_ImportError))
        PyErr_SetString(PyExc_AttributeError, "without NumPy answers have no dtype");
    Py_XDECREF(numpy);
    return type;
}

/* As pandas' arrays: no answer is missing, so a value for those is not looked at. */
static PyObject *answers_to_numpy(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"dtype", "copy", "na_value", NULL};
    PyObject *type = Py_None, *copy = Py_False, *missing;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO", names, &type, &copy, &missing))
        return NULL;
    return PyObject_CallMethod(self, "__array__", "OO", type, copy);
}

/* ---- Pickles --------------------------------------------------------------------------------- */

/* (_native._answers, (bytes, count)): eight answers a byte, the first the least significant bit. */
static PyObject *answers_reduce(PyObject *self, PyObject *none)
{
    const struct native_bits *bits = &((const struct native_answers *)self)->bits;
    const size_t size = (bits->count + 7) / 8;
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    PyObject *make = module == NULL ? NULL : PyObject_GetAttrString(module, "_answers");
    PyObject *bytes = make == NULL ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    char *out = bytes == NULL ? NULL : PyBytes_AsString(bytes);
    PyObject *result = NULL;

    (void)none;
    for (size_t i = 0; out != NULL && i < size; i++)
        out[i] = (char)(unsigned char)(bits->words[i / 8] >> (8 * (i & 7)));
    if (out != NULL)
        result = Py_BuildValue("O(On)", make, bytes, (Py_ssize_t)bits->count);
    Py_XDECREF(bytes);
    Py_XDECREF(make);
    return result;
}

PyObject *native_answers_load(PyObject *module, PyObject *args)
{
    struct native_bits bits;
    const char *bytes;
    Py_ssize_t size, count;

    if (!PyArg_ParseTuple(args, "y#n", &bytes, &size, &count))
        return NULL;
    if (count < 0 || size != count / 8 + (count % 8 != 0)) {
        PyErr_SetString(PyExc_ValueError, "a pickle of answers is damaged: its length is wrong");
        return NULL;
    }
    if (!begin_bits(&bits, (size_t)count))
        return NULL;
    for (Py_ssize_t i = 0; i < size; i++)
        bits.words[i / 8] |= (uint64_t)(unsigned char)bytes[i] << (8 * (i & 7));
    if (count % 64 != 0)
        bits.words[count / 64] &= UINT64_MAX >> (64 - count % 64);
    return native_answers_new(PyModule_GetState(module), &bits);
}

/* ---- As Python's values ---------------------------------------------------------------------- */

static PyObject *answers_tolist(PyObject *self, PyObject *none)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    PyObject *list = PyList_New(answers->shape);
    (void)none;
    for (Py_ssize_t i = 0; list != NULL && i < answers->shape; i++)
        if (PyList_SetItem(list, i, NATIVE_BOOL(native_bit(&answers->bits, (size_t)i))) != 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *answers_repr(PyObject *self)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    return PyUnicode_FromFormat("<bloomery.BoolColumn: %zu of %zd true>",
                                native_bits_true(&answers->bits), answers->shape);
}

static int answers_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct native_answers *answers = (struct native_answers *)self;
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
        native_bits_spread(&answers->bits, answers->bytes, 1);
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

PyType_Spec *native_answers_spec(void)
{
    static PyMethodDef methods[] = {
        {"sum", NATIVE_KEYWORDS(answers_sum), METH_VARARGS | METH_KEYWORDS,
         "sum() -> int: how many are True. As an array's, it takes axis, dtype and out."},
        {"mean", NATIVE_KEYWORDS(answers_mean), METH_VARARGS | METH_KEYWORDS,
         "mean() -> float: the share of those that are True."},
        {"any", NATIVE_KEYWORDS(answers_any), METH_VARARGS | METH_KEYWORDS,
         "any() -> bool: whether one of them is True."},
        {"all", NATIVE_KEYWORDS(answers_all), METH_VARARGS | METH_KEYWORDS,
         "all() -> bool: whether each of them is True."},
        {"count", answers_count, METH_O, "count(value) -> int: how many are this value."},
        {"index", answers_index, METH_VARARGS,
         "index(value, start=0, stop=None) -> int: the first one with this value, or ValueError."},
        {"tolist", answers_tolist, METH_NOARGS, "tolist() -> list of bool."},
        {"__array__", NATIVE_KEYWORDS(answers_array), METH_VARARGS | METH_KEYWORDS,
         "NumPy's array: read-only and without a copy, unless a dtype or a copy is wanted."},
        {"to_numpy", NATIVE_KEYWORDS(answers_to_numpy), METH_VARARGS | METH_KEYWORDS,
         "to_numpy(dtype=None, copy=False, na_value=...) -> array, as pandas' arrays have it."},
        {"__reduce__", answers_reduce, METH_NOARGS, NULL},
        {"__arrow_c_array__", NATIVE_KEYWORDS(native_answers_arrow), METH_VARARGS | METH_KEYWORDS,
         "Arrow's boolean array, without a copy."},
        {"__arrow_c_schema__", native_answers_arrow_schema, METH_NOARGS, "Arrow's type: boolean."},
        {NULL, NULL, 0, NULL}};
    static PyGetSetDef attributes[] = {
        {"shape", answers_shape, NULL, "(len(answers),), as an array's", NULL},
        {"ndim", answers_ndim, NULL, "1", NULL},
        {"size", answers_size, NULL, "how many answers there are", NULL},
        {"dtype", answers_dtype, NULL, "bool: pandas' if that was imported, else NumPy's", NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Many answers: a sequence of bools that pandas takes as a column or a mask.\n\n"
                    "numpy.asarray() and Arrow take it without a copy."},
        {Py_tp_dealloc, answers_dealloc},
        {Py_tp_repr, answers_repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {Py_tp_iter, answers_iterate},
        {Py_tp_richcompare, answers_compare},
        {Py_tp_hash, PyObject_HashNotImplemented},
        {Py_sq_length, answers_length},
        {Py_sq_item, answers_item},
        {Py_mp_length, answers_length},
        {Py_mp_subscript, answers_subscript},
        {Py_nb_invert, answers_invert},
        {Py_nb_and, answers_and},
        {Py_nb_or, answers_or},
        {Py_nb_xor, answers_xor},
        {Py_bf_getbuffer, answers_get_buffer},
        {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.BoolColumn",
                               .basicsize = sizeof(struct native_answers),
                               /* Not immutable: the abstract class Sequence marks it for the
                                * statement `match`, and can't mark such types. */
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
    return &spec;
}

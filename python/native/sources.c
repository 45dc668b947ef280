/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where many keys come from: lists, Arrow, arrays, whatever knows an array of its own, iterators.
 * They are tried in this order.
 */
#include "native.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names the key of a list at fault: the text says what is wrong with it, here is which it is. */
static void name_number(size_t number)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    /* Others are not of the library, but of what the user's own key does. */
    const bool ours = type != NULL && (PyErr_GivenExceptionMatches(type, PyExc_TypeError) ||
                                       PyErr_GivenExceptionMatches(type, PyExc_ValueError) ||
                                       PyErr_GivenExceptionMatches(type, PyExc_OverflowError));
    if (value != NULL && ours && !PyErr_GivenExceptionMatches(type, PyExc_UnicodeError)) {
        PyObject *text = PyUnicode_FromFormat("key %zu: %S", number, value);
        PyObject *args = text == NULL ? NULL : PyTuple_Pack(1, text);
        if (args == NULL || PyObject_SetAttrString(value, "args", args) != 0)
            PyErr_Clear();
        Py_XDECREF(text);
        Py_XDECREF(args);
    }
    PyErr_Restore(type, value, trace);
}

/* Closes the portion of objects and runs it. The GIL is held. */
static bool finish_portion(struct native_work *work)
{
    struct native_portion *portion = work->portion;
    if (portion->records == 0)
        return true;
    const bool closed = native_portion_close(portion, work->keying, &work->error);
    const bloomery_error refused = work->error;
    if (!native_work_enter(work, portion->records))
        return false;
    const bool good = portion->records == 0 || native_work_portion(work);
    native_work_leave(work);
    native_portion_let_go(portion);
    if (!good)
        native_work_raise(work);
    else if (!closed) { /* those before the bad one are done */
        native_raise(work->state, &refused, NULL);
        name_number(work->seen);
    }
    return good && closed;
}

static bool begins_with(PyObject *text, const char *beginning)
{
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
    return utf8 != NULL && strncmp(utf8, beginning, strlen(beginning)) == 0;
}

/* Whether an object stands for a missing value: a NaN, or NA and NaT of pandas. Of these two there
 * is one object each, which `missing` keeps. */
static bool is_missing(struct native_work *work, PyObject *object)
{
    if (PyFloat_Check(object))
        return isnan(PyFloat_AsDouble(object));
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *name = PyObject_GetAttrString(type, "__name__");
    PyObject *module = name == NULL ? NULL : PyObject_GetAttrString(type, "__module__");
    bool found = false;
    if (module != NULL && PyUnicode_Check(module) && PyUnicode_Check(name))
        found = begins_with(module, "pandas.") &&
                (PyUnicode_CompareWithASCIIString(name, "NAType") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "NaTType") == 0);
    Py_XDECREF(name);
    Py_XDECREF(module);
    PyErr_Clear();
    if (found && work->missing == NULL)
        work->missing = Py_NewRef(object);
    return found;
}

/* Appends an object as a key, or as nothing if it is missing. False after raising. */
static bool take_value(struct native_work *work, PyObject *object)
{
    struct native_portion *portion = work->portion;
    if (object == Py_None || object == work->missing) {
        native_portion_nothing(portion);
        return true;
    }
    if (native_portion_take(portion, work->keying, object))
        return true;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!is_missing(work, object)) {
        PyErr_Restore(type, value, trace);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    native_portion_nothing(portion);
    return true;
}

enum { PAUSE = 64 * NATIVE_PORTION }; /* objects: some ms */

/* Now and then other threads and the handlers of signals run, since objects need the GIL all the
 * time. The gate is not entered here. False after raising. */
static bool give_way(const struct native_work *work)
{
    if (work->seen % PAUSE != 0)
        return true;
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    return PyErr_CheckSignals() == 0;
}

/* Appends an object; runs the portion when it is full. An object that is not a key ends the work,
 * when those before it are done. */
static bool take_object(struct native_work *work, PyObject *object)
{
    struct native_portion *portion = work->portion;
    if (!take_value(work, object)) {
        PyObject *type, *value, *trace;
        name_number(work->seen + portion->records);
        PyErr_Fetch(&type, &value, &trace);
        const bool done = finish_portion(work);
        if (done)
            PyErr_Restore(type, value, trace);
        else {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(trace);
        }
        return false;
    }
    if (portion->records < NATIVE_PORTION)
        return true;
    if (!finish_portion(work) || !give_way(work))
        return false;
    native_portion_begin(portion);
    return true;
}

/* A list may change while others run, so its length is read again and again. */
static bool run_list(struct native_work *work, PyObject *list)
{
    const bool is_list = PyList_Check(list) != 0;
    native_portion_begin(work->portion);
    for (Py_ssize_t i = 0; i < (is_list ? PyList_Size(list) : PyTuple_Size(list)); i++) {
        PyObject *object = Py_NewRef(is_list ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i));
        const bool good = take_object(work, object);
        Py_DECREF(object);
        if (!good)
            return false;
    }
    return finish_portion(work);
}

/* What was raised last says why keys are missing; what came before is its context. */
static void set_context(PyObject *type, PyObject *value, PyObject *trace)
{
    PyObject *last_type, *last, *last_trace;
    PyErr_Fetch(&last_type, &last, &last_trace);
    PyErr_NormalizeException(&last_type, &last, &last_trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (last != NULL && value != NULL)
        PyException_SetContext(last, Py_NewRef(value));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Restore(last_type, last, last_trace);
}

static bool run_iterator(struct native_work *work, PyObject *iterator)
{
    PyObject *object;
    native_portion_begin(work->portion);
    while ((object = PyIter_Next(iterator)) != NULL) {
        const bool good = take_object(work, object);
        Py_DECREF(object);
        if (!good)
            return false;
    }
    if (PyErr_Occurred() == NULL)
        return finish_portion(work);
    /* The iterator raised. What came before is done, and then it is passed on. */
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (finish_portion(work))
        PyErr_Restore(type, value, trace);
    else
        set_context(type, value, trace);
    return false;
}

static bool run_iterable(struct native_work *work, PyObject *keys)
{
    PyObject *iterator = PyObject_GetIter(keys);
    const bool good = iterator != NULL && run_iterator(work, iterator);
    Py_XDECREF(iterator);
    return good;
}

/* What looks like many keys and is one. */
static bool is_single(PyObject *keys)
{
    if (!PyUnicode_Check(keys) && !PyBytes_Check(keys) && !PyByteArray_Check(keys))
        return false;
    PyErr_SetString(PyExc_TypeError, "a str or bytes is one key: use the method without _many, or "
                                     "pass a list of keys");
    return true;
}

bool native_refuse_table(PyObject *keys)
{
    if (PyList_Check(keys) || PyTuple_Check(keys) || PyType_Check(keys))
        return false;
    PyObject *columns = PyObject_GetAttrString(keys, "columns");
    PyObject *types = columns == NULL ? NULL : PyObject_GetAttrString(keys, "dtypes");
    const bool table = types != NULL;
    Py_XDECREF(columns);
    Py_XDECREF(types);
    PyErr_Clear();
    if (table)
        PyErr_SetString(PyExc_TypeError, "a table has several columns: pass one of them");
    return table;
}

/* The array of a categorical column has the values as they are printed: integers beside a missing
 * one are floats there. As objects they are what they were. NULL: it is another column. */
static PyObject *objects_of_categories(PyObject *keys)
{
    PyObject *type = PyObject_GetAttrString(keys, "dtype");
    PyObject *name = type == NULL ? NULL : PyObject_GetAttrString(type, "name");
    PyObject *objects = NULL;
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "category") == 0)
        objects = PyObject_CallMethod(keys, "astype", "s", "object");
    Py_XDECREF(type);
    Py_XDECREF(name);
    PyErr_Clear();
    return objects;
}

/* pandas' Series and others that are not arrays, but know one. */
static int run_array_of(struct native_work *work, PyObject *keys)
{
    PyObject *method = PyObject_GetAttrString(keys, "__array__");
    if (method == NULL) {
        PyErr_Clear();
        return 0;
    }
    PyObject *array = PyType_Check(keys) ? NULL : PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (array == NULL) {
        PyErr_Clear();
        return 0;
    }
    const int done = native_work_buffer(work, array);
    Py_DECREF(array);
    return done;
}

/* NumPy's masked arrays, whose buffer has what is masked as well. */
static bool is_masked(PyObject *keys)
{
    PyObject *mask = PyObject_GetAttrString(keys, "mask");
    PyObject *rest = mask == NULL ? NULL : PyObject_GetAttrString(keys, "compressed");
    const bool masked = rest != NULL && PyCallable_Check(rest);
    Py_XDECREF(mask);
    Py_XDECREF(rest);
    PyErr_Clear();
    if (masked)
        PyErr_SetString(PyExc_TypeError,
                        "a masked array: array.compressed() is what is not masked");
    return masked;
}

static bool run_any(struct native_work *work, PyObject *keys)
{
    if (is_single(keys) || native_refuse_table(keys))
        return false;
    if (PyList_Check(keys) || PyTuple_Check(keys))
        return run_list(work, keys);
    if (PyObject_CheckBuffer(keys) && is_masked(keys))
        return false;
    PyObject *objects = objects_of_categories(keys);
    if (objects != NULL) {
        const bool good = run_iterable(work, objects);
        Py_DECREF(objects);
        return good;
    }
    int done = native_work_arrow(work, keys);
    if (done == 0)
        done = native_work_buffer(work, keys);
    if (done == 0)
        done = run_array_of(work, keys);
    return done != 0 ? done > 0 : run_iterable(work, keys);
}

bool native_work_run(struct native_work *work, PyObject *keys)
{
    work->portion = calloc(1, sizeof(*work->portion));
    if (work->portion == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bool good = run_any(work, keys);
    if (good && work->watched != NULL && work->seen > NATIVE_PORTION) {
        good = native_work_enter(work, 0); /* looks at the file once more */
        if (good)
            native_work_leave(work);
    }
    native_portion_free(work->portion);
    Py_CLEAR(work->missing);
    work->portion = NULL;
    assert(good || PyErr_Occurred() != NULL);
    return good;
}

Py_ssize_t native_keys_count(PyObject *keys)
{
    const Py_ssize_t count = PyObject_Size(keys);
    if (count < 0)
        PyErr_Clear();
    return count;
}

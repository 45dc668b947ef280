/* SPDX-License-Identifier: Apache-2.0 */
/* What fails in the library, as exceptions. */
#include "native.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *text;
} exceptions[NATIVE_EXCEPTIONS] = {
    [NATIVE_ERROR] = {"Error", "What the library refused; `status` names it, and `offset` is the "
                               "place in the file, in bytes, or the number of a key."},
    [NATIVE_NOT_A_FILTER] = {"NotAFilter", "The bytes are not a filter, or of another version."},
    [NATIVE_MISMATCH] = {"Mismatch", "Two filters do not go together. The text names the field."},
    [NATIVE_CORRUPT] = {"Corrupt", "The file is damaged or cut short. `offset` is the place."},
    [NATIVE_SECRET_NEEDED] = {"SecretNeeded", "The filter is keyed, and its secret is missing."},
    [NATIVE_FULL] = {"Full", "The filter, its memory limit or the sieve is full."},
    [NATIVE_READ_ONLY] = {"ReadOnly", "The filter is a map or a view, and can't be changed."},
    [NATIVE_UNSUPPORTED] = {"Unsupported", "This filter, or this build, can't do that."},
    [NATIVE_BUSY] = {"Busy", "Another process is using it."},
    [NATIVE_CHANGED] = {"Changed", "The file of an open filter was overwritten or cut short."},
};

bool native_errors_add(PyObject *module, struct native_state *state)
{
    for (int i = 0; i < NATIVE_EXCEPTIONS; i++) {
        char name[64];
        PyOS_snprintf(name, sizeof(name), "bloomery.%s", exceptions[i].name);
        state->exceptions[i] = PyErr_NewExceptionWithDoc(
            name, exceptions[i].text, i == NATIVE_ERROR ? NULL : state->exceptions[NATIVE_ERROR],
            NULL);
        if (state->exceptions[i] == NULL ||
            PyModule_AddObjectRef(module, exceptions[i].name, state->exceptions[i]) < 0)
            return false;
    }
    return true;
}

static enum native_exception exception_of(int status)
{
    switch (status) {
    case BLOOMERY_NOT_A_FILTER:
    case BLOOMERY_WRONG_VERSION:
        return NATIVE_NOT_A_FILTER;
    case BLOOMERY_MISMATCH:
        return NATIVE_MISMATCH;
    case BLOOMERY_CORRUPT:
    case BLOOMERY_TRUNCATED:
        return NATIVE_CORRUPT;
    case BLOOMERY_SECRET_NEEDED:
        return NATIVE_SECRET_NEEDED;
    case BLOOMERY_FULL:
        return NATIVE_FULL;
    case BLOOMERY_READ_ONLY:
        return NATIVE_READ_ONLY;
    case BLOOMERY_UNSUPPORTED:
        return NATIVE_UNSUPPORTED;
    case BLOOMERY_BUSY:
        return NATIVE_BUSY;
    default:
        return NATIVE_ERROR;
    }
}

/* The number of the system's error: the text of the library ends with what it means. */
static int system_error_of(const char *text)
{
    enum { LAST = 133 };
    const size_t length = strlen(text);
    for (int number = 1; number <= LAST; number++) {
        const char *meaning = strerror(number);
        const size_t bytes = strlen(meaning);
        /* The library's own "is a directory" is in small letters. */
        if (bytes > 0 && bytes < length && strcasecmp(text + length - bytes, meaning) == 0)
            return number;
    }
    return EIO;
}

/* An OSError, of the class that its number has. The text stays the library's. */
static void raise_system(const char *text, PyObject *path)
{
    const int number = system_error_of(text);
    PyObject *said = PyUnicode_DecodeFSDefault(text); /* a path may be no UTF-8 */
    PyObject *error = NULL;
    if (said != NULL)
        error = path != NULL ? PyObject_CallFunction(PyExc_OSError, "iOO", number, said, path)
                             : PyObject_CallFunction(PyExc_OSError, "iO", number, said);
    Py_XDECREF(said);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

static bool set_attribute(PyObject *object, const char *name, PyObject *value)
{
    const bool set = value != NULL && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

PyObject *native_raise(const struct native_state *state, const bloomery_error *error,
                       PyObject *path)
{
    if (PyErr_Occurred() != NULL) /* of a callback */
        return NULL;
    PyObject *text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
    if (text == NULL)
        return NULL;
    if (error->status == BLOOMERY_OUT_OF_MEMORY)
        PyErr_SetObject(PyExc_MemoryError, text);
    else if (error->status == BLOOMERY_BAD_ARGUMENT)
        PyErr_SetObject(PyExc_ValueError, text);
    else if (error->status == BLOOMERY_IO_FAILED)
        raise_system(error->text, path);
    else {
        PyObject *type = state->exceptions[exception_of(error->status)];
        PyObject *raised = PyObject_CallFunctionObjArgs(type, text, NULL);
        if (raised != NULL &&
            set_attribute(raised, "status",
                          PyUnicode_FromString(bloomery_status_name(error->status))) &&
            set_attribute(raised, "offset", PyLong_FromUnsignedLongLong(error->offset)))
            PyErr_SetObject(type, raised);
        Py_XDECREF(raised);
    }
    Py_DECREF(text);
    return NULL;
}

void native_explain(const bloomery_filter *filter, enum native_change change, bloomery_error *error)
{
    bloomery_info info = BLOOMERY_INFO;
    if (error->status != BLOOMERY_READ_ONLY && error->status != BLOOMERY_UNSUPPORTED)
        return;
    bloomery_info_get(filter, &info);
    const char *kind = bloomery_kind_name((int)info.kind);
    if (change == NATIVE_CHANGE_REMOVE && !info.can_remove)
        PyOS_snprintf(error->text, sizeof(error->text),
                      "a %s filter does not count its keys, so no key can be removed: make it with "
                      "kind='counting', or kind='cuckoo'",
                      kind);
    else if (change != NATIVE_CHANGE_REMOVE && !info.can_add)
        PyOS_snprintf(error->text, sizeof(error->text),
                      "a %s filter is built once from all its keys, and none is added later: use "
                      "Filter.build or Builder",
                      kind);
    else if (error->status == BLOOMERY_READ_ONLY && info.mapped)
        PyOS_snprintf(error->text, sizeof(error->text),
                      "the filter is a map of its file, which can't be changed: open it with "
                      "copy=True, then save() it");
    else if (error->status == BLOOMERY_READ_ONLY)
        PyOS_snprintf(error->text, sizeof(error->text),
                      "the filter is a view of other memory, which it does not change: copy() "
                      "makes one that can be changed");
}

void native_refuse(const bloomery_filter *filter, enum native_change change, bloomery_error *error)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bool possible = change == NATIVE_CHANGE_REMOVE ? info.can_remove
                          : change == NATIVE_CHANGE_ALL  ? info.can_add
                                                         : true;
    *error = (bloomery_error){.status = possible ? BLOOMERY_READ_ONLY : BLOOMERY_UNSUPPORTED,
                              .text = ""};
    native_explain(filter, change, error);
}

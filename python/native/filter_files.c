/* SPDX-License-Identifier: Apache-2.0 */
/* The class Filter: files, bytes, and other systems' filters. The GIL is released while bytes are
 * read and written. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- In -------------------------------------------------------------------------------------- */

/* Makes the object of a new filter, or raises why there is none. `writable` as in
 * native_filter_new. */
static PyObject *finish_open(PyTypeObject *type, const struct native_state *state,
                             const bloomery_filter *filter, bloomery_filter *writable,
                             bloomery_status status, const bloomery_error *error, PyObject *path)
{
    if (status == BLOOMERY_OK)
        return native_filter_new(type, filter, writable, false);
    bloomery_free(filter);
    return native_raise(state, error, path);
}

/* The same with what becomes of keys beyond the limit, and whether the rule makes keys. */
static PyObject *finish_full(PyObject *made, const char *full, int rule)
{
    struct native_filter *self = (struct native_filter *)made;
    bool ignores;
    if (made != NULL && native_full_take(full, self->grows, &ignores))
        native_filter_ignore(self, ignores);
    else
        Py_CLEAR(made);
    if (made != NULL && rule == 0)
        native_filter_raw(self, true);
    return made;
}

static PyObject *filter_open(PyObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path", "copy", "secret", "verify", "full", "rule", NULL};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    uint8_t bytes[BLOOMERY_SECRET_BYTES];
    PyObject *path, *secret = NULL, *encoded = NULL;
    int copy = 0, verify = 0, rule = 1;
    const char *text, *full = "raise";
    struct native_watch watch = {.path = NULL};
    const bloomery_filter *filter = NULL;
    bloomery_filter *writable = NULL;
    bloomery_error error;
    bloomery_status status;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$pOpsp", names, &path, &copy, &secret,
                                     &verify, &full, &rule))
        return NULL;
    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !native_secret_take(secret, bytes, &options.secret) ||
        !native_path_take(path, &encoded, &text))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    if (copy) {
        status = bloomery_open(text, &options, &writable, &error);
        filter = writable;
    } else {
        native_watch_look(&watch, text);
        status = bloomery_map(text, &options, &filter, &error);
    }
    if (status == BLOOMERY_OK && verify)
        status = bloomery_verify(filter, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(encoded);
    PyObject *made = finish_full(
        finish_open((PyTypeObject *)type, state, filter, writable, status, &error, path), full,
        rule);
    if (made == NULL)
        native_watch_end(&watch);
    else
        ((struct native_filter *)made)->watch = watch;
    return made;
}

static PyObject *filter_from_bytes(PyObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"data", "secret", "full", "rule", NULL};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    uint8_t bytes[BLOOMERY_SECRET_BYTES];
    PyObject *data, *secret = NULL;
    const char *full = "raise";
    int rule = 1;
    Py_buffer buffer;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_status status;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$Osp", names, &data, &secret, &full, &rule))
        return NULL;
    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !native_secret_take(secret, bytes, &options.secret) ||
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_load(buffer.buf, (size_t)buffer.len, &options, &filter, &error);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&buffer);
    return finish_full(
        finish_open((PyTypeObject *)type, state, filter, filter, status, &error, NULL), full, rule);
}

static PyObject *filter_view(PyObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"data", "secret", "rule", NULL};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    uint8_t bytes[BLOOMERY_SECRET_BYTES];
    PyObject *data, *secret = NULL;
    Py_buffer buffer;
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    int rule = 1;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$Op", names, &data, &secret, &rule))
        return NULL;
    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !native_secret_take(secret, bytes, &options.secret) ||
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0)
        return NULL;
    const bloomery_status status =
        bloomery_view(buffer.buf, (size_t)buffer.len, &options, &filter, &error);
    PyObject *made = finish_open((PyTypeObject *)type, state, filter, NULL, status, &error, NULL);
    if (made == NULL) {
        PyBuffer_Release(&buffer);
        return NULL;
    }
    ((struct native_filter *)made)->buffer = buffer;
    ((struct native_filter *)made)->has_buffer = true;
    if (rule == 0)
        native_filter_raw((struct native_filter *)made, true);
    return made;
}

/* ---- Out ------------------------------------------------------------------------------------- */

/* Collects what the library writes. */
struct pile {
    char *bytes;
    size_t used, room;
};

static int pile_up(void *context, const void *data, size_t bytes)
{
    struct pile *pile = context;
    if (bytes > pile->room - pile->used) {
        const size_t room = 2 * (pile->used + bytes);
        char *larger = room < bytes ? NULL : realloc(pile->bytes, room);
        if (larger == NULL)
            return -1;
        pile->bytes = larger;
        pile->room = room;
    }
    memcpy(pile->bytes + pile->used, data, bytes);
    pile->used += bytes;
    return 0;
}

/* The bytes of a filter: our file's, or another system's. */
static PyObject *bytes_of(struct native_filter *self, bool ours, const bloomery_dialect *dialect)
{
    bloomery_info info = BLOOMERY_INFO;
    struct pile pile = {NULL, 0, 0};
    PyObject *bytes = NULL;
    bloomery_error error;
    bloomery_status status;

    if (!native_filter_enter_whole(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    if (ours) { /* its size is known */
        bloomery_info_get(self->filter, &info);
        pile.room = (size_t)info.file_bytes;
        pile.bytes = malloc(pile.room);
        pile.room = pile.bytes == NULL ? 0 : pile.room;
    }
    status = ours ? bloomery_write(self->filter, pile_up, &pile, &error)
                  : bloomery_dialect_write(self->filter, dialect, pile_up, &pile, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    if (status == BLOOMERY_IO_FAILED) /* pile_up stopped it */
        PyErr_NoMemory();
    else if (status != BLOOMERY_OK)
        native_raise(self->state, &error, NULL);
    else
        bytes = PyBytes_FromStringAndSize(pile.bytes, (Py_ssize_t)pile.used);
    free(pile.bytes);
    return bytes;
}

static PyObject *filter_to_bytes(PyObject *self, PyObject *none)
{
    (void)none;
    return bytes_of((struct native_filter *)self, true, NULL);
}

static PyObject *save(struct native_filter *self, PyObject *path, bool ours,
                      const bloomery_dialect *dialect)
{
    PyObject *encoded;
    const char *text;
    bloomery_error error;
    bloomery_status status;

    if (!native_path_take(path, &encoded, &text))
        return NULL;
    if (!native_filter_enter_whole(self)) {
        Py_DECREF(encoded);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = ours ? bloomery_save(self->filter, text, &error)
                  : bloomery_dialect_save(self->filter, dialect, text, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    Py_DECREF(encoded);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, path);
    Py_RETURN_NONE;
}

static PyObject *filter_save(PyObject *self, PyObject *path)
{
    return save((struct native_filter *)self, path, true, NULL);
}

static PyObject *filter_verify(PyObject *object, PyObject *none)
{
    struct native_filter *self = (struct native_filter *)object;
    bloomery_error error;
    bloomery_status status;
    (void)none;
    if (!native_filter_enter_whole(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_verify(self->filter, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, NULL);
    Py_RETURN_NONE;
}

/* ---- Other systems --------------------------------------------------------------------------- */

static const bloomery_dialect *find_dialect(const char *name)
{
    const bloomery_dialect *dialect = bloomery_dialect_find(name);
    if (dialect == NULL)
        PyErr_Format(PyExc_ValueError, "unknown dialect '%s'; bloomery.dialects() lists them",
                     name);
    return dialect;
}

/* The parameters, all as keywords. */
static bool take_parameters(PyObject *keywords, bloomery_dialect_parameters *parameters)
{
    static char *names[] = {"variant", "keys",         "rate",  "bits",       "bytes",
                            "probes",  "bits_per_key", "seed",  "growth",     "columns",
                            "index",   "cell_bits",    "slots", "iterations", NULL};
    PyObject *keys = NULL, *bits = NULL, *bytes = NULL, *seed = NULL, *index = NULL;
    PyObject *probes = NULL, *growth = NULL, *columns = NULL, *cell_bits = NULL;
    PyObject *slots = NULL, *iterations = NULL;
    PyObject *none = PyTuple_New(0);

    *parameters = (bloomery_dialect_parameters)BLOOMERY_DIALECT_PARAMETERS;
    const bool good =
        none != NULL && PyArg_ParseTupleAndKeywords(
                            none, keywords, "|$zOdOOOdOOOOOOO", names, &parameters->variant, &keys,
                            &parameters->rate, &bits, &bytes, &probes, &parameters->bits_per_key,
                            &seed, &growth, &columns, &index, &cell_bits, &slots, &iterations);
    Py_XDECREF(none);
    return good && native_count_take(keys, "keys", &parameters->keys) &&
           native_count_take(bits, "bits", &parameters->bits) &&
           native_count_take(bytes, "bytes", &parameters->bytes) &&
           native_count_take(seed, "seed", &parameters->seed) &&
           native_count_take(index, "index", &parameters->index) &&
           native_small_take(probes, "probes", &parameters->probes) &&
           native_small_take(growth, "growth", &parameters->growth) &&
           native_small_take(columns, "columns", &parameters->columns) &&
           native_small_take(cell_bits, "cell_bits", &parameters->cell_bits) &&
           native_small_take(slots, "slots", &parameters->slots) &&
           native_small_take(iterations, "iterations", &parameters->iterations);
}

static PyObject *filter_from_dialect(PyObject *type, PyObject *args, PyObject *keywords)
{
    bloomery_dialect_parameters parameters;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    const bloomery_dialect *dialect;
    const char *name;
    PyObject *data;
    Py_buffer buffer;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_status status;

    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !PyArg_ParseTuple(args, "sO", &name, &data) ||
        !take_parameters(keywords, &parameters) || (dialect = find_dialect(name)) == NULL ||
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_dialect_load(dialect, buffer.buf, (size_t)buffer.len, &parameters, &options,
                                   &filter, &error);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&buffer);
    return finish_open((PyTypeObject *)type, state, filter, filter, status, &error, NULL);
}

static PyObject *filter_create_dialect(PyObject *type, PyObject *args, PyObject *keywords)
{
    bloomery_dialect_parameters parameters;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    const bloomery_dialect *dialect;
    const char *name;
    bloomery_filter *filter = NULL;
    bloomery_error error;

    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !PyArg_ParseTuple(args, "s", &name) ||
        !take_parameters(keywords, &parameters) || (dialect = find_dialect(name)) == NULL)
        return NULL;
    const bloomery_status status =
        bloomery_dialect_create(dialect, &parameters, &options, &filter, &error);
    return finish_open((PyTypeObject *)type, state, filter, filter, status, &error, NULL);
}

static PyObject *filter_to_dialect(PyObject *object, PyObject *args)
{
    const bloomery_dialect *dialect = NULL;
    const char *name = NULL;
    if (!PyArg_ParseTuple(args, "|z", &name) ||
        (name != NULL && (dialect = find_dialect(name)) == NULL))
        return NULL;
    return bytes_of((struct native_filter *)object, false, dialect);
}

static PyObject *filter_save_dialect(PyObject *object, PyObject *args)
{
    const bloomery_dialect *dialect = NULL;
    const char *name = NULL;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O|z", &path, &name) ||
        (name != NULL && (dialect = find_dialect(name)) == NULL))
        return NULL;
    return save((struct native_filter *)object, path, false, dialect);
}

/* ---- Pickles and copies ---------------------------------------------------------------------- */

static PyObject *copy_of(struct native_filter *self)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_status status;

    options.concurrent_adds = self->concurrent;
    if (!native_filter_enter_whole(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_copy(self->filter, &options, &filter, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, NULL);
    return native_filter_of(self, filter, self->concurrent);
}

/* What a subclass has besides: `made` gets it. False after raising. */
static bool copy_attributes(PyObject *self, PyObject *made, PyObject *memo)
{
    PyObject *mine = PyObject_GetAttrString(self, "__dict__");
    if (mine == NULL) {
        PyErr_Clear(); /* it has none */
        return true;
    }
    PyObject *module = memo == NULL ? NULL : PyImport_ImportModule("copy");
    PyObject *copied =
        memo == NULL
            ? Py_NewRef(mine)
            : (module == NULL ? NULL : PyObject_CallMethod(module, "deepcopy", "OO", mine, memo));
    PyObject *theirs = copied == NULL ? NULL : PyObject_GetAttrString(made, "__dict__");
    const bool good = theirs != NULL && PyDict_Update(theirs, copied) == 0;
    Py_XDECREF(theirs);
    Py_XDECREF(copied);
    Py_XDECREF(module);
    Py_DECREF(mine);
    return good;
}

static PyObject *copy_with(PyObject *self, PyObject *memo)
{
    PyObject *made = copy_of((struct native_filter *)self);
    if (made != NULL && !copy_attributes(self, made, memo))
        Py_CLEAR(made);
    return made;
}

PyObject *native_filter_copy(struct native_filter *self)
{
    return copy_with((PyObject *)self, NULL);
}

static PyObject *filter_copy(PyObject *self, PyObject *none)
{
    (void)none;
    return copy_with(self, NULL);
}

static PyObject *filter_deep_copy(PyObject *self, PyObject *memo)
{
    return copy_with(self, memo);
}

/* The state of a pickle: a subclass's attributes, and what is set after those. NULL: there is none,
 * or after raising. */
static PyObject *state_of(PyObject *object)
{
    PyObject *own = PyObject_GetAttrString(object, "__dict__"); /* of a subclass */
    if (own == NULL)
        PyErr_Clear();
    const struct native_filter *self = (const struct native_filter *)object;
    PyObject *set = self->ignores || self->raw ? PyDict_New() : NULL;
    PyObject *both;
    if (set == NULL)
        return own;
    PyObject *ignore = PyUnicode_FromString("ignore");
    if (ignore != NULL && (!self->ignores || PyDict_SetItemString(set, "full", ignore) == 0) &&
        (!self->raw || PyDict_SetItemString(set, "applies_rule", Py_False) == 0))
        both = Py_BuildValue("(OO)", own == NULL ? Py_None : own, set);
    else
        both = NULL;
    Py_XDECREF(ignore);
    Py_DECREF(set);
    Py_XDECREF(own);
    return both;
}

/* (type.from_bytes, (bytes,), state): from protocol 5 on the bytes may travel out of band. */
static PyObject *filter_reduce(PyObject *object, PyObject *protocol)
{
    struct native_filter *self = (struct native_filter *)object;
    const long level = PyLong_AsLong(protocol);
    if (level == -1 && PyErr_Occurred() != NULL)
        return NULL;
    bloomery_info info = BLOOMERY_INFO;
    if (!native_filter_enter(self, true, false))
        return NULL;
    bloomery_info_get(self->filter, &info);
    native_filter_leave(self, false);
    if (info.secret_fingerprint != 0 && !info.secret_in_file) {
        PyErr_SetString(self->state->exceptions[NATIVE_SECRET_NEEDED],
                        "the secret is kept outside, so a pickle could not be read: send "
                        "to_bytes() and the secret, and use Filter.from_bytes");
        return NULL;
    }
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "from_bytes");
    PyObject *state = state_of(object);
    PyObject *data = make == NULL ? NULL : bytes_of(self, true, NULL);
    if (data != NULL && level >= 5) {
        PyObject *pickle = PyImport_ImportModule("pickle");
        PyObject *wrapped =
            pickle == NULL ? NULL : PyObject_CallMethod(pickle, "PickleBuffer", "O", data);
        Py_XDECREF(pickle);
        Py_DECREF(data);
        data = wrapped;
    }
    PyObject *result = NULL;
    if (data != NULL)
        result = state == NULL ? Py_BuildValue("O(O)", make, data)
                               : Py_BuildValue("O(O)O", make, data, state);
    Py_XDECREF(make);
    Py_XDECREF(state);
    Py_XDECREF(data);
    return result;
}

#define CLASS_METHOD (METH_VARARGS | METH_KEYWORDS | METH_CLASS)

PyMethodDef native_filter_file_methods[] = {
    {"open", NATIVE_KEYWORDS(filter_open), CLASS_METHOD,
     "open(path, *, copy=False, secret=None, verify=False, full='raise', rule=True) -> "
     "Filter\n\nA file, mapped and read-only: microseconds, and processes share the memory. "
     "copy=True reads it all, and keys can be added, up to the limit unless full='ignore'. "
     "rule=False: keys are given as the rule of the file would make them, such as raw digests for "
     "hexadecimal digits."},
    {"from_bytes", NATIVE_KEYWORDS(filter_from_bytes), CLASS_METHOD,
     "from_bytes(data, *, secret=None, full='raise', rule=True) -> Filter\n\nOf what to_bytes() "
     "made; owns a copy."},
    {"view", NATIVE_KEYWORDS(filter_view), CLASS_METHOD,
     "view(data, *, secret=None, rule=True) -> Filter\n\nRead-only, over shared memory or a "
     "map, which it keeps and which must not change. Its address must be a multiple of 64."},
    {"save", filter_save, METH_O,
     "save(path)\n\nWrites a file that every Bloomery reads. The old file stays or is replaced "
     "whole."},
    {"to_bytes", filter_to_bytes, METH_NOARGS, "to_bytes() -> bytes\n\nWhat save() writes."},
    {"__bytes__", filter_to_bytes, METH_NOARGS, NULL},
    {"verify", filter_verify, METH_NOARGS,
     "verify()\n\nReads everything and compares checksums; Corrupt names the place."},
    {"from_dialect", NATIVE_KEYWORDS(filter_from_dialect), CLASS_METHOD,
     "from_dialect(name, data, **parameters) -> Filter\n\nAnother system's filter, from its "
     "bytes."},
    {"create_dialect", NATIVE_KEYWORDS(filter_create_dialect), CLASS_METHOD,
     "create_dialect(name, **parameters) -> Filter\n\nAn empty filter as another system makes it."},
    {"to_dialect", filter_to_dialect, METH_VARARGS,
     "to_dialect(name=None) -> bytes\n\nThe bytes in which another system keeps such a filter."},
    {"save_dialect", filter_save_dialect, METH_VARARGS,
     "save_dialect(path, name=None)\n\nWrites these bytes as a file."},
    {"copy", filter_copy, METH_NOARGS,
     "copy() -> Filter\n\nIn memory of its own; keys can be added."},
    {"__copy__", filter_copy, METH_NOARGS, NULL},
    {"__deepcopy__", filter_deep_copy, METH_O, NULL},
    {"__reduce_ex__", filter_reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

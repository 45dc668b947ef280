/* SPDX-License-Identifier: Apache-2.0 */
/* The class Builder: static filters, from keys that come in batches. */
#include "native.h"

#include <string.h>

struct builder {
    PyObject_HEAD const struct native_state *state;
    bloomery_builder *builder; /* NULL: finished, or closed */
    struct native_keying keying;
    struct native_gate gate;
    unsigned forks; /* its temporary file would be two processes' */
};

static PyObject *builder_open(PyTypeObject *type, struct native_state *state,
                              struct native_request *request,
                              const bloomery_builder_options *options)
{
    bloomery_builder *made = NULL;
    bloomery_error error;

    const bloomery_status status =
        bloomery_builder_open(&request->plan, &request->options, options, &made, &error);
    memset(request->bytes, 0, sizeof(request->bytes));
    if (status != BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct builder *self = (struct builder *)(void *)allocate(type, 0);
    if (self == NULL) {
        bloomery_builder_free(made);
        return NULL;
    }
    self->state = state;
    self->builder = made;
    self->gate = (struct native_gate){.forks = native_forks, .writers = true};
    self->forks = native_forks;
    native_keying_of(&request->options.rule, &self->keying);
    return (PyObject *)self;
}

static PyObject *builder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"rate", "keys",     "memory", "directory", "threads", "secret",
                            "seed", "integers", "note",   "unchecked", NULL};
    struct native_request request = {.kind = "static", .integers = 64};
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    PyObject *memory = NULL, *directory = Py_None, *encoded = NULL, *keys = NULL, *made = NULL,
             *threads = NULL;
    int unchecked = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOOOOOizp", names, &request.rate, &keys,
                                     &memory, &directory, &threads, &request.secret, &request.seed,
                                     &request.integers, &request.note, &unchecked))
        return NULL;
    struct native_state *state = native_state_of(type);
    if (state == NULL || !native_count_take(memory, "memory", &options.memory) ||
        !native_threads_take(threads, &options.threads))
        return NULL;
    if (directory != Py_None && !native_path_take(directory, &encoded, &options.directory))
        return NULL;
    options.unchecked = unchecked != 0;
    request.keys = keys != NULL && keys != Py_None ? Py_NewRef(keys) : PyLong_FromLong(1000000);
    if (request.keys != NULL && native_request_solve(state, &request))
        made = builder_open(type, state, &request, &options);
    Py_XDECREF(request.keys);
    Py_XDECREF(encoded);
    return made;
}

static void builder_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    bloomery_builder_free(((struct builder *)object)->builder);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static bool ready(const struct builder *self)
{
    if (self->builder != NULL && self->forks == native_forks)
        return true;
    if (self->builder != NULL)
        PyErr_SetString(PyExc_RuntimeError, "the builder was made before a fork, and belongs to "
                                            "the other process");
    else
        PyErr_SetString(PyExc_ValueError, "the builder is finished: one builder makes one filter");
    return false;
}

/* The library takes keys from several threads at once. */
static PyObject *add_many(PyObject *object, PyObject *keys)
{
    struct builder *self = (struct builder *)object;
    struct native_work work = {.verb = NATIVE_COLLECT,
                               .state = self->state,
                               .builder = &self->builder,
                               .gate = &self->gate,
                               .keying = &self->keying};
    const bool good = ready(self) && native_work_run(&work, keys);
    native_work_free(&work);
    return good ? PyLong_FromSize_t(work.seen) : NULL;
}

static PyObject *add(PyObject *object, PyObject *key)
{
    struct builder *self = (struct builder *)object;
    struct native_key taken;
    bloomery_error error;
    bloomery_status status = BLOOMERY_OK;

    if (!ready(self) || !native_key_take(self->state, key, &self->keying, &taken))
        return NULL;
    const bloomery_keys one = bloomery_keys_of_list(&taken.key, 1);
    const bool entered = native_gate_enter(&self->gate, false);
    const bool open = entered && ready(self);
    if (open)
        status = bloomery_builder_add(self->builder, &one, &error);
    if (entered)
        native_gate_leave(&self->gate, false);
    native_key_release(&taken);
    if (!open)
        return NULL;
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, NULL);
    Py_RETURN_NONE;
}

/* Ends the builder: `path` NULL makes a filter, else a file. */
static bloomery_status end(struct builder *self, const char *path, const bloomery_filter **filter,
                           bloomery_error *error)
{
    bloomery_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = path == NULL ? bloomery_builder_finish(self->builder, filter, error)
                          : bloomery_builder_save(self->builder, path, error);
    bloomery_builder_free(self->builder);
    Py_END_ALLOW_THREADS;
    self->builder = NULL;
    return status;
}

static bool enter_alone(struct builder *self)
{
    if (!ready(self) || !native_gate_enter(&self->gate, true))
        return false;
    if (ready(self))
        return true;
    native_gate_leave(&self->gate, true);
    return false;
}

static PyObject *finish(PyObject *object, PyObject *none)
{
    struct builder *self = (struct builder *)object;
    const bloomery_filter *filter = NULL;
    bloomery_error error;

    (void)none;
    if (!enter_alone(self))
        return NULL;
    const bloomery_status status = end(self, NULL, &filter, &error);
    native_gate_leave(&self->gate, true);
    return status == BLOOMERY_OK ? native_filter_new(self->state->filter_type, filter, NULL, false)
                                 : native_raise(self->state, &error, NULL);
}

static PyObject *save(PyObject *object, PyObject *path)
{
    struct builder *self = (struct builder *)object;
    PyObject *encoded;
    const char *text;
    bloomery_error error;

    if (!native_path_take(path, &encoded, &text))
        return NULL;
    if (!enter_alone(self)) {
        Py_DECREF(encoded);
        return NULL;
    }
    const bloomery_status status = end(self, text, NULL, &error);
    native_gate_leave(&self->gate, true);
    Py_DECREF(encoded);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, path);
    Py_RETURN_NONE;
}

PyType_Spec *native_builder_spec(void)
{
    static PyMethodDef methods[] = {
        {"add", add, METH_O, "add(key)\n\nCollects a key."},
        {"add_many", add_many, METH_O,
         "add_many(keys) -> int\n\nCollects the keys of a list, iterator or array; how many came. "
         "Threads may call it at the same time."},
        {"finish", finish, METH_NOARGS, "finish() -> Filter\n\nThe filter of all keys."},
        {"save", save, METH_O, "save(path)\n\nThe filter of all keys, straight to a file."},
        {NULL, NULL, 0, NULL}};
    static const char text[] =
        "Builder(rate, *, keys=None, memory=None, directory=None, threads=0, secret=None,\n"
        "        seed=0, integers=64, note=None, unchecked=False)\n--\n\n"
        "Makes a static filter: the smallest there is, of keys that are all known.\n\n"
        "memory: bytes for the keys that wait, 16 each, 1 GiB by default; those that find no\n"
        "room go to files without names in `directory`. The same keys make the same bytes.";
    static PyType_Slot slots[] = {{Py_tp_doc, NULL},
                                  {Py_tp_new, builder_new},
                                  {Py_tp_dealloc, builder_dealloc},
                                  {Py_tp_methods, methods},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.Builder",
                               .basicsize = sizeof(struct builder),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    slots[0].pfunc = (void *)(uintptr_t)text;
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The class Filter: many keys, and filters made from all of them. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

void native_filter_work(struct native_filter *self, enum native_verb verb, struct native_work *work)
{
    const bool changes = verb == NATIVE_ADD || verb == NATIVE_BUILD || verb == NATIVE_REMOVE;
    const bool adds = verb == NATIVE_ADD || verb == NATIVE_BUILD;

    *work = (struct native_work){.verb = verb,
                                 .state = self->state,
                                 .filter = self,
                                 .gate = &self->gate,
                                 .alone = changes && !(self->concurrent && verb != NATIVE_BUILD),
                                 .limit = adds && self->limit.checked ? &self->limit : NULL,
                                 .watched =
                                     verb == NATIVE_QUERY && self->watch.path != NULL ? self : NULL,
                                 .keying = &self->keying};
}

/* Runs an operation over keys; the caller frees the work. */
static bool run(PyObject *object, enum native_verb verb, bool keep, PyObject *keys,
                struct native_work *work)
{
    struct native_filter *self = (struct native_filter *)object;

    native_filter_work(self, verb, work);
    work->keep = keep;
    const bool good = native_filter_ready(self, true) && native_work_run(work, keys);
    if (verb == NATIVE_REMOVE)
        self->limit.full = false;
    return good;
}

static PyObject *add_many(PyObject *self, PyObject *keys)
{
    struct native_work work;
    const bool good = run(self, NATIVE_ADD, false, keys, &work);
    native_work_free(&work);
    return good ? PyLong_FromSize_t(work.yes) : NULL;
}

static PyObject *remove_many(PyObject *self, PyObject *keys)
{
    struct native_work work;
    const bool good = run(self, NATIVE_REMOVE, false, keys, &work);
    native_work_free(&work);
    return good ? PyLong_FromSize_t(work.yes) : NULL;
}

static PyObject *count_many(PyObject *self, PyObject *keys)
{
    struct native_work work;
    const bool good = run(self, NATIVE_QUERY, false, keys, &work);
    native_work_free(&work);
    return good ? PyLong_FromSize_t(work.yes) : NULL;
}

static PyObject *test_and_add_many(PyObject *self, PyObject *keys)
{
    struct native_work work;
    PyObject *answers = NULL;
    if (run(self, NATIVE_ADD, true, keys, &work))
        answers = native_answers_new(work.state, &work.bits);
    native_work_free(&work);
    return answers;
}

static PyObject *contains_many(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"keys", "out", NULL};
    struct native_work work;
    PyObject *keys, *out = Py_None, *answers = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O", names, &keys, &out))
        return NULL;
    if (run(self, NATIVE_QUERY, true, keys, &work)) {
        if (out == Py_None)
            answers = native_answers_new(work.state, &work.bits);
        else if (native_answers_write(&work.bits, out))
            answers = Py_NewRef(out);
    }
    native_work_free(&work);
    return answers;
}

static PyObject *hash_many(PyObject *self, PyObject *keys)
{
    struct native_work work;
    PyObject *hashes = NULL;
    if (run(self, NATIVE_HASH, false, keys, &work))
        hashes = PyByteArray_FromStringAndSize((const char *)work.hashes.bytes,
                                               (Py_ssize_t)work.hashes.used);
    native_work_free(&work);
    return hashes;
}

/* ---- Filters made from all their keys -------------------------------------------------------- */

/* A static filter of the keys. */
static PyObject *build_static(PyTypeObject *type, const struct native_state *state,
                              struct native_request *request, PyObject *keys, uint32_t threads)
{
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    bloomery_builder *builder = NULL;
    const bloomery_filter *filter = NULL;
    struct native_keying keying;
    struct native_gate gate = {0};
    bloomery_error error;

    options.threads = threads;
    options.memory = UINT64_C(1) << 46; /* what is in memory already may be there once more */
    if (bloomery_builder_open(&request->plan, &request->options, &options, &builder, &error) !=
        BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    native_keying_of(&request->options.rule, &keying);
    struct native_work work = {.verb = NATIVE_COLLECT,
                               .state = state,
                               .builder = &builder,
                               .gate = &gate,
                               .keying = &keying};
    bloomery_status status = BLOOMERY_BAD_ARGUMENT;
    const bool taken = native_work_run(&work, keys);
    if (taken) {
        Py_BEGIN_ALLOW_THREADS;
        status = bloomery_builder_finish(builder, &filter, &error);
        Py_END_ALLOW_THREADS;
    }
    native_work_free(&work);
    bloomery_builder_free(builder);
    if (!taken)
        return NULL;
    return status == BLOOMERY_OK ? native_filter_new(type, filter, NULL, false)
                                 : native_raise(state, &error, NULL);
}

static PyObject *build_any(PyTypeObject *type, const struct native_state *state,
                           struct native_request *request, PyObject *keys, uint32_t threads)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;

    if (bloomery_create(&request->plan, &request->options, &filter, &error) != BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    PyObject *made = native_filter_made(type, filter, request);
    if (made == NULL)
        return NULL;
    struct native_filter *self = (struct native_filter *)made;
    struct native_work work;
    native_filter_work(self, NATIVE_BUILD, &work);
    /* A filter that grows is built by one thread, which then counts what is new. */
    work.threads = !self->single ? 1 : threads == 0 ? BLOOMERY_THREADS_ALL : threads;
    if (!native_work_run(&work, keys))
        Py_CLEAR(made);
    native_work_free(&work);
    return made;
}

/* How many keys to plan for: what the caller says, or what the object has. */
static bool take_count(PyObject *keys, PyObject *count, PyObject **number)
{
    if (count != NULL && count != Py_None) {
        *number = Py_NewRef(count);
        return true;
    }
    const Py_ssize_t known = native_keys_count(keys);
    if (known < 0) {
        PyErr_SetString(PyExc_TypeError, "the number of keys is not known: give it as `count`, or "
                                         "use kind='scalable'");
        return false;
    }
    *number = PyLong_FromSsize_t(known > 0 ? known : 1);
    return *number != NULL;
}

static PyObject *filter_build(PyObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"keys", "rate",   "kind",   "count",      "threads",
                            "seed", "secret", "memory", "concurrent", "integers",
                            "note", "full",   NULL};
    struct native_request request = {.kind = "blocked", .integers = 64, .full = "raise"};
    PyObject *keys, *count = NULL, *number = NULL, *rate = NULL, *made = NULL;
    PyObject *team = NULL;
    uint32_t threads = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$sOOOOOpizs", names, &keys, &request.rate,
                                     &request.kind, &count, &team, &request.seed, &request.secret,
                                     &request.memory, &request.concurrent, &request.integers,
                                     &request.note, &request.full)) {
        native_keyword_help(keywords, "count");
        return NULL;
    }
    struct native_state *state = native_state_of((PyTypeObject *)type);
    if (state == NULL || !native_threads_take(team, &threads) || !native_kind_take(&request))
        return NULL;
    const bool grows =
        request.plan.kind == BLOOMERY_SCALABLE || request.plan.kind == BLOOMERY_STATIC;
    if (grows && (count == NULL || count == Py_None) && native_keys_count(keys) <= 0) {
        number = PyLong_FromLong(1 << 20);
        if (number == NULL)
            return NULL;
    } else if (!take_count(keys, count, &number))
        return NULL;
    if (request.rate == NULL)
        request.rate = rate = PyFloat_FromDouble(0.01);
    request.keys = number;
    if (native_request_solve(state, &request))
        made = request.plan.kind == BLOOMERY_STATIC
                   ? build_static((PyTypeObject *)type, state, &request, keys, threads)
                   : build_any((PyTypeObject *)type, state, &request, keys, threads);
    memset(request.bytes, 0, sizeof(request.bytes));
    Py_XDECREF(rate);
    Py_DECREF(number);
    return made;
}

PyMethodDef native_filter_many_methods[] = {
    {"add_many", add_many, METH_O,
     "add_many(keys) -> int\n\nAdds the keys of a list, iterator, array or Arrow array; how many "
     "were new. Full if a new one would pass the limit: `added` of the exception says how many of "
     "these keys were added, and `new` how many of them were new."},
    {"remove_many", remove_many, METH_O,
     "remove_many(keys) -> int\n\nRemoves keys from a counting or cuckoo filter; how many were in "
     "it."},
    {"count_many", count_many, METH_O,
     "count_many(keys) -> int\n\nHow many of the keys are possibly in the filter."},
    {"test_and_add_many", test_and_add_many, METH_O,
     "test_and_add_many(keys) -> BoolColumn\n\nAdds keys; which of them were new."},
    {"contains_many", NATIVE_KEYWORDS(contains_many), METH_VARARGS | METH_KEYWORDS,
     "contains_many(keys, *, out=None) -> BoolColumn\n\nWhich of the keys are possibly in the "
     "filter. `out` takes the answers in an array of bools."},
    {"hash_many", hash_many, METH_O,
     "hash_many(keys) -> bytearray\n\nThe hashes of the keys: 16 bytes each, two uint64 of the "
     "host's order; numpy.frombuffer(hashes, 'V16') is a column of them."},
    {"build", NATIVE_KEYWORDS(filter_build), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "build(keys, rate=0.01, *, kind='blocked', count=None, threads=0, seed=0, secret=None,\n"
     "      memory=None, concurrent=False, integers=64, note=None, full='raise') -> Filter\n\n"
     "A filter of all these keys. count: how many they are, if len(keys) does not say it. Arrays "
     "are worked on by `threads` threads (0: as many as there are cores). The others as in Filter. "
     "Full if there are far more keys than `count`."},
    {"from_keys", NATIVE_KEYWORDS(filter_build), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_keys(keys, rate=0.01, *, kind='blocked', count=None, threads=0, seed=0, secret=None,\n"
     "          memory=None, concurrent=False, integers=64, note=None, full='raise') -> Filter\n\n"
     "Another name of build."},
    {NULL, NULL, 0, NULL}};

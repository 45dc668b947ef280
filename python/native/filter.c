/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class Filter: its life, and what is done with one key.
 *
 * A single key keeps the GIL, so nothing else happens then but what other threads do without
 * it: the gate says whether a query, or an add, may go ahead.
 */
#include "native.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

/* ---- Life ------------------------------------------------------------------------------------ */

/* The arguments were taken when the filter was made: a subclass may hand them up or not. */
static int filter_init(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)self;
    (void)args;
    (void)keywords;
    return 0;
}

/* The keywords that are a filter's. A subclass with an __init__ may have others, as one of set or
 * dict may. NULL after raising. */
static PyObject *own_keywords(PyTypeObject *type, PyObject *keywords, char *const *names)
{
    PyObject *own = PyDict_New();
    const initproc init = (initproc)PyType_GetSlot(type, Py_tp_init);
    if (own == NULL || keywords == NULL)
        return own;
    if (init == filter_init) {
        if (PyDict_Update(own, keywords) != 0)
            Py_CLEAR(own);
        return own;
    }
    for (; *names != NULL; names++) {
        PyObject *value = PyDict_GetItemString(keywords, *names);
        if (value != NULL && PyDict_SetItemString(own, *names, value) != 0) {
            Py_DECREF(own);
            return NULL;
        }
    }
    return own;
}

static PyObject *filter_new(PyTypeObject *type, PyObject *args, PyObject *all)
{
    static char *names[] = {"keys",       "rate",     "kind", "seed", "secret", "memory",
                            "concurrent", "integers", "note", "full", NULL};
    struct native_request request = {.kind = "blocked", .integers = 64, .full = "raise"};
    bloomery_filter *filter = NULL;
    bloomery_error error;
    PyObject *rate = NULL;
    PyObject *keywords = own_keywords(type, all, names);

    if (keywords == NULL)
        return NULL;
    const bool parsed = PyArg_ParseTupleAndKeywords(
        args, keywords, "|OO$sOOOpizs", names, &request.keys, &request.rate, &request.kind,
        &request.seed, &request.secret, &request.memory, &request.concurrent, &request.integers,
        &request.note, &request.full);
    Py_DECREF(keywords); /* whose values `all` has */
    if (!parsed) {
        native_keyword_help(all, "keys");
        return NULL;
    }
    struct native_state *state = native_state_of(type);
    if (state == NULL)
        return NULL;
    if (request.rate == NULL) /* not given is 1 %; None is "as good as fits in the memory" */
        request.rate = rate = PyFloat_FromDouble(0.01);
    const bool solved = native_request_solve(state, &request);
    Py_XDECREF(rate);
    if (!solved)
        return NULL;
    if (request.plan.kind == BLOOMERY_STATIC) {
        PyErr_SetString(PyExc_ValueError, "a static filter is built from all its keys: use "
                                          "Filter.build(keys, rate, kind='static') or Builder");
        return NULL;
    }
    const bloomery_status status =
        bloomery_create(&request.plan, &request.options, &filter, &error);
    memset(request.bytes, 0, sizeof(request.bytes));
    if (status != BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    return native_filter_made(type, filter, &request);
}

static void release_parts(struct native_filter *self)
{
    bloomery_free(self->filter);
    native_watch_end(&self->watch);
    self->filter = NULL;
    self->writable = NULL;
    self->quick = false;
    if (self->has_buffer) {
        self->has_buffer = false;
        PyBuffer_Release(&self->buffer);
    }
}

static int filter_traverse(PyObject *object, visitproc visit, void *arg)
{
    const struct native_filter *self = (const struct native_filter *)object;
    Py_VISIT(Py_TYPE(object));
    if (self->has_buffer)
        Py_VISIT(self->buffer.obj);
    return 0;
}

static void filter_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    struct native_filter *self = (struct native_filter *)object;
    PyObject_GC_UnTrack(object);
    if (self->weak != NULL)
        PyObject_ClearWeakRefs(object);
    release_parts(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *filter_close(PyObject *object, PyObject *none)
{
    struct native_filter *self = (struct native_filter *)object;
    (void)none;
    if (self->filter == NULL)
        Py_RETURN_NONE;
    if (!native_filter_enter(self, false, true))
        return NULL;
    release_parts(self);
    native_filter_leave(self, true);
    Py_RETURN_NONE;
}

static PyObject *filter_enter_with(PyObject *object, PyObject *none)
{
    (void)none;
    return native_filter_ready((struct native_filter *)object, false) ? Py_NewRef(object) : NULL;
}

static PyObject *filter_exit_with(PyObject *object, PyObject *args)
{
    (void)args;
    return filter_close(object, NULL);
}

/* ---- One key --------------------------------------------------------------------------------- */

/* Waits until something that keeps the GIL may be done, and that the filter is still open then. */
static bool wait_for(struct native_filter *self, bool alone)
{
    if (native_gate_open(&self->gate, alone) && self->filter != NULL && self->secret)
        return true;
    if (!native_filter_enter(self, true, alone))
        return false;
    native_filter_leave(self, alone);
    return true;
}

static int filter_contains(PyObject *object, PyObject *key)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_key taken;

    if (self->quick && PyUnicode_CheckExact(key) && native_gate_open(&self->gate, false)) {
        Py_ssize_t bytes = 0;
        const char *text = PyUnicode_AsUTF8AndSize(key, &bytes);
        if (text == NULL)
            return -1;
        return bloomery_may_contain(self->filter, bloomery_key_of(text, (size_t)bytes));
    }
    if (!native_key_take(self->state, key, &self->keying, &taken))
        return -1;
    int found = -1;
    if (wait_for(self, false))
        found = bloomery_may_contain(self->filter, taken.key);
    native_key_release(&taken);
    return found;
}

/* Raises why a key could not be added or removed. Returns -1. */
static int raise_refused(const struct native_filter *self, enum native_change change,
                         const bloomery_error *error)
{
    struct native_work work = {.verb = change == NATIVE_CHANGE_ADD ? NATIVE_ADD : NATIVE_REMOVE,
                               .state = self->state,
                               .filter = self,
                               .error = *error};
    native_work_raise(&work);
    return -1;
}

/* Adds or removes a key: 1 if it was new or was removed, 0 if not, -1 after raising. */
static inline int change_key(const struct native_filter *self, bloomery_key key,
                             enum native_change change)
{
    bloomery_error error;
    if (self->writable == NULL && !native_filter_writable(self, change))
        return -1;
    const bool done = change == NATIVE_CHANGE_ADD ? bloomery_add(self->writable, key, &error)
                                                  : bloomery_remove(self->writable, key, &error);
    return done ? 1 : error.status == BLOOMERY_OK ? 0 : raise_refused(self, change, &error);
}

/* The same for an add where the limit has to be looked at. */
static int add_limited(struct native_filter *self, bloomery_key key)
{
    struct native_work work = {.verb = NATIVE_ADD, .state = self->state};
    bool fits;
    int result = -1;

    if (!native_filter_enter(self, true, true))
        return -1;
    Py_BEGIN_ALLOW_THREADS;
    fits =
        native_limit_allows(&self->limit, self->filter) || bloomery_may_contain(self->filter, key);
    if (!fits)
        native_limit_error(self->filter, &work.error);
    Py_END_ALLOW_THREADS;
    if (fits)
        result = change_key(self, key, NATIVE_CHANGE_ADD);
    native_filter_leave(self, true);
    if (!fits)
        native_work_raise(&work);
    return result;
}

static int add(struct native_filter *self, PyObject *key)
{
    struct native_limit *limit = &self->limit;
    struct native_key taken;
    int result = -1;

    if (!native_key_take(self->state, key, &self->keying, &taken))
        return -1;
    if (wait_for(self, !self->concurrent)) {
        result = limit->checked && limit->left == 0
                     ? add_limited(self, taken.key)
                     : change_key(self, taken.key, NATIVE_CHANGE_ADD);
        if (result > 0)
            native_limit_count(limit, 1);
    }
    native_key_release(&taken);
    return result;
}

static PyObject *filter_add(PyObject *object, PyObject *key)
{
    const int result = add((struct native_filter *)object, key);
    return result < 0 ? NULL : NATIVE_BOOL(result);
}

static PyObject *filter_remove(PyObject *object, PyObject *key)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_key taken;
    int result = -1;

    if (!native_key_take(self->state, key, &self->keying, &taken))
        return NULL;
    if (wait_for(self, !self->concurrent)) {
        result = change_key(self, taken.key, NATIVE_CHANGE_REMOVE);
        self->limit.full = false;
    }
    native_key_release(&taken);
    return result < 0 ? NULL : NATIVE_BOOL(result);
}

/* As of sets: without a result. */
static PyObject *filter_discard(PyObject *object, PyObject *key)
{
    PyObject *removed = filter_remove(object, key);
    if (removed == NULL)
        return NULL;
    Py_DECREF(removed);
    Py_RETURN_NONE;
}

static PyObject *filter_count(PyObject *object, PyObject *key)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_key taken;
    PyObject *count = NULL;

    if (!native_key_take(self->state, key, &self->keying, &taken))
        return NULL;
    if (wait_for(self, false))
        count = PyLong_FromUnsignedLong(bloomery_key_count(self->filter, taken.key));
    native_key_release(&taken);
    return count;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* The note is the filter's, which may be closed once this leaves the gate: `note` gets a copy that
 * is the caller's, unless it is NULL. False after raising. */
static bool take_facts(struct native_filter *self, bool scan, struct native_facts *facts,
                       char **note)
{
    bloomery_info *info = &facts->info;
    *facts = (struct native_facts){BLOOMERY_INFO, BLOOMERY_SCAN_RESULT};
    if (note != NULL)
        *note = NULL;
    if (scan ? !native_filter_enter_whole(self) : !native_filter_enter(self, false, false))
        return false;
    bloomery_info_get(self->filter, info);
    if (scan) {
        Py_BEGIN_ALLOW_THREADS;
        bloomery_scan(self->filter, &facts->scan);
        Py_END_ALLOW_THREADS;
    }
    const bool has_note = note != NULL && info->note != NULL;
    if (has_note)
        *note = strdup(info->note);
    native_filter_leave(self, scan && self->concurrent);
    info->note = has_note ? *note : NULL;
    if (has_note && *note == NULL)
        PyErr_NoMemory();
    return !has_note || *note != NULL;
}

static PyObject *filter_info(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"scan", NULL};
    struct native_filter *self = (struct native_filter *)object;
    struct native_facts facts;
    char *note;
    int scan = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$p", names, &scan) ||
        !take_facts(self, scan != 0, &facts, &note))
        return NULL;
    PyObject *made = native_info_of(self->state, &facts, scan != 0);
    free(note);
    return made;
}

static PyObject *filter_estimate(PyObject *object, PyObject *none)
{
    struct native_facts facts;
    (void)none;
    if (!take_facts((struct native_filter *)object, true, &facts, NULL))
        return NULL;
    return PyFloat_FromDouble(facts.scan.estimated_keys);
}

static int filter_bool(PyObject *object)
{
    struct native_facts facts;
    if (!take_facts((struct native_filter *)object, false, &facts, NULL))
        return -1;
    if (facts.info.adds > 0)
        return 1;
    /* Other systems do not count adds. */
    if (!take_facts((struct native_filter *)object, true, &facts, NULL))
        return -1;
    return facts.scan.bits_set > 0 || facts.scan.estimated_keys > 0;
}

static PyObject *filter_repr(PyObject *object)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_facts facts;
    const bloomery_info *info = &facts.info;
    if (self->filter == NULL)
        return PyUnicode_FromString("<bloomery.Filter, closed>");
    if (!take_facts(self, false, &facts, NULL))
        return NULL;
    const bloomery_dialect *dialect = bloomery_dialect_get(info->dialect);
    char rate[40] = "unknown";
    if (info->planned_rate > 0)
        PyOS_snprintf(rate, sizeof(rate), "%.6g", info->planned_rate);
    return PyUnicode_FromFormat("<bloomery.Filter %s%s%s keys=%llu rate=%s bytes=%llu adds=%llu>",
                                bloomery_kind_name((int)info->kind), dialect == NULL ? "" : " ",
                                dialect == NULL ? "" : dialect->name,
                                (unsigned long long)info->planned_keys, rate,
                                (unsigned long long)info->bytes, (unsigned long long)info->adds);
}

static PyObject *filter_sizeof(PyObject *object, PyObject *none)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_facts facts = {.info = {.memory_bytes = 0}};
    (void)none;
    if (self->filter != NULL && !take_facts(self, false, &facts, NULL))
        return NULL;
    return PyLong_FromUnsignedLongLong(sizeof(*self) + facts.info.memory_bytes);
}

static Py_ssize_t filter_length(PyObject *self)
{
    (void)self;
    PyErr_SetString(PyExc_TypeError, "a filter does not know exactly how many keys it has: adds is "
                                     "how many were new when they were added, estimate() how many "
                                     "its bits make likely");
    return -1;
}

static PyObject *filter_iterate(PyObject *self)
{
    (void)self;
    PyErr_SetString(
        PyExc_TypeError,
        "a filter does not keep its keys, so they cannot be listed: contains_many(keys) "
        "says which of some keys it possibly has, as isin does for a list");
    return NULL;
}

/* For notebooks: bloomery._html draws it. */
static PyObject *filter_html(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *module = PyImport_ImportModule("bloomery._html");
    PyObject *html = module == NULL ? NULL : PyObject_CallMethod(module, "of", "O", self);
    Py_XDECREF(module);
    return html;
}

/* The facts that are attributes, by their names in Info. */
static PyObject *filter_fact(PyObject *object, void *name)
{
    struct native_filter *self = (struct native_filter *)object;
    struct native_facts facts;
    char *note = NULL;
    if (!take_facts(self, false, &facts, strcmp(name, "note") == 0 ? &note : NULL))
        return NULL;
    PyObject *value = native_info_fact(&facts, name);
    free(note);
    return value;
}

/* What programs read for each key: of a filter of one layer without the other facts. */
static PyObject *filter_adds(PyObject *object, void *name)
{
    struct native_filter *self = (struct native_filter *)object;
    bloomery_layer_info info = BLOOMERY_LAYER_INFO;
    if (self->filter == NULL || !self->single || !native_gate_open(&self->gate, false))
        return filter_fact(object, name);
    bloomery_layer_info_get(self->filter, 0, false, &info);
    return PyLong_FromUnsignedLongLong(info.adds);
}

static PyObject *filter_keys(PyObject *object, void *name)
{
    struct native_filter *self = (struct native_filter *)object;
    if (self->filter == NULL || !self->single || self->planned_keys == 0)
        return filter_fact(object, name);
    return PyLong_FromUnsignedLongLong(self->planned_keys);
}

static PyObject *filter_rate(PyObject *object, void *name)
{
    struct native_filter *self = (struct native_filter *)object;
    if (self->filter == NULL || !self->single)
        return filter_fact(object, name);
    return PyFloat_FromDouble(self->planned_rate);
}

static PyObject *filter_full(PyObject *object, void *unused)
{
    struct native_filter *self = (struct native_filter *)object;
    (void)unused;
    if (!native_filter_ready(self, false))
        return NULL;
    return PyUnicode_FromString(self->grows ? "grow" : self->ignores ? "ignore" : "raise");
}

static int filter_set_full(PyObject *object, PyObject *value, void *unused)
{
    struct native_filter *self = (struct native_filter *)object;
    bool ignores;
    (void)unused;
    if (value == NULL || !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "full must be 'raise', 'grow' or 'ignore'");
        return -1;
    }
    const char *full = PyUnicode_AsUTF8AndSize(value, NULL);
    if (full == NULL || !native_filter_enter(self, false, true))
        return -1;
    const bool good = native_full_take(full, self->grows, &ignores);
    if (good) {
        native_filter_ignore(self, ignores);
        native_limit_reset(&self->limit);
    }
    native_filter_leave(self, true);
    return good ? 0 : -1;
}

static PyObject *filter_applies_rule(PyObject *object, void *unused)
{
    (void)unused;
    return NATIVE_BOOL(!((struct native_filter *)object)->raw);
}

static int filter_set_applies_rule(PyObject *object, PyObject *value, void *unused)
{
    struct native_filter *self = (struct native_filter *)object;
    const int applies = value == NULL ? -1 : PyObject_IsTrue(value);
    (void)unused;
    if (value == NULL)
        PyErr_SetString(PyExc_TypeError, "applies_rule must be True or False");
    if (applies < 0 || !native_filter_enter(self, false, true))
        return -1;
    native_filter_raw(self, applies == 0);
    native_filter_leave(self, true);
    return 0;
}

static PyObject *filter_closed(PyObject *object, void *unused)
{
    (void)unused;
    return NATIVE_BOOL(((struct native_filter *)object)->filter == NULL);
}

#define QUICK(name, get, fact, text)                   \
    {                                                  \
        name, get, NULL, text, (void *)(uintptr_t)fact \
    }
#define FACT(name, fact, text) QUICK(name, filter_fact, fact, text)

static PyGetSetDef *attributes(void)
{
    static PyGetSetDef attributes[] = {
        FACT("kind", "kind", "blocked, classic, counting, scalable, static or cuckoo"),
        FACT("dialect", "dialect", "the other system's name, or None"),
        QUICK("keys", filter_keys, "planned_keys", "keys it was planned for, or None"),
        QUICK("rate", filter_rate, "planned_rate", "false-positive rate with as many keys"),
        FACT("bits", "bits", "cells of all layers"),
        FACT("nbytes", "bytes", "memory of the cells"),
        QUICK("adds", filter_adds, "adds", "calls of add that succeeded"),
        FACT("seed", "seed", "of the hash"),
        FACT("note", "note", "the remark in its file, or None"),
        FACT("rule", "rule", "what is done to a key before it is hashed, or None"),
        FACT("writable", "writable", "keys can be added"),
        FACT("mapped", "mapped", "a map of a file"),
        FACT("kernel", "kernel", "the code that serves it"),
        {"applies_rule", filter_applies_rule, filter_set_applies_rule,
         "whether the rule of the file makes keys; can be set. If not, keys are given as it makes "
         "them: bytes for hexadecimal digits, texts in lower case",
         NULL},
        {"full", filter_full, filter_set_full,
         "what a new key beyond the limit does: raise, grow or ignore", NULL},
        {"closed", filter_closed, NULL, "close() was called", NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    return attributes;
}

/* ---- The type -------------------------------------------------------------------------------- */

static PyMethodDef own_methods[] = {
    {"add", filter_add, METH_O,
     "add(key) -> bool\n\nAdds a key. True: it was definitely not in the filter before."},
    {"remove", filter_remove, METH_O,
     "remove(key) -> bool\n\nRemoves a key from a counting or cuckoo filter. False: it was "
     "definitely not in it.\nRemove only what was added: else other keys can be lost."},
    {"discard", filter_discard, METH_O, "discard(key)\n\nAs remove, without a result."},
    {"count", filter_count, METH_O,
     "count(key) -> int\n\nHow often a key was added, less its removals. Never too low, unless "
     "counters saturate."},
    {"info", NATIVE_KEYWORDS(filter_info), METH_VARARGS | METH_KEYWORDS,
     "info(*, scan=False) -> Info\n\nFacts. With scan the whole filter is read, for its fill and "
     "rate: without these are None."},
    {"estimate", filter_estimate, METH_NOARGS,
     "estimate() -> float\n\nHow many distinct keys were added, from the bits: reads them all."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL}, /* Filter[str] */
    {"_repr_html_", filter_html, METH_NOARGS,
     "_repr_html_() -> str\n\nWhat a notebook shows: the facts, and how many cells are set."},
    {"close", filter_close, METH_NOARGS, "close()\n\nReleases the memory or the map now."},
    {"__enter__", filter_enter_with, METH_NOARGS, NULL},
    {"__exit__", filter_exit_with, METH_VARARGS, NULL},
    {"__sizeof__", filter_sizeof, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

/* All methods in one table, which the type keeps. */
static PyMethodDef *all_methods(void)
{
    enum { METHODS_MAX = 64 };
    static PyMethodDef all[METHODS_MAX];
    const PyMethodDef *tables[] = {own_methods,
                                   native_filter_many_methods,
                                   native_filter_line_methods,
                                   native_filter_file_methods,
                                   native_filter_set_methods,
                                   NULL};
    size_t count = 0;
    for (size_t t = 0; tables[t] != NULL; t++)
        for (const PyMethodDef *method = tables[t]; method->ml_name != NULL; method++) {
            assert(count + 1 < METHODS_MAX);
            all[count++] = *method;
        }
    return all;
}

static const char filter_text[] =
    "Filter(keys=None, rate=0.01, *, kind='blocked', seed=0, secret=None, memory=None,\n"
    "       concurrent=False, integers=64, note=None, full='raise')\n--\n\n"
    "A Bloom filter for this many keys, with that false-positive rate.\n\n"
    "`key in filter` is False if the key was never added, and True if it possibly was.\n"
    "A key is a str (its UTF-8), bytes-like (its bytes) or an int (8 bytes, or 4 with\n"
    "integers=32). secret: True draws one, which the file carries; 16 bytes are kept out of\n"
    "files. memory: with rate=None the best rate that fits; else a limit. concurrent: threads\n"
    "may add at the same time without waiting for each other. full: what becomes of a new key\n"
    "when the rate has reached its limit, twice the planned one: Full is raised, the filter\n"
    "grows ('grow', the kind scalable), or it is added and the rate rises ('ignore').";

PyType_Spec *native_filter_spec(void)
{
    static PyMemberDef members[] = {
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct native_filter, weak), READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static PyType_Slot slots[] = {{Py_tp_doc, (void *)(uintptr_t)filter_text},
                                  {Py_tp_new, filter_new},
                                  {Py_tp_init, filter_init},
                                  {Py_tp_dealloc, filter_dealloc},
                                  {Py_tp_traverse, filter_traverse},
                                  {Py_tp_repr, filter_repr},
                                  {Py_tp_hash, PyObject_HashNotImplemented},
                                  {Py_tp_richcompare, native_filter_compare},
                                  {Py_tp_methods, NULL},
                                  {Py_tp_getset, NULL},
                                  {Py_tp_members, members},
                                  {Py_nb_bool, filter_bool},
                                  {Py_nb_or, native_filter_or},
                                  {Py_nb_and, native_filter_and},
                                  {Py_nb_inplace_or, native_filter_ior},
                                  {Py_nb_inplace_and, native_filter_iand},
                                  {Py_nb_subtract, native_filter_subtract},
                                  {Py_nb_xor, native_filter_xor},
                                  {Py_tp_iter, filter_iterate},
                                  {Py_sq_length, filter_length},
                                  {Py_sq_contains, filter_contains},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.Filter",
                               .basicsize = sizeof(struct native_filter),
                               .flags =
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               .slots = slots};
    for (PyType_Slot *slot = slots; slot->slot != 0; slot++)
        if (slot->slot == Py_tp_methods)
            slot->pfunc = all_methods();
        else if (slot->slot == Py_tp_getset)
            slot->pfunc = attributes();
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class Sieve: a to-visit queue that drops keys it has seen.
 *
 * The library's sieve is safe for threads, so calls enter the gate as readers, and only close is
 * alone. What pop returns is copied before another pop may come: pops have a gate of their own.
 * After a fork only the process that opened it may use it; the child leaves it alone.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sieve {
    PyObject_HEAD const struct native_state *state;
    bloomery_sieve *sieve; /* NULL: closed */
    PyObject *directory;   /* for messages; NULL: in memory */
    pid_t process;
    struct native_gate gate, pops;
};

static const struct native_keying opaque = {.integer_bytes = 8};

/* ---- Life ------------------------------------------------------------------------------------ */

static PyObject *open_sieve(PyTypeObject *type, const bloomery_sieve_options *options,
                            PyObject *directory)
{
    struct native_state *state = native_state_of(type);
    bloomery_sieve *made = NULL;
    bloomery_error error;
    bloomery_status status;

    if (state == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_sieve_open(options, &made, &error);
    Py_END_ALLOW_THREADS;
    if (status != BLOOMERY_OK)
        return native_raise(state, &error, directory);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct sieve *self = (struct sieve *)(void *)allocate(type, 0);
    if (self == NULL) {
        bloomery_sieve_close(made, NULL);
        return NULL;
    }
    self->state = state;
    self->sieve = made;
    self->directory = directory == Py_None ? NULL : Py_NewRef(directory);
    self->process = getpid();
    return (PyObject *)self;
}

/* A word of a short list, by its number; -1 after raising. */
static int word_of(const char *name, const char *given, const char *const *words)
{
    if (given == NULL)
        return 0;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(given, words[i]) == 0)
            return i + 1;
    PyErr_Format(PyExc_ValueError, "unknown %s '%s'", name, given);
    return -1;
}

/* None: the order that the library has, or that an existing sieve has. False after raising. */
static bool take_order(PyObject *ordered, bloomery_sieve_order *order)
{
    if (ordered != Py_None)
        *order = PyObject_IsTrue(ordered) != 0 ? BLOOMERY_SIEVE_ORDER_FIFO
                                               : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    return PyErr_Occurred() == NULL;
}

/* Seconds, "always" or "never". False after raising. */
static bool take_sync(PyObject *sync, bloomery_sieve_options *options)
{
    static const char *const words[] = {"always", "never", NULL}; /* by their numbers */
    const char *word;
    if (sync != NULL && !PyUnicode_Check(sync))
        options->sync_seconds = PyFloat_AsDouble(sync);
    else if (sync != NULL && (word = PyUnicode_AsUTF8AndSize(sync, NULL)) != NULL)
        options->sync = (bloomery_sieve_sync)word_of("sync", word, words);
    return PyErr_Occurred() == NULL;
}

static PyObject *sieve_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"directory", "keys",        "rate",           "memory",
                            "engine",    "full",        "ordered",        "lease",
                            "sync",      "canon",       "existing",       "read_only",
                            "leases",    "keep_leases", "max_deliveries", NULL};
    static const char *const engines[] = {"memory", "disk", NULL};
    static const char *const fulls[] = {"grow", "stop", "warn", NULL};
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    PyObject *directory = Py_None, *keys = NULL, *memory = NULL, *encoded = NULL, *leases = NULL;
    PyObject *most = NULL, *ordered = Py_None, *sync = NULL;
    const char *engine = NULL, *full = NULL;
    int existing = 0, read_only = 0, keep = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$OdOzzOdOzppOpO", names, &directory, &keys,
                                     &options.rate, &memory, &engine, &full, &ordered,
                                     &options.lease, &sync, &options.canon, &existing, &read_only,
                                     &leases, &keep, &most))
        return NULL;
    const int engine_number = word_of("engine", engine, engines);
    const int full_number = word_of("full", full, fulls);
    if (engine_number < 0 || full_number < 0 || !native_count_take(keys, "keys", &options.keys) ||
        !native_count_take(memory, "memory", &options.memory) ||
        !native_small_take(leases, "leases", &options.leases) ||
        !native_small_take(most, "max_deliveries", &options.max_deliveries) ||
        !take_order(ordered, &options.order) || !take_sync(sync, &options) ||
        (directory != Py_None && !native_path_take(directory, &encoded, &options.directory)))
        return NULL;
    options.engine = (bloomery_sieve_engine)engine_number;
    options.full = (bloomery_sieve_full)(full_number > 0 ? full_number - 1 : 0);
    options.existing = existing != 0;
    options.read_only = read_only != 0;
    options.keep_leases = keep != 0;
    PyObject *made = open_sieve(type, &options, directory);
    Py_XDECREF(encoded);
    return made;
}

static bool ready(const struct sieve *self)
{
    if (self->sieve == NULL)
        PyErr_SetString(PyExc_ValueError, "the sieve is closed");
    else if (self->process != getpid())
        PyErr_SetString(PyExc_RuntimeError,
                        "the sieve was opened before a fork, and belongs to the other process");
    else
        return true;
    return false;
}

static bool enter(struct sieve *self, bool alone)
{
    if (!ready(self) || !native_gate_enter(&self->gate, alone))
        return false;
    if (ready(self))
        return true;
    native_gate_leave(&self->gate, alone);
    return false;
}

static PyObject *sieve_close(PyObject *object, PyObject *unused)
{
    struct sieve *self = (struct sieve *)object;
    bloomery_error error;
    bloomery_status status;

    (void)unused;
    if (self->sieve == NULL)
        Py_RETURN_NONE;
    if (!enter(self, true))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_sieve_close(self->sieve, &error);
    Py_END_ALLOW_THREADS;
    self->sieve = NULL;
    native_gate_leave(&self->gate, true);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, self->directory);
    Py_RETURN_NONE;
}

static void sieve_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    struct sieve *self = (struct sieve *)object;
    if (self->sieve != NULL && self->process == getpid())
        bloomery_sieve_close(self->sieve, NULL);
    Py_XDECREF(self->directory);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *enter_with(PyObject *object, PyObject *none)
{
    (void)none;
    return ready((struct sieve *)object) ? Py_NewRef(object) : NULL;
}

/* ---- Keys in --------------------------------------------------------------------------------- */

/* One key and its payload, and what is done with them. */
struct push {
    bloomery_sieve_push_mode mode;
    bool looks; /* whether it was seen; nothing is pushed */
    struct native_key key;
    Py_buffer payload;
    bool has_payload;
};

static bloomery_status run_push(bloomery_sieve *sieve, const struct push *push, uint8_t *result,
                                bloomery_error *error)
{
    const bloomery_key payload = {push->payload.buf, (size_t)push->payload.len};
    if (push->looks)
        return bloomery_sieve_contains(sieve, &push->key.key, 1, result, error);
    return bloomery_sieve_push(sieve, &push->key.key, push->has_payload ? &payload : NULL, 1,
                               push->mode, result, NULL, error);
}

/* The key may be another thread's bytearray: its buffer is held until the call is over. */
static PyObject *one_key(PyObject *object, PyObject *key, struct push *push)
{
    struct sieve *self = (struct sieve *)object;
    bloomery_error error;
    bloomery_status status = BLOOMERY_OK;
    uint8_t result = 0;

    if (!native_key_take(self->state, key, &opaque, &push->key))
        return NULL;
    const bool entered = enter(self, false);
    if (entered) {
        Py_BEGIN_ALLOW_THREADS;
        status = run_push(self->sieve, push, &result, &error);
        Py_END_ALLOW_THREADS;
        native_gate_leave(&self->gate, false);
    }
    native_key_release(&push->key);
    if (!entered)
        return NULL;
    return status == BLOOMERY_OK ? PyLong_FromLong(result)
                                 : native_raise(self->state, &error, self->directory);
}

static PyObject *sieve_push(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"key", "payload", "force", NULL};
    struct push push = {.mode = BLOOMERY_SIEVE_PUSH};
    PyObject *key, *payload = NULL;
    int force = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$p", names, &key, &payload, &force))
        return NULL;
    push.mode = force ? BLOOMERY_SIEVE_PUSH_AGAIN : BLOOMERY_SIEVE_PUSH;
    if (payload != NULL && payload != Py_None) {
        if (PyObject_GetBuffer(payload, &push.payload, PyBUF_SIMPLE) != 0)
            return NULL;
        push.has_payload = true;
    }
    PyObject *result = one_key(object, key, &push);
    if (push.has_payload)
        PyBuffer_Release(&push.payload);
    return result;
}

static PyObject *sieve_mark_seen(PyObject *object, PyObject *key)
{
    return one_key(object, key, &(struct push){.mode = BLOOMERY_SIEVE_PUSH_MARK});
}

static PyObject *sieve_look(PyObject *object, PyObject *key)
{
    return one_key(object, key, &(struct push){.looks = true});
}

/* One portion of keys of many. False after raising. */
static bool many_portion(struct sieve *self, struct native_portion *portion,
                         bloomery_sieve_push_mode mode, PyObject *results)
{
    uint8_t found[NATIVE_PORTION];
    bloomery_error error = {.status = BLOOMERY_OK};
    bloomery_status status;
    bloomery_sieve_pushed pushed;

    if (!native_portion_close(portion, &opaque, &error) || !enter(self, false)) {
        native_raise(self->state, &error, NULL);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_sieve_push(self->sieve, portion->keys, NULL, portion->count, mode, found,
                                 &pushed, &error);
    Py_END_ALLOW_THREADS;
    native_gate_leave(&self->gate, false);
    native_portion_let_go(portion);
    if (status != BLOOMERY_OK) {
        native_raise(self->state, &error, self->directory);
        return false;
    }
    PyObject *piece = PyByteArray_FromStringAndSize((const char *)found, (Py_ssize_t)pushed.done);
    PyObject *longer = piece == NULL ? NULL : PySequence_InPlaceConcat(results, piece);
    Py_XDECREF(piece);
    Py_XDECREF(longer); /* it is `results` */
    native_portion_begin(portion);
    return longer != NULL;
}

static PyObject *many(PyObject *object, PyObject *keys, bloomery_sieve_push_mode mode)
{
    struct sieve *self = (struct sieve *)object;
    if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)) {
        PyErr_SetString(PyExc_TypeError, "a str or bytes is one key: use the method without _many");
        return NULL;
    }
    PyObject *iterator = native_refuse_table(keys) ? NULL : PyObject_GetIter(keys);
    PyObject *results = iterator == NULL ? NULL : PyByteArray_FromStringAndSize(NULL, 0);
    struct native_portion *portion = results == NULL ? NULL : calloc(1, sizeof(*portion));
    PyObject *key;
    bool good = portion != NULL;

    if (results != NULL && portion == NULL)
        PyErr_NoMemory();
    while (good && (key = PyIter_Next(iterator)) != NULL) {
        good = native_portion_take(portion, &opaque, key);
        Py_DECREF(key);
        if (good && portion->records == NATIVE_PORTION)
            good = many_portion(self, portion, mode, results);
    }
    good = good && PyErr_Occurred() == NULL;
    if (good && portion->records > 0)
        good = many_portion(self, portion, mode, results);
    native_portion_free(portion);
    Py_XDECREF(iterator);
    if (!good)
        Py_CLEAR(results);
    return results;
}

static PyObject *sieve_push_many(PyObject *self, PyObject *keys)
{
    return many(self, keys, BLOOMERY_SIEVE_PUSH);
}

static PyObject *sieve_mark_seen_many(PyObject *self, PyObject *keys)
{
    return many(self, keys, BLOOMERY_SIEVE_PUSH_MARK);
}

/* ---- Items out ------------------------------------------------------------------------------- */

enum { POP_MAX = 4096 };

static PyObject *list_of(const struct sieve *self, const bloomery_sieve_item *items, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = native_item_of(self->state, &items[i]);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* The gate and that of pops. Nobody waits for one while inside the other: a handler of a signal
 * that runs in between may want that one. False after raising. */
static bool enter_to_pop(struct sieve *self)
{
    while (true) {
        if (!ready(self) || !native_gate_enter(&self->pops, true))
            return false;
        if (!ready(self) || native_gate_is_free(&self->gate, false)) {
            if (enter(self, false))
                return true;
            native_gate_leave(&self->pops, true);
            return false;
        }
        native_gate_leave(&self->pops, true);
        if (!enter(self, false)) /* waits */
            return false;
        native_gate_leave(&self->gate, false);
    }
}

static void copy_key(bloomery_key *key, unsigned char **to)
{
    if (key->bytes > 0)
        memcpy(*to, key->data, key->bytes);
    key->data = *to;
    *to += key->bytes;
}

/* The sieve owns what the items point to until the next pop: they get bytes of their own, to be
 * freed by the caller. NULL if memory is exhausted. */
static unsigned char *keep_bytes(bloomery_sieve_item *items, size_t count)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += items[i].key.bytes + items[i].payload.bytes;
    unsigned char *kept = malloc(bytes), *next = kept;
    for (size_t i = 0; kept != NULL && i < count; i++) {
        copy_key(&items[i].key, &next);
        copy_key(&items[i].payload, &next);
    }
    return kept;
}

static PyObject *pop_items(struct sieve *self, size_t room, bool decide)
{
    bloomery_sieve_item *items = malloc(room * sizeof(*items));
    unsigned char *kept = NULL;
    PyObject *list = NULL;
    bloomery_error error;
    bloomery_status status = BLOOMERY_OK;
    size_t count = 0;

    if (items == NULL)
        return PyErr_NoMemory();
    if (enter_to_pop(self)) {
        Py_BEGIN_ALLOW_THREADS;
        status = bloomery_sieve_pop(self->sieve, items, room,
                                    decide ? BLOOMERY_SIEVE_POP : BLOOMERY_SIEVE_POP_QUEUED, &count,
                                    &error);
        kept = status == BLOOMERY_OK ? keep_bytes(items, count) : NULL;
        Py_END_ALLOW_THREADS;
        native_gate_leave(&self->gate, false);
        native_gate_leave(&self->pops, true);
        if (status != BLOOMERY_OK)
            native_raise(self->state, &error, self->directory);
        else if (kept == NULL)
            PyErr_NoMemory();
        else
            list = list_of(self, items, count);
    }
    free(kept);
    free(items);
    return list;
}

static PyObject *sieve_pop(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"count", "decide", NULL};
    int decide = 1;
    Py_ssize_t count = 1;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|n$p", names, &count, &decide))
        return NULL;
    if (count < 1) {
        PyErr_SetString(PyExc_ValueError, "count must be at least 1");
        return NULL;
    }
    return pop_items((struct sieve *)object, count < POP_MAX ? (size_t)count : POP_MAX,
                     decide != 0);
}

/* Numbers of items, or the items themselves, as numbers. False after raising. */
static bool number_of(PyObject *given, uint64_t *number)
{
    if (PyIndex_Check(given))
        return native_count_take(given, "a number", number);
    PyObject *attribute = PyObject_GetAttrString(given, "number");
    const bool good = attribute != NULL && native_count_take(attribute, "a number", number);
    Py_XDECREF(attribute);
    return good;
}

/* Ends the leases of items, or (`how` 0) has them end in `lease` seconds. */
static PyObject *finish_items(PyObject *object, PyObject *items, int how, double lease)
{
    struct sieve *self = (struct sieve *)object;
    bloomery_error error;
    bloomery_status status = BLOOMERY_OK;
    uint64_t found = 0;

    /* One item, or its number, or several of either. An item is a tuple itself. */
    const bool single =
        PyIndex_Check(items) || PyObject_TypeCheck(items, self->state->tuples[NATIVE_ITEM]);
    PyObject *list = single ? Py_BuildValue("[O]", items) : PySequence_List(items);
    if (list == NULL)
        return NULL;
    const size_t count = (size_t)PyList_Size(list);
    uint64_t *numbers = malloc((count + 1) * sizeof(*numbers));
    bool good = numbers != NULL;
    if (!good)
        PyErr_NoMemory();
    for (size_t i = 0; good && i < count; i++)
        good = number_of(PyList_GetItem(list, (Py_ssize_t)i), &numbers[i]);
    Py_DECREF(list);
    good = good && enter(self, false);
    if (good) {
        Py_BEGIN_ALLOW_THREADS;
        status = how != 0
                     ? bloomery_sieve_finish(self->sieve, numbers, count,
                                             (bloomery_sieve_outcome)how, &found, &error)
                     : bloomery_sieve_extend(self->sieve, numbers, count, lease, &found, &error);
        Py_END_ALLOW_THREADS;
        native_gate_leave(&self->gate, false);
    }
    free(numbers);
    if (!good)
        return NULL;
    return status == BLOOMERY_OK ? PyLong_FromUnsignedLongLong(found)
                                 : native_raise(self->state, &error, self->directory);
}

static PyObject *sieve_ack(PyObject *self, PyObject *items)
{
    return finish_items(self, items, BLOOMERY_SIEVE_DONE, 0);
}

static PyObject *sieve_give_back(PyObject *self, PyObject *items)
{
    return finish_items(self, items, BLOOMERY_SIEVE_BACK, 0);
}

static PyObject *sieve_extend(PyObject *self, PyObject *args)
{
    PyObject *items;
    double lease = 0;
    return PyArg_ParseTuple(args, "O|d", &items, &lease) ? finish_items(self, items, 0, lease)
                                                         : NULL;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static PyObject *simple(PyObject *object,
                        bloomery_status (*how)(bloomery_sieve *, bloomery_error *))
{
    struct sieve *self = (struct sieve *)object;
    bloomery_error error;
    bloomery_status status;

    if (!enter(self, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = how(self->sieve, &error);
    Py_END_ALLOW_THREADS;
    native_gate_leave(&self->gate, false);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, self->directory);
    Py_RETURN_NONE;
}

static PyObject *sieve_commit(PyObject *self, PyObject *none)
{
    (void)none;
    return simple(self, bloomery_sieve_commit);
}

static PyObject *sieve_flush(PyObject *self, PyObject *none)
{
    (void)none;
    return simple(self, bloomery_sieve_flush);
}

static PyObject *sieve_status(PyObject *object, PyObject *none)
{
    struct sieve *self = (struct sieve *)object;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    (void)none;
    if (!enter(self, false))
        return NULL;
    bloomery_sieve_info_get(self->sieve, &info);
    native_gate_leave(&self->gate, false);
    return native_sieve_info_of(self->state, &info);
}

PyType_Spec *native_sieve_spec(void)
{
    static PyMethodDef methods[] = {
        {"push", NATIVE_KEYWORDS(sieve_push), METH_VARARGS | METH_KEYWORDS,
         "push(key, payload=b'', *, force=False) -> int\n\nQueues a key unless it was seen: NEW, "
         "SEEN or PENDING (not decided yet)."},
        {"push_many", sieve_push_many, METH_O,
         "push_many(keys) -> bytearray\n\nPushes keys; NEW, SEEN or PENDING for each."},
        {"mark_seen", sieve_mark_seen, METH_O,
         "mark_seen(key) -> int\n\nMarks a key as seen and does not queue it: NEW, SEEN, PENDING."},
        {"mark_seen_many", sieve_mark_seen_many, METH_O,
         "mark_seen_many(keys) -> bytearray\n\nThe same for many keys."},
        {"look", sieve_look, METH_O,
         "look(key) -> int\n\nWhether a key was seen, without pushing it: NEW, SEEN, PENDING."},
        {"pop", NATIVE_KEYWORDS(sieve_pop), METH_VARARGS | METH_KEYWORDS,
         "pop(count=1, *, decide=True) -> list of Item\n\nLeases up to `count` items; fewer may "
         "come, and none if nothing is queued or pending."},
        {"ack", sieve_ack, METH_O,
         "ack(items) -> int\n\nEnds leases for good, of an item, its number, or several; how many "
         "were leased."},
        {"give_back", sieve_give_back, METH_O,
         "give_back(items) -> int\n\nEnds leases at once: the items come again."},
        {"extend", sieve_extend, METH_VARARGS,
         "extend(items, lease=0) -> int\n\nTheir leases end `lease` seconds from now instead."},
        {"commit", sieve_commit, METH_NOARGS, "commit()\n\nMakes all durable now."},
        {"flush", sieve_flush, METH_NOARGS, "flush()\n\nDecides everything that is pending."},
        {"status", sieve_status, METH_NOARGS, "status() -> SieveInfo"},
        {"close", sieve_close, METH_NOARGS, "close()\n\nCommits, and frees the directory."},
        {"__enter__", enter_with, METH_NOARGS, NULL},
        {"__exit__", sieve_close, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL}};
    static const char text[] =
        "Sieve(directory=None, *, keys=None, rate=0, memory=None, engine=None, full=None,\n"
        "      ordered=None, lease=0, sync=0, canon=None, existing=False, read_only=False,\n"
        "      leases=0, keep_leases=False, max_deliveries=0)\n--\n\n"
        "A to-visit queue that drops keys it has seen. Without a directory it is in memory.";
    static PyType_Slot slots[] = {{Py_tp_doc, NULL},
                                  {Py_tp_new, sieve_new},
                                  {Py_tp_dealloc, sieve_dealloc},
                                  {Py_tp_methods, methods},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.Sieve",
                               .basicsize = sizeof(struct sieve),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    slots[0].pfunc = (void *)(uintptr_t)text;
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class Near: words of a document -> the keys of its bands, by which near-duplicates are found
 * in a filter. The plan is made once and never changed, so any thread may use it.
 */
#include "native.h"

#include <bloomery/near.h>

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>

struct near_object {
    PyObject_HEAD const struct native_state *state;
    bloomery_near near;
    PyObject *hasher; /* an empty Filter, whose hash is that of words */
};

static PyObject *new_hasher(const struct native_state *state)
{
    bloomery_error error;
    bloomery_filter *filter = bloomery_new(0, 0.5, &error);
    return filter == NULL ? native_raise(state, &error, NULL)
                          : native_filter_new(state->filter_type, filter, filter, false);
}

static PyObject *near_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"documents", "threshold", "rate", "permutations",
                            "shingle",   "bands",     "rows", NULL};
    bloomery_near near = BLOOMERY_NEAR;
    PyObject *documents, *permutations = NULL, *shingle = NULL, *bands = NULL, *rows = NULL;
    bloomery_error error;

    near.threshold = 0.8;
    near.rate = 1e-5;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|d$dOOOO", names, &documents,
                                     &near.threshold, &near.rate, &permutations, &shingle, &bands,
                                     &rows))
        return NULL;
    struct native_state *state = native_state_of(type);
    if (state == NULL || !native_count_take(documents, "documents", &near.documents) ||
        !native_small_take(permutations, "permutations", &near.permutations) ||
        !native_small_take(shingle, "shingle", &near.shingle) ||
        !native_small_take(bands, "bands", &near.forced_bands) ||
        !native_small_take(rows, "rows", &near.forced_rows))
        return NULL;
    if (near.documents == 0) {
        PyErr_SetString(PyExc_ValueError, "documents must be at least 1");
        return NULL;
    }
    if (bloomery_near_plan(&near, &error) != BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct near_object *self = (struct near_object *)(void *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->state = state;
    self->near = near;
    self->hasher = new_hasher(state);
    if (self->hasher == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void near_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(((struct near_object *)object)->hasher);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* The signature of a document, and how many words it has. False after raising. */
static bool sign(const struct near_object *self, PyObject *words, uint32_t *signature,
                 size_t *count)
{
    const struct native_filter *hasher = (const struct native_filter *)self->hasher;
    bloomery_keys keys = BLOOMERY_KEYS;
    bloomery_error error;
    bloomery_status status;
    PyObject *hashes = PyObject_CallMethod(self->hasher, "hash_many", "O", words);

    if (hashes == NULL)
        return false;
    assert((size_t)PyByteArray_Size(hashes) % sizeof(bloomery_hash) == 0);
    keys.form = BLOOMERY_KEYS_HASHES128;
    keys.data = PyByteArray_AsString(hashes);
    keys.count = *count = (size_t)PyByteArray_Size(hashes) / sizeof(bloomery_hash);
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_signature_of(&self->near, hasher->filter, &keys, signature, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(hashes);
    if (status != BLOOMERY_OK)
        native_raise(self->state, &error, NULL);
    return status == BLOOMERY_OK;
}

static PyObject *near_signature(PyObject *object, PyObject *words)
{
    const struct near_object *self = (const struct near_object *)object;
    uint32_t signature[BLOOMERY_NEAR_VALUES_MAX];
    size_t count;

    assert(self->near.values <= BLOOMERY_NEAR_VALUES_MAX);
    if (!sign(self, words, signature, &count))
        return NULL;
    return PyBytes_FromStringAndSize((const char *)signature,
                                     (Py_ssize_t)(self->near.values * sizeof(*signature)));
}

/* A list of bytes: one for each band. */
static PyObject *list_of_keys(const struct near_object *self, const uint32_t *signature)
{
    unsigned char *room = malloc(bloomery_bands_bytes(&self->near));
    if (room == NULL)
        return PyErr_NoMemory();
    const bloomery_keys keys = bloomery_bands_of(&self->near, signature, room);
    const size_t bytes = bloomery_bands_bytes(&self->near) / self->near.bands;
    PyObject *list = PyList_New((Py_ssize_t)keys.count);
    for (size_t i = 0; list != NULL && i < keys.count; i++) {
        PyObject *key =
            PyBytes_FromStringAndSize((const char *)room + i * bytes, (Py_ssize_t)bytes);
        if (key == NULL || PyList_SetItem(list, (Py_ssize_t)i, key) != 0)
            Py_CLEAR(list);
    }
    free(room);
    return list;
}

static PyObject *near_bands_of(PyObject *object, PyObject *words)
{
    const struct near_object *self = (const struct near_object *)object;
    uint32_t signature[BLOOMERY_NEAR_VALUES_MAX];
    size_t count;

    if (!sign(self, words, signature, &count))
        return NULL;
    return count == 0 ? PyList_New(0) : list_of_keys(self, signature);
}

static PyObject *near_chance(PyObject *object, PyObject *similarity)
{
    const double given = PyFloat_AsDouble(similarity);
    if (given == -1.0 && PyErr_Occurred() != NULL)
        return NULL;
    return PyFloat_FromDouble(
        bloomery_near_rate(&((const struct near_object *)object)->near, given));
}

static PyObject *near_similarity(PyObject *object, PyObject *bands)
{
    uint32_t given;
    if (!native_small_take(bands, "bands", &given))
        return NULL;
    return PyFloat_FromDouble(
        bloomery_near_similarity(&((const struct near_object *)object)->near, given));
}

#define MEMBER(name, type, field, text)                                                            \
    {                                                                                              \
        name, type, offsetof(struct near_object, near) + offsetof(bloomery_near, field), READONLY, \
            text                                                                                   \
    }

PyType_Spec *native_near_spec(void)
{
    static PyMemberDef members[] = {
        MEMBER("threshold", T_DOUBLE, threshold, "the similarity from which documents are found"),
        MEMBER("documents", T_ULONGLONG, documents, "that the filter will have"),
        MEMBER("values", T_UINT, values, "of a signature"),
        MEMBER("shingle", T_UINT, words, "words of a shingle"),
        MEMBER("bands", T_UINT, bands, "of a signature: keys of a document"),
        MEMBER("rows", T_UINT, rows, "values of a band"),
        MEMBER("keys", T_ULONGLONG, keys, "that the filter will have"),
        MEMBER("key_rate", T_DOUBLE, key_rate, "the rate that the filter must have"),
        MEMBER("nbytes", T_ULONGLONG, bytes, "memory of a blocked filter"),
        {NULL, 0, 0, 0, NULL}};
    static PyMethodDef methods[] = {
        {"signature", near_signature, METH_O,
         "signature(words) -> bytes\n\nThe values of a document's signature; numpy.frombuffer("
         "signature, 'u4') is an array of them. Two signatures have about as large a share of "
         "equal values as their documents have of common shingles."},
        {"bands_of", near_bands_of, METH_O,
         "bands_of(words) -> list of bytes\n\nThe keys of a document: none if it has no words. A "
         "filter that has one of them has a near-duplicate."},
        {"chance", near_chance, METH_O,
         "chance(similarity) -> float\n\nThe probability that a document is found that resembles "
         "one of the filter so much."},
        {"similarity", near_similarity, METH_O,
         "similarity(bands) -> float\n\nA rough estimate of the similarity of which as many bands "
         "were found."},
        {NULL, NULL, 0, NULL}};
    static const char text[] =
        "Near(documents, threshold=0.8, *, rate=1e-05, permutations=128, shingle=5, bands=0,\n"
        "     rows=0)\n--\n\n"
        "How near-duplicates are found with a filter in place of an index, as 'bloomery dedupe\n"
        "--near' does.\n\n"
        "    near = Near(1_000_000, 0.8)\n"
        "    seen = Filter(near.keys, near.key_rate)\n"
        "    keys = near.bands_of(text.lower().split())\n"
        "    if seen.count_many(keys) == 0:      # unlike all before\n"
        "        seen.add_many(keys)\n\n"
        "rate: of documents that are found by chance. bands, rows: forced ones; both or neither.";
    static PyType_Slot slots[] = {
        {Py_tp_doc, NULL},        {Py_tp_new, near_new},    {Py_tp_dealloc, near_dealloc},
        {Py_tp_methods, methods}, {Py_tp_members, members}, {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery.Near",
                               .basicsize = sizeof(struct near_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    slots[0].pfunc = (void *)(uintptr_t)text;
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class behind bloomery.Deduper: texts in, what becomes of them out. Which code judges is the
 * command's (tool/units). A call has a batch of texts:
 *
 *     with the GIL      the texts' UTF-8, and the gates of all filters
 *     without it        keys; these are looked up, added; texts are judged and cut
 *     with it again     the answers become objects
 *
 * Room for what comes out is made before anything is added: if memory is exhausted, the batch may
 * come again.
 */
#include "deduper.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- A batch --------------------------------------------------------------------------------- */

/* How a batch is dealt with. As the method's callers name it. */
enum way {
    WAY_CLEAN, /* judged and added: what is left of each text */
    WAY_MARK,  /* the same: what goes of each */
    WAY_LOOK,  /* judged by what was seen before, not added or counted */
    WAY_LEARN, /* added */
    WAYS,
};

struct span {
    uint64_t from, to; /* code points */
    uint32_t share;    /* in thousandths */
};

struct text {
    const char *bytes; /* NULL: the document has none */
    Py_ssize_t count;
    PyObject *owner; /* of bytes that are not the str's own; NULL: it is the str */
    struct tool_judged judged;
    /* Once it is judged. */
    bool dropped, changed;
    size_t begin, end; /* what is left of a changed text, in `left` */
    size_t first_span, spans;
    uint32_t bands; /* that were seen */
};

struct batch {
    enum way way;
    struct text *texts;
    size_t count;
    size_t answered; /* those before the one with which it stopped */
    unsigned char *left;
    struct span *spans;
    size_t left_used, span_count;
};

static void batch_free(struct batch *batch)
{
    for (size_t i = 0; batch->texts != NULL && i < batch->count; i++)
        Py_XDECREF(batch->texts[i].owner);
    PyMem_Free(batch->texts);
    free(batch->left);
    free(batch->spans);
}

/* The UTF-8 of a str. Halves of surrogate pairs become three bytes each, as in lines of JSON. */
static bool take_text(PyObject *object, size_t number, struct text *text)
{
    if (object == Py_None)
        return true;
    if (!PyUnicode_Check(object)) {
        PyObject *type = PyType_GetName(Py_TYPE(object));
        if (type != NULL)
            PyErr_Format(PyExc_TypeError, "document %zu: a text must be a str, not %U", number,
                         type);
        Py_XDECREF(type);
        return false;
    }
    text->bytes = PyUnicode_AsUTF8AndSize(object, &text->count);
    if (text->bytes != NULL)
        return true;
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0)
        return false;
    PyErr_Clear();
    char *bytes;
    text->owner = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
    if (text->owner == NULL || PyBytes_AsStringAndSize(text->owner, &bytes, &text->count) != 0)
        return false;
    text->bytes = bytes;
    return true;
}

static bool take_texts(PyObject *list, struct batch *batch)
{
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list of texts is needed");
        return false;
    }
    const size_t count = (size_t)PyList_Size(list);
    batch->texts = PyMem_Calloc(count > 0 ? count : 1, sizeof(*batch->texts));
    if (batch->texts == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (batch->count = 0; batch->count < count; batch->count++) {
        PyObject *object = PyList_GetItem(list, (Py_ssize_t)batch->count);
        if (!take_text(object, batch->count, &batch->texts[batch->count]))
            return false;
    }
    return true;
}

/* ---- Gates ----------------------------------------------------------------------------------- */

static struct native_filter *against(const struct native_deduper *self, size_t i)
{
    return (struct native_filter *)PyTuple_GetItem(self->againsts, (Py_ssize_t)i);
}

static void leave(struct native_deduper *self, size_t entered)
{
    for (size_t i = 0; i < entered; i++)
        native_filter_leave(against(self, i), false);
    native_gate_leave(&self->gate, true);
}

/* Enters the filters that are compared against: as many as can be without waiting. -1 after
 * raising. */
static Py_ssize_t enter_free(struct native_deduper *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct native_filter *other = against(self, i);
        const bool free_now = native_gate_is_free(&other->gate, false);
        if (free_now && !native_filter_enter(other, true, false)) {
            leave(self, i);
            return -1;
        }
        if (!free_now)
            return (Py_ssize_t)i;
        if (!native_watch_holds(other)) {
            leave(self, i + 1);
            return -1;
        }
    }
    return (Py_ssize_t)count;
}

/* Enters all gates. Nobody waits for one while inside another. False after raising. */
static bool enter(struct native_deduper *self)
{
    const size_t count = (size_t)PyTuple_Size(self->againsts);
    while (true) {
        if (!native_gate_enter(&self->gate, true))
            return false;
        const Py_ssize_t entered = enter_free(self, count);
        if (entered < 0)
            return false;
        if ((size_t)entered == count)
            break;
        leave(self, (size_t)entered);
        struct native_filter *other = against(self, (size_t)entered);
        if (!native_filter_enter(other, true, false)) /* waits */
            return false;
        native_filter_leave(other, false);
    }
    for (size_t i = 0; i < count; i++)
        self->known[i].filter = against(self, i)->filter;
    return true;
}

/* ---- Judging, without the GIL ---------------------------------------------------------------- */

/* Makes the keys of all texts, and room for what comes out. False if memory is exhausted. */
static bool read_texts(struct tool_units *units, struct batch *batch)
{
    size_t bytes = 1;
    tool_units_begin(units);
    for (size_t i = 0; i < batch->count; i++) {
        struct text *text = &batch->texts[i];
        if (text->bytes == NULL)
            continue;
        if (!tool_units_read(units, (const unsigned char *)text->bytes, (size_t)text->count, false,
                             &text->judged))
            return false;
        bytes += (size_t)text->count;
    }
    if (!tool_units_end(units))
        return false;
    batch->answered = batch->count;
    if (batch->way == WAY_CLEAN)
        batch->left = malloc(bytes);
    if (batch->way == WAY_MARK || batch->way == WAY_LOOK)
        batch->spans = calloc(units->paragraph_count + 1, sizeof(*batch->spans));
    return batch->way == WAY_LEARN || batch->left != NULL || batch->spans != NULL;
}

static void copy_rest(const struct tool_units *units, struct batch *batch, struct text *text)
{
    const struct tool_judged *judged = &text->judged;
    text->begin = batch->left_used;
    for (size_t i = judged->first; i < judged->first + judged->count; i++)
        if (!units->paragraphs[i].cut) {
            const unsigned char *from = units->paragraphs[i].place.begin;
            const size_t bytes = (size_t)(tool_units_end_of(units, judged, i) - from);
            memcpy(batch->left + batch->left_used, from, bytes);
            batch->left_used += bytes;
        }
    text->end = batch->left_used;
    assert(text->end - text->begin < (size_t)text->count);
}

/* As the command lists them with --annotate. */
static void list_spans(const struct tool_units *units, struct batch *batch, struct text *text)
{
    const struct tool_judged *judged = &text->judged;
    const unsigned char *from = judged->begin;
    uint64_t place = 0;
    text->first_span = batch->span_count;
    for (size_t i = judged->first; i < judged->first + judged->count; i++) {
        const struct tool_paragraph *paragraph = &units->paragraphs[i];
        if (!paragraph->cut)
            continue;
        const unsigned char *begin = tool_units_begin_of(units, judged, i);
        const unsigned char *end = tool_units_end_of(units, judged, i);
        struct span *span = &batch->spans[batch->span_count++];
        place += tool_units_code_points(units->judge, from, begin);
        span->from = place;
        place += tool_units_code_points(units->judge, begin, end);
        span->to = place;
        span->share =
            (uint32_t)(1000 * (uint64_t)paragraph->seen / (uint64_t)paragraph->weighed.keys);
        from = end;
    }
    text->spans = batch->span_count - text->first_span;
}

static void judge_text(struct tool_units *units, struct batch *batch, struct text *text)
{
    struct tool_dedupe_counts *counts = &units->counts;
    const uint64_t changed = counts->changed;
    counts->records++;
    counts->without_key += text->bytes == NULL;
    if (text->bytes == NULL)
        return;
    counts->bytes += (uint64_t)text->count;
    text->dropped = tool_units_judge(units, &text->judged);
    text->changed = counts->changed > changed;
    if (units->judge->near != NULL)
        text->bands = units->paragraphs[text->judged.first].seen;
    if (batch->spans != NULL && (text->dropped || text->changed))
        list_spans(units, batch, text);
    if (batch->way != WAY_CLEAN)
        return;
    if (text->changed)
        copy_rest(units, batch, text);
    counts->removed_bytes += text->dropped   ? (uint64_t)text->count
                             : text->changed ? (uint64_t)text->count - (text->end - text->begin)
                                             : 0;
}

/* Adds the keys, or looks them up, and judges the texts whose keys are all answered. */
static void judge_texts(struct native_deduper *self, struct tool_units *units, struct batch *batch)
{
    struct tool_adding *adding = &units->adding;
    adding->answered = adding->count;
    if (adding->count > 0 && (batch->way == WAY_LOOK || self->no_add) && batch->way != WAY_LEARN)
        tool_seen_look_up(&self->seen, adding->hashes, adding->count, adding->answers);
    else if (adding->count > 0)
        adding->answered =
            tool_seen_add(&self->seen, adding->hashes, adding->count, adding->answers);
    for (size_t i = 0; i < batch->count; i++) {
        if (adding->answered < adding->count && batch->texts[i].bytes != NULL &&
            !tool_units_are_answered(units, &batch->texts[i].judged)) {
            batch->answered = i;
            return;
        }
        if (batch->way != WAY_LEARN)
            judge_text(units, batch, &batch->texts[i]);
    }
}

/* Sets how the batch is dealt with. If nothing is added, the own filter is compared with as the
 * others are; keys are looked up in an own table. */
static void begin_way(struct native_deduper *self, enum way way)
{
    struct tool_judge *judge = &self->judge;
    const size_t others = (size_t)PyTuple_Size(self->againsts);
    const bool learns = way == WAY_LEARN;
    const bool compares = self->no_add && self->learned && !learns;
    judge->no_add = self->no_add && !learns && !(compares && self->seen.table != NULL);
    self->seen.adds_seen = learns || judge->add_all;
    judge->against_count = learns ? 0 : others;
    if (compares && self->seen.table == NULL)
        self->known[judge->against_count++] =
            (struct tool_against){.filter = self->seen.filter, .rule = judge->rule};
}

/* ---- Answers --------------------------------------------------------------------------------- */

static PyObject *list_of_spans(const struct native_deduper *self, const struct batch *batch,
                               const struct text *text)
{
    const double similarity = bloomery_near_similarity(&self->near, text->bands);
    PyObject *list = PyList_New((Py_ssize_t)text->spans);
    for (size_t i = 0; list != NULL && i < text->spans; i++) {
        const struct span *span = &batch->spans[text->first_span + i];
        const double share = self->judge.near != NULL ? similarity : span->share / 1000.0;
        PyObject *tuple = Py_BuildValue("(KKd)", (unsigned long long)span->from,
                                        (unsigned long long)span->to, share);
        if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* CLEAN: True (it stays), False (it goes) or the str that is left. Else None (nothing was seen), or
 * (whether it goes, its spans, the bands that were seen). */
static PyObject *answer_of(const struct native_deduper *self, const struct batch *batch,
                           const struct text *text)
{
    if (batch->way == WAY_CLEAN && text->changed)
        return PyUnicode_DecodeUTF8((const char *)batch->left + text->begin,
                                    (Py_ssize_t)(text->end - text->begin), "surrogatepass");
    if (batch->way == WAY_CLEAN)
        return NATIVE_BOOL(!text->dropped);
    if (!text->dropped && !text->changed)
        return Py_NewRef(Py_None);
    PyObject *spans = list_of_spans(self, batch, text);
    return spans == NULL ? NULL
                         : Py_BuildValue("(NNI)", NATIVE_BOOL(text->dropped), spans, text->bands);
}

/* A list of answers: shorter than the batch if it stopped. LEARN: the number of texts. */
static PyObject *answers_of(const struct native_deduper *self, const struct batch *batch)
{
    if (batch->way == WAY_LEARN)
        return PyLong_FromSize_t(batch->answered);
    PyObject *list = PyList_New((Py_ssize_t)batch->answered);
    for (size_t i = 0; list != NULL && i < batch->answered; i++) {
        PyObject *answer = answer_of(self, batch, &batch->texts[i]);
        if (answer == NULL || PyList_SetItem(list, (Py_ssize_t)i, answer) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *deduper_judge(PyObject *object, PyObject *args)
{
    struct native_deduper *self = (struct native_deduper *)object;
    struct batch batch = {.count = 0};
    PyObject *list, *answers = NULL;
    int way;
    bool read = false;

    if (!PyArg_ParseTuple(args, "Oi", &list, &way))
        return NULL;
    assert(way >= 0 && way < WAYS);
    batch.way = (enum way)way;
    if (!take_texts(list, &batch) || !enter(self)) {
        batch_free(&batch);
        return NULL;
    }
    struct tool_units *units =
        batch.way == WAY_CLEAN || batch.way == WAY_MARK ? self->units : self->others;
    begin_way(self, batch.way);
    Py_BEGIN_ALLOW_THREADS;
    read = read_texts(units, &batch);
    if (read)
        judge_texts(self, units, &batch);
    Py_END_ALLOW_THREADS;
    self->learned = self->learned || (read && batch.way == WAY_LEARN && batch.answered > 0);
    /* What was learned is not of the run that is reported. */
    if (read && batch.way == WAY_LEARN && self->units->counts.records == 0)
        tool_seen_restart(&self->seen);
    leave(self, (size_t)PyTuple_Size(self->againsts));
    answers = read ? answers_of(self, &batch) : PyErr_NoMemory();
    batch_free(&batch);
    return answers;
}

/* ---- Facts and files ------------------------------------------------------------------------- */

static bool put(PyObject *dict, const char *name, PyObject *value)
{
    const bool set = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

static bool put_count(PyObject *dict, const char *name, uint64_t count)
{
    return put(dict, name, PyLong_FromUnsignedLongLong(count));
}

static bool put_unit(const struct native_deduper *self, PyObject *dict)
{
    static const char *const units[] = {"document", "paragraph", "ngram"};
    const bloomery_near *near = self->judge.near;
    if (!put(dict, "unit", PyUnicode_FromString(units[self->judge.unit])))
        return false;
    return near == NULL ||
           (put(dict, "near", PyFloat_FromDouble(near->threshold)) &&
            put_count(dict, "bands", near->bands) && put_count(dict, "rows", near->rows) &&
            put_count(dict, "permutations", near->values) &&
            put_count(dict, "shingle_words", near->words));
}

static PyObject *deduper_report(PyObject *object, PyObject *none)
{
    struct native_deduper *self = (struct native_deduper *)object;
    struct tool_seen_facts facts = {0};
    PyObject *dict = PyDict_New();

    (void)none;
    if (dict == NULL || !enter(self)) {
        Py_XDECREF(dict);
        return NULL;
    }
    begin_way(self, WAY_CLEAN);
    const struct tool_dedupe_counts counts = self->units->counts;
    double wrong;
    Py_BEGIN_ALLOW_THREADS;
    tool_seen_facts_get(&self->seen, &facts);
    wrong = tool_judge_wrong(&self->judge, &counts, &self->seen);
    Py_END_ALLOW_THREADS;
    leave(self, (size_t)PyTuple_Size(self->againsts));
    const bool stopped = self->seen.full && self->seen.on_full != TOOL_FULL_PASS;
    if (!put_unit(self, dict) || !put_count(dict, "documents", counts.records) ||
        !put_count(dict, "documents_dropped", counts.dropped) ||
        !put_count(dict, "documents_changed", counts.changed) ||
        !put_count(dict, "without_text", counts.without_key) ||
        !put_count(dict, "paragraphs", counts.paragraphs) ||
        !put_count(dict, "paragraphs_removed", counts.cut) ||
        !put_count(dict, "keys", counts.keys) || !put_count(dict, "keys_seen", counts.seen) ||
        !put_count(dict, "input_bytes", counts.bytes) ||
        !put_count(dict, "removed_bytes", counts.removed_bytes) ||
        !put(dict, "expected_wrong_removals", PyFloat_FromDouble(wrong)) ||
        !put_count(dict, "bytes", facts.bytes) || !put(dict, "stopped", NATIVE_BOOL(stopped)))
        Py_CLEAR(dict);
    return dict;
}

/* Raises Full: what it holds, and what holds more. */
static PyObject *raise_full(PyObject *object, PyObject *none)
{
    struct native_deduper *self = (struct native_deduper *)object;
    struct tool_seen_facts facts = {0};
    bloomery_error error = {.status = BLOOMERY_FULL};

    (void)none;
    if (!native_gate_enter(&self->gate, true))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    tool_seen_facts_get(&self->seen, &facts);
    Py_END_ALLOW_THREADS;
    native_gate_leave(&self->gate, true);
    if (self->seen.table != NULL || self->seen.grows)
        PyOS_snprintf(error.text, sizeof(error.text),
                      "stopped after %llu documents: about %.0f keys use %llu bytes, and no more "
                      "memory is allowed; a larger memory= holds more",
                      (unsigned long long)self->units->counts.records, facts.keys,
                      (unsigned long long)facts.bytes);
    else
        PyOS_snprintf(error.text, sizeof(error.text),
                      "stopped after %llu documents: the filter is full, with about %.0f keys and "
                      "a rate of %.3g instead of %.3g; a larger keys= or on_full='grow' holds more",
                      (unsigned long long)self->units->counts.records, facts.keys, facts.rate,
                      self->seen.target);
    return native_raise(self->state, &error, NULL);
}

static bool has_filter(const struct native_deduper *self, const char *what)
{
    if (self->seen.table == NULL)
        return true;
    PyErr_Format(self->state->exceptions[NATIVE_UNSUPPORTED],
                 "exact fingerprints can't be %s; a filter can", what);
    return false;
}

static PyObject *deduper_save(PyObject *object, PyObject *path)
{
    struct native_deduper *self = (struct native_deduper *)object;
    PyObject *encoded;
    const char *text;
    bloomery_error error;
    bloomery_status status;

    if (!has_filter(self, "saved") || !native_path_take(path, &encoded, &text))
        return NULL;
    if (!native_gate_enter(&self->gate, true)) {
        Py_DECREF(encoded);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_save(self->seen.filter, text, &error);
    Py_END_ALLOW_THREADS;
    native_gate_leave(&self->gate, true);
    Py_DECREF(encoded);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, path);
    Py_RETURN_NONE;
}

/* A Filter that has the same keys, in memory of its own. */
static PyObject *deduper_filter(PyObject *object, PyObject *none)
{
    struct native_deduper *self = (struct native_deduper *)object;
    bloomery_filter *copy = NULL;
    bloomery_error error;
    bloomery_status status;

    (void)none;
    if (!has_filter(self, "copied") || !native_gate_enter(&self->gate, true))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_copy(self->seen.filter, NULL, &copy, &error);
    Py_END_ALLOW_THREADS;
    native_gate_leave(&self->gate, true);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, NULL);
    return native_filter_new(self->state->filter_type, copy, copy, false);
}

/* What was not reported so far: bits of enum tool_seen_news. */
static PyObject *deduper_news(PyObject *object, PyObject *none)
{
    struct native_deduper *self = (struct native_deduper *)object;
    const unsigned news = self->news;
    (void)none;
    self->news = 0;
    return PyLong_FromUnsignedLong(news);
}

/* ---- The type -------------------------------------------------------------------------------- */

void native_deduper_clear(struct native_deduper *self)
{
    tool_units_free(self->units);
    tool_units_free(self->others);
    tool_fingerprints_free(self->seen.table);
    bloomery_free(self->hasher);
    bloomery_free(self->seen.filter);
    free(self->known);
    Py_XDECREF(self->againsts);
}

static int deduper_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((const struct native_deduper *)object)->againsts);
    return 0;
}

static void deduper_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    native_deduper_clear((struct native_deduper *)object);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *get_bands(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(((struct native_deduper *)object)->near.bands);
}

static PyObject *get_note(PyObject *object, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((struct native_deduper *)object)->note);
}

PyType_Spec *native_deduper_spec(void)
{
    static PyMethodDef methods[] = {
        {"judge", deduper_judge, METH_VARARGS, "judge(texts, way)\n\nAnswers for a list."},
        {"report", deduper_report, METH_NOARGS, "report() -> dict\n\nThe counts."},
        {"raise_full", raise_full, METH_NOARGS, "raise_full()\n\nRaises Full."},
        {"save", deduper_save, METH_O, "save(path)\n\nWrites the filter."},
        {"filter", deduper_filter, METH_NOARGS, "filter() -> Filter\n\nA copy of the filter."},
        {"news", deduper_news, METH_NOARGS, "news() -> int\n\nWhat happened since the last call."},
        {NULL, NULL, 0, NULL}};
    static PyGetSetDef properties[] = {{"bands", get_bands, NULL, NULL, NULL},
                                       {"note", get_note, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_new, native_deduper_new},    {Py_tp_dealloc, deduper_dealloc},
        {Py_tp_traverse, deduper_traverse}, {Py_tp_methods, methods},
        {Py_tp_getset, properties},         {0, NULL}};
    static PyType_Spec spec = {.name = "bloomery._native._Deduper",
                               .basicsize = sizeof(struct native_deduper),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                               .slots = slots};
    return &spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class Filter: several filters.
 *
 * Two gates are entered, and nobody waits for one while inside the other: a handler of a signal
 * that runs in between may want that one.
 */
#include "native.h"

/* The other one, if it is a filter too. NULL: it is not; nothing is raised. */
static struct native_filter *as_filter(const struct native_filter *self, PyObject *other)
{
    return PyObject_TypeCheck(other, self->state->filter_type) ? (struct native_filter *)other
                                                               : NULL;
}

static struct native_filter *need_filter(const struct native_filter *self, PyObject *other)
{
    struct native_filter *found = as_filter(self, other);
    if (found == NULL)
        PyErr_SetString(PyExc_TypeError, "the other one must be a bloomery.Filter");
    return found;
}

/* Whether a filter needs to be alone: the first one if it changes, each if its adds are readers. */
static bool needs_alone(const struct native_filter *filter, const struct native_filter *changed)
{
    return filter == changed || filter->concurrent;
}

static void leave_both(struct native_filter *one, struct native_filter *other,
                       const struct native_filter *changed)
{
    native_filter_leave(one, needs_alone(one, changed));
    if (other != one)
        native_filter_leave(other, needs_alone(other, changed));
}

/* `changed`: that one of them, or NULL. */
static bool enter_both(struct native_filter *one, struct native_filter *other,
                       const struct native_filter *changed)
{
    struct native_filter *a = one < other ? one : other, *b = one < other ? other : one;
    const bool alone_a = needs_alone(a, changed), alone_b = needs_alone(b, changed);
    while (true) {
        if (!native_filter_enter(a, false, alone_a))
            return false;
        if (a == b)
            return true;
        if (native_gate_is_free(&b->gate, alone_b)) {
            if (native_filter_enter(b, false, alone_b))
                return true;
            native_filter_leave(a, alone_a);
            return false;
        }
        native_filter_leave(a, alone_a);
        if (!native_filter_enter(b, false, alone_b)) /* waits */
            return false;
        native_filter_leave(b, alone_b);
    }
}

typedef bloomery_status joiner(bloomery_filter *, const bloomery_filter *, bloomery_error *);

/* Merges or intersects, in place. */
static bool join(struct native_filter *into, struct native_filter *from, joiner *how)
{
    bloomery_error error;
    bloomery_status status;

    if (!enter_both(into, from, into))
        return false;
    if (!native_filter_writable(into, NATIVE_CHANGE_ALL)) {
        leave_both(into, from, into);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = how(into->writable, from->filter, &error);
    Py_END_ALLOW_THREADS;
    native_limit_reset(&into->limit);
    leave_both(into, from, into);
    if (status != BLOOMERY_OK)
        native_raise(into->state, &error, NULL);
    return status == BLOOMERY_OK;
}

static PyObject *join_method(PyObject *self, PyObject *other, joiner *how)
{
    struct native_filter *into = (struct native_filter *)self;
    struct native_filter *from = need_filter(into, other);
    if (from == NULL || !join(into, from, how))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *filter_merge(PyObject *self, PyObject *other)
{
    return join_method(self, other, bloomery_merge);
}

static PyObject *filter_intersect(PyObject *self, PyObject *other)
{
    return join_method(self, other, bloomery_intersect);
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* A new filter of both. Operators may get the other class first. */
static PyObject *join_new(PyObject *one, PyObject *other, joiner *how)
{
    const struct native_state *state = native_state_find(Py_TYPE(one));
    if (state == NULL || !PyObject_TypeCheck(one, state->filter_type) ||
        !PyObject_TypeCheck(other, state->filter_type))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *copy = native_filter_copy((struct native_filter *)one);
    if (copy != NULL && !join((struct native_filter *)copy, (struct native_filter *)other, how))
        Py_CLEAR(copy);
    return copy;
}

static PyObject *join_in_place(PyObject *one, PyObject *other, joiner *how)
{
    struct native_filter *into = (struct native_filter *)one;
    struct native_filter *from = as_filter(into, other);
    if (from == NULL)
        Py_RETURN_NOTIMPLEMENTED;
    return join(into, from, how) ? Py_NewRef(one) : NULL;
}

PyObject *native_filter_or(PyObject *one, PyObject *other)
{
    return join_new(one, other, bloomery_merge);
}

PyObject *native_filter_and(PyObject *one, PyObject *other)
{
    return join_new(one, other, bloomery_intersect);
}

PyObject *native_filter_ior(PyObject *one, PyObject *other)
{
    return join_in_place(one, other, bloomery_merge);
}

PyObject *native_filter_iand(PyObject *one, PyObject *other)
{
    return join_in_place(one, other, bloomery_intersect);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* Static, scalable and cuckoo filters have no comparison, but the same keys in the same order make
 * the same file. False after raising. */
static bool compare_files(struct native_filter *one, struct native_filter *other,
                          bloomery_comparison *comparison)
{
    PyObject *first = PyObject_CallMethod((PyObject *)one, "to_bytes", NULL);
    PyObject *second =
        first == NULL ? NULL : PyObject_CallMethod((PyObject *)other, "to_bytes", NULL);
    const int equal = second == NULL ? -1 : PyObject_RichCompareBool(first, second, Py_EQ);
    Py_XDECREF(first);
    Py_XDECREF(second);
    comparison->equal = equal > 0;
    return equal >= 0;
}

/* False after raising, or if the filters do not go together: then nothing is raised if `quiet`. */
static bool compare(struct native_filter *one, struct native_filter *other, bool quiet,
                    bloomery_comparison *comparison)
{
    bloomery_error error;
    bloomery_status status;

    *comparison = (bloomery_comparison)BLOOMERY_COMPARISON;
    if (!enter_both(one, other, NULL))
        return false;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_compare(one->filter, other->filter, comparison, &error);
    Py_END_ALLOW_THREADS;
    leave_both(one, other, NULL);
    if (status == BLOOMERY_UNSUPPORTED && quiet)
        return compare_files(one, other, comparison);
    if (status != BLOOMERY_OK && !(quiet && status == BLOOMERY_MISMATCH))
        native_raise(one->state, &error, NULL);
    return status == BLOOMERY_OK;
}

PyObject *native_filter_compare(PyObject *one, PyObject *other, int operation)
{
    struct native_filter *self = (struct native_filter *)one;
    struct native_filter *that = as_filter(self, other);
    bloomery_comparison comparison;

    if (that == NULL)
        Py_RETURN_NOTIMPLEMENTED;
    const bool equality = operation == Py_EQ || operation == Py_NE;
    if (equality && self == that)
        return NATIVE_BOOL(operation == Py_EQ);
    if (!compare(self, that, equality, &comparison)) {
        if (PyErr_Occurred() != NULL)
            return NULL;
        return NATIVE_BOOL(operation == Py_NE); /* what does not go together is not equal */
    }
    switch (operation) {
    case Py_EQ:
        return NATIVE_BOOL(comparison.equal);
    case Py_NE:
        return NATIVE_BOOL(!comparison.equal);
    case Py_LE:
        return NATIVE_BOOL(comparison.within[0]);
    case Py_LT:
        return NATIVE_BOOL(comparison.within[0] && !comparison.equal);
    case Py_GT:
        return NATIVE_BOOL(comparison.within[1] && !comparison.equal);
    default:
        return NATIVE_BOOL(comparison.within[1]);
    }
}

static PyObject *filter_similarity(PyObject *self, PyObject *other)
{
    struct native_filter *one = (struct native_filter *)self;
    struct native_filter *that = need_filter(one, other);
    bloomery_comparison comparison;
    if (that == NULL || !compare(one, that, false, &comparison))
        return NULL;
    return native_comparison_of(one->state, &comparison);
}

/* ---- One filter made another ----------------------------------------------------------------- */

static PyObject *filter_fold(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"times", NULL};
    struct native_filter *self = (struct native_filter *)object;
    bloomery_filter *folded = NULL;
    bloomery_error error;
    bloomery_status status;
    int times = 1;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", names, &times))
        return NULL;
    if (times < 0) {
        PyErr_SetString(PyExc_ValueError, "times must be from 1 to 30");
        return NULL;
    }
    if (!native_filter_enter_whole(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_fold(self->filter, (uint32_t)times, NULL, &folded, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    return status == BLOOMERY_OK ? native_filter_of(self, folded, false)
                                 : native_raise(self->state, &error, NULL);
}

static PyObject *filter_drop_counters(PyObject *object, PyObject *none)
{
    struct native_filter *self = (struct native_filter *)object;
    bloomery_filter *dropped = NULL;
    bloomery_error error;
    bloomery_status status;

    (void)none;
    if (!native_filter_enter_whole(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_drop_counters(self->filter, NULL, &dropped, &error);
    Py_END_ALLOW_THREADS;
    native_filter_leave_whole(self);
    return status == BLOOMERY_OK ? native_filter_of(self, dropped, false)
                                 : native_raise(self->state, &error, NULL);
}

static PyObject *filter_clear(PyObject *object, PyObject *none)
{
    struct native_filter *self = (struct native_filter *)object;
    bloomery_error error;
    bloomery_status status;

    (void)none;
    if (!native_filter_enter(self, false, true))
        return NULL;
    if (!native_filter_writable(self, NATIVE_CHANGE_ALL)) {
        native_filter_leave(self, true);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_clear(self->writable, &error);
    Py_END_ALLOW_THREADS;
    native_limit_reset(&self->limit);
    native_filter_leave(self, true);
    if (status != BLOOMERY_OK)
        return native_raise(self->state, &error, NULL);
    Py_RETURN_NONE;
}

/* update(*others): filters are merged, everything else is keys. */
static PyObject *filter_update(PyObject *object, PyObject *args)
{
    struct native_filter *self = (struct native_filter *)object;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
        PyObject *other = PyTuple_GetItem(args, i);
        PyObject *done = as_filter(self, other) != NULL
                             ? filter_merge(object, other)
                             : PyObject_CallMethod(object, "add_many", "O", other);
        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    Py_RETURN_NONE;
}

/* ---- As sets --------------------------------------------------------------------------------- */

static PyObject *filter_union(PyObject *self, PyObject *others)
{
    PyObject *made = native_filter_copy((struct native_filter *)self);
    PyObject *done = made == NULL ? NULL : filter_update(made, others);
    Py_XDECREF(done);
    if (done == NULL)
        Py_CLEAR(made);
    return made;
}

static PyObject *filter_intersection(PyObject *self, PyObject *others)
{
    PyObject *made = native_filter_copy((struct native_filter *)self);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(others); i++) {
        PyObject *done = filter_intersect(made, PyTuple_GetItem(others, i));
        Py_XDECREF(done);
        if (done == NULL)
            Py_CLEAR(made);
    }
    return made;
}

static PyObject *is_within(PyObject *self, PyObject *other, int operation)
{
    if (need_filter((struct native_filter *)self, other) == NULL)
        return NULL;
    return native_filter_compare(self, other, operation);
}

static PyObject *filter_issubset(PyObject *self, PyObject *other)
{
    return is_within(self, other, Py_LE);
}

static PyObject *filter_issuperset(PyObject *self, PyObject *other)
{
    return is_within(self, other, Py_GE);
}

/* What sets can do and filters cannot: a bit may be that of several keys. */
static PyObject *refuse_difference(PyObject *self, PyObject *others)
{
    (void)self;
    (void)others;
    PyErr_SetString(
        PyExc_TypeError,
        "filters have no difference: keys share bits, so taking out those of one filter "
        "would lose keys of the other. Test the keys themselves, as in [key for key in "
        "keys if key not in other]; filters of kind='counting' and kind='cuckoo' have "
        "remove_many(keys)");
    return NULL;
}

static PyObject *refuse_disjoint(PyObject *self, PyObject *other)
{
    (void)self;
    (void)other;
    PyErr_SetString(PyExc_TypeError,
                    "filters have bits in common by chance, so whether they have a common key is "
                    "not known: similarity(other).common_keys estimates how many they have");
    return NULL;
}

static PyObject *refuse_operator(PyObject *one, PyObject *other)
{
    const struct native_state *state = native_state_find(Py_TYPE(one));
    if (state == NULL || !PyObject_TypeCheck(one, state->filter_type) ||
        !PyObject_TypeCheck(other, state->filter_type))
        Py_RETURN_NOTIMPLEMENTED;
    return refuse_difference(one, other);
}

PyObject *native_filter_subtract(PyObject *one, PyObject *other)
{
    return refuse_operator(one, other);
}

PyObject *native_filter_xor(PyObject *one, PyObject *other)
{
    return refuse_operator(one, other);
}

PyMethodDef native_filter_set_methods[] = {
    {"union", filter_union, METH_VARARGS,
     "union(*others) -> Filter\n\nA new filter with the keys of all: of filters, and of lists, "
     "iterators and arrays of keys."},
    {"intersection", filter_intersection, METH_VARARGS,
     "intersection(*others) -> Filter\n\nA new filter of the keys that are in all filters, and "
     "some false positives."},
    {"issubset", filter_issubset, METH_O,
     "issubset(other) -> bool\n\nWhether the other one seems to have all keys of this one."},
    {"issuperset", filter_issuperset, METH_O,
     "issuperset(other) -> bool\n\nWhether this one seems to have all keys of the other one."},
    {"difference", refuse_difference, METH_VARARGS,
     "difference(*others)\n\nA TypeError that says what to do instead: keys share bits."},
    {"symmetric_difference", refuse_difference, METH_VARARGS,
     "symmetric_difference(*others)\n\nA TypeError, as difference."},
    {"isdisjoint", refuse_disjoint, METH_O,
     "isdisjoint(other)\n\nA TypeError that says what to do instead: bits are shared by chance."},
    {"merge", filter_merge, METH_O,
     "merge(other)\n\nAfterwards every key of the other one is in this one, too. Mismatch names "
     "the field that differs."},
    {"intersect", filter_intersect, METH_O,
     "intersect(other)\n\nOnly keys that are in both stay, and some false positives."},
    {"update", filter_update, METH_VARARGS,
     "update(*others)\n\nMerges filters; adds the keys of all other arguments."},
    {"similarity", filter_similarity, METH_O,
     "similarity(other) -> Comparison\n\nEstimates of the common keys, from the bits."},
    {"fold", NATIVE_KEYWORDS(filter_fold), METH_VARARGS | METH_KEYWORDS,
     "fold(times=1) -> Filter\n\nOf half the size, `times` times over; its rate is higher."},
    {"drop_counters", filter_drop_counters, METH_NOARGS,
     "drop_counters() -> Filter\n\nA blocked filter of the keys of a counting one."},
    {"clear", filter_clear, METH_NOARGS, "clear()\n\nBack to empty."},
    {NULL, NULL, 0, NULL}};

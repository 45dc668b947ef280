/* SPDX-License-Identifier: Apache-2.0 */
/* What all methods of the class Filter begin with: an object for a filter, and its gate. */
#include "native.h"

#include <assert.h>
#include <string.h>

PyObject *native_filter_new(PyTypeObject *type, const bloomery_filter *filter,
                            bloomery_filter *writable, bool concurrent)
{
    assert(writable == NULL || writable == filter);
    struct native_state *state = native_state_of(type);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct native_filter *self =
        state == NULL ? NULL : (struct native_filter *)(void *)allocate(type, 0);
    if (self == NULL) {
        bloomery_free(filter);
        return NULL;
    }
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    self->state = state;
    self->filter = filter;
    self->writable = writable;
    self->concurrent = concurrent;
    self->secret = info.secret_known || info.secret_fingerprint == 0;
    native_keying_of(&info.rule, &self->keying);
    self->gate = (struct native_gate){.forks = native_forks, .writers = self->concurrent};
    self->quick = self->secret && !self->keying.has_rule;
    self->grows = native_keeps_rate(&info);
    self->single = !info.can_grow && info.layers == 1;
    self->planned_keys = info.planned_keys;
    self->planned_rate = info.planned_rate;
    native_limit_begin(&self->limit, &info);
    return (PyObject *)self;
}

PyObject *native_filter_made(PyTypeObject *type, bloomery_filter *filter,
                             const struct native_request *request)
{
    PyObject *made = native_filter_new(type, filter, filter, request->concurrent != 0);
    if (made != NULL)
        native_filter_ignore((struct native_filter *)made, strcmp(request->full, "ignore") == 0);
    return made;
}

void native_filter_ignore(struct native_filter *self, bool ignores)
{
    self->ignores = ignores && !self->grows;
    self->limit.checked = !ignores && self->limit.applies;
}

void native_filter_raw(struct native_filter *self, bool raw)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(self->filter, &info);
    native_keying_of(&info.rule, &self->keying);
    self->keying.has_rule = self->keying.has_rule && !raw;
    self->raw = raw;
    self->quick = self->secret && !self->keying.has_rule;
}

PyObject *native_filter_of(const struct native_filter *self, bloomery_filter *filter,
                           bool concurrent)
{
    PyObject *made =
        native_filter_new(Py_TYPE((PyObject *)(uintptr_t)self), filter, filter, concurrent);
    if (made != NULL && self->ignores)
        native_filter_ignore((struct native_filter *)made, true);
    if (made != NULL && self->raw)
        native_filter_raw((struct native_filter *)made, true);
    return made;
}

bool native_filter_ready(const struct native_filter *self, bool hashes)
{
    if (self->filter == NULL) {
        PyErr_SetString(PyExc_ValueError, "the filter is closed");
        return false;
    }
    if (hashes && !self->secret) {
        native_raise(self->state,
                     &(bloomery_error){.status = BLOOMERY_SECRET_NEEDED,
                                       .text = "the filter is keyed, and its secret is missing or "
                                               "another one"},
                     NULL);
        return false;
    }
    return true;
}

bool native_filter_writable(const struct native_filter *self, enum native_change change)
{
    bloomery_error error;
    if (self->writable != NULL)
        return true;
    native_refuse(self->filter, change, &error);
    native_raise(self->state, &error, NULL);
    return false;
}

bool native_filter_enter(struct native_filter *self, bool hashes, bool alone)
{
    if (!native_filter_ready(self, hashes) || !native_gate_enter(&self->gate, alone))
        return false;
    if (native_filter_ready(self, hashes)) /* it may have been closed while this waited */
        return true;
    native_gate_leave(&self->gate, alone);
    return false;
}

void native_filter_leave(struct native_filter *self, bool alone)
{
    native_gate_leave(&self->gate, alone);
}

bool native_filter_enter_whole(struct native_filter *self)
{
    if (!native_filter_enter(self, false, self->concurrent))
        return false;
    if (native_watch_holds(self))
        return true;
    native_filter_leave_whole(self);
    return false;
}

void native_filter_leave_whole(struct native_filter *self)
{
    native_filter_leave(self, self->concurrent);
}

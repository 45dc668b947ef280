/* SPDX-License-Identifier: Apache-2.0 */
/* What all methods of the class Filter begin with: an object for a filter, and its gate. */
#include "native.h"

PyObject *native_filter_new(PyTypeObject *type, bloomery_filter *filter, bool concurrent)
{
    struct native_state *state = native_state_of(type);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct native_filter *self =
        state == NULL ? NULL : (struct native_filter *)(void *)allocate(type, 0);
    if (self == NULL) {
        bloomery_free(filter);
        return NULL;
    }
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, false, &info);
    self->state = state;
    self->filter = filter;
    self->concurrent = concurrent;
    self->secret = info.secret_known || info.secret_fingerprint == 0;
    native_keying_of(&info.rule, &self->keying);
    self->gate = (struct native_gate){.forks = native_forks, .writers = self->concurrent};
    self->quick = self->secret && !self->keying.has_rule;
    return (PyObject *)self;
}

bool native_filter_ready(const struct native_filter *self, bool hashes)
{
    if (self->filter == NULL) {
        PyErr_SetString(PyExc_ValueError, "the filter is closed");
        return false;
    }
    if (hashes && !self->secret) {
        native_raise_status(self->state, BLOOMERY_SECRET_NEEDED);
        return false;
    }
    return true;
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
    return native_filter_enter(self, false, self->concurrent);
}

void native_filter_leave_whole(struct native_filter *self)
{
    native_filter_leave(self, self->concurrent);
}

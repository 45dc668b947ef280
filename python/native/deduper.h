/* SPDX-License-Identifier: Apache-2.0 */
/* The class behind bloomery.Deduper: deduper_new.c makes it, deduper.c has the rest. */
#ifndef BLOOMERY_PYTHON_DEDUPER_H
#define BLOOMERY_PYTHON_DEDUPER_H

#include "native.h"
#include "units/units.h"

struct native_deduper {
    PyObject_HEAD const struct native_state *state;
    struct tool_judge judge;
    bloomery_near near;
    struct tool_seen seen;
    bloomery_filter *hasher;    /* of words, for signatures; NULL: the filter */
    PyObject *againsts;         /* a tuple of Filters; their number is the judge's */
    struct tool_against *known; /* these, and room for the own filter */
    struct tool_units *units;   /* what is judged and counted */
    struct tool_units *others;  /* what is looked up or learned, and not counted */
    uint64_t planned_keys;
    bool no_add, learned; /* learned: it has keys of learn(), or of a file */
    unsigned news;        /* bits of enum tool_seen_news that were not reported yet */
    char note[TOOL_JUDGE_NOTE_BYTES];
    struct native_gate gate;
};

/* The arguments' object. NULL after raising. */
PyObject *native_deduper_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* Frees what it has, but not itself. */
void native_deduper_clear(struct native_deduper *self);

#endif

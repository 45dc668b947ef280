/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use an object while the GIL is released.
 *
 *     query, save, compare, ...   readers: any number at a time
 *     add, merge, close, ...      alone
 *
 * The GIL guards the fields. Whoever can't enter lets go of it and tries again, after 20 us at
 * first and 1 ms at last: waiting is rare, and a lock of the system could not be interrupted by
 * Ctrl-C. Nobody is inside while Python code runs, so no two threads can wait for each other.
 *
 * After a fork the child has the counts, but not the threads that would bring them down.
 */
#include "native.h"

#include <time.h>
#include <unistd.h>

static bool may_enter(const struct native_gate *gate, bool alone)
{
    return !gate->alone && (alone ? gate->readers == 0 : gate->waiting == 0);
}

static bool forked(const struct native_gate *gate)
{
    return (gate->alone || gate->readers > 0) && gate->process != getpid();
}

bool native_gate_enter(struct native_gate *gate, bool alone)
{
    long pause = 20000;
    bool raised = false;

    if (!may_enter(gate, alone)) {
        gate->waiting += alone;
        while (!raised && (gate->alone || (alone ? gate->readers > 0 : gate->waiting > 0))) {
            if (forked(gate)) {
                PyErr_SetString(PyExc_RuntimeError,
                                "the process was forked while another thread used this object; "
                                "open or make it anew in the child");
                raised = true;
                break;
            }
            Py_BEGIN_ALLOW_THREADS;
            nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
            Py_END_ALLOW_THREADS;
            pause = pause < 500000 ? 2 * pause : 1000000;
            raised = PyErr_CheckSignals() != 0;
        }
        gate->waiting -= alone;
        if (raised)
            return false;
    }
    gate->process = getpid();
    if (alone)
        gate->alone = true;
    else
        gate->readers++;
    return true;
}

void native_gate_leave(struct native_gate *gate, bool alone)
{
    if (alone)
        gate->alone = false;
    else
        gate->readers--;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use an object while the GIL is released.
 *
 *     query, save, compare, ...   readers: any number at a time
 *     add, merge, close, ...      alone
 *
 * The GIL guards the fields. A thread that cannot enter releases it and tries again, after 20 us at
 * first and 1 ms at last: waiting is rare, and a lock of the system could not be interrupted by
 * Ctrl-C. Nobody waits for a gate who is inside another one, and nobody who is inside makes Python
 * objects, so no two threads can wait for each other, nor one for itself.
 *
 * After a fork the child has the counts, but not the threads that would bring them down. Readers
 * are forgotten. An object that a thread was changing is broken.
 */
#include "native.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

unsigned native_forks;

static void count_fork(void)
{
    native_forks++;
}

bool native_gates_start(void)
{
    static bool started;
    if (!started && pthread_atfork(NULL, NULL, count_fork) != 0) {
        PyErr_NoMemory();
        return false;
    }
    started = true;
    return true;
}

/* After a fork: forgets who is not here. */
static void settle(struct native_gate *gate)
{
    if (gate->forks == native_forks)
        return;
    gate->broken = gate->broken || gate->alone || (gate->writers && gate->readers > 0);
    gate->alone = false;
    gate->readers = gate->waiting = 0;
    gate->forks = native_forks;
}

/* Waits until it is free. False after raising. */
static bool wait_for(struct native_gate *gate, bool alone)
{
    const unsigned forks = native_forks;
    long pause = 20000;
    bool raised = false;

    gate->waiting += alone;
    while (!raised && (gate->alone || (alone ? gate->readers > 0 : gate->waiting > 0))) {
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        Py_END_ALLOW_THREADS;
        pause = pause < 500000 ? 2 * pause : 1000000;
        raised = PyErr_CheckSignals() != 0;
        settle(gate); /* the handler of a signal may have forked */
    }
    if (forks == native_forks)
        gate->waiting -= alone;
    return !raised;
}

bool native_gate_enter(struct native_gate *gate, bool alone)
{
    settle(gate);
    if (!gate->broken && !native_gate_is_free(gate, alone) && !wait_for(gate, alone))
        return false;
    if (gate->broken) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the process was forked while another thread changed this object; open or "
                        "make it anew in the child");
        return false;
    }
    assert(!gate->alone && (!alone || gate->readers == 0));
    if (alone)
        gate->alone = true;
    else
        gate->readers++;
    return true;
}

void native_gate_leave(struct native_gate *gate, bool alone)
{
    if (gate->forks != native_forks) {
        settle(gate);
        return;
    }
    assert(alone ? gate->alone && gate->readers == 0 : !gate->alone && gate->readers > 0);
    if (alone)
        gate->alone = false;
    else
        gate->readers--;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who may use an object while the GIL is released: gate.c says how. */
#ifndef BLOOMERY_PYTHON_GATE_H
#define BLOOMERY_PYTHON_GATE_H

#include <stdbool.h>

/* Who uses an object while the GIL is released: readers, or one that is alone. All fields are read
 * and written with the GIL. */
struct native_gate {
    unsigned readers;
    unsigned waiting; /* that want to be alone: no new reader overtakes them */
    unsigned forks;   /* native_forks when this was looked at last */
    bool alone;
    bool writers; /* readers may change the object, too */
    bool broken;  /* forked while a thread changed it, which is not in this process */
};

/* How many forks lie between this process and the first one that had the module. */
extern unsigned native_forks;

/* Called once. False after raising. */
bool native_gates_start(void);

/* Whether what keeps the GIL may be done now, without entering. */
static inline bool native_gate_open(const struct native_gate *gate, bool alone)
{
    return gate->forks == native_forks && !gate->broken && !gate->alone &&
           (!alone || gate->readers == 0);
}

/* Whether native_gate_enter would not wait. */
static inline bool native_gate_is_free(const struct native_gate *gate, bool alone)
{
    return native_gate_open(gate, alone) && (alone || gate->waiting == 0);
}

/* Enters as soon as that is possible. Until then the GIL is released now and then, so arguments
 * must be held, and no gate may be: handlers of signals run then. False after raising: such a
 * handler raised, or the process was forked while another thread changed the object. */
bool native_gate_enter(struct native_gate *gate, bool alone);
void native_gate_leave(struct native_gate *gate, bool alone);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that few runs need, loaded when one does. libarchive alone brings a dozen others with
 * it. Starting with them takes five milliseconds, time for a million queries, and without them two.
 */
#ifndef BLOOMERY_TOOL_LOAD_H
#define BLOOMERY_TOOL_LOAD_H

#include <stddef.h>

/* Receives the address of a function: a pointer to a pointer to a function. */
struct tool_wanted {
    const char *name;
    void *pointer;
};

/* Loads a library, for good, and finds its functions. NULL, or the reason why that failed, which
 * stays until the thread's next call. */
const char *tool_load(const char *library, const struct tool_wanted *wanted, size_t count);

/* A library's functions as a struct of pointers. LIST(X) is X(one) X(other) ... */
#define TOOL_LOAD_FIELD(name)  __typeof__(name) *name;
#define TOOL_LOAD_WANTED(name) {#name, &functions->name},

#endif /* BLOOMERY_TOOL_LOAD_H */

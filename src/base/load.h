/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that few programs need, loaded when one does (docs/decisions.md says why). The command
 * has it for its own, by base/system.h: it is whole in this header for that.
 */
#ifndef BLOOMERY_BASE_LOAD_H
#define BLOOMERY_BASE_LOAD_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Receives the address of a function: a pointer to a pointer to a function. */
struct bloomery_wanted {
    const char *name;
    void *pointer;
};

/* Loads a library and finds its functions. It stays for good: no code can know whether others still
 * use it. NULL, or the reason why that failed, which stays until the thread's next call. */
static inline const char *bloomery_load_library(const char *library,
                                                const struct bloomery_wanted *wanted, size_t count)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; handle != NULL && i < count; i++) {
        void *symbol = dlsym(handle, wanted[i].name);
        if (symbol != NULL)
            memcpy(wanted[i].pointer, &symbol,
                   sizeof symbol); /* the standard has no cast for this */
        else
            handle = NULL;
    }
    if (handle != NULL)
        return NULL;
    /* Never NULL after a failure, even if the system gives no reason. */
    const char *reason = dlerror();
    return reason != NULL ? reason : "the library cannot be loaded";
}

#endif

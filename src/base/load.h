/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that few programs need, loaded when one does (docs/decisions.md says why). The command
 * has the same for its own, tool/base/system.h.
 */
#ifndef BLOOMERY_BASE_LOAD_H
#define BLOOMERY_BASE_LOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Receives the address of a function: a pointer to a pointer to a function. */
struct bloomery_wanted {
    const char *name;
    void *pointer;
};

/* Loads a library and finds its functions. It stays for good: no code can know whether others still
 * use it. False if it or one of them is not there. */
bool bloomery_load_library(const char *library, const struct bloomery_wanted *wanted, size_t count);

#endif

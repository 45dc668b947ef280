/* SPDX-License-Identifier: Apache-2.0 */
/* See load.h. */
#include "base/load.h"

#include <dlfcn.h>
#include <string.h>

bool bloomery_load_library(const char *library, const struct bloomery_wanted *wanted, size_t count)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, wanted[i].name);
        if (symbol == NULL)
            return false;
        memcpy(wanted[i].pointer, &symbol, sizeof symbol); /* the standard knows no cast for this */
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/load.h"

#include <dlfcn.h>
#include <string.h>

const char *tool_load(const char *library, const struct tool_wanted *wanted, size_t count)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return dlerror();
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, wanted[i].name);
        if (symbol == NULL)
            return dlerror();
        memcpy(wanted[i].pointer, &symbol,
               sizeof(symbol)); /* the standard knows no cast for this */
    }
    return NULL;
}

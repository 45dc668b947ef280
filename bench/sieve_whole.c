/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without shared libraries cannot load any either. Ours would, for MD5, which is not
 * used here: the linker takes these instead (--wrap), so that the program and its memory have no
 * loader in them.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlsym(void *library, const char *name);

void *__wrap_dlopen(const char *path, int flags)
{
    (void)path;
    (void)flags;
    return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
    (void)library;
    (void)name;
    return NULL;
}

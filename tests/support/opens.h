/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every name by which a program opens a file leads to one function, open_anything, which the
 * includer has: a library that is preloaded stands in front of all of them. Included by
 * faulty_io.c and counted_calls.c, which are built without _FILE_OFFSET_BITS, so that open and
 * open64 are two.
 */
#ifndef TESTS_OPENS_H
#define TESTS_OPENS_H

#include <fcntl.h>
#include <stdarg.h>

int open_anything(int directory, const char *path, int flags, mode_t mode)
    __attribute__((visibility("hidden")));

static mode_t mode_of(int flags, va_list rest)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define OPEN_BODY(directory)            \
    va_list rest;                       \
    va_start(rest, flags);              \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest);                       \
    return open_anything(directory, path, flags, mode)

int open(const char *path, int flags, ...)
{
    OPEN_BODY(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
    OPEN_BODY(AT_FDCWD);
}

int openat(int directory, const char *path, int flags, ...)
{
    OPEN_BODY(directory);
}

int openat64(int directory, const char *path, int flags, ...)
{
    OPEN_BODY(directory);
}

/* What open becomes in programs built with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return open_anything(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open_anything(AT_FDCWD, path, flags, 0);
}

int __openat_2(int directory, const char *path, int flags)
{
    return open_anything(directory, path, flags, 0);
}

int __openat64_2(int directory, const char *path, int flags)
{
    return open_anything(directory, path, flags, 0);
}

#endif

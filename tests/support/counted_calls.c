/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD), this counts how often it looks at one path: what it opens,
 * asks for by name, and asks for by a descriptor of that path. For tests that a file is opened
 * once, and is then what it was, whatever its name leads to by then.
 *
 *     COUNTED_PATH     the path, as the program gives it
 *     COUNTED_OTHER    a file that takes the path's name right before it is opened a second time
 *     COUNTED_REPORT   a file that gets "opens 1 stats 0 fstats 1" at the program's end
 */
#include "opens.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

static bool ours[DESCRIPTORS]; /* descriptors of the path */
static unsigned opens, stats, fstats;

static bool is_path(const char *path)
{
    const char *counted = getenv("COUNTED_PATH");
    return path != NULL && counted != NULL && strcmp(path, counted) == 0;
}

static bool is_ours(int file)
{
    return file >= 0 && file < DESCRIPTORS && ours[file];
}

static void __attribute__((destructor)) end_of_program(void)
{
    char text[100];
    const char *report = getenv("COUNTED_REPORT");
    if (report == NULL)
        return;
    const int length =
        snprintf(text, sizeof text, "opens %u stats %u fstats %u", opens, stats, fstats);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (syscall(SYS_write, file, text, (size_t)length) != length)
        abort();
    syscall(SYS_close, file);
}

/* ---- Opening ------------------------------------------------------------------------- */

int open_anything(int directory, const char *path, int flags, mode_t mode)
{
    const char *other = getenv("COUNTED_OTHER");
    opens += is_path(path);
    if (is_path(path) && opens == 2 && other != NULL && rename(other, path) != 0)
        abort();
    const int file = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (file >= 0 && file < DESCRIPTORS)
        ours[file] = is_path(path);
    return file;
}

/* ---- Asking for facts ---------------------------------------------------------------- */

/* struct stat and struct stat64 are the same on our machines. */
static int stat_anything(int directory, const char *path, void *facts, int flags)
{
    if ((flags & AT_EMPTY_PATH) != 0 && path[0] == '\0')
        fstats += is_ours(directory);
    else
        stats += is_path(path);
    return (int)syscall(SYS_newfstatat, directory, path, facts, flags);
}

int stat(const char *path, struct stat *facts)
{
    return stat_anything(AT_FDCWD, path, facts, 0);
}

int stat64(const char *path, struct stat64 *facts)
{
    return stat_anything(AT_FDCWD, path, facts, 0);
}

int lstat(const char *path, struct stat *facts)
{
    return stat_anything(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int lstat64(const char *path, struct stat64 *facts)
{
    return stat_anything(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *facts)
{
    return stat_anything(file, "", facts, AT_EMPTY_PATH);
}

int fstat64(int file, struct stat64 *facts)
{
    return stat_anything(file, "", facts, AT_EMPTY_PATH);
}

int fstatat(int directory, const char *path, struct stat *facts, int flags)
{
    return stat_anything(directory, path, facts, flags);
}

int fstatat64(int directory, const char *path, struct stat64 *facts, int flags)
{
    return stat_anything(directory, path, facts, flags);
}

int access(const char *path, int mode)
{
    stats += is_path(path);
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

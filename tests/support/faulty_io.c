/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails on demand: a library to be preloaded before a program's own (LD_PRELOAD). It
 * stands between the program and the kernel for files under one directory and leaves all others
 * alone.
 *
 *   FAULTY_IO_ROOT    the directory; without it nothing happens
 *   FAULTY_IO_MODE    count   nothing fails
 *                     fail    the call number FAULTY_IO_AT (the first is 1) fails with
 *                             FAULTY_IO_ERRNO; with FAULTY_IO_TIMES=N the N calls from it on.
 *                             A write at an offset that fails has written a part, as on a disk
 *                             that became full
 *                     short   reads and writes move some bytes only
 *                     eintr   reads, writes and syncs are interrupted now and then
 *                     signal  right before call number FAULTY_IO_AT the program gets SIGINT
 *                     crash   the power is cut just before call number FAULTY_IO_AT, or else
 *                             at the end of the program
 *   FAULTY_IO_CALLS   which calls count, separated by commas: open (for writing), write, sync,
 *                     link, rename, unlink, mkdir, close, truncate, read, map; without it
 *                     all of them
 *   FAULTY_IO_SEED    for what is left to chance
 *   FAULTY_IO_SHADOW  crash: a directory on the same file system, outside the root
 *   FAULTY_IO_REPORT  a file that receives the name of the call that failed or was cut off
 *   FAULTY_IO_PLAIN   where set, the file system has no unnamed files (O_TMPFILE)
 *
 * faulty_power.h says what a power cut leaves.
 *
 * Build: a shared module of this file and faulty_power.c, -fPIC -shared. Used by
 * ../property/save_faults.c. One thread only. No assert of cmocka: it lives in others' processes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Each name is to be itself here: with 64-bit offsets, the headers make open mean open64.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include "faulty_power.h"
#include "opens.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CUT_STATUS = 137, DESCRIPTORS = 1024 };

enum mode { MODE_OFF, MODE_COUNT, MODE_FAIL, MODE_SHORT, MODE_EINTR, MODE_SIGNAL, MODE_CRASH };

static struct {
    bool read;
    enum mode mode;
    const char *root;
    const char *calls;
    const char *report;
    bool plain;
    unsigned long times;
    int error;
    unsigned long at;
    unsigned long count;
} state;

static bool under_root[DESCRIPTORS]; /* descriptors of files we watch */

/* ---- Plumbing ------------------------------------------------------------------------ */

static unsigned long number_of(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : strtoul(text, NULL, 10);
}

static void read_wishes(void)
{
    static const char *const modes[] = {"off",   "count",  "fail", "short",
                                        "eintr", "signal", "crash"};
    const char *mode = getenv("FAULTY_IO_MODE");
    if (state.read)
        return;
    state.read = true;
    state.root = getenv("FAULTY_IO_ROOT");
    state.calls = getenv("FAULTY_IO_CALLS");
    state.report = getenv("FAULTY_IO_REPORT");
    state.plain = getenv("FAULTY_IO_PLAIN") != NULL;
    state.error = (int)number_of("FAULTY_IO_ERRNO");
    state.at = number_of("FAULTY_IO_AT");
    state.times = number_of("FAULTY_IO_TIMES");
    power_seed(number_of("FAULTY_IO_SEED"));
    if (state.error == 0)
        state.error = EIO;
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0] && mode && state.root; i++)
        if (strcmp(mode, modes[i]) == 0)
            state.mode = (enum mode)i;
    if (state.mode == MODE_CRASH)
        power_start(getenv("FAULTY_IO_SHADOW"));
}

static bool within_root(const char *path)
{
    read_wishes();
    if (state.mode == MODE_OFF)
        return false;
    size_t length = strlen(state.root);
    return strncmp(path, state.root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The whole path of a name within an open directory; false where it is not ours. */
static bool full_path(int directory, const char *name, char full[PATH_MAX])
{
    char link[40];
    ssize_t length = 0;
    if (name == NULL)
        return false;
    if (name[0] != '/') {
        if (directory == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        length = readlink(link, full, PATH_MAX - 2);
        if (length < 0)
            return false;
        full[length++] = '/';
    }
    if ((size_t)length + strlen(name) + 1 > PATH_MAX)
        return false;
    strcpy(full + length, name);
    return within_root(full);
}

static bool watched(int file)
{
    return file >= 0 && file < DESCRIPTORS && under_root[file];
}

static void report(const char *call)
{
    if (state.report == NULL)
        return;
    int file = raw_open(state.report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0) {
        raw_write(file, call, strlen(call));
        raw_close(file);
    }
}

static void __attribute__((destructor)) end_of_program(void)
{
    if (state.mode == MODE_CRASH)
        power_cut();
}

/* ---- Which call is struck ------------------------------------------------------------ */

static bool counts(const char *call)
{
    if (state.calls == NULL)
        return true;
    size_t length = strlen(call);
    for (const char *at = state.calls; (at = strstr(at, call)) != NULL; at += length)
        if ((at == state.calls || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* true: the call fails, errno is set. */
static bool struck(const char *call)
{
    bool may_interrupt =
        strcmp(call, "read") == 0 || strcmp(call, "write") == 0 || strcmp(call, "sync") == 0;
    if (!counts(call))
        return false;
    state.count++;
    if (state.mode == MODE_EINTR && may_interrupt && power_draw() % 2 == 0) {
        errno = EINTR;
        return true;
    }
    unsigned long last = state.at + (state.times > 0 ? state.times - 1 : 0);
    bool now = state.count >= state.at && state.count <= last && state.at > 0;
    if (now && state.mode == MODE_SIGNAL)
        raise(SIGINT);
    if (!now || (state.mode != MODE_FAIL && state.mode != MODE_CRASH))
        return false;
    if (state.count == state.at)
        report(call);
    if (state.mode == MODE_CRASH) {
        power_cut();
        _exit(CUT_STATUS);
    }
    errno = state.error;
    return true;
}

static size_t shortened(size_t bytes)
{
    if (state.mode != MODE_SHORT || bytes < 2)
        return bytes;
    size_t most = 1 + power_draw() % 3000;
    return bytes < most ? bytes : most;
}

/* ---- Opening ------------------------------------------------------------------------- */

static bool writing(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

int open_anything(int directory, const char *path, int flags, mode_t mode)
{
    char full[PATH_MAX];
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    bool ours = full_path(directory, path, full);
    bool fresh = ours && (flags & O_CREAT) != 0 && access(full, F_OK) != 0;
    if (ours && unnamed && state.plain) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (ours && writing(flags) && struck("open"))
        return -1;
    if (ours && (flags & O_TRUNC) != 0 && !fresh && state.mode == MODE_CRASH) {
        int before = raw_open(full, O_RDWR, 0);
        if (before >= 0) {
            power_see_file(before);
            power_dirty_file(before);
            raw_close(before);
        }
    }
    int file = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (file < 0 || file >= DESCRIPTORS)
        return file;
    under_root[file] = ours;
    if (ours && writing(flags))
        power_see_file(file);
    if (fresh)
        power_name_made(full);
    return file;
}

int creat(const char *path, mode_t mode)
{
    return open_anything(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int close(int file)
{
    bool fails = watched(file) && struck("close");
    int error = errno;
    if (file >= 0 && file < DESCRIPTORS)
        under_root[file] = false;
    int result = raw_close(file); /* a close that fails closes all the same */
    if (!fails)
        return result;
    errno = error;
    return -1;
}

/* ---- Content ------------------------------------------------------------------------- */

ssize_t write(int file, const void *data, size_t bytes)
{
    if (!watched(file))
        return raw_write(file, data, bytes);
    if (struck("write"))
        return -1;
    power_dirty_file(file);
    return raw_write(file, data, shortened(bytes));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (!watched(file))
        return syscall(SYS_writev, file, parts, count);
    if (struck("write"))
        return -1;
    power_dirty_file(file);
    if (state.mode == MODE_SHORT && count > 0)
        return raw_write(file, parts[0].iov_base, shortened(parts[0].iov_len));
    return syscall(SYS_writev, file, parts, count);
}

/* What a write that failed leaves: some of its bytes. */
static void leave_part(int file, const void *data, size_t bytes, off_t offset)
{
    int error = errno;
    if (state.mode == MODE_FAIL)
        (void)!syscall(SYS_pwrite64, file, data, bytes / 2, offset);
    errno = error;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    if (watched(file)) {
        if (struck("write")) {
            leave_part(file, data, bytes, offset);
            return -1;
        }
        power_dirty_file(file);
        bytes = shortened(bytes);
    }
    return syscall(SYS_pwrite64, file, data, bytes, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
    if (!watched(file))
        return syscall(SYS_pwritev, file, parts, count, offset, 0);
    if (struck("write")) {
        if (count > 0)
            leave_part(file, parts[0].iov_base, parts[0].iov_len, offset);
        return -1;
    }
    power_dirty_file(file);
    if (state.mode == MODE_SHORT && count > 0)
        return syscall(SYS_pwrite64, file, parts[0].iov_base, shortened(parts[0].iov_len), offset);
    return syscall(SYS_pwritev, file, parts, count, offset, 0);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset)
{
    return pwritev(file, parts, count, offset);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset)
{
    return pwrite(file, data, bytes, offset);
}

int ftruncate(int file, off_t bytes)
{
    if (watched(file)) {
        if (struck("truncate"))
            return -1;
        power_dirty_file(file);
    }
    return (int)syscall(SYS_ftruncate, file, bytes);
}

int ftruncate64(int file, off64_t bytes)
{
    return ftruncate(file, bytes);
}

ssize_t read(int file, void *data, size_t bytes)
{
    if (watched(file)) {
        if (struck("read"))
            return -1;
        bytes = shortened(bytes);
    }
    return syscall(SYS_read, file, data, bytes);
}

ssize_t pread(int file, void *data, size_t bytes, off_t offset)
{
    if (watched(file)) {
        if (struck("read"))
            return -1;
        bytes = shortened(bytes);
    }
    return syscall(SYS_pread64, file, data, bytes, offset);
}

ssize_t pread64(int file, void *data, size_t bytes, off64_t offset)
{
    return pread(file, data, bytes, offset);
}

void *mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
{
    if (watched(file) && struck("map"))
        return MAP_FAILED;
    long result = syscall(SYS_mmap, address, bytes, rights, flags, file, offset);
    return result == -1 ? MAP_FAILED : (void *)result;
}

void *mmap64(void *address, size_t bytes, int rights, int flags, int file, off64_t offset)
{
    return mmap(address, bytes, rights, flags, file, offset);
}

/* ---- Syncing ------------------------------------------------------------------------- */

static int sync_anything(int file, long call)
{
    struct stat facts;
    char full[PATH_MAX];
    if (!watched(file))
        return (int)syscall(call, file);
    if (struck("sync"))
        return -1;
    if (state.mode != MODE_CRASH || fstat(file, &facts) != 0)
        return (int)syscall(call, file);
    if (S_ISDIR(facts.st_mode) && full_path(file, "", full)) {
        full[strlen(full) - 1] = '\0'; /* the slash */
        power_sync_directory(full);
    } else {
        power_sync_file(file);
    }
    return 0;
}

int fsync(int file)
{
    return sync_anything(file, SYS_fsync);
}

int fdatasync(int file)
{
    return sync_anything(file, SYS_fdatasync);
}

/* ---- Names --------------------------------------------------------------------------- */

int mkdirat(int directory, const char *path, mode_t mode)
{
    char full[PATH_MAX];
    bool ours = full_path(directory, path, full);
    if (ours && struck("mkdir"))
        return -1;
    int result = (int)syscall(SYS_mkdirat, directory, path, mode);
    if (result == 0 && ours)
        power_name_made(full);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    char full[PATH_MAX];
    bool ours = full_path(to_directory, to, full);
    if (ours && struck("link"))
        return -1;
    int result = (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
    if (result == 0 && ours)
        power_name_made(full);
    return result;
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
              unsigned flags)
{
    char old_name[PATH_MAX];
    char new_name[PATH_MAX];
    char backup[PATH_MAX] = "";
    bool ours = full_path(to_directory, to, new_name) && full_path(from_directory, from, old_name);
    if (ours && struck("rename"))
        return -1;
    if (ours)
        power_keep_old(new_name, backup);
    int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    if (result == 0 && ours)
        power_name_moved(old_name, new_name, backup);
    return result;
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return renameat2(from_directory, from, to_directory, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int directory, const char *path, int flags)
{
    char full[PATH_MAX];
    char backup[PATH_MAX] = "";
    bool ours = full_path(directory, path, full);
    if (ours && struck("unlink"))
        return -1;
    if (ours)
        power_keep_old(full, backup);
    int result = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (result == 0 && ours)
        power_name_removed(full, backup);
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

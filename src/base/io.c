/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one call: not every system takes 2^31 bytes at once, and smaller pieces stay interruptible. */
static const size_t piece_max = (size_t)1 << 30;

/* Takes `moved` bytes off the front of the pieces that are still to be written. */
static int advance(struct iovec *pieces, int first, int count, size_t moved)
{
    while (first < count && moved >= pieces[first].iov_len)
        moved -= pieces[first++].iov_len;
    if (first < count) {
        pieces[first].iov_base = (uint8_t *)pieces[first].iov_base + moved;
        pieces[first].iov_len -= moved;
    }
    return first;
}

int bloomery_write_pieces(int file, uint64_t offset, struct iovec *pieces, int count,
                          uint64_t *moved)
{
    assert(file >= 0);
    for (int first = advance(pieces, 0, count, 0); first < count;) {
        const ssize_t now = pwritev(file, pieces + first, count - first, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        *moved += (uint64_t)now;
        offset += (uint64_t)now;
        first = advance(pieces, first, count, (size_t)now);
    }
    return 0;
}

int bloomery_write_at(int file, uint64_t offset, const void *data, size_t bytes)
{
    struct iovec piece;
    uint64_t moved = 0;
    int reason = 0;
    while (bytes > moved && reason == 0) {
        const uint8_t *next = (const uint8_t *)data + moved;
        memcpy(&piece.iov_base, &next, sizeof next); /* it is not written to */
        piece.iov_len = bytes - moved < piece_max ? (size_t)(bytes - moved) : piece_max;
        reason = bloomery_write_pieces(file, offset + moved, &piece, 1, &moved);
    }
    return reason;
}

int bloomery_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved)
{
    uint8_t *next = to;
    assert(file >= 0);
    while (bytes > 0) {
        const size_t piece = bytes < piece_max ? bytes : piece_max;
        const ssize_t now = pread(file, next, piece, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : 0;
        *moved += (uint64_t)now;
        offset += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

int bloomery_sync(int file)
{
    int result;
    do
#if defined(__APPLE__)
        result = fcntl(file, F_FULLFSYNC) == 0 ? 0 : fsync(file); /* not all file systems have it */
#else
        result = fsync(file);
#endif
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int bloomery_sync_data(int file)
{
    int result;
    do
#if defined(__APPLE__)
        result = fcntl(file, F_FULLFSYNC) == 0 ? 0 : fsync(file);
#else
        result = fdatasync(file);
#endif
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* ---- Files that are read --------------------------------------------------------------------- */

bloomery_status bloomery_file_open(const char *path, int *file, bloomery_error *error)
{
    /* O_NONBLOCK: opening a FIFO by mistake must not hang; it means nothing for regular files. */
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*file < 0 && errno == ENXIO) /* a socket */
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "%s: is not a regular file", path);
    return *file >= 0 ? BLOOMERY_OK : bloomery_fail_system(error, errno, "%s", path);
}

void bloomery_file_close(int file)
{
    close(file);
}

bloomery_status bloomery_file_size(int file, const char *name, uint64_t *bytes,
                                   bloomery_error *error)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return bloomery_fail_system(error, errno, "%s", name);
    if (!S_ISREG(facts.st_mode))
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "%s: %s", name,
                             S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file");
    assert(facts.st_size >= 0);
    *bytes = (uint64_t)facts.st_size;
    return BLOOMERY_OK;
}

bloomery_status bloomery_file_read(int file, uint64_t offset, void *to, size_t bytes,
                                   bloomery_error *error)
{
    uint64_t moved = 0;
    const int reason = bloomery_read_at(file, offset, to, bytes, &moved);
    if (reason != 0)
        return bloomery_fail_system(error, reason, "reading at byte %llu",
                                    (unsigned long long)(offset + moved));
    if (moved < bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, offset + moved,
                             "the file ended while it was read, at byte %llu",
                             (unsigned long long)(offset + moved));
    return BLOOMERY_OK;
}

/*
 * A map that begins at a multiple of 2 MiB, as the file does. Only then can the kernel serve it
 * with huge pages, if it has them for this file system (most do not, yet). Address space is taken
 * first, and the file put over it.
 */
static void *map_aligned(int file, size_t bytes)
{
    void *space = bloomery_pages(bytes, PROT_NONE);
    if (space == NULL)
        return MAP_FAILED;
    void *data = mmap(space, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
    if (data == MAP_FAILED)
        munmap(space, bytes);
    else
        bloomery_pages_wish(data, bytes, true);
    return data;
}

bloomery_status bloomery_map_file(int file, size_t bytes, struct bloomery_map *map,
                                  bloomery_error *error)
{
    assert(bytes > 0);
    /* Below some MiB the further calls gain nothing. */
    void *data = bytes >= 4 * BLOOMERY_HUGE_PAGE ? map_aligned(file, bytes) : MAP_FAILED;
    if (data == MAP_FAILED)
        data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED)
        return bloomery_fail_system(error, errno, "mapping %llu bytes", (unsigned long long)bytes);
    assert(map->data == NULL); /* a map that is still open would be lost */
    map->data = data;
    map->bytes = bytes;
    return BLOOMERY_OK;
}

void bloomery_unmap(struct bloomery_map *map)
{
    assert((map->data != NULL) == (map->bytes > 0));
    if (map->data != NULL)
        munmap(map->data, map->bytes);
    map->data = NULL;
    map->bytes = 0;
}

void bloomery_map_forget(const uint8_t *from, const uint8_t *to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)from / page * page;
    const uintptr_t end = (uintptr_t)to / page * page;
    if (end > begin)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* ---- Temporary files ------------------------------------------------------------------------- */

bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error)
{
    char path[PATH_MAX];
    int reason = EOPNOTSUPP;
#if defined(O_TMPFILE)
    *file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0)
        return BLOOMERY_OK;
    reason = errno;
#endif
    /* Not every file system has unnamed files: there it gets a name, and loses it at once. */
    if ((reason == EOPNOTSUPP || reason == EISDIR || reason == EINVAL) &&
        snprintf(path, sizeof path, "%s/.bloomery-XXXXXX", directory) < (int)sizeof path) {
        *file = mkostemp(path, O_CLOEXEC);
        if (*file >= 0) {
            unlink(path);
            return BLOOMERY_OK;
        }
        reason = errno;
    }
    return bloomery_fail_system(error, reason, "making a temporary file in %s", directory);
}

void bloomery_scratch_close(int file)
{
    close(file);
}

static bloomery_status written(int reason, const char *directory, bloomery_error *error)
{
    return reason == 0
               ? BLOOMERY_OK
               : bloomery_fail_system(error, reason, "writing a temporary file in %s", directory);
}

bloomery_status bloomery_scratch_write(int file, uint64_t at, const void *data, size_t bytes,
                                       const char *directory, bloomery_error *error)
{
    return written(bloomery_write_at(file, at, data, bytes), directory, error);
}

bloomery_status bloomery_scratch_resize(int file, uint64_t bytes, const char *directory,
                                        bloomery_error *error)
{
    return written(ftruncate(file, (off_t)bytes) == 0 ? 0 : errno, directory, error);
}

int bloomery_scratch_read(int file, uint64_t at, void *to, size_t bytes)
{
    uint64_t moved = 0;
    const int reason = bloomery_read_at(file, at, to, bytes, &moved);
    return reason == 0 && moved < bytes ? EIO : reason;
}

/* ---- Replacing a file ------------------------------------------------------------------------ */

/*
 * The order that makes a replacement safe against a power cut:
 *
 *     write the new file  ->  fsync it  ->  rename it over the target  ->  fsync the directory
 *
 * Without the first fsync the name could reach the disk before the content (an empty file after a
 * cut). Without the second the caller could get "saved" although the old file may come back.
 */

/* Splits a resolved path and opens its directory. */
static bloomery_status open_directory(struct bloomery_replacement *replacement, char *path,
                                      bloomery_error *error)
{
    char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *directory = slash == NULL ? "." : slash == path ? "/" : path;
    if (name[0] == '\0' || strlen(name) >= sizeof replacement->target)
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "%s: not a file name", path);
    memcpy(replacement->target, name, strlen(name) + 1);
    if (slash != NULL)
        *slash = '\0';
    replacement->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (replacement->directory < 0)
        return bloomery_fail_system(error, errno, "opening the directory %s", directory);
    return BLOOMERY_OK;
}

/* A name beside the target that no other process uses. */
static void choose_name(struct bloomery_replacement *replacement)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t random[12];
#if defined(__APPLE__)
    const bool drawn = getentropy(random, sizeof random) == 0;
#else
    const bool drawn = getrandom(random, sizeof random, GRND_NONBLOCK) == (ssize_t)sizeof random;
#endif
    if (!drawn)
        memset(random, (int)(getpid() & 0xff), sizeof random);
    char suffix[sizeof random + 1];
    for (size_t i = 0; i < sizeof random; i++)
        suffix[i] = letters[random[i] & 31];
    suffix[sizeof random] = '\0';
    snprintf(replacement->temporary, sizeof replacement->temporary, ".%.200s.%s.tmp",
             replacement->target, suffix);
}

static bloomery_status open_new_file(struct bloomery_replacement *replacement, mode_t mode,
                                     bloomery_error *error)
{
    const int flags = O_WRONLY | O_CLOEXEC;
    choose_name(replacement);
    replacement->named = false;
#if defined(O_TMPFILE)
    /* Not every file system has unnamed files, and without /proc they could not be given a name. */
    if (access("/proc/self/fd", X_OK) == 0)
        replacement->file = openat(replacement->directory, ".", O_TMPFILE | flags, mode);
#endif
    if (replacement->file >= 0)
        return BLOOMERY_OK;
    for (int attempt = 0; attempt < 8; attempt++) {
        replacement->file =
            openat(replacement->directory, replacement->temporary, O_CREAT | O_EXCL | flags, mode);
        if (replacement->file >= 0) {
            replacement->named = true;
            return BLOOMERY_OK;
        }
        if (errno != EEXIST)
            break;
        choose_name(replacement);
    }
    return bloomery_fail_system(error, errno, "creating a file beside %s", replacement->target);
}

bloomery_status bloomery_replacement_begin(struct bloomery_replacement *replacement,
                                           const char *path, mode_t mode, bloomery_error *error)
{
    char resolved[PATH_MAX];
    struct stat facts;
    replacement->file = -1;
    replacement->directory = -1;
    replacement->named = false;
    replacement->bytes = 0;
    bool exists = stat(path, &facts) == 0;
    if (!exists && errno == ENOENT && lstat(path, &facts) == 0)
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0,
                             "%s: a symbolic link to a file that does not exist", path);
    if (exists && !S_ISREG(facts.st_mode))
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "%s: %s", path,
                             S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file");
    if (exists) {
        if (realpath(path, resolved) == NULL)
            return bloomery_fail_system(error, errno, "%s", path);
    } else if (snprintf(resolved, sizeof resolved, "%s", path) >= (int)sizeof resolved) {
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "the path is too long");
    }
    bloomery_status status = open_directory(replacement, resolved, error);
    if (status == BLOOMERY_OK)
        status = open_new_file(replacement, mode, error);
    if (status == BLOOMERY_OK && exists) {
        /* Only root may keep the owner; any other user becomes the owner. */
        if (facts.st_uid != geteuid() || facts.st_gid != getegid())
            (void)!fchown(replacement->file, facts.st_uid, facts.st_gid);
        (void)!fchmod(replacement->file, facts.st_mode & 07777);
    }
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(replacement);
    return status;
}

bloomery_status bloomery_replacement_write(struct bloomery_replacement *replacement,
                                           const void *data, size_t bytes, bloomery_error *error)
{
    const int reason = bloomery_write_at(replacement->file, replacement->bytes, data, bytes);
    if (reason != 0)
        return bloomery_fail_system(error, reason, "writing %s", replacement->target);
    replacement->bytes += bytes;
    return BLOOMERY_OK;
}

/* Gives an unnamed file its temporary name; a rename can then replace the target in one step, which
 * a link cannot. */
static bloomery_status give_name(struct bloomery_replacement *replacement, bloomery_error *error)
{
    char descriptor[40];
    if (replacement->named)
        return BLOOMERY_OK;
    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", replacement->file);
    if (linkat(AT_FDCWD, descriptor, replacement->directory, replacement->temporary,
               AT_SYMLINK_FOLLOW) != 0)
        return bloomery_fail_system(error, errno, "naming the new file beside %s",
                                    replacement->target);
    replacement->named = true;
    return BLOOMERY_OK;
}

bloomery_status bloomery_replacement_commit(struct bloomery_replacement *replacement,
                                            bloomery_error *error)
{
    assert(replacement->file >= 0);
    int reason = bloomery_sync(replacement->file);
    if (reason != 0)
        return bloomery_fail_system(error, reason, "syncing %s", replacement->target);
    bloomery_status status = give_name(replacement, error);
    if (status != BLOOMERY_OK)
        return status;
    if (renameat(replacement->directory, replacement->temporary, replacement->directory,
                 replacement->target) != 0)
        return bloomery_fail_system(error, errno, "renaming the new file to %s",
                                    replacement->target);
    replacement->named = false; /* the temporary name is gone: nothing to remove */
    /* Some file systems cannot sync directories and say EINVAL: nothing more can be done there. */
    reason = bloomery_sync(replacement->directory);
    if (reason != 0 && reason != EINVAL && reason != ENOTSUP)
        return bloomery_fail_system(error, reason,
                                    "%s is written, but syncing its directory failed, so it might "
                                    "not survive a power cut",
                                    replacement->target);
    close(replacement->file);
    close(replacement->directory);
    replacement->file = replacement->directory = -1;
    return BLOOMERY_OK;
}

void bloomery_replacement_abandon(struct bloomery_replacement *replacement)
{
    if (replacement->named)
        unlinkat(replacement->directory, replacement->temporary, 0);
    if (replacement->file >= 0)
        close(replacement->file);
    if (replacement->directory >= 0)
        close(replacement->directory);
    replacement->named = false;
    replacement->file = replacement->directory = -1;
}

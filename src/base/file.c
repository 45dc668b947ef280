/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order that makes a replacement safe against a power cut:
 *
 *     write the new file  ->  fsync it  ->  rename it over the target  ->  fsync the directory
 *
 * Without the first fsync the name could reach the disk before the content (an empty file after a
 * cut). Without the second the caller could get "saved" although the old file may come back.
 */
#include "base/file.h"

#include "base/error.h"
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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

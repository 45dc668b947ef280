/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a recovery, and what is set aside in its folder before it is overwritten
 * (recover.h). */
#include "sieve/recover/recover.h"

#include "base/error.h"
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLDERS = 10000, /* names that are tried */
    COPY = 65536,
};

void bloomery_recovery_tell(struct bloomery_recovery *recovery, const char *format, ...)
{
    char text[240];
    va_list arguments;
    recovery->result.damaged++;
    if (recovery->report == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    recovery->report(recovery->context, text);
}

/* ---- What is set aside ------------------------------------------------------------------- */

static bloomery_status make_folder(struct bloomery_recovery *recovery, bloomery_error *error)
{
    const int directory = recovery->sieve->store.directory;
    char *name = recovery->result.folder;
    int made = -1;
    if (recovery->folder >= 0)
        return BLOOMERY_OK;
    for (int i = 1; i < FOLDERS && made != 0; i++) {
        snprintf(name, sizeof recovery->result.folder, "set-aside.%d", i);
        made = mkdirat(directory, name, 0777);
        if (made != 0 && errno != EEXIST)
            break;
    }
    if (made == 0)
        recovery->folder = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return recovery->folder >= 0
               ? BLOOMERY_OK
               : bloomery_fail_system(error, errno, "making %s/%s", recovery->sieve->path, name);
}

/* Bytes of an open file, up to `end` or as far as it goes, as `name` in the folder. */
static bloomery_status copy_bytes(struct bloomery_recovery *recovery, int from, uint64_t at,
                                  uint64_t end, const char *name, bloomery_error *error)
{
    /* As private as what it is copied from: MANIFEST has the secret of the hash. */
    struct stat facts;
    const mode_t mode = fstat(from, &facts) == 0 ? facts.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)
                                                 : S_IRUSR | S_IWUSR;
    assert(recovery->folder >= 0 && at <= end);
    const int to = openat(recovery->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int reason = to < 0 ? errno : 0;
    uint64_t done = 0, got = COPY;
    while (reason == 0 && got == COPY && at + done < end) {
        const uint64_t left = end - at - done;
        got = 0;
        reason = bloomery_read_at(from, at + done, recovery->area,
                                  left < COPY ? (size_t)left : COPY, &got);
        if (reason == 0)
            reason = bloomery_write_at(to, done, recovery->area, (size_t)got);
        done += got;
    }
    if (reason == 0)
        reason = bloomery_sync(to);
    if (to >= 0)
        close(to);
    recovery->result.aside += reason == 0;
    return reason == 0 ? BLOOMERY_OK
                       : bloomery_fail_system(error, reason, "copying to %s/%s/%s",
                                              recovery->sieve->path, recovery->result.folder, name);
}

bloomery_status bloomery_recovery_keep(struct bloomery_recovery *recovery, const char *name,
                                       bloomery_error *error)
{
    const int directory = recovery->sieve->store.directory;
    bloomery_status status = make_folder(recovery, error);
    if (status != BLOOMERY_OK)
        return status;
    if (linkat(directory, name, recovery->folder, name, 0) == 0) {
        recovery->result.aside++;
        return BLOOMERY_OK;
    }
    if (errno == EEXIST || errno == ENOENT)
        return BLOOMERY_OK;
    /* A file system without links. */
    const int from = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (from < 0)
        return bloomery_fail_system(error, errno, "opening %s/%s", recovery->sieve->path, name);
    status = copy_bytes(recovery, from, 0, UINT64_MAX, name, error);
    close(from);
    return status;
}

bloomery_status bloomery_recovery_keep_part(struct bloomery_recovery *recovery,
                                            const struct bloomery_store_file *file, uint64_t from,
                                            uint64_t end, bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    char part[BLOOMERY_FILE_NAME + 32];
    bloomery_store_name(file->kind, file->number, file->generation, name);
    snprintf(part, sizeof part, "%s.from-%" PRIu64, name, from);
    const bloomery_status status = make_folder(recovery, error);
    return status == BLOOMERY_OK ? copy_bytes(recovery, file->file, from, end, part, error)
                                 : status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sieve/internal.h"

#include "base/error.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* If the one above can't be read or synced, that is its owner's choice. */
bloomery_status bloomery_directory_sync_parent(const bloomery_sieve *sieve, bloomery_error *error)
{
    assert(sieve->store.directory >= 0 && !sieve->store.read_only);
    const int parent = openat(sieve->store.directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = parent >= 0 && fsync(parent) == 0;
    const int reason = errno;
    if (parent >= 0)
        close(parent);
    return good || reason == EACCES || reason == EINVAL || reason == ENOTSUP
               ? BLOOMERY_OK
               : bloomery_fail_system(error, reason, "syncing the directory above %s", sieve->path);
}

static bloomery_status find_real_path(bloomery_sieve *sieve, bloomery_error *error)
{
    assert(sieve->real_path == NULL);
    char *real = realpath(sieve->path, NULL);
    if (real == NULL)
        return bloomery_fail_system(error, errno, "finding the directory %s", sieve->path);
    const size_t bytes = strlen(real) + 1;
    sieve->real_path = bloomery_store_allocate(&sieve->store, bytes);
    if (sieve->real_path != NULL) {
        sieve->real_path_bytes = bytes;
        memcpy(sieve->real_path, real, bytes);
    }
    free(real);
    return sieve->real_path != NULL
               ? BLOOMERY_OK
               : bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a sieve");
}

bloomery_status bloomery_directory_enter(bloomery_sieve *sieve, bool existing,
                                         bloomery_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    if (sieve->store.directory >= 0)
        return find_real_path(sieve, error);
    int directory = open(sieve->path, flags);
    if (directory < 0 && errno == ENOENT && existing)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s: there is no such sieve",
                             sieve->path);
    if (directory < 0 && errno == ENOENT) {
        sieve->made_directory = mkdir(sieve->path, 0777) == 0;
        directory = sieve->made_directory || errno == EEXIST ? open(sieve->path, flags) : -1;
    }
    if (directory < 0)
        return bloomery_fail_system(error, errno, "opening the directory %s", sieve->path);
    sieve->store.directory = directory;
    /* Those who only read share the lock; if the file system has none for them, they go without. */
    const bool reads = sieve->store.read_only;
    const bool locked = flock(directory, (reads ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK)
        return bloomery_fail(error, BLOOMERY_BUSY, 0, "%s: another process is using it",
                             sieve->path);
    if (!locked && !reads)
        return bloomery_fail_system(error, errno, "locking %s", sieve->path);
    return find_real_path(sieve, error);
}

bloomery_status bloomery_directory_each(const bloomery_sieve *sieve,
                                        bool (*take)(void *context, const char *name),
                                        void *context, bool *all, bloomery_error *error)
{
    assert(sieve->store.directory >= 0);
    const int copy = openat(sieve->store.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;
    *all = true;
    if (directory == NULL) {
        const int reason = errno;
        if (copy >= 0)
            close(copy);
        return bloomery_fail_system(error, reason, "reading the directory %s", sieve->path);
    }
    for (const struct dirent *entry; *all && (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            *all = take(context, entry->d_name);
    closedir(directory);
    return BLOOMERY_OK;
}

/* A file that was being written when a crash came and has not got its name: ".NAME.XXXXXX.tmp". */
static bool is_nameless(const char *name, const char *of)
{
    const size_t bytes = strlen(name);
    return name[0] == '.' && strncmp(name + 1, of, strlen(of)) == 0 && bytes > 4 &&
           strcmp(name + bytes - 4, ".tmp") == 0;
}

bool bloomery_directory_is_beginning(void *context, const char *name)
{
    (void)context;
    return is_nameless(name, "MANIFEST.");
}

/* The number behind `before` in a name; `*rest` becomes what follows it, NULL if the name begins
 * otherwise. */
static uint64_t number_in(const char *name, const char *before, const char **rest)
{
    const size_t bytes = strlen(before);
    char *end = NULL;
    *rest = NULL;
    if (strncmp(name, before, bytes) != 0)
        return 0;
    const uint64_t number = strtoull(name + bytes, &end, 10);
    *rest = end;
    return number;
}

/* Names are compared with those that we would give. */
bool bloomery_directory_parse_name(const char *name, enum bloomery_file_kind *kind,
                                   uint64_t *number, uint64_t *generation)
{
    static const struct {
        const char *before;
        enum bloomery_file_kind kind;
    } forms[] = {{"seen-", BLOOMERY_FILE_SEEN},
                 {"pending-", BLOOMERY_FILE_PENDING},
                 {"queue-", BLOOMERY_FILE_QUEUE},
                 {"dead", BLOOMERY_FILE_DEAD},
                 {"filter", BLOOMERY_FILE_FILTER}};
    char exact[BLOOMERY_FILE_NAME];
    *number = 0;
    *generation = 0;
    *kind = BLOOMERY_FILE_VERDICTS;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *rest;
        const uint64_t first = number_in(name, forms[i].before, &rest);
        if (rest == NULL)
            continue;
        *kind = forms[i].kind;
        *number = first;
        *generation = number_in(rest, ".", &rest);
    }
    bloomery_store_name(*kind, *number, *generation, exact);
    return strcmp(exact, name) == 0;
}

/* False at the first file that only a sieve has. */
static bool is_foreign(void *context, const char *name)
{
    enum bloomery_file_kind kind;
    uint64_t number, generation;
    (void)context;
    return !bloomery_directory_parse_name(name, &kind, &number, &generation);
}

bloomery_status bloomery_directory_without_manifest(const bloomery_sieve *sieve, bool existing,
                                                    bloomery_error *error)
{
    bool beginning = false, foreign = true;
    bloomery_status status =
        bloomery_directory_each(sieve, bloomery_directory_is_beginning, NULL, &beginning, error);
    if (status == BLOOMERY_OK && !beginning)
        status = bloomery_directory_each(sieve, is_foreign, NULL, &foreign, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!foreign)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "%s/MANIFEST is missing: other files of a sieve are there, and which "
                             "of them count only it says",
                             sieve->path);
    if (!beginning)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "%s is not a sieve and not empty: there are other things in it",
                             sieve->path);
    return existing ? bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                                    "%s is not a sieve: it has no MANIFEST", sieve->path)
                    : BLOOMERY_OK;
}

bool bloomery_directory_is_litter(const bloomery_sieve *sieve, const char *name)
{
    enum bloomery_file_kind kind;
    uint64_t number;
    uint64_t generation;
    if (is_nameless(name, "MANIFEST.") || is_nameless(name, "filter."))
        return true;
    if (!bloomery_directory_parse_name(name, &kind, &number, &generation))
        return false;
    /* Segments that the memory engine has yet to read again count too, popped or not. */
    if (kind == BLOOMERY_FILE_QUEUE)
        return !bloomery_queue_has_segment(sieve->queue, number) &&
               (number < sieve->engine->keep_segment(sieve) ||
                number >= bloomery_queue_tail(sieve->queue).segment);
    if (kind == BLOOMERY_FILE_DEAD)
        return !bloomery_dead_names(&sieve->dead, generation);
    return !sieve->engine->names(sieve, kind, number, generation);
}

static bool remove_litter(void *context, const char *name)
{
    const bloomery_sieve *sieve = context;
    if (bloomery_directory_is_litter(sieve, name))
        (void)!unlinkat(sieve->store.directory, name, 0);
    return true;
}

bloomery_status bloomery_directory_tidy(bloomery_sieve *sieve, bloomery_error *error)
{
    bool all;
    assert(!sieve->store.read_only);
    return bloomery_directory_each(sieve, remove_litter, sieve, &all, error);
}

/* ---- Warnings -------------------------------------------------------------------------------- */

/* Warnings: a caller should know, but nothing failed. */

void bloomery_sieve_warn(bloomery_sieve *sieve, const char *format, ...)
{
    char text[240];
    va_list arguments;
    if (sieve->warning == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sieve->warning(sieve->warning_context, text);
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

/* The clock on the wall. */

/* A clock that was never set may stand before 1970: it counts as 1970, for leases end at no
 * negative time. */
double bloomery_sieve_wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0 ? 0 : (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See map.h. */
#include "base/map.h"

#include "base/error.h"
#include "base/io.h"
#include "base/pages.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

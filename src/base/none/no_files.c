/* SPDX-License-Identifier: Apache-2.0 */
/* base/file.h, map.h and scratch.h where there are no files. What would open one fails with a
 * sentence that says what to call instead; the rest is never reached. */
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/scratch.h"

#include <assert.h>

static bloomery_status no_files(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "this build of the library has no files: bloomery_load and bloomery_view "
                         "take a file's bytes, and bloomery_write makes them");
}

static bloomery_status never(bloomery_error *error)
{
    assert(false && "there is no file");
    return no_files(error);
}

bloomery_status bloomery_file_open(const char *path, int *file, bloomery_error *error)
{
    (void)path;
    *file = -1;
    return no_files(error);
}

void bloomery_file_close(int file)
{
    (void)file;
}

/* bloomery_open and _map of a descriptor get here. */
bloomery_status bloomery_file_size(int file, const char *name, uint64_t *bytes,
                                   bloomery_error *error)
{
    (void)file;
    (void)name;
    *bytes = 0;
    return no_files(error);
}

bloomery_status bloomery_file_read(int file, uint64_t offset, void *to, size_t bytes,
                                   bloomery_error *error)
{
    (void)file;
    (void)offset;
    (void)to;
    (void)bytes;
    return never(error);
}

bloomery_status bloomery_map_file(int file, size_t bytes, struct bloomery_map *map,
                                  bloomery_error *error)
{
    (void)file;
    (void)bytes;
    (void)map;
    return never(error);
}

void bloomery_unmap(struct bloomery_map *map)
{
    assert(map->data == NULL);
    (void)map;
}

void bloomery_map_forget(const uint8_t *from, const uint8_t *to)
{
    (void)from;
    (void)to;
}

bloomery_status bloomery_replacement_begin(struct bloomery_replacement *replacement,
                                           const char *path, mode_t mode, bloomery_error *error)
{
    (void)replacement;
    (void)path;
    (void)mode;
    return no_files(error);
}

bloomery_status bloomery_replacement_write(struct bloomery_replacement *replacement,
                                           const void *data, size_t bytes, bloomery_error *error)
{
    (void)replacement;
    (void)data;
    (void)bytes;
    return never(error);
}

bloomery_status bloomery_replacement_commit(struct bloomery_replacement *replacement,
                                            bloomery_error *error)
{
    (void)replacement;
    return never(error);
}

void bloomery_replacement_abandon(struct bloomery_replacement *replacement)
{
    (void)replacement;
}

bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error)
{
    (void)directory;
    *file = -1;
    return no_files(error);
}

void bloomery_scratch_close(int file)
{
    (void)file;
}

bloomery_status bloomery_scratch_write(int file, uint64_t at, const void *data, size_t bytes,
                                       const char *directory, bloomery_error *error)
{
    (void)file;
    (void)at;
    (void)data;
    (void)bytes;
    (void)directory;
    return never(error);
}

bloomery_status bloomery_scratch_resize(int file, uint64_t bytes, const char *directory,
                                        bloomery_error *error)
{
    (void)file;
    (void)bytes;
    (void)directory;
    return never(error);
}

int bloomery_scratch_read(int file, uint64_t at, void *to, size_t bytes)
{
    (void)file;
    (void)at;
    (void)to;
    (void)bytes;
    return -1;
}

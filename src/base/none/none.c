/* SPDX-License-Identifier: Apache-2.0 */
/* The second form of base/system.c, threads.c and io.c, for a build without a system. */
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/threads.h"

#include <assert.h>
#include <bloomery/embedded.h>
#include <stdio.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Without a kernel to ask, all memory is the C library's. */

size_t bloomery_pages_from(void)
{
    return SIZE_MAX;
}

/* Never called, then: no block is as large. */
void *bloomery_pages_take(size_t bytes, bool huge)
{
    (void)bytes;
    (void)huge;
    return NULL;
}

void bloomery_pages_give(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void bloomery_pages_hide(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

size_t bloomery_pages_touch(uint8_t *memory, size_t bytes)
{
    bloomery_pages_touch_each(memory, bytes, BLOOMERY_PAGES_ALIGNMENT);
    return bytes;
}

const char *bloomery_limits_root(void)
{
    return "";
}

void bloomery_limits_read(const char *root, bloomery_limits *limits)
{
    (void)root;
    limits->machine = limits->machine_left = UINT64_MAX;
    limits->container = limits->container_left = UINT64_MAX;
    limits->process = limits->process_left = UINT64_MAX;
}

uint64_t bloomery_limits_container(void)
{
    return UINT64_MAX;
}

uint64_t bloomery_limits_spare(uint64_t limit, uint64_t left)
{
    (void)limit;
    return left;
}

/* ---- Random bytes ---------------------------------------------------------------------------- */

/* The program that the library is built into gives them. */

bool bloomery_random(void *to, size_t bytes)
{
    assert(bytes <= 256);
    return bloomery_embedded_random(to, bytes) == 0;
}

/* ---- What an errno means --------------------------------------------------------------------- */

const char *bloomery_reason(int error_number, char *room, size_t bytes)
{
    snprintf(room, bytes, "error %d", error_number);
    return room;
}

/* ---- One thread ------------------------------------------------------------------------------ */

/* In builds with asserts, locks still find the one that is taken twice or never given back: with
 * threads that would be a standstill. */

enum { OPEN = 0x5a, HELD = 0xa5 };

bool bloomery_lock_begin(struct bloomery_lock *lock)
{
    lock->system[0] = OPEN;
    return true;
}

void bloomery_lock_end(struct bloomery_lock *lock)
{
    assert(lock->system[0] == OPEN);
    (void)lock;
}

void bloomery_lock(struct bloomery_lock *lock)
{
    assert(lock->system[0] == OPEN);
    lock->system[0] = HELD;
}

bool bloomery_try_lock(struct bloomery_lock *lock)
{
    const bool free = lock->system[0] == OPEN;
    lock->system[0] = HELD;
    return free;
}

void bloomery_unlock(struct bloomery_lock *lock)
{
    assert(lock->system[0] == HELD);
    lock->system[0] = OPEN;
}

void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads)
{
    assert(threads >= 1 && threads <= BLOOMERY_WORKERS_MAX);
    (void)threads;
    work(context, 0);
}

uint32_t bloomery_processors(void)
{
    return 1;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* What would open one fails with a sentence that says what to call instead; the rest is never
 * reached. */

static bloomery_status no_files(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "this build of the library has no files: bloomery_load and bloomery_view "
                         "take a file's bytes, and bloomery_write makes them");
}

static bloomery_status never(bloomery_error *error)
{
    assert(false && "no file was opened");
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

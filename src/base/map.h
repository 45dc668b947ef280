/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are read: opened once, their size read once, then read or mapped. */
#ifndef BLOOMERY_BASE_MAP_H
#define BLOOMERY_BASE_MAP_H

#include <bloomery/bloomery.h>

struct bloomery_map {
    uint8_t *data; /* NULL: nothing mapped */
    size_t bytes;
};

/* Opens a file for reading. */
bloomery_status bloomery_file_open(const char *path, int *file, bloomery_error *error);

void bloomery_file_close(int file);

/* The bytes of a regular file; no other is accepted. `name` is for the message. */
bloomery_status bloomery_file_size(int file, const char *name, uint64_t *bytes,
                                   bloomery_error *error);

/* Reads exactly `bytes` bytes from `offset`. BLOOMERY_TRUNCATED if the file ends before. */
bloomery_status bloomery_file_read(int file, uint64_t offset, void *to, size_t bytes,
                                   bloomery_error *error);

/* Maps the first `bytes` (> 0) bytes read-only. The map outlives the descriptor. */
bloomery_status bloomery_map_file(int file, size_t bytes, struct bloomery_map *map,
                                  bloomery_error *error);
void bloomery_unmap(struct bloomery_map *map);

/* Gives the pages of a map back to the system, from the one with `from` to the last one before that
 * with `to`: they are read again when needed. */
void bloomery_map_forget(const uint8_t *from, const uint8_t *to);

#endif

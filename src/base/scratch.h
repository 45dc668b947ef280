/* SPDX-License-Identifier: Apache-2.0 */
/* A file that nobody else sees and that is gone with its descriptor, whatever ends the process. */
#ifndef BLOOMERY_BASE_SCRATCH_H
#define BLOOMERY_BASE_SCRATCH_H

#include <bloomery/bloomery.h>

/* For reading and writing, for its owner only. `directory` is for the messages of the others, too.
 */
bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error);
void bloomery_scratch_close(int file);

bloomery_status bloomery_scratch_write(int file, uint64_t at, const void *data, size_t bytes,
                                       const char *directory, bloomery_error *error);
bloomery_status bloomery_scratch_resize(int file, uint64_t bytes, const char *directory,
                                        bloomery_error *error);

/* Exactly `bytes` bytes. 0 or an errno. */
int bloomery_scratch_read(int file, uint64_t at, void *to, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole transfers. A system call may move fewer bytes than it was given, and a signal may interrupt
 * it. These go on until all is done. They return 0 or an errno.
 */
#ifndef BLOOMERY_BASE_IO_H
#define BLOOMERY_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Writes the pieces one behind the other, from `offset` on, and uses them up. `moved` grows by the
 * bytes that were written, even if the next ones failed. EIO if the system takes none. */
int bloomery_write_pieces(int file, uint64_t offset, struct iovec *pieces, int count,
                          uint64_t *moved);
int bloomery_write_at(int file, uint64_t offset, const void *data, size_t bytes);

/* Reads `bytes` bytes from `offset`, or as many as the file has. `moved` grows by the bytes that
 * were read, even if the next ones failed. */
int bloomery_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved);

/* What an errno means, in `room` or in memory that stays. Any thread. */
const char *bloomery_reason(int error_number, char *room, size_t bytes);

/* fsync and fdatasync. */
int bloomery_sync(int file);
int bloomery_sync_data(int file);

#endif

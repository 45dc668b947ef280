/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole transfers. A system call may move fewer bytes than it was given, and a signal may interrupt
 * it. These go on until all is done. They return 0 or an errno. `moved` grows by the bytes that
 * were moved, even if the next ones failed.
 */
#ifndef BLOOMERY_TOOL_IO_H
#define BLOOMERY_TOOL_IO_H

#include <stddef.h>
#include <stdint.h>

/* Opens a file of the command's own for reading. What is not a regular file, such as a FIFO or a
 * socket, is refused and not waited for. -1, and `why` says the reason; it stays until the next
 * strerror. */
int tool_open_regular(const char *path, const char **why);

/* EIO if the system takes none. */
int tool_write_all(int file, const void *data, size_t bytes, uint64_t *moved);
int tool_write_at(int file, uint64_t offset, const void *data, size_t bytes);

/* `bytes` bytes, or as many as the file has. */
int tool_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved);

#endif /* BLOOMERY_TOOL_IO_H */

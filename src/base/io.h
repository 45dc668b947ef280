/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole transfers, files that are read or mapped, temporary ones, and the replacement of
 * one. */
#ifndef BLOOMERY_BASE_IO_H
#define BLOOMERY_BASE_IO_H

#include <bloomery/bloomery.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- Whole transfers ------------------------------------------------------------------------- */

/* A system call may move fewer bytes than it was given, and a signal may interrupt it. These go on
 * until all is done. They return 0 or an errno. */

/* Writes the pieces one behind the other, from `offset` on, and uses them up. `moved` grows by the
 * bytes that were written, even if the next ones failed. EIO if the system takes none. */
int bloomery_write_pieces(int file, uint64_t offset, struct iovec *pieces, int count,
                          uint64_t *moved);
int bloomery_write_at(int file, uint64_t offset, const void *data, size_t bytes);

/* Reads `bytes` bytes from `offset`, or as many as the file has. `moved` grows by the bytes that
 * were read, even if the next ones failed. */
int bloomery_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved);

/* fsync and fdatasync. */
int bloomery_sync(int file);
int bloomery_sync_data(int file);

/* ---- Files that are read --------------------------------------------------------------------- */

/* Opened once, their size read once, then read or mapped. */

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

/* ---- Temporary files ------------------------------------------------------------------------- */

/* A file that nobody else sees and that is gone with its descriptor, whatever ends the process. */

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

/* ---- Replacing a file ------------------------------------------------------------------------ */

/* So that its name holds the old content or the new one, whole, come what may. */

struct bloomery_replacement {
    int directory;    /* the directory of the target */
    int file;         /* the new file, open for writing */
    bool named;       /* the new file has a name already: `temporary` */
    uint64_t bytes;   /* written so far */
    char target[256]; /* names within the directory */
    char temporary[256];
};

/*
 *   begin    resolves the target (through symbolic links) and opens a new file in its directory,
 *            one without a name where the system can, so that kill -9 leaves no litter there.
 *            A new target gets `mode` less the umask; an existing one keeps its own.
 *   write    appends.
 *   commit   syncs the new file, gives it the target's name in one step, syncs the directory.
 *   abandon  removes the new file. To be called after a failed write or commit, and only then.
 */
bloomery_status bloomery_replacement_begin(struct bloomery_replacement *replacement,
                                           const char *path, mode_t mode, bloomery_error *error);
bloomery_status bloomery_replacement_write(struct bloomery_replacement *replacement,
                                           const void *data, size_t bytes, bloomery_error *error);
bloomery_status bloomery_replacement_commit(struct bloomery_replacement *replacement,
                                            bloomery_error *error);
void bloomery_replacement_abandon(struct bloomery_replacement *replacement);

#endif /* BLOOMERY_BASE_IO_H */

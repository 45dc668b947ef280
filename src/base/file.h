/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a file so that its name holds the old content or the new one, whole, come what may. */
#ifndef BLOOMERY_BASE_FILE_H
#define BLOOMERY_BASE_FILE_H

#include <bloomery/bloomery.h>

#include <sys/types.h>

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
 *            one without a name where the system can, so that kill -9 hardly ever leaves litter.
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

#endif

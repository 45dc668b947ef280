/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a command has mapped, and that another program may write to. A filter that is
 * overwritten in place gives neither the old answers nor the new ones; one that is cut short ends
 * the program by SIGBUS. A new file that takes the name by rename does no harm: the map stays the
 * old one.
 */
#ifndef BLOOMERY_TOOL_WATCHED_H
#define BLOOMERY_TOOL_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* From now on the file is watched. `path` must stay. `facts` are those from before it was read, and
 * the map is `bytes` at `data`. Maps that another program cuts short end this one with a message
 * that names the file, and with TOOL_ERROR. */
void tool_watched_add(const char *path, const struct stat *facts, const void *data, size_t bytes);

/* Maps the first `bytes` bytes of a regular file to be read, and watches it until the map is given
 * back, which ends the program as tool_watched_check does. NULL if it can't be mapped. */
void *tool_watched_map(int file, const char *path, uint64_t bytes);
void tool_watched_unmap(void *map, size_t bytes);

/* Whether all watched files are as they were. False after a message. */
bool tool_watched_unchanged(void);

/* Ends the program with TOOL_ERROR after a message if a watched file was changed. For places where
 * answers leave, and where input is waited for. */
void tool_watched_check(void);

#endif /* BLOOMERY_TOOL_WATCHED_H */

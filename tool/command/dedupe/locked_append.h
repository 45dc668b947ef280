/* SPDX-License-Identifier: Apache-2.0 */
/* A file of lines that grows at its end. No other process of ours touches it meanwhile. */
#ifndef BLOOMERY_TOOL_LOCKED_APPEND_H
#define BLOOMERY_TOOL_LOCKED_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_appended {
    const char *path;
    int descriptor;          /* -1: not open */
    unsigned char delimiter; /* ends a record */
    bool unended;            /* the last record has no delimiter yet */
    bool made;               /* it did not exist before */
    uint64_t bytes;          /* all of them whole records, but for an unended last one */
};

/* Opens the file, or makes it, and locks it; waits if another holds the lock. Refuses a file that
 * is not regular, is packed, or is a filter. False after a message. */
bool tool_appended_open(struct tool_appended *file, const char *path, unsigned char delimiter);

/* Appends whole records. If that fails the file is cut back to whole records; false after a
 * message. */
bool tool_appended_write(struct tool_appended *file, const void *records, size_t bytes);

/* Closes it, and removes it if it was made for nothing. False after a message if the system reports
 * only now that writing failed. */
bool tool_appended_close(struct tool_appended *file);

#endif /* BLOOMERY_TOOL_LOCKED_APPEND_H */

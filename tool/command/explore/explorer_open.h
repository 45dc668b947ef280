/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that the user is to see: in the temporary directory, and in a browser. */
#ifndef BLOOMERY_TOOL_EXPLORER_OPEN_H
#define BLOOMERY_TOOL_EXPLORER_OPEN_H

#include "command/explore/explorer_copy.h"

#include <limits.h>
#include <stdbool.h>

/* Writes the copy to a new file in TMPDIR, or else /tmp, that nobody else may read. False after a
 * message; then there is no file. */
bool tool_explorer_keep(const struct tool_explorer_copy *copy, char path[PATH_MAX]);

/* Opens a page with what the desktop has for that. If there is no desktop, or it can't, or with
 * `print`, prints the path on stdout. Returns the exit code. */
int tool_explorer_show(const char *path, bool print);

#endif /* BLOOMERY_TOOL_EXPLORER_OPEN_H */

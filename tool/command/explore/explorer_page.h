/* SPDX-License-Identifier: Apache-2.0 */
/* Where the explorer is: a page of the web, in one file, that is installed beside the command. */
#ifndef BLOOMERY_TOOL_EXPLORER_PAGE_H
#define BLOOMERY_TOOL_EXPLORER_PAGE_H

#include <limits.h>
#include <stdbool.h>

/* The whole path of a page: `given`, which may be missing, or if that is NULL the installed one.
 * False after a message. */
bool tool_explorer_path(const char *given, char path[PATH_MAX]);

/* The same of a page that is there. If it is not, the message says how to get it. */
bool tool_explorer_find(const char *given, char path[PATH_MAX]);

#endif /* BLOOMERY_TOOL_EXPLORER_PAGE_H */

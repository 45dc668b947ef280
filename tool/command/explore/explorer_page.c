/* SPDX-License-Identifier: Apache-2.0 */
#include "command/explore/explorer_page.h"

#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Meson gives this file the path that an installation has. */
#ifndef BLOOMERY_EXPLORER_PAGE
#define BLOOMERY_EXPLORER_PAGE "/usr/local/share/bloomery/explorer.html"
#endif

bool tool_explorer_path(const char *given, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *name = given == NULL ? BLOOMERY_EXPLORER_PAGE : given;
    if (name[0] == '\0')
        return !tool_usage("--page: the name is empty");
    /* What is there may have a way with dots to it, which a browser would shorten. */
    if (name[0] != '/' && realpath(name, path) != NULL)
        return true;
    int length = -1;
    if (name[0] == '/')
        length = snprintf(path, PATH_MAX, "%s", name);
    else if (getcwd(folder, sizeof(folder)) != NULL)
        length = snprintf(path, PATH_MAX, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    if (length >= 0 && length < PATH_MAX)
        return true;
    tool_error("%s: %s", name, strerror(length < 0 ? errno : ENAMETOOLONG));
    return false;
}

bool tool_explorer_find(const char *given, char path[PATH_MAX])
{
    struct stat facts;
    if (!tool_explorer_path(given, path))
        return false;
    const bool there = stat(path, &facts) == 0;
    const int reason = errno;
    if (!there && given == NULL && (reason == ENOENT || reason == ENOTDIR))
        tool_error(
            "the explorer is not installed: %s does not exist; 'make web' makes "
            "build-web/explorer.html, --page PAGE names a page, and 'make install' installs it",
            path);
    else if (!there)
        tool_error("%s: %s", given == NULL ? path : given, strerror(reason));
    else if (S_ISDIR(facts.st_mode))
        tool_error("%s: is a directory, not a page", given == NULL ? path : given);
    else
        return true;
    return false;
}

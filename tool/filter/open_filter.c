/* SPDX-License-Identifier: Apache-2.0 */
/* Opening filters: ours (files.h), and whatever a file turns out to be (foreign_file.h). */
#include "filter/files.h"
#include "filter/foreign_file.h"
#include "tool.h"

#include <string.h>

bloomery_filter *tool_filter_open(const char *path, uint32_t open_flags, const char *secret_file)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.flags = open_flags;
    return tool_filter_open_with(path, options, secret_file);
}

bloomery_filter *tool_filter_open_with(const char *path, bloomery_open_options options,
                                       const char *secret_file)
{
    return tool_filter_open_ours(path, options, secret_file, NULL);
}

bloomery_filter *tool_filter_open_ours(const char *path, bloomery_open_options options,
                                       const char *secret_file, const char *dialect_option)
{
    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_filter *filter = NULL;
    bloomery_error error;

    if (!tool_filter_is_file(path))
        return NULL;
    if (secret_file != NULL) {
        if (!tool_secret_read(secret_file, key))
            return NULL;
        options.secret = key;
    }
    bloomery_status status = bloomery_open(path, &options, &filter, &error);
    explicit_bzero(key, sizeof(key));
    if (status != BLOOMERY_OK) {
        tool_library_error(path, &error);
        if (error.status == BLOOMERY_SECRET_NEEDED && secret_file == NULL)
            tool_say("--secret-file FILE gives the secret");
        tool_foreign_hint(path, dialect_option, error.status);
        return NULL;
    }
    return filter;
}

bloomery_filter *tool_filter_open_any(const char *path, bloomery_open_options options,
                                      const char *secret_file,
                                      const struct tool_dialect_choice *chosen,
                                      struct tool_origin *origin)
{
    struct tool_origin found;
    bloomery_error error;
    if (!tool_origin_find(path, chosen, &found))
        return NULL;
    if (origin != NULL)
        *origin = found;
    if (found.dialect == NULL) {
        const char *option = chosen == NULL           ? NULL
                             : chosen->option != NULL ? chosen->option
                                                      : "--dialect";
        bloomery_filter *filter = tool_filter_open_ours(path, options, secret_file, option);
        if (filter == NULL || tool_origin_agrees(path, chosen, filter))
            return filter;
        bloomery_free(filter);
        return NULL;
    }
    if (secret_file != NULL) {
        tool_usage("--secret-file is for filters of ours; %s is one of %s", path,
                   found.dialect->name);
        return NULL;
    }
    bloomery_filter *filter = tool_filter_load(path, &options, chosen, &found, &error);
    if (filter == NULL && error.status != BLOOMERY_OK)
        tool_library_error(path, &error);
    return filter;
}

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

/* A file of ours. `dialect_option` is the option by which the command takes other systems' files,
 * for a hint if it is no file of ours. NULL: it takes none. */
static bloomery_filter *open_ours(const struct tool_filter_file *file,
                                  bloomery_open_options options, const char *secret_file,
                                  const char *dialect_option)
{
    struct tool_filter_file ours = *file;
    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_error error;
    ours.origin.dialect = NULL; /* whatever it is */
    if (secret_file != NULL) {
        if (!tool_secret_read(secret_file, key))
            return NULL;
        options.secret = key;
    }
    bloomery_filter *filter = tool_filter_load(&ours, &options, NULL, &error);
    explicit_bzero(key, sizeof(key));
    if (filter != NULL)
        return filter;
    tool_library_error(file->path, &error);
    if (error.status == BLOOMERY_SECRET_NEEDED && secret_file == NULL)
        tool_say("--secret-file FILE gives the secret");
    tool_foreign_hint(file, dialect_option, error.status);
    return NULL;
}

bloomery_filter *tool_filter_open_with(const char *path, bloomery_open_options options,
                                       const char *secret_file)
{
    struct tool_filter_file file;
    if (!tool_filter_file_open(&file, path, NULL))
        return NULL;
    bloomery_filter *filter = open_ours(&file, options, secret_file, NULL);
    tool_filter_file_close(&file);
    return filter;
}

bloomery_filter *tool_filter_open_held(const char *path, int lock, uint32_t open_flags,
                                       const char *secret_file)
{
    struct tool_filter_file file;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.flags = open_flags;
    if (!tool_filter_file_held(&file, path, lock, NULL))
        return NULL;
    bloomery_filter *filter = open_ours(&file, options, secret_file, NULL);
    tool_filter_file_close(&file);
    return filter;
}

bloomery_filter *tool_filter_open_file(const struct tool_filter_file *file,
                                       bloomery_open_options options, const char *secret_file,
                                       const struct tool_dialect_choice *chosen)
{
    bloomery_error error;
    if (file->origin.dialect == NULL) {
        const char *option = chosen == NULL           ? NULL
                             : chosen->option != NULL ? chosen->option
                                                      : "--dialect";
        bloomery_filter *filter = open_ours(file, options, secret_file, option);
        if (filter == NULL || tool_origin_agrees(file->path, chosen, filter))
            return filter;
        bloomery_free(filter);
        return NULL;
    }
    if (secret_file != NULL) {
        tool_usage("--secret-file is for filters of ours; %s is one of %s", file->path,
                   file->origin.dialect->name);
        return NULL;
    }
    bloomery_filter *filter = tool_filter_load(file, &options, chosen, &error);
    if (filter == NULL && error.status != BLOOMERY_OK) {
        tool_library_error(file->path, &error);
        tool_foreign_hint_other(file, chosen);
    }
    return filter;
}

bloomery_filter *tool_filter_open_any(const char *path, bloomery_open_options options,
                                      const char *secret_file,
                                      const struct tool_dialect_choice *chosen,
                                      struct tool_origin *origin)
{
    struct tool_filter_file file;
    if (!tool_filter_file_open(&file, path, chosen))
        return NULL;
    if (origin != NULL)
        *origin = file.origin;
    bloomery_filter *filter = tool_filter_open_file(&file, options, secret_file, chosen);
    tool_filter_file_close(&file);
    return filter;
}

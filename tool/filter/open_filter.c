/* SPDX-License-Identifier: Apache-2.0 */
/* Opening filters: ours (files.h), and whatever a file turns out to be (foreign_file.h). */
#include "filter/files.h"
#include "filter/foreign_file.h"
#include "tool.h"

#include <string.h>

/* A file of ours. `dialect_option` is the option by which the command takes other systems' files,
 * for a hint if it is no file of ours. NULL: it takes none. */
static const bloomery_filter *open_ours(const struct tool_filter_file *file,
                                        bloomery_open_options options, const char *secret_file,
                                        const char *dialect_option, bloomery_filter **copy)
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
    const bloomery_filter *filter = tool_filter_load(&ours, &options, NULL, copy, &error);
    explicit_bzero(key, sizeof(key));
    if (filter != NULL)
        return filter;
    tool_library_error(file->path, &error);
    if (error.status == BLOOMERY_SECRET_NEEDED && secret_file == NULL)
        tool_say("--secret-file FILE gives the secret");
    tool_foreign_hint(file, dialect_option, error.status);
    return NULL;
}

const bloomery_filter *tool_filter_inspect(const char *path)
{
    struct tool_filter_file file;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true;
    if (!tool_filter_file_open(&file, path, NULL))
        return NULL;
    const bloomery_filter *filter = open_ours(&file, options, NULL, NULL, NULL);
    tool_filter_file_close(&file);
    return filter;
}

/* And closes the file. */
static bloomery_filter *read_ours(struct tool_filter_file *file, bloomery_open_options options,
                                  const char *secret_file)
{
    bloomery_filter *filter = NULL;
    (void)open_ours(file, options, secret_file, NULL, &filter);
    tool_filter_file_close(file);
    return filter;
}

bloomery_filter *tool_filter_open(const char *path, bloomery_open_options options,
                                  const char *secret_file)
{
    struct tool_filter_file file;
    return tool_filter_file_open(&file, path, NULL) ? read_ours(&file, options, secret_file) : NULL;
}

bloomery_filter *tool_filter_open_held(const char *path, int lock, const char *secret_file)
{
    struct tool_filter_file file;
    const bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    return tool_filter_file_held(&file, path, lock, NULL) ? read_ours(&file, options, secret_file)
                                                          : NULL;
}

/* The file knows whose filter it has. */
static const bloomery_filter *open_agreeing(const struct tool_filter_file *file,
                                            bloomery_open_options options, const char *secret_file,
                                            const struct tool_dialect_choice *chosen,
                                            bloomery_filter **copy)
{
    const char *option = chosen == NULL              ? NULL
                         : chosen->option[0] != '\0' ? chosen->option
                                                     : "--dialect";
    const bloomery_filter *filter = open_ours(file, options, secret_file, option, copy);
    if (filter == NULL || tool_origin_agrees(file->path, chosen, filter))
        return filter;
    bloomery_free(filter);
    if (copy != NULL)
        *copy = NULL;
    return NULL;
}

const bloomery_filter *tool_filter_open_file(const struct tool_filter_file *file,
                                             bloomery_open_options options, const char *secret_file,
                                             const struct tool_dialect_choice *chosen,
                                             bloomery_filter **copy)
{
    bloomery_error error;
    if (file->origin.dialect == NULL)
        return open_agreeing(file, options, secret_file, chosen, copy);
    if (secret_file != NULL) {
        tool_usage("--secret-file is for filters of ours; %s is one of %s", file->path,
                   file->origin.dialect->name);
        return NULL;
    }
    const bloomery_filter *filter = tool_filter_load(file, &options, chosen, copy, &error);
    if (filter == NULL && error.status != BLOOMERY_OK) {
        tool_library_error(file->path, &error);
        tool_foreign_hint_other(file, chosen);
    }
    return filter;
}

const bloomery_filter *tool_filter_open_any(const char *path, bloomery_open_options options,
                                            const char *secret_file,
                                            const struct tool_dialect_choice *chosen,
                                            struct tool_origin *origin)
{
    struct tool_filter_file file;
    if (!tool_filter_file_open(&file, path, chosen))
        return NULL;
    if (origin != NULL)
        *origin = file.origin;
    const bloomery_filter *filter =
        tool_filter_open_file(&file, options, secret_file, chosen, NULL);
    tool_filter_file_close(&file);
    return filter;
}

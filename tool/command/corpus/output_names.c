/* SPDX-License-Identifier: Apache-2.0 */
/* See output_names.h. Paths are compared part by part, as they are given: "./a" is "a", and what
 * ".." would lead to is not looked up. */
#include "command/corpus/output_names.h"

#include "filter/files.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Parts of paths -------------------------------------------------------------------------- */

struct part {
    const char *at;
    size_t bytes;
};

static bool is_part(const struct part *part, const char *text)
{
    return part->bytes == strlen(text) && memcmp(part->at, text, part->bytes) == 0;
}

/* The next part of a path, from part->at + part->bytes on. False at its end. */
static bool next_part(struct part *part)
{
    do {
        part->at += part->bytes;
        part->at += strspn(part->at, "/");
        part->bytes = strcspn(part->at, "/");
    } while (is_part(part, "."));
    return part->bytes > 0;
}

static size_t count_parts(const char *path)
{
    struct part part = {path, 0};
    size_t count = 0;
    while (next_part(&part))
        count++;
    return count;
}

/* How many parts two paths share from the beginning on. */
static size_t count_shared(const char *one, const char *other)
{
    struct part a = {one, 0}, b = {other, 0};
    size_t count = 0;
    if ((one[0] == '/') != (other[0] == '/'))
        return 0;
    while (next_part(&a) && next_part(&b) && a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0)
        count++;
    return count;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int order_last_parts(const void *one, const void *other)
{
    return strcmp(last_part(*(char *const *)one), last_part(*(char *const *)other));
}

void tool_output_names_choose(struct tool_output_names *names, const char *directory,
                              const struct tool_source *all)
{
    char **paths = tool_allocate((all->count + 1) * sizeof(*paths));
    *names = (struct tool_output_names){.directory = directory};
    if (all->count > 0) {
        memcpy(paths, all->paths, all->count * sizeof(*paths));
        names->shared = count_parts(paths[0]);
        qsort(paths, all->count, sizeof(*paths), order_last_parts);
    }
    for (size_t i = 0; i < all->count; i++) {
        const size_t shared = count_shared(paths[0], paths[i]), parts = count_parts(paths[i]);
        const size_t most = shared < parts ? shared : parts > 0 ? parts - 1 : 0;
        names->shared = most < names->shared ? most : names->shared;
        names->folders =
            names->folders || (i > 0 && order_last_parts(&paths[i - 1], &paths[i]) == 0);
    }
    free(paths);
}

char *tool_output_name(const struct tool_output_names *names, const char *input)
{
    char *name = tool_allocate(strlen(input) + 1);
    struct part part = {input, 0};
    size_t used = 0;
    if (!names->folders)
        part = (struct part){last_part(input), 0};
    for (size_t i = 0; next_part(&part); i++) {
        if (names->folders && i < names->shared)
            continue;
        if (used > 0)
            name[used++] = '/';
        memcpy(name + used, part.at, part.bytes);
        used += part.bytes;
    }
    name[used] = '\0';
    return name;
}

static char *join(const char *directory, const char *name)
{
    const size_t room = strlen(directory) + strlen(name) + 2;
    char *path = tool_allocate(room);
    snprintf(path, room, "%s/%s", directory, name);
    return path;
}

bool tool_output_folders_make(const struct tool_output_names *names, const char *name)
{
    char *path = join(names->directory, name);
    bool good = true;
    for (char *slash = strchr(path + strlen(names->directory) + 1, '/'); slash != NULL && good;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        good = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!good)
            tool_error("%s: %s", path, strerror(errno));
        *slash = '/';
    }
    free(path);
    return good;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

struct named {
    char *name;
    const char *input;
};

static int order_names(const void *one, const void *other)
{
    return strcmp(((const struct named *)one)->name, ((const struct named *)other)->name);
}

bool tool_output_names_differ(const struct tool_output_names *names,
                              const struct tool_source *source)
{
    struct named *all = tool_allocate((source->count + 1) * sizeof(*all));
    bool good = true;
    for (size_t i = 0; i < source->count; i++)
        all[i] = (struct named){tool_output_name(names, source->paths[i]), source->paths[i]};
    if (source->count > 0)
        qsort(all, source->count, sizeof(*all), order_names);
    for (size_t i = 1; i < source->count && good; i++) {
        good = order_names(&all[i - 1], &all[i]) != 0;
        if (!good)
            tool_error("%s and %s would have one output, %s/%s; name each input once",
                       all[i - 1].input, all[i].input, names->directory, all[i].name);
    }
    for (size_t i = 0; i < source->count; i++)
        free(all[i].name);
    free(all);
    return good;
}

/* Whether a name leads out of the directory. */
static bool leads_out(const char *name)
{
    struct part part = {name, 0};
    while (next_part(&part))
        if (is_part(&part, ".."))
            return true;
    return false;
}

static bool may_be_a_name(const char *name, const char *input)
{
    if (tool_path_is_stdin(input) || last_part(input)[0] == '\0' || name[0] == '\0' ||
        strchr(input, '\n') != NULL ||
        strncmp(name, TOOL_JOURNAL_NAME, strlen(TOOL_JOURNAL_NAME)) == 0) {
        tool_error("%s: --output-dir needs inputs with names for their outputs",
                   tool_path_said(input));
        return false;
    }
    if (!leads_out(name))
        return true;
    tool_error("%s: inputs of one name keep their folders in --output-dir, and '..' can't be kept; "
               "name the inputs without it",
               input);
    return false;
}

static bool is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                    const char *input, const char *path)
{
    struct stat output;
    bool changed;
    const bool there = lstat(path, &output) == 0;
    if (there && tool_same_file(input, path)) {
        tool_error("%s: is in --output-dir, and would be its own output", input);
        return false;
    }
    if (tool_journal_has(journal, input, &changed)) {
        if (changed || !there)
            tool_error("%s: %s since it was deduplicated into %s; an empty --output-dir begins "
                       "anew",
                       changed ? input : path, changed ? "has changed" : "is gone",
                       names->directory);
        return !changed && there;
    }
    if (!there || tool_journal_has_begun(journal, input))
        return true;
    tool_error("%s: exists already, and is not of this run", path);
    return false;
}

bool tool_output_is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                         const char *input)
{
    char *name = tool_output_name(names, input), *path = join(names->directory, name);
    const bool good = may_be_a_name(name, input) && is_free(names, journal, input, path);
    free(path);
    free(name);
    return good;
}

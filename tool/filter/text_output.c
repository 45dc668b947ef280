/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/text_output.h"

#include "base/interrupt.h"
#include "base/io.h"
#include "filter/files.h"
#include "filter/pack.h"
#include "input/input.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool tool_text_output_is_file(const struct tool_text_output *output)
{
    return output->path != NULL && strcmp(output->path, "-") != 0;
}

bool tool_text_output_is_new(const struct tool_text_output *output)
{
    struct stat facts;
    if (!tool_text_output_is_file(output) || stat(output->path, &facts) != 0 ||
        !S_ISREG(facts.st_mode) || facts.st_size == 0)
        return true;
    tool_error("%s: exists; --force overwrites it", output->path);
    return false;
}

static bool is_filter(const char *path)
{
    unsigned char begin[TOOL_INPUT_LEAST_ROOM];
    bool undecided = false;
    const char *why;
    const int file = tool_open_regular(path, &why);
    if (file < 0)
        return false;
    const ssize_t count = read(file, begin, sizeof(begin));
    close(file);
    return count > 0 && tool_packing_of(begin, (size_t)count, &undecided) == TOOL_FILTER;
}

/* Where the file is: `resolved` ends at its directory, `target` is its last name. */
static const char *find_place(struct tool_text_output *output, bool exists, char resolved[PATH_MAX])
{
    struct stat facts;
    if (exists && realpath(output->path, resolved) == NULL)
        return strerror(errno);
    if (!exists && lstat(output->path, &facts) == 0)
        return "is a symbolic link to a file that does not exist";
    if (!exists && snprintf(resolved, PATH_MAX, "%s", output->path) >= PATH_MAX)
        return strerror(ENAMETOOLONG);
    char *slash = strrchr(resolved, '/');
    const char *name = slash == NULL ? resolved : slash + 1;
    if (name[0] == '\0' || strlen(name) > NAME_MAX)
        return "is no name of a file";
    memcpy(output->target, name, strlen(name) + 1);
    if (slash == NULL)
        memcpy(resolved, ".", 2);
    else
        slash[slash == resolved] = '\0';
    return NULL;
}

/* A name beside the target that no other process uses. */
static void choose_name(struct tool_text_output *output, const char *directory)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = (uint64_t)getpid();
    snprintf(output->temporary, sizeof(output->temporary), ".%.200s.%016llx.tmp", output->target,
             (unsigned long long)number);
    if (snprintf(output->temporary_path, PATH_MAX, "%s/%s", directory, output->temporary) >=
        PATH_MAX)
        output->temporary_path[0] = '\0';
}

/* A file that has no name until it is whole, where the file system has such; /proc then gives it
 * one. */
static int make_file(struct tool_text_output *output)
{
    const int flags = O_WRONLY | O_CLOEXEC;
    int file = -1;
    if (access("/proc/self/fd", X_OK) == 0)
        file = openat(output->directory, ".", O_TMPFILE | flags, 0666);
    output->named = file < 0;
    if (file < 0)
        file = openat(output->directory, output->temporary, O_CREAT | O_EXCL | flags, 0666);
    if (file < 0 || !output->named)
        output->temporary_path[0] = '\0';
    if (output->temporary_path[0] != '\0')
        tool_interrupt_remove_too(output->temporary_path);
    return file;
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* How a file with this name is packed. */
static enum tool_packing packing_of_name(const char *name)
{
    static const struct {
        const char *end;
        enum tool_packing packing;
    } ends[] = {{".gz", TOOL_GZIP},   {".zst", TOOL_ZSTD},   {".xz", TOOL_XZ},
                {".bz2", TOOL_BZIP2}, {".lz4", TOOL_LZ4},    {".lz", TOOL_LZIP},
                {".lzma", TOOL_LZMA}, {".Z", TOOL_COMPRESS}, {".lzo", TOOL_LZOP}};
    const size_t bytes = strlen(name);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const size_t end = strlen(ends[i].end);
        if (bytes > end && strcmp(name + bytes - end, ends[i].end) == 0)
            return ends[i].packing;
    }
    return TOOL_PLAIN;
}

static int take_packed(void *context, const void *data, size_t bytes)
{
    struct tool_text_output *output = context;
    if (tool_pack_write(output->pack, data, bytes))
        return 0;
    return output->packed->failure != 0 ? output->packed->failure : EIO;
}

/* Lets `out` write through a packer to the file. False after a message. */
static bool start_packing(struct tool_text_output *output, enum tool_packing packing,
                          struct tool_out *out)
{
    output->packed = tool_allocate(sizeof(*output->packed));
    tool_out_start(output->packed);
    tool_out_redirect(output->packed, output->file, output->path);
    output->pack = tool_pack_open(packing, output->packed);
    tool_out_divert(out, take_packed, output);
    if (tool_pack_error(output->pack)[0] == '\0')
        return true;
    tool_error("%s: %s", output->path, tool_pack_error(output->pack));
    return false;
}

static int end_packing(struct tool_text_output *output, int code)
{
    if (output->pack == NULL || code == TOOL_ERROR)
        return code;
    if (!tool_pack_end(output->pack) && tool_pack_error(output->pack)[0] != '\0') {
        tool_error("%s: %s", output->path, tool_pack_error(output->pack));
        return TOOL_ERROR;
    }
    return tool_out_finish(output->packed, code);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* The name that a signal would remove is gone. */
static void name_is_gone(struct tool_text_output *output)
{
    output->named = false;
    if (output->temporary_path[0] != '\0')
        tool_interrupt_remove_too(NULL);
    output->temporary_path[0] = '\0';
}

void tool_text_output_drop(struct tool_text_output *output)
{
    if (output->pack != NULL)
        tool_pack_close(output->pack);
    free(output->packed);
    output->pack = NULL;
    output->packed = NULL;
    if (output->named) {
        unlinkat(output->directory, output->temporary, 0);
        name_is_gone(output);
    }
    if (output->file >= 0)
        close(output->file);
    if (output->directory >= 0)
        close(output->directory);
    output->file = output->directory = -1;
}

bool tool_text_output_begin(struct tool_text_output *output, struct tool_out *out)
{
    char resolved[PATH_MAX];
    struct stat facts;
    output->file = output->directory = -1;
    output->named = false;
    output->temporary_path[0] = '\0';
    output->pack = NULL;
    output->packed = NULL;
    if (!tool_text_output_is_file(output))
        return true;
    const enum tool_packing packing = output->packs ? packing_of_name(output->path) : TOOL_PLAIN;
    if (packing != TOOL_PLAIN && !tool_pack_makes(packing))
        return !tool_usage("%s: its name says that it is %s, and no output can be packed so",
                           output->path, tool_packing_name(packing));
    if (!tool_may_replace(output->path, true))
        return false;
    const bool exists = stat(output->path, &facts) == 0;
    if (exists && is_filter(output->path))
        return !tool_usage("%s: is a filter, and would become text", output->path);
    const char *why = find_place(output, exists, resolved);
    if (why == NULL) {
        choose_name(output, resolved);
        output->directory = open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (output->directory >= 0)
            output->file = make_file(output);
        why = output->file >= 0 ? NULL : strerror(errno);
    }
    if (why != NULL) {
        tool_error("%s: %s", output->path, why);
        output->named = false;
        tool_text_output_drop(output);
        return false;
    }
    if (exists) {
        if (facts.st_uid != geteuid() || facts.st_gid != getegid())
            (void)!fchown(output->file, facts.st_uid, facts.st_gid); /* only root may */
        (void)!fchmod(output->file, facts.st_mode & 07777);
    }
    tool_out_redirect(out, output->file, output->path);
    if (packing == TOOL_PLAIN || start_packing(output, packing, out))
        return true;
    tool_text_output_drop(output);
    return false;
}

/* The new file takes the name. 0 or an errno. */
static int take_name(struct tool_text_output *output)
{
    char descriptor[40];
    snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", output->file);
    if (fsync(output->file) != 0)
        return errno;
    if (!output->named &&
        linkat(AT_FDCWD, descriptor, output->directory, output->temporary, AT_SYMLINK_FOLLOW) != 0)
        return errno;
    output->named = true;
    if (renameat(output->directory, output->temporary, output->directory, output->target) != 0)
        return errno;
    name_is_gone(output);
    fsync(output->directory); /* not all file systems can; the file is whole in any case */
    return 0;
}

int tool_text_output_finish(struct tool_text_output *output, struct tool_out *out, int code)
{
    code = end_packing(output, tool_out_finish(out, code));
    if (!tool_text_output_is_file(output))
        return code;
    assert(output->file >= 0);
    const int reason = code == TOOL_ERROR ? 0 : take_name(output);
    if (reason != 0)
        tool_error("%s: %s", output->path, strerror(reason));
    else if (code == TOOL_ERROR)
        tool_say("%s was not written", output->path);
    tool_text_output_drop(output);
    return reason != 0 ? TOOL_ERROR : code;
}

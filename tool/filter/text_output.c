/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/text_output.h"

#include "base/system.h"
#include "filter/files.h"
#include "input/input.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Text outputs ---------------------------------------------------------------------------- */

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
        return "is not the name of a file";
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

/* ---- Text outputs: packing ------------------------------------------------------------------- */

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

bool tool_path_is_packed(const char *path)
{
    return packing_of_name(path) != TOOL_PLAIN;
}

/* False after a message if the packing does not have the level. */
static bool level_fits(const char *path, struct tool_pack_form form)
{
    const unsigned most = tool_pack_level_max(form.packing);
    if (form.packing == TOOL_PLAIN || form.level <= most)
        return true;
    return !tool_usage("%s: is %s, whose levels are 1 to %u, not %u", path,
                       tool_packing_name(form.packing), most, form.level);
}

static int take_packed(void *context, const void *data, size_t bytes)
{
    struct tool_text_output *output = context;
    if (tool_pack_write(output->pack, data, bytes))
        return 0;
    return output->packed->failure != 0 ? output->packed->failure : EIO;
}

/* Lets `out` write through a packer to the file. False after a message. */
static bool start_packing(struct tool_text_output *output, struct tool_pack_form form,
                          struct tool_out *out)
{
    output->packed = tool_allocate(sizeof(*output->packed));
    tool_out_start(output->packed);
    tool_out_redirect(output->packed, output->file, output->path);
    output->pack = tool_pack_open(form, output->packed);
    tool_out_divert(out, take_packed, output);
    if (tool_pack_error(output->pack)[0] == '\0')
        return true;
    tool_error("%s: %s", output->path, tool_pack_error(output->pack));
    return false;
}

/* ---- Text outputs: the file ------------------------------------------------------------------ */

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

static bool is_null_device(const struct stat *facts)
{
    struct stat null;
    return S_ISCHR(facts->st_mode) && stat("/dev/null", &null) == 0 && S_ISCHR(null.st_mode) &&
           facts->st_rdev == null.st_rdev;
}

/* Nothing is made or replaced: the lines go to the device. False after a message. */
static bool open_null(struct tool_text_output *output, struct tool_out *out)
{
    output->file = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->file < 0) {
        tool_error("%s: %s", output->path, strerror(errno));
        return false;
    }
    tool_out_redirect(out, output->file, output->path);
    return true;
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
    output->null = stat(output->path, &facts) == 0 && is_null_device(&facts);
    if (output->null)
        return open_null(output, out);
    const enum tool_packing packing = output->packs ? packing_of_name(output->path) : TOOL_PLAIN;
    const struct tool_pack_form form = {packing, .level = output->level};
    if (packing != TOOL_PLAIN && !tool_pack_makes(packing))
        return !tool_usage(
            "%s: its name says that it is %s, and output can't be compressed in that way",
            output->path, tool_packing_name(packing));
    if (!level_fits(output->path, form))
        return false;
    if (!tool_may_replace(output->path, true))
        return false;
    const bool exists = stat(output->path, &facts) == 0;
    if (exists && tool_path_packing(output->path) == TOOL_FILTER)
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
    if (packing == TOOL_PLAIN || start_packing(output, form, out))
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
    code = tool_out_finish(out, code);
    if (output->pack != NULL && code != TOOL_ERROR) {
        if (tool_pack_end(output->pack) || tool_pack_error(output->pack)[0] == '\0')
            code = tool_out_finish(output->packed, code);
        else {
            tool_error("%s: %s", output->path, tool_pack_error(output->pack));
            code = TOOL_ERROR;
        }
    }
    if (!tool_text_output_is_file(output))
        return code;
    assert(output->file >= 0);
    const int reason = code == TOOL_ERROR || output->null ? 0 : take_name(output);
    if (reason != 0)
        tool_error("%s: %s", output->path, strerror(reason));
    else if (code == TOOL_ERROR && !output->null)
        tool_say("%s was not written", output->path);
    tool_text_output_drop(output);
    return reason != 0 ? TOOL_ERROR : code;
}

/* ---- Packed outputs -------------------------------------------------------------------------- */

/*
 * Packing is several times slower than everything else that is done with a line, so a thread of its
 * own does it. Between it and the writer lies a ring of buffers:
 *
 *     writer -> [ being filled ][ full ][ full ][ being packed ] -> packer -> file
 *
 * The writer fills one buffer without asking anybody, and waits only where the next is not free. A
 * buffer belongs to the writer until it is handed on, and to the packer until it is taken out. So
 * the two numbers and the flags are all that the mutex guards. Without a thread (the system gives
 * none, or nothing is to be packed) the writer does all by itself.
 */

enum { SLOTS = 4, SLOT_BYTES = 1 << 20 };

struct slot {
    unsigned char *data; /* allocated when it is first filled */
    size_t bytes;
};

struct tool_packed_output {
    char *path;
    struct tool_text_output file;
    bool failed; /* and the message is printed */

    /* The packer's, while its thread runs; otherwise the writer's. */
    struct tool_out out;
    struct tool_pack *pack; /* NULL: plain */

    bool threaded;
    pthread_t thread;
    struct slot slots[SLOTS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex. */
    uint64_t filled; /* buffers handed on; the next is slots[filled % SLOTS] */
    uint64_t packed; /* and done with */
    bool ended;      /* no more come */
    bool dropped;    /* and those that came are of no use */
    bool broken;     /* packing failed, and the packer is gone */
};

/* ---- Packed outputs: the packer -------------------------------------------------------------- */

/* The next full buffer; NULL if none comes. */
static const struct slot *next_slot(struct tool_packed_output *output)
{
    const struct slot *slot = NULL;
    pthread_mutex_lock(&output->mutex);
    while (output->packed == output->filled && !output->ended)
        pthread_cond_wait(&output->changed, &output->mutex);
    if (output->packed < output->filled && !output->dropped)
        slot = &output->slots[output->packed % SLOTS];
    pthread_mutex_unlock(&output->mutex);
    return slot;
}

static void *run_packer(void *argument)
{
    struct tool_packed_output *output = argument;
    bool well = true;
    for (const struct slot *slot; well && (slot = next_slot(output)) != NULL;) {
        well = tool_pack_write(output->pack, slot->data, slot->bytes);
        pthread_mutex_lock(&output->mutex);
        output->packed++; /* the buffer is free again, or everything is over */
        output->broken = !well;
        assert(output->packed <= output->filled);
        pthread_cond_signal(&output->changed);
        pthread_mutex_unlock(&output->mutex);
    }
    return NULL;
}

/* ---- Packed outputs: the writer -------------------------------------------------------------- */

/* Says why, once; the packer is gone or idle. Returns false. */
static bool fail(struct tool_packed_output *output)
{
    const char *reason = output->pack != NULL ? tool_pack_error(output->pack) : "";
    if (output->failed)
        return false;
    output->failed = true;
    if (tool_out_failed(&output->out))
        tool_out_finish(&output->out, TOOL_ERROR);
    else
        tool_error("%s: %s", output->path, reason);
    return false;
}

/* Hands the buffer on that has been filled. False if packing failed. */
static bool hand_on(struct tool_packed_output *output)
{
    pthread_mutex_lock(&output->mutex);
    output->filled++;
    pthread_cond_signal(&output->changed);
    while (output->filled - output->packed == SLOTS && !output->broken)
        pthread_cond_wait(&output->changed, &output->mutex);
    const bool well = !output->broken;
    pthread_mutex_unlock(&output->mutex);
    if (well)
        output->slots[output->filled % SLOTS].bytes = 0;
    return well;
}

static bool write_to_packer(struct tool_packed_output *output, const unsigned char *data,
                            size_t bytes)
{
    while (bytes > 0) {
        struct slot *slot = &output->slots[output->filled % SLOTS];
        const size_t room = SLOT_BYTES - slot->bytes;
        const size_t now = bytes < room ? bytes : room;
        if (slot->data == NULL)
            slot->data = tool_allocate(SLOT_BYTES);
        memcpy(slot->data + slot->bytes, data, now);
        slot->bytes += now;
        data += now;
        bytes -= now;
        if (slot->bytes == SLOT_BYTES && !hand_on(output))
            return false;
    }
    return true;
}

bool tool_packed_output_write(struct tool_packed_output *output, const void *data, size_t bytes)
{
    bool well = true;
    if (output->failed)
        return false;
    if (output->threaded) {
        well = write_to_packer(output, data, bytes);
    } else if (output->pack != NULL) {
        well = tool_pack_write(output->pack, data, bytes);
    } else {
        tool_out_bytes(&output->out, data, bytes);
        well = !tool_out_failed(&output->out);
    }
    return well || fail(output);
}

/* Waits until the packer has packed what it has, or `dropped`: what it is at. False if packing
 * failed. */
static bool end_packer(struct tool_packed_output *output, bool dropped)
{
    if (!output->threaded)
        return true;
    pthread_mutex_lock(&output->mutex);
    if (!output->broken && !dropped && output->slots[output->filled % SLOTS].bytes > 0)
        output->filled++;
    output->ended = true;
    output->dropped = dropped;
    pthread_cond_signal(&output->changed);
    pthread_mutex_unlock(&output->mutex);
    pthread_join(output->thread, NULL);
    output->threaded = false;
    return !output->broken;
}

/* ---- Packed outputs: beginning and end ------------------------------------------------------- */

static void release(struct tool_packed_output *output)
{
    assert(!output->threaded);
    if (output->pack != NULL)
        tool_pack_close(output->pack);
    for (size_t i = 0; i < SLOTS; i++)
        free(output->slots[i].data);
    pthread_cond_destroy(&output->changed);
    pthread_mutex_destroy(&output->mutex);
    free(output->path);
    free(output);
}

/* Whether what has the name may be replaced, as far as tool_text_output_begin does not say it in
 * words of -o. False after a message. */
static bool may_open(const char *path, struct tool_pack_form form)
{
    const enum tool_packing packing = form.packing;
    struct stat facts;
    const bool special =
        stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
    const bool packable = packing == TOOL_PLAIN || tool_pack_makes(packing);
    if (special)
        tool_error("%s: is not a regular file, and would be replaced", path);
    else if (!packable)
        tool_error("%s: its input is %s, and output can't be compressed "
                   "in that way; unpack the input first",
                   path, tool_packing_name(packing));
    return !special && packable && level_fits(path, form);
}

struct tool_packed_output *tool_packed_output_open(const char *directory, const char *name,
                                                   struct tool_pack_form form)
{
    struct tool_packed_output *output = tool_allocate(sizeof(*output));
    memset(output, 0, sizeof(*output));
    const size_t path_bytes = strlen(directory) + strlen(name) + 2;
    output->path = tool_allocate(path_bytes);
    snprintf(output->path, path_bytes, "%s/%s", directory, name);
    output->file.path = output->path;
    pthread_mutex_init(&output->mutex, NULL);
    pthread_cond_init(&output->changed, NULL);
    tool_out_start(&output->out);
    if (may_open(output->path, form) && tool_text_output_begin(&output->file, &output->out)) {
        if (form.packing == TOOL_PLAIN)
            return output;
        output->pack = tool_pack_open(form, &output->out);
        if (tool_pack_error(output->pack)[0] == '\0' && !tool_out_failed(&output->out)) {
            output->threaded = pthread_create(&output->thread, NULL, run_packer, output) == 0;
            return output;
        }
        fail(output);
        tool_text_output_drop(&output->file);
    }
    release(output);
    return NULL;
}

void tool_packed_output_drop(struct tool_packed_output *output)
{
    end_packer(output, true);
    tool_text_output_drop(&output->file);
    release(output);
}

bool tool_packed_output_finish(struct tool_packed_output *output, uint64_t *bytes_written)
{
    bool well = end_packer(output, output->failed) && !output->failed;
    if (well && output->pack != NULL)
        well = tool_pack_end(output->pack);
    if (well)
        well = tool_out_flush(&output->out);
    if (!well) {
        fail(output);
        tool_packed_output_drop(output);
        return false;
    }
    well = tool_text_output_finish(&output->file, &output->out, TOOL_FOUND) == TOOL_FOUND;
    if (well && bytes_written != NULL)
        *bytes_written = output->out.written;
    release(output);
    return well;
}

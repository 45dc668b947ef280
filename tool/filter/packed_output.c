/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing is several times slower than all else that is done with a line, so a thread does it while
 * the others go on. Between the two lies a ring of buffers:
 *
 *     writer -> [ being filled ][ full ][ full ][ being packed ] -> packer -> file
 *
 * The writer fills one buffer without asking anybody, and waits only where the next is not free. A
 * buffer belongs to the writer until it is handed on, and to the packer until it is taken out. So
 * the two numbers and the flags are all that the mutex guards. Without a thread (the system gives
 * none, or nothing is to be packed) the writer does all by itself.
 */
#include "filter/packed_output.h"

#include "filter/pack.h"
#include "filter/text_output.h"
#include "tool.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- The packer ------------------------------------------------------------------------------ */

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

/* A buffer is free again, or all is over. */
static void slot_is_packed(struct tool_packed_output *output, bool well)
{
    pthread_mutex_lock(&output->mutex);
    output->packed++;
    output->broken = !well;
    pthread_cond_signal(&output->changed);
    pthread_mutex_unlock(&output->mutex);
}

static void *run_packer(void *argument)
{
    struct tool_packed_output *output = argument;
    bool well = true;
    for (const struct slot *slot; well && (slot = next_slot(output)) != NULL;) {
        well = tool_pack_write(output->pack, slot->data, slot->bytes);
        slot_is_packed(output, well);
    }
    return NULL;
}

/* ---- The writer ------------------------------------------------------------------------------ */

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

/* ---- Beginning and end ----------------------------------------------------------------------- */

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

static char *join(const char *directory, const char *name)
{
    const size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = tool_allocate(bytes);
    snprintf(path, bytes, "%s/%s", directory, name);
    return path;
}

/* False after a message. */
static bool start_packing(struct tool_packed_output *output, enum tool_packing packing)
{
    output->pack = tool_pack_open(packing, &output->out);
    if (tool_pack_error(output->pack)[0] != '\0' || tool_out_failed(&output->out))
        return fail(output);
    output->threaded = pthread_create(&output->thread, NULL, run_packer, output) == 0;
    return true;
}

/* Whether what has the name may be replaced, as far as tool_text_output_begin does not say it in
 * words of -o. False after a message. */
static bool may_open(const char *path, enum tool_packing packing)
{
    struct stat facts;
    const bool special =
        stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
    const bool packable = packing == TOOL_PLAIN || tool_pack_makes(packing);
    if (special)
        tool_error("%s: is not a regular file, and would be replaced", path);
    else if (!packable)
        tool_error("%s: its input is %s, and no output can be packed so; unpack the input first",
                   path, tool_packing_name(packing));
    return !special && packable;
}

struct tool_packed_output *tool_packed_output_open(const char *directory, const char *name,
                                                   enum tool_packing packing)
{
    struct tool_packed_output *output = tool_allocate(sizeof(*output));
    memset(output, 0, sizeof(*output));
    output->path = join(directory, name);
    output->file.path = output->path;
    pthread_mutex_init(&output->mutex, NULL);
    pthread_cond_init(&output->changed, NULL);
    tool_out_start(&output->out);
    if (may_open(output->path, packing) && tool_text_output_begin(&output->file, &output->out)) {
        if (packing == TOOL_PLAIN || start_packing(output, packing))
            return output;
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

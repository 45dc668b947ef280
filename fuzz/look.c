/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of bloomery_sieve_info_read, which reads the MANIFEST of a sieve beside the
 * process that has it: whatever the bytes are, it refuses or gives the facts of a commit, and
 * leaves everything as it was.
 *
 * Inputs are those of sieve.c: a sound directory, whether checksums are made right, and changes.
 * Besides what the sanitizers see, it aborts where
 *   - it fails without a reason, or with facts, or by another status than damage has;
 *   - memory or files are not given back, or more memory is taken than MANIFEST justifies;
 *   - the directory is not as it was;
 *   - a sound directory is refused;
 *   - the facts are those of no commit, and nobody made the checksums right.
 *
 * Build: as sieve.c, with this file in its place.
 */
#include "sieve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char said[512];    /* by the failure before */
static const char *about; /* the story */

void must_say(const char *text)
{
    snprintf(said, sizeof said, "; before that: %s", text);
}

void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz/look, %s: broken promise: %s%s\n", about, what, said);
    directory_remove();
    abort();
}

/* Takes the place of the C library's. A damaged manifest is read again a hundred times with pauses
 * between, since somebody might be writing it; here nobody is. */
struct timespec;
int nanosleep(const struct timespec *wanted, struct timespec *left);
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted;
    (void)left;
    return 0;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static struct {
    uint64_t bytes, most;
} memory;

static void *take(void *context, size_t bytes, size_t alignment)
{
    void *frame = NULL;
    (void)context;
    memory.bytes += bytes;
    must(memory.bytes <= memory.most, "no more memory is taken than the manifest justifies");
    return posix_memalign(&frame, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) ==
                   0
               ? frame
               : NULL;
}

static void give(void *context, void *frame, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    must(memory.bytes >= bytes, "memory is given back once");
    memory.bytes -= bytes;
    free(frame);
}

/* The number that the next file gets. */
static int next_descriptor(void)
{
    const int descriptor = dup(STDERR_FILENO);
    close(descriptor);
    return descriptor;
}

/* ---- What it says ---------------------------------------------------------------------------- */

/* Leases may have ended since the commit: what was leased and what waits is one number. */
static bool is_moment(const bloomery_sieve_info *info, const struct facts *facts)
{
    return info->pushed == facts->pushed && info->new_keys == facts->new_keys &&
           info->seen == facts->seen && info->pending == facts->pending &&
           info->forced == facts->forced && info->marked == facts->marked &&
           info->queued + info->leased == facts->queued + facts->leased &&
           info->done == facts->done;
}

static bool is_of_story(const struct story *story, const bloomery_sieve_info *info, bool earlier)
{
    for (size_t i = story->moment_count; i-- > 0;)
        if ((earlier || i + 1 == story->moment_count) && is_moment(info, &story->moments[i].facts))
            return true;
    return false;
}

/* A changed directory may have the manifest of another sieve, which is sound. */
static void check_facts(const struct story *story, const bloomery_sieve_info *info, bool earlier,
                        bool changed)
{
    bool found = is_of_story(story, info, earlier);
    for (unsigned i = 0; changed && !found && i < STORIES; i++)
        found = story_get(i) != story && is_of_story(story_get(i), info, true);
    must(found, "the facts are those of a commit");
}

static void check_refusal(int status, const bloomery_sieve_info *info, const bloomery_error *error)
{
    must_say(error->text);
    must((int)error->status == status && error->text[0] != '\0', "a failure says why");
    must(status == BLOOMERY_CORRUPT || status == BLOOMERY_TRUNCATED ||
             status == BLOOMERY_WRONG_VERSION || status == BLOOMERY_NOT_A_FILTER,
         "damage is called damage");
    must(info->pushed == 0 && info->planned == 0 && info->partitions == 0 && info->queued == 0,
         "a failure gives no facts");
}

static bool manifest_same(struct image *one, const struct image *other)
{
    struct image with = *other;
    const struct file *manifest = image_find(one, "MANIFEST");
    const struct file *sound = image_find(&with, "MANIFEST");
    return manifest != NULL && manifest->size == sound->size &&
           memcmp(manifest->bytes, sound->bytes, sound->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.data = data, .size = size};
    const struct story *story = story_get((unsigned)input_take(&input, 1));
    const unsigned flags = (unsigned)input_take(&input, 1);
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_error error = {.status = BLOOMERY_OK};
    about = story->shape.name;
    said[0] = '\0';
    struct image image = image_copy(&story->now);
    const bool earlier = change_all(&input, story, &image);
    const bool sound = manifest_same(&image, &story->now);
    if (flags % 4 >= 2)
        mend_all(&image, flags % 4 == 3);
    const bool mended = !sound && flags % 4 >= 2;
    const struct file *manifest = image_find(&image, "MANIFEST");
    memory.most = 65536 + (manifest != NULL ? 2 * (uint64_t)manifest->size : 0);
    options.directory = directory_path();
    options.allocator = (bloomery_allocator){take, give, NULL, NULL};
    directory_write(&image);
    const int descriptor = next_descriptor();
    const bloomery_status status = bloomery_sieve_info_read(&options, &info, &error);
    must(next_descriptor() == descriptor, "files are closed");
    must(memory.bytes == 0, "memory is given back");
    if (status != BLOOMERY_OK)
        check_refusal(status, &info, &error);
    must(status == BLOOMERY_OK || !sound, "a sound manifest is read");
    struct image now = directory_read();
    must(image_same(&now, &image), "nothing in the directory is changed");
    if (status == BLOOMERY_OK && !mended) /* which may make other stories there */
        check_facts(story, &info, (earlier || mend_copies() == 2) && !sound, !sound);
    image_free(&now);
    image_free(&image);
    return 0;
}

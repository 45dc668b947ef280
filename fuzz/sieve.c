/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of a sieve's directory: whatever its files are, opening it refuses or gives a
 * sieve that can be used, closed, and opened again.
 *
 * An input says which sound directory (sieve_story.c) to take, what to change in it
 * (sieve_change.c), whether checksums are made right afterwards (sieve_mend.c), and what is done
 * then:
 *
 *     0    story
 *     1    bits 0 and 1: 2 mends checksums, 3 also what files say of themselves
 *          then: leases are kept, verify first, flush first, more memory, pop everything, push
 *          nothing
 *     2    changes
 *
 * What lies there lives twice: it is opened, asked, pushed to and popped from, and closed; then
 * opened again, and everything is popped. Besides what the sanitizers see, it aborts where
 *   - a call fails without a reason, takes more memory than there is, or has no end;
 *   - memory or files are not given back;
 *   - nothing reported damage, and not exactly the expected keys came out, each once;
 *   - damage was reported, and a key came that was never pushed, or once too often;
 *   - what was closed does not open again, in the state that it was closed in;
 *   - with mended checksums, an item comes twice under one number.
 *
 * Build: with clang, -fsanitize=fuzzer,address,undefined, the files named sieve*.c and the library;
 * or with regression.c as a plain test. Uses sieve, to have small segments of the queue and
 * saved filters.
 */
#include "sieve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    KEEP_LEASES = 4,
    VERIFY = 8,
    FLUSH = 16,
    AMPLE = 32,
    POP_ALL = 64,
    PUSH_NOTHING = 128,
    NEW_IDS = 100, /* never pushed before */
};

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
    fprintf(stderr, "fuzz/sieve, %s: broken promise: %s%s\n", about, what, said);
    directory_remove();
    abort();
}

/* Whether two sieves say the same of themselves. */
static bool same_facts(const struct facts *one, const struct facts *other)
{
    return one->pushed == other->pushed && one->new_keys == other->new_keys &&
           one->seen == other->seen && one->pending == other->pending &&
           one->forced == other->forced && one->marked == other->marked &&
           one->queued == other->queued && one->leased == other->leased && one->done == other->done;
}

/* The commit that was opened. An earlier one only where the manifest is what a power cut leaves of
 * a commit that it interrupts. */
static void find_moment(struct life *life, const struct story *story, bool earlier)
{
    for (size_t i = story->moment_count; i-- > 0;) {
        const struct moment *moment = &story->moments[i];
        if (i + 1 < story->moment_count && !earlier)
            break;
        if (same_facts(&moment->facts, &life->state.facts)) {
            life->state = *moment;
            return;
        }
    }
    must(false, "what opens is the state of a commit");
}

static void use(struct life *life, unsigned flags)
{
    if ((flags & VERIFY) != 0)
        life_verify(life);
    life_query(life);
    if ((flags & FLUSH) != 0)
        life_flush(life);
    if ((flags & PUSH_NOTHING) == 0) {
        for (uint32_t id = 0; id < 100; id += 9)
            life_push(life, id, BLOOMERY_SIEVE_PUSH);
        for (uint32_t id = NEW_IDS; id < NEW_IDS + 12; id++)
            life_push(life, id, BLOOMERY_SIEVE_PUSH);
        life_push(life, NEW_IDS, BLOOMERY_SIEVE_PUSH);
        life_push(life, NEW_IDS + 12, BLOOMERY_SIEVE_PUSH_MARK);
        life_push(life, 7, BLOOMERY_SIEVE_PUSH_AGAIN);
    }
    if ((flags & POP_ALL) != 0)
        life_drain(life);
    else
        life_pop(life, 9, 4, 1);
    life_commit(life);
    life_push(life, NEW_IDS + 13, BLOOMERY_SIEVE_PUSH);
    life_pop(life, 3, 1, 0);
}

static bool first_life(struct life *life, const struct story *story, unsigned flags, bool earlier)
{
    const struct opening opening = {.keep_leases = (flags & KEEP_LEASES) != 0,
                                    .ample = (flags & AMPLE) != 0};
    if (!life_open(life, &opening))
        return false;
    if (!life->mended)
        find_moment(life, story, earlier);
    use(life, flags);
    life_close(life);
    return true;
}

/* Nothing has happened in between. */
static void second_life(struct life *life, bool opened)
{
    const struct opening opening = {.ample = true};
    const struct facts before = life->state.facts;
    const bool sound = life->verified && !life->told && !life->mended;
    if (!life_open(life, &opening)) {
        must(!opened || life->lost, "what was closed opens again");
        return;
    }
    /* A lie may need more memory than there was. */
    must(opened || life->mended, "what was refused is refused again");
    if (!opened) {
        life_close(life);
        return;
    }
    must(life->lost || same_facts(&before, &life->state.facts), "what was closed opens as it was");
    life_verify(life);
    must(!sound || !life->told, "what was sound and used is sound");
    life_flush(life);
    life_drain(life);
    if (life_exact(life))
        for (uint32_t id = 0; id < IDS; id++)
            must(life->state.left[id] == 0, "each key comes out");
    life_close(life);
}

static bool manifest_same(struct image *one, const struct image *other)
{
    struct image with = *other;
    const struct file *manifest = image_find(one, "MANIFEST");
    const struct file *sound = image_find(&with, "MANIFEST");
    return manifest != NULL && manifest->size == sound->size &&
           memcmp(manifest->bytes, sound->bytes, sound->size) == 0;
}

static uint64_t bytes_of(const struct image *image)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < image->count; i++)
        bytes += image->files[i].size;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct life life;
    struct input input = {.data = data, .size = size};
    const struct story *story = story_get((unsigned)input_take(&input, 1));
    const unsigned flags = (unsigned)input_take(&input, 1);
    about = story->shape.name;
    said[0] = '\0';
    struct image image = image_copy(&story->now);
    const bool earlier = change_all(&input, story, &image);
    const bool sound = image_same(&image, &story->now);
    if (flags % 4 >= 2)
        mend_all(&image, flags % 4 == 3);
    life = (struct life){.shape = &story->shape,
                         .sound = sound,
                         .mended = !sound && flags % 4 >= 2,
                         .max_bytes = 2 * bytes_of(&image)};
    directory_write(&image);
    /* Where a commit is in one copy alone, a damaged one cannot be told from a torn one. */
    const bool opened =
        first_life(&life, story, flags,
                   (earlier || mend_copies() == 2) && !manifest_same(&image, &story->now));
    second_life(&life, opened);
    image_free(&image);
    return 0;
}

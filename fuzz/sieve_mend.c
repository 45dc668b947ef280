/* SPDX-License-Identifier: Apache-2.0 */
/* The checksums of a sieve's files made right again, by docs/sieve.md. */
#include "mend.h"
#include "sieve.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOT_MIN = 320, /* bytes of a manifest before its state */
    FILE_HEADER = 64,
    FRAME_HEADER = 48,
    SEEN_FRAME = 4096,
    ROW = 56,
};

static uint64_t checksum(const uint8_t *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

/* ---- MANIFEST -------------------------------------------------------------------------------- */

/* As the library writes them now: the state of a commit stands in one copy or in several. */
static struct {
    uint32_t version;
    unsigned copies; /* of the two slots together */
} layout = {1, 2};

void mend_learn(const struct file *manifest)
{
    const uint64_t room = get(manifest->bytes, 16, 8);
    must(room >= SLOT_MIN && manifest->size % (2 * room) == 0, "a manifest has two slots");
    layout.version = (uint32_t)get(manifest->bytes, 8, 4);
    layout.copies = (unsigned)(manifest->size / room);
}

unsigned mend_copies(void)
{
    return layout.copies;
}

size_t mend_room(const struct file *manifest)
{
    const size_t room = manifest->size / layout.copies;
    return room < SLOT_MIN ? 0 : room;
}

uint8_t *mend_newest(const struct file *manifest)
{
    const size_t room = mend_room(manifest);
    uint8_t *newest = NULL;
    for (unsigned i = 0; room > 0 && i < layout.copies; i++) {
        uint8_t *copy = manifest->bytes + i * room;
        if (get(copy, 0, 8) != 0 && (newest == NULL || get(copy, 32, 8) > get(newest, 32, 8)))
            newest = copy;
    }
    return newest;
}

/* What a copy says of itself: magic, version, number, size, bytes used. */
static void mend_copy_places(uint8_t *copy, size_t room, unsigned slot)
{
    const uint64_t queue = get(copy, 248, 8);
    const uint64_t engine = get(copy, 256, 8);
    memcpy(copy, "BLMSIEVE", 8);
    put(copy, 8, layout.version, 4);
    put(copy, 12, slot, 4);
    put(copy, 16, room, 8);
    if (queue < room && engine < room && SLOT_MIN + queue + engine <= room)
        put(copy, 24, SLOT_MIN + queue + engine, 8);
}

static void mend_manifest(struct file *manifest, bool places)
{
    const size_t room = mend_room(manifest);
    for (unsigned i = 0; room > 0 && i < layout.copies; i++) {
        uint8_t *copy = manifest->bytes + i * room;
        /* Those of a slot are the same. */
        if (layout.copies == 4 && i % 2 == 1)
            memcpy(copy, copy - room, room);
        /* The slot that was never written stays so. */
        if (get(copy, 0, 8) == 0)
            continue;
        if (places)
            mend_copy_places(copy, room, 2 * i / layout.copies);
        const uint64_t used = get(copy, 24, 8);
        put(copy, 40, 0, 8);
        put(copy, 40, checksum(copy, used < SLOT_MIN || used > room ? SLOT_MIN : (size_t)used, 0),
            8);
    }
}

/* ---- Files of frames ------------------------------------------------------------------------- */

struct mending {
    const uint8_t *slot;
    size_t room; /* of the slot */
    bool places;
    uint64_t seed; /* of the sieve */
};

static void mend_header(const struct mending *mending, uint8_t *header, unsigned kind,
                        uint64_t number, uint64_t generation)
{
    if (mending->places) {
        memset(header, 0, FILE_HEADER);
        memcpy(header, "BLMSIEVE", 8);
        put(header, 8, 1, 4);
        put(header, 12, kind, 4);
        put(header, 16, number, 8);
        put(header, 24, generation, 8);
        memcpy(header + 32, mending->slot + 48, 16);
    }
    put(header, 56, checksum(header, 56, 0), 8);
}

static void mend_frames(struct file *file, uint64_t seed)
{
    for (size_t at = FILE_HEADER; file->size - at >= FRAME_HEADER;) {
        uint8_t *frame = file->bytes + at;
        const uint64_t fixed = get(frame, 4, 4);
        const uint64_t body = get(frame, 8, 4);
        const bool whole = FRAME_HEADER + fixed + body <= file->size - at;
        if (whole) {
            put(frame, 24, checksum(frame + FRAME_HEADER, (size_t)fixed, seed + at), 8);
            put(frame, 32, checksum(frame + FRAME_HEADER + fixed, (size_t)body, seed + at), 8);
        }
        put(frame, 40, checksum(frame, 40, seed + at), 8);
        if (!whole)
            return;
        at += (size_t)(FRAME_HEADER + fixed + body);
    }
}

/* As many fingerprints as the manifest says, or as there are. */
static void mend_seen(const struct mending *mending, struct file *file, uint64_t partition,
                      uint64_t seed)
{
    const size_t width = get(mending->slot, 68, 4) == 48 ? 6 : 8;
    const size_t full = (SEEN_FRAME - 8) / width;
    const uint64_t queue = get(mending->slot, 248, 8);
    const uint64_t row = SLOT_MIN + queue + partition * ROW;
    uint64_t entries = UINT64_MAX;
    if (queue < mending->room && partition < 256 && row + ROW <= mending->room)
        entries = get(mending->slot, (size_t)row + 48, 8);
    for (size_t at = FILE_HEADER; entries > 0 && file->size - at > 8; at += SEEN_FRAME) {
        size_t bytes = entries < full ? (size_t)entries * width : SEEN_FRAME - 8;
        bytes = bytes < file->size - at - 8 ? bytes : file->size - at - 8;
        put(file->bytes, at, checksum(file->bytes + at + 8, bytes, seed + at), 8);
        entries -= entries < full ? entries : full;
        if (file->size - at < SEEN_FRAME)
            return;
    }
}

/* The kind of a file by its name, and its numbers; 0: another name. */
static unsigned kind_of(const char *name, uint64_t *number, uint64_t *generation)
{
    static const char *const begins[] = {"seen-", "pending-", "queue-"};
    char *end = NULL;
    *number = 0;
    *generation = 0;
    for (unsigned i = 0; i < 3; i++) {
        const size_t bytes = strlen(begins[i]);
        if (strncmp(name, begins[i], bytes) != 0)
            continue;
        *number = strtoull(name + bytes, &end, 10);
        if (*end == '.')
            *generation = strtoull(end + 1, &end, 10);
        return *end == '\0' ? i + 1 : 0;
    }
    return strcmp(name, "verdicts") == 0 ? 5 : 0;
}

static void mend_file(const struct mending *mending, struct file *file)
{
    uint64_t number;
    uint64_t generation;
    uint8_t words[24];
    const unsigned kind = kind_of(file->name, &number, &generation);
    if (kind == 0 || file->size < FILE_HEADER)
        return;
    put(words, 0, kind, 8);
    put(words, 8, number, 8);
    put(words, 16, generation, 8);
    const uint64_t seed = checksum(words, sizeof words, mending->seed);
    mend_header(mending, file->bytes, kind, number, generation);
    if (kind == 1)
        mend_seen(mending, file, number, seed);
    else
        mend_frames(file, seed);
}

void mend_all(struct image *image, bool places)
{
    struct file *manifest = image_find(image, "MANIFEST");
    for (size_t i = 0; i < image->count; i++)
        if (strncmp(image->files[i].name, "filter.", 7) == 0)
            mend_checksums(image->files[i].bytes, image->files[i].size);
    if (manifest == NULL)
        return;
    mend_manifest(manifest, places);
    struct mending mending = {.slot = mend_newest(manifest), .room = mend_room(manifest)};
    if (mending.slot == NULL)
        return;
    mending.places = places;
    mending.seed = checksum(mending.slot + 48, 16, 0);
    for (size_t i = 0; i < image->count; i++)
        mend_file(&mending, &image->files[i]);
}

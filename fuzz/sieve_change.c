/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input does to a sound directory. A change is two bytes, what and where, then what it
 * needs:
 *
 *     what   the low four bits: which change; the highest: places are counted in frames and fields
 *     where  0 the newest slot of MANIFEST, 1 the older one, from 2 on all of a file, by its name
 *     place  three bytes: the offset; or, in frames, the frame and the byte in it
 *
 * All numbers wrap, so that every input is one.
 */
#include "mend.h"
#include "sieve.h"

#include <stdio.h>
#include <string.h>

enum {
    BY_FIELDS = 128,
    FILE_HEADER = 64,
    FRAME_HEADER = 48,
    HEADS = FRAME_HEADER + 24, /* bytes of a frame that are chosen among by fields */
    SECTOR = 512,
    CHANGES = 12,
    LARGEST = 1 << 17,
};

uint64_t input_take(struct input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++, input->at++)
        if (input->at < input->size)
            value |= (uint64_t)input->data[input->at] << (8 * i);
    return value;
}

bool input_ended(const struct input *input)
{
    return input->at >= input->size;
}

/* ---- Places ---------------------------------------------------------------------------------- */

struct area {
    struct file *file;
    size_t from; /* in the file */
    size_t size;
    bool fields;
};

static size_t smaller(uint64_t one, size_t other)
{
    return one < other ? (size_t)one : other;
}

/* The first copy of the last commit in a manifest, or what begins half a file behind or before. */
static struct area slot_area(struct file *manifest, bool newest)
{
    const uint8_t *copy = mend_newest(manifest);
    struct area area = {.file = manifest};
    if (copy == NULL)
        return area;
    area.from = (size_t)(copy - manifest->bytes);
    if (!newest)
        area.from = (area.from + manifest->size / 2) % manifest->size;
    if (manifest->size - area.from >= mend_room(manifest))
        area.size = smaller(get(manifest->bytes, area.from + 24, 8), mend_room(manifest));
    return area;
}

static struct area take_area(struct input *input, struct image *image, bool fields)
{
    const size_t where = (size_t)input_take(input, 1) % (image->count + 2);
    struct file *manifest = image_find(image, "MANIFEST");
    struct area area = {.file = NULL};
    if (where >= 2) {
        area.file = &image->files[where - 2];
        area.size = area.file->size;
    } else if (manifest != NULL) {
        area = slot_area(manifest, where == 0);
    }
    area.fields = fields;
    return area;
}

/* Where frame `number` begins, counted round. */
static size_t frame_at(const struct file *file, size_t number)
{
    size_t at = FILE_HEADER;
    for (; number > 0; number--) {
        uint64_t bytes = FRAME_HEADER;
        if (file->size - at < FRAME_HEADER)
            return FILE_HEADER;
        bytes += get(file->bytes, at + 4, 4) + get(file->bytes, at + 8, 4);
        if (bytes >= file->size - at)
            return FILE_HEADER;
        at += (size_t)bytes;
    }
    return at;
}

/* An offset in the file; its size where the area is empty. */
static size_t take_place(struct input *input, const struct area *area)
{
    const uint64_t place = input_take(input, 3);
    const struct file *file = area->file;
    if (area->size == 0)
        return file->size;
    if (!area->fields)
        return area->from + (size_t)(place % area->size);
    if (strcmp(file->name, "MANIFEST") == 0)
        return area->from + (size_t)(place * 4 % area->size);
    if (file->size <= FILE_HEADER + HEADS)
        return (size_t)(place % file->size);
    const size_t at = frame_at(file, (size_t)place % 16) + (size_t)(place >> 8) % HEADS;
    return at < file->size ? at : FILE_HEADER;
}

/* ---- Changes within a file ------------------------------------------------------------------- */

static void set_bytes(struct input *input, const struct area *area)
{
    const size_t at = take_place(input, area);
    const size_t count = (size_t)input_take(input, 1) % 8 + 1;
    for (size_t i = 0; i < count; i++) {
        const uint8_t byte = (uint8_t)input_take(input, 1);
        if (at + i < area->file->size)
            area->file->bytes[at + i] = byte;
    }
}

static void flip_bit(struct input *input, const struct area *area)
{
    const size_t at = take_place(input, area);
    const unsigned bit = (unsigned)input_take(input, 1) % 8;
    if (at < area->file->size)
        area->file->bytes[at] ^= (uint8_t)(1u << bit);
}

static void set_number(struct input *input, const struct area *area, bool add)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      8,
                                      63,
                                      64,
                                      65,
                                      255,
                                      256,
                                      4095,
                                      4096,
                                      65535,
                                      65536,
                                      0x7fffffff,
                                      1u << 31,
                                      UINT32_MAX,
                                      1ull << 48,
                                      1ull << 62,
                                      1ull << 63,
                                      UINT64_MAX,
                                      UINT64_MAX - 7,
                                      UINT64_MAX - 63};
    const size_t at = take_place(input, area);
    const unsigned width = 1u << (input_take(input, 1) % 4);
    const uint8_t number = (uint8_t)input_take(input, 1);
    if (area->file->size < width || at > area->file->size - width)
        return;
    const uint64_t now = get(area->file->bytes, at, width);
    const uint64_t value = values[number % (sizeof values / sizeof values[0])];
    put(area->file->bytes, at, add ? now + (uint64_t)(int64_t)(int8_t)number : value, width);
}

static void cut(struct input *input, const struct area *area)
{
    const size_t at = take_place(input, area);
    area->file->size = smaller(at, area->file->size);
}

static void extend(struct input *input, struct file *file)
{
    static uint8_t longer[2 * LARGEST];
    const uint64_t count = input_take(input, 1) + 1;
    const size_t more = (size_t)(count % 4 == 0 ? count * 64 : count);
    const uint8_t byte = (uint8_t)input_take(input, 1);
    if (file->size > LARGEST)
        return;
    memcpy(longer, file->bytes, file->size);
    memset(longer + file->size, byte, more);
    file_set(file, longer, file->size + more);
}

/* From one place to another, of the same file or another one. */
static void move_bytes(struct input *input, const struct area *from, const struct area *to)
{
    const size_t at = take_place(input, from);
    const size_t there = take_place(input, to);
    const uint64_t count = input_take(input, 2);
    const size_t most = smaller(from->file->size - at, to->file->size - there);
    memmove(to->file->bytes + there, from->file->bytes + at, smaller(count, most));
}

/* ---- Changes of files ------------------------------------------------------------------------ */

static void swap_files(struct file *one, struct file *other)
{
    const struct file before = *one;
    one->bytes = other->bytes;
    one->size = other->size;
    other->bytes = before.bytes;
    other->size = before.size;
}

static void copy_as(struct input *input, struct image *image, const struct file *from)
{
    const unsigned kind = (unsigned)input_take(input, 1) % 5;
    const unsigned number = (unsigned)input_take(input, 1);
    const unsigned generation = (unsigned)input_take(input, 1);
    char name[NAME];
    uint8_t *bytes = from->bytes;
    const size_t size = from->size;
    if (kind == 0)
        snprintf(name, sizeof name, "seen-%03u.%u", number % 8, generation);
    else if (kind == 1)
        snprintf(name, sizeof name, "pending-%03u.%u", number % 8, generation);
    else if (kind == 2)
        snprintf(name, sizeof name, "queue-%012u", number);
    else if (kind == 3)
        snprintf(name, sizeof name, "filter.%u", generation);
    else
        snprintf(name, sizeof name, "%s", generation % 2 == 0 ? "verdicts" : "MANIFEST.tmp");
    if (image_find(image, name) != NULL)
        return;
    struct file *to = image_add(image, name);
    if (to != NULL)
        file_set(to, bytes, size);
}

/* As it was at the commit before, or its manifest once more before. */
static void set_back(struct input *input, const struct story *story, struct image *image,
                     const struct file *file)
{
    struct image before = story->before;
    struct image manifest = story->manifest_before;
    const bool further = input_take(input, 1) % 2 == 1 && strcmp(file->name, "MANIFEST") == 0;
    const struct file *old = image_find(further ? &manifest : &before, file->name);
    if (old != NULL)
        file_set(image_find(image, file->name), old->bytes, old->size);
}

/* One that is no more, or that of another sieve. */
static void take_other(struct input *input, const struct story *story, struct image *image,
                       struct file *file)
{
    const unsigned number = (unsigned)input_take(input, 1);
    const size_t which = (size_t)input_take(input, 1);
    if (number % 2 == 0) {
        const struct file *old = &story->before.files[which % story->before.count];
        if (image_find(image, old->name) == NULL && image_add(image, old->name) != NULL)
            file_set(image_find(image, old->name), old->bytes, old->size);
        return;
    }
    struct image other = story_get(number / 2)->now;
    const struct file *same = image_find(&other, file->name);
    if (same == NULL)
        same = &other.files[which % other.count];
    file_set(file, same->bytes, same->size);
}

/* Writing the newest slot ended after some sectors: then comes what was there before. */
static void tear(struct input *input, const struct story *story, struct image *image)
{
    struct image before = story->before;
    const size_t sectors = (size_t)input_take(input, 1) % 4;
    struct file *manifest = image_find(image, "MANIFEST");
    const struct file *old = image_find(&before, "MANIFEST");
    if (manifest == NULL || manifest->size != old->size)
        return;
    const struct area slot = slot_area(manifest, true);
    const size_t end = slot.from / (manifest->size / 2) * (manifest->size / 2) + manifest->size / 2;
    const size_t from = slot.from + sectors * SECTOR;
    if (from < end)
        memcpy(manifest->bytes + from, old->bytes + from, end - from);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void change_file(struct input *input, const struct story *story, struct image *image,
                        unsigned what, const struct area *area, bool fields)
{
    struct area other;
    switch (what) {
    case 6:
    case 8:
    case 12:
        other = take_area(input, image, fields);
        if (other.file == NULL)
            return;
        if (what == 6)
            swap_files(area->file, other.file);
        else if (what == 12)
            move_bytes(input, area, &other);
        else if (other.file != area->file)
            file_set(other.file, area->file->bytes, area->file->size);
        return;
    case 7:
        image_remove(image, area->file);
        return;
    case 9:
        copy_as(input, image, area->file);
        return;
    case 10:
        set_back(input, story, image, area->file);
        return;
    case 11:
        take_other(input, story, image, area->file);
        return;
    default:
        tear(input, story, image);
    }
}

/* Whether bytes of an earlier commit may have come back. */
static bool change(struct input *input, const struct story *story, struct image *image)
{
    const unsigned what = (unsigned)input_take(input, 1);
    const bool fields = (what & BY_FIELDS) != 0;
    const struct area area = take_area(input, image, fields);
    if (area.file == NULL)
        return false;
    switch (what % 16) {
    case 0:
    case 14:
        set_bytes(input, &area);
        return false;
    case 1:
        flip_bit(input, &area);
        return false;
    case 2:
    case 15:
        set_number(input, &area, false);
        return false;
    case 3:
        set_number(input, &area, true);
        return false;
    case 4:
        cut(input, &area);
        return false;
    case 5:
        extend(input, area.file);
        return false;
    default:
        change_file(input, story, image, what % 16, &area, fields);
        return true;
    }
}

bool change_all(struct input *input, const struct story *story, struct image *image)
{
    bool earlier = false;
    for (unsigned i = 0; i < CHANGES && !input_ended(input) && image->count > 0; i++)
        earlier |= change(input, story, image);
    return earlier;
}

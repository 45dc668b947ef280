/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound directories. Each story makes a sieve with something of everything: seen keys, decided with
 * a merge and without, pending ones, several segments of the queue, leases, payloads, marks, keys
 * put in again. After every commit it writes down what has to come out of a sieve that is opened in
 * that state.
 *
 * They are made in memory (/dev/shm) when they are first called for, and are the same in every
 * process: while they are made, the library's random numbers come from a fixed seed.
 */
#include "mend.h"
#include "sieve.h"

#include "sieve/memory_engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct shape shapes[STORIES] = {
    {.name = "disk, long key",
     .engine = BLOOMERY_SIEVE_DISK,
     .partitions = 1,
     .marks = 1400,
     .long_key = true},
    {.name = "disk, 4 partitions", .engine = BLOOMERY_SIEVE_DISK, .partitions = 4, .marks = 100},
    {.name = "ordered, 4 partitions",
     .engine = BLOOMERY_SIEVE_DISK,
     .partitions = 4,
     .ordered = true,
     .marks = 100},
    {.name = "ordered, 48 bits, URLs",
     .engine = BLOOMERY_SIEVE_DISK,
     .partitions = 1,
     .fingerprint_bits = 48,
     .ordered = true,
     .marks = 1400,
     .canon = "url"},
    {.name = "memory, growing",
     .engine = BLOOMERY_SIEVE_MEMORY,
     .keys = 300,
     .rate = 0.1,
     .save = 3,
     .marks = 300,
     .wrong_drops = true},
    {.name = "memory, warning",
     .engine = BLOOMERY_SIEVE_MEMORY,
     .keys = 100,
     .rate = 0.1,
     .full = BLOOMERY_SIEVE_WARN,
     .marks = 40,
     .wrong_drops = true},
    {.name = "memory, of another system",
     .engine = BLOOMERY_SIEVE_MEMORY,
     .keys = 200,
     .rate = 0.1,
     .full = BLOOMERY_SIEVE_WARN,
     .dialect = "sieve-murmur3",
     .save = 4,
     .marks = 40,
     .wrong_drops = true},
};

/* ---- Chance ---------------------------------------------------------------------------------- */

/* 0: the system's own. */
static uint64_t chance;

/* Instead of the C library's: the library draws ids and secret keys with it. */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    uint8_t *to = buffer;
    if (chance == 0)
        return (ssize_t)syscall(SYS_getrandom, buffer, length, flags);
    for (size_t i = 0; i < length; i++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        to[i] = (uint8_t)(chance >> 56);
    }
    return (ssize_t)length;
}

/* ---- Directories as bytes -------------------------------------------------------------------- */

struct file *image_find(struct image *image, const char *name)
{
    for (size_t i = 0; i < image->count; i++)
        if (strcmp(image->files[i].name, name) == 0)
            return &image->files[i];
    return NULL;
}

void file_set(struct file *file, const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    must(copy != NULL, "memory for the test");
    if (size > 0)
        memcpy(copy, bytes, size);
    free(file->bytes);
    file->bytes = copy;
    file->size = size;
}

struct file *image_add(struct image *image, const char *name)
{
    struct file *file = image_find(image, name);
    if (file == NULL && image->count == FILES)
        return NULL;
    if (file == NULL) {
        file = &image->files[image->count++];
        *file = (struct file){.bytes = NULL};
        snprintf(file->name, sizeof file->name, "%s", name);
    }
    file_set(file, NULL, 0);
    return file;
}

void image_remove(struct image *image, struct file *file)
{
    free(file->bytes);
    *file = image->files[--image->count];
}

struct image image_copy(const struct image *image)
{
    struct image copy = *image;
    for (size_t i = 0; i < copy.count; i++) {
        copy.files[i].bytes = NULL;
        file_set(&copy.files[i], image->files[i].bytes, image->files[i].size);
    }
    return copy;
}

bool image_same(const struct image *one, const struct image *other)
{
    struct image with = *other;
    for (size_t i = 0; i < one->count; i++) {
        const struct file *file = &one->files[i];
        const struct file *same = image_find(&with, file->name);
        if (same == NULL || same->size != file->size ||
            memcmp(same->bytes, file->bytes, file->size) != 0)
            return false;
    }
    return one->count == other->count;
}

void image_free(struct image *image)
{
    for (size_t i = 0; i < image->count; i++)
        free(image->files[i].bytes);
    image->count = 0;
}

/* ---- The directory of this process ----------------------------------------------------------- */

static char path[256];

static void remove_files(void)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
}

void directory_remove(void)
{
    if (path[0] == '\0')
        return;
    remove_files();
    rmdir(path);
}

const char *directory_path(void)
{
    const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; path[0] == '\0' && i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL)
            continue;
        snprintf(path, sizeof path, "%s/bloomery-fuzz-XXXXXX", places[i]);
        if (mkdtemp(path) == NULL)
            path[0] = '\0';
        else
            atexit(directory_remove);
    }
    must(path[0] != '\0', "a directory to work in");
    return path;
}

struct image directory_read(void)
{
    struct image image = {.count = 0};
    DIR *directory = opendir(directory_path());
    must(directory != NULL, "the directory is there");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat facts;
        if (entry->d_name[0] == '.')
            continue;
        const int file = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        must(file >= 0 && fstat(file, &facts) == 0, "files can be read");
        struct file *to = image_add(&image, entry->d_name);
        must(to != NULL, "there are few files");
        uint8_t *bytes = malloc((size_t)facts.st_size + 1);
        must(bytes != NULL && read(file, bytes, (size_t)facts.st_size) == facts.st_size,
             "files can be read");
        file_set(to, bytes, (size_t)facts.st_size);
        free(bytes);
        close(file);
    }
    closedir(directory);
    return image;
}

void directory_write(const struct image *image)
{
    const int directory = open(directory_path(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(directory >= 0, "the directory is there");
    remove_files();
    for (size_t i = 0; i < image->count; i++) {
        const struct file *from = &image->files[i];
        const int file =
            openat(directory, from->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        must(file >= 0 && write(file, from->bytes, from->size) == (ssize_t)from->size,
             "files can be written");
        close(file);
    }
    close(directory);
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(((const struct file *)one)->name, ((const struct file *)other)->name);
}

/* The directory as it is, files by their names; leases end at times that are always the same. */
static struct image look(void)
{
    enum { STATE = 320, LEASES_AT = STATE + 80, LEASE_BYTES = 32 };
    struct image image = directory_read();
    qsort(image.files, image.count, sizeof image.files[0], compare_names);
    struct file *manifest = image_find(&image, "MANIFEST");
    must(manifest != NULL, "there is a manifest");
    mend_learn(manifest);
    struct image mended = image_copy(&image);
    mend_all(&mended, true);
    must(image_same(&image, &mended), "what is sound needs no mending");
    image_free(&mended);
    for (size_t at = 0; at < manifest->size; at += mend_room(manifest)) {
        uint8_t *bytes = manifest->bytes + at;
        const double ends = 2e9;
        for (uint64_t i = 0; i < get(bytes, STATE + 72, 8); i++)
            if (get(bytes, LEASES_AT + i * LEASE_BYTES + 24, 8) != 0)
                memcpy(bytes + LEASES_AT + i * LEASE_BYTES + 24, &ends, sizeof ends);
    }
    mend_all(&image, false);
    return image;
}

/* ---- Stories --------------------------------------------------------------------------------- */

static void push_range(struct life *life, uint32_t first, uint32_t end,
                       bloomery_sieve_push_mode kind)
{
    for (uint32_t id = first; id < end; id++)
        life_push(life, id, kind);
}

static struct image commit(struct life *life, struct story *story)
{
    if (life->shape->save == story->moment_count + 1)
        life->sieve->filter->appended = (uint64_t)1 << 40; /* worth saving the filter */
    life_commit(life);
    life->state.facts = life_facts(life);
    must(story->moment_count < MOMENTS, "there are few commits");
    story->moments[story->moment_count++] = life->state;
    return look();
}

static void tell(struct life *life, struct story *story)
{
    const struct opening opening = {.make = true};
    struct image image;
    must(life_open(life, &opening), "a sieve is made");
    push_range(life, 2, 40, BLOOMERY_SIEVE_PUSH);
    life_flush(life);
    image = commit(life, story);
    image_free(&image);
    life_pop(life, 12, 5, 1);
    push_range(life, 500, 500 + life->shape->marks, BLOOMERY_SIEVE_PUSH_MARK);
    life_flush(life);
    image = commit(life, story);
    image_free(&image);
    push_range(life, 30, 60, BLOOMERY_SIEVE_PUSH);
    push_range(life, 4, 6, BLOOMERY_SIEVE_PUSH_AGAIN);
    push_range(life, 60, 64, BLOOMERY_SIEVE_PUSH_MARK);
    for (unsigned i = 0; i < 6; i++)
        life_pop(life, 10, 7, 0);
    image = commit(life, story);
    story->manifest_before = (struct image){.count = 0};
    const struct file *manifest = image_find(&image, "MANIFEST");
    file_set(image_add(&story->manifest_before, "MANIFEST"), manifest->bytes, manifest->size);
    image_free(&image);
    /* Where the seen-set is large and little is pending, a pop from an empty queue does not
     * merge. */
    life_push(life, 70, BLOOMERY_SIEVE_PUSH);
    life_pop(life, 2, 0, 0);
    life_push(life, 71, BLOOMERY_SIEVE_PUSH);
    story->before = commit(life, story);
    push_range(life, 0, 2, BLOOMERY_SIEVE_PUSH);
    life_pop(life, 1, 0, 0);
    push_range(life, 55, 90, BLOOMERY_SIEVE_PUSH);
    life_push(life, 6, BLOOMERY_SIEVE_PUSH_AGAIN);
    life_push(life, 90, BLOOMERY_SIEVE_PUSH_MARK);
    story->now = commit(life, story);
    life_close(life);
}

const struct story *story_get(unsigned number)
{
    static struct story stories[STORIES];
    static struct life life;
    struct story *story = &stories[number % STORIES];
    if (story->moment_count > 0)
        return story;
    story->shape = shapes[number % STORIES];
    life = (struct life){.shape = &story->shape, .sound = true, .max_bytes = 1 << 20};
    chance = 1000 + number % STORIES;
    remove_files();
    tell(&life, story);
    chance = 0;
    return story;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See faulty_power.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "faulty_power.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A slow machine changes many names between two commits by the clock. */
enum { FILES = 700, NAMES = 3000 };

/* A file that somebody opened for writing. */
struct file_record {
    dev_t device;
    ino_t number;
    int keep; /* a descriptor of our own */
    uint8_t *synced;
    size_t synced_bytes;
    bool dirty;
};

/* A change of names that has not been synced. */
struct name_record {
    enum name_change { NAME_MADE, NAME_MOVED, NAME_REMOVED } change;
    char name[PATH_MAX];   /* where the file is now (removed: was) */
    char from[PATH_MAX];   /* moved: where it was */
    char backup[PATH_MAX]; /* what it replaced, or what was removed; empty: nothing */
};

static struct file_record files[FILES];
static unsigned file_count;
static struct name_record names[NAMES];
static unsigned name_count;
static unsigned backups;
static const char *shadow;
static uint64_t chance;

void power_start(const char *directory)
{
    shadow = directory;
}

void power_seed(uint64_t seed)
{
    chance = seed;
}

uint64_t power_draw(void)
{
    chance += 0x9d39247e33776d41u;
    uint64_t value = chance;
    value = (value ^ (value >> 29)) * 0xff51afd7ed558ccdu;
    return value ^ (value >> 32);
}

int raw_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

ssize_t raw_write(int file, const void *data, size_t bytes)
{
    return syscall(SYS_write, file, data, bytes);
}

int raw_close(int file)
{
    return (int)syscall(SYS_close, file);
}

static int raw_rename(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int raw_unlink(const char *path)
{
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* This is a test's tool: where it cannot do its work, the test must not pass. */
static void give_up(const char *why)
{
    raw_write(2, why, strlen(why));
    raw_write(2, "\n", 1);
    _exit(99);
}

static size_t read_all(int file, uint8_t **content)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        give_up("faulty_io: fstat");
    size_t bytes = (size_t)facts.st_size;
    *content = malloc(bytes + 1);
    if (*content == NULL || syscall(SYS_pread64, file, *content, bytes, 0) != (long)bytes)
        give_up("faulty_io: reading back");
    return bytes;
}

static void put_all(int file, const uint8_t *content, size_t bytes)
{
    if (syscall(SYS_ftruncate, file, 0) != 0)
        give_up("faulty_io: truncating");
    if (syscall(SYS_pwrite64, file, content, bytes, 0) != (long)bytes)
        give_up("faulty_io: writing back");
}

/* ---- What arrives of a file ------------------------------------------------------------ */

/* Disks write sectors whole. */
enum { SECTOR = 512 };

/* What becomes of the sectors that differ from what was synced. */
enum loss {
    LOSS_OLD,   /* they are as they were */
    LOSS_TAIL,  /* the first ones are new, the others old */
    LOSS_ZEROS, /* the first ones are new, the others zeros */
    LOSS_ANY,   /* each is new, old, or zeros */
    LOSS_NONE,  /* all are new */
    LOSSES
};

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* A sector of a content; zeros behind its end. */
static void take_sector(const uint8_t *content, size_t bytes, size_t at, uint8_t sector[SECTOR])
{
    memset(sector, 0, SECTOR);
    if (at < bytes)
        memcpy(sector, content + at, smaller(SECTOR, bytes - at));
}

/* Of what was written since the last sync some part arrives. The length is the old one or the new
 * one; where the file grew it may be any between. What was not touched since stays as it is. */
static void lose_content(struct file_record *file)
{
    uint8_t *content = NULL;
    const size_t bytes = read_all(file->keep, &content);
    const size_t old_bytes = file->synced_bytes;
    const size_t most = bytes > old_bytes ? bytes : old_bytes;
    const enum loss loss = (enum loss)(power_draw() % LOSSES);
    const size_t border = power_draw() % (most / SECTOR + 1) * SECTOR;
    uint8_t *left = calloc(1, most + SECTOR);
    if (left == NULL)
        give_up("faulty_io: no memory");
    for (size_t at = 0; at < most; at += SECTOR) {
        uint8_t old[SECTOR];
        uint8_t new[SECTOR];
        take_sector(file->synced, old_bytes, at, old);
        take_sector(content, bytes, at, new);
        unsigned choice = (unsigned)(power_draw() % 3);
        if (loss != LOSS_ANY)
            choice = loss == LOSS_NONE || (loss != LOSS_OLD && at < border) ? 0
                     : loss == LOSS_ZEROS                                   ? 2
                                                                            : 1;
        /* Zeros are what a sector holds that was never written; others hold what they held. */
        if (choice == 2 && at >= old_bytes)
            memset(left + at, 0, SECTOR);
        else
            memcpy(left + at, choice == 0 ? new : old, SECTOR);
    }
    size_t length = power_draw() % 2 == 0 ? bytes : old_bytes;
    if (loss == LOSS_OLD)
        length = old_bytes;
    if (loss == LOSS_NONE)
        length = bytes;
    if (bytes > old_bytes && power_draw() % 4 == 0)
        length = old_bytes + power_draw() % (bytes - old_bytes + 1);
    put_all(file->keep, left, length);
    free(left);
    free(content);
}

/* A directory goes with all that is in it. */
static void undo_directory(const char *path)
{
    char away[PATH_MAX];
    snprintf(away, sizeof away, "%s/gone-%u-%d", shadow, backups++, (int)getpid());
    if (raw_rename(path, away) != 0)
        give_up("faulty_io: undoing a name");
}

static void undo_name(const struct name_record *name)
{
    if (name->change == NAME_MOVED && raw_rename(name->name, name->from) != 0)
        give_up("faulty_io: undoing a rename");
    if (name->change == NAME_MADE && raw_unlink(name->name) != 0)
        undo_directory(name->name);
    if (name->backup[0] != '\0' && raw_rename(name->backup, name->name) != 0)
        give_up("faulty_io: bringing a file back");
}

void power_cut(void)
{
    if (shadow == NULL)
        return;
    unsigned arrived = name_count > 0 ? (unsigned)(power_draw() % (name_count + 1)) : 0;
    while (name_count > arrived)
        undo_name(&names[--name_count]);
    for (unsigned i = 0; i < file_count; i++)
        if (files[i].dirty)
            lose_content(&files[i]);
}

static struct file_record *record_of(int file)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return NULL;
    for (unsigned i = 0; i < file_count; i++)
        if (files[i].device == facts.st_dev && files[i].number == facts.st_ino)
            return &files[i];
    return NULL;
}

/* From now on we know what this file held before anything new is written. */
void power_see_file(int file)
{
    struct stat facts;
    char link[40];
    if (shadow == NULL || record_of(file) != NULL)
        return;
    if (fstat(file, &facts) != 0 || file_count == FILES)
        give_up("faulty_io: too many files");
    struct file_record *made = &files[file_count++];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    made->device = facts.st_dev;
    made->number = facts.st_ino;
    made->keep = raw_open(link, O_RDWR, 0);
    if (made->keep < 0)
        give_up("faulty_io: opening a file again");
    made->synced_bytes = read_all(made->keep, &made->synced);
}

void power_dirty_file(int file)
{
    struct file_record *record = shadow != NULL ? record_of(file) : NULL;
    if (record != NULL)
        record->dirty = true;
}

void power_sync_file(int file)
{
    struct file_record *record = shadow != NULL ? record_of(file) : NULL;
    if (record == NULL)
        return;
    free(record->synced);
    record->synced_bytes = read_all(record->keep, &record->synced);
    record->dirty = false;
}

void power_keep_old(const char *path, char backup[PATH_MAX])
{
    backup[0] = '\0';
    if (shadow == NULL || access(path, F_OK) != 0)
        return;
    snprintf(backup, PATH_MAX, "%s/%u", shadow, backups++);
    raw_unlink(backup); /* one left from an earlier power cut */
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, backup, 0) != 0)
        give_up("faulty_io: keeping an old file");
}

static void note_name(enum name_change change, const char *path, const char *from,
                      const char *backup)
{
    if (shadow == NULL)
        return;
    if (name_count == NAMES)
        give_up("faulty_io: too many names");
    struct name_record *made = &names[name_count++];
    made->change = change;
    snprintf(made->name, PATH_MAX, "%s", path);
    snprintf(made->from, PATH_MAX, "%s", from);
    snprintf(made->backup, PATH_MAX, "%s", backup);
}

void power_name_made(const char *path)
{
    note_name(NAME_MADE, path, "", "");
}

void power_name_moved(const char *from, const char *path, const char *backup)
{
    note_name(NAME_MOVED, path, from, backup);
}

void power_name_removed(const char *path, const char *backup)
{
    note_name(NAME_REMOVED, path, "", backup);
}

/* Files that have no name any more, and will get none back. */
static void forget_removed(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < file_count; i++) {
        struct stat facts;
        if (fstat(files[i].keep, &facts) == 0 && facts.st_nlink == 0) {
            raw_close(files[i].keep);
            free(files[i].synced);
        } else {
            files[kept++] = files[i];
        }
    }
    file_count = kept;
}

/* Forgets what is older than the sync. */
void power_sync_directory(const char *directory)
{
    if (shadow == NULL)
        return;
    size_t length = strlen(directory);
    unsigned kept = 0;
    for (unsigned i = 0; i < name_count; i++) {
        const char *slash = strrchr(names[i].name, '/');
        bool here = (size_t)(slash - names[i].name) == length &&
                    strncmp(names[i].name, directory, length) == 0;
        if (here && names[i].backup[0] != '\0')
            raw_unlink(names[i].backup);
        if (!here && kept++ != i)
            names[kept - 1] = names[i];
    }
    name_count = kept;
    forget_removed();
}

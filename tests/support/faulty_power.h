/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a power cut leaves of files: the memory behind faulty_io.c's mode "crash".
 *
 * A file keeps what it held when it was last synced. Of what was written since, at its end or in
 * its middle, everything, nothing, or a first part may have arrived, or of each sector of 512 bytes
 * the new content, the old one, or, behind what was synced, zeros; and its length may be the old
 * one or the new one, or one between. Names (creations, of directories too, links, renames,
 * removals) arrive in order, but of those made since their directory was last synced only a first
 * part does: the others are undone, and a file that a rename had replaced is back. So a program
 * that forgets to sync the file before it renames it, or the directory after it, is found out by
 * some seed.
 *
 * All functions but power_start and power_draw do nothing until power_start.
 */
#ifndef TESTS_FAULTY_POWER_H
#define TESTS_FAULTY_POWER_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* shadow: a directory on the same file system, for files whose names may yet come back. */
void power_start(const char *shadow);

/* Numbers left to chance. */
void power_seed(uint64_t seed);
uint64_t power_draw(void);

/* Files, by an open descriptor: seen for the first time, written to, synced. */
void power_see_file(int file);
void power_dirty_file(int file);
void power_sync_file(int file);

/* A second name for a file that is about to lose this one; backup becomes empty where there is
 * none. */
void power_keep_old(const char *path, char backup[PATH_MAX]);

/* Changes of names, after they were made; then the sync of a directory. */
void power_name_made(const char *path);
void power_name_moved(const char *from, const char *path, const char *backup);
void power_name_removed(const char *path, const char *backup);
void power_sync_directory(const char *path);

/* Now. */
void power_cut(void);

/* Calls that go straight to the kernel, past every stand-in. */
int raw_open(const char *path, int flags, mode_t mode);
ssize_t raw_write(int file, const void *data, size_t bytes);
int raw_close(int file);

#endif

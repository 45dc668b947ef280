/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters and keys as files: opening with a message, locking, and the rules of what may be
 * overwritten. All functions print their own message before they report failure. Those that open
 * filters are in filter_file.c.
 */
#ifndef BLOOMERY_TOOL_FILES_H
#define BLOOMERY_TOOL_FILES_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

/* What a filter is, and what its cells say. Reports need both. */
struct tool_facts {
    bloomery_info info;
    bloomery_scan_result scan;
};

/* Reads all cells. */
static inline void tool_facts_read(const bloomery_filter *filter, struct tool_facts *facts)
{
    facts->info = (bloomery_info)BLOOMERY_INFO;
    facts->scan = (bloomery_scan_result)BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &facts->info);
    bloomery_scan(filter, &facts->scan);
}

/* Reads a secret file: 32 hexadecimal digits, blanks and newlines around them. */
bool tool_secret_read(const char *path, uint8_t key[BLOOMERY_SECRET_BYTES]);

/* The same for a new filter: if the file does not exist, it is made with a random secret (mode
 * 0600). `path` must stay. */
bool tool_secret_read_or_make(const char *path, uint8_t key[BLOOMERY_SECRET_BYTES]);

/* Removes the secret file that was made, after a command that failed before it wrote a filter. It
 * stays if another command may have read it. */
void tool_secret_unmake(void);

/* Opens a filter for its facts and its cells, with its secret or without. NULL after a message. */
const bloomery_filter *tool_filter_inspect(const char *path);

/*
 * Reads a filter into memory, to change it, with the secret of a file, which may be NULL; the
 * secret of `options` is not read. The caller makes its keys by its rule (rule.h). NULL after a
 * message.
 */
bloomery_filter *tool_filter_open(const char *path, bloomery_open_options options,
                                  const char *secret_file);

/* The same of the file that `lock` holds (tool_filter_lock), whatever has its path by now. */
bloomery_filter *tool_filter_open_held(const char *path, int lock, const char *secret_file);

/* Says that it is a pipe or standard input: filters are mapped. Returns false. */
bool tool_filter_refuse(const char *path);

/* Warns if a filter holds more keys than it was planned for. */
void tool_warn_overfull(const char *path, const struct tool_facts *facts);

/* After a FILTER could not be opened: says so if it is not a filter and one of the INPUTs is. */
void tool_hint_at_order(const char *filter, char *const *inputs, size_t count);

/*
 * Locks a filter file against other commands that change it, and waits while one of them holds it.
 * The lock is held on the inode that `path` names on return: if a rename replaced it while we
 * waited, the new one is locked. Returns a descriptor that keeps the lock until tool_filter_unlock,
 * or -1 after a message.
 */
int tool_filter_lock(const char *path);
void tool_filter_unlock(int descriptor);

/* Returns whether `build` may write to this path: nothing is there, or a filter, or `force` is set.
 * Only regular files are replaced, and only in a directory that takes new files. False after a
 * message. */
bool tool_may_replace(const char *path, bool force);
/* The same of a file that is open: of the lock on it. */
bool tool_may_replace_held(const char *path, int descriptor, bool force);

/* Whether a filter that is there can be replaced by a changed one: its directory takes new files.
 * False after a message. */
bool tool_may_change(const char *path);

/* Whether two paths name the same file, be it there or still to be made. */
bool tool_same_file(const char *one, const char *other);

/* Returns whether stdout may get a filter's bytes: it is not a terminal. False after a message. */
bool tool_stdout_takes_bytes(void);

/* Writes a filter to stdout. */
bool tool_filter_to_stdout(const bloomery_filter *filter);

#endif /* BLOOMERY_TOOL_FILES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted file of keys, which is exact; a filter has a false-positive rate. The file stays on disk
 * and is mapped; the filter keeps most queries away from it.
 */
#ifndef BLOOMERY_TOOL_CONFIRM_H
#define BLOOMERY_TOOL_CONFIRM_H

#include <bloomery/bloomery.h>

#include <stdbool.h>

struct tool_confirm;

/* Opens a file of keys, one in a line that ends in `delimiter`, in the order of their bytes. NULL
 * after a message: also if it is packed, no file, or is seen to be out of order. */
struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter);

/* Warns if its first line begins with a byte order mark. With `returns_taken` (keys are made
 * without the carriage return at their end), also if that line ends in one. No key is such a
 * line. */
void tool_confirm_warn(const struct tool_confirm *confirm, bool returns_taken);

/* Whether a line of the file is this key. Any number of threads. */
bool tool_confirm_has(struct tool_confirm *confirm, bloomery_key key);

/* The same for a key that is hexadecimal digits, whatever the case of its letters. It is looked for
 * as it is written, in lower and in upper case. A line that mixes both is found by a key written
 * like it. */
bool tool_confirm_has_hex(struct tool_confirm *confirm, bloomery_key digits);

/* Whether no search so far has come upon lines out of order. If one has, answers mean nothing. */
bool tool_confirm_is_sorted(const struct tool_confirm *confirm);

/* Prints the message of that. */
void tool_confirm_say_unsorted(const struct tool_confirm *confirm);

/* NULL is fine. */
void tool_confirm_close(struct tool_confirm *confirm);

#endif /* BLOOMERY_TOOL_CONFIRM_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted file of keys that says for sure what a filter says with a rate. The file stays on disk
 * and is mapped; the filter keeps most questions away from it.
 */
#ifndef BLOOMERY_TOOL_CONFIRM_H
#define BLOOMERY_TOOL_CONFIRM_H

#include <bloomery/bloomery.h>

#include <stdbool.h>

struct tool_confirm;

/* Opens a file of keys, one in a line that ends in `delimiter`, in the order of their bytes. NULL
 * after a message: also where it is packed, no file, or is seen to be out of order. */
struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter);

/* Warns where its first line begins with a byte order mark, or where `returns_taken` (keys are made
 * without the carriage return at their end) ends in one: no key is such a line. */
void tool_confirm_warn(const struct tool_confirm *confirm, bool returns_taken);

/* Whether a line of the file is this key. Any number of threads. */
bool tool_confirm_has(struct tool_confirm *confirm, bloomery_key key);

/* The same of a key that is hexadecimal digits, whatever the case of its letters: looked for as it
 * is written, in lower and in upper case. A line that mixes both is found by a key written like
 * it. */
bool tool_confirm_has_hex(struct tool_confirm *confirm, bloomery_key digits);

/* Whether no search so far has come upon lines out of order: where one has, answers mean
 * nothing. */
bool tool_confirm_is_sorted(const struct tool_confirm *confirm);

/* What to say then. */
void tool_confirm_say_unsorted(const struct tool_confirm *confirm);

/* NULL is fine. */
void tool_confirm_close(struct tool_confirm *confirm);

#endif /* BLOOMERY_TOOL_CONFIRM_H */

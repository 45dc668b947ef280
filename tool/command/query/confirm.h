/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted file of keys, which is exact; a filter has a false-positive rate. The file stays on disk
 * and is mapped; the filter keeps most queries away from it.
 */
#ifndef BLOOMERY_TOOL_CONFIRM_H
#define BLOOMERY_TOOL_CONFIRM_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>

struct tool_confirm;

/* Opens a file of lines that end in `delimiter`, in the order of their bytes, or of their keys by
 * each of the rules. What its lines look like decides how they are compared with keys. NULL after a
 * message: also if it is packed, no file, or is seen to be out of order. */
struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter,
                                       const bloomery_key_rule *rules, size_t count);

/* Warns if its first line begins with a byte order mark. No key is such a line. */
void tool_confirm_warn(const struct tool_confirm *confirm);

/*
 * Whether a line of the file has this key, by rule number `rule`. `key`: as it is before the steps
 * hex, int64, int32 and utf16. A line is the key itself, or has it where the rule says. A carriage
 * return at its end does not matter. If the rule changes case or reads hexadecimal digits, the key
 * is found in lower and in upper case. Any number of threads.
 */
bool tool_confirm_has(struct tool_confirm *confirm, size_t rule, bloomery_key key);

/* Whether no search so far has come upon lines out of order. If one has, answers mean nothing. */
bool tool_confirm_is_sorted(const struct tool_confirm *confirm);

/* Prints the message of that. */
void tool_confirm_say_unsorted(const struct tool_confirm *confirm);

/* NULL is fine. */
void tool_confirm_close(struct tool_confirm *confirm);

#endif /* BLOOMERY_TOOL_CONFIRM_H */

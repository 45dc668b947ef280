/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query that finds nothing is often one for the right digests in the wrong case. A list of
 * breached passwords has them in upper case; sha1sum prints lower case. Some of the first keys are
 * kept, and queried again in the other case if nothing was found.
 */
#ifndef BLOOMERY_TOOL_HINT_H
#define BLOOMERY_TOOL_HINT_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>

struct tool_hint;

/* Never NULL. */
struct tool_hint *tool_hint_new(void);
void tool_hint_free(struct tool_hint *hint);

/* Keeps those of these keys that look like digests, while there is room. One thread at a time. */
void tool_hint_keep(struct tool_hint *hint, const bloomery_key *keys, size_t count);

/* Queries the filter for the kept keys in the other case. Prints a line if it may have more of them
 * than chance explains. `optional`: the user may give --upper and --lower. */
void tool_hint_say(const struct tool_hint *hint, const char *name, const bloomery_filter *filter,
                   bool optional);

#endif /* BLOOMERY_TOOL_HINT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Canaries: keys that a filter must not have. A canary that the filter takes for a member shows
 * that the filter is over full, or wrong, or holds other keys than was thought. */
#ifndef BLOOMERY_TOOL_CANARY_H
#define BLOOMERY_TOOL_CANARY_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_CANARIES_SHOWN = 10, TOOL_CANARY_BYTES = 80 };

struct tool_canaries {
    uint64_t queried;
    uint64_t hits; /* those that the filter may have */
    size_t shown;  /* of them, the first */
    char text[TOOL_CANARIES_SHOWN][TOOL_CANARY_BYTES];
};

/* Queries a filter for all lines of a file, by its rule. `path`: "-" is stdin; it may be packed. If
 * none may be in the filter, `name`, but digests would be in the other case, a hint reports that.
 * False after a message. */
bool tool_canaries_query(const char *path, const char *name, const bloomery_filter *filter,
                         struct tool_canaries *canaries);

#endif /* BLOOMERY_TOOL_CANARY_H */

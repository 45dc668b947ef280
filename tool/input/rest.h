/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes set aside from one chunk for the next: the beginning of a record. Begins as zeros. */
#ifndef BLOOMERY_TOOL_REST_H
#define BLOOMERY_TOOL_REST_H

#include <stddef.h>

struct tool_rest {
    unsigned char *data;
    size_t bytes;
    size_t capacity;
};

/* Sets bytes aside, instead of those that were. */
void tool_rest_set(struct tool_rest *rest, const unsigned char *data, size_t bytes);

/* Moves them all to `to`. Memory beyond `kept` is not kept: it was for a long record. */
void tool_rest_take(struct tool_rest *rest, unsigned char *to, size_t kept);

void tool_rest_free(struct tool_rest *rest);

#endif /* BLOOMERY_TOOL_REST_H */

/* SPDX-License-Identifier: Apache-2.0 */
#include "input/rest.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

void tool_rest_set(struct tool_rest *rest, const unsigned char *data, size_t bytes)
{
    if (bytes > rest->capacity) {
        rest->capacity = bytes * 2;
        rest->data = tool_reallocate(rest->data, rest->capacity);
    }
    if (bytes > 0)
        memcpy(rest->data, data, bytes);
    rest->bytes = bytes;
}

void tool_rest_take(struct tool_rest *rest, unsigned char *to, size_t kept)
{
    memcpy(to, rest->data, rest->bytes);
    rest->bytes = 0;
    if (rest->capacity > kept)
        tool_rest_free(rest);
}

void tool_rest_free(struct tool_rest *rest)
{
    free(rest->data);
    *rest = (struct tool_rest){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command is an array of strings, each behind its length:
 *
 *     *4\r\n  $12\r\nBF.LOADCHUNK\r\n  $4\r\nseen\r\n  $1\r\n1\r\n  $73\r\n<73 bytes>\r\n
 */
#include "command/redis_commands.h"

#include "base/experimental.h"
#include "base/out.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_string(struct tool_out *out, const void *data, size_t length, uint64_t *bytes)
{
    char head[32];
    *bytes += (uint64_t)snprintf(head, sizeof(head), "$%zu\r\n", length) + length + 2;
    tool_out_text(out, head);
    tool_out_bytes(out, data, length);
    tool_out_bytes(out, "\r\n", 2);
}

static void put_chunk(struct tool_out *out, const char *key, uint64_t iterator, const void *data,
                      size_t length, uint64_t *bytes)
{
    static const char begin[] = "*4\r\n", name[] = "BF.LOADCHUNK";
    char number[24];
    const int digits = snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    tool_out_bytes(out, begin, sizeof(begin) - 1);
    *bytes += sizeof(begin) - 1;
    put_string(out, name, sizeof(name) - 1, bytes);
    put_string(out, key, strlen(key), bytes);
    put_string(out, number, (size_t)digits, bytes);
    put_string(out, data, length, bytes);
}

bool tool_redis_commands(const bloomery_filter *filter, const char *path, const char *key,
                         uint64_t *bytes)
{
    uint8_t *header = tool_allocate(bloomery_redisbloom_header_bytes(filter) + 1);
    bloomery_error error;
    uint64_t iterator = 0;
    struct tool_out *out = tool_allocate(sizeof(*out));
    bloomery_status status = bloomery_verify(filter, &error);
    tool_out_start(out);
    *bytes = 0;
    do {
        const void *data = NULL;
        size_t length = 0;
        if (status == BLOOMERY_OK)
            status = bloomery_redisbloom_scandump(filter, iterator, header, &data, &length,
                                                  &iterator, &error);
        if (status == BLOOMERY_OK && iterator != 0)
            put_chunk(out, key, iterator, data, length, bytes);
    } while (status == BLOOMERY_OK && iterator != 0 && !tool_out_failed(out));
    const bool good = tool_out_finish(out, TOOL_FOUND) == TOOL_FOUND;
    free(out);
    free(header);
    if (status == BLOOMERY_OK)
        return good;
    tool_library_error(path, &error);
    return false;
}

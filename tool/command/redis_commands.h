/* SPDX-License-Identifier: Apache-2.0 */
/* A filter as commands for a Redis server: `convert --to redisbloom --redis-key`. */
#ifndef BLOOMERY_TOOL_REDIS_COMMANDS_H
#define BLOOMERY_TOOL_REDIS_COMMANDS_H

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes to stdout the commands that make this filter under the name `key`, in the server's
 * protocol, as `redis-cli --pipe` takes them: BF.LOADCHUNK with the header, then with each chunk of
 * the bits. `bytes` becomes their length. False after a message; nothing was written then where the
 * filter is none of RedisBloom's.
 */
bool tool_redis_commands(const bloomery_filter *filter, const char *path, const char *key,
                         uint64_t *bytes);

#endif /* BLOOMERY_TOOL_REDIS_COMMANDS_H */

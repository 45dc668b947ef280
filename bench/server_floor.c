/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command of a server costs at least: a module whose commands read each item's bytes and
 * answer an integer for it, and know no key. Ours can't be faster than
 *
 *     FLOOR.MANY key item ...    an array of integers, as BF.MEXISTS replies
 *     FLOOR.ONE key item         an integer, as BF.EXISTS does
 *
 * The integers depend on the items, so that none goes unread.
 */
#include "module/api.h"

#include <string.h>

typedef int (*finder)(const char *name, void *target);

__attribute__((visibility("default"))) int RedisModule_OnLoad(server_context *context,
                                                              server_string **words, int count);

static struct server_api floor_api;

static long long read_item(const server_string *item)
{
    size_t bytes;
    const char *data = floor_api.StringPtrLen(item, &bytes);
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += (unsigned char)data[i];
    return sum & 1;
}

static int many(server_context *context, server_string **words, int count)
{
    if (count < 3)
        return floor_api.WrongArity(context);
    (void)floor_api.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i++)
        (void)floor_api.ReplyWithLongLong(context, read_item(words[i]));
    return SERVER_OK;
}

static int one(server_context *context, server_string **words, int count)
{
    if (count != 3)
        return floor_api.WrongArity(context);
    (void)floor_api.ReplyWithLongLong(context, read_item(words[2]));
    return SERVER_OK;
}

int RedisModule_OnLoad(server_context *context, server_string **words, int count)
{
    finder find;
    (void)words;
    (void)count;
    memcpy(&find, context, sizeof find);
#define FIND(name) find("RedisModule_" #name, &floor_api.name) != 0
    if (FIND(SetModuleAttribs) || FIND(CreateCommand) || FIND(StringPtrLen) ||
        FIND(ReplyWithArray) || FIND(ReplyWithLongLong) || FIND(WrongArity))
        return SERVER_FAILED;
#undef FIND
    floor_api.SetModuleAttribs(context, "floor", 1, SERVER_API_VERSION);
    if (floor_api.CreateCommand(context, "floor.many", many, "readonly fast", 1, 1, 1) !=
            SERVER_OK ||
        floor_api.CreateCommand(context, "floor.one", one, "readonly fast", 1, 1, 1) != SERVER_OK)
        return SERVER_FAILED;
    return SERVER_OK;
}

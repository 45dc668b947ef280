/* SPDX-License-Identifier: Apache-2.0 */
/* A module that takes names before ours: by its arguments "command" BF.ADD, "type" MBbloom--,
 * "name" the name bf, "cuckoo" CF.ADD and MBbloomCF. And with "fault" it reads a byte past a block,
 * by CLASH.FAULT. */
#include "module/api.h"

#include <stdlib.h>
#include <string.h>

typedef int (*finder)(const char *name, void *target);

__attribute__((visibility("default"))) int RedisModule_OnLoad(server_context *context,
                                                              server_string **words, int count);

static int (*reply_with_text)(server_context *context, const char *text);

static int answer(server_context *context, server_string **words, int count)
{
    (void)words;
    (void)count;
    return reply_with_text(context, "another module");
}

/* For a build with AddressSanitizer, which must end the server here. */
static int overread(server_context *context, server_string **words, int count)
{
    char *block = calloc(16, 1);
    volatile int at = 15 + count;
    (void)words;
    if (block != NULL)
        at = (unsigned char)block[at];
    free(block);
    return reply_with_text(context, "nobody noticed");
}

static void release(void *value)
{
    (void)value; /* there is none */
}

int RedisModule_OnLoad(server_context *context, server_string **words, int count)
{
    static const struct server_type_methods methods = {.version = 1, .release = release};
    finder find;
    struct server_api api = {0};
    enum { PARTS = 5 };
    bool wants[PARTS] = {false};
    static const char *const parts[PARTS] = {"command", "type", "name", "fault", "cuckoo"};
    memcpy(&find, context, sizeof find);
    if (find("RedisModule_SetModuleAttribs", &api.SetModuleAttribs) != 0 ||
        find("RedisModule_CreateCommand", &api.CreateCommand) != 0 ||
        find("RedisModule_CreateDataType", &api.CreateDataType) != 0 ||
        find("RedisModule_StringPtrLen", &api.StringPtrLen) != 0 ||
        find("RedisModule_ReplyWithSimpleString", &reply_with_text) != 0)
        return SERVER_FAILED;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < PARTS; j++)
            wants[j] |= strcmp(api.StringPtrLen(words[i], NULL), parts[j]) == 0;
    api.SetModuleAttribs(context, wants[2] ? "bf" : "clash", 1, SERVER_API_VERSION);
    if (wants[0] &&
        api.CreateCommand(context, "bf.add", answer, "readonly fast", 1, 1, 1) != SERVER_OK)
        return SERVER_FAILED;
    if (wants[1] && api.CreateDataType(context, "MBbloom--", 4, &methods) == NULL)
        return SERVER_FAILED;
    if (wants[4] &&
        (api.CreateCommand(context, "cf.add", answer, "readonly fast", 1, 1, 1) != SERVER_OK ||
         api.CreateDataType(context, "MBbloomCF", 4, &methods) == NULL))
        return SERVER_FAILED;
    if (wants[3] &&
        api.CreateCommand(context, "clash.fault", overread, "readonly", 0, 0, 0) != SERVER_OK)
        return SERVER_FAILED;
    return SERVER_OK;
}

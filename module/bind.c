/* SPDX-License-Identifier: Apache-2.0 */
/* The first word of a context is the function that finds all others. */
#include "api.h"

#include <stdio.h>
#include <string.h>

typedef int (*finder)(const char *name, void *target);

struct server_api server;

enum need { OPTIONAL, REQUIRED };

static const struct row {
    const char *name;
    size_t offset;
    enum need need;
} rows[] = {
#define BIND_ROW(need, result, name, arguments) \
    {"RedisModule_" #name, offsetof(struct server_api, name), need},
    SERVER_API(BIND_ROW)
#undef BIND_ROW
};

static finder finder_of(server_context *context)
{
    finder find;
    memcpy(&find, context, sizeof find);
    return find;
}

bool bf_bind(server_context *context)
{
    const finder find = finder_of(context);
    const struct row *missing = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *target = (char *)&server + rows[i].offset;
        if (find(rows[i].name, target) == SERVER_OK)
            continue;
        memset(target, 0, sizeof(server_function));
        if (rows[i].need == REQUIRED && missing == NULL)
            missing = &rows[i];
    }
    if (missing == NULL)
        return true;
    if (server.Log != NULL)
        server.Log(context, "warning", "bloomery: this server has no %s", missing->name);
    else
        fprintf(stderr, "bloomery: this server has no %s\n", missing->name);
    return false;
}

bool bf_is_valkey(server_context *context)
{
    server_function found = NULL;
    return finder_of(context)("ValkeyModule_Call", &found) == SERVER_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as commands open them: filters, windows and cuckoo filters. */
#include "cf.h"
#include "window.h"

#include <assert.h>

static void open_window(server_context *context, server_string *name, int mode,
                        struct bf_opened *opened)
{
    const bloomery_key text = bf_key_of(name);
    if (server.GetSelectedDb != NULL)
        bf_window_is_at(opened->window, text.data, text.bytes, server.GetSelectedDb(context));
    if ((mode & SERVER_WRITE) != 0)
        bf_window_catch_up(context, name, opened->window);
    opened->value = opened->window->generations[0];
    assert(opened->value != NULL && opened->value->filter != NULL);
}

enum bf_found bf_open(server_context *context, server_string *name, int mode,
                      struct bf_opened *opened)
{
    *opened = (struct bf_opened){.key = server.OpenKey(context, name, mode)};
    if (opened->key == NULL)
        return BF_MISSING;
    const server_type *type = server.ModuleTypeGetType(opened->key);
    if (type == bf_window_type && type != NULL) {
        opened->window = server.ModuleTypeGetValue(opened->key);
        open_window(context, name, mode, opened);
        return BF_FOUND;
    }
    if (type != bf_type) /* NULL: empty, or no module's */
        return server.KeyType(opened->key) == SERVER_KEY_EMPTY ? BF_MISSING : BF_WRONG_TYPE;
    opened->value = server.ModuleTypeGetValue(opened->key);
    assert(opened->value != NULL && opened->value->filter != NULL);
    return BF_FOUND;
}

enum bf_found cf_open(server_context *context, server_string *name, int mode,
                      struct bf_opened *opened)
{
    *opened = (struct bf_opened){.key = server.OpenKey(context, name, mode)};
    if (opened->key == NULL)
        return BF_MISSING;
    const server_type *type = server.ModuleTypeGetType(opened->key);
    if (type == NULL || type != cf_type)
        return server.KeyType(opened->key) == SERVER_KEY_EMPTY ? BF_MISSING : BF_WRONG_TYPE;
    opened->value = server.ModuleTypeGetValue(opened->key);
    assert(opened->value != NULL && opened->value->filter != NULL);
    return BF_FOUND;
}

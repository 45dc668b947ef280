/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one function that the server sees. Where nothing of the reference's is taken, ours take its
 * place: module `bf`, commands BF.*, type MBbloom--. Where another module has some of it, ours load
 * all the same, beside it.
 */
#include "bf.h"

/* The level of the interface that clients ask for by this number; our own version is in INFO. */
enum { LEVEL = 81000 };

__attribute__((visibility("default"))) int RedisModule_OnLoad(server_context *context,
                                                              server_string **words, int count);

static int options_of(server_context *context)
{
    int options =
        SERVER_MODULE_HANDLES_IO_ERRORS | SERVER_MODULE_SIGNALS_KEYS | SERVER_MODULE_LOADS_ASIDE;
    if (bf_is_valkey(context))
        options |= SERVER_MODULE_SLOTS_MOVE;
    return options;
}

int RedisModule_OnLoad(server_context *context, server_string **words, int count)
{
    if (!bf_bind(context))
        return SERVER_FAILED;
    const bool is_taken = server.IsModuleNameBusy != NULL && server.IsModuleNameBusy("bf") != 0;
    server.SetModuleAttribs(context, is_taken ? "bloomery" : "bf", LEVEL, SERVER_API_VERSION);
    if (!bf_config_arguments(context, words, count))
        return SERVER_FAILED;
    bool is_reference = false;
    if (!bf_type_create(context, &is_reference)) {
        server.Log(context, "warning", "bloomery: no type can be had");
        return SERVER_FAILED;
    }
    const bool drop_in = bf_commands_free(context);
    /* Who has the reference's type would take what we pass on under its names for its own. */
    bf_names_choose(drop_in && is_reference);
    if (!bf_commands_register(context, drop_in) ||
        !bf_config_register(context, drop_in && !is_taken))
        return SERVER_FAILED;
    server.SetModuleOptions(context, options_of(context));
    bf_info_register(context);
    bf_populate_register(context);
    return SERVER_OK;
}

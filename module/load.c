/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one function that the server sees, and the type by which it knows our keys. If the server has
 * none of the reference's names yet, this module takes them: module `bf`, commands BF.* and CF.*,
 * types MBbloom-- and MBbloomCF. If another module has some of them, this one loads beside it under
 * its own names.
 */
#define BLOOMERY_EXPERIMENTAL

#include "cf.h"
#include "window.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <string.h>

enum {
    LEVEL = 81000, /* the interface that clients look for; our own version is in INFO */
};

__attribute__((visibility("default"))) int RedisModule_OnLoad(server_context *context,
                                                              server_string **words, int count);

/* ---- The type -------------------------------------------------------------------------------- */

static size_t memory_of(const void *value)
{
    bloomery_info info;
    bf_info_of(value, &info);
    return (size_t)bf_told_bytes(&info);
}

/* A header says what the filter is; then its bits. Spare bytes behind a link do not count. */
static void digest(server_digest *digest, void *value)
{
    const struct bf_value *held = value;
    bloomery_info info;
    size_t bytes;
    const uint8_t *header = bf_header(held, &bytes);
    bf_info_of(held, &info);
    server.DigestAddStringBuffer(digest, (const char *)header, bytes);
    for (uint32_t i = 0; i < info.layers; i++) {
        struct bf_link link;
        const void *data;
        uint64_t room;
        bf_header_read_link(header, i, &link);
        (void)bloomery_layer_span(held->filter, i, &data, &room);
        assert(link.bytes <= room);
        server.DigestAddStringBuffer(digest, data, (size_t)link.bytes);
    }
    server.DigestEndSequence(digest);
}

static void *copy_value(server_string *from, server_string *to, const void *value)
{
    (void)from;
    (void)to;
    return bf_value_copy(NULL, value);
}

/* Creates the type; `is_reference` says whether it has the reference's name. False: none could be
 * had. */
static bool create_type(server_context *context, bool *is_reference)
{
    static const struct server_type_methods methods = {
        .version = SERVER_TYPE_VERSION,
        .load = bf_rdb_load,
        .save = bf_rdb_save,
        .rewrite = bf_aof_rewrite,
        .memory = memory_of,
        .digest = digest,
        .release = bf_value_free,
        .release_effort = bf_value_release_effort,
        .copy = copy_value,
        .defrag = bf_value_defrag,
    };
    static const char *const names[] = {"MBbloom--", "bloomery-"};
    bf_type = bf_value_type(context, names, &methods, is_reference);
    return bf_type != NULL;
}

/* ---- Loading --------------------------------------------------------------------------------- */

int RedisModule_OnLoad(server_context *context, server_string **words, int count)
{
    if (!bf_bind(context))
        return SERVER_FAILED;
    const bool is_taken = server.IsModuleNameBusy != NULL && server.IsModuleNameBusy("bf") != 0;
    const char *name = is_taken ? "bloomery" : "bf";
    server.SetModuleAttribs(context, name, LEVEL, SERVER_API_VERSION);
    if (!bf_config_arguments(context, words, count))
        return SERVER_FAILED;
    bool is_reference = false;
    bool is_cuckoo_reference = false;
    if (!create_type(context, &is_reference) || !bf_window_type_create(context) ||
        !cf_type_create(context, &is_cuckoo_reference)) {
        server.Log(context, "warning", "bloomery: no type can be had");
        return SERVER_FAILED;
    }
    const bool drop_in = bf_commands_free(context, BF_BLOOM);
    const bool is_cuckoo_free = bf_commands_free(context, BF_CUCKOO);
    /* A module with the reference's type would take commands that we replicate under its names for
     * its own. */
    bf_names_choose(drop_in && is_reference);
    cf_names_choose(is_cuckoo_free && is_cuckoo_reference);
    if (!bf_commands_register(context, BF_BLOOM, drop_in) ||
        !bf_commands_register(context, BF_CUCKOO, is_cuckoo_free) ||
        !bf_config_register(context, name, drop_in && !is_taken))
        return SERVER_FAILED;
    server.SetModuleOptions(context, SERVER_MODULE_HANDLES_IO_ERRORS | SERVER_MODULE_SIGNALS_KEYS |
                                         SERVER_MODULE_LOADS_ASIDE |
                                         (bf_is_valkey(context) ? SERVER_MODULE_SLOTS_MOVE : 0));
    bf_info_register(context);
    bf_populate_register(context, bf_value_free);
    bf_windows_register(context);
    return SERVER_OK;
}

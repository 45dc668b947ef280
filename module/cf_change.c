/* SPDX-License-Identifier: Apache-2.0 */
/* CF.DEL and CF.COMPACT; CF.SCANDUMP and CF.LOADCHUNK: a filter in pieces. */
#include "cf.h"

int cf_del(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    bool removed = false;
    if (count != 3)
        return server.WrongArity(context);
    const enum bf_found found = cf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found == BF_FOUND)
        removed = bloomery_remove(opened.value->filter, bf_key_of(words[2]), NULL);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail(context, "Not found");
    if (removed) {
        atomic_fetch_add(&bf_counts.cuckoo_deletes, 1);
        cf_changed(context, CF_DELETED, words, count);
    }
    (void)server.ReplyWithBool(context, removed);
    return SERVER_OK;
}

int cf_compact(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    bool changes = false;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = cf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found == BF_FOUND)
        (void)bloomery_cuckoo_compact(opened.value->filter, true, &changes, NULL);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail(context, "Cuckoo filter was not found");
    if (changes)
        cf_changed(context, CF_COMPACTED, words, count);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A sub-filter that is not larger than a piece comes as a whole, from any position in it. */
static void tell_slots(server_context *context, const struct bf_value *value,
                       const bloomery_cuckoo_info *facts, uint64_t at)
{
    const uint64_t most = (uint64_t)bf_config.chunk_bytes;
    uint64_t begin = 0; /* of the sub-filter */
    uint64_t bytes = 0;
    const char *slots = NULL;
    for (uint32_t i = 0; i < facts->tables; i++) {
        slots = cf_slots(value, facts, i, &bytes);
        if (at - begin < bytes)
            break;
        begin += bytes;
    }
    const uint64_t from = bytes <= most ? 0 : at - begin;
    const uint64_t left = bytes - from < most ? bytes - from : most;
    (void)server.ReplyWithArray(context, 2);
    (void)server.ReplyWithLongLong(context, (long long)(begin + from + left + 1));
    (void)server.ReplyWithStringBuffer(context, slots + from, (size_t)left);
}

/* As in the reference, a filter without items has no pieces. */
static void tell_piece(server_context *context, const struct bf_value *value, uint64_t position)
{
    uint8_t header[BLOOMERY_CUCKOO_HEADER];
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    if (facts.items == 0 || position > facts.bytes) {
        (void)server.ReplyWithArray(context, 2);
        (void)server.ReplyWithLongLong(context, 0);
        (void)server.ReplyWithNull(context);
    } else if (position > 0) {
        tell_slots(context, value, &facts, position - 1);
    } else {
        cf_header(value, header);
        (void)server.ReplyWithArray(context, 2);
        (void)server.ReplyWithLongLong(context, 1);
        (void)server.ReplyWithStringBuffer(context, (const char *)header, sizeof header);
    }
}

int cf_scandump(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    long long position;
    if (count != 3)
        return server.WrongArity(context);
    const enum bf_found found = cf_open(context, words[1], SERVER_READ, &opened);
    const bool is_position =
        server.StringToLongLong(words[2], &position) == SERVER_OK && position >= 0;
    if (found == BF_FOUND && is_position)
        tell_piece(context, opened.value, (uint64_t)position);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    return is_position ? SERVER_OK : bf_fail(context, "Invalid position");
}

static const char *load_header(server_context *context, server_key *key, bloomery_key chunk)
{
    struct bf_value *value;
    const bloomery_status status = cf_value_from_header(context, chunk.data, chunk.bytes, &value);
    if (status != BLOOMERY_OK)
        return status == BLOOMERY_OUT_OF_MEMORY ? "Couldn't create filter!" : "Invalid header";
    (void)server.ModuleTypeSetValue(key, cf_type, value);
    bf_populate(value);
    return NULL;
}

/* NULL, or why a piece was not loaded. */
static const char *load(server_context *context, struct bf_opened *opened, enum bf_found found,
                        long long position, bloomery_key chunk)
{
    if (found == BF_WRONG_TYPE)
        return BF_WRONG_TYPE_TEXT;
    if (position == 1)
        return found == BF_FOUND ? "ERR item exists" : load_header(context, opened->key, chunk);
    if (found == BF_MISSING)
        return "ERR not found";
    if (position < 0 || bloomery_cuckoo_load_chunk(opened->value->filter, (uint64_t)position,
                                                   chunk.data, chunk.bytes, NULL) != BLOOMERY_OK)
        return "Couldn't load chunk!";
    return NULL;
}

int cf_loadchunk(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    long long position;
    if (count != 4)
        return server.WrongArity(context);
    if (server.StringToLongLong(words[2], &position) != SERVER_OK || position == 0)
        return bf_fail(context, "Invalid position");
    const enum bf_found found = cf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    const char *wrong = load(context, &opened, found, position, bf_key_of(words[3]));
    server.CloseKey(opened.key);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    cf_changed(context, CF_LOADED, words, count);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* BF.SCANDUMP and BF.LOADCHUNK: a filter in pieces, in the form that the reference exchanges. */
#define BLOOMERY_EXPERIMENTAL

#include "window.h"

#include <assert.h>
#include <bloomery/experimental.h>

static void tell_chunk(server_context *context, const struct bf_opened *opened, long long iterator)
{
    uint8_t header[BF_WINDOW_HEADER_MAX];
    const void *data = "";
    size_t bytes = 0;
    uint64_t next = 0;
    if (iterator == 0) {
        data = opened->window != NULL ? header : bf_header(opened->value, &bytes);
        if (opened->window != NULL)
            bytes = bf_window_header(opened->window, header);
        next = 1;
    } else if (iterator > 0) {
        if (opened->window != NULL) {
            bf_window_chunk(opened->window, (uint64_t)iterator, &data, &bytes, &next);
        } else {
            const bloomery_status status = bloomery_redisbloom_scandump(
                opened->value->filter, (uint64_t)iterator, NULL, &data, &bytes, &next, NULL);
            assert(status == BLOOMERY_OK);
            (void)status;
        }
        if (bytes == 0)
            data = ""; /* at the end there is nothing, and servers want a place all the same */
        if (bytes > (uint64_t)bf_config.chunk_bytes) {
            next -= bytes - (uint64_t)bf_config.chunk_bytes;
            bytes = (size_t)bf_config.chunk_bytes;
        }
    }
    (void)server.ReplyWithArray(context, 2);
    (void)server.ReplyWithLongLong(context, (long long)next);
    (void)server.ReplyWithStringBuffer(context, data, bytes);
}

int bf_scandump(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    long long iterator;
    if (count != 3)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &opened);
    const bool is_number = server.StringToLongLong(words[2], &iterator) == SERVER_OK;
    if (found == BF_FOUND && is_number)
        tell_chunk(context, &opened, iterator);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    return is_number ? SERVER_OK : bf_fail(context, "Second argument must be numeric");
}

/* A window that arrives in chunks is not rotated before the last one: the others would miss their
 * generations. */
static const char *load_window(server_context *context, server_string *name, server_key *key,
                               bloomery_key chunk)
{
    struct bf_window *window;
    const bloomery_status status = bf_window_from_header(context, chunk.data, chunk.bytes, &window);
    if (status != BLOOMERY_OK)
        return status == BLOOMERY_OUT_OF_MEMORY ? "ERR Insufficient memory to create filter"
                                                : "ERR received bad data";
    window->is_arriving = true;
    (void)server.ModuleTypeSetValue(key, bf_window_type, window);
    const bloomery_key text = bf_key_of(name);
    if (server.GetSelectedDb != NULL)
        bf_window_is_at(window, text.data, text.bytes, server.GetSelectedDb(context));
    bf_keep_addresses(window->generations[0]);
    for (uint32_t i = 0; i < window->plan.generations; i++)
        bf_populate(window->generations[i]);
    return NULL;
}

static const char *load_header(server_context *context, server_key *key, bloomery_key chunk)
{
    struct bf_value *value;
    const bloomery_status status =
        bf_value_from_header(context, 0, chunk.data, chunk.bytes, &value, NULL);
    if (status == BLOOMERY_OUT_OF_MEMORY)
        return "ERR Insufficient memory to create filter";
    /* Flag 2^31 of the options, which are little-endian from byte 12 on, means a seed. */
    if (status == BLOOMERY_UNSUPPORTED && chunk.bytes >= 16 &&
        ((const unsigned char *)chunk.data)[15] >= 0x80)
        return "ERR received data of a later release, with a seed";
    if (status != BLOOMERY_OK)
        return "ERR received bad data";
    (void)server.ModuleTypeSetValue(key, bf_type, value);
    bf_keep_addresses(value);
    bf_populate(value);
    return NULL;
}

/* NULL, or why bits that end at `iterator` are not bits of this filter. */
static const char *load_bits(const struct bf_opened *opened, long long iterator, bloomery_key chunk)
{
    const void *data;
    size_t bytes;
    uint64_t next = 0;
    struct bf_value *value = opened->value;
    if (iterator <= 0 || (uint64_t)iterator < chunk.bytes)
        return "ERR received bad data";
    if (opened->window != NULL)
        return bf_window_load(opened->window, (uint64_t)iterator, chunk);
    const uint64_t from = (uint64_t)iterator - chunk.bytes; /* the iterator that asks for them */
    if (from > 0)
        (void)bloomery_redisbloom_scandump(value->filter, from, NULL, &data, &bytes, &next, NULL);
    if (next == 0)
        return "ERR invalid offset - no link found";
    if (bloomery_redisbloom_loadchunk(&value->filter, (uint64_t)iterator, chunk.data, chunk.bytes,
                                      NULL, NULL) != BLOOMERY_OK)
        return "ERR invalid chunk - Too big for current filter";
    return NULL;
}

int bf_loadchunk(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    long long iterator;
    const char *wrong;
    if (count != 4)
        return server.WrongArity(context);
    if (server.StringToLongLong(words[2], &iterator) != SERVER_OK)
        return bf_fail(context, "ERR Second argument must be numeric");
    const enum bf_found found = bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found == BF_WRONG_TYPE)
        wrong = BF_WRONG_TYPE_TEXT;
    else if (found == BF_FOUND)
        wrong = load_bits(&opened, iterator, bf_key_of(words[3]));
    else if (iterator == 1 && bf_window_is_header(bf_key_of(words[3])))
        wrong = load_window(context, words[1], opened.key, bf_key_of(words[3]));
    else if (iterator == 1)
        wrong = load_header(context, opened.key, bf_key_of(words[3]));
    else
        wrong = "ERR not found";
    server.CloseKey(opened.key);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    bf_loaded(context, words, found == BF_MISSING);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.INFO and CF.DEBUG. As in the reference, a key of another type
 * contains nothing. */
#include "cf.h"

#include <stdio.h>

int cf_exists(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    if (count != 3)
        return server.WrongArity(context);
    const bool is_in = cf_open(context, words[1], SERVER_READ, &opened) == BF_FOUND &&
                       bloomery_may_contain(opened.value->filter, bf_key_of(words[2]));
    (void)server.ReplyWithBool(context, is_in);
    server.CloseKey(opened.key);
    return SERVER_OK;
}

int cf_mexists(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    if (count < 3)
        return server.WrongArity(context);
    (void)cf_open(context, words[1], SERVER_READ, &opened);
    bf_answer(context, &opened, 0, words + 2, count - 2);
    server.CloseKey(opened.key);
    return SERVER_OK;
}

int cf_count(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    uint64_t times = 0;
    if (count != 3)
        return server.WrongArity(context);
    if (cf_open(context, words[1], SERVER_READ, &opened) == BF_FOUND)
        times = bloomery_key_count(opened.value->filter, bf_key_of(words[2]));
    (void)server.ReplyWithLongLong(context, (long long)times);
    server.CloseKey(opened.key);
    return SERVER_OK;
}

static void tell_facts(server_context *context, const struct bf_value *value)
{
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    const struct {
        const char *name;
        uint64_t number;
    } fields[] = {
        {"Size", cf_told_bytes(value)},
        {"Number of buckets", facts.buckets},
        {"Number of filters", facts.tables},
        {"Number of items inserted", facts.items},
        {"Number of items deleted", facts.removed},
        {"Bucket size", facts.slots},
        {"Expansion rate", facts.growth},
        {"Max iterations", facts.iterations},
    };
    (void)server.ReplyWithMap(context, sizeof fields / sizeof fields[0]);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        (void)server.ReplyWithSimpleString(context, fields[i].name);
        (void)server.ReplyWithLongLong(context, (long long)fields[i].number);
    }
}

static void tell_line(server_context *context, const struct bf_value *value)
{
    char text[240];
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    const int bytes =
        snprintf(text, sizeof text,
                 "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%u "
                 "max_iterations:%u expansion:%u",
                 facts.slots, (unsigned long long)facts.buckets, (unsigned long long)facts.items,
                 (unsigned long long)facts.removed, facts.tables, facts.iterations, facts.growth);
    (void)server.ReplyWithStringBuffer(context, text, (size_t)bytes);
}

static int describe(server_context *context, server_string **words, int count,
                    void (*tell)(server_context *context, const struct bf_value *value))
{
    struct bf_opened opened;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = cf_open(context, words[1], SERVER_READ, &opened);
    if (found == BF_FOUND)
        tell(context, opened.value);
    server.CloseKey(opened.key);
    return found == BF_FOUND ? SERVER_OK : bf_fail_not(context, found);
}

int cf_info(server_context *context, server_string **words, int count)
{
    return describe(context, words, count, tell_facts);
}

int cf_debug(server_context *context, server_string **words, int count)
{
    return describe(context, words, count, tell_line);
}

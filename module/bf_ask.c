/* SPDX-License-Identifier: Apache-2.0 */
/* BF.EXISTS, BF.MEXISTS, BF.CARD. As in the reference, a key of another type contains nothing. */
#include "bf.h"

enum { BLOCK = 256 };

int bf_exists(server_context *context, server_string **words, int count)
{
    server_key *key;
    struct bf_value *value;
    if (count != 3)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &key, &value);
    (void)server.ReplyWithBool(
        context, found == BF_FOUND && bloomery_may_contain(value->filter, bf_key_of(words[2])));
    server.CloseKey(key);
    return SERVER_OK;
}

/* Asks for up to BLOCK items at once, whose memory accesses hide behind each other. */
static void ask_block(server_context *context, const struct bf_value *value, server_string **items,
                      size_t count)
{
    bloomery_key list[BLOCK];
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    uint64_t answers[BLOCK / 64] = {0};
    for (size_t i = 0; value != NULL && i < count; i++)
        list[i] = bf_key_of(items[i]);
    if (value != NULL)
        (void)bloomery_may_contain_keys(value->filter, &keys, answers, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        (void)server.ReplyWithBool(context, (answers[i / 64] >> (i % 64) & 1) != 0);
}

int bf_mexists(server_context *context, server_string **words, int count)
{
    server_key *key;
    struct bf_value *value;
    if (count < 3)
        return server.WrongArity(context);
    (void)bf_open(context, words[1], SERVER_READ, &key, &value);
    (void)server.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i += BLOCK) {
        const int left = count - i;
        ask_block(context, value, words + i, (size_t)(left < BLOCK ? left : BLOCK));
    }
    server.CloseKey(key);
    return SERVER_OK;
}

int bf_card(server_context *context, server_string **words, int count)
{
    server_key *key;
    struct bf_value *value;
    bloomery_info info = {0};
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &key, &value);
    if (found == BF_FOUND)
        bf_info_of(value, &info);
    server.CloseKey(key);
    if (found == BF_WRONG_TYPE)
        return bf_fail_not(context, found);
    (void)server.ReplyWithLongLong(context, (long long)info.adds);
    return SERVER_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* BF.EXISTS, BF.MEXISTS, BF.CARD. As in the reference, a key of another type contains nothing. */
#include "window.h"

int bf_exists(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    bool is_in = false;
    if (count != 3)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &opened);
    if (found == BF_FOUND && opened.window == NULL)
        is_in = bloomery_may_contain(opened.value->filter, bf_key_of(words[2]));
    if (found == BF_FOUND && opened.window != NULL) {
        const uint32_t visible = bf_window_visible(context, opened.window);
        for (uint32_t i = 0; !is_in && i < visible; i++)
            is_in =
                bloomery_may_contain(opened.window->generations[i]->filter, bf_key_of(words[2]));
    }
    (void)server.ReplyWithBool(context, is_in);
    server.CloseKey(opened.key);
    return SERVER_OK;
}

/* Asks for up to BF_BLOCK items at once, whose memory accesses hide behind each other. */
static void ask_block(server_context *context, const struct bf_opened *opened, uint32_t visible,
                      server_string **items, size_t count)
{
    bloomery_key list[BF_BLOCK];
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    uint64_t answers[BF_BLOCK / 64] = {0};
    for (size_t i = 0; opened->value != NULL && i < count; i++)
        list[i] = bf_key_of(items[i]);
    if (opened->window != NULL)
        bf_window_may_contain(opened->window, 0, visible, &keys, answers);
    else if (opened->value != NULL)
        (void)bloomery_may_contain_keys(opened->value->filter, &keys, answers, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        (void)server.ReplyWithBool(context, (answers[i / 64] >> (i % 64) & 1) != 0);
}

void bf_answer(server_context *context, const struct bf_opened *opened, uint32_t visible,
               server_string **items, int count)
{
    (void)server.ReplyWithArray(context, count);
    for (int i = 0; i < count; i += BF_BLOCK) {
        const int left = count - i;
        ask_block(context, opened, visible, items + i, (size_t)(left < BF_BLOCK ? left : BF_BLOCK));
    }
}

int bf_mexists(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    if (count < 3)
        return server.WrongArity(context);
    (void)bf_open(context, words[1], SERVER_READ, &opened);
    const uint32_t visible = opened.window != NULL ? bf_window_visible(context, opened.window) : 0;
    bf_answer(context, &opened, visible, words + 2, count - 2);
    server.CloseKey(opened.key);
    return SERVER_OK;
}

int bf_card(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    bloomery_info info = {0};
    uint64_t items = 0;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &opened);
    if (found == BF_FOUND && opened.window != NULL) {
        items = bf_window_items(opened.window, bf_window_visible(context, opened.window));
    } else if (found == BF_FOUND) {
        bf_info_of(opened.value, &info);
        items = info.adds;
    }
    server.CloseKey(opened.key);
    if (found == BF_WRONG_TYPE)
        return bf_fail_not(context, found);
    (void)server.ReplyWithLongLong(context, (long long)items);
    return SERVER_OK;
}

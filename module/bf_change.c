/* SPDX-License-Identifier: Apache-2.0 */
/* BF.CLEAR, BF.MERGE and BF.ROTATE: commands that change a whole key. */
#define BLOOMERY_EXPERIMENTAL

#include "window.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 320, NAME_SHOWN = 64 };

/* ---- BF.CLEAR -------------------------------------------------------------------------------- */

/* An empty filter takes the place of the one that is there, which is released aside. Where memory
 * for it lacks, or maxmemory, the bits are written over. */
static void clear_filter(server_key *key, struct bf_value *value)
{
    void *old = NULL;
    if (bf_value_clear_if_tight(value))
        return;
    struct bf_value *fresh = bf_value_emptied(value);
    if (fresh == NULL) {
        const bloomery_status status = bloomery_clear(value->filter, NULL);
        assert(status == BLOOMERY_OK);
        (void)status;
        return;
    }
    const int replaced = server.ModuleTypeReplaceValue(key, bf_type, fresh, &old);
    assert(replaced == SERVER_OK && old == value);
    (void)replaced;
    bf_release_aside(value);
}

int bf_clear(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found == BF_FOUND && opened.window != NULL)
        bf_window_clear(opened.window);
    else if (found == BF_FOUND)
        clear_filter(opened.key, opened.value);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    bf_pass_on(context, bf_names->clear, words, count, "bloom.clear");
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* ---- BF.MERGE -------------------------------------------------------------------------------- */

/* The target and its sources, in the order of the words. */
struct merging {
    struct bf_opened *opened; /* of each word from the second on */
    int count;
    bool has_target;
    uint64_t bytes; /* that are read */
    char text[TEXT_BYTES];
};

/* NULL, or how a source differs from the first filter. */
static const char *find_difference(struct merging *merging, const server_string *name,
                                   const struct bf_value *value, const struct bf_value *first)
{
    bloomery_error error;
    size_t bytes;
    const char *data = server.StringPtrLen(name, &bytes);
    if (bloomery_redisbloom_same_layers(first->filter, value->filter, &error) == BLOOMERY_OK)
        return NULL;
    snprintf(merging->text, sizeof merging->text,
             "ERR %.*s can't be merged: %s; only filters of the same layers can be",
             (int)(bytes < NAME_SHOWN ? bytes : NAME_SHOWN), data, error.text);
    for (char *at = merging->text; *at != '\0'; at++) /* an error is one line */
        if (*at == '\r' || *at == '\n')
            *at = ' ';
    return merging->text;
}

/* NULL, or what is wrong with one of the keys. */
static const char *open_all(server_context *context, server_string **words, struct merging *merging)
{
    const struct bf_value *first = NULL;
    const char *wrong = NULL;
    for (int i = 0; i < merging->count; i++) {
        struct bf_opened *opened = &merging->opened[i];
        const int mode = i == 0 ? SERVER_READ | SERVER_WRITE : SERVER_READ;
        const enum bf_found found = bf_open(context, words[i + 1], mode, opened);
        if (wrong != NULL)
            continue;
        if (found == BF_WRONG_TYPE)
            wrong = BF_WRONG_TYPE_TEXT;
        else if (found == BF_FOUND && opened->window != NULL)
            wrong = "ERR windows can't be merged";
        else if (found == BF_MISSING && i > 0)
            wrong = "ERR not found";
        else if (found == BF_FOUND && first != NULL)
            wrong = find_difference(merging, words[i + 1], opened->value, first);
        if (found != BF_FOUND)
            continue;
        if (i == 0)
            merging->has_target = true;
        if (i > 0 || merging->count > 1)
            merging->bytes += opened->value->bytes;
        first = first != NULL ? first : opened->value;
    }
    return wrong;
}

/* True: the target has changed. */
static bool unite(server_context *context, struct merging *merging, const char **wrong)
{
    struct bf_value *target = merging->opened[0].value;
    bool changed = false;
    int from = 1;
    if (!merging->has_target) {
        target = bf_value_copy(context, merging->opened[1].value);
        if (target == NULL) {
            *wrong = "ERR Insufficient memory to create filter";
            return false;
        }
        server.ModuleTypeSetValue(merging->opened[0].key, bf_type, target);
        changed = true;
        from = 2;
    }
    for (int i = from; i < merging->count; i++) {
        const struct bf_value *source = merging->opened[i].value;
        if (source == target)
            continue;
        const bloomery_status status =
            bloomery_redisbloom_merge(target->filter, source->filter, NULL);
        assert(status == BLOOMERY_OK);
        (void)status;
        changed = true;
    }
    return changed;
}

static int merge(server_context *context, server_string **words, struct merging *merging)
{
    bool changed = false;
    const char *wrong = open_all(context, words, merging);
    const uint64_t most = (uint64_t)bf_config.merge_limit;
    if (wrong == NULL && merging->bytes > most && bf_is_limited(context)) {
        snprintf(merging->text, sizeof merging->text,
                 "ERR these filters have %llu bytes, and merge-limit allows %llu in one command",
                 (unsigned long long)merging->bytes, (unsigned long long)most);
        wrong = merging->text;
    }
    if (wrong == NULL)
        changed = unite(context, merging, &wrong);
    for (int i = 0; i < merging->count; i++)
        server.CloseKey(merging->opened[i].key);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    if (changed)
        bf_pass_on(context, bf_names->merge, words, merging->count + 1, "bloom.merge");
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

int bf_merge(server_context *context, server_string **words, int count)
{
    if (count < 3)
        return server.WrongArity(context);
    struct merging merging = {.count = count - 1};
    merging.opened = bf_try_alloc((size_t)merging.count * sizeof *merging.opened);
    if (merging.opened == NULL)
        return bf_fail(context, "ERR Insufficient memory to merge filters");
    const int result = merge(context, words, &merging);
    server.Free(merging.opened);
    return result;
}

/* ---- BF.ROTATE ------------------------------------------------------------------------------- */

/* The form that is passed on has the number of rotations and the time of the newest generation. One
 * that has come there already changes nothing. */
static const char *read_rotation(server_string **words, int count, long long *times,
                                 long long *since)
{
    if (count == 2)
        return NULL;
    if (!bf_is_word(words[2], "COUNT") || !bf_is_word(words[4], "AT") ||
        server.StringToLongLong(words[3], times) != SERVER_OK ||
        server.StringToLongLong(words[5], since) != SERVER_OK)
        return "ERR BF.ROTATE takes a key, and COUNT and AT with numbers";
    if (*times < 1 || *times > BF_GENERATIONS_MAX)
        return "ERR COUNT must be in the range [1, 64]";
    if (*since < 0 || *since > BF_TIME_MAX)
        return "ERR AT must be in the range [0, 9007199254740992]";
    return NULL;
}

/* NULL, or why this window is not rotated now. */
static const char *find_obstacle(server_context *context, const struct bf_window *window,
                                 long long since)
{
    if (window == NULL)
        return "ERR the filter has no generations: make it with GENERATIONS";
    if (window->is_arriving && bf_is_limited(context))
        return "ERR the window has not been loaded to its last chunk";
    if (since < 0 && window->plan.since_ms >= BF_TIME_MAX)
        return "ERR the window began at the last time that there is";
    return NULL;
}

int bf_rotate(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    long long times = 1;
    long long since = -1;
    if (count != 2 && count != 6)
        return server.WrongArity(context);
    const char *wrong = read_rotation(words, count, &times, &since);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    struct bf_window *window = opened.window;
    if (found == BF_FOUND)
        wrong = find_obstacle(context, window, since);
    bool rotates = found == BF_FOUND && wrong == NULL;
    if (rotates && since < 0) {
        const uint64_t now = bf_now_ms();
        const uint64_t next = window->plan.since_ms + 1;
        since = (long long)(now > next ? now : next);
    }
    rotates = rotates && (uint64_t)since > window->plan.since_ms;
    if (rotates)
        bf_window_rotate(window, (uint64_t)times, (uint64_t)since);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    if (rotates)
        bf_window_rotated(context, words[1], (uint64_t)times, (uint64_t)since);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

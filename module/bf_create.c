/* SPDX-License-Identifier: Apache-2.0 */
/* BF.RESERVE. Words are looked for anywhere, as the reference does, and unknown ones pass. */
#include "bf.h"

#include <math.h>
#include <stdio.h>

/* The place of a word, or 0. The name of the command itself is none. */
static int find_word(server_string **words, int count, const char *word)
{
    for (int i = 1; i < count; i++)
        if (bf_is_word(words[i], word))
            return i;
    return 0;
}

/* NULL, or what is wrong with EXPANSION and NONSCALING. */
static const char *read_expansion(server_string **words, int count,
                                  struct bf_parameters *parameters)
{
    const int at = find_word(words, count, "EXPANSION");
    const bool fixed = find_word(words, count, "NONSCALING") > 0;
    long long growth = bf_config.growth;
    if (at > 0) {
        if (at + 1 >= count)
            return "ERR no expansion";
        if (server.StringToLongLong(words[at + 1], &growth) != SERVER_OK)
            return "ERR bad expansion";
        if (fixed && growth != 0)
            return "Nonscaling filters cannot expand";
        if (growth < 0 || growth > BF_GROWTH_MAX)
            return "ERR expansion must be in the range [0, 32768]";
    }
    parameters->growth = fixed ? 0 : (uint32_t)growth;
    return NULL;
}

static const char *read_parameters(server_context *context, server_string **words, int count,
                                   struct bf_parameters *parameters)
{
    static char text[64];
    const long long most = bf_capacity_max(context);
    long long capacity;
    double rate;
    if (server.StringToDouble(words[2], &rate) != SERVER_OK || isnan(rate))
        return "ERR bad error rate";
    if (!(rate > 0 && rate < 1))
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    if (server.StringToLongLong(words[3], &capacity) != SERVER_OK)
        return "ERR bad capacity";
    if (capacity < 1 || capacity > most) {
        snprintf(text, sizeof text, "ERR capacity must be in the range [1, %lld]", most);
        return text;
    }
    parameters->rate = bf_rate_capped(rate);
    parameters->capacity = (uint64_t)capacity;
    return read_expansion(words, count, parameters);
}

static int make_filter(server_context *context, server_string **words,
                       const struct bf_parameters *parameters)
{
    server_key *key;
    struct bf_value *value;
    const enum bf_found found =
        bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &key, &value);
    if (found != BF_MISSING) {
        server.CloseKey(key);
        return bf_fail(context, found == BF_FOUND ? "ERR item exists" : BF_WRONG_TYPE_TEXT);
    }
    const bloomery_status status = bf_value_create(context, parameters, &value);
    if (status == BLOOMERY_OK)
        server.ModuleTypeSetValue(key, bf_type, value);
    server.CloseKey(key);
    if (status != BLOOMERY_OK)
        return bf_fail(context, status == BLOOMERY_OUT_OF_MEMORY
                                    ? "ERR Insufficient memory to create filter"
                                    : "ERR could not create filter");
    const struct bf_change change = {.name = words[1], .created = parameters};
    bf_changed(context, &change);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

int bf_reserve(server_context *context, server_string **words, int count)
{
    struct bf_parameters parameters;
    if (count < 4 || count > 7)
        return server.WrongArity(context);
    const char *wrong = read_parameters(context, words, count, &parameters);
    return wrong != NULL ? bf_fail(context, wrong) : make_filter(context, words, &parameters);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* BF.RESERVE. Words are looked for anywhere, as the reference does, and unknown ones pass. Those of
 * windows are our own: they come behind the capacity. */
#include "window.h"

#include <math.h>
#include <stdio.h>

/* NULL, or what is wrong with EXPANSION and NONSCALING. */
static const char *read_expansion(server_string **words, int count,
                                  struct bf_parameters *parameters)
{
    const int at = bf_find_word(words, count, "EXPANSION");
    const bool fixed = bf_find_word(words, count, "NONSCALING") > 0;
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
    struct bf_opened opened;
    struct bf_value *value;
    const enum bf_found found = bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found != BF_MISSING) {
        server.CloseKey(opened.key);
        return bf_fail(context, found == BF_FOUND ? "ERR item exists" : BF_WRONG_TYPE_TEXT);
    }
    const bloomery_status status = bf_value_create(context, 0, parameters, &value);
    if (status == BLOOMERY_OK)
        server.ModuleTypeSetValue(opened.key, bf_type, value);
    server.CloseKey(opened.key);
    if (status != BLOOMERY_OK)
        return bf_fail(context, status == BLOOMERY_OUT_OF_MEMORY
                                    ? "ERR Insufficient memory to create filter"
                                    : "ERR could not create filter");
    const struct bf_change change = {.name = words[1], .created = parameters};
    bf_changed(context, &change);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* ---- Windows --------------------------------------------------------------------------------- */

enum { WINDOW_WORDS = 5, WORDS_MAX = 7, WINDOW_WORDS_MAX = 13 };

/* A number behind a word from the fourth on. True: the word is not there, or its number is in the
 * range; else `wrong` says what is the matter. */
static bool read_option(server_string **words, int count, const char *word, long long range[2],
                        long long *number, const char **wrong)
{
    static char text[80];
    for (int i = WINDOW_WORDS - 1; i < count; i++) {
        if (!bf_is_word(words[i], word))
            continue;
        if (i + 1 < count && server.StringToLongLong(words[i + 1], number) == SERVER_OK &&
            *number >= range[0] && *number <= range[1])
            return true;
        snprintf(text, sizeof text, "ERR %s must be in the range [%lld, %lld]", word, range[0],
                 range[1]);
        *wrong = text;
        return false;
    }
    return true;
}

/* NULL, or what is wrong with the words of a window. */
static const char *read_window(server_string **words, int count, struct bf_window_plan *plan)
{
    const char *wrong = NULL;
    long long generations = 0;
    long long every = 0;
    long long since = (long long)bf_now_ms();
    if (!read_option(words, count, "GENERATIONS",
                     (long long[2]){BF_GENERATIONS_MIN, BF_GENERATIONS_MAX}, &generations,
                     &wrong) ||
        !read_option(words, count, "EVERY", (long long[2]){1, BF_EVERY_MAX}, &every, &wrong) ||
        !read_option(words, count, "AT", (long long[2]){0, BF_TIME_MAX}, &since, &wrong))
        return wrong;
    plan->generations = (uint32_t)generations;
    plan->period_ms = UINT64_C(1000) * (uint64_t)every;
    plan->since_ms = (uint64_t)since;
    return NULL;
}

static void replicate_window(server_context *context, server_string *name,
                             const struct bf_window_plan *plan)
{
    const long long capacity = (long long)plan->capacity;
    const long long generations = plan->generations;
    const long long since = (long long)plan->since_ms;
    char rate[32];
    snprintf(rate, sizeof rate, "%.17g", plan->rate);
    if (plan->period_ms > 0)
        server.Replicate(context, bf_names->reserve, "sclclclcl", name, rate, capacity,
                         "GENERATIONS", generations, "EVERY", (long long)plan->period_ms / 1000,
                         "AT", since);
    else
        server.Replicate(context, bf_names->reserve, "sclclcl", name, rate, capacity, "GENERATIONS",
                         generations, "AT", since);
    server.SignalModifiedKey(context, name);
    server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, "bloom.reserve", name);
}

static int make_window(server_context *context, server_string **words,
                       const struct bf_window_plan *plan)
{
    struct bf_opened opened;
    struct bf_window *window;
    const enum bf_found found = bf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found != BF_MISSING) {
        server.CloseKey(opened.key);
        return bf_fail(context, found == BF_FOUND ? "ERR item exists" : BF_WRONG_TYPE_TEXT);
    }
    const bloomery_status status = bf_window_create(context, plan, &window);
    if (status == BLOOMERY_OK) {
        server.ModuleTypeSetValue(opened.key, bf_window_type, window);
        const bloomery_key name = bf_key_of(words[1]);
        if (server.GetSelectedDb != NULL)
            bf_window_is_at(window, name.data, name.bytes, server.GetSelectedDb(context));
    }
    server.CloseKey(opened.key);
    if (status != BLOOMERY_OK)
        return bf_fail(context, status == BLOOMERY_OUT_OF_MEMORY
                                    ? "ERR Insufficient memory to create filter"
                                    : "ERR could not create filter");
    replicate_window(context, words[1], plan);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

static bool has_word(server_string **words, int count, const char *word)
{
    bool has = false;
    for (int i = WINDOW_WORDS - 1; i < count && !has; i++)
        has = bf_is_word(words[i], word);
    return has;
}

int bf_reserve(server_context *context, server_string **words, int count)
{
    struct bf_parameters parameters;
    const bool is_window = count >= WINDOW_WORDS && has_word(words, count, "GENERATIONS");
    if (count < 4 || count > (is_window ? WINDOW_WORDS_MAX : WORDS_MAX))
        return server.WrongArity(context);
    const char *wrong = read_parameters(context, words, count, &parameters);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    if (!is_window && has_word(words, count, "EVERY"))
        return bf_fail(context, "ERR EVERY needs GENERATIONS");
    if (!is_window)
        return make_filter(context, words, &parameters);
    if (has_word(words, count, "EXPANSION") && parameters.growth != 0)
        return bf_fail(context, "ERR a window does not expand: leave EXPANSION out");
    struct bf_window_plan plan = {.rate = parameters.rate, .capacity = parameters.capacity};
    wrong = read_window(words, count, &plan);
    return wrong != NULL ? bf_fail(context, wrong) : make_window(context, words, &plan);
}

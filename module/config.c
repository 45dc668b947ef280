/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: first the words behind `loadmodule`, then CONFIG, whose defaults they are.
 *
 * A setting may have several names: the reference's, its older ones, and those of valkey-bloom, so
 * that neither a line that loads the reference nor a file written for the other ends the server. On
 * servers that allow names without a prefix the reference's names have two forms, since a file may
 * come from a server that has only the one with a prefix.
 *
 * When the server hands over what its file says, it sets every name that the file does not have to
 * its default. Of several names of one setting that would undo the one that was given, so until
 * then a name that is set to what it was changes nothing.
 *
 * CONFIG REWRITE writes each name whose value is not its default. If it wrote all names of a
 * setting, a user who changes one of the lines would change nothing. So the name that a setting was
 * last set by has its value, and its other names read as their defaults.
 */
#include "bf.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct bf_config bf_config = {
    .rate = 0.01,
    .capacity = 100,
    .growth = 2,
    .capacity_max = BF_CAPACITY_MAX,
    .chunk_bytes = BF_CHUNK_MAX,
    .merge_limit = 256 << 20,
    .defrag = 1,
    .prefault = 1,
    .huge_pages = 1,
    .cf_bucket_size = 2,
    .cf_capacity = 1024,
    .cf_iterations = 20,
    .cf_growth = 1,
    .cf_expansions = 32,
};

/* Settings of valkey-bloom that decide nothing in filters of this form: kept to be told. */
static struct {
    double tightening;
    int random_seed;
} unused = {.tightening = 0.5, .random_seed = 1};

static const double rate_max = 0.25;
static const long long capacity_max_large = 1LL << 40;

/* RATE: above 0.25 it counts as 0.25. RATIO: any between 0 and 1. NOTHING: a number of no use. */
enum kind { NUMBER, RATE, RATIO, FLAG, NOTHING };

static struct setting {
    const char *name;
    enum kind kind;
    void *value;
    long long least, most;
    bool is_config; /* a name of CONFIG too, not of module arguments alone */
    bool is_ours;   /* a name with a prefix, on servers that allow names without one */
    unsigned flags;
    long long standard; /* the default that CONFIG was given: of rates and ratios the next */
    double standard_ratio;
    bool is_last; /* of the names of its value, the one that CONFIG set last */
} settings[] = {
    {"bf-error-rate", RATE, &bf_config.rate, 0, 0, true, false, 0, 0, 0, false},
    {"bf-initial-size", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, true, false, 0, 0, 0,
     false},
    {"bf-expansion-factor", NUMBER, &bf_config.growth, 0, BF_GROWTH_MAX, true, false, 0, 0, 0,
     false},
    {"memory-usage-limit", NUMBER, &bf_config.memory_limit, 0, LLONG_MAX, true, true,
     SERVER_CONFIG_MEMORY, 0, 0, false},
    {"defrag", FLAG, &bf_config.defrag, 0, 1, true, true, 0, 0, 0, false},
    {"prefault", FLAG, &bf_config.prefault, 0, 1, true, true, 0, 0, 0, false},
    {"huge-pages", FLAG, &bf_config.huge_pages, 0, 1, true, true, 0, 0, 0, false},
    {"max-capacity", NUMBER, &bf_config.capacity_max, BF_CAPACITY_MAX, 1LL << 40, true, true, 0, 0,
     0, false},
    {"scandump-chunk-size", NUMBER, &bf_config.chunk_bytes, BF_CHUNK_MIN, BF_CHUNK_MAX, true, true,
     SERVER_CONFIG_MEMORY, 0, 0, false},
    {"merge-limit", NUMBER, &bf_config.merge_limit, 0, LLONG_MAX, true, true, SERVER_CONFIG_MEMORY,
     0, 0, false},
    {"ERROR_RATE", RATE, &bf_config.rate, 0, 0, false, false, 0, 0, 0, false},
    {"INITIAL_SIZE", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, false, false, 0, 0, 0, false},
    {"bloom-fp-rate", RATE, &bf_config.rate, 0, 0, true, true, 0, 0, 0, false},
    {"bloom-capacity", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, true, true, 0, 0, 0, false},
    {"bloom-expansion", NUMBER, &bf_config.growth, 0, BF_GROWTH_MAX, true, true, 0, 0, 0, false},
    {"bloom-memory-usage-limit", NUMBER, &bf_config.memory_limit, 0, LLONG_MAX, true, true,
     SERVER_CONFIG_MEMORY, 0, 0, false},
    {"bloom-defrag-enabled", FLAG, &bf_config.defrag, 0, 1, true, true, 0, 0, 0, false},
    {"bloom-tightening-ratio", RATIO, &unused.tightening, 0, 0, true, true, 0, 0, 0, false},
    {"bloom-use-random-seed", FLAG, &unused.random_seed, 0, 1, true, true, 0, 0, 0, false},
    {"cf-bucket-size", NOTHING, &bf_config.cf_bucket_size, 1, 255, true, false, 0, 0, 0, false},
    {"cf-initial-size", NOTHING, &bf_config.cf_capacity, 2, BF_CAPACITY_MAX, true, false, 0, 0, 0,
     false},
    {"cf-max-iterations", NOTHING, &bf_config.cf_iterations, 1, 65535, true, false, 0, 0, 0, false},
    {"cf-expansion-factor", NOTHING, &bf_config.cf_growth, 0, 32768, true, false, 0, 0, 0, false},
    {"cf-max-expansions", NOTHING, &bf_config.cf_expansions, 1, 65536, true, false, 0, 0, 0, false},
    {"CF_MAX_EXPANSIONS", NOTHING, &bf_config.cf_expansions, 1, 65536, false, false, 0, 0, 0,
     false},
};

enum { SETTINGS = sizeof settings / sizeof settings[0], TEXT_BYTES = 160 };

static struct setting prefixed[SETTINGS]; /* second forms of those that have a bare name */

static bool is_loading;          /* CONFIG's own file is being read */
static server_string *rate_text; /* what CONFIG GET was last told; the server does not free it */

double bf_rate_capped(double rate)
{
    return fmin(rate, rate_max);
}

bool bf_is_limited(server_context *context)
{
    return (server.GetContextFlags(context) &
            (SERVER_CONTEXT_REPLICATED | SERVER_CONTEXT_LOADING)) == 0;
}

long long bf_capacity_max(server_context *context)
{
    return bf_is_limited(context) ? bf_config.capacity_max : capacity_max_large;
}

/* ---- Setting --------------------------------------------------------------------------------- */

/* A number for a setting; false: `text` says why not. */
static bool set_number(const struct setting *setting, long long number, char text[TEXT_BYTES])
{
    if (number < setting->least || number > setting->most) {
        snprintf(text, TEXT_BYTES, "Value for `%s` must be in the range [%lld, %lld]",
                 setting->name, setting->least, setting->most);
        return false;
    }
    if (setting->kind == FLAG)
        *(int *)setting->value = (int)number;
    else
        *(long long *)setting->value = number;
    return true;
}

static bool set_rate(const struct setting *setting, const server_string *word,
                     char text[TEXT_BYTES])
{
    double rate;
    if (server.StringToDouble(word, &rate) != SERVER_OK || isnan(rate)) {
        snprintf(text, TEXT_BYTES, "Invalid value for `%s`", setting->name);
        return false;
    }
    if (!(rate > 0 && rate < 1)) {
        snprintf(text, TEXT_BYTES, "Value for `%s` must be in the range (0.000000, 1.000000)",
                 setting->name);
        return false;
    }
    if (setting->kind == RATE)
        rate = bf_rate_capped(rate);
    *(double *)setting->value = rate;
    return true;
}

static bool set_word(const struct setting *setting, const server_string *word,
                     char text[TEXT_BYTES])
{
    long long number;
    if (setting->kind == RATE || setting->kind == RATIO)
        return set_rate(setting, word, text);
    if (setting->kind == FLAG && (bf_is_word(word, "yes") || bf_is_word(word, "no")))
        number = bf_is_word(word, "yes");
    else if (server.StringToLongLong(word, &number) != SERVER_OK) {
        snprintf(text, TEXT_BYTES, "Invalid value for `%s`", setting->name);
        return false;
    }
    return set_number(setting, number, text);
}

/* ---- Module arguments ------------------------------------------------------------------------ */

bool bf_config_arguments(server_context *context, server_string **words, int count)
{
    char text[TEXT_BYTES];
    if (count % 2 != 0) {
        server.Log(context, "warning", "bloomery: Invalid number of arguments passed");
        return false;
    }
    for (int i = 0; i < count; i += 2) {
        const struct setting *setting = NULL;
        for (size_t s = 0; s < SETTINGS && setting == NULL; s++)
            if (bf_is_word(words[i], settings[s].name))
                setting = &settings[s];
        if (setting == NULL) {
            server.Log(context, "warning", "bloomery: Unrecognized option: %s",
                       server.StringPtrLen(words[i], NULL));
            return false;
        }
        if (!set_word(setting, words[i + 1], text)) {
            server.Log(context, "warning", "bloomery: %s", text);
            return false;
        }
        if (setting->kind == NOTHING || setting->value == &unused.tightening ||
            setting->value == &unused.random_seed)
            server.Log(context, "notice", "bloomery: %s is of no use here", setting->name);
    }
    return true;
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

/* Notes the name that a setting was last set by. */
static void set_last(struct setting *setting)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (settings[i].value == setting->value)
            settings[i].is_last = false;
        if (prefixed[i].value == setting->value)
            prefixed[i].is_last = false;
    }
    setting->is_last = true;
}

/* Whether this name has the setting's value: no other name has set it. */
static bool is_current(const struct setting *setting)
{
    bool is_others = false;
    for (size_t i = 0; i < SETTINGS; i++)
        is_others = is_others || (settings[i].value == setting->value && settings[i].is_last) ||
                    (prefixed[i].value == setting->value && prefixed[i].is_last);
    return setting->is_last || !is_others;
}

static int end_change(struct setting *setting, bool is_set, const char *text, server_string **error)
{
    if (is_set) {
        set_last(setting);
        return SERVER_OK;
    }
    *error = server.CreateString(NULL, text, strlen(text));
    return SERVER_FAILED;
}

static long long get_number(const char *name, void *data)
{
    const struct setting *setting = data;
    (void)name;
    return is_current(setting) ? *(const long long *)setting->value : setting->standard;
}

static int change_number(const char *name, long long number, void *data, server_string **error)
{
    struct setting *setting = data;
    char text[TEXT_BYTES];
    (void)name;
    if (is_loading && number == setting->standard)
        return SERVER_OK;
    return end_change(setting, set_number(setting, number, text), text, error);
}

static int get_flag(const char *name, void *data)
{
    const struct setting *setting = data;
    (void)name;
    return is_current(setting) ? *(const int *)setting->value : (int)setting->standard;
}

static int change_flag(const char *name, int value, void *data, server_string **error)
{
    struct setting *setting = data;
    char text[TEXT_BYTES];
    (void)name;
    if (is_loading && value == setting->standard)
        return SERVER_OK;
    return end_change(setting, set_number(setting, value, text), text, error);
}

static server_string *get_rate(const char *name, void *data)
{
    const struct setting *setting = data;
    char text[32];
    (void)name;
    if (rate_text != NULL)
        server.FreeString(NULL, rate_text);
    snprintf(text, sizeof text, "%.15g",
             is_current(setting) ? *(const double *)setting->value : setting->standard_ratio);
    rate_text = server.CreateString(NULL, text, strlen(text));
    return rate_text;
}

static int change_rate(const char *name, server_string *value, void *data, server_string **error)
{
    struct setting *setting = data;
    char text[TEXT_BYTES];
    double rate;
    (void)name;
    if (is_loading && server.StringToDouble(value, &rate) == SERVER_OK &&
        rate == setting->standard_ratio)
        return SERVER_OK;
    return end_change(setting, set_rate(setting, value, text), text, error);
}

static int register_setting(server_context *context, struct setting *setting, unsigned flags)
{
    char text[32];
    switch (setting->kind) {
    case NUMBER:
    case NOTHING:
        setting->standard = *(const long long *)setting->value;
        return server.RegisterNumericConfig(context, setting->name, setting->standard, flags,
                                            setting->least, setting->most, get_number,
                                            change_number, NULL, setting);
    case FLAG:
        setting->standard = *(const int *)setting->value;
        return server.RegisterBoolConfig(context, setting->name, (int)setting->standard, flags,
                                         get_flag, change_flag, NULL, setting);
    case RATE:
    case RATIO:
        setting->standard_ratio = *(const double *)setting->value;
        snprintf(text, sizeof text, "%.17g", setting->standard_ratio);
        return server.RegisterStringConfig(context, setting->name, text, flags, get_rate,
                                           change_rate, NULL, setting);
    }
    return SERVER_FAILED;
}

bool bf_config_register(server_context *context, bool drop_in)
{
    const bool has_bare_names = drop_in && !bf_is_valkey(context) &&
                                server.GetServerVersion != NULL &&
                                server.GetServerVersion() >= 0x080000;
    bool all = true;
    if (server.RegisterNumericConfig == NULL || server.RegisterBoolConfig == NULL ||
        server.RegisterStringConfig == NULL || server.LoadConfigs == NULL)
        return true;
    for (size_t i = 0; i < SETTINGS && all; i++) {
        struct setting *setting = &settings[i];
        if (!setting->is_config)
            continue;
        if (has_bare_names && !setting->is_ours) {
            prefixed[i] = *setting;
            all = register_setting(context, setting, setting->flags | SERVER_CONFIG_BARE_NAME) ==
                      SERVER_OK &&
                  register_setting(context, &prefixed[i], setting->flags) == SERVER_OK;
        } else {
            all = register_setting(context, setting, setting->flags) == SERVER_OK;
        }
        if (!all)
            server.Log(context, "warning", "bloomery: the setting %s can't be had", setting->name);
    }
    is_loading = true;
    const bool loaded = server.LoadConfigs(context) == SERVER_OK;
    is_loading = false;
    assert(bf_config.rate > 0 && bf_config.rate <= rate_max);
    return all && loaded;
}

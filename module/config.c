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
 *
 * A CONFIG SET that fails at one of its names sets those before it to what CONFIG GET told. If that
 * was a default, because another name has set the setting, it would become the setting's value. So
 * if the command in hand has changed a setting by a name, and sets that to what it told, the
 * setting becomes again what it was before the command. The server's event says that a command was
 * done.
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

/* RATE: above 0.25 it counts as 0.25. RATIO: any between 0 and 1. */
enum kind { NUMBER, RATE, RATIO, FLAG };

/* Of a setting: of rates and ratios the second, of all others the first. */
struct number {
    long long whole;
    double ratio;
};

#define ROW(named, sort, at, low, high, in_config, ours, more)                          \
    {                                                                                   \
        .name = (named), .kind = (sort), .value = (at), .least = (low), .most = (high), \
        .is_config = (in_config), .is_ours = (ours), .flags = (more)                    \
    }

static struct setting {
    const char *name;
    enum kind kind;
    void *value;
    long long least, most;
    bool is_config; /* a name of CONFIG too, not of module arguments alone */
    bool is_ours;   /* a name with a prefix, on servers that allow names without one */
    unsigned flags;
    struct {
        struct number standard; /* the default that CONFIG was given */
        bool is_last;           /* of the names of its value, the one that CONFIG set last */
        /* Of a name that the command in hand has set: what CONFIG GET told before, and what the
         * setting was before the command. */
        bool is_changed;
        struct number told, before;
        struct setting *last_before;
    } now;
} settings[] = {
    ROW("bf-error-rate", RATE, &bf_config.rate, 0, 0, true, false, 0),
    ROW("bf-initial-size", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, true, false, 0),
    ROW("bf-expansion-factor", NUMBER, &bf_config.growth, 0, BF_GROWTH_MAX, true, false, 0),
    ROW("memory-usage-limit", NUMBER, &bf_config.memory_limit, 0, LLONG_MAX, true, true,
        SERVER_CONFIG_MEMORY),
    ROW("defrag", FLAG, &bf_config.defrag, 0, 1, true, true, 0),
    ROW("prefault", FLAG, &bf_config.prefault, 0, 1, true, true, 0),
    ROW("huge-pages", FLAG, &bf_config.huge_pages, 0, 1, true, true, 0),
    ROW("max-capacity", NUMBER, &bf_config.capacity_max, BF_CAPACITY_MAX, 1LL << 40, true, true, 0),
    ROW("scandump-chunk-size", NUMBER, &bf_config.chunk_bytes, BF_CHUNK_MIN, BF_CHUNK_MAX, true,
        true, SERVER_CONFIG_MEMORY),
    ROW("merge-limit", NUMBER, &bf_config.merge_limit, 0, LLONG_MAX, true, true,
        SERVER_CONFIG_MEMORY),
    ROW("ERROR_RATE", RATE, &bf_config.rate, 0, 0, false, false, 0),
    ROW("INITIAL_SIZE", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, false, false, 0),
    ROW("bloom-fp-rate", RATE, &bf_config.rate, 0, 0, true, true, 0),
    ROW("bloom-capacity", NUMBER, &bf_config.capacity, 1, BF_CAPACITY_MAX, true, true, 0),
    ROW("bloom-expansion", NUMBER, &bf_config.growth, 0, BF_GROWTH_MAX, true, true, 0),
    ROW("bloom-memory-usage-limit", NUMBER, &bf_config.memory_limit, 0, LLONG_MAX, true, true,
        SERVER_CONFIG_MEMORY),
    ROW("bloom-defrag-enabled", FLAG, &bf_config.defrag, 0, 1, true, true, 0),
    ROW("bloom-tightening-ratio", RATIO, &unused.tightening, 0, 0, true, true, 0),
    ROW("bloom-use-random-seed", FLAG, &unused.random_seed, 0, 1, true, true, 0),
    ROW("cf-bucket-size", NUMBER, &bf_config.cf_bucket_size, 1, 255, true, false, 0),
    ROW("cf-initial-size", NUMBER, &bf_config.cf_capacity, 2, BF_CAPACITY_MAX, true, false, 0),
    ROW("cf-max-iterations", NUMBER, &bf_config.cf_iterations, 1, 65535, true, false, 0),
    ROW("cf-expansion-factor", NUMBER, &bf_config.cf_growth, 0, 32768, true, false, 0),
    ROW("cf-max-expansions", NUMBER, &bf_config.cf_expansions, 1, 65536, true, false, 0),
    ROW("CF_MAX_EXPANSIONS", NUMBER, &bf_config.cf_expansions, 1, 65536, false, false, 0),
};

enum { SETTINGS = sizeof settings / sizeof settings[0], TEXT_BYTES = 160 };

static struct setting prefixed[SETTINGS]; /* second forms of those that have a bare name */

#define RATE_FORMAT "%.15g"

static const char *module_name = "";
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

static bool read_rate(const struct setting *setting, const server_string *word, double *rate,
                      char text[TEXT_BYTES])
{
    if (server.StringToDouble(word, rate) != SERVER_OK || isnan(*rate)) {
        snprintf(text, TEXT_BYTES, "Invalid value for `%s`", setting->name);
        return false;
    }
    if (!(*rate > 0 && *rate < 1)) {
        snprintf(text, TEXT_BYTES, "Value for `%s` must be in the range (0.000000, 1.000000)",
                 setting->name);
        return false;
    }
    if (setting->kind == RATE)
        *rate = bf_rate_capped(*rate);
    return true;
}

static bool set_word(const struct setting *setting, const server_string *word,
                     char text[TEXT_BYTES])
{
    long long number;
    if (setting->kind == RATE || setting->kind == RATIO)
        return read_rate(setting, word, setting->value, text);
    if (setting->kind == FLAG && (bf_is_word(word, "yes") || bf_is_word(word, "no")))
        number = bf_is_word(word, "yes");
    else if (server.StringToLongLong(word, &number) != SERVER_OK) {
        snprintf(text, TEXT_BYTES, "Invalid value for `%s`", setting->name);
        return false;
    }
    return set_number(setting, number, text);
}

/* The least capacity of a cuckoo filter is that of two buckets. False: `text` says what the range
 * of `setting` is now. */
static bool fits_buckets(const struct setting *setting, long long number, char text[TEXT_BYTES])
{
    const long long least = 2 * bf_config.cf_bucket_size;
    const long long most = bf_config.cf_capacity / 2;
    if (setting->value == &bf_config.cf_capacity && number < least) {
        snprintf(text, TEXT_BYTES, "Value for `%s` must be in the range [%lld, %lld]",
                 setting->name, least, setting->most);
        return false;
    }
    if (setting->value == &bf_config.cf_bucket_size && number > most) {
        snprintf(text, TEXT_BYTES, "Value for `%s` must be in the range [%lld, %lld]",
                 setting->name, setting->least, most);
        return false;
    }
    return true;
}

/* The same of the two settings as they are, whose order in a file or in arguments does not matter.
 * */
static bool check_buckets(server_context *context)
{
    const struct setting capacity = {
        .name = "cf-initial-size", .value = &bf_config.cf_capacity, .most = BF_CAPACITY_MAX};
    char text[TEXT_BYTES];
    if (fits_buckets(&capacity, bf_config.cf_capacity, text))
        return true;
    server.Log(context, "warning", "bloomery: %s", text);
    return false;
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
        if (setting->value == &unused.tightening || setting->value == &unused.random_seed)
            server.Log(context, "notice", "bloomery: %s is of no use here", setting->name);
    }
    return check_buckets(context);
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

/* Goes through all names of CONFIG. */
static struct setting *name_at(size_t index)
{
    return index < SETTINGS ? &settings[index] : &prefixed[index - SETTINGS];
}

/* The name that a setting was last set by; NULL: none. */
static struct setting *find_last(const struct setting *setting)
{
    for (size_t i = 0; i < 2 * (size_t)SETTINGS; i++)
        if (name_at(i)->value == setting->value && name_at(i)->now.is_last)
            return name_at(i);
    return NULL;
}

static bool is_ratio(const struct setting *setting)
{
    return setting->kind == RATE || setting->kind == RATIO;
}

static struct number value_of(const struct setting *setting)
{
    if (is_ratio(setting))
        return (struct number){.ratio = *(const double *)setting->value};
    if (setting->kind == FLAG)
        return (struct number){.whole = *(const int *)setting->value};
    return (struct number){.whole = *(const long long *)setting->value};
}

/* Sets a value that the setting had, and the name that it was last set by. */
static void set_back(struct setting *setting, struct number value, struct setting *last)
{
    struct setting *now = find_last(setting);
    if (is_ratio(setting))
        *(double *)setting->value = value.ratio;
    else if (setting->kind == FLAG)
        *(int *)setting->value = (int)value.whole;
    else
        *(long long *)setting->value = value.whole;
    if (now != NULL)
        now->now.is_last = false;
    if (last != NULL)
        last->now.is_last = true;
}

/* What CONFIG GET tells of a name: the setting's value, unless another name has set it. */
static struct number told_of(const struct setting *setting)
{
    const struct setting *last = find_last(setting);
    return last == setting || last == NULL ? value_of(setting) : setting->now.standard;
}

/* As CONFIG GET tells them. */
static bool is_same(const struct setting *setting, struct number one, struct number other)
{
    char texts[2][32];
    if (!is_ratio(setting))
        return one.whole == other.whole;
    snprintf(texts[0], sizeof texts[0], RATE_FORMAT, one.ratio);
    snprintf(texts[1], sizeof texts[1], RATE_FORMAT, other.ratio);
    return strcmp(texts[0], texts[1]) == 0;
}

/* Notes what a setting was before the command in hand set it by this name or another one. */
static void note_before(struct setting *setting)
{
    setting->now.told = told_of(setting);
    setting->now.before = value_of(setting);
    setting->now.last_before = find_last(setting);
    for (size_t i = 0; i < 2 * (size_t)SETTINGS; i++) {
        const struct setting *other = name_at(i);
        if (other == setting || other->value != setting->value || !other->now.is_changed)
            continue;
        setting->now.before = other->now.before;
        setting->now.last_before = other->now.last_before;
    }
    setting->now.is_changed = true;
}

/* The setting of a name as the server tells it, with the module's before it or not; or NULL. */
static struct setting *find_named(const char *name)
{
    const size_t length = strlen(module_name);
    const bool is_long = strncmp(name, module_name, length) == 0 && name[length] == '.';
    const char *rest = is_long ? name + length + 1 : name;
    for (size_t i = 0; i < SETTINGS; i++) {
        const bool is_bare = prefixed[i].name != NULL;
        if (strcmp(rest, settings[i].name) == 0 && (is_long || is_bare))
            return is_long && is_bare ? &prefixed[i] : &settings[i];
    }
    return NULL;
}

static bool was_just_set(const struct setting *setting)
{
    bool found = false;
    for (size_t i = 0; i < 2 * (size_t)SETTINGS; i++)
        found = found || (name_at(i)->value == setting->value && name_at(i)->now.is_changed);
    return found;
}

/* A CONFIG SET was done. Servers do not hand over a value that a name tells already: that counts
 * now, unless the command has set the same setting by another name. From now on nothing is set
 * back. */
static void end_command(server_context *context, struct server_event event, uint64_t what,
                        void *data)
{
    const struct server_config_change *done = data;
    (void)context, (void)event, (void)what;
    for (uint32_t i = 0; i < done->count; i++) {
        struct setting *setting = find_named(done->names[i]);
        if (setting != NULL && !was_just_set(setting))
            set_back(setting, told_of(setting), setting);
    }
    for (size_t i = 0; i < 2 * (size_t)SETTINGS; i++)
        name_at(i)->now.is_changed = false;
}

/* CONFIG sets a name to a value of the range that it was registered with. */
static int change(struct setting *setting, struct number value, const char *wrong,
                  server_string **error)
{
    if (wrong != NULL) {
        *error = server.CreateString(NULL, wrong, strlen(wrong));
        return SERVER_FAILED;
    }
    if (is_loading && is_same(setting, value, setting->now.standard))
        return SERVER_OK;
    if (setting->now.is_changed && is_same(setting, value, setting->now.told)) {
        set_back(setting, setting->now.before, setting->now.last_before);
        for (size_t i = 0; i < 2 * (size_t)SETTINGS; i++)
            if (name_at(i)->value == setting->value)
                name_at(i)->now.is_changed = false; /* they tell what they did */
        return SERVER_OK;
    }
    if (!is_loading && is_same(setting, value, told_of(setting)))
        return SERVER_OK; /* if the command is done, end_command() does it */
    char text[TEXT_BYTES];
    if (!is_loading && !fits_buckets(setting, value.whole, text)) {
        *error = server.CreateString(NULL, text, strlen(text));
        return SERVER_FAILED;
    }
    note_before(setting);
    set_back(setting, value, setting);
    if (is_loading)
        setting->now.is_changed = false;
    return SERVER_OK;
}

static long long get_number(const char *name, void *data)
{
    (void)name;
    return told_of(data).whole;
}

static int change_number(const char *name, long long number, void *data, server_string **error)
{
    (void)name;
    return change(data, (struct number){.whole = number}, NULL, error);
}

static int get_flag(const char *name, void *data)
{
    (void)name;
    return (int)told_of(data).whole;
}

static int change_flag(const char *name, int value, void *data, server_string **error)
{
    (void)name;
    return change(data, (struct number){.whole = value}, NULL, error);
}

static server_string *get_rate(const char *name, void *data)
{
    char text[32];
    (void)name;
    if (rate_text != NULL)
        server.FreeString(NULL, rate_text);
    snprintf(text, sizeof text, RATE_FORMAT, told_of(data).ratio);
    rate_text = server.CreateString(NULL, text, strlen(text));
    return rate_text;
}

static int change_rate(const char *name, server_string *value, void *data, server_string **error)
{
    char text[TEXT_BYTES];
    struct number number = {0};
    (void)name;
    const bool is_read = read_rate(data, value, &number.ratio, text);
    return change(data, number, is_read ? NULL : text, error);
}

static int register_setting(server_context *context, struct setting *setting, unsigned flags)
{
    char text[32];
    switch (setting->kind) {
    case NUMBER:
        setting->now.standard.whole = *(const long long *)setting->value;
        return server.RegisterNumericConfig(context, setting->name, setting->now.standard.whole,
                                            flags, setting->least, setting->most, get_number,
                                            change_number, NULL, setting);
    case FLAG:
        setting->now.standard.whole = *(const int *)setting->value;
        return server.RegisterBoolConfig(context, setting->name, (int)setting->now.standard.whole,
                                         flags, get_flag, change_flag, NULL, setting);
    case RATE:
    case RATIO:
        setting->now.standard.ratio = *(const double *)setting->value;
        snprintf(text, sizeof text, "%.17g", setting->now.standard.ratio);
        return server.RegisterStringConfig(context, setting->name, text, flags, get_rate,
                                           change_rate, NULL, setting);
    }
    return SERVER_FAILED;
}

bool bf_config_register(server_context *context, const char *module, bool drop_in)
{
    const bool has_bare_names = drop_in && !bf_is_valkey(context) &&
                                server.GetServerVersion != NULL &&
                                server.GetServerVersion() >= 0x080000;
    const struct server_event changes = {SERVER_EVENT_CONFIG, 1};
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
    module_name = module;
    if (server.SubscribeToServerEvent != NULL)
        (void)server.SubscribeToServerEvent(context, changes, end_command);
    is_loading = true;
    const bool loaded = server.LoadConfigs(context) == SERVER_OK;
    is_loading = false;
    assert(bf_config.rate > 0 && bf_config.rate <= rate_max);
    return all && loaded && check_buckets(context);
}

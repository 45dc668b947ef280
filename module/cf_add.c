/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CF.RESERVE; CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX, one way for all four.
 *
 * An item that is added twice is in the filter twice, so replicas and the AOF must get exactly what
 * was added: items that found no room, and those that NX left out, are not passed on.
 */
#include "cf.h"

#include <assert.h>
#include <stdio.h>

enum { TEXT_BYTES = 96 };

/* What became of an item. */
enum outcome { ADDED, IS_THERE, IS_FULL, LACKS_MEMORY, IS_AT_END };

/* What a command wants, and how far it came. */
struct adding {
    server_string *command; /* its name, if it has a key and an item and no more; else NULL */
    server_string *name;
    server_string **items;
    size_t count;
    bool create;   /* a key that is missing */
    bool only_new; /* items that are there are left out */
    struct cf_parameters parameters;

    struct bf_value *value;
};

static struct cf_parameters defaults(void)
{
    return (struct cf_parameters){
        .capacity = (uint64_t)bf_config.cf_capacity,
        .bucket_size = (uint32_t)bf_config.cf_bucket_size,
        .iterations = (uint32_t)bf_config.cf_iterations,
        .growth = (uint32_t)bf_config.cf_growth,
    };
}

static enum outcome add_item(const struct adding *adding, bloomery_key item)
{
    bloomery_error error = {.status = BLOOMERY_OK};
    bloomery_filter *filter = adding->value->filter;
    if (adding->only_new && !bloomery_cuckoo_add_absent(filter, item, &error) &&
        error.status == BLOOMERY_OK)
        return IS_THERE;
    if (!adding->only_new)
        (void)bloomery_add(filter, item, &error); /* whether it was there is not asked */
    switch (error.status) {
    case BLOOMERY_OK:
        return ADDED;
    case BLOOMERY_FULL:
        return IS_FULL;
    case BLOOMERY_OUT_OF_MEMORY:
        return LACKS_MEMORY;
    default:
        return IS_AT_END;
    }
}

/* ---- One item -------------------------------------------------------------------------------- */

static void add_one(server_context *context, const struct adding *adding)
{
    static const char *const errors[] = {
        [IS_FULL] = "Filter is full",
        [LACKS_MEMORY] = "ERR Insufficient memory",
        [IS_AT_END] = "Maximum expansions reached",
    };
    const enum outcome outcome = add_item(adding, bf_key_of(adding->items[0]));
    if (outcome == ADDED)
        cf_added(context, adding->command, adding->name, adding->items, 1);
    if (outcome == ADDED || outcome == IS_THERE)
        (void)server.ReplyWithBool(context, outcome == ADDED);
    else
        (void)server.ReplyWithError(context, errors[outcome]);
}

/* ---- Several items --------------------------------------------------------------------------- */

/* CF.INSERT has booleans in RESP3, CF.INSERTNX has numbers in both. */
static void reply(server_context *context, const struct adding *adding, enum outcome outcome)
{
    const bool is_resp3 = (server.GetContextFlags(context) & SERVER_CONTEXT_RESP3) != 0;
    if (is_resp3 && !adding->only_new)
        (void)server.ReplyWithBool(context, outcome == ADDED);
    else
        (void)server.ReplyWithLongLong(context, outcome == ADDED      ? 1
                                                : outcome == IS_THERE ? 0
                                                                      : -1);
}

/* Items are passed on in blocks, so that a list of them takes no memory that may lack. */
static void add_several(server_context *context, const struct adding *adding)
{
    server_string *fresh[BF_BLOCK];
    size_t count = 0;
    (void)server.ReplyWithArray(context, (long)adding->count);
    for (size_t i = 0; i < adding->count; i++) {
        const enum outcome outcome = add_item(adding, bf_key_of(adding->items[i]));
        reply(context, adding, outcome);
        if (outcome == ADDED)
            fresh[count++] = adding->items[i];
        if (count == BF_BLOCK || (count > 0 && i + 1 == adding->count)) {
            cf_added(context, NULL, adding->name, fresh, count);
            count = 0;
        }
    }
    assert(count == 0);
}

/* ---- The commands ---------------------------------------------------------------------------- */

/* NULL, or why the filter was not made. */
static const char *make(server_context *context, server_string *name, server_key *key,
                        const struct cf_parameters *parameters, struct bf_value **value)
{
    const bloomery_status status = cf_value_create(context, parameters, value);
    if (status != BLOOMERY_OK)
        return status == BLOOMERY_OUT_OF_MEMORY ? "ERR Insufficient memory to create filter"
                                                : "ERR Could not create filter";
    (void)server.ModuleTypeSetValue(key, cf_type, *value);
    cf_made(context, name, parameters);
    return NULL;
}

/* As in the reference, a filter of cf-max-expansions sub-filters takes nothing more, even if it has
 * room. */
static bool is_at_end(server_context *context, const struct bf_value *value)
{
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    return (long long)facts.tables >= bf_config.cf_expansions && bf_is_limited(context);
}

/* NULL, or why there is no filter to add to. */
static const char *open_or_make(server_context *context, struct adding *adding,
                                struct bf_opened *opened)
{
    const enum bf_found found = cf_open(context, adding->name, SERVER_READ | SERVER_WRITE, opened);
    adding->value = opened->value;
    if (found == BF_WRONG_TYPE)
        return BF_WRONG_TYPE_TEXT;
    if (found == BF_FOUND)
        return is_at_end(context, adding->value) ? "Maximum expansions reached" : NULL;
    if (!adding->create)
        return "ERR not found";
    return make(context, adding->name, opened->key, &adding->parameters, &adding->value);
}

static int add(server_context *context, struct adding *adding, bool several)
{
    struct bf_opened opened;
    const char *wrong = open_or_make(context, adding, &opened);
    if (wrong == NULL) {
        const uint64_t before = adding->value->bytes;
        bf_limits(context, 0);
        (several ? add_several : add_one)(context, adding);
        bf_limits(NULL, 0);
        bf_value_grew(adding->value, before);
    }
    server.CloseKey(opened.key);
    return wrong != NULL ? bf_fail(context, wrong) : SERVER_OK;
}

static int add_command(server_context *context, server_string **words, int count, bool only_new)
{
    if (count != 3)
        return server.WrongArity(context);
    struct adding adding = {.command = words[0],
                            .name = words[1],
                            .items = words + 2,
                            .count = 1,
                            .create = true,
                            .only_new = only_new,
                            .parameters = defaults()};
    return add(context, &adding, false);
}

int cf_add(server_context *context, server_string **words, int count)
{
    return add_command(context, words, count, false);
}

int cf_addnx(server_context *context, server_string **words, int count)
{
    return add_command(context, words, count, true);
}

/* Reads options up to the items. `wrong` receives the reply, or NULL; the result is the place of
 * the first item, 0 if the words do not add up. A command that is passed on may have a capacity
 * that this server's own settings would refuse. */
static int read_options(server_context *context, server_string **words, int count,
                        struct adding *adding, const char **wrong)
{
    const long long least = bf_is_limited(context) ? 2 * bf_config.cf_bucket_size : 1;
    *wrong = NULL;
    for (int i = 2; i < count; i++) {
        long long capacity;
        if (bf_is_word(words[i], "ITEMS"))
            return i + 1 < count ? i + 1 : 0;
        if (bf_is_word(words[i], "NOCREATE")) {
            adding->create = false;
        } else if (!bf_is_word(words[i], "CAPACITY")) {
            *wrong = "Unknown argument received";
            return i;
        } else if (++i == count) {
            return 0;
        } else if (server.StringToLongLong(words[i], &capacity) != SERVER_OK) {
            *wrong = "Bad capacity";
            return i;
        } else if (capacity < least || capacity > bf_capacity_max(context)) {
            *wrong = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
            return i;
        } else {
            adding->parameters.capacity = (uint64_t)capacity;
        }
    }
    return 0;
}

static int insert_command(server_context *context, server_string **words, int count, bool only_new)
{
    const char *wrong;
    if (count < 4)
        return server.WrongArity(context);
    struct adding adding = {
        .name = words[1], .create = true, .only_new = only_new, .parameters = defaults()};
    const int first = read_options(context, words, count, &adding, &wrong);
    if (first == 0)
        return server.WrongArity(context);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    assert(first < count);
    adding.items = words + first;
    adding.count = (size_t)(count - first);
    return add(context, &adding, true);
}

int cf_insert(server_context *context, server_string **words, int count)
{
    return insert_command(context, words, count, false);
}

int cf_insertnx(server_context *context, server_string **words, int count)
{
    return insert_command(context, words, count, true);
}

/* ---- CF.RESERVE ------------------------------------------------------------------------------ */

/* The number behind a word that comes anywhere behind the capacity; without the word it stays.
 * NULL, or what is wrong with it. */
static const char *read_number(server_string **words, int count, const char *word,
                               const long long range[2], uint32_t *value)
{
    static char text[TEXT_BYTES];
    const int at = bf_find_word(words, count, word);
    long long number;
    if (at == 0)
        return NULL;
    if (at + 1 == count || server.StringToLongLong(words[at + 1], &number) != SERVER_OK) {
        snprintf(text, sizeof text, "Couldn't parse %s", word);
        return text;
    }
    if (number < range[0] || number > range[1]) {
        snprintf(text, sizeof text, "%s: value must be in the range [%lld, %lld]", word, range[0],
                 range[1]);
        return text;
    }
    *value = (uint32_t)number;
    return NULL;
}

static const char *read_parameters(server_context *context, server_string **words, int count,
                                   struct cf_parameters *parameters)
{
    static char text[TEXT_BYTES];
    const struct {
        const char *word;
        long long range[2];
        uint32_t *value;
    } options[] = {
        {"MAXITERATIONS", {1, BLOOMERY_CUCKOO_ITERATIONS_MAX}, &parameters->iterations},
        {"BUCKETSIZE", {1, BLOOMERY_CUCKOO_SLOTS_MAX}, &parameters->bucket_size},
        {"EXPANSION", {0, BF_GROWTH_MAX}, &parameters->growth},
    };
    const long long most = bf_capacity_max(context);
    long long capacity;
    if (server.StringToLongLong(words[2], &capacity) != SERVER_OK)
        return "Bad capacity";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *wrong =
            read_number(words + 2, count - 2, options[i].word, options[i].range, options[i].value);
        if (wrong != NULL)
            return wrong;
    }
    if (capacity < 2 * (long long)parameters->bucket_size || capacity > most) {
        snprintf(text, sizeof text, "Capacity must be in the range [2 * BUCKETSIZE, %lld]", most);
        return text;
    }
    parameters->capacity = (uint64_t)capacity;
    return NULL;
}

int cf_reserve(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    struct bf_value *value;
    struct cf_parameters parameters = defaults();
    if (count < 3 || count % 2 == 0)
        return server.WrongArity(context);
    const char *wrong = read_parameters(context, words, count, &parameters);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    const enum bf_found found = cf_open(context, words[1], SERVER_READ | SERVER_WRITE, &opened);
    if (found == BF_MISSING)
        wrong = make(context, words[1], opened.key, &parameters, &value);
    else
        wrong = found == BF_FOUND ? "ERR item exists" : BF_WRONG_TYPE_TEXT;
    server.CloseKey(opened.key);
    if (wrong != NULL)
        return bf_fail(context, wrong);
    (void)server.ReplyWithSimpleString(context, "OK");
    return SERVER_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BF.ADD, BF.MADD, BF.INSERT: one way for all three. Items go to the filter in blocks. At the first
 * one that finds no room the reply ends with the reason, and what was added before it stays, and is
 * replicated.
 */
#include "window.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/* What a command wants, and how far it came. In a window an item that the newest generation lacks
 * is added, so that it is remembered from now on. It is new to the client if no generation had it.
 */
struct adding {
    server_string *command; /* its name, if it has a key and items and no more; else NULL */
    server_string *name;
    server_string **items;
    size_t count;
    bool create;                     /* a key that is missing */
    struct bf_parameters parameters; /* which it is made with */

    struct bf_value *value;
    struct bf_window *window;    /* of which it is the newest generation; NULL: of none */
    server_string *const *fresh; /* items that changed something */
    size_t fresh_count;
    size_t done;
    uint64_t refusals; /* of memory, before the first item */
};

static struct bf_parameters defaults(void)
{
    return (struct bf_parameters){
        .rate = bf_config.rate,
        .capacity = (uint64_t)bf_config.capacity,
        .growth = (uint32_t)bf_config.growth,
    };
}

/* Adds up to BF_BLOCK items; false at one that was refused. `answers` has a bit for each that was
 * added, `older` one for each that older generations have. */
static bool add_block(struct adding *adding, size_t count, uint64_t *answers,
                      uint64_t older[BF_BLOCK / 64], bloomery_counts *counts)
{
    bloomery_key block[BF_BLOCK];
    const bloomery_keys keys = bloomery_keys_of_list(block, count);
    assert(count <= BF_BLOCK);
    for (size_t i = 0; i < count; i++)
        block[i] = bf_key_of(adding->items[adding->done + i]);
    memset(older, 0, BF_BLOCK / 8);
    if (adding->window != NULL)
        bf_window_may_contain(adding->window, 1, adding->window->plan.generations, &keys, older);
    const bloomery_status status =
        bloomery_add_keys(adding->value->filter, &keys, answers, counts, NULL);
    assert(counts->done <= count && (status == BLOOMERY_OK) == (counts->done == count));
    return status == BLOOMERY_OK;
}

/* Why a key could not be added. If memory was not refused, the chain is at its end: the rate of
 * the next layer, half that of the newest, would be 0. */
static const char *add_failure(const struct adding *adding)
{
    bloomery_info info;
    bf_info_of(adding->value, &info);
    if (!info.can_grow)
        return "ERR non scaling filter is full";
    if (atomic_load(&bf_counts.refusals) == adding->refusals) {
        atomic_fetch_add(&bf_counts.refusals, 1);
        atomic_fetch_add(&bf_counts.refused_by_chain_end, 1);
    }
    return "ERR problem inserting into filter";
}

/* Adds and replies. The items that were new are gathered in `fresh`; NULL: all that were done count
 * as new, which is right too, and longer. */
static void add_items(server_context *context, struct adding *adding, server_string **fresh)
{
    const bool known = adding->count <= BF_BLOCK;
    bool room = true;
    if (!known)
        (void)server.ReplyWithArray(context, SERVER_POSTPONED);
    while (room && adding->done < adding->count) {
        const size_t left = adding->count - adding->done;
        uint64_t answers[BF_BLOCK / 64];
        uint64_t older[BF_BLOCK / 64];
        bloomery_counts counts;
        room = add_block(adding, left < BF_BLOCK ? left : BF_BLOCK, answers, older, &counts);
        if (known)
            (void)server.ReplyWithArray(context, (long)(counts.done + (room ? 0 : 1)));
        for (size_t i = 0; i < counts.done; i++) {
            const bool is_added = (answers[i / 64] >> (i % 64) & 1) != 0;
            const bool is_old = (older[i / 64] >> (i % 64) & 1) != 0;
            (void)server.ReplyWithBool(context, is_added && !is_old);
            if (is_added && fresh != NULL)
                fresh[adding->fresh_count] = adding->items[adding->done + i];
            adding->fresh_count += is_added;
        }
        adding->done += counts.done;
    }
    if (!room)
        (void)server.ReplyWithError(context, add_failure(adding));
    if (!known)
        server.ReplySetArrayLength(context, (long)(adding->done + (room ? 0 : 1)));
}

/* Replicas hear of what changed, and the counts of all. */
static void finish(server_context *context, const struct adding *adding, bool created)
{
    const struct bf_change change = {
        .name = adding->name,
        .created = created ? &adding->parameters : NULL,
        .items = adding->fresh,
        .count = adding->fresh_count,
        .is_all = adding->command != NULL && adding->fresh_count == adding->count &&
                  bf_is_passed_on(adding->command),
    };
    atomic_fetch_add(&bf_counts.adds, adding->done);
    atomic_fetch_add(&bf_counts.new_items, adding->fresh_count);
    bf_changed(context, &change);
}

/* One item, and its reply without an array around it. */
static void add_one(server_context *context, struct adding *adding, bool created)
{
    bloomery_error error;
    const bloomery_key item = bf_key_of(adding->items[0]);
    bool is_old = false;
    for (uint32_t i = 1; adding->window != NULL && i < adding->window->plan.generations; i++)
        is_old = is_old || bloomery_may_contain(adding->window->generations[i]->filter, item);
    const bool is_added = bloomery_add(adding->value->filter, item, &error);
    if (!is_added && error.status != BLOOMERY_OK) {
        (void)server.ReplyWithError(context, add_failure(adding));
    } else {
        (void)server.ReplyWithBool(context, is_added && !is_old);
        adding->done = 1;
        adding->fresh = adding->items;
        adding->fresh_count = is_added;
    }
    finish(context, adding, created);
}

static void add_several(server_context *context, struct adding *adding, bool created)
{
    server_string *few[BF_BLOCK];
    server_string **fresh =
        adding->count <= BF_BLOCK ? few : bf_try_alloc(adding->count * sizeof(server_string *));
    add_items(context, adding, fresh);
    adding->fresh = fresh != NULL ? fresh : adding->items;
    if (fresh == NULL && adding->fresh_count > 0)
        adding->fresh_count = adding->done;
    finish(context, adding, created);
    adding->fresh = NULL;
    if (fresh != NULL && fresh != few)
        server.Free(fresh);
}

/* The reply to a key that is not there, unless it was made. */
static const char *make(server_context *context, struct adding *adding, server_key *key)
{
    if (!adding->create)
        return "ERR not found";
    const bloomery_status status = bf_value_create(context, 0, &adding->parameters, &adding->value);
    if (status != BLOOMERY_OK)
        return status == BLOOMERY_OUT_OF_MEMORY ? "ERR Insufficient memory to create filter"
                                                : "ERR could not create filter";
    (void)server.ModuleTypeSetValue(key, bf_type, adding->value);
    return NULL;
}

static int add(server_context *context, struct adding *adding, bool several)
{
    struct bf_opened opened;
    const enum bf_found found = bf_open(context, adding->name, SERVER_READ | SERVER_WRITE, &opened);
    const char *wrong = NULL;
    adding->value = opened.value;
    adding->window = opened.window;
    if (found == BF_WRONG_TYPE)
        wrong = BF_WRONG_TYPE_TEXT;
    else if (found == BF_MISSING)
        wrong = make(context, adding, opened.key);
    if (wrong == NULL) {
        const uint64_t before = adding->value->bytes;
        adding->refusals = atomic_load(&bf_counts.refusals);
        bf_limits(context, 0);
        (several ? add_several : add_one)(context, adding, found == BF_MISSING);
        bf_limits(NULL, 0);
        bf_value_grew(adding->value, before);
    }
    server.CloseKey(opened.key);
    return wrong != NULL ? bf_fail(context, wrong) : SERVER_OK;
}

int bf_add(server_context *context, server_string **words, int count)
{
    if (count != 3)
        return server.WrongArity(context);
    struct adding adding = {.command = words[0],
                            .name = words[1],
                            .items = words + 2,
                            .count = 1,
                            .create = true,
                            .parameters = defaults()};
    return add(context, &adding, false);
}

int bf_madd(server_context *context, server_string **words, int count)
{
    if (count < 3)
        return server.WrongArity(context);
    struct adding adding = {.command = words[0],
                            .name = words[1],
                            .items = words + 2,
                            .count = (size_t)count - 2,
                            .create = true,
                            .parameters = defaults()};
    return add(context, &adding, true);
}

/* ---- BF.INSERT ------------------------------------------------------------------------------- */

/* The options of BF.INSERT. The reference knows them by a letter or two. */
enum option { ITEMS, CAPACITY, ERROR, EXPANSION, NOCREATE, NONSCALING, UNKNOWN };

static enum option option_of(const server_string *word)
{
    size_t bytes;
    const char *data = server.StringPtrLen(word, &bytes);
    const int first = bytes > 0 ? tolower((unsigned char)data[0]) : 0;
    const int second = bytes > 1 ? tolower((unsigned char)data[1]) : 0;
    const int third = bytes > 2 ? tolower((unsigned char)data[2]) : 0;
    switch (first) {
    case 'i':
        return ITEMS;
    case 'c':
        return CAPACITY;
    case 'e':
        return second == 'r' ? ERROR : EXPANSION;
    case 'n':
        return third == 'c' ? NOCREATE : NONSCALING;
    default:
        return UNKNOWN;
    }
}

/* NULL, or what is wrong with the value of an option. */
static const char *read_value(server_context *context, enum option option,
                              const server_string *word, struct bf_parameters *parameters)
{
    long long number = 0;
    double rate = 0;
    if (option == ERROR) {
        if (server.StringToDouble(word, &rate) != SERVER_OK || !(rate > 0 && rate < 1))
            return "Bad error rate";
        parameters->rate = bf_rate_capped(rate);
        return NULL;
    }
    const bool is_number = server.StringToLongLong(word, &number) == SERVER_OK;
    if (option == CAPACITY) {
        if (!is_number || number < 1 || number > bf_capacity_max(context))
            return "Bad capacity";
        parameters->capacity = (uint64_t)number;
        return NULL;
    }
    if (!is_number || number < 0 || number > BF_GROWTH_MAX)
        return "Bad expansion";
    parameters->growth = (uint32_t)number;
    return NULL;
}

/* Reads options up to the items. `wrong` receives the reply, or NULL; the result is the place of
 * the first item, 0 if the words do not add up. */
static int read_options(server_context *context, server_string **words, int count,
                        struct adding *adding, const char **wrong)
{
    bool fixed = false;
    *wrong = NULL;
    for (int i = 2; i < count; i++) {
        const enum option option = option_of(words[i]);
        switch (option) {
        case ITEMS:
            if (fixed)
                adding->parameters.growth = 0;
            return i + 1 < count ? i + 1 : 0;
        case NOCREATE:
            adding->create = false;
            break;
        case NONSCALING:
            fixed = true;
            break;
        case UNKNOWN:
            *wrong = "Unknown argument received";
            return i;
        default:
            if (++i == count)
                return 0;
            *wrong = read_value(context, option, words[i], &adding->parameters);
            if (*wrong != NULL)
                return i;
        }
    }
    return 0;
}

int bf_insert(server_context *context, server_string **words, int count)
{
    const char *wrong;
    if (count < 4)
        return server.WrongArity(context);
    struct adding adding = {.name = words[1], .create = true, .parameters = defaults()};
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

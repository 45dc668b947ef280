/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BF.INFO and BF.DEBUG. The reply without a selector is the reference's. The other selectors are
 * our own. They read no bits: the library counts bits as items come.
 */
#define BLOOMERY_EXPERIMENTAL

#include "window.h"

#include <bloomery/experimental.h>
#include <math.h>
#include <stdio.h>

/* The fields of BF.INFO in their order: first the reference's, which the whole reply has. */
static const struct field {
    const char *selector;
    const char *name;
} fields[] = {
    {"CAPACITY", "Capacity"},
    {"SIZE", "Size"},
    {"FILTERS", "Number of filters"},
    {"ITEMS", "Number of items inserted"},
    {"EXPANSION", "Expansion rate"},
    {"ERROR", "Error rate"},
    {"ERRORNOW", "Error rate now"},
    {"FILL", "Fill"},
    {"ESTIMATE", "Estimated items"},
    {"GENERATIONS", "Generations"},
    {"EVERY", "Seconds of a generation"},
};

enum { FIELDS_SHOWN = 5, FIELDS = sizeof fields / sizeof fields[0] };

/* What a field has. */
struct fact {
    enum { NONE, NUMBER, REAL } kind;
    long long number;
    double real;
};

static struct fact number(uint64_t value)
{
    return (struct fact){.kind = NUMBER,
                         .number = value < INT64_MAX ? (long long)value : INT64_MAX};
}

static struct fact real(double value)
{
    return (struct fact){.kind = REAL, .real = value};
}

/* ---- What the bits say ----------------------------------------------------------------------- */

/* Of all layers together. */
struct bits {
    uint64_t all, set;
    double items;
    double none; /* log of the chance that an absent item is in no layer */
};

static void count_bits(const struct bf_value *value, struct bits *bits)
{
    bloomery_info info;
    bf_info_of(value, &info);
    for (uint32_t i = 0; i < info.layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        (void)bloomery_layer_info_get(value->filter, i, false, &layer);
        const double fill = (double)layer.bits_set / (double)layer.bits;
        bits->all += layer.bits;
        bits->set += layer.bits_set;
        bits->items += layer.estimated_keys;
        bits->none += log1p(-pow(fill, layer.probes));
    }
}

/* The planned rate. The layers of a chain that grows have half, a quarter, an eighth of it. */
static double planned_rate(const struct bf_value *value, const bloomery_info *info)
{
    size_t bytes;
    struct bf_link first;
    bf_header_read_link(bf_header(value, &bytes), 0, &first);
    return fmin(1, info->can_grow ? 2 * first.rate : first.rate);
}

static void gather_bits(const struct bf_opened *opened, uint32_t visible, struct fact facts[FIELDS])
{
    struct bits bits = {0, 0, 0, 0};
    if (opened->window == NULL)
        count_bits(opened->value, &bits);
    for (uint32_t i = 0; opened->window != NULL && i < visible; i++)
        count_bits(opened->window->generations[i], &bits);
    facts[6] = real(0 - expm1(bits.none));
    facts[7] = real(bits.all > 0 ? (double)bits.set / (double)bits.all : 0);
    facts[8] = isfinite(bits.items) ? number((uint64_t)llround(fmin(bits.items, 0x1p62)))
                                    : (struct fact){.kind = NONE};
}

static void gather(server_context *context, const struct bf_opened *opened,
                   struct fact facts[FIELDS])
{
    bloomery_info info;
    const struct bf_window *window = opened->window;
    const uint32_t visible = window != NULL ? bf_window_visible(context, window) : 0;
    bf_info_of(opened->value, &info);
    facts[0] = number(info.planned_keys);
    facts[1] = number(bf_told_bytes(&info));
    facts[2] = number(info.layers);
    facts[3] = number(info.adds);
    if (info.can_grow)
        facts[4] = number((uint64_t)info.growth);
    facts[5] = real(window != NULL ? window->plan.rate : planned_rate(opened->value, &info));
    gather_bits(opened, visible, facts);
    if (window == NULL)
        return;
    facts[0] = number(info.planned_keys * window->plan.generations);
    facts[1] = number(bf_window_told_bytes(window));
    facts[2] = facts[9] = number(window->plan.generations);
    facts[3] = number(bf_window_items(window, visible));
    if (window->plan.period_ms > 0)
        facts[10] = number(window->plan.period_ms / 1000);
}

/* ---- Replies --------------------------------------------------------------------------------- */

static void tell(server_context *context, const struct fact *fact)
{
    if (fact->kind == NUMBER)
        (void)server.ReplyWithLongLong(context, fact->number);
    else if (fact->kind == REAL)
        (void)server.ReplyWithDouble(context, fact->real);
    else
        (void)server.ReplyWithNull(context);
}

static void tell_all(server_context *context, const struct fact facts[FIELDS])
{
    (void)server.ReplyWithMap(context, FIELDS_SHOWN);
    for (int i = 0; i < FIELDS_SHOWN; i++) {
        (void)server.ReplyWithSimpleString(context, fields[i].name);
        tell(context, &facts[i]);
    }
}

/* In RESP2 one value in an array, without its name. */
static void tell_one(server_context *context, const struct field *field, const struct fact *fact)
{
    if ((server.GetContextFlags(context) & SERVER_CONTEXT_RESP3) != 0) {
        (void)server.ReplyWithMap(context, 1);
        (void)server.ReplyWithSimpleString(context, field->name);
    } else {
        (void)server.ReplyWithArray(context, 1);
    }
    tell(context, fact);
}

int bf_info(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    struct fact facts[FIELDS] = {{NONE, 0, 0}};
    if (count != 2 && count != 3)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &opened);
    if (found == BF_FOUND)
        gather(context, &opened, facts);
    server.CloseKey(opened.key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    if (count == 2) {
        tell_all(context, facts);
        return SERVER_OK;
    }
    for (int i = 0; i < FIELDS; i++) {
        if (bf_is_word(words[2], fields[i].selector)) {
            tell_one(context, &fields[i], &facts[i]);
            return SERVER_OK;
        }
    }
    return bf_fail(context, "Invalid information value");
}

/* ---- BF.DEBUG -------------------------------------------------------------------------------- */

static void tell_text(server_context *context, const char *text, int bytes)
{
    (void)server.ReplyWithStringBuffer(context, text, (size_t)bytes);
}

/* A line for each link. */
static void tell_links(server_context *context, const struct bf_value *value)
{
    char text[240];
    bloomery_info info;
    size_t bytes;
    const uint8_t *header = bf_header(value, &bytes);
    bf_info_of(value, &info);
    for (uint32_t i = 0; i < info.layers; i++) {
        struct bf_link link;
        bf_header_read_link(header, i, &link);
        tell_text(context, text,
                  snprintf(text, sizeof text,
                           "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu "
                           "ratio:%g",
                           (unsigned long long)link.bytes, (unsigned long long)link.bits,
                           link.probes, (unsigned long long)link.capacity,
                           (unsigned long long)link.size, link.rate));
    }
}

/* A line for the key, and one for each link or generation. */
static void tell_lines(server_context *context, const struct bf_opened *opened)
{
    /* Generations that are due count no more. */
    char text[40];
    bloomery_info info;
    const struct bf_window *window = opened->window;
    const uint32_t generations = window != NULL ? bf_window_visible(context, window) : 0;
    bf_info_of(opened->value, &info);
    const uint64_t items = window != NULL ? bf_window_items(window, generations) : info.adds;
    (void)server.ReplyWithArray(context, 1 + (long)(window != NULL ? generations : info.layers));
    tell_text(context, text, snprintf(text, sizeof text, "size:%llu", (unsigned long long)items));
    if (window == NULL)
        tell_links(context, opened->value);
    for (uint32_t i = 0; i < generations; i++)
        tell_links(context, window->generations[i]);
}

int bf_debug(server_context *context, server_string **words, int count)
{
    struct bf_opened opened;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &opened);
    if (found == BF_FOUND)
        tell_lines(context, &opened);
    server.CloseKey(opened.key);
    return found == BF_FOUND ? SERVER_OK : bf_fail_not(context, found);
}

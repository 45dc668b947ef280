/* SPDX-License-Identifier: Apache-2.0 */
/* BF.INFO and BF.DEBUG. */
#include "bf.h"

#include <stdio.h>

/* The fields of BF.INFO in their order. A number of -1 becomes null in the reply. */
static const struct field {
    const char *selector;
    const char *name;
} fields[] = {
    {"CAPACITY", "Capacity"},         {"SIZE", "Size"},
    {"FILTERS", "Number of filters"}, {"ITEMS", "Number of items inserted"},
    {"EXPANSION", "Expansion rate"},
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static void tell(server_context *context, long long number)
{
    if (number < 0)
        (void)server.ReplyWithNull(context);
    else
        (void)server.ReplyWithLongLong(context, number);
}

static void tell_all(server_context *context, const long long numbers[FIELDS])
{
    (void)server.ReplyWithMap(context, FIELDS);
    for (int i = 0; i < FIELDS; i++) {
        (void)server.ReplyWithSimpleString(context, fields[i].name);
        tell(context, numbers[i]);
    }
}

/* In RESP2 one value in an array, without its name. */
static void tell_one(server_context *context, const struct field *field, long long number)
{
    if ((server.GetContextFlags(context) & SERVER_CONTEXT_RESP3) != 0) {
        (void)server.ReplyWithMap(context, 1);
        (void)server.ReplyWithSimpleString(context, field->name);
    } else {
        (void)server.ReplyWithArray(context, 1);
    }
    tell(context, number);
}

int bf_info(server_context *context, server_string **words, int count)
{
    server_key *key;
    struct bf_value *value;
    long long numbers[FIELDS] = {0};
    if (count != 2 && count != 3)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &key, &value);
    if (found == BF_FOUND) {
        bloomery_info info;
        bf_info_of(value, &info);
        numbers[0] = (long long)info.planned_keys;
        numbers[1] = (long long)bf_told_bytes(&info);
        numbers[2] = info.layers;
        numbers[3] = (long long)info.adds;
        numbers[4] = info.can_grow ? (long long)info.growth : -1;
    }
    server.CloseKey(key);
    if (found != BF_FOUND)
        return bf_fail_not(context, found);
    if (count == 2) {
        tell_all(context, numbers);
        return SERVER_OK;
    }
    for (int i = 0; i < FIELDS; i++) {
        if (bf_is_word(words[2], fields[i].selector)) {
            tell_one(context, &fields[i], numbers[i]);
            return SERVER_OK;
        }
    }
    return bf_fail(context, "Invalid information value");
}

static void tell_text(server_context *context, const char *text, int bytes)
{
    (void)server.ReplyWithStringBuffer(context, text, (size_t)bytes);
}

/* A line for the filter and one for each link. */
static void tell_links(server_context *context, const struct bf_value *value)
{
    char text[240];
    bloomery_info info;
    size_t bytes;
    const uint8_t *header = bf_header(value, &bytes);
    bf_info_of(value, &info);
    (void)server.ReplyWithArray(context, 1 + (long)info.layers);
    tell_text(context, text,
              snprintf(text, sizeof text, "size:%llu", (unsigned long long)info.adds));
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

int bf_debug(server_context *context, server_string **words, int count)
{
    server_key *key;
    struct bf_value *value;
    if (count != 2)
        return server.WrongArity(context);
    const enum bf_found found = bf_open(context, words[1], SERVER_READ, &key, &value);
    if (found == BF_FOUND)
        tell_links(context, value);
    server.CloseKey(key);
    return found == BF_FOUND ? SERVER_OK : bf_fail_not(context, found);
}

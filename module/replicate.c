/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What replicas and the AOF get to see.
 *
 * A command that made a filter by this server's configuration is not passed on as it came: a server
 * with another configuration would make another filter of it. What is passed on has all numbers in
 * it. And of the items only those that changed something are: the others would change nothing there
 * either, and in a crawl most items are seen already. Where a command is all that, it is passed on
 * as it came, which saves making another.
 */
#include "cf.h"

#include <assert.h>
#include <stdio.h>

static const struct bf_names reference = {
    "BF.RESERVE", "BF.INSERT", "BF.MADD", "BF.LOADCHUNK", "BF.CLEAR", "BF.MERGE", "BF.ROTATE", 3,
};
static const struct bf_names own = {
    "BLOOM.RESERVE", "BLOOM.INSERT", "BLOOM.MADD",   "BLOOM.LOADCHUNK",
    "BLOOM.CLEAR",   "BLOOM.MERGE",  "BLOOM.ROTATE", 6,
};

const struct bf_names *bf_names = &own;

void bf_names_choose(bool drop_in)
{
    bf_names = drop_in ? &reference : &own;
}

/* A command has one of two names, which differ in where their dot is. */
bool bf_is_passed_on(const server_string *command)
{
    size_t bytes;
    const char *data = server.StringPtrLen(command, &bytes);
    return bytes > bf_names->prefix && data[bf_names->prefix - 1] == '.';
}

/* The creation in one command. Its numbers are those of the filter, to the last digit. */
static void replicate_creation(server_context *context, const struct bf_change *change)
{
    const struct bf_parameters *made = change->created;
    server_string *const *items = change->items;
    const long long capacity = (long long)made->capacity;
    char rate[32];
    snprintf(rate, sizeof rate, "%.17g", made->rate);
    if (change->count == 0 && made->growth == 0)
        server.Replicate(context, bf_names->reserve, "sclc", change->name, rate, capacity,
                         "NONSCALING");
    else if (change->count == 0)
        server.Replicate(context, bf_names->reserve, "sclcl", change->name, rate, capacity,
                         "EXPANSION", (long long)made->growth);
    else if (made->growth == 0)
        server.Replicate(context, bf_names->insert, "sclccccv", change->name, "CAPACITY", capacity,
                         "ERROR", rate, "NONSCALING", "ITEMS", items, change->count);
    else
        server.Replicate(context, bf_names->insert, "sclccclcv", change->name, "CAPACITY", capacity,
                         "ERROR", rate, "EXPANSION", (long long)made->growth, "ITEMS", items,
                         change->count);
}

void bf_changed(server_context *context, const struct bf_change *change)
{
    if (change->created == NULL && change->count == 0)
        return;
    assert(change->count == 0 || change->items != NULL);
    if (change->created != NULL)
        replicate_creation(context, change);
    else if (change->is_all)
        server.ReplicateVerbatim(context);
    else
        server.Replicate(context, bf_names->madd, "sv", change->name, change->items, change->count);
    server.SignalModifiedKey(context, change->name);
    if (change->created != NULL)
        server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, "bloom.reserve", change->name);
    if (change->count > 0)
        server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, "bloom.add", change->name);
}

void bf_pass_on(server_context *context, const char *command, server_string **words, int count,
                const char *event)
{
    server_string *const *passed = words + 1;
    server.Replicate(context, command, "v", passed, (size_t)count - 1);
    server.SignalModifiedKey(context, words[1]);
    server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, event, words[1]);
}

void bf_loaded(server_context *context, server_string **words, bool created)
{
    bf_pass_on(context, bf_names->loadchunk, words, 4, created ? "bloom.reserve" : "bloom.add");
}

/* ---- Cuckoo filters -------------------------------------------------------------------------- */

/* By enum cf_change; then those that only we write. */
enum { RESERVED = CF_LOADED + 1, INSERTED, CF_NAMES };
static const char *const cf_reference[CF_NAMES] = {
    [CF_DELETED] = "CF.DEL",   [CF_COMPACTED] = "CF.COMPACT", [CF_LOADED] = "CF.LOADCHUNK",
    [RESERVED] = "CF.RESERVE", [INSERTED] = "CF.INSERT",
};
static const char *const cf_own[CF_NAMES] = {
    [CF_DELETED] = "BLOOM.CF.DEL",      [CF_COMPACTED] = "BLOOM.CF.COMPACT",
    [CF_LOADED] = "BLOOM.CF.LOADCHUNK", [RESERVED] = "BLOOM.CF.RESERVE",
    [INSERTED] = "BLOOM.CF.INSERT",
};
static const char *const *cf_names = cf_own;

void cf_names_choose(bool drop_in)
{
    cf_names = drop_in ? cf_reference : cf_own;
}

const char *cf_loadchunk_name(void)
{
    return cf_names[CF_LOADED];
}

static void tell_watchers(server_context *context, const char *event, server_string *name)
{
    server.SignalModifiedKey(context, name);
    server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, event, name);
}

void cf_made(server_context *context, server_string *name, const struct cf_parameters *made)
{
    server.Replicate(context, cf_names[RESERVED], "slclclcl", name, (long long)made->capacity,
                     "BUCKETSIZE", (long long)made->bucket_size, "MAXITERATIONS",
                     (long long)made->iterations, "EXPANSION", (long long)made->growth);
    tell_watchers(context, "cuckoo.reserve", name);
}

/* CF.ADD and BLOOM.CF.ADD differ in where their first dot is. */
static bool is_known_by(const server_string *command)
{
    const size_t dot = cf_names == cf_reference ? 2 : 5;
    size_t bytes;
    const char *data = server.StringPtrLen(command, &bytes);
    return bytes > dot && data[dot] == '.';
}

void cf_added(server_context *context, const server_string *command, server_string *name,
              server_string *const *items, size_t count)
{
    assert(count > 0);
    atomic_fetch_add(&bf_counts.cuckoo_adds, count);
    if (command != NULL && is_known_by(command))
        server.ReplicateVerbatim(context);
    else
        server.Replicate(context, cf_names[INSERTED], "scv", name, "ITEMS", items, count);
    tell_watchers(context, "cuckoo.add", name);
}

void cf_changed(server_context *context, enum cf_change change, server_string **words, int count)
{
    static const char *const events[] = {[CF_DELETED] = "cuckoo.del",
                                         [CF_COMPACTED] = "cuckoo.compact",
                                         [CF_LOADED] = "cuckoo.load"};
    bf_pass_on(context, cf_names[change], words, count, events[change]);
}

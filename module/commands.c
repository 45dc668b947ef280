/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands, and how each describes itself to the server: COMMAND, COMMAND DOCS, ACL.
 *
 * Every command has a second name, BLOOM.* for BF.* and BLOOM.CF.* for CF.*. BF.* is taken only
 * where no module has one of these names, and so is CF.*. The names are in lower case, in which the
 * reference's errors tell them.
 */
#include "cf.h"

#include <stdio.h>

enum { NAME_BYTES = 32 };

#define ITEM                                                             \
    {                                                                    \
        .name = "item", .type = SERVER_ARGUMENT_STRING, .key_places = -1 \
    }
#define ITEMS                                                             \
    {                                                                     \
        .name = "item", .type = SERVER_ARGUMENT_STRING, .key_places = -1, \
        .flags = SERVER_ARGUMENT_SEVERAL                                  \
    }
#define KEY                                        \
    {                                              \
        .name = "key", .type = SERVER_ARGUMENT_KEY \
    }
#define NUMBER(text, kind)                                               \
    {                                                                    \
        .name = (text), .type = SERVER_ARGUMENT_##kind, .key_places = -1 \
    }
#define OPTION(text, kind, word)                                                           \
    {                                                                                      \
        .name = (text), .type = SERVER_ARGUMENT_##kind, .key_places = -1, .token = (word), \
        .flags = SERVER_ARGUMENT_OPTIONAL                                                  \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const struct server_argument reserve_arguments[] = {
    KEY,
    NUMBER("error_rate", DOUBLE),
    NUMBER("capacity", INTEGER),
    OPTION("expansion", INTEGER, "EXPANSION"),
    OPTION("nonscaling", WORD, "NONSCALING"),
    OPTION("generations", INTEGER, "GENERATIONS"),
    OPTION("seconds", INTEGER, "EVERY"),
    END,
};
static const struct server_argument insert_arguments[] = {
    KEY,
    OPTION("capacity", INTEGER, "CAPACITY"),
    OPTION("error", DOUBLE, "ERROR"),
    OPTION("expansion", INTEGER, "EXPANSION"),
    OPTION("nocreate", WORD, "NOCREATE"),
    OPTION("nonscaling", WORD, "NONSCALING"),
    {.name = "items", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ITEMS"},
    ITEMS,
    END,
};
static const struct server_argument item_arguments[] = {KEY, ITEM, END};
static const struct server_argument items_arguments[] = {KEY, ITEMS, END};
static const struct server_argument key_arguments[] = {KEY, END};
static const struct server_argument selectors[] = {
    {.name = "capacity", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "CAPACITY"},
    {.name = "size", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "SIZE"},
    {.name = "filters", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "FILTERS"},
    {.name = "items", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ITEMS"},
    {.name = "expansion", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "EXPANSION"},
    {.name = "error", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ERROR"},
    {.name = "errornow", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ERRORNOW"},
    {.name = "fill", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "FILL"},
    {.name = "estimate", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ESTIMATE"},
    {.name = "generations", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "GENERATIONS"},
    {.name = "every", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "EVERY"},
    END,
};
static const struct server_argument info_arguments[] = {
    KEY,
    {.name = "single_value",
     .type = SERVER_ARGUMENT_ONE_OF,
     .key_places = -1,
     .flags = SERVER_ARGUMENT_OPTIONAL,
     .parts = selectors},
    END,
};
static const struct server_argument merge_arguments[] = {
    KEY,
    {.name = "source", .type = SERVER_ARGUMENT_KEY, .flags = SERVER_ARGUMENT_SEVERAL},
    END,
};
static const struct server_argument scandump_arguments[] = {KEY, NUMBER("iterator", INTEGER), END};
static const struct server_argument loadchunk_arguments[] = {KEY, NUMBER("iterator", INTEGER),
                                                             NUMBER("data", STRING), END};

/* Of cuckoo filters. */
static const struct server_argument cf_reserve_arguments[] = {
    KEY,
    NUMBER("capacity", INTEGER),
    OPTION("bucketsize", INTEGER, "BUCKETSIZE"),
    OPTION("maxiterations", INTEGER, "MAXITERATIONS"),
    OPTION("expansion", INTEGER, "EXPANSION"),
    END,
};
static const struct server_argument cf_insert_arguments[] = {
    KEY,
    OPTION("capacity", INTEGER, "CAPACITY"),
    OPTION("nocreate", WORD, "NOCREATE"),
    {.name = "items", .type = SERVER_ARGUMENT_WORD, .key_places = -1, .token = "ITEMS"},
    ITEMS,
    END,
};

struct command {
    const char *name;
    server_function function;
    int arity;
    bool writes;
    const char *flags;
    const char *categories;
    uint64_t key; /* what it does with the key's value */
    const char *since;
    const char *tips;
    const char *summary;
    const char *complexity;
    const struct server_argument *arguments;
    int last_key; /* 0: the first one alone; -1: all words; all but the first are sources */
};

static const struct command bf_commands[] = {
    {"reserve", bf_reserve, -4, true, "write deny-oom", "write fast", SERVER_KEY_INSERT, "1.0.0",
     NULL, "Makes an empty Bloom filter.", "O(1)", reserve_arguments, 0},
    {"add", bf_add, 3, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds an item, and makes the filter if there is none.",
     "O(k), where k is the number of hash functions used by the last sub-filter", item_arguments,
     0},
    {"madd", bf_madd, -3, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds items, and makes the filter if there is none.",
     "O(k * n), where k is the number of hash functions and n is the number of items",
     items_arguments, 0},
    {"insert", bf_insert, -4, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds items, and makes the filter with the given parameters if there is none.",
     "O(k * n), where k is the number of hash functions and n is the number of items",
     insert_arguments, 0},
    {"exists", bf_exists, 3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", NULL,
     "Whether an item may have been added.", "O(k), where k is the number of hash functions",
     item_arguments, 0},
    {"mexists", bf_mexists, -3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", NULL,
     "Whether items may have been added.",
     "O(k * n), where k is the number of hash functions and n is the number of items",
     items_arguments, 0},
    {"card", bf_card, 2, false, "readonly fast", "read fast", SERVER_KEY_ACCESS, "2.4.4", NULL,
     "The number of items that changed the filter when they were added.", "O(1)", key_arguments, 0},
    {"info", bf_info, -2, false, "readonly fast", "read fast", SERVER_KEY_ACCESS, "1.0.0",
     "dont_cache", "What a filter is.", "O(1)", info_arguments, 0},
    {"debug", bf_debug, 2, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", "dont_cache",
     "What each sub-filter is.", "O(n), where n is the number of sub-filters", key_arguments, 0},
    {"scandump", bf_scandump, 3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0",
     "dont_cache", "A piece of a filter, to be loaded elsewhere.",
     "O(n), where n is the number of bytes", scandump_arguments, 0},
    {"loadchunk", bf_loadchunk, 4, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0",
     NULL, "Loads a piece of a filter.", "O(n), where n is the number of bytes",
     loadchunk_arguments, 0},
    {"clear", bf_clear, 2, true, "write", "write", SERVER_KEY_DELETE, "0.1.0", NULL,
     "Removes all items of a filter, which keeps its parameters.", "O(1)", key_arguments, 0},
    {"merge", bf_merge, -3, true, "write deny-oom", "write", SERVER_KEY_ACCESS | SERVER_KEY_INSERT,
     "0.1.0", NULL, "Adds the items of other filters of the same layers.",
     "O(n), where n is the number of bytes of all filters", merge_arguments, -1},
    {"rotate", bf_rotate, -2, true, "write", "write", SERVER_KEY_DELETE, "0.1.0", NULL,
     "Drops the oldest generation of a window and begins a new one.", "O(1)", key_arguments, 0},
};

#define ITEM_COST "O(n + i), where n is the number of sub-filters and i is MAXITERATIONS"
#define ITEMS_COST \
    "O(k * (n + i)), where k is the number of items, n of sub-filters and i is MAXITERATIONS"

static const struct command cf_commands[] = {
    {"reserve", cf_reserve, -3, true, "write deny-oom", "write fast", SERVER_KEY_INSERT, "1.0.0",
     NULL, "Makes an empty cuckoo filter.", "O(1)", cf_reserve_arguments, 0},
    {"add", cf_add, 3, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds an item, once more if it is there, and makes the filter if there is none.", ITEM_COST,
     item_arguments, 0},
    {"addnx", cf_addnx, 3, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds an item if it is not there, and makes the filter if there is none.", ITEM_COST,
     item_arguments, 0},
    {"insert", cf_insert, -4, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds items, and makes the filter with the given capacity if there is none.", ITEMS_COST,
     cf_insert_arguments, 0},
    {"insertnx", cf_insertnx, -4, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0", NULL,
     "Adds those items that are not there, and makes the filter if there is none.", ITEMS_COST,
     cf_insert_arguments, 0},
    {"exists", cf_exists, 3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", NULL,
     "Whether an item may have been added.", "O(n), where n is the number of sub-filters",
     item_arguments, 0},
    {"mexists", cf_mexists, -3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", NULL,
     "Whether items may have been added.",
     "O(k * n), where k is the number of items and n is the number of sub-filters", items_arguments,
     0},
    {"count", cf_count, 3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", NULL,
     "How many times an item may have been added.", "O(n), where n is the number of sub-filters",
     item_arguments, 0},
    {"del", cf_del, 3, true, "write fast", "write", SERVER_KEY_DELETE, "1.0.0", NULL,
     "Removes an item once.", "O(n), where n is the number of sub-filters", item_arguments, 0},
    {"compact", cf_compact, 2, true, "write", "write", SERVER_KEY_UPDATE, "1.0.0", NULL,
     "Moves items to older sub-filters, and drops sub-filters that are empty then.",
     "O(n), where n is the number of bytes", key_arguments, 0},
    {"info", cf_info, 2, false, "readonly fast", "read fast", SERVER_KEY_ACCESS, "1.0.0",
     "dont_cache", "What a cuckoo filter is.", "O(n), where n is the number of sub-filters",
     key_arguments, 0},
    {"debug", cf_debug, 2, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0", "dont_cache",
     "What a cuckoo filter is, in a line.", "O(1)", key_arguments, 0},
    {"scandump", cf_scandump, 3, false, "readonly fast", "read", SERVER_KEY_ACCESS, "1.0.0",
     "dont_cache", "A piece of a cuckoo filter, to be loaded elsewhere.",
     "O(n), where n is the number of bytes", scandump_arguments, 0},
    {"loadchunk", cf_loadchunk, 4, true, "write deny-oom", "write", SERVER_KEY_INSERT, "1.0.0",
     NULL, "Loads a piece of a cuckoo filter.", "O(n), where n is the number of bytes",
     loadchunk_arguments, 0},
};

/* Commands that have the reference's names together, or do not. */
static const struct family {
    const char *reference, *own;
    const char *category;
    const struct command *commands;
    size_t count;
} families[] = {
    {"bf", "bloom", "bloom", bf_commands, sizeof bf_commands / sizeof bf_commands[0]},
    {"cf", "bloom.cf", "cuckoo", cf_commands, sizeof cf_commands / sizeof cf_commands[0]},
};

static void describe(server_command *made, const struct command *command)
{
    static const struct server_info_version version = {1, sizeof(struct server_history),
                                                       sizeof(struct server_key_places),
                                                       sizeof(struct server_argument)};
    const bool has_sources = command->last_key != 0;
    const struct server_key_places first = {
        .flags = (command->writes ? SERVER_KEY_READ_WRITE : SERVER_KEY_READ_ONLY) | command->key,
        .begins = SERVER_BEGINS_AT_INDEX,
        .begin.index = {1},
        .finds = SERVER_FINDS_RANGE,
        .find.range = {0, 1, 0}};
    const struct server_key_places sources = {.flags = SERVER_KEY_READ_ONLY | SERVER_KEY_ACCESS,
                                              .begins = SERVER_BEGINS_AT_INDEX,
                                              .begin.index = {2},
                                              .finds = SERVER_FINDS_RANGE,
                                              .find.range = {command->last_key, 1, 0}};
    const struct server_key_places places[] = {
        first, has_sources ? sources : (struct server_key_places){0}, {0}};
    const struct server_command_info info = {
        .version = &version,
        .summary = command->summary,
        .complexity = command->complexity,
        .since = command->since,
        .tips = command->tips,
        .arity = command->arity,
        .places = places,
        .arguments = command->arguments,
    };
    (void)server.SetCommandInfo(made, &info);
}

static bool add_command(server_context *context, const char *prefix, const struct command *command,
                        const char *category)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s", prefix, command->name);
    if (server.CreateCommand(context, name, command->function, command->flags, 1,
                             command->last_key == 0 ? 1 : command->last_key, 1) != SERVER_OK) {
        server.Log(context, "warning", "bloomery: the command %s can't be had", name);
        return false;
    }
    server_command *made = server.GetCommand != NULL ? server.GetCommand(context, name) : NULL;
    if (made != NULL && server.SetCommandInfo != NULL)
        describe(made, command);
    if (made != NULL && server.SetCommandACLCategories != NULL) {
        char categories[NAME_BYTES * 2];
        snprintf(categories, sizeof categories, "%s%s%s", command->categories,
                 category[0] != '\0' ? " " : "", category);
        (void)server.SetCommandACLCategories(made, categories);
    }
    return true;
}

bool bf_commands_free(server_context *context, enum bf_family which)
{
    const struct family *family = &families[which];
    for (size_t i = 0; i < family->count; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%s.%s", family->reference, family->commands[i].name);
        server_reply *reply = server.Call(context, "COMMAND", "cc", "INFO", name);
        if (reply == NULL)
            continue;
        server_reply *first = server.CallReplyType(reply) == SERVER_REPLY_ARRAY
                                  ? server.CallReplyArrayElement(reply, 0)
                                  : NULL;
        const bool taken = first != NULL && server.CallReplyType(first) == SERVER_REPLY_ARRAY;
        server.FreeCallReply(reply);
        if (taken) {
            server.Log(context, "notice", "bloomery: another module has %s; ours is %s.%s", name,
                       family->own, family->commands[i].name);
            return false;
        }
    }
    return true;
}

bool bf_commands_register(server_context *context, enum bf_family which, bool drop_in)
{
    const struct family *family = &families[which];
    const bool has_category = server.AddACLCategory != NULL &&
                              server.AddACLCategory(context, family->category) == SERVER_OK;
    const char *category = has_category ? family->category : "";
    for (size_t i = 0; i < family->count; i++)
        if (!add_command(context, family->own, &family->commands[i], category) ||
            (drop_in && !add_command(context, family->reference, &family->commands[i], category)))
            return false;
    return true;
}

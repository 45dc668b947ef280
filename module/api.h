/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side: what Redis 7.0 and later and Valkey 8 offer to a module, in our own words.
 *
 * No package ships a header for it, and none is needed. The server calls RedisModule_OnLoad with a
 * context whose first word is a function: given a name, it stores the address of the function of
 * that name. So the one table below is all that binds us to a server. bind.c looks every row up
 * once; calls then read `server.OpenKey(...)`.
 *
 * A row that is REQUIRED is in every server that we name, and its absence refuses to load by name.
 * One that is OPTIONAL may be NULL, and is asked for where it is called.
 */
#ifndef BLOOMERY_MODULE_API_H
#define BLOOMERY_MODULE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the server hands out and only it looks into. */
typedef struct server_context server_context;
typedef struct server_string server_string;
typedef struct server_key server_key;
typedef struct server_io server_io;
typedef struct server_type server_type;
typedef struct server_digest server_digest;
typedef struct server_defrag server_defrag;
typedef struct server_report server_report;
typedef struct server_command server_command;
typedef struct server_reply server_reply;
typedef struct server_facts server_facts;

typedef int (*server_function)(server_context *context, server_string **words, int count);

/* Results of the server's functions and of the module's. */
enum { SERVER_OK = 0, SERVER_FAILED = 1 };

enum {
    SERVER_API_VERSION = 1,
    SERVER_READ = 1,
    SERVER_WRITE = 2,
    SERVER_KEY_EMPTY = 0,
    SERVER_KEY_MODULE = 6,
    SERVER_POSTPONED = -1,
    SERVER_REPLY_ARRAY = 3,
    SERVER_REPLY_NULL = 4,
};

/* Of a context. */
enum {
    SERVER_CONTEXT_MASTER = 1 << 2,
    SERVER_CONTEXT_REPLICATED = 1 << 12,
    SERVER_CONTEXT_LOADING = 1 << 13,
    SERVER_CONTEXT_RESP3 = 1 << 22,
};

/* Of a module. The last one is Valkey's alone. */
enum {
    SERVER_MODULE_HANDLES_IO_ERRORS = 1 << 0,
    SERVER_MODULE_SIGNALS_KEYS = 1 << 1,
    SERVER_MODULE_LOADS_ASIDE = 1 << 2,
    SERVER_MODULE_SLOTS_MOVE = 1 << 5,
};

enum { SERVER_EVENT_GENERIC = 1 << 2 };

/* Of a child that writes a file or answers a replica: it was born, or has ended. */
enum { SERVER_EVENT_CHILD = 13, SERVER_CHILD_BORN = 0, SERVER_CHILD_DIED = 1 };

/* Some times a second. */
enum { SERVER_EVENT_CRON = 8 };

/* A CONFIG SET was done. The function's data is the next. */
enum { SERVER_EVENT_CONFIG = 16 };
struct server_config_change {
    uint64_t version;
    uint32_t count;
    const char **names;
};

struct server_event {
    uint64_t id;
    uint64_t version;
};

typedef void (*server_event_function)(server_context *context, struct server_event event,
                                      uint64_t what, void *data);

enum { SERVER_CONFIG_PLAIN = 0, SERVER_CONFIG_MEMORY = 1 << 7, SERVER_CONFIG_BARE_NAME = 1 << 9 };

/* ---- The type of a key ----------------------------------------------------------------------- */

enum { SERVER_TYPE_VERSION = 4, SERVER_TYPE_NAME = 9 };

struct server_type_methods {
    uint64_t version;
    void *(*load)(server_io *io, int encoding);
    void (*save)(server_io *io, void *value);
    void (*rewrite)(server_io *io, server_string *key, void *value);
    size_t (*memory)(const void *value);
    void (*digest)(server_digest *digest, void *value);
    void (*release)(void *value);
    int (*load_aside)(server_io *io, int encoding, int when);
    void (*save_aside)(server_io *io, int when);
    int save_aside_when;
    size_t (*release_effort)(server_string *key, const void *value);
    void (*unlink)(server_string *key, const void *value);
    void *(*copy)(server_string *from, server_string *to, const void *value);
    int (*defrag)(server_defrag *defrag, server_string *key, void **value);
    size_t (*memory_2)(void *options, const void *value, size_t sample);
    size_t (*release_effort_2)(void *options, const void *value);
    void (*unlink_2)(void *options, const void *value);
    void *(*copy_2)(void *options, const void *value);
};

/* ---- The description of a command ------------------------------------------------------------ */

enum {
    SERVER_KEY_READ_ONLY = 1,
    SERVER_KEY_READ_WRITE = 2,
    SERVER_KEY_ACCESS = 16,
    SERVER_KEY_UPDATE = 32,
    SERVER_KEY_INSERT = 64,
    SERVER_KEY_DELETE = 128,
};

enum { SERVER_BEGINS_AT_INDEX = 2, SERVER_FINDS_RANGE = 2 };

struct server_key_places {
    const char *notes;
    uint64_t flags;
    int begins;
    union {
        struct {
            int position;
        } index;
        struct {
            const char *word;
            int from;
        } keyword;
    } begin;
    int finds;
    union {
        struct {
            int last;
            int step;
            int limit;
        } range;
        struct {
            int number;
            int first;
            int step;
        } counted;
    } find;
};

enum server_argument_type {
    SERVER_ARGUMENT_STRING = 0,
    SERVER_ARGUMENT_INTEGER = 1,
    SERVER_ARGUMENT_DOUBLE = 2,
    SERVER_ARGUMENT_KEY = 3,
    SERVER_ARGUMENT_WORD = 6,
    SERVER_ARGUMENT_ONE_OF = 7,
};

enum { SERVER_ARGUMENT_OPTIONAL = 1, SERVER_ARGUMENT_SEVERAL = 2 };

/* Ten fields. Redis 7.0 knows nine and steps by the size in the version that it gets. */
struct server_argument {
    const char *name;
    int type;
    int key_places;
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    const struct server_argument *parts;
    const char *shown;
};

struct server_history {
    const char *since;
    const char *changes;
};

struct server_info_version {
    int version;
    size_t history_bytes;
    size_t places_bytes;
    size_t argument_bytes;
};

struct server_command_info {
    const struct server_info_version *version;
    const char *summary;
    const char *complexity;
    const char *since;
    const struct server_history *history;
    const char *tips;
    int arity;
    const struct server_key_places *places;
    const struct server_argument *arguments;
};

/* ---- The table ------------------------------------------------------------------------------- */

typedef long long (*server_number_get)(const char *name, void *data);
typedef int (*server_number_set)(const char *name, long long value, void *data,
                                 server_string **error);
typedef server_string *(*server_text_get)(const char *name, void *data);
typedef int (*server_text_set)(const char *name, server_string *value, void *data,
                               server_string **error);
typedef int (*server_flag_get)(const char *name, void *data);
typedef int (*server_flag_set)(const char *name, int value, void *data, server_string **error);
typedef int (*server_apply)(server_context *context, void *data, server_string **error);

/* ROW(need, result, name, arguments) */
#define SERVER_API(ROW)                                                                           \
    ROW(REQUIRED, void *, TryAlloc, (size_t bytes))                                               \
    ROW(REQUIRED, void, Free, (void *memory))                                                     \
    ROW(REQUIRED, void, Log,                                                                      \
        (server_context * context, const char *level, const char *format, ...))                   \
    ROW(REQUIRED, void, SetModuleAttribs,                                                         \
        (server_context * context, const char *name, int version, int api))                       \
    ROW(OPTIONAL, int, IsModuleNameBusy, (const char *name))                                      \
    ROW(REQUIRED, void, SetModuleOptions, (server_context * context, int options))                \
    ROW(OPTIONAL, int, GetServerVersion, (void))                                                  \
    ROW(REQUIRED, int, GetContextFlags, (server_context * context))                               \
    ROW(REQUIRED, int, CreateCommand,                                                             \
        (server_context * context, const char *name, server_function function, const char *flags, \
         int first, int last, int step))                                                          \
    ROW(OPTIONAL, server_command *, GetCommand, (server_context * context, const char *name))     \
    ROW(OPTIONAL, int, SetCommandInfo,                                                            \
        (server_command * command, const struct server_command_info *info))                       \
    ROW(OPTIONAL, int, SetCommandACLCategories,                                                   \
        (server_command * command, const char *categories))                                       \
    ROW(OPTIONAL, int, AddACLCategory, (server_context * context, const char *name))              \
    ROW(REQUIRED, server_reply *, Call,                                                           \
        (server_context * context, const char *command, const char *format, ...))                 \
    ROW(REQUIRED, int, CallReplyType, (server_reply * reply))                                     \
    ROW(REQUIRED, server_reply *, CallReplyArrayElement, (server_reply * reply, size_t index))    \
    ROW(REQUIRED, void, FreeCallReply, (server_reply * reply))                                    \
    ROW(REQUIRED, int, WrongArity, (server_context * context))                                    \
    ROW(REQUIRED, int, ReplyWithError, (server_context * context, const char *text))              \
    ROW(REQUIRED, int, ReplyWithSimpleString, (server_context * context, const char *text))       \
    ROW(REQUIRED, int, ReplyWithLongLong, (server_context * context, long long value))            \
    ROW(REQUIRED, int, ReplyWithArray, (server_context * context, long count))                    \
    ROW(REQUIRED, int, ReplyWithMap, (server_context * context, long count))                      \
    ROW(REQUIRED, void, ReplySetArrayLength, (server_context * context, long count))              \
    ROW(REQUIRED, int, ReplyWithStringBuffer,                                                     \
        (server_context * context, const char *data, size_t bytes))                               \
    ROW(REQUIRED, int, ReplyWithNull, (server_context * context))                                 \
    ROW(REQUIRED, int, ReplyWithDouble, (server_context * context, double value))                 \
    ROW(REQUIRED, int, ReplyWithBool, (server_context * context, int value))                      \
    ROW(REQUIRED, const char *, StringPtrLen, (const server_string *string, size_t *bytes))       \
    ROW(REQUIRED, int, StringToLongLong, (const server_string *string, long long *value))         \
    ROW(REQUIRED, int, StringToDouble, (const server_string *string, double *value))              \
    ROW(REQUIRED, server_string *, CreateString,                                                  \
        (server_context * context, const char *data, size_t bytes))                               \
    ROW(REQUIRED, void, FreeString, (server_context * context, server_string * string))           \
    ROW(REQUIRED, server_key *, OpenKey,                                                          \
        (server_context * context, server_string * name, int mode))                               \
    ROW(REQUIRED, void, CloseKey, (server_key * key))                                             \
    ROW(REQUIRED, int, KeyType, (server_key * key))                                               \
    ROW(REQUIRED, server_type *, CreateDataType,                                                  \
        (server_context * context, const char *name, int encoding,                                \
         const struct server_type_methods *methods))                                              \
    ROW(REQUIRED, server_type *, ModuleTypeGetType, (server_key * key))                           \
    ROW(REQUIRED, void *, ModuleTypeGetValue, (server_key * key))                                 \
    ROW(REQUIRED, int, ModuleTypeSetValue, (server_key * key, server_type * type, void *value))   \
    ROW(REQUIRED, int, ModuleTypeReplaceValue,                                                    \
        (server_key * key, server_type * type, void *value, void **old))                          \
    ROW(REQUIRED, long long, Milliseconds, (void))                                                \
    ROW(OPTIONAL, const server_string *, GetKeyNameFromIO, (server_io * io))                      \
    ROW(OPTIONAL, int, GetDbIdFromIO, (server_io * io))                                           \
    ROW(OPTIONAL, int, GetSelectedDb, (server_context * context))                                 \
    ROW(OPTIONAL, int, SelectDb, (server_context * context, int number))                          \
    ROW(OPTIONAL, int, AvoidReplicaTraffic, (void))                                               \
    ROW(REQUIRED, int, Replicate,                                                                 \
        (server_context * context, const char *command, const char *format, ...))                 \
    ROW(REQUIRED, int, ReplicateVerbatim, (server_context * context))                             \
    ROW(REQUIRED, int, SignalModifiedKey, (server_context * context, server_string * name))       \
    ROW(REQUIRED, int, NotifyKeyspaceEvent,                                                       \
        (server_context * context, int kind, const char *event, server_string *name))             \
    ROW(REQUIRED, void, SaveUnsigned, (server_io * io, uint64_t value))                           \
    ROW(REQUIRED, uint64_t, LoadUnsigned, (server_io * io))                                       \
    ROW(REQUIRED, void, SaveDouble, (server_io * io, double value))                               \
    ROW(REQUIRED, double, LoadDouble, (server_io * io))                                           \
    ROW(REQUIRED, void, SaveStringBuffer, (server_io * io, const char *data, size_t bytes))       \
    ROW(REQUIRED, char *, LoadStringBuffer, (server_io * io, size_t * bytes))                     \
    ROW(REQUIRED, int, IsIOError, (server_io * io))                                               \
    ROW(REQUIRED, void, LogIOError, (server_io * io, const char *level, const char *format, ...)) \
    ROW(REQUIRED, void, EmitAOF, (server_io * io, const char *command, const char *format, ...))  \
    ROW(REQUIRED, void, DigestAddStringBuffer,                                                    \
        (server_digest * digest, const char *data, size_t bytes))                                 \
    ROW(REQUIRED, void, DigestEndSequence, (server_digest * digest))                              \
    ROW(OPTIONAL, void *, DefragAlloc, (server_defrag * defrag, void *memory))                    \
    ROW(OPTIONAL, server_facts *, GetServerInfo, (server_context * context, const char *section)) \
    ROW(OPTIONAL, unsigned long long, ServerInfoGetFieldUnsigned,                                 \
        (server_facts * facts, const char *field, int *error))                                    \
    ROW(OPTIONAL, const char *, ServerInfoGetFieldC, (server_facts * facts, const char *field))   \
    ROW(OPTIONAL, void, FreeServerInfo, (server_context * context, server_facts * facts))         \
    ROW(OPTIONAL, int, RegisterNumericConfig,                                                     \
        (server_context * context, const char *name, long long standard, unsigned flags,          \
         long long least, long long most, server_number_get get, server_number_set set,           \
         server_apply apply, void *data))                                                         \
    ROW(OPTIONAL, int, RegisterStringConfig,                                                      \
        (server_context * context, const char *name, const char *standard, unsigned flags,        \
         server_text_get get, server_text_set set, server_apply apply, void *data))               \
    ROW(OPTIONAL, int, RegisterBoolConfig,                                                        \
        (server_context * context, const char *name, int standard, unsigned flags,                \
         server_flag_get get, server_flag_set set, server_apply apply, void *data))               \
    ROW(OPTIONAL, int, LoadConfigs, (server_context * context))                                   \
    ROW(OPTIONAL, int, RegisterInfoFunc,                                                          \
        (server_context * context, void (*report)(server_report * report, int crash)))            \
    ROW(OPTIONAL, int, SubscribeToServerEvent,                                                    \
        (server_context * context, struct server_event event, server_event_function function))    \
    ROW(OPTIONAL, int, InfoAddSection, (server_report * report, const char *name))                \
    ROW(OPTIONAL, int, InfoAddFieldULongLong,                                                     \
        (server_report * report, const char *name, unsigned long long value))                     \
    ROW(OPTIONAL, int, InfoAddFieldCString,                                                       \
        (server_report * report, const char *name, const char *value))

struct server_api {
#define SERVER_API_ROW(need, result, name, arguments) result(*name) arguments;
    SERVER_API(SERVER_API_ROW)
#undef SERVER_API_ROW
};

/* Filled by bf_bind, and constant from then on. */
extern struct server_api server;

/* Looks up every row. False if a required one is missing; the log has its name. */
bool bf_bind(server_context *context);

/* Whether the server is Valkey, which gives itself versions that look like Redis's. */
bool bf_is_valkey(server_context *context);

#endif /* BLOOMERY_MODULE_API_H */

/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

/* The checks of the stand-in are tests: they stay where asserts are compiled away. */
#undef NDEBUG
#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int RedisModule_OnLoad(server_context *context, server_string **words, int count);

struct server_context {
    int (*find)(const char *name, void *target); /* the first word of every context */
};

struct server_string {
    const char *data;
    size_t bytes;
};

struct server_key {
    char name[64];
    void *value;
    struct server_type *type;
};

struct server_io {
    bool failed;
    size_t at;
    const char *to; /* the key that a rewritten AOF makes */
};

struct server_report {
    const char *wanted;
    unsigned long long value;
};

struct server_type {
    struct server_type_methods methods;
};

struct server_digest {
    uint64_t sum;
};

enum { COMMANDS = 64, WORDS = 64, LARGE_BYTES = 128 * 1024 };

struct stand_in stand_in;
static struct server_key keys[STAND_IN_KEYS];
static struct server_type types[STAND_IN_TYPES];
static struct {
    char name[32];
    server_function function;
    long runs;
} commands[COMMANDS];
static int command_count;

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Blocks are full of what was there before, as a server's are; the middle of large ones is not, so
 * that what is never touched takes no memory. */
static void fill(uint8_t *block, size_t bytes)
{
    if (bytes <= LARGE_BYTES) {
        memset(block, 0xa5, bytes);
    } else {
        memset(block, 0xa5, LARGE_BYTES / 2);
        memset(block + bytes - LARGE_BYTES / 2, 0xa5, LARGE_BYTES / 2);
    }
}

/* No byte more than was asked for, so that sanitizers see who reads on. */
static void *fake_alloc(size_t bytes)
{
    if (stand_in.refuse_at > 0 && --stand_in.refuse_at == 0)
        return NULL;
    uint8_t *block = malloc(bytes);
    if (block == NULL)
        return NULL;
    fill(block, bytes);
    stand_in.asked += bytes;
    atomic_fetch_add(&stand_in.blocks, 1);
    return block;
}

/* Small blocks are zeros for a while after they were given back, so that it shows if the module
 * reads them. A sanitizer sees that by itself. */
static void fake_free(void *memory)
{
    static _Atomic(void *) kept[64];
    static atomic_size_t count;
    assert(memory != NULL && atomic_load(&stand_in.blocks) > 0);
    atomic_fetch_sub(&stand_in.blocks, 1);
    if (!STAND_IN_SANITIZED && malloc_usable_size(memory) <= 64) {
        memset(memory, 0, malloc_usable_size(memory));
        memory = atomic_exchange(&kept[atomic_fetch_add(&count, 1) % 64], memory);
    }
    free(memory);
}

/* To another place, which the allocator chooses while the old block is still there. */
static void *fake_defrag(server_defrag *defrag, void *memory)
{
    const size_t bytes = malloc_usable_size(memory);
    (void)defrag;
    uint8_t *block = malloc(bytes + 16 + 16 * (size_t)(stand_in.moves % 4));
    assert(block != NULL);
    memcpy(block, memory, bytes);
    free(memory);
    stand_in.moves++;
    return block;
}

/* ---- Replies --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + length, STAND_IN_TEXT - length, format, list);
    va_end(list);
}

static int fake_arity(server_context *context)
{
    (void)context;
    append(stand_in.reply, "-arity ");
    return SERVER_OK;
}

static int fake_error(server_context *context, const char *text)
{
    (void)context;
    append(stand_in.reply, "-%s ", text);
    return SERVER_OK;
}

static int fake_simple(server_context *context, const char *text)
{
    (void)context;
    append(stand_in.reply, "+%s ", text);
    return SERVER_OK;
}

static int fake_number(server_context *context, long long value)
{
    (void)context;
    append(stand_in.reply, ":%lld ", value);
    return SERVER_OK;
}

static int fake_real(server_context *context, double value)
{
    (void)context;
    append(stand_in.reply, ",%g ", value);
    return SERVER_OK;
}

static int fake_bool(server_context *context, int value)
{
    return fake_number(context, value);
}

static int fake_array(server_context *context, long count)
{
    (void)context;
    append(stand_in.reply, "*%ld ", count);
    return SERVER_OK;
}

static void fake_length(server_context *context, long count)
{
    (void)context;
    append(stand_in.reply, "=%ld ", count);
}

static int fake_bulk(server_context *context, const char *data, size_t bytes)
{
    (void)context;
    assert(bytes <= sizeof stand_in.bulk);
    memcpy(stand_in.bulk, data, bytes);
    stand_in.bulk_bytes = bytes;
    append(stand_in.reply, "$%zu ", bytes);
    return SERVER_OK;
}

static int fake_null(server_context *context)
{
    (void)context;
    append(stand_in.reply, "_ ");
    return SERVER_OK;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *fake_text(const server_string *string, size_t *bytes)
{
    if (bytes != NULL)
        *bytes = string->bytes;
    return string->data;
}

static int fake_to_number(const server_string *string, long long *value)
{
    char *end;
    *value = strtoll(string->data, &end, 10);
    return *end == '\0' && end != string->data ? SERVER_OK : SERVER_FAILED;
}

static int fake_to_real(const server_string *string, double *value)
{
    char *end;
    *value = strtod(string->data, &end);
    return *end == '\0' && end != string->data ? SERVER_OK : SERVER_FAILED;
}

static server_string *fake_string(server_context *context, const char *data, size_t bytes)
{
    (void)context;
    server_string *string = malloc(sizeof *string);
    char *copy = malloc(bytes + 1);
    assert(string != NULL && copy != NULL);
    memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    *string = (server_string){copy, bytes};
    atomic_fetch_add(&stand_in.blocks, 1);
    return string;
}

static void fake_free_string(server_context *context, server_string *string)
{
    (void)context;
    free((char *)(uintptr_t)string->data);
    free(string);
    atomic_fetch_sub(&stand_in.blocks, 1);
}

static long long fake_time(void)
{
    return (long long)stand_in.now_ms;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static server_key *key_of(const char *name)
{
    for (int i = 0; i < STAND_IN_KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    for (int i = 0; i < STAND_IN_KEYS; i++)
        if (keys[i].value == NULL) {
            snprintf(keys[i].name, sizeof keys[i].name, "%s", name);
            return &keys[i];
        }
    abort();
}

static struct server_key *only_if_there(const char *name)
{
    server_key *key = key_of(name);
    assert(key->value != NULL);
    return key;
}

static server_key *fake_open(server_context *context, server_string *name, int mode)
{
    (void)context;
    (void)mode;
    return key_of(name->data);
}

static void fake_close(server_key *key)
{
    (void)key;
}

static int fake_key_type(server_key *key)
{
    return key->value == NULL ? SERVER_KEY_EMPTY : SERVER_KEY_MODULE;
}

static server_type *fake_make_type(server_context *context, const char *name, int encoding,
                                   const struct server_type_methods *methods)
{
    (void)context;
    (void)encoding;
    assert(strlen(name) == SERVER_TYPE_NAME);
    enum stand_in_type which = STAND_IN_FILTER;
    if (strcmp(name, "bloomwind") == 0)
        which = STAND_IN_WINDOW;
    else if (strcmp(name, "MBbloomCF") == 0)
        which = STAND_IN_CUCKOO;
    struct server_type *type = &types[which];
    type->methods = *methods;
    return type;
}

static server_type *fake_type_of(server_key *key)
{
    return key->value == NULL ? NULL : key->type;
}

static void *fake_value_of(server_key *key)
{
    return key->value;
}

static int fake_set_value(server_key *key, server_type *of, void *value)
{
    if (key->value != NULL)
        key->type->methods.release(key->value);
    key->value = value;
    key->type = of;
    return SERVER_OK;
}

static int fake_replace_value(server_key *key, server_type *of, void *value, void **old)
{
    assert(key->value != NULL && key->type == of);
    *old = key->value;
    key->value = value;
    return SERVER_OK;
}

static int fake_database(server_context *context)
{
    (void)context;
    return 0;
}

static int fake_select(server_context *context, int number)
{
    (void)context;
    assert(number == 0);
    return SERVER_OK;
}

/* ---- What is passed on ----------------------------------------------------------------------- */

/* A word, which may be any bytes, up to its first NUL. */
static void append_word(const server_string *word)
{
    append(stand_in.passed_on, " %.*s", (int)word->bytes, word->data);
}

static int fake_replicate(server_context *context, const char *command, const char *format, ...)
{
    va_list list;
    (void)context;
    append(stand_in.passed_on, "%s", command);
    va_start(list, format);
    for (; *format != '\0'; format++) {
        if (*format == 's')
            append_word(va_arg(list, server_string *));
        else if (*format == 'c')
            append(stand_in.passed_on, " %s", va_arg(list, const char *));
        else if (*format == 'l')
            append(stand_in.passed_on, " %lld", va_arg(list, long long));
        else {
            server_string **words = va_arg(list, server_string **);
            const size_t count = va_arg(list, size_t);
            assert(*format == 'v');
            for (size_t i = 0; i < count; i++)
                append_word(words[i]);
        }
    }
    va_end(list);
    append(stand_in.passed_on, "; ");
    return SERVER_OK;
}

/* The command that runs now. */
static server_string **running;
static int running_count;

static int fake_replicate_verbatim(server_context *context)
{
    (void)context;
    append(stand_in.passed_on, "%.*s", (int)running[0]->bytes, running[0]->data);
    for (int i = 1; i < running_count; i++)
        append_word(running[i]);
    append(stand_in.passed_on, "; ");
    return SERVER_OK;
}

static server_event_function heard_of_child, ticks;

static int fake_subscribe(server_context *context, struct server_event event,
                          server_event_function function)
{
    (void)context;
    if (event.id == SERVER_EVENT_CONFIG)
        return SERVER_OK;
    assert(event.id == SERVER_EVENT_CHILD || event.id == SERVER_EVENT_CRON);
    *(event.id == SERVER_EVENT_CRON ? &ticks : &heard_of_child) = function;
    return SERVER_OK;
}

static int fake_signal(server_context *context, server_string *name)
{
    (void)context;
    (void)name;
    stand_in.signals++;
    return SERVER_OK;
}

static int fake_notify(server_context *context, int kind, const char *event, server_string *name)
{
    (void)context;
    (void)kind;
    (void)event;
    (void)name;
    stand_in.events++;
    return SERVER_OK;
}

/* ---- Payloads -------------------------------------------------------------------------------- */

static void put(server_io *io, const void *data, size_t bytes)
{
    assert(io->at + bytes <= sizeof stand_in.payload);
    memcpy(stand_in.payload + io->at, data, bytes);
    io->at += bytes;
}

static bool get(server_io *io, void *data, size_t bytes)
{
    if (io->failed || bytes > stand_in.payload_bytes - io->at) {
        io->failed = true;
        return false;
    }
    memcpy(data, stand_in.payload + io->at, bytes);
    io->at += bytes;
    return true;
}

static void fake_save_number(server_io *io, uint64_t value)
{
    put(io, &value, sizeof value);
}

static uint64_t fake_load_number(server_io *io)
{
    uint64_t value = 0;
    (void)get(io, &value, sizeof value);
    return value;
}

static void fake_save_real(server_io *io, double value)
{
    put(io, &value, sizeof value);
}

static double fake_load_real(server_io *io)
{
    double value = 0;
    (void)get(io, &value, sizeof value);
    return value;
}

static void fake_save_text(server_io *io, const char *data, size_t bytes)
{
    fake_save_number(io, bytes);
    put(io, data, bytes);
}

static char *fake_load_text(server_io *io, size_t *bytes)
{
    const uint64_t said = fake_load_number(io);
    if (io->failed || said > stand_in.payload_bytes - io->at) {
        io->failed = true;
        return NULL;
    }
    char *text = fake_alloc((size_t)said);
    io->failed = text == NULL;
    *bytes = (size_t)said;
    if (text != NULL)
        (void)get(io, text, (size_t)said);
    return text;
}

static int fake_io_error(server_io *io)
{
    return io->failed;
}

__attribute__((format(printf, 3, 4))) static void fake_log_io(server_io *io, const char *level,
                                                              const char *format, ...)
{
    va_list list;
    (void)io;
    (void)level;
    va_start(list, format);
    vsnprintf(stand_in.log, sizeof stand_in.log, format, list);
    va_end(list);
}

/* The file is replayed as it is written, to another key. */
static void fake_emit(server_io *io, const char *command, const char *format, ...)
{
    va_list list;
    char iterator[32];
    const bool is_cuckoo = strcmp(command, "CF.LOADCHUNK") == 0;
    assert((is_cuckoo || strcmp(command, "BF.LOADCHUNK") == 0) && strcmp(format, "slb") == 0);
    va_start(list, format);
    (void)va_arg(list, server_string *);
    snprintf(iterator, sizeof iterator, "%lld", va_arg(list, long long));
    const void *data = va_arg(list, const void *);
    const size_t bytes = va_arg(list, size_t);
    va_end(list);
    const char *loads = is_cuckoo ? "cf.loadchunk" : "bf.loadchunk";
    io->failed |= strcmp(stand_in_load_piece(loads, io->to, iterator, data, bytes), "+OK ") != 0;
}

static void fake_digest_text(server_digest *digest, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        digest->sum = (digest->sum ^ (uint8_t)data[i]) * UINT64_C(0x100000001b3);
}

static void fake_digest_end(server_digest *digest)
{
    digest->sum ^= digest->sum >> 29;
}

/* ---- Settings and INFO ----------------------------------------------------------------------- */

static void (*report)(server_report *report, int crash);

static int fake_report(server_context *context, void (*function)(server_report *report, int crash))
{
    (void)context;
    report = function;
    return SERVER_OK;
}

static int fake_section(server_report *to, const char *name)
{
    (void)to;
    (void)name;
    return SERVER_OK;
}

static int fake_field(server_report *to, const char *name, unsigned long long value)
{
    if (strcmp(name, to->wanted) == 0)
        to->value = value;
    return SERVER_OK;
}

static int fake_field_text(server_report *to, const char *name, const char *value)
{
    (void)to;
    (void)name;
    (void)value;
    return SERVER_OK;
}

static server_facts *fake_facts(server_context *context, const char *section)
{
    (void)context;
    (void)section;
    return (server_facts *)&stand_in;
}

static unsigned long long fake_fact(server_facts *facts, const char *name, int *error)
{
    assert(facts == (server_facts *)&stand_in);
    assert(strcmp(name, "maxmemory") == 0 || strcmp(name, "used_memory") == 0);
    *error = 0;
    return stand_in.maxmemory;
}

static void fake_free_facts(server_context *context, server_facts *facts)
{
    (void)context;
    assert(facts == (server_facts *)&stand_in);
}

/* ---- The module ------------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static void
fake_log(server_context *context, const char *level, const char *format, ...)
{
    va_list list;
    (void)context;
    (void)level;
    va_start(list, format);
    vsnprintf(stand_in.log, sizeof stand_in.log, format, list);
    va_end(list);
}

static void fake_attributes(server_context *context, const char *name, int version, int api)
{
    (void)context;
    (void)name;
    (void)version;
    assert(api == SERVER_API_VERSION);
}

static void fake_options(server_context *context, int options)
{
    (void)context;
    (void)options;
}

static int fake_flags(server_context *context)
{
    (void)context;
    return stand_in.flags;
}

static int fake_command(server_context *context, const char *name, server_function function,
                        const char *flags, int first, int last, int step)
{
    (void)context;
    (void)flags;
    assert(first == 1 && (last == 1 || last == -1) && step == 1 && command_count < COMMANDS);
    snprintf(commands[command_count].name, sizeof commands[0].name, "%s", name);
    commands[command_count].runs = 0;
    commands[command_count++].function = function;
    return SERVER_OK;
}

static server_reply *fake_call(server_context *context, const char *command, const char *format,
                               ...)
{
    (void)context;
    (void)command;
    (void)format;
    return NULL; /* no other module has anything */
}

static int fake_reply_type(server_reply *reply)
{
    (void)reply;
    return SERVER_REPLY_NULL;
}

static server_reply *fake_reply_element(server_reply *reply, size_t index)
{
    (void)reply;
    (void)index;
    return NULL;
}

static void fake_free_reply(server_reply *reply)
{
    (void)reply;
}

static const struct server_api fakes = {
    .TryAlloc = fake_alloc,
    .Free = fake_free,
    .Log = fake_log,
    .SetModuleAttribs = fake_attributes,
    .SetModuleOptions = fake_options,
    .GetContextFlags = fake_flags,
    .CreateCommand = fake_command,
    .Call = fake_call,
    .CallReplyType = fake_reply_type,
    .CallReplyArrayElement = fake_reply_element,
    .FreeCallReply = fake_free_reply,
    .WrongArity = fake_arity,
    .ReplyWithError = fake_error,
    .ReplyWithSimpleString = fake_simple,
    .ReplyWithLongLong = fake_number,
    .ReplyWithArray = fake_array,
    .ReplyWithMap = fake_array,
    .ReplySetArrayLength = fake_length,
    .ReplyWithStringBuffer = fake_bulk,
    .ReplyWithNull = fake_null,
    .ReplyWithBool = fake_bool,
    .ReplyWithDouble = fake_real,
    .StringPtrLen = fake_text,
    .StringToLongLong = fake_to_number,
    .StringToDouble = fake_to_real,
    .CreateString = fake_string,
    .FreeString = fake_free_string,
    .OpenKey = fake_open,
    .CloseKey = fake_close,
    .KeyType = fake_key_type,
    .CreateDataType = fake_make_type,
    .ModuleTypeGetType = fake_type_of,
    .ModuleTypeGetValue = fake_value_of,
    .ModuleTypeSetValue = fake_set_value,
    .ModuleTypeReplaceValue = fake_replace_value,
    .Milliseconds = fake_time,
    .GetSelectedDb = fake_database,
    .SelectDb = fake_select,
    .Replicate = fake_replicate,
    .ReplicateVerbatim = fake_replicate_verbatim,
    .SignalModifiedKey = fake_signal,
    .NotifyKeyspaceEvent = fake_notify,
    .SaveUnsigned = fake_save_number,
    .LoadUnsigned = fake_load_number,
    .SaveDouble = fake_save_real,
    .LoadDouble = fake_load_real,
    .SaveStringBuffer = fake_save_text,
    .LoadStringBuffer = fake_load_text,
    .IsIOError = fake_io_error,
    .LogIOError = fake_log_io,
    .EmitAOF = fake_emit,
    .DigestAddStringBuffer = fake_digest_text,
    .DigestEndSequence = fake_digest_end,
    .DefragAlloc = fake_defrag,
    .RegisterInfoFunc = fake_report,
    .SubscribeToServerEvent = fake_subscribe,
    .GetServerInfo = fake_facts,
    .ServerInfoGetFieldUnsigned = fake_fact,
    .FreeServerInfo = fake_free_facts,
    .InfoAddSection = fake_section,
    .InfoAddFieldULongLong = fake_field,
    .InfoAddFieldCString = fake_field_text,
};

static int find(const char *name, void *target)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
#define FIND_ROW(need, result, name, arguments) {#name, offsetof(struct server_api, name)},
        SERVER_API(FIND_ROW)
#undef FIND_ROW
    };
    static const char prefix[] = "RedisModule_";
    server_function found = NULL;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return SERVER_FAILED;
    name += sizeof prefix - 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0 &&
            (stand_in.missing == NULL || strcmp(stand_in.missing, name) != 0))
            memcpy(&found, (const char *)&fakes + rows[i].offset, sizeof found);
    memcpy(target, &found, sizeof found);
    return found != NULL ? SERVER_OK : SERVER_FAILED;
}

static server_context context = {find};

/* ---- What the test asks for ------------------------------------------------------------------ */

int stand_in_load(const char *const *words)
{
    server_string strings[WORDS];
    server_string *pointers[WORDS];
    int count = 0;
    for (; words != NULL && words[count] != NULL; count++) {
        strings[count] = (server_string){words[count], strlen(words[count])};
        pointers[count] = &strings[count];
    }
    command_count = 0;
    return RedisModule_OnLoad(&context, pointers, count);
}

static const char *run(server_string *strings, int count)
{
    server_string *pointers[WORDS];
    stand_in.reply[0] = stand_in.passed_on[0] = '\0';
    for (int i = 0; i < count; i++)
        pointers[i] = &strings[i];
    running = pointers;
    running_count = count;
    for (int i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, strings[0].data) == 0) {
            commands[i].runs++;
            (void)commands[i].function(&context, pointers, count);
            return stand_in.reply;
        }
    abort();
}

const char *stand_in_never_run(void)
{
    for (int i = 0; i < command_count; i++) {
        long runs = 0; /* by any of its names */
        for (int j = 0; j < command_count; j++)
            runs += commands[j].function == commands[i].function ? commands[j].runs : 0;
        if (runs == 0)
            return commands[i].name;
    }
    return NULL;
}

const char *stand_in_ask(const char *command, ...)
{
    server_string strings[WORDS] = {{command, strlen(command)}};
    int count = 1;
    va_list list;
    va_start(list, command);
    for (const char *word; (word = va_arg(list, const char *)) != NULL; count++)
        strings[count] = (server_string){word, strlen(word)};
    va_end(list);
    return run(strings, count);
}

/* A copy that ends where its memory does. */
const char *stand_in_load_piece(const char *command, const char *key, const char *iterator,
                                const void *data, size_t bytes)
{
    char *copy = malloc(bytes > 0 ? bytes : 1);
    assert(copy != NULL);
    memcpy(copy, data, bytes);
    server_string strings[] = {
        {command, strlen(command)},
        {key, strlen(key)},
        {iterator, strlen(iterator)},
        {copy, bytes},
    };
    const char *reply = run(strings, 4);
    free(copy);
    return reply;
}

const char *stand_in_load_chunk_of(const char *key, const char *iterator, const void *data,
                                   size_t bytes)
{
    return stand_in_load_piece("bf.loadchunk", key, iterator, data, bytes);
}

const char *stand_in_load_chunk(const char *key, const char *iterator)
{
    return stand_in_load_chunk_of(key, iterator, stand_in.bulk, stand_in.bulk_bytes);
}

bool stand_in_has(const char *key)
{
    return key_of(key)->value != NULL;
}

/* The last one. Others that wait to be released are filters. */
static struct {
    void *value;
    server_type *type;
} unlinked;

void *stand_in_unlink(const char *key)
{
    server_key *gone = only_if_there(key);
    void *value = gone->value;
    assert(gone->type->methods.release_effort(NULL, value) > 0);
    unlinked.value = value;
    unlinked.type = gone->type;
    *gone = (server_key){.value = NULL};
    return value;
}

void stand_in_release(void *value)
{
    server_type *type = value == unlinked.value ? unlinked.type : &types[STAND_IN_FILTER];
    type->methods.release(value);
}

unsigned long long stand_in_info(const char *field)
{
    server_report to = {field, ~0ull};
    report(&to, 0);
    assert(to.value != ~0ull);
    return to.value;
}

void stand_in_flush(void)
{
    for (int i = 0; i < STAND_IN_KEYS; i++) {
        if (keys[i].value != NULL)
            keys[i].type->methods.release(keys[i].value);
        keys[i] = (server_key){.value = NULL};
    }
}

void stand_in_dump(const char *key)
{
    server_io io = {.failed = false};
    const server_key *saved = only_if_there(key);
    saved->type->methods.save(&io, saved->value);
    stand_in.payload_bytes = io.at;
    stand_in.type = (enum stand_in_type)(saved->type - types);
}

void stand_in_rewrite(const char *from, const char *to)
{
    server_io io = {.to = to};
    server_string name = {from, strlen(from)};
    only_if_there(from)->type->methods.rewrite(&io, &name, only_if_there(from)->value);
    assert(!io.failed);
}

size_t stand_in_memory(const char *key)
{
    return only_if_there(key)->type->methods.memory(only_if_there(key)->value);
}

bool stand_in_restore(const char *key)
{
    return stand_in_restore_as(key, stand_in.type == STAND_IN_WINDOW ? 1 : 4);
}

bool stand_in_restore_as(const char *key, int encoding)
{
    server_io io = {.failed = false};
    server_type *type = &types[stand_in.type];
    void *value = type->methods.load(&io, encoding);
    stand_in.payload_read = io.at;
    if (value == NULL)
        return false;
    (void)fake_set_value(key_of(key), type, value);
    return true;
}

bool stand_in_copy(const char *from, const char *to)
{
    server_type *type = only_if_there(from)->type;
    void *value = type->methods.copy(NULL, NULL, only_if_there(from)->value);
    if (value != NULL)
        (void)fake_set_value(key_of(to), type, value);
    return value != NULL;
}

uint64_t stand_in_digest(const char *key)
{
    server_digest digest = {UINT64_C(0xcbf29ce484222325)};
    only_if_there(key)->type->methods.digest(&digest, only_if_there(key)->value);
    return digest.sum;
}

void stand_in_tick(void)
{
    const struct server_event event = {SERVER_EVENT_CRON, 1};
    stand_in.passed_on[0] = '\0';
    ticks(&context, event, 0, NULL);
}

void stand_in_child(bool is_born)
{
    const struct server_event event = {SERVER_EVENT_CHILD, 1};
    heard_of_child(&context, event, is_born ? SERVER_CHILD_BORN : SERVER_CHILD_DIED, NULL);
}

void stand_in_defrag(const char *key)
{
    while (only_if_there(key)->type->methods.defrag(NULL, NULL, &only_if_there(key)->value) != 0)
        continue;
}

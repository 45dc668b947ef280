/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the module and what they promise each other.
 *
 *     load.c       RedisModule_OnLoad: names, the type, commands, options
 *     commands.c   the table of commands and how each is described to the server
 *     bf_*.c       the commands of Bloom filters, a file per group
 *     cf_*.c       cuckoo filters (cf.h)
 *     value.c      what a key holds; memory.c: where its memory comes from, and the limits
 *     key.c        opening a key of either kind
 *     window.c     keys of several generations; window_type.c: how they are saved and dumped
 *     reply.c      error texts, and replies that several commands give
 *     replicate.c  what replicas and the AOF get to see
 *     rdb.c aof.c  persistence
 *     config.c     module arguments and CONFIG; info.c: the section of INFO
 *
 *     populate.c   the thread that takes the pages of large filters, makes them huge ones and
 *                  releases what a command has replaced
 *
 * Everything else runs in the server's main thread, except one function: values may be released in
 * the background. bf_value_free calls only Free of the server, and its counters are atomic.
 */
#ifndef BLOOMERY_MODULE_BF_H
#define BLOOMERY_MODULE_BF_H

#include "api.h"

#include <bloomery/bloomery.h>
#include <stdatomic.h>

/* ---- Values ---------------------------------------------------------------------------------- */

struct bf_window;

/* The value of a key of the module. Its address never changes, because its filter's allocator keeps
 * that address. */
struct bf_value {
    bloomery_filter *filter; /* one of dialect "redisbloom" */
    uint64_t bytes;          /* taken from the server for the filter, with what aligning costs */
};

/* What a filter is made with. Growth 0: it does not scale. */
struct bf_parameters {
    double rate;
    uint64_t capacity;
    uint32_t growth;
};

enum bf_found { BF_MISSING, BF_FOUND, BF_WRONG_TYPE };

extern server_type *bf_type;

/* An empty value without a filter, or NULL. It is released by bf_value_free, in any thread. */
struct bf_value *bf_value_new(void);
void bf_value_free(void *value);

/* A value with an empty filter. Limits are those of `context`, with `beside` bytes that the key has
 * already. */
bloomery_status bf_value_create(server_context *context, uint64_t beside,
                                const struct bf_parameters *parameters, struct bf_value **value);

/* A value made of a header as BF.SCANDUMP gives it, all bits 0. Limits are those of `context`, with
 * `beside` bytes that the key has already; NULL: none. */
bloomery_status bf_value_from_header(server_context *context, uint64_t beside, const void *header,
                                     size_t bytes, struct bf_value **value, bloomery_error *error);

/* An empty value of the same parameters, without limits, or NULL. Its pages are taken. */
struct bf_value *bf_value_emptied(const struct bf_value *value);

/* Empties a value where it is, if another one beside it would be more than maxmemory: the server
 * would evict keys for it, or refuse writes. That takes time by its size. False: it would not, or
 * the thread takes its pages. */
bool bf_value_clear_if_tight(struct bf_value *value);

/* A copy, or NULL. Limits are those of `context`; NULL: none. Its pages are taken. */
struct bf_value *bf_value_copy(server_context *context, const struct bf_value *value);

/* After adding to a filter that had `before` bytes: if it has more, counts that, and has their
 * pages taken. */
void bf_value_grew(struct bf_value *value, uint64_t before);

/* Moves a filter's memory as the server wishes. */
void bf_value_move(server_defrag *defrag, struct bf_value *value);

/* What both types of filters have: the version of their encoding, methods, and how they come to a
 * name. bf_value_type creates a type under the first of two names that is free; `is_reference`
 * says whether it is the first, which is the reference's. NULL: neither is. */
enum { BF_ENCODING = 4 };
size_t bf_value_release_effort(server_string *key, const void *value);
int bf_value_defrag(server_defrag *defrag, server_string *key, void **value);
server_type *bf_value_type(server_context *context, const char *const names[2],
                           const struct server_type_methods *methods, bool *is_reference);

/* A key that was opened: `value` is the filter, of a window the newest one. */
struct bf_opened {
    server_key *key;
    struct bf_value *value;   /* NULL: there is none */
    struct bf_window *window; /* NULL: not one */
};

/* Opens a key. The caller closes it in any case. To be written to, a window is rotated first, if
 * that is due. */
enum bf_found bf_open(server_context *context, server_string *name, int mode,
                      struct bf_opened *opened);

/* The header as BF.SCANDUMP gives it; in static memory, until the next call. It takes no memory,
 * because saving cannot say that there is none. */
const uint8_t *bf_header(const struct bf_value *value, size_t *bytes);

/* The number of bytes that the reference gives for such a key (BF.INFO, MEMORY USAGE). */
uint64_t bf_told_bytes(const bloomery_info *info);

void bf_info_of(const struct bf_value *value, bloomery_info *info);

/* A link as in a header: 53 bytes. */
struct bf_link {
    uint64_t bytes;
    uint64_t bits;
    uint64_t size;
    double rate;
    double bits_per_key;
    uint32_t probes;
    uint64_t capacity;
    uint8_t power;
};

enum { BF_HEADER_FIRST = 20, BF_HEADER_LINK = 53, BF_LINKS_MAX = 65536 };

/* Items that a command passes to a filter at once. */
enum { BF_BLOCK = 256 };

void bf_header_read_link(const uint8_t *header, uint32_t index, struct bf_link *link);
void bf_header_write_link(uint8_t *header, uint32_t index, const struct bf_link *link);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The allocator of a value's filter. */
bloomery_allocator bf_allocator(struct bf_value *value);

/* Until the matching bf_limits(NULL, 0) allocations are held to the limits, if `context` is that of
 * a client. What the master sends and what is loaded has passed limits already. `beside`: bytes
 * that the key has besides those of the value that allocates. */
void bf_limits(server_context *context, uint64_t beside);

/* From this size on. */
enum { BF_POPULATED_BYTES = 16 * 1024 * 1024 };

/* Has the pages of a large filter taken in the background, those of each layer that is new. */
void bf_populate(struct bf_value *value);

/* Whether they are being taken, or will be. The filter must stay where it is then. */
bool bf_is_populated(const struct bf_value *value);

/* No further pages of this value, which is to be released. True: the thread is at it right now, and
 * releases it as soon as it can: the caller must not touch the value again. */
bool bf_populate_end(struct bf_value *value);

/* Releases a value, in the thread if that is large: the main thread does not wait for it. */
void bf_release_aside(struct bf_value *value);

/* A block of a value's filter is released while the value stays: waits until the thread is not at
 * it. */
void bf_populate_forget(struct bf_value *value, const uint8_t *memory, uint64_t bytes);

/* Some blocks of a value's filter have moved. */
void bf_populate_moved(struct bf_value *value);

/* The thread has to know of the server's children, and how a value is released. */
void bf_populate_register(server_context *context, void (*release_value)(void *value));

/* Memory of the server, or NULL, which is counted. Released by server.Free. */
void *bf_try_alloc(size_t bytes);

/* Has the allocator keep unused addresses for a second filter of this size, by which this one is
 * replaced when it is cleared or rotated. That takes no memory. */
void bf_keep_addresses(const struct bf_value *value);

/* Less memory is cheaper to write over than to ask the kernel for. */
enum { BF_LAZY_BYTES = 256 * 1024 };

/* The bytes in whole pages, of BF_LAZY_BYTES or more; `before` receives where the first begins. */
size_t bf_whole_pages(const void *memory, size_t bytes, size_t *before);

/* Memory of the server's whose bytes are wanted no longer: its whole pages are given back now. It
 * is still to be freed. */
void bf_drop_pages(void *memory, size_t bytes);

/* Whether `bytes` bytes of a payload, all of which are touched, fit what the memory limit of the
 * container leaves now, which `left` receives. */
bool bf_can_load(uint64_t bytes, uint64_t *left);

/* Whether the server would have more than maxmemory with `bytes` bytes more. */
bool bf_is_tight(uint64_t bytes);

/* Moves one block of a filter's memory as the server wishes, for bloomery_move. */
void *bf_move(void *defrag, void *memory, size_t bytes, size_t alignment);

/* ---- Persistence ----------------------------------------------------------------------------- */

/* Copies bits that end at `iterator` into a filter. They are lost in `bits`, whose memory goes back
 * to the kernel step by step; its addresses are still to be freed. */
bool bf_place(struct bf_value *value, uint64_t iterator, char *bits, uint64_t bytes);

/* A number of a payload; false: it is not there. */
bool bf_read_number(server_io *io, uint64_t *number);

/* A string of a payload, of `announced` bytes, to be freed; NULL if it has another number of bytes,
 * or if their memory would end the server, which is logged. */
char *bf_read_bits(server_io *io, uint64_t announced);

/* Logs that a key can't be loaded, and whether memory lacks: `refused` is the count of what the
 * allocator had refused before. */
void bf_log_unloaded(server_io *io, uint64_t refused);

void *bf_rdb_load(server_io *io, int encoding);
void bf_rdb_save(server_io *io, void *value);
void bf_aof_rewrite(server_io *io, server_string *key, void *value);

/* ---- Replies --------------------------------------------------------------------------------- */

#define BF_WRONG_TYPE_TEXT "WRONGTYPE Operation against a key holding the wrong kind of value"

/* An error reply; returns SERVER_OK as commands do. */
int bf_fail(server_context *context, const char *text);

/* An array with an answer for each item, the same for a key that is not there. Of a window the
 * newest `visible` generations are asked. */
void bf_answer(server_context *context, const struct bf_opened *opened, uint32_t visible,
               server_string **items, int count);

/* The reply to a key that is not there or not ours. */
int bf_fail_not(server_context *context, enum bf_found found);

bool bf_is_word(const server_string *string, const char *word);

/* The place of a word, or 0. The first one, the name of the command say, does not count. */
int bf_find_word(server_string **words, int count, const char *word);

bloomery_key bf_key_of(const server_string *string);

/* ---- Replication ----------------------------------------------------------------------------- */

/* The names by which others get to see our commands: BF.* if it is ours. */
struct bf_names {
    const char *reserve;
    const char *insert;
    const char *madd;
    const char *loadchunk;
    const char *clear;
    const char *merge;
    const char *rotate;
    size_t prefix; /* bytes that all of them begin with */
};

extern const struct bf_names *bf_names;
void bf_names_choose(bool drop_in);

/* Whether this is the name of a command that the module replicates. */
bool bf_is_passed_on(const server_string *command);

/* What one command did to a key. */
struct bf_change {
    server_string *name;
    const struct bf_parameters *created; /* NULL: it was there */
    server_string *const *items;         /* those that changed something, in order */
    size_t count;
    bool is_all; /* the command, as it came, does this and nothing else */
};

/* Replicas and the AOF get what changed, and as numbers what this server's configuration decided.
 * Clients that watch the key hear of it. Nothing changed: nothing happens. */
void bf_changed(server_context *context, const struct bf_change *change);

/* A command of a key and other words, which is passed on as it is under the name `command`. */
void bf_pass_on(server_context *context, const char *command, server_string **words, int count,
                const char *event);

/* The same of BF.LOADCHUNK, whose words are passed on as they are. */
void bf_loaded(server_context *context, server_string **words, bool created);

/* ---- Configuration and counts ---------------------------------------------------------------- */

struct bf_config {
    double rate;
    long long capacity;
    long long growth;
    long long memory_limit; /* of one key; 0: none */
    long long capacity_max; /* that a command may ask for */
    long long chunk_bytes;  /* of a reply of SCANDUMP at most */
    long long merge_limit;  /* bytes that one BF.MERGE may read */
    int defrag;
    int prefault;
    int huge_pages;
    /* Of cuckoo filters. The capacity is two buckets at least. */
    long long cf_bucket_size;
    long long cf_capacity;
    long long cf_iterations;
    long long cf_growth;
    long long cf_expansions; /* sub-filters from which on nothing is added */
};

extern struct bf_config bf_config;

/* Of capacities: the reference's most, which max-capacity may raise. */
enum {
    BF_CAPACITY_MAX = 1 << 30, /* and of large filters 2^40 */
    BF_GROWTH_MAX = 32768,
    BF_CHUNK_MIN = 1 << 16,
    BF_CHUNK_MAX = 1 << 24,
};

/* Module arguments, then CONFIG. False: the log says what is wrong. `module`: the name that the
 * server puts before those of settings. `drop_in`: names without it are free, where the server
 * allows those. */
bool bf_config_arguments(server_context *context, server_string **words, int count);
bool bf_config_register(server_context *context, const char *module, bool drop_in);

/* A rate of a filter to be made: above 0.25 counts as 0.25. */
double bf_rate_capped(double rate);

/* Whether limits count: the command is a client's, not a master's or one of a file. */
bool bf_is_limited(server_context *context);

/* The largest capacity that this command may ask for. */
long long bf_capacity_max(server_context *context);

/* ROW(name): one for each field of the section of INFO. */
#define BF_COUNTS(ROW)        \
    ROW(keys)                 \
    ROW(windows)              \
    ROW(rotations)            \
    ROW(cuckoo_keys)          \
    ROW(cuckoo_adds)          \
    ROW(cuckoo_deletes)       \
    ROW(memory_bytes)         \
    ROW(adds)                 \
    ROW(new_items)            \
    ROW(scale_outs)           \
    ROW(refusals)             \
    ROW(refused_by_key_limit) \
    ROW(refused_by_maxmemory) \
    ROW(refused_by_machine)   \
    ROW(refused_by_container) \
    ROW(refused_by_process)   \
    ROW(refused_by_allocator) \
    ROW(refused_by_chain_end) \
    ROW(defrag_moves)         \
    ROW(populated_bytes)      \
    ROW(huge_page_bytes)      \
    ROW(populating)

struct bf_counts {
#define BF_COUNTS_ROW(name) atomic_ullong name;
    BF_COUNTS(BF_COUNTS_ROW)
#undef BF_COUNTS_ROW
};

extern struct bf_counts bf_counts;
void bf_info_register(server_context *context);

/* ---- Commands -------------------------------------------------------------------------------- */

/* BF.* with BLOOM.*, and CF.* with BLOOM.CF.*. */
enum bf_family { BF_BLOOM, BF_CUCKOO };

/* Registers all commands of a family: under our own names, and the reference's if `drop_in`. */
bool bf_commands_register(server_context *context, enum bf_family which, bool drop_in);

/* Whether no module has one of the reference's names. */
bool bf_commands_free(server_context *context, enum bf_family which);

int bf_reserve(server_context *context, server_string **words, int count);
int bf_add(server_context *context, server_string **words, int count);
int bf_madd(server_context *context, server_string **words, int count);
int bf_insert(server_context *context, server_string **words, int count);
int bf_exists(server_context *context, server_string **words, int count);
int bf_mexists(server_context *context, server_string **words, int count);
int bf_card(server_context *context, server_string **words, int count);
int bf_info(server_context *context, server_string **words, int count);
int bf_debug(server_context *context, server_string **words, int count);
int bf_scandump(server_context *context, server_string **words, int count);
int bf_loadchunk(server_context *context, server_string **words, int count);
int bf_clear(server_context *context, server_string **words, int count);
int bf_merge(server_context *context, server_string **words, int count);
int bf_rotate(server_context *context, server_string **words, int count);

#endif /* BLOOMERY_MODULE_BF_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python module bloomery._native: what its files share.
 *
 *     state.c     what a module keeps             module.c        the module, its functions
 *     errors.c    a status -> an exception        facts.c         Info, Plan and other named tuples
 *     gate.[hc]   who may use an object           answers.c       BoolColumn: many answers
 *     bits.c      answers while they come         answers_arrow.c ... as Arrow's array
 *     keys.c      an object -> a key              request.c       arguments of a new filter
 *     portion.c   many objects -> keys            filter_object.c the class Filter: its object
 *     chunks.c    chunks -> keys, portions        filter_many.c   ... many keys
 *     work.c      one operation, many keys        filter_files.c  ... files and bytes
 *     limit.c     when a filter is full             filter_lines.c  ... lines of files
 *     watch.c     the file of a map
 *     buffers.c   NumPy and its like -> chunks    filter_sets.c   ... several filters
 *     arrow.c     Arrow's capsules -> chunks      filter.c        ... one key, and the type
 *     sources.c   where many keys come from       builder.c, sieve.c, near.c  other classes
 *     deduper.[hc], deduper_new.c  what is behind bloomery.Deduper
 *
 * Many keys come in one of three ways, the quickest that fits:
 *
 *     array, Arrow   -> chunk -> keys       the library reads the array itself
 *     array, Arrow   -> chunk -> portions   its keys need work: NumPy's S and U, small integers
 *     list, iterator ->          portions   of at most NATIVE_PORTION objects
 *
 * All is written in the limited API of Python 3.11, so that one build serves all later versions:
 * heap types, multi-phase initialisation, no static objects.
 *
 * The GIL is released for chunks from NATIVE_RELEASE keys on, and for files, builds and what reads
 * whole filters. Other threads may then call the same object: gate.c says what they may do.
 * Portions of objects keep the GIL.
 */
#ifndef BLOOMERY_NATIVE_H
#define BLOOMERY_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define BLOOMERY_EXPERIMENTAL /* for names of hashes, and the adds of one layer */
#include <bloomery/bloomery.h>
#include <bloomery/builder.h>
#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <bloomery/records.h>
#include <bloomery/sieve.h>

#include "gate.h"

#include <sys/types.h>
#include <time.h>

enum {
    NATIVE_PORTION = 1024, /* keys at a time that the library cannot read where they are */
    NATIVE_RELEASE = 256,  /* keys from which on a chunk is worth releasing the GIL */
};

/* ---- state.c --------------------------------------------------------------------------------- */

enum native_exception {
    NATIVE_ERROR,
    NATIVE_NOT_A_FILTER,
    NATIVE_MISMATCH,
    NATIVE_CORRUPT,
    NATIVE_SECRET_NEEDED,
    NATIVE_FULL,
    NATIVE_READ_ONLY,
    NATIVE_UNSUPPORTED,
    NATIVE_BUSY,
    NATIVE_CHANGED,
    NATIVE_EXCEPTIONS,
};

enum native_tuple {
    NATIVE_INFO,
    NATIVE_PLAN,
    NATIVE_COMPARISON,
    NATIVE_DIALECT,
    NATIVE_ITEM,
    NATIVE_SIEVE_INFO,
    NATIVE_TUPLES,
};

struct native_state {
    PyObject *exceptions[NATIVE_EXCEPTIONS];
    PyTypeObject *tuples[NATIVE_TUPLES];
    PyTypeObject *filter_type;
    PyTypeObject *answers_type;
    PyTypeObject *builder_type;
    PyTypeObject *sieve_type;
    PyTypeObject *near_type;
    PyTypeObject *deduper_type;
};

/* The state of the module that a type, or the type it was derived from, belongs to. NULL if that is
 * not this module; _of raises then. */
struct native_state *native_state_find(PyTypeObject *type);
struct native_state *native_state_of(PyTypeObject *type);

/* Completed by module.c. */
extern struct PyModuleDef native_definition;

/* ---- errors.c -------------------------------------------------------------------------------- */

bool native_errors_add(PyObject *module, struct native_state *state);

/* Raises what a failed call left. `path` may be NULL. Returns NULL. */
PyObject *native_raise(const struct native_state *state, const bloomery_error *error,
                       PyObject *path);

/* ALL: merge, intersect, clear. */
enum native_change { NATIVE_CHANGE_ADD, NATIVE_CHANGE_REMOVE, NATIVE_CHANGE_ALL };

/* Replaces what the library says of a filter that cannot be changed: says what to do instead. */
void native_explain(const bloomery_filter *filter, enum native_change change,
                    bloomery_error *error);

/* Fills the error of a filter that is not writable: a map, a view or a static one. */
void native_refuse(const bloomery_filter *filter, enum native_change change, bloomery_error *error);

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* How a filter takes its keys. */
struct native_keying {
    bloomery_key_rule rule; /* the part of it that says what a key is */
    bool has_rule;          /* texts and bytes pass through it */
    bool lines;             /* it is applied whole, and some records have no key */
    size_t integer_bytes;   /* of an int: 8, 4, or 0 if the rule makes keys of texts alone */
};

void native_keying_of(const bloomery_key_rule *rule, struct native_keying *keying);

/* The least significant byte first in memory: all eight bytes are a key, or the first four. */
static inline uint64_t native_little_endian(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

/* Writes an int as the bytes of a key. False after raising. */
bool native_integer(PyObject *number, size_t bytes, uint64_t *key);

/* The bytes of one object: in the object, in `integer`, or in `buffer`, which then has to be
 * released. False after raising. */
struct native_bytes {
    bloomery_key key;
    uint64_t integer;
    bool is_integer, has_buffer;
    Py_buffer buffer;
};
bool native_bytes_take(PyObject *object, const struct native_keying *keying,
                       struct native_bytes *taken);
void native_bytes_release(struct native_bytes *taken);

/* One key, the rule applied. `made` is NULL or memory that native_key_release frees. False after
 * raising. */
struct native_key {
    struct native_bytes bytes;
    bloomery_key key;
    void *made;
};
bool native_key_take(const struct native_state *state, PyObject *object,
                     const struct native_keying *keying, struct native_key *taken);
void native_key_release(struct native_key *taken);

/* ---- portion.c ------------------------------------------------------------------------------- */

/* Memory that grows. Pieces are found by their offsets, since it moves. */
struct native_arena {
    unsigned char *bytes;
    size_t used, room;
};

/* Makes room for `bytes` more at bytes + used; false if memory is exhausted. Needs no GIL. */
bool native_arena_reserve(struct native_arena *arena, size_t bytes);

/* Keys of up to NATIVE_PORTION records. Record i is a key, or none: then keys[i].data is NULL. */
struct native_portion {
    size_t records;
    size_t count;                      /* of those that are keys */
    bloomery_key keys[NATIVE_PORTION]; /* of the records; after _close the keys alone */
    size_t copies[NATIVE_PORTION];     /* 1 + the offset in `texts`, or 0: elsewhere */
    uint64_t integers[NATIVE_PORTION]; /* where keys that are integers point to */
    uint16_t places[NATIVE_PORTION];   /* after _close: the record of each key, unless all are */
    uint64_t answers[NATIVE_PORTION / 64];
    struct native_arena texts, made;
    PyObject *held[NATIVE_PORTION]; /* owners of the bytes */
    size_t holds;
    bool plain; /* every record is a key that lies where it points */
    size_t bad; /* the record at which _close failed */
};

void native_portion_begin(struct native_portion *portion);

/* Appends a record. False after raising. */
bool native_portion_take(struct native_portion *portion, const struct native_keying *keying,
                         PyObject *object);
/* Appends a copy of bytes; false if memory is exhausted. Needs no GIL. */
bool native_portion_copy(struct native_portion *portion, const void *data, size_t bytes);
void native_portion_integer(struct native_portion *portion, uint64_t key, size_t bytes);
void native_portion_point(struct native_portion *portion, const void *data, size_t bytes);
void native_portion_nothing(struct native_portion *portion);

/* Applies the rule and moves the keys together. False with `error`. Needs no GIL. */
bool native_portion_close(struct native_portion *portion, const struct native_keying *keying,
                          bloomery_error *error);
void native_portion_let_go(struct native_portion *portion); /* of the owners */
void native_portion_free(struct native_portion *portion);

/* ---- chunks.c, buffers.c, arrow.c ------------------------------------------------------------ */

enum native_form {
    NATIVE_RAW,      /* `width` bytes every `stride` bytes */
    NATIVE_PADDED,   /* the same without the NUL bytes at the end: NumPy's S */
    NATIVE_INTEGERS, /* of `width` bytes */
    NATIVE_UCS4,     /* `width` / 4 characters, NULs at the end left out: NumPy's U */
    NATIVE_OFFSETS32,
    NATIVE_OFFSETS64,
    NATIVE_VIEWS,   /* Arrow's views of 16 bytes */
    NATIVE_NOTHING, /* no keys at all: Arrow's type null */
};

/* Many keys as they lie in somebody's memory. */
struct native_chunk {
    enum native_form form;
    bool is_signed, swapped;
    size_t count, first;
    const unsigned char *data;
    size_t bytes; /* OFFSETS: of the data */
    size_t width;
    ptrdiff_t stride;
    const void *offsets;
    const void *const *buffers; /* VIEWS: of long values */
    const int64_t *buffer_bytes;
    size_t buffer_count;
    const uint8_t *valid;
};

/* Whether the library reads the chunk where it is, as these keys. */
bool native_chunk_keys(const struct native_chunk *chunk, const struct native_keying *keying,
                       bloomery_keys *keys);

/* Fills an empty portion with the keys from number `from` on, and closes it. False with `error`.
 * Needs no GIL. */
bool native_chunk_portion(const struct native_chunk *chunk, const struct native_keying *keying,
                          size_t from, struct native_portion *portion, bloomery_error *error);

/* ---- bits.c ---------------------------------------------------------------------------------- */

/* Bits that grow, 64 a word, as the library's answers. Functions on them need no GIL. */
struct native_bits {
    uint64_t *words;
    size_t count, room;
};

bool native_bits_reserve(struct native_bits *bits, size_t count);
bool native_bits_append(struct native_bits *bits, const uint64_t *words, size_t count);

size_t native_bits_true(const struct native_bits *bits);
size_t native_count_bits(const uint64_t *words, size_t count);

/* Writes a byte for each, 0 or 1. */
void native_bits_spread(const struct native_bits *bits, unsigned char *out, ptrdiff_t stride);

static inline bool native_bit(const struct native_bits *bits, size_t number)
{
    return (bits->words[number / 64] >> (number & 63) & 1) != 0;
}

/* Writes them to an array of bytes or bools of the same length. False after raising. */
bool native_answers_write(const struct native_bits *bits, PyObject *out);

/* ---- answers.c, answers_arrow.c -------------------------------------------------------------- */

struct native_answers {
    PyObject_HEAD struct native_bits bits;
    unsigned char *bytes; /* one each, once somebody asked */
    Py_ssize_t shape, stride;
};

PyType_Spec *native_answers_spec(void);

/* A BoolColumn of them. It owns them from now on, even on failure. */
PyObject *native_answers_new(const struct native_state *state, struct native_bits *bits);

/* Makes a BoolColumn of a pickle's bytes and count: the module's function _answers. */
PyObject *native_answers_load(PyObject *module, PyObject *args);

/* The methods for Arrow. */
PyObject *native_answers_arrow(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *native_answers_arrow_schema(PyObject *self, PyObject *none);

/* ---- limit.c --------------------------------------------------------------------------------- */

/* What a filter has room for. Read and written with the GIL, or by one that is alone. */
struct native_limit {
    bool applies;  /* keys can be added, and it does not grow */
    bool checked;  /* a new key beyond the limit is refused */
    bool full;     /* a scan found that no more fit */
    uint64_t left; /* new keys that fit at least, before the bits are scanned again */
};

/* Whether a filter grows and keeps its rate. A cuckoo filter grows, and its rate rises. */
bool native_keeps_rate(const bloomery_info *info);

/* What a filter with this info begins with. */
void native_limit_begin(struct native_limit *limit, const bloomery_info *info);

/* The filter changed otherwise than by adding: the next add scans it. */
void native_limit_reset(struct native_limit *limit);

/* Whether a new key fits; scans the bits if that is unknown. Needs the filter alone. */
bool native_limit_allows(struct native_limit *limit, const bloomery_filter *filter);

static inline void native_limit_count(struct native_limit *limit, uint64_t fresh)
{
    limit->left -= fresh < limit->left ? fresh : limit->left;
}

/* What is wrong and what to do, for people. Scans the bits. */
void native_limit_error(const bloomery_filter *filter, bloomery_error *error);

/* ---- watch.c --------------------------------------------------------------------------------- */

/* The file of a map as it was when it was opened. */
struct native_watch {
    char *path; /* NULL: nothing to watch */
    uint64_t device, inode;
    off_t size;
    struct timespec time;
};

void native_watch_look(struct native_watch *watch, const char *path);
void native_watch_end(struct native_watch *watch);

struct native_filter;

/* Whether the file of a filter is still the one that was opened. False after raising. Needs the
 * gate. */
bool native_watch_holds(struct native_filter *self);

/* ---- work.c ---------------------------------------------------------------------------------- */

enum native_verb {
    NATIVE_QUERY,
    NATIVE_ADD,
    NATIVE_BUILD,
    NATIVE_REMOVE,
    NATIVE_HASH,
    NATIVE_COLLECT
};

/* One operation over many keys. */
struct native_work {
    enum native_verb verb;
    const struct native_state *state;
    const struct native_filter *filter; /* of all but COLLECT; it may be closed between portions */
    bloomery_builder **builder;         /* of COLLECT */
    struct native_gate *gate;
    bool alone; /* what is done needs the object to itself */
    /* Of ADD and BUILD, where keys beyond a limit are refused; else NULL. */
    struct native_limit *limit;
    uint64_t reserved;   /* of what the limit has left, for others not to take */
    size_t fresh_before; /* `yes` when they were */
    bool entered_alone;
    const struct native_keying *keying;
    struct native_filter *watched; /* of QUERY, if it is a map; else NULL */
    uint32_t threads;              /* of BUILD */
    bool keep;                     /* keep the answers in `bits` */
    struct native_bits bits;
    struct native_arena hashes; /* of HASH: bloomery_hash */
    size_t seen;                /* records so far */
    size_t yes;                 /* answers that were true */
    struct native_portion *portion;
    PyObject *missing; /* an object that stands for a missing value, once one was found */
    bloomery_error error;
};

/* Runs it over the keys in an object. False after raising: keys before the bad one are done. */
bool native_work_run(struct native_work *work, PyObject *keys);
void native_work_free(struct native_work *work);

/* Enters the gate for at most that many keys. False after raising: the object may have been closed
 * while Python ran. */
bool native_work_enter(struct native_work *work, size_t count);
void native_work_leave(struct native_work *work);

/* Sets the error. Returns false. */
bool native_work_no_memory(struct native_work *work);

/* Raises what failed, with `added` and `new` if the filter is full. */
void native_work_raise(struct native_work *work);

/* The operation on the closed portion. False: `error` is set. Needs no GIL, but the gate. */
bool native_work_portion(struct native_work *work);

/* The operation on a chunk. False after raising. */
bool native_work_chunk(struct native_work *work, const struct native_chunk *chunk);

/* 1: it was a source of that sort and is done; 0: it is not; -1 after raising. */
int native_work_arrow(struct native_work *work, PyObject *keys);
int native_work_buffer(struct native_work *work, PyObject *keys);

/* Whether it is a table, whose columns' names look like many keys: that is raised. */
bool native_refuse_table(PyObject *keys);

/* How many keys an object has, or -1 if that is not known. Never raises. */
Py_ssize_t native_keys_count(PyObject *keys);

/* ---- facts.c --------------------------------------------------------------------------------- */

/* What Info is made of: `scan` is all zero unless the cells were read. */
struct native_facts {
    bloomery_info info;
    bloomery_scan_result scan;
};

bool native_facts_add(PyObject *module, struct native_state *state);
PyObject *native_info_of(const struct native_state *state, const struct native_facts *facts,
                         bool scanned);
/* One fact of those that need no scan. */
PyObject *native_info_fact(const struct native_facts *facts, const char *name);
PyObject *native_plan_of(const struct native_state *state, const bloomery_plan *plan);
PyObject *native_comparison_of(const struct native_state *state,
                               const bloomery_comparison *comparison);
PyObject *native_dialect_of(const struct native_state *state, const bloomery_dialect *dialect);
PyObject *native_item_of(const struct native_state *state, const bloomery_sieve_item *item);
PyObject *native_sieve_info_of(const struct native_state *state, const bloomery_sieve_info *info);

/* "trim,lower", or None: what a rule does to a key. */
PyObject *native_rule_of(const bloomery_key_rule *rule);
/* A text of the library; None for NULL. Bytes that are not UTF-8 become surrogates. */
PyObject *native_text_of(const char *text);

/* ---- request.c ------------------------------------------------------------------------------- */

/* What Filter, Filter.build, Builder and plan take. */
struct native_request {
    PyObject *keys, *rate, *memory, *secret, *seed; /* borrowed; NULL or None: not given */
    const char *kind, *note, *full;
    int concurrent, integers;
    uint64_t limit; /* bytes; 0: none */
    uint8_t bytes[BLOOMERY_SECRET_BYTES];
    bloomery_plan plan;
    bloomery_create_options options;
};

/* Solves the plan and fills the options. False after raising. */
bool native_request_solve(const struct native_state *state, struct native_request *request);

/* The kind by its name, into the plan. False after raising. */
bool native_kind_take(struct native_request *request);

/* Takes "raise", "ignore", and "grow" if the filter grows. False after raising. */
bool native_full_take(const char *full, bool grows, bool *ignores);

/* The 16 bytes of a secret; `taken` is NULL for None and NULL. False after raising. */
bool native_secret_take(PyObject *object, uint8_t secret[BLOOMERY_SECRET_BYTES],
                        const uint8_t **taken);

/* os.fspath as bytes. False after raising. */
bool native_path_take(PyObject *path, PyObject **taken, const char **text);

/* Says what a parameter of other packages is called here, if a call failed because of that. `count`
 * is what takes the number of keys. */
void native_keyword_help(PyObject *keywords, const char *count);

/* A number that may be None or missing; 1e6 is one, too. False after raising. */
bool native_count_take(PyObject *object, const char *name, uint64_t *number);

/* The same for numbers below 2^32. */
bool native_small_take(PyObject *object, const char *name, uint32_t *number);

/* A number of threads: 0 for all cores. False after raising. */
bool native_threads_take(PyObject *object, uint32_t *threads);

/* ---- The class Filter ------------------------------------------------------------------------ */

struct native_filter {
    PyObject_HEAD const struct native_state *state;
    const bloomery_filter *filter; /* NULL: closed, or not made yet */
    bloomery_filter *writable;     /* the same, or NULL: a map, a view or a static filter */
    struct native_keying keying;
    bool concurrent; /* adds need nobody to themselves */
    bool secret;     /* keys can be hashed */
    bool quick;      /* a text's UTF-8 is its key, and nothing has to be checked */
    bool has_buffer;
    Py_buffer buffer;          /* what a view reads */
    struct native_watch watch; /* of a map */
    struct native_limit limit;
    bool grows, ignores;
    bool raw;    /* keys are not made by the rule of the file */
    bool single; /* one layer, and no more will come: the plan stays what it is */
    uint64_t planned_keys;
    double planned_rate;
    struct native_gate gate;
    PyObject *weak;
};

PyType_Spec *native_filter_spec(void);

/* A new object of a type for a filter. It owns the filter from now on, even on failure. `writable`
 * is the same filter, or NULL if it must not be changed. */
PyObject *native_filter_new(PyTypeObject *type, const bloomery_filter *filter,
                            bloomery_filter *writable, bool concurrent);

/* The same for one that was made as a request says. */
PyObject *native_filter_made(PyTypeObject *type, bloomery_filter *filter,
                             const struct native_request *request);

/* The same for one made of another, that is full as that one is. */
PyObject *native_filter_of(const struct native_filter *self, bloomery_filter *filter,
                           bool concurrent);

/* Whether keys beyond the limit are added all the same. */
void native_filter_ignore(struct native_filter *self, bool ignores);

/* Whether keys are taken as they are, and not made by the rule of the file. */
void native_filter_raw(struct native_filter *self, bool raw);

/* Whether it is open and, if `hashes`, has its secret. False after raising. */
bool native_filter_ready(const struct native_filter *self, bool hashes);

/* Whether it may be changed. False after raising. */
bool native_filter_writable(const struct native_filter *self, enum native_change change);

/* Both of these, and the gate. False after raising. */
bool native_filter_enter(struct native_filter *self, bool hashes, bool alone);
void native_filter_leave(struct native_filter *self, bool alone);

/* A filter of the same type in memory of its own, with a subclass's attributes. NULL after
 * raising. */
PyObject *native_filter_copy(struct native_filter *self);

/* The same for what reads all of it: where adds are readers, nobody may add at that time. */
bool native_filter_enter_whole(struct native_filter *self);
void native_filter_leave_whole(struct native_filter *self);

/* What an operation of many keys on it begins with. */
void native_filter_work(struct native_filter *self, enum native_verb verb,
                        struct native_work *work);

/* The methods that stand in other files; each table ends with a NULL. */
extern PyMethodDef native_filter_many_methods[];
extern PyMethodDef native_filter_line_methods[];
extern PyMethodDef native_filter_file_methods[];
extern PyMethodDef native_filter_set_methods[];

PyObject *native_filter_or(PyObject *one, PyObject *other);
PyObject *native_filter_and(PyObject *one, PyObject *other);
PyObject *native_filter_ior(PyObject *one, PyObject *other);
PyObject *native_filter_iand(PyObject *one, PyObject *other);
PyObject *native_filter_subtract(PyObject *one, PyObject *other);
PyObject *native_filter_xor(PyObject *one, PyObject *other);
PyObject *native_filter_compare(PyObject *one, PyObject *other, int operation);

/* ---- The other classes ----------------------------------------------------------------------- */

PyType_Spec *native_builder_spec(void);
PyType_Spec *native_sieve_spec(void);
PyType_Spec *native_near_spec(void);
PyType_Spec *native_deduper_spec(void);

/* A bool of Python, and a PyCFunction of a function with keywords. */
#define NATIVE_BOOL(value)        PyBool_FromLong((value) ? 1 : 0)
#define NATIVE_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

#endif /* BLOOMERY_NATIVE_H */

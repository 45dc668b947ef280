/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery: Bloom filters whose false-positive rate is the one you asked for. C11, C++11.
 *
 * A filter stores keys in a few bits each. A query for a key returns "definitely not added" or
 * "possibly added". How often it returns "possibly" for a key that was never added is the
 * false-positive rate, rate for short. You choose it before the filter is made:
 *
 *     bloomery_error error;
 *     bloomery_filter *filter = bloomery_new(20000000, 0.01, &error);
 *     bloomery_add(filter, bloomery_key_of("850101312345", 12), &error);
 *     if (bloomery_may_contain(filter, bloomery_key_of("850101312345", 12)))
 *         ...
 *     bloomery_save(filter, "ids.bloom", &error);
 *     bloomery_free(filter);
 *
 * Contents
 *
 *   Most programs need only these        More of them
 *     1  Results and errors                8  Plans
 *     2  Keys and secrets                  9  Options
 *     3  Creating and freeing             10  Hash once, query many filters
 *     4  Adding and querying one key      11  Removing and counting
 *     5  Adding and querying many keys    12  Several filters: merge, intersect, fold, compare
 *     6  Files and bytes                  13  Threads
 *     7  Facts about a filter
 *
 *   bloomery/bloomery.hpp      classes for C++17
 *   bloomery/builder.h         building static filters
 *   bloomery/records.h         keys from records: lines, CSV fields, hexadecimal digits, numbers
 *   bloomery/dialect.h         filters of other systems
 *   bloomery/sieve.h           a to-visit queue that drops keys it has seen
 *   bloomery/inline.h          query and add of one key, compiled into the calling program
 *   bloomery/experimental.h    functions that may change in any release before 1.0
 *
 * The words (they mean the same in every part of Bloomery)
 *
 *   key      a span of bytes: any length, any bytes, the empty key included
 *   secret   16 bytes that only you know. A filter with a secret is keyed: its hash is SipHash, and
 *            nobody else can choose keys that are false positives
 *   hash     what a key becomes: 64 or 128 bits, {lo, hi}
 *   kind     the structure: blocked (the default), classic, counting, scalable, static or cuckoo
 *   cell     what a position names: a bit or, in a counting filter, a counter of 4 or 8 bits
 *   block    512 cells: one cache line of bits, four or eight of counters. A blocked filter is an
 *            array of blocks; a key selects L of them
 *   probe    one position that a key touches: k in each of its blocks
 *   layer    one array of cells. Only scalable filters and some of other systems have several: up
 *            to 64, and chains of other systems up to 65,536 in memory
 *   plan     the numbers of a filter before it exists
 *   map      a filter whose bytes are a file that the system maps into memory
 *   view     a filter whose bytes belong to the caller
 *
 * Conventions
 *
 *   Errors     A function that can fail returns a bloomery_status: 0 is BLOOMERY_OK, failures are
 *              negative. On failure only, but for bloomery_add and _remove, it fills the caller's
 *              bloomery_error with a sentence for people. The library never prints or exits.
 *   Ownership  Filters come from bloomery_new, _create, _open, _map, _view, _load and the like, and
 *              end in bloomery_free. The library keeps nothing that was passed in, except the bytes
 *              given to bloomery_view. On failure the new filter is NULL.
 *   const      What cannot be changed is a `const bloomery_filter *`: maps, views, static filters.
 *   NULL       `options` and `error` may be NULL everywhere. Other pointers must be valid, unless a
 *              comment says "may be NULL". A search for an unknown name or number returns NULL, or
 *              the enumerator 0.
 *   Structs    A struct that may grow begins with `struct_bytes`, its own size. Initialise it with
 *              zeros or with its macro: BLOOMERY_PLAN for bloomery_plan and so on. A size of 0 is
 *              that of version 0.1, so fields that came later need the macro. Zero fields mean
 *              "default" or "unknown". `reserved` must be 0. New fields come at the end.
 *   Threads    Different filters are independent. Any number of threads may read one filter (call
 *              functions that take it as const) while none changes it. Functions that change it
 *              need it to themselves. With `concurrent_adds` any number of threads may add, remove
 *              and query at the same time. Even then, functions that read all bits (_write, _save,
 *              _verify, _fold, _compare, _scan, ...) need a filter that nobody adds to.
 *   Asserts    check the library, not its callers' data. Release builds (make install) have none.
 */
#ifndef BLOOMERY_BLOOMERY_H
#define BLOOMERY_BLOOMERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, which the build reads. bloomery_version() returns the library's. */
#define BLOOMERY_VERSION_MAJOR 0
#define BLOOMERY_VERSION_MINOR 1
#define BLOOMERY_VERSION_PATCH 0
#define BLOOMERY_VERSION       "0.1.0"

/* The version of the files that the library writes and reads. */
#define BLOOMERY_FILE_FORMAT 2u

/* Makes a function visible outside a shared library. A program that compiles Bloomery's sources may
 * define BLOOMERY_PUBLIC as nothing, before each inclusion; with -fvisibility=hidden all names
 * hide. */
#if !defined(BLOOMERY_PUBLIC) && defined(__GNUC__)
#define BLOOMERY_PUBLIC __attribute__((visibility("default")))
#elif !defined(BLOOMERY_PUBLIC)
#define BLOOMERY_PUBLIC
#endif

/* Makes the compiler warn if the caller ignores the result. */
#ifdef __GNUC__
#define BLOOMERY_USE_RESULT __attribute__((warn_unused_result))
#else
#define BLOOMERY_USE_RESULT
#endif

/* Initialises a struct that begins with its size. C++11 does not have designated initialisers. */
#ifdef __cplusplus
#define BLOOMERY_SIZED(type)               \
    []() -> type {                         \
        type sized = {};                   \
        sized.struct_bytes = sizeof(type); \
        return sized;                      \
    }()
#else
#define BLOOMERY_SIZED(type)         \
    {                                \
        .struct_bytes = sizeof(type) \
    }
#endif

/* ---- 1  Results and errors ------------------------------------------------------------------ */

/* These values never change. */
typedef enum bloomery_status {
    BLOOMERY_OK = 0,
    BLOOMERY_BAD_ARGUMENT = -1,   /* an argument is outside its range */
    BLOOMERY_OUT_OF_MEMORY = -2,  /* not enough memory */
    BLOOMERY_IO_FAILED = -3,      /* reading or writing failed */
    BLOOMERY_NOT_A_FILTER = -4,   /* not a Bloomery filter */
    BLOOMERY_WRONG_VERSION = -5,  /* another version of the format, or an unknown part in it */
    BLOOMERY_CORRUPT = -6,        /* the filter is damaged */
    BLOOMERY_TRUNCATED = -7,      /* the filter is cut short, or something follows it */
    BLOOMERY_MISMATCH = -8,       /* the filters are not compatible */
    BLOOMERY_READ_ONLY = -9,      /* the filter is read-only */
    BLOOMERY_FULL = -10,          /* the filter is full */
    BLOOMERY_UNSUPPORTED = -11,   /* this filter or this build cannot do that */
    BLOOMERY_SECRET_NEEDED = -12, /* the filter is keyed; its secret is missing or another one */
    BLOOMERY_BUSY = -13,          /* another process uses it */
} bloomery_status;

/* Why something failed. Belongs to the caller. Never grows. */
typedef struct bloomery_error {
    bloomery_status status;
    /* The place in the file or span, in bytes; for many keys the number of a key; otherwise 0. */
    uint64_t offset;
    /* A sentence without a final newline, NUL-terminated, cut if it is too long. */
    char text[240];
} bloomery_error;

/* "BLOOMERY_CORRUPT"; NULL for an unknown value. Static storage. */
BLOOMERY_PUBLIC const char *bloomery_status_name(int status);

/* The library's version at run time, such as "0.1.0". Static storage. */
BLOOMERY_PUBLIC const char *bloomery_version(void);

/* ---- 2  Keys and secrets --------------------------------------------------------------------- */

/* A key: `bytes` bytes at `data`. The empty key {anything, 0} is a key like any other. */
typedef struct bloomery_key {
    const void *data;
    size_t bytes;
} bloomery_key;

/* Makes a key of these bytes. */
static inline bloomery_key bloomery_key_of(const void *data, size_t bytes)
{
    bloomery_key key;
    key.data = data;
    key.bytes = bytes;
    return key;
}

/* A hashed key, for every filter with the same hash id, seed and secret. One of 64 bits is `hi`,
 * and `lo` is 0. */
typedef struct bloomery_hash {
    uint64_t lo;
    uint64_t hi;
} bloomery_hash;

/* XXH3 is fast, but attackers can construct false positives, whatever the seed is: use a secret
 * against them. */
typedef enum bloomery_hash_id {
    BLOOMERY_HASH_DEFAULT = 0,  /* as the plan says; SipHash with a secret */
    BLOOMERY_HASH_XXH3_128 = 1, /* XXH3, 128 bits, 64-bit seed: when 64 bits are too few */
    BLOOMERY_HASH_SIPHASH = 2,  /* SipHash-2-4, 128 bits, with a secret of 128 bits */
    BLOOMERY_HASH_XXH3_64 = 3,  /* XXH3, 64 bits, 64-bit seed: {lo, hi} are 0 and the hash */
} bloomery_hash_id;

enum { BLOOMERY_SECRET_BYTES = 16 };

/* How records of the input become keys (bloomery/records.h). A filter keeps the rule in its file,
 * so that every program makes the same keys; it never changes a key itself. All zero: a key is a
 * whole record. Never grows: this is the form in files. */
typedef struct bloomery_key_rule {
    uint32_t flags;     /* BLOOMERY_RULE_... */
    uint32_t delimiter; /* the byte between fields, 0 to 255; only with a field */
    int32_t field;      /* 1 the first, -1 the last, 0 the whole record */
    uint32_t comment;   /* records that begin with this byte, 1 to 255, have no key; 0: none */
} bloomery_key_rule;

/* ---- 3  Creating and freeing ----------------------------------------------------------------- */

typedef struct bloomery_filter bloomery_filter;
typedef struct bloomery_plan bloomery_plan;
typedef struct bloomery_plan_options bloomery_plan_options;
typedef struct bloomery_create_options bloomery_create_options;
typedef struct bloomery_open_options bloomery_open_options;

/* Returns an empty filter for `keys` keys: the smallest blocked one whose false-positive rate is at
 * most `rate` with all of them in it. bloomery_create makes other kinds and takes options. For 0
 * keys it has 64 bytes and returns "definitely not" for every key. NULL on failure:
 * BLOOMERY_BAD_ARGUMENT (ranges: bloomery_plan_solve), BLOOMERY_OUT_OF_MEMORY. */
BLOOMERY_PUBLIC bloomery_filter *bloomery_new(uint64_t keys, double rate,
                                              bloomery_error *error) BLOOMERY_USE_RESULT;

/*
 * Makes an empty filter of any kind but static, with a plan and options (sections 8 and 9):
 *
 *     bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 1000000, .rate = 0.001};
 *     status = bloomery_create(&plan, NULL, &filter, &error);
 *
 * A plan without bits, probes, cell_bits, hash and blocks_per_key is solved first, without options;
 * the caller's plan stays as it is. In a plan that was solved, or filled in by hand, these and kind
 * decide what the filter is (hash 0: XXH3-64). planned_keys and planned_rate are kept in the file
 * (0: unknown); planned_bytes may be 0. BLOOMERY_BAD_ARGUMENT, also if keys, rate, bytes or kind
 * were changed after solving and the plan no longer meets them; BLOOMERY_OUT_OF_MEMORY;
 * BLOOMERY_UNSUPPORTED for an unknown kind, a static filter (bloomery_builder_open), or SipHash in
 * a build without libsodium. Large blocks are zeroed by the kernel as they are touched.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_create(const bloomery_plan *plan,
                                                const bloomery_create_options *options,
                                                bloomery_filter **filter, bloomery_error *error);

/* Makes a copy of a filter of any kind or dialect, in memory of its own. The copy has the same
 * bits, adds, seed, secret, rule and note, and is written as the same bytes. Its layers are in one
 * block. `options`: allocator, concurrent_adds, memory_limit, and the secret of a filter that was
 * opened without it; without the secret the copy only reports its facts, as with `inspect`.
 * BLOOMERY_CORRUPT for a map or a view whose checksums do not match, so that damage cannot get new
 * ones. BLOOMERY_SECRET_NEEDED for another secret; BLOOMERY_UNSUPPORTED for concurrent_adds in a
 * chain of another system; BLOOMERY_OUT_OF_MEMORY. Time: that of reading and writing all bytes. */
BLOOMERY_PUBLIC bloomery_status bloomery_copy(const bloomery_filter *filter,
                                              const bloomery_open_options *options,
                                              bloomery_filter **copy, bloomery_error *error);

/* Removes all keys; the shape stays. BLOOMERY_UNSUPPORTED for a static filter. */
BLOOMERY_PUBLIC bloomery_status bloomery_clear(bloomery_filter *filter, bloomery_error *error);

/* Releases everything that the filter owns. NULL is allowed. */
BLOOMERY_PUBLIC void bloomery_free(const bloomery_filter *filter);

/* ---- 4  Adding and querying one key ---------------------------------------------------------- */

/*
 * Adds a key. Returns true if it is new: it was definitely not in the filter. Returns false if the
 * filter possibly had it already (error->status is BLOOMERY_OK then), and if it could not be added:
 *
 *     if (bloomery_add(filter, key, &error))
 *         puts("new");
 *     else if (error.status != BLOOMERY_OK)
 *         return fail(error.text);
 *
 * Only these can fail: a scalable filter that cannot grow (BLOOMERY_FULL past `memory_limit` or 64
 * layers, BLOOMERY_OUT_OF_MEMORY), a filter opened with `inspect` (BLOOMERY_SECRET_NEEDED,
 * BLOOMERY_UNSUPPORTED), and a static filter (BLOOMERY_READ_ONLY). For others `error` may be NULL.
 * A failure that no `error` received is not lost: the next bloomery_save or _write of the filter
 * fails with its status, once, and says how many keys are missing.
 *
 * Adding more than the planned keys is allowed; the rate then rises as bloomery_plan_rate says.
 * Counting: every counter of the key rises by one, whatever the result, so a key added twice can be
 * removed twice. Scalable: a key that any layer may have is not added again; a new one goes to the
 * newest layer. If that holds its planned keys, this call makes another layer for twice the keys.
 */
BLOOMERY_PUBLIC bool bloomery_add(bloomery_filter *filter, bloomery_key key, bloomery_error *error);

/* Queries a key. false: the key was definitely never added. true: it possibly was. Cannot fail. An
 * empty filter returns false for every key, the empty key included. A filter with every bit set
 * returns true, and so does one that was opened without its secret. */
BLOOMERY_PUBLIC bool bloomery_may_contain(const bloomery_filter *filter,
                                          bloomery_key key) BLOOMERY_USE_RESULT;

/* ---- 5  Adding and querying many keys -------------------------------------------------------- */

typedef enum bloomery_keys_form {
    BLOOMERY_KEYS_LIST = 1,      /* bloomery_key: an address and a length for each key */
    BLOOMERY_KEYS_FIXED = 2,     /* keys of one width: integers as they lie in memory, digests */
    BLOOMERY_KEYS_OFFSETS32 = 3, /* int32_t offsets: Arrow's utf8 and binary */
    BLOOMERY_KEYS_OFFSETS64 = 4, /* int64_t offsets: large_utf8, large_binary */
    /* uint64_t: XXH3-64 with the filter's seed. BLOOMERY_MISMATCH for a filter with another hash */
    BLOOMERY_KEYS_HASHES64 = 5,
    BLOOMERY_KEYS_HASHES128 = 6, /* bloomery_hash, as bloomery_hash_keys makes them */
} bloomery_keys_form;

/* Of bloomery_keys.threads and the like: as many as bloomery_threads returns, and the most that a
 * call may ask for. */
#define BLOOMERY_THREADS_ALL UINT32_MAX
#define BLOOMERY_THREADS_MAX 256u

/*
 * Many keys, as arrays, databases and Arrow hold them. The functions below make the usual cases:
 *
 *     bloomery_keys keys = bloomery_keys_of_integers(ids, count);
 *     status = bloomery_add_keys(filter, &keys, NULL, NULL, &error);
 *
 * In all forms key i, 0 to count - 1, is number first + i of what the pointers lead to.
 *
 *     LIST       data      | {address, length} | {address, length} | ...
 *     FIXED      data      | key 0 | gap | key 1 | gap | ...     `width` bytes every `stride` bytes
 *     OFFSETS    data      | key 0  | key 1 | key 2 |   key i is bytes offsets[i] to
 *                offsets   0        9       15      21  offsets[i + 1] - 1 of data
 *     HASHES     data      what the hash of the filter made of the keys, earlier or elsewhere
 */
typedef struct bloomery_keys {
    size_t struct_bytes; /* sizeof(bloomery_keys), or 0 */
    bloomery_keys_form form;
    /* Of bloomery_add_keys: 0 or 1 is the calling thread alone. At most BLOOMERY_THREADS_MAX, or
     * BLOOMERY_THREADS_ALL. Other functions work in the calling thread. */
    uint32_t threads;
    size_t count; /* keys */
    size_t first; /* number of the first one: Arrow's offset */
    const void *data;
    size_t bytes;  /* OFFSETS: of `data`; nothing outside is read */
    size_t width;  /* FIXED: of a key, at least 1 */
    size_t stride; /* FIXED: from one key to the next, at least the width; 0: the width */
    /* OFFSETS: first + count + 1, never falling, within `bytes`; host's order, aligned or not. */
    const void *offsets;
    /* Bit first + i, low bit first, is 0: key i does not exist, and its answer is 0. NULL: all keys
     * exist. */
    const uint8_t *valid;
    /* How many keys are missing; 0 or -1: unknown. If over 0, `valid` must be given; it decides. */
    int64_t nulls;
} bloomery_keys;

#define BLOOMERY_KEYS BLOOMERY_SIZED(bloomery_keys)

/* Describes keys in a list of addresses and lengths. */
static inline bloomery_keys bloomery_keys_of_list(const bloomery_key *list, size_t count)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    keys.form = BLOOMERY_KEYS_LIST;
    keys.data = list;
    keys.count = count;
    return keys;
}

/* Describes keys of 8 bytes: integers as they are in memory. */
static inline bloomery_keys bloomery_keys_of_integers(const int64_t *integers, size_t count)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    keys.form = BLOOMERY_KEYS_FIXED;
    keys.data = integers;
    keys.count = count;
    keys.width = sizeof *integers;
    return keys;
}

/* Describes keys in one array: key i is bytes offsets[i] to offsets[i + 1] - 1 of `bytes`. It has
 * count + 1 offsets. */
static inline bloomery_keys bloomery_keys_of_strings(const void *bytes, const int64_t *offsets,
                                                     size_t count)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    keys.form = BLOOMERY_KEYS_OFFSETS64;
    keys.data = bytes;
    keys.bytes = offsets[count] > 0 ? (size_t)offsets[count] : 0;
    keys.offsets = offsets;
    keys.count = count;
    return keys;
}

/* Describes keys as hashes of 128 bits, which bloomery_hash_key or _keys made. */
static inline bloomery_keys bloomery_keys_of_hashes(const bloomery_hash *hashes, size_t count)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    keys.form = BLOOMERY_KEYS_HASHES128;
    keys.data = hashes;
    keys.count = count;
    return keys;
}

/* What a call did with many keys, whether it succeeded or not. Never grows. */
typedef struct bloomery_counts {
    /* Keys dealt with, in order: all on success; on failure the number of the refused one. */
    size_t done;
    size_t positive; /* of these: new ones (add), possibly in the filter (query), removed ones */
    uint64_t cells;  /* that became or ceased to be 0: bits newly set (add), counters (remove) */
} bloomery_counts;

/*
 * Add, query or remove many keys, faster than one by one: the memory accesses of one key hide
 * behind those of others. Best in multiples of 64 keys, from some hundreds on. Each result is
 * that of bloomery_add, _may_contain or _remove; a key that comes twice is new only once.
 *
 * `answers`, if not NULL, is an array of (count + 63) / 64 words. Bit i & 63 of word i >> 6 is set
 * if key i was new, is possibly in the filter, or was removed. The bits past `count` in the last
 * word are 0. On a little-endian host that is Arrow's boolean bitmap. `counts` may be NULL too.
 *
 * The keys are checked before any is added: BLOOMERY_BAD_ARGUMENT if the struct is wrong; if one
 * key is, error->offset is its number. After that, and after BLOOMERY_MISMATCH, BLOOMERY_READ_ONLY,
 * BLOOMERY_SECRET_NEEDED and BLOOMERY_UNSUPPORTED, nothing was added, and all answers and counts
 * are 0; but a query without the filter's secret answers "possibly" for every key. After
 * BLOOMERY_FULL and BLOOMERY_OUT_OF_MEMORY of a scalable filter that cannot grow, the first
 * counts->done keys are in it and the answers from there on are 0. A key that the filter may have
 * is never refused. O(count); memory is allocated only if a scalable filter grows, or for threads.
 *
 * With several `threads` the filter's bits and its count of adds are the same as with one. Answers
 * must be NULL then, and positive and cells are 0. The calling thread is one of them; the others
 * are made and joined within the call, fewer if the system has no more. The call needs the filter
 * to itself, unless that has `concurrent_adds`. Each thread allocates a thirty-second of the
 * filter's size, 64 to 512 KiB, and for each block per key 11 KiB or more (338 KiB from 32 threads
 * on). Without that memory nothing is added: BLOOMERY_OUT_OF_MEMORY. In a scalable filter the layer
 * of a key depends on the order of the keys, so the calling thread works alone.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_add_keys(bloomery_filter *filter,
                                                  const bloomery_keys *keys, uint64_t *answers,
                                                  bloomery_counts *counts, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_may_contain_keys(const bloomery_filter *filter,
                                                          const bloomery_keys *keys,
                                                          uint64_t *answers,
                                                          bloomery_counts *counts,
                                                          bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_remove_keys(bloomery_filter *filter,
                                                     const bloomery_keys *keys, uint64_t *answers,
                                                     bloomery_counts *counts,
                                                     bloomery_error *error);

/* Supplies keys in batches, best of some thousand keys each. `source` points `keys` to the next
 * batch of shard `shard` (0 to threads - 1) and returns how many keys it has, 0 at the end. Several
 * threads call it at once, each with a shard of its own, again and again until it returns 0. Two
 * threads never call it with one shard at a time, and no thread calls it again after it returned 0.
 * A thread whose shard is done may go on with one that no thread has begun, so a source must not
 * wait for another shard. Keys and their bytes must stay until the next call with the same shard. A
 * source that fails records the failure itself and returns 0. No lock is held while a source
 * runs. */
typedef size_t (*bloomery_source)(void *context, uint32_t shard, const bloomery_key **keys);

/* Adds the keys that a callback supplies, with `threads` threads as in bloomery_keys. Fails as
 * bloomery_add_keys. If a scalable filter cannot grow, the keys before that are in the filter. */
BLOOMERY_PUBLIC bloomery_status bloomery_add_from(bloomery_filter *filter, bloomery_source source,
                                                  void *context, uint32_t threads,
                                                  bloomery_error *error);

/* ---- 6  Files and bytes ---------------------------------------------------------------------- */

/*
 * Four ways in, with one promise for any bytes: after BLOOMERY_OK no query can read or write
 * outside the filter's memory. Header and metadata are checked entirely before memory is allocated.
 *
 *   open   Reads the whole file into memory and compares its checksums. Keys can be added; the file
 *          changes when bloomery_save replaces it.
 *   map    Maps the file, to query it: microseconds, whatever its size. The cells are not read, so
 *          damage in them shows in bloomery_verify and not here. If another program cuts the file,
 *          reading the map raises SIGBUS; Bloomery replaces files by rename and never cuts them.
 *   load   Makes a filter that owns a copy of these bytes, checksums compared. Keys can be added.
 *   view   Queries bytes that the caller keeps alive and unchanged until bloomery_free. `data` must
 *          be a multiple of 64.
 *
 * With a `path` of NULL open and map take the file that is open as options->descriptor, from its
 * first byte. They neither use nor move its offset, and the caller may close it at once. The
 * error's text says which check failed and at which offset: BLOOMERY_IO_FAILED, BLOOMERY_TRUNCATED,
 * BLOOMERY_NOT_A_FILTER, BLOOMERY_WRONG_VERSION, BLOOMERY_CORRUPT, BLOOMERY_SECRET_NEEDED,
 * BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_open(const char *path,
                                              const bloomery_open_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_map(const char *path, const bloomery_open_options *options,
                                             const bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_load(const void *data, size_t bytes,
                                              const bloomery_open_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_view(const void *data, size_t bytes,
                                              const bloomery_open_options *options,
                                              const bloomery_filter **filter,
                                              bloomery_error *error);

/* Writes the file beside `path`, syncs it, renames it to `path` and syncs the directory: `path`
 * holds the old file or the new one, whole. Keeps the mode of an existing file; a new file that
 * carries a secret can be read by its owner only. Follows a symbolic link. `path` must be a regular
 * file or not exist. BLOOMERY_IO_FAILED leaves the old file and removes the new one. If only
 * syncing the directory fails, the new file is in place but might not survive a power cut, and the
 * text says so. Other failures as of bloomery_write. */
BLOOMERY_PUBLIC bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                                              bloomery_error *error);

/* Receives the next piece of a file's bytes. A result other than 0 stops the writing. */
typedef int (*bloomery_sink)(void *context, const void *data, size_t bytes);

/* Sends the bytes of the file to a sink, front to back: info.file_bytes of them. The same keys in
 * the same shape (in a scalable filter: in the same order) give the same bytes. BLOOMERY_CORRUPT if
 * a map or a view is damaged: damage would get good checksums here. BLOOMERY_IO_FAILED if the sink
 * stops, BLOOMERY_OUT_OF_MEMORY without memory for the checksums (8 bytes per 64 KiB).
 * BLOOMERY_UNSUPPORTED if another system's filter has more than our file format keeps: 64 layers
 * and 6 KiB of other data (bloomery_dialect_write has room for all). Once, the status of keys that
 * could not be added: see bloomery_add. */
BLOOMERY_PUBLIC bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink,
                                               void *context, bloomery_error *error);

/* Reads everything and compares every checksum of a map or a view. Of any filter, checks that spare
 * bits are zero. BLOOMERY_CORRUPT with the offset of the first damage. */
BLOOMERY_PUBLIC bloomery_status bloomery_verify(const bloomery_filter *filter,
                                                bloomery_error *error);

/* ---- 7  Facts about a filter ----------------------------------------------------------------- */

/* Files contain these numbers, so they never change. */
typedef enum bloomery_kind {
    BLOOMERY_KIND_DEFAULT = 0, /* blocked */
    BLOOMERY_BLOCKED = 1,      /* k bits in each of L blocks: one cache miss per block */
    BLOOMERY_CLASSIC = 2,      /* k bits over one flat array: least memory, k cache misses */
    /* As blocked, with a counter for each bit: keys can be removed. 4 or 8 times the memory. */
    BLOOMERY_COUNTING = 3,
    /* Blocked layers, of which it gets more as it fills: for an unknown number of keys. */
    BLOOMERY_SCALABLE = 4,
    /* A bumped ribbon: the smallest kind. Built once from all keys; none is added later. */
    BLOOMERY_STATIC = 5,
    /* RedisBloom's cuckoo filter: a fingerprint of one byte for each key. Keys can be removed. */
    BLOOMERY_CUCKOO = 6,
} bloomery_kind;

/* "blocked", "classic", ...; NULL for an unknown number. bloomery_kind_find is the reverse;
 * BLOOMERY_KIND_DEFAULT for an unknown name. */
BLOOMERY_PUBLIC const char *bloomery_kind_name(int kind);
BLOOMERY_PUBLIC bloomery_kind bloomery_kind_find(const char *name);

/* What a filter is. Reading it takes no time. */
typedef struct bloomery_info {
    size_t struct_bytes; /* sizeof(bloomery_info), or 0 */
    /* The structure. */
    bloomery_kind kind;
    uint32_t dialect;        /* 0: Bloomery's own; else BLOOMERY_DIALECT_... */
    uint32_t format_version; /* of the file it came from or would be written as */
    uint32_t layers;
    uint32_t blocks_per_key; /* L of the newest layer; 0: flat */
    uint32_t probes;         /* k of the newest layer */
    uint32_t cell_bits;      /* 1, or the bits of a counter */
    uint32_t counter_max;    /* at which a counter saturates; 0: no counters */
    uint64_t bits;           /* m: the cells of all layers */
    /* What it was planned for; 0: unknown. Of a scalable filter the keys of all its layers, and the
     * rate of the whole filter, however far it grows. */
    uint64_t planned_keys;
    double planned_rate;
    /* The rate that the plan asks for if it is over twice planned_rate, else planned_rate; 0:
     * unknown. (A filter has at least one block, so a small one may be far better than requested.)
     * 'bloomery add' adds keys up to the greater of this and twice planned_rate. */
    double wanted_rate;
    /* The factors of keys and of the rate from one layer to the next. 0: it does not grow. */
    double growth;
    double tightening;
    /* How keys become hashes. */
    bloomery_hash_id hash;
    bool secret_in_file; /* every reader of the file has the secret */
    bool secret_known;   /* false with `inspect` only */
    /* What a filter of its kind and dialect can do. */
    bool can_add;    /* keys can be added one by one */
    bool can_remove; /* keys can be removed and counted */
    bool can_merge;  /* another one of the same shape can be merged into it */
    bool can_grow;   /* layers are added as it fills: `growth` is not 0 */
    bool has_bits;   /* it is an array of cells, which bloomery_scan reads */
    /* What it is now. */
    bool writable; /* keys can be added to this one */
    bool mapped;   /* a map of a file */
    uint8_t reserved[3];
    uint64_t seed;
    uint64_t secret_fingerprint; /* 0: not keyed */
    uint64_t adds;               /* calls of add that succeeded, repeated keys included */
    uint64_t bytes;              /* memory of the cells */
    uint64_t file_bytes;         /* what bloomery_write sends */
    uint64_t memory_bytes; /* all that was allocated for it; the bytes of a map do not count */
    const char *kernel;    /* the code that serves it: "scalar", "avx2", ...; static storage */
    /* What its file keeps for people and programs. */
    bloomery_key_rule rule;
    const char *note; /* belongs to the filter; NULL: none */
} bloomery_info;

#define BLOOMERY_INFO BLOOMERY_SIZED(bloomery_info)

/* Fills `info`. Cannot fail: an impossible size counts as that of version 0.1. O(layers). */
BLOOMERY_PUBLIC void bloomery_info_get(const bloomery_filter *filter, bloomery_info *info);

/* What the cells say. Of a static filter: the rates and its planned keys; the rest is 0. */
typedef struct bloomery_scan_result {
    size_t struct_bytes;      /* sizeof(bloomery_scan_result), or 0 */
    uint64_t bits_set;        /* cells that are not 0 */
    uint64_t saturated_cells; /* counters at their maximum */
    double fill;              /* bits_set / bits */
    /* The rate of these very bits, exact for a random absent key, its hash's part included. */
    double live_rate;
    double estimated_keys; /* distinct keys, from the bits; infinity if every bit is set */
    double expected_rate;  /* of this shape with that many keys */
} bloomery_scan_result;

#define BLOOMERY_SCAN_RESULT BLOOMERY_SIZED(bloomery_scan_result)

/* Reads all cells and fills `result`: some seconds per 10 GB. Cannot fail, as bloomery_info_get. */
BLOOMERY_PUBLIC void bloomery_scan(const bloomery_filter *filter, bloomery_scan_result *result);

/* Returns how many more distinct keys the filter takes before its rate passes `limit`: a low
 * estimate from its bits, so ask again after that many adds. 0: it is full, the next key may pass
 * the limit, or it is static. UINT64_MAX: it grows, or its planned rate is unknown. A `limit` of 0
 * is that of 'bloomery add' and the Python package: the greater of wanted_rate and twice
 * planned_rate. Up to its planned keys a filter is never full. Adding never stops at a rate. Reads
 * all cells. */
BLOOMERY_PUBLIC uint64_t bloomery_keys_left(const bloomery_filter *filter, double limit);

/* ---- 8  Plans: numbers only, nothing is allocated ------------------------------------------- */

struct bloomery_plan {
    size_t struct_bytes; /* sizeof(bloomery_plan), or 0 */
    /* What the caller asks for. Solving leaves these fields as they are. */
    bloomery_kind kind; /* 0: blocked */
    uint32_t reserved;  /* 0 */
    uint64_t keys;      /* n: distinct keys */
    double rate;        /* p: the highest rate with n keys in the filter */
    uint64_t bytes;     /* the most memory of the cells */
    /* What the filter will be. */
    uint32_t blocks_per_key; /* L: 1 to 4; classic 0 */
    uint32_t probes;         /* k, per block: 1 to 8; classic: per key, 1 to 64 */
    uint32_t cell_bits;      /* 1; counting: 4 or 8 */
    /* The hash that the rate is planned with: XXH3-64, unless options name another or 64 bits are
     * too few. An absent key has the same 64 bits as one of n keys with probability n / 2^64, which
     * is part of the rate. If that is over 1 % of it, the plan uses XXH3-128. */
    bloomery_hash_id hash;
    uint64_t bits; /* m: the number of cells, bits or counters. A multiple of 512, unless classic */
    uint64_t planned_keys; /* that it holds at planned_rate */
    double planned_rate;   /* of the filter as built: at most `rate` */
    /* Memory of the cells. A filter takes some hundred bytes more, each further layer 100 to 200, a
     * scalable one for concurrent adds 7 KiB; its file its header and 8 bytes per 64 KiB. */
    uint64_t planned_bytes;
    double bits_per_key; /* memory: m cell_bits / n; 0 for 0 keys */
    double limit_ratio;  /* memory relative to the information-theoretic minimum, n log2(1/p) */
    /* Cache lines read, on average, to answer for an absent key and for a present one. */
    double absent_cache_lines;
    double present_cache_lines;
};

#define BLOOMERY_PLAN BLOOMERY_SIZED(bloomery_plan)

/*
 * Solves a plan: the caller sets two of keys, rate and bytes, and the kind if it is not blocked.
 * The call fills the fields below them. It can be repeated, with the same numbers or others.
 * `options` may force some of the results.
 *
 *   keys, rate   The least memory whose rate is at most the given one.
 *   keys, bytes  The best rate that fits in `bytes`. Refused if that rate would be over 0.5.
 *   rate, bytes  The most keys for which the rate holds within `bytes`.
 *   rate alone   The smallest filter, for 0 keys; planned_keys and _rate are 0. Not if scalable.
 *
 * The plan of a scalable filter is that of its first layer, which grows for the first time after
 * planned_keys. planned_rate is the one that the whole filter stays under, however far it grows;
 * its first layer is planned for a quarter of it. `bytes` cannot be given: the memory_limit of
 * bloomery_create_options bounds the filter. The rate is at least 1e-12.
 *
 * Ranges: keys up to 2^48, rate 1e-15 to below 1, bytes 64 to 2^47. BLOOMERY_BAD_ARGUMENT for
 * fields that are missing, too many or out of range, or if no plan is possible; the text then says
 * what would be possible. BLOOMERY_UNSUPPORTED for an unknown kind. On failure the plan is
 * unchanged. The rate is the exact sum over the layout (docs/mathematics.md). A few ms, some 100 ms
 * at rates like 1e-12. No memory is allocated; any thread.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_solve(bloomery_plan *plan,
                                                    const bloomery_plan_options *options,
                                                    bloomery_error *error);

/* Returns the expected rate if the filter of this plan held `keys` distinct keys, by kind, bits,
 * probes, blocks_per_key and hash; if scalable, its first layer's. 0 for 0 keys, 1 if invalid. */
BLOOMERY_PUBLIC double bloomery_plan_rate(const bloomery_plan *plan, uint64_t keys);

/* ---- 9  Options ------------------------------------------------------------------------------ */

/* The allocator of a filter's memory. All NULL: the C library. `allocate` returns `bytes` bytes at
 * an address that is a multiple of `alignment` (a power of two, at most 2 MiB), or NULL. A block at
 * any other address is released and counts as NULL. The contents may be anything. `release` gets
 * the same numbers back. `allocate_zeroed`, if not NULL, is called in place of `allocate`; its
 * memory is zero already, and no zeros are written over it, so pages that no key touches stay
 * untouched. The calling thread calls them, in functions that create, open, copy, move, write,
 * save, merge or free a filter, that add with several threads, or that add to a scalable filter or
 * clear it. They must be thread-safe if several threads write to one filter. */
typedef struct bloomery_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes, size_t alignment);
    void *context;
    void *(*allocate_zeroed)(void *context, size_t bytes, size_t alignment);
} bloomery_allocator;

enum { BLOOMERY_NOTE_BYTES = 4000 };

/* Numbers that a plan is forced to have. */
struct bloomery_plan_options {
    size_t struct_bytes;     /* sizeof(bloomery_plan_options), or 0 */
    bloomery_hash_id hash;   /* the hash that the rate is planned with */
    uint32_t blocks_per_key; /* L of a blocked, counting or scalable filter: 1 to 4 */
    uint32_t probes;         /* k, per block: 1 to 8; of a classic filter, per key: 1 to 64 */
    uint32_t cell_bits;      /* of a counting filter: 4 (the default) or 8 */
    uint32_t folds;          /* the filter can be halved this many times: 0 to 30 */
    uint32_t reserved;       /* 0 */
};

#define BLOOMERY_PLAN_OPTIONS BLOOMERY_SIZED(bloomery_plan_options)

/* What a new filter is besides its plan. */
struct bloomery_create_options {
    size_t struct_bytes;          /* sizeof(bloomery_create_options), or 0 */
    bloomery_allocator allocator; /* for the filter and everything that it owns */
    /* Any number of threads may add and query at once. If threads add the same key concurrently, at
     * least one call returns that it is new, possibly more. No key is lost. Costs an atomic OR for
     * each newly set bit: batches of new keys take two to six times as long as in a plain filter,
     * queries and repeated keys little longer. */
    bool concurrent_adds;
    bool secret_outside; /* keep the secret out of the file; the caller keeps it */
    uint8_t reserved[6]; /* 0 */
    /* Of a scalable filter: the most bytes of its layers together; 0: no limit. Not kept in the
     * file. Adding a key that needs a layer beyond it fails with BLOOMERY_FULL. */
    uint64_t memory_limit;
    uint64_t seed; /* for XXH3; must be 0 with a secret */
    /* BLOOMERY_SECRET_BYTES bytes, or NULL. With a secret the hash is SipHash, whatever the plan
     * says. A plan for SipHash without a secret draws a random one. */
    const uint8_t *secret;
    bloomery_key_rule rule; /* how keys are made of records; kept in the file */
    /* A remark kept in the file: UTF-8, at most BLOOMERY_NOTE_BYTES bytes; NULL: none. */
    const char *note;
};

#define BLOOMERY_CREATE_OPTIONS BLOOMERY_SIZED(bloomery_create_options)

/* How a filter that exists already comes into memory: from a file, bytes, or another filter
 * (bloomery_open, _map, _load, _view, _fold, _drop_counters, _copy, _dialect_load). */
struct bloomery_open_options {
    size_t struct_bytes;          /* sizeof(bloomery_open_options), or 0 */
    bloomery_allocator allocator; /* for the filter and everything that it owns */
    /* Open even if keys cannot be hashed (a keyed filter without its secret). Facts can be read,
     * bloomery_may_contain returns true for every key, adding fails. */
    bool inspect;
    /* As in bloomery_create_options. Has no effect on maps and views. A scalable filter that
     * already exceeds the limit is still opened. */
    bool concurrent_adds;
    uint8_t reserved[2]; /* 0 */
    /* Of bloomery_open and _map with a path of NULL: a file that is open for reading. */
    int32_t descriptor;
    uint64_t memory_limit;
    /* BLOOMERY_SECRET_BYTES bytes: the secret of a filter whose file does not carry it; or NULL. */
    const uint8_t *secret;
    /* As in bloomery_create_options; for filters of other systems, whose bytes carry neither. */
    bloomery_key_rule rule;
    const char *note;
};

#define BLOOMERY_OPEN_OPTIONS BLOOMERY_SIZED(bloomery_open_options)

/* ---- 10  Hash once, query many filters ------------------------------------------------------- */

/* Hash a key once and query several filters, which must share hash, seed and secret (bloomery_info
 * reports them). BLOOMERY_SECRET_NEEDED for a filter opened without its secret,
 * BLOOMERY_UNSUPPORTED if positions are not a function of 128 bits of hash; the query by hash then
 * answers "possibly". bloomery_add_hash returns as bloomery_add does. */
BLOOMERY_PUBLIC bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                                  bloomery_hash *hash, bloomery_error *error);
BLOOMERY_PUBLIC bool bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash,
                                       bloomery_error *error);
BLOOMERY_PUBLIC bool bloomery_may_contain_hash(const bloomery_filter *filter,
                                               bloomery_hash hash) BLOOMERY_USE_RESULT;

/* Hashes many keys, for bloomery_keys_of_hashes. `hashes` has room for keys->count; {0, 0} where a
 * key is missing. Many threads may hash at once, and the result serves many filters. */
BLOOMERY_PUBLIC bloomery_status bloomery_hash_keys(const bloomery_filter *filter,
                                                   const bloomery_keys *keys, bloomery_hash *hashes,
                                                   bloomery_error *error);

/* ---- 11  Removing and counting --------------------------------------------------------------- */

/* Removes a key from a counting filter: each of its counters falls by one. Returns true if it was
 * removed. Returns false if a counter shows that the key is definitely not in the filter, and
 * nothing is changed; and on failure, as error->status tells: BLOOMERY_UNSUPPORTED for other kinds,
 * BLOOMERY_SECRET_NEEDED. If only added keys are removed, and no more often than they were added,
 * no key that is still in the filter is ever lost. Counters saturate at 15 (255) and never fall
 * after that. Removing a key that was never added can cause false negatives: it succeeds at the
 * filter's rate, and lowers counters of other keys. If threads remove a key concurrently, no more
 * calls return true than it was added times. A thread must not remove a key before the call that
 * added it has returned. */
BLOOMERY_PUBLIC bool bloomery_remove(bloomery_filter *filter, bloomery_key key,
                                     bloomery_error *error);

/* Returns how often a key was added minus how often it was removed: the minimum of its counters. It
 * is never too low while below the maximum (bloomery_info.counter_max); at the maximum the key was
 * added that often or more. It is too high as often as a query would be a false positive, or if
 * other keys share all its counters. Without counters: 1 if the key may be in the filter. Without
 * the secret: the maximum. */
BLOOMERY_PUBLIC uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key);

/* Makes a blocked filter of the same keys, with the same blocks and positions: every counter that
 * is not 0 becomes a bit. These are the bits of a blocked filter of the same adds, and those of
 * saturated counters, whatever was removed since. The two kinds merge. `options`: the allocator;
 * adds, hash, secret, rule and note are the counting filter's. BLOOMERY_UNSUPPORTED if `filter` is
 * not counting, BLOOMERY_CORRUPT for a map or a view of damaged bytes, BLOOMERY_OUT_OF_MEMORY. */
BLOOMERY_PUBLIC bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                                       const bloomery_open_options *options,
                                                       bloomery_filter **dropped,
                                                       bloomery_error *error);

/* ---- 12  Several filters --------------------------------------------------------------------- */

/* Checks whether two filters are compatible. Returns BLOOMERY_OK, or BLOOMERY_MISMATCH with a text
 * that names the first field that differs and both its values, in this order: kind, cell bits,
 * dialect, hash, seed, secret (by its fingerprint), key rule (what decides the bytes of a key),
 * blocks per key, probes. The sizes must be equal, or the larger one must fold to the smaller one.
 * Layers of scalable filters may differ in blocks per key, probes and size. */
BLOOMERY_PUBLIC bloomery_status bloomery_compatible(const bloomery_filter *one,
                                                    const bloomery_filter *other,
                                                    bloomery_error *error);

/*
 * Adds every key of `from` to `into` (union), bit for bit as if the keys had been added one by one.
 * If `from` is larger, its bits are folded first. If `into` is larger, the result is
 * BLOOMERY_MISMATCH: fold it first. Counters are summed and saturate. The two may be the same
 * filter: its counters double, bits and scalable filters stay as they are.
 *
 * Layers of scalable filters are merged if they have the same shape and the union has no more set
 * bits than a full layer; so shards of one plan become one chain. `into` gets copies of the other
 * layers, and their rates add up. Keys are then added to the larger of the two newest layers.
 *
 * Adds are summed. Plan, rule, note and the place of a secret stay those of `into`; opened without
 * its secret, it learns it from `from`. The rate becomes that of all the keys: make parts with one
 * plan, for the keys of all parts. BLOOMERY_MISMATCH, BLOOMERY_READ_ONLY, BLOOMERY_FULL past 64
 * layers or `memory_limit`, BLOOMERY_OUT_OF_MEMORY, BLOOMERY_CORRUPT if `from` is a damaged map or
 * view, BLOOMERY_UNSUPPORTED for static filters and chains of other systems; as bloomery_write if
 * keys could not be added to `from`. On failure `into` is unchanged. Memory is allocated for layers
 * only.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_merge(bloomery_filter *into, const bloomery_filter *from,
                                               bloomery_error *error);

/* Keeps in `into` every key that is in both filters (intersection); of two counters the lesser one
 * stays. It is not the filter of the common keys only: bits that different keys set in the two stay
 * as well. Its rate for keys in neither is at most the lower of the two rates at the size of
 * `into`, and about their product if the two have no keys in common. A key in one of them alone is
 * a false positive at the other's rate at that size. The lesser number of adds is kept.
 * BLOOMERY_UNSUPPORTED for scalable filters, else as bloomery_merge. */
BLOOMERY_PUBLIC bloomery_status bloomery_intersect(bloomery_filter *into,
                                                   const bloomery_filter *from,
                                                   bloomery_error *error);

/* Makes a filter of half the size, `times` times over (1 to 30). It equals, bit for bit, one built
 * at that size with the same probes. Its rate is higher, as bloomery_plan_rate says for the fewer
 * bits; its planned rate is that of the planned keys at the new size. `options`: the allocator, and
 * concurrent_adds. BLOOMERY_BAD_ARGUMENT if the number of blocks (classic: of bits) is not a
 * multiple of 2^times: `folds` of bloomery_plan_options plans for it. BLOOMERY_UNSUPPORTED for
 * scalable and static filters and those of other systems. BLOOMERY_CORRUPT, _OUT_OF_MEMORY. */
BLOOMERY_PUBLIC bloomery_status bloomery_fold(const bloomery_filter *filter, uint32_t times,
                                              const bloomery_open_options *options,
                                              bloomery_filter **folded, bloomery_error *error);

/* Write the union or the intersection of 1 or more compatible filters, at the smallest of their
 * sizes, straight to a file as bloomery_save does: the file that bloomery_fold, bloomery_merge and
 * bloomery_save make in memory. Maps of files of any size can be merged this way: the payloads pass
 * through in pieces of 64 KiB, for each of which only 8 bytes are allocated, from the first
 * filter's allocator. Rule, note, plan and the place of a secret are the first one's. `path` may be
 * that of one of the filters. BLOOMERY_MISMATCH or BLOOMERY_CORRUPT, with the number of the filter
 * (from 1) in the text, before anything is written. BLOOMERY_UNSUPPORTED for scalable, static ones;
 * else as bloomery_save. */
BLOOMERY_PUBLIC bloomery_status bloomery_merge_save(const bloomery_filter *const *filters,
                                                    size_t count, const char *path,
                                                    bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_intersect_save(const bloomery_filter *const *filters,
                                                        size_t count, const char *path,
                                                        bloomery_error *error);

/* What two filters have in common: estimates from the bits of both and of their union, at the
 * smaller of the two sizes. If all bits of the union are set there, union_keys and deviation are
 * infinite, common_keys and jaccard are NaN. */
typedef struct bloomery_comparison {
    size_t struct_bytes; /* sizeof(bloomery_comparison), or 0 */
    double keys[2];      /* distinct keys of the one and of the other */
    double union_keys;
    double common_keys;       /* keys[0] + keys[1] - union_keys, and not less than 0 */
    double jaccard;           /* common_keys / union_keys; 0 for two empty filters */
    double deviation;         /* standard deviation of common_keys (docs/mathematics.md) */
    double jaccard_deviation; /* and of jaccard */
    /* Whether each bit of the one is set in the other, which then seems to have all its keys; and
     * the reverse. Of counters: those that are not 0. */
    bool within[2];
    bool equal; /* bit for bit, or counter for counter */
    uint8_t reserved[5];
} bloomery_comparison;

#define BLOOMERY_COMPARISON BLOOMERY_SIZED(bloomery_comparison)

/* Compares two compatible filters, which may have different sizes. Time: that of reading both.
 * Allocates no memory. BLOOMERY_MISMATCH; BLOOMERY_UNSUPPORTED for scalable and static ones. */
BLOOMERY_PUBLIC bloomery_status bloomery_compare(const bloomery_filter *one,
                                                 const bloomery_filter *other,
                                                 bloomery_comparison *comparison,
                                                 bloomery_error *error);

/* ---- 13  Threads ----------------------------------------------------------------------------- */

/* Returns how many threads the process may run at once, at least 1: what BLOOMERY_THREADS_ALL
 * stands for. Fewer if a memory limit leaves too little room for each. */
BLOOMERY_PUBLIC uint32_t bloomery_threads(void);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_BLOOMERY_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery: approximate membership filters whose rate is the one you asked for.
 *
 * A filter remembers keys in a few bits each. Asked for a key, it answers "surely never added" or
 * "maybe added"; how often it says "maybe" about a key that was never added is its rate, chosen
 * before the filter is made:
 *
 *     bloomery_plan plan = {.keys = 20000000, .rate = 0.01};
 *     bloomery_filter *filter = NULL;
 *     bloomery_error error;
 *     if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK ||
 *         bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     bloomery_add(filter, bloomery_key_of("850101312345", 12), NULL);
 *     if (bloomery_may_contain(filter, bloomery_key_of("850101312345", 12)))
 *         ...
 *     bloomery_save(filter, "ids.bloom", &error);
 *     bloomery_free(filter);
 *
 * The words (they mean the same in every part of Bloomery):
 *
 *   key     a span of bytes: any length, any bytes, the empty key included
 *   hash    what a key becomes: 64 or 128 bits, {lo, hi}
 *   kind    the structure: blocked (the default), classic, counting or scalable; others are
 *           numbered already
 *   cell    what a position names: a bit or, in a counting filter, a counter of 4 or 8 bits
 *   line    512 cells in eight words of 64; of bits, one cache line. A blocked filter is an array
 *           of them
 *   probe   one bit position that a key touches
 *   plan    the numbers of a filter before it exists
 *   rate    the false-positive rate
 *   layer    one array of cells; a filter is a chain of 1 to 64 layers, a plain filter of one
 *
 * Conventions
 *
 *   Errors     What can fail returns a bloomery_status (0 is BLOOMERY_OK, failures are negative)
 *              and fills the caller's bloomery_error, if one is given, with a sentence for people.
 *              An error struct is only written on failure. The library never prints or exits.
 *   Ownership  Handles come from bloomery_create, _open, _view and _load and end in bloomery_free.
 *              Everything passed in stays the caller's and is not kept, except the bytes given to
 *              bloomery_view. On failure the out-handle is set to NULL.
 *   NULL       `options` and `error` may be NULL everywhere. bloomery_free(NULL) does nothing.
 *              Other pointers must be valid, except where a comment says "may be NULL".
 *   Structs    bloomery_options and bloomery_info begin with their own size, so that they can grow:
 *              initialise them with BLOOMERY_OPTIONS and BLOOMERY_INFO. All-zero fields mean
 *              "default" or "unknown".
 *   Threads    Different filters are independent. On one filter, any number of threads may call the
 *              functions that take a `const bloomery_filter *` at the same time, so long as no
 *              thread changes it. Changing it (_add..., _remove..., _build..., _merge, _intersect,
 *              _clear, _free) needs the filter to oneself - except that a filter made with
 *              `concurrent_adds` allows any number of threads to add, to remove and to ask at the
 *              same time (see there what NEW then means). All other functions that read bits
 *              (_write, _save, _verify, _fold, _compare, a scanning _info_get, ...) and those that
 *              change or free the whole need a filter to which nobody adds.
 *   Asserts    check the library itself, not its callers' data; builds of type "release", which
 *              `make install` makes, leave them out.
 *   Caveat     A filter opened without BLOOMERY_OPEN_COPY is a map of its file. If another process
 *              truncates that file, reading the map raises SIGBUS; Bloomery itself always replaces
 *              files by rename and never does that. Open with BLOOMERY_OPEN_COPY where others
 *              might.
 */
#ifndef BLOOMERY_BLOOMERY_H
#define BLOOMERY_BLOOMERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, which the build reads; bloomery_version() tells the library's. */
#define BLOOMERY_VERSION_MAJOR 0
#define BLOOMERY_VERSION_MINOR 1
#define BLOOMERY_VERSION_PATCH 0
#define BLOOMERY_VERSION       "0.1.0"

/* The version of the files that the library writes and reads. */
#define BLOOMERY_FILE_FORMAT 2u

#if defined(__GNUC__)
#define BLOOMERY_PUBLIC __attribute__((visibility("default")))
#else
#define BLOOMERY_PUBLIC
#endif

/* A struct that begins with its size, zero in all else. C++ has no designated initialisers before
 * C++20. */
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

/* ---- Results and errors --------------------------------------------------------------------- */

/* One row per status: name, value (never renumbered), sentence. */
#define BLOOMERY_STATUS_LIST(ROW)                                                                  \
    ROW(BLOOMERY_OK, 0, "no error")                                                                \
    ROW(BLOOMERY_BAD_ARGUMENT, -1, "an argument is outside its range")                             \
    ROW(BLOOMERY_OUT_OF_MEMORY, -2, "not enough memory")                                           \
    ROW(BLOOMERY_IO_FAILED, -3, "reading or writing failed")                                       \
    ROW(BLOOMERY_NOT_A_FILTER, -4, "not a Bloomery filter")                                        \
    ROW(BLOOMERY_WRONG_VERSION, -5, "another version of the format, or a part of it unknown here") \
    ROW(BLOOMERY_CORRUPT, -6, "the filter is damaged")                                             \
    ROW(BLOOMERY_TRUNCATED, -7, "the filter is cut short, or something follows it")                \
    ROW(BLOOMERY_MISMATCH, -8, "the filters do not fit together")                                  \
    ROW(BLOOMERY_READ_ONLY, -9, "the filter is read-only")                                         \
    ROW(BLOOMERY_FULL, -10, "the filter is full")                                                  \
    ROW(BLOOMERY_UNSUPPORTED, -11, "this filter or this build cannot do that")                     \
    ROW(BLOOMERY_SECRET_NEEDED, -12,                                                               \
        "the filter is keyed and its key was not given, or is another")                            \
    ROW(BLOOMERY_BUSY, -13, "another process is using it")

typedef enum bloomery_status {
#define BLOOMERY_STATUS_ROW(name, value, text) name = value,
    BLOOMERY_STATUS_LIST(BLOOMERY_STATUS_ROW)
#undef BLOOMERY_STATUS_ROW
} bloomery_status;

/* What adding or removing a key found. Functions that return them return an int: a result, or a
 * negative status. */
enum {
    BLOOMERY_SEEN = 0,    /* every bit was set before: the key was probably added already */
    BLOOMERY_NEW = 1,     /* at least one bit was not set: the key was surely not in the filter */
    BLOOMERY_ABSENT = 0,  /* the key was surely not in the filter; nothing changed */
    BLOOMERY_REMOVED = 1, /* its counters are one less, but for those at their maximum */
};

/* Why something failed. Belongs to the caller; may be NULL wherever one is taken. */
typedef struct bloomery_error {
    bloomery_status status;
    /* Where in the file or span, in bytes; of a column, the number of a key; 0 where that has no
     * meaning. */
    uint64_t offset;
    char text[240]; /* a sentence, NUL-terminated, cut if need be, without a final newline */
} bloomery_error;

/* "BLOOMERY_CORRUPT" and "the filter is damaged". For an unknown value: "BLOOMERY_?" and "unknown
 * status". Never NULL; static storage. */
BLOOMERY_PUBLIC const char *bloomery_status_name(int status);
BLOOMERY_PUBLIC const char *bloomery_status_text(int status);

/* The library's version at run time, such as "0.1.0". Static storage. */
BLOOMERY_PUBLIC const char *bloomery_version(void);

/* ---- Keys and hashes ------------------------------------------------------------------------ */

/* A key: `bytes` bytes at `data`. The empty key {anything, 0} is a key like any other. */
typedef struct bloomery_key {
    const void *data;
    size_t bytes;
} bloomery_key;

static inline bloomery_key bloomery_key_of(const void *data, size_t bytes)
{
    bloomery_key key;
    key.data = data;
    key.bytes = bytes;
    return key;
}

/* A hashed key. It fits every filter with the same hash id, seed and key. A hash of 64 bits is
 * `hi`, and `lo` is 0. */
typedef struct bloomery_hash {
    uint64_t lo;
    uint64_t hi;
} bloomery_hash;

/* XXH3 is fast, and public: who can choose keys can make false positives, whatever the seed. */
typedef enum bloomery_hash_id {
    BLOOMERY_HASH_DEFAULT = 0,  /* as the plan says; SipHash where a key is given */
    BLOOMERY_HASH_XXH3_128 = 1, /* XXH3, 128 bits, 64-bit seed: where 64 bits are too few */
    BLOOMERY_HASH_SIPHASH = 2,  /* SipHash-2-4, 128 bits, with a secret 128-bit key */
    BLOOMERY_HASH_XXH3_64 = 3,  /* XXH3, 64 bits, 64-bit seed: {lo, hi} are 0 and the hash */
} bloomery_hash_id;

enum { BLOOMERY_SECRET_BYTES = 16 }; /* the length of a secret key */

/* ---- Memory --------------------------------------------------------------------------------- */

/*
 * Where a filter's memory comes from. All NULL: the C library. `allocate` returns `bytes` bytes at
 * an address that is a multiple of `alignment` (a power of two, at most 2 MiB), or NULL (any other
 * address is given back and counts as NULL); the contents may be anything. `release` gets the same
 * numbers back. Both are called within calls that make, write, save, merge or free the filter,
 * build it with several threads, or add to a scalable one, by the calling thread; where several
 * threads write one filter at once, the allocator must stand that.
 */
typedef struct bloomery_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes, size_t alignment);
    void *context;
} bloomery_allocator;

/* ---- Options -------------------------------------------------------------------------------- */

/* How keys were made from the input before they reached the filter; kept in the file so that every
 * program asks with the same keys. The library stores and returns it and never changes a key. All
 * zero: a key is a whole record. */
typedef struct bloomery_key_rule {
    uint32_t flags;     /* BLOOMERY_RULE_... */
    uint32_t delimiter; /* the byte between fields, 0 to 255; only with a field */
    int32_t field;      /* 1 the first, -1 the last, 0 the whole record */
    uint32_t comment;   /* records that begin with this byte, 1 to 255, are no keys; 0: none are */
} bloomery_key_rule;

enum {
    BLOOMERY_RULE_TRIM = 1,        /* blanks at both ends removed */
    BLOOMERY_RULE_LOWER = 2,       /* ASCII letters made lower case */
    BLOOMERY_RULE_UPPER = 4,       /* ASCII letters made upper case */
    BLOOMERY_RULE_HEX = 8,         /* pairs of hexadecimal digits made bytes */
    BLOOMERY_RULE_CRLF = 16,       /* a carriage return at the end removed */
    BLOOMERY_RULE_SKIP_EMPTY = 32, /* empty records are no keys */
    BLOOMERY_RULE_CSV = 64,        /* fields are quoted as in CSV */
    BLOOMERY_RULE_INT64 = 128,     /* whole decimal numbers made 8 bytes, two's complement, the
                                      least significant byte first */
    BLOOMERY_RULE_INT32 = 256,     /* the same with 4 bytes */
    BLOOMERY_RULE_UTF16 = 512,  /* UTF-8 made UTF-16, the less significant byte of a unit first */
    BLOOMERY_RULE_KNOWN = 1023, /* all of the above; of lower, upper, hex, int64 and int32 at
                                      most one, and of hex, int64, int32 and utf16 */
};

enum {
    BLOOMERY_OPEN_COPY = 1,    /* read the whole file into memory, check every checksum, and allow
                                  adding; the file itself does not change */
    BLOOMERY_OPEN_INSPECT = 2, /* open even where keys can't be hashed (a keyed filter without its
                                  key): facts can be read, may_contain always says true, adding
                                  is BLOOMERY_SECRET_NEEDED */
};

/* What a caller may choose. Zero fields take the default. The struct may grow at its end. */
typedef struct bloomery_options {
    size_t struct_bytes;          /* sizeof(bloomery_options) */
    bloomery_allocator allocator; /* for the filter and everything it owns */
    bloomery_hash_id hash;        /* plan, create: BLOOMERY_HASH_... */
    uint64_t seed;                /* create: for XXH3; must be 0 with SipHash */
    const uint8_t *secret;   /* BLOOMERY_SECRET_BYTES bytes, or NULL. create: the secret key; NULL
                                     with SipHash draws a random one. open, view, load: the key of a
                                     filter that does not carry it */
    bool secret_outside;     /* create: keep the key out of the file; the caller keeps it */
    bool concurrent_adds;    /* create, load, open with COPY: any number of threads may add and
                                     query at once. Of threads that add the same key at once at
                                     least one gets NEW, perhaps several; none is lost. Costs an
                                     atomic OR per bit that is newly set: batches of new keys take
                                     two to six times as long as in a plain filter, queries and
                                     keys that are there hardly longer. Without meaning for maps
                                     and views, to which nobody adds */
    uint32_t folds;          /* plan: the filter can be halved this many times (0 to 30) */
    uint32_t blocks_per_key; /* plan: L, lines per key of a blocked filter (0: choose; 1 to 4) */
    uint32_t probes;         /* plan: k, per line if blocked (0: choose; 1 to 8; classic: to 64) */
    uint32_t open_flags;     /* open, view, load: BLOOMERY_OPEN_... */
    bloomery_key_rule rule;  /* create: kept in the file */
    const char *note;        /* create: a remark kept in the file, UTF-8, NULL: none. At most
                               BLOOMERY_NOTE_BYTES bytes */
    bool exactly_once;       /* with concurrent_adds, else BLOOMERY_BAD_ARGUMENT: of all calls that
                               add a key one gets NEW and no second, whatever the threads; none
                               where other keys, or a build, had set all its bits before. Costs a
                               lock per key added, one of 256, chosen by the key's hash, and
                               16 KiB */
    uint64_t memory_limit; /* create, load, open with COPY of a scalable filter: the bytes that its
                               layers may take together; 0: no limit. Not kept in the file. A key
                               that would need a layer beyond it is BLOOMERY_FULL; one that takes
                               more already is opened all the same */
} bloomery_options;

enum { BLOOMERY_NOTE_BYTES = 4000 };

#define BLOOMERY_OPTIONS BLOOMERY_SIZED(bloomery_options)

/* ---- Plans: numbers only, nothing is allocated ---------------------------------------------- */

/* The numbers are those in files; never renumbered. Kinds without a comment are reserved. */
typedef enum bloomery_kind {
    BLOOMERY_KIND_DEFAULT = 0, /* blocked */
    BLOOMERY_BLOCKED = 1,      /* k bits in each of L 512-bit lines: one cache miss per line */
    BLOOMERY_CLASSIC = 2,      /* k bits over one flat array: least memory, k cache misses */
    BLOOMERY_COUNTING = 3,     /* as blocked, with a counter in the place of each bit: keys can be
                              removed. 4 times the memory, or 8 */
    BLOOMERY_SCALABLE = 4, /* a chain of blocked layers that grows: for an unknown number of keys */
    BLOOMERY_STATIC = 5,
    BLOOMERY_CUCKOO = 6,
} bloomery_kind;

/* "blocked", "classic", ...; NULL for a number that is no kind. bloomery_kind_find is the reverse
 * and returns BLOOMERY_KIND_DEFAULT for a name that is none. Both know reserved kinds too. */
BLOOMERY_PUBLIC const char *bloomery_kind_name(int kind);
BLOOMERY_PUBLIC bloomery_kind bloomery_kind_find(const char *name);

typedef struct bloomery_plan {
    bloomery_kind kind;      /* set by the caller, 0 for blocked */
    uint32_t blocks_per_key; /* L: lines per key (blocked, counting, scalable 1 to 4, classic 0) */
    uint32_t probes;         /* k: bits per key and line, 1 to 8 (classic: per key, 1 to 64) */
    uint32_t cell_bits;      /* may be set by the caller. 1; counting: 4 (the default) or 8 */
    uint64_t keys;           /* n: distinct keys it is made for */
    double rate;             /* p: false-positive rate with n keys in it, of the filter as built */
    uint64_t bytes;      /* memory of the array; a filter takes some hundred bytes more (a scalable
                           one 7 KiB), its file these and 8 bytes per 64 KiB */
    uint64_t bits;       /* m: the cells of the array, bits or counters; a multiple of 512 but in a
                           classic filter */
    double bits_per_key; /* memory: m cell_bits / n */
    double limit_ratio;  /* that memory over the least any structure can do, n log2(1/p) */
    double absent_cache_lines;  /* cache lines read, on average, to answer for an absent key */
    double present_cache_lines; /* and for a present one */
    /* The hash that `rate` is planned with. XXH3-64, unless options say otherwise, or 64 bits are
     * too few: an absent key shares all of them with one of n keys with probability n / 2^64. That
     * is part of the rate, and where it is over 1 % of the rate the plan takes XXH3-128. */
    bloomery_hash_id hash;
} bloomery_plan;

/*
 * Solves a plan. The caller zeroes the struct and sets two of keys, rate and bytes (and kind, if
 * not blocked); all other fields are filled. `options` may ask for lines, probes and folds.
 *
 *   keys, rate   the least memory whose rate is at most the rate asked for. On return `rate` is the
 *                rate of the filter as it will be built, at or a little under the one asked for.
 *   keys, bytes  the best rate that fits in `bytes`; on return `bytes` may be a little less.
 *                Refused where that rate would be over 0.5.
 *   rate, bytes  the most keys for which the rate holds within `bytes`.
 *
 * A scalable filter is planned by its first layer: `keys` are those after which it grows for the
 * first time, and `rate` is the one that the whole chain stays under however far it grows; the
 * other numbers are of the first layer, which is planned for a quarter of that rate, and `bytes`
 * can't be given (options.memory_limit bounds the chain). Its rate is at least 1e-12.
 *
 * Ranges: keys 1 to 2^48, rate 1e-15 to below 1, bytes 64 to 2^47.
 * BLOOMERY_BAD_ARGUMENT where not exactly two are set, where one is out of range, or where no
 * filter meets the wish; the text then says what would. BLOOMERY_UNSUPPORTED for a reserved kind.
 * The plan is unchanged on failure.
 *
 * The rate is the exact sum over the layout, small filters and rounding included;
 * docs/mathematics.md derives it. Most often a few ms, some 100 ms at rates like 1e-12; no memory
 * is allocated; any thread.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_solve(bloomery_plan *plan,
                                                    const bloomery_options *options,
                                                    bloomery_error *error);

/* The expected rate if the filter of this plan (kind, bits, probes, lines and hash are read; of a
 * scalable one: its first layer alone) held `keys` distinct keys. 0 keys: 0. What is no plan: 1. */
BLOOMERY_PUBLIC double bloomery_plan_rate(const bloomery_plan *plan, uint64_t keys);

/*
 * What a scalable filter of this solved plan will be when it has grown: the plan of layer number
 * `index`, 0 the first, as a blocked filter's; its rate is the layer's own. Solves as many plans as
 * there are layers up to it. BLOOMERY_BAD_ARGUMENT where the plan is not scalable or `index` is not
 * 0 to 63.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_layer(const bloomery_plan *plan, uint32_t index,
                                                    bloomery_plan *layer, bloomery_error *error);

/* ---- Making and freeing --------------------------------------------------------------------- */

typedef struct bloomery_filter bloomery_filter;

/*
 * An empty filter for a solved plan, or for one filled in by hand: kind, bits, probes, hash (0:
 * XXH3-64) and, if blocked, lines decide; keys and rate are noted in the file (0: unknown); bytes
 * may be 0, else it must fit. BLOOMERY_BAD_ARGUMENT, BLOOMERY_OUT_OF_MEMORY, or
 * BLOOMERY_UNSUPPORTED (a reserved kind, or a keyed hash in a build without libsodium). Time: that
 * of zeroing the memory, which large blocks get from the kernel for nothing.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_create(const bloomery_plan *plan,
                                                const bloomery_options *options,
                                                bloomery_filter **filter, bloomery_error *error);

/* Back to empty, same shape. BLOOMERY_READ_ONLY for maps and views. */
BLOOMERY_PUBLIC bloomery_status bloomery_clear(bloomery_filter *filter);

/* Releases everything the filter owns. NULL is fine. */
BLOOMERY_PUBLIC void bloomery_free(bloomery_filter *filter);

/* ---- Adding and asking ---------------------------------------------------------------------- */

/*
 * Adds a key. BLOOMERY_NEW, BLOOMERY_SEEN, or BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED. SEEN for a
 * key never added happens as often as a false positive. Where `new_bits` is not NULL it receives
 * how many bits were newly set (counters that left 0), 0 to k L. Adding past the planned keys is
 * allowed; the rate then rises as bloomery_plan_rate says.
 *
 * Counting: each counter of the key is one more, whatever the answer (a key added twice can be
 * removed twice); see bloomery_remove. Scalable: a key that one of the layers may have is SEEN and
 * not added again; a new one goes to the newest layer and, where that holds the keys it is planned
 * for, to another for twice the keys, made by this call. BLOOMERY_FULL where that layer would pass
 * `memory_limit` or the chain its 64 layers, BLOOMERY_OUT_OF_MEMORY where there is no memory for it:
 * the key was not added then, and all others stay.
 */
BLOOMERY_PUBLIC int bloomery_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits);

/* false: the key was surely never added. true: it probably was. Cannot fail. An empty filter says
 * false to every key, the empty key included; a filter with every bit set says true. */
BLOOMERY_PUBLIC bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key);

/*
 * The same for many keys at once, faster: the memory accesses of one key hide behind those of
 * others. `answers`, where not NULL, is an array of (count + 63) / 64 words: bit i & 63 of word i
 * >> 6 is set where key i was NEW (may be in the filter); the bits past count in the last word are
 * cleared. A key that appears twice in one batch is NEW the first time only. `new_bits`, where not
 * NULL, receives the bits newly set by the whole batch. Best in multiples of 64 keys, from some
 * hundreds on.
 *
 * bloomery_add_batch: BLOOMERY_OK or a failure; on failure nothing was added - but where a scalable
 * filter could not grow, all keys before the one that did not fit were (bloomery_info.adds counts
 * them), and the answers from that key on are 0.
 * bloomery_may_contain_batch: how many answers are true. `answers` may be NULL here too.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_add_batch(bloomery_filter *filter,
                                                   const bloomery_key *keys, size_t count,
                                                   uint64_t *answers, uint64_t *new_bits);
BLOOMERY_PUBLIC size_t bloomery_may_contain_batch(const bloomery_filter *filter,
                                                  const bloomery_key *keys, size_t count,
                                                  uint64_t *answers);

/*
 * Hash once, ask many filters: all those with the same hash id, seed and key, which is the caller's
 * to make sure (bloomery_info tells them). BLOOMERY_SECRET_NEEDED for a filter opened without its key,
 * BLOOMERY_UNSUPPORTED where positions are no function of 128 bits of hash.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                                  bloomery_hash *hash);
BLOOMERY_PUBLIC int bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash,
                                      uint32_t *new_bits);
BLOOMERY_PUBLIC bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash);

/* The same for many: bloomery_add_batch and bloomery_may_contain_batch in two steps, of which the
 * first can be done by many threads at once, and asked of many filters. `hashes` has room for
 * `count`. */
BLOOMERY_PUBLIC bloomery_status bloomery_hash_batch(const bloomery_filter *filter,
                                                    const bloomery_key *keys, size_t count,
                                                    bloomery_hash *hashes);
BLOOMERY_PUBLIC bloomery_status bloomery_add_hashes(bloomery_filter *filter,
                                                    const bloomery_hash *hashes, size_t count,
                                                    uint64_t *answers, uint64_t *new_bits);
BLOOMERY_PUBLIC size_t bloomery_may_contain_hashes(const bloomery_filter *filter,
                                                   const bloomery_hash *hashes, size_t count,
                                                   uint64_t *answers);

/*
 * Asks for the memory that bloomery_may_contain_hash or bloomery_add_hash will touch, without
 * waiting for it. For callers with a loop of their own: hash a key and prefetch, do something else
 * (best: the same for some hundred other keys), then ask:
 *
 *     bloomery_hash_key(filter, key, &hashes[i % 128]);
 *     bloomery_prefetch_hash(filter, hashes[i % 128]);
 *     ... 127 keys later ...
 *     bloomery_may_contain_hash(filter, hashes[i % 128])
 *
 * Changes nothing, cannot fail, any thread.
 */
BLOOMERY_PUBLIC void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash);

/* ---- Columns -------------------------------------------------------------------------------- */

/*
 * Many keys without a descriptor for each, as arrays, databases and Arrow hold them. In all forms
 * key i of the column, 0 to count - 1, is number first + i of what the pointers lead to.
 *
 *     FIXED      | key 0 | gap | key 1 | gap | ...     `width` bytes every `stride` bytes
 *     OFFSETS    data      | key 0  | key 1 | key 2 |   key i is bytes offsets[i] to
 *                offsets   0        9       15      21  offsets[i + 1] - 1 of data
 *     HASHES     what the hash of the filter made of the keys, somewhere else
 *
 * A column is checked whole before anything is added: BLOOMERY_BAD_ARGUMENT, with the number of the
 * first wrong key in error.offset where it is a key that is wrong. With integers of 8 bytes:
 *
 *     bloomery_column column = BLOOMERY_COLUMN;
 *     column.form = BLOOMERY_COLUMN_FIXED;
 *     column.data = integers;
 *     column.bytes = count * 8;
 *     column.width = 8;
 *     column.count = count;
 *     status = bloomery_may_contain_column(filter, &column, answers, &found, &error);
 */
typedef enum bloomery_column_form {
    BLOOMERY_COLUMN_FIXED = 1,     /* keys of one width: integers as they lie in memory, digests */
    BLOOMERY_COLUMN_OFFSETS32 = 2, /* int32_t offsets: Arrow's utf8 and binary */
    BLOOMERY_COLUMN_OFFSETS64 = 3, /* int64_t offsets: large_utf8, large_binary */
    BLOOMERY_COLUMN_HASHES64 = 4,  /* uint64_t: XXH3-64 with the filter's seed, for filters that
                                      have that hash; else BLOOMERY_MISMATCH */
    BLOOMERY_COLUMN_HASHES128 = 5, /* bloomery_hash, as bloomery_hash_batch makes them */
} bloomery_column_form;

typedef struct bloomery_column {
    size_t struct_bytes; /* sizeof(bloomery_column) */
    bloomery_column_form form;
    size_t count; /* keys */
    size_t first; /* number of the first one: Arrow's offset */
    const void *data;
    size_t bytes;  /* of `data`: nothing outside is read */
    size_t width;  /* FIXED: of a key, at least 1 */
    size_t stride; /* FIXED: from one key to the next, at least the width; 0: the width */
    /* OFFSETS: first + count + 1 of them, in the host's order, aligned or not. They never fall, and
     * end within `bytes`. */
    const void *offsets;
    /* Bit first + i, low bit first, is 0 where there is no key: nothing is added and the answer is
     * 0. NULL: all are keys. */
    const uint8_t *valid;
    /* How many are no keys, as far as the caller knows; 0 or -1: not known. Over 0 `valid` is
     * needed, which alone decides. */
    int64_t nulls;
} bloomery_column;

#define BLOOMERY_COLUMN BLOOMERY_SIZED(bloomery_column)

/*
 * The batches again. `answers` as there: (count + 63) / 64 words or NULL, bit i & 63 of word i >> 6
 * for key i: on a little-endian host Arrow's boolean bitmap. `found`, `new_bits`, `removed` may be
 * NULL. O(count), and no memory is allocated but where a scalable filter grows.
 *
 * Where a column is refused, nothing is written but the error.
 *
 * may_contain_column: `found` receives how many answers are true. A filter opened without its key
 * says "maybe" for each key, as bloomery_may_contain does, and the status is BLOOMERY_SECRET_NEEDED.
 * add_column: as bloomery_add_batch.
 * remove_column: as bloomery_remove for one key after the other; an answer is true where the key
 * was REMOVED, and `removed` receives how many were.
 * hash_column: `hashes` has room for `count`; where there is no key the hash is {0, 0}.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_may_contain_column(const bloomery_filter *filter,
                                                            const bloomery_column *column,
                                                            uint64_t *answers, size_t *found,
                                                            bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_add_column(bloomery_filter *filter,
                                                    const bloomery_column *column,
                                                    uint64_t *answers, uint64_t *new_bits,
                                                    bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_remove_column(bloomery_filter *filter,
                                                       const bloomery_column *column,
                                                       uint64_t *answers, size_t *removed,
                                                       bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_hash_column(const bloomery_filter *filter,
                                                     const bloomery_column *column,
                                                     bloomery_hash *hashes, bloomery_error *error);

/* ---- Removing and counting ------------------------------------------------------------------ */

/*
 * Removes a key from a counting filter: each of its counters is one less. BLOOMERY_REMOVED;
 * BLOOMERY_ABSENT where a counter shows that the key surely is not in the filter, and nothing is
 * changed; BLOOMERY_UNSUPPORTED for other kinds, BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED. Where
 * `cleared` is not NULL it receives how many counters reached 0, the opposite of `new_bits`.
 *
 * The promise: so long as only keys are removed that were added, and no more often, no key that is
 * still in it is ever lost. A counter that has reached its maximum (15 or 255) stays there for
 * ever: it no longer knows how many keys it stands for. Whoever removes keys that were never added
 * breaks the promise wherever one of them is taken for a member, which happens at the filter's
 * rate. Of threads that remove a key at once, no more get REMOVED than it was added times; a
 * thread removes a key only when the call that added it has returned.
 */
BLOOMERY_PUBLIC int bloomery_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared);
BLOOMERY_PUBLIC int bloomery_remove_hash(bloomery_filter *filter, bloomery_hash hash,
                                         uint32_t *cleared);

/*
 * How often a key was added, less its removals: its least counter, which is never too low while it
 * is below the maximum (bloomery_info.counter_max); at the maximum: that often or more. Too high
 * as often as a false positive, or where others share all its counters. In kinds without counters 1
 * where the key may be in the filter. Opened without its key: the maximum.
 */
BLOOMERY_PUBLIC uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key);

/*
 * A blocked filter of the same keys, of the same lines and positions: every counter that is not 0
 * becomes a bit. Its bits are those of the filter to which the keys would have been added - and of
 * counters that got stuck, whatever was removed since - and it merges with such. The adds noted are
 * the counting filter's. `options`: the allocator; hash, key, rule and note are the counting
 * filter's. BLOOMERY_UNSUPPORTED where `filter` is not counting, BLOOMERY_CORRUPT where it is a map
 * or a view of damaged bytes, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                                       const bloomery_options *options,
                                                       bloomery_filter **dropped,
                                                       bloomery_error *error);

/* ---- Building with several threads ---------------------------------------------------------- */

/*
 * Adds keys to one filter with several threads; the filter's bits and its count of adds are then
 * exactly those of bloomery_add_batch, whatever the number of threads. `threads` 0: as many as the
 * process may run at once; 1: only the calling one, which is always among them. The others are made
 * and joined within the call, which has the filter to itself, as every change has; only a filter
 * made with `concurrent_adds` may be added to and asked meanwhile. Keys are surely in it only when
 * the call is over.
 *
 * While it runs, each thread takes from the filter's allocator a thirty-second of the filter's
 * size, 64 KiB at least and 512 KiB at most, and 320 bytes for each of the 8 ranges that there are
 * for a thread and each line per key; but where threads are many, at least 11 KiB for each of them
 * and each line per key (for 32 threads and more 338 KiB a line). Hashes of 64 bits take
 * 7 and 210 KiB of these.
 *
 * Failures: those of bloomery_add_batch, and BLOOMERY_OUT_OF_MEMORY; nothing was added then, and no
 * source was asked. Where the system gives fewer threads, the build goes on with those.
 *
 * In a scalable filter the layer of a key depends on the order in which keys come: there the calling
 * thread works alone, takes the shares one after the other, and stops where the filter can't grow.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_add_parallel(bloomery_filter *filter,
                                                      const bloomery_key *keys, size_t count,
                                                      uint32_t threads, bloomery_error *error);

/*
 * The same for keys that come in portions. A source hands out the next portion of thread `thread`
 * (0 to threads - 1): it points `keys` to them and returns how many they are, 0 when there are no
 * more. It is called from several threads at once, each with its own number, and again and again by
 * each until it says 0; with one number never by two threads at a time, and never again after 0.
 * Numbers stand for shares of the keys: a thread whose share is done may go on with a share that no
 * thread has begun, so a source must not wait for what another number hands out. Keys and their
 * bytes must stay until the same number is asked again. A portion is best some thousand keys. A
 * source that fails remembers that itself and returns 0. No lock is held while a source runs.
 */
typedef size_t (*bloomery_source)(void *context, uint32_t thread, const bloomery_key **keys);

BLOOMERY_PUBLIC bloomery_status bloomery_add_from(bloomery_filter *filter, bloomery_source source,
                                                  void *context, uint32_t threads,
                                                  bloomery_error *error);

/* The same for a column: its keys in portions, whichever thread comes first. Failures: those of
 * bloomery_add_parallel and of bloomery_add_column. */
BLOOMERY_PUBLIC bloomery_status bloomery_add_column_parallel(bloomery_filter *filter,
                                                             const bloomery_column *column,
                                                             uint32_t threads,
                                                             bloomery_error *error);

/* How many threads the process may run at once: what 0 threads stands for. At least 1. */
BLOOMERY_PUBLIC uint32_t bloomery_threads(void);

/* ---- Files and bytes ------------------------------------------------------------------------ */

/*
 * Three ways in, and one promise: whatever the bytes are, once one of these has returned
 * BLOOMERY_OK no query can read or write outside the filter's memory. Header and metadata are
 * checked entirely before anything is allocated.
 *
 *   open   a file, mapped read-only: microseconds, whatever its size; the payload is not read, so
 *          damage in it shows in bloomery_verify and not here. With BLOOMERY_OPEN_COPY the whole
 *          file is read, its checksums are checked, and the filter can be added to.
 *   view   a read-only filter over bytes that the caller keeps alive and unchanged until
 *          bloomery_free. `data` must be a multiple of 64.
 *   load   a filter that owns a copy of these bytes, checksums checked, to which keys can be added.
 *
 * Failures: BLOOMERY_IO_FAILED, BLOOMERY_TRUNCATED, BLOOMERY_NOT_A_FILTER, BLOOMERY_WRONG_VERSION,
 * BLOOMERY_CORRUPT, BLOOMERY_SECRET_NEEDED, BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY; `error` says
 * which check at which offset.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_open(const char *path, const bloomery_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_view(const void *data, size_t bytes,
                                              const bloomery_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_load(const void *data, size_t bytes,
                                              const bloomery_options *options,
                                              bloomery_filter **filter, bloomery_error *error);

/* The exact number of bytes that bloomery_write produces. */
BLOOMERY_PUBLIC uint64_t bloomery_file_bytes(const bloomery_filter *filter);

/* Takes the next chunk of a file's bytes; anything but 0 stops the writing. */
typedef int (*bloomery_sink)(void *context, const void *data, size_t bytes);

/* Sends the file form to a sink, front to back. The same keys in the same shape (in a scalable
 * filter: in the same order) give the same bytes. A map or a view is verified first, for what is
 * damaged would get good checksums: BLOOMERY_CORRUPT. BLOOMERY_IO_FAILED if the sink stops,
 * BLOOMERY_OUT_OF_MEMORY if there is none for the checksums (8 bytes per 64 KiB). */
BLOOMERY_PUBLIC bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink,
                                               void *context, bloomery_error *error);

/*
 * Writes the file beside `path`, syncs it, renames it to `path` and syncs the directory: whatever
 * happens, `path` holds the old file or the new one, whole. Keeps the mode of an existing file; a
 * new one that carries a secret key can be read by its owner only. Follows a symbolic link to a
 * file. BLOOMERY_IO_FAILED leaves the old file and removes the new one. Where only the last step
 * fails (syncing the directory), the new file is in place but might not survive a power cut, and
 * the text says so. `path` must be a regular file or not exist. BLOOMERY_OUT_OF_MEMORY and
 * BLOOMERY_CORRUPT as in bloomery_write.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                                              bloomery_error *error);

/* Reads everything and compares every checksum of a mapped file or view; checks that spare bits
 * are zero in any filter. BLOOMERY_OK or BLOOMERY_CORRUPT with the offset of the first damage. */
BLOOMERY_PUBLIC bloomery_status bloomery_verify(const bloomery_filter *filter,
                                                bloomery_error *error);

/* ---- Several filters ------------------------------------------------------------------------- */

/*
 * Whether two filters fit together. BLOOMERY_OK, or BLOOMERY_MISMATCH with a text that names the
 * first field that differs and both its values. These must be the same, and are compared in this
 * order: kind, cell bits, dialect, hash, seed, secret key (by its fingerprint), key rule, and then
 * lines and probes; of the sizes one must be the other's, or fold to it. In scalable filters each
 * layer has its own lines, probes and size: those need not be the same.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_compatible(const bloomery_filter *one,
                                                    const bloomery_filter *other,
                                                    bloomery_error *error);

/*
 * Union: every key of `from` is in `into` afterwards, bit for bit as if it had been added there
 * (but for scalable filters, see below).
 * `from` may be the larger one, whose folded bits are then taken; where `into` is the larger one,
 * it is BLOOMERY_MISMATCH: fold it first. Counters are added up and stay at their maximum. The two
 * may be the same filter: its counters double, bits stay as they are.
 *
 * A scalable filter takes over copies of the layers of the other, and their rates add up; keys are
 * then added to the larger of the two newest layers. BLOOMERY_FULL past 64 layers or `memory_limit`.
 * Merged with itself it stays as it is.
 *
 * Adds are summed. Plan, key rule, note and the place where a secret key is kept stay those of
 * `into`; opened without its key, it learns it from `from`. The rate becomes that of all the keys
 * together: parts are best made with one plan, for the keys of all of them. Checksums of a map or
 * view are compared first, so its damage can't get a new checksum here.
 *
 * BLOOMERY_MISMATCH, BLOOMERY_READ_ONLY, BLOOMERY_CORRUPT (`from`), BLOOMERY_FULL,
 * BLOOMERY_OUT_OF_MEMORY; on failure `into` is unchanged. Memory is allocated for layers only.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_merge(bloomery_filter *into, const bloomery_filter *from,
                                               bloomery_error *error);

/*
 * Intersection: every key that is in both is in `into` afterwards; of counters the lesser one
 * stays. It is not the filter to which only the common keys were added: bits that different keys
 * set in the two stay as well. Its rate for keys that are in neither is at most the lower one of
 * the two rates at the size of `into`, and about their product where the two have no keys in
 * common; keys that are in one of them alone are taken for common ones as often as the rate of the
 * other at that size. How many common keys were added is not known; the lesser number of adds is
 * noted. BLOOMERY_UNSUPPORTED for scalable filters, else as bloomery_merge.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_intersect(bloomery_filter *into,
                                                   const bloomery_filter *from,
                                                   bloomery_error *error);

/*
 * A filter of half the size, `times` times over (1 to 30): bit for bit the one that would have been
 * built at that size with the same probes. Its rate is higher, as bloomery_plan_rate says for the
 * fewer bits; its planned rate is that of the planned keys at the new size.
 *
 * BLOOMERY_BAD_ARGUMENT where the number of lines (classic: of bits) is not a multiple of 2^times;
 * options.folds plans for it. BLOOMERY_UNSUPPORTED for scalable filters, BLOOMERY_CORRUPT as in
 * bloomery_merge, BLOOMERY_OUT_OF_MEMORY. `options`: the allocator, and concurrent_adds; all else
 * is the filter's.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_fold(const bloomery_filter *filter, uint32_t times,
                                              const bloomery_options *options,
                                              bloomery_filter **folded, bloomery_error *error);

/*
 * Union or intersection of any number (1 or more) of compatible filters, at the least of their
 * sizes, written straight to a file as bloomery_save does it: the payloads pass through in pieces
 * of 64 KiB, so that maps of files of any size are merged in a memory that does not grow with them
 * (but for 8 bytes per 64 KiB, from the first filter's allocator). The file is the one that
 * bloomery_fold, bloomery_merge and bloomery_save make in memory: rule, note, plan and the place of
 * a secret key are the first one's. `path` may be that of one of the filters.
 *
 * BLOOMERY_MISMATCH or BLOOMERY_CORRUPT, with the number of the filter in the text (the first is
 * 1), before anything is written; BLOOMERY_UNSUPPORTED for scalable filters; else as bloomery_save.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_merge_save(const bloomery_filter *const *filters,
                                                    size_t count, bool intersect, const char *path,
                                                    bloomery_error *error);

/* What two filters have in common: estimates from the bits of both and of their union, at the
 * smaller of the two sizes. Where all bits of the union are set there, union_keys and deviation are
 * infinite, common_keys and jaccard no number. */
typedef struct bloomery_comparison {
    double keys[2]; /* distinct keys of the one and of the other */
    double union_keys;
    double common_keys;       /* keys[0] + keys[1] - union_keys, and not less than 0 */
    double jaccard;           /* common_keys / union_keys; 0 for two empty filters */
    double deviation;         /* standard deviation of common_keys (docs/mathematics.md) */
    double jaccard_deviation; /* and of jaccard */
    bool within[2]; /* of the one: each of its bits is set in the other, which so seems to have
                           all its keys; and the reverse. Of counters: those that are not 0 */
    bool equal;     /* bit for bit, or counter for counter */
} bloomery_comparison;

/* Compares two compatible filters, of one size or not. Time: that of reading both. No memory is
 * allocated. BLOOMERY_MISMATCH; BLOOMERY_UNSUPPORTED for scalable ones. */
BLOOMERY_PUBLIC bloomery_status bloomery_compare(const bloomery_filter *one,
                                                 const bloomery_filter *other,
                                                 bloomery_comparison *comparison,
                                                 bloomery_error *error);

/* ---- Facts ---------------------------------------------------------------------------------- */

/*
 * The distinct keys in a filter of this shape, estimated from how many of its bits are set (of
 * counters: are not 0). O(1): a caller who sums up `new_bits`, less `cleared`, from the `bits_set`
 * of an info on, knows the keys at any moment. Within 1 % or four standard deviations, at
 * any fill between 0.1 % and 95 % (docs/mathematics.md). Infinity where all bits are set; more
 * than there are count as all. Of a
 * scalable filter `bits_set` is that of the whole chain; the keys of its layers are summed up, so in
 * one into which another was merged those that both had count twice. In a map or a view of several
 * layers the older ones are read by each call.
 */
BLOOMERY_PUBLIC double bloomery_estimate(const bloomery_filter *filter, uint64_t bits_set);

typedef struct bloomery_info {
    size_t struct_bytes; /* sizeof(bloomery_info), set by the caller */

    /* the cheap part: read off the header */
    bloomery_kind kind;
    uint32_t format_version; /* of the file it came from or would be written as */
    uint32_t layers;         /* 1 for a plain filter */
    uint32_t blocks_per_key; /* L of the newest layer */
    uint32_t probes;         /* k of the newest layer */
    uint64_t bits;           /* m, the cells of all layers */
    uint64_t bytes;          /* memory of the bit arrays */
    uint64_t file_bytes;     /* as bloomery_file_bytes */
    uint64_t planned_keys;   /* 0: unknown; scalable: those of all its layers */
    double planned_rate;     /* 0: unknown; scalable: of the whole chain, however long */
    uint64_t adds;           /* calls of add that succeeded, repeated keys included */
    bloomery_hash_id hash;
    uint64_t seed;
    uint64_t secret_fingerprint; /* 0: not keyed */
    bool secret_in_file;         /* whoever has the file has the key */
    bool secret_known;           /* false only with BLOOMERY_OPEN_INSPECT */
    bool writable;               /* keys can be added */
    bool mapped;                 /* a map of a file */
    bloomery_key_rule rule;
    const char *note;   /* belongs to the filter, NULL: none */
    uint32_t dialect;   /* 0: our own */
    const char *kernel; /* the code that serves it: "scalar", "avx2", ...; static storage */

    /* the scanned part: reads the whole payload; zero unless asked for */
    uint64_t bits_set;
    double fill;           /* bits_set / bits */
    double live_rate;      /* the rate of these very bits, exact for a random absent key, its hash's
                              part included (bloomery_plan.hash) */
    double estimated_keys; /* distinct keys, from the bits; infinity where every bit is set */
    double expected_rate;  /* of this shape with that many keys */

    uint32_t cell_bits;       /* bits of a cell: 1, or of a counter */
    uint32_t counter_max;     /* the maximum of a counter, at which it stays; 0: no counters */
    uint64_t saturated_cells; /* scanned: counters at their maximum */
} bloomery_info;

#define BLOOMERY_INFO BLOOMERY_SIZED(bloomery_info)

/* Fills `info`. With `scan` also the scanned part: some seconds per 10 GB. Cannot fail; fields
 * past the caller's struct_bytes are left out. */
BLOOMERY_PUBLIC void bloomery_info_get(const bloomery_filter *filter, bool scan,
                                       bloomery_info *info);

/* One layer of a chain. */
typedef struct bloomery_layer_info {
    size_t struct_bytes; /* sizeof(bloomery_layer_info), set by the caller */
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys;
    double planned_rate; /* of this layer alone */
    uint64_t adds;

    /* scanned */
    uint64_t bits_set;
    double live_rate;
    double estimated_keys;
} bloomery_layer_info;

#define BLOOMERY_LAYER_INFO BLOOMERY_SIZED(bloomery_layer_info)

/* The facts of layer `index`, 0 the oldest. BLOOMERY_BAD_ARGUMENT where there is no such layer. */
BLOOMERY_PUBLIC bloomery_status bloomery_layer_info_get(const bloomery_filter *filter,
                                                        uint32_t index, bool scan,
                                                        bloomery_layer_info *info);

/* ---- Hashes and positions --------------------------------------------------------------------- */

/* The name of a hash, "xxh3-64" or "murmur3-x64-128"; NULL for an unknown number. */
BLOOMERY_PUBLIC const char *bloomery_hash_name(uint32_t id);

/*
 * The cells that a key touches in layer `layer` (0 the oldest) of any filter, in the order in which
 * they are touched, repeats included. Returns their number, and writes the first `room` of them to
 * `positions`. Returns 0 if there is no such layer or keys can't be hashed. At most
 * BLOOMERY_POSITIONS_MAX.
 */
BLOOMERY_PUBLIC size_t bloomery_positions(const bloomery_filter *filter, uint32_t layer,
                                          bloomery_key key, uint64_t *positions, size_t room);

enum { BLOOMERY_POSITIONS_MAX = 1024 };

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_BLOOMERY_H */

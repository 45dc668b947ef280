/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery: Bloom filters whose false-positive rate is the one you asked for.
 *
 * A filter stores keys in a few bits each. A query for a key returns "definitely not added" or
 * "possibly added". How often it returns "possibly" for a key that was never added is the
 * false-positive rate, rate for short. You choose it before the filter is made:
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
 * Contents
 *
 *   The functions that most programs need
 *     1  Results and errors
 *     2  Keys, hashes, secrets
 *     3  Memory
 *     4  Options
 *     5  Plans
 *     6  Creating and freeing
 *     7  Adding and querying: one key, batches
 *     8  Files and bytes
 *     9  Facts about a filter
 *   More of them
 *    10  Hash once, query many filters
 *    11  Columns: integers, offsets, Arrow
 *    12  Removing and counting
 *    13  Adding with several threads
 *    14  Building static filters
 *    15  Several filters: merge, intersect, fold, compare
 *   Experimental: may change before version 1.0
 *    16  Layers, positions, estimates, moving
 *
 *   bloomery/inline.h       the query of one key, compiled into the calling program
 *   bloomery/dialect.h      filters of other systems
 *   bloomery/sieve.h        a to-visit queue that drops keys it has seen
 *
 * The words (they mean the same in every part of Bloomery)
 *
 *   key      a span of bytes: any length, any bytes, the empty key included
 *   secret   16 bytes that only you know. With one the hash is SipHash, and nobody else can choose
 *            keys that are false positives. A filter that has one is a keyed filter
 *   hash     what a key becomes: 64 or 128 bits, {lo, hi}
 *   kind     the structure: blocked (the default), classic, counting, scalable or static
 *   cell     what a position names: a bit or, in a counting filter, a counter of 4 or 8 bits
 *   block    512 cells: one cache line of bits, four or eight of counters. A blocked filter is an
 *            array of blocks; a key selects L of them
 *   probe    one position that a key touches: k in each of its blocks
 *   layer    one array of cells. A filter has 1 to 64 layers; only scalable filters and some of
 *            other systems have more than one. Chains of other systems may have 65,536 in memory
 *   plan     the numbers of a filter before it exists
 *   rate     the false-positive rate
 *
 * Conventions
 *
 *   Errors     A function that can fail returns a bloomery_status: 0 is BLOOMERY_OK, failures are
 *              negative. It fills the caller's bloomery_error, if one is given, with a sentence for
 *              people. It writes to the error on failure only. The library never prints or exits.
 *   Ownership  Handles come from bloomery_create, _open, _view, _load and the like, and end in
 *              bloomery_free. The library keeps nothing that was passed in, except the bytes given
 *              to bloomery_view. On failure the out-handle is NULL.
 *   NULL       `options` and `error` may be NULL everywhere. bloomery_free(NULL) does nothing.
 *              Other pointers must be valid, unless a comment says "may be NULL".
 *   Structs    A struct that may grow begins with its own size. Initialise it with its macro:
 *              BLOOMERY_CREATE_OPTIONS for bloomery_create_options and so on. In a bloomery_plan
 *              the size may be 0. Zero fields mean "default" or "unknown". New fields come at the
 *              end, and no struct that may grow ends in padding: a field put there would not change
 *              the size. `reserved` fields stand in its place, and must be 0.
 *   Threads    Different filters are independent. Any number of threads may call the functions that
 *              take a `const bloomery_filter *` on one filter, if no thread changes it meanwhile.
 *              Functions that change a filter (_add..., _remove..., _merge, _intersect, _clear,
 *              _free) need it to themselves. A filter created with `concurrent_adds` is different:
 *              any number of threads may add, remove and query at the same time. Even there,
 *              functions that read all bits (_write, _save, _verify, _fold, _compare, a scanning
 *              _info_get, ...) need a filter that nobody adds to meanwhile.
 *   Asserts    check the library itself, not its callers' data. Release builds, which `make
 *              install` makes, leave them out.
 *   Caveat     A filter opened without BLOOMERY_OPEN_COPY is a map of its file. If another process
 *              truncates that file, reading the map raises SIGBUS. Bloomery itself always replaces
 *              files by rename and never truncates them. Open with BLOOMERY_OPEN_COPY if other
 *              programs might.
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

/* What makes a function visible outside a shared library. A program or library that compiles
 * Bloomery's sources into itself may define BLOOMERY_PUBLIC as nothing, before each inclusion. Then
 * -fvisibility=hidden keeps all names inside. */
#if !defined(BLOOMERY_PUBLIC) && defined(__GNUC__)
#define BLOOMERY_PUBLIC __attribute__((visibility("default")))
#elif !defined(BLOOMERY_PUBLIC)
#define BLOOMERY_PUBLIC
#endif

/* Initialises a struct that begins with its size: all other fields are zero. C++ has no designated
 * initialisers before C++20. */
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
    ROW(BLOOMERY_MISMATCH, -8, "the filters are not compatible")                                   \
    ROW(BLOOMERY_READ_ONLY, -9, "the filter is read-only")                                         \
    ROW(BLOOMERY_FULL, -10, "the filter is full")                                                  \
    ROW(BLOOMERY_UNSUPPORTED, -11, "this filter or this build cannot do that")                     \
    ROW(BLOOMERY_SECRET_NEEDED, -12, "the filter is keyed; its secret is missing or another one")  \
    ROW(BLOOMERY_BUSY, -13, "another process is using it")

typedef enum bloomery_status {
#define BLOOMERY_STATUS_ROW(name, value, text) name = value,
    BLOOMERY_STATUS_LIST(BLOOMERY_STATUS_ROW)
#undef BLOOMERY_STATUS_ROW
} bloomery_status;

/* What adding or removing a key found. Functions that return them return an int: a result, or a
 * negative status. */
enum {
    BLOOMERY_SEEN = 0, /* every bit was set before: the key was probably added already */
    BLOOMERY_NEW = 1,  /* at least one bit was not set: the key was definitely not in the filter */
    BLOOMERY_ABSENT = 0,  /* the key was definitely not in the filter; nothing changed */
    BLOOMERY_REMOVED = 1, /* its counters are one less, but for saturated ones */
};

/* Why something failed. Belongs to the caller; may be NULL wherever one is taken. Never grows. */
typedef struct bloomery_error {
    bloomery_status status;
    /* The place in the file or span, in bytes. Of a column: the number of a key. Else 0. */
    uint64_t offset;
    /* A sentence without a final newline, NUL-terminated, cut if it is too long. */
    char text[240];
} bloomery_error;

/* "BLOOMERY_CORRUPT" and "the filter is damaged". For an unknown value: "BLOOMERY_?" and "unknown
 * status". Never NULL; static storage. */
BLOOMERY_PUBLIC const char *bloomery_status_name(int status);
BLOOMERY_PUBLIC const char *bloomery_status_text(int status);

/* The library's version at run time, such as "0.1.0". Static storage. */
BLOOMERY_PUBLIC const char *bloomery_version(void);

/* ---- 2  Keys, hashes, secrets ---------------------------------------------------------------- */

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

/* A hashed key. It is valid for every filter with the same hash id, seed and secret. A hash of 64
 * bits is `hi`, and `lo` is 0. */
typedef struct bloomery_hash {
    uint64_t lo;
    uint64_t hi;
} bloomery_hash;

/* XXH3 is fast and public: an attacker who chooses the keys can make false positives, whatever the
 * seed. Against that, use a secret. */
typedef enum bloomery_hash_id {
    BLOOMERY_HASH_DEFAULT = 0,  /* as the plan says; SipHash with a secret */
    BLOOMERY_HASH_XXH3_128 = 1, /* XXH3, 128 bits, 64-bit seed: when 64 bits are too few */
    BLOOMERY_HASH_SIPHASH = 2,  /* SipHash-2-4, 128 bits, with a secret of 128 bits */
    BLOOMERY_HASH_XXH3_64 = 3,  /* XXH3, 64 bits, 64-bit seed: {lo, hi} are 0 and the hash */
} bloomery_hash_id;

enum { BLOOMERY_SECRET_BYTES = 16 };

/* How records of the input become keys. The rule is kept in the file, so that every program makes
 * the same keys. The filter itself never changes a key. All zero: a key is a whole record. Never
 * grows: this is the form in files. */
typedef struct bloomery_key_rule {
    uint32_t flags;     /* BLOOMERY_RULE_... */
    uint32_t delimiter; /* the byte between fields, 0 to 255; only with a field */
    int32_t field;      /* 1 the first, -1 the last, 0 the whole record */
    uint32_t comment;   /* records that begin with this byte, 1 to 255, are no keys; 0: none */
} bloomery_key_rule;

enum {
    BLOOMERY_RULE_TRIM = 1,        /* remove blanks at both ends */
    BLOOMERY_RULE_LOWER = 2,       /* make ASCII letters lower case */
    BLOOMERY_RULE_UPPER = 4,       /* make ASCII letters upper case */
    BLOOMERY_RULE_HEX = 8,         /* make bytes of pairs of hexadecimal digits */
    BLOOMERY_RULE_CRLF = 16,       /* remove a carriage return at the end */
    BLOOMERY_RULE_SKIP_EMPTY = 32, /* empty records are no keys */
    BLOOMERY_RULE_CSV = 64,        /* fields are quoted as in CSV */
    /* Make 8 bytes, or 4, of a whole decimal number: two's complement, least significant first. */
    BLOOMERY_RULE_INT64 = 128,
    BLOOMERY_RULE_INT32 = 256,
    BLOOMERY_RULE_UTF16 = 512, /* make UTF-16 of UTF-8, the less significant byte of a unit first */
    /* The first record of each input names the fields and has no key. The caller leaves it out. */
    BLOOMERY_RULE_HEADER = 1024,
    /* The rule does not say where the key lies in a record: it is a field by its name, several
     * fields, or a member of JSON. bloomery_rule_apply refuses such a rule. Take the text of the
     * key out of the record yourself, then apply the rule without this flag. */
    BLOOMERY_RULE_ELSEWHERE = 2048,
    /* All of the above. Of lower, upper, hex, int64 and int32 a rule has at most one, and so of
     * hex, int64, int32 and utf16. */
    BLOOMERY_RULE_KNOWN = 4095,
    /* The flags that say what a key is. The others, and field, delimiter and comment, say how
     * records are laid out: filters whose rules differ only there can be merged and compared. */
    BLOOMERY_RULE_OF_KEY = 911,
};

/* The result of bloomery_rule_apply on a record. Only KEY is a key. */
enum {
    BLOOMERY_RECORD_SKIPPED = 0,  /* a comment, or empty if the rule has SKIP_EMPTY */
    BLOOMERY_RECORD_KEY = 1,      /* `key` is its key */
    BLOOMERY_RECORD_NO_FIELD = 2, /* it has fewer fields */
    /* Its text has not the form that HEX, INT64, INT32 or UTF16 requires; `error` says which. */
    BLOOMERY_RECORD_BAD = 3,
    /* Added to each of them: the record ends within CSV quotes, which end there. In files whose
     * quoted fields go over several lines that is wrong, and what follows is wrong too. */
    BLOOMERY_RECORD_OPEN_QUOTE = 4,
};

/* Room that is enough for the key of a record of so many bytes, whatever the rule. */
#define BLOOMERY_RULE_ROOM(bytes) (4 * (size_t)(bytes) + 8)

/*
 * Makes the key of a record as the command does, so that every program makes the same keys. The
 * steps have a fixed order: crlf, comment, field, trim, then hex or a number or case, utf16,
 * skip_empty. The rule of a filter is in its info. A record is a line without its line feed.
 *
 * `key` receives the key, or {NULL, 0} if there is none. Its bytes are those of the record, which
 * stays as it is, or of `out`, which has `room` bytes. A rule without csv, lower, upper, hex,
 * int64, int32 and utf16 needs no room, and `out` may be NULL.
 *
 * Returns BLOOMERY_RECORD_..., or BLOOMERY_BAD_ARGUMENT for a rule that contradicts itself, for one
 * with ELSEWHERE, and for too little room. Any bytes may be a record. Allocates nothing; any
 * thread; O(bytes).
 */
BLOOMERY_PUBLIC int bloomery_rule_apply(const bloomery_key_rule *rule, const void *record,
                                        size_t bytes, void *out, size_t room, bloomery_key *key,
                                        bloomery_error *error);

/* ---- 3  Memory ------------------------------------------------------------------------------ */

/*
 * The allocator of a filter's memory. All NULL: the C library.
 *
 * `allocate` returns `bytes` bytes at an address that is a multiple of `alignment` (a power of two,
 * at most 2 MiB), or NULL. A block at any other address is released and counts as NULL. The
 * contents may be anything. `release` gets the same numbers back.
 *
 * `allocate_zeroed` may be NULL. If it is given, it is called in place of `allocate`, in the same
 * way. Its memory is zero already and comes back through `release`. The library does not write
 * zeros over it, so pages that no key touches stay untouched.
 *
 * The calling thread calls them, within functions that create, open, copy, move, write, save, merge
 * or free a filter, that add with several threads, or that add to a scalable filter or clear it.
 * They must be thread-safe if several threads write to one filter.
 */
typedef struct bloomery_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes, size_t alignment);
    void *context;
    void *(*allocate_zeroed)(void *context, size_t bytes, size_t alignment);
} bloomery_allocator;

/*
 * The memory that this process can have, in bytes. UINT64_MAX where there is no such limit, or none
 * that can be read. A control group (cgroup, version 1 or 2) is what limits a container, a pod or a
 * service of systemd.
 */
typedef struct bloomery_limits {
    size_t struct_bytes; /* sizeof(bloomery_limits), set by the caller */
    uint64_t machine;
    uint64_t machine_left; /* what programs can have without swapping */
    /* Of the control group that leaves least, among the process's own and those above it. */
    uint64_t container;
    uint64_t container_left; /* the cache of files is not counted as used */
    uint64_t process;        /* RLIMIT_AS or RLIMIT_DATA, whichever leaves less */
    uint64_t process_left;
    /* What one block may take: the least of `machine`, of `container_left` less a sixteenth of
     * `container`, and of `process_left`. */
    uint64_t room;
    /* The limit that `room` is from: "the container's memory limit of 300 MiB leaves 120 MiB". */
    char text[160];
} bloomery_limits;

#define BLOOMERY_LIMITS BLOOMERY_SIZED(bloomery_limits)

/*
 * Reads these limits anew. Blocks of 4 MiB or more that do not fit a container are refused with
 * BLOOMERY_OUT_OF_MEMORY, unless they are for an allocator of the caller's: the system would grant
 * them, and end the process when it writes to them. Fields past the caller's struct_bytes are left
 * out. Any thread; some system calls.
 */
BLOOMERY_PUBLIC void bloomery_limits_get(bloomery_limits *limits);

/* ---- 4  Options ----------------------------------------------------------------------------- */

enum { BLOOMERY_NOTE_BYTES = 4000 };

/*
 * Three structs, one for each thing that a caller may do: plan a filter, create one, open or derive
 * one. Zero fields take the default. Each struct begins with its size and may grow at its end.
 */

/* Numbers that a plan is forced to have. */
typedef struct bloomery_plan_options {
    size_t struct_bytes;     /* sizeof(bloomery_plan_options) */
    bloomery_hash_id hash;   /* the hash that the rate is planned with */
    uint32_t blocks_per_key; /* L of a blocked, counting or scalable filter: 1 to 4 */
    uint32_t probes;         /* k, per block: 1 to 8; of a classic filter, per key: 1 to 64 */
    uint32_t cell_bits;      /* of a counting filter: 4 (the default) or 8 */
    uint32_t folds;          /* the filter can be halved this many times: 0 to 30 */
    uint32_t reserved;       /* 0 */
} bloomery_plan_options;

#define BLOOMERY_PLAN_OPTIONS BLOOMERY_SIZED(bloomery_plan_options)

/* What a new filter is besides its plan. */
typedef struct bloomery_create_options {
    size_t struct_bytes; /* sizeof(bloomery_create_options) */

    /* For the filter and everything that it owns. */
    bloomery_allocator allocator;

    /* Any number of threads may add and query at once. If threads add the same key concurrently, at
     * least one call returns NEW, possibly more. No key is lost. Costs an atomic OR for each bit
     * that is newly set. Batches of new keys take two to six times as long as in a plain filter,
     * queries and repeated keys hardly longer. */
    bool concurrent_adds;

    /* Of a scalable filter: the bytes that its layers may take together; 0: no limit. Not kept in
     * the file. A key that would need a layer beyond it is BLOOMERY_FULL. */
    uint64_t memory_limit;

    /* For XXH3; must be 0 with a secret. */
    uint64_t seed;

    /* BLOOMERY_SECRET_BYTES bytes, or NULL. With a secret the hash is SipHash, whatever the plan
     * says. A plan for SipHash without a secret draws a random one. */
    const uint8_t *secret;

    /* Keep the secret out of the file; the caller keeps it. */
    bool secret_outside;

    /* How keys are made of records; kept in the file. */
    bloomery_key_rule rule;

    /* A remark kept in the file: UTF-8, at most BLOOMERY_NOTE_BYTES bytes; NULL: none. */
    const char *note;
} bloomery_create_options;

#define BLOOMERY_CREATE_OPTIONS BLOOMERY_SIZED(bloomery_create_options)

enum {
    /* Read the whole file into memory, compare every checksum, and allow adding. The file itself
     * does not change. */
    BLOOMERY_OPEN_COPY = 1,
    /* Open even if keys can't be hashed (a keyed filter without its secret). Facts can be read,
     * may_contain returns true for every key, adding is BLOOMERY_SECRET_NEEDED. */
    BLOOMERY_OPEN_INSPECT = 2,
};

/* How a filter that exists already comes into memory: from a file, from bytes, or from another
 * filter (bloomery_open, _view, _load, _fold, _drop_counters, _copy, bloomery_dialect_load). */
typedef struct bloomery_open_options {
    size_t struct_bytes; /* sizeof(bloomery_open_options) */

    /* For the filter and everything that it owns. */
    bloomery_allocator allocator;

    uint32_t flags; /* BLOOMERY_OPEN_... */

    /* As in bloomery_create_options. Without effect on maps and views, which nobody adds to. A
     * scalable filter that takes more than the limit already is opened all the same. */
    bool concurrent_adds;
    uint64_t memory_limit;

    /* BLOOMERY_SECRET_BYTES bytes: the secret of a filter whose file does not carry it; or NULL. */
    const uint8_t *secret;

    /* As in bloomery_create_options; for filters of other systems, whose bytes carry neither. */
    bloomery_key_rule rule;
    const char *note;
} bloomery_open_options;

#define BLOOMERY_OPEN_OPTIONS BLOOMERY_SIZED(bloomery_open_options)

/* ---- 5  Plans: numbers only, nothing is allocated ------------------------------------------- */

/* The numbers are those in files and are never renumbered. docs/format.md reserves 6. */
typedef enum bloomery_kind {
    BLOOMERY_KIND_DEFAULT = 0, /* blocked */
    BLOOMERY_BLOCKED = 1,      /* k bits in each of L blocks: one cache miss per block */
    BLOOMERY_CLASSIC = 2,      /* k bits over one flat array: least memory, k cache misses */
    /* As blocked, with a counter in place of each bit: keys can be removed. 4 or 8 times the
     * memory. */
    BLOOMERY_COUNTING = 3,
    /* Blocked layers, of which it gets more as it fills: for an unknown number of keys. */
    BLOOMERY_SCALABLE = 4,
    /* A bumped ribbon: the smallest there is. Built once from all keys; none is added later. */
    BLOOMERY_STATIC = 5,
} bloomery_kind;

/* "blocked", "classic", ...; NULL for a number that is no kind. bloomery_kind_find is the reverse
 * and returns BLOOMERY_KIND_DEFAULT for an unknown name. */
BLOOMERY_PUBLIC const char *bloomery_kind_name(int kind);
BLOOMERY_PUBLIC bloomery_kind bloomery_kind_find(const char *name);

typedef struct bloomery_plan {
    size_t struct_bytes;     /* sizeof(bloomery_plan); 0: that of version 0.1 */
    bloomery_kind kind;      /* 0: blocked */
    uint32_t blocks_per_key; /* L: 1 to 4; classic 0 */
    uint32_t probes;         /* k, per block: 1 to 8; classic: per key, 1 to 64 */
    uint32_t cell_bits;      /* 1; counting: 4 or 8 */
    uint64_t keys;           /* n: distinct keys that it is made for */
    double rate;             /* p: the rate with n keys in it, of the filter as built */

    /* Memory of the cells. A filter takes some hundred bytes more, and for each layer after the
     * first another hundred or two; a scalable one for concurrent adds takes 7 KiB. Its file takes
     * these bytes, its header, and 8 bytes per 64 KiB. */
    uint64_t bytes;
    uint64_t bits; /* m: the number of cells, bits or counters. A multiple of 512, unless classic */

    double bits_per_key; /* memory: m cell_bits / n */
    double limit_ratio;  /* memory relative to the information-theoretic minimum, n log2(1/p) */

    /* Cache lines that are read, on average, to answer for an absent key and for a present one. */
    double absent_cache_lines;
    double present_cache_lines;

    /* The hash that `rate` is planned with: XXH3-64, unless options say otherwise, or 64 bits are
     * too few. An absent key shares all of them with one of n keys with probability n / 2^64. That
     * is part of the rate. If it is over 1 % of the rate, the plan takes XXH3-128. */
    bloomery_hash_id hash;
    uint32_t reserved; /* 0 */

    /* The rate that was set before solving, or 0. A small filter may be planned for a far lower
     * one: the least that a key takes is a block. bloomery_create keeps it: see bloomery_info. A
     * static filter is built for this rate. */
    double wanted_rate;
} bloomery_plan;

#define BLOOMERY_PLAN BLOOMERY_SIZED(bloomery_plan)

/*
 * Solves a plan. The caller zeroes the struct and sets two of keys, rate and bytes, and the kind if
 * it is not blocked. The call fills all other fields. `options` may force some of them.
 *
 *   keys, rate   The least memory whose rate is at most the given one. On return `rate` is the rate
 *                of the filter as it will be built: the given one or a little less.
 *   keys, bytes  The best rate that fits in `bytes`. On return `bytes` may be a little less.
 *                Refused if that rate would be over 0.5.
 *   rate, bytes  The most keys for which the rate holds within `bytes`.
 *
 * The plan of a scalable filter is that of its first layer. `keys` are those after which it grows
 * for the first time. `rate` is the one that the whole filter stays under, however far it grows;
 * its first layer is planned for a quarter of it. `bytes` can't be given: the memory_limit of
 * bloomery_create_options bounds the filter. The rate is at least 1e-12.
 *
 * Ranges: keys 1 to 2^48, rate 1e-15 to below 1, bytes 64 to 2^47.
 * BLOOMERY_BAD_ARGUMENT if not exactly two are set, if one is out of range, or if no plan is
 * possible; the text then says what would be. BLOOMERY_UNSUPPORTED for an unknown kind. The plan is
 * unchanged on failure.
 *
 * The rate is the exact sum over the layout, small filters and rounding included;
 * docs/mathematics.md derives it. Takes a few ms, some 100 ms at rates like 1e-12. Allocates no
 * memory; any thread.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_solve(bloomery_plan *plan,
                                                    const bloomery_plan_options *options,
                                                    bloomery_error *error);

/* The expected rate if the filter of this plan held `keys` distinct keys. Reads kind, bits, probes,
 * blocks_per_key and hash; of a scalable filter that is the first layer alone. Returns 0 for 0 keys
 * and 1 for an invalid plan. */
BLOOMERY_PUBLIC double bloomery_plan_rate(const bloomery_plan *plan, uint64_t keys);

/*
 * What a scalable filter of this solved plan will be when it has grown: the plan of layer `index`,
 * 0 the first, as a blocked filter's; its rate is the layer's own. Solves a plan for each layer up
 * to it. BLOOMERY_BAD_ARGUMENT if the plan is not scalable, if `index` is not 0 to 63, or if
 * `layer` does not begin with its size or with 0.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_layer(const bloomery_plan *plan, uint32_t index,
                                                    bloomery_plan *layer, bloomery_error *error);

/* ---- 6  Creating and freeing ----------------------------------------------------------------- */

typedef struct bloomery_filter bloomery_filter;

/*
 * An empty filter for a solved plan, or for one filled in by hand. Kind, bits, probes, cell_bits,
 * hash (0: XXH3-64) and blocks_per_key decide what it is. Keys and rate are kept in the file (0:
 * unknown). Bytes may be 0, else they must be those of the bits.
 *
 * BLOOMERY_BAD_ARGUMENT; BLOOMERY_OUT_OF_MEMORY; BLOOMERY_UNSUPPORTED for an unknown kind, or for
 * SipHash in a build without libsodium. Time: that of zeroing the memory, which for large blocks
 * the kernel does as they are touched.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_create(const bloomery_plan *plan,
                                                const bloomery_create_options *options,
                                                bloomery_filter **filter, bloomery_error *error);

/*
 * A copy of a filter, in memory of its own: of any kind or dialect, a map or a view included. It
 * has the same bits, adds, seed, secret, rule and note, and is written as the same bytes. Keys can
 * be added.
 *
 * `options`: allocator, concurrent_adds, memory_limit, and the secret of a filter that was opened
 * without it. Without that the copy reports its facts, as with BLOOMERY_OPEN_INSPECT. The rest is
 * the filter's. The layers of a scalable filter lie in one block then.
 *
 * BLOOMERY_CORRUPT if it is a map or a view and its checksums do not fit, so that damage can't get
 * new ones. BLOOMERY_SECRET_NEEDED for another secret; BLOOMERY_UNSUPPORTED for concurrent_adds in
 * a chain of another system; BLOOMERY_OUT_OF_MEMORY. Time: that of reading and writing all bytes.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_copy(const bloomery_filter *filter,
                                              const bloomery_open_options *options,
                                              bloomery_filter **copy, bloomery_error *error);

/* Back to empty, same shape. BLOOMERY_READ_ONLY for maps and views, BLOOMERY_UNSUPPORTED for a
 * static filter, to which no key could be added. */
BLOOMERY_PUBLIC bloomery_status bloomery_clear(bloomery_filter *filter);

/*
 * Takes the pages of memory now that the cells of a new filter else take when a key first touches
 * them, and changes no cell: for a thread that does so ahead of those who add. `from` and `bytes`
 * are of the cells that the filter was made with, as they lie in its file (bloomery_info.bytes of a
 * new filter); a layer that a chain gets later is not among them. Returns up to where it came, so
 * that a caller can go on there, in steps as long as it likes:
 *
 *     for (uint64_t at = 0, to; (to = bloomery_populate(filter, at, 64 << 20)) > at; at = to)
 *         ...
 *
 * `from` itself is returned past the end, of a map or a view, and if the system has no memory left.
 * Others may query and add meanwhile, to filters without `concurrent_adds` too: one thread adds, as
 * always, and this one besides. But nobody may clear, merge into, move or free the filter. Where
 * the kernel does not know MADV_POPULATE_WRITE (Linux before 5.14) a byte of each page is written.
 * Time: that of zeroing the memory, 0.1 to 0.2 s a GiB; where a virtual machine has to get the
 * memory from its host first, seconds.
 */
BLOOMERY_PUBLIC uint64_t bloomery_populate(bloomery_filter *filter, uint64_t from, uint64_t bytes);

/* Releases everything that the filter owns. NULL is fine. */
BLOOMERY_PUBLIC void bloomery_free(bloomery_filter *filter);

/* ---- 7  Adding and querying ------------------------------------------------------------------ */

/*
 * Adds a key. Returns BLOOMERY_NEW, BLOOMERY_SEEN, or BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED. A
 * key that was never added is SEEN as often as it would be a false positive. `new_bits`, if not
 * NULL, receives how many bits were newly set (counters that left 0): 0 to k L. Adding past the
 * planned keys is allowed; the rate then rises as bloomery_plan_rate says.
 *
 * Counting: every counter of the key rises by one, whatever the result. A key added twice can be
 * removed twice; see bloomery_remove. Scalable: a key that any layer may have is SEEN and not added
 * again. A new key goes to the newest layer. If that holds the keys it is planned for, this call
 * makes another layer for twice the keys. BLOOMERY_FULL if that layer would pass `memory_limit` or
 * be the 65th (of another system's chain that was not opened from a file of ours: the 65,537th,
 * though a file of ours keeps 64), BLOOMERY_OUT_OF_MEMORY if there is no memory for it. The key was
 * not added then, and all others stay.
 */
BLOOMERY_PUBLIC int bloomery_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits);

/* Queries a key. false: the key was definitely never added. true: it possibly was. Cannot fail. An
 * empty filter returns false for every key, the empty key included; a filter with every bit set
 * returns true. */
BLOOMERY_PUBLIC bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key);

/*
 * The same for many keys at once, and faster: the memory accesses of one key hide behind those of
 * others. `answers`, if not NULL, is an array of (count + 63) / 64 words. Bit i & 63 of word i >> 6
 * is set if key i was NEW (possibly in the filter). The bits past `count` in the last word are
 * cleared. A key that appears twice in one batch is NEW the first time only. `new_bits`, if not
 * NULL, receives the bits newly set by the whole batch. Best in multiples of 64 keys, from some
 * hundreds on.
 *
 * bloomery_add_batch returns BLOOMERY_OK or a failure. On failure nothing was added, with one
 * exception: if a scalable filter could not grow, all keys before the one that did not fit were
 * added, and the answers from that key on are 0. bloomery_add_some says which one it was.
 * bloomery_may_contain_batch returns how many answers are true.
 *
 * bloomery_add_some says how far it came as well: `done`, which must not be NULL, receives how many
 * of the keys were added, the first ones in order. That is `count` if the status is BLOOMERY_OK.
 * Else it is the number of the key that was refused, 0 the first, and `error` says why. Answers
 * from that key on are 0, and `new_bits` are those of the keys before it. A key that is SEEN is
 * never refused, so a full chain still answers for those. The statuses are those of bloomery_add:
 * BLOOMERY_FULL, BLOOMERY_OUT_OF_MEMORY; BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED, and for a hash
 * that is not available BLOOMERY_UNSUPPORTED, with 0 keys done. Threads, and time, as
 * bloomery_add_batch.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_add_batch(bloomery_filter *filter,
                                                   const bloomery_key *keys, size_t count,
                                                   uint64_t *answers, uint64_t *new_bits);
BLOOMERY_PUBLIC bloomery_status bloomery_add_some(bloomery_filter *filter, const bloomery_key *keys,
                                                  size_t count, uint64_t *answers,
                                                  uint64_t *new_bits, size_t *done,
                                                  bloomery_error *error);
BLOOMERY_PUBLIC size_t bloomery_may_contain_batch(const bloomery_filter *filter,
                                                  const bloomery_key *keys, size_t count,
                                                  uint64_t *answers);

/* ---- 8  Files and bytes ---------------------------------------------------------------------- */

/*
 * These are three ways in, with one promise for any bytes: after BLOOMERY_OK no query can read or
 * write outside the filter's memory. Header and metadata are checked entirely before anything is
 * allocated.
 *
 *   open   A file, mapped read-only: microseconds, whatever its size. The payload is not read, so
 *          damage in it shows in bloomery_verify and not here. With BLOOMERY_OPEN_COPY the whole
 *          file is read, its checksums are compared, and keys can be added.
 *          open_descriptor does the same with a file that is open for reading. It starts at the
 *          file's first byte, neither uses nor moves the offset, and leaves `file` open. The caller
 *          may close it at once.
 *   view   A read-only filter over bytes that the caller keeps alive and unchanged until
 *          bloomery_free. `data` must be a multiple of 64.
 *   load   A filter that owns a copy of these bytes, checksums compared. Keys can be added.
 *
 * Failures: BLOOMERY_IO_FAILED, BLOOMERY_TRUNCATED, BLOOMERY_NOT_A_FILTER, BLOOMERY_WRONG_VERSION,
 * BLOOMERY_CORRUPT, BLOOMERY_SECRET_NEEDED, BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY. `error`
 * says which check failed and at which offset.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_open(const char *path,
                                              const bloomery_open_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_open_descriptor(int file,
                                                         const bloomery_open_options *options,
                                                         bloomery_filter **filter,
                                                         bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_view(const void *data, size_t bytes,
                                              const bloomery_open_options *options,
                                              bloomery_filter **filter, bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_load(const void *data, size_t bytes,
                                              const bloomery_open_options *options,
                                              bloomery_filter **filter, bloomery_error *error);

/*
 * Writes the file beside `path`, syncs it, renames it to `path` and syncs the directory. Whatever
 * happens, `path` holds the old file or the new one, whole. Keeps the mode of an existing file. A
 * new file that carries a secret can be read by its owner only. Follows a symbolic link to a file.
 *
 * BLOOMERY_IO_FAILED leaves the old file and removes the new one. If only the last step fails
 * (syncing the directory), the new file is in place but might not survive a power cut. The text
 * says so. `path` must be a regular file or not exist. BLOOMERY_OUT_OF_MEMORY and BLOOMERY_CORRUPT
 * as in bloomery_write.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                                              bloomery_error *error);

/* Takes the next piece of a file's bytes. A result other than 0 stops the writing. */
typedef int (*bloomery_sink)(void *context, const void *data, size_t bytes);

/* Sends the bytes of the file to a sink, front to back. The same keys in the same shape (in a
 * scalable filter: in the same order) give the same bytes. A map or a view is verified first, since
 * damage would get good checksums here: BLOOMERY_CORRUPT. BLOOMERY_IO_FAILED if the sink stops,
 * BLOOMERY_OUT_OF_MEMORY if there is none for the checksums (8 bytes per 64 KiB).
 * BLOOMERY_UNSUPPORTED if another system's filter has more than a file of ours keeps, which is 64
 * layers and 6 KiB of what its bytes say besides: bloomery_dialect_write has room for all. */
BLOOMERY_PUBLIC bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink,
                                               void *context, bloomery_error *error);

/* The exact number of bytes that bloomery_write produces. */
BLOOMERY_PUBLIC uint64_t bloomery_file_bytes(const bloomery_filter *filter);

/* Reads everything and compares every checksum of a map or a view. Of any filter, checks that spare
 * bits are zero. BLOOMERY_OK, or BLOOMERY_CORRUPT with the offset of the first damage. */
BLOOMERY_PUBLIC bloomery_status bloomery_verify(const bloomery_filter *filter,
                                                bloomery_error *error);

/* ---- 9  Facts about a filter ----------------------------------------------------------------- */

typedef struct bloomery_info {
    size_t struct_bytes; /* sizeof(bloomery_info), set by the caller */

    /* What it is. */
    bloomery_kind kind;
    uint32_t dialect;        /* 0: our own; else BLOOMERY_DIALECT_... */
    uint32_t format_version; /* of the file it came from or would be written as */
    uint32_t layers;
    uint32_t blocks_per_key; /* L of the newest layer; 0: flat */
    uint32_t probes;         /* k of the newest layer */
    uint32_t cell_bits;      /* 1, or the bits of a counter */
    uint32_t counter_max;    /* at which a counter saturates; 0: no counters */
    uint64_t bits;           /* m: the cells of all layers */

    /* How large it is, in bytes. */
    uint64_t bytes;        /* memory of the cells */
    uint64_t file_bytes;   /* as bloomery_file_bytes */
    uint64_t memory_bytes; /* as bloomery_memory */

    /* What it was planned for; 0: unknown. Of a scalable filter the keys of all its layers, and the
     * rate of the whole filter, however far it grows. */
    uint64_t planned_keys;
    double planned_rate;

    /* A further layer is planned for so many times the keys of the one before, and so many times
     * its rate. Both 0: the filter does not grow. */
    double growth;
    double tightening;

    /* Calls of add that succeeded, repeated keys included. */
    uint64_t adds;

    /* How keys become hashes. */
    bloomery_hash_id hash;
    uint64_t seed;
    uint64_t secret_fingerprint; /* 0: not keyed */
    bool secret_in_file;         /* every reader of the file has the secret */
    bool secret_known;           /* false with BLOOMERY_OPEN_INSPECT only */

    /* What it is in memory. */
    bool writable;      /* keys can be added */
    bool mapped;        /* a map of a file */
    const char *kernel; /* the code that serves it: "scalar", "avx2", ...; static storage */

    /* What its file keeps for people and programs. */
    bloomery_key_rule rule;
    const char *note; /* belongs to the filter; NULL: none */

    /* The scanned part: reading it takes the whole payload. Zero without `scan`. */
    uint64_t bits_set;        /* cells that are not 0 */
    uint64_t saturated_cells; /* counters at their maximum */
    double fill;              /* bits_set / bits */
    double live_rate;         /* the rate of these very bits, exact for a random absent key, its
                                 hash's part included (bloomery_plan.hash) */
    double estimated_keys;    /* distinct keys, from the bits; infinity if every bit is set */
    double expected_rate;     /* of this shape with that many keys */

    /* What a filter of its kind and dialect can do; `writable` says whether this one may be
     * changed. */
    bool can_add;    /* keys can be added one by one */
    bool can_remove; /* keys can be removed and counted */
    bool can_merge;  /* another one of the same shape can be merged into it */
    bool can_grow;   /* layers are added as it fills: `growth` is not 0 */
    bool has_bits;   /* it is an array of cells, of which the scanned part speaks */
    uint8_t reserved[3];

    /* The rate up to which it does what was asked of it: the one that its plan was asked for, if
     * that is over twice planned_rate, else planned_rate. Keys may be added up to the greater of
     * this and twice planned_rate; 'bloomery add' refuses what goes beyond. 0: unknown. */
    double wanted_rate;
} bloomery_info;

#define BLOOMERY_INFO BLOOMERY_SIZED(bloomery_info)

/* Fills `info`; with `scan` also the scanned part, which takes some seconds per 10 GB. Cannot fail.
 * Fields past the caller's struct_bytes are left out: with a size of 0, all of them. */
BLOOMERY_PUBLIC void bloomery_info_get(const bloomery_filter *filter, bool scan,
                                       bloomery_info *info);

/*
 * Returns how many more distinct keys the filter takes before its rate passes `limit`: a low
 * estimate from its bits, so ask again after that many adds. 0: it is full, the next key may pass
 * the limit. Adding never fails because of that: a program that would rather stop asks here.
 *
 * With a `limit` of 0 it is the one that 'bloomery add' and the Python package keep: the greater of
 * wanted_rate and twice planned_rate. Up to its planned keys a filter is never full. UINT64_MAX:
 * the filter grows, or there is no limit, since its planned rate is unknown. 0 for a static filter.
 * Reads the whole payload, as a scanning _info_get.
 */
BLOOMERY_PUBLIC uint64_t bloomery_keys_left(const bloomery_filter *filter, double limit);

/* All bytes that were allocated for the filter and are not released yet: struct, room for layers,
 * cells, lock, note. The bytes of a map or a view are not allocated and do not count. What the C
 * library needs to keep a block is not known here. O(layers). */
BLOOMERY_PUBLIC uint64_t bloomery_memory(const bloomery_filter *filter);

/* ---- 10  Hash once, query many filters ------------------------------------------------------- */

/*
 * Hash a key once and query several filters. The caller must ensure that they share hash, seed and
 * secret, which bloomery_info reports. BLOOMERY_SECRET_NEEDED for a filter opened without its
 * secret, BLOOMERY_UNSUPPORTED if positions are no function of 128 bits of hash.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                                  bloomery_hash *hash);
BLOOMERY_PUBLIC int bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash,
                                      uint32_t *new_bits);
BLOOMERY_PUBLIC bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash);

/* The same for many keys: bloomery_add_batch and bloomery_may_contain_batch in two steps. Many
 * threads may do the first at once, and its result serves many filters. `hashes` has room for
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
 * Prefetches the memory that bloomery_may_contain_hash or bloomery_add_hash will touch, without
 * waiting for it. For callers with a loop of their own. Hash a key and prefetch, do the same for
 * some hundred other keys, then query:
 *
 *     bloomery_hash_key(filter, key, &hashes[i % 128]);
 *     bloomery_prefetch_hash(filter, hashes[i % 128]);
 *     ... 127 keys later ...
 *     bloomery_may_contain_hash(filter, hashes[i % 128])
 *
 * Changes nothing, cannot fail, any thread.
 */
BLOOMERY_PUBLIC void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash);

/* ---- 11  Columns ----------------------------------------------------------------------------- */

/*
 * Many keys without a descriptor for each, as arrays, databases and Arrow hold them. In all forms
 * key i of the column, 0 to count - 1, is number first + i of what the pointers lead to.
 *
 *     FIXED      | key 0 | gap | key 1 | gap | ...     `width` bytes every `stride` bytes
 *     OFFSETS    data      | key 0  | key 1 | key 2 |   key i is bytes offsets[i] to
 *                offsets   0        9       15      21  offsets[i + 1] - 1 of data
 *     HASHES     what the hash of the filter made of the keys, somewhere else
 *
 * A column is checked whole before anything is added. BLOOMERY_BAD_ARGUMENT if it is wrong; if one
 * key is, error.offset is the number of the first such key. With integers of 8 bytes:
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
    /* uint64_t: XXH3-64 with the filter's seed. BLOOMERY_MISMATCH if the filter has another hash.
     * */
    BLOOMERY_COLUMN_HASHES64 = 4,
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
    /* If bit first + i, low bit first, is 0, there is no key: nothing is added and the answer is 0.
     * NULL: all are keys. */
    const uint8_t *valid;
    /* How many are no keys, as far as the caller knows; 0 or -1: unknown. If it is over 0, `valid`
     * must be given, which alone decides. */
    int64_t nulls;
} bloomery_column;

#define BLOOMERY_COLUMN BLOOMERY_SIZED(bloomery_column)

/*
 * The batches again. `answers` as there: (count + 63) / 64 words or NULL, bit i & 63 of word i >> 6
 * for key i. On a little-endian host that is Arrow's boolean bitmap. `found`, `new_bits`, `removed`
 * may be NULL. O(count). Memory is allocated only if a scalable filter grows. If a column is
 * refused, nothing is written but the error.
 *
 * may_contain_column: `found` receives how many answers are true. For a filter opened without its
 * secret every answer is true, as of bloomery_may_contain, and the status is
 * BLOOMERY_SECRET_NEEDED.
 * add_column: as bloomery_add_batch.
 * remove_column: as bloomery_remove for one key after the other. An answer is true if the key was
 * REMOVED; `removed` receives how many were.
 * hash_column: `hashes` has room for `count`. If there is no key, the hash is {0, 0}.
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

/* ---- 12  Removing and counting --------------------------------------------------------------- */

/*
 * Removes a key from a counting filter: each of its counters falls by one. BLOOMERY_REMOVED;
 * BLOOMERY_ABSENT if a counter shows that the key is definitely not in the filter, and nothing is
 * changed; BLOOMERY_UNSUPPORTED for other kinds; BLOOMERY_READ_ONLY; BLOOMERY_SECRET_NEEDED.
 * `cleared`, if not NULL, receives how many counters reached 0, the opposite of `new_bits`.
 *
 * If only added keys are removed, and no more often than they were added, no key that is still in
 * the filter is ever lost. Counters saturate at 15 (255) and never fall after that. Removing a key
 * that was never added can cause false negatives: it is REMOVED at the filter's rate, and takes
 * from the counters of others. If threads remove a key concurrently, no more calls return REMOVED
 * than it was added times. A thread must not remove a key before the call that added it has
 * returned.
 */
BLOOMERY_PUBLIC int bloomery_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared);
BLOOMERY_PUBLIC int bloomery_remove_hash(bloomery_filter *filter, bloomery_hash hash,
                                         uint32_t *cleared);

/*
 * How often a key was added, less its removals: the minimum of its counters. It is never too low
 * while it is below the maximum (bloomery_info.counter_max); at the maximum the key was added that
 * often or more. It is too high as often as a query would be a false positive, or if other keys
 * share all its counters. In kinds without counters: 1 if the key may be in the filter. In a filter
 * opened without its secret: the maximum.
 */
BLOOMERY_PUBLIC uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key);

/*
 * A blocked filter of the same keys, with the same blocks and positions: every counter that is not
 * 0 becomes a bit. These are the bits of a blocked filter to which the keys were added, and those
 * of saturated counters, whatever was removed since. The two kinds of filters merge. The adds are
 * the counting filter's. `options`: the allocator; hash, secret, rule and note are the counting
 * filter's. BLOOMERY_UNSUPPORTED if `filter` is not counting, BLOOMERY_CORRUPT if it is a map or a
 * view of damaged bytes, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                                       const bloomery_open_options *options,
                                                       bloomery_filter **dropped,
                                                       bloomery_error *error);

/* ---- 13  Adding with several threads --------------------------------------------------------- */

/*
 * Adds keys to one filter with several threads. The filter's bits and its count of adds are then
 * exactly those of bloomery_add_batch, whatever the number of threads. `threads` 0: as many as the
 * process may run at once. The calling thread is always among them; the others are made and joined
 * within the call. The call needs the filter to itself; only a filter created with
 * `concurrent_adds` may be added to and queried meanwhile. Keys are in it for certain when the call
 * is over.
 *
 * While it runs, each thread allocates a thirty-second of the filter's size, 64 KiB at least and
 * 512 KiB at most. It also allocates 320 bytes for each of the 8 ranges that there are for a thread
 * and each block per key. With many threads it is at least 11 KiB for each of them and each block
 * per key (from 32 threads on 338 KiB a block). Hashes of 64 bits take 7 and 210 KiB of these.
 *
 * Failures: those of bloomery_add_batch, and BLOOMERY_OUT_OF_MEMORY. Nothing was added then, and no
 * source was called. If the system gives fewer threads, the call goes on with those.
 *
 * In a scalable filter the layer of a key depends on the order in which keys come. There the
 * calling thread works alone, takes one shard after the other, and stops if the filter can't grow.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_add_parallel(bloomery_filter *filter,
                                                      const bloomery_key *keys, size_t count,
                                                      uint32_t threads, bloomery_error *error);

/*
 * Supplies keys in batches. `source` points `keys` to the next batch of shard `shard` (0 to threads
 * - 1) and returns how many keys it has, 0 when there are no more.
 *
 * Several threads call it at once, each with a shard of its own, again and again until it returns
 * 0. Two threads never call it with one shard at a time, and nobody calls it again after 0. A
 * thread whose shard is done may go on with a shard that no thread has begun. So a source must not
 * wait for another shard. Keys and their bytes must stay until the next call with the same shard. A
 * batch of some thousand keys is best. A source that fails keeps that in mind itself and returns 0.
 * No lock is held while a source runs.
 */
typedef size_t (*bloomery_source)(void *context, uint32_t shard, const bloomery_key **keys);

/* Like bloomery_add_parallel, with keys supplied in batches by a callback. */
BLOOMERY_PUBLIC bloomery_status bloomery_add_from(bloomery_filter *filter, bloomery_source source,
                                                  void *context, uint32_t threads,
                                                  bloomery_error *error);

/* Like bloomery_add_parallel, with the keys of a column. Failures: those of bloomery_add_parallel
 * and of bloomery_add_column. */
BLOOMERY_PUBLIC bloomery_status bloomery_add_column_parallel(bloomery_filter *filter,
                                                             const bloomery_column *column,
                                                             uint32_t threads,
                                                             bloomery_error *error);

/* How many threads the process may run at once: what 0 threads stands for. Fewer where a limit of
 * memory (bloomery_limits) does not have room for each. At least 1. */
BLOOMERY_PUBLIC uint32_t bloomery_threads(void);

/* ---- 14  Building static filters ------------------------------------------------------------- */

/*
 * A static filter is built once, from all its keys. A builder collects them, and then makes the
 * filter or its file:
 *
 *     bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = 1000000, .rate = 1e-4};
 *     bloomery_builder *builder = NULL;
 *     ... bloomery_plan_solve, bloomery_builder_open(&plan, NULL, NULL, &builder, &error)
 *     ... bloomery_builder_add(builder, keys, count, &error), any number of times
 *     status = bloomery_builder_save(builder, "list.bloom", &error);
 *     bloomery_builder_free(builder);
 *
 * The same set of keys makes the same bytes, whatever their order, how often they come, and in how
 * many threads and how much memory. The plan's number of keys only says how large the filter will
 * be: any number may come, none included.
 */
typedef struct bloomery_builder bloomery_builder;

/* Called by the thread that called _finish or _save, now and then: `done` of `total` steps of the
 * layer that is being built. A result other than 0 stops the build, which is BLOOMERY_IO_FAILED
 * then. */
typedef int (*bloomery_progress)(void *context, uint64_t done, uint64_t total);

typedef struct bloomery_builder_options {
    size_t struct_bytes; /* sizeof(bloomery_builder_options) */

    /* Bytes for keys that wait (16 each, as hashes), and for the work on them: 0 for 1 GiB, or for
     * half of the `room` of bloomery_limits if that is less; else at least 16 MiB. The filter
     * itself is beside that, and at the end for a moment twice, unless it is saved with a
     * `directory`. */
    uint64_t memory;

    /* Where keys wait that find no room in memory: in files without names, which are gone when the
     * process ends. 16 bytes a key, and for _save the filter. NULL: BLOOMERY_FULL then. */
    const char *directory;

    uint32_t threads; /* of _finish and _save; 0: as many as the process may run at once */
    bool unchecked;   /* leave out the query for every key at the end */

    bloomery_progress progress; /* may be NULL */
    void *progress_context;
} bloomery_builder_options;

#define BLOOMERY_BUILDER_OPTIONS BLOOMERY_SIZED(bloomery_builder_options)

/*
 * A builder for a plan with kind BLOOMERY_STATIC and a rate. `options` as for bloomery_create; of
 * these concurrent_adds and memory_limit must be 0. The allocator is called by one thread at a
 * time, which may be any of those that add keys. BLOOMERY_BAD_ARGUMENT, BLOOMERY_UNSUPPORTED,
 * BLOOMERY_OUT_OF_MEMORY; BLOOMERY_IO_FAILED if no file can be made in the directory.
 */
BLOOMERY_PUBLIC bloomery_status
bloomery_builder_open(const bloomery_plan *plan, const bloomery_create_options *options,
                      const bloomery_builder_options *builder_options, bloomery_builder **builder,
                      bloomery_error *error);

/*
 * Adds keys, the keys of a column, or hashes that were made elsewhere with the same hash, seed and
 * secret. Any number of threads may add at the same time. BLOOMERY_FULL if the memory is used up
 * and there is no directory, BLOOMERY_OUT_OF_MEMORY, BLOOMERY_IO_FAILED; for a column also what
 * bloomery_add_column refuses. After one of the first three, some of the keys may be missing, and
 * every later call fails in the same way.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_builder_add(bloomery_builder *builder,
                                                     const bloomery_key *keys, size_t count,
                                                     bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_builder_add_column(bloomery_builder *builder,
                                                            const bloomery_column *column,
                                                            bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_builder_add_hashes(bloomery_builder *builder,
                                                            const bloomery_hash *hashes,
                                                            size_t count, bloomery_error *error);

/*
 * Makes the filter of all keys that were added, in memory or straight in a file, which then holds
 * what bloomery_save would write; `path` is replaced as there. Nobody may add meanwhile. Each key
 * is looked up in what was built before the call is done, unless `unchecked`: BLOOMERY_CORRUPT if
 * one is missing, which only broken memory can cause.
 *
 * A builder makes one filter: BLOOMERY_BAD_ARGUMENT after that. On failure the old file stays and
 * the builder can only be freed. BLOOMERY_UNSUPPORTED if its hashes were made to collide, as anyone
 * can with XXH3: a filter with a secret is safe from that. Also BLOOMERY_OUT_OF_MEMORY,
 * BLOOMERY_IO_FAILED; and BLOOMERY_FULL if the memory allowed is not enough to sort the keys.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_builder_finish(bloomery_builder *builder,
                                                        bloomery_filter **filter,
                                                        bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_builder_save(bloomery_builder *builder, const char *path,
                                                      bloomery_error *error);

/* Releases everything, the temporary files too. NULL is fine. */
BLOOMERY_PUBLIC void bloomery_builder_free(bloomery_builder *builder);

/* ---- 15  Several filters --------------------------------------------------------------------- */

/*
 * Whether two filters are compatible. BLOOMERY_OK, or BLOOMERY_MISMATCH with a text that names the
 * first field that differs and both its values. These must be the same, and are compared in this
 * order: kind, cell bits, dialect, hash, seed, secret (by its fingerprint), key rule (its part
 * BLOOMERY_RULE_OF_KEY), blocks per key and probes. The sizes must be equal, or the larger one must
 * fold to the smaller one. In scalable filters each layer has its own blocks per key, probes and
 * size: those need not be the same.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_compatible(const bloomery_filter *one,
                                                    const bloomery_filter *other,
                                                    bloomery_error *error);

/*
 * Union: every key of `from` is in `into` afterwards, bit for bit as if it had been added there
 * (scalable filters: see below). `from` may be the larger one, whose folded bits are then taken. If
 * `into` is the larger one, it is BLOOMERY_MISMATCH: fold it first. Counters are summed and
 * saturate. The two may be the same filter: its counters double, bits stay as they are.
 *
 * Layers of scalable filters become one if they have one shape and the union has no more bits than
 * a full layer: shards that were made with one plan take one chain. Of the other layers `into`
 * takes over copies, and their rates add up. Keys are then added to the larger of the two newest
 * layers.
 * BLOOMERY_FULL past 64 layers or `memory_limit`. Merged with itself it stays as it is.
 *
 * Adds are summed. Plan, key rule, note and the place where a secret is kept stay those of `into`;
 * opened without its secret, it learns it from `from`. The rate becomes that of all the keys
 * together: parts are best made with one plan, for the keys of all of them. Checksums of a map or
 * view are compared first, so that its damage can't get a new checksum here.
 *
 * BLOOMERY_MISMATCH, BLOOMERY_READ_ONLY, BLOOMERY_CORRUPT (`from`), BLOOMERY_FULL,
 * BLOOMERY_OUT_OF_MEMORY; on failure `into` is unchanged. Memory is allocated for layers only.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_merge(bloomery_filter *into, const bloomery_filter *from,
                                               bloomery_error *error);

/*
 * Intersection: every key that is in both is in `into` afterwards; of two counters the lesser one
 * stays. It is not the filter to which only the common keys were added: bits that different keys
 * set in the two stay as well. Its rate for keys that are in neither is at most the lower one of
 * the two rates at the size of `into`. It is about their product if the two have no keys in common.
 * Keys that are in one of them alone are false positives as often as the rate of the other at that
 * size. How many common keys were added is unknown; the lesser number of adds is kept.
 * BLOOMERY_UNSUPPORTED for scalable filters, else as bloomery_merge.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_intersect(bloomery_filter *into,
                                                   const bloomery_filter *from,
                                                   bloomery_error *error);

/*
 * A filter of half the size, `times` times over (1 to 30). It equals, bit for bit, one built at
 * that size with the same probes. Its rate is higher, as bloomery_plan_rate says for the fewer
 * bits; its planned rate is that of the planned keys at the new size.
 *
 * BLOOMERY_BAD_ARGUMENT if the number of blocks (classic: of bits) is not a multiple of 2^times;
 * the `folds` of bloomery_plan_options plans for it. BLOOMERY_UNSUPPORTED for scalable filters,
 * BLOOMERY_CORRUPT as in bloomery_merge, BLOOMERY_OUT_OF_MEMORY. `options`: the allocator, and
 * concurrent_adds; all else is the filter's.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_fold(const bloomery_filter *filter, uint32_t times,
                                              const bloomery_open_options *options,
                                              bloomery_filter **folded, bloomery_error *error);

/*
 * Union or intersection of any number (1 or more) of compatible filters, at the smallest of their
 * sizes. It is written straight to a file as by bloomery_save. The payloads pass through in pieces
 * of 64 KiB. Beside these only 8 bytes per 64 KiB are allocated, from the first filter's allocator.
 * So maps of files of any size can be merged. The file is the one that bloomery_fold,
 * bloomery_merge and bloomery_save make in memory. Rule, note, plan and the place of a secret are
 * the first one's. `path` may be that of one of the filters.
 *
 * BLOOMERY_MISMATCH or BLOOMERY_CORRUPT, with the number of the filter in the text (the first is
 * 1), before anything is written. BLOOMERY_UNSUPPORTED for scalable filters; else as bloomery_save.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_merge_save(const bloomery_filter *const *filters,
                                                    size_t count, const char *path,
                                                    bloomery_error *error);
BLOOMERY_PUBLIC bloomery_status bloomery_intersect_save(const bloomery_filter *const *filters,
                                                        size_t count, const char *path,
                                                        bloomery_error *error);

/* The common keys of two filters: estimates from the bits of both and of their union, at the
 * smaller of the two sizes. If all bits of the union are set there, union_keys and deviation are
 * infinite, common_keys and jaccard no number. */
typedef struct bloomery_comparison {
    size_t struct_bytes; /* sizeof(bloomery_comparison), set by the caller */
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

/* Compares two compatible filters, of one size or not. Time: that of reading both. Allocates no
 * memory. BLOOMERY_MISMATCH; BLOOMERY_UNSUPPORTED for scalable ones; BLOOMERY_BAD_ARGUMENT if
 * struct_bytes is not set. */
BLOOMERY_PUBLIC bloomery_status bloomery_compare(const bloomery_filter *one,
                                                 const bloomery_filter *other,
                                                 bloomery_comparison *comparison,
                                                 bloomery_error *error);

/* ---- 16  Layers, positions, estimates, moving (experimental) --------------------------------- */

/* One layer of a filter. */
typedef struct bloomery_layer_info {
    size_t struct_bytes; /* sizeof(bloomery_layer_info), set by the caller */
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys;
    double planned_rate; /* of this layer alone */
    uint64_t adds;

    /* Known after a scan. In a scalable filter, of other systems too, that is no map and no view
     * they are known without one: they are counted as keys come. A batch may leave some of them
     * uncounted, and then they are not known. While other threads add batches, they may be 2,048
     * for each of these too many. Else 0. */
    bool bits_known;
    uint64_t bits_set;
    double estimated_keys;

    double live_rate; /* scanned, else 0 */
} bloomery_layer_info;

#define BLOOMERY_LAYER_INFO BLOOMERY_SIZED(bloomery_layer_info)

/* The facts of layer `index`, 0 the oldest. BLOOMERY_BAD_ARGUMENT if there is no such layer, or if
 * struct_bytes is not set. */
BLOOMERY_PUBLIC bloomery_status bloomery_layer_info_get(const bloomery_filter *filter,
                                                        uint32_t index, bool scan,
                                                        bloomery_layer_info *info);

/* The cells of layer `index`, 0 the oldest, to read. Cell i of one bit is bit i & 7 of byte i >> 3,
 * and past the last cell all is 0. `bytes` is a multiple of 64, in small chains of other systems of
 * 8. They are valid until the filter is changed, moved or freed. BLOOMERY_BAD_ARGUMENT, NULL and 0
 * if there is no such layer. */
BLOOMERY_PUBLIC bloomery_status bloomery_layer_span(const bloomery_filter *filter, uint32_t index,
                                                    const void **data, uint64_t *bytes);

/*
 * The distinct keys in a filter of this shape, estimated from how many of its bits are set (of
 * counters: are not 0). O(1). A caller that adds `new_bits`, less `cleared`, to the `bits_set` of
 * an info knows the keys at any moment. Within 1 % or four standard deviations, at any fill between
 * 0.1 % and 95 % (docs/mathematics.md). Infinity if all bits are set; a number larger than theirs
 * counts as all.
 *
 * Of a scalable filter `bits_set` is that of all layers together. The keys of its layers are summed
 * up: after a merge, keys that both filters had count twice. In a map or a view of several layers
 * each call reads the older ones; else it is O(layers).
 */
BLOOMERY_PUBLIC double bloomery_estimate(const bloomery_filter *filter, uint64_t bits_set);

/*
 * The expected rate of a filter of this shape that holds `keys` distinct keys, whatever it holds
 * now: expected_rate of an info is this rate for the estimated keys. Of filters of other systems
 * too, by their own scheme. Of a scalable filter it is that of its newest layer alone. A static
 * filter has one rate for any keys. 0 for 0 keys; more than 2^48 keys count as 2^48. Reads no bits;
 * some ms.
 */
BLOOMERY_PUBLIC double bloomery_expected_rate(const bloomery_filter *filter, uint64_t keys);

/* The name of a hash, "xxh3-64" or "murmur3-x64-128"; NULL for an unknown number. */
BLOOMERY_PUBLIC const char *bloomery_hash_name(uint32_t id);

/*
 * The cells that a key touches in layer `layer` (0 the oldest) of any filter, in the order in which
 * they are touched, repeats included. Returns their number, and writes the first `room` of them to
 * `positions`. Returns 0 if there is no such layer, if keys can't be hashed, or for a static
 * filter, whose keys have no cells. At most BLOOMERY_POSITIONS_MAX.
 */
BLOOMERY_PUBLIC size_t bloomery_positions(const bloomery_filter *filter, uint32_t layer,
                                          bloomery_key key, uint64_t *positions, size_t room);

enum { BLOOMERY_POSITIONS_MAX = 1024 };

/* Moves a block of a filter: returns where its bytes are now, at a multiple of `alignment`. If that
 * is another address, it has copied them and released the old block. NULL: the block stays. */
typedef void *(*bloomery_mover)(void *context, void *memory, size_t bytes, size_t alignment);

/*
 * Passes every block of memory that the filter owns to `move`, once each, the filter itself last.
 * It mends all pointers between them; `filter` receives its new address. For owners who defragment
 * their memory. A new block must be one that the `release` of the filter's allocator takes.
 *
 * Nobody else may use the filter meanwhile, not even one with `concurrent_adds`. What was pointed
 * to is valid no longer: a bloomery_inline, a layer's span, the note of an info. The block of a
 * keyed filter holds its secret: wipe it before it is released. The bytes of maps and views are not
 * the filter's and stay.
 *
 * BLOOMERY_UNSUPPORTED if the filter has no allocator of the caller's; nothing is moved then.
 * BLOOMERY_BAD_ARGUMENT if a block came to lie at no multiple of its alignment: the library has
 * copied it once more, by the filter's allocator, and the filter is as before. If there is no
 * memory for that, BLOOMERY_OUT_OF_MEMORY: the filter is lost, all of it is released, and `filter`
 * receives NULL.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move,
                                              void *context);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_BLOOMERY_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other systems' Bloom filters, bit for bit: read, query, add to, check and write them without
 * those systems.
 *
 * A dialect is another system's hash, its way from a hash to bits, its sizing, and the bytes in
 * which it keeps a filter. A filter of a dialect is a bloomery_filter like any other. All functions
 * of bloomery.h work on it, and bloomery_save keeps it in a Bloomery file with its dialect. Its
 * keys are the bytes that the other system hashes (docs/dialects.md says which those are for texts
 * and numbers).
 *
 *     const bloomery_dialect *dialect = bloomery_dialect_find("guava");
 *     bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
 *     parameters.keys = 1000000, parameters.rate = 0.01;
 *     bloomery_dialect_create(dialect, &parameters, NULL, &filter, &error);          empty, or
 *     bloomery_dialect_load(dialect, data, bytes, NULL, NULL, &filter, &error);      from bytes
 *     bloomery_add(filter, key, &error);
 *     bloomery_dialect_write(filter, dialect, sink, context, &error);
 *
 * Faults of the originals are reproduced here: that is what bit for bit means.
 * bloomery_dialect_remark reports them.
 *
 * Contents
 *     1. Dialects           the list, bloomery_dialect_get, _find, _sniff
 *     2. Parameters         bloomery_dialect_parameters
 *     3. Filters            bloomery_dialect_create, _load
 *     4. Bytes              bloomery_dialect_write, _save
 *     5. Facts              bloomery_dialect_remark, _variant
 *
 * If positions are not a function of 128 bits (bloomery_dialect.hashes is false),
 * bloomery_hash_key, _hash_keys, _add_hash, and keys in the form of hashes are
 * BLOOMERY_UNSUPPORTED, and queries by hash answer "possibly". Filters of dialects do not fold, and
 * merge only with filters of the same size. Their chains cannot be merged or made with
 * concurrent_adds.
 *
 * Threads, ownership, errors and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_DIALECT_H
#define BLOOMERY_DIALECT_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Dialects ---------------------------------------------------------------------------- */

/* Files contain these numbers, so they never change. They have no gaps: bloomery_dialect_get(1),
 * (2), ... lists all dialects, until it returns NULL. */
typedef enum bloomery_dialect_id {
    BLOOMERY_DIALECT_NATIVE = 0, /* Bloomery's own */
    BLOOMERY_DIALECT_GUAVA = 1,
    BLOOMERY_DIALECT_SHA384_SLICES = 2,
    BLOOMERY_DIALECT_SIEVE_MURMUR3 = 3,
    BLOOMERY_DIALECT_SIMPLE_HASH = 4,
    BLOOMERY_DIALECT_MD5_CHAIN = 5,
    BLOOMERY_DIALECT_CLICKHOUSE = 6,
    BLOOMERY_DIALECT_CLICKHOUSE_INDEX = 7,
    BLOOMERY_DIALECT_DCSO = 8,
    BLOOMERY_DIALECT_PARQUET = 9,
    BLOOMERY_DIALECT_REDISBLOOM = 10,
    BLOOMERY_DIALECT_SPARK = 11,
    BLOOMERY_DIALECT_BITS_AND_BLOOMS = 12,
    BLOOMERY_DIALECT_LIBBLOOM = 13,
    BLOOMERY_DIALECT_LEVELDB = 14,
    BLOOMERY_DIALECT_ROCKSDB = 15,
    BLOOMERY_DIALECT_CASSANDRA = 16,
    BLOOMERY_DIALECT_ORC = 17,
    BLOOMERY_DIALECT_PYBLOOM_LIVE = 18,
    BLOOMERY_DIALECT_REDISBLOOM_CUCKOO = 19,
} bloomery_dialect_id;

/* The description of a dialect. Static storage. */
typedef struct bloomery_dialect {
    /* BLOOMERY_DIALECT_..., as in bloomery_info.dialect. */
    uint32_t id;
    const char *name;
    /* What it is: a phrase. */
    const char *description;
    /* Names for parameters.variant, the default first, separated by ", ". NULL: only one. */
    const char *variants;
    /* Fields of bloomery_dialect_parameters by their names, separated by ", ": those that
     * bloomery_dialect_load needs (some for one variant alone; or others from which they follow),
     * since the bytes do not say them; those that it takes; and those that bloomery_dialect_create
     * takes. "" for none. */
    const char *load_needs;
    const char *load_takes;
    const char *create_takes;
    bool reads;
    bool writes;
    /* From keys and rate, or from the numbers that the other system takes instead. */
    bool creates;
    /* Its first bytes identify it: bloomery_dialect_sniff. */
    bool magic;
    /* Positions are a function of 128 bits. */
    bool hashes;
} bloomery_dialect;

/* By name, as in "guava"; NULL if there is none. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_find(const char *name);

/* By number; NULL for an unknown one, and for 0, which is Bloomery's own. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_get(uint32_t id);

/* The dialect whose magic these first bytes of a file have (64 are enough). NULL if no dialect has
 * it. Dialects without a magic are never found: they are named, not guessed. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_sniff(const void *data, size_t bytes);

/* ---- 2. Parameters --------------------------------------------------------------------------- */

/* The numbers that the other system was given, or would be. Fields of 0 are not given. A field that
 * the dialect or the call does not use is BLOOMERY_BAD_ARGUMENT. May grow at its end. */
typedef struct bloomery_dialect_parameters {
    /* sizeof(bloomery_dialect_parameters), or 0 */
    size_t struct_bytes;
    /* NULL: the default one. */
    const char *variant;
    /* n */
    uint64_t keys;
    /* p */
    double rate;
    /* m */
    uint64_t bits;
    /* m / 8, for systems that count bytes. */
    uint64_t bytes;
    /* k */
    uint32_t probes;
    double bits_per_key;
    uint64_t seed;
    /* Of chains: each next layer is for this many times the keys. */
    uint32_t growth;
    /* Of an index: how many filters lie side by side in one part of it. */
    uint32_t columns;
    /* Which of the filters in the bytes; 0 the first. */
    uint64_t index;
    /* 1; 4 or 8 for counters in the place of bits. */
    uint32_t cell_bits;
    /* Of cuckoo filters: the slots of a bucket, 1 to 255, and how many keys move at the most to
     * make room for one, 1 to 65,535. */
    uint32_t slots;
    uint32_t iterations;
    /* 0 */
    uint32_t reserved;
} bloomery_dialect_parameters;

#define BLOOMERY_DIALECT_PARAMETERS BLOOMERY_SIZED(bloomery_dialect_parameters)

/* ---- 3. Filters ------------------------------------------------------------------------------ */

/*
 * An empty filter as the other system makes it. It is made from keys and rate by that system's own
 * sizing, faults included, or from raw numbers (bits or bytes, and probes). `options`: allocator,
 * concurrent_adds, memory_limit, rule and note; seed and secret must not be set.
 * BLOOMERY_BAD_ARGUMENT if the other system would refuse the numbers or nothing sensible follows
 * from them. BLOOMERY_UNSUPPORTED if the dialect has no sizing, or if its hash needs libcrypto and
 * that is missing. BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_create(
    const bloomery_dialect *dialect, const bloomery_dialect_parameters *parameters,
    const bloomery_create_options *options, bloomery_filter **filter, bloomery_error *error);

/*
 * A filter that owns a copy of what the other system wrote. All numbers in the bytes are checked
 * before memory is allocated; any bytes are safe. `parameters` says what the bytes do not (NULL:
 * nothing). Of `options`, `inspect` opens it even if the hash is not available. The secret must not
 * be set; rule and note are kept with the filter.
 * BLOOMERY_NOT_A_FILTER, BLOOMERY_TRUNCATED, BLOOMERY_CORRUPT, BLOOMERY_WRONG_VERSION,
 * BLOOMERY_BAD_ARGUMENT (the parameters), BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_load(const bloomery_dialect *dialect,
                                                      const void *data, size_t bytes,
                                                      const bloomery_dialect_parameters *parameters,
                                                      const bloomery_open_options *options,
                                                      bloomery_filter **filter,
                                                      bloomery_error *error);

/* ---- 4. Bytes -------------------------------------------------------------------------------- */

/*
 * Sends the bytes in which the other system keeps such a filter to a sink, front to back. If
 * nothing was added since loading, these are the bytes that were loaded. `dialect` NULL: the
 * filter's own. BLOOMERY_MISMATCH if the filter's hash or geometry is not one of that dialect's.
 * The text says which, and that the filter must be built anew from its keys. BLOOMERY_UNSUPPORTED
 * if the dialect has no bytes, or if the filter was one of many in a file too large to be kept with
 * it. BLOOMERY_IO_FAILED if the sink stops; BLOOMERY_CORRUPT if a map's own checksums do not match.
 * No memory is allocated.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_write(const bloomery_filter *filter,
                                                       const bloomery_dialect *dialect,
                                                       bloomery_sink sink, void *context,
                                                       bloomery_error *error);

/*
 * Writes these bytes beside `path`, syncs them and renames them to `path`, as bloomery_save does.
 * An existing file is replaced as a whole or stays, and keeps its mode. Fails as
 * bloomery_dialect_write and bloomery_save do.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_save(const bloomery_filter *filter,
                                                      const bloomery_dialect *dialect,
                                                      const char *path, bloomery_error *error);

/* ---- 5. Facts -------------------------------------------------------------------------------- */

/*
 * Faults of the original that concern this filter, with numbers computed for its size. Example:
 * "this filter's rate with 1000 keys is 0.07, not the 0.001 that was planned". Writes remark number
 * `index` (0 the first) as a sentence into `text`, cut to `room` bytes with its NUL, and returns
 * true. Returns false if there is none. O(1) in the filter's size: some ms, with hundreds of probes
 * up to a second.
 */
BLOOMERY_PUBLIC bool bloomery_dialect_remark(const bloomery_filter *filter, uint32_t index,
                                             char *text, size_t room);

/* The variant of a filter of a dialect with several, as in parameters.variant; else NULL. */
BLOOMERY_PUBLIC const char *bloomery_dialect_variant(const bloomery_filter *filter);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_DIALECT_H */

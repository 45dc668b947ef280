/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other systems' Bloom filters, bit for bit: read, ask, add, check and write them without those
 * systems.
 *
 * A dialect is another system's hash, its way from a hash to bits, its sizing, and the bytes in which
 * it keeps a filter. A filter of a dialect is a bloomery_filter like any other: all functions of
 * bloomery.h work on it, and bloomery_save keeps it in our own file with its dialect. Its keys are
 * the bytes that the other system hashes (docs/dialects.md says which those are for texts and numbers).
 *
 *     const bloomery_dialect *dialect = bloomery_dialect_find("guava");
 *     bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
 *     parameters.keys = 1000000, parameters.rate = 0.01;
 *     bloomery_dialect_create(dialect, &parameters, NULL, &filter, &error);    an empty one, or
 *     bloomery_dialect_load(dialect, data, bytes, NULL, NULL, &filter, &error);    one from its bytes
 *     bloomery_add(filter, key, NULL);
 *     bloomery_dialect_write(filter, dialect, sink, context, &error);
 *
 * What the originals do wrong is done wrong here as well - that is what bit for bit means - and told
 * by bloomery_dialect_remark.
 *
 * Where positions are no function of 128 bits (bloomery_dialect.hashes is false), bloomery_hash_key,
 * _hash_batch, _add_hash and _add_hashes are BLOOMERY_UNSUPPORTED, _may_contain_hash and
 * _may_contain_hashes say "maybe". Filters of dialects do not fold, merge only with filters of the
 * same size, and chains of theirs can't be merged or be made with concurrent_adds.
 *
 * Threads, ownership, errors and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_DIALECT_H
#define BLOOMERY_DIALECT_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row per dialect: name, number. The numbers stand in files and are never renumbered. */
#define BLOOMERY_DIALECT_LIST(ROW)            \
    ROW(BLOOMERY_DIALECT_GUAVA, 1)            \
    ROW(BLOOMERY_DIALECT_SHA384_SLICES, 2)    \
    ROW(BLOOMERY_DIALECT_SIEVE_MURMUR3, 3)    \
    ROW(BLOOMERY_DIALECT_SIMPLE_HASH, 4)      \
    ROW(BLOOMERY_DIALECT_MD5_CHAIN, 5)        \
    ROW(BLOOMERY_DIALECT_CLICKHOUSE, 6)       \
    ROW(BLOOMERY_DIALECT_CLICKHOUSE_INDEX, 7) \
    ROW(BLOOMERY_DIALECT_DCSO, 8)             \
    ROW(BLOOMERY_DIALECT_PARQUET, 9)          \
    ROW(BLOOMERY_DIALECT_REDISBLOOM, 10)      \
    ROW(BLOOMERY_DIALECT_SPARK, 11)           \
    ROW(BLOOMERY_DIALECT_BITS_AND_BLOOMS, 12) \
    ROW(BLOOMERY_DIALECT_LIBBLOOM, 13)        \
    ROW(BLOOMERY_DIALECT_LEVELDB, 14)         \
    ROW(BLOOMERY_DIALECT_ROCKSDB, 15)         \
    ROW(BLOOMERY_DIALECT_CASSANDRA, 16)       \
    ROW(BLOOMERY_DIALECT_ORC, 17)             \
    ROW(BLOOMERY_DIALECT_PYBLOOM_LIVE, 18)

typedef enum bloomery_dialect_id {
    BLOOMERY_DIALECT_NATIVE = 0, /* our own */
#define BLOOMERY_DIALECT_ROW(name, value) name = value,
    BLOOMERY_DIALECT_LIST(BLOOMERY_DIALECT_ROW)
#undef BLOOMERY_DIALECT_ROW
} bloomery_dialect_id;

/* What is known of a dialect. Static storage. */
typedef struct bloomery_dialect {
    uint32_t id; /* BLOOMERY_DIALECT_..., as in bloomery_info.dialect */
    const char *name;
    const char *description; /* what it is: a phrase */
    const char *variants;   /* names for parameters.variant, the default first, separated by commas;
                               NULL: there is one only */
    const char *parameters; /* what of bloomery_dialect_parameters _load needs, by the names of its
                               fields separated by commas; NULL: nothing, the bytes say it all */
    bool reads;
    bool writes;
    bool creates; /* from keys and rate, or what the other system is asked for instead */
    bool magic;   /* its bytes can be told from others': bloomery_dialect_sniff */
    bool hashes;  /* positions are a function of 128 bits */
} bloomery_dialect;

/* All dialects, 0 the first; NULL past the last one. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_at(size_t index);

/* By name, as in "guava"; NULL where there is none. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_find(const char *name);

/* By number; NULL for one that is unknown, and for 0, which is our own. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_get(uint32_t id);

/* The dialect whose magic these first bytes of a file have (64 are enough). NULL where no dialect
 * has it, and for all dialects without a magic: those are named, never guessed. */
BLOOMERY_PUBLIC const bloomery_dialect *bloomery_dialect_sniff(const void *data, size_t bytes);

/* What of bloomery_dialect_parameters a dialect has a use for: in bloomery_dialect_create where
 * `creating`, else in _load. Writes the names of the fields, separated by ", ", cut to `room` bytes with
 * their NUL, into `text`, and returns it; "" for none. BLOOMERY_DIALECT_TAKES_BYTES are enough. */
enum { BLOOMERY_DIALECT_TAKES_BYTES = 200 };
BLOOMERY_PUBLIC const char *bloomery_dialect_takes(const bloomery_dialect *dialect, bool creating,
                                                   char *text, size_t room);

/* What the other system was told, or would be. Zero fields are not given; a field that the dialect or
 * the call has no use for is BLOOMERY_BAD_ARGUMENT. May grow at its end. */
typedef struct bloomery_dialect_parameters {
    size_t struct_bytes; /* sizeof(bloomery_dialect_parameters) */
    const char *variant; /* NULL: the default one */
    uint64_t keys;       /* n */
    double rate;         /* p */
    uint64_t bits;       /* m */
    uint64_t bytes;      /* m / 8, where the other system counts so */
    uint32_t probes;     /* k */
    double bits_per_key;
    uint64_t seed;
    uint32_t growth;    /* of chains: each next layer is for so many times the keys */
    uint32_t columns;   /* of an index: how many filters lie side by side in one part of it */
    uint64_t index;     /* which of the filters in the bytes; 0 the first */
    uint32_t cell_bits; /* 1; 4 or 8 for counters in the place of bits */
} bloomery_dialect_parameters;

#define BLOOMERY_DIALECT_PARAMETERS BLOOMERY_SIZED(bloomery_dialect_parameters)

/*
 * An empty filter as the other system makes it: from keys and rate by that system's own sizing, faults
 * included, or from raw numbers (bits or bytes, and probes). `options`: allocator, concurrent_adds,
 * exactly_once, memory_limit, rule and note; hash, seed and key must not be set.
 * BLOOMERY_BAD_ARGUMENT where the other system would refuse the numbers or nothing sensible follows
 * from them; BLOOMERY_UNSUPPORTED where the dialect has no sizing, or where its hash needs libcrypto,
 * which is not there; BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_create(
    const bloomery_dialect *dialect, const bloomery_dialect_parameters *parameters,
    const bloomery_create_options *options, bloomery_filter **filter, bloomery_error *error);

/*
 * A filter that owns a copy of what the other system wrote. All numbers in the bytes are checked
 * before anything is allocated; any bytes are safe. `parameters` says what the bytes do not (NULL:
 * nothing). `options` as in bloomery_dialect_create, and open_flags, of which only
 * BLOOMERY_OPEN_INSPECT has a meaning: open where the hash is not available.
 * BLOOMERY_NOT_A_FILTER, BLOOMERY_TRUNCATED, BLOOMERY_CORRUPT, BLOOMERY_WRONG_VERSION,
 * BLOOMERY_BAD_ARGUMENT (the parameters), BLOOMERY_UNSUPPORTED, BLOOMERY_OUT_OF_MEMORY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_load(const bloomery_dialect *dialect,
                                                      const void *data, size_t bytes,
                                                      const bloomery_dialect_parameters *parameters,
                                                      const bloomery_open_options *options,
                                                      bloomery_filter **filter,
                                                      bloomery_error *error);

/*
 * Sends the bytes in which the other system keeps such a filter to a sink, front to back: those that
 * were loaded, where nothing was added. `dialect` NULL: the filter's own. BLOOMERY_MISMATCH where
 * the filter's hash or geometry is not one of that dialect's; the text says which, and that the
 * filter must be built anew from its keys. BLOOMERY_UNSUPPORTED where the dialect has no bytes, or
 * where the filter was one of many in a file too large to be kept with it; BLOOMERY_IO_FAILED if the
 * sink stops; BLOOMERY_CORRUPT where a map's own checksums do not match.
 * No memory is allocated.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_write(const bloomery_filter *filter,
                                                       const bloomery_dialect *dialect,
                                                       bloomery_sink sink, void *context,
                                                       bloomery_error *error);

/*
 * Writes these bytes beside `path`, syncs them and renames them to `path`, as bloomery_save does it: a
 * file that is there is replaced as a whole or stays, and keeps its mode. Failures of
 * bloomery_dialect_write and of bloomery_save.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_save(const bloomery_filter *filter,
                                                      const bloomery_dialect *dialect,
                                                      const char *path, bloomery_error *error);

/*
 * RedisBloom hands a filter out, and takes one, in chunks: the header first, then the layers' bits, at most
 * 16 MiB at once and never of two layers. These are its BF.SCANDUMP and BF.LOADCHUNK; all chunks, one behind
 * the other, are the bytes that bloomery_dialect_load and _write of dialect "redisbloom" know.
 *
 *     uint64_t iterator = 0;
 *     do {
 *         bloomery_redisbloom_scandump(filter, iterator, room, &data, &bytes, &iterator, &error);
 *         send BF.LOADCHUNK key iterator data                        unless iterator is 0
 *     } while (iterator != 0);
 */
enum { BLOOMERY_REDISBLOOM_HEADER = 3412, BLOOMERY_REDISBLOOM_CHUNK = 16777216 };

/*
 * The chunk that BF.SCANDUMP replies to an iterator: 0 asks for the header, what `next` was asks for what
 * follows. `next` is what BF.LOADCHUNK wants with this chunk, and 0, with no bytes, past the end. `data`
 * points to `header` or into the filter, until that is changed or freed. BLOOMERY_MISMATCH where the filter is
 * none of RedisBloom's. O(layers).
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_scandump(
    const bloomery_filter *filter, uint64_t iterator, uint8_t header[BLOOMERY_REDISBLOOM_HEADER],
    const void **data, size_t *bytes, uint64_t *next, bloomery_error *error);

/*
 * What BF.LOADCHUNK does. Iterator 1 is a header and makes a filter with all bits 0: *filter must be NULL,
 * and `options` are those of bloomery_dialect_load; a memory_limit, if not 0, is kept. Any other is bits that end at
 * iterator - 1, to be put into *filter. Any bytes are safe, but a header alone decides how much memory is
 * taken. Adding keys before all chunks are there loses some. Statuses are those of bloomery_dialect_load;
 * BLOOMERY_BAD_ARGUMENT for an iterator that does not go with the bytes; BLOOMERY_READ_ONLY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_loadchunk(bloomery_filter **filter,
                                                              uint64_t iterator, const void *data,
                                                              size_t bytes,
                                                              const bloomery_open_options *options,
                                                              bloomery_error *error);

/*
 * What a user of this filter should know: faults of the original that concern it, with numbers
 * computed for its size, such as "this filter's rate with 1000 keys is 0.07, not the 0.001 it was
 * asked for". Writes remark number `index` (0 the first) as a sentence into `text`, cut to `room`
 * bytes with its NUL, and returns true; false where there is none. O(1) in the filter's size: some
 * ms, with hundreds of probes up to a second.
 */
BLOOMERY_PUBLIC bool bloomery_dialect_remark(const bloomery_filter *filter, uint32_t index,
                                             char *text, size_t room);

/* The variant of a filter of a dialect with several, as in parameters.variant; else NULL. */
BLOOMERY_PUBLIC const char *bloomery_dialect_variant(const bloomery_filter *filter);

/*
 * The table by which ClickHouse and Cassandra choose bits per key and probes: a rate of three digits for 2 to
 * 20 bits and up to 14 probes, as many as are worth having there; 0 where it has no entry. (1 - e^(-k/b))^k
 * is what it was made by. O(1).
 */
BLOOMERY_PUBLIC double bloomery_table_rate(uint32_t bits_per_key, uint32_t probes);

/* The name of a hash, "xxh3-64" or "murmur3-x64-128"; NULL for an unknown number. */
BLOOMERY_PUBLIC const char *bloomery_hash_name(uint32_t id);

/*
 * The cells that a key touches in layer `layer` (0 the oldest), in the order in which they are
 * touched, repeats included: their number is returned, and the first `room` of them are written to
 * `positions`. Of any filter, our own kinds too. 0 where there is no such layer or keys can't be
 * hashed. At most BLOOMERY_POSITIONS_MAX.
 */
BLOOMERY_PUBLIC size_t bloomery_positions(const bloomery_filter *filter, uint32_t layer,
                                          bloomery_key key, uint64_t *positions, size_t room);

enum { BLOOMERY_POSITIONS_MAX = 1024 };

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_DIALECT_H */

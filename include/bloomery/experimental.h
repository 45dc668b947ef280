/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that may change or go in any release before 1.0. A program must define
 * BLOOMERY_EXPERIMENTAL before it includes this header.
 *
 * Contents
 *
 *   1  Layers, positions and estimates   what a page or a report shows of a filter
 *   2  Plans of growing filters
 *   3  Memory: limits, populating, moving, prefetching
 *   4  RedisBloom's chunks
 *   5  Plans of other systems
 *   6  Cuckoo filters
 *
 * Threads, ownership, errors, structs and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_EXPERIMENTAL_H
#define BLOOMERY_EXPERIMENTAL_H

#ifndef BLOOMERY_EXPERIMENTAL
#error "bloomery/experimental.h may change in any release: define BLOOMERY_EXPERIMENTAL to use it"
#endif

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1  Layers, positions and estimates ------------------------------------------------------ */

/* One layer of a filter. */
typedef struct bloomery_layer_info {
    size_t struct_bytes; /* sizeof(bloomery_layer_info), or 0 */
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys;
    double planned_rate; /* of this layer alone */
    uint64_t adds;

    /* Known after a scan. In a scalable filter in memory, also of another system, they are known
     * without one, because they are counted as keys are added. A batch may leave some of them
     * uncounted; then they are unknown. While other threads add batches, they may be too high by
     * 2,048 for each of these threads. Else 0. */
    bool bits_known;
    uint64_t bits_set;
    double estimated_keys;

    double live_rate; /* scanned, else 0 */
} bloomery_layer_info;

#define BLOOMERY_LAYER_INFO BLOOMERY_SIZED(bloomery_layer_info)

/* The facts of layer `index`, 0 the oldest. BLOOMERY_BAD_ARGUMENT if there is none. */
BLOOMERY_PUBLIC bloomery_status bloomery_layer_info_get(const bloomery_filter *filter,
                                                        uint32_t index, bool scan,
                                                        bloomery_layer_info *info);

/* The cells of layer `index`, 0 the oldest, to read. Cell i of one bit is bit i & 7 of byte i >> 3,
 * and past the last cell all is 0. `bytes` is a multiple of 64, in small chains of other systems of
 * 8. They are valid until the filter is changed, moved or freed. BLOOMERY_BAD_ARGUMENT, NULL and 0
 * if the layer does not exist. */
BLOOMERY_PUBLIC bloomery_status bloomery_layer_span(const bloomery_filter *filter, uint32_t index,
                                                    const void **data, uint64_t *bytes);

/*
 * Estimates the distinct keys in a filter of this shape from the number of its set bits (of
 * counters: those that are not 0). O(1). A caller that adds bloomery_counts.cells of added keys,
 * minus those of removed ones, to `bits_set` of a scan knows the number of keys at any moment.
 * Within 1 % or four standard deviations, at any fill between 0.1 % and 95 % (docs/mathematics.md).
 * Infinity if all bits are set; a number larger than theirs counts as all.
 *
 * For a scalable filter, `bits_set` is that of all layers together. The keys of its layers are
 * added up, so keys that both filters had before a merge count twice. In a map or a view of several
 * layers, each call reads the older ones; else it is O(layers).
 */
BLOOMERY_PUBLIC double bloomery_estimate(const bloomery_filter *filter, uint64_t bits_set);

/*
 * Returns the expected rate of a filter of this shape that holds `keys` distinct keys, whatever it
 * holds now: expected_rate of a scan is this rate for the estimated keys. Of filters of other
 * systems too, by their own scheme. Of a scalable filter it is that of its newest layer alone. A
 * static filter has one rate for any keys. 0 for 0 keys; more than 2^48 keys count as 2^48. Reads
 * no bits; some ms.
 */
BLOOMERY_PUBLIC double bloomery_expected_rate(const bloomery_filter *filter, uint64_t keys);

/* Returns the name of a hash, "xxh3-64" or "murmur3-x64-128"; NULL for an unknown number. */
BLOOMERY_PUBLIC const char *bloomery_hash_name(uint32_t id);

/*
 * Finds the cells that a key touches in layer `layer` (0 the oldest) of any filter, in the order in
 * which they are touched, repeats included. Returns their number, and writes the first `room` of
 * them to `positions`. Returns 0 if the filter does not have this layer, if keys can't be hashed,
 * or for a static filter, whose keys have no cells. At most BLOOMERY_POSITIONS_MAX.
 */
BLOOMERY_PUBLIC size_t bloomery_positions(const bloomery_filter *filter, uint32_t layer,
                                          bloomery_key key, uint64_t *positions, size_t room);

enum { BLOOMERY_POSITIONS_MAX = 1024 };

/* ---- 2  Plans of growing filters ------------------------------------------------------------- */

/*
 * Plans what a scalable filter of this solved plan will be when it has grown: fills the plan of
 * layer `index`, 0 the first, as a blocked filter's; its rate is the layer's own. Solves a plan for
 * each layer up to it. BLOOMERY_BAD_ARGUMENT if the plan is not scalable, or if `index` is not 0 to
 * 63. `layer` is filled whatever it begins with, as the structs of facts are.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_plan_layer(const bloomery_plan *plan, uint32_t index,
                                                    bloomery_plan *layer, bloomery_error *error);

/* ---- 3  Memory ------------------------------------------------------------------------------- */

/*
 * The memory that this process can use, in bytes. UINT64_MAX if there is no limit, or none that can
 * be read. Control groups (cgroup, version 1 or 2) limit containers, pods and services of systemd.
 */
typedef struct bloomery_limits {
    size_t struct_bytes; /* sizeof(bloomery_limits), or 0 */
    uint64_t machine;
    uint64_t machine_left; /* what programs can have without swapping */
    /* Of the control group that leaves the least, among the process's own and those above it. */
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
 * BLOOMERY_OUT_OF_MEMORY, unless they are for the caller's own allocator: the system would grant
 * them, and end the process when it writes to them. Fields past the caller's struct_bytes are left
 * out. Any thread; some system calls.
 */
BLOOMERY_PUBLIC void bloomery_limits_get(bloomery_limits *limits);

/*
 * Faults in the pages of a new filter without changing any cell, so that threads that add do not
 * wait for page faults later. `from` and `bytes` are bytes of the cells that the filter was made
 * with, as they lie in its file (bloomery_info.bytes of a new filter); a layer that a chain gets
 * later is not among them. Returns the offset that it reached, to continue from there:
 *
 *     for (uint64_t at = 0, to; (to = bloomery_populate(filter, at, 64 << 20)) > at; at = to)
 *         ...
 *
 * Returns `from` past the end, for a map or a view, and if the system has no memory left. Other
 * threads may query and one may add during the call, even without `concurrent_adds`, but no thread
 * may clear, merge into, move or free the filter. Where the kernel does not know
 * MADV_POPULATE_WRITE (Linux before 5.14) a byte of each page is written. Time: that of zeroing the
 * memory, 0.1 to 0.2 s a GiB; where a virtual machine has to get the memory from its host first,
 * seconds.
 */
BLOOMERY_PUBLIC uint64_t bloomery_populate(bloomery_filter *filter, uint64_t from, uint64_t bytes);

/* Moves a block of a filter: returns where its bytes are now, at a multiple of `alignment`. If that
 * is another address, it has copied them and released the old block. NULL: the block stays. */
typedef void *(*bloomery_mover)(void *context, void *memory, size_t bytes, size_t alignment);

/*
 * Passes every block of memory that the filter owns to `move`, once each, the filter itself last.
 * It updates all pointers between them; `filter` receives its new address. For programs that
 * defragment their memory. The `release` of the filter's allocator must accept each new block.
 *
 * No other thread may use the filter during the call, not even one with `concurrent_adds`. These
 * are no longer valid: a bloomery_inline or its _adder, a layer's span, the note of an info. The
 * block of a keyed filter holds its secret: wipe it before it is released. The bytes of maps and
 * views are not the filter's and stay.
 *
 * BLOOMERY_UNSUPPORTED, with nothing moved, if the filter does not use the caller's allocator.
 * BLOOMERY_BAD_ARGUMENT if the move put a block at an address that is not a multiple of its
 * alignment: the library has copied it once more, by the filter's allocator, and the filter is as
 * before. If memory runs out for that, BLOOMERY_OUT_OF_MEMORY: the filter is lost, all of it is
 * released, and `filter` receives NULL.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move,
                                              void *context);

/*
 * Prefetches the memory that bloomery_may_contain_hash or bloomery_add_hash will touch, without
 * waiting for it. For callers with their own loop. Hash a key and prefetch, do the same for some
 * hundred other keys, then query:
 *
 *     bloomery_hash_key(filter, key, &hashes[i % 128], &error);
 *     bloomery_prefetch_hash(filter, hashes[i % 128]);
 *     ... 127 keys later ...
 *     bloomery_may_contain_hash(filter, hashes[i % 128])
 *
 * Changes nothing, cannot fail, any thread.
 */
BLOOMERY_PUBLIC void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash);

/* ---- 4  RedisBloom's chunks ------------------------------------------------------------------ */

/*
 * RedisBloom dumps and loads a filter in chunks: first the header, then the bits of the layers. A
 * chunk has at most 16 MiB and never bits of two layers. All chunks in a row are the bytes that
 * bloomery_dialect_load and _write of dialect "redisbloom" know (bloomery/dialect.h).
 *
 *     uint64_t iterator = 0;
 *     uint8_t *header = malloc(bloomery_redisbloom_header_bytes(filter));
 *     do {
 *         bloomery_redisbloom_scandump(filter, iterator, header, &data, &bytes, &iterator, &error);
 *         send BF.LOADCHUNK key iterator data                        unless iterator is 0
 *     } while (iterator != 0);
 */

/* Bytes: of the header of a chain of 64 layers, and of the longest chunk. */
enum { BLOOMERY_REDISBLOOM_HEADER = 3412, BLOOMERY_REDISBLOOM_CHUNK = 16777216 };

/* The bytes of a filter's header: 20, and 53 for each layer. Up to 64 layers that is
 * BLOOMERY_REDISBLOOM_HEADER at most; a chain that was loaded or has grown may have up to 65,536. 0
 * if the filter is not one of RedisBloom's. O(layers). */
BLOOMERY_PUBLIC size_t bloomery_redisbloom_header_bytes(const bloomery_filter *filter);

/*
 * The chunk with which BF.SCANDUMP replies to an iterator. Iterator 0 requests the header; the
 * value of `next` requests the chunk that follows. `next` is also the iterator that BF.LOADCHUNK
 * takes with this chunk. Past the end it is 0, with no bytes. `data` points to `header` or into the
 * filter and is valid until the filter is changed or freed.
 *
 * `header` has room for bloomery_redisbloom_header_bytes(filter) bytes; only iterator 0 uses it,
 * and for others it may be NULL. BLOOMERY_BAD_ARGUMENT if it is NULL with iterator 0.
 * BLOOMERY_MISMATCH if the filter is not one of RedisBloom's; the numbers of its layers are looked
 * at with iterator 0 alone: O(layers), and O(log layers) with any other.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_scandump(const bloomery_filter *filter,
                                                             uint64_t iterator, uint8_t *header,
                                                             const void **data, size_t *bytes,
                                                             uint64_t *next, bloomery_error *error);

/*
 * The effect of BF.LOADCHUNK. Iterator 1 is a header and makes a filter with all bits 0. *filter
 * must be NULL, and `options` are those of bloomery_dialect_load; a memory_limit, if not 0, is
 * kept. Any other iterator is bits that end at iterator - 1 and go into *filter. Any bytes are
 * safe, but a header alone decides how much memory is allocated. Keys that are added before all
 * chunks are loaded may be lost. Statuses are those of bloomery_dialect_load; BLOOMERY_BAD_ARGUMENT
 * if the iterator and the bytes do not fit each other; BLOOMERY_READ_ONLY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_loadchunk(bloomery_filter **filter,
                                                              uint64_t iterator, const void *data,
                                                              size_t bytes,
                                                              const bloomery_open_options *options,
                                                              bloomery_error *error);

/* Whether two filters of RedisBloom have the same layers: as many, each with the same number of
 * bits and of probes. BLOOMERY_MISMATCH names the first thing that differs, or a filter that is not
 * one of RedisBloom's. Any thread; O(layers). */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_same_layers(const bloomery_filter *one,
                                                                const bloomery_filter *other,
                                                                bloomery_error *error);

/*
 * Adds the bits of `from` to `into`, which must have the same layers: statuses are those of
 * bloomery_redisbloom_same_layers, and BLOOMERY_READ_ONLY. On failure `into` is unchanged. No key
 * of either filter is denied afterwards. The keys of a layer become what its bits say, at least the
 * greater of the two counts and at most their sum. The same filter twice changes nothing. No other
 * thread may use `into` during the call. Allocates nothing; reads all bits of both.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_merge(bloomery_filter *into,
                                                          const bloomery_filter *from,
                                                          bloomery_error *error);

/* ---- 5  Plans of other systems --------------------------------------------------------------- */

struct bloomery_dialect;            /* dialect.h */
struct bloomery_dialect_parameters; /* dialect.h */

/* What a filter of another system would be. */
typedef struct bloomery_dialect_plan {
    size_t struct_bytes;     /* sizeof(bloomery_dialect_plan), or 0 */
    uint64_t bits;           /* m */
    uint64_t bytes;          /* of those bits in a file of that system: m / 8, rounded up */
    uint32_t probes;         /* k */
    uint32_t blocks_per_key; /* 0: a flat array */
    uint32_t block_bits;     /* 0: a flat array */
    uint32_t grows;          /* 1: a chain, of which these are the numbers of the first layer */
    uint64_t keys;           /* n, as given; 0: unknown */
    double rate;             /* p, as given; 0: the system got other numbers */
    double expected_rate;    /* with n keys, by that system's layout; 0 for 0 keys */
    double bits_per_key;     /* m / n; 0 for 0 keys */
} bloomery_dialect_plan;

#define BLOOMERY_DIALECT_PLAN BLOOMERY_SIZED(bloomery_dialect_plan)

/*
 * Fills `plan` with what bloomery_dialect_create would make of these parameters, by the other
 * system's own sizing, without memory for it: so of filters that are larger than this machine, too.
 * `expected_rate` is the rate that this layout has with the given keys, however it was asked for.
 * Of LevelDB's arrays of more than 524,288 bits it is the usual formula's: the real one is up to
 * twice as high.
 * Some ms, with hundreds of probes up to a second. BLOOMERY_BAD_ARGUMENT and BLOOMERY_UNSUPPORTED
 * as bloomery_dialect_create says; `plan` then stays as it is.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_dialect_plan_solve(
    const struct bloomery_dialect *dialect, const struct bloomery_dialect_parameters *parameters,
    bloomery_dialect_plan *plan, bloomery_error *error);

/* ---- 6  Cuckoo filters ----------------------------------------------------------------------- */

/*
 * A filter of kind BLOOMERY_CUCKOO, which is dialect "redisbloom-cuckoo", keeps a fingerprint of a
 * byte for each key, in one of two buckets of a table. It can do what RedisBloom's CF commands do:
 *
 *     CF.RESERVE      bloomery_cuckoo_create           CF.DEL       bloomery_remove
 *     CF.ADD          bloomery_add                     CF.COMPACT   bloomery_cuckoo_compact
 *     CF.ADDNX        bloomery_cuckoo_add_absent       CF.INFO      bloomery_cuckoo_info_get
 *     CF.EXISTS       bloomery_may_contain             CF.SCANDUMP  bloomery_cuckoo_header, then
 *     CF.COUNT        bloomery_key_count                            bloomery_layer_span
 *     CF.LOADCHUNK    bloomery_cuckoo_load_header, then bloomery_cuckoo_load_chunk
 *
 * Tables are the layers of the filter. All functions here give BLOOMERY_MISMATCH for a filter of
 * another kind, and those that change a filter BLOOMERY_READ_ONLY for a map or a view.
 */

enum {
    BLOOMERY_CUCKOO_SLOTS = 2,       /* of a bucket, if 0 is given */
    BLOOMERY_CUCKOO_SLOTS_MAX = 255, /* of a bucket */
    BLOOMERY_CUCKOO_ITERATIONS = 20, /* if 0 is given */
    BLOOMERY_CUCKOO_ITERATIONS_MAX = 65535,
    BLOOMERY_CUCKOO_GROWTH_MAX = 32768,
    BLOOMERY_CUCKOO_HEADER = 38, /* bytes of a header */
};

/* The numbers of a cuckoo filter. */
typedef struct bloomery_cuckoo_info {
    size_t struct_bytes; /* sizeof(bloomery_cuckoo_info), or 0 */
    uint64_t items;      /* keys that were added, less those that were removed */
    uint64_t removed;    /* since the filter was compacted last */
    uint64_t buckets;    /* of the first table: a power of two */
    uint64_t bytes;      /* of the slots of all tables: one each */
    uint32_t tables;     /* 1 to 65,536 */
    uint32_t slots;      /* of a bucket */
    uint32_t iterations; /* most keys that are moved to make room for one */
    uint32_t growth;     /* buckets of a table over those of the one before; 0: never another */
} bloomery_cuckoo_info;

#define BLOOMERY_CUCKOO_INFO BLOOMERY_SIZED(bloomery_cuckoo_info)

/*
 * Makes an empty filter of one table for `keys` keys, up to 2^40, or 0 for 1,024: keys / slots
 * buckets, rounded up to a power of two. `slots` 1 to 255, or 0 for 2; `iterations` 1 to 65,535, or
 * 0 for 20; `growth` 0 to 32,768, rounded up to a power of two. `options`: allocator, memory_limit,
 * rule and note.
 * BLOOMERY_BAD_ARGUMENT for a number out of its range, a seed or a secret; BLOOMERY_UNSUPPORTED for
 * a table of 2^32 slots or more, which RedisBloom cannot have, and for concurrent_adds;
 * BLOOMERY_OUT_OF_MEMORY.
 *
 * bloomery_add adds a copy of the key, whether or not it is there, and returns whether it is new.
 * It fails with BLOOMERY_FULL if no slot can be made free and there can't be another table (growth
 * 0, 65,536 tables, memory_limit), BLOOMERY_OUT_OF_MEMORY if there was no memory for one, and
 * BLOOMERY_UNSUPPORTED if it would have 2^32 slots. A failed call changes no byte.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_create(uint64_t keys, uint32_t slots,
                                                       uint32_t iterations, uint32_t growth,
                                                       const bloomery_create_options *options,
                                                       bloomery_filter **filter,
                                                       bloomery_error *error);

/* The numbers of the filter. O(1), any thread while none changes it. `info` stays as it is on
 * failure. */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_info_get(const bloomery_filter *filter,
                                                         bloomery_cuckoo_info *info);

/* Adds a key unless the filter possibly has it. Returns true if it was added; false with
 * error->status BLOOMERY_OK if it is there, else false as bloomery_add. `error` may be NULL as
 * there. */
BLOOMERY_PUBLIC bool bloomery_cuckoo_add_absent(bloomery_filter *filter, bloomery_key key,
                                                bloomery_error *error);

/*
 * Moves keys from newer tables to free slots of older ones, and frees the newest table if it is
 * then empty. It begins with the newest; if keys of a table have to stay, it goes on to older
 * tables only if `all`, as CF.COMPACT does. bloomery_remove does it without `all` when more than a
 * tenth of the keys were removed. `changed` gets whether any number or slot changed; it may be
 * NULL. O(slots).
 */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_compact(bloomery_filter *filter, bool all,
                                                        bool *changed, bloomery_error *error);

/* Writes the BLOOMERY_CUCKOO_HEADER bytes with which CF.SCANDUMP begins. The slots of the tables
 * follow, the oldest first: a byte for each of the cells (bloomery_layer_info.bits) with which a
 * bloomery_layer_span begins. Allocates nothing. */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_header(const bloomery_filter *filter,
                                                       uint8_t *header);

/*
 * Makes a filter of a header: the tables that it names, all slots free. Any bytes are safe, but
 * they alone decide how much memory is allocated, all tables in one block. `options` as those of
 * bloomery_dialect_load; with memory_limit, more bytes of slots are BLOOMERY_OUT_OF_MEMORY.
 * BLOOMERY_TRUNCATED if there are not 38 bytes; BLOOMERY_CORRUPT for numbers that no filter has;
 * BLOOMERY_UNSUPPORTED for 2^32 slots or more in a table.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_load_header(const void *data, size_t bytes,
                                                            const bloomery_open_options *options,
                                                            bloomery_filter **filter,
                                                            bloomery_error *error);

/* Puts slots where a chunk of CF.LOADCHUNK has them: they end at iterator - 1, counted over the
 * tables in a row. Any bytes are safe. BLOOMERY_BAD_ARGUMENT if they would not lie in one table. */
BLOOMERY_PUBLIC bloomery_status bloomery_cuckoo_load_chunk(bloomery_filter *filter,
                                                           uint64_t iterator, const void *data,
                                                           size_t bytes, bloomery_error *error);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_EXPERIMENTAL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row per kind, naming every function that it owes: hash in, answer out. Kinds never see key
 * bytes and never see files. A kind that forgets a function does not link.
 */
#ifndef BLOOMERY_KINDS_KINDS_H
#define BLOOMERY_KINDS_KINDS_H

#include "base/cpu.h"
#include "base/experimental.h"
#include "kinds/shape.h"

/*
 * The operations that run all day, chosen once when a filter is made. The row's own scalar
 * functions define the answers, and kernels for a processor must equal them bit for bit. In all of
 * them `payload` is the layer's own part. A word is up to 64 hashes, whose answers are the bits of
 * the word returned; bits past `count` are 0.
 */

/* Hashes behind one another that were set aside: both halves, or with lo = 0 the high one alone. */
struct bloomery_hashes {
    const uint64_t *words;
    bool narrow;
};

static inline bloomery_hash bloomery_hashes_at(struct bloomery_hashes hashes, size_t i)
{
    return hashes.narrow ? (bloomery_hash){0, hashes.words[i]}
                         : (bloomery_hash){hashes.words[2 * i], hashes.words[2 * i + 1]};
}

struct bloomery_operations {
    const char *name; /* "scalar", "scalar-concurrent", ... */
    uint32_t (*add)(const struct bloomery_layer *layer, uint8_t *payload, bloomery_hash hash);
    bool (*may_contain)(const struct bloomery_layer *layer, const uint8_t *payload,
                        bloomery_hash hash);
    /* The next four are for batches, but blocked layers have prefetch_add alone of them: their
     * batches are those of kernels/fast_path.h. Prefetch the memory that these hashes will touch
     * when they are added, or looked up. */
    void (*prefetch_add)(const struct bloomery_layer *layer, const uint8_t *payload,
                         const bloomery_hash *hashes, size_t count);
    void (*prefetch_query)(const struct bloomery_layer *layer, const uint8_t *payload,
                           const bloomery_hash *hashes, size_t count);
    uint64_t (*add_word)(const struct bloomery_layer *layer, uint8_t *payload,
                         const bloomery_hash *hashes, size_t count,
                         uint64_t *new_bits); /* += unless NULL */
    uint64_t (*query_word)(const struct bloomery_layer *layer, const uint8_t *payload,
                           const bloomery_hash *hashes, size_t count);
    /* Batches of a scheme of another system that requests the memory of its keys itself; NULL: by
     * words. */
    const struct bloomery_fast_path *batches;
    /* Adds block number `which` (0 to L-1) of any number of hashes alone, and prefetches the memory
     * of those to come. For threads that divide a filter by blocks. NULL in flat kinds. */
    void (*add_block)(const struct bloomery_layer *layer, uint8_t *payload,
                      struct bloomery_hashes hashes, size_t count, uint32_t which);
    /* Counters only, else NULL. remove: false if the key is definitely absent and nothing was
     * changed; `cleared` (never NULL) gets how many counters reached 0. */
    bool (*remove)(const struct bloomery_layer *layer, uint8_t *payload, bloomery_hash hash,
                   uint32_t *cleared);
    uint32_t (*count)(const struct bloomery_layer *layer, const uint8_t *payload,
                      bloomery_hash hash);
    /* If the hash gives positions (`takes_positions` of the row), these replace those above,
     * which are NULL: the same by a key's k positions. Else NULL. */
    uint32_t (*add_positions)(const struct bloomery_layer *layer, uint8_t *payload,
                              const uint64_t *positions);
    bool (*may_contain_positions)(const struct bloomery_layer *layer, const uint8_t *payload,
                                  const uint64_t *positions);
    bool (*remove_positions)(const struct bloomery_layer *layer, uint8_t *payload,
                             const uint64_t *positions, uint32_t *cleared);
    uint32_t (*count_positions)(const struct bloomery_layer *layer, const uint8_t *payload,
                                const uint64_t *positions);
    /* In schemes of other systems: the positions of a hash, k of them. */
    void (*positions_of)(const struct bloomery_layer *layer, bloomery_hash hash,
                         uint64_t *positions);
};

/* What a scan of all bits of a layer reports. */
struct bloomery_scan {
    uint64_t bits_set;  /* cells that are not 0 */
    uint64_t saturated; /* counters */
    double live_rate;
    double cascaded; /* if the kind hands keys on: the share that goes to the next layer */
};

struct bloomery_kind_row {
    bloomery_kind id;
    uint32_t block_scheme; /* our own kinds have 0 for these */
    uint32_t probe_scheme;
    uint32_t repeat_scheme;
    uint32_t probes_max; /* of a key: k L; 0 stands for BLOOMERY_PROBES_MAX */
    /* Checks a layer's geometry and the shape fields that the kind reads; says what is wrong. */
    bloomery_status (*check)(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                             bloomery_error *error);
    const struct bloomery_operations *(*operations)(uint32_t cell_bits, bool concurrent);
    double (*expected_rate)(const struct bloomery_layer *layer, uint64_t keys);
    /* Estimates the distinct keys from the cells that are not 0; INFINITY if all are. */
    double (*estimate)(const struct bloomery_layer *layer, uint64_t bits_set);
    void (*scan)(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                 const uint8_t *payload, struct bloomery_scan *scan);
    /* Of chains of other systems: the geometry (bits, probes, keys, rate) of the layer after
     * `newest`, which has got as many keys as it was planned for. NULL: src/kinds/chain.c knows. */
    bloomery_status (*next_layer)(const struct bloomery_shape *shape,
                                  const struct bloomery_layer *newest, struct bloomery_layer *next,
                                  bloomery_error *error);
    /* Of kinds whose layers are not arrays of cells, else NULL. Computes the bytes of a layer;
     * false if the kind does not allow its numbers. */
    bool (*layer_bytes)(const struct bloomery_layer *layer, uint64_t *bytes);
    /* Whether what no key touches is zero; else `at` is the first byte in the layer that is not. */
    bool (*spare)(const struct bloomery_layer *layer, uint64_t *at);
    uint16_t block_bits; /* of a shape made from a plan */
    uint32_t cell_sizes; /* bit b is set if cells of b bits are known */
    /* What it can; callers test these and compare no kinds. */
    bool adds;     /* keys can be added one by one; else it is built from all of them */
    bool removes;  /* keys can be removed and counted */
    bool merges;   /* two of one shape become one */
    bool grows;    /* a chain to which layers are added */
    bool cascades; /* a chain whose operations take the first layer and go on to the others */
    bool tables;   /* a chain of tables whose keys move: kinds/tables.c adds and removes them */
    bool has_bits; /* an array of cells: bits set, fill and live rate exist */
    bool takes_positions; /* the hash itself gives a key's positions: 128 bits are too few */
};

/* ROW(id, prefix of its functions, block bits, cell sizes, removes, grows). All of these add, merge
 * and have bits. The static kind does not, and has a row of its own in kinds.c. A scalable filter
 * is a chain of blocked layers: what is special about it concerns the chain, not the layer
 * (src/kinds/chain.c). */
#define BLOOMERY_KINDS(ROW)                                                      \
    ROW(BLOOMERY_BLOCKED, bloomery_blocked, 512, 1 << 1, false, false)           \
    ROW(BLOOMERY_CLASSIC, bloomery_classic, 0, 1 << 1, false, false)             \
    ROW(BLOOMERY_COUNTING, bloomery_counting, 512, 1 << 4 | 1 << 8, true, false) \
    ROW(BLOOMERY_SCALABLE, bloomery_blocked, 512, 1 << 1, false, true)

#define BLOOMERY_DECLARE_KIND(prefix)                                                           \
    bloomery_status prefix##_check(const struct bloomery_shape *shape,                          \
                                   const struct bloomery_layer *layer, bloomery_error *error);  \
    const struct bloomery_operations *prefix##_operations(uint32_t cell_bits, bool concurrent); \
    double prefix##_expected_rate(const struct bloomery_layer *layer, uint64_t keys);           \
    double prefix##_estimate(const struct bloomery_layer *layer, uint64_t bits_set);            \
    void prefix##_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,  \
                       const uint8_t *payload, struct bloomery_scan *scan);
BLOOMERY_DECLARE_KIND(bloomery_blocked)
BLOOMERY_DECLARE_KIND(bloomery_classic)
BLOOMERY_DECLARE_KIND(bloomery_counting)
BLOOMERY_DECLARE_KIND(bloomery_static)
#undef BLOOMERY_DECLARE_KIND

bool bloomery_static_layer_bytes(const struct bloomery_layer *layer, uint64_t *bytes);
bool bloomery_static_spare(const struct bloomery_layer *layer, uint64_t *at);

/* Whether its layers are tables of fingerprints; in a build without them, known to be not. */
static inline bool bloomery_has_tables(const struct bloomery_kind_row *kind)
{
    return BLOOMERY_HAS_TABLES && kind->tables;
}

/* Whether a filter of the kind may have several layers. */
static inline bool bloomery_has_layers(const struct bloomery_kind_row *kind)
{
    return kind->grows || kind->cascades || bloomery_has_tables(kind);
}

/* Of our own kinds; NULL for one that is reserved or unknown. */
const struct bloomery_kind_row *bloomery_kind_row(uint32_t kind);

/*
 * The rows of other systems. Core and the hashes do not know them: what reads numbers that may be
 * theirs, from a file or other bytes, is handed two functions that find them
 * (dialects/dialects.h). NULL for what is not known there either.
 */
struct bloomery_foreign_rows {
    const struct bloomery_kind_row *(*kind)(const struct bloomery_shape *shape);
    const struct bloomery_hash_row *(*hash)(uint32_t id);
};

/* Fills in the two rows of a shape from its numbers. `foreign` NULL: there are none but ours. */
void bloomery_shape_find_rows(struct bloomery_shape *shape,
                              const struct bloomery_foreign_rows *foreign);

#endif /* BLOOMERY_KINDS_KINDS_H */

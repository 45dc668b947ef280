/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shape is everything that decides answers except the bits. Whatever a filter came from - a plan,
 * our file, another system's - it arrives here as a shape. kinds/filter.c checks it once, and only
 * then does it get memory. A dialect is values of these fields, not branches in core.
 *
 *     shape ── kind, hash, seed, cell and block geometry, schemes
 *       └─ layers[0 .. layer_count-1] ── m, k, L, planned n and p, adds, place in the payload
 *
 * The payload of a file is one span; layers lie in it one behind the other, each at a multiple of
 * 64 bytes:
 *
 *     | layer 0: 64-byte units ........ | layer 1 ............ |
 *
 * In memory a layer that was added later has an allocation of its own; `payload` says where each
 * layer is.
 */
#ifndef BLOOMERY_KINDS_SHAPE_H
#define BLOOMERY_KINDS_SHAPE_H

#include "plan/ribbon.h"

#include <bloomery/bloomery.h>

enum {
    BLOOMERY_CHAIN_MAX = 64,     /* layers of our chains, and of any chain in our files */
    BLOOMERY_LAYERS_MAX = 65536, /* of another system's chain in memory */
    BLOOMERY_PAYLOAD_UNIT = 64,
};

struct bloomery_layer {
    uint64_t bits; /* m: cells */
    union {
        uint64_t blocks; /* N = m / block bits; of a shape: 0 in a flat layer */
        /* Of a filter with schemes of another system, in its flat layers: (2^64 - 1) / m, for
         * bloomery_modulo (base/bytes.h). */
        uint64_t inverse;
    };
    uint32_t probes;         /* k, per block if there are blocks */
    uint32_t blocks_per_key; /* L; 0 in a flat layer */
    uint8_t *payload; /* of a filter: where the layer's cells are; never written unless owned */
    uint64_t adds;
    uint64_t keys;   /* planned; 0: unknown */
    double rate;     /* planned; 0: unknown */
    uint64_t offset; /* in the payload */
    uint64_t bytes;
    union {                    /* of a filter, not of a shape, but for `ribbon` and `wanted` */
        struct {               /* in chains that can grow */
            uint64_t bits_set; /* the cells that are not 0; atomic if concurrent */
            union {
                uint64_t full_at; /* and how many mean that it holds the keys it was planned for */
                /* Of other systems' chains, which count keys for that: the bytes of bits that the
                 * layers before it have in a dump. */
                uint64_t dumped;
            };
        };
        struct { /* in static filters */
            struct bloomery_ribbon ribbon;
            bool cascades; /* of a filter: to the layer behind this one in the array */
        };
        struct {              /* in cuckoo filters; `adds` of the first layer are the keys of all */
            uint64_t removed; /* of the first layer: since the filter was compacted */
            uint32_t iterations; /* keys that are moved at the most to make room for one */
        };
        double wanted; /* in our other filters: the rate that the plan was asked for; 0: unknown */
    };
};

/*
 * Requests a line, which is read soon, of a layer of `bytes` bytes. A core has places for 10 to 24
 * lines that are on their way into its first-level cache, and for several times as many that go
 * into the second. So lines of a large filter are requested for the second. The lines of a small
 * filter are there already, and would be read from there once more. Above the bound a batch takes
 * 0.4 to 1.1 of the time, and above 32 MiB not more than before (docs/results/filters.md).
 */
enum { BLOOMERY_NEAR_BYTES = 16 << 20 };

static inline __attribute__((always_inline)) void bloomery_request_line(const void *line,
                                                                        uint64_t bytes)
{
    if (bytes > BLOOMERY_NEAR_BYTES)
        __builtin_prefetch(line, 0, 2);
    else
        __builtin_prefetch(line);
}

/* How a position becomes a cell and a key becomes positions. 0 is our own scheme; those of other
 * systems are numbers that core does not know. */
enum { BLOOMERY_SCHEME_NATIVE = 0 };

/* Count schemes: 0, `adds` counts calls; 1, only those that set a bit. */
enum { BLOOMERY_COUNTS_NEW = 1 };

struct bloomery_kind_row;
struct bloomery_hash_row;

struct bloomery_shape {
    uint64_t seed;                 /* first: kinds/filter.h */
    struct bloomery_layer *layers; /* not owned */
    /* What the numbers below stand for, filled in with them; NULL: nothing that is known. */
    const struct bloomery_kind_row *kind_row;
    const struct bloomery_hash_row *hash_row;
    /* As wide as in the header of a file. */
    uint16_t kind;
    uint16_t hash;
    uint32_t dialect;      /* 0: our own */
    uint16_t block_bits;   /* cells of a block. 0: flat; 512: blocks */
    uint8_t cell_bits;     /* 1: bits; 4, 8: counters */
    uint8_t block_scheme;  /* which blocks a key touches */
    uint8_t probe_scheme;  /* which cells it touches there */
    uint8_t bit_order;     /* where cell i lies: bit i & 7 of byte i >> 3 */
    uint8_t repeat_scheme; /* what a repeated position does */
    uint8_t count_scheme;  /* which adds are counted */
    /* Of chains of other systems: the keys of a layer over those of the one before; 0: no next. */
    uint32_t growth;
    uint32_t layer_count;
    double tightening;           /* its rate over that of the one before */
    uint64_t secret_fingerprint; /* 0: not keyed */
};

/* Cells of a size that a caller gave. One that the field has no room for becomes its largest value,
 * which is not a known size either. */
static inline uint8_t bloomery_cell_bits_field(uint32_t cell_bits)
{
    return cell_bits < UINT8_MAX ? (uint8_t)cell_bits : UINT8_MAX;
}

/* Whether schemes of another system decide which cells a key touches. */
static inline bool bloomery_is_foreign(const struct bloomery_shape *shape)
{
    return shape->block_scheme != BLOOMERY_SCHEME_NATIVE ||
           shape->probe_scheme != BLOOMERY_SCHEME_NATIVE;
}

/* Whether its layers are arrays of cells without blocks. */
static inline bool bloomery_is_flat(const struct bloomery_shape *shape)
{
    return shape->block_bits == 0;
}

/* How many layers a chain of this shape may get. */
static inline uint32_t bloomery_layers_max(const struct bloomery_shape *shape)
{
    return bloomery_is_foreign(shape) ? BLOOMERY_LAYERS_MAX : BLOOMERY_CHAIN_MAX;
}

#endif /* BLOOMERY_KINDS_SHAPE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other systems' filters. One file per system, one row in a table, and two directions:
 *
 *     bytes ── parse ──> design ── src/dialect.c ──> kinds/filter.c ──> filter ── write ──> bytes
 *     numbers ─ plan ──────^
 *
 * A design is a shape and, for each of its layers, where in the bytes its bits lie and in which
 * order. Parsing fills it and checks every number against the length of the bytes. It allocates
 * nothing but room for the layers of a long chain, as many as the bytes hold. What the bytes say
 * besides (a version, a number that is not part of the shape) goes to `extra` and comes back when
 * the filter is written. In memory bits always lie as ours do: bit p is bit p & 7 of byte p >> 3.
 */
#ifndef BLOOMERY_DIALECTS_DIALECTS_H
#define BLOOMERY_DIALECTS_DIALECTS_H

#include "dialects/schemes.h"
#include "kinds/filter.h"

#include <bloomery/dialect.h>

/* How another system lays out the bits of a layer. */
enum bloomery_layout {
    BLOOMERY_LAYOUT_BYTES,     /* as we do; little-endian words of any size are the same */
    BLOOMERY_LAYOUT_BE_WORDS,  /* in 64-bit words, most significant byte first */
    BLOOMERY_LAYOUT_MSB_FIRST, /* bit p is bit 7 - (p & 7) of byte p >> 3 */
};

enum { BLOOMERY_DESIGN_EXTRA = 4096 };

struct bloomery_design {
    struct bloomery_shape shape; /* `layers` is the one here */
    /* Those of `few`, or of a block of memory: bloomery_design_room. */
    struct bloomery_layer *layers;
    /* Of a design that was parsed: layer i is at bits[i], bit_bytes[i] bytes in this layout. */
    enum bloomery_layout layout;
    const uint8_t **bits;
    uint64_t *bit_bytes;
    /* If a layer's bits are not in one place: copies them, as ours, from wherever they are. Else
     * NULL. */
    void (*gather)(const struct bloomery_design *design, uint32_t layer, uint8_t *to);
    /* What to keep: points into the bytes that were parsed, or to `small`. */
    const uint8_t *extra;
    size_t extra_bytes;
    uint8_t *kept; /* room to write `extra` to: `small`, or in the block */
    uint8_t small[BLOOMERY_DESIGN_EXTRA];
    bloomery_allocator allocator;
    void *block;
    size_t block_bytes;
    struct {
        struct bloomery_layer layers[BLOOMERY_CHAIN_MAX];
        const uint8_t *bits[BLOOMERY_CHAIN_MAX];
        uint64_t bit_bytes[BLOOMERY_CHAIN_MAX];
    } few;
};

/* An empty design, and the end of one. */
void bloomery_design_empty(struct bloomery_design *design, const bloomery_allocator *allocator);
void bloomery_design_end(struct bloomery_design *design);

/* Makes room for `layers` layers, up to BLOOMERY_LAYERS_MAX, and for `kept`, in an empty design. Up
 * to 64 layers and BLOOMERY_DESIGN_EXTRA bytes fit without it. BLOOMERY_OUT_OF_MEMORY. */
bloomery_status bloomery_design_room(struct bloomery_design *design, uint32_t layers,
                                     size_t kept_bytes, bloomery_error *error);

/* Gives a design a hash and a scheme: kind, schemes and hash of its shape are theirs, and a cell is
 * a bit. */
void bloomery_design_rows(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                          const struct bloomery_kind_row *scheme);

/* A design of one flat layer. */
void bloomery_design_flat(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                          const struct bloomery_kind_row *scheme, uint64_t bits, uint32_t probes);

/* A design of one layer in which a key has one block of `block_bits` bits. */
void bloomery_design_blocks(struct bloomery_design *design, const struct bloomery_hash_row *hash,
                            const struct bloomery_kind_row *scheme, uint64_t blocks,
                            uint16_t block_bits, uint32_t probes);

/* The destination of the bytes of a filter. */
struct bloomery_emitter {
    bloomery_sink sink;
    void *context;
    bloomery_error *error;
};

enum {
    BLOOMERY_DIALECT_HASHES = 7,
    BLOOMERY_DIALECT_SCHEMES = 3,
    BLOOMERY_DIALECT_NAMES = 7,
    BLOOMERY_DIALECT_REMARKS = 6,
};

/* Says something about a filter; false if there is nothing to say. */
typedef bool bloomery_remark(const bloomery_filter *filter, char *text, size_t room);

/* A system. Arrays end with NULL. */
struct bloomery_dialect_row {
    bloomery_dialect facts;
    const char *names[BLOOMERY_DIALECT_NAMES + 1]; /* of facts.variants, by number */
    /* By what its keys are hashed, and how positions come of that; in the order of the variants
     * where these differ in it. What several systems have, each of them names. */
    const struct bloomery_hash_row *hashes[BLOOMERY_DIALECT_HASHES + 1];
    const struct bloomery_kind_row *schemes[BLOOMERY_DIALECT_SCHEMES + 1];
    bool seeded;        /* else the seed is 0 */
    bool counts_new;    /* adds counts the keys that set a bit */
    const char *others; /* the text about a filter with other numbers than these */
    /* The bits of a unit, the most units, and the most probes that its bytes hold; 0: any. And the
     * text about a filter with others. */
    uint32_t unit_bits;
    uint32_t probes_max;
    uint64_t units_max;
    const char *sizes;
    /* NULL if the format has no magic. */
    bool (*sniff)(const uint8_t *data, size_t bytes);
    /* Of an empty filter; NULL: unsupported. `parameters` is never NULL; fields that
     * facts.create_takes does not name are 0. `variant` is the number of its variant. */
    bloomery_status (*plan)(const bloomery_dialect_parameters *parameters, int variant,
                            struct bloomery_design *design, bloomery_error *error);
    /* NULL: unsupported. Fields that facts.load_takes does not name are 0. */
    bloomery_status (*parse)(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *parameters, int variant,
                             struct bloomery_design *design, bloomery_error *error);
    /* NULL: unsupported. Called with filters that bloomery_dialect_fits approves. `extra` may be
     * anything: it may come from one of our files. */
    bloomery_status (*write)(const bloomery_filter *filter, struct bloomery_emitter *emitter);
    /* Whether the other numbers of a filter with all that can stand in this dialect's bytes; says
     * what can't. NULL: any. */
    bloomery_status (*fits)(const bloomery_filter *filter, bloomery_error *error);
    /* In the order in which they are given. Called with filters of the row's hash and scheme. */
    bloomery_remark *remarks[BLOOMERY_DIALECT_REMARKS + 1];
    /* What tells a filter's variant: which of the hashes it has, which of the schemes, or this
     * function, which gives its number. Nothing: a filter has none to speak of. */
    bool variants_by_hash;
    bool variants_by_scheme;
    int (*variant)(const bloomery_filter *filter);
};

/* The rows, one per file. */
#if BLOOMERY_HAS_TABLES
#define BLOOMERY_ROW_OF_TABLES(ROW) ROW(bloomery_dialect_redisbloom_cuckoo)
#else
#define BLOOMERY_ROW_OF_TABLES(ROW)
#endif
#define BLOOMERY_DIALECT_ROWS(ROW)         \
    ROW(bloomery_dialect_guava)            \
    ROW(bloomery_dialect_clickhouse)       \
    ROW(bloomery_dialect_clickhouse_index) \
    ROW(bloomery_dialect_spark)            \
    ROW(bloomery_dialect_orc)              \
    ROW(bloomery_dialect_cassandra)        \
    ROW(bloomery_dialect_leveldb)          \
    ROW(bloomery_dialect_rocksdb)          \
    ROW(bloomery_dialect_parquet)          \
    ROW(bloomery_dialect_sha384_slices)    \
    ROW(bloomery_dialect_sieve)            \
    ROW(bloomery_dialect_simple_hash)      \
    ROW(bloomery_dialect_md5_chain)        \
    ROW(bloomery_dialect_pybloom)          \
    ROW(bloomery_dialect_redisbloom)       \
    BLOOMERY_ROW_OF_TABLES(ROW)            \
    ROW(bloomery_dialect_libbloom)         \
    ROW(bloomery_dialect_dcso)             \
    ROW(bloomery_dialect_bits_and_blooms)
#define BLOOMERY_DECLARE_DIALECT(row) extern const struct bloomery_dialect_row row;
BLOOMERY_DIALECT_ROWS(BLOOMERY_DECLARE_DIALECT)
#undef BLOOMERY_DECLARE_DIALECT

/* NULL for an unknown number. */
const struct bloomery_dialect_row *bloomery_dialect_row(uint32_t id);

/* A cuckoo filter of a plan that was settled: a kind that is a dialect, too (src/cuckoo.c). */
bloomery_status bloomery_cuckoo_of_plan(const bloomery_plan *plan,
                                        const bloomery_create_options *given,
                                        bloomery_filter **filter, bloomery_error *error);

/* How the rows of all of them are found by number; NULL in a library without them. */
extern const struct bloomery_foreign_rows *const bloomery_dialect_rows;

/* Whether a shape names a dialect that is known here and traits that its chains can have. */
bloomery_status bloomery_dialect_may_open(const struct bloomery_shape *shape,
                                          const struct bloomery_traits *traits,
                                          bloomery_error *error);

/* Whether a filter has a hash and a scheme of the row. The dialect that a shape names proves
 * nothing: our files may name any. */
bool bloomery_dialect_is(const struct bloomery_dialect_row *row, const bloomery_filter *filter);

/* And whether its numbers are the dialect's; says what is not. */
bloomery_status bloomery_dialect_fits(const struct bloomery_dialect_row *row,
                                      const bloomery_filter *filter, bloomery_error *error);

/* The name of a filter's variant; NULL if it has none. */
const char *bloomery_dialect_name(const struct bloomery_dialect_row *row,
                                  const bloomery_filter *filter);

/* Says that a hash is not available. */
bloomery_status bloomery_dialect_no_hash(const struct bloomery_hash_row *hash,
                                         bloomery_error *error);

/* ---- For the rows' functions ----------------------------------------------------------------- */

/* Returns the number of the variant `wanted` of a row; 0 if it is NULL; -1, with `error` filled, if
 * the row does not have it. */
int bloomery_dialect_choose(const struct bloomery_dialect_row *row, const char *wanted,
                            bloomery_error *error);

/* Whether `bytes` bytes are a header of `header` bytes and `words` words of 64 bits, and nothing
 * else; says what is wrong. `header` is at most `bytes`. */
bloomery_status bloomery_dialect_length(uint64_t words, size_t header, size_t bytes,
                                        bloomery_error *error);

/* Sends bytes; and the first `bytes` bytes of a layer's bits, in a layout. */
bloomery_status bloomery_emit(struct bloomery_emitter *emitter, const void *data, size_t bytes);
bloomery_status bloomery_emit_bits(struct bloomery_emitter *emitter,
                                   const struct bloomery_layer *layer, uint64_t bytes,
                                   enum bloomery_layout layout);

/* Copies bits from a layout to ours, or from ours to it: each layout is its own opposite. `bytes`
 * is a multiple of 8 with BE_WORDS. */
void bloomery_turn_bits(enum bloomery_layout layout, const uint8_t *from, uint8_t *to,
                        size_t bytes);

/* Big-endian loads and stores. */
static inline uint64_t bloomery_load_be(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | from[i];
    return value;
}

static inline void bloomery_store_be(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0; value >>= 8)
        to[i] = (uint8_t)value;
}

/* The usual remark, "with N keys (those it was planned for) the rate is X, not the Y it was asked
 * for": if X, the scheme's own rate, is known and more than 1.1 times Y, or `factor` times. */
bloomery_remark bloomery_remark_rate;
bool bloomery_remark_rate_above(const bloomery_filter *filter, double factor, char *text,
                                size_t room);

#endif

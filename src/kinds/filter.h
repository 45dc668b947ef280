/* SPDX-License-Identifier: Apache-2.0 */
/* The filter itself: a shape, a payload, and how keys become hashes for it. */
#ifndef BLOOMERY_KINDS_FILTER_H
#define BLOOMERY_KINDS_FILTER_H

#include "base/bytes.h"
#include "base/io.h"
#include "base/threads.h"
#include "hash/hashes.h"
#include "kinds/kinds.h"

#include <assert.h>

enum bloomery_storage {
    BLOOMERY_OWNED,    /* allocated, writable */
    BLOOMERY_BORROWED, /* the caller's bytes */
    BLOOMERY_MAPPED,   /* a map of a file */
};

/*
 * The parts of a filter that are seldom read. A small filter in which all of them are zero does not
 * have this struct, so it needs little more memory than its bits.
 */
struct bloomery_cold {
    /* Of the layers that the filter was made with, unless they lie before it; later ones have
     * memory of their own. */
    uint8_t *payload; /* never written unless owned */
    uint64_t payload_bytes;
    struct bloomery_lock *growing; /* in concurrent chains: held while a layer is added */
    uint64_t memory_limit;         /* of a chain, in bytes; 0: none */
    /* Of our chains: the next layer, once it was planned; else its planned_keys are 0. NULL:
     * another kind. */
    bloomery_plan *next;
    struct bloomery_map map;  /* if storage is mapped */
    const uint8_t *checksums; /* those behind a borrowed or mapped payload, else NULL */
    uint64_t checksum_seed;   /* theirs */
    uint64_t payload_offset;  /* where the payload lay in the bytes it came from */
    bloomery_key_rule rule;
    size_t note_bytes; /* 0: none */
    char *note;        /* NUL-terminated */
    /* Parts of another system's bytes that have no meaning here, kept to be written again. */
    uint8_t *extra;
    size_t extra_bytes;
    /* The number of keys that could not be added by calls without an error; atomic. add_failure of
     * the filter says why. */
    uint64_t failed_adds;
};

/* How one key or hash is looked up in a filter, and its memory requested: by the fast path or the
 * slow one. */
struct bloomery_lookup {
    bool (*key)(const bloomery_filter *filter, bloomery_key key);
    bool (*hash)(const bloomery_filter *filter, bloomery_hash hash);
    void (*prefetch)(const bloomery_filter *filter, bloomery_hash hash);
};

/* How one key or hash is added; `error` as in bloomery_add. */
struct bloomery_addition {
    bool (*key)(bloomery_filter *filter, bloomery_key key, bloomery_error *error);
    bool (*hash)(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error);
};

/*
 * A filter is one allocation, and blocks that this one points to:
 *
 *     | payload, if it is small | secret | filter | own layers | cold | next | extra | note |
 *     ^ a multiple of 64
 *
 * Schemes of other systems have no secret. So what a hash gets is in one piece with the seed, with
 * which the filter begins: bloomery_secret_of.
 */
struct bloomery_filter {
    union {
        struct bloomery_shape shape;
        struct {
            uint64_t seed;                        /* shape.seed */
            struct bloomery_layer *layers;        /* shape.layers: `own`, or a block of their own */
            const struct bloomery_kind_row *kind; /* shape.kind_row */
            const struct bloomery_hash_row *hash; /* shape.hash_row */
        };
    };
    /* Single keys, by the fast path or the slow one. */
    const struct bloomery_lookup *lookup;
    const struct bloomery_addition *addition;
    const struct bloomery_operations *operations;

    bool secret_known : 1;   /* keys can be hashed */
    bool secret_in_file : 1; /* written with the filter */
    bool concurrent : 1;
    bool foreign : 1;     /* by the schemes of another system */
    bool of_our_file : 1; /* it goes back into one: it gets no more layers than that keeps */
    bool has_cold : 1;    /* of its own */
    uint8_t storage : 2;  /* enum bloomery_storage */
    /* The negated status of a key that a call without an error could not add, until the next write
     * reports it (src/keys.c). 0: none. Atomic. */
    uint8_t add_failure;
    uint8_t near_words; /* of the payload that lies before the filter; 0: elsewhere */
    /* The layers that `own` has room for. A chain that grows doubles this, in a separate block,
     * `doublings` times. Records of concurrent chains stay where they are. */
    uint8_t own_room;
    uint8_t doublings;
    uint8_t fast_path; /* of batches: src/library.h */
    /* Of a chain: the number of the layer that it began with, and goes back to when cleared. */
    uint16_t first;
    bloomery_allocator allocator;
    struct bloomery_layer own[];
};

enum {
    BLOOMERY_WORD_BYTES = 8, /* of near_words */
    /* Of a secret, what lies before the seed. */
    BLOOMERY_SECRET_BEFORE = offsetof(struct bloomery_hash_secret, seed),
};

_Static_assert(BLOOMERY_LAYERS_MAX - 1 <= UINT16_MAX, "the first layer has a number of 16 bits");

_Static_assert(offsetof(struct bloomery_filter, seed) == 0 &&
                   offsetof(struct bloomery_filter, shape.seed) == 0 &&
                   offsetof(struct bloomery_filter, layers) ==
                       offsetof(struct bloomery_filter, shape.layers),
               "a filter begins with its seed and its layers");
_Static_assert(offsetof(struct bloomery_filter, kind) ==
                       offsetof(struct bloomery_filter, shape.kind_row) &&
                   offsetof(struct bloomery_filter, hash) ==
                       offsetof(struct bloomery_filter, shape.hash_row),
               "and its rows");

/* Returns the secret of its hash. Hashes of other systems have only the seed. */
static inline struct bloomery_hash_secret *bloomery_secret_of(const struct bloomery_filter *filter)
{
    return (struct bloomery_hash_secret *)((uintptr_t)filter - BLOOMERY_SECRET_BEFORE);
}

/* All zero. */
extern const struct bloomery_cold bloomery_no_cold;

/* Returns the cold part to read: its own, or bloomery_no_cold. */
static inline const struct bloomery_cold *bloomery_cold_in(const struct bloomery_filter *filter)
{
    return filter->has_cold
               ? (const struct bloomery_cold *)(const void *)&filter->own[filter->own_room]
               : &bloomery_no_cold;
}

/* Returns the cold part to write to. The filter must have one. */
static inline struct bloomery_cold *bloomery_cold_of(struct bloomery_filter *filter)
{
    assert(filter->has_cold);
    return (struct bloomery_cold *)(void *)&filter->own[filter->own_room];
}

static inline size_t bloomery_room_bytes(uint32_t layers)
{
    return layers * sizeof(struct bloomery_layer);
}

/* Returns how many layers it has room for. */
static inline uint32_t bloomery_room(const struct bloomery_filter *filter)
{
    return (uint32_t)filter->own_room << filter->doublings;
}

/* Where the filter's allocation begins, and its bytes. */
static inline uint8_t *bloomery_base_of(const struct bloomery_filter *filter)
{
    return (uint8_t *)(uintptr_t)filter - (filter->foreign ? 0 : BLOOMERY_SECRET_BEFORE) -
           (size_t)filter->near_words * BLOOMERY_WORD_BYTES;
}

size_t bloomery_own_bytes(const struct bloomery_filter *filter);

/* Returns the memory of the layers that the filter was made with. */
static inline uint8_t *bloomery_payload_of(const struct bloomery_filter *filter)
{
    return filter->near_words > 0 ? bloomery_base_of(filter) : bloomery_cold_in(filter)->payload;
}

static inline uint64_t bloomery_payload_room(const struct bloomery_filter *filter)
{
    return filter->near_words > 0 ? (uint64_t)filter->near_words * BLOOMERY_WORD_BYTES
                                  : bloomery_cold_in(filter)->payload_bytes;
}

/* Returns whether a layer has its own memory, allocated after the filter was made. */
static inline bool bloomery_is_apart(const struct bloomery_filter *filter,
                                     const struct bloomery_layer *layer)
{
    const uintptr_t payload = (uintptr_t)bloomery_payload_of(filter);
    return (uintptr_t)layer->payload - payload >= bloomery_payload_room(filter);
}

/* Returns the bytes of a layer that are in memory: all of them, except in a small chain of another
 * system. Its first layer has whole words in memory and whole lines in a file, which ends in
 * zeros. */
static inline uint64_t bloomery_held_bytes(const struct bloomery_filter *filter,
                                           const struct bloomery_layer *layer)
{
    const uint64_t room = bloomery_payload_room(filter);
    return layer->bytes <= room || bloomery_is_apart(filter, layer) ? layer->bytes : room;
}

/* Everything about a filter that is neither shape nor bits. */
struct bloomery_traits {
    bloomery_allocator allocator;
    struct bloomery_hash_secret secret;
    bool secret_known;
    bool secret_in_file;
    bool concurrent;
    bool of_our_file;
    uint64_t memory_limit;
    bloomery_key_rule rule;
    const char *note; /* not NUL-terminated */
    size_t note_bytes;
    const uint8_t *extra;
    size_t extra_bytes;
    uint8_t add_failure; /* a filter made of this one lacks those keys, too */
    uint64_t failed_adds;
};

/* Returns what a filter made of this one inherits: everything except how threads may use it. The
 * caller wipes the secret. */
struct bloomery_traits bloomery_traits_of(const struct bloomery_filter *filter);

/* Lays the layers of a shape out in a payload: fills their offset and bytes and gives the total.
 * For shapes that do not come from a file. BLOOMERY_BAD_ARGUMENT if a layer has no bits or too
 * many. */
bloomery_status bloomery_shape_lay_out(struct bloomery_shape *shape, uint64_t *payload_bytes,
                                       bloomery_error *error);

/* A shape that was checked, and the bytes of its payload. Only bloomery_shape_check makes one, and
 * functions that allocate memory for a shape accept only this. The shape must stay as it is. */
struct bloomery_checked_shape {
    const struct bloomery_shape *shape;
    uint64_t payload_bytes;
};

/* Checks that this version knows the shape, and that its layers exactly fill a payload of these
 * bytes. Only this check protects the memory from a hostile file. Allocates nothing. */
bloomery_status bloomery_shape_check(const struct bloomery_shape *shape, uint64_t payload_bytes,
                                     struct bloomery_checked_shape *checked, bloomery_error *error);

/* Makes a filter of a shape. `payload` is a view of bytes that outlive the filter, or NULL for its
 * own zeroed memory. The shape and the note are copied. */
bloomery_status bloomery_make(struct bloomery_checked_shape checked,
                              const struct bloomery_traits *traits, const uint8_t *payload,
                              struct bloomery_filter **out, bloomery_error *error);

enum { BLOOMERY_ROOM_ALIGNMENT = 64 }; /* of such a block: a cache line */

/* Computes what a layer's numbers decide and its operations need with each key. */
static inline void bloomery_prepare_layer(const struct bloomery_shape *shape,
                                          struct bloomery_layer *layer)
{
    if (bloomery_is_flat(shape) && bloomery_is_foreign(shape))
        layer->inverse = bloomery_inverse(layer->bits);
}

/* Returns whether the records of the layers are in a separate block. */
static inline bool bloomery_has_room_apart(const struct bloomery_filter *filter)
{
    return filter->layers != filter->own;
}

/* Makes room for at least `layers` layers, of a filter that no other thread uses. Returns false,
 * with nothing changed, if memory ran out. Layers may move. */
bool bloomery_make_room(struct bloomery_filter *filter, uint32_t layers);

/* Frees the room that is not part of the filter's allocation; its layers are lost. */
void bloomery_release_room(struct bloomery_filter *filter);

/* Gives back the filter's allocation, and nothing that it points to. */
void bloomery_release_itself(struct bloomery_filter *filter);

/* How many layers there are, with acquire order: a thread that sees a layer's number sees all of
 * the layer. */
static inline uint32_t bloomery_layer_count(const struct bloomery_filter *filter)
{
    return __atomic_load_n(&filter->shape.layer_count, __ATOMIC_ACQUIRE);
}

/* How many layers a query takes one by one. If the kind hands keys on, that is the first, whose
 * operations go on to the others. */
static inline uint32_t bloomery_queried_layers(const struct bloomery_filter *filter)
{
    return filter->kind->cascades ? 1 : bloomery_layer_count(filter);
}

/* Where keys are added. */
static inline struct bloomery_layer *bloomery_newest_layer(struct bloomery_filter *filter)
{
    return &filter->layers[bloomery_layer_count(filter) - 1];
}

/*
 * The rate that the filter's plan was asked for, if keys may be added up to it: if it is over twice
 * the planned one, since the least filter of its kind has a far lower rate. Else 0.
 */
static inline double bloomery_wanted_rate(const struct bloomery_filter *filter)
{
    const struct bloomery_layer *layer = filter->layers;
    /* In other filters its place has counts, which those who add may be writing. */
    if (filter->foreign || filter->kind->grows || filter->kind->cascades)
        return 0;
    const bool matters = layer->rate > 0 && layer->wanted > 2 * layer->rate && layer->wanted <= 1;
    return matters ? layer->wanted : 0;
}

/* The bytes of all layers: those of the payload in the filter's file. */
static inline uint64_t bloomery_payload_bytes(const struct bloomery_filter *filter)
{
    const struct bloomery_layer *last = &filter->layers[bloomery_layer_count(filter) - 1];
    assert(last->offset % BLOOMERY_PAYLOAD_UNIT == 0 && last->bytes % BLOOMERY_PAYLOAD_UNIT == 0);
    return last->offset + last->bytes;
}

/* Returns what a call that adds one key returns, by its status and the number of bits it set.
 * Remembers a failure that the caller does not hear of. */
bool bloomery_add_answer(struct bloomery_filter *filter, bloomery_status status, uint32_t set,
                         bloomery_error *error);

/* Reports keys that bloomery_add could not add while its caller took no error: fails once, with
 * that status; else BLOOMERY_OK. What writes a filter or takes its keys over calls this first. Any
 * thread. */
bloomery_status bloomery_failed_adds_take(const bloomery_filter *filter, bloomery_error *error);

#endif /* BLOOMERY_KINDS_FILTER_H */

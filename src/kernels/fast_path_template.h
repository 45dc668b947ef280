/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of blocked filters, compiled in one piece for a processor: a template, included behind
 * kernels/block_template.h. Before it comes LEVEL_LANES, the name that ends the functions of
 * kernels/lanes.h for the level.
 *
 * Keys flow through a ring, in groups of eight:
 *
 *     keys ─ hash ─┬─> ring: address, w ── window of 128 keys ── test or set ── 64 answers a word
 *                  └─> prefetch
 *
 * so that at any time the blocks of 128 keys are on their way, and the flow never stops. Hashes and
 * places are made in the lanes of registers. The ring has addresses, not numbers of blocks: who
 * takes a key out of it reads an address and w, and nothing else.
 *
 * Answers of a group are doubled for each key, and its own is added. The first of the eight keys
 * has to end in the lowest bit, so queries go from the last key to the first. Keys that are added
 * must go in order, and their answers are turned around once for each word.
 *
 * Several blocks. To add a key all its blocks are derived when it enters, once, and the ring has
 * them one behind the other. Then 32 keys are on their way: 128 of them with four blocks each would
 * fill the first-level cache.
 *
 *     at, word   | block 0 of 64 keys | block 1 of 64 keys | block 2 ... | block 3 ... |
 *
 * Most absent keys that are queried end at their first block, so only that is prefetched. When a
 * word of 64 keys is through, the others of those that survived are derived and prefetched, and
 * they are read when the next word is through.
 *
 * What is a constant to a function here (one block, integers, no answers wanted) is one for speed:
 * a build for size (BLOOMERY_FOR_SIZE) has one loop for all cases.
 *
 * A last group of fewer than eight keys is filled up with its last key. Querying or adding that
 * twice changes nothing, and the answers past the end are cut off.
 */
#define IN_LANES(name) LEVEL_PASTE(name, LEVEL_LANES)
#define LANES          IN_LANES(LANES)

/* Keys enter by spans of this number, and are tested by such: more of them would share what a call
 * costs, but request more lines at once than a core has places for (10 to 24), and then it waits.
 * A ring of several blocks of each key has fewer keys, and of these fewer are on their way. */
enum {
    SPAN = 16,
    SPAN_OF_SEVERAL = 8,
    RING_OF_SEVERAL = RING / BLOOMERY_BLOCKS_PER_KEY_MAX,
    WINDOW_OF_SEVERAL = 32,
};

/* `hi` and `lo`: hashes, for the other blocks of keys that are queried. */
struct OF_LEVEL(ring) {
    uint8_t *at[RING] __attribute__((aligned(64)));
    uint64_t word[RING] __attribute__((aligned(64)));
    uint64_t hi[RING] __attribute__((aligned(64)));
    uint64_t lo[RING] __attribute__((aligned(64)));
};

struct OF_LEVEL(batch);

/* Takes in the span that begins with key number `first`. */
typedef void OF_LEVEL(entrance)(struct OF_LEVEL(batch) * batch, size_t first,
                                struct OF_LEVEL(ring) * ring);

/* What is looked up or added. */
struct OF_LEVEL(batch) {
    struct bloomery_layer layer;
    const struct bloomery_input *keys;
    const bloomery_filter *filter;
    OF_LEVEL(entrance) * enter;
    size_t count;
    size_t whole; /* how many of them are in spans that enter so; the others do singly */
    const uint8_t *data;
    struct bloomery_short_secret secret;
    bool adding;
    bool long_known; /* the next is computed when the first key of 17 to 128 bytes comes */
    struct bloomery_long_secret long_secret;
};

/* ---- Keys enter ------------------------------------------------------------------------------ */

LEVEL_INLINE size_t OF_LEVEL(span_of)(const bool several)
{
    return several ? SPAN_OF_SEVERAL : SPAN;
}

/* Where key number `i` has its first block in the ring. */
LEVEL_INLINE size_t OF_LEVEL(slot_of)(size_t i, const bool all_blocks)
{
    return i % (all_blocks ? (size_t)RING_OF_SEVERAL : (size_t)RING);
}

/* Lines of a layer with `blocks` blocks. `count` is a constant. */
LEVEL_INLINE void OF_LEVEL(request)(uint64_t blocks, uint8_t *const *at, const size_t count)
{
    if (blocks > BLOOMERY_NEAR_BYTES / BLOOMERY_BLOCK_BYTES)
        for (size_t j = 0; j < count; j++)
            __builtin_prefetch(at[j], 0, 2);
    else
        for (size_t j = 0; j < count; j++)
            __builtin_prefetch(at[j]);
}

/* Where a span enters, in variables of its own: stores into the ring might change others, which
 * would be read again for each key. */
struct OF_LEVEL(gate) {
    uint8_t **at;
    uint64_t *word;
    uint64_t *hi;
    uint64_t *lo;
    struct bloomery_layer layer;
    bool adding;
    bloomery_hash *hashes; /* a constant, NULL; else only hashes are wanted, and go here */
};

LEVEL_INLINE struct OF_LEVEL(gate)
    OF_LEVEL(gate_of)(const struct OF_LEVEL(batch) * batch, struct OF_LEVEL(ring) * ring,
                      size_t first, const bool several)
{
    const size_t slot = OF_LEVEL(slot_of)(first, several && batch->adding);
    return (struct OF_LEVEL(gate)){.at = ring->at + slot,
                                   .word = ring->word + slot,
                                   .hi = ring->hi + slot,
                                   .lo = ring->lo + slot,
                                   .layer = {.payload = batch->layer.payload,
                                             .blocks = batch->layer.blocks,
                                             .blocks_per_key = batch->layer.blocks_per_key},
                                   .adding = batch->adding};
}

/* Key number `i` of a span and those beside it in a register, by their hashes. Of several blocks,
 * which is a constant, all enter if the keys are added. */
LEVEL_INLINE void OF_LEVEL(take)(const struct OF_LEVEL(gate) * gate, size_t i, IN_LANES(lanes) hi,
                                 IN_LANES(lanes) lo, const bool several)
{
    if (gate->hashes != NULL) {
        uint64_t each[LANES];
        memcpy(each, &hi, sizeof hi);
        for (size_t j = 0; j < LANES; j++)
            gate->hashes[i + j] = (bloomery_hash){.lo = 0, .hi = each[j]};
        return;
    }
    IN_LANES(place)(hi, lo, &gate->layer, gate->at + i, gate->word + i);
    if (!several)
        return;
    if (!gate->adding) {
        memcpy(gate->hi + i, &hi, sizeof hi);
        memcpy(gate->lo + i, &lo, sizeof lo);
        return;
    }
    for (uint32_t which = 1; which < gate->layer.blocks_per_key; which++) {
        i += RING_OF_SEVERAL;
        IN_LANES(place)
        (IN_LANES(block_hash)(hi, which), lo, &gate->layer, gate->at + i, gate->word + i);
    }
}

/* A span by single keys: they do not fill one, or the layer has 2^32 blocks or more, which lanes do
 * not know. It is filled up with its last key. */
LEVEL_TARGET __attribute__((noinline)) static void
OF_LEVEL(enter_singly)(const struct OF_LEVEL(batch) * batch, size_t first,
                       struct OF_LEVEL(ring) * ring)
{
    const struct bloomery_layer *layer = &batch->layer;
    const bool several = layer->blocks_per_key > 1;
    const size_t span = OF_LEVEL(span_of)(several);
    const size_t now = batch->count - first < span ? batch->count - first : span;
    const size_t slot = OF_LEVEL(slot_of)(first, several && batch->adding);
    bloomery_hash hashes[SPAN];
    assert(first % span == 0 && first < batch->count);
    bloomery_key_hasher_of(batch->keys, batch->filter)(batch->keys, batch->filter, first, now,
                                                       hashes);
    for (size_t i = 0; i < span; i++) {
        const bloomery_hash hash = hashes[i < now ? i : now - 1];
        ring->hi[slot + i] = hash.hi;
        ring->lo[slot + i] = hash.lo;
        for (uint32_t which = 0; which < (batch->adding ? layer->blocks_per_key : 1); which++) {
            const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
            const size_t at = slot + i + (size_t)which * RING_OF_SEVERAL;
            assert(place.block < layer->blocks && at < RING);
            ring->at[at] = layer->payload + place.block * BLOOMERY_BLOCK_BYTES;
            ring->word[at] = place.word;
            bloomery_request_line(ring->at[at], layer->blocks * BLOOMERY_BLOCK_BYTES);
        }
    }
}

/* How keys of one width lie: integers, or of 9 to 16 bytes, one after another; the same with
 * gaps. */
enum { INTEGERS, NARROW, INTEGERS_APART, NARROW_APART };

/* Of one width, 8 bytes or 9 to 16. `how` is a constant. */
LEVEL_INLINE void OF_LEVEL(enter_fixed)(const struct OF_LEVEL(batch) * batch, size_t first,
                                        struct OF_LEVEL(ring) * ring, const int how,
                                        const bool several)
{
    const struct OF_LEVEL(gate) gate = OF_LEVEL(gate_of)(batch, ring, first, several);
    const bool eights = how == INTEGERS || how == INTEGERS_APART;
    const size_t width = eights ? sizeof(uint64_t) : batch->keys->width;
    const size_t stride = how == INTEGERS || how == NARROW ? width : batch->keys->stride;
    const uint8_t *data = batch->data + first * stride;
    const struct bloomery_short_secret secret = batch->secret;
    const IN_LANES(lanes) none = {0};
    for (size_t i = 0; i < OF_LEVEL(span_of)(several); i += GROUP)
        for (size_t j = 0; j < GROUP; j += LANES, data += LANES * stride) {
            const uint8_t *from[LANES];
            IN_LANES(lanes) words;
            IN_LANES(lanes) last;
            for (size_t k = 0; k < LANES; k++)
                from[k] = data + k * stride;
            if (how == NARROW)
                words = IN_LANES(both_words)(data, width, &last);
            else
                words = how == INTEGERS ? IN_LANES(words)(data) : IN_LANES(gather)(from);
            for (size_t k = 0; k < LANES; k++)
                from[k] += width - sizeof(uint64_t);
            if (how == NARROW_APART)
                last = IN_LANES(gather)(from);
            OF_LEVEL(take)
            (&gate, i + j,
             eights ? IN_LANES(hash_8)(&secret, words)
                    : IN_LANES(hash_9_to_16)(&secret, words, last, IN_LANES(same_bytes)(width)),
             none, several);
        }
}

/* Eight keys of any length, by XXH3-64, in the instructions of this processor. */
LEVEL_INLINE void OF_LEVEL(hash_group)(struct OF_LEVEL(batch) * batch,
                                       const struct bloomery_input *keys, size_t i, const int form,
                                       uint64_t hashes[GROUP])
{
    const struct bloomery_hash_secret *secret = bloomery_secret_of(batch->filter);
    if (!batch->long_known)
        batch->long_secret = bloomery_long_secret_of(secret->seed);
    batch->long_known = true;
    for (size_t j = 0; j < GROUP; j++) {
        const bloomery_key key = bloomery_input_key(keys, i + j, form);
        if (key.bytes - 17 <= 111)
            hashes[j] = bloomery_xxh3_17_to_128(&batch->long_secret, key.data, key.bytes);
        else if (key.bytes - 4 <= 12)
            hashes[j] = bloomery_xxh3_short(&batch->secret, key.data, key.bytes);
        else
            hashes[j] = bloomery_hash_xxh3_64.one(secret, key).hi;
    }
}

/* Apart from the lanes, whose registers a call leaves alone. */
#define HASH_GROUP(name, form)                                                       \
    LEVEL_TARGET __attribute__((noinline)) static void OF_LEVEL(hash_##name)(        \
        struct OF_LEVEL(batch) * batch, const struct bloomery_input *keys, size_t i, \
        uint64_t hashes[GROUP])                                                      \
    {                                                                                \
        OF_LEVEL(hash_group)(batch, keys, i, form, hashes);                          \
    }
HASH_GROUP(list, BLOOMERY_KEYS_LIST)
HASH_GROUP(offsets32, BLOOMERY_KEYS_OFFSETS32)
HASH_GROUP(offsets64, BLOOMERY_KEYS_OFFSETS64)
HASH_GROUP(fixed, BLOOMERY_KEYS_FIXED)
#undef HASH_GROUP

LEVEL_INLINE void OF_LEVEL(hash_mixed)(struct OF_LEVEL(batch) * batch,
                                       const struct bloomery_input *keys, size_t i, const int form,
                                       uint64_t hashes[GROUP])
{
    if (form == BLOOMERY_KEYS_LIST)
        OF_LEVEL(hash_list)(batch, keys, i, hashes);
    else if (form == BLOOMERY_KEYS_OFFSETS32)
        OF_LEVEL(hash_offsets32)(batch, keys, i, hashes);
    else if (form == BLOOMERY_KEYS_OFFSETS64)
        OF_LEVEL(hash_offsets64)(batch, keys, i, hashes);
    else
        OF_LEVEL(hash_fixed)(batch, keys, i, hashes);
}

/* The lengths of as many keys as a register has. */
LEVEL_INLINE IN_LANES(lanes)
    OF_LEVEL(bytes_of)(const struct bloomery_input *keys, size_t i, const int form)
{
    return form == BLOOMERY_KEYS_LIST
               ? IN_LANES(list_bytes)((const bloomery_key *)(const void *)keys->data + i)
           : form == BLOOMERY_KEYS_OFFSETS32
               ? IN_LANES(narrow_bytes)(keys->offsets + i * sizeof(uint32_t))
               : IN_LANES(wide_bytes)(keys->offsets + i * sizeof(uint64_t));
}

/* Their first words, or their last ones. */
LEVEL_INLINE IN_LANES(lanes)
    OF_LEVEL(words_of)(const struct bloomery_input *keys, size_t i, const int form, const bool last)
{
    const uint8_t *from[LANES];
    for (size_t j = 0; j < LANES; j++) {
        const bloomery_key key = bloomery_input_key(keys, i + j, form);
        from[j] = key.data;
        if (last)
            from[j] += key.bytes - sizeof(uint64_t);
    }
    return IN_LANES(gather)(from);
}

/* `count` keys, whole groups of them, named by descriptors or offsets. Groups of one of the two
 * lengths are hashed in lanes. */
LEVEL_INLINE void OF_LEVEL(pass_named)(struct OF_LEVEL(batch) * batch, size_t begin, size_t count,
                                       const struct OF_LEVEL(gate) * gate, const int form,
                                       const bool several)
{
    struct bloomery_input keys = {.data = batch->keys->data, .offsets = batch->keys->offsets};
    const struct bloomery_short_secret secret = batch->secret;
    const IN_LANES(lanes) none = {0};
    if (form == BLOOMERY_KEYS_LIST)
        keys.data += begin * sizeof(bloomery_key);
    else
        keys.offsets +=
            begin * (form == BLOOMERY_KEYS_OFFSETS32 ? sizeof(uint32_t) : sizeof(uint64_t));
    for (size_t i = 0; i < count; i += GROUP) {
        IN_LANES(lanes) bytes[GROUP / LANES];
        for (size_t j = 0; j < GROUP; j += LANES)
            bytes[j / LANES] = OF_LEVEL(bytes_of)(&keys, i + j, form);
        if (IN_LANES(are_between)(bytes, GROUP / LANES, 8, 0)) {
            for (size_t j = 0; j < GROUP; j += LANES)
                OF_LEVEL(take)
            (gate, i + j, IN_LANES(hash_8)(&secret, OF_LEVEL(words_of)(&keys, i + j, form, false)),
             none, several);
        } else if (IN_LANES(are_between)(bytes, GROUP / LANES, 9, 7)) {
            for (size_t j = 0; j < GROUP; j += LANES)
                OF_LEVEL(take)
            (gate, i + j,
             IN_LANES(hash_9_to_16)(&secret, OF_LEVEL(words_of)(&keys, i + j, form, false),
                                    OF_LEVEL(words_of)(&keys, i + j, form, true), bytes[j / LANES]),
             none, several);
        } else {
            uint64_t own[GROUP];
            OF_LEVEL(hash_mixed)(batch, &keys, i, form, own);
            for (size_t j = 0; j < GROUP; j += LANES)
                OF_LEVEL(take)
            (gate, i + j, IN_LANES(load)((const uint8_t *)(const void *)(own + j)), none, several);
        }
    }
}

LEVEL_INLINE void OF_LEVEL(enter_named)(struct OF_LEVEL(batch) * batch, size_t begin,
                                        struct OF_LEVEL(ring) * ring, const int form,
                                        const bool several)
{
    const struct OF_LEVEL(gate) gate = OF_LEVEL(gate_of)(batch, ring, begin, several);
    OF_LEVEL(pass_named)(batch, begin, OF_LEVEL(span_of)(several), &gate, form, several);
}

LEVEL_INLINE void OF_LEVEL(enter_width)(struct OF_LEVEL(batch) * batch, size_t begin,
                                        struct OF_LEVEL(ring) * ring, const bool several)
{
    const struct OF_LEVEL(gate) gate = OF_LEVEL(gate_of)(batch, ring, begin, several);
    const IN_LANES(lanes) none = {0};
    for (size_t i = 0; i < OF_LEVEL(span_of)(several); i += GROUP) {
        uint64_t own[GROUP];
        OF_LEVEL(hash_fixed)(batch, batch->keys, begin + i, own);
        for (size_t j = 0; j < GROUP; j += LANES)
            OF_LEVEL(take)
        (&gate, i + j, IN_LANES(load)((const uint8_t *)(const void *)(own + j)), none, several);
    }
}

/* Hashes, `wide` ones of 128 bits. */
LEVEL_INLINE void OF_LEVEL(enter_hashes)(const struct OF_LEVEL(batch) * batch, const uint8_t *data,
                                         size_t first, struct OF_LEVEL(ring) * ring,
                                         const bool wide, const bool several)
{
    const struct OF_LEVEL(gate) gate = OF_LEVEL(gate_of)(batch, ring, first, several);
    const size_t size = wide ? sizeof(bloomery_hash) : sizeof(uint64_t);
    for (size_t i = 0; i < OF_LEVEL(span_of)(several); i += LANES) {
        IN_LANES(lanes) lo = {0};
        const IN_LANES(lanes) hi =
            wide ? IN_LANES(load_pairs)(data + i * size, &lo) : IN_LANES(load)(data + i * size);
        OF_LEVEL(take)(&gate, i, hi, lo, several);
    }
}

/* Of keys with another hash than XXH3-64. */
LEVEL_INLINE void OF_LEVEL(enter_others)(const struct OF_LEVEL(batch) * batch, size_t first,
                                         struct OF_LEVEL(ring) * ring, const bool several)
{
    bloomery_hash hashes[SPAN];
    bloomery_key_hasher_of(batch->keys, batch->filter)(batch->keys, batch->filter, first,
                                                       OF_LEVEL(span_of)(several), hashes);
    OF_LEVEL(enter_hashes)
    (batch, (const uint8_t *)(const void *)hashes, first, ring, true, several);
}

/* The blocks of a span are requested together, when it has entered: the choice of the cache is one
 * branch for all of them. */
LEVEL_INLINE void OF_LEVEL(request_span)(const struct OF_LEVEL(batch) * batch, size_t first,
                                         const struct OF_LEVEL(ring) * ring, const bool several)
{
    const bool all = several && batch->adding;
    uint8_t *const *at = ring->at + OF_LEVEL(slot_of)(first, all);
    OF_LEVEL(request)(batch->layer.blocks, at, OF_LEVEL(span_of)(several));
    for (uint32_t which = 1; all && which < batch->layer.blocks_per_key; which++)
        OF_LEVEL(request)
    (batch->layer.blocks, at + (size_t)which * RING_OF_SEVERAL, SPAN_OF_SEVERAL);
}

/* A function for each form of keys, with `several` a constant. */
#define ENTRANCE_OF(name, how, constant)                                            \
    LEVEL_TARGET __attribute__((noinline)) static void OF_LEVEL(name)(              \
        struct OF_LEVEL(batch) * batch, size_t first, struct OF_LEVEL(ring) * ring) \
    {                                                                               \
        const bool several = constant;                                              \
        assert(first % OF_LEVEL(span_of)(several) == 0 && first < batch->whole);    \
        how;                                                                        \
        OF_LEVEL(request_span)(batch, first, ring, several);                        \
    }
#define ENTRANCE(name, how)               \
    ENTRANCE_OF(enter_##name, how, false) \
    ENTRANCE_OF(enter_##name##_several, how, true)

ENTRANCE(integers, OF_LEVEL(enter_fixed)(batch, first, ring, INTEGERS, several))
ENTRANCE(narrow, OF_LEVEL(enter_fixed)(batch, first, ring, NARROW, several))
ENTRANCE(integers_apart, OF_LEVEL(enter_fixed)(batch, first, ring, INTEGERS_APART, several))
ENTRANCE(narrow_apart, OF_LEVEL(enter_fixed)(batch, first, ring, NARROW_APART, several))
ENTRANCE(widths, OF_LEVEL(enter_width)(batch, first, ring, several))
ENTRANCE(list, OF_LEVEL(enter_named)(batch, first, ring, BLOOMERY_KEYS_LIST, several))
ENTRANCE(offsets32, OF_LEVEL(enter_named)(batch, first, ring, BLOOMERY_KEYS_OFFSETS32, several))
ENTRANCE(offsets64, OF_LEVEL(enter_named)(batch, first, ring, BLOOMERY_KEYS_OFFSETS64, several))
ENTRANCE(hashes64, OF_LEVEL(enter_hashes)(batch, batch->data + first * sizeof(uint64_t), first,
                                          ring, false, several))
ENTRANCE(hashes128, OF_LEVEL(enter_hashes)(batch, batch->data + first * sizeof(bloomery_hash),
                                           first, ring, true, several))
ENTRANCE(other_keys, OF_LEVEL(enter_others)(batch, first, ring, several))
#undef ENTRANCE
#undef ENTRANCE_OF

LEVEL_INLINE OF_LEVEL(entrance) * OF_LEVEL(entrance_of)(const bloomery_filter *filter,
                                                        const struct bloomery_input *keys,
                                                        bool several)
{
#define ENTER(name) (several ? OF_LEVEL(enter_##name##_several) : OF_LEVEL(enter_##name))
    if (BLOOMERY_FOR_SIZE)
        return NULL;
    if (keys->form == BLOOMERY_KEYS_HASHES64)
        return ENTER(hashes64);
    if (keys->form == BLOOMERY_KEYS_HASHES128)
        return ENTER(hashes128);
    if (filter->shape.hash != BLOOMERY_HASH_XXH3_64)
        return ENTER(other_keys);
    if (keys->form == BLOOMERY_KEYS_LIST)
        return ENTER(list);
    if (keys->form == BLOOMERY_KEYS_OFFSETS32)
        return ENTER(offsets32);
    if (keys->form == BLOOMERY_KEYS_OFFSETS64)
        return ENTER(offsets64);
    assert(keys->form == BLOOMERY_KEYS_FIXED);
    const bool apart = keys->stride != keys->width;
    if (keys->width == sizeof(uint64_t))
        return apart ? ENTER(integers_apart) : ENTER(integers);
    if (keys->width - 9 <= 7)
        return apart ? ENTER(narrow_apart) : ENTER(narrow);
    return ENTER(widths);
#undef ENTER
}

LEVEL_INLINE void OF_LEVEL(begin)(struct OF_LEVEL(batch) * batch, const bloomery_filter *filter,
                                  const struct bloomery_layer *layer,
                                  const struct bloomery_input *keys, size_t count, bool adding)
{
    /* Of narrow keys 16 bytes are read, and behind the last one nothing may be. */
    const size_t rest = keys->form == BLOOMERY_KEYS_FIXED && keys->width > 8 && count > 0 ? 1 : 0;
    const bool several = layer->blocks_per_key > 1;
    const size_t span = OF_LEVEL(span_of)(several);
    assert(filter->shape.block_bits == BLOOMERY_BLOCK_BITS && !filter->foreign);
    assert(layer->blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX);
    batch->layer.payload = layer->payload;
    batch->layer.blocks = layer->blocks;
    batch->layer.blocks_per_key = layer->blocks_per_key;
    batch->layer.probes = layer->probes;
    batch->keys = keys;
    batch->data = keys->data;
    batch->filter = filter;
    batch->enter = OF_LEVEL(entrance_of)(filter, keys, several);
    batch->count = count;
    batch->whole = layer->blocks <= UINT32_MAX ? (count - rest) / span * span : 0;
    if (batch->enter == NULL)
        batch->whole = 0;
    batch->secret = bloomery_secret_of(filter)->brief;
    batch->adding = adding;
    batch->long_known = false;
}

#if defined(LEVEL_HASHES)
/* Hashes alone, of keys that descriptors or offsets name, in lanes. The last few go singly. */
LEVEL_TARGET static void OF_LEVEL(hash_keys)(const struct bloomery_input *keys,
                                             const bloomery_filter *filter, size_t first,
                                             size_t count, bloomery_hash *hashes)
{
    const size_t whole = count / GROUP * GROUP;
    const struct OF_LEVEL(gate) gate = {.hashes = hashes};
    struct OF_LEVEL(batch) batch;
    assert(filter->shape.hash == BLOOMERY_HASH_XXH3_64);
    assert(keys->form == BLOOMERY_KEYS_LIST || keys->form == BLOOMERY_KEYS_OFFSETS32 ||
           keys->form == BLOOMERY_KEYS_OFFSETS64);
    batch.keys = keys;
    batch.filter = filter;
    batch.secret = bloomery_secret_of(filter)->brief;
    batch.long_known = false;
    if (hashes == NULL) /* never; and now the compiler knows it, too */
        return;
    if (keys->form == BLOOMERY_KEYS_LIST)
        OF_LEVEL(pass_named)(&batch, first, whole, &gate, BLOOMERY_KEYS_LIST, false);
    else if (keys->form == BLOOMERY_KEYS_OFFSETS32)
        OF_LEVEL(pass_named)(&batch, first, whole, &gate, BLOOMERY_KEYS_OFFSETS32, false);
    else
        OF_LEVEL(pass_named)(&batch, first, whole, &gate, BLOOMERY_KEYS_OFFSETS64, false);
    bloomery_key_hasher_of(keys, filter)(keys, filter, first + whole, count - whole,
                                         hashes + whole);
}
#endif

/* The answers of the last word: what lies behind the end is none. */
LEVEL_INLINE uint64_t OF_LEVEL(within)(uint64_t answers, size_t word, size_t count)
{
    const size_t left = count - word * WORD;
    assert(word * WORD < count);
    return left < WORD ? answers & (((uint64_t)1 << left) - 1) : answers;
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Keys of a word that survived their first block: their numbers in it, and their other blocks. */
struct OF_LEVEL(survivors) {
    size_t count;
    uint8_t number[WORD];
    uint64_t hi[WORD] __attribute__((aligned(64)));
    uint64_t lo[WORD] __attribute__((aligned(64)));
    uint8_t *at[BLOOMERY_BLOCKS_PER_KEY_MAX][WORD] __attribute__((aligned(64)));
    uint64_t word[BLOOMERY_BLOCKS_PER_KEY_MAX][WORD] __attribute__((aligned(64)));
};

/* Derives and prefetches the other blocks of the keys of a word that `alive` has. */
LEVEL_INLINE void OF_LEVEL(follow)(const struct bloomery_layer *layer,
                                   const struct OF_LEVEL(ring) * ring, size_t word, uint64_t alive,
                                   struct OF_LEVEL(survivors) * survivors)
{
    size_t count = 0;
    for (; alive != 0; alive &= alive - 1, count++) {
        const size_t number = (size_t)__builtin_ctzll(alive);
        const size_t slot = word * WORD % RING + number;
        survivors->number[count] = (uint8_t)number;
        survivors->hi[count] = ring->hi[slot];
        survivors->lo[count] = ring->lo[slot];
    }
    survivors->count = count;
    for (size_t j = 0; layer->blocks > UINT32_MAX && j < count; j++)
        for (uint32_t which = 1; which < layer->blocks_per_key; which++) {
            const bloomery_hash hash = {survivors->lo[j], survivors->hi[j]};
            const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
            survivors->at[which][j] = layer->payload + place.block * BLOOMERY_BLOCK_BYTES;
            survivors->word[which][j] = place.word;
        }
    if (layer->blocks > UINT32_MAX) /* which lanes do not know */
        return;
    for (; count % LANES != 0; count++) /* fills a register up; its prefetches are wasted */
        survivors->hi[count] = survivors->lo[count] = 0;
    assert(count <= WORD);
    for (uint32_t which = 1; which < layer->blocks_per_key; which++)
        for (size_t j = 0; j < count; j += LANES) {
            uint8_t **at = survivors->at[which] + j;
            IN_LANES(lanes) hi;
            IN_LANES(lanes) lo;
            memcpy(&hi, survivors->hi + j, sizeof hi);
            memcpy(&lo, survivors->lo + j, sizeof lo);
            IN_LANES(place)
            (IN_LANES(block_hash)(hi, which), lo, layer, at, survivors->word[which] + j);
            OF_LEVEL(request)(layer->blocks, at, LANES);
        }
}

/* Those of them whose other blocks hold them too. */
LEVEL_INLINE uint64_t OF_LEVEL(settle)(const struct OF_LEVEL(survivors) * survivors,
                                       const uint32_t blocks_per_key, const uint32_t probes)
{
    uint64_t alive = 0;
    for (size_t j = 0; j < survivors->count; j++) {
        uint32_t which = 1;
        while (which < blocks_per_key &&
               OF_LEVEL(hits)(survivors->at[which][j], survivors->word[which][j], probes))
            which++;
        alive |= (uint64_t)(which == blocks_per_key) << survivors->number[j];
    }
    return alive;
}

/* `blocks_per_key`, 1 or more, and `probes` are constants where that matters. */
LEVEL_INLINE size_t OF_LEVEL(query_shape)(struct OF_LEVEL(batch) * batch, uint64_t *answers,
                                          const uint32_t blocks_per_key, const uint32_t probes)
{
    const size_t count = batch->count;
    const size_t span = OF_LEVEL(span_of)(blocks_per_key > 1);
    const size_t end = (count + span - 1) / span * span;
    struct OF_LEVEL(ring) ring;
    struct OF_LEVEL(survivors) survivors; /* of the word before */
    uint64_t hits = 0;
    size_t found = 0;
    survivors.count = 0;
    for (size_t i = 0; i < end + WINDOW; i += span) {
        if (i < batch->whole)
            batch->enter(batch, i, &ring);
        else if (i < count)
            OF_LEVEL(enter_singly)(batch, i, &ring);
        if (i < WINDOW)
            continue;
        const size_t ready = i - WINDOW;
        uint64_t missed = 0;
        for (size_t group = span; group > 0; group -= GROUP)
            for (size_t j = GROUP; j-- > 0;) { /* so the first key ends in the lowest bit */
                const size_t slot = ready % RING + group - GROUP + j;
                missed = OF_LEVEL(append)(missed, ring.at[slot], ring.word[slot], probes);
            }
        hits |= (missed ^ (((uint64_t)1 << span) - 1)) << ready % WORD;
        if (ready % WORD != WORD - span && ready + span < end)
            continue;
        const size_t word = ready / WORD;
        uint64_t done = hits = OF_LEVEL(within)(hits, word, count);
        if (blocks_per_key > 1) {
            done = OF_LEVEL(settle)(&survivors, blocks_per_key, probes);
            OF_LEVEL(follow)(&batch->layer, &ring, word, hits, &survivors);
        }
        found += (size_t)__builtin_popcountll(done);
        if (answers != NULL && (blocks_per_key == 1 || word > 0))
            answers[blocks_per_key == 1 ? word : word - 1] = done;
        hits = 0;
    }
    if (blocks_per_key > 1 && count > 0) {
        const uint64_t done = OF_LEVEL(settle)(&survivors, blocks_per_key, probes);
        found += (size_t)__builtin_popcountll(done);
        if (answers != NULL)
            answers[(count - 1) / WORD] = done;
    }
    assert(found <= count);
    return found;
}

LEVEL_TARGET static size_t OF_LEVEL(query)(const bloomery_filter *filter,
                                           const struct bloomery_layer *layer,
                                           const struct bloomery_input *keys, size_t count,
                                           uint64_t *answers)
{
    struct OF_LEVEL(batch) batch;
    OF_LEVEL(begin)(&batch, filter, layer, keys, count, false);
    const uint32_t several = layer->blocks_per_key;
    const uint32_t probes = layer->probes;
    if (BLOOMERY_FOR_SIZE)
        return OF_LEVEL(query_shape)(&batch, answers, several, probes);
    if (probes != BLOOMERY_BLOCK_PROBES) /* which the compiler remembers */
        return several > 1 ? OF_LEVEL(query_shape)(&batch, answers, several, probes)
                           : OF_LEVEL(query_shape)(&batch, answers, 1, probes);
    return several > 1 ? OF_LEVEL(query_shape)(&batch, answers, several, BLOOMERY_BLOCK_PROBES)
                       : OF_LEVEL(query_shape)(&batch, answers, 1, BLOOMERY_BLOCK_PROBES);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static inline bool OF_LEVEL(is_of)(const struct bloomery_layer *layer, const uint8_t *block)
{
    return block >= layer->payload &&
           (uint64_t)(block - layer->payload) < layer->blocks * BLOOMERY_BLOCK_BYTES;
}

/* `counted`: whether the caller wants answers or counts. It and the last are constants, and the
 * others where that matters. */
LEVEL_INLINE void OF_LEVEL(add_shape)(struct OF_LEVEL(batch) * batch, uint64_t *answers,
                                      bloomery_counts *counts, const uint32_t blocks_per_key,
                                      const uint32_t probes, const bool counted, const bool shared)
{
    const bool several = blocks_per_key > 1;
    const size_t count = batch->count;
    const size_t window = several ? WINDOW_OF_SEVERAL : WINDOW;
    const size_t span = OF_LEVEL(span_of)(several);
    const size_t end = (count + span - 1) / span * span;
    struct OF_LEVEL(ring) ring;
    uint64_t added = 0; /* answers, the last key in the lowest bit */
    uint64_t total = 0;
    size_t positive = 0;
    for (size_t i = 0; i < end + window; i += span) {
        if (i < batch->whole)
            batch->enter(batch, i, &ring);
        else if (i < count)
            OF_LEVEL(enter_singly)(batch, i, &ring);
        if (i < window)
            continue;
        const size_t ready = i - window;
        for (size_t group = 0; group < span; group += GROUP)
            for (size_t j = 0; j < GROUP; j++) {
                size_t slot = OF_LEVEL(slot_of)(ready, several) + group + j;
                uint32_t marks = 0;
                for (uint32_t which = 0; which < blocks_per_key; which++) {
                    assert(OF_LEVEL(is_of)(&batch->layer, ring.at[slot]) && slot < RING);
                    const uint32_t fresh =
                        OF_LEVEL(put_at)(ring.at[slot], ring.word[slot], probes, shared);
                    if (counted)
                        total += shared ? fresh : OF_LEVEL(count)(fresh);
                    marks |= fresh;
                    slot += RING_OF_SEVERAL;
                }
                added = bloomery_append_any(added, marks);
            }
        if (!counted || (ready % WORD != WORD - span && ready + span < end))
            continue;
        const size_t word = ready / WORD;
        const uint64_t hits = OF_LEVEL(within)(
            bloomery_reverse_bits(added) >> (WORD - span - ready % WORD), word, count);
        if (answers != NULL)
            answers[word] = hits;
        positive += (size_t)__builtin_popcountll(hits);
        added = 0;
    }
    if (counted && counts != NULL)
        *counts = (bloomery_counts){count, positive, total};
}

LEVEL_INLINE void OF_LEVEL(add_probes)(struct OF_LEVEL(batch) * batch, uint64_t *answers,
                                       bloomery_counts *counts, const uint32_t several,
                                       const uint32_t probes)
{
    const bool counted = answers != NULL || counts != NULL;
    if (several > 1 && counted)
        OF_LEVEL(add_shape)(batch, answers, counts, several, probes, true, false);
    else if (several > 1)
        OF_LEVEL(add_shape)(batch, NULL, NULL, several, probes, false, false);
    else if (counted)
        OF_LEVEL(add_shape)(batch, answers, counts, 1, probes, true, false);
    else /* the usual way to build a filter */
        OF_LEVEL(add_shape)(batch, NULL, NULL, 1, probes, false, false);
}

LEVEL_TARGET static void OF_LEVEL(add)(const bloomery_filter *filter,
                                       const struct bloomery_layer *layer,
                                       const struct bloomery_input *keys, size_t count,
                                       uint64_t *answers, bloomery_counts *counts)
{
    const uint32_t several = layer->blocks_per_key;
    const uint32_t probes = layer->probes;
    struct OF_LEVEL(batch) batch;
    OF_LEVEL(begin)(&batch, filter, layer, keys, count, true);
    if (BLOOMERY_FOR_SIZE)
        OF_LEVEL(add_shape)(&batch, answers, counts, several, probes, true, false);
    else if (probes != BLOOMERY_BLOCK_PROBES)
        OF_LEVEL(add_probes)(&batch, answers, counts, several, probes);
    else
        OF_LEVEL(add_probes)(&batch, answers, counts, several, BLOOMERY_BLOCK_PROBES);
}

LEVEL_TARGET static void OF_LEVEL(add_shared)(const bloomery_filter *filter,
                                              const struct bloomery_layer *layer,
                                              const struct bloomery_input *keys, size_t count,
                                              uint64_t *answers, bloomery_counts *counts)
{
    struct OF_LEVEL(batch) batch;
    OF_LEVEL(begin)(&batch, filter, layer, keys, count, true);
    OF_LEVEL(add_shape)
    (&batch, answers, counts, layer->blocks_per_key, layer->probes, true, true);
}

/* ---- Adding to chains ------------------------------------------------------------------------ */

/*
 * Without answers, but counting the bits that were set: a chain that nobody asks for answers has to
 * know when its newest layer is full. Words that lacked no bit are counted, eight for each block,
 * which vector units do in lanes (LEVEL_TALLIES). They take what is left of the sum to the end:
 * extracting the marks of each key takes as long as adding it.
 */
#if !defined(LEVEL_TALLIES)
typedef uint64_t OF_LEVEL(tally);

LEVEL_INLINE OF_LEVEL(tally)
    OF_LEVEL(set_tallied)(uint8_t *at, uint64_t w, uint32_t probes, OF_LEVEL(tally) tally)
{
    return tally + BLOOMERY_BLOCK_WORDS - OF_LEVEL(count)(OF_LEVEL(set)(at, w, probes));
}

LEVEL_INLINE uint64_t OF_LEVEL(tally_sum)(OF_LEVEL(tally) tally)
{
    return tally;
}
#endif

LEVEL_INLINE uint64_t OF_LEVEL(tally_shape)(struct OF_LEVEL(batch) * batch,
                                            const uint32_t blocks_per_key, const uint32_t probes)
{
    const bool several = blocks_per_key > 1;
    const size_t count = batch->count;
    const size_t window = several ? WINDOW_OF_SEVERAL : WINDOW;
    const size_t span = OF_LEVEL(span_of)(several);
    const size_t end = (count + span - 1) / span * span; /* the last one is filled up */
    OF_LEVEL(tally) tally = {0};
    struct OF_LEVEL(ring) ring;
    for (size_t i = 0; i < end + window; i += span) {
        if (i < batch->whole)
            batch->enter(batch, i, &ring);
        else if (i < count)
            OF_LEVEL(enter_singly)(batch, i, &ring);
        if (i < window)
            continue;
        for (size_t group = 0; group < span; group += GROUP)
            for (size_t j = 0; j < GROUP; j++) {
                size_t slot = OF_LEVEL(slot_of)(i - window, several) + group + j;
                for (uint32_t which = 0; which < blocks_per_key; which++) {
                    assert(OF_LEVEL(is_of)(&batch->layer, ring.at[slot]) && slot < RING);
                    tally = OF_LEVEL(set_tallied)(ring.at[slot], ring.word[slot], probes, tally);
                    assert(OF_LEVEL(hits)(ring.at[slot], ring.word[slot], probes));
                    slot += RING_OF_SEVERAL;
                }
            }
    }
    const uint64_t words = (uint64_t)end * blocks_per_key * BLOOMERY_BLOCK_WORDS;
    const uint64_t kept = OF_LEVEL(tally_sum)(tally);
    assert(kept <= words);
    return words - kept;
}

LEVEL_TARGET static uint64_t OF_LEVEL(add_tallied)(const bloomery_filter *filter,
                                                   const struct bloomery_layer *layer,
                                                   const struct bloomery_input *keys, size_t count)
{
    struct OF_LEVEL(batch) batch;
    OF_LEVEL(begin)(&batch, filter, layer, keys, count, true);
    if (BLOOMERY_FOR_SIZE || layer->blocks_per_key > 1)
        return OF_LEVEL(tally_shape)(&batch, layer->blocks_per_key, layer->probes);
    return layer->probes == BLOOMERY_BLOCK_PROBES
               ? OF_LEVEL(tally_shape)(&batch, 1, BLOOMERY_BLOCK_PROBES)
               : OF_LEVEL(tally_shape)(&batch, 1, layer->probes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of a static filter, compiled in one piece for a processor: a template, included behind
 * kernels/block_template.h. Before it come
 *
 *     LEVEL, LEVEL_NAME, LEVEL_TARGET
 *     LEVEL(parities)  bit j: the parity of (word j of a block & first) ^ (of the next & second),
 *                      for eight words, read or not
 *     LEVEL(bumped)    which of eight starts are below their bucket's threshold
 *
 * Keys flow through a ring, in groups of eight:
 *
 *     keys ─ hash ─ equation ─┬─> ring ── window of 128 keys ── thresholds, plane 0 ─┬─> answers
 *                             └─> prefetch of plane 0, thresholds                    │
 *              ┌───────────────── those that fit so far, if there are more planes <──┤
 *              └─> prefetch of plane 1 ── a word of keys later ── other planes       │
 *                               side queue: next layer, 64 at a time <── bumped ─────┘
 *
 * Of absent keys nearly all end at plane 0. Which keys are bumped is chance, 1 of 26: a branch on
 * it would be mispredicted more often than the work is worth. So every key is tested as if it were
 * not, and those that are get their answer later.
 */

struct OF_LEVEL(static_ring) {
    uint64_t at[RING] __attribute__((aligned(64)));     /* the block's words in plane 0, in bytes */
    uint64_t start[RING] __attribute__((aligned(64)));  /* bucket and offset: 128 bucket + o */
    uint64_t first[RING] __attribute__((aligned(64)));  /* coefficients, as they lie in the block */
    uint64_t second[RING] __attribute__((aligned(64))); /* and in the next one */
    uint64_t expected[RING] __attribute__((aligned(64))); /* fingerprint */
    uint64_t wide[RING] __attribute__((aligned(64)));     /* 1: of r + 1 columns */
    bloomery_hash hash[RING] __attribute__((aligned(64)));
};

/* Numbers of the first layer, and what is under way. */
struct OF_LEVEL(static_batch) {
    const bloomery_filter *filter;
    const struct bloomery_layer *layer;
    const uint8_t *thresholds;
    uint64_t *answers;
    size_t found;
    uint64_t survivors; /* of the word before: they fit in plane 0 */
    size_t side_count;
    uint64_t side_key[2 * WORD]; /* numbers of keys */
    bloomery_hash side[2 * WORD];
};

/* The equations of eight keys, from `slot` on. Plain loops over eight, for the compiler to make
 * vectors of. */
LEVEL_INLINE void OF_LEVEL(derive)(const struct bloomery_layer *layer,
                                   struct OF_LEVEL(static_ring) * ring, size_t slot)
{
    const struct bloomery_ribbon ribbon = layer->ribbon;
    const uint64_t blocks = bloomery_ribbon_section_blocks(&ribbon);
    const uint64_t buckets = bloomery_ribbon_section_buckets(&ribbon);
    const uint64_t before = UINT64_C(8) * bloomery_ribbon_words(ribbon.columns, 0);
    const uint64_t more = UINT64_C(8) * bloomery_ribbon_words(ribbon.columns + 1U, 0) - before;
    const uint64_t q = ribbon.section_bits;
    uint64_t hi[GROUP], lo[GROUP];
    for (size_t j = 0; j < GROUP; j++) {
        hi[j] = ring->hash[slot + j].hi;
        lo[j] = ring->hash[slot + j].lo;
    }
    for (size_t j = 0; j < GROUP; j++) {
        const uint64_t section = hi[j] >> 1 >> (63 - q);
        const uint64_t x = hi[j] << q;
        /* fastrange by T, which has 18 bits */
        const uint64_t s =
            ((x >> 32) * ribbon.starts + ((x & UINT32_MAX) * ribbon.starts >> 32)) >> 32;
        const uint64_t block = section * blocks + s / BLOOMERY_RIBBON_WIDTH;
        const uint64_t wide = block >= ribbon.wide_from;
        const uint64_t c = lo[j] | 1;
        ring->start[slot + j] = section * buckets * BLOOMERY_RIBBON_BUCKET + s;
        ring->wide[slot + j] = wide;
        ring->at[slot + j] = block * before + (wide ? (block - ribbon.wide_from) * more : 0);
        ring->first[slot + j] = c << (s & 63);
        ring->second[slot + j] = c >> 1 >> (63 - (s & 63));
        ring->expected[slot + j] = bloomery_mix64(lo[j] + BLOOMERY_GOLDEN);
    }
}

LEVEL_INLINE void OF_LEVEL(prefetch)(const struct OF_LEVEL(static_batch) * batch,
                                     const struct OF_LEVEL(static_ring) * ring, size_t slot)
{
    const struct bloomery_ribbon *ribbon = &batch->layer->ribbon;
    const uint64_t both = UINT64_C(16) * bloomery_ribbon_words(ribbon->columns, 0);
    const uint64_t bytes = batch->layer->bytes;
    for (size_t j = 0; j < GROUP; j++) {
        const uint8_t *first = batch->layer->payload + ring->at[slot + j];
        bloomery_request_line(batch->thresholds + (ring->start[slot + j] >> 9), bytes);
        bloomery_request_line(first, bytes);
        bloomery_request_line(first + (both > 64 ? 64 : 0), bytes);
        bloomery_request_line(first + both + 7, bytes);
    }
}

/* Takes keys i to i + 7 in; fewer at the end, behind which the ring keeps what it had. */
LEVEL_INLINE void OF_LEVEL(static_enter)(const struct OF_LEVEL(static_batch) * batch,
                                         bloomery_key_hasher *hash_keys,
                                         const struct bloomery_input *keys, size_t i, size_t count,
                                         struct OF_LEVEL(static_ring) * ring)
{
    const size_t slot = i % RING;
    hash_keys(keys, batch->filter, i, count - i < GROUP ? count - i : GROUP, &ring->hash[slot]);
    OF_LEVEL(derive)(batch->layer, ring, slot);
    OF_LEVEL(prefetch)(batch, ring, slot);
}

/* The answers of the side queue: in the next layer, or behind the last one. */
LEVEL_TARGET __attribute__((noinline)) static void OF_LEVEL(flush)(struct OF_LEVEL(static_batch) *
                                                                   batch)
{
    const struct bloomery_layer *next = batch->layer + 1;
    for (size_t i = 0; i < batch->side_count && batch->layer->cascades; i++) {
        const struct bloomery_equation equation =
            bloomery_equation_of(batch->side[i], 1, &next->ribbon);
        const uint8_t *first =
            next->payload + 8 * bloomery_ribbon_word(&next->ribbon, 0, equation.block);
        __builtin_prefetch(bloomery_static_thresholds(next) + equation.bucket / 4);
        __builtin_prefetch(first);
        __builtin_prefetch(first + 64);
    }
    for (size_t i = 0; i < batch->side_count; i++) {
        const bool yes = !batch->layer->cascades || bloomery_static_from(next, 1, batch->side[i]);
        batch->found += yes;
        if (batch->answers != NULL)
            batch->answers[batch->side_key[i] / WORD] |= (uint64_t)yes << batch->side_key[i] % WORD;
    }
    batch->side_count = 0;
}

/* The equation in slot `slot` of the ring, for other planes than the first. */
LEVEL_INLINE struct bloomery_equation
OF_LEVEL(equation_in)(const struct OF_LEVEL(static_batch) * batch,
                      const struct OF_LEVEL(static_ring) * ring, size_t slot)
{
    return bloomery_equation_of(ring->hash[slot], 0, &batch->layer->ribbon);
}

/* Whether the columns of all planes but the first are as the fingerprint says. A key that fitted in
 * plane 0 is most often present, and then every plane is needed: no branch ends the loop early. */
LEVEL_INLINE bool OF_LEVEL(fits_others)(const struct bloomery_layer *layer,
                                        const struct bloomery_equation *equation)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint32_t columns = ribbon->columns + (uint32_t)(equation->block >= ribbon->wide_from);
    const uint64_t first = equation->coefficients << equation->shift;
    const uint64_t second = equation->coefficients >> 1 >> (63 - equation->shift);
    const uint8_t *base = layer->payload + bloomery_ribbon_plane_bytes(ribbon, 0);
    uint64_t fingerprint = equation->fingerprint >> BLOOMERY_RIBBON_PLANE;
    uint32_t differ = 0;
    uint32_t words;
    for (uint32_t plane = 1; (words = bloomery_ribbon_words(columns, plane)) > 0; plane++) {
        const uint8_t *block = base + 8 * bloomery_ribbon_word(ribbon, plane, equation->block);
        const uint32_t mask = (1U << words) - 1;
        const uint32_t wanted = (uint32_t)fingerprint;
        differ |=
            (OF_LEVEL(parities)(block, block + (size_t)8 * words, mask, first, second) ^ wanted) &
            mask;
        fingerprint >>= BLOOMERY_RIBBON_PLANE;
        base += bloomery_ribbon_plane_bytes(ribbon, plane);
    }
    return differ == 0;
}

/* The keys of word `word` that fitted in plane 0 and have more columns. */
LEVEL_INLINE void OF_LEVEL(finish)(struct OF_LEVEL(static_batch) * batch,
                                   const struct OF_LEVEL(static_ring) * ring, size_t word)
{
    uint64_t answers = 0;
    for (uint64_t left = batch->survivors; left != 0; left &= left - 1) {
        const size_t lane = (size_t)__builtin_ctzll(left);
        const struct bloomery_equation equation =
            OF_LEVEL(equation_in)(batch, ring, (word * WORD + lane) % RING);
        answers |= (uint64_t)OF_LEVEL(fits_others)(batch->layer, &equation) << lane;
    }
    batch->survivors = 0;
    batch->found += (size_t)__builtin_popcountll(answers);
    if (batch->answers != NULL)
        batch->answers[word] |= answers;
}

/* Prefetches the other planes of those keys. */
LEVEL_INLINE void OF_LEVEL(begin_others)(const struct OF_LEVEL(static_batch) * batch,
                                         const struct OF_LEVEL(static_ring) * ring, size_t word)
{
    const struct bloomery_ribbon *ribbon = &batch->layer->ribbon;
    for (uint64_t left = batch->survivors; left != 0; left &= left - 1) {
        const size_t slot = (word * WORD + (size_t)__builtin_ctzll(left)) % RING;
        const uint64_t block = OF_LEVEL(equation_in)(batch, ring, slot).block;
        const uint8_t *base = batch->layer->payload + bloomery_ribbon_plane_bytes(ribbon, 0);
        for (uint32_t plane = 1; bloomery_ribbon_words(ribbon->columns + 1U, plane) > 0; plane++) {
            bloomery_request_line(base + 8 * bloomery_ribbon_word(ribbon, plane, block),
                                  batch->layer->bytes);
            bloomery_request_line(base + 8 * bloomery_ribbon_word(ribbon, plane, block + 2) - 1,
                                  batch->layer->bytes);
            base += bloomery_ribbon_plane_bytes(ribbon, plane);
        }
    }
}

/* Plane 0 of a word of keys. `last`: no other plane follows. */
LEVEL_INLINE void OF_LEVEL(visit)(struct OF_LEVEL(static_batch) * batch,
                                  const struct OF_LEVEL(static_ring) * ring, size_t word,
                                  size_t count, const bool last)
{
    const struct bloomery_ribbon *ribbon = &batch->layer->ribbon;
    const uint32_t words[2] = {bloomery_ribbon_words(ribbon->columns, 0),
                               bloomery_ribbon_words(ribbon->columns + 1U, 0)};
    const uint32_t masks[2] = {(1U << words[0]) - 1, (1U << words[1]) - 1};
    const uint64_t all = count < WORD ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
    const uint8_t *payload = batch->layer->payload;
    uint64_t fit = 0;
    uint64_t bumped = 0;
    for (size_t i = 0; i < count; i += GROUP) {
        const size_t slot = (word * WORD + i) % RING;
        uint64_t fits = 0;
        for (size_t j = 0; j < GROUP; j++) {
            const size_t wide = (size_t)ring->wide[slot + j];
            const uint8_t *block = payload + ring->at[slot + j];
            const uint32_t found =
                OF_LEVEL(parities)(block, block + (size_t)8 * words[wide], masks[wide],
                                   ring->first[slot + j], ring->second[slot + j]);
            const uint32_t wanted = (uint32_t)ring->expected[slot + j];
            fits |= (uint64_t)(((found ^ wanted) & masks[wide]) == 0) << j;
        }
        fit |= fits << i;
        bumped |= (uint64_t)OF_LEVEL(bumped)(batch->thresholds, ring->start + slot) << i;
    }
    bumped &= all;
    fit &= all & ~bumped;
    if (batch->answers != NULL)
        batch->answers[word] = last ? fit : 0;
    if (last)
        batch->found += (size_t)__builtin_popcountll(fit);
    else
        batch->survivors = fit;
    for (uint64_t left = bumped; left != 0; left &= left - 1) {
        const size_t lane = (size_t)__builtin_ctzll(left);
        batch->side_key[batch->side_count] = word * WORD + lane;
        batch->side[batch->side_count++] = ring->hash[(word * WORD + lane) % RING];
    }
    if (batch->side_count > WORD)
        OF_LEVEL(flush)(batch);
}

LEVEL_INLINE size_t OF_LEVEL(query_planes)(const bloomery_filter *filter,
                                           const struct bloomery_layer *layer,
                                           const struct bloomery_input *keys, size_t count,
                                           uint64_t *answers, const bool last)
{
    const size_t words = count / WORD + (count % WORD != 0);
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    struct OF_LEVEL(static_ring) ring;
    struct OF_LEVEL(static_batch) batch;
    batch.filter = filter;
    batch.layer = layer;
    batch.thresholds = bloomery_static_thresholds(layer);
    batch.answers = answers;
    batch.found = batch.side_count = 0;
    batch.survivors = 0;
    memset(ring.hash, 0, sizeof ring.hash);
    for (size_t i = 0; i < count && i < WINDOW; i += GROUP)
        OF_LEVEL(static_enter)(&batch, hash_keys, keys, i, count, &ring);
    for (size_t word = 0; word < words; word++) {
        const size_t now = count - word * WORD < WORD ? count - word * WORD : WORD;
        for (size_t i = word * WORD + WINDOW; i < count && i < (word + 1) * WORD + WINDOW;
             i += GROUP)
            OF_LEVEL(static_enter)(&batch, hash_keys, keys, i, count, &ring);
        if (!last && word > 0)
            OF_LEVEL(finish)(&batch, &ring, word - 1);
        OF_LEVEL(visit)(&batch, &ring, word, now, last);
        if (!last)
            OF_LEVEL(begin_others)(&batch, &ring, word);
    }
    if (!last && words > 0)
        OF_LEVEL(finish)(&batch, &ring, words - 1);
    OF_LEVEL(flush)(&batch);
    return batch.found;
}

LEVEL_TARGET static size_t OF_LEVEL(static_query)(const bloomery_filter *filter,
                                                  const struct bloomery_layer *layer,
                                                  const struct bloomery_input *keys, size_t count,
                                                  uint64_t *answers)
{
    if (layer->keys == 0) {
        if (answers != NULL && count > 0)
            memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
        return 0;
    }
    const bool last = layer->ribbon.columns < BLOOMERY_RIBBON_PLANE;
    if (BLOOMERY_FOR_SIZE)
        return OF_LEVEL(query_planes)(filter, layer, keys, count, answers, last);
    return last ? OF_LEVEL(query_planes)(filter, layer, keys, count, answers, true)
                : OF_LEVEL(query_planes)(filter, layer, keys, count, answers, false);
}

/* ---- Single keys ----------------------------------------------------------------------------- */

/* One key: so few instructions that the processor has the next ones on their way, too, and reads
 * the threshold and the row at once. Prefetching them changes nothing, and prefetching the other
 * planes doubles the time of absent keys. */
LEVEL_INLINE bool OF_LEVEL(static_holds)(const struct bloomery_layer *layer, bloomery_hash hash)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const struct bloomery_equation equation = bloomery_equation_of(hash, 0, ribbon);
    const uint32_t columns = ribbon->columns + (uint32_t)(equation.block >= ribbon->wide_from);
    const uint32_t words = bloomery_ribbon_words(columns, 0);
    const uint32_t mask = (1U << words) - 1;
    const uint8_t *block = layer->payload + 8 * bloomery_ribbon_word(ribbon, 0, equation.block);
    const uint32_t found = OF_LEVEL(parities)(block, block + (size_t)8 * words, mask,
                                              equation.coefficients << equation.shift,
                                              equation.coefficients >> 1 >> (63 - equation.shift));
    const uint32_t wanted = (uint32_t)equation.fingerprint;
    if (equation.offset < bloomery_static_cut(bloomery_static_thresholds(layer), equation.bucket))
        return bloomery_static_from(layer, 0, hash); /* which goes on in the next one */
    return ((found ^ wanted) & mask) == 0 &&
           (columns <= BLOOMERY_RIBBON_PLANE || OF_LEVEL(fits_others)(layer, &equation));
}

LEVEL_TARGET static bool OF_LEVEL(static_query_key)(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->secret_known)
        return true;
    const bloomery_hash hash = filter->hash->one(bloomery_secret_of(filter), key);
    return filter->layers->keys > 0 && OF_LEVEL(static_holds)(filter->layers, hash);
}

LEVEL_TARGET static bool OF_LEVEL(static_query_hash)(const bloomery_filter *filter,
                                                     bloomery_hash hash)
{
    return filter->layers->keys > 0 && OF_LEVEL(static_holds)(filter->layers, hash);
}

LEVEL_TARGET static void OF_LEVEL(static_prefetch)(const bloomery_filter *filter,
                                                   bloomery_hash hash)
{
    const struct bloomery_layer *layer = filter->layers;
    const struct bloomery_equation equation = bloomery_equation_of(hash, 0, &layer->ribbon);
    bloomery_static_request(layer, &equation);
}

static const struct bloomery_lookup OF_LEVEL(static_lookup) = {
    .key = OF_LEVEL(static_query_key),
    .hash = OF_LEVEL(static_query_hash),
    .prefetch = OF_LEVEL(static_prefetch)};

const struct bloomery_fast_path OF_LEVEL(bloomery_static) = {
    .name = LEVEL_NAME, .query = OF_LEVEL(static_query), .lookups = &OF_LEVEL(static_lookup)};

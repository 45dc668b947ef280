/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of bulk.h: a template, instantiated by defining before inclusion
 *
 *     BULK_NAME(name), BULK_TARGET
 *     BULK_START, BULK_HASH(...)      a type made from a seed once per batch, and with it eight keys
 *                                     hashed into lo[8], hi[8]
 *     BULK_OFFSETS(hi, blocks, at)    eight times: where in the payload the line lies that these
 *                                     high halves choose; fewer than 2^32 blocks
 *     BULK_MIX(from, add, to)         eight times to = mix64(from + add)
 *     BULK_POSITIONS(words, count, to)   to[8 t + j] = position t of word j; t below count
 *     BULK_MISSES(at, word, slots)    as TEMPLATE_HITS of core/blocked_template.h, but nonzero where
 *                                     one is not set
 *     BULK_LINE, BULK_ZERO, BULK_SET(line, position), BULK_MERGE(at, line), BULK_OR(at, line)
 *                                     as there, one position at a time; OR only merges
 *
 * Keys flow through a ring of 512, in groups of eight:
 *
 *     keys   ─ hash ─┬─ prefetch first lines ── ... window of keys ... ── test or set ── answers
 *                    └─> ring: lo, hi, offset of each line
 *
 * Asking goes line by line. Most absent keys end at their first line, so only that is prefetched;
 * when a word of 64 keys is through, the next lines of those that survived are asked for, and looked
 * at when the word behind is through too.
 *
 * A last group of fewer than eight keys is filled up with its last key: asked or added twice it
 * changes nothing, and the answers past the end are cut off.
 */

struct BULK_NAME(ring) {
    uint64_t lo[BULK_RING] __attribute__((aligned(64)));
    uint64_t hi[BULK_RING] __attribute__((aligned(64)));
    uint64_t at[BULK_LINES][BULK_RING] __attribute__((aligned(64)));
};

/* Takes eight keys in, at index `i` of the batch: hashed, and `lines` of their lines on their way. */
BULK_TARGET static inline __attribute__((always_inline)) void
BULK_NAME(take)(const struct bloomery_hash_secret *secret, const BULK_START *start,
                const struct bloomery_link *link, const uint8_t *payload, const bloomery_key *keys,
                size_t count, size_t i, uint32_t lines, struct BULK_NAME(ring) * ring)
{
    bloomery_key last[BULK_GROUP];
    const bloomery_key *group = keys + i;
    if (__builtin_expect(count - i < BULK_GROUP, 0)) {
        for (size_t j = 0; j < BULK_GROUP; j++)
            last[j] = keys[i + j < count ? i + j : count - 1];
        group = last;
    }
    const size_t slot = i % BULK_RING;
    BULK_HASH(secret, start, group, ring->lo + slot, ring->hi + slot);
    BULK_OFFSETS(ring->hi + slot, link->blocks, ring->at[0] + slot);
    for (int j = 0; j < BULK_GROUP; j++)
        __builtin_prefetch(payload + ring->at[0][slot + (size_t)j]);
    for (uint32_t line = 1; line < lines; line++) {
        uint64_t mixed[BULK_GROUP] __attribute__((aligned(64)));
        BULK_MIX(ring->hi + slot, line * BLOOMERY_GOLDEN, mixed);
        BULK_OFFSETS(mixed, link->blocks, ring->at[line] + slot);
        for (int j = 0; j < BULK_GROUP; j++)
            __builtin_prefetch(payload + ring->at[line][slot + (size_t)j]);
    }
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Whether one of the line's positions of eight keys at `slot` is not set: missed[j] is not 0. */
BULK_TARGET static inline __attribute__((always_inline)) void
BULK_NAME(test)(const struct bloomery_link *link, const uint8_t *payload,
                const struct BULK_NAME(ring) * ring, size_t slot, uint8_t *missed)
{
    uint32_t need = link->probes;
    uint32_t now = need < BLOOMERY_POSITIONS_PER_WORD ? need : BLOOMERY_POSITIONS_PER_WORD;
    for (size_t j = 0; j < BULK_GROUP; j++)
        missed[j] =
            BULK_MISSES(payload + ring->at[0][slot + j], ring->lo[slot + j], (1u << now) - 1);
    /* Further words only where one of the eight is still in question. */
    for (uint64_t number = 1; (need -= now) > 0; number++) {
        uint64_t words[BULK_GROUP] __attribute__((aligned(64)));
        bool open = false;
        for (size_t j = 0; j < BULK_GROUP; j++)
            open |= missed[j] == 0;
        if (!open)
            return;
        BULK_MIX(ring->lo + slot, number * BLOOMERY_GOLDEN, words);
        now = need < BLOOMERY_POSITIONS_PER_WORD ? need : BLOOMERY_POSITIONS_PER_WORD;
        for (size_t j = 0; j < BULK_GROUP; j++)
            missed[j] |= BULK_MISSES(payload + ring->at[0][slot + j], words[j], (1u << now) - 1);
    }
}

/* Whether all positions of a key are set in line `line`, from 1 on, that lies at `at`. */
BULK_TARGET static inline __attribute__((always_inline)) bool
BULK_NAME(holds)(const uint8_t *at, uint64_t lo, uint32_t line, uint32_t probes)
{
    uint32_t number = line * probes / BLOOMERY_POSITIONS_PER_WORD;
    uint32_t used = line * probes % BLOOMERY_POSITIONS_PER_WORD;
    for (uint32_t need = probes; need > 0; number++, used = 0) {
        uint64_t word = number == 0 ? lo : bloomery_mix64(lo + number * BLOOMERY_GOLDEN);
        uint32_t left = BLOOMERY_POSITIONS_PER_WORD - used;
        uint32_t now = need < left ? need : left;
        if (BULK_MISSES(at, word, ((1u << now) - 1) << used))
            return false;
        need -= now;
    }
    return true;
}

/* Asks for line `line` of the keys of a word that `alive` has. */
static inline void BULK_NAME(follow)(const struct bloomery_link *link, const uint8_t *payload,
                                     struct BULK_NAME(ring) * ring, size_t word, uint32_t line,
                                     uint64_t alive)
{
    for (; alive != 0; alive &= alive - 1) {
        size_t slot = (word * BULK_WORD + (size_t)__builtin_ctzll(alive)) % BULK_RING;
        ring->at[line][slot] =
            bloomery_fastrange(bloomery_mix64(ring->hi[slot] + line * BLOOMERY_GOLDEN),
                               link->blocks) *
            BLOOMERY_BLOCK_BYTES;
        __builtin_prefetch(payload + ring->at[line][slot]);
    }
}

/* Those of `alive` whose line `line`, asked for a word ago, holds them. */
BULK_TARGET static uint64_t BULK_NAME(survivors)(const struct bloomery_link *link,
                                                 const uint8_t *payload,
                                                 const struct BULK_NAME(ring) * ring, size_t word,
                                                 uint32_t line, uint64_t alive)
{
    for (uint64_t left = alive; left != 0; left &= left - 1) {
        size_t slot = (word * BULK_WORD + (size_t)__builtin_ctzll(left)) % BULK_RING;
        if (!BULK_NAME(holds)(payload + ring->at[line][slot], ring->lo[slot], line, link->probes))
            alive &= ~(left & -left);
    }
    return alive;
}

/* The words on their way: alive[l] are those of the word l behind the newest. */
struct BULK_NAME(asking) {
    const struct bloomery_link *link;
    const uint8_t *payload;
    struct BULK_NAME(ring) ring;
    uint64_t alive[BULK_LINES];
    uint64_t *answers;
    size_t count;
    size_t found;
};

/* A word's first lines have been looked at, and `alive` survived; the words before it move on by a
 * line, and the one that has no line left is answered. Called with none alive for words past the
 * end. */
BULK_TARGET static void BULK_NAME(pass)(struct BULK_NAME(asking) * asking, size_t word,
                                        uint64_t alive)
{
    const uint32_t lines = asking->link->lines;
    for (uint32_t line = 0; line < lines; line++) {
        if (word < line)
            return;
        const size_t at = word - line;
        uint64_t older = asking->alive[line];
        if (line > 0)
            alive =
                BULK_NAME(survivors)(asking->link, asking->payload, &asking->ring, at, line, alive);
        else if (asking->count < (word + 1) * BULK_WORD) /* the last word, or past it */
            alive &= asking->count > word * BULK_WORD
                         ? ((uint64_t)1 << (asking->count - word * BULK_WORD)) - 1
                         : 0;
        if (line + 1 < lines) {
            BULK_NAME(follow)(asking->link, asking->payload, &asking->ring, at, line + 1, alive);
            asking->alive[line] = alive;
            alive = older;
        } else if (at * BULK_WORD < asking->count) {
            asking->found += (size_t)__builtin_popcountll(alive);
            if (asking->answers != NULL)
                asking->answers[at] = alive;
        }
    }
}

/* Bit j where missed[j] is 0. */
static inline uint64_t BULK_NAME(bits)(const uint8_t *missed)
{
    uint64_t bits = 0;
    for (size_t j = 0; j < BULK_WORD; j++)
        bits |= (uint64_t)(missed[j] == 0) << j;
    return bits;
}

BULK_TARGET static size_t BULK_NAME(ask)(const bloomery_filter *filter, const bloomery_key *keys,
                                         size_t count, uint64_t *answers)
{
    const struct bloomery_link *link = filter->links;
    const uint8_t *payload = bloomery_link_payload(filter, link);
    const BULK_START start = BULK_NAME(start)(filter->secret.seed);
    const size_t window = bloomery_bulk_window(link);
    const size_t end = (count + BULK_GROUP - 1) / BULK_GROUP * BULK_GROUP;
    uint8_t missed[BULK_WORD] __attribute__((aligned(64)));
    struct BULK_NAME(asking) asking;
    asking.link = link;
    asking.payload = payload;
    asking.answers = answers;
    asking.count = count;
    asking.found = 0;
    memset(asking.alive, 0, sizeof asking.alive);
    memset(missed, 0xff, sizeof missed);
    for (size_t i = 0; i < end + window; i += BULK_GROUP) {
        if (i < end)
            BULK_NAME(take)
        (&filter->secret, &start, link, payload, keys, count, i, 1, &asking.ring);
        if (i < window)
            continue;
        const size_t ready = i - window;
        BULK_NAME(test)(link, payload, &asking.ring, ready % BULK_RING, missed + ready % BULK_WORD);
        if (ready % BULK_WORD == BULK_WORD - BULK_GROUP || ready + BULK_GROUP == end) {
            BULK_NAME(pass)(&asking, ready / BULK_WORD, BULK_NAME(bits)(missed));
            memset(missed, 0xff, sizeof missed);
        }
    }
    const size_t words = (count + BULK_WORD - 1) / BULK_WORD;
    for (uint32_t line = 1; line < link->lines; line++)
        BULK_NAME(pass)(&asking, words - 1 + line, 0);
    return asking.found;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* Adds eight keys at `slot`; bit j of the result where key j is new, if that is wanted. Told L and k,
 * the compiler unrolls the slots. */
BULK_TARGET static inline __attribute__((always_inline)) uint32_t
BULK_NAME(set)(uint8_t *payload, const struct BULK_NAME(ring) * ring, size_t slot,
               const uint32_t lines, const uint32_t probes, const bool wanted)
{
    uint64_t positions[BULK_POSITIONS_MOST * BULK_GROUP] __attribute__((aligned(64)));
    const uint32_t total = lines * probes;
    uint32_t fresh = 0;
    BULK_POSITIONS(ring->lo + slot, total < 7 ? total : 7, positions);
    for (uint32_t first = 7; first < total; first += 7) {
        uint64_t words[BULK_GROUP] __attribute__((aligned(64)));
        BULK_MIX(ring->lo + slot, first / 7 * BLOOMERY_GOLDEN, words);
        BULK_POSITIONS(words, total - first < 7 ? total - first : 7, positions + 8 * first);
    }
    __asm__("" : "+m"(positions)); /* see mark_avx512 */
#pragma GCC unroll 1
    for (uint32_t j = 0; j < BULK_GROUP; j++)
#pragma GCC unroll 3
        for (uint32_t line = 0; line < lines; line++) {
            BULK_LINE bits = BULK_ZERO();
            uint8_t *at = payload + ring->at[line][slot + j];
#pragma GCC unroll 16
            for (uint32_t probe = 0; probe < probes; probe++)
                bits = BULK_SET(bits, positions + 8 * (line * probes + probe) + j);
            if (wanted)
                fresh |= (uint32_t)BULK_MERGE(at, bits) << j;
            else
                BULK_OR(at, bits);
        }
    return fresh;
}

BULK_TARGET static inline __attribute__((always_inline)) void
BULK_NAME(add_shape)(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                     uint64_t *answers, const uint32_t lines, const uint32_t probes,
                     const bool wanted)
{
    const struct bloomery_link *link = filter->links;
    uint8_t *payload = bloomery_link_payload(filter, link);
    const BULK_START start = BULK_NAME(start)(filter->secret.seed);
    const size_t window = bloomery_bulk_window(link);
    const size_t end = (count + BULK_GROUP - 1) / BULK_GROUP * BULK_GROUP;
    struct BULK_NAME(ring) ring;
    uint64_t word = 0;
    for (size_t i = 0; i < end + window; i += BULK_GROUP) {
        if (i < end)
            BULK_NAME(take)(&filter->secret, &start, link, payload, keys, count, i, lines, &ring);
        if (i < window)
            continue;
        const size_t ready = i - window;
        uint64_t fresh = BULK_NAME(set)(payload, &ring, ready % BULK_RING, lines, probes, wanted);
        if (!wanted)
            continue;
        word |= fresh << ready % BULK_WORD;
        if (ready + BULK_GROUP == end && count % BULK_WORD != 0)
            word &= ((uint64_t)1 << count % BULK_WORD) - 1;
        if (ready % BULK_WORD == BULK_WORD - BULK_GROUP || ready + BULK_GROUP == end) {
            answers[ready / BULK_WORD] = word;
            word = 0;
        }
    }
}

/* The shapes of the usual rates are compiled with their numbers known; the last row is any other. */
#define BULK_SHAPES(ROW) ROW(1, 5) ROW(1, 6) ROW(1, 7) ROW(1, 9) ROW(2, 5) ROW(2, 6) ROW(2, 7)

BULK_TARGET static void BULK_NAME(add)(bloomery_filter *filter, const bloomery_key *keys,
                                       size_t count, uint64_t *answers)
{
    const uint32_t lines = filter->links->lines;
    const uint32_t probes = filter->links->probes;
#define BULK_ROW(l, k)                                                          \
    if (lines == (l) && probes == (k)) {                                        \
        if (answers != NULL)                                                    \
            BULK_NAME(add_shape)(filter, keys, count, answers, (l), (k), true); \
        else                                                                    \
            BULK_NAME(add_shape)(filter, keys, count, NULL, (l), (k), false);   \
        return;                                                                 \
    }
    BULK_SHAPES(BULK_ROW)
#undef BULK_ROW
    if (answers != NULL)
        BULK_NAME(add_shape)(filter, keys, count, answers, lines, probes, true);
    else
        BULK_NAME(add_shape)(filter, keys, count, NULL, lines, probes, false);
}

static const struct bloomery_bulk BULK_NAME(bulk) = {BULK_NAME(ask), BULK_NAME(add)};

#undef BULK_NAME
#undef BULK_TARGET
#undef BULK_START
#undef BULK_HASH
#undef BULK_OFFSETS
#undef BULK_MIX
#undef BULK_POSITIONS
#undef BULK_MISSES
#undef BULK_LINE
#undef BULK_ZERO
#undef BULK_SET
#undef BULK_MERGE
#undef BULK_OR
#undef BULK_SHAPES

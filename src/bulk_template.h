/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of bulk.h: a template, instantiated by defining before inclusion
 *
 *     BULK_NAME(name), BULK_TARGET
 *     BULK_START, BULK_HASH(...)      a type made from a seed once per batch, and with it eight keys
 *                                     hashed into lo[8], hi[8]
 *     BULK_SPLIT(hashes, lo, hi)      the same for eight keys hashed before
 *     BULK_OFFSETS(hi, blocks, at)    eight times: where in the payload the line lies that these
 *                                     high halves choose; fewer than 2^32 blocks
 *     BULK_MIX(from, add, to)         eight times to = mix64(from + add)
 *     BULK_POSITIONS(words, count, to)   to[8 t + j] = position t of word j; t below count
 *     BULK_MISSES(at, word, slots)    as TEMPLATE_HITS of core/blocked_template.h, but nonzero where
 *                                     one is not set
 *     BULK_HITS(payload, at, words, slots)   the same of eight keys: bit j where all are set in the
 *                                     line at payload + at[j]
 *     BULK_LINE, BULK_ZERO, BULK_SET(line, position), BULK_MERGE(at, line), BULK_OR(at, line)
 *                                     as there, one position at a time; OR only merges
 *
 * Keys flow through a ring of 512, in groups of eight:
 *
 *     keys   ─ hash ─┬─ a group later: prefetch ── ... window of keys ... ── test or set ── answers
 *                    └─> ring: lo, hi, offset of each line
 *
 * Asking goes line by line. Most absent keys end at their first line, so only that is prefetched;
 * when a word of 64 keys is through, the next lines of those that survived are asked for, and looked
 * at when the word behind is through too.
 *
 * A last group of fewer than eight keys is filled up with its last key: asked or added twice it
 * changes nothing, and the answers past the end are cut off.
 */

#define BULK_RING_TYPE struct BULK_NAME(ring)
#define BULK_ASKING    struct BULK_NAME(asking)
#define BULK_FIND      BULK_NAME(find)
#define BULK_TAKE_KEYS BULK_NAME(take_keys)
#define BULK_TAKE_DONE BULK_NAME(take_hashes)
#define BULK_ORDER     BULK_NAME(order)
#define BULK_TEST      BULK_NAME(test)
#define BULK_HOLDS     BULK_NAME(holds)
#define BULK_FOLLOW    BULK_NAME(follow)
#define BULK_SURVIVORS BULK_NAME(survivors)
#define BULK_PASS      BULK_NAME(pass)
#define BULK_ASK_SHAPE BULK_NAME(ask_shape)
#define BULK_ASK       BULK_NAME(ask)
#define BULK_SPREAD    BULK_NAME(spread)
#define BULK_COLLECT   BULK_NAME(collect)
#define BULK_ADD_SHAPE BULK_NAME(add_shape)
#define BULK_ADD_ANY   BULK_NAME(add_any)
#define BULK_ADD       BULK_NAME(add)
#define BULK_ADD_LINE  BULK_NAME(add_line)
#define BULK_INLINE    BULK_TARGET static inline __attribute__((always_inline))

BULK_RING_TYPE
{
    uint64_t lo[BULK_RING] __attribute__((aligned(64)));
    uint64_t hi[BULK_RING] __attribute__((aligned(64)));
    uint64_t at[BULK_LINES][BULK_RING] __attribute__((aligned(64)));
};

/* The keys' lines `first` to first + lines - 1, of eight hashes in the ring. */
BULK_INLINE void BULK_FIND(BULK_RING_TYPE *ring, size_t slot, uint64_t blocks, uint32_t first,
                           uint32_t lines)
{
    for (uint32_t line = 0; line < lines; line++) {
        const uint64_t *high = ring->hi + slot;
        uint64_t mixed[BULK_GROUP] __attribute__((aligned(64)));
        if (first + line > 0) {
            BULK_MIX(high, (first + line) * BLOOMERY_GOLDEN, mixed);
            high = mixed;
        }
        BULK_OFFSETS(high, blocks, ring->at[line] + slot);
    }
}

/* Takes eight keys in, at index `i` of the batch. */
BULK_INLINE void BULK_TAKE_KEYS(BULK_RING_TYPE *ring, const struct bloomery_hash_secret *secret,
                                const BULK_START *start, const bloomery_key *keys, size_t count,
                                size_t i)
{
    bloomery_key last[BULK_GROUP];
    const bloomery_key *group = keys + i;
    if (__builtin_expect(count - i < BULK_GROUP, 0)) {
        for (size_t j = 0; j < BULK_GROUP; j++)
            last[j] = keys[i + j < count ? i + j : count - 1];
        group = last;
    }
    BULK_HASH(secret, start, group, ring->lo + i % BULK_RING, ring->hi + i % BULK_RING);
}

/* The same for keys that are hashed already. */
BULK_INLINE void BULK_TAKE_DONE(BULK_RING_TYPE *ring, const bloomery_hash *hashes, size_t count,
                                size_t i)
{
    bloomery_hash last[BULK_GROUP];
    const bloomery_hash *group = hashes + i;
    if (__builtin_expect(count - i < BULK_GROUP, 0)) {
        for (size_t j = 0; j < BULK_GROUP; j++)
            last[j] = hashes[i + j < count ? i + j : count - 1];
        group = last;
    }
    BULK_SPLIT(group, ring->lo + i % BULK_RING, ring->hi + i % BULK_RING);
}

/* Asks for the lines of the eight keys that were taken a group ago: a register that was stored whole
 * is slow to load in parts until it has reached the cache, and a quarter of the time would go
 * there. */
BULK_INLINE void BULK_ORDER(const uint8_t *payload, const BULK_RING_TYPE *ring, size_t i,
                            uint32_t lines)
{
    const size_t slot = i % BULK_RING;
    for (uint32_t line = 0; line < lines; line++)
#pragma GCC unroll 8
        for (size_t j = 0; j < BULK_GROUP; j++)
            __builtin_prefetch(payload + ring->at[line][slot + j]);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Of eight keys at `slot`: bit j where all positions of key j's first line are set. Told that these
 * fit one word, the compiler leaves out all that is for more. */
BULK_INLINE uint64_t BULK_TEST(const uint8_t *payload, const BULK_RING_TYPE *ring, size_t slot,
                               uint32_t probes, const bool one_word)
{
    const uint64_t *at = ring->at[0] + slot;
    uint32_t now = one_word || probes < 7 ? probes : 7;
    uint64_t hits = BULK_HITS(payload, at, ring->lo + slot, (1u << now) - 1);
    if (one_word)
        return hits;
    /* Further words only where one of the eight is still in question. */
    for (uint64_t number = 1; (probes -= now) > 0 && hits != 0; number++) {
        uint64_t words[BULK_GROUP] __attribute__((aligned(64)));
        BULK_MIX(ring->lo + slot, number * BLOOMERY_GOLDEN, words);
        now = probes < 7 ? probes : 7;
        hits &= BULK_HITS(payload, at, words, (1u << now) - 1);
    }
    return hits;
}

/* Whether all positions of a key are set in its line `line`, from 1 on, that lies at `at`. */
BULK_INLINE bool BULK_HOLDS(const uint8_t *at, uint64_t lo, uint32_t line, uint32_t probes)
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

/* The words on their way: alive[l] are the keys of the word l before the newest that are still in
 * question after their lines 0 to l. */
BULK_ASKING
{
    const struct bloomery_link *link;
    const uint8_t *payload;
    uint64_t alive[BULK_LINES];
    uint64_t *answers;
    size_t count;
    size_t found;
    BULK_RING_TYPE ring;
};

/* Asks for line `line` of the keys of a word that `alive` has. */
static inline void BULK_FOLLOW(BULK_ASKING *asking, size_t word, uint32_t line, uint64_t alive)
{
    for (; alive != 0; alive &= alive - 1) {
        size_t slot = (word * BULK_WORD + (size_t)__builtin_ctzll(alive)) % BULK_RING;
        bloomery_hash hash = {asking->ring.lo[slot], asking->ring.hi[slot]};
        asking->ring.at[line][slot] =
            bloomery_line_of(hash, line, asking->link->blocks) * BLOOMERY_BLOCK_BYTES;
        __builtin_prefetch(asking->payload + asking->ring.at[line][slot]);
    }
}

/* Those of `alive` whose line `line`, asked for a word ago, holds them. */
BULK_INLINE uint64_t BULK_SURVIVORS(const BULK_ASKING *asking, size_t word, uint32_t line,
                                    uint64_t alive)
{
    for (uint64_t left = alive; left != 0; left &= left - 1) {
        size_t slot = (word * BULK_WORD + (size_t)__builtin_ctzll(left)) % BULK_RING;
        if (!BULK_HOLDS(asking->payload + asking->ring.at[line][slot], asking->ring.lo[slot], line,
                        asking->link->probes))
            alive &= ~(left & -left);
    }
    return alive;
}

/* The first lines of a word have been looked at, and `alive` survived. The words before it move on
 * by a line, and the one that has no line left is answered. Words past the end push them out. */
BULK_TARGET static void BULK_PASS(BULK_ASKING *asking, size_t word, uint64_t alive)
{
    const uint32_t lines = asking->link->lines;
    const size_t before = word * BULK_WORD;
    if (asking->count <= before)
        alive = 0;
    else if (asking->count - before < BULK_WORD)
        alive &= ((uint64_t)1 << (asking->count - before)) - 1;
    for (uint32_t line = 0; line < lines && line <= word; line++) {
        const size_t at = word - line;
        if (line > 0)
            alive = BULK_SURVIVORS(asking, at, line, alive);
        if (line + 1 == lines && at * BULK_WORD < asking->count) {
            asking->found += (size_t)__builtin_popcountll(alive);
            if (asking->answers != NULL)
                asking->answers[at] = alive;
        }
        if (line + 1 < lines)
            BULK_FOLLOW(asking, at, line + 1, alive);
        const uint64_t older = asking->alive[line];
        asking->alive[line] = alive;
        alive = older;
    }
}

BULK_INLINE size_t BULK_ASK_SHAPE(const bloomery_filter *filter, const bloomery_key *keys,
                                  size_t count, uint64_t *answers, const bool one_word)
{
    const struct bloomery_link *link = filter->links;
    const uint8_t *payload = link->payload;
    const BULK_START start = BULK_NAME(start)(filter->secret.seed);
    const size_t window = bloomery_bulk_window(link, count);
    const size_t end = (count + BULK_GROUP - 1) / BULK_GROUP * BULK_GROUP;
    const size_t words = (count + BULK_WORD - 1) / BULK_WORD;
    const uint32_t probes = link->probes;
    const uint64_t blocks = link->blocks;
    uint64_t hits = 0;
    BULK_ASKING asking;
    asking.link = link;
    asking.payload = payload;
    asking.answers = answers;
    asking.count = count;
    asking.found = 0;
    memset(asking.alive, 0, sizeof asking.alive);
    for (size_t i = 0; i < end + window; i += BULK_GROUP) {
        if (i < end) {
            BULK_TAKE_KEYS(&asking.ring, &filter->secret, &start, keys, count, i);
            BULK_FIND(&asking.ring, i % BULK_RING, blocks, 0, 1);
        }
        if (i >= BULK_GROUP && i < end + BULK_GROUP)
            BULK_ORDER(payload, &asking.ring, i - BULK_GROUP, 1);
        if (i < window)
            continue;
        const size_t ready = i - window;
        hits |= BULK_TEST(payload, &asking.ring, ready % BULK_RING, probes, one_word)
                << ready % BULK_WORD;
        if (ready % BULK_WORD == BULK_WORD - BULK_GROUP || ready + BULK_GROUP == end) {
            BULK_PASS(&asking, ready / BULK_WORD, hits);
            hits = 0;
        }
    }
    for (uint32_t line = 1; line < link->lines; line++)
        BULK_PASS(&asking, words - 1 + line, 0);
    return asking.found;
}

BULK_TARGET static size_t BULK_ASK(const bloomery_filter *filter, const bloomery_key *keys,
                                   size_t count, uint64_t *answers)
{
    if (filter->links->probes <= BLOOMERY_POSITIONS_PER_WORD)
        return BULK_ASK_SHAPE(filter, keys, count, answers, true);
    return BULK_ASK_SHAPE(filter, keys, count, answers, false);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* The positions of eight keys at `slot`, from number `first` on, `total` of them: to[8 t + j] is
 * position first + t of key j. What is returned is where they begin, for `first` may lie within a
 * word. */
BULK_INLINE const uint64_t *BULK_SPREAD(const BULK_RING_TYPE *ring, size_t slot,
                                        const uint32_t first, const uint32_t total, uint64_t *to)
{
    const uint32_t skip = first % 7;
    for (uint32_t done = 0; done < skip + total; done += 7) {
        uint64_t words[BULK_GROUP] __attribute__((aligned(64)));
        const uint64_t *from = ring->lo + slot;
        const uint32_t left = skip + total - done;
        if (first + done >= 7) {
            BULK_MIX(from, (first + done) / 7 * BLOOMERY_GOLDEN, words);
            from = words;
        }
        BULK_POSITIONS(from, left < 7 ? left : 7, to + (size_t)8 * done);
    }
    return to + (size_t)8 * skip;
}

/* Adds eight keys at `slot`; bit j of the result where key j is new, if that is wanted. */
BULK_INLINE uint32_t BULK_COLLECT(uint8_t *payload, const BULK_RING_TYPE *ring, size_t slot,
                                  const uint64_t *positions, const uint32_t lines,
                                  const uint32_t probes, const bool wanted)
{
    uint32_t fresh = 0;
#pragma GCC unroll 1
    for (uint32_t j = 0; j < BULK_GROUP; j++)
#pragma GCC unroll 3
        for (uint32_t line = 0; line < lines; line++) {
            BULK_LINE bits = BULK_ZERO();
            uint8_t *at = payload + ring->at[line][slot + j];
#pragma GCC unroll 16
            for (uint32_t probe = 0; probe < probes; probe++)
                bits = BULK_SET(bits, positions + (size_t)8 * (line * probes + probe) + j);
            if (wanted)
                fresh |= (uint32_t)BULK_MERGE(at, bits) << j;
            else
                BULK_OR(at, bits);
        }
    return fresh;
}

/* What is added: keys with all their lines, or one line of keys that are hashed already. */
struct BULK_NAME(adding) {
    const struct bloomery_link *link;
    uint8_t *payload;
    const struct bloomery_hash_secret *secret;
    const bloomery_key *keys;    /* or NULL */
    const bloomery_hash *hashes; /* then these */
    size_t count;
    uint64_t *answers;
};

/* Told how many lines and probes, the compiler unrolls the slots. */
BULK_INLINE void BULK_ADD_SHAPE(const struct BULK_NAME(adding) * adding, const uint32_t first_line,
                                const uint32_t lines, const uint32_t probes, const bool hashed,
                                const bool wanted)
{
    const struct bloomery_link *link = adding->link;
    const size_t count = adding->count;
    const BULK_START start = BULK_NAME(start)(hashed ? 0 : adding->secret->seed);
    const size_t window = bloomery_bulk_window(link, count);
    const size_t end = (count + BULK_GROUP - 1) / BULK_GROUP * BULK_GROUP;
    const uint64_t blocks = link->blocks;
    uint64_t positions[BULK_POSITIONS_MOST * BULK_GROUP] __attribute__((aligned(64)));
    uint64_t word = 0;
    BULK_RING_TYPE ring;
    for (size_t i = 0; i < end + window; i += BULK_GROUP) {
        if (i < end) {
            if (hashed)
                BULK_TAKE_DONE(&ring, adding->hashes, count, i);
            else
                BULK_TAKE_KEYS(&ring, adding->secret, &start, adding->keys, count, i);
            BULK_FIND(&ring, i % BULK_RING, blocks, first_line, lines);
        }
        if (i >= BULK_GROUP && i < end + BULK_GROUP)
            BULK_ORDER(adding->payload, &ring, i - BULK_GROUP, lines);
        if (i < window)
            continue;
        const size_t ready = i - window;
        const uint64_t *first =
            BULK_SPREAD(&ring, ready % BULK_RING, first_line * probes, lines * probes, positions);
        __asm__("" : "+m"(positions)); /* see mark_avx512 */
        uint64_t fresh =
            BULK_COLLECT(adding->payload, &ring, ready % BULK_RING, first, lines, probes, wanted);
        if (!wanted)
            continue;
        word |= fresh << ready % BULK_WORD;
        if (ready + BULK_GROUP == end && count % BULK_WORD != 0)
            word &= ((uint64_t)1 << count % BULK_WORD) - 1;
        if (ready % BULK_WORD == BULK_WORD - BULK_GROUP || ready + BULK_GROUP == end) {
            adding->answers[ready / BULK_WORD] = word;
            word = 0;
        }
    }
}

/* The shapes of the usual rates are compiled with their numbers known. */
#define BULK_SHAPES(ROW) \
    ROW(0, 1, 5) ROW(0, 1, 6) ROW(0, 1, 7) ROW(0, 1, 9) ROW(0, 2, 5) ROW(0, 2, 6) ROW(0, 2, 7)
#define BULK_LINE_SHAPES(ROW) \
    ROW(0, 1, 5) ROW(0, 1, 6) ROW(0, 1, 7) ROW(0, 1, 9) ROW(1, 1, 5) ROW(1, 1, 6) ROW(1, 1, 7)

BULK_INLINE void BULK_ADD_ANY(const struct BULK_NAME(adding) * adding, uint32_t first,
                              uint32_t lines, const bool hashed, const bool wanted)
{
    const uint32_t probes = adding->link->probes;
#define BULK_ROW(f, l, k)                                      \
    if (first == (f) && lines == (l) && probes == (k)) {       \
        BULK_ADD_SHAPE(adding, (f), (l), (k), hashed, wanted); \
        return;                                                \
    }
    if (hashed) {
        BULK_LINE_SHAPES(BULK_ROW)
    } else {
        BULK_SHAPES(BULK_ROW)
    }
#undef BULK_ROW
    BULK_ADD_SHAPE(adding, first, lines, probes, hashed, wanted);
}

BULK_TARGET static void BULK_ADD(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                                 uint64_t *answers)
{
    const struct BULK_NAME(adding) adding = {
        .link = filter->links,
        .payload = filter->links->payload,
        .secret = &filter->secret,
        .keys = keys,
        .count = count,
        .answers = answers,
    };
    if (answers != NULL)
        BULK_ADD_ANY(&adding, 0, filter->links->lines, false, true);
    else
        BULK_ADD_ANY(&adding, 0, filter->links->lines, false, false);
}

BULK_TARGET static void BULK_ADD_LINE(bloomery_filter *filter, const bloomery_hash *hashes,
                                      size_t count, uint32_t line)
{
    const struct BULK_NAME(adding) adding = {
        .link = filter->links,
        .payload = filter->links->payload,
        .hashes = hashes,
        .count = count,
    };
    BULK_ADD_ANY(&adding, line, 1, true, false);
}

static const struct bloomery_bulk BULK_NAME(bulk) = {BULK_ASK, BULK_ADD, BULK_ADD_LINE};

#undef BULK_NAME
#undef BULK_TARGET
#undef BULK_INLINE
#undef BULK_START
#undef BULK_HASH
#undef BULK_SPLIT
#undef BULK_OFFSETS
#undef BULK_MIX
#undef BULK_POSITIONS
#undef BULK_MISSES
#undef BULK_HITS
#undef BULK_LINE
#undef BULK_ZERO
#undef BULK_SET
#undef BULK_MERGE
#undef BULK_OR
#undef BULK_SHAPES
#undef BULK_LINE_SHAPES
#undef BULK_RING_TYPE
#undef BULK_ASKING
#undef BULK_FIND
#undef BULK_TAKE_KEYS
#undef BULK_TAKE_DONE
#undef BULK_ORDER
#undef BULK_TEST
#undef BULK_HOLDS
#undef BULK_FOLLOW
#undef BULK_SURVIVORS
#undef BULK_PASS
#undef BULK_ASK_SHAPE
#undef BULK_ASK
#undef BULK_SPREAD
#undef BULK_COLLECT
#undef BULK_ADD_SHAPE
#undef BULK_ADD_ANY
#undef BULK_ADD
#undef BULK_ADD_LINE

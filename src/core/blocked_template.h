/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocked operations for a processor: a template, instantiated by defining before inclusion
 *
 *     TEMPLATE_NAME(name)       the instance's name for a function
 *     TEMPLATE_LABEL            its name for people
 *     TEMPLATE_TARGET           __attribute__((target(...)))
 *     TEMPLATE_HITS(at, word, slots)     whether the positions of a word (core/derive.h) that `slots`
 *                                        picks, bit t for the t-th, are all set in the line at `at`
 *     TEMPLATE_LINE             a type that holds the 512 bits of a line, with
 *     TEMPLATE_ZERO()                    none of them set
 *     TEMPLATE_MARK(line, word, first, count)   slots first to first + count - 1 of a word set too
 *     TEMPLATE_MERGE(at, line)           ORs them into memory; whether some were not set there
 *     TEMPLATE_FRESH(at, line)           how many are not set in memory
 *
 * Which words and slots a line takes depends on k and L only, so the loops take the same turns for
 * every key; they only end early where a key misses.
 */

/* The first `count` slots of a word. */
#define SLOTS(count) ((1u << (count)) - 1)

/* Word `number` of a key's positions. */
static inline __attribute__((always_inline)) uint64_t
TEMPLATE_NAME(position_word)(bloomery_hash hash, uint32_t number)
{
    return number == 0 ? hash.lo : bloomery_mix64(hash.lo + number * BLOOMERY_GOLDEN);
}

/* Whether all positions of a key in its line `line` are set. */
TEMPLATE_TARGET static inline __attribute__((always_inline)) bool
TEMPLATE_NAME(line_hits)(const struct bloomery_link *link, const uint8_t *payload,
                         bloomery_hash hash, uint32_t line)
{
    const uint8_t *at = payload + bloomery_line_of(hash, line, link->blocks) * BLOOMERY_BLOCK_BYTES;
    uint32_t number = line * link->probes / BLOOMERY_POSITIONS_PER_WORD;
    uint32_t used = line * link->probes % BLOOMERY_POSITIONS_PER_WORD; /* slots of that word */
    for (uint32_t need = link->probes; need > 0; number++, used = 0) {
        uint32_t left = BLOOMERY_POSITIONS_PER_WORD - used;
        uint32_t now = need < left ? need : left;
        if (!TEMPLATE_HITS(at, TEMPLATE_NAME(position_word)(hash, number), SLOTS(now) << used))
            return false;
        need -= now;
    }
    return true;
}

TEMPLATE_TARGET static bool TEMPLATE_NAME(may_contain)(const struct bloomery_link *link,
                                                       const uint8_t *payload, bloomery_hash hash)
{
    for (uint32_t line = 0; line < link->lines; line++)
        if (!TEMPLATE_NAME(line_hits)(link, payload, hash, line))
            return false;
    return true;
}

/* The most usual shape, one line and one word: few instructions are what lets a processor work on
 * many keys at once. */
TEMPLATE_TARGET static bool TEMPLATE_NAME(may_contain_word)(const struct bloomery_link *link,
                                                            const uint8_t *payload,
                                                            bloomery_hash hash)
{
    const uint8_t *at = payload + bloomery_fastrange(hash.hi, link->blocks) * BLOOMERY_BLOCK_BYTES;
    return TEMPLATE_HITS(at, hash.lo, SLOTS(link->probes));
}

/* Which of a word of keys have these first slots of their first word set in their first line: not a
 * single branch. With one line and one word that is the answer. */
TEMPLATE_TARGET static inline __attribute__((always_inline)) uint64_t
TEMPLATE_NAME(ask_first_words)(const struct bloomery_link *link, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count, const uint32_t slots)
{
    const uint64_t blocks = link->blocks;
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at =
            payload + bloomery_fastrange(hashes[i].hi, blocks) * BLOOMERY_BLOCK_BYTES;
        answers |= (uint64_t)TEMPLATE_HITS(at, hashes[i].lo, slots) << i;
    }
    return answers;
}

/*
 * Line by line over the whole word: most absent keys end at their first line, so only first lines
 * were prefetched, and the next line is asked for as soon as a key survives the one before. By the
 * time the word comes round to it, it is there. Of the first line the first seven positions come
 * first, without branches, whose outcome nobody could foresee: one absent key in a hundred and
 * twenty-eight gets past them where half of the bits are set.
 */
TEMPLATE_TARGET static uint64_t TEMPLATE_NAME(ask_word)(const struct bloomery_link *link,
                                                        const uint8_t *payload,
                                                        const bloomery_hash *hashes, size_t count)
{
    const bool one_word = link->probes <= BLOOMERY_POSITIONS_PER_WORD;
    uint64_t answers = TEMPLATE_NAME(ask_first_words)(
        link, payload, hashes, count, SLOTS(one_word ? link->probes : BLOOMERY_POSITIONS_PER_WORD));
    if (link->lines == 1 && one_word)
        return answers;
    for (uint32_t line = 0; line < link->lines; line++)
        for (uint64_t left = answers; left != 0; left &= left - 1) {
            const bloomery_hash hash = hashes[__builtin_ctzll(left)];
            if (!TEMPLATE_NAME(line_hits)(link, payload, hash, line))
                answers &= ~(left & -left);
            else if (line + 1 < link->lines)
                __builtin_prefetch(payload + bloomery_line_of(hash, line + 1, link->blocks) *
                                                 BLOOMERY_BLOCK_BYTES);
        }
    return answers;
}

/* Adds line `line` of a key with `probes` positions in each: whether it set new bits, and how many
 * where `fresh` is not NULL. */
TEMPLATE_TARGET static inline __attribute__((always_inline)) bool
TEMPLATE_NAME(set_line)(const struct bloomery_link *link, uint8_t *payload, bloomery_hash hash,
                        uint32_t line, const uint32_t probes, uint64_t *fresh)
{
    uint8_t *at = payload + bloomery_line_of(hash, line, link->blocks) * BLOOMERY_BLOCK_BYTES;
    const uint32_t used = line * probes % BLOOMERY_POSITIONS_PER_WORD; /* slots of the first word */
    const uint32_t left = BLOOMERY_POSITIONS_PER_WORD - used;
    uint32_t number = line * probes / BLOOMERY_POSITIONS_PER_WORD;
    uint32_t done = probes < left ? probes : left;
    TEMPLATE_LINE bits =
        TEMPLATE_MARK(TEMPLATE_ZERO(), TEMPLATE_NAME(position_word)(hash, number), used, done);
#pragma GCC unroll 4
    for (; done < probes; done += BLOOMERY_POSITIONS_PER_WORD) {
        const uint32_t need = probes - done;
        bits =
            TEMPLATE_MARK(bits, TEMPLATE_NAME(position_word)(hash, ++number), 0,
                          need < BLOOMERY_POSITIONS_PER_WORD ? need : BLOOMERY_POSITIONS_PER_WORD);
    }
    if (fresh != NULL)
        *fresh += TEMPLATE_FRESH(at, bits);
    return TEMPLATE_MERGE(at, bits);
}

TEMPLATE_TARGET static inline __attribute__((always_inline)) bool
TEMPLATE_NAME(set)(const struct bloomery_link *link, uint8_t *payload, bloomery_hash hash,
                   const uint32_t lines, const uint32_t probes, uint64_t *fresh)
{
    /* No loop: only so is each line's number known to the compiler where it unrolls its slots. */
    bool new_key = TEMPLATE_NAME(set_line)(link, payload, hash, 0, probes, fresh);
    if (lines > 1)
        new_key |= TEMPLATE_NAME(set_line)(link, payload, hash, 1, probes, fresh);
    if (lines > 2)
        new_key |= TEMPLATE_NAME(set_line)(link, payload, hash, 2, probes, fresh);
    return new_key;
}

TEMPLATE_TARGET static uint32_t TEMPLATE_NAME(add)(const struct bloomery_link *link,
                                                   uint8_t *payload, bloomery_hash hash)
{
    uint64_t fresh = 0;
    TEMPLATE_NAME(set)(link, payload, hash, link->lines, link->probes, &fresh);
    return (uint32_t)fresh;
}

/* Told L and k, and whether new bits are counted, the compiler unrolls lines, words and slots. */
TEMPLATE_TARGET static inline __attribute__((always_inline)) uint64_t
TEMPLATE_NAME(add_shape)(const struct bloomery_link *link, uint8_t *payload,
                         const bloomery_hash *hashes, size_t count, const uint32_t lines,
                         const uint32_t probes, uint64_t *new_bits)
{
    uint64_t answers = 0;
    uint64_t fresh = 0;
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)TEMPLATE_NAME(set)(link, payload, hashes[i], lines, probes,
                                                new_bits != NULL ? &fresh : NULL)
                   << i;
    if (new_bits != NULL)
        *new_bits += fresh;
    return answers;
}

/* The shapes of plans from 1 in 10 to 1 in 100,000: those of plain filters, and of the links of
 * chains, whose rates are lower. */
#define ADD_SHAPES(ROW) \
    ROW(1, 5) ROW(1, 6) ROW(1, 7) ROW(1, 8) ROW(1, 9) ROW(2, 5) ROW(2, 6) ROW(2, 7) ROW(2, 8)

TEMPLATE_TARGET static inline __attribute__((always_inline)) uint64_t
TEMPLATE_NAME(add_any)(const struct bloomery_link *link, uint8_t *payload,
                       const bloomery_hash *hashes, size_t count, uint64_t *new_bits)
{
#define ADD_ROW(l, k)                              \
    if (link->lines == (l) && link->probes == (k)) \
        return TEMPLATE_NAME(add_shape)(link, payload, hashes, count, (l), (k), new_bits);
    ADD_SHAPES(ADD_ROW)
#undef ADD_ROW
    return TEMPLATE_NAME(add_shape)(link, payload, hashes, count, link->lines, link->probes,
                                    new_bits);
}

TEMPLATE_TARGET static uint64_t TEMPLATE_NAME(add_word)(const struct bloomery_link *link,
                                                        uint8_t *payload,
                                                        const bloomery_hash *hashes, size_t count,
                                                        uint64_t *new_bits)
{
    if (new_bits != NULL)
        return TEMPLATE_NAME(add_any)(link, payload, hashes, count, new_bits);
    return TEMPLATE_NAME(add_any)(link, payload, hashes, count, NULL);
}

TEMPLATE_TARGET static void TEMPLATE_NAME(add_line)(const struct bloomery_link *link,
                                                    uint8_t *payload, const bloomery_hash *hashes,
                                                    size_t count, uint32_t line)
{
    if (link->lines == 1) {
        TEMPLATE_NAME(add_word)(link, payload, hashes, count, NULL);
        return;
    }
    for (size_t i = 0; i < count; i++)
        TEMPLATE_NAME(set_line)(link, payload, hashes[i], line, link->probes, NULL);
}

const struct bloomery_operations TEMPLATE_NAME(operations) = {
    .name = TEMPLATE_LABEL,
    .add = TEMPLATE_NAME(add),
    .may_contain = TEMPLATE_NAME(may_contain),
    .may_contain_word = TEMPLATE_NAME(may_contain_word),
    .prefetch_add = bloomery_blocked_prefetch,
    .prefetch_ask = bloomery_blocked_prefetch_first,
    .add_word = TEMPLATE_NAME(add_word),
    .ask_word = TEMPLATE_NAME(ask_word),
    .prefetch_line = bloomery_blocked_prefetch_line,
    .add_line = TEMPLATE_NAME(add_line),
};

#undef SLOTS
#undef ADD_SHAPES
#undef TEMPLATE_NAME
#undef TEMPLATE_LABEL
#undef TEMPLATE_TARGET
#undef TEMPLATE_LINE
#undef TEMPLATE_ZERO
#undef TEMPLATE_MARK
#undef TEMPLATE_MERGE
#undef TEMPLATE_FRESH
#undef TEMPLATE_HITS

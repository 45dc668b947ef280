/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocked operations for a processor: a template, instantiated by defining before inclusion
 *
 *     TEMPLATE_NAME(name)               the instance's name for a function
 *     TEMPLATE_TARGET                   __attribute__((target(...)))
 *     TEMPLATE_LINE                     a type that holds 512 bits, with the functions
 *     TEMPLATE_ZERO()                     none of them set
 *     TEMPLATE_MARK(line, word, first, count)   those of slots first to first + count - 1 set too
 *     TEMPLATE_MERGE(at, line)            ORs them into memory; whether some were not set there
 *     TEMPLATE_FRESH(at, line)            how many are not set in memory
 *     TEMPLATE_HITS(line, word, slots)  whether the positions of a word (core/derive.h) that
 * `slots` picks, bit t for the t-th, are all set in the 64 bytes at `line`
 *
 * Which words and slots a line takes depends on k and L only, not on the key: the loops below take
 * the same turns for every key and cost no branch misses. Where a key misses, they end.
 */

/* The first `count` slots of a word. */
#define SLOTS(count) ((1u << (count)) - 1)

TEMPLATE_TARGET static inline __attribute__((always_inline)) bool
TEMPLATE_NAME(hits)(const struct bloomery_link *link, const uint8_t *payload, bloomery_hash hash)
{
    uint64_t word = hash.lo;
    uint64_t step = BLOOMERY_GOLDEN;
    uint32_t used = 0; /* slots of the word */
    for (uint32_t line = 0; line < link->lines; line++) {
        const uint8_t *at =
            payload + bloomery_line_of(hash, line, link->blocks) * BLOOMERY_BLOCK_BYTES;
        for (uint32_t need = link->probes; need > 0;) {
            if (used == BLOOMERY_POSITIONS_PER_WORD) {
                word = bloomery_mix64(hash.lo + step);
                step += BLOOMERY_GOLDEN;
                used = 0;
            }
            uint32_t left = BLOOMERY_POSITIONS_PER_WORD - used;
            uint32_t now = need < left ? need : left;
            if (!TEMPLATE_HITS(at, word, SLOTS(now) << used))
                return false;
            used += now;
            need -= now;
        }
    }
    return true;
}

TEMPLATE_TARGET static bool TEMPLATE_NAME(may_contain)(const struct bloomery_link *link,
                                                       const uint8_t *payload, bloomery_hash hash)
{
    return TEMPLATE_NAME(hits)(link, payload, hash);
}

TEMPLATE_TARGET static uint64_t TEMPLATE_NAME(ask_word)(const struct bloomery_link *link,
                                                        const uint8_t *payload,
                                                        const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    if (link->lines == 1 && link->probes <= BLOOMERY_POSITIONS_PER_WORD) {
        /* The most usual shape, one line and one word: not a single branch. */
        const uint32_t slots = SLOTS(link->probes);
        const uint64_t blocks = link->blocks;
        for (size_t i = 0; i < count; i++) {
            const uint8_t *at =
                payload + bloomery_fastrange(hashes[i].hi, blocks) * BLOOMERY_BLOCK_BYTES;
            answers |= (uint64_t)TEMPLATE_HITS(at, hashes[i].lo, slots) << i;
        }
        return answers;
    }
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)TEMPLATE_NAME(hits)(link, payload, hashes[i]) << i;
    return answers;
}

/* Adds a key: whether it set new bits, and how many where `fresh` is not NULL. */
TEMPLATE_TARGET static inline __attribute__((always_inline)) bool
TEMPLATE_NAME(set)(const struct bloomery_link *link, uint8_t *payload, bloomery_hash hash,
                   uint64_t *fresh)
{
    uint64_t word = hash.lo;
    uint64_t step = BLOOMERY_GOLDEN;
    uint32_t used = 0;
    bool new_key = false;
    for (uint32_t line = 0; line < link->lines; line++) {
        uint8_t *at = payload + bloomery_line_of(hash, line, link->blocks) * BLOOMERY_BLOCK_BYTES;
        TEMPLATE_LINE bits = TEMPLATE_ZERO();
        for (uint32_t need = link->probes; need > 0;) {
            if (used == BLOOMERY_POSITIONS_PER_WORD) {
                word = bloomery_mix64(hash.lo + step);
                step += BLOOMERY_GOLDEN;
                used = 0;
            }
            uint32_t left = BLOOMERY_POSITIONS_PER_WORD - used;
            uint32_t now = need < left ? need : left;
            bits = TEMPLATE_MARK(bits, word, used, now);
            used += now;
            need -= now;
        }
        if (fresh != NULL)
            *fresh += TEMPLATE_FRESH(at, bits);
        new_key |= TEMPLATE_MERGE(at, bits);
    }
    return new_key;
}

TEMPLATE_TARGET static uint32_t TEMPLATE_NAME(add)(const struct bloomery_link *link,
                                                   uint8_t *payload, bloomery_hash hash)
{
    uint64_t fresh = 0;
    TEMPLATE_NAME(set)(link, payload, hash, &fresh);
    return (uint32_t)fresh;
}

TEMPLATE_TARGET static uint64_t TEMPLATE_NAME(add_word)(const struct bloomery_link *link,
                                                        uint8_t *payload,
                                                        const bloomery_hash *hashes, size_t count,
                                                        uint64_t *new_bits)
{
    uint64_t answers = 0;
    if (new_bits != NULL) {
        for (size_t i = 0; i < count; i++)
            answers |= (uint64_t)TEMPLATE_NAME(set)(link, payload, hashes[i], new_bits) << i;
        return answers;
    }
    if (link->lines == 1 && link->probes <= BLOOMERY_POSITIONS_PER_WORD) {
        const uint64_t blocks = link->blocks;
        const uint32_t probes = link->probes;
        for (size_t i = 0; i < count; i++) {
            uint8_t *at = payload + bloomery_fastrange(hashes[i].hi, blocks) * BLOOMERY_BLOCK_BYTES;
            TEMPLATE_LINE bits = TEMPLATE_MARK(TEMPLATE_ZERO(), hashes[i].lo, 0, probes);
            answers |= (uint64_t)TEMPLATE_MERGE(at, bits) << i;
        }
        return answers;
    }
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)TEMPLATE_NAME(set)(link, payload, hashes[i], NULL) << i;
    return answers;
}

const struct bloomery_operations TEMPLATE_NAME(operations) = {
    .name = TEMPLATE_LABEL,
    .add = TEMPLATE_NAME(add),
    .may_contain = TEMPLATE_NAME(may_contain),
    .prefetch = bloomery_blocked_prefetch,
    .add_word = TEMPLATE_NAME(add_word),
    .ask_word = TEMPLATE_NAME(ask_word),
};

#undef SLOTS
#undef TEMPLATE_NAME
#undef TEMPLATE_LABEL
#undef TEMPLATE_TARGET
#undef TEMPLATE_LINE
#undef TEMPLATE_ZERO
#undef TEMPLATE_MARK
#undef TEMPLATE_MERGE
#undef TEMPLATE_FRESH
#undef TEMPLATE_HITS

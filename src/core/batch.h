/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch functions of the scalar operations, the same for every kind: a template, instantiated
 * by defining before inclusion
 *
 *     BATCH_NAME(name)      the kind's name for a function
 *     BATCH_ADD             uint32_t (link, payload, hash): newly set bits
 *     BATCH_TEST            bool (link, payload, hash)
 *     BATCH_PREFETCH        void (link, payload, hash): asks for the memory that the key touches
 *
 * While one key is handled, memory for one further on is on its way.
 */

enum { BATCH_NAME(ahead) = 32 };

static void BATCH_NAME(add_batch)(const struct bloomery_link *link, uint8_t *payload,
                                  const bloomery_hash *hashes, size_t count, uint64_t *answers,
                                  uint64_t *new_bits)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count && i < BATCH_NAME(ahead); i++)
        BATCH_PREFETCH(link, payload, hashes[i]);
    for (size_t first = 0; first < count; first += 64) {
        size_t last = count - first < 64 ? count : first + 64;
        uint64_t word = 0;
        for (size_t i = first; i < last; i++) {
            if (i + BATCH_NAME(ahead) < count)
                BATCH_PREFETCH(link, payload, hashes[i + BATCH_NAME(ahead)]);
            uint32_t set = BATCH_ADD(link, payload, hashes[i]);
            total += set;
            word |= (uint64_t)(set > 0) << (i - first);
        }
        if (answers != NULL)
            answers[first / 64] = word;
    }
    *new_bits = total;
}

static size_t BATCH_NAME(may_contain_batch)(const struct bloomery_link *link,
                                            const uint8_t *payload, const bloomery_hash *hashes,
                                            size_t count, uint64_t *answers)
{
    size_t found = 0;
    for (size_t i = 0; i < count && i < BATCH_NAME(ahead); i++)
        BATCH_PREFETCH(link, payload, hashes[i]);
    for (size_t first = 0; first < count; first += 64) {
        size_t last = count - first < 64 ? count : first + 64;
        uint64_t word = 0;
        for (size_t i = first; i < last; i++) {
            if (i + BATCH_NAME(ahead) < count)
                BATCH_PREFETCH(link, payload, hashes[i + BATCH_NAME(ahead)]);
            word |= (uint64_t)BATCH_TEST(link, payload, hashes[i]) << (i - first);
        }
        found += (size_t)__builtin_popcountll(word);
        if (answers != NULL)
            answers[first / 64] = word;
    }
    return found;
}

#undef BATCH_NAME
#undef BATCH_ADD
#undef BATCH_TEST
#undef BATCH_PREFETCH

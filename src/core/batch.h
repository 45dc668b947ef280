/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word functions of the scalar operations, the same for every kind: a template, instantiated by
 * defining before inclusion
 *
 *     BATCH_NAME(name)      the name for a function
 *     BATCH_ADD             uint32_t (link, payload, hash): newly set bits
 *     BATCH_TEST            bool (link, payload, hash)
 */

static uint64_t BATCH_NAME(add_word)(const struct bloomery_link *link, uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count, uint64_t *new_bits)
{
    uint64_t answers = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = BATCH_ADD(link, payload, hashes[i]);
        total += set;
        answers |= (uint64_t)(set > 0) << i;
    }
    if (new_bits != NULL)
        *new_bits += total;
    return answers;
}

static uint64_t BATCH_NAME(ask_word)(const struct bloomery_link *link, const uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)BATCH_TEST(link, payload, hashes[i]) << i;
    return answers;
}

#undef BATCH_NAME
#undef BATCH_ADD
#undef BATCH_TEST

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalar operations of a kind, plain or atomic: a template, instantiated by defining before
 * inclusion
 *
 *     BATCH_NAME(name)   the instance's name for a function
 *     BATCH_SET          a bit setter, and
 *     BATCH_TEST         a bit test of base/bits.h
 *
 * in a file that has
 *
 *     uint32_t add_with(setter, layer, payload, hash)    adds; how many bits were newly set
 *     bool test_with(test, layer, payload, hash)
 */

static uint32_t BATCH_NAME(add)(const struct bloomery_layer *layer, uint8_t *payload,
                                bloomery_hash hash)
{
    return add_with(BATCH_SET, layer, payload, hash);
}

static bool BATCH_NAME(may_contain)(const struct bloomery_layer *layer, const uint8_t *payload,
                                    bloomery_hash hash)
{
    return test_with(BATCH_TEST, layer, payload, hash);
}

static uint64_t BATCH_NAME(add_word)(const struct bloomery_layer *layer, uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count, uint64_t *new_bits)
{
    uint64_t answers = 0;
    uint64_t total = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++) {
        uint32_t set = add_with(BATCH_SET, layer, payload, hashes[i]);
        assert(set <= layer->probes);
        total += set;
        answers |= (uint64_t)(set > 0) << i;
    }
    if (new_bits != NULL)
        *new_bits += total;
    return answers;
}

static uint64_t BATCH_NAME(query_word)(const struct bloomery_layer *layer, const uint8_t *payload,
                                       const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)test_with(BATCH_TEST, layer, payload, hashes[i]) << i;
    return answers;
}

#undef BATCH_NAME
#undef BATCH_SET
#undef BATCH_TEST

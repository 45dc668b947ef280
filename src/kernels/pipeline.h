/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is walked as a rolling window of words of 64 keys:
 *
 *     keys     | word 0 | word 1 | word 2 | word 3 | ...
 *                 visit            hash, prefetch
 *                   └── AHEAD words ──┘
 *
 * When a word is visited, the memory of the next two is on its way and that of the third is being
 * requested. That is 128 to 192 keys in flight, enough to keep a core's memory busy. The flow never
 * stops between words, as it would if a chunk were prefetched and then consumed. Hashes wait in a
 * small ring in the first-level cache.
 */
#ifndef BLOOMERY_KERNELS_PIPELINE_H
#define BLOOMERY_KERNELS_PIPELINE_H

#include "kernels/input.h"

#include <assert.h>

enum { BLOOMERY_WORD = 64, BLOOMERY_WORDS_AHEAD = 2, BLOOMERY_RING = 4 };

/* Called for each word in order, with its number and its 1 to 64 hashes. */
typedef void bloomery_word_visitor(void *context, size_t word, const bloomery_hash *hashes,
                                   size_t count);

static inline size_t bloomery_word_count(size_t keys, size_t word)
{
    assert(word * BLOOMERY_WORD < keys);
    return keys - word * BLOOMERY_WORD < BLOOMERY_WORD ? keys - word * BLOOMERY_WORD
                                                       : BLOOMERY_WORD;
}

/* What will be touched of all layers: older ones are queried before a key is added to the
 * newest. */
static inline __attribute__((always_inline)) void
bloomery_pipeline_prefetch(const bloomery_filter *filter, const bloomery_hash *hashes, size_t count,
                           bool adding)
{
    const uint32_t layers = bloomery_queried_layers(filter);
    for (uint32_t i = layers; i-- > 0;) {
        const struct bloomery_layer *layer = &filter->layers[i];
        if (adding && i == layers - 1)
            filter->operations->prefetch_add(layer, layer->payload, hashes, count);
        else
            filter->operations->prefetch_query(layer, layer->payload, hashes, count);
    }
}

static inline __attribute__((always_inline)) void
bloomery_pipeline(const bloomery_filter *filter, const struct bloomery_input *keys, size_t count,
                  bool adding, bloomery_word_visitor *visit, void *context)
{
    const size_t words = count / BLOOMERY_WORD + (count % BLOOMERY_WORD != 0);
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    bloomery_hash ring[BLOOMERY_RING][BLOOMERY_WORD];
    for (size_t word = 0; word < words + BLOOMERY_WORDS_AHEAD; word++) {
        if (word < words) {
            const size_t now = bloomery_word_count(count, word);
            bloomery_hash *hashes = ring[word % BLOOMERY_RING];
            hash_keys(keys, filter, word * BLOOMERY_WORD, now, hashes);
            bloomery_pipeline_prefetch(filter, hashes, now, adding);
        }
        if (word >= BLOOMERY_WORDS_AHEAD && word - BLOOMERY_WORDS_AHEAD < words) {
            const size_t ready = word - BLOOMERY_WORDS_AHEAD;
            visit(context, ready, ring[ready % BLOOMERY_RING], bloomery_word_count(count, ready));
        }
    }
}

#endif /* BLOOMERY_KERNELS_PIPELINE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Near-duplicates: documents that share most of their words with an earlier one, found with a
 * filter in place of an index.
 *
 * A document becomes a set of shingles, runs of a few words. Its signature has some hundred values
 * and equals that of another document in about the share of values that is the Jaccard similarity
 * of the two sets (MinHash). A signature is cut into bands. Two documents that have one band in
 * common, all of its values, are taken for near-duplicates. Bands are keys of one filter:
 *
 *     words      the cat sat on the mat and slept
 *     shingles   the cat sat on | cat sat on the | sat on the mat | on the mat and | ...
 *     signature  7 19 4 | 88 2 31 | 5 5 60 | 12 9 77                         12 values, 4 bands
 *     keys       (0; 7 19 4)  (1; 88 2 31)  (2; 5 5 60)  (3; 12 9 77)
 *
 *     bloomery_near near = BLOOMERY_NEAR;
 *     near.threshold = 0.8;
 *     near.documents = 1000000;
 *     status = bloomery_near_plan(&near, &error);           bands, rows, keys, key_rate, bytes
 *     filter = bloomery_new(near.keys, near.key_rate, &error);
 *     hasher = bloomery_new(0, 0.5, &error);                XXH3-64 with seed 0
 *     for each document:
 *         words = bloomery_keys_of_list(list, count);
 *         status = bloomery_signature_of(&near, hasher, &words, signature, &error);
 *         keys = bloomery_bands_of(&near, signature, room);
 *         status = bloomery_may_contain_keys(filter, &keys, NULL, &counts, &error);
 *         if (counts.positive == 0)
 *             status = bloomery_add_keys(filter, &keys, NULL, &counts, &error);
 *
 * docs/near.md has the mathematics and what was measured. 'bloomery dedupe --near' makes the same
 * keys of the same words.
 *
 * Threads, ownership, errors, structs and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_NEAR_H
#define BLOOMERY_NEAR_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most values of a signature, and the most words of a shingle. */
#define BLOOMERY_NEAR_VALUES_MAX 1024u
#define BLOOMERY_NEAR_WORDS_MAX  64u

/* How near-duplicates are found. */
typedef struct bloomery_near {
    size_t struct_bytes; /* sizeof(bloomery_near), or 0 */
    /* What the caller asks for. Planning leaves these fields as they are. */
    double threshold; /* the similarity from which documents should be found: above 0, below 1 */
    /* The rate at which a document that resembles none is found all the same, by chance of the
     * filter, once that has all documents. Above 0, below 1; 0: 1e-5. */
    double rate;
    uint64_t documents; /* that the filter will have; 0: no filter is planned */
    /* What a document above the threshold that is not found costs; one below it that is found costs
     * the rest of 1. Above 0, below 1; 0: 0.7. */
    double miss_weight;
    uint32_t permutations; /* values of a signature, up to BLOOMERY_NEAR_VALUES_MAX; 0: 128 */
    uint32_t shingle;      /* words of a shingle, up to BLOOMERY_NEAR_WORDS_MAX; 0: 5 */
    /* Numbers that the plan is forced to have, both or neither (0). Their product is at most the
     * number of values. */
    uint32_t forced_bands, forced_rows;
    /* What follows from it. */
    uint32_t values; /* of a signature */
    uint32_t words;  /* of a shingle */
    uint32_t bands, rows;
    /* The filter: its keys, a band of each document; the rate that it must have with all of them;
     * and the memory of a blocked one, as bloomery_plan_solve plans it. */
    uint64_t keys;
    double key_rate;
    uint64_t bytes;
} bloomery_near;

#define BLOOMERY_NEAR BLOOMERY_SIZED(bloomery_near)

/*
 * Plans how near-duplicates are found: fills the lower fields of `near`.
 *
 * Bands and rows (the values of a band) are those with the least error
 *
 *     (1 - miss_weight) * area under the curve below the threshold
 *     + miss_weight * area above the curve from the threshold on
 *
 * among all whose product is at most the number of values; the curve is that of bloomery_near_rate
 * without the filter's part. Of equal errors the one with fewer rows counts. BLOOMERY_BAD_ARGUMENT,
 * with what would be right, for a field out of its range, if only one of forced_bands and
 * forced_rows is given, or if no filter can have these keys at this rate. On failure `near`
 * is unchanged. Some ms; allocates nothing; any thread.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_near_plan(bloomery_near *near, bloomery_error *error);

/*
 * Returns the probability that a document is found that has this Jaccard similarity with one
 * document of the filter, and none with the others:
 *
 *     1 - (1 - similarity^rows)^bands * (1 - key_rate)^bands
 *
 * At 0 it is `rate`: found by the filter's chance alone. A similarity outside 0 to 1 counts as the
 * nearer of the two. 1 if `near` was not planned.
 */
BLOOMERY_PUBLIC double bloomery_near_rate(const bloomery_near *near, double similarity);

/*
 * Returns the similarity at which as many bands are expected to be found, (bands / all)^(1 / rows):
 * a rough estimate for a document of which `bands` were. 0 for none, 1 for all or more, and if
 * `near` was not planned.
 */
BLOOMERY_PUBLIC double bloomery_near_similarity(const bloomery_near *near, uint32_t bands);

/*
 * Makes the signature of a document from its words: near->values numbers. `words` has them in their
 * order and in any form; hashes stand for words that `hasher` hashed before (bloomery_hash_keys).
 * A word that does not exist (`valid`) is passed over.
 *
 * Words are hashed as keys of `hasher` are. Only signatures whose hashers have one hash, one seed
 * and one secret can be compared. One with XXH3-64 and seed 0 makes those of other programs: an
 * empty filter, bloomery_new(0, 0.5, &error). One with a secret keeps others from choosing texts
 * with the bands of a text that they do not resemble.
 *
 * A shingle is near->words words in a row; fewer words are one shingle. How often a shingle occurs
 * makes no difference. A document of no words is not like any other: its values are all UINT32_MAX,
 * and its bands should be neither looked up nor added.
 *
 * BLOOMERY_BAD_ARGUMENT if `near` was not planned, or if the struct of the words or a word is
 * wrong (error->offset is its number). BLOOMERY_UNSUPPORTED if `hasher` is a filter of another
 * system; else as bloomery_hash_keys. Time: some 10 ns a word; and for a document of fewer words
 * than values up to 5 us with 128 values and up to 50 us with 1024, growing as values^1.5. 32 KiB
 * of stack; allocates nothing; any thread.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_signature_of(const bloomery_near *near,
                                                      const bloomery_filter *hasher,
                                                      const bloomery_keys *words,
                                                      uint32_t *signature, bloomery_error *error);

/* The bytes that bloomery_bands_of writes. */
static inline size_t bloomery_bands_bytes(const bloomery_near *near)
{
    return (size_t)near->bands * 4 * (1 + (size_t)near->rows);
}

/*
 * Cuts a signature into bands, and returns them as keys of a filter: near->bands keys of
 * 4 + 4 * near->rows bytes. A key is the number of its band, from 0 on, and the band's values, each
 * as 4 bytes, the least significant one first. Values that are left over belong to no band. The
 * keys are in `room`, which must have bloomery_bands_bytes(near) bytes and stay while they are
 * used. No keys if `near` was not planned. Allocates nothing; any thread.
 */
BLOOMERY_PUBLIC bloomery_keys bloomery_bands_of(const bloomery_near *near,
                                                const uint32_t *signature, void *room);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_NEAR_H */

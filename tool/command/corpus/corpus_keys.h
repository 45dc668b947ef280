/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of the paragraphs of a chunk, made in batches. One thread's.
 *
 *     tool_corpus_keys_begin(keys);
 *     for each paragraph:
 *         tool_corpus_keys_take(keys, &weighed, content, bytes, escaped);
 *     tool_corpus_keys_flush(keys);
 *     ... keys->adding is added; then of each paragraph:
 *     seen = tool_corpus_keys_seen(keys, &weighed);
 */
#ifndef BLOOMERY_TOOL_CORPUS_KEYS_H
#define BLOOMERY_TOOL_CORPUS_KEYS_H

#include "command/corpus/unit.h"
#include "command/dedupe/adder.h"
#include "key/word_breaks.h"

/* A paragraph's keys: a document's or a paragraph's own one, or n-grams. */
struct tool_weighed {
    uint64_t first; /* of those that are added, which are different ones */
    uint32_t count; /* of these */
    uint32_t keys;  /* all of them, repeats included */
    uint32_t known; /* of these, those that are in another filter */
};

enum { TOOL_CORPUS_BATCH = 1024 };

struct tool_corpus_keys {
    const struct tool_judge *judge;
    struct tool_adding adding;
    uint32_t *weights; /* how many keys of its paragraph each one added stands for */
    size_t weight_room;

    /* The batch. `of[i]` is the place of key i's paragraph behind `paragraphs`, which may move. */
    bloomery_key batch[TOOL_CORPUS_BATCH];
    struct tool_weighed *of[TOOL_CORPUS_BATCH];
    bloomery_hash hashes[TOOL_CORPUS_BATCH];
    size_t count;
    unsigned char *arena; /* the keys that are no spans of their lines */
    size_t arena_used, arena_room;

    struct tool_words words;
    struct tool_twin *twins; /* the n-grams of this paragraph, by their hashes */
    size_t twin_room;        /* a power of two */
    uint32_t stamp;          /* of this paragraph's twins */
};

struct tool_corpus_keys *tool_corpus_keys_new(const struct tool_judge *judge);
void tool_corpus_keys_free(struct tool_corpus_keys *keys);

/* Forgets the keys of the last chunk. */
void tool_corpus_keys_begin(struct tool_corpus_keys *keys);

/* Makes the keys of a text, which may have escapes. `weighed` is filled when they are flushed. */
void tool_corpus_keys_take(struct tool_corpus_keys *keys, struct tool_weighed *weighed,
                           const unsigned char *text, size_t bytes, bool escaped);
void tool_corpus_keys_flush(struct tool_corpus_keys *keys);

/* After the adding: how many of a paragraph's keys were seen. */
uint32_t tool_corpus_keys_seen(const struct tool_corpus_keys *keys,
                               const struct tool_weighed *weighed);

#endif /* BLOOMERY_TOOL_CORPUS_KEYS_H */

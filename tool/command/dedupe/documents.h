/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document's text as it stands in its line of JSON, escapes and all, cut into paragraphs.
 * raw_text.c has the rules. Nothing is written, and every byte that stays is the one that was read.
 */
#ifndef BLOOMERY_TOOL_COMMAND_DEDUPE_DOCUMENTS_H
#define BLOOMERY_TOOL_COMMAND_DEDUPE_DOCUMENTS_H

#include "command/dedupe/seen.h"
#include "input/chunks.h"
#include "input/json_line.h"
#include "key/rule.h"
#include "key/words.h"

#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Unit ------------------------------------------------------------------------------------ */

/* What of a corpus is compared, and by which keys. */

enum tool_unit { TOOL_UNIT_NONE, TOOL_UNIT_DOCUMENT, TOOL_UNIT_PARAGRAPH, TOOL_UNIT_NGRAM };

enum { TOOL_THRESHOLD_ONE = 1000000 };

/* How documents are judged. The same for all threads, which only read it. */
struct tool_judge {
    enum tool_unit unit;
    uint32_t ngram;       /* words */
    uint32_t min_words;   /* of a text or paragraph that is compared; fewer: it stays */
    uint32_t threshold;   /* the share of n-grams seen that is too much, in millionths */
    const char *annotate; /* the name of the member that is added to lines; NULL: texts are cut */
    const struct tool_json_path *member; /* where lines have it already; NULL with `annotate` */
    bool invert;                         /* what goes is written, and not what stays */
    bool no_add;                         /* nothing is added to what was seen */
    uint32_t shard, shards; /* only keys of this shard are judged; shards = 0: all are */
    const struct tool_json_path *path;
    bloomery_key_rule rule;
    const bloomery_filter *filter;      /* whose hashes are made */
    const struct tool_against *against; /* whose keys count as seen */
    size_t against_count;
};

/* Where a text is read; begins with `at` at its first byte. */
struct tool_raw_text {
    const unsigned char *at, *end;
};

/* The bytes between two quotes: [begin, next paragraph's begin). */
struct tool_raw_paragraph {
    const unsigned char *begin;
    const unsigned char *content, *content_end; /* its first line that is not blank, without its
                                                   line end */
    bool escaped;                               /* the content has a backslash */
    bool ends_line;                             /* a line end follows the content */
};

/* The next paragraph; false if no further line has anything but white space. */
bool tool_raw_paragraph_next(struct tool_raw_text *text, struct tool_raw_paragraph *paragraph);

/* How many code points these bytes stand for. Of bytes that are no UTF-8, those count that could
 * begin a character. */
uint64_t tool_raw_code_points(const unsigned char *from, const unsigned char *end);

/* ---- Corpus keys ----------------------------------------------------------------------------- */

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

/* ---- Documents ------------------------------------------------------------------------------- */

/*
 * The documents of a chunk: read, judged, and written again without what was seen. One thread's.
 *
 *     tool_documents_read(documents, chunk);
 *     ... documents->keys->adding is added ...
 *     tool_documents_judge(documents, count);
 *     ... documents->output[0 .. output_bytes) ...
 */

/* The sums of documents that were judged. */
struct tool_corpus_counts {
    uint64_t documents, bytes; /* all lines */
    uint64_t without_text;     /* of these */
    uint64_t dropped, changed; /* with --annotate: that would be */
    uint64_t paragraphs, cut;  /* cut ones include those of dropped documents */
    uint64_t keys, seen;
    uint64_t removed_bytes; /* of lines */
    /* Paragraphs kept that were i + 1 n-grams short of the threshold, each times the number of ways
     * in which so many of its new n-grams can be taken for old ones. */
    double short_by[4];
};

void tool_corpus_counts_add(struct tool_corpus_counts *into, const struct tool_corpus_counts *from);

struct tool_document;
struct tool_paragraph;

struct tool_documents {
    const struct tool_judge *judge;
    struct tool_corpus_keys *keys;
    struct tool_tally tally; /* lines that are no JSON */

    struct tool_document *documents;
    size_t count, room;
    struct tool_paragraph *paragraphs;
    size_t paragraph_count, paragraph_room;

    unsigned char *output;
    size_t output_bytes, output_room;
    struct tool_corpus_counts counts;
    uint64_t texts;   /* documents that were read and have a text */
    uint64_t clashes; /* of these, those that have a member `annotate` already */
};

struct tool_documents *tool_documents_new(const struct tool_judge *judge);
void tool_documents_free(struct tool_documents *documents);

/* Reads all documents of a chunk, and makes their keys. */
void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk);

/* How many keys a paragraph of the chunk has, repeats included. */
uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph);

/* How many documents have all their keys among the first that were answered. */
size_t tool_documents_answered(const struct tool_documents *documents);

/* Judges the first `count` documents, counts them and writes what stays of them to `output`. */
void tool_documents_judge(struct tool_documents *documents, size_t count);

#endif /* BLOOMERY_TOOL_COMMAND_DEDUPE_DOCUMENTS_H */

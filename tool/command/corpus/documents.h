/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a chunk: read, judged, and written again without what was seen. One thread's.
 *
 *     tool_documents_read(documents, chunk);
 *     ... documents->keys->adding is added ...
 *     tool_documents_judge(documents, count);
 *     ... documents->output[0 .. output_bytes) ...
 */
#ifndef BLOOMERY_TOOL_DOCUMENTS_H
#define BLOOMERY_TOOL_DOCUMENTS_H

#include "command/corpus/corpus_keys.h"
#include "input/chunks.h"

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

#endif /* BLOOMERY_TOOL_DOCUMENTS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a chunk: read, judged, and written again without what was seen. One thread's.
 * documents.c holds the essays.
 *
 *     tool_documents_read(documents, chunk);
 *     ... documents->adding is added ...
 *     tool_documents_judge(documents, count);
 *     ... documents->output[0 .. output_bytes) ...
 */
#ifndef BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H
#define BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H

#include "command/dedupe/seen.h"
#include "input/chunks.h"
#include "input/layout.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>
#include <bloomery/near.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- How documents are judged ---------------------------------------------------------------- */

/* What is compared. As --unit names them, in this order. */
enum tool_compared {
    TOOL_COMPARED_LINES = -1,
    TOOL_COMPARED_DOCUMENTS,
    TOOL_COMPARED_PARAGRAPHS,
    TOOL_COMPARED_NGRAMS
};

enum { TOOL_THRESHOLD_ONE = 1000000 };

/* The same for all threads, which only read it. */
struct tool_judge {
    enum tool_compared unit; /* not lines */
    uint32_t ngram;          /* words */
    uint32_t min_words;      /* of a text or paragraph that is compared; fewer: it stays */
    uint32_t threshold;      /* the share of n-grams seen that is too much, in millionths */
    const char *annotate; /* the name of the member that is added to lines; NULL: texts are cut */
    const struct tool_json_path *member; /* where lines have it already; NULL with `annotate` */
    bool invert;                         /* what goes is written, and not what stays */
    bool no_add;                         /* nothing is added to what was seen */
    uint32_t shard, shards;        /* only keys of this shard are judged; shards = 0: all are */
    const bloomery_near *near;     /* documents are compared by bands of signatures; NULL: whole */
    const bloomery_filter *hasher; /* that hashes their words */
    bool add_all;                  /* bands of dropped documents are added too */
    const struct tool_json_path *path;
    bloomery_key_rule rule;
    const bloomery_filter *filter;      /* whose hashes are made */
    const struct tool_against *against; /* whose keys count as seen */
    size_t against_count;
};

/* The sums of records that were judged, lines or documents. Those of the lower half are of
 * documents alone. */
struct tool_dedupe_counts {
    uint64_t records;     /* lines, without headers; or documents */
    uint64_t without_key; /* of these, kept: lines without a key, documents without a text */
    uint64_t dropped;     /* with --annotate: that would be */

    uint64_t changed;         /* with --annotate: that would be */
    uint64_t bytes;           /* of all lines */
    uint64_t paragraphs, cut; /* cut ones include those of dropped documents */
    uint64_t keys, seen;
    uint64_t removed_bytes; /* of lines */
    /* Paragraphs kept that were i + 1 n-grams short of the threshold, each times the number of ways
     * in which i + 1 of its new n-grams can be taken for old ones. */
    double short_by[4];
};

void tool_dedupe_counts_add(struct tool_dedupe_counts *into, const struct tool_dedupe_counts *from);

/* ---- Documents ------------------------------------------------------------------------------- */

struct tool_documents {
    const struct tool_judge *judge;
    struct tool_adding adding; /* the keys of the chunk */
    struct tool_tally tally;   /* lines that are not JSON */

    struct tool_document *documents;
    size_t count, room;
    struct tool_paragraph *paragraphs;
    size_t paragraph_count, paragraph_room;
    struct tool_document_keys *keys; /* those that wait to be hashed */

    unsigned char *output;
    size_t output_bytes, output_room;
    struct tool_dedupe_counts counts;
    uint64_t texts;   /* documents that were read and have a text */
    uint64_t clashes; /* of these, those that have a member `annotate` already */
};

struct tool_documents *tool_documents_new(const struct tool_judge *judge);
void tool_documents_free(struct tool_documents *documents);

/* Reads all documents of a chunk, and makes their keys. */
void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk);

/* How many keys a paragraph of the chunk has, repeats included. */
uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph);

/* Judges the documents that have all their keys among the first that were answered, counts them,
 * and writes what stays of them to `output`. */
void tool_documents_judge(struct tool_documents *documents);

#endif /* BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H */

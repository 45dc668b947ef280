/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is compared in texts: whole texts, paragraphs, n-grams, or bands of signatures. One thread's
 * texts are read, judged by the answers for their keys, and cut. units.c holds the essays.
 *
 *     tool_units_begin(units);
 *     for each text: tool_units_read(units, text, bytes, escaped, &judged[i]);
 *     tool_units_end(units);
 *     ... tool_seen_add(seen, units->adding.hashes, ...), in the order of the input ...
 *     for each text: dropped = tool_units_judge(units, &judged[i]);
 *
 * Files of this room are compiled into the command and into the Python extension: they print
 * nothing, and return false if memory is exhausted.
 */
#ifndef BLOOMERY_TOOL_UNITS_H
#define BLOOMERY_TOOL_UNITS_H

#include "units/seen.h"

#include <bloomery/bloomery.h>
#include <bloomery/near.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- How texts are judged -------------------------------------------------------------------- */

/* What is compared. As --unit names them, in this order. */
enum tool_compared {
    TOOL_COMPARED_LINES = -1,
    TOOL_COMPARED_DOCUMENTS,
    TOOL_COMPARED_PARAGRAPHS,
    TOOL_COMPARED_NGRAMS
};

enum {
    TOOL_THRESHOLD_ONE = 1000000,
    TOOL_THRESHOLD_DEFAULT = 800000,
    TOOL_NGRAM_DEFAULT = 13, /* words */
    TOOL_NGRAM_MAX = 1000,
};

/* An n-gram that is seen wrongly rarely decides about a paragraph. */
#define TOOL_NGRAM_RATE 1e-4
/* The rate of other keys. */
#define TOOL_KEY_RATE 1e-6

struct tool_judge_lines;

/* The same for all threads, which only read it. */
struct tool_judge {
    enum tool_compared unit; /* not lines */
    uint32_t ngram;          /* words */
    uint32_t min_words;      /* of a text or paragraph that is compared; fewer: it stays */
    uint32_t threshold;      /* the share of n-grams seen that is too much, in millionths */
    bool no_add;             /* nothing is added to what was seen */
    uint32_t shard, shards;  /* only keys of this shard are judged; shards = 0: all are */
    bool (*is_elsewhere)(const struct tool_judge *judge, bloomery_key key); /* then: of another */
    const bloomery_near *near;     /* documents are compared by bands of signatures; NULL: whole */
    const bloomery_filter *hasher; /* that hashes their words */
    bool add_all;                  /* bands of dropped documents are added too */
    bloomery_key_rule rule;
    const bloomery_filter *filter;      /* whose hashes are made */
    const struct tool_against *against; /* whose keys count as seen */
    size_t against_count;
    /* Texts are the insides of JSON strings, and this makes plain text of them, which is no longer.
     * NULL: they are plain. */
    size_t (*unescape)(const unsigned char *from, size_t bytes, unsigned char *to);
    const struct tool_judge_lines *lines; /* the command's own: where texts lie in lines */
};

/* What a filter of such keys has as its note: this, and what they are. */
#define TOOL_CORPUS_NOTE "keys of a corpus: "
enum { TOOL_JUDGE_NOTE_BYTES = 128 };
void tool_judge_note(const struct tool_judge *judge, char note[TOOL_JUDGE_NOTE_BYTES]);

/* Whether words are split, for which tool_words_load has to be called before. */
bool tool_judge_needs_words(const struct tool_judge *judge);

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

/* The removals among these that are expected to be wrong. */
double tool_judge_wrong(const struct tool_judge *judge, const struct tool_dedupe_counts *counts,
                        const struct tool_seen *seen);

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A paragraph's keys: a document's or a paragraph's own one, or n-grams. */
struct tool_weighed {
    uint64_t first;   /* of those that are added, which are different ones */
    uint32_t count;   /* of these */
    uint32_t keys;    /* all of them, repeats included */
    uint32_t known;   /* of these, those that are in another filter */
    uint32_t against; /* the first such filter that was found, from 1 on; 0: none */
};

/* Where it lies in its text: [begin, next paragraph's begin). */
struct tool_paragraph_place {
    const unsigned char *begin;
    const unsigned char *content, *content_end; /* its first line that is not blank, without its
                                                   line end */
    bool escaped;                               /* the content has a backslash */
    bool ends_line;                             /* a line end follows the content */
};

struct tool_paragraph {
    struct tool_paragraph_place place;
    struct tool_weighed weighed;
    /* Once it is judged. */
    uint32_t seen;
    bool cut;
};

/* A text that was read. */
struct tool_judged {
    const unsigned char *begin, *end; /* NULL: it has none */
    size_t first, count;              /* its paragraphs; a whole text is one */
};

/* One thread's. */
struct tool_units {
    const struct tool_judge *judge;
    struct tool_adding adding; /* the keys of the texts since _begin */
    struct tool_paragraph *paragraphs;
    size_t paragraph_count, paragraph_room;
    struct tool_unit_keys *keys;      /* those that wait to be hashed */
    struct tool_dedupe_counts counts; /* of all that were judged */
    size_t missing;                   /* bytes that could not be had; 0: none */
};

/* NULL if memory is exhausted. */
struct tool_units *tool_units_new(const struct tool_judge *judge);
void tool_units_free(struct tool_units *units);

/* Forgets the texts and keys before. */
void tool_units_begin(struct tool_units *units);

/* Reads a text, which has to stay, and makes its keys. `escaped`: it has a backslash that the judge
 * unescapes. */
bool tool_units_read(struct tool_units *units, const unsigned char *text, size_t bytes,
                     bool escaped, struct tool_judged *judged);

/* After the last one: units->adding has all keys. */
bool tool_units_end(struct tool_units *units);

/* Whether a text has all its keys among the first that were answered. */
bool tool_units_are_answered(const struct tool_units *units, const struct tool_judged *judged);

/* Decides which paragraphs are cut, and counts them. Returns whether the whole text goes. */
bool tool_units_judge(struct tool_units *units, const struct tool_judged *judged);

/* What goes with a paragraph that was cut, and what stays with one that was not: from where to
 * where. */
const unsigned char *tool_units_begin_of(const struct tool_units *units,
                                         const struct tool_judged *judged, size_t paragraph);
const unsigned char *tool_units_end_of(const struct tool_units *units,
                                       const struct tool_judged *judged, size_t paragraph);

/* The number of code points that stand between two places of a text. */
uint64_t tool_units_code_points(const struct tool_judge *judge, const unsigned char *from,
                                const unsigned char *end);

#endif /* BLOOMERY_TOOL_UNITS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a chunk: read, judged, and written again without what was seen. One thread's.
 * documents.c holds the essays.
 *
 *     tool_documents_read(documents, chunk);
 *     ... documents->units->adding is added ...
 *     tool_documents_judge(documents, input, first_line);
 *     ... documents->output ...
 */
#ifndef BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H
#define BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H

#include "input/chunks.h"
#include "input/layout.h"
#include "key/rule.h"
#include "units/units.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- How documents are judged ---------------------------------------------------------------- */

/* Where texts lie in lines, and what becomes of these: the command's part of how it judges. */
struct tool_judge_lines {
    const struct tool_json_path *paths; /* of a document's texts, in the order of the options */
    size_t path_count;
    const char *paths_said; /* as messages name them */
    const char *annotate;   /* the name of the member that is added to lines; NULL: texts are cut */
    const struct tool_json_path *member; /* where lines have it already; NULL with `annotate` */
    bool invert;                         /* what goes is written, and not what stays */
    const struct tool_json_path
        *id; /* names a document in the lines about what is removed; NULL: no
                                        such lines are made */
    size_t
        of_lists; /* of the filters compared against, from 1 on, the one with several lists' keys;
                        0: there is none */
};

/* Whether a key is another machine's to judge: for tool_judge.is_elsewhere. */
bool tool_key_is_elsewhere(const struct tool_judge *judge, bloomery_key key);

/* ---- Documents ------------------------------------------------------------------------------- */

/* Bytes that are written one behind the other. */
struct tool_bytes {
    unsigned char *data;
    size_t count, room;
};

struct tool_documents {
    const struct tool_judge *judge;
    struct tool_units *units; /* with the keys of the chunk, and the counts */
    struct tool_tally tally;  /* lines that are not JSON */

    struct tool_document *documents;
    size_t count, room;
    struct tool_part *parts; /* the texts of all of them */
    size_t part_count, part_room;
    unsigned char **joined; /* whole texts that are made of several */
    size_t joined_count, joined_room;

    struct tool_bytes output;
    struct tool_bytes removed; /* lines about what is removed */
    const char *input;         /* the one of the chunk */
    struct tool_bytes place;   /* that, as the beginning of each such line */
    uint64_t texts;            /* documents that were read and have a text */
    uint64_t clashes;          /* of these, those that have a member `annotate` already */
};

struct tool_documents *tool_documents_new(const struct tool_judge *judge);
void tool_documents_free(struct tool_documents *documents);

/* Reads all documents of a chunk, and makes their keys. */
void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk);

/* How many keys a paragraph of the chunk has, repeats included. */
uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph);

/* Judges the documents that have all their keys among the first that were answered, counts them,
 * and writes what stays of them to `output`. `first_line`: of the chunk in its input, from 1 on;
 * both are only looked at if lines about what is removed are made. */
void tool_documents_judge(struct tool_documents *documents, const char *input, uint64_t first_line);

#endif /* BLOOMERY_TOOL_DEDUPE_DOCUMENTS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* What a corpus will take, by a sample of it. corpus_size.c holds the essay. */
#ifndef BLOOMERY_TOOL_CORPUS_SIZE_H
#define BLOOMERY_TOOL_CORPUS_SIZE_H

#include "command/corpus/documents.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOOL_SIZE_KEYS = 64 }; /* of a paragraph, by which they are told apart */

struct tool_corpus_size {
    bool known;   /* all inputs are files, and so can be sampled */
    bool whole;   /* the sample has all documents of up to 64 MiB */
    double bytes; /* of all inputs, unpacked */
    double documents, paragraphs, keys;
    double different; /* keys; rather too many than too few */
    double seconds;   /* of one thread, without packing and unpacking */

    uint64_t sampled_bytes, sampled_documents;
    uint64_t sampled_texts; /* documents among them that have a text */
    /* Of the sampled paragraphs, how many have so many keys: the last place counts all above. */
    uint64_t paragraphs_of[TOOL_SIZE_KEYS + 1];
};

/* Reads a sample of the inputs. An input that can't be read counts as empty. */
void tool_corpus_size_get(const struct tool_judge *judge, const struct tool_source *source,
                          struct tool_corpus_size *size);

/* The removals of paragraphs that are expected to be wrong when a filter has this rate, averaged
 * over the filling. */
double tool_corpus_size_wrong(const struct tool_judge *judge, const struct tool_corpus_size *size,
                              double rate);

#endif /* BLOOMERY_TOOL_CORPUS_SIZE_H */

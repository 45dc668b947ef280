/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of inputs: the lines at places that are spread over them, and how many distinct keys the
 * whole has, of lines or of documents. sample.c holds the essays.
 *
 *     struct tool_places places = {.delimiter = '\n', .place_bytes = ..., .line_room = ...,
 *                                  .take = take, .context = ...};
 *     tool_places_read(&places, file, from, bytes, 64);       take() calls tool_places_hash
 *     distinct = tool_places_distinct(&places, all_bytes / sampled_bytes);
 *     tool_places_free(&places);
 */
#ifndef BLOOMERY_TOOL_DEDUPE_SAMPLE_H
#define BLOOMERY_TOOL_DEDUPE_SAMPLE_H

#include "base/random.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the keys to plan for by a sample with this many distinct keys of `all`. If not all was
 * read they are at least a few, since small layers that follow each other cost more than they
 * save. */
double tool_keys_of_sample(double distinct, double all, bool whole);

struct tool_places {
    unsigned char delimiter;
    size_t place_bytes; /* the lines that begin in these bytes belong to a place */
    size_t line_room;   /* bytes of a place with its last line; a longer line is left out */
    /* Takes the whole lines of a place, the last of which has its delimiter. */
    void (*take)(void *context, const unsigned char *from, size_t bytes);
    void *context;

    bool partly; /* some bytes of the inputs were not sampled */

    unsigned char *buffer; /* `capacity` + 1 */
    size_t capacity;
    struct tool_random disorder; /* where the next places lie */
    uint64_t *hashes; /* of each place its distinct ones, and those of the place that is taken */
    size_t count, room;
};

/* Reads at most `most` places of [from, from + bytes) of a file, which are all of it if it is that
 * small. */
void tool_places_read(struct tool_places *places, int file, uint64_t from, uint64_t bytes,
                      size_t most);

/* The buffer, with room for this many bytes. */
unsigned char *tool_places_buffer(struct tool_places *places, size_t bytes);

/* Takes the lines of the buffer that begin in its first `place` bytes, if they end in `bytes`.
 * `ended`: nothing follows. */
void tool_places_take(struct tool_places *places, size_t place, size_t bytes, bool ended);

/* Adds hashes of 64 bits (XXH3-64) of the keys of the place that is taken. */
void tool_places_hash(struct tool_places *places, const bloomery_hash *hashes, size_t count);

/* Returns the estimate of the distinct keys of a whole that is `whole` times the sample. `least`,
 * if not NULL, receives one that is rather too low. */
double tool_places_distinct(struct tool_places *places, double whole, double *least);

void tool_places_free(struct tool_places *places);

/* ---- Of lines -------------------------------------------------------------------------------- */

/* How many records and distinct keys inputs will have, before they are read. */

struct tool_estimate {
    double records;
    double distinct; /* keys; rather too many than too few */
    double least;    /* the same, rather too few than too many */
    bool whole;      /* all was read, so these are exact */
};

/*
 * Estimates what a source has, whose layout is set, from the sizes of its files and a sample.
 * False if one of them is not a plain file whose size is known: a pipe, or packed. A file that
 * can't be opened counts as empty; reading it says why.
 */
bool tool_estimate_keys(const struct tool_source *source, const bloomery_key_rule *rule,
                        struct tool_estimate *estimate);

/* The share of lines that come again up to which a filter is made for all of them. */
#define TOOL_HARDLY_REPEATED 0.01

/* Whether there are more than `least` lines, whole ones are keys, and of a smaller sample hardly
 * any comes again. False too where tool_estimate_keys is. */
bool tool_lines_seem_different(const struct tool_source *source, const bloomery_key_rule *rule,
                               uint64_t least);

/* ---- Of documents ---------------------------------------------------------------------------- */

/* What a corpus will take, by a sample of it. */

enum { TOOL_SIZE_KEYS = 64 }; /* of a paragraph, which identify it */

struct tool_corpus_size {
    bool known;   /* all inputs are files, and so can be sampled */
    bool whole;   /* the sample has all documents of up to 64 MiB */
    double bytes; /* of all inputs, unpacked */
    double documents, paragraphs, keys;
    double different; /* keys; rather too many than too few */
    double seconds;   /* of one thread, without packing and unpacking */

    uint64_t sampled_bytes, sampled_documents;
    uint64_t sampled_texts; /* documents among them that have a text */
    /* Of the sampled paragraphs, how many have i keys: the last place counts all above. */
    uint64_t paragraphs_of[TOOL_SIZE_KEYS + 1];
};

struct tool_judge;

/* Reads a sample of the inputs. An input that can't be read counts as empty. */
void tool_corpus_size_get(const struct tool_judge *judge, const struct tool_source *source,
                          struct tool_corpus_size *size);

/* The keys that a filter is made for: some more than there are different ones. */
enum { TOOL_CORPUS_KEYS_MIN = 1024 };
uint64_t tool_corpus_size_keys(const struct tool_corpus_size *size);

/* The removals of paragraphs that are expected to be wrong when a filter has this rate, averaged
 * over the filling. */
double tool_corpus_size_wrong(const struct tool_judge *judge, const struct tool_corpus_size *size,
                              double rate);

#endif /* BLOOMERY_TOOL_DEDUPE_SAMPLE_H */

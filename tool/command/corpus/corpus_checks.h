/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a run over a corpus, if something is, in words. */
#ifndef BLOOMERY_TOOL_CORPUS_CHECKS_H
#define BLOOMERY_TOOL_CORPUS_CHECKS_H

#include "command/corpus/corpus_size.h"
#include "command/corpus/unit.h"
#include "input/input.h"

/* A filter of a corpus says in its note what its keys are; one of lines says nothing. False after a
 * message if these are other keys than `note` says. */
bool tool_corpus_note_fits(const char *note, const char *path, const bloomery_filter *filter);

/* The same of all filters of --against, and their rules. One that says nothing is taken with a
 * notice, unless `quiet`. */
bool tool_corpus_againsts_fit(const struct tool_judge *judge, const char *note, bool quiet);

/* Whether all inputs can be opened and are no directories. False after a message. */
bool tool_corpus_inputs_are_there(const struct tool_source *source);

/* No document has a text: says so, and what the first line of this file has (NULL: none is looked
 * at). Returns false. */
bool tool_corpus_say_no_text(const struct tool_judge *judge, const char *path);

/* The sample has no text: says what that may come from. Returns false. */
bool tool_corpus_say_no_sample(const struct tool_judge *judge, const struct tool_corpus_size *size,
                               const char *path);

/* Documents have the member that --annotate adds. Returns false. */
bool tool_corpus_say_clash(const struct tool_judge *judge);

#endif /* BLOOMERY_TOOL_CORPUS_CHECKS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the outputs of inputs go in --output-dir: by the name of the input. If two inputs have one
 * name, all keep their folders below those that they share.
 *
 *     in/a.jsonl in/b.jsonl                   out/a.jsonl out/b.jsonl
 *     in/en/000.jsonl.gz in/fr/000.jsonl.gz   out/en/000.jsonl.gz out/fr/000.jsonl.gz
 */
#ifndef BLOOMERY_TOOL_OUTPUT_NAMES_H
#define BLOOMERY_TOOL_OUTPUT_NAMES_H

#include "command/corpus/journal.h"
#include "input/input.h"

struct tool_output_names {
    const char *directory;
    bool folders;  /* inputs keep theirs */
    size_t shared; /* but for these, which they share */
};

/* Chooses by all inputs of a run, also those that other shards take. */
void tool_output_names_choose(struct tool_output_names *names, const char *directory,
                              const struct tool_source *all);

/* Returns the name of an input's output within the directory, which the caller frees. */
char *tool_output_name(const struct tool_output_names *names, const char *input);

/* Makes the folders of an output. False after a message. */
bool tool_output_folders_make(const struct tool_output_names *names, const char *name);

/* Whether no two inputs have one output. False after a message. */
bool tool_output_names_differ(const struct tool_output_names *names,
                              const struct tool_source *source);

/* Whether an output takes the place of no input and no other file. False after a message. */
bool tool_output_is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                         const char *input);

#endif /* BLOOMERY_TOOL_OUTPUT_NAMES_H */

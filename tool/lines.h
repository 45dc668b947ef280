/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with all lines of a source, by several threads: they are counted, or added. */
#ifndef BLOOMERY_TOOL_LINES_H
#define BLOOMERY_TOOL_LINES_H

#include "input.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

/* How many records the source holds, read in a pass of its own. False after a printed message: on
 * failure, or where the source can't be read twice (stdin, a pipe); `why_pipe` is then the hint
 * that is printed after the input's name. */
bool tool_lines_count(const struct tool_source *source, const char *why_pipe, bool quiet,
                      uint64_t *records);

/* What adding did to a filter. It is read off the bits, and so the same however many threads were
 * at work: in what order keys come, and with it which of two equal ones is the new one, is chance
 * among threads. */
struct tool_change {
    uint64_t records;
    uint64_t new_bits;         /* set now and not before: exact */
    double estimated_new_keys; /* different keys now less those before; infinity where all bits are
                                  set */
    bloomery_info info;        /* of the filter afterwards, scanned */
};

/* Adds all records to a filter, which messages call `name`, with progress ("adding") unless quiet.
 * False after a printed message; the filter may then hold some of them. */
bool tool_lines_add(const struct tool_source *source, bloomery_filter *filter, const char *name,
                    const char *verb, bool quiet, uint64_t *records);

/* Looks at the filter before (`before` is scanned, or all zeros for an empty filter) and after. */
void tool_change_find(const bloomery_info *before, const bloomery_filter *filter, uint64_t records,
                      struct tool_change *change);

#endif /* BLOOMERY_TOOL_LINES_H */

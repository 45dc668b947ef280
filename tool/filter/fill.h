/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with all lines of a source, by several threads: they are counted, added, or hashed
 * for a filter to come. */
#ifndef BLOOMERY_TOOL_FILL_H
#define BLOOMERY_TOOL_FILL_H

#include "filter/files.h"
#include "filter/hasher.h"
#include "input/input.h"
#include "key/rule.h"

#include <bloomery/builder.h>

#include <stdbool.h>
#include <stdint.h>

/* How many keys the source holds, read in a pass of its own. False after a printed message: on
 * failure, or if the source can't be read twice (stdin, a pipe). `why_pipe` is then the hint that
 * is printed after the input's name. */
bool tool_lines_count(const struct tool_source *source, const bloomery_key_rule *rule,
                      const char *why_pipe, bool quiet, uint64_t *keys);

/* How many distinct keys it holds at most, read in a pass of its own: see
 * tool_hasher_different_keys. False, without a message, if that pass fails, or if a second one
 * would cost more than it is worth. */
bool tool_lines_distinct(const struct tool_source *source, const bloomery_key_rule *rule,
                         bool quiet, uint64_t *keys);

/* The bytes of inputs that are read twice: fewer take little memory in any case, and more do not
 * stay in the system's. */
bool tool_lines_are_read_twice(const struct tool_source *source,
                               struct tool_second_reading *second);

/* What adding did to a filter. It is computed from the bits, and so the same however many threads
 * were at work. Among threads the order of keys is chance, and so is which of two equal ones is the
 * new one. */
struct tool_change {
    uint64_t records;          /* that were added: those with a key */
    uint64_t passed_over;      /* those without */
    uint64_t headers;          /* of these, the first lines that name fields */
    uint64_t new_bits;         /* set now and not before: exact */
    double estimated_new_keys; /* different keys now less those before; infinity where all bits are
                                  set */
    struct tool_facts facts;   /* of the filter afterwards */
};

/* Adds the keys of all records to a filter, which messages call `name`, with progress ("adding")
 * unless quiet. Fills `records` and `passed_over` of the change. False after a printed message; the
 * filter may then hold some of them. */
bool tool_lines_add(const struct tool_source *source, const bloomery_key_rule *rule,
                    bloomery_filter *filter, const char *name, const char *verb, bool quiet,
                    struct tool_change *change);

/* Hashes the keys of all records, with progress ("reading") unless quiet; the hasher is open. Fills
 * `records` and `passed_over` of the change. False after a printed message. */
bool tool_lines_hash(const struct tool_source *source, const bloomery_key_rule *rule,
                     struct tool_hasher *hasher, bool quiet, struct tool_change *change);

/* The same inputs once more, when there is a filter: adds the keys that were hashed, with progress
 * ("building") unless quiet. What there is to say of the records was said then. `change` is what
 * was found then. False after a printed message, also if there are other records now. */
bool tool_lines_add_again(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                          bloomery_filter *filter, const char *name, bool quiet,
                          const struct tool_change *change);

/* How many lines the inputs have, each of which is a key, with progress ("counting") unless quiet.
 * False, without a message, if they can't be read. */
bool tool_lines_count_whole(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                            bool quiet, uint64_t *count);

/* Adds them as tool_lines_add, "building". False too, after a message, if they are not `count`. */
bool tool_lines_add_counted(const struct tool_second_reading *second, const bloomery_key_rule *rule,
                            bloomery_filter *filter, const char *name, uint64_t count, bool quiet,
                            struct tool_change *change);

/* Adds the keys of all records to a builder of a static filter, with progress ("reading") unless
 * quiet. Fills `records` and `passed_over` of the change. False after a printed message. */
bool tool_lines_build(const struct tool_source *source, const bloomery_key_rule *rule,
                      bloomery_builder *builder, bool quiet, struct tool_change *change);

/* Compares the filter with what it was: `before`, which is all zeros for an empty filter. The
 * change knows its records already. */
void tool_change_find(const bloomery_scan_result *before, const bloomery_filter *filter,
                      struct tool_change *change);

#endif /* BLOOMERY_TOOL_FILL_H */

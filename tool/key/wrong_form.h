/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query that finds nothing, or no more than chance explains, often has the right keys in a wrong
 * form: digests in lower case where the list has upper case, lines that end in carriage returns,
 * the text of numbers that another program hashed as eight bytes. Some of the first keys are kept,
 * and queried again in other forms. Only if the filter has the keys in another form is there a
 * hint.
 */
#ifndef BLOOMERY_TOOL_KEY_WRONG_FORM_H
#define BLOOMERY_TOOL_KEY_WRONG_FORM_H
#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_hint;

/* Never NULL. */
struct tool_hint *tool_hint_new(void);
void tool_hint_free(struct tool_hint *hint);

/* Keeps those of these keys that are short enough, while there is room. One thread at a time. */
void tool_hint_keep(struct tool_hint *hint, const bloomery_key *keys, size_t count);

/* What the filter answered to all keys. */
struct tool_hint_answer {
    const char *name; /* of the filter */
    uint64_t hits, queried;
    bool optional; /* the user may give the options for keys; if not, only letters are looked at */
};

/* Queries the filter for the kept keys in other forms. Prints a line if it may have more of them
 * than chance explains, and had no more of the keys as they were. */
void tool_hint_say(const struct tool_hint *hint, const bloomery_filter *filter,
                   const struct tool_hint_answer *answer);

#endif /* BLOOMERY_TOOL_KEY_WRONG_FORM_H */

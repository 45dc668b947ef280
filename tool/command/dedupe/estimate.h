/* SPDX-License-Identifier: Apache-2.0 */
/* How many records and distinct keys inputs will have, before they are read. */
#ifndef BLOOMERY_TOOL_ESTIMATE_H
#define BLOOMERY_TOOL_ESTIMATE_H

#include "key/rule.h"

#include <stdbool.h>

struct tool_estimate {
    double records;
    double distinct; /* keys; rather too many than too few */
    bool whole;      /* all was read, so both are exact */
};

/*
 * Estimates what a source has, whose layout is set, from the sizes of its files and a sample.
 * False if one of them is not a plain file whose size is known: a pipe, or packed. A file that
 * can't be opened counts as empty; reading it says why.
 */
bool tool_estimate_keys(const struct tool_source *source, const bloomery_key_rule *rule,
                        struct tool_estimate *estimate);

#endif /* BLOOMERY_TOOL_ESTIMATE_H */

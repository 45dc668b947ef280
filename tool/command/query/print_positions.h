/* SPDX-License-Identifier: Apache-2.0 */
/* The bits of keys: `query --positions`. */
#ifndef BLOOMERY_TOOL_PRINT_POSITIONS_H
#define BLOOMERY_TOOL_PRINT_POSITIONS_H

#include "base/out.h"
#include "input/input.h"
#include "key/rule.h"

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line for each key by this rule, in a chain one for each layer: the positions, separated by
 * blanks, a tab, and the record. `asked` becomes the number of keys. False after a message. */
bool tool_positions_of_keys(const bloomery_filter *filter, const bloomery_key_rule *rule,
                            const char *const *keys, size_t count, unsigned char delimiter,
                            struct tool_out *out, uint64_t *queried);
bool tool_positions_of_source(const bloomery_filter *filter, const bloomery_key_rule *rule,
                              const struct tool_source *source, struct tool_out *out,
                              uint64_t *queried);

#endif /* BLOOMERY_TOOL_PRINT_POSITIONS_H */

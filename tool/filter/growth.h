/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of scalable filters: those that a filter has, and those that it will have. */
#ifndef BLOOMERY_TOOL_GROWTH_H
#define BLOOMERY_TOOL_GROWTH_H

#include "base/report.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

/* Whether a chain of this plan can ever hold so many keys. Prints how many it can where not. */
bool tool_growth_reaches(const bloomery_plan *plan, uint64_t keys);

/* The layers that a chain of this plan will have with `keys` keys, and what they take together:
 * "layers" in JSON, and a table. */
void tool_growth_report(struct tool_report *report, const bloomery_plan *plan, uint64_t keys);

/* The layers of a filter, as they are: in JSON, and as a table of the text. */
void tool_layers_list(struct tool_report *report, const char *name, const bloomery_filter *filter);
void tool_layers_table(struct tool_report *report, const bloomery_filter *filter);

#endif /* BLOOMERY_TOOL_GROWTH_H */

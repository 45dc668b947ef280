/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that write filters report of them. */
#ifndef BLOOMERY_TOOL_FILTER_REPORT_H
#define BLOOMERY_TOOL_FILTER_REPORT_H

#include "base/report.h"
#include "filter/fill.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

/* Facts for JSON alone: size, plan and state of a filter that was scanned, by the names `inspect`
 * has for them. */
void tool_report_filter(struct tool_report *report, const struct tool_facts *facts);

/* What `build` and `add` report of a filter that they wrote, by the names `inspect` has for it. */
void tool_report_change(struct tool_report *report, const char *file,
                        const struct tool_change *change);

enum { TOOL_ROOM_BYTES = 160 };

/* Describes the room of a small filter, whose block takes more keys than planned at the rate that
 * was asked for: "; it has room for ...". Empty for any other filter. Returns `text`. */
const char *tool_describe_room(char text[TOOL_ROOM_BYTES], const bloomery_info *info);

/* ---- Layers ---------------------------------------------------------------------------------- */

/* The layers of scalable filters: those that a filter has, and those that it will have. */

/* Returns whether a chain of this plan can ever hold `keys` keys. If not, prints how many. */
bool tool_growth_reaches(const bloomery_plan *plan, uint64_t keys);

/* The layers that a chain of this plan will have with `keys` keys, and what they take together:
 * "layers" in JSON, and a table. */
void tool_growth_report(struct tool_report *report, const bloomery_plan *plan, uint64_t keys);

/* The layers of a filter, as they are: in JSON, and as a table of the text. */
void tool_layers_list(struct tool_report *report, const char *name, const bloomery_filter *filter);
void tool_layers_table(struct tool_report *report, const bloomery_filter *filter);

#endif /* BLOOMERY_TOOL_FILTER_REPORT_H */

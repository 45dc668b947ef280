/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter is, and what its cells say. Reports need both. */
#ifndef BLOOMERY_TOOL_FACTS_H
#define BLOOMERY_TOOL_FACTS_H

#include <bloomery/bloomery.h>

struct tool_facts {
    bloomery_info info;
    bloomery_scan_result scan;
};

/* Reads all cells. */
static inline void tool_facts_read(const bloomery_filter *filter, struct tool_facts *facts)
{
    facts->info = (bloomery_info)BLOOMERY_INFO;
    facts->scan = (bloomery_scan_result)BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &facts->info);
    bloomery_scan(filter, &facts->scan);
}

#endif /* BLOOMERY_TOOL_FACTS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `inspect` and its findings, for text (cmd_inspect.c) and JSON (inspect_json.c). */
#ifndef BLOOMERY_TOOL_INSPECT_H
#define BLOOMERY_TOOL_INSPECT_H

#include "base/statistics.h"
#include "command/inspect/canary.h"
#include "filter/filter_file.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stdint.h>

struct tool_inspection {
    const char *path;
    const char *secret_file;
    struct tool_dialect_choice dialect;
    struct tool_rule_choice choice; /* of another system's file, which keeps no rule */
    const char *canary;             /* a file of keys, or NULL */
    uint64_t measure;               /* how many keys, 0: do not */
    uint64_t seed;
    bool verify;
    bool json;
};

/* The findings, for text and JSON alike. */
struct tool_findings {
    const bloomery_filter *filter;
    struct tool_origin origin;
    const bloomery_dialect *dialect; /* of the filter; NULL: our own */
    bloomery_info info;
    bloomery_scan_result scan;
    bool verified, intact;
    bloomery_error damage;
    bool measured;
    uint64_t hits;
    struct tool_interval interval;
    bool hits_plausible; /* measured agrees with live */
    bool enough_queries; /* for a measured rate that says something */
    bool over_full;      /* more keys than planned */
    bool too_high;       /* live above planned without that excuse */
    bool part_full;      /* clearly fewer keys than planned, and so a better rate */
    bool above_planned;  /* live above planned, for whatever reason and by however little */
    struct tool_canaries canaries;
};

/* Whether there is anything that makes it exit with 1. */
bool tool_findings_any(const struct tool_findings *report);

/* Whether it is damaged, or measured and found wrong. */
bool tool_findings_fault(const struct tool_findings *report);

/* Prints all as text; the exit code. */
int tool_inspect_text(const struct tool_inspection *request, const struct tool_findings *report);

/* Prints all as one object; the exit code. */
int tool_inspect_json(const struct tool_inspection *request, const struct tool_findings *report);

#endif /* BLOOMERY_TOOL_INSPECT_H */

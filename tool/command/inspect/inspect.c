/* SPDX-License-Identifier: Apache-2.0 */
#include "command/inspect/inspect.h"

bool tool_findings_fault(const struct tool_findings *report)
{
    bool measured_wrong =
        report->measured && (!report->hits_plausible || report->over_full || report->too_high);
    return (report->verified && !report->intact) || measured_wrong;
}

bool tool_findings_any(const struct tool_findings *report)
{
    return tool_findings_fault(report) || report->canaries.hits > 0;
}

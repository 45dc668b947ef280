/* SPDX-License-Identifier: Apache-2.0 */
/* The experiment's findings, as a table for people and as JSON. */
#ifndef BLOOMERY_LINEAGE_EXPERIMENT_REPORT_H
#define BLOOMERY_LINEAGE_EXPERIMENT_REPORT_H

#include "experiment.h"

/* Prints all trials that were requested. Returns the exit code: TOOL_NONE if one of them is a
 * finding, TOOL_ERROR after a message. */
int tool_experiment_text(const struct tool_experiment *experiment,
                         const struct tool_results *results);
int tool_experiment_json(const struct tool_experiment *experiment,
                         const struct tool_results *results);

#endif /* BLOOMERY_LINEAGE_EXPERIMENT_REPORT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* plan --table: rates over bits per key and probes. */
#ifndef BLOOMERY_TOOL_RATE_TABLES_H
#define BLOOMERY_TOOL_RATE_TABLES_H

#include <stdbool.h>

/* Prints a table, "classic" or "clickhouse", and returns the exit code: TOOL_ERROR after a message
 * if the name is unknown. */
int tool_rate_table(const char *name, bool json);

#endif /* BLOOMERY_TOOL_RATE_TABLES_H */

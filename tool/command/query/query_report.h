/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a query: what was found, what chance explains, and hints at what went wrong. */
#ifndef BLOOMERY_TOOL_QUERY_REPORT_H
#define BLOOMERY_TOOL_QUERY_REPORT_H

#include "command/query/query_run.h"

#include <stdbool.h>

/* Messages after all queries. False if some could not be answered. `confirmed_by`: the name of the
 * file that confirms; NULL: none. */
bool tool_query_say_rest(struct tool_question *question, const char *confirmed_by);

/* Prints the counts, and how many false positives are to be expected among them, as one JSON object
 * on stdout. Returns `code`, or TOOL_ERROR after a message. */
int tool_query_print_json(struct tool_question *question, const char *confirmed_by, bool all_read,
                          int code);

/* Prints the counts of -c on stdout. */
void tool_query_print_counts(struct tool_question *question);

#endif /* BLOOMERY_TOOL_QUERY_REPORT_H */

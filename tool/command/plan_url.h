/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan --url: a plan as the address of the explorer's calculator,
 *
 *     PAGE?n=KEYS&p=RATE&m=BITS&k=PROBES#calculator
 *
 * What was not given is empty, and the calculator computes it. Behind k= come kind=, if it is not
 * the one that `build` makes, and L=, if the blocks per key were given.
 */
#ifndef BLOOMERY_TOOL_PLAN_URL_H
#define BLOOMERY_TOOL_PLAN_URL_H

#include "command/plan_rows.h"

#include <stdbool.h>

/* Whether the address has a place for all that is wanted. False after a message. */
bool tool_plan_url_takes(const struct tool_plan_wish *wish);

/* Prints the address and returns the exit code. */
int tool_plan_url(const struct tool_plan_wish *wish);

#endif /* BLOOMERY_TOOL_PLAN_URL_H */

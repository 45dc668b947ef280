/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct, valid 12-digit identification numbers of an invented population, the input of the
 * lineage experiment. ids.c tells how they are built and why they never repeat.
 */
#ifndef BLOOMERY_TOOL_IDS_H
#define BLOOMERY_TOOL_IDS_H

#include <stddef.h>
#include <stdint.h>

enum { TOOL_ID_DIGITS = 12 };

struct tool_ids;

/* The largest population that can follow the table of ages: beyond it some day of birth would need
 * more numbers than it has. */
uint64_t tool_ids_maximum(void);

/* A population of `count` people, 1 to tool_ids_maximum(). NULL: not enough memory. */
struct tool_ids *tool_ids_make(uint64_t count, uint64_t seed);
void tool_ids_free(struct tool_ids *ids);

/* The next 1 to `most` people, twelve digits each without anything between them; 0 after the last.
 * Two people of one population never have the same digits. */
size_t tool_ids_next(struct tool_ids *ids, size_t most, char *digits);

#endif /* BLOOMERY_TOOL_IDS_H */

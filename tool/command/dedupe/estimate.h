/* SPDX-License-Identifier: Apache-2.0 */
/* How many records inputs will have, before they are read. */
#ifndef BLOOMERY_TOOL_ESTIMATE_H
#define BLOOMERY_TOOL_ESTIMATE_H

#include "input/input.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Adds to `records` an estimate of those of a source. It uses the sizes of its files and the mean
 * length of the records in a sample. False if one of them is no plain file whose size is known: a
 * pipe, or packed. A file that can't be opened counts as empty; reading it says why.
 */
bool tool_estimate_records(const struct tool_source *source, uint64_t *records);

#endif /* BLOOMERY_TOOL_ESTIMATE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* What putting filters together and comparing them have in common. */
#ifndef BLOOMERY_MERGE_H
#define BLOOMERY_MERGE_H

#include "core/cells.h"
#include "core/filter.h"

/* Stretches that pass over the stack: small enough for a first-level cache, two at a time. */
enum { BLOOMERY_STRETCH = 4096 };

/* How often the larger one of two sizes must be halved to be the smaller one; false if it can't
 * be. */
bool bloomery_folds_between(uint64_t larger, uint64_t smaller, uint32_t *folds);

/* The cells of a plain filter at a size that it folds to. */
struct bloomery_cells bloomery_cells_at(const struct bloomery_filter *filter, uint64_t bits);

#endif

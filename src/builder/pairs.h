/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes, 16 bytes each, in the order in which a layer of a static filter takes them. */
#ifndef BLOOMERY_BUILDER_PAIRS_H
#define BLOOMERY_BUILDER_PAIRS_H

#include <bloomery/bloomery.h>

/* Sorts by x of layer `layer` (kinds/static.h), then by lo, in place. All have the same first `same`
 * bits of x, which are not looked at. */
void bloomery_pairs_sort(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t same);

/* Of sorted hashes, moves one of each to the front; how many they are. */
size_t bloomery_pairs_distinct(bloomery_hash *hashes, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with counters besides the operations of their kind. */
#ifndef BLOOMERY_CORE_COUNTING_H
#define BLOOMERY_CORE_COUNTING_H

#include "core/counters.h"
#include "core/kinds.h"

/* Writes a bit for every counter of a layer, set if it is not 0: the payload of a blocked layer of
 * as many blocks. */
void bloomery_counting_drop(const struct bloomery_layer *layer, uint32_t cell_bits,
                            const uint8_t *payload, uint8_t *bits);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From a design to a filter: what entry points that make filters of other systems share. */
#ifndef BLOOMERY_DESIGN_H
#define BLOOMERY_DESIGN_H

#include "dialects/dialects.h"

/* Reads a caller's options and refuses those that no filter of another system can have; empties the
 * design. */
bloomery_status bloomery_design_begin(const bloomery_open_options *given,
                                      bloomery_open_options *options,
                                      struct bloomery_design *design, bloomery_error *error);

/* How many bytes of bits bloomery_dialect_create would allocate; it takes the same, and fails the
 * same. */
bloomery_status bloomery_dialect_create_bytes(const bloomery_dialect *dialect,
                                              const bloomery_dialect_parameters *given,
                                              const bloomery_create_options *given_options,
                                              uint64_t *bytes, bloomery_error *error);

/* A filter of a design: its numbers are checked, then it gets memory and the bits that the design
 * points to. */
bloomery_status bloomery_design_make(const struct bloomery_dialect_row *row,
                                     struct bloomery_design *design,
                                     const bloomery_open_options *options, bloomery_filter **filter,
                                     bloomery_error *error);

#endif

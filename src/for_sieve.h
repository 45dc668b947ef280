/* SPDX-License-Identifier: Apache-2.0 */
/* What the entry points share with each other and with the sieve, which has no other part of them
 * but the public headers. */
#ifndef BLOOMERY_FOR_SIEVE_H
#define BLOOMERY_FOR_SIEVE_H

#include "dialects/dialects.h"

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Writing a payload that need not lie in memory as a whole. */

enum { BLOOMERY_SPAN = 65536 }; /* bytes read from a source at once: those of one checksum */

/*
 * Returns `bytes` (1 to BLOOMERY_SPAN) bytes of a payload from byte `at` on, valid until the next
 * call; NULL if they can't be read. It is called front to back, with `at` a multiple of
 * BLOOMERY_SPAN. `room` is BLOOMERY_SPAN bytes that it may use.
 */
typedef const uint8_t *bloomery_spans(void *context, uint64_t at, size_t bytes, uint8_t *room);

/* bloomery_save of a filter whose payload comes from `spans` instead of its own layers: those are
 * not looked at. */
bloomery_status bloomery_save_spans(const bloomery_filter *filter, bloomery_spans *spans,
                                    void *context, const char *path, bloomery_error *error);

/* bloomery_spans over a filter's own layers; `context` is the filter. */
const uint8_t *bloomery_filter_spans(void *context, uint64_t at, size_t bytes, uint8_t *room);

/* bloomery_verify of a filter that is the map of a file and of nobody else, in little memory: pages
 * that were read go back to the system. */
bloomery_status bloomery_verify_map(const bloomery_filter *filter, bloomery_error *error);

/* ---- Filters of other systems ---------------------------------------------------------------- */

/* From a design to a filter: what entry points that make filters of other systems share. */

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

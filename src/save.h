/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a payload that need not lie in memory as a whole. */
#ifndef BLOOMERY_SAVE_H
#define BLOOMERY_SAVE_H

#include "core/filter.h"

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

#endif

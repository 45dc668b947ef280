/* SPDX-License-Identifier: Apache-2.0 */
/* How a function says why it failed, and numbers in such a sentence. */
#ifndef BLOOMERY_BASE_ERROR_H
#define BLOOMERY_BASE_ERROR_H

#include "base/experimental.h"

#include <bloomery/bloomery.h>

/* Fills `error`, unless it is NULL, and returns `status`: `return bloomery_fail(error, ...)`.
 * Formats take integers and strings only: a decimal point would depend on the locale. */
__attribute__((format(printf, 4, 5))) bloomery_status bloomery_fail(bloomery_error *error,
                                                                    bloomery_status status,
                                                                    uint64_t offset,
                                                                    const char *format, ...);

/* The same for a failed system call: appends what errno means. */
__attribute__((format(printf, 3, 4))) bloomery_status
bloomery_fail_system(bloomery_error *error, int error_number, const char *format, ...);

/* ---- Rates, sizes and limits in sentences ---------------------------------------------------- */

/* Without a decimal point of the locale's. */

struct bloomery_phrase {
    char text[48];
};

struct bloomery_phrase_limit {
    char text[168];
};

/* "1 in 1234", or "92.4 %" from one in ten on. Returns phrase->text. */
const char *bloomery_phrase_rate(struct bloomery_phrase *phrase, double rate);

/* "1.16 GiB", "640 bytes". */
const char *bloomery_phrase_bytes(struct bloomery_phrase *phrase, uint64_t bytes);

/* Fills `room` and `text` from the other fields. */
void bloomery_phrase_limits(bloomery_limits *limits);

/* BLOOMERY_OUT_OF_MEMORY: "not enough memory for `what` of `bytes` bytes", and the limit that is in
 * the way, if it is one of the system's. */
bloomery_status bloomery_fail_memory(bloomery_error *error, const bloomery_allocator *allocator,
                                     const char *what, uint64_t bytes);

/* ": " and that limit, or "". Returns phrase->text. */
const char *bloomery_phrase_limit(struct bloomery_phrase_limit *phrase,
                                  const bloomery_allocator *allocator, uint64_t bytes);

#endif /* BLOOMERY_BASE_ERROR_H */

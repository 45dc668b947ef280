/* SPDX-License-Identifier: Apache-2.0 */
/* Rates, sizes and limits in error sentences, without a decimal point of the locale's. */
#ifndef BLOOMERY_PLAN_DESCRIBE_H
#define BLOOMERY_PLAN_DESCRIBE_H

#include "base/experimental.h"

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

#endif

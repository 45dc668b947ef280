/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and sizes in error sentences, without a decimal point of the locale's. */
#ifndef BLOOMERY_PLAN_DESCRIBE_H
#define BLOOMERY_PLAN_DESCRIBE_H

#include <stdint.h>

struct bloomery_phrase {
    char text[48];
};

/* "1 in 1234", or "92.4 %" from one in ten on. Returns phrase->text. */
const char *bloomery_phrase_rate(struct bloomery_phrase *phrase, double rate);

/* "1.16 GiB", "640 bytes". */
const char *bloomery_phrase_bytes(struct bloomery_phrase *phrase, uint64_t bytes);

#endif

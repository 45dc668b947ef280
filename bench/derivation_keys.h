/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BLOOMERY_BENCH_DERIVATION_KEYS_H
#define BLOOMERY_BENCH_DERIVATION_KEYS_H

#include <stdint.h>

enum { FAMILIES = 16, FAMILY_KEY_MAX = 48 };

/* Sixteen families of keys as programs have them, each a one-to-one function of a number. */
struct family {
    const char *name;
    /* Writes key `number` to `at`, where there is room for FAMILY_KEY_MAX bytes, and says how many
     * it has. */
    uint32_t (*make)(uint64_t number, uint8_t *at);
};

extern const struct family families[FAMILIES];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* MurmurHash2 in its two widths (hash/foreign/murmur2.c). */
#ifndef BLOOMERY_HASH_MURMUR2_H
#define BLOOMERY_HASH_MURMUR2_H

#include <stddef.h>
#include <stdint.h>

/* `data` may be NULL if `bytes` is 0. */
uint64_t bloomery_murmur64a(uint64_t seed, const uint8_t *data, size_t bytes);
uint32_t bloomery_murmur2(uint32_t seed, const uint8_t *data, size_t bytes);

#endif

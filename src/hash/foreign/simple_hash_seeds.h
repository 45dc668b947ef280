/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a widely posted Java class (hash/foreign/simple_hash_seeds.c). */
#ifndef BLOOMERY_HASH_SIMPLE_HASH_SEEDS_H
#define BLOOMERY_HASH_SIMPLE_HASH_SEEDS_H

#include <stddef.h>
#include <stdint.h>

enum { BLOOMERY_SIMPLE_SEEDS = 7 };

/* 5 7 11 13 31 37 61; the form with six has those from the second on. */
extern const uint32_t bloomery_simple_seeds[BLOOMERY_SIMPLE_SEEDS];

/* The next character of a text in UTF-8, at `*at` < bytes, which is moved behind it: its number, or
 * that of a surrogate. Bytes that are no UTF-8 count as U+FFFD for each longest piece that could
 * have begun a character, as in Java's decoder. But three bytes that stand for a single surrogate
 * (WTF-8) are that, so every Java string can be a key. */
uint32_t bloomery_decode_utf8(const uint8_t *text, size_t bytes, size_t *at);

#endif

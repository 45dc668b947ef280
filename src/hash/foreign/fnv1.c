/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1 with 64 bits (Fowler, Noll and Vo, public domain): for each byte h = h 0x100000001b3, then
 * h ^= the byte, from 0xcbf29ce484222325 on. Not FNV-1a, which does the two the other way round,
 * and so is the better one. Here the last byte of a key changes only the lowest eight bits.
 *
 * DCSO's filters begin with it modulo their prime 2^64 - 59: one subtraction, if it is no less.
 */
#include "hash/hashes.h"

static const uint64_t start = UINT64_C(0xcbf29ce484222325);
static const uint64_t factor = UINT64_C(0x100000001b3);
static const uint64_t modulus = 0 - UINT64_C(59);

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    uint64_t h = start;
    (void)secret;
    for (size_t i = 0; i < key.bytes; i++)
        h = h * factor ^ data[i];
    return (bloomery_hash){.lo = h < modulus ? h : h - modulus, .hi = 0};
}

const struct bloomery_hash_row bloomery_hash_fnv1_modulo = {
    BLOOMERY_HASH_NAMED(fnv1_modulo),
    .available = true,
    .one = one,
};

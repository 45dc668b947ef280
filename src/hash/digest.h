/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MD5 and the SHA family, of libcrypto, for other systems' filters that hash by them. The library
 * is loaded when the first such filter is opened or made. A program without such filters never
 * loads it, and it need not be there.
 *
 * The functions with a state in the caller's memory are called, although OpenSSL advertises the EVP
 * functions. Those allocate for every digest, and an answer about a key must not fail for want of
 * memory. They also cost more than the digest of a short key itself. A libcrypto that has no such
 * functions counts as not there.
 *
 * Without a system the embedder gives one function for all of them (bloomery/embedded.h). Then the
 * state is the list of the message's pieces: they stay where they are until bloomery_digest_get.
 */
#ifndef BLOOMERY_HASH_DIGEST_H
#define BLOOMERY_HASH_DIGEST_H

#include "base/bytes.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bloomery_digest_id {
    BLOOMERY_DIGEST_MD5,
    BLOOMERY_DIGEST_SHA1,
    BLOOMERY_DIGEST_SHA256,
    BLOOMERY_DIGEST_SHA384,
    BLOOMERY_DIGEST_SHA512,
};

enum { BLOOMERY_DIGEST_MAX = 64, BLOOMERY_DIGEST_STATE = 256, BLOOMERY_DIGEST_PIECES = 8 };

/* Whether this build can look for digests: `available` of the hashes that are made of them. */
#if defined BLOOMERY_HAVE_LIBCRYPTO || defined BLOOMERY_GIVEN_DIGESTS
#define BLOOMERY_DIGESTS_BUILT true
#else
#define BLOOMERY_DIGESTS_BUILT false
#endif

/* Loads libcrypto at its first call. Whether there are digests; all functions below need that. Any
 * thread, any time. */
bool bloomery_digest_ready(void);

/* 16, 20, 32, 48 or 64. */
static inline size_t bloomery_digest_bytes(enum bloomery_digest_id id)
{
    static const uint8_t sizes[] = {
        [BLOOMERY_DIGEST_MD5] = 16,    [BLOOMERY_DIGEST_SHA1] = 20,   [BLOOMERY_DIGEST_SHA256] = 32,
        [BLOOMERY_DIGEST_SHA384] = 48, [BLOOMERY_DIGEST_SHA512] = 64,
    };
    assert((size_t)id < sizeof sizes && sizes[id] > 0);
    return sizes[id];
}

/* The same of what comes in pieces. Plain memory: to copy it is to fork the message. */
struct bloomery_digest {
    enum bloomery_digest_id id;
    _Alignas(16) uint8_t state[BLOOMERY_DIGEST_STATE];
};

void bloomery_digest_begin(struct bloomery_digest *digest, enum bloomery_digest_id id);

/* The bytes must stay until the last bloomery_digest_get. At most BLOOMERY_DIGEST_PIECES times with
 * other data than the time before. */
void bloomery_digest_add(struct bloomery_digest *digest, const void *data, size_t bytes);

/* Of all that was added so far; more can be added afterwards. */
void bloomery_digest_get(const struct bloomery_digest *digest, uint8_t *result);

/* ---- As numbers ------------------------------------------------------------------------------ */

/*
 * Digests as numbers of up to 512 bits. Systems written in Python divide them by the size of a
 * filter again and again, each remainder being a position:
 *
 *     654321 = 40895 * 16 + 1        1
 *      40895 =  2555 * 16 + 15      15
 *       2555 =   159 * 16 + 11      11
 *
 * Schoolbook division by one 64-bit limb, from the highest on. The remainder of one limb stands
 * before the next, and 128 bits over 64 are exact.
 */

enum { BLOOMERY_WIDE_LIMBS = 8 };

struct bloomery_wide {
    uint64_t limbs[BLOOMERY_WIDE_LIMBS]; /* the lowest first */
    uint32_t count;                      /* of them, the highest of which is not 0; 0: zero */
};

static inline void bloomery_wide_trim(struct bloomery_wide *number)
{
    while (number->count > 0 && number->limbs[number->count - 1] == 0)
        number->count--;
}

/* From up to 64 bytes, the lowest first. */
static inline struct bloomery_wide bloomery_wide_le(const uint8_t *bytes, size_t count)
{
    struct bloomery_wide number = {.count = (uint32_t)((count + 7) / 8)};
    assert(number.count <= BLOOMERY_WIDE_LIMBS);
    for (size_t i = 0; i < count; i++)
        number.limbs[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    bloomery_wide_trim(&number);
    return number;
}

/* The highest first. */
static inline struct bloomery_wide bloomery_wide_be(const uint8_t *bytes, size_t count)
{
    struct bloomery_wide number = {.count = (uint32_t)((count + 7) / 8)};
    assert(number.count <= BLOOMERY_WIDE_LIMBS);
    for (size_t i = 0; i < count; i++)
        number.limbs[i / 8] |= (uint64_t)bytes[count - 1 - i] << i % 8 * 8;
    bloomery_wide_trim(&number);
    return number;
}

static inline bool bloomery_wide_below(const struct bloomery_wide *number, uint64_t limit)
{
    return number->count == 0 ? limit > 0 : number->count == 1 && number->limbs[0] < limit;
}

/* Divides, and returns the remainder. */
static inline uint64_t bloomery_wide_divide(struct bloomery_wide *number, uint64_t divisor)
{
    uint64_t rest = 0;
    assert(divisor > 0);
    for (uint32_t i = number->count; i-- > 0;) {
        const bloomery_uint128 part = (bloomery_uint128)rest << 64 | number->limbs[i];
        number->limbs[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    bloomery_wide_trim(number);
    return rest;
}

#endif

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Bloom filter among the examples of Python's bitarray, in its seven forms. A digest of the key
 * is read as a number x, and divided by m again and again; the remainders are the positions. When x
 * is used up, a byte is appended to the message - key, key., key.., ... - and the next digest
 * taken:
 *
 *     form        digest, as a number      begins with      another one if        byte
 *     a           MD5, high byte first     x = 0            x < m                 .
 *     b           SHA-512, high first      digest of key    never
 *     c           MD5, high first          digest of key    x < m                 .
 *     d           MD5, high first          digest of key    x < m                 x
 *     e           MD5, high first          digest of key    x < 1024 m            x
 *     f           SHA-1, low first         digest of key    x < n                 X
 *     g           SHA-1, low first         x = 0            x < n                 X
 *
 * f and g divide by n, the power of two above m - twice m if m is one itself. They pass over
 * remainders of m and more: about half of all draws at worst. In b numbers end: once m^i has passed
 * 2^512, x is 0 and so are all further positions. In the others a remainder taken off a quotient
 * that is little more than m is not quite uniform, which e mends.
 */
#include "hash/foreign/digest.h"
#include "hash/foreign/wide.h"
#include "hash/hashes.h"

#include <assert.h>

struct form {
    enum bloomery_digest_id digest;
    bool low_first;
    bool from_zero;
    bool rejects;
    uint32_t reserve; /* another digest if x < reserve * m (of n, if it rejects); 0: never */
    char byte;
};

static const struct form forms[] = {
    {BLOOMERY_DIGEST_MD5, false, true, false, 1, '.'},
    {BLOOMERY_DIGEST_SHA512, false, false, false, 0, 0},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1, '.'},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1, 'x'},
    {BLOOMERY_DIGEST_MD5, false, false, false, 1024, 'x'},
    {BLOOMERY_DIGEST_SHA1, true, false, true, 1, 'X'},
    {BLOOMERY_DIGEST_SHA1, true, true, true, 1, 'X'},
};

static struct bloomery_wide number_of(const struct form *form, const struct bloomery_digest *digest)
{
    uint8_t bytes[BLOOMERY_DIGEST_MAX];
    const size_t count = bloomery_digest_bytes(form->digest);
    bloomery_digest_get(digest, bytes);
    return form->low_first ? bloomery_wide_le(bytes, count) : bloomery_wide_be(bytes, count);
}

static void draw(const struct form *form, bloomery_key key, uint64_t cells, uint32_t probes,
                 uint64_t *positions)
{
    struct bloomery_digest digest;
    struct bloomery_wide number = {.count = 0};
    const uint64_t divisor = form->rejects ? UINT64_C(1) << (64 - __builtin_clzll(cells)) : cells;
    bloomery_digest_begin(&digest, form->digest);
    bloomery_digest_add(&digest, key.data, key.bytes);
    if (!form->from_zero)
        number = number_of(form, &digest);
    for (uint32_t i = 0; i < probes;) {
        if (bloomery_wide_below(&number, divisor * form->reserve)) {
            bloomery_digest_add(&digest, &form->byte, 1);
            number = number_of(form, &digest);
        }
        positions[i] = bloomery_wide_divide(&number, divisor);
        i += positions[i] < cells;
    }
}

/* Products with the reserve, and n, stay below 2^64. */
static bool fits(uint64_t cells, uint32_t probes)
{
    return cells > 0 && cells <= UINT64_C(1) << 53 && probes > 0;
}

#define FORM(letter)                                                                            \
    static void positions_##letter(const struct bloomery_hash_secret *secret, bloomery_key key, \
                                   uint64_t cells, uint32_t probes, uint64_t *positions)        \
    {                                                                                           \
        (void)secret;                                                                           \
        assert(fits(cells, probes));                                                            \
        draw(&forms[BLOOMERY_HASH_ID_md5_chain_##letter - BLOOMERY_HASH_ID_md5_chain_a], key,   \
             cells, probes, positions);                                                         \
    }                                                                                           \
    const struct bloomery_hash_row bloomery_hash_md5_chain_##letter = {                         \
        BLOOMERY_HASH_NAMED(md5_chain_##letter),                                                \
        .available = BLOOMERY_DIGESTS_BUILT,                                                    \
        .ready = bloomery_digest_ready,                                                         \
        .positions = positions_##letter,                                                        \
        .fits = fits,                                                                           \
    };

FORM(a)
FORM(b)
FORM(c)
FORM(d)
FORM(e)
FORM(f)
FORM(g)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 of several keys at once, each in a lane of 64 bits: a template. Defined before it is
 * included:
 *
 *     LANES                 how many keys
 *     LANES_TARGET          attributes of functions for that processor
 *     LANES_NAME(name)      a name of this level
 *     lanes                 a vector of LANES words, of the extension of gcc and clang
 *     LANES_ROTATE(x, n)    each lane rotated left
 *     LANES_KEEP(old, new, count, step)
 *                           `new` in the lanes of which count >= step, `old` in the others
 *
 * Keys have different lengths. A key of n bytes has n / 8 whole words and a last one, in which its
 * last bytes and n are. All lanes run as long as each has a whole word. Then a lane that has had
 * its last word keeps its state, until the longest key ends:
 *
 *     key 0    w w w w w L          L: the last word
 *     key 1    w w w L . .          .: the state stays
 *     key 2    w w w w L .
 *              all ──┘ └── some
 */

#define LANES_INLINE LANES_TARGET static inline __attribute__((always_inline))

struct LANES_NAME(sip_state) {
    lanes v0, v1, v2, v3;
};

LANES_INLINE struct LANES_NAME(sip_state)
    LANES_NAME(sip_rounds)(struct LANES_NAME(sip_state) s, const int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s.v0 += s.v1;
        s.v2 += s.v3;
        s.v1 = LANES_ROTATE(s.v1, 13) ^ s.v0;
        s.v3 = LANES_ROTATE(s.v3, 16) ^ s.v2;
        s.v0 = LANES_ROTATE(s.v0, 32) + s.v3;
        s.v2 += s.v1;
        s.v3 = LANES_ROTATE(s.v3, 21) ^ s.v0;
        s.v1 = LANES_ROTATE(s.v1, 17) ^ s.v2;
        s.v2 = LANES_ROTATE(s.v2, 32);
    }
    return s;
}

LANES_INLINE struct LANES_NAME(sip_state)
    LANES_NAME(sip_word)(struct LANES_NAME(sip_state) s, lanes word)
{
    s.v3 ^= word;
    s = LANES_NAME(sip_rounds)(s, 2);
    s.v0 ^= word;
    return s;
}

/* `keys` has LANES keys. */
LANES_TARGET static void LANES_NAME(siphash)(const struct bloomery_hash_secret *secret,
                                             const bloomery_key *keys, bloomery_hash *hashes)
{
    const uint64_t k0 = bloomery_load_u64(secret->siphash);
    const uint64_t k1 = bloomery_load_u64(secret->siphash + 8);
    struct LANES_NAME(sip_state) s = {
        .v0 = (lanes){0} + (k0 ^ UINT64_C(0x736f6d6570736575)),
        .v1 = (lanes){0} + (k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee), /* 128 bits of output */
        .v2 = (lanes){0} + (k0 ^ UINT64_C(0x6c7967656e657261)),
        .v3 = (lanes){0} + (k1 ^ UINT64_C(0x7465646279746573)),
    };
    uint64_t last[LANES];
    lanes whole = {0};
    size_t fewest = SIZE_MAX;
    size_t most = 0;
    for (size_t i = 0; i < LANES; i++) {
        const size_t words = keys[i].bytes / 8;
        last[i] = last_word(keys[i]);
        whole[i] = words;
        fewest = words < fewest ? words : fewest;
        most = words > most ? words : most;
    }
    for (size_t step = 0; step < fewest; step++) {
        lanes word;
        for (size_t i = 0; i < LANES; i++)
            word[i] = bloomery_load_u64((const uint8_t *)keys[i].data + 8 * step);
        s = LANES_NAME(sip_word)(s, word);
    }
    for (size_t step = fewest; step <= most; step++) {
        lanes word;
        for (size_t i = 0; i < LANES; i++)
            word[i] = bloomery_load_u64(step < keys[i].bytes / 8
                                            ? (const uint8_t *)keys[i].data + 8 * step
                                            : (const uint8_t *)&last[i]);
        const struct LANES_NAME(sip_state) next = LANES_NAME(sip_word)(s, word);
        s.v0 = LANES_KEEP(s.v0, next.v0, whole, step);
        s.v1 = LANES_KEEP(s.v1, next.v1, whole, step);
        s.v2 = LANES_KEEP(s.v2, next.v2, whole, step);
        s.v3 = LANES_KEEP(s.v3, next.v3, whole, step);
    }
    s.v2 ^= (lanes){0} + 0xee;
    s = LANES_NAME(sip_rounds)(s, 4);
    const lanes low = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= (lanes){0} + 0xdd;
    s = LANES_NAME(sip_rounds)(s, 4);
    const lanes high = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    for (size_t i = 0; i < LANES; i++)
        hashes[i] = (bloomery_hash){.lo = low[i], .hi = high[i]};
}

#undef LANES
#undef LANES_TARGET
#undef LANES_NAME
#undef LANES_ROTATE
#undef LANES_KEEP
#undef LANES_INLINE

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3, 128 bits, of several short keys at once: a lane of a register for each. libxxhash has vector
 * code for long inputs only; short ones it hashes one after the other, and what is a chain of three
 * or four multiplications for one key is the same chain for four or eight here. Three lengths have a
 * path: keys of 8 bytes, integers; of 9 to 16, IDs; and of 17 to 96, names and URLs. The numbers are
 * those of the specification of XXH3 (its sections on inputs of 4 to 8, 9 to 16 and 17 to 128 bytes)
 * and the secret is libxxhash's own table, so that the hash is the same, which tests/property/hashes.c
 * checks.
 *
 * A template, instantiated by defining before inclusion
 *
 *     LANES_NAME(name), LANES_INLINE
 *     LANES                       the type of a register
 *     LANES_OP(name)              the intrinsic of that name for it
 *     LANES_XOR(a, b), LANES_AND(a, b)
 *     LANES_OF(value)             the value in every lane
 *     LANES_LOW(a, b, low, high)  the low 64 bits of a b: from a and b, or from the product of their
 *                                 low halves and the sum that stands 32 bits above it
 *     LANES_TIMES(a, b)           the same, from a and b
 *     LANES_SWAP(a)               the bytes of every lane the other way round
 *     LANES_WHERE(bytes, over, a, b)   a in the lanes where bytes > over, b in the others
 *
 * and in the end `eight`, `nine_to_sixteen` and `medium`, from what has been loaded of the keys.
 */

/* x ^ (x >> shift) */
#define LANES_SHIFTED(x, shift) LANES_XOR(x, LANES_OP(srli_epi64)(x, shift))

/* 64 x 64 -> 128 bits, from four products of 32 x 32. */
LANES_INLINE void LANES_NAME(multiply)(LANES a, LANES b, LANES *low, LANES *high)
{
    LANES a_high = LANES_OP(srli_epi64)(a, 32);
    LANES b_high = LANES_OP(srli_epi64)(b, 32);
    LANES lowest = LANES_OP(mul_epu32)(a, b);
    LANES middle =
        LANES_OP(add_epi64)(LANES_OP(mul_epu32)(a_high, b), LANES_OP(srli_epi64)(lowest, 32));
    LANES carry = LANES_OP(add_epi64)(LANES_OP(mul_epu32)(a, b_high),
                                      LANES_AND(middle, LANES_OF(UINT32_MAX)));
    LANES above =
        LANES_OP(add_epi64)(LANES_OP(mul_epu32)(a_high, b_high), LANES_OP(srli_epi64)(middle, 32));
    *high = LANES_OP(add_epi64)(above, LANES_OP(srli_epi64)(carry, 32));
    *low = LANES_LOW(a, b, lowest, carry);
}

LANES_INLINE LANES LANES_NAME(avalanche)(LANES x)
{
    x = LANES_TIMES(LANES_SHIFTED(x, 37), LANES_OF(UINT64_C(0x165667919E3779F9)));
    return LANES_SHIFTED(x, 32);
}

LANES_INLINE void LANES_NAME(eight)(const struct bloomery_xxh3_secret *with, LANES input, LANES *lo,
                                    LANES *hi)
{
    LANES low, high;
    LANES_NAME(multiply)
    (LANES_XOR(input, LANES_OF(with->flip)), LANES_OF(XXH_PRIME64_1 + (8 << 2)), &low, &high);
    high = LANES_OP(add_epi64)(high, LANES_OP(slli_epi64)(low, 1));
    low = LANES_XOR(low, LANES_OP(srli_epi64)(high, 3));
    low = LANES_TIMES(LANES_SHIFTED(low, 35), LANES_OF(UINT64_C(0x9FB21C651E98DF25)));
    *lo = LANES_SHIFTED(low, 28);
    *hi = LANES_NAME(avalanche)(high);
}

/* `first` and `last` are the first and the last eight bytes, `bytes` how many there are. */
LANES_INLINE void LANES_NAME(nine_to_sixteen)(const struct bloomery_xxh3_secret *with, LANES first,
                                              LANES last, LANES bytes, LANES *lo, LANES *hi)
{
    LANES low, high, product, above;
    LANES mixed = LANES_XOR(LANES_XOR(first, last), LANES_OF(with->flip_low));
    LANES_NAME(multiply)(mixed, LANES_OF(XXH_PRIME64_1), &low, &high);
    low =
        LANES_OP(add_epi64)(low, LANES_OP(slli_epi64)(LANES_OP(sub_epi64)(bytes, LANES_OF(1)), 54));
    last = LANES_XOR(last, LANES_OF(with->flip_high));
    high = LANES_OP(add_epi64)(high, last);
    high = LANES_OP(add_epi64)(high, LANES_OP(mul_epu32)(last, LANES_OF(XXH_PRIME32_2 - 1)));
    low = LANES_XOR(low, LANES_SWAP(high));
    LANES_NAME(multiply)(low, LANES_OF(XXH_PRIME64_2), &product, &above);
    above = LANES_OP(add_epi64)(above, LANES_TIMES(high, LANES_OF(XXH_PRIME64_2)));
    *lo = LANES_NAME(avalanche)(product);
    *hi = LANES_NAME(avalanche)(above);
}

/* 16 bytes of each key. */
struct LANES_NAME(sixteen) {
    LANES low;
    LANES high;
};

LANES_INLINE LANES LANES_NAME(mix_16)(const struct bloomery_xxh3_secret *with,
                                      struct LANES_NAME(sixteen) input, size_t at)
{
    LANES low, high;
    LANES one = LANES_XOR(input.low, LANES_OF(with->words[at] + with->seed));
    LANES other = LANES_XOR(input.high, LANES_OF(with->words[at + 1] - with->seed));
    LANES_NAME(multiply)(one, other, &low, &high);
    return LANES_XOR(low, high);
}

/*
 * 17 to 96 bytes are taken in one to three steps of 16 bytes from the front and 16 from the back,
 * from the middle outwards: step 2 only over 64 bytes, step 1 only over 32. Lanes of shorter keys
 * pass the step by; what was loaded for it (anything within the key) is not used. So all lengths
 * take the same way, where one key after the other, the processor would guess wrong at every change.
 */
LANES_INLINE void LANES_NAME(medium)(const struct bloomery_xxh3_secret *with,
                                     const struct LANES_NAME(sixteen) * front,
                                     const struct LANES_NAME(sixteen) * back, LANES bytes,
                                     LANES *lo, LANES *hi)
{
    LANES low = LANES_TIMES(bytes, LANES_OF(XXH_PRIME64_1));
    LANES high = LANES_OF(0);
#pragma GCC unroll 3
    for (int step = 2; step >= 0; step--) {
        const size_t at = 4 * (size_t)step;
        LANES new_low = LANES_OP(add_epi64)(low, LANES_NAME(mix_16)(with, front[step], at));
        LANES new_high = LANES_OP(add_epi64)(high, LANES_NAME(mix_16)(with, back[step], at + 2));
        new_low = LANES_XOR(new_low, LANES_OP(add_epi64)(back[step].low, back[step].high));
        new_high = LANES_XOR(new_high, LANES_OP(add_epi64)(front[step].low, front[step].high));
        low = step > 0 ? LANES_WHERE(bytes, 32 * step, new_low, low) : new_low;
        high = step > 0 ? LANES_WHERE(bytes, 32 * step, new_high, high) : new_high;
    }
    LANES sum = LANES_OP(add_epi64)(LANES_TIMES(low, LANES_OF(XXH_PRIME64_1)),
                                    LANES_TIMES(high, LANES_OF(XXH_PRIME64_4)));
    LANES length = LANES_OP(sub_epi64)(bytes, LANES_OF(with->seed));
    sum = LANES_OP(add_epi64)(sum, LANES_TIMES(length, LANES_OF(XXH_PRIME64_2)));
    *lo = LANES_NAME(avalanche)(LANES_OP(add_epi64)(low, high));
    *hi = LANES_OP(sub_epi64)(LANES_OF(0), LANES_NAME(avalanche)(sum));
}

#undef LANES_SHIFTED
#undef LANES_WHERE
#undef LANES_NAME
#undef LANES_INLINE
#undef LANES
#undef LANES_OP
#undef LANES_XOR
#undef LANES_AND
#undef LANES_OF
#undef LANES_LOW
#undef LANES_TIMES
#undef LANES_SWAP

/* SPDX-License-Identifier: Apache-2.0 */
/* Set bits of whole payloads, as fast as memory gives them. */
#include "base/bits.h"
#include "base/cpu.h"

#if defined(__x86_64__)

/* Four sums: one would wait for itself, three cycles for each word. */
__attribute__((target("popcnt"))) static uint64_t count_popcnt(const uint8_t *bytes, size_t words)
{
    uint64_t sums[4] = {0};
    uint64_t four[4];
    size_t i = 0;
    for (; i + 4 <= words; i += 4) {
        memcpy(four, bytes + 8 * i, sizeof four);
        for (size_t j = 0; j < 4; j++)
            sums[j] += (uint64_t)__builtin_popcountll(four[j]);
    }
    for (; i < words; i++) {
        memcpy(four, bytes + 8 * i, 8);
        sums[0] += (uint64_t)__builtin_popcountll(four[0]);
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

uint64_t bloomery_count_payload(const uint8_t *bytes, size_t words)
{
    return bloomery_cpu_level() >= BLOOMERY_CPU_AVX2 ? count_popcnt(bytes, words)
                                                     : bloomery_count_bits(bytes, words);
}

#else

uint64_t bloomery_count_payload(const uint8_t *bytes, size_t words)
{
    return bloomery_count_bits(bytes, words);
}

#endif

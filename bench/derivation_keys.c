/* SPDX-License-Identifier: Apache-2.0 */
/* The structured keys of derivation.c: what a weak hash takes for less than it is. Numbers lie in
 * memory as on a little-endian host. */
#include "derivation_keys.h"

#include "base/bytes.h"
#include "kinds/derive.h"

#include <string.h>

static uint32_t put(uint8_t *at, uint64_t number)
{
    bloomery_store_u64(at, number);
    return 8;
}

/* `digits` decimal digits, with zeros in front. */
static uint32_t decimal(uint8_t *at, uint64_t number, uint32_t digits)
{
    for (uint32_t i = digits; i-- > 0; number /= 10)
        at[i] = (uint8_t)('0' + number % 10);
    return digits;
}

static uint32_t random_words(uint64_t number, uint8_t *at)
{
    return put(at, bloomery_mix64(number));
}

static uint32_t sequence(uint64_t number, uint8_t *at)
{
    return put(at, number);
}

static uint32_t shifted_12(uint64_t number, uint8_t *at)
{
    return put(at, number << 12);
}

static uint32_t shifted_32(uint64_t number, uint8_t *at)
{
    return put(at, number << 32);
}

static uint32_t doubles(uint64_t number, uint8_t *at)
{
    const double value = (double)number;
    memcpy(at, &value, sizeof value);
    return sizeof value;
}

static uint32_t pointers(uint64_t number, uint8_t *at)
{
    return put(at, UINT64_C(0x7F3A40000000) + 16 * number);
}

static uint32_t big_endian(uint64_t number, uint8_t *at)
{
    return put(at, __builtin_bswap64(number));
}

static uint32_t ids(uint64_t number, uint8_t *at)
{
    return decimal(at, number, 12);
}

static uint32_t addresses(uint64_t number, uint8_t *at)
{
    const uint32_t address = (uint32_t)(UINT32_C(0x0A000000) + number);
    uint32_t bytes = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        const uint32_t part = address >> shift & 255;
        bytes += decimal(at + bytes, part, part > 99 ? 3 : part > 9 ? 2 : 1);
        if (shift > 0)
            at[bytes++] = '.';
    }
    return bytes;
}

static uint32_t zeros_behind(uint64_t number, uint8_t *at)
{
    return put(at, number) + put(at + 8, 0);
}

static uint32_t zeros_before(uint64_t number, uint8_t *at)
{
    return put(at, 0) + put(at + 8, number);
}

static uint32_t half_words(uint64_t number, uint8_t *at)
{
    bloomery_store_u32(at, (uint32_t)number);
    return 4;
}

static uint32_t coordinates(uint64_t number, uint8_t *at)
{
    bloomery_store_u32(at, (uint32_t)(number & 4095));
    bloomery_store_u32(at + 4, (uint32_t)(number >> 12));
    return 8;
}

static uint32_t times(uint64_t number, uint8_t *at)
{
    return put(at, UINT64_C(1700000000000000) + 1000 * number); /* microseconds */
}

static uint32_t hexadecimal(uint64_t number, uint8_t *at)
{
    for (uint32_t i = 0; i < 16; i++)
        at[i] = (uint8_t) "0123456789abcdef"[number >> (60 - 4 * i) & 15];
    return 16;
}

static uint32_t urls(uint64_t number, uint8_t *at)
{
    static const char prefix[] = "https://example.net/articles/";
    memcpy(at, prefix, sizeof prefix - 1);
    return (uint32_t)(sizeof prefix - 1) + decimal(at + sizeof prefix - 1, number, 10);
}

const struct family families[FAMILIES] = {
    {"random", random_words},
    {"sequence", sequence},
    {"shifted by 12", shifted_12},
    {"shifted by 32", shifted_32},
    {"doubles", doubles},
    {"pointers", pointers},
    {"big-endian", big_endian},
    {"ASCII IDs", ids},
    {"IPv4 text", addresses},
    {"8 zeros behind", zeros_behind},
    {"8 zeros before", zeros_before},
    {"4 bytes", half_words},
    {"coordinates", coordinates},
    {"times", times},
    {"hexadecimal", hexadecimal},
    {"URLs", urls},
};

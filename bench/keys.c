/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys, each a one-to-one function of its number, so that a billion distinct ones take no memory
 * and the Java peer makes the same (GuavaBench.java):
 *
 *   integers   mix64(number), 8 bytes, little-endian
 *   ids        (number * STEP) mod 10^12 in 12 decimal digits; STEP has no factor with 10
 *   urls       a prefix of 36 to 52 bytes, one of 64 by the number's hash, and mix64(number) in 16
 *              hexadecimal digits: 52 to 68 bytes
 */
#include "bench.h"

#include "kinds/derive.h"

#include <assert.h>
#include <string.h>

const char *const bench_type_names[BENCH_TYPES] = {"integers", "ids", "urls"};

enum {
    ID_DIGITS = 12,
    PREFIXES = 64,
    PREFIX_MIN = 36,
    PREFIX_MAX = 52,
    HEX_DIGITS = 16,
    URL_MAX = PREFIX_MAX + HEX_DIGITS,
};

static const uint64_t id_range = UINT64_C(1000000000000);
static const uint64_t id_step = UINT64_C(618033988751);

static uint64_t numbers[BENCH_CHUNK];
static bloomery_key spans[BENCH_CHUNK];
/* Strings lie one behind another; the last copy of a prefix may reach a little further. */
static char text[(size_t)BENCH_CHUNK * URL_MAX + PREFIX_MAX];

static void make_integers(uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = bloomery_mix64(first + i);
        spans[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    }
}

static void make_ids(uint64_t first, size_t count)
{
    uint64_t id = (uint64_t)((unsigned __int128)first * id_step % id_range);
    for (size_t i = 0; i < count; i++) {
        char *at = text + i * ID_DIGITS;
        uint32_t high = (uint32_t)(id / 1000000);
        uint32_t low = (uint32_t)(id % 1000000);
        for (int digit = ID_DIGITS / 2; digit-- > 0; high /= 10, low /= 10) {
            at[digit] = (char)('0' + high % 10);
            at[digit + ID_DIGITS / 2] = (char)('0' + low % 10);
        }
        spans[i] = bloomery_key_of(at, ID_DIGITS);
        id += id_step;
        if (id >= id_range)
            id -= id_range;
    }
}

struct prefix {
    size_t bytes;
    char text[PREFIX_MAX + 16];
};

static const struct prefix *prefixes(void)
{
    static struct prefix all[PREFIXES];
    for (unsigned i = 0; all[PREFIXES - 1].bytes == 0 && i < PREFIXES; i++) {
        int bytes = snprintf(all[i].text, sizeof all[i].text,
                             "https://node%02u.example.net/articles/by-number/and-by-name/", i);
        all[i].bytes = PREFIX_MIN + i % (PREFIX_MAX - PREFIX_MIN + 1);
        assert(bytes >= PREFIX_MAX);
        (void)bytes;
        all[i].text[all[i].bytes - 1] = '/';
    }
    return all;
}

static void make_urls(uint64_t first, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const struct prefix *all = prefixes();
    char *at = text;
    for (size_t i = 0; i < count; i++) {
        uint64_t mixed = bloomery_mix64(first + i);
        const struct prefix *prefix = &all[mixed % PREFIXES];
        memcpy(at, prefix->text, PREFIX_MAX);
        for (int digit = 0; digit < HEX_DIGITS; digit++)
            at[prefix->bytes + (size_t)digit] = digits[mixed >> (4 * digit) & 15];
        spans[i] = bloomery_key_of(at, prefix->bytes + HEX_DIGITS);
        at += prefix->bytes + HEX_DIGITS;
    }
}

const struct bench_chunk *bench_keys(enum bench_type type, uint64_t first, size_t count)
{
    static void (*const make[BENCH_TYPES])(uint64_t, size_t) = {make_integers, make_ids, make_urls};
    static struct bench_chunk chunk;
    assert(count <= BENCH_CHUNK);
    make[type](first, count);
    chunk.count = count;
    chunk.type = type;
    chunk.numbers = type == BENCH_INTEGERS ? numbers : NULL;
    chunk.keys = spans;
    return &chunk;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* URLs, their order, and the check of what came out of them: sieve.h. */
#include "sieve.h"

#include "kinds/derive.h"

#include <assert.h>
#include <string.h>

enum { PREFIXES = 64, PREFIX_MIN = 26, PREFIX_MAX = 42, HEX_DIGITS = 16 };

_Static_assert(PREFIX_MAX + HEX_DIGITS <= SIEVE_URL_MAX, "a URL has room");

struct prefix {
    size_t bytes;
    char text[PREFIX_MAX + 22];
};

/* 26 to 42 bytes, 34 on average. */
static const struct prefix *prefixes(void)
{
    static struct prefix all[PREFIXES];
    for (unsigned i = 0; all[PREFIXES - 1].bytes == 0 && i < PREFIXES; i++) {
        int bytes = snprintf(all[i].text, sizeof all[i].text,
                             "https://node%02u.example.net/articles/by-number/", i);
        assert(bytes >= PREFIX_MAX && bytes < (int)sizeof all[i].text);
        (void)bytes;
        all[i].bytes = PREFIX_MIN + i % (PREFIX_MAX - PREFIX_MIN + 1);
        all[i].text[all[i].bytes - 1] = '/';
    }
    return all;
}

size_t sieve_url(uint64_t number, char *to)
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t mixed = bloomery_mix64(number);
    const struct prefix *prefix = &prefixes()[mixed % PREFIXES];
    memcpy(to, prefix->text, prefix->bytes);
    for (unsigned digit = 0; digit < HEX_DIGITS; digit++)
        to[prefix->bytes + digit] = digits[mixed >> (4 * digit) & 15];
    return prefix->bytes + HEX_DIGITS;
}

/* mix64 the other way: an exclusive or with its own high part is undone by repeating it, an odd
 * factor by its inverse modulo 2^64. */
static uint64_t unmix64(uint64_t x)
{
    x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642B2D24D8EC3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96DE1B173F119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

bool sieve_url_number(bloomery_key url, uint64_t *number)
{
    char again[SIEVE_URL_MAX];
    const char *text = url.data;
    uint64_t mixed = 0;
    if (url.bytes < PREFIX_MIN + HEX_DIGITS || url.bytes > SIEVE_URL_MAX)
        return false;
    for (unsigned digit = 0; digit < HEX_DIGITS; digit++) {
        const char letter = text[url.bytes - HEX_DIGITS + digit];
        const uint64_t value =
            letter <= '9' ? (uint64_t)(letter - '0') : (uint64_t)(letter - 'a' + 10);
        mixed |= (value & 15) << (4 * digit);
    }
    *number = unmix64(mixed);
    /* What is not the URL to the last byte was not pushed. */
    return sieve_url(*number, again) == url.bytes && memcmp(again, text, url.bytes) == 0;
}

void sieve_id(uint64_t number, char *to)
{
    /* A step without a common factor with 10^12 visits all. */
    uint64_t id =
        (uint64_t)((unsigned __int128)number * UINT64_C(618033988751) % UINT64_C(1000000000000));
    for (int digit = SIEVE_ID_BYTES; digit-- > 0; id /= 10)
        to[digit] = (char)('0' + id % 10);
}

/* ---- The order ------------------------------------------------------------------------------- */

uint64_t sieve_stream_pushes(const struct sieve_stream *stream)
{
    return stream->urls + (uint64_t)((double)stream->urls * stream->repeats + 1e-6);
}

static uint64_t random_of(struct sieve_stream *stream)
{
    stream->random += BLOOMERY_GOLDEN;
    return bloomery_mix64(stream->random);
}

/* One that was pushed before. */
static uint64_t repeated(struct sieve_stream *stream)
{
    const bool recent = (double)(random_of(stream) >> 11) * 0x1p-53 < stream->recent;
    const uint64_t among = recent && stream->fresh > SIEVE_RECENT ? SIEVE_RECENT : stream->fresh;
    return stream->fresh - 1 - bloomery_fastrange(random_of(stream), among);
}

size_t sieve_stream_next(struct sieve_stream *stream, struct sieve_chunk *chunk)
{
    const uint64_t all = sieve_stream_pushes(stream);
    char *at = chunk->text;
    chunk->count = 0;
    chunk->bytes = 0;
    chunk->first = stream->fresh;
    while (chunk->count < SIEVE_CHUNK && stream->pushed < all) {
        const bool again = stream->fresh == stream->urls || stream->due >= 1;
        const uint64_t number = again ? repeated(stream) : stream->fresh;
        stream->due += again ? -1 : stream->repeats;
        stream->fresh += again ? 0 : 1;
        const size_t bytes = sieve_url(number, at);
        chunk->numbers[chunk->count] = number;
        chunk->keys[chunk->count++] = bloomery_key_of(at, bytes);
        chunk->bytes += bytes;
        at += bytes;
        stream->pushed++;
    }
    return chunk->count;
}

/* ---- The check ------------------------------------------------------------------------------- */

void sieve_tally_add(struct sieve_tally *tally, uint64_t number)
{
    const uint64_t mixed = bloomery_mix64(number + BLOOMERY_GOLDEN);
    tally->count++;
    tally->sums[0] += mixed;
    tally->sums[1] ^= mixed;
    tally->sums[2] += bloomery_mix64(mixed + BLOOMERY_GOLDEN);
}

struct sieve_tally sieve_tally_of(uint64_t count)
{
    struct sieve_tally tally = {0};
    for (uint64_t number = 0; number < count; number++)
        sieve_tally_add(&tally, number);
    return tally;
}

bool sieve_tally_equal(const struct sieve_tally *left, const struct sieve_tally *right)
{
    return left->count == right->count && left->sums[0] == right->sums[0] &&
           left->sums[1] == right->sums[1] && left->sums[2] == right->sums[2];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step looks at 64 bytes at once and turns them into a word of bits, one per delimiter:
 *
 *     bytes   850101312345\n850101312353\n9912...
 *     word    0000000000001 0000000000001 0000...      (bit 0 first)
 *
 * With records of a dozen bytes that finds five of them per step; memchr would be called for each.
 * A record is then its start and its length. Its start lies behind the delimiter before it, and
 * only the last delimiter of a step matters to the next. So steps do not wait for each other.
 *
 * How bits become records decides the speed, for finding them is nearly free:
 *
 *   base      one by one, lowest bit first (SSE2, NEON; else memchr).
 *   avx2      five without a check whether there are that many, four more if there are six or more.
 *             That is a branch for a step and not for a record.
 *   avx512    eight at once. VPCOMPRESSB turns the word into the list of its bit numbers, which
 *             widened are the ends. The starts are the ends moved up by one lane. Both are
 *             interleaved into eight keys. Needs VBMI2: a processor that has only the rest of
 *             AVX-512 takes the level below.
 *
 * Too many keys may be found, or written: the caller's array has slack for a step. Keys beyond
 * `most` are found again by the next call.
 */
#include "input/split.h"

#include "src/base/quotes.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { STEP = 64 };

/* ---- What the levels share ------------------------------------------------------------------- */

static inline bloomery_key between(const unsigned char *start, const unsigned char *stop)
{
    return bloomery_key_of(start, (size_t)(stop - start));
}

/* The rest, less than a step, and the end of the call: counts are reduced to `most`. */
static size_t finish(const unsigned char **from, const unsigned char *start,
                     const unsigned char *end, unsigned char delimiter, bloomery_key *keys,
                     size_t count, size_t most)
{
    while (count < most && start < end) {
        const unsigned char *stop = memchr(start, delimiter, (size_t)(end - start));
        assert(stop != NULL);
        keys[count++] = between(start, stop);
        start = stop + 1;
    }
    assert(count <= most + TOOL_SPLIT_SLACK);
    if (count > most) {
        count = most;
        start = (const unsigned char *)keys[count - 1].data + keys[count - 1].bytes + 1;
    }
    *from = start;
    return count;
}

static size_t count_rest(const unsigned char *from, const unsigned char *end,
                         unsigned char delimiter)
{
    size_t count = 0;
    for (; from < end; from++)
        count += *from == delimiter;
    return count;
}

/* The records that end at the bits of `word`, one by one. */
static inline __attribute__((always_inline)) size_t take_each(uint64_t word,
                                                              const unsigned char *at,
                                                              const unsigned char **start,
                                                              bloomery_key *keys, size_t count)
{
    for (; word != 0; word &= word - 1) {
        const unsigned char *stop = at + __builtin_ctzll(word);
        keys[count++] = between(*start, stop);
        *start = stop + 1;
    }
    return count;
}

/* The byte behind the last delimiter of a step that has one. */
static inline __attribute__((always_inline)) const unsigned char *
behind_last(uint64_t word, const unsigned char *at)
{
    assert(word != 0);
    return at + (STEP - __builtin_clzll(word));
}

/* ---- Base ------------------------------------------------------------------------------------ */

#if defined(__x86_64__)

static inline uint64_t word_base(const unsigned char *at, unsigned char delimiter)
{
    const __m128i wanted = _mm_set1_epi8((char)delimiter);
    uint64_t word = 0;
    for (size_t i = 0; i < STEP / 16; i++) {
        __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        uint64_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, wanted));
        word |= bits << (16 * i);
    }
    return word;
}

#elif defined(__aarch64__)

/* NEON has no movemask: each byte keeps the bit of its place in eight, and three rounds of adding
 * neighbours gather them. */
static inline uint64_t word_base(const unsigned char *at, unsigned char delimiter)
{
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t wanted = vdupq_n_u8(delimiter), place = vld1q_u8(places);
    uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(at), wanted), place);
    uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(at + 16), wanted), place);
    uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(at + 32), wanted), place);
    uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(at + 48), wanted), place);
    uint8x16_t sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
}

#else

static inline uint64_t word_base(const unsigned char *at, unsigned char delimiter)
{
    uint64_t word = 0;
    for (size_t i = 0; i < STEP; i++)
        word |= (uint64_t)(at[i] == delimiter) << i;
    return word;
}

#endif

static size_t split_base(const unsigned char **from, const unsigned char *end,
                         unsigned char delimiter, bloomery_key *keys, size_t most)
{
    const unsigned char *start = *from;
    size_t count = 0;
    for (const unsigned char *at = start; count < most && end - at >= STEP; at += STEP)
        count = take_each(word_base(at, delimiter), at, &start, keys, count);
    return finish(from, start, end, delimiter, keys, count, most);
}

static size_t count_base(const unsigned char *from, const unsigned char *end,
                         unsigned char delimiter)
{
    size_t count = 0;
    for (; end - from >= STEP; from += STEP)
        count += (size_t)__builtin_popcountll(word_base(from, delimiter));
    return count + count_rest(from, end, delimiter);
}

#if defined(__x86_64__)

/* ---- AVX2 ------------------------------------------------------------------------------------ */

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

AVX2 static inline uint64_t word_avx2(const unsigned char *at, __m256i wanted)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
    uint64_t low_bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    uint64_t high_bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return low_bits | high_bits << 32;
}

/* One record. If the word has run out of bits it writes nonsense, which is not counted. */
AVX2 static inline uint64_t take_one(uint64_t word, const unsigned char *at,
                                     const unsigned char **start, bloomery_key *key)
{
    const unsigned char *stop = at + _tzcnt_u64(word);
    *key = between(*start, stop);
    *start = stop + 1;
    return _blsr_u64(word);
}

AVX2 static size_t split_avx2(const unsigned char **from, const unsigned char *end,
                              unsigned char delimiter, bloomery_key *keys, size_t most)
{
    enum { FIRST = 5, SECOND = 9 };
    const __m256i wanted = _mm256_set1_epi8((char)delimiter);
    const unsigned char *start = *from;
    size_t count = 0;
    for (const unsigned char *at = start; count < most && end - at >= STEP; at += STEP) {
        uint64_t word = word_avx2(at, wanted);
        if (word == 0)
            continue;
        const size_t found = (size_t)__builtin_popcountll(word);
        const unsigned char *next = behind_last(word, at);
        bloomery_key *to = keys + count;
        for (size_t i = 0; i < FIRST; i++)
            word = take_one(word, at, &start, to + i);
        if (found > FIRST)
            for (size_t i = FIRST; i < SECOND; i++)
                word = take_one(word, at, &start, to + i);
        if (found > SECOND)
            take_each(word, at, &start, to, SECOND);
        count += found;
        start = next;
    }
    return finish(from, start, end, delimiter, keys, count, most);
}

AVX2 static size_t count_avx2(const unsigned char *from, const unsigned char *end,
                              unsigned char delimiter)
{
    const __m256i wanted = _mm256_set1_epi8((char)delimiter);
    size_t count = 0;
    for (; end - from >= STEP; from += STEP)
        count += (size_t)__builtin_popcountll(word_avx2(from, wanted));
    return count + count_rest(from, end, delimiter);
}

/* ---- AVX-512 --------------------------------------------------------------------------------- */

#define AVX512                                                                                  \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2," \
                          "popcnt")))

/* 64 numbers: what VPCOMPRESSB picks bit numbers from. */
static const uint8_t numbers[STEP] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Eight keys. Their ends are at + the first eight bytes of `places`; the first begins at `start`.
 *
 *     ends     e0 e1 e2 ... e7
 *     starts   start e0+1 e1+1 ... e6+1
 *     keys     start e0-start | e0+1 e1-(e0+1) | ...
 */
AVX512 static inline void take_eight(__m128i places, const unsigned char *at,
                                     const unsigned char *start, bloomery_key *keys)
{
    _Static_assert(sizeof(bloomery_key) == 16, "a key is two words: data, bytes");
    _Static_assert(offsetof(bloomery_key, bytes) == 8, "a key is two words: data, bytes");
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const __m512i base = _mm512_set1_epi64((long long)(uintptr_t)at);
    const __m512i first = _mm512_set1_epi64((long long)(uintptr_t)start);
    __m512i ends = _mm512_add_epi64(_mm512_cvtepu8_epi64(places), base);
    __m512i behind = _mm512_add_epi64(ends, _mm512_set1_epi64(1));
    __m512i starts = _mm512_alignr_epi64(behind, first, 7);
    __m512i lengths = _mm512_sub_epi64(ends, starts);
    _mm512_storeu_si512(keys, _mm512_permutex2var_epi64(starts, low, lengths));
    _mm512_storeu_si512(keys + 4, _mm512_permutex2var_epi64(starts, high, lengths));
}

AVX512 static size_t split_avx512(const unsigned char **from, const unsigned char *end,
                                  unsigned char delimiter, bloomery_key *keys, size_t most)
{
    const __m512i wanted = _mm512_set1_epi8((char)delimiter);
    const __m512i all = _mm512_loadu_si512(numbers);
    const unsigned char *start = *from;
    size_t count = 0;
    for (const unsigned char *at = start; count < most && end - at >= STEP; at += STEP) {
        uint64_t word = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), wanted);
        if (word == 0)
            continue;
        const size_t found = (size_t)__builtin_popcountll(word);
        __m512i places = _mm512_maskz_compress_epi8(word, all);
        take_eight(_mm512_castsi512_si128(places), at, start, keys + count);
        if (__builtin_expect(found > 8, 0)) {
            uint8_t list[STEP];
            _mm512_storeu_si512(list, places);
            for (size_t i = 8; i < found; i++)
                keys[count + i] = between(at + list[i - 1] + 1, at + list[i]);
        }
        count += found;
        start = behind_last(word, at);
    }
    return finish(from, start, end, delimiter, keys, count, most);
}

AVX512 static size_t count_avx512(const unsigned char *from, const unsigned char *end,
                                  unsigned char delimiter)
{
    const __m512i wanted = _mm512_set1_epi8((char)delimiter);
    size_t count = 0;
    for (; end - from >= STEP; from += STEP)
        count +=
            (size_t)__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(from), wanted));
    return count + count_rest(from, end, delimiter);
}

#endif

/* ---- The choice ------------------------------------------------------------------------------ */

static const struct tool_split_level levels[] = {
    {"base", split_base, count_base},
#if defined(__x86_64__)
    {"avx2", split_avx2, count_avx2},
    {"avx512", split_avx512, count_avx512},
#endif
};

enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

static size_t best_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return 0;
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                   __builtin_cpu_supports("avx512vbmi2")
               ? 2
               : 1;
#else
    return 0;
#endif
}

const struct tool_split_level *tool_split_level(size_t index)
{
    return index < LEVELS && index <= best_level() ? &levels[index] : NULL;
}

static const struct tool_split_level *chosen(void)
{
    /* 0: not looked up yet, else level + 1. Threads that look it up at once find the same. */
    static size_t known;
    size_t level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level == 0) {
        level = best_level() + 1;
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return &levels[level - 1];
}

size_t tool_split(const unsigned char **from, const unsigned char *end, unsigned char delimiter,
                  bloomery_key *keys, size_t most)
{
    assert(*from <= end && most > 0);
    return chosen()->split(from, end, delimiter, keys, most);
}

size_t tool_split_count(const unsigned char *from, const unsigned char *end,
                        unsigned char delimiter)
{
    assert(from <= end);
    return chosen()->count(from, end, delimiter);
}

/* ---- Records with quotes --------------------------------------------------------------------- */

/*
 * A record without quotes costs one look for its end. If there are quotes, a field is read byte by
 * byte, one byte per cycle. Text in quotes is searched from quote to quote.
 */

struct tool_scan tool_scan_begin(const struct tool_quotes *quotes, unsigned char terminator,
                                 bool marked)
{
    return (struct tool_scan){.quotes = *quotes,
                              .terminator = terminator,
                              .place = marked ? TOOL_AT_MARK : TOOL_AT_RECORD};
}

/* One step, at most to the end of a record:
 *
 *     AT_MARK --> AT_RECORD --> IN_COMMENT --> AT_RECORD
 *     AT_RECORD, AT_FIELD --> IN_FIELD --> AT_FIELD, AT_RECORD
 *     AT_RECORD, AT_FIELD --> IN_QUOTES <--> AT_QUOTE --> IN_FIELD
 */
static size_t step(struct tool_scan *scan, const unsigned char *bytes, size_t at, size_t count)
{
    static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};
    const unsigned char delimiter = scan->quotes.delimiter, terminator = scan->terminator;
    switch (scan->place) {
    case TOOL_AT_MARK:
        if (bytes[at] != mark[scan->mark]) {
            scan->place = scan->mark == 0 ? TOOL_AT_RECORD : TOOL_IN_FIELD;
            return at;
        }
        if (++scan->mark == sizeof(mark))
            scan->place = TOOL_AT_RECORD;
        return at + 1;
    case TOOL_AT_RECORD:
        if (scan->quotes.comment != 0 && bytes[at] == scan->quotes.comment) {
            scan->place = TOOL_IN_COMMENT;
            return at;
        }
        __attribute__((fallthrough)); /* its first field */
    case TOOL_AT_FIELD:
        scan->place = bytes[at] == '"' ? TOOL_IN_QUOTES : TOOL_IN_FIELD;
        if (scan->place == TOOL_IN_FIELD)
            return at;
        scan->opened = scan->scanned + at;
        return at + 1;
    case TOOL_IN_QUOTES:
    case TOOL_AT_QUOTE: {
        bool behind_quote = scan->place == TOOL_AT_QUOTE;
        at = (size_t)(bloomery_quotes_end(bytes + at, bytes + count, &behind_quote) - bytes);
        scan->place = at < count ? TOOL_IN_FIELD : behind_quote ? TOOL_AT_QUOTE : TOOL_IN_QUOTES;
        return at;
    }
    case TOOL_IN_COMMENT: {
        const unsigned char *end = memchr(bytes + at, terminator, count - at);
        if (end == NULL)
            return count;
        scan->place = TOOL_AT_RECORD;
        return (size_t)(end - bytes) + 1;
    }
    case TOOL_IN_FIELD:
        break;
    }
    while (at < count && bytes[at] != delimiter && bytes[at] != terminator)
        at++;
    if (at == count)
        return at;
    scan->place = bytes[at] == terminator ? TOOL_AT_RECORD : TOOL_AT_FIELD;
    return at + 1;
}

/* If no quote is among the bytes and none is open, only the end of the last record matters. */
static bool is_simple(const struct tool_scan *scan, const unsigned char *bytes, size_t count)
{
    if (!scan->quotes.heeded)
        return true;
    return scan->place != TOOL_IN_QUOTES && scan->place != TOOL_AT_QUOTE &&
           scan->place != TOOL_AT_MARK && memchr(bytes, '"', count) == NULL;
}

static size_t scan_simple(struct tool_scan *scan, const unsigned char *bytes, size_t count)
{
    const unsigned char *last = memrchr(bytes, scan->terminator, count);
    size_t at = last != NULL ? (size_t)(last - bytes) + 1 : 0;
    if (last != NULL)
        scan->place = TOOL_AT_RECORD;
    if (!scan->quotes.heeded || at == count)
        return at;
    const unsigned char comment = scan->quotes.comment;
    if (scan->place == TOOL_AT_RECORD && comment != 0 && bytes[at] == comment)
        scan->place = TOOL_IN_COMMENT;
    else if (scan->place != TOOL_IN_COMMENT)
        scan->place = bytes[count - 1] == scan->quotes.delimiter ? TOOL_AT_FIELD : TOOL_IN_FIELD;
    return at;
}

size_t tool_scan_on(struct tool_scan *scan, const unsigned char *bytes, size_t count, bool first)
{
    size_t at = 0, end = 0;
    if (!first && is_simple(scan, bytes, count)) {
        end = scan_simple(scan, bytes, count);
        scan->scanned += count;
        return end;
    }
    if (!scan->quotes.heeded) {
        const unsigned char *found = memchr(bytes, scan->terminator, count);
        return found != NULL ? (size_t)(found - bytes) + 1 : 0;
    }
    while (at < count && !(first && end > 0)) {
        const size_t next = step(scan, bytes, at, count);
        if (next > at && scan->place == TOOL_AT_RECORD && bytes[next - 1] == scan->terminator)
            end = next;
        assert(next >= at && next <= count);
        at = next;
    }
    scan->scanned += at;
    return end;
}

size_t tool_quotes_split(const struct tool_quotes *quotes, const unsigned char **from,
                         const unsigned char *end, unsigned char terminator, bloomery_key *keys,
                         size_t most, uint64_t *inner)
{
    size_t count = 0;
    while (count < most && *from < end) {
        struct tool_scan scan = tool_scan_begin(quotes, terminator, false);
        size_t bytes = tool_scan_on(&scan, *from, (size_t)(end - *from), true);
        if (bytes == 0) /* the last record of an input: cut at the input's end */
            bytes = (size_t)(end - *from);
        keys[count++] = bloomery_key_of(*from, bytes - 1);
        *inner += tool_split_count(*from, *from + bytes, terminator) - 1;
        *from += bytes;
    }
    return count;
}

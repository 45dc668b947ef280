/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command costs at least: bare loops that do its job on plain lines and nothing else. No
 * option, no check of the input, no thread, no format. Each adds a step to the one before:
 *
 *     floor read   FILE                     reads, 256 KiB at a time
 *     floor split  FILE                     and finds the lines
 *     floor hash   FILE                     and hashes them
 *     floor build  FILE KEYS RATE [OUT]     and sets their bits; OUT gets the filter
 *     floor query  FILE FILTER              or tests them, in a filter that is read into memory
 *     floor dedupe FILE KEYS RATE           or does both, and writes the lines that are new
 *
 * The filter is the one that `build` and `dedupe` make (planned by the library, of one layer), the
 * hash is XXH3, inlined, and 128 keys are in flight. The kernel is for AVX2. So the time of the
 * command over that of its floor says what the command adds.
 */
#include "bench.h"

#if defined(__x86_64__)

#include "kinds/derive.h"
#include "kinds/filter.h"
#include "kinds/shape.h"
#include "plan/blocked_rate.h"

#include <fcntl.h>
#include <immintrin.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FAST static inline __attribute__((always_inline, target("avx2,bmi,bmi2")))

enum { PIECE = 256 << 10, AHEAD = 128, LINES_MAX = 4, ALL_WORDS = 8 };

enum job { READ, SPLIT, HASH, BUILD, QUERY, DEDUPE, JOBS };

static const char *const job_names[JOBS] = {"read", "split", "hash", "build", "query", "dedupe"};

struct floor {
    enum job job;
    unsigned char *memory;
    uint64_t blocks;
    uint64_t masks[2 * ALL_WORDS]; /* all ones in the k words from the first on, twice */
    bool wide;                     /* the filter hashes to 128 bits */
    uint64_t sum;                  /* of hashes, or how many lines were found or new */
    uint64_t lines;
    unsigned char *out;
    size_t out_bytes;
};

/* A line on its way. */
struct flight {
    unsigned char *block[LINES_MAX];
    uint64_t word[LINES_MAX];
    const unsigned char *at;
    size_t bytes;
};

static struct flight ring[AHEAD];

/* ---- A block --------------------------------------------------------------------------------- */

FAST __m256i half_of(const struct floor *floor, uint64_t w, const uint32_t probes, const bool upper)
{
    const __m256i steps =
        upper ? _mm256_setr_epi64x(24, 30, 36, 42) : _mm256_setr_epi64x(0, 6, 12, 18);
    const __m256i choices = _mm256_and_si256(
        _mm256_srlv_epi64(_mm256_set1_epi64x((long long)w), steps), _mm256_set1_epi64x(63));
    const __m256i bits = _mm256_sllv_epi64(_mm256_set1_epi64x(1), choices);
    if (probes == ALL_WORDS)
        return bits;
    const uint64_t *mask = floor->masks + (-bloomery_first_word(w) & (ALL_WORDS - 1)) + 4 * upper;
    return _mm256_and_si256(bits, _mm256_loadu_si256((const __m256i *)(const void *)mask));
}

/* Whether all bits are set; and sets them. */
FAST bool visit(const struct floor *floor, unsigned char *block, uint64_t w, const uint32_t probes,
                const enum job job)
{
    __m256i missing = _mm256_setzero_si256();
    for (int i = 0; i < 2; i++) {
        __m256i *half = (__m256i *)(void *)block + i;
        const __m256i bits = half_of(floor, w, probes, i == 1);
        const __m256i now = _mm256_load_si256(half);
        if (job != BUILD)
            missing = _mm256_or_si256(missing, _mm256_andnot_si256(now, bits));
        if (job != QUERY)
            _mm256_store_si256(half, _mm256_or_si256(now, bits));
    }
    return _mm256_testz_si256(missing, missing) != 0;
}

/* ---- A line ---------------------------------------------------------------------------------- */

FAST void enter(struct floor *floor, struct flight *flight, const unsigned char *at, size_t bytes,
                const uint32_t lines, const enum job job)
{
    bloomery_hash hash = {0, 0};
    if (floor->wide) {
        const XXH128_hash_t wide = XXH3_128bits_withSeed(at, bytes, 0);
        hash = (bloomery_hash){.lo = wide.low64, .hi = wide.high64};
    } else {
        hash.hi = XXH3_64bits_withSeed(at, bytes, 0);
    }
    floor->sum += job == HASH ? hash.hi : 0;
    for (uint32_t i = 0; job >= BUILD && i < lines; i++) {
        const struct bloomery_place place = bloomery_place_of(hash, i, floor->blocks);
        flight->block[i] = floor->memory + place.block * BLOOMERY_BLOCK_BYTES;
        flight->word[i] = place.word;
        if (i == 0 || job != QUERY)
            bloomery_request_line(flight->block[i], floor->blocks * BLOOMERY_BLOCK_BYTES);
    }
    flight->at = at;
    flight->bytes = bytes;
}

static void flush(struct floor *floor)
{
    for (size_t done = 0; done < floor->out_bytes;) {
        const ssize_t now = write(STDOUT_FILENO, floor->out + done, floor->out_bytes - done);
        if (now <= 0)
            bench_fail("cannot write");
        done += (size_t)now;
    }
    floor->out_bytes = 0;
}

FAST void leave(struct floor *floor, const struct flight *flight, const uint32_t lines,
                const uint32_t probes, const enum job job)
{
    bool held = true;
    for (uint32_t i = 0; i < lines && (held || job != QUERY); i++)
        held &= visit(floor, flight->block[i], flight->word[i], probes, job);
    if (job == QUERY)
        floor->sum += held;
    if (job != DEDUPE || held)
        return;
    floor->sum++;
    if (floor->out_bytes + flight->bytes + 1 > PIECE)
        flush(floor);
    memcpy(floor->out + floor->out_bytes, flight->at, flight->bytes + 1);
    floor->out_bytes += flight->bytes + 1;
}

/* All whole lines of a piece; returns where the last one ends. The ring is empty before and
 * after. */
FAST const unsigned char *piece(struct floor *floor, const unsigned char *at,
                                const unsigned char *end, const uint32_t lines,
                                const uint32_t probes, const enum job job)
{
    const __m256i newline = _mm256_set1_epi8('\n');
    size_t count = 0;
    for (const unsigned char *look = at; look < end; look += 32) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)look);
        uint32_t found = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, newline));
        if (end - look < 32)
            found &= ((uint32_t)1 << (end - look)) - 1;
        for (; found != 0; found &= found - 1, count++) {
            const unsigned char *stop = look + __builtin_ctz(found);
            struct flight *flight = &ring[count % AHEAD];
            if (job >= BUILD && count >= AHEAD)
                leave(floor, flight, lines, probes, job);
            if (job >= HASH)
                enter(floor, flight, at, (size_t)(stop - at), lines, job);
            at = stop + 1;
        }
    }
    for (size_t i = count < AHEAD ? 0 : count - AHEAD; job >= BUILD && i < count; i++)
        leave(floor, &ring[i % AHEAD], lines, probes, job);
    floor->lines += count;
    return at;
}

#define PIECE_OF(title, lines, probes, job)                                     \
    __attribute__((target("avx2,bmi,bmi2"))) static const unsigned char *title( \
        struct floor *floor, const unsigned char *at, const unsigned char *end) \
    {                                                                           \
        return piece(floor, at, end, lines, probes, job);                       \
    }
#define PIECES_OF(lines, probes)                             \
    PIECE_OF(build_##lines##_##probes, lines, probes, BUILD) \
    PIECE_OF(query_##lines##_##probes, lines, probes, QUERY) \
    PIECE_OF(dedupe_##lines##_##probes, lines, probes, DEDUPE)
#define ROW_OF(lines, probes)                                                             \
    {                                                                                     \
        lines, probes,                                                                    \
        {                                                                                 \
            build_##lines##_##probes, query_##lines##_##probes, dedupe_##lines##_##probes \
        }                                                                                 \
    }

PIECE_OF(split_piece, 0, 0, SPLIT)
PIECE_OF(hash_piece, 0, 0, HASH)
PIECES_OF(1, 6)
PIECES_OF(1, 8)
PIECES_OF(2, 6)
PIECES_OF(2, 7)
PIECES_OF(2, 8)
PIECES_OF(3, 6)
PIECES_OF(3, 7)
PIECES_OF(3, 8)

typedef const unsigned char *piece_function(struct floor *, const unsigned char *,
                                            const unsigned char *);

static const struct {
    uint32_t lines, probes;
    piece_function *of[3]; /* build, query, dedupe */
} shapes[] = {ROW_OF(1, 6), ROW_OF(1, 8), ROW_OF(2, 6), ROW_OF(2, 7),
              ROW_OF(2, 8), ROW_OF(3, 6), ROW_OF(3, 7), ROW_OF(3, 8)};

/* ---- The whole ------------------------------------------------------------------------------- */

static void run(struct floor *floor, const char *path, piece_function *work)
{
    unsigned char *buffer = bench_allocate(PIECE + 32);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t kept = 0;
    if (file < 0)
        bench_fail("cannot open %s", path);
    floor->out = bench_allocate(PIECE);
    for (ssize_t now; (now = read(file, buffer + kept, PIECE - kept)) > 0;) {
        const unsigned char *end = buffer + kept + now;
        const unsigned char *done = work == NULL ? end : work(floor, buffer, end);
        kept = (size_t)(end - done);
        if (kept == PIECE)
            bench_fail("a line of more than %d bytes", PIECE);
        memmove(buffer, done, kept);
    }
    close(file);
    flush(floor);
    free(floor->out);
    free(buffer);
}

/* Of the shape that a plan of this kind has, as one layer. */
static bloomery_filter *make(bloomery_kind kind, const char *keys, const char *rate,
                             bloomery_info *info)
{
    bloomery_plan plan = {
        .kind = kind, .keys = strtoull(keys, NULL, 10), .rate = strtod(rate, NULL)};
    bloomery_filter *filter;
    bloomery_error error;
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK ||
        bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    bloomery_info_get(filter, info);
    return filter;
}

static piece_function *prepare(struct floor *floor, bloomery_filter *filter,
                               const bloomery_info *info)
{
    floor->memory = bloomery_payload_of(filter);
    floor->blocks = info->bits / (8 * BLOOMERY_BLOCK_BYTES);
    for (uint32_t i = 0; i < 2 * ALL_WORDS; i++)
        floor->masks[i] = i % ALL_WORDS < info->probes ? UINT64_MAX : 0;
    floor->wide = info->hash == BLOOMERY_HASH_XXH3_128;
    if (!floor->wide && info->hash != BLOOMERY_HASH_XXH3_64)
        bench_fail("the loops have XXH3 alone");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i].lines == info->blocks_per_key && shapes[i].probes == info->probes)
            return shapes[i].of[floor->job - BUILD];
    bench_fail("no loop for %u lines of %u bits", info->blocks_per_key, info->probes);
}

int main(int argc, char **argv)
{
    struct floor floor = {.job = READ};
    bloomery_info info = BLOOMERY_INFO;
    bloomery_filter *filter = NULL;
    piece_function *work = NULL;
    bloomery_error error;
    while (argc > 1 && floor.job < JOBS && strcmp(argv[1], job_names[floor.job]) != 0)
        floor.job++;
    if (argc < 3 || floor.job == JOBS ||
        (floor.job >= BUILD && argc < (floor.job == QUERY ? 4 : 5)))
        bench_fail("floor.c says how to call this");
    if (!__builtin_cpu_supports("avx2"))
        bench_fail("the bare loops need AVX2");
    if (floor.job == SPLIT || floor.job == HASH) {
        work = floor.job == SPLIT ? split_piece : hash_piece;
    } else if (floor.job == QUERY) {
        if (bloomery_open(argv[3], NULL, &filter, &error) != BLOOMERY_OK)
            bench_fail("%s", error.text);
        bloomery_info_get(filter, &info);
        work = prepare(&floor, filter, &info);
    } else if (floor.job >= BUILD) {
        filter = make(floor.job == BUILD ? BLOOMERY_BLOCKED : BLOOMERY_SCALABLE, argv[3], argv[4],
                      &info);
        work = prepare(&floor, filter, &info);
    }
    run(&floor, argv[2], work);
    fprintf(stderr, "%" PRIu64 " %" PRIu64 "\n", floor.lines, floor.sum);
    if (floor.job == BUILD && argc > 5 && bloomery_save(filter, argv[5], &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    bloomery_free(filter);
    return 0;
}

#else

int main(void)
{
    bench_fail("the bare loops are for x86-64");
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical limits: what a key costs at least, on the memory that our filter of the same case has.
 * Each is a loop that finds the key's block and touches it, with 128 keys in flight, and does
 * nothing else:
 *
 *   hash        the block as our filters find it: XXH3 of 64 bits, inlined, for lengths that the
 *               compiler knows (loop.h), then hash N >> 64. The keys are read as they lie in
 *               memory, like a column
 *   bare        the block by two multiplications: no filter's hash, but how fast memory itself is.
 *               Nothing on these lines can be faster
 *   ask         one word of the block is read
 *   add         one word of the block is read, changed and written; or all eight
 *   two lines   both blocks of a key of L = 2, on the memory of that filter
 *
 * A ring of 128 keys, one in and one out.
 *
 * The rows static-line and static-line-bare do the same on as much memory as a static filter of the
 * case has, and take part only where they are named.
 *
 * Asking reads our filter's very memory where there is one. Adding changes memory of its own, made
 * by the same function. "One" is the same loop without window: what the processor overlaps by
 * itself.
 */
#include "loop.h"

#include "kinds/derive.h"
#include "kinds/filter.h"
#include "kinds/shape.h"
#include "plan/blocked_rate.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 128 };

enum variant { HASH_LINE = 1, BARE_LINE, WHOLE_LINE, TWO_LINES };

enum { STATIC = 16 }; /* with a variant: the memory is that of a static filter */

#define FAST static inline __attribute__((always_inline))

struct limit {
    struct bench_pages pages;
    uint64_t blocks;
    uint64_t seed;  /* as in a filter: the compiler must not know it */
    uint32_t lines; /* of our filter whose memory is read; UINT32_MAX: of none */
};

/* A key on its way: the blocks it needs, and what is written into them. */
struct touch {
    unsigned char *line;
    unsigned char *second;
    uint64_t bits;
};

FAST struct touch find(const struct bench_loop *loop, size_t i, enum variant variant,
                       enum bench_type type)
{
    struct touch touch = {NULL, NULL, 0};
    bloomery_hash hash = {0, 0};
    if (variant == BARE_LINE) {
        uint64_t x = loop->numbers[i] * UINT64_C(0xBF58476D1CE4E5B9);
        hash.hi = (x ^ x >> 32) * UINT64_C(0x94D049BB133111EB);
        touch.bits = x;
    } else {
        hash.hi = bench_loop_hash(loop, i, type);
        touch.bits = hash.hi;
    }
    touch.line = loop->memory + bloomery_block_of(hash, 0, loop->blocks) * BLOOMERY_BLOCK_BYTES;
    bloomery_request_line(touch.line, loop->blocks * BLOOMERY_BLOCK_BYTES);
    if (variant == TWO_LINES) {
        touch.second =
            loop->memory + bloomery_block_of(hash, 1, loop->blocks) * BLOOMERY_BLOCK_BYTES;
        bloomery_request_line(touch.second, loop->blocks * BLOOMERY_BLOCK_BYTES);
    }
    return touch;
}

FAST void change(unsigned char *line, uint64_t bits)
{
    *(uint64_t *)(void *)line |= bits;
}

typedef uint64_t whole_line __attribute__((vector_size(64)));

FAST uint64_t finish(struct touch touch, enum variant variant, bool adding)
{
    if (!adding) {
        uint64_t word;
        memcpy(&word, touch.line, sizeof word);
        if (variant == TWO_LINES)
            word += *(const uint64_t *)(const void *)touch.second;
        return word;
    }
    if (variant == WHOLE_LINE) {
        *(whole_line *)(void *)touch.line |= (whole_line){0} + touch.bits;
    } else {
        change(touch.line, touch.bits);
        if (variant == TWO_LINES)
            change(touch.second, touch.bits);
    }
    return 1;
}

FAST uint64_t one_by_one(const struct bench_loop loop, enum variant variant, bool adding,
                         enum bench_type type)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < loop.count; i++)
        sum += finish(find(&loop, i, variant, type), variant, adding);
    return sum;
}

FAST uint64_t in_window(const struct bench_loop loop, enum variant variant, bool adding,
                        enum bench_type type)
{
    struct touch touches[AHEAD];
    uint64_t sum = 0;
    size_t first = loop.count < AHEAD ? loop.count : AHEAD;
    for (size_t i = 0; i < first; i++)
        touches[i] = find(&loop, i, variant, type);
    for (size_t i = first; i < loop.count; i++) {
        sum += finish(touches[i % AHEAD], variant, adding);
        touches[i % AHEAD] = find(&loop, i, variant, type);
    }
    for (size_t i = loop.count - first; i < loop.count; i++)
        sum += finish(touches[i % AHEAD], variant, adding);
    return sum;
}

static struct bench_loop loop_of(const struct limit *limit, const struct bench_chunk *chunk,
                                 bool adding)
{
    const bool own = adding || limit->lines == UINT32_MAX;
    const bloomery_filter *ours = own ? NULL : bench_our_filter(limit->lines);
    bool fits = ours != NULL && bloomery_payload_room(ours) >= limit->pages.bytes;
    return (struct bench_loop){
        .memory = fits ? bloomery_payload_of(ours) : limit->pages.at,
        .blocks = limit->blocks,
        .seed = limit->seed,
        .numbers = chunk->numbers,
        .keys = chunk->keys,
        .count = chunk->count,
    };
}

/* Each variant is compiled for itself: nothing but the loop is left at run time. */
#define OPERATION(name, form, variant, adding)                           \
    static uint64_t name(void *context, const struct bench_chunk *chunk) \
    {                                                                    \
        struct bench_loop loop = loop_of(context, chunk, adding);        \
        if (chunk->type == BENCH_INTEGERS)                               \
            return form(loop, variant, adding, BENCH_INTEGERS);          \
        if (chunk->type == BENCH_IDS)                                    \
            return form(loop, variant, adding, BENCH_IDS);               \
        return form(loop, variant, adding, BENCH_URLS);                  \
    }

OPERATION(hash_add_one, one_by_one, HASH_LINE, true)
OPERATION(hash_add, in_window, HASH_LINE, true)
OPERATION(hash_query_one, one_by_one, HASH_LINE, false)
OPERATION(hash_query, in_window, HASH_LINE, false)
OPERATION(bare_add, in_window, BARE_LINE, true)
OPERATION(bare_query, in_window, BARE_LINE, false)
OPERATION(whole_add, in_window, WHOLE_LINE, true)
OPERATION(two_add, in_window, TWO_LINES, true)
OPERATION(two_query, in_window, TWO_LINES, false)

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    bloomery_plan plan = {.keys = wanted->keys, .rate = wanted->rate};
    bloomery_error error;
    if ((variant & ~(uint32_t)STATIC) == BARE_LINE && wanted->type != BENCH_INTEGERS)
        return NULL; /* a string has to be hashed to find its line */
    if ((variant & STATIC) != 0)
        plan.kind = BLOOMERY_STATIC;
    else
        options.blocks_per_key = variant == TWO_LINES ? 2 : 1;
    if (bloomery_plan_solve(&plan, &options, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    struct limit *limit = bench_allocate(sizeof *limit);
    limit->pages = bench_pages_make(plan.planned_bytes);
    limit->blocks = plan.planned_bytes / BLOOMERY_BLOCK_BYTES;
    limit->lines = (variant & STATIC) != 0 ? UINT32_MAX : options.blocks_per_key;
    snprintf(facts->layout, sizeof facts->layout, "%s",
             variant == TWO_LINES ? "two random cache lines" : "a random cache line");
    facts->lines = variant == TWO_LINES ? 2 : 1;
    facts->probes = 0;
    facts->bytes = plan.planned_bytes;
    facts->planned = 0;
    facts->kernel = "limit";
    return limit;
}

static void clear(void *context)
{
    struct limit *limit = context;
    bench_clear(limit->pages.filter);
}

static void release(void *context)
{
    struct limit *limit = context;
    bloomery_free(limit->pages.filter);
    free(limit);
}

#define LIMIT(title, which, ...)                                                              \
    {                                                                                         \
        .name = title, .role = BENCH_LIMIT, .variant = which, .named = ((which)&STATIC) != 0, \
        .make = make, .clear = clear, .release = release, .operations = {__VA_ARGS__},        \
    }

const struct bench_contestant bench_limits[] = {
    LIMIT("line", HASH_LINE, hash_add_one, hash_add, hash_query_one, hash_query),
    LIMIT("line-bare", BARE_LINE, NULL, bare_add, NULL, bare_query),
    LIMIT("line-whole", WHOLE_LINE, NULL, whole_add, NULL, NULL),
    LIMIT("two-lines", TWO_LINES, NULL, two_add, NULL, two_query),
    LIMIT("static-line", STATIC | HASH_LINE, NULL, NULL, hash_query_one, hash_query),
    LIMIT("static-line-bare", STATIC | BARE_LINE, NULL, NULL, NULL, bare_query),
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions per key: a count that other programs on the machine do not change. It is blind to
 * memory, so it compares two versions of one loop and says nothing about caches.
 *
 * Two ways to count, of the same rows:
 *
 *   callgrind     under `valgrind --tool=callgrind`. The program has the counters set to zero
 *                 before each row and written behind it, to a file with the row's number, which
 *                 bench/run.py reads. Valgrind knows no AVX-512
 *   single steps  else: the processor stops behind each instruction (the trap flag of x86-64), and
 *                 a signal handler counts. It works for every level of the processor
 *
 * A row is one operation of a contestant on a chunk of keys that are ready in memory, with the
 * filter filled before. What a call costs at its beginning and end is divided by all keys.
 */
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if defined(BENCH_HAVE_CALLGRIND)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND              0
#define CALLGRIND_ZERO_STATS             ((void)0)
#define CALLGRIND_DUMP_STATS_AT(comment) ((void)(comment))
#endif

enum { FILLED = 100000, STEPPED = 512 };

static const struct row {
    const char *name;
    double rate;
} rows[] = {
    {"blocked-1", 1e-2}, {"column", 1e-2},      {"pair", 1e-2},
    {"inline", 1e-2},    {"blocked-2", 1e-4},   {"column-2", 1e-4},
    {"scalable", 1e-2},  {"split-block", 1e-2}, {"line", 1e-2},
};

static const char *const operation_names[BENCH_OPERATIONS] = {"add_one", "add_batch", "query_one",
                                                              "query_batch"};

struct entrant {
    const struct bench_contestant *contestant;
    void *context;
    struct bench_facts facts;
};

static uint64_t nothing(void *context, const struct bench_chunk *chunk)
{
    (void)context, (void)chunk;
    return 0;
}

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100 };

static volatile uint64_t stepped;

static void step(int number)
{
    (void)number;
    stepped++; /* the kernel clears the flag for the handler, and sets it again behind it */
}

/* Below the red zone, which the compiler may use without moving the stack pointer. */
static inline __attribute__((always_inline)) void change_flags(uint64_t set, uint64_t clear)
{
    __asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tpop %%rax\n\tor %0, %%rax\n\tand %1, %%rax\n\t"
                     "push %%rax\n\tpopfq\n\tadd $128, %%rsp"
                     :
                     : "r"(set), "r"(~clear)
                     : "rax", "cc", "memory");
}

/* The instructions of an operation and of a call of it. */
static __attribute__((noinline)) uint64_t steps(bench_operation *work, void *context,
                                                const struct bench_chunk *chunk)
{
    struct sigaction action = {.sa_handler = step};
    struct sigaction before;
    sigaction(SIGTRAP, &action, &before);
    stepped = 0;
    change_flags(TRAP_FLAG, 0);
    work(context, chunk);
    change_flags(0, TRAP_FLAG);
    sigaction(SIGTRAP, &before, NULL);
    return stepped;
}

#else

static uint64_t steps(bench_operation *work, void *context, const struct bench_chunk *chunk)
{
    (void)work, (void)context, (void)chunk;
    bench_fail("single steps are counted on x86-64 alone: use valgrind");
}

#endif

static void count_row(FILE *json, const struct entrant *entrant, enum bench_type type, double rate,
                      int operation)
{
    static int rows_done;
    bench_operation *work = entrant->contestant->operations[operation];
    const size_t keys = RUNNING_ON_VALGRIND ? BENCH_CHUNK : STEPPED;
    const struct bench_chunk *chunk = bench_keys(type, FILLED, keys);
    char number[16];
    uint64_t counted = 0;
    if (entrant->contestant->prepare != NULL)
        entrant->contestant->prepare(entrant->context, chunk);
    if (RUNNING_ON_VALGRIND) {
        snprintf(number, sizeof number, "%d", rows_done);
        CALLGRIND_ZERO_STATS;
        work(entrant->context, chunk);
        CALLGRIND_DUMP_STATS_AT(number);
    } else {
        counted = steps(work, entrant->context, chunk) - steps(nothing, NULL, chunk);
        printf("%-8s %-12s %-12s %-10s %6.1f\n", bench_type_names[type], entrant->contestant->name,
               operation_names[operation], entrant->facts.kernel, (double)counted / (double)keys);
    }
    if (json != NULL)
        fprintf(json,
                "%s\n{\"type\": \"%s\", \"name\": \"%s\", \"operation\": \"%s\", \"rate\": %g, "
                "\"kernel\": \"%s\", \"lines\": %u, \"probes\": %u, \"keys\": %zu, "
                "\"instructions\": %" PRIu64 "}",
                rows_done == 0 ? "" : ",", bench_type_names[type], entrant->contestant->name,
                operation_names[operation], rate, entrant->facts.kernel, entrant->facts.lines,
                entrant->facts.probes, keys, counted);
    rows_done++;
    fflush(stdout);
}

/* Makes a contestant with its filter filled; false where it can't be here. */
static bool enter(struct entrant *entrant, enum bench_type type, double rate)
{
    static const int fill[] = {BENCH_ADD_BATCH, BENCH_ADD_ONE};
    const struct bench_contestant *contestant = entrant->contestant;
    const struct bench_case wanted = {type, FILLED, rate};
    entrant->context = contestant->make(contestant->variant, &wanted, &entrant->facts);
    if (entrant->context == NULL)
        return false;
    bench_operation *add = contestant->operations[fill[0]] != NULL
                               ? contestant->operations[fill[0]]
                               : contestant->operations[fill[1]];
    /* The keys that are counted still fit in: a chain does not grow under the count. */
    for (uint64_t done = 0; add != NULL && done < FILLED - BENCH_CHUNK; done += BENCH_CHUNK) {
        const uint64_t left = FILLED - BENCH_CHUNK - done;
        const struct bench_chunk *chunk =
            bench_keys(type, done, left < BENCH_CHUNK ? (size_t)left : BENCH_CHUNK);
        if (contestant->prepare != NULL)
            contestant->prepare(entrant->context, chunk);
        add(entrant->context, chunk);
    }
    return true;
}

/* All of a type. They are released at the end, since some query the filter of others. */
static void count_type(FILE *json, const struct bench_contestant *const *lists, size_t list_count,
                       const char *only, enum bench_type type)
{
    struct entrant entrants[sizeof rows / sizeof rows[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t j = 0; j < list_count; j++)
            for (const struct bench_contestant *at = lists[j]; at->name != NULL; at++) {
                if (strcmp(at->name, rows[i].name) != 0 ||
                    !(only == NULL || bench_named(only, at->name)))
                    continue;
                struct entrant *entrant = &entrants[count];
                *entrant = (struct entrant){.contestant = at};
                if (!enter(entrant, type, rows[i].rate))
                    continue;
                count++;
                /* Lookups first: adds would change what they find. */
                for (int operation = BENCH_OPERATIONS; operation-- > 0;)
                    if (at->operations[operation] != NULL)
                        count_row(json, entrant, type, rows[i].rate, operation);
            }
    while (count-- > 0)
        entrants[count].contestant->release(entrants[count].context);
}

void bench_instructions(FILE *json, const struct bench_contestant *const *lists, size_t count,
                        const char *only, const bool *types)
{
    bool any = false;
    for (int type = 0; type < BENCH_TYPES; type++)
        any = any || types[type];
    for (int type = 0; type < BENCH_TYPES; type++)
        if (!any || types[type])
            count_type(json, lists, count, only, (enum bench_type)type);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a key costs: each kind and L at a few sizes and rates, 8-byte integer keys, one thread.
 *
 *     filters [keys ...]        default 1000000 20000000
 *
 * Every figure is the median of five equal parts, so that a disturbance in one part does not show.
 * Keys asked for are absent; measured and planned rate stand beside the times, because a fast wrong
 * filter is easy. "line" is the floor: the same hashing, and one random 64-byte line of the same
 * memory read.
 */
#include <bloomery/bloomery.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PARTS = 5, CHUNK = 4096, QUERIES = 10000000 };

static uint64_t numbers[CHUNK];
static bloomery_key keys[CHUNK];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *parts)
{
    qsort(parts, PARTS, sizeof *parts, compare);
    return parts[PARTS / 2];
}

/* Does `work` to `count` keys numbered from `first`, in chunks; ns per key, the median of the
 * parts. */
typedef uint64_t work_function(void *context, size_t count);

static double measure(work_function *work, void *context, uint64_t first, uint64_t count,
                      uint64_t *sum)
{
    double parts[PARTS];
    for (int part = 0; part < PARTS; part++) {
        uint64_t from = first + count / PARTS * (uint64_t)part;
        uint64_t to = from + count / PARTS;
        double begin = seconds();
        for (uint64_t at = from; at < to; at += CHUNK) {
            size_t now = to - at < CHUNK ? (size_t)(to - at) : CHUNK;
            for (size_t i = 0; i < now; i++)
                numbers[i] = at + i;
            *sum += work(context, now);
        }
        parts[part] = (seconds() - begin) * 1e9 / (double)(to - from);
    }
    return median(parts);
}

static uint64_t add_batch(void *context, size_t count)
{
    bloomery_add_batch(context, keys, count, NULL, NULL);
    return 0;
}

static uint64_t ask_batch(void *context, size_t count)
{
    return bloomery_may_contain_batch(context, keys, count, NULL);
}

static uint64_t ask_single(void *context, size_t count)
{
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += bloomery_may_contain(context, keys[i]);
    return found;
}

struct memory {
    const bloomery_filter *filter;
    const unsigned char *bytes;
    uint64_t lines;
};

static uint64_t read_line(void *context, size_t count)
{
    static uint64_t at[CHUNK];
    const struct memory *memory = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        bloomery_hash hash;
        bloomery_hash_key(memory->filter, keys[i], &hash);
        at[i] = (uint64_t)(((unsigned __int128)hash.hi * memory->lines) >> 64) * 64;
        __builtin_prefetch(memory->bytes + at[i]);
        if (i >= 128)
            sum += memory->bytes[at[i - 128]];
    }
    return sum;
}

static void row(bloomery_kind kind, uint32_t lines, double rate, uint64_t count)
{
    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_plan plan = {.kind = kind, .keys = count, .rate = rate};
    bloomery_filter *filter;
    bloomery_error error;
    options.lines = lines;
    if (bloomery_plan_solve(&plan, &options, &error) != BLOOMERY_OK ||
        bloomery_create(&plan, &options, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "filters: %s\n", error.text);
        exit(2);
    }
    uint64_t ignored = 0;
    uint64_t found = 0;
    double add = measure(add_batch, filter, 0, count, &ignored);
    double ask = measure(ask_batch, filter, count, QUERIES, &found);
    double single = measure(ask_single, filter, count, QUERIES, &ignored);
    unsigned char *bytes = calloc(plan.bytes / 64, 64);
    struct memory memory = {filter, bytes, plan.bytes / 64};
    for (uint64_t i = 0; i < plan.bytes; i += 4096)
        bytes[i] = 1;
    double floor = measure(read_line, &memory, count, QUERIES, &ignored);
    printf("%-8s %u %2u %7.2f %11" PRIu64 " %9.2e %9.2e %8.1f %8.1f %8.1f %8.1f\n",
           bloomery_kind_name((int)kind), plan.lines, plan.probes, plan.bits_per_key, count,
           plan.rate, (double)found / QUERIES, add, ask, single, floor);
    fflush(stdout);
    free(bytes);
    bloomery_free(filter);
}

/* Opening maps the file and checks its header, whatever its size: processor time per open and close. */
static void open_row(uint64_t bytes)
{
    enum { TIMES = 2000 };
    char path[] = "filters-bench.bloom";
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .bits = bytes * 8, .lines = 1, .probes = 6};
    bloomery_filter *filter;
    bloomery_error error;
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK ||
        bloomery_save(filter, path, &error) != BLOOMERY_OK) {
        fprintf(stderr, "filters: %s\n", error.text);
        exit(2);
    }
    bloomery_free(filter);
    clock_t begin = clock();
    for (int i = 0; i < TIMES; i++) {
        if (bloomery_open(path, NULL, &filter, &error) != BLOOMERY_OK)
            exit(2);
        bloomery_free(filter);
    }
    double microseconds = (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / TIMES;
    printf("opening a filter of %" PRIu64 " MiB: %.1f microseconds of processor time\n",
           bytes >> 20, microseconds);
    remove(path);
}

int main(int argc, char **argv)
{
    static const char *const standard[] = {"filters", "1000000", "20000000"};
    static const double rates[] = {1e-2, 1e-4};
    const char *const *sizes = argc > 1 ? (const char *const *)argv : standard;
    int count = argc > 1 ? argc : 3;
    for (size_t i = 0; i < CHUNK; i++)
        keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    printf("%-8s %s %2s %7s %11s %9s %9s %8s %8s %8s %8s\n", "kind", "L", "k", "bits", "keys",
           "planned", "measured", "add ns", "ask ns", "one ns", "line ns");
    for (int i = 1; i < count; i++) {
        uint64_t number = strtoull(sizes[i], NULL, 10);
        for (size_t j = 0; number > 0 && j < sizeof rates / sizeof rates[0]; j++) {
            for (uint32_t lines = 1; lines <= 3; lines++)
                row(BLOOMERY_BLOCKED, lines, rates[j], number);
            row(BLOOMERY_CLASSIC, 0, rates[j], number);
        }
    }
    open_row((uint64_t)1 << 20);
    open_row((uint64_t)1 << 30);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, processor, median, memory. */
#include "bench.h"

#include "kinds/filter.h"
#include "plan/blocked_rate.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void bench_pin(int processor)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_CONF);
    CPU_ZERO(&set);
    for (long i = 0; i < all; i++)
        if (processor < 0 || i == processor)
            CPU_SET((size_t)i, &set);
    /* Where it is refused the measurement is only noisier. */
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fprintf(stderr, "bench: cannot pin to processor %d\n", processor);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(const double *values, size_t count)
{
    double sorted[64];
    if (count == 0 || count > sizeof sorted / sizeof sorted[0])
        bench_fail("a median of %zu values", count);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

uint64_t bench_resident_bytes(void)
{
    /* The kernel's running counters lag behind by some hundred kilobytes; here it walks the
     * pages. */
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    uint64_t kibibytes = 0;
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Rss: %" SCNu64, &kibibytes) == 1)
            break;
    fclose(file);
    return kibibytes << 10;
}

struct bench_pages bench_pages_make(uint64_t bytes)
{
    uint64_t lines = (bytes + BLOOMERY_BLOCK_BYTES - 1) / BLOOMERY_BLOCK_BYTES;
    bloomery_plan plan = {
        .kind = BLOOMERY_BLOCKED, .blocks_per_key = 1, .probes = 1, .bits = lines * 512};
    struct bench_pages pages = {NULL, NULL, lines * BLOOMERY_BLOCK_BYTES};
    bloomery_error error;
    if (bloomery_create(&plan, NULL, &pages.filter, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    pages.at = bloomery_payload_of(pages.filter);
    return pages;
}

void *bench_allocate(uint64_t bytes)
{
    void *memory = calloc(1, (size_t)bytes);
    if (memory == NULL)
        bench_fail("no memory for %" PRIu64 " bytes", bytes);
    return memory;
}

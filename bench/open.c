/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping a file and checking its header, of any size: processor time per map and release. The
 * file lies in the working directory for as long as it takes. */
#include "bench.h"

#include <inttypes.h>
#include <time.h>

static void open_row(FILE *json, uint64_t bytes, const char *separator)
{
    enum { TIMES = 2000 };
    static const char path[] = "bench-open.bloom";
    bloomery_plan plan = {
        .kind = BLOOMERY_BLOCKED, .bits = bytes * 8, .blocks_per_key = 1, .probes = 6};
    bloomery_filter *filter;
    const bloomery_filter *mapped;
    bloomery_error error;
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK ||
        bloomery_save(filter, path, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    bloomery_free(filter);
    clock_t begin = clock();
    for (int i = 0; i < TIMES; i++) {
        if (bloomery_map(path, NULL, &mapped, &error) != BLOOMERY_OK)
            bench_fail("%s", error.text);
        bloomery_free(mapped);
    }
    double microseconds = (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / TIMES;
    printf("opening a filter of %" PRIu64 " MiB: %.1f microseconds of processor time\n",
           bytes >> 20, microseconds);
    if (json != NULL)
        fprintf(json, "%s\n{\"bytes\": %" PRIu64 ", \"microseconds\": %.3f}", separator, bytes,
                microseconds);
    remove(path);
}

void bench_open(FILE *json)
{
    open_row(json, (uint64_t)1 << 20, "");
    open_row(json, (uint64_t)1 << 30, ",");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to whole filters, and removing.
 *
 *     bench remove    a counting filter from which keys are removed, one call each
 *     bench several   two filters in files, mapped: compared, merged, folded; a counting filter
 *                     whose counters are dropped. Beside them the minimum that any of it could
 *                     take: the same files read once, by read() in pieces of 64 KiB
 *
 * Files lie in the working directory for as long as it takes, and in the page cache: they were
 * written just before. The figure is gigabytes of input per second of wall-clock time, the median
 * of the parts.
 */
#include "bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 25, FILES = 2 };

static const char *const paths[FILES] = {"bench-one.bloom", "bench-other.bloom"};
static const char merged_path[] = "bench-merged.bloom";
static const char counting_path[] = "bench-counting.bloom";

static void must(bloomery_status status, const bloomery_error *error)
{
    if (status != BLOOMERY_OK)
        bench_fail("%s", error->text);
}

static bloomery_filter *filled(bloomery_kind kind, uint64_t keys, uint64_t first)
{
    const struct bench_case wanted = {BENCH_INTEGERS, keys, 0.01};
    bloomery_plan plan;
    bloomery_filter *filter = bench_filter_make(&wanted, kind, 0, &plan);
    for (uint64_t done = 0; done < keys; done += BENCH_CHUNK) {
        size_t now = keys - done < BENCH_CHUNK ? (size_t)(keys - done) : BENCH_CHUNK;
        bench_add_batch(filter, bench_keys(BENCH_INTEGERS, first + done, now));
    }
    return filter;
}

/* ---- Removing -------------------------------------------------------------------------------- */

void bench_remove(FILE *json, uint64_t keys, uint32_t parts)
{
    const char *separator = "";
    bloomery_filter *filter = filled(BLOOMERY_COUNTING, keys, 0);
    double ns[PARTS_MAX];
    for (uint32_t part = 0; part < parts; part++) {
        uint64_t first = keys / parts * part;
        uint64_t count = keys / parts;
        double seconds = 0;
        for (uint64_t done = 0; done < count; done += BENCH_CHUNK) {
            size_t now = count - done < BENCH_CHUNK ? (size_t)(count - done) : BENCH_CHUNK;
            const struct bench_chunk *chunk = bench_keys(BENCH_INTEGERS, first + done, now);
            double begin = bench_seconds();
            for (size_t i = 0; i < now; i++)
                if (!bloomery_remove(filter, chunk->keys[i], NULL))
                    bench_fail("a key was lost");
            seconds += bench_seconds() - begin;
        }
        ns[part] = seconds * 1e9 / (double)count;
    }
    bloomery_free(filter);
    printf("remove, counting-4, %" PRIu64 " keys: %.2f ns\n", keys, bench_median(ns, parts));
    if (json == NULL)
        return;
    fprintf(json, "\n{\"name\": \"counting-4\", \"keys\": %" PRIu64 ", \"ns\": [", keys);
    for (uint32_t part = 0; part < parts; part++, separator = ", ")
        fprintf(json, "%s%.4f", separator, ns[part]);
    fputs("]}", json);
}

/* ---- Whole filters --------------------------------------------------------------------------- */

struct several {
    const bloomery_filter *mapped[FILES]; /* maps of `paths` */
    const bloomery_filter *counting;      /* a map */
    bloomery_filter *into;                /* in memory, of the same size */
    double sum;                           /* of what was found, so that nothing is left out */
};

typedef void operation(struct several *several, bloomery_error *error);

static void read_file(const char *path)
{
    static uint8_t piece[(size_t)64 << 10];
    int file = open(path, O_RDONLY);
    if (file < 0)
        bench_fail("cannot read %s", path);
    while (read(file, piece, sizeof piece) > 0)
        ;
    close(file);
}

static void read_files(struct several *several, bloomery_error *error)
{
    (void)several;
    (void)error;
    read_file(paths[0]);
    read_file(paths[1]);
}

static void compare_files(struct several *several, bloomery_error *error)
{
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    must(bloomery_compare(several->mapped[0], several->mapped[1], &comparison, error), error);
    several->sum += comparison.common_keys;
}

static void verify_files(struct several *several, bloomery_error *error)
{
    must(bloomery_verify(several->mapped[0], error), error);
    must(bloomery_verify(several->mapped[1], error), error);
}

static void merge_in_memory(struct several *several, bloomery_error *error)
{
    must(bloomery_merge(several->into, several->mapped[1], error), error);
}

static void merge_files(struct several *several, bloomery_error *error)
{
    const bloomery_filter *both[FILES] = {several->mapped[0], several->mapped[1]};
    must(bloomery_merge_save(both, FILES, merged_path, error), error);
}

static void fold_file(struct several *several, bloomery_error *error)
{
    bloomery_filter *folded;
    must(bloomery_fold(several->mapped[0], 1, NULL, &folded, error), error);
    bloomery_free(folded);
}

static void drop_counters(struct several *several, bloomery_error *error)
{
    bloomery_filter *dropped;
    must(bloomery_drop_counters(several->counting, NULL, &dropped, error), error);
    bloomery_free(dropped);
}

static void report(FILE *json, bool first, const char *what, uint64_t bytes, const double *seconds,
                   uint32_t parts)
{
    printf("%-28s %7.0f MB %7.2f GB/s\n", what, (double)bytes / 1e6,
           (double)bytes / 1e9 / bench_median(seconds, parts));
    if (json == NULL)
        return;
    fprintf(json, "%s\n{\"what\": \"%s\", \"bytes\": %" PRIu64 ", \"seconds\": [", first ? "" : ",",
            what, bytes);
    for (uint32_t part = 0; part < parts; part++)
        fprintf(json, "%s%.6f", part == 0 ? "" : ", ", seconds[part]);
    fputs("]}", json);
}

static const bloomery_filter *save_and_map(bloomery_filter *filter, const char *path)
{
    const bloomery_filter *mapped;
    bloomery_error error;
    must(bloomery_save(filter, path, &error), &error);
    bloomery_free(filter);
    must(bloomery_map(path, NULL, &mapped, &error), &error);
    read_file(path);
    return mapped;
}

void bench_several(FILE *json, uint64_t keys, uint32_t parts)
{
    static const struct {
        const char *what;
        operation *run;
        uint32_t files; /* of the first two; 0: the counting one */
    } rows[] = {
        {"read both files", read_files, 2},
        {"verify both", verify_files, 2},
        {"compare", compare_files, 2},
        {"merge into memory", merge_in_memory, 1},
        {"merge into a file", merge_files, 2},
        {"fold once", fold_file, 1},
        {"drop counters of 4 bits", drop_counters, 0},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    static double seconds[ROWS][PARTS_MAX];
    struct several several = {.sum = 0};
    bloomery_error error;
    for (uint64_t i = 0; i < FILES; i++)
        several.mapped[i] = save_and_map(filled(BLOOMERY_BLOCKED, keys, i * keys / 2), paths[i]);
    several.counting = save_and_map(filled(BLOOMERY_COUNTING, keys / 4, 0), counting_path);
    must(bloomery_open(paths[0], NULL, &several.into, &error), &error);
    for (uint32_t part = 0; part < parts; part++)
        for (size_t i = 0; i < ROWS; i++) {
            const size_t row = (i + part) % ROWS;
            double begin = bench_seconds();
            rows[row].run(&several, &error);
            seconds[row][part] = bench_seconds() - begin;
        }
    for (size_t i = 0; i < ROWS; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(rows[i].files == 0 ? several.counting : several.into, &info);
        const uint64_t bytes = info.file_bytes * (rows[i].files == 0 ? 1 : rows[i].files);
        report(json, i == 0, rows[i].what, bytes, seconds[i], parts);
    }
    if (!(several.sum > 0))
        bench_fail("filters that share half of their keys have nothing in common");
    for (size_t i = 0; i < FILES; i++)
        bloomery_free(several.mapped[i]);
    bloomery_free(several.into);
    bloomery_free(several.counting);
    remove(paths[0]);
    remove(paths[1]);
    remove(merged_path);
    remove(counting_path);
}

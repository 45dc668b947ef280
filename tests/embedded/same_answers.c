/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what filters of every kind and dialect come to: sizes, rates, a checksum of their files,
 * another one of a million answers. On every processor and system the lines are the same, to the
 * last digit; scripts/check-wasm compares them.
 *
 *     same_answers [FILE...]     the same of these Bloomery files as well
 */
#include <bloomery/bloomery.h>
#include <bloomery/builder.h>
#include <bloomery/dialect.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 20000, QUERIES = 1000000, PORTION = 4096 };

/* FNV-1a: to tell files apart, not more. */
static uint64_t sum_of(uint64_t sum, const void *data, size_t bytes)
{
    const uint8_t *next = data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ next[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static const uint64_t sum_start = UINT64_C(0xcbf29ce484222325);

struct sum {
    uint64_t sum;
    uint64_t bytes;
};

static int sum_up(void *context, const void *data, size_t bytes)
{
    struct sum *sum = context;
    sum->sum = sum_of(sum->sum, data, bytes);
    sum->bytes += bytes;
    return 0;
}

static void print_file(const bloomery_filter *filter)
{
    struct sum sum = {sum_start, 0};
    bloomery_error error;
    const bloomery_status status = bloomery_write(filter, sum_up, &sum, &error);
    if (status == BLOOMERY_OK)
        printf(" file %" PRIu64 " %016" PRIx64, sum.bytes, sum.sum);
    else
        printf(" %s", error.text);
}

static size_t make_keys(bloomery_key *keys, uint64_t *numbers, uint64_t from, uint64_t to)
{
    size_t count = 0;
    for (; count < PORTION && from + count < to; count++) {
        numbers[count] = from + count;
        keys[count] = bloomery_key_of(&numbers[count], sizeof numbers[count]);
    }
    return count;
}

static void print_answers(const bloomery_filter *filter)
{
    static uint64_t numbers[PORTION];
    static bloomery_key list[PORTION];
    uint64_t answers[PORTION / 64];
    uint64_t sum = sum_start;
    uint64_t found = 0;
    for (uint64_t done = 0; done < QUERIES;) {
        const size_t now = make_keys(list, numbers, done, QUERIES);
        const bloomery_keys keys = bloomery_keys_of_list(list, now);
        bloomery_counts counts = {0, 0, 0};
        memset(answers, 0, sizeof answers);
        if (bloomery_may_contain_keys(filter, &keys, answers, &counts, NULL) != BLOOMERY_OK)
            printf(" query fails");
        found += counts.positive;
        sum = sum_of(sum, answers, sizeof answers);
        done += now;
    }
    printf(" found %" PRIu64 " %016" PRIx64, found, sum);
}

static void print_info(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &info);
    bloomery_scan(filter, &scan);
    printf(" bytes %" PRIu64 " set %" PRIu64 " planned %.17g live %.17g", info.bytes, scan.bits_set,
           info.planned_rate, scan.live_rate);
}

static void print_all(const bloomery_filter *filter)
{
    print_info(filter);
    print_file(filter);
    print_answers(filter);
    putchar('\n');
}

static void add_all(bloomery_filter *filter)
{
    static uint64_t numbers[PORTION];
    static bloomery_key list[PORTION];
    for (uint64_t done = 0; done < KEYS;) {
        const size_t now = make_keys(list, numbers, done, KEYS);
        const bloomery_keys keys = bloomery_keys_of_list(list, now);
        if (bloomery_add_keys(filter, &keys, NULL, NULL, NULL) != BLOOMERY_OK)
            printf(" add fails");
        done += now;
    }
}

static bloomery_status build_static(const bloomery_plan *plan, const bloomery_filter **filter,
                                    bloomery_error *error)
{
    bloomery_builder *builder;
    bloomery_status status = bloomery_builder_open(plan, NULL, NULL, &builder, error);
    for (uint64_t i = 0; i < KEYS && status == BLOOMERY_OK; i++) {
        const bloomery_key key = bloomery_key_of(&i, sizeof i);
        const bloomery_keys keys = bloomery_keys_of_list(&key, 1);
        status = bloomery_builder_add(builder, &keys, error);
    }
    if (status == BLOOMERY_OK)
        status = bloomery_builder_finish(builder, filter, error);
    bloomery_builder_free(builder);
    return status;
}

static void kind(bloomery_kind kind, uint32_t blocks_per_key, uint32_t cell_bits, double rate)
{
    bloomery_plan plan = {.kind = kind, .keys = KEYS, .rate = rate};
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    bloomery_filter *filter = NULL;
    const bloomery_filter *made = NULL;
    bloomery_error error;
    options.blocks_per_key = blocks_per_key;
    options.cell_bits = cell_bits;
    printf("%s L=%u cell=%u p=%g:", bloomery_kind_name((int)kind), blocks_per_key, cell_bits, rate);
    bloomery_status status = bloomery_plan_solve(&plan, &options, &error);
    if (status == BLOOMERY_OK)
        status = kind == BLOOMERY_STATIC ? build_static(&plan, &made, &error)
                                         : bloomery_create(&plan, NULL, &filter, &error);
    if (status != BLOOMERY_OK) {
        printf(" %s\n", error.text);
        return;
    }
    if (kind != BLOOMERY_STATIC) {
        add_all(filter);
        made = filter;
    }
    print_all(made);
    bloomery_free(made);
}

static void dialect(const bloomery_dialect *dialect)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    char text[300];
    struct sum sum = {sum_start, 0};
    if (strstr(dialect->create_takes, "keys") != NULL)
        parameters.keys = KEYS;
    if (strstr(dialect->create_takes, "rate") != NULL)
        parameters.rate = 0.01;
    else if (strstr(dialect->create_takes, "bits_per_key") != NULL)
        parameters.bits_per_key = 10;
    printf("%s:", dialect->name);
    if (bloomery_dialect_create(dialect, &parameters, NULL, &filter, &error) != BLOOMERY_OK) {
        printf(" %s\n", error.text);
        return;
    }
    add_all(filter);
    if (bloomery_dialect_write(filter, NULL, sum_up, &sum, &error) == BLOOMERY_OK)
        printf(" theirs %" PRIu64 " %016" PRIx64, sum.bytes, sum.sum);
    else
        printf(" %s", error.text);
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, text, sizeof text); i++)
        printf(" [%s]", text);
    print_all(filter);
    bloomery_free(filter);
}

static void file(const char *path)
{
    static uint8_t bytes[8 << 20];
    bloomery_filter *filter = NULL;
    bloomery_error error;
    const char *slash = strrchr(path, '/');
    FILE *stream = fopen(path, "rb");
    printf("%s:", slash != NULL ? slash + 1 : path);
    if (stream == NULL) {
        printf(" cannot be read\n");
        return;
    }
    const size_t count = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    if (bloomery_load(bytes, count, NULL, &filter, &error) != BLOOMERY_OK) {
        printf(" %s\n", error.text);
        return;
    }
    if (bloomery_verify(filter, &error) != BLOOMERY_OK)
        printf(" %s", error.text);
    print_all(filter);
    bloomery_free(filter);
}

int main(int argc, char **argv)
{
    for (uint32_t blocks = 1; blocks <= 4; blocks++)
        kind(BLOOMERY_BLOCKED, blocks, 0, 1e-3);
    kind(BLOOMERY_BLOCKED, 0, 0, 1e-6);
    kind(BLOOMERY_CLASSIC, 0, 0, 1e-2);
    kind(BLOOMERY_COUNTING, 0, 4, 1e-2);
    kind(BLOOMERY_COUNTING, 0, 8, 1e-4);
    kind(BLOOMERY_SCALABLE, 0, 0, 1e-2);
    kind(BLOOMERY_STATIC, 0, 0, 1e-2);
    kind(BLOOMERY_STATIC, 0, 0, 1e-9);
    const bloomery_dialect *next;
    for (uint32_t id = 1; (next = bloomery_dialect_get(id)) != NULL; id++)
        dialect(next);
    for (int i = 1; i < argc; i++)
        file(argv[i]);
    return ferror(stdout) != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running counts of a filter's bits are what reading it gives, after every portion and every
 * opening: of Bloomery's kinds, of chains that grow, and of each filter of another system that a
 * sieve takes.
 *
 * Build: this file, ../support/support.c; cmocka, the library with its insides. No arguments.
 * Suite: unit.
 */
#include "../support/sieve_keys.h"
#include "../support/support.h"

#include "sieve/memory_engine.h"

#include <bloomery/dialect.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 200, LONG_BYTES = 40000 };

static bloomery_sieve *open_with(const bloomery_sieve_options *options)
{
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {0};
    if (bloomery_sieve_open(options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return sieve;
}

static void compare(bloomery_sieve *sieve, const char *name)
{
    const struct bloomery_fill_level *filled = &sieve->filter->level;
    const bloomery_filter *filter = sieve->filter->filter;
    bloomery_info read = BLOOMERY_INFO;
    bloomery_sieve_info reported = BLOOMERY_SIEVE_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &read);
    bloomery_scan(filter, &scan);
    bloomery_sieve_info_get(sieve, &reported);
    const double keys = bloomery_fill_level_keys(filled, filter);
    if (filled->bits_set != scan.bits_set || filled->layers != read.layers)
        fail_msg("%s: %llu bits in %u layers are counted, and %llu in %u are there", name,
                 (unsigned long long)filled->bits_set, filled->layers,
                 (unsigned long long)scan.bits_set, read.layers);
    assert_true(keys == scan.estimated_keys || fabs(keys - scan.estimated_keys) < 1e-9 * keys);
    assert_true(fabs(keys - (double)reported.distinct) <= 0.5);
    /* A flat array of Bloomery's own has the rate of its fill; of others it is the one to be
     * expected with that many bits. */
    const bool flat = read.kind == BLOOMERY_CLASSIC && read.dialect == 0;
    const double rate = flat ? scan.live_rate : scan.expected_rate;
    if (fabs(reported.live_rate - rate) > 1e-9 * rate)
        fail_msg("%s: a rate of %.17g is reported, and %.17g is there", name, reported.live_rate,
                 rate);
    /* Which is that of its very bits but for how unevenly these lie. */
    if (rate > 0.01 && fabs(reported.live_rate - scan.live_rate) > 0.2 * rate)
        fail_msg("%s: a rate of %g is reported, and that of the bits is %g", name,
                 reported.live_rate, scan.live_rate);
    assert_int_equal(reported.seen_bytes, read.bytes);
}

/* Some pushes of each sort; `number` counts the keys. */
static void push_some(bloomery_sieve *sieve, uint64_t *number, uint8_t *longer)
{
    uint64_t numbers[BATCH];
    bloomery_key keys[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        numbers[i] = *number + i / 2; /* each comes twice */
        keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    }
    assert_int_equal(
        bloomery_sieve_push(sieve, keys, NULL, BATCH, BLOOMERY_SIEVE_PUSH, NULL, NULL, NULL),
        BLOOMERY_OK);
    *number += BATCH / 2;
    assert_true(mark_key(sieve, bloomery_key_of(number, sizeof *number), NULL, NULL) >= 0);
    *number += 1;
    assert_int_equal(push_key_again(sieve, bloomery_key_of(number, sizeof *number),
                                    bloomery_key_of("", 0), NULL, NULL),
                     BLOOMERY_SIEVE_NEW);
    *number += 1;
    memcpy(longer, number, sizeof *number);
    assert_true(push_key(sieve, bloomery_key_of(longer, LONG_BYTES), bloomery_key_of("", 0), NULL,
                         NULL) >= 0);
    *number += 1;
}

/* Lives of a sieve: closed, and opened again. */
static void live(const char *name, const bloomery_sieve_options *given, const char *path)
{
    bloomery_sieve_options options = *given;
    uint8_t *longer = calloc(1, LONG_BYTES);
    uint64_t number = 1;
    assert_non_null(longer);
    options.directory = path;
    options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    for (int life = 0; life < 3; life++) {
        bloomery_sieve *sieve = open_with(&options);
        compare(sieve, name);
        /* 120 long keys are 4.8 MB: the later lives end with a saved filter. */
        for (int i = 0; i < (life == 0 ? 10 : 120); i++) {
            push_some(sieve, &number, longer);
            if (i < 10 || i % 16 == 0)
                compare(sieve, name);
        }
        compare(sieve, name);
        assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
    }
    bloomery_sieve *sieve = open_with(&options);
    assert_true(sieve->filter->generation > 0);
    compare(sieve, name);
    assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
    free(longer);
}

static void running_counts_are_what_reading_gives(void **state)
{
    (void)state;
    static const bloomery_sieve_full fulls[] = {BLOOMERY_SIEVE_GROW, BLOOMERY_SIEVE_STOP,
                                                BLOOMERY_SIEVE_WARN};
    const bloomery_dialect *dialect = NULL;
    size_t taken = 0;
    for (size_t i = 0; i < 3 || (dialect = bloomery_dialect_get((uint32_t)i - 2)) != NULL; i++) {
        struct test_directory directory = test_directory_make();
        char path[300], command[320];
        test_join(path, sizeof path, &directory, "sieve");
        bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
        bloomery_sieve *sieve = NULL;
        options.engine = BLOOMERY_SIEVE_MEMORY;
        options.keys = i == 0 ? 1000 : 100000;
        options.rate = 0.01;
        options.full = i < 3 ? fulls[i] : BLOOMERY_SIEVE_WARN;
        options.dialect = dialect != NULL ? dialect->name : NULL;
        /* Some have fixed sizes, take other parameters, or have positions and no hashes. */
        if (i >= 3 && bloomery_sieve_open(&options, &sieve, NULL) == BLOOMERY_OK) {
            bloomery_sieve_close(sieve, NULL);
            live(dialect->name, &options, path);
            taken++;
        } else if (i < 3) {
            live("Bloomery's own", &options, path);
        }
        snprintf(command, sizeof command, "rm -rf '%s'", path);
        assert_int_equal(system(command), 0);
        test_directory_remove(&directory);
    }
    print_message("# filters of %zu other systems\n", taken);
    assert_true(taken >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_counts_are_what_reading_gives),
    };
    return test_run_group("sieve_counts", tests, NULL, NULL);
}

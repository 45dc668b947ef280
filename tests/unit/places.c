/* SPDX-License-Identifier: Apache-2.0 */
/* The distinct keys of a whole, from places of it: exact of all places, and of some rather too many
 * than too few, however the repeats lie. */
#include "command/dedupe/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BLOCKS = 1024, KEYS = 4096, LINE = 9 };

/* A permutation of 64-bit numbers (splitmix64). */
static uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static void take(void *context, const unsigned char *from, size_t bytes)
{
    assert_int_equal(bytes % LINE, 0);
    for (size_t i = 0; i < bytes; i += LINE) {
        char text[LINE] = {0};
        memcpy(text, from + i, LINE - 1);
        const bloomery_hash hash = {.hi = mixed(strtoul(text, NULL, 16) + 1)};
        tool_places_hash(context, &hash, 1);
    }
}

static struct tool_places begin(struct tool_places *places)
{
    return (struct tool_places){.delimiter = '\n',
                                .place_bytes = (size_t)KEYS * LINE * 2,
                                .line_room = (size_t)KEYS * LINE * 4,
                                .take = take,
                                .context = places};
}

/* Whether a key is in a block. Each key is in `each` blocks: a random one, and others a random odd
 * number apart. */
static bool is_in(uint64_t key, uint32_t each, uint32_t block, uint64_t seed)
{
    const uint64_t random = mixed(seed * KEYS + key);
    const uint32_t first = (uint32_t)(random % BLOCKS), apart = (uint32_t)(random >> 32) | 1;
    uint32_t inverse = apart; /* of an odd number, modulo a power of two */
    for (int i = 0; i < 5; i++)
        inverse *= 2 - apart * inverse;
    return (block - first) * inverse % BLOCKS < each;
}

/* The estimate by `sampled` of all blocks, each of which has its keys `times` times. */
static double estimates_of(uint32_t each, uint32_t sampled, int times, uint64_t seed, double *least)
{
    struct tool_places places = begin(&places);
    for (uint32_t i = 0; i < sampled; i++) {
        const uint32_t block = BLOCKS / sampled * i;
        char *to = (char *)tool_places_buffer(&places, (size_t)KEYS * LINE * 2 + 1);
        size_t used = 0;
        for (int time = 0; time < times; time++)
            for (uint64_t key = 0; key < KEYS; key++)
                if (is_in(key, each, block, seed))
                    used += (size_t)sprintf(to + used, "%08x\n", (unsigned)key);
        tool_places_take(&places, used, used, true);
    }
    const double distinct = tool_places_distinct(&places, (double)BLOCKS / sampled, least);
    tool_places_free(&places);
    return distinct;
}

static double estimate_of(uint32_t each, uint32_t sampled, int times, uint64_t seed)
{
    return estimates_of(each, sampled, times, seed, NULL);
}

static void all_places_are_exact(void **state)
{
    (void)state;
    for (uint32_t each = 1; each <= 64; each *= 8)
        assert_true(estimate_of(each, BLOCKS, 1, each) == KEYS);
}

static void repeats_in_a_place_change_nothing(void **state)
{
    (void)state;
    for (uint32_t each = 1; each <= 256; each *= 4)
        assert_true(estimate_of(each, 64, 2, 7) == estimate_of(each, 64, 1, 7));
}

/* Means of some runs, which are within 5 % of what they should be. */
static void estimates_are_not_too_low(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    for (uint32_t each = 1; each <= BLOCKS; each *= 4) {
        double mean = 0;
        for (uint64_t seed = 0; seed < RUNS; seed++)
            mean += estimate_of(each, 64, 1, seed) / RUNS;
        assert_true(mean > 0.95 * KEYS && mean < 1.05 * KEYS * each);
        if (each == 1 || each == BLOCKS)
            assert_true(mean < 1.05 * KEYS);
    }
}

/* Keys that are drawn at random, about five times each, are met in several places of a sixteenth:
 * their number follows from that, where the estimate of above has nearly all lines. Without a
 * repeat there is nothing to tell them from keys that do not come again. */
static void least_estimates_know_repeats_far_apart(void **state)
{
    (void)state;
    enum { DRAWN_OF = 20000, LINES = 100, SAMPLED = 64, RUNS = 8 };
    double mean = 0, high = 0, least = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct tool_places places = begin(&places);
        struct tool_random random = tool_random_make(seed, 0);
        for (uint32_t i = 0; i < SAMPLED; i++) {
            char *to = (char *)tool_places_buffer(&places, (size_t)LINES * LINE + 1);
            size_t used = 0;
            for (int line = 0; line < LINES; line++)
                used += (size_t)sprintf(to + used, "%08x\n",
                                        (unsigned)tool_scale(tool_random_next(&random), DRAWN_OF));
            tool_places_take(&places, used, used, true);
        }
        high += tool_places_distinct(&places, (double)BLOCKS / SAMPLED, &least) / RUNS;
        mean += least / RUNS;
        tool_places_free(&places);
    }
    assert_true(mean > 0.9 * DRAWN_OF && mean < 1.1 * DRAWN_OF && high > 3.0 * DRAWN_OF);
    for (uint32_t each = 1; each <= BLOCKS; each *= 4) {
        const double most = estimates_of(each, 64, 1, 3, &least);
        assert_true(least <= most && (each > 1 || least == most));
    }
    assert_true(estimates_of(4, BLOCKS, 1, 3, &least) == KEYS && least == KEYS);
}

/* Whether `count` lines seem to be different, of which each `every`th is one from the first half of
 * those before it. Of the file, up to 7.5 MB, one MB is looked at. */
static bool seem_different(uint32_t count, uint32_t every, const bloomery_key_rule *rule)
{
    char path[] = "/tmp/bloomery-places-XXXXXX", *paths[] = {path};
    const struct tool_source source = {.paths = paths, .count = 1, .delimiter = '\n'};
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%024u\n", i % every == 0 ? i / 2 : i);
    assert_int_equal(fclose(file), 0);
    const bool seem = tool_lines_seem_different(&source, rule, 1 << 14);
    assert_int_equal(unlink(path), 0);
    return seem;
}

static void lines_that_come_again_do_not_seem_different(void **state)
{
    enum { LINES = 300000, NEVER = LINES + 1 };
    const bloomery_key_rule none = {.field = 0}, field = {.field = 1};
    (void)state;
    assert_true(seem_different(LINES, NEVER, &none));
    assert_true(seem_different(LINES, 1000, &none));
    assert_false(seem_different(LINES, 25, &none));
    assert_false(seem_different(LINES, 3, &none));
    assert_false(seem_different(1 << 14, NEVER, &none)); /* few are counted exactly */
    assert_false(seem_different(LINES, NEVER, &field));  /* there may be fewer keys than lines */
}

/* As they can be made of lines of eight bytes, whose hash is a permutation. By insertion alone a
 * million of them would take some minutes. */
static void hashes_that_agree_in_their_upper_half_are_sorted_quickly(void **state)
{
    (void)state;
    enum { COUNT = 1 << 20, GROUPS = 3 };
    struct tool_places places = {.delimiter = '\n'};
    double least;
    const clock_t begin = clock();
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t low = (i / 2 + 1) * UINT64_C(0x9e3779b1) & UINT32_MAX; /* each one twice */
        const bloomery_hash hash = {.hi = i / 2 % GROUPS << 32 | low};
        tool_places_hash(&places, &hash, 1);
    }
    assert_true(tool_places_distinct(&places, 1, &least) == COUNT / 2 && least == COUNT / 2);
    for (size_t i = 1; i < places.count; i++)
        assert_true(places.hashes[i - 1] <= places.hashes[i]);
    tool_places_free(&places);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_places_are_exact),
        cmocka_unit_test(repeats_in_a_place_change_nothing),
        cmocka_unit_test(estimates_are_not_too_low),
        cmocka_unit_test(least_estimates_know_repeats_far_apart),
        cmocka_unit_test(lines_that_come_again_do_not_seem_different),
        cmocka_unit_test(hashes_that_agree_in_their_upper_half_are_sorted_quickly),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

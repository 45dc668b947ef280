/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes come back out of the store, each as often as it was kept, wherever the store kept them. */
#include "filter/hasher.h"

#include "base/system.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/many.h"

/* A counting filter shows whether one was lost, or came twice: counters of 8 bits, of which each
 * key has some that no other key has. */
static bloomery_filter *counters(bloomery_hash_id hash, uint64_t keys)
{
    /* Solving takes longer than everything else here: the last plan serves while it fits. */
    static bloomery_plan plan;
    const uint64_t planned = keys > 0 ? keys : 1;
    bloomery_filter *filter = NULL;
    if (plan.keys != planned || plan.hash != hash) {
        bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
        plan = (bloomery_plan){.kind = BLOOMERY_COUNTING, .keys = planned, .rate = 1e-4};
        options.hash = hash;
        options.cell_bits = 8;
        assert_int_equal(bloomery_plan_solve(&plan, &options, NULL), BLOOMERY_OK);
    }
    assert_int_equal(bloomery_create(&plan, NULL, &filter, NULL), BLOOMERY_OK);
    return filter;
}

static bloomery_hash hash_of(const bloomery_filter *filter, uint64_t number)
{
    bloomery_hash hash;
    assert_int_equal(
        bloomery_hash_key(filter, bloomery_key_of(&number, sizeof(number)), &hash, NULL),
        BLOOMERY_OK);
    return hash;
}

static int take(void *context, const void *data, size_t bytes)
{
    unsigned char **next = context;
    memcpy(*next, data, bytes);
    *next += bytes;
    return 0;
}

/* All of a filter but what says how many calls there were. */
static void assert_same(const bloomery_filter *one, const bloomery_filter *other)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(one, &info);
    const size_t room = (size_t)info.file_bytes + 4096;
    unsigned char *bytes[2];
    const bloomery_filter *filters[2] = {one, other};
    size_t counts[2];
    for (size_t i = 0; i < 2; i++) {
        bytes[i] = malloc(room);
        assert_non_null(bytes[i]);
        unsigned char *next = bytes[i];
        assert_int_equal(bloomery_write(filters[i], take, &next, NULL), BLOOMERY_OK);
        counts[i] = (size_t)(next - bytes[i]);
    }
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(bytes[0], bytes[1], counts[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* What the threads keep: thread i the numbers i, i + threads, ... in portions of many lengths. */
struct keeping {
    struct tool_hash_store *store;
    const bloomery_filter *filter;
    uint64_t keys;
    uint32_t threads;
    uint32_t idle; /* threads that have nothing */
};

static void keep(void *context, uint32_t thread)
{
    const struct keeping *keeping = context;
    const uint32_t busy = keeping->threads - keeping->idle;
    bloomery_hash hashes[100];
    size_t count = 0, portion = 1;
    if (thread >= busy)
        return;
    for (uint64_t i = thread; i < keeping->keys; i += busy) {
        hashes[count++] = hash_of(keeping->filter, i);
        if (count < portion && i + busy < keeping->keys)
            continue;
        assert_true(tool_hash_store_keep(keeping->store, thread, hashes, count));
        count = 0;
        portion = portion % 100 + 1;
    }
}

static void compare(bloomery_hash_id hash, uint64_t keys, uint32_t threads, uint32_t idle,
                    size_t memory)
{
    const size_t bytes = hash == BLOOMERY_HASH_XXH3_64 ? 8 : 16, least = (size_t)64 * threads;
    bloomery_filter *expected = counters(hash, keys), *found = counters(hash, keys);
    struct keeping keeping = {tool_hash_store_new(bytes, threads, memory), found, keys, threads,
                              idle};
    tool_team_run(threads, keep, &keeping);
    assert_int_equal(tool_hash_store_count(keeping.store), keys);
    /* It is full before the file is begun, but for what threads have not filled. */
    const uint64_t file = tool_hash_store_file_bytes(keeping.store);
    assert_true(file == 0 || keys * bytes - file <= (memory > least ? memory : least));
    assert_true(file > 0 || keys * bytes <= memory || keys * bytes <= least);
    for (uint64_t i = 0; i < keys; i++)
        assert_true(add_hash_status(expected, hash_of(expected, i)) == BLOOMERY_OK);
    assert_true(tool_hash_store_build(keeping.store, found, "filter", true));
    assert_same(expected, found);
    tool_hash_store_free(keeping.store);
    bloomery_free(expected);
    bloomery_free(found);
}

static void all_come_back(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, 8, 9, 1000, 5000};
    static const size_t memories[] = {1, 4096, 30000, (size_t)4 << 20};
    static const bloomery_hash_id hashes[] = {BLOOMERY_HASH_XXH3_64, BLOOMERY_HASH_XXH3_128};
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++)
        for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
            for (size_t m = 0; m < sizeof(memories) / sizeof(memories[0]); m++)
                for (uint32_t threads = 1; threads <= 5; threads += 2)
                    for (uint32_t idle = 0; idle < threads; idle += 2)
                        compare(hashes[h], numbers[n], threads, idle, memories[m]);
}

/* Blocks of a MiB, and a last one of which there is little. */
static void large_blocks_come_back(void **state)
{
    (void)state;
    compare(BLOOMERY_HASH_XXH3_64, 300000, 2, 0, (size_t)4 << 20);
    compare(BLOOMERY_HASH_XXH3_128, 150000, 1, 0, (size_t)256 << 20);
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Keeps until it can't; how many were kept before. */
static uint64_t keep_until_it_fails(struct tool_hash_store *store)
{
    bloomery_hash hash = {0, 1};
    for (uint64_t kept = 0; kept < 1000000; kept++)
        if (!tool_hash_store_keep(store, 0, &hash, 1))
            return kept;
    return UINT64_MAX;
}

static void a_missing_directory_fails_when_it_is_needed(void **state)
{
    (void)state;
    struct tool_hash_store *store = tool_hash_store_new(8, 1, 4096);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(keep_until_it_fails(store), 512);
    assert_true(tool_hash_store_failed(store));
    tool_hash_store_say(store);
    tool_hash_store_free(store);
    unsetenv("TMPDIR");
}

static void a_full_disk_fails(void **state)
{
    (void)state;
    struct rlimit limit, tight;
    struct tool_hash_store *store = tool_hash_store_new(16, 1, 8192);
    void (*const before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 16384 + 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const uint64_t kept = keep_until_it_fails(store);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, before);
    assert_in_range(kept, 1024, 1024 + 512 + 256);
    assert_true(tool_hash_store_failed(store));
    /* And from then on nothing is kept. */
    assert_false(tool_hash_store_keep(store, 0, &(bloomery_hash){0, 1}, 1));
    tool_hash_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_back),
        cmocka_unit_test(large_blocks_come_back),
        cmocka_unit_test(a_missing_directory_fails_when_it_is_needed),
        cmocka_unit_test(a_full_disk_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

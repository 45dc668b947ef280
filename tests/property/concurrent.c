/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that add to one filter at once lose nothing: every key is in it afterwards, its bytes are
 * those of the filter that one thread makes, and each key was NEW for at least one of its adders;
 * for exactly one where the filter was made so. Meant to run under ThreadSanitizer too, which sees
 * races that happen to do no harm.
 *
 * Build: this file, ../support/support.c; cmocka, the library, threads. No arguments. Suite:
 * property.
 */
#include "../support/team.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, KEYS = 6000, SHARE = 4000, ROUNDS = 3 };

/* Which call a thread adds with. */
enum call { CALL_ADD, CALL_BATCH, CALL_HASH, CALL_COLUMN, CALL_ONE, CALLS };

/* What the threads of a team do: each the same call, or calls by turns, of which those for one key
 * do not tell how many bits they set. */
enum { TEAM_MIXED = CALLS, TEAM_TELLS, TEAMS };

static enum call call_of(int team, unsigned thread)
{
    static const enum call telling[] = {CALL_BATCH, CALL_COLUMN, CALL_ONE};
    if (team == TEAM_TELLS)
        return telling[thread % 3];
    return team == TEAM_MIXED ? (enum call)(thread % CALLS) : (enum call)team;
}

static bool tells(int team)
{
    return team != CALL_ADD && team != CALL_HASH && team != TEAM_MIXED;
}

struct scene {
    struct team team;
    int calls;
    bloomery_filter *filter;
    const struct test_keys *keys;
    atomic_uint fresh[KEYS];   /* in how many threads the call returned NEW */
    atomic_size_t done;        /* the keys of thread 0 that are in */
    atomic_uint_fast64_t bits; /* newly set, as the calls returned */
};

struct member {
    struct scene *scene;
    unsigned number;
    enum call call;
};

/* Thread t adds keys t * 250 to t * 250 + SHARE - 1, modulo KEYS: every key has several adders. The
 * batch is walked in steps, so that threads meet on the same keys at different times. */
static size_t key_number(unsigned thread, size_t i)
{
    return (thread * 250 + i) % KEYS;
}

static void add_a_key(struct member *member, size_t i)
{
    struct scene *scene = member->scene;
    size_t number = key_number(member->number, i);
    bloomery_key key = scene->keys->keys[number];
    uint64_t bits = 0;
    int result = 0;
    if (member->call == CALL_ADD) {
        result = add_outcome(scene->filter, key);
    } else if (member->call == CALL_ONE) {
        result = add_one(scene->filter, key, &bits);
    } else {
        bloomery_hash hash;
        TEAM_MUST(&scene->team, bloomery_hash_key(scene->filter, key, &hash, NULL) == BLOOMERY_OK);
        result = add_hash_outcome(scene->filter, hash);
    }
    TEAM_MUST(&scene->team, result >= 0);
    atomic_fetch_add(&scene->fresh[number], (unsigned)(result == WAS_NEW));
    atomic_fetch_add(&scene->bits, bits);
}

/* How many keys a call for many of them gets. */
enum { STEP = 200 };

/* The keys as a column, of which each second row has no key. */
struct rows {
    bloomery_keys column;
    int32_t offsets[2 * STEP + 1];
    uint8_t text[STEP * TEST_SECRET_BYTES];
    uint8_t valid[2 * STEP / 8];
};

static void rows_fill(struct rows *rows, const bloomery_key *keys, size_t count, bool nulls)
{
    const size_t each = nulls ? 2 : 1;
    int32_t end = 0;
    rows->column = (bloomery_keys)BLOOMERY_KEYS;
    rows->column.form = BLOOMERY_KEYS_OFFSETS32;
    for (size_t i = 0; i < count * each; i++) {
        rows->offsets[i] = end;
        if (i % each != 0)
            continue;
        memcpy(rows->text + end, keys[i / each].data, keys[i / each].bytes);
        end += (int32_t)keys[i / each].bytes;
    }
    rows->offsets[count * each] = end;
    memset(rows->valid, 0x55, sizeof rows->valid);
    rows->column.count = count * each;
    rows->column.data = rows->text;
    rows->column.bytes = (size_t)end;
    rows->column.offsets = rows->offsets;
    rows->column.valid = nulls ? rows->valid : NULL;
    rows->column.nulls = nulls ? (int64_t)count : 0;
}

/* By column: of keys, of keys and nulls, or of hashes. */
static bloomery_status add_rows(struct member *member, const bloomery_key *batch, size_t count,
                                uint64_t *answers, uint64_t *bits)
{
    struct rows rows;
    bloomery_hash hashes[STEP];
    uint64_t wide[2 * STEP / 64 + 1];
    const bool nulls = member->number % 3 == 1;
    rows_fill(&rows, batch, count, nulls);
    bloomery_filter *filter = member->scene->filter;
    if (nulls) {
        const bloomery_status status = add_keys_bits(filter, &rows.column, wide, bits, NULL);
        memset(answers, 0, (count + 63) / 64 * sizeof *answers);
        for (size_t i = 0; i < count; i++)
            answers[i / 64] |= (wide[2 * i / 64] >> 2 * i % 64 & 1) << i % 64;
        return status;
    }
    if (member->number % 3 == 2) {
        TEAM_MUST(&member->scene->team,
                  bloomery_hash_keys(filter, &rows.column, hashes, NULL) == BLOOMERY_OK);
        rows.column.form = BLOOMERY_KEYS_HASHES128;
        rows.column.data = hashes;
    }
    return add_keys_bits(filter, &rows.column, answers, bits, NULL);
}

static void add_some(struct member *member, size_t first, size_t count)
{
    struct scene *scene = member->scene;
    bloomery_key batch[STEP];
    uint64_t answers[STEP / 64 + 1];
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        batch[i] = scene->keys->keys[key_number(member->number, first + i)];
    const bloomery_status status = member->call == CALL_COLUMN
                                       ? add_rows(member, batch, count, answers, &bits)
                                       : add_list_bits(scene->filter, batch, count, answers, &bits);
    TEAM_MUST(&scene->team, status == BLOOMERY_OK);
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add(&scene->fresh[key_number(member->number, first + i)],
                         (unsigned)(answers[i >> 6] >> (i & 63) & 1));
    atomic_fetch_add(&scene->bits, bits);
}

/* Queries what is in already, while others add. */
static void watch(struct scene *scene)
{
    for (size_t done = 0; done < SHARE;) {
        done = atomic_load(&scene->done);
        for (size_t i = done > 300 ? done - 300 : 0; i < done; i++)
            TEAM_MUST(&scene->team,
                      bloomery_may_contain(scene->filter, scene->keys->keys[key_number(0, i)]));
        size_t last = done < 128 ? done : 128;
        TEAM_MUST(&scene->team, query_list(scene->filter, scene->keys->keys, last, NULL) == last);
        struct rows rows;
        rows_fill(&rows, scene->keys->keys, last, done % 2 == 0);
        size_t found = 0;
        TEAM_MUST(&scene->team,
                  query_keys(scene->filter, &rows.column, NULL, &found, NULL) == BLOOMERY_OK &&
                      found == last);
    }
}

static void work(void *context, unsigned number)
{
    struct scene *scene = context;
    struct member member = {scene, number, call_of(scene->calls, number)};
    if (number == THREADS) {
        watch(scene);
        return;
    }
    const bool many = member.call == CALL_BATCH || member.call == CALL_COLUMN;
    size_t step = many ? STEP : 1;
    for (size_t i = 0; i < SHARE; i += step) {
        if (many)
            add_some(&member, i, step);
        else
            add_a_key(&member, i);
        if (number == 0)
            atomic_store(&scene->done, i + step);
    }
}

static struct scene *run_together(const bloomery_plan *plan, int calls,
                                  const struct test_keys *keys)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.concurrent_adds = true;
    scene->filter = test_create(plan, &options);
    scene->keys = keys;
    scene->calls = calls;
    team_run(&scene->team, THREADS + 1, work, scene);
    return scene;
}

static void scene_free(struct scene *scene)
{
    bloomery_free(scene->filter);
    free(scene);
}

/* The same calls by one thread. */
static bloomery_filter *run_alone(const bloomery_plan *plan, const struct test_keys *keys)
{
    bloomery_filter *filter = test_create(plan, NULL);
    for (unsigned t = 0; t < THREADS; t++)
        for (size_t i = 0; i < SHARE; i++)
            assert_true(add_status(filter, keys->keys[key_number(t, i)]) == BLOOMERY_OK);
    return filter;
}

static void check_team(const bloomery_plan *plan, int calls, const struct test_keys *keys)
{
    struct scene *scene = run_together(plan, calls, keys);
    bloomery_filter *alone = run_alone(plan, keys);
    bloomery_info ours = BLOOMERY_INFO;
    bloomery_info theirs = BLOOMERY_INFO;
    bloomery_info_get(scene->filter, &ours);
    bloomery_scan_result ours_scan = scan_of(scene->filter);
    bloomery_info_get(alone, &theirs);
    bloomery_scan_result theirs_scan = scan_of(alone);
    /* Each bit had one thread that set it, and each call was counted. */
    assert_int_equal(ours_scan.bits_set, theirs_scan.bits_set);
    if (tells(calls))
        assert_int_equal(atomic_load(&scene->bits), ours_scan.bits_set);
    else
        assert_true(atomic_load(&scene->bits) <= ours_scan.bits_set);
    assert_int_equal(ours.adds, theirs.adds);
    test_assert_same(scene->filter, alone);
    for (size_t i = 0; i < KEYS; i++) {
        unsigned fresh = atomic_load(&scene->fresh[i]);
        bool added = false;
        for (unsigned t = 0; t < THREADS; t++)
            added |= (i + KEYS - t * 250) % KEYS < SHARE;
        /* The rate is 1e-12: none is SEEN by a false positive. */
        assert_true(added ? fresh >= 1 && fresh <= THREADS : fresh == 0);
        if (added)
            assert_true(bloomery_may_contain(scene->filter, keys->keys[i]));
    }
    bloomery_free(alone);
    scene_free(scene);
}

static void concurrent_adds_lose_nothing(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 4, 0, KEYS);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS, 1e-12);
        for (int round = 0; round < (test_long() ? 50 : ROUNDS); round++)
            for (int calls = 0; calls < TEAMS; calls++)
                check_team(&plan, calls, &keys);
    }
    test_keys_free(&keys);
}

/* Each number of blocks, with a bit in all words of a block and in some: ways of their own. At
 * these sizes the rate is below 1e-9. */
static void concurrent_adds_of_every_shape_lose_nothing(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 9, 0, KEYS);
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
        for (uint32_t probes = 6; probes <= 8; probes += 2)
            for (int round = 0; round < (test_long() ? 50 : ROUNDS); round++) {
                const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                            .bits = 20000 * 512,
                                            .blocks_per_key = blocks_per_key,
                                            .probes = probes};
                check_team(&plan, round % 2 ? TEAM_MIXED : TEAM_TELLS, &keys);
            }
    test_keys_free(&keys);
}

/* All threads fight for one block, where an OR that is not atomic would lose bits at once. */
static void concurrent_adds_to_one_block_lose_nothing(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = {.kind = test_shapes[s].kind,
                              .cell_bits = test_shapes[s].cell_bits,
                              .bits = 512,
                              .blocks_per_key = test_shapes[s].blocks_per_key,
                              .probes = 1};
        for (int round = 0; round < 10; round++) {
            const int calls = round % 2 ? TEAM_MIXED : TEAM_TELLS;
            struct scene *scene = run_together(&plan, calls, &keys);
            bloomery_scan_result scan = scan_of(scene->filter);
            assert_true(!tells(calls) || atomic_load(&scene->bits) == scan.bits_set);
            bloomery_filter *alone = run_alone(&plan, &keys);
            bloomery_scan_result expected_scan = scan_of(alone);
            bloomery_free(alone);
            assert_int_equal(scan.bits_set, expected_scan.bits_set);
            scene_free(scene);
        }
    }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_adds_lose_nothing),
        cmocka_unit_test(concurrent_adds_of_every_shape_lose_nothing),
        cmocka_unit_test(concurrent_adds_to_one_block_lose_nothing),
    };
    return test_run_group("concurrent", tests, NULL, NULL);
}

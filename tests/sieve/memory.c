/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every request for memory is refused once. A call that is refused it fails, says so, and has
 * changed nothing: the same call again goes through, and in the end all is as if nothing had been.
 * And all memory comes back.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, PUSHES = 60, POP = 40, MANY = 1300 };

struct stage {
    struct test_directory directory;
    char path[300];
    struct test_memory memory;
    struct stream_area area;
    bloomery_sieve_options options;
    bloomery_sieve *sieve;
    bool disk;
    uint64_t pushed;
    uint64_t leased;
    uint64_t acked;
    uint64_t refused; /* calls that were refused memory */
    bool came[STREAM_IDS >> 8];
    uint32_t came_count;
};

static bool give_up_once(struct stage *stage, int status, const bloomery_error *error, int line)
{
    if (status >= 0)
        return false;
    if (status != BLOOMERY_OUT_OF_MEMORY || error->status != status || error->text[0] == '\0')
        fail_msg("line %d: status %d, error %d: %s", line, status, error->status, error->text);
    stage->refused++;
    return true;
}

/* The call, and where it was refused memory the same call again. */
#define AGAIN(stage, call)                                     \
    do {                                                       \
        bloomery_error error = {0};                            \
        int status = (call);                                   \
        if (give_up_once((stage), status, &error, __LINE__)) { \
            judge_unchanged(stage);                            \
            status = (call);                                   \
        }                                                      \
        if (status < 0)                                        \
            fail_msg("refused twice: %s", error.text);         \
    } while (0)

static void judge_unchanged(const struct stage *stage)
{
    const bloomery_sieve_info now = sieve_info_of(stage->sieve);
    assert_int_equal(now.pushed, stage->pushed);
    assert_int_equal(now.leased, stage->leased);
    assert_int_equal(now.done, stage->acked);
    assert_int_equal(now.pushed, now.new_keys + now.seen + now.pending + now.forced + now.marked);
}

static void push_all(struct stage *stage, uint32_t first, uint32_t count)
{
    const bloomery_key none = {0};
    for (uint32_t id = first; id < first + count; id++) {
        stage->area.used = 0;
        const bloomery_key key = stream_key(&stage->area, id, true);
        AGAIN(stage, push_key(stage->sieve, key, none, NULL, &error));
        stage->pushed++;
    }
}

static size_t pop_some(struct stage *stage)
{
    bloomery_sieve_item items[POP];
    uint64_t numbers[POP];
    size_t count = 0;
    AGAIN(stage, bloomery_sieve_pop(stage->sieve, items, POP, BLOOMERY_SIEVE_POP, &count, &error));
    for (size_t i = 0; i < count; i++) {
        uint32_t id = 0;
        assert_true(stream_id(items[i].key, true, &id));
        assert_false(stage->came[id]);
        stage->came[id] = true;
        stage->came_count++;
        numbers[i] = items[i].number;
    }
    stage->leased = count;
    AGAIN(stage,
          bloomery_sieve_finish(stage->sieve, numbers, count, BLOOMERY_SIEVE_DONE, NULL, &error));
    stage->leased = 0;
    stage->acked += count;
    return count;
}

static bool open_sieve(struct stage *stage)
{
    bloomery_error error = {0};
    const int status = bloomery_sieve_open(&stage->options, &stage->sieve, &error);
    if (!give_up_once(stage, status, &error, __LINE__))
        return true;
    assert_null(stage->sieve);
    assert_int_equal(stage->memory.live, 0);
    assert_false(stage->memory.wrong);
    return false;
}

static void close_sieve(struct stage *stage)
{
    bloomery_error error = {0};
    /* What it could not commit it says; then the next opening finds what the last commit said. */
    const int status = bloomery_sieve_close(stage->sieve, &error);
    give_up_once(stage, status, &error, __LINE__);
    assert_int_equal(stage->memory.live, 0);
    assert_false(stage->memory.wrong);
}

/* The whole of a short life, in which request number `refuse` is refused. Returns how many requests
 * there were. */
static uint64_t live(struct stage *stage, uint64_t refuse)
{
    stage->memory = (struct test_memory){.refuse_at = refuse};
    stage->pushed = stage->leased = stage->acked = 0;
    stage->refused = 0;
    stage->came_count = 0;
    memset(stage->came, 0, sizeof stage->came);
    while (!open_sieve(stage))
        continue;
    push_all(stage, 0, PUSHES);
    push_all(stage, 4001 + 7, 1);   /* 70,000 bytes */
    push_all(stage, 20011 + 11, 1); /* a million */
    pop_some(stage);
    AGAIN(stage, bloomery_sieve_flush(stage->sieve, &error));
    AGAIN(stage, bloomery_sieve_commit(stage->sieve, &error));
    push_all(stage, PUSHES, MANY);
    while (pop_some(stage) > 0)
        continue;
    assert_int_equal(stage->came_count, PUSHES + 2 + MANY);
    judge_unchanged(stage);
    AGAIN(stage, bloomery_sieve_verify(stage->sieve, NULL, NULL, &(uint64_t){0}, &error));
    AGAIN(stage, bloomery_sieve_commit(stage->sieve, &error));
    close_sieve(stage);
    if (stage->options.directory != NULL) {
        while (!open_sieve(stage))
            continue;
        assert_int_equal(sieve_info_of(stage->sieve).done, PUSHES + 2 + MANY);
        close_sieve(stage);
        test_remove(stage->path);
    }
    return stage->memory.requests;
}

static void refuse_each(bloomery_sieve_engine engine, bool directory)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->directory = test_directory_make();
    stream_area_make(&stage->area);
    test_join(stage->path, sizeof stage->path, &stage->directory, "sieve");
    stage->options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    stage->options.allocator = test_allocator(&stage->memory);
    stage->options.engine = engine;
    stage->options.directory = directory ? stage->path : NULL;
    stage->options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    stage->options.rate = engine == BLOOMERY_SIEVE_MEMORY ? 1e-9 : 0;
    stage->options.keys = 1200; /* it has to grow */
    stage->options.partitions = engine == BLOOMERY_SIEVE_DISK ? 2 : 0;
    stage->options.memory = engine == BLOOMERY_SIEVE_DISK ? 3000000 : 0;
    const uint64_t requests = live(stage, 0);
    const uint64_t step = test_long() || requests < 30 ? 1 : requests / 12;
    assert_true(requests > 3);
    assert_int_equal(stage->refused, 0);
    for (uint64_t refuse = 1; refuse <= requests; refuse += refuse < 12 ? 1 : step) {
        live(stage, refuse);
        /* What can be done without is not told. */
        if (stage->refused > 1)
            fail_msg("request %llu of %llu was refused, and %llu calls failed",
                     (unsigned long long)refuse, (unsigned long long)requests,
                     (unsigned long long)stage->refused);
    }
    stream_area_free(&stage->area);
    test_directory_remove(&stage->directory);
    free(stage);
}

static void disk_survives_every_refusal(void **state)
{
    (void)state;
    refuse_each(BLOOMERY_SIEVE_DISK, true);
}

static void memory_survives_every_refusal(void **state)
{
    (void)state;
    refuse_each(BLOOMERY_SIEVE_MEMORY, false);
}

static void kept_memory_survives_every_refusal(void **state)
{
    (void)state;
    refuse_each(BLOOMERY_SIEVE_MEMORY, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_survives_every_refusal),
        cmocka_unit_test(memory_survives_every_refusal),
        cmocka_unit_test(kept_memory_survives_every_refusal),
    };
    return test_run_group("sieve_memory", tests, NULL, NULL);
}

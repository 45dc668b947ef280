/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was begun and not ended, and is done again: opening after a kill, recovering after a
 * recovery that failed. This program's fdatasync and renameat stand before those of the system, so
 * that they can fail, kill, or look.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KILLED = 77, POP = 64 };

static struct scene {
    struct test_directory directory;
    char path[300];
    char watched[360]; /* a file that the commit before names */
    bloomery_sieve_options options;
    bool kills;       /* a sync of MANIFEST ends the process */
    bool synced;      /* MANIFEST was, */
    bool was_there;   /* and then the file that is watched was there yet */
    int rename_fails; /* with this number */
    bool locked;      /* the directory was, */
    bool let_go;      /* and then it was not */
} scene;

/* ---- The system -------------------------------------------------------------------------- */

int fdatasync(int file)
{
    char layer[64];
    char name[400] = "";
    snprintf(layer, sizeof layer, "/proc/self/fd/%d", file);
    const ssize_t bytes = readlink(layer, name, sizeof name - 1);
    if (bytes > 8 && strcmp(name + bytes - 8, "MANIFEST") == 0) {
        if (scene.kills)
            _exit(KILLED);
        scene.was_there = scene.synced ? scene.was_there : access(scene.watched, F_OK) == 0;
        scene.synced = true;
    }
    return (int)syscall(SYS_fdatasync, file);
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (scene.rename_fails != 0) {
        errno = scene.rename_fails;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

/* ---- A sieve ----------------------------------------------------------------------------- */

static void scene_make(bloomery_sieve_engine engine)
{
    memset(&scene, 0, sizeof scene);
    scene.directory = test_directory_make();
    test_join(scene.path, sizeof scene.path, &scene.directory, "sieve");
    scene.options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    scene.options.directory = scene.path;
    scene.options.engine = engine;
    scene.options.memory = engine == BLOOMERY_SIEVE_DISK ? 1400000 : 0;
    scene.options.partitions = engine == BLOOMERY_SIEVE_DISK ? 1 : 0;
    scene.options.sync_seconds = 1e6;
}

static void scene_free(void)
{
    test_directory_remove(&scene.directory);
}

static void push_ids(bloomery_sieve *sieve, uint32_t first, uint32_t end)
{
    for (uint32_t id = first; id < end; id++) {
        char text[64];
        const int bytes = snprintf(text, sizeof text, "http://example.org/page/%u", id);
        assert_true(push_key(sieve, bloomery_key_of(text, (size_t)bytes), bloomery_key_of("", 0),
                             NULL, NULL) >= 0);
    }
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
}

static void must_commit(bloomery_sieve *sieve)
{
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
}

static uint64_t segment_bytes(void)
{
    char path[360];
    struct stat facts;
    snprintf(path, sizeof path, "%s/queue-000000000001", scene.path);
    assert_int_equal(stat(path, &facts), 0);
    return (uint64_t)facts.st_size;
}

/* Zeros in the first segment of the queue. */
static void wipe(uint64_t from, uint64_t end)
{
    char path[360];
    uint8_t *nothing = calloc(1, end - from);
    snprintf(path, sizeof path, "%s/queue-000000000001", scene.path);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0 && nothing != NULL);
    assert_int_equal(pwrite(file, nothing, end - from, (off_t)from), end - from);
    close(file);
    free(nothing);
}

static bloomery_sieve_recovery must_recover(void)
{
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error;
    if (bloomery_sieve_recover(&scene.options, NULL, NULL, &found, &error) != BLOOMERY_OK)
        fail_msg("recover: %s", error.text);
    return found;
}

/* How many items come out of it, all acknowledged. */
static uint64_t drain(void)
{
    uint64_t damaged = 0;
    bloomery_sieve *sieve = must_open(&scene.options);
    assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
    assert_int_equal(damaged, 0);
    const uint64_t total = sieve_drain(sieve);
    must_close(sieve);
    return total;
}

/* ---- Tests ------------------------------------------------------------------------------- */

/* A process that is killed after it wrote a commit, and before that was synced, leaves it to the
 * system. The next open of the sieve sees it, and a power cut may undo it yet: so it is synced
 * before what it does without is removed. */
static void a_commit_that_a_kill_left_is_synced_first(void **state)
{
    (void)state;
    scene_make(BLOOMERY_SIEVE_DISK);
    bloomery_sieve *sieve = must_open(&scene.options);
    push_ids(sieve, 0, 1000);
    must_close(sieve);
    snprintf(scene.watched, sizeof scene.watched, "%s/seen-000.1", scene.path);
    assert_int_equal(access(scene.watched, F_OK), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sieve = must_open(&scene.options);
        push_ids(sieve, 1000, 2000);
        scene.kills = true;
        bloomery_sieve_commit(sieve, NULL);
        _exit(1);
    }
    assert_int_equal(test_wait(child), KILLED);
    assert_int_equal(access(scene.watched, F_OK), 0);
    scene.synced = false;
    sieve = must_open(&scene.options);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.pushed, 2000);
    assert_true(scene.synced && scene.was_there);
    assert_int_equal(access(scene.watched, F_OK), -1);
    must_close(sieve);
    scene_free();
}

/* Items in place of those that were lost have as many bytes, however many they are. */
static void damage_of_any_length_is_recovered(void **state)
{
    static const uint32_t lost[] = {65535, 65536, 65537, 65539, 131073};
    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        scene_make(BLOOMERY_SIEVE_MEMORY);
        bloomery_sieve *sieve = must_open(&scene.options);
        push_ids(sieve, 0, 100);
        must_commit(sieve);
        const uint64_t from = segment_bytes();
        push_ids(sieve, 100, 100 + lost[i]);
        must_commit(sieve);
        const uint64_t end = segment_bytes();
        push_ids(sieve, 1000000, 1000100);
        must_close(sieve);
        wipe(from, end);
        assert_int_equal(must_recover().queued, lost[i]);
        assert_int_equal(drain(), 200);
        scene_free();
    }
}

static void the_longest_items_can_be_lost_together(void **state)
{
    (void)state;
    uint8_t *key = calloc(1, BLOOMERY_SIEVE_ITEM_MAX);
    scene_make(BLOOMERY_SIEVE_MEMORY);
    bloomery_sieve *sieve = must_open(&scene.options);
    push_ids(sieve, 0, 100);
    must_commit(sieve);
    const uint64_t from = segment_bytes();
    for (uint8_t i = 0; i < 5; i++) {
        key[0] = i;
        assert_int_equal(push_key(sieve, bloomery_key_of(key, BLOOMERY_SIEVE_ITEM_MAX),
                                  bloomery_key_of("", 0), NULL, NULL),
                         BLOOMERY_SIEVE_NEW);
    }
    must_commit(sieve);
    const uint64_t end = segment_bytes();
    push_ids(sieve, 100, 200);
    must_close(sieve);
    wipe(from, end);
    assert_int_equal(must_recover().queued, 5);
    assert_int_equal(drain(), 200);
    free(key);
    scene_free();
}

/* Of two that lie side by side the first takes all that is nothing, and the second has no frame. */
static void missing_segments_are_recovered(void **state)
{
    (void)state;
    enum { ITEMS = 64 * 4, DONE = 140 }; /* the head is in the third of four */
    uint8_t *key = calloc(1, BLOOMERY_SIEVE_ITEM_MAX);
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene_make((bloomery_sieve_engine)engine);
        scene.options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
        bloomery_sieve *sieve = must_open(&scene.options);
        for (uint32_t i = 0; i < ITEMS; i++) {
            memcpy(key, &i, sizeof i);
            assert_true(push_key(sieve, bloomery_key_of(key, BLOOMERY_SIEVE_ITEM_MAX),
                                 bloomery_key_of("", 0), NULL, NULL) > 0);
        }
        assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
        must_close(sieve);
        for (int i = 2; i <= 3; i++) {
            snprintf(scene.watched, sizeof scene.watched, "%s/queue-%012d", scene.path, i);
            assert_int_equal(unlink(scene.watched), 0);
        }
        const uint64_t lost = must_recover().queued;
        assert_true(lost >= 126 && lost <= 130);
        assert_int_equal(drain(), ITEMS - lost);
        scene_free();
    }
    /* The memory engine reads from before the head, where its filter was not saved. */
    scene_make(BLOOMERY_SIEVE_MEMORY);
    scene.options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    scene.options.keys = 200000000; /* a large one, which is seldom saved */
    const pid_t child = fork();
    if (child == 0) {
        bloomery_sieve *sieve = must_open(&scene.options);
        for (uint32_t i = 0; i < ITEMS; i++) {
            memcpy(key, &i, sizeof i);
            push_key(sieve, bloomery_key_of(key, BLOOMERY_SIEVE_ITEM_MAX), bloomery_key_of("", 0),
                     NULL, NULL);
        }
        for (uint32_t i = 0; i < DONE; i++) {
            bloomery_sieve_item item;
            size_t count = 0;
            bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &count, NULL);
            bloomery_sieve_finish(sieve, &item.number, 1, BLOOMERY_SIEVE_DONE, NULL, NULL);
        }
        _exit(bloomery_sieve_commit(sieve, NULL) == BLOOMERY_OK ? KILLED : 1);
    }
    assert_int_equal(test_wait(child), KILLED);
    for (int i = 2; i <= 3; i++) {
        snprintf(scene.watched, sizeof scene.watched, "%s/queue-%012d", scene.path, i);
        assert_int_equal(unlink(scene.watched), 0);
    }
    const uint64_t lost = must_recover().queued;
    assert_true(lost > 0);
    assert_int_equal(drain(), ITEMS - DONE - lost);
    scene_free();
    free(key);
}

/* The memory engine reads from where its filter was saved; the head is where numbers are known. */
static void damage_from_before_the_head_is_recovered(void **state)
{
    (void)state;
    uint64_t ends[2];
    enum { SAVED = 64 * POP * 40 };
    scene_make(BLOOMERY_SIEVE_MEMORY);
    bloomery_sieve *sieve = must_open(&scene.options);
    push_ids(sieve, 0, SAVED); /* enough for closing to save the filter */
    must_close(sieve);
    ends[0] = segment_bytes();
    const pid_t child = fork();
    if (child == 0) {
        bloomery_sieve_item items[POP];
        size_t count = 1;
        sieve = must_open(&scene.options);
        push_ids(sieve, SAVED, SAVED + 100);
        must_commit(sieve);
        push_ids(sieve, SAVED + 100, SAVED + 200);
        must_commit(sieve);
        for (size_t done = 0; done < SAVED + 150; done += count) {
            bloomery_sieve_pop(sieve, items, done < SAVED ? POP : 50, BLOOMERY_SIEVE_POP, &count,
                               NULL);
            for (size_t j = 0; j < count; j++)
                bloomery_sieve_finish(sieve, &items[j].number, 1, BLOOMERY_SIEVE_DONE, NULL, NULL);
        }
        must_commit(sieve);
        _exit(KILLED);
    }
    assert_int_equal(test_wait(child), KILLED);
    ends[1] = segment_bytes();
    sieve = must_open(&scene.options);
    push_ids(sieve, 0, 1);
    push_ids(sieve, SAVED + 200, SAVED + 300);
    must_close(sieve);
    wipe(ends[0], ends[1]);
    const uint64_t lost = must_recover().queued;
    assert_int_equal(lost, 50);
    assert_int_equal(drain(), 100);
    scene_free();
}

/* Frames were overwritten, and the manifest names leases in them yet. */
static void a_recovery_that_failed_is_done_again(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_item items[POP];
        size_t count = 0;
        scene_make((bloomery_sieve_engine)engine);
        bloomery_sieve *sieve = must_open(&scene.options);
        push_ids(sieve, 0, 100);
        must_commit(sieve);
        const uint64_t end = segment_bytes();
        push_ids(sieve, 100, 200);
        count = must_pop(sieve, items, POP);
        assert_int_equal(count, POP);
        must_close(sieve);
        wipe(end - 20, end);
        scene.rename_fails = EIO;
        assert_int_equal(bloomery_sieve_recover(&scene.options, NULL, NULL, NULL, NULL),
                         BLOOMERY_IO_FAILED);
        scene.rename_fails = 0;
        must_recover();
        assert_int_equal(drain(), 100);
        scene_free();
    }
}

/* The state of the last commit cannot be read, so recovery gives up a damaged frame by the state
 * before, and fails. Then the last commit is put back: it names leases in that frame, which lies
 * before all that is queued. */
static void leases_of_what_an_older_state_gave_up_end(void **state)
{
    enum { COPIES = 4, ITEMS = 100 };
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_item items[ITEMS + 1];
        char path[360];
        scene_make((bloomery_sieve_engine)engine);
        snprintf(path, sizeof path, "%s/MANIFEST", scene.path);
        bloomery_sieve *sieve = must_open(&scene.options);
        push_ids(sieve, 0, ITEMS);
        must_commit(sieve);
        const uint64_t end = segment_bytes();
        push_ids(sieve, ITEMS, 2 * ITEMS);
        must_commit(sieve);
        assert_int_equal(must_pop(sieve, items, ITEMS + 1), ITEMS + 1);
        must_close(sieve);
        wipe(end - 20, end);
        struct test_bytes sound = test_read_file(path);
        struct test_bytes damaged = test_copy_bytes(sound.data, sound.bytes);
        const size_t copy = sound.bytes / COPIES;
        const bool newer =
            test_load_u64(sound.data + 32) < test_load_u64(sound.data + 2 * copy + 32);
        for (size_t i = newer ? 2 : 0; i < (newer ? 4u : 2u); i++)
            damaged.data[i * copy + 100] ^= 1;
        test_write_file(path, damaged.data, damaged.bytes);
        scene.rename_fails = EIO;
        assert_int_equal(bloomery_sieve_recover(&scene.options, NULL, NULL, NULL, NULL),
                         BLOOMERY_IO_FAILED);
        scene.rename_fails = 0;
        test_write_file(path, sound.data, sound.bytes);
        const bloomery_sieve_recovery found = must_recover();
        assert_true(found.damaged > 0 && !found.older);
        assert_int_equal(found.queued, ITEMS);
        assert_int_equal(drain(), ITEMS);
        test_bytes_free(&sound);
        test_bytes_free(&damaged);
        scene_free();
    }
}

static void *allocate_and_look(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    const int directory = open(scene.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool got = flock(directory, LOCK_EX | LOCK_NB) == 0;
    scene.let_go = scene.let_go || (got && scene.locked);
    scene.locked = scene.locked || !got;
    close(directory);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    free(memory);
}

/* Another process that waits for the sieve gets it when recovery is over, not half way: then it
 * would fail, though it had been done. */
static void recovery_keeps_its_lock_to_the_end(void **state)
{
    (void)state;
    scene_make(BLOOMERY_SIEVE_DISK);
    bloomery_sieve *sieve = must_open(&scene.options);
    push_ids(sieve, 0, 1000);
    must_close(sieve);
    scene.options.allocator.allocate = allocate_and_look;
    scene.options.allocator.release = release;
    must_recover();
    assert_true(scene.locked && !scene.let_go);
    scene.options.allocator = (bloomery_allocator){0};
    must_close(must_open(&scene.options));
    scene_free();
}

static void recovery_refuses_half_an_allocator(void **state)
{
    (void)state;
    bloomery_error error;
    scene_make(BLOOMERY_SIEVE_DISK);
    must_close(must_open(&scene.options));
    scene.options.allocator.allocate = allocate_and_look;
    assert_int_equal(bloomery_sieve_recover(&scene.options, NULL, NULL, NULL, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "allocator"));
    scene_free();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_a_kill_left_is_synced_first),
        cmocka_unit_test(damage_of_any_length_is_recovered),
        cmocka_unit_test(the_longest_items_can_be_lost_together),
        cmocka_unit_test(missing_segments_are_recovered),
        cmocka_unit_test(damage_from_before_the_head_is_recovered),
        cmocka_unit_test(a_recovery_that_failed_is_done_again),
        cmocka_unit_test(leases_of_what_an_older_state_gave_up_end),
        cmocka_unit_test(recovery_keeps_its_lock_to_the_end),
        cmocka_unit_test(recovery_refuses_half_an_allocator),
    };
    return test_run_group("sieve_again", tests, NULL, NULL);
}

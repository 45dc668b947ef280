/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of items that were popped and not acknowledged: how often they were delivered, who
 * has them, and when they are put aside. All of it is kept by the directory: what a commit reached
 * is there when the sieve is opened again, and damage to it is found, named and recovered.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 64 };

static struct scene {
    char copy[300];
    bloomery_sieve_engine engine;
} scene;

static int setup(void **state)
{
    const int status = sieve_setup(state);
    scene.engine = BLOOMERY_SIEVE_DISK;
    test_join(scene.copy, sizeof scene.copy, &sieve_place.directory, "copy");
    return status;
}

static int teardown(void **state)
{
    test_remove(scene.copy);
    return sieve_teardown(state);
}

static bloomery_sieve_options options_of(uint32_t max_deliveries)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = sieve_place.path;
    options.engine = scene.engine;
    options.partitions = scene.engine == BLOOMERY_SIEVE_DISK ? 1 : 0;
    options.sync_seconds = 1e6;
    options.keep_leases = true;
    options.max_deliveries = max_deliveries;
    return options;
}

static bloomery_sieve *open_with(uint32_t max_deliveries)
{
    const bloomery_sieve_options options = options_of(max_deliveries);
    return must_open(&options);
}

static void push_text(bloomery_sieve *sieve, const char *text, const char *payload)
{
    assert_true(push_key(sieve, bloomery_key_of(text, strlen(text)),
                         bloomery_key_of(payload, strlen(payload)), NULL, NULL) >= 0);
}

/* Keys of one letter, "a" the first. */
static void push_letters(bloomery_sieve *sieve, char first, int count)
{
    for (int i = 0; i < count; i++) {
        const char text[] = {(char)(first + i), '\0'};
        push_text(sieve, text, "");
    }
}

/* What comes now, as "a1 b2 ": each key and its deliveries. */
static const char *pop_all(bloomery_sieve *sieve)
{
    static char text[8 * ROOM];
    bloomery_sieve_item items[ROOM];
    size_t count = 0;
    bloomery_error error = {.text = ""};
    if (bloomery_sieve_pop(sieve, items, ROOM, BLOOMERY_SIEVE_POP, &count, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].again, items[i].deliveries > 1);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%u ",
                 (int)items[i].key.bytes, (const char *)items[i].key.data, items[i].deliveries);
    }
    return text;
}

static int list_item(void *context, const bloomery_sieve_item *item)
{
    char *text = context;
    snprintf(text + strlen(text), 8 * ROOM - strlen(text), "%.*s%.*s ", (int)item->key.bytes,
             (const char *)item->key.data, (int)item->payload.bytes,
             (const char *)item->payload.data);
    return 0;
}

static const char *list_dead(bloomery_sieve *sieve)
{
    static char text[8 * ROOM];
    text[0] = '\0';
    assert_int_equal(bloomery_sieve_each(sieve, BLOOMERY_SIEVE_DEAD, list_item, text, NULL, NULL),
                     0);
    return text;
}

static int list_lease(void *context, const bloomery_sieve_item *item)
{
    char *text = context;
    snprintf(text + strlen(text), 8 * ROOM - strlen(text), "%llu%.*s%u%s ",
             (unsigned long long)item->number, (int)item->key.bytes, (const char *)item->key.data,
             item->deliveries, item->lease_ends == 0 ? "!" : "");
    return 0;
}

static const char *list_leased(bloomery_sieve *sieve)
{
    static char text[8 * ROOM];
    text[0] = '\0';
    assert_int_equal(
        bloomery_sieve_each(sieve, BLOOMERY_SIEVE_LEASED, list_lease, text, NULL, NULL), 0);
    return text;
}

static uint64_t return_all(bloomery_sieve *sieve)
{
    uint64_t count = 0;
    assert_int_equal(
        bloomery_sieve_finish(sieve, NULL, BLOOMERY_SIEVE_ALL, BLOOMERY_SIEVE_BACK, &count, NULL),
        BLOOMERY_OK);
    return count;
}

/* As a kill would leave it. */
static void kill_here(bloomery_sieve *sieve)
{
    sieve_copy(sieve_place.path, scene.copy);
    must_close(sieve);
    sieve_copy(scene.copy, sieve_place.path);
}

/* ---- Leases of others ------------------------------------------------------------------------ */

static void leases_of_a_dead_worker_are_listed_and_ended(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene.engine = (bloomery_sieve_engine)engine;
        const uint64_t second = 2;
        bloomery_sieve *sieve = open_with(0);
        push_letters(sieve, 'a', 4);
        assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
        assert_string_equal(list_leased(sieve), "");
        assert_int_equal(return_all(sieve), 0);
        assert_string_equal(pop_all(sieve), "a1 b1 c1 d1 ");
        must_finish(sieve, &second, 1);
        assert_string_equal(list_leased(sieve), "1a1 3c1 4d1 ");
        must_close(sieve);
        /* Its numbers are lost with the worker. */
        sieve = open_with(0);
        assert_string_equal(list_leased(sieve), "1a1 3c1 4d1 ");
        assert_string_equal(pop_all(sieve), "");
        assert_int_equal(return_all(sieve), 3);
        assert_string_equal(list_leased(sieve), "1a1! 3c1! 4d1! ");
        must_close(sieve);
        sieve = open_with(0);
        assert_string_equal(pop_all(sieve), "a2 c2 d2 ");
        assert_string_equal(list_leased(sieve), "1a2 3c2 4d2 ");
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

static void leases_can_be_renewed(void **state)
{
    (void)state;
    const uint64_t numbers[] = {1, 3, 9};
    uint64_t extended = 0;
    bloomery_sieve_options options = options_of(0);
    options.lease = 1e-6; /* over at once */
    bloomery_sieve *sieve = must_open(&options);
    push_letters(sieve, 'a', 3);
    assert_string_equal(pop_all(sieve), "a1 b1 c1 ");
    assert_int_equal(bloomery_sieve_extend(sieve, numbers, 3, 1000, &extended, NULL), BLOOMERY_OK);
    assert_int_equal(extended, 2);
    must_close(sieve);
    /* They are of the longest kind now, and not ended for being too long. */
    sieve = open_with(0);
    assert_string_equal(pop_all(sieve), "b2 ");
    assert_string_equal(list_leased(sieve), "1a1 2b2 3c1 ");
    assert_int_equal(bloomery_sieve_extend(sieve, numbers, 3, -1, NULL, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    must_close(sieve);
    options.keep_leases = true;
    sieve = must_open(&options);
    assert_int_equal(bloomery_sieve_extend(sieve, numbers, 1, 0, &extended, NULL), BLOOMERY_OK);
    assert_int_equal(extended, 1);
    usleep(10); /* not shorter: so the lease has ended */
    assert_string_equal(pop_all(sieve), "a2 ");
    must_close(sieve);
}

static void the_number_of_leases_can_change(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        struct stat facts;
        char manifest[400];
        scene.engine = (bloomery_sieve_engine)engine;
        snprintf(manifest, sizeof manifest, "%s/MANIFEST", sieve_place.path);
        bloomery_sieve_options options = options_of(0);
        options.leases = 2;
        bloomery_sieve *sieve = must_open(&options);
        push_letters(sieve, 'a', 5);
        assert_string_equal(pop_all(sieve), "a1 b1 ");
        bloomery_sieve_item item;
        size_t count = 0;
        assert_int_equal(bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &count, NULL),
                         BLOOMERY_FULL);
        must_close(sieve);
        assert_int_equal(chmod(manifest, 0640), 0);
        options.leases = 500;
        sieve = must_open(&options);
        assert_int_equal(sieve_info_of(sieve).leases, 500);
        assert_int_equal(stat(manifest, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0640); /* as its owner wished */
        assert_string_equal(list_leased(sieve), "1a1 2b1 ");
        assert_string_equal(pop_all(sieve), "c1 d1 e1 ");
        kill_here(sieve);
        /* Kept, without being named again; and the state of the commit that changed it. */
        options.leases = 0;
        sieve = must_open(&options);
        assert_int_equal(sieve_info_of(sieve).leases, 500);
        assert_string_equal(list_leased(sieve), "1a1 2b1 ");
        assert_string_equal(pop_all(sieve), "c1 d1 e1 ");
        must_close(sieve);
        options.leases = 4;
        bloomery_error error = {.text = ""};
        assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_MISMATCH);
        assert_non_null(strstr(error.text, "5 leased items"));
        options.leases = 5;
        sieve = must_open(&options);
        assert_int_equal(return_all(sieve), 5);
        assert_string_equal(pop_all(sieve), "a2 b2 c2 d2 e2 ");
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

/* ---- Deliveries ------------------------------------------------------------------------------ */

static void deliveries_that_reached_nobody_are_not_counted(void **state)
{
    (void)state;
    const uint64_t both[] = {1, 2};
    uint64_t finished = 0;
    bloomery_sieve *sieve = open_with(2);
    push_letters(sieve, 'a', 2);
    assert_string_equal(pop_all(sieve), "a1 b1 ");
    assert_int_equal(bloomery_sieve_finish(sieve, both, 1, BLOOMERY_SIEVE_UNDO, &finished, NULL),
                     BLOOMERY_OK);
    assert_int_equal(finished, 1);
    must_close(sieve);
    sieve = open_with(2);
    bloomery_sieve_item item;
    size_t count = must_pop(sieve, &item, 1);
    assert_int_equal(count, 1);
    assert_int_equal(item.number, 1);
    assert_int_equal(item.deliveries, 1);
    assert_true(item.again);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(
            bloomery_sieve_finish(sieve, both, 2, BLOOMERY_SIEVE_UNDO, &finished, NULL),
            BLOOMERY_OK);
        assert_int_equal(finished, 2);
        count = must_pop(sieve, &item, 1);
        assert_int_equal(item.deliveries, 1);
    }
    assert_string_equal(list_dead(sieve), "");
    must_close(sieve);
}

static void items_are_put_aside_after_their_deliveries(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        const uint64_t second = 2;
        scene.engine = (bloomery_sieve_engine)engine;
        bloomery_sieve *sieve = open_with(2);
        push_text(sieve, "a", "=payload");
        push_letters(sieve, 'b', 2);
        assert_string_equal(pop_all(sieve), "a1 b1 c1 ");
        return_all(sieve);
        assert_string_equal(pop_all(sieve), "a2 b2 c2 ");
        must_finish(sieve, &second, 1);
        return_all(sieve);
        push_letters(sieve, 'd', 1);
        assert_string_equal(pop_all(sieve), "d1 ");
        assert_string_equal(list_dead(sieve), "a=payload c ");
        const bloomery_sieve_info info = sieve_info_of(sieve);
        assert_int_equal(info.dead, 2);
        assert_true(info.dead_bytes > 0);
        assert_int_equal(info.leased, 1);
        assert_int_equal(info.done, 1);
        assert_int_equal(info.new_keys, info.queued + info.leased + info.done + info.dead);
        must_close(sieve);
        /* Neither does it come again, nor is it forgotten, whatever the next one allows. */
        sieve = open_with(0);
        assert_string_equal(list_dead(sieve), "a=payload c ");
        assert_int_equal(return_all(sieve), 1);
        assert_string_equal(pop_all(sieve), "d2 ");
        uint64_t damaged = 0;
        assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
        assert_int_equal(damaged, 0);
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

/* That is a change, though nothing came out. */
static void what_is_put_aside_is_committed(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(1);
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve *sieve = open_with(1);
    push_letters(sieve, 'a', 2);
    assert_string_equal(pop_all(sieve), "a1 b1 ");
    return_all(sieve);
    must_close(sieve);
    sieve = open_with(1);
    assert_string_equal(pop_all(sieve), "");
    assert_string_equal(list_dead(sieve), "a b ");
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_info_read(&options, &info, NULL), BLOOMERY_OK);
    assert_int_equal(info.dead, 2);
    assert_int_equal(info.leased, 0);
    assert_int_equal(info.leases, 4096);
    kill_here(sieve);
    sieve = open_with(0);
    assert_string_equal(list_dead(sieve), "a b ");
    assert_string_equal(list_leased(sieve), "");
    must_close(sieve);
}

/* What no commit reached has not happened: the item is leased, and not in the list as well. */
static void a_kill_leaves_an_item_in_one_place(void **state)
{
    (void)state;
    bloomery_sieve *sieve = open_with(1);
    push_letters(sieve, 'a', 3);
    assert_string_equal(pop_all(sieve), "a1 b1 c1 ");
    return_all(sieve);
    must_close(sieve);
    sieve = open_with(1);
    assert_string_equal(pop_all(sieve), "");
    assert_string_equal(list_dead(sieve), "a b c ");
    kill_here(sieve);
    sieve = open_with(1);
    assert_string_equal(list_dead(sieve), "");
    assert_string_equal(list_leased(sieve), "1a1! 2b1! 3c1! ");
    assert_string_equal(pop_all(sieve), "");
    assert_string_equal(list_dead(sieve), "a b c ");
    must_close(sieve);
}

static void dead_items_are_forgotten_or_queued_again(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        uint64_t count = 7;
        scene.engine = (bloomery_sieve_engine)engine;
        bloomery_sieve *sieve = open_with(1);
        assert_int_equal(bloomery_sieve_end_dead(sieve, false, &count, NULL), BLOOMERY_OK);
        assert_int_equal(count, 0);
        push_letters(sieve, 'a', 2);
        assert_string_equal(pop_all(sieve), "a1 b1 ");
        return_all(sieve);
        assert_string_equal(pop_all(sieve), "");
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_sieve_end_dead(sieve, true, &count, NULL), BLOOMERY_OK);
        assert_int_equal(count, 2);
        assert_string_equal(list_dead(sieve), "");
        assert_int_equal(sieve_info_of(sieve).queued, 2);
        assert_string_equal(pop_all(sieve), "a1 b1 ");
        assert_string_equal(list_leased(sieve), "3a1 4b1 ");
        must_close(sieve);
        sieve = open_with(1);
        return_all(sieve);
        assert_string_equal(pop_all(sieve), "");
        assert_string_equal(list_dead(sieve), "a b ");
        assert_int_equal(bloomery_sieve_end_dead(sieve, false, &count, NULL), BLOOMERY_OK);
        assert_int_equal(count, 2);
        /* Of a list that was emptied before a commit, and filled again, nothing is left over. */
        push_letters(sieve, 'c', 1);
        assert_string_equal(pop_all(sieve), "c1 ");
        return_all(sieve);
        assert_string_equal(pop_all(sieve), "");
        assert_string_equal(list_dead(sieve), "c ");
        must_close(sieve);
        sieve = open_with(1);
        assert_string_equal(list_dead(sieve), "c ");
        push_letters(sieve, 'a', 2); /* they stay seen */
        assert_string_equal(pop_all(sieve), "");
        assert_int_equal(sieve_info_of(sieve).dead, 1);
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

static void items_of_any_length_are_put_aside(void **state)
{
    (void)state;
    static char long_key[BLOOMERY_SIEVE_ITEM_MAX - 4];
    bloomery_sieve *sieve = open_with(1);
    memset(long_key, 'x', sizeof long_key);
    push_text(sieve, "", "");
    assert_true(push_key(sieve, bloomery_key_of(long_key, sizeof long_key),
                         bloomery_key_of("tail", 4), NULL, NULL) >= 0);
    bloomery_sieve_item item;
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        count = must_pop(sieve, &item, 1);
        assert_int_equal(count, 1);
    }
    return_all(sieve);
    count = must_pop(sieve, &item, 1);
    assert_int_equal(count, 0);
    uint64_t back = 0;
    assert_int_equal(bloomery_sieve_end_dead(sieve, true, &back, NULL), BLOOMERY_OK);
    assert_int_equal(back, 2);
    count = must_pop(sieve, &item, 1);
    assert_int_equal(item.key.bytes, 0);
    count = must_pop(sieve, &item, 1);
    assert_int_equal(item.key.bytes, sizeof long_key);
    assert_memory_equal(item.key.data, long_key, sizeof long_key);
    assert_memory_equal(item.payload.data, "tail", 4);
    must_close(sieve);
}

static void limits_of_deliveries_are_checked(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_DELIVERIES_MAX + 1);
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {.text = ""};
    assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "65,535"));
    options = options_of(3);
    options.directory = NULL;
    options.engine = BLOOMERY_SIEVE_MEMORY;
    assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "directory"));
    options.max_deliveries = 0;
    sieve = must_open(&options);
    push_text(sieve, "a", "");
    assert_string_equal(pop_all(sieve), "a1 ");
    assert_string_equal(list_leased(sieve), "1a1 ");
    assert_int_equal(return_all(sieve), 1);
    assert_string_equal(pop_all(sieve), "a2 ");
    assert_string_equal(list_dead(sieve), "");
    must_close(sieve);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* A sieve of which "a" to "e" are dead; where the frames of their file begin. */
static struct test_bytes make_dead(char name[400], size_t starts[5])
{
    bloomery_sieve *sieve = open_with(1);
    push_letters(sieve, 'a', 5);
    assert_string_equal(pop_all(sieve), "a1 b1 c1 d1 e1 ");
    return_all(sieve);
    assert_string_equal(pop_all(sieve), "");
    must_close(sieve);
    snprintf(name, 400, "%s/dead.0", sieve_place.path);
    for (size_t i = 0; i < 5; i++)
        starts[i] = 64 + i * (48 + 2); /* a byte before each key */
    struct test_bytes file = test_read_file(name);
    assert_int_equal(file.bytes, starts[4] + 50);
    return file;
}

static void count_report(void *context, const char *text)
{
    assert_non_null(strstr(text, "dead."));
    ++*(uint64_t *)context;
}

static void recover_to(const char *left, uint64_t lost, uint64_t reports)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_recovery recovery = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error = {.text = ""};
    uint64_t found = 0;
    options.directory = sieve_place.path;
    if (bloomery_sieve_recover(&options, count_report, &found, &recovery, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    assert_int_equal(found, reports);
    assert_int_equal(recovery.damaged, reports);
    assert_int_equal(recovery.queued, lost);
    bloomery_sieve *sieve = open_with(1);
    assert_string_equal(list_dead(sieve), left);
    push_letters(sieve, 'x', 1);
    assert_string_equal(pop_all(sieve), "x1 ");
    return_all(sieve);
    assert_string_equal(pop_all(sieve), "");
    assert_int_equal(strlen(list_dead(sieve)), strlen(left) + 2);
    must_close(sieve);
}

static void remove_recovered(void)
{
    char inner[400];
    snprintf(inner, sizeof inner, "%s/set-aside.1", sieve_place.path);
    test_remove(inner);
    test_remove(sieve_place.path);
}

static void damaged_dead_items_are_found_and_given_up(void **state)
{
    (void)state;
    /* In the second frame: its header, its key. */
    static const size_t places[] = {16, 49};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char name[400];
        char aside[420];
        size_t starts[5];
        uint64_t damaged = 0, reports = 0;
        char text[8 * ROOM] = "";
        struct test_bytes file = make_dead(name, starts);
        file.data[starts[1] + places[i]] ^= 1;
        test_write_file(name, file.data, file.bytes);
        bloomery_sieve *sieve = open_with(0);
        assert_int_equal(
            bloomery_sieve_each(sieve, BLOOMERY_SIEVE_DEAD, list_item, text, NULL, NULL),
            BLOOMERY_CORRUPT);
        assert_string_equal(text, "a ");
        assert_int_equal(bloomery_sieve_verify(sieve, count_report, &reports, &damaged, NULL),
                         BLOOMERY_OK);
        assert_int_equal(damaged, 1);
        assert_int_equal(reports, 1);
        must_close(sieve);
        recover_to("a c d e ", 1, 1);
        /* The file as it was is set aside. */
        snprintf(aside, sizeof aside, "%s/set-aside.1/dead.0", sieve_place.path);
        struct test_bytes kept = test_read_file(aside);
        assert_true(test_bytes_equal(&kept, &file));
        test_bytes_free(&kept);
        test_bytes_free(&file);
        remove_recovered();
    }
}

static void a_list_of_dead_items_that_is_gone_or_cut_is_recovered(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        char name[400];
        size_t starts[5];
        struct test_bytes file = make_dead(name, starts);
        bloomery_sieve_options options = options_of(0);
        bloomery_sieve *sieve = NULL;
        if (how == 0)
            assert_int_equal(unlink(name), 0);
        else if (how == 1)
            assert_int_equal(truncate(name, (off_t)starts[3] + 7), 0);
        else {
            file.data[9] ^= 1;
            test_write_file(name, file.data, file.bytes);
        }
        assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_CORRUPT);
        recover_to(how == 0   ? ""
                   : how == 1 ? "a b c "
                              : "a b c d e ",
                   how == 0   ? 5
                   : how == 1 ? 2
                              : 0,
                   how == 1 ? 2 : 1);
        test_bytes_free(&file);
        remove_recovered();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(leases_of_a_dead_worker_are_listed_and_ended),
        CASE(leases_can_be_renewed),
        CASE(the_number_of_leases_can_change),
        CASE(deliveries_that_reached_nobody_are_not_counted),
        CASE(items_are_put_aside_after_their_deliveries),
        CASE(what_is_put_aside_is_committed),
        CASE(a_kill_leaves_an_item_in_one_place),
        CASE(dead_items_are_forgotten_or_queued_again),
        CASE(items_of_any_length_are_put_aside),
        CASE(limits_of_deliveries_are_checked),
        CASE(damaged_dead_items_are_found_and_given_up),
        CASE(a_list_of_dead_items_that_is_gone_or_cut_is_recovered),
#undef CASE
    };
    return test_run_group("sieve_deliveries", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cuckoo filters of the module beside a stand-in for a server. */
#include "stand_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int load(void **state)
{
    (void)state;
    return stand_in_load(NULL);
}

static void flush(void)
{
    static const char *const counts[] = {"keys", "cuckoo_keys", "memory_bytes", "populating"};
    stand_in.refuse_at = 0;
    stand_in_flush();
    assert_int_equal(stand_in.blocks, 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_int_equal(stand_in_info(counts[i]), 0);
}

static void wait_for_none(const char *counter)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && stand_in_info(counter) != 0; i++)
        (void)nanosleep(&moment, NULL); /* between two looks */
    assert_int_equal(stand_in_info(counter), 0);
}

static void add_numbers(const char *key, int from, int to)
{
    for (int i = from; i < to; i++) {
        char word[16];
        snprintf(word, sizeof word, "%d", i);
        assert_string_equal(stand_in_ask("cf.add", key, word, NULL), ":1 ");
    }
}

static int count_numbers(const char *key, int from, int to)
{
    int found = 0;
    for (int i = from; i < to; i++) {
        char word[16];
        snprintf(word, sizeof word, "%d", i);
        found += strcmp(stand_in_ask("cf.exists", key, word, NULL), ":1 ") == 0;
    }
    return found;
}

/* A filter of several sub-filters, with items that were removed. */
static void make_filter(const char *key)
{
    assert_string_equal(
        stand_in_ask("cf.reserve", key, "8", "BUCKETSIZE", "3", "EXPANSION", "2", NULL), "+OK ");
    add_numbers(key, 0, 60);
    assert_string_equal(stand_in_ask("cf.del", key, "7", NULL), ":1 ");
}

static void a_refused_sub_filter_leaves_what_was_added(void **state)
{
    (void)state;
    assert_string_equal(stand_in_ask("cf.reserve", "a", "2", "BUCKETSIZE", "1", NULL), "+OK ");
    stand_in_ask("cf.insert", "a", "ITEMS", "1", "2", NULL);
    const uint64_t before = stand_in_digest("a");
    stand_in.refuse_at = 1;
    assert_string_equal(stand_in_ask("cf.add", "a", "new", NULL), "-ERR Insufficient memory ");
    assert_string_equal(stand_in.passed_on, "");
    assert_int_equal(stand_in_digest("a"), before);
    stand_in.refuse_at = 1;
    assert_string_equal(stand_in_ask("cf.insertnx", "a", "ITEMS", "1", "new", "newer", NULL),
                        "*3 :0 :-1 :1 ");
    assert_string_equal(stand_in.passed_on, "CF.INSERT a ITEMS newer; ");
    flush();
}

static void defragmentation_moves_every_block_and_no_item(void **state)
{
    (void)state;
    make_filter("a");
    const uint64_t before = stand_in_digest("a");
    for (int round = 0; round < 20; round++) {
        const long moves = stand_in.moves;
        stand_in_defrag("a");
        assert_true(stand_in.moves > moves);
        assert_int_equal(stand_in_digest("a"), before);
    }
    add_numbers("a", 60, 200);
    stand_in_defrag("a");
    assert_int_equal(count_numbers("a", 0, 7) + count_numbers("a", 8, 200), 199);
    flush();
}

static void check_kept(const char *key)
{
    const uint64_t digest = stand_in_digest(key);
    stand_in_rewrite(key, "rewritten");
    assert_int_equal(stand_in_digest("rewritten"), digest);
    stand_in_release(stand_in_unlink("rewritten"));
    assert_true(stand_in_copy(key, "copy"));
    assert_int_equal(stand_in_digest("copy"), digest);
    stand_in_dump(key);
    assert_true(stand_in_restore("restored"));
    assert_int_equal(stand_in_digest("restored"), digest);
}

static void payloads_cut_or_changed_are_refused_or_kept(void **state)
{
    static uint8_t sound[8192];
    int taken = 0;
    (void)state;
    make_filter("a");
    check_kept("a");
    stand_in_dump("a");
    const size_t whole = stand_in.payload_bytes;
    assert_in_range(whole, 100, sizeof sound);
    memcpy(sound, stand_in.payload, whole);
    for (size_t bytes = 0; bytes < whole; bytes++) {
        stand_in.payload_bytes = bytes;
        assert_false(stand_in_restore("b"));
    }
    for (int encoding = 0; encoding < 8; encoding++) {
        stand_in.payload_bytes = whole;
        assert_int_equal(stand_in_restore_as("b", encoding), encoding == 4);
    }
    for (size_t at = 0; at < whole; at++) {
        memcpy(stand_in.payload, sound, whole);
        stand_in.payload_bytes = whole;
        stand_in.payload[at] ^= 0x11;
        if (stand_in_restore("b")) {
            taken++;
            stand_in_ask("cf.del", "b", "1", NULL);
            stand_in_ask("cf.insert", "b", "ITEMS", "1", "2", "3", "4", "5", NULL);
            stand_in_ask("cf.compact", "b", NULL);
            check_kept("b");
        }
    }
    assert_true(taken > 0);
    flush();
}

/* Two pieces of 16 MiB, one of which has only zeros and is left out. */
static void a_rewritten_file_has_the_pieces_with_items(void **state)
{
    (void)state;
    stand_in_ask("cf.reserve", "a", "33554432", "EXPANSION", "0", NULL);
    stand_in_ask("cf.add", "a", "x", NULL);
    const uint64_t digest = stand_in_digest("a");
    stand_in_rewrite("a", "b");
    assert_int_equal(stand_in_digest("b"), digest);
    assert_string_equal(stand_in_ask("cf.exists", "b", "x", NULL), ":1 ");
    stand_in_flush();
    wait_for_none("keys");
    flush();
}

/* What a client could not have made is not held to the limits of this server if it was loaded. */
static void loading_takes_what_the_master_took(void **state)
{
    (void)state;
    stand_in.flags = SERVER_CONTEXT_LOADING;
    assert_string_equal(stand_in_ask("cf.insert", "a", "CAPACITY", "1", "ITEMS", "x", NULL),
                        "*1 :1 ");
    assert_string_equal(stand_in_ask("cf.reserve", "b", "2", "BUCKETSIZE", "1", NULL), "+OK ");
    add_numbers("b", 0, 300);
    stand_in.flags = 0;
    assert_string_equal(stand_in_ask("cf.add", "b", "x", NULL), "-Maximum expansions reached ");
    check_kept("b");
    flush();
}

/* With one slot in a bucket an item fits twice. So the third time another sub-filter of 16 MiB is
 * made, and goes as the item does. The thread may be at its pages then; made again, perhaps at the
 * same address, it has to have them taken again. */
static void a_sub_filter_may_go_while_its_pages_are_taken(void **state)
{
    enum { BYTES = 16 << 20 };
    (void)state;
    assert_string_equal(stand_in_ask("cf.reserve", "k", "16777216", "BUCKETSIZE", "1", NULL),
                        "+OK ");
    stand_in_ask("cf.insert", "k", "ITEMS", "x", "x", NULL);
    wait_for_none("populating");
    for (int round = 0; round < 8; round++) {
        const unsigned long long before = stand_in_info("populated_bytes");
        assert_string_equal(stand_in_ask("cf.add", "k", "x", NULL), ":1 ");
        assert_true(stand_in_memory("k") > 2 * (size_t)BYTES);
        if (round % 2 == 1) {
            wait_for_none("populating");
            assert_in_range(stand_in_info("populated_bytes") - before, BYTES - 8192, BYTES + 8192);
        }
        assert_string_equal(stand_in_ask("cf.del", "k", "x", NULL), ":1 ");
        assert_true(stand_in_memory("k") < 2 * (size_t)BYTES);
    }
    stand_in_flush();
    wait_for_none("keys");
    flush();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_sub_filter_leaves_what_was_added),
        cmocka_unit_test(defragmentation_moves_every_block_and_no_item),
        cmocka_unit_test(payloads_cut_or_changed_are_refused_or_kept),
        cmocka_unit_test(a_rewritten_file_has_the_pieces_with_items),
        cmocka_unit_test(loading_takes_what_the_master_took),
        cmocka_unit_test(a_sub_filter_may_go_while_its_pages_are_taken),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}

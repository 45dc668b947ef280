/* SPDX-License-Identifier: Apache-2.0 */
/* The module beside a stand-in for a server: what a real one is never made to do. */
#include "stand_in.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int load(void **state)
{
    (void)state;
    return stand_in_load(NULL);
}

static void flush(void)
{
    stand_in.refuse_at = 0;
    stand_in_flush();
    assert_int_equal(stand_in.blocks, 0);
    assert_int_equal(stand_in_info("keys"), 0);
    assert_int_equal(stand_in_info("memory_bytes"), 0);
}

/* Adds numbers, ten at a time. */
static void add_numbers(const char *key, int from, int to)
{
    for (int i = from; i < to; i += 10) {
        char words[10][16];
        for (int j = 0; j < 10; j++)
            snprintf(words[j], sizeof words[j], "%d", i + j);
        stand_in_ask("bf.madd", key, words[0], words[1], words[2], words[3], words[4], words[5],
                     words[6], words[7], words[8], words[9], NULL);
    }
}

static int count_numbers(const char *key, int from, int to)
{
    int found = 0;
    for (int i = from; i < to; i++) {
        char word[16];
        snprintf(word, sizeof word, "%d", i);
        found += strcmp(stand_in_ask("bf.exists", key, word, NULL), ":1 ") == 0;
    }
    return found;
}

/* Everything that takes memory. Commands may fail; what they did must hold together. */
static void do_all(void)
{
    stand_in_ask("bf.reserve", "a", "0.01", "20", NULL);
    add_numbers("a", 0, 200);
    stand_in_ask("bf.insert", "b", "CAPACITY", "5", "ITEMS", "x", "y", "z", NULL);
    stand_in_ask("bf.add", "c", "x", NULL);
    stand_in_ask("bf.reserve", "w", "0.01", "20", "GENERATIONS", "3", "EVERY", "5", NULL);
    stand_in_ask("bf.madd", "b", "v", "w", NULL);
    stand_in_ask("bf.merge", "m", "b", "b", NULL);
    if (strncmp(stand_in_ask("bf.info", "w", NULL), "-", 1) != 0) {
        stand_in_ask("bf.madd", "w", "x", "y", NULL);
        stand_in_ask("bf.rotate", "w", NULL);
        stand_in_ask("bf.clear", "w", NULL);
        stand_in_ask("bf.scandump", "w", "0", NULL);
        stand_in_load_chunk("x", "1");
        (void)stand_in_copy("w", "y");
        stand_in_dump("w");
        (void)stand_in_restore("z");
    }
    stand_in_ask("bf.clear", "b", NULL);
    stand_in_ask("cf.reserve", "h", "4", "EXPANSION", "2", NULL);
    stand_in_ask("cf.insert", "h", "ITEMS", "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL);
    stand_in_ask("cf.add", "i", "x", NULL);
    if (strncmp(stand_in_ask("cf.info", "h", NULL), "-", 1) != 0) {
        stand_in_ask("cf.scandump", "h", "0", NULL);
        stand_in_load_piece("cf.loadchunk", "j", "1", stand_in.bulk, stand_in.bulk_bytes);
        (void)stand_in_copy("h", "k");
        stand_in_dump("h");
        (void)stand_in_restore("l");
    }
    if (strncmp(stand_in_ask("bf.info", "a", NULL), "-", 1) != 0) {
        stand_in_dump("a");
        (void)stand_in_restore("d");
        (void)stand_in_copy("a", "e");
        stand_in_ask("bf.scandump", "a", "0", NULL);
        stand_in_load_chunk("f", "1");
    }
    if (strncmp(stand_in_ask("bf.info", "c", NULL), "-", 1) != 0) {
        stand_in_dump("c");
        (void)stand_in_restore("g");
    }
}

static void a_refused_allocation_is_an_error_and_loses_nothing(void **state)
{
    long refused = 0;
    (void)state;
    for (long n = 1; n < 1000; n++) {
        stand_in.refuse_at = n;
        do_all();
        const bool was_refused = stand_in.refuse_at == 0;
        flush();
        refused += was_refused;
        if (!was_refused)
            break;
    }
    assert_in_range(refused, 20, 900);
}

static void a_payload_that_memory_lacks_for_is_called_so(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.01", "20", NULL);
    add_numbers("a", 0, 200);
    stand_in_dump("a");
    for (long n = 1;; n++) {
        const unsigned long long refusals = stand_in_info("refused_by_allocator");
        stand_in.log[0] = '\0';
        stand_in.refuse_at = n;
        const bool taken = stand_in_restore("b");
        if (stand_in.refuse_at > 0) {
            stand_in.refuse_at = 0;
            assert_true(taken && n > 3);
            break;
        }
        assert_false(taken);
        if (strstr(stand_in.log, "damaged") ==
            NULL) /* one of the server's own, for bits, is not seen */
            assert_non_null(strstr(stand_in.log, "the server is out of memory"));
        else
            assert_int_equal(stand_in_info("refused_by_allocator"), refusals);
    }
    stand_in.payload[0] ^= 1;
    assert_false(stand_in_restore("c"));
    assert_non_null(strstr(stand_in.log, "damaged"));
    flush();
}

static void a_refused_link_leaves_what_was_added(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.01", "10", NULL);
    add_numbers("a", 0, 10);
    stand_in.refuse_at = 1;
    assert_string_equal(stand_in_ask("bf.madd", "a", "1", "new", "newer", NULL),
                        "*2 :0 -ERR problem inserting into filter ");
    assert_string_equal(stand_in.passed_on, "");
    assert_string_equal(stand_in_ask("bf.madd", "a", "1", "new", "newer", NULL), "*3 :0 :1 :1 ");
    flush();
}

static void defragmentation_moves_every_block_and_no_bit(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.001", "30", NULL);
    add_numbers("a", 0, 700);
    const uint64_t before = stand_in_digest("a");
    for (int round = 0; round < 20; round++) {
        const long moves = stand_in.moves;
        stand_in_defrag("a");
        assert_true(stand_in.moves > moves);
        assert_int_equal(stand_in_digest("a"), before);
        assert_int_equal(count_numbers("a", 0, 700), 700);
    }
    add_numbers("a", 700, 2000);
    stand_in_defrag("a");
    assert_int_equal(count_numbers("a", 0, 2000), 2000);
    flush();
}

static void payloads_cut_anywhere_are_refused(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.01", "5", NULL);
    add_numbers("a", 0, 60);
    const uint64_t before = stand_in_digest("a");
    stand_in_dump("a");
    const size_t whole = stand_in.payload_bytes;
    for (size_t bytes = 0; bytes < whole; bytes++) {
        stand_in.payload_bytes = bytes;
        assert_false(stand_in_restore("a"));
    }
    stand_in.payload_bytes = whole;
    assert_true(stand_in_restore("b"));
    assert_int_equal(stand_in_digest("b"), before);
    flush();
}

/* The payload of a filter of one link begins and ends with the count of its items. */
static void counts_of_items_that_differ_are_refused(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.01", "100", "NONSCALING", NULL);
    add_numbers("a", 0, 60);
    stand_in_dump("a");
    const size_t places[] = {0, stand_in.payload_bytes - 8};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint64_t items;
        memcpy(&items, stand_in.payload + places[i], sizeof items);
        assert_in_range(items, 50, 60); /* few of them pass for another */
        for (int step = -1; step <= 1; step++) {
            const uint64_t said = items + (uint64_t)step;
            memcpy(stand_in.payload + places[i], &said, sizeof said);
            assert_int_equal(stand_in_restore("b"), step == 0);
        }
        memcpy(stand_in.payload + places[i], &items, sizeof items);
    }
    flush();
}

static void a_changed_byte_of_a_payload_is_refused_or_kept(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.01", "5", NULL);
    add_numbers("a", 0, 60);
    stand_in_dump("a");
    const size_t whole = stand_in.payload_bytes;
    for (size_t at = 0; at < whole; at++) {
        for (int bit = 0; bit < 8; bit++) {
            stand_in.payload[at] ^= (uint8_t)(1u << bit);
            if (stand_in_restore("b")) {
                (void)count_numbers("b", 0, 3);
                stand_in_ask("bf.debug", "b", NULL);
            }
            stand_in.payload[at] ^= (uint8_t)(1u << bit);
        }
    }
    flush();
}

static void a_function_that_is_missing_is_named(void **state)
{
    static const char *const optional[] = {"IsModuleNameBusy", "GetCommand", "DefragAlloc"};
    (void)state;
    stand_in.missing = "SaveStringBuffer";
    assert_int_equal(stand_in_load(NULL), SERVER_FAILED);
    assert_non_null(strstr(stand_in.log, "RedisModule_SaveStringBuffer"));
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        stand_in.missing = optional[i];
        assert_int_equal(stand_in_load(NULL), SERVER_OK);
        assert_string_equal(stand_in_ask("bf.add", "a", "x", NULL), ":1 ");
        stand_in_defrag("a");
        flush();
    }
    stand_in.missing = NULL;
    assert_int_equal(stand_in_load(NULL), SERVER_OK);
}

static void what_is_passed_on_makes_the_same_filter(void **state)
{
    (void)state;
    stand_in_ask("bf.insert", "a", "CAPACITY", "7", "ERROR", "0.25", "ITEMS", "x", "y", "x", NULL);
    assert_string_equal(stand_in.passed_on,
                        "BF.INSERT a CAPACITY 7 ERROR 0.25 EXPANSION 2 ITEMS x y; ");
    stand_in_ask("bf.madd", "a", "x", "z", NULL);
    assert_string_equal(stand_in.passed_on, "BF.MADD a z; ");
    stand_in_ask("bloom.madd", "a", "x", "z", NULL);
    assert_string_equal(stand_in.passed_on, "");
    /* A command that does what it says is passed on as it is, if its name is one for others. */
    stand_in_ask("bf.madd", "a", "u", "v", NULL);
    assert_string_equal(stand_in.passed_on, "bf.madd a u v; ");
    stand_in_ask("bf.madd", "a", "t", "t", NULL);
    assert_string_equal(stand_in.passed_on, "BF.MADD a t; ");
    stand_in_ask("bloom.add", "a", "w", NULL);
    assert_string_equal(stand_in.passed_on, "BF.MADD a w; ");
    stand_in_ask("bf.insert", "a", "ITEMS", "s", NULL);
    assert_string_equal(stand_in.passed_on, "BF.MADD a s; ");
    stand_in_ask("bf.add", "new", "x", NULL);
    assert_string_equal(stand_in.passed_on,
                        "BF.INSERT new CAPACITY 100 ERROR 0.01 EXPANSION 2 ITEMS x; ");
    stand_in_ask("bf.reserve", "b", "0.5", "9", "NONSCALING", NULL);
    assert_string_equal(stand_in.passed_on, "BF.RESERVE b 0.25 9 NONSCALING; ");
    flush();
}

static void windows_are_passed_on_with_their_times(void **state)
{
    (void)state;
    stand_in.flags = SERVER_CONTEXT_MASTER;
    stand_in.now_ms = 5000;
    stand_in_ask("bf.reserve", "w", "0.02", "100", "GENERATIONS", "3", "EVERY", "10", NULL);
    assert_string_equal(stand_in.passed_on,
                        "BF.RESERVE w 0.02 100 GENERATIONS 3 EVERY 10 AT 5000; ");
    assert_string_equal(stand_in_ask("bf.madd", "w", "x", "y", NULL), "*2 :1 :1 ");
    stand_in.now_ms = 14999;
    stand_in_tick();
    assert_string_equal(stand_in.passed_on, "");
    stand_in.now_ms = 15000;
    stand_in_tick();
    assert_string_equal(stand_in.passed_on, "BF.ROTATE w COUNT 1 AT 15000; ");
    /* Seen before, and remembered from now on: that is passed on. */
    assert_string_equal(stand_in_ask("bf.add", "w", "x", NULL), ":0 ");
    assert_string_equal(stand_in.passed_on, "bf.add w x; ");
    stand_in.now_ms = 36000; /* two more are due */
    assert_string_equal(stand_in_ask("bf.mexists", "w", "x", "y", NULL), "*2 :1 :0 ");
    assert_string_equal(stand_in.passed_on, "");
    assert_string_equal(stand_in_ask("bf.add", "w", "z", NULL), ":1 ");
    assert_string_equal(stand_in.passed_on, "BF.ROTATE w COUNT 2 AT 35000; bf.add w z; ");
    /* By its replicas a rotation is done once. */
    stand_in.flags = SERVER_CONTEXT_REPLICATED;
    const uint64_t before = stand_in_digest("w");
    stand_in_ask("bf.rotate", "w", "COUNT", "2", "AT", "35000", NULL);
    assert_true(stand_in_digest("w") == before);
    stand_in.now_ms = 99999;
    stand_in_tick();
    assert_string_equal(stand_in.passed_on, "");
    assert_string_equal(stand_in_ask("bf.exists", "w", "z", NULL), ":1 ");
    stand_in_ask("bf.rotate", "w", "COUNT", "9", "AT", "95000", NULL);
    assert_string_equal(stand_in_ask("bf.exists", "w", "z", NULL), ":0 ");
    stand_in.flags = 0;
    flush();
}

/* A dump that is older than a period is whole before it is rotated. */
static void a_window_arrives_before_it_is_rotated(void **state)
{
    enum { CHUNKS = 4, CHUNK_BYTES = 512 };
    static const char *const iterators[CHUNKS] = {"0", "1", "137", "273"};
    static const char *const ends[CHUNKS] = {"1", "137", "273", "409"};
    static uint8_t chunks[CHUNKS][CHUNK_BYTES];
    size_t bytes[CHUNKS];
    (void)state;
    stand_in.flags = SERVER_CONTEXT_MASTER;
    stand_in.now_ms = 1000;
    stand_in_ask("bf.reserve", "w", "0.02", "100", "GENERATIONS", "3", "EVERY", "10", NULL);
    stand_in_ask("bf.madd", "w", "x", "y", NULL);
    const uint64_t digest = stand_in_digest("w");
    for (int i = 0; i < CHUNKS; i++) {
        assert_non_null(strstr(stand_in_ask("bf.scandump", "w", iterators[i], NULL), ends[i]));
        bytes[i] = stand_in.bulk_bytes;
        assert_in_range(bytes[i], 1, CHUNK_BYTES);
        memcpy(chunks[i], stand_in.bulk, bytes[i]);
    }
    stand_in_release(stand_in_unlink("w"));
    for (int i = 0; i < CHUNKS; i++) {
        stand_in.now_ms += 8000;
        stand_in_tick();
        assert_string_equal(stand_in_load_chunk_of("v", ends[i], chunks[i], bytes[i]), "+OK ");
    }
    assert_int_equal(stand_in_digest("v"), digest);
    assert_string_equal(stand_in_ask("bf.exists", "v", "x", NULL), ":0 ");
    stand_in_tick();
    assert_string_equal(stand_in.passed_on, "BF.ROTATE v COUNT 3 AT 31000; ");
    stand_in.flags = 0;
    flush();
}

/* Loads the first chunks of a window, the second one of them in halves, of which the last does not
 * come yet. */
struct chunks {
    uint8_t header[512], bits[3][512];
    size_t header_bytes, each;
};

static void dump_window(struct chunks *chunks)
{
    char iterator[24] = "1";
    stand_in_ask("bf.reserve", "w", "0.02", "100", "GENERATIONS", "3", NULL);
    for (int i = 0; i < 3; i++) {
        add_numbers("w", 50 * i, 50 * i + 50);
        if (i < 2)
            stand_in_ask("bf.rotate", "w", NULL);
    }
    stand_in_ask("bf.scandump", "w", "0", NULL);
    chunks->header_bytes = stand_in.bulk_bytes;
    assert_in_range(stand_in.bulk_bytes, 1, sizeof chunks->header);
    memcpy(chunks->header, stand_in.bulk, stand_in.bulk_bytes);
    for (int i = 0; i < 3; i++) {
        stand_in_ask("bf.scandump", "w", iterator, NULL);
        chunks->each = stand_in.bulk_bytes;
        assert_in_range(chunks->each, 16, sizeof chunks->bits[i]);
        memcpy(chunks->bits[i], stand_in.bulk, chunks->each);
        snprintf(iterator, sizeof iterator, "%zu", 1 + (size_t)(i + 1) * chunks->each);
    }
    stand_in_release(stand_in_unlink("w"));
}

static const char *load_part(const char *key, const struct chunks *chunks, int part, size_t from,
                             size_t to)
{
    char end[24];
    snprintf(end, sizeof end, "%zu", 1 + (size_t)part * chunks->each + to);
    return stand_in_load_chunk_of(key, end, chunks->bits[part] + from, to - from);
}

/* A window that has arrived by half goes through all that keeps it, and stays one. */
static void a_window_that_arrives_outlives_all_that_keeps_it(void **state)
{
    static struct chunks chunks;
    static const char *const names[] = {"v", "restored", "copy", "rewritten", "dumped"};
    char iterator[24] = "0";
    (void)state;
    stand_in.flags = SERVER_CONTEXT_MASTER;
    dump_window(&chunks);
    assert_string_equal(stand_in_load_chunk_of("v", "1", chunks.header, chunks.header_bytes),
                        "+OK ");
    assert_string_equal(load_part("v", &chunks, 0, 0, chunks.each), "+OK ");
    assert_string_equal(load_part("v", &chunks, 1, 0, 9), "+OK ");
    stand_in_dump("v");
    assert_true(stand_in_restore("restored"));
    assert_true(stand_in_copy("v", "copy"));
    stand_in_rewrite("v", "rewritten");
    while (sscanf(stand_in_ask("bf.scandump", "v", iterator, NULL), "*2 :%23[0-9]", iterator) ==
               1 &&
           strcmp(iterator, "0") != 0)
        assert_string_equal(stand_in_load_chunk("dumped", iterator), "+OK ");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(stand_in_digest(names[i]), stand_in_digest("v"));
        assert_non_null(strstr(stand_in_ask("bf.rotate", names[i], NULL), "-ERR the window has"));
    }
    for (int i = 0; i < 5; i++) {
        assert_string_equal(load_part(names[i], &chunks, 1, 9, chunks.each), "+OK ");
        assert_string_equal(load_part(names[i], &chunks, 2, 0, chunks.each), "+OK ");
        assert_int_equal(count_numbers(names[i], 0, 150), 150);
        /* It is whole: no bit comes to another generation than its own. */
        assert_non_null(strstr(load_part(names[i], &chunks, 2, 0, chunks.each), "-ERR"));
        assert_string_equal(stand_in_ask("bf.rotate", names[i], NULL), "+OK ");
    }
    /* The last byte of a payload that says it is arriving is 0. */
    stand_in_dump("v");
    stand_in.payload[8 + 10] = 1;
    stand_in.payload[stand_in.payload_bytes - 1] = 1;
    assert_false(stand_in_restore("no"));
    stand_in.payload[stand_in.payload_bytes - 1] = 0;
    assert_true(stand_in_restore("yes"));
    stand_in.flags = 0;
    flush();
}

/* Of a window that was cleared, or rotated by its master, the chunks that are left are refused. */
static void chunks_that_come_to_a_rotated_window_are_refused(void **state)
{
    static struct chunks chunks;
    (void)state;
    dump_window(&chunks);
    for (int round = 0; round < 2; round++) {
        assert_string_equal(stand_in_load_chunk_of("v", "1", chunks.header, chunks.header_bytes),
                            "+OK ");
        assert_string_equal(load_part("v", &chunks, 0, 0, chunks.each), "+OK ");
        if (round == 0) {
            stand_in_ask("bf.clear", "v", NULL);
        } else {
            stand_in.flags = SERVER_CONTEXT_REPLICATED;
            stand_in_ask("bf.rotate", "v", "COUNT", "1", "AT", "9007199254740992", NULL);
            stand_in.flags = 0;
        }
        assert_non_null(strstr(load_part("v", &chunks, 1, 0, chunks.each), "-ERR the window is"));
        stand_in_release(stand_in_unlink("v"));
    }
    flush();
}

/* No time that a client gives makes a window that can't be saved and loaded, or is rotated beyond
 * what its replicas accept. */
static void a_window_at_the_end_of_time_can_be_loaded(void **state)
{
    static const char last[] = "9007199254740992", beyond[] = "9007199254740993";
    (void)state;
    assert_non_null(strstr(
        stand_in_ask("bf.reserve", "w", "0.02", "100", "GENERATIONS", "2", "AT", beyond, NULL),
        "-ERR AT"));
    stand_in_ask("bf.reserve", "w", "0.02", "100", "GENERATIONS", "2", NULL);
    assert_non_null(
        strstr(stand_in_ask("bf.rotate", "w", "COUNT", "1", "AT", beyond, NULL), "-ERR AT"));
    assert_non_null(
        strstr(stand_in_ask("bf.rotate", "w", "COUNT", "65", "AT", last, NULL), "-ERR COUNT"));
    assert_string_equal(stand_in_ask("bf.rotate", "w", "COUNT", "1", "AT", last, NULL), "+OK ");
    assert_non_null(strstr(stand_in_ask("bf.rotate", "w", NULL), "-ERR the window began"));
    const uint64_t digest = stand_in_digest("w");
    stand_in_dump("w");
    assert_true(stand_in_restore("v"));
    assert_int_equal(stand_in_digest("v"), digest);
    stand_in.flags = SERVER_CONTEXT_MASTER;
    stand_in.now_ms = UINT64_MAX;
    stand_in_ask("bf.reserve", "x", "0.02", "100", "GENERATIONS", "2", "EVERY", "1", NULL);
    stand_in_ask("bf.reserve", "y", "0.02", "100", "GENERATIONS", "2", "EVERY", "1", "AT", "0",
                 NULL);
    stand_in_tick();
    stand_in_dump("y");
    assert_true(stand_in_restore("z"));
    stand_in.flags = 0;
    stand_in.now_ms = 0;
    flush();
}

static void payloads_of_windows_cut_anywhere_are_refused(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "w", "0.02", "40", "GENERATIONS", "3", NULL);
    stand_in_ask("bf.madd", "w", "x", "y", NULL);
    stand_in_dump("w");
    const size_t whole = stand_in.payload_bytes;
    const uint64_t digest = stand_in_digest("w");
    stand_in_defrag("w");
    assert_int_equal(stand_in_digest("w"), digest);
    assert_true(stand_in_restore("v"));
    assert_int_equal(stand_in_digest("v"), digest);
    for (size_t bytes = 0; bytes < whole; bytes++) {
        stand_in.payload_bytes = bytes;
        assert_false(stand_in_restore("u"));
    }
    for (size_t at = 0; at < whole; at++) {
        stand_in.payload_bytes = whole;
        stand_in.payload[at] ^= 0x11;
        if (stand_in_restore("u")) { /* then it can be saved and loaded again */
            const uint64_t taken = stand_in_digest("u");
            stand_in_rewrite("u", "t");
            assert_int_equal(stand_in_digest("t"), taken);
            stand_in_release(stand_in_unlink("t"));
            stand_in_dump("u");
            assert_true(stand_in_restore("t"));
            assert_int_equal(stand_in_digest("t"), taken);
            stand_in_release(stand_in_unlink("t"));
            stand_in_dump("w");
        } else {
            stand_in.payload[at] ^= 0x11;
        }
    }
    flush();
}

/* Right, wrong, and of a key that is not there. */
static void every_command_runs_and_takes_no_more_than_it_gives_back(void **state)
{
    static const char *const one_key[] = {"bf.info", "bf.debug", "bf.card", "bf.clear",
                                          "bf.rotate"};
    static const char *const with_item[] = {"bf.add", "bf.madd", "bf.exists", "bf.mexists"};
    static const char *const cuckoo[] = {"cf.add",     "cf.addnx",   "cf.exists",   "cf.mexists",
                                         "cf.count",   "cf.info",    "cf.debug",    "cf.compact",
                                         "cf.reserve", "cf.del",     "cf.scandump", "cf.loadchunk",
                                         "cf.insert",  "cf.insertnx"};
    (void)state;
    assert_int_equal(stand_in_load(NULL), SERVER_OK);
    assert_string_equal(stand_in_ask("bf.reserve", "a", "0.01", "20", NULL), "+OK ");
    stand_in_ask("bf.reserve", "a", "0.01", "20", NULL);
    stand_in_ask("bf.reserve", "b", "0", "20", NULL);
    stand_in_ask("bf.reserve", "b", "0.01", "0", "EXPANSION", NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof with_item / sizeof with_item[0]; i++) {
            stand_in_ask(with_item[i], "a", "x", NULL);
            stand_in_ask(with_item[i], "b", "x", NULL);
            stand_in_ask(with_item[i], "b", NULL);
        }
        for (size_t i = 0; i < sizeof one_key / sizeof one_key[0]; i++) {
            stand_in_ask(one_key[i], "a", NULL);
            stand_in_ask(one_key[i], "missing", NULL);
            stand_in_ask(one_key[i], NULL);
        }
        for (size_t i = 0; i < sizeof cuckoo / sizeof cuckoo[0]; i++) {
            stand_in_ask(cuckoo[i], "q", "0", NULL);
            stand_in_ask(cuckoo[i], "q", NULL);
            stand_in_ask(cuckoo[i], "q", "ITEMS", "x", NULL);
            stand_in_ask(cuckoo[i], "a", "1", NULL);
            stand_in_ask(cuckoo[i], "missing", "1", "x", NULL);
        }
        stand_in_ask("bf.insert", "c", "CAPACITY", "7", "ERROR", "0.1", "ITEMS", "x", "y", NULL);
        stand_in_ask("bf.insert", "d", "NOCREATE", "ITEMS", "x", NULL);
        stand_in_ask("bf.info", "a", "ITEMS", NULL);
        stand_in_ask("bf.info", "a", "ERRORNOW", NULL);
        stand_in_ask("bf.merge", "g", "c", "missing", NULL);
        stand_in_ask("bf.merge", "g", "c", NULL);
        stand_in_ask("bf.merge", "g", NULL);
        stand_in_ask("bf.reserve", "w", "0.1", "9", "GENERATIONS", "4", "EVERY", "7", NULL);
        stand_in_ask("bf.reserve", "v", "0.1", "9", "GENERATIONS", "65", NULL);
        stand_in_ask("bf.rotate", "w", NULL);
        stand_in_ask("bf.merge", "g", "w", NULL);
        stand_in_ask("bf.scandump", "missing", "0", NULL);
        stand_in_ask("bf.scandump", "a", "x", NULL);
        stand_in_ask("bf.scandump", "a", "0", NULL);
        stand_in_load_chunk("e", "1");
        stand_in_load_chunk("e", "x");
    }
    if (stand_in_never_run() != NULL)
        fail_msg("%s was never run", stand_in_never_run());
    assert_true(stand_in_memory("a") > 0);
    stand_in_rewrite("a", "f");
    assert_int_equal(stand_in_digest("f"), stand_in_digest("a"));
    flush();
}

static void a_rewritten_file_makes_the_same_filter(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "a", "0.001", "3", "EXPANSION", "1", NULL);
    add_numbers("a", 0, 300);
    stand_in_rewrite("a", "b");
    assert_int_equal(stand_in_digest("b"), stand_in_digest("a"));
    assert_int_equal(count_numbers("b", 0, 300), 300);
    flush();
}

/* ---- With the module's own thread ------------------------------------------------------------ */

static void *release_aside(void *value)
{
    stand_in_release(value);
    return NULL;
}

static void wait_for_none(const char *counter)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && stand_in_info(counter) != 0; i++)
        (void)nanosleep(&moment, NULL); /* between two looks */
    assert_int_equal(stand_in_info(counter), 0);
}

/* Every use of a key of 18 MB while the thread takes its pages. ThreadSanitizer looks on in the
 * step `threads` of .ci/run. */
static void use_large(const char *key, int round)
{
    const int first = 1000 * round;
    assert_string_equal(stand_in_ask("bf.reserve", key, "0.001", "10000000", NULL), "+OK ");
    add_numbers(key, first, first + 100);
    assert_int_equal(count_numbers(key, first, first + 100), 100);
    stand_in_ask("bf.info", key, NULL);
    stand_in_ask("bf.debug", key, NULL);
    stand_in_ask("bf.scandump", key, "0", NULL);
    (void)stand_in_memory(key);
    stand_in_defrag(key);
    if (round % 8 == 0) {
        assert_true(stand_in_copy(key, "copy"));
        assert_int_equal(count_numbers("copy", first, first + 100), 100);
        stand_in_release(stand_in_unlink("copy"));
    }
}

/* What a command replaces is released by the thread, which may be at it. */
static void filters_are_replaced_while_their_pages_are_taken(void **state)
{
    (void)state;
    assert_string_equal(stand_in_ask("bf.reserve", "large", "0.001", "10000000", NULL), "+OK ");
    assert_string_equal(
        stand_in_ask("bf.reserve", "w", "0.001", "9000000", "GENERATIONS", "2", NULL), "+OK ");
    for (int round = 0; round < 12; round++) {
        add_numbers("large", 100 * round, 100 * round + 100);
        assert_string_equal(stand_in_ask("bf.clear", "large", NULL), "+OK ");
        assert_int_equal(count_numbers("large", 100 * round, 100 * round + 100), 0);
        add_numbers("w", 100 * round, 100 * round + 100);
        assert_string_equal(stand_in_ask("bf.rotate", "w", NULL), "+OK ");
        assert_int_equal(count_numbers("w", 100 * round, 100 * round + 100), 100);
        if (round % 4 == 3)
            wait_for_none("populating");
    }
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && stand_in_info("keys") != 3; i++)
        (void)nanosleep(&moment, NULL);         /* between two looks */
    assert_int_equal(stand_in_info("keys"), 3); /* a filter, and two of a window */
    stand_in_flush();                           /* the thread may be at one of them */
    wait_for_none("keys");
}

/* The server would evict keys, or refuse writes. */
static void what_is_cleared_beyond_maxmemory_takes_none(void **state)
{
    (void)state;
    stand_in_ask("bf.reserve", "k", "0.001", "1000000", NULL);
    stand_in_ask("bf.reserve", "w", "0.001", "1000000", "GENERATIONS", "2", NULL);
    stand_in_ask("bf.reserve", "chain", "1e-12", "30000", "EXPANSION", "8", NULL);
    for (int i = 0; i < 3; i++)
        add_numbers(i == 0 ? "k" : i == 1 ? "w" : "chain", 0, 60000);
    stand_in.maxmemory = 1 << 20;
    const size_t before = stand_in.asked;
    assert_string_equal(stand_in_ask("bf.clear", "k", NULL), "+OK ");
    assert_string_equal(stand_in_ask("bf.rotate", "w", NULL), "+OK ");
    assert_string_equal(stand_in_ask("bf.clear", "w", NULL), "+OK ");
    assert_string_equal(stand_in_ask("bf.clear", "chain", NULL), "+OK ");
    assert_in_range(stand_in.asked - before, 0, 4096);
    stand_in.maxmemory = 0;
    assert_int_equal(count_numbers("k", 0, 1000) + count_numbers("w", 0, 1000), 0);
    assert_int_equal(count_numbers("chain", 0, 1000), 0);
    add_numbers("chain", 0, 60000);
    assert_int_equal(count_numbers("chain", 0, 1000), 1000);
    flush();
}

static void keys_may_go_while_their_pages_are_taken(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        pthread_t aside;
        use_large("large", round);
        if (round % 5 == 1)
            stand_in_child(true);
        if (round % 5 == 3)
            stand_in_child(false);
        if (round % 3 == 2 && (round % 5 == 0 || round % 5 > 2)) {
            wait_for_none("populating"); /* its pages are all there by then */
            stand_in_defrag("large");    /* and elsewhere */
            stand_in_child(false);
        }
        void *value = stand_in_unlink("large");
        if (round % 2 == 0) {
            stand_in_release(value);
        } else {
            assert_int_equal(pthread_create(&aside, NULL, release_aside, value), 0);
            assert_int_equal(pthread_join(aside, NULL), 0);
        }
    }
    assert_true(stand_in_info("populated_bytes") > 0);
    stand_in_child(false);
    wait_for_none("populating");
    wait_for_none("keys");
    assert_int_equal(stand_in_info("huge_page_bytes"), 0);
    flush();
}

/* More filters than the thread's list has room for at first. */
static void many_large_filters_are_not_an_error(void **state)
{
    void *values[100];
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_string_equal(stand_in_ask("bf.reserve", "k", "0.001", "10000000", NULL), "+OK ");
        values[i] = stand_in_unlink("k");
    }
    for (int i = 0; i < 100; i++)
        stand_in_release(values[i]);
    wait_for_none("populating");
    wait_for_none("keys");
    flush();
}

/* ---- A kernel that refuses ------------------------------------------------------------------- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { BLOCK_FROM = 4 << 20 }; /* larger calls are of blocks, smaller ones of 2 MiB */

/* What the kernel does when it is to make pages huge; the real one is not called. */
static struct {
    atomic_bool is_fake;
    int error;    /* 0: it does */
    int refusals; /* of each block, before it does; -1: always */
    long slow_ns; /* a block takes as long */
    size_t blocks, repeats, small;
    void *last;
    int refused;
} kernel;

/* The thread is held in a call until the main thread has given a value up. */
static atomic_bool holds, is_held;
static _Thread_local bool awaits_release;

/* In place of libc's, for the whole program. */
int madvise(void *memory, size_t bytes, int advice)
{
    if (advice != MADV_COLLAPSE || !atomic_load(&kernel.is_fake))
        return (int)syscall(SYS_madvise, memory, bytes, advice);
    atomic_store(&is_held, atomic_load(&holds));
    while (atomic_load(&holds))
        (void)sched_yield();
    if (memory == kernel.last)
        kernel.repeats++;
    else if (bytes < BLOCK_FROM)
        kernel.small++;
    else
        kernel.blocks++;
    kernel.refused = memory == kernel.last ? kernel.refused + 1 : 0;
    kernel.last = memory;
    if (kernel.slow_ns > 0 && bytes >= BLOCK_FROM)
        /* A kernel that takes its time: no test depends on how long. */
        (void)nanosleep(&(struct timespec){.tv_nsec = kernel.slow_ns}, NULL);
    if (kernel.refusals < 0 || kernel.refused < kernel.refusals) {
        errno = kernel.error;
        return -1;
    }
    return 0;
}

/* By the system's file, and by a kernel that takes pages ahead (Linux 5.14). */
static bool are_huge_pages_allowed(void)
{
    static _Alignas(4096) uint8_t page[4096];
    char text[64] = "never";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (file != NULL) {
        assert_non_null(fgets(text, sizeof text, file));
        (void)fclose(file);
    }
    return strstr(text, "[never]") == NULL && strcmp(text, "never") != 0 &&
           sysconf(_SC_PAGESIZE) == sizeof page &&
           madvise(page, sizeof page, MADV_POPULATE_WRITE) == 0;
}

/* Takes the pages of a filter with such a kernel; returns the bytes of huge ones by INFO. */
static uint64_t take_with(int error, int refusals, long slow_ns, const char *capacity)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.error = error;
    kernel.refusals = refusals;
    kernel.slow_ns = slow_ns;
    atomic_store(&kernel.is_fake, true);
    const unsigned long long before = stand_in_info("populated_bytes");
    assert_string_equal(stand_in_ask("bf.reserve", "k", "0.001", capacity, "NONSCALING", NULL),
                        "+OK ");
    wait_for_none("populating");
    const uint64_t counted = stand_in_info("huge_page_bytes");
    atomic_store(&kernel.is_fake, false);
    /* All but what is before the first page and after the last. */
    assert_in_range(stand_in_info("populated_bytes") - before, stand_in_memory("k") - 8192,
                    stand_in_memory("k"));
    stand_in_release(stand_in_unlink("k"));
    wait_for_none("keys");
    assert_int_equal(stand_in_info("huge_page_bytes"), 0);
    return counted;
}

/* With 108 MB; with 240 MB for a slow kernel, which is to make few blocks huge. */
static void pages_are_taken_whatever_the_kernel_refuses(void **state)
{
    const uint64_t size = 107 << 20, tail = 8 << 20;
    (void)state;
    if (!are_huge_pages_allowed())
        skip();
    assert_in_range(take_with(0, 0, 0, "60000000"), size - tail, size + tail);
    assert_in_range(kernel.blocks, 1, 8);
    assert_int_equal(kernel.repeats, 0);
    /* A page in use: once more. */
    assert_in_range(take_with(EAGAIN, 1, 0, "60000000"), size - tail, size + tail);
    assert_true(kernel.repeats > 0);
    /* No room, or a kernel that can't: small pages, and each 2 MiB is tried later. */
    assert_int_equal(take_with(ENOMEM, -1, 0, "60000000"), 0);
    assert_int_equal(kernel.repeats, 0);
    assert_in_range(kernel.small, 50, 60);
    assert_int_equal(kernel.blocks, 0);
    assert_int_equal(take_with(EINVAL, -1, 0, "60000000"), 0);
    /* Too slow: the next block is tried farther on, twice as far each time. */
    assert_in_range(take_with(0, 0, 12000000, "134000000"), 2 * size, 240 << 20);
    assert_in_range(kernel.blocks, 3, 5);
    assert_true(kernel.small > 0);
    flush();
}

#if !STAND_IN_SANITIZED
/* In place of libc's, for the whole program: the main thread comes out of the call that gives a
 * value up only when the thread has released it. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    const int result = real(mutex);
    if (awaits_release && stand_in_info("populating") < 2) {
        awaits_release = false;
        atomic_store(&holds, false);
        wait_for_none("populating");
        for (int i = 0; i < 60000 && stand_in_info("keys") != 1; i++)
            (void)sched_yield();
    }
    return result;
}
#endif

static void what_the_thread_has_released_is_not_touched(void **state)
{
    (void)state;
    if (STAND_IN_SANITIZED || !are_huge_pages_allowed())
        skip();
    memset(&kernel, 0, sizeof kernel);
    atomic_store(&kernel.is_fake, true);
    atomic_store(&holds, true);
    assert_string_equal(stand_in_ask("bf.reserve", "k", "0.001", "10000000", NULL), "+OK ");
    while (!atomic_load(&is_held))
        (void)sched_yield();
    awaits_release = true;
    assert_string_equal(stand_in_ask("bf.clear", "k", NULL), "+OK ");
    assert_false(awaits_release);
    assert_int_equal(stand_in_info("keys"), 1);
    atomic_store(&kernel.is_fake, false);
    stand_in_release(stand_in_unlink("k"));
    wait_for_none("keys");
    flush();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_allocation_is_an_error_and_loses_nothing),
        cmocka_unit_test(a_payload_that_memory_lacks_for_is_called_so),
        cmocka_unit_test(a_refused_link_leaves_what_was_added),
        cmocka_unit_test(defragmentation_moves_every_block_and_no_bit),
        cmocka_unit_test(payloads_cut_anywhere_are_refused),
        cmocka_unit_test(counts_of_items_that_differ_are_refused),
        cmocka_unit_test(a_changed_byte_of_a_payload_is_refused_or_kept),
        cmocka_unit_test(a_function_that_is_missing_is_named),
        cmocka_unit_test(what_is_passed_on_makes_the_same_filter),
        cmocka_unit_test(windows_are_passed_on_with_their_times),
        cmocka_unit_test(a_window_arrives_before_it_is_rotated),
        cmocka_unit_test(a_window_that_arrives_outlives_all_that_keeps_it),
        cmocka_unit_test(chunks_that_come_to_a_rotated_window_are_refused),
        cmocka_unit_test(a_window_at_the_end_of_time_can_be_loaded),
        cmocka_unit_test(payloads_of_windows_cut_anywhere_are_refused),
        cmocka_unit_test(every_command_runs_and_takes_no_more_than_it_gives_back),
        cmocka_unit_test(a_rewritten_file_makes_the_same_filter),
        cmocka_unit_test(filters_are_replaced_while_their_pages_are_taken),
        cmocka_unit_test(what_is_cleared_beyond_maxmemory_takes_none),
        cmocka_unit_test(keys_may_go_while_their_pages_are_taken),
        cmocka_unit_test(many_large_filters_are_not_an_error),
        cmocka_unit_test(pages_are_taken_whatever_the_kernel_refuses),
        cmocka_unit_test(what_the_thread_has_released_is_not_touched),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}

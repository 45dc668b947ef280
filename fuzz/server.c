/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of the module: payloads of RESTORE and pieces of BF.LOADCHUNK and CF.LOADCHUNK
 * that nobody saved, beside the stand-in for a server (tests/module/stand_in.h). What is refused
 * leaves every key as it was; what is taken is a filter that works.
 *
 * An input has eight bytes in front:
 *
 *     0   bit 0: pieces follow, else a payload does; bit 1: the payload is a window's; bit 2: the
 *         payload or the pieces are a cuckoo filter's
 *     1   encoding version of the payload
 *     2   the allocation that is refused; 0: none
 *     3   key of the pieces: 0 a new one, 1 "several", 2 "one", 3 "window"; of a cuckoo filter 1
 *         "cuckoos", 2 "cuckoo", else a new one
 *
 * A piece is its iterator (8 bytes), its length (4; what remains, if that is less) and its
 * bytes. Lengths put the numbers of a header at multiples of 8 and 4, where a mutation finds them.
 *
 * Five keys are there before, of "several" links, of "one", a "window", and cuckoo filters of
 * several sub-filters and of one. Besides what the sanitizers see, it aborts where
 *   - a key that an input was refused for, or is not about, has another digest;
 *   - a refusal is passed on to replicas, or signals a modified key, or gives no error;
 *   - a payload has more memory taken than its bytes justify;
 *   - what was taken denies an item that was added, or is another filter after DUMP and RESTORE,
 *     SCANDUMP and LOADCHUNK, a rewritten AOF, COPY or defragmentation;
 *   - memory is left, or a counter of INFO is not 0, when all keys are gone.
 *
 * Build: with clang, -fsanitize=fuzzer,address,undefined, this file, tests/module/stand_in.c, the
 * module and the library; or with regression.c as a plain test. make_server_corpus.c made its
 * first inputs.
 */
#include "tests/module/stand_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PREFIX = 8, AT_GROWTH = 24, PIECE = 12, PIECES_MAX = 16, LARGEST = 1 << 17 };

/* Room for the descriptions of as many links as there can be, which may not come. */
enum { ROOM_FOR_LINKS = 65536 * (53 + 8), OWN_MEMORY = 65536 };

static const char limit[] = "1000000"; /* bytes of a key that clients make */

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz/server: broken promise: %s\n", what);
    abort();
}

static bool is_error(const char *reply)
{
    return strstr(reply, "-ERR") != NULL || reply[0] == '-';
}

/* ---- The keys that are there ----------------------------------------------------------------- */

enum { SEVERAL, ONE, WINDOW, CUCKOOS, CUCKOO, KEYS };
static const char *const keys[KEYS] = {"several", "one", "window", "cuckoos", "cuckoo"};
static uint64_t whole[KEYS]; /* their digests */

static void make_keys(void)
{
    static const char *const words[] = {"bloom-memory-usage-limit", limit, NULL};
    static bool is_loaded;
    if (!is_loaded)
        must(stand_in_load(words) == SERVER_OK, "the module loads");
    is_loaded = true;
    stand_in_ask("bf.reserve", "several", "0.01", "3", NULL);
    stand_in_ask("bf.madd", "several", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", NULL);
    stand_in_ask("bf.reserve", "one", "0.1", "20", "NONSCALING", NULL);
    stand_in_ask("bf.madd", "one", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", NULL);
    stand_in_ask("bf.reserve", "window", "0.1", "9", "GENERATIONS", "2", "EVERY", "5", "AT", "7",
                 NULL);
    stand_in_ask("bf.madd", "window", "1", "2", "3", "4", NULL);
    stand_in_ask("bf.rotate", "window", "COUNT", "1", "AT", "9", NULL);
    stand_in_ask("bf.madd", "window", "4", "5", "6", NULL);
    stand_in_ask("cf.reserve", "cuckoos", "4", "EXPANSION", "2", NULL);
    stand_in_ask("cf.insert", "cuckoos", "ITEMS", "1", "2", "3", "4", "5", "6", "7", "8", "9",
                 NULL);
    stand_in_ask("cf.reserve", "cuckoo", "20", "BUCKETSIZE", "3", "EXPANSION", "0", NULL);
    stand_in_ask("cf.insert", "cuckoo", "ITEMS", "1", "2", "3", "4", "5", NULL);
    for (int i = 0; i < KEYS; i++)
        whole[i] = stand_in_digest(keys[i]);
}

static void check_untouched(const char *touched)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(touched, keys[i]) != 0)
            must(stand_in_digest(keys[i]) == whole[i], "a key stays as it was");
}

static void check_all_is_gone(void)
{
    static const char *const counters[] = {"keys", "windows", "cuckoo_keys", "memory_bytes",
                                           "populating"};
    stand_in_flush();
    must(stand_in.blocks == 0, "memory is given back");
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        must(stand_in_info(counters[i]) == 0, "counters come back to zero");
}

/* ---- A filter that was taken ----------------------------------------------------------------- */

static void check_same(const char *key, const char *other)
{
    must(stand_in_digest(key) == stand_in_digest(other), "a filter that was kept is the same");
}

/* Those of a cuckoo filter without items are none. */
static void check_pieces(const char *key, bool is_cuckoo)
{
    const char *loads = is_cuckoo ? "cf.loadchunk" : "bf.loadchunk";
    char iterator[32] = "0";
    for (;;) {
        const char *reply =
            stand_in_ask(is_cuckoo ? "cf.scandump" : "bf.scandump", key, iterator, NULL);
        must(sscanf(reply, "*2 :%31[0-9]", iterator) == 1, "a filter is handed out in pieces");
        if (strcmp(iterator, "0") == 0)
            break;
        const char *loaded =
            stand_in_load_piece(loads, "pieces", iterator, stand_in.bulk, stand_in.bulk_bytes);
        must(!is_error(loaded), "its own pieces are taken");
    }
    if (!is_cuckoo || stand_in_has("pieces"))
        check_same(key, "pieces");
}

static void forget(const char *key)
{
    if (stand_in_has(key))
        stand_in_release(stand_in_unlink(key));
}

static void check_kept(const char *key, bool is_cuckoo)
{
    forget("pieces");
    forget("rewritten");
    stand_in.flags = SERVER_CONTEXT_LOADING; /* what is loaded is not held to limits */
    check_pieces(key, is_cuckoo);
    stand_in_rewrite(key, "rewritten");
    check_same(key, "rewritten");
    must(stand_in_copy(key, "copy"), "it can be copied");
    check_same(key, "copy");
    stand_in_dump(key);
    must(stand_in_restore("again"), "what was saved can be loaded");
    check_same(key, "again");
    stand_in_defrag("again");
    check_same(key, "again");
    stand_in.flags = 0;
}

static void ask_all(const char *key)
{
    static const char *const selectors[] = {"CAPACITY",  "SIZE",        "FILTERS",  "ITEMS",
                                            "EXPANSION", "ERROR",       "ERRORNOW", "FILL",
                                            "ESTIMATE",  "GENERATIONS", "EVERY"};
    for (size_t i = 0; i < sizeof selectors / sizeof selectors[0]; i++)
        must(!is_error(stand_in_ask("bf.info", key, selectors[i], NULL)), "it describes itself");
    must(!is_error(stand_in_ask("bf.info", key, NULL)), "it describes itself");
    must(!is_error(stand_in_ask("bf.debug", key, NULL)), "it describes itself");
    must(!is_error(stand_in_ask("bf.card", key, NULL)), "it describes itself");
    must(!is_error(stand_in_ask("bf.mexists", key, "1", "x", "", NULL)), "it can be asked");
    must(stand_in_memory(key) > 0, "it takes memory");
}

static bool is_window(const char *key)
{
    return strcmp(stand_in_ask("bf.info", key, "GENERATIONS", NULL), "*1 _ ") != 0;
}

static void check_works(const char *key)
{
    stand_in.refuse_at = 0;
    check_kept(key, false);
    ask_all(key);
    const bool added = !is_error(stand_in_ask("bf.madd", key, "new", "newer", NULL));
    must(!added || strcmp(stand_in_ask("bf.mexists", key, "new", "newer", NULL), "*2 :1 :1 ") == 0,
         "an added item is not denied");
    ask_all(key);
    check_kept(key, false);
    must(!is_error(stand_in_ask("bf.merge", key, key, NULL)) || is_window(key), "it is merged");
    if (is_window(key))
        must(!is_error(stand_in_ask("bf.rotate", key, NULL)) ||
                 strstr(stand_in.reply, "last chunk") != NULL ||
                 strstr(stand_in.reply, "last time") != NULL,
             "it is rotated");
    check_kept(key, false);
    must(!is_error(stand_in_ask("bf.clear", key, NULL)), "it is cleared");
    must(strcmp(stand_in_ask("bf.card", key, NULL), ":0 ") == 0, "and empty");
    check_kept(key, false);
}

static void check_cuckoo_works(const char *key)
{
    stand_in.refuse_at = 0;
    check_kept(key, true);
    for (int round = 0; round < 2; round++) {
        must(!is_error(stand_in_ask("cf.info", key, NULL)), "it describes itself");
        must(strstr(stand_in.reply, ":-") == NULL, "no number of it is negative");
        must(!is_error(stand_in_ask("cf.debug", key, NULL)), "it describes itself");
        must(!is_error(stand_in_ask("cf.mexists", key, "1", "x", "", NULL)), "it can be asked");
        const bool added = strcmp(stand_in_ask("cf.add", key, "new", NULL), ":1 ") == 0;
        must(!added || strcmp(stand_in_ask("cf.exists", key, "new", NULL), ":1 ") == 0,
             "an added item is not denied");
        must(strcmp(stand_in_ask("cf.del", key, "new", NULL), ":1 ") == 0 || !added,
             "an added item can be removed");
        stand_in_ask("cf.insertnx", key, "ITEMS", "1", "2", "3", "4", "new", "newer", NULL);
        must(!is_error(stand_in_ask("cf.compact", key, NULL)), "it is compacted");
        must(stand_in_memory(key) > 0, "it takes memory");
        check_kept(key, true);
    }
}

/* ---- The target ------------------------------------------------------------------------------ */

/* What came of cuckoo filters. A test says in its environment how many payloads and pieces of
 * them it is to have tried at least: what is counted came to the module. */
static struct {
    unsigned long long payloads, pieces, taken;
} cuckoos;

static void tell_cuckoos(void)
{
    const char *least = getenv("BLOOMERY_FUZZ_CUCKOOS");
    const unsigned long long tried = cuckoos.payloads + cuckoos.pieces;
    printf("cuckoo filters: %llu payloads, %llu pieces; %llu of them taken\n", cuckoos.payloads,
           cuckoos.pieces, cuckoos.taken);
    must(least == NULL || tried >= strtoull(least, NULL, 10), "as many were tried as was asked");
}

/* Saved again it is the payload that was read, but for the growth of a filter that does not grow,
 * which means nothing. */
static void check_saved(const char *key, const uint8_t *data)
{
    const size_t read = stand_in.payload_read;
    stand_in_dump(key);
    must(stand_in.payload_bytes == read, "a payload is saved as long as it was read");
    if (stand_in.type != STAND_IN_FILTER) {
        must(memcmp(stand_in.payload, data, read) == 0, "a payload is saved as it was read");
        return;
    }
    must(memcmp(stand_in.payload, data, AT_GROWTH) == 0 &&
             memcmp(stand_in.payload + AT_GROWTH + 8, data + AT_GROWTH + 8, read - AT_GROWTH - 8) ==
                 0,
         "a payload is saved as it was read");
}

static void try_payload(enum stand_in_type type, int encoding, const uint8_t *data, size_t size)
{
    stand_in.type = type;
    memcpy(stand_in.payload, data, size);
    stand_in.payload_bytes = size;
    stand_in.asked = 0;
    const bool taken = stand_in_restore_as("new", encoding);
    must(stand_in.asked <= 16 * size + ROOM_FOR_LINKS + OWN_MEMORY,
         "no more memory than the payload justifies");
    must(taken == stand_in_has("new"), "a payload is taken or refused");
    cuckoos.payloads += type == STAND_IN_CUCKOO;
    cuckoos.taken += type == STAND_IN_CUCKOO && taken;
    if (taken && (encoding == 4 || type == STAND_IN_WINDOW))
        check_saved("new", data);
    if (taken && type == STAND_IN_CUCKOO)
        check_cuckoo_works("new");
    else if (taken)
        check_works("new");
    check_untouched("new");
}

static void try_piece(const char *key, bool is_cuckoo, int64_t iterator, const uint8_t *data,
                      size_t size)
{
    char text[32];
    const bool there = stand_in_has(key);
    const uint64_t before = there ? stand_in_digest(key) : 0;
    const long signals = stand_in.signals;
    const long events = stand_in.events;
    snprintf(text, sizeof text, "%" PRId64, iterator);
    const char *reply =
        stand_in_load_piece(is_cuckoo ? "cf.loadchunk" : "bf.loadchunk", key, text, data, size);
    cuckoos.pieces += is_cuckoo;
    cuckoos.taken += is_cuckoo && reply[0] == '+';
    if (strcmp(reply, "+OK ") == 0) {
        must(stand_in_has(key), "what was taken is there");
        must(stand_in.signals == signals + 1 && stand_in.events == events + 1, "it is announced");
        must(strncmp(stand_in.passed_on, is_cuckoo ? "CF.LOADCHUNK " : "BF.LOADCHUNK ", 13) == 0,
             "it is passed on");
        return;
    }
    must(reply[0] == '-', "a refusal is an error");
    must(stand_in_has(key) == there, "a refused piece makes no key");
    must(!there || stand_in_digest(key) == before, "a refused piece changes nothing");
    must(stand_in.signals == signals && stand_in.events == events, "nobody hears of it");
    must(stand_in.passed_on[0] == '\0', "it is not passed on");
}

static void try_pieces(const char *key, bool is_cuckoo, const uint8_t *data, size_t size)
{
    for (int i = 0; i < PIECES_MAX && size >= PIECE; i++) {
        int64_t iterator;
        uint32_t bytes;
        memcpy(&iterator, data, sizeof iterator);
        memcpy(&bytes, data + sizeof iterator, sizeof bytes);
        data += PIECE;
        size -= PIECE;
        if (bytes > size)
            bytes = (uint32_t)size;
        try_piece(key, is_cuckoo, iterator, data, bytes);
        data += bytes;
        size -= bytes;
    }
    if (stand_in_has(key) && is_cuckoo)
        check_cuckoo_works(key);
    else if (stand_in_has(key))
        check_works(key);
    check_untouched(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const targets[2][4] = {{"new", "several", "one", "window"},
                                              {"new", "cuckoos", "cuckoo", "new"}};
    static bool tells;
    if (!tells)
        tells = atexit(tell_cuckoos) == 0;
    if (size < PREFIX || size > LARGEST)
        return 0;
    make_keys();
    stand_in.refuse_at = data[2];
    const bool is_cuckoo = (data[0] & 4) != 0;
    const enum stand_in_type type = is_cuckoo            ? STAND_IN_CUCKOO
                                    : (data[0] & 2) != 0 ? STAND_IN_WINDOW
                                                         : STAND_IN_FILTER;
    if (data[0] % 2 == 0)
        try_payload(type, data[1], data + PREFIX, size - PREFIX);
    else
        try_pieces(targets[is_cuckoo][data[3] % 4], is_cuckoo, data + PREFIX, size - PREFIX);
    stand_in.refuse_at = 0;
    check_all_is_gone();
    return 0;
}

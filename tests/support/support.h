/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the property tests share: numbers from a seed, families of keys, an allocator that counts
 * and fails on demand, scratch directories, and the bytes of filters. Everything is a function of
 * its seed, so that a failure comes back on every run and every machine.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "many.h"

/* ---- Numbers from a seed ------------------------------------------------------------- */

/* A bijection of 64-bit numbers, so that different inputs give different outputs. */
uint64_t test_mix(uint64_t value);

/* The next number of the sequence that starts at *state. */
uint64_t test_next(uint64_t *state);

/* Below limit > 0, close enough to uniform for tests. */
uint64_t test_below(uint64_t *state, uint64_t limit);

/* true where the long tier was requested: BLOOMERY_TEST_LONG is set and is not empty or "0". */
bool test_long(void);

/* Runs a group of tests; where BLOOMERY_TEST_FILTER is set, only those that match it (* and ?);
 * and where BLOOMERY_CPU is set, only at that level of the kernels. */
void test_choose(void);
void test_level(void);
#define test_run_group(name, tests, set_up, tear_down) \
    (test_choose(), test_level(), cmocka_run_group_tests_name(name, tests, set_up, tear_down))

/*
 * Levels of the kernels (bloomery_info.kernel). The library says "scalar" where it has no level of
 * the wanted name: that is a machine without it, and the program is skipped as a whole. Everything
 * else that differs is a failure: a name that nobody knows, or a switch that switches nothing.
 */
enum test_level_verdict { TEST_LEVEL_RUNS, TEST_LEVEL_SKIPS, TEST_LEVEL_FAILS };
enum test_level_verdict test_level_of(const char *wanted, const char *in_use);

/* The program that runs this one, made for another processor; NULL: it runs by itself. */
const char *test_emulator(void);

/* false where the library was built without libsodium: filters that would be keyed are then plain
 * ones, and tests of keys alone are skipped. */
bool test_keyed(void);

/* Wall-clock seconds since some moment. */
double test_seconds(void);

/* ---- Keys ---------------------------------------------------------------------------- */

/* Structured keys are what weak hashes fail on: see the reports behind each in docs. */
enum test_family {
    TEST_RANDOM,  /* 8 to 24 bytes, any value */
    TEST_DECIMAL, /* "1000000", "1000001", ... */
    TEST_LITTLE,  /* 8-byte little-endian integers, one after the other */
    TEST_BIG,     /* the same, big-endian */
    TEST_IDS,     /* 12 digits: date of birth, century, serial, check digit */
    TEST_URLS,
    TEST_WORDS, /* made of syllables, 2 to 14 letters */
    TEST_FAMILIES
};

extern const char *const test_family_names[TEST_FAMILIES];

/* Key number `index` of a family: different indexes below 2^30 give different keys. The same in
 * another seed is another order or another start, not always a disjoint set. */
enum { TEST_SECRET_BYTES = 64 };
size_t test_key(enum test_family family, uint64_t seed, uint64_t index,
                uint8_t bytes[TEST_SECRET_BYTES]);

/* Keys number first to first + count - 1, ready to be passed to the library. */
struct test_keys {
    size_t count;
    bloomery_key *keys;
    uint8_t *bytes;
};
struct test_keys test_keys_make(enum test_family family, uint64_t seed, uint64_t first,
                                size_t count);
void test_keys_free(struct test_keys *keys);

/* ---- Shapes -------------------------------------------------------------------------- */

/* The structures under test: classic, blocked with each number of blocks per key, and counting with
 * counters of 4 and 8 bits. */
struct test_shape {
    const char *name;
    bloomery_kind kind;
    uint32_t blocks_per_key; /* what to ask the planner for */
    uint32_t cell_bits;
};
enum { TEST_SHAPES = 7 };
extern const struct test_shape test_shapes[TEST_SHAPES];

/* The plan for `keys` keys at that rate; the test fails if none exists. */
bloomery_plan test_plan(const struct test_shape *shape, uint64_t keys, double rate);

/* The geometry of a plan with another number of bits, as if filled in by hand, at the rate that its
 * planned keys have there. */
bloomery_plan test_by_hand(const bloomery_plan *plan, uint64_t bits);

/* A new filter; the test fails where there is none. options may be NULL. */
bloomery_filter *test_create(const bloomery_plan *plan, const bloomery_create_options *options);

/* Every key added one by one. */
void test_add_all(bloomery_filter *filter, const struct test_keys *keys);

/* Cells of all layers that are not 0, counted here: what a call said of new ones is held against
 * it. */
uint64_t test_cells(const bloomery_filter *filter);

/* ---- Bytes and files ----------------------------------------------------------------- */

struct test_bytes {
    uint8_t *data; /* a multiple of 64, as bloomery_view wants; spare room of 64 bytes behind */
    size_t bytes;
};

/* The file form, from bloomery_write. */
struct test_bytes test_written(const bloomery_filter *filter);
struct test_bytes test_read_file(const char *path);
struct test_bytes test_copy_bytes(const void *data, size_t bytes);
void test_bytes_free(struct test_bytes *bytes);
void test_write_file(const char *path, const void *data, size_t bytes);
bool test_bytes_equal(const struct test_bytes *one, const struct test_bytes *other);

/* Two filters have the same file form. `name` stands before the message. */
void test_assert_same(const bloomery_filter *one, const bloomery_filter *other);
void test_assert_same_for(const char *name, const bloomery_filter *one,
                          const bloomery_filter *other);

/* Numbers of a file, little-endian. */
uint64_t test_load_u64(const uint8_t *from);
void test_store_u64(uint8_t *to, uint64_t value);

/* A new empty directory under TMPDIR (or /tmp), and its removal with all that is in it. */
struct test_directory {
    char path[200];
};
struct test_directory test_directory_make(void);
void test_directory_remove(const struct test_directory *directory);
/* Into text[size]: "directory/name". */
void test_join(char *text, size_t size, const struct test_directory *directory, const char *name);
/* How many entries lie in the directory, dots not counted. */
unsigned test_directory_entries(const struct test_directory *directory);
/* A file, or a directory with all that is in it. Nothing there is fine. */
void test_remove(const char *path);

/* The exit status of a process that this one started; where a signal ended it, minus its number. */
int test_wait(pid_t child);

/* A span whose end touches a page that must not be read: an overrun is a crash, no sanitizer
 * needed. The start is a multiple of 64 only where `bytes` is. */
struct test_fence {
    uint8_t *data;
    size_t bytes;
    void *map;
    size_t map_bytes;
};
struct test_fence test_fence_make(const void *data, size_t bytes);
void test_fence_free(struct test_fence *fence);

/* ---- Memory -------------------------------------------------------------------------- */

/* An allocator that counts, refuses one request, fills memory with rubbish, and checks that every
 * block comes back with the numbers of the request. */
struct test_memory {
    uint64_t requests;  /* calls of allocate */
    uint64_t refuse_at; /* this call (the first is 1) gets NULL; 0: none */
    uint64_t live;      /* blocks not yet released */
    uint64_t bytes;     /* in them */
    bool wrong;         /* a release that matched no request */
};
bloomery_allocator test_allocator(struct test_memory *memory);

#endif

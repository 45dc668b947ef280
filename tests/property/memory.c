/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation fails once. Each call that may need memory is repeated with its first, second,
 * ... request refused, until none is refused any more. Each failure is reported as
 * BLOOMERY_OUT_OF_MEMORY, leaks nothing, and leaves files and filters as they were.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property. Where
 * no sanitizer is in the way the program also stands in for malloc, to see that the library
 * requests its caller's allocator and nothing else.
 */
#include "../support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define OWN_MALLOC 0
#else
#define OWN_MALLOC 1
#endif
#else
#define OWN_MALLOC 1
#endif

/* ---- The C library's own heap ----------------------------------------------------------- */

#if OWN_MALLOC && defined(__GLIBC__)
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static unsigned long heap_requests;

void *malloc(size_t bytes)
{
    heap_requests++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    heap_requests++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    heap_requests++;
    return __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    heap_requests++;
    *memory = __libc_memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}
#else
static const unsigned long heap_requests = 0;
#endif

/* ---- The calls -------------------------------------------------------------------------- */

struct stage {
    struct test_directory directory;
    char path[300];
    struct test_bytes file; /* a filter with keys in it, as written */
    struct test_memory memory;
    /* With an allocator that counts in `memory`. */
    bloomery_create_options options;
    bloomery_open_options opening;
    struct test_keys keys;
};

static bloomery_plan stage_plan(void)
{
    return test_plan(&test_shapes[1], 40000, 0.01);
}

static int set_stage(void **state)
{
    static struct stage stage;
    static const bloomery_create_options none = BLOOMERY_CREATE_OPTIONS;
    static const bloomery_open_options closed = BLOOMERY_OPEN_OPTIONS;
    stage.options = none;
    stage.opening = closed;
    stage.options.note = "a note";
    stage.directory = test_directory_make();
    test_join(stage.path, sizeof stage.path, &stage.directory, "f");
    bloomery_plan plan = stage_plan();
    bloomery_filter *filter = test_create(&plan, &stage.options);
    stage.keys = test_keys_make(TEST_IDS, 0, 0, 40000);
    test_add_all(filter, &stage.keys);
    stage.file = test_written(filter);
    bloomery_free(filter);
    test_write_file(stage.path, stage.file.data, stage.file.bytes);
    stage.options.allocator = stage.opening.allocator = test_allocator(&stage.memory);
    *state = &stage;
    return 0;
}

static int strike_stage(void **state)
{
    struct stage *stage = *state;
    test_bytes_free(&stage->file);
    test_keys_free(&stage->keys);
    test_directory_remove(&stage->directory);
    return 0;
}

/* A way to a filter. */
typedef bloomery_status make_function(struct stage *stage, const bloomery_filter **filter,
                                      bloomery_error *error);

static bloomery_status make_new(struct stage *stage, const bloomery_filter **filter,
                                bloomery_error *error)
{
    bloomery_filter *own = NULL;
    bloomery_plan plan = stage_plan();
    const bloomery_status status = bloomery_create(&plan, &stage->options, &own, error);
    *filter = own;
    return status;
}

static bloomery_status make_map(struct stage *stage, const bloomery_filter **filter,
                                bloomery_error *error)
{
    return bloomery_map(stage->path, &stage->opening, filter, error);
}

static bloomery_status make_copy(struct stage *stage, const bloomery_filter **filter,
                                 bloomery_error *error)
{
    bloomery_filter *own = NULL;
    const bloomery_status status = bloomery_open(stage->path, &stage->opening, &own, error);
    *filter = own;
    return status;
}

static bloomery_status make_view(struct stage *stage, const bloomery_filter **filter,
                                 bloomery_error *error)
{
    return bloomery_view(stage->file.data, stage->file.bytes, &stage->opening, filter, error);
}

static bloomery_status make_loaded(struct stage *stage, const bloomery_filter **filter,
                                   bloomery_error *error)
{
    bloomery_filter *own = NULL;
    const bloomery_status status =
        bloomery_load(stage->file.data, stage->file.bytes, &stage->opening, &own, error);
    *filter = own;
    return status;
}

static bloomery_status make_shared(struct stage *stage, const bloomery_filter **filter,
                                   bloomery_error *error)
{
    bloomery_filter *own = NULL;
    bloomery_open_options options = stage->opening;
    options.concurrent_adds = true;
    const bloomery_status status =
        bloomery_load(stage->file.data, stage->file.bytes, &options, &own, error);
    *filter = own;
    return status;
}

static make_function *const makers[] = {make_new,  make_map,    make_copy,
                                        make_view, make_loaded, make_shared};
enum { MAKERS = sizeof makers / sizeof makers[0] };

static void assert_balanced(const struct stage *stage, uint64_t live)
{
    assert_int_equal(stage->memory.live, live);
    assert_false(stage->memory.wrong);
    struct test_bytes file = test_read_file(stage->path);
    assert_true(test_bytes_equal(&file, &stage->file));
    test_bytes_free(&file);
    assert_int_equal(test_directory_entries(&stage->directory), 1);
}

/* Refuses request 1, 2, ... Returns how many requests a success takes. */
static uint64_t refuse_each(struct stage *stage, make_function *make)
{
    for (uint64_t refused = 1; refused < 1000; refused++) {
        const bloomery_filter *filter = (const bloomery_filter *)stage;
        bloomery_error error = {.status = BLOOMERY_OK};
        stage->memory = (struct test_memory){.refuse_at = refused};
        bloomery_status status = make(stage, &filter, &error);
        if (status == BLOOMERY_OK) {
            assert_true(stage->memory.requests < refused);
            assert_true(make == make_new || query_list(filter, stage->keys.keys, stage->keys.count,
                                                       NULL) == stage->keys.count);
            bloomery_free(filter);
            assert_balanced(stage, 0);
            return refused - 1;
        }
        assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
        assert_int_equal(error.status, BLOOMERY_OUT_OF_MEMORY);
        assert_true(error.text[0] != '\0');
        assert_null(filter);
        assert_balanced(stage, 0);
    }
    fail_msg("it never succeeds");
    return 0;
}

static void every_allocation_fails_once(void **state)
{
    for (size_t i = 0; i < MAKERS; i++) {
        uint64_t requests = refuse_each(*state, makers[i]);
        assert_true(requests >= 1);
        /* What owns its bits requests them too. */
        assert_true(makers[i] == make_map || makers[i] == make_view || requests >= 2);
    }
}

/* A filter of one's own goes on after its save was refused memory. */
static void every_allocation_fails_once_when_saving(void **state)
{
    struct stage *stage = *state;
    for (size_t i = 1; i < MAKERS; i++) {
        const bloomery_filter *filter = NULL;
        stage->memory = (struct test_memory){0};
        assert_int_equal(makers[i](stage, &filter, NULL), BLOOMERY_OK);
        uint64_t live = stage->memory.live;
        bloomery_status status = BLOOMERY_OUT_OF_MEMORY;
        for (uint64_t refused = 1; status != BLOOMERY_OK && refused < 1000; refused++) {
            bloomery_error error = {.status = BLOOMERY_OK};
            stage->memory.requests = 0;
            stage->memory.refuse_at = refused;
            status = bloomery_save(filter, stage->path, &error);
            assert_true(status == BLOOMERY_OK || status == BLOOMERY_OUT_OF_MEMORY);
            assert_int_equal(error.status, status);
            assert_balanced(stage, live);
        }
        stage->memory.refuse_at = 0;
        struct test_bytes again = test_written(filter);
        assert_true(test_bytes_equal(&again, &stage->file));
        test_bytes_free(&again);
        bloomery_free(filter);
        assert_balanced(stage, 0);
    }
}

typedef bloomery_status build_function(struct stage *stage, bloomery_filter *filter,
                                       bloomery_error *error);

static bloomery_status build_list(struct stage *stage, bloomery_filter *filter,
                                  bloomery_error *error)
{
    return add_list_threads(filter, stage->keys.keys, stage->keys.count, 3, error);
}

/* All of them are of 12 bytes, one behind the other. */
static bloomery_keys stage_column(const struct stage *stage)
{
    bloomery_keys column = BLOOMERY_KEYS;
    column.form = BLOOMERY_KEYS_FIXED;
    column.count = stage->keys.count;
    column.width = stage->keys.keys[0].bytes;
    column.data = stage->keys.bytes;
    return column;
}

static bloomery_status build_column(struct stage *stage, bloomery_filter *filter,
                                    bloomery_error *error)
{
    const bloomery_keys column = stage_column(stage);
    return add_keys_threads(filter, &column, 3, error);
}

/* Each fourth is a key. */
static bloomery_status build_column_of_nulls(struct stage *stage, bloomery_filter *filter,
                                             bloomery_error *error)
{
    static uint8_t valid[5000];
    bloomery_keys column = stage_column(stage);
    memset(valid, 0x88, sizeof valid);
    assert_true(column.count <= sizeof valid * 8);
    column.valid = valid;
    column.nulls = -1;
    return add_keys_threads(filter, &column, 3, error);
}

/* A build that is refused memory has added nothing, and one that is not gives all of it back. */
static void refuse_each_of_a_build(struct stage *stage, build_function *build, uint64_t adds)
{
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 40000, 0.01);
        bloomery_filter *filter = NULL;
        stage->memory = (struct test_memory){0};
        assert_int_equal(bloomery_create(&plan, &stage->options, &filter, NULL), BLOOMERY_OK);
        uint64_t live = stage->memory.live;
        bloomery_status status = BLOOMERY_OUT_OF_MEMORY;
        uint64_t refused = 0;
        while (status != BLOOMERY_OK && ++refused < 1000) {
            bloomery_error error = {.status = BLOOMERY_OK};
            stage->memory.requests = 0;
            stage->memory.refuse_at = refused;
            status = build(stage, filter, &error);
            assert_true(status == BLOOMERY_OK || status == BLOOMERY_OUT_OF_MEMORY);
            assert_int_equal(error.status, status);
            assert_balanced(stage, live);
            bloomery_info info = BLOOMERY_INFO;
            bloomery_info_get(filter, &info);
            bloomery_scan_result scan = scan_of(filter);
            assert_int_equal(info.adds, status == BLOOMERY_OK ? adds : 0);
            assert_true(status == BLOOMERY_OK ? scan.bits_set > 0 : scan.bits_set == 0);
        }
        assert_true(refused > 0);
        stage->memory.refuse_at = 0;
        bloomery_free(filter);
        assert_balanced(stage, 0);
    }
}

static void every_allocation_fails_once_when_building(void **state)
{
    struct stage *stage = *state;
    refuse_each_of_a_build(stage, build_list, stage->keys.count);
    refuse_each_of_a_build(stage, build_column, stage->keys.count);
    refuse_each_of_a_build(stage, build_column_of_nulls, stage->keys.count / 4);
}

/* Adding, querying and reading facts never request memory at all. */
static void work_allocates_nothing(void **state)
{
    struct stage *stage = *state;
    for (size_t i = 0; i < MAKERS; i++) {
        const bloomery_filter *filter = NULL;
        bloomery_hash hash;
        stage->memory = (struct test_memory){0};
        assert_int_equal(makers[i](stage, &filter, NULL), BLOOMERY_OK);
        uint64_t requests = stage->memory.requests;
        unsigned long heap = heap_requests;
        bloomery_filter *own = makers[i] == make_map || makers[i] == make_view
                                   ? NULL
                                   : (bloomery_filter *)(uintptr_t)filter;
        const bloomery_keys column = stage_column(stage);
        if (own != NULL) {
            add_list(own, stage->keys.keys, stage->keys.count, NULL);
            bloomery_add(own, stage->keys.keys[0], NULL);
            bloomery_add_keys(own, &column, NULL, NULL, NULL);
        }
        query_list(filter, stage->keys.keys, stage->keys.count, NULL);
        bloomery_may_contain_keys(filter, &column, NULL, NULL, NULL);
        bloomery_hash_key(filter, stage->keys.keys[0], &hash, NULL);
        assert_true(own != NULL || bloomery_may_contain_hash(filter, hash));
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(filter, &info);
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(filter, &scan);
        bloomery_verify(filter, NULL);
        if (own != NULL)
            bloomery_clear(own, NULL);
        assert_int_equal(stage->memory.requests, requests);
        assert_int_equal(heap_requests, heap);
        bloomery_free(filter);
        assert_balanced(stage, 0);
    }
}

/* Given an allocator, the library leaves the C library's heap alone; and planning needs neither. */
static void all_memory_comes_from_the_caller(void **state)
{
    struct stage *stage = *state;
    unsigned long heap = heap_requests;
    for (size_t i = 0; i < MAKERS; i++) {
        const bloomery_filter *filter = NULL;
        stage->memory = (struct test_memory){0};
        makers[i](stage, &filter, NULL);
        assert_non_null(filter);
        unsigned long before = heap_requests;
        bloomery_save(filter, stage->path, NULL);
        bloomery_free(filter);
        /* Our allocator is made of posix_memalign: those are all there is. */
        assert_true(heap_requests - heap <= stage->memory.requests);
        assert_true(heap_requests >= before);
        heap = heap_requests;
        /* make_new has saved an empty filter. */
        test_write_file(stage->path, stage->file.data, stage->file.bytes);
        heap = heap_requests;
    }
    bloomery_plan plan = {.keys = 12345, .rate = 0.001};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(heap_requests, heap);
}

#if OWN_MALLOC
/* Without an allocator, and with more wanted than there is. */
static void memory_that_is_not_there_is_reported(void **state)
{
    struct rlimit limit;
    (void)state;
    if (test_emulator() != NULL) /* which gives its guest all the memory it wants */
        skip();
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    struct rlimit tight = {(rlim_t)1 << 30, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (unsigned power = 31; power <= 47; power += 4) {
            bloomery_plan plan = {.kind = test_shapes[s].kind,
                                  .cell_bits = test_shapes[s].cell_bits,
                                  .bits = ((uint64_t)8 << power) / test_shapes[s].cell_bits,
                                  .blocks_per_key = test_shapes[s].blocks_per_key,
                                  .probes = 3};
            bloomery_filter *filter = NULL;
            bloomery_error error = {.status = BLOOMERY_OK};
            assert_int_equal(bloomery_create(&plan, NULL, &filter, &error), BLOOMERY_OUT_OF_MEMORY);
            assert_int_equal(error.status, BLOOMERY_OUT_OF_MEMORY);
            assert_null(filter);
        }
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}
#endif

/* Whether the mapping that an address lies in is left out of core dumps ("dd"); -1: not known. */
static int is_hidden(const void *address)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512];
    unsigned long from, to;
    int answer = -1;
    bool here = false;
    while (maps != NULL && answer < 0 && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = (uintptr_t)address >= from && (uintptr_t)address < to;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            answer = strstr(line, " dd") != NULL;
    }
    if (maps != NULL)
        fclose(maps);
    return answer;
}

static void pages_with_a_secret_are_left_out_of_core_dumps(void **state)
{
    (void)state;
    if (!test_keyed() || test_emulator() != NULL)
        skip();
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = test_plan(&test_shapes[2], 100, 0.01);
    bloomery_filter *plain = test_create(&plan, NULL);
    if (is_hidden(plain) < 0)
        skip(); /* no VmFlags */
    options.secret = (const uint8_t *)"a golden secret!";
    bloomery_filter *keyed = test_create(&plan, &options);
    assert_int_equal(is_hidden(keyed), 1);
    struct test_bytes bytes = test_written(keyed);
    bloomery_filter *loaded = NULL;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
    assert_int_equal(is_hidden(loaded), 1);
    test_bytes_free(&bytes);
    bloomery_free(loaded);
    bloomery_free(keyed);
    bloomery_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(every_allocation_fails_once_when_saving),
        cmocka_unit_test(every_allocation_fails_once_when_building),
        cmocka_unit_test(work_allocates_nothing),
        cmocka_unit_test(all_memory_comes_from_the_caller),
        cmocka_unit_test(pages_with_a_secret_are_left_out_of_core_dumps),
#if OWN_MALLOC
        cmocka_unit_test(memory_that_is_not_there_is_reported),
#endif
    };
    return test_run_group("memory", tests, set_stage, strike_stage);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of memory, read from files as the kernel writes them below a folder of the test, and
 * what the library makes of them.
 *
 * Build: this file, ../support/support.c; cmocka, the library with its insides. No arguments.
 * Suite: unit.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include "base/system.h"

#include <bloomery/experimental.h>
#include <bloomery/sieve.h>

#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB(number) ((uint64_t)(number) << 20)

static char root[] = "/tmp/bloomery-limits-XXXXXX";

/* A file below the root, with the folders above it. */
__attribute__((format(printf, 2, 3))) static void write_file(const char *name, const char *format,
                                                             ...)
{
    char path[PATH_MAX], text[16384];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof text - 1);
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        (void)mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, (size_t)length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int make_root(void **state)
{
    (void)state;
    memcpy(root + sizeof root - 7, "XXXXXX", 6);
    return mkdtemp(root) == NULL;
}

static void write_group(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, "%s\n", text);
}

static void write_number(const char *folder, const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    write_group(folder, name, text);
}

/* A group of version 2: its limit, and what it uses, of which some is a cache of files. */
static void write_second(const char *folder, uint64_t limit, uint64_t used, uint64_t cache)
{
    char text[200];
    write_number(folder, "memory.max", limit);
    write_number(folder, "memory.current", used);
    snprintf(text, sizeof text, "anon 1\nfile 99999999999\ninactive_file %llu\nactive_file 4096",
             (unsigned long long)cache - 4096);
    write_group(folder, "memory.stat", text);
}

static void write_first(const char *folder, uint64_t limit, uint64_t above, uint64_t used,
                        uint64_t cache)
{
    char text[300];
    write_number(folder, "memory.limit_in_bytes", limit);
    write_number(folder, "memory.usage_in_bytes", used);
    snprintf(text, sizeof text,
             "inactive_file 1\nhierarchical_memory_limit %llu\ntotal_inactive_file "
             "%llu\ntotal_active_file 4096",
             (unsigned long long)above, (unsigned long long)cache - 4096);
    write_group(folder, "memory.stat", text);
}

static void expect(uint64_t limit, uint64_t left)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_read(root, &limits);
    assert_int_equal(limits.container, limit);
    assert_int_equal(limits.container_left, left);
}

static const char second_mount[] =
    "24 1 0:21 / / rw - ext4 /dev/vda rw\n"
    "29 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char first_mounts[] =
    "30 24 0:26 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu\n"
    "31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n";

static void a_limit_of_version_2_is_read_less_what_is_used(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/pod/web\n");
    write_file("/proc/self/mountinfo", "%s", second_mount);
    expect(UINT64_MAX, UINT64_MAX);
    write_second("/sys/fs/cgroup/pod/web", MIB(300), MIB(120), MIB(20));
    expect(MIB(300), MIB(200));
    /* The number may be below the cache for a moment. */
    write_second("/sys/fs/cgroup/pod/web", MIB(300), MIB(10), MIB(20));
    expect(MIB(300), MIB(300));
    write_second("/sys/fs/cgroup/pod/web", MIB(300), MIB(310), MIB(1));
    expect(MIB(300), 0);
}

static void the_group_that_leaves_least_counts(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/pod/web\n");
    write_file("/proc/self/mountinfo", "%s", second_mount);
    write_second("/sys/fs/cgroup/pod/web", MIB(300), MIB(40), MIB(1));
    write_second("/sys/fs/cgroup/pod", MIB(500), MIB(401), MIB(1));
    write_second("/sys/fs/cgroup", MIB(1000), MIB(401), MIB(1));
    expect(MIB(500), MIB(100));
    write_group("/sys/fs/cgroup/pod", "memory.max", "max");
    expect(MIB(300), MIB(261));
    write_group("/sys/fs/cgroup/pod/web", "memory.max", "max");
    expect(MIB(1000), MIB(600));
    write_group("/sys/fs/cgroup", "memory.max", "max");
    expect(UINT64_MAX, UINT64_MAX);
    write_number("/sys/fs/cgroup/pod/web", "memory.high", MIB(200));
    expect(MIB(200), MIB(161));
}

static void limits_of_version_1_are_read_as_well(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/pod/web\n1:name=systemd:/y\n");
    write_file("/proc/self/mountinfo", "%s", first_mounts);
    write_first("/sys/fs/cgroup/memory/pod/web", MIB(300), MIB(300), MIB(120), MIB(20));
    expect(MIB(300), MIB(200));
    /* As the kernel writes that there is none. */
    write_first("/sys/fs/cgroup/memory/pod/web", UINT64_C(9223372036854771712),
                UINT64_C(9223372036854771712), MIB(120), MIB(20));
    expect(UINT64_MAX, UINT64_MAX);
    /* One above, which can't be seen, and one that can. */
    write_first("/sys/fs/cgroup/memory/pod/web", UINT64_C(9223372036854771712), MIB(250), MIB(120),
                MIB(20));
    expect(MIB(250), MIB(150));
    write_first("/sys/fs/cgroup/memory/pod", MIB(600), MIB(600), MIB(560), MIB(10));
    expect(MIB(600), MIB(50));
}

/* Both versions are mounted, and either may have the memory. */
static void hybrid_systems_are_read(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "4:memory:/pod\n0::/user.slice\n");
    write_file("/proc/self/mountinfo",
               "%s41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", first_mounts);
    write_first("/sys/fs/cgroup/memory/pod", MIB(300), MIB(300), MIB(101), MIB(1));
    write_group("/sys/fs/cgroup/unified/user.slice", "cgroup.procs", "1");
    expect(MIB(300), MIB(200));
    write_second("/sys/fs/cgroup/unified/user.slice", MIB(200), MIB(101), MIB(1));
    expect(MIB(200), MIB(100));
}

/* A container of Docker with version 1: the group is that of the host, and is mounted itself. With
 * version 2 and a namespace of its own it is "/". */
static void a_group_that_is_mounted_itself_is_found(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "4:memory:/docker/abc\n");
    write_file("/proc/self/mountinfo",
               "700 1 0:27 /docker/abc /sys/fs/cgroup/memory ro master:1 - cgroup cgroup "
               "rw,memory\n");
    write_first("/sys/fs/cgroup/memory", MIB(300), MIB(300), MIB(101), MIB(1));
    expect(MIB(300), MIB(200));
    write_file("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
    write_first("/sys/fs/cgroup/memory/inner", MIB(100), MIB(100), MIB(51), MIB(1));
    expect(MIB(100), MIB(50));
    /* Moved elsewhere; the mount still shows what there is. */
    write_file("/proc/self/cgroup", "4:memory:/docker/abcd\n");
    expect(MIB(300), MIB(200));
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/proc/self/mountinfo", "%s", second_mount);
    write_second("/sys/fs/cgroup", MIB(80), MIB(31), MIB(1));
    expect(MIB(80), MIB(50));
}

/* Mounts of other things are long, and paths may have spaces. */
static void lines_and_paths_are_read_however_they_are(void **state)
{
    char layers[9000];
    (void)state;
    memset(layers, 'l', sizeof layers - 1);
    layers[sizeof layers - 1] = '\0';
    write_file("/proc/self/cgroup", "garbage\n\n:\n0::/a b\n");
    write_file("/proc/self/mountinfo",
               "1 1 0:1 / / rw - overlay overlay rw,lowerdir=%s\nshort\n1 1 - cgroup2\n"
               "29 24 0:26 / /my\\040groups rw - cgroup2 none rw\n",
               layers);
    write_second("/my groups/a b", MIB(300), MIB(101), MIB(1));
    expect(MIB(300), MIB(200));
}

static void an_unreadable_limit_does_not_count(void **state)
{
    (void)state;
    expect(UINT64_MAX, UINT64_MAX);
    write_file("/proc/self/cgroup", "0::/pod\n");
    expect(UINT64_MAX, UINT64_MAX);
    write_file("/proc/self/mountinfo", "%s", first_mounts);
    expect(UINT64_MAX, UINT64_MAX);
    write_file("/proc/self/mountinfo", "%s", second_mount);
    write_group("/sys/fs/cgroup/pod", "memory.max", "");
    expect(UINT64_MAX, UINT64_MAX);
    write_number("/sys/fs/cgroup/pod", "memory.max", MIB(300)); /* nothing says what is used */
    expect(MIB(300), MIB(300));
}

/* ---- What follows ---------------------------------------------------------------------------- */

/* A container, for the whole library; skips where the build can't be sent there. */
static void enter_container(uint64_t limit)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    write_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n");
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/proc/self/mountinfo", "%s", second_mount);
    write_second("/sys/fs/cgroup", limit, MIB(5), MIB(1));
    assert_int_equal(setenv("BLOOMERY_LIMITS_ROOT", root, 1), 0);
    bloomery_limits_get(&limits);
    if (limits.container != limit)
        skip();
    assert_int_equal(limits.machine, MIB(16384));
    assert_int_equal(limits.machine_left, MIB(8192));
    assert_int_equal(limits.room, limit - MIB(4) - limit / 16);
}

static int leave_container(void **state)
{
    assert_int_equal(unsetenv("BLOOMERY_LIMITS_ROOT"), 0);
    return remove_root(state);
}

static bloomery_status create(uint64_t bytes, bloomery_filter **filter, bloomery_error *error)
{
    bloomery_plan plan = {
        .kind = BLOOMERY_BLOCKED, .bits = bytes * 8, .blocks_per_key = 1, .probes = 3};
    return bloomery_create(&plan, NULL, filter, error);
}

static void a_filter_that_the_container_cannot_give_is_refused(void **state)
{
    bloomery_filter *filter = NULL, *other = NULL;
    bloomery_error error = {.status = BLOOMERY_OK};
    (void)state;
    enter_container(MIB(64));
    assert_int_equal(create(MIB(60), &filter, &error), BLOOMERY_OUT_OF_MEMORY);
    assert_string_equal(error.text, "not enough memory for a filter of 62914560 bytes: the "
                                    "container's memory limit of 64 MiB leaves 56 MiB");
    assert_int_equal(create(MIB(40), &filter, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_copy(filter, NULL, &other, &error), BLOOMERY_OK);
    bloomery_free(other);
    write_second("/sys/fs/cgroup", MIB(64), MIB(45), MIB(1));
    assert_int_equal(bloomery_copy(filter, NULL, &other, &error), BLOOMERY_OUT_OF_MEMORY);
    assert_non_null(strstr(error.text, "the container's memory limit of 64 MiB leaves 16 MiB"));
    bloomery_free(filter);
}

static void a_chain_stops_growing_where_the_container_ends(void **state)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 100000, .rate = 0.001};
    bloomery_filter *filter = NULL;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_error error = {.status = BLOOMERY_OK};
    bloomery_status status = BLOOMERY_OK;
    (void)state;
    enter_container(MIB(8));
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_create(&plan, NULL, &filter, &error), BLOOMERY_OK);
    for (uint64_t i = 0; i < 100000000 && status == BLOOMERY_OK; i++) {
        const bloomery_key key = bloomery_key_of(&i, sizeof i);
        error.status = BLOOMERY_OK;
        bloomery_add(filter, key, &error);
        status = error.status;
    }
    assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
    assert_non_null(strstr(error.text, ": the container's memory limit of 8 MiB leaves 3.50 MiB"));
    bloomery_info_get(filter, &info);
    assert_in_range(info.bytes, MIB(2), MIB(16));
    bloomery_free(filter);
}

static uint64_t pages_there(const bloomery_filter *filter)
{
    const void *data;
    uint64_t bytes, count = 0;
    assert_int_equal(bloomery_layer_span(filter, 0, &data, &bytes), BLOOMERY_OK);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)bytes / page;
    unsigned char *there = malloc(pages);
    assert_non_null(there);
    assert_int_equal((uintptr_t)data % page, 0);
    assert_int_equal(mincore((void *)(uintptr_t)data, pages * page, there), 0);
    for (size_t i = 0; i < pages; i++)
        count += (there[i] & 1) * page;
    free(there);
    return count;
}

/* With huge pages, 100 keys would take 2 MiB each, and so all of the filter. */
static void what_no_key_touches_takes_no_memory_of_a_small_container(void **state)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    (void)state;
    enter_container(MIB(64));
    assert_int_equal(create(MIB(40), &filter, &error), BLOOMERY_OK);
    for (uint64_t i = 0; i < 100; i++)
        assert_in_range(add_outcome(filter, bloomery_key_of(&i, sizeof i)), 0, 1);
    assert_in_range(pages_there(filter), 1, 100 * (uint64_t)sysconf(_SC_PAGESIZE));
    bloomery_free(filter);
}

static void defaults_follow_the_container(void **state)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_sieve *sieve = NULL;
    bloomery_error error;
    char directory[sizeof root + 8];
    (void)state;
    enter_container(MIB(48));
    bloomery_limits_get(&limits);
    snprintf(directory, sizeof directory, "%s/sieve", root);
    options.directory = directory;
    options.engine = BLOOMERY_SIEVE_DISK;
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    bloomery_sieve_info_get(sieve, &info);
    assert_int_equal(info.memory_budget, limits.room / 2);
    assert_true(info.memory <= info.memory_budget);
    assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
    /* The least that works, however little there is; one thread. */
    write_second("/sys/fs/cgroup", MIB(12), MIB(5), MIB(1));
    sieve = NULL;
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_threads(), 1);
}

/* A sanitizer's shadow alone takes more addresses than any limit here. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHADOWED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOWED 1
#endif
#endif
#ifndef SHADOWED
#define SHADOWED 0
#endif

static void limits_of_the_process_are_read_and_said(void **state)
{
    struct rlimit before, tight;
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_filter *filter = NULL;
    bloomery_error error = {.status = BLOOMERY_OK};
    (void)state;
    if (test_emulator() != NULL ||
        SHADOWED) /* an emulator gives its guest all the memory it wants */
        skip();
    const __rlimit_resource_t kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(getrlimit(kinds[i], &before), 0);
        tight = (struct rlimit){(rlim_t)MIB(1024), before.rlim_max};
        assert_int_equal(setrlimit(kinds[i], &tight), 0);
        bloomery_limits_get(&limits);
        const bloomery_status status = create(MIB(2048), &filter, &error);
        assert_int_equal(setrlimit(kinds[i], &before), 0);
        assert_int_equal(limits.process, MIB(1024));
        assert_in_range(limits.process_left, MIB(500), MIB(1024) - 1);
        assert_true(limits.room <= limits.process_left);
        assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
        if (limits.room == limits.process_left)
            assert_non_null(strstr(error.text, ": the process's memory limit (ulimit -v, -d) of 1 "
                                               "GiB leaves "));
    }
    bloomery_limits_get(&limits);
    assert_true(before.rlim_cur != RLIM_INFINITY || limits.process == UINT64_MAX);
}

/* A caller's struct may be longer, of a later version, or not set at all. */
static void nothing_is_written_past_the_callers_struct(void **state)
{
    struct {
        bloomery_limits limits;
        uint64_t later;
    } grown;
    (void)state;
    for (int known = 0; known < 2; known++) {
        memset(&grown, 0x55, sizeof grown);
        if (known)
            grown.limits.struct_bytes = sizeof grown;
        bloomery_limits_get(&grown.limits);
        assert_true(grown.limits.machine >= grown.limits.machine_left);
        assert_true(grown.limits.room > 0 && grown.limits.room <= grown.limits.machine);
        assert_int_equal(grown.later, UINT64_C(0x5555555555555555));
    }
}

#define IN_FOLDER(name)    cmocka_unit_test_setup_teardown(name, make_root, remove_root)
#define IN_CONTAINER(name) cmocka_unit_test_setup_teardown(name, make_root, leave_container)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_limit_of_version_2_is_read_less_what_is_used),
        IN_FOLDER(the_group_that_leaves_least_counts),
        IN_FOLDER(limits_of_version_1_are_read_as_well),
        IN_FOLDER(hybrid_systems_are_read),
        IN_FOLDER(a_group_that_is_mounted_itself_is_found),
        IN_FOLDER(lines_and_paths_are_read_however_they_are),
        IN_FOLDER(an_unreadable_limit_does_not_count),
        IN_CONTAINER(a_filter_that_the_container_cannot_give_is_refused),
        IN_CONTAINER(a_chain_stops_growing_where_the_container_ends),
        IN_CONTAINER(what_no_key_touches_takes_no_memory_of_a_small_container),
        IN_CONTAINER(defaults_follow_the_container),
        cmocka_unit_test(limits_of_the_process_are_read_and_said),
        cmocka_unit_test(nothing_is_written_past_the_callers_struct),
    };
    return test_run_group("limits", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever fails while a filter is saved, the file afterwards is the old one or the new one, whole.
 *
 * This program plays two parts. As the test it starts itself again, with the library of faults
 * (../support/faulty_io.c) preloaded, as a driver that saves filter B over filter A or opens B. It
 * does so once for every call that could fail, until a run shows that no call is left.
 *
 * Build: this file, ../support/support.c; cmocka, the library. Argument: the path of the library of
 * faults. Suite: property. BLOOMERY_TEST_LONG=1: more seeds, more kills.
 */
#include "../support/faults.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How a driver ends. */
enum { DRIVE_SAVED = 0, DRIVE_REFUSED = 3, DRIVE_WRONG = 4 };

/* Every `step`-th key of a filter of several chunks, from `first` on; A and B have different
 * sizes. */
static bloomery_filter *make_part(char letter, size_t first, size_t step)
{
    size_t count = letter == 'A' ? 40000 : 90000;
    bloomery_plan plan = test_plan(&test_shapes[1], count, 0.01);
    struct test_keys keys = test_keys_make(TEST_RANDOM, (uint64_t)letter, 0, count);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.note = letter == 'A' ? "filter A" : "the other filter";
    bloomery_filter *filter = test_create(&plan, &options);
    for (size_t i = first; i < keys.count; i += step)
        assert_true(add_status(filter, keys.keys[i]) == BLOOMERY_OK);
    test_keys_free(&keys);
    return filter;
}

static bloomery_filter *make_filter(char letter)
{
    return make_part(letter, 0, 1);
}

/* ---- The driver ------------------------------------------------------------------------- */

/* "save PATH" saves B there, "merge PATH" three parts of it that are merged on their way. What went
 * wrong is printed on standard output. */
static int drive_save(const char *path, bool merge)
{
    bloomery_filter *parts[3] = {make_part('B', 0, merge ? 3 : 1)};
    bloomery_error error = {0};
    bloomery_status status;
    for (size_t i = 1; merge && i < 3; i++)
        parts[i] = make_part('B', i, 3);
    if (merge)
        status = bloomery_merge_save((const bloomery_filter *const *)parts, 3, path, &error);
    else
        status = bloomery_save(parts[0], path, &error);
    for (size_t i = 0; i < 3; i++)
        bloomery_free(parts[i]);
    if (status == BLOOMERY_OK)
        return DRIVE_SAVED;
    if (error.status != status || status != BLOOMERY_IO_FAILED || error.text[0] == '\0')
        return DRIVE_WRONG;
    printf("%s", error.text);
    return DRIVE_REFUSED;
}

/* "open PATH HOW" maps it, or copies it; if that succeeds, every key of B must be in it. */
static int drive_open(const char *path, const char *how)
{
    const bloomery_filter *filter = NULL;
    bloomery_filter *copy = NULL;
    bloomery_error error = {0};
    const bool map = strcmp(how, "map") == 0;
    const bloomery_status status =
        map ? bloomery_map(path, NULL, &filter, &error) : bloomery_open(path, NULL, &copy, &error);
    filter = map ? filter : copy;
    if (status != BLOOMERY_OK) {
        printf("%s", error.text);
        bool told = error.status == status && error.text[0] != '\0' && filter == NULL;
        bool right = status == BLOOMERY_IO_FAILED || status == BLOOMERY_OUT_OF_MEMORY;
        return told && right ? DRIVE_REFUSED : DRIVE_WRONG;
    }
    struct test_keys keys = test_keys_make(TEST_RANDOM, 'B', 0, 90000);
    size_t found = query_list(filter, keys.keys, keys.count, NULL);
    bool whole = found == keys.count && bloomery_verify(filter, NULL) == BLOOMERY_OK;
    test_keys_free(&keys);
    bloomery_free(filter);
    return whole ? DRIVE_SAVED : DRIVE_WRONG;
}

/* "loop PATH": saves A and B in turns until it is killed; prints a dot after each. */
static int drive_loop(const char *path)
{
    bloomery_filter *filters[] = {make_filter('A'), make_filter('B')};
    for (unsigned i = 0;; i++)
        if (bloomery_save(filters[i % 2], path, NULL) != BLOOMERY_OK ||
            write(STDOUT_FILENO, ".", 1) != 1)
            return DRIVE_WRONG;
}

/* ---- Starting drivers ------------------------------------------------------------------- */

/* A disk with a file, and what the file must hold. */
static struct scene {
    struct faulty_disk disk;
    char path[300];
    struct test_bytes a;
    struct test_bytes b;
} scene;

/* One save, and what happens to it. */
struct attempt {
    struct fault fault;
    bool fresh; /* no old file */
    bool merge; /* the parts of B instead of B */
};

struct outcome {
    int status;     /* the exit status; below 0: a signal */
    char call[32];  /* that was struck; empty: none */
    char said[300]; /* on standard output */
};

static pid_t start(const struct fault *fault, const char *verb, const char *flags, int *output)
{
    char *const arguments[] = {(char *)(uintptr_t)verb, scene.path, (char *)(uintptr_t)flags, NULL};
    return fault_start(&scene.disk, fault, arguments, output);
}

static struct outcome drive(const struct fault *fault, const char *verb, const char *flags)
{
    struct outcome outcome = {0};
    int output = -1;
    const pid_t child = start(fault, verb, flags, &output);
    FILE *said = fdopen(output, "r");
    assert_non_null(said);
    outcome.said[fread(outcome.said, 1, sizeof outcome.said - 1, said)] = '\0';
    fclose(said);
    outcome.status = fault_end(&scene.disk, child, outcome.call);
    return outcome;
}

static struct outcome save(const struct attempt *attempt)
{
    return drive(&attempt->fault, attempt->merge ? "merge" : "save", "0");
}

static int setup(void **state)
{
    (void)state;
    faulty_disk_make(&scene.disk);
    test_join(scene.path, sizeof scene.path, &scene.disk.root, "filter.bloom");
    for (int i = 0; i < 2; i++) {
        bloomery_filter *filter = make_filter(i == 0 ? 'A' : 'B');
        *(i == 0 ? &scene.a : &scene.b) = test_written(filter);
        bloomery_free(filter);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    faulty_disk_free(&scene.disk);
    test_bytes_free(&scene.a);
    test_bytes_free(&scene.b);
    return 0;
}

/* The directory holds A, or nothing. */
static void set_file(bool fresh)
{
    test_directory_remove(&scene.disk.root);
    assert_int_equal(mkdir(scene.disk.root.path, 0700), 0);
    if (!fresh)
        test_write_file(scene.path, scene.a.data, scene.a.bytes);
}

/* What lies at the path: 'A', 'B', '-' for nothing, '?' for anything else. */
static char file_now(void)
{
    if (access(scene.path, F_OK) != 0)
        return '-';
    struct test_bytes now = test_read_file(scene.path);
    char letter = test_bytes_equal(&now, &scene.a)   ? 'A'
                  : test_bytes_equal(&now, &scene.b) ? 'B'
                                                     : '?';
    test_bytes_free(&now);
    return letter;
}

static void fail_attempt(const struct attempt *attempt, const struct outcome *outcome,
                         const char *why)
{
    const struct fault *fault = &attempt->fault;
    fail_msg("%s: %s at call %u (%s), errno %d, seed %u%s%s: exit %d, file %c, %u entries, \"%s\"",
             why, fault->mode, fault->at, outcome->call, fault->error, (unsigned)fault->seed,
             fault->plain ? ", no unnamed files" : "", attempt->fresh ? ", no old file" : "",
             outcome->status, file_now(), test_directory_entries(&scene.disk.root), outcome->said);
}

/* ---- Faults that the program survives --------------------------------------------------- */

/* Judges a save that went on after its fault. */
static void judge_save(const struct attempt *attempt, const struct outcome *outcome)
{
    char old = attempt->fresh ? '-' : 'A';
    char now = file_now();
    unsigned expected_entries = now == '-' ? 0 : 1;
    bool last_step = strstr(outcome->said, "directory") != NULL;
    if (outcome->status != DRIVE_SAVED && outcome->status != DRIVE_REFUSED)
        fail_attempt(attempt, outcome, "neither saved nor refused");
    if (outcome->status == DRIVE_SAVED && now != 'B')
        fail_attempt(attempt, outcome, "said to be saved, but is not");
    if (outcome->status == DRIVE_REFUSED && now != old && !(now == 'B' && last_step))
        fail_attempt(attempt, outcome, "refused, but the old file is not in place");
    if (test_directory_entries(&scene.disk.root) != expected_entries)
        fail_attempt(attempt, outcome, "litter");
}

/* Strikes one call after the other. Returns how many there were. */
static unsigned strike_each(struct attempt attempt)
{
    unsigned *at = &attempt.fault.at;
    for (*at = 1; *at < 10000; ++*at) {
        set_file(attempt.fresh);
        struct outcome outcome = save(&attempt);
        judge_save(&attempt, &outcome);
        if (outcome.call[0] == '\0') {
            assert_int_equal(outcome.status, DRIVE_SAVED);
            return *at - 1;
        }
        /* A close that fails after everything is synced may be passed over; nothing else may. */
        if (outcome.status == DRIVE_SAVED && strcmp(outcome.call, "close") != 0 &&
            strcmp(outcome.call, "open") != 0)
            fail_attempt(&attempt, &outcome, "a fault was passed over");
    }
    fail_msg("the driver never ends");
    return 0;
}

static void save_survives_every_fault(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EIO, EDQUOT};
    for (int variant = 0; variant < 8; variant++)
        for (size_t e = 0; e < (test_long() ? 3 : 1); e++) {
            const struct fault fault = {.mode = "fail",
                                        .error = errors[e],
                                        .plain = variant & 1,
                                        .times = variant & 4 ? FAULT_STICKY : 1,
                                        .calls =
                                            variant & 4 ? "open,write,sync,link,rename" : NULL};
            unsigned struck = strike_each((struct attempt){fault, .fresh = variant & 2});
            /* open, write, sync, name, sync at least */
            assert_true(struck >= 5);
        }
}

/* Each sort of call must have been met, or the test above proves less than it says. */
static void save_makes_every_sort_of_call(void **state)
{
    (void)state;
    static const char *const calls[] = {"open", "write", "sync", "rename", "close"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct fault fault = {.mode = "fail", .calls = calls[i], .error = EIO};
        assert_true(strike_each((struct attempt){.fault = fault}) >=
                    (strcmp(calls[i], "sync") == 0 ? 2 : 1));
    }
}

static void save_survives_short_writes_and_interrupts(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++)
        for (int variant = 0; variant < 2; variant++) {
            const struct attempt attempt = {
                .fault = {.mode = variant ? "short" : "eintr", .seed = seed, .plain = seed & 1}};
            set_file(false);
            struct outcome outcome = save(&attempt);
            judge_save(&attempt, &outcome);
            assert_int_equal(outcome.status, DRIVE_SAVED);
        }
}

/* ---- Power cuts ------------------------------------------------------------------------- */

/* The power is cut before every call in turn, and at the end. */
static void cut_each(struct attempt attempt)
{
    for (attempt.fault.at = 1; attempt.fault.at < 10000; attempt.fault.at++) {
        set_file(attempt.fresh);
        struct outcome outcome = save(&attempt);
        char now = file_now();
        char old = attempt.fresh ? '-' : 'A';
        if (outcome.status != FAULT_CUT && outcome.status != DRIVE_SAVED)
            fail_attempt(&attempt, &outcome, "neither cut off nor saved");
        if (now != old && now != 'B')
            fail_attempt(&attempt, &outcome, "neither the old file nor the new one");
        if (outcome.status == DRIVE_SAVED && now != 'B')
            fail_attempt(&attempt, &outcome, "said to be saved, but lost with the power");
        if (outcome.status == DRIVE_SAVED)
            return;
    }
    fail_msg("the driver never ends");
}

static void kill_loses_nothing(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < (test_long() ? 60 : 4); seed++)
        for (int variant = 0; variant < 4; variant++)
            cut_each((struct attempt){{.mode = "crash", .seed = seed, .plain = variant & 1},
                                      .fresh = variant & 2});
}

/* The parts of a filter that are merged on their way to the file. */
static void merging_survives_every_fault(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++)
        assert_true(
            strike_each((struct attempt){{.mode = "fail", .error = ENOSPC, .plain = variant & 1},
                                         .fresh = variant & 2,
                                         .merge = true}) >= 5);
    for (unsigned seed = 0; seed < 2; seed++)
        cut_each(
            (struct attempt){{.mode = "crash", .seed = seed, .plain = seed & 1}, .merge = true});
}

/* The real thing, at moments chosen by chance. */
static void kill_minus_9_leaves_a_whole_file(void **state)
{
    (void)state;
    const struct fault none = {.mode = "off"};
    uint64_t random = 1;
    unsigned kills = test_long() ? 400 : 40;
    unsigned met[2] = {0};
    set_file(false);
    for (unsigned i = 0; i < kills; i++) {
        int output = -1;
        char dot = 0;
        pid_t child = start(&none, "loop", "0", &output);
        /* A was saved, or B after it; chance decides how far the next saves come, and no test
         * depends on that. */
        for (unsigned saves = 0; saves < 1 + i % 2; saves++)
            assert_int_equal(read(output, &dot, 1), 1);
        struct timespec pause = {.tv_nsec = (long)test_below(&random, 20000000)};
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(test_wait(child), -SIGKILL);
        close(output);
        char now = file_now();
        assert_true(now == 'A' || now == 'B');
        met[now == 'B']++;
        const bloomery_filter *filter = NULL;
        assert_int_equal(bloomery_map(scene.path, NULL, &filter, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_OK);
        bloomery_free(filter);
    }
    assert_true(met[0] > 0 && met[1] > 0); /* or nothing was interrupted */
    print_message("# %u kills; litter: %u files\n", kills,
                  test_directory_entries(&scene.disk.root) - 1);
}

/* ---- Reading ---------------------------------------------------------------------------- */

static void open_survives_every_fault(void **state)
{
    (void)state;
    static const char *const ways[] = {"map", "copy"};
    static const int errors[] = {EIO, ENOMEM};
    for (size_t f = 0; f < 2; f++)
        for (size_t e = 0; e < 2; e++) {
            struct fault fault = {.mode = "fail", .calls = "read,map", .error = errors[e]};
            struct outcome outcome = {.call = "none"};
            for (fault.at = 1; outcome.call[0] != '\0'; fault.at++) {
                test_write_file(scene.path, scene.b.data, scene.b.bytes);
                outcome = drive(&fault, "open", ways[f]);
                int expected = outcome.call[0] == '\0' ? DRIVE_SAVED : DRIVE_REFUSED;
                if (outcome.status != expected)
                    fail_attempt(&(struct attempt){.fault = fault}, &outcome, "opening");
                assert_int_equal(file_now(), 'B');
            }
            assert_true(fault.at > 2);
        }
}

static void open_survives_short_reads_and_interrupts(void **state)
{
    (void)state;
    test_write_file(scene.path, scene.b.data, scene.b.bytes);
    for (unsigned seed = 0; seed < 8; seed++) {
        struct fault fault = {.mode = seed & 1 ? "short" : "eintr", .seed = seed};
        struct outcome outcome = drive(&fault, "open", seed & 2 ? "map" : "copy");
        if (outcome.status != DRIVE_SAVED)
            fail_attempt(&(struct attempt){.fault = fault}, &outcome, "opening");
    }
}

/* ---- The library of faults itself ------------------------------------------------------- */

/* It must be there, and count: otherwise all of the above passes in vain. */
static void faults_are_felt(void **state)
{
    (void)state;
    struct fault fault = {.mode = "fail", .calls = "write", .at = 1, .error = ENOSPC};
    set_file(false);
    struct outcome outcome = drive(&fault, "save", "0");
    assert_string_equal(outcome.call, "write");
    assert_int_equal(outcome.status, DRIVE_REFUSED);
    assert_non_null(strstr(outcome.said, strerror(ENOSPC)));
    fault = (struct fault){.mode = "crash", .at = 1};
    set_file(false);
    outcome = drive(&fault, "save", "0");
    assert_int_equal(outcome.status, FAULT_CUT);
    assert_int_equal(file_now(), 'A');
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_felt),
        cmocka_unit_test(save_survives_every_fault),
        cmocka_unit_test(save_makes_every_sort_of_call),
        cmocka_unit_test(merging_survives_every_fault),
        cmocka_unit_test(save_survives_short_writes_and_interrupts),
        cmocka_unit_test(kill_loses_nothing),
        cmocka_unit_test(kill_minus_9_leaves_a_whole_file),
        cmocka_unit_test(open_survives_every_fault),
        cmocka_unit_test(open_survives_short_reads_and_interrupts),
    };
    if (count == 4 && strcmp(arguments[1], "save") == 0)
        return drive_save(arguments[2], false);
    if (count == 4 && strcmp(arguments[1], "merge") == 0)
        return drive_save(arguments[2], true);
    if (count == 4 && strcmp(arguments[1], "open") == 0)
        return drive_open(arguments[2], arguments[3]);
    if (count == 4 && strcmp(arguments[1], "loop") == 0)
        return drive_loop(arguments[2]);
    if (count != 2) {
        fprintf(stderr, "usage: %s PATH-OF-FAULTY-IO\n", arguments[0]);
        return 2;
    }
    fault_library = arguments[1];
    return test_run_group("save_faults", tests, setup, teardown);
}

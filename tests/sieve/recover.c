/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage against crashes, and what is left after it. A flipped bit never undoes a commit that was
 * made: either the state is the newest one, or nothing is opened and nothing is changed; what a
 * power cut leaves opens by itself (power.c has all of that). After bloomery_sieve_recover a sieve
 * opens, is whole, and works, and what is lost is counted. A sieve that is opened to be read stays
 * as it is to the byte.
 *
 * Build: this file, stream.c, ../support; cmocka, libxxhash, the library. No arguments. Suite:
 * sieve. BLOOMERY_TEST_LONG=1: every bit, every frame.
 */
#include "stream.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

enum { IDS = 3000, FILES = 40, POP = 64, COPIES = 4, COUNTERS = 192 };

static struct scene {
    struct test_directory directory;
    char sound[300];
    char work[300];
    bloomery_sieve_options options;
    uint64_t pushed; /* by the last commit */
    uint64_t items;  /* that can still come */
    char what[200];
} scene;

/* ---- A sieve with something of everything ------------------------------------------------ */

static void push_ids(bloomery_sieve *sieve, uint32_t first, uint32_t end)
{
    for (uint32_t id = first; id < end; id++) {
        char text[64];
        const int bytes = snprintf(text, sizeof text, "http://example.org/page/%u", id);
        assert_true(push_key(sieve, bloomery_key_of(text, (size_t)bytes),
                             bloomery_key_of(&id, sizeof id), NULL, NULL) >= 0);
    }
}

/* Several commits, so that both slots are written; leases, so that a copy is longer than a page. */
static void scene_make_as(bloomery_sieve_engine engine, bool ordered)
{
    bloomery_sieve_item items[POP];
    size_t count = 0;
    memset(&scene, 0, sizeof scene);
    snprintf(scene.what, sizeof scene.what, "making");
    scene.directory = test_directory_make();
    test_join(scene.sound, sizeof scene.sound, &scene.directory, "sound");
    test_join(scene.work, sizeof scene.work, &scene.directory, "work");
    scene.options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    scene.options.directory = scene.sound;
    scene.options.engine = engine;
    scene.options.leases = 200;
    scene.options.memory = engine == BLOOMERY_SIEVE_DISK ? 1400000 : 0;
    scene.options.partitions = engine == BLOOMERY_SIEVE_DISK ? 2 : 0;
    scene.options.order = ordered ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    scene.options.fingerprint_bits = ordered ? 48 : 0;
    scene.options.sync_seconds = 1e6;
    bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
    push_ids(sieve, 0, 1000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    push_ids(sieve, 1000, 1200);
    for (int i = 0; i < 4; i++) {
        push_ids(sieve, 1200 + 100 * (uint32_t)i, 1300 + 100 * (uint32_t)i);
        assert_int_equal(
            bloomery_sieve_pop(sieve, items, POP / 2, BLOOMERY_SIEVE_POP, &count, NULL),
            BLOOMERY_OK);
        must_finish(sieve, &items[0].number, 1);
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    }
    push_ids(sieve, 1600, IDS);
    const bloomery_sieve_info info = sieve_info_of(sieve);
    scene.pushed = info.pushed;
    scene.items = info.queued + info.leased + info.pending;
    must_close(sieve);
    scene.options.engine = BLOOMERY_SIEVE_DEFAULT;
    scene.options.partitions = 0;
    scene.options.directory = scene.work;
    sieve_copy(scene.sound, scene.work);
}

static void scene_make(bloomery_sieve_engine engine)
{
    scene_make_as(engine, false);
}

/* All that is in a directory, folders in it too. */
static void remove_all(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char inner[700];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (lstat(inner, &facts) == 0 && S_ISDIR(facts.st_mode))
            remove_all(inner);
        else
            unlink(inner);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
}

static void again(void)
{
    remove_all(scene.work);
    sieve_copy(scene.sound, scene.work);
}

static void scene_free(void)
{
    remove_all(scene.work);
    remove_all(scene.sound);
    test_directory_remove(&scene.directory);
}

/* ---- Its files --------------------------------------------------------------------------- */

static void work_path(const char *name, char path[700])
{
    snprintf(path, 700, "%s/%s", scene.work, name);
}

static struct test_bytes read_work(const char *name)
{
    char path[700];
    work_path(name, path);
    return test_read_file(path);
}

static void write_work(const char *name, const struct test_bytes *bytes)
{
    char path[700];
    work_path(name, path);
    test_write_file(path, bytes->data, bytes->bytes);
}

/* One byte, in place: writing whole files anew makes some file systems wait for the disk. */
static void poke(const char *name, size_t at, uint8_t value)
{
    char path[700];
    work_path(name, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_true(fseek(file, (long)at, SEEK_SET) == 0 && fputc(value, file) == value &&
                fclose(file) == 0);
}

struct listing {
    char names[FILES][64];
    struct test_bytes content[FILES];
    size_t count;
};

static int by_name(const void *one, const void *other)
{
    return strcmp(one, other);
}

static void list_work(struct listing *listing, bool read)
{
    DIR *directory = opendir(scene.work);
    assert_non_null(directory);
    listing->count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_true(listing->count < FILES);
        snprintf(listing->names[listing->count++], 64, "%.63s", entry->d_name);
    }
    closedir(directory);
    qsort(listing->names, listing->count, 64, by_name);
    for (size_t i = 0; read && i < listing->count; i++)
        listing->content[i] = read_work(listing->names[i]);
}

/* The same names with the same bytes. Gives the memory of both back. */
static void must_be_same(struct listing *before, struct listing *after)
{
    if (before->count != after->count)
        fail_msg("%s: there were %zu files, and are %zu", scene.what, before->count, after->count);
    for (size_t i = 0; i < before->count; i++) {
        if (strcmp(before->names[i], after->names[i]) != 0 ||
            !test_bytes_equal(&before->content[i], &after->content[i]))
            fail_msg("%s: %s has changed", scene.what, before->names[i]);
        test_bytes_free(&before->content[i]);
        test_bytes_free(&after->content[i]);
    }
}

/* The copies of the manifest (docs/sieve.md): two of each slot. */
struct manifest {
    struct test_bytes bytes;
    uint8_t *copy[COPIES];
    size_t copy_bytes;
    size_t newest; /* slot */
};

static struct manifest manifest_read(void)
{
    struct manifest manifest = {.bytes = read_work("MANIFEST")};
    manifest.copy_bytes = manifest.bytes.bytes / COPIES;
    for (size_t i = 0; i < COPIES; i++)
        manifest.copy[i] = manifest.bytes.data + i * manifest.copy_bytes;
    manifest.newest = test_load_u64(manifest.copy[2] + 32) > test_load_u64(manifest.copy[0] + 32);
    return manifest;
}

/* ---- Flips ------------------------------------------------------------------------------- */

static void must_be_newest(bool read_only, uint64_t damaged)
{
    bloomery_sieve_options options = scene.options;
    uint64_t found = 0;
    options.read_only = read_only;
    options.keep_leases = true; /* ended ones would be saved */
    bloomery_sieve *sieve = must_open_for(&options, scene.what);
    const bloomery_sieve_info info = sieve_info_of(sieve);
    if (info.pushed != scene.pushed)
        fail_msg("%s: the state after %llu pushes, not %llu", scene.what,
                 (unsigned long long)info.pushed, (unsigned long long)scene.pushed);
    if (damaged != UINT64_MAX) {
        assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &found, NULL), BLOOMERY_OK);
        if (found != damaged)
            fail_msg("%s: %llu damaged", scene.what, (unsigned long long)found);
    }
    must_close(sieve);
}

/* All of what has a structure of its own, some of the leases, which are alike. */
static size_t next_byte(size_t at, size_t used)
{
    if (at >= used)
        return at + 397;
    return at + (test_long() || at < 410 || at + 60 > used ? 1 : 53);
}

/* Wherever one bit of MANIFEST is another one: the newest state, and where it is one of its copies,
 * verify says so. */
static void flipped_slot_is_found(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene_make((bloomery_sieve_engine)engine);
        struct manifest manifest = manifest_read();
        for (size_t copy = 0; copy < COPIES; copy++) {
            const size_t used = (size_t)test_load_u64(manifest.copy[copy] + 24);
            assert_true(used > 320 && used < manifest.copy_bytes);
            for (size_t at = 0; at < manifest.copy_bytes; at = next_byte(at, used))
                for (unsigned bit = 0; bit < 8; bit++) {
                    if (!test_long() && bit != (at & 7) && (at >= 64 || at % 13 != 0))
                        continue;
                    snprintf(scene.what, sizeof scene.what, "engine %d, copy %zu, byte %zu, bit %u",
                             engine, copy, at, bit);
                    /* Computing rates takes its time. */
                    if (!test_long() && engine == BLOOMERY_SIEVE_MEMORY && at % 8 != 0)
                        continue;
                    const size_t place = copy * manifest.copy_bytes + at;
                    const uint8_t sound = manifest.bytes.data[place];
                    poke("MANIFEST", place, sound ^ (uint8_t)(1u << bit));
                    must_be_newest(true, copy / 2 == manifest.newest && at < used);
                    if (bit == 0 && at % 16 == 0) {
                        must_be_newest(false, 0);
                        must_be_newest(true, 0);
                    }
                    poke("MANIFEST", place, sound);
                }
        }
        test_bytes_free(&manifest.bytes);
        scene_free();
    }
}

static void must_be_refused(bool read_only)
{
    bloomery_sieve_options options = scene.options;
    bloomery_sieve *sieve = NULL;
    bloomery_error error;
    options.read_only = read_only;
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_CORRUPT)
        fail_msg("%s: it was opened, or refused for another reason", scene.what);
    assert_null(sieve);
    assert_non_null(strstr(error.text, "bloomery sieve recover "));
}

/* Both copies of a slot: nothing is opened, nothing is changed. */
static void damaged_commit_undoes_nothing(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene_make((bloomery_sieve_engine)engine);
        struct manifest manifest = manifest_read();
        for (size_t slot = 0; slot < 2; slot++) {
            const size_t used = (size_t)test_load_u64(manifest.copy[2 * slot] + 24);
            for (size_t at = 0; at < used; at += test_long() ? 1 : at < 330 ? 5 : 211) {
                struct listing before, after;
                const size_t other = (at * 5) % used;
                snprintf(scene.what, sizeof scene.what, "engine %d, slot %zu, bytes %zu and %zu",
                         engine, slot, at, other);
                manifest.copy[2 * slot][at] ^= (uint8_t)(1u << (at & 7));
                manifest.copy[2 * slot + 1][other] ^= (uint8_t)(1u << (other & 7));
                write_work("MANIFEST", &manifest.bytes);
                list_work(&before, true);
                must_be_refused(false);
                must_be_refused(true);
                list_work(&after, true);
                must_be_same(&before, &after);
                manifest.copy[2 * slot][at] ^= (uint8_t)(1u << (at & 7));
                manifest.copy[2 * slot + 1][other] ^= (uint8_t)(1u << (other & 7));
            }
        }
        test_bytes_free(&manifest.bytes);
        scene_free();
    }
}

/* What a power cut leaves of the copy that is being written: any of its sectors, and the beginning
 * of one. */
static void torn_copy_opens(void **state)
{
    (void)state;
    uint64_t random = 7;
    scene_make(BLOOMERY_SIEVE_DISK);
    struct manifest manifest = manifest_read();
    const size_t other = !manifest.newest;
    for (int i = 0; i < 200; i++) {
        struct test_bytes torn = test_copy_bytes(manifest.bytes.data, manifest.bytes.bytes);
        const size_t copy = i % 4 == 3 ? 2 * manifest.newest + 1 : 2 * other;
        for (size_t at = 0; at < manifest.copy_bytes; at += 512)
            for (size_t j = 0; test_below(&random, 2) == 0 && j < 512; j++)
                torn.data[copy * manifest.copy_bytes + at + j] = (uint8_t)test_next(&random);
        snprintf(scene.what, sizeof scene.what, "torn, %d", i);
        write_work("MANIFEST", &torn);
        must_be_newest(false, UINT64_MAX);
        test_bytes_free(&torn);
    }
    test_bytes_free(&manifest.bytes);
    scene_free();
}

/* Puts a version into all copies, and what else a caller changes in them. */
static void write_changed(const struct manifest *manifest, uint8_t version,
                          void (*change)(uint8_t *copy))
{
    for (size_t i = 0; i < COPIES; i++) {
        uint8_t *copy = manifest->copy[i];
        const uint64_t used = test_load_u64(copy + 24);
        if (used < 320 || used > manifest->copy_bytes)
            continue;
        copy[8] = version;
        if (change != NULL)
            change(copy);
        test_store_u64(copy + 40, 0);
        test_store_u64(copy + 40, XXH3_64bits(copy, (size_t)used));
    }
    write_work("MANIFEST", &manifest->bytes);
}

/* With the right checksum: nothing is opened, recovered or changed. */
static void sieves_of_other_versions_are_refused(void **state)
{
    static const uint8_t versions[] = {1, 2, 4};
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++)
        for (size_t i = 0; i < sizeof versions; i++) {
            struct listing before, after;
            bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
            bloomery_sieve_recovery recovery = BLOOMERY_SIEVE_RECOVERY;
            bloomery_sieve *sieve = NULL;
            scene_make((bloomery_sieve_engine)engine);
            struct manifest manifest = manifest_read();
            snprintf(scene.what, sizeof scene.what, "version %u", versions[i]);
            write_changed(&manifest, versions[i], NULL);
            list_work(&before, true);
            assert_int_equal(bloomery_sieve_open(&scene.options, &sieve, NULL),
                             BLOOMERY_WRONG_VERSION);
            assert_int_equal(bloomery_sieve_info_read(&scene.options, &info, NULL),
                             BLOOMERY_WRONG_VERSION);
            assert_int_equal(bloomery_sieve_recover(&scene.options, NULL, NULL, &recovery, NULL),
                             BLOOMERY_WRONG_VERSION);
            list_work(&after, true);
            must_be_same(&before, &after);
            test_bytes_free(&manifest.bytes);
            scene_free();
        }
}

static void take_all_leases(uint8_t *copy)
{
    memset(copy + 80, 0, 4);
}

/* With the right checksum, and as long as a copy for no leases is. */
static void a_sieve_of_no_leases_is_damaged(void **state)
{
    (void)state;
    bloomery_error error = {.text = ""};
    bloomery_sieve *sieve = NULL;
    memset(&scene, 0, sizeof scene);
    scene.directory = test_directory_make();
    test_join(scene.sound, sizeof scene.sound, &scene.directory, "sound");
    test_join(scene.work, sizeof scene.work, &scene.directory, "work");
    scene.options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    scene.options.directory = scene.work;
    scene.options.partitions = 1;
    scene.options.leases = 1;
    assert_int_equal(bloomery_sieve_close(must_open_for(&scene.options, scene.what), NULL),
                     BLOOMERY_OK);
    struct manifest manifest = manifest_read();
    write_changed(&manifest, 3, take_all_leases);
    scene.options.leases = 0;
    assert_int_equal(bloomery_sieve_open(&scene.options, &sieve, &error), BLOOMERY_CORRUPT);
    assert_non_null(strstr(error.text, "settings"));
    test_bytes_free(&manifest.bytes);
    scene_free();
}

/* ---- Reading only ------------------------------------------------------------------------ */

static int count_one(void *context, const bloomery_sieve_item *item)
{
    (void)item;
    ++*(uint64_t *)context;
    return 0;
}

static void use_read_only(bloomery_sieve *sieve)
{
    const bloomery_key key = bloomery_key_of("http://example.org/page/5", 25);
    bloomery_sieve_item item;
    uint64_t number = 1;
    uint64_t damaged = 0;
    uint64_t count = 0;
    size_t popped = 0;
    assert_int_equal(query_key(sieve, key, NULL), BLOOMERY_SIEVE_SEEN);
    assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
    assert_int_equal(damaged, 0);
    assert_int_equal(
        bloomery_sieve_each(sieve, BLOOMERY_SIEVE_QUEUED, count_one, &count, NULL, NULL),
        BLOOMERY_OK);
    assert_int_equal(count, sieve_info_of(sieve).queued);
    assert_int_equal(push_key(sieve, key, bloomery_key_of("", 0), NULL, NULL), BLOOMERY_READ_ONLY);
    assert_int_equal(push_key_again(sieve, key, bloomery_key_of("", 0), NULL, NULL),
                     BLOOMERY_READ_ONLY);
    assert_int_equal(mark_key(sieve, key, NULL, NULL), BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &popped, NULL),
                     BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_finish(sieve, &number, 1, BLOOMERY_SIEVE_DONE, NULL, NULL),
                     BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_finish(sieve, &number, 1, BLOOMERY_SIEVE_BACK, NULL, NULL),
                     BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_READ_ONLY);
    assert_int_equal(bloomery_sieve_skip(sieve, &number, NULL), BLOOMERY_READ_ONLY);
}

/* Not even what a crash left behind: bytes behind the ends, files that no state names. */
static void read_only_opening_changes_nothing(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene_make((bloomery_sieve_engine)engine);
        struct listing before, after;
        struct test_bytes litter = test_copy_bytes("litter", 6);
        list_work(&before, true);
        for (size_t i = 0; i < before.count; i++) {
            char path[700];
            work_path(before.names[i], path);
            FILE *file = strncmp(before.names[i], "MANIFEST", 8) == 0 ? NULL : fopen(path, "ab");
            if (file != NULL)
                assert_true(fputs("uncommitted", file) >= 0 && fclose(file) == 0);
            test_bytes_free(&before.content[i]);
        }
        write_work(".MANIFEST.new.tmp", &litter);
        write_work("queue-000000000009", &litter);
        list_work(&before, true);
        bloomery_sieve_options options = scene.options;
        options.read_only = true;
        bloomery_sieve *first = must_open_for(&options, scene.what);
        bloomery_sieve *second = must_open_for(&options, scene.what); /* readers share it */
        bloomery_sieve *writer = NULL;
        assert_int_equal(bloomery_sieve_open(&scene.options, &writer, NULL), BLOOMERY_BUSY);
        use_read_only(first);
        must_close(first);
        must_close(second);
        list_work(&after, true);
        must_be_same(&before, &after);
        writer = must_open_for(&scene.options, scene.what);
        assert_int_equal(bloomery_sieve_open(&options, &first, NULL), BLOOMERY_BUSY);
        must_close(writer);
        remove_all(scene.work);
        assert_int_equal(bloomery_sieve_open(&options, &first, NULL), BLOOMERY_NOT_A_FILTER);
        assert_int_equal(access(scene.work, F_OK), -1);
        test_bytes_free(&litter);
        scene_free();
    }
}

/* ---- Recovery ---------------------------------------------------------------------------- */

static void count_report(void *context, const char *text)
{
    assert_true(text[0] != '\0');
    ++*(uint64_t *)context;
}

static bloomery_sieve_recovery must_recover(void)
{
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error;
    uint64_t reports = 0;
    if (bloomery_sieve_recover(&scene.options, count_report, &reports, &found, &error) !=
        BLOOMERY_OK)
        fail_msg("%s: recover: %s", scene.what, error.text);
    assert_int_equal(reports, found.damaged);
    assert_int_equal(found.folder[0] != '\0', found.aside > 0);
    return found;
}

/* Everything that comes out of it, each once; how many. It works: what is pushed comes too. */
static uint64_t drain(void)
{
    bool *came = calloc(IDS + 100, sizeof *came);
    bloomery_sieve_options options = scene.options;
    bloomery_sieve_item items[POP];
    uint64_t numbers[POP];
    uint64_t damaged = 0;
    uint64_t total = 0;
    size_t count = 1;
    bloomery_error error;
    options.keep_leases = false;
    bloomery_sieve *sieve = must_open_for(&options, scene.what);
    assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
    assert_int_equal(damaged, 0);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.pushed, info.new_keys + info.seen + info.pending);
    push_ids(sieve, IDS, IDS + 10);
    if (bloomery_sieve_flush(sieve, &error) != BLOOMERY_OK)
        fail_msg("%s: flush: %s", scene.what, error.text);
    info = sieve_info_of(sieve);
    assert_int_equal(info.pushed, info.new_keys + info.seen);
    while (count > 0) {
        if (bloomery_sieve_pop(sieve, items, POP, BLOOMERY_SIEVE_POP, &count, &error) !=
            BLOOMERY_OK)
            fail_msg("%s: pop: %s", scene.what, error.text);
        for (size_t i = 0; i < count; i++) {
            uint32_t id = 0;
            assert_int_equal(items[i].payload.bytes, sizeof id);
            memcpy(&id, items[i].payload.data, sizeof id);
            assert_true(id < IDS + 10 && !came[id]);
            came[id] = true;
            numbers[i] = items[i].number;
        }
        must_finish(sieve, numbers, count);
        total += count;
    }
    for (uint32_t id = IDS; id < IDS + 10; id++)
        assert_true(came[id]);
    must_close(sieve);
    free(came);
    return total - 10;
}

/* Recovers, and compares what comes out with what recovery reports as lost. */
static bloomery_sieve_recovery recover_and_drain(void)
{
    const bloomery_sieve_recovery found = must_recover();
    const bloomery_sieve_recovery twice = must_recover();
    assert_int_equal(twice.damaged, 0);
    const uint64_t came = drain();
    if (came + found.queued + found.pending != scene.items)
        fail_msg("%s: %llu came, %llu and %llu were reported lost, %llu were there", scene.what,
                 (unsigned long long)came, (unsigned long long)found.queued,
                 (unsigned long long)found.pending, (unsigned long long)scene.items);
    return found;
}

static void recovery_leaves_a_whole_sieve_alone(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        scene_make((bloomery_sieve_engine)engine);
        struct listing before, after;
        list_work(&before, true);
        const bloomery_sieve_recovery found = must_recover();
        assert_true(found.damaged == 0 && !found.older && found.aside == 0);
        list_work(&after, true);
        must_be_same(&before, &after);
        assert_int_equal(drain(), scene.items);
        scene_free();
    }
}

/* The commit before the last; what is behind it is set aside. */
static void recovery_goes_back_a_commit(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        char path[700];
        scene_make((bloomery_sieve_engine)engine);
        struct manifest manifest = manifest_read();
        manifest.copy[2 * manifest.newest][100] ^= 1;
        manifest.copy[2 * manifest.newest + 1][400] ^= 1;
        write_work("MANIFEST", &manifest.bytes);
        const bloomery_sieve_recovery found = must_recover();
        assert_true(found.older && found.damaged >= 1 && found.aside >= 2);
        snprintf(path, sizeof path, "%s/%s/MANIFEST", scene.work, found.folder);
        struct test_bytes aside = test_read_file(path);
        assert_true(test_bytes_equal(&aside, &manifest.bytes));
        test_bytes_free(&aside);
        bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
        assert_int_equal(sieve_info_of(sieve).pushed,
                         test_load_u64(manifest.copy[2 * !manifest.newest] + COUNTERS));
        must_close(sieve);
        assert_true(drain() > 0);
        test_bytes_free(&manifest.bytes);
        scene_free();
    }
}

/* Where the last commit merged logs away, the one before it names files that are gone: what they
 * held is found in the queue and the newer seen-set. */
static void recovery_finds_what_a_commit_moved_on(void **state)
{
    (void)state;
    scene_make(BLOOMERY_SIEVE_DISK);
    bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    must_close(sieve);
    struct manifest manifest = manifest_read();
    manifest.copy[2 * manifest.newest][100] ^= 1;
    manifest.copy[2 * manifest.newest + 1][400] ^= 1;
    write_work("MANIFEST", &manifest.bytes);
    const bloomery_sieve_recovery found = must_recover();
    assert_true(found.older);
    assert_int_equal(found.pending, 0);
    assert_int_equal(drain(), scene.items);
    test_bytes_free(&manifest.bytes);
    scene_free();
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* What damage of one place may cost. */
static void judge_cost(const char *name, size_t at, const bloomery_sieve_recovery *found)
{
    if (at == SIZE_MAX || at < 64)
        return;
    if (begins(name, "queue-"))
        assert_true(found->queued <= 2000 && found->pending == 0 && found->seen <= 2000);
    if (begins(name, "pending-"))
        assert_true(found->queued == 0 && found->pending + found->seen > 0);
    if (begins(name, "seen-"))
        assert_true(found->seen <= 681 && found->queued + found->pending == 0);
}

static void flip_and_recover(const char *name)
{
    struct test_bytes bytes = read_work(name);
    const size_t step = test_long() ? 37 : bytes.bytes / 9 + 1;
    for (size_t at = 0; at < bytes.bytes; at += at < 112 && step > 12 ? 12 : step) {
        again();
        snprintf(scene.what, sizeof scene.what, "%s, byte %zu of %zu flipped", name, at,
                 bytes.bytes);
        bytes.data[at] ^= 4;
        write_work(name, &bytes);
        bytes.data[at] ^= 4;
        const bloomery_sieve_recovery found = recover_and_drain();
        if (begins(name, "queue-") || begins(name, "pending-") || begins(name, "seen-"))
            assert_true(found.damaged > 0);
        judge_cost(name, at, &found);
    }
    test_bytes_free(&bytes);
}

static void cut_and_recover(const char *name)
{
    struct test_bytes bytes = read_work(name);
    const size_t whole = bytes.bytes;
    for (size_t left = 0; left < whole; left += whole / 5 + 1) {
        again();
        snprintf(scene.what, sizeof scene.what, "%s cut to %zu of %zu", name, left, whole);
        bytes.bytes = left;
        write_work(name, &bytes);
        recover_and_drain();
    }
    bytes.bytes = whole;
    test_bytes_free(&bytes);
    char path[700];
    again();
    work_path(name, path);
    assert_int_equal(unlink(path), 0);
    snprintf(scene.what, sizeof scene.what, "%s is missing", name);
    recover_and_drain();
}

/* Every file, damaged, cut short and missing. */
static void damage_is_recovered(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct listing listing;
        scene_make_as(round == 0 ? BLOOMERY_SIEVE_MEMORY : BLOOMERY_SIEVE_DISK, round == 2);
        list_work(&listing, false);
        for (size_t i = 0; i < listing.count; i++) {
            if (begins(listing.names[i], "MANIFEST"))
                continue;
            again();
            flip_and_recover(listing.names[i]);
            again();
            cut_and_recover(listing.names[i]);
        }
        scene_free();
    }
}

/* Items of all lengths around those where the length of their length jumps, each in a frame of its
 * own, and each lost in turn: what fills the gap is as long to the byte. */
static void items_of_any_length_can_be_lost(void **state)
{
    static const uint32_t around[] = {2,     14,    127,    2047,
                                      16383, 65530, 262143, BLOOMERY_SIEVE_ITEM_MAX - 4};
    enum { EACH = 5, ITEMS = EACH * 8 };
    (void)state;
    uint8_t *key = calloc(1, BLOOMERY_SIEVE_ITEM_MAX);
    uint64_t ends[ITEMS];
    char segment[700];
    struct stat facts;
    memset(&scene, 0, sizeof scene);
    scene.directory = test_directory_make();
    test_join(scene.sound, sizeof scene.sound, &scene.directory, "sound");
    test_join(scene.work, sizeof scene.work, &scene.directory, "work");
    scene.options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    scene.options.directory = scene.sound;
    scene.options.engine = BLOOMERY_SIEVE_MEMORY;
    scene.options.keys = 1000;
    bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
    snprintf(segment, sizeof segment, "%s/queue-000000000001", scene.sound);
    for (uint32_t i = 0; i < ITEMS; i++) {
        key[1] = (uint8_t)i;
        assert_int_equal(push_key(sieve, bloomery_key_of(key, around[i / EACH] + i % EACH),
                                  bloomery_key_of("", 0), NULL, NULL),
                         BLOOMERY_SIEVE_NEW);
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
        assert_int_equal(stat(segment, &facts), 0);
        ends[i] = (uint64_t)facts.st_size;
    }
    must_close(sieve);
    scene.options.directory = scene.work;
    for (uint32_t lost = 0; lost < ITEMS; lost += test_long() ? 1 : 3) {
        bloomery_sieve_item item;
        uint32_t came = 0;
        size_t count = 1;
        snprintf(scene.what, sizeof scene.what, "item %u", lost);
        again();
        poke("queue-000000000001", (size_t)ends[lost] - 2, 77);
        assert_int_equal(must_recover().queued, 1);
        sieve = must_open_for(&scene.options, scene.what);
        for (; count > 0; came += count > 0) {
            count = must_pop(sieve, &item, 1);
            if (count > 0)
                must_finish(sieve, &item.number, 1);
        }
        assert_int_equal(came, ITEMS - 1);
        must_close(sieve);
    }
    free(key);
    scene_free();
}

/* Without its filter a memory engine knows what its queue holds, and forgets the rest. */
static void recovery_without_a_filter(void **state)
{
    (void)state;
    static uint8_t payload[60000];
    struct listing listing;
    char text[64];
    scene_make(BLOOMERY_SIEVE_MEMORY);
    bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(push_key(sieve, bloomery_key_of(text, (size_t)sprintf(text, "%u", i)),
                                  bloomery_key_of(payload, sizeof payload), NULL, NULL),
                         BLOOMERY_SIEVE_NEW);
    must_close(sieve);
    list_work(&listing, false);
    bool found = false;
    for (size_t i = 0; i < listing.count; i++)
        if (begins(listing.names[i], "filter.")) {
            poke(listing.names[i], 5000, 99);
            poke(listing.names[i], 0, 99);
            found = true;
        }
    assert_true(found);
    assert_int_equal(bloomery_sieve_open(&scene.options, &sieve, NULL), BLOOMERY_CORRUPT);
    const bloomery_sieve_recovery lost = must_recover();
    assert_true(lost.damaged == 1 && lost.queued == 0);
    sieve = must_open_for(&scene.options, scene.what);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(
            query_key(sieve, bloomery_key_of(text, (size_t)sprintf(text, "%u", i)), NULL),
            BLOOMERY_SIEVE_SEEN);
    must_close(sieve);
    scene_free();
}

/* Of fingerprints of 6 bytes a full frame ends with two bytes that say nothing: cut within them it
 * is not a whole frame either. The first one is cut, so that all of the partition is lost. */
static void a_frame_of_seen_keys_lacks_its_last_bytes(void **state)
{
    enum { FRAME_END = 64 + 4096 };
    (void)state;
    scene_make_as(BLOOMERY_SIEVE_DISK, true);
    bloomery_sieve *sieve = must_open_for(&scene.options, scene.what);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    must_close(sieve);
    for (size_t lacking = 1; lacking <= 3; lacking++) {
        struct listing listing;
        list_work(&listing, false);
        for (size_t i = 0; i < listing.count; i++) {
            if (!begins(listing.names[i], "seen-"))
                continue;
            struct test_bytes bytes = read_work(listing.names[i]);
            const size_t whole = bytes.bytes;
            assert_true(whole > FRAME_END);
            bytes.bytes = FRAME_END - lacking;
            write_work(listing.names[i], &bytes);
            const bloomery_sieve_recovery lost = must_recover();
            assert_true(lost.damaged > 0 && lost.seen > 681);
            bytes.bytes = whole;
            test_bytes_free(&bytes);
            break;
        }
        again();
        sieve = must_open_for(&scene.options, scene.what);
        assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
        must_close(sieve);
    }
    scene_free();
}

/* ---- What is set aside ------------------------------------------------------------------- */

/* A file in the folder is a whole one as it was before, or a part of one ("NAME.from-N"), with
 * something in it. Returns whether byte `at` of `damaged` is in it. */
static bool must_be_as_before(const struct listing *before, const char *folder, const char *name,
                              const char *damaged, size_t at)
{
    char path[1000];
    size_t from = 0;
    const char *part = strstr(name, ".from-");
    const size_t bytes = part != NULL ? (size_t)(part - name) : strlen(name);
    size_t i = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct test_bytes kept = test_read_file(path);
    if (part != NULL)
        from = (size_t)strtoull(part + strlen(".from-"), NULL, 10);
    while (i < before->count &&
           (strlen(before->names[i]) != bytes || strncmp(before->names[i], name, bytes) != 0))
        i++;
    if (i == before->count)
        fail_msg("%s: %s was set aside, and nothing of that name was there", scene.what, name);
    const struct test_bytes *was = &before->content[i];
    if (kept.bytes == 0 || from + kept.bytes > was->bytes ||
        (part == NULL && kept.bytes != was->bytes) ||
        memcmp(kept.data, was->data + from, kept.bytes) != 0)
        fail_msg("%s: %s is set aside with %zu bytes, which are not those that were damaged",
                 scene.what, name, kept.bytes);
    const bool has = strcmp(before->names[i], damaged) == 0 && from <= at && at - from < kept.bytes;
    test_bytes_free(&kept);
    return has;
}

/* The one file that byte `at` was damaged in, and what came of it. */
static void recover_and_compare(const char *damaged, size_t at)
{
    struct listing before;
    char folder[700];
    bool found = false;
    list_work(&before, true);
    const bloomery_sieve_recovery recovery = must_recover();
    assert_true(recovery.aside > 0);
    work_path(recovery.folder, folder);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            found |= must_be_as_before(&before, folder, entry->d_name, damaged, at);
    closedir(directory);
    if (!found)
        fail_msg("%s: what was damaged is not set aside", scene.what);
    for (size_t i = 0; i < before.count; i++)
        test_bytes_free(&before.content[i]);
}

static void what_was_damaged_is_set_aside(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        struct listing names;
        scene_make((bloomery_sieve_engine)engine);
        list_work(&names, false);
        for (size_t i = 0; i < names.count; i++) {
            if (strcmp(names.names[i], "MANIFEST") == 0)
                continue;
            struct test_bytes file = read_work(names.names[i]);
            /* In the middle; and a file's header, or the header of its last frame. */
            const size_t places[] = {file.bytes / 2, 20};
            for (size_t k = 0; k < 2; k++) {
                snprintf(scene.what, sizeof scene.what, "byte %zu of %s", places[k],
                         names.names[i]);
                poke(names.names[i], places[k], file.data[places[k]] ^ 4);
                recover_and_compare(names.names[i], places[k]);
                again();
            }
            test_bytes_free(&file);
        }
        scene_free();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_slot_is_found),
        cmocka_unit_test(damaged_commit_undoes_nothing),
        cmocka_unit_test(torn_copy_opens),
        cmocka_unit_test(sieves_of_other_versions_are_refused),
        cmocka_unit_test(a_sieve_of_no_leases_is_damaged),
        cmocka_unit_test(what_was_damaged_is_set_aside),
        cmocka_unit_test(read_only_opening_changes_nothing),
        cmocka_unit_test(recovery_leaves_a_whole_sieve_alone),
        cmocka_unit_test(recovery_goes_back_a_commit),
        cmocka_unit_test(recovery_finds_what_a_commit_moved_on),
        cmocka_unit_test(damage_is_recovered),
        cmocka_unit_test(items_of_any_length_can_be_lost),
        cmocka_unit_test(recovery_without_a_filter),
        cmocka_unit_test(a_frame_of_seen_keys_lacks_its_last_bytes),
    };
    return test_run_group("sieve_recover", tests, NULL, NULL);
}

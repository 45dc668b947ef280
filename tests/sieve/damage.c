/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage is found and told, and never believed: bytes flipped, files cut short, missing, exchanged;
 * and manifests that say absurd things under a right checksum. Whatever lies there, opening,
 * asking, pushing, deciding, popping and verifying come to an end, and what comes out was once
 * pushed.
 *
 * Build: this file, stream.c, ../support; cmocka, libxxhash, the library. No arguments. Suite:
 * sieve. BLOOMERY_TEST_LONG=1: every byte.
 */
#include "stream.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

enum {
    IDS = 3000,
    FILES = 40,
    POP = 64,
    SECONDS = 40,
    MEMORY = 2000000,
    MEMORY_MAX = 16000000,
    MANIFEST_STATE = 320
};

struct stage {
    struct test_directory directory;
    char sound[300];
    char work[300];
    struct stream_area area;
    struct stream_memory memory;
    bloomery_sieve_options options;
    char names[FILES][64];
    size_t files;
    /* of one look */
    char what[200];
    const char *name; /* what is damaged; NULL: nothing */
    bool lies;
    bool noticed;
    bool named; /* some text said which file it is */
    uint64_t reports;
};

static const struct stage *looking; /* for the handler */

static void say_what_hangs(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, looking->what, strlen(looking->what));
    (void)!write(STDERR_FILENO, ": it does not end here\n", 23);
    abort();
}

static void list_files(struct stage *stage)
{
    DIR *directory = opendir(stage->sound);
    assert_non_null(directory);
    stage->files = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        assert_true(stage->files < FILES);
        snprintf(stage->names[stage->files++], sizeof stage->names[0], "%.63s", entry->d_name);
    }
    closedir(directory);
    assert_true(stage->files >= 2);
}

static void push_ids(struct stage *stage, bloomery_sieve *sieve, uint32_t first, uint32_t end)
{
    bloomery_error error;
    for (uint32_t id = first; id < end; id++) {
        stage->area.used = 0;
        const bloomery_key key = stream_key(&stage->area, id, false);
        const bloomery_key payload = stream_payload(&stage->area, id + 1, false);
        assert_true(push_key(sieve, key, payload, NULL, &error) >= 0);
    }
}

/* A sieve with something of everything: seen, pending, queued, leased. */
static void make_sound(struct stage *stage)
{
    bloomery_sieve *sieve = NULL;
    bloomery_sieve_item items[POP];
    bloomery_error error;
    size_t count = 0;
    if (bloomery_sieve_open(&stage->options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    push_ids(stage, sieve, 0, 1200);
    assert_int_equal(bloomery_sieve_flush(sieve, &error), BLOOMERY_OK);
    push_ids(stage, sieve, 1200, 2400);
    assert_int_equal(bloomery_sieve_flush(sieve, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_commit(sieve, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_pop(sieve, items, POP, BLOOMERY_SIEVE_POP, &count, &error),
                     BLOOMERY_OK);
    assert_true(count > 10);
    for (size_t i = 0; i < count; i += 2)
        assert_int_equal(
            bloomery_sieve_finish(sieve, &items[i].number, 1, BLOOMERY_SIEVE_DONE, NULL, &error),
            BLOOMERY_OK);
    push_ids(stage, sieve, 2400, IDS);
    assert_int_equal(bloomery_sieve_close(sieve, &error), BLOOMERY_OK);
}

static struct stage *stage_make(bloomery_sieve_engine engine)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->directory = test_directory_make();
    test_join(stage->sound, sizeof stage->sound, &stage->directory, "sound");
    test_join(stage->work, sizeof stage->work, &stage->directory, "work");
    stream_area_make(&stage->area);
    stage->options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    stage->options.allocator = stream_allocator(&stage->memory);
    stage->options.engine = engine;
    stage->options.directory = stage->sound;
    stage->options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    if (engine == BLOOMERY_SIEVE_DISK) {
        stage->options.partitions = 2;
        stage->options.memory = MEMORY;
    } else {
        stage->options.keys = 1000;
    }
    make_sound(stage);
    list_files(stage);
    /* From now on what the directory says. */
    stage->options.directory = stage->work;
    stage->options.engine = BLOOMERY_SIEVE_DEFAULT;
    stage->options.partitions = 0;
    stage->options.keys = 0;
    stage->options.memory = MEMORY_MAX;
    return stage;
}

static void stage_free(struct stage *stage)
{
    test_remove(stage->sound);
    test_remove(stage->work);
    test_directory_remove(&stage->directory);
    stream_area_free(&stage->area);
    free(stage);
}

/* ---- Looking at what is left ---------------------------------------------------------------- */

/* What a call may say of damage; anything else ends the test. */
static void note(struct stage *stage, int status, const bloomery_error *error)
{
    if (status >= 0)
        return;
    if (error->status != status || error->text[0] == '\0')
        fail_msg("%s: status %d, error %d: %s", stage->what, status, error->status, error->text);
    /* A manifest may claim what needs more memory than there is. */
    if (status == BLOOMERY_BUSY || (status == BLOOMERY_BAD_ARGUMENT && !stage->lies))
        fail_msg("%s: status %d: %s", stage->what, status, error->text);
    stage->noticed = true;
    if (stage->name != NULL && strstr(error->text, stage->name) != NULL)
        stage->named = true;
}

static void count_report(void *context, const char *text)
{
    struct stage *stage = context;
    assert_true(text[0] != '\0');
    if (stage->name != NULL && strstr(text, stage->name) != NULL)
        stage->named = true;
    stage->reports++;
}

static int count_seen(void *context, uint64_t fingerprint)
{
    (void)fingerprint;
    return ++*(uint64_t *)context > 100000 ? 7 : 0;
}

static int count_queued(void *context, const bloomery_sieve_item *item)
{
    uint32_t id = 0;
    if (!stream_id(item->key, false, &id) || id >= IDS)
        return 8;
    return ++*(uint64_t *)context > 100000 ? 7 : 0;
}

static void judge_item(struct stage *stage, const bloomery_sieve_item *item)
{
    uint32_t id = 0;
    if (!stream_id(item->key, false, &id) || id >= IDS ||
        !stream_payload_is(item->payload, id + 1, false))
        fail_msg("%s: an item came that was never pushed", stage->what);
}

/* Pops everything, past what is damaged. */
static void pop_all(struct stage *stage, bloomery_sieve *sieve)
{
    bloomery_sieve_item items[POP];
    uint64_t numbers[POP];
    unsigned failures = 0;
    for (unsigned rounds = 0; failures < 50; rounds++) {
        bloomery_error error = {0};
        size_t count = 0;
        if (rounds > 3000)
            fail_msg("%s: more and more items come out", stage->what);
        const bloomery_status status =
            bloomery_sieve_pop(sieve, items, POP, BLOOMERY_SIEVE_POP, &count, &error);
        note(stage, status, &error);
        if (status != BLOOMERY_OK) {
            uint64_t lost = 0;
            failures++;
            note(stage, bloomery_sieve_skip(sieve, &lost, &error), &error);
            continue;
        }
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++) {
            judge_item(stage, &items[i]);
            numbers[i] = items[i].number;
        }
        note(stage, bloomery_sieve_finish(sieve, numbers, count, BLOOMERY_SIEVE_DONE, NULL, &error),
             &error);
    }
}

static void use(struct stage *stage, bloomery_sieve *sieve)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_error error = {0};
    uint64_t count = 0;
    bloomery_sieve_info_get(sieve, &info);
    for (uint32_t id = 0; id < IDS; id += 97) {
        stage->area.used = 0;
        const bloomery_key key = stream_key(&stage->area, id, false);
        note(stage, query_key(sieve, key, &error), &error);
        const bloomery_key payload = stream_payload(&stage->area, id + 1, false);
        note(stage, push_key(sieve, key, payload, NULL, &error), &error);
    }
    const int walked =
        bloomery_sieve_each(sieve, BLOOMERY_SIEVE_QUEUED, count_queued, &count, NULL, &error);
    assert_true(walked <= 0);
    note(stage, walked, &error);
    note(stage, bloomery_sieve_flush(sieve, &error), &error);
    pop_all(stage, sieve);
    count = 0;
    const int seen = bloomery_sieve_each_seen(sieve, count_seen, &count, NULL, &error);
    assert_true(seen <= 0);
    if (seen != BLOOMERY_UNSUPPORTED)
        note(stage, seen, &error);
}

/* Opens what lies in `work`, verifies it, and uses it. */
static void look(struct stage *stage)
{
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {0};
    uint64_t damaged = 0;
    stage->noticed = false;
    stage->named = false;
    stage->reports = 0;
    stage->memory.most = 0;
    looking = stage;
    signal(SIGALRM, say_what_hangs);
    alarm(SECONDS); /* an endless loop ends the test */
    const bloomery_status status = bloomery_sieve_open(&stage->options, &sieve, &error);
    note(stage, status, &error);
    if (status != BLOOMERY_OK) {
        assert_null(sieve);
    } else {
        note(stage, bloomery_sieve_verify(sieve, count_report, stage, &damaged, &error), &error);
        assert_int_equal(damaged, stage->reports);
        stage->noticed = stage->noticed || damaged > 0;
        use(stage, sieve);
        note(stage, bloomery_sieve_close(sieve, &error), &error);
    }
    alarm(0);
    if (stage->memory.counts.live != 0 || stage->memory.counts.wrong)
        fail_msg("%s: memory was lost", stage->what);
    if (stage->memory.most > MEMORY_MAX + BLOOMERY_SIEVE_ITEM_MAX)
        fail_msg("%s: %llu bytes were taken", stage->what, (unsigned long long)stage->memory.most);
}

/* ---- Changes -------------------------------------------------------------------------------- */

static struct test_bytes read_file(const struct stage *stage, const char *folder, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)stage;
    return test_read_file(path);
}

static void write_work(const struct stage *stage, const char *name, const void *data, size_t bytes)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", stage->work, name);
    test_write_file(path, data, bytes);
}

static bool is_manifest(const char *name)
{
    return strcmp(name, "MANIFEST") == 0;
}

/* Where to flip: all of what has a structure of its own, some of the rest. */
static size_t next_place(size_t at, size_t bytes)
{
    if (test_long())
        return at + 1;
    if (at < 120)
        return at + 7;
    return at + 1 + bytes / 12;
}

static void judge_notice(const struct stage *stage)
{
    if (!stage->noticed)
        fail_msg("%s: not noticed", stage->what);
    /* Another manifest is that of another sieve, whose files are not here. */
    if (!stage->named && !is_manifest(stage->name))
        fail_msg("%s: noticed, but no text says which file it is", stage->what);
}

static void flip_file(struct stage *stage, const char *name)
{
    struct test_bytes content = read_file(stage, stage->sound, name);
    for (size_t at = 0; at < content.bytes; at = next_place(at, content.bytes)) {
        sieve_copy(stage->sound, stage->work);
        content.data[at] ^= (uint8_t)(1u << (at & 7));
        write_work(stage, name, content.data, content.bytes);
        content.data[at] ^= (uint8_t)(1u << (at & 7));
        snprintf(stage->what, sizeof stage->what, "%s, byte %zu of %zu flipped", name, at,
                 content.bytes);
        look(stage);
        /* Of the manifest any one copy may be anything (recover.c). */
        if (!is_manifest(name))
            judge_notice(stage);
    }
    test_bytes_free(&content);
}

static void cut_file(struct stage *stage, const char *name)
{
    struct test_bytes content = read_file(stage, stage->sound, name);
    for (size_t bytes = 0; bytes < content.bytes; bytes = next_place(bytes, content.bytes)) {
        sieve_copy(stage->sound, stage->work);
        write_work(stage, name, content.data, bytes);
        snprintf(stage->what, sizeof stage->what, "%s, cut to %zu of %zu bytes", name, bytes,
                 content.bytes);
        look(stage);
        if (!is_manifest(name))
            judge_notice(stage);
    }
    test_bytes_free(&content);
}

static void lose_file(struct stage *stage, const char *name)
{
    char path[400];
    sieve_copy(stage->sound, stage->work);
    snprintf(path, sizeof path, "%s/%s", stage->work, name);
    assert_int_equal(unlink(path), 0);
    snprintf(stage->what, sizeof stage->what, "%s is missing", name);
    look(stage);
    judge_notice(stage);
}

/* The file of the same name of another sieve. */
static void take_file_of(struct stage *stage, const struct stage *other, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", other->sound, name);
    if (access(path, F_OK) != 0)
        return;
    struct test_bytes content = test_read_file(path);
    sieve_copy(stage->sound, stage->work);
    write_work(stage, name, content.data, content.bytes);
    snprintf(stage->what, sizeof stage->what, "%s is that of another sieve", name);
    look(stage);
    judge_notice(stage);
    test_bytes_free(&content);
}

/* Sound files cause no complaint, or all of this shows nothing. */
static void judge_sound(struct stage *stage)
{
    stage->name = NULL;
    sieve_copy(stage->sound, stage->work);
    snprintf(stage->what, sizeof stage->what, "nothing changed");
    look(stage);
    assert_false(stage->noticed);
}

static void damage_each_file(bloomery_sieve_engine engine)
{
    struct stage *stage = stage_make(engine);
    struct stage *other = stage_make(engine);
    judge_sound(stage);
    for (size_t i = 0; i < stage->files; i++) {
        stage->name = stage->names[i];
        flip_file(stage, stage->names[i]);
        cut_file(stage, stage->names[i]);
        lose_file(stage, stage->names[i]);
        take_file_of(stage, other, stage->names[i]);
    }
    judge_sound(stage);
    stage_free(stage);
    stage_free(other);
}

static void damage_of_disk_sieves_is_found(void **state)
{
    (void)state;
    damage_each_file(BLOOMERY_SIEVE_DISK);
}

static void damage_of_memory_sieves_is_found(void **state)
{
    (void)state;
    damage_each_file(BLOOMERY_SIEVE_MEMORY);
}

/* ---- Manifests that lie --------------------------------------------------------------------- */

/* All copies get right checksums again (docs/sieve.md: at byte 40, of the used bytes, with zeros in
 * its place). */
static void seal_manifest(uint8_t *data, size_t bytes, uint64_t copy)
{
    for (uint64_t at = 0; at + MANIFEST_STATE <= bytes; at += copy) {
        uint64_t used = test_load_u64(data + at + 24);
        if (used < MANIFEST_STATE || used > bytes - at)
            used = MANIFEST_STATE; /* then it is wrong in any case */
        test_store_u64(data + at + 40, 0);
        test_store_u64(data + at + 40, XXH3_64bits(data + at, used));
    }
}

/* The value of 4 or 8 bytes at `at` in all four copies. */
static void lie(struct stage *stage, const struct test_bytes *sound, size_t at, size_t width,
                uint64_t value, bool add)
{
    struct test_bytes content = test_copy_bytes(sound->data, sound->bytes);
    const uint64_t copy = content.bytes / 4;
    for (uint64_t from = 0; from + at + width <= content.bytes; from += copy) {
        uint64_t now = test_load_u64(content.data + from + at);
        uint64_t other = width == 8 ? 0 : now >> 32 << 32;
        now = add ? now + value : value;
        test_store_u64(content.data + from + at, width == 8 ? now : other | (now & UINT32_MAX));
    }
    seal_manifest(content.data, content.bytes, copy);
    sieve_copy(stage->sound, stage->work);
    write_work(stage, "MANIFEST", content.data, content.bytes);
    snprintf(stage->what, sizeof stage->what, "MANIFEST, %zu bytes at %zu %s %llx", width, at,
             add ? "plus" : "are", (unsigned long long)value);
    look(stage);
    test_bytes_free(&content);
}

static void lies_of_the_manifest_do_no_harm(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,          1,          7,          UINT32_MAX,     1u << 31,
                                      1ull << 48, 1ull << 63, UINT64_MAX, UINT64_MAX - 7, 65536};
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        struct stage *stage = stage_make((bloomery_sieve_engine)engine);
        struct test_bytes sound = read_file(stage, stage->sound, "MANIFEST");
        const uint64_t slot = sound.bytes / 2;
        uint64_t random = 5;
        stage->lies = true;
        size_t used = (size_t)test_load_u64(sound.data + 24);
        if (slot < sound.bytes && test_load_u64(sound.data + slot + 24) > used)
            used = (size_t)test_load_u64(sound.data + slot + 24);
        /* The checksum is made as the library makes it. */
        lie(stage, &sound, 296, 8, 0, true);
        assert_false(stage->noticed);
        for (size_t at = 0; at + 8 <= used; at += 4)
            for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
                /* The leases are many, and all alike. */
                size_t few = at < MANIFEST_STATE + 160 || at + 200 > used ? 8 : 200;
                few *= engine == BLOOMERY_SIEVE_MEMORY ? 3 : 1; /* computing rates takes its time */
                if (!test_long() && test_below(&random, few) != 0)
                    continue;
                lie(stage, &sound, at, 4 + 4 * (v & 1), values[v], v % 5 == 1);
            }
        test_bytes_free(&sound);
        stage_free(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_of_disk_sieves_is_found),
        cmocka_unit_test(damage_of_memory_sieves_is_found),
        cmocka_unit_test(lies_of_the_manifest_do_no_harm),
    };
    return test_run_group("sieve_damage", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue whose files or whose state are not what it wrote. Whatever they are, reading ends, stays
 * inside, and gives out no item that was not put in; what is lost is counted, and no more is lost
 * than has to be.
 */
#include "sieve_place.h"

#include "sieve/queue.h"

#include <stdlib.h>

enum { ENTRIES = 62, PER_FRAME = 4, LEASES = 50, FILES_MAX = 20, ROOM = 7, STATE_ROOM = 4096 };

/* A committed queue: the state, and its files as they were. */
struct scene {
    struct place place;
    uint8_t state[STATE_ROOM];
    size_t state_bytes;
    uint64_t items; /* queued or leased */
    uint64_t files; /* segments 1 to this one */
    struct test_bytes images[FILES_MAX];
};

static size_t text_of(uint64_t number, char text[64])
{
    return (size_t)snprintf(text, 64, "http://example.org/%llu/%0*d", (unsigned long long)number,
                            (int)(number % 9), 0);
}

static bool is_noted(uint64_t number)
{
    return number % 10 == 7;
}

static void segment_path(const struct scene *scene, uint64_t segment, char path[300])
{
    char name[BLOOMERY_FILE_NAME];
    bloomery_store_name(BLOOMERY_FILE_QUEUE, segment, 0, name);
    place_path(&scene->place, name, path, 300);
}

static struct bloomery_queue *make(struct scene *scene)
{
    struct bloomery_queue *queue;
    bloomery_error error;
    assert_int_equal(bloomery_queue_make(&scene->place.store, LEASES, 0, &queue, &error),
                     BLOOMERY_OK);
    queue->segment_bytes = 500;
    return queue;
}

static void fill(struct bloomery_queue *queue)
{
    bloomery_error error;
    for (uint64_t number = 1; number <= ENTRIES; number++) {
        char text[64];
        const size_t bytes = text_of(number, text);
        const struct bloomery_entry entry = {.key = bloomery_key_of(text, bytes),
                                             .flags = is_noted(number) ? BLOOMERY_ENTRY_MARKED : 0};
        assert_int_equal(bloomery_queue_append(queue, &entry, &error), BLOOMERY_OK);
        if (number % PER_FRAME == 0 || number == ENTRIES)
            assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    }
}

static void scene_open(struct scene *scene)
{
    bloomery_sieve_item items[ROOM];
    bloomery_error error;
    size_t count = 0;
    memset(scene, 0, sizeof *scene);
    place_open(&scene->place, true);
    struct bloomery_queue *queue = make(scene);
    fill(queue);
    assert_int_equal(bloomery_queue_pop(queue, 1, 100, items, ROOM, &count, &error), BLOOMERY_OK);
    assert_int_equal(count, ROOM);
    assert_int_equal(bloomery_queue_pop(queue, 1, 100, items, ROOM, &count, &error), BLOOMERY_OK);
    for (uint64_t number = 1; number < 20; number += 2)
        bloomery_queue_end(queue, &number, 1, BLOOMERY_SIEVE_DONE);
    scene->items = bloomery_queue_queued(queue) + bloomery_queue_leased(queue);
    scene->state_bytes = bloomery_queue_store(queue, scene->state);
    scene->files = bloomery_queue_tail(queue).segment;
    scene->files -= bloomery_queue_tail(queue).offset == BLOOMERY_FILE_HEADER;
    assert_true(scene->files > 4 && scene->files < FILES_MAX);
    bloomery_queue_free(queue);
    for (uint64_t i = 1; i <= scene->files; i++) {
        char path[300];
        segment_path(scene, i, path);
        scene->images[i] = test_read_file(path);
    }
}

static void scene_close(struct scene *scene)
{
    for (uint64_t i = 1; i <= scene->files; i++)
        test_bytes_free(&scene->images[i]);
    place_close(&scene->place);
}

static void put_back(const struct scene *scene, uint64_t segment)
{
    char path[300];
    segment_path(scene, segment, path);
    test_write_file(path, scene->images[segment].data, scene->images[segment].bytes);
}

static void check_item(const bloomery_sieve_item *item, bool *seen)
{
    char text[64];
    assert_in_range(item->number, 1, ENTRIES);
    assert_false(seen[item->number] || is_noted(item->number));
    seen[item->number] = true;
    assert_int_equal(item->key.bytes, text_of(item->number, text));
    assert_memory_equal(item->key.data, text, item->key.bytes);
}

struct outcome {
    uint64_t items;
    uint64_t lost;
    uint64_t skips;
};

/* Everything that still comes out. */
static struct outcome drain(struct bloomery_queue *queue)
{
    struct outcome outcome = {.items = 0};
    bool seen[ENTRIES + 1] = {false};
    for (int rounds = 0;; rounds++) {
        bloomery_sieve_item items[ROOM];
        bloomery_error error = {.text = ""};
        size_t count = 0;
        uint64_t lost = 0;
        assert_true(rounds < 200);
        const bloomery_status status =
            bloomery_queue_pop(queue, 1, 100, items, ROOM, &count, &error);
        if (status == BLOOMERY_CORRUPT) {
            assert_non_null(strstr(error.text, "crawl/queue-0000"));
            assert_int_equal(bloomery_queue_skip(queue, &lost, &error), BLOOMERY_OK);
            outcome.lost += lost;
            outcome.skips++;
            continue;
        }
        assert_int_equal(status, BLOOMERY_OK);
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++) {
            check_item(&items[i], seen);
            assert_int_equal(bloomery_queue_end(queue, &items[i].number, 1, BLOOMERY_SIEVE_DONE),
                             1);
        }
        outcome.items += count;
    }
    assert_int_equal(bloomery_queue_queued(queue), 0);
    assert_int_equal(bloomery_queue_leased(queue), 0);
    return outcome;
}

static void count_report(void *context, const char *text)
{
    assert_non_null(strstr(text, "crawl/queue-0000"));
    ++*(uint64_t *)context;
}

static uint64_t verify(struct bloomery_queue *queue)
{
    uint64_t reports = 0;
    struct bloomery_findings findings = {.report = count_report, .context = &reports};
    bloomery_error error;
    assert_int_equal(bloomery_queue_verify(queue, &findings, &error), BLOOMERY_OK);
    assert_int_equal(reports, findings.damaged);
    return findings.damaged;
}

/* Opens what is there now, and empties it; false where it can't be opened. */
static bool open_and_drain(struct scene *scene, struct outcome *outcome, uint64_t *damaged)
{
    bloomery_error error;
    bool ended;
    struct bloomery_queue *queue = make(scene);
    const bloomery_status status =
        bloomery_queue_restore(queue, scene->state, scene->state_bytes, false, 0, &ended, &error);
    if (status == BLOOMERY_OK) {
        *damaged = verify(queue);
        *outcome = drain(queue);
        assert_int_equal(verify(queue), 0);
        /* Each is either there or counted; of those counted, some were notes. */
        assert_true(outcome->items <= scene->items);
        assert_true(outcome->items + outcome->lost >= scene->items);
        assert_true((outcome->skips > 0) == (*damaged > 0));
        assert_true(outcome->skips > 0 || outcome->lost == 0);
    } else {
        assert_int_equal(status, BLOOMERY_CORRUPT);
    }
    bloomery_queue_free(queue);
    return status == BLOOMERY_OK;
}

static void every_flipped_byte_costs_its_frame(void **state)
{
    struct scene scene;
    struct outcome outcome;
    uint64_t damaged = 0;
    uint64_t found = 0;
    uint64_t refused = 0;
    (void)state;
    scene_open(&scene);
    assert_true(open_and_drain(&scene, &outcome, &damaged));
    assert_true(outcome.items == scene.items && damaged == 0);
    for (uint64_t segment = 1; segment <= scene.files; segment++) {
        struct test_bytes *image = &scene.images[segment];
        for (size_t at = 0; at < image->bytes; at++) {
            image->data[at] ^= (uint8_t)(1 << at % 8);
            put_back(&scene, segment);
            if (open_and_drain(&scene, &outcome, &damaged)) {
                found += damaged > 0;
                /* The header of a file costs its segment, 12 entries or so; everything else costs
                 * its frame, and leases. */
                assert_true(outcome.lost <= (at < BLOOMERY_FILE_HEADER ? 20 : 2 * PER_FRAME));
            } else {
                assert_true(segment == scene.files && at < BLOOMERY_FILE_HEADER);
                refused++;
            }
            image->data[at] ^= (uint8_t)(1 << at % 8);
        }
        put_back(&scene, segment);
    }
    assert_int_equal(refused, BLOOMERY_FILE_HEADER);
    assert_true(found > 2000);
    scene_close(&scene);
}

/* A segment whose image was changed: as many frames are lost as are damaged. */
static void check_cost(struct scene *scene, uint64_t segment, uint64_t frames)
{
    struct outcome outcome;
    uint64_t damaged = 0;
    put_back(scene, segment);
    assert_true(open_and_drain(scene, &outcome, &damaged));
    assert_int_equal(damaged, frames);
    assert_int_equal(outcome.skips, frames);
    assert_int_equal(outcome.lost, frames * PER_FRAME);
}

static void a_damaged_body_costs_no_other_frame(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene);
    const uint64_t segment = scene.files - 2;
    scene.images[segment].data[BLOOMERY_FILE_HEADER + BLOOMERY_FRAME_HEADER + 3] ^= 8;
    check_cost(&scene, segment, 1);
    scene_close(&scene);
}

/* A header says where the next frame begins, whether that one is damaged or not. */
static void damaged_frames_are_given_up_one_by_one(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene);
    const uint64_t segment = scene.files - 2;
    uint8_t *first = scene.images[segment].data + BLOOMERY_FILE_HEADER;
    uint8_t *second = first + BLOOMERY_FRAME_HEADER + bloomery_load_u32(first + 8);
    first[BLOOMERY_FRAME_HEADER + 3] ^= 8;
    second[16] ^= 8;
    check_cost(&scene, segment, 2);
    scene_close(&scene);
}

/* Only the header says where the next frame begins: it is looked for. */
static void a_damaged_header_costs_no_other_frame(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene);
    const uint64_t segment = scene.files - 2;
    scene.images[segment].data[BLOOMERY_FILE_HEADER + 9] ^= 8;
    check_cost(&scene, segment, 1);
    scene_close(&scene);
}

static void every_truncation_is_found(void **state)
{
    struct scene scene;
    struct outcome outcome;
    uint64_t damaged = 0;
    (void)state;
    scene_open(&scene);
    for (uint64_t segment = 1; segment <= scene.files; segment++) {
        const size_t whole = scene.images[segment].bytes;
        for (size_t bytes = 0; bytes < whole; bytes += bytes % 37 == 1 ? 1 : 3) {
            scene.images[segment].bytes = bytes;
            put_back(&scene, segment);
            const bool opened = open_and_drain(&scene, &outcome, &damaged);
            /* What it lacks is missed at the latest by the number that follows. */
            assert_true(!opened || damaged > 0 || segment < 3);
            assert_true(opened || segment == scene.files || bytes < BLOOMERY_FILE_HEADER);
        }
        scene.images[segment].bytes = whole;
        put_back(&scene, segment);
    }
    scene_close(&scene);
}

/* ---- States ------------------------------------------------------------------------------ */

/* Everything that is done with a queue, whatever it holds. */
static int pass_over(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    uint64_t *sum = context;
    for (size_t i = 0; i < entry->key.bytes; i++)
        *sum += ((const uint8_t *)entry->key.data)[i] + number;
    return 0;
}

static void use(struct bloomery_queue *queue, uint8_t *room)
{
    bloomery_sieve_item items[ROOM];
    struct bloomery_queue_mark mark;
    const struct bloomery_queue_position start = {0, 0};
    const struct bloomery_entry entry = {.key = bloomery_key_of("new", 3)};
    bloomery_error error;
    struct bloomery_findings findings = {.damaged = 0};
    uint64_t sum = 0;
    size_t count = 1;
    (void)bloomery_queue_verify(queue, &findings, &error);
    (void)bloomery_queue_each(queue, NULL, 0, pass_over, &sum, &error);
    (void)bloomery_queue_each(queue, &start, 1, pass_over, &sum, &error);
    bloomery_queue_mark(queue, &mark);
    assert_int_equal(bloomery_queue_append(queue, &entry, &error), BLOOMERY_OK);
    (void)bloomery_queue_seal(queue, &error);
    bloomery_queue_rewind(queue, &mark);
    for (int rounds = 0; count > 0; rounds++) {
        uint64_t lost = 0;
        assert_true(rounds < 300);
        if (bloomery_queue_pop(queue, 1, 100, items, ROOM, &count, &error) != BLOOMERY_OK) {
            assert_int_equal(bloomery_queue_skip(queue, &lost, &error), BLOOMERY_OK);
            count = 1;
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            sum += ((const uint8_t *)items[i].key.data)[0];
            bloomery_queue_end(queue, &items[i].number, 1, BLOOMERY_SIEVE_DONE);
        }
    }
    if (bloomery_queue_seal(queue, &error) == BLOOMERY_OK)
        bloomery_queue_store(queue, room);
    bloomery_queue_tidy(queue, UINT64_MAX);
}

static bool try_state(struct scene *scene, const uint8_t *state, size_t bytes)
{
    uint8_t room[STATE_ROOM];
    bloomery_error error;
    bool ended;
    struct bloomery_queue *queue = make(scene);
    const bloomery_status status =
        bloomery_queue_restore(queue, state, bytes, true, 1e9, &ended, &error);
    assert_true(status == BLOOMERY_OK || status == BLOOMERY_CORRUPT);
    if (status == BLOOMERY_OK)
        use(queue, room);
    bloomery_queue_free(queue);
    for (uint64_t i = 1; i <= scene->files; i++)
        put_back(scene, i);
    return status == BLOOMERY_OK;
}

static void hostile_states_are_refused_or_stay_inside(void **state)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      63,
                                      64,
                                      65,
                                      112,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 2,
                                      UINT64_C(1) << 62,
                                      UINT64_C(0x7ff0000000000000),
                                      UINT64_C(0x7fefffffffffffff),
                                      INT64_MAX,
                                      UINT64_MAX};
    const size_t count = sizeof values / sizeof values[0];
    struct scene scene;
    uint8_t changed[STATE_ROOM];
    uint64_t taken = 0;
    (void)state;
    scene_open(&scene);
    for (size_t field = 0; field < scene.state_bytes; field += 8) {
        for (size_t i = 0; i < count + 8; i++) {
            memcpy(changed, scene.state, scene.state_bytes);
            const uint64_t value = bloomery_load_u64(changed + field);
            bloomery_store_u64(changed + field, i < count ? values[i] : value + i - count - 4);
            taken += try_state(&scene, changed, scene.state_bytes);
        }
    }
    assert_true(taken > 20); /* among them the one that was not changed */
    for (size_t bytes = 0; bytes <= scene.state_bytes + 40; bytes++) {
        uint8_t *exact = malloc(bytes > 0 ? bytes : 1);
        assert_non_null(exact);
        memset(exact, 0, bytes);
        memcpy(exact, scene.state, bytes < scene.state_bytes ? bytes : scene.state_bytes);
        assert_int_equal(try_state(&scene, exact, bytes), bytes == scene.state_bytes);
        free(exact);
    }
    scene_close(&scene);
}

/* ---- Frames with right checksums --------------------------------------------------------- */

static void hostile_frames_stay_inside(void **state)
{
    struct scene scene;
    uint8_t body[300];
    uint64_t random = 5;
    (void)state;
    scene_open(&scene);
    for (int round = 0; round < 3000; round++) {
        const uint64_t segment = 1 + test_below(&random, scene.files);
        struct bloomery_store_file file;
        bloomery_error error;
        uint64_t offset = BLOOMERY_FILE_HEADER;
        assert_int_equal(bloomery_store_create(&scene.place.store, BLOOMERY_FILE_QUEUE, segment, 0,
                                               &file, &error),
                         BLOOMERY_OK);
        for (uint64_t frames = 1 + test_below(&random, 3); frames > 0; frames--) {
            struct bloomery_frame frame = {
                .entries = (uint32_t)test_below(&random, 6),
                .fixed_bytes = test_below(&random, 9) == 0 ? 8 : 0,
                .body_bytes = (uint32_t)test_below(&random, 200),
                .first = test_below(&random, ENTRIES),
            };
            for (size_t i = 0; i < sizeof body; i++)
                body[i] = (uint8_t)(test_next(&random) & (i % 3 == 0 ? 31 : 255));
            if (test_below(&random, 2) == 0) {
                frame.entries = 4; /* sound, but of the wrong numbers */
                frame.body_bytes = 8;
                memcpy(body, "\10a\10b\12c\10d", 8);
            }
            assert_int_equal(
                bloomery_frame_write(&scene.place.store, &file, offset, &frame, body, body, &error),
                BLOOMERY_OK);
            offset += bloomery_frame_bytes(&frame);
        }
        /* As long as it was, for the tail to be found. */
        while (offset < scene.images[segment].bytes) {
            const uint64_t rest = scene.images[segment].bytes - offset;
            const size_t piece = rest < sizeof body ? rest : sizeof body;
            assert_int_equal(
                bloomery_store_write(&scene.place.store, &file, offset, body, piece, &error),
                BLOOMERY_OK);
            offset += piece;
        }
        bloomery_store_close(&file);
        try_state(&scene, scene.state, scene.state_bytes);
    }
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_byte_costs_its_frame),
        cmocka_unit_test(a_damaged_body_costs_no_other_frame),
        cmocka_unit_test(damaged_frames_are_given_up_one_by_one),
        cmocka_unit_test(a_damaged_header_costs_no_other_frame),
        cmocka_unit_test(every_truncation_is_found),
        cmocka_unit_test(hostile_states_are_refused_or_stay_inside),
        cmocka_unit_test(hostile_frames_stay_inside),
    };
    return test_run_group("sieve_queue_damage", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue against an array that says what it should do, over random sequences of everything that
 * can be asked of it, on a disk that is full now and then and in memory; with segments of a few
 * KiB, so that they end often.
 */
#include "sieve_place.h"

#include "sieve/queue.h"

#include <stdlib.h>

enum { ENTRIES_MAX = 6000, ROOM = 40, STATE_ROOM = 1 << 20, LONG = 70000 };

struct model_entry {
    uint64_t seed;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    bool noted;
    bool popped;
    bool leased;
    double ends;
};

struct model {
    uint64_t count; /* entry i has number i + 1 */
    uint64_t head;  /* entries before it were popped, or passed over */
    uint64_t queued;
    uint32_t leased;
    uint64_t done;
    struct model_entry entries[ENTRIES_MAX];
};

struct run {
    struct place place;
    struct bloomery_queue *queue;
    uint64_t random;
    uint32_t limit;
    uint64_t segment_bytes;
    double now;
    struct model now_is;
    struct model committed;
    uint8_t *state;
    size_t state_bytes;
    struct bloomery_queue_position from; /* a tail of some commit, and the number that came next */
    uint64_t from_number;
    uint8_t *body; /* of one entry */
};

static const double lease_seconds = 100;

/* ---- Entries ------------------------------------------------------------------------- */

static struct bloomery_entry entry_of(struct run *run, const struct model_entry *model)
{
    const size_t bytes = (size_t)model->key_bytes + model->payload_bytes;
    for (size_t i = 0; i < bytes; i++)
        run->body[i] = (uint8_t)(model->seed >> (i % 8 * 8)) ^ (uint8_t)i;
    return (struct bloomery_entry){
        .key = bloomery_key_of(run->body, model->key_bytes),
        .payload = bloomery_key_of(run->body + model->key_bytes, model->payload_bytes),
        .flags = model->noted ? BLOOMERY_ENTRY_MARKED : 0,
    };
}

static size_t stored_bytes(const struct model_entry *model)
{
    uint8_t prefix[8];
    size_t bytes = bloomery_varint_put(prefix, model->key_bytes << 3);
    if (model->payload_bytes > 0)
        bytes += bloomery_varint_put(prefix, model->payload_bytes);
    return bytes + model->key_bytes + model->payload_bytes;
}

static struct model_entry draw_entry(struct run *run)
{
    struct model_entry entry = {.seed = test_next(&run->random)};
    const uint64_t what = test_below(&run->random, 400);
    entry.key_bytes = (uint32_t)test_below(&run->random, what < 300 ? 60 : 2500);
    if (what % 3 == 0)
        entry.payload_bytes = (uint32_t)test_below(&run->random, 200);
    if (what == 399)
        entry.key_bytes = (uint32_t)(65520 + test_below(&run->random, 32));
    if (what == 398)
        entry.payload_bytes = (uint32_t)(LONG + test_below(&run->random, 1000));
    entry.noted = what % 8 == 5;
    return entry;
}

static void check_item(struct run *run, const bloomery_sieve_item *item)
{
    const struct model_entry *model = &run->now_is.entries[item->number - 1];
    const struct bloomery_entry entry = entry_of(run, model);
    assert_int_equal(item->key.bytes, entry.key.bytes);
    assert_int_equal(item->payload.bytes, entry.payload.bytes);
    assert_memory_equal(item->key.data, entry.key.data, entry.key.bytes);
    if (entry.payload.bytes > 0)
        assert_memory_equal(item->payload.data, entry.payload.data, entry.payload.bytes);
}

/* ---- What a pop should do ------------------------------------------------------------ */

struct expected {
    uint64_t numbers[ROOM];
    size_t count;
    size_t arena;
    bool full; /* nothing more fits */
    bloomery_status status;
};

static bool expect_one(struct expected *expected, size_t room, const struct model_entry *entry,
                       uint64_t number)
{
    const bool alone = stored_bytes(entry) > BLOOMERY_QUEUE_BUFFER;
    const size_t bytes = (size_t)entry->key_bytes + entry->payload_bytes;
    if (expected->full || expected->count == room || (alone && expected->count > 0) ||
        (!alone && expected->arena + bytes > BLOOMERY_QUEUE_BUFFER)) {
        expected->full = true;
        return false;
    }
    expected->numbers[expected->count++] = number;
    expected->arena += alone ? 0 : bytes;
    expected->full = alone;
    return true;
}

static void expect_pop(struct run *run, size_t room, struct expected *expected)
{
    struct model *model = &run->now_is;
    *expected = (struct expected){.status = BLOOMERY_OK};
    for (uint64_t i = 0; i < model->head; i++) {
        struct model_entry *entry = &model->entries[i];
        if (!entry->leased || entry->ends > run->now)
            continue;
        if (!expect_one(expected, room, entry, i + 1))
            break;
        entry->ends = run->now + lease_seconds;
    }
    while (model->queued > 0 && !expected->full) {
        struct model_entry *entry = &model->entries[model->head];
        if (!entry->noted) {
            if (model->leased == run->limit) {
                expected->status = expected->count == 0 ? BLOOMERY_FULL : BLOOMERY_OK;
                break;
            }
            if (!expect_one(expected, room, entry, model->head + 1))
                break;
            entry->leased = true;
            entry->popped = true;
            entry->ends = run->now + lease_seconds;
            model->leased++;
            model->queued--;
        }
        model->head++;
    }
}

static bool expect_ready(const struct run *run)
{
    const struct model *model = &run->now_is;
    bool ended = false;
    for (uint64_t i = 0; i < model->head; i++)
        ended |= model->entries[i].leased && model->entries[i].ends <= run->now;
    return ended || model->queued > 0;
}

/* ---- Steps --------------------------------------------------------------------------- */

static void step_pop(struct run *run)
{
    bloomery_sieve_item items[ROOM];
    struct expected expected;
    bloomery_error error;
    size_t count = 99;
    const size_t room = 1 + test_below(&run->random, ROOM);
    assert_int_equal(bloomery_queue_ready(run->queue, run->now), expect_ready(run));
    const struct model before = {.head = run->now_is.head};
    expect_pop(run, room, &expected);
    assert_int_equal(
        bloomery_queue_pop(run->queue, run->now, lease_seconds, items, room, &count, &error),
        expected.status);
    assert_int_equal(count, expected.count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].number, expected.numbers[i]);
        assert_int_equal(items[i].again, items[i].number <= before.head);
    }
    /* What was given out outlasts everything but the next pop. */
    for (uint64_t i = test_below(&run->random, 3); i > 0 && run->now_is.count < ENTRIES_MAX; i--) {
        struct model_entry drawn = draw_entry(run);
        const struct bloomery_entry entry = entry_of(run, &drawn);
        assert_int_equal(bloomery_queue_append(run->queue, &entry, &error), BLOOMERY_OK);
        run->now_is.entries[run->now_is.count++] = drawn;
        run->now_is.queued += !drawn.noted;
    }
    for (size_t i = 0; i < count; i++)
        check_item(run, &items[i]);
}

static void step_end(struct run *run)
{
    struct model *model = &run->now_is;
    uint64_t numbers[2 * ROOM];
    size_t count = 0;
    size_t were_leased = 0;
    const bool again = test_below(&run->random, 4) == 0;
    const uint64_t from = test_below(&run->random, model->head + 1);
    const uint64_t dense = 1 + test_below(&run->random, 3);
    for (uint64_t i = from; i < model->count + 2 && count < ROOM; i++) {
        struct model_entry *entry = &model->entries[i];
        const bool leased = i < model->head && entry->leased;
        if (test_below(&run->random, leased ? dense : 40) != 0)
            continue;
        numbers[count++] = i + 1;
        were_leased += leased;
        if (leased && again)
            entry->ends = 0;
        if (leased && !again) {
            entry->leased = false;
            model->leased--;
            model->done++;
        }
    }
    assert_int_equal(bloomery_queue_end(run->queue, numbers, count,
                                        again ? BLOOMERY_SIEVE_BACK : BLOOMERY_SIEVE_DONE),
                     were_leased);
}

static void append_some(struct run *run, uint64_t count)
{
    struct model *model = &run->now_is;
    for (; count > 0 && model->count < ENTRIES_MAX; count--) {
        bloomery_error error;
        struct model_entry *drawn = &model->entries[model->count];
        *drawn = draw_entry(run);
        const struct bloomery_entry entry = entry_of(run, drawn);
        assert_int_equal(bloomery_queue_append(run->queue, &entry, &error), BLOOMERY_OK);
        model->count++;
        model->queued += !drawn->noted;
    }
}

static void seal(struct run *run)
{
    bloomery_error error;
    assert_int_equal(bloomery_queue_seal(run->queue, &error), BLOOMERY_OK);
}

/* Goes on and comes back. */
static void step_rewind(struct run *run)
{
    struct bloomery_queue_mark mark;
    struct model *model = &run->now_is;
    const uint64_t count = model->count;
    const uint64_t queued = model->queued;
    seal(run);
    bloomery_queue_mark(run->queue, &mark);
    append_some(run, test_below(&run->random, 300));
    if (test_below(&run->random, 2) == 0)
        seal(run);
    append_some(run, test_below(&run->random, 10));
    bloomery_queue_rewind(run->queue, &mark);
    model->count = count;
    model->queued = queued;
}

/* The disk is full: what is refused has changed nothing, and goes through later. */
static void step_full(struct run *run)
{
    struct model *model = &run->now_is;
    bloomery_error error;
    if (run->place.store.directory < 0)
        return;
    limit_files(bloomery_queue_tail(run->queue).offset + test_below(&run->random, 900));
    bloomery_status status = BLOOMERY_OK;
    for (int i = 0; i < 40 && status == BLOOMERY_OK && model->count < ENTRIES_MAX; i++) {
        struct model_entry drawn = draw_entry(run);
        const struct bloomery_entry entry = entry_of(run, &drawn);
        status = bloomery_queue_append(run->queue, &entry, &error);
        if (status == BLOOMERY_OK) {
            model->entries[model->count++] = drawn;
            model->queued += !drawn.noted;
        }
    }
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(run->queue, &error);
    assert_true(status == BLOOMERY_OK || status == BLOOMERY_IO_FAILED);
    limit_files(RLIM_INFINITY);
}

struct walk {
    struct run *run;
    uint64_t next;
};

static int walk_one(void *context, const struct bloomery_entry *found, uint64_t number)
{
    struct walk *walk = context;
    const struct model_entry *model = &walk->run->now_is.entries[number - 1];
    const struct bloomery_entry entry = entry_of(walk->run, model);
    assert_int_equal(number, walk->next++);
    assert_int_equal(found->key.bytes, entry.key.bytes);
    assert_int_equal(found->payload.bytes, entry.payload.bytes);
    assert_memory_equal(found->key.data, entry.key.data, entry.key.bytes);
    assert_int_equal(found->flags, entry.flags);
    return 0;
}

/* All facts, and with `deep` every entry. */
static void check(struct run *run, bool deep)
{
    const struct model *model = &run->now_is;
    struct bloomery_queue *queue = run->queue;
    bloomery_error error;
    struct bloomery_findings findings = {.damaged = 0};
    assert_int_equal(bloomery_queue_queued(queue), model->queued);
    assert_int_equal(bloomery_queue_leased(queue), model->leased);
    assert_int_equal(bloomery_queue_done(queue), model->done);
    assert_int_equal(bloomery_queue_next(queue), model->count + 1);
    if (!deep)
        return;
    struct walk walk = {run, 1};
    while (model->queued > 0 && walk.next <= model->head)
        walk.next++;
    if (model->queued > 0) {
        /* Notes at the front may have been passed over or not. */
        walk.next = queue->head_number;
        assert_int_equal(bloomery_queue_each(queue, NULL, 0, walk_one, &walk, &error), 0);
        assert_int_equal(walk.next, model->count + 1);
    }
    if (run->from_number > 0) {
        walk.next = run->from_number;
        assert_int_equal(
            bloomery_queue_each(queue, &run->from, run->from_number, walk_one, &walk, &error), 0);
        assert_int_equal(walk.next, model->count + 1);
    }
    assert_int_equal(bloomery_queue_verify(queue, &findings, &error), BLOOMERY_OK);
    assert_int_equal(findings.damaged, 0);
}

/* ---- Commits and crashes ------------------------------------------------------------- */

static void step_commit(struct run *run)
{
    bloomery_error error;
    if (run->place.store.directory < 0)
        return;
    seal(run);
    assert_int_equal(bloomery_queue_sync(run->queue, &error), BLOOMERY_OK);
    run->state_bytes = bloomery_queue_store(run->queue, run->state);
    memcpy(&run->committed, &run->now_is, sizeof run->now_is);
    if (test_below(&run->random, 3) == 0) {
        run->from = bloomery_queue_tail(run->queue);
        run->from_number = bloomery_queue_next(run->queue);
    }
    bloomery_queue_tidy(run->queue, run->from.segment);
}

/* Space that was reserved is there, whatever else is not. */
static void step_reserve(struct run *run)
{
    struct model *model = &run->now_is;
    struct model_entry drawn[20];
    bloomery_error error;
    uint64_t bytes = 0;
    size_t count = 0;
    for (; count < 20 && model->count + count < ENTRIES_MAX; count++) {
        drawn[count] = draw_entry(run);
        const struct bloomery_entry entry = entry_of(run, &drawn[count]);
        if (bytes + bloomery_entry_bound(&entry) > BLOOMERY_QUEUE_BUFFER)
            break;
        bytes += bloomery_entry_bound(&entry);
    }
    assert_int_equal(bloomery_queue_reserve(run->queue, bytes, &error), BLOOMERY_OK);
    const uint64_t most = run->queue->ring.most;
    run->queue->ring.most = 1;
    limit_files(64);
    for (size_t i = 0; i < count; i++) {
        const struct bloomery_entry entry = entry_of(run, &drawn[i]);
        assert_int_equal(bloomery_queue_append(run->queue, &entry, &error), BLOOMERY_OK);
        model->entries[model->count++] = drawn[i];
        model->queued += !drawn[i].noted;
    }
    limit_files(RLIM_INFINITY);
    run->queue->ring.most = most;
}

static void make_queue(struct run *run)
{
    bloomery_error error;
    assert_int_equal(bloomery_queue_make(&run->place.store, run->limit, 0, &run->queue, &error),
                     BLOOMERY_OK);
    run->queue->segment_bytes = run->segment_bytes;
}

/* What was done since the last commit has not been. */
static void step_crash(struct run *run)
{
    struct model *model = &run->now_is;
    bloomery_error error = {.text = ""};
    const bool keep = test_below(&run->random, 2) == 0;
    if (run->place.store.directory < 0)
        return;
    bloomery_queue_free(run->queue);
    make_queue(run);
    const double latest = run->now + lease_seconds / 2;
    bool ended = !keep;
    assert_int_equal(bloomery_queue_restore(run->queue, run->state, run->state_bytes, keep, latest,
                                            &ended, &error),
                     BLOOMERY_OK);
    memcpy(model, &run->committed, sizeof *model);
    bool expected = false;
    for (uint64_t i = 0; i < model->head; i++) {
        struct model_entry *entry = &model->entries[i];
        const bool ends = !keep || entry->ends > latest;
        expected = expected || (entry->leased && ends && entry->ends > 0);
        if (ends)
            entry->ends = 0;
    }
    assert_int_equal(ended, expected);
}

static void step(struct run *run)
{
    const uint64_t what = test_below(&run->random, 100);
    if (what < 30)
        append_some(run, test_below(&run->random, 40));
    else if (what < 55)
        step_pop(run);
    else if (what < 70)
        step_end(run);
    else if (what < 75)
        seal(run);
    else if (what < 80)
        step_rewind(run);
    else if (what < 84)
        step_full(run);
    else if (what < 90)
        step_commit(run);
    else if (what < 94)
        step_crash(run);
    else if (what < 96)
        step_reserve(run);
    else
        run->now += (double)test_below(&run->random, 60);
}

static void run_steps(uint64_t seed, bool on_disk, uint32_t limit, uint64_t segment_bytes)
{
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    place_open(&run->place, on_disk);
    run->random = seed;
    run->limit = limit;
    run->segment_bytes = segment_bytes;
    run->now = 1000;
    run->state = malloc(STATE_ROOM);
    run->body = malloc(2 * LONG);
    assert_true(run->state != NULL && run->body != NULL);
    make_queue(run);
    step_commit(run);
    for (uint32_t i = 0; i < 600 && run->now_is.count < ENTRIES_MAX - 100; i++) {
        step(run);
        check(run, i % 16 == 0);
    }
    bloomery_queue_free(run->queue);
    place_close(&run->place);
    free(run->state);
    free(run->body);
    free(run);
}

static void queue_is_its_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (test_long() ? 200 : 6); seed++) {
        run_steps(seed, true, seed % 2 == 0 ? 7 : 500, 3000 + 2000 * (seed % 5));
        run_steps(seed, false, seed % 2 == 0 ? 7 : 500, 0);
    }
}

/* ---- Single promises ----------------------------------------------------------------- */

static bloomery_status append_text(struct bloomery_queue *queue, const char *text, uint32_t flags)
{
    bloomery_error error;
    const struct bloomery_entry entry = {.key = bloomery_key_of(text, strlen(text)),
                                         .flags = flags};
    return bloomery_queue_append(queue, &entry, &error);
}

static size_t pop_some(struct bloomery_queue *queue, bloomery_sieve_item *items, size_t room)
{
    bloomery_error error;
    size_t count = 0;
    assert_int_equal(bloomery_queue_pop(queue, 1, 100, items, room, &count, &error), BLOOMERY_OK);
    return count;
}

/* A write that failed half way, of an item that then was not put in, is not part of the segment. */
static void a_failed_write_leaves_no_rubbish(void **state)
{
    static char text[LONG + 1];
    struct place place;
    struct bloomery_queue *queue;
    bloomery_sieve_item items[4];
    bloomery_error error;
    (void)state;
    memset(text, 'z', LONG);
    place_open(&place, true);
    assert_int_equal(bloomery_queue_make(&place.store, 10, 0, &queue, &error), BLOOMERY_OK);
    queue->segment_bytes = 1000;
    assert_int_equal(append_text(queue, "one", 0), BLOOMERY_OK);
    limit_files(50000);
    assert_int_equal(append_text(queue, text, 0), BLOOMERY_IO_FAILED);
    limit_files(RLIM_INFINITY);
    text[1000] = '\0';
    assert_int_equal(append_text(queue, text, 0), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    assert_int_equal(append_text(queue, "three", 0), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_tail(queue).segment, 2);
    assert_int_equal(pop_some(queue, items, 4), 3);
    assert_memory_equal(items[2].key.data, "three", 5);
    bloomery_queue_free(queue);
    place_close(&place);
}

static int is_text(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    (void)number;
    assert_int_equal(entry->key.bytes, strlen(context));
    assert_memory_equal(entry->key.data, context, entry->key.bytes);
    return 0;
}

static void what_was_undone_is_not_read(void **state)
{
    char first[] = "first";
    char second[] = "other";
    struct place place;
    struct bloomery_queue *queue;
    struct bloomery_queue_mark mark;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    assert_int_equal(bloomery_queue_make(&place.store, 10, 0, &queue, &error), BLOOMERY_OK);
    bloomery_queue_mark(queue, &mark);
    assert_int_equal(append_text(queue, first, 0), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_each(queue, NULL, 0, is_text, first, &error), 0);
    bloomery_queue_rewind(queue, &mark);
    assert_int_equal(append_text(queue, second, 0), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_queue_each(queue, NULL, 0, is_text, second, &error), 0);
    bloomery_queue_free(queue);
    place_close(&place);
}

static unsigned files_in(const struct place *place)
{
    return test_directory_entries(&place->directory);
}

static void segments_go_when_they_are_done_with(void **state)
{
    struct place place;
    struct bloomery_queue *queue;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    assert_int_equal(bloomery_queue_make(&place.store, 100, 0, &queue, &error), BLOOMERY_OK);
    queue->segment_bytes = 100;
    /* Ten segments of one item each. */
    for (int i = 0; i < 10; i++) {
        char text[80];
        snprintf(text, sizeof text, "%060d", i);
        assert_int_equal(append_text(queue, text, 0), BLOOMERY_OK);
        assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    }
    assert_int_equal(files_in(&place), 10);
    assert_int_equal(bloomery_queue_bytes(queue), 10 * (64 + 48 + 62));
    bloomery_sieve_item items[10];
    assert_int_equal(pop_some(queue, items, 6), 6);
    bloomery_queue_tidy(queue, UINT64_MAX);
    assert_int_equal(files_in(&place), 10); /* all of them leased, or before the head */
    const uint64_t done[] = {2, 3, 5};
    assert_int_equal(bloomery_queue_end(queue, done, 3, BLOOMERY_SIEVE_DONE), 3);
    bloomery_queue_tidy(queue, 4);
    assert_int_equal(files_in(&place), 8); /* a wish to keep from the fourth on */
    bloomery_queue_tidy(queue, UINT64_MAX);
    assert_int_equal(files_in(&place), 7);
    assert_true(bloomery_queue_has_segment(queue, 4));
    assert_false(bloomery_queue_has_segment(queue, 5));
    const uint64_t rest[] = {1, 4, 6};
    assert_int_equal(bloomery_queue_end(queue, rest, 3, BLOOMERY_SIEVE_DONE), 3);
    bloomery_queue_tidy(queue, UINT64_MAX);
    assert_int_equal(files_in(&place), 4);
    assert_int_equal(bloomery_queue_bytes(queue), 4 * (64 + 48 + 62));
    bloomery_queue_free(queue);
    place_close(&place);
}

static void notes_alone_hold_no_segments(void **state)
{
    struct place place;
    struct bloomery_queue *queue;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    assert_int_equal(bloomery_queue_make(&place.store, 100, 0, &queue, &error), BLOOMERY_OK);
    queue->segment_bytes = 2000;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(append_text(queue, "a key that was noted", BLOOMERY_ENTRY_MARKED),
                         BLOOMERY_OK);
        assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
        bloomery_queue_tidy(queue, UINT64_MAX);
        assert_true(files_in(&place) <= 1);
    }
    assert_int_equal(bloomery_queue_queued(queue), 0);
    bloomery_queue_free(queue);
    place_close(&place);
}

/* Pushed, popped and acknowledged, nothing stays in memory; and where nobody pops, there is a
 * limit. */
static void memory_is_given_back(void **state)
{
    static char text[1001];
    struct place place;
    struct bloomery_queue *queue;
    bloomery_error error;
    (void)state;
    memset(text, 'x', 1000);
    place_open(&place, false);
    assert_int_equal(bloomery_queue_make(&place.store, 5000, 500000, &queue, &error), BLOOMERY_OK);
    const uint64_t empty = place.store.memory;
    for (int round = 0; round < 20; round++) {
        uint64_t pushed = 0;
        bloomery_status status;
        while ((status = append_text(queue, text, 0)) == BLOOMERY_OK)
            pushed++;
        assert_int_equal(status, BLOOMERY_FULL);
        assert_true(place.store.memory <= empty + 500000);
        assert_true(pushed > 350);
        assert_int_equal(bloomery_queue_queued(queue), pushed);
        while (pushed > 0) {
            bloomery_sieve_item items[ROOM];
            const size_t count = pop_some(queue, items, ROOM);
            assert_true(count > 0);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(
                    bloomery_queue_end(queue, &items[i].number, 1, BLOOMERY_SIEVE_DONE), 1);
            pushed -= count;
        }
        assert_true(place.store.memory <= empty + 2000); /* the ring's slots */
    }
    bloomery_queue_free(queue);
    place_close(&place);
}

/* Items of one frame that come again do not read it each time. */
static void a_frame_is_read_once_for_its_items(void **state)
{
    struct place place;
    struct bloomery_queue *queue;
    bloomery_error error;
    bloomery_sieve_item items[1];
    (void)state;
    place_open(&place, true);
    assert_int_equal(bloomery_queue_make(&place.store, 2000, 0, &queue, &error), BLOOMERY_OK);
    for (int i = 0; i < 2000; i++) {
        char text[60];
        snprintf(text, sizeof text, "http://example.org/a/page/of/some/length/%d", i);
        assert_int_equal(append_text(queue, text, 0), BLOOMERY_OK);
    }
    assert_int_equal(bloomery_queue_seal(queue, &error), BLOOMERY_OK);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(pop_some(queue, items, 1), 1);
    assert_true(place.store.bytes_read < 2 * bloomery_queue_bytes(queue));
    for (uint64_t i = 1; i <= 2000; i++)
        assert_int_equal(bloomery_queue_end(queue, &i, 1, BLOOMERY_SIEVE_BACK), 1);
    for (uint64_t i = 1; i <= 2000; i++) {
        assert_int_equal(pop_some(queue, items, 1), 1);
        assert_int_equal(items[0].number, i);
        assert_true(items[0].again);
    }
    assert_true(place.store.bytes_read < 3 * bloomery_queue_bytes(queue));
    bloomery_queue_free(queue);
    place_close(&place);
}

/* Each allocation fails once: an error, and the next try goes through. */
static void failed_allocations_change_nothing(void **state)
{
    static char text[LONG + 1];
    (void)state;
    memset(text, 'y', LONG);
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        uint64_t failures = 1;
        for (uint64_t refuse = 1; failures > 0; refuse++) {
            struct place place;
            struct bloomery_queue *queue = NULL;
            bloomery_error error;
            bloomery_sieve_item items[3];
            size_t count = 0;
            failures = 0;
            place_open(&place, on_disk == 1);
            place.memory.refuse_at = refuse;
            while (bloomery_queue_make(&place.store, 10, 0, &queue, &error) != BLOOMERY_OK)
                failures++;
            while (append_text(queue, text, 0) != BLOOMERY_OK)
                failures++;
            assert_int_equal(append_text(queue, "short", 0), BLOOMERY_OK);
            while (bloomery_queue_pop(queue, 1, 100, items, 3, &count, &error) != BLOOMERY_OK)
                failures++;
            assert_true(count == 1 && items[0].number == 1 && items[0].key.bytes == LONG);
            assert_true(failures <= 1);
            assert_int_equal(pop_some(queue, items, 3), 1);
            bloomery_queue_free(queue);
            place_close(&place);
        }
    }
}

/* 200,000 leases, ended in any order, in far less than quadratic time. */
static void many_leases_end_quickly(void **state)
{
    enum { MANY = 200000 };
    struct place place;
    struct bloomery_leases leases;
    (void)state;
    place_open(&place, false);
    assert_true(bloomery_leases_make(&place.store, &leases, MANY));
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < MANY; i++)
            bloomery_leases_add(&leases,
                                &(struct bloomery_lease){.number = (uint64_t)round * MANY + i + 1,
                                                         .segment = i / 100 + 1,
                                                         .offset = 64,
                                                         .ends = (double)i});
        for (uint64_t i = 0; i < MANY; i++) {
            const uint64_t number = (uint64_t)round * MANY + i * 77777 % MANY + 1;
            const uint32_t index = bloomery_leases_find(&leases, number);
            assert_true(index < leases.count);
            assert_int_equal(leases.list[index].number, number);
            bloomery_leases_kill(&leases, index);
            assert_int_equal(bloomery_leases_find(&leases, number), leases.count);
            assert_int_equal(leases.live, MANY - 1 - i);
        }
        assert_int_equal(bloomery_leases_ended(&leases, 0, 1e18), leases.count);
    }
    bloomery_leases_free(&place.store, &leases);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_is_its_model),
        cmocka_unit_test(a_failed_write_leaves_no_rubbish),
        cmocka_unit_test(what_was_undone_is_not_read),
        cmocka_unit_test(segments_go_when_they_are_done_with),
        cmocka_unit_test(notes_alone_hold_no_segments),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(a_frame_is_read_once_for_its_items),
        cmocka_unit_test(failed_allocations_change_nothing),
        cmocka_unit_test(many_leases_end_quickly),
    };
    return test_run_group("sieve_queue", tests, NULL, NULL);
}

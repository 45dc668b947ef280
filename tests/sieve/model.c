/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sieve does what an exact model does: long random sequences of calls, each answer compared.
 *
 * The model is an array: what was seen, and the items that have to come out, in the order of their
 * pushes. The disk engine answers PENDING where the model knows, so an answer may say less than the
 * model but never other than it:
 *
 *     SEEN, NEW      as the model says. (The memory engine has a rate, here 1e-12, and 48-bit
 *                    fingerprints are the same for two of 40,000 keys with a chance of 3e-6: less
 *                    than one failure in 10,000 runs.)
 *     pop            each item that the model expects comes once, with its key and the payload of
 *                    its push; in the order of the pushes where the sieve promises that. Else it
 *                    promises it for each partition, and which is whose it does not tell: then what
 *                    came out must be a mixture of no more rising sequences than there are
 *                    partitions
 *     leases         come again when they ended, before anything new, under the same number
 *     numbers        of info add up
 *
 * A failure names the seed and the step. BLOOMERY_SIEVE_SEED=N runs that seed, of every sort of
 * sieve.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    IDS = 40000,
    BATCH = 5000,
    POP = 300,
    PARTITIONS = 1024,
    NONE = UINT32_MAX,
};

/* A sort of sieve. */
struct sort {
    const char *name;
    bloomery_sieve_engine engine;
    bool directory;
    bool ordered;
    uint32_t bits;
    uint32_t partitions;
    uint32_t leases; /* 0: 700 */
    bloomery_sieve_sync sync;
    bool giants;
    bool own_canon;
    bool keep_leases;
};

enum item_state { WAITING, LEASED, ENDED, DONE };

struct item {
    uint32_t id;
    uint32_t next; /* of the same key */
    uint64_t push;
    uint64_t number; /* once it was popped */
    bool paid;
    enum item_state state;
};

struct model {
    bool seen[IDS];
    bool came[IDS];      /* popped */
    uint32_t first[IDS]; /* item of this key that waits, or NONE */
    uint32_t last[IDS];
    struct item *items;
    uint32_t count;
    uint32_t room;
    uint32_t *leased; /* items, LEASED and ENDED */
    uint32_t leased_count;
    uint64_t pushed;
    uint64_t fresh;
    uint64_t forced;
    uint64_t distinct;
    uint64_t popped;
    uint64_t acked;
    /* the last item of each rising sequence of what was popped */
    uint32_t tops[PARTITIONS];
    uint32_t top_count;
    uint64_t last_number;
};

struct stage {
    const struct sort *sort;
    struct model model;
    bloomery_sieve *sieve;
    bloomery_sieve_options options;
    struct stream_memory memory;
    struct stream_area area;
    char path[300];
    uint64_t seed;
    uint64_t random;
    unsigned step;
    const char *doing;
    bloomery_error error;
    bloomery_key keys[BATCH];
    bloomery_key payloads[BATCH];
    uint32_t ids[BATCH];
    uint8_t results[BATCH];
    bloomery_sieve_item items[POP];
};

#define EXPECT(stage, condition)                                                            \
    do {                                                                                    \
        if (!(condition))                                                                   \
            fail_msg("%s, seed %llu, step %u, %s: %s (line %d; last error: %s)",            \
                     (stage)->sort->name, (unsigned long long)(stage)->seed, (stage)->step, \
                     (stage)->doing, #condition, __LINE__, (stage)->error.text);            \
    } while (0)

/* ---- The model ------------------------------------------------------------------------------- */

static void model_make(struct model *model)
{
    memset(model, 0, sizeof *model);
    memset(model->first, 0xff, sizeof model->first);
    memset(model->last, 0xff, sizeof model->last);
    model->room = 1 << 16;
    model->items = calloc(model->room, sizeof *model->items);
    model->leased = calloc(model->room, sizeof *model->leased);
    assert_non_null(model->items);
    assert_non_null(model->leased);
}

static void model_free(struct model *model)
{
    free(model->items);
    free(model->leased);
}

/* An item that has to come out. */
static void model_queue(struct model *model, uint32_t id, bool paid)
{
    if (model->count == model->room) {
        model->room *= 2;
        model->items = realloc(model->items, model->room * sizeof *model->items);
        model->leased = realloc(model->leased, model->room * sizeof *model->leased);
        assert_non_null(model->items);
        assert_non_null(model->leased);
    }
    model->items[model->count] =
        (struct item){.id = id, .next = NONE, .push = model->pushed, .paid = paid};
    if (model->first[id] == NONE)
        model->first[id] = model->count;
    else
        model->items[model->last[id]].next = model->count;
    model->last[id] = model->count++;
}

enum push_kind { PUSH, FORCE, MARK };

/* The next push; returns whether the key was new. */
static bool model_push(struct model *model, enum push_kind kind, uint32_t id, bool paid)
{
    const bool fresh = !model->seen[id];
    model->pushed++;
    model->distinct += fresh;
    model->seen[id] = true;
    model->forced += kind == FORCE;
    model->fresh += kind == PUSH && fresh;
    if (kind == FORCE || (kind == PUSH && fresh))
        model_queue(model, id, paid);
    return fresh;
}

static uint64_t model_waiting(const struct model *model)
{
    return model->count - model->popped;
}

static uint32_t model_ended(const struct model *model)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < model->leased_count; i++)
        ended += model->items[model->leased[i]].state == ENDED;
    return ended;
}

/* The place among the leased of a number, or NONE. */
static uint32_t model_find(const struct model *model, uint64_t number)
{
    for (uint32_t i = 0; i < model->leased_count; i++)
        if (model->items[model->leased[i]].number == number)
            return i;
    return NONE;
}

/* Whether an item may be the next one of some rising sequence; puts it there. */
static bool model_rises(struct model *model, uint32_t index, uint32_t sequences)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < model->top_count; i++)
        if (model->tops[i] < index && (best == NONE || model->tops[i] > model->tops[best]))
            best = i;
    if (best == NONE && model->top_count == sequences)
        return false;
    if (best == NONE)
        best = model->top_count++;
    model->tops[best] = index;
    return true;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

/* A canonicaliser of our own: bytes 255 at the end do not count. No key of the stream ends in
 * one. */
static size_t drop_tail(void *context, bloomery_key key, void *out, size_t room)
{
    const uint8_t *bytes = key.data;
    size_t left = key.bytes;
    (void)context;
    while (left > 0 && bytes[left - 1] == 255)
        left--;
    if (left == key.bytes)
        return SIZE_MAX;
    assert_true(left <= room);
    memcpy(out, key.data, left);
    return left;
}

static uint64_t min_memory(const struct sort *sort)
{
    bloomery_sieve_plan plan = {.keys = IDS,
                                .memory = (uint64_t)1 << 30,
                                .partitions = sort->partitions,
                                .fingerprint_bits = sort->bits};
    bloomery_error error;
    if (sort->engine == BLOOMERY_SIEVE_MEMORY)
        return 0;
    assert_int_equal(bloomery_sieve_plan_solve(&plan, &error), BLOOMERY_OK);
    assert_true(plan.min_memory > 0 && plan.min_memory < plan.memory);
    return plan.min_memory;
}

static void open_sieve(struct stage *stage)
{
    const bloomery_status status =
        bloomery_sieve_open(&stage->options, &stage->sieve, &stage->error);
    EXPECT(stage, status == BLOOMERY_OK);
    EXPECT(stage, stage->sieve != NULL);
}

static void stage_make(struct stage *stage, const struct sort *sort, uint64_t seed,
                       const struct test_directory *directory)
{
    memset(stage, 0, sizeof *stage);
    stage->sort = sort;
    stage->seed = seed;
    stage->random = test_mix(seed + 1);
    stage->doing = "open";
    model_make(&stage->model);
    stream_area_make(&stage->area);
    test_join(stage->path, sizeof stage->path, directory, "sieve");
    stage->options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    stage->options.allocator = stream_allocator(&stage->memory);
    stage->options.engine = sort->engine;
    stage->options.directory = sort->directory ? stage->path : NULL;
    stage->options.order =
        sort->ordered ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    stage->options.fingerprint_bits = sort->bits;
    stage->options.partitions = sort->partitions;
    stage->options.leases = sort->leases;
    stage->options.sync = sort->sync;
    stage->options.keep_leases = sort->keep_leases;
    if (sort->engine == BLOOMERY_SIEVE_MEMORY) {
        stage->options.keys = 3000; /* it has to grow */
        stage->options.rate = 1e-12;
    } else {
        stage->options.memory = min_memory(sort) + 100000 + seed % 3 * 300000;
    }
    if (sort->own_canon) {
        stage->options.canon = "drop-tail";
        stage->options.canonicaliser = drop_tail;
    }
    open_sieve(stage);
}

static void close_sieve(struct stage *stage)
{
    stage->doing = "close";
    EXPECT(stage, bloomery_sieve_close(stage->sieve, &stage->error) == BLOOMERY_OK);
    stage->sieve = NULL;
    EXPECT(stage, stage->memory.counts.live == 0 && !stage->memory.counts.wrong);
}

static void stage_free(struct stage *stage)
{
    close_sieve(stage);
    test_remove(stage->path);
    stream_area_free(&stage->area);
    model_free(&stage->model);
}

static void reopen(struct stage *stage)
{
    struct model *model = &stage->model;
    close_sieve(stage);
    stage->doing = "reopen";
    open_sieve(stage);
    if (!stage->sort->keep_leases)
        for (uint32_t i = 0; i < model->leased_count; i++)
            model->items[model->leased[i]].state = ENDED;
    /* Whole batches of partitions may come in another order now, but numbers go on rising. */
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Now and then a new one, often a recent one, sometimes any. */
static uint32_t choose_id(struct stage *stage)
{
    const uint64_t fresh = stage->model.distinct;
    const uint64_t draw = test_below(&stage->random, 10);
    if (draw < 5)
        return (uint32_t)test_below(&stage->random, fresh + 50 < IDS ? fresh + 50 : IDS);
    if (draw < 7)
        return (uint32_t)test_below(&stage->random, IDS);
    const uint64_t near = fresh < IDS - 200 ? fresh : IDS - 200;
    return (uint32_t)(near + test_below(&stage->random, 200));
}

/* A key as it is pushed: with bytes that the canonicaliser drops, where there is one. */
static bloomery_key dressed_key(struct stage *stage, uint32_t id)
{
    bloomery_key key = stream_key(&stage->area, id, stage->sort->giants);
    if (!stage->sort->own_canon)
        return key;
    const size_t more = test_below(&stage->random, 4);
    memset(stage->area.bytes + stage->area.used, 255, more);
    stage->area.used += more;
    return bloomery_key_of(key.data, key.bytes + more);
}

/* What a push was told against what is so. `fresh`: it was not seen before. */
static void judge_answer(struct stage *stage, int answer, bool fresh)
{
    EXPECT(stage, answer == BLOOMERY_SIEVE_NEW || answer == BLOOMERY_SIEVE_SEEN ||
                      answer == BLOOMERY_SIEVE_PENDING);
    EXPECT(stage, answer != BLOOMERY_SIEVE_NEW || fresh);
    EXPECT(stage, answer != BLOOMERY_SIEVE_SEEN || !fresh);
    EXPECT(stage, answer != BLOOMERY_SIEVE_PENDING || stage->sort->engine == BLOOMERY_SIEVE_DISK);
}

static void push_one(struct stage *stage)
{
    const enum push_kind kind = (enum push_kind)test_below(&stage->random, 3);
    const uint32_t id = choose_id(stage);
    uint64_t number = 0;
    int answer;
    stage->area.used = 0;
    const bloomery_key key = dressed_key(stage, id);
    const bloomery_key payload =
        stream_payload(&stage->area, stage->model.pushed + 1, stage->sort->giants);
    if (kind == PUSH)
        answer = push_key(stage->sieve, key, payload, &number, &stage->error);
    else if (kind == FORCE)
        answer = push_key_again(stage->sieve, key, payload, &number, &stage->error);
    else
        answer = mark_key(stage->sieve, key, &number, &stage->error);
    const bool fresh = model_push(&stage->model, kind, id, true);
    EXPECT(stage, number == stage->model.pushed);
    if (kind == FORCE)
        EXPECT(stage, answer == BLOOMERY_SIEVE_NEW || answer == BLOOMERY_SIEVE_PENDING);
    else
        judge_answer(stage, answer, fresh);
}

static void push_many(struct stage *stage)
{
    const bool marks = test_below(&stage->random, 8) == 0;
    const bool paid = !marks && test_below(&stage->random, 4) > 0;
    const size_t wanted = test_below(&stage->random, 10) == 0 ? test_below(&stage->random, BATCH)
                                                              : test_below(&stage->random, 300);
    size_t count = 0;
    bloomery_sieve_pushed pushed = {SIZE_MAX, UINT64_MAX};
    stage->area.used = 0;
    for (; count < wanted && stream_area_room(&stage->area); count++) {
        stage->ids[count] = choose_id(stage);
        stage->keys[count] = dressed_key(stage, stage->ids[count]);
        stage->payloads[count] =
            stream_payload(&stage->area, stage->model.pushed + count + 1, stage->sort->giants);
    }
    memset(stage->results, 0xee, sizeof stage->results);
    const bloomery_status status =
        bloomery_sieve_push(stage->sieve, stage->keys, paid ? stage->payloads : NULL, count,
                            marks ? BLOOMERY_SIEVE_PUSH_MARK : BLOOMERY_SIEVE_PUSH, stage->results,
                            &pushed, &stage->error);
    EXPECT(stage, status == BLOOMERY_OK);
    EXPECT(stage, pushed.done == count);
    for (size_t i = 0; i < count; i++)
        judge_answer(stage, stage->results[i],
                     model_push(&stage->model, marks ? MARK : PUSH, stage->ids[i], paid));
    EXPECT(stage, pushed.last == (count == 0 ? 0 : stage->model.pushed));
}

static void query(struct stage *stage)
{
    for (int i = 0; i < 10; i++) {
        const uint32_t id = choose_id(stage);
        stage->area.used = 0;
        const int answer = query_key(stage->sieve, dressed_key(stage, id), &stage->error);
        judge_answer(stage, answer, !stage->model.seen[id]);
    }
}

static bool payload_is_right(const struct stage *stage, const bloomery_sieve_item *item,
                             const struct item *mine)
{
    if (!mine->paid)
        return item->payload.bytes == 0;
    return stream_payload_is(item->payload, mine->push, stage->sort->giants);
}

/* An item that comes for the first time. */
static void judge_fresh_item(struct stage *stage, const bloomery_sieve_item *item)
{
    struct model *model = &stage->model;
    uint32_t id = 0;
    EXPECT(stage, stream_id(item->key, stage->sort->giants, &id));
    EXPECT(stage, id < IDS);
    const uint32_t index = model->first[id];
    EXPECT(stage, index != NONE); /* else it came twice, or was never pushed */
    struct item *mine = &model->items[index];
    EXPECT(stage, payload_is_right(stage, item, mine));
    EXPECT(stage, item->number > model->last_number);
    const bool in_order = stage->sort->ordered || stage->sort->partitions == 1 ||
                          stage->sort->engine == BLOOMERY_SIEVE_MEMORY;
    EXPECT(stage, model_rises(model, index, in_order ? 1 : stage->sort->partitions));
    model->last_number = item->number;
    model->first[id] = mine->next;
    mine->number = item->number;
    mine->state = LEASED;
    model->leased[model->leased_count++] = index;
    model->popped++;
}

/* One that comes again. */
static void judge_item_again(struct stage *stage, const bloomery_sieve_item *item)
{
    struct model *model = &stage->model;
    const uint32_t place = model_find(model, item->number);
    uint32_t id = 0;
    EXPECT(stage, place != NONE);
    struct item *mine = &model->items[model->leased[place]];
    EXPECT(stage, mine->state == ENDED);
    EXPECT(stage, stream_id(item->key, stage->sort->giants, &id) && id == mine->id);
    EXPECT(stage, payload_is_right(stage, item, mine));
    mine->state = LEASED;
}

/* Returns how many came. */
static size_t pop(struct stage *stage, size_t room)
{
    struct model *model = &stage->model;
    const uint64_t active = model->leased_count - model_ended(model);
    uint32_t ended = model_ended(model);
    size_t count = SIZE_MAX;
    const bloomery_status status = bloomery_sieve_pop(stage->sieve, stage->items, room,
                                                      BLOOMERY_SIEVE_POP, &count, &stage->error);
    if (status == BLOOMERY_FULL) {
        EXPECT(stage, model->leased_count == stage->sort->leases && ended == 0);
        return 0;
    }
    EXPECT(stage, status == BLOOMERY_OK);
    EXPECT(stage, count <= room);
    EXPECT(stage, count > 0 || room == 0 || (ended == 0 && model_waiting(model) == 0) ||
                      active == stage->sort->leases);
    for (size_t i = 0; i < count; i++) {
        EXPECT(stage, stage->items[i].again == (ended > 0)); /* those first */
        if (ended > 0) {
            judge_item_again(stage, &stage->items[i]);
            ended--;
        } else {
            judge_fresh_item(stage, &stage->items[i]);
        }
    }
    EXPECT(stage, model->leased_count <= stage->sort->leases);
    return count;
}

/* Acknowledges or returns some of what is leased, and sometimes what is not. */
static void end_leases(struct stage *stage, bool again, bool all)
{
    struct model *model = &stage->model;
    uint64_t numbers[1000];
    size_t count = 0;
    size_t strange = 0;
    uint64_t finished = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->leased_count; i++) {
        struct item *item = &model->items[model->leased[i]];
        const bool this_one = count < 900 && (all || test_below(&stage->random, 2) == 0);
        if (this_one) {
            numbers[count++] = item->number;
            item->state = again ? ENDED : DONE;
            model->acked += !again;
        }
        if (!this_one || again)
            model->leased[kept++] = model->leased[i];
    }
    model->leased_count = kept;
    if (test_below(&stage->random, 4) == 0) {
        numbers[count + strange++] = model->last_number + 1;
        numbers[count + strange++] = 0;
        numbers[count + strange++] = UINT64_MAX;
        if (count > 0 && !again)
            numbers[count + strange++] = numbers[0]; /* twice */
    }
    const bloomery_status status = bloomery_sieve_finish(
        stage->sieve, numbers, count + strange, again ? BLOOMERY_SIEVE_BACK : BLOOMERY_SIEVE_DONE,
        &finished, &stage->error);
    EXPECT(stage, status == BLOOMERY_OK);
    EXPECT(stage, finished == count);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void judge_info(struct stage *stage)
{
    const struct model *model = &stage->model;
    const bloomery_sieve_info info = sieve_info_of(stage->sieve);
    EXPECT(stage, info.pushed == model->pushed);
    EXPECT(stage, info.durable <= info.pushed);
    EXPECT(stage,
           info.pushed == info.new_keys + info.seen + info.pending + info.forced + info.marked);
    EXPECT(stage, info.new_keys <= model->fresh && info.forced <= model->forced);
    EXPECT(stage, info.leased == model->leased_count);
    EXPECT(stage, info.done == model->acked);
    EXPECT(stage, info.queued <= model_waiting(model));
    /* What was forced or marked is counted so at once, though it is decided with its partition. */
    EXPECT(stage, info.queued + info.pending + info.forced >= model_waiting(model));
    EXPECT(stage, info.pending > 0 || info.new_keys == model->fresh);
    EXPECT(stage, info.forced == model->forced);
    if (stage->sort->engine == BLOOMERY_SIEVE_DISK)
        EXPECT(stage, info.distinct <= model->distinct);
    if (stage->options.memory > 0 && !stage->sort->giants) {
        EXPECT(stage, info.memory <= stage->options.memory);
        EXPECT(stage, stage->memory.most <= stage->options.memory);
    }
}

static void commit(struct stage *stage)
{
    EXPECT(stage, bloomery_sieve_commit(stage->sieve, &stage->error) == BLOOMERY_OK);
    const bloomery_sieve_info info = sieve_info_of(stage->sieve);
    if (stage->sort->directory && stage->sort->sync != BLOOMERY_SIEVE_SYNC_NEVER)
        EXPECT(stage, info.durable == stage->model.pushed);
}

static void flush(struct stage *stage)
{
    EXPECT(stage, bloomery_sieve_flush(stage->sieve, &stage->error) == BLOOMERY_OK);
    const bloomery_sieve_info info = sieve_info_of(stage->sieve);
    EXPECT(stage, info.pending == 0);
    EXPECT(stage, info.queued == model_waiting(&stage->model));
    if (stage->sort->engine == BLOOMERY_SIEVE_DISK)
        EXPECT(stage, info.distinct == stage->model.distinct);
    for (int i = 0; i < 20; i++) {
        const uint32_t id = choose_id(stage);
        stage->area.used = 0;
        const int answer = query_key(stage->sieve, dressed_key(stage, id), &stage->error);
        EXPECT(stage, answer == (stage->model.seen[id] ? BLOOMERY_SIEVE_SEEN : BLOOMERY_SIEVE_NEW));
    }
}

struct walk {
    struct stage *stage;
    uint64_t count;
    uint64_t last;
    uint64_t stop_at;
};

static int take_queued(void *context, const bloomery_sieve_item *item)
{
    struct walk *walk = context;
    struct stage *stage = walk->stage;
    uint32_t id = 0;
    EXPECT(stage, stream_id(item->key, stage->sort->giants, &id));
    EXPECT(stage, id < IDS && stage->model.first[id] != NONE);
    EXPECT(stage, item->number > walk->last && item->number > stage->model.last_number);
    walk->last = item->number;
    return ++walk->count == walk->stop_at ? 7 : 0;
}

static int take_seen(void *context, uint64_t fingerprint)
{
    struct walk *walk = context;
    EXPECT(walk->stage, walk->count == 0 || fingerprint > walk->last);
    walk->last = fingerprint;
    walk->count++;
    return 0;
}

/* What is walked over is what is counted. */
static void walk(struct stage *stage)
{
    const bloomery_sieve_info info = sieve_info_of(stage->sieve);
    struct walk queued = {.stage = stage};
    struct walk some = {.stage = stage, .stop_at = info.queued / 2};
    struct walk seen = {.stage = stage};
    int ended = 77;
    EXPECT(stage, bloomery_sieve_each(stage->sieve, BLOOMERY_SIEVE_QUEUED, take_queued, &queued,
                                      &ended, &stage->error) == BLOOMERY_OK);
    EXPECT(stage, queued.count == info.queued && ended == 0);
    EXPECT(stage, bloomery_sieve_each(stage->sieve, BLOOMERY_SIEVE_QUEUED, take_queued, &some,
                                      &ended, &stage->error) == BLOOMERY_OK);
    EXPECT(stage, ended == (some.stop_at > 0 ? 7 : 0));
    const bloomery_status status =
        bloomery_sieve_each_seen(stage->sieve, take_seen, &seen, &ended, &stage->error);
    if (stage->sort->engine == BLOOMERY_SIEVE_MEMORY) {
        EXPECT(stage, status == BLOOMERY_UNSUPPORTED);
        return;
    }
    EXPECT(stage, status == BLOOMERY_OK);
    EXPECT(stage, seen.count == info.distinct);
}

static void must_be_sound(void *context, const char *text)
{
    struct stage *stage = context;
    fail_msg("%s, seed %llu, step %u: %s", stage->sort->name, (unsigned long long)stage->seed,
             stage->step, text);
}

static void verify(struct stage *stage)
{
    uint64_t damaged = UINT64_MAX;
    EXPECT(stage, bloomery_sieve_verify(stage->sieve, must_be_sound, stage, &damaged,
                                        &stage->error) == BLOOMERY_OK);
    EXPECT(stage, damaged == 0);
}

/* ---- Sequences ------------------------------------------------------------------------------- */

/* Phases have other weights, so that the queue grows long and runs dry. */
static void one_step(struct stage *stage)
{
    const unsigned phase = stage->step / 50 % 3;
    const uint64_t draw = test_below(&stage->random, 100);
    const uint64_t pushes = phase == 0 ? 70 : phase == 1 ? 25 : 45;
    if (draw < pushes / 2)
        stage->doing = "push_many", push_many(stage);
    else if (draw < pushes)
        stage->doing = "push_one", push_one(stage);
    else if (draw < 80)
        stage->doing = "pop", pop(stage, test_below(&stage->random, POP));
    else if (draw < 87)
        stage->doing = "ack", end_leases(stage, false, false);
    else if (draw < 90)
        stage->doing = "return", end_leases(stage, true, false);
    else if (draw < 94)
        stage->doing = "contains", query(stage);
    else if (draw < 95)
        stage->doing = "flush", flush(stage);
    else if (draw < 97)
        stage->doing = "commit", commit(stage);
    else if (draw < 98)
        stage->doing = "walk", walk(stage);
    else if (draw < 99)
        stage->doing = "verify", verify(stage);
    else if (stage->sort->directory)
        reopen(stage);
    judge_info(stage);
}

/* Everything comes out in the end, and all of it once. */
static void drain(struct stage *stage)
{
    stage->doing = "drain";
    end_leases(stage, true, true);
    while (pop(stage, POP) > 0)
        end_leases(stage, false, true);
    EXPECT(stage, stage->model.leased_count == 0);
    EXPECT(stage, model_waiting(&stage->model) == 0);
    EXPECT(stage, stage->model.acked == stage->model.count);
    judge_info(stage);
    flush(stage);
    walk(stage);
    verify(stage);
    judge_info(stage);
}

static void run(const struct sort *sort, uint64_t seed, unsigned steps)
{
    struct test_directory directory = test_directory_make();
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage_make(stage, sort, seed, &directory);
    for (stage->step = 1; stage->step <= steps; stage->step++)
        one_step(stage);
    drain(stage);
    if (sort->directory) {
        reopen(stage);
        drain(stage);
    }
    stage_free(stage);
    free(stage);
    test_directory_remove(&directory);
}

static void run_sort(struct sort *sort)
{
    if (sort->leases == 0)
        sort->leases = 700;
    const char *wish = getenv("BLOOMERY_SIEVE_SEED");
    if (wish != NULL) {
        run(sort, strtoull(wish, NULL, 10), test_long() ? 3000 : 400);
        return;
    }
    for (uint64_t seed = 1; seed <= (test_long() ? 20 : 1); seed++)
        run(sort, seed, test_long() ? 3000 : 400);
}

#define SORT(title, ...)                                       \
    static void title##_equals_the_model(void **state)         \
    {                                                          \
        (void)state;                                           \
        run_sort(&(struct sort){.name = #title, __VA_ARGS__}); \
    }

SORT(memory, .engine = BLOOMERY_SIEVE_MEMORY)
SORT(memory_kept, .engine = BLOOMERY_SIEVE_MEMORY, .directory = true)
SORT(memory_kept_with_giants, .engine = BLOOMERY_SIEVE_MEMORY, .directory = true, .giants = true,
     .sync = BLOOMERY_SIEVE_SYNC_ALWAYS, .leases = 100)
SORT(memory_with_canon, .engine = BLOOMERY_SIEVE_MEMORY, .own_canon = true, .giants = true)
SORT(one_partition, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 1)
SORT(one_partition_with_giants, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 1,
     .giants = true, .keep_leases = true)
SORT(partitions, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 16,
     .sync = BLOOMERY_SIEVE_SYNC_NEVER)
SORT(partitions_of_48_bits, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 16,
     .bits = 48, .giants = true, .own_canon = true, .leases = 50)
SORT(ordered, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 16, .ordered = true,
     .giants = true)
SORT(ordered_and_synced, .engine = BLOOMERY_SIEVE_DISK, .directory = true, .partitions = 4,
     .ordered = true, .bits = 48, .sync = BLOOMERY_SIEVE_SYNC_ALWAYS, .keep_leases = true)

/* ---- Time ------------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* However slow the machine: after its time a lease is over, and before it is not. */
static void leases_end_with_their_time(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
        bloomery_sieve *sieve = NULL;
        bloomery_sieve_item items[8];
        bloomery_error error;
        char path[300];
        size_t count = 0;
        test_join(path, sizeof path, &directory, "sieve");
        options.engine = (bloomery_sieve_engine)engine;
        options.directory = engine == BLOOMERY_SIEVE_DISK ? path : NULL;
        options.lease = 0.3;
        assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_OK);
        for (int i = 0; i < 3; i++)
            assert_true(push_key(sieve, bloomery_key_of(&"abc"[i], 1), bloomery_key_of("p", 1),
                                 NULL, &error) >= 0);
        const double before = now();
        assert_int_equal(bloomery_sieve_pop(sieve, items, 2, BLOOMERY_SIEVE_POP, &count, &error),
                         BLOOMERY_OK);
        assert_int_equal(count, 2);
        const uint64_t first = items[0].number;
        assert_int_equal(bloomery_sieve_pop(sieve, items, 8, BLOOMERY_SIEVE_POP, &count, &error),
                         BLOOMERY_OK);
        const bool early = now() < before + options.lease;
        assert_true(!early || (count == 1 && !items[0].again));
        nanosleep(&(struct timespec){.tv_nsec = 350000000}, NULL); /* not shorter: leases end */
        assert_int_equal(bloomery_sieve_pop(sieve, items, 8, BLOOMERY_SIEVE_POP, &count, &error),
                         BLOOMERY_OK);
        assert_int_equal(count, 3);
        assert_true(items[0].again && items[1].again && items[2].again);
        assert_int_equal(items[0].number, first);
        assert_int_equal(bloomery_sieve_close(sieve, &error), BLOOMERY_OK);
        test_remove(path);
    }
    test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_equals_the_model),
        cmocka_unit_test(memory_kept_equals_the_model),
        cmocka_unit_test(memory_kept_with_giants_equals_the_model),
        cmocka_unit_test(memory_with_canon_equals_the_model),
        cmocka_unit_test(one_partition_equals_the_model),
        cmocka_unit_test(one_partition_with_giants_equals_the_model),
        cmocka_unit_test(partitions_equals_the_model),
        cmocka_unit_test(partitions_of_48_bits_equals_the_model),
        cmocka_unit_test(ordered_equals_the_model),
        cmocka_unit_test(ordered_and_synced_equals_the_model),
        cmocka_unit_test(leases_end_with_their_time),
    };
    return test_run_group("sieve_model", tests, NULL, NULL);
}

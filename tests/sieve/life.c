/* SPDX-License-Identifier: Apache-2.0 */
#include "life.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct story life_stories[LIFE_STORIES] = {
    {"disk, always", BLOOMERY_SIEVE_DISK, 1, 64, false, BLOOMERY_SIEVE_SYNC_ALWAYS, 0, 30000, 400},
    {"disk, partitions, 0.05 s", BLOOMERY_SIEVE_DISK, 16, 64, false, BLOOMERY_SIEVE_SYNC_TIMED,
     0.05, 60000, 1000},
    {"disk, ordered, never", BLOOMERY_SIEVE_DISK, 4, 48, true, BLOOMERY_SIEVE_SYNC_NEVER, 0, 60000,
     1000},
    {"memory, always", BLOOMERY_SIEVE_MEMORY, 0, 0, false, BLOOMERY_SIEVE_SYNC_ALWAYS, 0, 20000,
     400},
    {"memory, 0.05 s", BLOOMERY_SIEVE_MEMORY, 0, 0, false, BLOOMERY_SIEVE_SYNC_TIMED, 0.05, 40000,
     1000},
    {"disk, partitions, always", BLOOMERY_SIEVE_DISK, 4, 48, false, BLOOMERY_SIEVE_SYNC_ALWAYS, 0,
     6000, 300},
    {"disk, 0.01 s", BLOOMERY_SIEVE_DISK, 1, 64, false, BLOOMERY_SIEVE_SYNC_TIMED, 0.01, 60000,
     4000},
    {"disk, ordered, always", BLOOMERY_SIEVE_DISK, 4, 64, true, BLOOMERY_SIEVE_SYNC_ALWAYS, 0, 6000,
     300},
};

enum { HELD = 600, LEASES = 800, BATCH = 4096, TRIES = 100 };

/* ---- The story ------------------------------------------------------------------------------- */

enum push_kind { PUSH, FORCE, MARK };

static enum push_kind kind_of(uint64_t push)
{
    const uint64_t draw = test_mix(push * 3 + 1) % 64;
    return draw == 0 ? FORCE : draw == 1 ? MARK : PUSH;
}

/* New ones along the way, recent ones, any. */
static uint32_t id_of(uint64_t push)
{
    const uint64_t draw = test_mix(push * 3 + 2);
    const uint64_t far = push * 2 / 3;
    const uint64_t near = far < 200 ? far : 200;
    switch (draw % 8) {
    case 0:
        return (uint32_t)((draw >> 8) % (far + 1));
    case 1:
    case 2:
        return (uint32_t)(far - (draw >> 8) % (near + 1));
    default:
        return (uint32_t)far;
    }
}

/* Every item has the number of its push in its payload. */
static void put_number(uint8_t to[8], uint64_t push)
{
    for (size_t i = 0; i < 8; i++)
        to[i] = (uint8_t)(push >> (8 * i));
}

/* The push of an item, or 0 where it is of none. */
static uint64_t push_of(const bloomery_sieve_item *item)
{
    const uint8_t *bytes = item->payload.data;
    uint64_t push = 0;
    uint32_t id = 0;
    if (item->payload.bytes != 8)
        return 0;
    for (size_t i = 0; i < 8; i++)
        push |= (uint64_t)bytes[i] << (8 * i);
    return stream_id(item->key, false, &id) && id == id_of(push) ? push : 0;
}

static void set_options(bloomery_sieve_options *options, const struct story *story,
                        const char *path)
{
    *options = (bloomery_sieve_options)BLOOMERY_SIEVE_OPTIONS;
    options->directory = path;
    options->engine = story->engine;
    options->partitions = story->partitions;
    options->fingerprint_bits = story->bits;
    options->order = story->ordered ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    options->sync = story->sync;
    options->sync_seconds = story->seconds;
    options->leases = LEASES;
    options->memory = story->engine == BLOOMERY_SIEVE_DISK ? 2000000 : 0;
    if (story->engine == BLOOMERY_SIEVE_MEMORY) {
        options->keys = 5000;
        options->rate = 1e-12;
    }
}

/* ---- A life --------------------------------------------------------------------------------- */

enum said {
    SAID_BEGUN,
    SAID_SYNCED,
    SAID_POPPED,
    SAID_ACKING,
    SAID_NOT_ACKED,
    SAID_SURE,
    SAID_FAILED,
    SAID_END,
    SAID_WRONG
};

struct message {
    uint64_t said;
    uint64_t push; /* SAID_WRONG: the line */
    uint64_t number;
};

struct life {
    const struct story *story;
    enum life_faults faults;
    int out;
    uint64_t random;
    bloomery_sieve *sieve;
    bloomery_error error;
    uint64_t pushed;
    uint64_t told_synced;
    struct message held[HELD]; /* leased by this life: push and number */
    size_t held_count;
    bool empty; /* the last pop found nothing */
    unsigned tries;
    bool unsure; /* a call failed, and none has committed since */
    uint64_t commits;
    bloomery_sieve_info before; /* the next call */
    struct stream_area area;
    bloomery_key keys[BATCH];
    bloomery_key payloads[BATCH];
    uint8_t bytes[BATCH][8];
    uint8_t results[BATCH];
};

static void tell(struct life *life, const struct message *messages, size_t count)
{
    const uint8_t *from = (const void *)messages;
    size_t left = count * sizeof *messages;
    while (left > 0) {
        const ssize_t bytes = write(life->out, from, left);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            _exit(97);
        from += bytes;
        left -= (size_t)bytes;
    }
}

static void tell_one(struct life *life, enum said said, uint64_t push)
{
    tell(life, &(struct message){said, push, 0}, 1);
}

static _Noreturn void give_up(struct life *life, int line)
{
    fprintf(stderr, "# life.c:%d: %s\n", line, life->error.text);
    tell_one(life, SAID_WRONG, (uint64_t)line);
    _exit(LIFE_WRONG);
}

#define MUST(life, condition)          \
    do {                               \
        if (!(condition))              \
            give_up((life), __LINE__); \
    } while (0)

/* After a sync failed: nothing can be changed any more, and the sieve reports nothing as durable
 * that is not. */
static _Noreturn void end_refused(struct life *life)
{
    const bloomery_sieve_info before = sieve_info_of(life->sieve);
    const bloomery_key none = {0};
    uint64_t number = 0;
    size_t count = 0;
    bloomery_sieve_item item;
    MUST(life, push_key(life->sieve, none, none, NULL, &life->error) == BLOOMERY_IO_FAILED);
    MUST(life, push_key_again(life->sieve, none, none, NULL, &life->error) == BLOOMERY_IO_FAILED);
    MUST(life, mark_key(life->sieve, none, NULL, &life->error) == BLOOMERY_IO_FAILED);
    MUST(life, bloomery_sieve_pop(life->sieve, &item, 1, BLOOMERY_SIEVE_POP, &count,
                                  &life->error) == BLOOMERY_IO_FAILED);
    MUST(life, bloomery_sieve_finish(life->sieve, &number, 1, BLOOMERY_SIEVE_DONE, NULL,
                                     &life->error) == BLOOMERY_IO_FAILED);
    MUST(life, bloomery_sieve_commit(life->sieve, &life->error) == BLOOMERY_IO_FAILED);
    const bloomery_sieve_info after = sieve_info_of(life->sieve);
    MUST(life, after.pushed == before.pushed && after.durable == before.durable);
    MUST(life, bloomery_sieve_close(life->sieve, &life->error) == BLOOMERY_IO_FAILED);
    _exit(LIFE_REFUSED);
}

static bool is_always(const struct life *life)
{
    return life->story->sync == BLOOMERY_SIEVE_SYNC_ALWAYS;
}

/*
 * Whether a call went through. Where it did not, and that may be: it has changed nothing, and is
 * made again. But where every call is to be synced, a push may have been made and not be durable:
 * that is seen in info. Pops and acknowledgements that find the disk full succeed.
 */
static bool went_through(struct life *life, int status, int line, uint64_t pushed,
                         const bloomery_sieve_info *before)
{
    if (status >= 0) {
        life->tries = 0;
        return true;
    }
    tell_one(life, SAID_FAILED, (uint64_t)line);
    life->unsure = true;
    if (life->faults == LIFE_NO_FAULTS || status != BLOOMERY_IO_FAILED ||
        life->error.status != BLOOMERY_IO_FAILED || life->error.text[0] == '\0')
        give_up(life, line);
    if (life->faults == LIFE_FAILED_SYNC)
        end_refused(life);
    const bloomery_sieve_info now = sieve_info_of(life->sieve);
    if (now.durable < before->durable || ++life->tries == TRIES)
        give_up(life, line);
    if ((!is_always(life) && now.pushed != pushed) || now.leased != before->leased ||
        now.done != before->done)
        give_up(life, line);
    return false;
}

#define WENT_THROUGH(life, status, before) \
    went_through((life), (status), __LINE__, (before)->pushed, (before))

static void look_around(struct life *life)
{
    const bloomery_sieve_info info = sieve_info_of(life->sieve);
    MUST(life, info.pushed == life->pushed);
    MUST(life, info.durable <= info.pushed && info.durable >= life->told_synced);
    MUST(life, info.pushed == info.new_keys + info.seen + info.pending + info.forced + info.marked);
    if (info.durable > life->told_synced)
        tell_one(life, SAID_SYNCED, info.durable);
    life->told_synced = info.durable;
    life->before = info;
    life->unsure = life->unsure && info.commits == life->commits;
    life->commits = info.commits;
    if (is_always(life) && !life->unsure) {
        MUST(life, info.durable == info.pushed);
        tell_one(life, SAID_SURE, 0);
    }
}

static void push_some(struct life *life, uint64_t wanted)
{
    size_t count = 0;
    bloomery_sieve_pushed pushed = {.done = SIZE_MAX};
    life->area.used = 0;
    for (; count < wanted && life->pushed + count < life->story->pushes; count++) {
        const uint64_t push = life->pushed + count + 1;
        if (kind_of(push) != PUSH)
            break;
        put_number(life->bytes[count], push);
        life->keys[count] = stream_key(&life->area, id_of(push), false);
        life->payloads[count] = bloomery_key_of(life->bytes[count], 8);
    }
    tell_one(life, SAID_BEGUN, life->pushed + count);
    const bloomery_status status =
        bloomery_sieve_push(life->sieve, life->keys, life->payloads, count, BLOOMERY_SIEVE_PUSH,
                            life->results, &pushed, &life->error);
    MUST(life, pushed.done <= count && (status != BLOOMERY_OK || pushed.done == count));
    life->pushed += pushed.done;
    life->empty = false;
    went_through(life, status, __LINE__, life->pushed, &life->before);
}

static void push_one(struct life *life)
{
    const uint64_t push = life->pushed + 1;
    const enum push_kind kind = kind_of(push);
    uint64_t number = push;
    int status;
    life->area.used = 0;
    put_number(life->bytes[0], push);
    const bloomery_key key = stream_key(&life->area, id_of(push), false);
    const bloomery_key payload = bloomery_key_of(life->bytes[0], 8);
    tell_one(life, SAID_BEGUN, push);
    if (kind == PUSH)
        status = push_key(life->sieve, key, payload, &number, &life->error);
    else if (kind == FORCE)
        status = push_key_again(life->sieve, key, payload, &number, &life->error);
    else
        status = mark_key(life->sieve, key, &number, &life->error);
    life->empty = false;
    if (!WENT_THROUGH(life, status, &life->before)) {
        life->pushed = sieve_info_of(life->sieve).pushed;
        return;
    }
    MUST(life, number == push);
    life->pushed = push;
}

static void pop_some(struct life *life, size_t wanted)
{
    bloomery_sieve_item items[HELD];
    size_t count = SIZE_MAX;
    if (wanted > HELD - life->held_count)
        wanted = HELD - life->held_count;
    if (wanted == 0)
        return;
    const bloomery_status status =
        bloomery_sieve_pop(life->sieve, items, wanted, BLOOMERY_SIEVE_POP, &count, &life->error);
    if (!WENT_THROUGH(life, status, &life->before) && count == 0)
        return;
    MUST(life, count <= wanted);
    life->empty = count == 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t push = push_of(&items[i]);
        MUST(life, push > 0 && push <= life->pushed);
        life->held[life->held_count + i] = (struct message){SAID_POPPED, push, items[i].number};
    }
    tell(life, life->held + life->held_count, count);
    life->held_count += count;
}

static void ack_some(struct life *life, size_t wanted)
{
    struct message acking[HELD];
    uint64_t numbers[HELD];
    uint64_t finished = UINT64_MAX;
    if (wanted > life->held_count)
        wanted = life->held_count;
    for (size_t i = 0; i < wanted; i++) {
        acking[i] = life->held[i];
        acking[i].said = SAID_ACKING;
        numbers[i] = acking[i].number;
    }
    tell(life, acking, wanted);
    const bloomery_status status = bloomery_sieve_finish(
        life->sieve, numbers, wanted, BLOOMERY_SIEVE_DONE, &finished, &life->error);
    if (!WENT_THROUGH(life, status, &life->before) &&
        sieve_info_of(life->sieve).done == life->before.done) {
        for (size_t i = 0; i < wanted; i++)
            acking[i].said = SAID_NOT_ACKED;
        tell(life, acking, wanted);
        return;
    }
    MUST(life, finished == wanted);
    life->held_count -= wanted;
    memmove(life->held, life->held + wanted, life->held_count * sizeof *life->held);
}

static void commit(struct life *life)
{
    if (!WENT_THROUGH(life, bloomery_sieve_commit(life->sieve, &life->error), &life->before))
        return;
    life->unsure = false;
    tell_one(life, SAID_SURE, 0);
}

static void flush(struct life *life)
{
    if (WENT_THROUGH(life, bloomery_sieve_flush(life->sieve, &life->error), &life->before))
        MUST(life, sieve_info_of(life->sieve).pending == 0);
}

static void one_step(struct life *life)
{
    const uint64_t draw = test_below(&life->random, 100);
    if (life->pushed == life->story->pushes && draw < 55)
        pop_some(life, HELD);
    else if (life->pushed < life->story->pushes && kind_of(life->pushed + 1) != PUSH)
        push_one(life);
    else if (draw < 40)
        push_some(life, 1 + test_below(&life->random, life->story->batch));
    else if (draw < 55)
        push_one(life);
    else if (draw < 75)
        pop_some(life, 1 + test_below(&life->random, HELD / 2));
    else if (draw < 92)
        ack_some(life, test_below(&life->random, HELD));
    else if (draw < 97)
        commit(life);
    else
        flush(life);
    look_around(life);
}

int life_live(const struct story *story, const char *path, uint64_t number, enum life_faults faults,
              int out)
{
    static struct life life;
    bloomery_sieve_options options;
    life = (struct life){.story = story, .faults = faults, .out = out, .random = number * 1000};
    life.area.bytes = malloc(STREAM_AREA);
    set_options(&options, story, path);
    /* A full disk may be full at once. */
    bloomery_status status = BLOOMERY_IO_FAILED;
    for (unsigned i = 0; i < TRIES && status == BLOOMERY_IO_FAILED; i++) {
        status = bloomery_sieve_open(&options, &life.sieve, &life.error);
        if (status == BLOOMERY_IO_FAILED && faults == LIFE_NO_FAULTS)
            break;
        if (status == BLOOMERY_IO_FAILED)
            tell_one(&life, SAID_FAILED, __LINE__);
    }
    MUST(&life, status == BLOOMERY_OK);
    life.pushed = sieve_info_of(life.sieve).pushed;
    MUST(&life, life.pushed <= story->pushes);
    tell_one(&life, SAID_BEGUN, life.pushed);
    look_around(&life);
    while (life.pushed < story->pushes || !life.empty || life.held_count > 0)
        one_step(&life);
    while (!WENT_THROUGH(&life, bloomery_sieve_commit(life.sieve, &life.error), &life.before))
        continue;
    tell_one(&life, SAID_SURE, 0);
    /* A fault may yet strike here, but no harm is done: all is committed. */
    status = bloomery_sieve_close(life.sieve, &life.error);
    MUST(&life, status == BLOOMERY_OK || faults != LIFE_NO_FAULTS);
    free(life.area.bytes);
    tell_one(&life, SAID_END, 0);
    return LIFE_END;
}

/* ---- The ledger ----------------------------------------------------------------------------- */

enum {
    MARK_ITEM = 1,   /* an item has to come of this push */
    MARK_POPPED = 2, /* the life was given it */
    MARK_LEASED = 4, /* surely */
    MARK_ACKING = 8,
    MARK_ACKED = 16, /* surely */
    MARK_CAME = 32,  /* while judging */
};

void ledger_make(struct ledger *ledger, const struct story *story)
{
    const uint64_t length = story->pushes;
    const uint64_t ids = length + 2;
    bool *seen = calloc(ids, sizeof *seen);
    *ledger = (struct ledger){.story = story, .length = length};
    ledger->marks = calloc(length + 1, 1);
    ledger->numbers = calloc(length + 1, sizeof *ledger->numbers);
    assert_true(seen != NULL && ledger->marks != NULL && ledger->numbers != NULL);
    for (uint64_t push = 1; push <= length; push++) {
        const enum push_kind kind = kind_of(push);
        const uint32_t id = id_of(push);
        assert_true(id < ids);
        if (kind == FORCE || (kind == PUSH && !seen[id]))
            ledger->marks[push] = MARK_ITEM;
        seen[id] = true;
    }
    free(seen);
}

bool ledger_done(const struct ledger *ledger, uint64_t push)
{
    return !(ledger->marks[push] & MARK_ITEM) || (ledger->marks[push] & MARK_ACKED);
}

void ledger_free(struct ledger *ledger)
{
    free(ledger->marks);
    free(ledger->numbers);
}

static void note_sure(struct ledger *ledger)
{
    for (uint64_t push = 1; push <= ledger->begun; push++) {
        if (ledger->marks[push] & MARK_POPPED)
            ledger->marks[push] |= MARK_LEASED;
        if (ledger->marks[push] & MARK_ACKING)
            ledger->marks[push] |= MARK_ACKED;
    }
}

static void note_message(struct ledger *ledger, const struct message *message)
{
    const uint64_t push = message->push;
    assert_true(message->said == SAID_WRONG || message->said == SAID_FAILED ||
                push <= ledger->length);
    switch (message->said) {
    case SAID_BEGUN:
        ledger->begun = push > ledger->begun ? push : ledger->begun;
        break;
    case SAID_SYNCED:
        assert_true(push <= ledger->begun);
        ledger->synced = push;
        break;
    case SAID_POPPED:
        if (!(ledger->marks[push] & MARK_ITEM))
            fail_msg("%s: an item came of push %llu, which is not a new one", ledger->story->name,
                     (unsigned long long)push);
        if (ledger->marks[push] & MARK_ACKED)
            fail_msg("%s: the item of push %llu came after it was acknowledged",
                     ledger->story->name, (unsigned long long)push);
        if (ledger->marks[push] & MARK_POPPED)
            fail_msg("%s: the item of push %llu came twice", ledger->story->name,
                     (unsigned long long)push);
        ledger->marks[push] |= MARK_POPPED;
        ledger->numbers[push] = message->number;
        break;
    case SAID_ACKING:
        ledger->marks[push] |= MARK_ACKING;
        break;
    case SAID_NOT_ACKED:
        ledger->marks[push] &= (uint8_t)~MARK_ACKING;
        break;
    case SAID_SURE:
        note_sure(ledger);
        break;
    case SAID_FAILED:
        ledger->failures++;
        break;
    case SAID_END:
        ledger->over = true;
        break;
    default:
        fail_msg("%s: wrong at life.c:%llu", ledger->story->name, (unsigned long long)push);
    }
}

bool ledger_listen(struct ledger *ledger, int from, double seconds)
{
    struct message messages[LIFE_HEARD / sizeof(struct message)];
    const double end = test_seconds() + seconds;
    for (;;) {
        struct pollfd waiting = {.fd = from, .events = POLLIN};
        const double left = seconds < 0 ? 1e6 : end - test_seconds();
        if (left <= 0)
            return false;
        const int ready = poll(&waiting, 1, seconds < 0 ? -1 : (int)(left * 1000) + 1);
        if (ready <= 0)
            continue;
        const ssize_t bytes = read(from, ledger->heard + ledger->have, LIFE_HEARD - ledger->have);
        if (bytes < 0 && errno == EINTR)
            continue;
        assert_true(bytes >= 0);
        if (bytes == 0) {
            ledger->have = 0; /* it was cut off in the middle of a word */
            return true;
        }
        ledger->have += (size_t)bytes;
        const size_t whole = ledger->have / sizeof *messages;
        memcpy(messages, ledger->heard, whole * sizeof *messages);
        for (size_t i = 0; i < whole; i++)
            note_message(ledger, &messages[i]);
        ledger->have %= sizeof *messages;
        memmove(ledger->heard, ledger->heard + whole * sizeof *messages, ledger->have);
    }
}

/* ---- Judging -------------------------------------------------------------------------------- */

#define SOUND(ledger, what, condition, push)                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s, life %llu, %s: %s (push %llu, synced %llu, begun %llu, line %d)",        \
                     (ledger)->story->name, (unsigned long long)(ledger)->judged, what,            \
                     #condition, (unsigned long long)(push), (unsigned long long)(ledger)->synced, \
                     (unsigned long long)(ledger)->begun, __LINE__);                               \
    } while (0)

/* Everything that the copy holds. */
static void draw_all(struct ledger *ledger, bloomery_sieve *copy, uint64_t pushed, const char *what)
{
    const bool in_order = ledger->story->ordered || ledger->story->partitions <= 1;
    static bloomery_sieve_item items[LEASES];
    static uint64_t numbers[LEASES];
    bloomery_error error;
    uint64_t last_number = 0;
    uint64_t last = 0;
    for (;;) {
        size_t count = 0;
        const bloomery_status status =
            bloomery_sieve_pop(copy, items, LEASES, BLOOMERY_SIEVE_POP, &count, &error);
        if (status != BLOOMERY_OK)
            fail_msg("%s, %s: pop: %s", ledger->story->name, what, error.text);
        if (count == 0)
            return;
        for (size_t i = 0; i < count; i++) {
            const uint64_t push = push_of(&items[i]);
            SOUND(ledger, what, push > 0 && push <= pushed, push);
            uint8_t *marks = &ledger->marks[push];
            SOUND(ledger, what, *marks & MARK_ITEM, push);
            SOUND(ledger, what, !(*marks & MARK_CAME), push);
            SOUND(ledger, what, !(*marks & MARK_ACKED), push);
            if (*marks & MARK_LEASED)
                SOUND(ledger, what, items[i].again && items[i].number == ledger->numbers[push],
                      push);
            SOUND(ledger, what, items[i].number > last_number, push);
            SOUND(ledger, what, items[i].again || !in_order || push > last, push);
            last_number = items[i].number;
            last = items[i].again ? last : push;
            ledger->again += items[i].again;
            *marks |= MARK_CAME;
            numbers[i] = items[i].number;
        }
        assert_int_equal(
            bloomery_sieve_finish(copy, numbers, count, BLOOMERY_SIEVE_DONE, NULL, &error),
            BLOOMERY_OK);
    }
}

/* What did not come was acknowledged; then the ledger says what is so. */
static void settle(struct ledger *ledger, uint64_t pushed, const char *what)
{
    for (uint64_t push = 1; push <= ledger->length; push++) {
        uint8_t *marks = &ledger->marks[push];
        const bool came = *marks & MARK_CAME;
        const bool acked = *marks & (MARK_ACKING | MARK_ACKED);
        if (push <= pushed && (*marks & MARK_ITEM))
            SOUND(ledger, what, came || acked, push);
        SOUND(ledger, what, push <= pushed || !(*marks & (MARK_LEASED | MARK_ACKED)), push);
        const bool gone = push <= pushed && acked && !came;
        *marks = (uint8_t)((*marks & MARK_ITEM) | (gone ? MARK_ACKED | MARK_ACKING : 0));
    }
    ledger->lost += ledger->begun - pushed;
    ledger->begun = pushed;
    ledger->synced = ledger->synced < pushed ? ledger->synced : pushed;
    ledger->judged++;
}

static uint64_t items_among(const struct ledger *ledger, uint64_t pushed)
{
    uint64_t items = 0;
    for (uint64_t push = 1; push <= pushed; push++)
        items += ledger->marks[push] & MARK_ITEM;
    return items;
}

static void report_damage(void *context, const char *text)
{
    fail_msg("%s: %s", (const char *)context, text);
}

void ledger_judge(struct ledger *ledger, const char *path, const char *copy, const char *what)
{
    bloomery_sieve_options options;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve *sieve = NULL;
    bloomery_error error;
    uint64_t damaged = 0;
    if (access(path, F_OK) != 0) {
        /* It was ended before there was one; then nothing may have been promised. */
        SOUND(ledger, what, ledger->synced == 0, 0);
        settle(ledger, 0, what);
        return;
    }
    sieve_copy(path, copy);
    set_options(&options, ledger->story, copy);
    options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s, life %llu, %s: open: %s", ledger->story->name,
                 (unsigned long long)ledger->judged, what, error.text);
    info = sieve_info_of(sieve);
    const uint64_t pushed = info.pushed;
    SOUND(ledger, what, pushed >= ledger->synced, pushed);
    SOUND(ledger, what, pushed <= ledger->begun, pushed);
    if (bloomery_sieve_verify(sieve, report_damage, (void *)(uintptr_t)what, &damaged, &error) !=
            BLOOMERY_OK ||
        bloomery_sieve_flush(sieve, &error) != BLOOMERY_OK)
        fail_msg("%s, %s: verify or flush: %s", ledger->story->name, what, error.text);
    info = sieve_info_of(sieve);
    SOUND(ledger, what, info.pending == 0 && info.pushed == pushed, pushed);
    SOUND(ledger, what, info.new_keys + info.forced == items_among(ledger, pushed), pushed);
    SOUND(ledger, what, info.queued + info.leased + info.done == items_among(ledger, pushed),
          pushed);
    draw_all(ledger, sieve, pushed, what);
    assert_int_equal(bloomery_sieve_close(sieve, &error), BLOOMERY_OK);
    test_remove(copy);
    settle(ledger, pushed, what);
}

/* ---- Places ---------------------------------------------------------------------------- */

void place_make(struct place *place, const struct story *story)
{
    memset(place, 0, sizeof *place);
    faulty_disk_make(&place->disk);
    test_join(place->path, sizeof place->path, &place->disk.root, "sieve");
    test_join(place->copy, sizeof place->copy, &place->disk.shadow, "copy");
    ledger_make(&place->ledger, story);
}

void place_free(struct place *place)
{
    faulty_disk_free(&place->disk);
    ledger_free(&place->ledger);
}

int drive(struct place *place, uint64_t number, const struct fault *fault, enum life_faults faults,
          char struck[32])
{
    char texts[4][24];
    const struct story *story = place->ledger.story;
    size_t index = 0;
    int output = -1;
    while (index < LIFE_STORIES && strcmp(life_stories[index].name, story->name) != 0)
        index++;
    assert_true(index < LIFE_STORIES);
    snprintf(texts[0], sizeof texts[0], "%zu", index);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)story->pushes);
    snprintf(texts[2], sizeof texts[2], "%llu", (unsigned long long)number);
    snprintf(texts[3], sizeof texts[3], "%d", (int)faults);
    char *const arguments[] = {
        (char *)(uintptr_t) "life", place->path, texts[0], texts[1], texts[2], texts[3], NULL};
    const pid_t child = fault_start(&place->disk, fault, arguments, &output);
    ledger_listen(&place->ledger, output, -1);
    close(output);
    return fault_end(&place->disk, child, struck);
}

int drive_program(const struct place *place, const struct fault *fault, char *const *arguments)
{
    return test_wait(fault_start(&place->disk, fault, arguments, NULL));
}

bool drive_main(int count, char **arguments, int *status)
{
    if (count != 7 || strcmp(arguments[1], "life") != 0)
        return false;
    struct story story = life_stories[strtoul(arguments[3], NULL, 10) % LIFE_STORIES];
    story.pushes = strtoull(arguments[4], NULL, 10);
    *status = life_live(&story, arguments[2], strtoull(arguments[5], NULL, 10),
                        (enum life_faults)strtoul(arguments[6], NULL, 10), STDOUT_FILENO);
    return true;
}

void place_judge_end(const struct place *place, const char *what)
{
    for (uint64_t push = 1; push <= place->ledger.story->pushes; push++)
        if (!ledger_done(&place->ledger, push))
            fail_msg("%s, %s: the item of push %llu never came", place->ledger.story->name, what,
                     (unsigned long long)push);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a sieve whose directory may be damaged, and what they promise whatever lies there:
 *
 *   always                 a failure has its status and a text; memory is bounded and given back;
 *                          numbers of items rise, and none comes twice
 *   no checksum mended     failures are those of damage; what verify has passed, no call calls
 *                          damaged; only pushed keys come out, with their payloads, none more often
 *                          than it has to
 *   and nothing was told   each comes as often as it has to, and all counts are right
 */
#include "sieve.h"

#include "sieve/memory_engine.h"
#include "sieve/queue.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG_ID = 1, /* its key, where keys may be long */
    LONG_BYTES = 70000,
    KEY_ROOM = 128,
    PAYLOAD_ROOM = 64,
    AMPLE = 3000000,
    ROUNDS = 3000,
};

/* ---- Keys ------------------------------------------------------------------------------------ */

/* As it goes in, or (canonical) as it comes out. Key 0 is the empty one. */
static bloomery_key key_of(const struct shape *shape, uint32_t id, bool canonical, char *room)
{
    static char longest[LONG_BYTES];
    const bool lower = shape->canon == NULL || canonical;
    if (id == 0)
        return bloomery_key_of(room, 0);
    if (id == LONG_ID && shape->long_key) {
        memset(longest, 'y', sizeof longest);
        return bloomery_key_of(longest, sizeof longest);
    }
    const int bytes = snprintf(room, KEY_ROOM, "%s%u/%.*s", lower ? "http://h" : "HTTP://H",
                               (unsigned)id, (int)(id % 23), "0123456789abcdefghijklm");
    return bloomery_key_of(room, (size_t)bytes);
}

static bloomery_key payload_of(uint32_t id, char *room)
{
    const int bytes = id % 3 != 1 ? 0 : snprintf(room, PAYLOAD_ROOM, "payload of %u", (unsigned)id);
    return bloomery_key_of(room, (size_t)bytes);
}

static bool same(bloomery_key one, bloomery_key other)
{
    return one.bytes == other.bytes &&
           (one.bytes == 0 || memcmp(one.data, other.data, one.bytes) == 0);
}

/* IDS where no key is that one. */
static uint32_t id_of(const struct shape *shape, bloomery_key key)
{
    static const char before[] = "http://h";
    char room[KEY_ROOM];
    uint32_t id = 0;
    if (key.bytes == LONG_BYTES)
        id = LONG_ID;
    else
        for (size_t i = sizeof before - 1; i < key.bytes && i < 13; i++) {
            const char digit = ((const char *)key.data)[i];
            if (digit < '0' || digit > '9')
                break;
            id = id * 10 + (uint32_t)(digit - '0');
        }
    return id < IDS && same(key, key_of(shape, id, true, room)) ? id : IDS;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static struct {
    uint64_t bytes;
    uint64_t most;
    size_t frames;
} memory;

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(frame, bytes)   ((void)(frame), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(frame, bytes) ((void)(frame), (void)(bytes))
#endif

/* Large frames for the next life: fresh pages would take half of the time. */
enum { KEPT = 48, WORTH_KEEPING = 65536 };
static struct {
    void *frame;
    size_t bytes;
} kept[KEPT];

static void *find_kept(size_t bytes)
{
    for (size_t i = 0; i < KEPT; i++)
        if (kept[i].frame != NULL && kept[i].bytes == bytes) {
            void *frame = kept[i].frame;
            kept[i].frame = NULL;
            ASAN_UNPOISON_MEMORY_REGION(frame, bytes);
            return frame;
        }
    return NULL;
}

static bool keep(void *frame, size_t bytes)
{
    for (size_t i = 0; i < KEPT && bytes >= WORTH_KEEPING; i++)
        if (kept[i].frame == NULL) {
            kept[i].frame = frame;
            kept[i].bytes = bytes;
            ASAN_POISON_MEMORY_REGION(frame, bytes);
            return true;
        }
    return false;
}

static void *take(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    void *frame = find_kept(bytes);
    memory.bytes += bytes;
    memory.frames++;
    must(memory.bytes <= memory.most, "no more memory is taken than was given");
    must(alignment <= 4096, "pages are aligned enough");
    if (frame == NULL && posix_memalign(&frame, 4096, bytes) != 0)
        return NULL;
    return frame;
}

static void give(void *context, void *frame, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    must(memory.frames > 0 && memory.bytes >= bytes, "memory is given back once");
    memory.bytes -= bytes;
    memory.frames--;
    if (!keep(frame, bytes))
        free(frame);
}

/* The number that the next file gets. */
static int next_descriptor(void)
{
    const int descriptor = dup(STDERR_FILENO);
    close(descriptor);
    return descriptor;
}

/* ---- Failures -------------------------------------------------------------------------------- */

static bool is_damage(int status)
{
    return status == BLOOMERY_CORRUPT || status == BLOOMERY_TRUNCATED ||
           status == BLOOMERY_WRONG_VERSION || status == BLOOMERY_NOT_A_FILTER;
}

/* What a call says; true where it succeeded. */
static bool hear(struct life *life, int status, const bloomery_error *error)
{
    if (status >= 0)
        return true;
    must_say(error->text);
    must((int)error->status == status && error->text[0] != '\0', "a failure says why");
    must(status != BLOOMERY_BUSY, "what was closed is not busy");
    must(!life->sound, "what is sound is not refused");
    must(life->mended || is_damage(status), "damage is called damage");
    must(life->mended || !life->verified, "what is damaged is found by verify");
    life->told = true;
    return false;
}

bool life_exact(const struct life *life)
{
    return !life->told && !life->mended;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

/* Planning takes longer than all the rest: once for each number of partitions. */
static uint64_t min_memory(const struct shape *shape)
{
    static uint64_t least[8];
    bloomery_sieve_plan plan = {.keys = 1000, .partitions = shape->partitions, .memory = AMPLE};
    bloomery_error error;
    if (shape->engine == BLOOMERY_SIEVE_MEMORY)
        return AMPLE / 2;
    uint64_t *known = &least[shape->partitions % 8];
    if (*known == 0) {
        must(bloomery_sieve_plan_solve(&plan, &error) == BLOOMERY_OK, "a plan");
        *known = plan.min_memory;
    }
    return *known;
}

static bloomery_sieve_options options_of(const struct life *life, const struct opening *opening)
{
    const struct shape *shape = life->shape;
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.allocator = (bloomery_allocator){take, give, NULL, NULL};
    options.directory = directory_path();
    options.memory = opening->ample ? AMPLE : min_memory(shape);
    options.existing = !opening->make;
    options.keep_leases = opening->keep_leases;
    /* Long enough for both lives; commits are those that are called for. */
    options.lease = 1e9;
    options.sync = opening->make ? BLOOMERY_SIEVE_SYNC_TIMED : BLOOMERY_SIEVE_SYNC_NEVER;
    options.sync_seconds = 1e9;
    if (!opening->make)
        return options;
    options.engine = shape->engine;
    options.partitions = shape->partitions;
    options.fingerprint_bits = shape->fingerprint_bits;
    options.order = shape->ordered ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    options.full = shape->full;
    options.keys = shape->keys;
    options.rate = shape->rate;
    options.dialect = shape->dialect;
    options.canon = shape->canon;
    options.leases = LEASES;
    return options;
}

/* What the memory engine says of its filter takes longer than all the rest: of that, only what is
 * looked at. */
struct facts life_facts(const struct life *life)
{
    const struct bloomery_sieve_counters *counters = &life->sieve->counters;
    const struct bloomery_queue *queue = life->sieve->queue;
    if (life->shape->engine == BLOOMERY_SIEVE_MEMORY)
        return (struct facts){counters->pushed,
                              counters->new_keys,
                              counters->seen,
                              counters->pending,
                              counters->forced,
                              counters->marked,
                              bloomery_queue_queued(queue),
                              bloomery_queue_leased(queue),
                              bloomery_queue_done(queue)};
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(life->sieve, &info);
    must(info.memory <= memory.most, "its memory is what was given");
    return (struct facts){info.pushed, info.new_keys, info.seen,   info.pending, info.forced,
                          info.marked, info.queued,   info.leased, info.done};
}

static void check_facts(const struct life *life)
{
    const struct facts facts = life_facts(life);
    must(facts.leased <= LEASES || life->mended, "no more items are leased than may be");
    if (life->mended)
        return;
    must(facts.pushed == facts.new_keys + facts.seen + facts.pending + facts.forced + facts.marked,
         "pushes add up");
    uint64_t left = 0;
    for (uint32_t id = 0; id < IDS; id++)
        left += life->state.left[id];
    if (life_exact(life) && facts.pending == 0 && life->shape->engine == BLOOMERY_SIEVE_MEMORY)
        must(facts.queued + facts.leased == left, "what is left is queued or leased");
}

bool life_open(struct life *life, const struct opening *opening)
{
    const bloomery_sieve_options options = options_of(life, opening);
    const int descriptor = next_descriptor();
    bloomery_error error = {.text = ""};
    must(memory.frames == 0 && memory.bytes == 0, "memory is given back");
    memory.most = options.memory + life->max_bytes + (1 << 16);
    life->verified = false;
    const bloomery_status status = bloomery_sieve_open(&options, &life->sieve, &error);
    must((status == BLOOMERY_OK) == (life->sieve != NULL), "a sieve if and only if it opened");
    if (!hear(life, status, &error)) {
        must(memory.frames == 0, "memory is given back where opening fails");
        must(next_descriptor() == descriptor, "files are closed where opening fails");
        return false;
    }
    life->sieve->queue->segment_bytes = SEGMENT;
    memset(life->came, 0, sizeof life->came);
    life->last = 0;
    life->again_count = 0;
    life->popped = 0;
    life->state.facts = life_facts(life);
    return true;
}

void life_close(struct life *life)
{
    bloomery_error error = {.text = ""};
    check_facts(life);
    life->state.facts = life_facts(life);
    const bloomery_status status = bloomery_sieve_close(life->sieve, &error);
    life->sieve = NULL;
    if (!hear(life, status, &error))
        life->lost = true;
    must(memory.frames == 0 && memory.bytes == 0, "memory is given back");
}

/* ---- Pushing --------------------------------------------------------------------------------- */

static int push(struct life *life, uint32_t id, bloomery_sieve_push_mode kind,
                bloomery_error *error)
{
    char key_room[KEY_ROOM];
    char payload_room[PAYLOAD_ROOM];
    const bloomery_key key = key_of(life->shape, id, false, key_room);
    const bloomery_key payload = payload_of(id, payload_room);
    uint8_t result = 0;
    const bloomery_status status =
        bloomery_sieve_push(life->sieve, &key, kind == BLOOMERY_SIEVE_PUSH_MARK ? NULL : &payload,
                            1, kind, &result, NULL, error);
    return status == BLOOMERY_OK ? (int)result : (int)status;
}

void life_push(struct life *life, uint32_t id, bloomery_sieve_push_mode kind)
{
    const bool known = life->state.known[id];
    bloomery_error error = {.text = ""};
    const int result = push(life, id, kind, &error);
    if (!hear(life, result, &error))
        return;
    if (life_exact(life)) {
        must(result != BLOOMERY_SIEVE_NEW || !known || kind == BLOOMERY_SIEVE_PUSH_AGAIN,
             "a known key is not new");
        must(result != BLOOMERY_SIEVE_SEEN || known || life->shape->wrong_drops,
             "a new key is not called seen");
    }
    life->state.known[id] = 1;
    if (kind == BLOOMERY_SIEVE_PUSH_AGAIN ||
        (kind == BLOOMERY_SIEVE_PUSH && !known && result != BLOOMERY_SIEVE_SEEN))
        life->state.left[id]++;
}

/* ---- Popping --------------------------------------------------------------------------------- */

static void check_number(struct life *life, const bloomery_sieve_item *item)
{
    must(++life->popped <= POPPED, "what comes out has an end");
    if (!item->again) {
        must(item->number > life->last, "numbers rise along the queue");
        life->last = item->number;
        return;
    }
    for (size_t i = 0; i < life->again_count; i++)
        must(life->again[i] != item->number, "no number comes twice");
    life->again[life->again_count++] = item->number;
}

static uint32_t judge(struct life *life, const bloomery_sieve_item *item)
{
    char room[PAYLOAD_ROOM];
    const uint32_t id = id_of(life->shape, item->key);
    check_number(life, item);
    if (life->mended)
        return IDS;
    must(id < IDS, "only pushed keys come out");
    must(same(item->payload, payload_of(id, room)), "payloads are those of their keys");
    if (!life->lost)
        must(life->came[id] < life->state.left[id], "no key comes more often than it has to");
    life->came[id]++;
    return id;
}

/* It may come once more. */
static void forget_number(struct life *life, uint64_t number)
{
    for (size_t i = 0; i < life->again_count; i++)
        if (life->again[i] == number)
            life->again[i] = 0;
}

static void end_leases(struct life *life, const uint64_t *numbers, const uint32_t *ids,
                       size_t count, bool again)
{
    bloomery_error error = {.text = ""};
    uint64_t finished = 0;
    const bloomery_status status =
        bloomery_sieve_finish(life->sieve, numbers, count,
                              again ? BLOOMERY_SIEVE_BACK : BLOOMERY_SIEVE_DONE, &finished, &error);
    must(finished == count || status != BLOOMERY_OK, "what was popped is leased");
    if (!hear(life, status, &error) || again)
        return;
    for (size_t i = 0; i < count; i++)
        if (ids[i] < IDS && life->state.left[ids[i]] > 0) {
            life->state.left[ids[i]]--;
            life->came[ids[i]]--;
        }
}

size_t life_pop(struct life *life, size_t room, size_t acks, size_t returns)
{
    bloomery_sieve_item items[LEASES];
    uint64_t numbers[LEASES] = {0};
    uint32_t ids[LEASES] = {0};
    bloomery_error error = {.text = ""};
    size_t count = 0;
    must(room <= LEASES, "room to pop");
    if (!hear(life,
              bloomery_sieve_pop(life->sieve, items, room, BLOOMERY_SIEVE_POP, &count, &error),
              &error)) {
        must(count == 0, "a pop that fails gives nothing");
        return 0;
    }
    must(count <= room, "no more items come than there is room for");
    for (size_t i = 0; i < count; i++) {
        ids[i] = judge(life, &items[i]);
        numbers[i] = items[i].number;
    }
    acks = acks < count ? acks : count;
    returns = returns < count - acks ? returns : count - acks;
    end_leases(life, numbers, ids, acks, false);
    end_leases(life, numbers + acks, ids + acks, returns, true);
    for (size_t i = acks; i < acks + returns; i++) {
        forget_number(life, numbers[i]);
        if (ids[i] < IDS)
            life->came[ids[i]]--;
    }
    return count;
}

void life_drain(struct life *life)
{
    unsigned failures = 0;
    for (unsigned round = 0; failures < 60; round++) {
        const bool told = life->told;
        must(round < ROUNDS, "what comes out has an end");
        life->told = false;
        const size_t count = life_pop(life, LEASES / 3, LEASES / 3, 0);
        const bool failed = life->told;
        life->told = told || failed;
        if (count == 0 && !failed)
            return;
        if (failed) {
            bloomery_error error = {.text = ""};
            uint64_t lost = 0;
            failures++;
            hear(life, bloomery_sieve_skip(life->sieve, &lost, &error), &error);
        }
    }
}

/* ---- The other calls ------------------------------------------------------------------------- */

void life_flush(struct life *life)
{
    bloomery_error error = {.text = ""};
    if (hear(life, bloomery_sieve_flush(life->sieve, &error), &error) && !life->mended)
        must(life_facts(life).pending == 0, "after a flush nothing is pending");
}

void life_commit(struct life *life)
{
    bloomery_error error = {.text = ""};
    hear(life, bloomery_sieve_commit(life->sieve, &error), &error);
}

static void count_report(void *context, const char *text)
{
    must(text[0] != '\0', "a report is a sentence");
    ++*(uint64_t *)context;
}

void life_verify(struct life *life)
{
    bloomery_error error = {.text = ""};
    uint64_t reports = 0;
    uint64_t damaged = 0;
    const bloomery_status status =
        bloomery_sieve_verify(life->sieve, count_report, &reports, &damaged, &error);
    must(reports == damaged, "what is damaged is reported");
    must(damaged == 0 || !life->sound, "nothing that is sound is reported");
    hear(life, status, &error);
    life->told = life->told || damaged > 0;
    life->verified = status == BLOOMERY_OK && damaged == 0;
}

static int count_seen(void *context, uint64_t fingerprint)
{
    (void)fingerprint;
    return ++*(uint64_t *)context > 1000000 ? 7 : 0;
}

static int count_queued(void *context, const bloomery_sieve_item *item)
{
    (void)item;
    return ++*(uint64_t *)context > 1000000 ? 7 : 0;
}

static void walk(struct life *life)
{
    bloomery_error error = {.text = ""};
    uint64_t seen = 0;
    uint64_t queued = 0;
    int ended = 0;
    bloomery_status status = bloomery_sieve_each(life->sieve, BLOOMERY_SIEVE_QUEUED, count_queued,
                                                 &queued, &ended, &error);
    must(ended == 0, "walking the queue has an end");
    if (hear(life, status, &error) && life_exact(life))
        must(queued == life_facts(life).queued, "what is queued is counted");
    if (life->shape->engine == BLOOMERY_SIEVE_MEMORY)
        return;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    status = bloomery_sieve_each_seen(life->sieve, count_seen, &seen, &ended, &error);
    must(ended == 0, "walking the seen-set has an end");
    bloomery_sieve_info_get(life->sieve, &info);
    if (status != BLOOMERY_UNSUPPORTED && hear(life, status, &error))
        must(seen == info.distinct, "what is seen is counted");
}

void life_query(struct life *life)
{
    char room[KEY_ROOM];
    for (uint32_t id = 0; id < IDS; id += id < 8 ? 3 : 67) {
        bloomery_error error = {.text = ""};
        const bloomery_key key = key_of(life->shape, id, false, room);
        uint8_t result = 0;
        const bloomery_status status =
            bloomery_sieve_contains(life->sieve, &key, 1, &result, &error);
        if (!hear(life, status, &error) || !life_exact(life))
            continue;
        must(result != BLOOMERY_SIEVE_NEW || !life->state.known[id], "a known key is not denied");
        must(result != BLOOMERY_SIEVE_SEEN || life->state.known[id] || life->shape->wrong_drops,
             "a new key is not called seen");
    }
    walk(life);
}

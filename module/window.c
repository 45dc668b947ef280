/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: keys that forget. A window has g filters of one plan, its generations:
 *
 *     newest                              oldest
 *     | 0 | <- takes adds    | 1 | 2 | 3 |           all are asked
 *     rotated:  an empty one | 0 | 1 | 2 |  3 is released
 *
 * A window may have a period. Then the master rotates it when that time has passed, and passes the
 * rotation on, so that replicas and the AOF do the same at the same place among the adds; they do
 * not look at a clock. It does so before a command changes the window, and in the server's cron. A
 * command that only reads must not change a key: while the master is to hand over to a replica no
 * change may be made. So it leaves those generations out that are due.
 *
 * A rotation has the time at which its newest generation begins, and does nothing if the window has
 * got there already: it may come by two ways when slots migrate.
 *
 * The cron finds a window by the name and database of its last use, and looks whether the key there
 * is this very window. One that was renamed since waits for its next use.
 */
#include "window.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CRON_WINDOWS = 16, NO_DATABASE = -1 };

server_type *bf_window_type;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list: windows go in any thread */
static struct bf_window *first;
static uint64_t next_due_ms; /* before this time no window of the list is due; UINT64_MAX: never */

/* ---- Time ------------------------------------------------------------------------------------ */

/* Tests have a clock of their own: a file with the milliseconds. Releases do not look for it. */
uint64_t bf_now_ms(void)
{
    uint64_t now = (uint64_t)server.Milliseconds();
#ifndef NDEBUG
    const char *path = getenv("BLOOMERY_CLOCK");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char text[32] = "";
    if (file != NULL) {
        const bool is_read = fgets(text, sizeof text, file) != NULL;
        (void)fclose(file);
        if (is_read)
            now = strtoull(text, NULL, 10);
    }
#endif
    return now < BF_TIME_MAX ? now : BF_TIME_MAX;
}

static uint64_t due_at(const struct bf_window *window)
{
    uint64_t due;
    if (window->plan.period_ms == 0 || window->is_arriving ||
        __builtin_add_overflow(window->plan.since_ms, window->plan.period_ms, &due))
        return UINT64_MAX;
    return due;
}

/* How many rotations are due. */
static uint64_t rotations_due(const struct bf_window *window)
{
    const uint64_t now = bf_now_ms();
    if (due_at(window) > now)
        return 0;
    return (now - window->plan.since_ms) / window->plan.period_ms;
}

/* Whether this server decides about time. */
static bool is_clock(server_context *context)
{
    const int flags = server.GetContextFlags(context);
    return (flags & SERVER_CONTEXT_MASTER) != 0 &&
           (flags & (SERVER_CONTEXT_REPLICATED | SERVER_CONTEXT_LOADING)) == 0;
}

uint32_t bf_window_visible(server_context *context, const struct bf_window *window)
{
    const uint64_t due = is_clock(context) ? rotations_due(window) : 0;
    return due < window->plan.generations ? window->plan.generations - (uint32_t)due : 0;
}

/* ---- Making and releasing -------------------------------------------------------------------- */

double bf_window_rate(const struct bf_window_plan *plan)
{
    /* One of g equal filters: 1 - (1 - rate)^(1/g). */
    return -expm1(log1p(-plan->rate) / plan->generations);
}

struct bf_window *bf_window_new(const struct bf_window_plan *plan)
{
    struct bf_window *window = bf_try_alloc(sizeof *window);
    assert(plan->generations >= BF_GENERATIONS_MIN && plan->generations <= BF_GENERATIONS_MAX);
    if (window == NULL)
        return NULL;
    *window = (struct bf_window){.plan = *plan, .database = NO_DATABASE};
    (void)pthread_mutex_lock(&lock);
    window->next = first;
    if (first != NULL)
        first->previous = window;
    first = window;
    next_due_ms = 0;
    (void)pthread_mutex_unlock(&lock);
    atomic_fetch_add(&bf_counts.windows, 1);
    return window;
}

void bf_window_free(void *value)
{
    struct bf_window *window = value;
    if (window == NULL)
        return;
    (void)pthread_mutex_lock(&lock);
    if (window->previous != NULL)
        window->previous->next = window->next;
    else
        first = window->next;
    if (window->next != NULL)
        window->next->previous = window->previous;
    (void)pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < window->plan.generations; i++)
        bf_value_free(window->generations[i]);
    if (window->name != NULL)
        server.Free(window->name);
    atomic_fetch_sub(&bf_counts.windows, 1);
    server.Free(window);
}

bloomery_status bf_window_create(server_context *context, const struct bf_window_plan *plan,
                                 struct bf_window **made)
{
    const struct bf_parameters parameters = {
        .rate = bf_window_rate(plan),
        .capacity = plan->capacity,
    };
    struct bf_window *window = bf_window_new(plan);
    bloomery_status status = window != NULL ? BLOOMERY_OK : BLOOMERY_OUT_OF_MEMORY;
    uint64_t bytes = 0;
    *made = NULL;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < plan->generations; i++) {
        status = bf_value_create(context, bytes, &parameters, &window->generations[i]);
        if (status == BLOOMERY_OK)
            bytes += window->generations[i]->bytes;
    }
    if (status == BLOOMERY_OK)
        *made = window;
    else
        bf_window_free(window);
    return status;
}

/* ---- Use ------------------------------------------------------------------------------------- */

void bf_window_is_at(struct bf_window *window, const char *name, size_t bytes, int database)
{
    if (window->name_bytes == bytes && window->database == database &&
        (bytes == 0 || memcmp(window->name, name, bytes) == 0))
        return;
    char *copy = server.TryAlloc(bytes + 1);
    if (copy == NULL)
        return;
    memcpy(copy, name, bytes);
    if (window->name != NULL)
        server.Free(window->name);
    window->name = copy;
    window->name_bytes = bytes;
    window->database = database;
    next_due_ms = 0;
}

void bf_window_arrived(struct bf_window *window)
{
    window->is_arriving = false;
    next_due_ms = 0;
}

void bf_window_may_contain(const struct bf_window *window, uint32_t from, uint32_t to,
                           const bloomery_keys *keys, uint64_t *answers)
{
    uint64_t found[BF_BLOCK / 64];
    assert(keys->count <= BF_BLOCK && to <= window->plan.generations);
    memset(answers, 0, (keys->count + 63) / 64 * sizeof *answers);
    for (uint32_t i = from; i < to; i++) {
        (void)bloomery_may_contain_keys(window->generations[i]->filter, keys, found, NULL, NULL);
        for (size_t word = 0; word < (keys->count + 63) / 64; word++)
            answers[word] |= found[word];
    }
}

uint64_t bf_window_items(const struct bf_window *window, uint32_t count)
{
    uint64_t items = 0;
    for (uint32_t i = 0; i < count; i++) {
        bloomery_info info;
        bf_info_of(window->generations[i], &info);
        const uint64_t left = INT64_MAX - items;
        items += info.adds < left ? info.adds : left;
    }
    return items;
}

/* ---- Rotating -------------------------------------------------------------------------------- */

/* Makes a generation empty. What it had is released aside; where memory for another one lacks, or
 * maxmemory, it is cleared. */
static void empty(struct bf_value **generation)
{
    if (bf_value_clear_if_tight(*generation))
        return;
    struct bf_value *fresh = bf_value_emptied(*generation);
    if (fresh == NULL) {
        const bloomery_status status = bloomery_clear((*generation)->filter, NULL);
        assert(status == BLOOMERY_OK);
        (void)status;
        return;
    }
    bf_release_aside(*generation);
    *generation = fresh;
}

void bf_window_rotate(struct bf_window *window, uint64_t times, uint64_t since_ms)
{
    const uint32_t all = window->plan.generations;
    const uint32_t count = times < all ? (uint32_t)times : all;
    struct bf_value *old[BF_GENERATIONS_MAX];
    memcpy(old, window->generations, sizeof old);
    for (uint32_t i = 0; i < all; i++)
        window->generations[(i + count) % all] = old[i];
    for (uint32_t i = 0; i < count; i++)
        empty(&window->generations[i]);
    assert(since_ms <= BF_TIME_MAX);
    window->plan.since_ms = since_ms;
    bf_window_arrived(window);
}

void bf_window_clear(struct bf_window *window)
{
    for (uint32_t i = 0; i < window->plan.generations; i++)
        empty(&window->generations[i]);
    bf_window_arrived(window);
}

void bf_window_rotated(server_context *context, server_string *name, uint64_t times,
                       uint64_t since_ms)
{
    server.Replicate(context, bf_names->rotate, "sclcl", name, "COUNT", (long long)times, "AT",
                     (long long)since_ms);
    server.SignalModifiedKey(context, name);
    server.NotifyKeyspaceEvent(context, SERVER_EVENT_GENERIC, "bloom.rotate", name);
    atomic_fetch_add(&bf_counts.rotations, times);
}

void bf_window_catch_up(server_context *context, server_string *name, struct bf_window *window)
{
    const uint64_t due = is_clock(context) ? rotations_due(window) : 0;
    const uint64_t all = window->plan.generations;
    if (due == 0)
        return;
    const uint64_t since = window->plan.since_ms + due * window->plan.period_ms; /* now at most */
    assert(since <= BF_TIME_MAX);
    bf_window_rotate(window, due, since);
    bf_window_rotated(context, name, due < all ? due : all, since);
}

/* ---- The server's cron ----------------------------------------------------------------------- */

/* A window that is due, as the list has it: it may be gone when its turn comes. */
struct due {
    const struct bf_window *window;
    server_string *name;
    int database;
};

/* Gathers windows that are due, and finds out when the next one will be. */
static size_t find_due(server_context *context, uint64_t now, struct due due[CRON_WINDOWS])
{
    size_t count = 0;
    uint64_t next = UINT64_MAX;
    (void)pthread_mutex_lock(&lock);
    for (const struct bf_window *window = first; window != NULL; window = window->next) {
        const uint64_t at = due_at(window);
        if (window->name == NULL || window->database == NO_DATABASE)
            continue;
        if (at > now) {
            next = at < next ? at : next;
        } else if (count == CRON_WINDOWS) {
            next = now;
        } else {
            due[count++] = (struct due){
                .window = window,
                .name = server.CreateString(context, window->name, window->name_bytes),
                .database = window->database,
            };
        }
    }
    next_due_ms = next;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

static void rotate_if_there(server_context *context, const struct due *due)
{
    if (server.SelectDb(context, due->database) != SERVER_OK)
        return;
    server_key *key = server.OpenKey(context, due->name, SERVER_READ | SERVER_WRITE);
    const bool is_window = key != NULL && server.ModuleTypeGetType(key) == bf_window_type;
    struct bf_window *window = is_window ? server.ModuleTypeGetValue(key) : NULL;
    if (window == due->window)
        bf_window_catch_up(context, due->name, window);
    server.CloseKey(key);
}

/* A window that is not where it was is looked for no more until it is used. */
static void forget_place(const struct bf_window *gone)
{
    (void)pthread_mutex_lock(&lock);
    for (struct bf_window *window = first; window != NULL; window = window->next)
        if (window == gone && due_at(window) <= bf_now_ms())
            window->database = NO_DATABASE;
    (void)pthread_mutex_unlock(&lock);
}

static void cron(server_context *context, struct server_event event, uint64_t what, void *nothing)
{
    struct due due[CRON_WINDOWS];
    (void)event, (void)what, (void)nothing;
    if (atomic_load(&bf_counts.windows) == 0 || next_due_ms == UINT64_MAX || !is_clock(context) ||
        (server.AvoidReplicaTraffic != NULL && server.AvoidReplicaTraffic() != 0))
        return;
    const uint64_t now = bf_now_ms();
    if (now < next_due_ms)
        return;
    const size_t count = find_due(context, now, due);
    for (size_t i = 0; i < count; i++) {
        rotate_if_there(context, &due[i]);
        forget_place(due[i].window);
        server.FreeString(context, due[i].name);
    }
}

void bf_windows_register(server_context *context)
{
    const struct server_event ticks = {SERVER_EVENT_CRON, 1};
    if (server.SubscribeToServerEvent != NULL && server.SelectDb != NULL &&
        server.GetSelectedDb != NULL)
        (void)server.SubscribeToServerEvent(context, ticks, cron);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of the original experiment as it had them: Guava's own code, and the SHA-384 filter
 * in Java. Each runs in a process on a JVM. They get the same keys and the same queries as all
 * other structures and answer to the same judge.
 *
 * The time is taken in that process, by the clock of its one thread. The keys come to it over a
 * socket and become strings before that clock runs. The memory in the table is that of the bits, as
 * with all filters. The maximum of the whole process is reported beside it.
 *
 * At the end the process hands over its filter as bytes. Read here as a filter of that dialect it
 * must answer every query as the JVM did. So every run shows that the dialect is the real one.
 */
#include "jvm_sets.h"

#include "base/statistics.h"
#include "experiment.h"
#include "filter_sets.h"
#include "jvm.h"
#include "tool.h"

#include <bloomery/dialect.h>

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GUAVA, SHA384, PROGRAMS, SLICED_BYTES = 1 << 25 };

/* Processes that wait for their turn. */
static struct tool_jvm waiting[PROGRAMS];

struct jvm_set {
    struct tool_jvm jvm;
    const char *dialect;
    uint64_t keys;
    pthread_mutex_t lock; /* a process answers one thread at a time */
    struct tool_filter_facts facts;
};

bool tool_jvm_sets_start(const char *guava, bool guava_wanted, bool sha384_wanted, uint64_t keys,
                         double rate)
{
    char number[24], text[32];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)keys);
    snprintf(text, sizeof(text), "%.17g", rate);
    const char *const of_guava[] = {"guava", number, text, NULL};
    const char *const of_sha384[] = {"sha384", NULL};
    struct tool_jvm_program program;
    if (!tool_jvm_compile(guava, &program))
        return false;
    bool well = !guava_wanted || tool_jvm_start(&program, of_guava, &waiting[GUAVA]);
    well = well && (!sha384_wanted || tool_jvm_start(&program, of_sha384, &waiting[SHA384]));
    tool_jvm_forget(&program);
    if (!well)
        tool_jvm_sets_end();
    return well;
}

void tool_jvm_sets_end(void)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        tool_jvm_end(&waiting[i]);
}

static void jvm_set_release(void *set, struct tool_meter *meter)
{
    struct jvm_set *own = set;
    tool_jvm_end(&own->jvm);
    pthread_mutex_destroy(&own->lock);
    tool_meter_release(meter, own, sizeof(*own));
}

static void *jvm_set_make(size_t program, const char *dialect, struct tool_digits keys,
                          struct tool_meter *meter, bool *told)
{
    struct jvm_set *own = tool_meter_allocate(meter, sizeof(*own), 64);
    if (own == NULL)
        return NULL;
    assert(waiting[program].pid != 0);
    own->jvm = waiting[program];
    waiting[program].pid = 0;
    own->dialect = dialect;
    own->keys = keys.count;
    pthread_mutex_init(&own->lock, NULL);
    if (tool_jvm_add(&own->jvm, keys))
        return own;
    *told = true;
    jvm_set_release(own, meter);
    return NULL;
}

static void *guava_make(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told)
{
    (void)rate; /* it was passed when the process started */
    return jvm_set_make(GUAVA, "guava", keys, meter, told);
}

static void *sha384_make(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told)
{
    (void)rate;
    return jvm_set_make(SHA384, "sha384-slices", keys, meter, told);
}

static void jvm_set_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    /* The set is ours, and was never const; that it is here is for the other structures. */
    struct jvm_set *own = (struct jvm_set *)(uintptr_t)set;
    pthread_mutex_lock(&own->lock);
    bool well = tool_jvm_query(&own->jvm, keys, answers);
    pthread_mutex_unlock(&own->lock);
    if (!well)
        exit(TOOL_ERROR); /* a message was printed, and the processes end with this one */
}

/* ---- The filter as bytes --------------------------------------------------------------------- */

/* Java leaves out the zeros at the end of a set of bits. */
static uint8_t *complete(uint8_t *data, size_t *bytes)
{
    if (*bytes >= SLICED_BYTES)
        return data;
    data = tool_reallocate(data, SLICED_BYTES);
    memset(data + *bytes, 0, SLICED_BYTES - *bytes);
    *bytes = SLICED_BYTES;
    return data;
}

/* The filter of the process, read here, and the CRC-32 of its bytes; NULL after a message. */
static bloomery_filter *read_here(struct jvm_set *own, uint32_t *sum)
{
    size_t bytes = 0;
    uint8_t *data = tool_jvm_tell_bytes(&own->jvm, &bytes);
    if (data == NULL)
        return NULL;
    if (strcmp(own->dialect, "guava") != 0)
        data = complete(data, &bytes);
    bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true; /* without libcrypto its bits can be counted */
    if (bloomery_dialect_load(bloomery_dialect_find(own->dialect), data, bytes, NULL, &options,
                              &filter, &error) != BLOOMERY_OK)
        tool_library_error("the bytes of the JVM's filter", &error);
    *sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, bytes);
    free(data);
    return filter;
}

static bool same_answers(const bloomery_filter *filter, struct tool_digits queries,
                         const uint64_t *answers, const char *title)
{
    const size_t words = (queries.count + 63) / 64;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (!info.secret_known) /* its hash can't be computed here, so it can't be queried */
        return true;
    uint64_t *here = tool_allocate(words * sizeof(*here));
    here[words - 1] = 0;
    tool_filter_query(filter, queries, here);
    const bool same = memcmp(here, answers, words * sizeof(*here)) == 0;
    free(here);
    if (!same)
        tool_error("%s: its bytes, read by Bloomery, answer otherwise than it did", title);
    return same;
}

static int jvm_set_tell(void *set, struct tool_digits queries, const uint64_t *answers,
                        struct tool_trial *trial)
{
    struct jvm_set *own = set;
    struct tool_jvm_state state;
    uint32_t sum;
    if (!tool_jvm_tell_state(&own->jvm, &state)) /* before its bytes, which take memory */
        return TOOL_ERROR;
    bloomery_filter *filter = read_here(own, &sum);
    if (filter == NULL)
        return TOOL_ERROR;
    const bool same = same_answers(filter, queries, answers, trial->structure->title);
    tool_filter_facts_get(filter, &own->facts);
    tool_filter_facts_tell(&own->facts, trial);
    trial->written_crc = sum; /* not of the bytes written here */
    bloomery_free(filter);
    trial->build_seconds = state.add_seconds;
    trial->query_seconds = state.query_seconds;
    trial->bytes = (trial->bits + 7) / 8;
    trial->max_bytes = trial->bytes;
    trial->process = true;
    trial->process_seconds = state.processor_seconds;
    trial->process_bytes = state.max_bytes;
    return same ? TOOL_FOUND : TOOL_NONE;
}

static double jvm_set_predicted(const void *set)
{
    const struct jvm_set *own = set;
    return own->facts.predicted_rate;
}

static double jvm_set_live(const void *set)
{
    const struct jvm_set *own = set;
    return own->facts.live_rate;
}

static double jvm_set_allowed_factor(const void *set)
{
    const struct jvm_set *own = set;
    return tool_allowed_factor(&own->facts.shape, own->keys);
}

static double guava_stray(const void *set)
{
    const struct jvm_set *own = set;
    return tool_filter_steps_stray(&own->facts);
}

const struct tool_structure tool_guava_on_jvm = {
    .name = "jvm-guava",
    .title = "Guava itself, on a JVM",
    .exact = false,
    .requested_rate = true,
    .on_jvm = true,
    .make = guava_make,
    .release = jvm_set_release,
    .query = jvm_set_query,
    .predicted_rate = jvm_set_predicted,
    .live_rate = jvm_set_live,
    .allowed_factor = jvm_set_allowed_factor,
    .stray = guava_stray,
    .tell = jvm_set_tell,
};

const struct tool_structure tool_sha384_on_jvm = {
    .name = "jvm-sha384",
    .title = "SHA-384 filter, on a JVM",
    .exact = false,
    .on_jvm = true,
    .make = sha384_make,
    .release = jvm_set_release,
    .query = jvm_set_query,
    .predicted_rate = jvm_set_predicted,
    .live_rate = jvm_set_live,
    .allowed_factor = jvm_set_allowed_factor,
    .tell = jvm_set_tell,
};

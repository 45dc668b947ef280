/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that Bloomery descends from, with every alternative beside it.
 *
 * The same identification numbers go into exact sets and into filters. Then strings of twelve
 * random digits are queried, of which nearly none is a number that was added. If a structure
 * reports "possibly" for one of the others, that is a false positive. If it reports "definitely
 * not" for a number that was added, it has failed, which ends the experiment. One thread builds,
 * queries and releases each structure before the next one. The keys lie in memory in the order in
 * which they were made. That is what is timed. Afterwards, not timed and with all processors, every
 * key that was added is queried once.
 *
 * The first structure, which must be exact, settles what is true. The other exact sets must agree
 * with it on every query, and filters are counted against it.
 */
#include "experiment.h"

#include "base/ids.h"
#include "base/statistics.h"
#include "portions.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)TOOL_ID_DIGITS == (int)TOOL_DIGITS,
               "the structures take what the population has");

/* Seconds of a processor spent by this thread: other work on the machine meanwhile is left out.
 */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void say(const struct tool_experiment *experiment, const char *what, const char *title)
{
    if (experiment->progress)
        fprintf(stderr, "\r\033[K%s%s", what, title);
}

static uint64_t answer_words(struct tool_digits keys)
{
    return ((uint64_t)keys.count + 63) / 64;
}

/* ---- Keys and queries ------------------------------------------------------------------------ */

static bool make_keys(char *text, uint64_t count, uint64_t seed)
{
    struct tool_ids *ids = tool_ids_make(count, seed);
    if (ids == NULL)
        return false;
    size_t made = tool_ids_next(ids, (size_t)count, text);
    assert(made == count);
    (void)made;
    tool_ids_free(ids);
    return true;
}

static void make_queries(char *text, uint64_t count, uint64_t seed)
{
    struct tool_random random = tool_random_make(seed, 30);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = tool_scale(tool_random_next(&random), UINT64_C(1000000000000));
        for (unsigned digit = TOOL_DIGITS; digit-- > 0; number /= 10)
            text[digit] = (char)('0' + number % 10);
        text += TOOL_DIGITS;
    }
}

bool tool_experiment_start(struct tool_experiment *experiment, uint64_t keys, uint64_t queries,
                           double rate, uint64_t seed)
{
    *experiment = (struct tool_experiment){
        .rate = rate, .seed = seed, .progress = isatty(STDERR_FILENO) == 1};
    struct tool_meter *meter = &experiment->meter;
    say(experiment, "making the numbers", "");
    char *key_text = tool_meter_allocate(meter, keys * TOOL_DIGITS, 64);
    experiment->keys = (struct tool_digits){key_text, (size_t)keys};
    char *query_text = tool_meter_allocate(meter, queries * TOOL_DIGITS, 64);
    experiment->queries = (struct tool_digits){query_text, (size_t)queries};
    const uint64_t words = answer_words(experiment->queries);
    experiment->truth = tool_meter_allocate(meter, words * sizeof(uint64_t), 64);
    if (key_text == NULL || query_text == NULL || experiment->truth == NULL ||
        !make_keys(key_text, keys, seed)) {
        tool_experiment_end(experiment);
        tool_error("not enough memory for so many keys and queries");
        return false;
    }
    make_queries(query_text, queries, seed);
    return true;
}

static void release_digits(struct tool_meter *meter, struct tool_digits digits)
{
    /* The text is ours; that it is const is for the structures. */
    tool_meter_release(meter, (void *)(uintptr_t)digits.text, (uint64_t)digits.count * TOOL_DIGITS);
}

void tool_experiment_end(struct tool_experiment *experiment)
{
    struct tool_meter *meter = &experiment->meter;
    tool_meter_release(meter, experiment->truth,
                       answer_words(experiment->queries) * sizeof(uint64_t));
    release_digits(meter, experiment->keys);
    release_digits(meter, experiment->queries);
    say(experiment, "", "");
    assert(meter->bytes == 0);
}

uint64_t tool_experiment_absent(const struct tool_experiment *experiment)
{
    return (uint64_t)experiment->queries.count - experiment->members;
}

/* ---- No false negative ----------------------------------------------------------------------- */

enum {
    CHECK_KEYS = 4096, /* queried at once; a multiple of 64 */
    THREADS_MAX = 16,
};

/* One thread's part of querying every key that was added. */
struct check {
    const struct tool_structure *structure;
    const void *set;
    struct tool_digits keys;
    bool missing;       /* a key was not found */
    const char *absent; /* the first such key */
    pthread_t thread;
    bool started;
};

static void *check_keys(void *argument)
{
    struct check *check = argument;
    for (size_t from = 0; from < check->keys.count && !check->missing; from += CHECK_KEYS) {
        uint64_t answers[CHECK_KEYS / 64];
        size_t left = check->keys.count - from;
        struct tool_digits some = {tool_key_at(check->keys, from),
                                   left < CHECK_KEYS ? left : (size_t)CHECK_KEYS};
        check->structure->query(check->set, some, answers);
        for (size_t i = 0; i < some.count && !check->missing; i++)
            if ((answers[i / 64] >> i % 64 & 1) == 0) {
                check->missing = true;
                check->absent = tool_key_at(some, i);
            }
    }
    return NULL;
}

static bool report_missing(const struct tool_experiment *experiment,
                           const struct tool_structure *structure, const char *key)
{
    say(experiment, "", "");
    tool_error("FALSE NEGATIVE: %s says that %.*s, which was added, is not in it", structure->title,
               (int)TOOL_DIGITS, key);
    return false;
}

/* Queries every key that was added once. False after a message. */
static bool check_members(const struct tool_experiment *experiment,
                          const struct tool_structure *structure, const void *set)
{
    struct check checks[THREADS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors < 1             ? 1
                     : processors > THREADS_MAX ? (size_t)THREADS_MAX
                                                : (size_t)processors;
    const struct tool_digits keys = experiment->keys;
    for (size_t i = 0, from = 0; i < threads; i++) {
        size_t count = keys.count / threads + (i < keys.count % threads ? 1 : 0);
        checks[i] = (struct check){.structure = structure, .set = set};
        checks[i].keys = (struct tool_digits){keys.text + from * TOOL_DIGITS, count};
        from += count;
        /* The part for which no thread can be had is done here, further down. */
        checks[i].started =
            i > 0 && pthread_create(&checks[i].thread, NULL, check_keys, &checks[i]) == 0;
    }
    const char *absent = NULL;
    for (size_t i = 0; i < threads; i++) {
        if (checks[i].started)
            pthread_join(checks[i].thread, NULL);
        else
            check_keys(&checks[i]);
        if (checks[i].missing && absent == NULL)
            absent = checks[i].absent;
    }
    return absent == NULL || report_missing(experiment, structure, absent);
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Counts the answers against the truth, or makes them the truth. False after a message. */
static bool judge_answers(struct tool_experiment *experiment, const uint64_t *answers,
                          struct tool_trial *trial)
{
    const uint64_t words = answer_words(experiment->queries);
    if (!experiment->settled) {
        assert(trial->structure->exact);
        for (uint64_t i = 0; i < words; i++) {
            experiment->truth[i] = answers[i];
            experiment->members += (uint64_t)__builtin_popcountll(answers[i]);
        }
        experiment->settled = true;
        return true;
    }
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t missed = experiment->truth[i] & ~answers[i];
        if (missed != 0) {
            size_t query = (size_t)(i * 64) + (size_t)__builtin_ctzll(missed);
            return report_missing(experiment, trial->structure,
                                  tool_key_at(experiment->queries, query));
        }
        trial->false_positives +=
            (uint64_t)__builtin_popcountll(answers[i] & ~experiment->truth[i]);
    }
    if (trial->structure->exact && trial->false_positives > 0) {
        say(experiment, "", "");
        tool_error("%s, which is exact, has %llu numbers too many", trial->structure->title,
                   (unsigned long long)trial->false_positives);
        return false;
    }
    return true;
}

/* Whether so many false positives are as near to the rate predicted, or to that of these very bits,
 * as sets of this sort are. */
static bool within_stray(const void *set, const struct tool_trial *trial, uint64_t absent)
{
    const double stray = trial->structure->stray(set);
    const double allowed = trial->predicted_rate * trial->structure->allowed_factor(set);
    const double low = fmin(trial->predicted_rate, trial->live_rate);
    const double high = fmin(fmax(trial->predicted_rate, trial->live_rate), allowed);
    uint64_t least, most, unused;
    tool_plausible_hits(absent, fmax(low - stray, 0), &least, &unused);
    tool_plausible_hits(absent, fmin(high + stray, 1), &unused, &most);
    return trial->false_positives >= least && trial->false_positives <= most;
}

static void judge_rate(const struct tool_experiment *experiment, const void *set,
                       struct tool_trial *trial)
{
    const struct tool_structure *structure = trial->structure;
    trial->verdict = TOOL_EXACT;
    if (structure->exact)
        return;
    const uint64_t absent = tool_experiment_absent(experiment);
    const uint64_t found = trial->false_positives;
    trial->predicted_rate = structure->predicted_rate(set);
    trial->live_rate = structure->live_rate(set);
    if (absent == 0) { /* nothing was queried that could be a false positive */
        trial->verdict = TOOL_AS_PREDICTED;
        return;
    }
    tool_plausible_hits(absent, trial->predicted_rate, &trial->min_expected, &trial->max_expected);
    if (found >= trial->min_expected && found <= trial->max_expected)
        trial->verdict = TOOL_AS_PREDICTED;
    else if (tool_plausible(found, absent, trial->live_rate) &&
             trial->live_rate <= trial->predicted_rate * structure->allowed_factor(set))
        trial->verdict = TOOL_AS_THESE_BITS;
    else if (structure->stray != NULL && within_stray(set, trial, absent))
        trial->verdict = TOOL_AS_ITS_STEPS;
    else
        trial->verdict = TOOL_OFF;
}

/* ---- One structure --------------------------------------------------------------------------- */

static int run_built(struct tool_experiment *experiment, void *set, struct tool_trial *trial)
{
    const struct tool_structure *structure = trial->structure;
    const uint64_t bytes = answer_words(experiment->queries) * sizeof(uint64_t);
    uint64_t *answers = tool_meter_allocate(&experiment->meter, bytes, 64);
    if (answers == NULL) {
        tool_error("not enough memory for the answers");
        return TOOL_ERROR;
    }
    say(experiment, "asking the ", structure->title);
    double begin = now();
    structure->query(set, experiment->queries, answers);
    trial->query_seconds = now() - begin;

    int code = judge_answers(experiment, answers, trial) ? TOOL_FOUND : TOOL_NONE;
    if (code == TOOL_FOUND && structure->tell != NULL)
        code = structure->tell(set, experiment->queries, answers, trial);
    if (code == TOOL_FOUND && !check_members(experiment, structure, set))
        code = TOOL_NONE;
    if (code == TOOL_FOUND)
        judge_rate(experiment, set, trial);
    tool_meter_release(&experiment->meter, answers, bytes);
    return code;
}

int tool_experiment_run(struct tool_experiment *experiment, const struct tool_structure *structure,
                        struct tool_trial *trial)
{
    struct tool_meter meter = {0, 0};
    bool told = false;
    *trial = (struct tool_trial){.structure = structure};
    say(experiment, "building the ", structure->title);
    double begin = now();
    void *set = structure->make(experiment->keys, experiment->rate, &meter, &told);
    trial->build_seconds = now() - begin;
    if (set == NULL) {
        say(experiment, "", "");
        if (!told)
            tool_error("not enough memory for the %s", structure->title);
        return TOOL_ERROR;
    }
    trial->bytes = meter.bytes;
    trial->max_bytes = meter.most;
    int code = run_built(experiment, set, trial);
    structure->release(set, &meter);
    assert(meter.bytes == 0);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that Bloomery descends from, with every alternative beside it.
 *
 * The same identification numbers go into exact sets and into filters. Then strings of twelve
 * random digits are queried, of which nearly none is a number that was added. If a structure
 * reports "possibly" for one of the others, that is a false positive. If it reports "definitely
 * not" for a number that was added, it has failed, which ends the experiment. One thread builds,
 * queries and releases each structure before the next one, which is what is timed. Afterwards every
 * key that was added is queried once.
 *
 * The set of integers comes first, shown or not, and settles what is true. The other exact sets
 * must agree with it on every query, and filters are counted against it.
 */
#include "base/ids.h"
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/random.h"
#include "base/report.h"
#include "base/statistics.h"
#include "base/system.h"
#include "sets.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert((int)TOOL_ID_DIGITS == (int)TOOL_DIGITS, "the structures take what is generated");

enum verdict { EXACT, AS_PREDICTED, AS_THESE_BITS, OFF }; /* the last is a finding */
static const char *const verdicts[] = {
    "exact", "as predicted", "within what so small a structure varies by", "NOT AS PREDICTED"};

struct trial {
    struct tool_set set;
    double bits_per_key;
    double build_ns, query_ns; /* per key, of processor time */
    double seconds;            /* of both */
    uint64_t false_positives;
    double rate_absent;                  /* of the queries that are not keys */
    double rate_all;                     /* of all, as the original reports it */
    uint64_t min_expected, max_expected; /* that chance makes of the predicted rate */
    enum verdict verdict;
};

struct experiment {
    uint64_t key_count, query_count;
    double rate;
    uint64_t seed;
    bool json, chosen[TOOL_STRUCTURES];
    struct tool_digits keys, queries;
    uint64_t *truth;   /* bit i of word i / 64: query i is a key. By the set of integers */
    uint64_t *answers; /* those of one structure, to the queries or to all keys */
    uint64_t members;  /* how many queries are keys */
    struct trial trials[TOOL_STRUCTURES];
    bool finding; /* a rate is not as predicted */
};

/* ---- Keys and queries ------------------------------------------------------------------------ */

/* False after a message. */
static bool make_digits(struct experiment *own)
{
    const uint64_t most = own->key_count > own->query_count ? own->key_count : own->query_count;
    char *key_text = tool_pages(own->key_count * TOOL_DIGITS, 64);
    char *query_text = tool_pages(own->query_count * TOOL_DIGITS, 64);
    struct tool_ids *ids = tool_ids_make(own->key_count, own->seed);
    own->keys = (struct tool_digits){key_text, (size_t)own->key_count};
    own->queries = (struct tool_digits){query_text, (size_t)own->query_count};
    own->truth = tool_pages(own->query_count / 8 + 8, 64);
    own->answers = tool_pages(most / 8 + 8, 64);
    const bool enough = key_text != NULL && query_text != NULL && ids != NULL &&
                        own->truth != NULL && own->answers != NULL;
    if (enough) {
        tool_ids_next(ids, own->keys.count, key_text);
        struct tool_random random = tool_random_make(own->seed, 30);
        for (uint64_t i = 0; i < own->query_count; i++) {
            uint64_t number = tool_scale(tool_random_next(&random), UINT64_C(1000000000000));
            for (unsigned digit = TOOL_DIGITS; digit-- > 0; number /= 10)
                query_text[i * TOOL_DIGITS + digit] = (char)('0' + number % 10);
        }
    } else
        tool_error("not enough memory for these keys and queries");
    tool_ids_free(ids);
    return enough;
}

/* ---- One structure --------------------------------------------------------------------------- */

/* Returns the processor's nanoseconds that this thread used. Other work is not counted. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Counts the answers that may be wrong. Keys of which none is missing are those with a bit in
 * `truth`; NULL: all. False after a message: one is. */
static bool compare(const struct experiment *own, struct trial *trial, struct tool_digits keys,
                    const uint64_t *truth)
{
    for (size_t i = 0; i * 64 < keys.count; i++) {
        const size_t count = keys.count - i * 64 < 64 ? keys.count - i * 64 : 64;
        const uint64_t members = truth != NULL ? truth[i] : UINT64_MAX >> (64 - count);
        const uint64_t missed = members & ~own->answers[i];
        if (missed != 0) {
            tool_error("FALSE NEGATIVE: %s says that %.*s, which was added, is not in it",
                       trial->set.structure->title, (int)TOOL_DIGITS,
                       keys.text + (i * 64 + (size_t)__builtin_ctzll(missed)) * TOOL_DIGITS);
            return false;
        }
        trial->false_positives += (uint64_t)__builtin_popcountll(own->answers[i] & ~members);
    }
    return true;
}

/* Whether there are as many false positives as the predicted rate makes. Small structures have the
 * rate of their very bits, which may be some way off. Exact ones have none. */
static void judge(struct experiment *own, struct trial *trial)
{
    struct tool_set *set = &trial->set;
    const uint64_t absent = own->query_count - own->members;
    const uint64_t hits = trial->false_positives;
    trial->rate_absent = absent > 0 ? (double)hits / (double)absent : 0;
    trial->rate_all = (double)hits / (double)own->query_count;
    if (!set->structure->exact)
        tool_set_settle(set);
    double low = fmin(set->predicted_rate, set->live_rate);
    double high = fmin(fmax(set->predicted_rate, set->live_rate), set->allowed_rate);
    uint64_t least, most, unused;
    tool_plausible_hits(absent, fmax(low - set->stray, 0), &least, &unused);
    tool_plausible_hits(absent, fmin(high + set->stray, 1), &unused, &most);
    tool_plausible_hits(absent, set->predicted_rate, &trial->min_expected, &trial->max_expected);
    if (hits >= trial->min_expected && hits <= trial->max_expected)
        trial->verdict = set->structure->exact ? EXACT : AS_PREDICTED;
    else
        trial->verdict = hits >= least && hits <= most ? AS_THESE_BITS : OFF;
    own->finding |= trial->verdict == OFF;
}

/* Builds the structure, queries it and compares the answers with the truth, or makes them the
 * truth. An exit code. */
static int run_one(struct experiment *own, size_t index)
{
    struct trial *trial = &own->trials[index];
    const struct tool_structure *structure = &tool_structures[index];
    trial->set = (struct tool_set){.structure = structure, .keys = own->keys, .rate = own->rate};
    const double begin = now();
    int code = structure->fill(&trial->set) ? TOOL_FOUND : TOOL_ERROR;
    const double built = now();
    trial->build_ns = (built - begin) / (double)own->key_count;
    trial->bits_per_key = 8 * (double)trial->set.bytes / (double)own->key_count;
    if (code == TOOL_FOUND) {
        structure->query(&trial->set, own->queries, own->answers);
        trial->query_ns = (now() - built) / (double)own->query_count;
        trial->seconds = (now() - begin) / 1e9;
        for (uint64_t i = 0; index == TOOL_INTEGERS && i * 64 < own->query_count; i++) {
            own->truth[i] = own->answers[i];
            own->members += (uint64_t)__builtin_popcountll(own->answers[i]);
        }
        if (!compare(own, trial, own->queries, own->truth))
            code = TOOL_NONE;
        structure->query(&trial->set, own->keys, own->answers);
        if (code == TOOL_FOUND && !compare(own, trial, own->keys, NULL))
            code = TOOL_NONE;
        judge(own, trial);
    }
    tool_set_release(&trial->set);
    return code;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* A count for a text, within one expression. */
#define COUNT(value) tool_format_count((char[TOOL_NUMBER_BYTES]){0}, value)

static void print_table(struct tool_out *out, const struct experiment *own)
{
    static const char columns[] = "%-24s %10s %9s %7s %7s %11s %10s %10s %10s\n";
    tool_out_format(out,
                    "%s identification number%s added to each structure; then %s random number%s\n"
                    "looked up, each of 12 digits; %s of them had been added.\n\n",
                    COUNT(own->key_count), own->key_count == 1 ? " was" : "s were",
                    COUNT(own->query_count), own->query_count == 1 ? " was" : "s were",
                    COUNT(own->members));
    tool_out_format(out, columns, "", "", "", "build", "query", "false", "rate of", "rate of",
                    "rate");
    tool_out_format(out, columns, "structure", "memory", "bits/key", "ns/key", "ns/key",
                    "positives", "absent", "all", "predicted");
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        const struct trial *trial = &own->trials[i];
        if (own->chosen[i])
            tool_out_format(out, "%-24s %10s %9.2f %7.1f %7.1f %11s %10.4g %10.4g %10.4g\n",
                            tool_structures[i].title,
                            tool_format_size((char[TOOL_NUMBER_BYTES]){0}, trial->set.bytes),
                            trial->bits_per_key, trial->build_ns, trial->query_ns,
                            COUNT(trial->false_positives), trial->rate_absent, trial->rate_all,
                            trial->set.predicted_rate);
    }
    tool_out_text(out, "\n");
}

/* The original's plan and findings, which are facts and no results, beside what was measured. */
static void print_lineage(struct tool_out *out, const struct experiment *own)
{
    static const char columns[] = "  %-53s %14s %17s\n";
    const struct trial *guava = &own->trials[TOOL_GUAVA], *sha384 = &own->trials[TOOL_SHA384];
    const bool sliced = own->chosen[TOOL_SHA384];
    const double slices = (double)sha384->set.shape.bits;
    char here[TOOL_NUMBER_BYTES], best[52] = "-", rates[48] = "-", seconds[2][24] = {"-", "-"};
    if (own->chosen[TOOL_GUAVA])
        snprintf(seconds[0], 24, "%.2f", guava->seconds);
    if (sliced) {
        snprintf(seconds[1], 24, "%.2f", sha384->seconds);
        snprintf(best, sizeof(best), "%.0f; %u", ceil(log(2) * slices / (double)own->key_count),
                 sha384->set.shape.probes);
        snprintf(rates, sizeof(rates), "%.4g; %.4g", sha384->set.predicted_rate,
                 sha384->rate_absent);
    }
    tool_out_text(out,
                  "\nThe experiment this one repeats compared Guava's filter, asked for a rate "
                  "of 0.01, with one\nmade of SHA-384, both in Java:\n\n");
    tool_out_format(out, columns, "", "there", "here");
    tool_out_format(out, columns, "numbers", "20,000,000", COUNT(own->key_count));
    tool_out_format(out, columns, "rate that Guava is asked for", "0.01",
                    tool_format_exact(here, own->rate));
    tool_out_format(out, columns, "bits by Guava's formula; its filter has whole words",
                    "191,701,168", own->chosen[TOOL_GUAVA] ? COUNT(guava->set.shape.bits) : "-");
    tool_out_format(out, columns, "bits of the SHA-384 filter, the next power of two",
                    "268,435,456", sliced ? COUNT(sha384->set.shape.bits) : "-");
    tool_out_format(out, columns, "bits set for a number in it: best (rounded up); used", "10; 12",
                    best);
    tool_out_format(out, columns, "its rate: expected; measured", "0.0018", rates);
    snprintf(best, sizeof(best), "%s / %s", seconds[0], seconds[1]);
    tool_out_format(out, columns, "seconds, Guava's / SHA-384; there on a JVM", "5 / 11", best);
}

static int print_text(const struct experiment *own)
{
    struct tool_out out;
    tool_out_start(&out);
    print_table(&out, own);
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        const struct trial *trial = &own->trials[i];
        if (own->chosen[i] && trial->verdict != EXACT)
            tool_out_format(&out, "%s: %s false positives where chance allows %s to %s: %s.\n",
                            tool_structures[i].title, COUNT(trial->false_positives),
                            COUNT(trial->min_expected), COUNT(trial->max_expected),
                            verdicts[trial->verdict]);
    }
    print_lineage(&out, own);
    tool_out_format(&out, "\nIn short: no structure lost any of the %s number%s added to it",
                    COUNT(own->key_count), own->key_count == 1 ? "" : "s");
    bool first = true;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        char rate[TOOL_NUMBER_BYTES];
        if (!own->chosen[i] || !tool_structures[i].requested_rate)
            continue;
        if (first)
            tool_out_format(&out, ". Asked for a rate of %s", tool_format_exact(rate, own->rate));
        tool_out_format(&out, ",\nthe %s filter predicted %.4g and measured %.4g",
                        tool_structures[i].name, own->trials[i].set.predicted_rate,
                        own->trials[i].rate_absent);
        first = false;
    }
    tool_out_text(&out, ".\n");
    return tool_out_finish(&out, own->finding ? TOOL_NONE : TOOL_FOUND);
}

#define ADD_COUNT(name, value)  tool_fact(report, name, NULL, tool_count(value))
#define ADD_NUMBER(name, value) tool_fact(report, name, NULL, tool_number(value))

/* What is not known of an exact set is 0. */
static void add_trial(struct tool_report *report, const struct trial *trial)
{
    const struct tool_set *set = &trial->set;
    tool_fact(report, "name", NULL, tool_text(set->structure->name));
    tool_fact(report, "exact", NULL, tool_yes(set->structure->exact));
    tool_fact(report, "verdict", NULL, tool_text(verdicts[trial->verdict]));
    ADD_COUNT("bytes", set->bytes);
    ADD_NUMBER("bits_per_key", trial->bits_per_key);
    ADD_NUMBER("build_ns_per_key", trial->build_ns);
    ADD_NUMBER("query_ns_per_key", trial->query_ns);
    ADD_COUNT("false_positives", trial->false_positives);
    ADD_NUMBER("rate_absent", trial->rate_absent);
    ADD_NUMBER("rate_all", trial->rate_all);
    ADD_NUMBER("predicted_rate", set->predicted_rate);
    ADD_NUMBER("live_rate", set->live_rate);
    ADD_COUNT("least_expected", trial->min_expected);
    ADD_COUNT("most_expected", trial->max_expected);
    ADD_COUNT("bits", set->shape.bits);
    ADD_COUNT("probes", set->shape.probes);
    ADD_COUNT("written_bytes", set->written_bytes);
    ADD_COUNT("written_crc32", set->written_crc);
}

static int print_json(const struct experiment *own)
{
    struct tool_report *report = tool_report_start("experiment", (struct tool_report_form){0});
    ADD_COUNT("keys", own->key_count);
    ADD_COUNT("queries", own->query_count);
    ADD_COUNT("member_queries", own->members);
    ADD_NUMBER("rate", own->rate);
    tool_fact(report, "seed", NULL, tool_decimal(own->seed));
    struct tool_report *rows = tool_fact_list(report, "structures");
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (own->chosen[i])
            add_trial(tool_fact_object(rows, NULL), &own->trials[i]);
    tool_fact(report, "finding", NULL, tool_yes(own->finding));
    return tool_report_print(report, true, own->finding ? TOOL_NONE : TOOL_FOUND);
}

/* ---- The command line ------------------------------------------------------------------------ */

enum { LIST_BYTES = 200 };

/* Chooses the structures of a list. False after a message. */
static bool choose(struct experiment *own, char list[LIST_BYTES])
{
    const char *names[TOOL_STRUCTURES];
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        names[i] = tool_structures[i].name;
        own->chosen[i] = false;
    }
    for (char *word = list, *next; word != NULL; word = next) {
        next = strchr(word, ',');
        if (next != NULL)
            *next++ = 0;
        size_t i = 0;
        while (i < TOOL_STRUCTURES && strcmp(names[i], word) != 0)
            i++;
        if (i == TOOL_STRUCTURES) {
            const char *nearest = tool_nearest(word, names, TOOL_STRUCTURES);
            tool_usage(nearest != NULL ? "unknown structure '%s'; did you mean '%s'?"
                                       : "unknown structure '%s'; --help lists them",
                       word, nearest);
            return false;
        }
        own->chosen[i] = true;
    }
    return true;
}

static bool take_structures(const char *option, const char *text, void *at)
{
    char list[LIST_BYTES];
    if (strlen(text) >= sizeof(list))
        return !tool_usage("%s: the list is too long", option);
    snprintf(list, sizeof(list), "%s", text);
    return choose(at, list);
}

static bool take_keys(const char *option, const char *text, void *at)
{
    (void)option;
    return tool_option_count("--keys", text, 1, tool_ids_maximum(), at);
}

/* More queries would not fit into the memory of any machine. */
static const struct tool_option options[] = {
    {'n', "keys", "N", TOOL_CALL(struct experiment, key_count, take_keys),
     .help = "how many numbers are added. Default 20M"},
    {0, "queries", "M", TOOL_COUNT(struct experiment, query_count, 1, UINT64_C(1000000000000)),
     .help = "how many random 12-digit numbers are queried. Default 10M"},
    {'p', "rate", "RATE", TOOL_RATE(struct experiment, rate),
     .help = "the false-positive rate of the filters. Default 0.01"},
    {0, "seed", "S", TOOL_COUNT(struct experiment, seed, 0, UINT64_MAX),
     .help = "other numbers. Default 0"},
    {0, "structures", "L", TOOL_CALL_WHOLE(take_structures),
     .help = "only these, separated by commas: strings, sorted, integers, md5, bitmap, blocked, "
             "classic, guava, sha384-slices. Default: all but the last, a slow one"},
    {0, "json", NULL, TOOL_FLAG(struct experiment, json),
     .help = "one JSON object, numbers unrounded"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};

static int experiment_main(int argc, char **argv)
{
    struct experiment own = {.key_count = 20000000, .query_count = 10000000, .rate = 0.01};
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        own.chosen[i] = i != TOOL_SHA384;
#ifndef BLOOMERY_HAVE_LIBCRYPTO
    own.chosen[TOOL_MD5] = false;
#endif
    int code;
    if (!tool_options_read(argc, argv, &own, &code))
        return code;
    if (optind < argc)
        return tool_usage("'%s': experiment takes no operands", argv[optind]);
    code = make_digits(&own) ? run_one(&own, TOOL_INTEGERS) : TOOL_ERROR;
    for (size_t i = 0; i < TOOL_STRUCTURES && code == TOOL_FOUND; i++)
        if (own.chosen[i] && i != TOOL_INTEGERS)
            code = run_one(&own, i);
    free((void *)(uintptr_t)own.keys.text);
    free((void *)(uintptr_t)own.queries.text);
    free(own.truth);
    free(own.answers);
    if (code != TOOL_FOUND)
        return code;
    return own.json ? print_json(&own) : print_text(&own);
}

int main(int argc, char **argv)
{
    static const struct tool_command command = {
        .name = "bloomery-experiment",
        .run = experiment_main,
        .synopsis =
            "bloomery-experiment [--keys N] [--queries M] [-p RATE] [--structures NAME,...]",
        .introduction =
            "Adds the same invented identification numbers to exact sets and filters, queries "
            "each with the same random numbers, and compares memory, time and false positives. "
            "Every number that was added is queried too: if one is not found, the experiment ends "
            "with exit code 1.",
        .groups = groups,
        .epilogue = "Exit codes: 0 all well; 1 a number that was added was not found, or a rate is "
                    "not as predicted; 2 an error. The default run takes about a gigabyte of "
                    "memory and half a minute.",
    };
    if (!tool_standard_begin())
        return TOOL_ERROR;
    tool_set_program(&command);
    return command.run(argc, argv);
}

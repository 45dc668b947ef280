/* SPDX-License-Identifier: Apache-2.0 */
#include "experiment_report.h"

#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>

/* Whether the same filter, here and on a JVM, came out with the same bytes; true if one of them was
 * not requested. */
static bool same_bytes(const struct tool_trial *here, const struct tool_trial *there)
{
    return here == NULL || there == NULL || here->written_bytes == 0 ||
           (here->written_bytes == there->written_bytes && here->written_crc == there->written_crc);
}

/* The trial of a structure, NULL if it was not requested. */
static const struct tool_trial *trial_of(const struct tool_results *results,
                                         const struct tool_structure *structure)
{
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (results->queried[i] && results->trials[i].structure == structure)
            return &results->trials[i];
    return NULL;
}

static int final_code(const struct tool_results *results)
{
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (results->queried[i] && results->trials[i].verdict == TOOL_OFF)
            return TOOL_NONE;
    return same_bytes(trial_of(results, &tool_guava_filter),
                      trial_of(results, &tool_guava_on_jvm)) &&
                   same_bytes(trial_of(results, &tool_sha384_filter),
                              trial_of(results, &tool_sha384_on_jvm))
               ? TOOL_FOUND
               : TOOL_NONE;
}

static double bits_per_key(const struct tool_experiment *experiment, const struct tool_trial *trial)
{
    return 8 * (double)trial->bytes / (double)experiment->keys.count;
}

/* Of the absent queries, and, as the original reports it, of all. */
static double rate_absent(const struct tool_experiment *experiment, const struct tool_trial *trial)
{
    uint64_t absent = tool_experiment_absent(experiment);
    return absent > 0 ? (double)trial->false_positives / (double)absent : 0;
}

static double rate_all(const struct tool_experiment *experiment, const struct tool_trial *trial)
{
    return (double)trial->false_positives / (double)experiment->queries.count;
}

static double nanoseconds(double seconds, size_t count)
{
    return 1e9 * seconds / (double)count;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_row(struct tool_out *out, const struct tool_experiment *experiment,
                      const struct tool_trial *trial)
{
    char memory[TOOL_NUMBER_BYTES], hits[TOOL_NUMBER_BYTES], predicted[TOOL_NUMBER_BYTES];
    char absent[32], all[32];
    snprintf(absent, sizeof(absent), "%.4g", rate_absent(experiment, trial));
    snprintf(all, sizeof(all), "%.4g", rate_all(experiment, trial));
    snprintf(predicted, sizeof(predicted), "%.4g", trial->predicted_rate);
    tool_out_format(out, "%-24s %10s %9.2f %7.1f %7.1f %11s %10s %10s %10s\n",
                    trial->structure->title, tool_format_size(memory, trial->bytes),
                    bits_per_key(experiment, trial),
                    nanoseconds(trial->build_seconds, experiment->keys.count),
                    nanoseconds(trial->query_seconds, experiment->queries.count),
                    tool_format_count(hits, trial->false_positives), absent, all,
                    trial->structure->exact ? "0" : predicted);
}

static void print_table(struct tool_out *out, const struct tool_experiment *experiment,
                        const struct tool_results *results)
{
    char keys[TOOL_NUMBER_BYTES], queries[TOOL_NUMBER_BYTES], members[TOOL_NUMBER_BYTES];
    tool_out_format(out,
                    "%s identification number%s added to each structure; then %s random number%s\n"
                    "asked, each of 12 digits; %s of them had been added.\n\n",
                    tool_format_count(keys, experiment->keys.count),
                    experiment->keys.count == 1 ? " was" : "s were",
                    tool_format_count(queries, experiment->queries.count),
                    experiment->queries.count == 1 ? " was" : "s were",
                    tool_format_count(members, experiment->members));
    tool_out_format(out, "%-24s %10s %9s %7s %7s %11s %10s %10s %10s\n", "", "", "", "build",
                    "query", "false", "rate of", "rate of", "rate");
    tool_out_format(out, "%-24s %10s %9s %7s %7s %11s %10s %10s %10s\n", "structure", "memory",
                    "bits/key", "ns/key", "ns/key", "positives", "absent", "all", "predicted");
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (results->queried[i])
            print_row(out, experiment, &results->trials[i]);
    tool_out_text(out, "\n");
}

static void print_verdict(struct tool_out *out, const struct tool_trial *trial)
{
    char found[TOOL_NUMBER_BYTES], least[TOOL_NUMBER_BYTES], most[TOOL_NUMBER_BYTES];
    const char *verdict = "as predicted";
    if (trial->verdict == TOOL_AS_THESE_BITS)
        verdict = "within what so small a structure varies by";
    else if (trial->verdict == TOOL_AS_ITS_STEPS)
        verdict = "its bits lie in steps, by which so small a filter varies as much";
    else if (trial->verdict == TOOL_OFF)
        verdict = "NOT AS PREDICTED";
    tool_out_format(out, "%s: %s false positives where chance allows %s to %s: %s.\n",
                    trial->structure->title, tool_format_count(found, trial->false_positives),
                    tool_format_count(least, trial->min_expected),
                    tool_format_count(most, trial->max_expected), verdict);
}

/* ---- The original experiment ----------------------------------------------------------------- */

/* The original's plan and findings: facts, not results. */
enum {
    LINEAGE_KEYS = 20000000,
    LINEAGE_FORMULA_BITS = 191701168, /* -n ln p / (ln 2)^2, rounded up, for p = 0.01 */
    LINEAGE_FILTER_BITS = 268435456,  /* 2^28, the next power of two */
    LINEAGE_BEST_PROBES = 10,         /* ln 2 m / n, rounded up */
    LINEAGE_PROBES = 12,              /* used: as many as SHA-384 has 32-bit words */
    LINEAGE_GUAVA_SECONDS = 5,
    LINEAGE_SHA384_SECONDS = 11,
};
#define LINEAGE_RATE 0.0018

static double seconds(const struct tool_trial *trial)
{
    return trial->build_seconds + trial->query_seconds;
}

/* The seconds of both filters, or of one, or nothing. */
static void describe_seconds(char *text, size_t room, const struct tool_trial *guava,
                             const struct tool_trial *sha384)
{
    char first[32] = "-";
    char second[32] = "-";
    if (guava != NULL)
        snprintf(first, sizeof(first), "%.2f", seconds(guava));
    if (sha384 != NULL)
        snprintf(second, sizeof(second), "%.2f", seconds(sha384));
    snprintf(text, room, "%s / %s", first, second);
}

/* One line: then, and now. */
static void print_then_and_now(struct tool_out *out, const char *what, const char *then,
                               const char *now)
{
    tool_out_format(out, "  %-53s %14s %17s\n", what, then, now);
}

static void print_lineage_bits(struct tool_out *out, const struct tool_trial *guava,
                               const struct tool_trial *sha384)
{
    char then[TOOL_NUMBER_BYTES];
    char now[TOOL_NUMBER_BYTES] = "-";
    if (guava != NULL)
        tool_format_count(now, guava->bits);
    print_then_and_now(out, "bits by Guava's formula; its filter has whole words",
                       tool_format_count(then, LINEAGE_FORMULA_BITS), now);
    snprintf(now, sizeof(now), "-");
    if (sha384 != NULL)
        tool_format_count(now, sha384->bits);
    print_then_and_now(out, "bits of the SHA-384 filter, the next power of two",
                       tool_format_count(then, LINEAGE_FILTER_BITS), now);
}

static void print_lineage_rate(struct tool_out *out, const struct tool_experiment *experiment,
                               const struct tool_trial *sha384)
{
    char then[32], now[32] = "-";
    snprintf(then, sizeof(then), "%d; %d", LINEAGE_BEST_PROBES, LINEAGE_PROBES);
    if (sha384 != NULL)
        snprintf(now, sizeof(now), "%.0f; %u",
                 ceil(log(2) * (double)sha384->bits / (double)experiment->keys.count),
                 sha384->probes);
    print_then_and_now(out, "bits set for a number in it: best (rounded up); used", then, now);
    snprintf(then, sizeof(then), "%.4f", LINEAGE_RATE);
    if (sha384 != NULL)
        snprintf(now, sizeof(now), "%.4g; %.4g", sha384->predicted_rate,
                 rate_absent(experiment, sha384));
    print_then_and_now(out, "its rate: expected; measured", then, now);
}

static void print_lineage(struct tool_out *out, const struct tool_experiment *experiment,
                          const struct tool_results *results)
{
    const struct tool_trial *guava = trial_of(results, &tool_guava_filter);
    const struct tool_trial *sha384 = trial_of(results, &tool_sha384_filter);
    const struct tool_trial *guava_on_jvm = trial_of(results, &tool_guava_on_jvm);
    const struct tool_trial *sha384_on_jvm = trial_of(results, &tool_sha384_on_jvm);
    const struct tool_trial *any_guava = guava != NULL ? guava : guava_on_jvm;
    const struct tool_trial *any_sha384 = sha384 != NULL ? sha384 : sha384_on_jvm;
    char then[TOOL_NUMBER_BYTES], now[64];
    tool_out_text(out,
                  "\nThe experiment this one repeats compared Guava's filter, asked for a rate "
                  "of 0.01, with one\nmade of SHA-384, both in Java:\n\n");
    print_then_and_now(out, "", "there", "here");
    tool_format_count(now, experiment->keys.count);
    print_then_and_now(out, "numbers", tool_format_count(then, LINEAGE_KEYS), now);
    tool_format_exact(now, experiment->rate);
    print_then_and_now(out, "rate that Guava is asked for", "0.01", now);
    print_lineage_bits(out, any_guava, any_sha384);
    print_lineage_rate(out, experiment, any_sha384);
    snprintf(then, sizeof(then), "%d / %d", LINEAGE_GUAVA_SECONDS, LINEAGE_SHA384_SECONDS);
    describe_seconds(now, sizeof(now), guava_on_jvm, sha384_on_jvm);
    if (guava_on_jvm != NULL || sha384_on_jvm != NULL)
        print_then_and_now(out, "seconds on a JVM, Guava's / SHA-384", then, now);
    else
        print_then_and_now(out, "seconds on a JVM, Guava's / SHA-384", then, "--jvm asks");
    describe_seconds(now, sizeof(now), guava, sha384);
    print_then_and_now(out, "seconds in this program", "-", now);
}

/* ---- What ran on a JVM ----------------------------------------------------------------------- */

static void print_process(struct tool_out *out, const struct tool_trial *trial,
                          const struct tool_trial *here)
{
    char memory[TOOL_NUMBER_BYTES], bytes[TOOL_NUMBER_BYTES];
    if (trial == NULL)
        return;
    tool_out_format(out, "%s: the process took %s and %.1f s of processors",
                    trial->structure->title,
                    trial->process_bytes > 0 ? tool_format_size(memory, trial->process_bytes)
                                             : "unknown memory",
                    trial->process_seconds);
    if (trial->written_bytes > 0)
        tool_out_format(out,
                        ".\nIts filter is %s bytes, CRC-32 %08x; read here, it answers the same",
                        tool_format_count(bytes, trial->written_bytes), trial->written_crc);
    if (here != NULL && here->written_bytes > 0)
        tool_out_text(out, same_bytes(here, trial) ? ".\nThis program made the same bytes"
                                                   : ".\nTHIS PROGRAM MADE OTHER BYTES");
    tool_out_text(out, ".\n");
}

static void print_processes(struct tool_out *out, const struct tool_results *results)
{
    const struct tool_trial *guava = trial_of(results, &tool_guava_on_jvm);
    const struct tool_trial *sha384 = trial_of(results, &tool_sha384_on_jvm);
    if (guava != NULL || sha384 != NULL)
        tool_out_text(out, "\n");
    print_process(out, guava, trial_of(results, &tool_guava_filter));
    print_process(out, sha384, trial_of(results, &tool_sha384_filter));
}

static void print_conclusion(struct tool_out *out, const struct tool_experiment *experiment,
                             const struct tool_results *results)
{
    char number[TOOL_NUMBER_BYTES];
    tool_out_format(out, "\nIn short: no structure lost any of the %s number%s added to it",
                    tool_format_count(number, experiment->keys.count),
                    experiment->keys.count == 1 ? "" : "s");
    bool first = true;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        const struct tool_trial *trial = &results->trials[i];
        if (!results->queried[i] || !trial->structure->requested_rate)
            continue;
        if (first)
            tool_out_format(out, ". Asked for a rate of %s",
                            tool_format_exact(number, experiment->rate));
        tool_out_format(out, ",\nthe %s filter predicted %.4g and measured %.4g",
                        trial->structure->name, trial->predicted_rate,
                        rate_absent(experiment, trial));
        first = false;
    }
    tool_out_text(out, ".\n");
}

int tool_experiment_text(const struct tool_experiment *experiment,
                         const struct tool_results *results)
{
    struct tool_out out;
    tool_out_start(&out);
    print_table(&out, experiment, results);
#ifndef BLOOMERY_HAVE_LIBCRYPTO
    tool_out_text(&out, "(No set of MD5 digests: this program was built without libcrypto.)\n\n");
#endif
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (results->queried[i] && results->trials[i].verdict != TOOL_EXACT)
            print_verdict(&out, &results->trials[i]);
    print_processes(&out, results);
    print_lineage(&out, experiment, results);
    print_conclusion(&out, experiment, results);
    return tool_out_finish(&out, final_code(results));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Geometry and bytes of another system's filter. */
static void add_foreign(json_t *object, const struct tool_trial *trial)
{
    tool_json_add(object, "bits", tool_json_count(trial->bits));
    tool_json_add(object, "probes", tool_json_count(trial->probes));
    if (trial->written_bytes > 0) {
        tool_json_add(object, "written_bytes", tool_json_count(trial->written_bytes));
        tool_json_add(object, "written_crc32", tool_json_count(trial->written_crc));
    }
}

static json_t *process_object(const struct tool_trial *trial)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "processor_seconds", tool_json_number(trial->process_seconds));
    tool_json_add(object, "most_bytes",
                  trial->process_bytes > 0 ? tool_json_count(trial->process_bytes)
                                           : tool_json_null());
    return object;
}

static json_t *trial_object(const struct tool_experiment *experiment,
                            const struct tool_trial *trial)
{
    static const char *const verdicts[] = {
        [TOOL_EXACT] = "exact",
        [TOOL_AS_PREDICTED] = "as predicted",
        [TOOL_AS_THESE_BITS] = "as these bits",
        [TOOL_AS_ITS_STEPS] = "as its steps",
        [TOOL_OFF] = "off",
    };
    json_t *object = tool_json_object();
    tool_json_add(object, "name", tool_json_text(trial->structure->name));
    tool_json_add(object, "exact", tool_json_bool(trial->structure->exact));
    tool_json_add(object, "bytes", tool_json_count(trial->bytes));
    tool_json_add(object, "most_bytes", tool_json_count(trial->max_bytes));
    tool_json_add(object, "bits_per_key", tool_json_number(bits_per_key(experiment, trial)));
    tool_json_add(object, "build_ns_per_key",
                  tool_json_number(nanoseconds(trial->build_seconds, experiment->keys.count)));
    tool_json_add(object, "query_ns_per_key",
                  tool_json_number(nanoseconds(trial->query_seconds, experiment->queries.count)));
    tool_json_add(object, "false_negatives", tool_json_count(0)); /* one would have ended it */
    tool_json_add(object, "false_positives", tool_json_count(trial->false_positives));
    tool_json_add(object, "rate_absent", tool_json_number(rate_absent(experiment, trial)));
    tool_json_add(object, "rate_all", tool_json_number(rate_all(experiment, trial)));
    if (!trial->structure->exact) {
        tool_json_add(object, "predicted_rate", tool_json_number(trial->predicted_rate));
        tool_json_add(object, "live_rate", tool_json_number(trial->live_rate));
        tool_json_add(object, "least_expected", tool_json_count(trial->min_expected));
        tool_json_add(object, "most_expected", tool_json_count(trial->max_expected));
    }
    tool_json_add(object, "verdict", tool_json_text(verdicts[trial->verdict]));
    if (trial->bits > 0)
        add_foreign(object, trial);
    if (trial->process)
        tool_json_add(object, "process", process_object(trial));
    return object;
}

/* The original's plan and findings. */
static json_t *lineage_object(void)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "keys", tool_json_count(LINEAGE_KEYS));
    tool_json_add(object, "guava_formula_bits", tool_json_count(LINEAGE_FORMULA_BITS));
    tool_json_add(object, "sha384_bits", tool_json_count(LINEAGE_FILTER_BITS));
    tool_json_add(object, "sha384_best_probes", tool_json_count(LINEAGE_BEST_PROBES));
    tool_json_add(object, "sha384_probes", tool_json_count(LINEAGE_PROBES));
    tool_json_add(object, "sha384_rate", tool_json_number(LINEAGE_RATE));
    tool_json_add(object, "guava_seconds", tool_json_count(LINEAGE_GUAVA_SECONDS));
    tool_json_add(object, "sha384_seconds", tool_json_count(LINEAGE_SHA384_SECONDS));
    return object;
}

int tool_experiment_json(const struct tool_experiment *experiment,
                         const struct tool_results *results)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)experiment->seed);
    json_t *report = tool_json_report("experiment");
    tool_json_add(report, "keys", tool_json_count(experiment->keys.count));
    tool_json_add(report, "queries", tool_json_count(experiment->queries.count));
    tool_json_add(report, "member_queries", tool_json_count(experiment->members));
    tool_json_add(report, "rate", tool_json_number(experiment->rate));
    tool_json_add(report, "seed", tool_json_text(seed));
    json_t *rows = tool_json_array();
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        if (results->queried[i])
            tool_json_append(rows, trial_object(experiment, &results->trials[i]));
    tool_json_add(report, "structures", rows);
    tool_json_add(report, "lineage", lineage_object());
    tool_json_add(report, "finding", tool_json_bool(final_code(results) != TOOL_FOUND));
    return tool_json_print(report, final_code(results));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* experiment: runs the lineage experiment (experiment.c) over the structures asked for, and prints
 * what came out as a table. */
#include "experiment.h"
#include "ids.h"
#include "json.h"
#include "numbers.h"
#include "out.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "bloomery experiment [--keys N] [--queries M] [-p RATE] [--structures NAME,NAME...]\n"
    "\n"
    "Puts the same invented identification numbers into exact sets and into filters, asks all of "
    "them\n"
    "the same random numbers, and compares memory, time and false positives. Every number that "
    "was\n"
    "added is asked too: one that is not found ends the experiment with exit code 1.\n"
    "\n"
    "  -n, --keys N         how many numbers are added. Default 20M\n"
    "      --queries M      how many random 12-digit numbers are asked. Default 10M\n"
    "  -p, --rate RATE      the rate to ask of the filters. Default 0.01\n"
    "      --seed S         other numbers. Default 0\n"
    "      --structures L   only these, separated by commas: strings, sorted, integers, md5,\n"
    "                       bitmap, blocked, classic\n"
    "      --json           one JSON object, numbers unrounded\n"
    "\n"
    "Exit codes: 0 all well; 1 a number that was added was not found, or a rate is not as "
    "predicted;"
    "\n"
    "2 an error. The default run takes about a gigabyte of memory and half a minute at most.\n"
    "\n"
    "  bloomery experiment\n"
    "  bloomery experiment --keys 1M --queries 1M -p 1e-3 --structures integers,blocked,classic\n";

struct request {
    uint64_t keys;
    uint64_t queries;
    double rate;
    uint64_t seed;
    const char *structures; /* NULL: all */
    bool json;
};

static const struct tool_structure *const structures[] = {
    &tool_string_set,      &tool_sorted_list,    &tool_integer_set,
#ifdef BLOOMERY_HAVE_LIBCRYPTO
    &tool_digest_set,
#endif
    &tool_one_hash_bitmap, &tool_blocked_filter, &tool_classic_filter,
};

enum { STRUCTURES = sizeof(structures) / sizeof(structures[0]) };

/* All trials, in the order of `structures`; `asked` marks those to show. */
struct results {
    struct tool_trial trials[STRUCTURES];
    bool asked[STRUCTURES];
};

/* ---- Choosing structures --------------------------------------------------------------------- */

static bool choose_one(const char *name, size_t length, struct results *results)
{
    const char *names[STRUCTURES];
    for (size_t i = 0; i < STRUCTURES; i++) {
        names[i] = structures[i]->name;
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
            results->asked[i] = true;
            return true;
        }
    }
    char word[32];
    snprintf(word, sizeof(word), "%.*s", length < 31 ? (int)length : 31, name);
    if (strcmp(word, "md5") == 0) {
        tool_usage("'md5' needs libcrypto, without which this program was built");
        return false;
    }
    const char *nearest = tool_nearest(word, names, STRUCTURES);
    if (nearest != NULL)
        tool_usage("unknown structure '%s'; did you mean '%s'?", word, nearest);
    else
        tool_usage("unknown structure '%s'; --help lists them", word);
    return false;
}

static bool choose(const char *list, struct results *results)
{
    for (size_t i = 0; i < STRUCTURES && list == NULL; i++)
        results->asked[i] = true;
    while (list != NULL) {
        const char *comma = strchr(list, ',');
        size_t length = comma != NULL ? (size_t)(comma - list) : strlen(list);
        if (!choose_one(list, length, results))
            return false;
        list = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The set of integers comes first, shown or not: what it answers is the truth. */
static int run_all(struct tool_experiment *experiment, struct results *results)
{
    int code = TOOL_FOUND;
    for (size_t i = 0; i < STRUCTURES && code == TOOL_FOUND; i++)
        if (structures[i] == &tool_integer_set)
            code = tool_experiment_run(experiment, structures[i], &results->trials[i]);
    for (size_t i = 0; i < STRUCTURES && code == TOOL_FOUND; i++)
        if (structures[i] != &tool_integer_set && results->asked[i])
            code = tool_experiment_run(experiment, structures[i], &results->trials[i]);
    return code;
}

static int final_code(const struct results *results)
{
    for (size_t i = 0; i < STRUCTURES; i++)
        if (results->asked[i] && results->trials[i].verdict == TOOL_OFF)
            return TOOL_NONE;
    return TOOL_FOUND;
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
                        const struct results *results)
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
    for (size_t i = 0; i < STRUCTURES; i++)
        if (results->asked[i])
            print_row(out, experiment, &results->trials[i]);
    tool_out_text(out, "\n");
}

static void print_verdict(struct tool_out *out, const struct tool_trial *trial)
{
    char found[TOOL_NUMBER_BYTES], least[TOOL_NUMBER_BYTES], most[TOOL_NUMBER_BYTES];
    const char *verdict = "as predicted";
    if (trial->verdict == TOOL_AS_THESE_BITS)
        verdict = "within what so small a structure varies by";
    else if (trial->verdict == TOOL_OFF)
        verdict = "NOT AS PREDICTED";
    tool_out_format(out, "%s: %s false positives where chance allows %s to %s: %s.\n",
                    trial->structure->title, tool_format_count(found, trial->false_positives),
                    tool_format_count(least, trial->least_expected),
                    tool_format_count(most, trial->most_expected), verdict);
}

/* What the experiment's ancestors planned for their twenty million numbers: facts, not results. */
enum {
    LINEAGE_KEYS = 20000000,
    LINEAGE_FORMULA_BITS = 191701168, /* -n ln p / (ln 2)^2, rounded up, for p = 0.01 */
    LINEAGE_FILTER_BITS = 268435456,  /* 2^28, the next power of two */
    LINEAGE_BEST_PROBES = 10,         /* ln 2 m / n, rounded up */
    LINEAGE_PROBES = 12,              /* used: as many as SHA-384 has 32-bit words */
};
#define LINEAGE_RATE 0.0018

static void print_lineage(struct tool_out *out)
{
    char keys[TOOL_NUMBER_BYTES], formula[TOOL_NUMBER_BYTES], bits[TOOL_NUMBER_BYTES];
    tool_out_format(
        out,
        "\nThe experiment this one repeats, in Java, compared a SHA-384 filter with Guava's. For\n"
        "%s numbers at a rate of 0.01, Guava's formula asks for %s bits (%.2f\n"
        "a number). The SHA-384 filter took the next power of two, %s bits (%.2f a number).\n"
        "To set %d bits for each number would be best there; it set %d and expected a rate of "
        "%.4f.\n",
        tool_format_count(keys, LINEAGE_KEYS), tool_format_count(formula, LINEAGE_FORMULA_BITS),
        (double)LINEAGE_FORMULA_BITS / LINEAGE_KEYS, tool_format_count(bits, LINEAGE_FILTER_BITS),
        (double)LINEAGE_FILTER_BITS / LINEAGE_KEYS, LINEAGE_BEST_PROBES, LINEAGE_PROBES,
        LINEAGE_RATE);
}

static void print_conclusion(struct tool_out *out, const struct tool_experiment *experiment,
                             const struct results *results)
{
    char number[TOOL_NUMBER_BYTES];
    tool_out_format(out, "\nIn short: no structure lost any of the %s number%s added to it",
                    tool_format_count(number, experiment->keys.count),
                    experiment->keys.count == 1 ? "" : "s");
    bool first = true;
    for (size_t i = 0; i < STRUCTURES; i++) {
        const struct tool_trial *trial = &results->trials[i];
        if (!results->asked[i] || !trial->structure->asked_rate)
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

static int print_text(const struct tool_experiment *experiment, const struct results *results)
{
    struct tool_out out;
    tool_out_start(&out);
    print_table(&out, experiment, results);
#ifndef BLOOMERY_HAVE_LIBCRYPTO
    tool_out_text(&out, "(No set of MD5 digests: this program was built without libcrypto.)\n\n");
#endif
    for (size_t i = 0; i < STRUCTURES; i++)
        if (results->asked[i] && results->trials[i].verdict != TOOL_EXACT)
            print_verdict(&out, &results->trials[i]);
    print_lineage(&out);
    print_conclusion(&out, experiment, results);
    return tool_out_finish(&out, final_code(results));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *trial_object(const struct tool_experiment *experiment,
                            const struct tool_trial *trial)
{
    static const char *const verdicts[] = {
        [TOOL_EXACT] = "exact",
        [TOOL_AS_PREDICTED] = "as predicted",
        [TOOL_AS_THESE_BITS] = "as these bits",
        [TOOL_OFF] = "off",
    };
    json_t *object = tool_json_object();
    tool_json_add(object, "name", tool_json_text(trial->structure->name));
    tool_json_add(object, "exact", tool_json_bool(trial->structure->exact));
    tool_json_add(object, "bytes", tool_json_count(trial->bytes));
    tool_json_add(object, "most_bytes", tool_json_count(trial->most_bytes));
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
        tool_json_add(object, "least_expected", tool_json_count(trial->least_expected));
        tool_json_add(object, "most_expected", tool_json_count(trial->most_expected));
    }
    tool_json_add(object, "verdict", tool_json_text(verdicts[trial->verdict]));
    return object;
}

static int print_json(const struct request *request, const struct tool_experiment *experiment,
                      const struct results *results)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)request->seed);
    json_t *report = tool_json_report("experiment");
    tool_json_add(report, "keys", tool_json_count(experiment->keys.count));
    tool_json_add(report, "queries", tool_json_count(experiment->queries.count));
    tool_json_add(report, "member_queries", tool_json_count(experiment->members));
    tool_json_add(report, "rate", tool_json_number(experiment->rate));
    tool_json_add(report, "seed", tool_json_text(seed));
    json_t *rows = tool_json_array();
    for (size_t i = 0; i < STRUCTURES; i++)
        if (results->asked[i])
            tool_json_append(rows, trial_object(experiment, &results->trials[i]));
    tool_json_add(report, "structures", rows);
    tool_json_add(report, "finding", tool_json_bool(final_code(results) != TOOL_FOUND));
    return tool_json_print(report, final_code(results));
}

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_QUERIES = TOOL_OPTION_OWN,
    OPTION_SEED,
    OPTION_STRUCTURES,
    OPTION_JSON,
};

static const struct option options[] = {
    {"keys", required_argument, NULL, 'n'},
    {"queries", required_argument, NULL, OPTION_QUERIES},
    {"rate", required_argument, NULL, 'p'},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"structures", required_argument, NULL, OPTION_STRUCTURES},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

/* More queries than this would not fit into the memory of any machine. */
#define QUERIES_MOST UINT64_C(1000000000000)

static bool take_option(struct request *request, int option)
{
    switch (option) {
    case 'n':
        return tool_option_count("--keys", optarg, 1, tool_ids_maximum(), &request->keys);
    case OPTION_QUERIES:
        return tool_option_count("--queries", optarg, 1, QUERIES_MOST, &request->queries);
    case 'p':
        return tool_option_rate("-p", optarg, &request->rate);
    case OPTION_SEED:
        return tool_option_count("--seed", optarg, 0, UINT64_MAX, &request->seed);
    case OPTION_STRUCTURES:
        request->structures = optarg;
        return true;
    case OPTION_JSON:
        request->json = true;
        return true;
    default:
        return false;
    }
}

static int experiment_main(int argc, char **argv)
{
    struct request request = {.keys = 20000000, .queries = 10000000, .rate = 0.01};
    int option;
    while ((option = tool_getopt(argc, argv, "n:p:", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&request, option))
            return TOOL_ERROR;
    }
    if (optind < argc)
        return tool_usage("'%s': experiment takes no operands", argv[optind]);
    struct results results = {.asked = {false}};
    if (!choose(request.structures, &results))
        return TOOL_ERROR;

    struct tool_experiment experiment;
    if (!tool_experiment_start(&experiment, request.keys, request.queries, request.rate,
                               request.seed))
        return TOOL_ERROR;
    int code = run_all(&experiment, &results);
    tool_experiment_end(&experiment);
    if (code != TOOL_FOUND)
        return code;
    return request.json ? print_json(&request, &experiment, &results)
                        : print_text(&experiment, &results);
}

const struct tool_command cmd_experiment = {
    .name = "experiment",
    .run = experiment_main,
    .summary = "20 million IDs in exact sets and filters, compared",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The program `bloomery-experiment`: runs the lineage experiment (experiment.c) over the requested
 * structures. experiment_report.c prints the results. */
#include "base/ids.h"
#include "base/numbers.h"
#include "base/standard.h"
#include "experiment_report.h"
#include "jvm.h"
#include "jvm_sets.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "bloomery-experiment [--keys N] [--queries M] [-p RATE]\n"
    "                    [--structures NAME,NAME...] [--jvm]\n"
    "\n"
    "Adds the same invented identification numbers to exact sets and filters,\n"
    "queries each with the same random numbers, and compares memory, time and false\n"
    "positives. Every number that was added is queried too: if one is not found, the\n"
    "experiment ends with exit code 1.\n"
    "\n"
    "  -n, --keys N         how many numbers are added. Default 20M\n"
    "      --queries M      how many random 12-digit numbers are queried. Default 10M\n"
    "  -p, --rate RATE      the false-positive rate of the filters. Default 0.01\n"
    "      --seed S         other numbers. Default 0\n"
    "      --structures L   only these, separated by commas: strings, sorted,\n"
    "                       integers, md5, bitmap, blocked, classic, guava,\n"
    "                       sha384-slices, jvm-guava, jvm-sha384\n"
    "      --without L      all but these\n"
    "      --jvm            also the last two: Guava itself and the SHA-384 filter in\n"
    "                       Java, as the original had them. Needs a JDK (Debian:\n"
    "                       default-jdk-headless, libguava-java)\n"
    "      --guava JAR      the path of Guava. Default:\n"
    "                       " TOOL_JVM_GUAVA "\n"
    "      --json           one JSON object, numbers unrounded\n"
    "\n"
    "Exit codes: 0 all well; 1 a number that was added was not found, or a rate is\n"
    "not as predicted; 2 an error. The default run takes about a gigabyte of memory\n"
    "and half a minute, half of it for sha384-slices.\n"
    "\n"
    "  bloomery-experiment\n"
    "  bloomery-experiment --keys 1M --queries 1M --structures integers,blocked\n";

struct request {
    uint64_t keys;
    uint64_t queries;
    double rate;
    uint64_t seed;
    const char *structures; /* NULL: all but those on a JVM */
    const char *without;
    const char *guava;
    bool jvm;
    bool json;
};

const struct tool_structure *const tool_structures[TOOL_STRUCTURES] = {
    &tool_string_set,      &tool_sorted_list,    &tool_integer_set,
#ifdef BLOOMERY_HAVE_LIBCRYPTO
    &tool_digest_set,
#else
    NULL,
#endif
    &tool_one_hash_bitmap, &tool_blocked_filter, &tool_classic_filter, &tool_guava_filter,
    &tool_sha384_filter,   &tool_guava_on_jvm,   &tool_sha384_on_jvm,
};

/* ---- Choosing structures --------------------------------------------------------------------- */

static bool mark_one(const char *name, size_t length, bool queried, struct tool_results *results)
{
    const char *names[TOOL_STRUCTURES];
    size_t count = 0;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        if (tool_structures[i] == NULL)
            continue;
        names[count] = tool_structures[i]->name;
        if (strlen(names[count]) == length && memcmp(names[count], name, length) == 0) {
            results->queried[i] = queried;
            return true;
        }
        count++;
    }
    char word[32];
    snprintf(word, sizeof(word), "%.*s", length < 31 ? (int)length : 31, name);
    if (strcmp(word, "md5") == 0) {
        tool_usage("'md5' needs libcrypto, without which this program was built");
        return false;
    }
    const char *nearest = tool_nearest(word, names, count);
    if (nearest != NULL)
        tool_usage("unknown structure '%s'; did you mean '%s'?", word, nearest);
    else
        tool_usage("unknown structure '%s'; --help lists them", word);
    return false;
}

/* Marks those of a list as requested, or as not. */
static bool mark(const char *list, bool queried, struct tool_results *results)
{
    while (list != NULL) {
        const char *comma = strchr(list, ',');
        size_t length = comma != NULL ? (size_t)(comma - list) : strlen(list);
        if (!mark_one(list, length, queried, results))
            return false;
        list = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static bool choose(const struct request *request, struct tool_results *results)
{
    bool any = false;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        const struct tool_structure *structure = tool_structures[i];
        if (structure != NULL)
            results->queried[i] =
                structure->on_jvm ? request->jvm
                                  : request->structures == NULL &&
                                        (structure->available == NULL || structure->available());
    }
    if (!mark(request->structures, true, results) || !mark(request->without, false, results))
        return false;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++)
        any |= results->queried[i];
    if (!any)
        tool_usage("no structure is left");
    return any;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The processes of those that run on a JVM, if any was requested. */
static bool start_jvm(const struct request *request, const struct tool_results *results)
{
    bool guava = false;
    bool sha384 = false;
    for (size_t i = 0; i < TOOL_STRUCTURES; i++) {
        guava |= results->queried[i] && tool_structures[i] == &tool_guava_on_jvm;
        sha384 |= results->queried[i] && tool_structures[i] == &tool_sha384_on_jvm;
    }
    return (!guava && !sha384) ||
           tool_jvm_sets_start(request->guava, guava, sha384, request->keys, request->rate);
}

/* The set of integers comes first, shown or not: its answers are the truth. */
static int run_all(struct tool_experiment *experiment, struct tool_results *results)
{
    int code = TOOL_FOUND;
    for (size_t i = 0; i < TOOL_STRUCTURES && code == TOOL_FOUND; i++)
        if (tool_structures[i] == &tool_integer_set)
            code = tool_experiment_run(experiment, tool_structures[i], &results->trials[i]);
    for (size_t i = 0; i < TOOL_STRUCTURES && code == TOOL_FOUND; i++)
        if (results->queried[i] && tool_structures[i] != &tool_integer_set)
            code = tool_experiment_run(experiment, tool_structures[i], &results->trials[i]);
    return code;
}

static int run(const struct request *request, struct tool_results *results)
{
    struct tool_experiment experiment;
    if (!tool_experiment_start(&experiment, request->keys, request->queries, request->rate,
                               request->seed))
        return TOOL_ERROR;
    int code = run_all(&experiment, results);
    tool_experiment_end(&experiment);
    if (code != TOOL_FOUND)
        return code;
    return request->json ? tool_experiment_json(&experiment, results)
                         : tool_experiment_text(&experiment, results);
}

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_QUERIES = TOOL_OPTION_OWN,
    OPTION_SEED,
    OPTION_STRUCTURES,
    OPTION_WITHOUT,
    OPTION_JVM,
    OPTION_GUAVA,
    OPTION_JSON,
};

static const struct option options[] = {
    {"keys", required_argument, NULL, 'n'},
    {"queries", required_argument, NULL, OPTION_QUERIES},
    {"rate", required_argument, NULL, 'p'},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"structures", required_argument, NULL, OPTION_STRUCTURES},
    {"without", required_argument, NULL, OPTION_WITHOUT},
    {"jvm", no_argument, NULL, OPTION_JVM},
    {"guava", required_argument, NULL, OPTION_GUAVA},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

/* More queries than this would not fit into the memory of any machine. */
#define QUERIES_MAX UINT64_C(1000000000000)

static bool take_option(struct request *request, int option)
{
    switch (option) {
    case 'n':
        return tool_option_count("--keys", optarg, 1, tool_ids_maximum(), &request->keys);
    case OPTION_QUERIES:
        return tool_option_count("--queries", optarg, 1, QUERIES_MAX, &request->queries);
    case 'p':
        return tool_option_rate("-p", optarg, &request->rate);
    case OPTION_SEED:
        return tool_option_count("--seed", optarg, 0, UINT64_MAX, &request->seed);
    case OPTION_STRUCTURES:
        request->structures = optarg;
        return true;
    case OPTION_WITHOUT:
        request->without = optarg;
        return true;
    case OPTION_JVM:
        request->jvm = true;
        return true;
    case OPTION_GUAVA:
        request->guava = optarg;
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
        return tool_usage("'%s': there are no operands", argv[optind]);
    struct tool_results results = {.queried = {false}};
    if (!choose(&request, &results) || !start_jvm(&request, &results))
        return TOOL_ERROR;
    int code = run(&request, &results);
    tool_jvm_sets_end();
    return code;
}

static const struct tool_command command = {
    .name = "bloomery-experiment",
    .run = experiment_main,
    .help = help,
};

int main(int argc, char **argv)
{
    if (!tool_standard_begin())
        return TOOL_ERROR;
    tool_set_program(&command);
    return command.run(argc, argv);
}

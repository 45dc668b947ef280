/* SPDX-License-Identifier: Apache-2.0 */
/* The reading of options, and names that were nearly right. */
#include "base/out.h"
#include "base/progress.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_MAX = 48, LETTERS_MAX = 80 };

/* Names that other programs have for these options, and what some of those need not be given for.
 * Only for commands that have the option of the name `here`. */
static const struct {
    const char *name;
    const char *here; /* its long name */
    const char *said; /* NULL: "its name here is" */
} synonyms[] = {
    {"-i", "lower", NULL},
    {"--ignore-case", "lower", NULL},
    {"-k", "field", "-F"},
    {"-f", "field", "-F"},
    {"--fields", "field", "-F"},
    {"-t", "delimiter", "-d"},
    {"--field-separator", "delimiter", "-d"},
    {"-z", "null", "-0"},
    {"--zero-terminated", "null", "-0"},
    {"--null-data", "null", "-0"},
    {"-H", "header", NULL},
    {"--skip-header", "header", NULL},
    {"--in-place", "append", "-o FILE FILE"},
    {"--invert-match", "invert", NULL},
    {"-e", "key", "-k"},
    {"--sha256", "verify", NULL},
    {"--checksum", "verify", NULL},
    {"--capacity", "keys", "-n"},
    {"--fpr", "rate", "-p"},
    {"--fpp", "rate", "-p"},
    {"--error-rate", "rate", "-p"},
    {"--fail", "return", NULL},
    {"--nack", "return", NULL},
    {"--reject", "return", NULL},
    {"--requeue", "return", NULL},
};

/* Wishes that are fulfilled without an option. */
static const struct {
    const char *name, *command, *said;
} needless[] = {
    {"-u", "dedupe", "each line is printed once without it"},
    {"--unique", "dedupe", "each line is printed once without it"},
    {"-k", "add", "keys are lines: echo KEY | bloomery add FILTER"},
    {"-k", "remove", "keys are lines: echo KEY | bloomery remove FILTER"},
    {"-x", "query", "whole lines are compared without it"},
    {"--line-regexp", "query", "whole lines are compared without it"},
};

/* Says what an unknown option is here. False if that is not known. */
static bool say_synonym(const char *name, const struct option *options)
{
    for (size_t i = 0; i < sizeof(needless) / sizeof(needless[0]); i++)
        if (strcmp(needless[i].name, name) == 0 &&
            strcmp(needless[i].command, tool_running_command()->name) == 0) {
            tool_usage("unknown option '%s'; %s", name, needless[i].said);
            return true;
        }
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
        const struct option *option = options;
        while (option->name != NULL && strcmp(option->name, synonyms[i].here) != 0)
            option++;
        if (option->name == NULL || strcmp(synonyms[i].name, name) != 0)
            continue;
        if (synonyms[i].said != NULL)
            tool_usage("unknown option '%s'; its name here is '%s'", name, synonyms[i].said);
        else
            tool_usage("unknown option '%s'; its name here is '--%s'", name, synonyms[i].here);
        return true;
    }
    return false;
}

static int unknown_option(char **argv, const struct option *options)
{
    const char *text = argv[optind - 1];
    if (optopt != 0 && strncmp(text, "--", 2) == 0 && strchr(text, '=') != NULL) {
        for (const struct option *option = options; option->name != NULL; option++)
            if (option->val == optopt && option->has_arg == no_argument) {
                tool_usage("--%s takes no value", option->name);
                return '?';
            }
    }
    char word[64];
    snprintf(word, sizeof(word), "-%c", optopt);
    if (optopt != 0) {
        if (!say_synonym(word, options))
            tool_usage("unknown option '%s'", word);
        return '?';
    }
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "="), text);
    if (say_synonym(word, options))
        return '?';

    const char *names[OPTIONS_MAX + 1];
    size_t count = 0;
    for (const struct option *option = options; option->name != NULL; option++)
        names[count++] = option->name;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text + 2, "="), text + 2);
    const char *nearest = tool_nearest(word, names, count);
    if (nearest != NULL)
        tool_usage("unknown option '--%s'; did you mean '--%s'?", word, nearest);
    else
        tool_usage("unknown option '--%s'", word);
    return '?';
}

static int missing_value(char **argv)
{
    const char *text = argv[optind - 1];
    if (strncmp(text, "--", 2) == 0)
        tool_usage("%s needs a value", text);
    else
        tool_usage("-%c needs a value", optopt);
    return '?';
}

int tool_getopt(int argc, char **argv, const char *letters, const struct option *options)
{
    struct option all[OPTIONS_MAX + 2];
    size_t count = 0;
    for (; options[count].name != NULL && count < OPTIONS_MAX; count++)
        all[count] = options[count];
    assert(options[count].name == NULL);
    all[count] = (struct option){"help", no_argument, NULL, TOOL_OPTION_HELP};
    all[count + 1] = (struct option){NULL, 0, NULL, 0};

    /* The leading colon makes a missing value tell itself from an unknown option. */
    char all_letters[LETTERS_MAX];
    snprintf(all_letters, sizeof(all_letters), ":%sh", letters);

    opterr = 0;
    int option = getopt_long(argc, argv, all_letters, all, NULL);
    if (option == '?')
        return unknown_option(argv, all);
    if (option == ':')
        return missing_value(argv);
    if (option == TOOL_OPTION_PROGRESS)
        return tool_progress_choose(optarg) ? tool_getopt(argc, argv, letters, options) : '?';
    if (option != 'h' && option != TOOL_OPTION_HELP)
        return option;

    struct tool_out out;
    tool_out_start(&out);
    tool_out_text(&out, tool_running_command()->help);
    return tool_out_finish(&out, TOOL_FOUND) == TOOL_FOUND ? TOOL_OPTION_HELP : '?';
}

/* ---- Names that were nearly right ------------------------------------------------------------ */

enum { WORD_MAX = 40 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be changed, added, left out or swapped with their neighbour to make one
 * word of the other. Both are at most WORD_MAX letters. */
static size_t distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    size_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t change = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = smaller(change, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[rows][columns];
}

const char *tool_nearest(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX)
        return NULL;
    const char *best = NULL;
    size_t best_distance = length / 3 + 1; /* one mistake in three letters, and never all of them */
    if (best_distance >= length)
        best_distance = length - 1;
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) > WORD_MAX)
            continue;
        size_t here = strncmp(names[i], word, length) == 0 ? 1 : distance(word, names[i]);
        if (here <= best_distance && (best == NULL || here < best_distance)) {
            best = names[i];
            best_distance = here;
        }
    }
    return best;
}

bool tool_parse_kind(const char *name, bloomery_kind *kind)
{
    enum { KINDS_MAX = 16 };
    const char *names[KINDS_MAX];
    char list[200] = "";
    size_t count = 0, used = 0;

    *kind = bloomery_kind_find(name);
    if (*kind != BLOOMERY_KIND_DEFAULT)
        return true;
    for (int id = 1; count < KINDS_MAX && bloomery_kind_name(id) != NULL; id++)
        names[count++] = bloomery_kind_name(id);
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                 i == 0           ? ""
                                 : i + 1 == count ? " and "
                                                  : ", ",
                                 names[i]);
    const char *nearest = tool_nearest(name, names, count);
    if (nearest != NULL)
        tool_usage("unknown kind '%s'; did you mean '%s'?", name, nearest);
    else
        tool_usage("unknown kind '%s'; the kinds are %s", name, list);
    return false;
}

bool tool_option_counter_bits(const char *text, uint32_t *bits)
{
    const bool known = strcmp(text, "4") == 0 || strcmp(text, "8") == 0;
    if (known)
        *bits = text[0] == '4' ? 4 : 8;
    else
        tool_usage("--counter-bits %s: must be 4 or 8", text);
    return known;
}

bool tool_counters_wanted(uint32_t counter_bits, bloomery_kind *kind)
{
    if (counter_bits > 0 && *kind == BLOOMERY_KIND_DEFAULT)
        *kind = BLOOMERY_COUNTING;
    if (counter_bits == 0 || *kind == BLOOMERY_COUNTING)
        return true;
    tool_usage("--counter-bits is for counting filters; a %s one has no counters",
               bloomery_kind_name((int)*kind));
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reading of options, the help that is made of them, and names that were nearly right. */
#include "base/options.h"

#include "base/numbers.h"
#include "base/out.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What getopt_long returns for --help, and from where on for rows without a letter. */
enum { OPTION_HELP = 256, OPTION_ROWS = 257, OPTIONS_MAX = 80, LETTERS_MAX = 80 };

/* ---- Options that are unknown ---------------------------------------------------------------- */

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
    {"--file-list", "files-from", NULL},
    {"--files0-from", "files-from", NULL},
    {"-T", "files-from", NULL},
    {"--compression-level", "level", NULL},
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

static void say_unknown(char **argv, const struct option *options)
{
    const char *text = argv[optind - 1];
    if (optopt != 0 && strncmp(text, "--", 2) == 0 && strchr(text, '=') != NULL) {
        for (const struct option *option = options; option->name != NULL; option++)
            if (option->val == optopt && option->has_arg == no_argument) {
                tool_usage("--%s takes no value", option->name);
                return;
            }
    }
    char word[64];
    snprintf(word, sizeof(word), "-%c", optopt);
    if (optopt != 0) {
        if (!say_synonym(word, options))
            tool_usage("unknown option '%s'", word);
        return;
    }
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "="), text);
    if (say_synonym(word, options))
        return;

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
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The table of a command as getopt_long takes it, and what stands behind each of its rows. */
struct reading {
    struct option all[OPTIONS_MAX + 2];
    const struct tool_option *rows[OPTIONS_MAX];
    const struct tool_option_group *groups[OPTIONS_MAX];
    size_t count;
    char letters[LETTERS_MAX];
};

static int value_of_row(const struct reading *reading, size_t row)
{
    const char letter = reading->rows[row]->letter;
    return letter != 0 ? letter : (int)row + OPTION_ROWS;
}

static void add_row(struct reading *reading, const struct tool_option_group *group,
                    const struct tool_option *row)
{
    for (size_t i = 0; i < reading->count; i++)
        if (strcmp(reading->rows[i]->name, row->name) == 0)
            return; /* described once more */
    assert(reading->count < OPTIONS_MAX && strcmp(row->name, "help") != 0);
    const size_t at = reading->count++;
    reading->rows[at] = row;
    reading->groups[at] = group;
    const int has = row->argument == NULL     ? no_argument
                    : row->argument[0] == '[' ? optional_argument
                                              : required_argument;
    reading->all[at] = (struct option){row->name, has, NULL, value_of_row(reading, at)};
    if (row->letter == 0)
        return;
    const size_t used = strlen(reading->letters);
    assert(used + 3 < LETTERS_MAX && strchr(reading->letters, row->letter) == NULL);
    reading->letters[used] = row->letter;
    memcpy(reading->letters + used + 1, "::", (size_t)has);
}

static void say_choices(const char *option, const char *text, const char *const *names,
                        size_t count)
{
    char list[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                 i == 0           ? ""
                                 : i + 1 == count ? " or "
                                                  : ", ",
                                 names[i]);
    const char *nearest = tool_nearest(text, names, count);
    if (nearest != NULL)
        tool_usage("%s is %s, not '%s'; did you mean '%s'?", option, list, text, nearest);
    else
        tool_usage("%s is %s, not '%s'", option, list, text);
}

bool tool_take_choice(const char *option, const char *text, const char *words, int *choice)
{
    enum { CHOICES_MAX = 16, BYTES = 200 };
    char copy[BYTES];
    const char *names[CHOICES_MAX];
    size_t count = 0;
    assert(strlen(words) < sizeof(copy));
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = copy, *next; word != NULL; word = next) {
        next = strchr(word, '|');
        if (next != NULL)
            *next++ = '\0';
        assert(count < CHOICES_MAX);
        names[count++] = word;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *choice = (int)i;
            return true;
        }
    say_choices(option, text, names, count);
    return false;
}

/* A value goes where its row says; TOOL_MEMBER has checked the type. False after a message. */
static bool take_value(const struct tool_option *row, const char *text, void *at)
{
    char option[64];
    if (row->letter != 0)
        snprintf(option, sizeof(option), "-%c", row->letter);
    else
        snprintf(option, sizeof(option), "--%s", row->name);
    switch (row->type) {
    case TOOL_TYPE_FLAG:
        *(bool *)at = true;
        return true;
    case TOOL_TYPE_BITS:
        *(uint32_t *)at |= (uint32_t)row->least;
        return true;
    case TOOL_TYPE_BYTE:
        *(unsigned char *)at = (unsigned char)row->least;
        return true;
    case TOOL_TYPE_TEXT:
        *(const char **)at = text;
        return true;
    case TOOL_TYPE_TEXTS: {
        struct tool_texts *texts = at;
        const size_t bytes = (texts->count + 1) * sizeof(char *);
        texts->list = tool_reallocate((void *)texts->list, bytes);
        texts->list[texts->count++] = text;
        return true;
    }
    case TOOL_TYPE_COUNT:
        return tool_option_count(option, text, row->least, row->most, at);
    case TOOL_TYPE_SMALL:
        return tool_option_small(option, text, (uint32_t)row->least, (uint32_t)row->most, at);
    case TOOL_TYPE_SIZE:
        return tool_option_size(option, text, at);
    case TOOL_TYPE_RATE:
        return tool_option_rate(option, text, at);
    case TOOL_TYPE_SECONDS:
        return tool_option_seconds(option, text, row->least == 0 ? 0 : TOOL_SECONDS_SOME, at);
    case TOOL_TYPE_CHOICE:
        return tool_take_choice(option, text, row->words, at);
    case TOOL_TYPE_CALL:
        return row->call(option, text, at);
    }
    return false;
}

bool tool_options_read(int argc, char **argv, void *values, int *code)
{
    struct reading reading = {.count = 0};
    /* The leading colon makes a missing value tell itself from an unknown option. */
    memcpy(reading.letters, ":h", 2);
    for (const struct tool_option_group *group = tool_running_command()->groups;
         group->rows != NULL; group++)
        for (const struct tool_option *row = group->rows; row->name != NULL; row++)
            add_row(&reading, group, row);
    reading.all[reading.count] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    *code = TOOL_ERROR;
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, reading.letters, reading.all, NULL)) != -1;) {
        if (option == 'h' || option == OPTION_HELP)
            *code = tool_print_help(tool_running_command());
        else if (option == '?')
            say_unknown(argv, reading.all);
        else if (option == ':' && strncmp(argv[optind - 1], "--", 2) == 0)
            tool_usage("%s needs a value", argv[optind - 1]);
        else if (option == ':')
            tool_usage("-%c needs a value", optopt);
        if (option == 'h' || option == OPTION_HELP || option == '?' || option == ':')
            return false;
        size_t row = 0;
        while (row < reading.count && value_of_row(&reading, row) != option)
            row++;
        assert(row < reading.count);
        const struct tool_option_group *group = reading.groups[row];
        const size_t offset = group->offset + reading.rows[row]->offset;
        if (group->tells)
            *(bool *)((char *)values + group->given) = true;
        if (!take_value(reading.rows[row], optarg, (char *)values + offset))
            return false;
    }
    return true;
}

/* ---- The help -------------------------------------------------------------------------------- */

enum { HELP_COLUMNS = 80, HELP_COLUMN = 23, HEAD_MAX = 200 };

/* Prints words from `column` on, and begins each further line at `indent`. The line stays open. */
static void print_wrapped(struct tool_out *out, const char *text, size_t bytes, size_t column,
                          size_t indent)
{
    bool first = true;
    for (const char *end = text + bytes; text < end;) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        const size_t word = (size_t)((blank != NULL ? blank : end) - text);
        if (!first && column + 1 + word > HELP_COLUMNS) {
            tool_out_format(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            tool_out_text(out, " ");
            column++;
        }
        tool_out_bytes(out, text, word);
        column += word;
        text += word + (blank != NULL);
        first = false;
    }
}

/* Lines that begin with a blank stay; others are paragraphs. */
static void print_paragraphs(struct tool_out *out, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n");
        if (line[0] == ' ')
            tool_out_bytes(out, line, bytes);
        else
            print_wrapped(out, line, bytes, 0, 0);
        tool_out_text(out, "\n");
        line += bytes + (line[bytes] != '\0');
    }
}

/* The width of the longest word before a tab. */
static size_t item_width(const char *text)
{
    size_t width = 0;
    for (const char *line = text; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n"), word = strcspn(line, "\t");
        if (word < bytes && word > width)
            width = word;
        line += bytes + (line[bytes] != '\0');
    }
    return width;
}

/* The description of an option, from the column of descriptions on. */
static void print_described(struct tool_out *out, const char *text)
{
    const size_t width = item_width(text);
    for (const char *line = text; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n"), word = strcspn(line, "\t");
        if (line != text)
            tool_out_format(out, "%*s", HELP_COLUMN, "");
        if (word < bytes) {
            const size_t column = HELP_COLUMN + 2 + width + 2;
            tool_out_format(out, "  %-*.*s  ", (int)width, (int)word, line);
            print_wrapped(out, line + word + 1, bytes - word - 1, column, column);
        } else {
            print_wrapped(out, line, bytes, HELP_COLUMN, HELP_COLUMN);
        }
        tool_out_text(out, "\n");
        line += bytes + (line[bytes] != '\0');
    }
}

/* "  -o, --output OUT", "      --lower, --upper": rows up to the one that is described. Returns
 * that. */
static const struct tool_option *format_head(const struct tool_option *row, char head[HEAD_MAX])
{
    size_t used = 0;
    for (bool first = true;; first = false, row++) {
        if (row->letter != 0)
            used += (size_t)snprintf(head + used, HEAD_MAX - used, "%s-%c, ", first ? "  " : ", ",
                                     row->letter);
        else
            used += (size_t)snprintf(head + used, HEAD_MAX - used, "%s", first ? "      " : ", ");
        const char *argument = row->argument != NULL ? row->argument : "";
        const bool apart = argument[0] != '\0' && argument[0] != '=' && argument[0] != '[';
        used += (size_t)snprintf(head + used, HEAD_MAX - used, "--%s%s%s", row->name,
                                 apart ? " " : "", argument);
        assert(used < HEAD_MAX && row->name != NULL);
        if (row->help != NULL)
            return row;
    }
}

static void print_group(struct tool_out *out, const struct tool_option_group *group)
{
    char head[HEAD_MAX];
    if (group->title != NULL) {
        tool_out_text(out, "\n");
        print_paragraphs(out, group->title);
        tool_out_text(out, "\n");
    }
    for (const struct tool_option *row = group->rows; row->name != NULL; row++) {
        row = format_head(row, head);
        tool_out_text(out, head);
        const size_t column = strlen(head);
        if (column < HELP_COLUMN)
            tool_out_format(out, "%*s", (int)(HELP_COLUMN - column), "");
        else
            tool_out_format(out, "\n%*s", HELP_COLUMN, "");
        print_described(out, row->help);
    }
}

int tool_print_help(const struct tool_command *command)
{
    struct tool_out out;
    tool_out_start(&out);
    print_paragraphs(&out, command->synopsis);
    tool_out_text(&out, "\n");
    print_paragraphs(&out, command->introduction);
    if (command->parts != NULL)
        tool_out_text(&out, "\n");
    for (size_t i = 0; command->parts != NULL && command->parts[i] != NULL; i++)
        tool_out_format(&out, "  %-10s%s\n", command->parts[i]->name + strlen(command->name) + 1,
                        command->parts[i]->summary);
    const struct tool_option_group *group = command->groups;
    if (group != NULL && group->rows != NULL && group->title == NULL)
        tool_out_text(&out, "\n");
    for (; group != NULL && group->rows != NULL; group++)
        if (!group->unlisted)
            print_group(&out, group);
    if (command->epilogue != NULL) {
        tool_out_text(&out, "\n");
        print_paragraphs(&out, command->epilogue);
    }
    return tool_out_finish(&out, TOOL_FOUND);
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

bool tool_take_kind(const char *option, const char *text, void *at)
{
    (void)option; /* a kind is named as it is in all messages */
    return tool_parse_kind(text, at);
}

bool tool_take_counter_bits(const char *option, const char *text, void *at)
{
    const bool known = strcmp(text, "4") == 0 || strcmp(text, "8") == 0;
    if (known)
        *(uint32_t *)at = text[0] == '4' ? 4 : 8;
    else
        tool_usage("%s %s: must be 4 or 8", option, text);
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

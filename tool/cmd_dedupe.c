/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedupe: the first occurrences of lines, in order.
 *
 * In order: what can be refused without reading; the locks, of the state before that of the file to
 * append to, so that two of us never wait for each other; filter or table; what counts as seen; the
 * inputs. A state is written last, when everything that it holds was delivered: whatever ends the
 * command before leaves the old one, and what was printed since comes again. A command that lost its
 * reader (SIGPIPE) ends so, too.
 *
 * How lines are compared: dedupe.c. What happens when there is no more room: seen.c.
 */
#include "dedupe.h"
#include "estimate.h"
#include "files.h"
#include "json.h"
#include "numbers.h"
#include "team.h"
#include "tool.h"
#include "unpack.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "bloomery dedupe [-n N] [-p RATE | --memory SIZE] [OPTION...] [INPUT...]\n"
    "\n"
    "Prints each line of the inputs the first time that it comes, in their order. Lines are\n"
    "remembered in a filter, a few bytes each: a new line is dropped wrongly as often as the "
    "filter's\n"
    "rate says, and at the end you are told how many such lines are expected. No INPUT, or '-', "
    "is\n"
    "standard input; gzip, zstd, xz and zip are unpacked.\n"
    "\n"
    "  -n, --keys N         the different lines to make room for. Default: estimated from the "
    "sizes\n"
    "                       of the input files and a sample of them, plus 5 %; a million where "
    "they\n"
    "                       are packed, or come by a pipe\n"
    "  -p, --rate RATE      the filter's rate, also when it is full (1e-6, 0.01%, 1/1000). "
    "Default\n"
    "                       1e-6\n"
    "      --memory SIZE    the most memory for what is remembered (512MiB, 2GB). Alone or with "
    "-p:\n"
    "                       as many lines as fit in it. With -n: the best rate that fits\n"
    "      --on-full=WHAT   when the lines are more than there is room for:\n"
    "                         grow  go on with a further filter of twice the size, the rate of "
    "all\n"
    "                               together staying below RATE (default; with --memory up to "
    "SIZE)\n"
    "                         stop  end with exit code 2 where the rate comes to twice RATE; all "
    "that\n"
    "                               was kept has been printed (default with --memory)\n"
    "                         pass  from there on remember nothing more: lines not remembered are\n"
    "                               printed each time that they come\n"
    "      --exact[=BITS]   remember a fingerprint of each line, of 64 bits (default) or 128, in "
    "place\n"
    "                       of the filter: 11 to 21 bytes a line, or twice that, and hardly ever "
    "a\n"
    "                       line dropped wrongly\n"
    "  -v, --invert         print what is dropped: the repeated lines\n"
    "  -c, --count          print only how many lines are kept; with -v, dropped\n"
    "      --against X      drop also lines that are in X, a filter or a file of lines; "
    "repeatable\n"
    "      --append FILE    lines of FILE count as seen, and what is kept is appended to it as "
    "well "
    "as\n"
    "                       printed. It is made where it is not there\n"
    "      --state FILE     begin with the filter in FILE, where there is one, and write it back "
    "when\n"
    "                       everything has been printed; or where it stopped, being full. Its "
    "size\n"
    "                       and rate are those of the first time\n"
    "  -j, --threads N      work with N threads, 1 to 256. Default, or 0: as many as there are "
    "cores.\n"
    "                       The output is the same, and in the same order, whatever N is\n"
    "  -0, --null           lines end with NUL instead of newline, in input and output\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object, numbers unrounded: on standard error, "
    "or\n"
    "                       with -c on standard output in place of the number\n"
    "\n"
    "What is compared of a line; the whole line is printed. Lines without a key are printed, "
    "always:\n"
    "\n" TOOL_RULE_HELP "\n"
    "An input that can't be read ends it with exit code 2; nothing after it is read, and neither "
    "is\n"
    "the state written.\n"
    "\n"
    "  bloomery dedupe urls.txt > unique.txt\n"
    "  zcat *.gz | bloomery dedupe -n 100M -p 1e-9 > unique.txt\n"
    "  tail -f access.log | bloomery dedupe --state seen.bloom -F 1 -d ' '\n";

#define RATE_DEFAULT 1e-6

enum {
    KEYS_OF_PIPE = 1 << 20, /* the first filter's, where nothing is known */
    KEYS_LEAST = 1 << 10,
};

struct command {
    uint64_t keys;   /* 0: not given */
    double rate;     /* 0: not given */
    uint64_t memory; /* 0: not given */
    uint32_t exact;  /* bits; 0: a filter */
    int on_full;     /* -1: not given */
    const char *state, *append;
    bool quiet, json;
    struct tool_source source;
    struct tool_rule_choice choice;

    const char **lists; /* against which lines are compared: files of lines */
    size_t list_count;
    const char **againsts; /* all of them, as they were given */
    size_t against_given;

    int lock; /* of the state; -1: none */
    bool state_made;
    struct tool_appended appended;
    double target; /* the rate of a new filter; 0: what came out of its plan */
    struct tool_seen seen;
    struct tool_dedupe dedupe;
};

enum {
    OPTION_MEMORY = TOOL_OPTION_OWN,
    OPTION_ON_FULL,
    OPTION_EXACT,
    OPTION_AGAINST,
    OPTION_APPEND,
    OPTION_STATE,
    OPTION_JSON,
};

static const struct option options[] = {
    {"keys", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"on-full", required_argument, NULL, OPTION_ON_FULL},
    {"exact", optional_argument, NULL, OPTION_EXACT},
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"against", required_argument, NULL, OPTION_AGAINST},
    {"append", required_argument, NULL, OPTION_APPEND},
    {"state", required_argument, NULL, OPTION_STATE},
    {"threads", required_argument, NULL, 'j'},
    {"null", no_argument, NULL, '0'},
    {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, OPTION_JSON},
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- The command line ------------------------------------------------------------------------ */

static const char *const on_full_names[] = {"stop", "grow", "pass"}; /* as enum tool_on_full */

static bool take_on_full(struct command *command, const char *text)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(text, on_full_names[i]) == 0) {
            command->on_full = i;
            return true;
        }
    tool_usage("--on-full is stop, grow or pass, not '%s'", text);
    return false;
}

static bool take_exact(struct command *command, const char *text)
{
    command->exact = text == NULL || strcmp(text, "64") == 0 ? 64 : 128;
    if (command->exact == 64 || strcmp(text, "128") == 0)
        return true;
    tool_usage("--exact is 64 or 128 (bits of a fingerprint), not '%s'", text);
    return false;
}

static void take_against(struct command *command, const char *path)
{
    const size_t bytes = (command->against_given + 1) * sizeof(char *);
    command->againsts = tool_reallocate(command->againsts, bytes);
    command->againsts[command->against_given++] = path;
}

/* One option of those with a value. False after a message. */
static bool take_value(struct command *command, int option)
{
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MOST, &command->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &command->rate);
    case OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &command->memory);
    case 'j':
        return tool_option_small("-j", optarg, 0, TOOL_THREADS_MOST, &command->source.threads);
    case OPTION_ON_FULL:
        return take_on_full(command, optarg);
    case OPTION_EXACT:
        return take_exact(command, optarg);
    case OPTION_AGAINST:
        take_against(command, optarg);
        return true;
    case OPTION_APPEND:
        command->append = optarg;
        return true;
    case OPTION_STATE:
        command->state = optarg;
        return true;
    default:
        return tool_rule_option(&command->choice, option);
    }
}

static bool take_option(struct command *command, int option)
{
    switch (option) {
    case 'v':
        command->dedupe.invert = true;
        return true;
    case 'c':
        command->dedupe.count_only = true;
        return true;
    case '0':
        command->source.delimiter = 0;
        return true;
    case 'q':
        command->quiet = true;
        return true;
    case OPTION_JSON:
        command->json = true;
        return true;
    default:
        return take_value(command, option);
    }
}

/* Standard input can be read once. */
static bool stdin_is_read_once(const struct command *command)
{
    size_t readers = command->source.count == 0;
    for (size_t i = 0; i < command->source.count; i++)
        readers += tool_path_is_stdin(command->source.paths[i]);
    size_t against = 0;
    for (size_t i = 0; i < command->against_given; i++)
        against += tool_path_is_stdin(command->againsts[i]);
    if (against == 0 || readers + against == 1)
        return true;
    tool_usage("standard input can be read once: as an input, or --against it");
    return false;
}

static bool fits_together(const struct command *command)
{
    if (command->exact > 0 && command->rate > 0)
        return !tool_usage("-p is the rate of a filter; --exact keeps fingerprints instead");
    if (command->exact > 0 && command->state != NULL)
        return !tool_usage("--state keeps a filter; --exact has none to keep");
    if (command->state != NULL && tool_path_is_stdin(command->state))
        return !tool_usage("--state needs a file; '-' is none");
    if (command->append != NULL && tool_path_is_stdin(command->append))
        return !tool_usage("--append needs a file; what is kept is printed on standard output");
    if (command->state != NULL && command->append != NULL &&
        tool_same_file(command->state, command->append))
        return !tool_usage("--state and --append name the same file, %s", command->state);
    return stdin_is_read_once(command);
}

/* Whether an input is the open file, which is written to: it would be read for ever. */
static bool is_input(const struct command *command, int descriptor, const char **name)
{
    struct stat output, input;
    if (fstat(descriptor, &output) != 0 || !S_ISREG(output.st_mode))
        return false;
    for (size_t i = 0; i < tool_source_count(&command->source); i++) {
        *name = tool_source_path(&command->source, i);
        int failed = tool_path_is_stdin(*name) ? fstat(STDIN_FILENO, &input) : stat(*name, &input);
        if (failed == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
            return true;
    }
    return false;
}

static bool output_is_no_input(const struct command *command)
{
    const char *name;
    if (!command->dedupe.count_only && is_input(command, STDOUT_FILENO, &name)) {
        tool_error("%s: is also the output", tool_path_said(name));
        return false;
    }
    if (command->append == NULL || !is_input(command, command->appended.descriptor, &name))
        return true;
    tool_usage("%s: is the file to append to, whose lines count as seen; it can't be an input too",
               tool_path_said(name));
    return false;
}

/* ---- The size -------------------------------------------------------------------------------- */

/* The keys to make room for; false where nothing tells. */
static bool estimate_keys(const struct command *command, uint64_t *keys)
{
    uint64_t records = 0;
    struct tool_source lists = command->source;
    if (!tool_estimate_records(&command->source, &records))
        return false;
    lists.paths = (char *const *)(const void *)command->lists;
    lists.count = command->list_count;
    if (lists.count > 0 && !tool_estimate_records(&lists, &records))
        return false;
    *keys = records + records / 20;
    if (*keys < KEYS_LEAST)
        *keys = KEYS_LEAST;
    if (*keys > TOOL_KEYS_MOST)
        *keys = TOOL_KEYS_MOST;
    return true;
}

static bool refuse_memory(const struct command *command, uint64_t keys, uint64_t bytes)
{
    char count[TOOL_NUMBER_BYTES], needed[TOOL_NUMBER_BYTES], given[TOOL_NUMBER_BYTES];
    tool_error("%s lines need %s and --memory is %s", tool_format_count(count, keys),
               tool_format_size(needed, bytes), tool_format_size(given, command->memory));
    return false;
}

/* The plan of a filter that grows. Where no number of lines was given and its first link does not
 * fit, it becomes one that does. */
static bool plan_growing(const struct command *command, bloomery_plan *plan)
{
    bloomery_error error;
    bool known = command->keys > 0;
    uint64_t keys = command->keys;
    if (!known && !estimate_keys(command, &keys))
        keys = KEYS_OF_PIPE;
    while (true) {
        *plan = (bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = keys};
        plan->rate = command->rate > 0 ? command->rate : RATE_DEFAULT;
        if (bloomery_plan_solve(plan, NULL, &error) != BLOOMERY_OK)
            return !tool_library_error(NULL, &error);
        if (command->memory == 0 || plan->bytes <= command->memory)
            return true;
        if (known || keys == 1)
            return refuse_memory(command, keys, plan->bytes);
        uint64_t fitting =
            (uint64_t)(0.99 * (double)keys * (double)command->memory / (double)plan->bytes);
        keys = fitting < keys && fitting > 0 ? fitting : keys - 1;
    }
}

/* The plan of a filter that keeps its size. */
static bool plan_fixed(const struct command *command, bloomery_plan *plan)
{
    bloomery_error error;
    *plan = (bloomery_plan){.kind = BLOOMERY_BLOCKED, .keys = command->keys, .rate = command->rate};
    if (command->memory == 0 || (plan->keys > 0 && plan->rate > 0)) {
        if (plan->keys == 0 && !estimate_keys(command, &plan->keys)) {
            tool_usage("how many lines? Without a filter that grows, a pipe or packed input needs "
                       "-n N or --memory SIZE");
            return false;
        }
    } else {
        plan->bytes = command->memory;
    }
    if (plan->rate == 0 && (plan->keys == 0 || plan->bytes == 0))
        plan->rate = RATE_DEFAULT;
    if (bloomery_plan_solve(plan, NULL, &error) != BLOOMERY_OK)
        return !tool_library_error(NULL, &error);
    return command->memory == 0 || plan->bytes <= command->memory ||
           refuse_memory(command, plan->keys, plan->bytes);
}

/* ---- What is remembered in ------------------------------------------------------------------- */

static bool create_filter(struct command *command)
{
    bloomery_plan plan;
    bloomery_error error;
    bloomery_options create = BLOOMERY_OPTIONS;
    create.rule = command->choice.rule;
    command->target = command->rate > 0                          ? command->rate
                      : command->memory > 0 && command->keys > 0 ? 0
                                                                 : RATE_DEFAULT;
    if (command->seen.on_full == TOOL_FULL_GROW)
        create.memory_limit = command->memory;
    if (command->seen.on_full == TOOL_FULL_GROW ? !plan_growing(command, &plan)
                                                : !plan_fixed(command, &plan))
        return false;
    if (bloomery_create(&plan, &create, &command->seen.filter, &error) == BLOOMERY_OK)
        return true;
    return !tool_library_error(NULL, &error);
}

/* The least filter there is makes the hashes. */
static bool create_table(struct command *command)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .lines = 1, .probes = 1, .bits = 512};
    bloomery_error error;
    if (bloomery_create(&plan, NULL, &command->seen.filter, &error) != BLOOMERY_OK)
        return !tool_library_error(NULL, &error);
    const uint64_t needed = tool_fingerprints_bytes_for(command->exact, command->keys);
    if (command->memory > 0 && command->keys > 0 && needed > command->memory)
        return refuse_memory(command, command->keys, needed);
    command->seen.table_bits = command->exact;
    command->seen.table = tool_fingerprints_new(command->exact, command->keys, command->memory);
    if (command->seen.table != NULL)
        return true;
    char size[TOOL_NUMBER_BYTES];
    if (needed == UINT64_MAX)
        tool_error("there is not so much memory in the world");
    else
        tool_error("there is no memory for a table of fingerprints of %s",
                   tool_format_size(size, needed));
    return false;
}

/* Whether options for a new filter were given beside one that is there. */
static bool agrees_with_state(const struct command *command, const bloomery_info *info)
{
    const bool grows = info->kind == BLOOMERY_SCALABLE;
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    if (command->keys > 0 || command->rate > 0 || (command->memory > 0 && !grows)) {
        tool_usage("%s: is there already, a %s filter planned for %s keys and a rate of %s; -n, -p "
                   "and --memory are for a new one",
                   command->state, bloomery_kind_name((int)info->kind),
                   tool_format_count(keys, info->planned_keys),
                   tool_format_odds(odds, info->planned_rate));
        return false;
    }
    if (command->on_full >= 0 && grows != (command->on_full == TOOL_FULL_GROW)) {
        tool_usage("%s: is there already, a %s filter, which %s; --on-full=%s is not for it",
                   command->state, bloomery_kind_name((int)info->kind),
                   grows ? "grows" : "can't grow", on_full_names[command->on_full]);
        return false;
    }
    return true;
}

static bool open_state(struct command *command)
{
    bloomery_error error;
    bloomery_options open_options = BLOOMERY_OPTIONS;
    bloomery_info info = BLOOMERY_INFO;
    open_options.open_flags = BLOOMERY_OPEN_COPY;
    open_options.memory_limit = command->memory;
    if (bloomery_open(command->state, &open_options, &command->seen.filter, &error) != BLOOMERY_OK)
        return !tool_library_error(command->state, &error);
    bloomery_info_get(command->seen.filter, false, &info);
    if (command->on_full < 0 && info.kind != BLOOMERY_SCALABLE)
        command->seen.on_full = TOOL_FULL_STOP;
    return agrees_with_state(command, &info) &&
           tool_rule_settle(&command->choice, command->state, command->seen.filter, false,
                            &command->dedupe.rule);
}

/* Locks the state. Where there is none, an empty file is made to hold the lock, so that of two that
 * begin at once the second waits for the first one's state. True in `there`: it is to be opened. */
static bool lock_state(struct command *command, bool *there)
{
    struct stat facts;
    if (stat(command->state, &facts) != 0 && errno == ENOENT) {
        if (!tool_may_replace(command->state, false))
            return false;
        int made = open(command->state, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        command->state_made = made >= 0;
        if (made >= 0)
            close(made);
    }
    command->lock = tool_filter_lock(command->state);
    if (command->lock < 0)
        return false;
    if (fstat(command->lock, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        tool_error("%s: is not a regular file", command->state);
        return false;
    }
    *there = facts.st_size > 0;
    return true;
}

static bool prepare_seen(struct command *command)
{
    bool there = false;
    command->seen.on_full = command->on_full >= 0 ? (enum tool_on_full)command->on_full
                            : command->memory > 0 ? TOOL_FULL_STOP
                                                  : TOOL_FULL_GROW;
    command->dedupe.rule = command->choice.rule;
    if (command->state != NULL && !lock_state(command, &there))
        return false;
    if (there ? !open_state(command)
              : !(command->exact > 0 ? create_table(command) : create_filter(command)))
        return false;
    tool_seen_start(&command->seen, command->target);
    command->dedupe.may_stop = command->seen.on_full == TOOL_FULL_STOP || command->memory > 0;
    return true;
}

/* ---- What counts as seen --------------------------------------------------------------------- */

/* Whether a file is a filter; anything that can't be looked at without reading it away is lines. */
static bool is_filter(const char *path)
{
    struct stat facts;
    unsigned char head[64];
    bool undecided;
    if (tool_path_is_stdin(path) || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, head, sizeof(head));
    if (file >= 0)
        close(file);
    return count > 0 && tool_packing_of(head, (size_t)count, &undecided) == TOOL_FILTER;
}

/* Tells the filters from the lists, opens those, and puts the file to append to before these. */
static bool sort_againsts(struct command *command)
{
    const size_t most = command->against_given + 1;
    struct tool_against *filters = tool_allocate(most * sizeof(*filters));
    command->dedupe.against = filters;
    command->lists = tool_allocate(most * sizeof(char *));
    if (command->append != NULL)
        command->lists[command->list_count++] = command->append;
    for (size_t i = 0; i < command->against_given; i++) {
        const char *path = command->againsts[i];
        if (!is_filter(path)) {
            command->lists[command->list_count++] = path;
            continue;
        }
        struct tool_against *against = &filters[command->dedupe.against_count];
        *against = (struct tool_against){.path = path, .filter = tool_filter_open(path, 0, NULL)};
        if (against->filter == NULL)
            return false;
        command->dedupe.against_count++;
    }
    return true;
}

/* A filter's own rule makes its keys; one that has none takes ours. */
static void settle_rules(struct command *command)
{
    for (size_t i = 0; i < command->dedupe.against_count; i++) {
        struct tool_against *against = &command->dedupe.against[i];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(against->filter, false, &info);
        against->rule = tool_rule_is_none(&info.rule) ? command->dedupe.rule : info.rule;
    }
    if (command->dedupe.rule.flags & BLOOMERY_RULE_CRLF)
        command->source.returns_taken = true;
}

static bool learn_lists(struct command *command)
{
    struct tool_source lists = command->source;
    if (command->list_count == 0)
        return true;
    lists.paths = (char *const *)(const void *)command->lists;
    lists.count = command->list_count;
    bool good = tool_dedupe_learn(&command->dedupe, &lists);
    tool_seen_restart(&command->seen);
    return good;
}

/* ---- The report ------------------------------------------------------------------------------ */

/* Lines dropped by a filter that does not have them: so many for each new one that came through. */
static double against_drops(const struct command *command, double arrived)
{
    double pass = 0;
    for (size_t i = 0; i < command->dedupe.against_count; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(command->dedupe.against[i].filter, true, &info);
        pass += log1p(-info.live_rate);
    }
    return arrived * expm1(-pass);
}

static void get_facts(const struct command *command, struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    tool_seen_facts_get(&command->seen, facts);
    if (dedupe->against_count > 0)
        facts->wrong_drops += against_drops(command, (double)(dedupe->kept - dedupe->without_key) +
                                                         facts->wrong_drops);
}

static const char *say_drops(char text[TOOL_NUMBER_BYTES + 16], double drops)
{
    char number[TOOL_NUMBER_BYTES];
    if (!(drops < 1e15))
        snprintf(text, TOOL_NUMBER_BYTES + 16, "countless");
    else if (drops >= 1000)
        snprintf(text, TOOL_NUMBER_BYTES + 16, "about %s",
                 tool_format_count(number, (uint64_t)(drops + 0.5)));
    else
        snprintf(text, TOOL_NUMBER_BYTES + 16, drops > 0 ? "about %s" : "%s",
                 tool_format_rate(number, drops));
    return text;
}

static void say_report(const struct command *command, const struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    char lines[TOOL_NUMBER_BYTES], kept[TOOL_NUMBER_BYTES], dropped[TOOL_NUMBER_BYTES];
    char size[TOOL_NUMBER_BYTES], drops[TOOL_NUMBER_BYTES + 16], more[3 * TOOL_NUMBER_BYTES];
    more[0] = '\0';
    tool_format_count(kept, dedupe->without_key);
    if (dedupe->without_key > 0)
        snprintf(more, sizeof(more), " (%s without a key)", kept);
    tool_format_count(kept, command->seen.unremembered);
    if (command->seen.unremembered > 0)
        snprintf(more + strlen(more), sizeof(more) - strlen(more), " (%s not remembered)", kept);
    tool_say(
        "dedupe: read %s lines, kept %s%s, dropped %s; memory %s; %s lines dropped wrongly are "
        "expected",
        tool_format_count(lines, dedupe->lines), tool_format_count(kept, dedupe->kept), more,
        tool_format_count(dropped, dedupe->dropped), tool_format_size(size, facts->bytes),
        say_drops(drops, facts->wrong_drops));
}

static json_t *json_report(const struct command *command, const struct tool_seen_facts *facts)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    const bool table = command->seen.table != NULL;
    json_t *object = tool_json_report("dedupe");
    tool_json_add(object, "lines", tool_json_count(dedupe->lines));
    tool_json_add(object, "kept", tool_json_count(dedupe->kept));
    tool_json_add(object, "dropped", tool_json_count(dedupe->dropped));
    tool_json_add(object, "without_key", tool_json_count(dedupe->without_key));
    tool_json_add(object, "not_remembered", tool_json_count(command->seen.unremembered));
    tool_json_add(object, "expected_wrong_drops", tool_json_number(facts->wrong_drops));
    tool_json_add(object, "bytes", tool_json_count(facts->bytes));
    tool_json_add(object, "fingerprint_bits",
                  table ? tool_json_count(command->seen.table_bits) : tool_json_null());
    tool_json_add(object, "estimated_keys", tool_json_number(facts->keys));
    tool_json_add(object, "links", table ? tool_json_null() : tool_json_count(facts->links));
    tool_json_add(object, "planned_rate",
                  table ? tool_json_null() : tool_json_number(command->seen.target));
    tool_json_add(object, "expected_rate",
                  table ? tool_json_null() : tool_json_number(facts->rate));
    tool_json_add(object, "stopped", tool_json_bool(dedupe->stopped));
    return object;
}

/* The JSON object where lines are on standard output. */
static void json_to_stderr(json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (text == NULL)
        tool_error("not enough memory for the report");
    else
        tool_say("%s", text);
    free(text);
}

/* Returns `code`, or TOOL_ERROR where it can't be written. */
static int report(const struct command *command, int code)
{
    struct tool_seen_facts facts;
    const bool to_stdout = command->json && command->dedupe.count_only;
    if (command->quiet && !command->json)
        return code;
    get_facts(command, &facts);
    if (to_stdout)
        return tool_json_print(json_report(command, &facts), code);
    if (command->json)
        json_to_stderr(json_report(command, &facts));
    else
        say_report(command, &facts);
    return code;
}

/* ---- The run --------------------------------------------------------------------------------- */

static bool save_state(struct command *command)
{
    bloomery_error error;
    if (command->state == NULL)
        return true;
    if (bloomery_save(command->seen.filter, command->state, &error) != BLOOMERY_OK)
        return !tool_library_error(command->state, &error);
    command->state_made = false;
    return true;
}

/* The number that -c prints; then everything that was to be delivered is on its way. */
static bool finish_output(struct command *command)
{
    struct tool_dedupe *dedupe = &command->dedupe;
    if (dedupe->count_only && !command->json)
        tool_out_format(&dedupe->out, "%llu\n",
                        (unsigned long long)(dedupe->invert ? dedupe->dropped : dedupe->kept));
    return tool_out_finish(&dedupe->out, TOOL_FOUND) == TOOL_FOUND;
}

static int run(struct command *command)
{
    struct tool_dedupe *dedupe = &command->dedupe;
    bool good = learn_lists(command) && tool_dedupe_run(dedupe, &command->source);
    bool delivered =
        (good || dedupe->stopped) && !tool_out_failed(&dedupe->out) && !dedupe->append_failed;
    if (delivered || tool_out_failed(&dedupe->out))
        delivered = finish_output(command) && delivered;
    if (command->append != NULL)
        delivered = tool_appended_close(&command->appended) && delivered;
    if (!delivered) {
        if (command->state != NULL && !command->state_made)
            tool_say("%s was not changed", command->state);
        return TOOL_ERROR;
    }
    int code = save_state(command) && good ? TOOL_FOUND : TOOL_ERROR;
    if (dedupe->stopped)
        tool_seen_say_full(&command->seen, dedupe->lines, dedupe->kept);
    if (!tool_tally_say(&dedupe->tally, &dedupe->rule, "it was printed as it is"))
        code = TOOL_ERROR;
    return report(command, code);
}

static void clean_up(struct command *command)
{
    if (command->append != NULL)
        tool_appended_close(&command->appended);
    if (command->state_made)
        unlink(command->state);
    tool_filter_unlock(command->lock);
    for (size_t i = 0; i < command->dedupe.against_count; i++)
        bloomery_free(command->dedupe.against[i].filter);
    free(command->dedupe.against);
    free(command->lists);
    free(command->againsts);
    tool_fingerprints_free(command->seen.table);
    bloomery_free(command->seen.filter);
}

static int prepare_and_run(struct command *command)
{
    if (!sort_againsts(command) || !prepare_seen(command))
        return TOOL_ERROR;
    if (command->append != NULL &&
        !tool_appended_open(&command->appended, command->append, command->source.delimiter))
        return TOOL_ERROR;
    if (!output_is_no_input(command))
        return TOOL_ERROR;
    settle_rules(command);
    command->dedupe.appended = command->append != NULL ? &command->appended : NULL;
    return run(command);
}

static int dedupe_main(int argc, char **argv)
{
    struct command *command = tool_allocate(sizeof(*command)); /* large: the output's buffer */
    memset(command, 0, sizeof(*command));
    command->on_full = command->lock = command->appended.descriptor = -1;
    command->source.delimiter = '\n';
    command->dedupe.seen = &command->seen;
    tool_out_start(&command->dedupe.out);
    int option, code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "n:p:vcj:0q" TOOL_RULE_LETTERS, options)) != -1) {
        if (option == TOOL_OPTION_HELP || !take_option(command, option))
            break;
    }
    command->source.paths = argv + optind;
    command->source.count = (size_t)(argc - optind);
    command->source.keep_bom = command->choice.keep_bom;
    if (option == TOOL_OPTION_HELP)
        code = TOOL_FOUND;
    else if (option == -1 && tool_rule_complete(&command->choice) && fits_together(command))
        code = prepare_and_run(command);
    clean_up(command);
    free(command);
    return code;
}

const struct tool_command cmd_dedupe = {
    .name = "dedupe",
    .run = dedupe_main,
    .summary = "first occurrences of lines, in order",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* sieve ack: popped keys are done, come again at once, or stay leased for longer. And what to do
 * with those that were put aside. */
#include "base/numbers.h"
#include "command/sieve/sieve_command.h"
#include "input/chunks.h"
#include "key/rule.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "bloomery sieve ack [OPTION...] DIR [NUMBER...]\n"
    "\n"
    "Ends the leases of keys that 'sieve pop' printed: they are done, and never come\n"
    "again. The numbers are operands, or lines of standard input, in which everything\n"
    "behind a tab is ignored: the lines that pop printed will do.\n"
    "\n"
    "      --return         they are not done: the next pop redelivers them\n"
    "      --all            with --return: all leased keys, as of workers that died.\n"
    "                       'export --leased' lists them\n"
    "      --extend         they take longer: their leases begin again now\n"
    "      --lease TIME     with --extend: how long they last then: seconds, or with\n"
    "                       a unit (90s, 5m, 1h). Default 1h\n"
    "      --dead           the keys that 'pop --max-deliveries' put aside: forget\n"
    "                       them, or with --return queue all of them again. They stay\n"
    "                       seen. 'export --dead' lists them\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n" TOOL_SIEVE_MEMORY_HELP
        TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP "\n"
    "A key keeps its number when it is redelivered: after its lease has ended, its\n"
    "number may be that of another worker's lease.\n"
    "\n"
    "Exit code: 0 all of them were leased, 1 some were not (acknowledged twice, or\n"
    "never popped), 2 an error.\n"
    "\n"
    "  bloomery sieve ack crawl 17 18\n"
    "  bloomery sieve ack --return --all crawl\n"
    "  bloomery sieve ack --extend --lease 2h crawl 17\n";

enum {
    OPTION_RETURN = TOOL_SIEVE_OPTION_OWN,
    OPTION_ALL,
    OPTION_EXTEND,
    OPTION_LEASE,
    OPTION_DEAD,
};

struct ack {
    struct tool_sieve_command command;
    bool returns, all, extends, dead; /* --return and so on */
    double lease;                     /* seconds; 0: as long as by default */
    struct tool_source source;
    uint64_t *numbers;
    size_t count, room;
    uint64_t changed; /* of them: the others are not leased */
};

/* Digits and nothing else, which is what pop prints. */
static bool take_number(struct ack *ack, const char *text, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
            return false;
    if (bytes == 0)
        return false;
    if (ack->count == ack->room) {
        ack->room = 2 * ack->room + 1000;
        ack->numbers = tool_reallocate(ack->numbers, ack->room * sizeof(*ack->numbers));
    }
    ack->numbers[ack->count++] = number;
    return true;
}

static bool take_line(struct ack *ack, bloomery_key record)
{
    char shown[80];
    const char *tab = memchr(record.data, '\t', record.bytes);
    const size_t bytes = tab != NULL ? (size_t)(tab - (const char *)record.data) : record.bytes;
    if (take_number(ack, record.data, bytes))
        return true;
    tool_error("'%s' does not begin with a number as 'sieve pop' prints it; nothing was changed",
               tool_show_bytes(shown, sizeof(shown), record.data, record.bytes));
    return false;
}

/* All lines of standard input. The sieve is opened when they have ended. Until then the writer of
 * our pipe may be using it, as in 'pop | visit | ack'. */
static bool take_lines(struct ack *ack)
{
    struct tool_chunk chunk = {0};
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    struct tool_chunks *chunks = tool_chunks_open(&ack->source, NULL);
    bool good = true;
    while (good && tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while (good && (count = tool_chunk_keys(&chunk, records)) > 0)
            for (size_t i = 0; i < count && good; i++)
                good = take_line(ack, records[i]);
    }
    tool_chunks_give_back(chunks, &chunk);
    const char *name;
    uint64_t line;
    if (good && tool_chunks_too_long(chunks, &name, &line) > 0) {
        tool_error("%s: line %llu is longer than any that 'sieve pop' prints; nothing was changed",
                   tool_path_said(name), (unsigned long long)line);
        good = false;
    }
    good = tool_chunks_close(chunks) && good;
    tool_chunk_free(&chunk);
    free(records);
    return good;
}

static bool take_operands(struct ack *ack, char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!take_number(ack, texts[i], strlen(texts[i])))
            return !tool_usage("'%s' is not a number as 'sieve pop' prints it", texts[i]);
    return true;
}

static const char *verb_of(const struct ack *ack)
{
    if (ack->dead)
        return ack->returns ? "queued again" : "forgotten";
    if (ack->extends)
        return "leased for longer";
    return ack->returns ? "to be delivered again" : "done";
}

static int report(const struct ack *ack, int code)
{
    char number[TOOL_NUMBER_BYTES], what[TOOL_SIEVE_TEXT];
    const uint64_t changed = ack->changed, rest = ack->count - ack->changed;
    if (ack->command.json) {
        json_t *object = tool_json_report("sieve ack");
        tool_json_add(object, "returned", tool_json_bool(ack->returns));
        tool_json_add(object, "extended", tool_json_bool(ack->extends));
        tool_json_add(object, "dead", tool_json_bool(ack->dead));
        tool_json_add(object, "ended", tool_json_count(ack->extends ? 0 : changed));
        tool_json_add(object, "renewed", tool_json_count(ack->extends ? changed : 0));
        tool_json_add(object, "not_leased", tool_json_count(rest));
        return tool_json_print(object, code);
    }
    if (ack->command.quiet)
        return code;
    tool_sieve_things(what, changed, ack->dead ? "dead key" : "key");
    if (ack->dead || ack->all)
        tool_say("ack: %s %s", what, verb_of(ack));
    else
        tool_say("ack: %s %s; %s not leased", what, verb_of(ack), tool_format_count(number, rest));
    return code;
}

/* Whatever it is about, by one call. */
static bloomery_status change(struct ack *ack, bloomery_error *error)
{
    bloomery_sieve *sieve = ack->command.sieve;
    bloomery_status status;
    if (ack->dead)
        status = bloomery_sieve_end_dead(sieve, ack->returns, &ack->changed, error);
    else if (ack->extends)
        status = bloomery_sieve_extend(sieve, ack->numbers, ack->count, ack->lease, &ack->changed,
                                       error);
    else
        status = bloomery_sieve_finish(
            sieve, ack->numbers, ack->all ? BLOOMERY_SIEVE_ALL : ack->count,
            ack->returns ? BLOOMERY_SIEVE_BACK : BLOOMERY_SIEVE_DONE, &ack->changed, error);
    if (ack->dead || ack->all)
        ack->count = ack->changed;
    return status;
}

static int run(struct ack *ack, char **texts, size_t count)
{
    bloomery_error error = {0};
    const bool numbered = !ack->all && !ack->dead;
    if ((numbered && !(count > 0 ? take_operands(ack, texts, count) : take_lines(ack))) ||
        !tool_sieve_open(&ack->command))
        return TOOL_ERROR;
    if (change(ack, &error) != BLOOMERY_OK)
        return tool_sieve_close(&ack->command, tool_sieve_error(&ack->command, &error));
    return report(
        ack, tool_sieve_close(&ack->command, ack->changed < ack->count ? TOOL_NONE : TOOL_FOUND));
}

static bool fits_together(const struct ack *ack, int argc)
{
    if (ack->all && !ack->returns)
        return !tool_usage("--all goes with --return: that other workers' keys are done is for "
                           "them to say");
    if (ack->extends && (ack->returns || ack->all || ack->dead))
        return !tool_usage("--extend keeps leases, and goes with none of --return, --all, --dead");
    if (ack->lease > 0 && !ack->extends)
        return !tool_usage("--lease goes with --extend");
    if (ack->all && ack->dead)
        return !tool_usage("--dead is about all dead keys; --all is about leased ones");
    if ((ack->all || ack->dead) && optind + 1 < argc)
        return !tool_usage("%s takes no numbers", ack->all ? "--all" : "--dead");
    return true;
}

static bool take_option(struct ack *ack, int option)
{
    switch (option) {
    case OPTION_RETURN:
        ack->returns = true;
        return true;
    case OPTION_ALL:
        ack->all = true;
        return true;
    case OPTION_EXTEND:
        ack->extends = true;
        return true;
    case OPTION_LEASE:
        return tool_option_seconds("--lease", optarg, TOOL_SECONDS_SOME, &ack->lease);
    case OPTION_DEAD:
        ack->dead = true;
        return true;
    case '0':
        ack->source.delimiter = 0;
        return true;
    default:
        return tool_sieve_option(&ack->command, option);
    }
}

static int ack_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"return", no_argument, NULL, OPTION_RETURN},
        {"all", no_argument, NULL, OPTION_ALL},
        {"extend", no_argument, NULL, OPTION_EXTEND},
        {"lease", required_argument, NULL, OPTION_LEASE},
        {"dead", no_argument, NULL, OPTION_DEAD},
        {"null", no_argument, NULL, '0'},
        TOOL_SIEVE_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct ack ack = {.source = {.delimiter = '\n', .threads = 1, .record_max = 2 << 20}};
    int option;
    tool_sieve_start(&ack.command);
    while ((option = tool_getopt(argc, argv, "0" TOOL_SIEVE_LETTERS, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&ack, option))
            return TOOL_ERROR;
    }
    if (!fits_together(&ack, argc) || !tool_sieve_operand(&ack.command, argc, argv))
        return TOOL_ERROR;
    const int code = run(&ack, argv + optind, (size_t)(argc - optind));
    free(ack.numbers);
    return code;
}

const struct tool_command tool_sieve_ack = {
    .name = "sieve ack",
    .run = ack_main,
    .summary = "popped keys are done, or come again",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* sieve push and sieve mark: lines into a sieve, which is made if there is none. How: sieve_feed.c.
 * sieve import, which does the same with lists of other programs, is in sieve_import.c. */
#include "base/numbers.h"
#include "base/progress.h"
#include "command/sieve/sieve_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char push_help[] =
    "bloomery sieve push [OPTION...] DIR [INPUT...]\n"
    "\n"
    "Pushes each line of the inputs into the sieve in DIR, which is made if it does\n"
    "not exist. A line that was never pushed before is queued; any other is dropped.\n"
    "Lines come out in the order of their first pushes with --ordered (first in,\n"
    "first out) and from the memory engine; by default in each partition alone.\n"
    "No INPUT, or '-', is standard input; packed inputs and archives are\n"
    "unpacked ('bloomery help build').\n"
    "\n"
    "      --print          print the lines that are new. Memory engine: at once, as\n"
    "                       they were given. Disk engine: when the inputs have ended\n"
    "                       and all is decided, in the order and form in which they\n"
    "                       will be popped. They stay in the queue\n"
    "      --requeue        queue lines that were seen as well, to visit them again\n" /* and */
    TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP TOOL_PROGRESS_HELP
    "  -0, --null           input and output lines end with NUL instead of newline\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object: on standard output, or on\n"
    "                       standard error with --print\n"
    "\n" TOOL_SIEVE_MAKE_HELP "\n"
    "How a line becomes a key. These options are not kept in the sieve: give them\n"
    "each time.\n"
    "\n"
    "      --payload N      field N of the line goes with the key, and out with it\n"
    "                       again; with -F. That of a key's first push counts\n" TOOL_RULE_HELP "\n"
    "A line that can't be pushed (longer than 1 MiB, or not what the options above\n"
    "take) is passed over and reported at the end; the exit code is then 2. SIGINT,\n"
    "SIGTERM and SIGHUP end the input; what came before is in the sieve. A second\n"
    "signal does not wait. After a crash the first N pushes are there, for some N:\n"
    "push the same input again, and nothing is queued twice.\n"
    "\n"
    "  bloomery sieve push crawl seeds.txt\n"
    "  urls-of page.html | bloomery sieve push crawl\n"
    "  bloomery sieve push --canon url --ordered site seeds.txt\n"
    "  bloomery sieve push --memory 18MB -n 1e9 large urls.gz\n"
    "  bloomery sieve push --print --engine memory seen < urls.txt\n";

static const char mark_help[] =
    "bloomery sieve mark [OPTION...] DIR [INPUT...]\n"
    "\n"
    "Marks each line of the inputs as seen without queueing it: a later push of it is\n"
    "dropped. DIR is made if it does not exist. A line that was pushed before and is\n"
    "not decided yet (disk engine) comes out all the same.\n"
    "\n" TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP TOOL_PROGRESS_HELP
    "  -0, --null           lines end with NUL instead of newline\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n"
    "\n" TOOL_SIEVE_MAKE_HELP "\n"
    "How a line becomes a key. These options are not kept in the sieve:\n"
    "\n" TOOL_RULE_HELP "\n"
    "  bloomery sieve mark crawl visited.txt\n";

enum {
    OPTION_PRINT = TOOL_SIEVE_OPTION_OWN,
    OPTION_REQUEUE,
    OPTION_PAYLOAD,
};

static const struct option push_options[] = {
    {"print", no_argument, NULL, OPTION_PRINT},
    {"requeue", no_argument, NULL, OPTION_REQUEUE},
    {"payload", required_argument, NULL, OPTION_PAYLOAD},
    {"null", no_argument, NULL, '0'},
    TOOL_SIEVE_OPTIONS,
    TOOL_SIEVE_MAKE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

static const struct option mark_options[] = {
    {"null", no_argument, NULL, '0'},
    TOOL_SIEVE_OPTIONS,
    TOOL_SIEVE_MAKE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- The report ------------------------------------------------------------------------------ */

static const char *name_of(const struct tool_sieve_feed *feed)
{
    return feed->finds_lists ? "import" : feed->mode == BLOOMERY_SIEVE_PUSH_MARK ? "mark" : "push";
}

/* The last commit has only the first lines: what was decided of the others is gone with them. */
static void say_lost(const struct tool_sieve_feed *feed)
{
    char lines[TOOL_SIEVE_TEXT], durable[TOOL_NUMBER_BYTES];
    const char *verb = feed->mode == BLOOMERY_SIEVE_PUSH_MARK ? "marked" : "pushed";
    tool_sieve_things(lines, feed->pushed, "line");
    if (feed->durable == 0)
        tool_say("%s: %s %s, and none of it is durable: %s the input again", name_of(feed), verb,
                 lines, name_of(feed));
    else
        tool_say("%s: %s %s, of which only the first %s %s durable: %s the input again",
                 name_of(feed), verb, lines, tool_format_count(durable, feed->durable),
                 feed->durable == 1 ? "is" : "are", name_of(feed));
}

static void say_report(const struct tool_sieve_feed *feed, const bloomery_sieve_info *before,
                       const bloomery_sieve_info *after)
{
    char pushed[TOOL_SIEVE_TEXT], fresh[TOOL_NUMBER_BYTES], seen[TOOL_NUMBER_BYTES],
        pending[TOOL_NUMBER_BYTES + 40] = "", queued[TOOL_NUMBER_BYTES], number[TOOL_NUMBER_BYTES];
    tool_sieve_things(pushed, feed->pushed, "line");
    tool_format_count(seen, after->seen - before->seen);
    if (after->pending > 0)
        snprintf(pending, sizeof(pending), ", %s to be decided at the next pop",
                 tool_format_count(number, after->pending));
    tool_format_count(queued, after->queued);
    if (feed->mode == BLOOMERY_SIEVE_PUSH_MARK)
        tool_say("%s: marked %s", name_of(feed), pushed);
    else if (feed->mode == BLOOMERY_SIEVE_PUSH_AGAIN)
        tool_say("push: %s will be delivered again", pushed);
    else {
        /* Keys that were pending before became new or seen as well, so the sum is right. */
        char earlier[2 * TOOL_NUMBER_BYTES] = "";
        if (before->pending > 0)
            snprintf(earlier, sizeof(earlier), "; with %s pending before",
                     tool_format_count(number, before->pending));
        tool_say("push: pushed %s%s: %s new, %s seen%s; %s queued in all", pushed, earlier,
                 tool_format_count(fresh, after->new_keys - before->new_keys), seen, pending,
                 queued);
    }
}

static json_t *json_report(const struct tool_sieve_feed *feed, const bloomery_sieve_info *before,
                           const bloomery_sieve_info *after)
{
    char name[16];
    snprintf(name, sizeof(name), "sieve %s", name_of(feed));
    json_t *object = tool_json_report(name);
    tool_json_add(object, "lines", tool_json_count(feed->records));
    tool_json_add(object, "pushed", tool_json_count(feed->pushed));
    tool_json_add(object, "durable", tool_json_count(feed->durable));
    tool_json_add(object, "decided_new", tool_json_count(after->new_keys - before->new_keys));
    tool_json_add(object, "decided_seen", tool_json_count(after->seen - before->seen));
    tool_json_add(object, "marked", tool_json_count(after->marked - before->marked));
    tool_json_add(object, "forced", tool_json_count(after->forced - before->forced));
    tool_json_add(object, "printed",
                  feed->print ? tool_json_count(feed->printed) : tool_json_null());
    tool_json_add(object, "too_long", tool_json_count(feed->too_long));
    tool_json_add(object, "pending", tool_json_count(after->pending));
    tool_json_add(object, "queued", tool_json_count(after->queued));
    tool_json_add(object, "last_push", tool_json_count(after->pushed));
    tool_json_add(object, "complete", tool_json_bool(feed->good));
    return object;
}

static int report(const struct tool_sieve_feed *feed, const bloomery_sieve_info *before,
                  const bloomery_sieve_info *after, int code)
{
    const struct tool_sieve_command *command = feed->command;
    if (tool_interrupt_came(feed->source.interrupt) && !command->quiet &&
        feed->durable == feed->pushed)
        tool_say("%s ended the input; %s has what came before it", tool_interrupt_name(),
                 command->directory);
    if (command->json && !feed->print)
        return tool_json_print(json_report(feed, before, after), code);
    if (command->json)
        tool_json_say(json_report(feed, before, after));
    else if (!command->quiet && feed->durable < feed->pushed)
        say_lost(feed);
    else if (!command->quiet)
        say_report(feed, before, after);
    if (!command->quiet && feed->made && feed->durable > 0 && command->options.canon == NULL &&
        feed->urls > 0 && 2 * feed->urls > feed->looked_at)
        tool_notice("the lines are URLs, and the sieve takes them as they are: HTTP://Host/ and "
                    "http://host/ are two keys. --canon url makes them one; it can be chosen only "
                    "when a sieve is made");
    return code;
}

/* ---- The commands ---------------------------------------------------------------------------- */

static int run(struct tool_sieve_feed *feed)
{
    bool opened;
    const int code = tool_sieve_feed_run(feed, &opened);
    return opened ? report(feed, &feed->before, &feed->after, code) : code;
}

static bool take_payload(struct tool_sieve_feed *feed, const char *text)
{
    char *end;
    const long field = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || field == 0 || field < -1000000 || field > 1000000)
        return !tool_usage("--payload %s: must be the number of a field, 1 the first, -1 the last",
                           text);
    feed->payload = (int32_t)field;
    return true;
}

static bool take_option(struct tool_sieve_feed *feed, int option)
{
    switch (option) {
    case OPTION_PRINT:
        feed->print = true;
        return true;
    case OPTION_REQUEUE:
        feed->mode = BLOOMERY_SIEVE_PUSH_AGAIN;
        return true;
    case OPTION_PAYLOAD:
        return take_payload(feed, optarg);
    case '0':
        feed->source.delimiter = 0;
        return true;
    default:
        break;
    }
    /* Neither of these two prints anything for an option that is not its own. */
    if ((option >= TOOL_SIEVE_OPTION_MEMORY && option < TOOL_SIEVE_OPTION_OWN) || option == 'q' ||
        option == 'n' || option == 'p')
        return tool_sieve_make_option(feed->command, option);
    return tool_rule_option(&feed->choice, option);
}

static bool fits_together(const struct tool_sieve_feed *feed)
{
    const bloomery_sieve_options *options = &feed->command->options;
    if (feed->payload != 0 && feed->choice.rule.field == 0 && feed->choice.layout.field_count == 0)
        return !tool_usage("--payload is a field beside the key's: it goes with -F");
    if (options->engine == BLOOMERY_SIEVE_DISK &&
        (options->rate > 0 || options->full != BLOOMERY_SIEVE_GROW || options->dialect != NULL))
        return !tool_usage(
            "-p, --on-full and --dialect are for --engine memory; the disk engine has "
            "no filter");
    if (options->engine == BLOOMERY_SIEVE_MEMORY &&
        (options->fingerprint_bits > 0 || options->partitions > 0 ||
         options->order != BLOOMERY_SIEVE_ORDER_BY_PARTITION))
        return !tool_usage("--fingerprint-bits, --partitions and --ordered are for --engine disk");
    return true;
}

int tool_sieve_feed_main(struct tool_sieve_feed *feed, int argc, char **argv,
                         const struct option *options)
{
    struct tool_sieve_command *command = feed->command;
    int option;
    tool_sieve_start(command);
    command->options.existing = false;
    feed->source.delimiter = '\n';
    const char *letters = feed->finds_lists
                              ? "0" TOOL_SIEVE_LETTERS TOOL_SIEVE_MAKE_LETTERS
                              : "0" TOOL_SIEVE_LETTERS TOOL_SIEVE_MAKE_LETTERS TOOL_RULE_LETTERS;
    while ((option = tool_getopt(argc, argv, letters, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(feed, option))
            return TOOL_ERROR;
    }
    if (!tool_rule_complete(&feed->choice) || !fits_together(feed) ||
        !tool_sieve_operand(command, argc, argv))
        return TOOL_ERROR;
    feed->source.paths = argv + optind;
    feed->source.count = (size_t)(argc - optind);
    if (feed->finds_lists && feed->source.count == 0)
        return tool_usage("which files? 'bloomery sieve import %s FILE...'; '-' is standard input",
                          command->directory);
    if (feed->sort_lists != NULL)
        feed->sort_lists(feed, argv + optind);
    const int code = run(feed);
    free(feed->binaries);
    tool_interrupt_pass_on();
    return code;
}

static int push_main(int argc, char **argv)
{
    struct tool_sieve_command command;
    struct tool_sieve_feed feed = {
        .command = &command, .mode = BLOOMERY_SIEVE_PUSH, .verb = "pushing"};
    return tool_sieve_feed_main(&feed, argc, argv, push_options);
}

static int mark_main(int argc, char **argv)
{
    struct tool_sieve_command command;
    struct tool_sieve_feed feed = {
        .command = &command, .mode = BLOOMERY_SIEVE_PUSH_MARK, .verb = "marking"};
    return tool_sieve_feed_main(&feed, argc, argv, mark_options);
}

const struct tool_command tool_sieve_push = {
    .name = "sieve push",
    .run = push_main,
    .summary = "queue the lines that were never pushed before",
    .help = push_help,
};

const struct tool_command tool_sieve_mark = {
    .name = "sieve mark",
    .run = mark_main,
    .summary = "mark lines seen without queueing them",
    .help = mark_help,
};

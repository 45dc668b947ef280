/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sieve contains: grep with what was seen for a pattern.
 *
 * A line is seen, or surely not, or that is not known yet: it is not among what was decided, and something is pending that
 * it may be one of. Such a line is printed neither as seen nor, with -v, as unseen; what can't be answered is an error
 * (exit code 2), and --flush is the way to an answer.
 */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"
#include "input/blocks.h"
#include "key/rule.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "bloomery sieve contains [OPTION...] DIR [INPUT...]\n"
    "\n"
    "Prints the lines of the inputs that were seen by the sieve in DIR: pushed or noted, be they\n"
    "popped or not. No INPUT, or '-', is standard input. The memory engine calls a line seen that\n"
    "was not as often as its rate says.\n"
    "\n"
    "  -v, --invert         print the lines that surely were not\n"
    "  -c, --count          print only how many lines there are\n"
    "  -q, --quiet          print nothing; stop at the first one\n"
    "  -k, --key KEY        ask for this key; repeatable. Input is then read only where named\n"
    "      --flush          decide all that is pending first (disk engine: may read and write all\n"
    "                       that was seen). Without it lines that may be among what is pending "
    "are\n"
    "                       not answered: they are printed neither without nor with -v, and the\n"
    "                       exit code is 2\n"
    "  -0, --null           lines end with NUL instead of newline, in input and output\n"
    "      --json           with -c: one JSON object\n" TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_WAIT_HELP
    "\n"
    "What is asked for of a line; the whole line is printed:\n"
    "\n" TOOL_RULE_HELP "\n"
    "Exit code: 0 some line was (or, with -q or -c, would be) printed, 1 none, 2 an error.\n"
    "\n"
    "  bloomery sieve contains -q -k http://example.org/ crawl && echo seen\n"
    "  bloomery sieve contains -v --flush crawl < urls.txt\n";

enum { OPTION_FLUSH = TOOL_SIEVE_OPTION_OWN };

static const struct option options[] = {
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"quiet", no_argument, NULL, 'q'},
    {"key", required_argument, NULL, 'k'},
    {"flush", no_argument, NULL, OPTION_FLUSH},
    {"null", no_argument, NULL, '0'},
    TOOL_SIEVE_ALL_OPTIONS,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

struct asking {
    struct tool_sieve_command command;
    struct tool_rule_choice choice;
    struct tool_source source;
    const char **keys; /* of -k */
    size_t key_count;
    bool invert, count_only, flush;
    uint64_t asked, seen, unseen, unknown;
    bool ended; /* the first one was enough, or something failed */
    bool good;
    struct tool_out out;
    uint8_t answers[TOOL_BATCH_ROOM];
    bloomery_key records[TOOL_BATCH_ROOM];
};

static uint64_t selected(const struct asking *asking)
{
    return asking->invert ? asking->unseen : asking->seen;
}

/* Counts an answer, and prints the record that its key was made of. */
static void take_answer(struct asking *asking, int answer, bloomery_key record)
{
    asking->asked++;
    asking->seen += answer == BLOOMERY_SEEN;
    asking->unseen += answer == BLOOMERY_NEW;
    asking->unknown += answer == BLOOMERY_PENDING;
    if (answer != (asking->invert ? BLOOMERY_NEW : BLOOMERY_SEEN))
        return;
    if (asking->command.quiet) {
        asking->ended = true;
    } else if (!asking->count_only) {
        tool_out_bytes(&asking->out, record.data, record.bytes);
        tool_out_bytes(&asking->out, &asking->source.delimiter, 1);
        asking->ended = tool_out_failed(&asking->out);
    }
}

/* Asks for a key alone. -1 after a message. */
static int ask_one(struct asking *asking, bloomery_key key)
{
    bloomery_error error = {0};
    if (key.bytes > BLOOMERY_SIEVE_ITEM_MAX)
        return BLOOMERY_NEW; /* what is too long to be pushed was not */
    const int answer = bloomery_sieve_contains(asking->command.sieve, key, &error);
    if (answer >= 0)
        return answer;
    tool_sieve_error(&asking->command, &error);
    asking->good = false;
    asking->ended = true;
    return -1;
}

/* Asks for the keys of records together. What fails for one of them, which may be too long to be
 * asked for or lie in a damaged block, is left to asking one by one. */
static bool ask_together(struct asking *asking, const struct tool_made *made)
{
    return bloomery_sieve_contains_batch(asking->command.sieve, made->keys, made->count,
                                         asking->answers, NULL) == BLOOMERY_OK;
}

static void ask_block(struct asking *asking, struct tool_blocks *blocks, struct tool_block *block,
                      struct tool_made *made)
{
    size_t count;
    while (!asking->ended && (count = tool_block_keys(block, asking->records)) > 0) {
        tool_rule_apply(&asking->choice.rule, block, asking->records, count, made);
        if (made->tally.malformed > 0 && made->tally.line == 0)
            tool_tally_place(&made->tally, blocks);
        const bool together = ask_together(asking, made);
        size_t key = 0;
        for (size_t i = 0; i < count && !asking->ended; i++) {
            if ((made->with_key[i / 64] >> i % 64 & 1) == 0)
                continue;
            const int answer = together ? asking->answers[key] : ask_one(asking, made->keys[key]);
            key++;
            if (answer >= 0)
                take_answer(asking, answer, asking->records[i]);
        }
    }
    if (!tool_out_flush(&asking->out))
        asking->ended = true;
}

static void ask_keys(struct asking *asking)
{
    struct tool_made *made = tool_made_new();
    const bloomery_key_rule rule = tool_rule_of_keys(&asking->choice.rule);
    for (size_t i = 0; i < asking->key_count && !asking->ended; i++) {
        const bloomery_key record = bloomery_key_of(asking->keys[i], strlen(asking->keys[i]));
        if (tool_rule_apply(&rule, NULL, &record, 1, made) != 1)
            continue;
        const int answer = ask_one(asking, made->keys[0]);
        if (answer >= 0)
            take_answer(asking, answer, record);
    }
    asking->good = tool_tally_say(&made->tally, &rule, "it was not asked for") && asking->good;
    tool_made_free(made);
}

static bool open_and_flush(struct asking *asking)
{
    bloomery_error error = {0};
    asking->command.options.read_only = !asking->flush;
    if (!tool_sieve_open(&asking->command))
        return false;
    if (!asking->flush || bloomery_sieve_flush(asking->command.sieve, &error) == BLOOMERY_OK)
        return true;
    return !tool_sieve_close(&asking->command, tool_sieve_error(&asking->command, &error));
}

static void ask_source(struct asking *asking, struct tool_blocks *blocks, struct tool_block *block)
{
    struct tool_made *made = tool_made_new();
    bool more = true;
    while (more && !asking->ended) {
        ask_block(asking, blocks, block, made);
        more = !asking->ended && tool_blocks_take(blocks, block);
    }
    tool_blocks_give_back(blocks, block);
    asking->good =
        tool_tally_say(&made->tally, &asking->choice.rule, "it was not asked for") && asking->good;
    tool_made_free(made);
}

static int print_json(const struct asking *asking, int code)
{
    json_t *object = tool_json_report("sieve contains");
    tool_json_add(object, "inverted", tool_json_bool(asking->invert));
    tool_json_add(object, "asked", tool_json_count(asking->asked));
    tool_json_add(object, "seen", tool_json_count(asking->seen));
    tool_json_add(object, "not_seen", tool_json_count(asking->unseen));
    tool_json_add(object, "not_known", tool_json_count(asking->unknown));
    return tool_json_print(object, code);
}

static int finish(struct asking *asking)
{
    char text[TOOL_SIEVE_TEXT];
    const bool found = selected(asking) > 0;
    const bool settled = asking->command.quiet && found;
    if (asking->unknown > 0 && !settled) {
        tool_error("%s may be among what is pending, and can't be answered; --flush decides that "
                   "first",
                   tool_sieve_things(text, asking->unknown, "line"));
        asking->good = false;
    }
    int code = !asking->good && !settled ? TOOL_ERROR : found ? TOOL_FOUND : TOOL_NONE;
    code = tool_sieve_close(&asking->command, code);
    if (asking->command.json)
        return print_json(asking, code);
    if (asking->count_only && !asking->command.quiet)
        tool_out_format(&asking->out, "%llu\n", (unsigned long long)selected(asking));
    return tool_out_finish(&asking->out, code);
}

static int run(struct asking *asking)
{
    struct tool_block block = {0};
    const bool reads = asking->key_count == 0 || asking->source.count > 0;
    struct tool_blocks *blocks = tool_blocks_open(&asking->source, NULL);
    /* The sieve is opened when something came: see sieve_feed.c. */
    const bool more = reads && tool_blocks_take(blocks, &block);
    const bool opened = open_and_flush(asking);
    if (opened)
        ask_keys(asking);
    if (opened && more)
        ask_source(asking, blocks, &block);
    const char *name;
    uint64_t line;
    const uint64_t too_long = tool_blocks_too_long(blocks, &name, &line);
    asking->asked += too_long;
    asking->unseen += too_long; /* and not printed: more than can be held */
    tool_blocks_give_back(blocks, &block);
    if (!tool_blocks_close(blocks))
        asking->good = false;
    tool_block_free(&block);
    return opened ? finish(asking) : TOOL_ERROR;
}

/* One option. False after a message. */
static bool take_option(struct asking *asking, int option)
{
    switch (option) {
    case 'v':
        asking->invert = true;
        return true;
    case 'c':
        asking->count_only = true;
        return true;
    case 'k':
        asking->keys[asking->key_count++] = optarg;
        return true;
    case OPTION_FLUSH:
        asking->flush = true;
        return true;
    case '0':
        asking->source.delimiter = 0;
        return true;
    default:
        break;
    }
    if ((option >= TOOL_SIEVE_OPTION_MEMORY && option < TOOL_SIEVE_OPTION_OWN) || option == 'q')
        return tool_sieve_option(&asking->command, option);
    return tool_rule_option(&asking->choice, option);
}

static bool read_options(struct asking *asking, int argc, char **argv, int *code)
{
    int option;
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "vcqk:0" TOOL_RULE_LETTERS, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            *code = TOOL_FOUND;
        if (option == TOOL_OPTION_HELP || !take_option(asking, option))
            return false;
    }
    if (asking->command.json && (!asking->count_only || asking->command.quiet))
        return !tool_usage("--json is for the counts of -c, without -q");
    return tool_rule_complete(&asking->choice) && tool_sieve_operand(&asking->command, argc, argv);
}

static int contains_main(int argc, char **argv)
{
    struct asking *asking = tool_allocate(sizeof(*asking));
    memset(asking, 0, sizeof(*asking));
    tool_sieve_start(&asking->command);
    tool_out_start(&asking->out);
    asking->good = true;
    asking->keys = tool_allocate((size_t)argc * sizeof(const char *));
    asking->source = (struct tool_source){
        .delimiter = '\n', .keep_going = true, .threads = 1, .record_most = 8 << 20};
    int code;
    if (read_options(asking, argc, argv, &code)) {
        asking->source.paths = argv + optind;
        asking->source.count = (size_t)(argc - optind);
        asking->source.keep_bom = asking->choice.keep_bom;
        asking->source.returns_taken = (asking->choice.rule.flags & BLOOMERY_RULE_CRLF) != 0;
        code = run(asking);
    }
    free(asking->keys);
    free(asking);
    return code;
}

const struct tool_command tool_sieve_contains = {
    .name = "sieve contains",
    .run = contains_main,
    .summary = "print the lines that were seen, or were not",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sieve contains: grep with what was seen for a pattern.
 *
 * A line is seen, or definitely not, or that is not known yet. It is then not among what was
 * decided, and something is pending that it may be one of. Such a line is printed neither as seen
 * nor, with -v, as unseen. A line without an answer is an error (exit code 2), and --flush is the
 * way to an answer.
 */
#include "base/bits.h"
#include "base/out.h"
#include "base/report.h"
#include "command/sieve/sieve_command.h"
#include "input/chunks.h"
#include "key/rule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 2 << 20 };

struct querying {
    struct tool_sieve_command command;
    struct tool_rule_choice choice;
    struct tool_source source;
    struct tool_texts keys; /* of -k */
    bool invert, count_only, flush;
    uint64_t queried, seen, unseen, unknown;
    uint64_t too_long; /* to be held, and so not queried */
    bool ended;        /* the first one was enough, or something failed */
    bool good;
    struct tool_out out;
    uint8_t answers[TOOL_BATCH_ROOM];
    bloomery_key records[TOOL_BATCH_ROOM];
};

static const struct tool_option options[] = {
    {'v', "invert", NULL, TOOL_FLAG(struct querying, invert),
     .help = "print the lines that were definitely not seen"},
    {'c', "count", NULL, TOOL_FLAG(struct querying, count_only),
     .help = "print only the number of these lines"},
    {'q', "quiet", NULL, TOOL_FLAG(struct querying, command.quiet),
     .help = "print nothing; stop at the first match"},
    {'k', "key", "KEY", TOOL_TEXTS(struct querying, keys),
     .help = "look up KEY; repeatable. Inputs are then read only if they are named"},
    {0, "flush", NULL, TOOL_FLAG(struct querying, flush),
     .help = "first decide which pending keys are new. The disk engine may then read and "
             "write all fingerprints. Without --flush, lines that may be pending have no "
             "answer. They are not printed, with or without -v, and the exit code is 2"},
    {'0', "null", NULL, TOOL_BYTE(struct querying, source.delimiter, '\0'),
     .help = "end input and output lines with NUL instead of newline"},
    {0, "json", NULL, TOOL_FLAG(struct querying, command.json),
     .help = "print the counts as one JSON object (with -c)"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_SIEVE_READ_GROUPS(struct querying, command),
    TOOL_RULE_GROUPS("Lines of more than 2 MiB are not looked up; an error at the end says so.\n"
                     "\n"
                     "How a line becomes a key; the whole line is printed:",
                     struct querying, choice),
    TOOL_GROUPS_END,
};

static uint64_t selected(const struct querying *querying)
{
    return querying->invert ? querying->unseen : querying->seen;
}

/* Counts an answer, and prints the record that its key was made of. */
static void take_answer(struct querying *querying, int answer, bloomery_key record)
{
    querying->queried++;
    querying->seen += answer == BLOOMERY_SIEVE_SEEN;
    querying->unseen += answer == BLOOMERY_SIEVE_NEW;
    querying->unknown += answer == BLOOMERY_SIEVE_PENDING;
    if (answer != (querying->invert ? BLOOMERY_SIEVE_NEW : BLOOMERY_SIEVE_SEEN))
        return;
    if (querying->command.quiet) {
        querying->ended = true;
    } else if (!querying->count_only) {
        tool_out_bytes(&querying->out, record.data, record.bytes);
        tool_out_bytes(&querying->out, &querying->source.delimiter, 1);
        querying->ended = tool_out_failed(&querying->out);
    }
}

/* Queries one key. -1 after a message. */
static int query_one(struct querying *querying, bloomery_key key)
{
    bloomery_error error = {0};
    if (key.bytes > BLOOMERY_SIEVE_ITEM_MAX)
        return BLOOMERY_SIEVE_NEW; /* a key that is too long to be pushed was not */
    uint8_t answer = 0;
    if (bloomery_sieve_contains(querying->command.sieve, &key, 1, &answer, &error) == BLOOMERY_OK)
        return answer;
    tool_sieve_error(&querying->command, &error);
    querying->good = false;
    querying->ended = true;
    return -1;
}

static void query_chunk(struct querying *querying, struct tool_chunks *chunks,
                        struct tool_chunk *chunk, struct tool_made *made)
{
    size_t count;
    while (!querying->ended && (count = tool_chunk_keys(chunk, querying->records)) > 0) {
        tool_rule_apply(&querying->choice.rule, chunk, querying->records, count, made);
        if (made->tally.malformed + made->tally.broken > 0)
            tool_tally_place(&made->tally, chunks);
        /* If that fails for one of them, each is queried by itself: it may be too long, or lie in a
         * damaged frame. */
        const bool together =
            bloomery_sieve_contains(querying->command.sieve, made->keys, made->count,
                                    querying->answers, NULL) == BLOOMERY_OK;
        size_t key = 0;
        for (size_t i = 0; i < count && !querying->ended; i++) {
            if (!tool_bit(made->with_key, i))
                continue;
            const int answer =
                together ? querying->answers[key] : query_one(querying, made->keys[key]);
            key++;
            if (answer >= 0)
                take_answer(querying, answer, querying->records[i]);
        }
        assert(querying->ended || key == made->count);
    }
    if (!tool_out_flush(&querying->out))
        querying->ended = true;
}

static void query_keys(struct querying *querying)
{
    struct tool_made *made = tool_made_new();
    const bloomery_key_rule rule = tool_rule_of_keys(&querying->choice.rule);
    for (size_t i = 0; i < querying->keys.count && !querying->ended; i++) {
        const bloomery_key record =
            bloomery_key_of(querying->keys.list[i], strlen(querying->keys.list[i]));
        if (tool_rule_apply(&rule, NULL, &record, 1, made) != 1)
            continue;
        const int answer = query_one(querying, made->keys[0]);
        if (answer >= 0)
            take_answer(querying, answer, record);
    }
    querying->good = tool_tally_say(&made->tally, &rule, "it was not looked up") && querying->good;
    tool_made_free(made);
}

static void query_source(struct querying *querying, struct tool_chunks *chunks,
                         struct tool_chunk *chunk)
{
    struct tool_made *made = tool_made_new();
    bool more = true;
    while (more && !querying->ended) {
        query_chunk(querying, chunks, chunk, made);
        more = !querying->ended && tool_chunks_take(chunks, chunk);
    }
    tool_chunks_give_back(chunks, chunk);
    querying->good = tool_tally_say(&made->tally, &querying->choice.rule, "it was not looked up") &&
                     querying->good;
    tool_made_free(made);
}

/* A line that is longer than any that is held. A rule could make a key of it that was seen, and
 * with -v it could not be printed. */
static void say_too_long(struct querying *querying, const struct tool_chunks *chunks)
{
    const char *name;
    uint64_t line;
    querying->too_long = tool_chunks_too_long(chunks, &name, &line);
    if (querying->too_long == 0)
        return;
    querying->good = false;
    tool_error("%s: line %llu is longer than 2 MiB, the most for a line; %s %s not looked up",
               tool_path_said(name), (unsigned long long)line,
               TOOL_SAY_THINGS(querying->too_long, "such line"),
               querying->too_long == 1 ? "was" : "were");
}

static int finish(struct querying *querying)
{
    const bool found = selected(querying) > 0;
    assert(querying->queried == querying->seen + querying->unseen + querying->unknown);
    const bool settled = querying->command.quiet && found;
    if (querying->unknown > 0 && !settled) {
        tool_error("%s may be pending and can't be answered; --flush decides them first",
                   TOOL_SAY_THINGS(querying->unknown, "line"));
        querying->good = false;
    }
    int code = !querying->good && !settled ? TOOL_ERROR : found ? TOOL_FOUND : TOOL_NONE;
    code = tool_sieve_close(&querying->command, code);
    if (querying->command.json) {
        struct tool_report *report =
            tool_report_start("sieve contains", (struct tool_report_form){0});
        tool_fact(report, "inverted", NULL, tool_yes(querying->invert));
        tool_fact(report, "asked", NULL, tool_count(querying->queried));
        tool_fact(report, "seen", NULL, tool_count(querying->seen));
        tool_fact(report, "not_seen", NULL, tool_count(querying->unseen));
        tool_fact(report, "not_known", NULL, tool_count(querying->unknown));
        tool_fact(report, "too_long", NULL, tool_count(querying->too_long));
        return tool_report_print(report, true, code);
    }
    if (querying->count_only && !querying->command.quiet)
        tool_out_format(&querying->out, "%llu\n", (unsigned long long)selected(querying));
    return tool_out_finish(&querying->out, code);
}

static int run(struct querying *querying)
{
    struct tool_chunk chunk = {0};
    const bool reads = querying->keys.count == 0 || querying->source.count > 0;
    struct tool_chunks *chunks = tool_chunks_open(&querying->source, NULL);
    /* The sieve is opened when something came: see sieve_push.c. */
    const bool more = reads && tool_chunks_take(chunks, &chunk);
    querying->command.options.read_only = !querying->flush;
    const bool opened = tool_sieve_open(&querying->command) &&
                        (!querying->flush || tool_sieve_flush_all(&querying->command));
    if (opened)
        query_keys(querying);
    if (opened && more)
        query_source(querying, chunks, &chunk);
    if (opened)
        say_too_long(querying, chunks);
    tool_chunks_give_back(chunks, &chunk);
    if (!tool_chunks_close(chunks))
        querying->good = false;
    tool_chunk_free(&chunk);
    return opened ? finish(querying) : TOOL_ERROR;
}

static int contains_main(int argc, char **argv)
{
    struct querying *querying = tool_allocate(sizeof(*querying));
    memset(querying, 0, sizeof(*querying));
    tool_sieve_start(&querying->command);
    tool_out_start(&querying->out);
    querying->good = true;
    querying->source = (struct tool_source){
        .delimiter = '\n', .keep_going = true, .threads = 1, .record_max = LINE_MAX};
    int code;
    if (!tool_options_read(argc, argv, querying, &code))
        ; /* after the help or a message */
    else if (querying->command.json && (!querying->count_only || querying->command.quiet))
        code = tool_usage("--json is for the counts of -c, without -q");
    else if (tool_rule_complete(&querying->choice) &&
             tool_sieve_operand(&querying->command, argc, argv)) {
        querying->source.paths = argv + optind;
        querying->source.count = (size_t)(argc - optind);
        tool_source_lay_out(&querying->source, &querying->choice, &querying->choice.rule);
        code = run(querying);
    }
    free((void *)querying->keys.list);
    free(querying);
    return code;
}

const struct tool_command tool_sieve_contains = {
    .name = "sieve contains",
    .run = contains_main,
    .summary = "print the lines that were seen, or were not",
    .synopsis = "bloomery sieve contains [OPTION...] DIR [INPUT...]",
    .introduction =
        "Prints the lines of the inputs that the sieve in DIR has seen: pushed or "
        "marked, popped or not. Without INPUT, or with '-', it reads standard input. The "
        "memory engine reports an unseen line as seen as often as its rate says.",
    .groups = groups,
    .epilogue =
        "Exit code: 0 some line was (or, with -q or -c, would be) printed, 1 none, 2 an error.\n"
        "\n"
        "  bloomery sieve contains -q -k http://example.org/ crawl && echo seen\n"
        "  bloomery sieve contains -v --flush crawl < urls.txt",
};

/* SPDX-License-Identifier: Apache-2.0 */
/* sieve push and sieve mark: lines into a sieve, which is made if there is none. How: sieve_feed.c.
 * sieve import, which does the same with lists of other programs, is in sieve_import.c. */
#include "base/bits.h"
#include "base/numbers.h"
#include "base/out.h"
#include "base/progress.h"
#include "command/sieve/sieve_command.h"
#include "input/chunks.h"
#include "key/rule.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Sieve feed ------------------------------------------------------------------------------ */

/* The keys that go into a sieve: the lines of inputs, pushed or marked (sieve_feed.c). */

struct tool_sieve_feed {
    struct tool_sieve_command *command;
    bloomery_sieve_push_mode mode;
    const char *verb; /* of the progress line */
    bool print;       /* the keys that are new, to stdout */
    int32_t payload;  /* the field that is the payload; 0: none */
    bool finds_lists; /* if an input's first line is a fingerprint, it is a requests.seen */
    /* Takes files with binary fingerprints out of the source, whose paths these are, into
     * `binaries`; NULL: there are none. */
    void (*sort_lists)(struct tool_sieve_feed *feed, char **paths);
    char **binaries; /* files of Scrapy's fingerprints, 20 bytes each, that are marked first */
    size_t binary_count;
    struct tool_source source;
    struct tool_rule_choice choice;

    /* The results. */
    bloomery_sieve_info before, after;
    uint64_t records;        /* read */
    uint64_t pushed;         /* this time */
    uint64_t durable;        /* of these; fewer if saving them failed */
    uint64_t too_long;       /* records that were passed over for their length */
    uint64_t no_fingerprint; /* of requests.seen: lines that are none */
    uint64_t urls;           /* of the first lines: those that begin as URLs do */
    uint64_t looked_at;      /* these first lines */
    bool made;               /* there was no sieve before */
    uint64_t printed;
    bool good; /* every record was read and became a push, or was to be none */
};

/* Reads all inputs and pushes their lines into the sieve, which it opens and closes. Returns the
 * exit code; messages were printed if it is TOOL_ERROR. False in `opened`: there is nothing to
 * report. */
int tool_sieve_feed_run(struct tool_sieve_feed *feed, bool *opened);

/* The command as a whole: its options, and the report (sieve_push.c). */
int tool_sieve_feed_main(struct tool_sieve_feed *feed, int argc, char **argv,
                         const struct option *options);

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

static int run_and_report(struct tool_sieve_feed *feed)
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
    const int code = run_and_report(feed);
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

/* ---- Sieve feed ------------------------------------------------------------------------------ */

/*
 * Lines into a sieve, by one thread: a sieve takes keys in an order, which is that of the input.
 *
 * Memory is bounded (--memory). chunks.c keeps nothing of chunks that are done with, and passes
 * over lines that are longer than a key may be. A line that can't be pushed is no reason to leave
 * out those after it. It is counted and reported at the end, and the exit code is that of an error.
 *
 * The printed keys. The memory engine returns NEW at once, and the key is written as it was given,
 * each chunk by itself. So the reader at the other end of a pipe gets what there is. The disk
 * engine decides in batches. Here all that was pending before is decided first; then comes the
 * input; then everything is decided. The new items are those in the queue behind the ones that it
 * held before. They have the order of the queue and the form in which they will be popped.
 *
 * A pipe with nothing to send makes no calls, and without calls a sieve does not commit. So a
 * commit is made when the input has been silent for as long as commits are apart.
 */

struct run {
    struct tool_sieve_feed *feed;
    struct tool_chunks *chunks;
    struct tool_made *made; /* NULL: records are the keys */
    struct tool_made *paid; /* the payloads; NULL: none */
    bloomery_key_rule payload_rule;
    struct tool_layout payload_layout;
    bloomery_key *payloads;
    struct tool_out *out;   /* NULL: nothing is printed while it runs */
    const char *list;       /* the input that is a requests.seen; NULL: the present one is none */
    bool ended;             /* nothing more is pushed */
    uint64_t skipped;       /* of the queue, when the new ones are printed */
    size_t batch;           /* records of the present batch */
    const char *long_input; /* of the first record whose key is too long; NULL: there is none */
    uint64_t long_line;
    bloomery_key records[TOOL_BATCH_ROOM];
    uint8_t results[TOOL_BATCH_ROOM];
};

/* ---- Pushing --------------------------------------------------------------------------------- */

static void print_new(struct run *run, const bloomery_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (run->results[i] == BLOOMERY_SIEVE_NEW) {
            tool_out_bytes(run->out, keys[i].data, keys[i].bytes);
            tool_out_bytes(run->out, &run->feed->source.delimiter, 1);
            run->feed->printed++;
        }
    run->ended |= tool_out_failed(run->out);
}

/* Keys that are none too long. */
static void push_run(struct run *run, const bloomery_key *keys, const bloomery_key *payloads,
                     size_t count)
{
    struct tool_sieve_feed *feed = run->feed;
    bloomery_error error = {0};
    bloomery_sieve_pushed pushed = {0, 0};
    const bloomery_status status = bloomery_sieve_push(feed->command->sieve, keys, payloads, count,
                                                       feed->mode, run->results, &pushed, &error);
    assert(pushed.done <= count);
    feed->pushed += pushed.done;
    if (run->out != NULL)
        print_new(run, keys, pushed.done);
    if (status != BLOOMERY_OK) {
        tool_sieve_error(feed->command, &error);
        feed->good = false;
        run->ended = true;
    }
}

/* Key `key` of the present batch is too long. */
static void pass_over(struct run *run, const struct tool_chunk *chunk, size_t key)
{
    struct tool_sieve_feed *feed = run->feed;
    const char *name;
    uint64_t line;
    size_t record = key;
    if (run->made != NULL && run->list == NULL) {
        record = tool_next_bit(run->made->with_key, 0, run->batch, true);
        for (; key > 0; key--)
            record = tool_next_bit(run->made->with_key, record + 1, run->batch, true);
    }
    if (feed->too_long++ == 0 && tool_chunks_too_long(run->chunks, &name, &line) == 0) {
        run->long_input = chunk->input;
        run->long_line =
            tool_chunks_line(run->chunks, chunk->number, chunk->records - run->batch + record);
    }
    feed->good = false;
}

static void push_keys(struct run *run, const struct tool_chunk *chunk, const bloomery_key *keys,
                      const bloomery_key *payloads, size_t count)
{
    size_t begin = 0;
    for (size_t i = 0; i <= count && !run->ended; i++) {
        if (i < count &&
            keys[i].bytes <= BLOOMERY_SIEVE_ITEM_MAX -
                                 (payloads != NULL && payloads[i].bytes <= BLOOMERY_SIEVE_ITEM_MAX
                                      ? payloads[i].bytes
                                      : 0) &&
            (payloads == NULL || payloads[i].bytes <= BLOOMERY_SIEVE_ITEM_MAX))
            continue;
        if (i > begin)
            push_run(run, keys + begin, payloads != NULL ? payloads + begin : NULL, i - begin);
        if (i < count)
            pass_over(run, chunk, i);
        begin = i + 1;
    }
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The payloads of those records that have a key, in the order of the keys. */
static void find_payloads(struct run *run, const struct tool_chunk *chunk, size_t count)
{
    size_t key = 0, paid = 0;
    struct tool_chunk laid_out = *chunk; /* as the payload lies, not the key */
    laid_out.layout = &run->payload_layout;
    tool_rule_apply(&run->payload_rule, &laid_out, run->records, count, run->paid);
    for (size_t i = 0; i < count; i++) {
        const bool has = tool_bit(run->paid->with_key, i);
        if (tool_bit(run->made->with_key, i))
            run->payloads[key++] = has ? run->paid->keys[paid] : bloomery_key_of("", 0);
        paid += has;
    }
    assert(key == run->made->count && paid == run->paid->count);
}

static void push_made(struct run *run, const struct tool_chunk *chunk, size_t count)
{
    struct tool_made *made = run->made;
    tool_rule_apply(&run->feed->choice.rule, chunk, run->records, count, made);
    if (made->tally.malformed + made->tally.broken > 0)
        tool_tally_place(&made->tally, run->chunks);
    if (run->paid != NULL)
        find_payloads(run, chunk, count);
    push_keys(run, chunk, made->keys, run->payloads, made->count);
}

enum { FINGERPRINT_DIGITS = 40 };

static bool is_fingerprint(bloomery_key key)
{
    const unsigned char *text = key.data;
    if (key.bytes == FINGERPRINT_DIGITS + 1 && text[FINGERPRINT_DIGITS] == '\r')
        key.bytes--;
    for (size_t i = 0; i < key.bytes; i++)
        if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    return key.bytes == FINGERPRINT_DIGITS;
}

/* Of a requests.seen: its fingerprints, without the characters that some systems put at a line's
 * end. A crash may have cut the last line, which is none then. */
static void push_fingerprints(struct run *run, const struct tool_chunk *chunk, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_fingerprint(run->records[i]))
            run->records[kept++] = bloomery_key_of(run->records[i].data, FINGERPRINT_DIGITS);
    run->feed->no_fingerprint += count - kept;
    push_keys(run, chunk, run->records, NULL, kept);
}

/* Returns whether an input that begins with this record is a list of lines. A binary requests.seen
 * that came packed or by a pipe is not: its bytes would be marked as keys that nobody looks up. The
 * first line of half of them has no NUL byte, so all lines at hand are looked at. */
static bool is_list(struct run *run, const struct tool_chunk *chunk, bloomery_key first)
{
    const unsigned char *from = first.data;
    if (run->feed->source.delimiter == 0 || memchr(from, 0, (size_t)(chunk->end - from)) == NULL)
        return true;
    tool_error("%s: it is not a list of lines: there are NUL bytes in it. Give a binary "
               "requests.seen as a file of its own, unpacked; or -0 for lines that end with NUL",
               tool_path_said(chunk->input));
    run->feed->good = false;
    run->ended = true;
    return false;
}

/* How many of the first lines are URLs. */
static void look_for_urls(struct tool_sieve_feed *feed, const bloomery_key *lines, size_t count)
{
    for (size_t i = 0; i < count && feed->looked_at < 100; i++, feed->looked_at++) {
        const char *text = lines[i].data;
        size_t at = 0;
        while (at < lines[i].bytes && at < 10 && ((text[at] | 32) >= 'a' && (text[at] | 32) <= 'z'))
            at++;
        feed->urls +=
            at > 0 && lines[i].bytes > at + 3 && memcmp(text + at, "://", strlen("://")) == 0;
    }
}

static void push_chunk(struct run *run, struct tool_chunk *chunk)
{
    size_t count;
    bool first = chunk->begins_input;
    while (!run->ended && (count = tool_chunk_keys(chunk, run->records)) > 0) {
        if (first && run->feed->finds_lists) {
            run->list = is_fingerprint(run->records[0]) ? chunk->input : NULL;
            if (run->list == NULL && !is_list(run, chunk, run->records[0]))
                return;
        }
        first = false;
        look_for_urls(run->feed, run->records, count);
        run->batch = count;
        if (run->list != NULL)
            push_fingerprints(run, chunk, count);
        else if (run->made != NULL)
            push_made(run, chunk, count);
        else
            push_keys(run, chunk, run->records, NULL, count);
    }
    /* The reader of a pipe gets what there is. */
    if (run->out != NULL && !tool_out_flush(run->out))
        run->ended = true;
}

/* ---- Scrapy's binary files ------------------------------------------------------------------- */

/* A file of fingerprints of 20 bytes. As keys they are the 40 digits that text files have. */
static void push_binary(struct run *run, const char *path)
{
    static const char digits[] = "0123456789abcdef";
    enum { BYTES = FINGERPRINT_DIGITS / 2, AT_A_TIME = 256 };
    unsigned char records[AT_A_TIME * BYTES];
    char text[AT_A_TIME * FINGERPRINT_DIGITS];
    size_t bytes;
    FILE *file = fopen(path, "rb");
    while (file != NULL && !run->ended && (bytes = fread(records, 1, sizeof records, file)) > 0) {
        const size_t count = bytes / BYTES;
        for (size_t i = 0; i < count * BYTES; i++) {
            text[2 * i] = digits[records[i] >> 4];
            text[2 * i + 1] = digits[records[i] & 15];
        }
        for (size_t i = 0; i < count; i++)
            run->records[i] = bloomery_key_of(text + i * FINGERPRINT_DIGITS, FINGERPRINT_DIGITS);
        run->feed->no_fingerprint += bytes % BYTES != 0;
        run->feed->records += count;
        push_run(run, run->records, NULL, count);
    }
    if (file == NULL || ferror(file)) {
        tool_error("reading %s: %s", tool_path_said(path), strerror(errno));
        run->feed->good = false;
        run->ended = true;
    }
    if (file != NULL)
        fclose(file);
}

/* ---- The new ones ---------------------------------------------------------------------------- */

static int print_item(void *context, const bloomery_sieve_item *item)
{
    struct run *run = context;
    if (run->skipped > 0) {
        run->skipped--;
        return 0;
    }
    tool_out_bytes(run->out, item->key.data, item->key.bytes);
    tool_out_bytes(run->out, &run->feed->source.delimiter, 1);
    run->feed->printed++;
    return tool_out_failed(run->out);
}

/* Decides everything; true if that could be done. */
static bool decide(struct run *run)
{
    bloomery_error error = {0};
    if (bloomery_sieve_flush(run->feed->command->sieve, &error) == BLOOMERY_OK)
        return true;
    tool_sieve_error(run->feed->command, &error);
    run->feed->good = false;
    return false;
}

/* Behind the `before` items that were queued before. */
static void print_decided(struct run *run, uint64_t before)
{
    bloomery_error error = {0};
    run->skipped = before;
    run->out = tool_allocate(sizeof(*run->out));
    tool_out_start(run->out);
    if (bloomery_sieve_each(run->feed->command->sieve, BLOOMERY_SIEVE_QUEUED, print_item, run, NULL,
                            &error) != BLOOMERY_OK) {
        tool_sieve_error(run->feed->command, &error);
        run->feed->good = false;
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void commit_when_idle(void *context)
{
    const struct run *run = context;
    /* A failure comes again with the next call, and is reported there. */
    if (run->feed->command->sieve != NULL)
        bloomery_sieve_commit(run->feed->command->sieve, NULL);
}

static void open_inputs(struct run *run)
{
    struct tool_sieve_feed *feed = run->feed;
    const double seconds = feed->command->options.sync_seconds;
    feed->source.threads = 1;
    feed->source.record_max = BLOOMERY_SIEVE_ITEM_MAX;
    tool_source_lay_out(&feed->source, &feed->choice, &feed->choice.rule);
    feed->source.returns_taken = feed->source.returns_taken || feed->finds_lists;
    feed->source.interrupt = tool_interrupt_take();
    feed->source.idle = commit_when_idle;
    feed->source.idle_context = run;
    feed->source.idle_milliseconds =
        seconds > 0 && seconds < 1e6 ? (int)(seconds * 1000) + 1 : 1000;
    if (!tool_records_are_keys(&feed->choice.rule, &feed->source))
        run->made = tool_made_new();
    if (feed->payload != 0) {
        run->paid = tool_made_new();
        run->payloads = tool_allocate(TOOL_BATCH_ROOM * sizeof(*run->payloads));
        run->payload_rule = (bloomery_key_rule){.field = feed->payload,
                                                .delimiter = feed->choice.layout.delimiter,
                                                .flags = feed->choice.layout.flags};
        run->payload_layout.header = feed->choice.layout.header;
    }
    const bool shown = !feed->command->quiet &&
                       tool_progress_is_shown(feed->print && tool_progress_is_in_the_way(true));
    run->chunks = tool_chunks_open(&feed->source, shown ? feed->verb : NULL);
}

/* The counts of records that are no pushes. */
static void say_rest(struct run *run)
{
    struct tool_sieve_feed *feed = run->feed;
    char text[TOOL_SIEVE_TEXT];
    const char *name;
    uint64_t line;
    const uint64_t dropped = tool_chunks_too_long(run->chunks, &name, &line);
    if (run->long_input != NULL) {
        name = run->long_input;
        line = run->long_line;
    }
    feed->too_long += dropped;
    feed->good = feed->good && dropped == 0;
    if (feed->too_long > 0)
        tool_error("%s: line %llu is longer than 1 MiB, the most for a key; %s %s not pushed",
                   tool_path_said(name), (unsigned long long)line,
                   tool_sieve_things(text, feed->too_long, "such line"),
                   feed->too_long == 1 ? "was" : "were");
    if (feed->no_fingerprint > 0)
        tool_warning("%s of requests.seen %s no fingerprint and %s passed over",
                     tool_sieve_things(text, feed->no_fingerprint,
                                       feed->binary_count > 0 ? "piece" : "line"),
                     feed->no_fingerprint == 1 ? "is" : "are",
                     feed->no_fingerprint == 1 ? "was" : "were");
    if (run->made == NULL)
        return;
    if (!tool_tally_say(&run->made->tally, &feed->choice.rule, "it was not pushed") ||
        !tool_tally_has_keys(&run->made->tally, &feed->choice.rule, feed->pushed))
        feed->good = false;
}

/* Keys in the sieve stay there although the reader goes away while they are printed. */
static void finish(struct run *run, uint64_t queued_before)
{
    struct tool_sieve_feed *feed = run->feed;
    bloomery_error error = {0};
    const bool prints = feed->print && run->out == NULL && !run->ended;
    const bool decided = prints && decide(run);
    if (bloomery_sieve_commit(feed->command->sieve, &error) != BLOOMERY_OK) {
        /* If a push failed for the same reason, that has been reported. */
        if (!run->ended)
            tool_sieve_error(feed->command, &error);
        feed->good = false;
    }
    if (decided)
        print_decided(run, queued_before);
    if (run->out != NULL && tool_out_finish(run->out, TOOL_FOUND) != TOOL_FOUND)
        feed->good = false;
}

/* The sieve is open. */
static void run_all(struct run *run, struct tool_chunk *chunk, bool more)
{
    struct tool_sieve_feed *feed = run->feed;
    feed->before = tool_sieve_info(feed->command);
    uint64_t queued = feed->before.queued;
    if (feed->print && feed->before.engine == BLOOMERY_SIEVE_MEMORY) {
        run->out = tool_allocate(sizeof(*run->out));
        tool_out_start(run->out);
    } else if (feed->print && feed->before.pending > 0) {
        run->ended = !decide(run);
        queued = tool_sieve_info(feed->command).queued;
    }
    for (size_t i = 0; i < feed->binary_count && !run->ended; i++)
        push_binary(run, feed->binaries[i]);
    while (!run->ended && more) {
        push_chunk(run, chunk);
        more = !run->ended && tool_chunks_take(run->chunks, chunk);
    }
    tool_chunks_give_back(run->chunks, chunk);
    feed->records += tool_chunks_records(run->chunks);
    say_rest(run);
    finish(run, queued);
    feed->after = tool_sieve_info(feed->command);
}

/* Of the lines pushed, if closing failed: the last commit has the first of them. */
static uint64_t durable_pushes(const struct tool_sieve_feed *feed)
{
    const uint64_t before = feed->before.pushed, now = feed->after.durable;
    const uint64_t durable = now > before ? now - before : 0;
    return durable < feed->pushed ? durable : feed->pushed;
}

/* Closes the sieve, which makes durable what was pushed, or the first part of it. */
static int close_sieve(struct tool_sieve_feed *feed)
{
    const bool saved = tool_sieve_close(feed->command, TOOL_FOUND) == TOOL_FOUND;
    feed->durable = saved ? feed->pushed : durable_pushes(feed);
    feed->good = feed->good && saved;
    return feed->good ? TOOL_FOUND : TOOL_ERROR;
}

/* Nothing came. For inputs that are empty a sieve is made; for those that failed none is. */
static bool is_in_vain(struct run *run)
{
    const char *name;
    uint64_t line;
    if (access(run->feed->command->directory, F_OK) == 0 ||
        tool_chunks_too_long(run->chunks, &name, &line) > 0)
        return false;
    const bool whole = tool_chunks_close(run->chunks);
    run->chunks = tool_chunks_open(&run->feed->source, NULL); /* and nothing is read of them */
    return !whole;
}

int tool_sieve_feed_run(struct tool_sieve_feed *feed, bool *opened)
{
    struct run *run = tool_allocate(sizeof(*run));
    struct tool_chunk chunk = {0};
    memset(run, 0, sizeof(*run));
    run->feed = feed;
    feed->good = true;
    open_inputs(run);
    /* The sieve is opened when something came. Until then the writer of our pipe may be using it,
     * as in 'pop | find links | push'. */
    const bool more = tool_chunks_take(run->chunks, &chunk);
    feed->made = access(feed->command->directory, F_OK) != 0;
    *opened = (more || !is_in_vain(run)) && tool_sieve_open(feed->command);
    if (*opened)
        run_all(run, &chunk, more);
    tool_chunks_give_back(run->chunks, &chunk);
    if (!tool_chunks_close(run->chunks))
        feed->good = false;
    int code = TOOL_ERROR;
    if (*opened)
        code = close_sieve(feed);
    tool_chunk_free(&chunk);
    free(run->out);
    free(run->payloads);
    tool_made_free(run->paid);
    tool_made_free(run->made);
    free(run);
    return code;
}

/* ---- Sieve import ---------------------------------------------------------------------------- */

/* sieve import: what other programs have seen. Lists of lines are those of sieve_push.c; which of
 * the files are none is found out here. */

static const char import_help[] =
    "bloomery sieve import [OPTION...] DIR FILE...\n"
    "\n"
    "Marks what another program has seen as seen here, without queueing it. A FILE is\n"
    "a list with a key a line, as for 'sieve mark'; or the requests.seen of a Scrapy\n"
    "job, recognised by its first line of 40 hexadecimal digits. Of that each such\n"
    "line is a key, without a carriage return behind it; other lines, such as one\n"
    "that a crash cut off, are passed over and counted. Newer ones are binary, 20\n"
    "bytes a request, recognised by bytes that no text has: the 40 digits of each\n"
    "are the key. They are read from files, not from pipes, and not packed.\n"
    "\n"
    "  -0, --null           a list has NUL in place of newlines\n" TOOL_SIEVE_MEMORY_HELP
        TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP TOOL_PROGRESS_HELP
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n"
    "\n" TOOL_SIEVE_MAKE_HELP "\n"
    "  bloomery sieve import crawl crawls/job/requests.seen\n";

static const struct option import_options[] = {
    {"null", no_argument, NULL, '0'},
    TOOL_SIEVE_OPTIONS,
    TOOL_SIEVE_MAKE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    {NULL, 0, NULL, 0},
};

/* ---- Which files are binary ------------------------------------------------------------------ */

enum { FINGERPRINT_BYTES = 20, HEAD = 65536 };

/* Control characters that no list of keys has. Of 20 random bytes 9 in 10 have one, of 100 all. */
static bool has_controls(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 27))
            return true;
    return false;
}

/* A beginning of text may end within a character. */
static bool is_utf8(const unsigned char *bytes, size_t count)
{
    size_t i = 0;
    while (i < count) {
        const size_t more = bytes[i] < 0x80                        ? 0
                            : bytes[i] >= 0xc2 && bytes[i] <= 0xdf ? 1
                            : bytes[i] >= 0xe0 && bytes[i] <= 0xef ? 2
                            : bytes[i] >= 0xf0 && bytes[i] <= 0xf4 ? 3
                                                                   : count;
        if (more == count)
            return false;
        for (size_t k = 1; k <= more && i + k < count; k++)
            if ((bytes[i + k] & 0xc0) != 0x80)
                return false;
        i += 1 + more;
    }
    return true;
}

static bool has_scrapys_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, "requests.seen") == 0;
}

/* Whether a file has binary fingerprints. Scrapy's own file may end with a piece of one. */
static bool is_binary(const char *path)
{
    struct stat facts;
    unsigned char *head = NULL;
    bool binary = false;
    if (strcmp(path, "-") == 0 || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < FINGERPRINT_BYTES)
        return false;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false; /* which is reported when it is to be read */
    head = tool_allocate(HEAD);
    const size_t bytes = fread(head, 1, HEAD, file);
    fclose(file);
    if (has_scrapys_name(path))
        binary = has_controls(head, bytes) || !is_utf8(head, bytes);
    else if (facts.st_size % FINGERPRINT_BYTES == 0)
        binary = has_controls(head, bytes) && !is_utf8(head, bytes);
    free(head);
    return binary;
}

static void sort_lists(struct tool_sieve_feed *feed, char **paths)
{
    struct tool_source *source = &feed->source;
    static char nothing[] = "/dev/null";
    static char *none[] = {nothing};
    size_t lists = 0;
    if (source->delimiter == 0)
        return; /* lines that end with NUL may have any bytes */
    feed->binaries = tool_allocate(source->count * sizeof(*feed->binaries));
    for (size_t i = 0; i < source->count; i++) {
        if (is_binary(paths[i]))
            feed->binaries[feed->binary_count++] = paths[i];
        else
            paths[lists++] = paths[i];
    }
    source->count = lists;
    if (lists == 0) {
        source->paths = none; /* without any it would be standard input */
        source->count = 1;
    }
}

static int import_main(int argc, char **argv)
{
    struct tool_sieve_command command;
    struct tool_sieve_feed feed = {.command = &command,
                                   .mode = BLOOMERY_SIEVE_PUSH_MARK,
                                   .verb = "importing",
                                   .finds_lists = true,
                                   .sort_lists = sort_lists};
    return tool_sieve_feed_main(&feed, argc, argv, import_options);
}

const struct tool_command tool_sieve_import = {
    .name = "sieve import",
    .run = import_main,
    .summary = "the same with what another program has seen",
    .help = import_help,
};

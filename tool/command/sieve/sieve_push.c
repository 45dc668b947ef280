/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sieve push, mark and import: lines into a sieve, which is made if there is none.
 *
 * One thread does it: a sieve takes keys in an order, which is that of the input.
 *
 * Memory is bounded (--memory). chunks.c keeps nothing of chunks that are done with, and passes
 * over lines that are longer than a key may be. A line that can't be pushed does not stop
 * the lines after it. It is counted and reported at the end, and the exit code is that of an error.
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
#include "base/bits.h"
#include "base/numbers.h"
#include "base/out.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/system.h"
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

/* What is wanted: the options. */
struct feed {
    struct tool_sieve_command command;
    const char *name;              /* "push", "mark" or "import" */
    const char *verb;              /* of the progress line */
    bloomery_sieve_push_mode mode; /* of `push` without --requeue */
    bool requeue;
    bool print;      /* the keys that are new, to stdout */
    int32_t payload; /* the field that is the payload; 0: none */
    bool imports;    /* if an input's first line is a fingerprint, it is a requests.seen */
    char **binaries; /* files of Scrapy's fingerprints, 20 bytes each, that are marked first */
    size_t binary_count;
    struct tool_source source;
    struct tool_rule_choice choice;
};

/* What was done. */
struct fed {
    bloomery_sieve_info before, after;
    uint64_t records;        /* read */
    uint64_t pushed;         /* this time */
    uint64_t durable;        /* of these; fewer if saving them failed */
    uint64_t too_long;       /* records that were passed over for their length */
    uint64_t no_fingerprint; /* of requests.seen: lines that are not one */
    uint64_t urls;           /* of the first lines: those that begin as URLs do */
    uint64_t looked_at;      /* these first lines */
    uint64_t printed;
    bool made; /* the sieve did not exist before */
    bool good; /* every record was read and became a push, or need not become one */
};

struct run {
    struct feed *feed;
    struct fed fed;
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

/* A call failed, and nothing more is pushed. */
static void fail(struct run *run, const bloomery_error *error)
{
    tool_sieve_error(&run->feed->command, error);
    run->fed.good = false;
    run->ended = true;
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_payload(const char *option, const char *text, void *at)
{
    char *end;
    const long field = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || field == 0 || field < -1000000 || field > 1000000)
        return !tool_usage("%s %s: must be the number of a field, 1 the first, -1 the last", option,
                           text);
    *(int32_t *)at = (int32_t)field;
    return true;
}

static const struct tool_option print_options[] = {
    {0, "print", NULL, TOOL_FLAG(struct feed, print),
     .help = "print the new lines; they stay in the queue. The memory engine prints them at "
             "once, as they were given. The disk engine decides everything at the end of the "
             "inputs, and then prints them. Their order and form are those in which they will "
             "be popped"},
    {0, "requeue", NULL, TOOL_FLAG(struct feed, requeue),
     .help = "queue seen lines as well, to visit them again"},
    TOOL_OPTIONS_END,
};

static const struct tool_option push_options[] = {
    TOOL_PROGRESS_ROW,
    {'0', "null", NULL, TOOL_BYTE(struct feed, source.delimiter, '\0'),
     .help = "end input and output lines with NUL instead of newline"},
    {'q', "quiet", NULL, TOOL_FLAG(struct feed, command.quiet),
     .help = "print no report at the end"},
    {0, "json", NULL, TOOL_FLAG(struct feed, command.json),
     .help = "print the report as one JSON object. It goes to standard output, or with --print to "
             "standard error"},
    TOOL_OPTIONS_END,
};

static const struct tool_option mark_options[] = {
    TOOL_PROGRESS_ROW,
    {'0', "null", NULL, TOOL_BYTE(struct feed, source.delimiter, '\0'),
     .help = "end lines with NUL instead of newline"},
    TOOL_OPTIONS_END,
};

static const struct tool_option import_options[] = {
    TOOL_PROGRESS_ROW,
    {'0', "null", NULL, TOOL_BYTE(struct feed, source.delimiter, '\0'),
     .help = "read lists whose lines end with NUL, not newline"},
    TOOL_OPTIONS_END,
};

static const struct tool_option payload_options[] = {
    {0, "payload", "N", TOOL_CALL(struct feed, payload, take_payload),
     .help = "with -F, store field N of a line as the payload of its key. Later payloads of "
             "the same key are ignored"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group push_groups[] = {
    {.rows = print_options},
    TOOL_SIEVE_CHANGE_GROUPS(struct feed, command),
    {.rows = push_options},
    TOOL_SIEVE_MAKE_GROUP(struct feed, command),
    {.title =
         "How a line becomes a key. The sieve does not store these options: give them each time.",
     .rows = payload_options},
    TOOL_RULE_GROUPS(NULL, struct feed, choice),
    TOOL_GROUPS_END,
};

static const struct tool_option_group mark_groups[] = {
    TOOL_SIEVE_CHANGE_GROUPS(struct feed, command),
    {.rows = mark_options},
    TOOL_SIEVE_GROUP(tool_sieve_report_options, struct feed, command),
    TOOL_SIEVE_MAKE_GROUP(struct feed, command),
    TOOL_RULE_GROUPS(
        "How a line becomes a key. The sieve does not store these options:", struct feed, choice),
    TOOL_GROUPS_END,
};

static const struct tool_option_group import_groups[] = {
    TOOL_SIEVE_CHANGE_GROUPS(struct feed, command),
    {.rows = import_options},
    TOOL_SIEVE_GROUP(tool_sieve_report_options, struct feed, command),
    TOOL_SIEVE_MAKE_GROUP(struct feed, command),
    TOOL_GROUPS_END,
};

/* ---- Pushing --------------------------------------------------------------------------------- */

/* Keys that are none too long. */
static void push_run(struct run *run, const bloomery_key *keys, const bloomery_key *payloads,
                     size_t count)
{
    struct feed *feed = run->feed;
    bloomery_error error = {0};
    bloomery_sieve_pushed pushed = {0, 0};
    const bloomery_status status = bloomery_sieve_push(
        feed->command.sieve, keys, payloads, count,
        feed->requeue ? BLOOMERY_SIEVE_PUSH_AGAIN : feed->mode, run->results, &pushed, &error);
    assert(pushed.done <= count && (status != BLOOMERY_OK || pushed.done == count));
    run->fed.pushed += pushed.done;
    if (run->out != NULL) {
        for (size_t i = 0; i < pushed.done; i++)
            if (run->results[i] == BLOOMERY_SIEVE_NEW) {
                tool_out_bytes(run->out, keys[i].data, keys[i].bytes);
                tool_out_bytes(run->out, &feed->source.delimiter, 1);
                run->fed.printed++;
            }
        run->ended |= tool_out_failed(run->out);
    }
    if (status != BLOOMERY_OK)
        fail(run, &error);
}

/* Key `key` of the present batch is too long. */
static void pass_over(struct run *run, const struct tool_chunk *chunk, size_t key)
{
    const char *name;
    uint64_t line;
    size_t record = key;
    if (run->made != NULL && run->list == NULL) {
        record = tool_next_bit(run->made->with_key, 0, run->batch, true);
        for (; key > 0; key--)
            record = tool_next_bit(run->made->with_key, record + 1, run->batch, true);
    }
    if (run->fed.too_long++ == 0 && tool_chunks_too_long(run->chunks, &name, &line) == 0) {
        run->long_input = chunk->input;
        run->long_line =
            tool_chunks_line(run->chunks, chunk->number, chunk->records - run->batch + record);
    }
    run->fed.good = false;
}

/* Keys of which some may be too long, alone or with their payloads. */
static void push_keys(struct run *run, const struct tool_chunk *chunk, const bloomery_key *keys,
                      const bloomery_key *payloads, size_t count)
{
    size_t begin = 0;
    for (size_t i = 0; i <= count && !run->ended; i++) {
        const size_t paid = i < count && payloads != NULL ? payloads[i].bytes : 0;
        if (i < count && paid <= BLOOMERY_SIEVE_ITEM_MAX &&
            keys[i].bytes <= BLOOMERY_SIEVE_ITEM_MAX - paid)
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

enum { FINGERPRINT_DIGITS = 40, FINGERPRINT_BYTES = 20, HEAD = 65536 };

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
    run->fed.no_fingerprint += count - kept;
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
    tool_error("%s: is not a list of lines: it contains NUL bytes. Give a binary requests.seen "
               "as an unpacked file; or -0 if lines end with NUL",
               tool_path_said(chunk->input));
    run->fed.good = false;
    run->ended = true;
    return false;
}

/* How many of the first lines are URLs. */
static void look_for_urls(struct fed *fed, const bloomery_key *lines, size_t count)
{
    for (size_t i = 0; i < count && fed->looked_at < 100; i++, fed->looked_at++) {
        const char *text = lines[i].data;
        size_t at = 0;
        while (at < lines[i].bytes && at < 10 && ((text[at] | 32) >= 'a' && (text[at] | 32) <= 'z'))
            at++;
        fed->urls +=
            at > 0 && lines[i].bytes > at + 3 && memcmp(text + at, "://", strlen("://")) == 0;
    }
}

static void push_chunk(struct run *run, struct tool_chunk *chunk)
{
    size_t count;
    bool first = chunk->begins_input;
    while (!run->ended && (count = tool_chunk_keys(chunk, run->records)) > 0) {
        if (first && run->feed->imports) {
            run->list = is_fingerprint(run->records[0]) ? chunk->input : NULL;
            if (run->list == NULL && !is_list(run, chunk, run->records[0]))
                return;
        }
        first = false;
        assert(count <= TOOL_BATCH_ROOM);
        look_for_urls(&run->fed, run->records, count);
        run->batch = count;
        if (run->list != NULL)
            push_fingerprints(run, chunk, count);
        else if (run->made != NULL) {
            struct tool_made *made = run->made;
            tool_rule_apply(&run->feed->choice.rule, chunk, run->records, count, made);
            if (made->tally.malformed + made->tally.broken > 0)
                tool_tally_place(&made->tally, run->chunks);
            if (run->paid != NULL)
                find_payloads(run, chunk, count);
            push_keys(run, chunk, made->keys, run->payloads, made->count);
        } else
            push_keys(run, chunk, run->records, NULL, count);
    }
    /* The reader of a pipe gets what there is. */
    if (run->out != NULL && !tool_out_flush(run->out))
        run->ended = true;
}

/* ---- Scrapy's binary files ------------------------------------------------------------------- */

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
    const char *slash = strrchr(path, '/');
    if (strcmp(slash != NULL ? slash + 1 : path, "requests.seen") == 0)
        binary = has_controls(head, bytes) || !is_utf8(head, bytes);
    else if (facts.st_size % FINGERPRINT_BYTES == 0)
        binary = has_controls(head, bytes) && !is_utf8(head, bytes);
    free(head);
    return binary;
}

static void sort_lists(struct feed *feed, char **paths)
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
    assert(lists + feed->binary_count == source->count);
    source->count = lists;
    if (lists == 0) {
        source->paths = none; /* without any it would be standard input */
        source->count = 1;
    }
}

/* A file of fingerprints of 20 bytes. As keys they are the 40 digits that text files have. */
static void push_binary(struct run *run, const char *path)
{
    static const char digits[] = "0123456789abcdef";
    enum { BYTES = FINGERPRINT_BYTES, AT_A_TIME = 256 };
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
        run->fed.no_fingerprint += bytes % BYTES != 0;
        run->fed.records += count;
        push_run(run, run->records, NULL, count);
    }
    if (file == NULL || ferror(file)) {
        tool_error("reading %s: %s", tool_path_said(path), strerror(errno));
        run->fed.good = false;
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
    run->fed.printed++;
    return tool_out_failed(run->out);
}

/* Decides everything. False after a message. */
static bool decide(struct run *run)
{
    bloomery_error error = {0};
    if (bloomery_sieve_flush(run->feed->command.sieve, &error) == BLOOMERY_OK)
        return true;
    run->fed.good = false;
    return !tool_sieve_error(&run->feed->command, &error);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void commit_when_idle(void *context)
{
    const struct run *run = context;
    /* A failure comes again with the next call, and is reported there. */
    if (run->feed->command.sieve != NULL)
        bloomery_sieve_commit(run->feed->command.sieve, NULL);
}

static void open_inputs(struct run *run)
{
    struct feed *feed = run->feed;
    const double seconds = feed->command.options.sync_seconds;
    feed->source.threads = 1;
    feed->source.record_max = BLOOMERY_SIEVE_ITEM_MAX;
    tool_source_lay_out(&feed->source, &feed->choice, &feed->choice.rule);
    feed->source.returns_taken = feed->source.returns_taken || feed->imports;
    feed->source.unwarned = feed->imports; /* whose NUL bytes are an error */
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
    const bool shown = !feed->command.quiet &&
                       tool_progress_is_shown(feed->print && tool_progress_is_in_the_way(true));
    run->chunks = tool_chunks_open(&feed->source, shown ? feed->verb : NULL);
}

/* Reports how many records did not become pushes. */
static void say_rest(struct run *run)
{
    struct feed *feed = run->feed;
    const char *name;
    uint64_t line;
    const uint64_t dropped = tool_chunks_too_long(run->chunks, &name, &line);
    if (run->long_input != NULL) {
        name = run->long_input;
        line = run->long_line;
    }
    run->fed.too_long += dropped;
    run->fed.good = run->fed.good && dropped == 0;
    if (run->fed.too_long > 0)
        tool_error("%s: line %llu is longer than 1 MiB, the most for a key; %s %s not pushed",
                   tool_path_said(name), (unsigned long long)line,
                   TOOL_SAY_THINGS(run->fed.too_long, "such line"),
                   run->fed.too_long == 1 ? "was" : "were");
    if (run->fed.no_fingerprint > 0)
        tool_warning(
            "%s of requests.seen %s and %s skipped",
            TOOL_SAY_THINGS(run->fed.no_fingerprint, feed->binary_count > 0 ? "piece" : "line"),
            run->fed.no_fingerprint == 1 ? "is not a fingerprint" : "are not fingerprints",
            run->fed.no_fingerprint == 1 ? "was" : "were");
    if (run->made == NULL)
        return;
    if (!tool_tally_say(&run->made->tally, &feed->choice.rule, "it was not pushed") ||
        !tool_tally_has_keys(&run->made->tally, &feed->choice.rule, run->fed.pushed))
        run->fed.good = false;
}

/* Keys in the sieve stay there although the reader goes away while they are printed. */
static void finish(struct run *run, uint64_t queued_before)
{
    struct feed *feed = run->feed;
    bloomery_error error = {0};
    const bool prints = feed->print && run->out == NULL && !run->ended;
    const bool decided = prints && decide(run);
    if (bloomery_sieve_commit(feed->command.sieve, &error) != BLOOMERY_OK) {
        /* If a push failed for the same reason, that has been reported. */
        if (!run->ended)
            tool_sieve_error(&feed->command, &error);
        run->fed.good = false;
    }
    if (decided) {
        assert(run->out == NULL);
        run->skipped = queued_before; /* the new ones are behind those that were queued before */
        run->out = tool_allocate(sizeof(*run->out));
        tool_out_start(run->out);
        if (bloomery_sieve_each(feed->command.sieve, BLOOMERY_SIEVE_QUEUED, print_item, run, NULL,
                                &error) != BLOOMERY_OK)
            fail(run, &error);
    }
    if (run->out != NULL && tool_out_finish(run->out, TOOL_FOUND) != TOOL_FOUND)
        run->fed.good = false;
}

/* The sieve is open. */
static void run_all(struct run *run, struct tool_chunk *chunk, bool more)
{
    struct feed *feed = run->feed;
    run->fed.before = tool_sieve_info(&feed->command);
    uint64_t queued = run->fed.before.queued;
    if (feed->print && run->fed.before.engine == BLOOMERY_SIEVE_MEMORY) {
        run->out = tool_allocate(sizeof(*run->out));
        tool_out_start(run->out);
    } else if (feed->print && run->fed.before.pending > 0) {
        run->ended = !decide(run);
        queued = tool_sieve_info(&feed->command).queued;
    }
    for (size_t i = 0; i < feed->binary_count && !run->ended; i++)
        push_binary(run, feed->binaries[i]);
    while (!run->ended && more) {
        push_chunk(run, chunk);
        more = !run->ended && tool_chunks_take(run->chunks, chunk);
    }
    tool_chunks_give_back(run->chunks, chunk);
    run->fed.records += tool_chunks_records(run->chunks);
    say_rest(run);
    finish(run, queued);
    run->fed.after = tool_sieve_info(&feed->command);
}

/* Nothing came. For inputs that are empty a sieve is made; for those that failed none is. */
static bool is_in_vain(struct run *run)
{
    const char *name;
    uint64_t line;
    if (access(run->feed->command.directory, F_OK) == 0 ||
        tool_chunks_too_long(run->chunks, &name, &line) > 0)
        return false;
    const bool whole = tool_chunks_close(run->chunks);
    run->chunks = tool_chunks_open(&run->feed->source, NULL); /* and nothing is read of them */
    return !whole;
}

/* ---- The report ------------------------------------------------------------------------------ */

/* The sentence for people. */
static void say_report(const struct feed *feed, const struct fed *fed)
{
    const bloomery_sieve_info *before = &fed->before, *after = &fed->after;
    const char *pushed = TOOL_SAY_THINGS(fed->pushed, "line");
    const bool marks = feed->mode == BLOOMERY_SIEVE_PUSH_MARK;
    if (fed->durable < fed->pushed) {
        /* The last commit has only the first lines: what was decided of the others is gone. */
        if (fed->durable == 0)
            tool_say("%s: %s %s, but none of them is durable: %s the input again", feed->name,
                     marks ? "marked" : "pushed", pushed, feed->name);
        else
            tool_say("%s: %s %s, of which only the first %s %s durable: %s the input again",
                     feed->name, marks ? "marked" : "pushed", pushed, TOOL_SAY_COUNT(fed->durable),
                     fed->durable == 1 ? "is" : "are", feed->name);
        return;
    }
    if (marks) {
        tool_say("%s: marked %s", feed->name, pushed);
        return;
    }
    if (feed->requeue) {
        tool_say("push: %s will be delivered again", pushed);
        return;
    }
    /* Keys that were pending before became new or seen as well, so the sum is right. */
    char earlier[2 * TOOL_NUMBER_BYTES] = "", pending[2 * TOOL_NUMBER_BYTES] = "";
    if (before->pending > 0)
        snprintf(earlier, sizeof(earlier), "; with %s pending before",
                 TOOL_SAY_COUNT(before->pending));
    if (after->pending > 0)
        snprintf(pending, sizeof(pending), ", %s to be decided at the next pop",
                 TOOL_SAY_COUNT(after->pending));
    tool_say("push: pushed %s%s: %s new, %s seen%s; %s queued in all", pushed, earlier,
             TOOL_SAY_COUNT(after->new_keys - before->new_keys),
             TOOL_SAY_COUNT(after->seen - before->seen), pending, TOOL_SAY_COUNT(after->queued));
}

static struct tool_report *make_report(const struct feed *feed, const struct fed *fed)
{
    const bloomery_sieve_info *before = &fed->before, *after = &fed->after;
    struct tool_report *report =
        tool_report_start(tool_running_command()->name, (struct tool_report_form){0});
    tool_fact(report, "lines", NULL, tool_count(fed->records));
    tool_fact(report, "pushed", NULL, tool_count(fed->pushed));
    tool_fact(report, "durable", NULL, tool_count(fed->durable));
    tool_fact(report, "decided_new", NULL, tool_count(after->new_keys - before->new_keys));
    tool_fact(report, "decided_seen", NULL, tool_count(after->seen - before->seen));
    tool_fact(report, "marked", NULL, tool_count(after->marked - before->marked));
    tool_fact(report, "forced", NULL, tool_count(after->forced - before->forced));
    tool_fact(report, "printed", NULL, tool_known(feed->print, tool_count(fed->printed)));
    tool_fact(report, "too_long", NULL, tool_count(fed->too_long));
    tool_fact(report, "pending", NULL, tool_count(after->pending));
    tool_fact(report, "queued", NULL, tool_count(after->queued));
    tool_fact(report, "last_push", NULL, tool_count(after->pushed));
    tool_fact(report, "complete", NULL, tool_yes(fed->good));
    return report;
}

static int report(const struct feed *feed, const struct fed *fed, int code)
{
    const struct tool_sieve_command *command = &feed->command;
    assert(fed->durable <= fed->pushed);
    if (tool_interrupt_came(feed->source.interrupt) && !command->quiet &&
        fed->durable == fed->pushed)
        tool_say("%s ended the input; %s has what came before it", tool_interrupt_name(),
                 command->directory);
    if (command->json && !feed->print)
        return tool_report_print(make_report(feed, fed), true, code);
    if (command->json)
        tool_report_say_json(make_report(feed, fed));
    else if (!command->quiet)
        say_report(feed, fed);
    if (!command->quiet && fed->made && fed->durable > 0 && command->options.canon == NULL &&
        fed->urls > 0 && 2 * fed->urls > fed->looked_at)
        tool_notice("the lines are URLs, and the sieve does not normalise them: HTTP://Host/ and "
                    "http://host/ are two keys. --canon url makes them one; it can be chosen only "
                    "when a sieve is made");
    return code;
}

/* ---- The commands ---------------------------------------------------------------------------- */

/* Reads all inputs and pushes their lines into the sieve, which it opens and closes. */
static int push_inputs(struct feed *feed)
{
    struct run *run = tool_allocate(sizeof(*run));
    struct tool_chunk chunk = {0};
    memset(run, 0, sizeof(*run));
    run->feed = feed;
    run->fed.good = true;
    open_inputs(run);
    /* The sieve is opened when something came. Until then the writer of our pipe may be using it,
     * as in 'pop | find links | push'. */
    const bool more = tool_chunks_take(run->chunks, &chunk);
    run->fed.made = access(feed->command.directory, F_OK) != 0;
    const bool opened = (more || !is_in_vain(run)) && tool_sieve_open(&feed->command);
    if (opened)
        run_all(run, &chunk, more);
    tool_chunks_give_back(run->chunks, &chunk);
    if (!tool_chunks_close(run->chunks))
        run->fed.good = false;
    int code = TOOL_ERROR;
    if (opened) {
        /* Closing makes the pushes durable. If it fails, the last commit has the first ones. */
        struct fed *fed = &run->fed;
        const bool saved = tool_sieve_close(&feed->command, TOOL_FOUND) == TOOL_FOUND;
        const uint64_t before = fed->before.pushed, now = fed->after.durable;
        const uint64_t durable = now > before ? now - before : 0;
        fed->durable = saved || durable > fed->pushed ? fed->pushed : durable;
        fed->good = fed->good && saved;
        code = report(feed, &run->fed, run->fed.good ? TOOL_FOUND : TOOL_ERROR);
    }
    tool_chunk_free(&chunk);
    free(run->out);
    free(run->payloads);
    tool_made_free(run->paid);
    tool_made_free(run->made);
    free(run);
    return code;
}

static int feed_main(int argc, char **argv, struct feed *feed)
{
    struct tool_sieve_command *command = &feed->command;
    int code;
    tool_sieve_start(command);
    command->options.existing = false;
    feed->source.delimiter = '\n';
    if (!tool_options_read(argc, argv, feed, &code))
        return code;
    if (!tool_rule_complete(&feed->choice))
        return TOOL_ERROR;
    if (feed->payload != 0 && feed->choice.rule.field == 0 && feed->choice.layout.field_count == 0)
        return tool_usage("--payload is a field beside the key's: it goes with -F");
    if (!tool_sieve_fits_together(command) || !tool_sieve_operand(command, argc, argv))
        return TOOL_ERROR;
    feed->source.paths = argv + optind;
    feed->source.count = (size_t)(argc - optind);
    if (feed->imports && feed->source.count == 0)
        return tool_usage("no files: 'bloomery sieve import %s FILE...'; '-' is standard input",
                          command->directory);
    if (feed->imports)
        sort_lists(feed, argv + optind);
    code = push_inputs(feed);
    free(feed->binaries);
    tool_interrupt_pass_on();
    return code;
}

static int push_main(int argc, char **argv)
{
    return feed_main(
        argc, argv, &(struct feed){.name = "push", .verb = "pushing", .mode = BLOOMERY_SIEVE_PUSH});
}

static int mark_main(int argc, char **argv)
{
    return feed_main(
        argc, argv,
        &(struct feed){.name = "mark", .verb = "marking", .mode = BLOOMERY_SIEVE_PUSH_MARK});
}

static int import_main(int argc, char **argv)
{
    return feed_main(argc, argv,
                     &(struct feed){.name = "import",
                                    .verb = "importing",
                                    .mode = BLOOMERY_SIEVE_PUSH_MARK,
                                    .imports = true});
}

const struct tool_command tool_sieve_push = {
    .name = "sieve push",
    .run = push_main,
    .summary = "enqueue the lines that were never pushed before",
    .synopsis = "bloomery sieve push [OPTION...] DIR [INPUT...]",
    .introduction =
        "Pushes each line of the inputs into the sieve in DIR, which is created if it "
        "does not exist. A line that was never pushed before is queued; all others are "
        "dropped. With --ordered, and with the memory engine, lines come out in the "
        "order of their first pushes. By default, only each partition keeps that order. "
        "Without INPUT, or with '-', push reads standard input. Compressed inputs and "
        "archives are unpacked ('bloomery help build').",
    .groups = push_groups,
    .epilogue = "A line is skipped if it is longer than 1 MiB or not what the options above "
                "require. Such lines are reported at the end, with exit code 2. SIGINT, SIGTERM "
                "and SIGHUP end the input; lines before that are in the sieve. A second signal "
                "ends the command at once. After a crash, the sieve has the first N pushes, for "
                "some N. Push the same input again: nothing is queued twice.\n"
                "\n"
                "  bloomery sieve push crawl seeds.txt\n"
                "  urls-of page.html | bloomery sieve push crawl\n"
                "  bloomery sieve push --canon url --ordered site seeds.txt\n"
                "  bloomery sieve push --memory 18MB -n 1e9 large urls.gz\n"
                "  bloomery sieve push --print --engine memory seen < urls.txt",
};

const struct tool_command tool_sieve_mark = {
    .name = "sieve mark",
    .run = mark_main,
    .summary = "mark lines as seen without queueing them",
    .synopsis = "bloomery sieve mark [OPTION...] DIR [INPUT...]",
    .introduction =
        "Marks each line of the inputs as seen without queueing it: a later push of it "
        "is dropped. DIR is created if it does not exist. A line that was pushed before "
        "and is still pending (disk engine) comes out anyway.",
    .groups = mark_groups,
    .epilogue = "  bloomery sieve mark crawl visited.txt",
};

const struct tool_command tool_sieve_import = {
    .name = "sieve import",
    .run = import_main,
    .summary = "mark the keys that another program recorded, such as Scrapy's",
    .synopsis = "bloomery sieve import [OPTION...] DIR FILE...",
    .introduction =
        "Marks as seen the keys that another program recorded, without queueing them. A FILE "
        "is a list with one key per line, as for 'sieve mark', or the requests.seen of a "
        "Scrapy job. A file whose first line has 40 hexadecimal digits is a requests.seen. "
        "Each such line is a key, without a carriage return after it. Other lines, such as one "
        "that a crash cut off, are skipped and counted. Newer files of Scrapy are binary, with "
        "20 bytes per request, and are recognised by bytes that text does not have. The 40 "
        "digits of each request are the key. Binary files must not be pipes or compressed.",
    .groups = import_groups,
    .epilogue = "  bloomery sieve import crawl crawls/job/requests.seen",
};

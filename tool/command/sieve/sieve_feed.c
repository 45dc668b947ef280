/* SPDX-License-Identifier: Apache-2.0 */
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
#include "command/sieve/sieve_feed.h"

#include "base/bits.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "input/chunks.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sieve pop: the next lines to visit, which are leased until they are acknowledged. sieve ack: they
 * are done, come again at once, or stay leased for longer.
 *
 * Nothing is acknowledged, nor stays leased, that was not delivered. Items are written out before
 * --done acknowledges them. If that fails, as with a reader that went away, they are given back to
 * the queue, and that delivery is not counted. So a reader that goes away must not end the process:
 * its signal is ignored until that is done.
 *
 *     pop -> commit -> write to stdout -> flushed? --yes-------------------> next
 *                                            \----no--> give back, end
 *     pop -> write to stdout (--done) -> flushed? --yes--> acknowledge ----> next; commit at end
 *
 * A number that is printed acknowledges its key whatever happens then: its lease is durable before.
 * A commit writes all leases there are and waits for the disk, so lines are gathered for it. With
 * --done no numbers are printed: a crash brings the last lines again, and never loses one. If lines
 * were printed and can't be made durable as done, a message says how many.
 */
#include "base/numbers.h"
#include "base/out.h"
#include "base/report.h"
#include "command/sieve/sieve_command.h"
#include "input/chunks.h"
#include "key/rule.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pop ------------------------------------------------------------------------------------- */

enum {
    ITEMS = 512,
    TEXT_BYTES = 256 << 10, /* of lines whose leases are committed together */
    NUMBERS = 4096,         /* and as many of them, at most */
    NUMBER_BYTES = 24,      /* of a number and its tab, at most */
};

struct pop {
    struct tool_sieve_command command;
    uint64_t wanted;
    bool done, queued, payload, skip_damaged;
    unsigned char delimiter;
    uint64_t popped;   /* and printed */
    uint64_t unacked;  /* of them, those that could not be acknowledged though they were to be */
    size_t held;       /* leased, and not printed yet: these numbers */
    size_t loose;      /* of them, the last ones, which are `items` still; the others are lines */
    size_t text_bytes; /* in these lines */
    char *text;        /* TEXT_BYTES; NULL: items are not gathered */
    struct tool_out out;
    bloomery_sieve_item items[ITEMS];
    uint64_t numbers[NUMBERS];
    uint64_t ends[NUMBERS]; /* where their lines end in the output */
};

static const struct tool_option pop_options[] = {
    {'n', "count", "N", TOOL_COUNT(struct pop, wanted, 1, UINT64_C(1) << 62),
     .help = "pop up to N keys (default 1)"},
    {0, "done", NULL, TOOL_FLAG(struct pop, done),
     .help = "acknowledge keys as soon as they are written, and print them without numbers. "
             "Only after a crash are the last ones redelivered (see --sync)",
     .more = "If the acknowledgements can't be saved, a message at the end says how many keys "
             "will be redelivered."},
    {0, "queued", NULL, TOOL_FLAG(struct pop, queued),
     .help = "pop only queued keys; do not decide pending ones"},
    {0, "lease", "TIME", TOOL_SECONDS(struct pop, command.options.lease, false),
     .help = "set how long a key is leased (default 1h). TIME is in seconds or has a unit "
             "(90s, 5m, 1h). A key that is not acknowledged in time is redelivered"},
    {0, "leases", "N", TOOL_SMALL(struct pop, command.options.leases, 1, 1000000),
     .help = "allow up to N leased keys at a time from now on"},
    {0, "max-deliveries", "=N",
     TOOL_SMALL(struct pop, command.options.max_deliveries, 1, BLOOMERY_SIEVE_DELIVERIES_MAX),
     .help = "put a key aside if it was delivered N times and never acknowledged (default: no "
             "limit). 'export --dead' lists such keys"},
    {0, "payload", NULL, TOOL_FLAG(struct pop, payload),
     .help = "print a tab and the payload after each key that has one"},
    {0, "skip-damaged", NULL, TOOL_FLAG(struct pop, skip_damaged),
     .help = "skip damaged frames of the queue, whose items are lost (default: an error)"},
    {'0', "null", NULL, TOOL_BYTE(struct pop, delimiter, '\0'),
     .help = "end lines with NUL instead of newline"},
    {0, "json", NULL, TOOL_FLAG(struct pop, command.json),
     .help = "print one JSON object with a list \"items\". Each has number, key (key_hex if "
             "the key is not UTF-8), payload, again and deliveries. \"again\" is true if the "
             "key is redelivered, and \"deliveries\" counts its pops, including this one"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group pop_groups[] = {
    {.rows = pop_options},
    TOOL_SIEVE_CHANGE_GROUPS(struct pop, command),
    TOOL_GROUPS_END,
};

static void put_out(struct pop *pop, const void *data, size_t bytes)
{
    tool_out_bytes(&pop->out, data, bytes);
}

static void put_text(struct pop *pop, const void *data, size_t bytes)
{
    assert(bytes <= TEXT_BYTES - pop->text_bytes);
    if (bytes > 0)
        memcpy(pop->text + pop->text_bytes, data, bytes);
    pop->text_bytes += bytes;
}

static void put_line(struct pop *pop, const bloomery_sieve_item *item,
                     void (*put)(struct pop *pop, const void *data, size_t bytes))
{
    char number[NUMBER_BYTES];
    if (!pop->done)
        put(pop, number,
            (size_t)snprintf(number, sizeof(number), "%llu\t", (unsigned long long)item->number));
    put(pop, item->key.data, item->key.bytes);
    if (pop->payload && item->payload.bytes > 0) {
        put(pop, "\t", 1);
        put(pop, item->payload.data, item->payload.bytes);
    }
    put(pop, &pop->delimiter, 1);
}

/* ---- Gathering, delivering ------------------------------------------------------------------- */

/* Makes lines of the items, which last until the next pop only, if there is room for them. */
static bool gather(struct pop *pop)
{
    size_t bytes = 0;
    for (size_t i = 0; i < pop->loose; i++)
        bytes += NUMBER_BYTES + pop->items[i].key.bytes + pop->items[i].payload.bytes + 2;
    if (pop->text == NULL || bytes > TEXT_BYTES - pop->text_bytes)
        return false;
    for (size_t i = 0; i < pop->loose; i++) {
        put_line(pop, &pop->items[i], put_text);
        pop->ends[pop->held - pop->loose + i] = pop->text_bytes;
    }
    pop->loose = 0;
    return true;
}

/* Pops items to be delivered together. A failure after some of them comes again when they are. */
static bloomery_status pop_some(struct pop *pop, bloomery_error *error)
{
    bloomery_sieve *sieve = pop->command.sieve;
    pop->held = pop->loose = pop->text_bytes = 0;
    for (;;) {
        const uint64_t rest = pop->wanted - pop->popped - pop->held;
        const size_t room = rest < ITEMS ? (size_t)rest : ITEMS;
        const bloomery_status status = bloomery_sieve_pop(
            sieve, pop->items, room, pop->queued ? BLOOMERY_SIEVE_POP_QUEUED : BLOOMERY_SIEVE_POP,
            &pop->loose, error);
        if (status != BLOOMERY_OK)
            pop->loose = 0;
        if (pop->loose == 0)
            return pop->held > 0 ? BLOOMERY_OK : status;
        assert(pop->loose <= room && pop->held + pop->loose <= NUMBERS);
        for (size_t i = 0; i < pop->loose; i++)
            pop->numbers[pop->held++] = pop->items[i].number;
        if (pop->popped + pop->held == pop->wanted || pop->held > NUMBERS - ITEMS || !gather(pop))
            return BLOOMERY_OK;
    }
}

/* Prints what is held, and notes the end of each line. True if all of it was written. */
static bool print_held(struct pop *pop)
{
    assert(pop->loose <= pop->held && pop->text_bytes <= TEXT_BYTES);
    const size_t gathered = pop->held - pop->loose;
    const uint64_t begin = pop->out.written + pop->out.used;
    tool_out_bytes(&pop->out, pop->text, pop->text_bytes);
    for (size_t i = 0; i < gathered; i++)
        pop->ends[i] += begin;
    pop->popped += gathered;
    for (size_t i = 0; i < pop->loose; i++, pop->popped++) {
        const bloomery_sieve_item *item = &pop->items[i];
        if (pop->command.json) {
            json_t *object = tool_sieve_json_item(item);
            tool_json_add(object, "again", tool_json_bool(item->again));
            tool_json_add(object, "deliveries", tool_json_count(item->deliveries));
            tool_sieve_print_item(&pop->out, pop->popped, object);
        } else
            put_line(pop, item, put_out);
        pop->ends[gathered + i] = pop->out.written + pop->out.used;
    }
    return tool_out_flush(&pop->out);
}

/* Of what is held, keeps as delivered the lines that were written whole, and gives back the others.
 * A reader that went away has read none, and half a JSON object is of no use. */
static void give_back_unwritten(struct pop *pop)
{
    const bool whole = pop->out.failure != EPIPE && !pop->command.json;
    size_t written = 0;
    while (whole && written < pop->held && pop->ends[written] <= pop->out.written)
        written++;
    assert(pop->held - written <= pop->popped);
    pop->popped -= pop->held - written;
    bloomery_sieve_finish(pop->command.sieve, pop->numbers + written, pop->held - written,
                          BLOOMERY_SIEVE_UNDO, NULL, NULL);
    pop->held = written;
}

/* Prints what was popped when its leases are durable; with --done, what was printed is done. False
 * after a message, or if the output failed. */
static bool deliver(struct pop *pop)
{
    bloomery_sieve *sieve = pop->command.sieve;
    bloomery_error error = {0};
    if (!pop->done && bloomery_sieve_commit(sieve, &error) != BLOOMERY_OK) {
        bloomery_sieve_finish(sieve, pop->numbers, pop->held, BLOOMERY_SIEVE_UNDO, NULL, NULL);
        tool_sieve_error(&pop->command, &error);
        tool_error("%s: %s not printed, since their leases could not be saved",
                   pop->command.directory, TOOL_SAY_THINGS(pop->held, "key"));
        return false;
    }
    const bool good = print_held(pop);
    if (!good)
        give_back_unwritten(pop);
    if (!pop->done || bloomery_sieve_finish(sieve, pop->numbers, pop->held, BLOOMERY_SIEVE_DONE,
                                            NULL, &error) == BLOOMERY_OK)
        return good;
    pop->unacked = pop->held;
    return !tool_sieve_error(&pop->command, &error);
}

static bool skip_damage(struct pop *pop)
{
    bloomery_error error = {0};
    uint64_t lost = 0;
    if (bloomery_sieve_skip(pop->command.sieve, &lost, &error) != BLOOMERY_OK)
        return !tool_sieve_error(&pop->command, &error);
    tool_warning("%s: a damaged frame of the queue was skipped, with %s in it",
                 pop->command.directory, TOOL_SAY_THINGS(lost, "item"));
    return lost > 0;
}

/* Of keys that were printed before it, a failure takes nothing away: they can be worked at. What is
 * then acknowledged makes room, of leases and on a full disk. */
static bool ends_early(const struct pop *pop, bloomery_status status, const bloomery_error *error)
{
    if (status == BLOOMERY_FULL)
        tool_warning("%s: all leases are in use; acknowledge some keys, and pop again",
                     pop->command.directory);
    else if (status == BLOOMERY_IO_FAILED)
        tool_warning("%s: no more keys for now: %s", pop->command.directory, error->text);
    return status == BLOOMERY_FULL || status == BLOOMERY_IO_FAILED;
}

/* Pops and prints. False after a message. */
static bool pop_items(struct pop *pop)
{
    bloomery_error error = {0};
    while (pop->popped < pop->wanted) {
        const bloomery_status status = pop_some(pop, &error);
        if (status == BLOOMERY_CORRUPT && pop->skip_damaged && skip_damage(pop))
            continue;
        if (pop->popped > 0 && ends_early(pop, status, &error))
            return true;
        if (status != BLOOMERY_OK) {
            tool_sieve_error(&pop->command, &error);
            if (status == BLOOMERY_FULL)
                tool_notice("'bloomery sieve export --leased %s' lists them, and 'bloomery sieve "
                            "ack --return --all %s' returns those of dead workers; 'pop --leases "
                            "N' allows more",
                            pop->command.directory, pop->command.directory);
            return false;
        }
        if (pop->held == 0)
            return true;
        if (!deliver(pop))
            return tool_out_failed(&pop->out);
    }
    return true;
}

/* Commits what was done. If that fails, lines that were printed as done come again. */
static bool close_popped(struct pop *pop)
{
    uint64_t again = pop->unacked;
    if (pop->done) {
        const bloomery_sieve_info info = tool_sieve_info(&pop->command);
        again += info.done - info.done_durable;
    }
    if (tool_sieve_close(&pop->command, TOOL_FOUND) == TOOL_FOUND)
        return true;
    if (again > 0)
        tool_error("%s: %s will be redelivered: printed, but not saved as done",
                   pop->command.directory, TOOL_SAY_THINGS(again, "line"));
    return false;
}

static int run_pop(struct pop *pop)
{
    const bool gathers = !pop->done && !pop->command.json && pop->wanted > ITEMS;
    if (!tool_sieve_open(&pop->command))
        return TOOL_ERROR;
    pop->text = gathers ? tool_allocate(TEXT_BYTES) : NULL;
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
    if (pop->command.json)
        tool_sieve_begin_items(&pop->out, "sieve pop");
    const bool good = pop_items(pop);
    if (pop->command.json)
        tool_sieve_end_items(&pop->out, pop->popped);
    tool_out_flush(&pop->out);
    const bool saved = close_popped(pop);
    const int code = !good || !saved ? TOOL_ERROR : pop->popped > 0 ? TOOL_FOUND : TOOL_NONE;
    free(pop->text);
    signal(SIGPIPE, before);
    if (pop->out.failure == EPIPE)
        raise(SIGPIPE); /* as if it had never been ignored */
    return tool_out_finish(&pop->out, code);
}

static int pop_main(int argc, char **argv)
{
    struct pop *pop = tool_allocate(sizeof(*pop)); /* large: the output's buffer */
    memset(pop, 0, sizeof(*pop));
    tool_sieve_start(&pop->command);
    tool_out_start(&pop->out);
    pop->wanted = 1;
    pop->delimiter = '\n';
    int code;
    if (!tool_options_read(argc, argv, pop, &code))
        ; /* after the help or a message */
    else if (pop->done && pop->command.options.lease > 0)
        code = tool_usage("--done acknowledges keys at once, so --lease does not go with it");
    else if (tool_sieve_sole_operand(&pop->command, argc, argv))
        code = run_pop(pop);
    free(pop);
    return code;
}

const struct tool_command tool_sieve_pop = {
    .name = "sieve pop",
    .run = pop_main,
    .summary = "lease the next keys and print NUMBER, tab, KEY",
    .synopsis = "bloomery sieve pop [OPTION...] DIR",
    .introduction =
        "Takes the next keys from the queue of the sieve in DIR, and prints NUMBER, a "
        "tab and KEY for each. The keys are leased: a key whose NUMBER is not "
        "acknowledged with 'sieve ack' within the lease (--lease) is redelivered. With "
        "--done only the keys are printed. If the reader goes away, keys that were not "
        "written are returned at once. A lease is on disk before its number is printed, "
        "so the number is valid after a crash, too. With --sync never, this holds if the "
        "process is killed, but not if the machine crashes.",
    .groups = pop_groups,
    .epilogue = "If the queue is empty and keys are pending (disk engine), pop decides them "
                "until it finds a new one, unless --queued is given. Leases continue after the "
                "command has ended.\n"
                "\n"
                "Order: redelivered keys come first. Then come the others: first in, first out "
                "with 'push --ordered' and with the memory engine. By default, the disk engine "
                "keeps that order only within each partition, and chooses the next partition at "
                "random.\n"
                "\n"
                "Exit code: 0 something was popped, 1 nothing is queued or pending now, 2 an "
                "error. After 1, leased keys may still come back. If all leases are in use, that "
                "is an error. If the command ended with 2 or was killed, its last line may be "
                "incomplete. So use its lines only if it ended with 0.\n"
                "\n"
                "  bloomery sieve pop -n 10 --done crawl\n"
                "  bloomery sieve pop -n 100 --lease 60 crawl > work\n"
                "  visit work && bloomery sieve ack crawl < work",
};

/* ---- ack ------------------------------------------------------------------------------------- */

struct ack {
    struct tool_sieve_command command;
    bool returns, all, extends, dead; /* --return and so on */
    double lease;                     /* seconds; 0: as long as by default */
    struct tool_source source;
    uint64_t *numbers;
    size_t count, room;
    uint64_t changed; /* of them: the others are not leased */
};

static const struct tool_option ack_options[] = {
    {0, "return", NULL, TOOL_FLAG(struct ack, returns),
     .help = "return keys to the queue; the next pop redelivers them"},
    {0, "all", NULL, TOOL_FLAG(struct ack, all),
     .help = "return all leased keys (with --return). This is for workers that died; 'export "
             "--leased' lists their keys"},
    {0, "extend", NULL, TOOL_FLAG(struct ack, extends),
     .help = "restart the leases now, for keys that take longer"},
    {0, "lease", "TIME", TOOL_SECONDS(struct ack, lease, false),
     .help = "set the new lease duration (with --extend; default 1h). TIME is in seconds or has a "
             "unit (90s, 5m, 1h)"},
    {0, "dead", NULL, TOOL_FLAG(struct ack, dead),
     .help = "forget the keys that 'pop --max-deliveries' put aside. With --return all of them are "
             "queued again. They stay seen. 'export --dead' lists them"},
    {'0', "null", NULL, TOOL_BYTE(struct ack, source.delimiter, '\0'),
     .help = "end lines with NUL instead of newline"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group ack_groups[] = {
    {.rows = ack_options},
    TOOL_SIEVE_GROUP(tool_sieve_report_options, struct ack, command),
    TOOL_SIEVE_CHANGE_GROUPS(struct ack, command),
    TOOL_GROUPS_END,
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
            for (size_t i = 0; i < count && good; i++) {
                char shown[80];
                const char *begin = records[i].data, *tab = memchr(begin, '\t', records[i].bytes);
                good =
                    take_number(ack, begin, tab != NULL ? (size_t)(tab - begin) : records[i].bytes);
                if (!good)
                    tool_error("'%s' does not begin with a number as 'sieve pop' prints it; "
                               "nothing was changed",
                               tool_show_bytes(shown, sizeof(shown), begin, records[i].bytes));
            }
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

static int report_ack(const struct ack *ack, int code)
{
    const uint64_t changed = ack->changed, rest = ack->count - ack->changed;
    if (ack->command.json) {
        struct tool_report *report = tool_report_start("sieve ack", (struct tool_report_form){0});
        tool_fact(report, "returned", NULL, tool_yes(ack->returns));
        tool_fact(report, "extended", NULL, tool_yes(ack->extends));
        tool_fact(report, "dead", NULL, tool_yes(ack->dead));
        tool_fact(report, "ended", NULL, tool_count(ack->extends ? 0 : changed));
        tool_fact(report, "renewed", NULL, tool_count(ack->extends ? changed : 0));
        tool_fact(report, "not_leased", NULL, tool_count(rest));
        return tool_report_print(report, true, code);
    }
    const char *verb = ack->dead      ? ack->returns ? "queued again" : "forgotten"
                       : ack->extends ? "leased for longer"
                       : ack->returns ? "returned"
                                      : "done";
    if (ack->command.quiet)
        return code;
    if (ack->dead || ack->all)
        tool_say("ack: %s %s", TOOL_SAY_THINGS(changed, ack->dead ? "dead key" : "key"), verb);
    else
        tool_say("ack: %s %s; %s not leased", TOOL_SAY_THINGS(changed, "key"), verb,
                 TOOL_SAY_COUNT(rest));
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
    assert(status != BLOOMERY_OK || ack->changed <= ack->count);
    return status;
}

static int run_ack(struct ack *ack, char **texts, size_t count)
{
    bloomery_error error = {0};
    for (size_t i = 0; i < count; i++)
        if (!take_number(ack, texts[i], strlen(texts[i])))
            return tool_usage("'%s' is not a number as 'sieve pop' prints it", texts[i]);
    const bool reads = count == 0 && !ack->all && !ack->dead;
    if ((reads && !take_lines(ack)) || !tool_sieve_open(&ack->command))
        return TOOL_ERROR;
    if (change(ack, &error) != BLOOMERY_OK)
        return tool_sieve_close(&ack->command, tool_sieve_error(&ack->command, &error));
    return report_ack(
        ack, tool_sieve_close(&ack->command, ack->changed < ack->count ? TOOL_NONE : TOOL_FOUND));
}

static bool fits_together(const struct ack *ack, int argc)
{
    if (ack->all && !ack->returns)
        return !tool_usage(
            "--all goes with --return: only the workers know which of their keys are done");
    if (ack->extends && (ack->returns || ack->all || ack->dead))
        return !tool_usage("--extend keeps leases; it does not go with --return, --all or --dead");
    if (ack->lease > 0 && !ack->extends)
        return !tool_usage("--lease goes with --extend");
    if (ack->all && ack->dead)
        return !tool_usage("--dead is about all dead keys; --all is about leased ones");
    if ((ack->all || ack->dead) && optind + 1 < argc)
        return !tool_usage("%s takes no numbers", ack->all ? "--all" : "--dead");
    return true;
}

static int ack_main(int argc, char **argv)
{
    struct ack ack = {.source = {.delimiter = '\n', .threads = 1, .record_max = 2 << 20}};
    int code;
    tool_sieve_start(&ack.command);
    if (!tool_options_read(argc, argv, &ack, &code))
        return code;
    if (!fits_together(&ack, argc) || !tool_sieve_operand(&ack.command, argc, argv))
        return TOOL_ERROR;
    code = run_ack(&ack, argv + optind, (size_t)(argc - optind));
    free(ack.numbers);
    return code;
}

const struct tool_command tool_sieve_ack = {
    .name = "sieve ack",
    .run = ack_main,
    .summary = "acknowledge popped keys, return them, or keep them for longer",
    .synopsis = "bloomery sieve ack [OPTION...] DIR [NUMBER...]",
    .introduction = "Acknowledges keys that 'sieve pop' printed: they are done, their leases end, "
                    "and they are never delivered again. Without NUMBER, numbers are read from "
                    "standard input, one per line. Everything after a tab is ignored, so you can "
                    "pass the lines that pop printed.",
    .groups = ack_groups,
    .epilogue = "A redelivered key keeps its number. So after a lease has ended, its number may "
                "belong to another worker's lease.\n"
                "\n"
                "Exit code: 0 all numbers were leased, 1 some were not (acknowledged twice, or "
                "never popped), 2 an error.\n"
                "\n"
                "  bloomery sieve ack crawl 17 18\n"
                "  bloomery sieve ack --return --all crawl\n"
                "  bloomery sieve ack --extend --lease 2h crawl 17",
};

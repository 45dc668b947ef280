/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sieve pop: the next lines to visit, which are leased until they are acknowledged (sieve_ack.c).
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
 * --done there are no numbers: a crash brings the last lines again, and never loses one. Lines that
 * were printed and can't be made durable as done are reported, with their count.
 */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pop_help[] =
    "bloomery sieve pop [OPTION...] DIR\n"
    "\n"
    "Leases the next keys of the queue of the sieve in DIR and prints them. A leased\n"
    "key is redelivered when its lease ends, unless 'sieve ack' acknowledges it\n"
    "before. A line is a number to acknowledge by, a tab, and the key; with --done\n"
    "the key alone. Keys that can't be written, because the reader is gone, are\n"
    "returned at once. A lease is on the disk before its number is printed, so that\n"
    "after a crash too the number is that of its key. With --sync never that holds if\n"
    "the process is killed, not if the machine is.\n"
    "\n"
    "  -n, --count N        pop up to N keys. Default 1\n"
    "      --done           acknowledge them when they are written: no lease, no\n"
    "                       redelivery, except after a crash, which brings the last\n"
    "                       ones again (see --sync)\n"
    "      --queued         only what is queued: nothing that is pending is decided\n"
    "      --lease TIME     lease duration: seconds, or with a unit (90s, 5m, 1h). A\n"
    "                       key not acknowledged in time is redelivered. Default 1h\n"
    "      --leases N       from now on up to N keys may be leased at a time\n"
    "      --max-deliveries=N\n"
    "                       put a key aside that was delivered N times and never\n"
    "                       acknowledged, instead of delivering it again. 'export\n"
    "                       --dead' lists such keys. Default: no limit\n"
    "      --payload        print a tab and the payload behind each key that has one\n"
    "      --skip-damaged   if a frame of the queue is damaged, give up the items in\n"
    "                       it and go on behind it; by default it is an error\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "      --json           one JSON object, in which \"items\" is a list of objects\n"
    "                       with number, key (key_hex if the key is no UTF-8),\n"
    "                       payload, again: whether it is redelivered, and\n"
    "                       deliveries: how often it was popped, this time included\n" /* and */
    TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP "\n"
    "If the queue is empty and keys are pending (disk engine), they are decided until\n"
    "there is something, unless --queued is given. Leases go on from one command to\n"
    "the next.\n"
    "\n"
    "Order: redelivered keys first. Then, of a sieve made with 'push --ordered' or of\n"
    "the memory engine, the order of first pushes: first in, first out. By default\n"
    "the disk engine keeps that order within each partition alone, and which\n"
    "partition comes next is chance.\n"
    "\n"
    "Exit code: 0 something was popped, 1 nothing is queued or pending now (leased\n"
    "keys may come back), 2 an error; that all leases are taken is one. The lines of\n"
    "a command that ended with 2 or was killed may be cut off: use them only if it\n"
    "ended with 0.\n"
    "\n"
    "  bloomery sieve pop -n 10 --done crawl\n"
    "  bloomery sieve pop -n 100 --lease 60 crawl > work\n"
    "  visit work && bloomery sieve ack crawl < work\n";

enum {
    OPTION_DONE = TOOL_SIEVE_OPTION_OWN,
    OPTION_QUEUED,
    OPTION_LEASE,
    OPTION_PAYLOAD,
    OPTION_SKIP_DAMAGED,
    OPTION_MAX_DELIVERIES,
};

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

static int take_text(const char *text, size_t bytes, void *out)
{
    tool_out_bytes(out, text, bytes);
    return 0;
}

static void print_json_item(struct pop *pop, const bloomery_sieve_item *item)
{
    json_t *object = tool_sieve_json_item(item);
    tool_json_add(object, "again", tool_json_bool(item->again));
    tool_json_add(object, "deliveries", tool_json_count(item->deliveries));
    tool_out_text(&pop->out, pop->popped == 0 ? "\n    " : ",\n    ");
    json_dump_callback(object, take_text, &pop->out, 0);
    json_decref(object);
}

static void put_out(struct pop *pop, const void *data, size_t bytes)
{
    tool_out_bytes(&pop->out, data, bytes);
}

static void put_text(struct pop *pop, const void *data, size_t bytes)
{
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
        for (size_t i = 0; i < pop->loose; i++)
            pop->numbers[pop->held++] = pop->items[i].number;
        if (pop->popped + pop->held == pop->wanted || pop->held > NUMBERS - ITEMS || !gather(pop))
            return BLOOMERY_OK;
    }
}

/* Prints what is held, and notes the end of each line. True if all of it was written. */
static bool print_held(struct pop *pop)
{
    const size_t gathered = pop->held - pop->loose;
    const uint64_t begin = pop->out.written + pop->out.used;
    tool_out_bytes(&pop->out, pop->text, pop->text_bytes);
    for (size_t i = 0; i < gathered; i++)
        pop->ends[i] += begin;
    pop->popped += gathered;
    for (size_t i = 0; i < pop->loose; i++, pop->popped++) {
        if (pop->command.json)
            print_json_item(pop, &pop->items[i]);
        else
            put_line(pop, &pop->items[i], put_out);
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
    char keys[TOOL_SIEVE_TEXT];
    if (!pop->done && bloomery_sieve_commit(sieve, &error) != BLOOMERY_OK) {
        bloomery_sieve_finish(sieve, pop->numbers, pop->held, BLOOMERY_SIEVE_UNDO, NULL, NULL);
        tool_sieve_error(&pop->command, &error);
        tool_error("%s: %s not printed, since their leases could not be saved",
                   pop->command.directory, tool_sieve_things(keys, pop->held, "key"));
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
    char text[TOOL_SIEVE_TEXT];
    bloomery_error error = {0};
    uint64_t lost = 0;
    if (bloomery_sieve_skip(pop->command.sieve, &lost, &error) != BLOOMERY_OK)
        return !tool_sieve_error(&pop->command, &error);
    tool_warning("%s: a damaged frame of the queue was given up, and %s in it",
                 pop->command.directory, tool_sieve_things(text, lost, "item"));
    return lost > 0;
}

/* Of keys that were printed before it, a failure takes nothing away: they can be worked at. What is
 * then acknowledged makes room, of leases and on a full disk. */
static bool ends_early(const struct pop *pop, bloomery_status status, const bloomery_error *error)
{
    if (status == BLOOMERY_FULL)
        tool_warning("%s: as many keys are leased as may be; acknowledge some, and pop again",
                     pop->command.directory);
    else if (status == BLOOMERY_IO_FAILED)
        tool_warning("%s: no more keys for now: %s", pop->command.directory, error->text);
    return status == BLOOMERY_FULL || status == BLOOMERY_IO_FAILED;
}

static bool say_failure(struct pop *pop, const bloomery_error *error)
{
    tool_sieve_error(&pop->command, error);
    if (error->status == BLOOMERY_FULL)
        tool_notice("'bloomery sieve export --leased %s' lists them, and 'bloomery sieve ack "
                    "--return --all %s' returns those of dead workers; 'pop --leases N' allows "
                    "more",
                    pop->command.directory, pop->command.directory);
    return false;
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
        if (status != BLOOMERY_OK)
            return say_failure(pop, &error);
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
    char lines[TOOL_SIEVE_TEXT];
    uint64_t again = pop->unacked;
    if (pop->done) {
        const bloomery_sieve_info info = tool_sieve_info(&pop->command);
        again += info.done - info.done_durable;
    }
    if (tool_sieve_close(&pop->command, TOOL_FOUND) == TOOL_FOUND)
        return true;
    if (again > 0)
        tool_error("%s: %s will come again: printed, and that they are done could not be saved",
                   pop->command.directory, tool_sieve_things(lines, again, "line"));
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
        tool_out_text(&pop->out,
                      "{\n  \"schema\": 1,\n  \"command\": \"sieve pop\",\n  \"items\": [");
    const bool good = pop_items(pop);
    if (pop->command.json)
        tool_out_text(&pop->out, pop->popped > 0 ? "\n  ]\n}\n" : "]\n}\n");
    tool_out_flush(&pop->out);
    const bool saved = close_popped(pop);
    const int code = !good || !saved ? TOOL_ERROR : pop->popped > 0 ? TOOL_FOUND : TOOL_NONE;
    free(pop->text);
    signal(SIGPIPE, before);
    if (pop->out.failure == EPIPE)
        raise(SIGPIPE); /* as if it had never been ignored */
    return tool_out_finish(&pop->out, code);
}

static bool take_pop_option(struct pop *pop, int option)
{
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, UINT64_C(1) << 62, &pop->wanted);
    case OPTION_DONE:
        pop->done = true;
        return true;
    case OPTION_QUEUED:
        pop->queued = true;
        return true;
    case OPTION_LEASE:
        return tool_option_seconds("--lease", optarg, TOOL_SECONDS_SOME,
                                   &pop->command.options.lease);
    case OPTION_MAX_DELIVERIES:
        return tool_option_small("--max-deliveries", optarg, 1, BLOOMERY_SIEVE_DELIVERIES_MAX,
                                 &pop->command.options.max_deliveries);
    case TOOL_SIEVE_OPTION_LEASES:
        return tool_sieve_make_option(&pop->command, option);
    case OPTION_PAYLOAD:
        pop->payload = true;
        return true;
    case OPTION_SKIP_DAMAGED:
        pop->skip_damaged = true;
        return true;
    case '0':
        pop->delimiter = 0;
        return true;
    default:
        return tool_sieve_option(&pop->command, option);
    }
}

static int pop_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"count", required_argument, NULL, 'n'},
        {"done", no_argument, NULL, OPTION_DONE},
        {"queued", no_argument, NULL, OPTION_QUEUED},
        {"lease", required_argument, NULL, OPTION_LEASE},
        {"leases", required_argument, NULL, TOOL_SIEVE_OPTION_LEASES},
        {"max-deliveries", required_argument, NULL, OPTION_MAX_DELIVERIES},
        {"payload", no_argument, NULL, OPTION_PAYLOAD},
        {"skip-damaged", no_argument, NULL, OPTION_SKIP_DAMAGED},
        {"null", no_argument, NULL, '0'},
        {"sync", required_argument, NULL, TOOL_SIEVE_OPTION_SYNC},
        TOOL_SIEVE_ALL_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct pop *pop = tool_allocate(sizeof(*pop)); /* large: the output's buffer */
    memset(pop, 0, sizeof(*pop));
    tool_sieve_start(&pop->command);
    tool_out_start(&pop->out);
    pop->wanted = 1;
    pop->delimiter = '\n';
    int option, code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "n:0", options)) != -1)
        if (option == TOOL_OPTION_HELP || !take_pop_option(pop, option))
            break;
    if (option == TOOL_OPTION_HELP)
        code = TOOL_FOUND;
    else if (option == -1 && pop->done && pop->command.options.lease > 0)
        code = tool_usage("--done acknowledges what was popped, and leaves nothing for --lease");
    else if (option == -1 && tool_sieve_operand(&pop->command, argc, argv) &&
             tool_sieve_no_more(argc, argv))
        code = run_pop(pop);
    free(pop);
    return code;
}

const struct tool_command tool_sieve_pop = {
    .name = "sieve pop",
    .run = pop_main,
    .summary = "take the next keys from the queue",
    .help = pop_help,
};

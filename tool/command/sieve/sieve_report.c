/* SPDX-License-Identifier: Apache-2.0 */
/* sieve flush, export and verify: each looks at a sieve as a whole. sieve_status.c has status. */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char flush_help[] =
    "bloomery sieve flush [OPTION...] DIR\n"
    "\n"
    "Decides all that is pending (disk engine): afterwards what was new is in the\n"
    "queue. It reads and writes up to all fingerprints of what was seen; 'sieve\n"
    "status' reports about how much.\n"
    "\n" TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n";

static const char export_help[] =
    "bloomery sieve export [OPTION...] DIR\n"
    "\n"
    "Prints the keys of the queue, front to back, without popping them. Leased keys\n"
    "are not among them.\n"
    "\n"
    "      --leased         print the leased keys instead, each behind its number and\n"
    "                       a tab, as pop does: popped and not acknowledged, those\n"
    "                       that await redelivery included\n"
    "      --dead           print the keys that 'pop --max-deliveries' put aside\n"
    "      --seen           print the fingerprints of what was seen instead, 16\n"
    "                       hexadecimal digits each, in rising order (disk engine).\n"
    "                       They are made with a secret of this sieve and mean\n"
    "                       nothing in another; pending keys are not among them\n"
    "      --flush          decide all that is pending first\n"
    "      --payload        print a tab and the payload behind each key that has one\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "      --json           with --leased or --dead: one JSON object, in which\n"
    "                       \"items\" is a list of objects with number, key (key_hex if\n"
    "                       the key is not UTF-8) and payload; of leased keys also\n"
    "                       deliveries, and seconds_left: 0 if it awaits redelivery\n" /* and */
    TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_WAIT_HELP "\n"
    "  bloomery sieve export --leased crawl | bloomery sieve ack --return crawl\n"
    "  bloomery sieve export --dead crawl > gone.txt\n";

static const char verify_help[] =
    "bloomery sieve verify [OPTION...] DIR\n"
    "\n"
    "Reads every frame of every file of a sieve, compares the checksums, and prints a\n"
    "line for each that is damaged: which it is and what it held.\n"
    "\n"
    "      --json           one JSON object\n" TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_WAIT_HELP "\n"
    "Exit code: 0 all is sound, 1 something is damaged, 2 an error.\n";

enum {
    OPTION_SEEN = TOOL_SIEVE_OPTION_OWN,
    OPTION_LEASED,
    OPTION_DEAD,
    OPTION_FLUSH,
    OPTION_PAYLOAD,
};

/* ---- flush ----------------------------------------------------------------------------------- */

static int report_flush(const struct tool_sieve_command *command, const bloomery_sieve_info *before,
                        const bloomery_sieve_info *after, int code)
{
    char decided[TOOL_SIEVE_TEXT], fresh[TOOL_NUMBER_BYTES], queued[TOOL_NUMBER_BYTES];
    const uint64_t count = before->pending - after->pending;
    if (command->json) {
        json_t *object = tool_json_report("sieve flush");
        tool_json_add(object, "decided", tool_json_count(count));
        tool_json_add(object, "new", tool_json_count(after->new_keys - before->new_keys));
        tool_json_add(object, "seen", tool_json_count(after->seen - before->seen));
        tool_json_add(object, "queued", tool_json_count(after->queued));
        tool_json_add(object, "bytes_read", tool_json_count(after->bytes_read));
        tool_json_add(object, "bytes_written", tool_json_count(after->bytes_written));
        return tool_json_print(object, code);
    }
    if (!command->quiet)
        tool_say("flush: decided %s, %s new; %s queued", tool_sieve_things(decided, count, "push"),
                 tool_format_count(fresh, after->new_keys - before->new_keys),
                 tool_format_count(queued, after->queued));
    return code;
}

/* Decides everything. False after a message, the sieve being closed. */
static bool flush(struct tool_sieve_command *command)
{
    bloomery_error error = {0};
    if (bloomery_sieve_flush(command->sieve, &error) == BLOOMERY_OK &&
        bloomery_sieve_commit(command->sieve, &error) == BLOOMERY_OK)
        return true;
    tool_sieve_error(command, &error);
    tool_sieve_close(command, TOOL_ERROR);
    return false;
}

static int flush_main(int argc, char **argv)
{
    static const struct option options[] = {TOOL_SIEVE_OPTIONS, {NULL, 0, NULL, 0}};
    struct tool_sieve_command command;
    int code;
    if (!tool_sieve_read_plain(&command, argc, argv, TOOL_SIEVE_LETTERS, options, &code))
        return code;
    if (!tool_sieve_open(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info before = tool_sieve_info(&command);
    if (!flush(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info after = tool_sieve_info(&command);
    return report_flush(&command, &before, &after, tool_sieve_close(&command, TOOL_FOUND));
}

/* ---- export ---------------------------------------------------------------------------------- */

struct export
{
    struct tool_sieve_command command;
    bool seen, leased, dead, flush, payload;
    unsigned char delimiter;
    double now;
    uint64_t printed;
    struct tool_out out;
};

static int print_fingerprint(void *context, uint64_t fingerprint)
{
    struct export *export = context;
    tool_out_format(&export->out, "%016llx", (unsigned long long)fingerprint);
    tool_out_bytes(&export->out, &export->delimiter, 1);
    return tool_out_failed(&export->out);
}

static int print_item(void *context, const bloomery_sieve_item *item)
{
    struct export *export = context;
    tool_out_bytes(&export->out, item->key.data, item->key.bytes);
    if (export->payload && item->payload.bytes > 0) {
        tool_out_bytes(&export->out, "\t", 1);
        tool_out_bytes(&export->out, item->payload.data, item->payload.bytes);
    }
    tool_out_bytes(&export->out, &export->delimiter, 1);
    return tool_out_failed(&export->out);
}

static int take_json(const char *text, size_t bytes, void *out)
{
    tool_out_bytes(out, text, bytes);
    return 0;
}

/* One object of the list; takes it over. */
static int print_object(struct export *export, json_t *object)
{
    tool_out_text(&export->out, export->printed++ == 0 ? "\n    " : ",\n    ");
    json_dump_callback(object, take_json, &export->out, 0);
    json_decref(object);
    return tool_out_failed(&export->out);
}

static int print_leased(void *context, const bloomery_sieve_item *item)
{
    struct export *export = context;
    if (export->command.json) {
        json_t *object = tool_sieve_json_item(item);
        const double left = item->lease_ends - export->now;
        tool_json_add(object, "deliveries", tool_json_count(item->deliveries));
        tool_json_add(object, "seconds_left", tool_json_number(left > 0 ? left : 0));
        return print_object(export, object);
    }
    tool_out_format(&export->out, "%llu\t", (unsigned long long)item->number);
    return print_item(export, item);
}

static int print_dead(void *context, const bloomery_sieve_item *item)
{
    struct export *export = context;
    return export->command.json ? print_object(export, tool_sieve_json_item(item))
                                : print_item(export, item);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bloomery_status print_all(struct export *export, bloomery_error *error)
{
    bloomery_sieve *sieve = export->command.sieve;
    if (export->command.json)
        tool_out_text(&export->out,
                      "{\n  \"schema\": 1,\n  \"command\": \"sieve export\",\n  \"items\": [");
    export->now = seconds_now();
    const bloomery_status status =
        export->seen ? bloomery_sieve_each_seen(sieve, print_fingerprint, export, NULL, error)
        : export->leased
            ? bloomery_sieve_each(sieve, BLOOMERY_SIEVE_LEASED, print_leased, export, NULL, error)
        : export->dead
            ? bloomery_sieve_each(sieve, BLOOMERY_SIEVE_DEAD, print_dead, export, NULL, error)
            : bloomery_sieve_each(sieve, BLOOMERY_SIEVE_QUEUED, print_item, export, NULL, error);
    if (export->command.json)
        tool_out_text(&export->out, export->printed > 0 ? "\n  ]\n}\n" : "]\n}\n");
    return status;
}

static int run_export(struct export *export)
{
    struct tool_sieve_command *command = &export->command;
    bloomery_error error = {0};
    char text[TOOL_SIEVE_TEXT];
    command->options.read_only = !export->flush;
    if (!tool_sieve_open(command) || (export->flush && !flush(command)))
        return TOOL_ERROR;
    /* The fingerprints of what was decided may still lie with what is pending. */
    const bloomery_sieve_info info = tool_sieve_info(command);
    const bool whole = export->leased || export->dead ||
                       (info.pending == 0 && (!export->seen || info.pending_bytes == 0));
    const bloomery_status status = print_all(export, &error);
    const int code = tool_sieve_close(
        command, status != BLOOMERY_OK ? tool_sieve_error(command, &error) : TOOL_FOUND);
    if (!whole && code == TOOL_FOUND)
        tool_warning("%s: %s pending and not here; --flush decides that first", command->directory,
                     info.pending == 0 ? "some of what was seen is"
                                       : tool_sieve_things(text, info.pending, "push"));
    return tool_out_finish(&export->out, code);
}

static bool take_export_option(struct export *export, int option)
{
    switch (option) {
    case OPTION_SEEN:
        export->seen = true;
        return true;
    case OPTION_LEASED:
        export->leased = true;
        return true;
    case OPTION_DEAD:
        export->dead = true;
        return true;
    case OPTION_FLUSH:
        export->flush = true;
        return true;
    case OPTION_PAYLOAD:
        export->payload = true;
        return true;
    case '0':
        export->delimiter = 0;
        return true;
    default:
        return tool_sieve_option(&export->command, option);
    }
}

static int export_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seen", no_argument, NULL, OPTION_SEEN},
        {"leased", no_argument, NULL, OPTION_LEASED},
        {"dead", no_argument, NULL, OPTION_DEAD},
        {"flush", no_argument, NULL, OPTION_FLUSH},
        {"payload", no_argument, NULL, OPTION_PAYLOAD},
        {"null", no_argument, NULL, '0'},
        {"memory", required_argument, NULL, TOOL_SIEVE_OPTION_MEMORY},
        {"wait", required_argument, NULL, TOOL_SIEVE_OPTION_WAIT},
        {"json", no_argument, NULL, TOOL_SIEVE_OPTION_JSON},
        {NULL, 0, NULL, 0},
    };
    struct export *export = tool_allocate(sizeof(*export));
    memset(export, 0, sizeof(*export));
    tool_sieve_start(&export->command);
    tool_out_start(&export->out);
    export->delimiter = '\n';
    int option, code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "0", options)) != -1)
        if (option == TOOL_OPTION_HELP || !take_export_option(export, option))
            break;
    if (option == TOOL_OPTION_HELP)
        code = TOOL_FOUND;
    else if (option == -1 && export->seen + export->leased + export->dead > 1)
        code = tool_usage("--seen, --leased and --dead are three lists: name one");
    else if (option == -1 && export->command.json && !export->leased && !export->dead)
        code = tool_usage("--json goes with --leased or --dead");
    else if (option == -1 && tool_sieve_operand(&export->command, argc, argv) &&
             tool_sieve_no_more(argc, argv))
        code = run_export(export);
    free(export);
    return code;
}

/* ---- verify ---------------------------------------------------------------------------------- */

struct verify {
    struct tool_sieve_command command;
    json_t *reports; /* NULL: to stdout */
    struct tool_out out;
};

static void take_report(void *context, const char *text)
{
    struct verify *verify = context;
    if (verify->reports != NULL) {
        tool_json_append(verify->reports, tool_json_text(text));
        return;
    }
    tool_out_text(&verify->out, text);
    tool_out_text(&verify->out, "\n");
}

static int report_verify(struct verify *verify, uint64_t damaged, int code)
{
    char text[TOOL_SIEVE_TEXT];
    if (verify->reports != NULL) {
        json_t *object = tool_json_report("sieve verify");
        tool_json_add(object, "damaged", tool_json_count(damaged));
        tool_json_add(object, "reports", verify->reports);
        return tool_json_print(object, code);
    }
    if (code == TOOL_NONE)
        tool_say("%s: damaged: %s", verify->command.directory,
                 tool_sieve_things(text, damaged, "frame"));
    else if (code == TOOL_FOUND && damaged == 0)
        tool_say("%s: all is sound", verify->command.directory);
    return tool_out_finish(&verify->out, code);
}

static int verify_main(int argc, char **argv)
{
    static const struct option options[] = {TOOL_SIEVE_ALL_OPTIONS, {NULL, 0, NULL, 0}};
    struct verify verify;
    bloomery_error error = {0};
    uint64_t damaged = 0;
    int code;
    if (!tool_sieve_read_plain(&verify.command, argc, argv, "", options, &code))
        return code;
    tool_out_start(&verify.out);
    verify.reports = NULL;
    verify.command.options.read_only = true;
    if (!tool_sieve_open(&verify.command)) /* damage has been reported as well */
        return verify.command.status == BLOOMERY_CORRUPT ? TOOL_NONE : TOOL_ERROR;
    verify.reports = verify.command.json ? tool_json_array() : NULL;
    if (bloomery_sieve_verify(verify.command.sieve, take_report, &verify, &damaged, &error) !=
        BLOOMERY_OK)
        return tool_sieve_close(&verify.command, tool_sieve_error(&verify.command, &error));
    code = tool_sieve_close(&verify.command, damaged > 0 ? TOOL_NONE : TOOL_FOUND);
    return report_verify(&verify, damaged, code);
}

const struct tool_command tool_sieve_flush = {
    .name = "sieve flush",
    .run = flush_main,
    .summary = "decide all that is pending",
    .help = flush_help,
};

const struct tool_command tool_sieve_export = {
    .name = "sieve export",
    .run = export_main,
    .summary = "the queue, the leased or dead keys, or what was seen",
    .help = export_help,
};

const struct tool_command tool_sieve_verify = {
    .name = "sieve verify",
    .run = verify_main,
    .summary = "read all of it and compare the checksums",
    .help = verify_help,
};

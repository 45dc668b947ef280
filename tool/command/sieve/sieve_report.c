/* SPDX-License-Identifier: Apache-2.0 */
/* sieve flush, status, export and verify: what looks at a sieve as a whole. */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char flush_help[] =
    "bloomery sieve flush [OPTION...] DIR\n"
    "\n"
    "Decides all that is pending (disk engine): afterwards what was new is in the\n"
    "queue. It reads and writes up to all fingerprints of what was seen; 'sieve\n"
    "status' reports about how much.\n"
    "\n" TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n";

static const char status_help[] =
    "bloomery sieve status [OPTION...] DIR\n"
    "\n"
    "Prints what is in a sieve and what it takes: pushes and what became of them, the\n"
    "queue, what was seen, how many keys were dropped wrongly as far as can be\n"
    "expected, bytes part by part, and what a flush would cost.\n"
    "\n"
    "      --json           one JSON object, numbers unrounded. \"memory\" and\n"
    "                       \"memory_budget\" are those of this command alone\n" /* and */
    TOOL_SIEVE_MEMORY_HELP TOOL_SIEVE_WAIT_HELP;

static const char export_help[] =
    "bloomery sieve export [OPTION...] DIR\n"
    "\n"
    "Prints the keys of the queue, front to back, without popping them. Leased keys\n"
    "are not among them.\n"
    "\n"
    "      --seen           print the fingerprints of what was seen instead, 16\n"
    "                       hexadecimal digits each, in rising order (disk engine).\n"
    "                       They are made with a secret of this sieve and mean\n"
    "                       nothing in another; pending keys are not among them\n"
    "      --flush          decide all that is pending first\n"
    "      --payload        print a tab and the payload behind each key that has one\n"
    "  -0, --null           lines end with NUL instead of newline\n" TOOL_SIEVE_MEMORY_HELP
        TOOL_SIEVE_WAIT_HELP;

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

/* Options and operand of a subcommand that has none of its own. False where there is nothing more
 * to do, and then `*code` is the exit code. */
static bool read_plain(struct tool_sieve_command *command, int argc, char **argv,
                       const char *letters, const struct option *options, int *code)
{
    int option;
    tool_sieve_start(command);
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, letters, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            *code = TOOL_FOUND;
        if (option == TOOL_OPTION_HELP || !tool_sieve_option(command, option))
            return false;
    }
    return tool_sieve_operand(command, argc, argv) && tool_sieve_no_more(argc, argv);
}

static int flush_main(int argc, char **argv)
{
    static const struct option options[] = {TOOL_SIEVE_OPTIONS, {NULL, 0, NULL, 0}};
    struct tool_sieve_command command;
    int code;
    if (!read_plain(&command, argc, argv, TOOL_SIEVE_LETTERS, options, &code))
        return code;
    if (!tool_sieve_open(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info before = tool_sieve_info(&command);
    if (!flush(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info after = tool_sieve_info(&command);
    return report_flush(&command, &before, &after, tool_sieve_close(&command, TOOL_FOUND));
}

/* ---- status ---------------------------------------------------------------------------------- */

static void line_of_count(struct tool_out *out, const char *name, uint64_t count, const char *note)
{
    char number[TOOL_NUMBER_BYTES];
    tool_out_format(out, "  %-18s%20s%s%s\n", name, tool_format_count(number, count),
                    note[0] != '\0' ? "  " : "", note);
}

static void line_of_size(struct tool_out *out, const char *name, uint64_t bytes, const char *note)
{
    char size[TOOL_NUMBER_BYTES];
    tool_out_format(out, "  %-18s%20s%s%s\n", name, tool_format_size(size, bytes),
                    note[0] != '\0' ? "  " : "", note);
}

static const char *format_drops(char *text, double drops)
{
    if (drops > 0 && drops < 0.01)
        snprintf(text, TOOL_NUMBER_BYTES, "less than 0.01");
    else if (drops >= 1000 && drops < 1e15)
        tool_format_count(text, (uint64_t)(drops + 0.5));
    else
        tool_format_rate(text, drops);
    return text;
}

static void print_queue(struct tool_out *out, const bloomery_sieve_info *info)
{
    tool_out_text(out, "pushes\n");
    line_of_count(out, "pushed", info->pushed, "");
    line_of_count(out, "durable", info->synced, "");
    line_of_count(out, "new", info->new_keys, "");
    line_of_count(out, "seen", info->seen, "");
    line_of_count(out, "pending", info->pending,
                  info->engine == BLOOMERY_SIEVE_DISK ? "not decided yet" : "");
    line_of_count(out, "forced", info->forced, "");
    line_of_count(out, "marked", info->marked, "");
    tool_out_text(out, "queue\n");
    line_of_count(out, "queued", info->queued, "");
    line_of_count(out, "leased", info->leased, "popped, not acknowledged");
    line_of_count(out, "acknowledged", info->acked, "");
}

static void print_seen(struct tool_out *out, const bloomery_sieve_info *info)
{
    char text[TOOL_NUMBER_BYTES], note[2 * TOOL_NUMBER_BYTES];
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_out_text(out, "seen\n");
    if (info->distinct == UINT64_MAX) /* of a filter whose bits are all set */
        tool_out_format(out, "  %-18s%20s\n", "different keys", "too many to tell");
    else
        line_of_count(out, "different keys", info->distinct,
                      disk ? "merged into the seen-set so far" : "estimated");
    if (!disk) {
        snprintf(note, sizeof(note), "%s%s", tool_format_odds(text, info->live_rate),
                 info->over_capacity ? "; over its capacity" : "");
        if (info->capacity > 0)
            line_of_count(out, "capacity", info->capacity, "");
        else
            tool_out_format(out, "  %-18s%20s  it grows\n", "capacity", "none");
        tool_out_format(out, "  %-18s%20s  %s\n", "rate now",
                        tool_format_rate(text, info->live_rate), note);
    }
    tool_out_format(out, "  %-18s%20s  new keys that were dropped, expected\n", "wrong drops",
                    format_drops(text, info->expected_drops));
}

static void print_bytes(struct tool_out *out, const bloomery_sieve_info *info)
{
    char note[2 * TOOL_NUMBER_BYTES];
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_out_text(out, "bytes\n");
    if (disk && info->distinct > 0)
        snprintf(note, sizeof(note), "on disk, %.3g a key",
                 (double)info->seen_bytes / (double)info->distinct);
    else
        snprintf(note, sizeof(note), "%s", disk ? "on disk" : "in memory");
    line_of_size(out, "what was seen", info->seen_bytes, note);
    line_of_size(out, "pending", info->pending_bytes, "on disk");
    line_of_size(out, "queue", info->queue_bytes, "on disk");
    line_of_size(out, "leases", info->lease_bytes, "");
    if (disk)
        line_of_size(out, "a flush now", (uint64_t)info->flush_bytes, "read and written, about");
}

static int print_status(const struct tool_sieve_command *command, const bloomery_sieve_info *info,
                        int code)
{
    struct tool_out out;
    tool_out_start(&out);
    if (info->engine == BLOOMERY_SIEVE_DISK)
        tool_out_format(&out, "%s: disk engine, fingerprints of %u bits, %u partition%s%s",
                        command->directory, info->fingerprint_bits, info->partitions,
                        info->partitions == 1 ? "" : "s", info->ordered ? ", ordered" : "");
    else
        tool_out_format(&out, "%s: memory engine", command->directory);
    if (info->canon[0] != '\0' && strcmp(info->canon, "none") != 0)
        tool_out_format(&out, ", keys in the form '%s'", info->canon);
    tool_out_text(&out, "\n");
    print_queue(&out, info);
    print_seen(&out, info);
    print_bytes(&out, info);
    return tool_out_finish(&out, code);
}

static void add_pushes(json_t *object, const bloomery_sieve_info *info)
{
    tool_json_add(object, "pushed", tool_json_count(info->pushed));
    tool_json_add(object, "synced", tool_json_count(info->synced));
    tool_json_add(object, "new", tool_json_count(info->new_keys));
    tool_json_add(object, "seen", tool_json_count(info->seen));
    tool_json_add(object, "pending", tool_json_count(info->pending));
    tool_json_add(object, "forced", tool_json_count(info->forced));
    tool_json_add(object, "noted", tool_json_count(info->marked));
    tool_json_add(object, "marked", tool_json_count(info->marked));
    tool_json_add(object, "queued", tool_json_count(info->queued));
    tool_json_add(object, "leased", tool_json_count(info->leased));
    tool_json_add(object, "acked", tool_json_count(info->acked));
}

static json_t *json_status(const struct tool_sieve_command *command,
                           const bloomery_sieve_info *info)
{
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    json_t *object = tool_json_report("sieve status");
    tool_json_add(object, "directory", tool_json_text(command->directory));
    tool_json_add(object, "engine", tool_json_text(disk ? "disk" : "memory"));
    tool_json_add(object, "partitions",
                  disk ? tool_json_count(info->partitions) : tool_json_null());
    tool_json_add(object, "fingerprint_bits",
                  disk ? tool_json_count(info->fingerprint_bits) : tool_json_null());
    tool_json_add(object, "ordered", tool_json_bool(info->ordered));
    tool_json_add(object, "canon", tool_json_text(info->canon[0] != '\0' ? info->canon : "none"));
    add_pushes(object, info);
    tool_json_add(object, "distinct",
                  info->distinct < UINT64_MAX ? tool_json_count(info->distinct) : tool_json_null());
    tool_json_add(object, "capacity",
                  info->capacity > 0 ? tool_json_count(info->capacity) : tool_json_null());
    tool_json_add(object, "live_rate", disk ? tool_json_null() : tool_json_number(info->live_rate));
    tool_json_add(object, "expected_wrong_drops", tool_json_number(info->expected_drops));
    tool_json_add(object, "over_capacity", tool_json_bool(info->over_capacity));
    tool_json_add(object, "memory_budget",
                  info->memory_budget > 0 ? tool_json_count(info->memory_budget)
                                          : tool_json_null());
    tool_json_add(object, "memory", tool_json_count(info->memory));
    tool_json_add(object, "seen_bytes", tool_json_count(info->seen_bytes));
    tool_json_add(object, "pending_bytes", tool_json_count(info->pending_bytes));
    tool_json_add(object, "queue_bytes", tool_json_count(info->queue_bytes));
    tool_json_add(object, "lease_bytes", tool_json_count(info->lease_bytes));
    tool_json_add(object, "flush_bytes", tool_json_number(info->flush_bytes));
    tool_json_add(object, "cache_hits", tool_json_count(info->cache_hits));
    tool_json_add(object, "decisions", tool_json_count(info->decisions));
    tool_json_add(object, "bytes_read", tool_json_count(info->bytes_read));
    tool_json_add(object, "bytes_written", tool_json_count(info->bytes_written));
    tool_json_add(object, "commits", tool_json_count(info->commits));
    return object;
}

static int status_main(int argc, char **argv)
{
    static const struct option options[] = {TOOL_SIEVE_ALL_OPTIONS, {NULL, 0, NULL, 0}};
    struct tool_sieve_command command;
    int code;
    if (!read_plain(&command, argc, argv, "", options, &code))
        return code;
    command.options.read_only = true;
    if (!tool_sieve_open(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info info = tool_sieve_info(&command);
    code = tool_sieve_close(&command, TOOL_FOUND);
    return command.json ? tool_json_print(json_status(&command, &info), code)
                        : print_status(&command, &info, code);
}

/* ---- export ---------------------------------------------------------------------------------- */

struct export
{
    struct tool_sieve_command command;
    bool seen, flush, payload;
    unsigned char delimiter;
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
    const bool whole = info.pending == 0 && (!export->seen || info.pending_bytes == 0);
    const int result =
        export->seen ? bloomery_sieve_each_seen(command->sieve, print_fingerprint, export, &error)
                     : bloomery_sieve_each_queued(command->sieve, print_item, export, &error);
    const int code =
        tool_sieve_close(command, result < 0 ? tool_sieve_error(command, &error) : TOOL_FOUND);
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
        {"flush", no_argument, NULL, OPTION_FLUSH},
        {"payload", no_argument, NULL, OPTION_PAYLOAD},
        {"null", no_argument, NULL, '0'},
        {"memory", required_argument, NULL, TOOL_SIEVE_OPTION_MEMORY},
        {"wait", required_argument, NULL, TOOL_SIEVE_OPTION_WAIT},
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
                 tool_sieve_things(text, damaged, "block"));
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
    if (!read_plain(&verify.command, argc, argv, "", options, &code))
        return code;
    tool_out_start(&verify.out);
    verify.reports = NULL;
    verify.command.options.read_only = true;
    if (!tool_sieve_open(&verify.command)) /* damage there has been told as well */
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

const struct tool_command tool_sieve_status = {
    .name = "sieve status",
    .run = status_main,
    .summary = "what is in it, and what it takes",
    .help = status_help,
};

const struct tool_command tool_sieve_export = {
    .name = "sieve export",
    .run = export_main,
    .summary = "the queue, or the fingerprints of what was seen",
    .help = export_help,
};

const struct tool_command tool_sieve_verify = {
    .name = "sieve verify",
    .run = verify_main,
    .summary = "read all of it and compare the checksums",
    .help = verify_help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* sieve status: the contents of a sieve, in the terms of push and pop. A sieve that is in use is
 * looked at from outside: its last commit says the same. */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char status_help[] =
    "bloomery sieve status [OPTION...] DIR\n"
    "\n"
    "Prints what is in a sieve and what it takes. While another process has it, that\n"
    "is what the last commit says (with --sync 1, a second ago), and who has it;\n"
    "neither waits for the other.\n"
    "\n"
    "  pushed       lines that were pushed = new + seen + pending + forced + marked\n"
    "  new          the first of their keys: each went to the queue\n"
    "  seen         dropped\n"
    "  pending      on the disk and not looked up yet (disk engine): new or seen. A\n"
    "               batch of them is decided when it is full, when 'pop' finds the\n"
    "               queue empty, or by 'flush'\n"
    "  forced       queued though they were seen (--requeue)\n"
    "  marked       by 'mark' and 'import': seen, not queued\n"
    "  durable      of the pushed ones, those that a crash can't undo\n"
    "  queued       not popped yet\n"
    "  leased       popped, not acknowledged\n"
    "  done         acknowledged\n"
    "  dead         put aside after too many deliveries (pop --max-deliveries)\n"
    "  wrong drops  new keys that were taken for seen ones, expected\n"
    "\n"
    "Keys that came to the queue, new and forced, are queued + leased + done + dead.\n"
    "Forced ones that are pending are not there yet, and what damage took is not\n"
    "any more. 'ack --dead' forgets dead ones. All counts are exact, and so are\n"
    "bytes. Estimates are the wrong drops, the cost of a flush, and of the memory\n"
    "engine the different keys and the rate.\n"
    "\n"
    "On disk a log of pending keys goes with the next merge, as a flush is, and a\n"
    "file of the queue, of 64 MiB, when all in it is done: both may be there though\n"
    "nothing is pending or queued.\n"
    "\n"
    "      --json           one JSON object, numbers unrounded. \"memory\" and\n"
    "                       \"memory_budget\" are those of this command alone\n" /* and */
    TOOL_SIEVE_MEMORY_HELP "      --wait TIME      as of the other commands, and of no effect\n";

struct status {
    struct tool_sieve_command command;
    bloomery_sieve_info info;
    bool in_use;
    struct tool_sieve_holder holder; /* if it is */
    uint64_t disk_bytes;
};

/* ---- Text ------------------------------------------------------------------------------------ */

static void line(struct tool_out *out, const char *name, const char *value, const char *note)
{
    tool_out_format(out, "  %-18s%20s%s%s\n", name, value, note[0] != '\0' ? "  " : "", note);
}

static void line_of_count(struct tool_out *out, const char *name, uint64_t count, const char *note)
{
    char number[TOOL_NUMBER_BYTES];
    line(out, name, tool_format_count(number, count), note);
}

static void line_of_size(struct tool_out *out, const char *name, uint64_t bytes, const char *note)
{
    char size[TOOL_NUMBER_BYTES];
    line(out, name, tool_format_size(size, bytes), note);
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
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_out_text(out, "pushes\n");
    line_of_count(out, "pushed", info->pushed, "the sum of the next five");
    line_of_count(out, "new", info->new_keys, "the first of their keys");
    line_of_count(out, "seen", info->seen, "dropped");
    line_of_count(out, "pending", info->pending, disk ? "new or seen, not looked up yet" : "");
    line_of_count(out, "forced", info->forced, "");
    line_of_count(out, "marked", info->marked, "seen, not queued");
    line_of_count(out, "durable", info->durable, "");
    tool_out_text(out, "queue\n");
    line_of_count(out, "queued", info->queued, "not popped yet");
    line_of_count(out, "leased", info->leased, "popped, not acknowledged");
    line_of_count(out, "done", info->done, "acknowledged");
    line_of_count(out, "dead", info->dead, "delivered too often, and put aside");
}

static void print_filter(struct tool_out *out, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    char text[TOOL_NUMBER_BYTES], note[2 * TOOL_NUMBER_BYTES];
    if (status->in_use)
        line(out, "different keys", "?", "not known while it is in use");
    else if (info->distinct == UINT64_MAX) /* of a filter whose bits are all set */
        line(out, "different keys", "too many to tell", "");
    else
        line_of_count(out, "different keys", info->distinct, "estimated");
    line_of_count(out, "planned for", info->planned,
                  info->capacity == 0   ? "it grows"
                  : info->over_capacity ? "and over that"
                                        : "");
    if (!status->in_use)
        line(out, "rate now", tool_format_rate(text, info->live_rate),
             tool_format_odds(note, info->live_rate));
}

static void print_seen(struct tool_out *out, const struct status *status)
{
    char text[TOOL_NUMBER_BYTES];
    tool_out_text(out, "seen\n");
    if (status->info.engine != BLOOMERY_SIEVE_DISK)
        print_filter(out, status);
    line(out, "wrong drops", format_drops(text, status->info.expected_drops),
         "new keys that were dropped, expected");
}

static void print_bytes(struct tool_out *out, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    char number[TOOL_NUMBER_BYTES], note[3 * TOOL_NUMBER_BYTES];
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_out_text(out, "bytes\n");
    line_of_size(out, "on disk", status->disk_bytes, "all files together");
    if (disk && info->distinct > 0)
        snprintf(note, sizeof(note), "%s fingerprint%s, %.3g bytes each",
                 tool_format_count(number, info->distinct), info->distinct == 1 ? "" : "s",
                 (double)info->seen_bytes / (double)info->distinct);
    else
        snprintf(note, sizeof(note), "%s",
                 disk             ? "no fingerprints yet"
                 : status->in_use ? "the filter's file"
                                  : "the filter, in memory");
    line_of_size(out, "what was seen", info->seen_bytes, note);
    if (disk)
        line_of_size(out, "logs", info->pending_bytes, "of pending keys; a flush removes them");
    line_of_size(out, "queue", info->queue_bytes, "files go when all in them is done");
    line_of_size(out, "leases", info->lease_bytes, "");
    if (disk)
        line_of_size(out, "a flush now", (uint64_t)info->flush_bytes, "read and written, about");
}

static int print_status(const struct status *status, int code)
{
    const bloomery_sieve_info *info = &status->info;
    char text[240];
    struct tool_out out;
    tool_out_start(&out);
    if (info->engine == BLOOMERY_SIEVE_DISK)
        tool_out_format(&out, "%s: disk engine, fingerprints of %u bits, %u partition%s%s",
                        status->command.directory, info->fingerprint_bits, info->partitions,
                        info->partitions == 1 ? "" : "s",
                        info->order == BLOOMERY_SIEVE_ORDER_FIFO ? ", ordered" : "");
    else
        tool_out_format(&out, "%s: memory engine", status->command.directory);
    if (info->canon[0] != '\0' && strcmp(info->canon, "none") != 0)
        tool_out_format(&out, ", keys in the form '%s'", info->canon);
    tool_out_text(&out, "\n");
    if (status->in_use)
        tool_out_format(&out, "in use by %s; this is its last commit\n",
                        tool_sieve_format_holder(&status->holder, text));
    print_queue(&out, info);
    print_seen(&out, status);
    print_bytes(&out, status);
    return tool_out_finish(&out, code);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_pushes(json_t *object, const bloomery_sieve_info *info)
{
    tool_json_add(object, "pushed", tool_json_count(info->pushed));
    tool_json_add(object, "durable", tool_json_count(info->durable));
    tool_json_add(object, "new", tool_json_count(info->new_keys));
    tool_json_add(object, "seen", tool_json_count(info->seen));
    tool_json_add(object, "pending", tool_json_count(info->pending));
    tool_json_add(object, "forced", tool_json_count(info->forced));
    tool_json_add(object, "marked", tool_json_count(info->marked));
    tool_json_add(object, "queued", tool_json_count(info->queued));
    tool_json_add(object, "leased", tool_json_count(info->leased));
    tool_json_add(object, "done", tool_json_count(info->done));
    tool_json_add(object, "dead", tool_json_count(info->dead));
    tool_json_add(object, "leases_max", tool_json_count(info->leases));
}

/* null: nobody has it. */
static json_t *json_holder(const struct status *status)
{
    const struct tool_sieve_holder *holder = &status->holder;
    if (!status->in_use)
        return tool_json_null();
    json_t *object = tool_json_object();
    tool_json_add(object, "pid",
                  holder->pid > 0 ? tool_json_count((uint64_t)holder->pid) : tool_json_null());
    tool_json_add(object, "command",
                  holder->command[0] != '\0' ? tool_json_text(holder->command) : tool_json_null());
    return object;
}

static void add_bytes(json_t *object, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    tool_json_add(object, "memory_budget",
                  info->memory_budget > 0 ? tool_json_count(info->memory_budget)
                                          : tool_json_null());
    tool_json_add(object, "memory", tool_json_count(info->memory));
    tool_json_add(object, "disk_bytes", tool_json_count(status->disk_bytes));
    tool_json_add(object, "seen_bytes", tool_json_count(info->seen_bytes));
    tool_json_add(object, "pending_bytes", tool_json_count(info->pending_bytes));
    tool_json_add(object, "queue_bytes", tool_json_count(info->queue_bytes));
    tool_json_add(object, "lease_bytes", tool_json_count(info->lease_bytes));
    tool_json_add(object, "dead_bytes", tool_json_count(info->dead_bytes));
    tool_json_add(object, "flush_bytes", tool_json_number(info->flush_bytes));
    tool_json_add(object, "cache_hits", tool_json_count(info->cache_hits));
    tool_json_add(object, "decisions", tool_json_count(info->decisions));
    tool_json_add(object, "bytes_read", tool_json_count(info->bytes_read));
    tool_json_add(object, "bytes_written", tool_json_count(info->bytes_written));
    tool_json_add(object, "commits", tool_json_count(info->commits));
}

static json_t *json_status(const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    json_t *object = tool_json_report("sieve status");
    tool_json_add(object, "directory", tool_json_text(status->command.directory));
    tool_json_add(object, "held_by", json_holder(status));
    tool_json_add(object, "engine", tool_json_text(disk ? "disk" : "memory"));
    tool_json_add(object, "partitions",
                  disk ? tool_json_count(info->partitions) : tool_json_null());
    tool_json_add(object, "fingerprint_bits",
                  disk ? tool_json_count(info->fingerprint_bits) : tool_json_null());
    tool_json_add(object, "ordered", tool_json_bool(info->order == BLOOMERY_SIEVE_ORDER_FIFO));
    tool_json_add(object, "canon", tool_json_text(info->canon[0] != '\0' ? info->canon : "none"));
    add_pushes(object, info);
    tool_json_add(object, "distinct",
                  info->distinct < UINT64_MAX ? tool_json_count(info->distinct) : tool_json_null());
    tool_json_add(object, "planned_keys", tool_json_count(info->planned));
    tool_json_add(object, "capacity",
                  info->capacity > 0 ? tool_json_count(info->capacity) : tool_json_null());
    tool_json_add(object, "live_rate",
                  disk || status->in_use ? tool_json_null() : tool_json_number(info->live_rate));
    tool_json_add(object, "expected_wrong_drops", tool_json_number(info->expected_drops));
    tool_json_add(object, "over_capacity", tool_json_bool(info->over_capacity));
    add_bytes(object, status);
    return object;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Of all files in a directory. Some may go while it is read. */
static uint64_t bytes_on_disk(const char *path)
{
    DIR *directory = opendir(path);
    uint64_t bytes = 0;
    if (directory == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat facts;
        if (fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode))
            bytes += (uint64_t)facts.st_size;
    }
    closedir(directory);
    return bytes;
}

/* Opens it if it is free. False after a message. */
static bool look(struct status *status, int *code)
{
    struct tool_sieve_command *command = &status->command;
    bloomery_error error = {0};
    command->options.read_only = true;
    command->passes_busy = true;
    *code = TOOL_FOUND;
    if (tool_sieve_open(command)) {
        status->info = tool_sieve_info(command);
        *code = tool_sieve_close(command, TOOL_FOUND);
    } else if (command->status == BLOOMERY_BUSY) {
        status->in_use = true;
        status->holder = tool_sieve_find_holder(command->directory);
        if (bloomery_sieve_info_read(&command->options, &status->info, &error) != BLOOMERY_OK) {
            tool_sieve_error(command, &error);
            return false;
        }
    } else
        return false;
    status->disk_bytes = bytes_on_disk(command->directory);
    return true;
}

static int status_main(int argc, char **argv)
{
    static const struct option options[] = {TOOL_SIEVE_ALL_OPTIONS, {NULL, 0, NULL, 0}};
    struct status status = {.info = BLOOMERY_SIEVE_INFO};
    int code;
    if (!tool_sieve_read_plain(&status.command, argc, argv, "", options, &code))
        return code;
    if (!look(&status, &code))
        return TOOL_ERROR;
    return status.command.json ? tool_json_print(json_status(&status), code)
                               : print_status(&status, code);
}

const struct tool_command tool_sieve_status = {
    .name = "sieve status",
    .run = status_main,
    .summary = "what is in it, and what it takes",
    .help = status_help,
};

/* ---- Sieve report ---------------------------------------------------------------------------- */

/* sieve flush, export and verify: each looks at a sieve as a whole. sieve_status.c has status. */

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

/* ---- Sieve recover --------------------------------------------------------------------------- */

/* sieve recover: makes a damaged sieve one that works. */

static const char recover_help[] =
    "bloomery sieve recover [OPTION...] DIR\n"
    "\n"
    "Makes a damaged sieve one that opens and works again, from what of it is whole,\n"
    "and prints a line for each thing that was damaged and what is lost with it. If\n"
    "the last commit can't be read, the one before it counts. Items of the queue and\n"
    "pending lines in damaged frames are lost. Keys in damaged frames of what was\n"
    "seen come out again if they are pushed again.\n"
    "\n"
    "Nothing is deleted: what is damaged is set aside in a folder 'set-aside.N' in\n"
    "DIR. A sieve that is whole stays as it is.\n"
    "\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n" TOOL_SIEVE_WAIT_HELP "\n"
    "Exit code: 0 nothing is lost, 1 something is or may be, 2 an error.\n"
    "\n"
    "  bloomery sieve verify crawl || bloomery sieve recover crawl\n";

struct recover {
    struct tool_sieve_command command;
    json_t *reports; /* NULL: to stdout */
    struct tool_out out;
};

static void take_damage(void *context, const char *text)
{
    struct recover *recover = context;
    if (recover->reports != NULL) {
        tool_json_append(recover->reports, tool_json_text(text));
        return;
    }
    tool_out_text(&recover->out, text);
    tool_out_text(&recover->out, "\n");
}

static bool is_whole(const bloomery_sieve_recovery *found)
{
    return !found->older && found->pending == 0 && found->queued == 0 && found->seen == 0;
}

static void say_recovered(const struct recover *recover, const bloomery_sieve_recovery *found)
{
    const char *directory = recover->command.directory;
    char text[TOOL_SIEVE_TEXT];
    if (found->damaged == 0) {
        tool_say("%s: all is sound", directory);
        return;
    }
    if (found->older)
        tool_say("%s: one of the last two commits could not be read; if that was the last one, the "
                 "sieve is as it was one commit before: push again what came after",
                 directory);
    if (found->pending > 0)
        tool_say("%s: %s pending and lost", directory,
                 tool_sieve_things(text, found->pending, "push"));
    if (found->queued > 0)
        tool_say("%s: %s of the queue lost", directory,
                 tool_sieve_things(text, found->queued, "item"));
    if (found->seen > 0)
        tool_say("%s: %s no longer known as seen; pushed again, they come out again", directory,
                 tool_sieve_things(text, found->seen, "key"));
    if (is_whole(found))
        tool_say("%s: nothing is lost", directory);
    if (found->folder[0] != '\0')
        tool_say("%s: what is damaged is set aside in %s/%s", directory, directory, found->folder);
}

static int report_recover(struct recover *recover, const bloomery_sieve_recovery *found)
{
    const int code = is_whole(found) ? TOOL_FOUND : TOOL_NONE;
    if (recover->reports != NULL) {
        json_t *object = tool_json_report("sieve recover");
        tool_json_add(object, "damaged", tool_json_count(found->damaged));
        tool_json_add(object, "older_commit", tool_json_bool(found->older));
        tool_json_add(object, "lost_pending", tool_json_count(found->pending));
        tool_json_add(object, "lost_queued", tool_json_count(found->queued));
        tool_json_add(object, "lost_seen", tool_json_count(found->seen));
        tool_json_add(object, "set_aside",
                      found->folder[0] != '\0' ? tool_json_text(found->folder) : tool_json_null());
        tool_json_add(object, "reports", recover->reports);
        return tool_json_print(object, code);
    }
    if (!recover->command.quiet)
        say_recovered(recover, found);
    return tool_out_finish(&recover->out, code);
}

static int run_recover(struct recover *recover)
{
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error = {0};
    bloomery_status status;
    double waited = 0;
    tool_out_start(&recover->out);
    recover->reports = recover->command.json ? tool_json_array() : NULL;
    do {
        if (waited > 0)
            usleep(20000);
        status =
            bloomery_sieve_recover(&recover->command.options, take_damage, recover, &found, &error);
        waited += 0.02;
    } while (status == BLOOMERY_BUSY && waited < recover->command.wait);
    if (status == BLOOMERY_OK)
        return report_recover(recover, &found);
    tool_out_finish(&recover->out, TOOL_ERROR);
    return status == BLOOMERY_BUSY ? tool_sieve_say_busy(&recover->command, &error)
                                   : tool_sieve_error(&recover->command, &error);
}

static int recover_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"quiet", no_argument, NULL, 'q'},
        {"wait", required_argument, NULL, TOOL_SIEVE_OPTION_WAIT},
        {"json", no_argument, NULL, TOOL_SIEVE_OPTION_JSON},
        {NULL, 0, NULL, 0},
    };
    struct recover recover;
    int option;
    memset(&recover, 0, sizeof(recover));
    tool_sieve_start(&recover.command);
    while ((option = tool_getopt(argc, argv, "q", options)) != -1)
        if (option == TOOL_OPTION_HELP || !tool_sieve_option(&recover.command, option))
            return option == TOOL_OPTION_HELP ? TOOL_FOUND : TOOL_ERROR;
    if (!tool_sieve_operand(&recover.command, argc, argv) || !tool_sieve_no_more(argc, argv))
        return TOOL_ERROR;
    return run_recover(&recover);
}

const struct tool_command tool_sieve_recover = {
    .name = "sieve recover",
    .run = recover_main,
    .summary = "make a damaged sieve work again",
    .help = recover_help,
};

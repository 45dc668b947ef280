/* SPDX-License-Identifier: Apache-2.0 */
/* sieve status: the contents of a sieve, in the terms of push and pop. A sieve that is in use is
 * looked at from outside: its last commit says the same. */
#include "base/numbers.h"
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
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
    .help = help,
};

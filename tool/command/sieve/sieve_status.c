/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about a sieve as a whole: status, flush, export, verify and recover.
 *
 * status has the contents of a sieve, in the terms of push and pop. A sieve that is in use is
 * looked at from outside: its last commit says the same.
 */
#include "base/out.h"
#include "base/report.h"
#include "command/sieve/sieve_command.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- status ---------------------------------------------------------------------------------- */

struct status {
    struct tool_sieve_command command;
    bloomery_sieve_info info;
    bool in_use;
    struct tool_sieve_holder holder; /* if it is */
    uint64_t disk_bytes;
};

static const struct tool_option status_options[] = {
    {0, "json", NULL, TOOL_FLAG(struct status, command.json),
     .help = "print one JSON object, with unrounded numbers. \"memory\" and \"memory_budget\" "
             "are those of this command only"},
    TOOL_OPTIONS_END,
};

static const struct tool_option status_wait_options[] = {
    {0, "wait", "TIME", TOOL_SECONDS(struct status, command.wait, true),
     .help = "accepted as elsewhere; has no effect"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group status_groups[] = {
    {.rows = status_options},
    TOOL_SIEVE_GROUP(tool_sieve_memory_options, struct status, command),
    {.rows = status_wait_options},
    TOOL_GROUPS_END,
};

static void add_count(struct tool_report *report, const char *name, uint64_t count,
                      const char *note)
{
    tool_fact(report, name, name, tool_count(count));
    tool_fact_note(report, "%s", note);
}

static void add_queue(struct tool_report *report, const bloomery_sieve_info *info)
{
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_report_line(report, "pushes");
    add_count(report, "pushed", info->pushed, "the sum of the next five");
    tool_fact(report, "durable", NULL, tool_count(info->durable));
    add_count(report, "new", info->new_keys, "not seen before; queued");
    add_count(report, "seen", info->seen, "dropped");
    add_count(report, "pending", info->pending, disk ? "not decided yet" : "");
    add_count(report, "forced", info->forced, "");
    add_count(report, "marked", info->marked, "seen, not queued");
    tool_fact(report, NULL, "durable", tool_count(info->durable));
    tool_report_line(report, "queue");
    add_count(report, "queued", info->queued, "not popped yet");
    add_count(report, "leased", info->leased, "popped, not acknowledged");
    add_count(report, "done", info->done, "acknowledged");
    add_count(report, "dead", info->dead, "put aside after too many deliveries");
    tool_fact(report, "leases_max", NULL, tool_count(info->leases));
}

static void add_filter(struct tool_report *report, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    if (status->in_use) {
        tool_fact_say(report, "distinct keys", "?");
        tool_fact_note(report, "unknown while the sieve is in use");
    } else if (info->distinct == UINT64_MAX) /* of a filter whose bits are all set */
        tool_fact_say(report, "distinct keys", "unknown: all bits are set");
    else {
        tool_fact(report, NULL, "distinct keys", tool_count(info->distinct));
        tool_fact_note(report, "estimated");
    }
    tool_fact(report, NULL, "planned for", tool_count(info->planned));
    tool_fact_note(report, "%s",
                   info->capacity == 0   ? "it grows"
                   : info->over_capacity ? "exceeded"
                                         : "");
    if (!status->in_use) {
        tool_fact(report, NULL, "rate now", tool_number(info->live_rate));
        tool_fact_note(report, "%s", TOOL_SAY_ODDS(info->live_rate));
    }
}

static void add_seen(struct tool_report *report, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    const double drops = info->expected_drops;
    tool_report_line(report, "seen");
    if (!disk)
        add_filter(report, status);
    if (drops > 0 && drops < 0.01)
        tool_fact_say(report, "wrong drops", "less than 0.01");
    else
        tool_fact(report, NULL, "wrong drops",
                  drops >= 1000 && drops < 1e15 ? tool_about(drops) : tool_number(drops));
    tool_fact_note(report, "expected number of new keys that were dropped");
    tool_fact(report, "distinct", NULL,
              tool_known(info->distinct < UINT64_MAX, tool_count(info->distinct)));
    tool_fact(report, "planned_keys", NULL, tool_count(info->planned));
    tool_fact(report, "capacity", NULL, tool_known(info->capacity > 0, tool_count(info->capacity)));
    tool_fact(report, "live_rate", NULL,
              tool_known(!disk && !status->in_use, tool_number(info->live_rate)));
    tool_fact(report, "expected_wrong_drops", NULL, tool_number(drops));
    tool_fact(report, "over_capacity", NULL, tool_yes(info->over_capacity));
}

static void add_bytes(struct tool_report *report, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    tool_report_line(report, "bytes");
    tool_fact(report, "memory_budget", NULL,
              tool_known(info->memory_budget > 0, tool_size(info->memory_budget)));
    tool_fact(report, "memory", NULL, tool_size(info->memory));
    tool_fact(report, "disk_bytes", "on disk", tool_size(status->disk_bytes));
    tool_fact_note(report, "all files together");
    tool_fact(report, "seen_bytes", "seen keys", tool_size(info->seen_bytes));
    if (disk && info->distinct > 0)
        tool_fact_note(report, "%s fingerprint%s, %.3g bytes each", TOOL_SAY_COUNT(info->distinct),
                       info->distinct == 1 ? "" : "s",
                       (double)info->seen_bytes / (double)info->distinct);
    else
        tool_fact_note(report, "%s",
                       disk             ? "no fingerprints yet"
                       : status->in_use ? "the filter's file"
                                        : "the filter, in memory");
    tool_fact(report, "pending_bytes", disk ? "logs" : NULL, tool_size(info->pending_bytes));
    tool_fact_note(report, "of pending keys; a flush deletes them");
    tool_fact(report, "queue_bytes", "queue", tool_size(info->queue_bytes));
    tool_fact_note(report, "files are deleted when everything in them is done");
    tool_fact(report, "lease_bytes", "leases", tool_size(info->lease_bytes));
    tool_fact(report, "dead_bytes", NULL, tool_size(info->dead_bytes));
    if (disk) {
        tool_fact(report, NULL, "a flush now", tool_size((uint64_t)info->flush_bytes));
        tool_fact_note(report, "reads and writes, estimated");
    }
    tool_fact(report, "flush_bytes", NULL, tool_number(info->flush_bytes));
    tool_fact(report, "cache_hits", NULL, tool_count(info->cache_hits));
    tool_fact(report, "decisions", NULL, tool_count(info->decisions));
    tool_fact(report, "bytes_read", NULL, tool_count(info->bytes_read));
    tool_fact(report, "bytes_written", NULL, tool_count(info->bytes_written));
    tool_fact(report, "commits", NULL, tool_count(info->commits));
}

/* What it is, and who has it. */
static void add_sieve(struct tool_report *report, const struct status *status)
{
    const bloomery_sieve_info *info = &status->info;
    const struct tool_sieve_holder *holder = &status->holder;
    const bool disk = info->engine == BLOOMERY_SIEVE_DISK;
    const bool ordered = info->order == BLOOMERY_SIEVE_ORDER_FIFO;
    const char *canon = info->canon[0] != '\0' ? info->canon : "none";
    const bool changes = strcmp(canon, "none") != 0;
    const char *form[] = {changes ? ", keys in the form '" : "", changes ? canon : "",
                          changes ? "'" : ""};
    if (disk)
        tool_report_line(report, "%s: disk engine, fingerprints of %u bits, %u partition%s%s%s%s%s",
                         status->command.directory, info->fingerprint_bits, info->partitions,
                         info->partitions == 1 ? "" : "s", ordered ? ", ordered" : "", form[0],
                         form[1], form[2]);
    else
        tool_report_line(report, "%s: memory engine%s%s%s", status->command.directory, form[0],
                         form[1], form[2]);
    tool_fact(report, "directory", NULL, tool_text(status->command.directory));
    if (status->in_use) {
        char text[240];
        tool_report_line(report, "in use by %s; this is its last commit",
                         tool_sieve_format_holder(holder, text));
        struct tool_report *held = tool_fact_object(report, "held_by");
        tool_fact(held, "pid", NULL,
                  tool_known(holder->pid > 0, tool_count((uint64_t)holder->pid)));
        tool_fact(held, "command", NULL,
                  tool_known(holder->command[0] != '\0', tool_text(holder->command)));
    } else
        tool_fact(report, "held_by", NULL, tool_null());
    tool_fact(report, "engine", NULL, tool_text(disk ? "disk" : "memory"));
    tool_fact(report, "partitions", NULL, tool_known(disk, tool_count(info->partitions)));
    tool_fact(report, "fingerprint_bits", NULL,
              tool_known(disk, tool_count(info->fingerprint_bits)));
    tool_fact(report, "ordered", NULL, tool_yes(ordered));
    tool_fact(report, "canon", NULL, tool_text(canon));
}

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
    static const struct tool_report_form form = {.indent = 2, .label = 18, .value = 20};
    struct status status = {.info = BLOOMERY_SIEVE_INFO};
    int code;
    tool_sieve_start(&status.command);
    if (!tool_options_read(argc, argv, &status, &code))
        return code;
    if (!tool_sieve_sole_operand(&status.command, argc, argv) || !look(&status, &code))
        return TOOL_ERROR;
    struct tool_report *report = tool_report_start("sieve status", form);
    add_sieve(report, &status);
    add_queue(report, &status.info);
    add_seen(report, &status);
    add_bytes(report, &status);
    return tool_report_print(report, status.command.json, code);
}

const struct tool_command tool_sieve_status = {
    .name = "sieve status",
    .run = status_main,
    .summary = "print what a sieve holds, and how much space it needs",
    .synopsis = "bloomery sieve status [OPTION...] DIR",
    .introduction =
        "Prints what a sieve holds and how much space it needs. While another process "
        "uses the sieve, status prints its last commit (with --sync 1, a second old) and "
        "names that process. Neither waits for the other.\n"
        "\n"
        "  pushed       all pushed lines = new + seen + pending + forced + marked\n"
        "  new          keys that had not been seen before; they were queued\n"
        "  seen         keys that had been seen before; they were dropped\n"
        "  pending      lines on disk of which it is not decided whether they are new\n"
        "               (disk engine). A batch of them is decided when it is full, when\n"
        "               'pop' finds the queue empty, or by 'flush'\n"
        "  forced       keys that were queued although they had been seen (--requeue)\n"
        "  marked       keys that 'mark' or 'import' marked as seen; they are not queued\n"
        "  durable      pushed lines that survive a crash\n"
        "  queued       keys that are not popped yet\n"
        "  leased       popped, not acknowledged\n"
        "  done         acknowledged\n"
        "  dead         put aside after too many deliveries (pop --max-deliveries)\n"
        "  wrong drops  expected number of new keys that were mistaken for seen ones\n"
        "\n"
        "The keys that were queued (new and forced) are now queued, leased, done or "
        "dead. Forced keys that are still pending are not counted, and neither are keys "
        "lost to damage. 'ack --dead' forgets dead keys. All counts and bytes are exact. "
        "The wrong drops and the cost of a flush are estimates, as are the memory "
        "engine's distinct keys and rate.\n"
        "\n"
        "Logs of pending keys are deleted by the next merge, such as a flush. Queue "
        "files have 64 MiB and are deleted when everything in them is done. So both may "
        "exist although nothing is pending or queued.",
    .groups = status_groups,
};

/* ---- flush ----------------------------------------------------------------------------------- */

static const struct tool_option_group flush_groups[] = {
    {.rows = tool_sieve_memory_options},
    {.rows = tool_sieve_sync_options},
    {.rows = tool_sieve_wait_options},
    {.rows = tool_sieve_report_options},
    TOOL_GROUPS_END,
};

static int flush_main(int argc, char **argv)
{
    struct tool_sieve_command command;
    int code;
    tool_sieve_start(&command);
    if (!tool_options_read(argc, argv, &command, &code))
        return code;
    if (!tool_sieve_sole_operand(&command, argc, argv) || !tool_sieve_open(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info before = tool_sieve_info(&command);
    if (!tool_sieve_flush_all(&command))
        return TOOL_ERROR;
    const bloomery_sieve_info after = tool_sieve_info(&command);
    const uint64_t decided = before.pending - after.pending;
    const uint64_t fresh = after.new_keys - before.new_keys;
    assert(after.pending == 0 && fresh <= decided);
    code = tool_sieve_close(&command, TOOL_FOUND);
    if (!command.json) {
        if (!command.quiet)
            tool_say("flush: decided %s, %s new; %s queued", TOOL_SAY_THINGS(decided, "push"),
                     TOOL_SAY_COUNT(fresh), TOOL_SAY_COUNT(after.queued));
        return code;
    }
    struct tool_report *report = tool_report_start("sieve flush", (struct tool_report_form){0});
    tool_fact(report, "decided", NULL, tool_count(decided));
    tool_fact(report, "new", NULL, tool_count(fresh));
    tool_fact(report, "seen", NULL, tool_count(after.seen - before.seen));
    tool_fact(report, "queued", NULL, tool_count(after.queued));
    tool_fact(report, "bytes_read", NULL, tool_count(after.bytes_read));
    tool_fact(report, "bytes_written", NULL, tool_count(after.bytes_written));
    return tool_report_print(report, true, code);
}

const struct tool_command tool_sieve_flush = {
    .name = "sieve flush",
    .run = flush_main,
    .summary = "decide now which pending keys are new, and queue them",
    .synopsis = "bloomery sieve flush [OPTION...] DIR",
    .introduction =
        "Decides for all pending keys whether they are new (disk engine), and queues the "
        "new ones. This may read and write all fingerprints of seen keys; 'sieve status' "
        "estimates how much.",
    .groups = flush_groups,
};

/* ---- export ---------------------------------------------------------------------------------- */

struct export
{
    struct tool_sieve_command command;
    bool seen, leased, dead, flush, payload;
    unsigned char delimiter;
    double now; /* seconds of the clock by which leases end */
    uint64_t printed;
    struct tool_out out;
};

static const struct tool_option export_options[] = {
    {0, "leased", NULL, TOOL_FLAG(struct export, leased),
     .help = "print the leased keys instead, as NUMBER, tab, KEY. Leased keys were popped and "
             "not acknowledged. Those that await redelivery are included"},
    {0, "dead", NULL, TOOL_FLAG(struct export, dead),
     .help = "print the keys that 'pop --max-deliveries' put aside"},
    {0, "seen", NULL, TOOL_FLAG(struct export, seen),
     .help = "print the fingerprints of seen keys (disk engine), sorted, with 16 hexadecimal "
             "digits each. They depend on a secret of this sieve and mean nothing in another. "
             "Pending keys are not included"},
    {0, "flush", NULL, TOOL_FLAG(struct export, flush),
     .help = "first decide which pending keys are new"},
    {0, "payload", NULL, TOOL_FLAG(struct export, payload),
     .help = "print a tab and the payload after each key that has one"},
    {'0', "null", NULL, TOOL_BYTE(struct export, delimiter, '\0'),
     .help = "end lines with NUL instead of newline"},
    {0, "json", NULL, TOOL_FLAG(struct export, command.json),
     .help = "print one JSON object (with --leased or --dead). Its list \"items\" has objects "
             "with number, key (key_hex if the key is not UTF-8) and payload. Leased keys "
             "also have deliveries and seconds_left. This is 0 if a key awaits redelivery"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group export_groups[] = {
    {.rows = export_options},
    TOOL_SIEVE_READ_GROUPS(struct export, command),
    TOOL_GROUPS_END,
};

static int print_fingerprint(void *context, uint64_t fingerprint)
{
    struct export *export = context;
    tool_out_format(&export->out, "%016llx", (unsigned long long)fingerprint);
    tool_out_bytes(&export->out, &export->delimiter, 1);
    return tool_out_failed(&export->out);
}

/* An item of the list that is wanted, as a line or as an object. */
static int print_item(void *context, const bloomery_sieve_item *item)
{
    struct export *export = context;
    struct tool_out *out = &export->out;
    if (export->command.json) {
        json_t *object = tool_sieve_json_item(item);
        if (export->leased) {
            const double left = item->lease_ends - export->now;
            tool_json_add(object, "deliveries", tool_json_count(item->deliveries));
            tool_json_add(object, "seconds_left", tool_json_number(left > 0 ? left : 0));
        }
        tool_sieve_print_item(out, export->printed++, object);
        return tool_out_failed(out);
    }
    if (export->leased)
        tool_out_format(out, "%llu\t", (unsigned long long)item->number);
    tool_out_bytes(out, item->key.data, item->key.bytes);
    if (export->payload && item->payload.bytes > 0) {
        tool_out_bytes(out, "\t", 1);
        tool_out_bytes(out, item->payload.data, item->payload.bytes);
    }
    tool_out_bytes(out, &export->delimiter, 1);
    return tool_out_failed(out);
}

static bloomery_status print_all(struct export *export, bloomery_error *error)
{
    const bloomery_sieve_items items = export->leased ? BLOOMERY_SIEVE_LEASED
                                       : export->dead ? BLOOMERY_SIEVE_DEAD
                                                      : BLOOMERY_SIEVE_QUEUED;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    export->now = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (export->seen)
        return bloomery_sieve_each_seen(export->command.sieve, print_fingerprint, export, NULL,
                                        error);
    if (export->command.json)
        tool_sieve_begin_items(&export->out, "sieve export");
    const bloomery_status status =
        bloomery_sieve_each(export->command.sieve, items, print_item, export, NULL, error);
    if (export->command.json)
        tool_sieve_end_items(&export->out, export->printed);
    return status;
}

static int run_export(struct export *export)
{
    struct tool_sieve_command *command = &export->command;
    bloomery_error error = {0};
    command->options.read_only = !export->flush;
    if (!tool_sieve_open(command) || (export->flush && !tool_sieve_flush_all(command)))
        return TOOL_ERROR;
    /* The fingerprints of what was decided may still lie with what is pending. */
    const bloomery_sieve_info info = tool_sieve_info(command);
    const bool whole = export->leased || export->dead ||
                       (info.pending == 0 && (!export->seen || info.pending_bytes == 0));
    const bloomery_status status = print_all(export, &error);
    const int code = tool_sieve_close(
        command, status != BLOOMERY_OK ? tool_sieve_error(command, &error) : TOOL_FOUND);
    if (!whole && code == TOOL_FOUND)
        tool_warning("%s: the output lacks %s, pending until --flush or a pop decides them",
                     command->directory,
                     info.pending == 0 ? "some seen keys" : TOOL_SAY_THINGS(info.pending, "push"));
    return tool_out_finish(&export->out, code);
}

static int export_main(int argc, char **argv)
{
    struct export *export = tool_allocate(sizeof(*export)); /* large: the output's buffer */
    memset(export, 0, sizeof(*export));
    tool_sieve_start(&export->command);
    tool_out_start(&export->out);
    export->delimiter = '\n';
    int code;
    if (!tool_options_read(argc, argv, export, &code))
        ; /* after the help or a message */
    else if (export->seen + export->leased + export->dead > 1)
        code = tool_usage("--seen, --leased and --dead exclude each other");
    else if (export->command.json && !export->leased && !export->dead)
        code = tool_usage("--json goes with --leased or --dead");
    else if (tool_sieve_sole_operand(&export->command, argc, argv))
        code = run_export(export);
    free(export);
    return code;
}

const struct tool_command tool_sieve_export = {
    .name = "sieve export",
    .run = export_main,
    .summary = "print the queue, the leased or dead keys, or the seen fingerprints",
    .synopsis = "bloomery sieve export [OPTION...] DIR",
    .introduction =
        "Prints the keys of the queue, front to back, without popping them. Leased keys "
        "are not included.",
    .groups = export_groups,
    .epilogue = "  bloomery sieve export --leased crawl | bloomery sieve ack --return crawl\n"
                "  bloomery sieve export --dead crawl > gone.txt",
};

/* ---- verify and recover ---------------------------------------------------------------------- */

/* Both print a line for each thing that is damaged, or list these lines in their object. */
struct care {
    struct tool_sieve_command command;
    char **lines; /* of the object */
    size_t count;
    struct tool_out out;
};

static void take_damage(void *context, const char *text)
{
    struct care *care = context;
    const size_t bytes = strlen(text) + 1;
    if (!care->command.json) {
        tool_out_text(&care->out, text);
        tool_out_text(&care->out, "\n");
        return;
    }
    care->lines = tool_reallocate(care->lines, (care->count + 1) * sizeof(*care->lines));
    care->lines[care->count++] = memcpy(tool_allocate(bytes), text, bytes);
}

/* The list ends the object. */
static int print_object(struct care *care, struct tool_report *report, int code)
{
    struct tool_report *list = tool_fact_list(report, "reports");
    for (size_t i = 0; i < care->count; i++) {
        tool_fact(list, NULL, NULL, tool_text(care->lines[i]));
        free(care->lines[i]);
    }
    free(care->lines);
    return tool_report_print(report, true, code);
}

static const struct tool_option verify_options[] = {
    {0, "json", NULL, TOOL_FLAG(struct care, command.json), .help = "print one JSON object"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group verify_groups[] = {
    {.rows = verify_options},
    TOOL_SIEVE_READ_GROUPS(struct care, command),
    TOOL_GROUPS_END,
};

static int verify_main(int argc, char **argv)
{
    struct care care = {.lines = NULL};
    const struct tool_sieve_command *command = &care.command;
    bloomery_error error = {0};
    uint64_t damaged = 0;
    int code;
    tool_sieve_start(&care.command);
    tool_out_start(&care.out);
    if (!tool_options_read(argc, argv, &care, &code))
        return code;
    care.command.options.read_only = true;
    if (!tool_sieve_sole_operand(&care.command, argc, argv))
        return TOOL_ERROR;
    if (!tool_sieve_open(&care.command)) /* damage has been reported as well */
        return command->status == BLOOMERY_CORRUPT ? TOOL_NONE : TOOL_ERROR;
    if (bloomery_sieve_verify(command->sieve, take_damage, &care, &damaged, &error) != BLOOMERY_OK)
        return tool_sieve_close(&care.command, tool_sieve_error(&care.command, &error));
    code = tool_sieve_close(&care.command, damaged > 0 ? TOOL_NONE : TOOL_FOUND);
    if (command->json) {
        struct tool_report *report =
            tool_report_start("sieve verify", (struct tool_report_form){0});
        tool_fact(report, "damaged", NULL, tool_count(damaged));
        return print_object(&care, report, code);
    }
    if (code == TOOL_NONE)
        tool_say("%s: damaged: %s", command->directory, TOOL_SAY_THINGS(damaged, "frame"));
    else if (code == TOOL_FOUND && damaged == 0)
        tool_say("%s: no damage found", command->directory);
    return tool_out_finish(&care.out, code);
}

const struct tool_command tool_sieve_verify = {
    .name = "sieve verify",
    .run = verify_main,
    .summary = "read every file and compare the checksums",
    .synopsis = "bloomery sieve verify [OPTION...] DIR",
    .introduction =
        "Reads every frame of every file of a sieve and compares the checksums. For each "
        "damaged frame it prints a line that says where it is and what it held.",
    .groups = verify_groups,
    .epilogue = "Exit code: 0 no damage, 1 something is damaged, 2 an error.",
};

static const struct tool_option_group recover_groups[] = {
    TOOL_SIEVE_GROUP(tool_sieve_report_options, struct care, command),
    TOOL_SIEVE_GROUP(tool_sieve_wait_options, struct care, command),
    TOOL_GROUPS_END,
};

static bool is_whole(const bloomery_sieve_recovery *found)
{
    return !found->older && found->pending == 0 && found->queued == 0 && found->seen == 0;
}

static void say_recovered(const char *directory, const bloomery_sieve_recovery *found)
{
    if (found->damaged == 0) {
        assert(is_whole(found));
        tool_say("%s: no damage found", directory);
        return;
    }
    if (found->older)
        tool_say("%s: one of the last two commits could not be read; if it was the last one, the "
                 "sieve is one commit older: push what came after it again",
                 directory);
    if (found->pending > 0)
        tool_say("%s: lost: %s that were pending", directory,
                 TOOL_SAY_THINGS(found->pending, "push"));
    if (found->queued > 0)
        tool_say("%s: lost: %s of the queue", directory, TOOL_SAY_THINGS(found->queued, "item"));
    if (found->seen > 0)
        tool_say("%s: lost: %s that had been seen; if pushed again, they come out again", directory,
                 TOOL_SAY_THINGS(found->seen, "key"));
    if (is_whole(found))
        tool_say("%s: nothing is lost", directory);
    if (found->folder[0] != '\0')
        tool_say("%s: damaged files are set aside in %s/%s", directory, directory, found->folder);
}

static int report_recovery(struct care *care, const bloomery_sieve_recovery *found)
{
    const int code = is_whole(found) ? TOOL_FOUND : TOOL_NONE;
    if (!care->command.json) {
        if (!care->command.quiet)
            say_recovered(care->command.directory, found);
        return tool_out_finish(&care->out, code);
    }
    struct tool_report *report = tool_report_start("sieve recover", (struct tool_report_form){0});
    tool_fact(report, "damaged", NULL, tool_count(found->damaged));
    tool_fact(report, "older_commit", NULL, tool_yes(found->older));
    tool_fact(report, "lost_pending", NULL, tool_count(found->pending));
    tool_fact(report, "lost_queued", NULL, tool_count(found->queued));
    tool_fact(report, "lost_seen", NULL, tool_count(found->seen));
    tool_fact(report, "set_aside", NULL,
              tool_known(found->folder[0] != '\0', tool_text(found->folder)));
    return print_object(care, report, code);
}

static int recover_main(int argc, char **argv)
{
    struct care care = {.lines = NULL};
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error = {0};
    int code;
    tool_sieve_start(&care.command);
    tool_out_start(&care.out);
    if (!tool_options_read(argc, argv, &care, &code))
        return code;
    if (!tool_sieve_sole_operand(&care.command, argc, argv))
        return TOOL_ERROR;
    bloomery_status status;
    double waited = 0;
    do {
        if (waited > 0)
            usleep((useconds_t)(TOOL_SIEVE_LOOK_AGAIN * 1e6));
        status = bloomery_sieve_recover(&care.command.options, take_damage, &care, &found, &error);
        waited += TOOL_SIEVE_LOOK_AGAIN;
    } while (status == BLOOMERY_BUSY && waited < care.command.wait);
    if (status == BLOOMERY_OK)
        return report_recovery(&care, &found);
    tool_out_finish(&care.out, TOOL_ERROR);
    return status == BLOOMERY_BUSY ? tool_sieve_say_busy(&care.command, &error)
                                   : tool_sieve_error(&care.command, &error);
}

const struct tool_command tool_sieve_recover = {
    .name = "sieve recover",
    .run = recover_main,
    .summary = "repair a damaged sieve, and set its damaged files aside",
    .synopsis = "bloomery sieve recover [OPTION...] DIR",
    .introduction =
        "Repairs a damaged sieve so that it opens and works again, with everything that "
        "is intact. It prints a line for each damaged part, with what is lost. If the "
        "last commit can't be read, the one before it is used. Items of the queue and "
        "pending lines in damaged frames are lost. Seen keys in damaged frames come out "
        "again if they are pushed again.\n"
        "\n"
        "Nothing is deleted: damaged files are set aside in a folder 'set-aside.N' in "
        "DIR. An undamaged sieve is not changed.",
    .groups = recover_groups,
    .epilogue = "Exit code: 0 nothing is lost, 1 something is or may be, 2 an error.\n"
                "\n"
                "  bloomery sieve verify crawl || bloomery sieve recover crawl",
};

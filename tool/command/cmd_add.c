/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add: more keys into a filter that is there.
 *
 * The file is loaded, changed in memory, written beside and renamed; its lock is held from before
 * the load until after the rename, so that of two adders the second loads what the first has
 * written and nothing is lost. Whatever goes wrong before the rename leaves the file as it was.
 */
#include "base/numbers.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/system.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/filter_file.h"
#include "filter/filter_report.h"
#include "key/rule.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>

struct addition {
    const char *path;
    const char *secret_file;
    uint64_t memory; /* 0: no limit */
    struct tool_dialect_choice dialect;
    struct tool_rule_choice choice;
    struct tool_source source;
    double max_rate; /* 0: twice the planned one */
    bool force;      /* any */
    bool quiet, json;
};

static const struct tool_option options[] = {
    {'j', "threads", "N", TOOL_SMALL(struct addition, source.threads, 0, TOOL_THREADS_MAX),
     .help = "use N threads, 1 to 256 (default 0: one per core)"},
    {'0', "null", NULL, TOOL_BYTE(struct addition, source.delimiter, '\0'),
     .help = "read lines that end with NUL instead of newline"},
    TOOL_MAX_LINE_ROW(struct addition, source.line_max),
    {0, "memory", "SIZE", TOOL_SIZE(struct addition, memory),
     .help = "limit the memory of a scalable filter. If it would have to grow further, nothing "
             "is added. Other kinds do not grow"},
    {0, "secret-file", "FILE", TOOL_TEXT(struct addition, secret_file),
     .help = "read the secret from FILE, for a filter that does not contain it"},
    {0, "dialect", "D", TOOL_DIALECT(struct addition, dialect),
     .help = "add to another system's file. D is NAME[,parameter=value...], as listed by "
             "'bloomery dialects'. Files with a magic number do not need it. Such a file does "
             "not store the rule for keys: give it each time",
     .more = "The file is rewritten in its own format, completely or not at all. A file that "
             "is compressed, or has more than one filter, is refused."},
    {0, "max-rate", "RATE", TOOL_RATE(struct addition, max_rate),
     .help = "refuse lines that would raise the rate above RATE. This replaces the limit that "
             "is explained below",
     .more = "Nothing is written then, and the exit code is 2. Without it, the limit is twice "
             "the rate that the filter was planned for, or the rate that was given to "
             "'bloomery build' if that is higher. A small filter has a far lower planned "
             "rate, because it has at least one block."},
    {0, "force", NULL, TOOL_FLAG(struct addition, force),
     .help = "add the lines, whatever the rate becomes"},
    TOOL_PROGRESS_ROW,
    {'q', "quiet", NULL, TOOL_FLAG(struct addition, quiet), .help = "do not report what was added"},
    TOOL_JSON_ROW(struct addition, json),
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_KEPT_RULE_GROUPS(struct addition, choice),
    TOOL_GROUPS_END,
};

/* Keys that the filter already seemed to have, rightly or not, changed no bit. */
static void say_added(const struct addition *addition, const struct tool_change *change)
{
    char all[TOOL_NUMBER_BYTES], fresh[2 * TOOL_NUMBER_BYTES], number[TOOL_NUMBER_BYTES];
    bool one = change->records == 1;
    if (change->records == 0)
        fresh[0] = '\0';
    else if (change->new_bits == 0 && change->facts.info.can_remove)
        snprintf(fresh, sizeof(fresh), one ? ", which was there before" : ", none of them new");
    else if (change->new_bits == 0)
        snprintf(fresh, sizeof(fresh), one ? ", which changed no bit" : ", none changed a bit");
    else if (one)
        snprintf(fresh, sizeof(fresh), ", a new one");
    else if (!(change->estimated_new_keys < 1e15))
        snprintf(fresh, sizeof(fresh), ", and every bit is set now");
    else
        snprintf(fresh, sizeof(fresh), ", about %s of them new",
                 tool_format_count(number, (uint64_t)(change->estimated_new_keys + 0.5)));
    tool_say("%s: added %s key%s%s", addition->path, tool_format_count(all, change->records),
             one ? "" : "s", fresh);
}

static int report(const struct addition *addition, const bloomery_filter *filter,
                  const struct tool_change *change)
{
    if (!addition->quiet && !addition->json)
        say_added(addition, change);
    tool_warn_overfull(addition->path, &change->facts);
    if (!addition->quiet)
        tool_remarks_say(addition->path, filter);
    if (!addition->json)
        return TOOL_FOUND;
    struct tool_report *object = tool_report_start("add", (struct tool_report_form){0});
    tool_report_change(object, addition->path, change);
    return tool_report_print(object, true, TOOL_FOUND);
}

/* The filter that is to change. NULL after a message. */
static bloomery_filter *open_file(const struct addition *addition,
                                  const struct tool_filter_file *file)
{
    const struct tool_origin *origin = &file->origin;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_filter *filter = NULL;
    opening.memory_limit = addition->memory;
    (void)tool_filter_open_file(file, opening, addition->secret_file, &addition->dialect, &filter);
    const bool writable =
        filter != NULL && origin->dialect != NULL && !origin->packed && origin->dialect->writes;
    if (filter == NULL || origin->dialect == NULL ||
        (writable && tool_foreign_is_whole(file, filter, origin->dialect)))
        return filter;
    if (writable)
        tool_error("%s: contains more than this filter, and the rest would be lost; 'bloomery "
                   "convert --from' extracts the filter",
                   addition->path);
    else if (origin->packed)
        tool_error(
            "%s: is compressed, and would be replaced by a file that is not; unpack it first",
            addition->path);
    else
        tool_error("%s: files of %s can be read, not written; 'bloomery convert --from %s' makes "
                   "a Bloomery file of it",
                   addition->path, origin->dialect->name, origin->dialect->name);
    bloomery_free(filter);
    return NULL;
}

/* That of the file that is locked, and whose file it is. */
static bloomery_filter *open_held(const struct addition *addition, int lock,
                                  struct tool_origin *origin)
{
    struct tool_filter_file file;
    if (!tool_may_change(addition->path) ||
        !tool_filter_file_held(&file, addition->path, lock, &addition->dialect))
        return NULL;
    *origin = file.origin;
    bloomery_filter *filter = open_file(addition, &file);
    tool_filter_file_close(&file);
    return filter;
}

static bool save(const struct addition *addition, const struct tool_origin *origin,
                 const bloomery_filter *filter)
{
    bloomery_error error;
    if (origin->dialect != NULL)
        return tool_foreign_write(filter, origin->dialect, addition->path, NULL);
    if (bloomery_save(filter, addition->path, &error) == BLOOMERY_OK)
        return true;
    tool_library_error(addition->path, &error);
    return false;
}

#define OVERFULL_RATE 2.0 /* times the planned rate */

/* The rate that what is added must not pass. `what` describes it. */
static double rate_limit(const struct addition *addition, const bloomery_info *info,
                         const char **what)
{
    const double twice = OVERFULL_RATE * info->planned_rate;
    if (addition->max_rate != 0) {
        *what = "--max-rate";
        return addition->max_rate;
    }
    *what = info->wanted_rate > twice ? "the rate it was built for" : "twice the planned rate";
    return fmax(twice, info->wanted_rate);
}

/* Whether the filter may be written with what was added. False after saying what would help. */
static bool rate_is_allowed(const struct addition *addition, const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    const bloomery_scan_result *scan = &facts->scan;
    const char *what;
    const double most = rate_limit(addition, info, &what);
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], limit[TOOL_NUMBER_BYTES];
    if (addition->force || most == 0 || scan->live_rate <= most)
        return true;
    /* A few keys in a small filter may fall so that its rate is higher than planned. */
    if (addition->max_rate == 0 && scan->estimated_keys <= (double)info->planned_keys)
        return true;
    const char *advice = info->dialect == 0 && !info->can_grow
                             ? "; build a larger one, or one with --kind scalable, which grows"
                             : "";
    tool_format_odds(limit, most);
    if (scan->live_rate >= 1 || !(scan->estimated_keys < 1e15))
        tool_error("%s: adding them would set every bit; the limit is a rate of %s (%s)%s. --force "
                   "adds them",
                   addition->path, limit, what, advice);
    else
        tool_error("%s: adding them would raise the rate to %s, with about %s keys; the limit is "
                   "%s (%s)%s. --max-rate RATE or --force adds them",
                   addition->path, tool_format_odds(rate, scan->live_rate),
                   tool_format_count(keys, (uint64_t)(scan->estimated_keys + 0.5)), limit, what,
                   advice);
    return false;
}

static int add_locked(const struct addition *addition, int lock)
{
    struct tool_origin origin;
    bloomery_filter *filter = open_held(addition, lock, &origin);
    if (filter == NULL)
        return TOOL_ERROR;
    bloomery_key_rule rule;
    struct tool_facts before;
    struct tool_change change;
    struct tool_source source = addition->source;
    tool_facts_read(filter, &before);
    int code = TOOL_ERROR;
    if (addition->memory > 0 && !before.info.can_grow) {
        bloomery_free(filter);
        return tool_usage("--memory limits scalable filters; %s is %s and does not grow",
                          addition->path, bloomery_kind_name((int)before.info.kind));
    }
    bool agreed =
        tool_rule_settle(&addition->choice, addition->path, filter, origin.dialect != NULL, &rule);
    tool_source_lay_out(&source, &addition->choice, &rule);
    if (!agreed || !tool_lines_add(&source, &rule, filter, addition->path, "adding",
                                   addition->quiet, &change)) {
        tool_say("nothing was added to %s", addition->path);
    } else {
        tool_change_find(&before.scan, filter, &change);
        if (change.new_bits > 0 && !rate_is_allowed(addition, &change.facts))
            tool_say("nothing was added to %s", addition->path);
        else if (change.records == 0 || save(addition, &origin, filter))
            code = report(addition, filter, &change);
    }
    bloomery_free(filter);
    return code;
}

static int add_main(int argc, char **argv)
{
    struct addition addition = {.source = {.delimiter = '\n'}};
    int code;
    if (!tool_options_read(argc, argv, &addition, &code))
        return code;
    if (!tool_rule_complete(&addition.choice))
        return TOOL_ERROR;
    if (optind == argc)
        return tool_usage("no filter: name its file, as in 'bloomery add seen.bloom new.txt'");
    addition.path = argv[optind++];
    addition.source.paths = argv + optind;
    addition.source.count = (size_t)(argc - optind);

    int lock = tool_filter_lock(addition.path);
    if (lock < 0)
        return TOOL_ERROR;
    code = add_locked(&addition, lock);
    if (code == TOOL_ERROR)
        tool_hint_at_order(addition.path, addition.source.paths, addition.source.count);
    tool_filter_unlock(lock);
    return code;
}

const struct tool_command cmd_add = {
    .name = "add",
    .run = add_main,
    .summary = "add lines to a filter",
    .synopsis = "bloomery add FILTER [INPUT...]",
    .introduction =
        "Adds the lines of the inputs to a filter. The file is replaced when all lines "
        "have been added, or not at all. Concurrent adders wait for each other. Without "
        "INPUT, or with '-', it reads standard input. Compressed inputs and archives are "
        "unpacked ('bloomery help build').",
    .groups = groups,
    .epilogue = "Lines become keys by the rule that the filter was built with. The options of "
                "that rule ('bloomery help build') may be omitted. If given, they must agree "
                "with it: -F, -d, --csv, --crlf, --comment, --trim, --lower, --upper, --hex, "
                "--int64, --int32, --utf16, --skip-empty. Field names, several fields, --header "
                "and --jsonl are never stored: give them again, or lines are refused. If no line "
                "has the field of the rule, that is an error and nothing is added.\n"
                "\n"
                "You can add more keys than planned, but the rate rises, and a warning says how "
                "far. The limit is twice the planned rate, or the rate that was given to 'build' "
                "if that is higher. A small filter has a far lower planned rate, because it has "
                "at least one block. If the lines would raise the rate above the limit, they are "
                "refused before the file is written.\n"
                "\n"
                "  bloomery add seen.bloom today.txt\n"
                "  zcat log.gz | cut -f 3 | bloomery add seen.bloom",
};

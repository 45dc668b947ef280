/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add: more keys into a filter that is there.
 *
 * The file is loaded, changed in memory, written beside and renamed; its lock is held from before
 * the load until after the rename, so that of two adders the second loads what the first has
 * written and nothing is lost. Whatever goes wrong before the rename leaves the file as it was.
 */
#include "files.h"
#include "lines.h"
#include "numbers.h"
#include "progress.h"
#include "tool.h"

#include <stdio.h>

static const char help[] =
    "bloomery add FILTER [INPUT...]\n"
    "\n"
    "Adds the lines of the inputs to a filter. The file is replaced at once when all of them are\n"
    "in, or not at all; several adders at a time wait for each other. No INPUT, or '-', is "
    "standard\n"
    "input; gzip, zstd, xz and zip are unpacked.\n"
    "\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "      --key-file FILE  the key of a filter that doesn't carry it\n"
    "  -q, --quiet          no line about what was added\n"
    "\n"
    "A filter can take more keys than it was planned for, but its rate rises; you are then told "
    "how\n"
    "far.\n"
    "\n"
    "  bloomery add seen.bloom today.txt\n"
    "  zcat log.gz | cut -f 3 | bloomery add seen.bloom\n";

struct addition {
    const char *path;
    const char *key_file;
    struct tool_source source;
    bool quiet;
};

enum { OPTION_KEY_FILE = TOOL_OPTION_OWN };

static const struct option options[] = {
    {"null", no_argument, NULL, '0'},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"quiet", no_argument, NULL, 'q'},
    {NULL, 0, NULL, 0},
};

/* The estimate strays by far less than this; the rate rises by more than as much again. */
#define OVERFULL 1.05

static void report(const struct addition *addition, const bloomery_filter *filter, uint64_t records,
                   uint64_t new_keys)
{
    char all[TOOL_NUMBER_BYTES], fresh[TOOL_NUMBER_BYTES];
    if (!addition->quiet)
        tool_say("%s: added %s keys, %s of them new", addition->path,
                 tool_format_count(all, records), tool_format_count(fresh, new_keys));

    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, true, &info);
    if (info.planned_keys == 0 || info.estimated_keys <= OVERFULL * (double)info.planned_keys)
        return;
    char planned[TOOL_NUMBER_BYTES], now[TOOL_NUMBER_BYTES], then[TOOL_NUMBER_BYTES];
    tool_format_count(planned, info.planned_keys);
    tool_format_odds(now, info.live_rate);
    tool_format_odds(then, info.planned_rate);
    if (info.estimated_keys < 1e15)
        tool_warning("%s: holds about %s keys and was planned for %s: its rate is now %s, not %s",
                     addition->path, tool_format_count(all, (uint64_t)info.estimated_keys), planned,
                     now, then);
    else
        tool_warning("%s: is full and was planned for %s keys: its rate is now %s, not %s",
                     addition->path, planned, now, then);
}

static bool add_all(const struct addition *addition, bloomery_filter *filter, uint64_t *records,
                    uint64_t *new_keys)
{
    struct tool_progress progress;
    uint64_t total = tool_lines_total(&addition->source);
    tool_progress_start(&progress, "adding", addition->quiet);
    struct tool_lines *lines = tool_lines_open(&addition->source);
    bloomery_status status = BLOOMERY_OK;
    const bloomery_key *keys;
    size_t count;
    while (status == BLOOMERY_OK && (count = tool_lines_next(lines, &keys)) > 0) {
        uint64_t answers[TOOL_BATCH_WORDS];
        status = bloomery_add_batch(filter, keys, count, answers, NULL);
        for (size_t w = 0; w < (count + 63) / 64 && status == BLOOMERY_OK; w++)
            *new_keys += (uint64_t)__builtin_popcountll(answers[w]);
        tool_progress_update(&progress, tool_lines_records(lines), tool_lines_bytes(lines), total);
    }
    tool_progress_stop(&progress);
    *records = tool_lines_records(lines);
    if (status != BLOOMERY_OK)
        tool_error("%s: %s", addition->path, bloomery_status_text(status));
    bool all_read = tool_lines_close(lines);
    if (!all_read)
        tool_say("nothing was added to %s", addition->path);
    return all_read && status == BLOOMERY_OK;
}

static int add_locked(const struct addition *addition)
{
    bloomery_filter *filter =
        tool_filter_open(addition->path, BLOOMERY_OPEN_COPY, addition->key_file);
    if (filter == NULL)
        return TOOL_ERROR;
    uint64_t records = 0, new_keys = 0;
    bloomery_error error;
    int code = TOOL_ERROR;
    if (!add_all(addition, filter, &records, &new_keys)) {
        bloomery_free(filter);
        return code;
    }
    if (records > 0 && bloomery_save(filter, addition->path, &error) != BLOOMERY_OK) {
        tool_library_error(addition->path, &error);
    } else {
        report(addition, filter, records, new_keys);
        code = TOOL_FOUND;
    }
    bloomery_free(filter);
    return code;
}

static int add_main(int argc, char **argv)
{
    struct addition addition = {.source = {.delimiter = '\n'}};
    int option;
    while ((option = tool_getopt(argc, argv, "0q", options)) != -1) {
        switch (option) {
        case '0':
            addition.source.delimiter = 0;
            break;
        case 'q':
            addition.quiet = true;
            break;
        case OPTION_KEY_FILE:
            addition.key_file = optarg;
            break;
        case TOOL_OPTION_HELP:
            return TOOL_FOUND;
        default:
            return TOOL_ERROR;
        }
    }
    if (optind == argc)
        return tool_usage("which filter? Name its file, as in 'bloomery add seen.bloom new.txt'");
    addition.path = argv[optind++];
    addition.source.paths = argv + optind;
    addition.source.count = (size_t)(argc - optind);

    int lock = tool_filter_lock(addition.path);
    if (lock < 0)
        return TOOL_ERROR;
    int code = add_locked(&addition);
    tool_filter_unlock(lock);
    return code;
}

const struct tool_command cmd_add = {
    .name = "add",
    .run = add_main,
    .summary = "add lines to a filter",
    .help = help,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add: more keys into a filter that is there.
 *
 * The file is loaded, changed in memory, written beside and renamed; its lock is held from before
 * the load until after the rename, so that of two adders the second loads what the first has
 * written and nothing is lost. Whatever goes wrong before the rename leaves the file as it was.
 */
#include "files.h"
#include "json.h"
#include "lines.h"
#include "numbers.h"
#include "tool.h"

#include <stdio.h>

static const char help[] =
    "bloomery add FILTER [INPUT...]\n"
    "\n"
    "Adds the lines of the inputs to a filter. The file is replaced at once when all of them are\n"
    "in, or not at all; several adders at a time wait for each other. No INPUT, or '-', is "
    "standard\n"
    "input; gzip, zstd, xz and zip are unpacked, each member of a zip checked by itself.\n"
    "\n"
    "  -0, --null           lines end with NUL instead of newline\n"
    "      --key-file FILE  the key of a filter that doesn't carry it\n"
    "  -q, --quiet          no line about what was added\n"
    "      --json           say it on standard output as one JSON object, numbers unrounded\n"
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
    bool quiet, json;
};

enum { OPTION_KEY_FILE = TOOL_OPTION_OWN, OPTION_JSON };

static const struct option options[] = {
    {"null", no_argument, NULL, '0'},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

/* False positives count as keys that were there, so only "all of them new" is certain. */
static void say_added(const struct addition *addition, uint64_t records, uint64_t new_keys)
{
    char all[TOOL_NUMBER_BYTES], fresh[2 * TOOL_NUMBER_BYTES], number[TOOL_NUMBER_BYTES];
    if (records == 0)
        fresh[0] = '\0';
    else if (new_keys == records)
        snprintf(fresh, sizeof(fresh), ", %s", records == 1 ? "a new one" : "all of them new");
    else
        snprintf(fresh, sizeof(fresh), ", at least %s of them new",
                 tool_format_count(number, new_keys));
    tool_say("%s: added %s key%s%s", addition->path, tool_format_count(all, records),
             records == 1 ? "" : "s", fresh);
}

static void report(const struct addition *addition, const bloomery_filter *filter, uint64_t records,
                   uint64_t new_keys)
{
    if (!addition->quiet && !addition->json)
        say_added(addition, records, new_keys);

    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, true, &info);
    tool_warn_overfull(addition->path, &info);
}

static int print_json(const struct addition *addition, const bloomery_filter *filter,
                      uint64_t records, uint64_t new_keys)
{
    json_t *object = tool_json_report("add");
    tool_json_add_state(object, addition->path, records, new_keys, filter);
    return tool_json_print(object, TOOL_FOUND);
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
    if (!tool_lines_add(&addition->source, filter, addition->path, "adding", addition->quiet,
                        &records, &new_keys)) {
        tool_say("nothing was added to %s", addition->path);
        bloomery_free(filter);
        return code;
    }
    if (records > 0 && bloomery_save(filter, addition->path, &error) != BLOOMERY_OK) {
        tool_library_error(addition->path, &error);
    } else {
        report(addition, filter, records, new_keys);
        code = addition->json ? print_json(addition, filter, records, new_keys) : TOOL_FOUND;
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
        case OPTION_JSON:
            addition.json = true;
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: a filter of another kind, made from what a filter holds. Keys are not in a filter, so only
 * what can be told from its cells can be made. What can, is a row of `conversions`.
 */
#include "files.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "tool.h"

#include <stdio.h>

static const char help[] =
    "bloomery convert -o OUT --kind KIND FILTER\n"
    "\n"
    "Makes a filter of another kind from FILTER, without its keys, and answers as it does. So far: "
    "a\n"
    "counting filter becomes a blocked one of a quarter (or an eighth) of the size. Its bits are\n"
    "those that a build of the lines that are in it sets (a counter that is stuck at its maximum\n"
    "keeps its bit); the adds in its header are the counting filter's, from which removals were\n"
    "never subtracted. Keys can't be removed from it any more. OUT may be FILTER itself.\n"
    "\n"
    "  -o, --output OUT   the new filter; '-' is standard output\n"
    "      --kind KIND    what it is to be: blocked\n"
    "      --force        overwrite OUT even if it is no filter\n"
    "  -q, --quiet        no line about what was written\n"
    "      --json         say it on standard output as one JSON object, numbers unrounded\n"
    "\n"
    "  bloomery convert -o members-small.bloom --kind blocked members.bloom\n";

struct request {
    struct tool_output output;
    const char *path;
    bloomery_kind kind;
};

enum { OPTION_KIND = TOOL_OPTION_OWN, OPTION_FORCE, OPTION_JSON };

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},   {"kind", required_argument, NULL, OPTION_KIND},
    {"force", no_argument, NULL, OPTION_FORCE}, {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, OPTION_JSON},   {NULL, 0, NULL, 0},
};

static const struct conversion {
    bloomery_kind from;
    bloomery_kind to;
    bloomery_status (*make)(const bloomery_filter *filter, const bloomery_options *options,
                            bloomery_filter **made, bloomery_error *error);
} conversions[] = {
    {BLOOMERY_COUNTING, BLOOMERY_BLOCKED, bloomery_drop_counters},
};

enum { CONVERSIONS = sizeof(conversions) / sizeof(conversions[0]) };

/* NULL after saying why there is none. */
static const struct conversion *find_conversion(const struct request *request,
                                                const bloomery_info *info)
{
    for (size_t i = 0; i < CONVERSIONS; i++)
        if (conversions[i].from == info->kind && conversions[i].to == request->kind)
            return &conversions[i];
    const char *from = bloomery_kind_name((int)info->kind);
    const char *to = bloomery_kind_name((int)request->kind);
    if (info->kind == request->kind)
        tool_error("%s: it is a %s filter already", request->path, to);
    else if (request->kind == BLOOMERY_COUNTING)
        tool_error(
            "%s: a %s filter does not know how many keys a bit stands for; a counting filter "
            "can only be built from the keys",
            request->path, from);
    else
        tool_error("%s: a %s filter can't be made of a %s one, whose bits lie elsewhere; build it "
                   "from the keys",
                   request->path, to, from);
    return NULL;
}

static int report(const struct request *request, const bloomery_info *before,
                  const bloomery_info *info)
{
    char size[TOOL_NUMBER_BYTES], was[TOOL_NUMBER_BYTES];
    const char *name = tool_output_is_stdout(&request->output) ? "stdout" : request->output.path;
    if (!request->output.quiet && !request->output.json)
        tool_say("wrote %s: %s, %s (%s, %s before)", name, bloomery_kind_name((int)info->kind),
                 tool_format_size(size, info->file_bytes), bloomery_kind_name((int)before->kind),
                 tool_format_size(was, before->file_bytes));
    if (!request->output.json)
        return TOOL_FOUND;
    json_t *object = tool_json_report("convert");
    tool_output_add_facts(object, &request->output, info);
    tool_json_add(object, "from", tool_json_text(request->path));
    tool_json_add(object, "from_kind", tool_json_text(bloomery_kind_name((int)before->kind)));
    return tool_json_print(object, TOOL_FOUND);
}

/* The checksums first: the new file would put good ones on damaged bits. */
static int convert(const struct request *request, const bloomery_filter *filter)
{
    bloomery_filter *made = NULL;
    bloomery_error error;
    bloomery_info before = BLOOMERY_INFO, after = BLOOMERY_INFO;
    bloomery_info_get(filter, false, &before);
    const struct conversion *conversion = find_conversion(request, &before);
    if (conversion == NULL)
        return TOOL_ERROR;
    if (bloomery_verify(filter, &error) != BLOOMERY_OK ||
        conversion->make(filter, NULL, &made, &error) != BLOOMERY_OK)
        return tool_library_error(request->path, &error);
    int code = TOOL_ERROR;
    if (tool_output_write(&request->output, made) &&
        tool_output_look(&request->output, made, &after))
        code = report(request, &before, &after);
    bloomery_free(made);
    return code;
}

static bool take_option(struct request *request, int option)
{
    switch (option) {
    case 'o':
        request->output.path = optarg;
        return true;
    case OPTION_KIND:
        return tool_parse_kind(optarg, &request->kind);
    case OPTION_FORCE:
        request->output.force = true;
        return true;
    case 'q':
        request->output.quiet = true;
        return true;
    case OPTION_JSON:
        request->output.json = true;
        return true;
    default:
        return false;
    }
}

static int convert_main(int argc, char **argv)
{
    struct request request = {.output.lock = -1};
    int option;
    while ((option = tool_getopt(argc, argv, "o:q", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&request, option))
            return TOOL_ERROR;
    }
    if (argc - optind != 1)
        return tool_usage("one filter must be named");
    if (request.kind == BLOOMERY_KIND_DEFAULT)
        return tool_usage("what is it to be? --kind blocked");
    request.path = argv[optind];
    int code = TOOL_ERROR;
    bloomery_filter *filter = NULL;
    if (tool_output_begin(&request.output) &&
        (filter = tool_filter_open(request.path, BLOOMERY_OPEN_INSPECT, NULL)) != NULL)
        code = convert(&request, filter);
    bloomery_free(filter);
    tool_output_end(&request.output);
    return code;
}

const struct tool_command cmd_convert = {
    .name = "convert",
    .run = convert_main,
    .summary = "make a filter of another kind of one",
    .help = help,
};

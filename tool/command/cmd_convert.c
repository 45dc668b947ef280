/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: a filter of another kind, or in another system's file, made from what a filter holds.
 * Keys are not in a filter, so a conversion makes only what follows from its cells. Rows of
 * `conversions` say which kinds are possible. The library knows in which systems' files the same
 * bits mean the same keys.
 *
 *     --from D      D's file  -> our file, whose dialect is D
 *     --to D        our file, or one that is recognised  -> D's file
 *     both          one system's file -> another's
 */
#include "base/experimental.h"
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/report.h"
#include "filter/files.h"
#include "filter/filter_file.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct tool_output output;
    const char *path;
    const char *note;
    const char *redis_key;
    bloomery_kind kind;
    struct tool_dialect_choice from, to;
    struct tool_rule_choice choice;
};

static const struct tool_option options[] = {
    {'o', "output", "OUT", TOOL_TEXT(struct request, output.path),
     .help = "write the new filter to OUT; '-' is standard output"},
    {0, "kind", "KIND", TOOL_CALL(struct request, kind, tool_take_kind), .words = "blocked",
     .help = "make OUT a filter of this kind: blocked"},
    {0, "from", "DIALECT", TOOL_DIALECT(struct request, from),
     .help = "read FILE as a filter of DIALECT",
     .more = "FILE may be compressed, or '-', standard input. OUT is then a filter in our "
             "format with the same bits. It records its dialect, and stores the rule for keys "
             "that the options give."},
    {0, "to", "DIALECT", TOOL_DIALECT(struct request, to),
     .help = "write OUT as a filter of DIALECT",
     .more = "Only a filter that has that system's hash and geometry can be written so. Any "
             "other filter is refused, and the message says what differs. Build such a file "
             "from its keys."},
    {0, "redis-key", "K", TOOL_TEXT(struct request, redis_key),
     .help =
         "with --to redisbloom, write BF.LOADCHUNK commands instead of a file; with --to "
         "redisbloom-cuckoo, CF.LOADCHUNK. They create the filter under the key K in a "
         "server, which must not have it: bits of a key that exists are replaced. With -o -, pipe "
         "them into 'redis-cli --pipe'"},
    {0, "note", "TEXT", TOOL_TEXT(struct request, note),
     .help = "with --from, store TEXT as a remark in OUT"},
    TOOL_OUTPUT_ROWS(struct request, output),
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_RULE_GROUPS(
        "With --from, how lines become that system's keys; OUT keeps it ('bloomery help build'):",
        struct request, choice),
    TOOL_GROUPS_END,
};

static const struct conversion {
    bloomery_kind from;
    bloomery_kind to;
    bloomery_status (*make)(const bloomery_filter *filter, const bloomery_open_options *options,
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
        tool_error("%s: is already a %s filter", request->path, to);
    else if (request->kind == BLOOMERY_STATIC)
        tool_error("%s: a %s filter does not contain its keys, and a static one is built from all "
                   "of them: bloomery build --kind static",
                   request->path, from);
    else if (!info->has_bits || info->kind == BLOOMERY_CUCKOO || request->kind == BLOOMERY_CUCKOO)
        tool_error("%s: a %s filter does not contain its keys; build a %s one from them",
                   request->path, from, to);
    else if (request->kind == BLOOMERY_COUNTING)
        tool_error("%s: a %s filter does not record how many keys share a bit; a counting filter "
                   "can only be built from the keys",
                   request->path, from);
    else
        tool_error("%s: a %s filter can't be made from a %s one, whose bits are in other places; "
                   "build it from the keys",
                   request->path, to, from);
    return NULL;
}

static int report(const struct request *request, const bloomery_info *before,
                  const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    char size[TOOL_NUMBER_BYTES], was[TOOL_NUMBER_BYTES];
    const char *name = tool_output_is_stdout(&request->output) ? "stdout" : request->output.path;
    if (!request->output.quiet && !request->output.json)
        tool_say("wrote %s: %s, %s (%s, %s before)", name, bloomery_kind_name((int)info->kind),
                 tool_format_size(size, info->file_bytes), bloomery_kind_name((int)before->kind),
                 tool_format_size(was, before->file_bytes));
    if (!request->output.json)
        return TOOL_FOUND;
    struct tool_report *object = tool_report_start("convert", (struct tool_report_form){0});
    tool_output_report(object, &request->output, facts);
    tool_fact(object, "from", NULL, tool_text(request->path));
    tool_fact(object, "from_kind", NULL, tool_text(bloomery_kind_name((int)before->kind)));
    return tool_report_print(object, true, TOOL_FOUND);
}

/* Converts a filter to another kind. Verifies it first: the new file would have right checksums of
 * damaged bits. */
static int convert_kind(struct request *request, const bloomery_filter *filter)
{
    bloomery_filter *made = NULL;
    bloomery_error error;
    bloomery_info before = BLOOMERY_INFO;
    struct tool_facts after;
    bloomery_info_get(filter, &before);
    const struct conversion *conversion = find_conversion(request, &before);
    if (conversion == NULL)
        return TOOL_ERROR;
    if (bloomery_verify(filter, &error) != BLOOMERY_OK ||
        conversion->make(filter, NULL, &made, &error) != BLOOMERY_OK)
        return tool_library_error(request->path, &error);
    int code = TOOL_ERROR;
    if (tool_output_write(&request->output, made, NULL) &&
        tool_output_look(&request->output, made, &after))
        code = report(request, &before, &after);
    bloomery_free(made);
    return code;
}

/* ---- Commands for a Redis server ------------------------------------------------------------- */

/* Where the commands go, and what each of them begins with. */
struct commands {
    struct tool_out *out;
    const char *name;
    const char *key;
    uint64_t bytes; /* written so far */
};

/*
 * A command is an array of strings, each behind its length:
 *
 *     *4\r\n  $12\r\nBF.LOADCHUNK\r\n  $4\r\nseen\r\n  $1\r\n1\r\n  $73\r\n<73 bytes>\r\n
 */
static void put_string(struct commands *commands, const void *data, size_t length)
{
    char head[32];
    commands->bytes += (uint64_t)snprintf(head, sizeof(head), "$%zu\r\n", length) + length + 2;
    tool_out_text(commands->out, head);
    tool_out_bytes(commands->out, data, length);
    tool_out_bytes(commands->out, "\r\n", 2);
}

static void put_chunk(struct commands *commands, uint64_t iterator, const void *data, size_t length)
{
    static const char begin[] = "*4\r\n";
    char number[24];
    const int digits = snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    tool_out_bytes(commands->out, begin, sizeof(begin) - 1);
    commands->bytes += sizeof(begin) - 1;
    put_string(commands, commands->name, strlen(commands->name));
    put_string(commands, commands->key, strlen(commands->key));
    put_string(commands, number, (size_t)digits);
    put_string(commands, data, length);
}

/* BF.LOADCHUNK with the header, then with each chunk of the bits. */
static bloomery_status put_chain(struct commands *commands, const bloomery_filter *filter,
                                 bloomery_error *error)
{
    uint8_t *header = tool_allocate(bloomery_redisbloom_header_bytes(filter) + 1);
    bloomery_status status = BLOOMERY_OK;
    uint64_t iterator = 0;
    commands->name = "BF.LOADCHUNK";
    do {
        const void *data = NULL;
        size_t length = 0;
        status = bloomery_redisbloom_scandump(filter, iterator, header, &data, &length, &iterator,
                                              error);
        if (status == BLOOMERY_OK && iterator != 0)
            put_chunk(commands, iterator, data, length);
    } while (status == BLOOMERY_OK && iterator != 0 && !tool_out_failed(commands->out));
    free(header);
    return status;
}

/* CF.LOADCHUNK with the header, then with the slots of each table. The iterator of a chunk is one
 * more than the slots up to its end. */
static bloomery_status put_cuckoo(struct commands *commands, const bloomery_filter *filter,
                                  bloomery_error *error)
{
    static const uint64_t most = UINT64_C(16) << 20; /* of a chunk, as the server dumps it */
    uint8_t header[BLOOMERY_CUCKOO_HEADER];
    bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
    uint64_t iterator = 1;
    commands->name = "CF.LOADCHUNK";
    if (bloomery_cuckoo_header(filter, header) != BLOOMERY_OK) {
        *error = (bloomery_error){.status = BLOOMERY_MISMATCH};
        snprintf(error->text, sizeof(error->text),
                 "is not a filter of redisbloom-cuckoo; build one of that dialect from the keys");
        return BLOOMERY_MISMATCH;
    }
    put_chunk(commands, iterator, header, sizeof(header));
    for (uint32_t i = 0; bloomery_layer_info_get(filter, i, false, &layer) == BLOOMERY_OK; i++) {
        const void *slots = NULL;
        uint64_t room = 0;
        const bloomery_status status = bloomery_layer_span(filter, i, &slots, &room);
        assert(status == BLOOMERY_OK && layer.bits <= room);
        (void)status;
        for (uint64_t at = 0; at < layer.bits && !tool_out_failed(commands->out); at += most) {
            const uint64_t length = layer.bits - at < most ? layer.bits - at : most;
            iterator += length;
            put_chunk(commands, iterator, (const uint8_t *)slots + at, (size_t)length);
        }
    }
    return BLOOMERY_OK;
}

/* Writes to stdout the commands that make this filter under the name --redis-key in a server, in
 * the server's protocol, as `redis-cli --pipe` reads them. `bytes` becomes their length. Returns
 * false after a message; if the filter is not of the dialect, nothing was written. */
static bool write_redis_commands(const struct request *request, const bloomery_filter *filter,
                                 uint64_t *bytes)
{
    const bool is_cuckoo = request->to.dialect->id == BLOOMERY_DIALECT_REDISBLOOM_CUCKOO;
    struct commands commands = {.out = tool_allocate(sizeof(*commands.out)),
                                .key = request->redis_key};
    bloomery_error error;
    bloomery_status status = bloomery_verify(filter, &error);
    tool_out_start(commands.out);
    if (status == BLOOMERY_OK)
        status = (is_cuckoo ? put_cuckoo : put_chain)(&commands, filter, &error);
    const bool good = tool_out_finish(commands.out, TOOL_FOUND) == TOOL_FOUND;
    free(commands.out);
    *bytes = commands.bytes;
    if (status == BLOOMERY_OK)
        return good;
    tool_library_error(request->path, &error);
    return false;
}

/* ---- Dialects -------------------------------------------------------------------------------- */

static const char *name_of(const bloomery_dialect *dialect)
{
    return dialect != NULL ? dialect->name : "Bloomery";
}

static int report_dialect(const struct request *request, const struct tool_origin *origin,
                          const bloomery_filter *filter, uint64_t bytes)
{
    char size[TOOL_NUMBER_BYTES];
    const struct tool_output *output = &request->output;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bloomery_dialect *dialect = bloomery_dialect_get(info.dialect);
    if (!output->quiet && !output->json)
        tool_say("wrote %s: a file of %s, %s, with a filter of %s", tool_output_said(output),
                 name_of(output->dialect), tool_format_size(size, bytes), name_of(dialect));
    if (!output->quiet && !output->json && output->dialect != NULL)
        tool_foreign_say_reading(filter, output->dialect);
    if (!output->quiet)
        tool_remarks_say(request->path, filter);
    if (!output->json)
        return TOOL_FOUND;
    struct tool_facts facts;
    tool_facts_read(filter, &facts);
    struct tool_report *object = tool_report_start("convert", (struct tool_report_form){0});
    tool_output_report(object, output, &facts);
    tool_fact(object, "from", NULL, tool_text(request->path));
    tool_fact(object, "from_dialect", NULL,
              tool_text(origin->dialect != NULL ? origin->dialect->name : NULL));
    tool_fact(object, "to_dialect", NULL,
              tool_text(output->dialect != NULL ? output->dialect->name : NULL));
    tool_fact(object, "dialect", NULL, tool_text(dialect != NULL ? dialect->name : NULL));
    if (output->dialect != NULL) {
        char reading[TOOL_READING_BYTES];
        tool_foreign_reading(filter, output->dialect, reading);
        tool_fact(object, "read_as", NULL, tool_text(reading));
        tool_fact(object, "file_bytes", NULL, tool_size(bytes)); /* of the other system's file */
    }
    tool_fact(object, "written_bytes", NULL, tool_size(bytes));
    tool_remarks_add(object, "remarks", NULL, filter);
    return tool_report_print(object, true, TOOL_FOUND);
}

/* Opens a filter of either format. Standard input is not inspected: --from names its dialect. */
static const bloomery_filter *open_either(const struct request *request, struct tool_origin *origin)
{
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_error error;
    opening.inspect = true;
    opening.rule = request->choice.rule;
    opening.note = request->note;
    if (request->from.dialect == NULL || strcmp(request->path, "-") != 0)
        return tool_filter_open_any(request->path, opening, NULL, &request->from, origin);
    struct tool_filter_file file;
    tool_filter_file_stdin(&file, request->from.dialect);
    *origin = file.origin;
    const bloomery_filter *filter = tool_filter_load(&file, &opening, &request->from, NULL, &error);
    if (filter == NULL && error.status != BLOOMERY_OK)
        tool_library_error("standard input", &error);
    return filter;
}

static bool write_either(const struct request *request, const bloomery_filter *filter,
                         uint64_t *bytes)
{
    if (request->redis_key != NULL)
        return write_redis_commands(request, filter, bytes);
    return tool_output_write(&request->output, filter, bytes);
}

static int convert_dialect(struct request *request)
{
    struct tool_origin origin = {.dialect = NULL};
    uint64_t bytes = 0;
    const bloomery_filter *filter = open_either(request, &origin);
    int code = TOOL_ERROR;
    if (filter != NULL && origin.ours && request->from.dialect != NULL)
        tool_error("%s: is a Bloomery file already; --from is for other systems' files",
                   request->path);
    else if (filter != NULL && write_either(request, filter, &bytes))
        code = report_dialect(request, &origin, filter, bytes);
    bloomery_free(filter);
    return code;
}

/* ---- The command line ------------------------------------------------------------------------ */

static bool dialects_fit_together(const struct request *request)
{
    const bool rule = !tool_rule_is_none(&request->choice.rule);
    if (request->kind != BLOOMERY_KIND_DEFAULT) {
        tool_usage(
            "--kind changes the kind of a filter, --from and --to its file format: do one after "
            "the other");
        return false;
    }
    if (request->to.has_parameters) {
        tool_usage("--to takes a name without parameters: the filter has them all");
        return false;
    }
    if ((rule || request->note != NULL) &&
        (request->from.dialect == NULL || request->to.dialect != NULL)) {
        tool_usage("%s kept only in a Bloomery file that --from makes",
                   rule ? "options for keys are" : "--note is");
        return false;
    }
    if (request->redis_key != NULL &&
        (request->to.dialect == NULL ||
         (request->to.dialect->id != BLOOMERY_DIALECT_REDISBLOOM &&
          request->to.dialect->id != BLOOMERY_DIALECT_REDISBLOOM_CUCKOO) ||
         request->output.path == NULL || strcmp(request->output.path, "-") != 0)) {
        tool_usage("--redis-key goes with '--to redisbloom -o -' or '--to redisbloom-cuckoo -o -'");
        return false;
    }
    if (request->note != NULL && strlen(request->note) > BLOOMERY_NOTE_BYTES) {
        tool_usage("--note is at most %d bytes", BLOOMERY_NOTE_BYTES);
        return false;
    }
    if (request->output.path != NULL && !request->output.force &&
        strcmp(request->output.path, "-") != 0 && strcmp(request->path, "-") != 0 &&
        tool_same_file(request->path, request->output.path)) {
        tool_usage("-o names the input file, %s; name another one (--force replaces it)",
                   request->path);
        return false;
    }
    return true;
}

/* Says that the target is missing. If the file is another system's, adds its name. */
static int ask_for_target(const struct request *request)
{
    struct tool_filter_file file;
    const int code = tool_usage("give --kind blocked, or --from or --to for another system's file");
    if (tool_filter_file_open(&file, request->path, NULL)) {
        tool_foreign_hint(&file, "--from", BLOOMERY_NOT_A_FILTER);
        tool_filter_file_close(&file);
    }
    return code;
}

static int convert(struct request *request)
{
    const bool foreign = request->from.dialect != NULL || request->to.dialect != NULL;
    if (!foreign && request->kind == BLOOMERY_KIND_DEFAULT)
        return ask_for_target(request);
    if (!foreign && (request->note != NULL || request->redis_key != NULL ||
                     !tool_rule_is_none(&request->choice.rule)))
        return tool_usage("--note, --redis-key and options for keys go with --from and --to");
    if (foreign && !dialects_fit_together(request))
        return TOOL_ERROR;
    int code = TOOL_ERROR;
    const bloomery_filter *filter = NULL;
    request->output.dialect = request->to.dialect;
    if (tool_output_begin(&request->output)) {
        if (foreign)
            code = convert_dialect(request);
        else if ((filter = tool_filter_inspect(request->path)) != NULL)
            code = convert_kind(request, filter);
    }
    bloomery_free(filter);
    tool_output_end(&request->output);
    return code;
}

static int convert_main(int argc, char **argv)
{
    struct request request = {.output.lock = -1, .from.option = "--from"};
    int code;
    if (!tool_options_read(argc, argv, &request, &code))
        return code;
    if (!tool_rule_complete(&request.choice) || !tool_rule_is_kept(&request.choice))
        return TOOL_ERROR;
    if (argc - optind != 1)
        return tool_usage("name one filter");
    request.path = argv[optind];
    return convert(&request);
}

const struct tool_command cmd_convert = {
    .name = "convert",
    .run = convert_main,
    .summary = "make a filter of another kind, or another system's file",
    .synopsis = "bloomery convert -o OUT --kind KIND FILTER\n"
                "bloomery convert -o OUT --from DIALECT [--to DIALECT] FILE\n"
                "bloomery convert -o OUT --to DIALECT FILTER",
    .introduction =
        "With --from, convert reads another system's file, compressed or not, or "
        "standard input ('-'). It writes a filter in our format with the same bits and "
        "the same answers. With --to, it writes another system's file from a filter that "
        "has that system's hash and layout. Any other filter is refused: such a file "
        "must be built from its keys. DIALECT is NAME[,parameter=value...], as in "
        "'guava' or 'clickhouse,probes=3'; 'bloomery dialects' lists them. OUT must not "
        "be FILE, except with --force.\n"
        "\n"
        "With --kind, it makes a blocked filter from a counting one, with the same "
        "answers, in a quarter (or an eighth) of the size. No other kinds can be "
        "converted. The bits are those that a build from the present lines would set; a "
        "saturated counter keeps its bit. The header's number of adds is that of the "
        "counting filter, without removals subtracted. Keys can no longer be removed. "
        "OUT may be FILTER itself.",
    .groups = groups,
    .epilogue = "  bloomery convert -o members-small.bloom --kind blocked members.bloom\n"
                "  bloomery convert --from guava --int64 -o seen.bloom seen.bf\n"
                "  bloomery convert --to guava -o again.bf seen.bloom",
};

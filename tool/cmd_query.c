/* SPDX-License-Identifier: Apache-2.0 */
/* query: grep with a filter for a pattern. How lines are asked for and printed: ask.c. */
#include "ask.h"
#include "files.h"
#include "json.h"
#include "numbers.h"
#include "out.h"
#include "team.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "bloomery query FILTER [INPUT...]\n"
    "bloomery query -f FILTER [-f FILTER]... [INPUT...]\n"
    "\n"
    "Prints the lines of the inputs that may be in the filter, as grep does with a pattern. A "
    "line\n"
    "that is not printed was surely never added, as long as the file is undamaged (--verify);\n"
    "of the lines that were never added, a share equal to the filter's rate is printed all the\n"
    "same. No INPUT, or '-', is standard input; gzip, zstd, xz and zip are unpacked, each member\n"
    "of a zip checked by itself. A carriage return that ends a line and a byte order mark that\n"
    "begins an input belong to the key; a warning tells of them.\n"
    "\n"
    "  -f, --filter FILTER   ask this filter; repeat it to ask whether a line is in any of them\n"
    "  -v, --invert          print the lines that surely are in none of the filters\n"
    "  -c, --count           print only how many lines there are\n"
    "  -q, --quiet           print nothing; stop at the first one\n"
    "  -k, --key KEY         ask for this key; repeatable. Input is then read only where named.\n"
    "                        Other users can see it in the list of processes\n"
    "      --with-filename   put the filter's name before each line, one line per filter that\n"
    "                        may have it; with -c, count for each filter\n"
    "  -j, --threads N       work with N threads, 1 to 256. Default, or 0: as many as there are\n"
    "                        cores. The output is the same, and in the same order, whatever N is\n"
    "  -0, --null            lines end with NUL instead of newline, in input and output\n"
    "      --verify          read the filters whole first and compare every checksum; a damaged\n"
    "                        one is an error\n"
    "      --key-file FILE   the key of filters that don't carry it\n"
    "      --json            with -c: one JSON object, with the count of each filter\n"
    "\n"
    "Exit code: 0 some line was (or, with -q or -c, would be) printed, 1 none, 2 an error. An "
    "error\n"
    "with one input does not keep the others from being read.\n"
    "\n"
    "  bloomery query ids.bloom asked.txt\n"
    "  bloomery query -q -k 850101312345 ids.bloom && echo maybe\n"
    "  zcat log.gz | cut -f 3 | bloomery query -v -f seen.bloom -f banned.bloom\n";

struct query {
    bool verify, json;
    const char *key_file;
    uint32_t threads;
    const char **keys; /* of -k */
    size_t key_count;
    struct tool_question question;
};

enum { OPTION_WITH_FILENAME = TOOL_OPTION_OWN, OPTION_VERIFY, OPTION_KEY_FILE, OPTION_JSON };

static const struct option options[] = {
    {"filter", required_argument, NULL, 'f'},
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"quiet", no_argument, NULL, 'q'},
    {"key", required_argument, NULL, 'k'},
    {"with-filename", no_argument, NULL, OPTION_WITH_FILENAME},
    {"threads", required_argument, NULL, 'j'},
    {"null", no_argument, NULL, '0'},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

/* ---- What came out --------------------------------------------------------------------------- */

static void print_counts(struct tool_question *question)
{
    if (!question->with_filename) {
        tool_out_format(&question->out, "%llu\n", (unsigned long long)question->selected);
        return;
    }
    for (size_t f = 0; f < question->filter_count; f++)
        tool_out_format(&question->out, "%s:%llu\n", question->filters[f].name,
                        (unsigned long long)question->filters[f].hits);
}

static int print_json(const struct query *query, bool all_read, int code)
{
    json_t *object = tool_json_report("query");
    tool_json_add(object, "inverted", tool_json_bool(query->question.invert));
    tool_json_add(object, "records", tool_json_count(query->question.asked));
    tool_json_add(object, "count", tool_json_count(query->question.selected));
    tool_json_add(object, "all_read", tool_json_bool(all_read));
    json_t *filters = tool_json_array();
    for (size_t f = 0; f < query->question.filter_count; f++) {
        json_t *filter = tool_json_object();
        tool_json_add(filter, "file", tool_json_text(query->question.filters[f].name));
        tool_json_add(filter, "maybe_added", tool_json_count(query->question.filters[f].hits));
        tool_json_append(filters, filter);
    }
    tool_json_add(object, "filters", filters);
    return tool_json_print(object, code);
}

/* Opens all before anything is read: with one missing or damaged, "in none" is no answer. */
static bool open_filters(struct query *query)
{
    for (size_t f = 0; f < query->question.filter_count; f++) {
        struct tool_asked *asked = &query->question.filters[f];
        asked->filter = tool_filter_open(asked->name, 0, query->key_file);
        if (asked->filter == NULL)
            return false;
        bloomery_error damage;
        if (query->verify && bloomery_verify(asked->filter, &damage) != BLOOMERY_OK) {
            tool_library_error(asked->name, &damage);
            return false;
        }
    }
    return true;
}

static int run_query(struct query *query, char **inputs, size_t input_count)
{
    const struct tool_source source = {.paths = inputs,
                                       .count = input_count,
                                       .delimiter = query->question.delimiter,
                                       .keep_going = true,
                                       .threads = query->threads};
    if (!open_filters(query))
        return TOOL_ERROR;

    bool all_read = true;
    bool more =
        query->key_count == 0 || tool_ask_keys(&query->question, query->keys, query->key_count);
    if (more && (query->key_count == 0 || input_count > 0))
        all_read = tool_ask_source(&query->question, &source);

    if (query->question.quiet)
        return query->question.selected > 0 ? TOOL_FOUND : all_read ? TOOL_NONE : TOOL_ERROR;
    int code = !all_read ? TOOL_ERROR : query->question.selected > 0 ? TOOL_FOUND : TOOL_NONE;
    if (query->json)
        return print_json(query, all_read, code);
    if (query->question.count_only)
        print_counts(&query->question);
    return tool_out_finish(&query->question.out, code);
}

/* ---- The command line ------------------------------------------------------------------------ */

/* Reads the options. False where there is nothing more to do; `*code` is then the exit code. */
static bool read_options(struct query *query, int argc, char **argv, int *code)
{
    int option;
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "f:vcqk:j:0", options)) != -1) {
        switch (option) {
        case 'f':
            query->question.filters[query->question.filter_count++].name = optarg;
            break;
        case 'v':
            query->question.invert = true;
            break;
        case 'c':
            query->question.count_only = true;
            break;
        case 'q':
            query->question.quiet = true;
            break;
        case 'k':
            query->keys[query->key_count++] = optarg;
            break;
        case 'j':
            if (!tool_option_small("-j", optarg, 0, TOOL_THREADS_MOST, &query->threads))
                return false;
            break;
        case '0':
            query->question.delimiter = 0;
            break;
        case OPTION_WITH_FILENAME:
            query->question.with_filename = true;
            break;
        case OPTION_VERIFY:
            query->verify = true;
            break;
        case OPTION_KEY_FILE:
            query->key_file = optarg;
            break;
        case OPTION_JSON:
            query->json = true;
            break;
        case TOOL_OPTION_HELP:
            *code = TOOL_FOUND;
            return false;
        default:
            return false;
        }
    }
    if (query->json && (!query->question.count_only || query->question.quiet)) {
        tool_usage("--json is for the counts of -c, without -q");
        return false;
    }
    if (query->question.invert && query->question.with_filename) {
        tool_usage("--with-filename names the filters that may have a line; -v prints lines that "
                   "none of them has");
        return false;
    }
    return true;
}

static int query_main(int argc, char **argv)
{
    struct query *query = tool_allocate(sizeof(*query));
    memset(query, 0, sizeof(*query));
    query->question.delimiter = '\n';
    /* No more filters or keys than arguments, and at least one. */
    query->question.filters = tool_allocate((size_t)argc * sizeof(struct tool_asked));
    memset(query->question.filters, 0, (size_t)argc * sizeof(struct tool_asked));
    query->keys = tool_allocate((size_t)argc * sizeof(const char *));
    query->question.to_terminal = isatty(STDOUT_FILENO) == 1;
    tool_out_start(&query->question.out);

    int code;
    if (read_options(query, argc, argv, &code)) {
        if (query->question.filter_count == 0 && optind < argc)
            query->question.filters[query->question.filter_count++].name = argv[optind++];
        if (query->question.filter_count == 0)
            code = tool_usage("which filter? Name its file, as in 'bloomery query ids.bloom'");
        else
            code = run_query(query, argv + optind, (size_t)(argc - optind));
    }
    for (size_t f = 0; f < query->question.filter_count; f++)
        bloomery_free(query->question.filters[f].filter);
    free(query->question.filters);
    free(query->keys);
    free(query);
    return code;
}

const struct tool_command cmd_query = {
    .name = "query",
    .run = query_main,
    .summary = "print the lines that may be in a filter, or surely are not",
    .help = help,
};

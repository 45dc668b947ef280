/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: grep with a filter for a pattern.
 *
 * A batch of keys becomes words of answers, one bit a key; several filters are the OR of their
 * words and -v is its complement. What is printed are runs of ones: the keys of a batch lie one
 * behind another in the input buffer, delimiters between them, so a run is one copy.
 */
#include "files.h"
#include "json.h"
#include "lines.h"
#include "numbers.h"
#include "out.h"
#include "progress.h"
#include "tool.h"

#include <assert.h>
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

/* A filter that is asked. */
struct asked {
    const char *name;
    bloomery_filter *filter;
    uint64_t hits;
    uint64_t answers[TOOL_BATCH_WORDS];
};

struct query {
    bool invert, count_only, quiet, with_filename, verify, json;
    const char *key_file;
    unsigned char delimiter;

    struct asked *filters;
    size_t filter_count;

    const char **keys; /* of -k */
    size_t key_count;

    uint64_t selected[TOOL_BATCH_WORDS];
    uint64_t asked_count, selected_count;
    bool to_terminal;
    struct tool_out out;
};

enum { OPTION_WITH_FILENAME = TOOL_OPTION_OWN, OPTION_VERIFY, OPTION_KEY_FILE, OPTION_JSON };

static const struct option options[] = {
    {"filter", required_argument, NULL, 'f'},
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"quiet", no_argument, NULL, 'q'},
    {"key", required_argument, NULL, 'k'},
    {"with-filename", no_argument, NULL, OPTION_WITH_FILENAME},
    {"null", no_argument, NULL, '0'},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

/* ---- A batch --------------------------------------------------------------------------------- */

/* Bits of the last word that stand for no key. */
static uint64_t tail_mask(size_t count)
{
    return count % 64 == 0 ? ~UINT64_C(0) : (UINT64_C(1) << count % 64) - 1;
}

/* Fills `selected`; returns how many keys are in it. */
static size_t ask(struct query *query, const bloomery_key *keys, size_t count)
{
    size_t words = (count + 63) / 64, hits = 0;
    memset(query->selected, 0, words * sizeof(uint64_t));
    for (size_t f = 0; f < query->filter_count; f++) {
        struct asked *asked = &query->filters[f];
        asked->hits += bloomery_may_contain_batch(asked->filter, keys, count, asked->answers);
        for (size_t w = 0; w < words; w++)
            query->selected[w] |= asked->answers[w];
    }
    if (query->invert) {
        for (size_t w = 0; w < words; w++)
            query->selected[w] = ~query->selected[w];
        query->selected[words - 1] &= tail_mask(count);
    }
    for (size_t w = 0; w < words; w++)
        hits += (size_t)__builtin_popcountll(query->selected[w]);
    return hits;
}

/* The first key from `from` on whose bit is `value`, or `count`. */
static size_t next_key(const uint64_t *words, size_t from, size_t count, bool value)
{
    while (from < count) {
        uint64_t word = (value ? words[from / 64] : ~words[from / 64]) >> from % 64;
        if (word != 0) {
            from += (size_t)__builtin_ctzll(word);
            break;
        }
        from += 64 - from % 64;
    }
    return from < count ? from : count;
}

static void print_runs(struct query *query, const bloomery_key *keys, size_t count)
{
    size_t from = next_key(query->selected, 0, count, true);
    while (from < count) {
        size_t to = next_key(query->selected, from, count, false);
        const char *first = keys[from].data;
        const char *last = keys[to - 1].data;
        assert(last >= first && last[keys[to - 1].bytes] == (char)query->delimiter);
        tool_out_bytes(&query->out, first, (size_t)(last - first) + keys[to - 1].bytes + 1);
        from = next_key(query->selected, to, count, true);
    }
}

static void print_with_names(struct query *query, const bloomery_key *keys, size_t count)
{
    size_t at = next_key(query->selected, 0, count, true);
    for (; at < count; at = next_key(query->selected, at + 1, count, true))
        for (size_t f = 0; f < query->filter_count; f++)
            if (query->filters[f].answers[at / 64] >> at % 64 & 1) {
                tool_out_text(&query->out, query->filters[f].name);
                tool_out_text(&query->out, ":");
                tool_out_bytes(&query->out, keys[at].data, keys[at].bytes + 1);
            }
}

/* False where the rest of the input need not be looked at. */
static bool answer(struct query *query, const bloomery_key *keys, size_t count)
{
    size_t hits = ask(query, keys, count);
    query->asked_count += count;
    query->selected_count += hits;
    if (query->quiet)
        return hits == 0;
    if (query->count_only)
        return true;
    if (query->with_filename)
        print_with_names(query, keys, count);
    else if (hits > 0)
        print_runs(query, keys, count);
    if (query->to_terminal)
        tool_out_flush(&query->out); /* whoever types a line waits for the answer */
    return !tool_out_failed(&query->out);
}

/* ---- Keys and inputs ------------------------------------------------------------------------- */

/* The keys of -k, laid out as lines.c does: one behind another, each followed by the delimiter. */
static bool answer_keys(struct query *query)
{
    size_t bytes = 0;
    for (size_t i = 0; i < query->key_count; i++)
        bytes += strlen(query->keys[i]) + 1;
    char *text = tool_allocate(bytes);
    bloomery_key batch[64];
    bool more = true;
    char *to = text;
    for (size_t i = 0; i < query->key_count && more;) {
        size_t count = 0;
        for (; count < 64 && i < query->key_count; count++, i++) {
            size_t length = strlen(query->keys[i]);
            memcpy(to, query->keys[i], length);
            to[length] = (char)query->delimiter;
            batch[count] = bloomery_key_of(to, length);
            to += length + 1;
        }
        more = answer(query, batch, count);
    }
    free(text);
    return more;
}

static bool answer_inputs(struct query *query, const struct tool_source *source)
{
    struct tool_progress progress;
    uint64_t total = tool_lines_total(source);
    tool_progress_start(&progress, "asking",
                        query->quiet || (query->to_terminal && !query->count_only));
    struct tool_lines *lines = tool_lines_open(source);
    const bloomery_key *keys;
    size_t count;
    while ((count = tool_lines_next(lines, &keys)) > 0 && answer(query, keys, count))
        tool_progress_update(&progress, tool_lines_records(lines), tool_lines_bytes(lines), total);
    tool_progress_stop(&progress);
    return tool_lines_close(lines);
}

static void print_counts(struct query *query)
{
    if (!query->with_filename) {
        tool_out_format(&query->out, "%llu\n", (unsigned long long)query->selected_count);
        return;
    }
    for (size_t f = 0; f < query->filter_count; f++)
        tool_out_format(&query->out, "%s:%llu\n", query->filters[f].name,
                        (unsigned long long)query->filters[f].hits);
}

static int print_json(const struct query *query, bool all_read, int code)
{
    json_t *object = tool_json_report("query");
    tool_json_add(object, "inverted", tool_json_bool(query->invert));
    tool_json_add(object, "records", tool_json_count(query->asked_count));
    tool_json_add(object, "count", tool_json_count(query->selected_count));
    tool_json_add(object, "all_read", tool_json_bool(all_read));
    json_t *filters = tool_json_array();
    for (size_t f = 0; f < query->filter_count; f++) {
        json_t *filter = tool_json_object();
        tool_json_add(filter, "file", tool_json_text(query->filters[f].name));
        tool_json_add(filter, "maybe_added", tool_json_count(query->filters[f].hits));
        tool_json_append(filters, filter);
    }
    tool_json_add(object, "filters", filters);
    return tool_json_print(object, code);
}

/* Opens all before anything is read: with one missing or damaged, "in none" is no answer. */
static bool open_filters(struct query *query)
{
    for (size_t f = 0; f < query->filter_count; f++) {
        struct asked *asked = &query->filters[f];
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
    struct tool_source source = {
        .paths = inputs, .count = input_count, .delimiter = query->delimiter, .keep_going = true};
    if (!open_filters(query))
        return TOOL_ERROR;

    bool all_read = true;
    bool more = query->key_count == 0 || answer_keys(query);
    if (more && (query->key_count == 0 || input_count > 0))
        all_read = answer_inputs(query, &source);

    if (query->quiet)
        return query->selected_count > 0 ? TOOL_FOUND : all_read ? TOOL_NONE : TOOL_ERROR;
    int code = !all_read ? TOOL_ERROR : query->selected_count > 0 ? TOOL_FOUND : TOOL_NONE;
    if (query->json)
        return print_json(query, all_read, code);
    if (query->count_only)
        print_counts(query);
    return tool_out_finish(&query->out, code);
}

/* ---- The command line ------------------------------------------------------------------------ */

/* Reads the options. False where there is nothing more to do; `*code` is then the exit code. */
static bool read_options(struct query *query, int argc, char **argv, int *code)
{
    int option;
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "f:vcqk:0", options)) != -1) {
        switch (option) {
        case 'f':
            query->filters[query->filter_count++].name = optarg;
            break;
        case 'v':
            query->invert = true;
            break;
        case 'c':
            query->count_only = true;
            break;
        case 'q':
            query->quiet = true;
            break;
        case 'k':
            query->keys[query->key_count++] = optarg;
            break;
        case '0':
            query->delimiter = 0;
            break;
        case OPTION_WITH_FILENAME:
            query->with_filename = true;
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
    if (query->json && (!query->count_only || query->quiet)) {
        tool_usage("--json is for the counts of -c, without -q");
        return false;
    }
    if (query->invert && query->with_filename) {
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
    query->delimiter = '\n';
    /* No more filters or keys than arguments, and at least one. */
    query->filters = tool_allocate((size_t)argc * sizeof(struct asked));
    memset(query->filters, 0, (size_t)argc * sizeof(struct asked));
    query->keys = tool_allocate((size_t)argc * sizeof(const char *));
    query->to_terminal = isatty(STDOUT_FILENO) == 1;
    tool_out_start(&query->out);

    int code;
    if (read_options(query, argc, argv, &code)) {
        if (query->filter_count == 0 && optind < argc)
            query->filters[query->filter_count++].name = argv[optind++];
        if (query->filter_count == 0)
            code = tool_usage("which filter? Name its file, as in 'bloomery query ids.bloom'");
        else
            code = run_query(query, argv + optind, (size_t)(argc - optind));
    }
    for (size_t f = 0; f < query->filter_count; f++)
        bloomery_free(query->filters[f].filter);
    free(query->filters);
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

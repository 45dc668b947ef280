/* SPDX-License-Identifier: Apache-2.0 */
/* query: grep with a filter for a pattern. Queries and printing of lines: query_run.c. */
#include "base/bits.h"
#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "base/progress.h"
#include "base/statistics.h"
#include "base/team.h"
#include "command/query/query.h"
#include "filter/files.h"
#include "filter/foreign_file.h"
#include "filter/text_output.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "bloomery query FILTER [INPUT...]\n"
    "bloomery query -f FILTER [-f FILTER]... [INPUT...]\n"
    "\n"
    "Prints the lines of the inputs that are possibly in the Bloom filter, as grep\n"
    "does with a pattern. A line that is not printed was definitely never added, as\n"
    "long as the file is undamaged (--verify). Of the lines that were never added,\n"
    "a share equal to the filter's false-positive rate is printed all the same. No\n"
    "INPUT, or '-', is standard input; packed inputs and archives are unpacked\n"
    "('bloomery help build'). If the filter was built with a rule for keys\n"
    "('bloomery help build'), the query follows it; whole lines are printed. A line\n"
    "of a pipe is answered at once, also while the pipe stays open.\n"
    "\n"
    "  -f, --filter FILTER   query this filter; repeat it to print the lines that are\n"
    "                        possibly in any of them\n"
    "  -v, --invert          print the lines that are definitely in none of the\n"
    "                        filters\n"
    "  -c, --count           print only the number of lines. A note on standard error\n"
    "                        says how many of them are expected to be false\n"
    "                        positives, if any are, and on a terminal\n"
    "  -q, --quiet           print nothing; stop at the first match\n"
    "  -n, --line-number     before each line its number in its input and a colon;\n"
    "                        with one thread\n"
    "  -H, --with-input      before each line the name of its input and a colon; with\n"
    "                        -c, a count of each input behind its name\n"
    "  -l, --list-inputs     print only the names of inputs of which some line would\n"
    "                        be printed; each is read to the first one\n"
    "  -m, --max-count N     at most N lines of each input; with one thread\n"
    "  -o, --output FILE     write FILE instead of standard output, when all has been\n"
    "                        read: whole, or after an error not at all. FILE may be\n"
    "                        an input. Its name says how it is compressed: .gz,\n"
    "                        .zst, .xz, .bz2, .lz4, .lz, .lzma\n"
    "  -k, --key KEY         query this key; repeatable. Input is then read only if\n"
    "                        named. Other users can see KEY in the process list\n"
    "      --counts          before each line, how often it was added less how often\n"
    "                        it was removed, and a tab; 15+ if a counter is\n"
    "                        saturated (of 8 bits: 255+). For one counting filter\n"
    "      --with-filename   put the filter's name before each line, one line for\n"
    "                        each filter that may have it; with -c, count for each\n"
    "  -j, --threads N       work with N threads, 1 to 256. Default, or 0: as many as\n"
    "                        there are cores. The output and its order are the same\n"
    "                        whatever N is\n"
    "  -0, --null            lines end with NUL instead of newline, in input and\n"
    "                        output\n"
    "      --max-line SIZE   the longest line accepted; a longer one is an error and\n"
    "                        ends its input. Default 64MiB. Each thread may need a\n"
    "                        few times that much memory\n"
    "      --progress WHEN   show how far it is, how fast, and the time left, on\n"
    "                        standard error: always, never, or auto (default): on a\n"
    "                        terminal, unless lines go there or into a pipe\n"
    "      --verify          first read the filters whole and compare every checksum;\n"
    "                        a damaged filter is an error\n"
    "      --secret-file FILE\n"
    "                        the secret of filters that do not carry it\n"
    "      --confirm SORTED  count a match only if its key is also a line of this\n"
    "                        file, which is sorted by bytes (LC_ALL=C sort); with -v\n"
    "                        print the others. A line of SORTED is the key as text,\n"
    "                        before --hex, --int64, --int32 and --utf16, or has it\n"
    "                        in the field of the filter's rule; the carriage return\n"
    "                        at its end, and letters of another case if the rule\n"
    "                        changes case, do not matter. A file that is not in the\n"
    "                        order of its keys is an error. A warning comes if it\n"
    "                        lacks more matches than chance explains\n"
    "      --dialect D       filters that are not Bloomery files are another\n"
    "                        system's: NAME[,parameter=value...] as 'bloomery\n"
    "                        dialects' lists them. Files with a magic need no name\n"
    "      --positions       before each line the positions of its bits in the\n"
    "                        filter, in the order in which they are read, and a tab;\n"
    "                        for absent lines too. A scalable filter gives a line\n"
    "                        for each layer, with its number and a colon before them\n"
    "      --json            with -c: one JSON object, with the count of each filter,\n"
    "                        how many false positives to expect among them, and how\n"
    "                        many matches --confirm rejected\n"
    "\n"
    "Lines become keys by these steps, in this order. A filter that keeps steps needs\n"
    "none of them; if given, they must agree with it. They are for a filter that has\n"
    "none. Fields by name, several fields, --header and --jsonl are not kept: give\n"
    "them again, or lines are refused. Lines without a key are not printed and not\n"
    "counted, with or without -v.\n"
    "Of the steps only --trim and those that change bytes apply to a KEY of -k.\n"
    "\n" TOOL_RULE_HELP "\n"
    "Without --crlf a carriage return at the end of a line belongs to the key; a\n"
    "warning says so if the first line of an input ends in one.\n"
    "\n"
    "If no more is found than false positives would be, some of the first keys are\n"
    "looked for in other forms (case, blanks, hex, numbers, UTF-16, carriage\n"
    "returns); a hint on standard error names a form that the filter has.\n"
    "\n"
    "A filter that another program overwrites in place ends the query with exit\n"
    "code 2, since later answers may be wrong. To renew a list while it is in use,\n"
    "write a new file and rename it over the old one (mv). The query goes on with\n"
    "the old filter until it ends.\n"
    "\n"
    "Exit code: 0 some line was (or, with -q or -c, would be) printed, 1 none,\n"
    "2 an error. If one input fails, the others are still read.\n"
    "\n"
    "  bloomery query ids.bloom asked.txt\n"
    "  bloomery query -q -k 850101312345 ids.bloom && echo possibly\n"
    "  tail -F names.log | bloomery query listed.bloom\n"
    "  zcat log.gz | cut -f 3 | bloomery query -v -f seen.bloom -f banned.bloom\n";

struct query {
    bool verify, json, positions;
    struct tool_dialect_choice dialect;
    const char *secret_file;
    const char *confirm;
    struct tool_rule_choice choice;
    uint32_t threads;
    size_t line_max;   /* 0: not given */
    const char **keys; /* of -k */
    size_t key_count;
    struct tool_text_output output;
    struct tool_question question;
};

enum {
    OPTION_WITH_FILENAME = TOOL_OPTION_OWN,
    OPTION_COUNTS,
    OPTION_VERIFY,
    OPTION_SECRET_FILE,
    OPTION_CONFIRM,
    OPTION_DIALECT,
    OPTION_POSITIONS,
    OPTION_JSON,
};

static const struct option options[] = {
    {"filter", required_argument, NULL, 'f'},
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"quiet", no_argument, NULL, 'q'},
    {"line-number", no_argument, NULL, 'n'},
    {"with-input", no_argument, NULL, 'H'},
    {"list-inputs", no_argument, NULL, 'l'},
    {"max-count", required_argument, NULL, 'm'},
    {"output", required_argument, NULL, 'o'},
    {"key", required_argument, NULL, 'k'},
    {"counts", no_argument, NULL, OPTION_COUNTS},
    {"with-filename", no_argument, NULL, OPTION_WITH_FILENAME},
    {"threads", required_argument, NULL, 'j'},
    {"null", no_argument, NULL, '0'},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"secret-file", required_argument, NULL, OPTION_SECRET_FILE},
    {"confirm", required_argument, NULL, OPTION_CONFIRM},
    {"dialect", required_argument, NULL, OPTION_DIALECT},
    {"positions", no_argument, NULL, OPTION_POSITIONS},
    {"json", no_argument, NULL, OPTION_JSON},
    TOOL_LINE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- Filters --------------------------------------------------------------------------------- */

/* The filter's rule among the question's, each of which is there once. */
static bool find_rule(struct query *query, struct tool_queried *queried)
{
    struct tool_question *question = &query->question;
    bloomery_key_rule rule;
    if (!tool_rule_settle(&query->choice, queried->name, queried->filter, true, &rule))
        return false;
    queried->rule = 0;
    while (queried->rule < question->rule_count &&
           !tool_rule_equal(&question->rules[queried->rule], &rule))
        queried->rule++;
    if (queried->rule == question->rule_count)
        question->rules[question->rule_count++] = rule;
    return true;
}

/* Its lines have keys where those of the filter had them. The options are about the inputs. */
static bool open_confirming(struct query *query)
{
    struct tool_question *question = &query->question;
    bloomery_key_rule *rules = tool_allocate(question->rule_count * sizeof(*rules));
    for (size_t r = 0; r < question->rule_count; r++)
        rules[r] = question->rules[r];
    for (size_t f = question->filter_count; f-- > 0;) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(question->filters[f].filter, &info);
        if (info.rule.field != 0)
            rules[question->filters[f].rule] = info.rule;
    }
    question->confirm =
        tool_confirm_open(query->confirm, question->delimiter, rules, question->rule_count);
    free(rules);
    if (question->confirm != NULL)
        tool_confirm_warn(question->confirm);
    return question->confirm != NULL;
}

/* Opens all before anything is read: with one missing or damaged, "in none" is no answer. */
static bool open_filters(struct query *query)
{
    const bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    for (size_t f = 0; f < query->question.filter_count; f++) {
        struct tool_queried *queried = &query->question.filters[f];
        queried->filter =
            tool_filter_open_any(queried->name, opening, query->secret_file, &query->dialect, NULL);
        if (queried->filter == NULL)
            return false;
        bloomery_error damage;
        if (query->verify && bloomery_verify(queried->filter, &damage) != BLOOMERY_OK) {
            tool_library_error(queried->name, &damage);
            return false;
        }
        if (!find_rule(query, queried))
            return false;
    }
    return query->confirm == NULL || open_confirming(query);
}

/* Carriage returns are warned about if one of the filters takes them for part of a key. */
static const bloomery_key_rule *rule_that_warns(const struct tool_question *question)
{
    for (size_t r = 0; r < question->rule_count; r++)
        if ((question->rules[r].flags & BLOOMERY_RULE_CRLF) == 0)
            return &question->rules[r];
    return &question->rules[0];
}

/* Positions instead of answers. */
static int print_positions(struct query *query, const struct tool_source *source)
{
    struct tool_question *question = &query->question;
    bool good;
    if (question->filter_count > 1)
        return tool_usage("--positions is for one filter, not %zu", question->filter_count);
    if (query->key_count > 0 && source->count > 0)
        return tool_usage("--positions prints those of -k or those of inputs");
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(question->filters[0].filter, &info);
    if (info.kind == BLOOMERY_STATIC)
        return tool_usage("--positions: keys of a static filter have no bits of their own");
    if (query->key_count > 0)
        good = tool_positions_of_keys(question->filters[0].filter, &question->rules[0], query->keys,
                                      query->key_count, question->delimiter, &question->out,
                                      &question->queried);
    else
        good = tool_positions_of_source(question->filters[0].filter, &question->rules[0], source,
                                        &question->out, &question->queried);
    const int code = question->queried > 0 ? TOOL_FOUND : TOOL_NONE;
    return good ? code : TOOL_ERROR;
}

static int run_query(struct query *query, char **inputs, size_t input_count)
{
    struct tool_source source = {.paths = inputs,
                                 .count = input_count,
                                 .delimiter = query->question.delimiter,
                                 .keep_going = true,
                                 .threads = query->threads,
                                 .line_max = query->line_max};
    tool_source_lay_out(&source, &query->choice, rule_that_warns(&query->question));
    /* All filters get the same records: quotes are those of the first rule that has any. */
    for (size_t r = 0; r < query->question.rule_count && !source.quotes.heeded; r++)
        tool_source_quote(&source, &query->choice, &query->question.rules[r]);
    if (query->positions)
        return print_positions(query, &source);

    bool all_read = true;
    bool more =
        query->key_count == 0 || tool_query_keys(&query->question, query->keys, query->key_count);
    if (more && !query->choice.keys_only)
        all_read = tool_query_source(&query->question, &source);

    /* Under -q, an answer needs no remarks on how it came. */
    if (!query->question.quiet || query->question.selected == 0)
        all_read = tool_query_say_rest(&query->question, query->confirm) && all_read;
    if (query->question.quiet)
        return query->question.selected > 0 ? TOOL_FOUND : all_read ? TOOL_NONE : TOOL_ERROR;
    int code = !all_read ? TOOL_ERROR : query->question.selected > 0 ? TOOL_FOUND : TOOL_NONE;
    if (query->json)
        return tool_query_print_json(&query->question, query->confirm, all_read, code);
    if (query->question.count_only && !query->question.input_names)
        tool_query_print_counts(&query->question);
    return code;
}

/* Whether the filter has the counters that --counts needs, and up to which number. */
static bool can_count(struct tool_question *question)
{
    bloomery_info info = BLOOMERY_INFO;
    if (!question->counts)
        return true;
    if (question->filter_count > 1) {
        tool_usage("--counts is for one filter, not %zu", question->filter_count);
        return false;
    }
    bloomery_info_get(question->filters[0].filter, &info);
    question->counter_max = info.counter_max;
    if (info.counter_max == 0)
        tool_error("%s: a %s filter has no counters; --counts is for counting ones",
                   question->filters[0].name, bloomery_kind_name((int)info.kind));
    return info.counter_max > 0;
}

static int query_filters(struct query *query, char **inputs, size_t input_count)
{
    query->choice.keys_only = query->key_count > 0 && input_count == 0;
    if (!open_filters(query) || !can_count(&query->question))
        return TOOL_ERROR;
    if (!query->question.quiet && (query->question.rules[0].flags & TOOL_RULE_CHANGES) == 0)
        query->question.hint = tool_hint_new();
    query->question.silent = !tool_progress_is_shown(
        query->question.quiet || (!tool_text_output_is_file(&query->output) &&
                                  tool_progress_is_in_the_way(!query->question.count_only)));
    if (!tool_text_output_begin(&query->output, &query->question.out))
        return TOOL_ERROR;
    const int code = run_query(query, inputs, input_count);
    return tool_text_output_finish(&query->output, &query->question.out, code);
}

/* ---- The command line ------------------------------------------------------------------------ */

/* Options that print text before lines of inputs, or in their place, go with lines of inputs. */
static bool grep_letters_fit(const struct query *query)
{
    const struct tool_question *question = &query->question;
    const bool placed = question->input_names || question->line_numbers;
    if (!placed && question->most == 0)
        return true;
    if (question->input_names && question->count_only && !question->line_numbers &&
        question->most == 0 && !question->quiet && !query->json && query->key_count == 0)
        return !question->with_filename ||
               !tool_usage("-c counts of inputs (-H) or of filters (--with-filename), not both");
    if (question->count_only || question->quiet || query->positions || query->key_count > 0)
        return !tool_usage("-n, -H, -l and -m go with lines of inputs, without -c, -q, -k and "
                           "--positions; only -H goes with -c");
    if (question->list_inputs && (placed || question->counts || question->with_filename))
        return !tool_usage("-l prints names in place of lines; it does not go with -n, -H, "
                           "--counts and --with-filename");
    if (question->most > 0 && question->counts)
        return !tool_usage("--counts does not go with -m");
    return true;
}

/* -o takes lines. A file that is read as a filter or to confirm is never replaced. */
static bool output_fits(const struct query *query)
{
    if (query->output.path != NULL && (query->question.count_only || query->question.quiet))
        return !tool_usage("-o FILE takes lines; it does not go with -c or -q");
    if (tool_text_output_is_file(&query->output) && query->confirm != NULL &&
        tool_same_file(query->output.path, query->confirm))
        return !tool_usage("-o and --confirm name the same file, %s", query->confirm);
    return true;
}

static bool fits_together(struct query *query)
{
    if (query->json && (!query->question.count_only || query->question.quiet)) {
        tool_usage("--json is for the counts of -c, without -q");
        return false;
    }
    if (query->question.invert && query->question.with_filename) {
        tool_usage("--with-filename names the filters that may have a line; -v prints lines that "
                   "none of them has");
        return false;
    }
    if (query->question.counts && (query->question.invert || query->question.count_only ||
                                   query->question.quiet || query->question.with_filename)) {
        tool_usage("--counts prints a number before each line; it does not go with -v, -c, -q or "
                   "--with-filename");
        return false;
    }
    if (query->positions &&
        (query->question.invert || query->question.count_only || query->question.quiet ||
         query->question.with_filename || query->question.counts || query->confirm != NULL)) {
        tool_usage("--positions asks nothing; it does not go with -v, -c, -q, --counts, "
                   "--with-filename or --confirm");
        return false;
    }
    return output_fits(query) && grep_letters_fit(query) && tool_rule_complete(&query->choice);
}

/* One option as grep has it. False after a message. */
static bool take_grep_option(struct query *query, int option)
{
    struct tool_question *question = &query->question;
    switch (option) {
    case 'n':
        question->line_numbers = true;
        return true;
    case 'H':
        question->input_names = true;
        return true;
    case 'l':
        question->list_inputs = true;
        question->most = 1;
        return true;
    case 'm':
        if (!tool_option_count("-m", optarg, 1, UINT64_MAX, &question->most))
            return false;
        question->most = question->list_inputs ? 1 : question->most;
        return true;
    default:
        return tool_rule_option(&query->choice, option);
    }
}

/* One option. False after a message. */
static bool take_option(struct query *query, int option)
{
    switch (option) {
    case 'f':
        query->question.filters[query->question.filter_count++].name = optarg;
        return true;
    case 'v':
        query->question.invert = true;
        return true;
    case 'c':
        query->question.count_only = true;
        return true;
    case 'q':
        query->question.quiet = true;
        return true;
    case 'o':
        query->output.path = optarg;
        query->output.packs = true;
        return true;
    case 'k':
        query->keys[query->key_count++] = optarg;
        return true;
    case 'j':
        return tool_option_small("-j", optarg, 0, TOOL_THREADS_MAX, &query->threads);
    case '0':
        query->question.delimiter = 0;
        return true;
    case OPTION_WITH_FILENAME:
        query->question.with_filename = true;
        return true;
    case OPTION_COUNTS:
        query->question.counts = true;
        return true;
    case OPTION_VERIFY:
        query->verify = true;
        return true;
    case OPTION_SECRET_FILE:
        query->secret_file = optarg;
        return true;
    case OPTION_CONFIRM:
        query->confirm = optarg;
        return true;
    case OPTION_DIALECT:
        query->dialect.ours_too = true;
        return tool_dialect_option("--dialect", optarg, &query->dialect);
    case OPTION_POSITIONS:
        query->positions = true;
        return true;
    case OPTION_JSON:
        query->json = true;
        return true;
    case TOOL_OPTION_MAX_LINE:
        return tool_option_max_line(optarg, &query->line_max);
    default:
        return take_grep_option(query, option);
    }
}

/* Reads the options. False if there is nothing more to do; `*code` is then the exit code. */
static bool read_options(struct query *query, int argc, char **argv, int *code)
{
    int option;
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "f:vcqnHlm:o:k:j:0" TOOL_RULE_LETTERS, options)) !=
           -1) {
        if (option == TOOL_OPTION_HELP)
            *code = TOOL_FOUND;
        if (option == TOOL_OPTION_HELP || !take_option(query, option))
            return false;
    }
    return fits_together(query);
}

/* Names that look like keys were given as inputs, and no file: prints how keys are queried. */
static void hint_at_key(char *const *inputs, int count)
{
    for (int i = 0; i < count; i++)
        if (strpbrk(inputs[i], "/.") != NULL || tool_path_is_stdin(inputs[i]) ||
            access(inputs[i], F_OK) == 0)
            return;
    if (count > 0)
        tool_say("an INPUT is a file of keys; one key is queried with -k %s", inputs[0]);
}

static int query_main(int argc, char **argv)
{
    struct query *query = tool_allocate(sizeof(*query));
    memset(query, 0, sizeof(*query));
    query->question.delimiter = '\n';
    /* No more filters or keys than arguments, and at least one. */
    query->question.filters = tool_allocate((size_t)argc * sizeof(struct tool_queried));
    memset(query->question.filters, 0, (size_t)argc * sizeof(struct tool_queried));
    query->keys = tool_allocate((size_t)argc * sizeof(const char *));
    query->question.rules = tool_allocate((size_t)argc * sizeof(bloomery_key_rule));
    query->question.tallies = tool_allocate((size_t)argc * sizeof(struct tool_tally));
    memset(query->question.tallies, 0, (size_t)argc * sizeof(struct tool_tally));
    tool_out_start(&query->question.out);

    int code;
    if (read_options(query, argc, argv, &code)) {
        if (query->question.filter_count == 0 && optind < argc)
            query->question.filters[query->question.filter_count++].name = argv[optind++];
        if (query->question.filter_count == 0)
            code = tool_usage("which filter? Name its file, as in 'bloomery query ids.bloom'");
        else
            code = query_filters(query, argv + optind, (size_t)(argc - optind));
        if (code == TOOL_ERROR && query->key_count == 0)
            hint_at_key(argv + optind, argc - optind);
    }
    for (size_t f = 0; f < query->question.filter_count; f++)
        bloomery_free(query->question.filters[f].filter);
    tool_confirm_close(query->question.confirm);
    tool_hint_free(query->question.hint);
    free(query->question.tallies);
    free(query->question.rules);
    free(query->question.filters);
    free(query->keys);
    free(query);
    return code;
}

const struct tool_command cmd_query = {
    .name = "query",
    .run = query_main,
    .summary = "print the lines that are possibly, or definitely not, in a filter",
    .help = help,
};

/* ---- Query report ---------------------------------------------------------------------------- */

/*
 * Of Q lines with a key, H may be in a filter of rate p. Of the A lines that were never added,
 * about A p are among these H. All others were never added: Q - H = A (1 - p), so
 *
 *     expected false positives = (Q - H) p / (1 - p)
 *
 * With a file that confirms, lines that it lacks were never added, and so A = Q - confirmed ones.
 */

/* ---- Rates ----------------------------------------------------------------------------------- */

/* Reading all bits of a larger filter takes longer than most queries do. */
static const uint64_t read_max = UINT64_C(1) << 30;

/* The filter's false-positive rate: that of its bits, or of a large one the planned rate. `live`:
 * which of them. */
static double rate_of(const struct tool_queried *queried, bool *live)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(queried->filter, &info);
    *live = info.bytes <= read_max || !(info.planned_rate > 0);
    if (!*live)
        return info.planned_rate;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_scan(queried->filter, &scan);
    return scan.live_rate;
}

/* Returns how many of `found` lines are false positives at this rate, if `others` were absent. */
static double false_among(double found, double others, double rate)
{
    const double expected = rate < 1 ? others * rate / (1 - rate) : found;
    return expected < found ? expected : found;
}

/* False positives among the lines that were found in this filter, before they were confirmed. */
static double expected_of(const struct tool_question *question, const struct tool_queried *queried,
                          double rate)
{
    const uint64_t found = queried->hits + (question->confirm != NULL ? 0 : queried->rejected);
    const double others = found < question->queried ? (double)(question->queried - found) : 0;
    if (question->confirm != NULL)
        return others * rate;
    return false_among((double)found, others, rate);
}

/* Lines that are possibly in one of the filters. */
static uint64_t found_in_any(const struct tool_question *question)
{
    return question->invert ? question->queried - question->selected : question->selected;
}

/* False positives among the lines that are possibly in any filter; `rate`: the share of absent
 * lines that are. A file that confirms lets none through. */
static double expected_in_all(const struct tool_question *question, double *rate)
{
    double pass = 0; /* the logarithm of the share that all filters deny */
    for (size_t f = 0; f < question->filter_count; f++) {
        bool live;
        pass += log1p(-rate_of(&question->filters[f], &live));
    }
    const uint64_t found = found_in_any(question);
    *rate = -expm1(pass);
    return question->confirm != NULL
               ? 0
               : false_among((double)found, (double)(question->queried - found), *rate);
}

static const char *format_expected(char text[TOOL_NUMBER_BYTES], double expected)
{
    if (expected >= 1000 && expected < 1e15)
        return tool_format_count(text, (uint64_t)(expected + 0.5));
    return tool_format_rate(text, expected);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void say_hints(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count && question->hint != NULL; f++) {
        const struct tool_queried *queried = &question->filters[f];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(queried->filter, &info);
        const struct tool_hint_answer answer = {.name = queried->name,
                                                .hits = queried->hits,
                                                .queried = question->queried,
                                                .optional = tool_rule_is_none(&info.rule)};
        if (queried->rule == 0 && answer.hits <= answer.queried)
            tool_hint_say(question->hint, queried->filter, &answer);
    }
}

/* Rejecting false positives is what a file that confirms is for. It rejects more if its lines are
 * no keys of the filter, and then denies all. */
static void warn_of_rejected(const struct tool_question *question, const char *confirmed_by)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char found[TOOL_NUMBER_BYTES], rejected[TOOL_NUMBER_BYTES], chance[TOOL_NUMBER_BYTES];
        bool live;
        if (queried->rejected < 2)
            continue; /* one may always be chance */
        const double rate = rate_of(queried, &live);
        const uint64_t others = question->queried - queried->hits;
        const double expected = expected_of(question, queried, rate);
        if ((double)queried->rejected <= expected || queried->rejected > others ||
            tool_plausible(queried->rejected, others, rate))
            continue;
        tool_warning("%s: lacks %s of %s keys that %s may have; by chance it would lack about %s. "
                     "%s",
                     confirmed_by, tool_format_count(rejected, queried->rejected),
                     tool_format_count(found, queried->hits + queried->rejected), queried->name,
                     format_expected(chance, expected),
                     queried->hits == 0 ? "Do its lines have the key elsewhere, or in another form?"
                                        : "The filter was built from more, or from another list");
    }
}

/* Chance alone finds some. If it should have found this many, none says more than "absent". */
enum { CHANCE_LEAST = 20 };

static void warn_of_too_few(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char all[TOOL_NUMBER_BYTES], chance[TOOL_NUMBER_BYTES], keys[TOOL_NUMBER_BYTES],
            planned[TOOL_NUMBER_BYTES];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(queried->filter, &info);
        const double expected = (double)question->queried * info.planned_rate;
        if (queried->hits + queried->rejected > 0 || expected < CHANCE_LEAST ||
            info.bytes > read_max)
            continue;
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(queried->filter, &scan);
        const bool empty = info.has_bits && info.planned_keys >= 100 &&
                           scan.estimated_keys < (double)info.planned_keys / 100;
        if (!empty && (double)question->queried * scan.live_rate < CHANCE_LEAST)
            continue;
        tool_format_count(all, question->queried);
        format_expected(chance, expected);
        if (empty)
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s if the "
                        "filter is full. It holds about %s of the %s keys that it was planned for",
                        queried->name, all, chance,
                        tool_format_count(keys, (uint64_t)(scan.estimated_keys + 0.5)),
                        tool_format_count(planned, info.planned_keys));
        else
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s. They "
                        "are few different lines, or were chosen by a filter",
                        queried->name, all, chance);
    }
}

/* What a count is worth: if false positives are to be expected among it, or people look. */
static void say_expected(const struct tool_question *question)
{
    char number[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    double rate;
    if (question->confirm != NULL || question->queried == 0)
        return;
    const double expected = expected_in_all(question, &rate);
    if (expected < 1 && isatty(STDERR_FILENO) == 0)
        return;
    tool_notice("about %s %s expected to be false positives (%s)",
                format_expected(number, expected),
                question->invert ? "more lines were never added, and are" : "of these are",
                tool_format_odds(odds, rate));
}

bool tool_query_say_rest(struct tool_question *question, const char *confirmed_by)
{
    bool good = true;
    uint64_t hits = 0;
    const bool sorted = question->confirm == NULL || tool_confirm_is_sorted(question->confirm);
    if (!sorted) {
        tool_confirm_say_unsorted(question->confirm);
        good = false;
    }
    for (size_t r = 0; r < question->rule_count; r++)
        good = tool_tally_say(&question->tallies[r], &question->rules[r],
                              "such records were not looked up") &&
               good;
    for (size_t f = 0; f < question->filter_count; f++)
        hits += question->filters[f].hits;
    /* Hits of one filter may be chance. Those of several, or confirmed ones, count as real. */
    if (hits == 0 || (question->filter_count == 1 && question->confirm == NULL))
        say_hints(question);
    if (confirmed_by != NULL && sorted)
        warn_of_rejected(question, confirmed_by);
    if (!question->quiet)
        warn_of_too_few(question);
    if (question->count_only && !question->quiet)
        say_expected(question);
    return good;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

void tool_query_print_counts(struct tool_question *question)
{
    if (!question->with_filename) {
        tool_out_format(&question->out, "%llu\n", (unsigned long long)question->selected);
        return;
    }
    for (size_t f = 0; f < question->filter_count; f++)
        tool_out_format(&question->out, "%s:%llu\n", question->filters[f].name,
                        (unsigned long long)question->filters[f].hits);
}

static json_t *json_of_filter(const struct tool_question *question,
                              const struct tool_queried *queried)
{
    json_t *filter = tool_json_object();
    bool live;
    const double rate = rate_of(queried, &live);
    const double expected = question->confirm != NULL ? 0 : expected_of(question, queried, rate);
    tool_json_add(filter, "file", tool_json_text(queried->name));
    tool_json_add(filter, "maybe_added", tool_json_count(queried->hits));
    if (question->confirm != NULL) {
        tool_json_add(filter, "rejected_by_confirm", tool_json_count(queried->rejected));
        tool_json_add(filter, "expected_rejected",
                      tool_json_number(expected_of(question, queried, rate)));
    }
    tool_json_add(filter, "rate", tool_json_number(rate));
    tool_json_add(filter, "rate_is_planned", tool_json_bool(!live));
    tool_json_add(filter, "expected_false_positives", tool_json_number(expected));
    return filter;
}

int tool_query_print_json(struct tool_question *question, const char *confirmed_by, bool all_read,
                          int code)
{
    json_t *object = tool_json_report("query");
    double rate;
    tool_json_add(object, "inverted", tool_json_bool(question->invert));
    tool_json_add(object, "records", tool_json_count(question->queried));
    tool_json_add(object, "passed_over", tool_json_count(question->passed_over));
    tool_json_add(object, "count", tool_json_count(question->selected));
    tool_json_add(object, "expected_false_positives",
                  tool_json_number(expected_in_all(question, &rate)));
    tool_json_add(object, "all_read", tool_json_bool(all_read));
    if (confirmed_by != NULL)
        tool_json_add(object, "confirmed_by", tool_json_text(confirmed_by));
    json_t *filters = tool_json_array();
    for (size_t f = 0; f < question->filter_count; f++)
        tool_json_append(filters, json_of_filter(question, &question->filters[f]));
    tool_json_add(object, "filters", filters);
    return tool_json_print(object, code);
}

/* ---- Print positions ------------------------------------------------------------------------- */

/*
 * For comparison with another implementation, so nothing here is fast: one thread, key by key.
 *
 *     1 15 11        654321        a plain filter: the positions in the order of the probes
 *     0:17 3         654321        a chain: layer 0, the oldest,
 *     1:8 40 21      654321        and layer 1
 */

struct printing {
    const bloomery_filter *filter;
    const bloomery_key_rule *rule;
    struct tool_made *made;
    struct tool_out *out;
    unsigned char delimiter;
    uint32_t layers;
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
};

static void printing_start(struct printing *printing, const bloomery_filter *filter,
                           const bloomery_key_rule *rule, struct tool_out *out)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    printing->filter = filter;
    printing->rule = rule;
    printing->made = tool_made_new();
    printing->out = out;
    printing->delimiter = '\n';
    printing->layers = info.layers;
}

static void print_one(struct printing *printing, bloomery_key key, bloomery_key record)
{
    for (uint32_t layer = 0; layer < printing->layers; layer++) {
        const size_t count = bloomery_positions(printing->filter, layer, key, printing->positions,
                                                BLOOMERY_POSITIONS_MAX);
        if (printing->layers > 1)
            tool_out_format(printing->out, "%u:", layer);
        for (size_t i = 0; i < count && i < BLOOMERY_POSITIONS_MAX; i++)
            tool_out_format(printing->out, "%s%llu", i > 0 ? " " : "",
                            (unsigned long long)printing->positions[i]);
        tool_out_bytes(printing->out, "\t", 1);
        tool_out_bytes(printing->out, record.data, record.bytes);
        tool_out_bytes(printing->out, &printing->delimiter, 1);
    }
}

/* A batch of records; returns how many of them have a key. */
static size_t print_batch(struct printing *printing, const struct tool_chunk *chunk,
                          const bloomery_key *records, size_t count)
{
    struct tool_made *made = printing->made;
    size_t key = 0;
    tool_rule_apply(printing->rule, chunk, records, count, made);
    for (size_t i = 0; i < count; i++)
        if (tool_bit(made->with_key, i))
            print_one(printing, made->keys[key++], records[i]);
    assert(key == made->count);
    return key;
}

bool tool_positions_of_keys(const bloomery_filter *filter, const bloomery_key_rule *rule,
                            const char *const *keys, size_t count, unsigned char delimiter,
                            struct tool_out *out, uint64_t *queried)
{
    const bloomery_key_rule own = tool_rule_of_keys(rule);
    struct printing *printing = tool_allocate(sizeof(*printing));
    printing_start(printing, filter, &own, out);
    printing->delimiter = delimiter;
    *queried = 0;
    for (size_t i = 0; i < count; i++) {
        const bloomery_key record = bloomery_key_of(keys[i], strlen(keys[i]));
        *queried += print_batch(printing, NULL, &record, 1);
    }
    const bool good = tool_tally_say(&printing->made->tally, &own, "such keys have no positions");
    tool_made_free(printing->made);
    free(printing);
    return good;
}

bool tool_positions_of_source(const bloomery_filter *filter, const bloomery_key_rule *rule,
                              const struct tool_source *source, struct tool_out *out,
                              uint64_t *queried)
{
    struct tool_source alone = *source;
    alone.threads = 1;
    struct tool_chunks *chunks = tool_chunks_open(&alone, NULL);
    struct tool_chunk chunk = {0};
    struct printing *printing = tool_allocate(sizeof(*printing));
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    printing_start(printing, filter, rule, out);
    printing->delimiter = source->delimiter;
    *queried = 0;
    while (!tool_out_failed(out) && tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while ((count = tool_chunk_keys(&chunk, records)) > 0)
            *queried += print_batch(printing, &chunk, records, count);
        tool_out_flush(out);
    }
    tool_tally_place(&printing->made->tally, chunks);
    const bool whole = tool_chunks_close(chunks);
    const bool good =
        tool_tally_say(&printing->made->tally, rule, "such records have no positions");
    tool_made_free(printing->made);
    tool_chunk_free(&chunk);
    free(records);
    free(printing);
    return whole && good;
}

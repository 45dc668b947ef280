/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedupe: the first occurrences of lines, in order.
 *
 * The order: refusals that need no reading; the locks; filter or table; what counts as seen; the
 * inputs. The state is locked before the file to append to, so that two processes of ours never
 * wait for each other. A state is written last, when everything that it holds was delivered. If
 * anything ends the command before, the old state stays, and what was printed since comes again. A
 * command that lost its reader (SIGPIPE) ends so, too. A first signal that asks it to end
 * (interrupt.c) ends the input, and the state is written.
 *
 * The comparison of lines: dedupe.c. The store in which they are remembered: dedupe_start.c. The
 * end of the room: seen.c.
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "base/team.h"
#include "command/dedupe/dedupe.h"
#include "filter/files.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "bloomery dedupe [-n N] [-p RATE | --memory SIZE] [OPTION...] [INPUT...]\n"
    "\n"
    "Prints each line of the inputs at its first occurrence, in input order. Lines\n"
    "are remembered in a Bloom filter, a few bytes each. A new line is mistaken for\n"
    "a repeated one as often as the filter's rate says, and the report at the end\n"
    "says how many such lines are expected. No INPUT, or '-', is standard input;\n"
    "packed inputs and archives are unpacked ('bloomery help build').\n"
    "\n"
    "  -n, --keys N         plan for N distinct lines (default: estimated from a\n"
    "                       sample of the input files, plus 5 %). Distinct are those\n"
    "                       whose keys differ. For inputs that are packed or come by\n"
    "                       a pipe the default is a million, with --state 65,536. A\n"
    "                       filter that may not grow is planned for all lines\n"
    "  -p, --rate RATE      the filter's rate, also when it is full (1e-6, 0.01%,\n"
    "                       1/1000). Default 1e-6\n"
    "      --memory SIZE    the maximum memory for what is remembered (512MiB, 2GB).\n"
    "                       Alone or with -p: as many lines as fit in it. With -n:\n"
    "                       the best rate that fits\n"
    "      --on-full=WHAT   if there are more lines than planned for:\n"
    "                         grow  add a layer of twice the size; the rate of all\n"
    "                               layers stays below RATE (default; with --memory\n"
    "                               up to SIZE)\n"
    "                         stop  end with exit code 2 when the rate reaches twice\n"
    "                               RATE; all kept lines have been printed (default\n"
    "                               with --memory)\n"
    "                         pass  remember nothing more: lines not remembered are\n"
    "                               printed at each occurrence\n"
    "      --exact[=BITS]   instead of a filter, remember a fingerprint of each line,\n"
    "                       of 64 bits (default) or 128: 11 to 21 bytes a line, or\n"
    "                       twice that. A wrong drop is practically impossible\n"
    "  -v, --invert         print what is dropped: the repeated lines (with --unit:\n"
    "                       dropped documents, and of others what is cut out)\n"
    "  -c, --count          print only how many lines are kept; with -v, dropped\n"
    "  -o, --output FILE    write FILE instead of standard output, when all has been\n"
    "                       read: either complete or not at all. Nothing is written\n"
    "                       after an error, a signal or a stop by --on-full. FILE may\n"
    "                       be an input. Its name says how it is compressed: .gz,\n"
    "                       .zst, .xz, .bz2, .lz4, .lz, .lzma\n"
    "      --against X      drop also lines that are in X, a filter or a file of\n"
    "                       lines; repeatable\n"
    "      --append FILE    lines of FILE count as seen, and kept lines are both\n"
    "                       appended to it and printed. FILE is made if it does not\n"
    "                       exist\n"
    "      --state FILE     begin with the filter in FILE, if there is one. It is\n"
    "                       written back when everything has been printed, or when\n"
    "                       a full filter stops the run. It begins small, grows, and\n"
    "                       keeps the rate of its first run. SIGINT, SIGTERM and\n"
    "                       SIGHUP end the input, and the state is written; a second\n"
    "                       one does not wait\n"
    "      --keyed          hash with a secret that is drawn for this run. Use it if\n"
    "                       others supply the lines: without it they can choose lines\n"
    "                       that make other lines be dropped, or that slow --exact\n"
    "                       and --unit ngram down. A new state keeps the secret, and\n"
    "                       only its owner can read it; an older state must be keyed\n"
    "                       already. Filters of --against are not protected by it\n"
    "      --secret-file FILE\n"
    "                       the secret of filters that do not carry it (--state,\n"
    "                       --against). With --keyed a new state keeps its secret\n"
    "                       there; if FILE does not exist, it is made\n"
    "  -j, --threads N      work with N threads, 1 to 256. Default, or 0: as many as\n"
    "                       there are cores. The output and its order are the same\n"
    "                       whatever N is\n"
    "  -0, --null           lines end with NUL instead of newline, in input and\n"
    "                       output\n"
    "      --max-line SIZE  the longest line accepted; a longer one is an error and\n"
    "                       ends its input. Default 64MiB. Each thread may need a\n"
    "                       few times that much memory\n" TOOL_PROGRESS_HELP
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object, numbers unrounded: on\n"
    "                       standard error, or with -c on standard output in place\n"
    "                       of the number\n"
    "\n"
    "What is compared of a line; the whole line is printed. Lines without a key are\n"
    "kept each time, and a warning counts those without the field; if no line has\n"
    "it, the exit code is 2. --skip-empty drops blank lines:\n"
    "\n" TOOL_RULE_HELP "\n"
    "Corpora, whose documents are lines of JSON:\n"
    "\n" TOOL_CORPUS_HELP "\n"
    "If an input can't be read, or has a line that is too long, the run ends with\n"
    "exit code 2: no later input is read, and the state is not written.\n"
    "\n"
    "  bloomery dedupe urls.txt > unique.txt\n"
    "  bloomery dedupe -o urls.txt urls.txt\n"
    "  zcat *.gz | bloomery dedupe -n 100M -p 1e-9 > unique.txt\n"
    "  tail -f access.log | bloomery dedupe --state seen.bloom -F 1 -d ' '\n"
    "  bloomery dedupe --jsonl text --unit paragraph --output-dir out in/*.jsonl.gz\n";

enum {
    OPTION_MEMORY = TOOL_OPTION_OWN,
    OPTION_ON_FULL,
    OPTION_EXACT,
    OPTION_AGAINST,
    OPTION_APPEND,
    OPTION_STATE,
    OPTION_JSON,
    OPTION_SECRET_FILE,
    OPTION_KEYED,
};

static const struct option rows[] = {
    {"keys", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"on-full", required_argument, NULL, OPTION_ON_FULL},
    {"exact", optional_argument, NULL, OPTION_EXACT},
    {"invert", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"output", required_argument, NULL, 'o'},
    {"against", required_argument, NULL, OPTION_AGAINST},
    {"append", required_argument, NULL, OPTION_APPEND},
    {"state", required_argument, NULL, OPTION_STATE},
    {"threads", required_argument, NULL, 'j'},
    {"null", no_argument, NULL, '0'},
    {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"keyed", no_argument, NULL, OPTION_KEYED},
    {"secret-file", required_argument, NULL, OPTION_SECRET_FILE},
    TOOL_CORPUS_OPTIONS,
    TOOL_LINE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    TOOL_RULE_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- The command line ------------------------------------------------------------------------ */

static bool take_on_full(struct tool_dedupe_command *command, const char *text)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(text, tool_on_full_names[i]) == 0) {
            command->on_full = i;
            return true;
        }
    tool_usage("--on-full is stop, grow or pass, not '%s'", text);
    return false;
}

static bool take_exact(struct tool_dedupe_command *command, const char *text)
{
    command->exact = text == NULL || strcmp(text, "64") == 0 ? 64 : 128;
    if (command->exact == 64 || strcmp(text, "128") == 0)
        return true;
    tool_usage("--exact is 64 or 128 (bits of a fingerprint), not '%s'", text);
    return false;
}

static void take_against(struct tool_dedupe_command *command, const char *path)
{
    const size_t bytes = (command->against_given + 1) * sizeof(char *);
    command->againsts = tool_reallocate(command->againsts, bytes);
    command->againsts[command->against_given++] = path;
}

/* One option of those with a value. False after a message. */
static bool take_value(struct tool_dedupe_command *command, int option)
{
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MAX, &command->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &command->rate);
    case OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &command->memory);
    case 'j':
        return tool_option_small("-j", optarg, 0, TOOL_THREADS_MAX, &command->source.threads);
    case 'o':
        command->output.path = optarg;
        command->output.packs = true;
        return true;
    case OPTION_ON_FULL:
        return take_on_full(command, optarg);
    case OPTION_EXACT:
        return take_exact(command, optarg);
    case OPTION_AGAINST:
        take_against(command, optarg);
        return true;
    case OPTION_APPEND:
        command->append = optarg;
        return true;
    case OPTION_STATE:
        command->state = optarg;
        return true;
    case OPTION_SECRET_FILE:
        command->secret_file = optarg;
        return true;
    case TOOL_OPTION_MAX_LINE:
        return tool_option_max_line(optarg, &command->source.line_max);
    default:
        if (option >= TOOL_OPTION_UNIT && option < TOOL_OPTION_CORPUS_END)
            return tool_corpus_option(command->corpus, option, optarg);
        return tool_rule_option(&command->choice, option);
    }
}

static bool take_option(struct tool_dedupe_command *command, int option)
{
    switch (option) {
    case 'v':
        command->dedupe.invert = true;
        return true;
    case 'c':
        command->dedupe.count_only = true;
        return true;
    case '0':
        command->source.delimiter = 0;
        return true;
    case 'q':
        command->quiet = true;
        return true;
    case OPTION_JSON:
        command->json = true;
        return true;
    case OPTION_KEYED:
        command->keyed = true;
        return true;
    default:
        return take_value(command, option);
    }
}

/* Standard input can be read once. */
static bool stdin_is_read_once(const struct tool_dedupe_command *command)
{
    size_t readers = command->source.count == 0;
    for (size_t i = 0; i < command->source.count; i++)
        readers += tool_path_is_stdin(command->source.paths[i]);
    size_t against = 0;
    for (size_t i = 0; i < command->against_given; i++)
        against += tool_path_is_stdin(command->againsts[i]);
    if (against == 0 || readers + against == 1)
        return true;
    tool_usage("standard input can be read once: as an input, or --against it");
    return false;
}

/* The file that -o names is replaced, so nothing else may be written to it. */
static bool output_fits(const struct tool_dedupe_command *command)
{
    const char *const others[] = {command->state, command->append, command->secret_file};
    if (command->output.path != NULL && command->dedupe.count_only)
        return !tool_usage("-o FILE takes lines; -c prints a number");
    for (size_t i = 0; i < 3 && tool_text_output_is_file(&command->output); i++)
        if (others[i] != NULL && tool_same_file(command->output.path, others[i]))
            return !tool_usage("-o and another option name the same file, %s", others[i]);
    return true;
}

static bool fits_together(const struct tool_dedupe_command *command)
{
    if (command->exact > 0 && command->rate > 0)
        return !tool_usage("-p is the rate of a filter; --exact keeps fingerprints instead");
    if (command->rate >= 0.5)
        return !tool_usage("-p must be below 0.5; with more, most new lines would be dropped");
    if (command->exact > 0 && command->on_full >= 0 && command->on_full != TOOL_FULL_GROW &&
        command->memory == 0)
        return !tool_usage("--exact is full where its memory is: --on-full goes with --memory");
    if (command->exact > 0 && command->state != NULL)
        return !tool_usage("--state keeps a filter; --exact has none to keep");
    if (command->state != NULL && tool_path_is_stdin(command->state))
        return !tool_usage("--state needs a file; '-' is none");
    if (command->secret_file != NULL && command->state == NULL && command->against_given == 0)
        return !tool_usage("--secret-file is for the filters of --state and --against");
    if (command->state != NULL && command->secret_file != NULL &&
        tool_same_file(command->state, command->secret_file))
        return !tool_usage("--state and --secret-file name the same file, %s", command->state);
    if (command->append != NULL && command->choice.layout.header)
        return !tool_usage(
            "--append would add the header to FILE again in each run; leave --header "
            "out, and the first lines off with tail -n +2");
    if (command->append != NULL && tool_path_is_stdin(command->append))
        return !tool_usage("--append needs a file; what is kept is printed on standard output");
    if (command->state != NULL && command->append != NULL &&
        tool_same_file(command->state, command->append))
        return !tool_usage("--state and --append name the same file, %s", command->state);
    return output_fits(command) && stdin_is_read_once(command) && tool_corpus_options_fit(command);
}

/* Whether an input is the open file, which is written to: it would be read for ever. */
static bool is_input(const struct tool_dedupe_command *command, int descriptor, const char **name)
{
    struct stat output, input;
    if (fstat(descriptor, &output) != 0 || !S_ISREG(output.st_mode))
        return false;
    for (size_t i = 0; i < tool_source_count(&command->source); i++) {
        *name = tool_source_path(&command->source, i);
        int failed = tool_path_is_stdin(*name) ? fstat(STDIN_FILENO, &input) : stat(*name, &input);
        if (failed == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
            return true;
    }
    return false;
}

/* Whether what is printed goes to this open file as well. */
static bool is_output(int descriptor)
{
    struct stat output, other;
    return descriptor >= 0 && fstat(STDOUT_FILENO, &output) == 0 &&
           fstat(descriptor, &other) == 0 && S_ISREG(output.st_mode) &&
           output.st_dev == other.st_dev && output.st_ino == other.st_ino;
}

static bool output_is_no_input(const struct tool_dedupe_command *command)
{
    const char *name;
    const bool printed =
        !tool_text_output_is_file(&command->output) && command->corpus->output_dir == NULL;
    if (printed && (is_output(command->lock) || is_output(command->appended.descriptor))) {
        tool_error("standard output goes to %s too: it would be written twice, or lost",
                   is_output(command->lock) ? command->state : command->append);
        return false;
    }
    if (printed && !command->dedupe.count_only && is_input(command, STDOUT_FILENO, &name)) {
        tool_error("%s: is also the output", tool_path_said(name));
        return false;
    }
    if (command->append == NULL || !is_input(command, command->appended.descriptor, &name))
        return true;
    tool_usage("%s: is the file to append to, whose lines count as seen; it can't be an input too",
               tool_path_said(name));
    return false;
}

static bool learn_lists(struct tool_dedupe_command *command)
{
    struct tool_source lists = command->source;
    if (command->list_count == 0)
        return true;
    lists.paths = (char *const *)(const void *)command->lists;
    lists.count = command->list_count;
    bool good = tool_dedupe_learn(&command->dedupe, &lists);
    tool_seen_restart(&command->seen);
    return good;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The number that -c prints; then everything that was to be delivered is on its way. A file is
 * written only if that is all there is. */
static bool finish_output(struct tool_dedupe_command *command, bool whole)
{
    struct tool_dedupe *dedupe = &command->dedupe;
    if (dedupe->count_only && !command->json)
        tool_out_format(&dedupe->out, "%llu\n",
                        (unsigned long long)(dedupe->invert ? dedupe->dropped : dedupe->kept));
    const int code = whole ? TOOL_FOUND : TOOL_ERROR;
    return tool_text_output_finish(&command->output, &dedupe->out, code) == TOOL_FOUND;
}

static int run(struct tool_dedupe_command *command)
{
    struct tool_dedupe *dedupe = &command->dedupe;
    const bool to_file = tool_text_output_is_file(&command->output);
    bool good = learn_lists(command);
    /* A file that is written whole has nothing of an input that was cut off. */
    if (good && (command->state != NULL || command->append != NULL) && !to_file)
        dedupe->interrupt = tool_interrupt_take();
    good = good && tool_dedupe_run(dedupe, &command->source);
    if (dedupe->stopped && to_file)
        tool_seen_say_full(&command->seen, dedupe->lines, dedupe->kept);
    const bool keyless = good && !tool_tally_has_keys(&dedupe->tally, &dedupe->rule,
                                                      dedupe->lines - dedupe->without_key);
    good = good && !keyless;
    bool delivered = (good || (dedupe->stopped && !to_file)) && !tool_out_failed(&dedupe->out) &&
                     !dedupe->append_failed;
    if (delivered || to_file || tool_out_failed(&dedupe->out))
        delivered = finish_output(command, delivered) && delivered;
    if (command->append != NULL)
        delivered = tool_appended_close(&command->appended) && delivered;
    if (!delivered) {
        if (command->state != NULL && !command->state_made)
            tool_say("%s was not changed", command->state);
        return TOOL_ERROR;
    }
    /* Lines for standard output are delivered before the state records them. */
    const bool early = command->json && dedupe->count_only;
    if (early && tool_dedupe_report(command, TOOL_FOUND) != TOOL_FOUND)
        return TOOL_ERROR;
    int code = tool_dedupe_save_state(command) && good ? TOOL_FOUND : TOOL_ERROR;
    if (tool_interrupt_came(dedupe->interrupt) && code == TOOL_FOUND && !command->quiet)
        tool_say("dedupe: %s ended the input; %s has what came before it", tool_interrupt_name(),
                 command->state != NULL ? command->state : command->append);
    if (dedupe->stopped)
        tool_seen_say_full(&command->seen, dedupe->lines, dedupe->kept);
    if (!tool_tally_say(&dedupe->tally, &dedupe->rule, "it was kept unchecked"))
        code = TOOL_ERROR;
    return early ? code : tool_dedupe_report(command, code);
}

static void clean_up(struct tool_dedupe_command *command)
{
    if (command->append != NULL)
        tool_appended_close(&command->appended);
    tool_interrupt_remove(NULL);
    if (command->state_made) {
        unlink(command->state);
        tool_secret_unmake(); /* nothing was written with it */
    }
    tool_filter_unlock(command->lock);
    for (size_t i = 0; i < command->dedupe.against_count; i++)
        bloomery_free(command->dedupe.against[i].filter);
    free(command->dedupe.against);
    free(command->lists);
    free(command->againsts);
    tool_fingerprints_free(command->seen.table);
    bloomery_free(command->seen.filter);
}

static int prepare_and_run(struct tool_dedupe_command *command)
{
    if (!tool_dedupe_sort_againsts(command))
        return TOOL_ERROR;
    if (command->corpus->unit != TOOL_UNIT_NONE)
        return output_is_no_input(command) ? tool_corpus_run(command) : TOOL_ERROR;
    if (!tool_dedupe_prepare(command))
        return TOOL_ERROR;
    if (command->append != NULL &&
        !tool_appended_open(&command->appended, command->append, command->source.delimiter))
        return TOOL_ERROR;
    if (!output_is_no_input(command) || !tool_dedupe_settle_rules(command))
        return TOOL_ERROR;
    command->dedupe.appended = command->append != NULL ? &command->appended : NULL;
    command->dedupe.silent =
        !tool_progress_is_shown(!tool_text_output_is_file(&command->output) &&
                                tool_progress_is_in_the_way(!command->dedupe.count_only));
    if (!tool_text_output_begin(&command->output, &command->dedupe.out))
        return TOOL_ERROR;
    return run(command);
}

static int dedupe_main(int argc, char **argv)
{
    struct tool_dedupe_command *command =
        tool_allocate(sizeof(*command)); /* large: the output's buffer */
    memset(command, 0, sizeof(*command));
    struct tool_corpus_options corpus = {.checkpoint = UINT64_MAX};
    command->corpus = &corpus;
    command->on_full = command->lock = command->appended.descriptor = -1;
    command->source.delimiter = '\n';
    command->dedupe.seen = &command->seen;
    command->dedupe.tally.kept = true;
    tool_out_start(&command->dedupe.out);
    int option, code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, "n:p:vco:j:0q" TOOL_RULE_LETTERS, rows)) != -1) {
        if (option == TOOL_OPTION_HELP || !take_option(command, option))
            break;
    }
    command->source.paths = argv + optind;
    command->source.count = (size_t)(argc - optind);
    if (option == TOOL_OPTION_HELP)
        code = TOOL_FOUND;
    else if (option == -1 && tool_rule_complete(&command->choice) && fits_together(command))
        code = prepare_and_run(command);
    clean_up(command);
    free(command);
    tool_interrupt_pass_on();
    return code;
}

const struct tool_command cmd_dedupe = {
    .name = "dedupe",
    .run = dedupe_main,
    .summary = "first occurrences of lines, in order",
    .help = help,
};

/* ---- Corpus options -------------------------------------------------------------------------- */

/* The options of dedupe --unit. */

enum { NGRAM_MAX = 1000, WORDS_MAX = 1000000, SHARDS_MAX = 1000000 };

static bool take_unit(struct tool_corpus_options *options, const char *value)
{
    static const char *const names[] = {"", "document", "paragraph", "ngram"};
    for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(value, names[i]) == 0) {
            options->unit = (enum tool_unit)i;
            return true;
        }
    tool_usage("--unit is document, paragraph or ngram, not '%s'", value);
    return false;
}

static bool take_threshold(struct tool_corpus_options *options, const char *value)
{
    char *end;
    const double share = strtod(value, &end);
    if (end == value || *end != '\0' || !(share > 0 && share <= 1) ||
        share * TOOL_THRESHOLD_ONE < 0.5) {
        tool_usage("--threshold is a share of n-grams above 0 and up to 1, not '%s'", value);
        return false;
    }
    options->threshold = (uint32_t)(share * TOOL_THRESHOLD_ONE + 0.5);
    return true;
}

static bool take_annotate(struct tool_corpus_options *options, const char *value)
{
    options->annotate = value != NULL ? value : "bloomery";
    for (const char *at = options->annotate; *at != '\0'; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < 0x20)
            return !tool_usage("--annotate=NAME: the name has no quotes, backslashes or control "
                               "characters");
    if (strlen(options->annotate) > TOOL_ANNOTATE_MAX)
        return !tool_usage("--annotate=NAME: the name has more than %d bytes", TOOL_ANNOTATE_MAX);
    return options->annotate[0] != '\0' || !tool_usage("--annotate=NAME: the name is empty");
}

/* I/N, from 1/1 on. */
static bool take_shard(struct tool_corpus_options *options, const char *value)
{
    char *end;
    const unsigned long long shard = strtoull(value, &end, 10);
    const char *second = end + (*end == '/');
    const unsigned long long shards = strtoull(second, &end, 10);
    if (second == value || *end != '\0' || second[-1] != '/' || *value < '0' || *value > '9' ||
        *second < '0' || *second > '9' || shard < 1 || shard > shards || shards > SHARDS_MAX) {
        tool_usage("--shard is I/N, the I-th of N parts, such as 1/4, not '%s'", value);
        return false;
    }
    options->shard = (uint32_t)(shard - 1);
    options->shards = (uint32_t)shards;
    return true;
}

static bool take_shard_by(struct tool_corpus_options *options, const char *value)
{
    options->shard_by_given = true;
    options->shard_by_key = strcmp(value, "key") == 0;
    if (options->shard_by_key || strcmp(value, "files") == 0)
        return true;
    tool_usage("--shard-by is files or key, not '%s'", value);
    return false;
}

static bool take_checkpoint(struct tool_corpus_options *options, const char *value)
{
    double seconds;
    if (!tool_option_seconds("--checkpoint", value, 0, &seconds))
        return false;
    options->checkpoint = (uint64_t)ceil(seconds);
    return true;
}

bool tool_corpus_option(struct tool_corpus_options *options, int option, const char *value)
{
    static const char *const names[] = {"--unit",     "--ngram",      "--threshold", "--annotate",
                                        "--no-add",   "--output-dir", "--dry-run",   "--shard",
                                        "--shard-by", "--checkpoint", "--min-words"};
    if (option != TOOL_OPTION_UNIT && options->other_given == NULL)
        options->other_given = names[option - TOOL_OPTION_UNIT];
    switch (option) {
    case TOOL_OPTION_UNIT:
        return take_unit(options, value);
    case TOOL_OPTION_NGRAM:
        return tool_option_small("--ngram", value, 1, NGRAM_MAX, &options->ngram);
    case TOOL_OPTION_MIN_WORDS:
        return tool_option_small("--min-words", value, 1, WORDS_MAX, &options->min_words);
    case TOOL_OPTION_THRESHOLD:
        return take_threshold(options, value);
    case TOOL_OPTION_ANNOTATE:
        return take_annotate(options, value);
    case TOOL_OPTION_NO_ADD:
        options->no_add = true;
        return true;
    case TOOL_OPTION_OUTPUT_DIR:
        options->output_dir = value;
        return true;
    case TOOL_OPTION_DRY_RUN:
        options->dry_run = true;
        return true;
    case TOOL_OPTION_SHARD:
        return take_shard(options, value);
    case TOOL_OPTION_SHARD_BY:
        return take_shard_by(options, value);
    default:
        return take_checkpoint(options, value);
    }
}

/* ---- Whether they go together ---------------------------------------------------------------- */

/* Keys are made of texts: only what changes a text is of use. */
static bool rule_fits(const struct tool_rule_choice *choice)
{
    if ((choice->rule.flags & ~TOOL_RULES_OF_TEXT) == 0 && choice->rule.comment == 0 &&
        !choice->field_given && !choice->delimiter_given && !choice->layout.header &&
        choice->layout.field_count == 0)
        return true;
    return !tool_usage("of the options about keys, --unit takes --jsonl, --trim, --lower and "
                       "--upper");
}

static bool lines_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus_options *options = command->corpus;
    if (command->dedupe.count_only)
        return !tool_usage("-c is for lines; the report of --unit has all counts");
    if (command->dedupe.invert && options->annotate != NULL)
        return !tool_usage("--annotate keeps all text, and -v prints what is removed: give one");
    if (command->append != NULL)
        return !tool_usage("--append is for lines; with --unit, --against takes documents");
    if (command->source.delimiter != '\n')
        return !tool_usage("-0 is for lines; documents end with line ends");
    if (options->output_dir != NULL && command->output.path != NULL)
        return !tool_usage("-o takes all documents, --output-dir a file for each input: give one");
    if (options->output_dir != NULL && command->source.count == 0)
        return !tool_usage("--output-dir writes a file for each input: name the inputs");
    return true;
}

static bool adds_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus_options *options = command->corpus;
    if (!options->no_add)
        return true;
    if (command->against_given == 0)
        return !tool_usage("--no-add compares with what --against names, and nothing else");
    if (command->state != NULL || command->exact > 0)
        return !tool_usage("--no-add keeps nothing: it takes no --state and no --exact");
    return true;
}

bool tool_corpus_options_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus_options *options = command->corpus;
    if (options->unit == TOOL_UNIT_NONE)
        return options->other_given == NULL ||
               !tool_usage("%s goes with --unit document, paragraph or ngram",
                           options->other_given);
    if (!command->choice.layout.jsonl)
        return !tool_usage("--unit needs --jsonl PATH, the place of a document's text in its line");
    if (options->unit != TOOL_UNIT_NGRAM && (options->ngram > 0 || options->threshold > 0))
        return !tool_usage("--ngram and --threshold go with --unit ngram");
    if (options->shard_by_given && options->shards == 0)
        return !tool_usage("--shard-by goes with --shard I/N");
    if (options->shards > 0 && !options->shard_by_key && command->source.count == 0)
        return !tool_usage("--shard takes one of N parts of the inputs: name them");
    if (options->shard_by_key && options->unit == TOOL_UNIT_NGRAM)
        return !tool_usage("--shard-by key can't judge n-grams, since a paragraph's lie on all "
                           "machines; --shard-by files can");
    if (options->checkpoint != UINT64_MAX && options->output_dir == NULL)
        return !tool_usage("--checkpoint goes with --output-dir");
    return lines_fit(command) && rule_fits(&command->choice) && adds_fit(command);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: grep with a filter for a pattern. This file reads the command line and reports at the end;
 * query_run.c queries and prints lines, and confirm.c looks keys up in a sorted file.
 *
 * Of Q lines with a key, H may be in a filter of rate p. Of the A lines that were never added,
 * about A p are among these H. All others were never added: Q - H = A (1 - p), so
 *
 *     expected false positives = (Q - H) p / (1 - p)
 *
 * With a file that confirms, lines that it lacks were never added, and so A = Q - confirmed ones.
 */
#include "base/bits.h"
#include "base/experimental.h"
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/statistics.h"
#include "base/system.h"
#include "command/query/query.h"
#include "filter/files.h"
#include "filter/filter_file.h"
#include "filter/text_output.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The command line ------------------------------------------------------------------------ */

struct query {
    bool verify, json, positions;
    struct tool_dialect_choice dialect;
    const char *secret_file;
    const char *confirm;
    struct tool_rule_choice choice;
    uint32_t threads;
    size_t line_max;         /* 0: not given */
    struct tool_texts named; /* filters of -f */
    struct tool_texts keys;  /* of -k */
    struct tool_text_output output;
    struct tool_question question;
};

static const struct tool_option options[] = {
    {'f', "filter", "FILTER", TOOL_TEXTS(struct query, named),
     .help = "query this filter; repeatable. A line is printed if it is possibly in any of them",
     .more = "All operands are then inputs."},
    {'v', "invert", NULL, TOOL_FLAG(struct query, question.invert),
     .help = "print the lines that are definitely in none of the filters"},
    {'c', "count", NULL, TOOL_FLAG(struct query, question.count_only),
     .help = "print only the number of lines. If at least one false positive is expected "
             "among them, a note on standard error says how many"},
    {'q', "quiet", NULL, TOOL_FLAG(struct query, question.quiet),
     .help = "print nothing; stop at the first match",
     .more = "It also stops while the input stays open."},
    {'n', "line-number", NULL, TOOL_FLAG(struct query, question.line_numbers),
     .help = "prefix each line with its number in its input and a colon. Uses one thread"},
    {'H', "with-input", NULL, TOOL_FLAG(struct query, question.input_names),
     .help = "prefix each line with the name of its input and a colon. With -c, print a count of "
             "each input after its name",
     .more = "The name precedes the number of -n. Standard input is named (standard input), as "
             "in grep."},
    {'l', "list-inputs", NULL, TOOL_FLAG(struct query, question.list_inputs),
     .help = "print only the names of inputs with a line to print. Each input is read up to that "
             "line",
     .more = "Uses one thread."},
    {'m', "max-count", "N", TOOL_COUNT(struct query, question.most, 1, UINT64_MAX),
     .help = "print at most N lines of each input. Uses one thread",
     .more = "The rest of the last input is not read."},
    {'o', "output", "FILE", TOOL_TEXT(struct query, output.path),
     .help = "write FILE instead of standard output. FILE is written only after all input has "
             "been read; on any error it is left untouched. FILE may be an input. Its name says "
             "how it is compressed: .gz, .zst, .xz, .bz2, .lz4, .lz, .lzma",
     .more = "A file that is a filter is not replaced."},
    {'k', "key", "KEY", TOOL_TEXTS(struct query, keys),
     .help = "look up KEY; repeatable. Inputs are then read only if they are named. Other "
             "users can see KEY in the process list"},
    {0, "counts", NULL, TOOL_FLAG(struct query, question.counts),
     .help = "prefix each line with its count (adds minus removals) and a tab. A saturated "
             "count is 15+ (255+ with 8 bits). Takes exactly one counting filter",
     .more = "The count is never too low. It is too high as often as a line that was never "
             "added is printed."},
    {0, "with-filename", NULL, TOOL_FLAG(struct query, question.with_filename),
     .help = "prefix each match with the filter's name. A line that matches several filters is "
             "printed once for each. With -c, count for each filter"},
    {'j', "threads", "N", TOOL_SMALL(struct query, threads, 0, TOOL_THREADS_MAX),
     .help = "use N threads, 1 to 256 (default 0: one per core). The output and its order do "
             "not depend on N"},
    {'0', "null", NULL, TOOL_BYTE(struct query, question.delimiter, '\0'),
     .help = "end lines with NUL instead of newline, in input and output"},
    TOOL_MAX_LINE_ROW(struct query, line_max),
    TOOL_PROGRESS_ROW,
    {0, "verify", NULL, TOOL_FLAG(struct query, verify),
     .help = "first read the whole filters and compare all checksums. A damaged filter is an error",
     .more = "Without it, only the headers are checked. Damage in the bits can then hide keys "
             "that were added."},
    {0, "secret-file", "FILE", TOOL_TEXT(struct query, secret_file),
     .help = "read the secret from FILE, for filters that do not contain it"},
    {0, "confirm", "SORTED", TOOL_TEXT(struct query, confirm),
     .help = "accept a match only if its key is also in SORTED, a file of keys in the order of "
             "LC_ALL=C sort. This rejects all false positives. With -v, print all other lines. "
             "A line of SORTED is a key as text, before --hex, --int64, --int32 or --utf16. "
             "Alternatively, each line may be a record with the key in the field that the "
             "filter's rule names. A carriage return at its end is ignored, and so is case if "
             "the rule changes case. If SORTED is out of order, that is an error. If --confirm "
             "rejects more matches than the false-positive rate explains, a warning says so",
     .more = "SORTED must not be compressed; with -0, sort it with sort -z. Blanks around the "
             "key that --trim removes, and more fields after it, are allowed. If the rule "
             "changes case or reads hexadecimal digits, the key is looked up in lower and in "
             "upper case. If the key is not the first field, sort the file by that field "
             "(LC_ALL=C sort -t ';' -k 2,2). The answers are exact as long as the filter "
             "contains all keys of the file. Order is checked where the file is read, not "
             "throughout. If it rejects far more matches than the rate explains, its lines are "
             "other keys than the filter's, or the filter has more keys."},
    {0, "dialect", "D", TOOL_DIALECT(struct query, dialect),
     .help = "read filters of another system. D is NAME[,parameter=value...], as listed by "
             "'bloomery dialects'. Files with a magic number do not need it"},
    {0, "positions", NULL, TOOL_FLAG(struct query, positions),
     .help = "prefix each line with the positions of its bits in the filter, in probe order, "
             "and a tab. Absent lines are printed, too. A scalable filter prints a line for "
             "each layer, with the layer's number and a colon first",
     .more = "Repeated positions are not merged. Layer 0 is the oldest. Takes exactly one filter."},
    {0, "json", NULL, TOOL_FLAG(struct query, json),
     .help = "with -c, print one JSON object instead of the number. It has the count for each "
             "filter, the expected false positives, and the matches that --confirm rejected",
     .more = "It has the number of lines with a key (records) and without one (passed_over), "
             "and the requested number (count). It says how many false positives to expect "
             "among the lines that were found (expected_false_positives). For each filter it "
             "has the number of lines that are possibly in it (maybe_added), its "
             "false-positive rate (rate), and the false positives to expect. If reading all "
             "bits would take long, the rate is the planned one and rate_is_planned is true. "
             "With --confirm it has how many matches SORTED rejected, and how many it would "
             "reject by chance (rejected_by_confirm, expected_rejected)."},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_RULE_GROUPS(
        "How a line becomes a key, in this order. If the filter stores a key rule, you may "
        "omit these options. If given, --trim and those that change bytes must agree with the "
        "rule; the others describe this input. Field names, several fields, --header and "
        "--jsonl are never stored: repeat them, or query refuses the filter (exit code 2). "
        "Lines without a key, except the header, are not printed or counted, with or without "
        "-v.\n"
        "Of these options, only --trim and those that change bytes apply to a KEY of -k.",
        struct query, choice),
    TOOL_GROUPS_END,
};

/* Options that print text before lines of inputs, or in their place, go with lines of inputs. */
static bool grep_letters_fit(const struct query *query)
{
    const struct tool_question *question = &query->question;
    const bool placed = question->input_names || question->line_numbers;
    if (!placed && question->most == 0)
        return true;
    if (question->input_names && question->count_only && !question->line_numbers &&
        question->most == 0 && !question->quiet && !query->json && query->keys.count == 0)
        return !question->with_filename ||
               !tool_usage("-c counts by input (-H) or by filter (--with-filename), not both");
    if (question->count_only || question->quiet || query->positions || query->keys.count > 0)
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
        return !tool_usage("-o FILE is for lines; it does not go with -c or -q");
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
        tool_usage("--positions looks nothing up; it does not go with -v, -c, -q, --counts, "
                   "--with-filename or --confirm");
        return false;
    }
    return output_fits(query) && grep_letters_fit(query) && tool_rule_complete(&query->choice);
}

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
    return question->confirm != NULL;
}

/*
 * The pages of a mapped file have 4 KiB, and those of our own memory 2 MiB: 50 million lines in a
 * filter of 25 MB took 0.8 to 0.9 of the time in a copy, 10 million as long as before. A copy is
 * memory of this process, where a map is the system's and shared. So it is made where the inputs
 * are much larger than the filter, and up to a quarter of the memory that there is.
 */
static bool is_worth_a_copy(const struct tool_origin *origin, uint64_t input_bytes,
                            uint64_t *memory)
{
    enum { LEAST = 4 << 20, INPUTS_PER_FILTER = 4 };
    if (!origin->ours || origin->bytes < LEAST || origin->bytes > *memory ||
        input_bytes / INPUTS_PER_FILTER < origin->bytes)
        return false;
    *memory -= origin->bytes;
    return true;
}

static const bloomery_filter *open_filter(const struct query *query, const char *path,
                                          uint64_t input_bytes, uint64_t *memory)
{
    const bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    struct tool_filter_file file;
    struct stat facts;
    if (!tool_filter_file_open(&file, path, &query->dialect))
        return NULL;
    if (input_bytes > 0 && file.descriptor >= 0 && fstat(file.descriptor, &facts) == 0)
        file.origin.bytes = (uint64_t)facts.st_size;
    file.in_memory = is_worth_a_copy(&file.origin, input_bytes, memory);
    const bloomery_filter *filter =
        tool_filter_open_file(&file, opening, query->secret_file, &query->dialect, NULL);
    tool_filter_file_close(&file);
    return filter;
}

/* Opens all before reading any input: "in none" would be wrong if one were missing or damaged. */
static bool open_filters(struct query *query, uint64_t input_bytes)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    uint64_t memory = limits.room / 4;
    for (size_t f = 0; f < query->question.filter_count; f++) {
        struct tool_queried *queried = &query->question.filters[f];
        queried->filter = open_filter(query, queried->name, input_bytes, &memory);
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

/* ---- Positions ------------------------------------------------------------------------------- */

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

/* All records of a source; adds how many have a key. False if some can't be read. */
static bool print_source(struct printing *printing, const struct tool_source *source,
                         uint64_t *queried)
{
    struct tool_source alone = *source;
    alone.threads = 1;
    struct tool_chunks *chunks = tool_chunks_open(&alone, NULL);
    struct tool_chunk chunk = {0};
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    while (!tool_out_failed(printing->out) && tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while ((count = tool_chunk_keys(&chunk, records)) > 0)
            *queried += print_batch(printing, &chunk, records, count);
        tool_out_flush(printing->out);
    }
    tool_tally_place(&printing->made->tally, chunks);
    tool_chunk_free(&chunk);
    free(records);
    return tool_chunks_close(chunks);
}

/* Prints a line for each key of -k or of the source, in a chain one for each layer: the positions,
 * separated by blanks, a tab, and the record. */
static int print_positions(struct query *query, const struct tool_source *source)
{
    struct tool_question *question = &query->question;
    const bool of_keys = query->keys.count > 0;
    if (question->filter_count > 1)
        return tool_usage("--positions is for one filter, not %zu", question->filter_count);
    if (of_keys && source->count > 0)
        return tool_usage("--positions takes keys of -k or inputs, not both");
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(question->filters[0].filter, &info);
    if (info.kind == BLOOMERY_STATIC)
        return tool_usage("--positions: keys of a static filter have no bits of their own");
    const bloomery_key_rule rule =
        of_keys ? tool_rule_of_keys(&question->rules[0]) : question->rules[0];
    struct printing *printing = tool_allocate(sizeof(*printing));
    printing->filter = question->filters[0].filter;
    printing->rule = &rule;
    printing->made = tool_made_new();
    printing->out = &question->out;
    printing->delimiter = question->delimiter;
    printing->layers = info.layers;
    bool good = true;
    for (size_t i = 0; i < query->keys.count; i++) {
        const char *key = query->keys.list[i];
        const bloomery_key record = bloomery_key_of(key, strlen(key));
        question->queried += print_batch(printing, NULL, &record, 1);
    }
    if (!of_keys)
        good = print_source(printing, source, &question->queried);
    good = tool_tally_say(&printing->made->tally, &rule,
                          of_keys ? "such keys have no positions"
                                  : "such records have no positions") &&
           good;
    tool_made_free(printing->made);
    free(printing);
    const int code = question->queried > 0 ? TOOL_FOUND : TOOL_NONE;
    return good ? code : TOOL_ERROR;
}

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

/* False positives among the lines that are possibly in any filter; `rate`: the share of absent
 * lines that are. A file that confirms lets none through. */
static double expected_in_all(const struct tool_question *question, double *rate)
{
    double pass = 0; /* the logarithm of the share that all filters deny */
    for (size_t f = 0; f < question->filter_count; f++) {
        bool live;
        pass += log1p(-rate_of(&question->filters[f], &live));
    }
    const uint64_t found =
        question->invert ? question->queried - question->selected : question->selected;
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

/* Warns if the confirming file rejects more than false positives: then its lines are not the
 * filter's keys, and it denies everything. */
static void warn_of_rejected(const struct tool_question *question, const char *confirmed_by)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char chance[TOOL_NUMBER_BYTES];
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
                     confirmed_by, TOOL_SAY_COUNT(queried->rejected),
                     TOOL_SAY_COUNT(queried->hits + queried->rejected), queried->name,
                     format_expected(chance, expected),
                     queried->hits == 0 ? "Do its lines have the key elsewhere, or in another form?"
                                        : "The filter was built from more, or from another list");
    }
}

/* Chance alone finds some. If it should have found this many, none says more than "absent". */
enum { CHANCE_LEAST = 20 };

/* Whether the first bytes of a filter's bits are all `byte`: only then is it worth reading all. */
static bool begins_with(const bloomery_filter *filter, unsigned char byte)
{
    enum { LOOKED_AT = 4096 };
    const void *data;
    uint64_t bytes;
    if (bloomery_layer_span(filter, 0, &data, &bytes) != BLOOMERY_OK)
        return false;
    const unsigned char *at = data;
    for (uint64_t i = 0; i < bytes && i < LOOKED_AT; i++)
        if (at[i] != byte)
            return false;
    return true;
}

/* A filter without a set bit, or with all of them set, answers every key alike. With -v an empty
 * one may be meant: nothing was seen yet. */
static void warn_of_no_choice(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        const uint64_t found = queried->hits + queried->rejected;
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(queried->filter, &info);
        const bool none = found == 0;
        if (question->queried == 0 || (!none && found < question->queried) || !info.has_bits ||
            info.bytes > read_max || !begins_with(queried->filter, none ? 0 : 0xff))
            continue;
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(queried->filter, &scan);
        if (none && scan.bits_set == 0 && !question->invert)
            tool_notice("%s: is empty, so no line can match", queried->name);
        else if (!none && scan.bits_set == info.bits)
            tool_warning("%s: is full: all bits are set, so every line is reported as possibly in "
                         "it",
                         queried->name);
    }
}

static void warn_of_too_few(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char all[TOOL_NUMBER_BYTES], chance[TOOL_NUMBER_BYTES];
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
        if (empty && scan.bits_set == 0)
            continue; /* and was reported */
        if (!empty && (double)question->queried * scan.live_rate < CHANCE_LEAST)
            continue;
        tool_format_count(all, question->queried);
        format_expected(chance, expected);
        if (empty)
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s if the "
                        "filter is full. It holds about %s of the %s keys that it was planned for",
                        queried->name, all, chance, TOOL_SAY_ABOUT(scan.estimated_keys),
                        TOOL_SAY_COUNT(info.planned_keys));
        else
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s. They "
                        "are few distinct lines, or were chosen by a filter",
                        queried->name, all, chance);
    }
}

/* Says how many false positives are expected among a count, if it is one or more. */
static void say_expected(const struct tool_question *question)
{
    char number[TOOL_NUMBER_BYTES];
    double rate;
    if (question->confirm != NULL || question->queried == 0)
        return;
    const double expected = expected_in_all(question, &rate);
    if (expected < 1)
        return;
    tool_notice("about %s %s expected to be false positives (%s)",
                format_expected(number, expected),
                question->invert ? "more lines were never added, and are" : "of these are",
                TOOL_SAY_ODDS(rate));
}

/* Messages after all queries. False if some could not be answered. `confirmed_by`: the name of the
 * file that confirms; NULL: none. */
static bool say_rest(struct tool_question *question, const char *confirmed_by)
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
    if (!question->quiet) {
        warn_of_no_choice(question);
        warn_of_too_few(question);
    }
    if (question->count_only && !question->quiet)
        say_expected(question);
    return good;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* The counts of -c. */
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
    const struct tool_question *question = &query->question;
    const bool confirmed = query->confirm != NULL;
    struct tool_report *report = tool_report_start("query", (struct tool_report_form){0});
    double rate;
    const double expected = expected_in_all(question, &rate);
    tool_fact(report, "inverted", NULL, tool_yes(question->invert));
    tool_fact(report, "records", NULL, tool_count(question->queried));
    tool_fact(report, "passed_over", NULL, tool_count(question->passed_over));
    tool_fact(report, "count", NULL, tool_count(question->selected));
    tool_fact(report, "expected_false_positives", NULL, tool_number(expected));
    tool_fact(report, "all_read", NULL, tool_yes(all_read));
    if (confirmed)
        tool_fact(report, "confirmed_by", NULL, tool_text(query->confirm));
    struct tool_report *filters = tool_fact_list(report, "filters");
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        struct tool_report *filter = tool_fact_object(filters, NULL);
        bool live;
        const double of_filter = rate_of(queried, &live);
        const double false_ones = expected_of(question, queried, of_filter);
        tool_fact(filter, "file", NULL, tool_text(queried->name));
        tool_fact(filter, "maybe_added", NULL, tool_count(queried->hits));
        if (confirmed) {
            tool_fact(filter, "rejected_by_confirm", NULL, tool_count(queried->rejected));
            tool_fact(filter, "expected_rejected", NULL, tool_number(false_ones));
        }
        tool_fact(filter, "rate", NULL, tool_number(of_filter));
        tool_fact(filter, "rate_is_planned", NULL, tool_yes(!live));
        tool_fact(filter, "expected_false_positives", NULL,
                  tool_number(confirmed ? 0 : false_ones));
    }
    return tool_report_print(report, true, code);
}

/* ---- The query ------------------------------------------------------------------------------- */

static int run_query(struct query *query, char **inputs, size_t input_count)
{
    struct tool_source source = {.paths = inputs,
                                 .count = input_count,
                                 .delimiter = query->question.delimiter,
                                 .keep_going = true,
                                 .threads = query->threads,
                                 .line_max = query->line_max};
    /* Carriage returns are warned about if one of the filters takes them for part of a key. */
    const bloomery_key_rule *warning = &query->question.rules[0];
    for (size_t r = query->question.rule_count; r-- > 0;)
        if ((query->question.rules[r].flags & BLOOMERY_RULE_CRLF) == 0)
            warning = &query->question.rules[r];
    tool_source_lay_out(&source, &query->choice, warning);
    /* All filters get the same records: quotes are those of the first rule that has any. */
    for (size_t r = 0; r < query->question.rule_count && !source.quotes.heeded; r++)
        tool_source_quote(&source, &query->choice, &query->question.rules[r]);
    if (query->positions)
        return print_positions(query, &source);

    bool all_read = true;
    bool more = query->keys.count == 0 ||
                tool_query_keys(&query->question, query->keys.list, query->keys.count);
    if (more && !query->choice.keys_only)
        all_read = tool_query_source(&query->question, &source);

    /* Under -q, an answer needs no remarks on how it came. */
    if (!query->question.quiet || query->question.selected == 0)
        all_read = say_rest(&query->question, query->confirm) && all_read;
    if (query->question.quiet)
        return query->question.selected > 0 ? TOOL_FOUND : all_read ? TOOL_NONE : TOOL_ERROR;
    int code = !all_read ? TOOL_ERROR : query->question.selected > 0 ? TOOL_FOUND : TOOL_NONE;
    if (query->json)
        return print_json(query, all_read, code);
    if (query->question.count_only && !query->question.input_names)
        print_counts(&query->question);
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
    question->counter_max = info.counter_max > 0 ? info.counter_max : UINT32_MAX;
    if (!info.can_remove)
        tool_error("%s: a %s filter has no counters; --counts is for counting and cuckoo ones",
                   question->filters[0].name, bloomery_kind_name((int)info.kind));
    return info.can_remove;
}

/* The bytes of the inputs as they are, if all will be queried and their number is known; else 0. */
static uint64_t bytes_to_query(const struct query *query, char **inputs, size_t input_count)
{
    const struct tool_source source = {.paths = inputs, .count = input_count};
    struct stat facts;
    if (query->choice.keys_only || query->positions || query->question.quiet)
        return 0;
    if (input_count > 0)
        return tool_source_bytes(&source);
    return fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
}

static int query_filters(struct query *query, char **inputs, size_t input_count)
{
    query->choice.keys_only = query->keys.count > 0 && input_count == 0;
    if (!open_filters(query, bytes_to_query(query, inputs, input_count)) ||
        !can_count(&query->question))
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
    struct tool_question *question = &query->question;
    memset(query, 0, sizeof(*query));
    question->delimiter = '\n';
    query->dialect.ours_too = true;
    tool_out_start(&question->out);
    int code;
    const bool read = tool_options_read(argc, argv, query, &code);
    query->output.packs = query->output.path != NULL;
    if (question->list_inputs)
        question->most = 1;
    if (read && !fits_together(query))
        code = TOOL_ERROR;
    else if (read && query->named.count == 0 && optind == argc)
        code = tool_usage("no filter: name its file, as in 'bloomery query ids.bloom'");
    else if (read) {
        question->filter_count = query->named.count > 0 ? query->named.count : 1;
        const size_t count = question->filter_count;
        question->filters = tool_allocate(count * sizeof(*question->filters));
        memset(question->filters, 0, count * sizeof(*question->filters));
        for (size_t f = 0; f < query->named.count; f++)
            question->filters[f].name = query->named.list[f];
        if (query->named.count == 0)
            question->filters[0].name = argv[optind++];
        /* As many rules as filters, at most. */
        question->rules = tool_allocate(count * sizeof(*question->rules));
        question->tallies = tool_allocate(count * sizeof(*question->tallies));
        memset(question->tallies, 0, count * sizeof(*question->tallies));
        code = query_filters(query, argv + optind, (size_t)(argc - optind));
        if (code == TOOL_ERROR && query->named.count == 0)
            tool_hint_at_order(question->filters[0].name, argv + optind, (size_t)(argc - optind));
        if (code == TOOL_ERROR && query->keys.count == 0)
            hint_at_key(argv + optind, argc - optind);
    }
    for (size_t f = 0; f < question->filter_count; f++)
        bloomery_free(question->filters[f].filter);
    tool_confirm_close(question->confirm);
    tool_hint_free(question->hint);
    free(question->tallies);
    free(question->rules);
    free(question->filters);
    free(query->named.list);
    free(query->keys.list);
    free(query);
    return code;
}

const struct tool_command cmd_query = {
    .name = "query",
    .run = query_main,
    .summary = "print the lines that are possibly, or definitely not, in a filter",
    .synopsis = "bloomery query FILTER [INPUT...]\n"
                "bloomery query -f FILTER [-f FILTER]... [INPUT...]",
    .introduction =
        "Prints the lines of the inputs that are possibly in the Bloom filter, much as grep "
        "prints the lines that match a pattern. A line that is not printed is definitely not "
        "in the filter (a damaged file may hide keys: --verify). A line that was never added "
        "is printed with a small probability, the filter's false-positive rate. --confirm "
        "removes such lines. Without INPUT, or with '-', query reads standard input. "
        "Compressed inputs and archives are unpacked ('bloomery help build'). If the filter "
        "stores a rule for keys ('bloomery help build'), query follows it, and prints whole "
        "lines. Lines from a pipe are answered as they arrive.",
    .groups = groups,
    .epilogue = "Without --crlf, a carriage return at the end of a line is part of the key. A "
                "warning says so if the first line of an input ends with one.\n"
                "\n"
                "If all matches could be false positives, query retries some keys in other "
                "forms (case, blanks, hex, numbers, UTF-16, carriage returns). A hint on "
                "standard error names the form that matches.\n"
                "\n"
                "If another program overwrites a filter in place, the query ends with exit "
                "code 2, since later answers may be wrong. To replace a filter that is in use, "
                "write a new file and rename it over the old one (mv). Running queries "
                "continue with the old filter.\n"
                "\n"
                "Filters are memory-mapped, so processes share their pages. A filter of at "
                "least 4 MiB is instead copied into the process if the input files have at "
                "least four times its size. It must fit in a quarter of the memory that "
                "machine, container and ulimit allow.\n"
                "\n"
                "Exit code: 0 some line was printed (or would be, with -q or -c), 1 none, 2 an "
                "error. If one input fails, the others are still read.\n"
                "\n"
                "  bloomery query ids.bloom asked.txt\n"
                "  bloomery query -q -k 850101312345 ids.bloom && echo possibly\n"
                "  tail -F names.log | bloomery query listed.bloom\n"
                "  zcat log.gz | cut -f 3 | bloomery query -v -f seen.bloom -f banned.bloom",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedupe: the first occurrences of lines, in order; or what is new in documents.
 *
 * The order: refusals that need no reading; the locks; filter or table; what counts as seen; the
 * inputs. The state is locked before the file to append to, so that two processes of Bloomery never
 * wait for each other. A state is written last, when everything that it holds was delivered. If
 * anything ends the command before, the old state stays, and what was printed since comes again. A
 * command that lost its reader (SIGPIPE) ends so, too. A first signal that asks it to end
 * (system.h) ends the input, and the state is written.
 *
 * dedupe.h has a map of the other files.
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "base/system.h"
#include "command/dedupe/dedupe.h"
#include "filter/files.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NGRAM_MAX = 1000, WORDS_MAX = 1000000, SHARDS_MAX = 1000000, LEVEL_MAX = 22 };

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_exact(const char *option, const char *text, void *at)
{
    uint32_t *bits = at;
    *bits = text == NULL || strcmp(text, "64") == 0 ? 64 : 128;
    return *bits == 64 || strcmp(text, "128") == 0 ||
           !tool_usage("%s is 64 or 128 (bits of a fingerprint), not '%s'", option, text);
}

static bool take_threshold(const char *option, const char *text, void *at)
{
    char *end;
    const double share = strtod(text, &end);
    if (end == text || *end != '\0' || !(share > 0 && share <= 1) ||
        share * TOOL_THRESHOLD_ONE < 0.5)
        return !tool_usage("%s is a share of n-grams above 0 and up to 1, not '%s'", option, text);
    *(uint32_t *)at = (uint32_t)(share * TOOL_THRESHOLD_ONE + 0.5);
    return true;
}

static bool take_near(const char *option, const char *text, void *at)
{
    char *end;
    const double similarity = strtod(text, &end);
    if (end == text || *end != '\0' || !(similarity > 0 && similarity < 1))
        return !tool_usage("%s is a similarity above 0 and below 1, such as 0.8, not '%s'; without "
                           "it, --unit document drops equal texts",
                           option, text);
    *(double *)at = similarity;
    return true;
}

static bool take_id(const char *option, const char *text, void *at)
{
    return tool_json_path_parse(text, at) ||
           !tool_usage("%s '%s': is not a path to a member, such as id or meta.url", option, text);
}

static bool take_annotate(const char *option, const char *text, void *at)
{
    const char *name = text != NULL ? text : "bloomery";
    *(const char **)at = name;
    for (const char *byte = name; *byte != '\0'; byte++)
        if (*byte == '"' || *byte == '\\' || (unsigned char)*byte < 0x20)
            return !tool_usage("%s=NAME: the name has no quotes, backslashes or control characters",
                               option);
    if (strlen(name) > TOOL_ANNOTATE_MAX)
        return !tool_usage("%s=NAME: the name has more than %d bytes", option, TOOL_ANNOTATE_MAX);
    return name[0] != '\0' || !tool_usage("%s=NAME: the name is empty", option);
}

/* I/N, from 1/1 on. */
static bool take_shard(const char *option, const char *text, void *at)
{
    struct tool_corpus *corpus = at;
    char *end;
    const unsigned long long shard = strtoull(text, &end, 10);
    const char *second = end + (*end == '/');
    const unsigned long long shards = strtoull(second, &end, 10);
    if (second == text || *end != '\0' || second[-1] != '/' || *text < '0' || *text > '9' ||
        *second < '0' || *second > '9' || shard < 1 || shard > shards || shards > SHARDS_MAX)
        return !tool_usage("%s is I/N, the I-th of N parts, such as 1/4, not '%s'", option, text);
    corpus->shard = (uint32_t)(shard - 1);
    corpus->shards = (uint32_t)shards;
    return true;
}

#define OWN    struct tool_dedupe_command
#define CORPUS struct tool_corpus

static const struct tool_option options[] = {
    {'n', "keys", "N", TOOL_COUNT(OWN, keys, 1, TOOL_KEYS_MAX),
     .help = "plan for N distinct lines (default: estimated from a sample of the input files, "
             "plus 5 %). Lines are distinct if their keys differ. For pipes and compressed "
             "inputs the default is one million, or 65,536 with --state. With --on-full=stop "
             "or pass and without --memory, the plan counts all lines, repeated ones included. "
             "A pipe or a compressed input then needs -n",
     .more = "The sample is read at up to 64 places of the input files. A key that occurs at "
             "one place is extrapolated to the parts that were not read; a key that occurs at "
             "several places counts once. So the estimate is too high rather than too low, "
             "and if it is too low the filter grows. If the sample shows that many lines may be "
             "repeated, plain files from 8 MiB to half of the memory are read twice, and their "
             "distinct lines are counted first. The report says how many distinct lines the "
             "plan was made for."},
    {'p', "rate", "RATE", TOOL_RATE(OWN, rate),
     .help = "set the filter's false-positive rate once it is full (default 1e-6). Write it "
             "as 1e-6, 0.01% or 1/1000"},
    {0, "memory", "SIZE", TOOL_SIZE(OWN, memory),
     .help = "limit the memory for remembered lines (512MiB, 2GB). Alone or with -p, plan for "
             "as many lines as fit. With -n, plan for the lowest rate that fits"},
    {0, "on-full", "=WHAT", TOOL_CHOICE(OWN, on_full, TOOL_ON_FULL_WORDS),
     .help = "choose what happens if there are more distinct lines than planned:\n"
             "grow\tadd a layer of twice the size (default). The rate of all layers together "
             "stays below RATE. With --memory, if the next layer would not fit in SIZE, the "
             "run ends as with stop\n"
             "stop\twhen the rate reaches twice RATE, print the lines kept so far and end with "
             "exit code 2 (default with --memory)\n"
             "pass\tremember no more lines. A line that is not remembered is printed each time "
             "it occurs",
     .more = "A message says how full the filter is. The report counts the lines that pass."},
    {0, "exact", "[=BITS]", TOOL_CALL(OWN, exact, take_exact), .words = "64|128",
     .help = "remember a fingerprint of each line instead of a filter: 64 bits (default) or "
             "128. This takes 11 to 21 bytes per distinct line, or twice that with 128 bits. "
             "A wrong drop is practically impossible",
     .more = "Of n distinct lines, about n^2 / 2^65 are dropped wrongly, or "
             "n^2 / 2^129 with 128 bits."},
    {'v', "invert", NULL, TOOL_FLAG(OWN, dedupe.invert),
     .help = "print the dropped lines instead of the kept ones. With --unit, print the "
             "dropped documents and the text that is cut out of others",
     .more = "Each paragraph that is cut out is printed in its document's line."},
    {'c', "count", NULL, TOOL_FLAG(OWN, dedupe.count_only),
     .help = "print only how many lines are kept. With -v, print how many are dropped"},
    {'o', "output", "FILE", TOOL_TEXT(OWN, output.path),
     .help = "write FILE instead of standard output. FILE is written only after all input has "
             "been read. After a failure to read or write, a signal or a stop by --on-full, it "
             "is left untouched. FILE may be an input. Its name says how it is compressed: "
             ".gz, .zst, .xz, .bz2, .lz4, .lz, .lzma",
     .more = "A file that is a filter is not replaced. --state is then written only if FILE is."},
    {0, "level", "N", TOOL_SMALL(OWN, output.level, 1, LEVEL_MAX),
     .help = "compress output at level N: 1 to 22 for zstd (default 3), 1 to 9 for the others "
             "(default 6 for gzip)",
     .more = "It is for -o and --output-dir."},
    {0, "files-from", "FILE", TOOL_TEXTS(OWN, files_from),
     .help = "read paths of further inputs from FILE, one per line, '-' for standard input; "
             "repeatable. If FILE has NUL bytes, as find -print0 writes them, these end the paths",
     .more = "The inputs of the command's line come first. A list that names no inputs is an "
             "error. Archives and filters are not lists."},
    {0, "against", "X", TOOL_TEXTS(OWN, againsts),
     .help = "also drop lines that are in X, a filter or a file; repeatable",
     .more = "For a filter, keys are made by its own rule, and nothing is added to it. Lines "
             "of a file are remembered like those of the inputs, also in the state."},
    {0, "append", "FILE", TOOL_TEXT(OWN, append),
     .help = "drop lines that are in FILE, and append kept lines to it. Kept lines are printed, "
             "too. FILE is created if it does not exist",
     .more = "If FILE does not end in a newline, one is written first. FILE is locked during the "
             "run. If a write fails, FILE is cut back to whole lines."},
    {0, "state", "FILE", TOOL_TEXT(OWN, state),
     .help = "start with the lines remembered in FILE, and save the filter there at the end. "
             "It is saved after everything has been printed, also when a full filter stops the "
             "run. With --unit, a run that a full filter stops leaves FILE as it was. A new state "
             "starts small, grows, and keeps the rate of its first run. After SIGINT, SIGTERM or "
             "SIGHUP, dedupe stops reading, finishes its output and saves the state. A second "
             "signal ends the run at once, and the old state stays",
     .more = "If FILE does not exist, or is empty, it is created. Size, rate and the rule for "
             "keys are those of the first run; other values of -n and -p are ignored with a "
             "warning. After a signal, the lines that were read are printed and the state is "
             "saved; then the command ends by that signal. The old state stays if the reader "
             "of the output goes away, the disk is full, an input can't be read, or the "
             "command is killed otherwise. The next run then prints the lines since the old "
             "state again. The state is a filter like any other: query and inspect read it."},
    {0, "keyed", NULL, TOOL_FLAG(OWN, keyed),
     .help = "hash with a random secret, drawn for this run. Use it if others supply the "
             "lines. Without it, they can choose lines that cause other lines to be dropped, "
             "or that slow down --exact and --unit ngram. A new state stores the secret, and "
             "only its owner can read the file. An existing state must be keyed already. "
             "Filters given with --against keep their own hashes, and are only protected if "
             "they are keyed",
     .more = "It works with all units, with --exact and with --append, whose file is hashed "
             "anew in each run."},
    {0, "secret-file", "FILE", TOOL_TEXT(OWN, secret_file),
     .help = "read the secret from FILE, for filters given with --state or --against that do "
             "not contain it. With --keyed, store the secret of a new state there. If FILE "
             "does not exist, it is created",
     .more = "A new FILE gets a random secret."},
    {'j', "threads", "N", TOOL_SMALL(OWN, source.threads, 0, TOOL_THREADS_MAX),
     .help = "use N threads, 1 to 256 (default 0: one per core). The output and its order do "
             "not depend on N"},
    {'0', "null", NULL, TOOL_BYTE(OWN, source.delimiter, 0),
     .help = "end lines with NUL instead of newline, in input and output"},
    TOOL_MAX_LINE_ROW(OWN, source.line_max),
    TOOL_PROGRESS_ROW,
    {'q', "quiet", NULL, TOOL_FLAG(OWN, quiet), .help = "print no report at the end"},
    {0, "json", NULL, TOOL_FLAG(OWN, json),
     .help = "print the report as one JSON object, with unrounded numbers. It goes to "
             "standard error, or with -c to standard output in place of the number"},
    TOOL_OPTIONS_END,
};

static const struct tool_option corpus_options[] = {
    {0, "unit", "UNIT", TOOL_CHOICE(CORPUS, unit, "document|paragraph|ngram"),
     .help = "choose what to remove from documents, whose text is at --jsonl PATH (which may be "
             "given for each of several texts):\n"
             "document\ta document whose text is repeated, or with --near similar\n"
             "paragraph\ta line of a text that is repeated, and a document with nothing left\n"
             "ngram\ta paragraph or a document in which too many n-grams (sequences of N "
             "words) are repeated",
     .more = "Words are divided by Unicode's word boundaries."},
    {0, "ngram", "N", TOOL_SMALL(CORPUS, ngram, 1, NGRAM_MAX),
     .help = "set the words per n-gram (default 13; 5 with --near). A text of fewer words is "
             "one n-gram"},
    {0, "threshold", "T", TOOL_CALL(CORPUS, threshold, take_threshold),
     .help = "remove a paragraph or a document if a share of at least T of its n-grams is "
             "repeated (default 0.8)",
     .more = "It is above 0 and up to 1."},
    {0, "near", "T", TOOL_CALL(CORPUS, near.threshold, take_near),
     .help = "with --unit document, drop texts that are similar to an earlier one. T is the "
             "least Jaccard similarity, such as 0.8: the number of n-grams in both texts, "
             "divided by the number in at least one",
     .more = "Texts are compared by MinHash signatures, whose bands are the keys of the filter: "
             "docs/near.md. -n is then the number of documents, and -p the rate of documents that "
             "the filter drops wrongly (default 1e-5)."},
    {0, "permutations", "N", TOOL_SMALL(CORPUS, near.permutations, 1, BLOOMERY_NEAR_VALUES_MAX),
     .help = "with --near, set the number of values in a signature (default 128)"},
    {0, "bands", "B", TOOL_SMALL(CORPUS, near.forced_bands, 1, BLOOMERY_NEAR_VALUES_MAX),
     .help = "divide signatures into B bands (default: chosen for T). A text is dropped if any of "
             "its bands was seen. Needs --rows"},
    {0, "rows", "R", TOOL_SMALL(CORPUS, near.forced_rows, 1, BLOOMERY_NEAR_VALUES_MAX),
     .help = "set the number of values in a band. Needs --bands"},
    {0, "add-all", NULL, TOOL_FLAG(CORPUS, add_all),
     .help = "with --near, remember dropped texts, too (default: only kept ones)",
     .more = "A text that is similar only to a dropped one is then dropped as well."},
    {0, "min-words", "N", TOOL_SMALL(CORPUS, min_words, 1, WORDS_MAX),
     .help = "keep texts or paragraphs of fewer than N words without comparing them, such as "
             "headings and list items",
     .more = "Their keys are not added either. Words are those of --unit ngram."},
    {0, "annotate", "[=NAME]", TOOL_CALL(CORPUS, annotate, take_annotate),
     .help = "remove nothing; instead, add a member NAME (default bloomery) to documents with "
             "repeated text. It lists the repeated spans in code points; with --near, in documents "
             "that would be dropped, it says how many of their bands were seen",
     .more = "It is the document's last member: {\"spans\":[[start,end,share],...],\"drop\":true}. "
             "With --near it is {\"bands\":11,\"of\":11,\"similarity\":1,\"drop\":true}: the "
             "bands that were seen, all bands, and a rough estimate of the similarity."},
    {0, "removed", "FILE", TOOL_TEXT(CORPUS, removed),
     .help = "list in FILE what is removed, one JSON line for each span and each dropped document. "
             "It has file, line, id, span in code points, and the filter of --against with it",
     .more = "A filter does not know which document had a text, so a repeat within the inputs has "
             "no member \"against\". FILE is written whole or not at all; with --output-dir it "
             "grows with each input that is done, is not compressed, and is part of what a run "
             "continues."},
    {0, "id", "PATH", TOOL_CALL(CORPUS, id, take_id),
     .help = "with --removed, name documents by the string or number at PATH (default id)"},
    {0, "no-add", NULL, TOOL_FLAG(CORPUS, no_add),
     .help = "compare only with --against (decontamination). The inputs are not remembered, so "
             "repeats among them are kept",
     .more = "X is then a filter or a file of documents."},
    {0, "output-dir", "DIR", TOOL_TEXT(CORPUS, output_dir),
     .help = "write one file in DIR for each input, completely or not at all. It has the "
             "input's name and compression. If inputs in different folders have the same name, "
             "the part of each path that differs is recreated under DIR, for all inputs. To "
             "continue an interrupted run, start it again",
     .more = "DIR/.bloomery-dedupe records which inputs are done. The same command, started "
             "again, continues with the next one."},
    {0, "base", "DIR", TOOL_TEXT(CORPUS, base),
     .help = "with --output-dir, recreate the folders of inputs below DIR: with --base in, the "
             "output of in/en/000.jsonl is en/000.jsonl",
     .more =
         "All inputs must be below DIR. The names of outputs then do not depend on the names of "
         "other inputs."},
    {0, "checkpoint", "SECONDS", TOOL_SECONDS(CORPUS, checkpoint, true),
     .help = "save the filter in DIR when an input is done and SECONDS have passed since the "
             "last time (default 600). Units are allowed: 30s, 5m, 1h",
     .more = "When a run continues, inputs that were done after the last save are read again."},
    {0, "dry-run", NULL, TOOL_FLAG(CORPUS, dry_run),
     .help = "read a sample, and only print the expected memory, time and wrong removals",
     .more = "It shows the memory of filters of several rates."},
    {0, "shard", "I/N", TOOL_CALL_WHOLE(take_shard),
     .help = "process part I of N of the inputs, for N machines. I is 1 to N",
     .more = "I counts from 1."},
    {0, "shard-by", "WHAT", TOOL_CHOICE(CORPUS, shard_by, "files|key"),
     .help = "divide by files or by key (default files). With key, each shard reads all "
             "inputs and compares one in N of their texts or paragraphs",
     .more = "With files, a shard is a contiguous range of the inputs. With key, N runs, each "
             "over the output of the one before, give the result of a single run."},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_RULE_GROUPS(
        "Which part of a line is compared; the whole line is printed. Lines without a key are "
        "always kept. --skip-empty drops blank lines:",
        struct tool_dedupe_command, choice),
    {.title = "For text collections in JSON lines, one document per line:",
     .rows = corpus_options,
     .offset = TOOL_MEMBER(struct tool_dedupe_command, corpus, struct tool_corpus)},
    TOOL_GROUPS_END,
};

/* ---- Whether options go together ------------------------------------------------------------- */

/* Keys are made of texts: only what changes a text is of use. */
static bool rule_fits(const struct tool_rule_choice *choice)
{
    if ((choice->rule.flags & ~TOOL_RULES_OF_TEXT) == 0 && choice->rule.comment == 0 &&
        !choice->field_given && !choice->delimiter_given && !choice->layout.header &&
        choice->layout.field_count == 0)
        return true;
    return !tool_usage(
        "of the options for keys, --unit takes only --jsonl, --trim, --lower and --upper");
}

static bool lines_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus *corpus = &command->corpus;
    if (command->dedupe.count_only)
        return !tool_usage("-c is for lines; the report of --unit has all counts");
    if (command->dedupe.invert && corpus->annotate != NULL)
        return !tool_usage("--annotate keeps all text, and -v prints what is removed: give one");
    if (command->append != NULL)
        return !tool_usage("--append is for lines; with --unit, --against takes documents");
    if (command->source.delimiter != '\n')
        return !tool_usage("-0 is for lines; documents end with line ends");
    if (corpus->output_dir != NULL && command->output.path != NULL)
        return !tool_usage("-o takes all documents, --output-dir a file for each input: give one");
    if (corpus->output_dir != NULL && command->source.count == 0)
        return !tool_usage("--output-dir writes a file for each input: name the inputs");
    return true;
}

static bool adds_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus *corpus = &command->corpus;
    if (!corpus->no_add)
        return true;
    if (command->againsts.count == 0)
        return !tool_usage("--no-add compares only with --against: give it");
    if (command->state != NULL || command->exact > 0)
        return !tool_usage("--no-add remembers nothing: it does not go with --state or --exact");
    return true;
}

/* The first option that goes with --unit alone; NULL: none was given. */
static const char *first_of_corpus(const struct tool_corpus *corpus)
{
    const struct {
        bool given;
        const char *name;
    } all[] = {
        {corpus->ngram > 0, "--ngram"},
        {corpus->threshold > 0, "--threshold"},
        {tool_corpus_is_near(corpus), "--near"},
        {corpus->near.permutations > 0, "--permutations"},
        {corpus->near.forced_bands > 0, "--bands"},
        {corpus->near.forced_rows > 0, "--rows"},
        {corpus->add_all, "--add-all"},
        {corpus->min_words > 0, "--min-words"},
        {corpus->annotate != NULL, "--annotate"},
        {corpus->no_add, "--no-add"},
        {corpus->output_dir != NULL, "--output-dir"},
        {corpus->base != NULL, "--base"},
        {corpus->removed != NULL, "--removed"},
        {corpus->id.steps > 0, "--id"},
        {corpus->checkpoint >= 0, "--checkpoint"},
        {corpus->dry_run, "--dry-run"},
        {corpus->shards > 0, "--shard"},
        {corpus->shard_by >= 0, "--shard-by"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].given)
            return all[i].name;
    return NULL;
}

/* What goes with --near alone, and what does not. */
static bool near_fits(const struct tool_corpus *corpus)
{
    const bloomery_near *near = &corpus->near;
    if (!tool_corpus_is_near(corpus))
        return (near->permutations == 0 && near->forced_bands == 0 && near->forced_rows == 0 &&
                !corpus->add_all) ||
               !tool_usage("--permutations, --bands, --rows and --add-all go with --near");
    if (corpus->unit != TOOL_COMPARED_DOCUMENTS)
        return !tool_usage("--near compares whole texts: it goes with --unit document");
    if (corpus->ngram > BLOOMERY_NEAR_WORDS_MAX)
        return !tool_usage("--near takes runs of up to %u words (--ngram)",
                           BLOOMERY_NEAR_WORDS_MAX);
    if (corpus->add_all && corpus->no_add)
        return !tool_usage("--no-add adds nothing, and --add-all everything: give one");
    if (corpus->shard_by == TOOL_SHARD_BY_KEY)
        return !tool_usage("--shard-by key can't judge near-duplicates, since a text's bands lie "
                           "on all machines; --shard-by files can");
    return true;
}

static bool documents_fit(const struct tool_dedupe_command *command)
{
    const struct tool_corpus *corpus = &command->corpus;
    const bool by_key = corpus->shard_by == TOOL_SHARD_BY_KEY;
    const char *other = first_of_corpus(corpus);
    if (corpus->unit == TOOL_COMPARED_LINES && command->choice.more_count > 0)
        return !tool_usage(
            "--jsonl is given twice: a line has one key; with --unit, a document may "
            "have several texts");
    if (corpus->unit == TOOL_COMPARED_LINES)
        return other == NULL ||
               !tool_usage("%s goes with --unit document, paragraph or ngram", other);
    if (!command->choice.layout.jsonl)
        return !tool_usage("--unit needs --jsonl PATH, the place of a document's text in its line");
    if (corpus->unit != TOOL_COMPARED_NGRAMS &&
        ((corpus->ngram > 0 && !tool_corpus_is_near(corpus)) || corpus->threshold > 0))
        return !tool_usage("--ngram and --threshold go with --unit ngram%s",
                           tool_corpus_is_near(corpus) ? "; the threshold of --near is its number"
                                                       : "");
    if (!near_fits(corpus))
        return false;
    if (corpus->shard_by >= 0 && corpus->shards == 0)
        return !tool_usage("--shard-by goes with --shard I/N");
    if (corpus->shards > 0 && !by_key && command->source.count == 0)
        return !tool_usage("--shard takes one of N parts of the inputs: name them");
    if (by_key && corpus->unit == TOOL_COMPARED_NGRAMS)
        return !tool_usage(
            "--shard-by key does not work with n-grams, because those of a paragraph are on "
            "all machines; use --shard-by files");
    if (corpus->removed == NULL && corpus->id.steps > 0)
        return !tool_usage("--id names documents in the file of --removed: give it");
    if (corpus->base != NULL && corpus->output_dir == NULL)
        return !tool_usage("--base goes with --output-dir");
    if (corpus->checkpoint >= 0 && corpus->output_dir == NULL)
        return !tool_usage("--checkpoint goes with --output-dir");
    return lines_fit(command) && rule_fits(&command->choice) && adds_fit(command);
}

/* Standard input can be read once. */
static bool stdin_is_read_once(const struct tool_dedupe_command *command)
{
    size_t readers = command->source.count == 0;
    for (size_t i = 0; i < command->source.count; i++)
        readers += tool_path_is_stdin(command->source.paths[i]);
    size_t against = 0;
    for (size_t i = 0; i < command->againsts.count; i++)
        against += tool_path_is_stdin(command->againsts.list[i]);
    for (size_t i = 0; i < command->files_from.count; i++)
        against += tool_path_is_stdin(command->files_from.list[i]);
    if (against == 0 || readers + against == 1)
        return true;
    tool_usage("standard input can be read only once: as an input, for --against or for "
               "--files-from");
    return false;
}

/* The file that -o names is replaced, so nothing else may be written to it. */
static bool output_fits(const struct tool_dedupe_command *command)
{
    const char *const others[] = {command->state, command->append, command->secret_file};
    if (command->output.level > 0 && !tool_text_output_is_file(&command->output) &&
        command->corpus.output_dir == NULL)
        return !tool_usage("--level is for -o FILE and --output-dir");
    if (command->output.path != NULL && command->dedupe.count_only)
        return !tool_usage("-o FILE is for lines; -c prints a number");
    for (size_t i = 0; i < 3 && tool_text_output_is_file(&command->output); i++)
        if (others[i] != NULL && tool_same_file(command->output.path, others[i]))
            return !tool_usage("-o and another option name the same file, %s", others[i]);
    return true;
}

/* Nor may the file of --removed be another one that is read or written. */
static bool removed_fits(const struct tool_dedupe_command *command)
{
    const char *removed = command->corpus.removed;
    const char *const others[] = {command->state, command->secret_file, command->output.path};
    const struct tool_texts *const lists[] = {&command->againsts, &command->files_from};
    if (removed == NULL)
        return true;
    if (tool_path_is_stdin(removed))
        return !tool_usage("--removed needs a file, not '-'");
    const char *same = NULL;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i] != NULL && tool_same_file(removed, others[i]))
            same = others[i];
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            if (tool_same_file(removed, lists[i]->list[j]))
                same = lists[i]->list[j];
    for (size_t i = 0; i < command->source.count && same == NULL; i++)
        if (tool_same_file(removed, command->source.paths[i]))
            same = command->source.paths[i];
    if (same != NULL)
        return !tool_usage("--removed and another option or an input name the same file, %s", same);
    if (command->corpus.output_dir != NULL && tool_path_is_packed(removed))
        return !tool_usage(
            "--removed grows with each input of --output-dir, and is not compressed: "
            "give %s another name",
            removed);
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
        return !tool_usage(
            "--on-full with --exact needs --memory, which decides when the table is full");
    if (command->exact > 0 && command->state != NULL)
        return !tool_usage("--state stores a filter; --exact does not have one");
    if (command->state != NULL && tool_path_is_stdin(command->state))
        return !tool_usage("--state needs a file, not '-'");
    if (command->secret_file != NULL && command->state == NULL && command->againsts.count == 0)
        return !tool_usage("--secret-file is for the filters of --state and --against");
    if (command->state != NULL && command->secret_file != NULL &&
        tool_same_file(command->state, command->secret_file))
        return !tool_usage("--state and --secret-file name the same file, %s", command->state);
    if (command->append != NULL && command->choice.layout.header)
        return !tool_usage(
            "--append would add the header to FILE again in each run; leave out --header, "
            "and remove the first lines with tail -n +2");
    if (command->append != NULL && tool_path_is_stdin(command->append))
        return !tool_usage("--append needs a file; what is kept is printed on standard output");
    if (command->state != NULL && command->append != NULL &&
        tool_same_file(command->state, command->append))
        return !tool_usage("--state and --append name the same file, %s", command->state);
    return output_fits(command) && stdin_is_read_once(command) && documents_fit(command) &&
           removed_fits(command);
}

/* ---- The run --------------------------------------------------------------------------------- */

/* Whether an input is the open output file: reading it would never end. */
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
        !tool_text_output_is_file(&command->output) && command->corpus.output_dir == NULL;
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
    const bool good = tool_dedupe_learn(&command->dedupe, &lists);
    tool_seen_restart(&command->seen);
    return good;
}

static bool write_out(void *context, const void *data, size_t bytes)
{
    struct tool_out *out = context;
    tool_out_bytes(out, data, bytes);
    return tool_out_flush(out);
}

static void say_full(const struct tool_dedupe_command *command)
{
    const struct tool_dedupe_counts *counts = &command->dedupe.counts;
    tool_seen_say_full(&command->seen, counts->records, counts->records - counts->dropped);
}

/* Ends the outputs: everything that was to be delivered is on its way. A file is written only if
 * that is all there is (`whole`). The number that -c prints comes now. Returns whether all was
 * delivered. */
static bool finish_output(struct tool_dedupe_command *command, bool whole)
{
    const struct tool_dedupe_counts *counts = &command->dedupe.counts;
    bool delivered = whole;
    if (command->corpus.output_dir != NULL)
        return delivered;
    if (command->dedupe.removed != NULL)
        delivered = whole =
            tool_text_output_finish(&command->corpus.removed_file, command->dedupe.removed,
                                    whole ? TOOL_FOUND : TOOL_ERROR) == TOOL_FOUND;
    if (whole || tool_text_output_is_file(&command->output) || tool_out_failed(&command->out)) {
        if (command->dedupe.count_only && !command->json)
            tool_out_format(&command->out, "%llu\n",
                            (unsigned long long)(command->dedupe.invert
                                                     ? counts->dropped
                                                     : counts->records - counts->dropped));
        const int code = tool_text_output_finish(&command->output, &command->out,
                                                 whole ? TOOL_FOUND : TOOL_ERROR);
        delivered = code == TOOL_FOUND;
    }
    if (command->append != NULL)
        delivered = tool_appended_close(&command->appended) && delivered;
    return delivered;
}

/* After the inputs, of which all were read if it is `whole`. Lines are delivered before a state
 * records them, and the state is written before it is reported. Returns the exit code. */
static int finish(struct tool_dedupe_command *command, bool whole)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    const bool documents = tool_dedupe_takes_documents(command);
    const bool to_directory = command->corpus.output_dir != NULL;
    const bool to_file = tool_text_output_is_file(&command->output);
    const bool early = command->json && dedupe->count_only;
    /* When the filter is full, what was printed before is delivered, and a file is not written. */
    if (dedupe->stopped && to_file)
        say_full(command);
    const bool compared =
        documents
            ? tool_corpus_was_compared(command, whole)
            : !whole || tool_tally_has_keys(&dedupe->tally, &dedupe->rule,
                                            dedupe->counts.records - dedupe->counts.without_key);
    bool good = whole && compared;
    const bool delivered = finish_output(
        command, (good || (dedupe->stopped && !to_file && !to_directory)) && !dedupe->failed);
    if (delivered && early && tool_dedupe_report(command, TOOL_FOUND) != TOOL_FOUND)
        return TOOL_ERROR;
    /* What was seen when it was full has keys of documents that were not delivered. */
    const bool saves = delivered && !(documents && dedupe->stopped) && !command->corpus.left_out;
    const bool saved = saves && tool_dedupe_save_state(command) &&
                       (!to_directory || tool_journal_end(&command->corpus.journal));
    good = good && delivered && (saved || !saves);
    if (saved && good && tool_interrupt_came(dedupe->interrupt) && !command->quiet)
        tool_say("dedupe: %s ended the input; %s has what came before it", tool_interrupt_name(),
                 command->state != NULL ? command->state : command->append);
    if (!saves && command->state != NULL && !command->state_made)
        tool_say("%s was not changed", command->state);
    if (!delivered && !documents)
        return TOOL_ERROR;
    if (dedupe->stopped && !to_file)
        say_full(command);
    good = tool_tally_say(&dedupe->tally, &dedupe->rule, "it was printed unchecked") && good;
    int code = good && !command->corpus.left_out ? TOOL_FOUND : TOOL_ERROR;
    if (delivered && !early && (saved || !saves || !documents))
        code = tool_dedupe_report(command, code);
    if (to_directory && compared && code != TOOL_FOUND)
        tool_say("dedupe: %zu of %zu inputs are done%s", command->corpus.journal.done_count,
                 command->source.count,
                 dedupe->stopped ? "" : "; the same command goes on from there");
    return code;
}

static bool begin_removed(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    corpus->removed_file = (struct tool_text_output){
        .path = corpus->removed, .packs = true, .level = command->output.level};
    tool_out_start(&corpus->removed_out);
    command->dedupe.removed = &corpus->removed_out;
    return tool_text_output_begin(&corpus->removed_file, &corpus->removed_out);
}

static int run(struct tool_dedupe_command *command)
{
    struct tool_dedupe *dedupe = &command->dedupe;
    const bool to_file = tool_text_output_is_file(&command->output);
    if (command->corpus.output_dir != NULL)
        return finish(command, tool_corpus_run_inputs(command));
    if (!tool_text_output_begin(&command->output, &command->out))
        return TOOL_ERROR;
    dedupe->write = write_out;
    dedupe->context = &command->out;
    if (command->corpus.removed != NULL && !begin_removed(command)) {
        tool_text_output_drop(&command->output);
        return TOOL_ERROR;
    }
    if (command->json && tool_dedupe_takes_documents(command)) {
        const size_t bytes = tool_source_count(&command->source) * sizeof(*dedupe->of_inputs);
        dedupe->of_inputs = tool_allocate(bytes);
        memset(dedupe->of_inputs, 0, bytes);
    }
    bool good = tool_dedupe_takes_documents(command) || learn_lists(command);
    /* A file that is written whole has nothing of an input that was cut off. */
    if (good && (command->state != NULL || command->append != NULL) && !to_file)
        dedupe->interrupt = tool_interrupt_take();
    good = good && tool_dedupe_run(dedupe, &command->source);
    return finish(command, good);
}

/* What is locked, made and read before the first output. False if the command ends with *code. */
static bool prepare(struct tool_dedupe_command *command, int *code)
{
    *code = TOOL_ERROR;
    command->dedupe.silent = !tool_progress_is_shown(
        command->corpus.output_dir == NULL && !tool_text_output_is_file(&command->output) &&
        tool_progress_is_in_the_way(!command->dedupe.count_only));
    if (!tool_dedupe_sort_againsts(command))
        return false;
    if (tool_dedupe_takes_documents(command))
        return output_is_no_input(command) && tool_corpus_plan(command, code) &&
               tool_dedupe_prepare(command) && tool_corpus_learn(command);
    if (!tool_dedupe_prepare(command))
        return false;
    if (command->append != NULL &&
        !tool_appended_open(&command->appended, command->append, command->source.delimiter))
        return false;
    command->dedupe.appended = command->append != NULL ? &command->appended : NULL;
    return output_is_no_input(command) && tool_dedupe_settle_rules(command);
}

static void clean_up(struct tool_dedupe_command *command)
{
    if (command->append != NULL)
        tool_appended_close(&command->appended);
    tool_interrupt_remove(NULL);
    tool_interrupt_say(NULL);
    if (command->state_made) {
        unlink(command->state);
        tool_secret_unmake(); /* nothing was written with it */
    }
    tool_filter_unlock(command->lock);
    tool_journal_close(&command->corpus.journal);
    for (size_t i = 0; i < command->dedupe.against_count; i++)
        bloomery_free(command->dedupe.against[i].filter);
    free(command->dedupe.against);
    free(command->lists);
    free(command->dedupe.of_inputs);
    free(command->againsts.list);
    free(command->files_from.list);
    tool_paths_free(&command->paths);
    tool_fingerprints_free(command->seen.table);
    bloomery_free(command->seen.filter);
    bloomery_free(command->corpus.hasher);
}

/* The inputs: those of the command's line, and those of lists. */
static bool list_inputs(struct tool_dedupe_command *command, char **operands)
{
    struct tool_paths *paths = &command->paths;
    for (; *operands != NULL; operands++)
        tool_paths_add(paths, *operands);
    bool good = true;
    for (size_t i = 0; i < command->files_from.count && good; i++)
        good = tool_paths_read(paths, command->files_from.list[i]);
    command->source.paths = paths->paths;
    command->source.count = paths->count;
    return good;
}

static int dedupe_main(int argc, char **argv)
{
    struct tool_dedupe_command *command =
        tool_allocate(sizeof(*command)); /* large: the output's buffer */
    int code;
    memset(command, 0, sizeof(*command));
    command->on_full = command->lock = command->appended.descriptor = -1;
    command->corpus.unit = TOOL_COMPARED_LINES;
    command->corpus.shard_by = command->corpus.journal.file = -1;
    command->corpus.journal.removed = -1;
    command->corpus.checkpoint = -1;
    command->output.packs = true;
    command->choice.more_paths = command->corpus.paths + 1;
    command->source.delimiter = '\n';
    command->dedupe.seen = &command->seen;
    command->dedupe.tally.kept = true;
    tool_out_start(&command->out);
    if (tool_options_read(argc, argv, command, &code)) {
        code = TOOL_ERROR;
        if (command->corpus.removed != NULL && command->corpus.id.steps == 0)
            tool_json_path_parse("id", &command->corpus.id);
        if (tool_rule_complete(&command->choice) && list_inputs(command, argv + optind) &&
            fits_together(command) && prepare(command, &code))
            code = run(command);
    }
    clean_up(command);
    free(command);
    tool_interrupt_pass_on();
    return code;
}

const struct tool_command cmd_dedupe = {
    .name = "dedupe",
    .run = dedupe_main,
    .summary = "print the first occurrence of each line, in order",
    .synopsis = "bloomery dedupe [-n N] [-p RATE | --memory SIZE] [OPTION...] [INPUT...]",
    .introduction =
        "Prints each line of the inputs at its first occurrence, in input order. Lines are "
        "remembered in a Bloom filter, in a few bytes each. With a small probability, the "
        "filter's rate (-p), a new line is mistaken for a repeated one and dropped. --exact "
        "makes this practically impossible. The report at the end says how many such lines are "
        "expected. Without INPUT, or with '-', it reads standard input. Compressed inputs and "
        "archives are unpacked ('bloomery help build').",
    .groups = groups,
    .epilogue = "If an input can't be read, or has a line that is too long, the run ends. No "
                "later input is read, and the state is not written.\n"
                "\n"
                "Exit code: 0 all inputs were read and the output is complete, 2 an error, or "
                "a stop by --on-full. After a signal that ends reading, the command ends by "
                "that signal.\n"
                "\n"
                "  bloomery dedupe urls.txt > unique.txt\n"
                "  bloomery dedupe -o urls.txt urls.txt\n"
                "  zcat *.gz | bloomery dedupe -n 100M -p 1e-9 > unique.txt\n"
                "  tail -f access.log | bloomery dedupe --state seen.bloom -F 1 -d ' '\n"
                "  bloomery dedupe --jsonl text --unit paragraph --output-dir out in/*.jsonl.gz",
};

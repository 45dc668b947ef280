/* SPDX-License-Identifier: Apache-2.0 */
/* The options of dedupe --unit. */
#include "command/corpus/corpus.h"

#include "base/numbers.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

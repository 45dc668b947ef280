/* SPDX-License-Identifier: Apache-2.0 */
/* dedupe --unit: corpora, whose documents are lines of JSON. corpus.c holds the essay. */
#ifndef BLOOMERY_TOOL_CORPUS_H
#define BLOOMERY_TOOL_CORPUS_H

#include "command/corpus/unit.h"
#include "command/dedupe/dedupe_command.h"

/* The options of corpora. Begins as tool_corpus_options_default. */
struct tool_corpus_options {
    enum tool_unit unit; /* NONE: lines are deduplicated, and the other options may not be given */
    uint32_t ngram;      /* 0: not given */
    uint32_t min_words;  /* 0: not given */
    uint32_t threshold;  /* in millionths; 0: not given */
    const char *annotate, *output_dir;
    bool no_add, dry_run, shard_by_key, shard_by_given;
    uint32_t shard, shards;  /* shard from 0 on; shards = 0: not given */
    uint64_t checkpoint;     /* seconds; UINT64_MAX: not given */
    const char *other_given; /* the name of the first option above that needs --unit; NULL: none */
};

enum { TOOL_ANNOTATE_MAX = 200 }; /* bytes of its name */

/* What a key rule may do to texts. */
#define TOOL_RULES_OF_TEXT \
    ((uint32_t)(BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER))

/* The numbers of their options, and their rows. */
enum {
    TOOL_OPTION_UNIT = 480,
    TOOL_OPTION_NGRAM,
    TOOL_OPTION_THRESHOLD,
    TOOL_OPTION_ANNOTATE,
    TOOL_OPTION_NO_ADD,
    TOOL_OPTION_OUTPUT_DIR,
    TOOL_OPTION_DRY_RUN,
    TOOL_OPTION_SHARD,
    TOOL_OPTION_SHARD_BY,
    TOOL_OPTION_CHECKPOINT,
    TOOL_OPTION_MIN_WORDS,
    TOOL_OPTION_CORPUS_END,
};

#define TOOL_CORPUS_OPTIONS                                              \
    {"unit", required_argument, NULL, TOOL_OPTION_UNIT},                 \
        {"ngram", required_argument, NULL, TOOL_OPTION_NGRAM},           \
        {"threshold", required_argument, NULL, TOOL_OPTION_THRESHOLD},   \
        {"annotate", optional_argument, NULL, TOOL_OPTION_ANNOTATE},     \
        {"no-add", no_argument, NULL, TOOL_OPTION_NO_ADD},               \
        {"output-dir", required_argument, NULL, TOOL_OPTION_OUTPUT_DIR}, \
        {"dry-run", no_argument, NULL, TOOL_OPTION_DRY_RUN},             \
        {"shard", required_argument, NULL, TOOL_OPTION_SHARD},           \
        {"shard-by", required_argument, NULL, TOOL_OPTION_SHARD_BY},     \
        {"checkpoint", required_argument, NULL, TOOL_OPTION_CHECKPOINT}, \
    {                                                                    \
        "min-words", required_argument, NULL, TOOL_OPTION_MIN_WORDS      \
    }

/* The lines of --help that describe them. */
#define TOOL_CORPUS_HELP                                                                 \
    "      --unit UNIT      with --jsonl PATH, the text of a document; repeated\n"       \
    "                         document   texts: the document is dropped\n"               \
    "                         paragraph  lines of a text: they are cut out, and a\n"     \
    "                                    document with nothing left is dropped\n"        \
    "                         ngram      runs of words: a paragraph is cut out if it\n"  \
    "                                    has too many that came before it, and so a\n"   \
    "                                    document is dropped\n"                          \
    "      --ngram N        words in a run. Default 13; of fewer words all are one\n"    \
    "      --threshold T    the share of a paragraph's runs, or a document's, that is\n" \
    "                       too many. Default 0.8\n"                                     \
    "      --min-words N    keep texts or paragraphs of fewer than N words wherever\n"   \
    "                       they come (headings, list marks): they are not compared\n"   \
    "      --annotate[=NAME]\n"                                                          \
    "                       keep all text; documents get a member NAME (default\n"       \
    "                       bloomery) with the repeated spans, in code points\n"         \
    "      --no-add         compare with --against alone: decontamination\n"             \
    "      --output-dir DIR a file for each input, under its name, packed as it is;\n"   \
    "                       whole or not at all. If inputs of different folders have\n"  \
    "                       one name, all keep their folders below the shared ones. A\n" \
    "                       run that was ended goes on if it is started again\n"         \
    "      --checkpoint SECONDS\n"                                                       \
    "                       save the filter in DIR when an input is done and so long\n"  \
    "                       has passed (also 30s, 5m, 1h). Default 600\n"                \
    "      --dry-run        read a sample; print memory, time and wrong removals\n"      \
    "      --shard I/N      the I-th of N parts of the inputs, for N machines\n"         \
    "      --shard-by WHAT  files (default), or key: all inputs, but of their texts\n"   \
    "                       or paragraphs one in N is judged\n"

/* Takes one of these options. False after a message. */
bool tool_corpus_option(struct tool_corpus_options *options, int option, const char *value);

/* Whether they go together, and with dedupe's. False after a message. */
bool tool_corpus_options_fit(const struct tool_dedupe_command *command);

/* The run, after all options were taken. Returns the exit code. */
int tool_corpus_run(struct tool_dedupe_command *command);

/* ---- The parts of a run ---------------------------------------------------------------------- */

struct tool_corpus_size;
struct tool_corpus_counts;

/* Prints what filters of several rates would take. Returns the exit code. */
int tool_corpus_print_plans(const struct tool_dedupe_command *command,
                            const struct tool_judge *judge, const struct tool_corpus_size *size);

/* The removals of this run that are expected to be wrong. */
double tool_corpus_wrong(const struct tool_dedupe_command *command, const struct tool_judge *judge,
                         const struct tool_corpus_counts *counts);

/* Prints the report; `wrong` of all runs together. */
void tool_corpus_report(const struct tool_dedupe_command *command, const struct tool_judge *judge,
                        const struct tool_corpus_counts *counts, double wrong);

#endif /* BLOOMERY_TOOL_CORPUS_H */

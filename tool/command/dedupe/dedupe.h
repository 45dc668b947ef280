/* SPDX-License-Identifier: Apache-2.0 */
/* The first occurrences of the records of inputs, in order, by several threads. */
#ifndef BLOOMERY_TOOL_DEDUPE_H
#define BLOOMERY_TOOL_DEDUPE_H

#include "base/out.h"
#include "command/dedupe/documents.h"
#include "command/dedupe/sample.h"
#include "command/dedupe/seen.h"
#include "filter/text_output.h"
#include "input/input.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_dedupe {
    struct tool_seen *seen;
    bloomery_key_rule rule;
    struct tool_against *against;
    size_t against_count;
    bool invert;                            /* the dropped records are printed, not the kept ones */
    bool count_only;                        /* nothing is printed */
    bool silent;                            /* no progress line while lines are printed */
    bool may_stop;                          /* if it is full; later inputs then get no messages */
    const struct tool_interrupt *interrupt; /* ends the reading; NULL: nothing does */
    struct tool_appended *appended;         /* kept records go here too; NULL: nowhere */

    /* The results for records that were not only learned. */
    uint64_t lines, kept, dropped;
    uint64_t without_key; /* of the kept ones */
    struct tool_tally tally;
    bool stopped; /* what was seen is full: see seen.h */
    bool append_failed;
    struct tool_out out;
};

/* Takes all records of a source for seen, and prints nothing. False if an input could not be read
 * (the messages have been printed), or if it stopped. */
bool tool_dedupe_learn(struct tool_dedupe *dedupe, const struct tool_source *source);

/* Prints the first occurrences, and adds them. False as above, or if something could not be
 * written: out, append_failed. */
bool tool_dedupe_run(struct tool_dedupe *dedupe, const struct tool_source *source);

/* ---- Locked append --------------------------------------------------------------------------- */

/* A file of lines that grows at its end. No other process of ours touches it meanwhile. */

struct tool_appended {
    const char *path;
    int descriptor;          /* -1: not open */
    unsigned char delimiter; /* ends a record */
    bool unended;            /* the last record has no delimiter yet */
    bool made;               /* it did not exist before */
    uint64_t bytes;          /* all of them whole records, but for an unended last one */
};

/* Opens the file, or makes it, and locks it; waits if another holds the lock. Refuses a file that
 * is not regular, is packed, or is a filter. False after a message. */
bool tool_appended_open(struct tool_appended *file, const char *path, unsigned char delimiter);

/* Appends whole records. If that fails the file is cut back to whole records; false after a
 * message. */
bool tool_appended_write(struct tool_appended *file, const void *records, size_t bytes);

/* Closes it, and removes it if it was made for nothing. False after a message if the system reports
 * only now that writing failed. */
bool tool_appended_close(struct tool_appended *file);

/* ---- Journal --------------------------------------------------------------------------------- */

/*
 * What a run over a directory of outputs has done, so that a later one can go on. journal.c has the
 * lines. One process at a time: the journal is locked.
 */

#define TOOL_JOURNAL_NAME    ".bloomery-dedupe"
#define TOOL_CHECKPOINT_NAME ".bloomery-dedupe.filter"

/* An input whose output is written. */
struct tool_journal_input {
    char *path;
    uint64_t bytes;
    int64_t modified; /* nanoseconds since 1970 */
};

struct tool_journal {
    int file; /* -1: not open */
    char *path, *checkpoint_path;
    bool resumed; /* it was there before */
    bool whole;   /* the run that it is of came to its end */

    struct tool_journal_input *done; /* in the order in which they were judged */
    size_t done_count, done_room;
    size_t checkpoint; /* of these, those that the saved filter has; 0: there is none */
    char **begun;      /* outputs that may be there without being done */
    size_t begun_count;
    struct tool_corpus_counts counts; /* of the done ones */
    double wrong; /* and the removals among theirs that are expected to be wrong */
};

/* Opens the journal of a directory, which is made if it does not exist. `options`: a line of what
 * must be the same in all runs. False after a message, as all of these. */
bool tool_journal_open(struct tool_journal *journal, const char *directory, const char *options);
void tool_journal_close(struct tool_journal *journal);

/* Whether an input's output is written. `changed` is set if the input is not as it was then. */
bool tool_journal_has(const struct tool_journal *journal, const char *path, bool *changed);

/* Whether an output of this input may have been left by an earlier run. */
bool tool_journal_has_begun(const struct tool_journal *journal, const char *path);

/* Before an output takes its name, after that, when the filter was saved at checkpoint_path, and
 * when all is done. */
bool tool_journal_begin(struct tool_journal *journal, const char *path);
bool tool_journal_done(struct tool_journal *journal, const char *path,
                       const struct tool_corpus_counts *counts, double wrong);
bool tool_journal_checkpoint(struct tool_journal *journal);
bool tool_journal_end(struct tool_journal *journal);

/* ---- Output names ---------------------------------------------------------------------------- */

/*
 * Where the outputs of inputs go in --output-dir: by the name of the input. If two inputs have one
 * name, all keep their folders below those that they share.
 *
 *     in/a.jsonl in/b.jsonl                   out/a.jsonl out/b.jsonl
 *     in/en/000.jsonl.gz in/fr/000.jsonl.gz   out/en/000.jsonl.gz out/fr/000.jsonl.gz
 */

struct tool_output_names {
    const char *directory;
    bool folders;  /* inputs keep theirs */
    size_t shared; /* but for these, which they share */
};

/* Chooses by all inputs of a run, also those that other shards take. */
void tool_output_names_choose(struct tool_output_names *names, const char *directory,
                              const struct tool_source *all);

/* Returns the name of an input's output within the directory, which the caller frees. */
char *tool_output_name(const struct tool_output_names *names, const char *input);

/* Makes the folders of an output. False after a message. */
bool tool_output_folders_make(const struct tool_output_names *names, const char *name);

/* Whether no two inputs have one output. False after a message. */
bool tool_output_names_differ(const struct tool_output_names *names,
                              const struct tool_source *source);

/* Whether an output takes the place of no input and no other file. False after a message. */
bool tool_output_is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                         const char *input);

/* ---- Corpus pass ----------------------------------------------------------------------------- */

/* One way through documents, by several threads: judged in the order of the input, and written. */

struct tool_corpus_pass {
    const struct tool_judge *judge;
    struct tool_seen *seen;
    bool
        learns; /* documents were judged in an earlier run: their keys are added, and that is all */
    bool silent; /* no progress line */

    /* Called with what stays, in order; false ends the pass. */
    bool (*write)(void *context, const void *data, size_t bytes);
    void *context;

    /* The results, added to what is there. */
    struct tool_corpus_counts counts;
    struct tool_tally tally;
    uint64_t texts;   /* documents with a text, of all passes */
    uint64_t clashes; /* of these, those that have the member that --annotate would add */
    bool stopped;     /* what was seen is full */
    bool failed;      /* `write` returned false */
};

/* False if an input could not be read (the messages have been printed), if it stopped or failed. */
bool tool_corpus_pass_run(struct tool_corpus_pass *pass, const struct tool_source *source);

/* ---- Dedupe command -------------------------------------------------------------------------- */

/* Shared by the parts of the command `dedupe`: the options, and the objects at work on them. */

/* The names of enum tool_on_full. */
extern const char *const tool_on_full_names[3];

struct tool_corpus_options;

struct tool_dedupe_command {
    uint64_t keys;   /* 0: not given */
    double rate;     /* 0: not given */
    uint64_t memory; /* 0: not given */
    uint32_t exact;  /* bits; 0: a filter */
    int on_full;     /* -1: not given */
    const char *state, *append, *secret_file;
    bool keyed; /* with a secret of this run, or of the state */
    struct tool_text_output output;
    bool quiet, json;
    struct tool_source source;
    struct tool_rule_choice choice;

    const char **lists; /* against which lines are compared: files of lines */
    size_t list_count;
    const char **againsts; /* all of them, as they were given */
    size_t against_given;

    int lock; /* of the state; -1: none */
    bool state_made;
    struct tool_appended appended;
    /* Of corpora (corpus/corpus.h). */
    struct tool_corpus_options *corpus;
    uint64_t estimated_keys; /* for which a new filter is made without -n; 0: not known */
    double rate_default;     /* without -p; 0: that of lines */
    const char *note;        /* of a new filter; NULL: none */

    uint64_t planned_keys; /* of the filter's first layer; 0: none */
    const char
        *planned_from; /* "option", "sample", "default", "memory" or "state"; NULL: a table */

    double target; /* the rate of a new filter; 0: what came out of its plan */
    struct tool_seen seen;
    struct tool_dedupe dedupe;
};

/* Sorts what lines are compared against into filters, which it opens, and files of lines, with the
 * file to append to before these. False after a message, as all of these. */
bool tool_dedupe_sort_againsts(struct tool_dedupe_command *command);

/* Returns the keys to plan for by a sample with this many distinct keys of `all`. If not all was
 * read they are at least a few, since small layers that follow each other cost more than they
 * save. */
double tool_keys_of_sample(double distinct, double all, bool whole);

/* Makes filter or table, or opens the state, whose lock is then held. */
bool tool_dedupe_prepare(struct tool_dedupe_command *command);

/* Writes the state back, if there is one. */
bool tool_dedupe_save_state(struct tool_dedupe_command *command);

/* Settles by which rule keys are made, after both of them. False after a message. */
bool tool_dedupe_settle_rules(struct tool_dedupe_command *command);

/* Prints the report at the end. Returns `code`, or TOOL_ERROR if it can't be written. */
int tool_dedupe_report(const struct tool_dedupe_command *command, int code);

/* ---- Corpus ---------------------------------------------------------------------------------- */

/* dedupe --unit: corpora, whose documents are lines of JSON. corpus.c holds the essay. */

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

/* ---- Corpus checks --------------------------------------------------------------------------- */

/* What is wrong with a run over a corpus, if something is, in words. */

/* A filter of a corpus says in its note what its keys are; one of lines says nothing. False after a
 * message if these are other keys than `note` says. */
bool tool_corpus_note_fits(const char *note, const char *path, const bloomery_filter *filter);

/* The same of all filters of --against, and their rules. One that says nothing is taken with a
 * notice, unless `quiet`. */
bool tool_corpus_againsts_fit(const struct tool_judge *judge, const char *note, bool quiet);

/* Whether all inputs can be opened and are no directories. False after a message. */
bool tool_corpus_inputs_are_there(const struct tool_source *source);

/* No document has a text: says so, and what the first line of this file has (NULL: none is looked
 * at). Returns false. */
bool tool_corpus_say_no_text(const struct tool_judge *judge, const char *path);

/* The sample has no text: says what that may come from. Returns false. */
bool tool_corpus_say_no_sample(const struct tool_judge *judge, const struct tool_corpus_size *size,
                               const char *path);

/* Documents have the member that --annotate adds. Returns false. */
bool tool_corpus_say_clash(const struct tool_judge *judge);

#endif /* BLOOMERY_TOOL_DEDUPE_H */

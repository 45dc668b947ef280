/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command dedupe: what its parts share. A run goes through the files from the top to the
 * bottom.
 *
 *     cmd_dedupe.c      the options, and the order of everything
 *     dedupe_start.c    where keys are remembered, as it is when a run begins
 *       sample.c          how many keys there will be
 *     corpus.c          what documents have beside lines: outputs in a directory, and resumption
 *     dedupe_run.c      one run over a source: workers, order, output; how lines are judged
 *       documents.c       documents in lines of JSON; units/ judges them
 *       adder.c           keys, added in the order of the input to what was seen (units/seen.h)
 *     output_files.c    lines appended to a file, the names of outputs, the journal of a directory
 *     dedupe_report.c   the report
 */
#ifndef BLOOMERY_TOOL_DEDUPE_H
#define BLOOMERY_TOOL_DEDUPE_H

#include "base/options.h"
#include "base/out.h"
#include "base/system.h"
#include "command/dedupe/adder.h"
#include "command/dedupe/documents.h"
#include "filter/text_output.h"
#include "input/input.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>
#include <bloomery/near.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* ---- A file that lines are appended to ------------------------------------------------------- */

/* It grows at its end. No other process of Bloomery touches it while it is open. */
struct tool_appended {
    const char *path;
    int descriptor;          /* -1: not open */
    unsigned char delimiter; /* ends a record */
    bool unended;            /* the last record has no delimiter yet */
    bool made;               /* it did not exist before */
    uint64_t bytes;          /* all of them whole records, but for an unended last one */
};

/* Locks an open file, and waits if another process holds the lock. False, with errno, if it can't
 * be locked; ENOENT if it lost its name `path` before. */
bool tool_lock_as_named(int descriptor, const char *path, struct stat *held);

/* Opens the file, or makes it, and locks it; waits if another holds the lock. Refuses a file that
 * is not regular, is packed, or is a filter. False after a message. */
bool tool_appended_open(struct tool_appended *file, const char *path, unsigned char delimiter);

/* Appends whole records. If that fails the file is cut back to whole records; false after a
 * message. */
bool tool_appended_write(struct tool_appended *file, const void *records, size_t bytes);

/* Closes it, and removes it if it was made for nothing. False after a message if the system reports
 * only now that writing failed. */
bool tool_appended_close(struct tool_appended *file);

/* ---- The journal of a directory of outputs --------------------------------------------------- */

/* What a run over a directory of outputs has done, so that a later one can go on. output_files.c
 * has the lines. One process at a time: the journal is locked. */

#define TOOL_JOURNAL_NAME    ".bloomery-dedupe"
#define TOOL_CHECKPOINT_NAME ".bloomery-dedupe.filter"

/* An input whose output is written. */
struct tool_journal_input {
    char *path;
    uint64_t bytes;
    int64_t modified; /* nanoseconds since 1970 */
    struct tool_dedupe_counts counts;
};

struct tool_journal {
    int file; /* -1: not open */
    char *path, *checkpoint_path;
    bool resumed; /* runs with these options have begun outputs before */
    bool whole;   /* the run that it is of came to its end */

    struct tool_journal_input *done; /* in the order in which they were judged */
    size_t done_count, done_room;
    size_t checkpoint; /* of these, those that the saved filter has; 0: there is none */
    char **begun;      /* outputs that may be there without being done */
    size_t begun_count, begun_room;
    struct tool_journal_place *places; /* of the done and the begun ones, by their paths */
    size_t place_count, place_room;    /* a power of two */

    const char *removed_path;         /* where removed spans are listed; NULL: nowhere */
    int removed;                      /* -1: not open */
    uint64_t removed_bytes;           /* of the done ones */
    uint64_t removed_next;            /* the same, and of an input whose line is still to be read */
    struct tool_dedupe_counts counts; /* of the done ones */
    double wrong; /* and the removals among theirs that are expected to be wrong */
};

/* Opens the journal of a directory, which is made if it does not exist. `options`: a line of what
 * must be the same in all runs. False after a message, as all of these. */
bool tool_journal_open(struct tool_journal *journal, const char *directory, const char *options);
void tool_journal_close(struct tool_journal *journal);

/* Whether a file of another option is not one of the directory's own. False after a message. */
bool tool_journal_leaves(const struct tool_journal *journal, const char *path);

/* Whether an input's output is written. `changed` is set if the input is not as it was then. */
bool tool_journal_has(const struct tool_journal *journal, const char *path, bool *changed);

/* Whether an output of this input may have been left by an earlier run. */
bool tool_journal_has_begun(const struct tool_journal *journal, const char *path);

/* Before an output takes its name, after that, when the filter was saved at checkpoint_path, and
 * when all is done. */
bool tool_journal_begin(struct tool_journal *journal, const char *path);
bool tool_journal_done(struct tool_journal *journal, const char *path,
                       const struct tool_dedupe_counts *counts, double wrong);
bool tool_journal_checkpoint(struct tool_journal *journal);

/* The file of removed spans, which grows with each input that is done: opens it, and cuts off what
 * is of none; and cuts that off again, after an input that failed. */
bool tool_journal_open_removed(struct tool_journal *journal, const char *path);
void tool_journal_drop_removed(struct tool_journal *journal);
bool tool_journal_end(struct tool_journal *journal);

/* ---- The names of outputs in a directory ----------------------------------------------------- */

/*
 * An output goes by the name of its input. If two inputs have one name, all keep their folders
 * below those that they share. With a base all keep those below it, whatever their names.
 *
 *     in/a.jsonl in/b.jsonl                   out/a.jsonl out/b.jsonl
 *     in/en/000.jsonl.gz in/fr/000.jsonl.gz   out/en/000.jsonl.gz out/fr/000.jsonl.gz
 *     in/en/000.jsonl.gz in/fr/001.jsonl.gz   out/000.jsonl.gz out/001.jsonl.gz
 *       the same, with the base in            out/en/000.jsonl.gz out/fr/001.jsonl.gz
 */

struct tool_output_names {
    const char *directory;
    const char *base; /* NULL: none was given */
    bool folders;     /* inputs keep theirs */
    size_t shared;    /* but for these, which they share */
};

/* Chooses by all inputs of a run, also those that other shards take. */
void tool_output_names_choose(struct tool_output_names *names, const char *directory,
                              const char *base, const struct tool_source *all);

/* Returns the name of an input's output within the directory, which the caller frees. */
char *tool_output_name(const struct tool_output_names *names, const char *input);

/* Makes the folders of an output. False after a message. */
bool tool_output_folders_make(const struct tool_output_names *names, const char *name);

/* Whether no two inputs have one output. False after a message. */
bool tool_output_names_differ(const struct tool_output_names *names,
                              const struct tool_source *source);

/* Whether an output takes the place of no input and no other file; `others`, which end with NULL,
 * need not be there yet. False after a message. */
bool tool_output_is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                         const char *input, const char *const others[]);

/* ---- One run over a source ------------------------------------------------------------------- */

/* dedupe_run.c holds the essay. */
struct tool_dedupe {
    struct tool_seen *seen;
    bloomery_key_rule rule;         /* by which keys of lines are made */
    const struct tool_judge *judge; /* of documents; NULL: lines are compared */
    struct tool_against *against;   /* other filters: records that are in one are dropped */
    size_t against_count;
    bool invert;     /* the dropped records are printed, not the kept ones */
    bool count_only; /* nothing is printed */
    bool silent;     /* no progress line while lines are printed */
    bool may_stop;   /* if it is full, or at a document; later inputs then get
                                             * no messages */
    const struct tool_interrupt *interrupt; /* ends the reading; NULL: nothing does */

    /* Called with what is printed, in order. False, after a message or as a failure that it
     * remembers: that ends the run. */
    bool (*write)(void *context, const void *data, size_t bytes);
    void *context;
    struct tool_appended *appended; /* kept records go here too; NULL: nowhere */
    struct tool_out *removed; /* lines about what is cut out of documents; NULL: none are made */
    struct tool_dedupe_counts *of_inputs; /* for each input of the source; NULL: not wanted */

    /* The results, added to what is there. Records that were only learned are in the tally, and
     * their texts are counted. */
    struct tool_dedupe_counts counts;
    struct tool_tally tally;
    uint64_t texts;   /* documents with a text */
    uint64_t clashes; /* of these, those that have the member that --annotate would add */
    bool stopped;     /* what was seen is full: see seen.h */
    bool failed;      /* something could not be written, or there are clashes */
};

/* Takes all records of a source for seen, and prints nothing. False if an input could not be read
 * (the messages have been printed), or if it stopped. */
bool tool_dedupe_learn(struct tool_dedupe *dedupe, const struct tool_source *source);

/* Writes the first occurrences, and adds them. False as above, or if it failed. */
bool tool_dedupe_run(struct tool_dedupe *dedupe, const struct tool_source *source);

/* ---- The command ----------------------------------------------------------------------------- */

enum { TOOL_ANNOTATE_MAX = 200 }; /* bytes of its name */

/* What a key rule may do to texts. */
#define TOOL_RULES_OF_TEXT \
    ((uint32_t)(BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER))

/* Of a run over documents. */
struct tool_corpus {
    /* The options. */
    enum tool_compared unit; /* LINES: the other options may not be given */
    uint32_t ngram;          /* 0: not given */
    uint32_t min_words;      /* 0: not given */
    uint32_t threshold;      /* in millionths; 0: not given */
    bloomery_near near;      /* its threshold 0: not given */
    bool add_all;
    const char *annotate, *output_dir, *base, *removed;
    struct tool_json_path id; /* what names a document there */
    /* Of texts: the first is that of the key rule. */
    struct tool_json_path paths[TOOL_MORE_PATHS_MAX + 1];
    char paths_said[(TOOL_MORE_PATHS_MAX + 1) * (TOOL_JSON_PATH_BYTES + 2)];
    bool no_add, dry_run;
    int shard_by;           /* -1: not given */
    uint32_t shard, shards; /* shard from 0 on; shards = 0: not given */
    double checkpoint;      /* seconds; -1: not given */

    struct tool_judge judge;
    struct tool_judge_lines lines; /* the judge's */
    struct tool_journal journal;
    struct tool_output_names names;       /* of outputs, with --output-dir */
    struct tool_text_output removed_file; /* without --output-dir */
    struct tool_out removed_out;
    double wrong;        /* removals of all runs that are expected to be wrong, at `looked_at` */
    time_t looked_at;    /* seconds */
    double wrong_before; /* removals of earlier runs that are expected to be wrong */
    bool left_out;       /* an input could not be read, and has no output */
    bloomery_filter *hasher; /* that hashes the words of near-duplicates; NULL: another does */
    time_t saved_at;
    char note[TOOL_JUDGE_NOTE_BYTES];
    char member_text[2 * TOOL_ANNOTATE_MAX + 2];
    struct tool_json_path member; /* that --annotate adds */
};

enum { TOOL_SHARD_BY_FILES, TOOL_SHARD_BY_KEY };

struct tool_dedupe_command {
    /* The options. */
    uint64_t keys;   /* 0: not given */
    double rate;     /* 0: not given */
    uint64_t memory; /* 0: not given */
    uint32_t exact;  /* bits; 0: a filter */
    int on_full;     /* enum tool_on_full; -1: not given */
    const char *state, *append, *secret_file;
    bool keyed; /* with a secret of this run, or of the state */
    struct tool_text_output output;
    bool quiet, json;
    struct tool_texts againsts;   /* against which lines are compared */
    struct tool_texts files_from; /* files that list inputs */
    struct tool_paths paths;      /* of all inputs, with those of the lists */
    struct tool_source source;
    struct tool_rule_choice choice;
    struct tool_corpus corpus;

    const char **lists; /* those of them that are files of lines, and the one to append to */
    size_t list_count;

    int lock; /* of the state; -1: none */
    bool state_made;
    struct tool_appended appended;
    /* What documents set. */
    uint64_t estimated_keys; /* for which a new filter is made without -n; 0: not known */
    double rate_default;     /* without -p; 0: that of lines */
    const char *note;        /* of a new filter; NULL: none */

    uint64_t planned_keys; /* of the filter's first layer; 0: none */
    const char
        *planned_from; /* "option", "sample", "default", "memory" or "state"; NULL: a table */
    double target;     /* the rate of a new filter; 0: what came out of its plan */
    struct tool_seen seen;
    struct tool_dedupe dedupe;
    struct tool_out out;
};

#define TOOL_ON_FULL_WORDS "stop|grow|pass" /* enum tool_on_full */

static inline bool tool_corpus_is_near(const struct tool_corpus *corpus)
{
    return corpus->near.threshold > 0;
}

static inline bool tool_dedupe_takes_documents(const struct tool_dedupe_command *command)
{
    return command->corpus.unit != TOOL_COMPARED_LINES;
}

/* ---- Its beginning: dedupe_start.c. All return false after a message. */

/* Sorts what lines are compared against into filters, which it opens, and files of lines, with the
 * file to append to before these. */
bool tool_dedupe_sort_againsts(struct tool_dedupe_command *command);

/* Makes filter or table, or opens the state, whose lock is then held. */
bool tool_dedupe_prepare(struct tool_dedupe_command *command);

/* Settles by which rule keys are made, after both of them. */
bool tool_dedupe_settle_rules(struct tool_dedupe_command *command);

/* Writes the state back, if there is one. */
bool tool_dedupe_save_state(struct tool_dedupe_command *command);

/* ---- Documents: corpus.c. */

/* Settles how documents are judged, reads a sample, opens the journal. False if the command ends
 * here, with *code: after a message, or because there is nothing to judge. */
bool tool_corpus_plan(struct tool_dedupe_command *command, int *code);

/* After tool_dedupe_prepare: what was seen gets what earlier runs saved, and the documents of
 * --against. False after a message. */
bool tool_corpus_learn(struct tool_dedupe_command *command);

/* All inputs, each to its output in the directory. False if the run ends before the last. */
bool tool_corpus_run_inputs(struct tool_dedupe_command *command);

/* Whether documents could be compared; `whole`: all were read. False after a message. */
bool tool_corpus_was_compared(const struct tool_dedupe_command *command, bool whole);

/* ---- Reports: dedupe_report.c. */

/* Prints the report at the end. Returns `code`, or TOOL_ERROR if it can't be written. */
int tool_dedupe_report(const struct tool_dedupe_command *command, int code);

/* The removals of this run over documents that are expected to be wrong. */
double tool_corpus_wrong(const struct tool_dedupe_command *command);

struct tool_corpus_size;

/* Prints what filters of several rates would take. Returns the exit code. */
int tool_corpus_print_plans(const struct tool_dedupe_command *command,
                            const struct tool_corpus_size *size);

#endif /* BLOOMERY_TOOL_DEDUPE_H */

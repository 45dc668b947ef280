/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedupe --unit: repeated documents, paragraphs or runs of words are taken out of a corpus.
 *
 *     sample          how many keys there will be (corpus_size.c), unless -n says so
 *     filter          made for them, or the state's, or that of an earlier run's checkpoint
 *     lists           documents of --against: their keys are added, nothing is written
 *     each input      judged in order (corpus_pass.c); what stays is written beside it, whole or
 *                     not at all, and the journal says that it is done (journal.c)
 *     state, report
 *
 * One input after the other: between two of them the filter has the keys of whole inputs, and can
 * be saved. A run that is ended anywhere goes on from there when it is said again.
 *
 *     in        a  b  c  d  e
 *     done      a  b  c              the journal
 *     saved     a  b                 the checkpoint
 *     again           c  d  e        c: its keys alone; d and e: judged and written
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "command/dedupe/dedupe.h"
#include "command/dedupe/sample.h"
#include "filter/files.h"
#include "filter/hasher.h"
#include "filter/packed_output.h"
#include "key/rule.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHECKPOINT_DEFAULT = 600, NGRAM_DEFAULT = 13, THRESHOLD_DEFAULT = 800000, KEYS_MIN = 1024 };

/* An n-gram that is seen wrongly rarely decides about a paragraph. */
#define NGRAM_RATE 1e-4

struct corpus {
    struct tool_dedupe_command *command;
    const struct tool_corpus_options *options;
    struct tool_judge judge;
    struct tool_source source; /* the inputs of this shard */
    struct tool_corpus_pass pass;
    struct tool_journal journal;
    struct tool_output_names names; /* of outputs, with --output-dir */
    struct tool_packed_output *output;
    bloomery_filter *hasher;          /* makes the sample's hashes; NULL: made no more */
    struct tool_corpus_counts counts; /* of this run */
    double wrong_before;              /* removals of earlier runs */
    bool failed;                      /* an input could not be read */
    time_t saved_at;
    char note[64];
    char member_text[2 * TOOL_ANNOTATE_MAX + 1];
    struct tool_json_path member; /* that --annotate adds */
};

/* ---- Beginning ------------------------------------------------------------------------------- */

/* The inputs of this shard: one of N contiguous ranges, so that the order of documents is that of
 * all inputs when the shards are put one after the other. */
static void choose_inputs(struct corpus *corpus)
{
    const struct tool_corpus_options *options = corpus->options;
    struct tool_source *source = &corpus->source;
    *source = corpus->command->source;
    source->layout = NULL;
    source->returns_taken = true; /* white space of JSON */
    source->no_archives = corpus->options->output_dir != NULL;
    if (options->shards == 0 || options->shard_by_key)
        return;
    const size_t from = source->count * options->shard / options->shards;
    source->count = source->count * (options->shard + 1) / options->shards - from;
    source->paths += from;
}

/* The path of the member that --annotate adds. Its dots are no steps. */
static void set_member(struct corpus *corpus)
{
    char *to = corpus->member_text;
    for (const char *at = corpus->options->annotate; *at != '\0'; at++) {
        if (*at == '.')
            *to++ = '\\';
        *to++ = *at;
    }
    *to = '\0';
    if (tool_json_path_parse(corpus->member_text, &corpus->member))
        corpus->judge.member = &corpus->member;
}

static void set_judge(struct corpus *corpus)
{
    const struct tool_corpus_options *options = corpus->options;
    struct tool_dedupe_command *command = corpus->command;
    struct tool_judge *judge = &corpus->judge;
    *judge = (struct tool_judge){
        .unit = options->unit,
        .ngram = options->ngram > 0 ? options->ngram : NGRAM_DEFAULT,
        .min_words = options->min_words,
        .threshold = options->threshold > 0 ? options->threshold : THRESHOLD_DEFAULT,
        .annotate = options->annotate,
        .invert = command->dedupe.invert,
        .shard = options->shard,
        .shards = options->shard_by_key ? options->shards : 0,
        .path = &command->choice.layout.path,
        .rule = command->choice.rule,
        .against = command->dedupe.against,
        .against_count = command->dedupe.against_count,
    };
    if (judge->unit != TOOL_UNIT_NGRAM)
        judge->threshold = TOOL_THRESHOLD_ONE;
    if (options->annotate != NULL)
        set_member(corpus);
    command->rate_default = judge->unit == TOOL_UNIT_NGRAM ? NGRAM_RATE : 0;
    if (judge->unit == TOOL_UNIT_NGRAM)
        snprintf(corpus->note, sizeof(corpus->note), "keys of a corpus: runs of %u words",
                 judge->ngram);
    else
        snprintf(corpus->note, sizeof(corpus->note), "keys of a corpus: %s",
                 judge->unit == TOOL_UNIT_DOCUMENT ? "whole texts" : "paragraphs");
    command->note = corpus->note;
}

/* Samples what will be added: the inputs, and the documents of --against. */
static bool get_size(struct corpus *corpus, struct tool_corpus_size *size)
{
    struct tool_corpus_size lists = {0};
    struct tool_source source = corpus->source;
    corpus->hasher = tool_hasher_least(BLOOMERY_HASH_XXH3_64, NULL);
    if (corpus->hasher == NULL)
        return false;
    corpus->judge.filter = corpus->hasher;
    tool_corpus_size_get(&corpus->judge, &source, size);
    if (corpus->command->list_count > 0) {
        source.paths = (char *const *)(const void *)corpus->command->lists;
        source.count = corpus->command->list_count;
        tool_corpus_size_get(&corpus->judge, &source, &lists);
        if (corpus->options->no_add)
            size->different = 0;
        size->different += lists.different;
    }
    /* Before anything is written. */
    return size->sampled_texts > 0 || !size->known || size->bytes == 0 ||
           tool_corpus_say_no_sample(&corpus->judge, size, corpus->source.paths[0]);
}

/* ---- The journal ----------------------------------------------------------------------------- */

/* What must be the same in all runs into one directory. */
static void say_options(const struct corpus *corpus, char *text, size_t room)
{
    const struct tool_dedupe_command *command = corpus->command;
    const struct tool_corpus_options *options = corpus->options;
    size_t used = (size_t)snprintf(
        text, room,
        "unit=%d jsonl=%s ngram=%u threshold=%u annotate=%s no-add=%d shard=%u/%u by=%d rule=%u "
        "keys=%llu rate=%a memory=%llu exact=%u on-full=%d%s state=%s against=",
        (int)options->unit, command->choice.layout.path.text, corpus->judge.ngram,
        corpus->judge.threshold, options->annotate != NULL ? options->annotate : "",
        options->no_add, options->shard, options->shards, options->shard_by_key,
        corpus->judge.rule.flags, (unsigned long long)command->keys, command->rate,
        (unsigned long long)command->memory, command->exact, command->on_full,
        command->keyed ? " keyed" : "", command->state != NULL ? command->state : "");
    for (size_t i = 0; i < command->against_given && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s,", command->againsts[i]);
    if (options->min_words > 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, " min-words=%u", options->min_words);
    if (corpus->judge.invert && used < room)
        snprintf(text + used, room - used, " invert");
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
}

static bool open_journal(struct corpus *corpus)
{
    size_t room = 1024;
    for (size_t i = 0; i < corpus->command->against_given; i++)
        room += strlen(corpus->command->againsts[i]) + 1;
    room += corpus->command->state != NULL ? strlen(corpus->command->state) : 0;
    room += corpus->options->annotate != NULL ? strlen(corpus->options->annotate) : 0;
    char *text = tool_allocate(room);
    say_options(corpus, text, room);
    const bool good = tool_journal_open(&corpus->journal, corpus->options->output_dir, text);
    free(text);
    for (size_t i = 0; good && i < corpus->source.count; i++)
        if (!tool_output_is_free(&corpus->names, &corpus->journal, corpus->source.paths[i]))
            return false;
    return good && tool_output_names_differ(&corpus->names, &corpus->source);
}

static bool has_work(const struct corpus *corpus)
{
    bool changed;
    for (size_t i = 0; i < corpus->source.count; i++)
        if (!tool_journal_has(&corpus->journal, corpus->source.paths[i], &changed))
            return true;
    return !corpus->journal.whole;
}

/* ---- What was seen --------------------------------------------------------------------------- */

/* The filter of the earlier run takes the place of the one that was made. */
static bool open_checkpoint(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.memory_limit = command->memory;
    bloomery_free(command->seen.filter);
    command->seen.filter =
        tool_filter_open(corpus->journal.checkpoint_path, opening, command->secret_file);
    if (command->seen.filter != NULL)
        tool_seen_start(&command->seen, command->target);
    return command->seen.filter != NULL;
}

/* Saves what was seen, which has the keys of all inputs that are done. */
static bool write_checkpoint(struct corpus *corpus)
{
    bloomery_error error;
    if (corpus->judge.no_add || corpus->options->no_add || corpus->command->exact > 0)
        return true;
    if (bloomery_save(corpus->command->seen.filter, corpus->journal.checkpoint_path, &error) !=
        BLOOMERY_OK) {
        tool_library_error(corpus->journal.checkpoint_path, &error);
        return false;
    }
    corpus->saved_at = time(NULL);
    return tool_journal_checkpoint(&corpus->journal);
}

static bool learn(struct corpus *corpus, const struct tool_source *source)
{
    const bool no_add = corpus->judge.no_add;
    corpus->judge.no_add = false;
    corpus->pass.learns = true;
    const bool good = tool_corpus_pass_run(&corpus->pass, source);
    corpus->pass.learns = false;
    corpus->judge.no_add = no_add;
    if (corpus->pass.stopped)
        tool_seen_say_full(&corpus->command->seen, 0, 0);
    return good;
}

static bool learn_lists(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->command->list_count; i++) {
        struct tool_source list = corpus->source;
        const uint64_t texts = corpus->pass.texts;
        list.paths = (char *const *)(const void *)&corpus->command->lists[i];
        list.count = 1;
        if (!learn(corpus, &list))
            return false;
        if (corpus->pass.texts == texts) {
            tool_error("%s: no document has a string at '%s', so there is nothing to compare with",
                       corpus->command->lists[i], corpus->judge.path->text);
            return false;
        }
    }
    return true;
}

/* The keys of inputs that are done and were not saved. */
static bool learn_again(struct corpus *corpus)
{
    const struct tool_journal *journal = &corpus->journal;
    if (corpus->options->no_add) /* they were compared with the lists, and not with each other */
        return true;
    /* A run that came to its end has written its state, if it is still there. */
    if (journal->whole && corpus->command->state != NULL && !corpus->command->state_made)
        return true;
    for (size_t i = journal->checkpoint; i < journal->done_count; i++) {
        struct tool_source one = corpus->source;
        char *path = journal->done[i].path;
        one.paths = &path;
        one.count = 1;
        if (!learn(corpus, &one))
            return false;
    }
    /* So that a run which is ended again and again comes to its end all the same. */
    return journal->checkpoint == journal->done_count || write_checkpoint(corpus);
}

/* With --no-add the filter of the lists is compared with, as those of --against are. */
static void compare_with_lists(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    corpus->judge.no_add = true;
    if (command->list_count == 0)
        return;
    command->dedupe.against[command->dedupe.against_count] = (struct tool_against){
        .path = command->lists[0], .filter = command->seen.filter, .rule = corpus->judge.rule};
    corpus->judge.against_count = command->dedupe.against_count + 1;
}

static bool begin_seen(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    if (!tool_dedupe_prepare(command))
        return false;
    if (command->state != NULL &&
        !tool_corpus_note_fits(corpus->note, command->state, command->seen.filter))
        return false;
    if (corpus->journal.checkpoint > 0 && !open_checkpoint(corpus))
        return false;
    corpus->judge.filter = command->seen.filter;
    corpus->judge.rule = command->dedupe.rule;
    if ((corpus->judge.rule.flags & ~TOOL_RULES_OF_TEXT) != 0 || corpus->judge.rule.comment != 0) {
        tool_error("%s: makes its keys by a rule that is not for texts", command->state);
        return false;
    }
    if (corpus->journal.checkpoint == 0 && !learn_lists(corpus))
        return false;
    if (!learn_again(corpus))
        return false;
    tool_seen_restart(&command->seen);
    if (corpus->options->no_add)
        compare_with_lists(corpus);
    return true;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static bool write_out(void *context, const void *data, size_t bytes)
{
    struct tool_out *out = context;
    tool_out_bytes(out, data, bytes);
    return tool_out_flush(out);
}

static bool write_packed(void *context, const void *data, size_t bytes)
{
    return tool_packed_output_write(context, data, bytes);
}

static bool save_checkpoint(struct corpus *corpus)
{
    const uint64_t wanted = corpus->options->checkpoint;
    const uint64_t seconds = wanted != UINT64_MAX ? wanted : CHECKPOINT_DEFAULT;
    return (uint64_t)(time(NULL) - corpus->saved_at) < seconds || write_checkpoint(corpus);
}

static void note_counts(struct corpus *corpus)
{
    tool_corpus_counts_add(&corpus->counts, &corpus->pass.counts);
    corpus->command->dedupe.lines = corpus->counts.documents;
    corpus->command->dedupe.kept = corpus->counts.documents - corpus->counts.dropped;
    corpus->command->dedupe.stopped = corpus->pass.stopped;
}

/* One input and its output. False: the run ends here. An input that can't even be opened is left
 * out. One that fails later ends the run, for the filter has keys of it that nothing has. */
static bool run_input(struct corpus *corpus, char *path)
{
    struct tool_source one = corpus->source;
    struct tool_corpus_pass *pass = &corpus->pass;
    one.paths = &path;
    one.count = 1;
    pass->counts = (struct tool_corpus_counts){0};
    if (!tool_journal_begin(&corpus->journal, path))
        return false;
    char *name = tool_output_name(&corpus->names, path);
    corpus->output =
        tool_output_folders_make(&corpus->names, name)
            ? tool_packed_output_open(corpus->options->output_dir, name, tool_path_packing(path))
            : NULL;
    free(name);
    if (corpus->output == NULL)
        return false;
    pass->write = write_packed;
    pass->context = corpus->output;
    const bool good = tool_corpus_pass_run(pass, &one);
    note_counts(corpus);
    if (!good) {
        tool_packed_output_drop(corpus->output);
        corpus->failed = true;
        return pass->counts.documents == 0 && !pass->stopped && !pass->failed;
    }
    if (!tool_packed_output_finish(corpus->output, NULL))
        return false;
    /* Of all runs: that of earlier ones, and this one's so far. */
    return tool_journal_done(&corpus->journal, path, &pass->counts,
                             corpus->wrong_before + tool_corpus_wrong(corpus->command,
                                                                      &corpus->judge,
                                                                      &corpus->counts)) &&
           save_checkpoint(corpus);
}

/* Inputs that are too short to show how far they are: how far all are is shown between them. */
static bool run_inputs(struct corpus *corpus)
{
    struct tool_progress progress;
    const uint64_t all = tool_source_bytes(&corpus->source);
    uint64_t done = 0;
    bool changed, good = true;
    corpus->saved_at = time(NULL);
    tool_progress_start(&progress, "all inputs", corpus->pass.silent);
    for (size_t i = 0; i < corpus->source.count && good; i++) {
        if (!tool_journal_has(&corpus->journal, corpus->source.paths[i], &changed))
            good = run_input(corpus, corpus->source.paths[i]);
        struct tool_source one = corpus->source;
        one.paths += i;
        one.count = 1;
        done += tool_source_bytes(&one);
        tool_progress_update(&progress, corpus->counts.keys, done, all);
    }
    tool_progress_stop(&progress);
    return good;
}

/* All inputs to one output. */
static bool run_to_one(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    struct tool_out *out = &command->dedupe.out;
    const bool to_file = tool_text_output_is_file(&command->output);
    if (!tool_text_output_begin(&command->output, out))
        return false;
    /* A file that is written whole has nothing of an input that was cut off. */
    if (command->state != NULL && !to_file)
        corpus->source.interrupt = tool_interrupt_take();
    corpus->pass.write = write_out;
    corpus->pass.context = out;
    const bool whole = tool_corpus_pass_run(&corpus->pass, &corpus->source);
    note_counts(corpus);
    /* What was printed is delivered, also if what was seen is full. */
    const bool delivered = whole || (corpus->pass.stopped && !to_file && !corpus->pass.failed);
    const int code =
        tool_text_output_finish(&command->output, out, delivered ? TOOL_FOUND : TOOL_ERROR);
    corpus->failed = !whole;
    return code == TOOL_FOUND;
}

/* ---- The run --------------------------------------------------------------------------------- */

static int finish(struct corpus *corpus, bool good)
{
    struct tool_dedupe_command *command = corpus->command;
    struct tool_corpus_counts all = corpus->counts;
    double wrong = tool_corpus_wrong(command, &corpus->judge, &corpus->counts);
    const bool to_directory = corpus->options->output_dir != NULL;
    if (corpus->pass.clashes > 0)
        good = tool_corpus_say_clash(&corpus->judge);
    const bool empty = good && corpus->counts.documents > 0 &&
                       corpus->counts.without_text == corpus->counts.documents;
    if (empty)
        good = tool_corpus_say_no_text(&corpus->judge, NULL);
    /* What was seen when it was full has keys of documents that were not delivered. */
    if (good && !corpus->pass.stopped && (!to_directory || !corpus->failed)) {
        good = tool_dedupe_save_state(command);
        good = good && (!to_directory || tool_journal_end(&corpus->journal));
        if (good && tool_interrupt_came(corpus->source.interrupt) && !command->quiet)
            tool_say("dedupe: %s ended the input; %s has what came before it",
                     tool_interrupt_name(), command->state);
    } else if (command->state != NULL && !command->state_made) {
        tool_say("%s was not changed", command->state);
    }
    if (corpus->pass.stopped)
        tool_seen_say_full(&command->seen, corpus->counts.documents,
                           corpus->counts.documents - corpus->counts.dropped);
    tool_tally_say(&corpus->pass.tally, &corpus->judge.rule, "");
    if (to_directory) {
        all = corpus->journal.counts;
        wrong = corpus->journal.wrong;
    }
    if (good)
        tool_corpus_report(command, &corpus->judge, &all, wrong);
    if (good && !corpus->failed)
        return TOOL_FOUND;
    if (to_directory && !empty && corpus->pass.clashes == 0)
        tool_say("dedupe: %zu of %zu inputs are done%s", corpus->journal.done_count,
                 corpus->source.count,
                 corpus->pass.stopped ? "" : "; the same command goes on from there");
    return TOOL_ERROR;
}

/* A shard without inputs leaves what the others leave: a directory, and a state without keys. */
static int run_empty(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    tool_say("dedupe: shard %u/%u has none of the inputs", corpus->options->shard + 1,
             corpus->options->shards);
    if (corpus->options->output_dir != NULL && mkdir(corpus->options->output_dir, 0777) != 0 &&
        errno != EEXIST) {
        tool_error("%s: %s", corpus->options->output_dir, strerror(errno));
        return TOOL_ERROR;
    }
    command->estimated_keys = KEYS_MIN;
    return command->state == NULL || (begin_seen(corpus) && tool_dedupe_save_state(command))
               ? TOOL_FOUND
               : TOOL_ERROR;
}

/* A run into a directory can go on later, which who ends it should know. */
static void say_at_a_signal(const struct corpus *corpus)
{
    /* A line of progress is to stay apart. */
    static const char text[] = "\nbloomery: dedupe: ended by a signal; the same command goes on "
                               "after the last input that is done\n";
    if (!corpus->command->quiet)
        tool_interrupt_say(text + (corpus->pass.silent || !isatty(STDERR_FILENO) ? 1 : 0));
}

static int run_corpus(struct corpus *corpus)
{
    struct tool_dedupe_command *command = corpus->command;
    struct tool_corpus_size size = {0};
    const bool to_directory = corpus->options->output_dir != NULL;
    const bool words = corpus->judge.unit == TOOL_UNIT_NGRAM || corpus->judge.min_words > 0;
    const char *missing = words ? tool_words_load() : NULL;
    if (missing != NULL) {
        tool_error("words need libunistring: %s", missing);
        return TOOL_ERROR;
    }
    const bool sampled = command->keys == 0 || corpus->options->dry_run;
    if (corpus->source.count == 0 && command->source.count > 0)
        return run_empty(corpus);
    if (!tool_corpus_againsts_fit(&corpus->judge, corpus->note, command->quiet) ||
        (corpus->options->dry_run && !tool_corpus_inputs_are_there(&corpus->source)) ||
        (sampled && !get_size(corpus, &size)))
        return TOOL_ERROR;
    if (corpus->options->dry_run && !size.known)
        return tool_usage("--dry-run samples files; a pipe can't be read twice");
    if (corpus->options->dry_run)
        return tool_corpus_print_plans(command, &corpus->judge, &size);
    if (to_directory && !open_journal(corpus))
        return TOOL_ERROR;
    if (to_directory && !has_work(corpus)) {
        if (!command->quiet)
            tool_say("dedupe: all inputs were deduplicated into %s before",
                     corpus->options->output_dir);
        tool_corpus_report(command, &corpus->judge, &corpus->journal.counts, corpus->journal.wrong);
        return TOOL_FOUND;
    }
    corpus->wrong_before = corpus->journal.wrong;
    if (size.known)
        command->estimated_keys =
            KEYS_MIN +
            (uint64_t)(1.05 * tool_keys_of_sample(size.different, size.keys, size.whole));
    if (!begin_seen(corpus))
        return TOOL_ERROR;
    if (to_directory)
        say_at_a_signal(corpus);
    const int code = finish(corpus, to_directory ? run_inputs(corpus) : run_to_one(corpus));
    tool_interrupt_say(NULL);
    return code;
}

int tool_corpus_run(struct tool_dedupe_command *command)
{
    struct corpus *corpus = tool_allocate(sizeof(*corpus));
    memset(corpus, 0, sizeof(*corpus));
    corpus->command = command;
    corpus->options = command->corpus;
    corpus->journal.file = -1;
    choose_inputs(corpus);
    tool_output_names_choose(&corpus->names, corpus->options->output_dir, &command->source);
    set_judge(corpus);
    corpus->pass.judge = &corpus->judge;
    corpus->pass.tally.kept = true;
    corpus->pass.seen = &command->seen;
    corpus->pass.silent = !tool_progress_is_shown(!corpus->options->output_dir &&
                                                  !tool_text_output_is_file(&command->output) &&
                                                  tool_progress_is_in_the_way(true));
    const int code = run_corpus(corpus);
    tool_journal_close(&corpus->journal);
    bloomery_free(corpus->hasher);
    free(corpus);
    return code;
}

/* ---- Corpus checks --------------------------------------------------------------------------- */

/* See corpus_checks.h. */

static const char prefix[] = "keys of a corpus: ";

/* What the keys of a filter are, by its note; NULL if it does not say. */
static const char *keys_of(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bool says = info.note != NULL && strncmp(info.note, prefix, strlen(prefix)) == 0;
    return says ? info.note + strlen(prefix) : NULL;
}

bool tool_corpus_note_fits(const char *note, const char *path, const bloomery_filter *filter)
{
    const char *keys = keys_of(filter), *wanted = note + strlen(prefix);
    if (keys == NULL || strcmp(keys, wanted) == 0)
        return true;
    tool_error("%s: has other keys (%s) than these options make (%s)", path, keys, wanted);
    return false;
}

bool tool_corpus_againsts_fit(const struct tool_judge *judge, const char *note, bool quiet)
{
    for (size_t i = 0; i < judge->against_count; i++) {
        const struct tool_against *against = &judge->against[i];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(against->filter, &info);
        if (!tool_corpus_note_fits(note, against->path, against->filter))
            return false;
        if (!tool_rule_is_none(&info.rule) &&
            ((info.rule.flags ^ judge->rule.flags) & TOOL_RULE_OF_KEY) != 0) {
            tool_error("%s: its keys are made by another rule; give --trim, --lower and --upper "
                       "as it was built",
                       against->path);
            return false;
        }
        if (keys_of(against->filter) == NULL && !quiet)
            tool_say("%s: does not say what its keys are, and is compared with as if they were %s",
                     against->path, note + strlen(prefix));
    }
    return true;
}

bool tool_corpus_inputs_are_there(const struct tool_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        const char *path = source->paths[i];
        if (tool_path_is_stdin(path))
            continue;
        const bool there = stat(path, &facts) == 0;
        if (!there || S_ISDIR(facts.st_mode) || access(path, R_OK) != 0) {
            tool_error("%s: %s", path,
                       there && S_ISDIR(facts.st_mode) ? "is a directory; name the files in it"
                                                       : strerror(errno));
            return false;
        }
    }
    return true;
}

bool tool_corpus_say_no_text(const struct tool_judge *judge, const char *path)
{
    tool_error("%s%sno document has a string at '%s', so there is nothing to compare; --jsonl "
               "names the member that has the text",
               path != NULL ? path : "", path != NULL ? ": " : "", judge->path->text);
    return false;
}

bool tool_corpus_say_no_sample(const struct tool_judge *judge, const struct tool_corpus_size *size,
                               const char *path)
{
    if (size->whole && size->sampled_documents > 0)
        return tool_corpus_say_no_text(judge, path);
    if (size->sampled_documents == 0)
        tool_error(
            "%s: no line of the sample ends within 64 MiB, so how many keys there will be is "
            "not known: -n says it",
            path);
    else
        tool_error(
            "%s: of %llu documents that were sampled, none has a string at '%s'. Is the path "
            "right? If others have one, -n says how many keys to expect",
            path, (unsigned long long)size->sampled_documents, judge->path->text);
    return false;
}

bool tool_corpus_say_clash(const struct tool_judge *judge)
{
    tool_error("documents have a member '%s' already; --annotate=NAME takes another name",
               judge->annotate);
    return false;
}

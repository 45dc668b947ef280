/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedupe --unit: repeated documents, paragraphs or runs of words are taken out of a corpus. The run
 * is that of lines (cmd_dedupe.c, dedupe_run.c), and this is what documents have beside it:
 *
 *     judge           how documents are judged, by the options
 *     sample          how many keys there will be (sample.c), unless -n says so
 *     journal         what earlier runs into this directory have done (output_files.c)
 *     filter          made for the keys, or the state's, or that of an earlier run's checkpoint
 *     lists           documents of --against: their keys are added, nothing is written
 *     each input      of a directory: judged in order; what stays is written beside it, whole or
 *                     not at all, and the journal says that it is done
 *
 * One input after the other: between two of them the filter has the keys of whole inputs, and can
 * be saved. A run that is ended anywhere goes on from there when it is started again.
 *
 *     in        a  b  c  d  e
 *     done      a  b  c              the journal
 *     saved     a  b                 the checkpoint
 *     again           c  d  e        c: its keys alone; d and e: judged and written
 */
#include "command/dedupe/dedupe.h"

#include "base/numbers.h"
#include "base/progress.h"
#include "command/dedupe/sample.h"
#include "filter/files.h"
#include "filter/hasher.h"
#include "filter/text_output.h"
#include "tool.h"
#include "units/word_breaks.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHECKPOINT_DEFAULT = 600 };

/* The least rate of a filter that grows. */
#define KEY_RATE_MIN 1e-12

/* ---- What is wrong --------------------------------------------------------------------------- */

static const char prefix[] = TOOL_CORPUS_NOTE;

/* What the keys of a filter are, by its note; NULL if it does not say. */
static const char *keys_of(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bool says = info.note != NULL && strncmp(info.note, prefix, strlen(prefix)) == 0;
    return says ? info.note + strlen(prefix) : NULL;
}

/* A filter of a corpus says in its note what its keys are; one of lines says nothing. False after a
 * message if these are other keys than `note` says. */
static bool note_fits(const char *note, const char *path, const bloomery_filter *filter)
{
    const char *keys = keys_of(filter), *wanted = note + strlen(prefix);
    if (keys == NULL || strcmp(keys, wanted) == 0)
        return true;
    tool_error("%s: has other keys (%s) than these options make (%s)", path, keys, wanted);
    return false;
}

/* The same of all filters of --against, and their rules. One that says nothing is taken with a
 * notice, unless `quiet`. */
static bool againsts_fit(const struct tool_judge *judge, const char *note, bool quiet)
{
    for (size_t i = 0; i < judge->against_count; i++) {
        const struct tool_against *against = &judge->against[i];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(against->filter, &info);
        if (!note_fits(note, against->path, against->filter))
            return false;
        if (!tool_rule_is_none(&info.rule) &&
            ((info.rule.flags ^ judge->rule.flags) & TOOL_RULE_OF_KEY) != 0) {
            tool_error("%s: its keys are made by another rule; give --trim, --lower and --upper "
                       "as it was built",
                       against->path);
            return false;
        }
        if (keys_of(against->filter) == NULL && !quiet)
            tool_say("%s: does not say what its keys are; they are assumed to be %s", against->path,
                     note + strlen(prefix));
    }
    return true;
}

/* Whether none of the inputs is a directory. False after a message. */
static bool inputs_are_files(const struct tool_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        const char *path = source->paths[i];
        if (tool_path_is_stdin(path) || stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
            continue;
        tool_error("%s: is a directory; name the files in it, or list them: find %s -type f | sort "
                   "| bloomery dedupe --files-from - ...",
                   path, path);
        return false;
    }
    return true;
}

/* Whether all inputs can be opened. False after a message. */
static bool inputs_are_there(const struct tool_source *source)
{
    for (size_t i = 0; i < source->count; i++)
        if (!tool_path_is_stdin(source->paths[i]) && access(source->paths[i], R_OK) != 0) {
            tool_error("%s: %s", source->paths[i], strerror(errno));
            return false;
        }
    return true;
}

/* What may be wrong with the path of a text, in words behind it. */
static const char *path_hint(const struct tool_judge_lines *lines)
{
    for (size_t i = 0; i < lines->path_count; i++)
        if (lines->paths[i].text[0] != '/' && strchr(lines->paths[i].text, '.') != NULL)
            return " (a dot within a name is written \\.)";
    return "";
}

/* No document has a text: says so, and `path`, the file that was looked at (NULL: all). */
static bool say_no_text(const struct tool_judge *judge, const char *path)
{
    tool_error("%s%sno document has a string at '%s'%s, so there is nothing to compare; --jsonl "
               "names the member that has the text",
               path != NULL ? path : "", path != NULL ? ": " : "", judge->lines->paths_said,
               path_hint(judge->lines));
    return false;
}

bool tool_corpus_was_compared(const struct tool_dedupe_command *command, bool whole)
{
    const struct tool_dedupe *dedupe = &command->dedupe;
    const struct tool_judge *judge = &command->corpus.judge;
    if (dedupe->clashes > 0) {
        tool_error("documents already have a member '%s'; --annotate=NAME chooses another name",
                   judge->lines->annotate);
        return false;
    }
    return !whole || dedupe->counts.records == 0 ||
           dedupe->counts.without_key < dedupe->counts.records || say_no_text(judge, NULL);
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* The inputs of this shard: one of N contiguous ranges, so that the order of documents is that of
 * all inputs when the shards are put one after the other. The names of outputs are chosen by the
 * inputs of all shards. */
static void choose_inputs(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    struct tool_source *source = &command->source;
    tool_output_names_choose(&corpus->names, corpus->output_dir, corpus->base, source);
    source->layout = NULL;
    source->returns_taken = true; /* white space of JSON */
    source->no_archives = corpus->output_dir != NULL;
    if (corpus->shards == 0 || corpus->shard_by == TOOL_SHARD_BY_KEY)
        return;
    const size_t from = source->count * corpus->shard / corpus->shards;
    source->count = source->count * (corpus->shard + 1) / corpus->shards - from;
    source->paths += from;
}

/* Plans the bands of --near. From there on -n and -p are those of the filter's keys, of which a
 * document has `bands`. */
static bool plan_near(struct tool_dedupe_command *command)
{
    bloomery_near *near = &command->corpus.near;
    bloomery_error error;
    near->shingle = command->corpus.ngram;
    near->rate = command->rate;
    near->documents = 0;
    if (bloomery_near_plan(near, &error) != BLOOMERY_OK)
        return !tool_usage("--near: %s", error.text);
    if (near->key_rate < KEY_RATE_MIN)
        return !tool_usage("-p is too low for %u bands: each of them has a part of the rate, which "
                           "is at least 1e-12",
                           near->bands);
    if (command->keys > TOOL_KEYS_MAX / near->bands)
        return !tool_usage("-n documents of %u bands are more keys than a filter can have",
                           near->bands);
    command->keys *= near->bands;
    command->rate = command->rate > 0 ? near->key_rate : 0;
    return true;
}

/* The paths of texts in one list, and in words. */
static void set_paths(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    const struct tool_rule_choice *choice = &command->choice;
    size_t used = 0;
    corpus->paths[0] = choice->layout.path; /* the further ones are behind it already */
    for (size_t i = 0; i <= choice->more_count; i++) {
        const char *path = corpus->paths[i].text;
        used += (size_t)snprintf(corpus->paths_said + used, sizeof(corpus->paths_said) - used,
                                 "%s%s", i > 0 ? ", " : "", path);
    }
    assert(used < sizeof(corpus->paths_said));
}

static void set_judge(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    struct tool_judge *judge = &corpus->judge;
    const bool ngrams = corpus->unit == TOOL_COMPARED_NGRAMS;
    const bool is_near = tool_corpus_is_near(corpus);
    set_paths(command);
    corpus->lines = (struct tool_judge_lines){.paths = corpus->paths,
                                              .path_count = 1 + command->choice.more_count,
                                              .paths_said = corpus->paths_said,
                                              .annotate = corpus->annotate,
                                              .invert = command->dedupe.invert,
                                              .id = corpus->removed != NULL ? &corpus->id : NULL};
    *judge = (struct tool_judge){
        .unit = corpus->unit,
        .ngram = is_near             ? corpus->near.words
                 : corpus->ngram > 0 ? corpus->ngram
                                     : TOOL_NGRAM_DEFAULT,
        .near = is_near ? &corpus->near : NULL,
        .add_all = corpus->add_all,
        .min_words = corpus->min_words,
        .threshold = is_near                 ? 1 /* any band of them */
                     : !ngrams               ? TOOL_THRESHOLD_ONE
                     : corpus->threshold > 0 ? corpus->threshold
                                             : TOOL_THRESHOLD_DEFAULT,
        .shard = corpus->shard,
        .shards = corpus->shard_by == TOOL_SHARD_BY_KEY ? corpus->shards : 0,
        .is_elsewhere = tool_key_is_elsewhere,
        .unescape = tool_json_unescape,
        .lines = &corpus->lines,
        .rule = command->choice.rule,
        .against = command->dedupe.against,
        .against_count = command->dedupe.against_count,
    };
    if (corpus->annotate != NULL) { /* as a JSON pointer, which takes any name */
        char *to = corpus->member_text;
        *to++ = '/';
        for (const char *at = corpus->annotate; *at != '\0'; at++) {
            const bool escaped = *at == '~' || *at == '/';
            if (escaped)
                *to++ = '~';
            *to++ = !escaped ? *at : *at == '~' ? '0' : '1';
        }
        *to = '\0';
        assert(to < corpus->member_text + sizeof(corpus->member_text));
        if (tool_json_path_parse(corpus->member_text, &corpus->member))
            corpus->lines.member = &corpus->member;
    }
    command->dedupe.judge = judge;
    command->rate_default = is_near ? corpus->near.key_rate : ngrams ? TOOL_NGRAM_RATE : 0;
    tool_judge_note(judge, corpus->note);
    command->note = corpus->note;
}

/* Samples what will be added: the inputs, and the documents of --against. */
static bool get_size(struct tool_dedupe_command *command, struct tool_corpus_size *size)
{
    struct tool_judge *judge = &command->corpus.judge;
    struct tool_corpus_size lists = {0};
    struct tool_source source = command->source;
    bloomery_filter *hasher = tool_hasher_least(BLOOMERY_HASH_XXH3_64, NULL);
    if (hasher == NULL)
        return false;
    judge->filter = judge->hasher = hasher;
    tool_corpus_size_get(judge, &source, size);
    if (command->list_count > 0) {
        source.paths = (char *const *)(const void *)command->lists;
        source.count = command->list_count;
        tool_corpus_size_get(judge, &source, &lists);
        if (command->corpus.no_add)
            size->different = 0;
        size->different += lists.different;
    }
    judge->filter = judge->hasher = NULL;
    bloomery_free(hasher);
    /* Before anything is written. */
    if (size->sampled_texts > 0 || !size->known || size->bytes == 0)
        return true;
    const char *path = command->source.paths[0];
    if (size->whole && size->sampled_documents > 0)
        return say_no_text(judge, path);
    if (size->sampled_documents == 0)
        tool_error("%s: no line of the sample ends within 64 MiB, so the number of keys can't be "
                   "estimated: give -n",
                   path);
    else
        tool_error(
            "%s: of %llu documents that were sampled, none has a string at '%s'%s. Is the path "
            "right? If others have one, give the number of keys with -n",
            path, (unsigned long long)size->sampled_documents, judge->lines->paths_said,
            path_hint(judge->lines));
    return false;
}

/* What must be the same in all runs into one directory. */
static void say_options(const struct tool_dedupe_command *command, char *text, size_t room)
{
    const struct tool_corpus *corpus = &command->corpus;
    size_t used = (size_t)snprintf(
        text, room,
        "unit=%d jsonl=%s ngram=%u threshold=%u annotate=%s no-add=%d shard=%u/%u by=%d rule=%u "
        "keys=%llu rate=%a memory=%llu exact=%u on-full=%d%s state=%s against=",
        (int)corpus->unit + 1, corpus->paths_said, corpus->judge.ngram, corpus->judge.threshold,
        corpus->annotate != NULL ? corpus->annotate : "", corpus->no_add, corpus->shard,
        corpus->shards, corpus->shard_by == TOOL_SHARD_BY_KEY, corpus->judge.rule.flags,
        (unsigned long long)command->keys, command->rate, (unsigned long long)command->memory,
        command->exact, command->on_full, command->keyed ? " keyed" : "",
        command->state != NULL ? command->state : "");
    for (size_t i = 0; i < command->againsts.count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s,", command->againsts.list[i]);
    if (corpus->min_words > 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, " min-words=%u", corpus->min_words);
    if (tool_corpus_is_near(corpus) && used < room)
        used += (size_t)snprintf(text + used, room - used, " near=%a bands=%u/%u/%u%s",
                                 corpus->near.threshold, corpus->near.bands, corpus->near.rows,
                                 corpus->near.values, corpus->add_all ? " add-all" : "");
    if (corpus->base != NULL && used < room)
        used += (size_t)snprintf(text + used, room - used, " base=%s", corpus->base);
    if (corpus->removed != NULL && used < room)
        used += (size_t)snprintf(text + used, room - used, " removed=%s id=%s", corpus->removed,
                                 corpus->id.text);
    if (corpus->lines.invert && used < room)
        used += (size_t)snprintf(text + used, room - used, " invert");
    assert(used < room);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
}

static bool open_journal(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    const struct tool_source *source = &command->source;
    const char *const written[] = {corpus->removed, command->state, command->secret_file};
    const char *others[4] = {NULL};
    size_t room = 1024;
    for (size_t i = 0, count = 0; i < 3; i++)
        if (written[i] != NULL)
            others[count++] = written[i];
    for (size_t i = 0; i < command->againsts.count; i++)
        room += strlen(command->againsts.list[i]) + 1;
    room += command->state != NULL ? strlen(command->state) : 0;
    room += corpus->base != NULL ? strlen(corpus->base) : 0;
    room += corpus->removed != NULL ? strlen(corpus->removed) + strlen(corpus->id.text) : 0;
    room += corpus->annotate != NULL ? strlen(corpus->annotate) : 0;
    room += strlen(corpus->paths_said);
    char *text = tool_allocate(room);
    say_options(command, text, room);
    const bool good = tool_journal_open(&corpus->journal, corpus->output_dir, text);
    free(text);
    for (size_t i = 0; good && others[i] != NULL; i++)
        if (!tool_journal_leaves(&corpus->journal, others[i]))
            return false;
    for (size_t i = 0; good && i < source->count; i++)
        if (!tool_output_is_free(&corpus->names, &corpus->journal, source->paths[i], others))
            return false;
    return good && tool_output_names_differ(&corpus->names, source) &&
           (corpus->removed == NULL ||
            tool_journal_open_removed(&corpus->journal, corpus->removed));
}

/* A shard without inputs leaves what the others leave: a directory, and a state without keys. */
static int run_empty(struct tool_dedupe_command *command)
{
    const struct tool_corpus *corpus = &command->corpus;
    tool_say("dedupe: shard %u/%u has none of the inputs", corpus->shard + 1, corpus->shards);
    if (corpus->output_dir != NULL && mkdir(corpus->output_dir, 0777) != 0 && errno != EEXIST) {
        tool_error("%s: %s", corpus->output_dir, strerror(errno));
        return TOOL_ERROR;
    }
    command->estimated_keys = TOOL_CORPUS_KEYS_MIN;
    const bool good =
        command->state == NULL || (tool_dedupe_prepare(command) && tool_corpus_learn(command) &&
                                   tool_dedupe_save_state(command));
    return good ? TOOL_FOUND : TOOL_ERROR;
}

bool tool_corpus_plan(struct tool_dedupe_command *command, int *code)
{
    struct tool_corpus *corpus = &command->corpus;
    struct tool_corpus_size size = {0};
    const bool has_inputs = command->source.count > 0, to_directory = corpus->output_dir != NULL;
    *code = TOOL_ERROR;
    choose_inputs(command);
    if (tool_corpus_is_near(corpus) && !plan_near(command))
        return false;
    set_judge(command);
    const char *missing = tool_judge_needs_words(&corpus->judge) ? tool_words_load() : NULL;
    if (missing != NULL) {
        tool_error("words need libunistring: %s", missing);
        return false;
    }
    if (command->source.count == 0 && has_inputs) {
        *code = run_empty(command);
        return false;
    }
    const bool sampled = command->keys == 0 || corpus->dry_run;
    if (!inputs_are_files(&command->source) ||
        !againsts_fit(&corpus->judge, corpus->note, command->quiet) ||
        (corpus->dry_run && !inputs_are_there(&command->source)) ||
        (sampled && !get_size(command, &size)))
        return false;
    if (corpus->dry_run) {
        *code = size.known ? tool_corpus_print_plans(command, &size)
                           : tool_usage("--dry-run samples files; a pipe can't be read twice");
        return false;
    }
    if (to_directory && !open_journal(command))
        return false;
    bool has_work = !to_directory || !corpus->journal.whole, changed;
    for (size_t i = 0; i < command->source.count && !has_work; i++)
        has_work = !tool_journal_has(&corpus->journal, command->source.paths[i], &changed);
    if (!has_work) {
        if (!command->quiet)
            tool_say("dedupe: all inputs were deduplicated into %s before", corpus->output_dir);
        *code = tool_dedupe_report(command, TOOL_FOUND);
        return false;
    }
    corpus->wrong_before = corpus->journal.wrong;
    if (size.known)
        command->estimated_keys = tool_corpus_size_keys(&size);
    return true;
}

/* ---- What was seen --------------------------------------------------------------------------- */

/* The filter of the earlier run takes the place of the one that was made. */
static bool open_checkpoint(struct tool_dedupe_command *command)
{
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.memory_limit = command->memory;
    bloomery_free(command->seen.filter);
    command->seen.filter =
        tool_filter_open(command->corpus.journal.checkpoint_path, opening, command->secret_file);
    if (command->seen.filter != NULL)
        tool_seen_start(&command->seen, command->target);
    return command->seen.filter != NULL;
}

/* Saves what was seen, which has the keys of all inputs that are done. */
static bool write_checkpoint(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    bloomery_error error;
    if (corpus->no_add || command->exact > 0)
        return true;
    if (bloomery_save(command->seen.filter, corpus->journal.checkpoint_path, &error) !=
        BLOOMERY_OK) {
        tool_library_error(corpus->journal.checkpoint_path, &error);
        return false;
    }
    corpus->saved_at = time(NULL);
    return tool_journal_checkpoint(&corpus->journal);
}

/* Adds the keys of a file of documents, also with --no-add. */
static bool learn(struct tool_dedupe_command *command, const char *path)
{
    struct tool_source one = command->source;
    one.paths = (char *const *)(const void *)&path;
    one.count = 1;
    assert(!command->corpus.judge.no_add);
    const bool good = tool_dedupe_learn(&command->dedupe, &one);
    if (command->dedupe.stopped)
        tool_seen_say_full(&command->seen, 0, 0);
    return good;
}

static bool learn_lists(struct tool_dedupe_command *command)
{
    for (size_t i = 0; i < command->list_count; i++) {
        const uint64_t texts = command->dedupe.texts;
        if (!learn(command, command->lists[i]))
            return false;
        if (command->dedupe.texts == texts) {
            tool_error("%s: no document has a string at '%s', so there is nothing to compare with",
                       command->lists[i], command->corpus.paths_said);
            return false;
        }
    }
    return true;
}

/* The keys of inputs that are done and were not saved. */
static bool learn_again(struct tool_dedupe_command *command)
{
    const struct tool_journal *journal = &command->corpus.journal;
    if (command->corpus.no_add) /* they were compared with the lists, and not with each other */
        return true;
    /* A run that came to its end has written its state, if it is still there. */
    if (journal->whole && command->state != NULL && !command->state_made)
        return true;
    for (size_t i = journal->checkpoint; i < journal->done_count; i++)
        if (!learn(command, journal->done[i].path))
            return false;
    /* So that a run which is ended again and again comes to its end all the same. */
    return journal->checkpoint == journal->done_count || write_checkpoint(command);
}

/* Chooses what hashes words for signatures: with a secret the filter, else XXH3-64. Filters of
 * --against have the same signatures only if they have the same secret, or none. */
static bool set_hasher(struct tool_dedupe_command *command)
{
    struct tool_corpus *corpus = &command->corpus;
    struct tool_judge *judge = &corpus->judge;
    bloomery_info own = BLOOMERY_INFO;
    command->seen.group = judge->near->bands;
    command->seen.adds_seen = judge->add_all;
    bloomery_info_get(command->seen.filter, &own);
    judge->hasher = command->seen.filter;
    if (own.secret_fingerprint == 0)
        judge->hasher = corpus->hasher = tool_hasher_least(BLOOMERY_HASH_XXH3_64, NULL);
    for (size_t i = 0; i < judge->against_count && judge->hasher != NULL; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(judge->against[i].filter, &info);
        if (info.secret_fingerprint != own.secret_fingerprint) {
            tool_error("%s: its signatures are made with %s, and those of this run with %s; "
                       "--keyed and --secret-file give all runs one secret",
                       judge->against[i].path,
                       info.secret_fingerprint != 0 ? "a secret" : "no secret",
                       own.secret_fingerprint == 0    ? "none"
                       : info.secret_fingerprint != 0 ? "another one"
                                                      : "one");
            return false;
        }
    }
    return judge->hasher != NULL;
}

bool tool_corpus_learn(struct tool_dedupe_command *command)
{
    struct tool_judge *judge = &command->corpus.judge;
    struct tool_dedupe *dedupe = &command->dedupe;
    const bool saved = command->corpus.journal.checkpoint > 0;
    if (command->state != NULL &&
        !note_fits(command->corpus.note, command->state, command->seen.filter))
        return false;
    if (saved && !open_checkpoint(command))
        return false;
    judge->filter = command->seen.filter;
    judge->rule = dedupe->rule;
    if ((judge->rule.flags & ~TOOL_RULES_OF_TEXT) != 0 || judge->rule.comment != 0) {
        tool_error("%s: makes its keys by a rule that is not for texts", command->state);
        return false;
    }
    if (judge->near != NULL && !set_hasher(command))
        return false;
    /* Every document of the lists is compared with, also one that is like another one of them. */
    judge->add_all = command->seen.adds_seen = true;
    const bool learned = saved || learn_lists(command);
    judge->add_all = command->seen.adds_seen = command->corpus.add_all;
    if (!learned || !learn_again(command))
        return false;
    tool_seen_restart(&command->seen);
    judge->no_add = command->corpus.no_add;
    /* The filter of the lists is then compared with, as those of --against are. */
    if (judge->no_add && command->list_count > 0) {
        dedupe->against[dedupe->against_count] = (struct tool_against){
            .path = command->lists[0], .filter = command->seen.filter, .rule = judge->rule};
        judge->against_count = dedupe->against_count + 1;
        command->corpus.lines.of_lists = command->list_count > 1 ? judge->against_count : 0;
    }
    return true;
}

/* ---- Inputs with outputs of their own -------------------------------------------------------- */

static bool write_packed(void *context, const void *data, size_t bytes)
{
    return tool_packed_output_write(context, data, bytes);
}

/* One input and its output. False: the run ends here. An input that can't even be opened is left
 * out. One that fails later ends the run, for the filter has keys of it that nothing has. */
static bool run_input(struct tool_dedupe_command *command, char *path)
{
    struct tool_corpus *corpus = &command->corpus;
    struct tool_dedupe *dedupe = &command->dedupe;
    struct tool_source one = command->source;
    const struct tool_dedupe_counts before = dedupe->counts;
    one.paths = &path;
    one.count = 1;
    if (!tool_journal_begin(&corpus->journal, path))
        return false;
    char *name = tool_output_name(&corpus->names, path);
    struct tool_pack_form form = tool_pack_form_of(path);
    if (command->output.level > 0)
        form.level = command->output.level;
    struct tool_packed_output *output =
        tool_output_folders_make(&corpus->names, name)
            ? tool_packed_output_open(corpus->output_dir, name, form)
            : NULL;
    free(name);
    if (output == NULL)
        return false;
    dedupe->write = write_packed;
    dedupe->context = output;
    if (corpus->removed != NULL) {
        dedupe->removed = &corpus->removed_out;
        tool_out_start(dedupe->removed);
        tool_out_redirect(dedupe->removed, corpus->journal.removed, corpus->removed);
    }
    dedupe->counts = (struct tool_dedupe_counts){0};
    const bool good = tool_dedupe_run(dedupe, &one);
    const struct tool_dedupe_counts these = dedupe->counts;
    tool_dedupe_counts_add(&dedupe->counts, &before);
    if (!good) {
        tool_packed_output_drop(output);
        if (dedupe->removed != NULL && tool_out_failed(dedupe->removed))
            tool_out_finish(dedupe->removed, TOOL_ERROR); /* which says why */
        tool_journal_drop_removed(&corpus->journal);
        corpus->left_out = true;
        return these.records == 0 && !dedupe->stopped && !dedupe->failed;
    }
    if (!tool_packed_output_finish(output, NULL) ||
        (dedupe->removed != NULL && tool_out_finish(dedupe->removed, TOOL_FOUND) != TOOL_FOUND))
        return false;
    /* Of all runs: that of earlier ones, and this one's so far, by the last look at the filter. It
     * takes longer than a small input. */
    const time_t now = time(NULL);
    if (now != corpus->looked_at)
        corpus->wrong = corpus->wrong_before + tool_corpus_wrong(command);
    corpus->looked_at = now;
    if (!tool_journal_done(&corpus->journal, path, &these, corpus->wrong))
        return false;
    const double wanted = corpus->checkpoint >= 0 ? ceil(corpus->checkpoint) : CHECKPOINT_DEFAULT;
    return (double)(time(NULL) - corpus->saved_at) < wanted || write_checkpoint(command);
}

bool tool_corpus_run_inputs(struct tool_dedupe_command *command)
{
    /* A run into a directory can go on later, which who ends it should know. The line of progress
     * is to stay apart. */
    static const char ended[] = "\nbloomery: dedupe: ended by a signal; the same command goes on "
                                "after the last input that is done\n";
    struct tool_corpus *corpus = &command->corpus;
    const struct tool_source *source = &command->source;
    const uint64_t all = tool_source_bytes(source);
    struct tool_progress progress;
    uint64_t done = 0;
    bool changed, good = true;
    if (!command->quiet)
        tool_interrupt_say(ended + (command->dedupe.silent || !isatty(STDERR_FILENO) ? 1 : 0));
    corpus->saved_at = time(NULL);
    /* Inputs that are too short to show how far they are: how far all are is shown between them. */
    tool_progress_start(&progress, "all inputs", command->dedupe.silent);
    for (size_t i = 0; i < source->count && good; i++) {
        if (!tool_journal_has(&corpus->journal, source->paths[i], &changed))
            good = run_input(command, source->paths[i]);
        struct tool_source one = *source;
        one.paths += i;
        one.count = 1;
        done += tool_source_bytes(&one);
        tool_progress_update(&progress, command->dedupe.counts.keys, done, all);
    }
    tool_progress_stop(&progress);
    corpus->journal.wrong = corpus->wrong_before + tool_corpus_wrong(command); /* for the report */
    return good;
}

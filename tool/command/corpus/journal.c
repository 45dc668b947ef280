/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal is a text file in the directory of outputs. Each line is appended and synced before
 * what depends on it is done. A last line without a line end was cut off by a crash and does not
 * count.
 *
 *     bloomery dedupe 1
 *     options --unit paragraph --jsonl text ...
 *     begin in/a.jsonl
 *     done 1048576 1700000000000000000 12 ... 0x1p-4 in/a.jsonl
 *     checkpoint 1
 *     end
 *
 * A crash between an output's rename and its "done" leaves an output that the next run writes
 * again, with the same bytes: what decides about it is the filter, and that has none of its keys.
 * For the filter is saved at ends of files alone. Inputs that are done and not in the saved filter
 * are read again and their keys added, which changes nothing for keys that are there.
 */
#include "command/corpus/journal.h"

#include "base/system.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "bloomery dedupe 1";

enum { COUNTS = 10, SHORTS = 4 };

static char *join(const char *directory, const char *name)
{
    const size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = tool_allocate(bytes);
    snprintf(path, bytes, "%s/%s", directory, name);
    return path;
}

static char *copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *made = tool_allocate(bytes);
    memcpy(made, text, bytes);
    return made;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool append(struct tool_journal *journal, const char *line)
{
    uint64_t moved = 0;
    const int reason = tool_write_all(journal->file, line, strlen(line), &moved);
    if (reason == 0 && fdatasync(journal->file) == 0)
        return true;
    tool_error("%s: %s", journal->path, strerror(reason != 0 ? reason : errno));
    return false;
}

/* The numbers of the counts, in the order of their lines. */
static void list_counts(struct tool_corpus_counts *counts, uint64_t *numbers[COUNTS])
{
    uint64_t *const all[COUNTS] = {&counts->documents,    &counts->bytes,   &counts->without_text,
                                   &counts->dropped,      &counts->changed, &counts->cut,
                                   &counts->paragraphs,   &counts->keys,    &counts->seen,
                                   &counts->removed_bytes};
    memcpy(numbers, all, sizeof(all));
}

static bool note_done(struct tool_journal *journal, const char *path, uint64_t bytes,
                      int64_t modified)
{
    if (journal->done_count == journal->done_room) {
        journal->done_room = 2 * journal->done_room + 16;
        journal->done = tool_reallocate(journal->done, journal->done_room * sizeof(*journal->done));
    }
    journal->done[journal->done_count++] =
        (struct tool_journal_input){copy_text(path), bytes, modified};
    return true;
}

static void note_begun(struct tool_journal *journal, const char *path)
{
    const size_t bytes = (journal->begun_count + 1) * sizeof(char *);
    journal->begun = tool_reallocate(journal->begun, bytes);
    journal->begun[journal->begun_count++] = copy_text(path);
}

/* Reads a number, and goes on behind it. False if there is none, or nothing behind it. */
static bool read_count(char **at, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    const bool good = end != *at && errno == 0 && *end == ' ';
    *at = end;
    return good;
}

static bool read_real(char **at, double *number)
{
    char *end;
    *number = strtod(*at, &end);
    const bool good = end != *at && *end == ' ';
    *at = end;
    return good;
}

/* Reads the numbers of a line "done ..."; the path is behind them. */
static bool read_done(struct tool_journal *journal, char *at)
{
    struct tool_corpus_counts counts = {0};
    uint64_t *numbers[COUNTS], size, modified;
    if (!read_count(&at, &size) || !read_count(&at, &modified))
        return false;
    list_counts(&counts, numbers);
    for (size_t i = 0; i < COUNTS; i++)
        if (!read_count(&at, numbers[i]))
            return false;
    for (size_t i = 0; i < SHORTS; i++)
        if (!read_real(&at, &counts.short_by[i]))
            return false;
    if (!read_real(&at, &journal->wrong))
        return false;
    tool_corpus_counts_add(&journal->counts, &counts);
    return note_done(journal, at + 1, size, (int64_t)modified);
}

static bool read_line(struct tool_journal *journal, char *line)
{
    journal->whole = false;
    if (strncmp(line, "begin ", 6) == 0)
        note_begun(journal, line + 6);
    else if (strncmp(line, "done ", 5) == 0)
        return read_done(journal, line + 5);
    else if (strncmp(line, "checkpoint ", 11) == 0)
        journal->checkpoint = (size_t)strtoull(line + 11, NULL, 10);
    else if (strcmp(line, "end") == 0) {
        journal->whole = true;
        journal->checkpoint = 0; /* the filter was removed */
    } else
        return false;
    return journal->checkpoint <= journal->done_count;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool refuse(const struct tool_journal *journal, const char *why)
{
    tool_error("%s: %s; an empty --output-dir begins anew", journal->path, why);
    return false;
}

/* Takes the lines of a journal that is there. What follows the last line end is cut off. */
static bool read_lines(struct tool_journal *journal, char *text, size_t bytes, const char *options)
{
    char *line = text, *end;
    size_t number = 0;
    bool begins_anew = false;
    for (; (end = memchr(line, '\n', bytes - (size_t)(line - text))) != NULL; line = end + 1) {
        *end = '\0';
        if (number == 0 && strcmp(line, first_line) != 0)
            return refuse(journal, "is no journal of this version");
        if (number == 1 && strcmp(line, options) != 0) {
            const size_t left = bytes - (size_t)(end - text);
            *end = '\n'; /* a path may have the word */
            if (memmem(end, left, "\ndone ", 6) != NULL)
                return refuse(journal, "is of a run with other options");
            begins_anew = true; /* that run has done nothing yet */
        }
        if (number > 1 && !read_line(journal, line))
            return refuse(journal, "is damaged");
        number++;
    }
    journal->resumed = number > 2;
    if (number < 2 || begins_anew)
        line = text;
    if (ftruncate(journal->file, line - text) != 0) {
        tool_error("%s: %s", journal->path, strerror(errno));
        return false;
    }
    return true;
}

static bool read_journal(struct tool_journal *journal, const char *options)
{
    struct stat facts;
    uint64_t count = 0;
    if (fstat(journal->file, &facts) != 0 || !S_ISREG(facts.st_mode))
        return refuse(journal, "is no regular file");
    char *text = tool_allocate((size_t)facts.st_size + 1);
    const int reason = tool_read_at(journal->file, 0, text, (size_t)facts.st_size, &count);
    if (reason != 0)
        tool_error("%s: %s", journal->path, strerror(reason));
    const bool good = reason == 0 && read_lines(journal, text, (size_t)count, options);
    free(text);
    return good;
}

static bool append_begin(struct tool_journal *journal, const char *path)
{
    const size_t room = strlen(path) + 16;
    char *line = tool_allocate(room);
    snprintf(line, room, "begin %s\n", path);
    const bool good = append(journal, line);
    free(line);
    return good;
}

static bool write_head(struct tool_journal *journal, const char *options)
{
    struct stat facts;
    if (fstat(journal->file, &facts) == 0 && facts.st_size > 0)
        return true;
    const size_t room = sizeof(first_line) + strlen(options) + 16;
    char *head = tool_allocate(room);
    snprintf(head, room, "%s\noptions %s\n", first_line, options);
    bool good = append(journal, head);
    free(head);
    /* What a run with other options has begun is ours to replace. */
    for (size_t i = 0; good && i < journal->begun_count; i++)
        good = append_begin(journal, journal->begun[i]);
    return good;
}

bool tool_journal_open(struct tool_journal *journal, const char *directory, const char *options)
{
    *journal = (struct tool_journal){.file = -1};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        tool_error("%s: %s", directory, strerror(errno));
        return false;
    }
    journal->path = join(directory, TOOL_JOURNAL_NAME);
    journal->checkpoint_path = join(directory, TOOL_CHECKPOINT_NAME);
    journal->file = open(journal->path,
                         O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (journal->file < 0) {
        tool_error("%s: %s", journal->path, strerror(errno));
        return false;
    }
    if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) {
        tool_error("%s: another run writes to this directory", directory);
        return false;
    }
    const size_t room = strlen(options) + 16;
    char *line = tool_allocate(room);
    snprintf(line, room, "options %s", options);
    const bool good = read_journal(journal, line) && write_head(journal, options);
    free(line);
    return good;
}

void tool_journal_close(struct tool_journal *journal)
{
    for (size_t i = 0; i < journal->done_count; i++)
        free(journal->done[i].path);
    for (size_t i = 0; i < journal->begun_count; i++)
        free(journal->begun[i]);
    free(journal->done);
    free(journal->begun);
    free(journal->path);
    free(journal->checkpoint_path);
    if (journal->file >= 0)
        close(journal->file);
    *journal = (struct tool_journal){.file = -1};
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Size and time of an input; zeros if it has none, as a pipe. */
static void facts_of(const char *path, uint64_t *bytes, int64_t *modified)
{
    struct stat facts;
    *bytes = 0;
    *modified = 0;
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return;
    *bytes = (uint64_t)facts.st_size;
    *modified = (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
}

bool tool_journal_has(const struct tool_journal *journal, const char *path, bool *changed)
{
    uint64_t bytes;
    int64_t modified;
    *changed = false;
    for (size_t i = 0; i < journal->done_count; i++)
        if (strcmp(journal->done[i].path, path) == 0) {
            facts_of(path, &bytes, &modified);
            *changed = bytes != journal->done[i].bytes || modified != journal->done[i].modified;
            return true;
        }
    return false;
}

bool tool_journal_has_begun(const struct tool_journal *journal, const char *path)
{
    for (size_t i = 0; i < journal->begun_count; i++)
        if (strcmp(journal->begun[i], path) == 0)
            return true;
    return false;
}

bool tool_journal_begin(struct tool_journal *journal, const char *path)
{
    const bool good = append_begin(journal, path);
    if (good)
        note_begun(journal, path);
    return good;
}

bool tool_journal_done(struct tool_journal *journal, const char *path,
                       const struct tool_corpus_counts *counts, double wrong)
{
    struct tool_corpus_counts these = *counts;
    uint64_t *numbers[COUNTS], bytes;
    int64_t modified;
    const size_t room = strlen(path) + 64 + 24 * (size_t)(COUNTS + SHORTS + 4);
    char *line = tool_allocate(room);
    facts_of(path, &bytes, &modified);
    list_counts(&these, numbers);
    size_t used = (size_t)snprintf(line, room, "done %" PRIu64 " %" PRId64, bytes, modified);
    for (size_t i = 0; i < COUNTS; i++)
        used += (size_t)snprintf(line + used, room - used, " %" PRIu64, *numbers[i]);
    for (size_t i = 0; i < SHORTS; i++)
        used += (size_t)snprintf(line + used, room - used, " %a", these.short_by[i]);
    used += (size_t)snprintf(line + used, room - used, " %a %s\n", wrong, path);
    assert(used < room);
    const bool good = append(journal, line) && note_done(journal, path, bytes, modified);
    free(line);
    if (good)
        tool_corpus_counts_add(&journal->counts, counts);
    journal->wrong = wrong;
    return good;
}

bool tool_journal_checkpoint(struct tool_journal *journal)
{
    char line[64];
    snprintf(line, sizeof(line), "checkpoint %zu\n", journal->done_count);
    journal->checkpoint = journal->done_count;
    return append(journal, line);
}

bool tool_journal_end(struct tool_journal *journal)
{
    if (!append(journal, "end\n"))
        return false;
    unlink(journal->checkpoint_path);
    journal->whole = true;
    return true;
}

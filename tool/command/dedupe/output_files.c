/* SPDX-License-Identifier: Apache-2.0 */
/* What a run leaves behind beside its output: a file that lines are appended to, the outputs in a
 * directory and the journal of these. */
#include "base/system.h"
#include "command/dedupe/dedupe.h"
#include "filter/files.h"
#include "input/packing.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A text of its own, made as printf prints it. */
static char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *format_text(const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        tool_error("not enough memory");
        exit(TOOL_ERROR);
    }
    va_end(arguments);
    return text;
}

/* ---- A file that lines are appended to ------------------------------------------------------- */

/*
 * A file that lines are appended to holds whole lines at every moment that can be observed from
 * outside. A write that comes short (the disk is full) is cut back to its last whole line. A last
 * line that somebody left without an end gets one before the next is written, or two would become
 * one.
 */

static bool complain(const struct tool_appended *file, const char *why)
{
    tool_error("%s: %s", file->path, why);
    return false;
}

bool tool_lock_as_named(int descriptor, const char *path, struct stat *held)
{
    struct stat named;
    int locked;
    do
        locked = flock(descriptor, LOCK_EX);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 || fstat(descriptor, held) != 0 || stat(path, &named) != 0)
        return false;
    errno = ENOENT;
    return held->st_dev == named.st_dev && held->st_ino == named.st_ino;
}

/* The descriptor of the file that has this name, locked; or -1 with errno. */
static int open_locked(const char *path, bool *made)
{
    while (true) {
        /* O_NONBLOCK: a FIFO given by mistake must not hang here. */
        const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        struct stat held;
        int descriptor = open(path, flags | O_CREAT | O_EXCL, 0666);
        *made = descriptor >= 0;
        if (descriptor < 0 && errno == EEXIST)
            descriptor = open(path, flags | O_CREAT, 0666); /* also if a link leads nowhere */
        if (descriptor < 0 || tool_lock_as_named(descriptor, path, &held))
            return descriptor;
        const int reason = errno;
        close(descriptor);
        errno = reason;
        if (reason != ENOENT)
            return -1;
    }
}

/* Whether it can be appended to; and whether its last record is ended. */
static bool look_at(struct tool_appended *file)
{
    struct stat facts;
    unsigned char head[512], last;
    bool undecided;
    if (fstat(file->descriptor, &facts) != 0)
        return complain(file, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return complain(file, "is not a regular file, to which lines can be appended");
    file->bytes = (uint64_t)facts.st_size;
    if (file->bytes == 0)
        return true;
    uint64_t count = 0, one = 0;
    int reason = tool_read_at(file->descriptor, 0, head, sizeof(head), &count);
    if (reason == 0)
        reason = tool_read_at(file->descriptor, file->bytes - 1, &last, 1, &one);
    if (reason != 0 || one != 1)
        return complain(file, strerror(reason != 0 ? reason : EIO));
    enum tool_packing packing = tool_packing_of(head, (size_t)count, &undecided);
    if (packing == TOOL_FILTER)
        return complain(file, "is a filter; --append wants a file of lines, --state a filter");
    if (tool_packing_is_stream(packing))
        return complain(file, "is compressed; lines can be appended to a plain file only");
    if (packing != TOOL_PLAIN)
        return complain(file, "is not text; lines can be appended to a plain file only");
    if (tool_utf16_is_marked(head, (size_t)count))
        return complain(file, "is in UTF-16, and lines are appended in UTF-8");
    file->unended = last != file->delimiter;
    return true;
}

bool tool_appended_open(struct tool_appended *file, const char *path, unsigned char delimiter)
{
    *file = (struct tool_appended){.path = path, .delimiter = delimiter};
    file->descriptor = open_locked(path, &file->made);
    if (file->descriptor < 0)
        return complain(file, strerror(errno));
    return look_at(file);
}

/* The file as it is, after a write of `records` failed when `written` bytes of it were done. */
static bool cut_back(struct tool_appended *file, const unsigned char *records, size_t written,
                     int reason)
{
    const unsigned char *last = memrchr(records, file->delimiter, written);
    size_t whole = last == NULL ? 0 : (size_t)(last - records) + 1;
    const char *more = "";
    struct stat facts;
    /* If others have written too, what is to be cut off is not at its end. */
    if (whole < written &&
        (fstat(file->descriptor, &facts) != 0 || (uint64_t)facts.st_size != file->bytes + written ||
         ftruncate(file->descriptor, (off_t)(file->bytes + whole)) != 0))
        more = "; a line in it may be a part of one";
    file->bytes += whole;
    tool_error("%s: appending: %s%s", file->path, strerror(reason), more);
    return false;
}

static bool write_all(struct tool_appended *file, const unsigned char *records, size_t bytes)
{
    uint64_t written = 0;
    const int reason = tool_write_all(file->descriptor, records, bytes, &written);
    if (reason != 0)
        return cut_back(file, records, (size_t)written, reason);
    file->bytes += bytes;
    return true;
}

bool tool_appended_write(struct tool_appended *file, const void *records, size_t bytes)
{
    assert(file->descriptor >= 0);
    if (bytes == 0)
        return true;
    assert(((const unsigned char *)records)[bytes - 1] == file->delimiter);
    if (file->unended && !write_all(file, &file->delimiter, 1))
        return false;
    file->unended = false;
    return write_all(file, records, bytes);
}

bool tool_appended_close(struct tool_appended *file)
{
    if (file->descriptor < 0)
        return true;
    struct stat facts;
    if (file->made && fstat(file->descriptor, &facts) == 0 && facts.st_size == 0)
        unlink(file->path);
    /* Lines that are remembered as printed must not outlive it. */
    bool synced = file->bytes == 0 || fdatasync(file->descriptor) == 0 || errno == EINVAL ||
                  complain(file, strerror(errno));
    int closed = close(file->descriptor);
    file->descriptor = -1;
    return (closed == 0 || errno == EINTR || complain(file, strerror(errno))) && synced;
}

/* ---- The names of outputs -------------------------------------------------------------------- */

/* Paths are compared part by part, as they are given: "./a" is "a", and what
 * ".." would lead to is not looked up. */

struct part {
    const char *at;
    size_t bytes;
};

static bool is_part(const struct part *part, const char *text)
{
    return part->bytes == strlen(text) && memcmp(part->at, text, part->bytes) == 0;
}

/* The next part of a path, from part->at + part->bytes on. False at its end. */
static bool next_part(struct part *part)
{
    do {
        part->at += part->bytes;
        part->at += strspn(part->at, "/");
        part->bytes = strcspn(part->at, "/");
    } while (is_part(part, "."));
    return part->bytes > 0;
}

static size_t count_parts(const char *path)
{
    struct part part = {path, 0};
    size_t count = 0;
    while (next_part(&part))
        count++;
    return count;
}

/* How many parts two paths share from the beginning on. */
static size_t count_shared(const char *one, const char *other)
{
    struct part a = {one, 0}, b = {other, 0};
    size_t count = 0;
    if ((one[0] == '/') != (other[0] == '/'))
        return 0;
    while (next_part(&a) && next_part(&b) && a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0)
        count++;
    return count;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int order_last_parts(const void *one, const void *other)
{
    return strcmp(last_part(*(char *const *)one), last_part(*(char *const *)other));
}

void tool_output_names_choose(struct tool_output_names *names, const char *directory,
                              const char *base, const struct tool_source *all)
{
    char **paths = tool_allocate((all->count + 1) * sizeof(*paths));
    *names = (struct tool_output_names){.directory = directory, .base = base};
    if (base != NULL) {
        names->folders = true;
        names->shared = count_parts(base);
    } else if (all->count > 0) {
        memcpy(paths, all->paths, all->count * sizeof(*paths));
        names->shared = count_parts(paths[0]);
        qsort(paths, all->count, sizeof(*paths), order_last_parts);
    }
    for (size_t i = 0; base == NULL && i < all->count; i++) {
        const size_t shared = count_shared(paths[0], paths[i]), parts = count_parts(paths[i]);
        const size_t most = shared < parts ? shared : parts > 0 ? parts - 1 : 0;
        names->shared = most < names->shared ? most : names->shared;
        names->folders =
            names->folders || (i > 0 && order_last_parts(&paths[i - 1], &paths[i]) == 0);
    }
    free(paths);
}

char *tool_output_name(const struct tool_output_names *names, const char *input)
{
    char *name = tool_allocate(strlen(input) + 1);
    struct part part = {input, 0};
    size_t used = 0;
    if (!names->folders)
        part = (struct part){last_part(input), 0};
    for (size_t i = 0; next_part(&part); i++) {
        if (names->folders && i < names->shared)
            continue;
        if (used > 0)
            name[used++] = '/';
        memcpy(name + used, part.at, part.bytes);
        used += part.bytes;
    }
    name[used] = '\0';
    return name;
}

bool tool_output_folders_make(const struct tool_output_names *names, const char *name)
{
    char *path = format_text("%s/%s", names->directory, name);
    bool good = true;
    for (char *slash = strchr(path + strlen(names->directory) + 1, '/'); slash != NULL && good;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        good = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!good)
            tool_error("%s: %s", path, strerror(errno));
        *slash = '/';
    }
    free(path);
    return good;
}

struct named {
    char *name;
    const char *input;
};

static int order_names(const void *one, const void *other)
{
    return strcmp(((const struct named *)one)->name, ((const struct named *)other)->name);
}

bool tool_output_names_differ(const struct tool_output_names *names,
                              const struct tool_source *source)
{
    struct named *all = tool_allocate((source->count + 1) * sizeof(*all));
    bool good = true;
    for (size_t i = 0; i < source->count; i++)
        all[i] = (struct named){tool_output_name(names, source->paths[i]), source->paths[i]};
    if (source->count > 0)
        qsort(all, source->count, sizeof(*all), order_names);
    for (size_t i = 1; i < source->count && good; i++) {
        good = order_names(&all[i - 1], &all[i]) != 0;
        if (!good)
            tool_error("%s and %s would have the same output, %s/%s; name each input once",
                       all[i - 1].input, all[i].input, names->directory, all[i].name);
    }
    for (size_t i = 0; i < source->count; i++)
        free(all[i].name);
    free(all);
    return good;
}

/* Whether a path leads into a folder, by its parts. */
static bool is_below(const char *path, const char *folder)
{
    return (path[0] == '/') == (folder[0] == '/') &&
           count_shared(path, folder) == count_parts(folder);
}

static bool may_be_a_name(const struct tool_output_names *names, const char *name,
                          const char *input)
{
    if (strchr(input, '\n') != NULL) {
        tool_error("%s: has a line end in its path, and the lines of the journal in %s name paths",
                   input, names->directory);
        return false;
    }
    if (names->base != NULL && !tool_path_is_stdin(input) && !is_below(input, names->base)) {
        tool_error("%s: is not below --base %s", input, names->base);
        return false;
    }
    if (tool_path_is_stdin(input) || last_part(input)[0] == '\0' || name[0] == '\0' ||
        strncmp(name, TOOL_JOURNAL_NAME, strlen(TOOL_JOURNAL_NAME)) == 0) {
        tool_error("%s: --output-dir needs inputs with names for their outputs",
                   tool_path_said(input));
        return false;
    }
    struct part part = {name, 0};
    while (next_part(&part) && !is_part(&part, ".."))
        ;
    if (part.bytes == 0)
        return true;
    tool_error("%s: inputs keep their folders in --output-dir, and '..' can't be kept; name the "
               "inputs without it",
               input);
    return false;
}

static bool is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                    const char *input, const char *path, const char *const others[])
{
    struct stat output;
    bool changed;
    const bool there = lstat(path, &output) == 0;
    for (size_t i = 0; others[i] != NULL; i++)
        if (tool_same_file(others[i], path)) {
            tool_error("%s: is the output of %s, and another option names it too", path, input);
            return false;
        }
    if (there && tool_same_file(input, path)) {
        tool_error("%s: is in --output-dir, and would be its own output", input);
        return false;
    }
    if (tool_journal_has(journal, input, &changed)) {
        if (changed || !there)
            tool_error(
                "%s: %s since it was deduplicated into %s; start over with an empty --output-dir",
                changed ? input : path, changed ? "has changed" : "is gone", names->directory);
        return !changed && there;
    }
    if (!there || tool_journal_has_begun(journal, input))
        return true;
    tool_error("%s: already exists, and is not from this run", path);
    return false;
}

bool tool_output_is_free(const struct tool_output_names *names, const struct tool_journal *journal,
                         const char *input, const char *const others[])
{
    char *name = tool_output_name(names, input),
         *path = format_text("%s/%s", names->directory, name);
    const bool good =
        may_be_a_name(names, name, input) && is_free(names, journal, input, path, others);
    free(path);
    free(name);
    return good;
}

/* ---- The journal ----------------------------------------------------------------------------- */

/*
 * The journal is a text file in the directory of outputs. Each line is appended and synced before
 * what depends on it is done. A last line without a line end was cut off by a crash and does not
 * count.
 *
 *     bloomery dedupe 1
 *     options --unit paragraph --jsonl text ...
 *     begin in/a.jsonl
 *     removed 5321
 *     done 1048576 1700000000000000000 12 ... 0x1p-4 in/a.jsonl
 *     checkpoint 1
 *     end
 *
 * A crash between an output's rename and its "done" leaves an output that the next run writes
 * again, with the same bytes: what decides about it is the filter, and that has none of its keys.
 * For the filter is saved at ends of files alone. Inputs that are done and not in the saved filter
 * are read again and their keys added, which changes nothing for keys that are there.
 *
 * With --removed the line "removed" before an input's "done" has the length of that file, which
 * then is on the disk. A later run cuts off what follows.
 */

static const char first_line[] = "bloomery dedupe 1";

enum { COUNTS = 10, SHORTS = 4 };

/* Appends a line, which it frees. */
static bool append(struct tool_journal *journal, char *line)
{
    uint64_t moved = 0;
    assert(line[strlen(line) - 1] == '\n');
    const int reason = tool_write_all(journal->file, line, strlen(line), &moved);
    free(line);
    if (reason == 0 && fdatasync(journal->file) == 0)
        return true;
    tool_error("%s: %s", journal->path, strerror(reason != 0 ? reason : errno));
    return false;
}

/* The numbers of the counts, in the order of their lines. */
static void list_counts(struct tool_dedupe_counts *counts, uint64_t *numbers[COUNTS])
{
    uint64_t *const all[COUNTS] = {&counts->records,      &counts->bytes,   &counts->without_key,
                                   &counts->dropped,      &counts->changed, &counts->cut,
                                   &counts->paragraphs,   &counts->keys,    &counts->seen,
                                   &counts->removed_bytes};
    memcpy(numbers, all, sizeof(all));
}

/* ---- The journal: paths ---------------------------------------------------------------------- */

/* Whether a path is done or begun is asked for each input, of which there may be many: a hash table
 * of open addressing. */
struct tool_journal_place {
    const char *path; /* NULL: free */
    size_t done;      /* its place among the done ones, from 1 on; 0: it is only begun */
};

/* The place of a path, or the free one for it. There must be places. */
static struct tool_journal_place *find_in_journal(const struct tool_journal *journal,
                                                  const char *path)
{
    const size_t mask = journal->place_room - 1;
    size_t at = crc32_z(0, (const unsigned char *)path, strlen(path)) & mask;
    while (journal->places[at].path != NULL && strcmp(journal->places[at].path, path) != 0)
        at = (at + 1) & mask;
    return &journal->places[at];
}

/* The place of a path; NULL: neither done nor begun. */
static const struct tool_journal_place *look_up(const struct tool_journal *journal,
                                                const char *path)
{
    const struct tool_journal_place *place =
        journal->place_count > 0 ? find_in_journal(journal, path) : NULL;
    return place != NULL && place->path != NULL ? place : NULL;
}

/* Enters a path, which has to stay. At most half of the places are taken. */
static struct tool_journal_place *enter(struct tool_journal *journal, const char *path)
{
    if (2 * (journal->place_count + 1) > journal->place_room) {
        struct tool_journal_place *old = journal->places;
        const size_t room = journal->place_room;
        journal->place_room = room == 0 ? 64 : 2 * room;
        journal->places = tool_allocate(journal->place_room * sizeof(*journal->places));
        memset(journal->places, 0, journal->place_room * sizeof(*journal->places));
        for (size_t i = 0; i < room; i++)
            if (old[i].path != NULL)
                *find_in_journal(journal, old[i].path) = old[i];
        free(old);
    }
    struct tool_journal_place *place = find_in_journal(journal, path);
    journal->place_count += place->path == NULL;
    place->path = place->path == NULL ? path : place->path;
    return place;
}

static void note_done(struct tool_journal *journal, const char *path, uint64_t bytes,
                      int64_t modified, const struct tool_dedupe_counts *counts)
{
    if (journal->done_count == journal->done_room) {
        journal->done_room = 2 * journal->done_room + 16;
        journal->done = tool_reallocate(journal->done, journal->done_room * sizeof(*journal->done));
    }
    char *copy = format_text("%s", path);
    journal->done[journal->done_count++] =
        (struct tool_journal_input){copy, bytes, modified, *counts};
    struct tool_journal_place *place = enter(journal, copy);
    place->done = place->done == 0 ? journal->done_count : place->done;
    tool_dedupe_counts_add(&journal->counts, counts);
}

static void note_begun(struct tool_journal *journal, const char *path)
{
    if (journal->begun_count == journal->begun_room) {
        journal->begun_room = 2 * journal->begun_room + 16;
        journal->begun = tool_reallocate(journal->begun, journal->begun_room * sizeof(char *));
    }
    journal->begun[journal->begun_count] = format_text("%s", path);
    enter(journal, journal->begun[journal->begun_count++]);
}

/* ---- The journal: lines ---------------------------------------------------------------------- */

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
    struct tool_dedupe_counts counts = {0};
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
    note_done(journal, at + 1, size, (int64_t)modified, &counts);
    journal->removed_bytes = journal->removed_next;
    return true;
}

static bool read_line(struct tool_journal *journal, char *line)
{
    journal->whole = false;
    if (strncmp(line, "begin ", 6) == 0)
        note_begun(journal, line + 6);
    else if (strncmp(line, "done ", 5) == 0)
        return read_done(journal, line + 5);
    else if (strncmp(line, "removed ", 8) == 0)
        journal->removed_next = strtoull(line + 8, NULL, 10);
    else if (strncmp(line, "checkpoint ", 11) == 0)
        journal->checkpoint = (size_t)strtoull(line + 11, NULL, 10);
    else if (strcmp(line, "end") == 0) {
        journal->whole = true;
        journal->checkpoint = 0; /* the filter was removed */
    } else
        return false;
    return journal->checkpoint <= journal->done_count;
}

static bool refuse(const struct tool_journal *journal, const char *why)
{
    tool_error("%s: %s; start over with an empty --output-dir", journal->path, why);
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
            return refuse(journal, "is not a journal of this version");
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
    journal->resumed = number > 2 && !begins_anew;
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
        return refuse(journal, "is not a regular file");
    char *text = tool_allocate((size_t)facts.st_size + 1);
    const int reason = tool_read_at(journal->file, 0, text, (size_t)facts.st_size, &count);
    if (reason != 0)
        tool_error("%s: %s", journal->path, strerror(reason));
    const bool good = reason == 0 && read_lines(journal, text, (size_t)count, options);
    free(text);
    return good;
}

static bool write_head(struct tool_journal *journal, const char *options)
{
    struct stat facts;
    if (fstat(journal->file, &facts) == 0 && facts.st_size > 0)
        return true;
    bool good = append(journal, format_text("%s\noptions %s\n", first_line, options));
    /* What a run with other options has begun is ours to replace. */
    for (size_t i = 0; good && i < journal->begun_count; i++)
        good = append(journal, format_text("begin %s\n", journal->begun[i]));
    return good;
}

bool tool_journal_open(struct tool_journal *journal, const char *directory, const char *options)
{
    *journal = (struct tool_journal){.file = -1, .removed = -1};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        tool_error("%s: %s", directory, strerror(errno));
        return false;
    }
    journal->path = format_text("%s/%s", directory, TOOL_JOURNAL_NAME);
    journal->checkpoint_path = format_text("%s/%s", directory, TOOL_CHECKPOINT_NAME);
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
    char *line = format_text("options %s", options);
    const bool good = read_journal(journal, line) && write_head(journal, options);
    free(line);
    if (good && journal->whole) /* a run that was killed right behind its end may have left it */
        unlink(journal->checkpoint_path);
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
    free(journal->places);
    if (journal->file >= 0)
        close(journal->file);
    if (journal->removed >= 0)
        close(journal->removed);
    *journal = (struct tool_journal){.file = -1, .removed = -1};
}

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

bool tool_journal_leaves(const struct tool_journal *journal, const char *path)
{
    if (!tool_same_file(path, journal->path) && !tool_same_file(path, journal->checkpoint_path))
        return true;
    tool_error("%s: is a file of --output-dir itself; choose another name", path);
    return false;
}

bool tool_journal_has(const struct tool_journal *journal, const char *path, bool *changed)
{
    const struct tool_journal_place *place = look_up(journal, path);
    uint64_t bytes;
    int64_t modified;
    *changed = false;
    if (place == NULL || place->done == 0)
        return false;
    assert(place->done <= journal->done_count);
    const struct tool_journal_input *input = &journal->done[place->done - 1];
    facts_of(path, &bytes, &modified);
    *changed = bytes != input->bytes || modified != input->modified;
    return true;
}

bool tool_journal_has_begun(const struct tool_journal *journal, const char *path)
{
    return look_up(journal, path) != NULL;
}

bool tool_journal_begin(struct tool_journal *journal, const char *path)
{
    const bool good = append(journal, format_text("begin %s\n", path));
    if (good)
        note_begun(journal, path);
    return good;
}

/* ---- The journal: removed spans -------------------------------------------------------------- */

static bool refuse_removed(const struct tool_journal *journal, const char *why)
{
    tool_error("%s: %s", journal->removed_path, why);
    return false;
}

/* Its name has to survive a power cut, as what the journal says of it does. */
static void sync_folder_of(const char *path)
{
    char *copy = format_text("%s", path);
    const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (folder < 0)
        return;
    fsync(folder); /* not all file systems can */
    close(folder);
}

bool tool_journal_open_removed(struct tool_journal *journal, const char *path)
{
    struct stat facts;
    journal->removed_path = path;
    journal->removed =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (journal->removed < 0 || fstat(journal->removed, &facts) != 0)
        return refuse_removed(journal, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return refuse_removed(journal, "is not a regular file, which a run that goes on needs");
    if (flock(journal->removed, LOCK_EX | LOCK_NB) != 0)
        return refuse_removed(journal, "another run writes to this file");
    if (facts.st_size > 0 && !journal->resumed)
        return refuse_removed(journal, "already exists, and is not from this run");
    if ((uint64_t)facts.st_size < journal->removed_bytes)
        return refuse_removed(journal, "has lost lines since an earlier run wrote them; start over "
                                       "with an empty --output-dir");
    if (ftruncate(journal->removed, (off_t)journal->removed_bytes) != 0)
        return refuse_removed(journal, strerror(errno));
    sync_folder_of(path);
    return true;
}

void tool_journal_drop_removed(struct tool_journal *journal)
{
    if (journal->removed >= 0 && ftruncate(journal->removed, (off_t)journal->removed_bytes) != 0)
        refuse_removed(journal, strerror(errno)); /* the next run tries it again */
}

/* What the file has now is on the disk, and `line` says how long it is. */
static bool sync_removed(struct tool_journal *journal, char *line, size_t room)
{
    struct stat facts;
    if (fstat(journal->removed, &facts) != 0)
        return refuse_removed(journal, strerror(errno));
    const bool grown = (uint64_t)facts.st_size != journal->removed_bytes;
    if (grown && fdatasync(journal->removed) != 0)
        return refuse_removed(journal, strerror(errno));
    journal->removed_bytes = (uint64_t)facts.st_size;
    snprintf(line, room, "removed %" PRIu64 "\n", journal->removed_bytes);
    return true;
}

bool tool_journal_done(struct tool_journal *journal, const char *path,
                       const struct tool_dedupe_counts *counts, double wrong)
{
    struct tool_dedupe_counts these = *counts;
    uint64_t *numbers[COUNTS], bytes;
    int64_t modified;
    char text[24 * (COUNTS + SHORTS)] = "";
    size_t used = 0;
    facts_of(path, &bytes, &modified);
    list_counts(&these, numbers);
    for (size_t i = 0; i < COUNTS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %" PRIu64, *numbers[i]);
    for (size_t i = 0; i < SHORTS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %a", these.short_by[i]);
    assert(used < sizeof(text));
    char length[40] = "";
    if (journal->removed >= 0 && !sync_removed(journal, length, sizeof(length)))
        return false;
    const bool good = append(journal, format_text("%sdone %" PRIu64 " %" PRId64 "%s %a %s\n",
                                                  length, bytes, modified, text, wrong, path));
    if (good)
        note_done(journal, path, bytes, modified, counts);
    journal->wrong = wrong;
    return good;
}

bool tool_journal_checkpoint(struct tool_journal *journal)
{
    journal->checkpoint = journal->done_count;
    return append(journal, format_text("checkpoint %zu\n", journal->done_count));
}

bool tool_journal_end(struct tool_journal *journal)
{
    if (!append(journal, format_text("end\n")))
        return false;
    unlink(journal->checkpoint_path);
    journal->whole = true;
    return true;
}

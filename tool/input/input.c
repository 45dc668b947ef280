/* SPDX-License-Identifier: Apache-2.0 */
#include "input/input.h"

#include "base/numbers.h"
#include "base/system.h"
#include "input/unpack.h"
#include "tool.h"

#include <bloomery/records.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Sources --------------------------------------------------------------------------------- */

bool tool_path_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *tool_path_said(const char *path)
{
    return tool_path_is_stdin(path) ? "standard input" : path;
}

const char *tool_source_path(const struct tool_source *source, size_t index)
{
    return source->count == 0 ? "-" : source->paths[index];
}

size_t tool_source_count(const struct tool_source *source)
{
    return source->count == 0 ? 1 : source->count;
}

uint64_t tool_source_bytes(const struct tool_source *source)
{
    uint64_t total = 0;
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        if (tool_path_is_stdin(source->paths[i]) || stat(source->paths[i], &facts) != 0 ||
            !S_ISREG(facts.st_mode))
            return 0;
        total += (uint64_t)facts.st_size;
    }
    return total;
}

bool tool_source_readable_twice(const struct tool_source *source, const char **culprit)
{
    for (size_t i = 0; i < tool_source_count(source); i++) {
        struct stat facts;
        *culprit = tool_source_path(source, i);
        if (tool_path_is_stdin(*culprit) ||
            (stat(*culprit, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)))
            return false;
    }
    return true;
}

/* What is the same of a file that has not changed. A program can put the time of the last write
 * back, as rsync --inplace -t and touch -r do, but not the time of the last change. */
struct tool_input_mark {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec written, changed;
};

/* Of stdin, or of a path. False if it is not a regular file. */
static bool mark_input(const char *path, struct tool_input_mark *mark)
{
    struct stat facts;
    if ((tool_path_is_stdin(path) ? fstat(STDIN_FILENO, &facts) : stat(path, &facts)) != 0 ||
        !S_ISREG(facts.st_mode))
        return false;
    *mark = (struct tool_input_mark){facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim,
                                     facts.st_ctim};
    return true;
}

static bool is_same_time(struct timespec one, struct timespec other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

/* Whether the bytes of a file are read as they are: nothing is unpacked or converted. `from`: of
 * its first one. */
static bool is_plain_text(const struct tool_source *source, const char *path, off_t from)
{
    unsigned char begin[TOOL_PACKING_BYTES];
    const char *why;
    bool undecided;
    uint64_t count = 0;
    if (source->text)
        return true;
    const int file = tool_path_is_stdin(path) ? STDIN_FILENO : tool_open_regular(path, &why);
    if (file < 0)
        return false;
    const int reason = tool_read_at(file, (uint64_t)from, begin, sizeof(begin), &count);
    if (file != STDIN_FILENO)
        close(file);
    return reason == 0 && tool_packing_of(begin, (size_t)count, &undecided) == TOOL_PLAIN &&
           !tool_utf16_is_marked(begin, (size_t)count);
}

bool tool_second_reading_begin(struct tool_second_reading *second, const struct tool_source *source,
                               uint64_t least, uint64_t most)
{
    const size_t count = tool_source_count(source);
    uint64_t bytes = 0;
    bool good = true;
    *second = (struct tool_second_reading){.source = source, .stdin_at = -1};
    second->marks = tool_allocate(count * sizeof(*second->marks));
    for (size_t i = 0; i < count && good; i++) {
        const char *path = tool_source_path(source, i);
        off_t from = 0;
        if (tool_path_is_stdin(path))
            from = second->stdin_at =
                tool_standard_input_is_closed() ? -1 : lseek(STDIN_FILENO, 0, SEEK_CUR);
        good =
            from >= 0 && mark_input(path, &second->marks[i]) && is_plain_text(source, path, from);
        bytes += good ? (uint64_t)second->marks[i].size : 0;
    }
    if (good && bytes >= least && bytes <= most)
        return true;
    tool_second_reading_end(second);
    return false;
}

bool tool_second_reading_rewind(const struct tool_second_reading *second)
{
    if (second->stdin_at < 0 || lseek(STDIN_FILENO, second->stdin_at, SEEK_SET) >= 0)
        return true;
    tool_error("stdin: can't be read again: %s", strerror(errno));
    return false;
}

const char *tool_second_reading_changed(const struct tool_second_reading *second)
{
    for (size_t i = 0; i < tool_source_count(second->source); i++) {
        const struct tool_input_mark *before = &second->marks[i];
        const char *path = tool_source_path(second->source, i);
        struct tool_input_mark now;
        if (!mark_input(path, &now) || now.device != before->device || now.inode != before->inode ||
            now.size != before->size || !is_same_time(now.written, before->written) ||
            !is_same_time(now.changed, before->changed))
            return tool_path_said(path);
    }
    return NULL;
}

void tool_second_reading_end(struct tool_second_reading *second)
{
    free(second->marks);
    second->marks = NULL;
}

enum tool_packing tool_path_packing(const char *path)
{
    unsigned char begin[TOOL_PACKING_BYTES];
    const char *why;
    bool undecided;
    uint64_t count = 0;
    const int file = tool_path_is_stdin(path) ? -1 : tool_open_regular(path, &why);
    if (file < 0)
        return TOOL_PLAIN;
    const int reason = tool_read_at(file, 0, begin, sizeof(begin), &count);
    close(file);
    return reason == 0 ? tool_packing_of(begin, (size_t)count, &undecided) : TOOL_PLAIN;
}

/* ---- Lists of paths -------------------------------------------------------------------------- */

void tool_paths_add(struct tool_paths *paths, char *path)
{
    if (paths->count == paths->room) {
        paths->room = 2 * paths->room + 64;
        paths->paths = tool_reallocate(paths->paths, paths->room * sizeof(*paths->paths));
    }
    paths->paths[paths->count++] = path;
}

/* All of a file's bytes, with a NUL behind them; NULL after a message. */
static char *read_whole(const char *path, size_t *bytes)
{
    enum { FIRST = 1 << 16 };
    const bool is_stdin = tool_path_is_stdin(path);
    size_t room = FIRST;
    char *text = tool_allocate(room);
    ssize_t got = -1;
    *bytes = 0;
    const int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file >= 0)
        do {
            got = read(file, text + *bytes, room - 1 - *bytes);
            if (got > 0)
                *bytes += (size_t)got;
            if (room - 1 == *bytes) {
                room *= 2;
                text = tool_reallocate(text, room);
            }
        } while (got > 0 || (got < 0 && errno == EINTR));
    const int reason = errno;
    if (file > STDIN_FILENO)
        close(file);
    text[*bytes] = '\0';
    if (got == 0)
        return text;
    tool_error("%s: %s", tool_path_said(path), strerror(reason));
    free(text);
    return NULL;
}

/* Whether the list is text. False after a message. */
static bool is_list_of_paths(const char *list, const char *text, size_t bytes)
{
    bool undecided;
    const size_t looked_at = bytes < TOOL_PACKING_BYTES ? bytes : TOOL_PACKING_BYTES;
    const enum tool_packing packing =
        tool_packing_of((const unsigned char *)text, looked_at, &undecided);
    if (packing == TOOL_PLAIN)
        return true;
    tool_error("%s: is %s, not a list of paths", tool_path_said(list), tool_packing_name(packing));
    return false;
}

/* Takes a path of a list. False after a message. */
static bool take_path(struct tool_paths *paths, const char *list, size_t line, char *path)
{
    const char *said = tool_path_said(list);
    if (strlen(path) >= PATH_MAX) {
        tool_error("%s: line %zu is longer than a path can be; --files-from takes a list of paths",
                   said, line);
        return false;
    }
    if (path[0] == '{' && access(path, F_OK) != 0) {
        tool_error("%s: line %zu is JSON, not a path; --files-from takes a list of paths", said,
                   line);
        return false;
    }
    if (strcmp(path, list) == 0) {
        tool_error("%s: line %zu names %s", said, line,
                   tool_path_is_stdin(list) ? "standard input, which has the list"
                                            : "the list itself");
        return false;
    }
    tool_paths_add(paths, path);
    return true;
}

bool tool_paths_read(struct tool_paths *paths, const char *list)
{
    size_t bytes, line = 1;
    const size_t before = paths->count;
    char *text = read_whole(list, &bytes);
    if (text == NULL)
        return false;
    paths->texts = tool_reallocate(paths->texts, (paths->text_count + 1) * sizeof(*paths->texts));
    paths->texts[paths->text_count++] = text;
    if (!is_list_of_paths(list, text, bytes))
        return false;
    const char ends = memchr(text, '\0', bytes) != NULL ? '\0' : '\n';
    for (char *at = text, *const end = text + bytes; at < end; line++) {
        char *stop = memchr(at, ends, (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        *stop = '\0';
        if (stop > at && !take_path(paths, list, line, at))
            return false;
        at = stop + 1;
    }
    if (paths->count == before)
        tool_error("%s: names no inputs", tool_path_said(list));
    return paths->count > before;
}

void tool_paths_free(struct tool_paths *paths)
{
    for (size_t i = 0; i < paths->text_count; i++)
        free(paths->texts[i]);
    free(paths->texts);
    free(paths->paths);
    *paths = (struct tool_paths){0};
}

bool tool_take_max_line(const char *option, const char *text, void *at)
{
    uint64_t size;
    if (!tool_option_size(option, text, &size))
        return false;
    const size_t bytes = (size_t)size;
    memcpy(at, &bytes, sizeof(bytes));
    return true;
}

/* ---- UTF-16 ---------------------------------------------------------------------------------- */

/*
 * A character is one unit of two bytes, or two units, the surrogates, of which the first says so:
 *
 *     d83d de00    1f600    f0 9f 98 80
 *
 * A surrogate without its other half is an error, and no replacement character: two keys would
 * become one. iconv(3) stops at such, and at a character that the bytes at hand cut. The byte order
 * mark comes out as that of UTF-8.
 */
enum { RAW_BYTES = 1 << 16, CHARACTER_BYTES = 4 };

struct tool_utf16 {
    iconv_t converter;
    bool ended;
    uint64_t offset; /* of raw[from] in the input */
    size_t from, used, capacity;
    unsigned char *raw; /* bytes to be converted: [from, used) */
    unsigned char pending[CHARACTER_BYTES];
    size_t pending_bytes; /* of a character that did not fit: its last ones */
};

/* Begins with the first bytes of the input, mark included. False with the error. */
static bool utf16_open(struct tool_input *input, const unsigned char *head, size_t count)
{
    assert(tool_utf16_is_marked(head, count));
    iconv_t converter = iconv_open("UTF-8", head[0] == 0xfe ? "UTF-16BE" : "UTF-16LE");
    if (converter == (iconv_t)-1) {
        input->error = errno == EINVAL ? "is in UTF-16, and this system's iconv does not convert it"
                                       : strerror(errno);
        return false;
    }
    struct tool_utf16 *text = tool_allocate(sizeof(*text));
    *text = (struct tool_utf16){.converter = converter, .used = count};
    text->capacity = count > RAW_BYTES ? count : RAW_BYTES;
    text->raw = tool_allocate(text->capacity);
    memcpy(text->raw, head, count);
    input->utf16 = text;
    return true;
}

/* Converts the bytes at hand. How many bytes came out: 0 if more are needed, if a character has no
 * room, or after an error. */
static size_t utf16_convert(struct tool_input *input, unsigned char *to, size_t room)
{
    struct tool_utf16 *text = input->utf16;
    char *in = (char *)text->raw + text->from, *out = (char *)to;
    const size_t before = text->used - text->from;
    size_t left = before, free_bytes = room;
    const size_t result = iconv(text->converter, &in, &left, &out, &free_bytes);
    const int reason = result == (size_t)-1 ? errno : 0;
    assert(left <= before && (before - left) % 2 == 0 && free_bytes <= room);
    text->from += before - left;
    text->offset += before - left;
    if (free_bytes == room &&
        (reason == EILSEQ || (reason == EINVAL && text->ended && left >= 2))) {
        snprintf(input->text, sizeof(input->text),
                 "half a character of UTF-16 at byte %llu; --text takes its bytes as they are",
                 (unsigned long long)text->offset);
        input->error = input->text;
    }
    return room - free_bytes;
}

static ssize_t read_some(struct tool_input *input, unsigned char *buffer, size_t room);

/* 1, 0 at the end, -1. */
static int utf16_read_more(struct tool_input *input)
{
    struct tool_utf16 *text = input->utf16;
    if (text->ended && text->used > text->from) {
        input->error = "ends within a character of UTF-16; --text takes its bytes as they are";
        return -1;
    }
    if (text->ended)
        return 0;
    memmove(text->raw, text->raw + text->from, text->used - text->from);
    text->used -= text->from;
    text->from = 0;
    const ssize_t count = read_some(input, text->raw + text->used, text->capacity - text->used);
    if (count < 0)
        return -1;
    text->ended = count == 0;
    text->used += (size_t)count;
    return 1;
}

/* Up to `room` bytes of UTF-8; 0 at the end, -1 with the error. */
static ssize_t utf16_read(struct tool_input *input, unsigned char *buffer, size_t room)
{
    struct tool_utf16 *text = input->utf16;
    while (true) {
        if (text->pending_bytes > 0) {
            const size_t count = text->pending_bytes < room ? text->pending_bytes : room;
            memcpy(buffer, text->pending, count);
            text->pending_bytes -= count;
            memmove(text->pending, text->pending + count, text->pending_bytes);
            return (ssize_t)count;
        }
        const size_t count = utf16_convert(input, buffer, room);
        if (count > 0)
            return (ssize_t)count;
        if (room < CHARACTER_BYTES && input->error == NULL)
            text->pending_bytes = utf16_convert(input, text->pending, CHARACTER_BYTES);
        if (text->pending_bytes > 0)
            continue;
        const int more = input->error != NULL ? -1 : utf16_read_more(input);
        if (more <= 0)
            return more;
    }
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

void tool_input_start(struct tool_input *input, const struct tool_source *source, int wake)
{
    *input = (struct tool_input){.source = source,
                                 .stream = {.descriptor = -1,
                                            .wake = wake,
                                            .idle = source->idle,
                                            .idle_context = source->idle_context,
                                            .idle_milliseconds = source->idle_milliseconds}};
}

void tool_input_close(struct tool_input *input)
{
    if (input->utf16 != NULL) {
        iconv_close(input->utf16->converter);
        free(input->utf16->raw);
    }
    free(input->utf16);
    input->utf16 = NULL;
    if (input->unpack != NULL)
        tool_unpack_close(input->unpack);
    input->unpack = NULL;
    if (input->stream.descriptor > STDIN_FILENO)
        close(input->stream.descriptor);
    input->stream.descriptor = -1;
    input->name = NULL;
}

/* The bytes that are unpacked, in any encoding. */
static ssize_t read_some(struct tool_input *input, unsigned char *buffer, size_t room)
{
    ssize_t count = input->unpack != NULL ? tool_unpack_read(input->unpack, buffer, room)
                                          : tool_stream_read(&input->stream, buffer, room);
    if (count < 0)
        input->error = input->unpack != NULL ? tool_unpack_error(input->unpack) : strerror(errno);
    return count;
}

/* Reads the first bytes, until what they are is known. False after an error. */
static bool read_first(struct tool_input *input, unsigned char *buffer, size_t room, size_t *count,
                       enum tool_packing *packing)
{
    bool undecided = true;
    *packing = TOOL_PLAIN;
    while (undecided && !input->ended && *count < room) {
        ssize_t more = read_some(input, buffer + *count, room - *count);
        if (more < 0)
            return false;
        input->ended = more == 0;
        *count += (size_t)more;
        *packing = tool_packing_of(buffer, *count, &undecided);
        undecided = undecided || (*count == 1 && buffer[0] == 0xfe); /* half a mark */
    }
    return true;
}

/* Text has no NUL bytes. Of lines that end with NUL, only the reader without --null sees any. The
 * note is printed once: where one file of a list is binary, others often are. */
static void note_nul_bytes(struct tool_input *input, const unsigned char *buffer, size_t count)
{
    if (input->nul_noted || memchr(buffer, '\0', count) == NULL)
        return;
    tool_notice("%s: its lines contain NUL bytes, as binary files do. If NUL ends the lines, give "
                "--null. --text reads the bytes without this note",
                tool_path_said(input->name));
    input->nul_noted = true;
}

/* Text in UTF-16 becomes UTF-8 if a byte order mark identifies it. False after an error. */
static bool recognise_text(struct tool_input *input, const unsigned char *buffer, size_t *count)
{
    const struct tool_source *source = input->source;
    if (source->text)
        return true;
    if (tool_utf16_is_marked(buffer, *count)) {
        const bool opened = utf16_open(input, buffer, *count);
        *count = 0;
        input->ended = false;
        return opened;
    }
    const char *seems = tool_utf16_seems(buffer, *count);
    if (source->delimiter == '\0' || source->unwarned)
        return true;
    if (seems == NULL)
        note_nul_bytes(input, buffer, *count);
    else
        tool_warning(
            "%s: seems to be %s without a byte order mark, and is read as it is; 'iconv -f "
            "%s -t UTF-8' converts it to lines",
            tool_path_said(input->name), seems, seems);
    return true;
}

/* Whether the input may be an archive; false with the error. */
static bool takes_archive(struct tool_input *input, enum tool_packing packing)
{
    if (!input->source->no_archives)
        return true;
    snprintf(input->text, sizeof(input->text), "is %s; unpack it first, each member to a file",
             tool_packing_name(packing));
    input->error = input->text;
    return false;
}

/* The contents of a packed stream are text, or an archive. */
static bool recognise_inside(struct tool_input *input, unsigned char *buffer, size_t room,
                             size_t *count)
{
    enum tool_packing packing;
    if (!read_first(input, buffer, room, count, &packing))
        return false;
    if (packing == TOOL_PLAIN)
        return recognise_text(input, buffer, count);
    if (packing == TOOL_TAR || packing == TOOL_CPIO) {
        if (!takes_archive(input, packing))
            return false;
        input->packing = packing;
        input->unpack =
            tool_unpack_archive(input->unpack, packing, buffer, *count, input->source->delimiter);
        *count = 0;
        input->ended = false;
        return true;
    }
    snprintf(input->text, sizeof(input->text),
             "what is packed in it is %s, not a list of keys; unpack it first",
             tool_packing_name(packing));
    input->error = input->text;
    return false;
}

/* Reads the first bytes and looks whether they are compressed. */
static bool recognise(struct tool_input *input, unsigned char *buffer, size_t room, size_t *count)
{
    enum tool_packing packing;
    assert(room >= TOOL_INPUT_LEAST_ROOM);
    if (room > TOOL_UNPACK_HEAD_MAX)
        room = TOOL_UNPACK_HEAD_MAX;
    if (!read_first(input, buffer, room, count, &packing))
        return false;
    if (packing == TOOL_PLAIN || input->source->text)
        return recognise_text(input, buffer, count);
    if (packing == TOOL_FILTER) {
        input->error = "is a filter, not a list of keys";
        return false;
    }
    if (!tool_packing_is_stream(packing) && !tool_packing_is_archive(packing)) {
        snprintf(input->text, sizeof(input->text),
                 "seems to be %s, not a list of keys; --text takes its bytes as they are",
                 tool_packing_name(packing));
        input->error = input->text;
        return false;
    }
    if (tool_packing_is_archive(packing) && !takes_archive(input, packing))
        return false;
    input->unpack =
        tool_unpack_open(&input->stream, packing, buffer, *count, input->source->delimiter);
    input->packing = tool_unpack_packing(input->unpack);
    *count = 0;
    input->ended = false;
    return tool_packing_is_archive(packing) || recognise_inside(input, buffer, room, count);
}

enum tool_opened tool_input_open_next(struct tool_input *input, unsigned char *buffer, size_t room,
                                      size_t *count)
{
    assert(input->name == NULL);
    *count = 0;
    if (input->next == tool_source_count(input->source))
        return TOOL_OPENED_ALL;
    input->name = tool_source_path(input->source, input->next++);
    input->packing = TOOL_PLAIN;
    input->ended = false;
    input->error = NULL;
    int descriptor = STDIN_FILENO;
    if (!tool_path_is_stdin(input->name))
        descriptor = open(input->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    else if (tool_standard_input_is_closed()) {
        input->error = TOOL_STDIN_CLOSED;
        return TOOL_OPEN_FAILED;
    } else if (isatty(STDIN_FILENO))
        tool_say("bloomery: reading keys from the terminal, one per line; end with Ctrl-D");
    input->stream.descriptor = descriptor;

    struct stat facts;
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
        input->error = strerror(errno);
        return TOOL_OPEN_FAILED;
    }
    input->stream.may_wait = !S_ISREG(facts.st_mode);
    input->stream.is_pipe = S_ISFIFO(facts.st_mode);
    if (S_ISDIR(facts.st_mode)) {
        input->error = "is a directory, not a file of keys";
        return TOOL_OPEN_FAILED;
    }
    return recognise(input, buffer, room, count) ? TOOL_OPENED : TOOL_OPEN_FAILED;
}

ssize_t tool_input_read(struct tool_input *input, unsigned char *buffer, size_t room)
{
    assert(input->name != NULL && room > 0);
    if (input->ended)
        return 0;
    ssize_t count =
        input->utf16 != NULL ? utf16_read(input, buffer, room) : read_some(input, buffer, room);
    input->ended = count == 0;
    return count;
}

static bool ends_in_return(bloomery_key text)
{
    return text.bytes > 0 && ((const char *)text.data)[text.bytes - 1] == '\r';
}

/* Whether the key's text ends in a carriage return, as the last field of a line does. The text is
 * the record, its field, or one of several. */
static bool key_ends_in_return(const struct tool_source *source, bloomery_key record,
                               const struct tool_columns *columns)
{
    const struct tool_layout *layout = source->layout;
    const uint32_t fields = layout != NULL ? layout->field_count : 0;
    bloomery_key_rule rule = {.field = source->cuts.field, .delimiter = source->cuts.delimiter};
    bloomery_key text;
    if (layout != NULL && layout->jsonl)
        return false;
    for (uint32_t i = 0; i == 0 || i < fields; i++) {
        if (fields > 0)
            rule = (bloomery_key_rule){
                .flags = layout->flags & ~(uint32_t)BLOOMERY_RULE_CSV, /* whose rule takes them */
                .field = columns->numbers[i],
                .delimiter = layout->delimiter};
        if (bloomery_rule_apply(&rule, record.data, record.bytes, NULL, 0, &text, NULL) ==
                BLOOMERY_RECORD_KEY &&
            ends_in_return(text))
            return true;
    }
    return false;
}

/* Lists of hashes are published with a count behind each. Returns the byte between, or 0. */
static unsigned char hash_and_number(bloomery_key record)
{
    enum { HASH_LEAST = 16 };
    static const char digits[] = "0123456789abcdefABCDEF";
    const unsigned char *const text = record.data;
    const size_t bytes = record.bytes - ends_in_return(record);
    size_t at = 0, hash;
    while (at < bytes && text[at] != '\0' && strchr(digits, text[at]) != NULL)
        at++;
    hash = at++;
    if (hash < HASH_LEAST || hash % 2 != 0 || at >= bytes || strchr(":;,\t |", text[hash]) == NULL)
        return 0;
    while (at < bytes && text[at] >= '0' && text[at] <= '9')
        at++;
    return at == bytes ? text[hash] : 0;
}

/* Whether the first records are all of this form, with one byte between. */
static bool are_hashes_and_numbers(const struct tool_source *source, const unsigned char *text,
                                   size_t bytes, unsigned char between)
{
    enum { LOOKED_AT = 1000 };
    const unsigned char *const end = text + bytes;
    for (size_t i = 0; i < LOOKED_AT && text < end; i++) {
        const unsigned char *stop = memchr(text, source->delimiter, (size_t)(end - text));
        assert(stop != NULL);
        if (hash_and_number(bloomery_key_of(text, (size_t)(stop - text))) != between)
            return false;
        text = stop + 1;
    }
    return true;
}

void tool_input_warn(const struct tool_input *input, bloomery_key record, size_t bytes,
                     const struct tool_columns *columns)
{
    const struct tool_source *source = input->source;
    const char *name = tool_path_said(input->name);
    if (!source->returns_taken && source->delimiter == '\n' &&
        key_ends_in_return(source, record, columns))
        tool_warning("%s: its first line ends in a carriage return, which becomes part of the key",
                     name);
    if (!source->makes_filter || source->cuts.field != 0 || source->cuts.comment != 0 ||
        !tool_layout_is_none(source->layout))
        return;
    const unsigned char between = hash_and_number(record);
    if (between == 0 || !are_hashes_and_numbers(source, record.data, bytes, between))
        return;
    if (between == '\t')
        tool_warning("%s: its lines look like HEX, tab, NUMBER, and the number is part of the key. "
                     "'-F 1 --hex' makes keys of the hashes alone",
                     name);
    else
        tool_warning("%s: its lines look like HEX%cNUMBER, and the number is part of the key. '-d "
                     "\"%c\" -F 1 --hex' makes keys of the hashes alone",
                     name, between, between);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a command, one after the other, as bytes: opened, recognised, unpacked. Messages
 * about them are printed here. One thread at a time.
 *
 *     while (tool_input_open_next(input, buffer, room, &count)) {
 *         ... `count` bytes ...
 *         while ((count = tool_input_read(input, buffer, room)) > 0)
 *             ...
 *     }
 */
#ifndef BLOOMERY_TOOL_INPUT_H
#define BLOOMERY_TOOL_INPUT_H

#include "base/system.h"
#include "input/layout.h"
#include "input/packing.h"
#include "input/split.h"
#include "input/unpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TOOL_LINE_MAX ((size_t)64 << 20)

/* Whether the reader may end before the inputs do, by tool_chunks_stop. */
enum tool_stops {
    TOOL_STOPS_NEVER,
    TOOL_STOPS_EARLY,
    TOOL_STOPS_SETTLED, /* and reports nothing about later inputs: an input is opened, or a
                         * failure reported, when all chunks before are given back */
};

/* The source of keys: what is read, and how. Nothing changes it once reading has begun. */
struct tool_source {
    /* What the user chose. */
    char *const *paths;               /* files; "-" is stdin. They are read one after the other */
    size_t count;                     /* 0: stdin alone */
    unsigned char delimiter;          /* ends a record: '\n' or 0 */
    struct tool_quotes quotes;        /* in which a record may go over several lines */
    const struct tool_layout *layout; /* the place of keys in records, beyond a key rule; NULL: the
                                         key rule is all */
    bool keep_bom;    /* a byte order mark stays, as part of an input's first record */
    bool text;        /* the bytes as they are: the type of an input is not looked at, so nothing is
                         unpacked, transcoded or refused */
    uint32_t threads; /* that take part; 0: as many as the process may run at once */
    /* A longer record makes its input fail, with its line in the message, when all chunks before
     * are given back. No chunk is longer than that, which bounds the memory of a thread. 0:
     * TOOL_LINE_MAX. */
    size_t line_max;

    /* What the command makes of it. */
    bool keep_going;       /* an input that fails is reported and the next one is read; otherwise
                              the first failure ends the input */
    bool no_archives;      /* an archive is refused: each input is one text */
    enum tool_stops stops; /* whether it may end early */
    const struct tool_interrupt *interrupt; /* ends reading when it fires, as if the inputs ended
                                               there; NULL: nothing does */
    /* For inputs without an end, in bounded memory and by one thread. Records longer than this do
     * not fail, but are passed over and counted (tool_chunks_too_long). Nothing is kept of chunks
     * that were given back. 0: neither. */
    size_t record_max;
    /* Called if a pipe has had nothing for so long; see tool_stream. */
    void (*idle)(void *context);
    void *idle_context;
    int idle_milliseconds;

    /* What the inputs are warned of. */
    bool unwarned;          /* nothing, as in a pass that only counts */
    bool silent;            /* no failure is reported either: it will be when they are read again */
    bool returns_taken;     /* not of carriage returns: the key rule removes them */
    bool makes_filter;      /* also of lines with a hash and a number: the keys make a new filter */
    bloomery_key_rule cuts; /* the key rule's field, at whose end returns are looked for */
};

/* Paths of inputs: those of the command's line, and those that a file lists. */
struct tool_paths {
    char **paths;
    size_t count, room;
    char **texts; /* the files that were read, into which paths point */
    size_t text_count;
};

void tool_paths_add(struct tool_paths *paths, char *path);

/* Adds the paths that a file lists, one a line; "-" is stdin. If it has NUL bytes, these end the
 * paths, as of find -print0, and line ends are bytes of names. Empty lines are passed over. False
 * after a message: it can't be read, is not such a list, names no path, or names itself. */
bool tool_paths_read(struct tool_paths *paths, const char *list);

void tool_paths_free(struct tool_paths *paths);

/* The row of --max-line, which all commands have that hold whole lines; the member is a size_t. The
 * commands of the sieve have none: they pass over records that are longer than a key may be. */
#define TOOL_MAX_LINE_ROW(structure, member)                                             \
    {                                                                                    \
        .name = "max-line", .argument = "SIZE", .type = TOOL_TYPE_CALL,                  \
        .call = tool_take_max_line, .offset = TOOL_MEMBER(structure, member, size_t),    \
        .help = "accept lines of up to SIZE bytes (default 64MiB). A longer line is an " \
                "error, and the rest of its input is not read. Each thread may need a "  \
                "few times that much memory"                                             \
    }
bool tool_take_max_line(const char *option, const char *text, void *at);

/* Path `index` of a source, and how many there are: stdin if none was named. */
const char *tool_source_path(const struct tool_source *source, size_t index);
size_t tool_source_count(const struct tool_source *source);

/* Whether a path stands for stdin, and its name in messages. */
bool tool_path_is_stdin(const char *path);
const char *tool_path_said(const char *path);

/* How a file is packed, by its first bytes. TOOL_PLAIN if it can't be read. Nothing is read of
 * stdin, a pipe or a device: those bytes would be lost. */
enum tool_packing tool_path_packing(const char *path);

enum { TOOL_INPUT_LEAST_ROOM = 16 }; /* enough to recognise what is packed */

enum tool_opened {
    TOOL_OPENED,
    TOOL_OPEN_FAILED, /* the sentence is in `error` */
    TOOL_OPENED_ALL,  /* all were opened before */
};

struct tool_input {
    const struct tool_source *source;
    size_t next;
    const char *name;          /* of the open input; NULL between inputs */
    enum tool_packing packing; /* of the open input: its stream's, or its archive's */
    bool ended;
    struct tool_stream stream;
    struct tool_unpack *unpack; /* NULL: plain */
    struct tool_utf16 *utf16;   /* NULL: not in UTF-16 */
    bool nul_noted;             /* a note said that one of the inputs has NUL bytes */
    const char *error;
    char text[160]; /* of an error that has a name in it */
};

void tool_input_start(struct tool_input *input, const struct tool_source *source, int wake);

/* Opens the next input and reads its first bytes; `count` may be 0 of one that is empty or packed.
 * An input that is not text, or can't be unpacked, fails. */
enum tool_opened tool_input_open_next(struct tool_input *input, unsigned char *buffer, size_t room,
                                      size_t *count);

/* Up to `room` bytes of the open input; 0 at its end, -1 on failure with the sentence in
 * `error`. */
ssize_t tool_input_read(struct tool_input *input, unsigned char *buffer, size_t room);

/* Closes the open input, if one is. */
void tool_input_close(struct tool_input *input);

/* The bytes of all inputs if they are regular files, for progress; 0 if one is not. */
uint64_t tool_source_bytes(const struct tool_source *source);

/* Warns of the open input's first records if they are not the keys that their maker means: if the
 * key of the first has a carriage return at its end, at the place that the source names; if they
 * make a new filter and are hashes with numbers behind them. `bytes`: of whole records, which
 * begin with the first. */
void tool_input_warn(const struct tool_input *input, bloomery_key record, size_t bytes,
                     const struct tool_columns *columns);

/* Whether all inputs can be read twice, being files. A file that can't be opened is left to the
 * reading, which reports why. `culprit` is the first that can't. */
bool tool_source_readable_twice(const struct tool_source *source, const char **culprit);

/*
 * Reading all inputs twice: the second reading has to find what the first did.
 *
 *     struct tool_second_reading second;
 *     if (tool_second_reading_begin(&second, source, least, most)) {
 *         ... read them ...
 *         tool_second_reading_rewind(&second);
 *         ... read them again ...
 *         changed = tool_second_reading_changed(&second);
 *         tool_second_reading_end(&second);
 *     }
 */
struct tool_second_reading {
    const struct tool_source *source;
    struct tool_input_mark *marks; /* of each input, before the first reading */
    off_t stdin_at;                /* where it began; -1: it is not read */
};

/* False if reading them again is impossible, or costs more than a copy of what is needed: unless
 * all are regular files (stdin may be one) of plain text, with from `least` to `most` bytes in
 * all. */
bool tool_second_reading_begin(struct tool_second_reading *second, const struct tool_source *source,
                               uint64_t least, uint64_t most);
/* Moves stdin back to where it was. False after a message. */
bool tool_second_reading_rewind(const struct tool_second_reading *second);
/* The name of the first input that is another file now, or was written to; NULL: there is none. */
const char *tool_second_reading_changed(const struct tool_second_reading *second);
void tool_second_reading_end(struct tool_second_reading *second);

#endif /* BLOOMERY_TOOL_INPUT_H */

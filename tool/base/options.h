/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a command: one table, from which everything is made that knows them.
 *
 *     struct folding {
 *         const char *output;
 *         uint32_t times;
 *         bool quiet;
 *     };
 *
 *     static const struct tool_option options[] = {
 *         {'o', "output", "OUT", TOOL_TEXT(struct folding, output), .help = "the folded filter"},
 *         {0, "times", "D", TOOL_SMALL(struct folding, times, 1, 30), .help = "halve it D times"},
 *         {'q', "quiet", NULL, TOOL_FLAG(struct folding, quiet), .help = "no report"},
 *         TOOL_OPTIONS_END,
 *     };
 *     static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};
 *
 *     struct folding folding = {.output = NULL};
 *     int code;
 *     if (!tool_options_read(argc, argv, &folding, &code))
 *         return code;
 *     ... argv + optind ...
 *
 * The reader fills the command's structure, --help lists the rows, and the manual's pages and the
 * shells' completions are made of them when the command is built (tool/describe_options.c). A row
 * says where its value goes and of what type it is there; another type does not compile,
 * unless a function takes the value (TOOL_CALL).
 *
 * Options that several commands have are rows of one array that is a group of each, with `offset`
 * the place of the group's own structure in the command's.
 *
 * Texts, that is help, titles, introductions and the like, are wrapped where they are printed. A
 * '\n' ends a paragraph. A line that begins with a blank is printed as it stands. In the text of a
 * row a line "WORD\ttext" is an item of a list: one of the values that the option takes.
 */
#ifndef BLOOMERY_TOOL_OPTIONS_H
#define BLOOMERY_TOOL_OPTIONS_H

#include "tool.h"

#include <getopt.h> /* optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_option_type {
    TOOL_TYPE_FLAG,    /* no value: a bool becomes true */
    TOOL_TYPE_BITS,    /* no value: a uint32_t gets the bits of `least` */
    TOOL_TYPE_BYTE,    /* no value: an unsigned char becomes `least` */
    TOOL_TYPE_TEXT,    /* the text itself */
    TOOL_TYPE_TEXTS,   /* the same, as often as the option is given */
    TOOL_TYPE_COUNT,   /* a uint64_t from `least` to `most` */
    TOOL_TYPE_SMALL,   /* the same, a uint32_t */
    TOOL_TYPE_SIZE,    /* bytes, a uint64_t */
    TOOL_TYPE_RATE,    /* a double */
    TOOL_TYPE_SECONDS, /* a double; 0 is one of them only if `least` is 0 */
    TOOL_TYPE_CHOICE,  /* one of `words`: its place among them, an enum or int */
    TOOL_TYPE_CALL,    /* a function takes it */
};

/* What TOOL_TYPE_TEXTS collects; free() the list. */
struct tool_texts {
    const char **list;
    size_t count;
};

/* Takes a value. `option` is the option as messages name it: "-n", or "--times" if it has no
 * letter. `text` is NULL of an option without a value. `at` is what the row names: a member, or the
 * whole structure of its group. False after a message. */
typedef bool tool_option_call(const char *option, const char *text, void *at);

struct tool_option {
    char letter;          /* 0: none */
    const char *name;     /* without "--" */
    const char *argument; /* "FILE"; "=WHAT", written behind '='; "[=BITS]", may be missing; NULL */
    const char *help;     /* NULL: described with the next row, as in "--lower, --upper" */
    const char *more;     /* what the manual says after that; may be NULL */
    const char *words;    /* "grow|stop|pass": values that completions offer; may be NULL */
    tool_option_call *call;
    uint64_t least, most;
    size_t offset; /* of the value in the group's structure */
    enum tool_option_type type;
};

/* The offset of a member, if it is of this type. */
#define TOOL_MEMBER(structure, member, wanted)                                                  \
    (offsetof(structure, member) +                                                              \
     0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((structure *)0)->member), wanted) \
                         ? 1                                                                    \
                         : -1]))

/* What a row says of its value: the structure, the member, and what else its type has. */
#define TOOL_FLAG(structure, member) \
    .type = TOOL_TYPE_FLAG, .offset = TOOL_MEMBER(structure, member, bool)
#define TOOL_BITS(structure, member, bits) \
    .type = TOOL_TYPE_BITS, .offset = TOOL_MEMBER(structure, member, uint32_t), .least = (bits)
#define TOOL_BYTE(structure, member, value)                                          \
    .type = TOOL_TYPE_BYTE, .offset = TOOL_MEMBER(structure, member, unsigned char), \
    .least = (value)
#define TOOL_TEXT(structure, member) \
    .type = TOOL_TYPE_TEXT, .offset = TOOL_MEMBER(structure, member, const char *)
#define TOOL_TEXTS(structure, member) \
    .type = TOOL_TYPE_TEXTS, .offset = TOOL_MEMBER(structure, member, struct tool_texts)
#define TOOL_COUNT(structure, member, min, max)                                                  \
    .type = TOOL_TYPE_COUNT, .offset = TOOL_MEMBER(structure, member, uint64_t), .least = (min), \
    .most = (max)
#define TOOL_SMALL(structure, member, min, max)                                                  \
    .type = TOOL_TYPE_SMALL, .offset = TOOL_MEMBER(structure, member, uint32_t), .least = (min), \
    .most = (max)
#define TOOL_SIZE(structure, member) \
    .type = TOOL_TYPE_SIZE, .offset = TOOL_MEMBER(structure, member, uint64_t)
#define TOOL_RATE(structure, member) \
    .type = TOOL_TYPE_RATE, .offset = TOOL_MEMBER(structure, member, double)
#define TOOL_SECONDS(structure, member, zero)                                    \
    .type = TOOL_TYPE_SECONDS, .offset = TOOL_MEMBER(structure, member, double), \
    .least = (zero) ? 0 : 1
#define TOOL_CHOICE(structure, member, choices)   \
    .type = TOOL_TYPE_CHOICE, .words = (choices), \
    .offset = offsetof(structure, member) +       \
              0 * sizeof(char[sizeof(((structure *)0)->member) == sizeof(int) ? 1 : -1])
#define TOOL_CALL(structure, member, function) \
    .type = TOOL_TYPE_CALL, .offset = offsetof(structure, member), .call = (function)
/* The function gets the whole structure. */
#define TOOL_CALL_WHOLE(function) .type = TOOL_TYPE_CALL, .call = (function)

#define TOOL_OPTIONS_END \
    {                    \
        .name = NULL     \
    }

struct tool_option_group {
    const char *title;              /* a paragraph before the rows; NULL: they follow the last */
    const struct tool_option *rows; /* ended by TOOL_OPTIONS_END */
    size_t offset;                  /* of the group's structure in the command's */
    bool unlisted;                  /* taken, but neither in the help nor in the manual */
    bool tells;                     /* a bool at `given` in the command's becomes true with any */
    size_t given;
};

#define TOOL_GROUPS_END \
    {                   \
        .rows = NULL    \
    }
#define TOOL_GIVEN(structure, member) .tells = true, .given = TOOL_MEMBER(structure, member, bool)

/*
 * Reads the options of the running command into `values`, its structure; only members whose options
 * are given change. True: `optind` is then the first operand, since operands are moved behind
 * options. False: the command ends with *code. That is after a message, or after the help that
 * --help or -h wants.
 *
 * The first of two rows of one name is the option. Further ones are only described: what it means
 * in another use of the command.
 */
bool tool_options_read(int argc, char **argv, void *values, int *code);

/* Prints the help of a command on stdout. Returns the exit code. */
int tool_print_help(const struct tool_command *command);

/* The row of --json where that is what it does. */
#define TOOL_JSON_ROW(structure, member)                                      \
    {                                                                         \
        .name = "json", TOOL_FLAG(structure, member),                         \
        .help = "print the report as one JSON object, with unrounded numbers" \
    }

/* For functions that take a value: its place among the words "one|two", as TOOL_TYPE_CHOICE has it.
 * False after a message. */
bool tool_take_choice(const char *option, const char *text, const char *words, int *choice);

/* For rows: the value of --kind, a bloomery_kind, and of --counter-bits, a uint32_t. */
#define TOOL_KIND_WORDS "blocked|classic|counting|scalable|static|cuckoo"
tool_option_call tool_take_kind;
tool_option_call tool_take_counter_bits;

#endif /* BLOOMERY_TOOL_OPTIONS_H */

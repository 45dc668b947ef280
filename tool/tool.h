/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of the command `bloomery`.
 *
 * Every subcommand has a file cmd_NAME.c, in tool/command or in a folder of it, that defines one
 * `struct tool_command`; commands.c lists them. main.c sets the name that messages carry and
 * answers `help`, `--help` and `--version`. It calls `run` with the subcommand's own name as
 * argv[0], so that getopt_long works on it as on a program's argv. The value that `run` returns is
 * the exit code.
 *
 * Data goes to stdout through tool/base/out.h and nothing else goes there; messages for people go
 * to stderr through the functions here.
 */
#ifndef BLOOMERY_TOOL_TOOL_H
#define BLOOMERY_TOOL_TOOL_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, as grep's: some found (or all well), none found (or a finding), an error. */
enum {
    TOOL_FOUND = 0,
    TOOL_NONE = 1,
    TOOL_ERROR = 2,
};

struct tool_option_group;

/* The texts are laid out as base/options.h says. */
struct tool_command {
    const char *name;
    int (*run)(int argc, char **argv); /* returns the exit code */
    const char *summary;               /* one line without a full stop, for the list of commands */
    const char *synopsis;
    const char *introduction;
    const struct tool_option_group *groups;  /* ended by TOOL_GROUPS_END; NULL: none */
    const char *epilogue;                    /* what follows the options: further facts, examples */
    const char *operands;                    /* "ids|urls": the first one; NULL: files */
    const struct tool_command *const *parts; /* its subcommands, named "NAME PART"; NULL: none */
};

extern const struct tool_command cmd_plan;
extern const struct tool_command cmd_build;
extern const struct tool_command cmd_add;
extern const struct tool_command cmd_query;
extern const struct tool_command cmd_dedupe;
extern const struct tool_command cmd_merge;
extern const struct tool_command cmd_fold;
extern const struct tool_command cmd_remove;
extern const struct tool_command cmd_convert;
extern const struct tool_command cmd_dialects;
extern const struct tool_command cmd_compare;
extern const struct tool_command cmd_inspect;
extern const struct tool_command cmd_plot;
extern const struct tool_command cmd_explore;
extern const struct tool_command cmd_generate;
extern const struct tool_command cmd_sieve;

/* All of them. */
enum { TOOL_COMMANDS = 16 };
extern const struct tool_command *const tool_commands[TOOL_COMMANDS];

/* The command whose name messages carry and whose options tool_options_read reads. main.c sets it.
 * NULL: none yet. */
void tool_set_command(const struct tool_command *command);
const struct tool_command *tool_running_command(void);

/* The same in a program of its own, which has only this command: messages begin with its name
 * alone. */
void tool_set_program(const struct tool_command *command);

/* Prints "bloomery: COMMAND: sentence" and a newline to stderr. The format brings no newline. */
void tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and a line "try 'bloomery COMMAND --help'". Returns TOOL_ERROR, so that a command can
 * write `return tool_usage(...)`. */
int tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names of files and of archives' members come from others, and a terminal obeys what is in them:
 * every control character becomes '?', in place. UTF-8 stays. All messages are printed so. Returns
 * `text`. */
char *tool_printable(char *text);

/* "bloomery: COMMAND: warning: sentence", for what does not change the exit code. */
void tool_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with "note: ", for facts that one should know and that can't be helped. */
void tool_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A sentence on stderr without a prefix: the success line of a command that changed something. The
 * caller leaves it out under -q. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The line of a long job (base/progress.h) stands on the terminal from now on. It is wiped if it
 * stands there: every message on stderr does this first. */
void tool_status_line_begin(void);
void tool_status_line_wipe(void);

/* The nearest of `count` names to a mistyped word, or NULL if none is near enough to suggest. */
const char *tool_nearest(const char *word, const char *const *names, size_t count);

/* The kind of this name. If it is none, or reserved for later: prints why (and the nearest name,
 * and the try-line) and returns false. */
bool tool_parse_kind(const char *name, bloomery_kind *kind);

/* --counter-bits makes the filter a counting one if its kind was not given; false after a message
 * if another was. */
bool tool_counters_wanted(uint32_t counter_bits, bloomery_kind *kind);

/* "bloomery: COMMAND: `what`: the error's text"; `what`, a file name for example, may be NULL.
 * Returns TOOL_ERROR. */
int tool_library_error(const char *what, const bloomery_error *error);

/* malloc and realloc for the command: never NULL. If memory runs out they print that and end the
 * program with TOOL_ERROR. The files that a command replaces are whole at every moment. */
void *tool_allocate(size_t bytes);
void *tool_reallocate(void *memory, size_t bytes);

/* Prints that there is not enough memory for this many bytes, and the limit that is in the way. */
void tool_no_memory(uint64_t bytes);

#endif /* BLOOMERY_TOOL_TOOL_H */

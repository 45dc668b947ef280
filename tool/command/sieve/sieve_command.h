/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the command `sieve`. Each of its subcommands is a struct tool_command of
 * its own, named "sieve push" and so on. So messages and --help are those of the subcommand;
 * cmd_sieve.c lists them.
 *
 *     struct popping {
 *         struct tool_sieve_command command;
 *         ...
 *     };
 *     static const struct tool_option_group groups[] = {
 *         {.rows = options},
 *         TOOL_SIEVE_CHANGE_GROUPS(struct popping, command),
 *         TOOL_GROUPS_END,
 *     };
 *
 *     tool_sieve_start(&popping.command);
 *     if (!tool_options_read(argc, argv, &popping, &code) ||
 *         !tool_sieve_sole_operand(&popping.command, argc, argv))
 *         return code;
 *     if (!tool_sieve_open(&popping.command))
 *         return TOOL_ERROR;
 *     ... popping.command.sieve ...
 *     return tool_sieve_close(&popping.command, code);
 */
#ifndef BLOOMERY_TOOL_SIEVE_COMMAND_H
#define BLOOMERY_TOOL_SIEVE_COMMAND_H

#include "base/json.h"
#include "base/options.h"
#include "tool.h"

#include <bloomery/sieve.h>
#include <stdbool.h>
#include <stdint.h>

extern const struct tool_command tool_sieve_push, tool_sieve_mark, tool_sieve_import,
    tool_sieve_pop, tool_sieve_ack, tool_sieve_contains, tool_sieve_flush, tool_sieve_status,
    tool_sieve_export, tool_sieve_verify, tool_sieve_recover;

struct tool_sieve_command {
    const char *directory;
    bloomery_sieve_options options;
    uint64_t memory; /* of the whole process, as --memory gave it; 0: it did not */
    double wait;     /* seconds for another process that has the sieve */
    bool quiet, json;
    bool passes_busy;       /* a sieve in use is not an error: `status` says so, at once */
    bloomery_sieve *sieve;  /* NULL: not open */
    bloomery_status status; /* of opening it */
    bool io_failed;         /* and was reported: once is enough */
};

void tool_sieve_start(struct tool_sieve_command *command);

/* ---- Options --------------------------------------------------------------------------------- */

/* Rows for a struct tool_sieve_command: --memory, --sync and --wait; --quiet and --json; and how a
 * sieve is made. */
extern const struct tool_option tool_sieve_memory_options[], tool_sieve_sync_options[],
    tool_sieve_wait_options[], tool_sieve_report_options[], tool_sieve_make_options[];

#define TOOL_SIEVE_GROUP(list, structure, member)                                           \
    {                                                                                       \
        .rows = (list), .offset = TOOL_MEMBER(structure, member, struct tool_sieve_command) \
    }

/* Of subcommands that read a sieve, and of those that change it. */
#define TOOL_SIEVE_READ_GROUPS(structure, member)                   \
    TOOL_SIEVE_GROUP(tool_sieve_memory_options, structure, member), \
        TOOL_SIEVE_GROUP(tool_sieve_wait_options, structure, member)
#define TOOL_SIEVE_CHANGE_GROUPS(structure, member)                   \
    TOOL_SIEVE_GROUP(tool_sieve_memory_options, structure, member),   \
        TOOL_SIEVE_GROUP(tool_sieve_sync_options, structure, member), \
        TOOL_SIEVE_GROUP(tool_sieve_wait_options, structure, member)

/* Of those that make one. */
#define TOOL_SIEVE_MAKE_GROUP(structure, member)                                                  \
    {                                                                                             \
        .title =                                                                                  \
            "Options for a new sieve. An existing sieve keeps those that it was made with; only " \
            "--memory, --sync and --leases may change:",                                          \
        .rows = tool_sieve_make_options,                                                          \
        .offset = TOOL_MEMBER(structure, member, struct tool_sieve_command)                       \
    }

/* Makes a sieve's options fit its engine. False after a message. */
bool tool_sieve_fits_together(const struct tool_sieve_command *command);

/* The first operand is the directory; optind then stands behind it. False after a message. */
bool tool_sieve_operand(struct tool_sieve_command *command, int argc, char **argv);

/* The same where it is the only one. */
bool tool_sieve_sole_operand(struct tool_sieve_command *command, int argc, char **argv);

/* ---- The sieve ------------------------------------------------------------------------------- */

/* Seconds until it is checked again whether another process still has the sieve. */
#define TOOL_SIEVE_LOOK_AGAIN 0.02

/* Opens it. If --memory was given, the sieve gets that, less the command's
 * share (TOOL_SIEVE_SHARE). False after a
 * message. If the memory is too little, the message names the minimum that works. */
bool tool_sieve_open(struct tool_sieve_command *command);

/* Commits and closes it, and returns `code`, or TOOL_ERROR after a message. A write that fails
 * again, as one did that was reported, is not reported again. */
int tool_sieve_close(struct tool_sieve_command *command, int code);

/* Decides everything that is pending, and commits it. False after a message; the sieve is then
 * closed. */
bool tool_sieve_flush_all(struct tool_sieve_command *command);

/* A message of a call that failed, with the directory's name. Returns TOOL_ERROR. */
int tool_sieve_error(struct tool_sieve_command *command, const bloomery_error *error);

/* The message of a call that found it in use, with the holder. Returns TOOL_ERROR. */
int tool_sieve_say_busy(struct tool_sieve_command *command, const bloomery_error *error);

/* The holder of a sieve's lock, as far as /proc shows it. */
struct tool_sieve_holder {
    long pid;          /* 0: nobody is known */
    char command[160]; /* its words, without what would disturb a terminal; "": not known */
};
struct tool_sieve_holder tool_sieve_find_holder(const char *directory);
const char *tool_sieve_format_holder(const struct tool_sieve_holder *holder, char text[240]);

bloomery_sieve_info tool_sieve_info(const struct tool_sieve_command *command);

/* ---- Output ---------------------------------------------------------------------------------- */

/* The number that a count of things is called by: "1 line", "2,000 lines", in `text`. */
enum { TOOL_SIEVE_TEXT = 80 };
const char *tool_sieve_format_things(char text[TOOL_SIEVE_TEXT], uint64_t count, const char *thing);

/* The same in the middle of a sentence. */
#define TOOL_SAY_THINGS(count, thing) \
    tool_sieve_format_things((char[TOOL_SIEVE_TEXT]){""}, (count), (thing))

/* The list "items" of JSON, whose objects are printed as they come. An object has number, key and
 * payload, and the caller adds to it; printing takes it over. `before`: how many came before it. */
struct tool_out;
void tool_sieve_begin_items(struct tool_out *out, const char *command);
json_t *tool_sieve_json_item(const bloomery_sieve_item *item);
void tool_sieve_print_item(struct tool_out *out, uint64_t before, json_t *item);
void tool_sieve_end_items(struct tool_out *out, uint64_t count);

/* ---- Sieve plan ------------------------------------------------------------------------------ */

/* plan --sieve: the costs of a sieve before it is made. */

/* The options; 0: the default. */
struct tool_sieve_wish {
    bloomery_sieve_plan plan; /* its memory is not set yet */
    uint64_t memory;          /* of the whole process, as 'sieve push --memory' has it */
    bool in_use;              /* an option was given that is for sieves alone */
    bool json;
};

/* The memory that a process of `sieve` takes beside its sieve, with room to spare:
 * tests/cli/test_sieve_memory.py measures it. */
enum { TOOL_SIEVE_SHARE = 4300000 };

/* Prints the plan; returns the exit code. */
int tool_sieve_plan(struct tool_sieve_wish *wish);

#endif /* BLOOMERY_TOOL_SIEVE_COMMAND_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the command `sieve`. Each of its subcommands is a struct tool_command of
 * its own, named "sieve push" and so on. So messages and --help are those of the subcommand;
 * cmd_sieve.c lists them.
 *
 *     struct tool_sieve_command command;
 *     tool_sieve_start(&command);
 *     ... options: tool_sieve_option takes those that all have, tool_sieve_make_option those that
 *     make a sieve ...
 *     if (!tool_sieve_operand(&command, argc, argv) || !tool_sieve_open(&command))
 *         return TOOL_ERROR;
 *     ... command.sieve ...
 *     return tool_sieve_close(&command, code);
 */
#ifndef BLOOMERY_TOOL_SIEVE_COMMAND_H
#define BLOOMERY_TOOL_SIEVE_COMMAND_H

#include "base/json.h"
#include "input/input.h"
#include "tool.h"

#include <bloomery/sieve.h>

#include <getopt.h>
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
    bool passes_busy;       /* one that is in use is no error: `status` says so, at once */
    bloomery_sieve *sieve;  /* NULL: not open */
    bloomery_status status; /* of opening it */
    bool io_failed;         /* and was reported: once is enough */
};

void tool_sieve_start(struct tool_sieve_command *command);

/* ---- Options --------------------------------------------------------------------------------- */

enum {
    TOOL_SIEVE_OPTION_MEMORY = TOOL_OPTION_OWN,
    TOOL_SIEVE_OPTION_JSON,
    TOOL_SIEVE_OPTION_WAIT,
    TOOL_SIEVE_OPTION_SYNC,
    TOOL_SIEVE_OPTION_ENGINE,
    TOOL_SIEVE_OPTION_FULL,
    TOOL_SIEVE_OPTION_DIALECT,
    TOOL_SIEVE_OPTION_PRESET,
    TOOL_SIEVE_OPTION_FINGERPRINT_BITS,
    TOOL_SIEVE_OPTION_PARTITIONS,
    TOOL_SIEVE_OPTION_ORDERED,
    TOOL_SIEVE_OPTION_CANON,
    TOOL_SIEVE_OPTION_LEASES,
    TOOL_SIEVE_OPTION_OWN, /* a subcommand's own begin here */
};

/* Of all of them. */
#define TOOL_SIEVE_ALL_OPTIONS                                     \
    {"memory", required_argument, NULL, TOOL_SIEVE_OPTION_MEMORY}, \
        {"wait", required_argument, NULL, TOOL_SIEVE_OPTION_WAIT}, \
    {                                                              \
        "json", no_argument, NULL, TOOL_SIEVE_OPTION_JSON          \
    }

/* Of those that change something and report it. */
#define TOOL_SIEVE_LETTERS "q"

#define TOOL_SIEVE_OPTIONS                                                                        \
    {"quiet", no_argument, NULL, 'q'}, {"sync", required_argument, NULL, TOOL_SIEVE_OPTION_SYNC}, \
        TOOL_SIEVE_ALL_OPTIONS

/* Of those that may make a sieve. */
#define TOOL_SIEVE_MAKE_LETTERS "n:p:"

#define TOOL_SIEVE_MAKE_OPTIONS                                                            \
    {"keys", required_argument, NULL, 'n'}, {"rate", required_argument, NULL, 'p'},        \
        {"engine", required_argument, NULL, TOOL_SIEVE_OPTION_ENGINE},                     \
        {"on-full", required_argument, NULL, TOOL_SIEVE_OPTION_FULL},                      \
        {"dialect", required_argument, NULL, TOOL_SIEVE_OPTION_DIALECT},                   \
        {"preset", required_argument, NULL, TOOL_SIEVE_OPTION_PRESET},                     \
        {"fingerprint-bits", required_argument, NULL, TOOL_SIEVE_OPTION_FINGERPRINT_BITS}, \
        {"partitions", required_argument, NULL, TOOL_SIEVE_OPTION_PARTITIONS},             \
        {"ordered", no_argument, NULL, TOOL_SIEVE_OPTION_ORDERED},                         \
        {"canon", required_argument, NULL, TOOL_SIEVE_OPTION_CANON},                       \
    {                                                                                      \
        "leases", required_argument, NULL, TOOL_SIEVE_OPTION_LEASES                        \
    }

#define TOOL_SIEVE_MEMORY_HELP                                                          \
    "      --memory SIZE    maximum memory of the whole process (18MB, 2GB), with\n"    \
    "                       libraries and buffers. Packed inputs, and lines of more\n"  \
    "                       than 256 KiB, take up to 4 MiB on top of it. zstd and xz\n" \
    "                       also take the window that the input was packed with: up\n"  \
    "                       to 8 MiB as a rule, 64 with xz -9, 2 GiB with --long=31.\n" \
    "                       Default: 64 MiB for the sieve alone; memory engine: as\n"   \
    "                       much as it takes\n"

#define TOOL_SIEVE_WAIT_HELP                                                            \
    "      --wait TIME      if another process has the sieve, wait so long: seconds,\n" \
    "                       or with a unit (500ms, 30s, 5m, 1h). Default 10; 0: do\n"   \
    "                       not wait\n"

#define TOOL_SIEVE_SYNC_HELP                                                            \
    "      --sync WHEN      when work survives a crash of the machine: always (with\n"  \
    "                       each batch of lines), a number of seconds or a time with\n" \
    "                       a unit (500ms, 5m; default 1s), or never (left to the\n"    \
    "                       system; a power cut may damage the sieve). When a\n"        \
    "                       command has ended, its work survives, except with\n"        \
    "                       never\n"

#define TOOL_SIEVE_MAKE_HELP                                                             \
    "How a sieve is made. An existing sieve keeps what it was made with; only\n"         \
    "--memory, --sync and --leases may change:\n"                                        \
    "\n"                                                                                 \
    "      --engine NAME    disk (default): sorted fingerprints in the directory, 8\n"   \
    "                       bytes a key, whatever the memory; keys are decided in\n"     \
    "                       batches. memory: a filter in memory; every key is decided\n" \
    "                       at once\n"                                                   \
    "  -n, --keys N         expected number of different keys. Default 1M. The disk\n"   \
    "                       engine has no limit, and chooses its partitions by it\n"     \
    "  -p, --rate RATE      false-positive rate of the memory engine: how often it\n"    \
    "                       drops a new key as seen. Default 1e-6\n"                     \
    "      --on-full=WHAT   what the memory engine does when it has its -n keys: grow\n" \
    "                       (default; the rate holds), stop (new keys are refused) or\n" \
    "                       warn (once; the rate rises)\n"                               \
    "      --dialect NAME   memory engine: use the filter of another system. With\n"     \
    "                       --on-full=stop or --on-full=warn\n"                          \
    "      --preset lineage the queue that this one follows: --engine memory\n"          \
    "                       --on-full=warn -p 0.01 --dialect sieve-murmur3, its\n"       \
    "                       filter bit for bit; -n is its capacity\n"                    \
    "      --fingerprint-bits B\n"                                                       \
    "                       disk engine: 64 (default), or 48 for 6 bytes a key. Of\n"    \
    "                       1e9 keys some 1,800 are then dropped wrongly, else 0.03\n"   \
    "      --partitions P   disk engine: a power of two up to 256\n"                     \
    "      --ordered        keys come out in the order of their first pushes: first\n"   \
    "                       in, first out, as a breadth-first crawl. Without it so\n"    \
    "                       in each partition, and a key's partition is chance\n"        \
    "      --canon NAME     bring keys into one form first: url (scheme and host in\n"   \
    "                       lower case, without default port and fragment), url-query\n" \
    "                       (and the parameters sorted), or none (default)\n"            \
    "      --leases N       maximum number of leased keys. Default 4096. It may be\n"    \
    "                       changed later\n"

/* One option that tool_getopt returned. False if it is none of these ('?', whose message was
 * printed), or after a message. */
bool tool_sieve_option(struct tool_sieve_command *command, int option);
bool tool_sieve_make_option(struct tool_sieve_command *command, int option);

/* Options and operand of a subcommand that has none of its own. False if there is nothing more to
 * do, and then `*code` is the exit code. */
bool tool_sieve_read_plain(struct tool_sieve_command *command, int argc, char **argv,
                           const char *letters, const struct option *options, int *code);

/* The first operand is the directory; optind then stands behind it. False after a message. */
bool tool_sieve_operand(struct tool_sieve_command *command, int argc, char **argv);

/* No further operands. False after a message. */
bool tool_sieve_no_more(int argc, char **argv);

/* ---- The sieve ------------------------------------------------------------------------------- */

/* Opens it. If --memory was given, the sieve gets that, less the command's share
 * (TOOL_SIEVE_SHARE). False after a message. If the memory is too little, the message names the
 * minimum that works. */
bool tool_sieve_open(struct tool_sieve_command *command);

/* Commits and closes it, and returns `code`, or TOOL_ERROR after a message. A write that fails
 * again, as one did that was reported, is not reported again. */
int tool_sieve_close(struct tool_sieve_command *command, int code);

/* A message of a call that failed, with the directory's name. Returns TOOL_ERROR. */
int tool_sieve_error(struct tool_sieve_command *command, const bloomery_error *error);

/* The holder of a sieve's lock, as far as /proc shows it. */
struct tool_sieve_holder {
    long pid;          /* 0: nobody is known */
    char command[160]; /* its words, without what would disturb a terminal; "": not known */
};
struct tool_sieve_holder tool_sieve_find_holder(const char *directory);
const char *tool_sieve_format_holder(const struct tool_sieve_holder *holder, char text[240]);

/* The message of a call that found it in use, with the holder. Returns TOOL_ERROR. */
int tool_sieve_say_busy(struct tool_sieve_command *command, const bloomery_error *error);

bloomery_sieve_info tool_sieve_info(const struct tool_sieve_command *command);

/* The number that a count of things is called by: "1 line", "2,000 lines", in `text`. */
enum { TOOL_SIEVE_TEXT = 80 };
const char *tool_sieve_things(char text[TOOL_SIEVE_TEXT], uint64_t count, const char *thing);

/* Number, key and payload. */
json_t *tool_sieve_json_item(const bloomery_sieve_item *item);

#endif /* BLOOMERY_TOOL_SIEVE_COMMAND_H */

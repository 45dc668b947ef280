/* SPDX-License-Identifier: Apache-2.0 */
/* sieve: finds the subcommand and runs it. They are in sieve_*.c. */
#include "command/sieve/sieve_command.h"

#include <string.h>

static const struct tool_command *const parts[] = {
    &tool_sieve_push,     &tool_sieve_pop,    &tool_sieve_ack,     &tool_sieve_mark,
    &tool_sieve_contains, &tool_sieve_flush,  &tool_sieve_status,  &tool_sieve_import,
    &tool_sieve_export,   &tool_sieve_verify, &tool_sieve_recover, NULL,
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) - 1 };

/* Names that queues and filters elsewhere have for these, and that users try first. */
static const struct {
    const char *name;
    const char *here;
} synonyms[] = {
    {"add", "push"},
    {"insert", "push"},
    {"enqueue", "push"},
    {"put", "push"},
    {"append", "push"},
    {"build", "push"},
    {"create", "push"},
    {"init", "push"},
    {"get", "pop"},
    {"take", "pop"},
    {"next", "pop"},
    {"dequeue", "pop"},
    {"lease", "pop"},
    {"done", "ack"},
    {"finish", "ack"},
    {"return", "ack --return"},
    {"nack", "ack --return"},
    {"fail", "ack --return"},
    {"extend", "ack --extend"},
    {"renew", "ack --extend"},
    {"dead", "export --dead"},
    {"leased", "export --leased"},
    {"query", "contains"},
    {"check", "contains"},
    {"exists", "contains"},
    {"test", "contains"},
    {"lookup", "contains"},
    {"commit", "flush"},
    {"sync", "flush"},
    {"info", "status"},
    {"show", "status"},
    {"inspect", "status"},
    {"stats", "status"},
    {"size", "status"},
    {"load", "import"},
    {"dump", "export"},
    {"list", "export"},
    {"scrub", "verify"},
    {"fsck", "verify"},
    {"repair", "recover"},
    {"fix", "recover"},
};

static int sieve_main(int argc, char **argv)
{
    const size_t prefix = strlen("sieve ");
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return tool_print_help(&cmd_sieve);
    const char *names[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        names[i] = parts[i]->name + prefix;
        if (strcmp(names[i], name) != 0)
            continue;
        tool_set_command(parts[i]);
        argv[1] = (char *)(uintptr_t)parts[i]->name;
        return parts[i]->run(argc - 1, argv + 1);
    }
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
        if (strcmp(synonyms[i].name, name) == 0)
            return tool_usage("unknown command '%s'; its name here is '%s'", name,
                              synonyms[i].here);
    const char *nearest = tool_nearest(name, names, PARTS);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL)
        return tool_usage("unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    return tool_usage("unknown %s '%s'", what, name);
}

const struct tool_command cmd_sieve = {
    .name = "sieve",
    .run = sieve_main,
    .summary = "a crawl queue that drops URLs it has already seen",
    .synopsis = "bloomery sieve COMMAND [OPTION...] DIR ...",
    .introduction =
        "A to-visit queue that drops keys it has already seen. Each key is queued once, "
        "however often it is pushed. 'pop' leases keys, for an hour by default. If 'ack' does "
        "not acknowledge a key before its lease ends, the key is delivered again. The "
        "directory DIR holds everything, and several processes may share it; each waits for "
        "the others. A crash undoes at most the pushes and acknowledgements of the last second "
        "(--sync).\n"
        "\n"
        "A new key is practically never dropped: one drop in 37 crawls of a billion keys. With "
        "--engine memory, the probability is 1e-6 (-p). A pushed key is pending until the disk "
        "engine has compared it with the keys seen before, which it does in batches.",
    .epilogue =
        "'bloomery sieve COMMAND --help' describes a command; 'bloomery plan --sieve' computes "
        "how much memory and disk a sieve needs.\n"
        "\n"
        "In the second example, --done acknowledges each key as soon as it is printed.\n"
        "\n"
        "  bloomery sieve push crawl seeds.txt\n"
        "  bloomery sieve pop -n 10 --done crawl | visit | bloomery sieve push crawl\n"
        "  bloomery sieve status crawl",
    .parts = parts,
};

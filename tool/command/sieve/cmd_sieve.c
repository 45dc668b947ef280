/* SPDX-License-Identifier: Apache-2.0 */
/* sieve: finds the subcommand and runs it. They are in sieve_*.c. */
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <string.h>

static const char help[] =
    "bloomery sieve COMMAND [OPTION...] DIR ...\n"
    "\n"
    "A queue of what is to be visited that drops what was seen: each key that is pushed comes out\n"
    "once, however often it is pushed, and until it was acknowledged it comes again. The "
    "directory\n"
    "DIR holds all of it, and a crash loses at most the last second's work.\n"
    "\n"
    "  push      queue the lines that were never pushed before\n"
    "  pop       take the next keys from the queue\n"
    "  ack       popped keys are done, or come again\n"
    "  note      mark lines seen without queueing them\n"
    "  contains  print the lines that were seen, or were not\n"
    "  flush     decide all that is pending\n"
    "  status    what is in it, and what it takes\n"
    "  import    mark what another program has seen (lists, Scrapy's requests.seen)\n"
    "  export    the queue, or the fingerprints of what was seen\n"
    "  verify    read all of it and compare the checksums\n"
    "  recover   make a damaged sieve work again, and set aside what is damaged\n"
    "\n"
    "'bloomery sieve COMMAND --help' says more; 'bloomery plan --sieve' what a sieve takes.\n"
    "\n"
    "  bloomery sieve push crawl seeds.txt\n"
    "  bloomery sieve pop -n 10 --done crawl | visit | bloomery sieve push crawl\n"
    "  bloomery sieve status crawl\n";

static const struct tool_command *const parts[] = {
    &tool_sieve_push,     &tool_sieve_pop,    &tool_sieve_ack,     &tool_sieve_note,
    &tool_sieve_contains, &tool_sieve_flush,  &tool_sieve_status,  &tool_sieve_import,
    &tool_sieve_export,   &tool_sieve_verify, &tool_sieve_recover, NULL,
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) - 1 };

static int sieve_main(int argc, char **argv)
{
    const size_t prefix = strlen("sieve ");
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        struct tool_out out;
        tool_out_start(&out);
        tool_out_text(&out, help);
        return tool_out_finish(&out, TOOL_FOUND);
    }
    const char *names[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        names[i] = parts[i]->name + prefix;
        if (strcmp(names[i], name) != 0)
            continue;
        tool_set_command(parts[i]);
        argv[1] = (char *)(uintptr_t)parts[i]->name;
        return parts[i]->run(argc - 1, argv + 1);
    }
    const char *nearest = tool_nearest(name, names, PARTS);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL)
        return tool_usage("unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    return tool_usage("unknown %s '%s'", what, name);
}

const struct tool_command cmd_sieve = {
    .name = "sieve",
    .run = sieve_main,
    .summary = "a queue of what is to be visited that drops what was seen",
    .help = help,
    .parts = parts,
};

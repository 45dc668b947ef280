/* SPDX-License-Identifier: Apache-2.0 */
/* plan --sieve: the costs of a sieve before it is made. */
#ifndef BLOOMERY_TOOL_SIEVE_PLAN_H
#define BLOOMERY_TOOL_SIEVE_PLAN_H

#include <bloomery/sieve.h>

#include <stdbool.h>
#include <stdint.h>

/* The options; 0: the default. */
struct tool_sieve_wish {
    bloomery_sieve_plan plan; /* its memory is not set yet */
    uint64_t memory;          /* of the whole process, as 'sieve push --memory' has it */
    bool in_use;              /* an option was given that is for sieves alone */
    bool json;
};

enum {
    TOOL_SIEVE_PLAN_PUSHES = 500, /* options of its own */
    TOOL_SIEVE_PLAN_KEY_BYTES,
    TOOL_SIEVE_PLAN_DISK_SPEED,
    TOOL_SIEVE_PLAN_CACHE_HIT,
    TOOL_SIEVE_PLAN_FINGERPRINT_BITS,
    TOOL_SIEVE_PLAN_PARTITIONS,
};

#define TOOL_SIEVE_PLAN_OPTIONS                                                          \
    {"pushes", required_argument, NULL, TOOL_SIEVE_PLAN_PUSHES},                         \
        {"key-bytes", required_argument, NULL, TOOL_SIEVE_PLAN_KEY_BYTES},               \
        {"disk-speed", required_argument, NULL, TOOL_SIEVE_PLAN_DISK_SPEED},             \
        {"cache-hit", required_argument, NULL, TOOL_SIEVE_PLAN_CACHE_HIT},               \
        {"fingerprint-bits", required_argument, NULL, TOOL_SIEVE_PLAN_FINGERPRINT_BITS}, \
    {                                                                                    \
        "partitions", required_argument, NULL, TOOL_SIEVE_PLAN_PARTITIONS                \
    }

#define TOOL_SIEVE_PLAN_HELP                                                             \
    "With --sieve, for 'bloomery sieve push' with that --memory for the whole process\n" \
    "(default: 64 MiB for the sieve alone):\n"                                           \
    "\n"                                                                                 \
    "      --pushes T       with repeated ones; default: as many as keys\n"              \
    "      --key-bytes B    average length of a key; default 50\n"                       \
    "      --cache-hit S    share of the repeated pushes that the cache answers, 0 to\n" \
    "                       1; default 0, the worst case\n"                              \
    "      --disk-speed R   bytes a second, read or written; default 500MB\n"            \
    "      --fingerprint-bits B, --partitions P\n"                                       \
    "                       as for 'bloomery sieve push'\n"                              \
    "  -p, --rate RATE      of the filter in memory that it is compared with; default\n" \
    "                       1e-6\n"

/* The memory that a process of `sieve` takes beside its sieve, with room to spare:
 * tests/cli/test_sieve_memory.py measures it. */
enum { TOOL_SIEVE_SHARE = 4000000 };

/* One of these options. False after a message, or if it is none of them. */
bool tool_sieve_plan_option(struct tool_sieve_wish *wish, int option);

/* Prints the plan; returns the exit code. */
int tool_sieve_plan(struct tool_sieve_wish *wish);

#endif /* BLOOMERY_TOOL_SIEVE_PLAN_H */

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

/* The memory that a process of `sieve` takes beside its sieve, with room to spare:
 * tests/cli/test_sieve_memory.py measures it. */
enum { TOOL_SIEVE_SHARE = 4000000 };

/* Prints the plan; returns the exit code. */
int tool_sieve_plan(struct tool_sieve_wish *wish);

#endif /* BLOOMERY_TOOL_SIEVE_PLAN_H */

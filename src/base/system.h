/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the operating system besides files, threads and pages (memory.h). */
#ifndef BLOOMERY_BASE_SYSTEM_H
#define BLOOMERY_BASE_SYSTEM_H

#include "base/experimental.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Limits of memory ------------------------------------------------------------------------ */

/* The memory that a process can have: of the machine, within the limits of its control groups
 * (containers), and within its own. */

/* Fills all but `struct_bytes`, `room` and `text`. `root` precedes the paths of the system's files:
 * "" outside tests. */
void bloomery_limits_read(const char *root, bloomery_limits *limits);

/* Where the system's files lie: "", or in a build for tests BLOOMERY_LIMITS_ROOT. */
const char *bloomery_limits_root(void);

/* What a container of this limit can still give. A sixteenth stays for the program itself, for
 * page tables, and for whatever else the container runs. */
uint64_t bloomery_limits_spare(uint64_t limit, uint64_t left);

/* The same for this process's container now; UINT64_MAX without one. */
uint64_t bloomery_limits_container(void);

/* ---- Random bytes ---------------------------------------------------------------------------- */

/* At most 256 bytes that nobody can guess. False if the system has none. */
bool bloomery_random(void *to, size_t bytes);

/* ---- What an errno means --------------------------------------------------------------------- */

/* What an errno means, in `room` or in memory that stays. Any thread. */
const char *bloomery_reason(int error_number, char *room, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a process can have: of the machine, within the limits of its control groups
 * (containers), and within its own.
 */
#ifndef BLOOMERY_BASE_LIMITS_H
#define BLOOMERY_BASE_LIMITS_H

#include "base/experimental.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Some threads that do the same work and end together. */
#ifndef BLOOMERY_TOOL_TEAM_H
#define BLOOMERY_TOOL_TEAM_H

#include <stdint.h>

enum { TOOL_THREADS_MAX = 256 };

/* Work of one thread: `number` from 0 on. */
typedef void tool_work(void *context, uint32_t number);

/* Runs `work` in `threads` threads, the calling one being number 0, and returns when all are done.
 * If the system gives fewer threads, those do it: any number of threads must be able to do the
 * work. */
void tool_team_run(uint32_t threads, tool_work *work, void *context);

#endif /* BLOOMERY_TOOL_TEAM_H */

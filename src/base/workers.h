/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share a piece of work, the calling one among them. In a build without a system
 * (base/none) it is the only one. */
#ifndef BLOOMERY_BASE_WORKERS_H
#define BLOOMERY_BASE_WORKERS_H

#include <stdint.h>

enum { BLOOMERY_WORKERS_MAX = 256 };

/* Calls `work` with `context` and a number in as many of `threads` threads as the system gives; the
 * calling one is number 0. Returns when all are done. */
void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads);

/* How many threads are worth making: at least 1. */
uint32_t bloomery_processors(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that nobody can guess. */
#ifndef BLOOMERY_BASE_ENTROPY_H
#define BLOOMERY_BASE_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* At most 256 bytes. False if the system has none. */
bool bloomery_random(void *to, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What each of our programs does first: its standard streams, and the signals of writing. */
#ifndef BLOOMERY_TOOL_STANDARD_H
#define BLOOMERY_TOOL_STANDARD_H

#include <stdbool.h>

/* False if a standard stream is closed and nothing could take its place. */
bool tool_standard_begin(void);

/* Whether the program was started without a standard input: reading fails then, with EBADF. */
bool tool_standard_input_is_closed(void);
#define TOOL_STDIN_CLOSED "is closed: name a file, or redirect one to it"

#endif /* BLOOMERY_TOOL_STANDARD_H */

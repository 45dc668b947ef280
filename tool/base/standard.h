/* SPDX-License-Identifier: Apache-2.0 */
/* What each of our programs does first: its standard streams, and the signals of writing. */
#ifndef BLOOMERY_TOOL_STANDARD_H
#define BLOOMERY_TOOL_STANDARD_H

#include <stdbool.h>

/* False if a standard stream is closed and nothing could take its place. */
bool tool_standard_begin(void);

#endif /* BLOOMERY_TOOL_STANDARD_H */

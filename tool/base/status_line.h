/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a long job on the terminal (progress.h), which messages wipe before they say
 * something. */
#ifndef BLOOMERY_TOOL_STATUS_BLOCK_H
#define BLOOMERY_TOOL_STATUS_BLOCK_H

/* A line stands on the terminal from now on. */
void tool_status_line_begin(void);

/* Wipes the line if one stands there; every message on stderr does this first. */
void tool_status_line_wipe(void);

#endif /* BLOOMERY_TOOL_STATUS_BLOCK_H */

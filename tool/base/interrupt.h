/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal does to a command that has something to bring to an end: interrupt.c. */
#ifndef BLOOMERY_TOOL_INTERRUPT_H
#define BLOOMERY_TOOL_INTERRUPT_H

#include <stdbool.h>

struct tool_interrupt;

/* From now on `path` is removed if a signal ends the process; NULL: nothing is. It must stay. */
void tool_interrupt_remove(const char *path);

/* The same for a second file. */
void tool_interrupt_remove_too(const char *path);

/* Removes both at once, before the process ends in another way. A handler may call it. */
void tool_interrupt_remove_now(void);

/* From now on a signal that ends the process writes this to stderr first; NULL: nothing. It must
 * stay. */
void tool_interrupt_say(const char *text);

/* From now on the first SIGINT, SIGTERM or SIGHUP only ends reading; the second ends the process.
 * NULL if the system has no pipe to spare: then the first does. */
const struct tool_interrupt *tool_interrupt_take(void);

/* Whether such a signal came. */
bool tool_interrupt_came(const struct tool_interrupt *of);

/* Its name, "" if none came. */
const char *tool_interrupt_name(void);

/* The ends of a pipe that has a byte when it came. A thread that wants to wake for another reason
 * may write one, too: it is never read. */
int tool_interrupt_read_end(const struct tool_interrupt *of);
int tool_interrupt_write_end(const struct tool_interrupt *of);

/* Ends the process by the signal that came, if one did. */
void tool_interrupt_pass_on(void);

#endif /* BLOOMERY_TOOL_INTERRUPT_H */

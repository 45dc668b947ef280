/* SPDX-License-Identifier: Apache-2.0 */
/* What each of our programs asks of the system: files, libraries, its standard streams, signals,
 * maps of files that others may change, threads. */
#ifndef BLOOMERY_TOOL_BASE_SYSTEM_H
#define BLOOMERY_TOOL_BASE_SYSTEM_H

#include "src/base/load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ---- Files ----------------------------------------------------------------------------------- */

/* Opens a file of the command's own for reading. What is not a regular file, such as a FIFO or a
 * socket, is refused and not waited for. -1, and `why` says the reason; it stays until the next
 * strerror. */
int tool_open_regular(const char *path, const char **why);

/* Whole transfers. A system call may move fewer bytes than it was given, and a signal may interrupt
 * it. These go on until all is done. They return 0 or an errno; EIO if the system takes none.
 * `moved` grows by the bytes that were moved, even if the next ones failed. */
int tool_write_all(int file, const void *data, size_t bytes, uint64_t *moved);
int tool_write_at(int file, uint64_t offset, const void *data, size_t bytes);

/* `bytes` bytes, or as many as the file has. */
int tool_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved);

/* ---- Libraries that are loaded --------------------------------------------------------------- */

/*
 * Libraries that few runs need, loaded when one does, by bloomery_load_library. libarchive alone
 * brings a dozen others with it. Starting with them takes five milliseconds, time for a million
 * queries, and without them two.
 */

/* A library's functions as a struct of pointers. LIST(X) is X(one) X(other) ... */
#define TOOL_LOAD_FIELD(name)  __typeof__(name) *name;
#define TOOL_LOAD_WANTED(name) {#name, &functions->name},

/* ---- Standard streams ------------------------------------------------------------------------ */

/* What each of our programs does first, with the signals of writing too. False if a standard stream
 * is closed and nothing could take its place. */
bool tool_standard_begin(void);

/* Whether the program was started without a standard input: reading fails then, with EBADF. */
bool tool_standard_input_is_closed(void);
#define TOOL_STDIN_CLOSED "is closed: name a file, or redirect one to it"

/* ---- Signals --------------------------------------------------------------------------------- */

/* What a signal does to a command that has something to bring to an end. */
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

/* ---- Watched files --------------------------------------------------------------------------- */

/*
 * Files that a command has mapped, and that another program may write to. A filter that is
 * overwritten in place gives neither the old answers nor the new ones; one that is cut short ends
 * the program by SIGBUS. A new file that takes the name by rename does no harm: the map stays the
 * old one.
 */

/* From now on the file is watched. `path` must stay. `facts` are those from before it was read, and
 * the map is `bytes` at `data`. Maps that another program cuts short end this one with a message
 * that names the file, and with TOOL_ERROR. */
void tool_watched_add(const char *path, const struct stat *facts, const void *data, size_t bytes);

/* Maps the first `bytes` bytes of a regular file to be read, and watches it until the map is given
 * back, which ends the program as tool_watched_check does. NULL if it can't be mapped. */
void *tool_watched_map(int file, const char *path, uint64_t bytes);
void tool_watched_unmap(void *map, size_t bytes);

/* Whether all watched files are as they were. False after a message. */
bool tool_watched_unchanged(void);

/* Ends the program with TOOL_ERROR after a message if a watched file was changed. For places where
 * answers leave, and where input is waited for. */
void tool_watched_check(void);

/* ---- Threads --------------------------------------------------------------------------------- */

/* Some threads that do the same work and end together. */
enum { TOOL_THREADS_MAX = 256 };

/* Work of one thread: `number` from 0 on. */
typedef void tool_work(void *context, uint32_t number);

/* Runs `work` in `threads` threads, the calling one being number 0, and returns when all are done.
 * If the system gives fewer threads, those do it: any number of threads must be able to do the
 * work. */
void tool_team_run(uint32_t threads, tool_work *work, void *context);

#endif /* BLOOMERY_TOOL_BASE_SYSTEM_H */

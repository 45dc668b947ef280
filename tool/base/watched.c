/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are added before threads look at them, and none is removed, so the list is read without a
 * lock, in a handler too. A map that is given back stays in the list with 0 bytes. There is no
 * descriptor of each, since there may be more filters than descriptors: the path leads to the file
 * that is mapped as long as it leads to the same inode, whose number is not given to another file
 * while the map stands.
 */
#include "base/watched.h"

#include "base/interrupt.h"
#include "tool.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADVICE "write a new file and rename it over the old one (mv)"

struct watched {
    struct watched *next;
    const char *path;
    struct stat facts;
    uintptr_t data;
    size_t bytes;
    char *cut_short; /* the message, since a handler can't make one */
};

static struct watched *all;
static bool said; /* once, whichever thread sees it first */

static struct watched *first(void)
{
    return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

/* A page that is no longer there. An address elsewhere is a fault like any other: it is met again
 * when the handler returns, and ends the program. */
static void handle(int number, siginfo_t *about, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)about->si_addr;
    for (const struct watched *one = first(); one != NULL; one = one->next)
        if (at - one->data < one->bytes) {
            ssize_t written = write(STDERR_FILENO, one->cut_short, strlen(one->cut_short));
            (void)written; /* nothing can be done if it fails */
            tool_interrupt_remove_now();
            _exit(TOOL_ERROR);
        }
    signal(number, SIG_DFL);
}

static char *describe_cut(const char *path)
{
    const struct tool_command *command = tool_running_command();
    const char *name = command != NULL ? command->name : "";
    const size_t room = strlen(path) + strlen(name) + 200;
    char *text = tool_allocate(room);
    snprintf(text, room,
             "bloomery: %s: %s: was cut short while it was in use, or can't be read any "
             "more; " ADVICE,
             name, path);
    memcpy(text + strlen(tool_printable(text)), "\n", 2);
    return text;
}

void tool_watched_add(const char *path, const struct stat *facts, const void *data, size_t bytes)
{
    struct watched *one = tool_allocate(sizeof(*one));
    *one = (struct watched){.next = first(),
                            .path = path,
                            .facts = *facts,
                            .data = (uintptr_t)data,
                            .bytes = bytes,
                            .cut_short = describe_cut(path)};
    __atomic_store_n(&all, one, __ATOMIC_RELEASE);
    if (one->next == NULL) {
        struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, NULL);
    }
}

void *tool_watched_map(int file, const char *path, uint64_t bytes)
{
    struct stat facts;
    if (bytes == 0 || bytes > SIZE_MAX / 2 || fstat(file, &facts) != 0)
        return NULL;
    void *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED)
        return NULL;
    tool_watched_add(path, &facts, map, (size_t)bytes);
    return map;
}

void tool_watched_unmap(void *map, size_t bytes)
{
    tool_watched_check(); /* what was made of it is used from now on */
    for (struct watched *one = first(); one != NULL; one = one->next)
        if (one->data == (uintptr_t)map)
            __atomic_store_n(&one->bytes, 0, __ATOMIC_RELAXED);
    munmap(map, bytes);
}

static bool is_changed(const struct watched *one)
{
    struct stat now;
    return one->bytes > 0 && stat(one->path, &now) == 0 && now.st_dev == one->facts.st_dev &&
           now.st_ino == one->facts.st_ino &&
           (now.st_size != one->facts.st_size || now.st_mtim.tv_sec != one->facts.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != one->facts.st_mtim.tv_nsec);
}

bool tool_watched_unchanged(void)
{
    for (const struct watched *one = first(); one != NULL; one = one->next)
        if (is_changed(one)) {
            if (!__atomic_exchange_n(&said, true, __ATOMIC_SEQ_CST))
                tool_error("%s: was changed while it was in use, so answers since then may be "
                           "wrong; " ADVICE,
                           one->path);
            return false;
        }
    return true;
}

void tool_watched_check(void)
{
    if (tool_watched_unchanged())
        return;
    tool_interrupt_remove_now();
    _exit(TOOL_ERROR); /* other threads are at work */
}

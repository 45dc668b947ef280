/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder of a sieve: the process that holds the lock of its directory, by /proc/locks, and its
 * command, by /proc/PID/cmdline. Both are a courtesy. A fact that a system or a container hides is
 * left out, and nothing depends on it.
 *
 *     5: FLOCK  ADVISORY  WRITE 4711 08:01:1835010 0 EOF
 *                               pid  device inode, major and minor number in hexadecimal
 */
#include "command/sieve/sieve_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct lock {
    long pid;
    unsigned long major, minor;
    unsigned long long inode;
};

/* False if a line is none of a lock that is held alone, or of one that is waited for. */
static bool read_lock(const char *line, struct lock *lock)
{
    char *at = strstr(line, " WRITE ");
    if (at == NULL || strstr(line, "FLOCK ") == NULL || strstr(line, "->") != NULL)
        return false;
    lock->pid = strtol(at + strlen(" WRITE "), &at, 10);
    lock->major = strtoul(at, &at, 16);
    if (*at != ':')
        return false;
    lock->minor = strtoul(at + 1, &at, 16);
    if (*at != ':')
        return false;
    lock->inode = strtoull(at + 1, &at, 10);
    return *at == ' ' && lock->pid > 0;
}

/* Some file systems lock under another device than stat names. An inode alone is taken for the
 * directory only if no line has both. */
static long find_pid(const struct stat *facts)
{
    char line[256];
    long likely = 0, found = 0;
    FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL)
        return 0;
    while (found == 0 && fgets(line, sizeof(line), locks) != NULL) {
        struct lock lock;
        if (!read_lock(line, &lock) || lock.inode != facts->st_ino)
            continue;
        if (lock.major == major(facts->st_dev) && lock.minor == minor(facts->st_dev))
            found = lock.pid;
        likely = lock.pid;
    }
    fclose(locks);
    return found > 0 ? found : likely;
}

/* The words of a command, with blanks between them. Without its folder the first one is shorter. */
static void find_command(struct tool_sieve_holder *holder)
{
    char path[64], words[1024];
    snprintf(path, sizeof(path), "/proc/%ld/cmdline", holder->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    const size_t bytes = fread(words, 1, sizeof(words) - 1, file);
    fclose(file);
    words[bytes] = '\0';
    const char *slash = strrchr(words, '/');
    size_t used = 0;
    for (size_t i = slash != NULL ? (size_t)(slash + 1 - words) : 0;
         i < bytes && used + 1 < sizeof(holder->command); i++) {
        const unsigned char byte = (unsigned char)words[i];
        holder->command[used++] = (char)(byte == 0 ? ' ' : byte < 32 || byte >= 127 ? '?' : byte);
    }
    while (used > 0 && holder->command[used - 1] == ' ')
        used--;
    holder->command[used] = '\0';
}

struct tool_sieve_holder tool_sieve_find_holder(const char *directory)
{
    struct tool_sieve_holder holder = {.pid = 0};
    struct stat facts;
    if (stat(directory, &facts) == 0)
        holder.pid = find_pid(&facts);
    if (holder.pid > 0)
        find_command(&holder);
    return holder;
}

const char *tool_sieve_format_holder(const struct tool_sieve_holder *holder, char text[240])
{
    if (holder->pid <= 0)
        snprintf(text, 240, "another process");
    else if (holder->command[0] == '\0')
        snprintf(text, 240, "process %ld", holder->pid);
    else
        snprintf(text, 240, "process %ld (%s)", holder->pid, holder->command);
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process on a JVM, and the commands to it over a socket that is its standard input and output.
 *
 * The program is compiled first and run then, although `java File.java` does both. The compiler
 * would be in the same process, and in the memory and the processor time that are reported of it.
 * Its class is needed until the last process has sent its greeting. So the folder is gone after a
 * second or two, long before the first key. Processes end when their socket does: none outlives
 * this program, however it ends.
 */
#include "jvm.h"

#include "portions.h"
#include "tool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASS "FilterOnJvm"

enum {
    GREETING = 0x424C4D31,
    KEYS_AT_ONCE = 1 << 15, /* of one command; a multiple of 64 */
    WORDS_MAX = 16,         /* of a command line */
};

static const char needs[] =
    "--jvm needs a JDK, with 'java' and 'javac' among the commands, and Guava "
    "(Debian: default-jdk-headless, libguava-java)";

/* ---- The program ----------------------------------------------------------------------------- */

/* The source lies beside this program, where that is built. */
static bool find_source(char *path, size_t room)
{
    char own[PATH_MAX - 32]; /* room for the name */
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = 0;
    char *slash = strrchr(own, '/');
    if (slash != NULL)
        *slash = 0;
    int used = snprintf(path, room, "%s/" CLASS ".java", own);
    if (slash != NULL && used > 0 && (size_t)used < room && access(path, R_OK) == 0)
        return true;
    tool_error("the source of the program for the JVM, " CLASS ".java, is not beside this program");
    return false;
}

/* Starts a program found among the commands. 0 after a message. `end`: its input and output; -1:
 * nothing, and its output goes to stderr. */
static pid_t spawn(const char *const *words, int end)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        if (end >= 0) {
            failure = posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
            failure |= posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
        } else {
            failure =
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
            failure |= posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        }
        if (failure == 0)
            failure = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
                                   environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (failure == 0)
        return pid;
    tool_error("cannot run '%s': %s; %s", words[0], strerror(failure), needs);
    return 0;
}

/* The exit code of a process, -1 if a signal ended it. */
static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void tool_jvm_forget(struct tool_jvm_program *program)
{
    char class[sizeof(program->folder) + 32];
    snprintf(class, sizeof(class), "%s/" CLASS ".class", program->folder);
    unlink(class);
    rmdir(program->folder);
}

static bool make_folder(struct tool_jvm_program *program)
{
    const char *among = getenv("TMPDIR");
    if (among == NULL || among[0] == 0)
        among = "/tmp";
    int used = snprintf(program->folder, sizeof(program->folder), "%s/bloomery-jvm-XXXXXX", among);
    if (used > 0 && (size_t)used < sizeof(program->folder) && mkdtemp(program->folder) != NULL)
        return true;
    tool_error("cannot make a folder in %s: %s", among, strerror(errno));
    return false;
}

bool tool_jvm_compile(const char *guava, struct tool_jvm_program *program)
{
    char source[PATH_MAX];
    if (guava == NULL)
        guava = TOOL_JVM_GUAVA;
    if (access(guava, R_OK) != 0) {
        tool_error("%s: %s; %s, or --guava with the path of its jar", guava, strerror(errno),
                   needs);
        return false;
    }
    if (!find_source(source, sizeof(source)) || !make_folder(program))
        return false;
    int used = snprintf(program->path, sizeof(program->path), "%s:%s", program->folder, guava);
    const char *const words[] = {"javac", "-nowarn", "-d",   program->folder,
                                 "-cp",   guava,     source, NULL};
    pid_t pid = used > 0 && (size_t)used < sizeof(program->path) ? spawn(words, -1) : 0;
    int code = pid != 0 ? wait_for(pid) : 0;
    if (pid != 0 && code == 0)
        return true;
    if (pid != 0)
        tool_error("'javac' failed on %s with exit code %d; %s", source, code, needs);
    tool_jvm_forget(program);
    return false;
}

/* ---- The socket ------------------------------------------------------------------------------ */

static bool ended(void)
{
    tool_error("the program on the JVM ended before it had answered; %s", needs);
    return false;
}

static bool say(const struct tool_jvm *jvm, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t sent = send(jvm->socket, from, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return ended();
        if (sent > 0) {
            from += sent;
            bytes -= (size_t)sent;
        }
    }
    return true;
}

static bool hear(const struct tool_jvm *jvm, void *data, size_t bytes)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t came = recv(jvm->socket, to, bytes, 0);
        if (came == 0 || (came < 0 && errno != EINTR))
            return ended();
        if (came > 0) {
            to += came;
            bytes -= (size_t)came;
        }
    }
    return true;
}

static bool greeted(const struct tool_jvm *jvm)
{
    uint32_t greeting;
    if (!hear(jvm, &greeting, sizeof(greeting)))
        return false;
    if (be32toh(greeting) == GREETING)
        return true;
    tool_error("what 'java' ran says something else than its program would; %s", needs);
    return false;
}

bool tool_jvm_start(const struct tool_jvm_program *program, const char *const *arguments,
                    struct tool_jvm *jvm)
{
    const char *words[WORDS_MAX] = {"java", "-cp", program->path, CLASS};
    for (size_t i = 0; i < 7 && arguments[i] != NULL; i++)
        words[4 + i] = arguments[i];
    int ends[2];
    *jvm = (struct tool_jvm){.pid = 0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        tool_error("cannot make a socket: %s", strerror(errno));
        return false;
    }
    jvm->pid = spawn(words, ends[1]);
    jvm->socket = ends[0];
    close(ends[1]);
    if (jvm->pid == 0)
        close(jvm->socket);
    if (jvm->pid != 0 && greeted(jvm))
        return true;
    tool_jvm_end(jvm);
    return false;
}

void tool_jvm_end(struct tool_jvm *jvm)
{
    if (jvm->pid == 0)
        return;
    close(jvm->socket);
    wait_for(jvm->pid);
    jvm->pid = 0;
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* Sends the keys from number `from` on, as many as go at once; returns how many, 0 after a
 * message. */
static size_t send_keys(const struct tool_jvm *jvm, char command, struct tool_digits keys,
                        size_t from)
{
    const size_t left = keys.count - from;
    const size_t count = left < KEYS_AT_ONCE ? left : (size_t)KEYS_AT_ONCE;
    const uint32_t number = htobe32((uint32_t)count);
    char head[1 + sizeof(number)] = {command};
    memcpy(head + 1, &number, sizeof(number));
    return say(jvm, head, sizeof(head)) && say(jvm, tool_key_at(keys, from), count * TOOL_DIGITS)
               ? count
               : 0;
}

bool tool_jvm_add(struct tool_jvm *jvm, struct tool_digits keys)
{
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = send_keys(jvm, 'A', keys, from);
        if (count == 0)
            return false;
    }
    return true;
}

bool tool_jvm_query(struct tool_jvm *jvm, struct tool_digits keys, uint64_t *answers)
{
    _Static_assert(KEYS_AT_ONCE % 64 == 0, "commands begin at words of answers");
    for (size_t from = 0, count; from < keys.count; from += count) {
        uint64_t words[KEYS_AT_ONCE / 64] = {0};
        count = send_keys(jvm, 'Q', keys, from);
        if (count == 0 || !hear(jvm, words, (count + 7) / 8))
            return false;
        for (size_t i = 0; i < (count + 63) / 64; i++)
            answers[from / 64 + i] = le64toh(words[i]);
    }
    return true;
}

bool tool_jvm_tell_state(struct tool_jvm *jvm, struct tool_jvm_state *state)
{
    uint64_t numbers[4];
    if (!say(jvm, "S", 1) || !hear(jvm, numbers, sizeof(numbers)))
        return false;
    *state = (struct tool_jvm_state){
        .add_seconds = 1e-9 * (double)be64toh(numbers[0]),
        .query_seconds = 1e-9 * (double)be64toh(numbers[1]),
        .processor_seconds = 1e-9 * (double)be64toh(numbers[2]),
        .max_bytes = be64toh(numbers[3]),
    };
    return true;
}

uint8_t *tool_jvm_tell_bytes(struct tool_jvm *jvm, size_t *bytes)
{
    uint32_t number;
    if (!say(jvm, "D", 1) || !hear(jvm, &number, sizeof(number)))
        return NULL;
    *bytes = be32toh(number);
    uint8_t *data = tool_allocate(*bytes > 0 ? *bytes : 1);
    if (hear(jvm, data, *bytes))
        return data;
    free(data);
    return NULL;
}

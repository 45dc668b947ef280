/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream that never ends by itself is ended by a signal, and what was read of it until then
 * should not be lost. So the first signal ends the input. Reading stops, what was read is
 * delivered, and only then the process ends, by that signal, as its sender expects. The second one
 * does not wait for that.
 *
 * Handlers may call next to nothing. This one sets a number and writes a byte into a pipe on which
 * waiting readers also wait. Both belong to the process and are never taken away, so that it does
 * not matter when a signal comes, or to which thread.
 */
#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct tool_interrupt {
    int pipe[2];
    int number; /* of the signal that came; 0: none */
};

static struct tool_interrupt interrupt = {.pipe = {-1, -1}};
static const char *to_remove[2];
static const char *to_say;
static bool taken;

void tool_interrupt_remove_now(void)
{
    for (int i = 0; i < 2; i++) {
        const char *path = __atomic_load_n(&to_remove[i], __ATOMIC_SEQ_CST);
        if (path != NULL)
            unlink(path);
    }
}

static void end_by(int number)
{
    tool_interrupt_remove_now();
    const char *text = __atomic_load_n(&to_say, __ATOMIC_SEQ_CST);
    if (text != NULL && number != SIGPIPE) {
        ssize_t written = write(STDERR_FILENO, text, strlen(text));
        (void)written; /* nothing can be done if it fails */
    }
    signal(number, SIG_DFL);
    raise(number); /* in a handler: when that returns */
}

static void handle(int number)
{
    const int reason = errno;
    int none = 0;
    if (number != SIGPIPE && __atomic_load_n(&taken, __ATOMIC_SEQ_CST) &&
        __atomic_compare_exchange_n(&interrupt.number, &none, number, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        ssize_t written = write(interrupt.pipe[1], "", 1);
        (void)written; /* a full pipe wakes as well */
    } else {
        end_by(number);
    }
    errno = reason;
}

static void install(int number)
{
    struct sigaction before, action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    /* Signals that are ignored (nohup, a shell's background) stay so. */
    if (sigaction(number, NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void install_all(void)
{
    install(SIGINT);
    install(SIGTERM);
    install(SIGHUP);
}

static void remove_at_end(const char **place, const char *path)
{
    __atomic_store_n(place, path, __ATOMIC_SEQ_CST);
    if (path == NULL)
        return;
    install_all();
    install(SIGPIPE);
}

void tool_interrupt_remove(const char *path)
{
    remove_at_end(&to_remove[0], path);
}

void tool_interrupt_remove_too(const char *path)
{
    remove_at_end(&to_remove[1], path);
}

void tool_interrupt_say(const char *text)
{
    __atomic_store_n(&to_say, text, __ATOMIC_SEQ_CST);
    if (text != NULL)
        install_all();
}

const struct tool_interrupt *tool_interrupt_take(void)
{
    if (interrupt.pipe[0] < 0 && pipe2(interrupt.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return NULL;
    __atomic_store_n(&taken, true, __ATOMIC_SEQ_CST);
    install_all();
    return &interrupt;
}

bool tool_interrupt_came(const struct tool_interrupt *of)
{
    return of != NULL && __atomic_load_n(&of->number, __ATOMIC_SEQ_CST) != 0;
}

const char *tool_interrupt_name(void)
{
    switch (__atomic_load_n(&interrupt.number, __ATOMIC_SEQ_CST)) {
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    case SIGHUP:
        return "SIGHUP";
    default:
        return "";
    }
}

int tool_interrupt_read_end(const struct tool_interrupt *of)
{
    return of->pipe[0];
}

int tool_interrupt_write_end(const struct tool_interrupt *of)
{
    return of->pipe[1];
}

void tool_interrupt_pass_on(void)
{
    const int number = __atomic_load_n(&interrupt.number, __ATOMIC_SEQ_CST);
    if (number != 0)
        end_by(number);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system.h"

#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files ----------------------------------------------------------------------------------- */

int tool_open_regular(const char *path, const char **why)
{
    struct stat facts;
    /* O_NONBLOCK: a FIFO waits for its writer otherwise. It means nothing for regular files. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const bool opened = file >= 0 && fstat(file, &facts) == 0;
    if (opened && S_ISREG(facts.st_mode))
        return file;
    if (opened)
        *why = S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file";
    else
        *why = errno == ENXIO ? "is not a regular file" : strerror(errno); /* ENXIO: a socket */
    if (file >= 0)
        close(file);
    return -1;
}

int tool_write_all(int file, const void *data, size_t bytes, uint64_t *moved)
{
    const char *next = data;
    while (bytes > 0) {
        const ssize_t now = write(file, next, bytes);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        *moved += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

int tool_write_at(int file, uint64_t offset, const void *data, size_t bytes)
{
    const char *next = data;
    while (bytes > 0) {
        const ssize_t now = pwrite(file, next, bytes, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        offset += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

int tool_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved)
{
    char *next = to;
    while (bytes > 0) {
        const ssize_t now = pread(file, next, bytes, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : 0;
        *moved += (uint64_t)now;
        offset += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

/* ---- Standard streams ------------------------------------------------------------------------ */

/* If a standard stream is closed, the next file to be opened would take its place, and get what is
 * printed. Its place is taken by what can neither be read nor written, also by its name /dev/stdin:
 * input that is missing is not empty. Messages are lost without an error. */
static bool take_standard_places(void)
{
    for (int place = STDIN_FILENO; place <= STDERR_FILENO; place++) {
        const bool messages = place == STDERR_FILENO;
        if (fcntl(place, F_GETFD) < 0 &&
            open(messages ? "/dev/null" : "/", messages ? O_WRONLY : O_PATH) != place)
            return false;
    }
    return true;
}

bool tool_standard_input_is_closed(void)
{
    const int flags = fcntl(STDIN_FILENO, F_GETFL);
    return flags < 0 || (flags & O_PATH) != 0;
}

bool tool_standard_begin(void)
{
    /* A reader that went away ends us quietly, even if our parent ignores the signal. A file that
     * may grow no further is a failed write like any other. */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    return take_standard_places();
}

/* ---- Signals --------------------------------------------------------------------------------- */

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

/* ---- Watched files --------------------------------------------------------------------------- */

/*
 * Files are added before threads look at them, and none is removed, so the list is read without a
 * lock, in a handler too. A map that is given back stays in the list with 0 bytes. No file
 * keeps a descriptor, since there may be more filters than descriptors: the path leads to the file
 * that is mapped as long as it leads to the same inode, whose number is not given to another file
 * while the map stands.
 */

#define ADVICE "write a new file and rename it over the old one (mv)"

struct watched {
    struct watched *next;
    const char *path;
    struct stat facts;
    uintptr_t data;
    size_t bytes;
    char *cut_short; /* the message, since a handler can't make one */
};

static struct watched *all_watched;
static bool change_said; /* once, whichever thread sees it first */

static struct watched *first_watched(void)
{
    return __atomic_load_n(&all_watched, __ATOMIC_ACQUIRE);
}

/* A page that is no longer there. An address elsewhere is a fault like any other: it is met again
 * when the handler returns, and ends the program. */
static void handle_lost_page(int number, siginfo_t *about, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)about->si_addr;
    for (const struct watched *one = first_watched(); one != NULL; one = one->next)
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
    *one = (struct watched){.next = first_watched(),
                            .path = path,
                            .facts = *facts,
                            .data = (uintptr_t)data,
                            .bytes = bytes,
                            .cut_short = describe_cut(path)};
    __atomic_store_n(&all_watched, one, __ATOMIC_RELEASE);
    if (one->next == NULL) {
        struct sigaction action = {.sa_sigaction = handle_lost_page, .sa_flags = SA_SIGINFO};
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
    for (struct watched *one = first_watched(); one != NULL; one = one->next)
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
    for (const struct watched *one = first_watched(); one != NULL; one = one->next)
        if (is_changed(one)) {
            if (!__atomic_exchange_n(&change_said, true, __ATOMIC_SEQ_CST))
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

/* ---- Threads --------------------------------------------------------------------------------- */

struct member {
    pthread_t thread;
    tool_work *work;
    void *context;
    uint32_t number;
};

static void *run_member(void *argument)
{
    const struct member *member = argument;
    member->work(member->context, member->number);
    return NULL;
}

/* Whether there are addresses for another of that many threads: its stack, and what all of them
 * will allocate. Under a limit of them a thread that just fits would leave too few to work with. */
static bool has_room(uint32_t threads)
{
    const size_t beside = (size_t)threads << 22;
    size_t stack = (size_t)8 << 20;
    pthread_attr_t usual;
    if (pthread_getattr_default_np(&usual) == 0) {
        (void)pthread_attr_getstacksize(&usual, &stack);
        (void)pthread_attr_destroy(&usual);
    }
    void *room =
        mmap(NULL, stack + beside, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, stack + beside);
    return true;
}

void tool_team_run(uint32_t threads, tool_work *work, void *context)
{
    struct member members[TOOL_THREADS_MAX];
    uint32_t started = 1;
    assert(threads >= 1 && threads <= TOOL_THREADS_MAX);
    for (; started < threads; started++) {
        struct member *member = &members[started];
        *member = (struct member){.work = work, .context = context, .number = started};
        if (!has_room(started + 1) ||
            pthread_create(&member->thread, NULL, run_member, member) != 0)
            break;
    }
    work(context, 0);
    while (--started > 0)
        pthread_join(members[started].thread, NULL);
}

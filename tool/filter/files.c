/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/files.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "base/system.h"
#include "input/input.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Keys ------------------------------------------------------------------------------------ */

enum { KEY_TEXT_BYTES = 2 * BLOOMERY_SECRET_BYTES + 1 };

static int hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return -1;
}

static bool parse_key(const char *text, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    for (size_t i = 0; i < BLOOMERY_SECRET_BYTES; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        key[i] = (uint8_t)(16 * high + low);
    }
    text += (size_t)2 * BLOOMERY_SECRET_BYTES;
    return text[strspn(text, blanks)] == '\0';
}

/* The file's first `room` bytes. Not through stdio, whose buffer would keep a copy of the key.
 * Returns NULL or why it can't be read. */
static const char *read_up_to(const char *path, char *text, size_t room, size_t *count)
{
    const char *why = NULL;
    /* <(COMMAND) and /dev/stdin were opened by a shell: a pipe then has its writer. */
    const bool opened = strncmp(path, "/dev/fd/", 8) == 0 ||
                        strncmp(path, "/proc/self/fd/", 14) == 0 || strcmp(path, "/dev/stdin") == 0;
    const int file =
        opened ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : tool_open_regular(path, &why);
    if (file < 0)
        return why != NULL ? why : strerror(errno);
    ssize_t got = 1;
    while (got != 0 && why == NULL && *count < room) {
        got = read(file, text + *count, room - *count);
        if (got > 0)
            *count += (size_t)got;
        else if (got < 0 && errno != EINTR)
            why = strerror(errno);
    }
    close(file);
    return why;
}

bool tool_secret_read(const char *path, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    char text[256] = {0};
    size_t count = 0;
    const char *why = read_up_to(path, text, sizeof(text) - 1, &count);
    bool good = why == NULL && memchr(text, '\0', count) == NULL && parse_key(text, key);
    explicit_bzero(text, sizeof(text));
    if (why != NULL)
        tool_error("%s: %s", path, why);
    else if (!good)
        tool_error("%s: not a secret file: it must hold %d hexadecimal digits", path,
                   2 * BLOOMERY_SECRET_BYTES);
    return good;
}

/* The directory that a path's last name lies in, to be freed. */
static char *directory_of(const char *path)
{
    const size_t bytes = strlen(path) + 2; /* room for "." */
    char *copy = tool_allocate(bytes);
    memcpy(copy, path, bytes - 1);
    const char *directory = dirname(copy);
    memmove(copy, directory, strlen(directory) + 1);
    return copy;
}

/* Draws a key and writes it. Returns 0 or the errno. */
static int write_new_key(int file, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    ssize_t drawn = getrandom(key, BLOOMERY_SECRET_BYTES, 0);
    if (drawn != BLOOMERY_SECRET_BYTES)
        return drawn < 0 ? errno : EIO;
    static const char digits[] = "0123456789abcdef"; /* printf's buffers are not ours to wipe */
    char text[KEY_TEXT_BYTES];
    for (size_t i = 0; i < BLOOMERY_SECRET_BYTES; i++) {
        text[2 * i] = digits[key[i] >> 4];
        text[2 * i + 1] = digits[key[i] & 15];
    }
    text[KEY_TEXT_BYTES - 1] = '\n';
    uint64_t moved = 0;
    int reason = tool_write_all(file, text, KEY_TEXT_BYTES, &moved);
    explicit_bzero(text, sizeof(text));
    if (reason == 0 && fsync(file) != 0)
        reason = errno;
    return reason;
}

/*
 * A secret file that this process made goes again if its build fails, unless another build may have
 * read it. Who reads it marks it first: the time of its change becomes another one. The maker holds
 * the file open, and takes its lock before it looks at the mark; readers hold it while they mark
 * and read. One that waited for a file that went makes a new one.
 */
static struct {
    const char *path;
    int file; /* -1: none was made */
    struct stat facts;
} made = {.file = -1};

static bool make_secret_file(const char *path, int file, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    (void)flock(file, LOCK_EX); /* nobody reads half of it */
    int reason = write_new_key(file, key);
    if (reason == 0 && fstat(file, &made.facts) != 0)
        reason = errno;
    if (reason != 0) {
        unlink(path);
        close(file);
        tool_error("%s: making the secret file: %s", path, strerror(reason));
        return false;
    }
    (void)flock(file, LOCK_UN);
    made.path = path;
    made.file = file;
    /* The new name has to survive a power cut: a filter whose secret file got lost is lost, too. */
    char *name = directory_of(path);
    const int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(name);
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
    return true;
}

static bool is_same_file(const char *path, const struct stat *facts)
{
    struct stat now;
    return stat(path, &now) == 0 && now.st_dev == facts->st_dev && now.st_ino == facts->st_ino;
}

void tool_secret_unmake(void)
{
    struct stat now;
    if (made.file < 0)
        return;
    if (flock(made.file, LOCK_EX | LOCK_NB) == 0 && fstat(made.file, &now) == 0 &&
        now.st_mtim.tv_sec == made.facts.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == made.facts.st_mtim.tv_nsec && is_same_file(made.path, &made.facts))
        unlink(made.path);
    close(made.file);
    made.file = -1;
}

/* Marks a secret file that is there as read, and reads it. `again`: it went before that. */
static bool read_marked(const char *path, uint8_t key[BLOOMERY_SECRET_BYTES], bool *again)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *again = file < 0 && errno == ENOENT;
    if (file < 0)
        return !*again && tool_secret_read(path, key); /* which says why */
    if (flock(file, LOCK_SH) == 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode)) {
        const long next = facts.st_mtim.tv_nsec == 0 ? 1 : facts.st_mtim.tv_nsec - 1;
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                          {.tv_sec = facts.st_mtim.tv_sec, .tv_nsec = next}};
        (void)futimens(file, times);
        *again = !is_same_file(path, &facts);
    }
    const bool good = !*again && tool_secret_read(path, key);
    close(file);
    return good;
}

bool tool_secret_read_or_make(const char *path, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    struct stat facts;
    bool again = true;
    while (again) {
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0)
            return make_secret_file(path, file, key);
        if (errno != EEXIST) {
            tool_error("%s: %s", path, strerror(errno));
            return false;
        }
        if (stat(path, &facts) != 0) /* a link that leads nowhere: the reading says so */
            return tool_secret_read(path, key);
        if (read_marked(path, key, &again))
            return true;
    }
    return false;
}

/* ---- Opening --------------------------------------------------------------------------------- */

bool tool_filter_refuse(const char *path)
{
    tool_error(
        "%s: is not a regular file, which a filter must be to be mapped: write it to a file first",
        path);
    return false;
}

/* The estimate strays by far less than this; the rate rises by more than as much again. */
#define OVERFULL 1.05

void tool_warn_overfull(const char *path, const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    const bloomery_scan_result *scan = &facts->scan;
    if (info->planned_keys == 0 || scan->estimated_keys <= OVERFULL * (double)info->planned_keys)
        return;
    /* Other systems round their sizes up: a few keys more may still be within the plan. */
    if (scan->live_rate <= info->wanted_rate)
        return;
    char all[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES], now[TOOL_NUMBER_BYTES],
        then[TOOL_NUMBER_BYTES];
    const char *otherwise = info->dialect == 0 ? ", or with --kind scalable" : "";
    tool_format_count(planned, info->planned_keys);
    tool_format_odds(now, scan->live_rate);
    tool_format_odds(then, info->wanted_rate);
    if (scan->estimated_keys < 1e15)
        tool_warning("%s: holds about %s keys and was planned for %s: its rate is now %s, not "
                     "%s; build it with a larger -n%s",
                     path, tool_format_count(all, (uint64_t)(scan->estimated_keys + 0.5)), planned,
                     now, then, otherwise);
    else
        tool_warning(
            "%s: is full: all bits are set, so any key is reported as possibly in it. It was "
            "planned for %s keys at a rate of %s; build it with a larger -n%s",
            path, planned, then, otherwise);
}

void tool_hint_at_order(const char *filter, char *const *inputs, size_t count)
{
    if (access(filter, R_OK) != 0 || tool_path_packing(filter) == TOOL_FILTER)
        return;
    for (size_t i = 0; i < count; i++)
        if (tool_path_packing(inputs[i]) == TOOL_FILTER) {
            tool_say("%s is a filter, and the filter comes first: 'bloomery %s %s %s'", inputs[i],
                     tool_running_command()->name, inputs[i], filter);
            return;
        }
}

/* ---- Locks ----------------------------------------------------------------------------------- */

/* Locks what is open. Its path is looked at once more, for another file may have got the name while
 * we waited: 1 is that it still has it, 0 that not, -1 a failure with errno. */
static int lock_held(const char *path, int descriptor, const struct stat *held)
{
    struct stat named;
    int locked;
    do
        locked = flock(descriptor, LOCK_EX);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 || stat(path, &named) != 0)
        return -1;
    return held->st_dev == named.st_dev && held->st_ino == named.st_ino;
}

int tool_filter_lock(const char *path)
{
    while (true) {
        /* O_NONBLOCK: a FIFO given by mistake must not hang here. */
        const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat held = {0};
        if (descriptor < 0)
            break;
        int current = fstat(descriptor, &held) == 0 ? 0 : -1;
        if (current == 0 && !S_ISREG(held.st_mode) && !S_ISDIR(held.st_mode)) {
            close(descriptor);
            tool_filter_refuse(path);
            return -1;
        }
        if (current == 0)
            current = lock_held(path, descriptor, &held);
        if (current > 0)
            return descriptor;
        const int reason = errno;
        close(descriptor);
        errno = reason;
        if (current < 0)
            break;
    }
    /* ENXIO: a socket. */
    if (errno == ENXIO || (errno == ENOENT && strcmp(path, "-") == 0))
        tool_filter_refuse(path);
    else
        tool_error("%s: %s", path, strerror(errno));
    return -1;
}

void tool_filter_unlock(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

/* ---- What may be overwritten ----------------------------------------------------------------- */

/* The new file is made beside the one that it replaces, or that a symbolic link leads to. One that
 * leads nowhere is left to the writing. */
static bool directory_takes_files(const char *path)
{
    struct stat facts;
    bool link = lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);
    char *whole = link ? realpath(path, NULL) : NULL;
    if (link && whole == NULL)
        return true;
    char *directory = directory_of(whole != NULL ? whole : path);
    const char *why = NULL;
    free(whole);
    if (stat(directory, &facts) != 0)
        why = errno == ENOENT ? "does not exist" : strerror(errno);
    else if (access(directory, W_OK | X_OK) != 0)
        why = "is not writable";
    if (why != NULL)
        tool_error("%s: directory %s %s", path, directory, why);
    free(directory);
    return why == NULL;
}

bool tool_may_change(const char *path)
{
    return directory_takes_files(path);
}

static bool is_for_writing(const char *path, const struct stat *facts)
{
    if (S_ISDIR(facts->st_mode))
        tool_error("%s: is a directory, not a file to write to", path);
    else if (!S_ISREG(facts->st_mode))
        tool_error("%s: is not a regular file; '-o -' writes to stdout", path);
    return S_ISREG(facts->st_mode);
}

static bool holds_filter(const char *path, int descriptor)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    options.inspect = true;
    options.descriptor = descriptor;
    bloomery_status status = bloomery_map(NULL, &options, &filter, &error);
    bloomery_free(filter);
    switch (status) {
    case BLOOMERY_OK:
    case BLOOMERY_WRONG_VERSION: /* these were recognised as filters before they were refused */
    case BLOOMERY_CORRUPT:
    case BLOOMERY_UNSUPPORTED:
    case BLOOMERY_SECRET_NEEDED:
        return true;
    case BLOOMERY_NOT_A_FILTER:
    case BLOOMERY_TRUNCATED:
        tool_error("%s: exists and is not a whole filter; --force overwrites it", path);
        return false;
    default:
        tool_library_error(path, &error);
        return false;
    }
}

bool tool_may_replace_held(const char *path, int descriptor, bool force)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        tool_error("%s: %s", path, strerror(errno));
        return false;
    }
    return is_for_writing(path, &facts) && directory_takes_files(path) &&
           (force || facts.st_size == 0 || holds_filter(path, descriptor));
}

/* Only regular files are opened, because some devices act when they are opened. The file that is
 * then open counts, not the one that was there before. */
bool tool_may_replace(const char *path, bool force)
{
    struct stat facts;
    const bool there = stat(path, &facts) == 0;
    if (!there && errno != ENOENT) {
        tool_error("%s: %s", path, strerror(errno));
        return false;
    }
    if ((there && !is_for_writing(path, &facts)) || !directory_takes_files(path))
        return false;
    if (!there || force || facts.st_size == 0)
        return true;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        tool_error("%s: %s", path, strerror(errno));
        return false;
    }
    const bool may = tool_may_replace_held(path, descriptor, false);
    close(descriptor);
    return may;
}

static bool directory_facts(const char *path, struct stat *facts)
{
    char *directory = directory_of(path);
    const bool known = stat(directory, facts) == 0;
    free(directory);
    return known;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool tool_same_file(const char *one, const char *other)
{
    struct stat first, second;
    if (strcmp(one, other) == 0)
        return true;
    bool first_there = stat(one, &first) == 0, second_there = stat(other, &second) == 0;
    if (!first_there && !second_there) {
        if (strcmp(last_name(one), last_name(other)) != 0)
            return false;
        first_there = directory_facts(one, &first);
        second_there = directory_facts(other, &second);
    }
    return first_there && second_there && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* ---- Filters to stdout ----------------------------------------------------------------------- */

bool tool_stdout_takes_bytes(void)
{
    if (!isatty(STDOUT_FILENO))
        return true;
    tool_error("stdout is a terminal, and a filter is not text; redirect it or name a file");
    return false;
}

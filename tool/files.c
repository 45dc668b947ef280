/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

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

enum { KEY_TEXT_BYTES = 2 * BLOOMERY_KEY_BYTES + 1 };

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

static bool parse_key(const char *text, uint8_t key[BLOOMERY_KEY_BYTES])
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    for (size_t i = 0; i < BLOOMERY_KEY_BYTES; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        key[i] = (uint8_t)(16 * high + low);
    }
    text += (size_t)2 * BLOOMERY_KEY_BYTES;
    return text[strspn(text, blanks)] == '\0';
}

bool tool_key_read(const char *path, uint8_t key[BLOOMERY_KEY_BYTES])
{
    char text[256] = {0};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        tool_error("%s: %s", path, strerror(errno));
        return false;
    }
    size_t count = fread(text, 1, sizeof(text) - 1, file);
    int reason = ferror(file) ? errno : 0;
    fclose(file);
    if (reason != 0) {
        tool_error("%s: %s", path, strerror(reason));
        return false;
    }
    if (memchr(text, '\0', count) != NULL || !parse_key(text, key)) {
        tool_error("%s: not a key file: it must hold %d hexadecimal digits", path,
                   2 * BLOOMERY_KEY_BYTES);
        return false;
    }
    return true;
}

/* So that the new name survives a power cut; a filter whose key file got lost is lost too. */
static void sync_directory_of(const char *path)
{
    size_t bytes = strlen(path) + 1;
    char *copy = tool_allocate(bytes);
    memcpy(copy, path, bytes);
    int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (directory < 0)
        return;
    fsync(directory);
    close(directory);
}

static bool make_key_file(const char *path, int file, uint8_t key[BLOOMERY_KEY_BYTES])
{
    char text[KEY_TEXT_BYTES + 1];
    bool good = getrandom(key, BLOOMERY_KEY_BYTES, 0) == BLOOMERY_KEY_BYTES;
    for (size_t i = 0; i < BLOOMERY_KEY_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", key[i]);
    text[KEY_TEXT_BYTES - 1] = '\n';
    good = good && write(file, text, KEY_TEXT_BYTES) == KEY_TEXT_BYTES && fsync(file) == 0;
    int reason = errno;
    if (close(file) != 0 && good) {
        reason = errno;
        good = false;
    }
    if (!good) {
        unlink(path);
        tool_error("%s: making the key file: %s", path, strerror(reason));
        return false;
    }
    sync_directory_of(path);
    return true;
}

bool tool_key_read_or_make(const char *path, uint8_t key[BLOOMERY_KEY_BYTES])
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0)
        return make_key_file(path, file, key);
    if (errno == EEXIST)
        return tool_key_read(path, key);
    tool_error("%s: %s", path, strerror(errno));
    return false;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* A rule says how keys are made from records. A version that ignored it would ask for keys that
 * nobody added, and call them absent. */
static bool rule_is_followed(const char *path, const bloomery_filter *filter)
{
    static const char *const names[] = {"trim", "lower",      "upper", "hex",
                                        "crlf", "skip-empty", "csv"};
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, false, &info);
    if (info.rule.flags == 0 && info.rule.field == 0 && info.rule.delimiter == 0)
        return true;

    char text[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (info.rule.flags >> i & 1)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", names[i]);
    if (info.rule.field != 0)
        snprintf(text + used, sizeof(text) - used, " field %d", (int)info.rule.field);
    tool_error("%s: its keys are made by a rule that this version can't follow:%s", path, text);
    return false;
}

bloomery_filter *tool_filter_open(const char *path, uint32_t open_flags, const char *key_file)
{
    uint8_t key[BLOOMERY_KEY_BYTES];
    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;

    options.open_flags = open_flags;
    if (key_file != NULL) {
        if (!tool_key_read(key_file, key))
            return NULL;
        options.key = key;
    }
    if (bloomery_open(path, &options, &filter, &error) != BLOOMERY_OK) {
        tool_library_error(path, &error);
        if (error.status == BLOOMERY_KEY_NEEDED && key_file == NULL)
            tool_say("--key-file FILE gives the key");
        return NULL;
    }
    if (!rule_is_followed(path, filter)) {
        bloomery_free(filter);
        return NULL;
    }
    return filter;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

int tool_filter_lock(const char *path)
{
    while (true) {
        /* O_NONBLOCK: a FIFO given by mistake must not hang here; the library then refuses it. */
        int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (descriptor < 0)
            break;
        int locked;
        do
            locked = flock(descriptor, LOCK_EX);
        while (locked != 0 && errno == EINTR);

        struct stat held, named;
        if (locked != 0 || fstat(descriptor, &held) != 0 || stat(path, &named) != 0) {
            int reason = errno;
            close(descriptor);
            errno = reason;
            break;
        }
        if (held.st_dev == named.st_dev && held.st_ino == named.st_ino)
            return descriptor;
        close(descriptor); /* replaced while we waited: what we locked is an old version */
    }
    tool_error("%s: %s", path, strerror(errno));
    return -1;
}

void tool_filter_unlock(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

/* ---- What may be overwritten ----------------------------------------------------------------- */

bool tool_may_replace(const char *path, bool force)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        if (errno == ENOENT)
            return true; /* the directory is looked at when the file is written */
        tool_error("%s: %s", path, strerror(errno));
        return false;
    }
    if (S_ISDIR(facts.st_mode)) {
        tool_error("%s: is a directory, not a file to write to", path);
        return false;
    }
    if (!S_ISREG(facts.st_mode)) {
        tool_error("%s: is not a regular file; '-o -' writes to stdout", path);
        return false;
    }
    if (force || facts.st_size == 0)
        return true;

    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    options.open_flags = BLOOMERY_OPEN_INSPECT;
    bloomery_status status = bloomery_open(path, &options, &filter, &error);
    bloomery_free(filter);
    switch (status) {
    case BLOOMERY_OK:
    case BLOOMERY_WRONG_VERSION: /* these were recognised as filters before they were refused */
    case BLOOMERY_CORRUPT:
    case BLOOMERY_UNSUPPORTED:
    case BLOOMERY_KEY_NEEDED:
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

/* ---- Filters to stdout ----------------------------------------------------------------------- */

bool tool_stdout_takes_bytes(void)
{
    if (!isatty(STDOUT_FILENO))
        return true;
    tool_error("stdout is a terminal, and a filter is no text; redirect it or name a file");
    return false;
}

static int write_some(void *context, const void *data, size_t bytes)
{
    int *reason = context;
    const char *next = data;
    while (bytes > 0) {
        ssize_t written = write(STDOUT_FILENO, next, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            *reason = errno;
            return -1;
        }
        next += written;
        bytes -= (size_t)written;
    }
    return 0;
}

bool tool_filter_to_stdout(const bloomery_filter *filter)
{
    int reason = 0;
    bloomery_error error;
    if (bloomery_write(filter, write_some, &reason, &error) == BLOOMERY_OK)
        return true;
    if (reason != 0)
        tool_error("writing to stdout: %s", strerror(reason));
    else
        tool_library_error(NULL, &error);
    return false;
}

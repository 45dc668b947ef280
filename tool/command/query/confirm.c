/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary search in a file of lines of any length. The search halves a range of bytes that begins
 * and ends at the border of lines, and compares the line around its middle.
 *
 *     low                      middle               high
 *      |                         |                   |
 *      aardvark\n bee\n caterpillar\n dragonfly\n eel\n ...
 *                       [  the line  ]
 *
 * A step costs the length of a line, and so a search of a file of a billion lines looks at thirty
 * of them.
 *
 * In a file that is not sorted a search goes astray and finds nothing, silently. Two things stand
 * against that, and neither reads the file. When it is opened, neighbours are compared at many
 * places. And each search knows the nearest lines it has seen below and above its key, between
 * which all further lines must lie.
 */
#include "command/query/confirm.h"

#include "base/watched.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tool_confirm {
    const char *path;
    const unsigned char *data; /* NULL: the file is empty */
    size_t bytes;
    unsigned char delimiter;
    atomic_bool unsorted;
};

struct line {
    const unsigned char *at; /* NULL: none yet */
    size_t bytes;
};

/* The order of LC_ALL=C sort. */
static int compare(struct line one, struct line other)
{
    size_t common = one.bytes < other.bytes ? one.bytes : other.bytes;
    int order = common > 0 ? memcmp(one.at, other.at, common) : 0;
    if (order != 0)
        return order;
    return one.bytes < other.bytes ? -1 : one.bytes > other.bytes;
}

/* The line that begins at `start`. */
static struct line line_at(const struct tool_confirm *confirm, size_t start)
{
    assert(start < confirm->bytes);
    const unsigned char *at = confirm->data + start;
    const unsigned char *stop = memchr(at, confirm->delimiter, confirm->bytes - start);
    return (struct line){at, stop != NULL ? (size_t)(stop - at) : confirm->bytes - start};
}

/* The beginning of the line behind this one; the file's end behind its last. */
static size_t behind(const struct tool_confirm *confirm, struct line line)
{
    size_t end = (size_t)(line.at - confirm->data) + line.bytes;
    return end < confirm->bytes ? end + 1 : end;
}

void tool_confirm_warn(const struct tool_confirm *confirm, bool returns_taken)
{
    if (confirm->data == NULL) /* empty */
        return;
    const unsigned char *end = memchr(confirm->data, confirm->delimiter, confirm->bytes);
    if (confirm->bytes >= 3 && memcmp(confirm->data, "\xef\xbb\xbf", 3) == 0)
        tool_warning("%s: begins with a UTF-8 byte order mark, which no key has", confirm->path);
    if (returns_taken && end != NULL && end > confirm->data && end[-1] == '\r')
        tool_warning("%s: its lines end in a carriage return, which keys have lost by --crlf; take "
                     "them off with tr -d '\\r'",
                     confirm->path);
}

bool tool_confirm_has(struct tool_confirm *confirm, bloomery_key key)
{
    const struct line wanted = {key.data, key.bytes};
    struct line below = {NULL, 0}, above = {NULL, 0};
    size_t low = 0, high = confirm->bytes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const unsigned char *before =
            middle > low ? memrchr(confirm->data + low, confirm->delimiter, middle - low) : NULL;
        size_t start = before != NULL ? (size_t)(before - confirm->data) + 1 : low;
        struct line line = line_at(confirm, start);
        if ((below.at != NULL && compare(line, below) < 0) ||
            (above.at != NULL && compare(line, above) > 0)) {
            atomic_store(&confirm->unsorted, true);
            return false;
        }
        int order = compare(wanted, line);
        if (order == 0)
            return true;
        if (order < 0) {
            high = start;
            above = line;
        } else {
            low = behind(confirm, line);
            below = line;
        }
    }
    return false;
}

/* Lines stand where their letters put them, so each case is a search of its own. */
bool tool_confirm_has_hex(struct tool_confirm *confirm, bloomery_key digits)
{
    unsigned char small[256], *room = small;
    const unsigned char *from = digits.data;
    bool found = tool_confirm_has(confirm, digits);
    if (digits.bytes > sizeof(small) && !found)
        room = tool_allocate(digits.bytes);
    for (int upper = 0; upper < 2 && !found; upper++) {
        for (size_t i = 0; i < digits.bytes; i++)
            room[i] = (unsigned char)(from[i] <= '9' ? from[i]
                                      : upper        ? from[i] & ~0x20
                                                     : from[i] | 0x20);
        if (digits.bytes > 0 && memcmp(room, from, digits.bytes) != 0)
            found = tool_confirm_has(confirm, bloomery_key_of(room, digits.bytes));
    }
    if (room != small)
        free(room);
    return found;
}

bool tool_confirm_is_sorted(const struct tool_confirm *confirm)
{
    return !atomic_load(&confirm->unsorted);
}

void tool_confirm_say_unsorted(const struct tool_confirm *confirm)
{
    tool_error("%s: is not sorted by the bytes of its lines; 'LC_ALL=C sort%s' does that",
               confirm->path, confirm->delimiter == '\0' ? " -z" : "");
}

/* ---- Opening --------------------------------------------------------------------------------- */

enum { PLACES = 64, NEIGHBOURS = 64 };

/* Some lines at some places of the file, its beginning first. */
static bool looks_sorted(const struct tool_confirm *confirm)
{
    for (size_t place = 0; place < PLACES; place++) {
        size_t at = confirm->bytes / PLACES * place;
        if (place > 0 && at == 0)
            break;
        if (place > 0)
            at = behind(confirm, line_at(confirm, at));
        for (size_t i = 0; i < NEIGHBOURS && at < confirm->bytes; i++) {
            struct line line = line_at(confirm, at);
            at = behind(confirm, line);
            if (at < confirm->bytes && compare(line, line_at(confirm, at)) > 0)
                return false;
        }
    }
    return true;
}

static bool map_file(struct tool_confirm *confirm, int file)
{
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        tool_error("%s: %s", confirm->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(facts.st_mode)) {
        tool_error("%s: is no regular file; a search needs one", confirm->path);
        return false;
    }
    confirm->bytes = (size_t)facts.st_size;
    if (confirm->bytes == 0)
        return true;
    void *data = mmap(NULL, confirm->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        tool_error("%s: %s", confirm->path, strerror(errno));
        return false;
    }
    madvise(data, confirm->bytes, MADV_RANDOM);
    confirm->data = data;
    tool_watched_add(confirm->path, &facts, data, confirm->bytes);
    return true;
}

static bool is_text(const struct tool_confirm *confirm)
{
    bool undecided;
    if (tool_packing_of(confirm->data, confirm->bytes, &undecided) == TOOL_PLAIN)
        return true;
    tool_error("%s: is packed, or a filter; a search needs the lines themselves", confirm->path);
    return false;
}

struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter)
{
    struct tool_confirm *confirm = tool_allocate(sizeof(*confirm));
    *confirm = (struct tool_confirm){.path = path, .delimiter = delimiter};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        tool_error("%s: %s", path, strerror(errno));
    bool good = file >= 0 && map_file(confirm, file);
    if (file >= 0)
        close(file);
    if (good && confirm->data != NULL) {
        good = is_text(confirm);
        if (good && !looks_sorted(confirm)) {
            tool_confirm_say_unsorted(confirm);
            good = false;
        }
    }
    if (good)
        return confirm;
    tool_confirm_close(confirm);
    return NULL;
}

void tool_confirm_close(struct tool_confirm *confirm)
{
    if (confirm != NULL && confirm->data != NULL) {
        /* munmap takes a pointer to writable memory, and writes nothing. */
        union {
            const unsigned char *data;
            void *memory;
        } map = {.data = confirm->data};
        munmap(map.memory, confirm->bytes);
    }
    free(confirm);
}

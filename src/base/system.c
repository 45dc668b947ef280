/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of memory. A container's limit stands in files of the kernel, one folder for each control
 * group. /proc/self/cgroup has the group of the process, and /proc/self/mountinfo where the groups
 * are mounted. A group is also held to the limits of those above it, as far as they can be seen:
 *
 *     /proc/self/cgroup      0::/pod/web               4:memory:/docker/abc        version 2, and 1
 *     /proc/self/mountinfo   / /sys/fs/cgroup          /docker/abc /sys/fs/cgroup/memory
 *     folders                /sys/fs/cgroup/pod/web    /sys/fs/cgroup/memory
 *                            /sys/fs/cgroup/pod
 *                            /sys/fs/cgroup
 *
 * What a group uses includes the cache of files, which the kernel takes back before it ends anyone.
 *
 * Nothing is allocated here: some callers have just been refused memory.
 */
#include "base/system.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LINE_BYTES = 4096, /* a line that is longer is cut */
    GROUP_BYTES = 1024,
};

/* From here on a number means "no limit": version 1 has no word for it. */
#define UNLIMITED (UINT64_C(1) << 62)

/* ---- Files ----------------------------------------------------------------------------------- */

struct lines {
    int file;
    size_t from, end;
    char text[LINE_BYTES + 1];
};

__attribute__((format(printf, 2, 3))) static bool lines_open(struct lines *lines,
                                                             const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    lines->from = lines->end = 0;
    lines->file =
        length > 0 && (size_t)length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return lines->file >= 0;
}

/* Returns the next line without its end, and closes the file behind the last one: NULL. */
static char *lines_next(struct lines *lines)
{
    while (true) {
        char *line = lines->text + lines->from;
        char *end = memchr(line, '\n', lines->end - lines->from);
        if (end != NULL) {
            *end = '\0';
            lines->from = (size_t)(end - lines->text) + 1;
            return line;
        }
        memmove(lines->text, line, lines->end - lines->from);
        lines->end -= lines->from;
        lines->from = 0;
        if (lines->end == LINE_BYTES) { /* its beginning is a line, and so is the rest */
            lines->text[lines->end - 1] = '\n';
            continue;
        }
        const ssize_t count = read(lines->file, lines->text + lines->end, LINE_BYTES - lines->end);
        if (count <= 0)
            break;
        lines->end += (size_t)count;
    }
    (void)close(lines->file);
    return NULL;
}

/* Reads the one number of a file, a limit or the memory used. Returns UINT64_MAX for "max" or if
 * the file is missing. */
static uint64_t number_in(const char *folder, const char *name)
{
    struct lines lines;
    uint64_t number = UINT64_MAX;
    if (!lines_open(&lines, "%s/%s", folder, name))
        return number;
    for (char *line; (line = lines_next(&lines)) != NULL;)
        if (line[0] >= '0' && line[0] <= '9')
            number = strtoull(line, NULL, 10);
    return number >= UNLIMITED ? UINT64_MAX : number;
}

/* ---- The machine and the process ------------------------------------------------------------- */

static void read_machine(const char *root, bloomery_limits *limits)
{
    static const char total[] = "MemTotal:", left[] = "MemAvailable:";
    struct lines lines;
    if (!lines_open(&lines, "%s/proc/meminfo", root))
        return;
    for (char *line; (line = lines_next(&lines)) != NULL;) {
        if (strncmp(line, total, sizeof total - 1) == 0)
            limits->machine = strtoull(line + sizeof total - 1, NULL, 10) * 1024;
        else if (strncmp(line, left, sizeof left - 1) == 0)
            limits->machine_left = strtoull(line + sizeof left - 1, NULL, 10) * 1024;
    }
}

static void note_process(const struct rlimit *limit, uint64_t used, bloomery_limits *limits)
{
    const uint64_t most = (uint64_t)limit->rlim_cur;
    const uint64_t left = most > used ? most - used : 0;
    if (limit->rlim_cur == RLIM_INFINITY || left >= limits->process_left)
        return;
    limits->process = most;
    limits->process_left = left;
}

/* The limit of addresses, and that of private memory, which holds for maps as well. */
static void read_process(bloomery_limits *limits)
{
    struct rlimit addresses, data;
    struct lines lines;
    uint64_t pages[6] = {0}; /* all, ..., private ones */
    if (getrlimit(RLIMIT_AS, &addresses) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
        (addresses.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) ||
        !lines_open(&lines, "/proc/self/statm"))
        return;
    for (char *line; (line = lines_next(&lines)) != NULL;)
        for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
            pages[i] = strtoull(line, &line, 10);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    note_process(&addresses, pages[0] * page, limits);
    note_process(&data, pages[5] * page, limits);
}

/* ---- Containers ------------------------------------------------------------------------------ */

uint64_t bloomery_limits_spare(uint64_t limit, uint64_t left)
{
    return left > limit / 16 ? left - limit / 16 : 0;
}

/* Bytes of files in the cache: `prefix` is that of the lines that count what is below, too. */
static uint64_t cache_of(const char *folder, const char *prefix)
{
    struct lines lines;
    uint64_t bytes = 0;
    const size_t length = strlen(prefix);
    if (!lines_open(&lines, "%s/memory.stat", folder))
        return 0;
    for (char *line; (line = lines_next(&lines)) != NULL;)
        if (strncmp(line, prefix, length) == 0 &&
            (strncmp(line + length, "inactive_file ", 14) == 0 ||
             strncmp(line + length, "active_file ", 12) == 0))
            bytes += strtoull(strchr(line, ' '), NULL, 10);
    return bytes;
}

/* In version 1 a group may hide the groups above it, whose least limit is here. */
static uint64_t limit_above(const char *folder)
{
    static const char name[] = "hierarchical_memory_limit ";
    struct lines lines;
    uint64_t bytes = UINT64_MAX;
    if (!lines_open(&lines, "%s/memory.stat", folder))
        return bytes;
    for (char *line; (line = lines_next(&lines)) != NULL;)
        if (strncmp(line, name, sizeof name - 1) == 0)
            bytes = strtoull(line + sizeof name - 1, NULL, 10);
    return bytes >= UNLIMITED ? UINT64_MAX : bytes;
}

static uint64_t lesser(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Notes the limit of one group if it leaves less than those before. From `memory.high` on a process
 * is slowed down until it stands nearly still. */
static void note_group(const char *folder, bool second, bloomery_limits *limits)
{
    const uint64_t limit =
        second ? lesser(number_in(folder, "memory.max"), number_in(folder, "memory.high"))
               : lesser(number_in(folder, "memory.limit_in_bytes"), limit_above(folder));
    if (limit == UINT64_MAX)
        return;
    uint64_t used = number_in(folder, second ? "memory.current" : "memory.usage_in_bytes");
    const uint64_t cache = cache_of(folder, second ? "" : "total_");
    used = used == UINT64_MAX ? 0 : used > cache ? used - cache : 0;
    const uint64_t left = limit > used ? limit - used : 0;
    if (limits->container != UINT64_MAX &&
        bloomery_limits_spare(limit, left) >=
            bloomery_limits_spare(limits->container, limits->container_left))
        return;
    limits->container = limit;
    limits->container_left = left;
}

/* Whether `word` is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (; list != NULL; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* The groups of the process that may have limits: "" where there is none. */
static void find_groups(const char *root, char first[GROUP_BYTES], char second[GROUP_BYTES])
{
    struct lines lines;
    first[0] = second[0] = '\0';
    if (!lines_open(&lines, "%s/proc/self/cgroup", root))
        return;
    for (char *line; (line = lines_next(&lines)) != NULL;) {
        char *list = strchr(line, ':');
        char *group = list != NULL ? strchr(list + 1, ':') : NULL;
        if (group == NULL || strlen(group + 1) >= GROUP_BYTES)
            continue;
        *group++ = '\0';
        if (has_word(list + 1, "memory"))
            memcpy(first, group, strlen(group) + 1);
        else if (list[1] == '\0')
            memcpy(second, group, strlen(group) + 1);
    }
}

/* Spaces and the like in a path of mountinfo are written as octal numbers. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++, to++) {
        *to = *from;
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 3;
        }
    }
    *to = '\0';
}

/* The part of a group's path below the group that is mounted; NULL: it is elsewhere. */
static const char *below(const char *group, const char *mounted)
{
    const size_t length = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    if (strncmp(group, mounted, length) != 0 || (group[length] != '/' && group[length] != '\0'))
        return NULL;
    return strcmp(group + length, "/") == 0 ? "" : group + length;
}

/* Cuts a line of mountinfo: what is mounted, where, and whether it has groups of this version. */
static bool is_mount_of(char *line, bool second, char **mounted, char **at)
{
    char *type = strstr(line, " - "), *rest = NULL;
    if (type == NULL)
        return false;
    *type = '\0';
    type = strtok_r(type + 3, " ", &rest);
    if (type == NULL || strcmp(type, second ? "cgroup2" : "cgroup") != 0)
        return false;
    (void)strtok_r(NULL, " ", &rest);
    const char *const words = strtok_r(NULL, " ", &rest);
    if (!second && (words == NULL || !has_word(words, "memory")))
        return false;
    *mounted = *at = NULL;
    char *word = strtok_r(line, " ", &rest);
    for (int i = 0; word != NULL && i < 5; i++, word = strtok_r(NULL, " ", &rest)) {
        *mounted = i == 3 ? word : *mounted;
        *at = i == 4 ? word : *at;
    }
    if (*at == NULL)
        return false;
    unescape(*mounted);
    unescape(*at);
    return true;
}

/* Finds the folder of a group, and how much of its path is where the groups are mounted. If the
 * mount does not have the group, it shows that of the container. */
static bool find_folder(const char *root, const char *group, bool second, char folder[PATH_MAX],
                        size_t *base)
{
    struct lines lines;
    bool found = false, is_whole = false;
    char *mounted, *at;
    if (group[0] == '\0' || !lines_open(&lines, "%s/proc/self/mountinfo", root))
        return false;
    for (char *line; (line = lines_next(&lines)) != NULL;) {
        if (is_whole || !is_mount_of(line, second, &mounted, &at))
            continue;
        const char *rest = below(group, mounted);
        if (found && rest == NULL)
            continue;
        const int length = snprintf(folder, PATH_MAX, "%s%s%s", root, at, rest != NULL ? rest : "");
        if (length <= 0 || length >= PATH_MAX)
            continue;
        found = true;
        is_whole = rest != NULL;
        *base = strlen(root) + strlen(at);
    }
    return found;
}

/* From the group of the process up to the one that is mounted. */
static void read_groups(const char *root, const char *group, bool second, bloomery_limits *limits)
{
    char folder[PATH_MAX];
    size_t base;
    if (!find_folder(root, group, second, folder, &base))
        return;
    while (true) {
        note_group(folder, second, limits);
        char *last = strrchr(folder, '/');
        if (last == NULL || (size_t)(last - folder) < base)
            return;
        *last = '\0';
    }
}

static void read_containers(const char *root, bloomery_limits *limits)
{
    char first[GROUP_BYTES], second[GROUP_BYTES];
    find_groups(root, first, second);
    read_groups(root, first, false, limits);
    read_groups(root, second, true, limits);
}

/* ---- All limits ------------------------------------------------------------------------------ */

static void clear(bloomery_limits *limits)
{
    limits->machine = limits->machine_left = UINT64_MAX;
    limits->container = limits->container_left = UINT64_MAX;
    limits->process = limits->process_left = UINT64_MAX;
}

const char *bloomery_limits_root(void)
{
#ifdef BLOOMERY_LIMITS_SWITCH
    const char *root = getenv("BLOOMERY_LIMITS_ROOT");
    if (root != NULL)
        return root;
#endif
    return "";
}

void bloomery_limits_read(const char *root, bloomery_limits *limits)
{
    clear(limits);
    read_machine(root, limits);
    read_containers(root, limits);
    read_process(limits);
}

uint64_t bloomery_limits_container(void)
{
    bloomery_limits limits;
    clear(&limits);
    read_containers(bloomery_limits_root(), &limits);
    return limits.container == UINT64_MAX
               ? UINT64_MAX
               : bloomery_limits_spare(limits.container, limits.container_left);
}

/* ---- Memory by the page ---------------------------------------------------------------------- */

/*
 * Large blocks of memory from the kernel. They arrive as zero pages that cost nothing until they
 * are touched, so an empty 100 GB filter is made in microseconds.
 *
 * From 2 MiB on they begin at a multiple of 2 MiB, and the kernel is advised to use huge pages.
 * Every key touches a cache line somewhere else, and with pages of 4 KiB it also waits for the
 * translation of the address. Only whole huge pages are used, and the rest stays on small ones. So
 * no memory is taken beyond what was requested:
 *
 *     |<- aligned, 2 MiB ->|<---- 2 MiB ---->|<- rest, 4 KiB pages ->|
 *     ^ block
 *
 * A kernel without huge pages ignores the wish.
 */

size_t bloomery_pages_from(void)
{
    return (size_t)1 << 20;
}

void *bloomery_pages(size_t bytes, int rights)
{
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX - 2 * BLOOMERY_HUGE_PAGE || unit > BLOOMERY_HUGE_PAGE)
        return NULL;
    /* More than enough is taken, and what is too much given back. */
    const size_t whole = (bytes + unit - 1) / unit * unit;
    const size_t taken = whole + BLOOMERY_HUGE_PAGE - unit;
    uint8_t *first = mmap(NULL, taken, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        return NULL;
    const size_t before = (size_t)(-(uintptr_t)first % BLOOMERY_HUGE_PAGE);
    assert(before + whole <= taken);
    if (before > 0)
        munmap(first, before);
    if (taken > before + whole)
        munmap(first + before + whole, taken - before - whole);
    return first + before;
}

void bloomery_pages_wish(void *memory, size_t bytes, bool huge)
{
#if defined(MADV_HUGEPAGE)
    (void)madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else /* other systems join pages by themselves */
    (void)memory;
    (void)bytes;
    (void)huge;
#endif
}

/* Of the 65530 mappings that a process may have. */
enum { HIDDEN_MAX = 8192 };

void bloomery_pages_hide(const void *memory, size_t bytes)
{
#if defined(MADV_DONTDUMP)
    static unsigned hidden;
    const uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)memory / unit * unit;
    if (__atomic_load_n(&hidden, __ATOMIC_RELAXED) >= HIDDEN_MAX)
        return;
    __atomic_fetch_add(&hidden, 1, __ATOMIC_RELAXED);
    (void)madvise((void *)begin, (uintptr_t)memory + bytes - begin, MADV_DONTDUMP);
#else
    (void)memory;
    (void)bytes;
#endif
}

void *bloomery_pages_take(size_t bytes, bool huge)
{
    void *memory = NULL;
    if (bytes >= BLOOMERY_HUGE_PAGE)
        memory = bloomery_pages(bytes, PROT_READ | PROT_WRITE);
    if (memory != NULL) {
        bloomery_pages_wish(memory, bytes, huge);
        return memory;
    } /* else there may still be address space for the block itself, unaligned */
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bloomery_pages_give(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

/* Since Linux 5.14; the headers may be older. */
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

enum { STEP = 4 << 20 }; /* bytes that are touched, or not, together */

/* Lets the kernel fault in these pages. Returns whether it did; `no_memory` says whether it has
 * none. Any other failure, such as memory of a device or a kernel without the call, is not one: the
 * caller then touches the pages one by one. */
static bool populate(void *memory, size_t bytes, bool *no_memory)
{
    *no_memory = false;
#if defined(MADV_POPULATE_WRITE)
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    *no_memory = errno == ENOMEM || errno == EAGAIN || errno == EHWPOISON;
#else
    (void)memory;
    (void)bytes;
#endif
    return false;
}

size_t bloomery_pages_touch(uint8_t *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes;) {
        const size_t now = bytes - at < STEP ? bytes - at : STEP;
        const size_t before = (uintptr_t)(memory + at) % page; /* madvise takes whole pages */
        bool no_memory;
        if (!populate(memory + at - before, before + now, &no_memory)) {
            if (no_memory)
                return at;
            bloomery_pages_touch_each(memory + at, now, page);
        }
        at += now;
    }
    return bytes;
}

/* ---- Random bytes ---------------------------------------------------------------------------- */

bool bloomery_random(void *to, size_t bytes)
{
    assert(bytes <= 256); /* as many come whole */
#if defined(__APPLE__)
    return getentropy(to, bytes) == 0; /* it does not have getrandom */
#else
    return getrandom(to, bytes, 0) == (ssize_t)bytes;
#endif
}

/* ---- What an errno means --------------------------------------------------------------------- */

/* strerror_r has two forms. GNU's returns the text, which may lie outside the room. That of POSIX,
 * which musl and the BSDs have, fills the room and returns a number. */
static const char *reason_returned(const char *text, const char *room)
{
    (void)room;
    return text;
}

static const char *reason_in_room(int failed, const char *room)
{
    (void)failed; /* the room then has "Unknown error", or what fitted */
    return room;
}

const char *bloomery_reason(int error_number, char *room, size_t bytes)
{
    assert(bytes > 0);
    room[0] = '\0';
    return _Generic(strerror_r(error_number, room, bytes), int
                    : reason_in_room, default
                    : reason_returned)(strerror_r(error_number, room, bytes), room);
}

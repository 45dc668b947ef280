/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore: the web page that shows filters, with a file in it. explorer_page.c says where the page
 * is. A copy of it has one element for the file, empty in the page, which is found by its text. Its
 * place in the copy takes
 *
 *     <script type="application/octet-stream" id="given-file" data-name="NAME">BASE64</script>
 */
#include "base/options.h"
#include "base/out.h"
#include "base/system.h"
#include "command/explore/explorer_page.h"
#include "filter/files.h"
#include "filter/text_output.h"
#include "input/input.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The command line ------------------------------------------------------------------------ */

/* The largest file that goes into a copy. Base64 makes 85 MiB of it, all of which a browser has to
 * take in as text. A file that is dropped on the page is read as bytes, and may be larger. */
#define FILE_MAX  ((size_t)64 << 20)
#define FILE_SAID "64 MiB"

struct wish {
    const char *page; /* NULL: the installed one */
    bool print;
    bool force;
    struct tool_text_output output;
};

static const struct tool_option options[] = {
    {0, "print", NULL, TOOL_FLAG(struct wish, print),
     .help = "print the path of the page and do not open it. This is the default without a "
             "display or xdg-open"},
    {'o', "output", "OUT", TOOL_TEXT(struct wish, output.path),
     .help = "write the copy to OUT ('-': standard output) and do not open it",
     .more = "The copy is written completely or not at all, with the usual mode of a new file."},
    {0, "force", NULL, TOOL_FLAG(struct wish, force), .help = "let -o replace a file"},
    {0, "page", "PAGE", TOOL_TEXT(struct wish, page),
     .help = "use PAGE instead of the installed page"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};

static bool fits_together(const struct wish *wish, const char *path)
{
    const char *excess = NULL;
    if (wish->output.path != NULL && path == NULL)
        excess = "-o names a file for the copy of the page that has FILE in it: name a FILE";
    else if (wish->output.path != NULL && wish->print)
        excess = "--print is for a copy in the temporary directory, and -o names another place";
    else if (wish->output.path == NULL && wish->force)
        excess = "--force lets -o replace a file; give -o too";
    return excess == NULL || !tool_usage("%s", excess);
}

/* -o */
static bool may_write(const struct wish *wish, const char *page, const char *path)
{
    if (!tool_text_output_is_file(&wish->output))
        return true;
    const bool is_input = !tool_path_is_stdin(path) && tool_same_file(wish->output.path, path);
    if (is_input || tool_same_file(wish->output.path, page)) {
        tool_error("%s: is %s; the copy needs another name", wish->output.path,
                   is_input ? "the file to show" : "the page itself");
        return false;
    }
    return wish->force || tool_text_output_is_new(&wish->output);
}

/* ---- A page and a file ----------------------------------------------------------------------- */

struct copy {
    const char *name; /* of the file, without its folder */
    unsigned char *file;
    size_t file_bytes;
    char *page;
    size_t page_bytes;
    size_t before; /* bytes of the page before the element */
};

/* The element, around the name. */
static const char opening[] =
    "<script type=\"application/octet-stream\" id=\"given-file\" data-name=\"";
static const char middle[] = "\">";
static const char closing[] = "</script>";
static const char element[] =
    "<script type=\"application/octet-stream\" id=\"given-file\" data-name=\"\"></script>";

enum { ELEMENT_BYTES = sizeof(element) - 1 };

/* A page is about 350 KB. */
#define PAGE_MAX ((size_t)16 << 20)

/* All bytes of a descriptor, or max + 1 of them if there are more. 0 or an errno. */
static int read_all(int file, size_t max, unsigned char **data, size_t *bytes)
{
    struct stat facts;
    size_t room = 64 << 10;
    if (fstat(file, &facts) != 0)
        return errno;
    if (S_ISDIR(facts.st_mode))
        return EISDIR;
    if (S_ISREG(facts.st_mode) && (uint64_t)facts.st_size > max) {
        *bytes = max + 1;
        return 0;
    }
    if (S_ISREG(facts.st_mode))
        room = (size_t)facts.st_size + 1;
    *data = tool_allocate(room);
    while (*bytes <= max) {
        if (*bytes == room) {
            room = room * 2 <= max ? room * 2 : max + 1;
            *data = tool_reallocate(*data, room);
        }
        const ssize_t count = read(file, *data + *bytes, room - *bytes);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count == 0)
            return 0;
        *bytes += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static bool read_file(struct copy *copy, const char *path)
{
    const bool is_stdin = tool_path_is_stdin(path);
    const char *said = tool_path_said(path);
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a FIFO does not block */
    const int file = is_stdin ? STDIN_FILENO : open(path, flags);
    struct stat facts;
    if (!is_stdin &&
        (file < 0 ? errno == ENXIO : fstat(file, &facts) == 0 && S_ISFIFO(facts.st_mode))) {
        if (file >= 0)
            close(file);
        return tool_filter_refuse(path);
    }
    const int reason = file < 0 ? errno : read_all(file, FILE_MAX, &copy->file, &copy->file_bytes);
    if (file >= 0 && !is_stdin)
        close(file);
    if (is_stdin && tool_standard_input_is_closed())
        tool_error("%s: %s", said, TOOL_STDIN_CLOSED);
    else if (reason == EISDIR)
        tool_error("%s: is a directory", said);
    else if (reason != 0)
        tool_error("%s: %s", said, strerror(reason));
    else if (copy->file_bytes > FILE_MAX)
        tool_error("%s: is larger than " FILE_SAID
                   ", which is what a copy of the page takes: 'bloomery inspect %s' describes it, "
                   "and the page itself opens larger files that are dropped there",
                   said, is_stdin ? "FILE" : path);
    else if (copy->file_bytes == 0)
        tool_error("%s: the file is empty", said);
    else
        return true;
    return false;
}

/* The page has the element once. Twice, and nobody could say which one is read. */
static bool find_element(struct copy *copy, const char *path)
{
    const char *page = copy->page;
    assert(page != NULL);
    const char *found = memmem(page, copy->page_bytes, element, ELEMENT_BYTES);
    if (found == NULL) {
        tool_error("%s: is not the explorer, or is of another version: "
                   "it does not have a place for a file",
                   path);
        return false;
    }
    copy->before = (size_t)(found - page);
    const size_t after = copy->before + ELEMENT_BYTES;
    if (memmem(page + after, copy->page_bytes - after, element, ELEMENT_BYTES) == NULL)
        return true;
    tool_error("%s: is not the explorer as it was built: it has two places for a file", path);
    return false;
}

static bool read_page(struct copy *copy, const char *path)
{
    const char *why = NULL;
    const int file = tool_open_regular(path, &why);
    unsigned char *data = NULL;
    const int reason = file < 0 ? 0 : read_all(file, PAGE_MAX, &data, &copy->page_bytes);
    copy->page = (char *)data;
    if (file >= 0)
        close(file);
    if (file < 0 || reason != 0)
        tool_error("%s: %s", path, file < 0 ? why : strerror(reason));
    else if (copy->page_bytes > PAGE_MAX)
        tool_error("%s: is not the explorer: it is larger than 16 MiB", path);
    else
        return find_element(copy, path);
    return false;
}

/* Reads the page, and the file ("-": stdin), whatever is in it. False after a message. In either
 * case free_copy frees what there is. */
static bool read_copy(struct copy *copy, const char *page, const char *path)
{
    const char *slash = strrchr(path, '/');
    *copy = (struct copy){.name = slash == NULL ? path : slash + 1};
    if (tool_path_is_stdin(path))
        copy->name = tool_path_said(path);
    return read_page(copy, page) && read_file(copy, path);
}

static void free_copy(struct copy *copy)
{
    free(copy->file);
    free(copy->page);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Returns the bytes of the first character of a text, which is not empty. 0 if it is not UTF-8, or
 * is a control character. */
static size_t character_bytes(const unsigned char *text)
{
    const unsigned char first = text[0], second = text[1];
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || (first == 0xc2 && second < 0xa0) ||
        (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80) /* of the NUL at the end, too */
            return 0;
    return bytes;
}

/* As the value of an attribute. A name may hold any byte but / and NUL, and a file may have been
 * named by somebody else: what it says must stay a name. */
static void put_name(struct tool_out *out, const char *name)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    const unsigned char *text = (const unsigned char *)name;
    while (*text != '\0') {
        const size_t bytes = character_bytes(text);
        if (bytes == 0)
            tool_out_text(out, "\xef\xbf\xbd"); /* U+FFFD */
        else if (*text < sizeof(entities) / sizeof(entities[0]) && entities[*text] != NULL)
            tool_out_text(out, entities[*text]);
        else
            tool_out_bytes(out, text, bytes);
        text += bytes + (bytes == 0);
    }
}

static void put_base64(struct tool_out *out, const unsigned char *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/";
    for (size_t at = 0; at < bytes; at += 3) {
        const size_t count = bytes - at < 3 ? bytes - at : 3;
        const uint32_t second = count > 1 ? data[at + 1] : 0, third = count > 2 ? data[at + 2] : 0;
        const uint32_t all = (uint32_t)data[at] << 16 | second << 8 | third;
        unsigned char *to = tool_out_room(out, 4);
        to[0] = (unsigned char)digits[all >> 18];
        to[1] = (unsigned char)digits[all >> 12 & 63];
        to[2] = (unsigned char)(count > 1 ? digits[all >> 6 & 63] : '=');
        to[3] = (unsigned char)(count > 2 ? digits[all & 63] : '=');
        tool_out_take(out, 4);
    }
}

static void put_copy(const struct copy *copy, struct tool_out *out)
{
    const size_t after = copy->before + ELEMENT_BYTES;
    tool_out_bytes(out, copy->page, copy->before);
    tool_out_text(out, opening);
    put_name(out, copy->name);
    tool_out_text(out, middle);
    put_base64(out, copy->file, copy->file_bytes);
    tool_out_text(out, closing);
    tool_out_bytes(out, copy->page + after, copy->page_bytes - after);
}

/* ---- The temporary file ---------------------------------------------------------------------- */

/* A new file, whose name nobody can know before; a signal removes it from now on. -1 after a
 * message. */
static int make_file(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    uint64_t number = 0;
    const char *named = getenv("TMPDIR");
    if (named == NULL || named[0] == '\0')
        named = "/tmp";
    /* Whole, since the browser starts elsewhere. */
    int reason = realpath(named, folder) == NULL ? errno : 0;
    if (reason == 0 && getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        reason = errno;
    if (reason == 0 &&
        snprintf(path, PATH_MAX, "%s/bloomery-explore-%016llx.html",
                 strcmp(folder, "/") == 0 ? "" : folder, (unsigned long long)number) >= PATH_MAX)
        reason = ENAMETOOLONG;
    if (reason != 0) {
        tool_error("%s: %s", named, strerror(reason));
        return -1;
    }
    tool_interrupt_remove_too(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        tool_error("%s: %s", path, strerror(errno));
        tool_interrupt_remove_too(NULL);
        return -1;
    }
    (void)!fchmod(file, S_IRUSR | S_IWUSR); /* umask may have taken too much for a browser */
    return file;
}

/* Writes the copy to a new file in TMPDIR, or else /tmp, that nobody else may read. False after a
 * message; then nothing is left on disk. */
static bool keep_copy(const struct copy *copy, char path[PATH_MAX])
{
    struct tool_out out;
    const int file = make_file(path);
    if (file < 0)
        return false;
    tool_out_start(&out);
    tool_out_redirect(&out, file, path);
    put_copy(copy, &out);
    int code = tool_out_finish(&out, TOOL_FOUND);
    /* Some file systems find only now that they are full. */
    if (close(file) != 0 && code == TOOL_FOUND) {
        tool_error("%s: %s", path, strerror(errno));
        code = TOOL_ERROR;
    }
    if (code == TOOL_ERROR)
        unlink(path);
    tool_interrupt_remove_too(NULL);
    return code == TOOL_FOUND;
}

/* ---- The browser ----------------------------------------------------------------------------- */

/* Starts the desktop's opener. Its messages are not data, so its stdout is our stderr. Returns
 * 0 or an errno. */
static int start_opener(const char *path, pid_t *process)
{
    static char opener[] = "xdg-open";
    char copy[PATH_MAX];
    char *arguments[] = {opener, copy, NULL};
    posix_spawn_file_actions_t actions;
    snprintf(copy, sizeof(copy), "%s", path);
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0)
        return reason;
    reason = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawnp(process, opener, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

/* NULL, or why the page is not open. `why` has room for the sentence. */
static const char *open_page(const char *path, char *why, size_t room)
{
    pid_t process = 0;
    int status = 0;
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if ((x11 == NULL || x11[0] == '\0') && (wayland == NULL || wayland[0] == '\0'))
        return "no display was found (DISPLAY, WAYLAND_DISPLAY)";
    const int reason = start_opener(path, &process);
    if (reason == ENOENT)
        return "xdg-open is not installed";
    if (reason != 0) {
        snprintf(why, room, "xdg-open: %s", strerror(reason));
        return why;
    }
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) /* somebody ignores SIGCHLD: how it ended is not known */
            return NULL;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NULL;
    if (WIFEXITED(status))
        snprintf(why, room, "xdg-open failed with exit code %d", WEXITSTATUS(status));
    else
        snprintf(why, room, "xdg-open was ended by signal %d", WTERMSIG(status));
    return why;
}

/* Opens a page with the desktop's opener. Without a desktop, after a failure, or with `print`, it
 * prints the path on stdout. Returns the exit code. */
static int show_page(const char *path, bool print)
{
    char room[128];
    struct tool_out out;
    const char *why = print ? NULL : open_page(path, room, sizeof(room));
    if (!print && why == NULL)
        return TOOL_FOUND;
    if (why != NULL)
        tool_notice("%s; nothing is lost: the page is the file that stdout names", why);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n", path);
    return tool_out_finish(&out, TOOL_FOUND);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int explore_file(struct wish *wish, const char *page, const char *path)
{
    char kept[PATH_MAX];
    struct copy copy;
    struct tool_out out;
    int code = TOOL_ERROR;
    if (wish->output.path != NULL && !may_write(wish, page, path))
        return TOOL_ERROR;
    const bool read = read_copy(&copy, page, path);
    if (read && wish->output.path != NULL) {
        tool_out_start(&out);
        if (tool_text_output_begin(&wish->output, &out)) {
            put_copy(&copy, &out);
            code = tool_text_output_finish(&wish->output, &out, TOOL_FOUND);
        }
    } else if (read && keep_copy(&copy, kept))
        code = show_page(kept, wish->print);
    free_copy(&copy);
    return code;
}

static int explore_main(int argc, char **argv)
{
    char page[PATH_MAX];
    struct wish wish = {.page = NULL};
    int code;
    if (!tool_options_read(argc, argv, &wish, &code))
        return code;
    if (argc - optind > 1)
        return tool_usage("'%s': explore takes one file", argv[optind + 1]);
    const char *path = optind < argc ? argv[optind] : NULL;
    if (!fits_together(&wish, path) || !tool_explorer_find(wish.page, page))
        return TOOL_ERROR;
    return path == NULL ? show_page(page, wish.print) : explore_file(&wish, page, path);
}

const struct tool_command cmd_explore = {
    .name = "explore",
    .run = explore_main,
    .summary = "show a filter in the browser, and a calculator",
    .synopsis = "bloomery explore [FILE] [--print] [--page PAGE]\n"
                "bloomery explore FILE -o OUT [--force] [--page PAGE]",
    .introduction =
        "Opens the explorer in the browser. It is a page in a single file that shows "
        "filters and has a calculator; it uses no network. With FILE ('-': standard "
        "input), it opens a copy of the page that contains the file. The copy is a new "
        "file in TMPDIR (default /tmp) that only you can read. It is not deleted.\n"
        "\n"
        "FILE may be a filter of Bloomery or of another system: the page detects which. "
        "It may be up to " FILE_SAID
        ". Drop larger files on the page itself, or use 'bloomery inspect FILE'.",
    .groups = groups,
    .epilogue = "If a keyed filter's file contains its secret, so does the copy.\n"
                "\n"
                "  bloomery explore\n"
                "  bloomery explore ids.bloom\n"
                "  bloomery explore ids.bloom -o ids.html",
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "command/explore/explorer_copy.h"

#include "base/system.h"
#include "filter/files.h"
#include "input/input.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- Reading --------------------------------------------------------------------------------- */

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

static bool read_file(struct tool_explorer_copy *copy, const char *path)
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
    const int reason =
        file < 0 ? errno : read_all(file, TOOL_EXPLORER_FILE_MAX, &copy->file, &copy->file_bytes);
    if (file >= 0 && !is_stdin)
        close(file);
    if (is_stdin && tool_standard_input_is_closed())
        tool_error("%s: %s", said, TOOL_STDIN_CLOSED);
    else if (reason == EISDIR)
        tool_error("%s: is a directory", said);
    else if (reason != 0)
        tool_error("%s: %s", said, strerror(reason));
    else if (copy->file_bytes > TOOL_EXPLORER_FILE_MAX)
        tool_error("%s: is larger than " TOOL_EXPLORER_FILE_SAID
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
static bool find_element(struct tool_explorer_copy *copy, const char *path)
{
    const char *page = copy->page;
    assert(page != NULL);
    const char *found = memmem(page, copy->page_bytes, element, ELEMENT_BYTES);
    if (found == NULL) {
        tool_error("%s: is not the explorer, or of another version: it has no place for a file",
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

static bool read_page(struct tool_explorer_copy *copy, const char *path)
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

bool tool_explorer_copy_begin(struct tool_explorer_copy *copy, const char *page, const char *path)
{
    const char *slash = strrchr(path, '/');
    *copy = (struct tool_explorer_copy){.name = slash == NULL ? path : slash + 1};
    if (tool_path_is_stdin(path))
        copy->name = tool_path_said(path);
    return read_page(copy, page) && read_file(copy, path);
}

void tool_explorer_copy_end(struct tool_explorer_copy *copy)
{
    free(copy->file);
    free(copy->page);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The bytes of the character that a text begins with, which is not empty. 0 if it is no UTF-8, or a
 * control character. */
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

void tool_explorer_copy_write(const struct tool_explorer_copy *copy, struct tool_out *out)
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

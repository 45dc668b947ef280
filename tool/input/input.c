/* SPDX-License-Identifier: Apache-2.0 */
#include "input/input.h"

#include "base/numbers.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Sources --------------------------------------------------------------------------------- */

bool tool_path_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *tool_path_said(const char *path)
{
    return tool_path_is_stdin(path) ? "standard input" : path;
}

const char *tool_source_path(const struct tool_source *source, size_t index)
{
    return source->count == 0 ? "-" : source->paths[index];
}

size_t tool_source_count(const struct tool_source *source)
{
    return source->count == 0 ? 1 : source->count;
}

uint64_t tool_source_bytes(const struct tool_source *source)
{
    uint64_t total = 0;
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        if (tool_path_is_stdin(source->paths[i]) || stat(source->paths[i], &facts) != 0 ||
            !S_ISREG(facts.st_mode))
            return 0;
        total += (uint64_t)facts.st_size;
    }
    return total;
}

static bool readable_twice(const char *path)
{
    struct stat facts;
    if (tool_path_is_stdin(path))
        return false;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode);
}

bool tool_source_readable_twice(const struct tool_source *source, const char **culprit)
{
    for (size_t i = 0; i < tool_source_count(source); i++) {
        *culprit = tool_source_path(source, i);
        if (!readable_twice(*culprit))
            return false;
    }
    return true;
}

bool tool_option_max_line(const char *text, size_t *bytes)
{
    uint64_t size;
    if (!tool_option_size("--max-line", text, &size))
        return false;
    *bytes = (size_t)size;
    return true;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

void tool_input_start(struct tool_input *input, const struct tool_source *source, int wake)
{
    *input = (struct tool_input){.source = source,
                                 .stream = {.descriptor = -1,
                                            .wake = wake,
                                            .idle = source->idle,
                                            .idle_context = source->idle_context,
                                            .idle_milliseconds = source->idle_milliseconds}};
}

void tool_input_close(struct tool_input *input)
{
    if (input->unpack != NULL)
        tool_unpack_close(input->unpack);
    input->unpack = NULL;
    if (input->stream.descriptor > STDIN_FILENO)
        close(input->stream.descriptor);
    input->stream.descriptor = -1;
    input->name = NULL;
}

/* Reads the first bytes and looks whether they are compressed. */
static enum tool_opened recognise(struct tool_input *input, unsigned char *buffer, size_t room,
                                  size_t *count)
{
    enum tool_packing packing = TOOL_PLAIN;
    bool undecided = true;
    assert(room >= TOOL_INPUT_LEAST_ROOM);
    if (room > TOOL_UNPACK_HEAD_MAX)
        room = TOOL_UNPACK_HEAD_MAX;
    while (undecided && !input->ended) {
        assert(*count < room);
        ssize_t more = tool_stream_read(&input->stream, buffer + *count, room - *count);
        if (more < 0) {
            input->error = strerror(errno);
            return TOOL_OPEN_FAILED;
        }
        input->ended = more == 0;
        *count += (size_t)more;
        packing = tool_packing_of(buffer, *count, &undecided);
    }
    if (packing == TOOL_PLAIN)
        return TOOL_OPENED;
    if (packing == TOOL_BZIP2 || packing == TOOL_FILTER) {
        input->error = packing == TOOL_FILTER
                           ? "is a filter, not a list of keys"
                           : "is compressed with bzip2, which is not unpacked; use bzcat";
        return TOOL_OPEN_FAILED;
    }
    input->unpack =
        tool_unpack_open(&input->stream, packing, buffer, *count, input->source->delimiter);
    *count = 0;
    input->ended = false;
    return TOOL_OPENED;
}

enum tool_opened tool_input_open_next(struct tool_input *input, unsigned char *buffer, size_t room,
                                      size_t *count)
{
    assert(input->name == NULL);
    *count = 0;
    if (input->next == tool_source_count(input->source))
        return TOOL_OPENED_ALL;
    input->name = tool_source_path(input->source, input->next++);
    input->ended = false;
    input->error = NULL;
    int descriptor = STDIN_FILENO;
    if (!tool_path_is_stdin(input->name))
        descriptor = open(input->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    else if (isatty(STDIN_FILENO))
        tool_say("bloomery: reading keys from the terminal, one per line; end with Ctrl-D");
    input->stream.descriptor = descriptor;

    struct stat facts;
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
        input->error = strerror(errno);
        return TOOL_OPEN_FAILED;
    }
    input->stream.may_wait = !S_ISREG(facts.st_mode);
    input->stream.is_pipe = S_ISFIFO(facts.st_mode);
    if (S_ISDIR(facts.st_mode)) {
        input->error = "is a directory, not a file of keys";
        return TOOL_OPEN_FAILED;
    }
    return recognise(input, buffer, room, count);
}

ssize_t tool_input_read(struct tool_input *input, unsigned char *buffer, size_t room)
{
    assert(input->name != NULL && room > 0);
    if (input->ended)
        return 0;
    ssize_t count = input->unpack != NULL ? tool_unpack_read(input->unpack, buffer, room)
                                          : tool_stream_read(&input->stream, buffer, room);
    input->ended = count == 0;
    if (count >= 0)
        return count;
    if (input->unpack != NULL)
        input->error = tool_unpack_error(input->unpack);
    else
        input->error = strerror(errno);
    return -1;
}

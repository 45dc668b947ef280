/* SPDX-License-Identifier: Apache-2.0 */
/* sieve import: what other programs have seen. Lists of lines are those of sieve_push.c; which of
 * the files are none is found out here. */
#include "base/progress.h"
#include "command/sieve/sieve_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char import_help[] =
    "bloomery sieve import [OPTION...] DIR FILE...\n"
    "\n"
    "Marks what another program has seen as seen here, without queueing it. A FILE is\n"
    "a list with a key a line, as for 'sieve mark'; or the requests.seen of a Scrapy\n"
    "job, recognised by its first line of 40 hexadecimal digits. Of that each such\n"
    "line is a key, without a carriage return behind it; other lines, such as one\n"
    "that a crash cut off, are passed over and counted. Newer ones are binary, 20\n"
    "bytes a request, recognised by bytes that no text has: the 40 digits of each\n"
    "are the key. They are read from files, not from pipes, and not packed.\n"
    "\n"
    "  -0, --null           a list has NUL in place of newlines\n" TOOL_SIEVE_MEMORY_HELP
        TOOL_SIEVE_SYNC_HELP TOOL_SIEVE_WAIT_HELP TOOL_PROGRESS_HELP
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n"
    "\n" TOOL_SIEVE_MAKE_HELP "\n"
    "  bloomery sieve import crawl crawls/job/requests.seen\n";

static const struct option import_options[] = {
    {"null", no_argument, NULL, '0'},
    TOOL_SIEVE_OPTIONS,
    TOOL_SIEVE_MAKE_OPTIONS,
    TOOL_PROGRESS_OPTION,
    {NULL, 0, NULL, 0},
};

/* ---- Which files are binary ------------------------------------------------------------------ */

enum { FINGERPRINT_BYTES = 20, HEAD = 65536 };

/* Control characters that no list of keys has. Of 20 random bytes 9 in 10 have one, of 100 all. */
static bool has_controls(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 27))
            return true;
    return false;
}

/* A beginning of text may end within a character. */
static bool is_utf8(const unsigned char *bytes, size_t count)
{
    size_t i = 0;
    while (i < count) {
        const size_t more = bytes[i] < 0x80                        ? 0
                            : bytes[i] >= 0xc2 && bytes[i] <= 0xdf ? 1
                            : bytes[i] >= 0xe0 && bytes[i] <= 0xef ? 2
                            : bytes[i] >= 0xf0 && bytes[i] <= 0xf4 ? 3
                                                                   : count;
        if (more == count)
            return false;
        for (size_t k = 1; k <= more && i + k < count; k++)
            if ((bytes[i + k] & 0xc0) != 0x80)
                return false;
        i += 1 + more;
    }
    return true;
}

static bool has_scrapys_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, "requests.seen") == 0;
}

/* Whether a file has binary fingerprints. Scrapy's own file may end with a piece of one. */
static bool is_binary(const char *path)
{
    struct stat facts;
    unsigned char *head = NULL;
    bool binary = false;
    if (strcmp(path, "-") == 0 || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < FINGERPRINT_BYTES)
        return false;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false; /* which is reported when it is to be read */
    head = tool_allocate(HEAD);
    const size_t bytes = fread(head, 1, HEAD, file);
    fclose(file);
    if (has_scrapys_name(path))
        binary = has_controls(head, bytes) || !is_utf8(head, bytes);
    else if (facts.st_size % FINGERPRINT_BYTES == 0)
        binary = has_controls(head, bytes) && !is_utf8(head, bytes);
    free(head);
    return binary;
}

static void sort_lists(struct tool_sieve_feed *feed, char **paths)
{
    struct tool_source *source = &feed->source;
    static char nothing[] = "/dev/null";
    static char *none[] = {nothing};
    size_t lists = 0;
    if (source->delimiter == 0)
        return; /* lines that end with NUL may have any bytes */
    feed->binaries = tool_allocate(source->count * sizeof(*feed->binaries));
    for (size_t i = 0; i < source->count; i++) {
        if (is_binary(paths[i]))
            feed->binaries[feed->binary_count++] = paths[i];
        else
            paths[lists++] = paths[i];
    }
    source->count = lists;
    if (lists == 0) {
        source->paths = none; /* without any it would be standard input */
        source->count = 1;
    }
}

static int import_main(int argc, char **argv)
{
    struct tool_sieve_command command;
    struct tool_sieve_feed feed = {.command = &command,
                                   .mode = BLOOMERY_SIEVE_PUSH_MARK,
                                   .verb = "importing",
                                   .finds_lists = true,
                                   .sort_lists = sort_lists};
    return tool_sieve_feed_main(&feed, argc, argv, import_options);
}

const struct tool_command tool_sieve_import = {
    .name = "sieve import",
    .run = import_main,
    .summary = "the same with what another program has seen",
    .help = import_help,
};

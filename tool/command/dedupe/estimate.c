/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each of the first files, four places that are spread over it are looked at. Of further files
 * only the size counts, at the mean length of the records in those. An estimate that is too low
 * costs a filter that grows, and one that is too high costs some memory. Reading all of the input
 * once more, to count, would cost more.
 */
#include "command/dedupe/estimate.h"

#include "base/io.h"
#include "input/split.h"
#include "input/unpack.h"
#include "tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16, PIECES = 4, FILES_SAMPLED = 16 };

struct sample {
    uint64_t bytes, records; /* looked at */
    uint64_t unseen;         /* bytes of files that were not */
    double estimate;         /* of the records in those that were */
};

/* Counts delimiters in one chunk of a file. False if that can't be read, or is packed. */
static bool look_at(int file, uint64_t offset, bool first, unsigned char delimiter,
                    unsigned char *piece, struct sample *sample)
{
    uint64_t count = 0;
    bool undecided;
    if (tool_read_at(file, offset, piece, PIECE_BYTES, &count) != 0)
        return false;
    if (first && tool_packing_of(piece, (size_t)count, &undecided) != TOOL_PLAIN)
        return false;
    sample->bytes += count;
    sample->records += tool_split_count(piece, piece + count, delimiter);
    return true;
}

static bool sample_file(int file, uint64_t from, uint64_t to, unsigned char delimiter,
                        struct sample *all)
{
    unsigned char *piece = tool_allocate(PIECE_BYTES);
    struct sample here = {0};
    const uint64_t bytes = to - from;
    const uint64_t pieces = bytes > (uint64_t)PIECES * PIECE_BYTES ? PIECES : 1;
    bool good = true;
    if (pieces == 1) /* all of it */
        for (uint64_t at = 0; at < bytes && good; at += PIECE_BYTES)
            good = look_at(file, from + at, at == 0, delimiter, piece, &here);
    else
        for (uint64_t i = 0; i < pieces && good; i++)
            good = look_at(file, from + (bytes - PIECE_BYTES) / (pieces - 1) * i, i == 0, delimiter,
                           piece, &here);
    free(piece);
    if (!good)
        return false;
    /* Text without a delimiter is one record. */
    double share = here.bytes > 0 ? (double)here.records / (double)here.bytes : 0;
    all->estimate += (double)bytes * share + (here.records == 0 && bytes > 0 ? 1 : 0);
    all->bytes += here.bytes;
    all->records += here.records;
    return true;
}

/* One input; `sampled`: not only its size is looked at. */
static bool take_input(const char *path, unsigned char delimiter, bool sampled,
                       struct sample *sample)
{
    struct stat facts;
    const bool from_stdin = tool_path_is_stdin(path);
    int file = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return true;
    bool good = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    off_t from = good && from_stdin ? lseek(file, 0, SEEK_CUR) : 0;
    if (good && from >= 0 && from < facts.st_size) {
        if (sampled)
            good = sample_file(file, (uint64_t)from, (uint64_t)facts.st_size, delimiter, sample);
        else
            sample->unseen += (uint64_t)(facts.st_size - from);
    }
    if (!from_stdin)
        close(file);
    return good;
}

bool tool_estimate_records(const struct tool_source *source, uint64_t *records)
{
    struct sample sample = {0};
    for (size_t i = 0; i < tool_source_count(source); i++)
        if (!take_input(tool_source_path(source, i), source->delimiter, i < FILES_SAMPLED, &sample))
            return false;
    double mean = sample.records > 0 ? (double)sample.bytes / (double)sample.records : 1;
    *records += (uint64_t)(sample.estimate + (double)sample.unseen / mean + 0.5);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/pack.h"

#include "base/load.h"
#include "input/unpack.h"
#include "tool.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The functions of libarchive that are called. */
#define FUNCTIONS(X)                         \
    X(archive_entry_free)                    \
    X(archive_entry_new)                     \
    X(archive_entry_set_filetype)            \
    X(archive_error_string)                  \
    X(archive_set_error)                     \
    X(archive_write_add_filter_bzip2)        \
    X(archive_write_add_filter_lz4)          \
    X(archive_write_add_filter_lzip)         \
    X(archive_write_add_filter_lzma)         \
    X(archive_write_add_filter_xz)           \
    X(archive_write_add_filter_zstd)         \
    X(archive_write_close)                   \
    X(archive_write_data)                    \
    X(archive_write_free)                    \
    X(archive_write_header)                  \
    X(archive_write_new)                     \
    X(archive_write_open)                    \
    X(archive_write_set_bytes_in_last_block) \
    X(archive_write_set_bytes_per_block)     \
    X(archive_write_set_format_raw)

struct libarchive {
    FUNCTIONS(TOOL_LOAD_FIELD)
};

/* NULL, or why it can't be had. */
static const char *load(struct libarchive *functions)
{
    const struct tool_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    return tool_load(TOOL_LIBARCHIVE, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

struct tool_pack {
    enum tool_packing packing;
    struct tool_out *out;
    struct libarchive library;
    struct archive *archive; /* NULL: gzip */
    bool begun;              /* the archive: its output is open */
    z_stream gzip;
    char error[200];
};

static void set_error(struct tool_pack *pack, const char *text)
{
    snprintf(pack->error, sizeof(pack->error), "%.199s", text);
}

static bool is_well(const struct tool_pack *pack)
{
    return pack->error[0] == '\0' && !tool_out_failed(pack->out);
}

/* ---- gzip ------------------------------------------------------------------------------------ */

/* The usual level; the format with a header and a checksum, and in the header neither name nor
 * time, so the same text gives the same file. */
enum { GZIP_LEVEL = 6, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, GZIP_ROOM = 1 << 14 };

static void gzip_start(struct tool_pack *pack)
{
    if (deflateInit2(&pack->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        set_error(pack, "not enough memory to pack");
}

/* Packs all that is in `next_in`, straight into the output's buffer. */
static void gzip_run(struct tool_pack *pack, int flush)
{
    do {
        pack->gzip.next_out = tool_out_room(pack->out, GZIP_ROOM);
        pack->gzip.avail_out = GZIP_ROOM;
        const int result = deflate(&pack->gzip, flush);
        assert(result != Z_STREAM_ERROR);
        (void)result;
        tool_out_take(pack->out, GZIP_ROOM - pack->gzip.avail_out);
    } while (pack->gzip.avail_out == 0 && is_well(pack));
}

static void gzip_write(struct tool_pack *pack, const unsigned char *data, size_t bytes)
{
    const size_t most = (size_t)1 << 30; /* zlib's numbers have 32 bits */
    while (bytes > 0 && is_well(pack)) {
        const size_t now = bytes < most ? bytes : most;
        pack->gzip.next_in = (Bytef *)(uintptr_t)data; /* only read */
        pack->gzip.avail_in = (uInt)now;
        gzip_run(pack, Z_NO_FLUSH);
        data += now;
        bytes -= now;
    }
}

/* ---- All else through libarchive ------------------------------------------------------------- */

static la_ssize_t take_packed(struct archive *archive, void *context, const void *data,
                              size_t bytes)
{
    struct tool_pack *pack = context;
    tool_out_bytes(pack->out, data, bytes);
    if (!tool_out_failed(pack->out))
        return (la_ssize_t)bytes;
    pack->library.archive_set_error(archive, pack->out->failure, "the output failed");
    return -1;
}

/* A failure of the output itself is known there. */
static void archive_failed(struct tool_pack *pack)
{
    const char *text = pack->library.archive_error_string(pack->archive);
    if (is_well(pack))
        snprintf(pack->error, sizeof(pack->error), "can't be packed (%.150s)",
                 text != NULL ? text : "no reason is known");
}

/* libarchive's ARCHIVE_OK, or the failure; ARCHIVE_WARN means that it would start another program
 * to do it. */
static int choose(const struct tool_pack *pack)
{
    const struct libarchive *library = &pack->library;
    int (*const filters[TOOL_PACKING_COUNT])(struct archive *) = {
        [TOOL_ZSTD] = library->archive_write_add_filter_zstd,
        [TOOL_XZ] = library->archive_write_add_filter_xz,
        [TOOL_BZIP2] = library->archive_write_add_filter_bzip2,
        [TOOL_LZ4] = library->archive_write_add_filter_lz4,
        [TOOL_LZIP] = library->archive_write_add_filter_lzip,
        [TOOL_LZMA] = library->archive_write_add_filter_lzma,
    };
    const int result = library->archive_write_set_format_raw(pack->archive);
    return result == ARCHIVE_OK ? filters[pack->packing](pack->archive) : result;
}

static void archive_start(struct tool_pack *pack)
{
    struct libarchive *library = &pack->library;
    const char *trouble = load(library);
    if (trouble != NULL) {
        snprintf(pack->error, sizeof(pack->error), "can't be packed: %.170s", trouble);
        return;
    }
    pack->archive = library->archive_write_new();
    if (pack->archive == NULL) {
        set_error(pack, "not enough memory to pack");
        return;
    }
    int result = choose(pack);
    if (result == ARCHIVE_WARN) {
        snprintf(pack->error, sizeof(pack->error),
                 "is to be %s as its input is, which this libarchive can't do by itself; "
                 "unpack the input first",
                 tool_packing_name(pack->packing));
        return;
    }
    /* No blocks as tapes have them: they would pad the end with zeros. */
    if (result == ARCHIVE_OK)
        result = library->archive_write_set_bytes_per_block(pack->archive, 0);
    if (result == ARCHIVE_OK)
        result = library->archive_write_set_bytes_in_last_block(pack->archive, 1);
    if (result != ARCHIVE_OK)
        archive_failed(pack);
}

/* The format "raw" is one member, of which only the content is written. */
static void begin_member(struct tool_pack *pack)
{
    const struct libarchive *library = &pack->library;
    struct archive_entry *entry = library->archive_entry_new();
    if (entry == NULL) {
        set_error(pack, "not enough memory to pack");
        return;
    }
    pack->begun = true;
    library->archive_entry_set_filetype(entry, AE_IFREG);
    if (library->archive_write_open(pack->archive, pack, NULL, take_packed, NULL) != ARCHIVE_OK ||
        library->archive_write_header(pack->archive, entry) != ARCHIVE_OK)
        archive_failed(pack);
    library->archive_entry_free(entry);
}

static void archive_write(struct tool_pack *pack, const void *data, size_t bytes)
{
    if (!pack->begun)
        begin_member(pack);
    if (is_well(pack) &&
        pack->library.archive_write_data(pack->archive, data, bytes) != (la_ssize_t)bytes)
        archive_failed(pack);
}

/* libarchive 3.6 crashes at the end of an lz4 stream that got nothing, also of one that is given
 * up. So a stream is not opened before its first bytes, and lz4's empty one is known here: a
 * frame's header, the mark of its end, and the checksum of nothing. */
static void archive_end(struct tool_pack *pack)
{
    static const unsigned char empty_lz4[15] = {4, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0,
                                                0, 0,    0,    5,    0x5d, 0xcc, 2};
    if (!pack->begun && pack->packing == TOOL_LZ4) {
        tool_out_bytes(pack->out, empty_lz4, sizeof(empty_lz4));
        return;
    }
    if (!pack->begun)
        begin_member(pack);
    if (is_well(pack) && pack->library.archive_write_close(pack->archive) != ARCHIVE_OK)
        archive_failed(pack);
}

/* ---- Both ------------------------------------------------------------------------------------ */

bool tool_pack_makes(enum tool_packing packing)
{
    return tool_packing_is_stream(packing) && packing != TOOL_COMPRESS && packing != TOOL_LZOP &&
           packing != TOOL_SKIPPABLE && packing != TOOL_ZLIB;
}

struct tool_pack *tool_pack_open(enum tool_packing packing, struct tool_out *out)
{
    struct tool_pack *pack = tool_allocate(sizeof(*pack));
    assert(tool_pack_makes(packing));
    memset(pack, 0, sizeof(*pack));
    pack->packing = packing;
    pack->out = out;
    if (packing == TOOL_GZIP)
        gzip_start(pack);
    else
        archive_start(pack);
    return pack;
}

bool tool_pack_write(struct tool_pack *pack, const void *data, size_t bytes)
{
    if (!is_well(pack) || bytes == 0)
        return is_well(pack);
    if (pack->archive == NULL)
        gzip_write(pack, data, bytes);
    else
        archive_write(pack, data, bytes);
    return is_well(pack);
}

bool tool_pack_end(struct tool_pack *pack)
{
    if (!is_well(pack))
        return false;
    if (pack->archive == NULL)
        gzip_run(pack, Z_FINISH);
    else
        archive_end(pack);
    return is_well(pack);
}

const char *tool_pack_error(const struct tool_pack *pack)
{
    return pack->error;
}

void tool_pack_close(struct tool_pack *pack)
{
    if (pack->archive != NULL)
        pack->library.archive_write_free(pack->archive);
    else if (pack->packing == TOOL_GZIP)
        deflateEnd(&pack->gzip);
    free(pack);
}

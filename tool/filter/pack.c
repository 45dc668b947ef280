/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/pack.h"

#include "base/system.h"
#include "input/input.h"
#include "tool.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef BLOOMERY_HAVE_LIBZSTD
#include <zstd.h>
#endif

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
    X(archive_write_set_filter_option)       \
    X(archive_write_set_format_raw)

struct libarchive {
    FUNCTIONS(TOOL_LOAD_FIELD)
};

#ifdef BLOOMERY_HAVE_LIBZSTD
#define ZSTD_FUNCTIONS(X)     \
    X(ZSTD_createCCtx)        \
    X(ZSTD_freeCCtx)          \
    X(ZSTD_CCtx_setParameter) \
    X(ZSTD_compressStream2)   \
    X(ZSTD_isError)           \
    X(ZSTD_getErrorName)

struct libzstd {
    ZSTD_FUNCTIONS(TOOL_LOAD_FIELD)
};
#endif

struct tool_pack {
    struct tool_pack_form form;
    struct tool_out *out;
    struct libarchive library;
    struct archive *archive; /* NULL: gzip, or zstd by its own library */
    bool begun;              /* the archive: its output is open */
    z_stream gzip;
#ifdef BLOOMERY_HAVE_LIBZSTD
    struct libzstd zstd;
    ZSTD_CCtx *zstd_stream; /* NULL: another format, or libarchive does it */
#endif
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

/* ---- Packers: gzip --------------------------------------------------------------------------- */

/* The usual level; the format with a header and a checksum, and in the header neither name nor
 * time, so the same text gives the same file. */
enum { GZIP_LEVEL = 6, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, PACK_ROOM = 1 << 14 };

/* Packs all that is in `next_in`, straight into the output's buffer. */
static void gzip_run(struct tool_pack *pack, int flush)
{
    do {
        pack->gzip.next_out = tool_out_room(pack->out, PACK_ROOM);
        pack->gzip.avail_out = PACK_ROOM;
        const int result = deflate(&pack->gzip, flush);
        assert(result != Z_STREAM_ERROR);
        (void)result;
        tool_out_take(pack->out, PACK_ROOM - pack->gzip.avail_out);
    } while (pack->gzip.avail_out == 0 && is_well(pack));
}

/* ---- Packers: zstd --------------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_LIBZSTD
/* A window beyond that of the usual levels comes from --long or --ultra. Without long-distance
 * matching the usual levels find nothing in most of it. */
enum { ZSTD_LEVEL = 3, ZSTD_LONG_FROM = 24 };

static void zstd_fail(struct tool_pack *pack, size_t result)
{
    snprintf(pack->error, sizeof(pack->error), "can't be packed (%.150s)",
             pack->zstd.ZSTD_getErrorName(result));
}

static void zstd_set(struct tool_pack *pack, ZSTD_cParameter parameter, int value)
{
    const size_t result = pack->zstd.ZSTD_CCtx_setParameter(pack->zstd_stream, parameter, value);
    if (pack->zstd.ZSTD_isError(result))
        zstd_fail(pack, result);
}

/* False if libzstd is not there. */
static bool zstd_start(struct tool_pack *pack)
{
    struct libzstd *functions = &pack->zstd;
    const struct bloomery_wanted wanted[] = {ZSTD_FUNCTIONS(TOOL_LOAD_WANTED)};
    const struct tool_pack_form *form = &pack->form;
    if (bloomery_load_library("libzstd.so.1", wanted, sizeof(wanted) / sizeof(wanted[0])) != NULL)
        return false;
    pack->zstd_stream = functions->ZSTD_createCCtx();
    if (pack->zstd_stream == NULL) {
        set_error(pack, "not enough memory to pack");
        return true;
    }
    zstd_set(pack, ZSTD_c_compressionLevel, form->level > 0 ? (int)form->level : ZSTD_LEVEL);
    zstd_set(pack, ZSTD_c_checksumFlag, 1);
    if (form->window_log > 0)
        zstd_set(pack, ZSTD_c_windowLog, (int)form->window_log);
    if (form->window_log >= ZSTD_LONG_FROM)
        zstd_set(pack, ZSTD_c_enableLongDistanceMatching, 1);
    return true;
}

static void zstd_run(struct tool_pack *pack, const void *data, size_t bytes, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, bytes, 0};
    size_t left = 0;
    do {
        ZSTD_outBuffer out = {tool_out_room(pack->out, PACK_ROOM), PACK_ROOM, 0};
        left = pack->zstd.ZSTD_compressStream2(pack->zstd_stream, &out, &in, end);
        tool_out_take(pack->out, out.pos);
        if (pack->zstd.ZSTD_isError(left))
            zstd_fail(pack, left);
    } while (is_well(pack) && (in.pos < in.size || (end == ZSTD_e_end && left > 0)));
}
#endif

/* ---- Packers: the others through libarchive -------------------------------------------------- */

static la_ssize_t take_archive(struct archive *archive, void *context, const void *data,
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
    int result = library->archive_write_set_format_raw(pack->archive);
    if (result == ARCHIVE_OK)
        result = filters[pack->form.packing](pack->archive);
    if (result != ARCHIVE_OK || pack->form.level == 0)
        return result;
    char level[16];
    snprintf(level, sizeof(level), "%u", pack->form.level);
    return library->archive_write_set_filter_option(pack->archive, NULL, "compression-level",
                                                    level);
}

static void archive_start(struct tool_pack *pack)
{
    struct libarchive *library = &pack->library, *functions = library;
    const struct bloomery_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    const char *trouble =
        bloomery_load_library(TOOL_LIBARCHIVE, wanted, sizeof(wanted) / sizeof(wanted[0]));
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
                 tool_packing_name(pack->form.packing));
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
    if (library->archive_write_open(pack->archive, pack, NULL, take_archive, NULL) != ARCHIVE_OK ||
        library->archive_write_header(pack->archive, entry) != ARCHIVE_OK)
        archive_failed(pack);
    library->archive_entry_free(entry);
}

/* libarchive 3.6 crashes at the end of an lz4 stream that got nothing, also of one that is given
 * up. So a stream is not opened before its first bytes, and lz4's empty one is known here: a
 * frame's header, the mark of its end, and the checksum of nothing. */
static void archive_end(struct tool_pack *pack)
{
    static const unsigned char empty_lz4[15] = {4, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0,
                                                0, 0,    0,    5,    0x5d, 0xcc, 2};
    if (!pack->begun && pack->form.packing == TOOL_LZ4) {
        tool_out_bytes(pack->out, empty_lz4, sizeof(empty_lz4));
        return;
    }
    if (!pack->begun)
        begin_member(pack);
    if (is_well(pack) && pack->library.archive_write_close(pack->archive) != ARCHIVE_OK)
        archive_failed(pack);
}

/* ---- Packers: all ---------------------------------------------------------------------------- */

bool tool_pack_makes(enum tool_packing packing)
{
    return tool_packing_is_stream(packing) && packing != TOOL_COMPRESS && packing != TOOL_LZOP &&
           packing != TOOL_SKIPPABLE && packing != TOOL_ZLIB;
}

unsigned tool_pack_level_max(enum tool_packing packing)
{
    return packing == TOOL_ZSTD ? 22 : 9;
}

struct tool_pack *tool_pack_open(struct tool_pack_form form, struct tool_out *out)
{
    struct tool_pack *pack = tool_allocate(sizeof(*pack));
    assert(tool_pack_makes(form.packing) && form.level <= tool_pack_level_max(form.packing));
    memset(pack, 0, sizeof(*pack));
    pack->form = form;
    pack->out = out;
    if (form.packing == TOOL_GZIP) {
        if (deflateInit2(&pack->gzip, form.level > 0 ? (int)form.level : GZIP_LEVEL, Z_DEFLATED,
                         GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
            set_error(pack, "not enough memory to pack");
        return pack;
    }
#ifdef BLOOMERY_HAVE_LIBZSTD
    if (form.packing == TOOL_ZSTD && zstd_start(pack))
        return pack;
#endif
    archive_start(pack);
    return pack;
}

static void gzip_write(struct tool_pack *pack, const void *data, size_t bytes)
{
    const size_t most = (size_t)1 << 30; /* zlib's numbers have 32 bits */
    for (const unsigned char *from = data; bytes > 0 && is_well(pack);) {
        const size_t now = bytes < most ? bytes : most;
        pack->gzip.next_in = (Bytef *)(uintptr_t)from; /* only read */
        pack->gzip.avail_in = (uInt)now;
        gzip_run(pack, Z_NO_FLUSH);
        from += now;
        bytes -= now;
    }
}

static void archive_write(struct tool_pack *pack, const void *data, size_t bytes)
{
    if (!pack->begun)
        begin_member(pack);
    if (is_well(pack) &&
        pack->library.archive_write_data(pack->archive, data, bytes) != (la_ssize_t)bytes)
        archive_failed(pack);
}

bool tool_pack_write(struct tool_pack *pack, const void *data, size_t bytes)
{
    if (!is_well(pack) || bytes == 0)
        return is_well(pack);
#ifdef BLOOMERY_HAVE_LIBZSTD
    if (pack->zstd_stream != NULL) {
        zstd_run(pack, data, bytes, ZSTD_e_continue);
        return is_well(pack);
    }
#endif
    if (pack->archive != NULL)
        archive_write(pack, data, bytes);
    else
        gzip_write(pack, data, bytes);
    return is_well(pack);
}

bool tool_pack_end(struct tool_pack *pack)
{
    if (!is_well(pack))
        return false;
#ifdef BLOOMERY_HAVE_LIBZSTD
    if (pack->zstd_stream != NULL) {
        zstd_run(pack, NULL, 0, ZSTD_e_end);
        return is_well(pack);
    }
#endif
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
#ifdef BLOOMERY_HAVE_LIBZSTD
    if (pack->zstd_stream != NULL)
        pack->zstd.ZSTD_freeCCtx(pack->zstd_stream);
#endif
    if (pack->archive != NULL)
        pack->library.archive_write_free(pack->archive);
    else if (pack->form.packing == TOOL_GZIP)
        deflateEnd(&pack->gzip);
    free(pack);
}

/* ---- Forms ----------------------------------------------------------------------------------- */

/*
 * The beginning of a file of zstd:
 *
 *     50 2a 4d 18 | length | ...          a frame to be skipped, or several: pzstd begins with one
 *     28 b5 2f fd | descriptor | window   or, if the frame is one segment, no window but the size
 *                                         of its content, which then is the window
 */

static uint64_t read_little_endian(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

/* The logarithm of the window of a frame that begins here, rounded up; 0: it is not one. */
static unsigned window_of(const unsigned char *frame, size_t bytes)
{
    enum { LEAST = 18 };
    static const unsigned least_log = 10;
    static const size_t dictionary[] = {0, 1, 2, 4};
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (bytes < LEAST || memcmp(frame, magic, sizeof(magic)) != 0)
        return 0;
    const unsigned char descriptor = frame[4], window = frame[5];
    if ((descriptor & 0x20) == 0)
        return least_log + (window >> 3U) + ((window & 7U) != 0 ? 1U : 0U);
    const size_t size_bytes = (size_t)1 << (descriptor >> 6);
    const uint64_t size = read_little_endian(frame + 5 + dictionary[descriptor & 3], size_bytes) +
                          (size_bytes == 2 ? 256 : 0);
    unsigned log = least_log;
    while (log < 63 && UINT64_C(1) << log < size)
        log++;
    return log;
}

/* Whether the window of a stream is one that the usual level would not have made. */
static bool is_wide(unsigned window_log)
{
    enum { USUAL = 21, MOST = 31 };
    return window_log > USUAL && window_log <= MOST;
}

static struct tool_pack_form form_of(int file)
{
    struct tool_pack_form form = {.packing = TOOL_PLAIN};
    unsigned char begin[TOOL_PACKING_BYTES];
    uint64_t at = 0, count = 0;
    bool undecided, skipped = true;
    while (skipped) {
        count = 0;
        if (tool_read_at(file, at, begin, sizeof(begin), &count) != 0)
            break;
        skipped = count >= 8 && tool_packing_begins_skipped(begin);
        at += skipped ? 8 + read_little_endian(begin + 4, 4) : 0;
    }
    form.packing = tool_packing_of(begin, (size_t)count, &undecided);
    const unsigned window_log = window_of(begin, (size_t)count);
    if (form.packing == TOOL_ZSTD && is_wide(window_log))
        form.window_log = window_log;
    if (form.packing == TOOL_GZIP && count > 8) /* the byte that says how hard it was tried */
        form.level = begin[8] == 2 ? 9 : begin[8] == 4 ? 1 : 0;
    return form;
}

struct tool_pack_form tool_pack_form_of(const char *path)
{
    struct tool_pack_form form = {.packing = tool_path_packing(path)};
    const char *why;
    const bool looks =
        form.packing == TOOL_GZIP || form.packing == TOOL_ZSTD || form.packing == TOOL_SKIPPABLE;
    const int file = looks ? tool_open_regular(path, &why) : -1;
    if (file < 0)
        return form;
    struct tool_pack_form found = form_of(file);
    close(file);
    if (tool_packing_is_stream(found.packing))
        form = found;
    else if (form.packing == TOOL_SKIPPABLE)
        form.packing = TOOL_ZSTD; /* as it is read if nothing else follows */
    return form;
}

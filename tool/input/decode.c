/* SPDX-License-Identifier: Apache-2.0 */
#include "input/decode.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "base/system.h"
#include "tool.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef BLOOMERY_HAVE_LIBZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef BLOOMERY_HAVE_LIBLZ4
#include <lz4frame.h>
#endif
#ifdef BLOOMERY_HAVE_LIBLZMA
#include <lzma.h>
#endif
#ifdef BLOOMERY_HAVE_LIBBZ2
#include <bzlib.h>
#endif

struct format {
    enum tool_packing packing;
    bool (*open)(struct tool_decode *decode); /* false: its library is not there */
    bool (*begin)(struct tool_decode *decode);
    enum tool_decoded (*step)(struct tool_decode *decode, struct tool_decode_bytes *bytes);
    void (*close)(struct tool_decode *decode);
    unsigned char first[2]; /* the bytes that a stream begins with, from the one to the other */
    unsigned char other[2]; /* the same, or zeros */
};

#ifdef BLOOMERY_HAVE_LIBZSTD
#define ZSTD_FUNCTIONS(X)     \
    X(ZSTD_createDStream)     \
    X(ZSTD_freeDStream)       \
    X(ZSTD_DCtx_reset)        \
    X(ZSTD_DCtx_setParameter) \
    X(ZSTD_dParam_getBounds)  \
    X(ZSTD_decompressStream)  \
    X(ZSTD_isError)           \
    X(ZSTD_getErrorCode)      \
    X(ZSTD_getErrorName)

struct libzstd {
    ZSTD_FUNCTIONS(TOOL_LOAD_FIELD)
};
#endif

#ifdef BLOOMERY_HAVE_LIBLZMA
/* liblzma reads lzip since 5.4. */
#if LZMA_VERSION >= 50040002
#define LZIP_FUNCTION(X) X(lzma_lzip_decoder)
#else
#define LZIP_FUNCTION(X)
#endif
#define LZMA_FUNCTIONS(X)  \
    X(lzma_alone_decoder)  \
    X(lzma_code)           \
    X(lzma_end)            \
    X(lzma_memusage)       \
    X(lzma_stream_decoder) \
    LZIP_FUNCTION(X)

struct liblzma {
    LZMA_FUNCTIONS(TOOL_LOAD_FIELD)
};
#endif

#ifdef BLOOMERY_HAVE_LIBBZ2
#define BZ2_FUNCTIONS(X)    \
    X(BZ2_bzDecompressInit) \
    X(BZ2_bzDecompress)     \
    X(BZ2_bzDecompressEnd)

struct libbz2 {
    BZ2_FUNCTIONS(TOOL_LOAD_FIELD)
};
#endif

#ifdef BLOOMERY_HAVE_LIBLZ4
#define LZ4_FUNCTIONS(X)               \
    X(LZ4F_createDecompressionContext) \
    X(LZ4F_decompress)                 \
    X(LZ4F_freeDecompressionContext)   \
    X(LZ4F_getErrorName)               \
    X(LZ4F_isError)                    \
    X(LZ4F_resetDecompressionContext)

struct liblz4 {
    LZ4_FUNCTIONS(TOOL_LOAD_FIELD)
};
#endif

struct tool_decode {
    const struct format *format;
    z_stream zlib;
#ifdef BLOOMERY_HAVE_LIBZSTD
    struct libzstd zstd;
    ZSTD_DStream *zstd_stream;
    int window_log;  /* the largest that memory allows */
    int window_most; /* and that the library decompresses */
#endif
#ifdef BLOOMERY_HAVE_LIBLZMA
    struct liblzma lzma;
    lzma_stream lzma_stream;
    uint64_t lzma_memory; /* that it may take. Looking it up takes longer than a short stream */
#endif
#ifdef BLOOMERY_HAVE_LIBBZ2
    struct libbz2 bz2;
    bz_stream bz2_stream;
    bool bz2_begun;
#endif
#ifdef BLOOMERY_HAVE_LIBLZ4
    struct liblz4 lz4;
    LZ4F_dctx *lz4_stream;
#endif
    char error[200];
};

static enum tool_decoded fail(struct tool_decode *decode, const char *text)
{
    snprintf(decode->error, sizeof(decode->error), "%s", text);
    return TOOL_DECODE_FAILED;
}

static enum tool_decoded fail_damaged(struct tool_decode *decode, const char *how)
{
    snprintf(decode->error, sizeof(decode->error), "the compressed data is damaged (%.140s)", how);
    return TOOL_DECODE_FAILED;
}

/* A step has taken `in` bytes and made `out`. */
static void move_on(struct tool_decode_bytes *bytes, size_t in, size_t out)
{
    assert(in <= bytes->in_bytes && out <= bytes->out_room);
    bytes->in += in;
    bytes->in_bytes -= in;
    bytes->out += out;
    bytes->out_room -= out;
}

/* Numbers of zlib and libbz2 have 32 bits. */
static unsigned limit(size_t bytes)
{
    return bytes < (1u << 30) ? (unsigned)bytes : 1u << 30;
}

/* ---- gzip and zlib --------------------------------------------------------------------------- */

static bool open_zlib(struct tool_decode *decode)
{
    const int window = 15; /* the largest */
    if (inflateInit2(&decode->zlib, decode->format->packing == TOOL_GZIP ? window + 16 : window) !=
        Z_OK)
        fail(decode, "not enough memory");
    return true;
}

static bool begin_zlib(struct tool_decode *decode)
{
    return inflateReset(&decode->zlib) == Z_OK;
}

static enum tool_decoded step_zlib(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    z_stream *stream = &decode->zlib;
    const unsigned in = limit(bytes->in_bytes), out = limit(bytes->out_room);
    stream->next_in = (Bytef *)(uintptr_t)bytes->in; /* only read */
    stream->avail_in = in;
    stream->next_out = bytes->out;
    stream->avail_out = out;
    const int result = inflate(stream, Z_NO_FLUSH);
    move_on(bytes, in - stream->avail_in, out - stream->avail_out);
    if (result == Z_STREAM_END)
        return TOOL_DECODED_END;
    if (result == Z_OK || result == Z_BUF_ERROR)
        return TOOL_DECODED_SOME;
    if (result == Z_MEM_ERROR)
        return fail(decode, "not enough memory to decompress it");
    if (result == Z_NEED_DICT)
        return fail(decode, "was compressed with a dictionary, without which it can't be read");
    return fail_damaged(decode, stream->msg != NULL ? stream->msg : zError(result));
}

static void close_zlib(struct tool_decode *decode)
{
    inflateEnd(&decode->zlib);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

#if defined(BLOOMERY_HAVE_LIBZSTD) || defined(BLOOMERY_HAVE_LIBLZMA)
/* What a stream may take: what one block may, and no more than the machine has left without
 * swapping. */
static uint64_t memory_left(void)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    return limits.machine_left < limits.room ? limits.machine_left : limits.room;
}
#endif

/* ---- zstd ------------------------------------------------------------------------------------ */

#ifdef BLOOMERY_HAVE_LIBZSTD
/* Without an option zstd takes 2^27 bytes at most, and so do we of any memory. */
enum { USUAL_LOG = 27 };

static bool open_zstd(struct tool_decode *decode)
{
    struct libzstd *functions = &decode->zstd;
    const struct bloomery_wanted wanted[] = {ZSTD_FUNCTIONS(TOOL_LOAD_WANTED)};
    if (bloomery_load_library("libzstd.so.1", wanted, sizeof(wanted) / sizeof(wanted[0])) != NULL)
        return false;
    const uint64_t memory = memory_left();
    decode->window_log = USUAL_LOG;
    decode->window_most = functions->ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    while (decode->window_log < decode->window_most && (uint64_t)2 << decode->window_log <= memory)
        decode->window_log++;
    decode->zstd_stream = functions->ZSTD_createDStream();
    if (decode->zstd_stream == NULL)
        fail(decode, "not enough memory");
    return true;
}

static bool begin_zstd(struct tool_decode *decode)
{
    const struct libzstd *library = &decode->zstd;
    return !library->ZSTD_isError(
               library->ZSTD_DCtx_reset(decode->zstd_stream, ZSTD_reset_session_only)) &&
           !library->ZSTD_isError(library->ZSTD_DCtx_setParameter(
               decode->zstd_stream, ZSTD_d_windowLogMax, decode->window_log));
}

static enum tool_decoded fail_zstd(struct tool_decode *decode, size_t result)
{
    char most[TOOL_NUMBER_BYTES];
    switch (decode->zstd.ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        snprintf(decode->error, sizeof(decode->error),
                 decode->window_log < decode->window_most
                     ? "needs a zstd window of more than %s, and less memory is free; with more, "
                       "'zstd -dc --long=31 FILE | bloomery ...' reads it"
                     : "needs a zstd window of more than %s, the most that libzstd decompresses",
                 tool_format_size(most, (uint64_t)1 << decode->window_log));
        return TOOL_DECODE_FAILED;
    case ZSTD_error_memory_allocation:
        return fail(decode, "its zstd data needs a window that does not fit in memory; with more, "
                            "'zstd -dc --long=31 FILE | bloomery ...' reads it");
    case ZSTD_error_dictionary_wrong:
        return fail(decode, "was compressed with a dictionary; 'zstd -dc -D DICTIONARY FILE' "
                            "decompresses it");
    case ZSTD_error_frameParameter_unsupported:
    case ZSTD_error_version_unsupported:
        return fail(decode, "is zstd data of a kind that this libzstd can't decompress");
    default:
        return fail_damaged(decode, decode->zstd.ZSTD_getErrorName(result));
    }
}

static enum tool_decoded step_zstd(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    ZSTD_inBuffer in = {bytes->in, bytes->in_bytes, 0};
    ZSTD_outBuffer out = {bytes->out, bytes->out_room, 0};
    const size_t result = decode->zstd.ZSTD_decompressStream(decode->zstd_stream, &out, &in);
    move_on(bytes, in.pos, out.pos);
    if (decode->zstd.ZSTD_isError(result))
        return fail_zstd(decode, result);
    return result == 0 ? TOOL_DECODED_END : TOOL_DECODED_SOME;
}

static void close_zstd(struct tool_decode *decode)
{
    decode->zstd.ZSTD_freeDStream(decode->zstd_stream);
}
#endif

/* ---- xz, lzma and lzip ----------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_LIBLZMA
/* Of any memory: more than the dictionaries of xz -9 take. */
#define LZMA_LEAST_MEMORY ((uint64_t)128 << 20)

static bool open_lzma(struct tool_decode *decode)
{
    struct liblzma *functions = &decode->lzma;
    const struct bloomery_wanted wanted[] = {LZMA_FUNCTIONS(TOOL_LOAD_WANTED)};
    decode->lzma_stream = (lzma_stream)LZMA_STREAM_INIT;
#if LZMA_VERSION < 50040002
    if (decode->format->packing == TOOL_LZIP)
        return false;
#endif
    const uint64_t left = memory_left();
    decode->lzma_memory = left > LZMA_LEAST_MEMORY ? left : LZMA_LEAST_MEMORY;
    return bloomery_load_library("liblzma.so.5", wanted, sizeof(wanted) / sizeof(wanted[0])) ==
           NULL;
}

static bool begin_lzma(struct tool_decode *decode)
{
    const struct liblzma *library = &decode->lzma;
    lzma_stream *stream = &decode->lzma_stream;
    const uint64_t memory = decode->lzma_memory;
    lzma_ret result;
    if (decode->format->packing == TOOL_XZ)
        result = library->lzma_stream_decoder(stream, memory, 0);
#if LZMA_VERSION >= 50040002
    else if (decode->format->packing == TOOL_LZIP)
        result = library->lzma_lzip_decoder(stream, memory, 0);
#endif
    else
        result = library->lzma_alone_decoder(stream, memory);
    return result == LZMA_OK;
}

static enum tool_decoded fail_lzma(struct tool_decode *decode, lzma_ret result)
{
    char needed[TOOL_NUMBER_BYTES];
    switch (result) {
    case LZMA_MEM_ERROR:
        return fail(decode, "there is not enough memory to decompress it");
    case LZMA_MEMLIMIT_ERROR:
        snprintf(decode->error, sizeof(decode->error),
                 "decompressing it takes %s of memory, which is not there",
                 tool_format_size(needed, decode->lzma.lzma_memusage(&decode->lzma_stream)));
        return TOOL_DECODE_FAILED;
    case LZMA_OPTIONS_ERROR:
        return fail(decode, "is xz data of a kind that this liblzma can't decompress");
    case LZMA_FORMAT_ERROR:
        return fail_damaged(decode, "a header is not one");
    default:
        return fail_damaged(decode, "its checksums or its contents are wrong");
    }
}

static enum tool_decoded step_lzma(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    lzma_stream *stream = &decode->lzma_stream;
    stream->next_in = bytes->in;
    stream->avail_in = bytes->in_bytes;
    stream->next_out = bytes->out;
    stream->avail_out = bytes->out_room;
    const lzma_ret result = decode->lzma.lzma_code(stream, LZMA_RUN);
    move_on(bytes, bytes->in_bytes - stream->avail_in, bytes->out_room - stream->avail_out);
    if (result == LZMA_STREAM_END)
        return TOOL_DECODED_END;
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? TOOL_DECODED_SOME
                                                         : fail_lzma(decode, result);
}

static void close_lzma(struct tool_decode *decode)
{
    decode->lzma.lzma_end(&decode->lzma_stream);
}
#endif

/* ---- bzip2 ----------------------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_LIBBZ2
static bool open_bz2(struct tool_decode *decode)
{
    struct libbz2 *functions = &decode->bz2;
    const struct bloomery_wanted wanted[] = {BZ2_FUNCTIONS(TOOL_LOAD_WANTED)};
    return bloomery_load_library("libbz2.so.1.0", wanted, sizeof(wanted) / sizeof(wanted[0])) ==
           NULL;
}

static void end_bz2(struct tool_decode *decode)
{
    if (decode->bz2_begun)
        decode->bz2.BZ2_bzDecompressEnd(&decode->bz2_stream);
    decode->bz2_begun = false;
}

static bool begin_bz2(struct tool_decode *decode)
{
    end_bz2(decode);
    memset(&decode->bz2_stream, 0, sizeof(decode->bz2_stream));
    decode->bz2_begun = decode->bz2.BZ2_bzDecompressInit(&decode->bz2_stream, 0, 0) == BZ_OK;
    return decode->bz2_begun;
}

static enum tool_decoded step_bz2(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    bz_stream *stream = &decode->bz2_stream;
    const unsigned in = limit(bytes->in_bytes), out = limit(bytes->out_room);
    stream->next_in = (char *)(uintptr_t)bytes->in; /* only read */
    stream->avail_in = in;
    stream->next_out = (char *)bytes->out;
    stream->avail_out = out;
    const int result = decode->bz2.BZ2_bzDecompress(stream);
    move_on(bytes, in - stream->avail_in, out - stream->avail_out);
    if (result == BZ_STREAM_END)
        return TOOL_DECODED_END;
    if (result == BZ_OK)
        return TOOL_DECODED_SOME;
    if (result == BZ_MEM_ERROR)
        return fail(decode, "there is not enough memory to decompress it");
    return fail_damaged(decode, result == BZ_DATA_ERROR_MAGIC ? "a header is not one"
                                                              : "its checksums or its contents "
                                                                "are wrong");
}
#endif

/* ---- lz4 ------------------------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_LIBLZ4
static bool open_lz4(struct tool_decode *decode)
{
    struct liblz4 *functions = &decode->lz4;
    const struct bloomery_wanted wanted[] = {LZ4_FUNCTIONS(TOOL_LOAD_WANTED)};
    if (bloomery_load_library("liblz4.so.1", wanted, sizeof(wanted) / sizeof(wanted[0])) != NULL)
        return false;
    if (functions->LZ4F_isError(
            functions->LZ4F_createDecompressionContext(&decode->lz4_stream, LZ4F_VERSION)))
        fail(decode, "not enough memory");
    return true;
}

static bool begin_lz4(struct tool_decode *decode)
{
    decode->lz4.LZ4F_resetDecompressionContext(decode->lz4_stream);
    return true;
}

static enum tool_decoded step_lz4(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    size_t in = bytes->in_bytes, out = bytes->out_room;
    const size_t result =
        decode->lz4.LZ4F_decompress(decode->lz4_stream, bytes->out, &out, bytes->in, &in, NULL);
    if (decode->lz4.LZ4F_isError(result)) {
        const char *name = decode->lz4.LZ4F_getErrorName(result);
        return strstr(name, "alloc") != NULL
                   ? fail(decode, "there is not enough memory to decompress it")
                   : fail_damaged(decode, name);
    }
    move_on(bytes, in, out);
    return result == 0 ? TOOL_DECODED_END : TOOL_DECODED_SOME;
}

static void close_lz4(struct tool_decode *decode)
{
    decode->lz4.LZ4F_freeDecompressionContext(decode->lz4_stream);
}
#endif

/* ---- All ------------------------------------------------------------------------------------- */

static const struct format formats[] = {
    {TOOL_GZIP, open_zlib, begin_zlib, step_zlib, close_zlib, {0x1f, 0x1f}, {0, 0}},
    {TOOL_ZLIB, open_zlib, begin_zlib, step_zlib, close_zlib, {0x78, 0x78}, {0, 0}},
#ifdef BLOOMERY_HAVE_LIBZSTD
    /* A frame, or one that is skipped. */
    {TOOL_ZSTD, open_zstd, begin_zstd, step_zstd, close_zstd, {0x28, 0x28}, {0x50, 0x5f}},
#endif
#ifdef BLOOMERY_HAVE_LIBLZMA
    {TOOL_XZ, open_lzma, begin_lzma, step_lzma, close_lzma, {0xfd, 0xfd}, {0, 0}},
    {TOOL_LZMA, open_lzma, begin_lzma, step_lzma, close_lzma, {0x5d, 0x5d}, {0, 0}},
    {TOOL_LZIP, open_lzma, begin_lzma, step_lzma, close_lzma, {'L', 'L'}, {0, 0}},
#endif
#ifdef BLOOMERY_HAVE_LIBBZ2
    {TOOL_BZIP2, open_bz2, begin_bz2, step_bz2, end_bz2, {'B', 'B'}, {0, 0}},
#endif
#ifdef BLOOMERY_HAVE_LIBLZ4
    {TOOL_LZ4, open_lz4, begin_lz4, step_lz4, close_lz4, {0x04, 0x04}, {0x50, 0x5f}},
#endif
};

struct tool_decode *tool_decode_open(enum tool_packing packing)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (formats[i].packing != packing)
            continue;
        struct tool_decode *decode = tool_allocate(sizeof(*decode));
        memset(decode, 0, sizeof(*decode));
        decode->format = &formats[i];
        if (formats[i].open(decode))
            return decode;
        free(decode);
    }
    return NULL;
}

bool tool_decode_begin(struct tool_decode *decode)
{
    if (decode->error[0] != '\0')
        return false;
    if (!decode->format->begin(decode))
        fail(decode, "not enough memory to decompress it");
    return decode->error[0] == '\0';
}

enum tool_decoded tool_decode_step(struct tool_decode *decode, struct tool_decode_bytes *bytes)
{
    return decode->format->step(decode, bytes);
}

bool tool_decode_begins(const struct tool_decode *decode, unsigned char byte)
{
    const struct format *format = decode->format;
    return (byte >= format->first[0] && byte <= format->first[1]) ||
           (byte >= format->other[0] && byte <= format->other[1] && format->other[1] > 0);
}

const char *tool_decode_error(const struct tool_decode *decode)
{
    return decode->error;
}

void tool_decode_close(struct tool_decode *decode)
{
    decode->format->close(decode);
    free(decode);
}

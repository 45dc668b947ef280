/* SPDX-License-Identifier: Apache-2.0 */
#include "input/unpack.h"

#include "base/system.h"
#include "input/decode.h"
#include "tool.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Streams --------------------------------------------------------------------------------- */

static int wait_for_bytes(const struct tool_stream *stream)
{
    struct pollfd both[2] = {{.fd = stream->descriptor, .events = POLLIN},
                             {.fd = stream->wake, .events = POLLIN}};
    int patience = stream->idle != NULL ? stream->idle_milliseconds : -1;
    int ready;
    while ((ready = poll(both, 2, patience)) <= 0) {
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        if (ready == 0 && stream->idle != NULL) {
            stream->idle(stream->idle_context);
            patience = -1;
        }
    }
    if (both[1].revents != 0) {
        errno = ECANCELED;
        return -1;
    }
    return 0;
}

/* Reads of one call: a writer that is as fast as the reader keeps nobody waiting for longer. */
enum { READS_MAX = 64 };

/* The bytes that already wait behind the first `count`. Its end, or an error, is left to the next
 * call, which meets it again: true of pipes, not of terminals. */
static size_t read_waiting(const struct tool_stream *stream, unsigned char *buffer, size_t count,
                           size_t room)
{
    struct pollfd one = {.fd = stream->descriptor, .events = POLLIN};
    for (int reads = 1; reads < READS_MAX && count < room; reads++) {
        if (poll(&one, 1, 0) != 1 || (one.revents & POLLIN) == 0)
            break;
        ssize_t more = read(stream->descriptor, buffer + count, room - count);
        if (more <= 0)
            break;
        count += (size_t)more;
    }
    return count;
}

ssize_t tool_stream_read(struct tool_stream *stream, void *buffer, size_t room)
{
    if (stream->may_wait && stream->wake >= 0 && wait_for_bytes(stream) != 0)
        return -1;
    ssize_t count;
    do
        count = read(stream->descriptor, buffer, room);
    while (count < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_bytes(stream) == 0)));
    if (stream->may_wait)
        tool_watched_check();
    if (count > 0 && stream->is_pipe)
        count = (ssize_t)read_waiting(stream, buffer, (size_t)count, room);
    if (count > 0)
        stream->bytes_read += (uint64_t)count;
    return count;
}

/* ---- libarchive, loaded ---------------------------------------------------------------------- */

/* The part of libarchive that reads: the functions that are called. */
#define LIBARCHIVE_FUNCTIONS(X)             \
    X(archive_entry_filetype)               \
    X(archive_entry_is_encrypted)           \
    X(archive_entry_pathname)               \
    X(archive_errno)                        \
    X(archive_error_string)                 \
    X(archive_read_data_block)              \
    X(archive_read_free)                    \
    X(archive_read_has_encrypted_entries)   \
    X(archive_read_new)                     \
    X(archive_read_next_header)             \
    X(archive_read_open2)                   \
    X(archive_read_set_seek_callback)       \
    X(archive_read_support_filter_bzip2)    \
    X(archive_read_support_filter_compress) \
    X(archive_read_support_filter_lz4)      \
    X(archive_read_support_filter_lzip)     \
    X(archive_read_support_filter_lzma)     \
    X(archive_read_support_filter_lzop)     \
    X(archive_read_support_filter_xz)       \
    X(archive_read_support_filter_zstd)     \
    X(archive_read_support_format_7zip)     \
    X(archive_read_support_format_cpio)     \
    X(archive_read_support_format_empty)    \
    X(archive_read_support_format_rar)      \
    X(archive_read_support_format_rar5)     \
    X(archive_read_support_format_raw)      \
    X(archive_read_support_format_tar)      \
    X(archive_read_support_format_zip)      \
    X(archive_set_error)

struct libarchive {
    LIBARCHIVE_FUNCTIONS(TOOL_LOAD_FIELD)
};

/* The next member. Its name is in `name`, cut to `room` bytes, in UTF-8 if it can be; "?" if not:
 * libarchive converts names to the encoding of the locale, and gives none that it can't convert.
 * The locale is this thread's for that long. */
static int libarchive_next(const struct libarchive *library, struct archive *archive,
                           struct archive_entry **entry, char *name, size_t room)
{
    const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    const locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    const int result = library->archive_read_next_header(archive, entry);
    const char *found = NULL;
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        found = library->archive_entry_pathname(*entry);
    snprintf(name, room, "%s", found != NULL ? found : "?");
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    return result;
}

/* What kind of failure it is that libarchive describes by `text`: a sentence of what to do. Only
 * what is damaged is called so. The words of the text tell the kinds apart. */
static const char *libarchive_why(const struct libarchive *library, struct archive *archive,
                                  const char *text)
{
    if (library->archive_read_has_encrypted_entries(archive) == 1 ||
        strcasestr(text, "encrypt") != NULL || strcasestr(text, "passphrase") != NULL)
        return "is encrypted; unpack it with its password first";
    if (strcasestr(text, "too much memory") != NULL) /* libzstd's word */
        return "needs a window that is too large for this libarchive; 'zstd -dc --long=31 FILE | "
               "bloomery ...' reads it";
    if (library->archive_errno(archive) == ENOMEM || strcasestr(text, "memory") != NULL ||
        strcasestr(text, "allocate") != NULL)
        return "there is not enough memory to unpack it";
    if (strcasestr(text, "support") != NULL)
        return "this libarchive can't unpack it; unpack it first";
    if (strcasestr(text, "truncated") != NULL)
        return "the compressed data is cut short";
    return "the compressed data is damaged";
}

/* ---- Packed input ---------------------------------------------------------------------------- */

enum { PACKED_BYTES = TOOL_UNPACK_HEAD_MAX };

struct tool_unpack {
    struct tool_stream *stream;
    struct tool_unpack *inner; /* unpacks the packed bytes of an archive; NULL: `stream` */
    unsigned char delimiter;

    enum tool_packing packing;

    struct libarchive library;
    struct archive *archive; /* NULL: there is a decoder */
    bool reading_failed;     /* of the packed bytes */
    bool in_entry;
    bool entry_begun;      /* something of it has been read */
    bool entry_open_ended; /* its last byte so far is not the delimiter */
    bool whole_entries;    /* an archive: members are read one after the other */
    char entry_name[60];
    const unsigned char *block; /* of the entry: what is at hand, and its place there */
    size_t block_bytes;
    la_int64_t block_at;
    la_int64_t entry_at; /* up to where it was read */

    struct tool_decode *decode; /* NULL: libarchive does it */
    struct tool_decode_bytes bytes;
    bool filled;          /* the last step filled its room */
    bool between_streams; /* none is begun, or the last one is complete */
    bool any_stream;

    char error[200];

    /* The packed bytes: first those that were read to recognise the file. */
    size_t head_bytes;
    unsigned char packed[PACKED_BYTES];
};

/* ---- Packed bytes ---------------------------------------------------------------------------- */

/* The next chunk of packed bytes into `packed`: 0 at the end, -1 with errno. */
static ssize_t read_packed(struct tool_unpack *unpack)
{
    if (unpack->head_bytes > 0) {
        ssize_t count = (ssize_t)unpack->head_bytes;
        unpack->head_bytes = 0;
        return count;
    }
    return unpack->inner != NULL ? tool_unpack_read(unpack->inner, unpack->packed, PACKED_BYTES)
                                 : tool_stream_read(unpack->stream, unpack->packed, PACKED_BYTES);
}

static void set_error(struct tool_unpack *unpack, const char *text)
{
    snprintf(unpack->error, sizeof(unpack->error), "%s", text);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Makes sure that there are packed bytes to work on. 0: the file has ended; -1: failure. */
static int refill(struct tool_unpack *unpack)
{
    if (unpack->bytes.in_bytes > 0)
        return 1;
    ssize_t count = read_packed(unpack);
    if (count < 0) {
        set_error(unpack, strerror(errno));
        return -1;
    }
    unpack->bytes.in = unpack->packed;
    unpack->bytes.in_bytes = (size_t)count;
    return count > 0;
}

/* Between streams: another one, zeros (tapes pad with them), or the end. 1: a stream follows. */
static int next_stream(struct tool_unpack *unpack)
{
    while (true) {
        int more = refill(unpack);
        if (more <= 0)
            return more;
        if (unpack->bytes.in[0] == 0 && unpack->any_stream) {
            unpack->bytes.in++;
            unpack->bytes.in_bytes--;
            continue;
        }
        if (!tool_decode_begins(unpack->decode, unpack->bytes.in[0])) {
            if (unpack->packing == TOOL_LZIP) /* its manual allows what is not lzip there */
                return 0;
            snprintf(unpack->error, sizeof(unpack->error),
                     "something that is not %s follows the compressed data",
                     tool_packing_name(unpack->packing) + strlen("compressed with "));
            return -1;
        }
        if (!tool_decode_begin(unpack->decode)) {
            set_error(unpack, tool_decode_error(unpack->decode));
            return -1;
        }
        unpack->between_streams = false;
        unpack->any_stream = true;
        return 1;
    }
}

static ssize_t stream_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    unpack->bytes.out = buffer;
    unpack->bytes.out_room = room;
    while (unpack->bytes.out_room == room) {
        if (unpack->between_streams) {
            int stream = next_stream(unpack);
            if (stream <= 0)
                return stream;
        }
        /* Of what filled its room, the decoder may have more without any input. */
        int more = unpack->filled ? 1 : refill(unpack);
        if (more < 0)
            return -1;
        if (more == 0) {
            set_error(unpack, "the compressed data is cut short");
            return -1;
        }
        const enum tool_decoded decoded = tool_decode_step(unpack->decode, &unpack->bytes);
        unpack->filled = decoded == TOOL_DECODED_SOME && unpack->bytes.out_room == 0;
        unpack->between_streams = decoded == TOOL_DECODED_END;
        if (decoded == TOOL_DECODE_FAILED) {
            set_error(unpack, tool_decode_error(unpack->decode));
            return -1;
        }
    }
    return (ssize_t)(room - unpack->bytes.out_room);
}

/* ---- Frames to be skipped -------------------------------------------------------------------- */

enum { SKIP_HEAD = 8 };

/* Reads on until the head has this many bytes. False if the input ends before, or after
 * an error. */
static bool have_head(struct tool_unpack *unpack, size_t wanted)
{
    while (unpack->head_bytes < wanted) {
        const ssize_t count = tool_stream_read(unpack->stream, unpack->packed + unpack->head_bytes,
                                               PACKED_BYTES - unpack->head_bytes);
        if (count < 0)
            set_error(unpack, strerror(errno));
        if (count <= 0)
            return false;
        unpack->head_bytes += (size_t)count;
    }
    return true;
}

/* Frames that readers of zstd and lz4 skip stand before the first that says which of these it is.
 * pzstd begins with one. */
static void skip_frames(struct tool_unpack *unpack)
{
    bool undecided;
    while (have_head(unpack, SKIP_HEAD) && tool_packing_begins_skipped(unpack->packed)) {
        const unsigned char *size = unpack->packed + 4;
        uint64_t left = SKIP_HEAD + (size[0] | (uint64_t)size[1] << 8 | (uint64_t)size[2] << 16 |
                                     (uint64_t)size[3] << 24);
        while (left > unpack->head_bytes) {
            left -= unpack->head_bytes;
            unpack->head_bytes = 0;
            if (!have_head(unpack, 1)) {
                if (unpack->error[0] == '\0')
                    set_error(unpack, "the compressed data is cut short");
                return;
            }
        }
        unpack->head_bytes -= (size_t)left;
        memmove(unpack->packed, unpack->packed + left, unpack->head_bytes);
    }
    const enum tool_packing packing =
        tool_packing_of(unpack->packed, unpack->head_bytes, &undecided);
    if (packing == TOOL_ZSTD || packing == TOOL_LZ4)
        unpack->packing = packing;
    else if (unpack->head_bytes == 0)
        unpack->packing = TOOL_ZSTD; /* nothing but frames to be skipped */
    else if (unpack->error[0] == '\0')
        set_error(unpack, "begins with a frame to be skipped, and neither zstd nor lz4 follows");
}

/* ---- The others through libarchive ----------------------------------------------------------- */

static la_ssize_t archive_bytes(struct archive *archive, void *context, const void **data)
{
    struct tool_unpack *unpack = context;
    ssize_t count = read_packed(unpack);
    if (count < 0) {
        unpack->reading_failed = true;
        unpack->library.archive_set_error(
            archive, EIO, "%s", unpack->inner != NULL ? unpack->inner->error : strerror(errno));
    }
    *data = unpack->packed;
    return count;
}

/* libarchive finds the directory at the end of a zip or 7z file with this, if the input can be
 * sought. If it can't, libarchive reads the members as they come. */
static la_int64_t archive_seek_to(struct archive *archive, void *context, la_int64_t offset,
                                  int whence)
{
    struct tool_unpack *unpack = context;
    off_t position = lseek(unpack->stream->descriptor, offset, whence);
    if (position < 0) {
        unpack->reading_failed = true;
        unpack->library.archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    unpack->head_bytes = 0;
    return position;
}

static void archive_failed(struct tool_unpack *unpack)
{
    const char *text = unpack->library.archive_error_string(unpack->archive);
    if (unpack->inner != NULL && unpack->inner->error[0] != '\0')
        set_error(unpack, unpack->inner->error);
    else if (unpack->reading_failed && text != NULL)
        set_error(unpack, text);
    else if (text != NULL)
        snprintf(unpack->error, sizeof(unpack->error), "%s (%.80s)",
                 libarchive_why(&unpack->library, unpack->archive, text), text);
    else
        set_error(unpack, "the compressed data is damaged or cut short");
}

/* Only a regular file that is still read from its beginning can be sought. */
static bool can_seek(const struct tool_unpack *unpack)
{
    if (unpack->inner != NULL)
        return false;
    off_t position = lseek(unpack->stream->descriptor, 0, SEEK_CUR);
    return position >= 0 && (size_t)position == unpack->head_bytes;
}

/* Chooses the format as which libarchive takes the packed bytes. Its ARCHIVE_OK, or the failure;
 * ARCHIVE_WARN means that it would start another program to do it. */
static int choose(struct tool_unpack *unpack, enum tool_packing packing)
{
    const struct libarchive *library = &unpack->library;
    int (*const formats[TOOL_PACKING_COUNT])(struct archive *) = {
        [TOOL_ZSTD] = library->archive_read_support_filter_zstd,
        [TOOL_XZ] = library->archive_read_support_filter_xz,
        [TOOL_BZIP2] = library->archive_read_support_filter_bzip2,
        [TOOL_LZ4] = library->archive_read_support_filter_lz4,
        [TOOL_COMPRESS] = library->archive_read_support_filter_compress,
        [TOOL_LZIP] = library->archive_read_support_filter_lzip,
        [TOOL_LZMA] = library->archive_read_support_filter_lzma,
        [TOOL_LZOP] = library->archive_read_support_filter_lzop,
        [TOOL_ZIP] = library->archive_read_support_format_zip,
        [TOOL_TAR] = library->archive_read_support_format_tar,
        [TOOL_CPIO] = library->archive_read_support_format_cpio,
        [TOOL_SEVEN_ZIP] = library->archive_read_support_format_7zip,
        [TOOL_RAR] = library->archive_read_support_format_rar,
    };
    int result = ARCHIVE_OK;
    assert(formats[packing] != NULL);
    if (!unpack->whole_entries) {
        /* "raw" wants a byte at least; "empty" is for an input that unpacks to nothing. */
        result = library->archive_read_support_format_raw(unpack->archive);
        if (result == ARCHIVE_OK)
            result = library->archive_read_support_format_empty(unpack->archive);
    } else if (can_seek(unpack)) {
        library->archive_read_set_seek_callback(unpack->archive, archive_seek_to);
    }
    if (result == ARCHIVE_OK)
        result = formats[packing](unpack->archive);
    if (packing == TOOL_RAR && result == ARCHIVE_OK)
        result = library->archive_read_support_format_rar5(unpack->archive);
    return result;
}

static void archive_start(struct tool_unpack *unpack, enum tool_packing packing)
{
    struct libarchive *functions = &unpack->library;
    const struct bloomery_wanted wanted[] = {LIBARCHIVE_FUNCTIONS(TOOL_LOAD_WANTED)};
    const char *trouble =
        bloomery_load_library(TOOL_LIBARCHIVE, wanted, sizeof(wanted) / sizeof(wanted[0]));
    if (trouble != NULL) {
        snprintf(unpack->error, sizeof(unpack->error), "can't be unpacked: %.170s", trouble);
        return;
    }
    if (packing == TOOL_SEVEN_ZIP && !can_seek(unpack)) {
        set_error(unpack, "is a 7z archive; it can be unpacked from a file only, not from a pipe");
        return;
    }
    unpack->archive = unpack->library.archive_read_new();
    if (unpack->archive == NULL) {
        set_error(unpack, "not enough memory");
        return;
    }
    unpack->whole_entries = tool_packing_is_archive(packing);
    int result = choose(unpack, packing);
    if (result == ARCHIVE_WARN) {
        snprintf(unpack->error, sizeof(unpack->error),
                 "is %s, which this libarchive can't unpack by itself; unpack it first",
                 tool_packing_name(packing));
        return;
    }
    if (result == ARCHIVE_OK)
        result = unpack->library.archive_read_open2(unpack->archive, unpack, NULL, archive_bytes,
                                                    NULL, NULL);
    if (result != ARCHIVE_OK)
        archive_failed(unpack);
}

/* Whether a member may be read as text: false after an error that names it. Spreadsheets and
 * documents are zip files, too: their members are not lists. */
static bool is_list(struct tool_unpack *unpack, const char *name, const unsigned char *bytes,
                    size_t count)
{
    bool undecided;
    const enum tool_packing packing = tool_packing_of(bytes, count, &undecided);
    if (strcmp(name, "[Content_Types].xml") == 0) {
        set_error(unpack, "seems to be an Office document, not a list of keys; export it as text");
        return false;
    }
    const bool utf16 = tool_utf16_is_marked(bytes, count);
    if (packing == TOOL_PLAIN && !utf16)
        return true;
    snprintf(unpack->error, sizeof(unpack->error),
             "has a member, %s, that is %s and not a list of keys; unpack it first", name,
             utf16 ? "in UTF-16" : tool_packing_name(packing));
    return false;
}

/* The next member that has contents. 1, 0 at the end, -1. */
static int archive_next_entry(struct tool_unpack *unpack)
{
    struct archive_entry *entry = NULL;
    int result;
    do {
        /* A warning is about the member's name, which is not used here. */
        result = libarchive_next(&unpack->library, unpack->archive, &entry, unpack->entry_name,
                                 sizeof(unpack->entry_name));
        /* "empty" also takes an input of which a failed filter gave no byte; the failure is then
         * noted. */
        if (result == ARCHIVE_EOF && unpack->library.archive_errno(unpack->archive) == 0)
            return 0;
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            archive_failed(unpack);
            return -1;
        }
    } while (unpack->whole_entries && unpack->library.archive_entry_filetype(entry) != AE_IFREG);
    if (unpack->whole_entries && unpack->library.archive_entry_is_encrypted(entry)) {
        snprintf(unpack->error, sizeof(unpack->error),
                 "has a member, %s, that is encrypted; unpack it with its password first",
                 unpack->entry_name);
        return -1;
    }
    unpack->in_entry = true;
    unpack->entry_begun = false;
    unpack->entry_open_ended = false;
    unpack->block_bytes = 0;
    unpack->block_at = unpack->entry_at = 0;
    return 1;
}

/* Some bytes of the open entry, as soon as there are any; 0 at its end. Holes are zeros. */
static ssize_t entry_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    while (unpack->block_bytes == 0 && unpack->block_at <= unpack->entry_at) {
        const void *data = NULL;
        const int result = unpack->library.archive_read_data_block(
            unpack->archive, &data, &unpack->block_bytes, &unpack->block_at);
        if (result == ARCHIVE_EOF) {
            unpack->block_bytes = 0;
            return 0;
        }
        if (result != ARCHIVE_OK || (unpack->block_bytes > 0 && data == NULL) ||
            (unpack->block_bytes > 0 && unpack->block_at < unpack->entry_at)) {
            archive_failed(unpack);
            return -1;
        }
        unpack->block = data;
    }
    const la_int64_t hole = unpack->block_at - unpack->entry_at;
    size_t count = room;
    if (hole > 0) {
        count = (uint64_t)hole < room ? (size_t)hole : room;
        memset(buffer, 0, count);
    } else {
        count = unpack->block_bytes < room ? unpack->block_bytes : room;
        memcpy(buffer, unpack->block, count);
        unpack->block += count;
        unpack->block_bytes -= count;
        unpack->block_at += (la_int64_t)count;
    }
    unpack->entry_at += (la_int64_t)count;
    return (ssize_t)count;
}

/* The first bytes of a member: as many as tell whether it is a list. */
static ssize_t entry_begin(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    size_t count = 0;
    ssize_t more = 1;
    for (bool undecided = true; undecided && count < room && more > 0; count += (size_t)more) {
        more = entry_read(unpack, buffer + count, room - count);
        if (more < 0)
            return -1;
        tool_packing_of(buffer, count + (size_t)more, &undecided);
    }
    return count == 0 || is_list(unpack, unpack->entry_name, buffer, count) ? (ssize_t)count : -1;
}

static ssize_t archive_read_some(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    while (true) {
        if (!unpack->in_entry) {
            int entry = archive_next_entry(unpack);
            if (entry <= 0)
                return entry;
        }
        ssize_t count = unpack->whole_entries && !unpack->entry_begun
                            ? entry_begin(unpack, buffer, room)
                            : entry_read(unpack, buffer, room);
        if (count < 0)
            return -1;
        if (count > 0) {
            unpack->entry_begun = true;
            unpack->entry_open_ended = buffer[count - 1] != unpack->delimiter;
            return count;
        }
        unpack->in_entry = false;
        if (unpack->whole_entries && unpack->entry_open_ended) {
            buffer[0] = unpack->delimiter;
            return 1;
        }
    }
}

/* ---- Both ------------------------------------------------------------------------------------ */

static struct tool_unpack *unpack_new(enum tool_packing packing, const unsigned char *head,
                                      size_t count, unsigned char delimiter)
{
    assert(count <= PACKED_BYTES);
    struct tool_unpack *unpack = tool_allocate(sizeof(*unpack));
    memset(unpack, 0, offsetof(struct tool_unpack, packed));
    unpack->packing = packing;
    unpack->delimiter = delimiter;
    unpack->head_bytes = count;
    memcpy(unpack->packed, head, count);
    unpack->between_streams = true;
    return unpack;
}

/* The first byte of lz4's format before the frames, which its own library does not read. */
enum { LEGACY_LZ4 = 0x02 };

struct tool_unpack *tool_unpack_open(struct tool_stream *stream, enum tool_packing packing,
                                     const unsigned char *head, size_t count,
                                     unsigned char delimiter)
{
    assert(tool_packing_is_stream(packing) || tool_packing_is_archive(packing));
    struct tool_unpack *unpack = unpack_new(packing, head, count, delimiter);
    unpack->stream = stream;
    if (packing == TOOL_SKIPPABLE || (packing == TOOL_LZ4 && tool_packing_begins_skipped(head)))
        skip_frames(unpack);
    if (packing != TOOL_LZ4 || head[0] != LEGACY_LZ4)
        unpack->decode = tool_decode_open(unpack->packing);
    if (unpack->decode == NULL && unpack->error[0] == '\0')
        archive_start(unpack, unpack->packing);
    return unpack;
}

struct tool_unpack *tool_unpack_archive(struct tool_unpack *inner, enum tool_packing packing,
                                        const unsigned char *head, size_t count,
                                        unsigned char delimiter)
{
    assert(tool_packing_is_archive(packing));
    struct tool_unpack *unpack = unpack_new(packing, head, count, delimiter);
    unpack->inner = inner;
    archive_start(unpack, packing);
    return unpack;
}

enum tool_packing tool_unpack_packing(const struct tool_unpack *unpack)
{
    return unpack->packing;
}

ssize_t tool_unpack_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    assert(room > 0);
    if (unpack->error[0] != '\0')
        return -1;
    return unpack->decode != NULL ? stream_read(unpack, buffer, room)
                                  : archive_read_some(unpack, buffer, room);
}

const char *tool_unpack_error(const struct tool_unpack *unpack)
{
    return unpack->error;
}

void tool_unpack_close(struct tool_unpack *unpack)
{
    if (unpack->archive != NULL)
        unpack->library.archive_read_free(unpack->archive);
    if (unpack->decode != NULL)
        tool_decode_close(unpack->decode);
    if (unpack->inner != NULL)
        tool_unpack_close(unpack->inner);
    free(unpack);
}

const char *tool_unpack_version(void)
{
    const char *(*details)(void) = NULL;
    const struct bloomery_wanted wanted = {"archive_version_details", &details};
    const char *reason = bloomery_load_library(TOOL_LIBARCHIVE, &wanted, 1);
    return reason == NULL && details != NULL ? details() : "no libarchive";
}

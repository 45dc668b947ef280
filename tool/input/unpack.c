/* SPDX-License-Identifier: Apache-2.0 */
#include "input/unpack.h"

#include "base/load.h"
#include "input/utf16.h"
#include "tool.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PACKED_BYTES = TOOL_UNPACK_HEAD_MAX };

/* The functions of libarchive that are called. */
#define FUNCTIONS(X)                        \
    X(archive_entry_filetype)               \
    X(archive_entry_pathname)               \
    X(archive_errno)                        \
    X(archive_error_string)                 \
    X(archive_read_data)                    \
    X(archive_read_free)                    \
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
    FUNCTIONS(TOOL_LOAD_FIELD)
};

/* NULL, or why it can't be had. */
static const char *load(struct libarchive *functions)
{
    const struct tool_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    return tool_load(TOOL_LIBARCHIVE, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

struct tool_unpack {
    struct tool_stream *stream;
    struct tool_unpack *inner; /* unpacks the packed bytes of an archive; NULL: `stream` */
    unsigned char delimiter;

    /* The packed bytes: first those that were read to recognise the file. */
    size_t head_bytes;
    unsigned char packed[PACKED_BYTES];

    struct libarchive library;
    struct archive *archive; /* NULL: gzip */
    bool in_entry;
    bool entry_begun;      /* something of it has been read */
    bool entry_open_ended; /* its last byte so far is not the delimiter */
    bool whole_entries;    /* an archive: members are read one after the other */
    char entry_name[60];

    z_stream gzip;
    bool between_members; /* gzip: no member begun, or the last one complete */
    bool any_member;

    char error[200];
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

/* ---- gzip ------------------------------------------------------------------------------------ */

/* Makes sure that zlib has packed bytes to work on. 0: the file has ended; -1: failure. */
static int gzip_refill(struct tool_unpack *unpack)
{
    if (unpack->gzip.avail_in > 0)
        return 1;
    ssize_t count = read_packed(unpack);
    if (count < 0) {
        set_error(unpack, strerror(errno));
        return -1;
    }
    unpack->gzip.next_in = unpack->packed;
    unpack->gzip.avail_in = (uInt)count;
    return count > 0;
}

/* Between members: another one, zeros (tapes pad with them), or the end. 1: a member follows. */
static int gzip_next_member(struct tool_unpack *unpack)
{
    while (true) {
        int more = gzip_refill(unpack);
        if (more <= 0)
            return more;
        if (unpack->gzip.next_in[0] == 0 && unpack->any_member) {
            unpack->gzip.next_in++;
            unpack->gzip.avail_in--;
            continue;
        }
        if (unpack->gzip.next_in[0] != 0x1f) {
            set_error(unpack, "something that is not gzip follows the compressed data");
            return -1;
        }
        inflateReset(&unpack->gzip);
        unpack->between_members = false;
        unpack->any_member = true;
        return 1;
    }
}

static ssize_t gzip_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    z_stream *stream = &unpack->gzip;
    uInt chunk = room > (1u << 30) ? (1u << 30) : (uInt)room;
    stream->next_out = buffer;
    stream->avail_out = chunk;
    while (stream->avail_out == chunk) {
        if (unpack->between_members) {
            int member = gzip_next_member(unpack);
            if (member <= 0)
                return member;
        }
        int more = gzip_refill(unpack);
        if (more < 0)
            return -1;
        if (more == 0) {
            set_error(unpack, "the compressed data is cut short");
            return -1;
        }
        int result = inflate(stream, Z_NO_FLUSH);
        if (result == Z_STREAM_END) {
            unpack->between_members = true;
        } else if (result != Z_OK) {
            snprintf(unpack->error, sizeof(unpack->error), "the compressed data is damaged (%s)",
                     stream->msg != NULL ? stream->msg : zError(result));
            return -1;
        }
    }
    return (ssize_t)(chunk - stream->avail_out);
}

/* ---- All else through libarchive ------------------------------------------------------------- */

static la_ssize_t archive_bytes(struct archive *archive, void *context, const void **data)
{
    struct tool_unpack *unpack = context;
    ssize_t count = read_packed(unpack);
    if (count < 0)
        unpack->library.archive_set_error(
            archive, EIO, "%s", unpack->inner != NULL ? unpack->inner->error : strerror(errno));
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
    else if (text != NULL)
        snprintf(unpack->error, sizeof(unpack->error), "the compressed data is damaged (%.140s)",
                 text);
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
static int choose_stream(struct tool_unpack *unpack, enum tool_packing packing)
{
    const struct libarchive *library = &unpack->library;
    int (*filters[TOOL_PACKING_COUNT])(struct archive *) = {
        [TOOL_ZSTD] = library->archive_read_support_filter_zstd,
        [TOOL_XZ] = library->archive_read_support_filter_xz,
        [TOOL_BZIP2] = library->archive_read_support_filter_bzip2,
        [TOOL_LZ4] = library->archive_read_support_filter_lz4,
        [TOOL_COMPRESS] = library->archive_read_support_filter_compress,
        [TOOL_LZIP] = library->archive_read_support_filter_lzip,
        [TOOL_LZMA] = library->archive_read_support_filter_lzma,
        [TOOL_LZOP] = library->archive_read_support_filter_lzop,
    };
    /* "raw" wants a byte at least; "empty" is for an input that unpacks to nothing. */
    int result = library->archive_read_support_format_raw(unpack->archive);
    if (result == ARCHIVE_OK)
        result = library->archive_read_support_format_empty(unpack->archive);
    return result == ARCHIVE_OK ? filters[packing](unpack->archive) : result;
}

static int choose_archive(struct tool_unpack *unpack, enum tool_packing packing)
{
    const struct libarchive *library = &unpack->library;
    int (*formats[TOOL_PACKING_COUNT])(struct archive *) = {
        [TOOL_ZIP] = library->archive_read_support_format_zip,
        [TOOL_TAR] = library->archive_read_support_format_tar,
        [TOOL_CPIO] = library->archive_read_support_format_cpio,
        [TOOL_SEVEN_ZIP] = library->archive_read_support_format_7zip,
        [TOOL_RAR] = library->archive_read_support_format_rar,
    };
    if (can_seek(unpack))
        library->archive_read_set_seek_callback(unpack->archive, archive_seek_to);
    int result = formats[packing](unpack->archive);
    if (packing == TOOL_RAR && result == ARCHIVE_OK)
        result = library->archive_read_support_format_rar5(unpack->archive);
    return result;
}

static void archive_start(struct tool_unpack *unpack, enum tool_packing packing)
{
    const char *trouble = load(&unpack->library);
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
    int result =
        unpack->whole_entries ? choose_archive(unpack, packing) : choose_stream(unpack, packing);
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
 * documents are zip files, too: their members are no lists. */
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
        result = unpack->library.archive_read_next_header(unpack->archive, &entry);
        /* "empty" also takes an input of which a failed filter gave no byte; the failure is then
         * noted. */
        if (result == ARCHIVE_EOF && unpack->library.archive_errno(unpack->archive) == 0)
            return 0;
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            archive_failed(unpack);
            return -1;
        }
    } while (unpack->whole_entries && unpack->library.archive_entry_filetype(entry) != AE_IFREG);
    const char *name = unpack->whole_entries ? unpack->library.archive_entry_pathname(entry) : "";
    snprintf(unpack->entry_name, sizeof(unpack->entry_name), "%s", name != NULL ? name : "?");
    unpack->in_entry = true;
    unpack->entry_begun = false;
    unpack->entry_open_ended = false;
    return 1;
}

static ssize_t archive_read_some(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    while (true) {
        if (!unpack->in_entry) {
            int entry = archive_next_entry(unpack);
            if (entry <= 0)
                return entry;
        }
        la_ssize_t count = unpack->library.archive_read_data(unpack->archive, buffer, room);
        if (count > 0) {
            if (unpack->whole_entries && !unpack->entry_begun &&
                !is_list(unpack, unpack->entry_name, buffer, (size_t)count))
                return -1;
            unpack->entry_begun = true;
            unpack->entry_open_ended = buffer[count - 1] != unpack->delimiter;
            return count;
        }
        if (count < 0) {
            archive_failed(unpack);
            return -1;
        }
        unpack->in_entry = false;
        if (unpack->whole_entries && unpack->entry_open_ended) {
            buffer[0] = unpack->delimiter;
            return 1;
        }
    }
}

/* ---- Both ------------------------------------------------------------------------------------ */

static struct tool_unpack *unpack_new(const unsigned char *head, size_t count,
                                      unsigned char delimiter)
{
    assert(count <= PACKED_BYTES);
    struct tool_unpack *unpack = tool_allocate(sizeof(*unpack));
    unpack->stream = NULL;
    unpack->inner = NULL;
    unpack->delimiter = delimiter;
    unpack->head_bytes = count;
    memcpy(unpack->packed, head, count);
    unpack->archive = NULL;
    unpack->in_entry = false;
    unpack->entry_begun = false;
    unpack->entry_open_ended = false;
    unpack->whole_entries = false;
    unpack->between_members = true;
    unpack->any_member = false;
    unpack->error[0] = '\0';
    memset(&unpack->gzip, 0, sizeof(unpack->gzip));
    return unpack;
}

struct tool_unpack *tool_unpack_open(struct tool_stream *stream, enum tool_packing packing,
                                     const unsigned char *head, size_t count,
                                     unsigned char delimiter)
{
    assert(tool_packing_is_stream(packing) || tool_packing_is_archive(packing));
    struct tool_unpack *unpack = unpack_new(head, count, delimiter);
    unpack->stream = stream;
    if (packing != TOOL_GZIP)
        archive_start(unpack, packing);
    else if (inflateInit2(&unpack->gzip, 15 + 16) != Z_OK) /* the largest window, gzip alone */
        set_error(unpack, "not enough memory");
    return unpack;
}

struct tool_unpack *tool_unpack_archive(struct tool_unpack *inner, enum tool_packing packing,
                                        const unsigned char *head, size_t count,
                                        unsigned char delimiter)
{
    assert(tool_packing_is_archive(packing));
    struct tool_unpack *unpack = unpack_new(head, count, delimiter);
    unpack->inner = inner;
    archive_start(unpack, packing);
    return unpack;
}

ssize_t tool_unpack_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room)
{
    assert(room > 0);
    if (unpack->error[0] != '\0')
        return -1;
    return unpack->archive != NULL ? archive_read_some(unpack, buffer, room)
                                   : gzip_read(unpack, buffer, room);
}

const char *tool_unpack_error(const struct tool_unpack *unpack)
{
    return unpack->error;
}

void tool_unpack_close(struct tool_unpack *unpack)
{
    if (unpack->archive != NULL)
        unpack->library.archive_read_free(unpack->archive);
    else
        inflateEnd(&unpack->gzip);
    if (unpack->inner != NULL)
        tool_unpack_close(unpack->inner);
    free(unpack);
}

const char *tool_unpack_version(void)
{
    const char *(*details)(void) = NULL;
    const struct tool_wanted wanted = {"archive_version_details", &details};
    return tool_load(TOOL_LIBARCHIVE, &wanted, 1) == NULL ? details() : "no libarchive";
}

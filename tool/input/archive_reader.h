/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libarchive that reads, which is loaded when it is needed (load.h). */
#ifndef BLOOMERY_TOOL_ARCHIVE_READER_H
#define BLOOMERY_TOOL_ARCHIVE_READER_H

#include <archive.h>
#include <archive_entry.h>
#include <stddef.h>

/* The functions that are called. */
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

#define LIBARCHIVE_FIELD(name) __typeof__(name) *name;

struct libarchive {
    LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FIELD)
};

/* NULL, or why it can't be had. */
const char *tool_libarchive_load(struct libarchive *functions);

/* The next member. Its name is in `name`, cut to `room` bytes, in UTF-8 if it can be; "?" if
 * not. */
int tool_libarchive_next(const struct libarchive *library, struct archive *archive,
                         struct archive_entry **entry, char *name, size_t room);

/* What kind of failure it is that libarchive describes by `text`: a sentence of what to do. Only
 * what is damaged is called so. */
const char *tool_libarchive_why(const struct libarchive *library, struct archive *archive,
                                const char *text);

#endif /* BLOOMERY_TOOL_ARCHIVE_READER_H */

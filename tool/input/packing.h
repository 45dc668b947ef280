/* SPDX-License-Identifier: Apache-2.0 */
/* The type of a file by its first bytes: packed, an archive, or something that is not a list of
 * keys. */
#ifndef BLOOMERY_TOOL_PACKING_H
#define BLOOMERY_TOOL_PACKING_H

#include <stdbool.h>
#include <stddef.h>

/* X(name, its words in messages after "is ") */
#define TOOL_PACKINGS(X)                                                             \
    X(PLAIN, "plain")                                                                \
    /* One packed stream. */                                                         \
    X(GZIP, "compressed with gzip")                                                  \
    X(ZSTD, "compressed with zstd")                                                  \
    X(XZ, "compressed with xz")                                                      \
    X(BZIP2, "compressed with bzip2")                                                \
    X(LZ4, "compressed with lz4")                                                    \
    X(COMPRESS, "compressed with compress (.Z)")                                     \
    X(LZIP, "compressed with lzip")                                                  \
    X(LZMA, "compressed with lzma")                                                  \
    X(LZOP, "compressed with lzop")                                                  \
    X(ZLIB, "compressed with zlib")                                                  \
    /* What follows that frame says which. */                                        \
    X(SKIPPABLE, "zstd or lz4 data that begins with a frame to be skipped")          \
    /* Members, one behind the other. */                                             \
    X(ZIP, "a zip archive")                                                          \
    X(TAR, "a tar archive")                                                          \
    X(CPIO, "a cpio archive")                                                        \
    X(SEVEN_ZIP, "a 7z archive")                                                     \
    X(RAR, "a rar archive")                                                          \
    /* Types recognised to be refused: as lines they would make a useless filter. */ \
    X(FILTER, "a filter")                                                            \
    X(LRZIP, "compressed with lrzip")                                                \
    X(RPM, "an RPM package")                                                         \
    X(AR, "an ar archive")                                                           \
    X(CAB, "a cab archive")                                                          \
    X(XAR, "a xar archive")                                                          \
    X(SQLITE, "a SQLite database")                                                   \
    X(PARQUET, "a Parquet file")                                                     \
    X(ORC, "an ORC file")                                                            \
    X(WARC, "a WARC archive of web pages")                                           \
    X(ISO, "an ISO image of a disc")                                                 \
    X(ARROW, "an Arrow file")                                                        \
    X(FEATHER, "a Feather file of version 1")                                        \
    X(AVRO, "an Avro file")                                                          \
    X(HDF5, "an HDF5 file")                                                          \
    X(NUMPY, "a NumPy array")                                                        \
    X(JAVA, "a serialized Java object")                                              \
    X(PICKLE, "a pickled Python object")                                             \
    X(REDIS, "a dump of a Redis server (RDB)")                                       \
    X(PDF, "a PDF document")                                                         \
    X(ELF, "an ELF program")                                                         \
    X(IMAGE, "an image")                                                             \
    X(UTF32, "UTF-32 text")

enum tool_packing {
#define TOOL_PACKING_CONSTANT(name, text) TOOL_##name,
    TOOL_PACKINGS(TOOL_PACKING_CONSTANT)
#undef TOOL_PACKING_CONSTANT
        TOOL_PACKING_COUNT
};

/* How a file that begins with these bytes is packed. `undecided` is set if they are too few to
 * tell: they could be the beginning of a packed file's first bytes. TOOL_PACKING_BYTES decide,
 * unless all of them are NUL: the mark of a disc image lies behind 32 KiB. */
enum { TOOL_PACKING_BYTES = 512 };

enum tool_packing tool_packing_of(const unsigned char *bytes, size_t count, bool *undecided);

/* "compressed with gzip", "a tar archive": the words of a message after "is". Static storage. */
const char *tool_packing_name(enum tool_packing packing);

/* Whether these four bytes begin a frame that readers of zstd and lz4 skip. */
bool tool_packing_begins_skipped(const unsigned char *bytes);

/* What one types to unpack a stream: "gunzip". Static storage. */
const char *tool_packing_unpacker(enum tool_packing packing);

static inline bool tool_packing_is_stream(enum tool_packing packing)
{
    return packing >= TOOL_GZIP && packing <= TOOL_SKIPPABLE;
}

static inline bool tool_packing_is_archive(enum tool_packing packing)
{
    return packing >= TOOL_ZIP && packing <= TOOL_RAR;
}

/* Whether text begins with a mark of UTF-16. */
bool tool_utf16_is_marked(const unsigned char *bytes, size_t count);

/* Recognises UTF-16 without a mark, as text of mostly Latin letters: every second byte is NUL. The
 * encoding's name, or NULL. */
const char *tool_utf16_seems(const unsigned char *bytes, size_t count);

#endif /* BLOOMERY_TOOL_PACKING_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a file identify it. Most formats begin with bytes that no text has. If text
 * could begin so too ("070701" is a number, "LZIP" a word), more of the header has to fit. A wrong
 * verdict would refuse a list of keys.
 *
 * A verdict needs up to 512 bytes, but must not keep a person waiting while typing a line. It is
 * left open only while all that is there could be such a header. None of these has a newline early,
 * or a line that ends there decides.
 */
#include "input/packing.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum verdict { NO, PERHAPS, YES };

/* ---- Headers that are looked at more closely ------------------------------------------------- */

/* "BZh", the level, and the mark of a block or, in a file of nothing, of the end. */
static enum verdict is_bzip2(const unsigned char *bytes, size_t count)
{
    static const unsigned char marks[2][6] = {{'1', 'A', 'Y', '&', 'S', 'Y'},
                                              {0x17, 0x72, 0x45, 0x38, 0x50, 0x90}};
    if (memcmp(bytes, "BZh", count < 3 ? count : 3) != 0)
        return NO;
    if (count < 4)
        return PERHAPS;
    if (bytes[3] < '1' || bytes[3] > '9')
        return NO;
    const size_t known = count - 4 < 6 ? count - 4 : 6;
    if (memcmp(bytes + 4, marks[0], known) != 0 && memcmp(bytes + 4, marks[1], known) != 0)
        return NO;
    return known == 6 ? YES : PERHAPS;
}

/* Two bytes, and a third. The third has 9 to 16 bits for a code, a flag for a code that clears the
 * table, and two bits that are 0. */
static enum verdict is_compress(const unsigned char *bytes, size_t count)
{
    if (bytes[0] != 0x1f || (count > 1 && bytes[1] != 0x9d))
        return NO;
    if (count < 3)
        return PERHAPS;
    const unsigned bits = bytes[2] & 0x1f;
    return (bytes[2] & 0x60) == 0 && bits >= 9 && bits <= 16 ? YES : NO;
}

/* The usual parameters, the dictionary's size (2^n or 3 * 2^n), and that of the whole: unknown, or
 * below 2^40. */
static enum verdict is_lzma(const unsigned char *bytes, size_t count)
{
    static const unsigned char begin[3] = {0x5d, 0, 0};
    if (memcmp(bytes, begin, count < 3 ? count : 3) != 0)
        return NO;
    if (count < 13)
        return PERHAPS;
    const uint32_t size = (uint32_t)bytes[3] | (uint32_t)bytes[4] << 8;
    const uint32_t low = size & -size;
    static const unsigned char unknown[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    if (size == 0 || (size != low && size != 3 * low))
        return NO;
    return memcmp(bytes + 5, unknown, 8) == 0 || memcmp(bytes + 10, "\0\0\0", 3) == 0 ? YES : NO;
}

bool tool_packing_begins_skipped(const unsigned char *bytes)
{
    return (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0;
}

/* A frame that readers of zstd and lz4 are to skip: pzstd begins with one. */
static enum verdict is_skippable(const unsigned char *bytes, size_t count)
{
    if (bytes[0] < 0x50 || bytes[0] > 0x5f)
        return NO;
    const size_t known = count - 1 < 3 ? count - 1 : 3;
    if (memcmp(bytes + 1, "\x2a\x4d\x18", known) != 0)
        return NO;
    return known == 3 ? YES : PERHAPS;
}

/* The method and the window, a check of these two bytes, and contents that can be decompressed.
 * Text may begin with "x^", but then has no control characters behind it; no UTF-8 begins with the
 * other three. */
static enum verdict is_zlib(const unsigned char *bytes, size_t count)
{
    enum { ENOUGH = 8, PROVEN = 32 }; /* the least stream; what no text decompresses to */
    unsigned char out[4 * TOOL_PACKING_BYTES];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = (uInt)(count < sizeof(out) ? count : sizeof(out)),
                       .next_out = out,
                       .avail_out = sizeof(out)};
    bool text = true;
    if (bytes[0] != 0x78 || (count > 1 && memchr("\x01\x5e\x9c\xda", bytes[1], 4) == NULL))
        return NO;
    if (count <= 2)
        return PERHAPS;
    for (size_t i = 2; i < count && i < TOOL_PACKING_BYTES && text; i++)
        text = bytes[i] >= ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r');
    if (text || inflateInit(&stream) != Z_OK)
        return NO;
    const int result = inflate(&stream, Z_NO_FLUSH);
    inflateEnd(&stream);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return stream.total_out >= PROVEN ? YES : NO;
    return result == Z_STREAM_END || count >= ENOUGH ? YES : PERHAPS;
}

/* A header of digits alone, and behind it a name. Fewer digits: a line of them, perhaps. */
static enum verdict is_cpio(const unsigned char *bytes, size_t count)
{
    static const struct {
        const char *magic;
        const char *digits;
        size_t length;
    } forms[] = {{"070707", "01234567", 76},
                 {"070701", "0123456789abcdefABCDEF", 110},
                 {"070702", "0123456789abcdefABCDEF", 110}};
    enum verdict verdict = NO;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && verdict == NO; i++) {
        size_t at = 0;
        if (memcmp(bytes, forms[i].magic, count < 6 ? count : 6) != 0)
            continue;
        while (at < count && at < forms[i].length && bytes[at] != '\0' &&
               strchr(forms[i].digits, bytes[at]) != NULL)
            at++;
        if (at == forms[i].length && at < count)
            verdict = bytes[at] > ' ' ? YES : NO;
        else if (at == count)
            verdict = PERHAPS;
    }
    return verdict;
}

/* "ORC", and soon a byte that no text has: a control character other than white space, NUL, which
 * may end records, and escape. A line that ends before is one. */
static enum verdict is_orc(const unsigned char *bytes, size_t count)
{
    enum { ENOUGH = 19 };
    if (memcmp(bytes, "ORC", count < 3 ? count : 3) != 0)
        return NO;
    for (size_t i = 3; i < count && i < ENOUGH; i++)
        if ((bytes[i] >= 1 && bytes[i] <= 8) || (bytes[i] >= 14 && bytes[i] <= 26))
            return YES;
    return count >= ENOUGH || bytes[count - 1] == '\n' || bytes[count - 1] == '\0' ? NO : PERHAPS;
}

/* "REDIS" and four digits, or "VALKEY" and three; then, as a mark of what follows, a byte that no
 * UTF-8 text has there. */
static enum verdict is_redis(const unsigned char *bytes, size_t count)
{
    static const char *const marks[] = {"REDIS", "VALKEY"};
    enum { HEADER = 9 };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const size_t length = strlen(marks[i]), known = count < length ? count : length;
        if (memcmp(bytes, marks[i], known) != 0)
            continue;
        for (size_t at = known; at < count && at < HEADER; at++)
            if (bytes[at] < '0' || bytes[at] > '9')
                return NO;
        return count <= HEADER ? PERHAPS : bytes[HEADER] >= 0xf5 ? YES : NO;
    }
    return NO;
}

/* The protocol, from 2 on, and the opcode that the first value begins with; from 4 on, a frame. */
static enum verdict is_pickle(const unsigned char *bytes, size_t count)
{
    static const char opcodes[] = "}](cXUKMJG)NC\x88\x89\x8a\x8c";
    if (bytes[0] != 0x80 || (count > 1 && (bytes[1] < 2 || bytes[1] > 5)))
        return NO;
    if (count < 3)
        return PERHAPS;
    if (bytes[2] == 0x95)
        return bytes[1] >= 4 ? YES : NO;
    return memchr(opcodes, bytes[2], sizeof(opcodes) - 1) != NULL ? YES : NO;
}

/* "WARC/1.0" with the end of a line that text seldom has. */
static enum verdict is_warc(const unsigned char *bytes, size_t count)
{
    const size_t known = count < 5 ? count : 5;
    if (memcmp(bytes, "WARC/", known) != 0)
        return NO;
    for (size_t i = known; i < count && i < 10; i++)
        if (i == 6   ? bytes[i] != '.'
            : i == 8 ? bytes[i] != '\r'
            : i == 9 ? bytes[i] != '\n'
                     : bytes[i] < '0' || bytes[i] > '9')
            return NO;
    return count >= 10 ? YES : PERHAPS;
}

/* The first descriptor, behind sixteen sectors that are a system's own, and mostly NUL: its type,
 * the mark, the version. */
static enum verdict is_iso(const unsigned char *bytes, size_t count)
{
    enum { DESCRIPTOR = 32768 };
    const unsigned char *at = bytes + DESCRIPTOR;
    if (count >= DESCRIPTOR + 7)
        return (at[0] <= 3 || at[0] == 255) && memcmp(at + 1, "CD001", 5) == 0 && at[6] == 1 ? YES
                                                                                             : NO;
    const size_t zeros = count < TOOL_PACKING_BYTES ? count : TOOL_PACKING_BYTES;
    for (size_t i = 0; i < zeros; i++)
        if (bytes[i] != 0)
            return NO;
    return count < TOOL_PACKING_BYTES ? NO : PERHAPS;
}

/* ---- tar ------------------------------------------------------------------------------------- */

enum { TAR_NAME = 100, TAR_SUM = 148, TAR_SUM_BYTES = 8, TAR_BYTES = 512 };

/* A number as tar writes it: blanks, octal digits, and a blank or NUL, or nothing, behind. */
static bool tar_sum(const unsigned char *field, uint32_t *sum)
{
    size_t at = 0, digits = 0;
    *sum = 0;
    while (at < TAR_SUM_BYTES && field[at] == ' ')
        at++;
    for (; at < TAR_SUM_BYTES && field[at] >= '0' && field[at] <= '7'; at++, digits++)
        *sum = *sum * 8 + (field[at] - '0');
    return digits > 0 && (at == TAR_SUM_BYTES || field[at] == ' ' || field[at] == '\0');
}

/* Whether these could be the first bytes of a header: a name without newlines, and NULs behind it.
 * One NUL alone ends a record, rather. */
static bool could_be_tar(const unsigned char *bytes, size_t count)
{
    const size_t known = count < TAR_NAME ? count : TAR_NAME;
    if (bytes[0] == '\0' || memchr(bytes, '\n', known) != NULL)
        return false;
    const unsigned char *end = memchr(bytes, '\0', known);
    if (end == NULL)
        return true;
    for (const unsigned char *at = end; at < bytes + known; at++)
        if (*at != '\0')
            return false;
    return bytes + count - end > 1;
}

/* The sum of a header's bytes stands in it, taken with blanks in its own place. */
static enum verdict is_tar(const unsigned char *bytes, size_t count)
{
    uint32_t noted, sum = 0;
    if (!could_be_tar(bytes, count))
        return NO;
    if (count < TAR_BYTES)
        return PERHAPS;
    if (!tar_sum(bytes + TAR_SUM, &noted))
        return NO;
    for (size_t i = 0; i < TAR_BYTES; i++)
        sum += i >= TAR_SUM && i < TAR_SUM + TAR_SUM_BYTES ? ' ' : bytes[i];
    return sum == noted ? YES : NO;
}

/* ---- UTF-16 ---------------------------------------------------------------------------------- */

enum { SEEN_BYTES = 4096, SEEN_LEAST = 8 };

bool tool_utf16_is_marked(const unsigned char *bytes, size_t count)
{
    return count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}

const char *tool_utf16_seems(const unsigned char *bytes, size_t count)
{
    size_t nuls[2] = {0, 0};
    if (count > SEEN_BYTES)
        count = SEEN_BYTES;
    count &= ~(size_t)1;
    for (size_t i = 0; i < count; i++)
        nuls[i % 2] += bytes[i] == '\0';
    if (count < SEEN_LEAST || (nuls[0] > 0 && nuls[1] > 0))
        return NULL;
    if (nuls[1] >= count / 2 - count / 8)
        return "UTF-16LE";
    return nuls[0] >= count / 2 - count / 8 ? "UTF-16BE" : NULL;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* In the order in which they are tried: beginnings that say it all, of two that begin alike the
 * longer one first; then headers that are looked at more closely. */
static const struct {
    enum tool_packing packing;
    size_t length;
    const char *bytes;
    enum verdict (*look)(const unsigned char *bytes, size_t count); /* NULL: the bytes decide */
} types[] = {
    {TOOL_GZIP, 3, "\x1f\x8b\x08", NULL},
    {TOOL_ZSTD, 4, "\x28\xb5\x2f\xfd", NULL},
    {TOOL_XZ, 6, "\xfd\x37zXZ\0", NULL},
    {TOOL_LZ4, 4, "\x04\x22\x4d\x18", NULL},
    {TOOL_LZ4, 4, "\x02\x21\x4c\x18", NULL}, /* the format before the frames */
    {TOOL_LZIP, 5, "LZIP\1", NULL},
    {TOOL_LZIP, 5, "LZIP\0", NULL},
    {TOOL_LZOP, 9, "\x89LZO\0\r\n\x1a\n", NULL},
    {TOOL_ZIP, 4, "PK\3\4", NULL},
    {TOOL_ZIP, 4, "PK\5\6", NULL}, /* a zip file without members */
    {TOOL_SEVEN_ZIP, 6, "\x37z\xbc\xaf\x27\x1c", NULL},
    {TOOL_RAR, 7, "Rar!\x1a\7\0", NULL},
    {TOOL_RAR, 8, "Rar!\x1a\7\1\0", NULL},
    {TOOL_FILTER, 8,
     "\x89"
     "BLOOM\r\n",
     NULL},
    {TOOL_LRZIP, 5, "LRZI\0", NULL},
    {TOOL_RPM, 4, "\xed\xab\xee\xdb", NULL},
    {TOOL_AR, 8, "!<arch>\n", NULL},
    {TOOL_CAB, 8, "MSCF\0\0\0\0", NULL},
    {TOOL_XAR, 6, "xar!\0\x1c", NULL},
    {TOOL_SQLITE, 16, "SQLite format 3\0", NULL},
    {TOOL_PARQUET, 5, "PAR1\x15", NULL}, /* behind the mark, the first field of a page's header */
    {TOOL_ARROW, 8, "ARROW1\0\0", NULL},
    {TOOL_FEATHER, 8, "FEA1\0\0\0\0", NULL},
    {TOOL_AVRO, 4, "Obj\1", NULL},
    {TOOL_HDF5, 8, "\x89HDF\r\n\x1a\n", NULL},
    {TOOL_NUMPY, 6, "\x93NUMPY", NULL},
    {TOOL_JAVA, 4, "\xac\xed\0\5", NULL},
    {TOOL_PDF, 5, "%PDF-", NULL},
    {TOOL_ELF, 4,
     "\x7f"
     "ELF",
     NULL},
    {TOOL_IMAGE, 8, "\x89PNG\r\n\x1a\n", NULL},
    {TOOL_IMAGE, 4, "\xff\xd8\xff\xe0", NULL},
    {TOOL_IMAGE, 4, "\xff\xd8\xff\xe1", NULL},
    {TOOL_UTF32, 4, "\xff\xfe\0\0", NULL},
    {TOOL_UTF32, 4, "\0\0\xfe\xff", NULL},
    {TOOL_BZIP2, 0, NULL, is_bzip2},
    {TOOL_COMPRESS, 0, NULL, is_compress},
    {TOOL_LZMA, 0, NULL, is_lzma},
    {TOOL_CPIO, 0, NULL, is_cpio},
    {TOOL_TAR, 0, NULL, is_tar},
    {TOOL_SKIPPABLE, 0, NULL, is_skippable},
    {TOOL_ORC, 0, NULL, is_orc},
    {TOOL_WARC, 0, NULL, is_warc},
    {TOOL_ISO, 0, NULL, is_iso},
    {TOOL_ZLIB, 0, NULL, is_zlib},
    {TOOL_REDIS, 0, NULL, is_redis},
    {TOOL_PICKLE, 0, NULL, is_pickle},
};

enum tool_packing tool_packing_of(const unsigned char *bytes, size_t count, bool *undecided)
{
    *undecided = count == 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && count > 0; i++) {
        enum verdict verdict;
        if (types[i].look != NULL)
            verdict = types[i].look(bytes, count);
        else if (memcmp(bytes, types[i].bytes, count < types[i].length ? count : types[i].length) !=
                 0)
            verdict = NO;
        else
            verdict = count < types[i].length ? PERHAPS : YES;
        if (verdict == YES)
            return types[i].packing;
        *undecided = *undecided || verdict == PERHAPS;
    }
    return TOOL_PLAIN;
}

const char *tool_packing_name(enum tool_packing packing)
{
    static const char *const names[TOOL_PACKING_COUNT] = {
#define NAME(name, text) text,
        TOOL_PACKINGS(NAME)
#undef NAME
    };
    return names[packing];
}

const char *tool_packing_unpacker(enum tool_packing packing)
{
    static const char *const programs[TOOL_PACKING_COUNT] = {
        [TOOL_GZIP] = "gunzip",   [TOOL_ZSTD] = "unzstd",      [TOOL_XZ] = "unxz",
        [TOOL_BZIP2] = "bunzip2", [TOOL_LZ4] = "unlz4",        [TOOL_COMPRESS] = "uncompress",
        [TOOL_LZIP] = "lzip -d",  [TOOL_LZMA] = "unlzma",      [TOOL_LZOP] = "lzop -d",
        [TOOL_ZLIB] = "pigz -dz", [TOOL_SKIPPABLE] = "unzstd",
    };
    return programs[packing];
}

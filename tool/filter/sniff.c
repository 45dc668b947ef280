/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format is recognised by numbers that depend on each other: a rate between 0 and 1 in eight
 * bytes, a number of words that is the length of the file. Each of these tests passes for fewer
 * than one of a million files of random bytes. If the length is not known, only those decide that
 * do not need it.
 */
#include "filter/sniff.h"

#include "input/packing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* All dialects that are not in the table below, or only in part: ClickHouse's in the blocks of
 * their file, libbloom's of version 2, Parquet's with a header, sha384-slices' as Java's object. */
const char tool_looks_like_nothing[] =
    "clickhouse, clickhouse-index, leveldb, md5-chain, sha384-slices, sieve-murmur3, simple-hash, "
    "libbloom of version 1 and parquet without its header";

enum { PROBES_MAX = 1024 };

static uint64_t little(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

static uint64_t big(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | from[i];
    return value;
}

static double real(const unsigned char *from)
{
    const uint64_t bits = little(from, 8);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static bool is_rate(double rate)
{
    return rate > 1e-300 && rate < 1;
}

static bool probes_fit(uint64_t probes)
{
    return probes >= 1 && probes <= PROBES_MAX;
}

/* Returns whether a header and this number of words are the whole file. */
static bool is_whole(const struct tool_looked_at *at, uint64_t header, uint64_t words)
{
    return at->length_known && words > 0 && words <= at->bytes / 8 &&
           at->bytes == header + 8 * words;
}

/* ---- Formats --------------------------------------------------------------------------------- */

/* Size and probes follow from keys and rate, or, if a program gave them, the length from the size.
 * Data of its user may follow. */
static bool is_dcso(const struct tool_looked_at *at)
{
    const unsigned char *head = at->head;
    if (at->head_bytes < 48 || little(head, 8) != 1)
        return false;
    const double keys = (double)little(head + 8, 8), rate = real(head + 16);
    const double bits = (double)little(head + 32, 8), ln2 = log(2);
    const uint64_t probes = little(head + 24, 8), size = little(head + 32, 8);
    const uint64_t words = size / 64 + (size % 64 != 0);
    if (!probes_fit(probes) || size == 0)
        return false;
    if (is_whole(at, 48, words))
        return true;
    return keys > 0 && is_rate(rate) && fabs(bits + keys * log(rate) / (ln2 * ln2)) <= 2 &&
           fabs((double)probes - ln2 * bits / keys) <= 1 &&
           (!at->length_known || words <= at->bytes / 8);
}

/* Its second format: flags, capacity, rate, probes, keys, the bits of a cache; then, behind the
 * cache, how many buckets of 4096 bytes there are. */
static bool is_poppy(const struct tool_looked_at *at)
{
    const unsigned char *head = at->head;
    if (at->head_bytes < 56 || head[0] != 2 || little(head + 4, 4) != 0)
        return false;
    const uint64_t capacity = little(head + 8, 8), cache = little(head + 40, 8);
    const uint64_t buckets = little(head + 48, 8);
    if (capacity == 0 || !is_rate(real(head + 16)) || !probes_fit(little(head + 24, 8)) ||
        little(head + 32, 8) > capacity)
        return false;
    return !at->length_known ||
           (cache == 0 ? buckets > 0 && buckets <= at->bytes / 4096 : cache / 8 < at->bytes);
}

/* A total of keys, then layers: bytes and eight times as many bits, an error and the probes that
 * follow from its bits per key. */
static bool is_redisbloom(const struct tool_looked_at *at)
{
    const unsigned char *layer = at->head + 20;
    if (at->head_bytes < 73)
        return false;
    const uint64_t layers = little(at->head + 8, 4);
    const uint64_t options = little(at->head + 12, 4) & INT32_MAX; /* 2^31: with a seed */
    const uint64_t bytes = little(layer, 8);
    const double per_key = real(layer + 32);
    return layers >= 1 && layers <= PROBES_MAX && options < 16 && bytes > 0 &&
           bytes <= UINT64_MAX / 8 && little(layer + 8, 8) == 8 * bytes &&
           is_rate(real(layer + 24)) && per_key > 0 && per_key < PROBES_MAX &&
           fabs((double)little(layer + 40, 4) - ceil(per_key * log(2))) <= 1;
}

/* Keys in slots, a power of two of buckets, and tables that are the rest of the file. */
static bool is_redisbloom_cuckoo(const struct tool_looked_at *at)
{
    const unsigned char *head = at->head;
    if (at->head_bytes < 38)
        return false;
    const uint64_t buckets = little(head + 8, 8), tables = little(head + 24, 8);
    const uint64_t slots = little(head + 32, 2), growth = little(head + 36, 2);
    if (buckets == 0 || (buckets & (buckets - 1)) != 0 || slots == 0 || slots > UINT8_MAX ||
        buckets > UINT32_MAX / slots || little(head + 34, 2) == 0 || growth > 32768 ||
        (growth & (growth - 1)) != 0 || tables == 0 || tables > 65536 ||
        (growth == 0 && tables > 1))
        return false;
    uint64_t bytes = 0, table = buckets * slots;
    for (uint64_t i = 0; i < tables; i++) {
        if (table > UINT32_MAX)
            return false;
        bytes += table;
        table *= growth;
    }
    return little(head, 8) <= bytes && (!at->length_known || at->bytes == 38 + bytes);
}

static bool is_guava(const struct tool_looked_at *at)
{
    return at->head_bytes >= 6 && at->head[0] <= 1 && at->head[1] >= 1 &&
           is_whole(at, 6, big(at->head + 2, 4));
}

static bool is_spark(const struct tool_looked_at *at)
{
    if (at->head_bytes < 16 || !probes_fit(big(at->head + 4, 4)))
        return false;
    return (big(at->head, 4) == 1 && is_whole(at, 12, big(at->head + 8, 4))) ||
           (big(at->head, 4) == 2 && is_whole(at, 16, big(at->head + 12, 4)));
}

static bool is_cassandra(const struct tool_looked_at *at)
{
    return at->head_bytes >= 8 && probes_fit(big(at->head, 4)) &&
           is_whole(at, 8, big(at->head + 4, 4));
}

/* The size, the probes, and once more the size as the bitset's. */
static bool is_bits_and_blooms(const struct tool_looked_at *at, bool words_little)
{
    if (at->head_bytes < 24)
        return false;
    const uint64_t bits = big(at->head, 8);
    const uint64_t set = words_little ? little(at->head + 16, 8) : big(at->head + 16, 8);
    if (bits == 0 || bits != set || !probes_fit(big(at->head + 8, 8)) || bits > UINT64_MAX / 2)
        return false;
    return !at->length_known || is_whole(at, 24, (bits + 63) / 64);
}

static bool is_big_endian_blooms(const struct tool_looked_at *at)
{
    return is_bits_and_blooms(at, false);
}

static bool is_little_endian_blooms(const struct tool_looked_at *at)
{
    return is_bits_and_blooms(at, true);
}

/* Of one filter the rate decides the slices, and the length is that of all of them. */
static bool is_pybloom(const struct tool_looked_at *at)
{
    const unsigned char *head = at->head;
    if (at->head_bytes < 40)
        return false;
    const uint64_t slices = little(head + 8, 8), slice = little(head + 16, 8);
    if (!is_rate(real(head)) || !probes_fit(slices) || slice == 0 || slice > UINT64_MAX / 4096 ||
        little(head + 24, 8) == 0 || fabs((double)slices + log2(real(head))) > 1)
        return false;
    return !at->length_known || at->bytes == 40 + (slices * slice + 7) / 8;
}

/* Of a chain the factor, the ratio of rates, keys and rate, and the first length. */
static bool is_pybloom_chain(const struct tool_looked_at *at)
{
    const unsigned char *head = at->head;
    if (at->head_bytes < 40)
        return false;
    const double ratio = real(head + 4);
    const uint64_t scale = little(head, 4), filters = little(head + 28, 4);
    return scale >= 1 && scale <= 1024 && ratio > 0.001 && ratio <= 1 && little(head + 12, 8) > 0 &&
           is_rate(real(head + 20)) && filters >= 1 && filters <= PROBES_MAX &&
           little(head + 32, 8) > 40 && (!at->length_known || little(head + 32, 8) < at->bytes);
}

/* A message of two fields: probes, and words of 64 bits to the end of the file. */
static bool is_orc(const struct tool_looked_at *at)
{
    size_t next = 1;
    uint64_t values[2] = {0, 0};
    if (!at->length_known || at->head_bytes < 4 || at->head[0] != 0x08)
        return false;
    for (unsigned field = 0; field < 2; field++) {
        for (unsigned shift = 0; shift < 35 && next < at->head_bytes; shift += 7) {
            values[field] |= (uint64_t)(at->head[next] & 0x7f) << shift;
            if (at->head[next++] < 0x80)
                break;
        }
        if (field == 1 || next >= at->head_bytes || at->head[next] != 0x1a)
            break;
        next++;
    }
    if (!probes_fit(values[0]))
        return false;
    if (values[1] > 0)
        return values[1] % 8 == 0 && at->bytes == next + values[1];
    /* The older form: a tag before each word. */
    return next + 9 < at->head_bytes && at->head[next] == 0x11 && at->head[next + 9] == 0x11 &&
           (at->bytes - next) % 9 == 0;
}

/* The last five bytes: 255, 0, the probes, 0, 0, behind blocks of 64 bytes; or, of older releases,
 * probes and how many blocks of 64, 128 or 256 bytes there are. */
static bool is_rocksdb(const struct tool_looked_at *at)
{
    const unsigned char *tail = at->tail;
    if (!at->has_tail || !at->length_known || at->bytes <= TOOL_LOOK_TAIL)
        return false;
    const uint64_t bits = at->bytes - TOOL_LOOK_TAIL, blocks = little(tail + 1, 4);
    if (tail[0] == 0xff)
        return tail[1] == 0 && tail[2] >= 1 && tail[2] <= 30 && tail[3] == 0 && tail[4] == 0 &&
               bits % 64 == 0;
    return tail[0] >= 1 && tail[0] <= 30 && blocks > 0 &&
           (bits == 64 * blocks || bits == 128 * blocks || bits == 256 * blocks);
}

/* A block: a checksum, a method, and two lengths that agree. */
static bool is_clickhouse(const struct tool_looked_at *at)
{
    if (at->head_bytes < 26)
        return false;
    const uint64_t method = at->head[16], stored = little(at->head + 17, 4);
    const uint64_t payload = little(at->head + 21, 4);
    if (method == 0x02)
        return stored > 9 && payload == stored - 9 &&
               (!at->length_known || 16 + stored <= at->bytes);
    return (method == 0x82 || method == 0x90) && payload > 0 && at->length_known &&
           16 + stored == at->bytes;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Of an object that Java serialised, its class: the name stands behind the first eight bytes. */
static void name_java(const struct tool_looked_at *at, struct tool_look *look)
{
    char name[80] = "";
    const unsigned char *head = at->head;
    const size_t length =
        at->head_bytes > 8 && head[4] == 's' && head[5] == 'r' ? (size_t)big(head + 6, 2) : 0;
    if (length > 0 && length < sizeof(name) && 8 + length <= at->head_bytes) {
        memcpy(name, head + 8, length);
        name[length] = '\0';
    }
    for (size_t i = 0; name[i] != '\0'; i++)
        if (name[i] < ' ' || name[i] > '~')
            name[0] = '\0';
    const bool set = strcmp(name, "java.util.BitSet") == 0;
    look->reading = set ? "sha384-slices,variant=java" : NULL;
    snprintf(look->text, sizeof(look->text),
             "an object that Java serialized (ObjectOutputStream)%s%s%s",
             name[0] != '\0' ? ", of class " : "", name,
             set ? "" : "; the filter's own writeTo writes what guava and spark are read from");
}

/* UTF-8 without control characters but blanks and ends of lines, the last character perhaps cut.
 * A few bits may look so, too, but have no lines. */
static bool is_text(const struct tool_looked_at *at)
{
    unsigned left = 0; /* bytes that the character still has */
    if (at->head_bytes < TOOL_LOOK_HEAD && memchr(at->head, '\n', at->head_bytes) == NULL)
        return false;
    for (size_t i = 0; i < at->head_bytes; i++) {
        const unsigned char byte = at->head[i];
        const bool goes_on = (byte & 0xc0) == 0x80;
        if (goes_on != (left > 0) || byte >= 0xf8 || byte == 0x7f ||
            (byte < ' ' && (byte < '\t' || byte > '\r')))
            return false;
        if (goes_on)
            left--;
        else if (byte >= 0xc0)
            left = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    }
    return true;
}

bool tool_looks_like(const struct tool_looked_at *at, struct tool_look *look)
{
    static const struct {
        bool (*is)(const struct tool_looked_at *at);
        const char *text;    /* NULL: "a filter of" the dialect */
        const char *reading; /* NULL: none reads it */
    } formats[] = {
        {is_dcso, NULL, "dcso"},
        {is_poppy,
         "a filter of Poppy's own format, version 2, which is not read; those of its version 1 are "
         "dcso's",
         NULL},
        {is_redisbloom_cuckoo, NULL, "redisbloom-cuckoo"},
        {is_redisbloom, NULL, "redisbloom"},
        {is_pybloom, NULL, "pybloom-live"},
        {is_pybloom_chain, NULL, "pybloom-live"},
        {is_big_endian_blooms, NULL, "bits-and-blooms"},
        {is_little_endian_blooms, NULL, "bits-and-blooms,variant=little-endian"},
        {is_spark, NULL, "spark"},
        {is_cassandra, NULL, "cassandra"},
        {is_guava, NULL, "guava"},
        {is_orc, NULL, "orc"},
        {is_rocksdb, NULL, "rocksdb"},
        {is_clickhouse,
         "blocks of ClickHouse's, a skip index of type bloom_filter (others: clickhouse)",
         "clickhouse-index"},
        {is_text,
         "text. 'bloomery build -o FILTER' makes a filter of its lines, and 'bloomery dedupe "
         "--against' takes it as it is",
         NULL},
    };
    bool undecided;
    *look = (struct tool_look){.reading = NULL};
    const enum tool_packing packing = tool_packing_of(at->head, at->head_bytes, &undecided);
    if (packing == TOOL_JAVA) {
        name_java(at, look);
        return true;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].is(at)) {
            look->reading = formats[i].reading;
            if (formats[i].text != NULL)
                snprintf(look->text, sizeof(look->text), "%s", formats[i].text);
            else
                snprintf(look->text, sizeof(look->text), "a filter of %.*s",
                         (int)strcspn(look->reading, ","), look->reading);
            return true;
        }
    if (packing == TOOL_PLAIN || tool_packing_is_stream(packing) || packing == TOOL_FILTER)
        return false;
    snprintf(look->text, sizeof(look->text), "%s", tool_packing_name(packing));
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Bloom filters of Apache ORC: the protobuf message BloomFilter. A stream of an ORC file's row
 * index has one for each 10,000 rows.
 *
 *     08 k                          field 1, a varint: the number of probes
 *     1a length bytes               field 3: 8 W bytes; bit p is bit p & 7 of byte p >> 3. m = 64 W
 *
 * or, in streams of the old kind (BLOOM_FILTER instead of BLOOM_FILTER_UTF8), for the second line
 *
 *     11 word  11 word ..           field 2: W words of 64 bits, little-endian, each with its tag
 *
 * Fields in another order, unknown ones, and varints longer than necessary are refused. No ORC
 * writes them, and they would not be written again as they were.
 *
 * Bytes and texts (UTF-8) are hashed by one hash, whole numbers by another; the bytes do not tell
 * which. A hash h gives a and b, its low and its high half as signed numbers. Probe i = 1 .. k goes
 * to c = a + i b in 32 bits, ~c if that is negative, mod m. SQL's NULL has no bytes: its hash is
 * 2862933555777941757.
 *
 * Sizing: N = trunc(-n ln p / (ln2 ln2)), n < 1 counting as 1; m = N + (64 - N mod 64); k = max(1,
 * round(m / n ln2)).
 *
 * Known faults: m is N and 1 to 64 bits, even if N is a multiple of 64. k follows from m, so few
 * keys get many probes (44 of one key at any rate). Positions have 31 bits. The ORC for C++ 1.6.0
 * to 1.6.11 and 1.7.0 hashed numbers with shifts that do not copy the sign. So their filters miss
 * keys they have, and nothing in the bytes shows it.
 */
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "hash/murmur3.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hashes ------------------------------------------------------------------------------ */

/*
 * ORC's two hashes, 64 bits each.
 *
 * Of bytes: one lane of MurmurHash3 x64 128, which is not half of it. From h = 104729 on, 8 bytes
 * at a time as a little-endian word w,
 *
 *     h ^= rotl(w c1, 31) c2      h = rotl(h, 27) 5 + 0x52dce729
 *
 * then what is left, filled up with zeros, by the first step alone; h ^= length; finalised.
 *
 * Of whole numbers (and dates, and the bits of a double): Thomas Wang's mix of 64 bits, but with
 * right shifts that copy the sign. A key is a number in two's complement, least significant byte
 * first. Fewer than 8 bytes are widened with their sign, as ORC widens integers, and no byte past
 * the 8th counts.
 */

static const uint64_t seed = 104729;

static bloomery_hash of_bytes(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 8 * 8;
    uint64_t h = seed;
    (void)secret;
    for (size_t at = 0; at < whole; at += 8) {
        h ^= bloomery_murmur3_first(bloomery_load_u64(data + at));
        h = bloomery_rotate_64(h, 27) * 5 + 0x52dce729;
    }
    if (key.bytes > whole)
        h ^= bloomery_murmur3_first(bloomery_load_le(data + whole, (unsigned)(key.bytes - whole)));
    return (bloomery_hash){.lo = bloomery_fmix64(h ^ key.bytes)};
}

/* A right shift that copies the sign. */
static uint64_t shifted(uint64_t value, unsigned bits)
{
    assert(bits > 0 && bits < 64);
    return (uint64_t)((int64_t)value >> bits);
}

static bloomery_hash of_number(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const unsigned bytes = key.bytes < 8 ? (unsigned)key.bytes : 8;
    (void)secret;
    uint64_t k = bloomery_load_le(key.data, bytes);
    if (bytes > 0 && bytes < 8)
        k = shifted(k << (64 - 8 * bytes), 64 - 8 * bytes);
    k = ~k + (k << 21);
    k ^= shifted(k, 24);
    k += (k << 3) + (k << 8);
    k ^= shifted(k, 14);
    k += (k << 2) + (k << 4);
    k ^= shifted(k, 28);
    k += k << 31;
    return (bloomery_hash){.lo = k};
}

static const struct bloomery_hash_row orc_bytes = {
    .id = BLOOMERY_HASH_ORC_BYTES,
    .name = "orc-bytes",
    .available = true,
    .one = of_bytes,
};

static const struct bloomery_hash_row orc_long = {
    .id = BLOOMERY_HASH_ORC_LONG,
    .name = "orc-long",
    .available = true,
    .one = of_number,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

/* Variants are a hash and, from FIXED on, the old form. */
enum { KEYS_LONG = 1, FIXED = 2 };

/* The tags of the fields, and the most bytes of a varint of 32 bits, and of 64. */
enum { TAG_PROBES = 0x08, TAG_WORD = 0x11, TAG_BYTES = 0x1a, VARINT_32 = 5, VARINT_64 = 10 };

/* What of a filter's numbers comes before its bits. */
enum { HEADER_MAX = 1 + VARINT_32 + 1 + VARINT_64, TAGGED_WORD = 9 };

static const double bits_max = INT32_MAX;
static const uint64_t words_max = INT32_MAX;

static void lay_out(struct bloomery_design *design, int variant, uint64_t words, uint32_t probes)
{
    bloomery_design_flat(design, bloomery_dialect_orc.hashes[variant & KEYS_LONG],
                         &bloomery_scheme_flipped_double_32, words * 64, probes);
    /* All that the bytes say besides. */
    design->small[0] = variant >= FIXED;
    design->extra = design->small;
    design->extra_bytes = 1;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint64_t counted(uint64_t keys)
{
    return keys > 0 ? keys : 1;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    double bits = (double)given->bits;
    double probes = given->probes;
    if (given->bits == 0 && given->probes == 0) {
        const uint64_t keys = counted(given->keys);
        if (!(given->rate > 0 && given->rate < 1) || keys > INT64_MAX)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "ORC takes keys and a rate above 0 and below 1, or bits and "
                                 "probes");
        bits = bloomery_java_bits(keys, given->rate);
        bits += 64 - fmod(bits, 64);
        if (bits > bits_max)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "ORC counts bits in 31 bits: these keys at this rate need more");
        probes = bloomery_java_probes(bits, keys);
    }
    bloomery_status status =
        bloomery_java_check("ORC", ceil(bits / 64), probes, BLOOMERY_POSITIONS_MAX, error);
    if (status != BLOOMERY_OK)
        return status;
    lay_out(design, variant, (uint64_t)ceil(bits / 64), (uint32_t)probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *data;
    size_t bytes;
    size_t at;
};

/* Reads a varint of at most `most` bytes and no byte more than it needs. Returns false if there is
 * none. */
static bool read_varint(struct reader *reader, unsigned most, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < most && reader->at < reader->bytes; i++) {
        const uint8_t byte = reader->data[reader->at++];
        if (i == VARINT_64 - 1 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return i == 0 || byte > 0;
    }
    return false;
}

static size_t write_varint(uint8_t *to, uint64_t value)
{
    size_t bytes = 0;
    for (; value >= 0x80; value >>= 7)
        to[bytes++] = (uint8_t)(value | 0x80);
    to[bytes++] = (uint8_t)value;
    return bytes;
}

static bloomery_status cut_short(const struct reader *reader, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_TRUNCATED, reader->at,
                         "cut short, or no BloomFilter of ORC's: %zu bytes are not all of it",
                         reader->bytes);
}

static bloomery_status read_probes(struct reader *reader, uint64_t *probes, bloomery_error *error)
{
    if (reader->bytes > 0 && reader->data[0] != TAG_PROBES)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a BloomFilter of ORC's: that begins with byte 08, not %02x",
                             reader->data[0]);
    reader->at = 1;
    if (reader->bytes < 2 || !read_varint(reader, VARINT_32, probes))
        return cut_short(reader, error);
    if (*probes == 0 || *probes > INT32_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 1, "damaged: %llu probes",
                             (unsigned long long)*probes);
    if (*probes > BLOOMERY_POSITIONS_MAX)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 1,
                             "%llu probes for a key are more than the %d that can be served here",
                             (unsigned long long)*probes, BLOOMERY_POSITIONS_MAX);
    return BLOOMERY_OK;
}

/* One field of bytes to the end. */
static bloomery_status read_bytes(struct reader *reader, uint64_t *words, bloomery_error *error)
{
    uint64_t bytes;
    reader->at++;
    if (!read_varint(reader, VARINT_64, &bytes) || bytes > reader->bytes - reader->at)
        return cut_short(reader, error);
    if (bytes < reader->bytes - reader->at)
        return bloomery_fail(error, BLOOMERY_CORRUPT, reader->at + bytes,
                             "something follows the filter: %llu bytes of bits end before its "
                             "%zu bytes do",
                             (unsigned long long)bytes, reader->bytes);
    if (bytes == 0 || bytes % 8 != 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, reader->at,
                             "damaged: %llu bytes of bits are not whole words of 8",
                             (unsigned long long)bytes);
    *words = bytes / 8;
    return BLOOMERY_OK;
}

/* Tagged words to the end. */
static bloomery_status read_words(struct reader *reader, uint64_t *words, bloomery_error *error)
{
    const size_t left = reader->bytes - reader->at;
    for (size_t at = reader->at; at < reader->bytes; at += TAGGED_WORD)
        if (reader->data[at] != TAG_WORD)
            return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                                 "damaged, or something follows the filter: byte %zu is not the "
                                 "tag of a word",
                                 at);
    if (left % TAGGED_WORD != 0)
        return cut_short(reader, error);
    reader->at++;
    *words = left / TAGGED_WORD;
    return BLOOMERY_OK;
}

/* design->bits is behind the first tag. */
static void untag_words(const struct bloomery_design *design, uint32_t layer, uint8_t *to)
{
    for (uint64_t word = 0; word < design->bit_bytes[layer] / 8; word++)
        memcpy(to + word * 8, design->bits[layer] + word * TAGGED_WORD, 8);
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    struct reader reader = {.data = data, .bytes = bytes};
    uint64_t probes = 0;
    uint64_t words = 0;
    bloomery_status status = read_probes(&reader, &probes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (reader.at == bytes)
        return cut_short(&reader, error);
    const uint8_t tag = data[reader.at];
    if (tag != TAG_BYTES && tag != TAG_WORD)
        return bloomery_fail(error, BLOOMERY_CORRUPT, reader.at,
                             "damaged: behind the number of probes come bits, not a field with "
                             "tag %02x",
                             tag);
    if (variant >= FIXED && tag == TAG_BYTES)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, reader.at,
                             "the bits are one field of bytes, which is not %s", given->variant);
    status =
        tag == TAG_BYTES ? read_bytes(&reader, &words, error) : read_words(&reader, &words, error);
    if (status != BLOOMERY_OK)
        return status;
    if (words > words_max)
        return bloomery_fail(error, BLOOMERY_CORRUPT, reader.at, "damaged: more than 2^31-1 words");
    lay_out(design, (variant & KEYS_LONG) | (tag == TAG_WORD ? FIXED : 0), words, (uint32_t)probes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->gather = tag == TAG_WORD ? untag_words : NULL;
    design->bits[0] = data + reader.at;
    design->bit_bytes[0] = words * 8;
    assert(tag == TAG_BYTES ? reader.at + words * 8 == bytes
                            : reader.at - 1 + words * TAGGED_WORD == bytes);
    return BLOOMERY_OK;
}

/* `extra` may come from one of our files and be anything. */
static bool is_fixed(const bloomery_filter *filter)
{
    return filter->shape.dialect == BLOOMERY_DIALECT_ORC &&
           bloomery_cold_in(filter)->extra_bytes > 0 && bloomery_cold_in(filter)->extra[0] == 1;
}

static bloomery_status write_words(const struct bloomery_layer *layer,
                                   struct bloomery_emitter *emitter)
{
    enum { AT_ONCE = 256 };
    uint8_t room[AT_ONCE * TAGGED_WORD];
    const uint64_t words = layer->bits / 64;
    for (uint64_t word = 0; word < words; word += AT_ONCE) {
        const uint64_t now = words - word < AT_ONCE ? words - word : AT_ONCE;
        for (uint64_t i = 0; i < now; i++) {
            room[i * TAGGED_WORD] = TAG_WORD;
            memcpy(room + i * TAGGED_WORD + 1, layer->payload + (word + i) * 8, 8);
        }
        bloomery_status status = bloomery_emit(emitter, room, (size_t)(now * TAGGED_WORD));
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    uint8_t header[HEADER_MAX];
    size_t bytes = 0;
    assert(bloomery_dialect_fits(&bloomery_dialect_orc, filter, NULL) == BLOOMERY_OK);
    assert(layer->bits % 64 == 0);
    header[bytes++] = TAG_PROBES;
    bytes += write_varint(header + bytes, layer->probes);
    if (!is_fixed(filter)) {
        header[bytes++] = TAG_BYTES;
        bytes += write_varint(header + bytes, layer->bits / 8);
    }
    assert(bytes <= sizeof header);
    bloomery_status status = bloomery_emit(emitter, header, bytes);
    if (status != BLOOMERY_OK)
        return status;
    return is_fixed(filter)
               ? write_words(layer, emitter)
               : bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BYTES);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    return (filter->hash == &orc_long ? KEYS_LONG : 0) | (is_fixed(filter) ? FIXED : 0);
}

/* The intended size, if the added bits decided the number of probes, or if none were needed. */
static bool remark_size(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    struct bloomery_phrase phrase;
    if (layer->keys > INT64_MAX || !(layer->rate > 0 && layer->rate < 1))
        return false;
    const uint64_t keys = counted(layer->keys);
    const double meant = bloomery_java_bits(keys, layer->rate);
    const double probes = bloomery_java_probes(meant, keys);
    if (meant + (64 - fmod(meant, 64)) != (double)layer->bits ||
        bloomery_java_probes((double)layer->bits, keys) != layer->probes)
        return false; /* raw numbers */
    if (fmod(meant, 64) != 0 && probes == layer->probes)
        return false;
    snprintf(
        text, room,
        "ORC adds 1 to 64 bits to every size, and here %llu: %llu bits and %u probes of a key, "
        "where %llu bits and %u probes are meant to give %s",
        (unsigned long long)layer->bits - (unsigned long long)meant,
        (unsigned long long)layer->bits, layer->probes, (unsigned long long)meant, (unsigned)probes,
        bloomery_phrase_rate(&phrase, layer->rate));
    return true;
}

/* Of filters that came from bytes; those do not know what they were planned for. */
static bool remark_origin(const bloomery_filter *filter, char *text, size_t room)
{
    if (filter->layers[0].keys > 0 || filter->layers[0].rate > 0)
        return false;
    if (filter->hash == &orc_long)
        snprintf(text, room,
                 "ORC for C++ 1.6.0 to 1.6.11 and 1.7.0 hashed numbers in another way: their "
                 "filters say no to numbers that they contain, and nothing in the bytes shows it");
    else if (is_fixed(filter))
        snprintf(
            text, room,
            "in streams of the old kind, texts were hashed in the character set of the machine "
            "that wrote them, which need not have been UTF-8");
    else
        return false;
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_orc = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_ORC,
            .name = "orc",
            .description = "Apache ORC's message BloomFilter, one of a row index",
            .variants = "bytes, long, bytes-fixed64, long-fixed64",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"bytes", "long", "bytes-fixed64", "long-fixed64"},
    .hashes = {&orc_bytes, &orc_long},
    .schemes = {&bloomery_scheme_flipped_double_32},
    .others = "ORC has two hashes of its own and steps in 32 bits",
    .unit_bits = 64,
    .units_max = INT32_MAX,
    .sizes = "ORC's filters have whole words of 64 bits, 2^31-1 at most",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_java_remark, remark_size, remark_origin},
    .variant = variant_of,
};

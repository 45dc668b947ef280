/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our file, version 2 (docs/format.md is the specification). Only this folder knows its bytes.
 *
 *     0          header, 128 bytes: what it is, where the parts lie, its own checksum
 *     128        records: layers, key rule, secret, note
 *                zeros, up to a multiple of 64
 *     P          payload
 *     P + size   checksums: XXH3-64 of every 64 KiB of payload, then one over those
 */
#ifndef BLOOMERY_FORMAT_FORMAT_H
#define BLOOMERY_FORMAT_FORMAT_H

#include "kinds/filter.h"

#include <bloomery/records.h>

enum {
    BLOOMERY_FORMAT_VERSION = BLOOMERY_FILE_FORMAT,
    BLOOMERY_HEADER_BYTES = 128,
    BLOOMERY_PREFIX_MAX = 16384, /* everything before the payload */
    BLOOMERY_CHECKSUM_SPAN = 65536,
    BLOOMERY_EXTRA_MAX = 6144, /* of what another system's bytes say besides */
    BLOOMERY_RULE_KNOWN = 2 * BLOOMERY_RULE_ELSEWHERE - 1, /* all flags of key rules */
};

/* What the bytes before the payload say. */
struct bloomery_parsed {
    struct bloomery_shape shape; /* shape.layers points to `layers` */
    struct bloomery_checked_shape checked;
    struct bloomery_layer layers[BLOOMERY_CHAIN_MAX];
    uint64_t payload_offset;
    uint64_t payload_bytes;
    uint64_t file_bytes;
    uint64_t header_checksum; /* the seed of the payload's checksums */
    double wanted;            /* the rate that the plan was asked for; 0: not there */
    uint64_t removed;         /* of a cuckoo filter */
    uint32_t iterations;
    bool has_secret;
    uint8_t secret[BLOOMERY_SECRET_BYTES];
    bloomery_key_rule rule;
    const uint8_t *extra; /* in the prefix */
    size_t extra_bytes;
    const char *note; /* in the prefix, not NUL-terminated */
    size_t note_bytes;
};

/* Whether a key rule is one that this version knows: flags and bytes in their ranges, at most one
 * of lower, upper and hex, delimiter and CSV only with a field, which none lies elsewhere. */
static inline bool bloomery_rule_is_sound(const bloomery_key_rule *rule)
{
    static const uint32_t numbers = BLOOMERY_RULE_HEX | BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32;
    const uint32_t cases = rule->flags & (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | numbers);
    const uint32_t forms = rule->flags & (BLOOMERY_RULE_UTF16 | numbers);
    if ((rule->flags & ~(uint32_t)BLOOMERY_RULE_KNOWN) != 0 || (cases & (cases - 1)) != 0)
        return false;
    if ((forms & (forms - 1)) != 0)
        return false;
    if (rule->field != 0 && (rule->flags & BLOOMERY_RULE_ELSEWHERE) != 0)
        return false;
    if (rule->field == 0 && (rule->delimiter != 0 || (rule->flags & BLOOMERY_RULE_CSV) != 0))
        return false;
    return rule->delimiter <= 255 && rule->comment <= 255;
}

/*
 * Reads the prefix of a file that is `file_bytes` long: its first `prefix_bytes` bytes, all of them
 * or BLOOMERY_PREFIX_MAX. Checks, in this order and each with its own message: length, magic,
 * version, reserved bits, header checksum, records, every size against the file's, the shape. Rows
 * that are not ours are those of `foreign`. Allocates nothing.
 */
bloomery_status bloomery_format_parse(const uint8_t *prefix, size_t prefix_bytes,
                                      uint64_t file_bytes,
                                      const struct bloomery_foreign_rows *foreign,
                                      struct bloomery_parsed *parsed, bloomery_error *error);

/* Writes the bytes before the payload; `prefix` holds BLOOMERY_PREFIX_MAX. Returns their number and
 * gives the checksum in the header. */
size_t bloomery_format_prefix(const struct bloomery_filter *filter, uint8_t *prefix,
                              uint64_t *header_checksum);

/* Whether a filter has a file form: not if another system's bytes have more layers, or more beside
 * the filter, than fits. */
bloomery_status bloomery_format_check(const struct bloomery_filter *filter, bloomery_error *error);

/* The offset of the payload in the filter's file form. */
size_t bloomery_format_payload_offset(const struct bloomery_filter *filter);

/* The bytes of the checksums behind a payload. */
uint64_t bloomery_checksums_bytes(uint64_t payload_bytes);

/*
 * Walks a payload and its checksums together. `payload` and `checksums` (as in the file) must be
 * whole. BLOOMERY_CORRUPT with the offset in the file of the first damaged span.
 */
bloomery_status bloomery_checksums_verify(const uint8_t *payload, uint64_t payload_bytes,
                                          const uint8_t *checksums, uint64_t seed,
                                          uint64_t payload_offset, bloomery_error *error);

/* The same of spans [first, end), of BLOOMERY_CHECKSUM_SPAN bytes each; the checksums themselves
 * if `first` is 0. */
bloomery_status bloomery_checksums_verify_spans(const uint8_t *payload, uint64_t payload_bytes,
                                                const uint8_t *checksums, uint64_t seed,
                                                uint64_t payload_offset, uint64_t first,
                                                uint64_t end, bloomery_error *error);

/* Checks that no bit past the last cell is set in any layer: spare bits are zero in every file we
 * write. `payload_offset`: where the payload lies in it. */
bloomery_status bloomery_spare_bits_check(const struct bloomery_filter *filter,
                                          uint64_t payload_offset, bloomery_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys from records: lines, fields of CSV, hexadecimal digits, numbers, UTF-16.
 *
 * A filter keeps a bloomery_key_rule in its file (bloomery_info.rule). Programs that apply the rule
 * with bloomery_rule_apply make the keys that the command makes of the same lines.
 *
 * Threads, ownership, errors and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_RECORDS_H
#define BLOOMERY_RECORDS_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a rule. Of lower, upper, hex, int64 and int32 it has at most one, and so of hex, int64,
 * int32 and utf16. Filters whose rules differ only in crlf, skip_empty, csv, header, field,
 * delimiter and comment can be merged and compared: those say how records are laid out, the others
 * what the bytes of a key are. */
enum {
    BLOOMERY_RULE_TRIM = 1,        /* remove blanks at both ends */
    BLOOMERY_RULE_LOWER = 2,       /* make ASCII letters lower case */
    BLOOMERY_RULE_UPPER = 4,       /* make ASCII letters upper case */
    BLOOMERY_RULE_HEX = 8,         /* make bytes of pairs of hexadecimal digits */
    BLOOMERY_RULE_CRLF = 16,       /* remove a carriage return at the end */
    BLOOMERY_RULE_SKIP_EMPTY = 32, /* empty records have no key */
    BLOOMERY_RULE_CSV = 64,        /* fields are quoted as in CSV */
    /* Make 8 bytes, or 4, of a whole decimal number: two's complement, least significant first. */
    BLOOMERY_RULE_INT64 = 128,
    BLOOMERY_RULE_INT32 = 256,
    BLOOMERY_RULE_UTF16 = 512, /* make UTF-16 of UTF-8, the less significant byte of a unit first */
    /* The first record of each input names the fields and has no key. The caller leaves it out. */
    BLOOMERY_RULE_HEADER = 1024,
    /* The rule does not say where the key lies in a record: it is a field by its name, several
     * fields, or a member of JSON. bloomery_rule_apply refuses such a rule. Take the text of the
     * key out of the record yourself, then apply the rule without this flag. */
    BLOOMERY_RULE_ELSEWHERE = 2048,
};

/* What bloomery_rule_apply found in a record. */
typedef enum bloomery_record {
    BLOOMERY_RECORD_KEY = 1,      /* `key` is its key */
    BLOOMERY_RECORD_SKIPPED = 2,  /* a comment, or empty if the rule has SKIP_EMPTY */
    BLOOMERY_RECORD_NO_FIELD = 3, /* it has fewer fields */
    /* Its text does not have the form that HEX, INT64, INT32 or UTF16 requires; the error says
     * which. */
    BLOOMERY_RECORD_BAD = 4,
    /* No record can be read: the rule contradicts itself or has ELSEWHERE, or there is too little
     * room. The error says what. */
    BLOOMERY_RECORD_RULE_REFUSED = 5,
    /* Added to KEY, SKIPPED, NO_FIELD or BAD: the record ends within CSV quotes, which end there.
     * In files whose quoted fields go over several lines that is wrong, and what follows is wrong
     * too. */
    BLOOMERY_RECORD_OPEN_QUOTE = 8,
} bloomery_record;

/* Room that is enough for the key of a record of this many bytes, whatever the rule. */
#define BLOOMERY_RULE_ROOM(bytes) (4 * (size_t)(bytes) + 8)

/*
 * Makes the key of a record as the command does. The steps have a fixed order: crlf, comment,
 * field, trim, then hex or a number or case, utf16, skip_empty. A record is a line without its line
 * feed.
 *
 * `key` receives the key, or {NULL, 0} if there is none. Its bytes are those of the record, which
 * stays as it is, or of `out`, which has `room` bytes. A rule without csv, lower, upper, hex,
 * int64, int32 and utf16 needs no room, and `out` may be NULL.
 *
 * Any bytes may be a record. Allocates nothing; any thread; O(bytes).
 */
BLOOMERY_PUBLIC bloomery_record bloomery_rule_apply(const bloomery_key_rule *rule,
                                                    const void *record, size_t bytes, void *out,
                                                    size_t room, bloomery_key *key,
                                                    bloomery_error *error);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_RECORDS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them, and back. Nothing here depends on a locale.
 *
 *   count   20000000, 20_000_000, 20M, 2e7, 1.5k: a whole number; k, M, G, T (and P) are powers
 *           of 1000
 *   size    bytes: 512, 18MB, 2GB (powers of 1000), 512MiB, 512M, 2G (powers of 1024); a fraction
 *           of a byte is cut off
 *   rate    0.01, 1e-6, 0.01%, 1/1000
 *
 * The parsers return false, and leave the value alone, for an empty text, a sign, a blank, anything
 * after the number, an overflow.
 */
#ifndef BLOOMERY_TOOL_NUMBERS_H
#define BLOOMERY_TOOL_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

bool tool_parse_count(const char *text, uint64_t *value);
bool tool_parse_size(const char *text, uint64_t *value);
bool tool_parse_rate(const char *text, double *value);

/* The largest n and the range of p that a plan takes, as bloomery.h states them. */
#define TOOL_KEYS_MAX   (UINT64_C(1) << 48)
#define TOOL_MEMORY_MAX (UINT64_C(1) << 47)
#define TOOL_RATE_MIN   1e-15

/* The false-positive rate of `plan` and `build` if none is given. */
#define TOOL_RATE_DEFAULT  1e-4
#define TOOL_RATE_CUCKOO   0.02 /* of a cuckoo filter, which cannot have the other one */
#define TOOL_RATE_OF(kind) ((kind) == BLOOMERY_CUCKOO ? TOOL_RATE_CUCKOO : TOOL_RATE_DEFAULT)

/* The keys after which a scalable filter first grows, if their number is unknown: it takes some MB
 * then, and a billion keys are ten layers. */
#define TOOL_CHAIN_KEYS (UINT64_C(1) << 20)

/*
 * The same for the value of an option, range check included. `option` is the option as the user
 * writes it ("-n", "--memory"). If the text is not a number or out of range they print what the
 * option takes, with the try-line, and return false. Ranges include both ends, but a rate is always
 * TOOL_RATE_MIN to below 1, and a size (of memory) 1 to TOOL_MEMORY_MAX.
 */
bool tool_option_count(const char *option, const char *text, uint64_t least, uint64_t most,
                       uint64_t *value);
bool tool_option_small(const char *option, const char *text, uint32_t least, uint32_t most,
                       uint32_t *value); /* a count */
/* A number of seconds of `min` at least, or of another unit: 500ms, 30s, 5m, 1h, 2d. */
#define TOOL_SECONDS_SOME 1e-9
bool tool_option_seconds(const char *option, const char *text, double min, double *seconds);
bool tool_option_size(const char *option, const char *text, uint64_t *value);
bool tool_option_rate(const char *option, const char *text, double *value);

/* Formatters write into the caller's buffer of TOOL_NUMBER_BYTES bytes and return it. */
enum { TOOL_NUMBER_BYTES = 48 };

/* "20,000,000" */
const char *tool_format_count(char *buffer, uint64_t value);

/* "23.6 MiB", "512 bytes", "1.00 GiB": three digits, powers of 1024. */
const char *tool_format_size(char *buffer, uint64_t bytes);

/* A time in whole seconds with units: "45 s", "3 min 20 s", "2 h 5 min", "4 days 3 h". */
const char *tool_format_duration(char *buffer, double seconds);

/* "1 in 1,000", "1 in 2.5": three digits. "never" for 0, "always" for 1. */
const char *tool_format_odds(char *buffer, double rate);

/* "0.00998", "1e-06": three digits, as %.3g. */
const char *tool_format_rate(char *buffer, double rate);

/* The shortest decimal that reads back as exactly this double: for JSON and options to copy. */
const char *tool_format_exact(char *buffer, double value);

#endif /* BLOOMERY_TOOL_NUMBERS_H */

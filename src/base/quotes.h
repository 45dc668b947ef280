/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a quoted field of CSV ends (RFC 4180). Two quotes within quotes are one that belongs to the
 * field; a single one closes them.
 *
 *     "say ""no""",x      "two        a line end within quotes is a byte of the field
 *                 ^       lines",x
 *                                ^
 *
 * The library asks it of a whole record, to find its fields. The command asks it of bytes as they
 * are read, to find where records end, and may have to stop between two quotes.
 */
#ifndef BLOOMERY_BASE_QUOTES_H
#define BLOOMERY_BASE_QUOTES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Goes on within quotes, from behind the one that began them: to behind the one that closes them,
 * or to `end`. `behind_quote`: the byte before is a quote that closes unless another follows; false
 * to begin with. At `end` it tells whether they are closed there. */
static inline const unsigned char *bloomery_quotes_end(const unsigned char *at,
                                                       const unsigned char *end, bool *behind_quote)
{
    while (at < end && !(*behind_quote && *at != '"')) {
        at += *behind_quote;
        const unsigned char *quote = (const unsigned char *)memchr(at, '"', (size_t)(end - at));
        *behind_quote = quote != NULL;
        at = quote != NULL ? quote + 1 : end;
    }
    assert(at == end || *behind_quote);
    return at;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The canonicalisers that sieve.h offers by name. */
#ifndef BLOOMERY_SIEVE_CANON_H
#define BLOOMERY_SIEVE_CANON_H

#include <bloomery/sieve.h>

/* "url" and "url-query"; NULL for other names. They use no context, allocate nothing, and take time
 * linear in the key; given their own result they return it. They need `room` for one byte more than
 * the key has: with less, and for keys that are no absolute URLs, they return SIZE_MAX. */
bloomery_canonicaliser bloomery_canon_find(const char *name);

#endif

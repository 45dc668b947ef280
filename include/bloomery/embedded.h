/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library without an operating system: functions that the program around it must provide.
 *
 * Built with -Dsystem=none (a web page, a kernel, a small device), the library calls nothing but a
 * C library's memory, strings, printing into memory and mathematics, and what is declared here.
 * Such a build has no files: bloomery_open and bloomery_save return BLOOMERY_UNSUPPORTED, while
 * bloomery_view, bloomery_load and bloomery_write work as in other builds. It starts no threads:
 * functions that take a number of threads work in the calling thread. It does not have the sieve.
 *
 * The program that links the library defines these functions. They are not part of other builds.
 */
#ifndef BLOOMERY_EMBEDDED_H
#define BLOOMERY_EMBEDDED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills `bytes` (1 to 256) bytes with random ones that nobody can guess: secrets of keyed filters
 * are made of them. Returns 0, or another number if there are none: creating a keyed filter without
 * a secret then fails. */
int bloomery_embedded_random(void *to, size_t bytes);

/* Digests, by which some other systems hash keys. */
typedef enum bloomery_embedded_digest_id {
    BLOOMERY_EMBEDDED_MD5 = 0,    /* 16 bytes */
    BLOOMERY_EMBEDDED_SHA1 = 1,   /* 20 */
    BLOOMERY_EMBEDDED_SHA256 = 2, /* 32 */
    BLOOMERY_EMBEDDED_SHA384 = 3, /* 48 */
    BLOOMERY_EMBEDDED_SHA512 = 4, /* 64 */
} bloomery_embedded_digest_id;

/* A part of a message: `bytes` bytes, repeated `times` times. */
typedef struct bloomery_embedded_piece {
    const void *data;
    size_t bytes;
    size_t times;
} bloomery_embedded_piece;

/*
 * Writes the digest of a message to `digest`. The message is `count` pieces, one after the other;
 * without pieces it is empty. Returns 0, or another number if the platform does not have these
 * digests.
 *
 * Filters that hash by digests are then BLOOMERY_UNSUPPORTED: the library asks for each of the five
 * digests of the empty message before it makes or opens such a filter. Later calls must not fail. A
 * digest that did would be all zeros, and the filter's answers wrong.
 */
int bloomery_embedded_digest(bloomery_embedded_digest_id id, const bloomery_embedded_piece *pieces,
                             size_t count, void *digest);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library without an operating system: what the program around it has to give.
 *
 * Built with -Dsystem=none (a web page, a kernel, a small device), the library calls nothing but a
 * C library's memory, strings, printing into memory and mathematics, and what is declared here.
 * Such a build has no files: bloomery_open and bloomery_save return BLOOMERY_UNSUPPORTED, and
 * bloomery_view, bloomery_load and bloomery_write are the same as ever. It has no threads of its
 * own: what takes a number of threads works in the calling one. And it has no sieve.
 *
 * Whoever links the library defines these functions. They are not part of other builds.
 */
#ifndef BLOOMERY_EMBEDDED_H
#define BLOOMERY_EMBEDDED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills `bytes` (1 to 256) bytes with random ones that nobody can guess: secrets of keyed filters
 * are made of them. 0, or anything else if there are none: creating a keyed filter without a secret
 * then fails. */
int bloomery_embedded_random(void *to, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as other bytes, for systems that hash numbers, or texts in UTF-16. */
#ifndef BLOOMERY_KEY_FORMS_H
#define BLOOMERY_KEY_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* A whole decimal number, with a sign or without, as `width` (4 or 8) bytes in two's complement,
 * the least significant one first. False if the text is none, or one that does not fit. */
bool bloomery_form_number(const unsigned char *text, size_t bytes, size_t width, unsigned char *to);

/*
 * UTF-8 as UTF-16, the less significant byte of a unit first. Writes at most 2 * `bytes` bytes and
 * returns how many; BLOOMERY_FORM_NONE if the text is not UTF-8 in the shortest form. A surrogate
 * is taken as a unit: UTF-8 does not have it, but texts that were cut in UTF-16 do.
 */
#define BLOOMERY_FORM_NONE ((size_t)-1)
size_t bloomery_form_utf16(const unsigned char *text, size_t bytes, unsigned char *to);

#endif /* BLOOMERY_KEY_FORMS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as other bytes, for systems that hash numbers, or texts in UTF-16. */
#ifndef BLOOMERY_TOOL_KEY_FORMS_H
#define BLOOMERY_TOOL_KEY_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* A whole decimal number, with a sign or without, as `width` (4 or 8) bytes in two's complement, the
 * least significant one first. False where the text is none, or one that does not fit. */
bool tool_form_number(const unsigned char *text, size_t bytes, size_t width, unsigned char *to);

/*
 * UTF-8 as UTF-16, the less significant byte of a unit first. Writes at most 2 * `bytes` bytes and
 * returns how many; TOOL_FORM_NONE where the text is no UTF-8 in the shortest form. A surrogate, which
 * UTF-8 has not, but texts that were cut in UTF-16 do, is taken as a unit.
 */
#define TOOL_FORM_NONE ((size_t)-1)
size_t tool_form_utf16(const unsigned char *text, size_t bytes, unsigned char *to);

#endif /* BLOOMERY_TOOL_KEY_FORMS_H */

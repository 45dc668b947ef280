/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of the public interface that begin with their own size, so that they can grow. A caller
 * may have been built with an older header, whose struct is shorter, or with a newer one:
 *
 *     caller's   | size | a | b |            shorter: c is 0, and is not written back
 *     ours       | size | a | b | c |
 *     caller's   | size | a | b | c | d |    longer: d must be 0, and stays
 *
 * `first_bytes` is what version 0.1 had of a struct, the least that there is of it, and what a size
 * of 0 stands for; `bytes` is what this version has.
 */
#ifndef BLOOMERY_BASE_VERSIONED_H
#define BLOOMERY_BASE_VERSIONED_H

#include <bloomery/bloomery.h>

/* Whether a struct begins with a size that it can have, and has nothing set that this version does
 * not know. */
bool bloomery_versioned_is_known(const void *given, size_t first_bytes, size_t bytes);

/* Copies the caller's struct (NULL: one of zeros) over `ours`, whose size becomes `bytes`.
 * BLOOMERY_BAD_ARGUMENT for a size that it cannot have: the text names `initialiser`.
 * BLOOMERY_UNSUPPORTED if something is set that this version does not know. */
bloomery_status bloomery_versioned_read(const void *given, size_t first_bytes, void *ours,
                                        size_t bytes, const char *initialiser,
                                        bloomery_error *error);

/* BLOOMERY_UNSUPPORTED if reserved bytes are not 0: a later version has a field there. */
bloomery_status bloomery_versioned_reserved(const void *reserved, size_t bytes,
                                            bloomery_error *error);

/* Copies our struct to the caller's, as much as that has room for. The caller's size stays. One
 * that it cannot have, since the struct was not initialised, counts as `first_bytes`. */
void bloomery_versioned_give(const void *ours, size_t bytes, void *given, size_t first_bytes);

#endif /* BLOOMERY_BASE_VERSIONED_H */

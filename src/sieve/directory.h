/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a sieve: finding and locking it, and which of the names in it are ours. */
#ifndef BLOOMERY_SIEVE_DIRECTORY_H
#define BLOOMERY_SIEVE_DIRECTORY_H

#include "sieve/engine.h"

/* Opens the directory, made if need be, and locks it: alone, or with others that only read.
 * BLOOMERY_BUSY. */
bloomery_status bloomery_directory_enter(bloomery_sieve *sieve, bool existing,
                                         bloomery_error *error);

/* Makes the name of a new directory durable. */
bloomery_status bloomery_directory_sync_parent(const bloomery_sieve *sieve, bloomery_error *error);

/* Calls `take` for each name but . and .. until it says false; `all`: it never did. */
bloomery_status bloomery_directory_each(const bloomery_sieve *sieve,
                                        bool (*take)(void *context, const char *name),
                                        void *context, bool *all, bloomery_error *error);

/* A sieve that was being made when a crash came has left no more than a manifest without its name.
 * */
bool bloomery_directory_is_beginning(void *context, const char *name);

/* The kind of a file of ours by its name, and its numbers; false if it is none. */
bool bloomery_directory_take_apart(const char *name, enum bloomery_file_kind *kind,
                                   uint64_t *number, uint64_t *generation);

/* Whether it is a file of ours that the state does not name, or that a crash left unfinished. */
bool bloomery_directory_is_litter(const bloomery_sieve *sieve, const char *name);

/* Removes litter; what is not ours is left alone. */
bloomery_status bloomery_directory_tidy(bloomery_sieve *sieve, bloomery_error *error);

/* There is no MANIFEST. BLOOMERY_OK: a sieve can be made here. BLOOMERY_NOT_A_FILTER: it cannot, or
 * only what exists was asked for; whether this was a sieve is told. */
bloomery_status bloomery_directory_without_manifest(const bloomery_sieve *sieve, bool existing,
                                                    bloomery_error *error);

#endif

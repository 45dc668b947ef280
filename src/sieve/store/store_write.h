/* SPDX-License-Identifier: Apache-2.0 */
/* Writing several pieces of memory, one behind the other in the file, with one system call. */
#ifndef BLOOMERY_SIEVE_STORE_WRITE_H
#define BLOOMERY_SIEVE_STORE_WRITE_H

#include "sieve/store/store.h"

#include <sys/uio.h>

/* As bloomery_store_write. The pieces are used up. */
bloomery_status bloomery_store_write_pieces(struct bloomery_store *store,
                                            struct bloomery_store_file *file, uint64_t offset,
                                            struct iovec *pieces, int count, bloomery_error *error);

#endif

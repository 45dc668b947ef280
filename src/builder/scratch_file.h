/* SPDX-License-Identifier: Apache-2.0 */
/* A file that nobody else sees and that is gone with its descriptor, whatever ends the process. */
#ifndef BLOOMERY_BUILDER_SCRATCH_FILE_H
#define BLOOMERY_BUILDER_SCRATCH_FILE_H

#include <bloomery/bloomery.h>

/* For reading and writing, for its owner only. `file` is then the caller's to close. */
bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error);

#endif

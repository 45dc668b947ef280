/* SPDX-License-Identifier: Apache-2.0 */
/* How a function says why it failed. */
#ifndef BLOOMERY_BASE_ERROR_H
#define BLOOMERY_BASE_ERROR_H

#include <bloomery/bloomery.h>

/* Fills `error`, unless it is NULL, and returns `status`: `return bloomery_fail(error, ...)`.
 * Formats take integers and strings only: a decimal point would depend on the locale. */
__attribute__((format(printf, 4, 5))) bloomery_status bloomery_fail(bloomery_error *error,
                                                                    bloomery_status status,
                                                                    uint64_t offset,
                                                                    const char *format, ...);

/* The same for a failed system call: appends what errno means. */
__attribute__((format(printf, 3, 4))) bloomery_status
bloomery_fail_system(bloomery_error *error, int error_number, const char *format, ...);

#endif

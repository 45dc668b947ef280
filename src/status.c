/* SPDX-License-Identifier: Apache-2.0 */
/* The names of statuses, and the version. */
#include <bloomery/bloomery.h>

#include <stddef.h>

struct status_row {
    int value;
    const char *name;
};

static const struct status_row rows[] = {
#define ROW(name) {name, #name},
    ROW(BLOOMERY_OK) ROW(BLOOMERY_BAD_ARGUMENT) ROW(BLOOMERY_OUT_OF_MEMORY) ROW(BLOOMERY_IO_FAILED)
        ROW(BLOOMERY_NOT_A_FILTER) ROW(BLOOMERY_WRONG_VERSION) ROW(BLOOMERY_CORRUPT)
            ROW(BLOOMERY_TRUNCATED) ROW(BLOOMERY_MISMATCH) ROW(BLOOMERY_READ_ONLY)
                ROW(BLOOMERY_FULL) ROW(BLOOMERY_UNSUPPORTED) ROW(BLOOMERY_SECRET_NEEDED)
                    ROW(BLOOMERY_BUSY)
#undef ROW
};

const char *bloomery_status_name(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value == status)
            return rows[i].name;
    return NULL;
}

const char *bloomery_version(void)
{
    return BLOOMERY_VERSION;
}

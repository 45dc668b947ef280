/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sentences of statuses, and the version. */
#include <bloomery/bloomery.h>

struct status_row {
    int value;
    const char *name;
    const char *text;
};

static const struct status_row rows[] = {
#define ROW(name_, value_, text_) {value_, #name_, text_},
    BLOOMERY_STATUS_LIST(ROW)
#undef ROW
};

static const struct status_row *find(int status)
{
    static const struct status_row unknown = {0, "BLOOMERY_?", "unknown status"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value == status)
            return &rows[i];
    return &unknown;
}

const char *bloomery_status_name(int status)
{
    return find(status)->name;
}

const char *bloomery_status_text(int status)
{
    return find(status)->text;
}

const char *bloomery_version(void)
{
    return BLOOMERY_VERSION;
}

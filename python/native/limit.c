/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full filters: keys are added up to the limit that the command `add` has, and the next new one is
 * bloomery.Full; work.c does the adding.
 *
 * A scan of all bits finds how many more new keys fit at least (bloomery_keys_left). These are
 * added as fast as ever, and only counted. Then the bits are scanned again: some ten times in all,
 * since each scan covers most of what is left. Keys that the filter has are never refused.
 */
#include "native.h"

#include <string.h>

bool native_keeps_rate(const bloomery_info *info)
{
    return info->can_grow && info->kind != BLOOMERY_CUCKOO;
}

void native_limit_begin(struct native_limit *limit, const bloomery_info *info)
{
    const bool known = info->dialect == 0; /* other systems do not count adds */
    *limit = (struct native_limit){.applies =
                                       info->can_add && info->writable && !native_keeps_rate(info)};
    limit->checked = limit->applies;
    if (known && info->adds < info->planned_keys)
        limit->left = info->planned_keys - info->adds;
}

void native_limit_reset(struct native_limit *limit)
{
    limit->left = 0;
    limit->full = false;
}

bool native_limit_allows(struct native_limit *limit, const bloomery_filter *filter)
{
    if (limit->left == 0 && !limit->full) {
        limit->left = bloomery_keys_left(filter, 0);
        limit->full = limit->left == 0;
    }
    return limit->left > 0;
}

void native_limit_error(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &info);
    bloomery_scan(filter, &scan);
    const double twice = 2 * info.planned_rate;
    const bool asked = info.wanted_rate > twice;
    *error = (bloomery_error){.status = BLOOMERY_FULL};
    PyOS_snprintf(error->text, sizeof(error->text),
                  "the filter is full: planned for %llu keys, it has a rate of %.3g, and its limit "
                  "is %.3g (%s); make a larger one%s, or say full='ignore'",
                  (unsigned long long)info.planned_keys, scan.live_rate,
                  asked ? info.wanted_rate : twice,
                  asked ? "the rate it was made for" : "twice the planned rate",
                  info.kind == BLOOMERY_CUCKOO ? "" : ", or one with full='grow'");
}

bool native_full_take(const char *full, bool grows, bool *ignores)
{
    *ignores = strcmp(full, "ignore") == 0;
    if (*ignores || strcmp(full, "raise") == 0 || (grows && strcmp(full, "grow") == 0))
        return true;
    if (strcmp(full, "grow") == 0)
        PyErr_SetString(PyExc_ValueError, "this filter can't grow any more: make one with "
                                          "full='grow' and add the keys to that");
    else
        PyErr_Format(PyExc_ValueError, "full must be 'raise', 'grow' or 'ignore', not '%s'", full);
    return false;
}

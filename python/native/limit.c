/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full filters: keys are added up to the limit that the command `add` has, and the next new one is
 * bloomery.Full.
 *
 * A scan of all bits finds how many more new keys fit at least (bloomery_keys_left). These are
 * added as fast as ever, and only counted. Then the bits are scanned again: some ten times in all,
 * since each scan covers most of what is left. Keys that the filter has are never refused.
 */
#include "native.h"

#include <string.h>

void native_limit_begin(struct native_limit *limit, const bloomery_info *info)
{
    const bool known = info->dialect == 0; /* other systems do not count adds */
    *limit = (struct native_limit){.applies = info->can_add && info->writable && !info->can_grow};
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
                  "is %.3g (%s); make a larger one, or one with full='grow', or say full='ignore'",
                  (unsigned long long)info.planned_keys, scan.live_rate,
                  asked ? info.wanted_rate : twice,
                  asked ? "the rate it was made for" : "twice the planned rate");
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

/* ---- Many keys ------------------------------------------------------------------------------- */

static void put_bits(uint64_t *into, size_t at, const uint64_t *bits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[(at + i) / 64] |= (bits[i / 64] >> (i & 63) & 1) << ((at + i) & 63);
}

/* How many of the keys of a portion, from one on, change nothing: the filter has them. */
static size_t count_seen(const struct native_work *work, size_t from)
{
    const struct native_portion *portion = work->portion;
    size_t i = from;
    while (i < portion->count && bloomery_may_contain(work->filter->filter, portion->keys[i]))
        i++;
    return i - from;
}

bool native_limit_portion(struct native_work *work, uint64_t *answers, size_t *done)
{
    struct native_portion *portion = work->portion;
    struct native_limit *limit = work->limit;

    for (*done = 0; *done < portion->count;) {
        uint64_t bits[NATIVE_PORTION / 64] = {0};
        bloomery_counts counts;
        size_t now = portion->count - *done;
        if (!native_limit_allows(limit, work->filter->filter))
            now = count_seen(work, *done);
        else if (now > limit->left)
            now = (size_t)limit->left;
        if (now == 0) {
            native_limit_error(work->filter->filter, &work->error);
            return false;
        }
        const bloomery_keys keys = bloomery_keys_of_list(portion->keys + *done, now);
        const bloomery_status status =
            bloomery_add_keys(work->filter->writable, &keys, bits, &counts, &work->error);
        put_bits(answers, *done, bits, counts.done);
        native_limit_count(limit, counts.positive);
        work->yes += counts.positive;
        *done += counts.done;
        if (status != BLOOMERY_OK)
            return false;
    }
    return true;
}

static bool is_null(const bloomery_keys *keys, size_t number)
{
    const size_t bit = keys->first + number;
    const uint8_t *valid = keys->valid;
    return valid != NULL && (valid[bit >> 3] >> (bit & 7) & 1) == 0;
}

/* How many of the first records change nothing: nulls, and keys that the filter has. `answers` has
 * room for as many. False: `error` is set. */
static bool count_keys_seen(struct native_work *work, const bloomery_keys *keys, uint64_t *answers,
                            size_t *seen)
{
    bloomery_keys piece = *keys;
    piece.count = piece.count < NATIVE_PORTION ? piece.count : NATIVE_PORTION;
    if (bloomery_may_contain_keys(work->filter->filter, &piece, answers, NULL, &work->error) !=
        BLOOMERY_OK)
        return false;
    *seen = 0;
    while (*seen < piece.count &&
           ((answers[*seen / 64] >> (*seen & 63) & 1) != 0 || is_null(&piece, *seen)))
        ++*seen;
    return true;
}

bool native_limit_keys(struct native_work *work, const bloomery_keys *keys, uint64_t *answers)
{
    struct native_limit *limit = work->limit;
    bloomery_keys rest = *keys;
    bloomery_counts counts;

    while (rest.count > 0) {
        size_t now = rest.count;
        if (!native_limit_allows(limit, work->filter->filter)) {
            if (!count_keys_seen(work, &rest, answers, &now))
                return false;
        } else if (now > limit->left)
            now = (size_t)limit->left;
        if (now == 0) {
            native_limit_error(work->filter->filter, &work->error);
            return false;
        }
        bloomery_keys piece = rest;
        piece.count = now;
        const bloomery_status status =
            bloomery_add_keys(work->filter->writable, &piece, answers, &counts, &work->error);
        native_limit_count(limit, counts.positive);
        work->yes += counts.positive;
        work->seen += counts.done;
        if (status != BLOOMERY_OK)
            return false;
        if (work->keep && !native_bits_append(&work->bits, answers, now))
            return native_work_no_memory(work);
        rest.first += now;
        rest.count -= now;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One operation on a portion of keys, or on a chunk. */
#include "native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool native_work_no_memory(struct native_work *work)
{
    work->error = (bloomery_error){.status = BLOOMERY_OUT_OF_MEMORY, .text = "not enough memory"};
    return false;
}

static enum native_change change_of(const struct native_work *work)
{
    return work->verb == NATIVE_REMOVE ? NATIVE_CHANGE_REMOVE : NATIVE_CHANGE_ADD;
}

/* Keys that are sure to fit are added beside those of other threads. Else the filter has to be this
 * one's alone, since its bits may have to be scanned. */
bool native_work_enter(struct native_work *work, size_t count)
{
    const bool changes =
        work->verb == NATIVE_ADD || work->verb == NATIVE_BUILD || work->verb == NATIVE_REMOVE;
    struct native_limit *limit = work->limit;
    work->entered_alone = work->alone;
    while (native_gate_enter(work->gate, work->entered_alone)) {
        const bool open =
            work->verb == NATIVE_COLLECT ? *work->builder != NULL : work->filter->filter != NULL;
        if (open && ((changes && !native_filter_writable(work->filter, change_of(work))) ||
                     (work->watched != NULL && !native_watch_holds(work->watched)))) {
            native_gate_leave(work->gate, work->entered_alone);
            return false;
        }
        if (open && (limit == NULL || work->entered_alone))
            return true;
        if (open && count <= limit->left) {
            work->reserved = count;
            work->fresh_before = work->yes;
            limit->left -= count;
            return true;
        }
        native_gate_leave(work->gate, work->entered_alone);
        if (!open) {
            PyErr_SetString(PyExc_ValueError, "it was closed by another call");
            return false;
        }
        work->entered_alone = true;
    }
    return false;
}

void native_work_leave(struct native_work *work)
{
    if (work->reserved > 0) {
        const uint64_t fresh = work->yes - work->fresh_before;
        assert(fresh <= work->reserved);
        work->limit->left += work->reserved - fresh;
        work->reserved = 0;
    }
    native_gate_leave(work->gate, work->entered_alone);
}

/* Whether the limit has to be looked at while keys are added. */
static bool is_limited(const struct native_work *work)
{
    return work->limit != NULL && work->entered_alone;
}

void native_work_raise(struct native_work *work)
{
    PyObject *type, *value, *trace;
    if (work->filter != NULL && work->filter->filter != NULL)
        native_explain(work->filter->filter, change_of(work), &work->error);
    native_raise(work->state, &work->error, NULL);
    if (work->error.status != BLOOMERY_FULL || work->verb == NATIVE_COLLECT)
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *added = PyLong_FromSize_t(work->seen);
    PyObject *fresh = PyLong_FromSize_t(work->yes);
    if (value == NULL || added == NULL || fresh == NULL ||
        PyObject_SetAttrString(value, "offset", added) != 0 ||
        PyObject_SetAttrString(value, "added", added) != 0 ||
        PyObject_SetAttrString(value, "new", fresh) != 0)
        PyErr_Clear();
    Py_XDECREF(added);
    Py_XDECREF(fresh);
    PyErr_Restore(type, value, trace);
}

/* Has the library do all but HASH, where no limit has to be looked at. `done`: how many of the keys
 * it came to, unless it collects them. False: `error` is set. */
static bool run_keys(struct native_work *work, const bloomery_keys *keys, uint64_t *answers,
                     size_t *done)
{
    bloomery_counts counts = {0, 0, 0};
    bloomery_error *error = &work->error;
    bloomery_status status = BLOOMERY_OK;

    switch (work->verb) {
    case NATIVE_QUERY:
        status = bloomery_may_contain_keys(work->filter->filter, keys, answers, &counts, error);
        break;
    case NATIVE_ADD:
    case NATIVE_BUILD:
        status = bloomery_add_keys(work->filter->writable, keys, answers, &counts, error);
        break;
    case NATIVE_REMOVE:
        status = bloomery_remove_keys(work->filter->writable, keys, answers, &counts, error);
        break;
    case NATIVE_COLLECT:
        status = bloomery_builder_add(*work->builder, keys, error);
        break;
    case NATIVE_HASH:
        assert(false);
        break;
    }
    *done = counts.done;
    work->yes += counts.positive;
    return status == BLOOMERY_OK;
}

/* ---- Up to a full filter --------------------------------------------------------------------- */

/* Adds what fits of the closed portion; `answers` has room for all. False: `error` is set, and the
 * `done` keys before are added. */
static bool add_limited_portion(struct native_work *work, uint64_t *answers, size_t *done)
{
    struct native_portion *portion = work->portion;
    struct native_limit *limit = work->limit;

    for (*done = 0; *done < portion->count;) {
        uint64_t bits[NATIVE_PORTION / 64] = {0};
        bloomery_counts counts;
        size_t now = portion->count - *done;
        if (!native_limit_allows(limit, work->filter->filter)) {
            /* A full filter takes only keys that it has, which change nothing. */
            now = 0;
            while (*done + now < portion->count &&
                   bloomery_may_contain(work->filter->filter, portion->keys[*done + now]))
                now++;
        } else if (now > limit->left)
            now = (size_t)limit->left;
        if (now == 0) {
            native_limit_error(work->filter->filter, &work->error);
            return false;
        }
        const bloomery_keys keys = bloomery_keys_of_list(portion->keys + *done, now);
        const bloomery_status status =
            bloomery_add_keys(work->filter->writable, &keys, bits, &counts, &work->error);
        assert(counts.done <= now);
        for (size_t i = 0, at = *done; i < counts.done; i++, at++)
            answers[at / 64] |= (bits[i / 64] >> (i & 63) & 1) << (at & 63);
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

/* The same of keys where they are; work->seen counts the records that were added. */
static bool add_limited_keys(struct native_work *work, const bloomery_keys *keys, uint64_t *answers)
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

/* ---- A portion ------------------------------------------------------------------------------- */

/* Keeps one hash per record; a record without a key gets 0. */
static bool hash_keys(struct native_work *work)
{
    const struct native_portion *portion = work->portion;
    const bloomery_keys keys = bloomery_keys_of_list(portion->keys, portion->count);
    const size_t bytes = portion->records * sizeof(bloomery_hash);

    if (!native_arena_reserve(&work->hashes, bytes))
        return native_work_no_memory(work);
    void *out = work->hashes.bytes + work->hashes.used;
    bloomery_hash *hashes = out;
    if (bloomery_hash_keys(work->filter->filter, &keys, hashes, &work->error) != BLOOMERY_OK)
        return false;
    /* To their places, which are not before where they are: the last one first. */
    for (size_t key = portion->count, record = portion->records; key < record;) {
        record--;
        const bool is_key = key > 0 && portion->places[key - 1] == record;
        hashes[record] = is_key ? hashes[--key] : (bloomery_hash){0, 0};
    }
    work->hashes.used += bytes;
    assert(work->hashes.used <= work->hashes.room);
    return true;
}

/* Brings the answers of keys to the places of their records. */
static void scatter(struct native_portion *portion)
{
    uint64_t spread[NATIVE_PORTION / 64] = {0};
    if (portion->count == portion->records)
        return;
    assert(portion->count < portion->records && portion->records <= NATIVE_PORTION);
    for (size_t i = 0; i < portion->count; i++)
        if (portion->answers[i / 64] >> (i & 63) & 1)
            spread[portion->places[i] / 64] |= UINT64_C(1) << (portion->places[i] & 63);
    memcpy(portion->answers, spread, sizeof(spread));
}

bool native_work_portion(struct native_work *work)
{
    struct native_portion *portion = work->portion;
    uint64_t *answers = portion->answers;
    const bloomery_keys keys = bloomery_keys_of_list(portion->keys, portion->count);
    size_t done = 0;
    bool good;

    memset(answers, 0, sizeof(portion->answers));
    if (work->verb == NATIVE_HASH)
        good = hash_keys(work);
    else if (is_limited(work))
        good = add_limited_portion(work, answers, &done);
    else
        good = run_keys(work, &keys, answers, &done);
    if (!good) {
        if (done < portion->count)
            work->seen += portion->count == portion->records ? done : portion->places[done];
        return false;
    }
    scatter(portion);
    if (work->keep && !native_bits_append(&work->bits, answers, portion->records))
        return native_work_no_memory(work);
    work->seen += portion->records;
    return true;
}

/* ---- A chunk --------------------------------------------------------------------------------- */

/* Hashes keys where they are. */
static bool hash_where_they_are(struct native_work *work, const bloomery_keys *keys)
{
    const size_t bytes = keys->count * sizeof(bloomery_hash);
    if (!native_arena_reserve(&work->hashes, bytes))
        return native_work_no_memory(work);
    void *out = work->hashes.bytes + work->hashes.used;
    if (bloomery_hash_keys(work->filter->filter, keys, out, &work->error) != BLOOMERY_OK)
        return false;
    work->hashes.used += bytes;
    work->seen += keys->count;
    return true;
}

/* Adds keys where they are if a limit has to be looked at. */
static bool run_limited(struct native_work *work, bloomery_keys *keys)
{
    if (work->verb == NATIVE_BUILD && keys->count <= work->limit->left) {
        if (bloomery_add_keys(work->filter->writable, keys, NULL, NULL, &work->error) !=
            BLOOMERY_OK)
            return false;
        native_limit_count(work->limit, keys->count);
        work->seen += keys->count;
        return true;
    }
    keys->threads = 1; /* several give no answers */
    uint64_t *answers = calloc((keys->count + 63) / 64 + 1, sizeof(uint64_t));
    const bool good =
        answers == NULL ? native_work_no_memory(work) : add_limited_keys(work, keys, answers);
    free(answers);
    return good;
}

/* The library reads the array itself. Needs no GIL. */
static bool run_where_they_are(struct native_work *work, bloomery_keys *keys)
{
    uint64_t *answers = NULL;
    size_t done = 0;

    if (work->verb == NATIVE_BUILD)
        keys->threads = work->threads;
    if (work->verb == NATIVE_HASH)
        return hash_where_they_are(work, keys);
    if (is_limited(work))
        return run_limited(work, keys);
    if (work->keep) {
        answers = calloc((keys->count + 63) / 64 + 1, sizeof(uint64_t));
        if (answers == NULL)
            return native_work_no_memory(work);
    }
    bool good = run_keys(work, keys, answers, &done);
    work->seen += good ? keys->count : done;
    if (good && work->keep && !native_bits_append(&work->bits, answers, keys->count))
        good = native_work_no_memory(work);
    free(answers);
    return good;
}

static bool run_chunk(struct native_work *work, const struct native_chunk *chunk)
{
    bloomery_keys keys;
    if (native_chunk_keys(chunk, work->keying, &keys))
        return run_where_they_are(work, &keys);
    for (size_t from = 0; from < chunk->count; from += NATIVE_PORTION)
        if (!native_chunk_portion(chunk, work->keying, from, work->portion, &work->error) ||
            !native_work_portion(work))
            return false;
    return true;
}

bool native_work_chunk(struct native_work *work, const struct native_chunk *chunk)
{
    bool good = false;

    if (chunk->count == 0)
        return true;
    if (!native_work_enter(work, chunk->count))
        return false;
    if (chunk->count < NATIVE_RELEASE)
        good = run_chunk(work, chunk);
    else {
        Py_BEGIN_ALLOW_THREADS;
        good = run_chunk(work, chunk);
        Py_END_ALLOW_THREADS;
    }
    native_work_leave(work);
    if (!good)
        native_work_raise(work);
    return good;
}

void native_work_free(struct native_work *work)
{
    free(work->bits.words);
    free(work->hashes.bytes);
    work->bits.words = NULL;
    work->hashes.bytes = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One operation on a portion of keys, or on a chunk. */
#include "native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct native_work *work)
{
    work->error = (bloomery_error){.status = BLOOMERY_OUT_OF_MEMORY, .text = "not enough memory"};
    return false;
}

static bool status_only(struct native_work *work, int status)
{
    if (status == BLOOMERY_OK)
        return true;
    work->error = (bloomery_error){.status = (bloomery_status)status};
    PyOS_snprintf(work->error.text, sizeof(work->error.text), "%s", bloomery_status_text(status));
    return false;
}

/* Keys that are sure to fit are added beside those of other threads. Else the filter has to be this
 * one's alone, since its bits may have to be scanned. */
bool native_work_enter(struct native_work *work, size_t count)
{
    struct native_limit *limit = work->limit;
    work->entered_alone = work->alone;
    while (native_gate_enter(work->gate, work->entered_alone)) {
        const bool open =
            work->verb == NATIVE_COLLECT ? *work->builder != NULL : *work->filter != NULL;
        if (open && work->watched != NULL && !native_watch_holds(work->watched)) {
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
    if (work->filter != NULL && *work->filter != NULL)
        native_explain(*work->filter, work->verb == NATIVE_REMOVE, &work->error);
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

/* ---- A portion ------------------------------------------------------------------------------- */

static bool remove_keys(struct native_work *work, uint64_t *answers)
{
    const struct native_portion *portion = work->portion;
    memset(answers, 0, sizeof(portion->answers));
    for (size_t i = 0; i < portion->count; i++) {
        const int removed = bloomery_remove(*work->filter, portion->keys[i], NULL);
        if (removed < 0)
            return status_only(work, removed);
        answers[i / 64] |= (uint64_t)removed << (i & 63);
    }
    return true;
}

static size_t record_of(const struct native_portion *portion, size_t key)
{
    return portion->count == portion->records ? key : portion->places[key];
}

/* Hashes are kept per record; where there is no key they are 0. */
static bool hash_keys(struct native_work *work)
{
    const struct native_portion *portion = work->portion;
    bloomery_hash hashes[64];
    const size_t bytes = portion->records * sizeof(bloomery_hash);

    if (!native_arena_reserve(&work->hashes, bytes))
        return no_memory(work);
    unsigned char *out = work->hashes.bytes + work->hashes.used;
    memset(out, 0, bytes);
    for (size_t from = 0; from < portion->count; from += 64) {
        const size_t now = portion->count - from < 64 ? portion->count - from : 64;
        const int status = bloomery_hash_batch(*work->filter, portion->keys + from, now, hashes);
        if (status != BLOOMERY_OK)
            return status_only(work, status);
        for (size_t i = 0; i < now; i++)
            memcpy(out + record_of(portion, from + i) * sizeof(bloomery_hash), &hashes[i],
                   sizeof(bloomery_hash));
    }
    work->hashes.used += bytes;
    return true;
}

/* Brings the answers of keys to the places of their records. */
static void scatter(struct native_portion *portion)
{
    uint64_t spread[NATIVE_PORTION / 64] = {0};
    if (portion->count == portion->records)
        return;
    for (size_t i = 0; i < portion->count; i++)
        if (portion->answers[i / 64] >> (i & 63) & 1)
            spread[portion->places[i] / 64] |= UINT64_C(1) << (portion->places[i] & 63);
    memcpy(portion->answers, spread, sizeof(spread));
}

static bool add_keys(struct native_work *work, uint64_t *answers, size_t *done)
{
    struct native_portion *portion = work->portion;
    if (is_limited(work))
        return native_limit_portion(work, answers, done);
    return bloomery_add_some(*work->filter, portion->keys, portion->count, answers, NULL, done,
                             &work->error) == BLOOMERY_OK;
}

bool native_work_portion(struct native_work *work)
{
    struct native_portion *portion = work->portion;
    uint64_t *answers = portion->answers;
    size_t done = 0;
    bool good = true;

    memset(answers, 0, sizeof(portion->answers));
    switch (work->verb) {
    case NATIVE_QUERY:
        bloomery_may_contain_batch(*work->filter, portion->keys, portion->count, answers);
        break;
    case NATIVE_ADD:
    case NATIVE_BUILD:
        good = add_keys(work, answers, &done);
        break;
    case NATIVE_REMOVE:
        good = remove_keys(work, answers);
        break;
    case NATIVE_HASH:
        good = hash_keys(work);
        break;
    case NATIVE_COLLECT:
        good = bloomery_builder_add(*work->builder, portion->keys, portion->count, &work->error) ==
               BLOOMERY_OK;
        break;
    }
    work->yes += native_count_bits(answers, portion->count);
    if (!good) {
        work->seen += done < portion->count ? record_of(portion, done) : 0;
        return false;
    }
    scatter(portion);
    if (work->keep && !native_bits_append(&work->bits, answers, portion->records))
        return no_memory(work);
    work->seen += portion->records;
    return true;
}

/* ---- A chunk --------------------------------------------------------------------------------- */

/* Adds a column where a limit has to be looked at. */
static bool run_limited(struct native_work *work, const bloomery_column *column)
{
    if (work->verb == NATIVE_BUILD && column->count <= work->limit->left) {
        if (bloomery_add_column_parallel(*work->filter, column, work->threads, &work->error) !=
            BLOOMERY_OK)
            return false;
        native_limit_count(work->limit, column->count);
        work->seen += column->count;
        return true;
    }
    uint64_t *answers = calloc((column->count + 63) / 64 + 1, sizeof(uint64_t));
    const bool good =
        answers == NULL ? no_memory(work) : native_limit_column(work, column, answers);
    free(answers);
    return good;
}

/* The library reads the array itself. Needs no GIL. */
static bool run_column(struct native_work *work, const bloomery_column *column)
{
    bloomery_error *error = &work->error;
    uint64_t *answers = NULL;
    bloomery_status status = BLOOMERY_OK;
    size_t found = 0;
    const size_t words = (column->count + 63) / 64;

    if (work->verb == NATIVE_ADD || work->verb == NATIVE_REMOVE || work->keep) {
        answers = calloc(words + 1, sizeof(uint64_t));
        if (answers == NULL)
            return no_memory(work);
    }
    switch (work->verb) {
    case NATIVE_QUERY:
        status = bloomery_may_contain_column(*work->filter, column, answers, &found, error);
        break;
    case NATIVE_ADD:
        status = bloomery_add_column(*work->filter, column, answers, NULL, error);
        found = native_count_bits(answers, column->count);
        break;
    case NATIVE_BUILD:
        status = bloomery_add_column_parallel(*work->filter, column, work->threads, error);
        break;
    case NATIVE_REMOVE:
        status = bloomery_remove_column(*work->filter, column, answers, &found, error);
        break;
    case NATIVE_HASH:
        if (!native_arena_reserve(&work->hashes, column->count * sizeof(bloomery_hash))) {
            free(answers);
            return no_memory(work);
        }
        status = bloomery_hash_column(*work->filter, column,
                                      (void *)(work->hashes.bytes + work->hashes.used), error);
        work->hashes.used += column->count * sizeof(bloomery_hash);
        break;
    case NATIVE_COLLECT:
        status = bloomery_builder_add_column(*work->builder, column, error);
        break;
    }
    bool good = status == BLOOMERY_OK;
    work->yes += found;
    work->seen += good ? column->count : 0;
    if (good && work->keep && !native_bits_append(&work->bits, answers, column->count))
        good = no_memory(work);
    free(answers);
    return good;
}

static bool run_chunk(struct native_work *work, const struct native_chunk *chunk)
{
    bloomery_column column;
    if (!work->by_portions && native_chunk_column(chunk, work->keying, &column))
        return is_limited(work) ? run_limited(work, &column) : run_column(work, &column);
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

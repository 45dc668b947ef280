/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portion of keys that the library cannot read where they are: objects of a list, NumPy's padded
 * strings, small integers, and all keys of a filter with a rule. They are gathered as records, the
 * rule is applied, and what remains are keys for a batch.
 */
#include "native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool native_arena_reserve(struct native_arena *arena, size_t bytes)
{
    if (bytes <= arena->room - arena->used)
        return true;
    if (bytes > SIZE_MAX / 4 - arena->used)
        return false;
    const size_t wanted = 2 * (arena->used + bytes) + 4096;
    unsigned char *larger = realloc(arena->bytes, wanted);
    if (larger == NULL)
        return false;
    arena->bytes = larger;
    arena->room = wanted;
    assert(arena->room - arena->used >= bytes);
    return true;
}

void native_portion_begin(struct native_portion *portion)
{
    assert(portion->holds == 0);
    portion->records = portion->count = 0;
    portion->texts.used = portion->made.used = 0;
    portion->plain = true;
}

void native_portion_point(struct native_portion *portion, const void *data, size_t bytes)
{
    const size_t i = portion->records++;
    assert(i < NATIVE_PORTION);
    portion->keys[i] = bloomery_key_of(data, bytes);
    portion->copies[i] = 0;
}

void native_portion_nothing(struct native_portion *portion)
{
    native_portion_point(portion, NULL, 0);
    portion->plain = false;
}

void native_portion_integer(struct native_portion *portion, uint64_t key, size_t bytes)
{
    assert(portion->records < NATIVE_PORTION && (bytes == 4 || bytes == 8));
    uint64_t *place = &portion->integers[portion->records];
    *place = key;
    native_portion_point(portion, place, bytes);
}

bool native_portion_copy(struct native_portion *portion, const void *data, size_t bytes)
{
    struct native_arena *texts = &portion->texts;
    if (!native_arena_reserve(texts, bytes + 1)) /* also an empty one has an address */
        return false;
    if (bytes > 0)
        memcpy(texts->bytes + texts->used, data, bytes);
    native_portion_point(portion, texts->bytes, bytes);
    portion->copies[portion->records - 1] = 1 + texts->used;
    portion->plain = false;
    texts->used += bytes;
    assert(texts->used <= texts->room);
    return true;
}

bool native_portion_take(struct native_portion *portion, const struct native_keying *keying,
                         PyObject *object)
{
    struct native_bytes taken;

    assert(portion->holds <= portion->records && portion->records < NATIVE_PORTION);
    if (PyUnicode_CheckExact(object)) { /* most are */
        Py_ssize_t bytes = 0;
        const char *text = PyUnicode_AsUTF8AndSize(object, &bytes);
        if (text == NULL)
            return false;
        native_portion_point(portion, text, (size_t)bytes);
        portion->held[portion->holds++] = Py_NewRef(object);
        return true;
    }
    if (!native_bytes_take(object, keying, &taken))
        return false;
    if (taken.is_integer) {
        native_portion_integer(portion, taken.integer, keying->integer_bytes);
        return true;
    }
    if (taken.has_buffer) { /* its owner may change it, so it is not kept */
        const bool copied = native_portion_copy(portion, taken.key.data, taken.key.bytes);
        native_bytes_release(&taken);
        if (!copied)
            PyErr_NoMemory();
        return copied;
    }
    native_portion_point(portion, taken.key.data, taken.key.bytes);
    portion->held[portion->holds++] = Py_NewRef(object);
    return true;
}

static bool is_integer(const struct native_portion *portion, size_t record)
{
    return portion->keys[record].data == &portion->integers[record];
}

/* Applies the rule to the texts. What it makes lies in `made`, and its places are kept in
 * `copies`. */
static bool apply_rule(struct native_portion *portion, const struct native_keying *keying,
                       bloomery_error *error)
{
    struct native_arena *made = &portion->made;
    for (size_t i = 0; i < portion->records; i++) {
        bloomery_key key = portion->keys[i];
        if (key.data == NULL || is_integer(portion, i))
            continue;
        if (key.bytes > SIZE_MAX / 16 ||
            !native_arena_reserve(made, BLOOMERY_RULE_ROOM(key.bytes))) {
            *error =
                (bloomery_error){.status = BLOOMERY_OUT_OF_MEMORY, .text = "not enough memory"};
            portion->bad = i;
            return false;
        }
        unsigned char *out = made->bytes + made->used;
        const unsigned found = bloomery_rule_apply(&keying->rule, portion->keys[i].data, key.bytes,
                                                   out, BLOOMERY_RULE_ROOM(key.bytes), &key, error);
        if (keying->lines &&
            (found == BLOOMERY_RECORD_SKIPPED || found == BLOOMERY_RECORD_NO_FIELD)) {
            portion->keys[i].data = NULL;
            continue;
        }
        if (found != BLOOMERY_RECORD_KEY) {
            if (found == (BLOOMERY_RECORD_KEY | BLOOMERY_RECORD_OPEN_QUOTE))
                PyOS_snprintf(error->text, sizeof(error->text),
                              "a quoted field does not end with its line: use 'bloomery add'");
            portion->bad = i;
            error->status = BLOOMERY_BAD_ARGUMENT;
            return false;
        }
        /* Without a change the key is a part of the record. */
        assert(key.bytes <= made->room - made->used);
        if (key.bytes > 0 && key.data != out)
            memcpy(out, key.data, key.bytes);
        portion->keys[i].bytes = key.bytes;
        portion->copies[i] = 1 + made->used;
        made->used += key.bytes;
    }
    return true;
}

bool native_portion_close(struct native_portion *portion, const struct native_keying *keying,
                          bloomery_error *error)
{
    bool good = true;
    if (portion->plain && !keying->has_rule) {
        portion->count = portion->records;
        return true;
    }
    for (size_t i = 0; i < portion->records; i++)
        if (portion->copies[i] != 0)
            portion->keys[i].data = portion->texts.bytes + portion->copies[i] - 1;
    const unsigned char *base = portion->texts.bytes;
    if (keying->has_rule) {
        for (size_t i = 0; i < portion->records; i++)
            portion->copies[i] = 0;
        good = apply_rule(portion, keying, error);
        if (!good) /* those before the bad one are keys */
            portion->records = portion->bad;
        base = portion->made.bytes;
    }
    for (size_t i = 0; i < portion->records; i++) {
        if (portion->keys[i].data == NULL)
            continue;
        bloomery_key key = portion->keys[i];
        if (portion->copies[i] != 0)
            key.data = base + portion->copies[i] - 1;
        portion->places[portion->count] = (uint16_t)i;
        portion->keys[portion->count++] = key;
    }
    assert(portion->count <= portion->records);
    return good;
}

void native_portion_let_go(struct native_portion *portion)
{
    while (portion->holds > 0)
        Py_DECREF(portion->held[--portion->holds]);
}

void native_portion_free(struct native_portion *portion)
{
    if (portion == NULL)
        return;
    native_portion_let_go(portion);
    free(portion->texts.bytes);
    free(portion->made.bytes);
    free(portion);
}

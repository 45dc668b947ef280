/* SPDX-License-Identifier: Apache-2.0 */
#include "base/versioned.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

/* Longer than any version's struct will be: what is longer begins with something else. */
enum { SIZED_BYTES_MAX = 4096 };

static const char unknown_field[] = "a field is set that this version of the library does not have";

/* The bytes that the caller's struct has; 0 if it begins with something else than a size. */
static size_t given_bytes(const void *given, size_t first_bytes)
{
    size_t bytes;
    memcpy(&bytes, given, sizeof bytes);
    if (bytes == 0)
        return first_bytes;
    return bytes >= first_bytes && bytes <= SIZED_BYTES_MAX ? bytes : 0;
}

bool bloomery_versioned_is_known(const void *given, size_t first_bytes, size_t bytes)
{
    const size_t end = given_bytes(given, first_bytes);
    for (size_t i = bytes; i < end; i++)
        if (((const uint8_t *)given)[i] != 0)
            return false;
    return end > 0;
}

bloomery_status bloomery_versioned_read(const void *given, size_t first_bytes, void *ours,
                                        size_t bytes, const char *initialiser,
                                        bloomery_error *error)
{
    assert(first_bytes >= sizeof(size_t) && first_bytes <= bytes && bytes <= SIZED_BYTES_MAX);
    assert(given != ours);
    memset(ours, 0, bytes);
    if (given != NULL) {
        const size_t end = given_bytes(given, first_bytes);
        if (end == 0)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "the struct does not begin with its size: initialise it with %s",
                                 initialiser);
        if (!bloomery_versioned_is_known(given, first_bytes, bytes))
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "%s", unknown_field);
        memcpy(ours, given, end < bytes ? end : bytes);
    }
    memcpy(ours, &bytes, sizeof bytes);
    return BLOOMERY_OK;
}

bloomery_status bloomery_versioned_reserved(const void *reserved, size_t bytes,
                                            bloomery_error *error)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)reserved)[i] != 0)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "%s", unknown_field);
    return BLOOMERY_OK;
}

void bloomery_versioned_give(const void *ours, size_t bytes, void *given, size_t first_bytes)
{
    const size_t size = sizeof(size_t); /* stays */
    const size_t theirs = given_bytes(given, first_bytes);
    const size_t room = theirs > 0 ? theirs : first_bytes;
    const size_t end = room < bytes ? room : bytes;
    if (end > size)
        memcpy((uint8_t *)given + size, (const uint8_t *)ours + size, end - size);
}

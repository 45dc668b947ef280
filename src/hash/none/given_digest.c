/* SPDX-License-Identifier: Apache-2.0 */
/* hash/digest.h where the program that the library is built into gives the digests. */
#include "hash/digest.h"

#include <bloomery/embedded.h>

#include <assert.h>
#include <string.h>

/* A message is kept as its pieces. One that is added again and again, as a chain of digests does,
 * is one piece. */
struct message {
    size_t count;
    bloomery_embedded_piece pieces[BLOOMERY_DIGEST_PIECES];
};

_Static_assert(sizeof(struct message) <= BLOOMERY_DIGEST_STATE, "a message fits");
_Static_assert(_Alignof(struct message) <= 16, "and lies well");
_Static_assert((int)BLOOMERY_EMBEDDED_MD5 == (int)BLOOMERY_DIGEST_MD5 &&
                   (int)BLOOMERY_EMBEDDED_SHA1 == (int)BLOOMERY_DIGEST_SHA1 &&
                   (int)BLOOMERY_EMBEDDED_SHA256 == (int)BLOOMERY_DIGEST_SHA256 &&
                   (int)BLOOMERY_EMBEDDED_SHA384 == (int)BLOOMERY_DIGEST_SHA384 &&
                   (int)BLOOMERY_EMBEDDED_SHA512 == (int)BLOOMERY_DIGEST_SHA512,
               "the numbers are the same inside and outside");

bool bloomery_digest_ready(void)
{
    uint8_t digest[BLOOMERY_DIGEST_MAX];
    for (int id = BLOOMERY_EMBEDDED_MD5; id <= BLOOMERY_EMBEDDED_SHA512; id++)
        if (bloomery_embedded_digest((bloomery_embedded_digest_id)id, NULL, 0, digest) != 0)
            return false;
    return true;
}

void bloomery_digest_begin(struct bloomery_digest *digest, enum bloomery_digest_id id)
{
    const struct message empty = {.count = 0};
    digest->id = id;
    memcpy(digest->state, &empty, sizeof empty);
}

void bloomery_digest_add(struct bloomery_digest *digest, const void *data, size_t bytes)
{
    struct message message;
    if (bytes == 0)
        return;
    memcpy(&message, digest->state, sizeof message);
    bloomery_embedded_piece *last = message.pieces + message.count - (message.count > 0);
    if (message.count > 0 && last->data == data && last->bytes == bytes) {
        last->times++;
    } else {
        assert(message.count < BLOOMERY_DIGEST_PIECES);
        message.pieces[message.count++] = (bloomery_embedded_piece){data, bytes, 1};
    }
    memcpy(digest->state, &message, sizeof message);
}

void bloomery_digest_get(const struct bloomery_digest *digest, uint8_t *result)
{
    struct message message;
    memcpy(&message, digest->state, sizeof message);
    memset(result, 0, bloomery_digest_bytes(digest->id));
    const int failed = bloomery_embedded_digest((bloomery_embedded_digest_id)digest->id,
                                                message.pieces, message.count, result);
    assert(failed == 0);
    (void)failed;
}

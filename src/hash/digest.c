/* SPDX-License-Identifier: Apache-2.0 */
/* hash/digest.h with libcrypto, loaded at run time. */
#include "hash/digest.h"

#include "base/load.h"

#include <assert.h>
#include <string.h>

#ifdef BLOOMERY_HAVE_LIBCRYPTO

#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/md5.h>
#include <openssl/opensslv.h>
#include <openssl/sha.h>
#include <pthread.h>

#define TEXT_OF(number)   #number
#define SONAME_OF(number) "libcrypto.so." TEXT_OF(number)

/* Id, state, the first words of its three functions' names. SHA-384 is SHA-512 with another
 * beginning and end. */
#define DIGESTS(ROW)                                \
    ROW(BLOOMERY_DIGEST_MD5, MD5_CTX, MD5)          \
    ROW(BLOOMERY_DIGEST_SHA1, SHA_CTX, SHA1)        \
    ROW(BLOOMERY_DIGEST_SHA256, SHA256_CTX, SHA256) \
    ROW(BLOOMERY_DIGEST_SHA384, SHA512_CTX, SHA384) \
    ROW(BLOOMERY_DIGEST_SHA512, SHA512_CTX, SHA512)

/* The addresses of the functions of libcrypto, and functions of one type around them all. */
#define DEFINE(id, state_, name)                                                          \
    _Static_assert(sizeof(state_) <= BLOOMERY_DIGEST_STATE, "a state of libcrypto fits"); \
    _Static_assert(_Alignof(state_) <= 16, "and lies well");                              \
    static struct {                                                                       \
        __typeof__(name##_Init) *begin;                                                   \
        __typeof__(name##_Update) *add;                                                   \
        __typeof__(name##_Final) *end;                                                    \
    } name##_found;                                                                       \
    static int name##_begin(void *state)                                                  \
    {                                                                                     \
        return name##_found.begin(state);                                                 \
    }                                                                                     \
    static int name##_add(void *state, const void *data, size_t bytes)                    \
    {                                                                                     \
        return name##_found.add(state, data, bytes);                                      \
    }                                                                                     \
    static int name##_end(uint8_t *result, void *state)                                   \
    {                                                                                     \
        return name##_found.end(result, state);                                           \
    }
DIGESTS(DEFINE)

static const struct {
    int (*begin)(void *state);
    int (*add)(void *state, const void *data, size_t bytes);
    int (*end)(uint8_t *result, void *state);
} digests[] = {
#define ROW(id, state, name) [id] = {name##_begin, name##_add, name##_end},
    DIGESTS(ROW)
#undef ROW
};

static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const struct bloomery_wanted wanted[] = {
#define WANTED(id, state, name)                                                 \
    {#name "_Init", &name##_found.begin}, {#name "_Update", &name##_found.add}, \
        {#name "_Final", &name##_found.end},
        DIGESTS(WANTED)
#undef WANTED
    };
    loaded = bloomery_load_library(SONAME_OF(OPENSSL_SHLIB_VERSION), wanted,
                                   sizeof wanted / sizeof wanted[0]) == NULL;
}

bool bloomery_digest_ready(void)
{
    return pthread_once(&once, load) == 0 && loaded;
}

/* These fail for no reason that their manual knows of. */
static void must(int result)
{
    assert(result == 1);
    (void)result;
}

void bloomery_digest_begin(struct bloomery_digest *digest, enum bloomery_digest_id id)
{
    assert(loaded && bloomery_digest_bytes(id) > 0);
    digest->id = id;
    must(digests[id].begin(digest->state));
}

void bloomery_digest_add(struct bloomery_digest *digest, const void *data, size_t bytes)
{
    assert(loaded && bloomery_digest_bytes(digest->id) > 0);
    if (bytes > 0)
        must(digests[digest->id].add(digest->state, data, bytes));
}

void bloomery_digest_get(const struct bloomery_digest *digest, uint8_t *result)
{
    struct bloomery_digest copy = *digest; /* ending it spoils it */
    assert(loaded);
    must(digests[digest->id].end(result, copy.state));
}

#else

/* Never called: the rows of hashes say that they are not available. */

bool bloomery_digest_ready(void)
{
    return false;
}

void bloomery_digest_begin(struct bloomery_digest *digest, enum bloomery_digest_id id)
{
    assert(false);
    memset(digest, 0, sizeof *digest);
    digest->id = id;
}

void bloomery_digest_add(struct bloomery_digest *digest, const void *data, size_t bytes)
{
    (void)digest;
    (void)data;
    (void)bytes;
}

void bloomery_digest_get(const struct bloomery_digest *digest, uint8_t *result)
{
    memset(result, 0, bloomery_digest_bytes(digest->id));
}

#endif

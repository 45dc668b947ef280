/* SPDX-License-Identifier: Apache-2.0 */
/* What a program gives to the library without a system; here there is one. The digests are
 * libcrypto's where it was built with them. */
#include <bloomery/embedded.h>

#include <stdint.h>
#include <sys/random.h>

#ifdef BLOOMERY_TEST_DIGESTS
#include <openssl/evp.h>
#endif

int bloomery_embedded_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, 0) == (ssize_t)bytes ? 0 : -1;
}

#ifdef BLOOMERY_TEST_DIGESTS

int bloomery_embedded_digest(bloomery_embedded_digest_id id, const bloomery_embedded_piece *pieces,
                             size_t count, void *digest)
{
    const EVP_MD *const kinds[] = {EVP_md5(), EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()};
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int good = context != NULL && EVP_DigestInit_ex(context, kinds[id], NULL);
    for (size_t i = 0; i < count; i++)
        for (size_t times = 0; times < pieces[i].times; times++)
            good = good && EVP_DigestUpdate(context, pieces[i].data, pieces[i].bytes);
    good = good && EVP_DigestFinal_ex(context, digest, NULL);
    EVP_MD_CTX_free(context);
    return good ? 0 : -1;
}

#else

int bloomery_embedded_digest(bloomery_embedded_digest_id id, const bloomery_embedded_piece *pieces,
                             size_t count, void *digest)
{
    (void)id;
    (void)pieces;
    (void)count;
    (void)digest;
    return -1;
}

#endif

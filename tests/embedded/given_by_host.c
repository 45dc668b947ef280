/* SPDX-License-Identifier: Apache-2.0 */
/* What a program in WebAssembly gives to the library: the digests of the host, run.mjs. No filter
 * here is keyed. */
#include <bloomery/embedded.h>

__attribute__((import_module("bloomery"), import_name("digest"))) extern int
host_digest(int id, const bloomery_embedded_piece *pieces, size_t count, void *digest);

int bloomery_embedded_random(void *to, size_t bytes)
{
    (void)to;
    (void)bytes;
    return -1;
}

int bloomery_embedded_digest(bloomery_embedded_digest_id id, const bloomery_embedded_piece *pieces,
                             size_t count, void *digest)
{
    return host_digest((int)id, pieces, count, digest);
}

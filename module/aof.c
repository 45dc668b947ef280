/* SPDX-License-Identifier: Apache-2.0 */
/* The AOF gets a key as BF.LOADCHUNK commands: the header, and its bits in chunks of 16 MiB. A
 * migration of slots by commands is the same to us. */
#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <assert.h>
#include <bloomery/experimental.h>

void bf_aof_rewrite(server_io *io, server_string *key, void *value)
{
    const struct bf_value *held = value;
    uint64_t iterator = 1;
    const void *data;
    size_t bytes;
    data = bf_header(held, &bytes);
    while (iterator != 0) {
        server.EmitAOF(io, bf_names->loadchunk, "slb", key, (long long)iterator, data, bytes);
        const bloomery_status status = bloomery_redisbloom_scandump(held->filter, iterator, NULL,
                                                                    &data, &bytes, &iterator, NULL);
        assert(status == BLOOMERY_OK);
        (void)status;
    }
}

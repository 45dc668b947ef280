/* SPDX-License-Identifier: Apache-2.0 */
#include "base/entropy.h"

#include <assert.h>
#include <sys/random.h>
#include <unistd.h>

bool bloomery_random(void *to, size_t bytes)
{
    assert(bytes <= 256); /* as many come whole */
#if defined(__APPLE__)
    return getentropy(to, bytes) == 0; /* there is no getrandom there */
#else
    return getrandom(to, bytes, 0) == (ssize_t)bytes;
#endif
}

/* SPDX-License-Identifier: Apache-2.0 */
/* base/entropy.h where the program that the library is built into gives it. */
#include "base/entropy.h"

#include <bloomery/embedded.h>

#include <assert.h>

bool bloomery_random(void *to, size_t bytes)
{
    assert(bytes <= 256);
    return bloomery_embedded_random(to, bytes) == 0;
}

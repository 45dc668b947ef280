/* SPDX-License-Identifier: Apache-2.0 */
/* What a program gives to the library without a system; here there is one. */
#include <bloomery/embedded.h>

#include <stdint.h>
#include <sys/random.h>

int bloomery_embedded_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, 0) == (ssize_t)bytes ? 0 : -1;
}

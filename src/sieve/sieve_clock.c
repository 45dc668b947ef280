/* SPDX-License-Identifier: Apache-2.0 */
/* The clock on the wall. */
#include "sieve/engine.h"

#include <time.h>

/* A clock that was never set may stand before 1970: it counts as 1970, for leases end at no
 * negative time. */
double bloomery_sieve_wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0 ? 0 : (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads are worth making. */
#include <bloomery/bloomery.h>

#include "base/workers.h"

uint32_t bloomery_threads(void)
{
    return bloomery_processors();
}

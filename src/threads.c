/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads are worth making. */
#include <bloomery/bloomery.h>

#include <sched.h>
#include <unistd.h>

uint32_t bloomery_threads(void)
{
    /* The processors that this process may use, not those of the machine: taskset and cpusets give
     * it some of them. A quota of processor time, as containers have, is not seen. The call fails
     * on machines with more than the 1024 of a cpu_set_t. */
    cpu_set_t set;
    CPU_ZERO(&set);
    long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : sysconf(_SC_NPROCESSORS_ONLN);
    return count >= 1 && count <= UINT16_MAX ? (uint32_t)count : 1;
}

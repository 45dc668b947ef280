/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a program of a user does: scripts/check-plain and scripts/check-install build it
 * as such a user would. */
#include <bloomery/bloomery.h>

int main(void)
{
    bloomery_filter *filter = bloomery_new(1000, 0.01, NULL);
    if (filter == NULL)
        return 1;
    bloomery_key here = {"here", 4};
    bloomery_key gone = {"gone", 4};
    if (bloomery_may_contain(filter, here) || !bloomery_add(filter, here, NULL))
        return 2;
    if (!bloomery_may_contain(filter, here) || bloomery_may_contain(filter, gone))
        return 3;
    bloomery_free(filter);
    return 0;
}

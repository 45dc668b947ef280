/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_BATCH_H
#define WEB_BATCH_H

#include <bloomery/bloomery.h>

/* Adds or looks up keys, as bloomery_add_keys and bloomery_may_contain_keys with the number of
 * positive answers. False: nothing was done, since the filter or a key is not a usual one. */
bool web_usual_keys(bloomery_filter *filter, bool adding, const bloomery_keys *keys,
                    uint64_t *answers, size_t *positive);

#endif

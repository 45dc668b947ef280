/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of each kind with keys in it, chains that grew and chains that were merged included: for
 * what must hold whatever a filter is made of. */
#ifndef TESTS_SPECIMENS_H
#define TESTS_SPECIMENS_H

#include "support.h"

enum {
    TEST_GROWN = TEST_SHAPES, /* a scalable filter with several layers */
    TEST_MERGED,              /* two such, merged: the first layer comes to lie last */
    TEST_KEYED,               /* a blocked filter with a secret, if this build has them */
    TEST_SPECIMENS,
};

const char *test_specimen_name(size_t index);

/* The options may be NULL. At least 4,000 keys make the chains grow. */
bloomery_filter *test_specimen(size_t index, const bloomery_create_options *options,
                               const struct test_keys *keys);

#endif

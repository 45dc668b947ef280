/* SPDX-License-Identifier: Apache-2.0 */
#include "specimens.h"

#include <bloomery/records.h>

const char *test_specimen_name(size_t index)
{
    static const char *const names[] = {"grown", "merged", "keyed"};
    return index < TEST_SHAPES ? test_shapes[index].name : names[index - TEST_SHAPES];
}

static bloomery_filter *chain(uint64_t planned, const bloomery_create_options *options,
                              bloomery_key *keys, size_t count)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = planned, .rate = 0.01};
    const struct test_keys some = {.count = count, .keys = keys};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&plan, options);
    test_add_all(filter, &some);
    return filter;
}

bloomery_filter *test_specimen(size_t index, const bloomery_create_options *given,
                               const struct test_keys *keys)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "a shared secret!";
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    if (given != NULL)
        options = *given;
    options.note = "a note";
    options.rule.flags = BLOOMERY_RULE_TRIM;
    if (index == TEST_GROWN)
        return chain(500, &options, keys->keys, keys->count);
    if (index == TEST_MERGED) {
        const size_t half = keys->count / 2;
        bloomery_create_options plain = BLOOMERY_CREATE_OPTIONS;
        plain.rule = options.rule;
        bloomery_filter *into = chain(4000, &options, keys->keys, half);
        bloomery_filter *from = chain(300, &plain, keys->keys + half, keys->count - half);
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        bloomery_free(from);
        return into;
    }
    if (index == TEST_KEYED && test_keyed())
        options.secret = secret;
    const size_t shape = index == TEST_KEYED ? 1 : index;
    const bloomery_plan plan = test_plan(&test_shapes[shape], keys->count, 0.01);
    bloomery_filter *filter = test_create(&plan, &options);
    test_add_all(filter, keys);
    return filter;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See columns.h. */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

static struct test_fence fence_of(const uint8_t *data, size_t bytes, bool shifted)
{
    uint8_t *copy = calloc(1, bytes + 1);
    assert_non_null(copy);
    if (bytes > 0)
        memcpy(copy, data, bytes);
    struct test_fence fence = test_fence_make(copy, bytes + shifted);
    free(copy);
    return fence;
}

/* Of 41 lengths, and one beyond all short ways; from column to column some keys are the same. */
static void describe(struct test_column *sample, const struct test_column_spec *spec, size_t count,
                     uint64_t seed)
{
    sample->plain = calloc(count + 1, TEST_COLUMN_KEY_MAX);
    assert_non_null(sample->plain);
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = test_below(&seed, spec->count + 1);
        uint8_t *to = sample->plain + i * TEST_COLUMN_KEY_MAX;
        size_t bytes = number % 50 == 7 ? TEST_COLUMN_KEY_MAX : test_mix(number) % 41;
        if (spec->form == BLOOMERY_KEYS_FIXED)
            bytes = spec->width;
        for (size_t j = 0; j < bytes; j++)
            to[j] = (uint8_t)test_mix(number * TEST_COLUMN_KEY_MAX + j);
        sample->all[i] = bloomery_key_of(to, bytes);
    }
}

static void lay_fixed(struct test_column *sample, const struct test_column_spec *spec, size_t count)
{
    const size_t stride = spec->width + spec->gap;
    const size_t bytes = count > 0 ? (count - 1) * stride + spec->width : 0;
    uint8_t *data = malloc(bytes + 1);
    assert_non_null(data);
    memset(data, 0x5e, bytes + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * stride, sample->all[i].data, spec->width);
    sample->data = fence_of(data, bytes, false);
    sample->column.width = spec->width;
    sample->column.stride = spec->gap > 0 ? stride : 0;
    sample->column.bytes = bytes;
    free(data);
}

/* The first key does not begin where the data does. */
static void lay_offsets(struct test_column *sample, const struct test_column_spec *spec,
                        size_t count)
{
    const size_t size = spec->form == BLOOMERY_KEYS_OFFSETS32 ? 4 : 8;
    uint8_t *data = calloc(count + 1, TEST_COLUMN_KEY_MAX);
    uint8_t *offsets = calloc(count + 1, size);
    assert_true(data != NULL && offsets != NULL);
    int64_t end = count > 0 ? 5 : 0;
    for (size_t i = 0; i <= count; i++) {
        const int32_t narrow = (int32_t)end;
        memcpy(offsets + i * size, size == 4 ? (const void *)&narrow : (const void *)&end, size);
        if (i == count)
            break;
        memcpy(data + end, sample->all[i].data, sample->all[i].bytes);
        end += (int64_t)sample->all[i].bytes;
    }
    sample->data = fence_of(data, (size_t)end, false);
    sample->offsets = fence_of(offsets, (count + 1) * size, spec->shifted);
    sample->column.offsets = sample->offsets.data;
    sample->column.bytes = (size_t)end;
    free(data);
    free(offsets);
}

static void lay_hashes(struct test_column *sample, const struct test_column_spec *spec,
                       const bloomery_filter *filter, size_t count)
{
    const size_t size = spec->form == BLOOMERY_KEYS_HASHES64 ? 8 : 16;
    uint8_t *data = calloc(count + 1, size);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        bloomery_hash hash;
        assert_int_equal(bloomery_hash_key(filter, sample->all[i], &hash, NULL), BLOOMERY_OK);
        memcpy(data + i * size, size == 8 ? (const void *)&hash.hi : (const void *)&hash, size);
    }
    sample->data = fence_of(data, count * size, spec->shifted);
    free(data);
}

static void lay_bitmap(struct test_column *sample, const struct test_column_spec *spec,
                       uint64_t seed)
{
    const size_t count = spec->first + spec->count;
    uint8_t *bitmap = calloc(1, count / 8 + 1);
    size_t nulls = 0;
    assert_non_null(bitmap);
    for (size_t i = 0; i < count; i++) {
        const bool is = spec->nulls == TEST_NULLS_NONE ||
                        (spec->nulls != TEST_NULLS_ALL && test_below(&seed, 3) > 0);
        bitmap[i / 8] |= (uint8_t)(is << i % 8);
        if (i < spec->first)
            continue;
        const size_t key = i - spec->first;
        nulls += !is;
        if (!is)
            sample->valid[key / 64] &= ~(UINT64_C(1) << key % 64);
    }
    sample->bitmap = fence_of(bitmap, (count + 7) / 8, false);
    sample->column.valid = sample->bitmap.data;
    sample->column.nulls = spec->nulls == TEST_NULLS_SOME_COUNTED || spec->nulls == TEST_NULLS_ALL
                               ? (int64_t)nulls
                           : spec->nulls == TEST_NULLS_UNSAID ? 0
                                                              : -1;
    free(bitmap);
}

struct test_column *test_column_make(const struct test_column_spec *spec,
                                     const bloomery_filter *filter, uint64_t seed)
{
    const size_t count = spec->first + spec->count;
    struct test_column *sample = calloc(1, sizeof *sample);
    assert_non_null(sample);
    sample->column = (bloomery_keys)BLOOMERY_KEYS;
    sample->column.form = spec->form;
    sample->column.first = spec->first;
    sample->column.count = spec->count;
    sample->keys = sample->all + spec->first;
    memset(sample->valid, 0xff, sizeof sample->valid);
    describe(sample, spec, count, seed);
    if (spec->form == BLOOMERY_KEYS_FIXED)
        lay_fixed(sample, spec, count);
    else if (spec->form >= BLOOMERY_KEYS_HASHES64)
        lay_hashes(sample, spec, filter, count);
    else
        lay_offsets(sample, spec, count);
    sample->column.data = sample->data.data;
    if (spec->nulls == TEST_NULLS_NO_BITMAP_UNKNOWN)
        sample->column.nulls = -1;
    else if (spec->nulls != TEST_NULLS_NO_BITMAP)
        lay_bitmap(sample, spec, seed);
    return sample;
}

void test_column_free(struct test_column *sample)
{
    test_fence_free(&sample->data);
    if (sample->offsets.map != NULL)
        test_fence_free(&sample->offsets);
    if (sample->bitmap.map != NULL)
        test_fence_free(&sample->bitmap);
    free(sample->plain);
    free(sample);
}

bool test_column_has(const struct test_column *sample, size_t i)
{
    return (sample->valid[i / 64] >> i % 64 & 1) != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ClickHouse's filters carry along of their surroundings may come from a Bloomery file that
 * somebody changed: whatever it is, writing and describing such a filter reads nothing outside of
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/filter.h"

#include <bloomery/dialect.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 20, FILTERS = 3, ROOM = 4096 };

struct output {
    uint8_t bytes[ROOM];
    size_t used;
};

static int collect(void *context, const void *data, size_t bytes)
{
    struct output *output = context;
    if (bytes > ROOM - output->used)
        return 1;
    memcpy(output->bytes + output->used, data, bytes);
    output->used += bytes;
    return 0;
}

/* The middle one of three filters. */
static bloomery_filter *load(const uint8_t *data, size_t bytes)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter;
    bloomery_error error;
    parameters.bytes = SIZE;
    parameters.probes = 3;
    parameters.index = 1;
    assert_int_equal(bloomery_dialect_load(bloomery_dialect_find("clickhouse"), data, bytes,
                                           &parameters, NULL, &filter, &error),
                     BLOOMERY_OK);
    return filter;
}

/* Written with what is attached as it is now; the attached bytes are copied to where nothing
 * follows. */
static bloomery_status write_now(bloomery_filter *filter, struct output *output)
{
    char text[512];
    uint8_t *kept = bloomery_cold_in(filter)->extra;
    uint8_t *alone = malloc(
        bloomery_cold_in(filter)->extra_bytes > 0 ? bloomery_cold_in(filter)->extra_bytes : 1);
    bloomery_error error = {.text = ""};
    assert_non_null(alone);
    memcpy(alone, kept, bloomery_cold_in(filter)->extra_bytes);
    bloomery_cold_of(filter)->extra = alone;
    output->used = 0;
    const bloomery_status status = bloomery_dialect_write(filter, NULL, collect, output, &error);
    assert_true(status == BLOOMERY_OK || (status == BLOOMERY_CORRUPT && strlen(error.text) > 20) ||
                status == BLOOMERY_UNSUPPORTED || status == BLOOMERY_IO_FAILED);
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, text, sizeof text); i++)
        assert_true(i < 8);
    bloomery_cold_of(filter)->extra = kept;
    free(alone);
    return status;
}

static void try_all(bloomery_filter *filter, const uint8_t *data, size_t bytes)
{
    static struct output output;
    uint32_t refused = 0;
    assert_int_equal(write_now(filter, &output), BLOOMERY_OK);
    assert_int_equal(output.used, bytes);
    assert_memory_equal(output.bytes, data, bytes);
    const size_t attached = bloomery_cold_in(filter)->extra_bytes;
    for (size_t length = 1; length < attached; length++) {
        bloomery_cold_of(filter)->extra_bytes = length;
        assert_int_equal(write_now(filter, &output), BLOOMERY_CORRUPT);
    }
    bloomery_cold_of(filter)->extra_bytes = attached;
    for (size_t at = 0; at < attached; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bloomery_cold_in(filter)->extra[at] ^= (uint8_t)(1 << bit);
            refused += write_now(filter, &output) != BLOOMERY_OK;
            bloomery_cold_in(filter)->extra[at] ^= (uint8_t)(1 << bit);
        }
    assert_true(refused > 200);
}

static void changed_surroundings_do_no_harm(void **state)
{
    uint8_t payload[FILTERS * SIZE];
    struct output framed;
    (void)state;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 37);
    bloomery_filter *filter = load(payload, sizeof payload);
    try_all(filter, payload, sizeof payload);
    /* The same in blocks of 25, 25 and 10 bytes: what is attached is made by hand. */
    const size_t attached = bloomery_cold_in(filter)->extra_bytes;
    bloomery_filter *in_blocks = filter;
    uint8_t *kept = bloomery_cold_in(filter)->extra;
    uint8_t extra[256] = {0};
    memcpy(extra, kept, 44);
    extra[1] = 1;
    extra[40] = 3;
    extra[44] = extra[48] = 25;
    extra[52] = 10;
    memcpy(extra + 56, kept + 44, attached - 44);
    bloomery_cold_of(in_blocks)->extra = extra;
    bloomery_cold_of(in_blocks)->extra_bytes = attached + 12;
    assert_int_equal(write_now(in_blocks, &framed), BLOOMERY_OK);
    assert_int_equal(framed.used, sizeof payload + 3 * 25);
    try_all(in_blocks, framed.bytes, framed.used);
    bloomery_cold_of(filter)->extra = kept;
    bloomery_cold_of(filter)->extra_bytes = attached;
    bloomery_free(filter);
    filter = load(framed.bytes, framed.used);
    try_all(filter, framed.bytes, framed.used);
    bloomery_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_surroundings_do_no_harm),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

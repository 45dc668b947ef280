/* SPDX-License-Identifier: Apache-2.0 */
/* The table of dialects: what a file names by number is one row, and a row lacks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialects/dialects.h"
#include "dialects/schemes.h"

#include <stdlib.h>
#include <string.h>

#define ROW(row) &row,
static const struct bloomery_dialect_row *const rows[] = {BLOOMERY_DIALECT_ROWS(ROW)};
#undef ROW
static const size_t row_count = sizeof rows / sizeof rows[0];

static void a_hash_has_one_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++) {
        assert_non_null(rows[i]->hashes[0]);
        for (size_t j = 0; rows[i]->hashes[j] != NULL; j++) {
            const struct bloomery_hash_row *hash = rows[i]->hashes[j];
            assert_true(j < BLOOMERY_DIALECT_HASHES);
            assert_in_range(hash->id, BLOOMERY_HASH_FOREIGN, UINT16_MAX);
            assert_ptr_equal(bloomery_dialect_rows->hash(hash->id), hash);
            assert_non_null(hash->name);
            assert_true((hash->one != NULL) != (hash->positions != NULL));
            assert_false(hash->keyed);
        }
    }
    assert_null(bloomery_dialect_rows->hash(BLOOMERY_HASH_XXH3_64));
}

static void a_scheme_has_one_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++) {
        assert_non_null(rows[i]->schemes[0]);
        for (size_t j = 0; rows[i]->schemes[j] != NULL; j++) {
            const struct bloomery_kind_row *scheme = rows[i]->schemes[j];
            const struct bloomery_shape shape = {.kind = (uint16_t)scheme->id,
                                                 .block_scheme = (uint8_t)scheme->block_scheme,
                                                 .probe_scheme = (uint8_t)scheme->probe_scheme};
            assert_true(j < BLOOMERY_DIALECT_SCHEMES);
            assert_true(bloomery_is_foreign(&shape));
            assert_ptr_equal(bloomery_dialect_rows->kind(&shape), scheme);
        }
    }
}

static void a_scheme_lacks_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; rows[i]->schemes[j] != NULL; j++) {
            const struct bloomery_kind_row *scheme = rows[i]->schemes[j];
            /* Tables are added as keys need them, and have no cells for several threads. */
            const bool has_tables = scheme->id == BLOOMERY_CUCKOO;
            const uint32_t cell_bits = has_tables ? 8 : scheme->id == BLOOMERY_COUNTING ? 4 : 1;
            const struct bloomery_operations *operations = scheme->operations(cell_bits, false);
            assert_non_null(scheme->check);
            assert_non_null(scheme->expected_rate);
            assert_non_null(scheme->estimate);
            assert_non_null(scheme->scan);
            assert_true(scheme->adds && scheme->has_bits);
            assert_int_equal(scheme->grows || has_tables, scheme->next_layer != NULL);
            assert_int_equal(scheme->takes_positions, operations->add_positions != NULL);
            assert_int_equal(scheme->takes_positions || has_tables, operations->add == NULL);
            if (!has_tables)
                assert_ptr_not_equal(operations, scheme->operations(cell_bits, true));
        }
}

/* The names by number are those that the public text has, in its order. */
static void variants_are_those_of_the_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++) {
        char text[256] = "";
        for (size_t j = 0; rows[i]->names[j] != NULL; j++) {
            assert_true(j < BLOOMERY_DIALECT_NAMES);
            assert_int_equal(bloomery_dialect_choose(rows[i], rows[i]->names[j], NULL), j);
            strcat(text, j > 0 ? ", " : "");
            strcat(text, rows[i]->names[j]);
        }
        assert_string_equal(text, rows[i]->facts.variants != NULL ? rows[i]->facts.variants : "");
    }
}

/* A filter that does not fit gets a message. */
static void rows_say_what_does_not_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++) {
        assert_non_null(rows[i]->others);
        assert_int_equal(rows[i]->unit_bits > 0 || rows[i]->probes_max > 0, rows[i]->sizes != NULL);
        assert_true(rows[i]->unit_bits > 0 || rows[i]->units_max == 0);
        assert_null(rows[i]->remarks[BLOOMERY_DIALECT_REMARKS]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_has_one_row),
        cmocka_unit_test(a_scheme_has_one_row),
        cmocka_unit_test(a_scheme_lacks_nothing),
        cmocka_unit_test(variants_are_those_of_the_facts),
        cmocka_unit_test(rows_say_what_does_not_fit),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

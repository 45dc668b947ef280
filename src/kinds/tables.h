/* SPDX-License-Identifier: Apache-2.0 */
/* Cuckoo filters: tables of fingerprints whose keys move to make room. tables.c has the essay. */
#ifndef BLOOMERY_KINDS_TABLES_H
#define BLOOMERY_KINDS_TABLES_H

#include "kinds/filter.h"
#include "plan/cuckoo_rate.h"

/* What a kind owes (kinds/kinds.h). */
bloomery_status bloomery_table_check(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *table, bloomery_error *error);
const struct bloomery_operations *bloomery_table_operations(uint32_t cell_bits, bool concurrent);
double bloomery_table_expected_rate(const struct bloomery_layer *table, uint64_t keys);
double bloomery_table_estimate(const struct bloomery_layer *table, uint64_t used);
void bloomery_table_scan(const struct bloomery_shape *shape, const struct bloomery_layer *table,
                         const uint8_t *payload, struct bloomery_scan *scan);
bloomery_status bloomery_table_next(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *newest,
                                    struct bloomery_layer *next, bloomery_error *error);

/* The slots of the first `tables` tables of a shape. */
uint64_t bloomery_tables_slots(const struct bloomery_shape *shape, uint32_t tables);

/* Whether the filter has tables that can be changed: BLOOMERY_MISMATCH, BLOOMERY_READ_ONLY. */
bloomery_status bloomery_tables_are(const struct bloomery_filter *filter, bool changed,
                                    bloomery_error *error);

/* Adds a copy of a key. `fresh` is 1 if the filter did not have it, else 0. On failure (a table
 * that could not be added: bloomery_chain_grow) no byte has changed. `absent`: only if it does not
 * have it. */
bloomery_status bloomery_tables_add(struct bloomery_filter *filter, bloomery_hash hash, bool absent,
                                    uint32_t *fresh, bloomery_error *error);

/* Removes one copy; false if there is none. Compacts the tables now and then. */
bool bloomery_tables_remove(struct bloomery_filter *filter, bloomery_hash hash);

/* As bloomery_cuckoo_compact; whether anything changed. */
bool bloomery_tables_compact(struct bloomery_filter *filter, bool all);

#endif /* BLOOMERY_KINDS_TABLES_H */

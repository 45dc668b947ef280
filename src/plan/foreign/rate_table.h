/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of rates, to three digits, by which Cassandra and ClickHouse choose how many bits a key
 * gets and how many probes. It has (1 - e^(-k/b))^k with b bits for each key, for 2 to 20 bits and
 * as many probes as are worth having there, one more at times. It is copied from system to system
 * since the nineties.
 */
#ifndef BLOOMERY_PLAN_RATE_TABLE_H
#define BLOOMERY_PLAN_RATE_TABLE_H

#include <stdint.h>

enum { BLOOMERY_RATE_TABLE_ROWS = 21, BLOOMERY_RATE_TABLE_COLUMNS = 15 };

/* Entries are whole numbers of 1 / this. */
#define BLOOMERY_RATE_TABLE_UNITS 1e7

/* An entry as such a number, exactly; 0 if the table has none. bits_per_key below the number of
 * rows. O(1). */
uint32_t bloomery_rate_table_parts(uint32_t bits_per_key, uint32_t probes);

/* The double next to it. */
double bloomery_rate_table(uint32_t bits_per_key, uint32_t probes);

/* The probes with the lowest rate of a row: 0 for 0 bits and for 1, 14 for 20. */
uint32_t bloomery_rate_table_best(uint32_t bits_per_key);

#endif

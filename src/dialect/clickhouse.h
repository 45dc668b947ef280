/* SPDX-License-Identifier: Apache-2.0 */
/* What ClickHouse's two dialects share (dialect/clickhouse.c). */
#ifndef BLOOMERY_DIALECT_CLICKHOUSE_H
#define BLOOMERY_DIALECT_CLICKHOUSE_H

#include "dialect/clickhouse_frame.h"
#include "plan/foreign/best_practice.h"

/* Bits per key and probes: those of the rate, or those given, of which each may be 0. BAD_ARGUMENT
 * for both a rate and one of them, and for numbers out of range. */
bloomery_status bloomery_clickhouse_practice(const bloomery_dialect_parameters *given,
                                             bool old_literals, struct bloomery_practice *practice,
                                             bloomery_error *error);

/* ceil(bits_per_key keys / 8); false if that passes 2^64. */
bool bloomery_clickhouse_bytes(uint32_t bits_per_key, uint64_t keys, uint64_t *bytes);

/* The remarks on rate, table and place. */
bool bloomery_clickhouse_remark(const bloomery_filter *filter, uint32_t index, char *text,
                                size_t room);

#endif

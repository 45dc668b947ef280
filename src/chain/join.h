/* SPDX-License-Identifier: Apache-2.0 */
/* Two chains become one: join.c holds the essay. */
#ifndef BLOOMERY_CHAIN_JOIN_H
#define BLOOMERY_CHAIN_JOIN_H

#include "core/filter.h"

/* Puts a chain's layers, or copies of them, behind those of another. Nothing changes on failure. */
bloomery_status bloomery_chain_join(struct bloomery_filter *into,
                                    const struct bloomery_filter *from, bloomery_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of a static filter, for each processor; static_template.h has them. */
#ifndef BLOOMERY_STATIC_BATCH_H
#define BLOOMERY_STATIC_BATCH_H

#include "batch/native.h"

/* Of these `name`, `query` and `query_key` are there: no key is ever added. */
extern const struct bloomery_native bloomery_static_scalar;
extern const struct bloomery_native bloomery_static_avx2;
extern const struct bloomery_native bloomery_static_avx512;
extern const struct bloomery_native bloomery_static_vpopcntdq;
extern const struct bloomery_native bloomery_static_neon;

/* Those for this processor. */
const struct bloomery_native *bloomery_static_best(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of 64 bits that Java takes for signed, and three things done about the sign before the
 * remainder by m:
 *
 *     FLIPPED_SUM_64        c = s32(lo) (2^31 - 1) + (i + 1) s32(lo >> 32)     ~c if c < 0
 *     FLIPPED_SUM_64_KEPT   the same, but the next sum goes on from ~c
 *     ABSOLUTE_DOUBLE       c = lo + i hi                                      the remainder,
 *                           without
 *                                                                              the sign of c
 *
 * The first multiplies so that sums of two numbers of 32 bits reach past 2^31, and hardly ever pass
 * 0. Its positions are those of a walk that nothing turns (plan/foreign/step_rate.h). So are those
 * of the second, in which at most the first sum is negative. The third passes 0 and 2^63 all the
 * time (plan/foreign/turned_rate.h).
 */
#include "core/foreign/schemes.h"

#include "core/foreign/steps.h"
#include "plan/foreign/step_rate.h"
#include "plan/foreign/turned_rate.h"

#include <math.h>

/* A number of 32 bits in two's complement, as one of 64. */
static inline uint64_t widened(uint64_t value)
{
    return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
}

static inline struct bloomery_steps sum_begin(bloomery_hash hash)
{
    return (struct bloomery_steps){.at = widened(hash.lo) * INT32_MAX,
                                   .step = widened(hash.lo >> 32)};
}

/* ---- Spark's version 2 ----------------------------------------------------------------------- */

static inline struct bloomery_steps flipped_sum_64_begin(const struct bloomery_layer *layer,
                                                         bloomery_hash hash)
{
    (void)layer;
    return sum_begin(hash);
}

static inline uint64_t flipped_sum_64_next(const struct bloomery_layer *layer,
                                           struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at += steps->step;
    return bloomery_flip_64(steps->at) % layer->bits;
}

#define SCHEME flipped_sum_64
#include "core/foreign/scheme_template.h"

/* ---- And as it began ------------------------------------------------------------------------- */

static inline struct bloomery_steps flipped_sum_64_kept_begin(const struct bloomery_layer *layer,
                                                              bloomery_hash hash)
{
    (void)layer;
    return sum_begin(hash);
}

static inline uint64_t flipped_sum_64_kept_next(const struct bloomery_layer *layer,
                                                struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at = bloomery_flip_64(steps->at + steps->step);
    return steps->at % layer->bits;
}

#define SCHEME flipped_sum_64_kept
#include "core/foreign/scheme_template.h"

/* ---- Cassandra ------------------------------------------------------------------------------- */

static inline struct bloomery_steps absolute_double_begin(const struct bloomery_layer *layer,
                                                          bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

/* Java's remainder has the sign of the dividend, and its size is that of sizes divided. The size of
 * -2^63 is 2^63, which is a number here. */
static inline uint64_t absolute_double_next(const struct bloomery_layer *layer,
                                            struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return ((at >> 63) != 0 ? 0 - at : at) % layer->bits;
}

#define SCHEME absolute_double
#include "core/foreign/scheme_template.h"

/* ---- Statistics ------------------------------------------------------------------------------ */

double bloomery_flipped_sum_64_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_step_rate(layer->bits, layer->probes, keys, false);
}

void bloomery_flipped_sum_64_scan(const struct bloomery_shape *shape,
                                  const struct bloomery_layer *layer, const uint8_t *payload,
                                  struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    scan->live_rate =
        fmin(1, scan->live_rate +
                    bloomery_step_excess(layer->bits, layer->probes,
                                         bloomery_classic_estimate(layer, scan->bits_set),
                                         (double)scan->bits_set / (double)layer->bits, false));
}

double bloomery_absolute_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_turned_rate(BLOOMERY_TURN_ABSOLUTE, layer->bits, layer->probes, keys);
}

void bloomery_absolute_double_scan(const struct bloomery_shape *shape,
                                   const struct bloomery_layer *layer, const uint8_t *payload,
                                   struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    scan->live_rate = bloomery_turned_live(BLOOMERY_TURN_ABSOLUTE, layer->bits, layer->probes,
                                           (double)scan->bits_set / (double)layer->bits);
}

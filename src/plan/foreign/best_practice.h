/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ClickHouse gets from a rate to bits and probes: by going through the table of
 * plan/foreign/rate_table.h, faults included. Numbers in, numbers out; O(1), any thread.
 *
 *     p of 0.283 or more: 2 bits, 2 probes
 *     the rows from 1 bit on, up to 19, whose lowest rate is p or less: from the probes of that
 *     lowest rate down, the first whose rate is above p; one probe more is the answer
 *     if no row has an answer: 19 bits, 13 probes
 *
 * The faults: a row whose rates are all p or less has no answer. From 0.221 up to 0.237 every row
 * has either only larger rates or only smaller ones, so the dearest answer is given. And a p below
 * 1.09e-4 gets that too, though it does not reach it. Row 20 is never looked at.
 */
#ifndef BLOOMERY_PLAN_BEST_PRACTICE_H
#define BLOOMERY_PLAN_BEST_PRACTICE_H

#include <stdbool.h>
#include <stdint.h>

struct bloomery_practice {
    uint32_t bits_per_key;
    uint32_t probes;
};

/* What 19 bits and 13 probes promise: the lowest rate in the rows that are looked at. */
#define BLOOMERY_PRACTICE_MIN 1.09e-4

/*
 * What a rate is compared with. It matters only if the rate is an entry of the table, for example
 * 0.237. A program that writes this number has the double next to it, which is a little less or
 * more.
 */
enum bloomery_practice_literals {
    BLOOMERY_PRACTICE_DECIMAL, /* the entries themselves (the long doubles of releases of today) */
    BLOOMERY_PRACTICE_DOUBLE,  /* the doubles next to them: older releases */
};

/* Rates below 0 are taken for 0, above 1 for 1; `rate` is a number. */
struct bloomery_practice bloomery_best_practice(double rate,
                                                enum bloomery_practice_literals literals);

/* The fewest bits, and for them the fewest probes, with which the table has this rate or a smaller
 * one: the answer without the faults. The dearest one if it has none. */
struct bloomery_practice bloomery_sound_practice(double rate);

#endif

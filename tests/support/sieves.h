/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of sieves begin and end with: a place on the disk, a sieve that is open, all its items
 * out. What should not fail fails the test. */
#ifndef BLOOMERY_TESTS_SIEVES_H
#define BLOOMERY_TESTS_SIEVES_H

#include "sieve_keys.h"
#include "support.h"

#include <bloomery/sieve.h>

/* Where a test has its sieve; nothing is there when it begins. */
extern struct sieve_place {
    struct test_directory directory;
    char path[300];
} sieve_place;

/* Around each test that uses sieve_place. */
int sieve_setup(void **state);
int sieve_teardown(void **state);

/* Copies all files of a directory to another, which is made or emptied. */
void sieve_copy(const char *from, const char *to);

/* Changes one bit of a byte of a file of sieve_place. */
void sieve_flip(const char *name, long offset);

/* Of a sieve at sieve_place that never syncs. `partitions` are those of the disk engine; 0: as many
 * as the library makes. */
bloomery_sieve_options sieve_options(bloomery_sieve_engine engine, uint32_t partitions);

bloomery_sieve *must_open(const bloomery_sieve_options *options);
/* `what` stands before the message. */
bloomery_sieve *must_open_for(const bloomery_sieve_options *options, const char *what);
void must_close(bloomery_sieve *sieve);

/* Pops up to `most` items; returns how many came. */
size_t must_pop(bloomery_sieve *sieve, bloomery_sieve_item *items, size_t most);
/* They are done. */
void must_finish(bloomery_sieve *sieve, const uint64_t *numbers, size_t count);

bloomery_sieve_info sieve_info_of(bloomery_sieve *sieve);

/* Pops and finishes until nothing comes; how many came. */
uint64_t sieve_drain(bloomery_sieve *sieve);
/* The same, `most` items at a time (up to 64), or until popping fails, as `status` says unless it
 * is NULL. */
uint64_t sieve_drain_until(bloomery_sieve *sieve, size_t most, bloomery_status *status);

#endif

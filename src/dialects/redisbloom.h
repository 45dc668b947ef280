/* SPDX-License-Identifier: Apache-2.0 */
/* RedisBloom's header apart from the bits: what its SCANDUMP and LOADCHUNK handle first. */
#ifndef BLOOMERY_DIALECTS_REDISBLOOM_H
#define BLOOMERY_DIALECTS_REDISBLOOM_H

#include "base/experimental.h"
#include "dialects/dialects.h"

/* MurmurHash64A. */
uint64_t bloomery_murmur64a(uint64_t seed, const uint8_t *data, size_t bytes);

/* Checks a header that begins at `data` and fills a design from it, all but where its bits are.
 * `header_bytes` is how long it is: the bits follow there. */
bloomery_status bloomery_redisbloom_parse_header(const uint8_t *data, size_t bytes,
                                                 struct bloomery_design *design,
                                                 size_t *header_bytes, bloomery_error *error);

/* Whether a filter is a chain with RedisBloom's hash and positions; says why not. O(1); whether its
 * layers have RedisBloom's numbers, too, takes O(layers): bloomery_dialect_fits. */
bloomery_status bloomery_redisbloom_is_chain(const bloomery_filter *filter, bloomery_error *error);

/* Writes the header of a filter that can be one of RedisBloom's; and its bytes. */
void bloomery_redisbloom_write_header(const bloomery_filter *filter, uint8_t *header);
size_t bloomery_redisbloom_header_size(const bloomery_filter *filter);

/* Cuckoo filters: the design of an empty one, with numbers as bloomery_cuckoo_create has them, and
 * of one whose header begins at `data`, all but where its slots are. The header of one: its
 * BLOOMERY_CUCKOO_HEADER bytes. */
bloomery_status bloomery_cuckoo_design(uint64_t keys, uint32_t slots, uint32_t iterations,
                                       uint32_t growth, struct bloomery_design *design,
                                       bloomery_error *error);
bloomery_status bloomery_cuckoo_parse_header(const uint8_t *data, size_t bytes,
                                             struct bloomery_design *design, bloomery_error *error);
void bloomery_cuckoo_write_header(const bloomery_filter *filter, uint8_t *header);

#endif
